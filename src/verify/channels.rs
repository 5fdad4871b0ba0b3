//! The channel dependency graph of one half's packets over physical channels: what drain tokens follow.

use super::InjectionRules;
use super::case::{ProofCase, STEADY};
use super::collector::DependencyCollector;
use super::dependencies::{ChannelTurn, Dependencies, DependencyLayout};
use super::evidence;
use super::graph::Graph;
use super::net::FlatFabric;
use super::proof_walk::ProofWalk;
use super::refusal::Refusal;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, PortMask, VlSet};
use crate::tables::{PathLayers, SubnetTables};
use std::sync::Arc;

/// The relation *packets of this channel can wait for that channel*, over the surviving channels that packets of the
/// half can occupy: packets injected now, and those that had crossed an element before it died. Free of cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelGraph {
    /// By switch (present ones, in index order), then input port.
    outputs: Vec<(NodeId, Vec<PortMask>)>,
    sources: Vec<PortId>,
    leaves: Vec<PortId>,
    order: Vec<PortId>,
}

/// The packets whose channels a [`ChannelGraph`] relates.
#[derive(Clone, Copy, Debug)]
pub struct ChannelGraphInput<'a> {
    /// The fabric before any element died.
    pub fabric: &'a Fabric,
    /// The part of it whose channels are related.
    pub surviving: &'a Fabric,
    /// The tables in force.
    pub tables: &'a SubnetTables,
    /// The half of the packets.
    pub half: Half,
    /// The lanes of the packets. A function of several layers has a graph for the lanes of each.
    pub lanes: VlSet,
    /// The paths of each source; without them every source uses every path.
    pub ways: Option<&'a Arc<PathLayers>>,
    /// End ports of which it is not claimed that packets to and from them have routes.
    pub stranded: &'a [PortId],
}

impl ChannelGraph {
    /// The graph of these packets.
    ///
    /// # Errors
    /// Tables that are not free of deadlock, loops or black holes.
    pub fn new(input: &ChannelGraphInput<'_>) -> Result<ChannelGraph, Refusal> {
        let &ChannelGraphInput { fabric, surviving, tables, half, lanes, ways, stranded } = input;
        let mut rules = InjectionRules::default();
        rules.injected[half.index()] = true;
        rules.ways[half.index()] = ways.into_iter().cloned().collect();
        let case = ProofCase::steady(fabric, tables, rules, stranded, false);
        let proof_walk = ProofWalk::new(case, surviving)?;
        let layout = proof_walk.layout();
        let mut collector = DependencyCollector::new(&proof_walk, &layout);
        if let Some(fault) = proof_walk.walk_all(&mut collector) {
            return Err(evidence::of_fault(&proof_walk, fault));
        }
        let halves = collector.finish();
        if let Err(cycle) = halves[half.index()][0].graph(&layout, 0).order() {
            return Err(evidence::of_cycle(&proof_walk, &layout, &halves, 0, cycle));
        }
        let arcs = arcs(&layout, &halves[half.index()][0], lanes);
        let used = used(&layout, &halves[half.index()][0], lanes);
        ChannelGraph::assemble(fabric, surviving, &proof_walk.net, &arcs, &used)
    }

    fn assemble(
        fabric: &Fabric,
        surviving: &Fabric,
        net: &FlatFabric,
        arcs: &[ChannelTurn],
        used: &[bool],
    ) -> Result<ChannelGraph, Refusal> {
        let graph = Graph::new(net.channels(), |emit| {
            arcs.iter().for_each(|turn| emit(turn.inward as u32, turn.outward as u32));
        });
        // Lanes without a cycle can still project onto channels with one. A token follows channels, so it would wait
        // for itself.
        let Ok(order) = graph.order() else {
            let what = "lanes wait for each other without a cycle, but their channels do not; this routing function \
                        needs its lanes drained one by one"
                .to_string();
            return Err(Refusal::Precondition { wave: STEADY.to_string(), what });
        };
        let mut waited_for = vec![false; net.channels()];
        arcs.iter().for_each(|turn| waited_for[turn.outward] = true);
        let channels = || order.iter().map(|&channel| PortId(channel)).filter(|channel| used[channel.index()]);
        let by_index = |mut ports: Vec<PortId>| {
            ports.sort_unstable();
            ports
        };
        Ok(ChannelGraph {
            outputs: masks(fabric, surviving, net, arcs),
            sources: by_index(channels().filter(|channel| !waited_for[channel.index()]).collect()),
            leaves: by_index(channels().filter(|channel| graph.successors(channel.0).is_empty()).collect()),
            order: channels().collect(),
        })
    }

    /// For every surviving switch in index order: by input port, 0 to `num_ports`, the outputs that its packets can
    /// wait for.
    pub fn outputs(&self) -> &[(NodeId, Vec<PortMask>)] {
        &self.outputs
    }

    /// Channels that no packet waits for from another channel, in index order: injection channels of end ports, and
    /// channels of switches whose predecessors all died. The port's device begins the token there.
    pub fn sources(&self) -> &[PortId] {
        &self.sources
    }

    /// Channels whose packets wait for no other, in index order: those into end ports, and those of which all
    /// successors died. The device at their far end reports the token.
    pub fn leaves(&self) -> &[PortId] {
        &self.leaves
    }

    /// Every channel that can be occupied, each before all that its packets can wait for.
    pub fn order(&self) -> &[PortId] {
        &self.order
    }
}

/// Ways through switches that packets on `lanes` can take, where both channels survive.
fn arcs(layout: &DependencyLayout<'_>, dependencies: &Dependencies, lanes: VlSet) -> Vec<ChannelTurn> {
    let alive = |turn: &ChannelTurn| layout.net.exists(1, turn.inward) && layout.net.exists(1, turn.outward);
    let is_occupied = |turn: &ChannelTurn| is_occupied(layout, dependencies, lanes, turn);
    let mut arcs = Vec::new();
    layout.each_turn(0, |turn| arcs.extend((alive(&turn) && is_occupied(&turn)).then_some(turn)));
    arcs
}

fn is_occupied(layout: &DependencyLayout<'_>, dependencies: &Dependencies, lanes: VlSet, turn: &ChannelTurn) -> bool {
    let on = |lane: &usize| lanes.0 >> lane & 1 == 1;
    let mut inputs = (0..layout.vls).filter(on);
    inputs.any(|lane| dependencies.at(layout, turn.row, turn.input, lane, turn.output) & lanes.0 != 0)
}

/// Surviving channels that packets on `lanes` can occupy, whether or not their neighbours in the graph survive.
fn used(layout: &DependencyLayout<'_>, dependencies: &Dependencies, lanes: VlSet) -> Vec<bool> {
    let mut used = vec![false; layout.net.channels()];
    layout.each_turn(0, |turn| {
        for channel in
            [turn.inward, turn.outward].into_iter().filter(|_| is_occupied(layout, dependencies, lanes, &turn))
        {
            used[channel] |= layout.net.exists(1, channel);
        }
    });
    used
}

/// The arcs by switch and input.
fn masks(fabric: &Fabric, surviving: &Fabric, net: &FlatFabric, arcs: &[ChannelTurn]) -> Vec<(NodeId, Vec<PortMask>)> {
    let empty = |&node: &NodeId| vec![PortMask::default(); usize::from(fabric.node(node).num_ports) + 1];
    let mut by_row: Vec<Vec<PortMask>> = net.rows.iter().map(empty).collect();
    arcs.iter().for_each(|turn| by_row[turn.row][turn.input.index()].insert(turn.output));
    let present = |&(node, _): &(NodeId, _)| surviving.node(node).present;
    net.rows.iter().copied().zip(by_row).filter(present).collect()
}
