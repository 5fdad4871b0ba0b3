//! The manager, watched: the driver's operations pass through, the desk hears of each, and where it is told so a change
//! waits behind every barrier until it is given leave.

use super::desk::{Happening, SharedDesk};
use crate::drain::{Drained, Flushed, Observer, SourcesMoved, Ticket};
use crate::driver::Trail;
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, VlSet};
use crate::subnet::{
    Applied, Discovered, Manager, Retiring, SmpCounts, SubnetError, SubnetEvent, SubnetManager, WriteOrder,
};
use crate::tables::Write;
use crate::transport::Transport;
use async_trait::async_trait;

/// How long it is waited at a barrier before looking for leave again.
const LOOK_AGAIN_NS: u64 = 20_000_000;

/// A manager that says what it does.
pub struct Watched<T> {
    pub(super) manager: Manager<T>,
    desk: SharedDesk,
    /// Whether a change is under way: barriers of other writes are nobody's business.
    pub(super) changing: bool,
    /// Tells which states the change has come to.
    pub(super) trail: Trail,
}

impl<T: Transport> Watched<T> {
    pub(super) fn new(manager: Manager<T>, desk: SharedDesk) -> Watched<T> {
        Watched { manager, desk, changing: false, trail: Trail::default() }
    }

    /// The manager.
    pub fn manager(&self) -> &Manager<T> {
        &self.manager
    }

    pub(super) fn into_manager(self) -> Manager<T> {
        self.manager
    }

    /// Tells which states were entered.
    pub(super) fn follow(&self) {
        let mut desk = self.desk.borrow_mut();
        for state in self.trail.take() {
            desk.view.state = state;
            desk.tell(self.manager.now_ns(), Happening::Entered { state });
        }
    }

    /// Tells that a barrier was passed, and waits there where that is wanted.
    async fn passed(&mut self, barrier: &'static str) -> Result<(), SubnetError> {
        self.desk.borrow_mut().view.smps = self.manager.smps().clone();
        if !self.changing || !self.desk.borrow().holds() {
            return Ok(());
        }
        self.desk.borrow_mut().view.held = Some(barrier);
        self.desk.borrow_mut().tell(self.manager.now_ns(), Happening::Held { barrier });
        while !self.desk.borrow_mut().take_leave() {
            self.manager.idle(self.manager.now_ns() + LOOK_AGAIN_NS).await?;
        }
        self.desk.borrow_mut().view.held = None;
        Ok(())
    }
}

#[async_trait(?Send)]
impl<T: Transport> SubnetManager for Watched<T> {
    fn now_ns(&self) -> u64 {
        self.manager.now_ns()
    }

    fn smps(&self) -> &SmpCounts {
        self.manager.smps()
    }

    fn set_topology(&mut self, fabric: &Fabric, sm_port: PortId) {
        self.manager.set_topology(fabric, sm_port);
    }

    async fn discover(&mut self) -> Result<Discovered, SubnetError> {
        let start_ns = self.manager.now_ns();
        let discovered = self.manager.discover().await?;
        let length_ns = self.manager.now_ns() - start_ns;
        let mut desk = self.desk.borrow_mut();
        desk.view.sweeps += 1;
        desk.view.smps = self.manager.smps().clone();
        desk.tell(start_ns + length_ns, Happening::Swept { length_ns, notices: discovered.notices.len() });
        Ok(discovered)
    }

    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError> {
        self.follow();
        let applied = self.manager.apply(fabric, writes, order).await?;
        self.passed("acknowledged").await?;
        Ok(applied)
    }

    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError> {
        self.follow();
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
        self.follow();
        let moved = self.manager.confirm_sources(ticket, ports, half).await?;
        self.passed("sources moved").await?;
        Ok(moved)
    }

    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        self.follow();
        let drained = self.manager.drain(ticket, observer, retiring).await?;
        self.passed("drained").await?;
        Ok(drained)
    }

    fn pending_event(&mut self) -> Option<SubnetEvent> {
        self.manager.pending_event()
    }

    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError> {
        self.manager.next_event(until_ns).await
    }
}
