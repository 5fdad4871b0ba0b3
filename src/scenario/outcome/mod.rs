//! The result of a simulated change: one value, for people (the command's screens) and for programs (JSON, schema
//! `reconfig.simulation/1`). Times are nanoseconds of simulated time unless a name has another unit.

mod map;
mod outages;
mod series;
mod settings;
mod takeover;

use super::adversary::schedule::Schedule;
use super::cut_off::CutOffPort;
use super::elements::MovesReport;
use crate::change::Departure;
use crate::driver::PhaseRecord;
use crate::fabric::Fabric;
use crate::ids::{GidPrefix, Guid, Lid, Lmc};
use crate::plan::Scheme;
use crate::sim::{GmpCounts, OrderCounts, PacketCounts, QuestionCounts, is_default};
use crate::verify::across::{AcrossRefusal, AcrossStatistics};
use crate::verify::{Cycle, Refusal, Witness};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

pub use map::{FabricMap, Fate, MapLink, MapNode};
pub use outages::{HostLosses, LongestOutage, OutageReport};
pub use series::{BinReport, Marks, SeriesReport};
pub use settings::{BetweenSettings, DeviceReport, ManagementReport, Settings, SourceReport, TrafficReport};
pub use takeover::{TakeoverChange, TakeoverReport};

/// The name and version of the JSON object.
pub const SCHEMA: &str = "reconfig.simulation/1";

/// How the change ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Every wave and barrier was passed.
    Completed,
    /// Packets wait for each other in a cycle.
    Deadlocked,
    /// The change was called off, is halted, or could not begin.
    Aborted,
    /// The adversary did not reach the intended deadlock.
    NotReached,
}

/// One simulated run. The fields describe the run as a whole; `subnets` and `changes` hold what belongs to one subnet,
/// of which there may be one.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct SimulationReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// How it ended.
    pub outcome: Ending,
    /// Why it did not complete.
    pub reason: Option<String>,
    /// A description of the change: the elements removed or added.
    pub what: String,
    /// The elements that leave and come, each by name.
    #[serde(flatten)]
    pub moves: MovesReport,
    /// `sudden`, `planned`, `arrival`, or `none` if nothing changes.
    pub departure: &'static str,
    /// The scheme.
    pub scheme: Scheme,
    /// Whether it was chosen, as the cheapest that is proved; the notes say what was passed over.
    pub auto: bool,
    /// The engine of the old routing.
    pub engine: String,
    /// The engine of the new routing, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_after: Option<String>,
    /// The seed.
    pub seed: u64,
    /// Digest of every event.
    #[serde(serialize_with = "hexadecimal")]
    #[schemars(with = "String")]
    pub trace_hash: u64,
    /// The size before the change, over all subnets.
    pub fabric: FabricSize,
    /// The subnets.
    pub subnets: Vec<SubnetReport>,
    /// The routers between them.
    pub routers: Vec<RouterReport>,
    /// The changes, one for each subnet whose manager acted.
    pub changes: Vec<SubnetChange>,
    /// The settings of the run.
    pub settings: Settings,
    /// The fate of every packet.
    pub packets: PacketCounts,
    /// End ports that had to send to other LIDs on other service levels.
    pub hosts_that_move: usize,
    /// Packets lost in all: to the failure and to the change.
    pub lost_in_all: u64,
    /// Outages of pairs of end ports; none if nothing changes.
    pub outage: Option<OutageReport>,
    /// What became of a monitor's questions to switches, which are not among the packets; none without a monitor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionCounts>,
    /// Counts of general management packets, the manager's requests for counters and their answers, which are not among
    /// the packets; none if none were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gmps: Option<GmpCounts>,
    /// Connections that hosts set up, if any did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ConnectionReport>,
    /// Of the packets lost to the change: those delivered to a port that does not own the DLID.
    pub misdelivered: u64,
    /// Of the packets lost to the change or stranded: those that routers discarded, by reason.
    pub relay_discards: BTreeMap<&'static str, u64>,
    /// Packets forwarded by switches, one for each hop.
    pub packet_hops: u64,
    /// Packets by the subnets at their ends, if there are several.
    pub relations: Vec<RelationReport>,
    /// The cycle of waiting packets, if there was one.
    pub deadlock: Option<Vec<StuckReport>>,
    /// When the deadlock was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlock_ns: Option<u64>,
    /// The lifetime limit, in nanoseconds, that would break the deadlock by discarding a packet of it, had the run
    /// lasted longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlock_limit_ns: Option<u64>,
    /// The prover's earlier verdict on that cycle, for a single subnet.
    pub foresight: Option<Foresight>,
    /// Deadlocks that lifetime limits broke by discarding; not the one that ended the run.
    pub deadlocks_broken: u64,
    /// Packets that lifetime limits discarded.
    pub lifetime_discards: u64,
    /// How often a lane stalled for packets that the head-of-queue limit had discarded in a row (VLStallCount).
    #[serde(skip_serializing_if = "is_default")]
    pub vl_stalls: u64,
    /// SMPs for which the VL 15 buffer of a port had no room.
    #[serde(skip_serializing_if = "is_default")]
    pub smps_dropped: u64,
    /// From send queue to delivery, by period of delivery.
    pub latency_ns: Periods<Latency>,
    /// Bytes delivered, as a fraction of what all end ports could receive.
    pub throughput: Periods<f64>,
    /// The share of the time that applications waited for room in their send queues, over all of them: what they
    /// offered then was not sent. Hosts that are cut off with a full queue wait, too.
    pub held_back: Periods<f64>,
    /// Packets that arrived after a later one of their flow, if counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Periods<OrderCounts>>,
    /// The first packet that came after a later one of the same SLID, DLID and SL, if order was counted and one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overtaken: Option<OvertakenReport>,
    /// Loads of links between switches, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Periods<LinkLoads>>,
    /// The longest time without a single delivery during the change.
    pub longest_gap_ns: u64,
    /// When the first event happened, in nanoseconds of simulated time; 0 if nothing did.
    pub event_ns: u64,
    /// What happened after the first event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventReport>,
    /// The actions of the standby manager, if it took over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takeover: Option<TakeoverReport>,
    /// The adversary's part, if there was one.
    pub adversary: Option<AdversaryReport>,
    /// The proof before the first write.
    pub proof: ProofReport,
    /// Assumptions that the subnet manager cannot check.
    pub assumptions: Vec<String>,
    /// Remarks.
    pub notes: Vec<String>,
    /// What happened when; not in JSON, since files hold it (`--csv`, `--report`).
    #[serde(skip)]
    pub series: SeriesReport,
    /// What each end port lost from the event on; those that lost nothing are omitted. Not in JSON, for the same
    /// reason.
    #[serde(skip)]
    pub hosts: Vec<HostLosses>,
    /// The note on `renumbered`.
    #[serde(skip)]
    pub renumbering: Option<String>,
    /// The ports whose LIDs are others than in the capture. Not in JSON, for the same reason.
    #[serde(skip)]
    pub renumbered: Vec<RenumberedPort>,
    /// The subnet, to be drawn; none if there are several.
    #[serde(skip)]
    pub map: Option<FabricMap>,
}

/// A port with other LIDs than the capture gives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenumberedPort {
    /// The port.
    pub name: String,
    /// Its GUID, where it has one; a switch's is that of port 0.
    pub guid: Option<Guid>,
    /// Base LID and LMC in the capture, and in the run.
    pub lids: [(Lid, Lmc); 2],
}

/// A connection that two hosts set up, as far as it came. Its messages are among the packets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ConnectionReport {
    /// The host that asked.
    pub from: String,
    /// The host that was asked.
    pub to: String,
    /// The LIDs that the request said, of its sender and of its receiver: 65535 where routers lie between.
    pub said_lids: [u16; 2],
    /// Requests sent.
    pub requests: u32,
    /// Where the answer went: the DLID, in the subnet of the host that was asked.
    pub answer_lid: Option<u16>,
    /// Its service level.
    pub answer_sl: Option<u8>,
    /// From the first request until its answer had come.
    pub answered_after_ns: Option<u64>,
    /// From the first request until both sides could send.
    pub ready_after_ns: Option<u64>,
    /// Whether the host that asked has given up.
    pub given_up: bool,
}

/// A packet that lost its place among those of the same SLID, DLID and SL, and why packets of that run can.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct OvertakenReport {
    /// Its source.
    pub source: String,
    /// Its destination.
    pub destination: String,
    /// Its destination LID.
    pub dlid: u16,
    /// Its service level.
    pub sl: u8,
    /// What in the change reorders a class.
    pub cause: DisorderCause,
}

/// What reorders the packets of one class. Its tables send every one by one way on one lane, first in, first out; so
/// either a forwarding entry of the class changed under them, or an SL-to-VL table did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisorderCause {
    /// The class was moved to other lanes (scheme `double` writes no forwarding entry of a half in use).
    LaneMoved,
    /// The class was given another way (scheme `in-place` writes no SL-to-VL table in use).
    WayChanged,
    /// It crossed routers, which choose SLID, DLID and SL anew: a change in a subnet beyond moved what came later.
    BeyondRouter,
    /// Nothing changes, the partition of lanes stands, or every port discarded what it held (scheme `static`), so no
    /// table explains it.
    Unexplained,
}

/// Sizes of a fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct FabricSize {
    /// Switches.
    pub switches: usize,
    /// Channel adapters and routers.
    pub cas: usize,
    /// Cables.
    pub links: usize,
}

impl FabricSize {
    /// The size of the present part of `fabric`.
    pub fn of(fabric: &Fabric) -> FabricSize {
        let present = || fabric.nodes().filter(|(_, node)| node.present);
        FabricSize {
            switches: present().filter(|(_, node)| node.is_switch()).count(),
            cas: present().filter(|(_, node)| !node.is_switch()).count(),
            links: fabric.links().count(),
        }
    }
}

/// One subnet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct SubnetReport {
    /// Its name.
    pub name: String,
    /// Its prefix.
    pub prefix: GidPrefix,
    /// Its size before the change.
    pub fabric: FabricSize,
    /// End ports that do not belong to a router.
    pub hosts: usize,
    /// LID mask control.
    pub lmc: u8,
    /// The manager's node.
    pub sm: String,
}

/// One router.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct RouterReport {
    /// Its description.
    pub name: String,
    /// Its GUID.
    pub guid: Guid,
    /// Its ports.
    pub ports: Vec<RouterPortReport>,
}

/// A port of a router.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct RouterPortReport {
    /// `subnet:node[port]`.
    pub name: String,
    /// Whether it is still connected to its subnet after the change.
    pub stays: bool,
    /// The load of its link.
    pub carried: Periods<PortLoad>,
}

/// The load of a port's link in a period, in each direction.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct PortLoad {
    /// Bytes of data sent to the port.
    pub bytes_in: u64,
    /// Bytes of data that the port sent.
    pub bytes_out: u64,
    /// Incoming load, as a fraction of the link's capacity.
    pub load_in: f64,
    /// Outgoing load, likewise.
    pub load_out: f64,
}

/// The change in one subnet.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct SubnetChange {
    /// The subnet.
    pub subnet: String,
    /// How it ended.
    pub outcome: Ending,
    /// The element that is removed.
    pub what: String,
    /// Root of R.
    pub root_before: Option<String>,
    /// Root of R′.
    pub root_after: Option<String>,
    /// Whether entries in force are kept wherever they still lead somewhere: then R′ is not what runs afterwards.
    pub repairs: bool,
    /// End ports that the change cuts off.
    pub stranded: Vec<String>,
    /// The end ports that the change cuts off, with the GUIDs of their nodes.
    pub cut_off: Vec<CutOffPort>,
    /// The sweep that found the loss or arrival, if there was one.
    pub sweep: Option<PhaseReport>,
    /// The phases, in order.
    pub phases: Vec<PhaseReport>,
    /// From the first event to the routing function R′ in force everywhere; none if the change could not be made.
    pub change_ns: Option<u64>,
    /// SMPs that the manager sent and received.
    pub smps: SmpReport,
    /// Proof of the change within the subnet.
    pub proof: ProofReport,
}

/// A later event in a report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct EventReport {
    /// What left and came, in words.
    pub what: String,
    /// The elements removed and added, by name.
    #[serde(flatten)]
    pub moves: MovesReport,
    /// When it happened, in nanoseconds of simulated time; none if the run came to its end first.
    pub at_ns: Option<u64>,
    /// The state of `state-machines/change.yaml` that the manager's change was in then.
    pub during: Option<&'static str>,
}

/// Packets from one subnet to one subnet.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct RelationReport {
    /// The subnet of their sources.
    pub from: String,
    /// The subnet of their destinations.
    pub to: String,
    /// Routers crossed before the change; none if no path leads there.
    pub crossings: Option<u8>,
    /// Routers crossed after the change.
    pub crossings_after: Option<u8>,
    /// Packets that hosts could not send because no router led there.
    pub unsendable: u64,
    /// Packets that hosts did not send because the ends share no partition; none if there are no partitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parted: Option<u64>,
    /// The fate of the packets.
    pub packets: PacketCounts,
    /// Packets delivered, by period.
    pub delivered: Periods<u64>,
    /// From send queue to delivery, by period of delivery.
    pub latency_ns: Periods<Latency>,
    /// The longest time without a delivery during the change.
    pub longest_gap_ns: u64,
}

/// One phase.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct PhaseReport {
    /// `split`, `install`, `swap`, `drain`, `restore`; other schemes have others.
    pub name: String,
    /// When it began.
    pub start_ns: u64,
    /// When its barriers were passed.
    pub end_ns: u64,
    /// SMPs sent during the phase.
    pub smps: u64,
}

impl PhaseReport {
    pub(super) fn of(record: &PhaseRecord) -> PhaseReport {
        let smps = record.smps.total() + record.smps.perf;
        PhaseReport { name: record.name.to_string(), start_ns: record.start_ns, end_ns: record.end_ns, smps }
    }
}

/// A value for each period of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Periods<T> {
    /// Under R alone.
    pub before: T,
    /// From the failure or the first write to the end of the change.
    pub during: T,
    /// Under R′ alone.
    pub after: T,
}

/// Quantiles of latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Latency {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

/// Loads of the channels between switches in a period, as fractions of their capacity.
#[derive(Clone, PartialEq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct LinkLoads {
    /// The mean over all channels.
    pub mean: f64,
    /// The highest load.
    pub most: f64,
    /// The busiest channels, in descending order.
    pub busiest: Vec<BusyLink>,
}

/// A channel between switches.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct BusyLink {
    /// `switch[port]` that sends.
    pub from: String,
    /// `switch[port]` that receives.
    pub to: String,
    /// Bytes of data sent.
    pub bytes: u64,
    /// Load, as a fraction of its capacity.
    pub load: f64,
}

/// SMPs by attribute.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct SmpReport {
    /// By `Method(Attribute)`.
    pub by_attribute: BTreeMap<String, u64>,
    /// The sum.
    pub total: u64,
}

/// The result of the proof.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ProofReport {
    /// `proved` or `refused`.
    pub status: &'static str,
    /// Waves examined.
    pub waves: usize,
    /// Channels with lanes that can be occupied.
    pub channels: usize,
    /// Dependencies between lanes over all waves.
    pub dependencies: usize,
    /// The refusal in words, if the plan is not safe.
    pub refusal: Option<String>,
    /// The cycle that the refusal names, if any.
    pub cycle: Option<Cycle>,
    /// By dependency of that cycle, the path of a packet that causes it.
    pub witnesses: Vec<Witness>,
    /// The refusal itself.
    #[serde(skip)]
    pub evidence: Option<Refusal>,
    /// Proof of several subnets as a whole. Status and refusal then refer to it, and the numbers above are sums over
    /// the changes.
    #[serde(flatten)]
    pub whole: Option<WholeProof>,
}

/// Proof of several subnets as a whole, at every moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct WholeProof {
    /// What the proof covers, if there is one.
    pub statistics: Option<AcrossStatistics>,
    /// The refusal with its evidence.
    pub evidence: Option<AcrossRefusal>,
}

/// The adversary's part.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct AdversaryReport {
    /// `steered`: it aimed at the cycle that the refusal names; `generic`: random delays, saturated traffic.
    pub kind: &'static str,
    /// Whether the intended deadlock closed.
    pub reached: Option<bool>,
    /// Why it did not.
    pub why: Option<String>,
    /// Its actions and their times.
    pub schedule: Option<Schedule>,
}

/// The prover's earlier verdict on a deadlock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Foresight {
    /// How well it was foreseen.
    pub how: Foreseen,
    /// The cycle, with the classes and entries that make it possible according to the prover; not necessarily the
    /// shortest.
    pub cycle: Option<Cycle>,
}

/// How well a deadlock was foreseen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Foreseen {
    /// The refusal names this cycle, lane by lane.
    Named,
    /// The refusal names this cycle through the same ports, but on other lanes.
    NamedOnOtherLanes,
    /// The refusal names another fault; all dependencies of this cycle are among those found possible.
    Possible,
    /// The refusal names another fault, at which the prover stopped.
    NotReached,
    /// All of it is on the reserved level, of which the plan claims nothing.
    Unclaimed,
    /// The prover held it impossible: an error of the prover or of the simulator.
    Unforeseen,
}

/// One packet of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct StuckReport {
    /// `switch[port]` whose buffer holds the packet.
    pub input: String,
    /// Lane of that buffer.
    pub input_vl: u8,
    /// `switch[port]` that it waits for.
    pub output: String,
    /// Lane that it waits for.
    pub output_vl: u8,
    /// Destination LID.
    pub dlid: u16,
    /// Service level.
    pub sl: u8,
    /// When it was sent.
    pub born_ns: u64,
}

/// Whether a subnet did not take the load that was offered: applications waited for room in their send queues, as they
/// do while a long message is sent, and less was delivered. Shares as in [`SimulationReport`].
pub fn is_saturated(held_back: f64, throughput: f64, load: f64) -> bool {
    held_back > 0.05 && throughput < 0.95 * load
}

impl SimulationReport {
    /// Whether the run is a success: completed, nothing lost to the change, and several subnets proved as a whole.
    pub fn is_clean(&self) -> bool {
        let proved = self.proof.whole.as_ref().is_none_or(|whole| whole.statistics.is_some());
        self.outcome == Ending::Completed && self.packets.lost_to_change == 0 && proved
    }

    /// The end ports that the changes cut off, subnet by subnet.
    pub fn cut_off(&self) -> Vec<&CutOffPort> {
        self.changes.iter().flat_map(|change| &change.cut_off).collect()
    }

    /// The first end port that a planned change cuts off without permission.
    pub fn strands(&self) -> Option<&CutOffPort> {
        let asked = self.departure == Departure::Planned.name() && !self.settings.cut_off_meant;
        self.cut_off().into_iter().next().filter(|_| asked)
    }

    /// Whether the answer to the change is yes: the run is a success, and no port is cut off without permission. A
    /// sudden loss cuts off by itself, which is no fault of the change.
    pub fn is_yes(&self) -> bool {
        self.is_clean() && self.strands().is_none()
    }

    /// Whether sources sent anything that could be lost.
    pub fn has_traffic(&self) -> bool {
        self.packets.injected > 0
    }

    /// Whether sources were to send, and none had come to it when the run ended.
    pub fn is_silent(&self) -> bool {
        let is_asked = match self.settings.traffic {
            TrafficReport::Trace { packets } => packets > 0,
            _ => self.settings.load > 0.0,
        };
        is_asked && !self.has_traffic()
    }

    /// Which periods took any time. A deadlock ends the run: what passes until it is noticed is no period in which
    /// nothing arrived.
    pub fn periods_had(&self) -> Periods<bool> {
        let (marks, through) = (self.series.marks, self.throughput);
        let end_ns = marks.stop_ns.or_else(|| self.series.bins.last().map(|bin| bin.end_ns)).unwrap_or_default();
        let is_over = self.outcome == Ending::Deadlocked && through.after == 0.0;
        Periods {
            before: marks.during_ns.is_none_or(|ns| ns > marks.before_ns),
            during: marks.during_ns.is_some(),
            after: marks.after_ns.is_some_and(|ns| ns < end_ns) && !is_over,
        }
    }

    /// Whether a manager acted, so that something changed.
    pub fn has_change(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The change, if exactly one subnet changes.
    pub fn only_change(&self) -> Option<&SubnetChange> {
        if let [only] = &self.changes[..] { Some(only) } else { None }
    }

    /// From the first event to the new routing in force in every subnet; none if no change could be made.
    pub fn change_ns(&self) -> Option<u64> {
        self.changes.iter().filter_map(|change| change.change_ns).max()
    }

    /// SMPs of all managers together.
    pub fn smps(&self) -> SmpReport {
        let mut all = SmpReport::default();
        for own in self.changes.iter().map(|change| &change.smps) {
            all.total += own.total;
            own.by_attribute
                .iter()
                .for_each(|(name, count)| *all.by_attribute.entry(name.clone()).or_default() += count);
        }
        all
    }
}

impl SubnetChange {
    /// The sweep, if there was one, and the phases.
    pub fn sweep_and_phases(&self) -> impl Iterator<Item = &PhaseReport> {
        self.sweep.iter().chain(&self.phases)
    }
}

pub(super) fn hexadecimal<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{hash:016x}"))
}
