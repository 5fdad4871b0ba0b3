//! Glances: what they find gone is gone, and what is gone is found, or left to a sweep.

use super::fake::{Fake, Faults};
use super::{MS, calm, fabrics, manager, now, patient, rough};
use crate::support::properties::properties;
use async_trait::async_trait;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Lmc, PortNum};
use reconfig::lid;
use reconfig::subnet::{Glance, Manager, SubnetEvent, SubnetManager, Timing};
use reconfig::transport::{Datagram, Transport, TransportError};
use reconfig::wire::PortState;

/// Takes cables away, as devices notice it: both ends are down, and switches set their bits.
fn cut(fake: &mut Fake, cables: &[PortId]) {
    for &port in cables {
        let ends = [Some(port), fake.fabric.peer(port)];
        ends.into_iter().flatten().for_each(|end| set(fake, end, PortState::Down));
    }
    fake.fabric = fake.fabric.without_links(cables);
}

/// One end of a cable comes to a state, and its switch sets its bit.
fn set(fake: &mut Fake, end: PortId, state: PortState) {
    let port = fake.fabric.port(end).clone();
    let device = &mut fake.devices[port.node.index()];
    device.ports.get_mut(&port.num.0).expect("a port").port_state = state;
    device.port_state_change |= fake.fabric.node(port.node).is_switch();
}

pub fn cables_of(fabric: &Fabric, node: NodeId) -> Vec<PortId> {
    fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).collect()
}

/// A switch loses its power.
fn kill(fake: &mut Fake, node: NodeId) {
    cut(fake, &cables_of(&fake.fabric, node));
    fake.fabric = fake.fabric.without_nodes(&[node]);
}

/// A manager that has just swept the fabric it manages.
fn swept(seed: u64, switches: u32, timing: Timing) -> (Manager<Fake>, Fabric) {
    let (manager, fabric) = manager(seed, switches, timing, Faults::default());
    (ready(manager, &fabric), fabric)
}

pub fn ready<T: Transport + AsRef<Fake>>(mut manager: Manager<T>, fabric: &Fabric) -> Manager<T> {
    now(manager.discover()).expect("the subnet answers");
    let sm_port = manager.transport().as_ref().sm_port;
    manager.set_topology(fabric, sm_port);
    manager
}

impl AsRef<Fake> for Fake {
    fn as_ref(&self) -> &Fake {
        self
    }
}

fn glance<T: Transport>(manager: &mut Manager<T>) -> Glance {
    now(manager.glance()).expect("the port is there")
}

/// What is present, without what is not.
fn portrait(fabric: &Fabric) -> Vec<String> {
    let absent: Vec<String> =
        fabric.nodes().filter(|(_, node)| !node.present).map(|(_, n)| n.guid.to_string()).collect();
    let lines = fabrics::portrait(fabric).into_iter();
    lines.filter(|line| !absent.iter().any(|guid| line.starts_with(guid.as_str()))).collect()
}

/// What a sweep finds now.
fn sweep<T: Transport>(manager: &mut Manager<T>) -> Vec<String> {
    portrait(&now(manager.discover()).expect("the subnet answers").fabric)
}

/// A cable between two switches, by its ends.
fn trunk(fabric: &Fabric) -> [PortId; 2] {
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let mut between = fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b));
    let (a, b) = between.find(|&(a, b)| fabric.port(a).node != fabric.port(b).node).expect("two switches are joined");
    [a, b]
}

/// Some cables and switches die.
fn befall(fake: &mut Fake, seed: u64) -> bool {
    let mut random = Pcg32::seed_from_u64(seed);
    let home = fake.fabric.port(fake.sm_port).node;
    let links: Vec<PortId> =
        fake.fabric.links().map(|link| link.0).filter(|&p| fake.fabric.port(p).node != home).collect();
    let links: Vec<PortId> = links.into_iter().filter(|&p| fake.fabric.neighbour(p) != Some(home)).collect();
    let cables: Vec<PortId> = links.into_iter().filter(|_| random.random_bool(0.15)).collect();
    cut(fake, &cables);
    let near = fake.fabric.neighbour(fake.sm_port);
    let dead = fake.fabric.switches().find(|&node| Some(node) != near && random.random_bool(0.15));
    dead.into_iter().for_each(|node| kill(fake, node));
    !cables.is_empty() || dead.is_some()
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Parallel cables, cables of a switch to itself, hosts and routers of two ports among them.
    #[test]
    fn a_glance_finds_what_a_sweep_finds(seed in any::<u64>(), switches in 2u32..12) {
        let (mut manager, fabric) = swept(seed, switches, calm());
        let died = befall(manager.transport_mut(), seed);
        let found = match glance(&mut manager) {
            Glance::Less(found) => portrait(&found),
            Glance::Same => portrait(&fabric),
            Glance::Unsure => return Err(TestCaseError::fail("everybody in reach has said what it lost")),
        };
        prop_assert_eq!(found, sweep(&mut manager), "something died: {}", died);
    }

    #[test]
    fn a_glance_whose_mads_get_lost_is_right_or_unsure(seed in any::<u64>(), switches in 2u32..8, brief in any::<bool>()) {
        let (mut manager, fabric) = swept(seed, switches, if brief { Timing { retries: 1, ..calm() } } else { patient() });
        befall(manager.transport_mut(), seed);
        manager.transport_mut().faults = rough();
        let found = match glance(&mut manager) {
            Glance::Less(found) => portrait(&found),
            Glance::Same => portrait(&fabric),
            Glance::Unsure => return Ok(()),
        };
        manager.transport_mut().faults = Faults::default();
        prop_assert_eq!(found, sweep(&mut manager));
    }

    /// A cable dies after any number of MADs of the glance: what this one misses, the next finds.
    #[test]
    fn a_loss_during_a_glance_is_found_by_it_or_by_the_next(seed in any::<u64>(), switches in 2u32..8, after in 0usize..40) {
        let (fabric, sm_port) = fabrics::random(seed, switches);
        let [cable, _] = trunk(&fabric);
        let fake = Fake::new(fabric.clone(), sm_port, seed);
        let mut manager = ready(Manager::new(Cutting { fake, after: usize::MAX, cables: vec![cable] }, calm(), 0), &fabric);
        manager.transport_mut().after = after;
        let mut first = glance(&mut manager);
        if manager.transport().after != usize::MAX {
            // The glance was over before.
            manager.transport_mut().strike();
        }
        if first == Glance::Same {
            first = glance(&mut manager);
        }
        match first {
            Glance::Same => prop_assert!(false, "nobody found the loss"),
            Glance::Less(found) => prop_assert_eq!(portrait(&found), sweep(&mut manager)),
            Glance::Unsure => {}
        }
    }
}

/// A fake in which cables die once so many MADs have been sent.
pub struct Cutting {
    pub fake: Fake,
    pub after: usize,
    pub cables: Vec<PortId>,
}

impl Cutting {
    fn strike(&mut self) {
        self.after = usize::MAX;
        cut(&mut self.fake, &self.cables);
    }
}

impl AsRef<Fake> for Cutting {
    fn as_ref(&self) -> &Fake {
        &self.fake
    }
}

#[async_trait(?Send)]
impl Transport for Cutting {
    fn now_ns(&self) -> u64 {
        self.fake.now_ns()
    }
    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError> {
        match self.after {
            0 => self.strike(),
            usize::MAX => {}
            _ => self.after -= 1,
        }
        self.fake.send(datagram).await
    }
    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        self.fake.recv(until_ns).await
    }
}

#[test]
fn a_bit_that_the_light_sweep_cleared_is_not_forgotten() {
    let (mut manager, fabric) = swept(5, 6, Timing { light_sweep_ns: Some(100 * MS), ..calm() });
    let ends = trunk(&fabric);
    cut(manager.transport_mut(), &ends[..1]);
    let until_ns = manager.now_ns() + 150 * MS;
    assert!(now(manager.next_event(until_ns)).expect("the port is there").is_some());
    let cleared = ends.map(|end| !manager.transport().devices[fabric.port(end).node.index()].port_state_change);
    assert_ne!(cleared, [false; 2], "it cleared what it could reach");
    let Glance::Less(found) = glance(&mut manager) else { panic!("a cable is gone") };
    assert_eq!(portrait(&found), sweep(&mut manager));
}

/// A sweep clears bits. If its caller can make nothing of what it found, nobody knows what they spoke of.
#[test]
fn after_a_sweep_whose_result_nobody_took_a_glance_is_unsure() {
    let (mut manager, fabric) = swept(5, 6, calm());
    cut(manager.transport_mut(), &trunk(&fabric)[..1]);
    now(manager.discover()).expect("the subnet answers");
    let sent = manager.smps().total();
    assert_eq!(glance(&mut manager), Glance::Unsure);
    assert_eq!(manager.smps().total(), sent, "nothing is asked for that");
    let sm_port = manager.transport().sm_port;
    manager.set_topology(&fabric, sm_port);
    assert_eq!(glance(&mut manager), Glance::Unsure, "the known fabric came too late");
}

/// Another manager sweeps this subnet too: that is why a sweep follows every glance.
#[test]
fn what_somebody_else_cleared_is_left_to_the_sweep() {
    let (mut manager, fabric) = swept(5, 6, calm());
    let [near, far] = trunk(&fabric);
    for silent in [near, far] {
        cut(manager.transport_mut(), &[near]);
        manager.transport_mut().devices[fabric.port(silent).node.index()].port_state_change = false;
        assert_eq!(glance(&mut manager), Glance::Unsure, "one of two ends says nothing");
        manager = swept(5, 6, calm()).0;
    }
    let sm = fabric.port(manager.transport().sm_port).node;
    let host = fabric.end_ports().find(|&port| fabric.port(port).node != sm).expect("twelve hosts");
    let leaf = fabric.neighbour(host).expect("a leaf");
    cut(manager.transport_mut(), &[host]);
    manager.transport_mut().devices[leaf.index()].port_state_change = false;
    assert_eq!(glance(&mut manager), Glance::Same, "no other device knows of that cable");
    assert_ne!(sweep(&mut manager), portrait(&fabric));
}

/// A copy of a `Set` that comes late clears a bit that a later loss has set.
#[test]
fn a_switch_that_was_told_twice_is_asked_for_its_ports_once_more() {
    let (mut manager, fabric) = swept(5, 8, Timing { smp_lifetime_ns: 60_000 * MS, ..patient() });
    let [first, _] = trunk(&fabric);
    cut(manager.transport_mut(), &[first]);
    manager.transport_mut().faults.delay_ns = 350 * MS;
    let Glance::Less(left) = glance(&mut manager) else { panic!("a cable is gone") };
    assert!(manager.smps().retries > 0, "answers come after the request was given up");
    manager.transport_mut().faults = Faults::default();
    let sm_port = manager.transport().sm_port;
    manager.set_topology(&left, sm_port);

    let switch = fabric.port(first).node;
    let host = |&port: &PortId| left.neighbour(port).is_some_and(|next| !left.node(next).is_switch());
    let second = left.ports_of(switch).find(host).expect("it has a host");
    cut(manager.transport_mut(), &[second]);
    manager.transport_mut().devices[switch.index()].port_state_change = false;
    let Glance::Less(found) = glance(&mut manager) else { panic!("a host is gone") };
    assert_eq!(portrait(&found), sweep(&mut manager));
}

#[test]
fn what_a_glance_found_is_known_once_it_is_taken() {
    let (mut manager, fabric) = swept(5, 8, calm());
    cut(manager.transport_mut(), &trunk(&fabric)[..1]);
    let Glance::Less(left) = glance(&mut manager) else { panic!("a cable is gone") };
    let sm_port = manager.transport().sm_port;
    manager.set_topology(&left, sm_port);
    let sent = manager.smps().total();
    assert_eq!(glance(&mut manager), Glance::Same);
    assert_eq!(manager.smps().total() - sent, left.switches().count() as u64, "no port is asked for again");
}

#[test]
fn what_a_glance_found_must_be_taken_before_the_next() {
    let (mut manager, fabric) = swept(5, 6, calm());
    cut(manager.transport_mut(), &trunk(&fabric)[..1]);
    assert!(matches!(glance(&mut manager), Glance::Less(_)));
    assert_eq!(glance(&mut manager), Glance::Unsure);
}

#[test]
fn a_switch_that_restarted_needs_a_sweep() {
    let (mut manager, fabric) = swept(5, 6, calm());
    let [port, peer] = trunk(&fabric);
    for end in cables_of(&fabric, fabric.port(peer).node) {
        let ends = [Some(end), fabric.peer(end)];
        ends.into_iter().flatten().for_each(|end| set(manager.transport_mut(), end, PortState::Initialize));
    }
    // Its own bit is as lost as its tables.
    manager.transport_mut().devices[fabric.port(peer).node.index()].port_state_change = false;
    assert!(manager.transport().devices[fabric.port(port).node.index()].port_state_change);
    assert_eq!(glance(&mut manager), Glance::Unsure);
}

#[test]
fn ends_of_a_cable_that_differ_need_a_sweep() {
    let (mut manager, fabric) = swept(5, 6, calm());
    let [port, _] = trunk(&fabric);
    set(manager.transport_mut(), port, PortState::Down);
    assert_eq!(glance(&mut manager), Glance::Unsure);
    assert_eq!(sweep(&mut manager), portrait(&fabric), "it was there all the time");
}

#[test]
fn who_is_silent_behind_a_link_that_is_up_needs_a_sweep_if_it_is_a_switch() {
    let (mut manager, fabric) = swept(5, 6, calm());
    let sm = manager.transport().sm_port;
    let far = fabric.switches().find(|&node| fabric.neighbour(sm) != Some(node)).expect("six switches");
    manager.transport_mut().silent.insert(far);
    assert_eq!(glance(&mut manager), Glance::Unsure);

    let (mut manager, fabric) = swept(5, 6, calm());
    let host = fabric.end_ports().map(|port| fabric.port(port).node).find(|&node| node != fabric.port(sm).node);
    manager.transport_mut().silent.insert(host.expect("twelve hosts"));
    assert_eq!(glance(&mut manager), Glance::Same, "no host is asked");
}

#[test]
fn a_manager_on_a_switch_glances_too() {
    let (fabric, _) = fabrics::random(7, 6);
    for home in fabric.switches() {
        let sm_port = fabric.port_at(home, PortNum::ZERO).expect("port 0");
        let mut manager = ready(Manager::new(Fake::new(fabric.clone(), sm_port, 7), calm(), 0), &fabric);
        assert_eq!(glance(&mut manager), Glance::Same);
        cut(manager.transport_mut(), &cables_of(&fabric, home)[..1]);
        let Glance::Less(found) = glance(&mut manager) else { panic!("a cable is gone") };
        assert_eq!(portrait(&found), sweep(&mut manager));
    }
}

#[test]
fn where_no_switch_reports_a_cable_only_a_sweep_tells() {
    let mut builder = FabricBuilder::new();
    let [own, other] = [1, 2].map(|guid| builder.node(NodeKind::Ca, Guid(guid), 1, format!("host {guid}")));
    let ends = [(own, PortNum(1)), (other, PortNum(1))];
    builder.link(ends[0], ends[1], Default::default(), Default::default()).expect("both are free");
    let fabric = lid::assign(&builder.build().expect("a fabric"), Lmc::masked(1)).expect("LIDs");
    let sm_port = fabric.port_at(own, PortNum(1)).expect("port 1");
    let mut manager = ready(Manager::new(Fake::new(fabric.clone(), sm_port, 1), calm(), 0), &fabric);
    cut(manager.transport_mut(), &[sm_port]);
    assert_eq!(glance(&mut manager), Glance::Unsure);
}

/// A chain so long that no directed route of 63 hops reaches its end.
#[test]
fn what_no_directed_route_reaches_needs_a_sweep() {
    let topology: Topology = "ring:140,1".parse().expect("a topology");
    let made = generate(&topology, &Options::default()).expect("a ring");
    let fabric = lid::assign(&made, Lmc::masked(1)).expect("LIDs");
    let sm_port = fabric.end_ports().next().expect("hosts");
    let mut manager = Manager::new(Fake::new(fabric.clone(), sm_port, 1), calm(), 0).swept();
    manager.set_topology(&fabric, sm_port);
    assert_eq!(glance(&mut manager), Glance::Unsure);
}

#[test]
fn a_glance_takes_an_smp_for_each_switch_and_one_for_each_port_of_those_that_changed() {
    let topology: Topology = "fat-tree:4,3".parse().expect("a topology");
    let fabric = lid::assign(&generate(&topology, &Options::default()).expect("a tree"), Lmc::masked(1)).expect("LIDs");
    let sm_port = fabric.end_ports().next().expect("hosts");
    let mut manager = ready(Manager::new(Fake::new(fabric.clone(), sm_port, 1), calm(), 0), &fabric);
    let swept = manager.smps().total();
    let switches = fabric.switches().count() as u64;
    assert_eq!(glance(&mut manager), Glance::Same);
    assert_eq!(manager.smps().total() - swept, switches);

    let near = |node| {
        cables_of(&fabric, node).iter().any(|&port| fabric.neighbour(port).is_some_and(|n| !fabric.node(n).is_switch()))
    };
    let top = fabric.switches().filter(|&node| !near(node)).last().expect("three levels");
    kill(manager.transport_mut(), top);
    let before = manager.smps().total();
    let Glance::Less(found) = glance(&mut manager) else { panic!("a switch is gone") };
    let cost = manager.smps().total() - before;
    let neighbours = cables_of(&fabric, top).into_iter().filter_map(|port| fabric.neighbour(port));
    // Each clears its bit, too.
    let ports: usize = neighbours.map(|node| cables_of(&fabric, node).len() + 1).sum();
    assert_eq!(cost, switches - 1 + ports as u64);
    assert!(8 * cost < swept, "{cost} SMPs, and {swept} for a sweep");
    println!("{switches} switches: a sweep {swept} SMPs, a glance {switches}, after the loss of a switch {cost}");
    assert_eq!(portrait(&found), sweep(&mut manager));
}

/// A manager that stood still learns of a smaller fabric while what switches said before waits to be handled.
#[test]
fn what_a_switch_said_is_asked_of_no_other_in_a_smaller_fabric() {
    let (mut manager, fabric) = swept(5, 40, Timing { light_sweep_ns: Some(100 * MS), ..calm() });
    let last = fabric.switches().last().expect("forty switches");
    manager.transport_mut().devices[last.index()].port_state_change = true;
    let said = now(manager.next_event(150 * MS)).expect("the port is there");
    assert_eq!(said, Some(SubnetEvent::PortsChanged { switch: fabric.node(last).guid }));
    let (smaller, sm_port) = fabrics::random(5, 2);
    assert!(smaller.node_count() <= last.index(), "it has no such index");
    manager.set_topology(&smaller, sm_port);
    now(manager.glance()).expect("no switch is asked that the fabric does not have");
}

/// What a switch says is for its own manager: another one reads it, and does not clear it.
#[test]
fn bits_of_switches_that_are_not_taken_in_stay_set() {
    let (mut manager, fabric) = swept(5, 4, Timing { light_sweep_ns: Some(100 * MS), ..calm() });
    let [own, other] = [NodeId(1), NodeId(2)];
    manager.take_in(&fabric.without_nodes(&[other]));
    let say = |manager: &mut Manager<Fake>| {
        for switch in [own, other] {
            manager.transport_mut().devices[switch.index()].port_state_change = true;
        }
    };
    let says = |manager: &Manager<Fake>| {
        [own, other].map(|switch| manager.transport().devices[switch.index()].port_state_change)
    };
    say(&mut manager);
    let changed = Some(SubnetEvent::PortsChanged { switch: fabric.node(own).guid });
    assert_eq!(now(manager.next_event(150 * MS)), Ok(changed));
    assert_eq!(now(manager.next_event(550 * MS)), Ok(None), "that of another one is no news");
    assert_eq!(says(&manager), [false, true]);
    say(&mut manager);
    assert_eq!((glance(&mut manager), says(&manager)), (Glance::Same, [false, true]));
    say(&mut manager);
    sweep(&mut manager);
    assert_eq!(says(&manager), [false, true]);
    manager.take_in(&fabric);
    sweep(&mut manager);
    assert_eq!(says(&manager), [false, false]);
}
