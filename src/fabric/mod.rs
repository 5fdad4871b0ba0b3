//! The fabric model: nodes, ports and links of one subnet, immutable and densely indexed once built.
//!
//! On entry ([`FabricBuilder`]) elements may be added in any order. On return from [`FabricBuilder::build`]: every node
//! has ports 0 to `num_ports`, and a port's [`PortId`] is its node's first port plus its number; links connect two
//! ports and are mutual; node GUIDs are distinct; no two LID ranges overlap. A node that left keeps its index
//! ([`Fabric::without_nodes`]), so fabrics before and after a change can be compared index by index. Deliberately
//! omitted: tables and routes (`tables`), formats without a topology, several subnets in one fabric ([`subnets`] holds
//! one for each). A directed **channel** is named by the [`PortId`] of the port that sends into it.

mod addition;
mod builder;
pub mod difference;
pub mod format;
pub mod generate;
mod ranked;
mod role;
pub mod subnets;
pub mod summary;

pub use crate::link::{LinkSpeed, LinkWidth};
pub use addition::AdditionError;
pub use builder::{BuildError, FabricBuilder, LinkEnd};
pub use ranked::RankedSwitches;
pub use role::NodeRole;

use crate::ids::{Guid, Half, Lid, Lmc, PortName, PortNum};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A node's dense index within its fabric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// A port's dense index within its fabric, port 0 of every node included; also names the channel into which the port
/// sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct PortId(pub u32);

impl NodeId {
    /// The index as a `usize`.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl PortId {
    /// The index as a `usize`.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl fmt::Debug for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

/// The kind of a node (NodeInfo:NodeType).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// Forwards packets by its forwarding table.
    Switch,
    /// A channel adapter, host or target.
    Ca,
    /// A router between subnets; to this subnet its ports are end ports.
    Router,
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NodeKind::Switch => "switch",
            NodeKind::Ca => "CA",
            NodeKind::Router => "router",
        })
    }
}

/// A switch's port 0 (SwitchInfo: EnhancedPort0).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PortZero {
    /// Management only; LMC 0.
    #[default]
    Base,
    /// A full end port.
    Enhanced,
}

/// One node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// NodeInfo:NodeGUID.
    pub guid: Guid,
    /// NodeInfo:SystemImageGUID, if known.
    pub system_guid: Option<Guid>,
    /// The number of the chassis that a capture puts it in (`Chassis 1` of `ibnetdiscover -g`), if it says.
    pub chassis: Option<u8>,
    /// NodeInfo:VendorID, 24 bits.
    pub vendor_id: u32,
    /// NodeInfo:DeviceID, 16 bits.
    pub device_id: u32,
    /// NodeDescription, as captured, trailing blanks included.
    pub description: String,
    /// External ports, 1 to 254.
    pub num_ports: u8,
    /// A switch's port 0.
    pub port_zero: PortZero,
    /// SwitchInfo:LinearFDBCap: LIDs the forwarding table holds, at most 49152.
    pub lft_capacity: u16,
    /// PortInfo:CapabilityMask2 bit for the optimised SLtoVLMappingTable forms (one SMP for all inputs and outputs).
    pub optimised_sl_to_vl: bool,
    /// False once the node has left: its index stays, its links are gone.
    pub present: bool,
    /// Dense index of its port 0.
    pub first_port: PortId,
}

impl Node {
    /// Whether it forwards packets.
    #[inline]
    pub fn is_switch(&self) -> bool {
        self.kind == NodeKind::Switch
    }
}

/// One port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Port {
    /// The node it belongs to.
    pub node: NodeId,
    /// Its number there.
    pub num: PortNum,
    /// PortGUID, if it has one: CA and router ports, switch port 0.
    pub guid: Option<Guid>,
    /// Base LID, if assigned: CA and router ports, switch port 0.
    pub lid: Option<Lid>,
    /// LMC of the LID.
    pub lmc: Lmc,
    /// The port at the other end of the cable.
    pub peer: Option<PortId>,
    /// Active width.
    pub width: LinkWidth,
    /// Active speed.
    pub speed: LinkSpeed,
    /// Data VLs the port supports: 1, 2, 4, 8 or 15 (PortInfo:VLCap).
    pub data_vls: u8,
}

/// One subnet's topology. Build with [`FabricBuilder`]. A clone shares what it does not change: thousands of losses of
/// one fabric are as many fabrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fabric {
    nodes: Arc<Vec<Node>>,
    ports: Arc<Vec<Port>>,
    /// Node indices sorted by GUID.
    by_guid: Arc<Vec<(Guid, NodeId)>>,
    /// Owner of each unicast LID, `u32::MAX` for none; up to the highest LID.
    lid_owner: Arc<Vec<u32>>,
    /// The origin of the capture, if the format gives it: node and port GUID.
    origin: Option<(Guid, Guid)>,
    /// Found when the first name is asked for.
    shared: SharedDescriptions,
}

/// The descriptions that several nodes have. They follow from the nodes, so all are equal where the nodes are.
#[derive(Clone, Default, Debug)]
struct SharedDescriptions(OnceLock<FxHashSet<String>>);

impl PartialEq for SharedDescriptions {
    fn eq(&self, _: &SharedDescriptions) -> bool {
        true
    }
}

impl Eq for SharedDescriptions {}

impl SharedDescriptions {
    fn of(&self, nodes: &[Node]) -> &FxHashSet<String> {
        self.0.get_or_init(|| {
            let mut seen = FxHashSet::default();
            let again = nodes.iter().map(|node| node.description.trim()).filter(|&text| !seen.insert(text));
            again.map(str::to_string).collect()
        })
    }
}

impl Fabric {
    /// The number of nodes, departed ones included.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The number of ports, port 0 of every node included: the bound of every [`PortId`].
    #[inline]
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// The node at an index.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The port at an index.
    #[inline]
    pub fn port(&self, id: PortId) -> &Port {
        &self.ports[id.index()]
    }

    /// Every node in index order, departed ones included.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }

    /// Every port in index order.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = (PortId, &Port)> {
        self.ports.iter().enumerate().map(|(i, port)| (PortId(i as u32), port))
    }

    /// The switches that are present, in index order.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes().filter(|(_, node)| node.present && node.is_switch()).map(|(id, _)| id)
    }

    /// Ports of a node by dense index, port 0 first.
    pub fn port_range(&self, node: NodeId) -> Range<usize> {
        let first = self.node(node).first_port.index();
        first..first + usize::from(self.node(node).num_ports) + 1
    }

    /// The ports of a node, port 0 first.
    #[inline]
    pub fn ports_of(&self, node: NodeId) -> impl DoubleEndedIterator<Item = PortId> + use<> {
        self.port_range(node).map(|i| PortId(i as u32))
    }

    /// The port of a node by number.
    #[inline]
    pub fn port_at(&self, node: NodeId, num: PortNum) -> Option<PortId> {
        let node = self.node(node);
        (num.0 <= node.num_ports).then(|| PortId(node.first_port.0 + u32::from(num.0)))
    }

    /// The port at the other end of the cable.
    #[inline]
    pub fn peer(&self, port: PortId) -> Option<PortId> {
        self.port(port).peer
    }

    /// The node at the other end of the cable.
    #[inline]
    pub fn neighbour(&self, port: PortId) -> Option<NodeId> {
        self.peer(port).map(|peer| self.port(peer).node)
    }

    /// Whether a manager at a port reaches other devices: by its cable, or at port 0 by any cable of the switch.
    pub fn reaches_others(&self, port: PortId) -> bool {
        let is_cabled = |port: PortId| self.peer(port).is_some();
        match self.port(port).num {
            PortNum::ZERO => self.ports_of(self.port(port).node).any(is_cabled),
            _ => is_cabled(port),
        }
    }

    /// A port's GUID as captures give it: port 0 has its switch's; none if the capture has none.
    pub fn recorded_port_guid(&self, port: PortId) -> Option<Guid> {
        let port = self.port(port);
        let node = self.node(port.node);
        port.guid.or_else(|| node.is_switch().then_some(node.guid))
    }

    /// A port's GUID; its node's if the capture gives none for the port, as for switches and for nodes with one port.
    pub fn port_guid(&self, port: PortId) -> Guid {
        let port = self.port(port);
        port.guid.unwrap_or(self.node(port.node).guid)
    }

    /// The name of a port, which it has in other fabrics, too.
    pub fn port_name(&self, port: PortId) -> PortName {
        let Port { node, num, .. } = *self.port(port);
        PortName { guid: self.node(node).guid, num }
    }

    /// The port with a name, present or not.
    pub fn port_named(&self, name: PortName) -> Option<PortId> {
        self.port_at(self.by_guid(name.guid)?, name.num)
    }

    /// The node with this GUID.
    pub fn by_guid(&self, guid: Guid) -> Option<NodeId> {
        self.by_guid.binary_search_by_key(&guid, |entry| entry.0).ok().map(|i| self.by_guid[i].1)
    }

    /// The port that owns a LID, all LIDs of its LMC included.
    pub fn lid_owner(&self, lid: Lid) -> Option<PortId> {
        self.lid_owner.get(lid.index()).copied().filter(|&p| p != u32::MAX).map(PortId)
    }

    /// The LIDs of one half of a port, in ascending order. With LMC m ≥ 1 the lower half is the first 2^(m−1) of its
    /// LIDs and the upper half the rest; an end port with LMC 0 has a lower half only; port 0 of a switch with LMC 0
    /// has no halves, hence none.
    pub fn half_lids(&self, port: PortId, half: Half) -> impl Iterator<Item = Lid> + use<> {
        let owner = self.port(port);
        let (size, first) = match (owner.lmc.lids() / 2, half) {
            (0, Half::Lower) if !self.node(owner.node).is_switch() => (1, 0),
            (0, _) => (0, 0),
            (size, Half::Lower) => (size, 0),
            (size, Half::Upper) => (size, size),
        };
        let base = owner.lid.into_iter();
        base.flat_map(move |lid| (lid.0 + first..lid.0 + first + size).map(Lid))
    }

    /// The halves of which every end port has LIDs: the lower alone where one has LMC 0.
    pub fn halves(&self) -> &'static [Half] {
        if self.has_both_halves() { &[Half::Lower, Half::Upper] } else { &[Half::Lower] }
    }

    /// Whether every end port has LIDs of both halves: none has LMC 0.
    pub fn has_both_halves(&self) -> bool {
        self.end_ports().all(|port| self.half_lids(port, Half::Upper).next().is_some())
    }

    /// The half of its owner's LIDs to which a LID belongs; none if it has no owner, or its owner has no halves.
    pub fn half_of(&self, lid: Lid) -> Option<Half> {
        let owner = self.lid_owner(lid)?;
        [Half::Lower, Half::Upper].into_iter().find(|&half| self.half_lids(owner, half).any(|own| own == lid))
    }

    /// The highest LID in use, all LIDs of each LMC included.
    pub fn max_lid(&self) -> Option<Lid> {
        self.lid_owner.iter().rposition(|&p| p != u32::MAX).map(|i| Lid(i as u16))
    }

    /// Every cabled port of a present CA or router: the sources and destinations of data.
    pub fn end_ports(&self) -> impl Iterator<Item = PortId> + '_ {
        self.ports().filter(|(_, port)| port.peer.is_some() && !self.node(port.node).is_switch()).map(|(id, _)| id)
    }

    /// Every port that owns or may own a LID: cabled end ports and port 0 of present switches, in index order.
    pub fn lid_ports(&self) -> impl Iterator<Item = PortId> + '_ {
        self.ports().filter_map(|(id, port)| {
            let node = self.node(port.node);
            let owns = if node.is_switch() { node.present && port.num == PortNum::ZERO } else { port.peer.is_some() };
            owns.then_some(id)
        })
    }

    /// Every link once, its lower-indexed port first; a cable from a switch to itself included.
    pub fn links(&self) -> impl Iterator<Item = (PortId, PortId)> + '_ {
        self.ports().filter_map(|(id, port)| port.peer.filter(|&peer| id <= peer).map(|peer| (id, peer)))
    }

    /// The origin of the capture: node and port GUID.
    pub fn origin(&self) -> Option<(Guid, Guid)> {
        self.origin
    }

    /// Rows: switches times ports that own LIDs, present or not.
    pub fn rows(&self) -> usize {
        self.switches().count() * self.lid_ports().count()
    }

    /// `node description [port]`, for people.
    pub fn describe_port(&self, port: PortId) -> String {
        let port = self.port(port);
        format!("{}[{}]", self.describe_node(port.node), port.num)
    }

    /// The description, with the GUID if the description is empty or not unique.
    pub fn describe_node(&self, id: NodeId) -> String {
        let node = self.node(id);
        let text = node.description.trim();
        match (text.is_empty(), self.shared.of(&self.nodes).contains(text)) {
            (true, _) => node.guid.to_string(),
            (false, true) => format!("{text} ({})", node.guid),
            (false, false) => text.to_string(),
        }
    }

    /// This fabric after `gone` left: the same indices, the nodes marked absent, their links removed.
    pub fn without_nodes(&self, gone: &[NodeId]) -> Fabric {
        let mut after = self.clone();
        for &id in gone {
            Arc::make_mut(&mut after.nodes)[id.index()].present = false;
            for port in self.ports_of(id) {
                after.unlink(port);
            }
        }
        after
    }

    /// This fabric without the cables at `ends` (either end names a cable), with the same indices.
    pub fn without_links(&self, ends: &[PortId]) -> Fabric {
        let mut after = self.clone();
        for &port in ends {
            after.unlink(port);
        }
        after
    }

    /// This fabric with cables plugged in between these ports, whatever cables they had, with the same indices. A cable
    /// has the rate of its first port.
    pub fn with_plugged(&self, cables: &[(PortId, PortId)]) -> Fabric {
        let mut after = self.clone();
        for &(a, b) in cables {
            after.unlink(a);
            after.unlink(b);
            let (width, speed) = (after.port(a).width, after.port(a).speed);
            for (port, peer) in [(a, b), (b, a)] {
                let own = &mut Arc::make_mut(&mut after.ports)[port.index()];
                (own.peer, own.width, own.speed) = (Some(peer), width, speed);
            }
        }
        after
    }

    /// Fabrics side by side, indices numbered consecutively. LIDs and GUIDs may repeat, so neither can be looked up in
    /// it.
    fn side_by_side<'a>(fabrics: impl Iterator<Item = &'a Fabric>) -> Fabric {
        let (mut nodes, mut ports) = (Vec::new(), Vec::new());
        for fabric in fabrics {
            let (first_node, first_port) = (nodes.len() as u32, ports.len() as u32);
            nodes.extend(fabric.nodes.iter().cloned().map(|mut node| {
                node.first_port.0 += first_port;
                node
            }));
            ports.extend(fabric.ports.iter().cloned().map(|mut port| {
                port.node.0 += first_node;
                port.peer = port.peer.map(|peer| PortId(peer.0 + first_port));
                port
            }));
        }
        Fabric {
            nodes: Arc::new(nodes),
            ports: Arc::new(ports),
            by_guid: Arc::default(),
            lid_owner: Arc::default(),
            origin: None,
            shared: SharedDescriptions::default(),
        }
    }

    fn unlink(&mut self, port: PortId) {
        if let Some(peer) = self.ports[port.index()].peer {
            let ports = Arc::make_mut(&mut self.ports);
            ports[port.index()].peer = None;
            ports[peer.index()].peer = None;
        }
    }

    /// This fabric with at most `data_vls` lanes at every port.
    pub fn with_data_vls(&self, data_vls: u8) -> Fabric {
        let mut fabric = self.clone();
        Arc::make_mut(&mut fabric.ports).iter_mut().for_each(|port| port.data_vls = port.data_vls.min(data_vls));
        fabric
    }

    /// This fabric with `data_vls` lanes at every port, whatever they had.
    #[must_use]
    pub fn with_lanes(&self, data_vls: u8) -> Fabric {
        let mut fabric = self.clone();
        Arc::make_mut(&mut fabric.ports).iter_mut().for_each(|port| port.data_vls = data_vls);
        fabric
    }

    /// This fabric with at most `data_vls` lanes at every port, and with every switch's support of the optimised
    /// SL-to-VL form set.
    pub fn with_capabilities(&self, data_vls: u8, optimised_sl_to_vl: bool) -> Fabric {
        let mut fabric = self.with_data_vls(data_vls);
        let switches = Arc::make_mut(&mut fabric.nodes).iter_mut().filter(|node| node.is_switch());
        switches.for_each(|node| node.optimised_sl_to_vl = optimised_sl_to_vl);
        fabric
    }

    /// This fabric with other descriptions, where `describe` has one. A description that makes its node an aggregation
    /// node is kept.
    pub(in crate::fabric) fn with_descriptions<'a>(&self, describe: impl Fn(&Node) -> Option<&'a str>) -> Fabric {
        let mut fabric = Fabric { shared: SharedDescriptions::default(), ..self.clone() };
        let nodes = Arc::make_mut(&mut fabric.nodes).iter_mut();
        for node in nodes.filter(|node| !role::is_described_as_aggregation(node)) {
            if let Some(text) = describe(node) {
                node.description = text.to_string();
            }
        }
        fabric
    }

    /// This fabric with the LIDs of `assignment` in place of its own, in index order of the ports.
    ///
    /// # Errors
    /// A LID is not unicast, or the ranges of two ports overlap.
    pub fn with_lids(&self, assignment: impl IntoIterator<Item = (PortId, Lid, Lmc)>) -> Result<Fabric, BuildError> {
        let mut fabric = self.clone();
        let ports = Arc::make_mut(&mut fabric.ports);
        for port in &mut *ports {
            (port.lid, port.lmc) = (None, Lmc::default());
        }
        for (id, lid, lmc) in assignment {
            let port = &mut ports[id.index()];
            (port.lid, port.lmc) = (Some(lid), lmc);
        }
        fabric.lid_owner = Arc::new(builder::index_lids(&fabric.nodes, &fabric.ports)?);
        Ok(fabric)
    }
}

/// The two parts of a port's name: `NODE:PORT`, or `NODE[PORT]` as [`Fabric::describe_port`] writes it.
pub fn split_port(name: &str) -> Option<(&str, &str)> {
    let described = name.trim_end().strip_suffix(']').and_then(|name| name.rsplit_once('['));
    described.or_else(|| name.rsplit_once(':')).map(|(node, port)| (node.trim(), port.trim()))
}

/// The GUID that [`Fabric::describe_node`] puts behind a description that several nodes have.
pub fn guid_behind(name: &str) -> Option<Guid> {
    name.trim_end().strip_suffix(')')?.rsplit_once('(')?.1.parse().ok()
}
