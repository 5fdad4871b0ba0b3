//! NodeInfo (section 14.2.5.3): what a node is. Read only; one for each port that asks. Reserved: bytes 40–63.

use super::bits::wire_enum;
use super::{AttributeId, SMP_DATA_SIZE};
use crate::ids::{Guid, PortNum};

mod field {
    use crate::wire::bits::{Bits, bits};

    pub const BASE_VERSION: Bits = bits(0, 8);
    pub const CLASS_VERSION: Bits = bits(8, 8);
    pub const NODE_TYPE: Bits = bits(16, 8);
    pub const NUM_PORTS: Bits = bits(24, 8);
    pub const SYSTEM_GUID: Bits = bits(32, 64);
    pub const NODE_GUID: Bits = bits(96, 64);
    pub const PORT_GUID: Bits = bits(160, 64);
    pub const PARTITION_CAP: Bits = bits(224, 16);
    pub const DEVICE_ID: Bits = bits(240, 16);
    pub const REVISION: Bits = bits(256, 32);
    pub const LOCAL_PORT: Bits = bits(288, 8);
    pub const VENDOR_ID: Bits = bits(296, 24);
}

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

/// NodeInfo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeInfo {
    /// Version of MADs in general: 1.
    pub base_version: u8,
    /// Version of subnet management: 1.
    pub class_version: u8,
    /// What kind of node.
    pub node_type: NodeType,
    /// External ports.
    pub num_ports: u8,
    /// The system that the node is part of; 0 where it has none.
    pub system_guid: Guid,
    /// The node.
    pub node_guid: Guid,
    /// The port that received the request; at a switch, port 0.
    pub port_guid: Guid,
    /// Entries of its partition tables.
    pub partition_cap: u16,
    /// The maker's number for the device.
    pub device_id: u16,
    /// Its revision.
    pub revision: u32,
    /// The port by which the request came in.
    pub local_port: PortNum,
    /// The maker, 24 bits.
    pub vendor_id: u32,
}

impl NodeInfo {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::NodeInfo;

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> NodeInfo {
        NodeInfo {
            base_version: field::BASE_VERSION.get_u8(data),
            class_version: field::CLASS_VERSION.get_u8(data),
            node_type: field::NODE_TYPE.get_u8(data).into(),
            num_ports: field::NUM_PORTS.get_u8(data),
            system_guid: Guid(field::SYSTEM_GUID.get(data)),
            node_guid: Guid(field::NODE_GUID.get(data)),
            port_guid: Guid(field::PORT_GUID.get(data)),
            partition_cap: field::PARTITION_CAP.get_u16(data),
            device_id: field::DEVICE_ID.get_u16(data),
            revision: field::REVISION.get_u32(data),
            local_port: PortNum(field::LOCAL_PORT.get_u8(data)),
            vendor_id: field::VENDOR_ID.get_u32(data),
        }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        field::BASE_VERSION.put(&mut data, self.base_version);
        field::CLASS_VERSION.put(&mut data, self.class_version);
        field::NODE_TYPE.put(&mut data, self.node_type);
        field::NUM_PORTS.put(&mut data, self.num_ports);
        field::SYSTEM_GUID.put(&mut data, self.system_guid.0);
        field::NODE_GUID.put(&mut data, self.node_guid.0);
        field::PORT_GUID.put(&mut data, self.port_guid.0);
        field::PARTITION_CAP.put(&mut data, self.partition_cap);
        field::DEVICE_ID.put(&mut data, self.device_id);
        field::REVISION.put(&mut data, self.revision);
        field::LOCAL_PORT.put(&mut data, self.local_port.0);
        field::VENDOR_ID.put(&mut data, self.vendor_id);
        data
    }
}
