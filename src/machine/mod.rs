//! A change as one pure transition function: [`step`] takes a state and an event and returns the next state and the
//! commands that the driver must carry out.
//!
//! On entry: a [`Vetted`](crate::vet::Vetted) plan in [`Event::Begin`]; then answers, proofs among them, each with the
//! [`Ticket`] of its command; other tickets are ignored. On return: states that hold all they need, so that the same
//! events lead to the same states. A wave is left only by the barriers that its plan names, in their order. In scheme
//! `double` a change can be called off before the swap; from the swap on, and in every other scheme from the first
//! write on, it only goes forward (P3.9), except that a loss ends the last wait of scheme `ordered` (W.6). Wherever it
//! stands it is given up once it can never be ended (C.7). `state-machines/change.yaml` states the same by hand, and a
//! test compares the two. Deliberately omitted: a clock, I/O, randomness, retries of single SMPs (`subnet`).

mod emptying;
mod event;
mod progress;

pub use emptying::{Emptying, EmptyingCommand, EmptyingEvent, EmptyingInput, EmptyingProgress, LastWait};
pub use event::{CUT_SHORT, CallOff, ChangePosition, Command, Declined, Event, Outcome, UNFINISHABLE};
pub use progress::{ATTEMPTS, ChangeProgress};

pub use crate::drain::Ticket;
use crate::plan::Barrier;

/// The state of a change.
#[derive(Clone, Debug)]
pub enum State {
    /// No change has been made yet.
    Steady(Idle),
    /// Service levels of the two halves are being put on separate lanes.
    Splitting(ChangeProgress),
    /// The new lanes are flushed of packets latched for them before the split.
    Flushing(ChangeProgress),
    /// Forwarding tables are being written where no data uses them.
    Installing(ChangeProgress),
    /// Sources are being ordered to move.
    Swapping(ChangeProgress),
    /// Sources are moving.
    Moving(ChangeProgress),
    /// The old lanes run empty.
    Draining(ChangeProgress),
    /// The new half is being given all lanes.
    Restoring(ChangeProgress),
    /// Ports are being stopped.
    Stopping(ChangeProgress),
    /// Ports are being started, or notified of the half in use.
    Starting(ChangeProgress),
    /// Forwarding tables are being overwritten under traffic.
    Rewriting(ChangeProgress),
    /// Every device sends off its packets, round by round: at the end until the leaving elements are vacated, between
    /// two waves until all packets sent before have come to their end.
    Vacating(ChangeProgress),
    /// The split is being undone.
    CallingOff(ChangeProgress, CallOff),
    /// The last change was made.
    Completed(Idle),
    /// The last change was undone.
    CalledOff(Idle),
    /// A loss ended the last change before what leaves was known to be empty.
    CutShort(Idle),
    /// The last change was given up where it stood.
    Abandoned(Idle),
    /// A change is halted in the state `at`, which is safe, and waits for [`Event::Resume`].
    Failed {
        /// The state in which it is halted.
        at: Box<State>,
    },
}

/// Between changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Idle {
    /// The ticket of the next question.
    next: Ticket,
}

impl State {
    /// The name of the state in which nothing is left to do.
    pub const COMPLETED: &str = "completed";
    /// The name of the state in which what leaves is to empty.
    pub const VACATING: &str = "vacating";

    /// No change made, none under way.
    pub fn new() -> State {
        State::Steady(Idle::default())
    }

    /// No change made, none in progress, and `next` as the first ticket: devices remember the rounds of an earlier
    /// machine.
    pub fn starting_at(next: Ticket) -> State {
        State::Steady(Idle { next })
    }

    /// Its name in `state-machines/change.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            State::Steady(_) => "steady",
            State::Splitting(_) => "splitting",
            State::Flushing(_) => "flushing",
            State::Installing(_) => "installing",
            State::Swapping(_) => "swapping",
            State::Moving(_) => "moving",
            State::Draining(_) => "draining",
            State::Restoring(_) => "restoring",
            State::Stopping(_) => "stopping",
            State::Starting(_) => "starting",
            State::Rewriting(_) => "rewriting",
            State::Vacating(_) => State::VACATING,
            State::CallingOff(..) => "calling-off",
            State::Completed(_) => State::COMPLETED,
            State::CalledOff(_) => "called-off",
            State::CutShort(_) => "cut-short",
            State::Abandoned(_) => "abandoned",
            State::Failed { .. } => "failed",
        }
    }

    /// The change in progress.
    pub fn progress(&self) -> Option<&ChangeProgress> {
        match self {
            State::Splitting(progress)
            | State::Flushing(progress)
            | State::Installing(progress)
            | State::Swapping(progress)
            | State::Moving(progress)
            | State::Draining(progress)
            | State::Restoring(progress)
            | State::Stopping(progress)
            | State::Starting(progress)
            | State::Rewriting(progress)
            | State::Vacating(progress)
            | State::CallingOff(progress, _) => Some(progress),
            State::Failed { at } => at.progress(),
            _ => None,
        }
    }

    /// Where the next change begins; none while one is in progress.
    fn idle(&mut self) -> Option<&mut Idle> {
        match self {
            State::Steady(idle)
            | State::Completed(idle)
            | State::CalledOff(idle)
            | State::CutShort(idle)
            | State::Abandoned(idle) => Some(idle),
            _ => None,
        }
    }

    /// The position of the change in progress, for a journal.
    pub fn position(&self) -> Option<ChangePosition> {
        match self {
            State::CallingOff(progress, why) => Some(progress.position(Some(why.clone()))),
            State::Failed { at } => at.position(),
            _ => self.progress().map(|progress| progress.position(None)),
        }
    }

    /// The ticket of a question that belongs to no change; none while one is in progress.
    pub fn take_ticket(&mut self) -> Option<Ticket> {
        let idle = self.idle()?;
        let ticket = idle.next;
        idle.next = ticket.next();
        Some(ticket)
    }

    /// Returns whether no change is under way.
    pub fn is_idle(&self) -> bool {
        self.progress().is_none()
    }

    /// Returns whether a loss ends the change now.
    pub fn may_be_cut_short(&self) -> bool {
        matches!(self, State::Vacating(progress) if progress.may_be_cut_short())
    }

    /// Returns whether an abort calls the change off.
    pub fn may_be_called_off(&self) -> bool {
        match self {
            State::Splitting(_) | State::Flushing(_) => true,
            State::Installing(progress) => progress.reversible(),
            _ => false,
        }
    }
}

impl Default for State {
    fn default() -> State {
        State::new()
    }
}

/// The reason reported for a proof that answers the open question but concerns other lanes or another half.
const OTHER_PROOF: &str = "the proof received concerns other lanes, another half or fewer rounds than the question";

/// The next state, and the commands to carry out in order.
pub fn step(mut state: State, event: Event) -> (State, Vec<Command>) {
    use Event as E;
    use State as S;
    if is_stale(&state, &event) {
        return (state, Vec::new());
    }
    if let Some(&mut Idle { next }) = state.idle() {
        return match event {
            E::Begin(plan) => ChangeProgress::begin(plan, next),
            E::Continue(plan, position) => ChangeProgress::taken_up(plan, position, next),
            E::TopologyChanged => (state, vec![Command::Replan]),
            _ => (state, Vec::new()),
        };
    }
    match (state, event) {
        (S::Splitting(progress), E::Acknowledged(_)) => progress.pass(),
        (S::Flushing(progress), E::Flushed(proof)) if progress.awaits(Barrier::Flushed(proof.lanes())) => {
            progress.pass()
        }
        (S::Installing(progress), E::Acknowledged(_)) => progress.pass(),
        (S::Swapping(progress), E::Acknowledged(_)) => progress.pass(),
        (S::Moving(progress), E::SourcesMoved(proof)) if progress.moves_to(proof.half()) => progress.pass(),
        (S::Draining(progress), E::Drained(proof)) if progress.awaits(Barrier::Drained(proof.lanes())) => {
            progress.pass()
        }
        (S::Restoring(progress), E::Acknowledged(_)) => progress.pass(),
        (S::Stopping(progress), E::Acknowledged(_)) => progress.pass(),
        (S::Starting(progress), E::Acknowledged(_)) => progress.pass(),
        (S::Rewriting(progress), E::Acknowledged(_)) => progress.pass(),
        (S::Vacating(progress), E::Vacated(proof)) if progress.awaits(Barrier::Vacated(proof.rounds())) => {
            progress.pass()
        }
        // Most of what a subnet reports is no loss.
        (S::Vacating(progress), E::Interrupted(_)) => progress.waits_on(),
        (S::CallingOff(progress, why), E::Acknowledged(_)) => progress.called_off(why),

        // Before the swap a failure calls the change off (C.1, C.2): wave 1 in reverse is as safe as wave 1 (PROOF.md,
        // Lemma 2).
        (S::Splitting(progress), E::WriteFailed { reason, .. }) => progress.call_off(CallOff::Failure(reason)),
        (S::Flushing(progress), E::Flushed(_)) => progress.call_off(CallOff::Failure(OTHER_PROOF.into())),
        (S::Flushing(progress), E::TimedOut { reason, .. }) => progress.call_off(CallOff::Failure(reason)),
        (S::Installing(progress), E::WriteFailed { reason, .. }) if progress.reversible() => {
            progress.call_off(CallOff::Failure(reason))
        }
        // The other schemes have no spare half to retreat to, so they repeat the question like every state from the
        // swap on (P3.9). In scheme `ordered` no packet is led to what this wave writes, so it may stand half written
        // (W.4).
        (state @ S::Installing(_), E::WriteFailed { reason, .. }) => again(state, reason),
        (state @ S::Swapping(_), E::WriteFailed { reason, .. }) => again(state, reason),
        (state @ S::Moving(_), E::SourcesMoved(_)) => again(state, OTHER_PROOF.into()),
        (state @ S::Moving(_), E::TimedOut { reason, .. }) => again(state, reason),
        (state @ S::Draining(_), E::Drained(_)) => again(state, OTHER_PROOF.into()),
        (state @ S::Draining(_), E::TimedOut { reason, .. }) => again(state, reason),
        (state @ S::Restoring(_), E::WriteFailed { reason, .. }) => again(state, reason),
        (state @ S::Stopping(_), E::WriteFailed { reason, .. }) => again(state, reason),
        (state @ S::Starting(_), E::WriteFailed { reason, .. }) => again(state, reason),
        (state @ S::Rewriting(_), E::WriteFailed { reason, .. }) => again(state, reason),
        (state @ S::Vacating(_), E::Vacated(_)) => again(state, OTHER_PROOF.into()),
        (state @ S::Vacating(_), E::TimedOut { reason, .. }) => again(state, reason),
        (state @ S::CallingOff(..), E::WriteFailed { reason, .. }) => again(state, reason),

        (S::Splitting(progress) | S::Flushing(progress), E::Abort) => progress.call_off(CallOff::Abort),
        (S::Installing(progress), E::Abort) if progress.reversible() => progress.call_off(CallOff::Abort),
        (S::Splitting(progress) | S::Flushing(progress), E::TopologyChanged) => {
            progress.call_off(CallOff::TopologyChanged)
        }
        (S::Installing(progress), E::TopologyChanged) if progress.reversible() => {
            progress.call_off(CallOff::TopologyChanged)
        }

        (S::Vacating(progress), E::TopologyChanged) if progress.may_be_cut_short() => progress.cut_short(),

        // From now on, no question is answered (C.7).
        (state, E::Unfinishable) => abandoned(&state),
        (state, E::Abort) => (state, vec![Command::Decline(Declined::TooLate)]),
        (state, E::Begin(_) | E::Continue(..)) => (state, vec![Command::Decline(Declined::Busy)]),
        // Too late to call off: the loss waits for the end of this change (C.3).
        (state, E::TopologyChanged) => (with_progress(state, ChangeProgress::defer), vec![Command::DeferChange]),
        (S::Failed { at }, E::Resume) => ask_anew(with_progress(*at, ChangeProgress::first_attempt)),
        (state, E::Resume) => ask_anew(with_progress(state, ChangeProgress::first_attempt)),

        (state, _) => (state, Vec::new()),
    }
}

/// Returns whether an answer belongs to no open question: it is late, repeated, or from another change.
fn is_stale(state: &State, event: &Event) -> bool {
    let asked = match state {
        // A halted change has no open question: a late answer must not move it.
        State::Failed { .. } => None,
        _ => state.progress().map(ChangeProgress::asked),
    };
    event.ticket().is_some_and(|ticket| Some(ticket) != asked)
}

/// Repeats the open question, or halts if it was asked often enough (C.2).
fn again(state: State, reason: String) -> (State, Vec<Command>) {
    if state.progress().is_some_and(ChangeProgress::is_exhausted) {
        let report = Command::Report(Outcome::Failed { state: state.name(), reason });
        return (State::Failed { at: Box::new(state) }, vec![report]);
    }
    ask_anew(state)
}

/// Gives a change up where it stands: nothing is written, and the next manager begins from what it reads (section E).
fn abandoned(state: &State) -> (State, Vec<Command>) {
    let next = state.progress().map(ChangeProgress::idle).unwrap_or_default();
    (State::Abandoned(next), vec![Command::Report(Outcome::Abandoned { state: state.name() })])
}

/// Repeats the open question under a new ticket.
fn ask_anew(state: State) -> (State, Vec<Command>) {
    with_progress(state, ChangeProgress::same_question).with_command()
}

/// The state with its progress changed by `change`.
fn with_progress(state: State, change: fn(ChangeProgress) -> ChangeProgress) -> State {
    match state {
        State::Splitting(progress) => State::Splitting(change(progress)),
        State::Flushing(progress) => State::Flushing(change(progress)),
        State::Installing(progress) => State::Installing(change(progress)),
        State::Swapping(progress) => State::Swapping(change(progress)),
        State::Moving(progress) => State::Moving(change(progress)),
        State::Draining(progress) => State::Draining(change(progress)),
        State::Restoring(progress) => State::Restoring(change(progress)),
        State::Stopping(progress) => State::Stopping(change(progress)),
        State::Starting(progress) => State::Starting(change(progress)),
        State::Rewriting(progress) => State::Rewriting(change(progress)),
        State::Vacating(progress) => State::Vacating(change(progress)),
        State::CallingOff(progress, why) => State::CallingOff(change(progress), why),
        State::Failed { at } => State::Failed { at: Box::new(with_progress(*at, change)) },
        idle => idle,
    }
}
