//! Clients of end ports: subnet managers, administrators' tools, and other code that sends and receives MADs at a port.
//!
//! A client may be attached to every port of a CA or router and to port 0 of every switch. It receives, first in, first
//! out, what its device's own agents do not handle: answers, traps, reports, queries to a subnet manager or to the
//! subnet administration, MADs of any other class. A port without a client drops them, as does a host without such a
//! service.

use super::mad::Mad;
use super::{Sim, SimError};
use crate::fabric::PortId;
use crate::ids::PortNum;
use crate::transport::Datagram;
use std::collections::{BTreeMap, VecDeque};

/// What waits at the ports that have a client.
#[derive(Default)]
pub struct MadClients {
    queues: BTreeMap<PortId, VecDeque<Datagram>>,
    /// Datagrams in all queues.
    waiting: usize,
}

impl MadClients {
    /// Whether any client has something to take.
    #[inline]
    pub(super) fn any_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Gives a port a client; one that it has already keeps its queue.
    fn attach(&mut self, port: PortId) {
        self.queues.entry(port).or_default();
    }

    fn detach(&mut self, port: PortId) {
        if let Some(queue) = self.queues.remove(&port) {
            self.waiting -= queue.len();
        }
    }

    fn take_any(&mut self) -> Option<(PortId, Datagram)> {
        let port = self.queues.iter().find(|(_, queue)| !queue.is_empty()).map(|(&port, _)| port)?;
        self.take(port).map(|datagram| (port, datagram))
    }

    fn receive(&mut self, port: PortId, datagram: Datagram) {
        if let Some(queue) = self.queues.get_mut(&port) {
            queue.push_back(datagram);
            self.waiting += 1;
        }
    }

    fn take(&mut self, port: PortId) -> Option<Datagram> {
        let taken = self.queues.get_mut(&port)?.pop_front()?;
        self.waiting -= 1;
        Some(taken)
    }
}

impl Sim {
    /// Attaches a client to a port, with an empty queue unless one is attached already. A [`Sim::run`] that stops at
    /// MADs stops as long as any datagram waits at any of these ports, so every client must take its datagrams.
    ///
    /// # Errors
    /// The port is none of a CA or router, nor port 0 of a switch.
    pub fn attach(&mut self, port: PortId) -> Result<(), SimError> {
        if port.index() >= self.fabric.port_count() {
            return Err(SimError::NoClient(format!("{port:?}, which is no port of the fabric")));
        }
        let at = self.fabric.port(port);
        if self.fabric.node(at.node).is_switch() != (at.num == PortNum::ZERO) {
            return Err(SimError::NoClient(self.fabric.describe_port(port)));
        }
        self.clients.attach(port);
        Ok(())
    }

    /// Takes the client of a port away, with all that waits for it.
    pub fn detach(&mut self, port: PortId) {
        self.clients.detach(port);
    }

    /// Sends a datagram out of a port, with the LID that the port holds, or without one. A datagram that is no MAD is
    /// dropped, and so is one from a dead node.
    pub fn send_from(&mut self, port: PortId, datagram: &Datagram) {
        let alive = self.devices.list[self.plane.ports[port].node].alive;
        let slid = self.devices.source_lid(port, datagram);
        if let Some(mad) = Mad::read(datagram, slid).filter(|_| alive) {
            self.count_mad(datagram);
            self.send_mad(port, mad);
        }
    }

    /// The next datagram that has come for the client of a port. Its LID is that of the sender; 0 where it holds none.
    pub fn received_at(&mut self, port: PortId) -> Option<Datagram> {
        self.clients.take(port)
    }

    /// The next datagram that has come for any client, and its port; the lowest port first.
    pub fn received(&mut self) -> Option<(PortId, Datagram)> {
        if !self.clients.any_waiting() {
            return None;
        }
        self.clients.take_any()
    }

    /// Sets whether a subnet manager runs on a port, as PortInfo:CapabilityMask shows. End ports are cut off when none
    /// of these ports reaches them; without such a port none is cut off.
    pub fn set_is_sm(&mut self, port: PortId, is_sm: bool) {
        if !self.devices.set_manager(port, is_sm) {
            return;
        }
        self.notice_capabilities(port);
        let was_cut_off = self.sources.cut_off.clone();
        self.welcome_joined(&was_cut_off);
    }

    /// Has a second subnet manager stand by at a port from the beginning: it says nothing yet, and end ports that are
    /// linked with it are not cut off when the first one is.
    pub fn stand_by(&mut self, port: PortId) {
        self.devices.set_manager(port, true);
    }

    /// A MAD has come by a port, and is not for the agents there.
    pub(super) fn client_receives(&mut self, arrival: PortId, mad: Mad) {
        self.clients.receive(self.plane.management_port(arrival), mad.write());
    }
}
