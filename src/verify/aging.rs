//! The time until all packets sent so far have come to their end, while more are sent: in rounds, in each of which
//! every device sends off the packets that stood in it when the round began (section W of docs/PROTOCOL.md).

use super::ways::{WayEnds, WayStep};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Half, Lid};
use crate::tables::SubnetTables;

const HALVES: [Half; 2] = [Half::Lower, Half::Upper];

/// Rounds after which no packet is left that was sent before these tables were acknowledged everywhere: one for packets
/// that an older entry has latched or that were on a cable, and one for each channel of the longest way by the tables
/// over the cables of `surviving`. Packets are also on their way to end ports of `before` that have died.
///
/// A way that ends at a hole ends there for packets too. Ways that lead into a ring are ignored: no packet is on one
/// where the wave that led to the tables is free of loops.
pub fn rounds_to_age(before: &Fabric, surviving: &Fabric, tables: &SubnetTables) -> usize {
    1 + longest_way(before, surviving, tables)
}

/// The most channels out of switches on a way by the tables: so many lifetimes bring every packet that stands in a switch
/// to its end, and as many rounds and a flush every packet that waits in an end port. Fabrics are those of
/// [`rounds_to_age`].
pub fn longest_way(before: &Fabric, surviving: &Fabric, tables: &SubnetTables) -> usize {
    let mut ways = WayEnds::new(surviving.node_count());
    let lids =
        before.end_ports().flat_map(|port| HALVES.into_iter().flat_map(move |half| before.half_lids(port, half)));
    lids.map(|lid| longest(&mut ways, surviving, tables, lid)).max().unwrap_or(0)
}

/// The most channels on a way to a LID.
fn longest(ways: &mut WayEnds<LastChannels>, fabric: &Fabric, tables: &SubnetTables, lid: Lid) -> usize {
    ways.clear();
    let hop = |at| {
        let at = NodeId(at as u32);
        let output = tables.lfts[at.index()].get(lid).and_then(|port| fabric.port_at(at, port));
        match output.and_then(|port| fabric.neighbour(port)) {
            Some(next) if fabric.node(next).is_switch() => WayStep::Switch(next.index()),
            Some(_) => WayStep::End(1),
            None => WayStep::End(0),
        }
    };
    let channels = |start: NodeId| ways.from(start.index(), hop).map_or(0, |way| way.switches - 1 + way.end);
    fabric.switches().map(channels).max().unwrap_or(0)
}

/// Channels out of the last switch of a way: one into an end port, none at a hole.
type LastChannels = usize;

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
        // Leaf, spine, leaf, host: three channels. In a ring of 8 the longest way of up*/down* passes 7 switches: the
        // two farthest from the root are neighbours.
        assert_eq!(rounds("leaf-spine:4,2,2"), 4);
        assert_eq!(rounds("ring:8,1"), 8);
    }
}
