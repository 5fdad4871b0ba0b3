//! The order of writes within a wave. Every order is proved, so those come first that give most pairs of hosts a way.

use super::PlanInput;
use crate::fabric::NodeId;
use crate::ids::Lid;
use crate::tables::{Arrivals, LFT_BLOCK, Lft, Write};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Sorts the blocks of a wave by the pairs of hosts that wait for them, most first; where there are as many, they keep
/// their order. A pair waits for every block with an entry that changes on its new way, if the tables `held` give it
/// none.
pub(super) fn most_pairs_first(input: &PlanInput, held: &[Arc<Lft>], wanted: &[Arc<Lft>], writes: &mut [Write]) {
    let fabric = &*input.surviving;
    let mut blocks: BTreeMap<(NodeId, u16), u64> = BTreeMap::new();
    let mut changed = BTreeSet::new();
    for write in &*writes {
        let &Write::LftBlock { switch, block, .. } = write else { continue };
        blocks.insert((switch, block), 0);
        let lids = (0..LFT_BLOCK as u16).map(|entry| Lid(block * LFT_BLOCK as u16 + entry));
        let [held, wanted] = [&held[switch.index()], &wanted[switch.index()]];
        changed.extend(lids.filter(|&lid| held.get(lid) != wanted.get(lid)));
    }
    let mut hosts: BTreeMap<NodeId, u64> = BTreeMap::new();
    for leaf in fabric.end_ports().filter_map(|port| fabric.neighbour(port)) {
        *hosts.entry(leaf).or_default() += 1;
    }
    let lids = fabric.end_ports().flat_map(|port| fabric.half_lids(port, input.old));
    let lids: Vec<Lid> = lids.filter(|lid| changed.contains(lid)).collect();
    let (mut before, mut after) = (Arrivals::of(fabric), Arrivals::of(fabric));
    for lids in lids.chunks(Arrivals::TOGETHER) {
        before.take(held, lids);
        after.take(wanted, lids);
        for (own, &lid) in lids.iter().enumerate() {
            let block = lid.0 / LFT_BLOCK as u16;
            for (&leaf, &waiting) in
                hosts.iter().filter(|(leaf, _)| !before.from(**leaf, own) && after.from(**leaf, own))
            {
                let mut at = Some(leaf);
                while let Some(switch) = at.filter(|&node| fabric.node(node).is_switch()) {
                    let [old, new] = [held, wanted].map(|lfts| lfts[switch.index()].get(lid));
                    if old != new
                        && let Some(pairs) = blocks.get_mut(&(switch, block))
                    {
                        *pairs += waiting;
                    }
                    at = new.and_then(|port| fabric.port_at(switch, port)).and_then(|port| fabric.neighbour(port));
                }
            }
        }
    }
    let waited_for = |write: &Write| match write {
        &Write::LftBlock { switch, block, .. } => blocks.get(&(switch, block)).copied().unwrap_or(0),
        _ => 0,
    };
    writes.sort_by_cached_key(|write| Reverse(waited_for(write)));
}
