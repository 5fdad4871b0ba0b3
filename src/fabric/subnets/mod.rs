//! Several subnets joined by routers.
//!
//! On entry: subnets, each a [`Fabric`] with its own indices, LIDs and prefix, captured from within. A capture ends at
//! its routers, of which it shows the ports in the subnet. On return of [`Subnets::new`] the routers are joined as
//! documented in `join`: by NodeGUID, by SystemImageGUID if that is unambiguous, and by what the caller knows. Names,
//! prefixes and the port GUIDs of end ports are distinct over all subnets, and no prefix is link-local. [`partitions`]
//! determines which of a subnet's ports may communicate. [`list`] reads and writes subnets as a list file with a
//! capture for each, [`dot`] draws them, [`summary`] counts them. Deliberately omitted: which subnet is reached through
//! which router (`routers`), subnets that share LIDs or indices.

pub mod dot;
mod join;
pub mod list;
pub mod partitions;
pub mod summary;

use super::{Fabric, NodeId, NodeKind, PortId};
use crate::ids::{GidPrefix, Guid, SubnetId};
use partitions::Partitions;
use std::collections::BTreeMap;

/// One subnet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subnet {
    /// Its name.
    pub name: String,
    /// The upper half of its ports' GIDs.
    pub prefix: GidPrefix,
    /// Its topology; ports of routers are end ports.
    pub fabric: Fabric,
}

/// A port of a subnet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubnetPort {
    /// The subnet.
    pub subnet: SubnetId,
    /// The port's index in that subnet's fabric.
    pub port: PortId,
}

/// A router: its cabled ports, each in one of the subnets that it joins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Router {
    /// Its NodeGUID; the lowest if several nodes were joined.
    pub guid: Guid,
    /// The description of that node, for people.
    pub name: String,
    /// Its cabled ports, in order of subnets, then ports.
    pub ports: Vec<SubnetPort>,
}

/// Subnets and the routers between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subnets {
    list: Vec<Subnet>,
    routers: Vec<Router>,
    /// By subnet.
    partitions: Vec<Option<Partitions>>,
}

/// Why subnets cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// No subnet, or more than there are ranks.
    #[error("{0} subnets were given: expected 1 to 65535")]
    Count(usize),
    /// Two subnets have the same prefix.
    #[error("subnets {first} and {second} both have prefix {prefix}: give each one of its own")]
    PrefixShared {
        /// The prefix.
        prefix: GidPrefix,
        /// One subnet.
        first: String,
        /// Another.
        second: String,
    },
    /// No router forwards the prefix.
    #[error(
        "subnet {subnet} has the link-local prefix, which no router passes on: give it another, such as {}",
        GidPrefix::site_local(1)
    )]
    LinkLocal {
        /// The subnet.
        subnet: String,
    },
    /// Two subnets have the same name.
    #[error("two subnets are called {0}: give each a name of its own")]
    NameShared(String),
    /// The name does not fit file names, or the form NAME:ELEMENT.
    #[error("`{0}` cannot be a subnet's name: use 1 to 64 letters, digits, `-`, `_` and `.`, no dot first")]
    Name(String),
    /// An end port is in two subnets.
    #[error(
        "port {guid} is in subnet {first} and in subnet {second}: a port has one cable; were both captures made of one subnet?"
    )]
    PortShared {
        /// The port's GUID.
        guid: Guid,
        /// One subnet.
        first: String,
        /// Another.
        second: String,
    },
    /// A GUID named as a router's belongs to none.
    #[error("no subnet has a cabled router with NodeGUID {0}: name routers as the captures do (`rtguid=`)")]
    NoRouter(Guid),
    /// A GUID is given to two routers.
    #[error("router node {0} is named twice: a node is of one router")]
    NamedTwice(Guid),
    /// A node other than a router is in two subnets.
    #[error(
        "{kind} {guid} is in subnet {first} and in subnet {second}: only routers join subnets; were both captures made of one subnet?"
    )]
    NodeShared {
        /// What it is.
        kind: NodeKind,
        /// Its GUID.
        guid: Guid,
        /// One subnet.
        first: String,
        /// Another.
        second: String,
    },
}

impl Subnets {
    /// Joins subnets by the routers that they share.
    ///
    /// # Errors
    /// Prefixes or names are not distinct, a name is invalid, a prefix is link-local, or a switch or an end port is in
    /// two subnets.
    pub fn new(list: Vec<Subnet>) -> Result<Subnets, JoinError> {
        Subnets::with_routers(list, &[])
    }

    /// Joins subnets like [`Subnets::new`], by routers whose nodes (NodeGUIDs) are given in `named`; their
    /// SystemImageGUIDs are ignored.
    ///
    /// # Errors
    /// As [`Subnets::new`]; a GUID belongs to no router, or is named twice.
    pub fn with_routers(list: Vec<Subnet>, named: &[Vec<Guid>]) -> Result<Subnets, JoinError> {
        if list.is_empty() || list.len() > usize::from(u16::MAX) {
            return Err(JoinError::Count(list.len()));
        }
        check_names(&list)?;
        check_nodes(&list)?;
        check_ports(&list)?;
        let routers = join::routers(&list, named)?;
        let partitions = vec![None; list.len()];
        Ok(Subnets { list, routers, partitions })
    }

    /// A fabric that is a subnet by itself.
    pub fn alone(fabric: Fabric) -> Subnets {
        Subnets::of_one(Subnet { name: "subnet".to_string(), prefix: GidPrefix::LINK_LOCAL, fabric })
    }

    /// A list of one subnet.
    ///
    /// Panics if its name is not valid.
    pub fn of_one(subnet: Subnet) -> Subnets {
        Subnets::new(vec![subnet]).expect("a subnet by itself shares nothing with another")
    }

    /// The subnet of a list of one, without its partitions.
    ///
    /// # Errors
    /// The list, if it has several.
    pub fn into_only(mut self) -> Result<Subnet, Subnets> {
        match self.list.len() {
            1 => Ok(self.list.remove(0)),
            _ => Err(self),
        }
    }

    /// These subnets with partitions; in a subnet without any, every port is a full member of the default partition.
    ///
    /// Panics if there are not as many as subnets.
    #[must_use]
    pub fn with_partitions(self, partitions: Vec<Option<Partitions>>) -> Subnets {
        assert_eq!(partitions.len(), self.list.len(), "partitions, or none, for each subnet");
        Subnets { partitions, ..self }
    }

    /// The partitions of a subnet, if it has any.
    pub fn partitions(&self, id: SubnetId) -> Option<&Partitions> {
        self.partitions[id.index()].as_ref()
    }

    /// Whether a subnet has partitions.
    pub fn has_partitions(&self) -> bool {
        self.partitions.iter().any(Option::is_some)
    }

    /// How many subnets.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Always false: there is at least one.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Every subnet with its rank.
    pub fn subnets(&self) -> impl ExactSizeIterator<Item = (SubnetId, &Subnet)> {
        self.list.iter().enumerate().map(|(rank, subnet)| (SubnetId(rank as u16), subnet))
    }

    /// The subnet of a rank.
    pub fn subnet(&self, id: SubnetId) -> &Subnet {
        &self.list[id.index()]
    }

    /// The fabric of a subnet.
    pub fn fabric(&self, id: SubnetId) -> &Fabric {
        &self.list[id.index()].fabric
    }

    /// The subnet with this name.
    pub fn by_name(&self, name: &str) -> Option<SubnetId> {
        self.subnets().find(|(_, subnet)| subnet.name == name).map(|(id, _)| id)
    }

    /// The subnet with this prefix.
    pub fn by_prefix(&self, prefix: GidPrefix) -> Option<SubnetId> {
        self.subnets().find(|(_, subnet)| subnet.prefix == prefix).map(|(id, _)| id)
    }

    /// The routers that join two ports at least, in order of their GUIDs.
    pub fn routers(&self) -> &[Router] {
        &self.routers
    }

    /// The rank of the router that a port belongs to; none if the port is not a router's, or the router joins nothing.
    pub fn router_of(&self, port: SubnetPort) -> Option<usize> {
        self.routers.iter().position(|router| router.ports.contains(&port))
    }

    /// The node of a router in a subnet that it has a port in.
    pub fn router_node(&self, router: usize, subnet: SubnetId) -> Option<NodeId> {
        let own = self.routers[router].ports.iter().find(|port| port.subnet == subnet)?;
        Some(self.fabric(subnet).port(own.port).node)
    }

    /// End ports of a subnet that do not belong to routers: its hosts and targets.
    pub fn hosts(&self, subnet: SubnetId) -> impl Iterator<Item = PortId> + '_ {
        let fabric = self.fabric(subnet);
        fabric.end_ports().filter(|&port| fabric.node(fabric.port(port).node).kind == NodeKind::Ca)
    }

    /// `node description [port]` with the subnet's name, for people.
    pub fn describe_port(&self, at: SubnetPort) -> String {
        let subnet = self.subnet(at.subnet);
        format!("{}:{}", subnet.name, subnet.fabric.describe_port(at.port))
    }

    /// These subnets with other fabrics of the same indices: LIDs assigned, or elements removed. Routers keep the ports
    /// that still have a cable; a router that lost all but one stays, and joins nothing.
    ///
    /// Panics if a fabric has other indices.
    #[must_use]
    pub fn with_fabrics(&self, fabrics: Vec<Fabric>) -> Subnets {
        assert_eq!(fabrics.len(), self.list.len(), "a fabric for each subnet");
        let mut after = self.clone();
        for (subnet, fabric) in after.list.iter_mut().zip(fabrics) {
            assert_eq!(subnet.fabric.port_count(), fabric.port_count(), "the same indices");
            subnet.fabric = fabric;
        }
        let Subnets { list, routers, .. } = &mut after;
        let cabled = |at: &SubnetPort| list[at.subnet.index()].fabric.peer(at.port).is_some();
        routers.iter_mut().for_each(|router| router.ports.retain(cabled));
        after
    }
}

fn check_names(list: &[Subnet]) -> Result<(), JoinError> {
    for (rank, subnet) in list.iter().enumerate() {
        if subnet.prefix == GidPrefix::LINK_LOCAL && list.len() > 1 {
            return Err(JoinError::LinkLocal { subnet: subnet.name.clone() });
        }
        if !is_name(&subnet.name) {
            return Err(JoinError::Name(subnet.name.clone()));
        }
        for earlier in &list[..rank] {
            let (first, second) = (earlier.name.clone(), subnet.name.clone());
            if earlier.name == subnet.name {
                return Err(JoinError::NameShared(first));
            }
            if earlier.prefix == subnet.prefix {
                return Err(JoinError::PrefixShared { prefix: subnet.prefix, first, second });
            }
        }
    }
    Ok(())
}

/// Whether a name fits file names, and the form NAME:ELEMENT.
fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&text.len()) && text.chars().all(fits) && !text.starts_with('.')
}

/// Checks that no switch is in two subnets. A channel adapter may have a port in each.
fn check_nodes(list: &[Subnet]) -> Result<(), JoinError> {
    let mut seen: BTreeMap<Guid, &str> = BTreeMap::new();
    for subnet in list {
        for (_, node) in subnet.fabric.nodes().filter(|(_, node)| node.kind == NodeKind::Switch) {
            if let Some(first) = seen.insert(node.guid, &subnet.name) {
                let (first, second) = (first.to_string(), subnet.name.clone());
                return Err(JoinError::NodeShared { kind: node.kind, guid: node.guid, first, second });
            }
        }
    }
    Ok(())
}

/// Checks that no end port is in two subnets.
fn check_ports(list: &[Subnet]) -> Result<(), JoinError> {
    let mut seen: BTreeMap<Guid, usize> = BTreeMap::new();
    for (rank, subnet) in list.iter().enumerate() {
        for guid in subnet.fabric.end_ports().filter_map(|port| subnet.fabric.port(port).guid) {
            if let Some(first) = seen.insert(guid, rank).filter(|&first| first != rank) {
                let (first, second) = (list[first].name.clone(), subnet.name.clone());
                return Err(JoinError::PortShared { guid, first, second });
            }
        }
    }
    Ok(())
}

/// The fabrics of all subnets side by side, one after another, as a simulator needs them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joined {
    /// Every node and port. LIDs and GUIDs may repeat from subnet to subnet, so neither can be looked up here.
    pub fabric: Fabric,
    first_node: Vec<u32>,
    first_port: Vec<u32>,
}

impl Joined {
    /// All subnets side by side.
    pub fn of(subnets: &Subnets) -> Joined {
        let (mut first_node, mut first_port) = (vec![0], vec![0]);
        for (_, subnet) in subnets.subnets() {
            first_node.push(first_node[first_node.len() - 1] + subnet.fabric.node_count() as u32);
            first_port.push(first_port[first_port.len() - 1] + subnet.fabric.port_count() as u32);
        }
        let fabric = Fabric::side_by_side(subnets.subnets().map(|(_, subnet)| &subnet.fabric));
        Joined { fabric, first_node, first_port }
    }

    /// The index of a subnet's node.
    pub fn node(&self, subnet: SubnetId, node: NodeId) -> NodeId {
        NodeId(self.first_node[subnet.index()] + node.0)
    }

    /// The index of a subnet's port.
    pub fn port(&self, at: SubnetPort) -> PortId {
        PortId(self.first_port[at.subnet.index()] + at.port.0)
    }

    /// The subnet of a port, and its index there.
    pub fn at(&self, port: PortId) -> SubnetPort {
        let rank = self.first_port.partition_point(|&first| first <= port.0) - 1;
        SubnetPort { subnet: SubnetId(rank as u16), port: PortId(port.0 - self.first_port[rank]) }
    }

    /// How many subnets.
    pub fn subnets(&self) -> usize {
        self.first_node.len() - 1
    }
}
