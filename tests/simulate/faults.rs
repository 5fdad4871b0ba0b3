//! Management that loses, delays and repeats what it carries, and end ports that do not do as they are told.

use super::{assert_clean, assert_packets_add_up, run, small};
use crate::support::bundled::bundled;
use reconfig::scenario::{Departure, Ending, Scenario};
use reconfig::sim::SimConfig;

#[test]
fn lost_late_and_repeated_smps_delay_the_change_and_no_packet() {
    for departure in [Departure::Planned, Departure::Sudden] {
        for (what, smp_loss, smp_duplicate, smp_delay_ns) in
            [("loss", 0.2, 0.0, 0), ("duplicates", 0.0, 0.5, 0), ("everything", 0.2, 0.2, 50_000)]
        {
            let base = small(bundled("seed-16"));
            let sim = SimConfig { smp_loss, smp_duplicate, smp_delay_ns, ..base.sim.clone() };
            let (load, smp_timeout_ns) = (Some(0.02), 500_000);
            let report = run(&Scenario { sim, departure, load, smp_timeout_ns, ..base });
            assert_clean(&report, &format!("{what} {}", departure.name()));
        }
    }
}

#[test]
fn end_ports_that_never_move_keep_the_change_from_going_on() {
    let base = small(bundled("seed-16"));
    let sim = SimConfig { sources_move: false, ..base.sim.clone() };
    for departure in [Departure::Planned, Departure::Sudden] {
        let report = run(&Scenario { sim: sim.clone(), departure, ..base.clone() });
        assert_eq!(report.outcome, Ending::Aborted);
        let reason = report.reason.clone().unwrap_or_default();
        assert!(reason.contains("stands still while swapping") && reason.contains("ActiveHalf"), "{reason}");
        assert!(report.changes[0].phases.iter().all(|phase| phase.name != "drain"), "{:?}", report.changes[0].phases);
        assert_eq!(report.packets.lost_to_change, 0, "{:?}", report.packets);
        assert_packets_add_up(&report, departure.name());
    }
}

/// A manager that nobody answers reports it, and leaves the subnet as it is.
#[test]
fn a_manager_that_is_never_answered_gives_up_with_a_reason() {
    let base = small(bundled("ring-8"));
    let sim = SimConfig { smp_loss: 1.0, ..base.sim.clone() };
    let report = run(&Scenario { sim, smp_retries: 2, smp_timeout_ns: 100_000, departure: Departure::Planned, ..base });
    assert_eq!((report.outcome, report.packets.lost_to_change), (Ending::Aborted, 0));
    assert!(!report.reason.clone().unwrap_or_default().is_empty());
}
