//! Builds a [`Fabric`] piece by piece, and checks it as a whole.

use super::{Fabric, LinkSpeed, LinkWidth, Node, NodeId, NodeKind, Port, PortId, PortZero, SharedDescriptions};
use crate::ids::{Guid, Lid, Lmc, PortName, PortNum};
use std::sync::Arc;

/// Why a fabric cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two nodes share a GUID.
    #[error("two nodes have GUID {0}")]
    DuplicateGuid(Guid),
    /// A port number beyond the node's ports, or port 0 instead of an external port.
    #[error("node {node} has ports 1 to {ports}: there is no port {num} to cable")]
    NoSuchPort {
        /// The node's GUID.
        node: Guid,
        /// Its external ports.
        ports: u8,
        /// The given number.
        num: PortNum,
    },
    /// A port has two cables.
    #[error("port {num} of node {node} is cabled twice")]
    CabledTwice {
        /// The node's GUID.
        node: Guid,
        /// The port.
        num: PortNum,
    },
    /// A port is cabled to itself.
    #[error("port {num} of node {node} is cabled to itself")]
    CabledToItself {
        /// The node's GUID.
        node: Guid,
        /// The port.
        num: PortNum,
    },
    /// A LID outside 1–49151, or a range that exceeds it.
    #[error("LID {lid} with LMC {lmc} at node {node} port {num} is outside the unicast range 1 to 49151")]
    LidRange {
        /// The node's GUID.
        node: Guid,
        /// The port.
        num: PortNum,
        /// The base LID.
        lid: Lid,
        /// Its LMC.
        lmc: Lmc,
    },
    /// Two ports own one LID.
    #[error("LID {lid} belongs to node {first} and to node {second}")]
    LidShared {
        /// The LID.
        lid: Lid,
        /// One owner.
        first: Guid,
        /// The other.
        second: Guid,
    },
}

/// One end of a cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkEnd {
    /// The node.
    pub node: NodeId,
    /// The number of its port.
    pub num: PortNum,
}

impl LinkEnd {
    /// The end of a cable at a port.
    pub fn of(fabric: &Fabric, port: PortId) -> LinkEnd {
        let Port { node, num, .. } = *fabric.port(port);
        LinkEnd { node, num }
    }
}

impl From<(NodeId, PortNum)> for LinkEnd {
    fn from((node, num): (NodeId, PortNum)) -> LinkEnd {
        LinkEnd { node, num }
    }
}

/// Collects nodes and cables; [`FabricBuilder::build`] checks them as a whole.
#[derive(Clone, Debug, Default)]
pub struct FabricBuilder {
    nodes: Vec<Node>,
    ports: Vec<Port>,
    origin: Option<(Guid, Guid)>,
}

impl FabricBuilder {
    /// An empty fabric.
    pub fn new() -> FabricBuilder {
        FabricBuilder::default()
    }

    /// Sets the port from which the capture was made.
    pub fn origin(&mut self, node: Guid, port: Guid) {
        self.origin = Some((node, port));
    }

    /// Adds a node with `num_ports` external ports, all down, and the defaults of current hardware (LFT of 49,152
    /// entries, eight data VLs, no optimised SL-to-VL).
    pub fn node(&mut self, kind: NodeKind, guid: Guid, num_ports: u8, description: impl Into<String>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let first_port = PortId(self.ports.len() as u32);
        self.nodes.push(Node {
            kind,
            guid,
            system_guid: None,
            chassis: None,
            vendor_id: 0,
            device_id: 0,
            description: description.into(),
            num_ports,
            port_zero: PortZero::Base,
            lft_capacity: 0xC000,
            optimised_sl_to_vl: false,
            present: true,
            first_port,
        });
        self.ports.extend((0..=num_ports).map(|num| Port {
            node: id,
            num: PortNum(num),
            guid: None,
            lid: None,
            lmc: Lmc::default(),
            peer: None,
            width: LinkWidth::default(),
            speed: LinkSpeed::default(),
            data_vls: 8,
        }));
        id
    }

    /// The node, for completion; leave `first_port`, `num_ports` and `kind` unchanged.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// Adds a copy of a node and of its ports, without cables; indices that the node has elsewhere do not count.
    pub fn copy(&mut self, fabric: &Fabric, id: NodeId) -> NodeId {
        let node = fabric.node(id);
        let copy = self.node(node.kind, node.guid, node.num_ports, node.description.clone());
        let first_port = self.nodes[copy.index()].first_port;
        self.nodes[copy.index()] = Node { first_port, ..node.clone() };
        for port in fabric.ports_of(id) {
            let port = fabric.port(port);
            if let Some(slot) = self.port_mut(copy, port.num) {
                *slot = Port { node: copy, peer: None, ..port.clone() };
            }
        }
        copy
    }

    /// The port with this number, for completion; leave `node`, `num` and `peer` unchanged.
    pub fn port_mut(&mut self, node: NodeId, num: PortNum) -> Option<&mut Port> {
        let node = &self.nodes[node.index()];
        let index = node.first_port.index() + num.index();
        if num.0 <= node.num_ports { self.ports.get_mut(index) } else { None }
    }

    /// The nodes added so far.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Cables two external ports. Adding the same cable again, from either end, changes only width and speed.
    ///
    /// # Errors
    /// A port does not exist, has another cable, or is cabled to itself.
    pub fn link(
        &mut self,
        a: impl Into<LinkEnd>,
        b: impl Into<LinkEnd>,
        width: LinkWidth,
        speed: LinkSpeed,
    ) -> Result<(), BuildError> {
        let a = self.external(a.into())?;
        let b = self.external(b.into())?;
        if a == b {
            let PortName { guid: node, num } = self.port_name(a);
            return Err(BuildError::CabledToItself { node, num });
        }
        for (end, other) in [(a, b), (b, a)] {
            if self.ports[end].peer.is_some_and(|peer| peer.index() != other) {
                let PortName { guid: node, num } = self.port_name(end);
                return Err(BuildError::CabledTwice { node, num });
            }
        }
        for (end, other) in [(a, b), (b, a)] {
            let port = &mut self.ports[end];
            (port.peer, port.width, port.speed) = (Some(PortId(other as u32)), width, speed);
        }
        Ok(())
    }

    fn external(&self, LinkEnd { node, num }: LinkEnd) -> Result<usize, BuildError> {
        let node = &self.nodes[node.index()];
        if num == PortNum::ZERO || num.0 > node.num_ports {
            return Err(BuildError::NoSuchPort { node: node.guid, ports: node.num_ports, num });
        }
        Ok(node.first_port.index() + num.index())
    }

    fn port_name(&self, port: usize) -> PortName {
        let port = &self.ports[port];
        PortName { guid: self.nodes[port.node.index()].guid, num: port.num }
    }

    /// The finished fabric.
    ///
    /// # Errors
    /// Two nodes with one GUID, or LIDs out of range or shared.
    pub fn build(self) -> Result<Fabric, BuildError> {
        let mut by_guid: Vec<_> =
            self.nodes.iter().enumerate().map(|(i, node)| (node.guid, NodeId(i as u32))).collect();
        by_guid.sort_unstable();
        if let Some(pair) = by_guid.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(BuildError::DuplicateGuid(pair[0].0));
        }
        let lid_owner = index_lids(&self.nodes, &self.ports)?;
        let (nodes, ports, origin, shared) = (self.nodes, self.ports, self.origin, SharedDescriptions::default());
        let (nodes, ports) = (Arc::new(nodes), Arc::new(ports));
        Ok(Fabric { nodes, ports, by_guid: Arc::new(by_guid), lid_owner: Arc::new(lid_owner), origin, shared })
    }
}

/// The owner of each LID, `u32::MAX` for none.
pub(super) fn index_lids(nodes: &[Node], ports: &[Port]) -> Result<Vec<u32>, BuildError> {
    let mut owner: Vec<u32> = Vec::new();
    for (i, port) in ports.iter().enumerate() {
        let Some(lid) = port.lid else { continue };
        let node = nodes[port.node.index()].guid;
        let end = lid.index() + usize::from(port.lmc.lids());
        if !lid.is_unicast() || end > Lid::MAX_UNICAST.index() + 1 {
            return Err(BuildError::LidRange { node, num: port.num, lid, lmc: port.lmc });
        }
        if owner.len() < end {
            owner.resize(end, u32::MAX);
        }
        for (offset, slot) in owner[lid.index()..end].iter_mut().enumerate() {
            if *slot != u32::MAX {
                let first = nodes[ports[*slot as usize].node.index()].guid;
                return Err(BuildError::LidShared { lid: Lid(lid.0 + offset as u16), first, second: node });
            }
            *slot = i as u32;
        }
    }
    Ok(owner)
}
