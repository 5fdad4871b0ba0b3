//! A manager at port 0 of a switch, which has no cable of its own.

use super::scene::{S, Scene, Setup, named};
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::ids::PortNum;
use reconfig::sim::SimConfig;

#[test]
fn losses_and_returns_are_routed_from_port_0_as_from_a_host() {
    let plain = generate(&"fat-tree:4,2".parse::<Topology>().expect("a topology"), &Options::default()).expect("it is");
    let own = plain.port_at(named(&plain, "leaf-1"), PortNum::ZERO).expect("a switch");
    let mut scene = Scene::cold_at(plain, own, SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(S);
    for switch in ["spine-1", "leaf-4"] {
        let node = scene.node(switch);
        let gone = [scene.hosts_on(node), vec![node]].concat();
        scene.transport.with(|sim| sim.kill(node));
        scene.pass(2 * S);
        assert_eq!(scene.unreached(&gone), [], "{switch} is gone: {:?}", scene.failures());
        scene.transport.with(|sim| sim.revive(node));
        scene.pass(5 * S);
        assert_eq!(scene.unreached(&[]), [], "{switch} is back: {:?}", scene.failures());
    }
    assert_eq!(scene.failures(), [""; 0]);
}
