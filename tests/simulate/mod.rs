//! Whole runs, from a fabric to the report: what a user of `reconfig simulate` gets, and what the simulator shows from
//! outside while a change runs.

mod adversary;
mod arming;
mod captures;
mod command;
mod counted;
mod departures;
mod detection;
mod devices;
mod engine_changes;
mod faults;
mod ghost_cycle;
mod in_switch;
mod later;
mod links;
mod observers;
mod order;
mod ordered;
mod outages;
mod outside;
mod page;
mod random;
mod repeated;
mod reserved;
mod roots;
mod series;
mod settings;
mod several;
mod slides;
mod undivided;

use crate::support::short::short;
use reconfig::fabric::Fabric;
use reconfig::routing::UpDown;
use reconfig::scenario::Unwatched;
use reconfig::scenario::{self, Departure, Ending, Scenario, ScenarioError, SimulationReport, Watch};
use reconfig::sim::Latch;
use std::sync::Arc;

const DEPARTURES: [Departure; 2] = [Departure::Sudden, Departure::Planned];
const LATCHES: [Latch; 3] = [Latch::Arrival, Latch::Head, Latch::Grant];
const PHASES: [&str; 5] = ["split", "install", "swap", "drain", "restore"];

/// The root leaves under a little traffic, for a short while.
fn small(fabric: Fabric) -> Scenario {
    short(Scenario::remove_root(fabric))
}

/// What a run comes to.
fn run(scenario: &Scenario) -> SimulationReport {
    watched(scenario, &mut Unwatched).unwrap_or_else(|error| panic!("the run cannot begin: {error}"))
}

fn watched(scenario: &Scenario, watch: &mut dyn Watch) -> Result<SimulationReport, ScenarioError> {
    scenario::run(scenario, Arc::new(UpDown::default()), watch)
}

/// Every packet has met one fate, and none is on its way for ever.
fn assert_packets_add_up(report: &SimulationReport, what: &str) {
    let p = &report.packets;
    let fates = p.delivered + p.in_flight + p.stranded + p.lost_to_failure + p.lost_to_change;
    assert_eq!(p.injected, fates, "{what}: {p:?}");
    assert!(p.injected > 0, "{what}: nobody sent");
    if report.outcome != Ending::Deadlocked {
        assert_eq!(p.in_flight, 0, "{what}: {p:?}");
    }
}

/// The change was made, and nothing was lost to it.
fn assert_clean(report: &SimulationReport, what: &str) {
    assert_eq!(report.outcome, Ending::Completed, "{what}: {:?}", report.reason);
    assert_eq!(report.packets.lost_to_change, 0, "{what}: {:?}", report.packets);
    assert_eq!((report.misdelivered, report.deadlock.is_none()), (0, true), "{what}");
    assert_packets_add_up(report, what);
}

/// How long a phase took, in nanoseconds.
fn took_ns(report: &SimulationReport, name: &str) -> u64 {
    let phase = report.changes[0].phases.iter().find(|phase| phase.name == name);
    let phase = phase.unwrap_or_else(|| panic!("no phase {name} in {:?}", report.changes[0].phases));
    phase.end_ns - phase.start_ns
}
