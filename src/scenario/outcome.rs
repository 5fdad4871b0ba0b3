//! What a simulated change came to: one value, for people (the command's screens) and for programs (JSON, schema
//! `reconfig.simulation/1`). Times are nanoseconds of simulated time unless a name has another unit.

use super::adversary::schedule::Schedule;
use crate::fabric::Fabric;
use crate::ids::{GidPrefix, Guid};
use crate::plan::Scheme;
use crate::routers::{LevelsRule, PartEnforce};
use crate::sim::{Dispersal, OrderCounts, PacketCounts, Traffic};
use crate::verify::across::{AcrossRefusal, AcrossStatistics};
use crate::verify::{Cycle, Refusal, Witness};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The name and version of the JSON object.
pub const SCHEMA: &str = "reconfig.simulation/1";

/// How the change ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Every wave and barrier was passed.
    Completed,
    /// Packets wait for each other in a circle.
    Deadlocked,
    /// The change was called off, stands still, or could not begin.
    Aborted,
    /// The adversary did not reach the deadlock that it drove at.
    NotReached,
}

/// One simulated change, of one subnet or among several. Fields at the top are of the run as a whole; what is of one change
/// (`change`, `sweep`, `phases`, `change_ns`, `smps`) stands there, too, where exactly one subnet changes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SimulationReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// How it ended.
    pub outcome: Ending,
    /// Why it ended so, where it did not complete.
    pub reason: Option<String>,
    /// What changed, in words.
    pub what: String,
    /// `sudden`, `planned`, `arrival`, or `none` where nothing changes.
    pub departure: &'static str,
    /// The scheme.
    pub scheme: Scheme,
    /// The engine of the routing before.
    pub engine: String,
    /// The engine of the routing after, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_after: Option<String>,
    /// The seed.
    pub seed: u64,
    /// Digest of every event.
    #[serde(serialize_with = "hexadecimal")]
    pub trace_hash: u64,
    /// The fabric before, all subnets together.
    pub fabric: FabricSize,
    /// The subnets.
    pub subnets: Vec<SubnetReport>,
    /// The routers between them.
    pub routers: Vec<RouterReport>,
    /// The changes, one in each subnet whose manager acted.
    pub changes: Vec<SubnetChange>,
    /// What changed.
    pub change: ChangeReport,
    /// What the run was set to.
    pub settings: Settings,
    /// The sweep that found what had changed, where there was one.
    pub sweep: Option<PhaseReport>,
    /// The phases, in order.
    pub phases: Vec<PhaseReport>,
    /// From the first event to the routing function R′ in force everywhere.
    pub change_ns: Option<u64>,
    /// What became of every packet.
    pub packets: PacketCounts,
    /// Of those lost to the change: delivered to a port that does not own the DLID.
    pub misdelivered: u64,
    /// Of those lost to the change or stranded: discarded by routers, by reason.
    pub relay_discards: BTreeMap<&'static str, u64>,
    /// Packets through switches.
    pub packet_hops: u64,
    /// Packets by the subnets at their ends, where there are several.
    pub relations: Vec<RelationReport>,
    /// The cycle of waiting packets, where there was one.
    pub deadlock: Option<Vec<StuckReport>>,
    /// When it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlock_ns: Option<u64>,
    /// What the prover had made of that cycle beforehand, where one subnet is alone.
    pub foresight: Option<Foresight>,
    /// Deadlocks that lifetime limits broke by discarding.
    pub deadlocks_broken: u64,
    /// Packets that lifetime limits discarded.
    pub lifetime_discards: u64,
    /// From send queue to delivery, by period of delivery.
    pub latency_ns: Periods<Latency>,
    /// Bytes delivered, as a fraction of what all end ports could take.
    pub throughput: Periods<f64>,
    /// What came after something of its flow that was sent later, where that was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Periods<OrderCounts>>,
    /// What links between switches carried, where that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Periods<LinkLoads>>,
    /// The longest time without a single delivery during the change.
    pub longest_gap_ns: u64,
    /// Datagrams that the subnet manager sent and received.
    pub smps: SmpReport,
    /// Who worked against the change, where somebody did.
    pub adversary: Option<AdversaryReport>,
    /// What was proved before the first write.
    pub proof: ProofReport,
    /// What must hold that nobody can see from the subnet manager.
    pub assumptions: Vec<String>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
}

/// Sizes of a fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct FabricSize {
    /// Switches.
    pub switches: usize,
    /// Channel adapters and routers.
    pub cas: usize,
    /// Cables.
    pub links: usize,
}

impl FabricSize {
    /// The size of what is present in `fabric`.
    pub fn of(fabric: &Fabric) -> FabricSize {
        let present = || fabric.nodes().filter(|(_, node)| node.present);
        FabricSize {
            switches: present().filter(|(_, node)| node.is_switch()).count(),
            cas: present().filter(|(_, node)| !node.is_switch()).count(),
            links: fabric.links().count(),
        }
    }
}

/// What changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ChangeReport {
    /// In words: which element leaves or comes.
    pub what: String,
    /// `sudden`, `planned`, `arrival`, or `none` where nothing changes.
    pub departure: &'static str,
    /// Root of R.
    pub root_before: Option<String>,
    /// Root of R′.
    pub root_after: Option<String>,
    /// End ports that the change cuts off.
    pub stranded: Vec<String>,
}

/// What the run was set to.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Settings {
    /// Offered load, a fraction of each end port's rate.
    pub load: f64,
    /// Bytes of a packet.
    pub packet_bytes: u16,
    /// Who sends to whom.
    pub traffic: TrafficReport,
    /// How sources use their paths, where it is not one path for each destination and one packet a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourceReport>,
    /// Data VLs.
    pub data_vls: u8,
    /// LID mask control, the most of all subnets.
    pub lmc: u8,
    /// When switches choose.
    pub latch: crate::sim::Latch,
    /// Arming policy.
    pub arming: String,
    /// Drain observer.
    pub drain: String,
    /// The manager's node; those of several subnets are theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm: Option<String>,
    /// What lies between subnets, where something does.
    #[serde(flatten)]
    pub between: Option<BetweenSettings>,
}

/// What is set between subnets.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BetweenSettings {
    /// Of the load: the share for other subnets.
    pub cross: f64,
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
pub struct SubnetChange {
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

/// One phase.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PhaseReport {
    /// `split`, `install`, `swap`, `drain`, `restore`; other schemes have others.
    pub name: String,
    /// When it began.
    pub start_ns: u64,
    /// When its barriers were passed.
    pub end_ns: u64,
    /// Datagrams exchanged in it.
    pub smps: u64,
}

/// A value for each period of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Periods<T> {
    /// Under R alone.
    pub before: T,
    /// From the failure or the first write to the end of the change.
    pub during: T,
    /// Under R′ alone.
    pub after: T,
}

/// Quantiles of latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Latency {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

/// Who sends to whom: the pattern, and of what was given in a file how much.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(tag = "pattern", rename_all = "kebab-case")]
pub enum TrafficReport {
    /// Everybody to everybody alike.
    Uniform,
    /// A permutation drawn by the seed.
    Permutation,
    /// A permutation as given.
    Pairs {
        /// End ports that send.
        senders: usize,
    },
    /// The permutation that the routing before serves worst.
    Worst {
        /// End ports that send.
        senders: usize,
    },
    /// A share to one end port, the rest uniform.
    HotSpot {
        /// Rank of that end port.
        destination: u32,
        /// The share.
        share: f64,
    },
    /// The packets of a trace.
    Trace {
        /// How many.
        packets: usize,
    },
}

impl TrafficReport {
    /// What a run's traffic is; its pairs do not show whether they are the worst.
    pub(super) fn of(traffic: &Traffic, worst: bool) -> TrafficReport {
        match traffic {
            Traffic::Uniform => TrafficReport::Uniform,
            Traffic::Permutation => TrafficReport::Permutation,
            Traffic::Pairs(pairs) => {
                let senders = pairs.iter().enumerate().filter(|&(rank, &partner)| rank != partner as usize).count();
                if worst { TrafficReport::Worst { senders } } else { TrafficReport::Pairs { senders } }
            }
            &Traffic::HotSpot { destination, share } => TrafficReport::HotSpot { destination, share },
            Traffic::Trace(entries) => TrafficReport::Trace { packets: entries.len() },
        }
    }
}

/// How sources use their paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SourceReport {
    /// Which pairs of LIDs, how many, and what takes a turn.
    #[serde(flatten)]
    pub dispersal: Dispersal,
    /// Packets of a message.
    pub message_packets: u16,
}

/// What the channels between switches carried in a period, as fractions of what they can.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct LinkLoads {
    /// The mean over all of them.
    pub mean: f64,
    /// The busiest.
    pub most: f64,
    /// The busiest, in falling order.
    pub busiest: Vec<BusyLink>,
}

/// A channel between switches.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BusyLink {
    /// `switch[port]` that sends.
    pub from: String,
    /// `switch[port]` that receives.
    pub to: String,
    /// Bytes of data sent.
    pub bytes: u64,
    /// The fraction of what it can carry.
    pub load: f64,
}

/// Datagrams by attribute.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SmpReport {
    /// By `Method(Attribute)`.
    pub by_attribute: BTreeMap<String, u64>,
    /// All of them.
    pub total: u64,
}

/// What was proved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProofReport {
    /// `proved` or `refused`.
    pub status: &'static str,
    /// Waves examined.
    pub waves: usize,
    /// Channels with lanes that can be occupied.
    pub channels: usize,
    /// Dependencies between lanes over all waves.
    pub dependencies: usize,
    /// The refusal in words, where the plan is not safe.
    pub refusal: Option<String>,
    /// The cycle that the refusal names, where it names one.
    pub cycle: Option<Cycle>,
    /// By dependency of that cycle, the way of a packet that causes it.
    pub witnesses: Vec<Witness>,
    /// The refusal itself.
    #[serde(skip)]
    pub evidence: Option<Refusal>,
    /// Proof of several subnets as a whole; the status and the refusal in words are of that, then, and the numbers above are
    /// sums over the changes.
    #[serde(flatten)]
    pub whole: Option<WholeProof>,
}

/// Proof of several subnets as a whole, at every moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WholeProof {
    /// What it covers, where there is one.
    pub statistics: Option<AcrossStatistics>,
    /// The refusal with its evidence.
    pub evidence: Option<AcrossRefusal>,
}

/// What the adversary did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AdversaryReport {
    /// `steered`: it drove at the cycle that the refusal names; `generic`: random delays, saturated traffic.
    pub kind: &'static str,
    /// Whether the deadlock closed that it drove at.
    pub reached: Option<bool>,
    /// Why not.
    pub why: Option<String>,
    /// What it did when.
    pub schedule: Option<Schedule>,
}

/// What the prover had made of a deadlock beforehand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Foresight {
    /// How well it was foreseen.
    pub how: Foreseen,
    /// The cycle with the classes and entries by which the prover holds it possible; the shortest is not looked for.
    pub cycle: Option<Cycle>,
}

/// How well a deadlock was foreseen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Foreseen {
    /// The refusal names this cycle, lane by lane.
    Named,
    /// The refusal names this cycle through the same ports, on other lanes.
    NamedOnOtherLanes,
    /// The refusal names something else; all dependencies of this cycle are among those found possible.
    Possible,
    /// The refusal names another fault, at which the prover stopped.
    NotReached,
    /// It was held impossible: a fault of the prover or of the simulator.
    Unforeseen,
}

/// One packet of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StuckReport {
    /// `switch[port]` in whose buffer it stands.
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

impl SimulationReport {
    /// Whether the answer is yes: completed, nothing lost to the change, and several subnets proved as a whole.
    pub fn is_clean(&self) -> bool {
        let proved = self.proof.whole.as_ref().is_none_or(|whole| whole.statistics.is_some());
        self.outcome == Ending::Completed && self.packets.lost_to_change == 0 && proved
    }

    /// Whether a manager acted, and so something changed.
    pub fn has_change(&self) -> bool {
        !self.changes.is_empty()
    }
}

pub(super) fn hexadecimal<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{hash:016x}"))
}
