//! The end of a change that a loss has cut short (W.6).
//!
//! On entry: the new routing is in force, and what the change takes out may still hold packets. On return: the target
//! of the change that is to be made first, or the outcome, once it is known whether they have left. Deliberately
//! omitted: making that change (`execution`).

use super::execution::{survivable, switches_of};
use super::run_state::{CutShort, RunState};
use super::{ChangeUnderWay, Driver, DriverError};
use crate::fabric::Fabric;
use crate::fabric::difference::{common, lacks};
use crate::machine::{ATTEMPTS, CallOff, Declined, Event, Outcome, State, UNFINISHABLE};
use crate::plan::{Barrier, Draft, Wave};
use crate::subnet::{Leaving, SubnetError, SubnetManager};
use std::collections::VecDeque;
use std::sync::Arc;

/// What became of the wait for packets to leave.
enum Emptied {
    Empty,
    /// Something is gone, and is to be routed around first.
    Lost,
    /// Nothing shows it, and why.
    Unknown(String),
}

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
            run.cut_short = Some(CutShort { plan: own.plan.clone(), since_ns });
            self.unemptied.push(own.plan.clone());
        }
        loop {
            if let Some(after) = self.replan_target(run, own.plan.plan()) {
                return Ok(Some(after));
            }
            let Some(cut) = run.cut_short.clone() else { return Ok(None) };
            match &run.outcome {
                Some(Outcome::Completed | Outcome::CutShort) => {}
                // The change for the loss was undone, the first one was not.
                Some(Outcome::CalledOff(why)) => {
                    run.outcome = Some(self.not_followed(run, why.to_string()));
                    return Ok(None);
                }
                _ => return Ok(None),
            }
            run.outcome = match self.await_empty(run, &cut).await? {
                Emptied::Lost => {
                    run.replan = true;
                    continue;
                }
                Emptied::Empty => {
                    run.outcome = Some(Outcome::Completed);
                    self.unemptied.retain(|plan| !Arc::ptr_eq(plan, &cut.plan));
                    // The end of a change for the loss is recorded already.
                    if Arc::ptr_eq(&cut.plan, &own.plan) {
                        self.record_end(run);
                    }
                    Some(Outcome::Completed)
                }
                Emptied::Unknown(why) => Some(self.not_followed(run, why)),
            };
            return Ok(None);
        }
    }

    /// The outcome where what was to follow a change cannot.
    pub(super) fn not_followed(&mut self, run: &RunState, why: String) -> Outcome {
        if run.cut_short.is_none() {
            return Outcome::CalledOff(CallOff::Failure(why));
        }
        tracing::error!("{why}: it is not known when what was to leave is empty");
        self.trail.enter(self.state.name());
        if run.outcome == Some(Outcome::CutShort) {
            self.record_end(run);
        }
        Outcome::CutShort
    }

    /// Waits until what a change has taken out is empty, after the changes for what was lost meanwhile. No entry leads
    /// there since its last write: no later plan knows these elements.
    async fn await_empty(&mut self, run: &mut RunState, cut: &CutShort) -> Result<Emptied, DriverError> {
        let plan = cut.plan.plan();
        let Draft { after, stranded, .. } = plan.draft();
        let (start_ns, before) = (self.subnet.now_ns(), self.subnet.smps().clone());
        self.trail.enter("vacating");
        self.subnet.set_ways(plan.longest_way(), &switches_of(plan.draft()));
        let (mut since_ns, mut failures) = (cut.since_ns, 0);
        let mut left: VecDeque<u8> = plan.waves().last().into_iter().flat_map(vacated_rounds).collect();
        let emptied = loop {
            let Some(&rounds) = left.front() else { break Emptied::Empty };
            // What the first change for a loss has left to a second one, which is not to wait either.
            if self.running.has_lost_something() && !std::mem::replace(&mut run.is_tried_again, true) {
                break Emptied::Lost;
            }
            let (ages, fenced, until_event) = (false, false, true);
            let leaving = Leaving { after, omitted: stranded, rounds, since_ns, ages, fenced, until_event };
            let ticket = self.state.take_ticket().expect("no change is in progress");
            let failed = match self.subnet.vacate(ticket, plan.policy().observer, &leaving).await {
                Ok(_) => {
                    left.pop_front();
                    since_ns = self.subnet.now_ns();
                    continue;
                }
                Err(SubnetError::Changed) => false,
                Err(error) => {
                    let error = survivable(error)?;
                    failures += 1;
                    if failures == usize::from(ATTEMPTS) {
                        break Emptied::Unknown(error.to_string());
                    }
                    true
                }
            };
            let alive = self.running.alive.clone();
            let seen = self.noticed_during_change(failed).await?;
            if matches!(seen, Some(Event::Unfinishable)) {
                break Emptied::Unknown(UNFINISHABLE.to_string());
            }
            if seen.is_some() && lacks(&self.running.alive, &common(&alive, &self.running.routed)) {
                run.is_tried_again = false;
                break Emptied::Lost;
            }
        };
        if self.abort.take() {
            tracing::warn!("{}", Declined::TooLate);
        }
        if matches!(emptied, Emptied::Empty) {
            self.trail.enter(State::COMPLETED);
        }
        run.note("vacate", start_ns, self.subnet.now_ns(), self.subnet.smps().since(&before));
        Ok(emptied)
    }
}

/// The rounds of each *vacated* that ends a wave.
fn vacated_rounds(wave: &Wave) -> impl Iterator<Item = u8> {
    wave.barriers.iter().filter_map(|barrier| match barrier {
        Barrier::Vacated(rounds) => Some(*rounds),
        _ => None,
    })
}
