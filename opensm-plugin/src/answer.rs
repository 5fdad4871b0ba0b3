//! What comes of a run: tables to write, lines to log, when to run again; or why nothing is routed.

use crate::evidence::Accepted;
use crate::plans::NoPlan;
use crate::sight::SightError;
use reconfig::routing::RouteError;
use reconfig::tables::Lft;
use std::sync::Arc;
use std::time::Duration;

/// How much a note matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Something is not as it should be.
    Error,
    /// What was done.
    Info,
}

/// A line for OpenSM's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// What to say.
    pub text: String,
}

/// When the routing is to run again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Again {
    /// When these tables are written.
    Written,
    /// When the subnet is up: ports of what has come carry data then.
    Up,
    /// So long after these tables are written.
    Later(Duration),
}

/// What came of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunOutcome {
    /// Nothing was in force, and all was routed.
    BroughtUp,
    /// What was in force was taken over as it is.
    Adopted,
    /// What was in force is mended.
    Mended,
    /// Something was lost, or has come.
    Changed,
    /// Ways are shortened and loads spread.
    Renewed,
    /// Another wave of a plan was handed over, or waits.
    WentOn,
    /// What was handed over before was handed over again.
    Repeated,
    /// The tables in force stay.
    Stayed,
    /// Nothing in place is proved, and the tables in force stay.
    Kept,
    /// Nothing in place is proved, and all were rewritten.
    Rewritten,
    /// The engine failed.
    Failed,
}

impl RunOutcome {
    /// All of them.
    pub const ALL: [RunOutcome; 11] = [
        RunOutcome::BroughtUp,
        RunOutcome::Adopted,
        RunOutcome::Mended,
        RunOutcome::Changed,
        RunOutcome::Renewed,
        RunOutcome::WentOn,
        RunOutcome::Repeated,
        RunOutcome::Stayed,
        RunOutcome::Kept,
        RunOutcome::Rewritten,
        RunOutcome::Failed,
    ];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            RunOutcome::BroughtUp => "brought-up",
            RunOutcome::Adopted => "adopted",
            RunOutcome::Mended => "mended",
            RunOutcome::Changed => "changed",
            RunOutcome::Renewed => "renewed",
            RunOutcome::WentOn => "went-on",
            RunOutcome::Repeated => "repeated",
            RunOutcome::Stayed => "stayed",
            RunOutcome::Kept => "kept",
            RunOutcome::Rewritten => "rewritten",
            RunOutcome::Failed => "failed",
        }
    }

    /// Whether what was handed over is proved.
    pub fn is_proved(self) -> bool {
        !matches!(self, RunOutcome::Kept | RunOutcome::Rewritten | RunOutcome::Failed)
    }
}

/// What OpenSM is to write.
#[derive(Clone, Debug)]
pub struct RunAnswer {
    /// What came of the run.
    pub outcome: RunOutcome,
    /// Whether tables differ from those in force.
    pub writes: bool,
    /// By node of the sight.
    pub lfts: Vec<Arc<Lft>>,
    /// What is to be logged.
    pub notes: Vec<Note>,
    /// Whether another wave, or another part of this one, may be had as soon as they are written.
    pub more_follows: bool,
    /// Whether the routing is to run again.
    pub again: Option<Again>,
    /// What was accepted in this run.
    pub accepted: Option<Accepted>,
}

/// Why nothing is routed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunFailure {
    /// OpenSM's structures.
    #[error(transparent)]
    Sight(#[from] SightError),
    /// The base engine.
    #[error(transparent)]
    Engine(#[from] RouteError),
    /// A switch does not report its table.
    #[error(
        "{switch} does not report its forwarding table: nothing is proved without it, and OpenSM asks again in its next sweep"
    )]
    Silent {
        /// The switch.
        switch: String,
    },
    /// Service levels that cannot be kept are not given out.
    #[error("service levels that hosts are to send on cannot be kept, so none are given out: {0}")]
    Levels(String),
    /// Nothing is in force, and the base engine's tables are not proved.
    #[error("nothing is routed: {0}")]
    Refused(NoPlan),
}
