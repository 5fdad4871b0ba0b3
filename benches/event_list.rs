//! The simulator's timing wheel against std's binary heap, as a ratio in one run: with a given number of events
//! pending, pop the earliest and push one that comes later by a delay typical of the simulator's events.

use comfy_table::{CellAlignment, Table, presets};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use reconfig::sim::wheel::{SimEvent, Ticks, Wheel};
use reconfig_measuring::bench::clock::Stopwatch;
use reconfig_measuring::bench::median::median;
use reconfig_measuring::bench::quick::quick;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

/// Delays in ticks: a routing delay, a packet's time on the wire, a source's interval.
const DELAYS: [(u32, u32); 3] = [(1_100, 1), (400, 1), (0, 16_000)];

/// The contract of both: events come out in the order of their times, and events of one time in the order of their
/// pushes.
trait EventList: Default {
    fn push(&mut self, time: Ticks, number: u32);
    fn pop(&mut self) -> (Ticks, u32);
}

impl EventList for Wheel {
    fn push(&mut self, time: Ticks, number: u32) {
        Wheel::push(self, time, SimEvent::new(0, number, 0));
    }

    fn pop(&mut self) -> (Ticks, u32) {
        let (time, event) = Wheel::pop(self, Ticks::MAX).expect("as many are pushed as popped");
        (time, event.a())
    }
}

#[derive(Default)]
struct Heap {
    events: BinaryHeap<Reverse<(Ticks, u64, u32)>>,
    pushed: u64,
}

impl EventList for Heap {
    fn push(&mut self, time: Ticks, number: u32) {
        self.events.push(Reverse((time, self.pushed, number)));
        self.pushed += 1;
    }

    fn pop(&mut self) -> (Ticks, u32) {
        let Reverse((time, _, number)) = self.events.pop().expect("as many are pushed as popped");
        (time, number)
    }
}

fn main() {
    let (steps, rounds) = if quick() { (200_000, 3) } else { (2_000_000, 7) };
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header(["pending", "wheel, ns", "heap, ns", "heap / wheel"]);
    for pending in [1_000, 10_000, 100_000] {
        // In turn, so that a busy machine slows both.
        let both = || (time_of::<Wheel>(pending, steps), time_of::<Heap>(pending, steps));
        let turns: Vec<(f64, f64)> = (0..rounds).map(|_| both()).collect();
        let (wheel, heap) = (median(turns.iter().map(|turn| turn.0)), median(turns.iter().map(|turn| turn.1)));
        let ratio = heap / wheel;
        table.add_row([pending.to_string(), format!("{wheel:.1}"), format!("{heap:.1}"), format!("{ratio:.1}")]);
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("one pop and one push, nanoseconds of processor time; medians of {rounds} turns");
    println!("{table}");
}

/// Nanoseconds for one pop and one push.
fn time_of<L: EventList>(pending: u32, steps: u32) -> f64 {
    let mut random = Pcg32::seed_from_u64(1);
    let mut list = L::default();
    (0..pending).for_each(|number| list.push(delay(&mut random), number));
    let watch = Stopwatch::start();
    for _ in 0..steps {
        let (time, number) = list.pop();
        list.push(time + delay(&mut random), number);
    }
    let ns = watch.ns() / f64::from(steps);
    black_box(list.pop());
    ns
}

fn delay(random: &mut Pcg32) -> Ticks {
    let drawn = random.next_u32();
    let (least, spread) = DELAYS[drawn as usize % DELAYS.len()];
    u64::from(least) + ((u64::from(drawn) * u64::from(spread)) >> 32)
}
