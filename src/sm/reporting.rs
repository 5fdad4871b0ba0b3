//! A [`Manager`] under observation: it forwards the driver's operations and posts each to the mailbox. On request it
//! pauses a change after every barrier until ordered to continue. It owns what switches hold of multicast groups, since
//! it sees each wait of a change: a tree that has lost something is replaced before it ([`groups`](super::groups)).

use super::config::Config;
use super::context::Context;
use super::directory;
use super::groups::GroupForwarding;
use super::mailbox::{Happening, SharedMailbox};
use super::planning;
use super::responder::SharedResponder;
use crate::drain::{Drained, Flushed, Observer, SourcesMoved, Ticket, Vacated};
use crate::driver::Trail;
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, VlSet};
use crate::subnet::{
    Applied, Discovered, Glance, Leaving, Manager, Outlook, Retiring, SubnetError, SubnetEvent, SubnetManager,
    WriteOrder, as_the_manager,
};
use crate::tables::Write;
use crate::transport::Transport;
use async_trait::async_trait;

/// The interval at which a paused change checks whether it may continue.
const LOOK_AGAIN_NS: u64 = 20_000_000;

/// A manager that posts its progress, and whose SA knows the next routing.
pub struct ReportingManager<T> {
    pub(super) manager: Manager<T>,
    mailbox: SharedMailbox,
    pub(super) responder: SharedResponder,
    pub(super) config: Config,
    /// Multicast groups in switches.
    pub(super) groups: GroupForwarding,
    /// Records the states that the change has entered.
    pub(super) trail: Trail,
}

impl<T: Transport> ReportingManager<T> {
    pub(super) fn new(manager: Manager<T>, context: &Context) -> ReportingManager<T> {
        let (mailbox, responder) = (context.mailbox.clone(), context.responder.clone());
        let (config, groups, trail) = (context.config.clone(), GroupForwarding::default(), Trail::default());
        ReportingManager { manager, mailbox, responder, config, groups, trail }
    }

    /// The manager.
    pub fn manager(&self) -> &Manager<T> {
        &self.manager
    }

    pub(super) fn into_manager(self) -> Manager<T> {
        self.manager
    }

    /// Reports the states entered since the last call.
    pub(super) fn follow(&self) {
        self.counts();
        for state in self.trail.take() {
            self.post(Happening::Entered { state });
        }
    }

    /// Called before each wait of a change.
    async fn before_wait(&mut self) -> Result<(), SubnetError> {
        self.follow();
        self.settle_groups_amid_change().await
    }

    fn post(&self, happening: Happening) {
        self.mailbox.borrow_mut().post(self.manager.now_ns(), happening);
    }

    /// Shows what was sent, and how many end ports are closed.
    fn counts(&self) {
        let view = &mut self.mailbox.borrow_mut().view;
        (view.smps, view.closed_ends) = (self.manager.smps().clone(), self.manager.closed_ends());
    }

    /// Reports a sweep.
    fn has_swept(&self, start_ns: u64, discovered: &Discovered) {
        let length_ns = self.manager.now_ns() - start_ns;
        let swept = Happening::Swept { length_ns, notices: discovered.notices.len() };
        let mut mailbox = self.mailbox.borrow_mut();
        mailbox.view.smps = self.manager.smps().clone();
        mailbox.post(start_ns + length_ns, swept);
    }

    /// Reports a barrier, and pauses there if requested. Writes outside a change pass no barrier that anybody would
    /// look at.
    async fn passed(&mut self, barrier: &'static str) -> Result<(), SubnetError> {
        self.counts();
        if !self.mailbox.borrow_mut().hold_at(barrier) {
            return Ok(());
        }
        self.post(Happening::Held { barrier });
        while !self.mailbox.borrow_mut().take_leave() {
            self.manager.idle(self.manager.now_ns() + LOOK_AGAIN_NS).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl<T: Transport> SubnetManager for ReportingManager<T> {
    as_the_manager!();

    async fn compute(&mut self, work: Box<dyn FnOnce() + Send>) -> Result<(), SubnetError> {
        planning::done(&mut self.manager, self.config.planning, work).await
    }

    fn set_topology(&mut self, fabric: &Fabric, sm_port: PortId) {
        self.manager.set_topology(fabric, sm_port);
    }

    async fn discover(&mut self) -> Result<Discovered, SubnetError> {
        let start_ns = self.manager.now_ns();
        let discovered = self.manager.discover().await?;
        self.has_swept(start_ns, &discovered);
        Ok(discovered)
    }

    async fn discover_until_event(&mut self) -> Result<Option<Discovered>, SubnetError> {
        let start_ns = self.manager.now_ns();
        let discovered = self.manager.discover_until_event().await?;
        discovered.iter().for_each(|discovered| self.has_swept(start_ns, discovered));
        Ok(discovered)
    }

    async fn glance(&mut self) -> Result<Glance, SubnetError> {
        let glance = self.manager.glance().await?;
        self.counts();
        Ok(glance)
    }

    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError> {
        self.follow();
        let began_ns = self.manager.now_ns();
        let applied = match self.manager.apply(fabric, writes, order).await {
            Err(error) if !error.is_fatal() => {
                // A device that fails a second time is left out: the sweep that follows a failure has its links taken
                // down, and the change goes on without it.
                self.manager.leave_out_faulty(began_ns, 2);
                return Err(error);
            }
            other => other?,
        };
        self.passed("acknowledged").await?;
        Ok(applied)
    }

    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError> {
        self.before_wait().await?;
        let flushed = self.manager.flush(ticket, observer, lanes).await?;
        self.passed("flushed").await?;
        Ok(flushed)
    }

    async fn confirm_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError> {
        self.before_wait().await?;
        let moved = self.manager.confirm_sources(ticket, ports, half).await?;
        self.passed("sources moved").await?;
        Ok(moved)
    }

    /// Answers about the half in use stay valid.
    fn set_outlook(&mut self, outlook: Outlook) {
        self.groups.look_ahead(&outlook);
        if let Err(error) = directory::publish(&self.manager, &self.responder, &self.config, outlook) {
            tracing::warn!(%error, "the SA answers from what it knew before");
        }
    }

    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        self.before_wait().await?;
        let drained = self.manager.drain(ticket, observer, retiring).await?;
        self.passed("drained").await?;
        Ok(drained)
    }

    async fn can_vacate(&mut self, observer: Observer) -> Result<(), SubnetError> {
        self.manager.can_vacate(observer).await
    }

    async fn vacate(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        leaving: &Leaving<'_>,
    ) -> Result<Vacated, SubnetError> {
        self.before_wait().await?;
        let vacated = self.manager.vacate(ticket, observer, leaving).await?;
        self.passed("vacated").await?;
        Ok(vacated)
    }

    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError> {
        self.manager.next_event(until_ns).await
    }
}
