//! One device fails at one attribute: every attribute that the manager asks for or writes, each way to fail, at each
//! kind of device, from the start and later.

use super::scene::{S, Scene, Setup};
use reconfig::fabric::NodeId;
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::sm::SubnetArrival;
use reconfig::wire::AttributeId;

/// What the manager reads or writes while it brings a subnet up or changes it.
const ATTRIBUTES: [AttributeId; 7] = [
    AttributeId::NodeDescription,
    AttributeId::SwitchInfo,
    AttributeId::PortInfo,
    AttributeId::LinearForwardingTable,
    AttributeId::SlToVlMappingTable,
    AttributeId::PKeyTable,
    AttributeId::VlArbitrationTable,
];

const WAYS: [(Sickness, bool); 5] = [
    (Sickness::Silent, false),
    (Sickness::Silent, true),
    (Sickness::Refuses, false),
    (Sickness::Refuses, true),
    (Sickness::Ignores, true),
];

/// A spine, a leaf and a host, none of them the manager's own.
const DEVICES: [&str; 3] = ["spine-1", "leaf-4", "host-9 HCA-1"];

fn every(mut check: impl FnMut(&str, SickAttribute)) {
    for device in DEVICES {
        for attribute in ATTRIBUTES {
            for (sickness, writes_only) in WAYS {
                check(device, SickAttribute { attribute, sickness, writes_only });
            }
        }
    }
}

/// Whom the loss of a device cuts off: itself, and the hosts on it.
fn goes_with(scene: &Scene, node: NodeId) -> Vec<NodeId> {
    let mut gone = scene.hosts_on(node);
    gone.push(node);
    gone
}

/// Everybody else reaches everybody else, and if somebody is cut off the status says which device, and at what it
/// fails.
fn the_rest_is_served(scene: &Scene, device: &str, sick: SickAttribute) {
    let what = format!("{device}, {sick:?}");
    let node = scene.node(device);
    let (degraded, gone) = (scene.degraded(), goes_with(scene, node));
    assert_eq!(scene.unreached(&gone), [], "{what}: {degraded:?}, {:?}", scene.failures());
    let guid = scene.fabric.node(node).guid;
    assert!(degraded.iter().all(|degraded| degraded.guid == guid), "{what}: only this one: {degraded:?}");
    if !scene.unreached(&[]).is_empty() {
        let named = |degraded: &reconfig::sm::Degraded| degraded.attribute == format!("{:?}", sick.attribute);
        assert!(degraded.iter().any(named), "{what}: {degraded:?}");
    }
}

#[test]
fn the_rest_comes_up_whatever_one_device_fails_at() {
    let mut hindered = 0;
    every(|device, sick| {
        let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[(device, sick)]);
        let up = scene.until(60 * S, |scene| scene.arrival().is_some());
        assert!(up, "{device}, {sick:?}: {:?}", scene.failures());
        // Who fails at an SL-to-VL table does so when hosts send already: what runs is then taken over without it.
        let rewritten = matches!(scene.arrival(), Some(SubnetArrival::Rewritten { .. }));
        let as_was = scene.arrival() == Some(SubnetArrival::Cold) || sick.attribute == AttributeId::SlToVlMappingTable;
        assert!(as_was && !rewritten, "{device}, {sick:?}: {:?}", scene.arrival());
        scene.pass(3 * S);
        the_rest_is_served(&scene, device, sick);
        hindered += usize::from(!scene.degraded().is_empty());
    });
    assert!(hindered > 50, "most of these are noticed: {hindered}");
}

/// A spine dies after another device has fallen sick.
#[test]
fn the_rest_is_rerouted_whatever_one_device_fails_at() {
    every(|device, sick| {
        let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(3 * S);
        assert_eq!(scene.unreached(&[]), []);
        let (node, dead) = (scene.node(device), scene.node("spine-2"));
        scene.transport.with(|sim| {
            sim.sicken_node(node, sick);
            sim.kill(dead);
        });
        scene.pass(60 * S);
        the_rest_is_served(&scene, device, sick);
    });
}

/// What falls ill and gets well again is used again, by itself.
#[test]
fn who_gets_well_is_taken_back() {
    for attribute in [AttributeId::LinearForwardingTable, AttributeId::SlToVlMappingTable, AttributeId::PortInfo] {
        for device in DEVICES {
            let sick = SickAttribute { attribute, sickness: Sickness::Silent, writes_only: true };
            let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[(device, sick)]);
            assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
            scene.pass(60 * S);
            the_rest_is_served(&scene, device, sick);
            let node = scene.node(device);
            scene.transport.with(|sim| sim.heal_node(node));
            // The longest pause so far, and the change that brings it in.
            let back = scene.until(200 * S, |scene| scene.degraded().is_empty() && scene.unreached(&[]).is_empty());
            assert!(back, "{device}, {attribute:?}: {:?}, {:?}", scene.degraded(), scene.failures());
        }
    }
}

/// What a device fails at is asked again, also where nothing else asks for it.
#[test]
fn a_device_that_serves_again_is_no_longer_degraded() {
    for (attribute, writes_only) in [
        (AttributeId::NodeDescription, false),
        (AttributeId::SwitchInfo, true),
        (AttributeId::LinearForwardingTable, false),
        (AttributeId::SlToVlMappingTable, false),
    ] {
        for sickness in [Sickness::Refuses, Sickness::Silent] {
            let sick = SickAttribute { attribute, sickness, writes_only };
            let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
            assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
            scene.pass(3 * S);
            let node = scene.node("leaf-2");
            scene.transport.with(|sim| sim.sicken_node(node, sick));
            // The next manager reads what runs; a cable that goes and comes shows in the port-change bit.
            let mut scene = scene.another(Setup::default());
            assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{sick:?}: {:?}", scene.failures());
            let cable = scene.port("host-5 HCA-1");
            scene.pass(S);
            scene.transport.with(|sim| sim.kill(cable));
            scene.pass(3 * S);
            assert_ne!(scene.degraded(), [], "{sick:?}");
            scene.transport.with(|sim| {
                sim.revive(cable);
                sim.heal_node(node);
            });
            let is_well = scene.until(90 * S, |scene| scene.degraded().is_empty() && scene.unreached(&[]).is_empty());
            assert!(is_well, "{sick:?}: {:?}, {:?}", scene.degraded(), scene.failures());
        }
    }
}

/// Many SMPs are lost: what is asked again in the end answers, and nobody is taken for sick or dead.
#[test]
fn lost_smps_keep_nobody_out() {
    for (loss, seed) in [(0.05, 1), (0.05, 2), (0.2, 1), (0.2, 2), (0.2, 3)] {
        let config = SimConfig { smp_loss: loss, seed, ..SimConfig::default() };
        let mut scene = Scene::cold("fat-tree:4,2", config, Setup::default(), &[]);
        assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{loss}: {:?}", scene.failures());
        let dead = scene.node("spine-2");
        scene.pass(S);
        assert_eq!(scene.unreached(&[]), [], "loss {loss}, seed {seed}: {:?}", scene.degraded());
        scene.transport.with(|sim| sim.kill(dead));
        scene.pass(60 * S);
        assert_eq!(scene.unreached(&[]), [], "loss {loss}, seed {seed}: {:?}", scene.degraded());
        assert_eq!(scene.degraded(), [], "loss {loss}, seed {seed}");
    }
}

/// If nearly all devices fail, the fault is not theirs, and what little would be left is no subnet.
#[test]
fn most_devices_are_never_left_out() {
    let sick = SickAttribute { attribute: AttributeId::PortInfo, sickness: Sickness::Refuses, writes_only: true };
    let hosts: Vec<String> = (2..=16).map(|host| format!("host-{host} HCA-1")).collect();
    let all: Vec<(&str, SickAttribute)> = hosts.iter().map(|host| (host.as_str(), sick)).collect();
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &all);
    scene.pass(9 * S);
    assert_eq!(scene.arrival(), None);
    let failures = scene.failures();
    assert!(failures.iter().all(|why| why.contains("state ARMED")) && failures.len() > 2, "{failures:?}");
    scene.transport.with(|sim| (0..scene.fabric.node_count() as u32).for_each(|node| sim.heal_node(NodeId(node))));
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "nobody has to wait: {:?}", scene.failures());
    assert_eq!(scene.unreached(&[]), []);
}

/// Nor are several devices left out at once without which most hosts would be cut off, unless they keep failing.
#[test]
fn most_hosts_are_not_cut_off_by_what_several_devices_fail_at_once() {
    let attribute = AttributeId::LinearForwardingTable;
    let sick = SickAttribute { attribute, sickness: Sickness::Refuses, writes_only: true };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    let (leaves, dead) = (["leaf-2", "leaf-3", "leaf-4"].map(|leaf| scene.node(leaf)), scene.node("spine-1"));
    scene.transport.with(|sim| {
        leaves.iter().for_each(|&leaf| sim.sicken_node(leaf, sick));
        sim.kill(dead);
    });
    scene.pass(5 * S);
    let left_out = scene.degraded().iter().filter(|at| at.left_out).count();
    assert!(left_out < leaves.len(), "{:?}, {:?}", scene.degraded(), scene.failures());
    scene.transport.with(|sim| leaves.iter().for_each(|&leaf| sim.heal_node(leaf)));
    assert!(scene.until(60 * S, |scene| scene.unreached(&[]).is_empty()), "{:?}", scene.failures());
}

/// Who has one lane, and says that it has no SL-to-VL table, is asked for none, and serves like everybody else.
#[test]
fn who_has_no_lanes_to_choose_from_needs_no_table() {
    let config = || SimConfig { data_vls: 1, ..SimConfig::default() };
    let sick = |sickness| SickAttribute { attribute: AttributeId::SlToVlMappingTable, sickness, writes_only: false };
    for device in DEVICES {
        let mut scene = Scene::cold("fat-tree:4,2", config(), Setup::default(), &[(device, sick(Sickness::Lacks))]);
        assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{device}: {:?}", scene.failures());
        let dead = scene.node("spine-2");
        scene.pass(3 * S);
        scene.transport.with(|sim| sim.kill(dead));
        scene.pass(10 * S);
        let seen = (scene.unreached(&[]), scene.degraded());
        assert_eq!(seen, (vec![], vec![]), "{device}: {:?}", scene.failures());
        let mut next = scene.another(Setup::default());
        assert!(next.until(60 * S, |scene| scene.arrival().is_some()), "{device}: {:?}", next.failures());
        assert_eq!((next.arrival(), next.degraded()), (Some(SubnetArrival::Adopted), vec![]), "{device}");
    }
    // Who has lanes must take its table, whatever it says.
    let device = "host-9 HCA-1";
    let lacking = [(device, sick(Sickness::Lacks))];
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &lacking);
    assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    assert!(scene.degraded().iter().any(|at| at.left_out), "{:?}", scene.degraded());
    assert_eq!(scene.unreached(&[scene.node(device)]), []);
}

/// What devices hold is asked in parts. Who is silent in a later one is left out like anybody else, and the rest is
/// adopted.
#[test]
fn who_is_silent_in_a_later_part_keeps_nobody_else_from_being_adopted() {
    // 32 ports a leaf: the tables of lanes of four leaves fill a part.
    let mut scene = Scene::cold("leaf-spine:8,4,28", SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    let sick =
        SickAttribute { attribute: AttributeId::SlToVlMappingTable, sickness: Sickness::Silent, writes_only: false };
    let node = scene.node("leaf-7");
    scene.transport.with(|sim| sim.sicken_node(node, sick));
    let mut scene = scene.another(Setup::default());
    assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    the_rest_is_served(&scene, "leaf-7", sick);
}
