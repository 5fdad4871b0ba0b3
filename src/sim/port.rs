//! The subnet manager's port in the simulated fabric: a [`Transport`] whose clock is the simulation's.
//!
//! Nothing runs behind it: a future that waits leaves word until when, and whoever polls the future lets the simulation
//! run to that time or to the next MAD ([`SimTransport::advance`]).

use super::{Halt, Sim};
use crate::transport::{Datagram, Transport, TransportError};
use async_trait::async_trait;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Poll;

/// A handle on a simulation; clones share it.
#[derive(Clone)]
pub struct SimTransport {
    sim: Rc<RefCell<Sim>>,
    /// Until when the pending receive waits.
    waiting: Rc<Cell<u64>>,
}

impl SimTransport {
    /// Puts a simulation behind a transport.
    pub fn new(sim: Sim) -> SimTransport {
        SimTransport { sim: Rc::new(RefCell::new(sim)), waiting: Rc::new(Cell::new(u64::MAX)) }
    }

    /// Looks at the simulation, or acts on it. Panics when called from within itself.
    pub fn with<T>(&self, act: impl FnOnce(&mut Sim) -> T) -> T {
        act(&mut self.sim.borrow_mut())
    }

    /// Lets time pass for a future that waits on this transport: to its next MAD, to the time it waits for, or to
    /// `at_most_ns`, whichever comes first.
    pub fn advance(&self, at_most_ns: u64) -> Halt {
        let until = self.waiting.get().min(at_most_ns);
        self.sim.borrow_mut().run(until, true)
    }

    /// Until when the pending receive waits; `u64::MAX` where it waits for ever.
    pub fn waits_until_ns(&self) -> u64 {
        self.waiting.get()
    }
}

#[async_trait(?Send)]
impl Transport for SimTransport {
    fn now_ns(&self) -> u64 {
        self.sim.borrow().now_ns()
    }

    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError> {
        self.sim.borrow_mut().manager_sends(&datagram);
        Ok(())
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        std::future::poll_fn(|_| {
            let mut sim = self.sim.borrow_mut();
            if let Some(datagram) = sim.inbox.pop_front() {
                return Poll::Ready(Ok(Some(datagram)));
            }
            if sim.now_ns() >= until_ns {
                return Poll::Ready(Ok(None));
            }
            self.waiting.set(until_ns);
            Poll::Pending
        })
        .await
    }
}
