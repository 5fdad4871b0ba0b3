//! The records of a journal.

use super::{JournalError, plan_text};
use crate::ids::Guid;
use crate::machine::{CUT_SHORT, CallOff, ChangePosition, Outcome, UNFINISHABLE};
use crate::plan::{Plan, Scheme};
use serde::{Deserialize, Serialize};

/// The value of the field `schema`.
pub(super) const SCHEMA: &str = "reconfig.journal/1";

/// A record with its time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JournalEntry {
    /// Unix time in nanoseconds; in a simulation, simulated nanoseconds.
    pub at_ns: u64,
    /// The record.
    #[serde(flatten)]
    pub record: JournalRecord,
}

/// One record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum JournalRecord {
    /// The journal begins; always the first.
    Opened {
        /// The schema of its records.
        schema: String,
        /// The version of the program.
        version: String,
    },
    /// All elements that are set aside, by names that stay theirs.
    Aside {
        /// A switch by its GUID, a cable by an end, `GUID:PORT`.
        elements: Vec<String>,
    },
    /// A change is about to begin.
    Begun(Box<ChangeBegun>),
    /// A command is about to be carried out.
    Asked {
        /// The command, by its name in `state-machines/change.yaml`.
        command: String,
        /// The name of the wave.
        name: String,
        /// The position of the change at that command.
        #[serde(flatten)]
        position: ChangePosition,
    },
    /// The change was made.
    Completed,
    /// The half of LIDs that a change has left leads again where the one in use leads, and is about to be opened.
    Followed,
    /// The change was undone.
    CalledOff {
        /// Why.
        why: CallOff,
    },
    /// The change is halted, and waits to be resumed.
    Halted {
        /// The state in which it is halted.
        state: String,
        /// The failure.
        reason: String,
    },
    /// The change is not resumed: the subnet is not as it left it, or another plan has taken its place.
    Abandoned {
        /// Why.
        why: String,
    },
    /// No change is recorded from here on, since there was no room; what is set aside is.
    GivenUp {
        /// What the system said.
        why: String,
    },
}

impl JournalRecord {
    pub(super) fn of_outcome(outcome: &Outcome) -> JournalRecord {
        match outcome {
            Outcome::Completed => JournalRecord::Completed,
            Outcome::CalledOff(why) => JournalRecord::CalledOff { why: why.clone() },
            Outcome::Failed { state, reason } => {
                JournalRecord::Halted { state: (*state).to_string(), reason: reason.clone() }
            }
            Outcome::CutShort => JournalRecord::Abandoned { why: CUT_SHORT.to_string() },
            Outcome::Abandoned { .. } => JournalRecord::Abandoned { why: UNFINISHABLE.to_string() },
        }
    }
}

/// A change that is about to begin, with all that is needed to go on with it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChangeBegun {
    /// Its scheme.
    pub scheme: Scheme,
    /// Its waves.
    pub waves: usize,
    /// Writes in all of them.
    pub writes: usize,
    /// Whether it leaves one half of LIDs, which is to follow once it is made.
    pub retires: bool,
    /// Virtual layers that the routing in force needs.
    pub layers_before: u8,
    /// Virtual layers that the new routing needs.
    pub layers: u8,
    /// The engine of the new routing.
    pub engine: String,
    /// The root of the new routing, if it has one.
    pub root: Option<Guid>,
    /// The length of the plan's file in bytes.
    plan_bytes: usize,
    /// The plan's file, packed with zlib, in base64.
    plan: String,
}

impl ChangeBegun {
    /// The record of a change of a routing in `layers_before` layers to one in `layers`.
    pub fn new(plan: &Plan, [layers_before, layers]: [u8; 2], engine: &str, root: Option<Guid>) -> ChangeBegun {
        let (plan_bytes, text) = plan_text::packed(plan);
        ChangeBegun {
            scheme: plan.scheme(),
            waves: plan.waves().len(),
            writes: plan.waves().iter().map(|wave| wave.writes.len()).sum(),
            retires: plan.old() != plan.new_half(),
            layers_before,
            layers,
            engine: engine.to_string(),
            root,
            plan_bytes,
            plan: text,
        }
    }

    /// The plan's file.
    ///
    /// # Errors
    /// It cannot be unpacked.
    pub fn plan_file(&self) -> Result<String, JournalError> {
        plan_text::unpacked(&self.plan, self.plan_bytes)
    }

    /// The plan. It is not vetted.
    ///
    /// # Errors
    /// It cannot be unpacked or read.
    pub fn plan(&self) -> Result<Plan, JournalError> {
        Plan::read(&self.plan_file()?, "the journal's plan").map_err(|error| JournalError::Plan(error.to_string()))
    }
}
