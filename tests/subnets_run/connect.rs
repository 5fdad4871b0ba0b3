//! Connections that hosts set up while data flows, within a subnet and across routers.

use super::{fixture, run, small, watched};
use reconfig::fabric::PortId;
use reconfig::fabric::subnets::{SubnetPort, Subnets};
use reconfig::ids::{Lid, SubnetId};
use reconfig::routers::LevelsRule;
use reconfig::scenario::{ConnectionReport, Departure, Scenario, ScenarioChange, Unwatched};

fn host(subnets: &Subnets, subnet: u16, rank: usize) -> SubnetPort {
    let id = SubnetId(subnet);
    SubnetPort { subnet: id, port: subnets.hosts(id).nth(rank).expect("so many hosts") }
}

/// Two subnets without a change: host 1 of the first asks host 2 of one of them.
fn asked(rule: LevelsRule, to: u16) -> Scenario {
    let base = small(fixture("two-subnets"), ScenarioChange::Nothing, Departure::Sudden);
    let connections = vec![[host(&base.subnets, 0, 1), host(&base.subnets, to, 2)]];
    Scenario { rule, connections, load: Some(0.2), ..base }
}

fn connection(scenario: &Scenario) -> ConnectionReport {
    let report = run(scenario);
    let [own] = &report.connections[..] else { panic!("one connection: {:?}", report.connections) };
    own.clone()
}

/// Whose LID it is in a subnet whose LIDs are assigned as the scenario assigns them.
fn is_routers(scenario: &Scenario, subnet: u16, lid: u16) -> bool {
    let id = SubnetId(subnet);
    let fabric = reconfig::lid::assign(scenario.subnets.fabric(id), scenario.lmc).expect("LIDs suffice");
    let owner: Option<PortId> = fabric.lid_owner(Lid(lid));
    owner.is_some_and(|port| scenario.subnets.router_of(SubnetPort { subnet: id, port }).is_some())
}

#[test]
fn within_a_subnet_the_request_says_lids_and_across_routers_none() {
    let within = connection(&asked(LevelsRule::Keep, 0));
    assert!(within.ready_after_ns.is_some() && !within.said_lids.contains(&0xFFFF), "{within:?}");
    assert_eq!(
        (within.answer_lid, within.requests),
        (Some(within.said_lids[0]), 1),
        "the answer goes to the sender's LID"
    );
    let scenario = asked(LevelsRule::Keep, 1);
    let across = connection(&scenario);
    assert_eq!((across.said_lids, across.requests), ([0xFFFF; 2], 1), "{across:?}");
    assert!(is_routers(&scenario, 1, across.answer_lid.expect("it answered")), "{across:?}");
    let (answered, ready) = (across.answered_after_ns.expect("answered"), across.ready_after_ns.expect("ready"));
    assert!(within.ready_after_ns < Some(answered) && answered < ready, "{within:?} {across:?}");
}

/// The reply sets out on the level that the request arrived on (docs/RESOLUTION.md): with raised levels and the layers
/// of one way, a router discards it, and every repetition too.
#[test]
fn a_reply_that_routers_discard_is_asked_for_again_until_the_side_that_asks_gives_up() {
    let mut scenario = asked(LevelsRule::Raise, 1);
    (scenario.load, scenario.before_ns) = (Some(0.01), 12_000_000);
    let report = run(&scenario);
    let own = &report.connections[0];
    assert!(own.given_up && own.ready_after_ns.is_none() && own.answered_after_ns.is_none(), "{own:?}");
    assert_eq!(own.requests, 1 + u32::from(reconfig::sim::MOST_RETRIES));
    assert!(own.answer_lid.is_some(), "the other side answered each time");
    assert_eq!(report.relay_discards.values().sum::<u64>(), u64::from(own.requests), "{:?}", report.relay_discards);
}

#[test]
fn the_same_run_sets_up_the_same_connection() {
    let scenario = asked(LevelsRule::Keep, 1);
    let [one, two] = [0, 1].map(|_| run(&scenario));
    assert_eq!((one.trace_hash, &one.connections), (two.trace_hash, &two.connections));
}

#[test]
fn a_router_is_no_side_of_a_connection() {
    let mut scenario = asked(LevelsRule::Keep, 1);
    let router = scenario.subnets.routers()[0].ports[0];
    scenario.connections[0][1] = router;
    let error = watched(&scenario, &mut Unwatched).expect_err("a router has no applications").to_string();
    assert!(error.contains("cannot be a side of this connection"), "{error}");
}
