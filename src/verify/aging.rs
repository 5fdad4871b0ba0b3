//! The time until all packets sent so far have come to their end, while more are sent: in rounds, in each of which
//! every device sends off the packets that stood in it when the round began (section W of docs/PROTOCOL.md).

use super::ways::{WayEnds, WayStep};
use crate::fabric::{Fabric, RankedSwitches};
use crate::ids::{Half, Lid};
use crate::tables::SubnetTables;

const HALVES: [Half; 2] = [Half::Lower, Half::Upper];

/// LIDs for which a table is read at once: it lies switch by switch, and ways lead from switch to switch.
const TOGETHER: usize = 16;

/// Rounds after which no packet is left that was sent before these tables were acknowledged everywhere: one for packets
/// that an older entry has latched or that were on a cable, and one for each switch of the longest way by the tables
/// over the cables of `surviving`. Packets are also on their way to end ports of `before` that have died.
///
/// Ways that lead into a ring are ignored: no packet is on one where the wave that led to the tables is free of loops.
pub fn rounds_to_age(before: &Fabric, surviving: &Fabric, tables: &SubnetTables) -> usize {
    1 + longest_way(before, surviving, tables)
}

/// The most switches on a way by the tables: so many lifetimes bring every packet that stands in a switch to its end,
/// and as many rounds and a flush every packet that waits in an end port. Where a way ends at a hole its last switch
/// counts, too: a packet waits there behind others before it is discarded. Fabrics are those of [`rounds_to_age`].
pub fn longest_way(before: &Fabric, surviving: &Fabric, tables: &SubnetTables) -> usize {
    let lids =
        before.end_ports().flat_map(|port| HALVES.into_iter().flat_map(move |half| before.half_lids(port, half)));
    let lids: Vec<Lid> = lids.collect();
    let ranked = RankedSwitches::of(surviving);
    let switches = &ranked.switches;
    let (mut ways, mut next) = (WayEnds::new(switches.len()), vec![[None; TOGETHER]; switches.len()]);
    let mut longest = 0;
    for lids in lids.chunks(TOGETHER) {
        for (&switch, next) in switches.iter().zip(&mut next) {
            let lft = &tables.lfts[switch.index()];
            for (next, &lid) in next.iter_mut().zip(lids) {
                let output = lft.get(lid).and_then(|port| surviving.port_at(switch, port));
                *next = output.and_then(|port| ranked.behind(port));
            }
        }
        for (own, _) in lids.iter().enumerate() {
            ways.clear();
            let hop = |at: usize| next[at][own].map_or(WayStep::End(()), WayStep::Switch);
            let of = (0..switches.len()).filter_map(|start| ways.from(start, hop)).map(|way| way.switches);
            longest = of.max().unwrap_or(0).max(longest);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::NodeId;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::ids::{Lmc, PortNum};
    use crate::lid;
    use crate::routing::{Demand, Engine, UpDown};
    use crate::tables::Lft;
    use std::sync::Arc;

    fn rounds(topology: &str) -> usize {
        let topology: Topology = topology.parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a fabric");
        let fabric = lid::assign(&fabric, Lmc::masked(1)).expect("LIDs suffice");
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
        rounds_to_age(&fabric, &fabric, &lid::bring_up(&fabric, &function, 1))
    }

    #[test]
    fn a_round_for_each_switch_and_one_more() {
        // Leaf, spine, leaf. In a ring of 8 the longest way of up*/down* passes 7 switches: the
        // two farthest from the root are neighbours.
        assert_eq!(rounds("leaf-spine:4,2,2"), 4);
        assert_eq!(rounds("ring:8,1"), 8);
    }

    /// To the only LID in use: 0 → 1 → … → 5, which has lost its way. Packets wait in it before they are discarded.
    #[test]
    fn the_switch_that_discards_is_passed_too() {
        let fabric = generate(&Topology::Ring { switches: 8, hosts: 1 }, &Options::default()).expect("a fabric");
        let fabric = lid::assign(&fabric, Lmc::masked(1)).expect("LIDs suffice");
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
        let mut tables = lid::bring_up(&fabric, &function, 1);
        let switches: Vec<NodeId> = fabric.switches().collect();
        let owner = fabric.end_ports().next().expect("hosts");
        let lid = fabric.port(owner).lid.expect("LIDs are assigned");
        for (rank, &switch) in switches.iter().enumerate() {
            let mut lft = Lft::default();
            let next = switches.get(rank + 1).filter(|_| rank < 5);
            let onward =
                next.and_then(|&next| fabric.ports_of(switch).find(|&port| fabric.neighbour(port) == Some(next)));
            lft.set(lid, onward.map_or(PortNum::NO_ROUTE, |port| fabric.port(port).num));
            tables.lfts[switch.index()] = Arc::new(lft);
        }
        assert_eq!(longest_way(&fabric, &fabric, &tables), 6);
    }
}
