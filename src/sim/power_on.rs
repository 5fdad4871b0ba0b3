//! The attributes of devices that have just been powered on, as their agents report them.

use super::SimConfig;
use super::time_code::limit_code;
use crate::fabric::{Fabric, LinkSpeed, LinkWidth, Node, NodeKind, Port, PortZero};
use crate::ids::{Guid, PortNum};
use crate::wire::{Mtu, NodeInfo, NodeType, PortInfo, SwitchInfo, VlCount, Width, capability};

/// PortInfo:GIDPrefix of a port for which no other was set.
const DEFAULT_GID_PREFIX: u64 = 0xFE80_0000_0000_0000;

/// PortInfo:CapabilityMask of an end port.
const CAPABILITIES: u32 = capability::NOTICE
    | capability::TRAP
    | capability::SL_TO_VL
    | capability::EXTENDED_SPEEDS
    | capability::CAPABILITY_NOTICE
    | capability::CLIENT_REREGISTER;

/// PortInfo:CapabilityMask2: links of two lanes, links of HDR, links of NDR.
const CAPABILITIES2: u16 = 1 << 4 | 1 << 5 | 1 << 10;

/// Entries of each VL arbitration table, PortInfo:VLArbitrationHighCap and VLArbitrationLowCap.
pub const VL_ARBITRATION_ENTRIES: u8 = 8;

/// Entries of an end port's GUID table: one block.
pub const GUID_ENTRIES: u8 = 8;

/// Entries of an end node's partition table: four blocks, as of a ConnectX. Switches enforce no partitions.
pub const PARTITION_ENTRIES: u16 = 128;

/// Multicast LIDs that a switch has entries for.
pub const MULTICAST_ENTRIES: u16 = 1024;

/// An agent answers within 4.096 µs × 2^this: a millisecond, time for fifty requests before.
pub const RESPONSE_TIME: u8 = 8;

/// NodeInfo of a node as the port `local_port` reports it; `port_guid` is that of the port it manages.
pub fn node_info(node: &Node, port_guid: Option<Guid>, local_port: PortNum) -> NodeInfo {
    NodeInfo {
        base_version: 1,
        class_version: 1,
        node_type: node_type(node.kind),
        num_ports: node.num_ports,
        system_guid: node.system_guid.unwrap_or(Guid(0)),
        node_guid: node.guid,
        port_guid: port_guid.unwrap_or(node.guid),
        partition_cap: PARTITION_ENTRIES,
        device_id: node.device_id as u16,
        revision: 0,
        local_port,
        vendor_id: node.vendor_id,
    }
}

/// SwitchInfo of a switch.
pub fn switch_info(node: &Node, config: &SimConfig) -> SwitchInfo {
    SwitchInfo {
        linear_fdb_cap: node.lft_capacity,
        multicast_fdb_cap: MULTICAST_ENTRIES,
        life_time_value: limit_code(config.switch_lifetime_ns),
        optimised_sl_to_vl_programming: u8::from(node.optimised_sl_to_vl),
        enhanced_port0: node.port_zero == PortZero::Enhanced,
        ..SwitchInfo::default()
    }
}

/// Whether a port is an end of paths: one of a CA or router, or port 0 of a switch.
pub fn is_end(fabric: &Fabric, port: &Port) -> bool {
    fabric.node(port.node).is_switch() == (port.num == PortNum::ZERO)
}

/// PortInfo of a port: its capabilities, no values set, no LID. In a cold subnet a port has no more lanes than the run;
/// elsewhere it reports all lanes that its cable's description gives it, with the run's lanes in operation.
pub fn port_info(fabric: &Fabric, port: &Port, config: &SimConfig, cold: bool) -> PortInfo {
    let width = Width::from(port.width);
    let cap = if cold { port.data_vls.min(config.data_vls) } else { port.data_vls };
    let lanes = |count: u8| VlCount::at_most(count).unwrap_or(VlCount::One);
    let mut info = PortInfo {
        link_width_active: width,
        link_width_supported: width.into(),
        link_width_enabled: width.into(),
        link_down_default_state: 2,
        mtu_cap: Mtu::B4096,
        neighbour_mtu: Mtu::B4096,
        vl_cap: lanes(cap),
        operational_vls: lanes(config.data_vls),
        vl_arbitration_high_cap: VL_ARBITRATION_ENTRIES,
        vl_arbitration_low_cap: VL_ARBITRATION_ENTRIES,
        hoq_life: limit_code(config.hoq_lifetime_ns),
        vl_stall_count: config.vl_stall_count,
        ..PortInfo::default()
    };
    info.set_speed(port.speed);
    if is_end(fabric, port) {
        info.gid_prefix = DEFAULT_GID_PREFIX;
        info.capability_mask = CAPABILITIES;
        info.guid_cap = GUID_ENTRIES;
        info.resp_time_value = RESPONSE_TIME;
        if port.width == LinkWidth::X2 || port.speed >= LinkSpeed::Hdr {
            info.capability_mask |= capability::CAPABILITY_MASK2;
            info.capability_mask2 = CAPABILITIES2;
        }
    }
    info
}

/// NodeInfo:NodeType.
pub fn node_type(kind: NodeKind) -> NodeType {
    match kind {
        NodeKind::Switch => NodeType::Switch,
        NodeKind::Ca => NodeType::ChannelAdapter,
        NodeKind::Router => NodeType::Router,
    }
}
