//! What the manager did that stood by.

use super::{Ending, PhaseReport};
use crate::plan::Scheme;
use serde::Serialize;

/// What the manager did that stood by.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct TakeoverReport {
    /// Its node.
    pub standby: String,
    /// When the port of the first manager went down, in nanoseconds of simulated time.
    pub lost_ns: u64,
    /// When this one began.
    pub began_ns: u64,
    /// When the subnet ran under it; none if it never did.
    pub up_ns: Option<u64>,
    /// How the subnet came under it: `adopted`, `recovered` or `rewritten`.
    pub arrival: Option<&'static str>,
    /// Why nothing less would do.
    pub why: Option<String>,
    /// The changes that it made then.
    pub changes: Vec<TakeoverChange>,
    /// What failed on the way.
    pub failures: Vec<String>,
    /// When it had nothing left to do; none if it was given up.
    pub rests_ns: Option<u64>,
}

/// A change of the manager that took over.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct TakeoverChange {
    /// Whether it was completed.
    pub completed: bool,
    /// Its scheme.
    pub scheme: Scheme,
    /// Whether its plan was proved.
    pub proved: bool,
    /// Its phases, in order.
    pub phases: Vec<PhaseReport>,
}

impl TakeoverReport {
    /// How the run ends.
    pub(in crate::scenario) fn ending(&self) -> Ending {
        if self.reason().is_none() { Ending::Completed } else { Ending::Aborted }
    }

    /// Why it did not complete.
    pub(in crate::scenario) fn reason(&self) -> Option<String> {
        let failed = || self.failures.last().map_or_else(String::new, |why| format!(": {why}"));
        match (self.up_ns, self.rests_ns, self.changes.last()) {
            (None, ..) => Some(format!("the manager that stood by did not take the subnet over{}", failed())),
            (Some(_), None, _) => Some(format!("the manager that took over did not come to rest{}", failed())),
            (.., Some(last)) if !last.completed => Some("the last change of the manager that took over failed".into()),
            _ => None,
        }
    }
}
