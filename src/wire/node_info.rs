//! NodeInfo (section 14.2.5.3): the kind and identity of a node. Read only; one for each port by which it is queried.
//! Reserved: bytes 40–63.

use super::format::{attribute, wire_enum};
use crate::ids::{Guid, PortNum};

wire_enum! {
    /// NodeInfo:NodeType.
    NodeType: u8 {
        /// A channel adapter.
        ChannelAdapter = 1,
        /// A switch.
        Switch = 2,
        /// A router.
        Router = 3,
    }
}

attribute! {
    /// NodeInfo.
    NodeInfo {
        /// Version of MADs in general: 1.
        base_version: u8 = 0, 8;
        /// Version of subnet management: 1.
        class_version: u8 = 8, 8;
        /// The kind of node.
        node_type: NodeType = 16, 8;
        /// External ports.
        num_ports: u8 = 24, 8;
        /// The system that the node is part of; 0 where it has none.
        system_guid: Guid = 32, 64;
        /// The node.
        node_guid: Guid = 96, 64;
        /// The port that received the request; at a switch, port 0.
        port_guid: Guid = 160, 64;
        /// Entries of its partition tables.
        partition_cap: u16 = 224, 16;
        /// The maker's number for the device.
        device_id: u16 = 240, 16;
        /// Its revision.
        revision: u32 = 256, 32;
        /// The port by which the request came in.
        local_port: PortNum = 288, 8;
        /// The maker, 24 bits.
        vendor_id: u32 = 296, 24;
    }
}
