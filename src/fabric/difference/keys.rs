//! Nodes, ports and cables by keys that two captures of one fabric share: GUIDs and port numbers.
//!
//! Only present nodes are found; one that left counts as not there.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, PortNum};
use std::collections::BTreeMap;

/// A port, independent of indices: node GUID and number.
pub(super) type PortKey = (Guid, PortNum);
/// A cable: the lower port key first.
pub(super) type CableKey = (PortKey, PortKey);

/// Nodes present, by GUID.
pub(super) fn by_guid(fabric: &Fabric) -> BTreeMap<Guid, NodeId> {
    fabric.nodes().filter(|(_, node)| node.present).map(|(id, node)| (node.guid, id)).collect()
}

pub(super) fn present_by_guid(fabric: &Fabric, guid: Guid) -> Option<NodeId> {
    fabric.by_guid(guid).filter(|&id| fabric.node(id).present)
}

pub(super) fn key(fabric: &Fabric, port: PortId) -> PortKey {
    let port = fabric.port(port);
    (fabric.node(port.node).guid, port.num)
}

/// The port with this key, if its node is present.
pub(super) fn find(fabric: &Fabric, (guid, num): PortKey) -> Option<PortId> {
    fabric.port_at(present_by_guid(fabric, guid)?, num)
}

/// Every cable, with its port of the lower key.
pub(super) fn cables(fabric: &Fabric) -> BTreeMap<CableKey, PortId> {
    let keyed = fabric.links().map(|(a, b)| {
        let (a_key, b_key) = (key(fabric, a), key(fabric, b));
        if a_key <= b_key { ((a_key, b_key), a) } else { ((b_key, a_key), b) }
    });
    keyed.collect()
}

pub(super) fn other_end((a, b): CableKey, end: PortKey) -> PortKey {
    if a == end { b } else { a }
}
