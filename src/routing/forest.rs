//! The result of engines by destination: for every destination and path a tree of channels towards it, with a layer for
//! each row; and the routing function of these trees.
//!
//! Switches are reached on layer 0, so that management needs no more layers than data does: along one spanning tree
//! (see [`SwitchTree`]), or along trees of their own that an engine made to agree with those to end ports.

use super::flat_graph::{FlatGraph, NONE};
use super::switch_graph::Target;
use super::switch_tree::SwitchTree;
use super::{Connectivity, Demand, RouteError};
use crate::fabric::{Fabric, PortId};
use crate::ids::PortNum;
use crate::tables::{PathLayers, RoutingFunction};
use std::ops::Range;

/// No channel: the target itself, or a row that is not connected to it.
const NOWHERE: u8 = u8::MAX;

/// A demand in terms of the flat graph.
pub(super) struct TreeProblem<'a> {
    engine: &'static str,
    fabric: &'a Fabric,
    demand: &'a Demand,
    pub net: FlatGraph,
    /// The end ports demanded, in ascending order of rows and their ports.
    pub ends: Vec<Target>,
    /// The switches demanded.
    pub switches: Vec<Target>,
}

impl<'a> TreeProblem<'a> {
    /// # Errors
    /// The number of paths is out of range, or demanded ports are not connected.
    pub fn new(engine: &'static str, fabric: &'a Fabric, demand: &'a Demand) -> Result<TreeProblem<'a>, RouteError> {
        if !(1..=128).contains(&demand.paths) {
            return Err(RouteError::Paths { engine, paths: demand.paths });
        }
        Connectivity::of(fabric).check(engine, fabric, demand)?;
        let net = FlatGraph::of(fabric);
        let (mut ends, mut switches) = (Vec::new(), Vec::new());
        for (destination, &port) in demand.destinations.iter().enumerate() {
            let Some(target) = net.target(fabric, destination, port) else { continue };
            let kind = if target.is_switch() { &mut switches } else { &mut ends };
            kind.push(target);
        }
        // The end ports of one row are adjacent: `borne` relies on it.
        ends.sort_by_key(|end| (end.row, end.last));
        Ok(TreeProblem { engine, fabric, demand, net, ends, switches })
    }

    /// Paths to each destination.
    pub fn paths(&self) -> usize {
        self.demand.paths
    }

    /// By row: demanded end ports.
    pub fn hosts(&self) -> Vec<u64> {
        let mut hosts = vec![0; self.net.rows()];
        self.ends.iter().for_each(|end| hosts[end.row] += 1);
        hosts
    }

    /// By row: demanded end ports of hosts.
    pub fn hosts_alone(&self) -> Vec<u64> {
        let mut hosts = vec![0; self.net.rows()];
        let is_host = |end: &&Target| self.fabric.is_host_port(self.demand.destinations[end.destination]);
        self.ends.iter().filter(is_host).for_each(|end| hosts[end.row] += 1);
        hosts
    }

    /// The tree for reaching switches: from the first row with end ports, or else any demanded one. None without
    /// switches.
    pub fn switch_tree(&self) -> Option<SwitchTree> {
        let first = self.ends.first().or(self.switches.first())?;
        Some(SwitchTree::from(&self.net, first.row))
    }

    /// The end ports of each row that has any, as ranks in `ends`.
    pub fn borne(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let groups = self.ends.chunk_by(|a, b| a.row == b.row);
        groups
            .map(|group| {
                start += group.len();
                start - group.len()..start
            })
            .collect()
    }

    /// Fails unless `needed` layers are available.
    pub fn offers(&self, needed: usize) -> Result<(), RouteError> {
        let offered = self.demand.layers.min(super::MOST_LAYERS);
        if needed <= usize::from(offered) {
            return Ok(());
        }
        Err(RouteError::TooFewLayers { engine: self.engine, needed, offered })
    }

    /// The routing function: to the end port of rank `end` by path `path` along the tree of number `tree(end, path)`,
    /// to every switch along the switch tree.
    pub fn function(
        &self,
        forest: &Forest,
        switch_tree: &SwitchTree,
        tree: impl Fn(usize, usize) -> usize,
    ) -> RoutingFunction {
        self.routed(forest, tree, |row, outputs| self.fill_switches(switch_tree, row, outputs))
    }

    /// The routing function of [`function`](Self::function), but to the switch of rank `at` in `switches` along tree
    /// `at` of a forest of the switches.
    pub fn function_by_forests(
        &self,
        forest: &Forest,
        to_switches: &Forest,
        tree: impl Fn(usize, usize) -> usize,
    ) -> RoutingFunction {
        let (paths, net) = (self.paths(), &self.net);
        self.routed(forest, tree, |row, outputs| {
            for (at, target) in self.switches.iter().enumerate() {
                let port = match to_switches.channel(net, row, at) {
                    _ if target.row == row => PortNum::ZERO,
                    Some(channel) => net.channel(channel).port,
                    None => continue,
                };
                outputs[target.destination * paths..][..paths].fill(port.0);
            }
        })
    }

    fn routed(
        &self,
        forest: &Forest,
        tree: impl Fn(usize, usize) -> usize,
        fill_switches: impl Fn(usize, &mut [u8]),
    ) -> RoutingFunction {
        let mut function = self.without_routes();
        for row in 0..self.net.rows() {
            let outputs = function.outputs_mut(self.net.node(row));
            self.fill_ends(forest, row, outputs, &tree);
            fill_switches(row, outputs);
        }
        if forest.layers() > 1 {
            function.set_path_layers(self.path_layers(forest, tree));
        }
        function
    }

    /// A function without routes, for a fabric without switches.
    pub fn without_routes(&self) -> RoutingFunction {
        RoutingFunction::new(self.fabric, self.engine, self.demand.destinations.clone(), self.demand.paths)
    }

    fn fill_ends(&self, forest: &Forest, row: usize, outputs: &mut [u8], tree: &impl Fn(usize, usize) -> usize) {
        let (paths, out) = (self.paths(), self.net.leaving(row));
        for (at, end) in self.ends.iter().enumerate() {
            for path in 0..paths {
                let local = forest.local(row, tree(at, path));
                let output = &mut outputs[end.destination * paths + path];
                match local {
                    // The row that delivers has no channel along the tree.
                    _ if end.row == row => *output = end.last.0,
                    Some(local) => *output = out[local].port.0,
                    None => {}
                }
            }
        }
    }

    fn fill_switches(&self, switch_tree: &SwitchTree, row: usize, outputs: &mut [u8]) {
        let (paths, next) = (self.paths(), switch_tree.next(&self.net, row));
        for target in &self.switches {
            let port = match next[target.row] {
                _ if target.row == row => PortNum::ZERO,
                NONE => continue,
                channel => self.net.channel(channel).port,
            };
            outputs[target.destination * paths..][..paths].fill(port.0);
        }
    }

    fn path_layers(&self, forest: &Forest, tree: impl Fn(usize, usize) -> usize) -> PathLayers {
        let ports: Vec<PortId> = self.ends.iter().map(|end| self.demand.destinations[end.destination]).collect();
        let mut layers = PathLayers::by_switch(self.fabric, &ports, self.paths());
        let switches = self.fabric.nodes().filter(|(_, node)| node.is_switch());
        // Groups count every switch, rows only those that are present.
        let groups = switches.enumerate().filter(|(_, (_, node))| node.present).map(|(group, _)| group);
        for (row, group) in groups.enumerate() {
            for (at, end) in self.ends.iter().enumerate() {
                for path in 0..self.paths() {
                    let tree = tree(at, path);
                    if end.row == row || forest.local(row, tree).is_some() {
                        layers.open(group, at, path, forest.layer(row, tree));
                    }
                }
            }
        }
        layers
    }
}

/// Trees, and the layer of each row's way along each.
#[derive(Clone)]
pub(super) struct Forest {
    trees: usize,
    /// By row, then tree: the local number of the channel.
    next: Vec<u8>,
    /// By row, then tree.
    layer: Vec<u8>,
}

impl Forest {
    pub fn new(rows: usize, trees: usize) -> Forest {
        Forest { trees, next: vec![NOWHERE; rows * trees], layer: vec![0; rows * trees] }
    }

    /// Sets a whole tree: `next` is the channel from every row, [`NONE`] at the target.
    pub fn plant(&mut self, net: &FlatGraph, tree: usize, next: &[u32]) {
        for (row, &channel) in next.iter().enumerate() {
            let local = if channel == NONE { NOWHERE } else { net.channel(channel).local };
            self.next[row * self.trees + tree] = local;
        }
    }

    /// The local number of the channel from a row along a tree.
    pub fn local(&self, row: usize, tree: usize) -> Option<usize> {
        Some(self.next[row * self.trees + tree]).filter(|&local| local != NOWHERE).map(usize::from)
    }

    /// The trees along which a row has no channel.
    pub fn without(&self, row: usize) -> impl Iterator<Item = usize> {
        let own = &self.next[row * self.trees..][..self.trees];
        own.iter().enumerate().filter(|&(_, &local)| local == NOWHERE).map(|(tree, _)| tree)
    }

    /// The channel from a row along a tree.
    pub fn channel(&self, net: &FlatGraph, row: usize, tree: usize) -> Option<u32> {
        self.local(row, tree).map(|local| net.out(row).start + local as u32)
    }

    /// Sets the channel from a row along a tree.
    pub fn set_channel(&mut self, net: &FlatGraph, row: usize, tree: usize, channel: u32) {
        self.next[row * self.trees + tree] = net.channel(channel).local;
    }

    pub fn layer(&self, row: usize, tree: usize) -> u8 {
        self.layer[row * self.trees + tree]
    }

    pub fn set_layer(&mut self, row: usize, tree: usize, layer: u8) {
        self.layer[row * self.trees + tree] = layer;
    }

    /// Puts every way of a tree on a layer.
    pub fn set_tree_layer(&mut self, tree: usize, layer: u8) {
        let rows = self.layer.chunks_exact_mut(self.trees.max(1));
        rows.for_each(|row| row[tree] = layer);
    }

    /// The number of layers in use.
    pub fn layers(&self) -> usize {
        self.layer.iter().max().map_or(1, |&highest| usize::from(highest) + 1)
    }
}
