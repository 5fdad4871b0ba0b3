//! A routing function that InfiniBand can express: output port by (switch, destination, path), the input port unseen.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;

/// What an engine returns: for every switch and every destination port, `paths` output ports (path k is realised by the
/// k-th LID of the destination's half), and the layers it needs.
///
/// Shape: `outputs[(row(switch) × destinations + destination) × paths + path]`, row = rank among the fabric's nodes that
/// are switches (departed ones included, so rows agree before and after a change); 255 where there is no route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutingFunction {
    engine: &'static str,
    root: Option<NodeId>,
    destinations: Vec<PortId>,
    /// Rank of each node among the switches; `u32::MAX` for others.
    row: Vec<u32>,
    paths: usize,
    outputs: Vec<u8>,
    /// Virtual layers needed for freedom from deadlock; 1 when one lane suffices.
    layers: u8,
}

impl RoutingFunction {
    /// A function without routes. `destinations` are ports that own LIDs (end ports, port 0 of switches).
    pub fn new(fabric: &Fabric, engine: &'static str, destinations: Vec<PortId>, paths: usize) -> RoutingFunction {
        let mut row = vec![u32::MAX; fabric.node_count()];
        let switches = fabric.nodes().filter(|(_, node)| node.is_switch());
        let rows = switches.zip(0..).map(|((id, _), rank)| row[id.index()] = rank).count();
        let outputs = vec![PortNum::NO_ROUTE.0; rows * destinations.len() * paths];
        RoutingFunction { engine, root: None, destinations, row, paths, outputs, layers: 1 }
    }

    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// The root of the spanning tree, where the engine has one.
    pub fn root(&self) -> Option<NodeId> {
        self.root
    }

    /// Names the root of the spanning tree.
    pub fn set_root(&mut self, root: NodeId) {
        self.root = Some(root);
    }

    /// The ports it leads to; the rank in this list is the *destination* of the other methods.
    pub fn destinations(&self) -> &[PortId] {
        &self.destinations
    }

    /// Paths to each destination.
    pub fn paths(&self) -> usize {
        self.paths
    }

    /// Virtual layers it needs.
    pub fn layers(&self) -> u8 {
        self.layers
    }

    /// Says how many virtual layers it needs.
    pub fn set_layers(&mut self, layers: u8) {
        self.layers = layers;
    }

    /// The output port at `switch` towards a destination on one path.
    pub fn output(&self, switch: NodeId, destination: usize, path: usize) -> Option<PortNum> {
        let port = PortNum(self.outputs[self.slot(switch, destination, path)]);
        (port != PortNum::NO_ROUTE).then_some(port)
    }

    /// Sets an output port.
    pub fn set_output(&mut self, switch: NodeId, destination: usize, path: usize, port: PortNum) {
        let slot = self.slot(switch, destination, path);
        self.outputs[slot] = port.0;
    }

    fn slot(&self, switch: NodeId, destination: usize, path: usize) -> usize {
        assert!(destination < self.destinations.len() && path < self.paths, "{destination}/{path} out of range");
        (self.row[switch.index()] as usize * self.destinations.len() + destination) * self.paths + path
    }
}
