//! Nodes, ports and cables by keys that two captures of one fabric share: GUIDs and port numbers.
//!
//! Only present nodes are found; one that left counts as not there.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, PortName};
use std::collections::BTreeMap;

/// A cable: the lower port first.
pub(super) type CableKey = (PortName, PortName);

/// Nodes present, by GUID.
pub(super) fn by_guid(fabric: &Fabric) -> BTreeMap<Guid, NodeId> {
    fabric.nodes().filter(|(_, node)| node.present).map(|(id, node)| (node.guid, id)).collect()
}

pub(super) fn present_by_guid(fabric: &Fabric, guid: Guid) -> Option<NodeId> {
    fabric.by_guid(guid).filter(|&id| fabric.node(id).present)
}

/// The port with this name, if its node is present.
pub(super) fn find(fabric: &Fabric, port: PortName) -> Option<PortId> {
    fabric.port_at(present_by_guid(fabric, port.guid)?, port.num)
}

/// Every cable, with its port of the lower name.
pub(super) fn cables(fabric: &Fabric) -> BTreeMap<CableKey, PortId> {
    let keyed = fabric.links().map(|(a, b)| {
        let (a_name, b_name) = (fabric.port_name(a), fabric.port_name(b));
        if a_name <= b_name { ((a_name, b_name), a) } else { ((b_name, a_name), b) }
    });
    keyed.collect()
}

pub(super) fn other_end((a, b): CableKey, end: PortName) -> PortName {
    if a == end { b } else { a }
}
