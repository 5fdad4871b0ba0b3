//! Events of the change machine, and its commands.

use crate::drain::{Drained, Flushed, Observer, SourcesMoved, Ticket, Vacated};
use crate::ids::{Half, VlSet};
use crate::vet::Vetted;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Input of the machine.
#[derive(Clone, Debug)]
pub enum Event {
    /// Make a change.
    Begin(Arc<Vetted>),
    /// Go on with a change that an earlier driver left: its journal says where.
    Continue(Arc<Vetted>, ChangePosition),
    /// Every write of the command with this ticket was read back, and no copy of a `Set` is in flight. Writes to dead
    /// devices count as done.
    Acknowledged(Ticket),
    /// The lanes in question are flushed.
    Flushed(Flushed),
    /// The sources have moved.
    SourcesMoved(SourcesMoved),
    /// The lanes in question are empty.
    Drained(Drained),
    /// Every device has sent off what stood in it, in as many rounds as asked for.
    Vacated(Vacated),
    /// A write was not acknowledged despite all retries.
    WriteFailed {
        /// The command's ticket.
        ticket: Ticket,
        /// The write, its device, and the answer.
        reason: String,
    },
    /// A proof did not come in time, or the readings permit none.
    TimedOut {
        /// The command's ticket.
        ticket: Ticket,
        /// The readings that were still missing.
        reason: String,
    },
    /// The subnet has reported a change during a wait that a loss ends.
    Interrupted(Ticket),
    /// The subnet changed again.
    TopologyChanged,
    /// The manager's own switch came up anew, and cannot be excused: the change can never be ended (C.7).
    Unfinishable,
    /// The user wants to call the change off.
    Abort,
    /// The user wants a failed change to continue: repeat the last question (C.4).
    Resume,
}

impl Event {
    /// Its name in `state-machines/change.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Begin(_) => "begin",
            Event::Continue(..) => "continue",
            Event::Acknowledged(_) => "acknowledged",
            Event::Flushed(_) => "flushed",
            Event::SourcesMoved(_) => "sources-moved",
            Event::Drained(_) => "drained",
            Event::Vacated(_) => "vacated",
            Event::WriteFailed { .. } => "write-failed",
            Event::TimedOut { .. } => "timed-out",
            Event::Interrupted(_) => "interrupted",
            Event::TopologyChanged => "topology-changed",
            Event::Unfinishable => "unfinishable",
            Event::Abort => "abort",
            Event::Resume => "resume",
        }
    }

    /// The question that it answers; none for an unsolicited event.
    pub fn ticket(&self) -> Option<Ticket> {
        match self {
            Event::Acknowledged(ticket)
            | Event::WriteFailed { ticket, .. }
            | Event::TimedOut { ticket, .. }
            | Event::Interrupted(ticket) => Some(*ticket),
            Event::Flushed(proof) => Some(proof.ticket()),
            Event::SourcesMoved(proof) => Some(proof.ticket()),
            Event::Drained(proof) => Some(proof.ticket()),
            Event::Vacated(proof) => Some(proof.ticket()),
            Event::Begin(_)
            | Event::Continue(..)
            | Event::TopologyChanged
            | Event::Unfinishable
            | Event::Abort
            | Event::Resume => None,
        }
    }
}

/// The position of a change, as recorded in a journal: enough to continue, since every wave and every barrier may be
/// repeated (C.4).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ChangePosition {
    /// The wave of which the writes or the barriers are under way, from 0; while it is called off, the last of which a
    /// write may have landed.
    pub wave: usize,
    /// Why it is being called off, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_off: Option<CallOff>,
}

impl fmt::Display for ChangePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.call_off {
            None => write!(f, "in wave {}", self.wave),
            Some(why) => write!(f, "being called off from wave {} ({why})", self.wave),
        }
    }
}

/// Output of the machine: an action for the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Send the writes of a wave of the plan; answer with `Acknowledged` or `WriteFailed`.
    Apply {
        /// The ticket of this question.
        ticket: Ticket,
        /// Index of the wave.
        wave: usize,
    },
    /// Send [`Plan::undo_writes`](crate::plan::Plan::undo_writes); answer with `Acknowledged` or `WriteFailed`.
    Undo {
        /// The ticket of this question.
        ticket: Ticket,
        /// The last wave of which a write may have landed.
        reached: usize,
    },
    /// Have the lanes flushed; answer with `Flushed` or `TimedOut`.
    Flush {
        /// The ticket of this question.
        ticket: Ticket,
        /// The lanes.
        lanes: VlSet,
    },
    /// Ask the sources whether they moved; answer with `SourcesMoved` or `TimedOut`.
    ConfirmSources {
        /// The ticket of this question.
        ticket: Ticket,
        /// The half that they should send on.
        half: Half,
    },
    /// Observe the lanes run empty; answer with `Drained` or `TimedOut`.
    Drain {
        /// The ticket of this question.
        ticket: Ticket,
        /// The observer.
        observer: Observer,
        /// The lanes.
        lanes: VlSet,
    },
    /// Have every device send off the packets that stand in it; answer with `Vacated` or `TimedOut`.
    Vacate {
        /// The ticket of this question.
        ticket: Ticket,
        /// The observer.
        observer: Observer,
        /// The number of consecutive rounds in which every device must send off its packets.
        rounds: u8,
    },
    /// Report the outcome to the user.
    Report(Outcome),
    /// Sweep, and plan a change from the elements that are present; `Begin` follows if one is needed.
    Replan,
    /// Remember that the subnet changed; `Replan` follows when this change has ended. Dead elements are excused from
    /// writes and readings from now on.
    DeferChange,
    /// Report to the user that a request was declined.
    Decline(Declined),
}

impl Command {
    /// Its name in `state-machines/change.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Apply { .. } => "apply",
            Command::Undo { .. } => "undo",
            Command::Flush { .. } => "flush",
            Command::ConfirmSources { .. } => "confirm-sources",
            Command::Drain { .. } => "drain",
            Command::Vacate { .. } => "vacate",
            Command::Report(_) => "report",
            Command::Replan => "replan",
            Command::DeferChange => "defer-change",
            Command::Decline(_) => "decline",
        }
    }
}

/// The end of a change, or the place where it halted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The new routing is in force.
    Completed,
    /// It was undone.
    CalledOff(CallOff),
    /// It is halted in a safe state, and waits to be resumed.
    Failed {
        /// The state in which it is halted.
        state: &'static str,
        /// The failure.
        reason: String,
    },
    /// The new routing is in force, and the subnet lost something before what leaves was known to be empty: it must
    /// stay until that is known.
    CutShort,
    /// It was given up where it stood, because of [`UNFINISHABLE`].
    Abandoned {
        /// The state in which it was given up.
        state: &'static str,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Completed => f.write_str("completed"),
            Outcome::CalledOff(why) => write!(f, "called off: {why}"),
            Outcome::Failed { state, reason } => write!(f, "in state {state}: {reason}"),
            Outcome::CutShort => write!(f, "cut short: {CUT_SHORT}"),
            Outcome::Abandoned { state } => write!(f, "given up in state {state}: {UNFINISHABLE}"),
        }
    }
}

/// Why a change is given up.
pub const UNFINISHABLE: &str = "the manager's own switch came up anew";

/// Why a change ends before what leaves is known to be empty.
pub const CUT_SHORT: &str =
    "the subnet lost something while what leaves was to empty, and it is not known to be empty: it must stay";

/// Why a change was undone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallOff {
    /// The user requested it.
    Abort,
    /// The subnet changed again; a new plan follows.
    TopologyChanged,
    /// Something failed.
    Failure(String),
}

impl fmt::Display for CallOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallOff::Abort => f.write_str("aborted by the user"),
            CallOff::TopologyChanged => f.write_str("the subnet changed again"),
            CallOff::Failure(reason) => f.write_str(reason),
        }
    }
}

/// Why a request was declined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Declined {
    /// A change is in progress.
    #[error("a change is under way: wait for its end, or abort it before the swap")]
    Busy,
    /// The change can no longer be called off.
    #[error("the change can no longer be called off: it can only go forward")]
    TooLate,
}
