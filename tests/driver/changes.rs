//! The driver on a simulated subnet under traffic: every observer and scheme, losses, aborts, changes during changes.

use crate::driver::bench::{
    Bench, MS, PHASES, TimedAction, at_rest, bench, drive, has_hosts, kill, light, names, policy, remove_root,
    tables_match,
};
use reconfig::driver::{ChangeRecord, Intent};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::Half;
use reconfig::lid;
use reconfig::machine::{CallOff, Outcome, State};
use reconfig::plan::{self, Arming, Assumption, LanePartition, Lanes, Observer, Policy, Scheme};
use reconfig::routing::{Demand, Engine, RouteError, UpDown};
use reconfig::sim::SimConfig;
use reconfig::subnet::{SubnetManager, WriteOrder};
use reconfig::tables::RoutingFunction;
use reconfig::wire::AttributeId;
use std::sync::Arc;

#[test]
fn every_observer_sees_a_planned_change_through() {
    for &observer in Observer::ALL {
        let lifetime = if observer == Observer::Lifetime { 4096 << 8 } else { 0 };
        let config = SimConfig { switch_lifetime_ns: lifetime, ..light() };
        let mut bench = bench("fat-tree:4,2", config, Scheme::Double, policy(observer));
        let report = remove_root(&mut bench, Vec::new()).expect("it can be prepared");
        assert_eq!(report.outcome, Outcome::Completed, "{observer}");
        assert_eq!(names(&report), PHASES, "{observer}");
        let times: Vec<u64> = report.phases.iter().flat_map(|phase| [phase.start_ns, phase.end_ns]).collect();
        assert!(times.is_sorted(), "{observer}: {times:?}");
        let counted: u64 = report.phases.iter().map(|phase| phase.smps.total()).sum();
        assert_eq!(counted, bench.driver.subnet().smps().total(), "{observer}: every SMP is some phase's");
        assert_eq!(bench.driver.running().half, Half::Upper);
        tables_match(&bench, &bench.driver.running().tables.clone(), &bench.fabric);
        let packets = at_rest(&bench);
        assert!(packets.injected > 1_000, "{observer}: {packets:?}");
        assert_eq!(packets.injected, packets.delivered, "{observer}: {packets:?}");
    }
}

#[test]
fn halves_alternate_and_changes_follow_each_other() {
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Token));
    remove_root(&mut bench, Vec::new()).expect("it can be prepared");
    let report = remove_next_root(&mut bench, Vec::new());
    assert_eq!((report.outcome, bench.driver.running().half), (Outcome::Completed, Half::Lower));
    let packets = at_rest(&bench);
    assert_eq!(packets.injected, packets.delivered, "{packets:?}");
}

/// Has the retired half lead where the half in use leads, as `reconfig sm` does after a change; hosts that never asked
/// again may then send on it.
fn mirror(bench: &mut Bench) {
    let running = bench.driver.running().clone();
    let lfts = lid::mirrored(&running.routed, &running.tables.lfts, running.half);
    let steady = Lanes::of_fabric(&running.routed, None).steady(LanePartition::Temporary);
    let writes = plan::writes_between(&running.alive, Some(&running.tables), &lfts, steady);
    let transport = bench.transport.clone();
    let written = bench.driver.subnet_mut().apply(&running.alive, &writes, WriteOrder::Any);
    drive(&transport, written, Vec::new()).expect("they answer");
    bench.driver.record_tables(lfts, true);
}

/// Removes the root of the routing in force.
fn remove_next_root(bench: &mut Bench, actions: Vec<TimedAction>) -> ChangeRecord {
    let next = bench.driver.prepare(bench.driver.running().routed.clone()).expect("it can be prepared").routed_by.root;
    let after = Arc::new(bench.driver.running().routed.without_nodes(&[next.expect("a root")]));
    let transport = bench.transport.clone();
    drive(&transport, bench.driver.change_to(after), actions).expect("it can be prepared")
}

/// `double`, then entries alone, while hosts that never asked again stay on the half that retired.
#[test]
fn a_change_after_one_of_scheme_double_knows_of_hosts_on_the_retired_half() {
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Token));
    let lfts = bench.driver.running().tables.lfts.clone();
    bench.driver.record_tables(lfts, true);
    remove_root(&mut bench, Vec::new()).expect("it can be prepared");
    assert!(!bench.driver.running().both_halves, "the half that retired is not fit to be sent on");

    let engine = Arc::new(UpDown::default());
    let (scheme, policy) = (Scheme::Ordered, policy(Observer::Token));
    bench.driver.intend(Intent::by(engine, scheme, policy));
    let everything = bench.driver.running().routed.clone();
    let closed = bench.driver.prepare(everything).expect("it can be prepared");
    assert!(closed.plan.plan().draft().assumptions.contains(&Assumption::SpareHalfUnused));

    mirror(&mut bench);
    let now_ns = bench.transport.with(|sim| sim.now_ns());
    let switching = (1..200).map(|nth| -> TimedAction {
        let half = if nth % 2 == 0 { Half::Lower } else { Half::Upper };
        (now_ns + nth * 3_000, Box::new(move |transport| transport.with(|sim| sim.load_half(half))))
    });
    let record = remove_next_root(&mut bench, switching.collect());
    assert_eq!(record.outcome, Outcome::Completed);
    let draft = record.plan.plan().draft();
    assert!(draft.both_halves && !draft.assumptions.contains(&Assumption::SpareHalfUnused));
    let running = bench.driver.running().clone();
    assert!(running.both_halves, "no half has retired");
    tables_match(&bench, &running.tables, &running.routed);
    assert_eq!(lid::mirrored(&running.routed, &running.tables.lfts, Half::Upper), running.tables.lfts);
    let packets = at_rest(&bench);
    assert_eq!(packets.injected, packets.delivered, "{packets:?}");
}

#[test]
fn arming_holds_packets_and_loses_none() {
    let policy = Policy { arming: Arming::Hold, ..Policy::default() };
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy);
    let report = remove_root(&mut bench, Vec::new()).expect("it can be prepared");
    assert_eq!(report.outcome, Outcome::Completed);
    let packets = at_rest(&bench);
    assert_eq!(packets.injected, packets.delivered, "{packets:?}");
}

#[test]
fn a_death_is_noticed_by_trap_and_routed_around() {
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Token));
    let transport = bench.transport.clone();
    let actions = vec![kill(MS / 2, bench.root)];
    let report = drive(&transport, bench.driver.await_loss(50 * MS), actions).expect("it can be prepared");
    let report = report.expect("a trap came");
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(names(&report), PHASES);
    let sweep = report.sweep.as_ref().expect("a loss begins with a sweep");
    assert!((MS / 2..report.phases[0].start_ns).contains(&sweep.start_ns) && sweep.smps.total() > 100);
    assert_ne!(report.routed_by.root, Some(bench.root));
    let alive = bench.driver.running().alive.clone();
    assert!(!alive.node(bench.root).present);
    tables_match(&bench, &bench.driver.running().tables.clone(), &alive);
    let packets = at_rest(&bench);
    assert_eq!(packets.lost_to_change, 0, "{packets:?}");
    assert!(packets.lost_to_failure > 0, "{packets:?}");
    // Nothing is left to be done.
    let later = bench.transport.with(|sim| sim.now_ns()) + 5 * MS;
    let more = drive(&transport, bench.driver.await_loss(later), Vec::new()).expect("the port is there");
    assert!(more.is_none(), "{more:?}");
}

/// Routes nothing where `first` is gone and `second` is not.
struct Particular {
    first: NodeId,
    second: NodeId,
}

impl Engine for Particular {
    fn name(&self) -> &'static str {
        "particular"
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        match fabric.node(self.first).present || !fabric.node(self.second).present {
            true => UpDown::default().route(fabric, demand),
            false => Err(RouteError::Unsuited { engine: self.name(), why: "half of it is gone".to_string() }),
        }
    }
}

/// The first of two switches dies, is glanced at, and then the second dies.
#[test]
fn what_cannot_be_routed_after_a_glance_is_swept_at_once() {
    for scheme in [Scheme::Ordered, Scheme::Double] {
        // Only who has swept can glance.
        let swept = || {
            let mut bench = bench("fat-tree:4,2", light(), scheme, policy(Observer::Token));
            let transport = bench.transport.clone();
            drive(&transport, bench.driver.look(), Vec::new()).expect("the subnet answers");
            let now_ns = transport.with(|sim| sim.now_ns());
            (bench, now_ns + MS / 2)
        };
        let glanced = |bench: &mut Bench, actions: Vec<TimedAction>| {
            let transport = bench.transport.clone();
            drive(&transport, bench.driver.await_loss(50 * MS), actions)
        };
        let (mut undisturbed, at_ns) = swept();
        let actions = vec![kill(at_ns, undisturbed.root)];
        let glance = glanced(&mut undisturbed, actions).expect("it can be prepared").expect("a trap came");
        let glance = glance.sweep.expect("a loss begins with a glance");
        assert_eq!(glance.name, "glance");

        let (mut bench, at_ns) = swept();
        let (first, second) = (bench.root, second(&bench));
        let engine = Arc::new(Particular { first, second });
        let policy = policy(Observer::Token);
        bench.driver.intend(Intent::by(engine, scheme, policy));
        let actions = vec![kill(at_ns, first), kill(glance.end_ns + 1_000, second)];
        let report = glanced(&mut bench, actions).expect("the rest can be routed").expect("a trap came");
        assert_eq!((&report.outcome, report.restarts), (&Outcome::Completed, 0), "{scheme}");
        let sweep = report.sweep.expect("a sweep showed the rest");
        assert_eq!((sweep.name, sweep.start_ns), ("sweep", glance.start_ns), "{scheme}: the glance is counted with it");
        assert!(sweep.smps.total() > glance.smps.total() + 100, "{scheme}: {:?}", sweep.smps);
        let alive = bench.driver.running().alive.clone();
        assert!(!alive.node(first).present && !alive.node(second).present, "{scheme}");
        tables_match(&bench, &bench.driver.running().tables.clone(), &alive);
        assert_eq!(at_rest(&bench).lost_to_change, 0, "{scheme}");
    }
}

#[test]
fn lost_late_and_doubled_smps_change_nothing_but_the_time() {
    for seed in 1..=2 {
        let config = SimConfig { seed, smp_loss: 0.05, smp_duplicate: 0.05, smp_delay_ns: 100_000, ..light() };
        let mut bench = bench("fat-tree:4,2", config, Scheme::Double, policy(Observer::Token));
        let report = remove_root(&mut bench, Vec::new()).expect("it can be prepared");
        assert_eq!(report.outcome, Outcome::Completed, "seed {seed}");
        assert!(report.phases.iter().map(|phase| phase.smps.retries).sum::<u64>() > 0, "seed {seed}");
        let packets = at_rest(&bench);
        assert_eq!(packets.injected, packets.delivered, "seed {seed}: {packets:?}");
    }
}

#[test]
fn an_abort_before_the_swap_leaves_all_as_it_was() {
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Token));
    let (before, handle) = (bench.driver.running().tables.clone(), bench.driver.abort_handle());
    handle.abort();
    let report = remove_root(&mut bench, Vec::new()).expect("it can be prepared");
    assert_eq!(report.outcome, Outcome::CalledOff(CallOff::Abort));
    assert_eq!(names(&report), ["split", "call-off"]);
    tables_match(&bench, &before, &bench.fabric);
    assert_eq!(bench.driver.running().half, Half::Lower);
    assert!(matches!(bench.driver.state(), State::CalledOff(_)));
    let report = remove_root(&mut bench, Vec::new()).expect("the next change is none the wiser");
    assert_eq!(report.outcome, Outcome::Completed);
    let packets = at_rest(&bench);
    assert_eq!(packets.injected, packets.delivered, "{packets:?}");
}

/// When a phase of the undisturbed change begins and ends.
fn times_of(phase: &str) -> (u64, u64) {
    times_by(Observer::Token, phase)
}

fn times_by(observer: Observer, phase: &str) -> (u64, u64) {
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(observer));
    let report = remove_root(&mut bench, Vec::new()).expect("it can be prepared");
    let found = report.phases.iter().find(|record| record.name == phase).expect("it has this phase");
    (found.start_ns, found.end_ns)
}

#[test]
fn an_abort_while_tables_are_written_takes_them_back() {
    let (start_ns, end_ns) = times_of("install");
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Token));
    let (before, handle) = (bench.driver.running().tables.clone(), bench.driver.abort_handle());
    let action: TimedAction = ((start_ns + end_ns) / 2, Box::new(move |_| handle.abort()));
    let report = remove_root(&mut bench, vec![action]).expect("it can be prepared");
    assert_eq!(report.outcome, Outcome::CalledOff(CallOff::Abort));
    assert_eq!(names(&report), ["split", "install", "call-off"]);
    tables_match(&bench, &before, &bench.fabric);
    let packets = at_rest(&bench);
    assert_eq!(packets.injected, packets.delivered, "{packets:?}");
}

/// A spine switch that is not the root: without it and the root two are left.
fn second(bench: &Bench) -> NodeId {
    let is_spine = |&id: &NodeId| id != bench.root && !has_hosts(&bench.fabric, id);
    bench.fabric.switches().find(is_spine).expect("four spines")
}

#[test]
fn a_death_before_the_swap_starts_the_change_anew() {
    let (start_ns, end_ns) = times_of("install");
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Token));
    let dead = second(&bench);
    let actions = vec![kill((start_ns + end_ns) / 2, dead)];
    let report = remove_root(&mut bench, actions).expect("it can be prepared");
    assert_eq!((report.outcome.clone(), report.restarts), (Outcome::Completed, 1));
    assert!(names(&report).contains(&"call-off"), "{:?}", names(&report));
    assert!(names(&report).ends_with(&PHASES), "{:?}", names(&report));
    let alive = bench.driver.running().alive.clone();
    assert!(
        !alive.node(dead).present && alive.node(bench.root).present && !bench.driver.running().has_lost_something()
    );
    tables_match(&bench, &bench.driver.running().tables.clone(), &alive);
    assert_eq!(at_rest(&bench).lost_to_change, 0);
}

#[test]
fn a_death_after_the_swap_waits_for_the_end() {
    let (start_ns, end_ns) = times_of("drain");
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Token));
    let dead = second(&bench);
    let actions = vec![kill((start_ns + end_ns) / 2, dead)];
    let report = remove_root(&mut bench, actions).expect("it can be prepared");
    assert_eq!((report.outcome.clone(), report.restarts), (Outcome::Completed, 1), "{:?}", names(&report));
    assert_eq!(names(&report), [PHASES, PHASES].concat());
    assert_eq!(bench.driver.running().half, Half::Lower, "two changes");
    let alive = bench.driver.running().alive.clone();
    tables_match(&bench, &bench.driver.running().tables.clone(), &alive);
    assert_eq!(at_rest(&bench).lost_to_change, 0);
}

#[test]
fn baselines_run_too() {
    for scheme in [Scheme::Static, Scheme::InPlace] {
        let mut bench = bench("fat-tree:4,2", light(), scheme, policy(Observer::Token));
        let report = remove_root(&mut bench, Vec::new()).expect("it can be prepared");
        assert_eq!(report.outcome, Outcome::Completed, "{scheme}");
        assert_eq!(bench.driver.running().half, Half::Lower, "{scheme}");
        tables_match(&bench, &bench.driver.running().tables.clone(), &bench.fabric);
        let lost = at_rest(&bench).lost_to_change;
        assert_eq!(lost > 0, scheme == Scheme::Static, "{scheme} lost {lost}");
    }
}

#[test]
fn a_source_that_never_moves_stops_the_change_where_it_stands() {
    let config = SimConfig { sources_move: false, ..light() };
    let mut bench = bench("fat-tree:4,2", config, Scheme::Double, policy(Observer::Token));
    let report = remove_root(&mut bench, Vec::new()).expect("it can be prepared");
    assert!(matches!(&report.outcome, Outcome::Failed { state: "swapping", .. }), "{:?}", report.outcome);
    let transport = bench.transport.clone();
    let again =
        drive(&transport, bench.driver.resume(), Vec::new()).expect("the port is there").expect("it stands still");
    assert!(matches!(&again.outcome, Outcome::Failed { state: "swapping", .. }), "{:?}", again.outcome);
    let packets = at_rest(&bench);
    assert_eq!(packets.injected, packets.delivered, "it stands still safely: {packets:?}");
}

#[test]
fn one_seed_gives_one_course() {
    let run = || {
        let config = SimConfig { smp_loss: 0.02, ..light() };
        let mut bench = bench("fat-tree:4,2", config, Scheme::Double, policy(Observer::Poll));
        let report = remove_root(&mut bench, Vec::new()).expect("it can be prepared");
        (report.outcome, report.phases, bench.transport.with(|sim| sim.trace_hash()))
    };
    assert_eq!(run(), run());
}

/// The living have counted packets of the dead host, so equal sums of theirs would prove nothing: tokens drain instead.
#[test]
fn counters_drain_nothing_once_an_end_port_has_died() {
    let (start_ns, _) = times_by(Observer::Conservation, "drain");
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Conservation));
    let last = bench.fabric.end_ports().last().expect("hosts");
    let host = bench.fabric.port(last).node;
    // The loss of the host is the next change, in which its counters cannot be read.
    let record = remove_root(&mut bench, vec![kill(start_ns - 1, host)]).expect("the first can be prepared");
    let Outcome::CalledOff(CallOff::Failure(why)) = &record.outcome else { panic!("{:?}", record.outcome) };
    assert!(why.contains(&bench.fabric.describe_port(last)), "{why}");
    assert_eq!(record.restarts, 0);
    assert_eq!(bench.driver.running().half, Half::Upper, "the first change is complete");
    let tokens = |bench: &Bench| bench.driver.subnet().smps().of(AttributeId::DrainToken);
    assert!(tokens(&bench) > 0, "the sums were believed");
    let mut bench = self::bench("fat-tree:4,2", light(), Scheme::Double, policy(Observer::Conservation));
    remove_root(&mut bench, Vec::new()).expect("it can be prepared");
    assert_eq!(tokens(&bench), 0, "nobody died");
}

/// The manager answers to base LIDs, so entries alone are proved beside those of the retired half too. While these are
/// stale a removal is refused that is proved as soon as they follow: the reason why `sm` mirrors before it takes the
/// next order.
#[test]
fn a_removal_that_stale_entries_forbid_is_proved_once_they_follow() {
    let mut bench = bench("fat-tree:4,3", light(), Scheme::Double, policy(Observer::Token));
    remove_root(&mut bench, Vec::new()).expect("it can be prepared");
    let (engine, policy) = (Arc::new(UpDown::default()), policy(Observer::Token));
    bench.driver.intend(Intent::by(engine, Scheme::Ordered, policy));
    let routed = bench.driver.running().routed.clone();
    let last = routed.switches().last().expect("a switch");
    let after = Arc::new(routed.without_nodes(&[last]));
    let stale = bench.driver.prepare(after.clone()).map(|_| ()).expect_err("the old entries forbid it");
    assert!(stale.to_string().contains("repairing the routing in force"), "{stale}");
    mirror(&mut bench);
    let prepared = bench.driver.prepare(after).expect("both halves lead alike");
    assert!(prepared.plan.plan().proves_answers());
}
