//! Clients of end ports: subnet managers, administrators' tools, whoever sends and receives MADs at a port.
//!
//! A client may be attached to every port of a CA or router and to port 0 of every switch. What its device's own agents do not
//! see to comes to it, first in, first out: answers, traps, reports, questions to a subnet manager or to the subnet
//! administration, MADs of any other class. Where nobody is attached it is dropped, as by a host without such a service.

use super::mad::{Body, Mad};
use super::{Sim, SimError};
use crate::fabric::PortId;
use crate::ids::{Lid, PortNum};
use crate::transport::Datagram;
use crate::wire::{AttributeId, Method, class, class_of};
use std::collections::{BTreeMap, VecDeque};

/// What waits at the ports that have a client.
#[derive(Default)]
pub struct Clients {
    queues: BTreeMap<u32, VecDeque<Datagram>>,
    /// Datagrams in all queues.
    waiting: usize,
}

impl Clients {
    /// Whether any client has something to take.
    #[inline]
    pub(super) fn any_waiting(&self) -> bool {
        self.waiting > 0
    }

    fn receive(&mut self, port: u32, datagram: Datagram) {
        if let Some(queue) = self.queues.get_mut(&port) {
            queue.push_back(datagram);
            self.waiting += 1;
        }
    }

    fn take(&mut self, port: u32) -> Option<Datagram> {
        let taken = self.queues.get_mut(&port)?.pop_front()?;
        self.waiting -= 1;
        Some(taken)
    }
}

impl Mad {
    /// Whether a device's own agents see to it: subnet management but for SMInfo, and performance management.
    pub(super) fn is_for_agents(&self) -> bool {
        match (&self.body, self.method()) {
            (Body::Smp(smp), Method::Get | Method::Set) => smp.attribute != AttributeId::SmInfo,
            (Body::Smp(_), Method::TrapRepress) => true,
            (Body::General(bytes), Method::Get | Method::Set) => class_of(bytes) == class::PERFORMANCE,
            _ => false,
        }
    }
}

impl Sim {
    /// Attaches a client to a port, with an empty queue unless one is attached already. [`Sim::run`] stops where it is
    /// asked to stop at MADs as long as anything waits at any of these ports, so whoever attaches must take.
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
        self.clients.queues.entry(port.0).or_default();
        Ok(())
    }

    /// Takes the client of a port away, with all that waits for it.
    pub fn detach(&mut self, port: PortId) {
        if let Some(queue) = self.clients.queues.remove(&port.0) {
            self.clients.waiting -= queue.len();
        }
    }

    /// Sends a datagram out of a port with the LID that it holds, or without one. What is no MAD goes nowhere, as does
    /// what a dead node sends.
    pub fn send_from(&mut self, port: PortId, datagram: &Datagram) {
        let alive = self.devices.list[self.net.ports[port.index()].node as usize].alive;
        if let Some(mad) = Mad::read(datagram, self.source_lid(port.0, datagram.lid)).filter(|_| alive) {
            self.send_mad(port.0, mad);
        }
    }

    /// The next datagram that has come for the client of a port. Its LID is that of the sender; 0 where it holds none.
    pub fn received_at(&mut self, port: PortId) -> Option<Datagram> {
        self.clients.take(port.0)
    }

    /// The next datagram that has come for any client, and its port; the lowest port first.
    pub fn received(&mut self) -> Option<(PortId, Datagram)> {
        if !self.clients.any_waiting() {
            return None;
        }
        let port = self.clients.queues.iter().find(|(_, queue)| !queue.is_empty()).map(|(&port, _)| port)?;
        self.clients.take(port).map(|datagram| (PortId(port), datagram))
    }

    /// Whether a subnet manager runs on a port, as PortInfo's capability mask tells. Who is cut off is told from these
    /// ports; as long as there are none, nobody is.
    pub fn set_is_sm(&mut self, port: PortId, is_sm: bool) {
        if self.managers.contains(&port.0) == is_sm {
            return;
        }
        self.managers.retain(|&other| other != port.0);
        if is_sm {
            self.managers.push(port.0);
        }
        self.notice_capabilities(port.0);
        let was_cut_off = self.ledger.cut_off.clone();
        self.welcome_joined(&was_cut_off);
    }

    /// A MAD has come by a port and is none for the agents there.
    pub(super) fn client_receives(&mut self, arrival: u32, mad: Mad) {
        self.clients.receive(self.management_port(arrival), mad.write());
    }

    /// A port's LID that answers from `dlid` come back to: of the same rank among its LIDs as `dlid` among its owner's,
    /// so that both ways are on one half.
    fn source_lid(&self, port: u32, dlid: Lid) -> Lid {
        let own = &self.devices.ports[port as usize];
        let rank = self.devices.rank_of(port, dlid);
        Lid(own.lid.0 + rank.min(own.lmc.lids() - 1))
    }
}
