//! Dispersive sources: which of a half's paths a message or a packet takes (docs/DISPERSIVE.md).
//!
//! With LMC m a half of an end port has 2^(m−1) LIDs, each with a path of its own. A *pair* is a LID of the source's
//! half and one of the destination's; the choice among pairs is the source's alone, since InfiniBand forwards by the
//! DLID: pairs that differ only in the SLID take one way, and their replies take different ways. On entry two end
//! ports, the half, and a turn; on return a pair that is open to that source (`OpenPaths`), the same for the same turn.
//! Messages of several packets are kept here too: packets that do not fit into the send queue wait, and take the half
//! that the source is on later. The module deliberately ignores congestion, and retransmits nothing.

use super::index::EndPortRank;
use super::wheel::Ticks;
use crate::fabric::PortId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which pairs of LIDs a source uses towards one destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathChoice {
    /// One fixed pair for each destination, different from destination to destination.
    #[default]
    Single,
    /// The first pair, always: the `static_base` of the PSM library.
    Base,
    /// (SLID + i, DLID + i) in turn, i below 8 and below the number of paths: the `adaptive` of the PSM library.
    Paired,
    /// Every SLID with every DLID in turn, the DLIDs first.
    All,
}

/// What takes a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Spray {
    /// A message: its packets stay together.
    #[default]
    Message,
    /// Each packet.
    Packet,
}

/// How sources use the paths that LMC gives them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Dispersal {
    /// Which pairs.
    pub choice: PathChoice,
    /// The most LIDs of a half that are used at either end, 1 at least; none for all of them.
    pub paths: Option<u8>,
    /// What takes a turn.
    pub spray: Spray,
}

/// The most pairs of [`PathChoice::Paired`]: the PSM library expects an LMC of 3 at most.
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

/// A message that a source is sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenMessage {
    /// Its destination.
    pub destination: EndPortRank,
    /// Packets not yet handed to the send queue.
    pub left: u16,
    /// Bytes of its last packet.
    pub last_bytes: u16,
    /// Its turn among the pairs, where messages take turns.
    pub turn: u32,
    /// Its number in the counts of order.
    pub number: u32,
    /// When the next message is due, in ticks; none after the last. A wait for room delays it no further, so the load
    /// stays as configured.
    pub next: Option<Ticks>,
}

/// A fixed number of an ordered pair of end ports, which spreads pairs over paths.
#[inline]
pub(super) fn flow(rank: EndPortRank, destination: EndPortRank) -> u32 {
    rank.0.wrapping_mul(7).wrapping_add(destination.0)
}
