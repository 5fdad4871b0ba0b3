//! Graphs for the tests of this module and of the judges.

use super::{ChannelId, DeviceId, DrainGraph, PortMask};
use crate::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use crate::ids::{Guid, PortNum};
use std::collections::BTreeMap;

pub fn device(number: u32) -> DeviceId {
    NodeId(number)
}

pub fn channel(number: u32) -> ChannelId {
    PortId(number)
}

/// Host, switch, switch, host in a row; switches have port 1 towards the first host, port 2 towards the last.
pub fn fabric() -> Fabric {
    let mut builder = FabricBuilder::new();
    let kinds = [NodeKind::Ca, NodeKind::Switch, NodeKind::Switch, NodeKind::Ca];
    let nodes = kinds.map(|kind| {
        let guid = Guid(builder.nodes().len() as u64 + 1);
        builder.node(kind, guid, if kind == NodeKind::Switch { 2 } else { 1 }, "")
    });
    let mut link = |a: (usize, u8), b: (usize, u8)| {
        let end = |(node, num): (usize, u8)| (nodes[node], PortNum(num));
        builder.link(end(a), end(b), Default::default(), Default::default()).expect("ports are there");
    };
    link((0, 1), (1, 1));
    link((1, 2), (2, 1));
    link((2, 2), (3, 1));
    builder.build().expect("GUIDs differ")
}

/// The graph of packets from the first host to the last: from port 1 of each switch to `onward`.
pub fn row(onward: PortMask) -> DrainGraph {
    let fabric = fabric();
    let masks = vec![PortMask::default(), onward, PortMask::default()];
    let arcs = BTreeMap::from([(NodeId(1), masks.clone()), (NodeId(2), masks)]);
    let injection = fabric.port_at(NodeId(0), PortNum(1)).expect("a host has port 1");
    DrainGraph::new(&fabric, arcs, &[injection]).expect("a row has no cycle")
}
