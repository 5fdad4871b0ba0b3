//! Devices that are switched off and on again while no manager is there: they hold no LID when the next one comes.

use super::scene::{S, Scene, Setup};
use reconfig::sim::SimConfig;
use reconfig::sm::SubnetArrival;

/// A subnet that came up, whose manager died; then devices were switched off and on. The manager that follows, once it
/// has had its time.
fn followed(topology: &str, devices: &[&str], at: Option<&str>) -> Scene {
    let mut scene = Scene::cold(topology, SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(S);
    assert_eq!(scene.unreached(&[]), []);
    let nodes: Vec<_> = devices.iter().map(|name| scene.node(name)).collect();
    scene.transport.with(|sim| nodes.iter().for_each(|&node| sim.kill(node)));
    let setup = Setup::default();
    let mut heir = match at {
        Some(host) => scene.succeeded_at(host, setup),
        None => scene.another(setup),
    };
    heir.transport.with(|sim| nodes.iter().for_each(|&node| sim.revive(node)));
    assert!(heir.until(30 * S, |heir| heir.arrival().is_some()), "{devices:?}: {:?}", heir.failures());
    heir.pass(20 * S);
    assert_eq!(heir.unreached(&[]), [], "{devices:?}");
    assert_eq!(heir.failures(), [""; 0], "{devices:?}");
    heir
}

/// What runs without them is adopted as it stands, and they come as anything comes.
#[test]
fn a_host_that_was_switched_off_keeps_nobody_from_being_adopted() {
    for devices in [&["host-16 HCA-1"][..], &["host-7 HCA-1", "host-16 HCA-1"]] {
        assert_eq!(followed("fat-tree:4,2", devices, None).arrival(), Some(SubnetArrival::Adopted), "{devices:?}");
    }
}

/// Rows that led through the switch are lost: the rest is mended by waves that are proved.
#[test]
fn a_switch_that_was_switched_off_is_gone_round_and_then_taken_in() {
    // By up*/down* from the first spine no row of hosts leads through the second.
    assert_eq!(followed("fat-tree:4,2", &["spine-2"], None).arrival(), Some(SubnetArrival::Adopted));
    for (topology, switch) in [("fat-tree:4,2", "spine-1"), ("torus:4x4,1", "switch-0-0")] {
        let arrival = followed(topology, &[switch], None).arrival();
        assert!(matches!(arrival, Some(SubnetArrival::Recovered { .. })), "{switch} of {topology}: {arrival:?}");
    }
}

/// The manager's leaf goes off and on with the manager: its hosts come later, all others are served throughout.
#[test]
fn the_leaf_of_the_manager_that_died_is_taken_in_by_the_next() {
    let arrival = followed("fat-tree:4,2", &["leaf-1"], Some("host-9 HCA-1")).arrival();
    assert!(matches!(arrival, Some(SubnetArrival::Adopted | SubnetArrival::Recovered { .. })), "{arrival:?}");
}

/// The next manager's own host, and its switch, cannot be left for later.
#[test]
fn what_the_manager_needs_itself_gets_its_lid_at_once() {
    for devices in [&["host-1 HCA-1"][..], &["leaf-1"]] {
        let arrival = followed("fat-tree:4,2", devices, None).arrival();
        assert!(!matches!(arrival, Some(SubnetArrival::Rewritten { .. })), "{devices:?}: {arrival:?}");
    }
}
