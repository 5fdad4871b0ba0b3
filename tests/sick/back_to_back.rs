//! Two hosts at the ends of one cable, with no switch between them: a subnet with nothing to route.

use super::scene::{S, Scene, Setup};
use reconfig::fabric::{Fabric, FabricBuilder, NodeKind};
use reconfig::ids::{Guid, PortNum};
use reconfig::sim::SimConfig;
use reconfig::sm::SubnetArrival;
use reconfig::wire::PortState;

const HOSTS: [&str; 2] = ["host-1 HCA-1", "host-2 HCA-1"];

fn pair() -> Fabric {
    let mut builder = FabricBuilder::new();
    let [a, b] = [0x10, 0x20].map(|guid| {
        let name = HOSTS[usize::from(guid == 0x20)].to_string();
        builder.node(NodeKind::Ca, Guid(guid), 1, name)
    });
    builder.link((a, PortNum(1)), (b, PortNum(1)), Default::default(), Default::default()).expect("two ends");
    builder.build().expect("a fabric")
}

fn is_joined(scene: &Scene) -> bool {
    let [a, b] = HOSTS;
    let is_up = HOSTS
        .map(|host| scene.port(host))
        .into_iter()
        .all(|port| scene.transport.with(|sim| sim.port_state(port)) == PortState::Active);
    is_up && scene.sa_names_a_path(a, b) && scene.sa_names_a_path(b, a)
}

#[test]
fn two_hosts_without_a_switch_are_brought_up_and_adopted() {
    for lmc in [0, 1] {
        let setup = Setup { lmc, ..Setup::default() };
        let mut scene = Scene::cold_of(pair(), SimConfig::default(), setup, &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "LMC {lmc}: {:?}", scene.failures());
        assert_eq!((scene.arrival(), is_joined(&scene)), (Some(SubnetArrival::Cold), true), "LMC {lmc}");
        scene.pass(20 * S);
        assert_eq!((scene.failures(), is_joined(&scene)), (vec![], true), "LMC {lmc}");
        let mut scene = scene.another(setup);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "LMC {lmc}: {:?}", scene.failures());
        assert_eq!((scene.arrival(), is_joined(&scene)), (Some(SubnetArrival::Adopted), true), "LMC {lmc}");
    }
}

/// For a moment, and for longer than a manager that reaches nobody keeps the subnet.
#[test]
fn the_cable_and_the_peer_may_go_and_come_back() {
    for away_ns in [S / 10, 3 * S, 30 * S] {
        let mut scene = Scene::cold_of(pair(), SimConfig::default(), Setup::default(), &[]);
        assert!(scene.until(S, is_joined), "{:?}", scene.failures());
        scene.pass(3 * S);
        let peer = scene.node(HOSTS[1]);
        scene.transport.with(|sim| sim.kill(peer));
        scene.pass(away_ns);
        assert!(!is_joined(&scene));
        scene.transport.with(|sim| sim.revive(peer));
        assert!(scene.until(20 * S, is_joined), "away for {away_ns} ns: {:?}", scene.failures());
        scene.pass(20 * S);
        assert!(is_joined(&scene), "away for {away_ns} ns: {:?}", scene.failures());
    }
}
