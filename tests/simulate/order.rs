//! Order within one SLID, DLID and SL, which InfiniBand promises, while the routing changes under heavy load.

use super::{LATCHES, assert_clean, run, small, watched};
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use crate::support::properties::properties;
use proptest::prelude::*;
use proptest::test_runner::Config;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::plan::{Barrier, LanePartition, Phase, Policy, Scheme};
use reconfig::routing::{UpDown, choose_root};
use reconfig::scenario::{
    self, Departure, DisorderCause, Ending, Scenario, ScenarioError, SimulationReport, Unwatched,
};
use reconfig::sim::{Latch, SimConfig};
use std::sync::Arc;

const TOPOLOGIES: [&str; 4] = ["fat-tree:4,2", "random-regular:8,3,2", "random-regular:12,4,1", "waxman:14,0.7,0.5"];

/// At load 0.9, with order counted.
fn loaded(base: Scenario, partition: LanePartition, data_vls: u8, latch: Latch) -> Scenario {
    let sim = SimConfig { count_order: true, data_vls, latch, ..base.sim.clone() };
    Scenario { sim, policy: Policy { partition, ..base.policy }, load: Some(0.9), vls_fixed: true, ..base }
}

/// Packets late in their class, in all periods.
fn late_in_class(report: &SimulationReport) -> u64 {
    let order = report.order.expect("order is counted");
    [order.before, order.during, order.after].iter().map(|counts| counts.late_in_class).sum()
}

fn planned(scheme: Scheme) -> Scenario {
    Scenario { scheme, departure: Departure::Planned, ..small(bundled("fat-tree-4-2")) }
}

/// What the standing partition is for: without it *split* and *restore* move classes between lanes, and packets of one
/// class overtake each other.
#[test]
fn a_standing_partition_keeps_order_and_a_temporary_one_does_not() {
    for (which, latch) in LATCHES.into_iter().enumerate() {
        for (number, data_vls) in [2, 4, 8].into_iter().enumerate() {
            // In the brief form every latch is met, and every number of lanes.
            if which != number && !is_thorough() {
                continue;
            }
            let of = |partition| run(&loaded(planned(Scheme::Double), partition, data_vls, latch));
            let (standing, temporary) = (of(LanePartition::Standing), of(LanePartition::Temporary));
            let what = format!("{data_vls} VLs {latch:?}");
            assert_clean(&standing, &what);
            assert_clean(&temporary, &what);
            assert_eq!((late_in_class(&standing), &standing.overtaken), (0, &None), "{what}");
            assert!(late_in_class(&temporary) > 0, "{what}: the partition in force makes no difference");
            let first = temporary.overtaken.expect("one was late");
            assert_eq!(first.cause, DisorderCause::LaneMoved, "{what}");
        }
    }
}

/// Whoever writes entries in use gives packets on their way another one: what comes later may arrive first. The run
/// says so, and of which packets. *Static* discards what might be overtaken.
#[test]
fn who_writes_entries_in_use_gives_a_class_another_way_under_its_packets() {
    let of = |scheme| run(&loaded(planned(scheme), LanePartition::Temporary, 8, Latch::Head));
    for scheme in [Scheme::InPlace, Scheme::Ordered] {
        let report = of(scheme);
        assert!(late_in_class(&report) > 0, "{scheme}: {:?}", report.order);
        assert_eq!(report.overtaken.map(|first| first.cause), Some(DisorderCause::WayChanged), "{scheme}");
    }
    let stopped = of(Scheme::Static);
    assert_eq!((late_in_class(&stopped), stopped.overtaken), (0, None));
}

/// Neither *split* nor *restore* writes a table, so no write can move a class.
#[test]
fn a_standing_partition_writes_no_lanes() {
    let scenario = loaded(planned(Scheme::Double), LanePartition::Standing, 4, Latch::Head);
    let vetted = scenario::plan(&scenario, Arc::new(UpDown::default())).expect("R and R′ are each proved");
    let plan = vetted.plan();
    for wave in plan.waves() {
        let moves = matches!(wave.phase, Phase::Split | Phase::Restore);
        assert!(!moves || wave.writes.is_empty(), "{}: {} writes", wave.name, wave.writes.len());
    }
    assert!(plan.waves()[0].barriers.contains(&Barrier::Flushed(plan.lanes().b)));
}

properties! {
    #![proptest_config(Config { cases: 24, max_shrink_iters: 20, ..Config::default() })]

    #[test]
    fn no_packet_is_late_in_its_class(
        topology in prop::sample::select(&TOPOLOGIES[..]), seed in 0u64..1_000, is_planned in any::<bool>(),
        latch in prop::sample::select(&LATCHES[..]), data_vls in prop::sample::select(&[2u8, 4, 8][..]),
        replies in prop::sample::select(&[0.0, 0.5][..]),
    ) {
        let options = Options { seed, ..Options::default() };
        let fabric = generate(&topology.parse::<Topology>().expect("a topology"), &options).expect("can be made");
        prop_assume!(choose_root(&fabric).is_some());
        let base = small(fabric);
        let sim = SimConfig { seed, replies, buffer_credits: 64, ..base.sim.clone() };
        let departure = if is_planned { Departure::Planned } else { Departure::Sudden };
        let scenario = loaded(Scenario { sim, departure, ..base }, LanePartition::Standing, data_vls, latch);
        let report = match watched(&scenario, &mut Unwatched) {
            Ok(report) => report,
            Err(ScenarioError::BringUp(_)) => return Err(TestCaseError::reject("nobody is left to manage")),
            Err(error) => return Err(TestCaseError::fail(format!("the change cannot be made: {error}"))),
        };
        prop_assert_eq!(report.outcome, Ending::Completed, "{:?}", report.reason);
        prop_assert_eq!((late_in_class(&report), report.overtaken), (0, None), "{:?}", report.order);
    }
}
