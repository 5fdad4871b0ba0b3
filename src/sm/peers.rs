//! The other subnet managers of the subnet: where they are, and the requests sent to them.

use super::election::{ElectionCommand, ElectionEvent, ElectionState, Peer, PeerOrder};
use super::error::SmError;
use super::lifecycle::{LifecycleEvent, LifecycleState};
use super::mailbox::{Happening, SharedMailbox};
use super::responder::{SharedResponder, peer};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Guid, Lid, Sl};
use crate::subnet::{Ask, AskResult, Discovered, Manager, RequestTarget, SubnetError, SubnetManager, SweptTopology};
use crate::transport::{Datagram, Transport};
use crate::wire::capability::IS_SM;
use crate::wire::{AttributeId, Method, NodeType, Notice, PortInfo, Route, SmInfo, Smp};
use std::collections::{BTreeMap, BTreeSet};

/// The other managers, as the last sweep found them.
#[derive(Debug, Default)]
pub(super) struct PeerManagers {
    /// The GUID of each manager's port, by the GUID in its SMInfo. Indices would be of one fabric, and it is replaced.
    ports: BTreeMap<Guid, Guid>,
    /// The subnet as the last survey found it, where some of it was not known: it may have a manager of its own.
    swept: Option<SweptTopology>,
}

impl PeerManagers {
    /// Reads SMInfo at every port that reports a manager, or that has sent a trap or answered as a manager last time,
    /// and passes the answers to the election. `fabric` is the one that the manager knows, `own` its own port. Returns
    /// false if an event cut the questions short, which happens only with `until_event`; the election then learns
    /// nothing.
    pub(super) async fn find<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        responder: &SharedResponder,
        fabric: &Fabric,
        own: PortId,
        until_event: bool,
    ) -> Result<bool, SmError> {
        self.swept = None;
        // A port may have lost the capability bit although its manager runs. Ports of ibsim lose it with their link.
        let callers = manager.take_callers();
        let ports = self.managed(manager, fabric, own, callers.clone());
        let ask = |&port: &PortId| Ask::get(RequestTarget::Port(port), AttributeId::SmInfo, 0);
        let Some(answers) = manager.ask_beside(ports.iter().map(ask).collect(), until_event).await? else {
            manager.keep_callers(callers);
            return Ok(false);
        };
        self.ports.clear();
        // A manager that comes again later is asked like any other.
        let asked: BTreeSet<Guid> = ports.iter().map(|&port| fabric.port_guid(port)).collect();
        manager.forget_silence(AttributeId::SmInfo, |port| !asked.contains(&port));
        let mut peers = Vec::new();
        for (&port, answer) in ports.iter().zip(answers) {
            match answer.map(|data| peer(&SmInfo::decode(&data))) {
                Ok(Some(peer)) => {
                    self.ports.insert(peer.rank.guid, fabric.port_guid(port));
                    peers.push(peer);
                }
                Ok(None) => {}
                Err(error) if error.is_fatal() => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(%error, "a port reports a subnet manager, or is named as one, and none answers")
                }
            }
        }
        responder.borrow_mut().step(ElectionEvent::Swept(peers), manager.now_ns());
        Ok(true)
    }

    /// Finds managers in everything that a sweep found, including unknown parts. A subnet newly cabled to this one may
    /// bring its own manager: both must know which of them is master before either takes the other's devices in.
    pub(super) async fn find_in_all<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        responder: &SharedResponder,
        found: &Discovered,
        until_event: bool,
    ) -> Result<bool, SmError> {
        let mut swept = SweptTopology::new(found);
        manager.trade_topology(&mut swept);
        let is_whole = self.find(manager, responder, &found.fabric, found.sm_port, until_event).await;
        manager.trade_topology(&mut swept);
        self.swept = Some(swept);
        is_whole
    }

    /// The port of a manager in the fabric that is known now, if it is cabled there.
    fn port_of<T: Transport>(&self, manager: &Manager<T>, peer: Guid) -> Option<PortId> {
        manager.port_by_guid(*self.ports.get(&peer)?)
    }

    /// Ports other than the manager's `own` behind which a manager is likely to be.
    fn managed<T: Transport>(
        &self,
        manager: &Manager<T>,
        fabric: &Fabric,
        own: PortId,
        callers: BTreeSet<Lid>,
    ) -> Vec<PortId> {
        // Ports that another manager has set up name it, even where its own port has lost the capability bit.
        let infos = fabric.lid_ports().filter_map(|port| manager.port_info(port));
        let masters = infos.map(|info| info.master_sm_lid).filter(|lid| lid.is_unicast());
        let named: BTreeSet<Lid> = callers.into_iter().chain(masters).collect();
        let is_likely =
            |info: &PortInfo| info.capability_mask & IS_SM != 0 || lids(info).any(|lid| named.contains(&lid));
        // A manager that answered last time is asked again: a standby that loses sight of its master would become
        // master itself.
        let answered = |port: PortId| self.ports.values().any(|&guid| guid == fabric.port_guid(port));
        let is_sm = |&port: &PortId| manager.port_info(port).is_some_and(is_likely) || answered(port);
        let present = |&port: &PortId| fabric.node(fabric.port(port).node).present;
        fabric.lid_ports().filter(|&port| port != own).filter(present).filter(is_sm).collect()
    }

    /// Asks the known managers, and the ports `suspects`, for SMInfo between two sweeps, once each. Passes the answers
    /// to the election. Silence says nothing.
    pub(super) async fn ask<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        responder: &SharedResponder,
        fabric: &Fabric,
        own: PortId,
        suspects: &[PortId],
    ) -> Result<(), SmError> {
        let mut ports = self.managed(manager, fabric, own, BTreeSet::new());
        let others = suspects.iter().filter(|&&port| port != own && !ports.contains(&port));
        ports.extend(others.copied().collect::<Vec<_>>());
        let ask = |&port: &PortId| Ask::get(RequestTarget::Port(port), AttributeId::SmInfo, 0);
        let answers = manager.ask_once(ports.iter().map(ask).collect()).await?;
        for (&port, answer) in ports.iter().zip(answers) {
            let answered = answer.ok().and_then(|data| peer(&SmInfo::decode(&data)));
            if let Some(peer) = answered.filter(|peer| responder.borrow().trusts(peer)) {
                self.ports.insert(peer.rank.guid, fabric.port_guid(port));
                responder.borrow_mut().step(ElectionEvent::Answered(peer), manager.now_ns());
            }
        }
        Ok(())
    }

    /// Offers the subnet to the managers that are known. Returns the resulting event of the lifecycle.
    pub(super) async fn resign<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        responder: &SharedResponder,
        mailbox: &SharedMailbox,
    ) -> Result<Option<LifecycleEvent>, SmError> {
        let mut peers = Vec::new();
        for guid in self.ports.keys().copied().collect::<Vec<_>>() {
            peers.extend(self.sm_info(manager, guid, false).await?);
        }
        responder.borrow_mut().step(ElectionEvent::Resigned(peers), manager.now_ns());
        self.carry_out(manager, responder, mailbox).await
    }

    /// Carries out the election's commands, and those that follow from the answers, until there are none left. Returns
    /// the resulting event of the lifecycle. The election may have to poll again.
    pub(super) async fn attend<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        responder: &SharedResponder,
        mailbox: &SharedMailbox,
    ) -> Result<Option<LifecycleEvent>, SmError> {
        let now_ns = manager.now_ns();
        if responder.borrow().state().due_ns().is_some_and(|due_ns| now_ns >= due_ns) {
            responder.borrow_mut().step(ElectionEvent::Due, now_ns);
        }
        self.carry_out(manager, responder, mailbox).await
    }

    /// Carries out the election's commands, whether or not a poll is due. If several lifecycle events result, losing
    /// the subnet takes precedence over sweeping it.
    pub(super) async fn carry_out<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        responder: &SharedResponder,
        mailbox: &SharedMailbox,
    ) -> Result<Option<LifecycleEvent>, SmError> {
        let (mut requested, mut lost) = (false, false);
        let is_up = matches!(mailbox.borrow().lifecycle(), LifecycleState::Idle(_) | LifecycleState::Halted { .. });
        loop {
            let Some(command) = responder.borrow_mut().next_command() else { break };
            match command {
                // Another manager was master, or two were, and may have written anything: what was known is read again.
                ElectionCommand::Manage if is_up => lost = true,
                ElectionCommand::Sweep | ElectionCommand::Manage => requested = true,
                ElectionCommand::StepDown => lost = true,
                ElectionCommand::Report(news) | ElectionCommand::PassOver(news) => {
                    mailbox.borrow_mut().post(manager.now_ns(), Happening::Failed(news.to_string()))
                }
                ElectionCommand::Poll(guid) => self.poll(manager, responder, guid, is_up).await?,
                ElectionCommand::HandOver(guid) => {
                    self.order(manager, responder, (guid, PeerOrder::Handover), is_up).await?
                }
                ElectionCommand::Acknowledge(guid) => {
                    self.order(manager, responder, (guid, PeerOrder::Acknowledge), is_up).await?
                }
                ElectionCommand::SendTrap(guid) => self.send_trap(manager, guid).await?,
                // Already answered where the order came in.
                ElectionCommand::Accept | ElectionCommand::Refuse => {}
            }
        }
        Ok(match (lost, requested) {
            (true, _) => Some(LifecycleEvent::MastershipLost),
            (false, true) => Some(LifecycleEvent::SweepRequested),
            (false, false) => None,
        })
    }

    /// Get(SMInfo). Silence is no event: the election counts its polls.
    async fn poll<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        responder: &SharedResponder,
        guid: Guid,
        is_up: bool,
    ) -> Result<(), SmError> {
        // The election repeats it: a standby is not to wait out all tries of each poll.
        let is_silent = matches!(responder.borrow().state(), ElectionState::Standby(master) if master.is_silent());
        if let Some(peer) = self.sm_info(manager, guid, is_up || is_silent).await? {
            responder.borrow_mut().step(ElectionEvent::Answered(peer), manager.now_ns());
        }
        Ok(())
    }

    /// A manager's SMInfo as a peer; `None` if it does not answer.
    async fn sm_info<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        guid: Guid,
        is_up: bool,
    ) -> Result<Option<Peer>, SmError> {
        let ask = |port| Ask::get(RequestTarget::Port(port), AttributeId::SmInfo, 0);
        let answer = self.request(manager, guid, ask, is_up).await?.and_then(Result::ok);
        Ok(answer.and_then(|data| peer(&SmInfo::decode(&data))))
    }

    /// Set(SMInfo). Only the answer to a HANDOVER is an event, refusal included.
    async fn order<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        responder: &SharedResponder,
        (guid, order): (Guid, PeerOrder),
        is_up: bool,
    ) -> Result<(), SmError> {
        let data = Box::new(responder.borrow_mut().info().encode());
        let (method, attribute, modifier) = (Method::Set, AttributeId::SmInfo, order.number());
        let ask = |port| Ask { place: RequestTarget::Port(port), method, attribute, modifier, data };
        if order == PeerOrder::Handover {
            manager.await_registering().await?;
        }
        let event = match (self.request(manager, guid, ask, is_up).await?, order) {
            (Some(Ok(_)), PeerOrder::Handover) => ElectionEvent::Taken(guid),
            (Some(Err(SubnetError::Refused { .. })), PeerOrder::Handover) => ElectionEvent::Refused(guid),
            _ => return Ok(()),
        };
        responder.borrow_mut().step(event, manager.now_ns());
        Ok(())
    }

    /// One request to another manager, in the view of the subnet that has its port; none where no view has it.
    async fn request<T: Transport>(
        &mut self,
        manager: &mut Manager<T>,
        guid: Guid,
        ask: impl FnOnce(PortId) -> Ask,
        is_up: bool,
    ) -> Result<Option<AskResult>, SmError> {
        if let Some(port) = self.port_of(manager, guid) {
            return request(manager, port, ask(port), is_up).await;
        }
        let Some(mut swept) = self.swept.take() else { return Ok(None) };
        manager.trade_topology(&mut swept);
        let answer = match self.port_of(manager, guid) {
            Some(port) => request(manager, port, ask(port), is_up).await,
            None => Ok(None),
        };
        manager.trade_topology(&mut swept);
        self.swept = Some(swept);
        answer
    }

    /// Sends trap 144 to a master: something changed at this end port, so the master sweeps again.
    async fn send_trap<T: Transport>(&self, manager: &mut Manager<T>, guid: Guid) -> Result<(), SmError> {
        // By LID: where the other is not known yet, its LID may be that of a port here.
        let Some(info) = self.port_of(manager, guid).and_then(|port| manager.port_info(port)) else { return Ok(()) };
        let lid = info.lid;
        if !lid.is_unicast() {
            return Ok(());
        }
        let own = manager.own_port().and_then(|own| manager.port_info(own)).map_or(Lid::default(), |info| info.lid);
        let notice = Notice::end_port_changed(NodeType::ChannelAdapter, own, IS_SM);
        let smp = Smp::new(Route::Lid, Method::Trap, AttributeId::Notice, 0, notice.encode());
        // Each is a trap of its own, and no copy of the one before.
        let smp = smp.with_tid(manager.now_ns());
        let datagram = Datagram { lid, from: None, qp: 0, sl: Sl::default(), bytes: Box::new(smp.encode()) };
        manager.transport_mut().send(datagram).await.map_err(SubnetError::from)?;
        Ok(())
    }
}

/// One request to the manager at a port. If it did not answer the last one, and the subnet is up or it is polled in
/// turn, it is sent once: the election repeats it, and a loss must not wait for it meanwhile.
async fn request<T: Transport>(
    manager: &mut Manager<T>,
    port: PortId,
    ask: Ask,
    is_up: bool,
) -> Result<Option<AskResult>, SmError> {
    if !is_up {
        let own = manager.port_guid(port);
        manager.forget_silence(AttributeId::SmInfo, |other| Some(other) == own);
    }
    match manager.ask_beside(vec![ask], false).await?.and_then(|mut answers| answers.pop()) {
        Some(Err(error)) if error.is_fatal() => Err(error.into()),
        answer => Ok(answer),
    }
}

/// The LIDs that a port reported.
fn lids(info: &PortInfo) -> impl Iterator<Item = Lid> + use<> {
    let first = info.lid.0;
    (0..info.lmc.lids()).map(move |rank| Lid(first.wrapping_add(rank)))
}
