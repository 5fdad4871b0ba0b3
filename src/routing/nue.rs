//! Nue: free of deadlock with any number of layers, one among them, by routing within the dependency graph.
//!
//! Source: Domke, Hoefler, Matsuoka, *Routing on the Dependency Graph: A New Approach to Deadlock-Free High-Performance
//! Routing*, HPDC 2016. Destinations are divided among the available layers. On each, a spanning tree is set aside for
//! escape; then the lightest ways to each destination are searched in the complete channel dependency graph, using only
//! dependencies that close no cycle. If such a search reaches an impasse that changing a neighbour's choice does not
//! resolve, the destination is reached along the escape tree. Ways are as short as the dependencies allow, not always
//! of fewest hops; more layers make more of them shortest. Five things differ from the paper: an online topological
//! order prevents cycles; the root of a layer's escape tree is the switch with the fewest hops to its destinations, not
//! that of the highest betweenness; destinations are divided by their position in a breadth-first walk, not by METIS;
//! if one layer suffices without detours, no more are used; and switches themselves are reached along the escape tree
//! of layer 0.

use super::acyclic::Acyclic;
use super::downhill::Downhill;
use super::flat_graph::FlatGraph;
use super::forest::{Forest, TreeProblem};
use super::guarded::Guarded;
use super::load::Load;
use super::switch_tree::SwitchTree;
use super::{Demand, Engine, RouteError};
use crate::fabric::Fabric;
use crate::tables::RoutingFunction;
use std::cmp::Reverse;
use std::ops::Range;

pub(super) const NAME: &str = "nue";

/// The weight of a hop: greater than any load, and than that of a hop on an earlier path to the same destination.
const HOP: u64 = 1 << 50;

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nue;

impl Engine for Nue {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let problem = TreeProblem::new(NAME, fabric, demand)?;
        let Some(plain) = problem.switch_tree() else { return Ok(problem.without_routes()) };
        problem.offers(1)?;
        let offered = usize::from(demand.layers.min(super::MOST_LAYERS));
        // More layers serve to avoid detours. If one layer has none, it suffices, and lanes are left for other uses.
        let alone = Ways::new(&problem).route(&divided(&problem, &plain, 1), offered == 1);
        let done = alone.or_else(|| Ways::new(&problem).route(&divided(&problem, &plain, offered), true));
        let Some((forest, switch_tree)) = done else { return Ok(problem.without_routes()) };
        Ok(problem.function(&forest, &switch_tree, |end, path| end * demand.paths + path))
    }
}

/// The end ports of each layer, as ranges of ranks by their switch: neighbours together, at most this many layers, with
/// about equal numbers of end ports.
fn divided(problem: &TreeProblem<'_>, walk: &SwitchTree, layers: usize) -> Vec<Vec<Range<usize>>> {
    let mut borne = problem.borne();
    let mut place = vec![usize::MAX; problem.net.rows()];
    walk.order().iter().enumerate().for_each(|(at, &row)| place[row as usize] = at);
    borne.sort_by_key(|ends| place[problem.ends[ends.start].row]);
    let mut groups = vec![Vec::new(); layers.clamp(1, borne.len().max(1))];
    let mut before = 0;
    for ends in borne {
        // By end ports, not by switches: layers carry equal traffic.
        let group = before * groups.len() / problem.ends.len();
        before += ends.len();
        groups[group].push(ends);
    }
    // A switch with many end ports may leave a share empty.
    groups.retain(|group| !group.is_empty());
    if groups.is_empty() { vec![Vec::new()] } else { groups }
}

/// Ways found so far.
struct Ways<'a> {
    problem: &'a TreeProblem<'a>,
    hosts: Vec<u64>,
    load: Load,
    search: Guarded<'a>,
    downhill: Downhill,
    forest: Forest,
}

impl<'a> Ways<'a> {
    fn new(problem: &'a TreeProblem<'a>) -> Ways<'a> {
        let net = &problem.net;
        let forest = Forest::new(net.rows(), problem.ends.len() * problem.paths());
        let (load, search, downhill) = (Load::new(net, HOP, problem.paths()), Guarded::new(net), Downhill::new(net));
        Ways { problem, hosts: problem.hosts(), load, search, downhill, forest }
    }

    /// Routes the end ports of each group on a layer of its own; returns the trees and the escape tree of layer 0. None
    /// if detours are not allowed and one is needed between end ports.
    fn route(mut self, groups: &[Vec<Range<usize>>], detours: bool) -> Option<(Forest, SwitchTree)> {
        let mut first = None;
        for (layer, group) in groups.iter().enumerate() {
            let (escape, mut dependencies) = self.layer(group, layer == 0);
            for ends in group {
                let target = self.problem.ends[ends.start].row;
                self.downhill.aim(&self.problem.net, target);
                for end in ends.clone() {
                    if !self.lead_to(end, layer, &mut dependencies, &escape) && !detours {
                        return None;
                    }
                }
            }
            first = first.or(Some(escape));
        }
        first.map(|escape| (self.forest, escape))
    }

    /// The escape tree of a group, and a layer with its dependencies: those of ways to switches too, where so asked.
    fn layer(&self, group: &[Range<usize>], with_switches: bool) -> (SwitchTree, Acyclic) {
        let (problem, net) = (self.problem, &self.problem.net);
        let mut wanted = vec![false; net.rows()];
        let switches = problem.switches.iter().filter(|_| with_switches).map(|switch| switch.row);
        let ends = group.iter().map(|ends| problem.ends[ends.start].row);
        ends.chain(switches).for_each(|row| wanted[row] = true);
        let escape = SwitchTree::from(net, central(net, &wanted));
        let mut dependencies = Acyclic::new(net, escape.order());
        // Before any search: searches must leave the escape tree intact, or an impasse could not be resolved.
        for (before, after) in escape.dependencies(net, &wanted) {
            assert!(dependencies.admit(net, before, after), "the dependencies of a tree are acyclic");
        }
        (escape, dependencies)
    }

    /// All paths to one end port; false if one of them makes a detour.
    fn lead_to(&mut self, end: usize, layer: usize, dependencies: &mut Acyclic, escape: &SwitchTree) -> bool {
        let (net, paths, target) = (&self.problem.net, self.problem.paths(), self.problem.ends[end].row);
        let mut direct = true;
        for tree in end * paths..(end + 1) * paths {
            let found = self.search.search(dependencies, self.load.weigh(tree % paths), target, escape.order());
            // The escape tree's dependencies are in the layer already, so it can be taken at any time.
            let next = if found { self.search.next().to_vec() } else { escape.towards(net, target) };
            let order = outward(net, target, &next);
            self.load.add_tree(tree % paths, net, &order, &next, &self.hosts);
            self.load.shun(&next);
            self.forest.plant(net, tree, &next);
            self.forest.set_tree_layer(tree, layer as u8);
            direct &= self.is_direct(&order, &next);
        }
        self.load.release();
        direct
    }

    /// Returns whether ways from end ports have the fewest possible hops; `order` is that of [`outward`].
    fn is_direct(&self, order: &[u32], next: &[u32]) -> bool {
        let mut hops = vec![0; next.len()];
        order[1..].iter().all(|&row| {
            let row = row as usize;
            hops[row] = hops[self.problem.net.channel(next[row]).to as usize] + 1;
            // Only ways of end ports matter: a detour that no data takes has no cost.
            self.hosts[row] == 0 || hops[row] == self.downhill.hops(row)
        })
    }
}

/// The row with the fewest hops to all that are wanted; among equals the one with most channels, then the first.
fn central(net: &FlatGraph, wanted: &[bool]) -> usize {
    let mut sum = vec![0u64; net.rows()];
    let mut downhill = Downhill::new(net);
    for target in (0..net.rows()).filter(|&row| wanted[row]) {
        downhill.aim(net, target);
        (0..net.rows()).for_each(|row| sum[row] += u64::from(downhill.hops(row)));
    }
    (0..net.rows()).min_by_key(|&row| (sum[row], Reverse(net.degree(row)), row)).unwrap_or(0)
}

/// Rows in an order in which each comes before those that send through it.
fn outward(net: &FlatGraph, target: usize, next: &[u32]) -> Vec<u32> {
    let mut order = vec![target as u32];
    let mut at = 0;
    while let Some(&row) = order.get(at) {
        at += 1;
        let arriving = net.leaving(row as usize).iter().map(|leaving| leaving.back);
        let senders = arriving.filter(|&channel| next[net.channel(channel).from as usize] == channel);
        order.extend(senders.map(|channel| net.channel(channel).from));
    }
    order
}
