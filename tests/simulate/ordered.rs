//! Scheme `ordered`, and the choice between it and the Double Scheme.

use super::{run, watched};
use crate::support::bundled::bundled;
use crate::support::short::short;
use reconfig::change::engine_named;
use reconfig::fabric::generate::BUNDLED;
use reconfig::plan::{Barrier, Phase, Policy, Scheme, TurnedBack, Wave};
use reconfig::routing::{Engine, Parameters, UpDown};
use reconfig::scenario::{self, Departure, Element, Ending, Scenario, SimulationReport, Unwatched};
use reconfig::sim::SimConfig;
use reconfig::tables::Write;
use std::sync::Arc;

fn removal(name: &str, departure: Departure) -> Scenario {
    Scenario { departure, scheme: Scheme::Ordered, ..short(Scenario::remove_root(bundled(name))) }
}

fn up_down() -> Arc<dyn Engine> {
    Arc::new(UpDown::default())
}

/// Rounds that the waves of a plan wait for one another.
fn waits(waves: &[Wave]) -> usize {
    waves.iter().rev().skip(1).filter_map(Wave::vacating_rounds).sum()
}

/// The same where switches send packets back, so that some waves wait for one another.
fn turning(scenario: Scenario) -> Scenario {
    let policy = Policy { turned_back: TurnedBack::Returned, ..scenario.policy };
    Scenario { policy, sim: SimConfig { discards_turned_back: false, ..scenario.sim.clone() }, ..scenario }
}

#[test]
fn a_dead_root_is_repaired_by_entries_alone_on_every_bundled_fabric() {
    for fabric in BUNDLED {
        let scenario = removal(fabric.name, Departure::Sudden);
        let plan = scenario::plan(&scenario, up_down());
        let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", fabric.name));
        let waves = plan.plan().waves();
        let entries = |write: &Write| matches!(write, Write::LftBlock { .. });
        assert!(waves.iter().all(|wave| wave.phase == Phase::Rewrite && wave.writes.iter().all(entries)));
        assert!(plan.refusal().is_none(), "{}", fabric.name);
        assert_eq!(waits(waves), 0, "{}", fabric.name);

        let report = run(&scenario);
        let packets = &report.packets;
        assert_eq!((report.outcome, packets.lost_to_change), (Ending::Completed, 0), "{}", fabric.name);
        assert!(packets.lost_to_failure > 0, "{}: packets were on their way through the root", fabric.name);
    }
}

#[test]
fn a_wait_is_as_long_as_the_longest_way_and_no_shorter() {
    let scenario = turning(removal("mesh-4x4", Departure::Sudden));
    let plan = scenario::plan(&scenario, up_down()).expect("a plan");
    let mut draft = plan.plan().draft().clone();
    let waiting = draft.waves.iter_mut().find(|wave| wave.vacating_rounds().is_some()).expect("two waves");
    let Some(Barrier::Vacated(rounds)) = waiting.barriers.last_mut() else { panic!("it ends so") };
    *rounds -= 1;
    let (_, refusal) = reconfig::verify::prove(reconfig::plan::Plan::seal(draft)).expect_err("packets may be left");
    assert!(refusal.to_string().contains("what was sent before has left after"), "{refusal}");
}

#[test]
fn auto_takes_what_is_proved_and_quicker_and_says_why() {
    let dies = |name| removal(name, Departure::Sudden);
    for (name, scenario, wanted, why) in [
        ("fat-tree-4-2", dies("fat-tree-4-2"), Scheme::Ordered, None),
        ("ghost-cycle", dies("ghost-cycle"), Scheme::Ordered, None),
        ("dragonfly-2-4-2", dies("dragonfly-2-4-2"), Scheme::Ordered, None),
        (
            "dragonfly-2-4-2, packets turn back",
            turning(dies("dragonfly-2-4-2")),
            Scheme::Double,
            Some("its waves wait for one another"),
        ),
    ] {
        let scenario = Scenario { auto: true, scheme: Scheme::Double, ..scenario };
        let report = run(&scenario);
        assert_eq!((report.scheme, report.outcome), (wanted, Ending::Completed), "{name}");
        assert_eq!(report.packets.lost_to_change, 0, "{name}");
        let said = report.notes.iter().any(|note| why.is_some_and(|why| note.contains(why)));
        assert_eq!(said, why.is_some(), "{name}: {:?}", report.notes);
    }
}

#[test]
fn what_entries_alone_cannot_do_is_done_by_the_double_scheme() {
    let scenario = removal("ring-8", Departure::Planned);
    let error = watched(&scenario, &mut Unwatched).expect_err("no wave moves rows across the ring");
    assert!(error.to_string().contains("without a way that is free of deadlock"), "{error}");
    let report = run(&Scenario { auto: true, ..scenario });
    assert_eq!((report.scheme, report.packets.lost_to_change), (Scheme::Double, 0));
    assert!(report.notes.iter().any(|note| note.contains("scheme ordered was passed over")), "{:?}", report.notes);
}

/// Half of the pairs have other entries at once, and the rest does not wait longer for it.
#[test]
fn what_entries_alone_can_do_is_done_before_the_double_scheme() {
    let fabric = bundled("seed-16");
    let switch = fabric.nodes().find(|(_, node)| node.description.trim() == "switch-12").expect("it is there").0;
    let by = |auto| {
        let scenario = Scenario::of_one(fabric.clone(), Element::Switch(switch));
        let lash: Arc<dyn Engine> = Arc::from(engine_named("lash", &Parameters::default()).expect("it is in the list"));
        scenario::run(&Scenario { auto, scheme: Scheme::Double, ..short(scenario) }, lash, &mut Unwatched)
            .expect("it runs")
    };
    let (alone, first) = (by(false), by(true));
    let phases = |report: &SimulationReport| {
        report.changes[0].phases.iter().map(|phase| phase.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(phases(&alone), ["split", "install", "swap", "drain", "restore"]);
    assert_eq!(phases(&first), ["rewrite", "split", "install", "swap", "drain", "restore"]);
    for report in [&alone, &first] {
        assert_eq!(
            (report.outcome, report.scheme, report.packets.lost_to_change),
            (Ending::Completed, Scheme::Double, 0)
        );
    }
    assert!(
        first.packets.lost_to_failure * 4 < alone.packets.lost_to_failure * 3,
        "{:?} {:?}",
        first.packets,
        alone.packets
    );
    assert!(
        first.notes.iter().any(|note| note.contains("came first, and gave ways to 18 of 37 pairs")),
        "{:?}",
        first.notes
    );
}
