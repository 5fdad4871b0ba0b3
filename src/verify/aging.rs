//! How long it takes until all that was sent has come to its end, while more is sent: in rounds, in each of which every
//! device sends off what stood in it when the round began (section W of docs/PROTOCOL.md).

use crate::fabric::{Fabric, NodeId};
use crate::ids::{Half, Lid};
use crate::tables::{Lft, SubnetTables};
use std::sync::Arc;

const HALVES: [Half; 2] = [Half::Lower, Half::Upper];

/// Rounds after which nothing is left of what was sent before these tables were acknowledged everywhere: one for what an
/// older entry has latched, or what was on a cable, and one for each channel of the longest way by the tables over the
/// cables of `surviving`. Packets are also on their way to end ports of `before` that have died.
///
/// A way that ends at a hole ends there for packets too. Ways that lead into a ring are passed over: no packet is on one
/// where the wave that led to the tables is free of loops.
pub fn rounds_to_age(before: &Fabric, surviving: &Fabric, tables: &SubnetTables) -> usize {
    let hops = vec![Way::Unknown; surviving.node_count()];
    let mut ways = Ways { fabric: surviving, lfts: &tables.lfts, hops, passed: Vec::new() };
    let lids =
        before.end_ports().flat_map(|port| HALVES.into_iter().flat_map(move |half| before.half_lids(port, half)));
    1 + lids.map(|lid| ways.longest(lid)).max().unwrap_or(0)
}

/// What is known of the way from a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Unknown,
    /// It is being followed.
    Followed,
    /// It leads into a ring.
    Ring,
    /// It ends after so many channels.
    Ends(usize),
}

struct Ways<'a> {
    fabric: &'a Fabric,
    lfts: &'a [Arc<Lft>],
    /// By node; a buffer.
    hops: Vec<Way>,
    passed: Vec<NodeId>,
}

impl Ways<'_> {
    /// The most channels on a way to a LID.
    fn longest(&mut self, lid: Lid) -> usize {
        self.hops.fill(Way::Unknown);
        let fabric = self.fabric;
        let ends = |way| if let Way::Ends(hops) = way { hops } else { 0 };
        fabric.switches().map(|start| ends(self.from(start, lid))).max().unwrap_or(0)
    }

    fn from(&mut self, start: NodeId, lid: Lid) -> Way {
        let mut at = start;
        // What follows the channel out of the switch passed last; none where it has no such channel.
        let mut rest = loop {
            match self.hops[at.index()] {
                Way::Unknown => {}
                Way::Followed => break Some(Way::Ring),
                known => break Some(known),
            }
            self.hops[at.index()] = Way::Followed;
            self.passed.push(at);
            let output = self.lfts[at.index()].get(lid).and_then(|port| self.fabric.port_at(at, port));
            match output.and_then(|port| self.fabric.neighbour(port)) {
                Some(next) if self.fabric.node(next).is_switch() => at = next,
                Some(_) => break Some(Way::Ends(0)),
                None => break None,
            }
        };
        while let Some(node) = self.passed.pop() {
            let way = match rest {
                None => Way::Ends(0),
                Some(Way::Ends(hops)) => Way::Ends(hops + 1),
                Some(other) => other,
            };
            self.hops[node.index()] = way;
            rest = Some(way);
        }
        self.hops[start.index()]
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
        rounds_to_age(&fabric, &fabric, &lid::bring_up(&fabric, &function, 1))
    }

    #[test]
    fn a_round_for_each_channel_and_one_more() {
        // Leaf, spine, leaf, host: three channels. In a ring of 8 the longest way of up*/down* passes 7 switches: the two
        // farthest from the root are neighbours.
        assert_eq!(rounds("leaf-spine:4,2,2"), 4);
        assert_eq!(rounds("ring:8,1"), 8);
    }
}
