//! The settings of ports and switches besides tables: addresses, the path to the subnet manager, keys, lanes, limits.

use super::config::Config;
use crate::driver::Running;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, Sl};
use crate::plan::Lanes;
use crate::tables::{PathLayers, address};
use crate::wire::{Mtu, PortInfo, PortState, SwitchInfo, VlCount};

/// The facts that determine all settings of a subnet.
#[derive(Clone, Copy)]
pub(super) struct Basis<'a> {
    pub(super) config: &'a Config,
    /// The present fabric, with LIDs assigned.
    pub(super) fabric: &'a Fabric,
    sm: PortId,
    /// The half in use.
    half: Half,
    /// The paths that each source may use; none if every source may use every path.
    ways: Option<&'a PathLayers>,
    /// The data VLs in operation.
    pub(super) lanes: Lanes,
}

impl<'a> Basis<'a> {
    /// The basis of a subnet that is running, or about to.
    pub(super) fn of(running: &'a Running, config: &'a Config) -> Basis<'a> {
        Basis {
            config,
            fabric: &running.alive,
            sm: running.sm,
            half: running.half,
            ways: running.ways.as_deref(),
            lanes: Lanes::of_fabric(&running.alive, config.policy.reserved_sl),
        }
    }
}

/// The LID and service level by which a port reaches the SM on the half in use; the base LID if there are no halves.
fn master(basis: &Basis<'_>, port: PortId) -> (Lid, Sl) {
    let Basis { fabric, sm, half, ways, .. } = *basis;
    let own = address(fabric, ways, port, sm, half);
    let first = || (fabric.port(sm).lid.unwrap_or_default(), half.sls().next().unwrap_or_default());
    own.or_else(|| address(fabric, None, port, sm, half)).unwrap_or_else(first)
}

/// The wanted PortInfo of a port, based on what it and its peer reported; the state is left as it is.
pub(super) fn port(basis: &Basis<'_>, id: PortId, held: &PortInfo, peer: Option<&PortInfo>) -> PortInfo {
    let Basis { config, fabric, lanes, .. } = *basis;
    let owner = fabric.port(id);
    let switch = fabric.node(owner.node).is_switch();
    // Lanes that stay are written as they are: what a port answers is compared with them.
    let mut info = PortInfo { operational_vls: held.operational_vls, ..held.unchanged() };
    if !switch || owner.num == PortNum::ZERO {
        (info.lid, info.lmc) = (owner.lid.unwrap_or_default(), owner.lmc);
        (info.master_sm_lid, info.master_sm_sl) = master(basis, id);
        (info.m_key, info.m_key_lease_period) = (config.m_key, config.m_key_lease_s);
        info.m_key_protect_bits = if config.m_key == 0 { 0 } else { config.m_key_protection };
        (info.gid_prefix, info.subnet_timeout) = (config.subnet_prefix, config.subnet_timeout);
    }
    if owner.num != PortNum::ZERO {
        (info.neighbour_mtu, info.operational_vls) = link(held, peer, lanes);
        if held.port_state == PortState::Active && !must_retrain(held, &info) {
            (info.neighbour_mtu, info.operational_vls) = (held.neighbour_mtu, held.operational_vls);
        }
        // One high-priority packet, then one of low priority: neither list starves the other.
        info.vl_high_limit = 0;
        if switch {
            let leaf = fabric.neighbour(id).is_some_and(|other| !fabric.node(other).is_switch());
            info.hoq_life = if leaf { config.limits.leaf_hoq_life } else { config.limits.hoq_life };
            info.vl_stall_count = config.limits.vl_stall_count;
        }
    }
    info
}

/// MTU and lanes that a link is to have.
fn link(held: &PortInfo, peer: Option<&PortInfo>, lanes: Lanes) -> (Mtu, VlCount) {
    (least_mtu(held, peer), VlCount::at_most(lanes.count() as u8).unwrap_or(VlCount::One))
}

/// Whether a port that lets data through needs other limits of its link, which change only while the link is down: more
/// lanes than are in operation, or smaller packets. A port may keep more lanes than are in use, or a smaller MTU. It
/// also keeps its lanes if it does not say how many it has in operation, as ports of ibsim do not.
pub(super) fn must_retrain(held: &PortInfo, wanted: &PortInfo) -> bool {
    let too_few = match (held.operational_vls.lanes(), wanted.operational_vls.lanes()) {
        (Some(held), Some(wanted)) => held < wanted,
        _ => false,
    };
    let too_large = held.neighbour_mtu.bytes() > wanted.neighbour_mtu.bytes();
    held.port_state == PortState::Active && (too_few || too_large)
}

/// The first field in which a port differs from its wanted settings; none if it does not differ.
pub(super) fn difference(held: &PortInfo, wanted: &PortInfo) -> Option<&'static str> {
    let pairs = [
        ("LID", (held.lid, held.lmc) != (wanted.lid, wanted.lmc)),
        ("MasterSMLID", (held.master_sm_lid, held.master_sm_sl) != (wanted.master_sm_lid, wanted.master_sm_sl)),
        ("GidPrefix", held.gid_prefix != wanted.gid_prefix),
        ("NeighborMTU", held.neighbour_mtu != wanted.neighbour_mtu),
        ("OperationalVLs", held.operational_vls != wanted.operational_vls),
        ("VLHighLimit", held.vl_high_limit != wanted.vl_high_limit),
        ("HOQLife", held.hoq_life != wanted.hoq_life),
        ("VLStallCount", held.vl_stall_count != wanted.vl_stall_count),
        ("SubnetTimeOut", held.subnet_timeout != wanted.subnet_timeout),
        ("M_KeyProtectBits", held.m_key_protect_bits != wanted.m_key_protect_bits),
        ("M_KeyLeasePeriod", held.m_key_lease_period != wanted.m_key_lease_period),
        // A request without the port's M_Key reads 0 here; such a port was refused before (`keys`).
        ("M_Key", held.m_key != wanted.m_key),
    ];
    pairs.into_iter().find(|(_, differs)| *differs).map(|(name, _)| name)
}

/// The setting that a device must accept before it may carry traffic and has not accepted: its address, or enough
/// lanes.
pub(super) fn essential(answered: &PortInfo, wanted: &PortInfo) -> Option<&'static str> {
    if (answered.lid, answered.lmc) != (wanted.lid, wanted.lmc) {
        return Some("LID");
    }
    (answered.operational_vls != wanted.operational_vls).then_some("OperationalVLs")
}

fn least_mtu(held: &PortInfo, peer: Option<&PortInfo>) -> Mtu {
    let code = |info: &PortInfo| u8::from(info.mtu_cap);
    let least = peer.map_or(code(held), |peer| code(held).min(code(peer)));
    // A device that reports no MTU gets the smallest.
    Mtu::from(least.max(1))
}

/// The wanted SwitchInfo of a switch.
pub(super) fn switch(held: &SwitchInfo, top: Lid, config: &Config) -> SwitchInfo {
    SwitchInfo {
        linear_fdb_top: top,
        life_time_value: config.limits.life_time_value,
        // Writing 1 would clear the bit, and with it the report of a change.
        port_state_change: false,
        ..held.clone()
    }
}

/// Whether a switch's settings differ from the wanted ones.
pub(super) fn switch_differs(held: &SwitchInfo, wanted: &SwitchInfo) -> bool {
    (held.linear_fdb_top, held.life_time_value) != (wanted.linear_fdb_top, wanted.life_time_value)
}

/// The ports of a device to configure: every cabled one, and port 0 of a switch.
pub(super) fn ports_of(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = PortId> + '_ {
    let own = fabric.node(node).is_switch();
    fabric.ports_of(node).filter(move |&id| fabric.peer(id).is_some() || (own && fabric.port(id).num == PortNum::ZERO))
}
