//! The same run twice is the same run.

use super::{LATCHES, run, small};
use crate::support::bundled::bundled;
use reconfig::plan::Scheme;
use reconfig::scenario::{Scenario, SimulationReport};
use reconfig::sim::{Latch, SimConfig};

/// So much traffic and so little room that packets stand in queues, where latches differ.
fn busy(scheme: Scheme, latch: Latch, seed: u64) -> SimulationReport {
    let base = small(bundled("seed-16"));
    let sim = SimConfig { seed, latch, replies: 0.3, buffer_credits: 32, ..base.sim.clone() };
    run(&Scenario { scheme, sim, load: Some(0.2), ..base })
}

#[test]
fn a_run_repeated_gives_one_trace_hash_and_one_report() {
    for &scheme in Scheme::ALL {
        for latch in LATCHES {
            let (first, again, other) = (busy(scheme, latch, 1), busy(scheme, latch, 1), busy(scheme, latch, 2));
            assert_eq!(first, again, "{scheme} {latch:?}");
            assert_ne!(first.trace_hash, other.trace_hash, "{scheme} {latch:?}");
        }
    }
}

#[test]
fn a_run_with_lost_smps_repeated_is_the_same_run() {
    let base = small(bundled("seed-16"));
    let sim = SimConfig { smp_loss: 0.1, smp_duplicate: 0.1, smp_delay_ns: 20_000, ..base.sim.clone() };
    let scenario = Scenario { sim, smp_timeout_ns: 200_000, ..base };
    assert_eq!(run(&scenario), run(&scenario));
}

#[test]
fn latches_differ_where_packets_queue() {
    let [arrival, head, grant] = LATCHES.map(|latch| busy(Scheme::Double, latch, 1).trace_hash);
    assert!(arrival != head && head != grant && grant != arrival, "{arrival:x} {head:x} {grant:x}");
}

/// A plan is made of the fabric alone: what happens in a run does not change it.
#[test]
fn another_seed_runs_the_same_plan() {
    let [first, other] = [1, 2].map(|seed| busy(Scheme::Double, Latch::Arrival, seed));
    assert_eq!((&first.proof, &first.moves), (&other.proof, &other.moves));
    let roots = |run: &SimulationReport| [run.changes[0].root_before.clone(), run.changes[0].root_after.clone()];
    assert_eq!(roots(&first), roots(&other));
}
