//! Settings of a simulated run: hardware, management, traffic, faults. Every field has the default that the command
//! line shows; [`SimConfig::check`] refuses values out of range.

use super::dispersal::Dispersal;
use super::monitor::Monitor;
use crate::ids::ReservedLevel;
use serde::{Deserialize, Serialize};

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

/// Hardware, management, traffic and faults of a run. Its yes-or-no settings stay `bool`s: each is chosen by itself, and
/// every combination makes sense.
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
    /// Time in which a switch hands a directed-route SMP on, in nanoseconds.
    pub smi_forward_ns: u64,
    /// Probability that a MAD is lost between two end points.
    pub smp_loss: f64,
    /// Probability that a MAD is delivered a second time, late.
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
    /// Whether a port that is ACTIVE refuses other lanes or another MTU, of which the specification leaves open what follows
    /// (section 14.2.5.6).
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
            limits_as_programmed: false,
            packet_bytes: 1024,
            load: 0.3,
            traffic: Traffic::default(),
            replies: 0.0,
            send_queue: 16,
            sma_service_ns: 18_600,
            smi_forward_ns: 100,
            smp_loss: 0.0,
            smp_duplicate: 0.0,
            smp_delay_ns: 0,
            sources_move: true,
            queries_within_ns: 0,
            discards_turned_back: true,
            dispersal: Dispersal::default(),
            undivided: false,
            message_packets: one_packet(),
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
        if !(64..=4200).contains(&self.packet_bytes) {
            return refuse("packet length", self.packet_bytes.to_string(), "64 to 4200 bytes, headers included");
        }
        if u64::from(self.link_delay_ns) + u64::from(self.routing_delay_ns) > LONGEST_HOP_NS {
            let value = format!("{} and {} ns", self.link_delay_ns, self.routing_delay_ns);
            return refuse("flight time and routing delay", value, "0.1 s at most, both together");
        }
        if u32::from(self.buffer_credits) * 64 < u32::from(self.packet_bytes) {
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
        let shares = [("replies", self.replies), ("SMP loss", self.smp_loss), ("SMP duplicates", self.smp_duplicate)];
        match shares.into_iter().find(|&(_, share)| !unit(share)) {
            Some((setting, share)) => refuse(setting, share.to_string(), "0 to 1"),
            None => Ok(()),
        }
    }
}
