//! Planned departures under all the load that there is: what leaves leaves empty, whatever the scheme.

use super::small;
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use reconfig::change::engine_named;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::plan::{Arming, Assumption, Observer, Policy, Scheme};
use reconfig::routing::{Engine, Parameters, UpDown};
use reconfig::scenario::{self, Departure, Element, Ending, Engines, Scenario, SimulationReport, Unwatched};
use reconfig::sim::SimConfig;
use std::sync::Arc;

const TOPOLOGIES: [&str; 6] =
    ["leaf-spine:4,3,2", "mesh:3x3,2", "ring:6,2", "random-regular:8,3,2", "torus:3x3,1", "waxman:10,0.7,0.5"];
const ENGINES: [&str; 3] = ["lash", "up-down", "dfsssp"];

/// Case by case another fabric, engine and element.
fn scenario(case: u64, scheme: Scheme) -> (Scenario, Engines) {
    let of = |list: &[&'static str], step: u64| list[(case / step) as usize % list.len()];
    let options = Options { seed: case, ..Options::default() };
    let topology: Topology = of(&TOPOLOGIES, 1).parse().expect("a topology");
    let fabric = generate(&topology, &options).expect("can be made");
    let engine = engine_named(of(&ENGINES, 6), &Parameters { root: None, seed: case }).expect("an engine");
    let base = small(fabric.clone());
    // All packets stand in switches, and the departure comes at once after the last barrier.
    let sim = SimConfig { seed: case, data_vls: 8, sma_service_ns: 300, ..base.sim.clone() };
    let periods = Scenario { warm_up_ns: 50_000, before_ns: 50_000, after_ns: 0, load: Some(1.0), ..base };
    let policy = Policy { arming: Arming::Off, ..Policy::default() };
    let change = leaving(&fabric, case / 18).into();
    let departure = Departure::Planned;
    (Scenario { change, departure, scheme, policy, sim, ..periods }, Engines::from(Arc::<dyn Engine>::from(engine)))
}

fn leaving(fabric: &Fabric, which: u64) -> Element {
    let switches: Vec<_> = fabric.switches().collect();
    let inner = |&port: &PortId| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
    let cables: Vec<_> = fabric.links().map(|(a, _)| a).filter(inner).collect();
    match which % 3 {
        0 => Element::Root,
        1 => Element::Switch(switches[which as usize % switches.len()]),
        _ => Element::Link(cables[which as usize % cables.len()]),
    }
}

/// Runs of plans that were proved, up to a number of them, out of as many cases.
fn proved(scheme: Scheme, wanted: usize, cases: u64) -> Vec<(u64, SimulationReport)> {
    let mut runs = Vec::new();
    for case in 0..cases {
        let (scenario, engines) = scenario(case, scheme);
        // Some removals leave nobody to manage, and some fabrics do not suit an engine.
        let Ok(report) = scenario::run(&scenario, engines, &mut Unwatched) else { continue };
        if report.proof.status == "proved" {
            runs.push((case, report));
        }
        if runs.len() == wanted {
            return runs;
        }
    }
    panic!("only {} of {cases} cases were proved", runs.len());
}

fn assert_nothing_lost(scheme: Scheme, wanted: usize, cases: u64) {
    let runs = proved(scheme, wanted, cases);
    let packets: u64 = runs.iter().map(|(_, report)| report.packets.injected).sum();
    let unfinished: Vec<_> = runs.iter().filter(|(_, report)| report.outcome != Ending::Completed).collect();
    assert!(unfinished.is_empty(), "{scheme}: {:?}", unfinished.iter().map(|(case, report)| (case, &report.reason)));
    let lost: Vec<_> = runs.iter().map(|(case, report)| (case, report.packets.lost_to_change)).collect();
    let lossy: Vec<_> = lost.iter().filter(|(_, lost)| *lost > 0).collect();
    println!("{scheme}: {} runs, {packets} packets, {} runs lost some", runs.len(), lossy.len());
    assert!(lossy.is_empty(), "{scheme}: (case, packets lost) {lossy:?}");
}

#[test]
fn what_leaves_in_place_leaves_empty() {
    assert_nothing_lost(Scheme::InPlace, if is_thorough() { 107 } else { 36 }, 2_000);
}

#[test]
fn what_leaves_by_the_double_scheme_leaves_empty() {
    assert_nothing_lost(Scheme::Double, if is_thorough() { 40 } else { 20 }, 400);
}

/// There is no way back from a rewrite in place, so what its last barrier needs is asked for before the first write.
#[test]
fn ages_without_limits_are_refused_before_anything_is_written_in_place() {
    let base = small(bundled("fat-tree-4-2"));
    let policy = Policy { observer: Observer::Lifetime, ..base.policy };
    let scenario = Scenario { departure: Departure::Planned, scheme: Scheme::InPlace, policy, ..base };
    let report = super::run(&scenario);
    let reason = report.reason.clone().unwrap_or_default();
    assert_eq!(report.outcome, Ending::Aborted, "{reason}");
    assert!(reason.contains("before the first write") && reason.contains("LifeTimeValue"), "{reason}");
    assert!(report.changes[0].phases.is_empty(), "{:?}", report.changes[0].phases);
}

#[test]
fn vacating_rests_on_no_counter() {
    let base = small(bundled("fat-tree-4-2"));
    let policy = Policy { observer: Observer::Conservation, ..base.policy };
    let scenario = Scenario { departure: Departure::Planned, scheme: Scheme::InPlace, policy, ..base };
    let plan = scenario::plan(&scenario, Arc::new(UpDown::default())).expect("a plan");
    let assumed = &plan.plan().draft().assumptions;
    assert!(assumed.contains(&Assumption::AgentsKeepTheProtocol), "{assumed:?}");
    assert!(!assumed.contains(&Assumption::CountersAreUntouched), "{assumed:?}");
}
