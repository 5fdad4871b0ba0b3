//! Whatever deadlocks had been refused, and the prover holds the very cycle possible.

use super::engines::{Kind, Router};
use super::play::{End, Management, Play, Setting};
use super::proved::prepared;
use super::world::{DENSE, Forms, Happening, Shape, World};
use super::{assert_conserved, claim, waits};
use proptest::prelude::*;
use reconfig::plan::{Policy, Scheme};
use reconfig::sim::{Latch, Traffic};
use reconfig::subnet::SourceControl;
use reconfig::verify::{Refusal, foresee};

/// Two up*/down* routings of a dense fabric, the one written over the other under all the load there can be.
fn rewritings() -> impl Strategy<Value = (World, Setting)> {
    let numbers = (0u64..1_000, prop::sample::select(&[1u8, 2, 4][..]), any::<[u64; 2]>(), any::<bool>());
    let happening = prop_oneof![
        1 => Just(Happening::Reroute),
        2 => (0usize..64, any::<bool>())
            .prop_map(|(switch, sudden)| Happening::Leave { switches: vec![switch], cables: Vec::new(), sudden }),
    ];
    let latch = prop::sample::select(&[Latch::Arrival, Latch::Head, Latch::Grant][..]);
    let management = (prop::sample::select(&[2_000u64, 18_600][..]), prop::option::of((any::<u64>(), 1u16..6)));
    (prop::sample::select(&DENSE[..]), numbers, happening, latch, management).prop_map(
        |(text, (seed, vls, [old, new], slow), happening, latch, (service_ns, order))| {
            let router = |salt: u64| Router { kind: Kind::UpDown, salt: salt % 1_000 };
            let world = World {
                shape: Shape::Generated(text),
                seed,
                vls,
                lmc: 1,
                forms: Forms::Optimised,
                slow,
                old: router(old),
                new: router(new),
                happening,
            };
            let management =
                Management { service_ns, loss: 0.0, impatient: false, delay_ns: 0, window: 4, per_device: 1, order };
            let setting = Setting {
                seed,
                scheme: Scheme::InPlace,
                both_halves: false,
                sources: SourceControl::ByAgent,
                policy: Policy::default(),
                latch,
                buffer_credits: 16,
                replies: 0.0,
                send_queue: 16,
                vl_weight: 64,
                traffic: Traffic::Uniform,
                life_time_value: 6,
                management,
            };
            (world, setting)
        },
    )
}

#[test]
fn whatever_deadlocks_was_refused_with_that_cycle() {
    let (tally, cases) = claim("rewriting in place", 120, rewritings(), |tally, (world, setting)| {
        let Some(built) = world.build() else { return Ok(()) };
        let vetted = prepared(&world, &setting, &built).map_err(|error| TestCaseError::fail(error.to_string()))?.plan;
        let mut play = Play::begin(&world, &setting, built);
        let end = play.change(&world, Vec::new());
        let packets = play.finish(false);
        assert_conserved(&packets)?;
        let Some(stuck) = play.stuck() else {
            prop_assert!(!matches!(end, End::Deadlock));
            tally.count(if vetted.refusal().is_some() {
                "refused, and no deadlock"
            } else {
                "proved, and no deadlock"
            });
            return Ok(());
        };
        let met = foresee(vetted.plan(), &waits(&stuck)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        match (vetted.refusal(), met) {
            (None, _) => return Err(TestCaseError::fail("a proved plan deadlocks")),
            (Some(_), Some(cycle)) => {
                prop_assert_eq!(cycle.dependencies.len(), stuck.len());
                tally.count("deadlocked as foreseen");
            }
            // At a hole the prover stops: what may wait for what beyond it is not known.
            (Some(Refusal::BlackHole(_) | Refusal::WrongArrival(_)), None) => tally.count("refused for a hole"),
            (Some(refusal), None) => {
                return Err(TestCaseError::fail(format!("not foreseen, though refused: {refusal}")));
            }
        }
        Ok(())
    });
    tally.demand("deadlocked as foreseen", cases, 8);
    tally.demand("proved, and no deadlock", cases, 40);
}
