//! Trees of switches, for packets that are copied: of shortest ways, along an order of the switches, or grown cable by
//! cable.
//!
//! A tree is a value over the indices of one fabric. On return of every constructor it holds a root and, of the
//! switches that take part, those that it reaches. Part of it joins some of its switches ([`SpanningTree::rows`]).
//! Deliberately omitted: whether packets of a tree can wait for others in a ring (`verify`).

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{PortMask, PortNum};
use crate::tables::TreeTurn;
use std::collections::{BTreeMap, BTreeSet};

/// By node: the port towards the root, none at the root and where the tree does not reach.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpanningTree {
    up: Vec<Option<PortId>>,
    /// From the root outwards.
    order: Vec<NodeId>,
}

impl SpanningTree {
    fn rooted(fabric: &Fabric, order: Vec<NodeId>) -> SpanningTree {
        SpanningTree { up: vec![None; fabric.node_count()], order }
    }

    /// Shortest ways to a root.
    pub fn from_root(fabric: &Fabric, root: NodeId, takes_part: impl Fn(NodeId) -> bool) -> SpanningTree {
        SpanningTree::rooted(fabric, vec![root]).with_others(fabric, takes_part)
    }

    /// With all other switches that can be reached, each at the first in the tree's order that is cabled to it.
    fn with_others(mut self, fabric: &Fabric, takes_part: impl Fn(NodeId) -> bool) -> SpanningTree {
        let mut is_reached = vec![false; fabric.node_count()];
        self.order.iter().for_each(|switch| is_reached[switch.index()] = true);
        let mut next = 0;
        while let Some(&at) = self.order.get(next) {
            next += 1;
            for port in fabric.ports_of(at) {
                let Some(peer) = fabric.peer(port) else { continue };
                let other = fabric.port(peer).node;
                if fabric.node(other).is_switch() && takes_part(other) && !is_reached[other.index()] {
                    is_reached[other.index()] = true;
                    self.up[other.index()] = Some(peer);
                    self.order.push(other);
                }
            }
        }
        self
    }

    /// Each switch below the earliest of its neighbours in an order.
    pub fn by_order(fabric: &Fabric, order: &[NodeId], takes_part: impl Fn(NodeId) -> bool) -> SpanningTree {
        let mut rank = vec![usize::MAX; fabric.node_count()];
        let order: Vec<NodeId> = order.iter().copied().filter(|&switch| takes_part(switch)).collect();
        order.iter().enumerate().for_each(|(at, switch)| rank[switch.index()] = at);
        let mut tree = SpanningTree::rooted(fabric, Vec::new());
        let mut is_reached = vec![false; fabric.node_count()];
        for &switch in &order {
            let far = |port: &PortId| fabric.neighbour(*port).map_or(usize::MAX, |other| rank[other.index()]);
            let up = fabric.ports_of(switch).filter(|port| far(port) < rank[switch.index()]);
            let up = up.min_by_key(|port| (far(port), *port));
            let above = up.and_then(|port| fabric.neighbour(port));
            if tree.order.is_empty() || above.is_some_and(|above| is_reached[above.index()]) {
                is_reached[switch.index()] = true;
                tree.up[switch.index()] = up;
                tree.order.push(switch);
            }
        }
        tree
    }

    /// From a root outwards, each switch by the first cable of which `goes` approves, together with those before: it
    /// sees all turns that the tree would have.
    pub fn grown(
        fabric: &Fabric,
        root: NodeId,
        takes_part: impl Fn(NodeId) -> bool,
        mut goes: impl FnMut(&[TreeTurn]) -> bool,
    ) -> SpanningTree {
        let mut tree = SpanningTree::rooted(fabric, vec![root]);
        let mut turns: Vec<TreeTurn> = Vec::new();
        let mut ports: Vec<Vec<PortId>> = vec![Vec::new(); fabric.node_count()];
        let mut next = 0;
        while let Some(&at) = tree.order.get(next) {
            next += 1;
            for port in fabric.ports_of(at) {
                let Some(peer) = fabric.peer(port) else { continue };
                let other = fabric.port(peer).node;
                let is_new = tree.up[other.index()].is_none() && other != root;
                if !fabric.node(other).is_switch() || !takes_part(other) || !is_new {
                    continue;
                }
                let before = turns.len();
                for &own in &ports[at.index()] {
                    turns.extend([TreeTurn { input: own, output: port }, TreeTurn { input: port, output: own }]);
                }
                if !goes(&turns) {
                    turns.truncate(before);
                    continue;
                }
                ports[at.index()].push(port);
                ports[other.index()].push(peer);
                tree.up[other.index()] = Some(peer);
                tree.order.push(other);
            }
        }
        tree
    }

    /// The same tree in a fabric of the same indices, with switches that it did not reach attached to it where they
    /// can be; none if a cable or a switch of it is missing there.
    pub fn carried(&self, to: &Fabric, takes_part: impl Fn(NodeId) -> bool) -> Option<SpanningTree> {
        let mut tree = SpanningTree { up: self.up.clone(), order: self.order.clone() };
        tree.up.resize(to.node_count(), None);
        for &switch in &self.order {
            let is_there = to.node(switch).present && takes_part(switch);
            let leads = |port: PortId| to.neighbour(port).is_some_and(|above| to.node(above).is_switch());
            if !is_there || !tree.up[switch.index()].is_none_or(leads) {
                return None;
            }
        }
        Some(tree.with_others(to, takes_part))
    }

    /// The same tree in the indices of another fabric, by the GUIDs of its devices; none if a cable or a switch of it
    /// is missing there.
    pub fn translated(&self, from: &Fabric, to: &Fabric) -> Option<SpanningTree> {
        let mut tree = SpanningTree::rooted(to, Vec::new());
        for &switch in &self.order {
            let node = to.by_guid(from.node(switch).guid)?;
            if let Some(port) = self.up[switch.index()] {
                let own = to.port_at(node, from.port(port).num)?;
                let far = from.node(from.neighbour(port)?).guid;
                to.neighbour(own).filter(|&other| to.node(other).guid == far)?;
                tree.up[node.index()] = Some(own);
            }
            tree.order.push(node);
        }
        Some(tree)
    }

    /// Switches that a tree may start from, the one first whose tree of shortest ways is least deep.
    pub fn roots(fabric: &Fabric, ends: &BTreeSet<NodeId>, takes_part: impl Fn(NodeId) -> bool) -> Vec<NodeId> {
        let mut roots: Vec<NodeId> = fabric.switches().filter(|&switch| takes_part(switch)).collect();
        roots.sort_by_cached_key(|&root| {
            (SpanningTree::from_root(fabric, root, &takes_part).depth(fabric, ends), fabric.node(root).guid)
        });
        roots
    }

    /// The tree that these cables make, each by one of its ports, from its least switch outwards; none if they make a
    /// circle, or several trees.
    pub fn of_cables(fabric: &Fabric, cables: &BTreeSet<PortId>) -> Option<SpanningTree> {
        let both = |&port: &PortId| [Some(port), fabric.peer(port)];
        let ends: BTreeSet<PortId> = cables.iter().flat_map(both).flatten().collect();
        let root = fabric.port(*ends.first()?).node;
        let mut tree = SpanningTree::rooted(fabric, vec![root]);
        let mut next = 0;
        while let Some(&at) = tree.order.get(next) {
            next += 1;
            for port in fabric.ports_of(at).filter(|port| ends.contains(port)) {
                let Some(peer) = fabric.peer(port) else { continue };
                let other = fabric.port(peer).node;
                if tree.up[at.index()] == Some(port) {
                    continue;
                }
                if other == root || tree.up[other.index()].is_some() {
                    return None;
                }
                tree.up[other.index()] = Some(peer);
                tree.order.push(other);
            }
        }
        (2 * (tree.order.len() - 1) == ends.len()).then_some(tree)
    }

    /// Whether a switch is part of it.
    pub fn has(&self, switch: NodeId) -> bool {
        self.order.first() == Some(&switch) || self.up.get(switch.index()).is_some_and(Option::is_some)
    }

    /// Whether all of these switches are part of it.
    pub fn reaches<'a>(&self, ends: impl IntoIterator<Item = &'a NodeId>) -> bool {
        ends.into_iter().all(|&end| self.has(end))
    }

    /// Hops from the root to the farthest of the ends; the most there are where one is not reached.
    pub fn depth(&self, fabric: &Fabric, ends: &BTreeSet<NodeId>) -> usize {
        let mut depth = vec![usize::MAX; fabric.node_count()];
        for &switch in &self.order {
            let above = self.up[switch.index()].and_then(|port| fabric.neighbour(port));
            depth[switch.index()] = above.map_or(0, |above| depth[above.index()].saturating_add(1));
        }
        ends.iter().map(|end| depth[end.index()]).max().unwrap_or(0)
    }

    /// By switch: ports towards other switches, of the part that joins some switches.
    fn joining(&self, fabric: &Fabric, ends: &BTreeSet<NodeId>) -> BTreeMap<NodeId, PortMask> {
        let mut below: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut reached = 0;
        for &end in ends.iter().filter(|&&end| self.has(end)) {
            reached += 1;
            // Counted at each switch on the way to the root.
            let mut at = Some(end);
            while let Some(switch) = at {
                *below.entry(switch).or_default() += 1;
                at = self.up[switch.index()].and_then(|port| fabric.neighbour(port));
            }
        }
        let mut ports: BTreeMap<NodeId, PortMask> = BTreeMap::new();
        for (&switch, &own) in &below {
            let Some(up) = self.up[switch.index()] else { continue };
            let Some(peer) = fabric.peer(up) else { continue };
            // All ends are on one side of other cables.
            if own < reached {
                ports.entry(switch).or_default().insert(fabric.port(up).num);
                ports.entry(fabric.port(peer).node).or_default().insert(fabric.port(peer).num);
            }
        }
        ports
    }

    /// All turns of the part that joins some switches.
    pub fn turns(&self, fabric: &Fabric, ends: &BTreeSet<NodeId>) -> Vec<TreeTurn> {
        let mut turns = Vec::new();
        for (switch, ports) in self.joining(fabric, ends) {
            let own: Vec<PortId> = ports.iter().filter_map(|num| fabric.port_at(switch, num)).collect();
            let others = |input: PortId| own.iter().copied().filter(move |&output| output != input);
            turns.extend(own.iter().flat_map(|&input| others(input).map(move |output| TreeTurn { input, output })));
        }
        turns
    }

    /// By switch: the ports that copies of a packet leave by, the one excepted that it came in by, so that what any of
    /// some places sends comes to each port of the others once. A place is a switch, and the port that packets are
    /// delivered to there, if any; 0 for the switch itself. Places beyond the tree are left out.
    pub fn rows(&self, fabric: &Fabric, places: &[(NodeId, Option<PortNum>)]) -> BTreeMap<NodeId, PortMask> {
        let ends = places.iter().map(|&(switch, _)| switch).collect();
        let mut rows = self.joining(fabric, &ends);
        for &(switch, port) in places.iter().filter(|(switch, _)| self.has(*switch)) {
            let row = rows.entry(switch).or_default();
            port.into_iter().for_each(|port| row.insert(port));
        }
        rows.retain(|_, row| !row.is_empty());
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::routing::{choose_root, switch_order};

    fn trees(topology: &str) -> (Fabric, Vec<SpanningTree>) {
        let fabric = generate(&topology.parse().expect("a topology"), &Options::default()).expect("it is");
        let root = choose_root(&fabric).expect("switches");
        let order = switch_order("up-down", &fabric, root).expect("it has one");
        let by_order = SpanningTree::by_order(&fabric, &order, |_| true);
        let grown = SpanningTree::grown(&fabric, root, |_| true, |_| true);
        let trees = vec![SpanningTree::from_root(&fabric, root, |_| true), by_order, grown];
        (fabric, trees)
    }

    #[test]
    fn each_tree_reaches_every_switch_and_is_told_by_its_cables() {
        for topology in ["fat-tree:4,3", "torus:4x4,1", "random-regular:12,4,1"] {
            let (fabric, trees) = trees(topology);
            let switches: BTreeSet<NodeId> = fabric.switches().collect();
            for tree in trees {
                assert!(tree.reaches(&switches) && tree.depth(&fabric, &switches) < switches.len(), "{topology}");
                let cables: BTreeSet<PortId> = tree.up.iter().copied().flatten().collect();
                assert_eq!(cables.len(), switches.len() - 1, "{topology}");
                let again = SpanningTree::of_cables(&fabric, &cables).expect("a tree");
                assert_eq!(again.turns(&fabric, &switches), tree.turns(&fabric, &switches), "{topology}");
                let other = fabric.links().map(|(port, _)| port).find(|&port| {
                    let ends = [Some(port), fabric.peer(port)];
                    let is_free = ends.into_iter().flatten().all(|end| !cables.contains(&end));
                    is_free
                        && fabric.peer(port).is_some_and(|peer| {
                            [port, peer].into_iter().all(|end| fabric.node(fabric.port(end).node).is_switch())
                        })
                });
                let circle: BTreeSet<PortId> = cables.into_iter().chain(other).collect();
                assert_eq!(SpanningTree::of_cables(&fabric, &circle), None, "{topology}");
            }
        }
    }

    #[test]
    fn a_tree_is_carried_while_all_of_it_is_there_and_takes_in_what_comes() {
        let (fabric, trees) = trees("fat-tree:4,2");
        let leaf = fabric.switches().last().expect("switches");
        let without =
            SpanningTree::from_root(&fabric, fabric.switches().next().expect("switches"), |node| node != leaf);
        assert!(!without.has(leaf));
        assert!(without.carried(&fabric, |_| true).is_some_and(|tree| tree.has(leaf)));
        let [tree, ..] = &trees[..] else { panic!("three") };
        assert_eq!(tree.carried(&fabric, |_| true).as_ref(), Some(tree));
        assert_eq!(tree.carried(&fabric, |node| node != leaf), None);
    }
}
