//! The simulated fabric: a deterministic discrete-event model of a subnet at packet level, with its management.
//!
//! On entry a fabric and a [`SimConfig`]; either tables are loaded as found running ([`Sim::new`]), or nothing is there but
//! cables ([`Sim::cold`]). Then time is let pass, elements are made to die and to come back, and management enters as the
//! bytes of MADs at any end port ([`Sim::attach`], [`SimTransport`]). It knows MADs, not plans or phases. Same fabric,
//! configuration and calls: the same events, and one [`Sim::trace_hash`].
//!
//! **Modelled**: virtual cut-through with credits of 64 bytes for each lane and input buffer; SL-to-VL by (input, output);
//! linear forwarding; weighted turns among lanes, first come first served within one; link rate and delay, routing delay;
//! latching at arrival, head or grant; head-of-queue and switch lifetime limits; port states; send queues and a path
//! cache at end ports, replies; VL 15 with strict priority, directed and LID routes, SMAs that serve one MAD at a time,
//! M_Keys; clients of every class; traps; counters of ports; agents for flush and drain tokens, lane status, per-SL
//! counters; loss, delay and late copies of MADs; death and return of links and switches. **Not modelled**: flits and
//! retransmission, congestion control, multicast, partitions, VL arbitration tables, VL 15 buffers, crossbar speed, adaptive
//! routing, general-service MADs on data lanes (they travel on VL 15 here), partial packets when a link dies under
//! them. docs/SIMULATOR.md says what follows from each.

mod agent;
mod client;
mod config;
mod credit;
mod deadlock;
mod device;
mod dispersal;
mod fault;
mod forward;
mod kept;
mod ledger;
mod mad;
mod order;
mod outside;
mod packet;
mod partners;
mod path;
mod performance;
mod port;
mod port_info;
mod power_on;
mod relay;
mod sma;
mod source;
mod spaces;
mod state;
mod trap;
pub mod wheel;

pub use config::{ArmedPort, Latch, SimConfig, SimError, Traffic};
pub use deadlock::StuckPacket;
pub use dispersal::{Dispersal, MOST_PAIRED, PathChoice, Spray};
pub use ledger::{PacketCounts, Period};
pub use mad::HeldSet;
pub use order::OrderCounts;
pub use port::SimTransport;
pub use relay::{Joining, Relation};
pub use source::{Scripted, Way, Ways};

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, PortNum, Sl, Vl};
use ledger::Ledger;
use packet::Packets;
use source::Sources;
use spaces::Spaces;
use state::Net;
use wheel::{TICKS_PER_NS, Ticks, Wheel};

/// Kinds of events.
mod kind {
    /// A packet's head, routed, at a switch (packet, in lane).
    pub const ARRIVE: u8 = 0;
    /// A packet's tail at an end port (packet, port).
    pub const DELIVER: u8 = 1;
    /// Credits back that somebody waits for (credits, out lane).
    pub const CREDIT: u8 = 2;
    /// A link is free (port).
    pub const FREE: u8 = 3;
    /// A source's next packet (rank).
    pub const INJECT: u8 = 4;
    /// Management (index of the errand).
    pub const ERRAND: u8 = 5;
    /// A lifetime limit (packet, in lane).
    pub const EXPIRE: u8 = 6;
}

/// Bytes that one packet in flight takes in memory.
pub const PACKET_BYTES: usize = size_of::<packet::Packet>();

/// Why the simulation came to a halt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// The time asked for has come.
    Time,
    /// A MAD waits for a client that is attached somewhere.
    Mad,
    /// A deadlock has closed.
    Deadlock,
}

/// A simulated subnet.
pub struct Sim {
    config: SimConfig,
    fabric: Fabric,
    now: Ticks,
    wheel: Wheel,
    net: Net,
    packets: Packets,
    returns: credit::Returns,
    sources: Sources,
    ledger: Ledger,
    /// What joins the subnets, where there are several.
    relays: Option<Box<relay::Relays>>,
    devices: device::Devices,
    agents: agent::Agents,
    /// By port.
    tallies: Vec<performance::Tally>,
    errands: mad::Errands,
    clients: client::Clients,
    /// The ports that subnet managers run on.
    managers: Vec<u32>,
    /// End ports that were told to ask the subnet administration anew.
    reregistered: Vec<PortId>,
    /// Devices began without LIDs, tables and ACTIVE ports, as after their power came.
    began_cold: bool,
    deadlock: Option<Vec<StuckPacket>>,
    /// A deadlock does not end the run.
    outlasts_deadlocks: bool,
    suspect: Option<u32>,
    deadlocks_broken: u64,
    lifetime_discards: u64,
    expiries: Vec<Ticks>,
    traffic_on: bool,
    /// What goes down now was to leave.
    retiring: bool,
    packet_hops: u64,
    hash: u64,
    // Copies of settings that every hop reads.
    latch: Latch,
    limits: bool,
    link_delay: Ticks,
    hop_delay: Ticks,
    hoq_lifetime: Ticks,
    switch_lifetime: Ticks,
}

/// Refuses settings that cannot be meant, or not of this fabric.
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
        sim.managers.push(sm_port.0);
        Ok(sim)
    }

    /// A subnet whose power has just come: nobody has a LID (those of the fabric are forgotten), forwarding tables are
    /// empty, cabled ports are in INITIALIZE. Whoever is attached ([`Sim::attach`]) brings it up by MADs. End ports send
    /// once they are ACTIVE, to those that were (docs/SIMULATOR.md, *A cold subnet*).
    ///
    /// # Errors
    /// Settings outside their range, lanes that PortInfo has no code for, a port with too few, fewer than two end ports.
    pub fn cold(fabric: &Fabric, config: SimConfig) -> Result<Sim, SimError> {
        check(fabric, &config)?;
        if ![1, 2, 4, 8, 15].contains(&config.data_vls) {
            let (setting, expected) = ("data VLs of a cold subnet", "1, 2, 4, 8 or 15, as ports tell them");
            return Err(SimError::Setting { setting, value: config.data_vls.to_string(), expected });
        }
        let bare = fabric.with_lids([]).expect("no LIDs, no clash of LIDs");
        let spaces = Spaces::one(&bare);
        let sources = Sources::new(&bare, &config, &spaces, true)?;
        let mut sim = Sim::build(bare, config, sources, &spaces, true);
        for port in sim.net.ports.iter_mut().filter(|port| port.alive) {
            (port.state, port.sends) = (crate::wire::PortState::Initialize, false);
        }
        Ok(sim)
    }

    fn build(fabric: Fabric, config: SimConfig, sources: Sources, spaces: &Spaces, cold: bool) -> Sim {
        let net = Net::new(&fabric, spaces.top(), config.data_vls, config.buffer_credits);
        let limits = config.limits_as_programmed || config.hoq_lifetime_ns > 0 || config.switch_lifetime_ns > 0;
        let ns = |ns: u64| ns * TICKS_PER_NS;
        Sim {
            now: 0,
            wheel: Wheel::new(),
            packets: Packets::default(),
            returns: credit::Returns::default(),
            ledger: Ledger::new(fabric.port_count(), sources.list.len(), config.count_order),
            relays: None,
            devices: device::Devices::new(&fabric, &config, spaces, cold),
            agents: agent::Agents::new(&fabric, net.ins.len()),
            tallies: vec![performance::Tally::default(); fabric.port_count()],
            errands: mad::Errands::new(config.seed),
            clients: client::Clients::default(),
            managers: Vec::new(),
            reregistered: Vec::new(),
            began_cold: cold,
            deadlock: None,
            outlasts_deadlocks: false,
            suspect: None,
            deadlocks_broken: 0,
            lifetime_discards: 0,
            expiries: if limits { vec![0; net.ins.len()] } else { Vec::new() },
            traffic_on: false,
            retiring: false,
            packet_hops: 0,
            hash: 0xCBF2_9CE4_8422_2325,
            latch: config.latch,
            limits,
            link_delay: ns(config.link_delay_ns.into()),
            hop_delay: ns(u64::from(config.link_delay_ns) + u64::from(config.routing_delay_ns)),
            hoq_lifetime: ns(config.hoq_lifetime_ns),
            switch_lifetime: ns(config.switch_lifetime_ns),
            fabric,
            config,
            net,
            sources,
        }
    }

    /// Loads one block of a switch's forwarding table, as found running. Panics beyond the fabric's highest LID.
    pub fn load_lft_block(&mut self, switch: NodeId, block: u16, entries: &[u8; 64]) {
        let held = self.net.tables.block_mut(switch.0, block.into());
        held.expect("forwarding tables reach as far as the fabric's LIDs").copy_from_slice(entries);
    }

    /// Loads a node's SL-to-VL table for every input and output, as found running.
    pub fn load_sl_to_vl(&mut self, node: NodeId, lane: impl Fn(Sl) -> Vl) {
        self.net.tables.set_sl_uniform(node.0, std::array::from_fn(|sl| lane(Sl::masked(sl as u8)).get()));
    }

    /// Loads the half that every source sends on.
    pub fn load_half(&mut self, half: Half) {
        self.sources.list.iter_mut().for_each(|source| source.half = half);
    }

    /// Loads what subnet administration says of the paths on a half: who takes which, on which service level. Without it
    /// every source takes each LID of a destination's half, on each service level of the half.
    pub fn load_ways(&mut self, half: Half, ways: Option<Ways>) {
        self.sources.ways[0][half.index()] = ways;
    }

    /// Lets the sources send.
    pub fn start(&mut self) {
        self.traffic_on = true;
        self.start_traffic();
    }

    /// Lets the sources send no more; what is on its way goes on.
    pub fn stop_sources(&mut self) {
        self.traffic_on = false;
    }

    /// Lets time pass until `until_ns`, or until something that the caller must see to.
    pub fn run(&mut self, until_ns: u64, stop_at_mads: bool) -> Halt {
        let until = until_ns.saturating_mul(TICKS_PER_NS);
        loop {
            if self.deadlock.is_some() && !self.outlasts_deadlocks {
                return Halt::Deadlock;
            }
            if stop_at_mads && self.clients.any_waiting() {
                return Halt::Mad;
            }
            let Some((time, event)) = self.wheel.pop(until) else {
                self.now = self.now.max(until);
                return Halt::Time;
            };
            self.now = time;
            self.hash =
                (self.hash ^ time ^ event.word().rotate_left(29)).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(5);
            self.handle(event);
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: wheel::Event) {
        match event.kind() {
            kind::ARRIVE => self.arrive(event.a(), event.b()),
            kind::DELIVER => self.deliver(event.a(), event.b()),
            kind::CREDIT => self.credit(event.a() as u16, event.b()),
            kind::FREE => self.link_free(event.a()),
            kind::INJECT => self.inject(event.a()),
            kind::ERRAND => self.run_errand(event.a()),
            kind::EXPIRE => self.expire(event.a(), event.b()),
            other => unreachable!("no event has kind {other}"),
        }
    }

    /// Nanoseconds since the run began.
    pub fn now_ns(&self) -> u64 {
        self.now / TICKS_PER_NS
    }

    /// A digest of every event so far: equal for equal runs.
    pub fn trace_hash(&self) -> u64 {
        self.hash
    }

    /// Packets through switches so far: one packet through one switch counts one.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// The deadlock that ended the run.
    pub fn deadlock(&self) -> Option<&[StuckPacket]> {
        self.deadlock.as_deref()
    }

    /// Deadlocks that lifetime limits broke, and packets they discarded.
    pub fn limits_at_work(&self) -> (u64, u64) {
        (self.deadlocks_broken, self.lifetime_discards)
    }

    /// Ends the present period of measurement and begins the next.
    pub fn begin_period(&mut self) {
        self.ledger.begin_period(self.now, self.net.ports.iter().map(|port| port.bytes_sent).collect());
        self.relays.iter_mut().for_each(|relays| relays.begin_period(self.now));
    }

    /// The periods so far, the present one last and still open.
    pub fn periods(&self) -> &[Period] {
        &self.ledger.periods
    }

    /// How long a period lasted, or has lasted so far, in nanoseconds.
    pub fn period_ns(&self, period: usize) -> u64 {
        let open = period + 1 == self.ledger.periods.len();
        let chosen = &self.ledger.periods[period];
        (if open { self.now } else { chosen.end } - chosen.start) / TICKS_PER_NS
    }

    /// By port: the bytes of data that it has sent into its link in a period.
    pub fn bytes_sent(&self, period: usize) -> Vec<u64> {
        let chosen = &self.ledger.periods[period];
        let end = |(port, own): (usize, &state::OutPort)| match self.ledger.periods.get(period + 1) {
            Some(next) => next.sent_before[port],
            None => own.bytes_sent,
        };
        let begin = chosen.sent_before.iter().copied().chain(std::iter::repeat(0));
        self.net.ports.iter().enumerate().map(end).zip(begin).map(|(end, begin)| end - begin).collect()
    }

    /// The longest time without a delivery in a period that has ended, in nanoseconds.
    pub fn longest_gap_ns(&self, period: usize) -> u64 {
        self.ledger.periods[period].longest_gap / TICKS_PER_NS
    }

    /// Bytes per nanosecond that all end ports can take together.
    pub fn delivery_capacity(&self) -> f64 {
        let rate = |source: &source::Source| {
            let port = self.fabric.port(PortId(source.port));
            port.width.data_rate_kbps(port.speed) as f64 / 1e6
        };
        self.sources.list.iter().filter(|source| !self.is_leg(source.rank)).map(rate).sum()
    }

    /// How often an application had to wait for room in its send queue.
    pub fn throttled(&self) -> u64 {
        self.sources.throttled
    }

    /// Packets delivered to a port that does not own their DLID (they count as lost to the change).
    pub fn misdelivered(&self) -> u64 {
        self.ledger.misdelivered
    }

    /// The most packets alive at once.
    pub fn peak_packets(&self) -> usize {
        self.packets.peak()
    }

    /// How many lanes out of these hold anything, anywhere: in a send queue, in a buffer, or on the wire to a buffer or to
    /// an end port. What a drain or a flush claims to be none, seen from outside.
    pub fn occupied(&self, lanes: crate::ids::VlSet) -> usize {
        let holds = |lane: usize| {
            let (queue, port) = (&self.net.ins[lane], &self.net.ports[lane >> self.net.shift]);
            let towards_sink = port.sink && port.alive && self.net.outs[lane].credits < self.net.capacity;
            let buffer = if port.source { queue.count > 0 } else { queue.held > 0 };
            buffer || towards_sink
        };
        let asked = |lane: &usize| lanes.contains(Vl::masked(self.net.vl_of(*lane as u32)));
        (0..self.net.ins.len()).filter(asked).filter(|&lane| holds(lane)).count()
    }

    /// The output port that a switch has for a LID, as its device holds it.
    pub fn output(&self, switch: NodeId, lid: crate::ids::Lid) -> Option<PortNum> {
        let port = PortNum(self.net.tables.output(switch.0, lid.0));
        (port != PortNum::NO_ROUTE).then_some(port)
    }
}
