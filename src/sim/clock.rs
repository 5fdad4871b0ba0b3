//! Simulated time: the events to come, and a digest of those that have happened.
//!
//! Time moves only in [`Clock::step`], to the event that it returns, so everything that an event causes sees one `now`.
//! The digest takes in time, kind and operands of every event in order: two runs with one digest did the same.

use super::wheel::{CHUNK, SimEvent, TICKS_PER_NS, Ticks, Wheel};

/// The time, the events to come, and the trace hash.
pub(super) struct Clock {
    now: Ticks,
    wheel: Wheel,
    trace_hash: u64,
}

impl Clock {
    pub fn new() -> Clock {
        // The offset basis of FNV-1a, whose multiplier `step` uses.
        Clock { now: 0, wheel: Wheel::new(), trace_hash: 0xCBF2_9CE4_8422_2325 }
    }

    #[inline(always)]
    pub fn now(&self) -> Ticks {
        self.now
    }

    pub fn now_ns(&self) -> u64 {
        self.now / TICKS_PER_NS
    }

    /// Schedules an event for a time that has not passed, in ticks.
    #[inline(always)]
    pub fn push(&mut self, at: Ticks, event: SimEvent) {
        self.wheel.push(at, event);
    }

    /// Moves on to the next event, or to `until` where none is due by then.
    #[inline(always)]
    pub fn step(&mut self, until: Ticks) -> Option<SimEvent> {
        let Some((time, event)) = self.wheel.pop(until) else {
            // A caller may ask for a time that has passed; time does not go back for it.
            self.now = self.now.max(until);
            return None;
        };
        self.now = time;
        // Rotations spread the small operands over the word, so that events which differ in one of them do not cancel.
        let mixed = self.trace_hash ^ time ^ event.word().rotate_left(29);
        self.trace_hash = mixed.wrapping_mul(0x0000_0100_0000_01B3).rotate_left(5);
        Some(event)
    }

    /// The next events, where there are many ([`Wheel::ahead`]).
    #[inline]
    pub fn ahead(&mut self) -> Option<([SimEvent; CHUNK], usize)> {
        self.wheel.ahead()
    }

    pub fn trace_hash(&self) -> u64 {
        self.trace_hash
    }
}
