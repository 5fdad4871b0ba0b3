//! Properties of random changes on random subnets: what is proved holds under saturating traffic, whatever the order,
//! loss, delay and repetition of management packets; what deadlocks had been refused.
//!
//! A case is numbers alone, so it shrinks and prints; `RECONFIG_THOROUGH=1` runs many more cases, and
//! `PROPTEST_RNG_SEED` names another seed (docs/TESTING.md). Each claim counts what it met, so that a claim
//! about nothing fails.

mod accounts;
mod certified;
mod engines;
mod fenced;
mod interrupted;
mod play;
mod proved;
mod read_back;
mod recovered;
mod refused;
mod repeated;
mod replies;
mod world;

use crate::support::{is_thorough, seeded};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reconfig::sim::{PacketCounts, StuckPacket};
use reconfig::verify::Wait;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// How often things were met in the run of one claim.
#[derive(Default)]
struct Tally(RefCell<BTreeMap<&'static str, u32>>);

impl Tally {
    fn count(&self, what: &'static str) {
        *self.0.borrow_mut().entry(what).or_default() += 1;
    }

    fn of(&self, what: &str) -> u32 {
        self.0.borrow().get(what).copied().unwrap_or(0)
    }

    /// Fails unless at least one in `in_every` of the `cases` met this.
    fn demand(&self, what: &str, cases: u32, in_every: u32) {
        let (met, wanted) = (self.of(what), cases / in_every);
        assert!(wanted > 0, "nothing is wanted of {cases} cases: `{what}` could not fail");
        assert!(met >= wanted, "{met} of {cases} cases met `{what}`, {wanted} are wanted: {:?}", self.0.borrow());
    }
}

/// Tries a claim on random cases, a third as many in the brief form, and shrinks the first that it fails on; returns
/// what was met and the number of cases.
fn claim<S: Strategy>(
    name: &str,
    cases: u32,
    strategy: S,
    test: impl Fn(&Tally, S::Value) -> Result<(), TestCaseError>,
) -> (Tally, u32) {
    let config = config(cases);
    let (tally, cases) = (Tally::default(), config.cases);
    println!("{name}: {cases} cases, seed {:?}", config.rng_seed);
    let failures = Cell::new(0);
    let told = |case: S::Value| {
        let shown = format!("{case:?}");
        let verdict = test(&tally, case);
        if let Err(TestCaseError::Fail(reason)) = &verdict
            && failures.replace(failures.get() + 1) == 0
        {
            println!("{name}: fails before it shrinks: {reason}\n{shown}");
        }
        verdict
    };
    if let Err(error) = TestRunner::new(config).run(&strategy, told) {
        panic!("{name}: {error}");
    }
    println!("{name}: {:?}", tally.0.borrow());
    (tally, cases)
}

fn config(cases: u32) -> Config {
    let base =
        Config { max_shrink_iters: 300, failure_persistence: None, max_global_rejects: 1 << 20, ..Config::default() };
    Config { cases: if is_thorough() { cases * 40 } else { cases / 3 }, ..seeded(base) }
}

/// Every packet has met exactly one fate.
fn assert_conserved(packets: &PacketCounts) -> Result<(), TestCaseError> {
    let PacketCounts { injected, delivered, in_flight, stranded, lost_to_failure, lost_to_change } = *packets;
    prop_assert_eq!(injected, delivered + in_flight + stranded + lost_to_failure + lost_to_change, "{:?}", packets);
    Ok(())
}

/// What stands still, as waits that the prover can judge.
fn waits(stuck: &[StuckPacket]) -> Vec<Wait> {
    let wait = |stuck: &StuckPacket| Wait {
        input: stuck.input,
        input_vl: stuck.input_vl,
        output: stuck.output,
        output_vl: stuck.output_vl,
    };
    stuck.iter().map(wait).collect()
}
