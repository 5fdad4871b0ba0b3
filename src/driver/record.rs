//! A driver's record of a change.

use super::ComputeTime;
use crate::change::Prepared;
use crate::fabric::PortId;
use crate::machine::Outcome;
use crate::subnet::SmpCounts;
use crate::tables::RoutedBy;
use crate::vet::Vetted;
use std::sync::Arc;

/// One completed phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseRecord {
    /// The plan's name of the phase; `call-off` for the undoing of a change.
    pub name: &'static str,
    /// When its first command was issued, in nanoseconds of the transport's clock.
    pub start_ns: u64,
    /// When its last barrier was passed, or its last command failed.
    pub end_ns: u64,
    /// SMPs sent during the phase.
    pub smps: SmpCounts,
}

impl PhaseRecord {
    /// This record with the time and the SMPs of an earlier attempt at the same phase added.
    pub(super) fn with(&self, earlier: &PhaseRecord) -> PhaseRecord {
        let mut smps = self.smps.clone();
        smps.add(&earlier.smps);
        PhaseRecord { start_ns: earlier.start_ns, smps, ..self.clone() }
    }
}

/// A change that runs.
#[derive(Clone, Debug)]
pub struct ChangeUnderWay {
    /// Its plan.
    pub plan: Arc<Vetted>,
    /// Virtual layers that the routing needs after the change.
    pub layers: u8,
    /// The engine that made the new routing.
    pub routed_by: RoutedBy,
    /// The change that follows, unless the subnet changes meanwhile.
    pub then: Option<Box<Prepared>>,
}

impl ChangeUnderWay {
    /// Simulated nanoseconds to compute it and all that was prepared with it.
    pub(super) fn computing_ns(&self, time: ComputeTime) -> u64 {
        let of = |plan: &Vetted| time.of(&plan.plan().draft().before, plan.plan().scheme());
        let mut ns = of(&self.plan);
        let mut at = &self.then;
        // A given time is that of all.
        while let (Some(then), ComputeTime::Scaled) = (at, time) {
            ns += of(&then.plan);
            at = &then.then;
        }
        ns
    }
}

impl From<Prepared> for ChangeUnderWay {
    fn from(prepared: Prepared) -> ChangeUnderWay {
        let Prepared { plan, layers, routed_by, then, .. } = prepared;
        ChangeUnderWay { plan, layers, routed_by, then }
    }
}

/// The record of a change.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangeRecord {
    /// How it ended.
    pub outcome: Outcome,
    /// The sweep that began the change, if one did.
    pub sweep: Option<PhaseRecord>,
    /// Its phases in order; those of attempts that were called off are listed first.
    pub phases: Vec<PhaseRecord>,
    /// The plans that ran, in order: each after the first because the subnet had changed meanwhile, or because the one
    /// before it was to be followed.
    pub plans: Vec<Arc<Vetted>>,
    /// Of those before the last, the ones that were completed.
    pub made: Vec<Arc<Vetted>>,
    /// Restarts because the subnet had changed.
    pub restarts: usize,
    /// The last plan that ran.
    pub plan: Arc<Vetted>,
    /// The engine that made the new routing.
    pub routed_by: RoutedBy,
    /// End ports that the new routing omits.
    pub stranded: Vec<PortId>,
    /// Ports that should have been ARMED but became ACTIVE by themselves.
    pub not_held: Vec<PortId>,
}

impl ChangeRecord {
    /// This change and its successor, as one: the phases of both, with the sweep between them, and the plan and the
    /// outcome of the second.
    #[must_use]
    pub fn followed_by(self, next: ChangeRecord) -> ChangeRecord {
        let ChangeRecord { outcome, sweep, mut phases, mut plans, mut made, plan, mut not_held, restarts, .. } = self;
        made.extend(matches!(outcome, Outcome::Completed | Outcome::CutShort).then_some(plan));
        made.extend(next.made);
        phases.extend(next.sweep);
        phases.extend(next.phases);
        not_held.extend(next.not_held);
        plans.extend(next.plans);
        let restarts = restarts + next.restarts;
        ChangeRecord { sweep, phases, plans, made, not_held, restarts, ..next }
    }

    /// The plans that ran after the first.
    pub fn later_plans(&self) -> &[Arc<Vetted>] {
        self.plans.get(1..).unwrap_or_default()
    }
}
