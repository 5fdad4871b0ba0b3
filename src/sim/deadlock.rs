//! Deadlock, found when it closes.
//!
//! Every queue has one head, every waiting head waits for one out lane, and every out lane feeds one buffer. So waiting
//! is a function on lanes, and a cycle of it in which no buffer has room is a deadlock (docs/SIMULATOR.md, *Deadlock*).
//! Room includes credits on their way back. A busy link, a port that holds its data, and a lane whose turn has not come
//! are waits that time ends, and no edges. An edge appears only when a head begins to wait or a buffer fills up, so
//! following the function from there finds every cycle as it closes. With the latch `grant` a cycle is final only once
//! no table will be written any more: it stays a suspicion until [`Sim::confirm_deadlock`].

use super::index::{Dense, InLane};
use super::out_port::FarEnd;
use super::plane::DataPlane;
use super::wheel::{TICKS_PER_NS, Ticks};
use super::{Latch, Sim};
use crate::fabric::PortId;
use crate::ids::{Lid, Sl, Vl};

/// One packet of a deadlock: where it stands and what it waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckPacket {
    /// The input port in whose buffer it stands.
    pub input: PortId,
    /// The lane of that buffer.
    pub input_vl: Vl,
    /// The output port that it waits for.
    pub output: PortId,
    /// The lane that it waits for there.
    pub output_vl: Vl,
    /// Its destination.
    pub dlid: Lid,
    /// Its service level.
    pub sl: Sl,
    /// When it was handed to its send queue, or taken over by the last router on its way, in nanoseconds.
    pub born_ns: u64,
}

/// Deadlocks found, suspected and broken.
#[derive(Default)]
pub(super) struct Deadlocks {
    /// The first deadlock that is final: its packets, in the order of their waits.
    pub found: Option<Vec<StuckPacket>>,
    /// The run continues after a deadlock.
    pub outlasted: bool,
    /// In lanes whose waits closed a cycle that a write to the tables, or a lifetime limit, may still open, by their
    /// latest closing; each at most once.
    suspects: Vec<InLane>,
    /// How many cycles closed that lifetime limits break. Once [`Sim::confirm_deadlock`] has been called, without those
    /// that still stand.
    pub broken: u64,
}

impl Deadlocks {
    /// Suspects a cycle that has closed at a lane.
    fn suspect(&mut self, lane: InLane) {
        // A write that is still to come may open a cycle suspected later and leave this one, so every suspicion is
        // kept.
        self.suspects.retain(|&suspect| suspect != lane);
        self.suspects.push(lane);
    }
}

impl DataPlane {
    /// The in lane whose buffer is full for the head of `lane`; none where the head waits for nothing but time.
    #[inline]
    fn blocked_on(&self, lane: InLane) -> Option<InLane> {
        let queue = &self.lanes[lane];
        if queue.head.is_none() || queue.waits_for.is_none() {
            return None;
        }
        let port = &self.ports[self.port_of(queue.waits_for)];
        // No edge: a sink always has room, and a change of state ends the wait for a port that holds its data.
        if port.far_end == FarEnd::Sink || !port.sends() {
            return None;
        }
        let down = self.in_lane(port.peer, self.vl_of(queue.waits_for));
        let ends = self.lanes.ends_of(down);
        // The first in line decides: while the buffer has room for its head, the line moves, and this head with it.
        let need = u32::from(self.packets[self.lanes[ends.line.first_waiter].head].credits);
        // `held` leaves out credits on their way back, so room that is only late is no edge. A wait for a busy link or
        // for a turn is none either, because the buffer has room.
        (ends.queue.held + need > u32::from(self.capacity)).then_some(down)
    }

    /// Whether waiting leads from a lane back to it.
    #[inline]
    fn closes_cycle(&self, lane: InLane) -> bool {
        let mut next = lane;
        // Waiting may lead into a cycle without `lane`, found when it closed; the bound ends the walk there.
        for _ in 0..self.lanes.len() {
            match self.blocked_on(next) {
                None => return false,
                Some(down) if down == lane => return true,
                Some(down) => next = down,
            }
        }
        false
    }

    /// A lane of the cycle to which waiting leads from `lane`; none where waiting ends.
    fn lane_of_cycle(&self, lane: InLane) -> Option<InLane> {
        let mut seen = vec![false; self.lanes.len()];
        let mut next = lane;
        while let Some(down) = self.blocked_on(next) {
            if std::mem::replace(&mut seen[next.index()], true) {
                return Some(next);
            }
            next = down;
        }
        None
    }

    /// The heads of the cycle that `lane` is in.
    fn cycle_from(&self, lane: InLane) -> Vec<StuckPacket> {
        let mut cycle = Vec::new();
        let mut next = lane;
        loop {
            let queue = &self.lanes[next];
            let packet = &self.packets[queue.head];
            let (input, output) = (self.port_of(next), self.port_of(queue.waits_for));
            cycle.push(StuckPacket {
                input,
                input_vl: Vl::masked(self.vl_of(next)),
                output,
                output_vl: Vl::masked(self.vl_of(queue.waits_for)),
                dlid: Lid(packet.dlid),
                sl: Sl::masked(packet.sl),
                born_ns: self.packets.born[queue.head] / TICKS_PER_NS,
            });
            next = self.downstream(queue.waits_for);
            if next == lane {
                return cycle;
            }
        }
    }
}

impl Sim {
    /// Follows the waits from `lane`: a way back to it is a deadlock.
    #[inline]
    pub(super) fn look_for_deadlock(&mut self, lane: InLane) {
        // Only the place where an edge has just appeared can close a cycle, so following the waits from there misses
        // none.
        if self.deadlocks.found.is_none() && self.plane.closes_cycle(lane) {
            self.deadlock_closed(lane);
        }
    }

    #[cold]
    fn deadlock_closed(&mut self, lane: InLane) {
        let cycle = self.plane.cycle_from(lane);
        // A limit on one packet suffices: its discard opens the cycle, and the run continues, if it lasts that long.
        if self.is_limited(&cycle) {
            self.deadlocks.broken += 1;
            self.deadlocks.suspect(lane);
        } else if self.plane.rules.latch == Latch::Grant {
            // A write that is still to come may change a choice of the cycle.
            self.deadlocks.suspect(lane);
        } else {
            self.deadlocks.found = Some(cycle);
        }
    }

    /// Whether a lifetime limit will discard a packet of a cycle.
    fn is_limited(&self, cycle: &[StuckPacket]) -> bool {
        self.limit(cycle).is_some()
    }

    /// The first limit that discards a packet of a cycle, in ticks.
    fn limit(&self, cycle: &[StuckPacket]) -> Option<Ticks> {
        let limit = |stuck: &StuckPacket| self.lifetimes.limit(&self.plane, &self.devices, stuck.output);
        cycle.iter().filter_map(limit).min().filter(|_| self.lifetimes.any())
    }

    /// The lifetime limit that would break the deadlock that ended the run, had it lasted longer, in nanoseconds; none
    /// without a deadlock or limits.
    pub fn deadlock_limit_ns(&self) -> Option<u64> {
        self.limit(self.deadlock()?).map(|ticks| ticks / TICKS_PER_NS)
    }

    /// Decides all suspicions. The caller states by this call that no table will be written any more, and that the run
    /// ends, so a cycle that stands now stands for ever, or until a lifetime limit that the run does not reach. Where
    /// several stand, the one that closed last is reported.
    pub fn confirm_deadlock(&mut self) {
        self.assert_conserved();
        let suspects = std::mem::take(&mut self.deadlocks.suspects);
        // Writes may have changed the choices since: what counts is the cycle to which waiting leads now. A cycle that
        // stands has stood since it closed, so one of its lanes is among the suspects.
        let standing = suspects.into_iter().rev().filter_map(|suspect| self.plane.lane_of_cycle(suspect));
        let mut cycles: Vec<Vec<StuckPacket>> = Vec::new();
        for cycle in standing.map(|lane| self.plane.cycle_from(lane)) {
            if !cycles.iter().any(|other| other.contains(&cycle[0])) {
                cycles.push(cycle);
            }
        }
        let unbroken = cycles.iter().filter(|cycle| self.is_limited(cycle)).count();
        self.deadlocks.broken = self.deadlocks.broken.saturating_sub(unbroken as u64);
        if let Some(last) = cycles.into_iter().next() {
            self.deadlocks.found = Some(last);
        }
    }
}
