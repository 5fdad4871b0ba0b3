//! Builds the report from a finished simulation and the driver's records.

use super::acting::DrivenChange;
use super::between;
use super::cut_off::CutOffPort;
use super::elements::{MovesReport, ScenarioChange};
use super::estimate;
use super::foresight::{foresight, named};
use super::map::map;
use super::measures::{BEFORE, DURING, latency, link_loads, loads_between, periods, present, smp_name, throughput};
use super::outages::{hosts, outages, seldom_seen};
use super::outcome::{
    BetweenSettings, ConnectionReport, DeviceReport, DisorderCause, Ending, EventReport, FabricSize, Foresight,
    LinkLoads, ManagementReport, OutageReport, OvertakenReport, Periods, PhaseReport, ProofReport, RenumberedPort,
    SCHEMA, Settings, SimulationReport, SmpReport, SourceReport, StuckReport, SubnetChange, TrafficReport, WholeProof,
    is_saturated,
};
use super::series::series;
use super::setting::{Detection, Scenario};
use super::setup::Setup;
use super::subnet_setup::SubnetSetup;
use crate::change::{Prepared, absent_rows, is_repair, served};
use crate::driver::ComputeTime;
use crate::fabric::subnets::Joined;
use crate::fabric::{Fabric, NodeKind, PortId};
use crate::ids::{Sl, SubnetId};
use crate::lid::{self, MovedLids, describe_moved};
use crate::plan::{Draft, LanePartition, Policy, Scheme};
use crate::routing::{Connectivity, Imported};
use crate::sim::{ArrivalProcess, ConnectionSetup, Dispersal, OvertakenPacket, Sim, SimConfig, StuckPacket, Traffic};
use crate::subnet::SmpCounts;
use crate::verify::across::{AcrossRefusal, AcrossStatistics};
use crate::verify::{self, Witness};
use crate::vet::Vetted;
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct Ran<'a> {
    pub(super) setup: &'a Setup<'a>,
    pub(super) sim: &'a Sim,
    /// By acting subnet.
    pub(super) changes: Vec<DrivenChange>,
    /// What happened after the first event.
    pub(super) events: Vec<EventReport>,
    /// By acting subnet: the change as planned beforehand.
    pub(super) prepared: &'a [Prepared],
    /// Proof of the whole, if there is more than one plan.
    pub(super) whole: Option<Result<AcrossStatistics, AcrossRefusal>>,
}

fn renumbered(fabric: &Fabric, moved: &MovedLids) -> Option<RenumberedPort> {
    let guid = fabric.recorded_port_guid(moved.port);
    Some(RenumberedPort { name: fabric.describe_port(moved.port), guid, lids: [moved.was, moved.is?] })
}

/// What imported tables lack.
fn absent(setup: &SubnetSetup) -> Option<String> {
    let imported = setup.function.engine() == Imported::NAME;
    imported.then(|| absent_rows(&setup.before, &setup.tables.lfts)).flatten().map(|absent| absent.to_string())
}

/// Says that the tables in force are not those of the subnet, where a capture shows that there are some.
fn assumed(setup: &Setup<'_>) -> Option<String> {
    let [only] = &setup.each[..] else { return None };
    let captured = setup.scenario.subnets.fabric(SubnetId(0));
    let has_tables = captured.end_ports().any(|port| captured.port(port).lid.is_some());
    (has_tables && only.function.engine() != Imported::NAME).then(|| {
        format!(
            "the tables in force are taken to be those of engine {}; --from-lfts or --from-fdbs reads the subnet's own",
            only.function.engine()
        )
    })
}

impl Ran<'_> {
    /// The change that did not complete, if one did not.
    fn worst(&self) -> Option<&DrivenChange> {
        self.changes.iter().find(|change| change.ending != Ending::Completed)
    }

    /// How the run ends, and why it does not complete.
    fn ending(&self) -> (Ending, Option<String>) {
        match self.worst() {
            Some(change) => (change.ending, change.reason.clone()),
            None if self.sim.deadlock().is_some() => {
                (Ending::Deadlocked, Some("packets wait for each other in a circle".to_string()))
            }
            None => (Ending::Completed, None),
        }
    }

    /// By acting subnet: the plan that ran, or was to run.
    fn plans(&self) -> Vec<&Vetted> {
        self.changes.iter().zip(self.prepared).map(|(change, prepared)| plan_run(change, prepared)).collect()
    }

    /// By acting subnet: its change.
    fn reports(&self) -> Vec<SubnetChange> {
        let driven = self.changes.iter().zip(self.prepared);
        let subnets = self.setup.acting().into_iter().zip(driven);
        subnets.map(|(subnet, (change, prepared))| subnet_change(self.setup, subnet, change, prepared)).collect()
    }

    /// What is to be said beside the figures.
    fn notes(&self, plans: &[&Vetted], renumbering: Option<String>, outage: Option<&OutageReport>) -> Vec<String> {
        let Ran { setup, sim, changes, .. } = self;
        distinct(
            drafts(plans)
                .flat_map(|draft| draft.notes.iter().cloned())
                .chain(changes.iter().flat_map(came_first))
                .chain(setup.scenario.notes.iter().cloned())
                .chain(assumed(setup))
                .chain(absent(&setup.each[0]))
                .chain(renumbering)
                .chain(lowered(setup, sim))
                .chain(silent(sim, &setup.scenario.sim.traffic))
                .chain(saturated(setup, sim))
                .chain(cut_trace(sim))
                .chain(outage.and_then(|outage| seldom_seen(setup, sim, outage))),
        )
    }
}

/// Ports of one fabric that have other LIDs than in the capture.
fn moved(setup: &Setup<'_>) -> Vec<MovedLids> {
    match &setup.each[..] {
        [only] => lid::moved(setup.scenario.subnets.fabric(SubnetId(0)), &only.whole),
        _ => Vec::new(),
    }
}

/// The report of a finished run.
pub(super) fn report_on(ran: &Ran<'_>) -> SimulationReport {
    let &Ran { setup, sim, ref changes, ref events, prepared, ref whole } = ran;
    let (scenario, first) = (setup.scenario, &setup.each[0]);
    let (plans, reports, moved) = (ran.plans(), ran.reports(), moved(setup));
    let (made, (outcome, reason)) = (ran.worst().is_none(), ran.ending());
    let (deadlocks_broken, lifetime_discards) = sim.limits_at_work();
    let scheme = plans.first().map_or(scenario.scheme, |plan| plan.plan().scheme());
    let (event, renumbering) = (event(setup), describe_moved(&first.whole, &moved));
    let outage = (!reports.is_empty()).then(|| outages(setup, sim, made));
    SimulationReport {
        schema: SCHEMA,
        outcome,
        reason,
        what: event.what,
        moves: event.moves,
        departure: event.departure,
        scheme,
        auto: scenario.auto,
        engine: first.function.engine().to_string(),
        engine_after: engine_after(first.function.engine(), prepared),
        seed: scenario.sim.seed,
        trace_hash: sim.trace_hash(),
        fabric: fabric_size(setup),
        subnets: between::subnets(setup),
        routers: setup.between.as_ref().map_or_else(Vec::new, |own| between::routers(setup, own, sim)),
        settings: settings(setup, sim, &plans),
        packets: sim.packets(),
        questions: scenario.sim.monitor.map(|_| sim.questions()),
        gmps: Some(sim.gmps()).filter(|gmps| gmps.sent > 0),
        connections: sim.connections().iter().map(|own| connection(setup, own)).collect(),
        hosts_that_move: plans.iter().map(|plan| plan.plan().hosts_that_move()).sum(),
        lost_in_all: sim.packets().lost(),
        misdelivered: sim.misdelivered(),
        relay_discards: sim.relay_discards().into_iter().map(|(why, count)| (why.name(), count)).collect(),
        packet_hops: sim.packet_hops(),
        relations: setup.between.as_ref().map_or_else(Vec::new, |own| between::relations(setup, own, sim)),
        deadlock: sim.deadlock().map(|cycle| cycle.iter().map(|stuck| name_stuck(setup, stuck)).collect()),
        deadlock_ns: sim.deadlock().map(|_| sim.now_ns()),
        deadlock_limit_ns: sim.deadlock_limit_ns(),
        foresight: foreseen(setup, sim, &plans),
        deadlocks_broken,
        lifetime_discards,
        vl_stalls: sim.vl_stalls(),
        smps_dropped: sim.smps_dropped(),
        latency_ns: periods(sim, |index| latency(&sim.periods()[index])),
        throughput: periods(sim, |index| throughput(sim, index, capacity(setup, sim, made, index))),
        held_back: periods(sim, |index| sim.held_back(index)),
        order: scenario.sim.count_order.then(|| periods(sim, |index| sim.periods()[index].order)),
        overtaken: sim.first_overtaken().map(|packet| overtaken(setup, scheme, packet)),
        links: links(setup, sim, made),
        longest_gap_ns: sim.longest_gap_ns(DURING),
        event_ns: changes.first().map_or(0, |change| change.start_ns),
        events: events.clone(),
        takeover: changes.iter().find_map(|change| change.takeover.clone()),
        adversary: None,
        proof: run_proof(&plans, &reports, whole.as_ref()),
        assumptions: distinct(drafts(&plans).flat_map(|draft| &draft.assumptions).map(|held| held.name().to_string())),
        notes: ran.notes(&plans, renumbering.clone(), outage.as_ref()),
        outage,
        series: series(sim),
        hosts: hosts(setup, sim),
        renumbering,
        renumbered: moved.iter().filter_map(|own| renumbered(&first.whole, own)).collect(),
        map: (setup.each.len() == 1).then(|| map(first)),
        changes: reports,
    }
}

fn connection(setup: &Setup<'_>, own: &ConnectionSetup) -> ConnectionReport {
    let after = |ns: Option<u64>| ns.map(|ns| ns - own.begun_ns);
    ConnectionReport {
        from: setup.describe_port(own.active),
        to: setup.describe_port(own.passive),
        said_lids: [own.said.0.0, own.said.1.0],
        requests: own.requests,
        answer_lid: own.answered_by.map(|reply| reply.dlid.0),
        answer_sl: own.answered_by.map(|reply| reply.sl.get()),
        answered_after_ns: after(own.replied_ns),
        ready_after_ns: after(own.ready_ns),
        given_up: own.given_up,
    }
}

fn drafts<'a>(plans: &'a [&Vetted]) -> impl Iterator<Item = &'a Draft> {
    plans.iter().map(|plan| plan.plan().draft())
}

/// Says why the default load is lower than usual, where the slowest scheme waits by the clock. Nothing was scaled: with
/// less load the same time passes.
fn lowered(setup: &Setup<'_>, sim: &Sim) -> Option<String> {
    let asked = setup.scenario.load.is_some() || setup.between.is_some();
    let slowest = estimate::slowest(&setup.each[0]);
    let waits_ns = if asked { 0 } else { estimate::waits_ns(setup.scenario, &setup.each[0], slowest) };
    let who = if slowest == Scheme::Double { "scheme double" } else { "the change" };
    (waits_ns > 0).then(|| {
        format!(
            "{who} waits some {:.0} s by the clock on these devices: a load of {}, the same for all schemes, keeps its \
             run short; --load sets another",
            waits_ns as f64 / 1e9,
            sim.load()
        )
    })
}

/// Says that traffic was asked for and none was sent, so that the run shows nothing of what a change costs.
fn silent(sim: &Sim, traffic: &Traffic) -> Option<String> {
    let (is_asked, more) = match traffic {
        Traffic::Trace(entries) => (!entries.is_empty(), "lengthen --warm-up, --before and --after"),
        _ => (sim.load() > 0.0, "raise --load, or lengthen --before and --after"),
    };
    (is_asked && sim.packets().injected == 0)
        .then(|| format!("no packet was sent before the run ended, so that nothing could be lost: {more}"))
}

/// Says that the subnet did not take the load before anything happened. What a change costs is then hard to tell from
/// what queues hold.
fn saturated(setup: &Setup<'_>, sim: &Sim) -> Option<String> {
    if let Traffic::Trace(_) = setup.scenario.sim.traffic {
        let full = sim.throttled();
        return (full > 0)
            .then(|| format!("packets of the trace that found their send queue full, and were not sent: {full}"));
    }
    let held_back = sim.held_back(BEFORE);
    let delivered = throughput(sim, BEFORE, capacity(setup, sim, false, BEFORE));
    is_saturated(held_back, delivered, sim.load()).then(|| {
        format!(
            "the subnet is saturated: before anything happened applications waited for room in their send queues {:.0} % \
             of the time, and {:.1} % was delivered at a load of {:.1} %, so figures show what queues hold more than what \
             a change costs (a lower --load, another --engine, or a longer --send-queue for long messages)",
            100.0 * held_back,
            100.0 * delivered,
            100.0 * sim.load()
        )
    })
}

/// Says that a trace goes on when the run has ended.
fn cut_trace(sim: &Sim) -> Option<String> {
    let left = sim.trace_left();
    (left > 0).then(|| {
        format!(
            "packets of the trace that were due after the sources stopped, and were not sent: {left} (--warm-up, \
             --before and --after say how long they send)"
        )
    })
}

/// What waves of forwarding entries did before the scheme that served the rest.
fn came_first(change: &DrivenChange) -> Vec<String> {
    let Some((_, first)) = change.report.as_ref().and_then(|run| run.plans.split_last()) else { return Vec::new() };
    let first = first.iter().map(|plan| plan.plan()).filter(|plan| plan.leads_into_loss());
    let notes = first.map(|plan| {
        let (pairs, served) = served(plan);
        format!(
            "a wave of forwarding entries came first, and gave ways to {served} of {pairs} pairs of a host and a LID that had \
             lost theirs"
        )
    });
    notes.collect()
}

fn plan_run<'a>(change: &'a DrivenChange, prepared: &'a Prepared) -> &'a Vetted {
    change.report.as_ref().map_or(&*prepared.plan, |run| &*run.plan)
}

/// What the proof of the first plan says of the deadlock that closed, if one did in a subnet alone.
fn foreseen(setup: &Setup<'_>, sim: &Sim, plans: &[&Vetted]) -> Option<Foresight> {
    let cycle = sim.deadlock().filter(|_| setup.between.is_none())?;
    plans.first().map(|plan| foresight(plan, cycle))
}

/// The engine after the change, where it is another.
fn engine_after(before: &str, prepared: &[Prepared]) -> Option<String> {
    let after = prepared.first()?.routed_by.engine;
    (after != before).then(|| after.to_string())
}

/// The first packet that was late in its class, and what in this scheme can make one late.
fn overtaken(setup: &Setup<'_>, scheme: Scheme, packet: OvertakenPacket) -> OvertakenReport {
    let cause = match scheme {
        _ if matches!(setup.scenario.change, ScenarioChange::Nothing) => DisorderCause::Unexplained,
        _ if packet.crossed => DisorderCause::BeyondRouter,
        Scheme::Double if setup.scenario.policy.partition == LanePartition::Temporary => DisorderCause::LaneMoved,
        Scheme::InPlace | Scheme::Ordered | Scheme::Recover => DisorderCause::WayChanged,
        Scheme::Double | Scheme::Static => DisorderCause::Unexplained,
    };
    OvertakenReport {
        source: setup.describe_port(packet.source),
        destination: setup.describe_port(packet.destination),
        dlid: packet.dlid.0,
        sl: packet.sl.get(),
        cause,
    }
}

/// Each text once, in order of first appearance.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.fold(Vec::new(), |mut all, text| {
        if !all.contains(&text) {
            all.push(text);
        }
        all
    })
}

fn fabric_size(setup: &Setup<'_>) -> FabricSize {
    match setup.between {
        None => FabricSize::of(&setup.each[0].before),
        Some(_) => {
            let before = setup.each.iter().map(|own| (*own.before).clone()).collect();
            FabricSize::of(&Joined::of(&setup.subnets.with_fabrics(before)).fabric)
        }
    }
}

/// What happens in a run.
struct RunEvent {
    what: String,
    moves: MovesReport,
    departure: &'static str,
}

fn event(setup: &Setup<'_>) -> RunEvent {
    let scenario = setup.scenario;
    let own = |subnet: SubnetId| &setup.each[subnet.index()];
    let named = |subnet: SubnetId| own(subnet).moves.named(&own(subnet).whole);
    let tables_alone = matches!(&scenario.change, ScenarioChange::In { elements, .. } if elements.is_empty())
        && scenario.later.is_empty();
    let (what, moves) = match scenario.change {
        ScenarioChange::In { .. } if tables_alone => ("tables alone change".to_string(), MovesReport::default()),
        ScenarioChange::In { subnet, .. } if setup.between.is_none() => (named(subnet).to_string(), named(subnet)),
        ScenarioChange::In { subnet, .. } => {
            (format!("{} in {}", named(subnet), setup.subnets.subnet(subnet).name), named(subnet))
        }
        ScenarioChange::Router(router) => {
            let name = format!("router {}", setup.subnets.routers()[router].name);
            (format!("remove {name}"), MovesReport { leaves: vec![name], comes: Vec::new() })
        }
        ScenarioChange::Nothing => ("nothing changes".to_string(), MovesReport::default()),
    };
    let departure = match (&moves.leaves[..], &moves.comes[..]) {
        ([], []) if !tables_alone => "none",
        ([], [_, ..]) => "arrival",
        _ => scenario.departure.name(),
    };
    RunEvent { what, moves, departure }
}

fn subnet_change(setup: &Setup<'_>, subnet: SubnetId, change: &DrivenChange, prepared: &Prepared) -> SubnetChange {
    let own = &setup.each[subnet.index()];
    let run = change.report.as_ref();
    let node = |node| own.whole.describe_node(node);
    let (root, stranded) =
        run.map_or((prepared.routed_by.root, &prepared.stranded), |run| (run.routed_by.root, &run.stranded));
    // A host or router that leaves cuts off none of its own ports: they leave with it.
    let leaves = |port: PortId| own.leaves(own.whole.port(port).node);
    let stranded: Vec<PortId> = stranded.iter().copied().filter(|&port| !leaves(port)).collect();
    SubnetChange {
        subnet: setup.subnets.subnet(subnet).name.clone(),
        outcome: change.ending,
        what: own.moves.named(&own.whole).to_string(),
        root_before: own.function.root().map(node),
        root_after: root.map(node),
        repairs: is_repair(run.map_or(&prepared.plan, |run| &run.plan).plan()),
        stranded: stranded.iter().map(|&port| own.whole.describe_port(port)).collect(),
        cut_off: CutOffPort::named(&own.whole, &stranded, |_| false),
        sweep: run.and_then(|run| run.sweep.as_ref()).map(PhaseReport::of),
        phases: run.map_or_else(Vec::new, |run| run.phases.iter().map(PhaseReport::of).collect()),
        change_ns: run.map(|_| change.end_ns - change.start_ns),
        smps: smps(&change.smps),
        proof: proof(run.map_or(&prepared.plan, |run| &run.plan)),
    }
}

fn settings(setup: &Setup<'_>, sim: &Sim, plans: &[&Vetted]) -> Settings {
    let (scenario, config) = (setup.scenario, &setup.each[0].config);
    let Policy { arming, observer, partition, reserved_sl, .. } = scenario.policy;
    let lmc = |own: &SubnetSetup| own.whole.port(own.sm).lmc.get();
    let mut devices = DeviceReport::new(scenario.devices, scenario.device_settings());
    // What the scheme settles is not among the options that were given.
    devices.in_force.window = plans.iter().fold(devices.in_force.window, |window, plan| plan.plan().window(window));
    Settings {
        load: sim.load(),
        packet_bytes: config.packet_bytes,
        traffic: TrafficReport::of(&config.traffic, scenario.worst_traffic, scenario.traffic_name),
        sources: sources(config),
        engine_seed: scenario.engine_seed,
        data_vls: config.data_vls,
        standing_partition: partition == LanePartition::Standing,
        reserved_sl: reserved_sl.map(Sl::get),
        optimised_sl_to_vl: scenario.optimised_sl_to_vl,
        lmc: setup.each.iter().map(lmc).max().unwrap_or_default(),
        latch: config.latch,
        arming: arming.to_string(),
        drain: observer.to_string(),
        devices,
        cut_off_meant: scenario.cut_off_meant,
        warm_up_ns: scenario.warm_up_ns,
        before_ns: scenario.before_ns,
        after_ns: scenario.after_ns,
        send_queue: config.send_queue,
        buffer_credits: config.buffer_credits,
        turn_back: !config.discards_turned_back,
        link_delay_ns: config.link_delay_ns,
        routing_delay_ns: config.routing_delay_ns,
        replies: config.replies,
        vl_stall_count: config.vl_stall_count,
        management: management(scenario, config),
        between: setup.between.as_ref().map(|between| BetweenSettings {
            cross: scenario.cross,
            rule: between.levels.rule(),
            layers: between.levels.layers(),
            hop_limit: scenario.hop_limit,
            part_enforce: between.partitioning.as_ref().map(|own| own.enforce),
        }),
    }
}

fn management(scenario: &Scenario, config: &SimConfig) -> ManagementReport {
    ManagementReport {
        smp_times: config.sma_times.clone(),
        smi_processor_ns: config.smi_processor_ns,
        vl15_buffer: config.vl15_buffer,
        smp_loss: config.smp_loss,
        smp_duplicates: config.smp_duplicate,
        smp_delay_ns: config.smp_delay_ns,
        sweep_factor: match scenario.detection {
            Detection::Trap => None,
            Detection::Sweep { factor } => Some(factor),
        },
        compute_ns: match scenario.computing {
            ComputeTime::Given(ns) => Some(ns),
            ComputeTime::Scaled => None,
        },
        poll_silence_ns: scenario.poll_silence_ns,
        sources_move: config.sources_move,
        monitor: config.monitor,
    }
}

/// How sources use their paths, if it differs from the default.
fn sources(config: &SimConfig) -> Option<SourceReport> {
    let SimConfig { dispersal, undivided, message_packets, ref message_mix, arrivals, .. } = *config;
    let burst = match arrivals {
        ArrivalProcess::Poisson => None,
        ArrivalProcess::OnOff { burst } => Some(burst),
    };
    let one_by_one = message_packets == 1 && message_mix.is_empty() && burst.is_none();
    let plain = dispersal == Dispersal::default() && !undivided && one_by_one;
    (!plain).then(|| SourceReport { dispersal, undivided, message_packets, message_mix: message_mix.clone(), burst })
}

fn name_stuck(setup: &Setup<'_>, stuck: &StuckPacket) -> StuckReport {
    StuckReport {
        input: setup.describe_port(stuck.input),
        input_vl: stuck.input_vl.get(),
        output: setup.describe_port(stuck.output),
        output_vl: stuck.output_vl.get(),
        dlid: stuck.dlid.0,
        sl: stuck.sl.get(),
        born_ns: stuck.born_ns,
    }
}

/// Bytes in a nanosecond that the end ports of a period can take: those that links then join with their manager.
fn capacity(setup: &Setup<'_>, sim: &Sim, made: bool, period: usize) -> f64 {
    let there = |(subnet, _): (SubnetId, _)| {
        let (own, place) = (&setup.each[subnet.index()], setup.placement(subnet));
        let fabric = present(own, setup.scenario.departure, made, period);
        let links = Connectivity::of(fabric);
        let joined = fabric.end_ports().filter(|&port| links.joins(port, own.sm_in(fabric)));
        joined.map(|port| place.port(port)).collect::<Vec<_>>()
    };
    let there: BTreeSet<PortId> = setup.subnets.subnets().flat_map(there).collect();
    sim.delivery_capacity_of(|port| there.contains(&port))
}

/// The busiest links between switches, and to routers if there are any, if requested.
fn links(setup: &Setup<'_>, sim: &Sim, made: bool) -> Option<Periods<LinkLoads>> {
    let scenario = setup.scenario;
    let there = |own: &SubnetSetup, index| present(own, scenario.departure, made, index).clone();
    let loads = |index: usize| match &setup.between {
        None => link_loads(sim, &there(&setup.each[0], index), index, scenario.hot_links),
        Some(between) => {
            let whole = &between.joined.fabric;
            let through = |port: PortId| whole.node(whole.port(port).node).kind != NodeKind::Ca;
            let there = setup.each.iter().map(|own| there(own, index)).collect();
            let there = Joined::of(&setup.subnets.with_fabrics(there)).fabric;
            loads_between(sim, &there, index, scenario.hot_links, through, |port| setup.describe_port(port))
        }
    };
    (scenario.hot_links > 0).then(|| periods(sim, loads))
}

/// Proof of the run: that of its one plan, or of the whole.
fn run_proof(
    plans: &[&Vetted],
    reports: &[SubnetChange],
    whole: Option<&Result<AcrossStatistics, AcrossRefusal>>,
) -> ProofReport {
    let Some(whole) = whole else { return proof(plans[0]) };
    let sum = |of: fn(&ProofReport) -> usize| reports.iter().map(|own| of(&own.proof)).sum();
    ProofReport {
        status: if whole.is_ok() { "proved" } else { "refused" },
        waves: sum(|own| own.waves),
        channels: sum(|own| own.channels),
        dependencies: sum(|own| own.dependencies),
        refusal: whole.as_ref().err().map(ToString::to_string),
        cycle: None,
        witnesses: Vec::new(),
        evidence: None,
        whole: Some(WholeProof { statistics: whole.as_ref().ok().copied(), evidence: whole.as_ref().err().cloned() }),
    }
}

fn smps(counts: &SmpCounts) -> SmpReport {
    let mut by_attribute: BTreeMap<String, u64> =
        counts.sent.iter().map(|(key, &count)| (smp_name(*key), count)).collect();
    if counts.perf > 0 {
        by_attribute.insert("Performance".into(), counts.perf);
    }
    SmpReport { by_attribute, total: counts.total() + counts.perf }
}

/// The paths of packets into the cycle that the refusal names. The prover found it in this plan, so each has one.
fn witnesses(plan: &Vetted) -> Vec<Witness> {
    named(plan).and_then(|cycle| verify::witness(plan.plan(), cycle).ok()).unwrap_or_default()
}

fn proof(plan: &Vetted) -> ProofReport {
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
        whole: None,
    }
}
