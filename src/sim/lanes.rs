//! The lanes of all channels: the state of a lane's sender and receiver, side by side.
//!
//! A packet-hop reads and writes both ends of the channel that it leaves and of the one that it enters: the queue and
//! the credits that it returns, the credits that it takes and the room that it fills. Both ends of a channel's lane are
//! one cache line, at the index of the receiver: on a fabric of ten thousand hosts each line is a miss.

use super::credit::LaneCredits;
use super::index::{By, Dense, InLane, OutLane, PacketId};
use crate::fabric::PortId;
use std::ops::{Index, IndexMut};

/// A lane as seen by its sender.
#[derive(Clone, Debug)]
pub struct OutputLine {
    /// Credits for the buffer that it feeds.
    pub credits: LaneCredits,
    /// The first in lane whose head waits for this lane.
    pub first_waiter: InLane,
    /// The last of that line; meaningless if none waits.
    pub last_waiter: InLane,
}

/// An input buffer, or a send queue.
#[derive(Clone, Debug)]
pub struct InputQueue {
    /// First packet.
    pub head: PacketId,
    /// Last packet; meaningless if there is none.
    pub tail: PacketId,
    /// The next in lane in line for the same out lane.
    pub next_waiter: InLane,
    /// The out lane that the head waits for.
    pub waits_for: OutLane,
    /// Credits taken, including those of packets still on the wire; not kept for a send queue.
    pub held: u32,
    /// Packets in the queue.
    pub count: u32,
}

/// The in lane of a port, and the out lane that feeds it; one cache line. Where the port is a host's, the queue is one
/// of what the host sends, and the out lane is its switch's.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct LaneEnds {
    /// At the receiver.
    pub queue: InputQueue,
    /// At the sender.
    pub line: OutputLine,
}

const _: () = assert!(size_of::<LaneEnds>() == 64);

/// All lanes, by [`InLane`] and by [`OutLane`].
pub struct LaneStore {
    /// Bits of a lane index that name the VL.
    shift: u32,
    /// By the in lane.
    by_receiver: By<InLane, LaneEnds>,
    /// The port at the other end of a cable; without one the port itself, so that every out lane has a place.
    far: By<PortId, PortId>,
}

impl LaneStore {
    /// Lanes without packets, with so many credits each, of ports with these peers.
    pub fn new(peers: impl Iterator<Item = PortId>, shift: u32, credits: u16) -> LaneStore {
        let far: By<PortId, PortId> = peers.zip(0..).map(|(peer, own)| peer.get().unwrap_or(PortId(own))).collect();
        let queue = InputQueue {
            head: PacketId::NONE,
            tail: PacketId::NONE,
            next_waiter: InLane::NONE,
            waits_for: OutLane::NONE,
            held: 0,
            count: 0,
        };
        let credits = LaneCredits::full(credits);
        let line = OutputLine { credits, first_waiter: InLane::NONE, last_waiter: InLane::NONE };
        LaneStore { shift, by_receiver: By::filled(LaneEnds { queue, line }, far.len() << shift), far }
    }

    /// The number of lanes.
    pub fn len(&self) -> usize {
        self.by_receiver.len()
    }

    /// Whether the lanes exceed the share of a core's cache that is left for them.
    pub fn outgrow_a_cache(&self) -> bool {
        self.by_receiver.len() * size_of::<LaneEnds>() > 2 << 20
    }

    /// Plugs in a cable between two ports whose own cables were removed: the knowledge that each of the four or fewer
    /// ports has of the lanes that it sends into moves with it.
    pub fn plug(&mut self, a: PortId, b: PortId) {
        let mut ports = vec![a, b, self.far[a], self.far[b]];
        ports.sort_unstable();
        ports.dedup();
        let lanes: Vec<OutLane> =
            ports.iter().flat_map(|port| (0..1 << self.shift).map(|vl| OutLane(port.0 << self.shift | vl))).collect();
        let lines: Vec<OutputLine> = lanes.iter().map(|&lane| self[lane].clone()).collect();
        ports.iter().for_each(|&port| self.far[port] = port);
        (self.far[a], self.far[b]) = (b, a);
        lanes.into_iter().zip(lines).for_each(|(lane, line)| self[lane] = line);
    }

    /// The in lane that an out lane feeds.
    #[inline]
    pub fn fed_by(&self, lane: OutLane) -> InLane {
        // These shifts wrap nothing: a port has at most 16 lanes, so `shift` is at most 4.
        let far = self.far[PortId(lane.0.wrapping_shr(self.shift))];
        InLane(far.0.wrapping_shl(self.shift) | lane.0 & !(!0u32).wrapping_shl(self.shift))
    }

    /// Both ends of the channel into an in lane.
    #[inline(always)]
    pub fn ends_of(&self, lane: InLane) -> &LaneEnds {
        &self.by_receiver[lane]
    }

    /// Mutable access to both ends of the channel into an in lane.
    #[inline(always)]
    pub fn ends(&mut self, lane: InLane) -> &mut LaneEnds {
        &mut self.by_receiver[lane]
    }
}

impl Index<InLane> for LaneStore {
    type Output = InputQueue;

    #[inline(always)]
    fn index(&self, lane: InLane) -> &InputQueue {
        &self.by_receiver[lane].queue
    }
}

impl IndexMut<InLane> for LaneStore {
    #[inline(always)]
    fn index_mut(&mut self, lane: InLane) -> &mut InputQueue {
        &mut self.by_receiver[lane].queue
    }
}

impl Index<OutLane> for LaneStore {
    type Output = OutputLine;

    #[inline(always)]
    fn index(&self, lane: OutLane) -> &OutputLine {
        &self.by_receiver[self.fed_by(lane)].line
    }
}

impl IndexMut<OutLane> for LaneStore {
    #[inline(always)]
    fn index_mut(&mut self, lane: OutLane) -> &mut OutputLine {
        let lane = self.fed_by(lane);
        &mut self.by_receiver[lane].line
    }
}
