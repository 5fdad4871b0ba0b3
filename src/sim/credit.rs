//! Credits on their way back to the sender.
//!
//! As long as a sender has credits enough nobody asks when others come back: a return is noted with its time, and taken
//! in when the next one is noted or more are needed. Only where a packet waits for credits is each return an event. So
//! a lane that is not congested costs no events for its credits, and no packet goes earlier or later for it.
//!
//! The invariant, which [`DataPlane::assert_conserved`] holds every lane to: credits at the sender, credits on their way
//! back and credits taken in the buffer (by packets on the wire too, from the moment they set out) add up to the buffer.

use super::clock::Clock;
use super::index::OutLane;
use super::kind;
use super::packet::NIL;
use super::plane::DataPlane;
use super::wheel::{SimEvent, Ticks};

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

impl DataPlane {
    /// Credits set out for an out lane and are there at `at`.
    #[inline]
    pub fn return_credits(&mut self, clock: &mut Clock, out_lane: OutLane, credits: u16, at: Ticks) {
        let out = &mut self.outs[out_lane];
        if out.starved {
            out.coming += credits;
            return clock.push(at, SimEvent::new(kind::CREDIT, credits.into(), out_lane.0));
        }
        // One note lies in the lane itself, and under light load that is all there ever is: the one before it has long
        // come back when the next packet leaves the buffer.
        if out.latest_at <= clock.now() {
            out.credits += out.latest;
        } else {
            out.earlier = self.returns.insert(Return { at: out.latest_at, credits: out.latest, next: out.earlier });
        }
        (out.latest_at, out.latest) = (at, credits);
    }

    /// Credits that were an event have come back; reports whether somebody waits for them.
    #[inline]
    pub fn credits_back(&mut self, credits: u16, out_lane: OutLane) -> bool {
        let out = &mut self.outs[out_lane];
        out.coming -= credits;
        out.credits += credits;
        out.first_waiter.get().is_some()
    }

    /// Whether an out lane has its sender's credits for a packet; where not, every return is an event from now on, until
    /// the lane sends again.
    #[inline]
    pub fn has_credits(&mut self, clock: &mut Clock, out_lane: OutLane, needed: u16) -> bool {
        self.outs[out_lane].credits >= needed || self.take_in(clock, out_lane, needed)
    }

    /// Takes in all that has come back; what is still on its way becomes events unless that is enough.
    #[cold]
    fn take_in(&mut self, clock: &mut Clock, out_lane: OutLane, needed: u16) -> bool {
        let out = &mut self.outs[out_lane];
        if out.latest_at <= clock.now() {
            out.credits += std::mem::take(&mut out.latest);
        }
        let mut next = std::mem::replace(&mut out.earlier, NIL);
        while next != NIL {
            let entry = next;
            next = self.returns.slab[entry as usize].next;
            if self.returns.slab[entry as usize].at <= clock.now() {
                out.credits += self.returns.remove(entry).credits;
            } else {
                self.returns.slab[entry as usize].next = std::mem::replace(&mut out.earlier, entry);
            }
        }
        let enough = out.credits >= needed;
        if !enough {
            self.starve(clock, out_lane);
        }
        enough
    }

    /// Makes events of the returns that are on their way, and of all to come. Their order among equal times shows in the
    /// trace: the latest note first, then the list as it is threaded.
    fn starve(&mut self, clock: &mut Clock, out_lane: OutLane) {
        let out = &mut self.outs[out_lane];
        out.starved = true;
        let mut noted = Return { at: out.latest_at, credits: std::mem::take(&mut out.latest), next: out.earlier };
        out.earlier = NIL;
        loop {
            if noted.credits > 0 {
                out.coming += noted.credits;
                clock.push(noted.at, SimEvent::new(kind::CREDIT, noted.credits.into(), out_lane.0));
            }
            if noted.next == NIL {
                return;
            }
            noted = self.returns.remove(noted.next);
        }
    }

    /// Both ends of a cable that comes back agree on what its sender has: the room in the far buffer, less what is an
    /// event already and will be added when it happens. Other returns that were on their way are void.
    pub fn restore_credits(&mut self, out_lane: OutLane) {
        let held = self.ins[self.downstream(out_lane)].held as u16;
        let out = &mut self.outs[out_lane];
        let mut noted = std::mem::replace(&mut out.earlier, NIL);
        (out.credits, out.latest, out.starved) = (self.capacity - held - out.coming, 0, false);
        while noted != NIL {
            noted = self.returns.remove(noted).next;
        }
    }

    /// The returns noted for an out lane, whether or not their time has come.
    fn noted(&self, out_lane: OutLane) -> impl Iterator<Item = Return> {
        let out = &self.outs[out_lane];
        let latest = Return { at: out.latest_at, credits: out.latest, next: out.earlier };
        let before = |entry: &Return| (entry.next != NIL).then(|| self.returns.slab[entry.next as usize]);
        std::iter::successors(Some(latest), before)
    }

    /// Credits that an out lane has at this moment.
    pub fn credits_of(&self, clock: &Clock, out_lane: OutLane) -> u16 {
        let back = self.noted(out_lane).filter(|entry| entry.at <= clock.now());
        self.outs[out_lane].credits + back.map(|entry| entry.credits).sum::<u16>()
    }

    /// Holds every lane of a live cable to the conservation of credits. Panics where one is lost or made up: a defect of
    /// the simulation, whose results mean nothing from there on.
    pub fn assert_conserved(&self) {
        for out_lane in (0..self.ports.len() as u32).flat_map(|port| self.out_lanes(port)) {
            let port = &self.ports[self.port_of(out_lane) as usize];
            if !port.is_up() {
                // Its buffers empty without anybody returning credits; `restore_credits` sets both ends right.
                continue;
            }
            let out = &self.outs[out_lane];
            // A sink holds nothing: what its packets take is on its way back from the moment they set out.
            let held = if port.sink { 0 } else { self.ins[self.downstream(out_lane)].held };
            let noted: u32 = self.noted(out_lane).map(|entry| u32::from(entry.credits)).sum();
            let (credits, coming) = (u32::from(out.credits), u32::from(out.coming));
            assert!(
                credits + noted + coming + held == u32::from(self.capacity),
                "{out_lane:?}: {credits} credits at hand, {noted} noted and {coming} coming back, {held} held: expected {}",
                self.capacity
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::sim::SimConfig;

    const LANE: OutLane = OutLane(4);

    /// The data plane of an idle ring, whose buffers take ten credits.
    fn idle() -> DataPlane {
        let made = generate(&"ring:4,1".parse().unwrap(), &Options::default()).unwrap();
        let fabric = crate::lid::assign(&made, crate::ids::Lmc::masked(1)).unwrap();
        let config = SimConfig { buffer_credits: 10, packet_bytes: 64, ..SimConfig::default() };
        DataPlane::new(&fabric, crate::ids::Lid(8), &config)
    }

    /// A lane whose credits are all on their way: 5 until 300, 3 until 100, 2 until 200, noted in that order.
    fn spent() -> (DataPlane, Clock) {
        let (mut plane, mut clock) = (idle(), Clock::new());
        plane.outs[LANE].credits = 0;
        [(5, 300), (3, 100), (2, 200)].into_iter().for_each(|(n, at)| plane.return_credits(&mut clock, LANE, n, at));
        (plane, clock)
    }

    /// Lets time pass without an event.
    fn wait(clock: &mut Clock, until: Ticks) {
        assert_eq!(clock.step(until), None);
    }

    #[test]
    fn credits_are_there_at_their_time_and_not_before() {
        for (now, back) in [(0, 0), (99, 0), (100, 3), (199, 3), (200, 5), (299, 5), (300, 10)] {
            let (mut plane, mut clock) = spent();
            wait(&mut clock, now);
            assert_eq!(plane.credits_of(&clock, LANE), back, "at {now}");
            assert_eq!(plane.has_credits(&mut clock, LANE, 3), back >= 3, "at {now}");
            assert!(plane.has_credits(&mut clock, LANE, back));
            assert!(!plane.has_credits(&mut clock, LANE, back + 1), "at {now}");
        }
    }

    #[test]
    fn what_a_later_note_takes_in_is_counted_once() {
        let (mut plane, mut clock) = spent();
        wait(&mut clock, 250);
        plane.return_credits(&mut clock, LANE, 0, 260);
        assert_eq!(plane.credits_of(&clock, LANE), 5);
        wait(&mut clock, 400);
        assert!(plane.has_credits(&mut clock, LANE, 10) && !plane.has_credits(&mut clock, LANE, 11));
        assert_eq!(plane.credits_of(&clock, LANE), 10);
    }

    #[test]
    fn a_starved_lane_has_an_event_for_each_return() {
        let (mut plane, mut clock) = spent();
        assert!(!plane.has_credits(&mut clock, LANE, 1));
        plane.return_credits(&mut clock, LANE, 1, 250);
        let due: Vec<Ticks> = std::iter::from_fn(|| clock.step(Ticks::MAX).map(|_| clock.now())).take(4).collect();
        assert_eq!(due, [100, 200, 250, 300]);
    }

    #[test]
    #[should_panic(expected = "9 credits at hand")]
    fn a_lost_credit_is_noticed() {
        let mut plane = idle();
        plane.assert_conserved();
        plane.outs[LANE].credits -= 1;
        plane.assert_conserved();
    }
}
