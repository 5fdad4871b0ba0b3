//! What the user settled finds no routing or no change: something stands in, and says so.

use super::scene::{MS, S, Scene, Setup};
use reconfig::fabric::PortId;
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::sm::Happening;
use reconfig::wire::AttributeId;

fn instead(scene: &Scene) -> Option<String> {
    scene.mailbox.borrow().view.instead.clone()
}

/// Fat trees are not tori, and shortest paths on a torus can deadlock: the one engine finds no routing, the other one
/// that is refused.
#[test]
fn where_the_engine_finds_nothing_that_is_proved_another_one_routes() {
    for (engine, why, which) in [
        ("fat-tree", "fat-tree: ", "which cannot route this fabric"),
        ("min-hop", "cannot be proved", "whose routing cannot be proved"),
    ] {
        let setup = |falls_back| Setup { engine, falls_back, ..Setup::default() };
        let mut scene = Scene::cold("torus:4x4,1", SimConfig::default(), setup(true), &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{engine}: {:?}", scene.failures());
        let said = instead(&scene).expect("somebody stands in");
        let begins = format!("engine up-down-robust in place of {engine}, {which}: ");
        assert!(said.starts_with(&begins) && !said[begins.len()..].starts_with(engine), "{said}");
        scene.pass(S);
        assert_eq!(scene.unreached(&[]), [], "{engine}");

        let mut scene = Scene::cold("torus:4x4,1", SimConfig::default(), setup(false), &[]);
        assert!(!scene.until(5 * S, |scene| scene.arrival().is_some()), "{engine}");
        assert!(scene.failures().iter().all(|failed| failed.contains(why)), "{:?}", scene.failures());
    }
}

/// With one data VL there are no lanes for the two halves of `double`, and with one LID there are no halves.
#[test]
fn where_the_scheme_has_no_change_auto_does() {
    for (falls_back, data_vls, lmc) in [(true, 1, 1), (false, 1, 1), (true, 4, 0), (false, 4, 0)] {
        let setup = Setup { data_vls, lmc, auto: false, falls_back, ..Setup::default() };
        let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(S);
        let spine = scene.node("spine-1");
        scene.transport.with(|sim| sim.kill(spine));
        scene.pass(3 * S);
        assert_eq!(scene.unreached(&[spine]).is_empty(), falls_back, "{:?}", scene.failures());
        let said = instead(&scene);
        assert_eq!(said.is_some(), falls_back, "{said:?}");
        assert!(said.is_none_or(|said| said.starts_with("scheme auto, in place of scheme double, engine ")));
        scene.pass(100 * MS);
    }
}

/// The manager's own switch cannot be left out. While it takes no SL-to-VL table the change cannot end, and hosts stand
/// behind its fence; the second time that it refuses, the subnet is taken over as it is, and it comes to rest once the
/// switch serves again.
#[test]
fn a_change_that_the_managers_own_switch_refuses_is_given_up() {
    let sick =
        SickAttribute { attribute: AttributeId::SlToVlMappingTable, sickness: Sickness::Refuses, writes_only: true };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup { auto: false, ..Setup::default() }, &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(S);
    let (spine, own) = (scene.node("spine-1"), scene.fabric.neighbour(scene.port("host-1 HCA-1")).expect("its leaf"));
    scene.transport.with(|sim| sim.kill(spine));
    let entered = |scene: &Scene, state| {
        scene.said.borrow().iter().any(|said| matches!(said, Happening::Entered { state: other } if *other == state))
    };
    assert!(scene.until(10 * S, |scene| entered(scene, "draining")), "{:?}", scene.failures());
    scene.transport.with(|sim| sim.sicken_node(own, sick));
    let given_up = |scene: &Scene| scene.failures().iter().any(|why| why.contains("given up"));
    assert!(scene.until(15 * S, given_up), "{:?}", scene.failures());
    scene.pass(10 * S);
    scene.transport.with(|sim| sim.heal_node(own));
    scene.said.borrow_mut().clear();
    assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(5 * S);
    assert_eq!(scene.unreached(&[spine]), []);
}

/// With one LID there are no halves for `double`, and on the layers of LASH some rows have no way that is free of
/// deadlock beside the others. Forwarding entries alone serve most pairs of hosts meanwhile; the others are tried again
/// until their cable is back. Where nothing may stand in, none is served.
#[test]
fn a_change_that_cannot_be_made_serves_the_pairs_that_it_can_and_is_tried_again() {
    for falls_back in [true, false] {
        let setup = Setup { engine: "lash", lmc: 0, falls_back, ..Setup::default() };
        let mut scene = Scene::cold("mesh:4x4,1", SimConfig::default(), setup, &[]);
        assert!(scene.until(2 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(S);
        assert_eq!((scene.unreached(&[]), instead(&scene)), (vec![], None));
        let fabric = scene.fabric.clone();
        let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
        let cable = fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)).nth(16).expect("24 cables").0;
        scene.transport.with(|sim| sim.kill(cable));
        let lost = scene.unreached(&[]);
        scene.pass(3 * S);
        let left = scene.unreached(&[]);
        assert!(left.iter().all(|pair| lost.contains(pair)), "what worked works: {left:?}");
        assert_eq!(left.len() < lost.len(), falls_back, "{} of {} are left", left.len(), lost.len());
        assert!(!left.is_empty());
        let (said, failed) = (instead(&scene), scene.failures().len());
        assert_eq!(said.is_some(), falls_back, "{said:?}");
        let begins = "forwarding entries alone, which serve some of the hosts, in place of scheme auto, engine lash: ";
        assert!(said.as_ref().is_none_or(|said| said.starts_with(begins)), "{said:?}");
        assert!(failed > 0 && scene.failures()[0].contains("scheme ordered: "), "{:?}", scene.failures());
        assert!(scene.until(60 * S, |scene| scene.failures().len() > failed + 1), "it is tried again");
        assert_eq!((scene.unreached(&[]), instead(&scene)), (left, said));
        scene.transport.with(|sim| sim.revive(cable));
        let is_whole = |scene: &Scene| scene.unreached(&[]).is_empty() && instead(scene).is_none();
        assert!(scene.until(60 * S, is_whole), "{:?}: {:?}", instead(&scene), scene.failures());
    }
}
