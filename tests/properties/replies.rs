//! Drains while every packet is answered: no reply on the old half outlasts its drain, whoever observes it.
//!
//! Traffic is written out, since random traffic seldom does it. A responder that has moved has bulk of its own to send
//! on the new half; requests of the old half reach it late, from queues that were long when the change began; its
//! replies stand behind the bulk. Settled once is then not settled for good.

use super::engines::{Kind, Router};
use super::play::{End, MS, Management, Play, Setting};
use super::proved::prepared;
use super::world::{Forms, Happening, Shape, World};
use crate::support::is_thorough;
use reconfig::machine::Outcome;
use reconfig::plan::{Observer, Policy, Scheme};
use reconfig::sim::{Latch, Traffic};
use reconfig::subnet::SourceControl;
use std::collections::BTreeMap;

const LATCHES: [Latch; 3] = [Latch::Arrival, Latch::Head, Latch::Grant];

/// Sizes of requests, in turn.
const SIZES: [u16; 4] = [64, 1024, 256, 4096];

/// One entry of a trace: when, from whom, to whom, bytes.
type Entry = (u64, u32, u32, u16);

/// A subnet and what its hosts send.
struct Script {
    world: World,
    setting: Setting,
}

impl Script {
    fn new(shape: &'static str, seed: u64, [old, new]: [u64; 2], vls: u8, mut trace: Vec<Entry>) -> Script {
        trace.sort_by_key(|entry| entry.0);
        let router = |salt| Router { kind: Kind::UpDown, salt };
        let world = World {
            shape: Shape::Generated(shape),
            seed,
            vls,
            lmc: 1,
            forms: Forms::Optimised,
            slow: false,
            old: router(old),
            new: router(new),
            happening: Happening::Reroute,
        };
        let management = Management {
            service_ns: 1_000,
            loss: 0.0,
            impatient: false,
            delay_ns: 0,
            window: 128,
            per_device: 3,
            order: None,
        };
        let setting = Setting {
            seed,
            scheme: Scheme::Double,
            both_halves: false,
            sources: SourceControl::ByAgent,
            policy: Policy { observer: Observer::Lifetime, ..Policy::default() },
            latch: Latch::Arrival,
            buffer_credits: 128,
            replies: 1.0,
            send_queue: 600,
            vl_weight: 1,
            traffic: Traffic::Trace(trace),
            life_time_value: 0,
            management,
        };
        Script { world, setting }
    }

    /// Four hosts have a long queue before the swap: bulk to many, and small requests to host 0. Host 0 has nothing to
    /// send until it was moved; then bulk to everybody. In every other script the askers begin late, and slowly.
    fn one_responder(number: u64) -> Script {
        let is_late = number % 2 == 1;
        let (late_ns, pace_ns) = if is_late { (30_000, 250) } else { (0, 100) };
        let mut trace = Vec::new();
        for at in 0..1_500u64 {
            let ns = late_ns + at * pace_ns;
            for asker in [3u32, 11, 19, 27] {
                let other = 1 + (at as u32 * 5 + asker) % 31;
                if other != asker && (asker * 7 + other) % 8 != (asker * 7) % 8 {
                    trace.push((ns, asker, other, 4096));
                }
                if at % 4 == 0 {
                    trace.push((ns + 10, asker, 0, if is_late { SIZES[at as usize / 4 % 4] } else { 64 }));
                }
            }
        }
        trace.extend((0..20_000u64).map(|at| (500_000 + at * 500, 0, 1 + (at % 31) as u32, 4096)));
        let mut script =
            Script::new("leaf-spine:4,2,8", number, [1, 2 + number], [15, 8, 4][number as usize % 3], trace);
        script.setting.life_time_value = 4 - (number / 3 % 5) as u8;
        script.setting.latch = LATCHES[number as usize / 15 % 3];
        script
    }

    /// Even hosts have a long queue of requests before the swap: first to each other; behind that, to the odd ones,
    /// which so have nothing of the old half for a while. Odd hosts are busy on the new half with their neighbour at
    /// the same switch, until all send to all: what was left behind then stands in the way. Buffers are small.
    fn all_respond(number: u64) -> Script {
        let hosts = 16u32;
        let size = |at: u64| if number % 2 == 1 { SIZES[at as usize % 3] } else { 1024 };
        let mut trace = Vec::new();
        for at in 0..900u64 {
            for asker in (0..hosts).step_by(2) {
                let step = ((at as u32 * 7 + asker * 3) % (hosts / 2 - 1)) * 2 + 2;
                let other = (asker + step + u32::from(at >= 250)) % hosts;
                trace.push((at * 50, asker, other, size(at)));
            }
        }
        let burst_ns = 6_200_000 + 500_000 * (number % 4);
        for at in 0..14_000u64 {
            let ns = 250_000 + at * 900;
            trace.extend((1..hosts).step_by(2).filter(|_| ns < burst_ns).map(|odd| (ns, odd, odd - 1, 1024)));
        }
        for at in 0..6_000u64 {
            let other = |rank: u32| (rank + 2 + (at as u32 * 5) % (hosts - 4)) % hosts;
            trace.extend((0..hosts).map(|rank| (burst_ns + at * 900, rank, other(rank), 1024)));
        }
        let mut script = Script::new("random-regular:8,3,2", number / 4, [number, 1000 + number], 2, trace);
        script.setting.life_time_value = 1 + (number % 3) as u8;
        script.setting.latch = LATCHES[number as usize % 2];
        (script.setting.buffer_credits, script.setting.send_queue) = (16, 700);
        script
    }

    /// How the change under this traffic ends, and that neither a barrier was false nor anything stuck, with any
    /// observer.
    fn play(mut self, observer: Observer) -> Option<&'static str> {
        self.setting.policy.observer = observer;
        let built = self.world.build()?;
        let plan = prepared(&self.world, &self.setting, &built).ok()?.plan;
        assert!(plan.proof().is_some(), "a double plan is proved");
        let mut play = Play::begin(&self.world, &self.setting, built);
        let end = play.change(&self.world, Vec::new());
        let told = || format!("{observer}, {:?}, {:?}", self.world, self.setting.life_time_value);
        let End::Report(report) = end else { panic!("{}: {end:?}, stuck: {:?}", told(), play.stuck()) };
        play.pass(3 * MS);
        assert_eq!(play.stuck(), None, "{}", told());
        let (broken, aged) = play.transport.with(|sim| sim.limits_at_work());
        assert_eq!(broken, 0, "a deadlock that a limit broke: {}", told());
        match report.outcome {
            Outcome::Completed => Some(if aged > 0 { "completed, some by age" } else { "completed" }),
            // The change stands still, safely: what was discarded is never received.
            Outcome::Failed { .. } if observer == Observer::Conservation => Some("no verdict"),
            other => panic!("{}: {other:?}", told()),
        }
    }
}

/// Plays scripts with every observer; at least nine in ten must complete.
fn play_all(name: &str, brief: u64, long: u64, script: fn(u64) -> Script) {
    let mut ends: BTreeMap<(String, &'static str), u32> = BTreeMap::new();
    for number in 0..if is_thorough() { long } else { brief } {
        for &observer in Observer::ALL {
            if let Some(end) = script(number).play(observer) {
                *ends.entry((observer.to_string(), end)).or_default() += 1;
            }
        }
    }
    println!("{name}: {ends:?}");
    let all: u32 = ends.values().sum();
    let completed: u32 = ends.iter().filter(|((_, end), _)| *end != "no verdict").map(|(_, count)| count).sum();
    assert!(all > 0 && completed * 10 >= all * 9, "{completed} of {all} completed: {ends:?}");
}

#[test]
fn no_reply_outlasts_the_drain() {
    play_all("replies of one responder", 6, 60, Script::one_responder);
}

#[test]
fn no_reply_is_left_behind_to_close_a_cycle() {
    play_all("replies of all", 6, 66, Script::all_respond);
}
