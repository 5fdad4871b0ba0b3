//! Split-merge (seed 002, section 4.2, figure 7): all paths form one part, which is split at one switch after another;
//! greedy then merges the parts.
//!
//! The paper does not say what happens to paths that do not pass the switch: they stay with those that leave it by the
//! lowest port. Parts are merged in the order of their first paths.

use super::greedy::merged;
use super::{Configurations, Configure, HeuristicOrder};
use crate::fabric::NodeId;
use crate::ids::PortNum;
use crate::lid::Splits;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The heuristic, with the order of switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SplitMerge(pub HeuristicOrder);

impl Configure for SplitMerge {
    fn name(&self) -> &'static str {
        match self.0 {
            HeuristicOrder::Smallest => "split-merge/S",
            HeuristicOrder::Largest => "split-merge/L",
        }
    }

    fn configure(&self, splits: &Splits) -> Configurations {
        let outputs: Vec<BTreeMap<NodeId, PortNum>> = (0..splits.len())
            .map(|class| splits.hops(class).iter().map(|hop| (hop.switch, hop.output)).collect())
            .collect();
        let mut parts = vec![(0..splits.len()).collect::<Vec<usize>>()];
        for switch in self.switches(splits) {
            let split = |part: Vec<usize>| split_at(part, |class| outputs[class].get(&switch).copied());
            parts = parts.into_iter().flat_map(split).collect();
        }
        // By first path: the order in which greedy merges them.
        parts.sort_unstable();
        merged(splits, parts)
    }
}

impl SplitMerge {
    /// The switches, ordered by use.
    fn switches(self, splits: &Splits) -> Vec<NodeId> {
        let mut used: BTreeMap<NodeId, usize> = BTreeMap::new();
        for class in 0..splits.len() {
            splits.hops(class).iter().for_each(|hop| *used.entry(hop.switch).or_default() += splits.weight(class));
        }
        let mut switches: Vec<(usize, NodeId)> = used.into_iter().map(|(switch, paths)| (paths, switch)).collect();
        match self.0 {
            HeuristicOrder::Smallest => switches.sort_unstable(),
            HeuristicOrder::Largest => switches.sort_unstable_by_key(|&(paths, switch)| (Reverse(paths), switch)),
        }
        switches.into_iter().map(|(_, switch)| switch).collect()
    }
}

/// One part for each output; classes that do not pass the switch go with the lowest output.
fn split_at(part: Vec<usize>, output: impl Fn(usize) -> Option<PortNum>) -> Vec<Vec<usize>> {
    let mut by_output: BTreeMap<PortNum, Vec<usize>> = BTreeMap::new();
    let lowest = part.iter().filter_map(|&class| output(class)).min().unwrap_or_default();
    part.into_iter().for_each(|class| by_output.entry(output(class).unwrap_or(lowest)).or_default().push(class));
    by_output.into_values().collect()
}
