//! LASH: layered shortest paths, each pair of switches on one layer.
//!
//! Source: Skeie, Lysne, Theiss, *Layered Shortest Path (LASH) Routing in Irregular System Area Networks*, IPDPS 2002. Every
//! pair of switches has one way of fewest hops for all their hosts (section 3); it is placed on the first layer whose
//! dependencies stay acyclic, and on a new one where none does; then pairs move to emptier layers that take them.
//! The paper takes any shortest path; here the less loaded ones. Pairs with the longest ways are placed first: those of the
//! shorter ones are parts of theirs. Switches are led to along one tree, which layer 0 begins with.

use super::acyclic::Acyclic;
use super::downhill::{Downhill, Reckoning};
use super::forest::{Forest, Task};
use super::load::Load;
use super::net::{NONE, Net};
use super::switch_tree::SwitchTree;
use super::{Demand, Engine, RouteError};
use crate::fabric::Fabric;
use crate::tables::RoutingFunction;

pub(super) const NAME: &str = "lash";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lash;

impl Engine for Lash {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let task = Task::new(NAME, fabric, demand)?;
        let Some(switch_tree) = task.switch_tree() else { return Ok(task.without_routes()) };
        let (mut forest, pairs) = shortest_ways(&task);
        let mut layers = Layers::new(&task.net, &switch_tree);
        layers.place_all(&mut forest, &pairs);
        task.offers(layers.count())?;
        layers.balance(&mut forest, &pairs);
        let borne = task.borne();
        let row_rank: Vec<usize> =
            borne.iter().enumerate().flat_map(|(rank, &(_, _, count))| std::iter::repeat_n(rank, count)).collect();
        Ok(task.function(&forest, &switch_tree, |end, path| row_rank[end] * demand.paths + path))
    }
}

/// A pair of switches by one path: its tree, and the row that sends.
struct Pair {
    tree: u32,
    row: u32,
    hops: u32,
    /// Ways between hosts that it stands for.
    ways: u64,
}

/// The trees, by rank of the switch that delivers and path; and all pairs, those with the longest ways first.
fn shortest_ways(task: &Task<'_>) -> (Forest, Vec<Pair>) {
    let (net, hosts, borne) = (&task.net, task.hosts(), task.borne());
    let mut forest = Forest::new(net.rows(), borne.len() * task.paths());
    let mut load = Load::new(net, 0);
    let mut downhill = Downhill::new(net);
    let mut next = vec![NONE; net.rows()];
    let mut pairs = Vec::new();
    for (rank, &(target, _, count)) in borne.iter().enumerate() {
        downhill.aim(net, target);
        let sent: Vec<u64> = hosts.iter().map(|hosts| hosts * count as u64).collect();
        for tree in rank * task.paths()..(rank + 1) * task.paths() {
            downhill.lightest(net, load.weights(), Reckoning::WholeWay, &mut next);
            load.add_tree(net, downhill.order(), &next, &sent);
            load.shun(&next);
            forest.plant(net, tree, &next);
            let rows = downhill.order().iter().filter(|&&row| row as usize != target);
            pairs.extend(rows.map(|&row| {
                let (hops, ways) = (downhill.hops(row as usize), sent[row as usize]);
                Pair { tree: tree as u32, row, hops, ways }
            }));
        }
        load.release();
    }
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.hops));
    (forest, pairs)
}

/// One layer.
struct Layer {
    dependencies: Acyclic,
    /// By slot: pairs over a dependency; the switch tree counts as one.
    uses: Vec<u32>,
    /// Ways between hosts.
    ways: u64,
}

/// The layers so far.
struct Layers<'a> {
    net: &'a Net,
    layers: Vec<Layer>,
    /// Dependencies of the pair in hand.
    way: Vec<(u32, u32)>,
    /// Those of them that the layer in hand lacked.
    fresh: Vec<(u32, u32)>,
}

impl<'a> Layers<'a> {
    fn new(net: &'a Net, switch_tree: &SwitchTree) -> Layers<'a> {
        let mut layers = Layers { net, layers: Vec::new(), way: Vec::new(), fresh: Vec::new() };
        layers.open();
        layers.way = switch_tree.dependencies(net, &vec![true; net.rows()]);
        let placed = layers.enter(0);
        assert!(placed, "the dependencies of a tree are acyclic");
        layers
    }

    fn open(&mut self) {
        let uses = vec![0; self.net.slots()];
        self.layers.push(Layer { dependencies: Acyclic::new(self.net), uses, ways: 0 });
    }

    fn count(&self) -> usize {
        self.layers.len()
    }

    fn place_all(&mut self, forest: &mut Forest, pairs: &[Pair]) {
        for pair in pairs {
            self.look_at(forest, pair);
            let layer = (0..self.layers.len()).find(|&layer| self.enter(layer)).unwrap_or_else(|| {
                self.open();
                self.enter(self.layers.len() - 1);
                self.layers.len() - 1
            });
            self.layers[layer].ways += pair.ways;
            forest.set_layer(pair.row as usize, pair.tree as usize, layer as u8);
        }
    }

    /// Moves pairs from layers that carry more than their share to those that carry less, the emptiest first.
    fn balance(&mut self, forest: &mut Forest, pairs: &[Pair]) {
        let share = self.layers.iter().map(|layer| layer.ways).sum::<u64>() / self.layers.len() as u64;
        for pair in pairs.iter().filter(|pair| pair.ways > 0) {
            let from = usize::from(forest.layer(pair.row as usize, pair.tree as usize));
            if self.layers[from].ways <= share {
                continue;
            }
            self.look_at(forest, pair);
            let mut emptier: Vec<usize> =
                (0..self.layers.len()).filter(|&to| self.layers[to].ways + pair.ways <= share).collect();
            emptier.sort_by_key(|&to| self.layers[to].ways);
            if let Some(to) = emptier.into_iter().find(|&to| self.enter(to)) {
                self.leave(from);
                self.layers[from].ways -= pair.ways;
                self.layers[to].ways += pair.ways;
                forest.set_layer(pair.row as usize, pair.tree as usize, to as u8);
            }
        }
    }

    /// Takes a pair in hand.
    fn look_at(&mut self, forest: &Forest, pair: &Pair) {
        self.way.clear();
        let mut last = forest.channel(self.net, pair.row as usize, pair.tree as usize);
        while let Some(before) = last {
            last = forest.channel(self.net, self.net.channel(before).to as usize, pair.tree as usize);
            self.way.extend(last.map(|after| (before, after)));
        }
    }

    /// Places the pair in hand on a layer, if that stays acyclic.
    fn enter(&mut self, layer: usize) -> bool {
        let net = self.net;
        let Layer { dependencies, uses, .. } = &mut self.layers[layer];
        if self.way.iter().any(|&(before, after)| dependencies.refuses(net, before, after)) {
            return false;
        }
        self.fresh.clear();
        for &(before, after) in &self.way {
            let known = dependencies.has(net, before, after);
            if !dependencies.admit(net, before, after) {
                if !self.fresh.is_empty() {
                    // Refused for the sake of what leaves again.
                    dependencies.forgive(net, before, after);
                }
                self.fresh.iter().for_each(|&(before, after)| dependencies.dismiss(net, before, after));
                return false;
            }
            if !known {
                self.fresh.push((before, after));
            }
        }
        self.way.iter().for_each(|&(before, after)| uses[net.slot(before, after)] += 1);
        true
    }

    /// Takes the pair in hand off a layer.
    fn leave(&mut self, layer: usize) {
        let Layer { dependencies, uses, .. } = &mut self.layers[layer];
        for &(before, after) in &self.way {
            let slot = self.net.slot(before, after);
            uses[slot] -= 1;
            if uses[slot] == 0 {
                dependencies.dismiss(self.net, before, after);
            }
        }
    }
}
