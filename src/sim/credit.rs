//! Credits on their way back to the sender.
//!
//! A sender with enough credits does not depend on when others come back: a return is noted with its time, and counted
//! when the next one is noted or when more credits are needed. Each return is an event only where a packet waits for
//! credits. So a lane without congestion costs no events for its credits, and no packet goes earlier or later for it.
//!
//! [`DataPlane::assert_conserved`] checks the invariant of every lane: credits at the sender, credits on their way back
//! and credits taken in the buffer add up to the buffer. A packet takes its credits from the moment it sets out.

use super::clock::Clock;
use super::index::{Dense, OutLane};
use super::kind;
use super::packet::NIL;
use super::plane::DataPlane;
use super::wheel::{SimEvent, Ticks};

/// Credits that are back at the sender at `at`, in ticks.
#[derive(Clone, Copy)]
struct Return {
    at: Ticks,
    credits: u16,
    /// The next one of the same lane, in no order of time.
    next: u32,
}

/// All returns noted, in one slab; free entries form a list.
pub struct Returns {
    slab: Vec<Return>,
    /// The first free entry; [`NIL`] for none.
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

    /// Removes an entry; its `next` belongs to the free list from then on.
    fn remove(&mut self, index: u32) -> Return {
        let entry = &mut self.slab[index as usize];
        let held = *entry;
        entry.next = std::mem::replace(&mut self.free, index);
        held
    }
}

impl DataPlane {
    /// Credits set out for an out lane, and reach its sender at `at`.
    #[inline]
    pub fn return_credits(&mut self, clock: &mut Clock, out_lane: OutLane, credits: u16, at: Ticks) {
        let out = &mut self.outs[out_lane];
        if out.starved {
            out.coming += credits;
            // A note wakes no queue, so the waiter would wait for ever.
            return clock.push(at, SimEvent::new(kind::CREDIT, credits.into(), out_lane.0));
        }
        // The lane itself holds one note. Under light load that suffices: the previous return has come back long before
        // the next packet leaves the buffer.
        if out.latest_at <= clock.now() {
            out.credits += out.latest;
        } else {
            out.earlier = self.returns.insert(Return { at: out.latest_at, credits: out.latest, next: out.earlier });
        }
        (out.latest_at, out.latest) = (at, credits);
    }

    /// Credits that were an event have come back. Returns whether a queue waits for them.
    #[inline]
    pub fn credits_back(&mut self, credits: u16, out_lane: OutLane) -> bool {
        let out = &mut self.outs[out_lane];
        out.coming -= credits;
        out.credits += credits;
        out.first_waiter.is_some()
    }

    /// Whether an out lane has the credits for a packet. If not, every return is an event from now on, until the lane
    /// sends again.
    #[inline]
    pub fn has_credits(&mut self, clock: &mut Clock, out_lane: OutLane, needed: u16) -> bool {
        self.outs[out_lane].credits >= needed || self.take_in(clock, out_lane, needed)
    }

    /// Counts all returns that have come back. If they do not suffice, the others become events.
    #[cold]
    fn take_in(&mut self, clock: &mut Clock, out_lane: OutLane, needed: u16) -> bool {
        let out = &mut self.outs[out_lane];
        if out.latest_at <= clock.now() {
            // Taken, not copied: `starve` and the next return would count it again.
            out.credits += std::mem::take(&mut out.latest);
        }
        let mut next = std::mem::replace(&mut out.earlier, NIL);
        while next != NIL {
            let entry = next;
            // Read before `remove` threads the entry into the free list.
            next = self.returns.slab[entry as usize].next;
            if self.returns.slab[entry as usize].at <= clock.now() {
                out.credits += self.returns.remove(entry).credits;
            } else {
                // Threading back reverses the list. The sum ignores order; the trace shows it (`starve`).
                self.returns.slab[entry as usize].next = std::mem::replace(&mut out.earlier, entry);
            }
        }
        let enough = out.credits >= needed;
        if !enough {
            self.starve(clock, out_lane);
        }
        enough
    }

    /// Makes the returns on their way events, and all returns to come. Their order among equal times shows in the
    /// trace: the latest note first, then the list as it is threaded.
    fn starve(&mut self, clock: &mut Clock, out_lane: OutLane) {
        let out = &mut self.outs[out_lane];
        out.starved = true;
        let mut noted = Return { at: out.latest_at, credits: std::mem::take(&mut out.latest), next: out.earlier };
        out.earlier = NIL;
        loop {
            // 0 where nothing was noted, or `take_in` has just counted the latest note.
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

    /// Both ends of a cable that comes back agree on the sender's credits: the room in the far buffer, less the credits
    /// that events under way will add. Notes of other returns are void.
    pub fn restore_credits(&mut self, out_lane: OutLane) {
        let held = self.ins[self.downstream(out_lane)].held as u16;
        let out = &mut self.outs[out_lane];
        let mut noted = std::mem::replace(&mut out.earlier, NIL);
        // Packets on the wire when the cable died still count in `held` until their arrival, so their room is not given
        // away.
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

    /// Checks that every lane of a live cable conserves its credits. Panics where one is lost or made up: that is a
    /// defect of the simulation, and later results mean nothing.
    pub fn assert_conserved(&self) {
        for out_lane in self.ports.keys().flat_map(|port| self.out_lanes(port)) {
            let port = &self.ports[self.port_of(out_lane)];
            if !port.is_up() {
                // Its buffers empty without returning credits; `restore_credits` sets both ends right.
                continue;
            }
            let out = &self.outs[out_lane];
            // A sink holds nothing: the credits of its packets are on their way back from the moment they set out.
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

    /// The data plane of an idle ring whose buffers hold ten credits.
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
