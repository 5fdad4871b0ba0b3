//! Discovery by directed routes: from the SM's port outwards, device by device, cable by cable.
//!
//! [`Sweep`] decides on the next requests from each answer, and does no I/O. A device is identified by its GUID,
//! however many cables lead to it; a cable is probed from one end, or from both at once, and counts once; a switch's
//! port-change bit is cleared before its ports are read, so that a later change shows in the next sweep. A device that
//! does not answer is reported and omitted. The resulting fabric lists nodes by GUID, so it does not depend on the
//! order of answers.

use super::SubnetError;
use super::exchange::{Completed, Exchange, MadData, MadRequest, RequestBody};
use super::paths::{DirectedPath, MOST_HOPS};
use crate::fabric::{Fabric, FabricBuilder, LinkEnd, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId, PortZero};
use crate::ids::{Guid, Lid, PortName, PortNum};
use crate::tables::PortState;
use crate::wire::{
    self, AttributeId, Method, NodeDescription, NodeInfo, NodeType, PortInfo, SMP_DATA_SIZE, SwitchInfo,
};
use std::collections::{BTreeMap, BTreeSet};

/// The result of a sweep.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// The subnet, in indices of its own: nodes in ascending order of GUID.
    pub fabric: Fabric,
    /// The port from which the sweep was made.
    pub sm_port: PortId,
    /// By [`PortId`]: the state of every port; Down for ports that were not asked.
    pub port_states: Vec<PortState>,
    /// Ports that let data through, and behind which no device has answered: it may still be alive, and send.
    pub silent: Vec<PortId>,
    /// Ports of switches that let data through to a device that is left out
    /// ([`Manager::leave_out_faulty`](super::Manager::leave_out_faulty)).
    pub to_left_out: Vec<PortId>,
    /// Devices whose GUID another device has too, and the port at which that one is, which is omitted.
    pub doubled: Vec<(NodeId, PortId)>,
    /// Omissions, and their reasons.
    pub notices: Vec<String>,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// NodeInfo of the device at the end of this cable; none: of the own device.
    Who {
        beyond: Option<FoundPort>,
    },
    Description(usize),
    SwitchInfo(usize),
    ClearChange(usize),
    Port(FoundPort),
}

impl Question {
    fn attribute(self) -> AttributeId {
        match self {
            Question::Who { .. } => AttributeId::NodeInfo,
            Question::Description(_) => AttributeId::NodeDescription,
            Question::SwitchInfo(_) | Question::ClearChange(_) => AttributeId::SwitchInfo,
            Question::Port(_) => AttributeId::PortInfo,
        }
    }

    fn method(self) -> Method {
        if matches!(self, Question::ClearChange(_)) { Method::Set } else { Method::Get }
    }

    fn modifier(self) -> u32 {
        if let Question::Port(at) = self { at.num.0.into() } else { 0 }
    }
}

/// A request of a sweep that a device failed at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FailedQuestion {
    pub(super) device: Guid,
    pub(super) attribute: AttributeId,
    pub(super) method: Method,
    pub(super) modifier: u32,
    /// The status of its refusal; none if it was silent.
    pub(super) status: Option<u16>,
}

/// A request and its place: the GUID of a device, a port of it or 0, and the number of the attribute. NodeInfo is
/// requested from beyond the port.
pub(super) type AskedPlace = (Guid, PortNum, u16);

/// The switches whose port-change bits are cleared where they are found set. Only the subnet's master clears them:
/// their reports are for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum ClearedBits {
    #[default]
    None,
    /// Those of all switches that are found.
    All,
    /// Those of the switches with these GUIDs.
    Of(BTreeSet<Guid>),
}

impl ClearedBits {
    pub(super) fn has(&self, switch: Guid) -> bool {
        match self {
            ClearedBits::None => false,
            ClearedBits::All => true,
            ClearedBits::Of(switches) => switches.contains(&switch),
        }
    }
}

/// A port of a device that answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct FoundPort {
    /// In [`Sweep::found`].
    node: usize,
    num: PortNum,
}

/// A device that answered.
#[derive(Clone, Debug)]
struct Found {
    info: NodeInfo,
    path: DirectedPath,
    description: String,
    switch_info: Option<SwitchInfo>,
    ports: BTreeMap<PortNum, PortInfo>,
    guids: BTreeMap<PortNum, Guid>,
    /// Why it is omitted; `None` if it is not.
    lost: Option<&'static str>,
}

/// A sweep in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    found: Vec<Found>,
    by_guid: BTreeMap<Guid, usize>,
    /// Ports whose other end is known, with that end.
    cabled: BTreeMap<FoundPort, FoundPort>,
    questions: Vec<Question>,
    notices: Vec<String>,
    /// GUIDs that two devices have, and the place of the omitted one.
    doubled: BTreeSet<(Guid, FoundPort)>,
    /// Ports beyond which no device was asked, since directed routes are not that long.
    too_far: BTreeSet<FoundPort>,
    home: Option<FoundPort>,
    /// Ports beyond which no device answered NodeInfo.
    mute: BTreeSet<FoundPort>,
    /// Devices that are to be omitted, though they answer.
    left_out: BTreeSet<Guid>,
    /// Requests that devices failed at.
    failing: Vec<FailedQuestion>,
    clears: ClearedBits,
    /// Requests that went unanswered in the sweep before.
    unanswered_before: BTreeSet<AskedPlace>,
    /// Requests unanswered in this sweep.
    unanswered: BTreeSet<AskedPlace>,
    /// Queues used so far: one for each probe; a device keeps that of the probe that found it.
    queues: u32,
}

impl Sweep {
    /// Begins a sweep: requests NodeInfo of the SM's own device. `clears` says which port-change bits are cleared;
    /// `unanswered_before` is asked once more, and no more often.
    pub(super) fn begin(
        exchange: &mut Exchange,
        left_out: BTreeSet<Guid>,
        clears: ClearedBits,
        unanswered_before: BTreeSet<AskedPlace>,
    ) -> Sweep {
        let mut sweep = Sweep { left_out, clears, unanswered_before, ..Sweep::default() };
        sweep.probe(exchange, None, DirectedPath::default());
        sweep
    }

    /// Requests NodeInfo at the end of a path. Which device that is, is not yet known, so the probe has its own queue.
    /// The device keeps that queue, which bounds the requests outstanding there.
    fn probe(&mut self, exchange: &mut Exchange, beyond: Option<FoundPort>, path: DirectedPath) {
        let queue = self.queues;
        self.queues += 1;
        self.ask(exchange, queue, Question::Who { beyond }, path);
    }

    fn ask(&mut self, to: &mut Exchange, queue: u32, question: Question, path: DirectedPath) {
        self.send(to, queue, question, path, [0; SMP_DATA_SIZE]);
    }

    fn send(
        &mut self,
        to: &mut Exchange,
        queue: u32,
        question: Question,
        path: DirectedPath,
        data: [u8; SMP_DATA_SIZE],
    ) {
        let tag = self.questions.len() as u64;
        self.questions.push(question);
        let (method, modifier) = (question.method(), question.modifier());
        let body = RequestBody::Smp { path, attribute: question.attribute(), data: Box::new(data) };
        let request = MadRequest { queue, tag, method, modifier, body };
        match self.place(question).is_some_and(|place| self.unanswered_before.contains(&place)) {
            true => to.submit_once(request),
            false => to.submit(request),
        }
    }

    /// The place of a question that only reads, if the device has a name yet.
    fn place(&self, question: Question) -> Option<AskedPlace> {
        let (node, num) = match question {
            Question::Who { beyond: None } | Question::ClearChange(_) => return None,
            Question::Who { beyond: Some(FoundPort { node, num }) } | Question::Port(FoundPort { node, num }) => {
                (node, num)
            }
            Question::Description(node) | Question::SwitchInfo(node) => (node, PortNum::ZERO),
        };
        Some((self.found[node].info.node_guid, num, question.attribute().into()))
    }

    /// Takes an answer, or the lack of one, and submits the requests that follow.
    pub(super) fn take(&mut self, exchange: &mut Exchange, done: Completed) {
        let question = self.questions[done.request.tag as usize];
        let queue = done.request.queue;
        let RequestBody::Smp { path, .. } = done.request.body else { return };
        let data = match done.answer {
            Some(answer) if answer.status == 0 => match answer.data {
                MadData::Smp(_, data) => data,
                // A sweep submits SMPs only, and an exchange accepts only answers of the class of their request.
                MadData::Perf(..) => return,
            },
            answer => {
                let status = answer.map(|answer| answer.status);
                return self.missing(exchange, queue, question, &path, status);
            }
        };
        match question {
            Question::Who { beyond } => self.met(exchange, queue, beyond, path, NodeInfo::decode(&data)),
            Question::Description(node) => self.found[node].description = NodeDescription::decode(&data).to_string(),
            Question::SwitchInfo(node) => self.switch_info(exchange, queue, node, SwitchInfo::decode(&data)),
            Question::ClearChange(node) => self.ask_ports(exchange, queue, node),
            Question::Port(port) => self.port(exchange, port, PortInfo::decode(&data)),
        }
    }

    fn missing(
        &mut self,
        exchange: &mut Exchange,
        queue: u32,
        question: Question,
        path: &DirectedPath,
        status: Option<u16>,
    ) {
        let why = if status.is_some() { "it refused" } else { "it did not answer" };
        self.unanswered.extend(self.place(question).filter(|_| status.is_none()));
        let node = match question {
            Question::Who { beyond } => {
                self.mute.extend(beyond);
                let whose = match beyond {
                    Some(port) => format!("beyond port {} of {}", port.num, self.found[port.node].info.node_guid),
                    None => "at the subnet manager's own port".to_string(),
                };
                return self.notices.push(format!("path {path}: the device {whose} is omitted: {why}"));
            }
            // A device without a name goes by its GUID.
            Question::Description(node) => return self.fails(node, question, status),
            // Its ports are still read. The switch will report once more that they changed.
            Question::ClearChange(node) => {
                self.fails(node, question, status);
                return self.ask_ports(exchange, queue, node);
            }
            Question::SwitchInfo(node) | Question::Port(FoundPort { node, .. }) => node,
        };
        // It is omitted whatever it answers to these, and each would cost all tries.
        exchange.withdraw(queue, |_| true);
        self.fails(node, question, status);
        let found = &mut self.found[node];
        let (guid, attribute) = (found.info.node_guid, question.attribute());
        self.notices.push(format!("path {path}: node {guid} is omitted: asked for {attribute:?}, {why}"));
        found.lost = Some(why);
    }

    fn fails(&mut self, node: usize, question: Question, status: Option<u16>) {
        let (attribute, method, modifier) = (question.attribute(), question.method(), question.modifier());
        let device = self.found[node].info.node_guid;
        self.failing.push(FailedQuestion { device, attribute, method, modifier, status });
    }

    /// A device has reported its identity and the port through which it was asked.
    fn met(
        &mut self,
        exchange: &mut Exchange,
        queue: u32,
        beyond: Option<FoundPort>,
        path: DirectedPath,
        info: NodeInfo,
    ) {
        // Port numbers beyond those of the node do not fit the fabric to be built.
        if info.local_port.0 > info.num_ports {
            let guid = info.node_guid;
            return self.notices.push(format!(
                "path {path}: node {guid} is omitted: it has {} ports and answers through port {}",
                info.num_ports, info.local_port
            ));
        }
        let known = self.by_guid.get(&info.node_guid).copied();
        let node = known.unwrap_or_else(|| self.add(info.clone(), path.clone()));
        let arrived = FoundPort { node, num: info.local_port };
        match beyond {
            Some(from) if self.is_of_another(from, arrived) => return,
            Some(from) => {
                // Both directions at once: two probes may cross on a cable, and the second must find it known.
                self.cabled.insert(from, arrived);
                self.cabled.insert(arrived, from);
            }
            None => self.home = Some(arrived),
        }
        if self.left_out.contains(&info.node_guid) {
            self.found[node].lost = Some("it is left out");
            return;
        }
        if known.is_none() {
            self.ask(exchange, queue, Question::Description(node), path.clone());
        }
        if is_switch(&info) {
            // A switch has one port GUID and one LID, those of port 0, whichever port was asked. Only the first probe
            // that finds it continues; later ones add a cable.
            self.found[node].guids.insert(PortNum::ZERO, info.port_guid);
            if known.is_none() {
                self.ask(exchange, queue, Question::SwitchInfo(node), path);
            }
        } else if self.found[node].guids.insert(info.local_port, info.port_guid).is_none() {
            // Each port of a CA or a router is asked through itself.
            self.ask(exchange, queue, Question::Port(arrived), path);
        }
    }

    /// Whether two devices have one GUID: the port that was arrived at is known to be cabled to another one than this.
    /// The device that carries data stays, else the one at the lower GUID and port; the cable of the other is omitted.
    fn is_of_another(&mut self, from: FoundPort, arrived: FoundPort) -> bool {
        let Some(&known) = self.cabled.get(&arrived).filter(|&&known| known != from) else { return false };
        let rank = |at: FoundPort| {
            let found = &self.found[at.node];
            let flows = found.ports.get(&at.num).is_some_and(|info| state_of(info) == PortState::Active);
            (!flows, found.info.node_guid, at.num)
        };
        let (stays, goes) = if rank(known) <= rank(from) { (known, from) } else { (from, known) };
        let place = |at: FoundPort| format!("port {} of {}", at.num, self.found[at.node].info.node_guid);
        let guid = self.found[arrived.node].info.node_guid;
        self.notices.push(format!(
            "two devices have the GUID {guid}: the one at {} is used, the one at {} is omitted",
            place(stays),
            place(goes)
        ));
        self.doubled.insert((guid, goes));
        self.cabled.remove(&goes);
        self.cabled.insert(stays, arrived);
        self.cabled.insert(arrived, stays);
        true
    }

    fn add(&mut self, info: NodeInfo, path: DirectedPath) -> usize {
        let node = self.found.len();
        self.by_guid.insert(info.node_guid, node);
        self.found.push(Found {
            info,
            path,
            description: String::new(),
            switch_info: None,
            ports: BTreeMap::new(),
            guids: BTreeMap::new(),
            lost: None,
        });
        node
    }

    fn switch_info(&mut self, exchange: &mut Exchange, queue: u32, node: usize, info: SwitchInfo) {
        let changed = info.port_state_change;
        self.found[node].switch_info = Some(info.clone());
        if !changed || !self.clears.has(self.found[node].info.node_guid) {
            return self.ask_ports(exchange, queue, node);
        }
        // Cleared before the ports are read: a change in between sets it again, and the next sweep sees it. Writing a 1
        // clears it (section 14.2.5.4); the rest is written as read.
        let path = self.found[node].path.clone();
        self.send(exchange, queue, Question::ClearChange(node), path, info.encode());
    }

    fn ask_ports(&mut self, exchange: &mut Exchange, queue: u32, node: usize) {
        for num in 0..=self.found[node].info.num_ports {
            let path = self.found[node].path.clone();
            let question = Question::Port(FoundPort { node, num: PortNum(num) });
            self.ask(exchange, queue, question, path);
        }
    }

    /// A port has reported its state. The device beyond its cable is probed unless it is known already.
    fn port(&mut self, exchange: &mut Exchange, at: FoundPort, info: PortInfo) {
        let FoundPort { node, num } = at;
        let linked = num != PortNum::ZERO && state_of(&info) != PortState::Down;
        self.found[node].ports.insert(num, info);
        // A switch forwards a directed route through any port. A CA or router does not, so from there only the SM's own
        // port can start a route.
        let passes = is_switch(&self.found[node].info) || self.home == Some(at);
        if !linked || !passes || self.cabled.contains_key(&at) {
            return;
        }
        let path = self.found[node].path.through(num);
        if path.hops().len() > MOST_HOPS {
            self.too_far.insert(at);
            return self
                .notices
                .push(format!("path {path}: not followed: a directed route has at most {MOST_HOPS} hops"));
        }
        self.probe(exchange, Some(at), path);
    }

    /// The resulting fabric.
    ///
    /// # Errors
    /// The SM's own device did not answer, or the result is not a fabric (two devices with one GUID, one LID twice).
    pub(super) fn finish(&mut self) -> Result<Discovered, SubnetError> {
        let Some(home) = self.home.filter(|home| self.found[home.node].lost.is_none()) else {
            let attempted = "NodeInfo of the subnet manager's own device".to_string();
            return Err(SubnetError::NoPath { attempted });
        };
        self.drop_doubled_lids();
        let mut builder = FabricBuilder::new();
        // By GUID: node indices must not depend on which device answered first.
        let mut nodes: Vec<Option<NodeId>> = vec![None; self.found.len()];
        for &node in self.by_guid.values().filter(|&&node| self.found[node].lost.is_none()) {
            nodes[node] = Some(self.found[node].build(&mut builder));
        }
        // Each cable is listed from both ends.
        for (&a, &b) in self.cabled.iter().filter(|(a, b)| a <= b) {
            if let (Some(a_id), Some(b_id)) = (nodes[a.node], nodes[b.node]) {
                let (width, speed) = self.rate(a, b);
                let (a, b) = (LinkEnd { node: a_id, num: a.num }, LinkEnd { node: b_id, num: b.num });
                builder.link(a, b, width, speed)?;
            }
        }
        let origin = &self.found[home.node];
        builder.origin(origin.info.node_guid, origin.info.port_guid);
        let fabric = builder.build()?;
        // Ports of omitted devices and unread ports stay Down: they carry no data for this manager.
        let mut port_states = vec![PortState::Down; fabric.port_count()];
        for (found, id) in self.found.iter().zip(&nodes) {
            for (&num, info) in &found.ports {
                if let Some(port) = id.and_then(|id| fabric.port_at(id, num)) {
                    port_states[port.index()] = state_of(info);
                }
            }
        }
        let num = if is_switch(&origin.info) { PortNum::ZERO } else { home.num };
        let sm_port = nodes[home.node].and_then(|node| fabric.port_at(node, num));
        let sm_port = sm_port.ok_or_else(|| SubnetError::NoPath { attempted: format!("own port {num}") })?;
        let silent = self.silent(&fabric, &port_states, &nodes);
        let to_left_out = self.to_left_out(&fabric, &port_states, &nodes);
        let doubled = self.doubled.iter().filter_map(|&(guid, at)| {
            let port = nodes[at.node].and_then(|node| fabric.port_at(node, at.num));
            fabric.by_guid(guid).zip(port)
        });
        let doubled = doubled.collect();
        // Sorted, because the order of answers must not show.
        self.notices.sort_unstable();
        let notices = std::mem::take(&mut self.notices);
        Ok(Discovered { fabric, sm_port, port_states, silent, to_left_out, doubled, notices })
    }

    /// Ports of switches that have a link, and beyond which a device is omitted because it does not answer all that it
    /// must; with that device and its name, if it said so much.
    pub(super) fn unanswered_ports(&self) -> BTreeMap<PortName, Option<(Guid, String)>> {
        let name_of = |at: FoundPort| PortName { guid: self.found[at.node].info.node_guid, num: at.num };
        let is_used = |at: &FoundPort| is_switch(&self.found[at.node].info) && self.found[at.node].lost.is_none();
        let unmet = self.mute.iter().filter(|at| is_used(at) && !self.cabled.contains_key(*at));
        let unmet = unmet.map(|&at| (name_of(at), None));
        let omitted = self.cabled.iter().filter(|(near, far)| {
            let far = &self.found[far.node];
            is_used(near) && far.lost.is_some() && !self.left_out.contains(&far.info.node_guid)
        });
        let omitted = omitted.map(|(&near, far)| {
            let guid = self.found[far.node].info.node_guid;
            let name = self.name(guid).filter(|name| !name.is_empty()).unwrap_or_else(|| guid.to_string());
            (name_of(near), Some((guid, name)))
        });
        unmet.chain(omitted).collect()
    }

    /// Requests that went unanswered.
    pub(super) fn unanswered(&self) -> &BTreeSet<AskedPlace> {
        &self.unanswered
    }

    /// Switches that said that a port of them has changed.
    pub(super) fn changed(&self) -> impl Iterator<Item = Guid> {
        let has_changed = |found: &&Found| found.switch_info.as_ref().is_some_and(|info| info.port_state_change);
        self.found.iter().filter(has_changed).map(|found| found.info.node_guid)
    }

    /// The failed requests.
    pub(super) fn failing(&self) -> &[FailedQuestion] {
        &self.failing
    }

    /// The name of a device that was met, empty if it did not say; none of one that was not.
    pub(super) fn name(&self, device: Guid) -> Option<String> {
        let found = &self.found[*self.by_guid.get(&device)?];
        Some(found.description.trim().to_string())
    }

    /// Whether a device was asked for this and answered.
    pub(super) fn answered(&self, device: Guid, attribute: AttributeId, method: Method) -> bool {
        let Some(&node) = self.by_guid.get(&device) else { return false };
        let found = &self.found[node];
        let asked = match (attribute, method) {
            (AttributeId::NodeDescription | AttributeId::PortInfo, Method::Get) => true,
            (AttributeId::SwitchInfo, Method::Get) => is_switch(&found.info),
            (AttributeId::SwitchInfo, Method::Set) => {
                self.clears.has(device) && found.switch_info.as_ref().is_some_and(|info| info.port_state_change)
            }
            _ => false,
        };
        let failed = |at: &FailedQuestion| (at.device, at.attribute, at.method) == (device, attribute, method);
        asked && !self.left_out.contains(&device) && !self.failing.iter().any(failed)
    }

    /// Whether a device has answered all that it must, and is not left out.
    pub(super) fn uses(&self, device: Guid) -> bool {
        self.by_guid.get(&device).is_some_and(|&node| self.found[node].lost.is_none())
    }

    /// Whether nothing is cabled to a port any more: it reports no link, or its device did not answer.
    pub(super) fn is_gone(&self, port: PortName) -> bool {
        let Some(&node) = self.by_guid.get(&port.guid) else { return true };
        self.found[node].ports.get(&port.num).is_some_and(|info| info.port_state == wire::PortState::Down)
    }

    /// Ports of switches that let data through to a device that is left out.
    fn to_left_out(&self, fabric: &Fabric, states: &[PortState], nodes: &[Option<NodeId>]) -> Vec<PortId> {
        let out = |node: usize| self.left_out.contains(&self.found[node].info.node_guid);
        let ports = self.cabled.iter().filter(|(_, far)| out(far.node)).map(|(&near, _)| near);
        let found = ports.filter_map(|at| fabric.port_at(nodes[at.node]?, at.num));
        found.filter(|id| matches!(states[id.index()], PortState::Armed | PortState::Active)).collect()
    }

    /// Ports of switches that let data through to a device that was asked and did not answer.
    fn silent(&self, fabric: &Fabric, states: &[PortState], nodes: &[Option<NodeId>]) -> Vec<PortId> {
        let far = self.too_far.iter().filter_map(|at| fabric.port_at(nodes[at.node]?, at.num));
        let far: BTreeSet<PortId> = far.collect();
        let passes = |id: PortId| matches!(states[id.index()], PortState::Armed | PortState::Active);
        let ports = fabric.ports().filter(|(_, port)| port.peer.is_none() && port.num != PortNum::ZERO);
        let of_switches = ports.filter(|(_, port)| fabric.node(port.node).is_switch()).map(|(id, _)| id);
        of_switches.filter(|&id| passes(id) && !far.contains(&id)).collect()
    }

    /// A LID held by two ports stays with the one that carries data, else with the lower GUID: a device from another
    /// subnet, or one that was away, still holds the LID that it was given there. The other port counts as one without
    /// a LID.
    fn drop_doubled_lids(&mut self) {
        let mut holders: Vec<(bool, Guid, usize, PortNum)> = Vec::new();
        for (node, found) in self.found.iter().enumerate() {
            let flows =
                found.ports.iter().any(|(&num, info)| num != PortNum::ZERO && state_of(info) == PortState::Active);
            // The external ports of a switch have no LID of their own.
            let owns = |num: &PortNum| !is_switch(&found.info) || *num == PortNum::ZERO;
            holders.extend(
                found.ports.keys().filter(|num| owns(num)).map(|&num| (!flows, found.info.node_guid, node, num)),
            );
        }
        // `!flows` comes first in the tuple: false (it carries data) sorts before true.
        holders.sort_unstable();
        let mut taken: BTreeMap<Lid, Lid> = BTreeMap::new();
        for (.., node, num) in holders {
            let Some(info) = self.found[node].ports.get_mut(&num) else { continue };
            let (first, last) = (info.lid, Lid(info.lid.0.saturating_add(info.lmc.lids() - 1)));
            if first == Lid(0) {
                continue;
            }
            if !first.is_unicast() || !last.is_unicast() {
                tracing::warn!(lid = %first, "a port holds a LID that is not unicast: ignored");
                info.lid = Lid(0);
                continue;
            }
            // Ranges taken are disjoint, so of those that begin at or before `last` only the latest can reach `first`.
            if taken.range(..=last).next_back().is_some_and(|(_, &end)| end >= first) {
                tracing::warn!(node = %self.found[node].info.node_guid, lid = %first, "another port has this LID too: ignored here");
                if let Some(info) = self.found[node].ports.get_mut(&num) {
                    info.lid = Lid(0);
                }
            } else {
                taken.insert(first, last);
            }
        }
    }

    /// Width and speed of a cable, as reported by the first of its ends that was read.
    fn rate(&self, a: FoundPort, b: FoundPort) -> (LinkWidth, LinkSpeed) {
        let info = [a, b].iter().find_map(|port| self.found[port.node].ports.get(&port.num));
        info.map_or_else(Default::default, rate_of)
    }

    /// NodeInfo and SwitchInfo of every device, by its GUID.
    pub(super) fn node_infos(&self) -> impl Iterator<Item = (Guid, &NodeInfo, Option<&SwitchInfo>)> {
        self.found.iter().map(|found| (found.info.node_guid, &found.info, found.switch_info.as_ref()))
    }

    /// Every PortInfo read, by name of the port: the base of later Sets.
    pub(super) fn port_infos(&self) -> impl Iterator<Item = (PortName, &PortInfo)> {
        let name = |found: &Found, num: PortNum| PortName { guid: found.info.node_guid, num };
        self.found.iter().flat_map(move |found| found.ports.iter().map(move |(&num, info)| (name(found, num), info)))
    }
}

impl Found {
    fn build(&self, builder: &mut FabricBuilder) -> NodeId {
        let kind = kind_of(&self.info);
        let id = builder.node(kind, self.info.node_guid, self.info.num_ports, self.description.clone());
        let node = builder.node_mut(id);
        node.system_guid = Some(self.info.system_guid).filter(|guid| guid.0 != 0);
        node.vendor_id = self.info.vendor_id;
        node.device_id = u32::from(self.info.device_id);
        if let Some(info) = &self.switch_info {
            node.lft_capacity = info.linear_fdb_cap;
            node.optimised_sl_to_vl = info.takes_optimised_sl_to_vl();
            node.port_zero = if info.enhanced_port0 { PortZero::Enhanced } else { PortZero::Base };
        }
        for (&num, &guid) in &self.guids {
            if let Some(port) = builder.port_mut(id, num) {
                port.guid = Some(guid);
            }
        }
        for (&num, info) in &self.ports {
            let Some(port) = builder.port_mut(id, num) else { continue };
            let owns_lid = kind != NodeKind::Switch || num == PortNum::ZERO;
            port.lid = Some(info.lid).filter(|lid| owns_lid && *lid != Lid(0));
            port.lmc = info.lmc;
            if let Some(lanes) = info.vl_cap.lanes() {
                port.data_vls = lanes;
            }
        }
        id
    }
}

fn is_switch(info: &NodeInfo) -> bool {
    info.node_type == NodeType::Switch
}

/// The kind of a node; a type that is not known counts as one with end ports only.
fn kind_of(info: &NodeInfo) -> NodeKind {
    match info.node_type {
        NodeType::Switch => NodeKind::Switch,
        NodeType::Router => NodeKind::Router,
        NodeType::ChannelAdapter | NodeType::Unknown(_) => NodeKind::Ca,
    }
}

/// The state of a port; one that is not known counts as Down.
fn state_of(info: &PortInfo) -> PortState {
    match info.port_state {
        wire::PortState::Initialize => PortState::Initialize,
        wire::PortState::Armed => PortState::Armed,
        wire::PortState::Active => PortState::Active,
        wire::PortState::NoChange | wire::PortState::Down | wire::PortState::Unknown(_) => PortState::Down,
    }
}

/// Width and speed in use; the fabric's defaults where the port reports none that is known.
fn rate_of(info: &PortInfo) -> (LinkWidth, LinkSpeed) {
    (info.link_width_active.of_link().unwrap_or_default(), info.speed().unwrap_or_default())
}
