//! Dispersive sources: which of a half's paths a message or a packet takes (docs/DISPERSIVE.md).
//!
//! With LMC m a half of an end port has 2^(m−1) LIDs, each with a path of its own. A *pair* is a LID of the source's half
//! and one of the destination's; the choice among pairs is the source's alone, since InfiniBand forwards by the DLID: pairs
//! that differ in the SLID go the same way, and only their replies do not. On entry two end ports, the half, and a turn;
//! on return a pair that is open to that source (`Ways`), the same for the same turn. Messages of several packets are kept
//! here too: what does not fit into the send queue waits, and goes on by the half that the source is on then. Lacks on
//! purpose: any look at congestion, and retransmission.

use super::source::{Header, Way};
use super::wheel::{Event, Ticks};
use super::{Sim, kind};
use crate::fabric::PortId;
use crate::ids::Half;
use serde::{Deserialize, Serialize};

/// Which pairs of LIDs a source uses towards one destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathChoice {
    /// One pair for each destination, for good; which one, differs from destination to destination.
    #[default]
    Single,
    /// The first pair, always: the `static_base` of the PSM library.
    Base,
    /// (SLID + i, DLID + i) in turn, i below 8 and the paths there are: the `adaptive` of the PSM library.
    Paired,
    /// Every SLID with every DLID in turn, the DLIDs first.
    All,
}

/// What takes a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spray {
    /// A message: its packets stay together.
    #[default]
    Message,
    /// Each packet.
    Packet,
}

/// How sources use the paths that LMC gives them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Dispersal {
    /// Which pairs.
    pub choice: PathChoice,
    /// The most LIDs of a half that are used at either end, 1 at least; none for all there are.
    pub paths: Option<u8>,
    /// What takes a turn.
    pub spray: Spray,
}

/// The most pairs of [`PathChoice::Paired`]: the PSM library reckons with an LMC of 3 at most.
pub const MOST_PAIRED: u16 = 8;

/// A LID of the source's half, a LID of the destination's, and the service level of packets between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    /// Rank of the SLID in its half.
    pub source_path: u8,
    /// Rank of the DLID in its half.
    pub path: u16,
    /// Rank of the service level in its half.
    pub level: u8,
}

/// A message that a source is at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// Rank of its destination.
    destination: u32,
    /// Packets not yet handed to the send queue.
    left: u16,
    /// Its turn among the pairs, where messages take turns.
    turn: u32,
    /// Its number in the counts of order.
    number: u32,
    /// When the next one is due; none where no more are wanted. However long this one waits for room, that is no
    /// later: the load stays what was asked for.
    next: Option<Ticks>,
}

impl Sim {
    /// The pair that a packet from one end port to another takes on a half at its turn; none where there is no path.
    #[inline]
    pub(super) fn pair(&self, rank: u32, destination: u32, half: Half, turn: u32) -> Option<Pair> {
        match self.config.dispersal.choice {
            PathChoice::Single => {
                let way = self.way(rank, destination, half, flow(rank, destination))?;
                // Its SLID is what `single` of the other end sends to, so nothing needs to be kept of it.
                Some(Pair { source_path: 0, path: way.path, level: way.level })
            }
            choice => self.pair_in_turn(choice, (rank, destination), half, turn),
        }
    }

    #[inline(never)]
    fn pair_in_turn(&self, choice: PathChoice, (rank, to): (u32, u32), half: Half, turn: u32) -> Option<Pair> {
        let there = u32::from(self.way(rank, to, half, 0)?.of);
        // Where nothing leads back, the SLID is the first.
        let back = self.way(to, rank, half, 0).map_or(1, |way| u32::from(way.of));
        let (slid, dlid) = match choice {
            PathChoice::Single => unreachable!("a single path takes no turns"),
            PathChoice::Base => (0, 0),
            PathChoice::Paired => {
                let at = turn % there.min(back).min(MOST_PAIRED.into());
                (at, at)
            }
            PathChoice::All => (turn / there % back, turn % there),
        };
        let way = self.way(rank, to, half, dlid)?;
        let source_path = self.way(to, rank, half, slid).map_or(0, |way| way.path as u8);
        Some(Pair { source_path, path: way.path, level: way.level })
    }

    /// The pair of a reply: back to the LID that the request came from, from the LID that it was sent to.
    pub(super) fn pair_back(&self, rank: u32, asker: u32, half: Half, (slid, dlid): (u8, u16)) -> Option<Pair> {
        if self.config.dispersal.choice == PathChoice::Single {
            return self.pair(rank, asker, half, 0);
        }
        let own = &self.sources.list[rank as usize];
        let source_path = (dlid.wrapping_sub(own.lid) % own.paths) as u8;
        let mut open = (0..).map_while(|at| self.way(rank, asker, half, at).filter(|way| at < u32::from(way.of)));
        let way = open.find(|way| way.path == u16::from(slid))?;
        Some(Pair { source_path, path: way.path, level: way.level })
    }

    /// Of the ways open from one end port to another on a half, no more than are to be used, the one that a number falls on.
    #[inline]
    fn way(&self, rank: u32, to: u32, half: Half, number: u32) -> Option<Way> {
        let most = self.config.dispersal.paths.map_or(u16::MAX, u16::from);
        let destination = &self.sources.list[to as usize];
        let space = self.sources.spaces.at(destination.port);
        let Some(ways) = &self.sources.ways[space][half.index()] else {
            let of = destination.paths.min(most);
            let path = (number % u32::from(of)) as u16;
            return Some(Way { path, level: (flow(rank, to) % 8) as u8, of });
        };
        let (own, other) = (PortId(self.sources.list[rank as usize].port), PortId(destination.port));
        let way = ways(own, other, number)?;
        if way.of <= most {
            return Some(way);
        }
        Some(Way { of: most, ..ways(own, other, number % u32::from(most))? })
    }

    /// The turn of what is sent next to a destination, where turns are taken: each destination has its own, and they begin
    /// at different pairs.
    pub(super) fn next_turn(&mut self, rank: u32, destination: u32) -> u32 {
        if matches!(self.config.dispersal.choice, PathChoice::Single | PathChoice::Base) {
            return 0;
        }
        let turn = self.sources.turns.entry((rank, destination)).or_insert_with(|| flow(rank, destination));
        let taken = *turn;
        *turn = turn.wrapping_add(1);
        taken
    }

    /// Hands over what fits of the message that a source is at, or else of its next one.
    pub(super) fn go_on_with_message(&mut self, rank: u32) {
        let underway = self.sources.list[rank as usize].message.take();
        let mut message = underway.unwrap_or_else(|| self.begin_message(rank));
        while message.left > 0 && self.has_path(rank, message.destination) {
            if self.is_full(rank) {
                let source = &mut self.sources.list[rank as usize];
                (source.message, source.held_back) = (Some(message), true);
                return;
            }
            message.left -= 1;
            self.send_of_message(rank, &message);
        }
        self.sources.list[rank as usize].due = message.next.is_some();
        if let Some(next) = message.next {
            self.wheel.push(next.max(self.now), Event::new(kind::INJECT, rank, 0));
        }
    }

    fn begin_message(&mut self, rank: u32) -> Message {
        let destination = self.draw_destination(rank);
        let left = self.config.message_packets;
        let by_message = self.config.dispersal.spray == Spray::Message;
        let turn = if by_message { self.next_turn(rank, destination) } else { 0 };
        let number = self.ledger.order.as_mut().map_or(0, |order| order.begin_message(left));
        let next = self.sources.list[rank as usize].draw_wait().map(|wait| self.now + wait);
        Message { destination, left, turn, number, next }
    }

    fn send_of_message(&mut self, rank: u32, message: &Message) {
        if self.is_parted(rank, message.destination) {
            return;
        }
        let turn = match self.config.dispersal.spray {
            Spray::Message => message.turn,
            Spray::Packet => self.next_turn(rank, message.destination),
        };
        let half = self.sources.list[rank as usize].half;
        let ends = (rank, message.destination);
        if self.crosses(rank, message.destination) {
            return self.send_across(ends, half, self.config.packet_bytes, 0, (turn, message.number));
        }
        let pair = |sim: &Sim| sim.pair(rank, message.destination, half, turn);
        if let Some(header) = self.header(ends, half, self.config.packet_bytes, pair) {
            self.hand_over(rank, Header { message: message.number, ..header });
        }
    }

    /// Room in the send queue: an application in the middle of a message goes on with it at once.
    pub(super) fn resume(&mut self, rank: u32) {
        self.wheel.push(self.now, Event::new(kind::INJECT, rank, 0));
    }
}

/// A number that an ordered pair of end ports has for good, and that differs from pair to pair.
#[inline]
pub(super) fn flow(rank: u32, destination: u32) -> u32 {
    rank.wrapping_mul(7).wrapping_add(destination)
}
