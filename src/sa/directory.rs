//! A snapshot of the subnet from which subnet administration answers, indexed by LID and GUID.
//!
//! On entry ([`DirectoryFacts`]): the facts that the subnet manager read and wrote, by the indices of one fabric. On
//! return of [`Directory::new`]: every end port and every port 0 of a switch has a LID, every linked port its PortInfo,
//! every switch its SwitchInfo, and the SM's port is among them. A directory is immutable: share it by `Arc`, and
//! replace it when the subnet changes. A lookup by GUID costs a binary search, one by LID a single step.

use super::partitions::SharedPartitions;
use super::path_rate::{PathCapacity, PathRate};
use super::remote::{LeadingRouters, Remote};
use super::service_levels::ServiceLevels;
use crate::fabric::{Fabric, NodeKind, PortId};
use crate::ids::{Guid, Half, Lid, PKey, PortNum, Sl};
use crate::tables::SubnetTables;
use crate::wire::{Gid, Mtu, NodeInfo, PortInfo, SmInfo, SwitchInfo, VlArbitrationBlock, VlArbitrationTable};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The input of a directory. Vectors by `NodeId` or [`PortId`] have one entry for each node or port of the fabric.
#[derive(Clone, Debug)]
pub struct DirectoryFacts {
    /// The fabric, LIDs assigned.
    pub fabric: Arc<Fabric>,
    /// The tables in force. Before [`Sa::half_moved`](super::Sa::half_moved), they must also hold the routes of the
    /// half that answers move to: a path without a route is not answered.
    pub tables: Arc<SubnetTables>,
    /// The SM's port.
    pub sm: PortId,
    /// All subnet managers, this one included, with their SMInfo.
    pub managers: Vec<(PortId, SmInfo)>,
    /// By `NodeId`: NodeInfo as one port of the node answered it; records carry each port's own GUID and number.
    pub nodes: Vec<Option<NodeInfo>>,
    /// SwitchInfo, by `NodeId`.
    pub switches: Vec<Option<SwitchInfo>>,
    /// PortInfo, by [`PortId`].
    pub ports: Vec<Option<PortInfo>>,
    /// P_Keys in table order, by [`PortId`], unused entries as 0; empty if unknown, which counts as the default
    /// partition, full membership.
    pub p_keys: Vec<Vec<u16>>,
    /// The blocks of VL arbitration tables that are known.
    pub vl_arbitration: BTreeMap<(PortId, VlArbitrationBlock), VlArbitrationTable>,
    /// The upper half of the subnet's GIDs.
    pub subnet_prefix: u64,
    /// Packet lifetime: within 4.096 µs × 2^n a packet has arrived or been discarded.
    pub packet_life_time: u8,
    /// The half whose LIDs and service levels answers name.
    pub half: Half,
    /// Chooses the service level of each path.
    pub service_levels: Arc<dyn ServiceLevels>,
    /// The rules for destinations in other subnets.
    pub remote: Arc<Remote>,
    /// What multicast groups have; none where there are none.
    pub multicast: Option<MulticastFacts>,
}

/// What the multicast groups of a subnet have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MulticastFacts {
    /// The service level of their packets.
    pub sl: Sl,
    /// How many multicast LIDs every switch that carries them has entries for, counted from the first.
    pub mlids: u16,
    /// MTU and rate of the predefined groups.
    pub broadcast: PathCapacity,
}

impl MulticastFacts {
    /// MTU and rate that predefined groups have under every manager, unless it is configured otherwise.
    pub const BROADCAST: PathCapacity = PathCapacity { mtu: Mtu::B2048, rate: PathRate::SDR_4X };
}

/// Why the facts do not make a directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DirectoryError {
    /// A vector by node or port does not have the length of the fabric.
    #[error(
        "making the SA's directory: {what} has {found} entries, the fabric needs {wanted}: take both from one sweep"
    )]
    Length {
        /// The vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The fabric's.
        wanted: usize,
    },
    /// A port that needs a LID has none.
    #[error("making the SA's directory: {0} has no LID: assign LIDs first")]
    NoLid(String),
    /// An attribute of a device was not read.
    #[error(
        "making the SA's directory: the {attribute} of {of} is missing: read it in the sweep, or take the device out"
    )]
    Missing {
        /// The attribute.
        attribute: &'static str,
        /// The device or port.
        of: String,
    },
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct Directory {
    facts: DirectoryFacts,
    /// Ports that own LIDs, sorted by GUID.
    by_guid: Vec<(Guid, PortId)>,
    partitions: SharedPartitions,
}

impl Directory {
    /// Indexes the facts.
    ///
    /// # Errors
    /// Something that the contract of this module requires is missing.
    pub fn new(facts: DirectoryFacts) -> Result<Directory, DirectoryError> {
        check_lengths(&facts)?;
        let fabric = &facts.fabric;
        let missing = |attribute, of| DirectoryError::Missing { attribute, of };
        for port in fabric.lid_ports() {
            if fabric.port(port).lid.is_none() {
                return Err(DirectoryError::NoLid(fabric.describe_port(port)));
            }
        }
        for (port, _) in fabric.ports().filter(|(port, _)| is_known(fabric, *port)) {
            if facts.ports[port.index()].is_none() {
                return Err(missing("PortInfo", fabric.describe_port(port)));
            }
        }
        for (node, known) in fabric.nodes().filter(|(_, node)| node.present) {
            if facts.nodes[node.index()].is_none() {
                return Err(missing("NodeInfo", fabric.describe_node(node)));
            }
            if known.is_switch() && facts.switches[node.index()].is_none() {
                return Err(missing("SwitchInfo", fabric.describe_node(node)));
            }
        }
        if !fabric.lid_ports().any(|port| port == facts.sm) {
            return Err(DirectoryError::NoLid(fabric.describe_port(facts.sm)));
        }
        let mut by_guid: Vec<(Guid, PortId)> = fabric.lid_ports().map(|port| (fabric.port_guid(port), port)).collect();
        by_guid.sort_unstable();
        let partitions = SharedPartitions::new(&facts.p_keys);
        Ok(Directory { facts, by_guid, partitions })
    }

    /// The facts that the directory was built from.
    pub fn facts(&self) -> &DirectoryFacts {
        &self.facts
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.facts.fabric
    }

    /// The port with this GUID: a CA's, a router's, or port 0 of a switch.
    pub fn by_port_guid(&self, guid: Guid) -> Option<PortId> {
        self.by_guid.binary_search_by_key(&guid, |entry| entry.0).ok().map(|at| self.by_guid[at].1)
    }

    /// The GIDs of the ports that this directory has and another one has not.
    pub(super) fn ports_beyond<'a>(&'a self, other: &'a Directory) -> impl Iterator<Item = Gid> + 'a {
        let is_same = Arc::ptr_eq(&self.facts.fabric, &other.facts.fabric);
        let own = self.by_guid.iter().filter(move |(guid, _)| !is_same && other.by_port_guid(*guid).is_none());
        own.map(|&(_, port)| self.gid(port))
    }

    /// The port with this GID, if its prefix is the subnet's own or the link-local one.
    pub fn by_gid(&self, gid: Gid) -> Option<PortId> {
        let own = [self.facts.subnet_prefix, Gid::DEFAULT_PREFIX].contains(&gid.prefix);
        own.then(|| self.by_port_guid(gid.guid)).flatten()
    }

    /// Returns whether a unicast GID belongs to another subnet: its prefix is neither this subnet's nor link-local.
    pub fn is_elsewhere(&self, gid: Gid) -> bool {
        gid.leaves_its_subnet() && !gid.is_multicast() && gid.prefix != self.facts.subnet_prefix
    }

    /// The ports of routers, in index order.
    pub fn router_ports(&self) -> impl Iterator<Item = PortId> + '_ {
        self.fabric().end_ports().filter(|&port| self.is_router(port))
    }

    /// Router ports that rules for other subnets name by GUID and that this subnet does not have, each once. Their
    /// rules lead nowhere.
    pub fn absent_routers(&self) -> Vec<Guid> {
        let is_here = |&guid: &Guid| self.by_port_guid(guid).is_some_and(|port| self.is_router(port));
        let mut absent = Vec::new();
        for rule in self.facts.remote.rules() {
            let LeadingRouters::Ports(guids) = &rule.routers else { continue };
            for &guid in guids.iter().filter(|guid| !is_here(guid)) {
                if !absent.contains(&guid) {
                    absent.push(guid);
                }
            }
        }
        absent
    }

    /// Returns whether a port belongs to a router.
    pub fn is_router(&self, port: PortId) -> bool {
        let fabric = self.fabric();
        fabric.node(fabric.port(port).node).kind == NodeKind::Router
    }

    /// The GUID of the port that owns a LID, as the sender of a request; zero for a LID without an owner.
    pub(super) fn owner(&self, lid: Lid) -> Guid {
        self.fabric().lid_owner(lid).map_or(Guid(0), |port| self.guid(port))
    }

    /// The GUID of a port that owns LIDs.
    pub fn guid(&self, port: PortId) -> Guid {
        self.fabric().port_guid(port)
    }

    /// The GID of a port that owns LIDs.
    pub fn gid(&self, port: PortId) -> Gid {
        Gid { prefix: self.facts.subnet_prefix, guid: self.guid(port) }
    }

    /// The base LID of a port; for a switch port, that of port 0.
    pub fn base_lid(&self, port: PortId) -> Option<Lid> {
        let fabric = self.fabric();
        let node = fabric.port(port).node;
        let owner = if fabric.node(node).is_switch() { fabric.port_at(node, PortNum::ZERO)? } else { port };
        fabric.port(owner).lid
    }

    /// PortInfo as the port reported it.
    pub fn port_info(&self, port: PortId) -> Option<&PortInfo> {
        self.facts.ports[port.index()].as_ref()
    }

    /// The key of packets from one port that owns LIDs to another; none if they share no partition, or not the one that
    /// `asked` names. A key that was asked for is answered as it was asked, with or without its bit of full members.
    pub(super) fn p_key(&self, from: PortId, to: PortId, asked: Option<PKey>) -> Option<PKey> {
        let (from, to) = (from.index(), to.index());
        match asked {
            Some(key) => self.partitions.share(from, to, key).then_some(key),
            None => self.partitions.shared(from, to),
        }
    }

    /// Whether a port that owns LIDs is a full or limited member of the partition that a key names.
    pub(super) fn is_in_partition(&self, port: PortId, key: PKey) -> bool {
        self.partitions.holds(port.index(), key)
    }

    /// Whether two ports that own LIDs share any partition.
    pub(super) fn share_a_partition(&self, one: PortId, other: PortId) -> bool {
        one == other || self.partitions.shared(one.index(), other.index()).is_some()
    }

    /// The partitions of which some port is a member, each by the key of full members.
    pub(super) fn all_partitions(&self) -> BTreeSet<PKey> {
        self.partitions.all()
    }

    /// The LIDs by which paths reach a port while `half` is active: those of the half, or the only LID if the port has
    /// no halves.
    pub fn lids(&self, port: PortId, half: Half) -> Vec<Lid> {
        let fabric = self.fabric();
        if fabric.half_lids(port, Half::Upper).next().is_some() {
            return fabric.half_lids(port, half).collect();
        }
        fabric.port(port).lid.into_iter().collect()
    }
}

/// Returns whether the PortInfo of a port must be known: it is linked, or port 0 of a switch.
fn is_known(fabric: &Fabric, port: PortId) -> bool {
    let found = fabric.port(port);
    let node = fabric.node(found.node);
    node.present && (found.peer.is_some() || node.is_switch() && found.num == PortNum::ZERO)
}

fn check_lengths(facts: &DirectoryFacts) -> Result<(), DirectoryError> {
    let (nodes, ports) = (facts.fabric.node_count(), facts.fabric.port_count());
    let lengths = [
        ("nodes", facts.nodes.len(), nodes),
        ("switches", facts.switches.len(), nodes),
        ("tables.lfts", facts.tables.lfts.len(), nodes),
        ("ports", facts.ports.len(), ports),
        ("p_keys", facts.p_keys.len(), ports),
    ];
    match lengths.into_iter().find(|(_, found, wanted)| found != wanted) {
        None => Ok(()),
        Some((what, found, wanted)) => Err(DirectoryError::Length { what, found, wanted }),
    }
}
