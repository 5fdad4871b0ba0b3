//! Dispersive sources: which of a half's paths a message or a packet takes (docs/DISPERSIVE.md).
//!
//! With LMC m a half of an end port has 2^(m−1) LIDs, each with a path of its own. A *pair* is a LID of the source's
//! half and one of the destination's; the choice among pairs is the source's alone, since InfiniBand forwards by the
//! DLID: pairs that differ in the SLID go the same way, and only their replies do not. On entry two end ports, the
//! half, and a turn; on return a pair that is open to that source (`OpenPaths`), the same for the same turn. Messages
//! of several packets are kept here too: what does not fit into the send queue waits, and goes on by the half that the
//! source is on then. Lacks on purpose: any look at congestion, and retransmission.

use super::wheel::Ticks;
use crate::fabric::PortId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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

/// The path that a source, the first port, has to a destination, the second: of those open to it, in rising order of
/// their paths, the one that the number falls on, modulo how many there are. None where there is none.
pub type OpenPaths = Arc<dyn Fn(PortId, PortId, u32) -> Option<OpenPath> + Send + Sync>;

/// A path that is open to a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenPath {
    /// Its rank among the LIDs of the destination's half.
    pub path: u16,
    /// The virtual layer of its packets: the rank of their SL in that half.
    pub level: u8,
    /// How many are open, this one included.
    pub of: u16,
}

/// A message that a source is at.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenMessage {
    /// Rank of its destination.
    pub destination: u32,
    /// Packets not yet handed to the send queue.
    pub left: u16,
    /// Its turn among the pairs, where messages take turns.
    pub turn: u32,
    /// Its number in the counts of order.
    pub number: u32,
    /// When the next one is due; none where no more are wanted. However long this one waits for room, that is no
    /// later: the load stays what was asked for.
    pub next: Option<Ticks>,
}

/// A number that an ordered pair of end ports has for good, and that differs from pair to pair.
#[inline]
pub(super) fn flow(rank: u32, destination: u32) -> u32 {
    rank.wrapping_mul(7).wrapping_add(destination)
}
