//! Nue: free of deadlock with any number of layers, one among them, by routing within the dependency graph.
//!
//! Source: Domke, Hoefler, Matsuoka, *Routing on the Dependency Graph: A New Approach to Deadlock-Free High-Performance
//! Routing*, HPDC 2016. Destinations are divided among the layers on offer; on each a spanning tree is set aside for escape;
//! then the lightest ways to each destination are searched in the complete channel dependency graph, over
//! dependencies only that close no cycle. Where such a search comes to an impasse that changing a neighbour's choice does
//! not resolve, the destination is led to along the escape tree. Ways are as short as the dependencies let them be, not
//! always of fewest hops; with more layers more of them are.
//! Not as in the paper: cycles are kept out by an online topological order; the root of a layer's escape tree is the switch
//! with the fewest hops to its destinations, not that of the highest betweenness; destinations are divided by their place
//! in a breadth-first walk, not by METIS. Switches themselves are led to along the escape tree of layer 0.

use super::acyclic::Acyclic;
use super::downhill::Downhill;
use super::forest::{Forest, Task};
use super::guarded::Guarded;
use super::load::Load;
use super::net::Net;
use super::switch_tree::SwitchTree;
use super::{Demand, Engine, RouteError};
use crate::fabric::Fabric;
use crate::tables::RoutingFunction;
use std::cmp::Reverse;
use std::ops::Range;

pub(super) const NAME: &str = "nue";

/// What a hop weighs: more than any load, and than having an earlier path to the same destination on it.
const HOP: u64 = 1 << 50;

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nue;

impl Engine for Nue {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let task = Task::new(NAME, fabric, demand)?;
        let Some(plain) = task.switch_tree() else { return Ok(task.without_routes()) };
        task.offers(1)?;
        let groups = divided(&task, &plain, usize::from(demand.layers.min(super::MOST_LAYERS)));
        let mut forest = Forest::new(task.net.rows(), task.ends.len() * demand.paths);
        let mut ways = Ways::new(&task);
        let mut switch_tree = plain;
        for (layer, group) in groups.iter().enumerate() {
            let escape = ways.route(layer, group, &mut forest);
            if layer == 0 {
                switch_tree = escape;
            }
        }
        Ok(task.function(&forest, &switch_tree, |end, path| end * demand.paths + path))
    }
}

/// The end ports of each layer, as ranges of ranks by the switch that bears them: neighbours together, so many layers at
/// most, about as many end ports on each.
fn divided(task: &Task<'_>, walk: &SwitchTree, layers: usize) -> Vec<Vec<Range<usize>>> {
    let mut borne = task.borne();
    let mut place = vec![usize::MAX; task.net.rows()];
    walk.order().iter().enumerate().for_each(|(at, &row)| place[row as usize] = at);
    borne.sort_by_key(|ends| place[task.ends[ends.start].row]);
    let mut groups = vec![Vec::new(); layers.clamp(1, borne.len().max(1))];
    let mut before = 0;
    for ends in borne {
        let group = before * groups.len() / task.ends.len();
        before += ends.len();
        groups[group].push(ends);
    }
    // A switch with many end ports may leave a share empty.
    groups.retain(|group| !group.is_empty());
    if groups.is_empty() { vec![Vec::new()] } else { groups }
}

/// Ways found so far.
struct Ways<'a> {
    task: &'a Task<'a>,
    hosts: Vec<u64>,
    load: Load,
    search: Guarded<'a>,
}

impl<'a> Ways<'a> {
    fn new(task: &'a Task<'a>) -> Ways<'a> {
        Ways { task, hosts: task.hosts(), load: Load::new(&task.net, HOP), search: Guarded::new(&task.net) }
    }

    /// Routes the end ports of one layer; returns its escape tree.
    fn route(&mut self, layer: usize, group: &[Range<usize>], forest: &mut Forest) -> SwitchTree {
        let (task, net) = (self.task, &self.task.net);
        let mut wanted = vec![false; net.rows()];
        let switches = task.switches.iter().filter(|_| layer == 0).map(|switch| switch.row);
        let ends = group.iter().map(|ends| task.ends[ends.start].row);
        ends.chain(switches).for_each(|row| wanted[row] = true);
        let escape = SwitchTree::from(net, central(net, &wanted));
        let mut dependencies = Acyclic::new(net);
        for (before, after) in escape.dependencies(net, &wanted) {
            assert!(dependencies.admit(net, before, after), "the dependencies of a tree are acyclic");
        }
        for end in group.iter().cloned().flatten() {
            for path in 0..task.paths() {
                let next = self.towards(task.ends[end].row, &mut dependencies, &escape);
                forest.plant(net, end * task.paths() + path, &next);
                forest.set_tree_layer(end * task.paths() + path, layer as u8);
            }
            self.load.release();
        }
        escape
    }

    /// The ways towards one row, their load counted.
    fn towards(&mut self, target: usize, dependencies: &mut Acyclic, escape: &SwitchTree) -> Vec<u32> {
        let net = &self.task.net;
        let found = self.search.search(dependencies, self.load.weights(), target, escape.order());
        let next = if found { self.search.next().to_vec() } else { escape.towards(net, target) };
        self.load.add_tree(net, &outward(net, target, &next), &next, &self.hosts);
        self.load.shun(&next);
        next
    }
}

/// The row with the fewest hops to all that are wanted; among equals the one with most channels, then the first.
fn central(net: &Net, wanted: &[bool]) -> usize {
    let mut sum = vec![0u64; net.rows()];
    let mut downhill = Downhill::new(net);
    for target in (0..net.rows()).filter(|&row| wanted[row]) {
        downhill.aim(net, target);
        (0..net.rows()).for_each(|row| sum[row] += u64::from(downhill.hops(row)));
    }
    (0..net.rows()).min_by_key(|&row| (sum[row], Reverse(net.degree(row)), row)).unwrap_or(0)
}

/// Rows in an order in which each comes before those that send through it.
fn outward(net: &Net, target: usize, next: &[u32]) -> Vec<u32> {
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
