//! Hop counts between switches by topology, as in OpenSM's min-hop matrix.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// The number of cables on the shortest path from every present switch to every other.
pub(super) struct Hops {
    /// By node: its rank among the present switches.
    row: Vec<u32>,
    rows: usize,
    /// By row of the target, then row of the switch.
    cables: Vec<u32>,
}

impl Hops {
    pub fn of(fabric: &Fabric) -> Hops {
        let switches: Vec<NodeId> = fabric.switches().collect();
        let mut row = vec![NONE; fabric.node_count()];
        switches.iter().zip(0..).for_each(|(switch, rank)| row[switch.index()] = rank);
        let mut hops = Hops { row, rows: switches.len(), cables: vec![NONE; switches.len() * switches.len()] };
        switches.iter().for_each(|&target| hops.measure(fabric, target));
        hops
    }

    fn measure(&mut self, fabric: &Fabric, target: NodeId) {
        let start = self.row[target.index()] as usize * self.rows;
        self.cables[start + self.row[target.index()] as usize] = 0;
        let mut open = VecDeque::from([target]);
        while let Some(node) = open.pop_front() {
            let next = self.cables[start + self.row[node.index()] as usize] + 1;
            for neighbour in fabric.ports_of(node).filter_map(|port| fabric.neighbour(port)) {
                let row = self.row[neighbour.index()];
                if row != NONE && self.cables[start + row as usize] == NONE {
                    self.cables[start + row as usize] = next;
                    open.push_back(neighbour);
                }
            }
        }
    }

    fn between(&self, from: NodeId, target: NodeId) -> Option<u32> {
        let [from, target] = [from, target].map(|node| self.row[node.index()]);
        let known = from != NONE && target != NONE;
        let cables = || self.cables[target as usize * self.rows + from as usize];
        known.then(cables).filter(|&cables| cables != NONE)
    }

    /// Hops from a switch through one of its ports to the owner of a LID; none if the port does not lead there.
    pub fn through(&self, fabric: &Fabric, switch: NodeId, port: PortNum, owner: PortId) -> Option<u32> {
        let (target, last) = delivering(fabric, owner)?;
        if target == switch {
            return Some(last);
        }
        let next = fabric.neighbour(fabric.port_at(switch, port)?)?;
        Some(self.between(next, target)? + 1 + last)
    }

    /// The fewest hops from a switch to the owner of a LID.
    pub fn least(&self, fabric: &Fabric, switch: NodeId, owner: PortId) -> Option<u32> {
        let (target, last) = delivering(fabric, owner)?;
        Some(self.between(switch, target)? + last)
    }

    /// The lowest port through which the path has this many hops.
    pub fn port(&self, fabric: &Fabric, switch: NodeId, owner: PortId, hops: u32) -> Option<PortNum> {
        let ports = fabric.ports_of(switch).map(|port| fabric.port(port).num);
        ports.into_iter().find(|&port| self.through(fabric, switch, port, owner) == Some(hops))
    }
}

/// The switch that delivers to a port, and the hops from there: 0 to itself, 1 to an end port.
fn delivering(fabric: &Fabric, owner: PortId) -> Option<(NodeId, u32)> {
    let node = fabric.port(owner).node;
    if fabric.node(node).is_switch() {
        return Some((node, 0));
    }
    fabric.neighbour(owner).map(|switch| (switch, 1))
}
