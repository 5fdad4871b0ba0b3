//! Settings of a simulated run: hardware, management, traffic, faults. Every field has the default that the command
//! line shows; [`SimConfig::check`] refuses values out of range.

use super::dispersal::Dispersal;
use super::mad::{Mad, MadBody};
use crate::ids::{ReservedLevel, Sl};
use crate::wire::AttributeId;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// When a switch chooses output port and lane for a packet (docs/GLOSSARY.md, *latch*).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Latch {
    /// On arrival, however long the packet then waits: the hardest case.
    #[default]
    Arrival,
    /// On reaching the head of its queue.
    Head,
    /// Anew at every attempt, until it is granted.
    Grant,
}

/// What an ARMED port does with data (docs/PROTOCOL.md, *arming*).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArmedPort {
    /// Holds it until the port is ACTIVE: the model of the Double Scheme's authors.
    #[default]
    Holds,
    /// Discards what is queued for sending, as the specification says.
    Discards,
}

/// Hosts that ask switches for their counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Monitor {
    /// The service level of the questions.
    pub sl: Sl,
    /// From one question of a host to its next, in nanoseconds.
    pub every_ns: u64,
}

/// The traffic pattern: which end port sends to which.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// Every destination alike.
    #[default]
    Uniform,
    /// One destination each, a seeded permutation without fixed points.
    Permutation,
    /// One destination each, as given: destination rank by source rank. A source that is its own destination, or
    /// beyond the end of the list, sends nothing.
    Pairs(Vec<u32>),
    /// A share of the packets to one destination, the rest uniform.
    HotSpot {
        /// Rank of the destination among the end ports.
        destination: u32,
        /// Share of the packets, 0 to 1.
        share: f64,
    },
    /// The packets of a trace: (time in ns, source rank, destination rank, bytes), in order of time.
    Trace(Vec<(u64, u32, u32, u16)>),
}

/// How the messages of a source follow each other.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalProcess {
    /// After exponential times.
    #[default]
    Poisson,
    /// In bursts at the rate of the link, with silences between them: the number of messages of a burst is geometric.
    /// The length of a silence is exponentially distributed; its mean gives the configured load. Within a burst a
    /// message begins when the link would be done with the one before; with a mix, after the mean time of a message.
    OnOff {
        /// The mean number of messages of a burst, 1 at least.
        burst: f64,
    },
}

/// One size among the messages of a mix.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MessageShare {
    /// Bytes of the message, headers included. It travels in packets of [`SimConfig::packet_bytes`], and the last one
    /// takes the rest, 64 bytes at least.
    pub bytes: u32,
    /// The relative weight of this size.
    pub share: f64,
}

impl MessageShare {
    /// Its packets, where a packet has so many bytes; and the bytes of the last one.
    pub(super) fn packets(self, packet_bytes: u16) -> (u16, u16) {
        let packets = self.bytes.div_ceil(packet_bytes.into()).max(1);
        let rest = self.bytes - (packets - 1) * u32::from(packet_bytes);
        (packets as u16, rest.max(SHORTEST_PACKET.into()) as u16)
    }

    /// Bytes that it has on the wire.
    fn on_the_wire(self, packet_bytes: u16) -> f64 {
        let (packets, last) = self.packets(packet_bytes);
        f64::from(packets - 1) * f64::from(packet_bytes) + f64::from(last)
    }
}

/// The time in which a subnet management agent serves one attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttributeTime {
    /// The attribute's number (IBA table 126).
    pub attribute: u16,
    /// The time, in nanoseconds.
    pub service_ns: u64,
}

/// Hardware, management, traffic and faults of a run. Its yes-or-no settings stay `bool`s: each is chosen by itself,
/// and every combination makes sense.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SimConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// Data VLs in operation, 1 to 15; no port may support fewer.
    pub data_vls: u8,
    /// Input buffer of one lane, in credits of 64 bytes.
    pub buffer_credits: u16,
    /// From the arrival of a packet's head to its request for an output, in nanoseconds.
    pub routing_delay_ns: u32,
    /// Flight time of a link, in nanoseconds.
    pub link_delay_ns: u32,
    /// Consecutive credits that one lane may send before another has its turn (VL arbitration, all weights equal).
    pub vl_weight: u16,
    /// When a switch chooses.
    pub latch: Latch,
    /// What an ARMED port does.
    pub armed: ArmedPort,
    /// Head-of-queue lifetime limit in nanoseconds; 0: off.
    pub hoq_lifetime_ns: u64,
    /// Switch lifetime limit in nanoseconds; 0: off.
    pub switch_lifetime_ns: u64,
    /// Packets of one lane that the head-of-queue limit discards in a row until the lane stalls
    /// (PortInfo:VLStallCount): it then discards all it gets for eight times that limit (IBA 18.2.5.4). 0: never. At
    /// first the ports' own value, where limits are as programmed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vl_stall_count: u8,
    /// Lifetime limits are what each port's HOQLife and each switch's LifeTimeValue say at that moment, and begin as
    /// the two limits above.
    pub limits_as_programmed: bool,
    /// Bytes of a data packet, headers included.
    pub packet_bytes: u16,
    /// Offered load as a fraction of the end port's data rate.
    pub load: f64,
    /// The traffic pattern.
    pub traffic: Traffic,
    /// Share of the packets that are requests: each is answered by a packet of its size, on the half it came by.
    pub replies: f64,
    /// Packets that an end port may have waiting; beyond that its application waits.
    pub send_queue: u16,
    /// Time in which an SMA serves one MAD, in nanoseconds.
    pub sma_service_ns: u64,
    /// Attributes that an SMA serves in another time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sma_times: Vec<AttributeTime>,
    /// Time that an SMP takes on its way into each device, besides its links, in nanoseconds.
    pub smi_forward_ns: u64,
    /// Time in which the processor of a switch hands a directed-route SMP on, in nanoseconds, besides
    /// [`SimConfig::smi_forward_ns`]: it does one thing at a time, and serves as SMA, too. 0: the switch's hardware
    /// hands SMPs on, any number at once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub smi_processor_ns: u64,
    /// SMPs that came in by one port and may wait for the device's processor (the VL 15 buffer); the next is dropped
    /// (PortCounters:VL15Dropped). 0: any number.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vl15_buffer: u16,
    /// Probability that a MAD is lost between two end points.
    pub smp_loss: f64,
    /// Probability that a MAD is duplicated; the copy arrives late.
    pub smp_duplicate: f64,
    /// Most additional delay of a MAD, uniform from 0, in nanoseconds.
    pub smp_delay_ns: u64,
    /// Whether end ports move to another half when they are assigned one.
    pub sources_move: bool,
    /// The longest time in which an end port follows when it is asked to register again (PortInfo:ClientReregister): it
    /// then sends on the half that its MasterSMSL names, as if it had queried subnet administration. Uniform from 0; 0:
    /// code outside the simulator queries.
    #[serde(default)]
    pub queries_within_ns: u64,
    /// Whether a switch discards a packet that is to leave by the port it came in by, as InfiniBand switches do
    /// (PortRcvSwitchRelayErrors, *looping*). Otherwise it turns back, which is harder on a routing.
    #[serde(default = "as_switches_do")]
    pub discards_turned_back: bool,
    /// How sources use the paths of their half.
    #[serde(default)]
    pub dispersal: Dispersal,
    /// Whether sources use all LIDs of a destination, on the service levels of the lower half: the fabric is never to
    /// change, so no half is spare.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undivided: bool,
    /// Packets of a message, 1 at least. They are handed to the send queue back to back, as far as there is room;
    /// messages come as much more rarely as they are longer. Each packet of a trace is a message by itself.
    #[serde(default = "one_packet")]
    pub message_packets: u16,
    /// How messages follow each other.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arrivals: ArrivalProcess,
    /// The sizes of messages, where they differ; then [`SimConfig::message_packets`] means nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message_mix: Vec<MessageShare>,
    /// The service level that hosts count to neither half, and its lane, which no barrier speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ReservedLevel>,
    /// Hosts that ask switches for their counters; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Monitor>,
    /// Whether packets are counted that arrive after one of their flow that was sent later
    /// ([`Period::order`](super::Period::order)).
    #[serde(default)]
    pub count_order: bool,
    /// Whether a port that is ACTIVE refuses other lanes or another MTU, of which the specification leaves open what
    /// follows (section 14.2.5.6).
    #[serde(default)]
    pub fixed_links: bool,
    /// Whether devices send no traps: their manager has to poll.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_traps: bool,
}

impl Default for SimConfig {
    fn default() -> SimConfig {
        SimConfig {
            seed: 1,
            data_vls: 4,
            buffer_credits: 128,
            routing_delay_ns: 100,
            link_delay_ns: 10,
            vl_weight: 64,
            latch: Latch::default(),
            armed: ArmedPort::default(),
            hoq_lifetime_ns: 0,
            switch_lifetime_ns: 0,
            vl_stall_count: 0,
            limits_as_programmed: false,
            packet_bytes: 1024,
            load: 0.3,
            traffic: Traffic::default(),
            replies: 0.0,
            send_queue: 16,
            sma_service_ns: 18_600,
            sma_times: Vec::new(),
            smi_forward_ns: 100,
            smi_processor_ns: 0,
            vl15_buffer: 0,
            smp_loss: 0.0,
            smp_duplicate: 0.0,
            smp_delay_ns: 0,
            sources_move: true,
            queries_within_ns: 0,
            discards_turned_back: true,
            dispersal: Dispersal::default(),
            undivided: false,
            message_packets: one_packet(),
            arrivals: ArrivalProcess::Poisson,
            message_mix: Vec::new(),
            reserved: None,
            monitor: None,
            count_order: false,
            fixed_links: false,
            without_traps: false,
        }
    }
}

/// The most that flight time and routing delay of one hop may take together, in nanoseconds.
const LONGEST_HOP_NS: u64 = 100_000_000;

/// The fewest bytes of a packet.
const SHORTEST_PACKET: u16 = 64;

/// The bytes that a packet may have, headers included.
pub const PACKET_LENGTHS: RangeInclusive<u16> = SHORTEST_PACKET..=4200;

// Settings that are off by default are left out of what is written, so that what was written before stays as it is.

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one_packet() -> u16 {
    1
}

fn as_switches_do() -> bool {
    true
}

/// Why a fabric cannot be simulated as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimError {
    /// A setting outside its range.
    #[error("{setting} is {value}: expected {expected}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A cabled port with fewer lanes than are to be in operation.
    #[error("{port} supports {has} data VLs, and the run asks for {asked}: choose at most {has}")]
    TooFewLanes {
        /// The port.
        port: String,
        /// Lanes it has.
        has: u8,
        /// Lanes asked for.
        asked: u8,
    },
    /// The port that the subnet manager runs on is none.
    #[error("{0} cannot carry the subnet manager: it is no cabled end port")]
    NoManager(String),
    /// A port that no client can be attached to.
    #[error("no client can send and receive at {0}: choose a port of a CA or router, or port 0 of a switch")]
    NoClient(String),
    /// A connection that nobody can set up.
    #[error(
        "{0} cannot be a side of this connection: name two different end ports of hosts, each cabled and with a LID"
    )]
    NoConnection(String),
    /// Traffic of an end port that does not exist.
    #[error("the traffic names the end port of rank {rank}: the fabric's end ports have ranks 0 to {last}")]
    NoSuchRank {
        /// The rank named.
        rank: u32,
        /// The highest there is.
        last: usize,
    },
    /// Nobody to send to.
    #[error("the fabric has {0} end ports that own a LID: traffic needs two")]
    NobodyThere(usize),
}

impl SimConfig {
    /// Mean bytes on the wire of a message of the mix, which has one size at least.
    pub(super) fn mean_message_bytes(&self) -> f64 {
        self.mean_in_mix(|size| size.on_the_wire(self.packet_bytes))
    }

    /// Mean bytes of a packet, headers included.
    pub(crate) fn mean_packet_bytes(&self) -> f64 {
        if self.message_mix.is_empty() {
            return f64::from(self.packet_bytes);
        }
        self.mean_message_bytes() / self.mean_in_mix(|size| f64::from(size.packets(self.packet_bytes).0))
    }

    fn mean_in_mix(&self, of: impl Fn(MessageShare) -> f64) -> f64 {
        let shares: f64 = self.message_mix.iter().map(|size| size.share).sum();
        self.message_mix.iter().map(|&size| size.share * of(size)).sum::<f64>() / shares
    }

    /// Whether a message may have several packets.
    #[inline]
    pub(super) fn sends_messages(&self) -> bool {
        self.message_packets > 1 || !self.message_mix.is_empty()
    }

    /// The time in which an SMA serves an attribute, in nanoseconds.
    fn service_ns(&self, attribute: AttributeId) -> u64 {
        let own = self.sma_times.iter().find(|time| AttributeId::from(time.attribute) == attribute);
        own.map_or(self.sma_service_ns, |time| time.service_ns)
    }

    /// The time in which an agent serves a MAD, in nanoseconds.
    pub(super) fn service_of(&self, mad: &Mad) -> u64 {
        match &mad.body {
            MadBody::Smp(smp) => self.service_ns(smp.attribute),
            MadBody::General(_) => self.sma_service_ns,
        }
    }

    /// The longest time in which an SMA serves one MAD, in nanoseconds.
    pub(crate) fn longest_service_ns(&self) -> u64 {
        self.sma_times.iter().map(|time| time.service_ns).fold(self.sma_service_ns, u64::max)
    }

    /// Refuses settings outside their range.
    ///
    /// # Errors
    /// The first setting outside its range.
    pub fn check(&self) -> Result<(), SimError> {
        let unit = |x: f64| (0.0..=1.0).contains(&x);
        let refuse = |setting, value: String, expected| Err(SimError::Setting { setting, value, expected });
        if !(1..=15).contains(&self.data_vls) {
            return refuse("data VLs", self.data_vls.to_string(), "1 to 15");
        }
        if !unit(self.load) {
            return refuse("load", self.load.to_string(), "0 to 1, a fraction of the end port's data rate");
        }
        let traced = match &self.traffic {
            Traffic::Trace(entries) => &entries[..],
            _ => &[],
        };
        let lengths = || std::iter::once(self.packet_bytes).chain(traced.iter().map(|entry| entry.3));
        if let Some(other) = lengths().find(|bytes| !PACKET_LENGTHS.contains(bytes)) {
            return refuse("packet length", other.to_string(), "64 to 4200 bytes, headers included");
        }
        if u64::from(self.link_delay_ns) + u64::from(self.routing_delay_ns) > LONGEST_HOP_NS {
            let value = format!("{} and {} ns", self.link_delay_ns, self.routing_delay_ns);
            return refuse("flight time and routing delay", value, "0.1 s at most, both together");
        }
        // A packet that no buffer has room for would keep its queue for ever.
        let room = u32::from(self.buffer_credits) * 64;
        if lengths().any(|bytes| u32::from(bytes) > room) {
            return refuse("input buffer", format!("{} credits", self.buffer_credits), "room for one packet at least");
        }
        if self.send_queue == 0 || self.vl_weight == 0 {
            return refuse("send queue or VL weight", "0".into(), "1 at least");
        }
        if self.monitor.is_some_and(|monitor| monitor.every_ns == 0) {
            return refuse("time between two questions of a monitor", "0 ns".into(), "1 ns at least");
        }
        if self.message_packets == 0 || self.dispersal.paths == Some(0) {
            return refuse("packets of a message, or paths", "0".into(), "1 at least");
        }
        if let ArrivalProcess::OnOff { burst } = self.arrivals
            && !(burst >= 1.0 && burst.is_finite())
        {
            return refuse("messages of a burst", burst.to_string(), "1 at least, on average");
        }
        for size in &self.message_mix {
            if size.bytes == 0 || size.bytes.div_ceil(self.packet_bytes.into()) > u16::MAX.into() {
                return refuse("message of a mix", format!("{} bytes", size.bytes), "1 to 65535 packets");
            }
            if !(size.share > 0.0 && size.share.is_finite()) {
                return refuse("share of a message in the mix", size.share.to_string(), "a number above 0");
            }
        }
        if self.message_packets > 1 && !self.message_mix.is_empty() {
            let value = self.message_packets.to_string();
            return refuse("packets of a message", value, "1, where a mix says how long messages are");
        }
        if self.vl_stall_count > 7 {
            return refuse("VLStallCount", self.vl_stall_count.to_string(), "0 to 7, three bits");
        }
        if self.vl_stall_count > 0 && self.hoq_lifetime_ns == 0 && !self.limits_as_programmed {
            let expected = "0 where no head-of-queue limit applies: a lane stalls for what that limit discards";
            return refuse("VLStallCount", self.vl_stall_count.to_string(), expected);
        }
        let shares = [("replies", self.replies), ("SMP loss", self.smp_loss), ("SMP duplicates", self.smp_duplicate)];
        match shares.into_iter().find(|&(_, share)| !unit(share)) {
            Some((setting, share)) => refuse(setting, share.to_string(), "0 to 1"),
            None => Ok(()),
        }
    }
}
