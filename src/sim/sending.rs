//! Packets from sources to send queues, and from the wire to their destinations.
//!
//! `source` decides which end port may send what to which other, and `relay` which packets go to other subnets. Here an
//! event becomes a packet, a packet that arrives is counted, and its consequences follow: a reply, the next packet of a
//! message, or a packet that an application had to hold back.

use super::dispersal::{OpenMessage, Spray};
use super::index::{Dense, EndPortRank, OutLane, PacketId};
use super::monitor::MONITOR;
use super::order::FlowClass;
use super::out_port::PortRole;
use super::packet::{NIL, Packet, PacketMarks, half_index};
use super::source::{Application, Header, PacketSpec, Scripted, chance, fraction};
use super::wheel::{SimEvent, TICKS_PER_NS, Ticks};
use super::{MessageShare, Sim, Traffic, kind};
use crate::fabric::PortId;
use crate::ids::{Half, Sl};
use crate::wire::PortState;

/// Stands for the script in events in place of a rank; [`NIL`] stands for the trace.
const SCRIPT: u32 = NIL - 1;

impl Sim {
    // When something is sent.

    /// Lets every source begin, at a random phase of its interval.
    pub(super) fn start_traffic(&mut self) {
        if let Traffic::Trace(entries) = &self.config.traffic {
            if let Some(first) = entries.first() {
                self.clock.push(first.0 * TICKS_PER_NS, SimEvent::new(kind::INJECT, NIL, 0));
            }
            return;
        }
        for rank in self.sources.list.keys() {
            if self.sources.list[rank].application == Application::Idle && self.sources.is_host(rank) {
                self.schedule_first(rank);
            }
        }
    }

    /// Lets a source draw its first packet, if traffic is on and none of its packets is due.
    pub(super) fn begin_sending(&mut self, rank: EndPortRank) {
        let by_itself = !matches!(self.config.traffic, Traffic::Trace(_));
        let idle = self.sources.list[rank].application == Application::Idle;
        if self.sources.sending && by_itself && idle && self.sources.is_host(rank) {
            self.schedule_first(rank);
        }
    }

    fn schedule_first(&mut self, rank: EndPortRank) {
        let wait = self.sources.list[rank].draw_first_wait(&self.config);
        self.schedule(rank, wait);
    }

    #[inline(always)]
    fn schedule_next(&mut self, rank: EndPortRank) {
        let wait = self.sources.list[rank].draw_wait(&self.config);
        self.schedule(rank, wait);
    }

    #[inline(always)]
    fn schedule(&mut self, rank: EndPortRank, wait: Option<Ticks>) {
        let source = &mut self.sources.list[rank];
        let Some(wait) = wait else {
            source.application = Application::Idle;
            return;
        };
        source.application = Application::Due;
        self.clock.push(self.clock.now() + wait, SimEvent::new(kind::INJECT, rank.0, 0));
    }

    /// A source's next packet, trace entry or script entry is due.
    #[inline]
    pub(super) fn inject(&mut self, who: u32) {
        match who {
            NIL => self.inject_from_trace(),
            SCRIPT => self.inject_from_script(),
            MONITOR => self.ask_next(),
            rank => self.inject_next(EndPortRank(rank)),
        }
    }

    #[inline(never)]
    fn inject_next(&mut self, rank: EndPortRank) {
        let source = &mut self.sources.list[rank];
        let waits = source.is_silent() || self.sources.cold && !self.plane.ports[source.port].sends();
        if !self.sources.sending || self.sources.cut_off[rank] || waits {
            source.application = Application::Idle;
            return;
        }
        if self.config.sends_messages() {
            return self.go_on_with_message(rank);
        }
        if self.is_full(rank) {
            self.sources.list[rank].application = Application::HeldBack;
            self.sources.held_back.begins(self.clock.now());
            return;
        }
        // The source may draw a destination that it does not know: then it sends nothing this time.
        let destination = self.draw_destination(rank);
        if self.sources.has_path(rank, destination) {
            self.send(rank, destination, self.config.packet_bytes);
        }
        self.schedule_next(rank);
    }

    /// A packet has left a send queue: of data or not, on this level. An application that waited for room continues.
    #[inline(always)]
    pub(super) fn left_send_queue(&mut self, rank: EndPortRank, sl: u8, is_data: bool) {
        let counted = !self.is_reserved(sl);
        if self.sources.list[rank].left_queue(sl, is_data, counted) {
            self.application_continues(rank);
        }
    }

    /// The application of a source has waited for room, and there is some.
    #[inline(never)]
    fn application_continues(&mut self, rank: EndPortRank) {
        self.sources.held_back.ends(self.clock.now());
        if self.sources.list[rank].message.is_some() {
            // In the middle of a message it continues at once.
            self.clock.push(self.clock.now(), SimEvent::new(kind::INJECT, rank.0, 0));
        } else {
            self.schedule_next(rank);
        }
    }

    /// Whether a service level is of neither half.
    #[inline]
    pub(super) fn is_reserved(&self, sl: u8) -> bool {
        self.config.reserved.is_some_and(|level| level.sl.get() == sl)
    }

    #[inline(always)]
    fn is_full(&mut self, rank: EndPortRank) -> bool {
        let full = self.sources.list[rank].waiting >= u32::from(self.config.send_queue);
        self.sources.throttled += u64::from(full);
        full
    }

    #[inline(always)]
    fn draw_destination(&mut self, rank: EndPortRank) -> EndPortRank {
        match &self.relays {
            Some(relays) => relays.draw_destination(&mut self.sources, &self.config.traffic, rank),
            None => self.sources.draw_destination(&self.config.traffic, rank),
        }
    }

    fn inject_from_trace(&mut self) {
        let next = self.sources.trace_next;
        let Traffic::Trace(entries) = &self.config.traffic else { return };
        let Some(&(_, source, destination, bytes)) = entries.get(next).filter(|_| self.sources.sending) else { return };
        let following = entries.get(next + 1).map(|entry| entry.0 * TICKS_PER_NS);
        self.sources.trace_next = next + 1;
        // Traffic names hosts by their rank among hosts.
        let host = |rank| match &self.relays {
            Some(relays) => relays.host(rank),
            None => Some(EndPortRank(rank)),
        };
        if let (Some(source), Some(destination)) = (host(source), host(destination))
            && self.sources.has_path(source, destination)
            && !self.is_full(source)
        {
            self.send(source, destination, bytes);
        }
        if let Some(time) = following {
            self.clock.push(time.max(self.clock.now()), SimEvent::new(kind::INJECT, NIL, 0));
        }
    }

    /// Sends packets that the caller decides on, besides the configured traffic; replaces those not sent yet. A packet
    /// is sent only if its source could send it by itself: the source must be present, on the packet's half, and have
    /// room in its send queue. Others are counted ([`Sim::unsent`]). Times must not lie in the past.
    pub fn script(&mut self, mut packets: Vec<Scripted>) {
        packets.sort_by_key(|packet| packet.at_ns);
        if let Some(first) = packets.first() {
            let at = (first.at_ns * TICKS_PER_NS).max(self.clock.now());
            self.clock.push(at, SimEvent::new(kind::INJECT, SCRIPT, 0));
        }
        (self.sources.script, self.sources.script_next) = (packets, 0);
    }

    fn inject_from_script(&mut self) {
        let next = self.sources.script_next;
        let Some(&packet) = self.sources.script.get(next) else { return };
        if let Some(following) = self.sources.script.get(next + 1) {
            // One event is under way for the whole script: each packet schedules the next.
            let at = (following.at_ns * TICKS_PER_NS).max(self.clock.now());
            self.clock.push(at, SimEvent::new(kind::INJECT, SCRIPT, 0));
        }
        self.sources.script_next = next + 1;
        let rank = self.sources.by_port[packet.source];
        if rank.is_some() && self.sources.may_send(rank, Half::of_sl(packet.sl)) && !self.is_full(rank) {
            let Scripted { dlid, sl, bytes, .. } = packet;
            let header = Header {
                dlid: dlid.0,
                sl: sl.get(),
                bytes,
                marks: PacketMarks::default(),
                source_path: 0,
                message: NIL,
            };
            self.hand_over(rank, header);
        } else {
            self.sources.unsent += 1;
        }
    }

    // Messages of several packets.

    /// Hands over the packets that fit of the message that a source is sending, or else of its next message.
    fn go_on_with_message(&mut self, rank: EndPortRank) {
        let underway = self.sources.list[rank].message.take();
        let mut message = underway.unwrap_or_else(|| self.begin_message(rank));
        // A destination that is cut off in the middle of a message ends it: the rest is never handed over.
        while message.left > 0 && self.sources.has_path(rank, message.destination) {
            if self.is_full(rank) {
                let source = &mut self.sources.list[rank];
                (source.message, source.application) = (Some(message), Application::HeldBack);
                self.sources.held_back.begins(self.clock.now());
                return;
            }
            message.left -= 1;
            self.send_of_message(rank, &message);
        }
        let Some(next) = message.next else {
            self.sources.list[rank].application = Application::Idle;
            return;
        };
        self.sources.list[rank].application = Application::Due;
        // The time was drawn when the message began, so a wait for room does not lower the load.
        self.clock.push(next.max(self.clock.now()), SimEvent::new(kind::INJECT, rank.0, 0));
    }

    fn begin_message(&mut self, rank: EndPortRank) -> OpenMessage {
        let destination = self.draw_destination(rank);
        let (left, last_bytes) = self.draw_length(rank);
        let by_message = self.config.dispersal.spray == Spray::Message;
        let turn = if by_message { self.sources.next_turn(rank, destination) } else { 0 };
        let number = self.ledger.order.as_mut().map_or(0, |order| order.begin_message(left));
        let next = self.sources.list[rank].draw_wait(&self.config).map(|wait| self.clock.now() + wait);
        OpenMessage { destination, left, last_bytes, turn, number, next }
    }

    /// Packets of a source's next message, and the bytes of the last.
    fn draw_length(&mut self, rank: EndPortRank) -> (u16, u16) {
        let config = &self.config;
        let Some(last) = config.message_mix.last() else { return (config.message_packets, config.packet_bytes) };
        let shares: f64 = config.message_mix.iter().map(|size| size.share).sum();
        let mut drawn = fraction(&mut self.sources.list[rank].random) * shares;
        let within = |size: &&MessageShare| {
            drawn -= size.share;
            drawn < 0.0
        };
        config.message_mix.iter().find(within).unwrap_or(last).packets(config.packet_bytes)
    }

    fn send_of_message(&mut self, rank: EndPortRank, message: &OpenMessage) {
        let destination = message.destination;
        if self.is_parted(rank, destination) {
            return;
        }
        let turn = match self.config.dispersal.spray {
            Spray::Message => message.turn,
            Spray::Packet => self.sources.next_turn(rank, destination),
        };
        self.dispatch(PacketSpec {
            source: rank,
            destination,
            half: self.sources.list[rank].half,
            bytes: if message.left == 0 { message.last_bytes } else { self.config.packet_bytes },
            marks: PacketMarks::default(),
            turn,
            message: message.number,
        });
    }

    // What is sent.

    /// Sends a packet, a message by itself, from one end port to another on the half that its source is on.
    #[inline(always)]
    fn send(&mut self, rank: EndPortRank, destination: EndPortRank, bytes: u16) {
        if self.is_parted(rank, destination) {
            return;
        }
        let half = self.sources.list[rank].half;
        let turn = self.sources.next_turn(rank, destination);
        self.dispatch(PacketSpec {
            source: rank,
            destination,
            half,
            bytes,
            marks: PacketMarks::default(),
            turn,
            message: NIL,
        });
    }

    /// Hands over a packet within a subnet, or to a router towards another.
    #[inline(always)]
    fn dispatch(&mut self, spec: PacketSpec) {
        if self.crosses(spec.source, spec.destination) {
            return self.send_across(&spec);
        }
        if let Some(header) = self.sources.header(&spec) {
            self.hand_over(spec.source, header);
        }
    }

    /// Hands one packet to its send queue.
    pub(super) fn hand_over(&mut self, rank: EndPortRank, header: Header) {
        let Header { dlid, sl, bytes, marks, source_path, message } = header;
        let is_data = !marks.has(PacketMarks::NO_DATA);
        let counted = !self.is_reserved(sl);
        let source = &mut self.sources.list[rank];
        source.waiting += u32::from(is_data);
        source.queued[half_index(sl)] += u32::from(counted);
        let port = source.port;
        let own = &self.plane.ports[port];
        // The lane is chosen here, whatever the latch, and for good: VL arbitration chooses among lanes, so a port maps
        // a packet to its lane before the packet can wait for its turn (IBA 7.6.6, 7.6.9).
        let vl = self.plane.tables.lane(own.node, 0, own.num, sl);
        let at_end = own.role == PortRole::EndPort;
        // An end port has one table, and its lane is chosen already. Another port asks for each packet.
        let out_lane = if at_end { self.plane.running(port, vl) } else { OutLane::NONE };
        self.ledger.counts.injected += u64::from(is_data);
        let id = self.plane.packets.insert(
            Packet {
                tail: self.clock.now(),
                next: PacketId::NONE,
                source: rank,
                out_lane,
                dlid,
                bytes,
                credits: bytes.div_ceil(64),
                sl,
                marks,
                hops: 0,
                source_path,
            },
            self.clock.now(),
        );
        if is_data {
            self.open_bins();
            self.ledger.series.set_out(sl);
            self.count_in_relation(id, |relation| relation.counts.injected += 1);
        }
        if is_data && self.ledger.order.is_some() {
            let ends = self.ends_of(id);
            let class = FlowClass::of(&self.plane.packets[id]);
            self.ledger.order.iter_mut().for_each(|order| order.sent(id, ends, class, message));
        }
        // VL 15 and lanes that the run lacks have no queue, so the first queue takes the packet and discards it (P3.8).
        let lane = self.plane.in_lane(port, if vl < self.plane.data_vls { vl } else { 0 });
        if !at_end {
            self.plane.packets[id].out_lane = self.plane.choose(port, id);
        } else if out_lane.is_lane() && !marks.has(PacketMarks::TOLD) && self.may_pass(lane) {
            return match self.plane.send_at_once(&mut self.clock, out_lane, id) {
                Some(leaving) => {
                    self.count_departure(id, out_lane, &leaving);
                    self.left_send_queue(rank, sl, is_data);
                    self.announce(id, leaving);
                }
                None => self.stay(lane, id, out_lane),
            };
        }
        if self.plane.enqueue(lane, id) {
            self.offer(lane);
        }
    }

    // What is received.

    /// A packet's tail has come to an end port.
    #[inline(never)]
    pub(super) fn deliver(&mut self, id: PacketId, port: PortId) {
        let packet = self.plane.packets[id];
        // The lane that brought it has its credits back at once: no packet waits in an end port.
        self.credit(packet.credits, packet.out_lane);
        if packet.marks.has(PacketMarks::GMP) {
            return self.gmp_arrives(id, port);
        }
        let owner = self.sources.owner(port, packet.dlid);
        let rank = self.sources.by_port[port];
        let at = &self.plane.ports[port];
        if !at.is_up() || at.state == PortState::Initialize {
            if !at.is_up() {
                self.counters.miss(port, packet.bytes);
            }
            return self.lose(id);
        }
        if owner != rank || rank.is_none() {
            return self.misdeliver(id);
        }
        self.sources.list[rank].received[usize::from(packet.sl)] += u64::from(packet.bytes / 4);
        let now = self.clock.now();
        // The histograms begin at 1.
        let latency_ns = ((now - self.set_out(id)) / TICKS_PER_NS).max(1);
        self.open_bins();
        self.ledger.deliver(now, latency_ns, packet.bytes);
        self.ledger.series.end(packet.sl);
        self.count_in_relation(id, |relation| relation.deliver(now, latency_ns, packet.bytes));
        self.ledger.deliver_in_order(id);
        if self.ledger.outages.any_out() {
            let (ends, sent) = (self.ends_of(id), self.set_out(id));
            self.ledger.outages.arrived(ends, sent, now);
        }
        let is_message = packet.marks.has(PacketMarks::MESSAGE);
        let asks = !is_message && !packet.marks.has(PacketMarks::REPLY) && self.config.replies > 0.0;
        // The packet's header names the destination of the reply, so it must be read before the packet is removed.
        let asker = if asks { Some((self.ends_of(id).0, self.turn_of_reply(id))) } else { None };
        let message = if is_message { self.connections.taken(id) } else { None };
        self.plane.packets.remove(id);
        if let Some(message) = message {
            self.message_comes(rank, &packet, message);
        }
        if let Some((asker, turn)) = asker
            && chance(&mut self.sources.list[rank].random, self.config.replies)
        {
            self.reply(rank, asker, turn, &packet);
        }
    }

    /// Answers a request by a packet of its size, on the half of the request (P3.6).
    fn reply(&mut self, rank: EndPortRank, asker: EndPortRank, turn: u32, request: &Packet) {
        let half = Half::of_sl(Sl::masked(request.sl));
        let (marks, bytes) = (PacketMarks::REPLY, request.bytes);
        let spec = PacketSpec { source: rank, destination: asker, half, bytes, marks, turn, message: NIL };
        if self.crosses(rank, asker) {
            return self.send_across(&spec);
        }
        let sources = &self.sources;
        let recorded = if sources.cold { sources.recorded_header(&spec) } else { None };
        let by_pair = || sources.pair_back(rank, asker, half, request).map(|pair| sources.header_by(&spec, pair));
        if let Some(header) = recorded.or_else(by_pair) {
            self.hand_over(rank, header);
        }
    }

    // Arrivals and departures of end ports.

    /// Hides end ports that are cut off before the run begins, until they arrive.
    pub(super) fn hide_cut_off(&mut self) {
        let sources = &mut self.sources;
        if !sources.cold {
            let away = sources.list.iter_mut().filter(|source| sources.cut_off[source.rank]);
            away.for_each(super::source::Source::hide);
        }
    }

    /// End ports have arrived: no other knows them, they wait to be assigned a half, and what they queued while they
    /// were cut off is gone.
    pub(super) fn welcome(&mut self, ranks: &[EndPortRank]) {
        self.sources.begin_arrival();
        for &rank in ranks {
            self.drop_queue(rank);
            self.sources.arrive(rank);
            self.source_wakes(self.sources.list[rank].port);
        }
    }

    /// Empties the send queues of an end port that was cut off until now; these packets count as stranded.
    fn drop_queue(&mut self, rank: EndPortRank) {
        let source = &mut self.sources.list[rank];
        if source.application == Application::HeldBack {
            source.application = Application::Idle;
            self.sources.held_back.ends(self.clock.now());
        }
        let source = &mut self.sources.list[rank];
        source.message = None;
        let port = source.port;
        self.sources.cut_off[rank] = true;
        self.empty_queues(port);
        self.sources.cut_off[rank] = false;
    }

    /// Assigns a half to an end port (P3.3); one that was silent may begin to send.
    pub(super) fn tell_half(&mut self, rank: EndPortRank, half: Half) {
        if self.sources.take_half(rank, half) {
            self.begin_sending(rank);
        }
    }

    /// Sets the end ports that the new routing omits: a source that is assigned the new half has no path from or to
    /// them.
    pub fn omit(&mut self, ports: &[PortId]) {
        self.sources.omit(ports);
    }
}
