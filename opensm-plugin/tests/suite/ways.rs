//! Ways of hosts while a wave is written: what has a way keeps it, whatever order blocks land in.

use crate::decision::World;
use crate::harness::bundled;
use crate::moments::{cables, random};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Lid, PortNum};
use reconfig::tables::Lft;
use std::sync::Arc;

/// Whether packets that hosts of a switch send to a LID arrive. A switch discards what is to leave by the port it came
/// in by.
fn arrives(fabric: &Fabric, lfts: &[Arc<Lft>], from: NodeId, lid: Lid) -> bool {
    let (mut at, mut input) = (from, None);
    for _ in 0..fabric.node_count() {
        let Some(output) = lfts[at.index()].get(lid).filter(|&output| input != Some(output)) else { return false };
        let Some(peer) = fabric.port_at(at, output).and_then(|port| fabric.peer(port)) else { return false };
        let there = fabric.port(peer);
        if !fabric.node(there.node).is_switch() {
            return fabric.lid_owner(lid) == Some(peer);
        }
        (at, input) = (there.node, Some(there.num));
    }
    false
}

fn is_host(fabric: &Fabric, port: PortId) -> bool {
    !fabric.node(fabric.port(port).node).is_switch()
}

fn bears_hosts(fabric: &Fabric, switch: NodeId) -> bool {
    fabric.ports_of(switch).any(|port| fabric.peer(port).is_some_and(|peer| is_host(fabric, peer)))
}

/// Ways that a write to one switch takes away: where they begin, and the LID.
pub fn taken(fabric: &Fabric, before: &[Arc<Lft>], after: &[Arc<Lft>], written: NodeId) -> Vec<(NodeId, Lid)> {
    let lids = before[written.index()].differing(&after[written.index()]);
    let lids = lids.filter(|&lid| fabric.lid_owner(lid).is_some_and(|owner| is_host(fabric, owner)));
    let sources: Vec<NodeId> = fabric.switches().filter(|&switch| bears_hosts(fabric, switch)).collect();
    let ways = lids.flat_map(|lid| sources.iter().map(move |&from| (from, lid)));
    ways.filter(|&(from, lid)| arrives(fabric, before, from, lid) && !arrives(fabric, after, from, lid)).collect()
}

/// Writes tables block by block in an order that the number tells; no way may be taken away.
pub fn assert_no_way_is_taken(fabric: &Fabric, before: &[Arc<Lft>], after: &[Arc<Lft>], order: u64) {
    let mut blocks: Vec<(u64, NodeId, u16)> = Vec::new();
    for switch in fabric.switches() {
        let all = 0..after[switch.index()].blocks();
        let scattered = |block: u16| {
            let number = (u64::from(switch.0) << 16 | u64::from(block)) ^ order << 40;
            number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        blocks.extend(all.map(|block| (scattered(block), switch, block)));
    }
    blocks.sort_unstable();
    let mut lfts = before.to_vec();
    for (_, switch, block) in blocks {
        let held = lfts.clone();
        let entries = after[switch.index()].block(block);
        Arc::make_mut(&mut lfts[switch.index()]).set_block(block, &entries);
        let taken = taken(fabric, &held, &lfts, switch);
        let described = |&(from, lid): &(NodeId, Lid)| format!("{} to LID {lid}", fabric.describe_node(from));
        let described: Vec<String> = taken.iter().map(described).collect();
        assert!(taken.is_empty(), "{} takes {} away", fabric.describe_node(switch), described.join(", "));
    }
}

/// Switches of which not all hosts are cut off by the loss: all of their cables, one switch after the other.
#[test]
fn what_has_a_way_keeps_it_while_a_switch_dies() {
    let seeded = |topology: &str, seed| {
        let options = Options { seed, ..Options::default() };
        generate(&topology.parse().expect("a topology"), &options).expect("a fabric")
    };
    let fabrics = [
        seeded("random-regular:32,4,2", 8),
        seeded("waxman:24,0.5,0.3,2", 1),
        random(16, 4, 2),
        bundled("torus-4x4"),
        bundled("fat-tree-4-2"),
    ];
    for fabric in fabrics {
        let mut world = World::new(&fabric, 0, "");
        world.settle();
        let cables = cables(&world.whole);
        let switches: Vec<NodeId> = world.whole.switches().collect();
        for &switch in switches.iter().skip(1).take(8) {
            let of_switch = |&port: &PortId| {
                [Some(port), world.whole.peer(port)]
                    .into_iter()
                    .flatten()
                    .any(|end| world.whole.port(end).node == switch)
            };
            let own: Vec<PortId> = cables.iter().copied().filter(of_switch).collect();
            world.lose(&own);
            world.lose(&[]);
        }
        println!(
            "{} switches: {} runs that wrote, the most parts of a wave {}",
            switches.len(),
            world.runs,
            world.parts
        );
    }
}

/// Entries of a wave that are written before others: those that lead nowhere, and those whose new way is there.
#[test]
fn a_part_of_a_wave_takes_no_way_that_the_whole_would_take() {
    // A ring of four switches, a host on each. The cable from 1 to 0, by which 2 goes to the host of 0 too, has died.
    let fabric = generate(&"ring:4,1".parse().expect("a topology"), &Options::default()).expect("a fabric");
    let fabric = reconfig::lid::assign(&fabric, reconfig::ids::Lmc::masked(0)).expect("LIDs suffice");
    let switches: Vec<NodeId> = fabric.switches().collect();
    let towards = |from: usize, to: usize| -> PortNum {
        let port = fabric.ports_of(switches[from]).find(|&port| fabric.neighbour(port) == Some(switches[to]));
        fabric.port(port.expect("neighbours")).num
    };
    let host = fabric.ports_of(switches[0]).find_map(|port| {
        let peer = fabric.peer(port).filter(|&peer| is_host(&fabric, peer))?;
        Some((fabric.port(port).num, fabric.port(peer).lid?))
    });
    let (home, lid) = host.expect("a host");
    let dead = fabric.ports_of(switches[1]).find(|&port| fabric.neighbour(port) == Some(switches[0]));
    let now = fabric.without_links(&dead.into_iter().collect::<Vec<_>>());
    let tables = |outputs: [PortNum; 4]| -> Vec<Arc<Lft>> {
        let mut lfts = vec![Lft::new(); fabric.node_count()];
        switches.iter().zip(outputs).for_each(|(switch, output)| lfts[switch.index()].set(lid, output));
        lfts.into_iter().map(Arc::new).collect()
    };
    let held = tables([home, towards(1, 0), towards(2, 1), towards(3, 0)]);
    let wanted = tables([home, towards(1, 2), towards(2, 3), towards(3, 0)]);
    assert_eq!(reconfig_opensm::parts::part(&now, [&held, &wanted], false), None, "both ways are there to their end");
    // By way of 3, which leads on only once it is written itself.
    let held = tables([home, towards(1, 0), towards(2, 1), towards(3, 2)]);
    let first = reconfig_opensm::parts::part(&now, [&held, &wanted], false).expect("2 comes after 3");
    assert_eq!(first, tables([home, towards(1, 2), towards(2, 1), towards(3, 0)]));
    assert_eq!(reconfig_opensm::parts::part(&now, [&first, &wanted], false), None);
}
