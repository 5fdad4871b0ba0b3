//! Port-change bits of switches: which of them this manager clears, and what the cleared ones have reported.
//!
//! A switch sets its bit when a link of it goes down or comes up; the manager that clears it is responsible for the
//! change. Deliberately omitted: reading and clearing bits (`sweep`, `glance`, `events`).

use super::sweep::ClearedBits;
use crate::fabric::NodeId;
use crate::ids::Guid;
use std::collections::BTreeSet;

/// The results of sweeps and glances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Freshness {
    /// Change bits were cleared, and the changes that they reported are in no known fabric.
    Stale,
    /// A sweep or a glance found them, and the known fabric does not follow from them yet.
    New,
    /// The known fabric follows from them.
    Known,
}

/// What port-change bits have reported, and which of them are cleared.
#[derive(Debug)]
pub(super) struct PortChanges {
    /// The result of the last sweep or glance, compared with the known fabric.
    found: Freshness,
    /// Switches whose ports the next glance asks for, whatever they report: their bits were cleared, or a copy of the
    /// `Set` that clears them may still arrive.
    reported: BTreeSet<NodeId>,
    /// The switches whose bits are cleared.
    clears: ClearedBits,
    /// The switches whose bits the last sweep cleared: a bit of theirs that is set reports a later change.
    has_cleared: ClearedBits,
}

impl PortChanges {
    /// Those of a manager that knows no fabric yet, and clears all bits.
    pub fn new() -> PortChanges {
        let (clears, has_cleared) = (ClearedBits::All, ClearedBits::None);
        PortChanges { found: Freshness::Stale, reported: BTreeSet::new(), clears, has_cleared }
    }

    /// Sets which bits are cleared from now on.
    pub fn clear(&mut self, clears: ClearedBits) {
        self.clears = clears;
    }

    /// Whether the bit of a switch is cleared where it is found set.
    pub fn clears(&self, switch: Guid) -> bool {
        self.clears.has(switch)
    }

    /// Whether the last sweep cleared the bit of a switch.
    pub fn has_cleared(&self, switch: Guid) -> bool {
        self.has_cleared.has(switch)
    }

    /// A sweep begins. Returns the bits that it clears.
    pub fn begin_sweep(&mut self) -> ClearedBits {
        self.has_cleared = self.clears.clone();
        self.clears.clone()
    }

    /// A look begins: what the bits report that it clears is unknown until it has ended. Returns what was found before.
    pub fn begin_look(&mut self) -> Freshness {
        std::mem::replace(&mut self.found, Freshness::Stale)
    }

    /// A look has ended.
    pub fn end_look(&mut self, found: Freshness) {
        self.found = found;
    }

    /// The known fabric was set: it follows from what was found last, unless that is incomplete.
    pub fn follow(&mut self) {
        if self.found == Freshness::New {
            self.found = Freshness::Known;
        }
    }

    /// The switches whose ports the next glance asks for; none are left.
    pub fn take_reported(&mut self) -> BTreeSet<NodeId> {
        std::mem::take(&mut self.reported)
    }

    /// Has the next glance ask for the ports of these switches, too.
    pub fn report(&mut self, switches: impl IntoIterator<Item = NodeId>) {
        self.reported.extend(switches);
    }

    /// Moves to the indices of another fabric; switches without one are forgotten.
    pub fn rename(&mut self, there: impl Fn(NodeId) -> Option<NodeId>) {
        self.reported = self.reported.iter().filter_map(|&switch| there(switch)).collect();
    }
}
