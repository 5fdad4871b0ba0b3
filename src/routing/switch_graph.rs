//! The switches of a fabric as a graph: parallel links are merged, cables from a switch to itself omitted.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, PortNum};
use std::collections::BTreeMap;

/// No row: the node is not a switch, or has left.
const NONE: u32 = u32::MAX;

/// A neighbouring switch and the ports that lead to it, in ascending order.
pub(super) struct Neighbour {
    pub row: usize,
    pub ports: Vec<PortNum>,
}

/// A demanded port, and the switch that delivers to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub port: PortId,
    /// The port's rank in the demand.
    pub destination: usize,
    /// The row that delivers to it.
    pub row: usize,
    /// The output port of that row; 0 for the switch itself.
    pub last: PortNum,
}

impl Target {
    /// Returns whether it is a switch's own port.
    pub fn is_switch(&self) -> bool {
        self.last == PortNum::ZERO
    }
}

/// Present switches, densely numbered as *rows* in index order.
pub(super) struct SwitchGraph {
    nodes: Vec<NodeId>,
    guids: Vec<Guid>,
    row: Vec<u32>,
    neighbours: Vec<Vec<Neighbour>>,
}

impl SwitchGraph {
    pub fn of(fabric: &Fabric) -> SwitchGraph {
        let nodes: Vec<NodeId> = fabric.switches().collect();
        let mut row = vec![NONE; fabric.node_count()];
        nodes.iter().zip(0..).for_each(|(node, rank)| row[node.index()] = rank);
        let guids = nodes.iter().map(|&node| fabric.node(node).guid).collect();
        let neighbours = nodes.iter().map(|&node| neighbours_of(fabric, &row, node)).collect();
        SwitchGraph { nodes, guids, row, neighbours }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    pub fn node(&self, row: usize) -> NodeId {
        self.nodes[row]
    }

    pub fn guid(&self, row: usize) -> Guid {
        self.guids[row]
    }

    #[inline]
    pub fn row_of(&self, node: NodeId) -> Option<usize> {
        Some(self.row[node.index()]).filter(|&row| row != NONE).map(|row| row as usize)
    }

    #[inline]
    pub fn neighbours(&self, row: usize) -> &[Neighbour] {
        &self.neighbours[row]
    }

    /// Cables to other switches, parallel ones counted each.
    pub fn cables(&self, row: usize) -> usize {
        self.neighbours[row].iter().map(|neighbour| neighbour.ports.len()).sum()
    }

    /// The switch that delivers to a port, and by which of its ports: 0 if the port is the switch's own.
    pub fn delivery(&self, fabric: &Fabric, destination: PortId) -> Option<(usize, PortNum)> {
        let owner = fabric.port(destination).node;
        if let Some(row) = self.row_of(owner) {
            return Some((row, PortNum::ZERO));
        }
        let last = fabric.port(fabric.peer(destination)?);
        self.row_of(last.node).map(|row| (row, last.num))
    }

    /// The port of rank `destination` in a demand; `None` if no present switch delivers to it.
    pub fn target(&self, fabric: &Fabric, destination: usize, port: PortId) -> Option<Target> {
        self.delivery(fabric, port).map(|(row, last)| Target { port, destination, row, last })
    }

    /// Hops from `start` to every switch, `u32::MAX` if links do not lead.
    pub fn distances(&self, start: usize) -> Vec<u32> {
        let mut hops = vec![u32::MAX; self.len()];
        hops[start] = 0;
        let mut queue = vec![start];
        let mut next = 0;
        while let Some(&row) = queue.get(next) {
            next += 1;
            for neighbour in &self.neighbours[row] {
                if hops[neighbour.row] == u32::MAX {
                    hops[neighbour.row] = hops[row] + 1;
                    queue.push(neighbour.row);
                }
            }
        }
        hops
    }
}

fn neighbours_of(fabric: &Fabric, row: &[u32], node: NodeId) -> Vec<Neighbour> {
    let mut ports: BTreeMap<u32, Vec<PortNum>> = BTreeMap::new();
    for port in fabric.ports_of(node) {
        let Some(other) = fabric.neighbour(port) else { continue };
        if other != node && row[other.index()] != NONE {
            ports.entry(row[other.index()]).or_default().push(fabric.port(port).num);
        }
    }
    ports.into_iter().map(|(row, ports)| Neighbour { row: row as usize, ports }).collect()
}
