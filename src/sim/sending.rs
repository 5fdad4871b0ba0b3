//! Packets from sources to send queues, and from the wire to their destinations.
//!
//! `source` decides which end port may send what to which other, and `relay` which packets go to other subnets. Here an
//! event becomes a packet, a packet that arrives is counted, and its consequences follow: a reply, the next packet of a
//! message, or a packet that an application had to hold back.

use super::dispersal::{OpenMessage, Spray};
use super::index::{Dense, EndPortRank, OutLane, PacketId};
use super::order::FlowClass;
use super::out_port::PortRole;
use super::packet::{NIL, Packet, PacketMarks};
use super::source::{Header, PacketSpec, Scripted, chance};
use super::wheel::{SimEvent, TICKS_PER_NS, Ticks};
use super::{Sim, Traffic, kind};
use crate::fabric::PortId;
use crate::ids::{Half, Sl};
use crate::wire::PortState;

/// Who hands over a packet when an event of kind [`kind::INJECT`] comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Injector {
    /// The application of an end port.
    Source(EndPortRank),
    /// Whoever the next entry of the trace names.
    Trace,
    /// Whoever the next packet of the script names.
    Script,
    /// The host whose turn it is to ask a switch (`monitor`).
    Monitor,
}

impl Injector {
    // In place of a rank. The trace hash takes in what an event says, so other numbers are other hashes.
    const TRACE: u32 = u32::MAX;
    const SCRIPT: u32 = u32::MAX - 1;
    const MONITOR: u32 = u32::MAX - 2;

    /// The event that lets it hand over a packet.
    #[inline(always)]
    pub(super) fn event(self) -> SimEvent {
        let operand = match self {
            Injector::Source(rank) => rank.0,
            Injector::Trace => Injector::TRACE,
            Injector::Script => Injector::SCRIPT,
            Injector::Monitor => Injector::MONITOR,
        };
        SimEvent::new(kind::INJECT, operand, 0)
    }

    /// Whose event it is.
    #[inline(always)]
    pub(super) fn of(event: SimEvent) -> Injector {
        match event.a() {
            Injector::TRACE => Injector::Trace,
            Injector::SCRIPT => Injector::Script,
            Injector::MONITOR => Injector::Monitor,
            rank => Injector::Source(EndPortRank(rank)),
        }
    }
}

impl Sim {
    // When something is sent.

    /// Lets every source begin, at a random phase of its interval.
    pub(super) fn start_traffic(&mut self) {
        if let Traffic::Trace(entries) = &self.config.traffic {
            if let Some(first) = entries.first() {
                self.clock.push(first.0 * TICKS_PER_NS, Injector::Trace.event());
            }
            return;
        }
        for rank in self.sources.list.keys() {
            if self.sources.list[rank].is_idle() && self.sources.is_host(rank) {
                self.schedule_first(rank);
            }
        }
    }

    /// Lets a source draw its first packet, if traffic is on and none of its packets is due.
    pub(super) fn begin_sending(&mut self, rank: EndPortRank) {
        let by_itself = !matches!(self.config.traffic, Traffic::Trace(_));
        let idle = self.sources.list[rank].is_idle();
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
            return source.becomes_idle();
        };
        source.becomes_due();
        self.clock.push(self.clock.now() + wait, Injector::Source(rank).event());
    }

    /// A packet of an injector is due.
    #[inline(always)]
    pub(super) fn inject(&mut self, injector: Injector) {
        match injector {
            Injector::Source(rank) => self.inject_next(rank),
            Injector::Trace => self.inject_from_trace(),
            Injector::Script => self.inject_from_script(),
            Injector::Monitor => self.ask_next(),
        }
    }

    #[inline(never)]
    fn inject_next(&mut self, rank: EndPortRank) {
        let source = &mut self.sources.list[rank];
        let waits = source.is_silent() || self.sources.cold && !self.plane.ports[source.port].sends();
        if !self.sources.sending || self.sources.cut_off[rank] || waits {
            return source.becomes_idle();
        }
        if self.config.sends_messages() {
            return self.go_on_with_message(rank);
        }
        if !self.sources.finds_room(rank, self.config.send_queue, self.clock.now()) {
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
        if self.sources.list[rank].leaves_queue(sl, is_data, counted) {
            self.application_continues(rank);
        }
    }

    /// The application of a source has waited for room, and there is some.
    #[inline(never)]
    fn application_continues(&mut self, rank: EndPortRank) {
        if self.sources.release(rank, self.clock.now()).message.is_some() {
            // In the middle of a message it continues at once.
            self.clock.push(self.clock.now(), Injector::Source(rank).event());
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
    fn draw_destination(&mut self, rank: EndPortRank) -> EndPortRank {
        match &self.routers {
            Some(routers) => routers.draw_destination(&mut self.sources, &self.config.traffic, rank),
            None => self.sources.draw_destination(&self.config.traffic, rank),
        }
    }

    fn inject_from_trace(&mut self) {
        let Traffic::Trace(trace) = &self.config.traffic else { return };
        let Some(((_, source, destination, bytes), following)) = self.sources.next_traced(trace) else { return };
        // Traffic names hosts by their rank among hosts.
        let host = |rank| match &self.routers {
            Some(routers) => routers.host(rank),
            None => Some(EndPortRank(rank)),
        };
        if let (Some(source), Some(destination)) = (host(source), host(destination))
            && self.sources.has_path(source, destination)
            && !self.sources.is_full(source, self.config.send_queue)
        {
            self.send(source, destination, bytes);
        }
        if let Some(time) = following {
            self.clock.push(time.max(self.clock.now()), Injector::Trace.event());
        }
    }

    /// Sends packets that the caller decides on, besides the configured traffic; replaces those not sent yet. A packet
    /// is sent only if its source could send it by itself: the source must be present, on the packet's half, and have
    /// room in its send queue. Others are counted ([`Sim::unsent`]). Times must not lie in the past.
    pub fn script(&mut self, packets: Vec<Scripted>) {
        if let Some(first) = self.sources.take_script(packets) {
            self.clock.push(first.max(self.clock.now()), Injector::Script.event());
        }
    }

    fn inject_from_script(&mut self) {
        let Some((packet, following)) = self.sources.next_scripted() else { return };
        if let Some(following) = following {
            // One event is under way for the whole script: each packet schedules the next.
            self.clock.push(following.max(self.clock.now()), Injector::Script.event());
        }
        if let Some(rank) = self.sources.source_of(&packet, self.config.send_queue) {
            let Scripted { dlid, sl, bytes, .. } = packet;
            let header =
                Header { dlid: dlid.0, sl: sl.get(), bytes, marks: PacketMarks::empty(), source_path: 0, message: NIL };
            self.hand_over(rank, header);
        }
    }

    // Messages of several packets.

    /// Hands over the packets that fit of the message that a source is sending, or else of its next message.
    fn go_on_with_message(&mut self, rank: EndPortRank) {
        let underway = self.sources.list[rank].message.take();
        let mut message = underway.unwrap_or_else(|| self.begin_message(rank));
        // A destination that is cut off in the middle of a message ends it: the rest is never handed over.
        while message.left > 0 && self.sources.has_path(rank, message.destination) {
            if !self.sources.finds_room(rank, self.config.send_queue, self.clock.now()) {
                self.sources.list[rank].message = Some(message);
                return;
            }
            message.left -= 1;
            self.send_of_message(rank, &message);
        }
        let source = &mut self.sources.list[rank];
        let Some(next) = message.next else { return source.becomes_idle() };
        source.becomes_due();
        // The time was drawn when the message began, so a wait for room does not lower the load.
        self.clock.push(next.max(self.clock.now()), Injector::Source(rank).event());
    }

    fn begin_message(&mut self, rank: EndPortRank) -> OpenMessage {
        let destination = self.draw_destination(rank);
        let (left, last_bytes) = self.sources.list[rank].draw_length(&self.config);
        let by_message = self.config.dispersal.spray == Spray::Message;
        let turn = if by_message { self.sources.next_turn(rank, destination) } else { 0 };
        let number = self.ledger.order.as_mut().map_or(0, |order| order.begin_message(left));
        let next = self.sources.list[rank].draw_wait(&self.config).map(|wait| self.clock.now() + wait);
        OpenMessage { destination, left, last_bytes, turn, number, next }
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
            marks: PacketMarks::empty(),
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
            marks: PacketMarks::empty(),
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
        let is_data = !marks.intersects(PacketMarks::NO_DATA);
        let counted = !self.is_reserved(sl);
        let source = &mut self.sources.list[rank];
        source.joins_queue(sl, is_data, counted);
        let port = source.port;
        let own = &self.plane.ports[port];
        // The lane is chosen here, whatever the latch, and for good: VL arbitration chooses among lanes, so a port maps
        // a packet to its lane before the packet can wait for its turn (IBA 7.6.6, 7.6.9).
        let vl = self.plane.tables.lane(own.node, 0, own.num, sl);
        let at_end = own.role == PortRole::EndPort;
        // An end port has one table, and its lane is chosen already. Another port asks for each packet.
        let out_lane = if at_end { self.plane.running(port, vl) } else { OutLane::NONE };
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
            self.ledger.inject(sl);
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
            self.plane.latch(id, self.plane.choose(port, id));
        } else if out_lane.is_lane() && !marks.intersects(PacketMarks::COUNTED_BY_DEVICE) && self.may_pass(lane) {
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
        if packet.marks.contains(PacketMarks::GMP) {
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
        self.sources.list[rank].receives(packet.sl, packet.bytes);
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
        let is_message = packet.marks.contains(PacketMarks::MESSAGE);
        let asks = !is_message && !packet.marks.contains(PacketMarks::REPLY) && self.config.replies > 0.0;
        // The packet's header names the destination of the reply, so it must be read before the packet is removed.
        let asker = if asks { Some((self.ends_of(id).0, self.turn_of_reply(id))) } else { None };
        let message = if is_message { self.connections.take_message(id) } else { None };
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
        self.sources.give_up_message(rank, self.clock.now());
        // A loss counts as stranded while an end of the packet is cut off.
        self.sources.cut_off[rank] = true;
        self.empty_queues(self.sources.list[rank].port);
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
