//! PortInfo as a port reports and accepts it: LIDs, states, keys, lanes, limits.
//!
//! The values of a Set are kept and read back. States, lanes, LIDs, the M_Key and, if configured, the lifetime limits
//! take effect. Where the run says so, lanes and MTU of an ACTIVE port do not change. A port that is no end of paths
//! (an external port of a switch) has no LID, key or manager of its own.

use super::Sim;
use super::device::{Consequence, Devices};
use super::errand::Errand;
use super::out_port::OutPort;
use super::plane::DataPlane;
use super::wheel::TICKS_PER_NS;
use crate::fabric::PortId;
use crate::ids::{Half, Lid, Lmc, PortNum};
use crate::wire::{Method, PortInfo, PortPhysState, PortState, Smp, status};

/// The bit of a PortInfo modifier that says that its sender knows of extended speeds.
const KNOWS_EXTENDED_SPEEDS: u32 = 1 << 31;

/// The port that a modifier names to the device of `port`; 0 means the one that received, at an end node.
///
/// # Errors
/// The status that refuses a number which the node has no port for.
pub(super) fn port_asked(plane: &DataPlane, port: PortId, modifier: u32) -> Result<PortId, u16> {
    plane.port_named(port, modifier & !KNOWS_EXTENDED_SPEEDS).ok_or(status::INVALID_VALUE)
}

impl Devices {
    /// PortInfo of `subject` as it now stands, asked for by a request that came in by `arrival`.
    pub(super) fn port_info(&self, plane: &DataPlane, subject: PortId, arrival: PortId, smp: &Smp) -> PortInfo {
        let port = &plane.ports[subject];
        let mut info = self.ports[subject].clone();
        let management = port.num == 0;
        info.local_port_num = PortNum(plane.ports[arrival].num);
        info.port_state = if management { PortState::Active } else { port.state };
        let up = port.is_up() || management;
        info.port_phys_state = if up { PortPhysState::LinkUp } else { PortPhysState::Polling };
        info.capability_mask = self.capability_mask(subject);
        if info.m_key_protect_bits > 0 && info.m_key != smp.m_key {
            info.m_key = 0;
        }
        // The answer to the Set that asks for it says so; afterwards it is done.
        info.client_reregister = smp.method == Method::Set && info.client_reregister;
        info
    }

    /// Writes PortInfo of `subject`, by a request that came in by `arrival`, and lists what follows: LIDs, lanes, the
    /// state.
    ///
    /// # Errors
    /// The status that refuses a value; then none is written.
    pub(super) fn set_port_info(
        &mut self,
        plane: &DataPlane,
        subject: PortId,
        arrival: PortId,
        wanted: &PortInfo,
    ) -> Result<Vec<Consequence>, u16> {
        let end = plane.management_port(subject) == subject;
        if end && subject != plane.management_port(arrival) {
            // A port of a CA does not write another port's PortInfo.
            return Err(status::INVALID_VALUE);
        }
        let state = self.next_state(&plane.ports[subject], wanted.port_state)?;
        let held = &self.ports[subject];
        if wanted.operational_vls.lanes() > held.vl_cap.lanes() {
            return Err(status::INVALID_VALUE);
        }
        let port_state = plane.ports[subject].state;
        let stays_up = port_state == PortState::Active && state != Some(PortState::Initialize);
        if self.fixed_links && stays_up && plane.ports[subject].num != 0 && changes_link(held, wanted) {
            // What follows is undefined (section 14.2.5.6); here it is refused.
            return Err(status::INVALID_VALUE);
        }
        let mut consequences = Vec::new();
        if end {
            check_lids(wanted.lid, wanted.lmc)?;
            // What is on its way to the LIDs held before goes by what devices hold when it arrives.
            if (held.lid, held.lmc) != (wanted.lid, wanted.lmc) {
                self.take_lids(subject, wanted.lid, wanted.lmc);
                consequences.push(Consequence::Lids { port: subject, lid: wanted.lid, lmc: wanted.lmc });
            }
            keep_end(&mut self.ports[subject], wanted);
        }
        let held = &mut self.ports[subject];
        if held.vl_high_limit != wanted.vl_high_limit {
            consequences.push(Consequence::Arbitration(subject));
        }
        keep_link(held, wanted);
        // A code without meaning leaves the lanes as they are.
        if let Some(lanes) = wanted.operational_vls.lanes().filter(|_| wanted.operational_vls != held.operational_vls) {
            held.operational_vls = wanted.operational_vls;
            consequences.push(Consequence::Lanes(subject, lanes));
        }
        consequences.extend(state.map(|state| Consequence::State(subject, state)));
        if end && wanted.client_reregister && !plane.is_switch(plane.ports[subject].node) {
            consequences.push(Consequence::Reregister(subject));
        }
        Ok(consequences)
    }

    /// The state that a port enters on a Set to `wanted`; none where it keeps its state. ACTIVE and ARMED follow each
    /// other; DOWN bounces the link, which returns in INITIALIZE. A subnet that began cold requires the step through
    /// ARMED, as the specification does.
    ///
    /// # Errors
    /// The status that refuses a state which cannot follow.
    fn next_state(&self, at: &OutPort, wanted: PortState) -> Result<Option<PortState>, u16> {
        let next = match wanted {
            PortState::NoChange => return Ok(None),
            _ if at.num == 0 => return Ok(None),
            _ if !at.is_up() => return Err(status::INVALID_VALUE),
            PortState::Active if self.cold && at.state == PortState::Initialize => return Err(status::INVALID_VALUE),
            // DOWN bounces the link, which trains again at once.
            PortState::Down => PortState::Initialize,
            PortState::Armed | PortState::Active => wanted,
            _ => return Err(status::INVALID_VALUE),
        };
        Ok(Some(next).filter(|&next| next != at.state))
    }
}

impl Sim {
    /// The end ports that were asked since the last call to query subnet administration anew
    /// (PortInfo:ClientReregister), in the order of the requests.
    pub fn take_reregistered(&mut self) -> Vec<PortId> {
        std::mem::take(&mut self.devices.reregistered)
    }

    /// An end port was asked to query subnet administration again: it does so in its time, or the caller does for it.
    pub(super) fn reregister(&mut self, port: PortId) {
        match self.config.queries_within_ns {
            0 => self.devices.reregistered.push(port),
            within_ns => {
                let later = self.errands.up_to(within_ns * TICKS_PER_NS);
                self.errand(self.clock.now() + later, Errand::Query(port));
            }
        }
    }

    /// An end port has its paths from subnet administration, which answers with the half on which it is itself found.
    pub(super) fn queried(&mut self, port: PortId) {
        let half = Half::of_sl(self.devices.ports[port].master_sm_sl);
        let Some(source) = self.sources.at_port(port) else { return };
        // A newcomer has no paths that could stay as they are.
        if self.config.sources_move || source.is_silent() {
            self.tell_half(source.rank, half);
        }
    }

    pub(super) fn set_port_state(&mut self, port: PortId, next: PortState) {
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
        if next == PortState::Active {
            self.ledger.opened(port, self.clock.now());
        }
        if next == PortState::Initialize {
            // Emptied before the port is offered anything: a port in INITIALIZE discards what it holds
            // (`initialize-discards`).
            self.empty_buffers(port);
            self.lifetimes.end_stalls(self.plane.out_lanes(port));
        }
        self.port_changed(port);
        self.source_wakes(port);
    }
}

/// Whether a Set asks for other lanes or another MTU than a link has.
fn changes_link(held: &PortInfo, wanted: &PortInfo) -> bool {
    let lanes = wanted.operational_vls.lanes().is_some() && wanted.operational_vls != held.operational_vls;
    lanes || (wanted.neighbour_mtu.bytes().is_some() && wanted.neighbour_mtu != held.neighbour_mtu)
}

/// A base LID and the LMC fit each other: the LMC's bits of the LID are zero. LID 0 takes the LIDs away.
fn check_lids(lid: Lid, lmc: Lmc) -> Result<(), u16> {
    let fits = lid.0 == 0 || lid.is_unicast() && lid.0 & (lmc.lids() - 1) == 0;
    if fits { Ok(()) } else { Err(status::INVALID_VALUE) }
}

/// Keeps what a Set says of an end of paths.
fn keep_end(held: &mut PortInfo, wanted: &PortInfo) {
    held.m_key = wanted.m_key;
    held.m_key_protect_bits = wanted.m_key_protect_bits;
    held.m_key_lease_period = wanted.m_key_lease_period;
    held.gid_prefix = wanted.gid_prefix;
    held.master_sm_lid = wanted.master_sm_lid;
    held.master_sm_sl = wanted.master_sm_sl;
    held.subnet_timeout = wanted.subnet_timeout;
    held.client_reregister = wanted.client_reregister;
    held.multicast_p_key_trap_suppression = wanted.multicast_p_key_trap_suppression;
    held.init_type_reply = wanted.init_type_reply;
    // Violations are counted here and can be set back, to nothing else than zero.
    for (held, wanted) in [
        (&mut held.m_key_violations, wanted.m_key_violations),
        (&mut held.p_key_violations, wanted.p_key_violations),
        (&mut held.q_key_violations, wanted.q_key_violations),
    ] {
        *held = if wanted == 0 { 0 } else { *held };
    }
}

/// Keeps what a Set says of a port's link.
fn keep_link(held: &mut PortInfo, wanted: &PortInfo) {
    held.link_width_enabled =
        enabled(held.link_width_enabled, wanted.link_width_enabled, held.link_width_supported, 255);
    held.link_speed_enabled =
        enabled(held.link_speed_enabled, wanted.link_speed_enabled, held.link_speed_supported, 15);
    let (now, supported) = (held.link_speed_ext_enabled, held.link_speed_ext_supported);
    held.link_speed_ext_enabled = enabled(now, wanted.link_speed_ext_enabled, supported, 31);
    if wanted.link_down_default_state != 0 {
        held.link_down_default_state = wanted.link_down_default_state;
    }
    if wanted.neighbour_mtu.bytes().is_some() {
        held.neighbour_mtu = wanted.neighbour_mtu;
    }
    held.vl_high_limit = wanted.vl_high_limit;
    held.vl_stall_count = wanted.vl_stall_count;
    held.hoq_life = wanted.hoq_life;
    held.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
    held.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
    held.filter_raw_inbound = wanted.filter_raw_inbound;
    held.filter_raw_outbound = wanted.filter_raw_outbound;
    held.local_phy_errors = wanted.local_phy_errors;
    held.overrun_errors = wanted.overrun_errors;
}

/// What is enabled after a Set: 0 leaves it, `all` means all that is supported. A link keeps the width and speed it
/// has.
fn enabled(now: u8, wanted: u8, supported: u8, all: u8) -> u8 {
    match wanted {
        0 => now,
        wanted if wanted == all => supported,
        wanted => wanted,
    }
}
