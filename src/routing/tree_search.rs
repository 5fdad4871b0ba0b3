//! Searches for a tree of switches for multicast that closes no ring of waits with other packets.
//!
//! On entry: a [`TreeSearch`], with a judge of the turns that a tree makes. On return: a [`FoundTree`], and whether the
//! judge approves of it. Candidates are the tree of before, trees along the orders that engines route by, trees of
//! shortest ways, and trees grown cable by cable; the first that is approved is taken, so a tree stays while it joins
//! all that can be joined.
//! Pure; the search is bounded. Deliberately omitted: what can wait for what. Callers judge by `verify`, which knows no
//! engine.

use super::{Engine, SpanningTree, UpDown, UpDownRobust};
use crate::fabric::{Fabric, NodeId};
use crate::tables::TreeTurn;
use std::cell::LazyCell;
use std::collections::BTreeSet;

/// The most trees of shortest ways that are tried.
const TRIED: usize = 64;
/// The most waits that are looked at while trees are grown cable by cable: about a second of work.
const WORK: usize = 400_000_000;
/// The engines along whose orders trees are tried first.
const ORDERS: [&dyn Engine; 2] = [&UpDownRobust { root: None }, &UpDown { root: None }];

/// The facts by which a tree is chosen.
pub struct TreeSearch<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    /// Whether a switch forwards multicast.
    pub takes_part: &'a dyn Fn(NodeId) -> bool,
    /// The switches to join; only the largest part of them counts where no tree joins all.
    pub ends: &'a BTreeSet<NodeId>,
    /// The tree in force.
    pub before: Option<&'a SpanningTree>,
    /// Whether packets that make these turns close no ring with others.
    pub goes: &'a dyn Fn(&[TreeTurn]) -> bool,
    /// How many waits `goes` looks at: the price of asking it.
    pub waits: usize,
    /// Turns of an earlier tree, which switches may still hold: a tree that goes with them too is preferred.
    pub also: &'a [TreeTurn],
}

/// A tree.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FoundTree {
    /// The tree; one of shortest ways, if none was approved.
    pub tree: SpanningTree,
    /// Whether it was approved, the turns of an earlier tree aside.
    pub goes: bool,
}

impl TreeSearch<'_> {
    /// The tree; none if no switch takes part.
    pub fn run(&self) -> Option<FoundTree> {
        let TreeSearch { fabric, takes_part, before, also, .. } = *self;
        fabric.switches().find(|&switch| takes_part(switch))?;
        let ends = self.joined();
        let goes = |tree: &SpanningTree| (self.goes)(&tree.turns(fabric, &ends));
        let goes_with_both =
            |tree: &SpanningTree| also.is_empty() || (self.goes)(&[&tree.turns(fabric, &ends)[..], also].concat());
        let roots = LazyCell::new(|| SpanningTree::roots(fabric, &ends, takes_part));
        let carried = before.and_then(|tree| tree.carried(fabric, takes_part)).into_iter();
        let by_order = ORDERS.iter().filter_map(|engine| {
            let order = engine.switch_order(fabric, engine.chosen_root(fabric)?)?;
            Some(SpanningTree::by_order(fabric, &order, takes_part))
        });
        let by_distance = (0..TRIED).map_while(|at| roots.get(at).copied());
        let by_distance = by_distance.map(|root| SpanningTree::from_root(fabric, root, takes_part));
        let mut nearest: Option<SpanningTree> = None;
        let reaching = carried.chain(by_order).chain(by_distance).filter(|tree| tree.reaches(&ends));
        let mut good = reaching.filter(goes).inspect(|tree| _ = nearest.get_or_insert_with(|| tree.clone()));
        let found = good.find(goes_with_both).or(nearest).or_else(|| self.grown(&roots, &ends).filter(goes));
        let is_good = found.is_some();
        let tree = found.or_else(|| Some(SpanningTree::from_root(fabric, *roots.first()?, takes_part)))?;
        Some(FoundTree { tree, goes: is_good })
    }

    /// A tree that reaches all ends, of cables each of which `goes` approves together with those before.
    fn grown(&self, roots: &[NodeId], ends: &BTreeSet<NodeId>) -> Option<SpanningTree> {
        let mut checks = WORK / (self.waits + 1);
        let mut goes_on = |turns: &[TreeTurn]| {
            let has_time = checks > 0;
            checks = checks.saturating_sub(1);
            has_time && (self.goes)(turns)
        };
        let mut grown = roots.iter().map(|&root| SpanningTree::grown(self.fabric, root, self.takes_part, &mut goes_on));
        grown.find(|tree| tree.reaches(ends))
    }

    /// The ends that take part, of the part of the fabric with most of them. What is cut off cannot be reached, and
    /// must not make every tree fail.
    fn joined(&self) -> BTreeSet<NodeId> {
        let mut left: BTreeSet<NodeId> = self.ends.iter().copied().filter(|&end| (self.takes_part)(end)).collect();
        let mut most = BTreeSet::new();
        while left.len() > most.len() {
            let Some(&first) = left.first() else { break };
            let tree = SpanningTree::from_root(self.fabric, first, self.takes_part);
            let (part, others) = left.into_iter().partition(|&end| tree.has(end));
            left = others;
            if BTreeSet::len(&part) > most.len() {
                most = part;
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::routing::choose_root;

    fn generated(topology: &str) -> Fabric {
        seeded(topology, 0)
    }

    fn seeded(topology: &str, seed: u64) -> Fabric {
        generate(&topology.parse().expect("a topology"), &Options { seed, ..Options::default() }).expect("it is")
    }

    fn search<'a>(fabric: &'a Fabric, ends: &'a BTreeSet<NodeId>) -> TreeSearch<'a> {
        TreeSearch { fabric, takes_part: &|_| true, ends, before: None, goes: &|_| true, waits: 0, also: &[] }
    }

    #[test]
    fn the_first_tree_follows_the_order_of_the_root_that_its_engine_takes() {
        let mut differ = 0;
        for seed in 0..8 {
            let fabric = seeded("random-regular:16,4,2", seed);
            let (engine, ends) = (UpDownRobust::default(), fabric.switches().collect());
            let root = engine.chosen_root(&fabric).expect("it has switches");
            let tree = search(&fabric, &ends).run().expect("it has switches").tree;
            let order = engine.switch_order(&fabric, root).expect("it has one");
            assert_eq!(tree, SpanningTree::by_order(&fabric, &order, |_| true), "seed {seed}");
            differ += usize::from(choose_root(&fabric) != Some(root));
        }
        assert!(differ > 0, "on one of them another root is quieter than the one of up-down");
    }

    #[test]
    fn a_part_that_is_cut_off_makes_no_tree_fail() {
        let whole = generated("fat-tree:4,2");
        // The lowest leaf, to which a search from the first end would come first.
        let leaf = whole.switches().find(|&switch| whole.ports_of(switch).any(|port| is_host_port(&whole, port)));
        let leaf = leaf.expect("hosts are somewhere");
        let up: Vec<_> = whole.ports_of(leaf).filter(|&port| whole.peer(port).is_some()).collect();
        let up: Vec<_> = up.into_iter().filter(|&port| !is_host_port(&whole, port)).collect();
        let cut = whole.without_links(&up);
        let ends: BTreeSet<NodeId> = whole.switches().collect();
        let others: BTreeSet<NodeId> = ends.iter().copied().filter(|&end| end != leaf).collect();
        let found = search(&cut, &ends).run().expect("it has switches");
        assert!(found.goes && found.tree.reaches(&others) && !found.tree.has(leaf));
    }

    fn is_host_port(fabric: &Fabric, port: crate::fabric::PortId) -> bool {
        fabric.neighbour(port).is_some_and(|other| !fabric.node(other).is_switch())
    }

    #[test]
    fn a_tree_that_goes_with_the_one_before_too_is_preferred() {
        let fabric = generated("torus:4x4,1");
        let ends: BTreeSet<NodeId> = fabric.switches().collect();
        let first = search(&fabric, &ends).run().expect("it has switches").tree;
        let turns = first.turns(&fabric, &ends);
        let also = &turns[..1];
        // Only together with the earlier turns is the first tree refused.
        let goes = |asked: &[TreeTurn]| asked.len() == turns.len() || asked[..turns.len()] != turns[..];
        let found = TreeSearch { goes: &goes, also, ..search(&fabric, &ends) }.run().expect("it has switches");
        assert!(found.goes && found.tree != first);
        // Where all are refused together with them, the first that goes by itself is taken.
        let goes = |asked: &[TreeTurn]| asked.last() != also.last() || asked.len() == turns.len();
        let found = TreeSearch { goes: &goes, also, ..search(&fabric, &ends) }.run().expect("it has switches");
        assert_eq!((found.goes, found.tree), (true, first));
    }

    #[test]
    fn where_no_tree_goes_it_says_so_and_where_no_switch_takes_part_there_is_none() {
        let fabric = generated("ring:4,1");
        let ends: BTreeSet<NodeId> = fabric.switches().collect();
        let refused = TreeSearch { goes: &|turns| turns.is_empty(), ..search(&fabric, &ends) }.run();
        assert!(refused.is_some_and(|found| !found.goes && found.tree.reaches(&ends)));
        assert_eq!(TreeSearch { takes_part: &|_| false, ..search(&fabric, &ends) }.run(), None);
    }
}
