//! What the tests know by themselves: levels, legality, shortest legal paths by exhaustion, dependencies.

use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, PortNum};
use reconfig::routing::{Demand, EngineKind, Parameters, PathEngine, engine_named};
use reconfig::tables::{Path, PathSet};
use std::collections::{BTreeMap, VecDeque};

/// The engines that give one path for each pair.
pub const BY_PATH: &[&str] = &[
    "up-down-random",
    "up-down-balanced",
    "shortest-widest",
    "path-selection",
    "path-selection-switches",
    "l-turn",
    "smart",
];

/// Those among them whose paths are the shortest that are legal.
pub const SHORTEST: &[&str] = &["up-down-random", "up-down-balanced", "shortest-widest", "l-turn"];

pub fn path_engine(name: &str, root: Option<NodeId>, seed: u64) -> Box<dyn PathEngine> {
    match engine_named(name, &Parameters { root, seed }).unwrap() {
        EngineKind::ByPath(engine) => engine,
        EngineKind::ByDestination(_) => panic!("{name} routes by destination"),
    }
}

pub fn paths_of(name: &str, fabric: &Fabric, seed: u64) -> PathSet {
    path_engine(name, None, seed).paths(fabric, &Demand::all(fabric, 1)).unwrap()
}

/// The key by which up*/down* orders switches: hops from the root, then the GUID.
pub fn levels(fabric: &Fabric, root: NodeId) -> BTreeMap<NodeId, (usize, Guid)> {
    let mut key = BTreeMap::from([(root, (0, fabric.node(root).guid))]);
    let mut queue = VecDeque::from([root]);
    while let Some(node) = queue.pop_front() {
        for next in switches_beside(fabric, node) {
            if !key.contains_key(&next) {
                key.insert(next, (key[&node].0 + 1, fabric.node(next).guid));
                queue.push_back(next);
            }
        }
    }
    key
}

/// The order of L-turn: a walk of the tree in which each switch is attached to its neighbour of lowest GUID one level
/// up.
pub fn walked(fabric: &Fabric, root: NodeId) -> BTreeMap<NodeId, (usize, Guid)> {
    let level = levels(fabric, root);
    let parent = |node: NodeId| {
        let nearer = switches_beside(fabric, node).into_iter().filter(|next| level[next].0 + 1 == level[&node].0);
        nearer.min_by_key(|&next| fabric.node(next).guid)
    };
    let mut children: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    level.keys().filter_map(|&node| Some((parent(node)?, node))).for_each(|(up, node)| {
        children.entry(up).or_default().push(node);
    });
    children.values_mut().for_each(|nodes| nodes.sort_by_key(|&node| fabric.node(node).guid));
    fn visit(node: NodeId, children: &BTreeMap<NodeId, Vec<NodeId>>, order: &mut Vec<NodeId>) {
        order.push(node);
        children.get(&node).into_iter().flatten().for_each(|&child| visit(child, children, order));
    }
    let mut order = Vec::new();
    visit(root, &children, &mut order);
    order.into_iter().enumerate().map(|(at, node)| (node, (at, fabric.node(node).guid))).collect()
}

/// The order of switches that an engine's rule goes by.
pub fn key_of(name: &str, fabric: &Fabric, root: NodeId) -> BTreeMap<NodeId, (usize, Guid)> {
    if name == "l-turn" { walked(fabric, root) } else { levels(fabric, root) }
}

pub fn switches_beside(fabric: &Fabric, node: NodeId) -> Vec<NodeId> {
    let beside = fabric.ports_of(node).filter_map(|port| fabric.neighbour(port));
    beside.filter(|&next| next != node && fabric.node(next).is_switch()).collect()
}

/// Whether a path over switches goes up first and down then, by a key that falls on the way up.
pub fn is_legal<K: Ord>(key: &BTreeMap<NodeId, K>, nodes: &[NodeId]) -> bool {
    let down: Vec<bool> = nodes.windows(2).map(|pair| key[&pair[1]] > key[&pair[0]]).collect();
    down.windows(2).all(|pair| pair[1] || !pair[0])
}

pub fn nodes_of(path: &Path<'_>) -> Vec<NodeId> {
    path.hops.iter().map(|hop| hop.switch).collect()
}

/// That a path leaves its source, follows cables, arrives, and passes no switch twice.
pub fn check_course(fabric: &Fabric, path: &Path<'_>) {
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let first =
        if is_switch(path.source) { fabric.port(path.source).node } else { fabric.neighbour(path.source).unwrap() };
    assert_eq!(path.hops[0].switch, first, "begins at its source");
    for pair in path.hops.windows(2) {
        let port = fabric.port_at(pair[0].switch, pair[0].output).unwrap();
        assert_eq!(fabric.neighbour(port), Some(pair[1].switch), "follows a cable");
    }
    let last = path.hops[path.hops.len() - 1];
    let end = fabric.port_at(last.switch, last.output).unwrap();
    let arrived = if last.output == PortNum::ZERO { Some(end) } else { fabric.peer(end) };
    assert_eq!(arrived, Some(path.destination), "arrives");
    let mut nodes = nodes_of(path);
    nodes.sort();
    nodes.dedup();
    assert_eq!(nodes.len(), path.hops.len(), "no switch twice");
}

/// Every loopless legal path between two switches as a list of output ports, the shortest first.
pub fn all_legal<K: Ord>(fabric: &Fabric, key: &BTreeMap<NodeId, K>, from: NodeId, to: NodeId) -> Vec<Vec<PortId>> {
    let mut found = Vec::new();
    extend(fabric, key, (from, to), &mut vec![from], &mut Vec::new(), &mut found);
    found.sort_by_key(Vec::len);
    found
}

fn extend<K: Ord>(
    fabric: &Fabric,
    key: &BTreeMap<NodeId, K>,
    (from, to): (NodeId, NodeId),
    nodes: &mut Vec<NodeId>,
    ports: &mut Vec<PortId>,
    found: &mut Vec<Vec<PortId>>,
) {
    if from == to {
        found.push(ports.clone());
        return;
    }
    for port in fabric.ports_of(from) {
        let Some(next) = fabric.neighbour(port).filter(|&next| fabric.node(next).is_switch()) else { continue };
        if nodes.contains(&next) {
            continue;
        }
        nodes.push(next);
        ports.push(port);
        if is_legal(key, nodes) {
            extend(fabric, key, (next, to), nodes, ports, found);
        }
        nodes.pop();
        ports.pop();
    }
}

/// Whether the channels that paths take, one after the other, close a circle in some layer.
pub fn has_cycle(fabric: &Fabric, paths: &PathSet) -> bool {
    let mut dependencies: BTreeMap<u8, DiGraphMap<u32, ()>> = BTreeMap::new();
    for path in paths.iter() {
        let graph = dependencies.entry(path.layer).or_default();
        for pair in path.hops.windows(2) {
            let [held, wanted] = [0, 1].map(|i| fabric.port_at(pair[i].switch, pair[i].output).unwrap().0);
            graph.add_edge(held, wanted, ());
        }
    }
    dependencies.values().any(is_cyclic_directed)
}
