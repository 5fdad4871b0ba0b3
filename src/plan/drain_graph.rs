//! The channels to drain, in an order in which they can run empty: the channel dependency graph (CDG) of the retiring
//! routing function, as plain data.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{PortMask, PortNum, VlSet};
use crate::verify::{ChannelGraph, Refusal};
use petgraph::dot::{Config, Dot};
use petgraph::graph::DiGraph;
use std::collections::BTreeMap;

/// One direction of a link, named by the port that sends into it.
pub type ChannelId = PortId;

/// A node whose management agent is queried.
pub type DeviceId = NodeId;

/// One channel of the graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrainChannel {
    /// The port that sends into it.
    pub channel: ChannelId,
    /// The node of that port.
    pub sender: DeviceId,
    /// The port's number on that node.
    pub num: PortNum,
    /// The node that receives from it.
    pub receiver: DeviceId,
    /// The receiving port's number on that node.
    pub receiver_num: PortNum,
    /// The channels whose packets may move on into this one, as positions in [`DrainGraph::channels`], each smaller
    /// than this channel's own.
    pub predecessors: Vec<u32>,
}

/// A CDG to be drained has a cycle through this channel, so there is no order in which to drain it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the retiring routing has a cycle of dependencies through {channel}: its channels cannot run empty in any order"
)]
pub struct CyclicDrain {
    /// A channel that is its own successor.
    pub channel: String,
}

/// A layer of a routing function has no graph of channels.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LayerGraphError {
    /// The routing is not safe by itself.
    #[error("the routing of this half cannot be proved: {0}")]
    Refused(#[from] Refusal),
    /// Its channels have a cycle.
    #[error(transparent)]
    Cyclic(#[from] CyclicDrain),
}

/// The channels to drain in one virtual layer of the retiring routing function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrainLayer {
    /// The lanes that its packets can use; no two layers share one.
    pub lanes: VlSet,
    /// The channels that they can use.
    pub graph: DrainGraph,
}

impl DrainLayer {
    /// The layer on `lanes` of which these are the channels, on what survives.
    ///
    /// # Errors
    /// Channels that depend on one another in a cycle.
    pub fn of(surviving: &Fabric, lanes: VlSet, graph: &ChannelGraph) -> Result<DrainLayer, CyclicDrain> {
        let graph = DrainGraph::new(surviving, graph.outputs().iter().cloned().collect(), graph.sources())?;
        Ok(DrainLayer { lanes, graph })
    }
}

/// The CDG of a layer of the retiring routing function: every channel that its packets may use, predecessors first.
///
/// A channel without predecessors is a *source* (an end port's, or one whose predecessors all died); one without
/// successors is a *leaf* (into an end port, or into a switch that can only send towards dead elements).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DrainGraph {
    arcs: BTreeMap<DeviceId, Vec<PortMask>>,
    channels: Vec<DrainChannel>,
    sources: Vec<ChannelId>,
    leaves: Vec<ChannelId>,
    by_sender: BTreeMap<DeviceId, Vec<u32>>,
    depth: u32,
}

impl DrainGraph {
    /// The graph of `arcs` (for each switch and each of its input ports 0 to `num_ports`, the outputs that packets may
    /// take) and of the channels that end ports send into, over the links of `fabric`. Arcs from or to ports without a
    /// cable are dropped.
    ///
    /// # Errors
    /// The arcs have a cycle.
    pub fn new(
        fabric: &Fabric,
        arcs: BTreeMap<DeviceId, Vec<PortMask>>,
        injections: &[ChannelId],
    ) -> Result<DrainGraph, CyclicDrain> {
        // A judge passes over the channels once, front to back. That works because Kahn's order puts each channel after
        // all its predecessors.
        let successors = successors(fabric, &arcs, injections);
        let order = order(fabric, &successors)?;
        let mut position = BTreeMap::new();
        for (&channel, place) in order.iter().zip(0u32..) {
            position.insert(channel, place);
        }
        let mut channels: Vec<_> = order.iter().map(|&channel| describe(fabric, channel)).collect();
        let mut leaves = Vec::new();
        for (place, &channel) in order.iter().enumerate() {
            let next = &successors[&channel];
            if next.is_empty() {
                leaves.push(channel);
            }
            for successor in next {
                channels[position[successor] as usize].predecessors.push(place as u32);
            }
        }
        let sources = channels.iter().filter(|c| c.predecessors.is_empty()).map(|c| c.channel).collect();
        let mut by_sender: BTreeMap<DeviceId, Vec<u32>> = BTreeMap::new();
        for (channel, place) in channels.iter().zip(0..) {
            by_sender.entry(channel.sender).or_default().push(place);
        }
        let depth = depth(&channels);
        let arcs = linked_arcs(fabric, arcs);
        Ok(DrainGraph { arcs, channels, sources, leaves, by_sender, depth })
    }

    /// Every channel, predecessors first.
    pub fn channels(&self) -> &[DrainChannel] {
        &self.channels
    }

    /// The channels that one device sends into, as positions in [`DrainGraph::channels`].
    pub fn sent_by(&self, device: DeviceId) -> &[u32] {
        self.by_sender.get(&device).map_or(&[], Vec::as_slice)
    }

    /// Channels without predecessors, in order.
    pub fn sources(&self) -> &[ChannelId] {
        &self.sources
    }

    /// Channels without successors, in order.
    pub fn leaves(&self) -> &[ChannelId] {
        &self.leaves
    }

    /// The switches that packets pass, with the outputs by input port, 0 to `num_ports`.
    pub fn arcs(&self) -> &BTreeMap<DeviceId, Vec<PortMask>> {
        &self.arcs
    }

    /// The number of channels on the longest path.
    pub fn depth(&self) -> u32 {
        self.depth
    }
}

/// The graphs of all layers as one Graphviz digraph: a box for each channel, with the ports at both its ends, and an
/// edge to each channel that its packets may wait for.
pub(super) fn to_dot(fabric: &Fabric, layers: &[DrainLayer]) -> String {
    let mut drawing = DiGraph::<String, &str>::new();
    for layer in layers {
        let of_layer = if layers.len() > 1 { format!("VL {}: ", layer.lanes) } else { String::new() };
        let name = |channel: &DrainChannel| {
            let end = |node, num| format!("{} {num}", fabric.describe_node(node));
            let (from, to) = (end(channel.sender, channel.num), end(channel.receiver, channel.receiver_num));
            format!("{of_layer}{from} → {to}")
        };
        let channels = layer.graph.channels();
        let nodes: Vec<_> = channels.iter().map(|channel| drawing.add_node(name(channel))).collect();
        for (channel, &node) in channels.iter().zip(&nodes) {
            channel.predecessors.iter().for_each(|&before| {
                drawing.add_edge(nodes[before as usize], node, "");
            });
        }
    }
    // petgraph's writer takes labels as they are, and escapes them.
    format!("{}", Dot::with_config(&drawing, &[Config::EdgeNoLabel]))
}

/// The channels of the graph, each with its successors, in ascending order.
fn successors(
    fabric: &Fabric,
    arcs: &BTreeMap<DeviceId, Vec<PortMask>>,
    injections: &[ChannelId],
) -> BTreeMap<ChannelId, Vec<ChannelId>> {
    let mut successors: BTreeMap<ChannelId, Vec<ChannelId>> = BTreeMap::new();
    for &channel in injections.iter().filter(|&&channel| fabric.peer(channel).is_some()) {
        successors.entry(channel).or_default();
    }
    for (&switch, masks) in arcs {
        for (input, outputs) in masks.iter().enumerate() {
            let into = fabric.port_at(switch, PortNum(input as u8)).and_then(|port| fabric.peer(port));
            let Some(into) = into else { continue };
            for output in outputs.iter().filter_map(|num| fabric.port_at(switch, num)) {
                if fabric.peer(output).is_some() {
                    successors.entry(into).or_default().push(output);
                    successors.entry(output).or_default();
                }
            }
            // An output without a cable is no successor, but packets for it may stand in this channel, which is then a
            // leaf.
            if !outputs.is_empty() {
                successors.entry(into).or_default();
            }
        }
    }
    successors
}

/// Kahn's order: each channel after all its predecessors; a pure function of the graph.
fn order(fabric: &Fabric, successors: &BTreeMap<ChannelId, Vec<ChannelId>>) -> Result<Vec<ChannelId>, CyclicDrain> {
    // An ordered map: ties go by index, so that one graph gives one plan.
    let mut waiting: BTreeMap<ChannelId, usize> = successors.keys().map(|&channel| (channel, 0)).collect();
    for channel in successors.values().flatten() {
        *waiting.entry(*channel).or_default() += 1;
    }
    let mut order: Vec<ChannelId> = waiting.iter().filter(|&(_, &count)| count == 0).map(|(&c, _)| c).collect();
    let mut next = 0;
    while let Some(&channel) = order.get(next) {
        next += 1;
        for &successor in &successors[&channel] {
            let count = waiting.entry(successor).or_default();
            *count -= 1;
            if *count == 0 {
                order.push(successor);
            }
        }
    }
    match waiting.iter().find(|&(_, &count)| count > 0) {
        // The remaining channels lie on a cycle, or have predecessors that do.
        Some((&channel, _)) => Err(CyclicDrain { channel: fabric.describe_port(channel) }),
        None => Ok(order),
    }
}

fn describe(fabric: &Fabric, channel: ChannelId) -> DrainChannel {
    let port = fabric.port(channel);
    let (receiver, receiver_num) = match fabric.peer(channel).map(|peer| fabric.port(peer)) {
        Some(peer) => (peer.node, peer.num),
        None => unreachable!("only cabled ports enter the graph"),
    };
    DrainChannel { channel, sender: port.node, num: port.num, receiver, receiver_num, predecessors: Vec::new() }
}

/// The number of channels on the longest path; predecessors come first, so one pass finds it.
fn depth(channels: &[DrainChannel]) -> u32 {
    let mut depths: Vec<u32> = Vec::with_capacity(channels.len());
    for channel in channels {
        let before = channel.predecessors.iter().map(|&p| depths[p as usize]).max();
        depths.push(before.unwrap_or(0) + 1);
    }
    depths.into_iter().max().unwrap_or(0)
}

/// The arcs between cabled ports only, which DrainArcs carries to the agents in the switches.
fn linked_arcs(fabric: &Fabric, arcs: BTreeMap<DeviceId, Vec<PortMask>>) -> BTreeMap<DeviceId, Vec<PortMask>> {
    let linked = |switch, num| fabric.port_at(switch, num).is_some_and(|port| fabric.peer(port).is_some());
    let mut kept = BTreeMap::new();
    for (switch, mut masks) in arcs {
        for (input, mask) in masks.iter_mut().enumerate() {
            let open = linked(switch, PortNum(input as u8));
            *mask = mask.iter().filter(|&num| open && linked(switch, num)).collect();
        }
        if masks.iter().any(|mask| !mask.is_empty()) {
            kept.insert(switch, masks);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn mask(ports: &[u8]) -> PortMask {
        ports.iter().map(|&num| PortNum(num)).collect()
    }

    #[test]
    fn a_row_is_drained_from_its_first_host_to_its_last() {
        let graph = testing::row(mask(&[2]));
        let senders: Vec<_> = graph.channels().iter().map(|channel| channel.sender.0).collect();
        assert_eq!((senders, graph.depth()), (vec![0, 1, 2], 3));
        assert_eq!((graph.sources().len(), graph.leaves().len()), (1, 1));
        assert_eq!(graph.channels()[2].receiver.0, 3);
    }

    #[test]
    fn arcs_over_a_dead_link_are_dropped_and_what_is_left_begins_anew() {
        let whole = testing::fabric();
        let middle = whole.port_at(NodeId(1), PortNum(2)).expect("port 2");
        let fabric = whole.without_links(&[middle]);
        let arcs = testing::row(mask(&[2])).arcs().clone();
        let last = whole.port_at(NodeId(2), PortNum(2)).expect("port 2");
        let first = whole.port_at(NodeId(0), PortNum(1)).expect("port 1");
        let graph = DrainGraph::new(&fabric, arcs, &[first, middle, last]).expect("no cycle");
        assert_eq!(graph.channels().len(), 2, "the dead channel is in nobody's way");
        assert_eq!(graph.sources(), graph.leaves());
        assert!(graph.arcs().is_empty(), "no agent has anything to pass on");
    }

    #[test]
    fn a_cycle_has_no_order() {
        let fabric = testing::fabric();
        // Each switch sends packets back where they came from: the link between them is a cycle.
        let back = vec![PortMask::default(), mask(&[1]), mask(&[2])];
        let arcs = BTreeMap::from([(NodeId(1), back.clone()), (NodeId(2), back)]);
        let error = DrainGraph::new(&fabric, arcs, &[]).unwrap_err();
        assert!(error.to_string().contains("cannot run empty in any order"), "{error}");
    }
}
