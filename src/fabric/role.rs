//! What a node is there for: who sends data, and what only looks like a host.
//!
//! Aggregation nodes and gateways inside switches are channel adapters to discovery. They own LIDs and are routed to,
//! but they are no hosts: they offer no traffic, do not run the manager, and come and go with their switch. The rule
//! takes no vendor's numbers: such an adapter shares the system image GUID with the switch that it is cabled to, which
//! no adapter in a host does; where a capture has no such GUIDs, the description of aggregation nodes decides.

use super::{Fabric, Node, NodeId, NodeKind, PortId};

/// What a node is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeRole {
    /// It forwards packets.
    Switch,
    /// It sends and receives data: a host, or a target of storage.
    Host,
    /// A channel adapter that is a part of a switch: an aggregation node or a gateway.
    InSwitch,
    /// It leads to other subnets.
    Router,
}

/// Whether a node bears the description of aggregation nodes.
pub(super) fn is_described_as_aggregation(node: &Node) -> bool {
    node.kind == NodeKind::Ca && node.description.contains("Aggregation Node")
}

impl Fabric {
    /// What a node is there for, by its kind, its description and its cables.
    pub fn role(&self, id: NodeId) -> NodeRole {
        let node = self.node(id);
        match node.kind {
            NodeKind::Switch => NodeRole::Switch,
            NodeKind::Router => NodeRole::Router,
            NodeKind::Ca if is_described_as_aggregation(node) => NodeRole::InSwitch,
            NodeKind::Ca if self.is_of_its_switch(id) => NodeRole::InSwitch,
            NodeKind::Ca => NodeRole::Host,
        }
    }

    /// Whether a cabled port belongs to a host: it is a source and a destination of data.
    pub fn is_host_port(&self, port: PortId) -> bool {
        self.role(self.port(port).node) == NodeRole::Host
    }

    /// The end ports as traffic numbers them: those of hosts, then the others; each in index order.
    pub fn end_ports_by_rank(&self) -> impl Iterator<Item = PortId> + '_ {
        let hosts = self.end_ports().filter(|&port| self.is_host_port(port));
        hosts.chain(self.end_ports().filter(|&port| !self.is_host_port(port)))
    }

    /// Whether a node and the switches that it is cabled to are one system.
    fn is_of_its_switch(&self, id: NodeId) -> bool {
        let Some(system) = self.node(id).system_guid else { return false };
        let mut neighbours = self.ports_of(id).filter_map(|port| self.neighbour(port)).peekable();
        let same = |node: NodeId| self.node(node).is_switch() && self.node(node).system_guid == Some(system);
        neighbours.peek().is_some() && neighbours.all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{FabricBuilder, LinkSpeed, LinkWidth};
    use crate::ids::{Guid, PortNum};

    #[test]
    fn what_is_a_part_of_a_switch_is_no_host() {
        let mut builder = FabricBuilder::new();
        let add = |builder: &mut FabricBuilder, kind, guid: u64, system: Option<u64>, text: &str| {
            let id = builder.node(kind, Guid(guid), 8, text);
            builder.node_mut(id).system_guid = system.map(Guid);
            id
        };
        let switch = add(&mut builder, NodeKind::Switch, 1, Some(1), "leaf");
        let nodes = [
            (add(&mut builder, NodeKind::Ca, 2, Some(2), "host HCA-1"), NodeRole::Host),
            (add(&mut builder, NodeKind::Ca, 3, Some(1), "redacted"), NodeRole::InSwitch),
            (add(&mut builder, NodeKind::Ca, 4, None, "Mellanox Technologies Aggregation Node"), NodeRole::InSwitch),
            (add(&mut builder, NodeKind::Ca, 5, None, "host without a system"), NodeRole::Host),
            (add(&mut builder, NodeKind::Router, 6, Some(1), "way out"), NodeRole::Router),
        ];
        for (num, (node, _)) in (1..).zip(nodes) {
            let ends = [(switch, PortNum(num)), (node, PortNum(1))];
            builder.link(ends[0], ends[1], LinkWidth::X4, LinkSpeed::Hdr).expect("free ports");
        }
        let fabric = builder.build().expect("a fabric");
        nodes.iter().for_each(|&(node, role)| assert_eq!(fabric.role(node), role));
        let ranked: Vec<_> = fabric.end_ports_by_rank().map(|port| fabric.port(port).node).collect();
        assert_eq!(ranked, [0, 3, 1, 2, 4].map(|at: usize| nodes[at].0));
    }
}
