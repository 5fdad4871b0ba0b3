//! The facts of a fabric that no device was read for: what its ports would report once brought up.

use super::directory::DirectoryFacts;
use super::remote::Remote;
use super::service_levels::FirstOfHalf;
use crate::fabric::{Fabric, NodeId, NodeKind, PortId, PortZero};
use crate::ids::{Guid, PortNum};
use crate::tables::SubnetTables;
use crate::wire::{
    DEFAULT_P_KEY, Gid, Mtu, NodeInfo, NodeType, PortInfo, PortPhysState, PortState, SmInfo, SmState, SwitchInfo,
    VlCount, Width, capability,
};
use std::collections::BTreeMap;
use std::sync::Arc;

impl DirectoryFacts {
    /// The facts of `fabric` as a subnet manager on `sm` would leave it: linked ports ACTIVE, `mtu` on every link, the
    /// default partition, no other SM.
    pub fn modelled(fabric: Arc<Fabric>, tables: Arc<SubnetTables>, sm: PortId, mtu: Mtu) -> DirectoryFacts {
        let nodes = fabric.nodes().map(|(node, found)| found.present.then(|| node_info(&fabric, node))).collect();
        let switches =
            fabric.nodes().map(|(node, found)| found.is_switch().then(|| switch_info(&fabric, node))).collect();
        let ports = fabric.ports().map(|(port, _)| Some(port_info(&fabric, port, sm, mtu))).collect();
        let own = fabric.port_guid(sm);
        let manager = SmInfo { guid: own, state: SmState::Master, ..SmInfo::default() };
        DirectoryFacts {
            managers: vec![(sm, manager)],
            nodes,
            switches,
            ports,
            p_keys: vec![vec![DEFAULT_P_KEY]; fabric.port_count()],
            vl_arbitration: BTreeMap::new(),
            subnet_prefix: Gid::DEFAULT_PREFIX,
            packet_life_time: 18,
            half: tables.sa_half,
            service_levels: Arc::new(FirstOfHalf),
            remote: Arc::new(Remote::none()),
            multicast: None,
            fabric,
            tables,
            sm,
        }
    }
}

fn node_info(fabric: &Fabric, node: NodeId) -> NodeInfo {
    let found = fabric.node(node);
    NodeInfo {
        base_version: 1,
        class_version: 1,
        node_type: match found.kind {
            NodeKind::Switch => NodeType::Switch,
            NodeKind::Ca => NodeType::ChannelAdapter,
            NodeKind::Router => NodeType::Router,
        },
        num_ports: found.num_ports,
        system_guid: found.system_guid.unwrap_or(Guid(0)),
        node_guid: found.guid,
        port_guid: found.guid,
        partition_cap: 32,
        device_id: found.device_id as u16,
        revision: 0,
        local_port: PortNum::ZERO,
        vendor_id: found.vendor_id,
    }
}

fn switch_info(fabric: &Fabric, node: NodeId) -> SwitchInfo {
    let found = fabric.node(node);
    SwitchInfo {
        linear_fdb_cap: found.lft_capacity,
        linear_fdb_top: fabric.max_lid().unwrap_or_default(),
        life_time_value: 18,
        optimised_sl_to_vl_programming: u8::from(found.optimised_sl_to_vl),
        enhanced_port0: found.port_zero == PortZero::Enhanced,
        ..SwitchInfo::default()
    }
}

fn port_info(fabric: &Fabric, port: PortId, sm: PortId, mtu: Mtu) -> PortInfo {
    let found = fabric.port(port);
    let lanes = VlCount::at_most(found.data_vls).unwrap_or(VlCount::One);
    let owns = !fabric.node(found.node).is_switch() || found.num == PortNum::ZERO;
    let up = found.peer.is_some() || found.num == PortNum::ZERO;
    let width = Width::from(found.width);
    let mut info = PortInfo {
        gid_prefix: if owns { Gid::DEFAULT_PREFIX } else { 0 },
        lid: found.lid.filter(|_| owns).unwrap_or_default(),
        lmc: found.lmc,
        master_sm_lid: fabric.port(sm).lid.unwrap_or_default(),
        capability_mask: if port == sm { capability::IS_SM } else { 0 } | capability::SL_TO_VL,
        local_port_num: found.num,
        port_state: if up { PortState::Active } else { PortState::Down },
        port_phys_state: if up { PortPhysState::LinkUp } else { PortPhysState::Polling },
        link_width_active: width,
        link_width_supported: width.into(),
        link_width_enabled: width.into(),
        neighbour_mtu: mtu,
        mtu_cap: mtu,
        vl_cap: lanes,
        operational_vls: lanes,
        subnet_timeout: 18,
        ..PortInfo::default()
    };
    info.set_speed(found.speed);
    info
}
