//! What became of every packet.
//!
//! A packet is delivered, in flight, stranded, lost to the failure or lost to the change. It is *stranded* when it is lost
//! and its source or destination is cut off from the subnet manager, or omitted by the new routing; *lost to the failure* when the path of its class, as the tables stood
//! when it was sent, crosses an element that has died; everything else that is lost is *lost to the change*, wrong
//! deliveries included. The tables as they stood are kept as a log of overwritten blocks.

use super::Sim;
use super::order::{Order, OrderCounts};
use super::packet::NIL;
use super::wheel::{TICKS_PER_NS, Ticks};
use hdrhistogram::Histogram;
use rustc_hash::FxHashMap;

/// Packets by what became of them. `injected` is the sum of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct PacketCounts {
    /// Handed to a send queue.
    pub injected: u64,
    /// Arrived at the port that owns their DLID.
    pub delivered: u64,
    /// Still on their way.
    pub in_flight: u64,
    /// Sent by or to an end port that is cut off.
    pub stranded: u64,
    /// Their path, as it was when they were sent, crossed an element that died.
    pub lost_to_failure: u64,
    /// Everything else that is lost.
    pub lost_to_change: u64,
}

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
    /// What arrived in the period after something that was sent later; nought where that is not counted
    /// ([`SimConfig::count_order`](super::SimConfig::count_order)).
    pub order: OrderCounts,
    /// When the last packet was delivered, or when the period began.
    pub(super) last_delivery: Ticks,
    /// By port: bytes of data sent before the period; empty for the first.
    pub(super) sent_before: Vec<u64>,
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
        }
    }

    /// A packet was delivered in it.
    pub(super) fn deliver(&mut self, now: Ticks, latency: Ticks, bytes: u16) {
        self.delivered += 1;
        self.bytes += u64::from(bytes);
        self.longest_gap = self.longest_gap.max(now - self.last_delivery);
        self.last_delivery = now;
        let latency_ns = (latency / TICKS_PER_NS).max(1);
        self.latency_ns.record(latency_ns).expect("a histogram that grows by itself refuses nothing");
    }

    /// The longest time without a delivery, in nanoseconds.
    pub fn longest_gap_ns(&self) -> u64 {
        self.longest_gap / TICKS_PER_NS
    }

    /// It is over.
    pub(super) fn close(&mut self, now: Ticks) {
        self.end = now;
        self.longest_gap = self.longest_gap.max(now - self.last_delivery);
    }
}

/// A block of a forwarding table that was overwritten: until when its entries stood, and what they were.
type Overwritten = (Ticks, [u8; 64]);

/// The counts, and what they are judged by.
pub struct Ledger {
    pub(super) counts: PacketCounts,
    pub(super) periods: Vec<Period>,
    /// By row and block, in order of time.
    history: FxHashMap<(u32, u16), Vec<Overwritten>>,
    /// By port: when it died last.
    pub(super) died: Vec<Ticks>,
    /// By port: when it came back since.
    pub(super) revived: Vec<Ticks>,
    /// By end-port rank: cut off from the subnet manager.
    pub(super) cut_off: Vec<bool>,
    /// Delivered to a port that does not own the DLID; counted among the lost as well.
    pub(super) misdelivered: u64,
    /// Who came late; none where nobody asks.
    pub(super) order: Option<Order>,
}

impl Ledger {
    pub(super) fn new(ports: usize, end_ports: usize, count_order: bool) -> Ledger {
        Ledger {
            counts: PacketCounts::default(),
            periods: vec![Period::new(0, Vec::new())],
            history: FxHashMap::default(),
            died: vec![Ticks::MAX; ports],
            revived: vec![Ticks::MAX; ports],
            cut_off: vec![false; end_ports],
            misdelivered: 0,
            order: count_order.then(Order::default),
        }
    }

    /// Remembers a block that is about to be overwritten.
    pub(super) fn remember(&mut self, row: u32, block: u16, now: Ticks, entries: &[u8]) {
        let mut copy = [255; 64];
        copy.copy_from_slice(entries);
        self.history.entry((row, block)).or_default().push((now, copy));
    }

    pub(super) fn deliver(&mut self, now: Ticks, latency: Ticks, bytes: u16) {
        self.counts.delivered += 1;
        self.periods.last_mut().expect("a run is always in a period").deliver(now, latency, bytes);
    }

    /// Counts a delivery as early or late in its flow.
    #[inline]
    pub(super) fn deliver_in_order(&mut self, id: u32) {
        if let Some(order) = &mut self.order {
            let period = self.periods.last_mut().expect("a run is always in a period");
            order.delivered(id, &mut period.order);
        }
    }

    pub(super) fn begin_period(&mut self, now: Ticks, sent_before: Vec<u64>) {
        self.periods.last_mut().expect("a run is always in a period").close(now);
        self.periods.push(Period::new(now, sent_before));
    }
}

impl Sim {
    /// Counts a packet that came to the wrong port: no failure does that.
    #[cold]
    pub(super) fn misdeliver(&mut self, id: u32) {
        self.ledger.misdelivered += 1;
        self.settle(id, |counts| &mut counts.lost_to_change);
        self.packets.remove(id);
    }

    /// Counts a packet that is gone, and forgets it.
    #[cold]
    pub(super) fn lose(&mut self, id: u32) {
        let (source, dlid, born) = (self.packets[id].source, self.packets[id].dlid, self.packets[id].born);
        let (origin, destination) = self.ends_of(id);
        let cut_off =
            |rank: u32| rank != NIL && (self.ledger.cut_off[rank as usize] || self.sources.unreachable[rank as usize]);
        if cut_off(origin) || cut_off(destination) {
            self.settle(id, |counts| &mut counts.stranded);
        } else if self.path_died(source, dlid, born, self.packets[id].hops) {
            self.settle(id, |counts| &mut counts.lost_to_failure);
        } else {
            self.settle(id, |counts| &mut counts.lost_to_change);
        }
        self.packets.remove(id);
    }

    /// Counts a packet's fate.
    fn settle(&mut self, id: u32, count: impl Fn(&mut PacketCounts) -> &mut u64) {
        *count(&mut self.ledger.counts) += 1;
        self.tell_relation(id, |relation| *count(&mut relation.counts) += 1);
    }

    /// Whether the path of a class, as the tables stood at `born`, crosses an element that has been dead since, beyond the
    /// first `passed` links of it: what a packet has behind it cannot have taken it.
    fn path_died(&self, source: u32, dlid: u16, born: Ticks, passed: u8) -> bool {
        let (died, revived) = (&self.ledger.died, &self.ledger.revived);
        let dead = |port: u32| died[port as usize] <= self.now && born < revived[port as usize];
        let mut out = self.sources.list[source as usize].port;
        // A path that visits more switches than there are is a loop.
        for link in 0..=self.net.tables.node_count() {
            let input = self.net.ports[out as usize].peer;
            if link >= usize::from(passed) && (dead(out) || dead(input)) {
                return true;
            }
            let node = self.net.ports[input as usize].node;
            if self.net.tables.row(node) == NIL {
                // What is on the wire into a router that dies has its last link behind it.
                return dead(input);
            }
            let num = self.output_at(node, dlid, born);
            if num == 0 || num > self.net.num_ports(node) {
                return false;
            }
            out = self.net.first_port(node) + u32::from(num);
            if self.net.ports[out as usize].peer == NIL {
                return false;
            }
        }
        false
    }

    /// The output port of a switch for a DLID as it was at `time`.
    fn output_at(&self, node: u32, dlid: u16, time: Ticks) -> u8 {
        let key = (self.net.tables.row(node), dlid / 64);
        let log = self.ledger.history.get(&key).map_or(&[][..], Vec::as_slice);
        match log.get(log.partition_point(|entry| entry.0 <= time)) {
            Some((_, entries)) => entries[usize::from(dlid % 64)],
            None => self.net.tables.output(node, dlid),
        }
    }

    /// The counts at this moment; packets that a cut-off source still holds are stranded.
    pub fn packets(&self) -> PacketCounts {
        let held = |source: &&super::source::Source| self.ledger.cut_off[source.rank as usize];
        let stranded: u64 = self.sources.list.iter().filter(held).map(|source| u64::from(source.waiting)).sum();
        let mut counts = self.ledger.counts;
        counts.in_flight = self.packets.len() as u64 - stranded;
        counts.stranded += stranded;
        counts
    }
}
