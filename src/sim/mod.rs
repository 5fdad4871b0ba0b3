//! The simulated fabric: a deterministic discrete-event model of a subnet at packet level, with its management.
//!
//! On entry a fabric and a [`SimConfig`]; either tables are loaded as found running ([`Sim::new`]), or the subnet is
//! cold, with cables and nothing else ([`Sim::cold`]). Then time is let pass, elements are made to die and to come
//! back, and management enters as the bytes of MADs at any end port ([`Sim::attach`], [`SimTransport`]). It knows MADs,
//! not plans or phases. Same fabric, configuration and calls: the same events, and one [`Sim::trace_hash`].
//!
//! **Modelled**: virtual cut-through with credits of 64 bytes for each lane and input buffer; SL-to-VL by (input,
//! output); linear forwarding; turns among lanes by weight, or by VL arbitration lists, first come first served within
//! one; link rate and delay, routing delay; latching at arrival, head or grant; head-of-queue and switch lifetime
//! limits, lanes that stall; port states; send queues and a path cache at end ports, replies; VL 15 with strict
//! priority, directed and LID routes, SMAs that serve one MAD at a time, VL 15 buffers in front of them, M_Keys;
//! general management packets on data lanes; clients of every class; traps; counters of ports; agents for flush and
//! drain tokens, lane status, per-SL counters; loss, delay and late copies of MADs; death and return of links and
//! switches. **Not modelled**: flits and retransmission, VL 15 buffers in front of clients, congestion control,
//! multicast, partitions (but at routers), crossbar speed, adaptive routing, partial packets when a link dies under
//! them. docs/SIMULATOR.md says what follows from each.

// What a run is made of, and its clock.
mod clock;
mod config;
mod index;
mod spaces;
pub mod wheel;

// The way of a data packet.
mod arbitration;
mod credit;
mod deadlock;
mod fate;
mod forward;
mod lanes;
mod lifetime;
mod look_ahead;
mod out_port;
mod packet;
mod plane;
mod relay;
mod tables;

// Hosts: who sends what to whom.
mod connect;
mod dispersal;
mod monitor;
mod partners;
mod path;
mod sending;
mod source;

// Management agents, and MADs to and from them.
mod agent;
mod client;
mod device;
mod errand;
mod gmp;
mod kept;
mod mad;
mod management;
mod port_info;
mod power_on;
mod sma;
mod time_code;
mod transport;
mod trap;

// What happens to the fabric.
mod fault;

// What is counted and seen.
mod counters;
mod ledger;
mod order;
mod outage;
mod outside;
mod recorded;
mod series;
mod whereabouts;

pub(crate) use config::is_default;
pub use config::{
    ArmedPort, ArrivalProcess, AttributeTime, Latch, MessageShare, Monitor, PACKET_LENGTHS, SimConfig, SimError,
    Traffic,
};
pub use connect::{ConnectionSetup, MOST_RETRIES};
pub use deadlock::StuckPacket;
pub use device::{SickAttribute, Sickness};
pub use dispersal::{Dispersal, MOST_PAIRED, OpenPath, OpenPaths, PathChoice, Spray};
pub use errand::HeldSet;
pub use fate::PacketCounts;
pub use fault::Elements;
pub use gmp::{GMP_BYTES, GmpCounts};
pub use ledger::Period;
pub use monitor::QuestionCounts;
pub use order::{OrderCounts, OvertakenPacket};
pub use outage::{OutageEnd, PairOutage};
pub use recorded::TableWrite;
pub use relay::{Joining, Relation};
pub use series::{Bin, FIRST_BIN_NS, MOST_BINS, Series};
pub use source::Scripted;
pub use transport::SimTransport;
pub use whereabouts::{LanePlace, PacketUnderWay, StandingLane};

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, PortMask, PortNum, Sl, Vl};
use crate::wire::Mtu;
use agent::Agents;
use client::MadClients;
use clock::Clock;
use connect::Connections;
use counters::Counters;
use deadlock::Deadlocks;
use device::Devices;
use errand::Errands;
use gmp::Gmps;
use index::{InLane, OutLane, PacketId};
use ledger::Ledger;
use lifetime::Lifetimes;
use monitor::Questions;
use plane::DataPlane;
use relay::Routers;
use sending::Injector;
use source::Sources;
use spaces::Spaces;
use wheel::TICKS_PER_NS;

/// Kinds of events.
mod kind {
    /// A packet's head, routed, at a switch (packet, in lane).
    pub const ARRIVE: u8 = 0;
    /// A packet's tail at an end port (packet, port).
    pub const DELIVER: u8 = 1;
    /// Credits back that a packet waits for (credits, out lane).
    pub const CREDIT: u8 = 2;
    /// A link is free (port).
    pub const FREE: u8 = 3;
    /// A packet of a source, the trace, the script or the monitor is due (`Injector`).
    pub const INJECT: u8 = 4;
    /// Management (index of the errand).
    pub const ERRAND: u8 = 5;
    /// A lifetime limit (packet, in lane).
    pub const EXPIRE: u8 = 6;
}

/// Bytes that one packet in flight takes in memory.
pub const PACKET_BYTES: usize = size_of::<packet::Packet>() + size_of::<wheel::Ticks>();

/// Why the simulation halted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// The time asked for has come.
    Time,
    /// A MAD waits for a client that is attached somewhere.
    Mad,
    /// A deadlock has closed.
    Deadlock,
}

/// A simulated subnet: parts that hold their own state, and what joins them.
///
/// A method of `Sim` is one of the interface, or carries out what one part's step means to others. What changes one
/// part alone is a method of that part, and gets what it reads of others as arguments. A step of `Sim` may set a single
/// field of a part, or count one up; fields that must move together move by a method of their part.
pub struct Sim {
    config: SimConfig,
    fabric: Fabric,
    /// The time, and what happens next.
    clock: Clock,
    /// Ports, lanes, tables and packets.
    plane: DataPlane,
    /// Lifetime limits.
    lifetimes: Lifetimes,
    /// Deadlocks found, suspected and broken.
    deadlocks: Deadlocks,
    /// End ports that send and receive.
    sources: Sources,
    /// What joins the subnets, where there are several.
    routers: Option<Box<Routers>>,
    /// What became of packets.
    ledger: Ledger,
    /// Counters of ports.
    counters: Counters,
    /// What management agents hold.
    devices: Devices,
    /// Agents for flush and drain tokens.
    agents: Agents,
    /// Management actions that are due later.
    errands: Errands,
    /// Clients that send and receive MADs.
    clients: MadClients,
    /// What the monitor asked.
    questions: Questions,
    /// General management packets on their way.
    gmps: Gmps,
    /// Connections that hosts set up.
    connections: Connections,
    /// Writes of forwarding tables that landed, where they are recorded.
    recorded: Option<Vec<TableWrite>>,
}

/// Refuses settings outside their range, or beyond what this fabric has.
fn check(fabric: &Fabric, config: &SimConfig) -> Result<(), SimError> {
    config.check()?;
    let asked = config.data_vls;
    match fabric.ports().find(|(_, port)| port.peer.is_some() && port.data_vls < asked) {
        Some((id, port)) => Err(SimError::TooFewLanes { port: fabric.describe_port(id), has: port.data_vls, asked }),
        None => Ok(()),
    }
}

impl Sim {
    /// A subnet as found running: LIDs as the fabric says, empty forwarding tables, SL s on VL s mod `data_vls`, every
    /// cabled port ACTIVE, and a subnet manager at `sm_port`.
    ///
    /// # Errors
    /// Settings outside their range, a port with too few lanes, a manager's port that is no end port, no traffic.
    pub fn new(fabric: &Fabric, config: SimConfig, sm_port: PortId) -> Result<Sim, SimError> {
        check(fabric, &config)?;
        if !fabric.end_ports().any(|port| port == sm_port) {
            return Err(SimError::NoManager(fabric.describe_port(sm_port)));
        }
        let spaces = Spaces::one(fabric);
        let sources = Sources::new(fabric, &config, &spaces, false)?;
        let mut sim = Sim::build(fabric.clone(), config, sources, &spaces, false);
        sim.attach(sm_port)?;
        sim.devices.set_manager(sm_port, true);
        Ok(sim)
    }

    /// A subnet that has just been powered on: no port has a LID (those of the fabric are ignored), forwarding tables
    /// are empty, cabled ports are in INITIALIZE. An attached client ([`Sim::attach`]) brings it up by MADs. End ports
    /// send once they are ACTIVE, to those that were (docs/SIMULATOR.md, *A cold subnet*).
    ///
    /// # Errors
    /// Settings outside their range, lanes that PortInfo has no code for, a port with too few, fewer than two end
    /// ports.
    pub fn cold(fabric: &Fabric, config: SimConfig) -> Result<Sim, SimError> {
        check(fabric, &config)?;
        if ![1, 2, 4, 8, 15].contains(&config.data_vls) {
            let (setting, expected) = ("data VLs of a cold subnet", "1, 2, 4, 8 or 15, as ports report them");
            return Err(SimError::Setting { setting, value: config.data_vls.to_string(), expected });
        }
        let bare = fabric.with_lids([]).expect("no LIDs, no clash of LIDs");
        let spaces = Spaces::one(&bare);
        let sources = Sources::new(&bare, &config, &spaces, true)?;
        let mut sim = Sim::build(bare, config, sources, &spaces, true);
        sim.plane.train_links();
        Ok(sim)
    }

    fn build(fabric: Fabric, config: SimConfig, sources: Sources, spaces: &Spaces, cold: bool) -> Sim {
        let plane = DataPlane::new(&fabric, spaces.top(), &config);
        Sim {
            clock: Clock::new(),
            lifetimes: Lifetimes::new(&config, plane.lanes.len()),
            deadlocks: Deadlocks::default(),
            routers: None,
            ledger: Ledger::new(fabric.port_count(), config.count_order),
            counters: Counters::new(fabric.port_count()),
            devices: Devices::new(&fabric, &config, spaces, cold),
            agents: Agents::new(&fabric, plane.lanes.len()),
            errands: Errands::new(config.seed),
            clients: MadClients::default(),
            questions: Questions::default(),
            gmps: Gmps::default(),
            connections: Connections::default(),
            recorded: None,
            config,
            fabric,
            plane,
            sources,
        }
    }

    /// Loads one block of a switch's forwarding table, as found running. Panics beyond the fabric's highest LID.
    pub fn load_lft_block(&mut self, switch: NodeId, block: u16, entries: &[u8; 64]) {
        let held = self.plane.tables.replace_block(switch, block.into(), entries);
        assert!(held.is_some(), "forwarding tables reach as far as the fabric's LIDs");
    }

    /// Loads a node's SL-to-VL table for every input and output, as found running.
    pub fn load_sl_to_vl(&mut self, node: NodeId, lane: impl Fn(Sl) -> Vl) {
        self.plane.tables.set_sl_uniform(node, std::array::from_fn(|sl| lane(Sl::masked(sl as u8)).get()));
    }

    /// Loads the half that every source sends on.
    pub fn load_half(&mut self, half: Half) {
        self.sources.load_half(None, half);
    }

    /// Puts the channel into a port of a switch or router inside a device: from the arrival of a packet's head there to
    /// its request for an output it takes `stage_ns` nanoseconds, whatever the configuration says, and packets that
    /// come in by several ports of the sender take turns on it word by word. The link delay stays. Does nothing at a
    /// port without a cable. Drain tokens are not meant to take such a channel.
    pub fn put_in_chip(&mut self, port: PortId, stage_ns: u32) {
        self.plane.put_in_chip(port, &self.config, stage_ns);
    }

    /// Sets the largest MTU that a port supports (PortInfo:MTUCap); what its link uses stays.
    pub fn set_mtu_cap(&mut self, port: PortId, cap: Mtu) {
        self.devices.ports[port].mtu_cap = cap;
    }

    /// Lets the sources send.
    pub fn start(&mut self) {
        self.sources.sending = true;
        self.start_traffic();
        self.start_monitor();
    }

    /// Stops the sources; packets on their way continue.
    pub fn stop_sources(&mut self) {
        self.sources.sending = false;
    }

    /// Lets time pass until `until_ns`, or until an event that the caller must handle.
    pub fn run(&mut self, until_ns: u64, stop_at_mads: bool) -> Halt {
        let until = until_ns.saturating_mul(TICKS_PER_NS);
        let looks_ahead = self.plane.lanes.outgrow_a_cache();
        loop {
            // Both halts come before the next event, so the caller acts at the time of the event that caused them.
            if self.deadlocks.found.is_some() && !self.deadlocks.outlasted {
                return Halt::Deadlock;
            }
            if stop_at_mads && self.clients.any_waiting() {
                return Halt::Mad;
            }
            let Some(event) = self.clock.step(until) else { return Halt::Time };
            if looks_ahead && let Some((ahead, count)) = self.clock.ahead() {
                self.look_ahead(&ahead[..count]);
            }
            self.handle(event);
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: wheel::SimEvent) {
        // Most events are arrivals, and one comparison is less than a jump by a table.
        if event.kind() == kind::ARRIVE {
            return self.arrive(PacketId(event.a()), InLane(event.b()));
        }
        match event.kind() {
            kind::DELIVER => self.deliver(PacketId(event.a()), PortId(event.b())),
            kind::CREDIT => self.credit(event.a() as u16, OutLane(event.b())),
            kind::FREE => self.link_free(PortId(event.a())),
            kind::INJECT => self.inject(Injector::of(event)),
            kind::ERRAND => self.run_errand(event.a()),
            kind::EXPIRE => self.expire(PacketId(event.a()), InLane(event.b())),
            other => unreachable!("no event has kind {other}"),
        }
    }

    /// Nanoseconds since the run began.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// A digest of every event so far: equal for equal runs.
    pub fn trace_hash(&self) -> u64 {
        self.clock.trace_hash()
    }

    /// The first packet that arrived after one of the same SLID, DLID and SL that was sent later, if order is counted.
    pub fn first_overtaken(&self) -> Option<OvertakenPacket> {
        self.ledger.order.as_ref().and_then(|order| order.first_overtaken(&self.sources))
    }

    /// Packets through switches so far: one packet through one switch counts one.
    pub fn packet_hops(&self) -> u64 {
        self.plane.packet_hops
    }

    /// The deadlock that ended the run.
    pub fn deadlock(&self) -> Option<&[StuckPacket]> {
        self.deadlocks.found.as_deref()
    }

    /// Deadlocks that lifetime limits broke, and packets they discarded.
    pub fn limits_at_work(&self) -> (u64, u64) {
        (self.deadlocks.broken, self.lifetimes.discards)
    }

    /// How often a lane stalled for what its head-of-queue limit had discarded (PortInfo:VLStallCount).
    pub fn vl_stalls(&self) -> u64 {
        self.lifetimes.stalled
    }

    /// SMPs for which the VL 15 buffer of a port had no room.
    pub fn smps_dropped(&self) -> u64 {
        self.counters.smps_dropped()
    }

    /// Ends the present period of measurement and begins the next.
    pub fn begin_period(&mut self) {
        self.assert_conserved();
        let sent_before = self.plane.ports.iter().map(|port| port.bytes_sent).collect();
        self.ledger.begin_period(self.clock.now(), sent_before, self.sources.held_back(self.clock.now()));
        self.routers.iter_mut().for_each(|routers| routers.begin_period(self.clock.now()));
    }

    /// The periods so far, the present one last and still open.
    pub fn periods(&self) -> &[Period] {
        &self.ledger.periods
    }

    /// How long a period lasted, or has lasted so far, in nanoseconds.
    pub fn period_ns(&self, period: usize) -> u64 {
        self.ledger.length(period, self.clock.now()) / TICKS_PER_NS
    }

    /// By port: the bytes of data that it has sent into its link in a period.
    pub fn bytes_sent(&self, period: usize) -> Vec<u64> {
        self.ledger.bytes_sent(period, &self.plane)
    }

    /// The longest time without a delivery in a period that has ended, in nanoseconds.
    pub fn longest_gap_ns(&self, period: usize) -> u64 {
        self.ledger.periods[period].longest_gap / TICKS_PER_NS
    }

    /// Bytes per nanosecond that all end ports can take together.
    pub fn delivery_capacity(&self) -> f64 {
        self.delivery_capacity_of(|_| true)
    }

    /// The same of some end ports.
    pub fn delivery_capacity_of(&self, counts: impl Fn(PortId) -> bool) -> f64 {
        let rate = |source: &source::Source| {
            let port = self.fabric.port(source.port);
            port.width.data_rate_kbps(port.speed) as f64 / 1e6
        };
        let takes =
            |source: &&source::Source| self.sources.is_host(source.rank) && !self.plane.is_router_port(source.port);
        self.sources.list.iter().filter(takes).filter(|source| counts(source.port)).map(rate).sum()
    }

    /// How often an application had to wait for room in its send queue.
    pub fn throttled(&self) -> u64 {
        self.sources.throttled
    }

    /// The share of a period's time that applications waited for room in their send queues, over all of them: what they
    /// offered then was not sent. Packets of a trace that find a queue full are not sent either, and do not wait
    /// ([`Sim::throttled`]).
    pub fn held_back(&self, period: usize) -> f64 {
        let now = self.clock.now();
        let end = self.ledger.periods.get(period + 1).map_or(self.sources.held_back(now), |next| next.held_back_before);
        let waited = end - self.ledger.periods[period].held_back_before;
        let hosts = self.sources.list.keys().filter(|&rank| self.sources.is_host(rank)).count();
        waited as f64 / (self.ledger.length(period, now) as f64 * hosts as f64).max(1.0)
    }

    /// Packets of a trace that are due later.
    pub fn trace_left(&self) -> usize {
        match &self.config.traffic {
            Traffic::Trace(entries) => entries.len() - self.sources.trace_next,
            _ => 0,
        }
    }

    /// Packets of a script that their source could not send.
    pub fn unsent(&self) -> u64 {
        self.sources.unsent
    }

    /// Packets delivered to a port that does not own their DLID (they count as lost to the change).
    pub fn misdelivered(&self) -> u64 {
        self.ledger.misdelivered
    }

    /// The output port that a switch has for a LID, as its device holds it.
    pub fn output(&self, switch: NodeId, lid: crate::ids::Lid) -> Option<PortNum> {
        let port = PortNum(self.plane.tables.output(switch, lid.0));
        (port != PortNum::NO_ROUTE).then_some(port)
    }

    /// The output ports that a switch has for a multicast LID, as its device holds them; no packet is forwarded by
    /// them.
    pub fn multicast_outputs(&self, switch: NodeId, lid: crate::ids::Lid) -> PortMask {
        self.devices.kept.multicast_outputs(self.plane.first_port(switch), lid)
    }
}
