//! The resources of a subnet manager besides its port.

use super::config::Config;
use super::election::{ElectionEvent, ElectionRules};
use super::error::SmError;
use super::lifecycle::{self, BringUpAttempt, LifecycleCommand, LifecycleEvent, LifecycleInput};
use super::mailbox::{Happening, SharedMailbox};
use super::pace::SweepPolicy;
use super::responder::{Responder, SharedResponder};
use crate::change::BringUpError;
use crate::fabric::{Fabric, PortId};
use crate::ids::Lmc;
use crate::journal::Journal;
use crate::lid;
use std::collections::BTreeSet;

/// Assigns 2^LMC LIDs to each end port of a fabric: those that the given ports hold, since they carry data, then
/// remembered LIDs, then LIDs that other ports hold.
pub type AssignLids = Box<dyn FnMut(&Fabric, Lmc, &BTreeSet<PortId>) -> Result<Fabric, SmError>>;

/// Stores the LIDs of a fabric; returns why it could not, as text for the user.
pub type KeepLids = Box<dyn FnMut(&Fabric) -> Result<(), String>>;

/// What a subnet manager needs besides its port.
pub struct Context {
    /// Its settings.
    pub config: Config,
    /// Where orders arrive and events are posted.
    pub mailbox: SharedMailbox,
    /// Answers other managers and SA clients, and holds the election.
    pub responder: SharedResponder,
    /// Assigns LIDs.
    pub assign: AssignLids,
    /// Stores LIDs.
    pub keep: KeepLids,
    /// The policy for sweep intervals.
    pub pace: SweepPolicy,
    /// The journal in which changes are recorded before they are made, if any.
    pub journal: Option<Journal>,
    /// Names of the elements that were set aside when this manager was last master; `None` before.
    pub aside: Option<Vec<String>>,
    /// Unix time at which the transport's clock was 0, in nanoseconds: tickets of questions rise with it, from one
    /// manager to the next. 0 in a simulation, whose clock outlives managers.
    pub epoch_ns: u64,
}

impl Context {
    /// A manager that takes part in the election by these rules, and has nothing to remember: neither LIDs nor changes
    /// outlive it.
    pub fn of(config: Config, rules: ElectionRules, mailbox: SharedMailbox) -> Context {
        Context {
            config,
            responder: Responder::new(rules, mailbox.clone()),
            mailbox,
            assign: Box::new(|fabric, lmc, _| Ok(lid::assign(fabric, lmc).map_err(BringUpError::from)?)),
            keep: Box::new(|_| Ok(())),
            pace: SweepPolicy::default(),
            journal: None,
            aside: None,
            epoch_ns: 0,
        }
    }

    /// Stores the LIDs of a fabric. The view shows a failure, because a manager that is started then would assign other
    /// LIDs to devices that have lost theirs.
    pub(super) fn keep_lids(&mut self, fabric: &Fabric) {
        let unkept = (self.keep)(fabric).err();
        let view = &mut self.mailbox.borrow_mut().view;
        if let Some(why) = unkept.as_ref().filter(|_| view.unkept != unkept) {
            tracing::error!("{why}");
        }
        view.unkept = unkept;
    }

    /// Stores the LIDs again if the last attempt failed.
    pub(super) fn keep_lids_after_all(&mut self, fabric: &Fabric) {
        let has_failed = self.mailbox.borrow().view.unkept.is_some();
        if has_failed {
            self.keep_lids(fabric);
        }
    }

    /// Names of the elements set aside: those that this manager knows itself, else those of the journal.
    pub(super) fn aside(&self) -> &[String] {
        self.aside.as_deref().or_else(|| self.journal.as_ref().map(Journal::aside)).unwrap_or_default()
    }

    /// Shows whether the manager's own port leads anywhere in a fabric that was just looked at.
    pub(super) fn check_reach(&self, fabric: &Fabric, own: PortId, now_ns: u64) -> Result<(), SmError> {
        let unreached = (!fabric.reaches_others(own)).then(|| SmError::Unreached { port: fabric.describe_port(own) });
        let shown = unreached.as_ref().map(SmError::to_string);
        let was_shown = std::mem::replace(&mut self.mailbox.borrow_mut().view.unreached, shown.clone());
        match (was_shown, shown) {
            (None, Some(why)) => self.post(now_ns, Happening::Failed(why)),
            (Some(_), None) => tracing::info!("the subnet is reached again"),
            _ => {}
        }
        unreached.map_or(Ok(()), Err)
    }

    /// Records that the bring-up under way begins work that must not be left half done.
    pub(super) fn begin_recovery(&self, now_ns: u64) {
        let commands = self.step(LifecycleEvent::RecoveryBegun, now_ns);
        assert!(commands.is_empty(), "the bring-up goes on");
    }

    /// Records that the subnet has reported a change while nothing is done with it.
    pub(super) fn notice(&self, now_ns: u64) {
        let commands = self.step(LifecycleEvent::Noticed, now_ns);
        assert!(commands.is_empty(), "the manager waits");
    }

    /// Whether so many bring-ups in a row have failed that the one under way does what cannot be proved.
    pub(super) fn has_failed_often(&self) -> bool {
        self.mailbox.borrow().lifecycle().attempt().is_some_and(BringUpAttempt::has_failed_often)
    }

    pub(super) fn post(&self, now_ns: u64, happening: Happening) {
        self.mailbox.borrow_mut().post(now_ns, happening);
    }

    /// Applies an event to the lifecycle, and gives the election what follows for it; returns the commands to carry
    /// out.
    pub(super) fn step(&self, event: LifecycleEvent, now_ns: u64) -> Vec<LifecycleCommand> {
        let at = LifecycleInput { now_ns, mandate: self.responder.borrow().mandate() };
        let state = self.mailbox.borrow().lifecycle();
        let name = event.name();
        let (next, commands) = lifecycle::step(state, event, at);
        tracing::debug!(event = name, from = state.name(), to = next.name(), "lifecycle");
        self.mailbox.borrow_mut().enter(next);
        let handover = match (state.holds_on(), next.holds_on()) {
            (false, true) => Some(ElectionEvent::ChangeBegun),
            (true, false) => Some(ElectionEvent::ChangeEnded),
            _ => None,
        };
        if let Some(event) = handover {
            self.responder.borrow_mut().step(event, now_ns);
        }
        commands
    }
}
