//! What became of every packet.
//!
//! A packet is delivered, in flight, stranded, lost to the failure or lost to the change. A lost packet is *stranded*
//! when its source or destination is cut off from the subnet manager, or omitted by the new routing. It is *lost to the
//! failure* when the path of its class, by the tables as they stood when it was sent, crosses an element that has died
//! since, or one that is back but not ACTIVE yet, by an entry that has not changed since its return; or when it ends
//! where an entry was taken away that led into what died. Every other loss is *lost to the change*, wrong deliveries
//! included. A log of overwritten blocks keeps the tables as they stood.

use super::Sim;
use super::fate::{LossCause, PacketCounts};
use super::index::{By, Dense, EndPortRank, PacketId};
use super::order::{DeliveryOrder, OrderCounts};
use super::out_port::OutPort;
use super::outage::Outages;
use super::packet::{Packet, PacketMarks};
use super::plane::DataPlane;
use super::series::Series;
use super::wheel::{TICKS_PER_NS, Ticks};
use crate::fabric::{NodeId, PortId};
use crate::ids::PortNum;
use hdrhistogram::Histogram;
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;

/// Latency and volume of one period of a run.
pub struct Period {
    /// When it began, in ticks.
    pub start: Ticks,
    /// When it ended, in ticks.
    pub end: Ticks,
    /// From send queue to delivery, in nanoseconds, of the packets delivered in the period.
    pub latency_ns: Histogram<u64>,
    /// Bytes delivered.
    pub bytes: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// The longest time without a delivery, in ticks.
    pub longest_gap: Ticks,
    /// What arrived in the period after something that was sent later; 0 where that is not counted
    /// ([`SimConfig::count_order`](super::SimConfig::count_order)).
    pub order: OrderCounts,
    /// When the last packet was delivered, or when the period began.
    pub(super) last_delivery: Ticks,
    /// By port: bytes of data sent before the period; empty for the first.
    pub(super) sent_before: Vec<u64>,
    /// For how long applications had waited for room in their send queues before the period, in ticks.
    pub(super) held_back_before: Ticks,
}

impl Period {
    pub(super) fn new(start: Ticks, sent_before: Vec<u64>) -> Period {
        let latency_ns = Histogram::new(3).expect("three significant figures are within the histogram's range");
        Period {
            start,
            end: start,
            latency_ns,
            bytes: 0,
            delivered: 0,
            longest_gap: 0,
            order: OrderCounts::default(),
            last_delivery: start,
            sent_before,
            held_back_before: 0,
        }
    }

    /// Counts a delivery; `now` in ticks.
    #[inline]
    pub(super) fn deliver(&mut self, now: Ticks, latency_ns: u64, bytes: u16) {
        self.delivered += 1;
        self.bytes += u64::from(bytes);
        self.longest_gap = self.longest_gap.max(now - self.last_delivery);
        self.last_delivery = now;
        self.latency_ns.record(latency_ns).expect("a histogram that grows by itself refuses nothing");
    }

    /// When the last packet was delivered, or when the period began, in nanoseconds since the run began; parts of one
    /// are dropped.
    pub fn last_delivery_ns(&self) -> u64 {
        self.last_delivery / TICKS_PER_NS
    }

    /// The longest time without a delivery, in nanoseconds.
    pub fn longest_gap_ns(&self) -> u64 {
        self.longest_gap / TICKS_PER_NS
    }

    /// Ends the period, in ticks.
    pub(super) fn close(&mut self, now: Ticks) {
        self.end = now;
        self.longest_gap = self.longest_gap.max(now - self.last_delivery);
    }
}

/// A block of a forwarding table that was overwritten: until when its entries stood, in ticks, and the entries.
type Overwritten = (Ticks, [u8; 64]);

/// A path of a packet, to be followed by the tables of some time.
#[derive(Clone, Copy)]
struct Journey<'a> {
    plane: &'a DataPlane,
    packet: &'a Packet,
    born: Ticks,
    now: Ticks,
    /// The time whose tables it follows, in ticks.
    tables: Ticks,
    /// Links at its beginning that the packet has left behind.
    passed: usize,
}

/// Where a path ends.
enum JourneyEnd {
    /// In what died.
    Dead,
    /// At a switch without an entry; the port that sends into it.
    Hole(PortId),
    /// At an end port, or in a loop.
    Alive,
}

/// The counts, and the history by which losses are judged.
pub struct Ledger {
    pub(super) counts: PacketCounts,
    pub(super) periods: Vec<Period>,
    /// What happened when.
    pub(super) series: Series,
    /// By switch and block, in order of time.
    history: FxHashMap<(NodeId, u16), Vec<Overwritten>>,
    /// By port: when it died last, in ticks; the highest number for never.
    died: By<PortId, Ticks>,
    /// When something died last, in ticks; 0 for never.
    last_death: Ticks,
    /// When anything died, in ticks, each moment once.
    deaths: Vec<Ticks>,
    /// By port: when it came back since, in ticks; the highest number for not yet.
    revived: By<PortId, Ticks>,
    /// By port: when it was made ACTIVE since, in ticks; the highest number for not yet.
    opened: By<PortId, Ticks>,
    /// Delivered to a port that does not own the DLID; counted among the lost as well.
    pub(super) misdelivered: u64,
    /// Order of arrival by flow; none where it is not counted.
    pub(super) order: Option<DeliveryOrder>,
    /// Pairs of end ports that lost packets.
    pub(super) outages: Outages,
}

impl Ledger {
    pub(super) fn new(ports: usize, count_order: bool) -> Ledger {
        Ledger {
            counts: PacketCounts::default(),
            periods: vec![Period::new(0, Vec::new())],
            series: Series::new(),
            history: FxHashMap::default(),
            died: By::filled(Ticks::MAX, ports),
            last_death: 0,
            deaths: Vec::new(),
            revived: By::filled(Ticks::MAX, ports),
            opened: By::filled(Ticks::MAX, ports),
            misdelivered: 0,
            order: count_order.then(DeliveryOrder::default),
            outages: Outages::default(),
        }
    }

    /// Records a block that is about to be overwritten.
    pub(super) fn remember(&mut self, switch: NodeId, block: u16, now: Ticks, entries: [u8; 64]) {
        self.history.entry((switch, block)).or_default().push((now, entries));
    }

    /// Counts a packet that is handed to a send queue.
    #[inline(always)]
    pub(super) fn inject(&mut self, sl: u8) {
        self.counts.injected += 1;
        self.series.set_out(sl);
    }

    /// Counts a loss.
    fn lose(&mut self, sl: u8, cause: LossCause) {
        self.series.lose(cause);
        self.series.end(sl);
        *cause.count(&mut self.counts) += 1;
    }

    /// Counts a delivery; `now` in ticks.
    #[inline]
    pub(super) fn deliver(&mut self, now: Ticks, latency_ns: u64, bytes: u16) {
        self.counts.delivered += 1;
        self.series.deliver(latency_ns, bytes);
        self.periods.last_mut().expect("a run is always in a period").deliver(now, latency_ns, bytes);
    }

    /// Counts a delivery as early or late in its flow.
    #[inline]
    pub(super) fn deliver_in_order(&mut self, id: PacketId) {
        if let Some(order) = &mut self.order {
            let period = self.periods.last_mut().expect("a run is always in a period");
            order.delivered(id, &mut period.order);
        }
    }

    pub(super) fn begin_period(&mut self, now: Ticks, sent_before: Vec<u64>, held_back_before: Ticks) {
        self.periods.last_mut().expect("a run is always in a period").close(now);
        self.periods.push(Period { held_back_before, ..Period::new(now, sent_before) });
    }

    /// How long a period lasted, or has lasted so far, in ticks.
    pub(super) fn length(&self, period: usize, now: Ticks) -> Ticks {
        let open = period + 1 == self.periods.len();
        let chosen = &self.periods[period];
        (if open { now } else { chosen.end }) - chosen.start
    }

    /// By port: the bytes of data that it has sent into its link in a period.
    pub(super) fn bytes_sent(&self, period: usize, plane: &DataPlane) -> Vec<u64> {
        let begin = self.periods[period].sent_before.iter().copied().chain(std::iter::repeat(0));
        let end = |(port, own): (usize, &OutPort)| match self.periods.get(period + 1) {
            Some(next) => next.sent_before[port],
            None => own.bytes_sent,
        };
        plane.ports.iter().enumerate().map(end).zip(begin).map(|(end, begin)| end - begin).collect()
    }

    /// A port's link died.
    pub(super) fn died(&mut self, port: PortId, now: Ticks) {
        (self.died[port], self.revived[port], self.opened[port]) = (now, Ticks::MAX, Ticks::MAX);
        self.last_death = now;
        if self.deaths.last() != Some(&now) {
            self.deaths.push(now);
        }
    }

    /// A port's link came back.
    pub(super) fn revived(&mut self, port: PortId, now: Ticks) {
        self.revived[port] = now;
    }

    /// A port was made ACTIVE.
    pub(super) fn opened(&mut self, port: PortId, now: Ticks) {
        // What a manager does to its state afterwards has nothing to do with the death.
        let is_first = self.revived[port] <= now && self.opened[port] == Ticks::MAX;
        self.opened[port] = if is_first { now } else { self.opened[port] };
    }

    /// Whether a packet was lost to what died: its path, by the tables as they stood when it was sent, crosses an
    /// element that has died since, or one that is back but not ACTIVE yet, by an entry from before its return; or it
    /// ends where an entry was taken away that led there.
    fn path_died(&self, plane: &DataPlane, id: PacketId, source_port: PortId, now: Ticks) -> bool {
        let (packet, born) = (&plane.packets[id], plane.packets.born[id]);
        let sent = Journey { plane, packet, born, now, tables: born, passed: usize::from(packet.hops) };
        match self.end_of(sent, source_port) {
            JourneyEnd::Dead => true,
            JourneyEnd::Alive => false,
            // No write may explain a loss away: only what led into the death may lead nowhere after it.
            // Of several deaths it may be any: the second may come when the entry has been taken away for the first.
            JourneyEnd::Hole(entered) => self.deaths.iter().rev().filter(|&&at| at <= born).any(|&tables| {
                let at_death = Journey { tables, passed: 0, ..sent };
                matches!(self.end_of(at_death, entered), JourneyEnd::Dead)
            }),
        }
    }

    /// Where the path of a packet ends, from a port that sends it.
    fn end_of(&self, journey: Journey<'_>, from: PortId) -> JourneyEnd {
        let Journey { plane, packet, born, now, tables, passed } = journey;
        // A packet that set out after an element came back was not sent into its death.
        let dead = |port: PortId| self.died[port] <= now && born < self.revived[port];
        // Unless no manager sent it there: until the port is ACTIVE, an entry from before leads into what the failure
        // left.
        let still_shut = |port: PortId| self.died[port] <= now && born < self.opened[port];
        let mut out = from;
        let mut entry_of = None;
        // A path that visits more switches than there are is a loop.
        for link in 0..=plane.tables.node_count() {
            let input = plane.ports[out].peer;
            // `hops` counts switches left, so link `hops` is the last on which the packet set out: it may still be on
            // that wire. Links that it has passed do not count: their death cannot have taken it.
            // One that had died when the packet was sent is none that it has passed: entries that changed on its way
            // led it elsewhere, and further.
            let lay_ahead = |port: PortId| link >= passed || self.died[port] <= born;
            if [out, input].into_iter().any(|port| dead(port) && lay_ahead(port)) {
                return JourneyEnd::Dead;
            }
            let stood = |port: PortId| {
                entry_of.is_some_and(|node| self.output_stood(plane, node, packet.dlid, self.revived[port]..=tables))
            };
            if link >= passed && [out, input].into_iter().any(|port| still_shut(port) && stood(port)) {
                return JourneyEnd::Dead;
            }
            let node = plane.ports[input].node;
            if !plane.is_switch(node) {
                // Where the way taken was longer than this path, only the port at its end is left to ask: the packet
                // may have been on the wire to it.
                return if dead(input) { JourneyEnd::Dead } else { JourneyEnd::Alive };
            }
            // The tables as they stood then, and no later ones: no write may explain a loss away.
            let num = self.output_at(plane, node, packet.dlid, tables);
            if num == 0 || num > plane.num_ports(node) {
                return JourneyEnd::Hole(out);
            }
            (out, entry_of) = (plane.port_at(node, PortNum(num)), Some(node));
            if plane.ports[out].peer.is_none() {
                return JourneyEnd::Alive;
            }
        }
        JourneyEnd::Alive
    }

    /// The output port of a switch for a DLID as it was at `time`, in ticks.
    fn output_at(&self, plane: &DataPlane, node: NodeId, dlid: u16, time: Ticks) -> u8 {
        let log = self.history.get(&(node, dlid / 64)).map_or(&[][..], Vec::as_slice);
        // The first overwrite after `time` saved what stood at `time`; without one the table stands as it did.
        match log.get(log.partition_point(|entry| entry.0 <= time)) {
            Some((_, entries)) => entries[usize::from(dlid % 64)],
            None => plane.tables.output(node, dlid),
        }
    }

    /// Whether the output port of a switch for a DLID stayed as it was over a time, in ticks; not over an empty one.
    fn output_stood(&self, plane: &DataPlane, node: NodeId, dlid: u16, time: RangeInclusive<Ticks>) -> bool {
        if time.is_empty() {
            return false;
        }
        let log = self.history.get(&(node, dlid / 64)).map_or(&[][..], Vec::as_slice);
        let [first, end] = [*time.start(), *time.end()].map(|time| log.partition_point(|entry| entry.0 <= time));
        let last = self.output_at(plane, node, dlid, *time.end());
        log[first..end].iter().all(|(_, entries)| entries[usize::from(dlid % 64)] == last)
    }
}

impl Sim {
    /// Counts a packet that came to the wrong port as lost to the change: no failure does that.
    #[cold]
    pub(super) fn misdeliver(&mut self, id: PacketId) {
        if self.plane.packets[id].marks.intersects(PacketMarks::NO_DATA) {
            return self.lose_no_data(id);
        }
        self.ledger.misdelivered += 1;
        self.settle(id, LossCause::Change);
    }

    /// Counts a packet that is gone, and forgets it.
    #[cold]
    pub(super) fn lose(&mut self, id: PacketId) {
        if self.plane.packets[id].marks.intersects(PacketMarks::NO_DATA) {
            return self.lose_no_data(id);
        }
        self.settle(id, self.cause_of_loss(id));
    }

    /// Forgets a question or a GMP that is gone; no fate of a user's packet.
    fn lose_no_data(&mut self, id: PacketId) {
        if self.plane.packets[id].marks.contains(PacketMarks::GMP) {
            self.lose_gmp(id);
        } else {
            self.end_question(id, false);
        }
    }

    fn cause_of_loss(&self, id: PacketId) -> LossCause {
        let (origin, destination) = self.ends_of(id);
        let sources = &self.sources;
        let cut_off = |rank: EndPortRank| rank.is_some() && (sources.cut_off[rank] || sources.unreachable[rank]);
        // First of all: no tables could have saved a packet whose end is cut off, so neither failure nor
        // change accounts for it.
        if cut_off(origin) || cut_off(destination) {
            return LossCause::CutOff;
        }
        let packet = &self.plane.packets[id];
        let source_port = sources.list[packet.source].port;
        if self.ledger.path_died(&self.plane, id, source_port, self.clock.now()) {
            LossCause::Failure
        } else {
            // The remainder: every loss without another cause is the change's, so none can be explained away.
            LossCause::Change
        }
    }

    /// Counts a packet's fate, and forgets it.
    fn settle(&mut self, id: PacketId, cause: LossCause) {
        self.open_bins();
        self.ledger.lose(self.plane.packets[id].sl, cause);
        self.count_in_relation(id, |relation| *cause.count(&mut relation.counts) += 1);
        // A pair whose way died has been without it since then, whenever it next tried.
        let since = if cause == LossCause::Failure { self.ledger.last_death } else { self.clock.now() };
        self.break_pair(id, since);
        self.plane.packets.remove(id);
    }

    /// The counts at this moment; packets that a cut-off source still holds are stranded.
    pub fn packets(&self) -> PacketCounts {
        let held = |source: &&super::source::Source| self.sources.cut_off[source.rank];
        let stranded: u64 = self.sources.list.iter().filter(held).map(|source| u64::from(source.waiting)).sum();
        let mut counts = self.ledger.counts;
        let no_data = self.questions.in_flight() + self.gmps.in_flight();
        counts.in_flight = self.plane.packets.len() as u64 - stranded - no_data;
        counts.stranded += stranded;
        counts
    }

    /// Checks that credits and packets are conserved. Panics where either is not.
    pub(super) fn assert_conserved(&self) {
        self.plane.assert_conserved();
        self.gmps.assert_conserved();
        let PacketCounts { injected, delivered, in_flight, stranded, lost_to_failure, lost_to_change } = self.packets();
        assert!(
            injected == delivered + in_flight + stranded + lost_to_failure + lost_to_change,
            "{injected} packets injected, and {delivered} delivered, {in_flight} in flight, {stranded} stranded, \
             {lost_to_failure} lost to the failure, {lost_to_change} lost to the change"
        );
    }
}
