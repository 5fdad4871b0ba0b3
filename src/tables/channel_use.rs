//! The balance with which forwarding entries, as they are, use the channels between switches.

use super::Lft;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum};
use std::sync::Arc;

/// The pairs of end ports whose packets pass each channel between two switches, when each sends to the first LID of a
/// half of every other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelUse {
    /// Channels from one switch to another.
    pub channels: usize,
    /// Those that some pair uses.
    pub used: usize,
    /// The busiest, and the pairs that use it; none where no pair uses any.
    pub busiest: Option<(PortId, u64)>,
}

impl ChannelUse {
    /// Counts them. `lfts` is by node. Packets that go astray count as far as they come.
    pub fn of(fabric: &Fabric, lfts: &[Arc<Lft>], half: Half) -> ChannelUse {
        let mut hosts = vec![0u64; fabric.node_count()];
        let homes = fabric.end_ports().filter_map(|port| fabric.neighbour(port));
        homes.filter(|&home| fabric.node(home).is_switch()).for_each(|home| hosts[home.index()] += 1);
        let leaves: Vec<NodeId> = fabric.switches().filter(|leaf| hosts[leaf.index()] > 0).collect();
        let mut pairs = vec![0u64; fabric.port_count()];
        for owner in fabric.end_ports() {
            let Some(lid) = fabric.half_lids(owner, half).next() else { continue };
            for &leaf in leaves.iter().filter(|&&leaf| fabric.neighbour(owner) != Some(leaf)) {
                follow(fabric, lfts, lid, leaf, |channel| pairs[channel.index()] += hosts[leaf.index()]);
            }
        }
        let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
        let between = |&(a, b): &(PortId, PortId)| is_switch(a) && is_switch(b);
        let channels: Vec<PortId> = fabric.links().filter(between).flat_map(|(a, b)| [a, b]).collect();
        let load = |channel: &PortId| pairs[channel.index()];
        let used = channels.iter().filter(|channel| load(channel) > 0).count();
        // Of several, the first.
        let busiest = channels.iter().rev().max_by_key(|channel| load(channel));
        let busiest = busiest.map(|&channel| (channel, load(&channel))).filter(|&(_, pairs)| pairs > 0);
        ChannelUse { channels: channels.len(), used, busiest }
    }
}

/// Calls `pass` with each channel between switches that a packet to `lid` passes from a switch.
fn follow(fabric: &Fabric, lfts: &[Arc<Lft>], lid: Lid, start: NodeId, mut pass: impl FnMut(PortId)) {
    let mut at = start;
    // A packet that has passed so many switches loops.
    for _ in 0..fabric.node_count() {
        let output = lfts[at.index()].get(lid).filter(|&output| output != PortNum::ZERO);
        let Some(channel) = output.and_then(|output| fabric.port_at(at, output)) else { return };
        match fabric.neighbour(channel) {
            Some(next) if fabric.node(next).is_switch() => at = next,
            _ => return,
        }
        pass(channel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::Lmc;
    use crate::lid;
    use crate::routing::{Demand, Engine, FatTree, UpDown};

    fn used(engine: &dyn Engine) -> ChannelUse {
        let plain = generate(&"leaf-spine:4,2,2".parse().unwrap(), &Options::default()).unwrap();
        let fabric = lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).unwrap();
        let function = engine.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
        ChannelUse::of(&fabric, &lid::bring_up(&fabric, &function, 4).lfts, Half::Lower)
    }

    #[test]
    fn both_spines_of_a_tree_are_in_use_and_the_second_stays_idle_below_one_root() {
        // Four leaves of two hosts: each sends its 2 × 6 pairs over two spines, or over one.
        let pairs = |used: &ChannelUse| used.busiest.map(|(_, pairs)| pairs);
        let tree = used(&FatTree);
        assert_eq!((tree.channels, tree.used, pairs(&tree)), (16, 16, Some(6)));
        let rooted = used(&UpDown::default());
        assert_eq!((rooted.channels, rooted.used, pairs(&rooted)), (16, 8, Some(12)));
    }
}
