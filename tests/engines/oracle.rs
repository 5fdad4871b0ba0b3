//! What a routing function does, found by following it hop by hop: shares no code with engines and prover.

use petgraph::graph::DiGraph;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::PortNum;
use reconfig::routing::Demand;
use reconfig::tables::RoutingFunction;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, VecDeque};

/// What was found.
pub struct Found {
    /// By layer: whether its dependencies close a cycle.
    pub cyclic: Vec<bool>,
    /// Ways to end ports that are longer than the links ask for, as many as there are.
    pub detours: usize,
}

impl Found {
    pub fn is_free_of_deadlock(&self) -> bool {
        !self.cyclic.contains(&true)
    }
}

/// Follows every way that is open: each must arrive without passing a switch twice, turning back, or needing a layer
/// that the function does not tell of; and every demanded port must have a way to every other.
pub fn examine(fabric: &Fabric, demand: &Demand, function: &RoutingFunction) -> Found {
    let layers = usize::from(function.layers());
    let mut found = Found { cyclic: Vec::new(), detours: 0 };
    let mut walk = Walk::new(fabric, function);
    let mut hops_to_home: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    let sources = sources_by_switch(fabric, demand);
    for (destination, &port) in function.destinations().iter().enumerate() {
        let home = switch_of(fabric, port);
        let hops = hops_to_home.entry(home).or_insert_with(|| hops_to(fabric, home));
        let is_switch = fabric.node(fabric.port(port).node).is_switch();
        walk.begin(destination);
        for (&switch, ports) in &sources {
            let open = open_ways(function, ports, port);
            assert!(!open.is_empty(), "no way from {} to {}", fabric.describe_node(switch), fabric.describe_port(port));
            for (path, layer) in open {
                assert!(usize::from(layer) < layers, "layer {layer} of {layers}");
                let length = walk.follow(switch, path, layer);
                found.detours += usize::from(!is_switch && length > hops[switch.index()]);
            }
        }
    }
    found.cyclic = walk.dependencies.iter().map(|set| is_cyclic(fabric, set)).collect();
    found
}

/// Ways being followed. What was followed before towards the same destination, on the same path and layer, is not
/// again.
struct Walk<'a> {
    fabric: &'a Fabric,
    function: &'a RoutingFunction,
    destination: usize,
    /// By layer.
    dependencies: Vec<FxHashSet<(PortId, PortId)>>,
    /// By path and node: hops from there, once that is known, and the layers on which that was followed.
    known: Vec<(usize, u16)>,
}

impl<'a> Walk<'a> {
    fn new(fabric: &'a Fabric, function: &'a RoutingFunction) -> Walk<'a> {
        let dependencies = vec![FxHashSet::default(); function.layers().into()];
        Walk { fabric, function, destination: 0, dependencies, known: Vec::new() }
    }

    fn begin(&mut self, destination: usize) {
        self.destination = destination;
        self.known.clear();
        self.known.resize(self.fabric.node_count() * self.function.paths(), (0, 0));
    }

    /// The hops of a way between switches.
    fn follow(&mut self, start: NodeId, path: usize, layer: u8) -> usize {
        let slot = |node: NodeId| path * self.fabric.node_count() + node.index();
        let (mut at, mut last, mut passed) = (start, None, vec![start]);
        let beyond = loop {
            let Some(channel) = self.channel(at, path) else { break 0 };
            if let Some(last) = last {
                assert_ne!(self.fabric.neighbour(channel), passed.iter().rev().nth(1).copied(), "it turns back");
                self.dependencies[usize::from(layer)].insert((last, channel));
            }
            let (hops, layers) = self.known[slot(at)];
            if layers >> layer & 1 == 1 {
                break hops;
            }
            at = self.fabric.neighbour(channel).expect("routes lead over cables");
            assert!(self.fabric.node(at).present && !passed.contains(&at), "{at:?} is passed twice, or has left");
            passed.push(at);
            last = Some(channel);
        };
        for (behind, &node) in passed.iter().rev().enumerate() {
            let known = &mut self.known[slot(node)];
            *known = (beyond + behind, known.1 | 1 << layer);
        }
        beyond + passed.len() - 1
    }

    /// The channel from a switch to the next; none where the switch delivers, which must be to the right port.
    fn channel(&self, at: NodeId, path: usize) -> Option<PortId> {
        let target = self.function.destinations()[self.destination];
        let output = self.function.output(at, self.destination, path);
        let output = output.unwrap_or_else(|| panic!("no route at {at:?} to {target:?} by path {path}"));
        let port = self.fabric.port_at(at, output).expect("a port of the switch");
        let end = if output == PortNum::ZERO { port } else { self.fabric.peer(port).expect("routes lead over cables") };
        let delivers = output == PortNum::ZERO || !self.fabric.node(self.fabric.port(end).node).is_switch();
        assert!(!delivers || end == target, "delivered to {end:?}, not {target:?}");
        (!delivers).then_some(port)
    }
}

/// Demanded ports by the switch that they send through.
fn sources_by_switch(fabric: &Fabric, demand: &Demand) -> BTreeMap<NodeId, Vec<PortId>> {
    let mut sources: BTreeMap<NodeId, Vec<PortId>> = BTreeMap::new();
    demand.destinations.iter().for_each(|&port| sources.entry(switch_of(fabric, port)).or_default().push(port));
    sources
}

fn switch_of(fabric: &Fabric, port: PortId) -> NodeId {
    let node = fabric.port(port).node;
    if fabric.node(node).is_switch() { node } else { fabric.neighbour(port).expect("demanded ports are cabled") }
}

/// The paths that are open, with their layers: the same for all these ports.
fn open_ways(function: &RoutingFunction, ports: &[PortId], destination: PortId) -> Vec<(usize, u8)> {
    let Some(layers) = function.path_layers() else { return (0..function.paths()).map(|path| (path, 0)).collect() };
    let open: Vec<(usize, u8)> = layers.ways(ports[0], destination).collect();
    assert!(
        ports.iter().all(|&port| layers.ways(port, destination).eq(open.iter().copied())),
        "hosts of a switch differ"
    );
    open
}

/// By node.
fn hops_to(fabric: &Fabric, home: NodeId) -> Vec<usize> {
    let mut hops = vec![usize::MAX; fabric.node_count()];
    hops[home.index()] = 0;
    let mut queue = VecDeque::from([home]);
    while let Some(node) = queue.pop_front() {
        for next in fabric.ports_of(node).filter_map(|port| fabric.neighbour(port)) {
            if fabric.node(next).is_switch() && hops[next.index()] == usize::MAX {
                hops[next.index()] = hops[node.index()] + 1;
                queue.push_back(next);
            }
        }
    }
    hops
}

fn is_cyclic(fabric: &Fabric, dependencies: &FxHashSet<(PortId, PortId)>) -> bool {
    let mut graph = DiGraph::<(), (), u32>::new();
    (0..fabric.port_count()).for_each(|_| _ = graph.add_node(()));
    graph.extend_with_edges(dependencies.iter().map(|&(before, after)| (before.0, after.0)));
    petgraph::algo::toposort(&graph, None).is_err()
}
