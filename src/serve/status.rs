//! The counts of a server at one moment, as one value: JSON for programs, schema `reconfig.serve/1`.
//!
//! Times are nanoseconds of simulated time unless a name says otherwise.

use super::pacer::Times;
use super::path_requests::PathCounts;
use super::switchboard::Switchboard;
use crate::sim::{PacketCounts, Sim, StuckPacket};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The name and version of the JSON object.
pub const SCHEMA: &str = "reconfig.serve/1";

/// Everything counted.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct ServeStatus {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Simulated time since the start.
    pub simulated_ns: u64,
    /// How it is tied to real time.
    pub times: Times,
    /// Whether sources send.
    pub traffic: bool,
    /// The offered load.
    pub load: f64,
    /// What became of every packet.
    pub packets: PacketCounts,
    /// Of those lost to the change: delivered to a port that does not own the DLID.
    pub misdelivered: u64,
    /// Packets through switches.
    pub packet_hops: u64,
    /// Deadlocks: the first that closed and holds, and those that lifetime limits broke.
    pub deadlocks: u64,
    /// The packets of the first deadlock that nothing broke.
    pub deadlock: Option<Vec<Stuck>>,
    /// Packets that lifetime limits discarded.
    pub lifetime_discards: u64,
    /// Periods of measurement, the present one last.
    pub periods: Vec<PeriodStatus>,
    /// MADs that clients sent, by what they ask for.
    pub mads: BTreeMap<String, u64>,
    /// All of them.
    pub mads_sent: u64,
    /// Requests that are not answered yet.
    pub open_requests: usize,
    /// Paths that end ports asked the administration for.
    pub paths: PathCounts,
    /// The connected clients.
    pub clients: Vec<ClientStatus>,
    /// Digest of every event.
    #[serde(serialize_with = "hexadecimal")]
    #[schemars(with = "String")]
    pub trace_hash: u64,
}

/// One period of measurement.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct PeriodStatus {
    /// How long it lasted, or has lasted so far.
    pub length_ns: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered, as a fraction of what all end ports could take.
    pub throughput: f64,
    /// The longest time without a single delivery, the time since the last one included.
    pub longest_gap_ns: u64,
    /// Median latency, from send queue to delivery.
    pub latency_p50_ns: u64,
    /// Its 99th percentile.
    pub latency_p99_ns: u64,
    /// Its maximum.
    pub latency_max_ns: u64,
}

/// One client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ClientStatus {
    /// Its ID.
    pub id: u32,
    /// Its process.
    pub process: u32,
    /// Where it is.
    pub port: String,
    /// It is a subnet manager.
    pub is_sm: bool,
}

/// One packet of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Stuck {
    /// The input port in whose buffer it stands.
    pub input: String,
    /// The lane of that buffer.
    pub input_vl: u8,
    /// The output port that it waits for.
    pub output: String,
    /// The lane it waits for there.
    pub output_vl: u8,
    /// Its destination.
    pub dlid: u16,
}

impl ServeStatus {
    /// The counts of a switchboard at this moment.
    pub fn of(board: &Switchboard, times: Times) -> ServeStatus {
        let sim = board.sim();
        let (broken, lifetime_discards) = sim.limits_at_work();
        let stuck = |packets: &[StuckPacket]| packets.iter().map(|packet| Stuck::of(board, packet)).collect();
        ServeStatus {
            schema: SCHEMA,
            simulated_ns: sim.now_ns(),
            times,
            traffic: sim.sources_on(),
            load: sim.load(),
            packets: sim.packets(),
            misdelivered: sim.misdelivered(),
            packet_hops: sim.packet_hops(),
            deadlocks: broken + u64::from(sim.deadlock().is_some()),
            deadlock: sim.deadlock().map(stuck),
            lifetime_discards,
            periods: (0..sim.periods().len()).map(|period| PeriodStatus::of(sim, period)).collect(),
            mads: board.mads().by_attribute(),
            mads_sent: board.mads().total(),
            open_requests: board.open_requests(),
            paths: board.paths(),
            clients: clients(board),
            trace_hash: sim.trace_hash(),
        }
    }
}

impl PeriodStatus {
    fn of(sim: &Sim, period: usize) -> PeriodStatus {
        let (counted, length_ns) = (&sim.periods()[period], sim.period_ns(period));
        let is_open = period + 1 == sim.periods().len();
        let possible = sim.delivery_capacity() * length_ns as f64;
        PeriodStatus {
            length_ns,
            delivered: counted.delivered,
            throughput: if possible > 0.0 { counted.bytes as f64 / possible } else { 0.0 },
            longest_gap_ns: sim.longest_gap_ns(period).max(if is_open { sim.silent_ns() } else { 0 }),
            latency_p50_ns: counted.latency_ns.value_at_quantile(0.5),
            latency_p99_ns: counted.latency_ns.value_at_quantile(0.99),
            latency_max_ns: counted.latency_ns.max(),
        }
    }
}

impl Stuck {
    fn of(board: &Switchboard, packet: &StuckPacket) -> Stuck {
        Stuck {
            input: board.fabric().describe_port(packet.input),
            input_vl: packet.input_vl.get(),
            output: board.fabric().describe_port(packet.output),
            output_vl: packet.output_vl.get(),
            dlid: packet.dlid.0,
        }
    }
}

fn clients(board: &Switchboard) -> Vec<ClientStatus> {
    let clients = board.clients().iter().map(|(id, client)| ClientStatus {
        id,
        process: client.process,
        port: board.fabric().describe_port(client.port),
        is_sm: client.is_sm,
    });
    clients.collect()
}

fn hexadecimal<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{number:016x}"))
}
