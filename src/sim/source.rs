//! End ports: who sends what to whom on which half, and what happens to what they receive.
//!
//! A source draws its next packet after an exponential time around the interval that its load gives, and hands it to the
//! send queue of the lane that its SL takes now. Its path cache is one half: SLID, DLID and SL follow from it. In a subnet
//! that began cold, until it is told of a half, its path cache holds what subnet administration would answer (`path`).
//! While the send queue is full the application waits, so a saturated run keeps its memory.

use super::dispersal::{Message, Pair};
use super::packet::{IS_REPLY, NIL, Packet};
use super::spaces::Spaces;
use super::wheel::{Event, TICKS_PER_NS, Ticks};
use super::{Sim, SimConfig, SimError, Traffic, kind};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, Sl, SubnetId};
use crate::wire::PortState;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// One end port as a source and a sink.
pub struct Source {
    /// Its rank among the end ports.
    pub rank: u32,
    /// Its dense port index.
    pub port: u32,
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
    /// Its application waits for room in them.
    pub held_back: bool,
    /// By half: packets of it in the send queues.
    pub queued: [u32; 2],
    /// Mean ticks from message to message; infinite for a silent one.
    pub interval: f64,
    /// The message of several packets that its application is at.
    pub(super) message: Option<Message>,
    /// Its next packet is due some time, or its application waits.
    pub(super) due: bool,
    /// It was told of a half since the run began, or since `Sim::omit`.
    told: bool,
    /// When it came: how many arrivals there had been then; 0 for what was there at the beginning, the largest number
    /// for what has not come yet.
    arrival: u32,
    /// How many arrivals there had been when it was told of its half: whom it knows.
    told_at: u32,
    /// It has come, and was told of no half yet.
    pub silent: bool,
    /// The half that it was told of first, where it has come.
    joined: Option<Half>,
    /// In a subnet that began cold: it has been ACTIVE with a LID since it came, and so has a path record.
    pub(super) recorded: bool,
    /// It asks subnet administration for its paths, since nobody has told it of a half.
    pub(super) asks: bool,
    /// The destination of a permutation.
    pub partner: u32,
    /// Bytes sent and received by SL, in units of 4, as PortXmitDataSL and PortRcvDataSL count them.
    pub sent: [u64; 16],
    /// See `sent`.
    pub received: [u64; 16],
    pub(super) random: Pcg32,
}

/// All end ports.
pub struct Sources {
    /// By rank.
    pub list: Vec<Source>,
    /// By subnet and LID ([`Spaces::slot`]): the rank of the end port that owns it.
    pub by_lid: Vec<u32>,
    pub(super) spaces: Spaces,
    /// By dense port index: the rank of the end port.
    pub by_port: Vec<u32>,
    /// By rank: the new routing omits it.
    pub unreachable: Vec<bool>,
    /// By subnet and half: see `Sim::load_ways`.
    pub(super) ways: Vec<[Option<Ways>; 2]>,
    /// By source and destination: the next turn among their pairs of LIDs.
    pub(super) turns: FxHashMap<(u32, u32), u32>,
    /// See `Sim::set_path`.
    pub(super) paths: FxHashMap<(u32, u32), (Lid, Sl)>,
    /// How often something has come.
    arrivals: u32,
    /// How often an application had to wait for a full send queue.
    pub throttled: u64,
    /// Position in a trace.
    trace_next: usize,
    /// See `Sim::script`.
    script: Vec<Scripted>,
    script_next: usize,
    /// Packets of the script that could not be sent.
    unsent: u64,
}

/// The way that a source, the first port, has to a destination, the second: of those open to it, in rising order of their
/// paths, the one that the number falls on, modulo how many there are. None where there is none.
pub type Ways = Arc<dyn Fn(PortId, PortId, u32) -> Option<Way> + Send + Sync>;

/// A path that is open to a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Its rank among the LIDs of the destination's half.
    pub path: u16,
    /// The virtual layer of its packets: the rank of their SL in that half.
    pub level: u8,
    /// How many are open, this one included.
    pub of: u16,
}

/// What a source says of a packet that it hands to its send queue.
#[derive(Clone, Copy)]
pub(super) struct Header {
    /// Destination LID.
    pub dlid: u16,
    /// Service level.
    pub sl: u8,
    /// Bytes on the wire.
    pub bytes: u16,
    /// [`IS_REPLY`].
    pub flags: u8,
    /// Rank of its SLID in its half.
    pub source_path: u8,
    /// Its message, as counts of order number them; [`NIL`] where it is one by itself.
    pub message: u32,
}

/// The rank that stands for the script in events.
const SCRIPT: u32 = NIL - 1;

/// A packet that somebody outside decides on: when it is handed to its source, and its class.
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
    /// The ticks to its next message; none for a silent one.
    pub(super) fn draw_wait(&mut self) -> Option<Ticks> {
        self.interval.is_finite().then(|| (self.interval * exponential(&mut self.random)) as Ticks)
    }
}

impl Sources {
    /// The subnet of an end port, by its rank.
    #[inline]
    pub(super) fn subnet_of(&self, rank: u32) -> SubnetId {
        SubnetId(self.spaces.at(self.list[rank as usize].port) as u16)
    }

    /// The end ports that own a LID; those without one too, where LIDs are given later.
    pub(super) fn new(
        fabric: &Fabric,
        config: &SimConfig,
        spaces: &Spaces,
        without_lids: bool,
    ) -> Result<Sources, SimError> {
        let mut list = Vec::new();
        let mut by_lid = vec![NIL; spaces.count() << 16];
        let mut by_port = vec![NIL; fabric.port_count()];
        for id in fabric.end_ports() {
            let port = fabric.port(id);
            if port.lid.is_none() && !without_lids {
                continue;
            }
            let rank = list.len() as u32;
            let rate = port.width.data_rate_kbps(port.speed) as f64 * config.load;
            let interval = interval(config, rank, rate);
            if let Some(lid) = port.lid {
                let first = spaces.slot(id.0, lid.0);
                by_lid[first..first + usize::from(port.lmc.lids())].fill(rank);
            }
            by_port[id.index()] = rank;
            list.push(Source {
                rank,
                port: id.0,
                lid: port.lid.unwrap_or_default().0,
                paths: (port.lmc.lids() / 2).max(1),
                lids: port.lmc.lids(),
                half: Half::Lower,
                waiting: 0,
                held_back: false,
                queued: [0; 2],
                interval,
                message: None,
                due: false,
                told: false,
                arrival: 0,
                told_at: 0,
                silent: false,
                joined: None,
                recorded: false,
                asks: without_lids,
                partner: rank,
                sent: [0; 16],
                received: [0; 16],
                random: Pcg32::new(config.seed, u64::from(rank)),
            });
        }
        if list.len() < 2 {
            return Err(SimError::NobodyThere(list.len()));
        }
        check_ranks(&config.traffic, list.len())?;
        let unreachable = vec![false; list.len()];
        let mut sources = Sources {
            list,
            by_lid,
            spaces: spaces.clone(),
            by_port,
            unreachable,
            ways: vec![[None, None]; spaces.count()],
            turns: FxHashMap::default(),
            paths: FxHashMap::default(),
            arrivals: 0,
            throttled: 0,
            trace_next: 0,
            script: Vec::new(),
            script_next: 0,
            unsent: 0,
        };
        match &config.traffic {
            Traffic::Permutation => sources.pair_up(config.seed),
            Traffic::Pairs(pairs) => {
                sources.list.iter_mut().zip(pairs).for_each(|(source, &partner)| source.partner = partner);
            }
            Traffic::Uniform | Traffic::HotSpot { .. } | Traffic::Trace(_) => {}
        }
        Ok(sources)
    }

    /// A random cyclic order of all.
    fn pair_up(&mut self, seed: u64) {
        self.pair_up_among(&(0..self.list.len() as u32).collect::<Vec<u32>>(), seed);
    }

    /// A random cyclic order of these: everyone sends to the next (Sattolo's algorithm).
    pub(super) fn pair_up_among(&mut self, ranks: &[u32], seed: u64) {
        let mut random = Pcg32::seed_from_u64(seed);
        let mut order = ranks.to_vec();
        for i in (1..order.len()).rev() {
            order.swap(i, below(&mut random, i as u32) as usize);
        }
        ranks.iter().zip(order).for_each(|(&rank, partner)| self.list[rank as usize].partner = partner);
    }
}

/// Mean ticks from message to message of a source whose port sends at a rate, in kilobytes per second.
pub(super) fn interval(config: &SimConfig, rank: u32, rate: f64) -> f64 {
    match &config.traffic {
        Traffic::Pairs(pairs) if pairs.get(rank as usize).is_none_or(|&partner| partner == rank) => f64::INFINITY,
        _ => {
            let packet = f64::from(config.packet_bytes) * 1e6 * TICKS_PER_NS as f64 / rate;
            packet * f64::from(config.message_packets)
        }
    }
}

/// Traffic names end ports that are there.
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

/// A uniform number below `bound`.
pub(super) fn below(random: &mut Pcg32, bound: u32) -> u32 {
    ((u64::from(random.next_u32()) * u64::from(bound)) >> 32) as u32
}

/// −ln of a uniform number in (0, 1], by additions and multiplications alone, so that every machine agrees to the bit.
fn exponential(random: &mut Pcg32) -> f64 {
    let uniform = (f64::from(random.next_u32()) + 1.0) / 4_294_967_296.0;
    let bits = uniform.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // ln m = 2 artanh((m − 1) / (m + 1)), m in [1, 2): eight terms are good to nine digits.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = (0..8).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    -(2.0 * s * series + exponent as f64 * std::f64::consts::LN_2)
}

impl Sim {
    /// Lets every source begin, at a random phase of its interval.
    pub(super) fn start_traffic(&mut self) {
        if let Traffic::Trace(entries) = &self.config.traffic {
            if let Some(first) = entries.first() {
                self.wheel.push(first.0 * TICKS_PER_NS, Event::new(kind::INJECT, NIL, 0));
            }
            return;
        }
        for rank in 0..self.sources.list.len() as u32 {
            if !self.sources.list[rank as usize].due {
                self.schedule_next(rank);
            }
        }
    }

    /// End ports that are cut off before the run begins will come some day, and are unknown till then.
    pub(super) fn hide_cut_off(&mut self) {
        if self.began_cold {
            return;
        }
        let Sim { sources, ledger, .. } = self;
        let away = sources.list.iter_mut().filter(|source| ledger.cut_off[source.rank as usize]);
        away.for_each(|source| source.arrival = u32::MAX);
    }

    /// End ports have come: nobody knows them, they wait to be told of a half, and what they had to send while they
    /// were cut off is gone.
    pub(super) fn welcome(&mut self, ranks: &[u32]) {
        self.sources.arrivals += 1;
        for &rank in ranks {
            self.drop_queue(rank);
            self.sources.unreachable[rank as usize] = false;
            if self.began_cold {
                self.source_returns(rank);
                continue;
            }
            let source = &mut self.sources.list[rank as usize];
            (source.arrival, source.silent, source.joined) = (self.sources.arrivals, true, None);
        }
    }

    /// Empties the send queues of an end port that was cut off until now: what it loses is stranded.
    fn drop_queue(&mut self, rank: u32) {
        let source = &mut self.sources.list[rank as usize];
        source.due &= !std::mem::take(&mut source.held_back);
        source.message = None;
        let first = self.net.lane(source.port, 0);
        self.ledger.cut_off[rank as usize] = true;
        for lane in first..first + u32::from(self.net.data_vls) {
            while self.net.ins[lane as usize].head != NIL {
                self.unwait(lane);
                self.discard_head(lane);
            }
        }
        self.ledger.cut_off[rank as usize] = false;
    }

    /// An end port is told to send on a half: it learns of everybody who is there, and one that has come may begin.
    pub(super) fn tell_half(&mut self, rank: usize, half: Half) {
        self.forget_paths(rank as u32);
        let source = &mut self.sources.list[rank];
        (source.half, source.told, source.asks) = (half, true, false);
        source.told_at = self.sources.arrivals;
        if std::mem::take(&mut source.silent) {
            source.joined = Some(half);
            self.begin_sending(rank as u32);
        }
    }

    /// Has a source draw its next packet, where traffic is on and none of its packets is due.
    pub(super) fn begin_sending(&mut self, rank: u32) {
        let by_itself = !matches!(self.config.traffic, Traffic::Trace(_));
        if self.traffic_on && by_itself && !self.sources.list[rank as usize].due {
            self.schedule_next(rank);
        }
    }

    fn schedule_next(&mut self, rank: u32) {
        let source = &mut self.sources.list[rank as usize];
        let wait = source.draw_wait();
        source.due = wait.is_some();
        if let Some(wait) = wait {
            self.wheel.push(self.now + wait, Event::new(kind::INJECT, rank, 0));
        }
    }

    /// A source's time has come.
    pub(super) fn inject(&mut self, rank: u32) {
        if rank == NIL {
            return self.inject_from_trace();
        }
        if rank == SCRIPT {
            return self.inject_from_script();
        }
        let source = &mut self.sources.list[rank as usize];
        let waits = source.silent || self.began_cold && !self.net.ports[source.port as usize].sends;
        if !self.traffic_on || self.ledger.cut_off[rank as usize] || waits {
            source.due = false;
            return;
        }
        if self.config.message_packets > 1 {
            return self.go_on_with_message(rank);
        }
        if self.is_full(rank) {
            self.sources.list[rank as usize].held_back = true;
            return;
        }
        let destination = self.draw_destination(rank);
        if self.has_path(rank, destination) {
            self.send(rank, destination, self.config.packet_bytes);
        }
        self.schedule_next(rank);
    }

    /// A packet has left a send queue: an application that waited for room goes on.
    #[inline]
    pub(super) fn queue_moved(&mut self, rank: u32) {
        let source = &mut self.sources.list[rank as usize];
        if std::mem::take(&mut source.held_back) {
            if source.message.is_some() { self.resume(rank) } else { self.schedule_next(rank) }
        }
    }

    pub(super) fn is_full(&mut self, rank: u32) -> bool {
        let full = self.sources.list[rank as usize].waiting >= u32::from(self.config.send_queue);
        self.sources.throttled += u64::from(full);
        full
    }

    /// Whether a source has a path to a destination other than itself. Until it is told of the new half it knows nothing
    /// of who was cut off; from then on there is no path from or to them. Who has come is known to whom was told of a half
    /// since, and to whom sends on the half that the newcomer was told of.
    pub(super) fn has_path(&self, rank: u32, destination: u32) -> bool {
        let (own, other) = (&self.sources.list[rank as usize], &self.sources.list[destination as usize]);
        if self.began_cold && !(own.recorded && other.recorded) {
            return false;
        }
        if own.silent || own.told_at < other.arrival && other.joined != Some(own.half) {
            return false;
        }
        let told = own.told;
        let unreachable = |rank: u32| self.ledger.cut_off[rank as usize] || self.sources.unreachable[rank as usize];
        rank != destination && !(told && (unreachable(rank) || unreachable(destination)))
    }

    /// End ports that the new routing omits: whoever is told of the new half has no path from or to them.
    pub fn omit(&mut self, ports: &[PortId]) {
        self.sources.list.iter_mut().for_each(|source| source.told = false);
        for port in ports {
            let rank = self.sources.by_port[port.index()];
            if rank != NIL {
                self.sources.unreachable[rank as usize] = true;
            }
        }
    }

    pub(super) fn draw_destination(&mut self, rank: u32) -> u32 {
        if let Some(relays) = self.relays.take() {
            let drawn = self.draw_among_subnets(&relays, rank);
            self.relays = Some(relays);
            return drawn;
        }
        let ranks = self.sources.list.len() as u32;
        let source = &mut self.sources.list[rank as usize];
        match self.config.traffic {
            Traffic::Permutation | Traffic::Pairs(_) => source.partner,
            Traffic::HotSpot { destination, share }
                if f64::from(source.random.next_u32()) < share * 4_294_967_296.0 =>
            {
                destination.min(ranks - 1)
            }
            _ => {
                let drawn = below(&mut source.random, ranks - 1);
                if drawn >= rank { drawn + 1 } else { drawn }
            }
        }
    }

    fn inject_from_trace(&mut self) {
        let next = self.sources.trace_next;
        let Traffic::Trace(entries) = &self.config.traffic else { return };
        let Some(&(_, source, destination, bytes)) = entries.get(next) else { return };
        let following = entries.get(next + 1).map(|entry| entry.0 * TICKS_PER_NS);
        self.sources.trace_next = next + 1;
        let host = |rank| self.relays.as_ref().map_or(rank, |relays| relays.host(rank).unwrap_or(NIL));
        let (source, destination) = (host(source), host(destination));
        let ranks = self.sources.list.len() as u32;
        let known = source < ranks && destination < ranks;
        if self.traffic_on && known && self.has_path(source, destination) && !self.is_full(source) {
            self.send(source, destination, bytes);
        }
        if let Some(time) = following {
            self.wheel.push(time.max(self.now), Event::new(kind::INJECT, NIL, 0));
        }
    }

    /// Has packets sent that somebody outside decides on, besides the traffic that is set; replaces those not sent yet.
    /// Nothing is sent that its source could not send by itself: it must be there, on the packet's half, and have room in
    /// its send queue. What cannot be sent is counted ([`Sim::unsent`]). Times must not lie in the past.
    pub fn script(&mut self, mut packets: Vec<Scripted>) {
        packets.sort_by_key(|packet| packet.at_ns);
        if let Some(first) = packets.first() {
            self.wheel.push((first.at_ns * TICKS_PER_NS).max(self.now), Event::new(kind::INJECT, SCRIPT, 0));
        }
        (self.sources.script, self.sources.script_next) = (packets, 0);
    }

    /// Packets of a script that their source could not send.
    pub fn unsent(&self) -> u64 {
        self.sources.unsent
    }

    fn inject_from_script(&mut self) {
        let next = self.sources.script_next;
        let Some(&packet) = self.sources.script.get(next) else { return };
        if let Some(following) = self.sources.script.get(next + 1) {
            self.wheel.push((following.at_ns * TICKS_PER_NS).max(self.now), Event::new(kind::INJECT, SCRIPT, 0));
        }
        self.sources.script_next = next + 1;
        let rank = self.sources.by_port[packet.source.index()];
        if rank != NIL && self.may_send(rank, Half::of_sl(packet.sl)) && !self.is_full(rank) {
            let Scripted { dlid, sl, bytes, .. } = packet;
            let header = Header { dlid: dlid.0, sl: sl.get(), bytes, flags: 0, source_path: 0, message: NIL };
            self.hand_over(rank, header);
        } else {
            self.sources.unsent += 1;
        }
    }

    /// Whether a source is there and sends on a half.
    fn may_send(&self, rank: u32, half: Half) -> bool {
        let source = &self.sources.list[rank as usize];
        self.traffic_on && !self.ledger.cut_off[rank as usize] && !source.silent && source.half == half
    }

    /// Sends a packet, a message by itself, from one end port to another on the half that its source is on.
    fn send(&mut self, rank: u32, destination: u32, bytes: u16) {
        if self.is_parted(rank, destination) {
            return;
        }
        let half = self.sources.list[rank as usize].half;
        let turn = self.next_turn(rank, destination);
        if self.crosses(rank, destination) {
            return self.send_across((rank, destination), half, bytes, 0, (turn, NIL));
        }
        if let Some(header) =
            self.header((rank, destination), half, bytes, |sim| sim.pair(rank, destination, half, turn))
        {
            self.hand_over(rank, header);
        }
    }

    /// What a packet to a destination says, a message by itself: of the path that subnet administration told its source,
    /// or else of a pair of LIDs. None where there is no pair.
    #[inline]
    pub(super) fn header(
        &self,
        (rank, destination): (u32, u32),
        half: Half,
        bytes: u16,
        pair: impl FnOnce(&Sim) -> Option<Pair>,
    ) -> Option<Header> {
        let plain = Header { dlid: 0, sl: 0, bytes, flags: 0, source_path: 0, message: NIL };
        if self.began_cold
            && let Some((dlid, sl)) = self.path(rank, destination)
        {
            return Some(Header { dlid: dlid.0, sl: sl.get(), ..plain });
        }
        let Pair { source_path, path, level } = pair(self)?;
        let to = &self.sources.list[destination as usize];
        let upper = if to.lids > 1 { half.index() as u16 * to.paths } else { 0 };
        Some(Header { dlid: to.lid + upper + path, sl: 8 * half.index() as u8 + level, source_path, ..plain })
    }

    /// Hands one packet to its send queue.
    pub(super) fn hand_over(&mut self, rank: u32, header: Header) {
        let Header { dlid, sl, bytes, flags, source_path, message } = header;
        let source = &mut self.sources.list[rank as usize];
        source.waiting += 1;
        source.queued[usize::from(sl / 8)] += 1;
        let port = source.port;
        let own = &self.net.ports[port as usize];
        let vl = self.net.tables.lane(own.node, 0, own.num, sl);
        self.ledger.counts.injected += 1;
        let packet = Packet {
            born: self.now,
            tail: self.now,
            next: NIL,
            source: rank,
            out_lane: NIL,
            dlid,
            bytes,
            credits: bytes.div_ceil(64),
            sl,
            flags,
            hops: 0,
            source_path,
        };
        let id = self.packets.insert(packet);
        self.tell_relation(id, |relation| relation.counts.injected += 1);
        if self.ledger.order.is_some() {
            let ends = self.ends_of(id);
            self.ledger.order.iter_mut().for_each(|order| order.sent(id, ends, message));
        }
        // A lane that discards has no queue; the first one serves to hand the packet to its end.
        let lane = self.net.lane(port, if vl < self.net.data_vls { vl } else { 0 });
        self.packets[id].out_lane = self.choose(port, id);
        if self.enqueue(lane, id) {
            self.offer(lane);
        }
    }

    /// A packet's tail has come to an end port.
    pub(super) fn deliver(&mut self, id: u32, port: u32) {
        let packet = self.packets[id];
        // The lane that brought it has its credits back at once: nothing waits in an end port.
        self.credit(packet.credits, packet.out_lane);
        let owner = self.sources.by_lid[self.sources.spaces.slot(port, packet.dlid)];
        let rank = self.sources.by_port[port as usize];
        let at = &self.net.ports[port as usize];
        if !at.alive || at.state == PortState::Initialize {
            if !at.alive {
                self.count_missed(port, packet.bytes);
            }
            return self.lose(id);
        }
        if owner != rank || rank == NIL {
            return self.misdeliver(id);
        }
        let receiver = &mut self.sources.list[rank as usize];
        receiver.received[usize::from(packet.sl)] += u64::from(packet.bytes / 4);
        let (now, latency) = (self.now, self.now - self.set_out(id));
        self.ledger.deliver(now, latency, packet.bytes);
        self.tell_relation(id, |relation| relation.deliver(now, latency, packet.bytes));
        self.ledger.deliver_in_order(id);
        let asks = packet.flags & IS_REPLY == 0 && self.config.replies > 0.0;
        let (origin, turn) = if asks { (self.ends_of(id).0, self.turn_of_reply(id)) } else { (packet.source, 0) };
        self.packets.remove(id);
        if asks {
            self.reply(rank, (origin, turn), &packet);
        }
    }

    fn reply(&mut self, rank: u32, (asker, turn): (u32, u32), request: &Packet) {
        let draw = f64::from(self.sources.list[rank as usize].random.next_u32());
        if draw < self.config.replies * 4_294_967_296.0 {
            let half = Half::of_sl(Sl::masked(request.sl));
            let lids = (request.source_path, request.dlid);
            if self.crosses(rank, asker) {
                return self.send_across((rank, asker), half, request.bytes, IS_REPLY, (turn, NIL));
            }
            let back = |sim: &Sim| sim.pair_back(rank, asker, half, lids);
            if let Some(header) = self.header((rank, asker), half, request.bytes, back) {
                self.hand_over(rank, Header { flags: IS_REPLY, ..header });
            }
        }
    }
}
