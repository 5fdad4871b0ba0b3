//! The end of a change that a loss has cut short (W.6): carries out the commands of [`Emptying`], which decides.
//!
//! On entry: the new routing is in force, and what the change takes out may still hold packets. On return: the target
//! of the change that is to be made first, or the outcome, once it is known whether they have left. Deliberately
//! omitted: making that change (`execution`).

use super::execution::{survivable, switches_of};
use super::run_state::{CutShort, RunState};
use super::{ChangeUnderWay, Driver, DriverError};
use crate::fabric::Fabric;
use crate::fabric::difference::{common, lacks};
use crate::machine::{
    CallOff, Declined, Emptying, EmptyingCommand, EmptyingEvent, EmptyingInput, Event, Outcome, State,
};
use crate::plan::{Barrier, Plan, Wave};
use crate::subnet::{Leaving, SubnetError, SubnetManager};
use std::sync::Arc;

impl<S: SubnetManager> Driver<S> {
    /// The target of the change that is to follow; none if none is. Before that is so, what a change has taken out is
    /// to be empty (W.6).
    pub(super) async fn next_target(
        &mut self,
        run: &mut RunState,
        own: &ChangeUnderWay,
    ) -> Result<Option<Fabric>, DriverError> {
        if run.outcome == Some(Outcome::CutShort) {
            let since_ns = run.last_waits.values().next().copied().unwrap_or(self.subnet.now_ns());
            self.begin_emptying(run, CutShort { plan: own.plan.clone(), since_ns });
            self.unemptied.push(own.plan.clone());
        }
        loop {
            if let Some(after) = self.replan_target(run, own.plan.plan()) {
                return Ok(Some(after));
            }
            let Some(cut) = run.cut_short.clone() else { return Ok(None) };
            let command = match &run.outcome {
                Some(Outcome::Completed | Outcome::CutShort) => self.await_empty(run, cut.plan.plan()).await?,
                // The change for the loss was undone, the first one was not.
                Some(Outcome::CalledOff(why)) => {
                    let not_followed = EmptyingEvent::NotFollowed(why.to_string());
                    self.step_emptying(run, not_followed)
                }
                _ => return Ok(None),
            };
            match command {
                Some(EmptyingCommand::Replan) => run.replan = true,
                command => {
                    run.outcome = self.ended(run, command);
                    return Ok(None);
                }
            }
        }
    }

    /// Follows a loss that has cut a change short.
    pub(super) fn begin_emptying(&mut self, run: &mut RunState, cut: CutShort) {
        let rounds = cut.plan.plan().waves().last().into_iter().flat_map(vacated_rounds).collect();
        self.step_emptying(run, EmptyingEvent::CutShort { rounds, since_ns: cut.since_ns });
        run.cut_short = Some(cut);
    }

    /// The outcome where what was to follow a change cannot.
    pub(super) fn not_followed(&mut self, run: &mut RunState, why: String) -> Outcome {
        let command = self.step_emptying(run, EmptyingEvent::NotFollowed(why));
        self.ended(run, command).expect("nothing is waited for while a change is to follow")
    }

    /// The outcome that the last command of the machine says; none if it says none. Only the end of a change that no
    /// other one has followed is still to be recorded.
    fn ended(&mut self, run: &mut RunState, command: Option<EmptyingCommand>) -> Option<Outcome> {
        let is_unrecorded = run.outcome == Some(Outcome::CutShort);
        let outcome = match command? {
            EmptyingCommand::Complete => {
                let cut = run.cut_short.as_ref().map(|cut| cut.plan.clone());
                self.unemptied.retain(|plan| cut.as_ref().is_none_or(|cut| !Arc::ptr_eq(plan, cut)));
                Outcome::Completed
            }
            EmptyingCommand::GiveUp(why) => {
                tracing::error!("{why}: it is not known when what was to leave is empty");
                self.trail.enter(self.state.name());
                Outcome::CutShort
            }
            EmptyingCommand::CallOff(why) => return Some(Outcome::CalledOff(CallOff::Failure(why))),
            EmptyingCommand::Vacate { .. } | EmptyingCommand::Look { .. } | EmptyingCommand::Replan => return None,
        };
        if is_unrecorded {
            run.outcome = Some(outcome.clone());
            self.record_end(run);
        }
        Some(outcome)
    }

    fn step_emptying(&mut self, run: &mut RunState, event: EmptyingEvent) -> Option<EmptyingCommand> {
        let at = EmptyingInput { now_ns: self.subnet.now_ns(), is_missing: self.running.has_lost_something() };
        let (was, name) = (run.emptying.name(), event.name());
        let (state, command) = std::mem::take(&mut run.emptying).step(event, at);
        tracing::debug!(event = name, from = was, to = state.name(), "emptying");
        run.emptying = state;
        command
    }

    /// Waits until what a change has taken out is empty, after the changes for what was lost meanwhile. Returns the
    /// command with which the wait ends.
    async fn await_empty(&mut self, run: &mut RunState, plan: &Plan) -> Result<Option<EmptyingCommand>, DriverError> {
        let (start_ns, before) = (self.subnet.now_ns(), self.subnet.smps().clone());
        // The change machine is at rest, and those who watch the change see that its last wait goes on.
        self.trail.enter(State::VACATING);
        self.subnet.set_ways(plan.longest_way(), &switches_of(plan.draft()));
        let mut command = self.step_emptying(run, EmptyingEvent::NothingFollows);
        let last = loop {
            let event = match command {
                Some(EmptyingCommand::Vacate { rounds, since_ns }) => self.vacate(plan, rounds, since_ns).await?,
                Some(EmptyingCommand::Look { failed }) => self.look_for_loss(failed).await?,
                last => break last,
            };
            command = self.step_emptying(run, event);
        };
        if self.abort.take() {
            tracing::warn!("{}", Declined::TooLate);
        }
        if run.emptying == Emptying::Empty {
            self.trail.enter(State::COMPLETED);
        }
        run.note("vacate", start_ns, self.subnet.now_ns(), self.subnet.smps().since(&before));
        Ok(last)
    }

    async fn vacate(&mut self, plan: &Plan, rounds: u8, since_ns: u64) -> Result<EmptyingEvent, DriverError> {
        let (after, omitted) = (&plan.draft().after, &plan.draft().stranded[..]);
        let (ages, fenced, until_event) = (false, false, true);
        let leaving = Leaving { after, omitted, rounds, since_ns, ages, fenced, until_event };
        let ticket = self.state.take_ticket().expect("no change is in progress");
        Ok(match self.subnet.vacate(ticket, plan.policy().observer, &leaving).await {
            Ok(proof) => EmptyingEvent::Vacated(proof),
            Err(SubnetError::Changed) => EmptyingEvent::Interrupted,
            Err(error) => EmptyingEvent::TimedOut(survivable(error)?.to_string()),
        })
    }

    /// Looks whether something is lost that the routing in force uses.
    async fn look_for_loss(&mut self, failed: bool) -> Result<EmptyingEvent, DriverError> {
        let alive = self.running.alive.clone();
        Ok(match self.noticed_during_change(failed).await? {
            Some(Event::Unfinishable) => EmptyingEvent::Unfinishable,
            Some(_) if lacks(&self.running.alive, &common(&alive, &self.running.routed)) => EmptyingEvent::Lost,
            _ => EmptyingEvent::NothingLost,
        })
    }
}

/// The rounds of each *vacated* that ends a wave.
fn vacated_rounds(wave: &Wave) -> impl Iterator<Item = u8> {
    wave.barriers.iter().filter_map(|barrier| match barrier {
        Barrier::Vacated(rounds) => Some(*rounds),
        _ => None,
    })
}
