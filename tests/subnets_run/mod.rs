//! Whole runs of several subnets: what changes in one, or a router that leaves, and what the others see of it.

mod command;
mod connect;
mod options;
mod partitions;
mod random;
mod relay;
mod roots;
mod routers;
mod told;

use crate::support::short::short;
use reconfig::fabric::generate::{JoinShape, JoinedTopology, Options, joined};
use reconfig::fabric::subnets::{Subnets, list};
use reconfig::ids::SubnetId;
use reconfig::routing::{Engine, UpDown};
use reconfig::scenario::Unwatched;
use reconfig::scenario::{
    Departure, Element, Ending, RelationReport, Scenario, ScenarioChange, ScenarioError, SimulationReport, Watch,
};
use reconfig::sim::PacketCounts;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DEPARTURES: [Departure; 2] = [Departure::Sudden, Departure::Planned];

fn list_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/subnets").join(format!("{name}{}", list::EXTENSION))
}

/// The bundled subnets of this name.
fn fixture(name: &str) -> Subnets {
    let file = list_of(name);
    let bytes = std::fs::read(&file).expect("the fixture is there");
    list::read(&bytes, file.to_str().expect("UTF-8"), |path| std::fs::read(path)).expect("a list")
}

/// Subnets of one topology, `routers` at each place of a shape.
fn generated(topology: &str, subnets: u16, shape: JoinShape, routers: u16, seed: u64) -> Subnets {
    let topology = topology.parse().expect("a topology");
    let joining = JoinedTopology { topology, subnets, shape, routers };
    joined(&joining, &Options { seed, ..Options::default() }).expect("can be made")
}

/// A change under a little traffic, for a short while.
fn small(subnets: Subnets, change: ScenarioChange, departure: Departure) -> Scenario {
    let base = Scenario::new(subnets, change);
    Scenario { departure, ..short(base) }
}

/// The root of a subnet leaves.
fn root_of(subnet: u16) -> ScenarioChange {
    ScenarioChange::In { subnet: SubnetId(subnet), elements: vec![Element::Root] }
}

fn watched(asked: &Scenario, watch: &mut dyn Watch) -> Result<SimulationReport, ScenarioError> {
    reconfig::scenario::run(asked, Arc::new(UpDown::default()) as Arc<dyn Engine>, watch)
}

/// What a run comes to, every packet accounted for.
fn run(asked: &Scenario) -> SimulationReport {
    let report = watched(asked, &mut Unwatched).unwrap_or_else(|error| panic!("the run cannot begin: {error}"));
    assert_adds_up(&report);
    report
}

/// Why a run cannot begin, in words.
fn refusal(asked: &Scenario) -> String {
    watched(asked, &mut Unwatched).expect_err("it cannot begin").to_string()
}

fn fates(packets: &PacketCounts) -> [u64; 6] {
    let p = packets;
    [p.injected, p.delivered, p.in_flight, p.stranded, p.lost_to_failure, p.lost_to_change]
}

/// Every packet has met one fate, in the whole and in each relation; relations make up the whole; routers discarded no
/// more than was lost.
fn assert_adds_up(report: &SimulationReport) {
    let what = &report.what;
    let of_whole = fates(&report.packets);
    let mut of_relations = [0; 6];
    for relation in &report.relations {
        let own = fates(&relation.packets);
        assert_eq!(own[0], own[1..].iter().sum::<u64>(), "{what}: {relation:?}");
        let periods = &relation.delivered;
        assert!(periods.before + periods.during + periods.after <= own[1], "{what}: {relation:?}");
        of_relations.iter_mut().zip(own).for_each(|(sum, count)| *sum += count);
    }
    assert_eq!(of_relations, of_whole, "{what}: relations and {:?}", report.packets);
    assert!(of_whole[0] > 0, "{what}: nobody sent");
    assert!(
        report.relay_discards.values().sum::<u64>() <= of_whole[3] + of_whole[5],
        "{what}: {:?}",
        report.relay_discards
    );
    if report.outcome != Ending::Deadlocked {
        assert_eq!(report.packets.in_flight, 0, "{what}: {:?}", report.packets);
    }
}

/// The change was made, the whole proved, and nothing was lost to the change.
fn assert_clean(report: &SimulationReport) {
    let what = format!("{} ({})", report.what, report.departure);
    assert_eq!(report.outcome, Ending::Completed, "{what}: {:?}", report.reason);
    assert_eq!(report.proof.status, "proved", "{what}: {:?}", report.proof.refusal);
    assert!(report.changes.iter().all(|change| change.proof.status == "proved"), "{what}");
    assert_eq!(report.packets.lost_to_change, 0, "{what}: {:?} {:?}", report.packets, report.relay_discards);
    assert_eq!((report.misdelivered, report.deadlock.is_none()), (0, true), "{what}");
    assert!(report.is_clean(), "{what}");
}

/// Nothing at all was lost: every packet of the relation arrived.
fn assert_whole(relation: &RelationReport, what: &str) {
    let RelationReport { from, to, packets, .. } = relation;
    assert_eq!(packets.delivered, packets.injected, "{what}, {from} → {to}: {packets:?}");
}

fn subnets_called(report: &SimulationReport, ranks: impl IntoIterator<Item = u16>) -> Vec<String> {
    ranks.into_iter().map(|rank| report.subnets[usize::from(rank)].name.clone()).collect()
}

/// The relations with both ends among the subnets named.
fn among<'a>(report: &'a SimulationReport, names: &'a [String]) -> impl Iterator<Item = &'a RelationReport> {
    report.relations.iter().filter(|relation| names.contains(&relation.from) && names.contains(&relation.to))
}
