//! What a run of several subnets came to: for people (`report`) and for programs (JSON, schema
//! `reconfig.subnets-simulation/1`). Times are nanoseconds of simulated time unless a name says otherwise.

use super::{AcrossChange, Theatre};
use crate::change::{Departure, Prepared};
use crate::fabric::subnets::{Joined, Router, SubnetPort};
use crate::fabric::{Fabric, NodeKind, PortId};
use crate::ids::{GidPrefix, Guid};
use crate::plan::Scheme;
use crate::routers::{LevelsRule, PartEnforce};
use crate::scenario::measures::{self, present};
use crate::scenario::outcome::{
    Ending, FabricSize, Latency, LinkLoads, Periods, PhaseReport, ProofReport, SmpReport, SourceReport, StuckReport,
    TrafficReport, hexadecimal,
};
use crate::scenario::setting::Element;
use crate::scenario::site::Site;
use crate::scenario::stage::Stage;
use crate::scenario::summary::{self, Change};
use crate::sim::{Latch, PacketCounts, Period, Sim};
use crate::verify::across::{AcrossRefusal, AcrossStatistics};
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the JSON object.
pub const ACROSS_SCHEMA: &str = "reconfig.subnets-simulation/1";

/// One run of several subnets.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AcrossReport {
    /// [`ACROSS_SCHEMA`].
    pub schema: &'static str,
    /// How it ended: the worst of the changes.
    pub outcome: Ending,
    /// Why it ended so, where it did not complete.
    pub reason: Option<String>,
    /// What changed, in words.
    pub what: String,
    /// `sudden`, `planned`, or `none` where nothing changes.
    pub departure: &'static str,
    /// The scheme.
    pub scheme: Scheme,
    /// The engine of the routing before.
    pub engine: String,
    /// The seed.
    pub seed: u64,
    /// Digest of every event.
    #[serde(serialize_with = "hexadecimal")]
    pub trace_hash: u64,
    /// What the run was set to.
    pub settings: AcrossSettings,
    /// The subnets.
    pub subnets: Vec<SubnetReport>,
    /// The routers.
    pub routers: Vec<RouterReport>,
    /// The changes, one in each subnet whose manager acted.
    pub changes: Vec<ChangeIn>,
    /// Proof of the whole, at every moment.
    pub proof: WholeProof,
    /// What became of every packet.
    pub packets: PacketCounts,
    /// Of those lost to the change: delivered to a port that does not own the DLID.
    pub misdelivered: u64,
    /// Of those lost to the change or stranded: discarded by routers, by reason.
    pub relay_discards: BTreeMap<&'static str, u64>,
    /// Deadlocks that lifetime limits broke by discarding.
    pub deadlocks_broken: u64,
    /// Of those lost or stranded: discarded by switches for their age.
    pub lifetime_discards: u64,
    /// Packets through switches.
    pub packet_hops: u64,
    /// Packets by the subnets at their ends.
    pub relations: Vec<RelationReport>,
    /// The cycle of waiting packets, where there was one.
    pub deadlock: Option<Vec<StuckReport>>,
    /// When it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlock_ns: Option<u64>,
    /// From send queue to delivery, by period of delivery, all packets.
    pub latency_ns: Periods<Latency>,
    /// Bytes delivered, as a fraction of what all hosts could take.
    pub throughput: Periods<f64>,
    /// Packets out of order, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Periods<crate::sim::OrderCounts>>,
    /// What links between switches and routers carried, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Periods<LinkLoads>>,
}

/// What a run was set to.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AcrossSettings {
    /// Offered load, a fraction of each host's rate.
    pub load: f64,
    /// Of it: the share for other subnets.
    pub cross: f64,
    /// Bytes of a packet.
    pub packet_bytes: u16,
    /// Who sends to whom; ranks count the end ports of all subnets.
    pub traffic: TrafficReport,
    /// How sources use their paths, where it is not one path for each destination and one packet a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourceReport>,
    /// Data VLs.
    pub data_vls: u8,
    /// When switches choose.
    pub latch: Latch,
    /// Arming policy.
    pub arming: String,
    /// Drain observer.
    pub drain: String,
    /// What routers do with service levels.
    pub rule: LevelsRule,
    /// Layers that levels are divided into.
    pub layers: u8,
    /// The hop limit that sources give.
    pub hop_limit: u8,
    /// Which way ports of routers look at partitions, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_enforce: Option<PartEnforce>,
}

/// One subnet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SubnetReport {
    /// Its name.
    pub name: String,
    /// Its prefix.
    pub prefix: GidPrefix,
    /// Its size before the change.
    pub fabric: FabricSize,
    /// End ports that are no router's.
    pub hosts: usize,
    /// LID mask control.
    pub lmc: u8,
    /// The manager's node.
    pub sm: String,
}

/// One router.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RouterReport {
    /// Its description.
    pub name: String,
    /// Its GUID.
    pub guid: Guid,
    /// Its ports.
    pub ports: Vec<RouterPortReport>,
}

/// A port of a router.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RouterPortReport {
    /// `subnet:node[port]`.
    pub name: String,
    /// Whether links join it with its subnet after the change.
    pub stays: bool,
    /// What its link carried.
    pub carried: Periods<PortLoad>,
}

/// What a port's link carried in a period, either way.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct PortLoad {
    /// Bytes of data that were sent to it.
    pub bytes_in: u64,
    /// Bytes of data that it sent.
    pub bytes_out: u64,
    /// What came in, as a fraction of what the link can carry.
    pub load_in: f64,
    /// What was sent, as such a fraction.
    pub load_out: f64,
}

/// The change in one subnet.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ChangeIn {
    /// The subnet.
    pub subnet: String,
    /// How it ended.
    pub outcome: Ending,
    /// What leaves.
    pub what: String,
    /// Root of R.
    pub root_before: Option<String>,
    /// Root of R′.
    pub root_after: Option<String>,
    /// End ports that the change cuts off.
    pub stranded: Vec<String>,
    /// The sweep that found what had changed, where there was one.
    pub sweep: Option<PhaseReport>,
    /// The phases, in order.
    pub phases: Vec<PhaseReport>,
    /// From the first event to R′ in force everywhere.
    pub change_ns: u64,
    /// Datagrams that the manager sent and received.
    pub smps: SmpReport,
    /// Proof of the change within the subnet.
    pub proof: ProofReport,
}

/// Proof of the whole.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WholeProof {
    /// `proved` or `refused`.
    pub status: &'static str,
    /// What it covers, where there is one.
    pub statistics: Option<AcrossStatistics>,
    /// The refusal in words.
    pub refusal: Option<String>,
    /// The refusal with its evidence.
    pub evidence: Option<AcrossRefusal>,
}

/// Packets from one subnet to one subnet.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RelationReport {
    /// The subnet of their sources.
    pub from: String,
    /// The subnet of their destinations.
    pub to: String,
    /// Routers that they cross before the change; none where no way leads there.
    pub crossings: Option<u8>,
    /// The same after it.
    pub crossings_after: Option<u8>,
    /// Packets that hosts could not send, since no router led there.
    pub unsendable: u64,
    /// Packets that hosts did not send, since the two share no partition; none where there are no partitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parted: Option<u64>,
    /// What became of them.
    pub packets: PacketCounts,
    /// Delivered by period.
    pub delivered: Periods<u64>,
    /// From send queue to delivery, by period of delivery.
    pub latency_ns: Periods<Latency>,
    /// The longest time without a delivery during the change.
    pub longest_gap_ns: u64,
}

impl AcrossReport {
    /// Whether the answer is yes: completed, nothing lost to the change, and the whole proved.
    pub fn is_clean(&self) -> bool {
        self.outcome == Ending::Completed && self.packets.lost_to_change == 0 && self.proof.statistics.is_some()
    }
}

pub(super) fn report(
    theatre: &Theatre<'_>,
    sim: &Sim,
    sites: &[Site<'_>],
    changes: Vec<Change>,
    prepared: &[Prepared],
    proof: Result<AcrossStatistics, AcrossRefusal>,
) -> AcrossReport {
    let deadlocked = sim.deadlock().is_some();
    let worst = changes.iter().find(|change| change.ending != Ending::Completed);
    let idle = if deadlocked { Ending::Deadlocked } else { Ending::Completed };
    let circle = || deadlocked.then(|| "packets wait for each other in a circle".to_string());
    let settings = &theatre.asked.settings;
    let made = changes.iter().all(|change| change.ending == Ending::Completed);
    let (deadlocks_broken, lifetime_discards) = sim.limits_at_work();
    AcrossReport {
        schema: ACROSS_SCHEMA,
        outcome: worst.map_or(idle, |change| change.ending),
        reason: worst.map_or_else(circle, |change| change.reason.clone()),
        what: what(theatre),
        departure: match (theatre.asked.change, settings.departure) {
            (AcrossChange::Nothing, _) => "none",
            (_, Departure::Sudden) => "sudden",
            (_, Departure::Planned) => "planned",
        },
        scheme: settings.scheme,
        engine: theatre.stages[0].function.engine().to_string(),
        seed: settings.sim.seed,
        trace_hash: sim.trace_hash(),
        settings: across_settings(theatre, sim),
        subnets: subnets(theatre),
        routers: routers(theatre, sim),
        changes: sites
            .iter()
            .zip(changes)
            .zip(prepared)
            .map(|((site, change), prepared)| change_in(theatre, site, &change, prepared))
            .collect(),
        proof: whole_proof(proof),
        packets: sim.packets(),
        misdelivered: sim.misdelivered(),
        relay_discards: sim.relay_discards().into_iter().map(|(why, count)| (why.name(), count)).collect(),
        deadlocks_broken,
        lifetime_discards,
        packet_hops: sim.packet_hops(),
        relations: relations(theatre, sim),
        deadlock: sim.deadlock().map(|cycle| cycle.iter().map(|stuck| name_stuck(theatre, stuck)).collect()),
        deadlock_ns: deadlocked.then(|| sim.now_ns()),
        latency_ns: summary::periods(sim, |index| measures::latency(&sim.periods()[index])),
        throughput: summary::periods(sim, |index| measures::throughput(sim, index)),
        order: settings.sim.count_order.then(|| summary::periods(sim, |index| sim.periods()[index].order)),
        links: links(theatre, sim, made),
    }
}

fn across_settings(theatre: &Theatre<'_>, sim: &Sim) -> AcrossSettings {
    let (settings, config) = (&theatre.asked.settings, &theatre.stages[0].config);
    AcrossSettings {
        load: sim.load(),
        cross: theatre.asked.cross,
        packet_bytes: config.packet_bytes,
        traffic: TrafficReport::of(&config.traffic, settings.worst_traffic),
        sources: summary::sources(config),
        data_vls: config.data_vls,
        latch: config.latch,
        arming: settings.policy.arming.to_string(),
        drain: settings.policy.observer.to_string(),
        rule: theatre.levels.rule(),
        layers: theatre.levels.layers(),
        hop_limit: theatre.asked.hop_limit,
        part_enforce: theatre.partitioning.as_ref().map(|own| own.enforce),
    }
}

/// The busiest links between switches and routers, where they are asked for.
fn links(theatre: &Theatre<'_>, sim: &Sim, made: bool) -> Option<Periods<LinkLoads>> {
    let most = theatre.asked.settings.hot_links;
    let whole = &theatre.joined.fabric;
    let between = |port: PortId| whole.node(whole.port(port).node).kind != NodeKind::Ca;
    let name = |port: PortId| theatre.subnets.describe_port(theatre.joined.at(port));
    let loads = |index: usize| {
        let there: Vec<Fabric> = theatre
            .stages
            .iter()
            .map(|stage| present(stage, theatre.asked.settings.departure, made, index).clone())
            .collect();
        let there = Joined::of(&theatre.subnets.with_fabrics(there)).fabric;
        measures::loads_between(sim, &there, index, most, between, name)
    };
    (most > 0).then(|| summary::periods(sim, loads))
}

fn what(theatre: &Theatre<'_>) -> String {
    match theatre.asked.change {
        AcrossChange::In { subnet, element } => {
            let (name, stage) = (&theatre.subnets.subnet(subnet).name, &theatre.stages[subnet.index()]);
            format!("{} in {name}", stage.describe(element))
        }
        AcrossChange::Router(router) => format!("remove router {}", theatre.subnets.routers()[router].name),
        AcrossChange::Nothing => "nothing changes".to_string(),
    }
}

fn subnets(theatre: &Theatre<'_>) -> Vec<SubnetReport> {
    let report = |(id, stage): (_, &Stage)| {
        let subnet = theatre.subnets.subnet(id);
        let sm = stage.whole.port(stage.sm);
        SubnetReport {
            name: subnet.name.clone(),
            prefix: subnet.prefix,
            fabric: FabricSize::of(&stage.before),
            hosts: theatre.subnets.hosts(id).count(),
            lmc: sm.lmc.get(),
            sm: stage.whole.describe_node(sm.node),
        }
    };
    theatre.subnet_ids().zip(&theatre.stages).map(report).collect()
}

fn routers(theatre: &Theatre<'_>, sim: &Sim) -> Vec<RouterReport> {
    let carried = carried(theatre, sim);
    let leads = |at: &SubnetPort| {
        let stage = &theatre.stages[at.subnet.index()];
        crate::routing::Connectivity::of(&stage.after).joins(at.port, stage.sm)
    };
    let report = |router: &Router| RouterReport {
        name: router.name.clone(),
        guid: router.guid,
        ports: router
            .ports
            .iter()
            .map(|at| RouterPortReport {
                name: theatre.subnets.describe_port(*at),
                stays: leads(at),
                carried: carried(theatre.joined.port(*at)),
            })
            .collect(),
    };
    theatre.subnets.routers().iter().map(report).collect()
}

/// What the link of a port carried, by period.
fn carried(theatre: &Theatre<'_>, sim: &Sim) -> impl Fn(PortId) -> Periods<PortLoad> {
    let sent = summary::periods(sim, |index| (sim.bytes_sent(index), sim.period_ns(index)));
    let fabric = &theatre.joined.fabric;
    move |port| {
        let of = |(sent, length_ns): &(Vec<u64>, u64)| {
            let bytes = |port: PortId| sent.get(port.index()).copied().unwrap_or(0);
            let (bytes_in, bytes_out) = (fabric.peer(port).map_or(0, bytes), bytes(port));
            let load = |bytes| measures::load(fabric, port, bytes, *length_ns);
            PortLoad { bytes_in, bytes_out, load_in: load(bytes_in), load_out: load(bytes_out) }
        };
        Periods { before: of(&sent.before), during: of(&sent.during), after: of(&sent.after) }
    }
}

/// End ports that the change cuts off, for people. Of a router that leaves nothing is cut off: it is what leaves.
fn stranded(stage: &Stage, ports: &[PortId]) -> Vec<String> {
    let leaves = |port: PortId| matches!(stage.element, Element::EndNode(node) if stage.whole.port(port).node == node);
    ports.iter().filter(|&&port| !leaves(port)).map(|&port| stage.whole.describe_port(port)).collect()
}

fn change_in(theatre: &Theatre<'_>, site: &Site<'_>, change: &Change, prepared: &Prepared) -> ChangeIn {
    let stage = site.stage;
    let run = change.report.as_ref();
    let node = |node| stage.whole.describe_node(node);
    let (root, cut_off) = run.map_or((prepared.root, &prepared.stranded), |run| (run.root, &run.stranded));
    let element = if site.scenario.element == Element::Root { Element::Root } else { stage.element };
    ChangeIn {
        subnet: theatre.subnets.subnet(site.place.subnet).name.clone(),
        outcome: change.ending,
        what: stage.describe(element),
        root_before: stage.function.root().map(node),
        root_after: root.map(node),
        stranded: stranded(stage, cut_off),
        sweep: run.and_then(|run| run.sweep.as_ref()).map(|sweep| summary::phase("sweep", sweep)),
        phases: run
            .map_or_else(Vec::new, |run| run.phases.iter().map(|record| summary::phase(record.name, record)).collect()),
        change_ns: change.end_ns - change.start_ns,
        smps: summary::smps(&change.smps),
        proof: summary::proof(run.map_or(&prepared.plan, |run| &run.plan)),
    }
}

fn whole_proof(proof: Result<AcrossStatistics, AcrossRefusal>) -> WholeProof {
    match proof {
        Ok(statistics) => WholeProof { status: "proved", statistics: Some(statistics), refusal: None, evidence: None },
        Err(refusal) => WholeProof {
            status: "refused",
            statistics: None,
            refusal: Some(refusal.to_string()),
            evidence: Some(refusal),
        },
    }
}

fn relations(theatre: &Theatre<'_>, sim: &Sim) -> Vec<RelationReport> {
    let report = |((from, to, relation), packets): ((_, _, &crate::sim::Relation), PacketCounts)| RelationReport {
        from: theatre.subnets.subnet(from).name.clone(),
        to: theatre.subnets.subnet(to).name.clone(),
        crossings: theatre.routes.crossings(from, to),
        crossings_after: theatre.routes_after.crossings(from, to),
        unsendable: relation.unsendable,
        parted: theatre.partitioning.as_ref().map(|_| relation.parted),
        packets,
        delivered: by_period(&relation.periods, |period| period.delivered),
        latency_ns: by_period(&relation.periods, measures::latency),
        longest_gap_ns: relation.periods.get(2).map_or(0, Period::longest_gap_ns),
    };
    sim.relations().zip(sim.relation_counts()).map(report).collect()
}

/// The periods *before*, *during* and *after*; the one of warming up comes first.
fn by_period<T: Default>(periods: &[Period], value: impl Fn(&Period) -> T) -> Periods<T> {
    let of = |index: usize| periods.get(index).map_or_else(T::default, &value);
    Periods { before: of(1), during: of(2), after: of(3) }
}

fn name_stuck(theatre: &Theatre<'_>, stuck: &crate::sim::StuckPacket) -> StuckReport {
    let name = |port| theatre.subnets.describe_port(theatre.joined.at(port));
    StuckReport {
        input: name(stuck.input),
        input_vl: stuck.input_vl.get(),
        output: name(stuck.output),
        output_vl: stuck.output_vl.get(),
        dlid: stuck.dlid.0,
        sl: stuck.sl.get(),
        born_ns: stuck.born_ns,
    }
}
