//! The possible contents of switches' multicast tables, and the next writes towards the wanted ones.
//!
//! A new tree comes into force in two steps (claim K.7 of docs/PROTOCOL.md): first every switch drops the outputs that
//! the new rows do not have, then each gets those that it lacks. A switch *may* hold more than it does, as long as a
//! write is not acknowledged. The second step waits for the first at every switch that takes part. So at each moment
//! all outputs are of one tree, the old one or the new. Pure: indices are those of one subnet.

use crate::fabric::NodeId;
use crate::tables::{Mft, MftMasks, MftPart};
use std::collections::{BTreeMap, BTreeSet};

/// A write of one part of a switch's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PartWrite {
    pub(super) switch: NodeId,
    pub(super) part: MftPart,
    pub(super) masks: MftMasks,
}

/// The table of one switch.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldTable {
    /// Every output that it may have.
    rows: Mft,
    /// Parts of which it may have fewer outputs: a write was not acknowledged, or its power may have been off.
    doubtful: BTreeSet<MftPart>,
    /// Parts that were not read yet.
    unread: BTreeSet<MftPart>,
}

impl HeldTable {
    /// The table of a switch with this many ports and entries, of which nothing is known.
    pub(super) fn unknown(ports: u8, cap: u16) -> HeldTable {
        HeldTable { unread: Mft::all_parts(ports, cap).collect(), ..HeldTable::default() }
    }

    pub(super) fn is_read(&self) -> bool {
        self.unread.is_empty()
    }

    pub(super) fn unread(&self) -> impl Iterator<Item = MftPart> + '_ {
        self.unread.iter().copied()
    }

    pub(super) fn rows(&self) -> &Mft {
        &self.rows
    }

    /// Notes that a part was read, or acknowledged, to hold these masks.
    pub(super) fn holds(&mut self, part: MftPart, masks: &MftMasks) {
        self.rows.set_part(part, masks);
        self.doubtful.remove(&part);
        self.unread.remove(&part);
    }

    /// A write of a part was sent: until it is acknowledged, the switch may hold either.
    fn is_sent(&mut self, part: MftPart, masks: &MftMasks) {
        let before = self.rows.part(part);
        let either: MftMasks = std::array::from_fn(|at| before[at] | masks[at]);
        self.rows.set_part(part, &either);
        self.doubtful.insert(part);
    }

    /// Notes that the switch may have lost its table.
    pub(super) fn may_be_empty(&mut self) {
        self.doubtful.extend(self.rows.parts());
    }

    /// The writes that drop unwanted outputs and settle doubtful parts.
    fn removals<'a>(&'a self, wanted: &Mft) -> impl Iterator<Item = (MftPart, MftMasks)> + use<'a> {
        let common = self.rows.common(wanted);
        let parts: BTreeSet<MftPart> = self.rows.parts().union(&self.doubtful).copied().collect();
        parts.into_iter().filter_map(move |part| {
            let masks = common.part(part);
            (masks != self.rows.part(part) || self.doubtful.contains(&part)).then_some((part, masks))
        })
    }

    /// The writes that add missing outputs.
    fn additions<'a>(&'a self, wanted: &'a Mft) -> impl Iterator<Item = (MftPart, MftMasks)> + 'a {
        let parts = wanted.parts().into_iter();
        parts.map(|part| (part, wanted.part(part))).filter(|&(part, masks)| masks != self.rows.part(part))
    }
}

/// The tables of all switches.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldTables(pub(super) BTreeMap<NodeId, HeldTable>);

impl HeldTables {
    /// The writes that may be sent now, in any order, towards what the switches that take part are to hold: removals
    /// while there are any, then additions. None are left when all is as it should be.
    pub(super) fn next_writes(
        &self,
        wanted: &BTreeMap<NodeId, Mft>,
        takes_part: impl Fn(NodeId) -> bool,
    ) -> Vec<PartWrite> {
        let empty = Mft::default();
        let tables: Vec<(NodeId, &HeldTable, &Mft)> = (self.0.iter())
            .filter(|(switch, _)| takes_part(**switch))
            .map(|(&switch, held)| (switch, held, wanted.get(&switch).unwrap_or(&empty)))
            .collect();
        let write = |switch| move |(part, masks)| PartWrite { switch, part, masks };
        let removals = tables.iter().flat_map(|&(switch, held, wanted)| held.removals(wanted).map(write(switch)));
        let removals: Vec<PartWrite> = removals.collect();
        if !removals.is_empty() {
            return removals;
        }
        let additions = tables.iter().flat_map(|&(switch, held, wanted)| held.additions(wanted).map(write(switch)));
        additions.collect()
    }

    /// Notes that a write was sent.
    pub(super) fn is_sent(&mut self, write: &PartWrite) {
        if let Some(held) = self.0.get_mut(&write.switch) {
            held.is_sent(write.part, &write.masks);
        }
    }

    /// Notes that a switch reports these masks in a part.
    pub(super) fn holds(&mut self, switch: NodeId, part: MftPart, masks: &MftMasks) {
        if let Some(held) = self.0.get_mut(&switch) {
            held.holds(part, masks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::fabric::{Fabric, PortId};
    use crate::ids::{Lid, PortNum};
    use crate::routing::SpanningTree;

    const MLID: Lid = Lid(0xC000);

    /// Numbers that look random, from a seed.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, most: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % most as u64) as usize
        }
    }

    fn tree_of(fabric: &Fabric, numbers: &mut Numbers, but: Option<NodeId>) -> SpanningTree {
        let switches: Vec<NodeId> = fabric.switches().filter(|&switch| Some(switch) != but).collect();
        let root = switches[numbers.below(switches.len())];
        SpanningTree::grown(fabric, root, |switch| Some(switch) != but, |_| numbers.below(3) > 0)
    }

    fn wanted(fabric: &Fabric, tree: &SpanningTree, numbers: &mut Numbers) -> BTreeMap<NodeId, Mft> {
        let hosts: Vec<PortId> = fabric.end_ports().filter(|_| numbers.below(2) == 0).collect();
        let place = |port: PortId| {
            let peer = fabric.peer(port).expect("a cable");
            (fabric.port(peer).node, Some(fabric.port(peer).num))
        };
        let places: Vec<(NodeId, Option<PortNum>)> = hosts.into_iter().map(place).collect();
        let rows = tree.rows(fabric, &places).into_iter();
        rows.map(|(switch, row)| {
            let mut table = Mft::default();
            table.set(MLID, row);
            (switch, table)
        })
        .collect()
    }

    /// Follows every copy of a packet that any host sends: none goes round, and, where `once`, none comes to a switch
    /// that another copy has come to.
    fn check_no_circle(fabric: &Fabric, held: &BTreeMap<NodeId, Mft>, once: bool, case: &str) {
        let entries = fabric.end_ports().filter_map(|host| fabric.peer(host));
        for entry in entries {
            let mut copies = vec![(entry, Vec::new())];
            let mut seen = BTreeSet::new();
            while let Some((input, mut way)) = copies.pop() {
                let at = fabric.port(input).node;
                if !fabric.node(at).is_switch() {
                    continue;
                }
                let name = fabric.describe_node(at);
                assert!(!way.contains(&at), "{case}: a packet goes round by {name}");
                assert!(seen.insert(at) || !once, "{case}: two copies come to {name}");
                way.push(at);
                let Some(table) = held.get(&at) else { continue };
                let outputs = table.get(MLID);
                let others = outputs.iter().filter(|&out| out != fabric.port(input).num);
                let ports = others.filter_map(|out| fabric.port_at(at, out));
                copies.extend(ports.filter_map(|port| fabric.peer(port)).map(|input| (input, way.clone())));
            }
        }
    }

    /// Random fabrics, trees and members; writes arrive in any order, are lost, or are done and not acknowledged, and
    /// switches lose their power. Whatever switches hold at any moment, no packet goes round, and none comes to a
    /// switch twice. In every second case switches fail, and keep what they hold; what their own hosts send may then
    /// come to others twice.
    #[test]
    fn no_packet_goes_round_whatever_is_written_when_and_whatever_is_lost() {
        for seed in 1..=300u64 {
            let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let topology = ["torus:4x4,1", "random-regular:10,4,1", "fat-tree:4,2", "hypercube:4,1"][numbers.below(4)];
            let options = Options { seed, ..Options::default() };
            let fabric = generate(&topology.parse().expect("a topology"), &options).expect("it is");
            let mut known = HeldTables::default();
            for switch in fabric.switches() {
                known.0.insert(switch, HeldTable::default());
            }
            let mut real: BTreeMap<NodeId, Mft> = fabric.switches().map(|switch| (switch, Mft::default())).collect();
            let (mut sick, some_fail): (Option<NodeId>, bool) = (None, seed % 2 == 0);
            for round in 0..6 {
                let case = format!("seed {seed}, {topology}, round {round}");
                let tree = tree_of(&fabric, &mut numbers, sick);
                let wanted = wanted(&fabric, &tree, &mut numbers);
                for _ in 0..40 {
                    let mut writes = known.next_writes(&wanted, |switch| Some(switch) != sick);
                    if writes.is_empty() {
                        break;
                    }
                    while !writes.is_empty() {
                        let write = writes.swap_remove(numbers.below(writes.len()));
                        known.is_sent(&write);
                        let (arrives, answered) = (numbers.below(4) > 0, numbers.below(4) > 0);
                        let device = real.get_mut(&write.switch).expect("a switch");
                        if arrives {
                            device.set_part(write.part, &write.masks);
                        }
                        if arrives && answered {
                            known.holds(write.switch, write.part, &write.masks);
                        }
                        if numbers.below(60) == 0 {
                            real.insert(write.switch, Mft::default());
                            known.0.get_mut(&write.switch).expect("known").may_be_empty();
                        }
                        check_no_circle(&fabric, &real, !some_fail, &case);
                    }
                    // A tree may be replaced halfway.
                    if numbers.below(12) == 0 {
                        break;
                    }
                }
                // One switch at a time fails, with whatever it holds, and trees pass it by.
                let switches: Vec<NodeId> = fabric.switches().collect();
                sick = (some_fail && numbers.below(3) == 0).then(|| switches[numbers.below(switches.len())]);
            }
        }
    }

    #[test]
    fn what_is_written_in_the_end_is_what_is_wanted() {
        let fabric = generate(&"torus:4x4,1".parse().expect("a topology"), &Options::default()).expect("it is");
        let mut numbers = Numbers(7);
        let mut known = HeldTables::default();
        fabric.switches().for_each(|switch| _ = known.0.insert(switch, HeldTable::default()));
        let mut wanted_now = BTreeMap::new();
        for _ in 0..5 {
            let tree = tree_of(&fabric, &mut numbers, None);
            wanted_now = wanted(&fabric, &tree, &mut numbers);
            let mut steps = 0;
            loop {
                let writes = known.next_writes(&wanted_now, |_| true);
                if writes.is_empty() {
                    break;
                }
                writes.iter().for_each(|write| known.holds(write.switch, write.part, &write.masks));
                steps += 1;
            }
            assert!(steps <= 2, "{steps}");
        }
        let empty = Mft::default();
        for (switch, held) in &known.0 {
            assert_eq!(held.rows(), wanted_now.get(switch).unwrap_or(&empty));
        }
    }
}
