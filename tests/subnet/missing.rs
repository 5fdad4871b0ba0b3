//! Devices that are missing behind links that are up: which are called so, and until when.

use super::fake::Fake;
use super::glance::{Cutting, cables_of, ready};
use super::{calm, now};
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::ids::{Guid, Lmc};
use reconfig::lid;
use reconfig::subnet::{Manager, SubnetManager};

/// A switch dies amid a sweep that no trap ends. What was asked through it is found by another way in the next sweep,
/// and is missing no longer.
#[test]
fn what_was_asked_through_a_switch_that_died_is_not_missing_once_it_is_found() {
    let plain = generate(&"torus:4x4,1".parse::<Topology>().expect("a torus"), &Options::default()).expect("it is");
    let fabric = lid::assign(&plain, Lmc::masked(1)).expect("LIDs enough");
    let sm_port = fabric.end_ports().next().expect("a host");
    let own = fabric.neighbour(sm_port).expect("its switch");
    let mut next = fabric.ports_of(own).filter_map(|port| fabric.neighbour(port));
    let dead = next.find(|&node| fabric.node(node).is_switch()).expect("another switch");
    let behind = fabric.ports_of(dead).filter_map(|port| fabric.neighbour(port));
    let behind = behind.filter(|&node| !fabric.node(node).is_switch()).chain([dead]);
    let gone: Vec<Guid> = behind.map(|node| fabric.node(node).guid).collect();
    let mut were_asked_through_it = 0;
    for after in 0.. {
        let fake = Fake::new(fabric.clone(), sm_port, 1);
        let cutting = Cutting { fake, after: usize::MAX, cables: cables_of(&fabric, dead) };
        let mut manager = ready(Manager::new(cutting, calm(), 0), &fabric);
        let called = |manager: &Manager<Cutting>| -> Vec<Guid> {
            let devices = manager.missing().filter_map(|missing| missing.device.as_ref());
            devices.map(|(device, _)| *device).filter(|device| !gone.contains(device)).collect()
        };
        manager.transport_mut().after = after;
        now(manager.discover()).expect("the manager's own device answers");
        if manager.transport().after != usize::MAX {
            break;
        }
        were_asked_through_it += usize::from(!called(&manager).is_empty());
        now(manager.discover()).expect("the manager's own device answers");
        assert_eq!(called(&manager), [], "after {after} MADs");
    }
    assert_ne!(were_asked_through_it, 0, "some are asked through it");
}
