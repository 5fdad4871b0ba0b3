//! Data packets, in one slab; queues are lists threaded through it.

use super::index::{By, EndPortRank, OutLane, PacketId};
use crate::ids::{Half, Sl};
use bitflags::bitflags;

/// No packet, no lane, no port.
pub const NIL: u32 = u32::MAX;

/// The index of the half that a service level belongs to.
#[inline]
pub fn half_index(sl: u8) -> usize {
    Half::of_sl(Sl::masked(sl)).index()
}

bitflags! {
    /// What is said of a packet: any of these together.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct PacketMarks: u8 {
        /// It carries a reply, so no packet answers it.
        const REPLY = 1 << 0;
        /// It is for another subnet: it has a global route header (`relay`).
        const CROSSES = 1 << 1;
        /// It stands in a router's buffer, latched for one of its other ports.
        const IN_ROUTER = 1 << 2;
        /// It is a monitor's question to a switch (`monitor`), and no data.
        const QUESTION = 1 << 3;
        /// It is a general management packet (`gmp`), and no data.
        const GMP = 1 << 4;
        /// It stands in the queue of the GMPs that its own node sends (`gmp`).
        const OWN = 1 << 5;
        /// It is a message of a connection that is being set up (`connect`).
        const MESSAGE = 1 << 6;
        /// What no user sends.
        const NO_DATA = Self::QUESTION.bits() | Self::GMP.bits();
        /// The device in which it stands keeps count of it, and must see it leave.
        const COUNTED_BY_DEVICE = Self::IN_ROUTER.bits() | Self::OWN.bits();
    }
}

/// What hops read and write of a data packet: half a cache line, so that no packet lies on two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Packet {
    /// When its tail arrives where it stands, in ticks.
    pub tail: u64,
    /// The next in its queue.
    pub next: PacketId,
    /// Its source, or the router's port that it left by last.
    pub source: EndPortRank,
    /// The output lane for which it is latched; none while unlatched. On the wire to a sink: the lane that brings it.
    pub out_lane: OutLane,
    /// Destination LID.
    pub dlid: u16,
    /// Bytes on the wire.
    pub bytes: u16,
    /// Credits of 64 bytes that it takes.
    pub credits: u16,
    /// Service level.
    pub sl: u8,
    /// What else is said of it.
    pub marks: PacketMarks,
    /// Switches that it has left since its source, or since the last router.
    pub hops: u8,
    /// Rank of its SLID among the LIDs of its half at its source, where sources take several paths or none but the
    /// first.
    pub source_path: u8,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// All packets alive.
#[derive(Default)]
pub struct Packets {
    slab: By<PacketId, Packet>,
    /// By packet: when it was handed to its source's send queue, or taken over by the last router on its way, in ticks.
    /// No hop asks for it.
    pub born: By<PacketId, u64>,
    free: Vec<PacketId>,
}

impl Packets {
    /// Takes a packet in.
    #[inline]
    pub fn insert(&mut self, packet: Packet, born: u64) -> PacketId {
        match self.free.pop() {
            Some(index) => {
                self.slab[index] = packet;
                self.born[index] = born;
                index
            }
            None => {
                self.born.push(born);
                self.slab.push(packet)
            }
        }
    }

    /// The index that the next packet taken in will have.
    pub fn next_id(&self) -> PacketId {
        self.free.last().copied().unwrap_or(PacketId(self.slab.len() as u32))
    }

    /// Forgets a packet.
    #[inline]
    pub fn remove(&mut self, index: PacketId) {
        self.free.push(index);
    }

    /// How many numbers have been given.
    pub fn slots(&self) -> usize {
        self.slab.len()
    }

    /// How many are alive.
    pub fn len(&self) -> usize {
        self.slab.len() - self.free.len()
    }

    /// Those alive, by number.
    pub fn alive(&self) -> impl Iterator<Item = PacketId> {
        let mut alive: By<PacketId, bool> = By::filled(true, self.slab.len());
        self.free.iter().for_each(|&gone| alive[gone] = false);
        self.slab.keys().filter(move |&id| alive[id])
    }
}

impl std::ops::Index<PacketId> for Packets {
    type Output = Packet;

    #[inline]
    fn index(&self, index: PacketId) -> &Packet {
        &self.slab[index]
    }
}

impl std::ops::IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, index: PacketId) -> &mut Packet {
        &mut self.slab[index]
    }
}
