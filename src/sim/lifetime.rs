//! Lifetime limits: how long a packet may head its queue (head-of-queue limit) and stay in a switch (switch limit).
//!
//! Limits are the run's own, or those that ports and switches hold at that moment ([`SimConfig`]). When a head joins a
//! line, its expiry is noted and pushed as an event. One note for each lane suffices, since a queue has one head; an
//! event that finds another note or another head means nothing. Hosts and routers have no such limits.

use super::clock::Clock;
use super::device::Devices;
use super::index::{By, InLane, OutLane};
use super::out_port::PortRole;
use super::plane::DataPlane;
use super::time_code::coded_limit_ns;
use super::wheel::{SimEvent, TICKS_PER_NS, Ticks};
use super::{SimConfig, kind};
use crate::fabric::PortId;

/// The limits of a run, and what they discarded.
pub(super) struct Lifetimes {
    /// Limits are those that ports (HOQLife) and switches (LifeTimeValue) hold.
    as_programmed: bool,
    /// Head-of-queue limit of the run, in ticks; 0 for none.
    hoq: Ticks,
    /// Switch limit of the run, in ticks; 0 for none.
    switch: Ticks,
    /// By in lane: when its head expires, in ticks. Empty where no packet ever expires.
    expiries: By<InLane, Ticks>,
    /// Packets of a lane that the head-of-queue limit discards in a row until it stalls; 0: any number.
    stall_count: u8,
    /// By out lane. Empty where no lane ever stalls.
    stalls: By<OutLane, Stall>,
    /// How often a lane stalled.
    pub stalled: u64,
    /// Packets discarded.
    pub discards: u64,
}

/// What a lane needs for VLStallCount.
#[derive(Clone, Copy, Default)]
struct Stall {
    /// Packets that the head-of-queue limit has discarded since the lane sent last.
    in_a_row: u8,
    /// When its stall ends, or has ended, in ticks.
    until: Ticks,
}

/// A lane that stalls is so for this many head-of-queue limits (IBA 18.2.5.4).
const STALL_LIMITS: u64 = 8;

impl Lifetimes {
    pub fn new(config: &SimConfig, lanes: usize) -> Lifetimes {
        let any = config.limits_as_programmed || config.hoq_lifetime_ns > 0 || config.switch_lifetime_ns > 0;
        let stalls = config.limits_as_programmed || config.vl_stall_count > 0;
        Lifetimes {
            as_programmed: config.limits_as_programmed,
            hoq: config.hoq_lifetime_ns * TICKS_PER_NS,
            switch: config.switch_lifetime_ns * TICKS_PER_NS,
            expiries: By::filled(0, if any { lanes } else { 0 }),
            stall_count: config.vl_stall_count,
            stalls: By::filled(Stall::default(), if stalls { lanes } else { 0 }),
            stalled: 0,
            discards: 0,
        }
    }

    /// Whether any packet may ever expire.
    #[inline]
    pub fn any(&self) -> bool {
        !self.expiries.is_empty()
    }

    /// Whether the head of a queue has stood in its switch for the switch limit or longer.
    pub fn outlived(&self, plane: &DataPlane, devices: &Devices, clock: &Clock, lane: InLane) -> bool {
        let port = plane.port_of(lane);
        let in_switch = plane.ports[port].role == PortRole::Switch;
        let tail = plane.packets[plane.lanes[lane].head].tail;
        // The switch limit runs from the arrival of the tail, however many lines the packet has stood in since.
        let limit = self.switch_limit(plane, devices, port);
        in_switch && limit.is_some_and(|limit| clock.now() >= tail.saturating_add(limit))
    }

    /// How long a packet may head its queue for an output, in ticks; none without limit.
    fn hoq_limit(&self, devices: &Devices, output: PortId) -> Option<Ticks> {
        if self.as_programmed {
            return coded_limit_ns(devices.ports[output].hoq_life).map(|ns| ns * TICKS_PER_NS);
        }
        Some(self.hoq).filter(|&limit| limit > 0)
    }

    /// How long a packet may stay in the switch of a port, in ticks; none without limit.
    fn switch_limit(&self, plane: &DataPlane, devices: &Devices, port: PortId) -> Option<Ticks> {
        if self.as_programmed {
            let device = &devices.list[plane.ports[port].node];
            return coded_limit_ns(device.switch.life_time_value).map(|ns| ns * TICKS_PER_NS);
        }
        Some(self.switch).filter(|&limit| limit > 0)
    }

    /// The limit that discards a packet that heads a queue and waits for an output, in ticks; none without one.
    pub fn limit(&self, plane: &DataPlane, devices: &Devices, output: PortId) -> Option<Ticks> {
        let limits = [self.hoq_limit(devices, output), self.switch_limit(plane, devices, output)];
        limits.into_iter().flatten().min()
    }

    /// Notes when the head of a queue, which has just joined a line, expires.
    #[cold]
    pub fn set_expiry(&mut self, plane: &DataPlane, devices: &Devices, clock: &mut Clock, lane: InLane) {
        if plane.ports[plane.port_of(lane)].role != PortRole::Switch {
            return;
        }
        let queue = &plane.lanes[lane];
        let output = plane.port_of(queue.waits_for);
        // The head-of-queue limit runs from now: a head that joins another line begins it anew.
        let by_hoq = self.hoq_limit(devices, output).map(|limit| clock.now() + limit);
        let tail = plane.packets[queue.head].tail;
        let by_life = self.switch_limit(plane, devices, output).map(|limit| tail.saturating_add(limit));
        let Some(expiry) = by_hoq.into_iter().chain(by_life).min() else { return };
        let expiry = expiry.max(clock.now());
        // The note voids any earlier event of this lane: `is_due` compares with the note alone.
        self.expiries[lane] = expiry;
        clock.push(expiry, SimEvent::new(kind::EXPIRE, queue.head.0, lane.0));
    }

    /// The head-of-queue limit has discarded a packet that waited for a lane. Reports whether the lane stalls for it.
    pub fn counts_towards_stall(&mut self, devices: &Devices, lane: (PortId, OutLane), now: Ticks) -> bool {
        let (output, lane) = lane;
        let most = if self.as_programmed { devices.ports[output].vl_stall_count } else { self.stall_count };
        let Some(limit) = self.hoq_limit(devices, output).filter(|_| most > 0) else { return false };
        let own = &mut self.stalls[lane];
        own.in_a_row += 1;
        if own.in_a_row < most {
            return false;
        }
        *own = Stall { in_a_row: 0, until: now + STALL_LIMITS * limit };
        self.stalled += 1;
        true
    }

    /// Whether a lane is stalled: it discards all that is to go by it.
    #[inline]
    pub fn is_stalled(&self, lane: OutLane, now: Ticks) -> bool {
        !self.stalls.is_empty() && now < self.stalls[lane].until
    }

    /// A lane has sent a packet.
    #[inline]
    pub fn sent(&mut self, lane: OutLane) {
        if !self.stalls.is_empty() {
            self.stalls[lane].in_a_row = 0;
        }
    }

    /// A port has lost its link, or begins anew in INITIALIZE: none of its lanes is stalled any more.
    pub fn end_stalls(&mut self, lanes: impl Iterator<Item = OutLane>) {
        if !self.stalls.is_empty() {
            lanes.for_each(|lane| self.stalls[lane] = Stall::default());
        }
    }

    /// Whether the head of a queue expires now.
    pub fn is_due(&self, lane: InLane, now: Ticks) -> bool {
        self.expiries[lane] == now
    }
}
