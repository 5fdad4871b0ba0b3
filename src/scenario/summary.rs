//! Adding up: from a simulation that is over, and what the driver knows, to the report.

use super::foresight::{foresight, named};
use super::measures::{latency, link_loads, present, throughput};
use super::outcome::{
    ChangeReport, Ending, FabricSize, LinkLoads, Periods, PhaseReport, ProofReport, SCHEMA, Settings, SimulationReport,
    SmpReport, SourceReport, StuckReport, TrafficReport,
};
use super::setting::{Element, Scenario};
use super::stage::Stage;
use crate::change::Prepared;
use crate::driver;
use crate::fabric::Fabric;
use crate::plan::{Policy, Vetted};
use crate::sim::{Dispersal, OrderCounts, Sim, SimConfig};
use crate::subnet::SmpCounts;
use crate::verify::{self, Witness};

/// What came of the change, as far as the driver knows.
pub(super) struct Change {
    pub(super) ending: Ending,
    pub(super) reason: Option<String>,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) report: Option<driver::ChangeRecord>,
    pub(super) smps: SmpCounts,
}

/// The report of a run that is over.
pub(super) fn summary(
    scenario: &Scenario,
    stage: &Stage,
    sim: &Sim,
    change: Change,
    prepared: &Prepared,
) -> SimulationReport {
    let run = change.report.as_ref();
    let plan = run.map_or(&prepared.plan, |run| &run.plan);
    let (root, stranded) = run.map_or((prepared.root, &prepared.stranded), |run| (run.root, &run.stranded));
    let node = |node| stage.whole.describe_node(node);
    let (_, lifetime) = sim.limits_at_work();
    SimulationReport {
        schema: SCHEMA,
        outcome: change.ending,
        reason: change.reason,
        scheme: scenario.scheme,
        engine: stage.function.engine().to_string(),
        engine_after: Some(prepared.function.engine())
            .filter(|&after| after != stage.function.engine())
            .map(str::to_string),
        seed: stage.config.seed,
        trace_hash: sim.trace_hash(),
        fabric: FabricSize::of(&stage.before),
        change: ChangeReport {
            what: stage.describe(scenario.element),
            departure: match stage.element {
                Element::Newcomer(_) => "arrival",
                Element::Nothing => "none",
                Element::Root | Element::Switch(_) | Element::Link(_) | Element::EndNode(_) => {
                    scenario.departure.name()
                }
            },
            root_before: stage.function.root().map(node),
            root_after: root.map(node),
            stranded: stranded.iter().map(|&port| stage.whole.describe_port(port)).collect(),
        },
        settings: settings(scenario, stage),
        sweep: run.and_then(|run| run.sweep.as_ref()).map(|sweep| phase("sweep", sweep)),
        phases: run.map_or_else(Vec::new, |run| run.phases.iter().map(|record| phase(record.name, record)).collect()),
        change_ns: run.map(|_| change.end_ns - change.start_ns),
        packets: sim.packets(),
        misdelivered: sim.misdelivered(),
        packet_hops: sim.packet_hops(),
        deadlock: sim.deadlock().map(|cycle| cycle.iter().map(|stuck| name_stuck(&stage.whole, stuck)).collect()),
        foresight: sim.deadlock().map(|cycle| foresight(plan, cycle)),
        deadlocks_broken: sim.limits_at_work().0,
        lifetime_discards: lifetime,
        latency_ns: periods(sim, |index| latency(&sim.periods()[index])),
        throughput: periods(sim, |index| throughput(sim, index)),
        order: order(stage, sim),
        links: links(scenario, stage, sim, change.ending == Ending::Completed),
        longest_gap_ns: sim.longest_gap_ns(2),
        smps: smps(&change.smps),
        adversary: None,
        proof: proof(plan),
        assumptions: plan.plan().draft().assumptions.iter().map(|held| held.name().to_string()).collect(),
        notes: plan.plan().draft().notes.clone(),
    }
}

fn settings(scenario: &Scenario, stage: &Stage) -> Settings {
    let Policy { arming, observer } = scenario.policy;
    Settings {
        load: stage.config.load,
        packet_bytes: stage.config.packet_bytes,
        traffic: TrafficReport::of(&stage.config.traffic, scenario.worst_traffic),
        sources: sources(&stage.config),
        data_vls: stage.config.data_vls,
        lmc: stage.whole.port(stage.sm).lmc.get(),
        latch: stage.config.latch,
        arming: arming.to_string(),
        drain: observer.to_string(),
        sm: stage.whole.describe_node(stage.whole.port(stage.sm).node),
    }
}

/// How sources use their paths, where it is worth a word.
pub(super) fn sources(config: &SimConfig) -> Option<SourceReport> {
    let SimConfig { dispersal, message_packets, .. } = *config;
    let plain = dispersal == Dispersal::default() && message_packets == 1;
    (!plain).then_some(SourceReport { dispersal, message_packets })
}

pub(super) fn phase(name: &str, record: &driver::PhaseRecord) -> PhaseReport {
    let smps = record.smps.total() + record.smps.perf;
    PhaseReport { name: name.to_string(), start_ns: record.start_ns, end_ns: record.end_ns, smps }
}

fn name_stuck(fabric: &Fabric, stuck: &crate::sim::StuckPacket) -> StuckReport {
    StuckReport {
        input: fabric.describe_port(stuck.input),
        input_vl: stuck.input_vl.get(),
        output: fabric.describe_port(stuck.output),
        output_vl: stuck.output_vl.get(),
        dlid: stuck.dlid.0,
        sl: stuck.sl.get(),
        born_ns: stuck.born_ns,
    }
}

/// The periods *before*, *during* and *after*; the one of warming up comes first.
pub(super) fn periods<T: Default>(sim: &Sim, value: impl Fn(usize) -> T) -> Periods<T> {
    let of = |index: usize| if index < sim.periods().len() { value(index) } else { T::default() };
    Periods { before: of(1), during: of(2), after: of(3) }
}

/// What came out of order, where it was counted.
fn order(stage: &Stage, sim: &Sim) -> Option<Periods<OrderCounts>> {
    stage.config.count_order.then(|| periods(sim, |index| sim.periods()[index].order))
}

/// The busiest links, where they are asked for.
fn links(scenario: &Scenario, stage: &Stage, sim: &Sim, made: bool) -> Option<Periods<LinkLoads>> {
    let most = scenario.hot_links;
    let there = |index| present(stage, scenario.departure, made, index);
    (most > 0).then(|| periods(sim, |index| link_loads(sim, there(index), index, most)))
}

pub(super) fn smps(counts: &SmpCounts) -> SmpReport {
    let name =
        |&(attribute, method): &(crate::wire::AttributeId, crate::wire::Method)| format!("{method:?}({attribute:?})");
    let mut by_attribute: std::collections::BTreeMap<String, u64> =
        counts.sent.iter().map(|(key, &count)| (name(key), count)).collect();
    if counts.perf > 0 {
        by_attribute.insert("Performance".into(), counts.perf);
    }
    SmpReport { by_attribute, total: counts.total() + counts.perf }
}

/// The ways of packets into the cycle that the refusal names. The prover found it in this plan, so each has one.
fn witnesses(plan: &Vetted) -> Vec<Witness> {
    named(plan).and_then(|cycle| verify::witness(plan.plan(), cycle).ok()).unwrap_or_default()
}

pub(super) fn proof(plan: &Vetted) -> ProofReport {
    let waves = plan.plan().waves().len();
    let statistics = plan.proof();
    ProofReport {
        status: if statistics.is_some() { "proved" } else { "refused" },
        waves,
        channels: statistics.map_or(0, |proof| proof.channels),
        dependencies: statistics.map_or(0, |proof| proof.dependencies),
        refusal: plan.refusal().map(ToString::to_string),
        cycle: named(plan).cloned(),
        witnesses: witnesses(plan),
        evidence: plan.refusal().cloned(),
    }
}
