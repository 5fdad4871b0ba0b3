//! Single requests: for bringing a subnet up, which needs more than the writes of plans.

use super::exchange::{Completed, Exchange, MadData, MadRequest, RequestBody};
use super::manager::{Manager, answered_or_failed};
use super::{DeviceFault, REQUESTS_AT_A_TIME, SubnetError, Timing};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, PortName, PortNum};
use crate::transport::Transport;
use crate::wire::{
    AttributeId, Method, NodeInfo, PortInfo, SMP_DATA_SIZE, SlToVlModifier, SwitchInfo, VlCount, capability,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The target of a request, in indices of the known fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestTarget {
    /// A device, through its nearest port.
    Node(NodeId),
    /// A port of a CA or router through itself; of a switch, the switch.
    Port(PortId),
}

impl RequestTarget {
    /// The device, or that of the port.
    pub(super) fn node(self, fabric: &Fabric) -> NodeId {
        match self {
            RequestTarget::Node(node) => node,
            RequestTarget::Port(port) => fabric.port(port).node,
        }
    }
}

/// One request of subnet management.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The target.
    pub place: RequestTarget,
    /// Get or Set.
    pub method: Method,
    /// The attribute.
    pub attribute: AttributeId,
    /// The attribute's modifier.
    pub modifier: u32,
    /// The attribute's data; zeroes for a Get.
    pub data: Box<[u8; SMP_DATA_SIZE]>,
}

impl Ask {
    /// A Get.
    pub fn get(place: RequestTarget, attribute: AttributeId, modifier: u32) -> Ask {
        Ask { place, method: Method::Get, attribute, modifier, data: Box::new([0; SMP_DATA_SIZE]) }
    }

    /// A Set.
    pub fn set(place: RequestTarget, attribute: AttributeId, modifier: u32, data: [u8; SMP_DATA_SIZE]) -> Ask {
        Ask { place, method: Method::Set, attribute, modifier, data: Box::new(data) }
    }
}

/// The attribute in the device's answer, or why there is none.
pub type AskResult = Result<Box<[u8; SMP_DATA_SIZE]>, SubnetError>;

/// How long to wait for a MAD that has already arrived, apart from what the system clock adds.
const MOMENT_NS: u64 = 1_000;

/// Unanswered requests, by device, attribute number and whether it is a `Set`: how often each was sent, and when last.
pub(super) type Unanswered = FxHashMap<(u32, u16, bool), (u32, u64)>;

/// The key of a request among the unanswered ones.
fn asked(request: &MadRequest) -> Option<(u32, u16, bool)> {
    match request.body {
        RequestBody::Smp { attribute, .. } => Some((request.queue, attribute.into(), request.method == Method::Set)),
        RequestBody::Perf { .. } => None,
    }
}

impl<T: Transport> Manager<T> {
    /// Sends requests to as many devices at once as the windows allow, to each in order. Returns the answers in the
    /// order of `asks`; a failed request does not stop the others, but a device that was silent is not asked for the
    /// same attribute again in this call. On return no copy of a `Set` is in flight.
    ///
    /// # Errors
    /// No fabric is known, or the port failed.
    pub async fn ask(&mut self, asks: Vec<Ask>) -> Result<Vec<AskResult>, SubnetError> {
        let mut answers = Vec::with_capacity(asks.len());
        let mut silent = Unanswered::default();
        if asks.iter().any(|ask| ask.method == Method::Set && ask.attribute == AttributeId::PortInfo) {
            self.await_registering().await?;
        }
        let mut asks = asks.into_iter();
        while asks.len() > 0 {
            let part = asks.by_ref().take(REQUESTS_AT_A_TIME);
            answers.extend(self.ask_some(part, &mut silent, &BTreeSet::new(), false).await?);
        }
        self.await_quiet().await?;
        Ok(answers)
    }

    /// Sends one batch of a longer list, so that incoming requests are served between batches. `silent` holds what went
    /// unanswered in earlier batches; requests whose index is in `once` are sent without retries. With `until_event`,
    /// sending stops as soon as an event arrives.
    pub(super) async fn ask_some(
        &mut self,
        asks: impl Iterator<Item = Ask>,
        silent: &mut Unanswered,
        once: &BTreeSet<u64>,
        until_event: bool,
    ) -> Result<Vec<AskResult>, SubnetError> {
        let mut exchange = Exchange::new(self.timing);
        let (mut answers, mut done): (Vec<Option<AskResult>>, Vec<Completed>) = (Vec::new(), Vec::new());
        for (tag, ask) in asks.enumerate() {
            let request = self.request_of(ask, tag as u64)?;
            answers.push(None);
            match request {
                Ok(request) => match asked(&request).and_then(|asked| silent.get(&asked)) {
                    None if once.contains(&request.tag) => exchange.submit_once(request),
                    None => exchange.submit(request),
                    Some(&(sent, last_sent_ns)) => {
                        done.push(Completed { request, sent, last_sent_ns, answer: None });
                    }
                },
                Err(error) => answers[tag] = Some(Err(error)),
            }
        }
        let on = |exchange: &mut Exchange, completed: Completed| {
            if completed.answer.is_none() {
                // Each of them would cost all tries.
                let same = |waiting: &MadRequest| waiting.asks_the_same(&completed.request);
                let Completed { sent, last_sent_ns, .. } = completed;
                let alike = exchange.withdraw(completed.request.queue, same);
                done.extend(alike.into_iter().map(|request| Completed { request, sent, last_sent_ns, answer: None }));
                silent.extend(asked(&completed.request).map(|asked| (asked, (sent, last_sent_ns))));
            }
            done.push(completed);
        };
        self.run_until(&mut exchange, on, |manager, _| manager.is_interrupted(until_event)).await?;
        for completed in done {
            let tag = completed.request.tag as usize;
            answers[tag] = Some(match answered_or_failed(completed) {
                Ok((request, answer)) => {
                    let MadData::Smp(attribute, data) = answer.data else { continue };
                    self.request_went(NodeId(request.queue), attribute, request.method, Ok(()));
                    self.remember(&request, &data);
                    Ok(data)
                }
                Err(failed) => {
                    if let RequestBody::Smp { attribute, .. } = failed.request.body {
                        let (node, method) = (NodeId(failed.request.queue), failed.request.method);
                        self.request_went(node, attribute, method, Err(&failed));
                    }
                    Err(self.explain(failed))
                }
            });
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Whether a retry is due: for a missing device, or for something that a device failed at without being left out.
    pub fn is_to_ask_again(&self) -> bool {
        self.is_missing_due() || self.health.is_retrial_due(self.transport.now_ns())
    }

    /// Retries what is due, each request once. What a device did not accept is read and written back unchanged, unless
    /// `may_write` says by then that nothing may be written. Returns whether a missing device answers again. On return
    /// no copy of a `Set` is in flight.
    ///
    /// # Errors
    /// The port failed.
    pub async fn ask_again(&mut self, may_write: impl Fn() -> bool) -> Result<bool, SubnetError> {
        let is_back = self.look_for_missing().await?;
        let now_ns = self.transport.now_ns();
        let due = self.health.take_retrials(now_ns);
        let Some(topology) = &self.topology else { return Ok(is_back) };
        let there = |fault: DeviceFault| {
            let node = topology.fabric.by_guid(fault.device).filter(|&node| topology.paths.reaches(node))?;
            can_be_read(&fault).then_some((RequestTarget::Node(node), fault))
        };
        let asked: Vec<(RequestTarget, DeviceFault)> = due.into_iter().filter_map(there).collect();
        let gets = asked.iter().map(|(place, fault)| Ask::get(*place, fault.attribute, fault.modifier()));
        let told = self.ask_once(gets.collect()).await?;
        let mut sets = Vec::new();
        for ((place, fault), told) in asked.into_iter().zip(told) {
            let Ok(data) = told else { continue };
            if fault.method == Method::Set && !self.read_again(&fault, &data) {
                sets.push(Ask::set(place, fault.attribute, fault.modifier(), as_it_is(fault.attribute, &data)));
            }
        }
        if may_write() {
            self.ask_once(sets).await?;
        }
        self.await_quiet().await?;
        Ok(is_back)
    }

    /// Asks devices side by side, each request once.
    ///
    /// # Errors
    /// As [`Manager::ask`].
    pub async fn ask_once(&mut self, asks: Vec<Ask>) -> Result<Vec<AskResult>, SubnetError> {
        let once = (0..asks.len() as u64).collect();
        self.ask_some(asks.into_iter(), &mut Unanswered::default(), &once, false).await
    }

    /// The last PortInfo that a port reported, if any.
    pub fn port_info(&self, port: PortId) -> Option<&PortInfo> {
        self.port_infos.get(&self.topology.as_ref()?.fabric.port_name(port))
    }

    /// Whether a device has no SL-to-VL tables for what leaves by a port: the port has one data lane, on which every
    /// level is, and the capability mask of its end (for a switch, of port 0) says that there are none.
    pub fn lacks_sl_to_vl(&self, node: NodeId, output: PortNum) -> bool {
        let Some(topology) = &self.topology else { return false };
        let info = |num: PortNum| topology.fabric.port_at(node, num).and_then(|port| self.port_info(port));
        let end = if topology.fabric.node(node).is_switch() { PortNum::ZERO } else { output };
        let has_one_lane = info(output).is_some_and(|info| info.vl_cap == VlCount::One);
        has_one_lane && info(end).is_some_and(|info| info.capability_mask & capability::SL_TO_VL == 0)
    }

    /// The last NodeInfo that a device reported, with its SwitchInfo, if any.
    pub fn node_info(&self, node: NodeId) -> Option<&(NodeInfo, Option<SwitchInfo>)> {
        let fabric = &self.topology.as_ref()?.fabric;
        self.node_infos.get(&fabric.node(node).guid)
    }

    /// The manager's own port, once a fabric is known.
    pub fn own_port(&self) -> Option<PortId> {
        self.topology.as_ref().map(|known| known.sm)
    }

    /// The GUID of a port of the known fabric.
    pub fn port_guid(&self, port: PortId) -> Option<Guid> {
        self.topology.as_ref().map(|known| known.fabric.port_guid(port))
    }

    /// The port of the known fabric that has a GUID and may own a LID.
    pub fn port_by_guid(&self, guid: Guid) -> Option<PortId> {
        let fabric = &self.topology.as_ref()?.fabric;
        fabric.lid_ports().find(|&port| fabric.port_guid(port) == guid)
    }

    /// Hops from the manager's port to a device; the most there can be if no path leads there.
    pub fn distance(&self, node: NodeId) -> usize {
        let path = self.topology.as_ref().and_then(|known| known.paths.to_node(&known.fabric, node));
        path.map_or(usize::MAX, |path| path.hops().len())
    }

    /// Capacity of the device's P_Key table, if it has been reported.
    pub fn key_room(&self, port: PortId) -> u16 {
        let node = self.topology.as_ref().map(|topology| topology.fabric.port(port).node);
        node.and_then(|node| self.node_info(node)).map_or(0, |(info, _)| info.partition_cap)
    }

    /// Waits. Traps are repressed and kept; the responder answers queries.
    ///
    /// # Errors
    /// The port failed.
    pub async fn idle(&mut self, until_ns: u64) -> Result<(), SubnetError> {
        self.wait_until(until_ns).await
    }

    /// Lets requests be served during long work, for at most this many nanoseconds at a time.
    pub fn serve_waiting_for(&mut self, serving_ns: u64) {
        self.serving_ns = Some(serving_ns);
    }

    /// Serves what arrived during long work, within the time set; waits for more only a moment.
    ///
    /// # Errors
    /// The port failed.
    pub async fn serve_waiting(&mut self) -> Result<(), SubnetError> {
        let Some(serving_ns) = self.serving_ns else { return Ok(()) };
        let end_ns = self.transport.now_ns().saturating_add(serving_ns);
        loop {
            let moment_ns = self.transport.now_ns().saturating_add(MOMENT_NS);
            let Some(datagram) = self.receive(moment_ns).await? else { return Ok(()) };
            let answer = self.dispatch(datagram).await?;
            self.counts.late += u64::from(answer.is_some());
            if self.transport.now_ns() >= end_ns {
                return Ok(());
            }
        }
    }

    /// The time-outs and windows.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Sets after how many nanoseconds a barrier is given up; returns what that was.
    pub fn set_patience(&mut self, barrier_ns: u64) -> u64 {
        std::mem::replace(&mut self.timing.barrier_ns, barrier_ns)
    }

    /// Sets the period of the light sweep; the next is due that long after the end of the last, or now.
    pub fn set_light_sweep(&mut self, period_ns: Option<u64>) {
        self.timing.light_sweep_ns = period_ns;
        let due_ns = period_ns.map(|period| self.transport.now_ns().saturating_add(period));
        self.next_light_sweep_ns = match (self.next_light_sweep_ns, due_ns) {
            (Some(earlier), Some(due)) => Some(earlier.min(due)),
            (_, due) => due,
        };
    }

    /// The duration of the last light sweep in nanoseconds, if there was one since the last call; of one that saw a
    /// change, until it saw it.
    pub fn take_light_sweep(&mut self) -> Option<u64> {
        self.light_sweep_took_ns.take()
    }

    /// The request of an ask; an error within, if no path leads there.
    pub(super) fn request_of(&self, ask: Ask, tag: u64) -> Result<Result<MadRequest, SubnetError>, SubnetError> {
        let topology = self.topology("asking devices")?;
        let fabric = &topology.fabric;
        let node = ask.place.node(fabric);
        let Some(path) = topology.path_to(ask.place) else {
            let attempted = format!("{:?} {:?} of {}", ask.method, ask.attribute, fabric.describe_node(node));
            return Ok(Err(SubnetError::NoPath { attempted }));
        };
        let body = RequestBody::Smp { path, attribute: ask.attribute, data: ask.data };
        Ok(Ok(MadRequest { queue: node.0, tag, method: ask.method, modifier: ask.modifier, body }))
    }

    /// Keeps the PortInfo that a port was read to hold, as the base of the next `Set`.
    pub(super) fn holds(&mut self, port: PortName, info: PortInfo) {
        self.asked_clients.is_seen(port, info.port_state);
        self.port_infos.insert(port, info);
    }

    /// Keeps a reported PortInfo or SwitchInfo as the base of the next `Set`.
    pub(super) fn remember(&mut self, request: &MadRequest, data: &[u8; SMP_DATA_SIZE]) {
        let RequestBody::Smp { attribute, .. } = request.body else { return };
        let Some(topology) = &self.topology else { return };
        let guid = topology.fabric.node(NodeId(request.queue)).guid;
        match attribute {
            AttributeId::PortInfo => {
                let num = PortNum(request.modifier as u8);
                self.holds(PortName { guid, num }, PortInfo::decode(data));
            }
            AttributeId::SwitchInfo => {
                if let Some((_, held)) = self.node_infos.get_mut(&guid) {
                    *held = Some(SwitchInfo::decode(data));
                }
            }
            _ => {}
        }
    }
}

/// Whether the attribute that a device fails at can be read, and written back unchanged.
fn can_be_read(fault: &DeviceFault) -> bool {
    use AttributeId as A;
    match fault.attribute {
        A::NodeDescription | A::SwitchInfo | A::PortInfo | A::LinearForwardingTable | A::PKeyTable => true,
        A::MulticastForwardingTable => true,
        A::SlToVlMappingTable => fault.modifier() != SlToVlModifier::Every.encode(),
        A::VlArbitrationTable => fault.modifier() != 0,
        _ => false,
    }
}

/// The data to write so that a device keeps what was read from it.
fn as_it_is(attribute: AttributeId, data: &[u8; SMP_DATA_SIZE]) -> [u8; SMP_DATA_SIZE] {
    match attribute {
        // Writing a 1 would clear the bit.
        AttributeId::SwitchInfo => SwitchInfo { port_state_change: false, ..SwitchInfo::decode(data) }.encode(),
        AttributeId::PortInfo => PortInfo::decode(data).unchanged().encode(),
        _ => *data,
    }
}
