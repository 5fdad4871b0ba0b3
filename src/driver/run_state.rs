//! What a driver keeps while a change runs, and while it stands still.

use super::{ChangeUnderWay, PhaseRecord};
use crate::fabric::PortId;
use crate::machine::{Emptying, Outcome};
use crate::subnet::SmpCounts;
use crate::vet::Vetted;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the driver records while a change runs.
#[derive(Default)]
pub(super) struct RunState {
    pub(super) phases: Vec<PhaseRecord>,
    pub(super) not_held: Vec<PortId>,
    pub(super) outcome: Option<Outcome>,
    pub(super) replan: bool,
    /// Whether the change was to be called off and could not be: nothing more follows then.
    pub(super) declined: bool,
    pub(super) plans: Vec<Arc<Vetted>>,
    pub(super) made: Vec<Arc<Vetted>>,
    pub(super) restarts: usize,
    /// When each of the plan's last waits began, in nanoseconds, by barrier of the last wave.
    pub(super) last_waits: BTreeMap<usize, u64>,
    /// The change that a loss has cut short.
    pub(super) cut_short: Option<CutShort>,
    /// What that change waits for.
    pub(super) emptying: Emptying,
    /// The last wave of which a write may have landed when the change was called off.
    pub(super) reached: Option<usize>,
}

/// A change that stands still.
pub(super) struct HaltedChange {
    pub(super) under_way: ChangeUnderWay,
    /// The change that is to end after it.
    pub(super) cut_short: Option<CutShort>,
}

/// A change that a loss has cut short: what it takes out is not known to be empty.
#[derive(Clone)]
pub(super) struct CutShort {
    pub(super) plan: Arc<Vetted>,
    /// Since when no entry leads into it, in nanoseconds.
    pub(super) since_ns: u64,
}

impl RunState {
    /// Adds to the current phase, or begins the next.
    pub(super) fn note(&mut self, name: &'static str, start_ns: u64, end_ns: u64, smps: SmpCounts) {
        match self.phases.last_mut().filter(|last| last.name == name) {
            Some(last) => {
                last.end_ns = end_ns;
                last.smps.add(&smps);
            }
            None => self.phases.push(PhaseRecord { name, start_ns, end_ns, smps }),
        }
    }
}
