//! M_Keys.

use super::scene::{S, Scene, Setup};
use reconfig::sim::SimConfig;
use reconfig::sm::SubnetArrival;
use reconfig::wire::{AttributeId, PortInfo, PortPhysState, PortState};

const KEY: u64 = 0xdead_beef_1234_5678;

/// A manager with another key finds tables that it could adopt, and its writes would all be dropped.
#[test]
fn a_wrong_key_is_told_and_the_subnet_is_not_called_up() {
    let setup = Setup { m_key: KEY, ..Setup::default() };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    for wrong in [0, 1] {
        scene = scene.another(Setup { m_key: wrong, ..Setup::default() });
        scene.pass(10 * S);
        assert_eq!(scene.arrival(), None, "key {wrong:#x}");
        let failures = scene.failures();
        assert!(failures.len() > 1, "it is tried again: {failures:?}");
        for failure in failures {
            assert!(failure.contains("hold an M_Key that is not this manager's"), "{failure}");
            assert!(failure.contains("and 23 other ports"), "16 hosts, 8 switches: {failure}");
        }
    }
    scene = scene.another(setup);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted));
    assert_eq!(scene.unreached(&[]), []);
}

/// Somebody else's device in a subnet of ours is left out, and named.
#[test]
fn a_device_under_another_key_is_left_out() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    scene.rewrite("host-9 HCA-1", AttributeId::PortInfo, 1, |held| {
        PortInfo {
            m_key: KEY,
            m_key_protect_bits: 1,
            port_state: PortState::NoChange,
            port_phys_state: PortPhysState::NoChange,
            link_down_default_state: 0,
            ..PortInfo::decode(&held)
        }
        .encode()
    });
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    let host = scene.node("host-9 HCA-1");
    assert_eq!(scene.unreached(&[host]), []);
    assert_ne!(scene.unreached(&[]), []);
    let degraded = scene.degraded();
    assert!(degraded.iter().all(|at| at.left_out && at.device == "host-9 HCA-1"), "{degraded:?}");
    assert_eq!(degraded.len(), 1);
}

/// An earlier manager that let nobody read the devices without the key had a reason for it.
#[test]
fn a_stricter_protection_is_kept() {
    let setup = Setup { m_key: KEY, m_key_protection: 2, ..Setup::default() };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    let mut heir = scene.another(Setup { m_key_protection: 1, ..setup });
    assert!(heir.until(S, |heir| heir.arrival().is_some()), "{:?}", heir.failures());
    assert_eq!(heir.arrival(), Some(SubnetArrival::Adopted));
    heir.pass(3 * S);
    // Under protection 1 all could be read, and it would say whose key that is.
    let mut stranger = heir.another(Setup { m_key: 0, ..setup });
    stranger.pass(10 * S);
    let failures = stranger.failures();
    assert!(!failures.is_empty() && failures.iter().all(|why| !why.contains("hold an M_Key")), "{failures:?}");
}
