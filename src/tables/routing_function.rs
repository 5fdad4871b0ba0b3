//! A routing function that InfiniBand can express: output port by (switch, destination, path), independent of the input
//! port.

use super::PathLayers;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use std::sync::Arc;

/// The result of an engine: for every switch and every destination port, `paths` output ports (path k is realised by
/// the k-th LID of the destination's half), and the layers that it needs.
///
/// Shape: `outputs[(row(switch) × destinations + destination) × paths + path]`, row = rank among the fabric's switches
/// (departed ones included, so rows agree before and after a change); 255 for no route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutingFunction {
    engine: &'static str,
    root: Option<NodeId>,
    destinations: Vec<PortId>,
    /// Rank of each node among the switches; `u32::MAX` for others.
    row: Vec<u32>,
    paths: usize,
    outputs: Vec<u8>,
    /// The paths and layers of each source; none if every source may use every path, on a single layer.
    path_layers: Option<Arc<PathLayers>>,
    /// Virtual layers needed for freedom from deadlock; 1 if one lane suffices.
    layers: u8,
}

/// The origin of a routing function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoutedBy {
    /// The engine's name.
    pub engine: &'static str,
    /// The root of the spanning tree, if the engine has one.
    pub root: Option<NodeId>,
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

    /// The root of the spanning tree, if the engine has one.
    pub fn root(&self) -> Option<NodeId> {
        self.root
    }

    /// The engine and the root.
    pub fn routed_by(&self) -> RoutedBy {
        RoutedBy { engine: self.engine, root: self.root }
    }

    /// Sets the root of the spanning tree.
    pub fn set_root(&mut self, root: NodeId) {
        self.root = Some(root);
    }

    /// The destination ports; the other methods number destinations by their rank in this list.
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

    /// The paths and layers of each source; none if every source may use every path, on any layer.
    pub fn path_layers(&self) -> Option<&Arc<PathLayers>> {
        self.path_layers.as_ref()
    }

    /// Sets the paths and layers of each source, and with them the number of layers needed.
    pub fn set_path_layers(&mut self, path_layers: PathLayers) {
        self.layers = path_layers.layers();
        self.path_layers = Some(Arc::new(path_layers));
    }

    /// The number of LIDs of each half that a destination needs.
    pub fn needed(&self, destination: usize) -> usize {
        self.path_layers.as_ref().map_or(self.paths, |layers| layers.needed(self.destinations[destination]).max(1))
    }

    /// The output ports on the path from a switch, ending with the port that leads to an end port, is port 0, or has no
    /// cable, or where the route ends. A path in a loop ends after as many ports as there are nodes.
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

    /// Every output at `switch`, by destination and path: the row of [`RoutingFunction::output`], 255 for no route. For
    /// engines that fill whole rows.
    pub fn outputs_mut(&mut self, switch: NodeId) -> &mut [u8] {
        let size = self.destinations.len() * self.paths;
        let start = self.row[switch.index()] as usize * size;
        &mut self.outputs[start..start + size]
    }

    /// The output port at `switch` towards a destination on one path.
    #[inline]
    pub fn output(&self, switch: NodeId, destination: usize, path: usize) -> Option<PortNum> {
        let port = PortNum(self.outputs[self.slot(switch, destination, path)]);
        (port != PortNum::NO_ROUTE).then_some(port)
    }

    /// Sets an output port.
    #[inline]
    pub fn set_output(&mut self, switch: NodeId, destination: usize, path: usize, port: PortNum) {
        let slot = self.slot(switch, destination, path);
        self.outputs[slot] = port.0;
    }

    #[inline]
    fn slot(&self, switch: NodeId, destination: usize, path: usize) -> usize {
        assert!(destination < self.destinations.len() && path < self.paths, "{destination}/{path} out of range");
        (self.row[switch.index()] as usize * self.destinations.len() + destination) * self.paths + path
    }
}
