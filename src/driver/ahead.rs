//! The base of future changes, computed in a thread while the subnet is quiet.
//!
//! The proof of the routing in force, and what the judges need of it, depend on nothing that a loss may change. So they
//! are computed once after each change. A change that is prepared with them is the change that would be prepared
//! without them: what was computed of another state is not used.

use super::Running;
use crate::change::{InForce, KnownBase};
use crate::plan::Policy;
use std::sync::{Arc, Mutex, PoisonError};

/// Finds out what changes begin with, once for each state.
#[derive(Default)]
pub(super) struct BaseKeeper {
    at_work: Option<Work>,
    /// Held while a base is computed: a thread for an outdated state may still be running.
    turn: Arc<Mutex<()>>,
}

/// One state, and what is known of it.
struct Work {
    of: InForce,
    base: KnownBase,
}

impl BaseKeeper {
    /// Begins with a state, unless it has begun with this very one.
    pub fn begin(&mut self, running: &Running, policy: Policy) {
        if self.at_work.as_ref().is_some_and(|work| work.is_of(running, policy)) {
            return;
        }
        let of = running.in_force(policy);
        let base = KnownBase::default();
        let (own, shared, turn) = (of.clone(), base.clone(), self.turn.clone());
        let work = move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            // The result is no longer wanted once the state has passed.
            if shared.is_shared() {
                shared.find_out(&own);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("ahead".to_string()).spawn(work) {
            tracing::warn!(%error, "the next change cannot be prepared ahead: starting a thread failed");
        }
        self.at_work = Some(Work { of, base });
    }

    /// The base of the state that it last started from, available now or later.
    pub fn known(&self) -> Option<KnownBase> {
        self.at_work.as_ref().map(|work| work.base.clone())
    }
}

impl Work {
    fn is_of(&self, running: &Running, policy: Policy) -> bool {
        let of = &self.of;
        Arc::ptr_eq(&of.before, &running.routed)
            && of.tables == running.tables
            && of.layers == running.layers
            && of.ways == running.ways
            && (of.old, of.sm, of.policy) == (running.half, running.sm, policy)
            && of.both_halves == (running.both_halves && running.ways.is_none())
    }
}

impl Running {
    /// The base that a change begins with.
    pub(super) fn in_force(&self, policy: Policy) -> InForce {
        InForce {
            before: self.routed.clone(),
            tables: self.tables.clone(),
            layers: self.layers,
            ways: self.ways.clone(),
            old: self.half,
            both_halves: self.both_halves && self.ways.is_none(),
            policy,
            sm: self.sm,
        }
    }
}
