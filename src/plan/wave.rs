//! Waves: writes that may land in any order, and the barriers they end at.

use super::policy::Phase;
use crate::ids::VlSet;
use crate::tables::Write;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What must be true before the next wave. A wave's barriers are passed in the order of its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Barrier {
    /// Every write was read back, and no copy of a `Set` is under way any more.
    Acknowledged,
    /// Nothing stands in these lanes, and nothing anywhere is latched for them.
    Flushed(VlSet),
    /// Every source, responders included, sends on the new half only.
    SourcesMoved,
    /// These lanes are empty everywhere, and nobody will send into them.
    Drained(VlSet),
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Barrier::Acknowledged => f.write_str("acknowledged"),
            Barrier::Flushed(lanes) => write!(f, "flushed{lanes}"),
            Barrier::SourcesMoved => f.write_str("sources moved"),
            Barrier::Drained(lanes) => write!(f, "drained{lanes}"),
        }
    }
}

/// How the writes of a wave are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sending {
    /// As fast as the devices take them, in any order.
    AnyOrder,
    /// In the order of the list, at most this many on the wire at once: what OpenSM does, with four.
    Listed {
        /// Unanswered SMPs at most.
        window: u16,
    },
}

/// Writes, and what must hold when they are done. The prover judges every order of them, whatever `sending` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wave {
    /// Its name: the phase, and the part of it where a phase has several waves (`install/arm`).
    pub name: String,
    /// The part it plays.
    pub phase: Phase,
    /// What it changes; may be empty.
    pub writes: Vec<Write>,
    /// What must be true at its end, in order.
    pub barriers: Vec<Barrier>,
    /// How the writes are sent.
    pub sending: Sending,
}
