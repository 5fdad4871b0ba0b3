//! The course of a change as one pure transition function: [`step`] takes a state and an event and returns the next state
//! and the commands that the driver must carry out.
//!
//! On entry: a [`Vetted`](crate::plan::Vetted) plan in [`Event::Begin`]; after that answers, each with the [`Ticket`] of the command that it
//! answers (others are ignored), proofs among them. On return: states that hold what they need, so that the same events
//! give the same course. A wave is left only by the barriers that its plan names, in their order. Before the swap a
//! change can be called off; from the swap on the way is forward. `state-machines/change.yaml` says the same by hand, and
//! a test compares the two. Lacks on purpose: clock, I/O, randomness, retries of single SMPs (`subnet`).

mod course;
mod event;

pub use course::Course;
pub use event::{CallOff, Command, Declined, Event, Outcome};

pub use crate::drain::Ticket;
use crate::plan::Barrier;

/// Where a change stands.
#[derive(Clone, Debug)]
pub enum State {
    /// No change has been made yet.
    Steady(Idle),
    /// Service levels of the two halves are being put on separate lanes.
    Splitting(Course),
    /// The new lanes are flushed of packets latched for them before the split.
    Flushing(Course),
    /// Forwarding tables are being written where no data uses them.
    Installing(Course),
    /// Sources are being told to move.
    Swapping(Course),
    /// Sources are moving.
    Moving(Course),
    /// The old lanes run empty.
    Draining(Course),
    /// The new half is being given all lanes.
    Restoring(Course),
    /// Ports are being stopped.
    Stopping(Course),
    /// Ports are being started.
    Starting(Course),
    /// Forwarding tables are being overwritten under traffic.
    Rewriting(Course),
    /// The split is being taken back.
    CallingOff(Course, CallOff),
    /// The last change was made.
    Completed(Idle),
    /// The last change was taken back.
    CalledOff(Idle),
    /// A change stands still in the state `at`, safely, and waits for [`Event::Resume`].
    Failed {
        /// Where it stands.
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
    /// No change made, none under way.
    pub fn new() -> State {
        State::Steady(Idle::default())
    }

    /// No change made, none under way, and the first question bears `next`: devices remember the rounds of a machine that
    /// asked them before.
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
            State::CallingOff(..) => "calling-off",
            State::Completed(_) => "completed",
            State::CalledOff(_) => "called-off",
            State::Failed { .. } => "failed",
        }
    }

    /// The change under way.
    pub fn course(&self) -> Option<&Course> {
        match self {
            State::Splitting(course)
            | State::Flushing(course)
            | State::Installing(course)
            | State::Swapping(course)
            | State::Moving(course)
            | State::Draining(course)
            | State::Restoring(course)
            | State::Stopping(course)
            | State::Starting(course)
            | State::Rewriting(course)
            | State::CallingOff(course, _) => Some(course),
            State::Failed { at } => at.course(),
            State::Steady(_) | State::Completed(_) | State::CalledOff(_) => None,
        }
    }

    /// Whether no change is under way.
    pub fn is_idle(&self) -> bool {
        self.course().is_none()
    }
}

impl Default for State {
    fn default() -> State {
        State::new()
    }
}

/// What is said of a proof that answers the open question but speaks of other lanes, or of another half.
const OTHER_PROOF: &str = "the proof that came speaks of other lanes or of another half than was asked about";

/// The next state, and what is to be done now. Commands are to be carried out in order.
pub fn step(state: State, event: Event) -> (State, Vec<Command>) {
    use Event as E;
    use State as S;
    if is_stale(&state, &event) {
        return (state, Vec::new());
    }
    match (state, event) {
        (S::Steady(idle) | S::Completed(idle) | S::CalledOff(idle), E::Begin(plan)) => Course::begin(plan, idle.next),
        (state @ (S::Steady(_) | S::Completed(_) | S::CalledOff(_)), E::TopologyChanged) => {
            (state, vec![Command::Replan])
        }

        (S::Splitting(course), E::Acknowledged(_)) => course.pass(),
        (S::Flushing(course), E::Flushed(proof)) if course.awaits(Barrier::Flushed(proof.lanes())) => course.pass(),
        (S::Installing(course), E::Acknowledged(_)) => course.pass(),
        (S::Swapping(course), E::Acknowledged(_)) => course.pass(),
        (S::Moving(course), E::SourcesMoved(proof)) if course.moves_to(proof.half()) => course.pass(),
        (S::Draining(course), E::Drained(proof)) if course.awaits(Barrier::Drained(proof.lanes())) => course.pass(),
        (S::Restoring(course), E::Acknowledged(_)) => course.pass(),
        (S::Stopping(course), E::Acknowledged(_)) => course.pass(),
        (S::Starting(course), E::Acknowledged(_)) => course.pass(),
        (S::Rewriting(course), E::Acknowledged(_)) => course.pass(),
        (S::CallingOff(course, why), E::Acknowledged(_)) => course.called_off(why),

        (S::Splitting(course), E::WriteFailed { reason, .. }) => course.call_off(CallOff::Failure(reason)),
        (S::Flushing(course), E::Flushed(_)) => course.call_off(CallOff::Failure(OTHER_PROOF.into())),
        (S::Flushing(course), E::TimedOut { reason, .. }) => course.call_off(CallOff::Failure(reason)),
        (S::Installing(course), E::WriteFailed { reason, .. }) if course.reversible() => {
            course.call_off(CallOff::Failure(reason))
        }
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
        (state @ S::CallingOff(..), E::WriteFailed { reason, .. }) => again(state, reason),

        (S::Splitting(course) | S::Flushing(course), E::Abort) => course.call_off(CallOff::Abort),
        (S::Installing(course), E::Abort) if course.reversible() => course.call_off(CallOff::Abort),
        (S::Splitting(course) | S::Flushing(course), E::TopologyChanged) => course.call_off(CallOff::TopologyChanged),
        (S::Installing(course), E::TopologyChanged) if course.reversible() => course.call_off(CallOff::TopologyChanged),

        (state, E::Abort) if !state.is_idle() => (state, vec![Command::Decline(Declined::TooLate)]),
        (state, E::Begin(_)) => (state, vec![Command::Decline(Declined::Busy)]),
        (state, E::TopologyChanged) => (with_course(state, Course::defer), vec![Command::DeferChange]),
        (S::Failed { at }, E::Resume) => ask_anew(with_course(*at, Course::first_attempt)),
        (state, E::Resume) if !state.is_idle() => ask_anew(with_course(state, Course::first_attempt)),

        (state, _) => (state, Vec::new()),
    }
}

/// Whether an answer is to a question that is not open: late, repeated, or of another change.
fn is_stale(state: &State, event: &Event) -> bool {
    let asked = match state {
        State::Failed { .. } => None,
        _ => state.course().map(Course::asked),
    };
    event.ticket().is_some_and(|ticket| Some(ticket) != asked)
}

/// Asks the open question once more, or stands still where it was asked often enough.
fn again(state: State, reason: String) -> (State, Vec<Command>) {
    if state.course().is_some_and(Course::is_exhausted) {
        let report = Command::Report(Outcome::Failed { state: state.name(), reason });
        return (State::Failed { at: Box::new(state) }, vec![report]);
    }
    ask_anew(state)
}

/// Asks the open question under a new ticket.
fn ask_anew(state: State) -> (State, Vec<Command>) {
    with_course(state, Course::same_question).with_command()
}

/// The state with its course changed by `change`.
fn with_course(state: State, change: fn(Course) -> Course) -> State {
    match state {
        State::Splitting(course) => State::Splitting(change(course)),
        State::Flushing(course) => State::Flushing(change(course)),
        State::Installing(course) => State::Installing(change(course)),
        State::Swapping(course) => State::Swapping(change(course)),
        State::Moving(course) => State::Moving(change(course)),
        State::Draining(course) => State::Draining(change(course)),
        State::Restoring(course) => State::Restoring(change(course)),
        State::Stopping(course) => State::Stopping(change(course)),
        State::Starting(course) => State::Starting(change(course)),
        State::Rewriting(course) => State::Rewriting(change(course)),
        State::CallingOff(course, why) => State::CallingOff(change(course), why),
        State::Failed { at } => State::Failed { at: Box::new(with_course(*at, change)) },
        idle @ (State::Steady(_) | State::Completed(_) | State::CalledOff(_)) => idle,
    }
}
