//! Assigns ways to layers: each to the first whose dependencies stay acyclic.
//!
//! A way is that of one row along one tree of a [`Forest`]. The longest are placed first, since shorter ones are parts
//! of them. The switch tree's dependencies are on layer 0 from the start.

use super::acyclic::Acyclic;
use super::downhill::Downhill;
use super::flat_graph::FlatGraph;
use super::forest::Forest;
use super::switch_tree::SwitchTree;
use std::ops::Range;

/// The number of layers at which placing stops: a half has only eight.
const GIVE_UP: usize = 64;

/// The trees towards one row, all of which have ways of the same lengths.
pub(super) struct TreeGroup {
    /// Numbers of the trees.
    trees: Range<usize>,
    /// Rows in ascending order of hops.
    order: Vec<u32>,
    /// By hops: where they end in `order`.
    ends: Vec<usize>,
    /// By row: the traffic of a way, in pairs of end ports.
    carried: Vec<u64>,
}

impl TreeGroup {
    pub fn new(downhill: &Downhill, trees: Range<usize>, carried: Vec<u64>) -> TreeGroup {
        let order = downhill.order().to_vec();
        let levels = order.chunk_by(|&a, &b| downhill.hops(a as usize) == downhill.hops(b as usize));
        let ends = levels.scan(0, |end, level| {
            *end += level.len();
            Some(*end)
        });
        TreeGroup { trees, ends: ends.collect(), order, carried }
    }

    /// The rows that are `hops` hops away.
    fn rows_at(&self, hops: usize) -> &[u32] {
        match self.ends.get(hops) {
            Some(&end) => &self.order[self.ends[hops - 1]..end],
            None => &[],
        }
    }
}

/// A way: its row and tree, and its traffic.
#[derive(Clone, Copy)]
struct Way {
    row: usize,
    tree: usize,
    carried: u64,
}

/// All ways, the longest first.
fn longest_first(groups: &[TreeGroup]) -> impl Iterator<Item = Way> + '_ {
    let most = groups.iter().map(|group| group.ends.len()).max().unwrap_or(0);
    (1..most).rev().flat_map(move |hops| {
        groups.iter().flat_map(move |group| {
            group.trees.clone().flat_map(move |tree| {
                let rows = group.rows_at(hops).iter().map(|&row| row as usize);
                rows.map(move |row| Way { row, tree, carried: group.carried[row] })
            })
        })
    })
}

/// The layers so far.
pub(super) struct Layers<'a> {
    net: &'a FlatGraph,
    layers: Vec<Acyclic>,
    /// By layer: what its ways carry.
    carried: Vec<u64>,
    /// Rows as the switch tree has them.
    order: Vec<u32>,
    /// Dependencies of the switch tree.
    fixed: Vec<(u32, u32)>,
    /// Dependencies of the current way.
    way: Vec<(u32, u32)>,
    /// Those of them that the current layer lacked.
    fresh: Vec<(u32, u32)>,
}

impl<'a> Layers<'a> {
    pub fn new(net: &'a FlatGraph, switch_tree: &SwitchTree) -> Layers<'a> {
        let fixed = switch_tree.dependencies(net, &vec![true; net.rows()]);
        let (layers, carried, fresh) = (vec![Acyclic::new(net, switch_tree.order())], vec![0], Vec::new());
        let mut layers =
            Layers { net, layers, carried, order: switch_tree.order().to_vec(), way: fixed.clone(), fixed, fresh };
        assert!(layers.enter(0), "the dependencies of a tree are acyclic");
        layers
    }

    /// The number of layers.
    pub fn count(&self) -> usize {
        self.layers.len()
    }

    /// Places every way, on as many layers as needed; stops at [`GIVE_UP`], far more than any subnet has.
    pub fn place_all(&mut self, forest: &mut Forest, groups: &[TreeGroup]) {
        for way in longest_first(groups) {
            if self.layers.len() >= GIVE_UP {
                return;
            }
            self.look_at(forest, way);
            let known = (0..self.layers.len()).find(|&layer| self.enter(layer));
            let layer = known.unwrap_or_else(|| self.open());
            self.carried[layer] += way.carried;
            forest.set_layer(way.row, way.tree, layer as u8);
        }
    }

    /// A new layer, with the current way on it.
    fn open(&mut self) -> usize {
        // Refusals of earlier layers went against the order in which they started. Another root (7919 is a prime, so
        // roots differ) saves reorders; the admitted set does not depend on it.
        let root = self.order[self.layers.len() * 7919 % self.order.len()];
        self.layers.push(Acyclic::new(self.net, SwitchTree::from(self.net, root as usize).order()));
        self.carried.push(0);
        let layer = self.layers.len() - 1;
        assert!(self.enter(layer), "the dependencies of one way are acyclic");
        layer
    }

    /// Moves ways from layers above the mean load to those below, the emptiest first.
    pub fn balance(&mut self, forest: &mut Forest, groups: &[TreeGroup]) {
        let share = self.carried.iter().sum::<u64>() / self.carried.len() as u64;
        let mut uses = self.count_uses(forest, groups);
        for way in longest_first(groups).filter(|way| way.carried > 0) {
            let from = usize::from(forest.layer(way.row, way.tree));
            if self.carried[from] <= share {
                continue;
            }
            self.look_at(forest, way);
            // A layer is filled up to its share and not beyond, so that no way moves twice.
            let room = |&to: &usize| self.carried[to] + way.carried <= share;
            let mut emptier: Vec<usize> = (0..self.layers.len()).filter(room).collect();
            emptier.sort_by_key(|&to| self.carried[to]);
            if let Some(to) = emptier.into_iter().find(|&to| self.enter(to)) {
                self.leave(from, &mut uses[from]);
                self.way.iter().for_each(|&(before, after)| uses[to][self.net.slot(before, after)] += 1);
                self.carried[from] -= way.carried;
                self.carried[to] += way.carried;
                forest.set_layer(way.row, way.tree, to as u8);
            }
        }
    }

    /// By layer and slot: the number of ways that take a dependency; the switch tree is one of them.
    fn count_uses(&mut self, forest: &Forest, groups: &[TreeGroup]) -> Vec<Vec<u32>> {
        let mut uses = vec![vec![0; self.net.slots()]; self.layers.len()];
        self.fixed.iter().for_each(|&(before, after)| uses[0][self.net.slot(before, after)] += 1);
        for way in longest_first(groups) {
            self.look_at(forest, way);
            let uses = &mut uses[usize::from(forest.layer(way.row, way.tree))];
            self.way.iter().for_each(|&(before, after)| uses[self.net.slot(before, after)] += 1);
        }
        uses
    }

    /// Takes a current way.
    fn look_at(&mut self, forest: &Forest, way: Way) {
        self.way.clear();
        let mut last = forest.channel(self.net, way.row, way.tree);
        while let Some(before) = last {
            last = forest.channel(self.net, self.net.channel(before).to as usize, way.tree);
            self.way.extend(last.map(|after| (before, after)));
        }
    }

    /// Places the current way on a layer, if that stays acyclic.
    fn enter(&mut self, layer: usize) -> bool {
        let (net, layer) = (self.net, &mut self.layers[layer]);
        // Refusals are remembered: this answers most attempts without a search.
        if self.way.iter().any(|&(before, after)| layer.refuses(net, before, after)) {
            return false;
        }
        self.fresh.clear();
        for &(before, after) in &self.way {
            let known = layer.has(net, before, after);
            if !layer.admit(net, before, after) {
                if !self.fresh.is_empty() {
                    // Refused because of dependencies that are removed again.
                    layer.forgive(net, before, after);
                }
                self.fresh.iter().for_each(|&(before, after)| layer.dismiss(net, before, after));
                return false;
            }
            if !known {
                self.fresh.push((before, after));
            }
        }
        true
    }

    /// Takes the current way off a layer.
    fn leave(&mut self, layer: usize, uses: &mut [u32]) {
        for &(before, after) in &self.way {
            let uses = &mut uses[self.net.slot(before, after)];
            *uses -= 1;
            // A dependency stays as long as any way on this layer passes it.
            if *uses == 0 {
                self.layers[layer].dismiss(self.net, before, after);
            }
        }
    }
}
