//! Determines which nodes of the captures are the same router.
//!
//! Ports with the same NodeGUID belong to one router: by the specification (NodeInfo, section 14.2.5.3) all ports of a
//! node report the same one, whichever subnet they are in. But a device may show a separate node to each subnet, all
//! with one SystemImageGUID; such nodes are joined if no subnet shows two of them. If one does, the SystemImageGUID is
//! that of a box with several routers, such as NVIDIA's Q3400-RA with four, and proves nothing (docs/SUBNETS.md, *Which
//! nodes are one router*). Nodes that the caller names are one router, whatever their SystemImageGUIDs.

use super::{JoinError, Router, Subnet, SubnetPort};
use crate::fabric::{Node, NodeKind};
use crate::ids::{Guid, SubnetId};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet};

/// The routers that join at least two ports, in order of their GUIDs.
///
/// # Errors
/// A GUID in `named` belongs to no router, or appears twice.
pub(super) fn routers(list: &[Subnet], named: &[Vec<Guid>]) -> Result<Vec<Router>, JoinError> {
    let guids: BTreeSet<Guid> = router_ports(list).map(|(_, node)| node.guid).collect();
    let guids: Vec<Guid> = guids.into_iter().collect();
    let of_named = check_named(&guids, named)?;
    let mut devices = UnionFind::new(guids.len());
    let rank = |guid: &Guid| guids.partition_point(|known| known < guid);
    for group in systems(list, &of_named).iter().chain(named) {
        group.windows(2).for_each(|pair| _ = devices.union(rank(&pair[0]), rank(&pair[1])));
    }
    Ok(assemble(list, |node| devices.find(rank(&node.guid))))
}

/// Every cabled port of a router with its node, in order of subnets, then ports.
fn router_ports(list: &[Subnet]) -> impl Iterator<Item = (SubnetPort, &Node)> {
    list.iter().enumerate().flat_map(|(rank, subnet)| {
        let fabric = &subnet.fabric;
        let ports = fabric.end_ports().map(move |port| (port, fabric.node(fabric.port(port).node)));
        let ports = ports.filter(|(_, node)| node.kind == NodeKind::Router);
        ports.map(move |(port, node)| (SubnetPort { subnet: SubnetId(rank as u16), port }, node))
    })
}

/// All GUIDs in `named`; `known` is sorted.
fn check_named(known: &[Guid], named: &[Vec<Guid>]) -> Result<BTreeSet<Guid>, JoinError> {
    let mut seen = BTreeSet::new();
    for &guid in named.iter().flatten() {
        if known.binary_search(&guid).is_err() {
            return Err(JoinError::NoRouter(guid));
        }
        if !seen.insert(guid) {
            return Err(JoinError::NamedTwice(guid));
        }
    }
    Ok(seen)
}

/// NodeGUIDs that share a SystemImageGUID, if no subnet shows two of them and none is named.
fn systems(list: &[Subnet], named: &BTreeSet<Guid>) -> Vec<Vec<Guid>> {
    let mut shown: BTreeMap<Guid, BTreeSet<(SubnetId, Guid)>> = BTreeMap::new();
    for (port, node) in router_ports(list) {
        if let Some(system) = node.system_guid.filter(|guid| guid.0 != 0) {
            shown.entry(system).or_default().insert((port.subnet, node.guid));
        }
    }
    let one_each = |shown: &BTreeSet<(SubnetId, Guid)>| {
        let subnets: BTreeSet<SubnetId> = shown.iter().map(|&(subnet, _)| subnet).collect();
        subnets.len() == shown.len() && shown.iter().all(|(_, guid)| !named.contains(guid))
    };
    shown.into_values().filter(one_each).map(|shown| shown.into_iter().map(|(_, guid)| guid).collect()).collect()
}

/// Ports by device, as `device` numbers them.
fn assemble(list: &[Subnet], device: impl Fn(&Node) -> usize) -> Vec<Router> {
    let mut found: BTreeMap<usize, Router> = BTreeMap::new();
    for (port, node) in router_ports(list) {
        let name = node.description.trim();
        let router = found.entry(device(node)).or_insert_with(|| Router {
            guid: node.guid,
            name: name.to_string(),
            ports: Vec::new(),
        });
        if node.guid < router.guid {
            (router.guid, router.name) = (node.guid, name.to_string());
        }
        router.ports.push(port);
    }
    let mut routers: Vec<Router> = found.into_values().filter(|router| router.ports.len() > 1).collect();
    routers.sort_unstable_by_key(|router| router.guid);
    routers
}
