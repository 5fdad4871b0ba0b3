//! The fence at end ports follows what the change says, not what it writes: under either partition of the lanes each
//! half is closed while it must be.

use super::bench::{Bench, MS, TimedAction, bench, drive, kill, light, revive, timing};
use reconfig::driver::{ChangeRecord, DriverError, Trail};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, PortNum, Vl};
use reconfig::machine::{CallOff, Outcome, Ticket};
use reconfig::plan::{LanePartition, Lanes, Observer, Policy, Scheme};
use reconfig::scenario::Witnessed;
use reconfig::sim::{SimConfig, SimTransport, Traffic};
use reconfig::subnet::{Fence, FenceStage, Manager, SourceControl, SubnetManager, WriteOrder};
use reconfig::tables::SlToVl;
use reconfig::wire::{AttributeId, Method, SlToVlMappingTable};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

/// The nanoseconds between two looks, and the time in which to look.
const EVERY_NS: u64 = 20_000;
const LONG_NS: u64 = 6 * MS;

/// The halves that end ports discard: closed at every port, and closed at one at least.
type Shut = (BTreeSet<Half>, BTreeSet<Half>);
/// Looks in their order, each with the state of the change.
type Looks = Rc<RefCell<Vec<(&'static str, Shut)>>>;

fn fenced(partition: LanePartition, observer: Observer) -> Bench {
    let policy = Policy { observer, partition, ..Policy::default() };
    let config = SimConfig { switch_lifetime_ns: 100_000, ..light() };
    let mut bench = bench("fat-tree:4,2", config, Scheme::Double, policy);
    bench.driver.subnet_mut().move_sources(SourceControl::Fenced { settle_ns: MS });
    bench
}

fn table_at(transport: &SimTransport, port: PortId) -> SlToVl {
    let data = transport.with(|sim| sim.attribute(port, AttributeId::SlToVlMappingTable, 0)).expect("it has one");
    SlToVl(SlToVlMappingTable::decode(&data).0)
}

fn closed(table: &SlToVl) -> BTreeSet<Half> {
    let discards = |half: &Half| half.sls().all(|sl| table.get(sl) == Vl::MANAGEMENT);
    [Half::Lower, Half::Upper].into_iter().filter(discards).collect()
}

fn shut(transport: &SimTransport, ports: &[PortId]) -> Shut {
    let each: Vec<BTreeSet<Half>> = ports.iter().map(|&port| closed(&table_at(transport, port))).collect();
    let all = each.iter().fold(BTreeSet::from([Half::Lower, Half::Upper]), |all, one| &all & one);
    (all, each.into_iter().flatten().collect())
}

fn end_ports(fabric: &Fabric) -> Vec<PortId> {
    fabric.end_ports().collect()
}

/// Looks at the end ports at short intervals, and notes in which state of the change each look was.
fn looks(ports: &[PortId], trail: Trail, begin_ns: u64) -> (Vec<TimedAction>, Looks) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let state = Rc::new(RefCell::new("before"));
    let look = |at_ns: u64| -> TimedAction {
        let (seen, state, trail, ports) = (seen.clone(), state.clone(), trail.clone(), ports.to_vec());
        let action = move |transport: &SimTransport| {
            if let Some(&last) = trail.take().last() {
                *state.borrow_mut() = last;
            }
            seen.borrow_mut().push((*state.borrow(), shut(transport, &ports)));
        };
        (at_ns, Box::new(action))
    };
    let actions = (1..LONG_NS / EVERY_NS).map(|nth| look(begin_ns + nth * EVERY_NS)).collect();
    (actions, seen)
}

/// Changes to the fabric without the root, or back to the whole one, under observation; what was seen, by state.
fn watched(bench: &mut Bench, whole: bool) -> BTreeMap<&'static str, Vec<Shut>> {
    let ports = end_ports(&bench.fabric);
    let begin_ns = bench.transport.with(|sim| sim.now_ns());
    let (actions, seen) = looks(&ports, bench.driver.trail(), begin_ns);
    let without = bench.fabric.without_nodes(&[bench.root]);
    let after = if whole { bench.fabric.clone() } else { Arc::new(without) };
    let transport = bench.transport.clone();
    let record = drive(&transport, bench.driver.change_to(after), actions).expect("it can be prepared");
    assert_eq!(record.outcome, Outcome::Completed);
    let mut by_state: BTreeMap<&str, Vec<Shut>> = BTreeMap::new();
    seen.borrow().iter().for_each(|(state, shut)| by_state.entry(state).or_default().push(shut.clone()));
    by_state
}

/// From the flush to the swap the spare half is closed at every port and the other at none; in the drain and the
/// restore it is the half that retired.
fn stands_throughout(seen: &BTreeMap<&str, Vec<Shut>>, old: Half, what: &str) {
    let only = |half: Half| (BTreeSet::from([half]), BTreeSet::from([half]));
    assert!(["flushing", "moving", "draining"].iter().all(|state| seen.contains_key(state)), "{what}: {seen:?}");
    // A look early in the flush may come before the last port has answered.
    assert_eq!(seen["flushing"].last(), Some(&only(old.other())), "{what}");
    for state in ["installing", "swapping"] {
        let early = seen.get(state).into_iter().flatten().next();
        assert!(early.is_none_or(|shut| *shut == only(old.other())), "{what}, {state}: {early:?}");
    }
    for (state, half) in [("installing", old.other()), ("draining", old), ("restoring", old)] {
        let strays = seen.get(state).into_iter().flatten().find(|shut| **shut != only(half));
        assert_eq!(strays, None, "{what}, {state}");
    }
}

fn open_ends(bench: &mut Bench) {
    let transport = bench.transport.clone();
    drive(&transport, bench.driver.subnet_mut().open_ends(), Vec::new()).expect("every port answers");
}

fn steady(bench: &Bench, partition: LanePartition) -> SlToVl {
    Lanes::of_fabric(&bench.fabric, None).steady(partition)
}

#[test]
fn each_half_is_closed_while_it_must_be_under_either_partition() {
    for &partition in LanePartition::ALL {
        for observer in [Observer::Lifetime, Observer::Token] {
            let what = format!("{partition}, {observer}");
            let bench = &mut fenced(partition, observer);
            stands_throughout(&watched(bench, false), Half::Lower, &what);
            open_ends(bench);
            let steady = steady(bench, partition);
            for port in bench.fabric.end_ports() {
                assert_eq!(table_at(&bench.transport, port), steady, "{what}: {}", bench.fabric.describe_port(port));
            }
            stands_throughout(&watched(bench, true), Half::Upper, &what);
        }
    }
}

fn sent(bench: &Bench) -> u64 {
    bench.driver.subnet().smps().total()
}

#[test]
fn what_is_open_already_is_not_written_to() {
    let bench = &mut fenced(LanePartition::Standing, Observer::Lifetime);
    watched(bench, false);
    open_ends(bench);
    let before = sent(bench);
    open_ends(bench);
    assert_eq!(sent(bench), before);
}

/// A change that is called off opens the half again that hosts may be on, and only then: without a routing of both
/// halves in force it stays closed.
#[test]
fn a_change_that_is_called_off_opens_what_it_closed() {
    for &partition in LanePartition::ALL {
        for both_halves in [true, false] {
            let bench = &mut fenced(partition, Observer::Lifetime);
            let (tables, transport) = (bench.driver.running().tables.clone(), bench.transport.clone());
            bench.driver.record_tables(tables.lfts, both_halves);
            let after = Arc::new(bench.fabric.without_nodes(&[bench.root]));
            bench.driver.abort_handle().abort();
            let record = drive(&transport, bench.driver.change_to(after), Vec::new()).expect("it can be prepared");
            assert_eq!(record.outcome, Outcome::CalledOff(CallOff::Abort), "{partition}");
            let spare = BTreeSet::from([Half::Upper]);
            let meant = if both_halves { Shut::default() } else { (spare.clone(), spare) };
            assert_eq!(shut(&transport, &end_ports(&bench.fabric)), meant, "{partition}, both halves: {both_halves}");
        }
    }
}

fn came<F>(transport: &SimTransport, future: F, actions: Vec<TimedAction>) -> ChangeRecord
where
    F: Future<Output = Result<Option<ChangeRecord>, DriverError>>,
{
    drive(transport, future, actions).expect("it can be prepared").expect("something happened")
}

/// Hosts that come with a change send on neither half before the swap, and never on the one that retires (G.4).
#[test]
fn newcomers_are_mute_until_the_swap_under_either_partition() {
    for &partition in LanePartition::ALL {
        let mut bench = fenced(partition, Observer::Lifetime);
        let far = bench.fabric.end_ports().last().expect("sixteen hosts");
        let leaf = bench.fabric.neighbour(far).expect("it is cabled");
        let hosts: Vec<PortId> =
            bench.fabric.end_ports().filter(|&port| bench.fabric.neighbour(port) == Some(leaf)).collect();
        let transport = bench.transport.clone();
        let now_ns = || transport.with(|sim| sim.now_ns());
        let actions = vec![kill(MS / 4, leaf)];
        let gone = came(&transport, bench.driver.await_loss(60 * MS), actions);
        assert_eq!(gone.outcome, Outcome::Completed, "{partition}");
        let begin_ns = now_ns();
        let (mut actions, seen) = looks(&hosts, bench.driver.trail(), begin_ns);
        actions.push(revive(begin_ns + 1, leaf));
        let back = came(&transport, bench.driver.await_growth(begin_ns + 60 * MS), actions);
        assert_eq!(back.outcome, Outcome::Completed, "{partition}");
        let both = BTreeSet::from([Half::Lower, Half::Upper]);
        let seen = seen.borrow();
        let during = |name: &str| seen.iter().filter(|(state, _)| *state == name).map(|(_, shut)| &shut.0).collect();
        let flushing: Vec<&BTreeSet<Half>> = during("flushing");
        assert!(!flushing.is_empty() && flushing.iter().all(|shut| **shut == both), "{partition}: {flushing:?}");
        // This change goes back from the upper half.
        let draining: Vec<&BTreeSet<Half>> = during("draining");
        let retired = BTreeSet::from([Half::Upper]);
        assert!(!draining.is_empty() && draining.iter().all(|shut| **shut == retired), "{partition}: {draining:?}");
        open_ends(&mut bench);
        assert_eq!(shut(&transport, &hosts), Shut::default(), "{partition}: newcomers no longer");
    }
}

/// The channels of the longest way of a plan, and how often each device is ordered to flush behind a fence that has
/// just closed the spare half while its packets crowd the way to one host.
fn flushed_behind_fence(topology: &str, seed: u64) -> (u32, u64) {
    let policy = Policy { observer: Observer::Token, ..Policy::default() };
    let traffic = Traffic::HotSpot { destination: 1, share: 0.9 };
    let config = SimConfig { seed, load: 1.0, buffer_credits: 256, sma_service_ns: 500, traffic, ..light() };
    let mut bench = bench(topology, config, Scheme::Double, policy);
    bench.driver.subnet_mut().move_sources(SourceControl::Fenced { settle_ns: MS });
    // A host of another switch is the manager's.
    let last = bench.fabric.switches().last().expect("switches");
    let after = Arc::new(bench.fabric.without_nodes(&[last]));
    let prepared = bench.driver.prepare(after).expect("it can be prepared");
    let (plan, fabric, transport) = (prepared.plan.plan(), bench.fabric.clone(), bench.transport.clone());
    transport.with(|sim| {
        sim.load_half(plan.new_half());
        sim.run(sim.now_ns() + MS / 2, false)
    });
    let mut manager = Manager::new(transport.clone(), timing(), 0);
    manager.move_sources(SourceControl::Fenced { settle_ns: MS });
    let mut manager = Witnessed::new(transport.clone(), manager, 0);
    manager.set_topology(&fabric, plan.draft().sm);
    manager.set_ways(plan.longest_way(), &fabric.switches().collect::<Vec<_>>());
    let table = |port: PortId| {
        let at = fabric.port(port);
        (port, *plan.tables_at(1).sl_to_vl[at.node.index()].get(PortNum::ZERO, at.num))
    };
    let tables = end_ports(&fabric).into_iter().map(table).collect();
    manager.set_fence(&Fence { stage: FenceStage::Spare(plan.new_half()), tables, newcomers: Vec::new() });
    let split = async {
        manager.apply(&fabric, &plan.waves()[0].writes, WriteOrder::Any).await?;
        manager.flush(Ticket(512), Observer::Token, plan.lanes().b).await.map(|_| ())
    };
    drive(&transport, split, Vec::new()).unwrap_or_else(|error| panic!("{topology} {seed}: {error}"));
    let orders = manager.smps().sent[&(AttributeId::Flush, Method::Set)];
    let devices = fabric.nodes().filter(|(_, node)| node.present).count() as u64;
    assert_eq!(orders % devices, 0, "{topology} {seed}: {orders} orders to {devices} devices");
    (plan.longest_way(), orders / devices)
}

/// Tables of the split lead strays of the spare half into the lanes that are to be empty, wherever they stand: so every
/// device sends off what stands in it once for each channel of the longest way, and then those lanes are flushed (F.7).
#[test]
fn a_flush_behind_a_fence_waits_for_strays_of_the_spare_half() {
    for topology in ["ring:9,2", "mesh:5x2,2", "fat-tree:2,4"] {
        for seed in 0..2 {
            let (channels, orders) = flushed_behind_fence(topology, seed);
            assert_eq!(orders, u64::from(channels) + 1, "{topology} {seed}");
        }
    }
}
