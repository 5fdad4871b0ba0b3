//! Random fabrics, random departures: the Double Scheme is proved, loses nothing, and ends.

use super::{LATCHES, assert_clean, run, small};
use crate::support::bundled::bundled;
use crate::support::properties::properties;
use proptest::prelude::*;
use proptest::test_runner::Config;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::routing::choose_root;
use reconfig::scenario::Unwatched;
use reconfig::scenario::{Departure, Element, Scenario, ScenarioError};
use reconfig::sim::SimConfig;

const TOPOLOGIES: [&str; 3] = ["random-regular:8,3,2", "random-regular:12,4,1", "waxman:14,0.7,0.5"];

/// What leaves, and by a number which of its kind.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    Root,
    Switch(usize),
    Cable(usize),
}

impl Leaving {
    fn of(self, fabric: &Fabric) -> Element {
        match self {
            Leaving::Root => Element::Root,
            Leaving::Switch(which) => {
                let switches: Vec<_> = fabric.switches().collect();
                Element::Switch(switches[which % switches.len()])
            }
            Leaving::Cable(which) => {
                let inner = |&port: &PortId| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
                let cables: Vec<_> = fabric.links().map(|(a, _)| a).filter(inner).collect();
                Element::Link(cables[which % cables.len()])
            }
        }
    }
}

fn leaving() -> impl Strategy<Value = Leaving> {
    prop_oneof![Just(Leaving::Root), (0usize..64).prop_map(Leaving::Switch), (0usize..64).prop_map(Leaving::Cable)]
}

properties! {
    #![proptest_config(Config { cases: 24, max_shrink_iters: 40, ..Config::default() })]

    #[test]
    fn a_double_change_is_proved_and_loses_nothing(
        topology in prop::sample::select(&TOPOLOGIES[..]), seed in 0u64..1_000, leaving in leaving(),
        planned in any::<bool>(), latch in prop::sample::select(&LATCHES[..]),
        load in prop::sample::select(&[0.02, 0.1, 0.3][..]), replies in prop::sample::select(&[0.0, 0.6][..]),
    ) {
        let options = Options { seed, ..Options::default() };
        let fabric = generate(&topology.parse::<Topology>().expect("a topology"), &options).expect("can be made");
        prop_assume!(choose_root(&fabric).is_some());
        let base = small(fabric.clone());
        let sim = SimConfig { seed, latch, replies, buffer_credits: 32, ..base.sim.clone() };
        let departure = if planned { Departure::Planned } else { Departure::Sudden };
        let scenario =
            Scenario { change: leaving.of(&fabric).into(), departure, sim, load: Some(load), optimised_sl_to_vl: Some(true), ..base };
        let report = match super::watched(&scenario, &mut Unwatched) {
            Ok(report) => report,
            // Two end ports at least must stay: a subnet of one has no traffic to judge.
            Err(ScenarioError::BringUp(_)) => return Err(TestCaseError::reject("nobody is left to manage")),
            Err(error) => return Err(TestCaseError::fail(format!("the change cannot be made: {error}"))),
        };
        prop_assert_eq!(report.proof.status, "proved");
        prop_assert!(report.is_clean(), "{:?}: {:?} {:?}", report.outcome, report.reason, report.packets);
        assert_clean(&report, topology);
        prop_assert!(!planned || report.packets.lost_to_failure == 0, "{:?}", report.packets);
    }
}

/// The scheme that OpenSM's order stands for deadlocks on such fabrics: what is tested above is no matter of course.
#[test]
fn rewriting_in_place_can_deadlock_where_the_double_scheme_does_not() {
    let base = small(bundled("random-regular-16-4"));
    let deadlocks = (1..=8).any(|seed| {
        // Packets that turn back close the shortest cycles; switches that discard them leave the longer ones.
        let sim = SimConfig { seed, discards_turned_back: false, ..base.sim.clone() };
        let scheme = reconfig::plan::Scheme::InPlace;
        let report = run(&Scenario { scheme, sim: sim.clone(), load: Some(0.15), ..base.clone() });
        let stuck = report.outcome == reconfig::scenario::Ending::Deadlocked;
        if stuck {
            assert_eq!(report.proof.status, "refused", "seed {seed}");
            assert!(report.deadlock.as_ref().is_some_and(|cycle| cycle.len() > 1), "seed {seed}");
            assert_clean(&run(&Scenario { sim, load: Some(0.15), ..base.clone() }), "double");
        }
        stuck
    });
    assert!(deadlocks, "no seed deadlocks: rewriting in place is expected to");
}
