//! Events of a subnet: traps, and the light sweep for changes that no trap reported.
//!
//! A device repeats its trap, under the same transaction, until it is repressed: every copy is repressed, one is
//! reported. The light sweep reads the port-change bit of every switch, and clears it.

use super::exchange::{Completed, Exchange, MadAnswer, MadData, MadRequest, RequestBody};
use super::manager::{Failed, KnownTopology, Manager, answered_or_failed};
use super::paths::DirectedPath;
use super::{SubnetError, SubnetEvent};
use crate::fabric::{NodeId, Port};
use crate::ids::{Lid, PortName, PortNum};
use crate::transport::{Datagram, Transport};
use crate::wire::{AttributeId, Method, Notice, PortInfo, PortState, Smp, SwitchInfo, Trap, capability};
use std::collections::{BTreeMap, BTreeSet};

/// Time since the last copy of a trap after which the same transaction is a new trap. Devices repeat theirs every
/// second or so until they are repressed.
const REPEATED_WITHIN_NS: u64 = 30_000_000_000;
/// The most senders of managers' traps that are asked whether a manager runs there.
const MOST_CALLERS: usize = 16;
/// Time between two looks at the manager's own port.
pub(super) const OWN_PORT_NS: u64 = 1_000_000_000;
/// The most traps that are remembered.
const MOST_TRAPS: usize = 4_096;

/// Traps that were received lately.
#[derive(Debug, Default)]
pub(super) struct Traps {
    /// The transaction of the last trap of each (issuer, number), and when its last copy arrived.
    last: BTreeMap<(Lid, u16), (u64, u64)>,
    /// LIDs that have sent traps as a manager's port.
    callers: BTreeSet<Lid>,
}

impl Traps {
    /// Whether a trap is a copy of an earlier one: one with the same transaction, soon after it. A device that restarts
    /// may restart the numbering of its traps.
    fn repeats(&mut self, notice: &Notice, tid: u64, now_ns: u64) -> bool {
        if self.last.len() >= MOST_TRAPS {
            // Forged traps of many senders occupy memory only this long.
            self.last.retain(|_, &mut (_, at_ns)| now_ns.saturating_sub(at_ns) < REPEATED_WITHIN_NS);
            if self.last.len() >= MOST_TRAPS {
                self.last.clear();
            }
        }
        let earlier = self.last.insert((notice.issuer_lid, notice.trap_number), (tid, now_ns));
        earlier.is_some_and(|(other, at_ns)| other == tid && now_ns.saturating_sub(at_ns) < REPEATED_WITHIN_NS)
    }

    /// Notes that a manager's port has sent a trap.
    fn is_called_by(&mut self, sender: Lid) {
        if self.callers.len() < MOST_CALLERS {
            self.callers.insert(sender);
        }
    }
}

impl<T: Transport> Manager<T> {
    /// Represses a trap, and reports it unless it is a repetition.
    pub(super) async fn on_trap(&mut self, datagram: &Datagram, smp: &Smp) -> Result<(), SubnetError> {
        let repress = smp.response(smp.data);
        self.send_smp(&repress, datagram.lid).await?;
        let notice = Notice::decode(&smp.data);
        let now_ns = self.transport.now_ns();
        if self.traps.repeats(&notice, smp.tid, now_ns) {
            return Ok(());
        }
        self.tell_responder(|responder| responder.notice(&notice, now_ns)).await?;
        let fabric = self.topology.as_ref().map(|topology| &topology.fabric);
        let owner = |lid| fabric.and_then(|fabric| fabric.lid_owner(lid));
        match notice.trap() {
            Trap::LinkStateChanged { lid } => {
                let switch = owner(lid).zip(fabric).map(|(port, fabric)| fabric.node(fabric.port(port).node).guid);
                self.events.push_back(SubnetEvent::LinksChanged { lid, switch });
            }
            Trap::EndPortChanged { lid, capability_mask } => {
                if capability_mask & capability::IS_SM != 0 {
                    self.traps.is_called_by(datagram.lid);
                }
                let port = owner(lid).zip(fabric).map(|(port, fabric)| fabric.port_name(port));
                self.events.push_back(SubnetEvent::EndPortChanged { lid, port });
            }
            Trap::GidInService { .. }
            | Trap::GidOutOfService { .. }
            | Trap::GroupMade { .. }
            | Trap::GroupEnded { .. }
            | Trap::Other(_)
            | Trap::Vendor => {
                self.counts.unknown += 1;
            }
        }
        Ok(())
    }

    /// LIDs that have sent a trap as a manager's port since the last call.
    pub fn take_callers(&mut self) -> BTreeSet<Lid> {
        std::mem::take(&mut self.traps.callers)
    }

    /// Keeps LIDs for the next call: not all of them were asked.
    pub fn keep_callers(&mut self, callers: BTreeSet<Lid>) {
        self.traps.callers.extend(callers);
    }

    /// The next event, until `until_ns` at the latest; runs the light sweep when it is due.
    pub(super) async fn await_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let wake_ns = self.next_light_sweep_ns.map_or(until_ns, |due_ns| due_ns.min(until_ns));
            if let Some(datagram) = self.receive(wake_ns).await? {
                let answer = self.dispatch(datagram).await?;
                self.counts.late += u64::from(answer.is_some());
                continue;
            }
            let now_ns = self.transport.now_ns();
            match self.next_light_sweep_ns {
                Some(due_ns) if due_ns <= now_ns => {
                    self.light_sweep().await?;
                    let now_ns = self.transport.now_ns();
                    self.light_sweep_took_ns = Some(now_ns - due_ns);
                    self.next_light_sweep_ns = self.timing.light_sweep_ns.map(|period| now_ns.saturating_add(period));
                }
                _ if now_ns >= until_ns => return Ok(None),
                _ => {}
            }
        }
    }

    /// Whether the manager's own port is no longer ACTIVE, though it was when it was last read: its link went down, and
    /// may be back. The trap that reports this may be lost with the link, and the light sweep that shows it may be ten
    /// seconds off, and asks nobody where there is no switch; so the port is read once a second. Its device answers in
    /// any case; silence says nothing. For use as often as wanted.
    ///
    /// # Errors
    /// The port failed.
    pub async fn own_port_went_down(&mut self) -> Result<bool, SubnetError> {
        let now_ns = self.transport.now_ns();
        let has_switches = self.topology.as_ref().is_some_and(|known| known.fabric.switches().next().is_some());
        let sweeps_often = has_switches && self.timing.light_sweep_ns.is_some_and(|period_ns| period_ns <= OWN_PORT_NS);
        let Some((port, device)) = self.own_port_and_device() else { return Ok(false) };
        // Without a switch nobody else reports it, and another question may have shown it in passing.
        let was_active =
            !has_switches || self.port_infos.get(&port).is_some_and(|known| known.port_state == PortState::Active);
        if sweeps_often || !was_active || now_ns < self.own_port_due_ns {
            return Ok(false);
        }
        self.own_port_due_ns = now_ns.saturating_add(OWN_PORT_NS);
        let mut exchange = Exchange::of_one_round(self.timing);
        exchange.submit_once(own_port_info(port, device));
        let mut read = None;
        self.run(&mut exchange, |_: &mut Exchange, done| read = read_port_info(done)).await?;
        let Some(info) = read.filter(|info| info.port_state != PortState::Active) else { return Ok(false) };
        self.own_link_went_down(port, info);
        Ok(true)
    }

    fn own_link_went_down(&mut self, port: PortName, info: PortInfo) {
        tracing::info!(state = ?info.port_state, "the link of the manager's own port went down");
        self.holds(port, info);
    }

    /// Whether the manager's own port had no link when it was last read.
    pub(super) fn own_port_is_down(&self) -> bool {
        let info = self.own_port_and_device().and_then(|(port, _)| self.port_infos.get(&port));
        info.is_some_and(|info| info.port_state == PortState::Down)
    }

    /// The manager's own port, if it has a cable of its own, and its device.
    fn own_port_and_device(&self) -> Option<(PortName, NodeId)> {
        let KnownTopology { fabric, sm, .. } = self.topology.as_ref()?;
        let Port { node, num, .. } = *fabric.port(*sm);
        (num != PortNum::ZERO).then(|| (fabric.port_name(*sm), node))
    }

    /// Runs the light sweep now. Returns its duration in nanoseconds; what it finds are events.
    ///
    /// # Errors
    /// The SM's own port failed.
    pub async fn sweep_lightly(&mut self) -> Result<u64, SubnetError> {
        let start_ns = self.transport.now_ns();
        self.light_sweep().await?;
        Ok(self.transport.now_ns() - start_ns)
    }

    /// Asks every switch whether one of its ports changed, and at each retry those on the way to the switch and the
    /// manager's own port; a switch that does not answer is an event too. Ends with the first that reports a change:
    /// the sweep or glance that follows asks the others, and until then their bits stay set. Does nothing if no fabric
    /// is known.
    async fn light_sweep(&mut self) -> Result<(), SubnetError> {
        let Some(topology) = &self.topology else { return Ok(()) };
        let mut exchange = Exchange::new(self.timing);
        for switch in topology.fabric.switches() {
            if let Some(path) = topology.paths.to_node(&topology.fabric, switch) {
                exchange.submit(MadRequest::get(switch.0, switch.0.into(), path, AttributeId::SwitchInfo, 0));
            }
        }
        let before = |(node, _)| topology.paths.switch_before(&topology.fabric, node).map(|before| before.0);
        let was_active = |port: &_| self.port_infos.get(port).is_some_and(|info| info.port_state == PortState::Active);
        let own = self.own_port_and_device().filter(|(port, _)| was_active(port));
        let asked_of_own = own.map(|(port, device)| own_port_info(port, device));
        exchange.ask_on_the_way(topology.fabric.nodes().map(before).collect(), asked_of_own);
        // A bit that stays set says nothing new; traps of such a switch, and the ends of its cables, still do.
        let is_cleared = |switch: &NodeId| self.clears_bit_of(&topology.fabric, *switch);
        let clears: BTreeSet<NodeId> = topology.fabric.switches().filter(is_cleared).collect();
        let stays = |switch: &NodeId| self.keeps_its_bit(*switch) || !clears.contains(switch);
        let stuck: BTreeSet<NodeId> = topology.fabric.switches().filter(stays).collect();
        let is_news = |seen: &SeenSwitch| seen.is_silent || !stuck.contains(&seen.switch);
        let mut seen = Vec::new();
        let mut uncleared = Vec::new();
        let mut own_is_down = None;
        // A bit or a trap ends this at once. Further questions may wait for a dead switch until all tries are over,
        // although its neighbour has already reported a change.
        let on = |exchange: &mut Exchange, done: Completed| {
            if own.is_some_and(|(_, device)| done.request.queue == device.0) {
                own_is_down = read_port_info(done).filter(|info| info.port_state != PortState::Active);
            } else {
                seen.extend(changed(exchange, done, &clears, &mut uncleared).filter(is_news));
            }
            if !seen.is_empty() || own_is_down.is_some() {
                exchange.forget_reads();
            }
        };
        let ran = self.run_until(&mut exchange, on, |manager, _| !manager.events.is_empty()).await;
        for failed in &uncleared {
            let switch = NodeId(failed.request.queue);
            self.request_went(switch, AttributeId::SwitchInfo, Method::Set, Err(failed));
        }
        // Even if it failed halfway: these bits are cleared.
        self.port_changes.report(seen.iter().filter(|seen| !seen.is_silent).map(|seen| seen.switch));
        let fabric = &self.topology("reading port-change bits")?.fabric;
        let event = |seen: &SeenSwitch| match (fabric.node(seen.switch).guid, seen.is_silent) {
            (switch, true) => SubnetEvent::Silent { switch },
            (switch, false) => SubnetEvent::PortsChanged { switch },
        };
        let events: Vec<SubnetEvent> = seen.iter().map(event).collect();
        self.events.extend(events);
        if let Some(((port, _), info)) = own.zip(own_is_down) {
            self.events.push_back(SubnetEvent::EndPortChanged { lid: info.lid, port: Some(port) });
            self.own_link_went_down(port, info);
        }
        ran
    }
}

/// The request for the state of the manager's own port.
fn own_port_info(port: PortName, device: NodeId) -> MadRequest {
    let own = DirectedPath::default();
    MadRequest::get(device.0, device.0.into(), own, AttributeId::PortInfo, port.num.0.into())
}

fn read_port_info(done: Completed) -> Option<PortInfo> {
    match answered_or_failed(done) {
        Ok((_, MadAnswer { data: MadData::Smp(_, data), .. })) => Some(PortInfo::decode(&data)),
        _ => None,
    }
}

/// A switch that reports a changed port, or that does not answer.
struct SeenSwitch {
    switch: NodeId,
    is_silent: bool,
}

/// What one answer of the light sweep shows, if anything; a set bit is cleared where the switch is one of `clears`,
/// and switches that do not let it are added to `uncleared`.
fn changed(
    exchange: &mut Exchange,
    done: Completed,
    clears: &BTreeSet<NodeId>,
    uncleared: &mut Vec<Failed>,
) -> Option<SeenSwitch> {
    let switch = NodeId(done.request.queue);
    let (request, answer) = match answered_or_failed(done) {
        Ok(answered) => answered,
        Err(failed) if failed.request.method == Method::Set => {
            uncleared.push(failed);
            return None;
        }
        Err(_) => return Some(SeenSwitch { switch, is_silent: true }),
    };
    let MadAnswer { data: MadData::Smp(_, data), .. } = answer else { return None };
    let info = SwitchInfo::decode(&data);
    if request.method == Method::Set || !info.port_state_change {
        return None;
    }
    if let RequestBody::Smp { path, attribute, .. } = request.body
        && clears.contains(&switch)
    {
        let body = RequestBody::Smp { path, attribute, data: Box::new(info.encode()) };
        // Cleared before the sweep that follows: a later change sets the bit again.
        exchange.submit(MadRequest { method: Method::Set, body, ..request });
    }
    Some(SeenSwitch { switch, is_silent: false })
}
