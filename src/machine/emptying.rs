//! The end of a change that a loss has cut short (W.6), as one pure transition function: [`Emptying::step`] takes a
//! state and an event and returns the next state and the command that the driver must carry out.
//!
//! On entry: the rounds of the change's last wait; then answers to commands, and what became of the changes that
//! followed. On return: whether what the change takes out is empty. Holds: it is called empty only after a [`Vacated`]
//! for every wait, each begun after the last entry that leads there was rewritten; a loss that is found during the
//! wait is routed around first. `state-machines/emptying.yaml` states the same by hand, and a test compares the two.
//! Deliberately omitted: a clock, I/O, and the changes that follow ([`step`](super::step)).

use super::{ATTEMPTS, OTHER_PROOF, UNFINISHABLE};
use crate::drain::Vacated;

/// What a change that was cut short still waits for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Emptying {
    /// No change was cut short.
    #[default]
    Unneeded,
    /// A change for what was lost comes first, if one can.
    Following(LastWait),
    /// Every device sends off its packets, round by round.
    Waiting(EmptyingProgress),
    /// It is looked whether something was lost.
    Looking(EmptyingProgress),
    /// What leaves is empty.
    Empty,
    /// It cannot be known whether what leaves is empty.
    Unknown,
}

/// The last wait of a change that was cut short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastWait {
    /// The rounds of each *vacated* that it consists of.
    rounds: Vec<u8>,
    /// Since when no entry leads into what leaves, in nanoseconds.
    since_ns: u64,
    /// Whether a second change was asked for what a first one has left of a loss.
    is_tried_again: bool,
}

/// A last wait in progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmptyingProgress {
    wait: LastWait,
    /// How many of its *vacated* are passed.
    passed: usize,
    /// Since when packets are waited for, in nanoseconds.
    since_ns: u64,
    failures: u8,
}

/// Input of the machine.
#[derive(Clone, Debug)]
pub enum EmptyingEvent {
    /// A loss has cut a change short.
    CutShort {
        /// The rounds of each *vacated* of its last wave.
        rounds: Vec<u8>,
        /// Since when no entry leads into what leaves, in nanoseconds.
        since_ns: u64,
    },
    /// No change follows, and none that followed was undone.
    NothingFollows,
    /// The change that was to follow was undone, or cannot be made.
    NotFollowed(String),
    /// Every device has sent off what stood in it, in as many rounds as asked for.
    Vacated(Vacated),
    /// The subnet has reported a change.
    Interrupted,
    /// The proof did not come in time, or the readings permit none.
    TimedOut(String),
    /// Nothing was lost that the routing in force uses.
    NothingLost,
    /// Something was lost that the routing in force uses.
    Lost,
    /// The manager's own switch came up anew, and answers no question any more (C.7).
    Unfinishable,
}

/// Output of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EmptyingCommand {
    /// Have every device send off its packets; answer with `Vacated`, `Interrupted` or `TimedOut`.
    Vacate {
        /// The number of consecutive rounds.
        rounds: u8,
        /// Since when packets are waited for, in nanoseconds.
        since_ns: u64,
    },
    /// Look whether something was lost; answer with `NothingLost`, `Lost` or `Unfinishable`.
    Look {
        /// Whether a question has failed: then only a sweep shows why.
        failed: bool,
    },
    /// Make a change for what was lost; answer with `NothingFollows`, `NotFollowed` or `CutShort`, unless that change
    /// halts.
    Replan,
    /// Report the change as completed.
    Complete,
    /// Report the change as cut short for good, and why.
    GiveUp(String),
    /// Report that the change, which was not cut short, is called off because the change that was to follow cannot be
    /// made, and why.
    CallOff(String),
}

/// The driver's view of the present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmptyingInput {
    /// Nanoseconds of the transport's clock.
    pub now_ns: u64,
    /// Whether something is gone that the routing in force uses.
    pub is_missing: bool,
}

impl EmptyingEvent {
    /// Its name in `state-machines/emptying.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            EmptyingEvent::CutShort { .. } => "cut-short",
            EmptyingEvent::NothingFollows => "nothing-follows",
            EmptyingEvent::NotFollowed(_) => "not-followed",
            EmptyingEvent::Vacated(_) => "vacated",
            EmptyingEvent::Interrupted => "interrupted",
            EmptyingEvent::TimedOut(_) => "timed-out",
            EmptyingEvent::NothingLost => "nothing-lost",
            EmptyingEvent::Lost => "lost",
            EmptyingEvent::Unfinishable => "unfinishable",
        }
    }
}

impl EmptyingCommand {
    /// Its name in `state-machines/emptying.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            EmptyingCommand::Vacate { .. } => "vacate",
            EmptyingCommand::Look { .. } => "look",
            EmptyingCommand::Replan => "replan",
            EmptyingCommand::Complete => "complete",
            EmptyingCommand::GiveUp(_) => "give-up",
            EmptyingCommand::CallOff(_) => "call-off",
        }
    }
}

type Next = (Emptying, Option<EmptyingCommand>);

impl Emptying {
    /// Its name in `state-machines/emptying.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            Emptying::Unneeded => "unneeded",
            Emptying::Following(_) => "following",
            Emptying::Waiting(_) => "waiting",
            Emptying::Looking(_) => "looking",
            Emptying::Empty => "empty",
            Emptying::Unknown => "unknown",
        }
    }

    /// The next state, and the command to carry out, if there is one.
    #[must_use]
    pub fn step(self, event: EmptyingEvent, at: EmptyingInput) -> Next {
        use Emptying as S;
        use EmptyingCommand as C;
        use EmptyingEvent as E;
        match (self, event) {
            (S::Unneeded, E::CutShort { rounds, since_ns }) => {
                (S::Following(LastWait { rounds, since_ns, is_tried_again: false }), None)
            }
            // The change for a loss was cut short, too. What the earlier one takes out stays in use as far as is known.
            (S::Following(wait), E::CutShort { rounds, since_ns }) => {
                (S::Following(LastWait { rounds, since_ns, ..wait }), None)
            }
            (S::Unneeded, E::NotFollowed(why)) => (S::Unneeded, Some(C::CallOff(why))),
            (S::Following(wait), E::NothingFollows) => EmptyingProgress::begin(wait).ask(at),
            (S::Following(_), E::NotFollowed(why)) => unknown(why),

            (S::Waiting(progress), E::Vacated(proof)) if progress.awaits(&proof) => progress.pass(at),
            (S::Waiting(progress), E::Vacated(_)) => progress.fail(OTHER_PROOF.to_string()),
            (S::Waiting(progress), E::TimedOut(why)) => progress.fail(why),
            (S::Waiting(progress), E::Interrupted) => (S::Looking(progress), Some(C::Look { failed: false })),

            (S::Looking(progress), E::NothingLost) => progress.ask(at),
            (S::Looking(EmptyingProgress { wait, .. }), E::Lost) => {
                (S::Following(LastWait { is_tried_again: false, ..wait }), Some(C::Replan))
            }
            (S::Looking(_), E::Unfinishable) => unknown(UNFINISHABLE.to_string()),

            (state, _) => (state, None),
        }
    }
}

fn unknown(why: String) -> Next {
    (Emptying::Unknown, Some(EmptyingCommand::GiveUp(why)))
}

impl EmptyingProgress {
    /// From the start. No entry leads into what leaves since the last write of its change: no later plan knows these
    /// elements.
    fn begin(wait: LastWait) -> EmptyingProgress {
        let since_ns = wait.since_ns;
        EmptyingProgress { wait, passed: 0, since_ns, failures: 0 }
    }

    fn rounds(&self) -> Option<u8> {
        self.wait.rounds.get(self.passed).copied()
    }

    fn awaits(&self, proof: &Vacated) -> bool {
        self.rounds() == Some(proof.rounds())
    }

    fn pass(self, at: EmptyingInput) -> Next {
        EmptyingProgress { passed: self.passed + 1, since_ns: at.now_ns, ..self }.ask(at)
    }

    /// Asks for the next rounds, if any are left.
    fn ask(self, at: EmptyingInput) -> Next {
        let Some(rounds) = self.rounds() else { return (Emptying::Empty, Some(EmptyingCommand::Complete)) };
        // What the first change for a loss has left to a second one, which is not to wait either.
        if at.is_missing && !self.wait.is_tried_again {
            let wait = LastWait { is_tried_again: true, ..self.wait };
            return (Emptying::Following(wait), Some(EmptyingCommand::Replan));
        }
        let since_ns = self.since_ns;
        (Emptying::Waiting(self), Some(EmptyingCommand::Vacate { rounds, since_ns }))
    }

    /// Looks why a question has failed, unless it was asked often enough (C.2).
    fn fail(self, why: String) -> Next {
        let failures = self.failures + 1;
        if failures >= ATTEMPTS {
            return unknown(why);
        }
        (Emptying::Looking(EmptyingProgress { failures, ..self }), Some(EmptyingCommand::Look { failed: true }))
    }
}
