//! The server without its sockets: calls and MADs of clients in, answers and MADs for clients out, and a simulated
//! subnet in between.
//!
//! A client's MAD sets out from its port at the present simulated time; what comes to a port goes to the client it is
//! for. Requests that are not answered in time come back to their senders; answers that no client waits for any more
//! are dropped: libumad2sim leaves both, which the kernel would do, to the server. Real time is an argument. Given the
//! same calls and MADs at the same simulated times, everything here happens again in the same way.

use super::clients::{self, Clients, ID_SHIFT};
use super::console::find_node;
use super::counts::MadCounts;
use super::path_requests::{self, PathCounts, PathRequests, WantedPath};
use super::protocol::{CALL_DATA_SIZE, Call, CallKind, Connect, SimDatagram, TIMED_OUT, Vendor};
use super::waits::{Deadline, Expired, Waits};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum, Sl};
use crate::sim::{Halt, Sim};
use crate::transport::Datagram;
use crate::wire::{AttributeId, MAD_SIZE, NodeInfo, PortInfo, class, class_of};
use std::collections::BTreeMap;

/// InformInfo: who sets it wants reports (section 15.2.5.12).
const INFORM_INFO: u16 = 0x0003;

/// Real time after which a device repeats a trap that nobody has repressed. PortInfo:SubnetTimeOut counts in simulated
/// time, of which half an hour may be a second.
const TRAP_PERIOD_NS: u64 = 1_000_000_000;

/// Simulated time for which a GMP that has not landed keeps time going, from when the last one was sent.
const GMP_PATIENCE_NS: u64 = 2_000_000;

/// How long answers may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Of a device's agent, in nanoseconds of simulated time.
    pub agent_ns: u64,
    /// How often a request is sent again that no agent answered, before it comes back. The kernel does this for its
    /// programs as they ask; libumad2sim does not ask.
    pub retries: u32,
    /// Of another client, in nanoseconds of real time.
    pub client_ns: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { agent_ns: 2_000_000, retries: 0, client_ns: 1_000_000_000 }
    }
}

/// What a call came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    /// What to answer.
    pub answer: Call,
    /// Which sockets to open or close before that.
    pub change: Option<ClientChange>,
}

/// A client has come or gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientChange {
    /// A client came.
    Opened {
        /// Its ID.
        client: u32,
        /// Its process.
        process: u32,
    },
    /// A client left.
    Closed(u32),
}

/// Clients, and the subnet between them.
pub struct Switchboard {
    sim: Sim,
    fabric: Fabric,
    clients: Clients,
    waits: Waits,
    /// Whole transactions of the traps that clients received, by sender and the lower half of the transaction.
    /// libumad2sim puts numbers of its own into the upper half of what represses them.
    traps: BTreeMap<(Lid, u32), u64>,
    patience: Patience,
    mads: MadCounts,
    paths: PathRequests,
    /// End ports ask for paths.
    asks: bool,
    /// Real time at which traps that nobody has repressed are sent again.
    traps_again_ns: u64,
    /// Up to which simulated time a GMP on its way is waited for.
    gmps_until_ns: u64,
    /// MADs for clients, in the order in which they came.
    outgoing: Vec<(u32, SimDatagram)>,
}

impl Switchboard {
    /// Puts a switchboard in front of a simulated subnet of `fabric`.
    pub fn new(fabric: Fabric, sim: Sim, patience: Patience) -> Switchboard {
        Switchboard {
            sim,
            fabric,
            clients: Clients::default(),
            waits: Waits::default(),
            traps: BTreeMap::new(),
            patience,
            mads: MadCounts::default(),
            paths: PathRequests::default(),
            asks: false,
            traps_again_ns: TRAP_PERIOD_NS,
            gmps_until_ns: 0,
            outgoing: Vec::new(),
        }
    }

    /// The subnet.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// The subnet, for commands.
    pub fn sim_mut(&mut self) -> &mut Sim {
        &mut self.sim
    }

    /// Its nodes and cables.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The connected clients.
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// The MADs of clients so far.
    pub fn mads(&self) -> &MadCounts {
        &self.mads
    }

    /// The MADs of clients so far, to be counted anew.
    pub fn mads_mut(&mut self) -> &mut MadCounts {
        &mut self.mads
    }

    /// Has end ports ask the subnet administration for their paths whenever they must register again. Until they are
    /// answered, and if they are not made to ask, they send to base LIDs with SL 0.
    pub fn have_paths_asked(&mut self) {
        self.asks = true;
    }

    /// How far end ports are with that.
    pub fn paths(&self) -> PathCounts {
        self.paths.counts()
    }

    /// Requests not answered yet.
    pub fn open_requests(&self) -> usize {
        self.waits.open()
    }

    /// Sees to a call on the control channel.
    pub fn call(&mut self, call: &Call) -> Called {
        match call.kind {
            CallKind::Connect => self.connect(call),
            CallKind::Disconnect => {
                let change = self.disconnect(call.client).then_some(ClientChange::Closed(call.client));
                Called { answer: call.clone(), change }
            }
            _ => Called { answer: self.answer_on(call).unwrap_or_else(|| call.refusal()), change: None },
        }
    }

    fn connect(&mut self, call: &Call) -> Called {
        let asked = Connect::decode(&call.data);
        let refused = |why: &dyn std::fmt::Display| {
            tracing::warn!("process {} wants to be a client at \"{}\": {why}", asked.id, asked.node);
            Called { answer: call.refusal(), change: None }
        };
        let port = match self.port_named(&asked.node) {
            Ok(port) => port,
            Err(error) => return refused(&error),
        };
        if let Err(error) = self.sim.attach(port) {
            return refused(&error);
        }
        match self.clients.connect(asked.id, port, asked.is_sm) {
            Ok(client) => {
                tracing::info!("client {client}: process {} at {}", asked.id, self.fabric.describe_port(port));
                self.tell_managers(port);
                let node = match asked.node.is_empty() {
                    true => self.fabric.node(self.fabric.port(port).node).description.trim().to_string(),
                    false => asked.node,
                };
                let answer = call.answer(&Connect { id: client, node, ..asked }.encode());
                Called { answer, change: Some(ClientChange::Opened { client, process: asked.id }) }
            }
            Err(error) => refused(&error),
        }
    }

    /// The port at which a client is that names a node, or none: the node's first cabled port, port 0 of a switch.
    /// `NODE:PORT` names another one. A name of 31 bytes may have lost its end.
    fn port_named(&self, name: &str) -> Result<PortId, super::console::CommandError> {
        if name.is_empty() {
            let first = self.fabric.end_ports().next().or_else(|| self.fabric.lid_ports().next());
            return first.map_or_else(|| find_node(&self.fabric, name).map(|node| self.first_port(node)), Ok);
        }
        let node = match find_node(&self.fabric, name) {
            Ok(node) => node,
            // The whole name goes first: descriptions may hold a colon.
            Err(error) => return self.port_numbered(name).or_else(|| self.cut_short(name)).ok_or(error),
        };
        Ok(self.first_port(node))
    }

    fn port_numbered(&self, name: &str) -> Option<PortId> {
        let (node, num) = name.rsplit_once(':')?;
        let node = find_node(&self.fabric, node).ok()?;
        let num = num.parse().ok().map(PortNum)?;
        self.fabric.port_at(node, num).filter(|_| (num == PortNum::ZERO) == self.fabric.node(node).is_switch())
    }

    fn cut_short(&self, name: &str) -> Option<PortId> {
        let mut longer = self.fabric.nodes().filter(|(_, node)| name.len() == 31 && node.description.starts_with(name));
        let (only, another) = (longer.next()?, longer.next());
        another.is_none().then(|| self.first_port(only.0))
    }

    fn first_port(&self, node: NodeId) -> PortId {
        let mut ports = self.fabric.ports_of(node);
        if self.fabric.node(node).is_switch() {
            return ports.next().expect("a switch has a port 0");
        }
        let cabled = ports.find(|&port| self.fabric.port(port).peer.is_some());
        cabled.or_else(|| self.fabric.port_at(node, PortNum(1))).expect("a node has a port 1")
    }

    /// A client left, or was found dead. Whether it was there.
    pub fn disconnect(&mut self, client: u32) -> bool {
        let Some(gone) = self.clients.disconnect(client) else { return false };
        tracing::info!("client {client}: process {} is gone", gone.process);
        self.waits.forget(client);
        self.outgoing.retain(|&(to, _)| to != client);
        if gone.is_sm {
            self.tell_managers(gone.port);
        }
        true
    }

    /// Sets whether a port reports a subnet manager.
    fn tell_managers(&mut self, port: PortId) {
        let manager = self.clients.iter().any(|(_, client)| client.port == port && client.is_sm);
        self.sim.set_is_sm(port, manager);
    }

    /// The answer to a call that asks for something; none refuses it.
    fn answer_on(&mut self, call: &Call) -> Option<Call> {
        let port = self.clients.get(call.client)?.port;
        match call.kind {
            CallKind::SetIsSm => {
                let is_sm = call.data[..4].iter().any(|&byte| byte != 0);
                self.clients.get_mut(call.client)?.is_sm = is_sm;
                self.tell_managers(port);
                Some(call.clone())
            }
            CallKind::Port => {
                let info = self.port_info(port, PortNum::ZERO)?;
                let lid = info.lid.0.to_ne_bytes();
                Some(call.answer(&[lid[0], lid[1], info.port_state.into()]))
            }
            CallKind::Vendor => {
                let info = self.node_info(port)?;
                let (device, hardware) = (info.device_id.into(), info.revision);
                Some(call.answer(&Vendor { vendor: info.vendor_id, device, hardware, firmware: 1 }.encode()))
            }
            CallKind::Gid => {
                let prefix = self.port_info(port, PortNum::ZERO)?.gid_prefix.to_be_bytes();
                let guid = self.node_info(port)?.port_guid.0.to_be_bytes();
                Some(call.answer(&[prefix, guid].concat()))
            }
            CallKind::Guid => Some(call.answer(&self.node_info(port)?.node_guid.0.to_be_bytes())),
            CallKind::NodeInfo => Some(call.answer(&self.node_info(port)?.encode())),
            CallKind::PortInfo => {
                let data = self.attribute(port, AttributeId::PortInfo, call.data[0].into())?;
                Some(call.answer(&data))
            }
            CallKind::PKeys => Some(call.answer(&self.attribute(port, AttributeId::PKeyTable, 0)?)),
            CallKind::Connect | CallKind::Disconnect | CallKind::Error | CallKind::Unknown(_) => None,
        }
    }

    fn attribute(&mut self, port: PortId, attribute: AttributeId, modifier: u32) -> Option<[u8; CALL_DATA_SIZE]> {
        self.sim.attribute(port, attribute, modifier)
    }

    /// NodeInfo as libumad2sim needs it. It takes the GUID of a port for that of its node plus the number of the
    /// port; where that is not so, the GUID of the port is what a subnet manager must not be wrong about.
    fn node_info(&mut self, port: PortId) -> Option<NodeInfo> {
        let mut info = NodeInfo::decode(&self.attribute(port, AttributeId::NodeInfo, 0)?);
        info.node_guid.0 = info.port_guid.0.wrapping_sub(info.local_port.0.into());
        Some(info)
    }

    fn port_info(&mut self, port: PortId, num: PortNum) -> Option<PortInfo> {
        Some(PortInfo::decode(&self.attribute(port, AttributeId::PortInfo, num.0.into())?))
    }

    /// A client sends a MAD.
    pub fn packet(&mut self, client: u32, mut packet: SimDatagram, real_ns: u64) {
        let Some(sender) = self.clients.get_mut(client) else {
            tracing::warn!("a MAD of client {client}, who is not connected, is dropped");
            return;
        };
        let (class, attribute) = (class_of(&packet.mad), clients::attribute(&packet.mad));
        if class == class::SUBNET_ADMINISTRATION && attribute == INFORM_INFO {
            // Reports go to a port, where several clients may be: the one that subscribed gets them.
            sender.takes_reports = true;
        }
        let port = sender.port;
        if !clients::is_answer(&packet.mad) {
            // The client's ID in the transaction is how an answer finds its way back.
            clients::sign(&mut packet.mad, client);
        } else if let Some(trap) = self.traps.remove(&(packet.dlid, clients::transaction(&packet.mad) as u32)) {
            // libumad2sim wrote numbers of its own over the upper half of the transaction that the device knows.
            clients::number(&mut packet.mad, trap);
        }
        self.mads.count(&packet.mad);
        if matches!(class, class::SUBNET_LID | class::SUBNET_DIRECTED) {
            // The manager is at work: a path that is asked for now may be gone in a moment.
            self.paths.disturbed(real_ns);
        }
        self.send(client, port, packet, real_ns, self.patience.retries);
    }

    /// Sends a client's MAD out of its port; where an agent does not answer it, so often again.
    fn send(&mut self, client: u32, port: PortId, packet: SimDatagram, real_ns: u64, retries: u32) {
        let bytes = packet.mad.clone();
        let sl = self.level(port, &packet);
        if packet.dqp != 0 {
            self.gmps_until_ns = self.sim.now_ns() + GMP_PATIENCE_NS;
        }
        let datagram = Datagram { lid: packet.dlid, from: None, qp: packet.dqp, sl, bytes };
        self.wait_for(client, packet, real_ns, retries);
        self.sim.send_from(port, &datagram);
    }

    /// The service level of what a client sends, of which ibsim's protocol says nothing: that towards the manager, as
    /// its port holds it, and for an answer that of the port that asked.
    fn level(&self, port: PortId, packet: &SimDatagram) -> Sl {
        let asker = if clients::is_answer(&packet.mad) { self.sim.end_port_of(port, packet.dlid) } else { None };
        self.sim.manager_of(asker.unwrap_or(port)).1
    }

    fn wait_for(&mut self, client: u32, packet: SimDatagram, real_ns: u64, retries: u32) {
        let (transaction, length) = (clients::transaction(&packet.mad), packet.length);
        let now_ns = self.sim.now_ns();
        let until = match answered_by(&packet.mad) {
            Answerer::Agent => Some(Deadline::Simulated(now_ns + self.patience.agent_ns)),
            Answerer::Client => Some(Deadline::Real(real_ns + self.patience.client_ns)),
            Answerer::Nobody => None,
        };
        // What an agent answers keeps simulated time going by its deadline; everything else must be seen to land.
        if !matches!(until, Some(Deadline::Simulated(_))) {
            self.waits.fly(transaction, length, now_ns);
        }
        if let Some(until) = until {
            let retries = if matches!(until, Deadline::Simulated(_)) { retries } else { 0 };
            self.waits.expect(client, transaction, packet, until, retries);
        }
    }

    /// Something happened to the subnet: its traps are under way.
    pub fn disturbed(&mut self) {
        self.waits.fly(u64::MAX, MAD_SIZE as u64, self.sim.now_ns());
    }

    /// Up to which simulated time MADs are under way; none where none is.
    pub fn under_way_until(&self) -> Option<u64> {
        let now_ns = self.sim.now_ns();
        // A GMP waits behind data, for longer than a flight; one in a lane that stands still is not waited for
        // endlessly.
        let queued = Some(self.gmps_until_ns).filter(|&until_ns| until_ns > now_ns && self.sim.gmps().in_flight() > 0);
        self.waits.under_way_until(now_ns).max(queued)
    }

    /// Lets simulated time pass until `until_ns`, or until a MAD is there for a client, and returns how much has
    /// passed.
    pub fn run(&mut self, until_ns: u64, real_ns: u64) -> u64 {
        let before = self.sim.now_ns();
        loop {
            let halt = self.sim.run(until_ns, true);
            self.collect();
            // A MAD that no client gets is no reason to return.
            if halt != Halt::Mad || !self.outgoing.is_empty() {
                break;
            }
        }
        self.settle(real_ns);
        self.sim.now_ns() - before
    }

    /// Sees to what real time brings while simulated time stands still: requests whose time is up, traps that nobody
    /// has repressed, and paths that may be asked for now.
    pub fn settle(&mut self, real_ns: u64) {
        if real_ns >= self.traps_again_ns {
            self.traps_again_ns = real_ns + TRAP_PERIOD_NS;
            self.sim.send_traps_again();
        }
        self.ask_for_paths(real_ns);
        for Expired { client, packet, retries } in self.waits.expire(self.sim.now_ns(), real_ns) {
            match self.clients.get(client).map(|client| client.port).filter(|_| retries > 0) {
                Some(port) => self.send(client, port, packet, real_ns, retries - 1),
                None => self.outgoing.push((client, SimDatagram { status: TIMED_OUT, ..packet })),
            }
        }
    }

    /// Has end ports ask the administration for paths, where they are to: those that must register again, and
    /// those whose turn has come.
    fn ask_for_paths(&mut self, real_ns: u64) {
        // Taken in any case, so that events from a time without requests are not acted on later.
        let sources = self.sim.take_reregistered();
        if !self.asks {
            return;
        }
        for source in sources {
            let others: Vec<PortId> = self.fabric.end_ports().filter(|&other| other != source).collect();
            self.paths.want(source, others.into_iter());
        }
        self.paths.expire(real_ns);
        while let Some(wanted) = self.paths.next(real_ns) {
            self.ask_for_path(wanted, real_ns);
        }
    }

    fn ask_for_path(&mut self, wanted: WantedPath, real_ns: u64) {
        let lid = |port| self.sim.port_lid(port);
        let (slid, dlid) = (lid(wanted.source), lid(wanted.destination));
        let (manager, sl) = self.sim.manager_of(wanted.source);
        let (Lid(1..), Lid(1..), Lid(1..), Ok(())) = (slid, dlid, manager, self.sim.attach(wanted.source)) else {
            return self.paths.again(wanted);
        };
        let mad = Box::new(self.paths.ask(wanted, slid, dlid, real_ns + self.patience.client_ns));
        self.waits.fly(clients::transaction(&mad), MAD_SIZE as u64, self.sim.now_ns());
        self.gmps_until_ns = self.sim.now_ns() + GMP_PATIENCE_NS;
        self.sim.send_from(wanted.source, &Datagram { lid: manager, from: None, qp: 1, sl, bytes: mad });
    }

    fn path_told(&mut self, mad: &[u8; MAD_SIZE]) {
        if let Some((wanted, dlid, sl)) = self.paths.answered(mad) {
            self.sim.set_path(wanted.source, wanted.destination, dlid, sl);
        }
    }

    /// Takes what came to the ports of clients.
    fn collect(&mut self) {
        while let Some((port, datagram)) = self.sim.received() {
            self.deliver(port, datagram);
        }
    }

    fn deliver(&mut self, port: PortId, datagram: Datagram) {
        let mad = datagram.bytes;
        let transaction = clients::transaction(&mad);
        let length = self.waits.landed(transaction);
        if clients::is_answer(&mad) && transaction >> ID_SHIFT == path_requests::OWN_ID {
            return self.path_told(&mad);
        }
        let Some(client) = self.clients.addressee(port, &mad) else { return };
        if clients::method(&mad) == clients::TRAP {
            self.traps.insert((datagram.lid, transaction as u32), transaction);
        }
        let late = clients::is_answer(&mad) && !self.waits.answered(client, transaction);
        // Answers of several packets have one transaction: all after the first come for a request that is answered.
        if late && class_of(&mad) != class::SUBNET_ADMINISTRATION {
            return;
        }
        let directed = class_of(&mad) == class::SUBNET_DIRECTED;
        let (dlid, slid) = if directed { (Lid::PERMISSIVE, Lid::PERMISSIVE) } else { (Lid(0), datagram.lid) };
        let (dqp, sqp) = (datagram.qp, datagram.qp);
        self.outgoing.push((client, SimDatagram { dlid, slid, dqp, sqp, status: 0, length, mad }));
    }

    /// The MADs for clients, in order; they are taken.
    pub fn outgoing(&mut self) -> Vec<(u32, SimDatagram)> {
        std::mem::take(&mut self.outgoing)
    }
}

/// What answers a MAD.
enum Answerer {
    /// The agent of a device.
    Agent,
    /// A program: an administration, another manager.
    Client,
    /// It is an answer itself, or wants none.
    Nobody,
}

fn answered_by(mad: &[u8; MAD_SIZE]) -> Answerer {
    const SEND: u8 = 0x03;
    let method = clients::method(mad);
    if clients::is_answer(mad) || method == SEND || is_acknowledgement(mad) {
        return Answerer::Nobody;
    }
    let for_manager = method == clients::TRAP || AttributeId::from(clients::attribute(mad)) == AttributeId::SmInfo;
    match class_of(mad) {
        class::SUBNET_LID | class::SUBNET_DIRECTED if !for_manager => Answerer::Agent,
        class::PERFORMANCE => Answerer::Agent,
        _ => Answerer::Client,
    }
}

/// An acknowledgement, stop or abort of an answer of several packets (section 13.6.2.1), which has the method of a
/// request.
fn is_acknowledgement(mad: &[u8; MAD_SIZE]) -> bool {
    const TYPE: usize = 25;
    class_of(mad) == class::SUBNET_ADMINISTRATION && (2..=4).contains(&mad[TYPE])
}
