//! The same run twice is the same run.

use super::{LATCHES, run, small};
use reconfig::plan::Scheme;
use reconfig::scenario::Scenario;
use reconfig::sim::SimConfig;

#[test]
fn a_run_repeated_gives_one_trace_hash_and_one_report() {
    for &scheme in Scheme::ALL {
        for latch in LATCHES {
            let base = small(super::bundled("random-regular-16-4"));
            let with_seed = |seed| {
                let sim = SimConfig { seed, latch, replies: 0.3, smp_loss: 0.02, ..base.sim.clone() };
                run(&Scenario { scheme, sim, ..base.clone() })
            };
            let (first, again, other) = (with_seed(1), with_seed(1), with_seed(2));
            assert_eq!(first, again, "{scheme} {latch:?}");
            assert_ne!(first.trace_hash, other.trace_hash, "{scheme} {latch:?}");
        }
    }
}

/// A plan is made of the fabric alone: what happens in a run does not change it.
#[test]
fn another_seed_runs_the_same_plan() {
    let base = small(super::bundled("seed-16"));
    let of_seed = |seed| run(&Scenario { sim: SimConfig { seed, ..base.sim.clone() }, ..base.clone() });
    let (first, other) = (of_seed(1), of_seed(2));
    assert_eq!((first.proof, first.change), (other.proof, other.change));
}
