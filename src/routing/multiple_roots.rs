//! Up*/down* with several roots: the paths to a destination follow different spanning trees, each on a layer of its
//! own.
//!
//! Source: Lysne and Skeie, *Load Balancing of Irregular System Area Networks Through Multiple Roots*, CIC 2001: one
//! root attracts all traffic; several roots, each with its own virtual lanes, spread the load. There, a packet's root
//! depends on its source and destination; here it depends on its DLID alone: path k to the n-th end port follows root
//! n + k modulo their number, on the layer with that number. So the LIDs of a half lead along different paths even if
//! up*/down* with one root has only one shortest way, and sources that all use the first LID are spread over all roots
//! too. On each layer the rules of [`super::UpDown`] hold, hence no cycle. There are as many roots as available layers
//! or switches, whichever is less; with one layer this is [`super::UpDown`]. Switches are reached by the first root, on
//! layer 0.

use super::switch_graph::SwitchGraph;
use super::up_down::{Ranking, check_reach, fill, first_root, several_roots, turn};
use super::{Connectivity, Demand, Engine, MOST_LAYERS, RouteError};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::tables::{PathLayers, RoutingFunction};

pub(super) const NAME: &str = "multiple-roots";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MultipleRoots {
    /// The first root; if none is given, as [`super::UpDown`] chooses it. The others are chosen.
    pub root: Option<NodeId>,
}

impl Engine for MultipleRoots {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        if !(1..=128).contains(&demand.paths) {
            return Err(RouteError::Paths { engine: NAME, paths: demand.paths });
        }
        if demand.layers == 0 {
            return Err(RouteError::TooFewLayers { engine: NAME, needed: 1, offered: 0 });
        }
        Connectivity::of(fabric).check(NAME, fabric, demand)?;
        let graph = SwitchGraph::of(fabric);
        let mut function = RoutingFunction::new(fabric, NAME, demand.destinations.clone(), demand.paths);
        let Some(first) = first_root(NAME, self.root, fabric, &graph, demand)? else { return Ok(function) };
        let count = demand.layers.min(MOST_LAYERS);
        let roots = several_roots(fabric, &graph, demand, first, count.into());
        let rankings: Vec<Ranking> = roots.iter().map(|&root| Ranking::of(&graph, root)).collect();
        check_reach(NAME, fabric, &graph, &rankings[0], demand)?;
        function.set_root(graph.node(first));
        fill(fabric, &graph, &rankings, &mut function);
        if rankings.len() > 1 {
            function.set_path_layers(layers(fabric, &function, rankings.len()));
        }
        Ok(function)
    }
}

/// Each path on the layer of its root, for every source whose switch has the way.
fn layers(fabric: &Fabric, function: &RoutingFunction, count: usize) -> PathLayers {
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let ends = || function.destinations().iter().enumerate().filter(|&(_, &port)| !is_switch(port));
    let ports: Vec<PortId> = ends().map(|(_, &port)| port).collect();
    let mut layers = PathLayers::by_switch(fabric, &ports, function.paths());
    let switches = fabric.nodes().filter(|(_, node)| node.is_switch()).enumerate();
    // Groups count every switch, absent ones included.
    for (group, (switch, _)) in switches.filter(|(_, (_, node))| node.present) {
        for (at, (destination, _)) in ends().enumerate() {
            let known = |&path: &usize| function.output(switch, destination, path).is_some();
            for path in (0..function.paths()).filter(known) {
                layers.open(group, at, path, turn(at, path, count) as u8);
            }
        }
    }
    layers
}
