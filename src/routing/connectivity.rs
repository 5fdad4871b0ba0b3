//! The ports that are connected by links: through switches only, since adapters and routers forward nothing within the
//! subnet.

use super::{Demand, RouteError};
use crate::fabric::{Fabric, PortId};
use petgraph::unionfind::UnionFind;
use std::collections::BTreeMap;

/// The most unreachable pairs that an error names.
const EXAMPLES: usize = 3;

/// The connected components of a fabric, by port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connectivity {
    part: Vec<u32>,
}

impl Connectivity {
    /// The components of a fabric. A port without a cable is a component of its own, unless it belongs to a switch with
    /// cables.
    pub fn of(fabric: &Fabric) -> Connectivity {
        let mut parts = UnionFind::<u32>::new(fabric.port_count());
        for (id, port) in fabric.ports() {
            let node = fabric.node(port.node);
            if let Some(peer) = port.peer {
                parts.union(id.0, peer.0);
            }
            if node.is_switch() && node.present {
                parts.union(id.0, node.first_port.0);
            }
        }
        Connectivity { part: parts.into_labeling() }
    }

    /// Returns whether links connect two ports.
    pub fn joins(&self, a: PortId, b: PortId) -> bool {
        self.part[a.index()] == self.part[b.index()]
    }

    /// Checks that all ports of a demand are connected.
    pub(super) fn check(&self, engine: &'static str, fabric: &Fabric, demand: &Demand) -> Result<(), RouteError> {
        let mut parts: BTreeMap<u32, Vec<PortId>> = BTreeMap::new();
        for &port in &demand.destinations {
            parts.entry(self.part[port.index()]).or_default().push(port);
        }
        let total = demand.destinations.len();
        let pairs = total * total - parts.values().map(|part| part.len() * part.len()).sum::<usize>();
        if pairs == 0 {
            return Ok(());
        }
        let mut parts: Vec<Vec<PortId>> = parts.into_values().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        let cut_off = parts[1..].iter().flatten().take(EXAMPLES);
        let examples: Vec<_> = cut_off
            .map(|&port| format!("{} → {}", fabric.describe_port(parts[0][0]), fabric.describe_port(port)))
            .collect();
        Err(RouteError::Unreachable { engine, pairs, examples: examples.join(", ") })
    }
}

/// The end ports, cabled before a change, that are disconnected from `sm` after it: their nodes left, their only switch
/// did, or the fabric was split. A routing function of the fabric after the change omits them.
pub fn stranded(before: &Fabric, after: &Fabric, sm: PortId) -> Vec<PortId> {
    let links = Connectivity::of(after);
    before.end_ports().filter(|&port| !links.joins(port, sm)).collect()
}
