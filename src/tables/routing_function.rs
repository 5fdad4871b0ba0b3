//! A routing function that InfiniBand can express: output port by (switch, destination, path), the input port unseen.

use super::PathLayers;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use std::sync::Arc;

/// What an engine returns: for every switch and every destination port, `paths` output ports (path k is realised by the
/// k-th LID of the destination's half), and the layers it needs.
///
/// Shape: `outputs[(row(switch) × destinations + destination) × paths + path]`, row = rank among the fabric's nodes
/// that are switches (departed ones included, so rows agree before and after a change); 255 where there is no route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutingFunction {
    engine: &'static str,
    root: Option<NodeId>,
    destinations: Vec<PortId>,
    /// Rank of each node among the switches; `u32::MAX` for others.
    row: Vec<u32>,
    paths: usize,
    outputs: Vec<u8>,
    /// Who sends by which path, on which layer; none where everybody may by each, all on one layer.
    path_layers: Option<Arc<PathLayers>>,
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
        RoutingFunction { engine, root: None, destinations, row, paths, outputs, path_layers: None, layers: 1 }
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

    /// Who may send by which path, and on which layer; none where every source may send by every path, on any layer.
    pub fn path_layers(&self) -> Option<&Arc<PathLayers>> {
        self.path_layers.as_ref()
    }

    /// Says who may send by which path, and on which layer; with that, how many layers are needed.
    pub fn set_path_layers(&mut self, path_layers: PathLayers) {
        self.layers = path_layers.layers();
        self.path_layers = Some(Arc::new(path_layers));
    }

    /// How many LIDs a destination needs for it in each half.
    pub fn needed(&self, destination: usize) -> usize {
        self.path_layers.as_ref().map_or(self.paths, |layers| layers.needed(self.destinations[destination]).max(1))
    }

    /// The ports by which packets leave the switches on their way, from a switch on: up to the one that leads to an
    /// end port, or is port 0, has no cable, or there is no route. A way that goes round ends after as many ports as
    /// there are nodes.
    pub fn way<'a>(
        &'a self,
        fabric: &'a Fabric,
        from: NodeId,
        destination: usize,
        path: usize,
    ) -> impl Iterator<Item = PortId> + 'a {
        let mut at = Some(from);
        let ports = std::iter::from_fn(move || {
            let switch = at.take().filter(|&node| fabric.node(node).is_switch())?;
            let port = fabric.port_at(switch, self.output(switch, destination, path)?)?;
            at = fabric.neighbour(port);
            Some(port)
        });
        ports.take(fabric.node_count())
    }

    /// Every output at `switch`, by destination and path: the row of [`RoutingFunction::output`], 255 where there is no
    /// route. For engines that fill in whole rows.
    pub fn outputs_mut(&mut self, switch: NodeId) -> &mut [u8] {
        let size = self.destinations.len() * self.paths;
        let start = self.row[switch.index()] as usize * size;
        &mut self.outputs[start..start + size]
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
