//! How long it takes until all that was sent has come to its end, while more is sent: in rounds, in each of which every
//! device sends off what stood in it when the round began (section W of docs/PROTOCOL.md).

use crate::fabric::{Fabric, NodeId};
use crate::ids::{Half, Lid};
use crate::tables::{Lft, SubnetTables};
use std::sync::Arc;

const HALVES: [Half; 2] = [Half::Lower, Half::Upper];

/// Rounds after which nothing is left of what was sent before these tables were acknowledged everywhere: one for what an
/// older entry has latched, or what was on a cable, and one for each channel of the longest way by the tables.
///
/// A way that ends at a hole ends there for packets too. Ways that go round are passed over: no packet is on one where
/// the wave that led to the tables is free of loops.
pub fn rounds_to_age(fabric: &Fabric, tables: &SubnetTables) -> usize {
    let mut ways = Ways { fabric, lfts: &tables.lfts, hops: vec![None; fabric.node_count()], passed: Vec::new() };
    let lids =
        fabric.end_ports().flat_map(|port| HALVES.into_iter().flat_map(move |half| fabric.half_lids(port, half)));
    1 + lids.map(|lid| ways.longest(lid)).max().unwrap_or(0)
}

struct Ways<'a> {
    fabric: &'a Fabric,
    lfts: &'a [Arc<Lft>],
    /// By node: channels from there to the end of the way; a buffer.
    hops: Vec<Option<usize>>,
    passed: Vec<NodeId>,
}

impl Ways<'_> {
    /// The most channels on a way to a LID.
    fn longest(&mut self, lid: Lid) -> usize {
        self.hops.fill(None);
        let fabric = self.fabric;
        fabric.switches().map(|start| self.from(start, lid)).max().unwrap_or(0)
    }

    /// The channels from a switch to the end of its way.
    fn from(&mut self, start: NodeId, lid: Lid) -> usize {
        let mut at = start;
        // What follows the channel out of the switch passed last; none where it leads nowhere.
        let mut rest = loop {
            if let Some(known) = self.hops[at.index()] {
                break Some(known);
            }
            // Known for now: whoever comes here again has gone round.
            self.hops[at.index()] = Some(0);
            self.passed.push(at);
            let output = self.lfts[at.index()].get(lid).and_then(|port| self.fabric.port_at(at, port));
            match output.and_then(|port| self.fabric.neighbour(port)) {
                Some(next) if self.fabric.node(next).is_switch() => at = next,
                Some(_) => break Some(0),
                None => break None,
            }
        };
        while let Some(node) = self.passed.pop() {
            let hops = rest.map_or(0, |rest| rest + 1);
            self.hops[node.index()] = Some(hops);
            rest = Some(hops);
        }
        rest.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::ids::Lmc;
    use crate::lid;
    use crate::routing::{Demand, Engine, UpDown};

    fn rounds(topology: &str) -> usize {
        let topology: Topology = topology.parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a fabric");
        let fabric = lid::assign(&fabric, Lmc::masked(1)).expect("LIDs suffice");
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
        rounds_to_age(&fabric, &lid::bring_up(&fabric, &function, 1))
    }

    #[test]
    fn a_round_for_each_channel_and_one_more() {
        // Leaf, spine, leaf, host: three channels. In a ring of 8 the longest way of up*/down* passes 7 switches: the two
        // farthest from the root are neighbours.
        assert_eq!(rounds("leaf-spine:4,2,2"), 4);
        assert_eq!(rounds("ring:8,1"), 8);
    }
}
