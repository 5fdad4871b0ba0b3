//! What a routing function does, found by following it hop by hop: shares no code with engines and prover.

use petgraph::graph::DiGraph;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::PortNum;
use reconfig::routing::Demand;
use reconfig::tables::RoutingFunction;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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

/// Follows every way that is open: each must arrive without passing a switch twice, turning back, or needing a layer that
/// the function does not tell of; and every demanded port must have a way to every other.
pub fn examine(fabric: &Fabric, demand: &Demand, function: &RoutingFunction) -> Found {
    let layers = usize::from(function.layers());
    let mut dependencies: Vec<BTreeSet<(u32, u32)>> = vec![BTreeSet::new(); layers];
    let sources = sources_by_switch(fabric, demand);
    let mut detours = 0;
    for (destination, &port) in function.destinations().iter().enumerate() {
        let home = switch_of(fabric, port);
        let hops = hops_to(fabric, home);
        let is_switch = fabric.node(fabric.port(port).node).is_switch();
        for (&switch, ports) in &sources {
            let open = open_ways(function, ports, port);
            assert!(!open.is_empty(), "no way from {} to {}", describe(fabric, switch), fabric.describe_port(port));
            for (path, layer) in open {
                let way = follow(fabric, function, switch, destination, path);
                assert!(usize::from(layer) < layers, "layer {layer} of {layers}");
                let pairs = way.windows(2).map(|pair| (pair[0].0, pair[1].0));
                dependencies[usize::from(layer)].extend(pairs);
                detours += usize::from(!is_switch && way.len() > hops[&switch]);
            }
        }
    }
    Found { cyclic: dependencies.iter().map(|set| is_cyclic(fabric, set)).collect(), detours }
}

fn describe(fabric: &Fabric, switch: NodeId) -> String {
    fabric.describe_node(switch)
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

/// The channels of a way between switches.
fn follow(fabric: &Fabric, function: &RoutingFunction, start: NodeId, destination: usize, path: usize) -> Vec<PortId> {
    let (mut at, mut channels, mut passed) = (start, Vec::new(), BTreeSet::from([start]));
    let target = function.destinations()[destination];
    loop {
        let output = function.output(at, destination, path);
        let output = output.unwrap_or_else(|| panic!("no route at {at:?} to {target:?} by path {path}"));
        let port = fabric.port_at(at, output).expect("a port of the switch");
        if output == PortNum::ZERO {
            assert_eq!(port, target, "delivered to the wrong switch");
            return channels;
        }
        let peer = fabric.peer(port).expect("routes lead over cables");
        at = fabric.port(peer).node;
        if !fabric.node(at).is_switch() {
            assert_eq!(peer, target, "delivered to the wrong port");
            return channels;
        }
        assert!(fabric.node(at).present && passed.insert(at), "{at:?} is passed twice, or has left");
        channels.push(port);
    }
}

fn hops_to(fabric: &Fabric, home: NodeId) -> BTreeMap<NodeId, usize> {
    let mut hops = BTreeMap::from([(home, 0)]);
    let mut queue = VecDeque::from([home]);
    while let Some(node) = queue.pop_front() {
        for next in fabric.ports_of(node).filter_map(|port| fabric.neighbour(port)) {
            if fabric.node(next).is_switch() && !hops.contains_key(&next) {
                hops.insert(next, hops[&node] + 1);
                queue.push_back(next);
            }
        }
    }
    hops
}

fn is_cyclic(fabric: &Fabric, dependencies: &BTreeSet<(u32, u32)>) -> bool {
    let mut graph = DiGraph::<(), (), u32>::new();
    (0..fabric.port_count()).for_each(|_| _ = graph.add_node(()));
    graph.extend_with_edges(dependencies.iter().copied());
    petgraph::algo::toposort(&graph, None).is_err()
}
