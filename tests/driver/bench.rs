//! A driver on a simulated subnet under traffic, and what may happen to the subnet meanwhile.

use crate::support::with_tables::with_tables;
use reconfig::driver::{ChangeRecord, Driver, DriverError, Intent, Running};
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, Lid, Lmc};
use reconfig::lid;
use reconfig::plan::{Lanes, Observer, Policy, Scheme};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::sim::{Halt, PacketCounts, SimConfig, SimTransport};
use reconfig::subnet::{Manager, Timing};
use reconfig::tables::SubnetTables;
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

pub const MS: u64 = 1_000_000;
pub const PHASES: [&str; 5] = ["split", "install", "swap", "drain", "restore"];

/// What happens to the simulated subnet while a future runs.
pub type TimedAction = (u64, Box<dyn FnOnce(&SimTransport)>);

pub struct Bench {
    pub transport: SimTransport,
    pub driver: Driver<Manager<SimTransport>>,
    pub fabric: Arc<Fabric>,
    pub root: NodeId,
}

pub fn policy(observer: Observer) -> Policy {
    Policy { observer, ..Policy::default() }
}

pub fn timing() -> Timing {
    Timing {
        timeout_ns: 2 * MS,
        retries: 8,
        smp_lifetime_ns: 4 * MS,
        barrier_ns: 10 * MS,
        light_sweep_ns: None,
        ..Timing::default()
    }
}

pub fn bench(topology: &str, config: SimConfig, scheme: Scheme, policy: Policy) -> Bench {
    bench_by(topology, config, scheme, policy, Arc::new(UpDown::default()))
}

pub fn bench_by(topology: &str, config: SimConfig, scheme: Scheme, policy: Policy, engine: Arc<dyn Engine>) -> Bench {
    let plain = generate(&topology.parse::<Topology>().expect("a topology"), &Options::default()).expect("it exists");
    let fabric = lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).expect("LIDs enough");
    let function = engine.route(&fabric, &Demand::all(&fabric, 1)).expect("it is connected");
    let lanes = Lanes::of_fabric(&fabric, policy.reserved_sl);
    let steady = lanes.steady(policy.partition);
    let tables = lid::bring_up(&fabric, &function, 4).on_lanes(steady);
    let config = SimConfig { reserved: lanes.reserved, ..config };
    let sm = fabric.end_ports().next().expect("hosts");
    let mut sim = with_tables(&fabric, &tables, config, sm);
    fabric.nodes().for_each(|(node, _)| sim.load_sl_to_vl(node, |sl| steady.get(sl)));
    let transport = SimTransport::new(sim);
    let sm_lid = fabric.port(sm).lid.expect("assigned");
    transport.with(|sim| sim.load_master_sm(sm_lid, Half::Lower.sls().next().expect("eight")));
    let fabric = Arc::new(fabric);
    let running = Running {
        known: fabric.clone(),
        routed: fabric.clone(),
        alive: fabric.clone(),
        tables,
        layers: 1,
        ways: None,
        half: Half::Lower,
        both_halves: false,
        sm,
    };
    let intent = Intent { engine, scheme, auto: false, policy, unproved_baselines: true };
    let mut manager = Manager::new(transport.clone(), timing(), 0);
    manager.count_from_power_on();
    let driver = Driver::new(manager, running, intent);
    // Where the routing has no root, any switch.
    let root = function.root().or_else(|| fabric.switches().next()).expect("switches");
    Bench { transport, driver, root, fabric }
}

/// Runs a future to its end, the simulation being its clock; actions are done at their times.
pub fn drive<T>(transport: &SimTransport, future: impl Future<Output = T>, mut actions: Vec<TimedAction>) -> T {
    actions.sort_by_key(|(at_ns, _)| std::cmp::Reverse(*at_ns));
    let mut task = tokio_test::task::spawn(future);
    loop {
        if let Poll::Ready(value) = task.poll() {
            return value;
        }
        let next_ns = actions.last().map_or(u64::MAX, |(at_ns, _)| *at_ns);
        assert_ne!(next_ns.min(transport.waits_until_ns()), u64::MAX, "nothing will ever happen");
        assert_ne!(transport.advance(next_ns), Halt::Deadlock, "deadlock");
        if transport.with(|sim| sim.now_ns()) >= next_ns
            && let Some((_, action)) = actions.pop()
        {
            action(transport);
        }
    }
}

pub fn kill(at_ns: u64, node: NodeId) -> TimedAction {
    (at_ns, Box::new(move |transport| transport.with(|sim| sim.kill(node))))
}

/// Lets everything arrive; what became of all packets.
pub fn at_rest(bench: &Bench) -> PacketCounts {
    bench.transport.with(|sim| {
        sim.stop_sources();
        let end_ns = sim.now_ns() + 20 * MS;
        assert_eq!(sim.run(end_ns, false), Halt::Time);
        sim.packets()
    })
}

pub fn tables_match(bench: &Bench, tables: &SubnetTables, alive: &Fabric) {
    let top = bench.fabric.max_lid().expect("LIDs").0;
    for switch in alive.switches() {
        for lid in (1..=top).map(Lid) {
            let there = bench.transport.with(|sim| sim.output(switch, lid));
            assert_eq!(there, tables.lfts[switch.index()].get(lid), "{} {lid:?}", alive.describe_node(switch));
        }
    }
}

pub fn names(report: &ChangeRecord) -> Vec<&'static str> {
    report.phases.iter().map(|phase| phase.name).collect()
}

/// A planned removal of the root, one host of which is never cut off.
pub fn remove_root(bench: &mut Bench, actions: Vec<TimedAction>) -> Result<ChangeRecord, DriverError> {
    let transport = bench.transport.clone();
    let after = Arc::new(bench.fabric.without_nodes(&[bench.root]));
    transport.with(|sim| sim.run(MS / 10, false));
    drive(&transport, bench.driver.change_to(after), actions)
}

/// Whether a switch is a leaf.
pub fn has_hosts(fabric: &Fabric, switch: NodeId) -> bool {
    let mut next = fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port));
    next.any(|next| !fabric.node(next).is_switch())
}

/// Brings a node back.
pub fn revive(at_ns: u64, node: NodeId) -> TimedAction {
    (at_ns, Box::new(move |transport| transport.with(|sim| sim.revive(node))))
}

/// Light traffic with replies. More of it would cost the tests time in proportion.
pub fn light() -> SimConfig {
    SimConfig { load: 0.01, replies: 0.5, ..SimConfig::default() }
}

/// A tree of four spines and four leaves, four hosts on each.
pub fn tree(scheme: Scheme) -> Bench {
    bench("fat-tree:4,2", light(), scheme, policy(Observer::Token))
}
