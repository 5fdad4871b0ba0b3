//! Deadlock, found when it closes.
//!
//! Every queue has one head, every waiting head one out lane, every out lane one buffer behind it: waiting is a function
//! on lanes, and a cycle of it in which no buffer has room is a deadlock. Room counts credits on their way back as
//! there, and busy links, ports that hold their data, and lanes whose turn has not come are no waits. An edge appears
//! only when a head begins to wait or a buffer fills up, so following the function from there finds every cycle as it
//! closes. Where choices are made anew at every attempt a cycle is final only once no table can change any more: it is
//! kept as a suspicion until [`Sim::confirm_deadlock`].

use super::packet::NIL;
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

impl Sim {
    /// The in lane whose buffer the head of `lane` waits for in vain; none where it waits for nothing but time.
    #[inline]
    fn blocked_on(&self, lane: u32) -> Option<u32> {
        let queue = &self.net.ins[lane as usize];
        if queue.head == NIL || queue.waits_for == NIL {
            return None;
        }
        let port = &self.net.ports[self.net.port_of(queue.waits_for) as usize];
        if port.sink || !port.sends {
            return None;
        }
        let down = self.net.across(queue.waits_for);
        let first = self.net.outs[queue.waits_for as usize].first_waiter;
        let need = u32::from(self.packets[self.net.ins[first as usize].head].credits);
        (self.net.ins[down as usize].held + need > u32::from(self.net.capacity)).then_some(down)
    }

    /// Follows the waits from `lane`; a way back to it is a deadlock.
    #[inline]
    pub(super) fn look_for_deadlock(&mut self, lane: u32) {
        if self.deadlock.is_some() {
            return;
        }
        let mut next = lane;
        for _ in 0..self.net.ins.len() {
            match self.blocked_on(next) {
                None => return,
                Some(down) if down == lane => return self.deadlock_closed(lane),
                Some(down) => next = down,
            }
        }
    }

    #[cold]
    fn deadlock_closed(&mut self, lane: u32) {
        let limited = |stuck: &StuckPacket| self.is_limited(stuck.output.0);
        if self.limits && self.cycle_from(lane).iter().any(limited) {
            self.deadlocks_broken += 1;
        } else if self.latch == Latch::Grant {
            self.suspect = Some(lane);
        } else {
            self.deadlock = Some(self.cycle_from(lane));
        }
    }

    /// Decides a suspicion, once no table will be written any more: a cycle that stands now stands for ever.
    pub fn confirm_deadlock(&mut self) {
        let Some(lane) = self.suspect.take() else { return };
        let mut next = lane;
        let mut seen = vec![false; self.net.ins.len()];
        while let Some(down) = self.blocked_on(next) {
            if std::mem::replace(&mut seen[next as usize], true) {
                self.deadlock = Some(self.cycle_from(next));
                return;
            }
            next = down;
        }
    }

    fn cycle_from(&self, lane: u32) -> Vec<StuckPacket> {
        let mut cycle = Vec::new();
        let mut next = lane;
        loop {
            let queue = &self.net.ins[next as usize];
            let packet = &self.packets[queue.head];
            let (input, output) = (self.net.port_of(next), self.net.port_of(queue.waits_for));
            cycle.push(StuckPacket {
                input: PortId(input),
                input_vl: Vl::masked(self.net.vl_of(next)),
                output: PortId(output),
                output_vl: Vl::masked(self.net.vl_of(queue.waits_for)),
                dlid: Lid(packet.dlid),
                sl: Sl::masked(packet.sl),
                born_ns: packet.born / super::wheel::TICKS_PER_NS,
            });
            next = self.net.across(queue.waits_for);
            if next == lane {
                return cycle;
            }
        }
    }
}
