//! Deadlock, found when it closes.
//!
//! Every queue has one head, every waiting head one out lane, every out lane one buffer behind it: waiting is a function
//! on lanes, and a cycle of it in which no buffer has room is a deadlock. Room counts credits on their way back as
//! there, and busy links, ports that hold their data, and lanes whose turn has not come are no waits. An edge appears
//! only when a head begins to wait or a buffer fills up, so following the function from there finds every cycle as it
//! closes. Where choices are made anew at every attempt a cycle is final only once no table can change any more: it is
//! kept as a suspicion until [`Sim::confirm_deadlock`].

use super::index::{Dense, InLane};
use super::plane::DataPlane;
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
    /// The output port it waits for.
    pub output: PortId,
    /// The lane it waits for there.
    pub output_vl: Vl,
    /// Its destination.
    pub dlid: Lid,
    /// Its service level.
    pub sl: Sl,
    /// When it was sent, in nanoseconds.
    pub born_ns: u64,
}

/// What is known of deadlocks.
#[derive(Default)]
pub(super) struct Deadlocks {
    /// The first that has closed for good.
    pub found: Option<Vec<StuckPacket>>,
    /// A deadlock does not end the run.
    pub outlasted: bool,
    /// An in lane of a cycle that a change of tables may yet open.
    suspect: Option<InLane>,
    /// Cycles that lifetime limits will break.
    pub broken: u64,
}

impl DataPlane {
    /// The in lane whose buffer the head of `lane` waits for in vain; none where it waits for nothing but time.
    #[inline]
    fn blocked_on(&self, lane: InLane) -> Option<InLane> {
        let queue = &self.ins[lane];
        if queue.head.is_none() || queue.waits_for.is_none() {
            return None;
        }
        let port = &self.ports[self.port_of(queue.waits_for) as usize];
        if port.sink || !port.sends() {
            return None;
        }
        let down = self.downstream(queue.waits_for);
        // Whoever is first in line decides: as long as there is room for him, the line moves, and with it this head.
        let first = self.outs[queue.waits_for].first_waiter;
        let need = u32::from(self.packets[self.ins[first].head].credits);
        (self.ins[down].held + need > u32::from(self.capacity)).then_some(down)
    }

    /// Whether waiting leads from a lane back to it.
    #[inline]
    fn closes_cycle(&self, lane: InLane) -> bool {
        let mut next = lane;
        // Waiting may lead into a cycle that `lane` is no part of, and which was found when it closed.
        for _ in 0..self.ins.len() {
            match self.blocked_on(next) {
                None => return false,
                Some(down) if down == lane => return true,
                Some(down) => next = down,
            }
        }
        false
    }

    /// A lane of the cycle that waiting leads to from `lane`; none where it leads to an end.
    fn lane_of_cycle(&self, lane: InLane) -> Option<InLane> {
        let mut seen = vec![false; self.ins.len()];
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
            let queue = &self.ins[next];
            let packet = &self.packets[queue.head];
            let (input, output) = (self.port_of(next), self.port_of(queue.waits_for));
            cycle.push(StuckPacket {
                input: PortId(input),
                input_vl: Vl::masked(self.vl_of(next)),
                output: PortId(output),
                output_vl: Vl::masked(self.vl_of(queue.waits_for)),
                dlid: Lid(packet.dlid),
                sl: Sl::masked(packet.sl),
                born_ns: packet.born / super::wheel::TICKS_PER_NS,
            });
            next = self.downstream(queue.waits_for);
            if next == lane {
                return cycle;
            }
        }
    }
}

impl Sim {
    /// Follows the waits from `lane`; a way back to it is a deadlock.
    #[inline]
    pub(super) fn look_for_deadlock(&mut self, lane: InLane) {
        if self.deadlocks.found.is_none() && self.plane.closes_cycle(lane) {
            self.deadlock_closed(lane);
        }
    }

    #[cold]
    fn deadlock_closed(&mut self, lane: InLane) {
        let cycle = self.plane.cycle_from(lane);
        let limited = |stuck: &StuckPacket| self.lifetimes.limits(&self.plane, &self.devices, stuck.output.0);
        if self.lifetimes.any() && cycle.iter().any(limited) {
            self.deadlocks.broken += 1;
        } else if self.plane.rules.latch == Latch::Grant {
            self.deadlocks.suspect = Some(lane);
        } else {
            self.deadlocks.found = Some(cycle);
        }
    }

    /// Decides a suspicion, once no table will be written any more: a cycle that stands now stands for ever.
    pub fn confirm_deadlock(&mut self) {
        self.assert_conserved();
        let Some(suspect) = self.deadlocks.suspect.take() else { return };
        if let Some(lane) = self.plane.lane_of_cycle(suspect) {
            self.deadlocks.found = Some(self.plane.cycle_from(lane));
        }
    }
}
