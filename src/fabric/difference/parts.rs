//! Parts of one fabric, in one index space: what one has and another lacks, and what they have in common.

use crate::fabric::{Fabric, NodeId, PortId};
use std::sync::Arc;

/// Whether one part of a fabric lacks a node or cable that another part has.
pub(crate) fn lacks(fabric: &Fabric, other: &Fabric) -> bool {
    let mut nodes = fabric.nodes().zip(other.nodes());
    let mut ports = fabric.ports().zip(other.ports());
    nodes.any(|((_, own), (_, other))| !own.present && other.present)
        || ports.any(|((_, own), (_, other))| other.peer.is_some() && own.peer != other.peer)
}

/// The part of `fabric` that is also in `other`.
pub(crate) fn common(fabric: &Fabric, other: &Fabric) -> Fabric {
    restricted(fabric, |node| other.node(node).present, |port| other.peer(port).is_some())
}

/// The part of `other` that is also in `fabric`: `fabric` itself if `other` has all of it.
pub(crate) fn shared(fabric: &Arc<Fabric>, other: &Fabric) -> Arc<Fabric> {
    if lacks(other, fabric) { Arc::new(common(other, fabric)) } else { fabric.clone() }
}

/// The part of `fabric` that is also in one of two others.
pub(crate) fn in_either(fabric: &Fabric, [a, b]: [&Fabric; 2]) -> Fabric {
    let node = |node| a.node(node).present || b.node(node).present;
    restricted(fabric, node, |port| a.peer(port).is_some() || b.peer(port).is_some())
}

/// The nodes for which `node` holds, and the cables for both ends of which `link` does.
pub(crate) fn restricted(fabric: &Fabric, node: impl Fn(NodeId) -> bool, link: impl Fn(PortId) -> bool) -> Fabric {
    let nodes = fabric.nodes().map(|(id, _)| id).filter(|&id| !node(id));
    let ports = fabric.ports().filter(|(_, port)| port.peer.is_some()).map(|(id, _)| id).filter(|&id| !link(id));
    fabric.without_nodes(&nodes.collect::<Vec<_>>()).without_links(&ports.collect::<Vec<_>>())
}
