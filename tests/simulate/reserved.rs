//! A reserved service level while a monitor asks switches: what is on its lane holds nothing up, and the same questions
//! on a level of the old half keep the lanes of that half from running empty.

use super::command::screen;
use super::{assert_clean, run, small};
use crate::support::bundled::bundled;
use reconfig::ids::Sl;
use reconfig::plan::{Observer, Policy, Scheme};
use reconfig::scenario::{Departure, Ending, Scenario, SimulationReport};
use reconfig::sim::{Monitor, SimConfig};

const RESERVED: Sl = Sl::masked(7);
/// Of the half in use before the change.
const OF_OLD: Sl = Sl::masked(1);

/// The root leaves, by scheme `double`, while every host asks switches on a service level.
fn asked(observer: Observer, sl: Sl) -> SimulationReport {
    // Conservation counts every packet of the old half, so none may die.
    let departure = if observer == Observer::Conservation { Departure::Planned } else { Departure::Sudden };
    let base = small(bundled("fat-tree-4-2"));
    let sim = SimConfig {
        monitor: Some(Monitor { sl, every_ns: 500 }),
        switch_lifetime_ns: if observer == Observer::Lifetime { 20_000 } else { 0 },
        ..base.sim.clone()
    };
    let policy = Policy { observer, reserved_sl: Some(RESERVED), ..base.policy };
    run(&Scenario { sim, policy, departure, scheme: Scheme::Double, barrier_timeout_ns: 3_000_000, ..base })
}

#[test]
fn no_observer_waits_for_the_reserved_lane() {
    for &observer in Observer::ALL {
        let report = asked(observer, RESERVED);
        assert_clean(&report, observer.name());
        let questions = report.questions.expect("there is a monitor");
        // Those to the switch that left are lost, and so are those on the way through it.
        assert!(questions.arrived > 1_000 && questions.arrived > questions.lost, "{observer}: {questions:?}");
    }
}

#[test]
fn the_same_questions_on_a_level_of_the_old_half_spoil_every_drain() {
    for &observer in Observer::ALL {
        let report = asked(observer, OF_OLD);
        assert_eq!(report.outcome, Ending::Aborted, "{observer}: {:?}", report.reason);
        let reason = report.reason.clone().unwrap_or_default();
        // Either the drain does not end, or the witness sees that it ended too early.
        assert!(reason.contains("drain of lanes"), "{observer}: {reason}");
    }
}

/// The lane is full at every host, and still no barrier waits for it.
#[test]
fn a_reserved_lane_that_never_runs_empty_holds_no_change_up() {
    for scheme in [Scheme::Double, Scheme::Ordered] {
        for departure in [Departure::Sudden, Departure::Planned] {
            let base = small(bundled("fat-tree-4-2"));
            let sim = SimConfig { monitor: Some(Monitor { sl: RESERVED, every_ns: 60 }), ..base.sim.clone() };
            let policy = Policy { reserved_sl: Some(RESERVED), ..base.policy };
            let report = run(&Scenario { sim, policy, departure, scheme, ..base });
            assert_clean(&report, scheme.name());
            assert!(report.questions.expect("there is a monitor").arrived > 10_000, "{scheme}: {:?}", report.questions);
        }
    }
}

/// Questions that wait for each other where the plan claims nothing of them are no fault of the proof.
#[test]
fn a_circle_of_questions_of_which_nothing_is_claimed_is_called_so() {
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/hypercube-4.ibnetdiscover");
    let options =
        "--remove-root --sudden --scheme double --standing-partition --arming hold --vls 8 --load 0.3 --seed 78";
    let monitor = "--reserved-sl 5 --monitor-sl 5 --monitor-every 5000";
    let arguments: Vec<&str> = options.split(' ').chain(monitor.split(' ')).chain([fabric]).collect();
    let (code, screen) = screen(&arguments);
    assert_eq!(code, Some(1), "{screen}");
    assert!(screen.contains("DEADLOCKED") && screen.contains("`switch-management-paused` is assumed"), "{screen}");
    assert!(screen.contains("all of it is on the reserved level"), "{screen}");
    assert!(!screen.contains("please report it"), "{screen}");
}
