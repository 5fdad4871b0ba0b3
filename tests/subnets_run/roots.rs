//! The root of one subnet dies or leaves: the others do not see it, and what crosses loses nothing to the change.

use super::{DEPARTURES, among, assert_clean, assert_whole, fixture, generated, root_of, run, small, subnets_called};
use crate::support::is_thorough;
use reconfig::fabric::generate::JoinShape;
use reconfig::fabric::subnets::Subnets;
use reconfig::scenario::{Departure, Latency, RelationReport, Scenario, SimulationReport};

/// Traffic enough for percentiles.
fn measured(subnets: Subnets, subnet: u16, departure: Departure) -> Scenario {
    let mut asked = small(subnets, root_of(subnet), departure);
    (asked.load, asked.before_ns, asked.after_ns) = (Some(0.1), 300_000, 300_000);
    asked
}

/// How far a percentile may move without meaning anything. The median stands on thousands of packets in every period
/// and lies where packets are dense; one packet in a hundred is rarer, and lies where queues happened to build up.
const MEDIAN_NOISE: f64 = 0.03;
const TAIL_NOISE: f64 = 0.10;

fn assert_near(before: u64, then: u64, noise: f64, what: &str) {
    let change = then as f64 / before as f64 - 1.0;
    assert!(change.abs() <= noise, "{what}: from {before} ns to {then} ns, a change of {change:.3}");
}

fn assert_unmoved(relation: &RelationReport, what: &str) {
    let latency = &relation.latency_ns;
    let delivered = relation.delivered;
    assert!(delivered.before.min(delivered.during) > 2_000, "{what}: {delivered:?} are too few to judge by");
    for (period, then) in [("during", latency.during), ("after", latency.after)] {
        let Latency { p50, p99, .. } = latency.before;
        let of = |percentile| format!("{what}, {} {period}, {percentile}", relation.from);
        assert_near(p50, then.p50, MEDIAN_NOISE, &of("p50"));
        assert_near(p99, then.p99, TAIL_NOISE, &of("p99"));
    }
}

/// Issue 6, (a): what the subnets besides `changed` see. Between two that are no neighbours a way may lead through it,
/// so that what dies there takes packets along.
fn assert_unaware(report: &SimulationReport, changed: u16) {
    let what = format!("{} ({})", report.what, report.departure);
    let others = subnets_called(report, (0..report.subnets.len() as u16).filter(|&rank| rank != changed));
    for relation in among(report, &others) {
        if relation.from == relation.to {
            assert_whole(relation, &what);
            assert_unmoved(relation, &what);
        } else if relation.crossings == Some(1) || report.departure == "planned" {
            assert!(relation.packets.injected > 0, "{what}: {relation:?}");
            assert_whole(relation, &what);
        }
    }
}

fn assert_every_root_can_go(subnets: &Subnets, departures: &[Departure]) {
    for subnet in 0..subnets.len() as u16 {
        for &departure in departures {
            let report = run(&measured(subnets.clone(), subnet, departure));
            assert_clean(&report);
            assert_unaware(&report, subnet);
            let lost = report.packets.lost_to_failure;
            assert_eq!(lost == 0, departure == Departure::Planned, "{}: {lost} lost to the failure", report.what);
        }
    }
}

#[test]
fn each_root_of_two_subnets() {
    assert_every_root_can_go(&fixture("two-subnets"), &DEPARTURES);
}

#[test]
fn each_root_of_four_subnets_dies() {
    assert_every_root_can_go(&fixture("four-subnets"), &[Departure::Sudden]);
}

#[test]
fn each_root_of_four_subnets_leaves() {
    assert_every_root_can_go(&fixture("four-subnets"), &[Departure::Planned]);
}

/// 64 switches and 128 hosts in each subnet.
#[test]
fn a_root_of_large_subnets_dies() {
    let subnets = generated(
        if is_thorough() { "random-regular:64,6,2" } else { "random-regular:32,6,2" },
        2,
        JoinShape::Line,
        2,
        1,
    );
    let mut asked = measured(subnets, 1, Departure::Sudden);
    (asked.before_ns, asked.after_ns) = (100_000, 100_000);
    let report = run(&asked);
    assert_clean(&report);
    assert_unaware(&report, 1);
}

/// Routers at leaves of three-level fat trees of 64 switches.
#[test]
fn a_root_of_large_fat_trees_leaves() {
    let subnets = generated("three-level:4,8,4,4,2", 2, JoinShape::Line, 3, 1);
    assert_eq!(subnets.fabric(Default::default()).switches().count(), 64);
    let mut asked = measured(subnets, 0, Departure::Planned);
    // As much as every channel can carry: up*/down* leads most of a fat tree's traffic by one core, and congestion
    // crosses routers.
    (asked.load, asked.before_ns, asked.after_ns) = (None, 200_000, 200_000);
    let report = run(&asked);
    assert_clean(&report);
    assert_unaware(&report, 0);
}

#[test]
fn a_run_is_the_same_again_and_another_seed_is_another_run() {
    for (departure, name) in DEPARTURES.into_iter().zip(["two-subnets", "four-subnets"]) {
        let asked = small(fixture(name), root_of(1), departure);
        let (first, second) = (run(&asked), run(&asked));
        assert_eq!(first, second, "{name}");
        let mut other = asked.clone();
        other.sim.seed += 1;
        assert_ne!(first.trace_hash, run(&other).trace_hash, "{name}");
    }
}
