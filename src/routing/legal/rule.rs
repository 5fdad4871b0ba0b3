//! Turn rules as values: a number for every switch, from a root and a spanning tree.

use crate::fabric::{Fabric, NodeId};
use crate::routing::switch_graph::SwitchGraph;
use rand::SeedableRng;
use rand::seq::IteratorRandom;
use rand_pcg::Pcg64Mcg;

const FAR: u32 = u32::MAX;

/// The numbering of switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TurnModel {
    /// Up*/down*: by hops from the root, then by GUID (Autonet, 1991; seed 000, section 2.1).
    #[default]
    UpDown,
    /// L-turn, as *left before right*: by the order in which a walk of the breadth-first tree comes to switches,
    /// parents before children, children by GUID (after Koibuchi, Funahashi, Jouraku and Amano, ICPP 2001).
    ///
    /// There, a switch has two coordinates, x by that walk and y by level, so that channels lead left or right and up
    /// or down: links of the tree left-up and right-down. Of the twelve turns between the four directions, no rule
    /// that keeps to directions, keeps the tree's own turn from left-up to right-down and is acyclic on every fabric
    /// allows more than eight (a test counts them all). Two rules allow eight: up*/down*, and this one, in which no
    /// turn leads from right to left. The text of the paper was not available; where its table of turns differs, this
    /// is the variant taken.
    LTurn,
}

/// A turn rule of one fabric: a path may go from higher numbers to lower, then from lower to higher, and never back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TurnRule {
    root: NodeId,
    /// By node; `u32::MAX` for nodes that are no switch, have left, or are not reached by the root.
    rank: Vec<u32>,
}

impl TurnRule {
    /// The rule of a model; none if the root is no switch that is present.
    pub fn new(model: TurnModel, fabric: &Fabric, root: NodeId) -> Option<TurnRule> {
        let graph = SwitchGraph::of(fabric);
        let row = graph.row_of(root)?;
        let mut rank = vec![FAR; fabric.node_count()];
        numbered(model, &graph, row).iter().zip(0..).for_each(|(&row, at)| rank[graph.node(row).index()] = at);
        Some(TurnRule { root, rank })
    }

    /// The root: the switch with number 0.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// The number of a switch, where the root reaches it.
    pub fn rank(&self, switch: NodeId) -> Option<u32> {
        self.rank.get(switch.index()).copied().filter(|&rank| rank != FAR)
    }

    /// Returns whether a channel between two switches that the root reaches leads up.
    pub fn is_up(&self, from: NodeId, to: NodeId) -> bool {
        self.rank[to.index()] < self.rank[from.index()]
    }
}

/// A switch chosen at random among those present, as the root is in seed 002, section 5.1; none without switches.
pub fn random_root(fabric: &Fabric, seed: u64) -> Option<NodeId> {
    fabric.switches().choose(&mut Pcg64Mcg::seed_from_u64(seed))
}

/// The rows that the root reaches, in the order of their numbers.
fn numbered(model: TurnModel, graph: &SwitchGraph, root: usize) -> Vec<usize> {
    let level = graph.distances(root);
    let mut order: Vec<usize> = (0..graph.len()).filter(|&row| level[row] != FAR).collect();
    order.sort_unstable_by_key(|&row| (level[row], graph.guid(row)));
    match model {
        TurnModel::UpDown => order,
        TurnModel::LTurn => walk(graph, root, &level, &order),
    }
}

/// A walk of the breadth-first tree in which the parent of a switch is the neighbour of lowest GUID among those
/// nearer the root.
fn walk(graph: &SwitchGraph, root: usize, level: &[u32], by_level: &[usize]) -> Vec<usize> {
    let mut children = vec![Vec::new(); graph.len()];
    for &row in by_level.iter().filter(|&&row| row != root) {
        let nearer = graph.neighbours(row).iter().map(|next| next.row).filter(|&next| level[next] < level[row]);
        if let Some(parent) = nearer.min_by_key(|&next| graph.guid(next)) {
            children[parent].push(row);
        }
    }
    let (mut order, mut pending) = (Vec::with_capacity(by_level.len()), vec![root]);
    while let Some(row) = pending.pop() {
        order.push(row);
        pending.extend(children[row].iter().rev());
    }
    order
}

#[cfg(test)]
mod tests {
    /// Left-up, left-down, right-up, right-down: bit 0 says right, bit 1 says down.
    const DIRECTIONS: usize = 4;
    const LEFT_UP: usize = 0;
    const RIGHT_DOWN: usize = 3;

    /// Returns whether packets can go on for ever: some directions follow each other in a circle, and neither
    /// coordinate rises throughout, nor falls throughout.
    fn can_close(allowed: &[[bool; DIRECTIONS]; DIRECTIONS]) -> bool {
        let mut leads = *allowed;
        for via in 0..DIRECTIONS {
            for from in 0..DIRECTIONS {
                for to in 0..DIRECTIONS {
                    leads[from][to] |= leads[from][via] && leads[via][to];
                }
            }
        }
        (0..DIRECTIONS).any(|first| {
            let circle: Vec<usize> =
                (0..DIRECTIONS).filter(|&other| leads[first][other] && leads[other][first]).collect();
            let both = |bit: usize| circle.iter().any(|at| at & bit == 0) && circle.iter().any(|at| at & bit != 0);
            both(1) && both(2)
        })
    }

    #[test]
    fn two_rules_of_directions_allow_eight_turns_and_none_allows_more() {
        let turns: Vec<(usize, usize)> = (0..DIRECTIONS)
            .flat_map(|from| (0..DIRECTIONS).map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .collect();
        let mut best = Vec::new();
        for set in 0..1u32 << turns.len() {
            let chosen: Vec<_> =
                turns.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1).map(|(_, &turn)| turn).collect();
            let mut allowed = [[false; DIRECTIONS]; DIRECTIONS];
            chosen.iter().for_each(|&(from, to)| allowed[from][to] = true);
            if allowed[LEFT_UP][RIGHT_DOWN] && !can_close(&allowed) && chosen.len() >= 8 {
                best.push(chosen);
            }
        }
        let never = |bit: usize| {
            turns.iter().copied().filter(|(from, to)| from & bit == 0 || to & bit != 0).collect::<Vec<_>>()
        };
        let (no_turn_left, no_turn_up) = (never(1), never(2));
        assert_eq!((no_turn_left.len(), no_turn_up.len(), best.len()), (8, 8, 2));
        assert!(best.contains(&no_turn_left) && best.contains(&no_turn_up));
    }
}
