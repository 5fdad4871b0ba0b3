//! Polling as the way in which a manager hears of a loss, beside traps.

use super::{run, small};
use crate::support::bundled::bundled;
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Departure, Detection, Ending, Scenario, ScenarioError, SimulationReport, Unwatched};
use std::sync::Arc;

/// The root of a small fabric dies.
fn lost(detection: Detection) -> SimulationReport {
    run(&Scenario { detection, ..small(bundled("seed-16")) })
}

fn sweep(factor: u32) -> Detection {
    Detection::Sweep { factor }
}

fn noticed_ns(report: &SimulationReport) -> u64 {
    assert_eq!(report.outcome, Ending::Completed, "{:?}", report.reason);
    report.changes[0].sweep.as_ref().expect("a loss is looked at").start_ns
}

#[test]
fn polling_notices_later_than_traps_and_later_the_rarer_it_is() {
    let noticed = [Detection::Trap, sweep(1), sweep(9), sweep(99)].map(|way| noticed_ns(&lost(way)));
    assert!(noticed.is_sorted_by(|a, b| a < b), "{noticed:?}");
    // The wait is the factor times the duration of a sweep, which is the same in all.
    let (few, many) = (noticed[2] - noticed[1], noticed[3] - noticed[1]);
    assert!((few * 98).abs_diff(many * 8) <= 98 * 8, "{noticed:?}");
}

/// The neighbours of a switch that died report it. Who waited for the dead switch itself would wait through all tries.
#[test]
fn polling_does_not_wait_for_the_switch_that_died() {
    let [told, polled] = [Detection::Trap, sweep(1)].map(lost);
    let later_ns = noticed_ns(&polled) - noticed_ns(&told);
    assert!(later_ns < 5_000_000, "{later_ns} ns");
    assert_eq!(polled.packets.lost_to_change, 0);
}

#[test]
fn polling_gives_the_same_trace_again() {
    assert_eq!(lost(sweep(9)).trace_hash, lost(sweep(9)).trace_hash);
}

#[test]
fn nothing_is_detected_of_a_planned_removal() {
    let planned = Scenario { detection: sweep(9), departure: Departure::Planned, ..small(bundled("seed-16")) };
    let refused = scenario::run(&planned, Arc::new(UpDown::default()), &mut Unwatched);
    assert!(matches!(refused, Err(ScenarioError::Unsupported(_))));
}
