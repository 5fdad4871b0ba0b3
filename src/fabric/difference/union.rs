//! Two captures in one index space.

use super::keys::{by_guid, cables, find, present_by_guid};
use crate::fabric::{BuildError, Fabric, FabricBuilder, LinkEnd, NodeId, NodeKind, PortId};
use crate::ids::{Guid, Lid, Lmc, PortName, PortNum};
use std::collections::BTreeMap;

/// Why two captures have no union.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnionError {
    /// A port has a cable to one peer before and to another after.
    #[error(
        "port {port} is cabled to {before} before and to {after} after: \
         a port cannot have both cables, so make two changes of it (pull the cable, then put in the new one)"
    )]
    Recabled {
        /// The port.
        port: String,
        /// Its peer before.
        before: String,
        /// Its peer after.
        after: String,
    },
    /// One GUID belongs to two kinds of node.
    #[error("node {guid} is a {before} before and a {after} after: two nodes share the GUID, or a capture is wrong")]
    Redefined {
        /// The GUID.
        guid: Guid,
        /// The kind before.
        before: NodeKind,
        /// The kind after.
        after: NodeKind,
    },
    /// A port is cabled after the change that the node did not have before.
    #[error("node {guid} has {ports} ports before, but port {num} of it is cabled after: one of the captures is wrong")]
    PortsGrew {
        /// The GUID.
        guid: Guid,
        /// External ports before.
        ports: u8,
        /// The port cabled after.
        num: PortNum,
    },
    /// The union breaks a rule of the model.
    #[error("the fabrics before and after do not fit together: {0}")]
    Build(#[from] BuildError),
}

/// A port whose LID in the fabric after could not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LidConflict {
    /// The port, in the union.
    pub port: PortId,
    /// Its LIDs in the union: those before, or none if another port had the wanted ones before.
    pub kept: Option<(Lid, Lmc)>,
    /// Its LIDs in the fabric after.
    pub wanted: (Lid, Lmc),
}

/// All nodes and cables of two fabrics. Indices of the fabric before are indices of the union, and new nodes follow. If
/// both fabrics describe an element (rates, LIDs, descriptions), the fabric before counts. Of a node that was absent
/// before, the fabric after says what it is capable of.
#[derive(Clone, Debug)]
pub struct Union {
    /// The whole.
    pub fabric: Fabric,
    /// Nodes absent before.
    pub absent_before: Vec<NodeId>,
    /// Nodes absent after.
    pub absent_after: Vec<NodeId>,
    /// One end of each cable, between nodes present before, that is missing before.
    pub uncabled_before: Vec<PortId>,
    /// One end of each cable, between nodes present after, that is missing after.
    pub uncabled_after: Vec<PortId>,
    /// Ports whose LIDs differ; a caller that keeps the union's LIDs must handle them.
    pub lid_conflicts: Vec<LidConflict>,
}

impl Union {
    /// The fabric before, in the indices of the union.
    pub fn before(&self) -> Fabric {
        self.fabric.without_nodes(&self.absent_before).without_links(&self.uncabled_before)
    }

    /// The fabric after, in the indices of the union.
    pub fn after(&self) -> Fabric {
        self.fabric.without_nodes(&self.absent_after).without_links(&self.uncabled_after)
    }
}

/// Both fabrics in one index space.
///
/// # Errors
/// A port is cabled to different peers, or one GUID belongs to two kinds of node.
pub fn union(before: &Fabric, after: &Fabric) -> Result<Union, UnionError> {
    check_nodes(before, after)?;
    check_cables(before, after)?;
    let mut builder = FabricBuilder::new();
    if let Some((node, port)) = before.origin() {
        builder.origin(node, port);
    }
    // Nodes of the fabric before come first and in their order, so their indices, and those of their ports, stay
    // valid.
    before.nodes().for_each(|(id, _)| _ = builder.copy(before, id));
    let new = after.nodes().filter(|(_, node)| node.present && before.by_guid(node.guid).is_none());
    new.for_each(|(id, _)| _ = builder.copy(after, id));
    mark_present(&mut builder, before, after);
    renew_capabilities(&mut builder, before, after);
    let lid_conflicts = merge_lids(&mut builder, before, after);
    // The last copy decides width and speed: the fabric before, since tables in force were made for it.
    for fabric in [after, before] {
        copy_cables(&mut builder, fabric)?;
    }
    let fabric = builder.build()?;
    Ok(Union {
        absent_before: absent(&fabric, before),
        absent_after: absent(&fabric, after),
        uncabled_before: uncabled(&fabric, before),
        uncabled_after: uncabled(&fabric, after),
        lid_conflicts,
        fabric,
    })
}

/// Both fabrics, of which ports may have one cable before and another one after.
#[derive(Clone, Debug)]
pub struct Recabling {
    /// Of the fabric before, and of the one after without the cables at such ports.
    pub union: Union,
    /// The ends of those cables, in the indices of the union.
    pub plugged: Vec<(PortId, PortId)>,
}

/// Unites like [`union`], but keeps cables that replace others at a port apart.
///
/// # Errors
/// One GUID belongs to two kinds of node, or a port with a cable exists only after.
pub fn union_recabled(before: &Fabric, after: &Fabric) -> Result<Recabling, UnionError> {
    check_nodes(before, after)?;
    let is_other = |port: PortId, peer: PortId| {
        let old = find(before, after.port_name(port)).and_then(|port| before.peer(port));
        old.is_some_and(|old| before.port_name(old) != after.port_name(peer))
    };
    let moved: Vec<(PortId, PortId)> = after.links().filter(|&(a, b)| is_other(a, b) || is_other(b, a)).collect();
    let rest = after.without_links(&moved.iter().map(|&(a, _)| a).collect::<Vec<_>>());
    let union = union(before, &rest)?;
    let known = |port: PortId| find(&union.fabric, after.port_name(port));
    let plugged = moved.iter().filter_map(|&(a, b)| Some((known(a)?, known(b)?))).collect();
    Ok(Recabling { union, plugged })
}

fn check_nodes(before: &Fabric, after: &Fabric) -> Result<(), UnionError> {
    for (guid, new) in by_guid(after) {
        let Some(old) = before.by_guid(guid) else { continue };
        let (was, is) = (before.node(old), after.node(new));
        if was.kind != is.kind {
            return Err(UnionError::Redefined { guid, before: was.kind, after: is.kind });
        }
        // The union has the ports of the fabric before; further ports are no error as long as they have no cable.
        let cabled = after.ports_of(new).rev().find(|&port| after.peer(port).is_some());
        if let Some(port) = cabled.filter(|&port| after.port(port).num.0 > was.num_ports) {
            return Err(UnionError::PortsGrew { guid, ports: was.num_ports, num: after.port(port).num });
        }
    }
    Ok(())
}

fn check_cables(before: &Fabric, after: &Fabric) -> Result<(), UnionError> {
    for (port, found) in before.ports() {
        let Some(other) = find(after, before.port_name(port)) else { continue };
        if let (Some(old), Some(new)) = (found.peer, after.peer(other))
            && before.port_name(old) != after.port_name(new)
        {
            return Err(UnionError::Recabled {
                port: before.describe_port(port),
                before: before.describe_port(old),
                after: after.describe_port(new),
            });
        }
    }
    Ok(())
}

fn mark_present(builder: &mut FabricBuilder, before: &Fabric, after: &Fabric) {
    for (id, node) in before.nodes() {
        builder.node_mut(id).present = node.present || present_by_guid(after, node.guid).is_some();
    }
}

/// A node that was absent before may have been replaced meanwhile, under its GUID.
fn renew_capabilities(builder: &mut FabricBuilder, before: &Fabric, after: &Fabric) {
    for (id, node) in before.nodes().filter(|(_, node)| !node.present) {
        let Some(found) = present_by_guid(after, node.guid) else { continue };
        let (old, new) = (builder.node_mut(id), after.node(found));
        old.lft_capacity = new.lft_capacity;
        old.optimised_sl_to_vl = new.optimised_sl_to_vl;
        old.port_zero = new.port_zero;
        for port in after.ports_of(found).map(|port| after.port(port)) {
            if let Some(slot) = builder.port_mut(id, port.num) {
                slot.data_vls = port.data_vls;
            }
        }
    }
}

/// Gives ports without a LID the one that they have after, if it is free; returns those that differ.
fn merge_lids(builder: &mut FabricBuilder, before: &Fabric, after: &Fabric) -> Vec<LidConflict> {
    let mut conflicts = Vec::new();
    for (guid, id) in ids(builder) {
        let Some(found) = present_by_guid(after, guid) else { continue };
        let known = before.by_guid(guid).is_some();
        let first_port = builder.node_mut(id).first_port;
        for port in after.ports_of(found).map(|port| after.port(port)) {
            let (Some(lid), Some(slot)) = (port.lid, builder.port_mut(id, port.num)) else { continue };
            let wanted = (lid, port.lmc);
            let kept = slot.lid.filter(|_| known).map(|lid| (lid, slot.lmc));
            // A LID that another port had before would have two owners: the newcomer gets none, and the caller decides.
            if kept.is_none() && is_free(before, lid, port.lmc) {
                (slot.lid, slot.lmc) = (Some(lid), port.lmc);
            } else if kept != Some(wanted) {
                (slot.lid, slot.lmc) = kept.map_or((None, Lmc::default()), |(lid, lmc)| (Some(lid), lmc));
                conflicts.push(LidConflict { port: PortId(first_port.0 + u32::from(port.num.0)), kept, wanted });
            }
        }
    }
    conflicts
}

/// Every node of the builder by GUID.
fn ids(builder: &FabricBuilder) -> BTreeMap<Guid, NodeId> {
    builder.nodes().iter().zip(0..).map(|(node, id)| (node.guid, NodeId(id))).collect()
}

fn is_free(before: &Fabric, lid: Lid, lmc: Lmc) -> bool {
    (lid.0..=lid.0.saturating_add(lmc.lids() - 1)).all(|lid| before.lid_owner(Lid(lid)).is_none())
}

/// Cables by GUID: the fabric whose cables are copied last has the last word on width and speed.
fn copy_cables(builder: &mut FabricBuilder, fabric: &Fabric) -> Result<(), BuildError> {
    let ids = ids(builder);
    let end = |port: PortName| LinkEnd { node: ids[&port.guid], num: port.num };
    for ((a, b), port) in cables(fabric) {
        let port = fabric.port(port);
        builder.link(end(a), end(b), port.width, port.speed)?;
    }
    Ok(())
}

fn absent(whole: &Fabric, part: &Fabric) -> Vec<NodeId> {
    let gone = whole.nodes().filter(|(_, node)| node.present && present_by_guid(part, node.guid).is_none());
    gone.map(|(id, _)| id).collect()
}

/// One end of each cable of `whole` that `part` lacks though it has both nodes.
fn uncabled(whole: &Fabric, part: &Fabric) -> Vec<PortId> {
    let both = |(a, b): &(PortId, PortId)| {
        [*a, *b].iter().all(|&port| present_by_guid(part, whole.port_name(port).guid).is_some())
    };
    let missing =
        |&(a, _): &(PortId, PortId)| find(part, whole.port_name(a)).and_then(|port| part.peer(port)).is_none();
    whole.links().filter(both).filter(missing).map(|(a, _)| a).collect()
}
