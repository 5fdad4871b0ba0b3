//! The event list: a timing wheel whose slots are first-in, first-out, so equal times have one order.
//!
//! Two levels and an overflow: a fine ring with a slot for every tick of the present half span and the next, a coarse
//! ring with a slot for every half span, and a heap for later times. A push or a pop touches one slot; an event changes
//! levels at most twice. The order among equal times depends only on the order of the pushes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Simulated time in ticks of a tenth of a nanosecond.
pub type Ticks = u64;

/// Ticks in a nanosecond.
pub const TICKS_PER_NS: Ticks = 10;

const FINE_BITS: u32 = 14;
const FINE: usize = 1 << FINE_BITS;
const SPAN: u64 = (FINE / 2) as u64;
/// Words of bits of the fine ring that are passed at once where they are empty.
const STRIDE: usize = 16;
const COARSE: usize = 4096;
const NIL: u32 = u32::MAX;

/// One event in two words: a kind below 16 and two operands, the second below 2^28.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimEvent {
    a: u32,
    b: u32,
}

impl SimEvent {
    /// Packs an event.
    #[inline]
    pub fn new(kind: u8, a: u32, b: u32) -> SimEvent {
        assert!(kind < 16 && b < 1 << 28);
        SimEvent { a, b: b << 4 | u32::from(kind) }
    }

    /// Its kind.
    #[inline]
    pub fn kind(self) -> u8 {
        (self.b & 15) as u8
    }

    /// Its first operand.
    #[inline]
    pub fn a(self) -> u32 {
        self.a
    }

    /// Its second operand.
    #[inline]
    pub fn b(self) -> u32 {
        self.b >> 4
    }

    /// Both words, for the trace hash.
    #[inline]
    pub fn word(self) -> u64 {
        u64::from(self.a) << 32 | u64::from(self.b)
    }
}

/// An event of the coarse ring.
#[derive(Clone, Copy)]
struct Entry {
    event: SimEvent,
    next: u32,
    /// Position within the half span.
    offset: u32,
}

/// The events of one tick of the fine ring: the first of them here, since on a small fabric most ticks have one, and
/// the others in a list of chunks. Means nothing where `fine_bits` says that the tick has none.
#[derive(Clone, Copy)]
struct Tick {
    first: SimEvent,
    /// The first chunk of the others; [`NIL`] for none.
    head: u32,
    /// The last chunk, where there is one.
    tail: u32,
}

const NO_EVENT: SimEvent = SimEvent { a: 0, b: 0 };
const NO_TICK: Tick = Tick { first: NO_EVENT, head: NIL, tail: NIL };

/// Events of one tick that follow each other: two cache lines. On a fabric of ten thousand hosts a tick has hundreds,
/// and in a list of single events each of them would be another miss.
#[derive(Clone, Copy)]
#[repr(align(128))]
struct Chunk {
    events: [SimEvent; CHUNK],
    next: u32,
    /// The first of `events` that is still to come.
    begin: u8,
    /// Those from here on are not used yet.
    end: u8,
}

/// Events in a chunk.
pub const CHUNK: usize = 15;
/// Events that are worth a look ahead.
const SEVERAL: u8 = 4;

#[derive(Clone, Copy)]
struct Slot {
    head: u32,
    tail: u32,
}

const EMPTY: Slot = Slot { head: NIL, tail: NIL };

/// An event list. Times never go back: a push to a time before the last pop is a defect, and panics in debug builds.
pub struct Wheel {
    now: Ticks,
    /// Where the present half span ends.
    span_end: Ticks,
    /// Where the fine ring ends: after the half span that follows the present one.
    horizon: Ticks,
    fine: Box<[Tick; FINE]>,
    fine_bits: [u64; FINE / 64],
    fine_count: usize,
    coarse: Box<[Slot; COARSE]>,
    coarse_count: usize,
    entries: Vec<Entry>,
    free: u32,
    chunks: Vec<Chunk>,
    free_chunk: u32,
    /// The chunk whose first event has come to the head of its tick since [`Wheel::ahead`] was last asked.
    fresh: u32,
    /// (time, order of arrival, event).
    overflow: BinaryHeap<Reverse<(Ticks, u64, u64)>>,
    overflow_order: u64,
}

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel::new()
    }
}

impl Wheel {
    /// An empty list at time 0.
    pub fn new() -> Wheel {
        Wheel {
            now: 0,
            span_end: SPAN,
            horizon: 2 * SPAN,
            fine: Box::new([NO_TICK; FINE]),
            fine_bits: [0; FINE / 64],
            fine_count: 0,
            coarse: Box::new([EMPTY; COARSE]),
            coarse_count: 0,
            entries: Vec::new(),
            free: NIL,
            chunks: Vec::new(),
            free_chunk: NIL,
            fresh: NIL,
            overflow: BinaryHeap::new(),
            overflow_order: 0,
        }
    }

    /// Adds an event at a time not before the last one popped.
    #[inline(always)]
    pub fn push(&mut self, time: Ticks, event: SimEvent) {
        assert!(time >= self.now, "an event at {time}, before {}", self.now);
        // The fine ring has a slot for every tick of this half span and the next, so no two times share a slot.
        if time < self.horizon {
            self.push_fine(time, event);
        } else {
            self.push_beyond(time, event);
        }
    }

    /// Adds an event at a time for which the fine ring has no slot.
    #[cold]
    fn push_beyond(&mut self, time: Ticks, event: SimEvent) {
        if time / SPAN - self.now / SPAN < COARSE as u64 {
            let entry = self.allocate(event, (time % SPAN) as u32);
            append(&mut self.coarse[(time / SPAN) as usize % COARSE], &mut self.entries, entry);
            self.coarse_count += 1;
        } else {
            self.overflow.push(Reverse((time, self.overflow_order, event.word())));
            self.overflow_order += 1;
        }
    }

    /// The earliest event, unless it is later than `until`.
    #[inline(always)]
    pub fn pop(&mut self, until: Ticks) -> Option<(Ticks, SimEvent)> {
        if self.fine_count == 0 && !self.bring_near(until) {
            return None;
        }
        let time = self.next_fine();
        if time > until {
            return None;
        }
        self.now = time;
        if time >= self.span_end {
            self.refill();
        }
        Some((time, self.take_fine(time)))
    }

    /// Brings the earliest events to the fine ring, which is empty, unless they are later than `until`. Whether there
    /// are any there now.
    #[cold]
    fn bring_near(&mut self, until: Ticks) -> bool {
        while self.fine_count == 0 {
            // Entering the span before the one with the next event brings that event to the fine ring.
            // `now` never passes `until`, so a caller that goes on at `until` pushes nothing into the wheel's past.
            match self.next_coarse() {
                Some(span) if (span - 1) * SPAN <= until => self.now = (span - 1) * SPAN,
                _ => return false,
            }
            self.refill();
        }
        true
    }

    /// The next events and how many they are, if several of this moment have come into sight since it was last asked;
    /// each is reported at most once.
    #[inline]
    pub fn ahead(&mut self) -> Option<([SimEvent; CHUNK], usize)> {
        if self.fresh == NIL {
            return None;
        }
        let chunk = &self.chunks[std::mem::replace(&mut self.fresh, NIL) as usize];
        (chunk.end >= SEVERAL).then_some((chunk.events, chunk.end.into()))
    }

    #[inline]
    fn allocate(&mut self, event: SimEvent, offset: u32) -> u32 {
        let entry = Entry { event, next: NIL, offset };
        if self.free == NIL {
            self.entries.push(entry);
            return (self.entries.len() - 1) as u32;
        }
        let index = self.free;
        self.free = self.entries[index as usize].next;
        self.entries[index as usize] = entry;
        index
    }

    #[inline(always)]
    fn push_fine(&mut self, time: Ticks, event: SimEvent) {
        let slot = time as usize % FINE;
        let (bits, bit) = (&mut self.fine_bits[slot / 64], 1 << (slot % 64));
        // No more than there are bytes of memory: each event takes some.
        self.fine_count = self.fine_count.wrapping_add(1);
        if *bits & bit == 0 {
            *bits |= bit;
            self.fine[slot] = Tick { first: event, ..NO_TICK };
        } else {
            self.push_behind(slot, event);
        }
    }

    /// Adds an event to a tick that has one.
    #[inline(never)]
    fn push_behind(&mut self, slot: usize, event: SimEvent) {
        let tick = &mut self.fine[slot];
        if tick.head != NIL {
            let last = &mut self.chunks[tick.tail as usize];
            if let Some(place) = last.events.get_mut(usize::from(last.end)) {
                *place = event;
                last.end += 1;
                return;
            }
        }
        if self.free_chunk == NIL {
            self.free_chunk = self.chunks.len() as u32;
            self.chunks.push(Chunk { events: [NO_EVENT; CHUNK], next: NIL, begin: 0, end: 0 });
        }
        let index = self.free_chunk;
        let chunk = &mut self.chunks[index as usize];
        self.free_chunk = std::mem::replace(&mut chunk.next, NIL);
        (chunk.events[0], chunk.begin, chunk.end) = (event, 0, 1);
        match tick.head {
            NIL => tick.head = index,
            _ => self.chunks[tick.tail as usize].next = index,
        }
        tick.tail = index;
    }

    /// The time of the earliest event of the fine ring, which is not empty.
    #[inline(always)]
    fn next_fine(&self) -> Ticks {
        // The ring is scanned from `now`. A full turn ends in the first word again, whose low bits are a turn ahead.
        let start = self.now as usize % FINE;
        let mut word = start / 64;
        let mut bits = self.fine_bits[word] & (!0 << (start % 64));
        while bits == 0 {
            word = (word + 1) % (FINE / 64);
            // Where little happens most words are empty, and whole strides are passed.
            while word.is_multiple_of(STRIDE)
                && self.fine_bits[word..word + STRIDE].iter().fold(0, |any, bits| any | bits) == 0
            {
                word = (word + STRIDE) % (FINE / 64);
            }
            bits = self.fine_bits[word];
        }
        let slot = word * 64 + bits.trailing_zeros() as usize;
        // The distance round the ring, whose length is a power of two.
        self.now + (slot.wrapping_sub(start) % FINE) as u64
    }

    #[inline(always)]
    fn take_fine(&mut self, time: Ticks) -> SimEvent {
        let slot = time as usize % FINE;
        let tick = &mut self.fine[slot];
        let first = tick.first;
        // `pop` has seen that there are events.
        self.fine_count = self.fine_count.wrapping_sub(1);
        if tick.head == NIL {
            self.fine_bits[slot / 64] &= !(1 << (slot % 64));
        } else {
            let taken = tick.head;
            let chunk = &mut self.chunks[taken as usize];
            tick.first = chunk.events[usize::from(chunk.begin)];
            if chunk.begin == 0 {
                self.fresh = taken;
            }
            chunk.begin += 1;
            if chunk.begin == chunk.end {
                // Where it is the last chunk, `next` is NIL.
                tick.head = std::mem::replace(&mut chunk.next, std::mem::replace(&mut self.free_chunk, taken));
            }
        }
        first
    }

    /// Follows the clock into another half span: the one after it becomes fine.
    #[cold]
    fn refill(&mut self) {
        let here = self.now / SPAN;
        (self.span_end, self.horizon) = ((here + 1).saturating_mul(SPAN), (here + 2).saturating_mul(SPAN));
        // The end of the coarse ring has moved: events that it now covers leave the heap by time and order of push.
        // This comes before any new push for those spans, so the earlier push stays first.
        while let Some(&Reverse((time, _, word))) = self.overflow.peek() {
            if time / SPAN - here >= COARSE as u64 {
                break;
            }
            self.overflow.pop();
            self.push(time, SimEvent { a: (word >> 32) as u32, b: word as u32 });
        }
        let span = here + 1;
        // Pushes for this span go to the fine ring from now on. Emptying the coarse slot first, in its order, keeps
        // equal times first in, first out.
        let mut next = std::mem::replace(&mut self.coarse[span as usize % COARSE], EMPTY).head;
        while next != NIL {
            let entry = &mut self.entries[next as usize];
            let (event, time) = (entry.event, span * SPAN + u64::from(entry.offset));
            let taken = std::mem::replace(&mut next, entry.next);
            entry.next = std::mem::replace(&mut self.free, taken);
            self.coarse_count -= 1;
            self.push_fine(time, event);
        }
    }

    /// The span of the earliest event outside the fine ring.
    fn next_coarse(&self) -> Option<u64> {
        let here = self.now / SPAN;
        let overflow = self.overflow.peek().map(|&Reverse((time, _, _))| time / SPAN);
        if self.coarse_count == 0 {
            return overflow;
        }
        // `here` and `here + 1` belong to the fine ring. The overflow lies beyond the coarse ring since the last
        // refill, so it comes second.
        (here + 2..here + COARSE as u64).find(|&span| self.coarse[span as usize % COARSE].head != NIL).or(overflow)
    }
}

#[inline]
fn append(slot: &mut Slot, entries: &mut [Entry], entry: u32) {
    if slot.tail == NIL {
        slot.head = entry;
    } else {
        entries[slot.tail as usize].next = entry;
    }
    slot.tail = entry;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Interleaves pushes and pops and compares with a sorted list, stable among equal times.
    fn agrees(steps: &[(bool, u64)]) {
        let (mut wheel, mut model, mut now) = (Wheel::new(), Vec::<(u64, u32)>::new(), 0);
        for (order, &(pop, delta)) in steps.iter().enumerate() {
            if pop {
                let first = model.iter().map(|entry| entry.0).min();
                let expected =
                    first.map(|time| model.remove(model.iter().position(|e| e.0 == time).expect("it is there")));
                let found = wheel.pop(Ticks::MAX).map(|(time, event)| (time, event.a()));
                assert_eq!(found, expected);
                now = found.map_or(now, |entry| entry.0);
            } else {
                wheel.push(now + delta, SimEvent::new(3, order as u32, 7));
                model.push((now + delta, order as u32));
            }
            assert_eq!(wheel.fine_count + wheel.coarse_count + wheel.overflow.len(), model.len());
        }
    }

    proptest! {
        #[test]
        fn keeps_the_order_of_a_stable_sort(steps in prop::collection::vec(
            (any::<bool>(), prop_oneof![0u64..4, 0u64..20_000, 0u64..200_000, 30_000_000u64..40_000_000, 0u64..500_000_000]), 0..300)) {
            agrees(&steps);
        }
    }

    /// More events than a chunk holds, several times over, at one tick, while others of that tick are taken.
    #[test]
    fn a_crowded_tick_is_first_in_first_out() {
        let (mut wheel, mut pushed, mut popped) = (Wheel::new(), 0, 0);
        let mut counted = 0;
        for (pushes, pops) in [(1, 0), (40, 5), (3, 30), (50, 20), (0, 39), (17, 17), (100, 100)] {
            (0..pushes).for_each(|more| wheel.push(7, SimEvent::new(3, pushed + more, 0)));
            pushed += pushes;
            for _ in 0..pops {
                assert_eq!(wheel.pop(7), Some((7, SimEvent::new(3, popped, 0))));
                popped += 1;
                counted += wheel.ahead().map_or(0, |(ahead, count)| {
                    let next: Vec<u32> = ahead[..count].iter().map(|event| event.a()).collect();
                    assert_eq!(next, (popped..popped + count as u32).collect::<Vec<_>>(), "what is ahead is next");
                    count
                });
            }
        }
        assert_eq!((pushed, wheel.pop(7)), (popped, None));
        assert!(counted >= 8 * CHUNK, "{counted} were counted");
    }

    #[test]
    fn waits_for_the_time_asked() {
        let mut wheel = Wheel::new();
        for time in [5, 5, 70_000, 900_000_000] {
            wheel.push(time, SimEvent::new(1, time as u32, 0));
        }
        assert_eq!(wheel.pop(4), None);
        assert_eq!(wheel.pop(5).map(|e| e.0), Some(5));
        assert_eq!(wheel.pop(5).map(|e| e.0), Some(5));
        assert_eq!(wheel.pop(69_999), None);
        wheel.push(70_000, SimEvent::new(2, 0, 0));
        assert_eq!(wheel.pop(70_000).map(|e| e.1.kind()), Some(1));
        assert_eq!(wheel.pop(70_000).map(|e| e.1.kind()), Some(2));
        assert_eq!(wheel.pop(Ticks::MAX).map(|e| e.0), Some(900_000_000));
        assert_eq!(wheel.pop(Ticks::MAX), None);
    }
}
