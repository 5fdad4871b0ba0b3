//! What a subnet manager has besides its port.

use super::config::Config;
use super::error::SmError;
use super::lifecycle::{self, LifecycleCommand, LifecycleEvent, LifecycleInput, Mandate};
use super::mailbox::{Happening, SharedMailbox};
use super::pace::SweepPolicy;
use super::responder::SharedResponder;
use crate::fabric::Fabric;

/// Gives a fabric its LIDs: those remembered first, then those held.
pub type AssignLids = Box<dyn FnMut(&Fabric) -> Result<Fabric, SmError>>;

/// Remembers the LIDs of a fabric.
pub type KeepLids = Box<dyn FnMut(&Fabric)>;

/// What a subnet manager has besides its port.
pub struct Context {
    /// Its settings.
    pub config: Config,
    /// Its mailbox.
    pub mailbox: SharedMailbox,
    /// What answers other managers and clients, and takes part in the election.
    pub responder: SharedResponder,
    /// Gives LIDs.
    pub assign: AssignLids,
    /// Remembers them.
    pub keep: KeepLids,
    /// How often to sweep.
    pub pace: SweepPolicy,
}

impl Context {
    pub(super) fn post(&self, now_ns: u64, happening: Happening) {
        self.mailbox.borrow_mut().post(now_ns, happening);
    }

    /// Moves the manager's life on; what is to be done next.
    pub(super) fn step(&self, event: LifecycleEvent, now_ns: u64) -> Vec<LifecycleCommand> {
        let at = LifecycleInput { now_ns, mandate: Mandate::from(self.responder.borrow().state()) };
        let state = self.mailbox.borrow().lifecycle();
        let name = event.name();
        let (next, commands) = lifecycle::step(state, event, at);
        tracing::debug!(event = name, from = state.name(), to = next.name(), "lifecycle");
        self.mailbox.borrow_mut().enter(next);
        commands
    }
}
