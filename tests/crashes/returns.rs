//! A host returns, and the manager that brings it in is killed at any moment of that. Entries that led to the host are
//! taken out before its ports are ARMED (G.1), and none leads there again before the change. The subnet is adopted all
//! the same, without what is shut; or, where the host's ports are ACTIVE and a row to it is still absent, recovered by
//! waves that are proved. No half is closed.

use super::world::{Death, Setting, World, WorldEvent};
use super::{AUTO, is_thorough, sound};
use reconfig::fabric::NodeId;

/// A subnet that has lost a host, by forwarding entries alone: its LIDs keep their rows.
fn without_a_host() -> (World, NodeId) {
    let world = World::new(Setting { topology: "mesh:3x3,1", ..AUTO });
    let is_other = |port: &_| *port != world.sm && *port != world.other_port();
    let host = world.fabric.end_ports().find(is_other).expect("a third host");
    let host = world.fabric.port(host).node;
    let life = world.manage(world.sm, None, &[(0, WorldEvent::Dies(host))], Death::Never);
    assert_eq!(life.changes, ["Completed"], "{life:?}");
    (world, host)
}

#[test]
fn a_subnet_to_which_a_host_returns_is_taken_over_with_both_halves_open_whenever_its_manager_is_killed() {
    let (world, host) = without_a_host();
    let sent = world.manage(world.sm, None, &[(0, WorldEvent::Revives(host))], Death::Never).sent;
    let mut recovered = 0;
    for position in (0..sent).step_by(if is_thorough() { 1 } else { 7 }) {
        let (world, host) = without_a_host();
        let killed = world.manage(world.sm, None, &[(0, WorldEvent::Revives(host))], Death::Before(position));
        assert!(killed.was_killed, "before MAD {position}: {killed:?}");
        let next = world.manage(world.sm, None, &[], Death::Never);
        let at = format!("before MAD {position} of {sent}");
        assert!(matches!(next.arrival, Some("adopted" | "recovered")) && !next.closed_a_half, "{at}: {next:?}");
        recovered += usize::from(next.arrival == Some("recovered"));
        sound(&world, world.sm, &next, false, &at);
    }
    assert!(recovered <= 1, "the moment between two writes alone: {recovered} of {sent}");
}
