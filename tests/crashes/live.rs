//! What others notice of a loss that the manager, alive and with defaults, routes around: on a leaf-spine tree of 16
//! switches, with standard devices and hosts that never ask for a path again. `-- --nocapture` prints what was lost.

use super::world::{Death, Life, Setting, World, WorldEvent};
use super::{AUTO, sound};
use reconfig::fabric::NodeId;
use reconfig::sim::PacketCounts;

const LIVE: Setting = Setting { topology: "leaf-spine:12,4,4", fenced: true, ..AUTO };
/// The longest time without any delivery that is allowed, in nanoseconds.
const MOST_GAP_NS: u64 = 10_000_000;

/// Has a node die; what the manager did, what became of all packets, and the longest time without a delivery.
fn loses(node: impl FnOnce(&World) -> NodeId) -> (Life, PacketCounts, u64) {
    let world = World::new(LIVE);
    let node = node(&world);
    world.pass(1_000_000);
    world.begin_period();
    let life = world.manage(world.sm, None, &[(0, WorldEvent::Dies(node))], Death::Never);
    let gap_ns = world.longest_gap_ns();
    sound(&world, world.sm, &life, false, "a loss");
    assert!(life.changes.iter().all(|outcome| outcome == "Completed") && !life.closed_a_half, "{life:?}");
    let packets = world.packets();
    let PacketCounts { delivered, stranded, lost_to_failure, lost_to_change, .. } = packets;
    println!(
        "{delivered} delivered, {stranded} to or from what died, {lost_to_failure} lost to the failure, {lost_to_change} to the \
         change; {:.3} ms without a delivery at most; {} MADs in {:.1} ms",
        gap_ns as f64 / 1e6,
        life.sent,
        life.took_ns as f64 / 1e6
    );
    (life, packets, gap_ns)
}

#[test]
fn a_host_that_dies_costs_nobody_else_a_packet() {
    let another = |world: &World| {
        let (kept, other) = (world.fabric.port(world.sm).node, world.fabric.port(world.other_port()).node);
        let mut hosts = world.fabric.end_ports().map(|port| world.fabric.port(port).node);
        hosts.find(|host| ![kept, other].contains(host)).expect("a third host")
    };
    let (life, packets, gap_ns) = loses(another);
    assert!(packets.stranded > 0 && packets.delivered > 1_000, "it had traffic: {packets:?}");
    assert_eq!(packets.lost(), 0, "{packets:?}, {life:?}");
    assert!(gap_ns < MOST_GAP_NS, "{gap_ns} ns without a delivery");
}

#[test]
fn a_spine_that_dies_costs_what_was_under_way_over_it() {
    let (life, packets, gap_ns) = loses(|world| world.root);
    assert!(packets.lost_to_failure > 0 && packets.delivered > 1_000, "it had traffic: {packets:?}");
    assert_eq!(packets.lost_to_change, 0, "{packets:?}, {life:?}");
    assert!(packets.lost_to_failure * 20 < packets.delivered, "{packets:?}");
    assert!(gap_ns < MOST_GAP_NS, "{gap_ns} ns without a delivery");
}
