//! What a run depends on, as its report names it.

use crate::routers::{LevelsRule, PartEnforce};
use crate::sim::{AttributeTime, Dispersal, MessageShare, Monitor, Traffic};
use crate::subnet::{DeviceProfile, DeviceSettings};
use serde::Serialize;

/// The settings of a run.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Settings {
    /// Offered load, a fraction of each end port's rate.
    pub load: f64,
    /// Bytes in a packet.
    pub packet_bytes: u16,
    /// The traffic pattern.
    pub traffic: TrafficReport,
    /// How sources use their paths, unless it is one path for each destination and one packet in each message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourceReport>,
    /// The seed of engines that make random choices.
    pub engine_seed: u64,
    /// Data VLs.
    pub data_vls: u8,
    /// Whether each half has lanes of its own between changes too.
    pub standing_partition: bool,
    /// The service level that belongs to neither half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_sl: Option<u8>,
    /// The form of SL-to-VL tables that switches accept, if not that of the capture: whether it is the optimised one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimised_sl_to_vl: Option<bool>,
    /// LID mask control, the largest of all subnets.
    pub lmc: u8,
    /// When switches choose output and lane.
    pub latch: crate::sim::Latch,
    /// Arming policy.
    pub arming: String,
    /// Drain observer.
    pub drain: String,
    /// What devices do by themselves.
    pub devices: DeviceReport,
    /// Whether end ports are meant to be cut off.
    pub cut_off_meant: bool,
    /// Length of the warm-up.
    pub warm_up_ns: u64,
    /// Length of the period *before*.
    pub before_ns: u64,
    /// Length of the period *after*.
    pub after_ns: u64,
    /// Packets that an end port may have waiting; beyond that its application waits.
    pub send_queue: u16,
    /// Input buffer of one lane, in credits of 64 bytes.
    pub buffer_credits: u16,
    /// Whether switches send back what should leave by the port that it came in by; else they discard it.
    pub turn_back: bool,
    /// Flight time of a link.
    pub link_delay_ns: u32,
    /// From the arrival of a packet's head at a switch to its request for an output.
    pub routing_delay_ns: u32,
    /// The share of packets that are requests, each answered by a packet.
    pub replies: f64,
    /// Packets that the head-of-queue limit discards in a row until their lane stalls (PortInfo:VLStallCount); 0:
    /// never.
    pub vl_stall_count: u8,
    /// How SMPs are served, and what happens to them.
    pub management: ManagementReport,
    /// Settings between subnets, if there are several.
    #[serde(flatten)]
    pub between: Option<BetweenSettings>,
}

/// How SMPs are served and lost, and how the manager notices and answers a change; times that belong to the devices are
/// in [`DeviceReport`].
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct ManagementReport {
    /// Attributes that a device serves in a time of their own.
    pub smp_times: Vec<AttributeTime>,
    /// Time in which the processor of a switch forwards a directed-route SMP; 0: hardware forwards it.
    pub smi_processor_ns: u64,
    /// SMPs of one port that may wait for a device's processor; 0: any number.
    pub vl15_buffer: u16,
    /// Probability that a MAD is lost.
    pub smp_loss: f64,
    /// Probability that a MAD is duplicated.
    pub smp_duplicates: f64,
    /// The most additional delay of a MAD.
    pub smp_delay_ns: u64,
    /// The pause between two light sweeps, divided by the length of a sweep; none if traps report changes.
    pub sweep_factor: Option<u32>,
    /// Time that the manager takes to compute a routing; none: by scheme and size.
    pub compute_ns: Option<u64>,
    /// With the observer `poll`: the silence after which a device is asked again; none: devices answer at once.
    pub poll_silence_ns: Option<u64>,
    /// Whether sources move to another half when a vendor attribute tells them so.
    pub sources_move: bool,
    /// Hosts that ask switches for their counters, if there are any.
    pub monitor: Option<Monitor>,
}

/// The profile of the devices, and what is in force of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct DeviceReport {
    /// The profile.
    pub profile: DeviceProfile,
    /// The settings in force.
    #[serde(flatten)]
    pub in_force: DeviceSettings,
    /// Those that were given and are not the profile's, by their options.
    pub given: Vec<&'static str>,
}

impl DeviceReport {
    /// The settings in force, beside the profile that the others come from.
    pub fn new(profile: DeviceProfile, in_force: DeviceSettings) -> DeviceReport {
        DeviceReport { profile, in_force, given: in_force.unlike(profile) }
    }
}

/// Settings between subnets.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct BetweenSettings {
    /// The share of the load for other subnets.
    pub cross: f64,
    /// What routers do with service levels.
    pub rule: LevelsRule,
    /// The number of layers into which service levels are divided.
    pub layers: u8,
    /// The hop limit that sources set.
    pub hop_limit: u8,
    /// The direction in which router ports enforce partitions, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_enforce: Option<PartEnforce>,
}

/// The traffic pattern, and the size of what a file specified.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "pattern", rename_all = "kebab-case")]
pub enum TrafficReport {
    /// Every end port sends equally to every other.
    Uniform,
    /// A permutation drawn by the seed.
    Permutation,
    /// A permutation with a name, such as `tornado`.
    Named {
        /// Its name.
        name: &'static str,
        /// The number of sending end ports.
        senders: usize,
    },
    /// A given permutation.
    Pairs {
        /// The number of sending end ports.
        senders: usize,
    },
    /// The permutation that the old routing serves worst.
    Worst {
        /// The number of sending end ports.
        senders: usize,
    },
    /// A share goes to one end port, the rest is uniform.
    HotSpot {
        /// Rank of that end port.
        destination: u32,
        /// The share.
        share: f64,
    },
    /// The packets of a trace.
    Trace {
        /// The number of packets.
        packets: usize,
    },
}

impl TrafficReport {
    /// The report of a traffic pattern; its pairs do not show whether they are the worst, or have a name.
    pub(in crate::scenario) fn of(traffic: &Traffic, worst: bool, name: Option<&'static str>) -> TrafficReport {
        match traffic {
            Traffic::Uniform => TrafficReport::Uniform,
            Traffic::Permutation => TrafficReport::Permutation,
            Traffic::Pairs(pairs) => {
                let senders = pairs.iter().enumerate().filter(|&(rank, &partner)| rank != partner as usize).count();
                match name {
                    _ if worst => TrafficReport::Worst { senders },
                    Some(name) => TrafficReport::Named { name, senders },
                    None => TrafficReport::Pairs { senders },
                }
            }
            &Traffic::HotSpot { destination, share } => TrafficReport::HotSpot { destination, share },
            Traffic::Trace(entries) => TrafficReport::Trace { packets: entries.len() },
        }
    }
}

/// How sources use their paths, and when they send what.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct SourceReport {
    /// The choice of LID pairs, their number, and what advances to the next pair.
    #[serde(flatten)]
    pub dispersal: Dispersal,
    /// Whether all LIDs of an end port are paths, and not one half of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undivided: bool,
    /// Packets in a message.
    pub message_packets: u16,
    /// The sizes of messages, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub message_mix: Vec<MessageShare>,
    /// The mean number of messages of a burst, where they come in bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
}
