//! The same run twice is the same run.

use super::{LATCHES, run, small};
use crate::support::bundled::bundled;
use crate::support::short::short;
use reconfig::fabric::Fabric;
use reconfig::plan::Scheme;
use reconfig::routing::{Demand, Engine, RouteError, UpDown};
use reconfig::scenario::{self, Element, Ending, Engines, Scenario, SimulationReport, Unwatched};
use reconfig::sim::{Latch, SimConfig};
use reconfig::tables::RoutingFunction;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Up*/down*, and how often it was asked.
#[derive(Default)]
struct Asked(AtomicUsize);

impl Engine for Asked {
    fn name(&self) -> &'static str {
        "up-down"
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        UpDown::default().route(fabric, demand)
    }
}

/// A change is planned before the run, and what the manager finds in the run is what it was planned for: it is not
/// planned again, whether something dies, leaves or comes, and whoever is cut off by it.
#[test]
fn what_was_planned_before_the_run_is_not_planned_again() {
    let fabric = bundled("fat-tree-4-2");
    let is_host = |port| fabric.neighbour(port).is_some_and(|node| !fabric.node(node).is_switch());
    let leaf = fabric.switches().filter(|&switch| fabric.ports_of(switch).any(is_host)).last().expect("a leaf");
    let (one, _) = fabric.links().find(|&(one, other)| !is_host(one) && !is_host(other)).expect("a cable");
    let changes = [Element::Root, Element::Switch(leaf), Element::Link(one), Element::NewLink(one)];
    for (element, auto) in changes.into_iter().flat_map(|element| [(element, false), (element, true)]) {
        let scenario = Scenario { auto, ..short(Scenario::of_one(fabric.clone(), element)) };
        let count = |work: &dyn Fn(Engines)| {
            let after = Arc::new(Asked::default());
            work(Engines { before: Arc::new(UpDown::default()), after: after.clone() });
            after.0.load(Ordering::Relaxed)
        };
        let planned = count(&|engines| drop(scenario::plan(&scenario, engines).expect("a plan")));
        let run = count(&|engines| {
            let report = scenario::run(&scenario, engines, &mut Unwatched).expect("the run begins");
            assert_eq!(report.changes[0].outcome, Ending::Completed, "{element:?}");
        });
        assert!(planned > 0 && planned == run, "{element:?}: asked {planned} times to plan, {run} times to run");
    }
}
