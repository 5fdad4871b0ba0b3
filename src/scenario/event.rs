//! What happens in a run after its first event, as it is asked for and as it is resolved.

use super::elements::{Element, Moves, MovesReport};
use crate::fabric::{Fabric, PortId};

/// When a later event happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventTime {
    /// So many nanoseconds after the first event.
    AfterNs(u64),
    /// When the manager's change first enters this state of `state-machines/change.yaml`.
    Entering(&'static str),
    /// When everything else has happened and is served, and what leaves as planned has left.
    Served,
}

/// Something that happens after the first event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaterEvent {
    /// When.
    pub at: EventTime,
    /// What leaves, which it does without announcement, and what comes.
    pub elements: Vec<Element>,
    /// The ends of cables that are plugged in where other cables of the capture have been, and are gone by then.
    pub plugged: Vec<(PortId, PortId)>,
}

/// A later event, resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LaterMoves {
    pub at: EventTime,
    pub moves: Moves,
    pub plugged: Vec<(PortId, PortId)>,
}

impl LaterMoves {
    /// The fabric after the event. What comes is a part of `fabric` already.
    pub fn applied_to(&self, fabric: &Fabric) -> Fabric {
        let rest = self.moves.leaving.taken_from(fabric);
        let there = |port: PortId| rest.node(rest.port(port).node).present;
        let plugged: Vec<_> = self.plugged.iter().copied().filter(|&(a, b)| there(a) && there(b)).collect();
        rest.with_plugged(&plugged)
    }

    /// The names of what leaves and comes.
    pub fn named(&self, whole: &Fabric) -> MovesReport {
        let mut named = self.moves.named(whole);
        let cable =
            |&(a, b): &(PortId, PortId)| format!("cable from {} to {}", whole.describe_port(a), whole.describe_port(b));
        named.comes.extend(self.plugged.iter().map(cable));
        named
    }
}
