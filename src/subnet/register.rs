//! Asks the clients at end ports to register again with subnet administration (PortInfo:ClientReregister).
//!
//! An SA keeps service records, subscriptions and joins in memory, and hosts keep the paths that it gave them: a
//! manager that has just become master knows nothing of these. A port is asked in the very `Set` that makes it ACTIVE,
//! or by a `Set` of what it holds. The latter changes nothing at the port, so an event may end it: nobody waits for the
//! answers, and only the next `Set` of a PortInfo waits until no copy is in flight. Deliberately omitted: who is asked
//! when (`sm`), and the step of a change that moves hosts (`apply`).

use super::exchange::{Completed, Exchange, MadAnswer, MadData};
use super::manager::{Manager, answered_or_failed};
use super::{Ask, RequestTarget, SubnetError};
use crate::fabric::{Fabric, PortId};
use crate::ids::{PortName, PortNum};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, PortInfo, PortState, capability};
use std::collections::BTreeSet;

/// Which end ports were asked.
#[derive(Debug, Default)]
pub(super) struct AskedClients {
    /// Whether clients are asked at all, other than by changes that move them.
    asks: bool,
    /// The ports that were asked and have kept their links since.
    asked: BTreeSet<PortName>,
    /// Until when a copy of a `Set` that nobody waited for may be in flight.
    copies_until_ns: u64,
}

impl AskedClients {
    /// Notes that a port was seen in a state. A host that lost its link may have lost its memory too.
    pub(super) fn is_seen(&mut self, port: PortName, state: PortState) {
        if matches!(state, PortState::Down | PortState::Initialize) {
            self.asked.remove(&port);
        }
    }
}

/// Whether the clients of an end port can be asked now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MayRegister {
    /// They can.
    Now,
    /// The port is not ACTIVE, failed lately, or discards what its host would send to the SA.
    Later,
    /// The port does not support it, or its clients were asked since it came.
    Needless,
}

impl<T: Transport> Manager<T> {
    /// Sets whether clients are asked to register again, apart from changes that move them.
    pub fn asks_clients(&mut self, asks: bool) {
        self.asked_clients.asks = asks;
    }

    /// Lets every client count as not asked.
    pub fn forget_asked(&mut self) {
        self.asked_clients.asked.clear();
    }

    /// The end ports and ports 0 of switches of a fabric whose clients are still to be asked; none if nobody is.
    pub fn unasked<'a>(&'a self, fabric: &'a Fabric) -> impl Iterator<Item = PortName> + 'a {
        let AskedClients { asks, asked, .. } = &self.asked_clients;
        let ports = fabric.lid_ports().map(|port| fabric.port_name(port));
        ports.filter(|port| *asks && !asked.contains(port))
    }

    /// Whether a port has clients to be asked in the `Set` that makes it ACTIVE.
    pub(super) fn asks_as_it_starts(&self, fabric: &Fabric, port: PortId) -> bool {
        let is_end = !fabric.node(fabric.port(port).node).is_switch();
        let AskedClients { asks, asked, .. } = &self.asked_clients;
        *asks && is_end && !asked.contains(&fabric.port_name(port)) && self.port_info(port).is_some_and(supports_it)
    }

    pub(super) fn was_asked(&mut self, fabric: &Fabric, port: PortId) {
        self.asked_clients.asked.insert(fabric.port_name(port));
    }

    /// Whether the clients of an end port of the known fabric can be asked.
    pub fn may_register(&self, port: PortId) -> MayRegister {
        let Some(topology) = &self.topology else { return MayRegister::Later };
        let Some(held) = self.port_info(port) else { return MayRegister::Later };
        if !supports_it(held) || self.asked_clients.asked.contains(&topology.fabric.port_name(port)) {
            return MayRegister::Needless;
        }
        let at = topology.fabric.port(port);
        // Port 0 of a switch is always there.
        let is_active = at.num == PortNum::ZERO || held.port_state == PortState::Active;
        let fails = self.failed_lately(at.node, AttributeId::PortInfo)
            || self.fails_at(at.node, AttributeId::PortInfo, Method::Set);
        match is_active && !fails && !self.is_kept_from_sa(port, held.master_sm_sl) {
            true => MayRegister::Now,
            false => MayRegister::Later,
        }
    }

    /// Asks the clients of some end ports of the known fabric to register again, each once, by a `Set` of what the port
    /// holds. Ends as soon as an event arrives. Returns each port that has answered or was silent for its time, and
    /// whether it has taken the request.
    ///
    /// # Errors
    /// No fabric is known, or the port failed.
    pub async fn ask_to_register(&mut self, ports: &[PortId]) -> Result<Vec<(PortId, bool)>, SubnetError> {
        // Requests sent now would have to be sent again.
        if self.is_interrupted(true) {
            return Ok(Vec::new());
        }
        let mut exchange = Exchange::ended_by_event(self.timing);
        let mut done = Vec::new();
        for (tag, &port) in ports.iter().enumerate() {
            let Some(held) = self.port_info(port) else { continue };
            let again = PortInfo { client_reregister: true, ..held.unchanged() };
            let number = self.topology("asking clients")?.fabric.port(port).num.0.into();
            let ask = Ask::set(RequestTarget::Port(port), AttributeId::PortInfo, number, again.encode());
            match self.request_of(ask, tag as u64)? {
                Ok(request) => exchange.submit_once(request),
                Err(_) => done.push((port, false)),
            }
        }
        let quiet_at_ns = self.quiet_at_ns;
        let mut ended: Vec<Completed> = Vec::new();
        let on = |_: &mut Exchange, completed| ended.push(completed);
        let ran = self.run_until(&mut exchange, on, |manager, _| manager.is_interrupted(true)).await;
        // The ports hold what these copies write anyway: sweeps and tables need not wait for them.
        let copies_until_ns = std::mem::replace(&mut self.quiet_at_ns, quiet_at_ns);
        self.asked_clients.copies_until_ns = self.asked_clients.copies_until_ns.max(copies_until_ns);
        ran?;
        for completed in ended {
            let port = ports[completed.request.tag as usize];
            let taken = match answered_or_failed(completed) {
                Ok((request, MadAnswer { data: MadData::Smp(_, data), .. })) => {
                    self.remember(&request, &data);
                    self.asked_clients.asked.extend(self.topology.as_ref().map(|known| known.fabric.port_name(port)));
                    true
                }
                Ok(_) => false,
                Err(failed) => {
                    let error = self.explain(failed);
                    tracing::debug!(%error, "asking clients to register again");
                    false
                }
            };
            done.push((port, taken));
        }
        Ok(done)
    }

    /// Waits until no copy of a `Set` of what a port held is in flight: a later one, of this manager or another, would
    /// be undone by it.
    ///
    /// # Errors
    /// The port failed.
    pub async fn await_registering(&mut self) -> Result<(), SubnetError> {
        self.wait_until(self.asked_clients.copies_until_ns).await
    }
}

fn supports_it(info: &PortInfo) -> bool {
    info.capability_mask & capability::CLIENT_REREGISTER != 0
}
