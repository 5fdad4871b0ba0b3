//! Who tells that lanes are empty. What cannot tell must not let the change go on.

use super::{assert_clean, assert_packets_add_up, run, small, watched};
use crate::support::bundled::bundled;
use reconfig::plan::{Observer, Policy};
use reconfig::scenario::Unwatched;
use reconfig::scenario::{Departure, Ending, Scenario};
use reconfig::sim::SimConfig;

fn by(observer: Observer, departure: Departure) -> Scenario {
    let base = small(bundled("random-regular-16-4"));
    Scenario { policy: Policy { observer, ..base.policy }, departure, barrier_timeout_ns: 3_000_000, ..base }
}

/// Limits that no packet of these runs ever reaches.
fn with_limits(scenario: Scenario) -> Scenario {
    let sim = SimConfig { hoq_lifetime_ns: 100_000, switch_lifetime_ns: 200_000, ..scenario.sim.clone() };
    Scenario { sim, barrier_timeout_ns: 20_000_000, ..scenario }
}

#[test]
fn every_observer_sees_a_planned_change_through() {
    for observer in [Observer::Token, Observer::Poll] {
        assert_clean(&run(&by(observer, Departure::Planned)), observer.name());
    }
    // No host is attached to the root of a fat tree: every counter can be read.
    let fabric = bundled("fat-tree-4-2");
    assert_clean(
        &run(&Scenario { subnets: small(fabric).subnets, ..by(Observer::Conservation, Departure::Planned) }),
        "conservation",
    );
    let report = run(&with_limits(by(Observer::Lifetime, Departure::Planned)));
    assert_clean(&report, "lifetime");
    assert_eq!(report.lifetime_discards, 0);
}

#[test]
fn tokens_polls_and_ages_see_a_sudden_change_through() {
    for observer in [Observer::Token, Observer::Poll] {
        assert_clean(&run(&by(observer, Departure::Sudden)), observer.name());
    }
    assert_clean(&run(&with_limits(by(Observer::Lifetime, Departure::Sudden))), "lifetime");
}

/// The slides' alternative: no answer while a queue is not empty, a time-out, a back-off. However short the first
/// time-out, it grows until answers come in time.
#[test]
fn polls_that_are_answered_by_silence_see_a_change_through() {
    let asked = |silence_ns, departure| {
        let report = run(&Scenario { poll_silence_ns: silence_ns, ..by(Observer::Poll, departure) });
        assert_clean(&report, "silent polls");
        report.smps().total
    };
    for departure in [Departure::Planned, Departure::Sudden] {
        let answered = asked(None, departure);
        let silent = asked(Some(100_000), departure);
        let impatient = asked(Some(100), departure);
        assert!(impatient > silent, "answers that come too late were asked for in vain: {impatient}, {silent}");
        assert!(impatient > answered, "{impatient}, {answered}");
    }
}

#[test]
fn silence_is_refused_where_nobody_polls() {
    let scenario = Scenario { poll_silence_ns: Some(1_000), ..by(Observer::Token, Departure::Planned) };
    let error = watched(&scenario, &mut Unwatched).unwrap_err();
    assert!(error.to_string().contains("choose --drain poll"), "{error}");
}

#[test]
fn conservation_is_refused_beforehand_where_a_counter_cannot_be_read() {
    let error = watched(&by(Observer::Conservation, Departure::Planned), &mut Unwatched).unwrap_err();
    assert!(error.to_string().contains("choose another drain observer"), "{error}");
}

#[test]
fn conservation_is_refused_where_no_buffer_takes_a_question() {
    let mut scenario = by(Observer::Conservation, Departure::Planned);
    (scenario.sim.packet_bytes, scenario.sim.buffer_credits) = (256, 4);
    let error = watched(&scenario, &mut Unwatched).unwrap_err();
    assert!(error.to_string().contains("give it 5 credits at least"), "{error}");
}

/// Packets that died were sent and never received: counters cannot balance.
#[test]
fn conservation_is_refused_where_an_end_port_died() {
    let scenario = by(Observer::Conservation, Departure::Sudden);
    let error = watched(&scenario, &mut Unwatched).expect_err("the dead ports' counters are missing from the sums");
    assert!(error.to_string().contains("its counters cannot be read"), "{error}");
}

#[test]
fn ages_mean_nothing_where_switches_have_no_limit() {
    for departure in [Departure::Planned, Departure::Sudden] {
        let report = run(&by(Observer::Lifetime, departure));
        assert_eq!(report.outcome, Ending::Aborted);
        let reason = report.reason.clone().unwrap_or_default();
        assert!(reason.starts_with("called off") && reason.contains("LifeTimeValue"), "{reason}");
        assert_eq!(report.packets.lost_to_change, 0, "{:?}", report.packets);
        assert_packets_add_up(&report, "lifetime");
    }
}
