//! A fabric in which nothing changes, on all LIDs of its end ports: no half is spare.

use super::command::{FABRIC, QUICK, screen, simulate};
use super::{small, watched};
use reconfig::change::engine_named;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::ids::Lmc;
use reconfig::routing::Engine;
use reconfig::scenario::{self, Scenario, ScenarioChange, SimulationReport, Unwatched};
use reconfig::sim::{Dispersal, PathChoice, SimConfig};
use std::sync::Arc;

/// Nothing changes; sources take the paths of LMC 3 in turn.
fn steady(topology: &str, undivided: bool) -> Scenario {
    let topology: Topology = topology.parse().expect("a topology");
    let base = small(generate(&topology, &Options::default()).expect("a fabric"));
    let dispersal = Dispersal { choice: PathChoice::Paired, ..Dispersal::default() };
    Scenario {
        change: ScenarioChange::Nothing,
        lmc: Lmc::masked(3),
        undivided,
        sim: SimConfig { dispersal, ..base.sim.clone() },
        ..base
    }
}

fn run(scenario: &Scenario, engine: &str) -> SimulationReport {
    let engine: Arc<dyn Engine> = Arc::from(engine_named(engine, &Default::default()).expect("an engine"));
    let report =
        scenario::run(scenario, engine, &mut Unwatched).unwrap_or_else(|error| panic!("it cannot begin: {error}"));
    assert!(report.is_clean(), "{:?} {:?}", report.reason, report.proof);
    assert_eq!(report.proof.status, "proved", "all LIDs that sources use");
    report
}

/// The guide's experiment (seed 003): in the worst case of one path, eight carry more than four.
#[test]
fn all_lids_of_lmc_3_are_eight_paths_and_half_of_them_are_four() {
    let [divided, undivided] = [false, true].map(|undivided| {
        let base = steady("fat-tree:8,2", undivided);
        run(&Scenario { load: Some(1.0), worst_traffic: true, ..base }, "fat-tree").throughput.before
    });
    assert!(undivided > 1.05 * divided, "{undivided} of eight paths, {divided} of four");
}

/// An engine that gives paths by source and layer: each LID has its own.
#[test]
fn paths_on_layers_are_proved_over_the_whole_range() {
    for engine in ["dfsssp", "path-selection"] {
        run(&Scenario { load: Some(0.05), ..steady("random-regular:12,4,2", true) }, engine);
    }
}

#[test]
fn a_change_needs_the_spare_half() {
    let scenario = Scenario { undivided: true, ..small(steady("ring:4,2", true).fabric().clone()) };
    let error = watched(&scenario, &mut Unwatched).expect_err("the root is to leave").to_string();
    assert!(error.contains("needs a spare half") && error.contains("--undivided"), "{error}");
    let output = simulate(&["--remove-root", "--undivided", FABRIC]);
    assert_eq!(output.status.code(), Some(2));
    let mut single = steady("ring:4,2", true);
    single.lmc = Lmc::default();
    let error = watched(&single, &mut Unwatched).expect_err("one LID is no range").to_string();
    assert!(error.contains("--lmc"), "{error}");
    let arguments = ["--steady", "--undivided", "--lmc", "3", "--path-selection", "paired"];
    let (code, shown) = screen(&[&arguments[..], &QUICK, &[FABRIC]].concat());
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("8 of 8 LIDs of an end port"), "{shown}");
    // It shows where nothing else about the sources differs, too.
    let report = run(
        &Scenario { load: Some(0.05), sim: small(single.fabric().clone()).sim, ..steady("ring:4,2", true) },
        "up-down",
    );
    assert!(report.settings.sources.expect("they use all LIDs").undivided);
    let (_, shown) = screen(&[&["--steady", "--undivided", "--lmc", "3"], &QUICK[..], &[FABRIC]].concat());
    assert!(shown.contains("by any of 8 LIDs of an end port"), "{shown}");
}
