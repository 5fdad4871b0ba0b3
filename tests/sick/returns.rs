//! What comes back is brought up in the order in which data leaves it, so that nothing waits at a port that is ARMED.

use super::scene::{S, Scene, Setup};
use reconfig::fabric::{Fabric, FabricBuilder, NodeKind};
use reconfig::ids::{Guid, PortNum};
use reconfig::plan::Observer;
use reconfig::sim::SimConfig;
use reconfig::wire::PortState;

/// Tables lead to the hosts of a leaf switch while it is away. Where devices hold data at ARMED ports, packets to these
/// hosts would hold up all others.
#[test]
fn hosts_become_active_after_all_ports_of_their_switch() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(5 * S);
    let leaf = scene.node("leaf-4");
    let cabled: Vec<_> = scene.fabric.ports_of(leaf).filter(|&port| scene.fabric.peer(port).is_some()).collect();
    let hosts: Vec<_> = scene.hosts_on(leaf).into_iter().flat_map(|host| scene.fabric.ports_of(host)).collect();
    let into = scene.uplinks("leaf-4").into_iter().filter_map(|port| scene.fabric.peer(port)).collect::<Vec<_>>();
    for away_ns in [S / 1_000, 3 * S] {
        scene.transport.with(|sim| sim.kill(leaf));
        scene.pass(away_ns);
        scene.transport.with(|sim| sim.revive(leaf));
        let active = |scene: &Scene, ports: &[_]| {
            ports.iter().filter(|&&port| scene.transport.with(|sim| sim.port_state(port)) == PortState::Active).count()
        };
        let is_out_of_turn = |scene: &Scene| {
            let [own, near, far] = [&cabled, &into, &hosts].map(|ports| active(scene, ports));
            near > 0 && own < cabled.len() || far > 0 && near < into.len()
        };
        assert!(!scene.until(10 * S, is_out_of_turn), "after {away_ns} ns");
        assert_eq!(scene.unreached(&[]), [], "after {away_ns} ns: {:?}", scene.failures());
    }
}

/// Hosts send as soon as their ports are ACTIVE, and what comes to a port that is ARMED is lost.
#[test]
fn at_a_cold_start_hosts_become_active_after_all_switches() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    become_active_after_all_switches(&mut scene);
}

/// The same when the only switch, and with it every link, has been without power for a moment.
#[test]
fn when_the_only_switch_returns_hosts_become_active_after_it() {
    let mut builder = FabricBuilder::new();
    let switch = builder.node(NodeKind::Switch, Guid(0x10), 4, "switch");
    for rank in 1..=4 {
        let host = builder.node(NodeKind::Ca, Guid(0x100 + u64::from(rank)), 1, format!("host-{rank}"));
        let ends = [(switch, PortNum(rank)), (host, PortNum(1))];
        builder.link(ends[0], ends[1], Default::default(), Default::default()).expect("both ports are free");
    }
    let fabric = builder.build().expect("a fabric");
    let mut scene = Scene::cold_of(fabric, SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.transport.with(|sim| sim.kill(switch));
    scene.pass(S);
    scene.transport.with(|sim| sim.revive(switch));
    become_active_after_all_switches(&mut scene);
}

fn become_active_after_all_switches(scene: &mut Scene) {
    let cabled = |of_switches: bool| {
        let fabric = scene.fabric.clone();
        let ports = fabric.ports().map(|(id, _)| id).filter(|&port| fabric.peer(port).is_some());
        ports.filter(|&port| fabric.node(fabric.port(port).node).is_switch() == of_switches).collect::<Vec<_>>()
    };
    let [of_switches, ends] = [true, false].map(cabled);
    let active = |scene: &Scene, ports: &[_]| {
        ports.iter().filter(|&&port| scene.transport.with(|sim| sim.port_state(port)) == PortState::Active).count()
    };
    let is_out_of_turn = |scene: &Scene| active(scene, &ends) > 0 && active(scene, &of_switches) < of_switches.len();
    assert!(!scene.until(5 * S, is_out_of_turn), "{:?}", scene.failures());
    assert_eq!(active(scene, &ends), ends.len());
}

/// Users see what returns from when it is found, not from when the change that brings it in has ended.
#[test]
fn what_returns_is_not_missing_while_it_is_brought_in() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    let leaf = scene.node("leaf-4");
    let guid = scene.fabric.node(leaf).guid;
    let is_shown = |scene: &Scene, wanted: [bool; 2]| {
        let view = scene.mailbox.borrow().view.running.clone().expect("it is up");
        let is_in = |fabric: &Fabric| fabric.by_guid(guid).is_some_and(|node| fabric.node(node).present);
        [&view.routed, &view.alive].map(|fabric| is_in(fabric)) == wanted
    };
    scene.transport.with(|sim| sim.kill(leaf));
    assert!(scene.until(5 * S, |scene| is_shown(scene, [false, false])), "{:?}", scene.failures());
    scene.pass(3 * S);
    scene.transport.with(|sim| sim.revive(leaf));
    let is_changing = |scene: &Scene| scene.mailbox.borrow().lifecycle().is_changing();
    assert!(scene.until(10 * S, is_changing), "{:?}", scene.failures());
    assert!(is_shown(&scene, [false, true]));
}

/// What came back empty has no limit to the age of packets yet, and none is in it: a loss meanwhile does not wait for
/// it. A host that bounces at the same time has all of it found by one sweep.
#[test]
fn a_loss_meanwhile_does_not_wait_for_what_comes_back() {
    let setup = Setup { observer: Observer::Lifetime, ..Setup::default() };
    let mut scene = Scene::cold("torus:5x5,1", SimConfig::default(), setup, &[]);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    let [back, lost] = ["switch-3-1", "switch-4-2"].map(|name| scene.node(name));
    for bounced in ["host-9 HCA-1", "host-20 HCA-1"].map(|name| scene.node(name)) {
        scene.pass(5 * S);
        scene.transport.with(|sim| sim.kill(back));
        scene.pass(3 * S);
        scene.transport.with(|sim| {
            sim.kill(lost);
            sim.revive(back);
            sim.kill(bounced);
            sim.revive(bounced);
        });
        let gone = [scene.hosts_on(lost), vec![lost]].concat();
        let served = scene.until(5 * S, |scene| scene.unreached(&gone).is_empty());
        assert!(served, "{:?}", scene.failures());
        scene.transport.with(|sim| sim.revive(lost));
        assert!(scene.until(20 * S, |scene| scene.unreached(&[]).is_empty()), "{:?}", scene.failures());
    }
    assert_eq!(scene.failures(), [""; 0]);
}
