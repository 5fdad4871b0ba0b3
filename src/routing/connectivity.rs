//! The ports that are connected by links: through switches only, since adapters and routers forward nothing within the
//! subnet.

use super::{Demand, RouteError};
use crate::fabric::{Fabric, PortId};
use std::collections::BTreeMap;

/// No part yet.
const NONE: u32 = u32::MAX;

/// The most unreachable pairs that an error names.
const EXAMPLES: usize = 3;

/// The connected components of a fabric, by port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connectivity {
    /// The first port of its component.
    part: Vec<u32>,
}

impl Connectivity {
    /// The components of a fabric. A port without a cable is a component of its own, unless it belongs to a switch with
    /// cables.
    pub fn of(fabric: &Fabric) -> Connectivity {
        // Flooded part by part: by far the most ports are of switches, and each switch is looked at once.
        let mut part = vec![NONE; fabric.port_count()];
        let mut open = Vec::new();
        for (start, _) in fabric.ports() {
            let label = start.0;
            let reach = |id: PortId, part: &mut [u32], open: &mut Vec<PortId>| {
                if part[id.index()] == NONE {
                    part[id.index()] = label;
                    open.push(id);
                }
            };
            reach(start, &mut part, &mut open);
            while let Some(id) = open.pop() {
                let port = fabric.port(id);
                port.peer.into_iter().for_each(|peer| reach(peer, &mut part, &mut open));
                let node = fabric.node(port.node);
                // The first port of a switch that is reached reaches all others.
                if node.is_switch() && node.present {
                    match id == node.first_port {
                        true => fabric.ports_of(port.node).for_each(|own| reach(own, &mut part, &mut open)),
                        false => reach(node.first_port, &mut part, &mut open),
                    }
                }
            }
        }
        Connectivity { part }
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
