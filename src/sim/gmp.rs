//! General management packets (GMPs): MADs of performance management, subnet administration and every other general
//! class, as packets of the data plane.
//!
//! A GMP is a packet like any other ([decision 27](../../docs/decisions/0027-gmps-travel-on-data-lanes.md)): it stands
//! in the send queue of the port that sends it, is mapped to a lane by the SL-to-VL table of every hop, takes credits,
//! waits behind data, and is discarded where data would be. What it says is kept beside it, by its number. Users'
//! packets are counted without GMPs, and their fates, latency and order too; counters of ports and of service levels
//! include them.
//!
//! Every node queues its own GMPs lane by lane in the in lanes of its port 0, where nothing else is: queue pair 1 takes
//! turns with the other queue pairs, so a GMP does not wait for all that a host's applications have queued. A MAD from
//! a port to itself enters no lane. A GMP with no port that could send it is lost at once. Nothing here retries.

use super::Latch;
use super::Sim;
use super::errand::Errand;
use super::index::{Dense, InLane, OutLane, PacketId};
use super::mad::Mad;
use super::packet::{Packet, PacketMarks};
use crate::fabric::PortId;
use crate::wire::PortState;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Bytes of a GMP on the wire: the MAD, its headers and its checksums.
pub const GMP_BYTES: u16 = 256 + 34;

/// What became of general management packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GmpCounts {
    /// Handed to a send queue, or discarded instead.
    pub sent: u64,
    /// Taken by the port that owns their DLID.
    pub arrived: u64,
    /// Discarded on their way, or delivered to a port that does not own their DLID.
    pub lost: u64,
}

impl GmpCounts {
    /// Still on their way.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.arrived - self.lost
    }
}

/// General management packets on their way.
#[derive(Default)]
pub(super) struct Gmps {
    counts: GmpCounts,
    /// What each of them says.
    mads: FxHashMap<PacketId, Mad>,
}

impl Gmps {
    /// How many are on their way.
    pub fn in_flight(&self) -> u64 {
        self.mads.len() as u64
    }

    /// Checks that every one that was sent has arrived, is lost, or is on its way. Panics otherwise.
    pub fn assert_conserved(&self) {
        let (GmpCounts { sent, arrived, lost }, under_way) = (self.counts, self.mads.len());
        assert!(
            self.counts.in_flight() == under_way as u64,
            "{sent} GMPs sent, and {arrived} arrived, {lost} lost, {under_way} on their way"
        );
    }

    /// One sets out as a packet.
    fn begin(&mut self, id: PacketId, mad: Mad) {
        self.counts.sent += 1;
        self.mads.insert(id, mad);
    }

    /// One has no port that could send it.
    fn refuse(&mut self) {
        self.counts.sent += 1;
        self.counts.lost += 1;
    }

    fn end(&mut self, id: PacketId, arrived: bool) -> Mad {
        *(if arrived { &mut self.counts.arrived } else { &mut self.counts.lost }) += 1;
        self.mads.remove(&id).expect("a GMP on its way says something")
    }
}

impl Sim {
    /// What became of general management packets.
    pub fn gmps(&self) -> GmpCounts {
        self.gmps.counts
    }

    /// A MAD of general services sets out from a port of a CA or router, or from port 0 of a switch.
    pub(super) fn gmp_departs(&mut self, port: PortId, mad: Mad) {
        if self.devices.owns(port, mad.dlid) {
            return self.mad_delivered(port, mad);
        }
        if !self.can_originate(port) {
            return self.gmps.refuse();
        }
        let reply = if mad.is_response() { PacketMarks::REPLY } else { PacketMarks::empty() };
        let marks = PacketMarks::GMP | PacketMarks::OWN | reply;
        self.originate(port, mad, marks);
    }

    /// Whether a port can send a GMP: its buffers at the far end have room for one, and its link is up and initialised.
    /// The ports of a switch are asked when one of them is chosen.
    fn can_originate(&self, port: PortId) -> bool {
        let at = &self.plane.ports[port];
        let linked = at.is_up() && at.state != PortState::Initialize && self.sources.by_port[port].is_some();
        (linked || self.plane.is_switch(at.node)) && self.plane.capacity >= GMP_BYTES.div_ceil(64)
    }

    /// Queues what a port sends.
    fn originate(&mut self, port: PortId, mad: Mad, marks: PacketMarks) {
        let (node, now) = (self.plane.ports[port].node, self.clock.now());
        let rank = self.sources.by_port[port];
        let packet = Packet {
            tail: now,
            next: PacketId::NONE,
            source: rank,
            out_lane: OutLane::NONE,
            dlid: mad.dlid.0,
            bytes: GMP_BYTES,
            credits: GMP_BYTES.div_ceil(64),
            sl: mad.sl.get(),
            marks,
            hops: 0,
            source_path: 0,
        };
        if rank.is_some() && !self.is_reserved(packet.sl) {
            self.sources.list[rank].awaits(packet.sl);
        }
        let id = self.plane.packets.insert(packet, now);
        self.gmps.begin(id, mad);
        let chosen = self.plane.choose_own(port, id);
        let vl = if chosen.is_lane() { self.plane.vl_of(chosen) } else { 0 };
        // A switch chooses for its own packets when it chooses for others; hosts and routers choose at once.
        let waits = self.plane.is_switch(node) && self.plane.rules.latch != Latch::Arrival;
        self.plane.latch(id, if waits { OutLane::NONE } else { chosen });
        let lane = self.plane.in_lane(self.plane.first_port(node), vl);
        self.plane.take_room(lane, id);
        if self.plane.enqueue(lane, id) {
            self.offer(lane);
        }
    }

    /// A GMP has left the queue of what its own device sends, sent or discarded.
    pub(super) fn left_own_queue(&mut self, id: PacketId) {
        let packet = &mut self.plane.packets[id];
        packet.marks.remove(PacketMarks::OWN);
        let (source, sl) = (packet.source, packet.sl);
        if source.is_some() && !self.is_reserved(sl) {
            self.sources.list[source].awaits_no_more(sl);
        }
    }

    /// A GMP's tail has come to an end port.
    pub(super) fn gmp_arrives(&mut self, id: PacketId, port: PortId) {
        let packet = self.plane.packets[id];
        let at = &self.plane.ports[port];
        if !at.is_up() {
            self.counters.miss(port, packet.bytes);
        }
        if !at.is_up() || at.state == PortState::Initialize || !self.devices.owns(port, self.gmps.mads[&id].dlid) {
            return self.lose_gmp(id);
        }
        self.take_gmp(id, port);
    }

    /// A GMP has reached the head of a buffer at the switch or router that it is for, which takes it once its tail has
    /// come.
    pub(super) fn gmp_taken_in(&mut self, id: PacketId, lane: InLane) {
        let (port, tail) = (self.plane.port_of(lane), self.plane.packets[id].tail);
        if tail <= self.clock.now() {
            return self.take_gmp(id, port);
        }
        let mad = self.end_gmp(id, port);
        self.errand(tail, Errand::Deliver(port, mad));
    }

    fn take_gmp(&mut self, id: PacketId, port: PortId) {
        let mad = self.end_gmp(id, port);
        self.mad_delivered(port, mad);
    }

    /// A GMP has arrived, and is no packet any more.
    fn end_gmp(&mut self, id: PacketId, port: PortId) -> Mad {
        let packet = self.plane.packets[id];
        if let Some(source) = self.sources.at_port_mut(port) {
            source.receives(packet.sl, packet.bytes);
        }
        self.plane.packets.remove(id);
        self.gmps.end(id, true)
    }

    /// A GMP is gone.
    pub(super) fn lose_gmp(&mut self, id: PacketId) {
        self.gmps.end(id, false);
        self.plane.packets.remove(id);
    }
}
