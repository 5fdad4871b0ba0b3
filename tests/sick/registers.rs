//! Hosts are asked to register again, each once, whenever a manager becomes the one that answers.

use super::scene::{S, Scene, Setup};
use reconfig::fabric::PortId;
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::sm::{SubnetArrival, Takeover};
use reconfig::wire::AttributeId;

fn asked(scene: &Scene) -> Vec<PortId> {
    let mut asked = scene.transport.with(|sim| sim.take_reregistered());
    asked.sort_unstable();
    asked
}

fn hosts(scene: &Scene) -> Vec<PortId> {
    scene.fabric.end_ports().collect()
}

fn up(scene: &mut Scene) {
    assert!(scene.until(30 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
}

fn cold(setup: Setup, sick: &[(&str, SickAttribute)]) -> Scene {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, sick);
    up(&mut scene);
    scene
}

/// By the `Set`s that make their ports ACTIVE, and by no other.
#[test]
fn at_a_cold_start_all_were_asked_when_the_subnet_is_up() {
    let mut scene = cold(Setup::default(), &[]);
    assert_eq!(asked(&scene), hosts(&scene));
    scene.pass(10 * S);
    assert_eq!(asked(&scene), []);
}

#[test]
fn a_manager_that_comes_after_another_asks_each_once() {
    type Next = fn(Scene) -> Scene;
    let ways: [(&str, Next); 2] = [
        ("restart", |scene| scene.another(Setup::default())),
        ("takeover", |scene| scene.succeeded_at("host-6 HCA-1", Setup::default())),
    ];
    for (way, next) in ways {
        let mut scene = cold(Setup::default(), &[]);
        scene.pass(3 * S);
        asked(&scene);
        let mut scene = next(scene);
        up(&mut scene);
        assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted), "{way}");
        assert_eq!(asked(&scene), [], "{way}: the subnet is up first");
        scene.pass(S);
        assert_eq!(asked(&scene), hosts(&scene), "{way}");
        scene.pass(10 * S);
        assert_eq!(asked(&scene), [], "{way}");
    }
}

/// It may have lost what it held, and its records here are those of before. The change that brings a host in behind a
/// fence asks it once more, as it opens the half in force to it.
#[test]
fn who_comes_back_is_asked() {
    let (host, switch) = ("host-9 HCA-1", "leaf-3");
    let mut scene = cold(Setup::default(), &[]);
    scene.pass(3 * S);
    asked(&scene);
    for device in [host, switch] {
        let node = scene.node(device);
        for off_ns in [S / 10, 20 * S] {
            scene.transport.with(|sim| sim.kill(node));
            scene.pass(off_ns);
            scene.transport.with(|sim| sim.revive(node));
            scene.pass(20 * S);
            let at = |&port: &PortId| {
                let ends = [Some(scene.fabric.port(port).node), scene.fabric.neighbour(port)];
                ends.contains(&Some(node))
            };
            let there: Vec<PortId> = hosts(&scene).into_iter().filter(at).collect();
            let mut asked = asked(&scene);
            assert!(asked.len() <= 2 * there.len(), "{device}: {asked:?}");
            asked.dedup();
            assert_eq!(asked, there, "{device}, off for {off_ns} ns: {:?}", scene.failures());
        }
    }
    let port = scene.port(host);
    scene.transport.with(|sim| {
        sim.kill(port);
        sim.revive(port);
    });
    scene.pass(20 * S);
    assert_eq!(asked(&scene), [port], "its link bounced");
}

/// What hosts hold of the manager before leads by levels and lanes that are no longer those.
#[test]
fn who_rewrites_a_subnet_asks_all() {
    let setup = Setup { lmc: 0, ..Setup::default() };
    let mut scene = cold(setup, &[]);
    scene.pass(3 * S);
    asked(&scene);
    // Entries of one switch lead nowhere: with one LID for each port no half can be kept.
    scene.rewrite("leaf-1", AttributeId::LinearForwardingTable, 0, |_| [1; 64]);
    let mut scene = scene.another(Setup { takeover: Takeover::Rewrite, ..setup });
    up(&mut scene);
    assert_ne!(scene.arrival(), Some(SubnetArrival::Adopted));
    scene.pass(S);
    assert_eq!(asked(&scene), hosts(&scene), "{:?}", scene.arrival());
}

#[test]
fn nobody_is_asked_where_that_is_settled() {
    let setup = Setup { asks_clients: false, ..Setup::default() };
    let mut scene = cold(setup, &[]);
    scene.pass(3 * S);
    let mut scene = scene.another(setup);
    up(&mut scene);
    scene.pass(3 * S);
    assert_eq!(asked(&scene), []);
}

/// It keeps nobody else waiting, is asked from time to time, and takes it once it can.
#[test]
fn who_does_not_take_it_is_asked_later() {
    for sickness in [Sickness::Silent, Sickness::Refuses] {
        let mut scene = cold(Setup::default(), &[]);
        scene.pass(3 * S);
        asked(&scene);
        let name = "host-9 HCA-1";
        let sick = SickAttribute { attribute: AttributeId::PortInfo, sickness, writes_only: true };
        let (port, node) = (scene.port(name), scene.node(name));
        scene.transport.with(|sim| sim.sicken_node(node, sick));
        let mut scene = scene.another(Setup::default());
        up(&mut scene);
        scene.pass(S);
        let others: Vec<PortId> = hosts(&scene).into_iter().filter(|&host| host != port).collect();
        assert_eq!(asked(&scene), others, "{sickness:?}");
        scene.pass(20 * S);
        assert_eq!(asked(&scene), [], "{sickness:?}");
        scene.transport.with(|sim| sim.heal_node(node));
        scene.pass(300 * S);
        assert_eq!(asked(&scene), [port], "{sickness:?}");
        assert_eq!(scene.degraded(), [], "{sickness:?}");
    }
}
