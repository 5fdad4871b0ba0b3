//! PortInfo as a port reports and accepts it: LIDs, states, keys, lanes, limits.
//!
//! The values of a Set are kept and read back. States, lanes, LIDs, the M_Key and, if configured, the lifetime limits
//! take effect. A port that is no end of paths (an external port of a switch) has no LID, key or manager of its own.

use super::Sim;
use crate::fabric::{NodeKind, PortId};
use crate::ids::{Lid, Lmc, PortNum};
use crate::wire::{Method, PortInfo, PortPhysState, PortState, Smp, VlCount, status};

/// The bit of a PortInfo modifier that says that its sender knows of extended speeds.
const KNOWS_EXTENDED_SPEEDS: u32 = 1 << 31;

impl Sim {
    /// The port that a modifier names; 0 means the one that received, at an end node.
    pub(super) fn port_asked(&self, port: PortId, modifier: u32) -> Result<PortId, u16> {
        let (node, num) = (self.plane.ports[port].node, modifier & !KNOWS_EXTENDED_SPEEDS);
        if num == 0 && !self.plane.is_switch(node) {
            return Ok(port);
        }
        if num > self.plane.num_ports(node).into() {
            return Err(status::INVALID_VALUE);
        }
        Ok(self.plane.port_at(node, PortNum(num as u8)))
    }

    /// PortInfo of `subject` as it now stands, asked for by a request that came in by `arrival`.
    pub(super) fn port_info(&self, subject: PortId, arrival: PortId, smp: &Smp) -> PortInfo {
        let port = &self.plane.ports[subject];
        let mut info = self.devices.ports[subject].clone();
        let management = port.num == 0;
        info.local_port_num = PortNum(self.plane.ports[arrival].num);
        info.port_state = if management { PortState::Active } else { port.state };
        let up = port.is_up() || management;
        info.port_phys_state = if up { PortPhysState::LinkUp } else { PortPhysState::Polling };
        info.capability_mask = self.devices.capability_mask(subject);
        if info.m_key_protect_bits > 0 && info.m_key != smp.m_key {
            info.m_key = 0;
        }
        // The answer to the Set that asks for it says so; afterwards it is done.
        info.client_reregister = smp.method == Method::Set && info.client_reregister;
        info
    }

    /// Writes PortInfo of `subject`, by a request that came in by `arrival`. Writes nothing if it refuses any value.
    pub(super) fn set_port_info(&mut self, subject: PortId, arrival: PortId, told: &PortInfo) -> Result<(), u16> {
        let node = self.plane.ports[subject].node;
        let end = self.plane.management_port(subject) == subject;
        if end && subject != self.plane.management_port(arrival) {
            // A port of a CA does not write another port's PortInfo.
            return Err(status::INVALID_VALUE);
        }
        let state = self.next_state(subject, told.port_state)?;
        self.check_lanes(subject, told.operational_vls)?;
        if end {
            check_lids(told.lid, told.lmc)?;
            self.set_lids(subject, told.lid, told.lmc);
            keep_end(&mut self.devices.ports[subject], told);
        }
        keep_link(&mut self.devices.ports[subject], told);
        self.set_lanes(subject, told.operational_vls);
        if let Some(state) = state {
            self.set_port_state(subject, state);
        }
        if end && told.client_reregister && self.fabric.node(node).kind != NodeKind::Switch {
            self.devices.reregistered.push(subject);
        }
        Ok(())
    }

    /// The end ports that were asked since the last call to query subnet administration anew
    /// (PortInfo:ClientReregister), in the order of the requests.
    pub fn take_reregistered(&mut self) -> Vec<PortId> {
        std::mem::take(&mut self.devices.reregistered)
    }

    /// A port takes LIDs; what is on its way to those that it held goes by what devices hold when it arrives.
    fn set_lids(&mut self, port: PortId, lid: Lid, lmc: Lmc) {
        let held = &self.devices.ports[port];
        if (held.lid, held.lmc) != (lid, lmc) {
            self.devices.take_lids(port, lid, lmc);
            self.sources.take_lids(port, lid, lmc);
            self.source_wakes(port);
        }
    }

    /// Lanes in operation must be some that the port has; a code without meaning leaves them.
    fn check_lanes(&self, port: PortId, told: VlCount) -> Result<(), u16> {
        let most = self.devices.ports[port].vl_cap.lanes();
        if told.lanes() > most { Err(status::INVALID_VALUE) } else { Ok(()) }
    }

    /// Sets the lanes in operation: what the SL-to-VL tables map beyond them is discarded from now on.
    fn set_lanes(&mut self, port: PortId, told: VlCount) {
        let held = &mut self.devices.ports[port];
        if let Some(lanes) = told.lanes().filter(|_| told != held.operational_vls) {
            held.operational_vls = told;
            self.plane.set_lanes(port, lanes);
        }
    }

    /// The state that a port enters on a Set to `told`; none where it keeps its state. ACTIVE and ARMED follow each
    /// other; DOWN bounces the link, which returns in INITIALIZE. A subnet that began cold requires the step through
    /// ARMED, as the specification does.
    ///
    /// # Errors
    /// The status that refuses a state which cannot follow.
    fn next_state(&self, port: PortId, told: PortState) -> Result<Option<PortState>, u16> {
        let at = &self.plane.ports[port];
        let next = match told {
            PortState::NoChange => return Ok(None),
            _ if at.num == 0 => return Ok(None),
            _ if !at.is_up() => return Err(status::INVALID_VALUE),
            PortState::Active if self.devices.cold && at.state == PortState::Initialize => {
                return Err(status::INVALID_VALUE);
            }
            // DOWN bounces the link, which trains again at once.
            PortState::Down => PortState::Initialize,
            PortState::Armed | PortState::Active => told,
            _ => return Err(status::INVALID_VALUE),
        };
        Ok(Some(next).filter(|&next| next != at.state))
    }

    fn set_port_state(&mut self, port: PortId, next: PortState) {
        self.enter_state(port, next);
        if self.devices.cold && next == PortState::Initialize {
            // Both ends lose a link that bounces; the end that was ordered to bounce it need not report that.
            let peer = self.plane.ports[port].peer;
            self.enter_state(peer, next);
            self.notice_link_state(peer);
        }
    }

    fn enter_state(&mut self, port: PortId, next: PortState) {
        self.plane.ports[port].state = next;
        if next == PortState::Initialize {
            // Emptied before the port is offered anything: a port in INITIALIZE discards what it holds
            // (`initialize-discards`).
            self.empty_buffers(port);
        }
        self.port_changed(port);
        self.source_wakes(port);
    }
}

/// A base LID and the LMC fit each other: the LMC's bits of the LID are zero. LID 0 takes the LIDs away.
fn check_lids(lid: Lid, lmc: Lmc) -> Result<(), u16> {
    let fits = lid.0 == 0 || lid.is_unicast() && lid.0 & (lmc.lids() - 1) == 0;
    if fits { Ok(()) } else { Err(status::INVALID_VALUE) }
}

/// Keeps what a Set says of an end of paths.
fn keep_end(held: &mut PortInfo, told: &PortInfo) {
    held.m_key = told.m_key;
    held.m_key_protect_bits = told.m_key_protect_bits;
    held.m_key_lease_period = told.m_key_lease_period;
    held.gid_prefix = told.gid_prefix;
    held.master_sm_lid = told.master_sm_lid;
    held.master_sm_sl = told.master_sm_sl;
    held.subnet_timeout = told.subnet_timeout;
    held.client_reregister = told.client_reregister;
    held.multicast_p_key_trap_suppression = told.multicast_p_key_trap_suppression;
    held.init_type_reply = told.init_type_reply;
    // Violations are counted here and can be set back, to nothing else than zero.
    for (held, told) in [
        (&mut held.m_key_violations, told.m_key_violations),
        (&mut held.p_key_violations, told.p_key_violations),
        (&mut held.q_key_violations, told.q_key_violations),
    ] {
        *held = if told == 0 { 0 } else { *held };
    }
}

/// Keeps what a Set says of a port's link.
fn keep_link(held: &mut PortInfo, told: &PortInfo) {
    held.link_width_enabled = enabled(held.link_width_enabled, told.link_width_enabled, held.link_width_supported, 255);
    held.link_speed_enabled = enabled(held.link_speed_enabled, told.link_speed_enabled, held.link_speed_supported, 15);
    let (now, supported) = (held.link_speed_ext_enabled, held.link_speed_ext_supported);
    held.link_speed_ext_enabled = enabled(now, told.link_speed_ext_enabled, supported, 31);
    if told.link_down_default_state != 0 {
        held.link_down_default_state = told.link_down_default_state;
    }
    if told.neighbour_mtu.bytes().is_some() {
        held.neighbour_mtu = told.neighbour_mtu;
    }
    held.vl_high_limit = told.vl_high_limit;
    held.vl_stall_count = told.vl_stall_count;
    held.hoq_life = told.hoq_life;
    held.partition_enforcement_inbound = told.partition_enforcement_inbound;
    held.partition_enforcement_outbound = told.partition_enforcement_outbound;
    held.filter_raw_inbound = told.filter_raw_inbound;
    held.filter_raw_outbound = told.filter_raw_outbound;
    held.local_phy_errors = told.local_phy_errors;
    held.overrun_errors = told.overrun_errors;
}

/// What is enabled after a Set: 0 leaves it, `all` means all that is supported. A link keeps the width and speed it
/// has.
fn enabled(now: u8, told: u8, supported: u8, all: u8) -> u8 {
    match told {
        0 => now,
        told if told == all => supported,
        told => told,
    }
}
