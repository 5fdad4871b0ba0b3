//! Waves: writes that may land in any order, and the barriers at their end.

use super::policy::Phase;
use crate::ids::VlSet;
use crate::tables::Write;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A condition for the next wave. A wave's barriers are passed in the order of its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Barrier {
    /// Every write was read back, and no copy of a `Set` is in flight.
    Acknowledged,
    /// No packet stands in these lanes, and none anywhere is latched for them.
    Flushed(VlSet),
    /// Every source, responders included, sends on the new half only.
    SourcesMoved,
    /// These lanes are empty everywhere, and no port sends into them any more.
    Drained(VlSet),
    /// After the last write every device has sent off its packets, this many times in a row. At the end of a plan: no
    /// packet stands in a leaving element or is latched for it, except packets to and from end ports that leave with
    /// it. Between waves: packets sent before the last write was acknowledged have come to their end.
    Vacated(u8),
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Barrier::Acknowledged => f.write_str("acknowledged"),
            Barrier::Flushed(lanes) => write!(f, "flushed{lanes}"),
            Barrier::SourcesMoved => f.write_str("sources moved"),
            Barrier::Drained(lanes) => write!(f, "drained{lanes}"),
            Barrier::Vacated(rounds) => write!(f, "vacated in {rounds} rounds"),
        }
    }
}

/// The order in which the writes of a wave are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Sending {
    /// As fast as the devices accept them, in any order.
    AnyOrder,
    /// In the order of the list, with at most this many outstanding: OpenSM's way, with four.
    Listed {
        /// The most unanswered SMPs.
        window: u16,
    },
}

/// Writes, and the conditions after them. The prover judges every order of the writes, whatever `sending` is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wave {
    /// Its name: the phase, and its part if a phase has several waves (`install/arm`).
    pub name: String,
    /// Its phase.
    pub phase: Phase,
    /// Its writes; may be empty.
    pub writes: Vec<Write>,
    /// The conditions at its end, in order.
    pub barriers: Vec<Barrier>,
    /// The order in which the writes are sent.
    pub sending: Sending,
}

impl Wave {
    /// The number of consecutive rounds after the last write in which the wave's barriers have every device send off
    /// its packets; none without such a barrier.
    pub fn vacating_rounds(&self) -> Option<usize> {
        let rounds = self.barriers.iter().filter_map(|barrier| match barrier {
            Barrier::Vacated(rounds) => Some(usize::from(*rounds)),
            Barrier::Acknowledged | Barrier::Flushed(_) | Barrier::SourcesMoved | Barrier::Drained(_) => None,
        });
        // Questions follow one another, so their rounds add up.
        rounds.reduce(|sum, rounds| sum + rounds)
    }
}
