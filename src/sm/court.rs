//! Other subnet managers of the subnet: who they are, what they are asked and told.

use super::desk::{Happening, SharedDesk};
use super::election::{Command, Event, Peer};
use super::error::SmError;
use super::reception::{SharedReception, peer};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Guid, Lid, Sl};
use crate::subnet::{Ask, Manager, RequestTarget, SubnetError};
use crate::transport::{Datagram, Transport};
use crate::wire::{AttributeId, Method, NodeType, Notice, Route, SmInfo, Smp};
use std::collections::BTreeMap;

/// PortInfo:CapabilityMask, bit 1: a subnet manager runs behind the port.
const IS_SM: u32 = 1 << 1;

/// What is to be done next, as the election has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Wants {
    /// Sweep, and look who else is there.
    pub(super) sweep: bool,
    /// Manage the subnet.
    pub(super) reign: bool,
    /// Manage it no more.
    pub(super) retire: bool,
}

/// The other managers, as the last sweep found them.
#[derive(Debug, Default)]
pub(super) struct Court {
    /// The port of each, by the GUID that it calls itself.
    places: BTreeMap<Guid, PortId>,
}

impl Court {
    /// Asks every port that says that a manager runs behind it who that is. `fabric` is the one the manager knows.
    pub(super) async fn peers<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        fabric: &Fabric,
        own: PortId,
    ) -> Result<Vec<Peer>, SmError> {
        let is_sm = |&port: &PortId| manager.port_info(port).is_some_and(|info| info.capability_mask & IS_SM != 0);
        let present = |&port: &PortId| fabric.node(fabric.port(port).node).present;
        let ports = fabric.lid_ports().filter(|&port| port != own).filter(present).filter(is_sm);
        let ports: Vec<PortId> = ports.collect();
        let ask = |&port: &PortId| Ask::get(RequestTarget::Port(port), AttributeId::SmInfo, 0);
        let told = manager.ask(ports.iter().map(ask).collect()).await?;
        self.places.clear();
        let mut peers = Vec::new();
        for (&port, told) in ports.iter().zip(told) {
            match told.map(|data| peer(&SmInfo::decode(&data))) {
                Ok(Some(peer)) => {
                    self.places.insert(peer.rank.guid, port);
                    peers.push(peer);
                }
                Ok(None) => {}
                Err(error) if error.is_fatal() => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(%error, "a port says that a subnet manager runs there, and it does not answer")
                }
            }
        }
        Ok(peers)
    }

    /// Does what the election commands, and what follows from the answers; returned is what only the manager's life
    /// can do.
    pub(super) async fn carry_out<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        reception: &SharedReception,
        desk: &SharedDesk,
    ) -> Result<Wants, SmError> {
        let mut wants = Wants::default();
        loop {
            let Some(command) = reception.borrow_mut().next_command() else { return Ok(wants) };
            match command {
                Command::Sweep => wants.sweep = true,
                Command::Reign => wants.reign = true,
                Command::Retire => wants.retire = true,
                Command::Tell(news) => {
                    desk.borrow_mut().tell(manager_now(manager), Happening::Failed(news.to_string()))
                }
                Command::Poll(guid) => self.ask(manager, reception, guid, Method::Get, 0).await?,
                Command::HandOver(guid) => self.ask(manager, reception, guid, Method::Set, 1).await?,
                Command::Acknowledge(guid) => self.ask(manager, reception, guid, Method::Set, 2).await?,
                Command::Urge(guid) => self.urge(manager, guid).await?,
                // Answered where the order came in.
                Command::Accept | Command::Refuse => {}
            }
        }
    }

    async fn ask<T: Transport>(
        &self,
        manager: &mut Manager<T>,
        reception: &SharedReception,
        guid: Guid,
        method: Method,
        modifier: u32,
    ) -> Result<(), SmError> {
        let Some(&port) = self.places.get(&guid) else { return Ok(()) };
        let data = match method {
            Method::Get => [0; crate::wire::SMP_DATA_SIZE],
            _ => reception.borrow_mut().info().encode(),
        };
        let ask = Ask {
            place: RequestTarget::Port(port),
            method,
            attribute: AttributeId::SmInfo,
            modifier,
            data: Box::new(data),
        };
        let told = manager.ask(vec![ask]).await?.pop();
        let event = match (told, modifier) {
            (Some(Ok(data)), 0) => peer(&SmInfo::decode(&data)).map(Event::Answered),
            (Some(Ok(_)), 1) => Some(Event::Taken(guid)),
            (Some(Err(SubnetError::Refused { .. })), 1) => Some(Event::Refused(guid)),
            (Some(Err(error)), _) if error.is_fatal() => return Err(error.into()),
            _ => None,
        };
        if let Some(event) = event {
            let now_ns = manager_now(manager);
            reception.borrow_mut().step(event, now_ns);
        }
        Ok(())
    }

    /// Trap 144 to a master: something at this end port changed, so that it looks again.
    async fn urge<T: Transport>(&self, manager: &mut Manager<T>, guid: Guid) -> Result<(), SmError> {
        let Some(info) = self.places.get(&guid).and_then(|&port| manager.port_info(port)) else { return Ok(()) };
        let lid = info.lid;
        if !lid.is_unicast() {
            return Ok(());
        }
        let notice = Notice::end_port_changed(NodeType::ChannelAdapter, Lid::default(), IS_SM);
        let smp = Smp::new(Route::Lid, Method::Trap, AttributeId::Notice, 0, notice.encode());
        let datagram = Datagram { lid, qp: 0, sl: Sl::default(), bytes: Box::new(smp.encode()) };
        manager.transport_mut().send(datagram).await.map_err(SubnetError::from)?;
        Ok(())
    }
}

fn manager_now<T: Transport>(manager: &Manager<T>) -> u64 {
    manager.transport().now_ns()
}
