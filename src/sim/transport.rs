//! A client's port in the simulated fabric, as a rule the subnet manager's: a [`Transport`] whose clock is the
//! simulation's.
//!
//! It has no thread or task: a future that waits records until when, and the code that polls the future runs the
//! simulation to that time or to the next MAD ([`SimTransport::advance`]).

use super::{Halt, Sim, SimError};
use crate::fabric::PortId;
use crate::transport::{Datagram, Transport, TransportError};
use async_trait::async_trait;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Poll;

/// A handle on a simulation; clones share it.
#[derive(Clone)]
pub struct SimTransport {
    sim: Rc<RefCell<Sim>>,
    /// Where it sends and receives.
    port: PortId,
    /// Until when the pending receive waits.
    waiting: Rc<Cell<u64>>,
}

impl SimTransport {
    /// A transport into a simulation at the subnet manager's port. Panics if the simulation began without one.
    pub fn new(sim: Sim) -> SimTransport {
        let port = *sim.devices.managers.first().expect("a simulation that did not begin cold has a subnet manager");
        SimTransport { sim: Rc::new(RefCell::new(sim)), port, waiting: Rc::new(Cell::new(u64::MAX)) }
    }

    /// A transport into a simulation at a port, attached there.
    ///
    /// # Errors
    /// The port can have no client.
    pub fn attach(mut sim: Sim, port: PortId) -> Result<SimTransport, SimError> {
        sim.attach(port)?;
        Ok(SimTransport { sim: Rc::new(RefCell::new(sim)), port, waiting: Rc::new(Cell::new(u64::MAX)) })
    }

    /// Another transport into the same simulation, attached at another port, with a wait of its own.
    ///
    /// # Errors
    /// The port can have no client.
    pub fn attach_another(&self, port: PortId) -> Result<SimTransport, SimError> {
        self.with(|sim| sim.attach(port))?;
        Ok(SimTransport { sim: self.sim.clone(), port, waiting: Rc::new(Cell::new(u64::MAX)) })
    }

    /// Looks at the simulation, or acts on it. Panics when called from within itself.
    pub fn with<T>(&self, act: impl FnOnce(&mut Sim) -> T) -> T {
        act(&mut self.sim.borrow_mut())
    }

    /// Detaches the client: datagrams that have come for it are dropped, and later ones too.
    pub fn hang_up(&self) {
        self.waiting.set(u64::MAX);
        self.with(|sim| sim.detach(self.port));
    }

    /// Lets time pass for a future that waits on this transport: to the next MAD for any client, to the time it waits
    /// for, or to `at_most_ns`, whichever comes first.
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
        self.sim.borrow_mut().send_from(self.port, &datagram);
        Ok(())
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        std::future::poll_fn(|_| {
            let mut sim = self.sim.borrow_mut();
            if let Some(datagram) = sim.received_at(self.port) {
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
