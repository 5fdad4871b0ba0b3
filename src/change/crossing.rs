//! How many end ports send through each switch to each LID by a routing that is proved: what the loss of one switch or
//! one cable leaves without a way is then a sum, with no way followed.
//!
//! On entry: a fabric, and tables by which every row of the half in use arrives; the way to a LID is the same from
//! everyone. On return: by switch and LID the end ports whose packets pass the switch. A way crosses one switch or one
//! cable once, so each of its pairs counts once. Deliberately omitted: losses of several elements at once, of which a
//! way may cross more than one, and losses that cut off others than those attached to what is lost (`unserved`).

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum};
use crate::tables::{LFT_BLOCK, Lft};
use std::sync::Arc;

/// The end ports behind each switch on the ways to each LID.
pub(super) struct SwitchCrossings {
    /// By node, then by LID; empty but for switches. End ports have a LID each, so 16 bits hold their number.
    behind: Vec<Vec<u16>>,
}

/// What leads to a lost element.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Crossed {
    /// Pairs of an end port and a LID whose way is broken.
    pub pairs: u64,
    /// Blocks of forwarding tables with entries that lead these ways to what is lost: about as many have to be written.
    pub blocks: u64,
}

impl SwitchCrossings {
    /// Follows every way of a half; `lfts` is by node.
    pub fn of(fabric: &Fabric, lfts: &[Arc<Lft>], half: Half) -> SwitchCrossings {
        let switches: Vec<NodeId> = fabric.switches().collect();
        let mut hosts = vec![0u16; fabric.node_count()];
        fabric.end_ports().filter_map(|port| fabric.neighbour(port)).for_each(|home| hosts[home.index()] += 1);
        let mut behind = vec![Vec::new(); fabric.node_count()];
        let highest = fabric.end_ports().flat_map(|port| fabric.half_lids(port, half)).max().map_or(0, Lid::index);
        switches.iter().for_each(|switch| behind[switch.index()] = vec![0; highest + 1]);
        let mut next = vec![None; fabric.node_count()];
        // By node: neighbours whose own count is still to be added.
        let mut awaited = vec![0u32; fabric.node_count()];
        let mut through = vec![0u16; fabric.node_count()];
        for lid in fabric.end_ports().flat_map(|port| fabric.half_lids(port, half)) {
            for &switch in &switches {
                let out = lfts[switch.index()].get(lid).and_then(|num| fabric.port_at(switch, num));
                next[switch.index()] =
                    out.and_then(|out| fabric.neighbour(out)).filter(|&to| fabric.node(to).is_switch());
                through[switch.index()] = hosts[switch.index()];
            }
            switches.iter().filter_map(|switch| next[switch.index()]).for_each(|to| awaited[to.index()] += 1);
            let mut ready: Vec<NodeId> = switches.iter().copied().filter(|own| awaited[own.index()] == 0).collect();
            while let Some(switch) = ready.pop() {
                behind[switch.index()][lid.index()] = through[switch.index()];
                if let Some(to) = next[switch.index()] {
                    through[to.index()] += through[switch.index()];
                    awaited[to.index()] -= 1;
                    if awaited[to.index()] == 0 {
                        ready.push(to);
                    }
                }
            }
        }
        SwitchCrossings { behind }
    }

    /// What the loss of one element breaks; `before` is the fabric with it, and `lfts` are its tables.
    pub fn of_loss(&self, before: &Fabric, lfts: &[Arc<Lft>], rest: &Fabric, stranded: &[PortId]) -> Crossed {
        let mut crossed = Crossed::default();
        for switch in rest.switches() {
            let is_lost = |&port: &PortId| before.peer(port).is_some() && rest.peer(port).is_none();
            let lost: Vec<PortNum> = rest.ports_of(switch).filter(is_lost).map(|port| rest.port(port).num).collect();
            if lost.is_empty() {
                continue;
            }
            let mut last = None;
            for (lid, _) in lfts[switch.index()].routes().filter(|(_, num)| lost.contains(num)) {
                let pairs = self.behind[switch.index()].get(lid.index()).copied().unwrap_or(0);
                if pairs == 0 || before.lid_owner(lid).is_some_and(|owner| stranded.contains(&owner)) {
                    continue;
                }
                crossed.pairs += u64::from(pairs);
                let block = Some(lid.index() / LFT_BLOCK);
                crossed.blocks += u64::from(std::mem::replace(&mut last, block) != block);
            }
        }
        crossed
    }
}

#[cfg(test)]
mod tests {
    use super::super::unserved::{self, ProvedRouting, Survivors};
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::Lmc;
    use crate::lid;
    use crate::routing::{Demand, Engine, FatTree, UpDown, stranded};

    /// The sum is what following the ways finds, for each switch and each cable, those of hosts too, whose loss cuts
    /// off nobody but who is attached to it.
    #[test]
    fn a_sum_is_what_following_the_ways_finds() {
        let engines: [(&str, &dyn Engine); 3] =
            [("torus:4x4,2", &UpDown::default()), ("fat-tree:4,3", &FatTree), ("leaf-spine:5,3,3", &FatTree)];
        for (name, engine) in engines {
            let fabric = generate(&name.parse().expect("a topology"), &Options::default()).expect("it exists");
            let fabric = lid::assign(&fabric, Lmc::masked(1)).expect("LIDs suffice");
            let function = engine.route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
            let lfts = lid::bring_up(&fabric, &function, 1).lfts;
            let crossings = SwitchCrossings::of(&fabric, &lfts, Half::Lower);
            let cables = fabric.links().map(|(end, _)| fabric.without_links(&[end]));
            let switches = fabric.switches().map(|switch| fabric.without_nodes(&[switch]));
            let mut harmful = 0;
            for rest in cables.chain(switches) {
                let sm = rest.end_ports().last().expect("a host");
                let stranded = stranded(&fabric, &rest, sm);
                assert!(stranded.iter().all(|&port| rest.peer(port).is_none()), "{name}: others are cut off");
                let proved = Some(ProvedRouting { fabric: &fabric, lfts: &lfts });
                let among = Survivors { fabric: &rest, stranded: &stranded, half: Half::Lower };
                let crossed = crossings.of_loss(&fabric, &lfts, &rest, &stranded);
                assert_eq!(crossed.pairs, unserved::pairs(proved, among, &lfts), "{name}");
                assert_eq!(crossed.pairs > 0, crossed.blocks > 0, "{name}");
                harmful += usize::from(crossed.pairs > 0);
            }
            assert!(harmful > 4, "{name}: {harmful}");
        }
    }
}
