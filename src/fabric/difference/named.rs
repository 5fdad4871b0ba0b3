//! GUIDs of one capture for another one whose file states none.

use crate::fabric::{BuildError, Fabric, FabricBuilder, LinkEnd, Node, NodeId, NodeKind};
use crate::ids::Guid;
use std::collections::{BTreeMap, BTreeSet};

/// Why nodes of two captures cannot be matched by name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamesError {
    /// Two nodes of one capture share a name.
    #[error(
        "a capture without GUIDs is matched with the other one by names, but {count} nodes of one of them have the name \
         `{name}`: state their GUIDs (`switchguid=`, `hcaguids=`)"
    )]
    Repeated {
        /// The name.
        name: String,
        /// How many have it.
        count: usize,
    },
    /// The fabric with these GUIDs breaks a rule of the model.
    #[error("matching both captures by names: {0}")]
    Build(#[from] BuildError),
}

/// Kind and description of a node.
type Name<'a> = (NodeKind, &'a str);

/// `after` with the GUIDs of `before`: a node has those of the node of its kind and name there, and any other node one
/// that no node there has.
///
/// # Errors
/// Two nodes of a capture that share kind and name.
pub fn guids_by_name(before: &Fabric, after: &Fabric) -> Result<Fabric, NamesError> {
    let known = by_name(before)?;
    // Names that repeat here would match one node twice.
    by_name(after)?;
    let mut used: BTreeSet<Guid> = before.nodes().map(|(_, node)| node.guid).collect();
    let mut builder = FabricBuilder::new();
    for (id, node) in after.nodes() {
        let twin = known.get(&name(node)).copied();
        let guid = twin.map_or_else(|| unused(node, &mut used), |twin| before.node(twin).guid);
        copy_node(&mut builder, (after, id), guid, twin.map(|twin| (before, twin)));
    }
    for (a, b) in after.links() {
        let port = after.port(a);
        builder.link(LinkEnd::of(after, a), LinkEnd::of(after, b), port.width, port.speed)?;
    }
    Ok(builder.build()?)
}

fn name(node: &Node) -> Name<'_> {
    (node.kind, node.description.trim())
}

fn by_name(fabric: &Fabric) -> Result<BTreeMap<Name<'_>, NodeId>, NamesError> {
    let mut found = BTreeMap::new();
    for (id, node) in fabric.nodes() {
        if found.insert(name(node), id).is_some() {
            let count = fabric.nodes().filter(|(_, other)| name(other) == name(node)).count();
            return Err(NamesError::Repeated { name: name(node).1.to_string(), count });
        }
    }
    Ok(found)
}

/// The node's own GUID if it is free, else the next one behind all that are used; room for the GUIDs of its ports
/// stays.
fn unused(node: &Node, used: &mut BTreeSet<Guid>) -> Guid {
    let behind = || used.last().map_or(0, |last| last.0.saturating_add(u64::from(u8::MAX) + 1));
    let guid = if used.contains(&node.guid) { Guid(behind()) } else { node.guid };
    used.insert(guid);
    guid
}

/// Copies a node and its ports, without cables, under a GUID; ports have the GUIDs of those of its twin, if it has one.
fn copy_node(
    builder: &mut FabricBuilder,
    (fabric, id): (&Fabric, NodeId),
    guid: Guid,
    twin: Option<(&Fabric, NodeId)>,
) {
    let own = fabric.node(id).guid;
    let moved = |stated: Guid| Guid(stated.0.wrapping_sub(own.0).wrapping_add(guid.0));
    let copy = builder.copy(fabric, id);
    let node = builder.node_mut(copy);
    node.guid = guid;
    node.system_guid = match twin {
        Some((fabric, twin)) => fabric.node(twin).system_guid,
        None => node.system_guid.map(moved),
    };
    for port in fabric.ports_of(id) {
        let num = fabric.port(port).num;
        let like = twin.and_then(|(fabric, twin)| fabric.port_at(twin, num).map(|port| fabric.port(port).guid));
        if let Some(slot) = builder.port_mut(copy, num) {
            slot.guid = like.unwrap_or_else(|| slot.guid.map(moved));
        }
    }
}
