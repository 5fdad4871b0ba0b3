//! Random subnets, routers anywhere: raised levels are proved and lose nothing to a change; kept ones that are proved
//! do not deadlock either, however much crosses.

use super::{assert_adds_up, assert_clean, generated, root_of, small, watched};
use crate::support::properties::properties;
use proptest::prelude::*;
use proptest::test_runner::Config;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::fabric::NodeId;
use reconfig::fabric::generate::{JoinShape, Options, RouterAttachment, place_routers};
use reconfig::fabric::subnets::{Subnet, Subnets};
use reconfig::ids::SubnetId;
use reconfig::routers::LevelsRule;
use reconfig::scenario::Unwatched;
use reconfig::scenario::{Departure, Ending, Scenario, ScenarioChange, ScenarioError, SimulationReport};
use reconfig::sim::{Latch, SimConfig};

const TOPOLOGIES: [&str; 6] =
    ["ring:5,1", "random-regular:8,3,1", "irregular:7,8,9,10", "fat-tree:2,3", "leaf-spine:4,2,2", "mesh:2x3,1"];

/// What is drawn.
#[derive(Clone, Copy, Debug)]
struct Draw {
    seed: u64,
    subnets: u16,
    shape: JoinShape,
    /// Routers besides those of the shape, with ports anywhere.
    more: usize,
}

/// Subnets of a topology each; the routers of a shape, and some with two to four ports, of which two may be in one
/// subnet.
fn drawn(draw: Draw) -> Subnets {
    let mut rng = Pcg64::seed_from_u64(draw.seed);
    let one = |rank: u16| {
        let topology = TOPOLOGIES[rng.random_range(0..TOPOLOGIES.len())];
        // The routers of a shape have the same GUIDs whatever is generated around them.
        let all = generated(topology, draw.subnets, draw.shape, 1, rng.random_range(0..1_000));
        all.subnet(SubnetId(rank)).clone()
    };
    let list: Vec<Subnet> = (0..draw.subnets).map(one).collect();
    let router = |_| (0..rng.random_range(2..5)).map(|_| seat(&mut rng, &list)).collect();
    let seats: Vec<Vec<RouterAttachment>> = (0..draw.more).map(router).collect();
    place_routers(list, &seats, &Options::default()).expect("there is room")
}

/// A switch of any subnet; a few take half of the routers, so that several stand at one.
fn seat(rng: &mut Pcg64, list: &[Subnet]) -> RouterAttachment {
    let rank = rng.random_range(0..list.len());
    let switches: Vec<NodeId> = list[rank].fabric.switches().collect();
    let reach = if rng.random_bool(0.5) { 2 } else { switches.len() };
    RouterAttachment { subnet: SubnetId(rank as u16), switch: switches[rng.random_range(0..reach)] }
}

fn draws() -> impl Strategy<Value = Draw> {
    let shapes = prop::sample::select(&[JoinShape::Line, JoinShape::Ring, JoinShape::Star, JoinShape::Hub][..]);
    (any::<u64>(), 2u16..5, shapes, 0usize..4).prop_map(|(seed, subnets, shape, more)| {
        let subnets = if shape == JoinShape::Ring { subnets.max(3) } else { subnets };
        Draw { seed, subnets, shape, more }
    })
}

/// A root or a router goes.
fn change(subnets: &Subnets, router: bool, which: usize) -> ScenarioChange {
    if router {
        return ScenarioChange::Router(which % subnets.routers().len());
    }
    root_of((which % subnets.len()) as u16)
}

/// What a run comes to; none where nobody to speak of would be left in a subnet.
fn outcome(asked: &Scenario) -> Result<Option<SimulationReport>, TestCaseError> {
    match watched(asked, &mut Unwatched) {
        Ok(report) => Ok(Some(report)),
        Err(ScenarioError::Subnet { source, .. }) if matches!(*source, ScenarioError::BringUp(_)) => Ok(None),
        Err(error) => Err(TestCaseError::fail(format!("the run cannot begin: {error}"))),
    }
}

properties! {
    #![proptest_config(Config { cases: 24, max_shrink_iters: 20, ..Config::default() })]

    #[test]
    fn a_change_is_proved_and_loses_nothing(
        draw in draws(), planned in any::<bool>(), router in any::<bool>(), which in 0usize..64,
        latch in prop::sample::select(&[Latch::Arrival, Latch::Head, Latch::Grant][..]),
        load in prop::sample::select(&[0.02, 0.1, 0.3][..]), replies in prop::sample::select(&[0.0, 0.6][..]),
    ) {
        let subnets = drawn(draw);
        let departure = if planned { Departure::Planned } else { Departure::Sudden };
        let mut asked = small(subnets.clone(), change(&subnets, router, which), departure);
        asked.cross = 0.4;
        asked.load = Some(load);
        asked.sim = SimConfig { seed: draw.seed, latch, replies, buffer_credits: 32, ..asked.sim };
        let Some(report) = outcome(&asked)? else { return Err(TestCaseError::reject("nobody is left to manage")) };
        assert_adds_up(&report);
        assert_clean(&report);
        prop_assert!(!planned || report.packets.lost_to_failure == 0, "{:?}", report.packets);
    }

    #[test]
    fn kept_levels_that_are_proved_do_not_deadlock(draw in draws()) {
        let asked = saturated(drawn(draw), LevelsRule::Keep, draw.seed);
        let Some(report) = outcome(&asked)? else { return Err(TestCaseError::reject("nobody is there to manage")) };
        assert_adds_up(&report);
        if report.proof.status == "proved" {
            prop_assert_eq!(report.outcome, Ending::Completed);
            prop_assert_eq!(report.packets.lost_to_change, 0);
        }
    }
}

/// Everybody sends as much as goes, all of it across, into small buffers.
fn saturated(subnets: Subnets, rule: LevelsRule, seed: u64) -> Scenario {
    let base = small(subnets, ScenarioChange::Nothing, Departure::Sudden);
    let mut asked = Scenario { rule, cross: 1.0, ..base };
    (asked.load, asked.before_ns) = (Some(1.0), 200_000);
    asked.sim = SimConfig { seed, buffer_credits: 20, ..asked.sim };
    asked
}

/// What is tested above is no matter of course: some draws are proved with kept levels, some are refused, and of those
/// some deadlock; none does with raised ones.
#[test]
fn some_kept_levels_are_proved_and_some_deadlock() {
    let draw = |seed: u64| Draw { seed, subnets: 2 + seed as u16 % 3, shape: JoinShape::Hub, more: seed as usize % 4 };
    let mut verdicts = [0; 3];
    for seed in 0..12 {
        let report = watched(&saturated(drawn(draw(seed)), LevelsRule::Keep, seed), &mut Unwatched).expect("it runs");
        let proved = report.proof.status == "proved";
        let stuck = report.outcome == Ending::Deadlocked;
        assert!(!(proved && stuck), "seed {seed}: proved, and deadlocked");
        verdicts[if proved {
            0
        } else if stuck {
            2
        } else {
            1
        }] += 1;
        if stuck {
            let raised = watched(&saturated(drawn(draw(seed)), LevelsRule::Raise, seed), &mut Unwatched).expect("runs");
            assert_clean(&raised);
        }
    }
    println!(
        "kept levels: {} proved, {} refused, {} of them deadlocked",
        verdicts[0],
        verdicts[1] + verdicts[2],
        verdicts[2]
    );
    assert!(verdicts[0] > 0 && verdicts[2] > 0, "{verdicts:?}");
}

/// A router that loses the port by which it led on still leads on what is on its way to it: by no detour, for which
/// there would be too few layers.
#[test]
fn a_router_that_loses_a_port_is_no_detour() {
    let draw = Draw { seed: 3_686_640_562_813_799_228, subnets: 4, shape: JoinShape::Line, more: 2 };
    for departure in [Departure::Planned, Departure::Sudden] {
        let mut asked = small(drawn(draw), root_of(2), departure);
        asked.cross = 0.4;
        asked.load = Some(0.3);
        asked.sim = SimConfig { latch: Latch::Head, replies: 0.6, buffer_credits: 32, ..asked.sim };
        let report = watched(&asked, &mut Unwatched).expect("it runs");
        assert_adds_up(&report);
        assert_clean(&report);
        assert!(report.relay_discards.is_empty(), "{:?} {:?}", report.relay_discards, report.packets);
    }
}

/// Between subnets 0 and 2 a router that leaves was the short way: there are lanes for the long one too, unless a user
/// said how many there are.
#[test]
fn lanes_suffice_for_the_ways_after_the_change() {
    let draw = Draw { seed: 15_037_394_211_587_373_373, subnets: 3, shape: JoinShape::Line, more: 1 };
    let subnets = drawn(draw);
    let mut asked = small(subnets.clone(), change(&subnets, true, 50), Departure::Planned);
    asked.cross = 0.4;
    let report = watched(&asked, &mut Unwatched).expect("it runs");
    assert_adds_up(&report);
    assert_clean(&report);
    assert_eq!((report.settings.data_vls, report.settings.between.expect("several subnets").layers), (8, 4));
    asked.vls_fixed = true;
    let error = watched(&asked, &mut Unwatched).expect_err("four lanes do not suffice");
    assert!(error.to_string().contains("half of 4 data VLs has room for 2"), "{error}");
}

/// What stands in a router when it dies, or is on the wire to it, is lost to that, and not to the change.
#[test]
fn a_router_takes_along_what_it_holds() {
    let draw = Draw { seed: 11_947_174_439_580_783_400, subnets: 4, shape: JoinShape::Ring, more: 0 };
    let subnets = drawn(draw);
    let mut asked = small(subnets.clone(), change(&subnets, true, 34), Departure::Sudden);
    asked.cross = 0.4;
    asked.load = Some(0.3);
    asked.sim = SimConfig { seed: draw.seed, latch: Latch::Head, buffer_credits: 32, ..asked.sim };
    let report = watched(&asked, &mut Unwatched).expect("it runs");
    assert_adds_up(&report);
    assert_clean(&report);
    assert!(report.packets.lost_to_failure > 0, "{:?}", report.packets);
}
