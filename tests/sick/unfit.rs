//! A device that cannot be served: it is left out by itself, and everybody else is served.

use super::scene::{S, Scene, Setup, named};
use reconfig::driver::Running;
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, PortNum};
use reconfig::plan::Lanes;
use reconfig::sim::SimConfig;
use reconfig::sm::SubnetArrival;
use reconfig::wire::{PortState, VlCount};
use std::sync::Arc;

const SHORT: &str = "short";

/// Three hosts on a switch, and two more switches on that one with a host each; the one called `short` has room for
/// four forwarding entries.
fn fabric() -> Fabric {
    let mut builder = FabricBuilder::new();
    let switch = |builder: &mut FabricBuilder, guid, name: &str| builder.node(NodeKind::Switch, Guid(guid), 8, name);
    let middle = switch(&mut builder, 0x10, "middle");
    let short = switch(&mut builder, 0x20, SHORT);
    let sound = switch(&mut builder, 0x30, "sound");
    builder.node_mut(short).lft_capacity = 4;
    let mut cables = vec![((middle, 7), (short, 8)), ((middle, 8), (sound, 8))];
    for (rank, (at, num)) in (1..).zip([(middle, 1), (middle, 2), (middle, 3), (short, 1), (sound, 1)]) {
        let host = builder.node(NodeKind::Ca, Guid(0x100 * rank), 1, format!("host-{rank}"));
        cables.push(((at, num), (host, 1)));
    }
    for ((a, a_num), (b, b_num)) in cables {
        let ends = [(a, PortNum(a_num)), (b, PortNum(b_num))];
        builder.link(ends[0], ends[1], Default::default(), Default::default()).expect("both ports are free");
    }
    builder.build().expect("a fabric")
}

/// The rest is served, nothing fails, and the status names the switch.
fn it_alone_is_left_out(scene: &Scene) {
    let out: Vec<NodeId> = [SHORT, "host-4"].map(|name| named(&scene.fabric, name)).to_vec();
    assert_eq!((scene.unreached(&out), scene.failures()), (vec![], vec![]));
    let told: Vec<_> =
        scene.degraded().into_iter().map(|at| (at.device, at.attribute, at.fails, at.left_out)).collect();
    let named = (SHORT.to_string(), "SwitchInfo".to_string(), "unfit".to_string(), true);
    assert_eq!(told, [named]);
}

#[test]
fn a_switch_with_too_few_forwarding_entries_keeps_no_subnet_from_coming_up() {
    let mut scene = Scene::cold_of(fabric(), SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(scene.arrival(), Some(SubnetArrival::Cold));
    scene.pass(3 * S);
    it_alone_is_left_out(&scene);
    // It is tried again meanwhile.
    scene.pass(60 * S);
    it_alone_is_left_out(&scene);
    let mut scene = scene.another(Setup::default());
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted));
    scene.pass(60 * S);
    it_alone_is_left_out(&scene);
}

#[test]
fn a_newcomer_with_too_few_forwarding_entries_keeps_no_other_newcomer_out() {
    let mut scene = Scene::cold_of(fabric(), SimConfig::default(), Setup::default(), &[]);
    let late = [SHORT, "sound"].map(|name| scene.node(name));
    scene.transport.with(|sim| late.iter().for_each(|&switch| sim.kill(switch)));
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    scene.transport.with(|sim| late.iter().for_each(|&switch| sim.revive(switch)));
    scene.pass(10 * S);
    it_alone_is_left_out(&scene);
    // Changes go on beside it.
    let host = scene.node("host-2");
    scene.transport.with(|sim| sim.kill(host));
    scene.pass(5 * S);
    scene.transport.with(|sim| sim.revive(host));
    scene.pass(10 * S);
    it_alone_is_left_out(&scene);
}

/// What a device that has been replaced under its GUID is known for, and what is said of it.
struct Lesser {
    device: &'static str,
    lanes: VlCount,
    entries: u16,
    attribute: &'static str,
    /// Whether it is switched off before the manager looks, or comes back at once.
    gap_ns: u64,
}

const ALL: u16 = 0xC000;

const LESSER: [Lesser; 5] = [
    Lesser { device: "spine-1", lanes: VlCount::One, entries: ALL, attribute: "PortInfo", gap_ns: 3 * S },
    Lesser { device: "spine-1", lanes: VlCount::Two, entries: ALL, attribute: "PortInfo", gap_ns: 0 },
    Lesser { device: "spine-1", lanes: VlCount::Four, entries: 20, attribute: "SwitchInfo", gap_ns: 3 * S },
    Lesser { device: "leaf-4", lanes: VlCount::Four, entries: 20, attribute: "SwitchInfo", gap_ns: 0 },
    Lesser { device: "host-7 HCA-1", lanes: VlCount::One, entries: ALL, attribute: "PortInfo", gap_ns: 3 * S },
];

impl Lesser {
    /// Devices that it cuts off, itself included.
    fn cuts_off(&self, scene: &Scene) -> Vec<NodeId> {
        let node = scene.node(self.device);
        let behind = if self.device.starts_with("leaf") { scene.hosts_on(node) } else { vec![] };
        behind.into_iter().chain([node]).collect()
    }

    fn comes_back(&self, scene: &mut Scene) {
        let node = scene.node(self.device);
        scene.transport.with(|sim| sim.kill(node));
        scene.pass(self.gap_ns);
        scene.transport.with(|sim| {
            sim.revive(node);
            sim.curtail_node(node, self.lanes, self.entries);
        });
    }

    /// It alone is left out, with what it alone leads to, and the others keep their lanes.
    fn is_left_out(&self, scene: &Scene) {
        let Lesser { device, attribute, .. } = *self;
        assert_eq!((scene.unreached(&self.cuts_off(scene)), scene.failures()), (vec![], vec![]), "{device}");
        let told: Vec<_> =
            scene.degraded().into_iter().map(|at| (at.device, at.attribute, at.fails, at.left_out)).collect();
        assert_eq!(told, [(device.to_string(), attribute.to_string(), "unfit".to_string(), true)]);
        let is_open = |&port: &PortId| scene.transport.with(|sim| sim.port_state(port)) != PortState::Initialize;
        let ports = scene.fabric.ports_of(scene.node(device)).filter(|&port| scene.fabric.peer(port).is_some());
        assert_eq!(ports.filter(is_open).collect::<Vec<_>>(), [], "{device}");
        assert_eq!(lanes_in_use(scene), 4, "{device}");
    }

    /// Once it has been switched off, and on as it was.
    fn is_back_whole(&self, scene: &mut Scene) {
        let node = scene.node(self.device);
        scene.transport.with(|sim| sim.kill(node));
        scene.pass(3 * S);
        scene.transport.with(|sim| sim.revive(node));
        scene.pass(10 * S);
        assert_eq!((scene.unreached(&[]), scene.failures()), (vec![], vec![]), "{}", self.device);
        assert_eq!((scene.degraded(), lanes_in_use(scene)), (vec![], 4), "{}", self.device);
        assert_eq!(running(scene).routed.nodes().filter(|(_, node)| !node.present).count(), 0, "{}", self.device);
    }
}

fn running(scene: &Scene) -> Arc<Running> {
    scene.mailbox.borrow().view.running.clone().expect("it is up")
}

fn lanes_in_use(scene: &Scene) -> usize {
    Lanes::of_fabric(&running(scene).alive, None).count()
}

fn fat_tree(setup: Setup) -> Scene {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    scene
}

#[test]
fn a_known_device_that_comes_back_with_less_is_judged_as_a_newcomer_is() {
    for lesser in &LESSER {
        let mut scene = fat_tree(Setup::default());
        lesser.comes_back(&mut scene);
        scene.pass(10 * S);
        lesser.is_left_out(&scene);
        // Changes go on beside it.
        let host = scene.node("host-2 HCA-1");
        scene.transport.with(|sim| sim.kill(host));
        scene.pass(5 * S);
        scene.transport.with(|sim| sim.revive(host));
        scene.pass(10 * S);
        lesser.is_left_out(&scene);
        lesser.is_back_whole(&mut scene);
    }
}

/// It takes no lane out of operation, and is judged by the manager that follows.
#[test]
fn what_carries_nothing_takes_no_lane_from_a_subnet_that_is_taken_over() {
    for lesser in LESSER.iter().filter(|lesser| lesser.entries == ALL) {
        for data_vls_are_required in [true, false] {
            let setup = Setup { data_vls_are_required, ..Setup::default() };
            let mut scene = fat_tree(setup);
            lesser.comes_back(&mut scene);
            scene.pass(10 * S);
            let mut heir = scene.another(setup);
            assert!(heir.until(30 * S, |heir| heir.arrival().is_some()), "{}: {:?}", lesser.device, heir.failures());
            assert_eq!(heir.arrival(), Some(SubnetArrival::Adopted), "{}", lesser.device);
            heir.pass(10 * S);
            lesser.is_left_out(&heir);
            lesser.is_back_whole(&mut heir);
        }
    }
}

/// What is in operation is that of a device that carries data, however few it has; its name is said.
#[test]
fn who_has_one_lane_alone_is_named() {
    let why = |scene: &Scene| scene.mailbox.borrow().view.without_double.clone();
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    let host = scene.node("host-3 HCA-1");
    scene.transport.with(|sim| sim.curtail_node(host, VlCount::One, ALL));
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(why(&scene).as_deref(), Some("host-3 HCA-1[1] has one data VL"));
    let mut scene = scene.another(Setup::default());
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!((scene.arrival(), lanes_in_use(&scene)), (Some(SubnetArrival::Adopted), 1));
    assert_eq!(why(&scene).as_deref(), Some("host-3 HCA-1[1] has one data VL"));
    let one = Setup { data_vls: 1, ..Setup::default() };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), one, &[]);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(why(&scene).as_deref(), Some("one data VL is in use, and every port has more"));
}
