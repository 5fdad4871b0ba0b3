//! A change in progress: its wave, its barrier, and the open question.

use super::event::{CallOff, ChangePosition, Command, Outcome};
use super::{Idle, State};
use crate::drain::Ticket;
use crate::ids::Half;
use crate::plan::{Barrier, Phase, Plan, Scheme};
use crate::vet::Vetted;
use std::sync::Arc;

/// The number of times that a question is asked before the machine halts and waits to be resumed (C.2).
pub const ATTEMPTS: u8 = 3;

/// A change in progress.
#[derive(Clone, Debug)]
pub struct ChangeProgress {
    plan: Arc<Vetted>,
    wave: usize,
    /// Barriers of this wave already passed.
    passed: usize,
    /// The open question.
    asked: Ticket,
    attempts: u8,
    deferred: bool,
}

type Next = (State, Vec<Command>);

impl ChangeProgress {
    /// Enters the first wave of a plan.
    pub(super) fn begin(plan: Arc<Vetted>, asked: Ticket) -> Next {
        ChangeProgress { plan, wave: 0, passed: 0, asked, attempts: 1, deferred: false }.enter_wave()
    }

    /// Enters a plan where an earlier machine left it: at the first question of the wave, or of its undoing.
    pub(super) fn taken_up(plan: Arc<Vetted>, position: ChangePosition, asked: Ticket) -> Next {
        let ChangePosition { wave, call_off } = position;
        let own = ChangeProgress { plan, wave, passed: 0, asked, attempts: 1, deferred: false };
        match call_off {
            Some(why) if own.reversible() => own.call_off(why),
            _ => own.enter_wave(),
        }
    }

    /// The position of the change, for a journal.
    pub(super) fn position(&self, call_off: Option<CallOff>) -> ChangePosition {
        ChangePosition { wave: self.wave, call_off }
    }

    /// The plan being run.
    pub fn plan(&self) -> &Plan {
        self.plan.plan()
    }

    /// The current wave.
    pub fn wave(&self) -> usize {
        self.wave
    }

    /// The number of barriers of the current wave that were passed.
    pub fn passed(&self) -> usize {
        self.passed
    }

    /// The open question.
    pub fn asked(&self) -> Ticket {
        self.asked
    }

    /// The number of times that the open question was asked.
    pub fn attempts(&self) -> u8 {
        self.attempts
    }

    /// Returns whether the subnet changed again while this change was under way.
    pub fn is_deferred(&self) -> bool {
        self.deferred
    }

    /// The names of the states that the change goes through where nothing fails, each where it is entered first.
    pub fn course(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        let mut state = ChangeProgress::begin(self.plan.clone(), self.asked).0;
        while let Some(progress) = state.progress() {
            if !names.contains(&state.name()) {
                names.push(state.name());
            }
            state = progress.clone().pass().0;
        }
        names
    }

    /// Returns whether the change can be undone before its swap. Only the Double Scheme allows it: no packet meets an
    /// entry of the new routing before the swap (P2.2), and only there has `vet` judged the ways back (W.6).
    pub(super) fn reversible(&self) -> bool {
        self.plan().scheme() == Scheme::Double
    }

    /// Returns whether nothing is left but to wait until what leaves is empty, so that a loss may end the change (W.6).
    pub(super) fn may_be_cut_short(&self) -> bool {
        self.plan().scheme() == Scheme::Ordered && self.wave + 1 == self.plan().waves().len()
    }

    /// Returns whether the wave waits at this barrier.
    pub(super) fn awaits(&self, barrier: Barrier) -> bool {
        self.barrier() == Some(barrier)
    }

    /// Returns whether the sources are being moved to this half.
    pub(super) fn moves_to(&self, half: Half) -> bool {
        self.awaits(Barrier::SourcesMoved) && self.plan().new_half() == half
    }

    fn barrier(&self) -> Option<Barrier> {
        self.plan().waves().get(self.wave).and_then(|wave| wave.barriers.get(self.passed)).copied()
    }

    /// Passes the barrier: to the next one, or to the next wave.
    pub(super) fn pass(mut self) -> Next {
        self.passed += 1;
        self.next_question().enter_barrier()
    }

    /// Sends the wave's writes, or goes to its barriers if there are none; the change ends after the last wave.
    fn enter_wave(self) -> Next {
        let Some(wave) = self.plan.plan().waves().get(self.wave) else { return self.complete() };
        if !wave.writes.is_empty() {
            let state = writing(wave.phase)(self);
            return state.with_command();
        }
        // Nothing was written, so nothing is left to acknowledge. The next question has a ticket of its own all the
        // same: agents take the first ticket of all for that of no question.
        if self.awaits(Barrier::Acknowledged) {
            return self.pass();
        }
        self.enter_barrier()
    }

    /// Asks for the next barrier, or goes on to the next wave if all are passed.
    fn enter_barrier(mut self) -> Next {
        match self.barrier() {
            Some(Barrier::Flushed(_)) => State::Flushing(self).with_command(),
            Some(Barrier::SourcesMoved) => State::Moving(self).with_command(),
            Some(Barrier::Drained(_)) => State::Draining(self).with_command(),
            Some(Barrier::Vacated(_)) if self.deferred && self.may_be_cut_short() => self.cut_short(),
            Some(Barrier::Vacated(_)) => State::Vacating(self).with_command(),
            // All writes of the wave were acknowledged before: they are one command.
            Some(Barrier::Acknowledged) => self.pass(),
            None => {
                (self.wave, self.passed) = (self.wave + 1, 0);
                self.enter_wave()
            }
        }
    }

    fn complete(self) -> Next {
        let commands = self.closing(Outcome::Completed);
        (State::Completed(self.idle()), commands)
    }

    pub(super) fn call_off(mut self, why: CallOff) -> Next {
        self.deferred |= why == CallOff::TopologyChanged;
        State::CallingOff(self.next_question(), why).with_command()
    }

    /// The split was undone.
    pub(super) fn called_off(self, why: CallOff) -> Next {
        let commands = self.closing(Outcome::CalledOff(why));
        (State::CalledOff(self.idle()), commands)
    }

    /// A loss came before the end of the last wait: the new tables are in force, and the next plan begins with them.
    pub(super) fn cut_short(mut self) -> Next {
        self.deferred = true;
        let commands = self.closing(Outcome::CutShort);
        (State::CutShort(self.idle()), commands)
    }

    fn closing(&self, outcome: Outcome) -> Vec<Command> {
        let replan = self.deferred.then_some(Command::Replan);
        [Command::Report(outcome)].into_iter().chain(replan).collect()
    }

    pub(super) fn idle(&self) -> Idle {
        Idle { next: self.asked.next() }
    }

    /// The next question, with a ticket of its own: late answers to the last one no longer count (D.4).
    fn next_question(mut self) -> ChangeProgress {
        self.asked = self.asked.next();
        self.attempts = 1;
        self
    }

    /// This question again, under a new ticket.
    pub(super) fn same_question(mut self) -> ChangeProgress {
        self.asked = self.asked.next();
        self.attempts = self.attempts.saturating_add(1);
        self
    }

    /// Goes on waiting, under a new ticket.
    pub(super) fn waits_on(mut self) -> Next {
        self.asked = self.asked.next();
        State::Vacating(self).with_command()
    }

    /// Returns whether the question was asked as often as permitted.
    pub(super) fn is_exhausted(&self) -> bool {
        self.attempts >= ATTEMPTS
    }

    /// Counts attempts from the start.
    pub(super) fn first_attempt(mut self) -> ChangeProgress {
        self.attempts = 0;
        self
    }

    /// Remembers that the subnet changed again.
    pub(super) fn defer(mut self) -> ChangeProgress {
        self.deferred = true;
        self
    }
}

/// The state in which a wave of this phase writes.
fn writing(phase: Phase) -> fn(ChangeProgress) -> State {
    match phase {
        Phase::Split => State::Splitting,
        Phase::Install => State::Installing,
        Phase::Swap => State::Swapping,
        Phase::Restore => State::Restoring,
        Phase::Stop => State::Stopping,
        Phase::Start => State::Starting,
        Phase::Rewrite => State::Rewriting,
        Phase::Drain => unreachable!("a sealed plan writes nothing while draining"),
    }
}

impl State {
    /// The state, with the command whose answer it waits for.
    pub(super) fn with_command(self) -> Next {
        let command = self.question();
        (self, command.into_iter().collect())
    }

    /// The command whose answer this state waits for; none if it waits for nothing.
    fn question(&self) -> Option<Command> {
        let progress = self.progress()?;
        let (ticket, wave) = (progress.asked, progress.wave);
        match self {
            State::CallingOff(..) => Some(Command::Undo { ticket, reached: wave }),
            State::Flushing(_) | State::Moving(_) | State::Draining(_) | State::Vacating(_) => {
                match progress.barrier()? {
                    Barrier::Flushed(lanes) => Some(Command::Flush { ticket, lanes }),
                    Barrier::SourcesMoved => Some(Command::ConfirmSources { ticket, half: progress.plan().new_half() }),
                    Barrier::Drained(lanes) => {
                        Some(Command::Drain { ticket, observer: progress.plan().policy().observer, lanes })
                    }
                    Barrier::Vacated(rounds) => {
                        Some(Command::Vacate { ticket, observer: progress.plan().policy().observer, rounds })
                    }
                    Barrier::Acknowledged => None,
                }
            }
            State::Failed { .. } => None,
            _ => Some(Command::Apply { ticket, wave }),
        }
    }
}
