//! Credits on their way back to the sender.
//!
//! As long as a sender has credits enough nobody asks when others come back: a return is noted with its time, and taken
//! in when the next one is noted or more are needed. Only where a packet waits for credits is each return an event. So
//! a lane that is not congested costs no events for its credits, and no packet goes earlier or later for it.

use super::packet::NIL;
use super::wheel::{Event, Ticks};
use super::{Sim, kind};

/// Credits that are back at `at`.
#[derive(Clone, Copy)]
struct Return {
    at: Ticks,
    credits: u16,
    /// The next one of the same lane, in no order of time.
    next: u32,
}

/// All returns noted, in one slab.
pub struct Returns {
    slab: Vec<Return>,
    /// The first entry that is free.
    free: u32,
}

impl Default for Returns {
    fn default() -> Returns {
        Returns { slab: Vec::new(), free: NIL }
    }
}

impl Returns {
    fn insert(&mut self, entry: Return) -> u32 {
        if self.free == NIL {
            self.slab.push(entry);
            return (self.slab.len() - 1) as u32;
        }
        let index = self.free;
        self.free = std::mem::replace(&mut self.slab[index as usize], entry).next;
        index
    }

    /// Takes an entry out.
    fn remove(&mut self, index: u32) -> Return {
        let entry = &mut self.slab[index as usize];
        let held = *entry;
        entry.next = std::mem::replace(&mut self.free, index);
        held
    }
}

impl Sim {
    /// Credits set out for an out lane and are there at `at`.
    #[inline]
    pub(super) fn return_credits(&mut self, out_lane: u32, credits: u16, at: Ticks) {
        let out = &mut self.net.outs[out_lane as usize];
        if out.starved {
            return self.wheel.push(at, Event::new(kind::CREDIT, credits.into(), out_lane));
        }
        if out.latest_at <= self.now {
            out.credits += out.latest;
        } else {
            out.earlier = self.returns.insert(Return { at: out.latest_at, credits: out.latest, next: out.earlier });
        }
        (out.latest_at, out.latest) = (at, credits);
    }

    /// Credits have come back.
    pub(super) fn credit(&mut self, credits: u16, out_lane: u32) {
        let out = &mut self.net.outs[out_lane as usize];
        out.credits += credits;
        if out.first_waiter != NIL {
            self.serve(self.net.port_of(out_lane));
        }
    }

    /// Whether an out lane has its sender's credits for a packet; where not, every return is an event from now on, until
    /// the lane sends again.
    #[inline]
    pub(super) fn has_credits(&mut self, out_lane: u32, needed: u16) -> bool {
        self.net.outs[out_lane as usize].credits >= needed || self.take_in(out_lane, needed)
    }

    /// Takes in all that has come back; what is still on its way becomes events unless that is enough.
    #[cold]
    fn take_in(&mut self, out_lane: u32, needed: u16) -> bool {
        let out = &mut self.net.outs[out_lane as usize];
        if out.latest_at <= self.now {
            out.credits += std::mem::take(&mut out.latest);
        }
        let mut next = std::mem::replace(&mut out.earlier, NIL);
        while next != NIL {
            let entry = next;
            next = self.returns.slab[entry as usize].next;
            if self.returns.slab[entry as usize].at <= self.now {
                out.credits += self.returns.remove(entry).credits;
            } else {
                self.returns.slab[entry as usize].next = std::mem::replace(&mut out.earlier, entry);
            }
        }
        let enough = out.credits >= needed;
        if !enough {
            self.starve(out_lane);
        }
        enough
    }

    /// Makes events of the returns that are on their way, and of all to come.
    fn starve(&mut self, out_lane: u32) {
        let out = &mut self.net.outs[out_lane as usize];
        out.starved = true;
        let mut noted = Return { at: out.latest_at, credits: std::mem::take(&mut out.latest), next: out.earlier };
        out.earlier = NIL;
        loop {
            if noted.credits > 0 {
                self.wheel.push(noted.at, Event::new(kind::CREDIT, noted.credits.into(), out_lane));
            }
            if noted.next == NIL {
                return;
            }
            noted = self.returns.remove(noted.next);
        }
    }

    /// Both ends of a cable that comes back agree on what its sender has: returns that were on their way are void.
    pub(super) fn restore_credits(&mut self, out_lane: u32, credits: u16) {
        let out = &mut self.net.outs[out_lane as usize];
        let mut noted = std::mem::replace(&mut out.earlier, NIL);
        (out.credits, out.latest, out.starved) = (credits, 0, false);
        while noted != NIL {
            noted = self.returns.remove(noted).next;
        }
    }

    /// Credits that an out lane has at this moment.
    pub(super) fn credits_of(&self, out_lane: u32) -> u16 {
        let out = &self.net.outs[out_lane as usize];
        let latest = Return { at: out.latest_at, credits: out.latest, next: out.earlier };
        let before = |entry: &Return| (entry.next != NIL).then(|| self.returns.slab[entry.next as usize]);
        let noted = std::iter::successors(Some(latest), before);
        out.credits + noted.filter(|entry| entry.at <= self.now).map(|entry| entry.credits).sum::<u16>()
    }
}
