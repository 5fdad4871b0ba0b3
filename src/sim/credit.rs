//! Credits on their way back to the sender.
//!
//! A sender with enough credits does not depend on when others come back: a return is noted with its time, and counted
//! when the next one is noted or when more credits are needed. Each return is an event only where a packet waits for
//! credits. So a lane without congestion costs no events for its credits, and no packet goes earlier or later for it.
//!
//! On entry and on return of every step, credits at hand, noted and coming add up to what the lane has not spent; only
//! [`LaneCredits::spend`], [`Returns::note`] and [`Returns::reset`] change that sum. Knows neither ports nor buffers:
//! that the sum and the credits taken in the buffer add up to the buffer is the data plane's to check.

use super::clock::Clock;
use super::index::OutLane;
use super::kind;
use super::packet::NIL;
use super::wheel::{SimEvent, Ticks};

/// The credits of a lane as its sender knows them.
#[derive(Clone, Debug)]
pub struct LaneCredits {
    /// When the return noted last reaches the sender, in ticks.
    latest_at: Ticks,
    /// The list of earlier returns, an index into [`Returns`]; [`NIL`] where it is empty.
    earlier: u32,
    /// Credits of the return noted last.
    latest: u16,
    /// Credits at hand, without those on their way back.
    at_hand: u16,
    /// Credits on their way back as events: the lane is starved, or their packets are on the wire to a sink.
    coming: u16,
    /// A queue waits for credits, so each return is an event.
    starved: bool,
}

/// Where the credits of a lane are that its packets have not taken.
pub struct CreditBooks {
    /// With the sender.
    pub at_hand: u32,
    /// Noted as returns, whether or not their time has come.
    pub noted: u32,
    /// On their way back as events.
    pub coming: u32,
}

impl LaneCredits {
    /// A lane whose credits are all at hand.
    pub fn full(credits: u16) -> LaneCredits {
        LaneCredits { latest_at: 0, earlier: NIL, latest: 0, at_hand: credits, coming: 0, starved: false }
    }

    /// Credits at hand, without those noted.
    pub fn at_hand(&self) -> u16 {
        self.at_hand
    }

    /// A packet takes credits that are at hand.
    #[inline]
    pub fn spend(&mut self, credits: u16) {
        self.at_hand -= credits;
        // From here on returns are only noted. The next refusal makes them events again, so no waiter is forgotten.
        self.starved = false;
    }

    /// An event will bring credits back ([`LaneCredits::come_back`]).
    #[inline]
    pub fn expect(&mut self, credits: u16) {
        self.coming += credits;
    }

    /// Credits that were an event have come back.
    #[inline]
    pub fn come_back(&mut self, credits: u16) {
        self.coming -= credits;
        self.at_hand += credits;
    }
}

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

/// Has an event bring credits back to a lane at `at`.
#[inline(never)]
fn bring(clock: &mut Clock, out_lane: OutLane, own: &mut LaneCredits, credits: u16, at: Ticks) {
    own.expect(credits);
    clock.push(at, SimEvent::new(kind::CREDIT, credits.into(), out_lane.0));
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

    /// Credits set out for an out lane, and reach its sender at `at`.
    #[inline(always)]
    pub fn note(&mut self, clock: &mut Clock, out_lane: OutLane, own: &mut LaneCredits, credits: u16, at: Ticks) {
        if own.starved {
            // A note wakes no queue, so the waiter would wait for ever.
            return bring(clock, out_lane, own, credits, at);
        }
        // The lane itself holds one note. Under light load that suffices: the previous return has come back long before
        // the next packet leaves the buffer.
        if own.latest_at <= clock.now() {
            own.at_hand += own.latest;
        } else {
            own.earlier = self.insert(Return { at: own.latest_at, credits: own.latest, next: own.earlier });
        }
        (own.latest_at, own.latest) = (at, credits);
    }

    /// Whether an out lane has the credits for a packet. If not, every return is an event from now on, until the lane
    /// sends again.
    #[inline(always)]
    pub fn suffice(&mut self, clock: &mut Clock, out_lane: OutLane, own: &mut LaneCredits, needed: u16) -> bool {
        own.at_hand >= needed || self.take_in(clock, out_lane, own, needed)
    }

    /// Counts all returns that have come back. If they do not suffice, the others become events.
    #[cold]
    fn take_in(&mut self, clock: &mut Clock, out_lane: OutLane, own: &mut LaneCredits, needed: u16) -> bool {
        if own.latest_at <= clock.now() {
            // Taken, not copied: `starve` and the next return would count it again.
            own.at_hand += std::mem::take(&mut own.latest);
        }
        let mut next = std::mem::replace(&mut own.earlier, NIL);
        while next != NIL {
            let entry = next;
            // Read before `remove` threads the entry into the free list.
            next = self.slab[entry as usize].next;
            if self.slab[entry as usize].at <= clock.now() {
                own.at_hand += self.remove(entry).credits;
            } else {
                // Threading back reverses the list. The sum ignores order; the trace shows it (`starve`).
                self.slab[entry as usize].next = std::mem::replace(&mut own.earlier, entry);
            }
        }
        let enough = own.at_hand >= needed;
        if !enough {
            self.starve(clock, out_lane, own);
        }
        enough
    }

    /// Makes the returns on their way events, and all returns to come. Their order among equal times shows in the
    /// trace: the latest note first, then the list as it is threaded.
    fn starve(&mut self, clock: &mut Clock, out_lane: OutLane, own: &mut LaneCredits) {
        own.starved = true;
        let mut noted = Return { at: own.latest_at, credits: std::mem::take(&mut own.latest), next: own.earlier };
        own.earlier = NIL;
        loop {
            // 0 where nothing was noted, or `take_in` has just counted the latest note.
            if noted.credits > 0 {
                bring(clock, out_lane, own, noted.credits, noted.at);
            }
            if noted.next == NIL {
                return;
            }
            noted = self.remove(noted.next);
        }
    }

    /// Both ends of a cable that comes back agree on the lane's credits: `room` in the far buffer, less the credits
    /// that events under way will add. Notes of other returns are void.
    pub fn reset(&mut self, own: &mut LaneCredits, room: u16) {
        let mut noted = std::mem::replace(&mut own.earlier, NIL);
        (own.at_hand, own.latest, own.starved) = (room - own.coming, 0, false);
        while noted != NIL {
            noted = self.remove(noted).next;
        }
    }

    /// The returns noted for a lane, whether or not their time has come.
    fn noted(&self, own: &LaneCredits) -> impl Iterator<Item = Return> {
        let latest = Return { at: own.latest_at, credits: own.latest, next: own.earlier };
        let before = |entry: &Return| (entry.next != NIL).then(|| self.slab[entry.next as usize]);
        std::iter::successors(Some(latest), before)
    }

    /// Credits that a lane has at this moment.
    pub fn usable(&self, clock: &Clock, own: &LaneCredits) -> u16 {
        let back = self.noted(own).filter(|entry| entry.at <= clock.now());
        own.at_hand + back.map(|entry| entry.credits).sum::<u16>()
    }

    /// Where a lane's credits are.
    pub fn books(&self, own: &LaneCredits) -> CreditBooks {
        let noted = self.noted(own).map(|entry| u32::from(entry.credits)).sum();
        CreditBooks { at_hand: own.at_hand.into(), noted, coming: own.coming.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANE: OutLane = OutLane(4);

    /// A lane whose ten credits are all on their way: 5 until 300, 3 until 100, 2 until 200, noted in that order.
    fn spent() -> (Returns, LaneCredits, Clock) {
        let (mut returns, mut own, mut clock) = (Returns::default(), LaneCredits::full(10), Clock::new());
        own.spend(10);
        for (credits, at) in [(5, 300), (3, 100), (2, 200)] {
            returns.note(&mut clock, LANE, &mut own, credits, at);
        }
        (returns, own, clock)
    }

    /// Lets time pass without an event.
    fn wait(clock: &mut Clock, until: Ticks) {
        assert_eq!(clock.step(until), None);
    }

    #[test]
    fn credits_are_there_at_their_time_and_not_before() {
        for (now, back) in [(0, 0), (99, 0), (100, 3), (199, 3), (200, 5), (299, 5), (300, 10)] {
            let (mut returns, mut own, mut clock) = spent();
            wait(&mut clock, now);
            assert_eq!(returns.usable(&clock, &own), back, "at {now}");
            assert_eq!(returns.suffice(&mut clock, LANE, &mut own, 3), back >= 3, "at {now}");
            assert!(returns.suffice(&mut clock, LANE, &mut own, back));
            assert!(!returns.suffice(&mut clock, LANE, &mut own, back + 1), "at {now}");
        }
    }

    #[test]
    fn what_a_later_note_takes_in_is_counted_once() {
        let (mut returns, mut own, mut clock) = spent();
        wait(&mut clock, 250);
        returns.note(&mut clock, LANE, &mut own, 0, 260);
        assert_eq!(returns.usable(&clock, &own), 5);
        wait(&mut clock, 400);
        assert!(returns.suffice(&mut clock, LANE, &mut own, 10));
        assert!(!returns.suffice(&mut clock, LANE, &mut own, 11));
        assert_eq!(returns.usable(&clock, &own), 10);
    }

    #[test]
    fn a_starved_lane_has_an_event_for_each_return() {
        let (mut returns, mut own, mut clock) = spent();
        assert!(!returns.suffice(&mut clock, LANE, &mut own, 1));
        returns.note(&mut clock, LANE, &mut own, 1, 250);
        let due: Vec<Ticks> = std::iter::from_fn(|| clock.step(Ticks::MAX).map(|_| clock.now())).take(4).collect();
        assert_eq!(due, [100, 200, 250, 300]);
    }
}
