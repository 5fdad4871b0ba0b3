//! The bundled fabric `ghost-cycle`: two routings, each free of deadlock, whose mixture deadlocks; and the scheme that
//! mixes nothing.

use super::DEPARTURES;
use super::adversary::GHOST_CYCLE;
use super::command::screen;
use crate::support::bundled::bundled;
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Vl;
use reconfig::plan::{Plan, Scheme};
use reconfig::routing::UpDown;
use reconfig::scenario::Unwatched;
use reconfig::scenario::{self, Departure, Ending, Foreseen, Foresight, Scenario, SimulationReport};
use reconfig::verify::{Cycle, Refusal, Wait, foresee};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The seed that docs/TOUR.md names.
const SEED: u64 = 2;

fn scenario(scheme: Scheme, departure: Departure, seed: u64) -> Scenario {
    let mut scenario = Scenario { scheme, departure, ..Scenario::remove_root(bundled("ghost-cycle")) };
    scenario.sim.seed = seed;
    scenario
}

fn run(scheme: Scheme, departure: Departure, seed: u64) -> SimulationReport {
    scenario::run(&scenario(scheme, departure, seed), Arc::new(UpDown::default()), &mut Unwatched).expect("a run")
}

/// The plan to rewrite in place, and the cycle for which it was refused.
fn refused(departure: Departure) -> (Plan, Cycle) {
    let scenario = scenario(Scheme::InPlace, departure, SEED);
    // That there is a plan means that R and R′ were each proved: `change::prepare_baseline` returns neither otherwise.
    let vetted = scenario::plan(&scenario, Arc::new(UpDown::default())).expect("R and R′ are each proved");
    match vetted.refusal() {
        Some(Refusal::Deadlock(cycle)) => (vetted.plan().clone(), cycle.clone()),
        other => panic!("refused for a cycle of several classes, not for {other:?}"),
    }
}

#[test]
fn rewriting_in_place_deadlocks_in_the_cycle_that_the_prover_names() {
    let report = run(Scheme::InPlace, Departure::Sudden, SEED);
    assert_eq!((report.outcome, report.proof.status), (Ending::Deadlocked, "refused"));
    assert!(report.throughput.before > 0.95 * report.settings.load, "the load was carried before the change");
    let stuck = report.deadlock.as_ref().expect("a cycle of packets");
    let Some(Foresight { how, cycle: Some(met) }) = &report.foresight else { panic!("{:?}", report.foresight) };
    assert!(matches!(how, Foreseen::Named | Foreseen::NamedOnOtherLanes), "{how:?}");
    assert_eq!(stuck.len(), met.dependencies.len());
    let classes: BTreeSet<_> = met.dependencies.iter().map(|dependency| (dependency.lid, dependency.sl)).collect();
    assert!(classes.len() >= 2, "no class closes the cycle by itself: {met}");
    let (code, text) = screen(&["--remove-root", "--scheme", "in-place", "--seed", &SEED.to_string(), GHOST_CYCLE]);
    assert_eq!(code, Some(1), "{text}");
    for packet in stuck {
        assert!(text.contains(&format!("{} VL {} → {} VL", packet.input, packet.input_vl, packet.output)), "{text}");
    }
    assert!(text.contains("the cycle that the proof named beforehand"), "{text}");
    assert!(text.contains("DEADLOCKED"), "{text}");
}

/// With age limits as OpenSM sets them, the circle would break after a second. The run ends before, and is no success.
#[test]
fn a_deadlock_that_limits_would_break_after_the_run_is_one() {
    let options = ["--remove-root", "--scheme", "in-place", "--devices", "standard", "--load", "0.3", GHOST_CYCLE];
    let (code, text) = screen(&options);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("DEADLOCKED") && text.contains("a lifetime limit of 1.07 s would discard one of"), "{text}");
}

#[test]
fn it_deadlocks_whatever_the_seed_and_every_deadlock_was_foreseen() {
    for departure in DEPARTURES {
        let reports: Vec<_> = (1..=6).map(|seed| run(Scheme::InPlace, departure, seed)).collect();
        let deadlocks = reports.iter().filter(|report| report.outcome == Ending::Deadlocked).count();
        assert!(deadlocks >= 3, "{deadlocks} of 6 runs deadlock, {}", departure.name());
        let foreseen: Vec<&Foresight> = reports.iter().filter_map(|report| report.foresight.as_ref()).collect();
        assert_eq!(foreseen.len(), deadlocks, "{}", departure.name());
        for foresight in foreseen {
            assert!(foresight.cycle.is_some(), "{:?}", foresight.how);
        }
    }
}

#[test]
fn the_double_scheme_loses_nothing_under_the_same_load() {
    for departure in DEPARTURES {
        let report = run(Scheme::Double, departure, SEED);
        assert_eq!((report.outcome, report.proof.status), (Ending::Completed, "proved"), "{:?}", report.reason);
        let packets = report.packets;
        assert_eq!((packets.lost_to_change, packets.in_flight), (0, 0), "{}", departure.name());
        assert!(departure == Departure::Sudden || packets.lost_to_failure == 0);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for scheme in [Scheme::InPlace, Scheme::Double] {
        let (first, second) = (run(scheme, Departure::Sudden, SEED), run(scheme, Departure::Sudden, SEED));
        assert!(first == second, "{scheme}: {:016x} and {:016x}", first.trace_hash, second.trace_hash);
        assert_ne!(first.trace_hash, run(scheme, Departure::Sudden, SEED + 1).trace_hash);
    }
}

/// The waits of a cycle, found by name.
fn waits(fabric: &Fabric, cycle: &Cycle) -> Vec<Wait> {
    let wait = |dependency: &reconfig::verify::Dependency| {
        let switch = fabric.by_guid(dependency.switch.guid).expect("a switch of the fabric");
        let port = |num| -> PortId { fabric.port_at(switch, num).expect("a port of the switch") };
        Wait {
            input: port(dependency.input.port),
            input_vl: dependency.input.vl,
            output: port(dependency.output.port),
            output_vl: dependency.output.vl,
        }
    };
    cycle.dependencies.iter().map(wait).collect()
}

#[test]
fn what_the_prover_names_it_also_foresees_and_nothing_else() {
    for departure in DEPARTURES {
        let (plan, named) = refused(departure);
        let waits = waits(&plan.draft().before, &named);
        let met = foresee(&plan, &waits).expect("a cycle").expect("possible");
        assert_eq!((&met.wave, &met.dependencies), (&named.wave, &named.dependencies));
        // No packet changes its lane: the same cycle with one packet's lanes altered is none.
        let mut elsewhere = waits.clone();
        let turned = elsewhere.len() - 1;
        elsewhere[0].input_vl = Vl::masked(1);
        elsewhere[turned].output_vl = Vl::masked(1);
        assert_eq!(foresee(&plan, &elsewhere), Ok(None));
        // Waits that lead nowhere are refused.
        assert!(matches!(foresee(&plan, &waits[1..]), Err(Refusal::Precondition { .. })));
    }
}

#[test]
fn the_double_scheme_could_not_meet_that_cycle() {
    let (_, named) = refused(Departure::Sudden);
    let scenario = scenario(Scheme::Double, Departure::Sudden, SEED);
    let vetted = scenario::plan(&scenario, Arc::new(UpDown::default())).expect("a plan");
    let plan = vetted.plan();
    assert!(vetted.refusal().is_none());
    for vl in 0..4 {
        let on_lane = |wait: Wait| Wait { input_vl: Vl::masked(vl), output_vl: Vl::masked(vl), ..wait };
        let waits: Vec<Wait> = waits(&plan.draft().before, &named).into_iter().map(on_lane).collect();
        assert_eq!(foresee(plan, &waits), Ok(None), "VL {vl}");
    }
}
