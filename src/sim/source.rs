//! End ports: which of them sends what to which other, on which half, and what they count.
//!
//! A source draws its next packet after a time whose mean follows from the load ([`ArrivalProcess`] says how it is
//! distributed), and hands the packet to the send queue of the lane that its SL maps to now. Its path cache is one
//! half: SLID, DLID and SL follow from it. In a subnet that began cold, its path cache holds what subnet administration
//! would answer (`path`) until it is assigned a half. The application waits while the send queue is full, so the memory
//! of a saturated run stays bounded.

use super::device::lid_range;
use super::dispersal::{Dispersal, MOST_PAIRED, OpenMessage, OpenPath, OpenPaths, Pair, PathChoice, flow};
use super::index::{By, Dense, EndPortRank};
use super::packet::{Packet, PacketMarks, half_index};
use super::plane::DataPlane;
use super::spaces::Spaces;
use super::wheel::{TICKS_PER_NS, Ticks};
use super::{ArrivalProcess, MessageShare, SimConfig, SimError, Traffic};
use crate::fabric::{Fabric, NodeId, Port, PortId};
use crate::ids::{Half, Lid, Lmc, Sl, SubnetId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What a source's application does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Application {
    /// Nothing, until it is started.
    Idle,
    /// An event under way will let it send.
    Due,
    /// It waits for room in a send queue.
    HeldBack,
}

/// For how long applications have waited for room in their send queues, all together.
#[derive(Clone, Copy, Debug, Default)]
struct HeldBackTime {
    /// Those that wait now.
    waiting: u32,
    /// Up to when the sum counts.
    until: Ticks,
    /// In ticks, over all sources.
    sum: Ticks,
}

impl HeldBackTime {
    fn begins(&mut self, now: Ticks) {
        *self = HeldBackTime { waiting: self.waiting + 1, until: now, sum: self.at(now) };
    }

    fn ends(&mut self, now: Ticks) {
        *self = HeldBackTime { waiting: self.waiting - 1, until: now, sum: self.at(now) };
    }

    /// The sum at this moment.
    fn at(&self, now: Ticks) -> Ticks {
        self.sum + Ticks::from(self.waiting) * (now - self.until)
    }
}

/// Since when others know a source. Arrivals are numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    /// It was present when the run began.
    FromStart,
    /// It has not arrived yet.
    Awaited,
    /// It has arrived, and has no half yet.
    Silent { arrival: u32 },
    /// It has arrived, and this is the first half that it was assigned.
    Joined { arrival: u32, half: Half },
    /// In a subnet that began cold: its port has not been ACTIVE with a LID since it came.
    Unrecorded,
    /// In a subnet that began cold: its port has, so subnet administration has path records from and to it.
    Recorded,
}

impl Presence {
    /// The number of its arrival: a source that was assigned its half at this number or a higher one knows it.
    #[inline]
    fn arrival(self) -> u32 {
        match self {
            Presence::FromStart | Presence::Unrecorded | Presence::Recorded => 0,
            Presence::Awaited => u32::MAX,
            Presence::Silent { arrival } | Presence::Joined { arrival, .. } => arrival,
        }
    }
}

/// What a source has been notified of about halves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    /// Nothing: in a subnet that began cold it asks subnet administration for its paths.
    Nothing,
    /// A half, before the present routing omitted end ports (`Sim::omit`): it does not know which.
    Earlier,
    /// A half of the present routing: it omits the same end ports.
    Half,
}

/// One end port as a source and a sink.
pub struct Source {
    /// Which it is.
    pub rank: EndPortRank,
    /// Its port.
    pub port: PortId,
    /// Its base LID.
    pub lid: u16,
    /// LIDs in each half.
    pub paths: u16,
    /// LIDs it owns.
    pub lids: u16,
    /// The half it sends on.
    pub half: Half,
    /// Packets in its send queues.
    pub waiting: u32,
    /// The state of its application. Into and out of [`Application::HeldBack`] it goes by methods of [`Sources`], which
    /// measure the time that passes there.
    application: Application,
    /// By half: its packets in the send queues.
    pub queued: [u32; 2],
    /// Mean ticks from message to message; infinite for a silent one.
    pub interval: f64,
    /// The message of several packets that its application is sending.
    pub(super) message: Option<OpenMessage>,
    /// What it has been notified of.
    told: Told,
    /// Since when others know it.
    presence: Presence,
    /// The number of arrivals when it was assigned its half: it knows all up to that one.
    told_at: u32,
    /// The destination of a permutation.
    pub partner: EndPortRank,
    /// Bytes sent and received by SL, in units of 4, as PortXmitDataSL and PortRcvDataSL count them.
    pub sent: [u64; 16],
    /// See `sent`.
    pub received: [u64; 16],
    pub(super) random: Pcg32,
}

/// All end ports.
pub struct Sources {
    /// By rank: hosts first.
    pub list: By<EndPortRank, Source>,
    /// The ranks below this one offer traffic and are destinations of uniform traffic.
    hosts: u32,
    /// By subnet and LID ([`Spaces::slot`]): the end port that owns it.
    pub by_lid: Vec<EndPortRank>,
    pub(super) spaces: Spaces,
    /// The end port at a port.
    pub by_port: By<PortId, EndPortRank>,
    /// By rank: cut off from the subnet manager, as links stand now. That changes with links, `unreachable` with
    /// routings: an end port that is cut off by a loss is omitted by the next routing as well, and both can hold or
    /// either alone.
    pub cut_off: By<EndPortRank, bool>,
    /// The sources send.
    pub sending: bool,
    /// The subnet began cold: end ports without LIDs.
    pub cold: bool,
    dispersal: Dispersal,
    /// By rank: the new routing omits it. It stays so where a link has come back, until the end port has arrived anew.
    pub unreachable: By<EndPortRank, bool>,
    /// By subnet and half: see `Sim::load_ways`.
    ways: Vec<[Option<OpenPaths>; 2]>,
    /// By source and destination: the next turn among their pairs of LIDs.
    turns: FxHashMap<(EndPortRank, EndPortRank), u32>,
    /// See `Sim::set_path`.
    paths: FxHashMap<(EndPortRank, EndPortRank), (Lid, Sl)>,
    /// How many arrivals there have been.
    arrivals: u32,
    /// How often an application had to wait for a full send queue.
    pub throttled: u64,
    /// For how long applications have waited for that.
    held_back: HeldBackTime,
    /// Index of the next entry of the trace.
    pub(super) trace_next: usize,
    /// See `Sim::script`.
    script: Vec<Scripted>,
    script_next: usize,
    /// Packets of the script that could not be sent.
    pub(super) unsent: u64,
}

/// A packet that a source is to send: its ends, its half and its length.
#[derive(Clone, Copy)]
pub(super) struct PacketSpec {
    /// The end port that sends it.
    pub source: EndPortRank,
    /// The end port that it is for.
    pub destination: EndPortRank,
    /// The half that it travels on.
    pub half: Half,
    /// Bytes on the wire.
    pub bytes: u16,
    /// Its flags.
    pub marks: PacketMarks,
    /// Its turn among the pairs of LIDs.
    pub turn: u32,
    /// Its message, as counts of order number them; [`NIL`](super::packet::NIL) where it is one by itself.
    pub message: u32,
}

/// The header of a packet that a source hands to its send queue.
#[derive(Clone, Copy)]
pub(super) struct Header {
    /// Destination LID.
    pub dlid: u16,
    /// Service level.
    pub sl: u8,
    /// Bytes on the wire.
    pub bytes: u16,
    /// Its flags.
    pub marks: PacketMarks,
    /// Rank of its SLID in its half.
    pub source_path: u8,
    /// Its message, as counts of order number them; [`NIL`](super::packet::NIL) where it is one by itself.
    pub message: u32,
}

/// A packet of [`Traffic::Trace`].
pub(super) type TraceEntry = (u64, u32, u32, u16);

/// A packet that the caller of the simulation decides on: when it is handed to its source, and its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scripted {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// The end port that sends it.
    pub source: PortId,
    /// Its DLID.
    pub dlid: Lid,
    /// Its service level.
    pub sl: Sl,
    /// Its length in bytes.
    pub bytes: u16,
}

impl Source {
    /// A source at an end port that has sent nothing.
    fn new(id: PortId, port: &Port, rank: EndPortRank, config: &SimConfig, presence: Presence) -> Source {
        let rate = port.width.data_rate_kbps(port.speed) as f64 * config.load;
        Source {
            rank,
            port: id,
            lid: port.lid.unwrap_or_default().0,
            paths: if config.undivided { port.lmc.lids() } else { (port.lmc.lids() / 2).max(1) },
            lids: port.lmc.lids(),
            half: Half::Lower,
            waiting: 0,
            application: Application::Idle,
            queued: [0; 2],
            interval: interval(config, rank, rate),
            message: None,
            told: Told::Nothing,
            presence,
            told_at: 0,
            partner: rank,
            sent: [0; 16],
            received: [0; 16],
            random: Pcg32::new(config.seed, u64::from(rank.0)),
        }
    }

    /// The ticks to its next message; none for a silent one.
    #[inline(always)]
    pub(super) fn draw_wait(&mut self, config: &SimConfig) -> Option<Ticks> {
        if !self.interval.is_finite() {
            return None;
        }
        let ticks = match config.arrivals {
            ArrivalProcess::Poisson => self.interval * exponential(&mut self.random),
            ArrivalProcess::OnOff { burst } => self.draw_wait_in_burst(burst, self.interval * config.load),
        };
        Some(ticks as Ticks)
    }

    /// The ticks to its first message, for a source that is observed at a random time; none for a silent one.
    pub(super) fn draw_first_wait(&mut self, config: &SimConfig) -> Option<Ticks> {
        let ArrivalProcess::OnOff { burst } = config.arrivals else {
            // What is left of an exponential time is distributed like all of it.
            return self.draw_wait(config);
        };
        if !self.interval.is_finite() {
            return None;
        }
        let spacing = self.interval * config.load;
        let ticks = if chance(&mut self.random, config.load) {
            // In a burst, at any point of the message that the link would be taking.
            fraction(&mut self.random) * spacing + self.draw_pause(burst, spacing)
        } else {
            self.draw_silence(burst, spacing)
        };
        Some(ticks as Ticks)
    }

    /// The ticks from a message that the link takes `spacing` ticks for to the next: of the same burst or another.
    fn draw_wait_in_burst(&mut self, burst: f64, spacing: f64) -> f64 {
        spacing + self.draw_pause(burst, spacing)
    }

    /// The ticks between the end of a message and the next one: none within a burst.
    fn draw_pause(&mut self, burst: f64, spacing: f64) -> f64 {
        if chance(&mut self.random, 1.0 - 1.0 / burst) { 0.0 } else { self.draw_silence(burst, spacing) }
    }

    /// The ticks between two bursts. One message in `burst` is followed by a silence, which makes up for what the waits
    /// within a burst are shorter than the mean.
    fn draw_silence(&mut self, burst: f64, spacing: f64) -> f64 {
        burst * (self.interval - spacing) * exponential(&mut self.random)
    }

    /// Whether it has arrived and waits to be assigned a half.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        matches!(self.presence, Presence::Silent { .. })
    }

    /// Subnet administration has path records from and to it from now on.
    pub(super) fn record(&mut self) {
        self.presence = Presence::Recorded;
    }

    /// Hides it from all others until it arrives.
    fn hide(&mut self) {
        self.presence = Presence::Awaited;
    }

    /// Packets of its next message, and the bytes of the last.
    pub(super) fn draw_length(&mut self, config: &SimConfig) -> (u16, u16) {
        let Some(last) = config.message_mix.last() else { return (config.message_packets, config.packet_bytes) };
        let shares: f64 = config.message_mix.iter().map(|size| size.share).sum();
        let mut drawn = fraction(&mut self.random) * shares;
        let within = |size: &&MessageShare| {
            drawn -= size.share;
            drawn < 0.0
        };
        config.message_mix.iter().find(within).unwrap_or(last).packets(config.packet_bytes)
    }

    /// Whether its application does nothing until it is started.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.application == Application::Idle
    }

    /// Its application does nothing from now on.
    #[inline]
    pub(super) fn becomes_idle(&mut self) {
        self.application = Application::Idle;
    }

    /// An event will let its application send.
    #[inline]
    pub(super) fn becomes_due(&mut self) {
        self.application = Application::Due;
    }

    /// A packet has joined its send queues: of data or not, on a level that is `counted` to a half or not.
    #[inline]
    pub(super) fn joins_queue(&mut self, sl: u8, is_data: bool, counted: bool) {
        self.waiting += u32::from(is_data);
        self.queued[half_index(sl)] += u32::from(counted);
    }

    /// A packet has left its send queues. Returns whether its application waits for that.
    #[inline]
    pub(super) fn leaves_queue(&mut self, sl: u8, is_data: bool, counted: bool) -> bool {
        self.waiting -= u32::from(is_data);
        self.queued[half_index(sl)] -= u32::from(counted);
        is_data && self.application == Application::HeldBack
    }

    /// A packet stands elsewhere that this port will send: in the queue of its node's own GMPs, or in its router.
    pub(super) fn awaits(&mut self, sl: u8) {
        self.queued[half_index(sl)] += 1;
    }

    /// Such a packet has gone.
    pub(super) fn awaits_no_more(&mut self, sl: u8) {
        self.queued[half_index(sl)] -= 1;
    }

    /// Counts what its port has sent.
    #[inline(always)]
    pub(super) fn sends(&mut self, sl: u8, bytes: u16) {
        self.sent[usize::from(sl)] += u64::from(bytes / 4);
    }

    /// Counts what its port has received.
    #[inline(always)]
    pub(super) fn receives(&mut self, sl: u8, bytes: u16) {
        self.received[usize::from(sl)] += u64::from(bytes / 4);
    }
}

impl Sources {
    /// The source at a port; none where it is no end port.
    pub(super) fn at_port(&self, port: PortId) -> Option<&Source> {
        self.list.get(self.by_port[port])
    }

    /// As [`Sources::at_port`], to write.
    pub(super) fn at_port_mut(&mut self, port: PortId) -> Option<&mut Source> {
        self.list.get_mut(self.by_port[port])
    }

    /// The end port that owns a LID in the subnet of a port, by its rank; none where no port owns it.
    #[inline]
    pub(super) fn owner(&self, port: PortId, dlid: u16) -> EndPortRank {
        self.by_lid[self.spaces.slot(port, dlid)]
    }

    /// Loads the half that every source sends on, or every source of one subnet.
    pub(super) fn load_half(&mut self, subnet: Option<SubnetId>, half: Half) {
        let Sources { list, spaces, .. } = self;
        let is_meant = |port: PortId| subnet.is_none_or(|subnet| spaces.at(port) == subnet.index());
        list.iter_mut().filter(|source| is_meant(source.port)).for_each(|source| source.half = half);
    }

    /// Loads the paths on a half of a subnet: see `Sim::load_ways`.
    pub(super) fn load_ways(&mut self, subnet: SubnetId, half: Half, ways: Option<OpenPaths>) {
        self.ways[subnet.index()][half.index()] = ways;
    }

    /// Loads the path from one end port to another: see `Sim::set_path`.
    pub(super) fn load_path(&mut self, source: PortId, destination: PortId, path: (Lid, Sl)) {
        let (from, to) = (self.by_port[source], self.by_port[destination]);
        if from.is_some() && to.is_some() {
            self.paths.insert((from, to), path);
        }
    }

    // Room in send queues.

    /// Whether the send queues of a source, of so many packets, have no room for a packet that is listed. If so, that
    /// is counted, and nothing waits.
    pub(super) fn is_full(&mut self, rank: EndPortRank, send_queue: u16) -> bool {
        let full = self.list[rank].waiting >= u32::from(send_queue);
        self.throttled += u64::from(full);
        full
    }

    /// Whether the application of a source finds room in its send queues, of so many packets. If not, it is held back
    /// until there is some.
    #[inline(always)]
    pub(super) fn finds_room(&mut self, rank: EndPortRank, send_queue: u16, now: Ticks) -> bool {
        let source = &mut self.list[rank];
        if source.waiting < u32::from(send_queue) {
            return true;
        }
        source.application = Application::HeldBack;
        self.throttled += 1;
        self.held_back.begins(now);
        false
    }

    /// The application of a source that was held back is due.
    #[inline(always)]
    pub(super) fn release(&mut self, rank: EndPortRank, now: Ticks) -> &Source {
        self.held_back.ends(now);
        let source = &mut self.list[rank];
        source.application = Application::Due;
        source
    }

    /// The application of a source gives up its message. If it was held back, it is idle.
    pub(super) fn give_up_message(&mut self, rank: EndPortRank, now: Ticks) {
        let source = &mut self.list[rank];
        source.message = None;
        if source.application == Application::HeldBack {
            source.application = Application::Idle;
            self.held_back.ends(now);
        }
    }

    /// For how long applications have been held back up to now, in ticks over all sources.
    pub(super) fn held_back(&self, now: Ticks) -> Ticks {
        self.held_back.at(now)
    }

    // Packets that the configuration or the caller lists.

    /// The entry of the trace that is due, and when the one after it is, in ticks. None at the end, and once sources
    /// have stopped.
    pub(super) fn next_traced(&mut self, trace: &[TraceEntry]) -> Option<(TraceEntry, Option<Ticks>)> {
        let &entry = trace.get(self.trace_next).filter(|_| self.sending)?;
        self.trace_next += 1;
        Some((entry, trace.get(self.trace_next).map(|entry| entry.0 * TICKS_PER_NS)))
    }

    /// Takes a script in place of what is left of the last one. Returns when its first packet is due, in ticks.
    pub(super) fn take_script(&mut self, mut packets: Vec<Scripted>) -> Option<Ticks> {
        packets.sort_by_key(|packet| packet.at_ns);
        (self.script, self.script_next) = (packets, 0);
        self.script.first().map(|packet| packet.at_ns * TICKS_PER_NS)
    }

    /// The packet of the script that is due, and when the one after it is, in ticks; none at the end.
    pub(super) fn next_scripted(&mut self) -> Option<(Scripted, Option<Ticks>)> {
        let &packet = self.script.get(self.script_next)?;
        self.script_next += 1;
        Some((packet, self.script.get(self.script_next).map(|packet| packet.at_ns * TICKS_PER_NS)))
    }

    /// The source of a packet of the script, if it could send the packet by itself; the packet is counted otherwise.
    pub(super) fn source_of(&mut self, packet: &Scripted, send_queue: u16) -> Option<EndPortRank> {
        let rank = self.by_port[packet.source];
        let sends = rank.is_some() && self.may_send(rank, Half::of_sl(packet.sl)) && !self.is_full(rank, send_queue);
        self.unsent += u64::from(!sends);
        sends.then_some(rank)
    }

    /// The subnet of an end port, by its rank.
    #[inline]
    pub(super) fn subnet_of(&self, rank: EndPortRank) -> SubnetId {
        SubnetId(self.spaces.at(self.list[rank].port) as u16)
    }

    /// The end ports that own a LID; with `without_lids` the others too, since their LIDs come later.
    ///
    /// # Errors
    /// Fewer than two end ports; traffic that names a rank beyond them.
    pub(super) fn new(
        fabric: &Fabric,
        config: &SimConfig,
        spaces: &Spaces,
        without_lids: bool,
    ) -> Result<Sources, SimError> {
        let mut list = By::default();
        let mut by_lid = vec![EndPortRank::NONE; spaces.count() << 16];
        let mut by_port = By::filled(EndPortRank::NONE, fabric.port_count());
        // In one subnet only hosts offer traffic; of several, each router relays it.
        let one = spaces.count() == 1;
        let ports: Vec<PortId> = if one { fabric.end_ports_by_rank().collect() } else { fabric.end_ports().collect() };
        let mut hosts = 0;
        for id in ports {
            let port = fabric.port(id);
            if port.lid.is_none() && !without_lids {
                continue;
            }
            hosts += u32::from(!one || fabric.is_host_port(id));
            let rank = EndPortRank(list.len() as u32);
            if let Some(lid) = port.lid {
                let first = spaces.slot(id, lid.0);
                by_lid[first..first + usize::from(port.lmc.lids())].fill(rank);
            }
            by_port[id] = rank;
            let presence = if without_lids { Presence::Unrecorded } else { Presence::FromStart };
            list.push(Source::new(id, port, rank, config, presence));
        }
        if hosts < 2 {
            return Err(SimError::NobodyThere(hosts as usize));
        }
        check_ranks(&config.traffic, list.len())?;
        let unreachable = By::filled(false, list.len());
        let mut sources = Sources {
            list,
            hosts,
            by_lid,
            spaces: spaces.clone(),
            by_port,
            cut_off: unreachable.clone(),
            sending: false,
            cold: without_lids,
            dispersal: config.dispersal,
            unreachable,
            ways: vec![[None, None]; spaces.count()],
            turns: FxHashMap::default(),
            paths: FxHashMap::default(),
            arrivals: 0,
            throttled: 0,
            held_back: HeldBackTime::default(),
            trace_next: 0,
            script: Vec::new(),
            script_next: 0,
            unsent: 0,
        };
        match &config.traffic {
            Traffic::Permutation => sources.pair_up(config.seed),
            Traffic::Pairs(pairs) => {
                sources.list.iter_mut().zip(pairs).for_each(|(source, &partner)| source.partner = EndPortRank(partner));
            }
            Traffic::Uniform | Traffic::HotSpot { .. } | Traffic::Trace(_) => {}
        }
        Ok(sources)
    }

    /// Pairs all end ports in a random cyclic order.
    fn pair_up(&mut self, seed: u64) {
        self.pair_up_among(&(0..self.hosts).map(EndPortRank).collect::<Vec<_>>(), seed);
    }

    /// Pairs these end ports in a random cyclic order, in which each sends to the next (Sattolo's algorithm).
    pub(super) fn pair_up_among(&mut self, ranks: &[EndPortRank], seed: u64) {
        let mut random = Pcg32::seed_from_u64(seed);
        let mut order = ranks.to_vec();
        for i in (1..order.len()).rev() {
            // Below i, never i itself: so the permutation is one cycle, and no port sends to itself.
            order.swap(i, below(&mut random, i as u32) as usize);
        }
        ranks.iter().zip(order).for_each(|(&rank, partner)| self.list[rank].partner = partner);
    }

    // Which sources know each other.

    /// Hides end ports that are cut off before the run begins, until they arrive. In a subnet that began cold no
    /// other end port knows them yet.
    pub(super) fn hide_cut_off(&mut self) {
        if !self.cold {
            let Sources { list, cut_off, .. } = self;
            list.iter_mut().filter(|source| cut_off[source.rank]).for_each(Source::hide);
        }
    }

    /// Finds the end ports that no way of live links leads to from a subnet manager; none while no manager runs, or
    /// while those that do have lost their own links, for the rest is a subnet without them.
    pub(super) fn find_cut_off(&mut self, plane: &DataPlane, managers: &[PortId]) {
        let is_cabled = |&&port: &&PortId| plane.is_switch(plane.ports[port].node) || plane.ports[port].is_up();
        let managers: Vec<PortId> = managers.iter().filter(is_cabled).copied().collect();
        let mut reached: By<NodeId, bool> = By::filled(managers.is_empty(), plane.tables.node_count());
        let mut queue: Vec<NodeId> = managers.iter().map(|&port| plane.ports[port].node).collect();
        queue.iter().for_each(|&node| reached[node] = true);
        while let Some(node) = queue.pop() {
            // Only switches pass traffic on; a manager's own node leaves by its one port.
            let passes = plane.is_switch(node);
            for port in plane.ports_of(node) {
                let usable = plane.ports[port].is_up() && (passes || managers.contains(&port));
                if usable {
                    let next = plane.ports[plane.ports[port].peer].node;
                    if !std::mem::replace(&mut reached[next], true) {
                        queue.push(next);
                    }
                }
            }
        }
        // An end port joins the subnet at the switch that it is cabled to; a manager's own does so by itself.
        let joins = |port: PortId| managers.contains(&port) || reached[plane.ports[plane.ports[port].peer].node];
        for source in self.list.iter() {
            self.cut_off[source.rank] = !plane.ports[source.port].is_up() || !joins(source.port);
        }
    }

    /// Counts an arrival of end ports that follows.
    pub(super) fn begin_arrival(&mut self) {
        self.arrivals += 1;
    }

    /// An end port has arrived: no other knows it, and it waits to be assigned a half (PROTOCOL.md, G.4). In a subnet
    /// that began cold it waits instead until its port is ACTIVE with a LID, and the others know it from then on.
    pub(super) fn arrive(&mut self, rank: EndPortRank) {
        self.unreachable[rank] = false;
        let arrival = self.arrivals;
        self.list[rank].presence = if self.cold { Presence::Unrecorded } else { Presence::Silent { arrival } };
    }

    /// An end port is assigned a half (P3.3), and knows every end port present from now on. Returns whether it was
    /// silent and may begin now.
    pub(super) fn take_half(&mut self, rank: EndPortRank, half: Half) -> bool {
        // A path that subnet administration answered earlier belongs to the routing before.
        self.paths.retain(|&(from, _), _| from != rank);
        let source = &mut self.list[rank];
        (source.half, source.told, source.told_at) = (half, Told::Half, self.arrivals);
        let Presence::Silent { arrival } = source.presence else { return false };
        source.presence = Presence::Joined { arrival, half };
        true
    }

    /// The new routing omits these end ports: a source that is assigned a half from now on has no path from or to them.
    pub(super) fn omit(&mut self, ports: &[PortId]) {
        for source in self.list.iter_mut().filter(|source| source.told == Told::Half) {
            source.told = Told::Earlier;
        }
        for &port in ports {
            let rank = self.by_port[port];
            if rank.is_some() {
                self.unreachable[rank] = true;
            }
        }
    }

    /// Whether a source has a path to a destination other than itself. Before it is assigned the new half it does not
    /// know which end ports are cut off; afterwards it has no path from or to them. Two kinds of sources know a
    /// newcomer: those assigned a half since it arrived, and those that send on the half that it was assigned first.
    #[inline(always)]
    pub(super) fn has_path(&self, rank: EndPortRank, destination: EndPortRank) -> bool {
        let (own, other) = (&self.list[rank], &self.list[destination]);
        if own.presence == Presence::Unrecorded || other.presence == Presence::Unrecorded {
            return false;
        }
        // The half that a newcomer is assigned first is the new one (G.4), so a source that already sends on that half
        // uses the routing that was made for the newcomer.
        let shares_half = matches!(other.presence, Presence::Joined { half, .. } if half == own.half);
        if own.is_silent() || own.told_at < other.presence.arrival() && !shares_half {
            return false;
        }
        // P3.7: only a source that has its new half omits those that were cut off; the others still send to them.
        let was_told = own.told == Told::Half;
        let unreachable = |rank: EndPortRank| self.cut_off[rank] || self.unreachable[rank];
        rank != destination && !(was_told && (unreachable(rank) || unreachable(destination)))
    }

    /// Whether a source is present and sends on a half.
    pub(super) fn may_send(&self, rank: EndPortRank, half: Half) -> bool {
        let source = &self.list[rank];
        self.sending && !self.cut_off[rank] && !source.is_silent() && source.half == half
    }

    /// Whether an end port offers traffic: an aggregation node and a router of one subnet do not.
    pub(super) fn is_host(&self, rank: EndPortRank) -> bool {
        rank.0 < self.hosts
    }

    /// The end ports that offer traffic: theirs are the lowest ranks.
    pub(super) fn host_count(&self) -> u32 {
        self.hosts
    }

    /// Whether an end port is ACTIVE and holds a LID.
    pub(super) fn is_ready(&self, plane: &DataPlane, rank: EndPortRank) -> bool {
        let source = &self.list[rank];
        plane.ports[source.port].sends() && Lid(source.lid).is_unicast()
    }

    /// Draws a destination in a single subnet.
    #[inline(always)]
    pub(super) fn draw_destination(&mut self, traffic: &Traffic, rank: EndPortRank) -> EndPortRank {
        let (ranks, hosts) = (self.list.len() as u32, self.hosts);
        let source = &mut self.list[rank];
        match *traffic {
            Traffic::Permutation | Traffic::Pairs(_) => source.partner,
            Traffic::HotSpot { destination, share } if chance(&mut source.random, share) => {
                EndPortRank(destination.min(ranks - 1))
            }
            _ => {
                // Skipping its own rank keeps the others equally likely.
                let drawn = below(&mut source.random, hosts - 1);
                EndPortRank(if drawn >= rank.0 { drawn + 1 } else { drawn })
            }
        }
    }

    /// An end port takes LIDs, and gives up those that it held.
    pub(super) fn take_lids(&mut self, port: PortId, lid: Lid, lmc: Lmc) {
        let rank = self.by_port[port];
        if rank.is_none() {
            return;
        }
        let source = &mut self.list[rank];
        let space = self.spaces.slot(port, 0);
        let old = usize::from(source.lid)..usize::from(source.lid) + usize::from(source.lids);
        let by_lid = &mut self.by_lid[space..];
        // Another port may have taken some of these LIDs since, so only its own entries are cleared.
        by_lid[old.clone()].iter_mut().filter(|owner| **owner == rank).for_each(|owner| *owner = EndPortRank::NONE);
        by_lid[lid_range(lid, lmc)].fill(rank);
        (source.lid, source.lids, source.paths) = (lid.0, lmc.lids(), (lmc.lids() / 2).max(1));
        if old.start > 0 && old != lid_range(lid, lmc) {
            self.leave_to_others(space, &old);
        }
    }

    /// What a port has given up and another one holds is the other's from now on: after two subnets were joined, LIDs
    /// are held twice until one of the two has others.
    fn leave_to_others(&mut self, space: usize, given_up: &Range<usize>) {
        for source in self.list.iter().filter(|source| self.spaces.slot(source.port, 0) == space) {
            let first = usize::from(source.lid);
            let held = first.max(given_up.start)..(first + usize::from(source.lids)).min(given_up.end);
            let owners = self.by_lid[space..].get_mut(held).unwrap_or_default();
            owners.iter_mut().filter(|owner| owner.is_none()).for_each(|owner| *owner = source.rank);
        }
    }

    // Which LIDs.

    /// DLID and SL towards an end port on a half, by the path and the service level of these ranks in the half.
    #[inline(always)]
    pub(super) fn address(&self, target: EndPortRank, half: Half, path: u16, level: u8) -> (u16, u8) {
        let to = &self.list[target];
        // The upper half of the LIDs follows the lower one, and SLs 8 to 15 are its service levels. A port with one LID
        // has no halves (L.1).
        let upper = if to.lids > 1 { half.index() as u16 * to.paths } else { 0 };
        (to.lid + upper + path, half.sl_of(level).get())
    }

    /// A packet's header: by the path that subnet administration answered its source, or else by its pair of LIDs. None
    /// where no pair exists.
    #[inline(always)]
    pub(super) fn header(&self, spec: &PacketSpec) -> Option<Header> {
        let recorded = if self.cold { self.recorded_header(spec) } else { None };
        if recorded.is_some() {
            return recorded;
        }
        let pair = self.pair(spec.source, spec.destination, spec.half, spec.turn)?;
        Some(self.header_by(spec, pair))
    }

    /// The header by the path that subnet administration answered the source; none where its half determines the path.
    #[inline(never)]
    pub(super) fn recorded_header(&self, spec: &PacketSpec) -> Option<Header> {
        let PacketSpec { source, destination, bytes, marks, message, .. } = *spec;
        let (dlid, sl) = self.path(source, destination)?;
        Some(Header { dlid: dlid.0, sl: sl.get(), bytes, marks, source_path: 0, message })
    }

    /// The header by a pair of LIDs.
    #[inline(always)]
    pub(super) fn header_by(&self, spec: &PacketSpec, pair: Pair) -> Header {
        let PacketSpec { destination, half, bytes, marks, message, .. } = *spec;
        let Pair { source_path, path, level } = pair;
        let (dlid, sl) = self.address(destination, half, path, level);
        Header { dlid, sl, bytes, marks, source_path, message }
    }

    /// The path that a source of a subnet that began cold has from subnet administration; none where its half
    /// determines the path.
    fn path(&self, rank: EndPortRank, destination: EndPortRank) -> Option<(Lid, Sl)> {
        let loaded = self.paths.get(&(rank, destination)).copied();
        let asks = self.list[rank].told == Told::Nothing;
        loaded.or_else(|| asks.then(|| (Lid(self.list[destination].lid), Sl::default())))
    }

    /// The pair that a packet from one end port to another takes on a half at its turn; none where no path exists.
    #[inline(always)]
    pub(super) fn pair(&self, rank: EndPortRank, destination: EndPortRank, half: Half, turn: u32) -> Option<Pair> {
        match self.dispersal.choice {
            PathChoice::Single => {
                let way = self.open_path(rank, destination, half, flow(rank, destination))?;
                // A reply takes the single path of the other end, whatever the SLID, so none is recorded.
                Some(Pair { source_path: 0, path: way.path, level: way.level })
            }
            choice => self.pair_in_turn(choice, rank, destination, half, turn),
        }
    }

    #[inline(never)]
    fn pair_in_turn(
        &self,
        choice: PathChoice,
        rank: EndPortRank,
        to: EndPortRank,
        half: Half,
        turn: u32,
    ) -> Option<Pair> {
        let there = u32::from(self.open_path(rank, to, half, 0)?.of);
        // Where no path leads back, the SLID is the first.
        let back = self.open_path(to, rank, half, 0).map_or(1, |way| u32::from(way.of));
        let (slid, dlid) = match choice {
            PathChoice::Single => unreachable!("a single path takes no turns"),
            PathChoice::Base => (0, 0),
            PathChoice::Paired => {
                // The i-th LID of one end goes with the i-th of the other, so the shorter list bounds both.
                let at = turn % there.min(back).min(MOST_PAIRED.into());
                (at, at)
            }
            // DLIDs vary fastest, so successive turns take different ways forward.
            PathChoice::All => (turn / there % back, turn % there),
        };
        let way = self.open_path(rank, to, half, dlid)?;
        let source_path = self.open_path(to, rank, half, slid).map_or(0, |way| way.path as u8);
        Some(Pair { source_path, path: way.path, level: way.level })
    }

    /// The pair of a reply: to the SLID of the request, from its DLID.
    pub(super) fn pair_back(
        &self,
        rank: EndPortRank,
        asker: EndPortRank,
        half: Half,
        request: &Packet,
    ) -> Option<Pair> {
        if self.dispersal.choice == PathChoice::Single {
            return self.pair(rank, asker, half, 0);
        }
        let own = &self.list[rank];
        // The request's DLID may lie in either half; the remainder is its rank in that half.
        let source_path = (request.dlid.wrapping_sub(own.lid) % own.paths) as u8;
        let mut open = (0..).map_while(|at| self.open_path(rank, asker, half, at).filter(|way| at < u32::from(way.of)));
        // The path back may have closed since: then the reply is not sent.
        let way = open.find(|way| way.path == u16::from(request.source_path))?;
        Some(Pair { source_path, path: way.path, level: way.level })
    }

    /// The path on which a number falls, among those open from one end port to another on a half, or among the first of
    /// them where `dispersal.paths` limits their number.
    #[inline(always)]
    fn open_path(&self, rank: EndPortRank, to: EndPortRank, half: Half, number: u32) -> Option<OpenPath> {
        let most = self.dispersal.paths.map_or(u16::MAX, u16::from);
        let destination = &self.list[to];
        let space = self.spaces.at(destination.port);
        let Some(ways) = &self.ways[space][half.index()] else {
            let of = destination.paths.min(most);
            // A port has a power of two of LIDs, so this is nearly always a mask in place of a division.
            let path = if of.is_power_of_two() { number as u16 & (of - 1) } else { (number % u32::from(of)) as u16 };
            return Some(OpenPath { path, level: (flow(rank, to) % 8) as u8, of });
        };
        let (own, other) = (self.list[rank].port, destination.port);
        let way = ways(own, other, number)?;
        if way.of <= most {
            return Some(way);
        }
        // More paths are open than are to be used: the number falls on the first `most` of them.
        Some(OpenPath { of: most, ..ways(own, other, number % u32::from(most))? })
    }

    /// Whether packets take turns among pairs of LIDs.
    #[inline]
    pub(super) fn takes_turns(&self) -> bool {
        !matches!(self.dispersal.choice, PathChoice::Single | PathChoice::Base)
    }

    /// The turn of the next packet or message to a destination; 0 where no turns are taken. Each destination has turns
    /// of its own, and they begin at different pairs.
    #[inline]
    pub(super) fn next_turn(&mut self, rank: EndPortRank, destination: EndPortRank) -> u32 {
        if self.takes_turns() { self.take_turn(rank, destination) } else { 0 }
    }

    #[inline(never)]
    fn take_turn(&mut self, rank: EndPortRank, destination: EndPortRank) -> u32 {
        let turn = self.turns.entry((rank, destination)).or_insert_with(|| flow(rank, destination));
        let taken = *turn;
        *turn = turn.wrapping_add(1);
        taken
    }
}

/// Mean ticks from message to message of a source whose port sends at a rate, in kilobytes per second.
pub(super) fn interval(config: &SimConfig, rank: EndPortRank, rate: f64) -> f64 {
    match &config.traffic {
        Traffic::Pairs(pairs) if pairs.get(rank.index()).is_none_or(|&partner| partner == rank.0) => f64::INFINITY,
        _ => {
            if config.message_mix.is_empty() {
                // In this order of operations: a bit elsewhere is another trace.
                let packet = f64::from(config.packet_bytes) * 1e6 * TICKS_PER_NS as f64 / rate;
                return packet * f64::from(config.message_packets);
            }
            config.mean_message_bytes() * 1e6 * TICKS_PER_NS as f64 / rate
        }
    }
}

/// Refuses traffic that names a rank beyond the end ports.
///
/// # Errors
/// The first such rank.
pub(super) fn check_ranks(traffic: &Traffic, ranks: usize) -> Result<(), SimError> {
    let beyond = |rank: &u32| *rank as usize >= ranks;
    let stranger = match traffic {
        Traffic::Uniform | Traffic::Permutation => None,
        Traffic::Pairs(pairs) => pairs.iter().copied().chain((pairs.len() as u32).checked_sub(1)).find(beyond),
        Traffic::HotSpot { destination, .. } => Some(*destination).filter(beyond),
        Traffic::Trace(entries) => entries.iter().flat_map(|entry| [entry.1, entry.2]).find(beyond),
    };
    match stranger {
        None => Ok(()),
        Some(rank) => Err(SimError::NoSuchRank { rank, last: ranks - 1 }),
    }
}

/// Draws whether an event of this probability happens.
#[inline]
pub(super) fn chance(random: &mut Pcg32, probability: f64) -> bool {
    f64::from(random.next_u32()) < probability * 4_294_967_296.0
}

/// A uniform number of at least 0 and below 1.
#[inline]
pub(super) fn fraction(random: &mut Pcg32) -> f64 {
    f64::from(random.next_u32()) / 4_294_967_296.0
}

/// A uniform number below `bound`.
#[inline]
pub(super) fn below(random: &mut Pcg32, bound: u32) -> u32 {
    ((u64::from(random.next_u32()) * u64::from(bound)) >> 32) as u32
}

/// −ln of a uniform number in (0, 1], by additions and multiplications alone, so that every machine agrees to the bit.
#[inline(always)]
fn exponential(random: &mut Pcg32) -> f64 {
    let uniform = (f64::from(random.next_u32()) + 1.0) / 4_294_967_296.0;
    // `f64::ln` may differ in the last bit from one platform to the next, and one bit changes a trace.
    let bits = uniform.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // ln m = 2 artanh((m − 1) / (m + 1)), m in [1, 2): eight terms are good to nine digits.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut series = 0.0;
    for k in (0..8).rev() {
        series = series * square + 1.0 / f64::from(2 * k + 1);
    }
    -(2.0 * s * series + exponent as f64 * std::f64::consts::LN_2)
}
