//! On a small fabric, the plan for a loss is there before the loss, is the one that is run, and is made anew for what
//! comes after it.

use super::brings_up::{BOTH, all_is_well, expected};
use super::fabrics::{SMALL, generated};
use super::installed;
use super::scene::Scene;
use super::sm::{COMPLETED, without};
use reconfig::fabric::PortId;
use reconfig::ids::Half;
use reconfig::routing::Connectivity;
use std::time::Duration;

const TAKEN: &str = "the plan was prepared before it was asked for";

/// Waits until no more plans are prepared, and there are some.
fn foresees(Scene { manager, subnet, .. }: &Scene) {
    subnet.wait("plans for losses to come", Duration::from_secs(180), || {
        let foreseen = &manager.status(subnet)["foreseen"];
        let count = |key: &str| foreseen[key].as_u64().unwrap_or_default();
        count("ready") > 0 && count("ready") + count("without") == count("losses")
    });
}

#[test]
fn a_switch_and_then_a_cable_are_lost_as_foreseen() {
    if !installed() {
        return;
    }
    let (topology, seed) = SMALL[0];
    let mut scene = Scene::of(&generated(topology, seed), &[]);
    foresees(&scene);
    let root = scene.root();
    scene.subnet.unlink(&root, None);
    scene.settles(1);
    assert_eq!(scene.manager.count(TAKEN), 1);
    let rest = without(&scene.topology, scene.place.root, &scene.place.node);
    all_is_well(&scene.subnet, &expected(&rest, 1, Half::Lower), &BOTH);
    let missing = scene.manager.status(&scene.subnet)["missing"].take();
    let named = missing["switches"]["names"][0].as_str().is_some_and(|name| name.starts_with(root.as_str()));
    assert!(named && missing["switches"]["count"] == 1 && missing["cables"]["count"] == 0, "{root}: {missing}");

    // What may be lost next is another fabric's loss.
    foresees(&scene);
    let is_switch = |port| rest.neighbour(port).is_some_and(|node| rest.node(node).is_switch());
    let can_be_spared =
        |&(one, other): &(PortId, PortId)| Connectivity::of(&rest.without_links(&[one])).joins(one, other);
    let mut cables = rest.links().filter(|&(one, other)| is_switch(one) && is_switch(other));
    let (one, _) = cables.find(can_be_spared).expect("a cable beside which there are others");
    let port = rest.port(one);
    scene.subnet.unlink(rest.node(port.node).description.trim(), Some(port.num.0));
    scene.manager.wait(&scene.subnet, COMPLETED, 2);
    assert_eq!(scene.manager.count(TAKEN), 2);
    all_is_well(&scene.subnet, &expected(&rest.without_links(&[one]), 1, Half::Lower), &BOTH);
    let missing = scene.manager.status(&scene.subnet)["missing"].take();
    assert!(missing["switches"]["count"] == 1 && missing["cables"]["count"] == 1, "{missing}");
}

#[test]
fn nothing_is_foreseen_if_that_is_not_wanted() {
    if !installed() {
        return;
    }
    let (topology, seed) = SMALL[0];
    let mut scene = Scene::of(&generated(topology, seed), &["--no-foresee"]);
    let root = scene.root();
    scene.subnet.unlink(&root, None);
    scene.settles(1);
    assert!(scene.manager.status(&scene.subnet)["foreseen"].is_null());
    assert_eq!(scene.manager.count(TAKEN), 0);
}
