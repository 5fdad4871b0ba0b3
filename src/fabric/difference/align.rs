//! A fresh capture in the indices of a known fabric.

use super::NodeName;
use super::keys::{find, present_by_guid};
use crate::fabric::{Fabric, Node, NodeId, NodeKind, PortId};
use crate::ids::{Guid, PortName};

/// Why a capture is not a part of a known fabric. If it has more, use [`super::union`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AlignError {
    /// A node is unknown, or had left.
    #[error("{node} was found but is not known: the fabric grew, so plan the change on the union of both")]
    UnknownNode {
        /// The node.
        node: String,
    },
    /// A cable is unknown.
    #[error(
        "the cable from {from} to {to} was found but is not known: the fabric grew, so plan the change on the union of both"
    )]
    UnknownCable {
        /// One end.
        from: String,
        /// The other.
        to: String,
    },
    /// One GUID belongs to two kinds of node.
    #[error("node {guid} is known as a {known} and was found as a {found}: two nodes share the GUID")]
    Redefined {
        /// The GUID.
        guid: Guid,
        /// The kind that is known.
        known: NodeKind,
        /// The kind that was found.
        found: NodeKind,
    },
}

/// `found` expressed as a part of `known`: the indices of `known` with all its facts on nodes and ports (LIDs, rates,
/// descriptions), without the nodes and cables that were not found.
///
/// # Errors
/// A node or a cable that `known` lacks.
pub fn align(known: &Fabric, found: &Fabric) -> Result<Fabric, AlignError> {
    match recognise(known, found) {
        Recognised { alive, stranger: None } => Ok(alive),
        Recognised { stranger: Some(stranger), .. } => Err(stranger),
    }
}

/// A capture, as far as its elements are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognised {
    /// The part of the known fabric that was found, in its indices.
    pub alive: Fabric,
    /// The first unknown element found.
    pub stranger: Option<AlignError>,
}

/// Aligns like [`align`], but reports unknown elements instead of refusing them. A node of another kind than the one
/// that is known by its GUID is unknown, and the known one was not found.
pub fn recognise(known: &Fabric, found: &Fabric) -> Recognised {
    let stranger = stranger(known, found);
    // Only missing elements are removed from `known`, so its indices, LIDs and rates are unchanged.
    let is_found = |node: &Node| present_by_guid(found, node.guid).is_some_and(|id| found.node(id).kind == node.kind);
    let gone: Vec<NodeId> = known.nodes().filter(|(_, node)| !is_found(node)).map(|(id, _)| id).collect();
    let pulled = known.links().filter(|&(a, b)| !has_cable(found, known.port_name(a), known.port_name(b)));
    let pulled: Vec<PortId> = pulled.map(|(a, _)| a).collect();
    Recognised { alive: known.without_nodes(&gone).without_links(&pulled), stranger }
}

/// The first element found that cannot belong to `known`: GUIDs of two kinds first, then nodes, then cables.
fn stranger(known: &Fabric, found: &Fabric) -> Option<AlignError> {
    let mut unknown = None;
    for (id, node) in found.nodes().filter(|(_, node)| node.present) {
        let Some(old) = present_by_guid(known, node.guid) else {
            unknown = unknown.or_else(|| Some(AlignError::UnknownNode { node: NodeName::of(found, id).to_string() }));
            continue;
        };
        let kind = known.node(old).kind;
        if kind != node.kind {
            // Before any unknown element: one GUID for two nodes makes every other answer doubtful.
            return Some(AlignError::Redefined { guid: node.guid, known: kind, found: node.kind });
        }
    }
    let cable = |&(a, b): &(PortId, PortId)| !has_cable(known, found.port_name(a), found.port_name(b));
    unknown.or_else(|| {
        let (a, b) = found.links().find(cable)?;
        Some(AlignError::UnknownCable { from: found.describe_port(a), to: found.describe_port(b) })
    })
}

fn has_cable(fabric: &Fabric, a: PortName, b: PortName) -> bool {
    find(fabric, a).and_then(|port| fabric.peer(port)).is_some_and(|peer| fabric.port_name(peer) == b)
}
