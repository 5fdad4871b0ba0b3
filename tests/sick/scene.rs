//! The manager that `reconfig sm` runs, on a cold simulated subnet whose clock is the simulation's.

use reconfig::change::engine_named;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, Lid, Lmc, PortNum, Sl};
use reconfig::journal::Journal;
use reconfig::lid;
use reconfig::plan::{Observer, Policy};
use reconfig::routing::{Engine, Parameters};
use reconfig::sim::{Halt, SickAttribute, Sim, SimConfig, SimTransport};
use reconfig::sm::election::{ElectionRules, Rank};
use reconfig::sm::{
    self, AgeLimits, Config, Context, Degraded, Happening, Mailbox, Planning, RunUntil, SharedMailbox, SharedResponder,
    SmError, SubnetArrival, Takeover,
};
use reconfig::subnet::{Manager, Respond, SourceControl, Timing};
use reconfig::transport::{Datagram, Transport, TransportError};
use reconfig::wire::sa::{ComponentMask, PathRecord, Record, SaMad};
use reconfig::wire::{AttributeId, Gid, Method, PortState, SMP_DATA_SIZE, Smp, status};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;

/// A manager at work, and all that it has said.
pub struct Scene {
    pub transport: SimTransport,
    pub fabric: Fabric,
    pub mailbox: SharedMailbox,
    pub said: Rc<RefCell<Vec<Happening>>>,
    /// Whether it hears no other manager ask what it is.
    pub is_deaf: Rc<Cell<bool>>,
    responder: SharedResponder,
    manager: Pin<Box<dyn Future<Output = Result<(), SmError>>>>,
}

pub fn timing() -> Timing {
    Timing {
        timeout_ns: 2 * MS,
        retries: 3,
        window: 16,
        smp_lifetime_ns: 4 * MS,
        light_sweep_ns: Some(S),
        ..Timing::default()
    }
}

/// How a manager is set up here.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub m_key: u64,
    pub m_key_protection: u8,
    pub takeover: Takeover,
    /// The most data VLs; whatever is found, if they are required.
    pub data_vls: u8,
    pub data_vls_are_required: bool,
    pub lmc: u8,
    pub engine: &'static str,
    /// By `auto`, or by `double` alone.
    pub auto: bool,
    /// Whether something stands in for engine and scheme.
    pub falls_back: bool,
    /// Whether time passes while it plans.
    pub is_threaded: bool,
    /// What shows that packets have left.
    pub observer: Observer,
    /// How long switches keep packets (SwitchInfo:LifeTimeValue).
    pub life_time_value: u8,
    /// The attribute with whose first MAD the manager's own port fails.
    pub port_breaks_at: Option<AttributeId>,
    pub priority: u8,
    /// Whether changes wait at each barrier.
    pub pauses: bool,
    pub until: RunUntil,
    /// Whether hosts are asked to register again.
    pub asks_clients: bool,
    /// The GID prefix that is required, if one is.
    pub subnet_prefix: Option<u64>,
    /// The service level of multicast groups, if there are any.
    pub reserved_sl: Option<u8>,
}

impl Setup {
    pub const DEFAULT: Setup = Setup {
        m_key: 0,
        m_key_protection: 1,
        takeover: Takeover::Proved,
        data_vls: 4,
        data_vls_are_required: true,
        lmc: 1,
        engine: "up-down",
        auto: true,
        falls_back: false,
        is_threaded: false,
        observer: Observer::Token,
        life_time_value: 8,
        port_breaks_at: None,
        priority: 0,
        pauses: false,
        until: RunUntil::Stopped,
        asks_clients: true,
        subnet_prefix: None,
        reserved_sl: None,
    };
}

impl Default for Setup {
    fn default() -> Setup {
        Setup::DEFAULT
    }
}

/// The manager's port, which may fail.
struct Port {
    inner: SimTransport,
    breaks_at: Option<AttributeId>,
    is_deaf: Rc<Cell<bool>>,
}

#[async_trait::async_trait(?Send)]
impl Transport for Port {
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError> {
        let attribute = AttributeId::from(u16::from_be_bytes([datagram.bytes[16], datagram.bytes[17]]));
        match self.breaks_at == Some(attribute) {
            true => Err(TransportError::Closed("it was pulled".to_string())),
            false => self.inner.send(datagram).await,
        }
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        let is_lost = |mad: &Datagram| {
            let smp = Smp::decode(&mad.bytes).ok().filter(|smp| smp.attribute == AttributeId::SmInfo);
            smp.is_some_and(|smp| smp.method == Method::Get)
        };
        loop {
            match self.inner.recv(until_ns).await? {
                Some(mad) if self.is_deaf.get() && is_lost(&mad) => {}
                received => return Ok(received),
            }
        }
    }
}

/// Nanoseconds between two polls of a master by a standby.
pub const POLL_NS: u64 = 2 * S;

fn engine(name: &str) -> Arc<dyn Engine> {
    Arc::from(engine_named(name, &Parameters::default()).expect("it is in the list"))
}

fn context(setup: Setup, guid: Guid, mailbox: SharedMailbox, journal: Option<Journal>, kept: &str) -> Context {
    let config = Config {
        policy: Policy {
            observer: setup.observer,
            reserved_sl: setup.reserved_sl.and_then(Sl::new),
            ..Policy::default()
        },
        auto: setup.auto,
        sources: SourceControl::Fenced { settle_ns: 50 * MS },
        data_vls: setup.data_vls,
        data_vls_are_required: setup.data_vls_are_required,
        lmc: Lmc::masked(setup.lmc),
        m_key: setup.m_key,
        m_key_protection: setup.m_key_protection,
        limits: AgeLimits { life_time_value: setup.life_time_value, ..AgeLimits::default() },
        planning: if setup.is_threaded { Planning::Threaded } else { Planning::Inline },
        fallback: setup.falls_back.then(|| engine("up-down-robust")),
        takeover: setup.takeover,
        asks_clients: setup.asks_clients,
        subnet_prefix: setup.subnet_prefix.unwrap_or(Gid::DEFAULT_PREFIX),
        subnet_prefix_is_required: setup.subnet_prefix.is_some(),
        ..Config::by(engine(setup.engine))
    };
    let rules = ElectionRules { poll_ns: POLL_NS, ..ElectionRules::new(Rank { priority: setup.priority, guid }) };
    let kept = lid::Guid2Lid::read(kept.as_bytes(), "guid2lid").expect("it can be read");
    let assign = Box::new(move |fabric: &Fabric, lmc, held: &_| Ok(lid::assign_beside_data(fabric, lmc, &kept, held)?));
    Context { assign, journal, ..Context::of(config, rules, mailbox) }
}

impl Scene {
    /// A subnet as after a power cut, with a manager at its first host; `sick` before anybody asks anything.
    pub fn cold(topology: &str, config: SimConfig, setup: Setup, sick: &[(&str, SickAttribute)]) -> Scene {
        let plain = generate(&topology.parse::<Topology>().expect("a topology"), &Options::default()).expect("it is");
        Scene::cold_of(plain, config, setup, sick)
    }

    /// The same on any fabric.
    pub fn cold_of(plain: Fabric, config: SimConfig, setup: Setup, sick: &[(&str, SickAttribute)]) -> Scene {
        let sm = plain.end_ports().next().expect("hosts");
        Scene::cold_at(plain, sm, config, setup, sick)
    }

    /// The same with the manager at any port that a manager can have.
    pub fn cold_at(
        plain: Fabric,
        sm: PortId,
        config: SimConfig,
        setup: Setup,
        sick: &[(&str, SickAttribute)],
    ) -> Scene {
        let fabric = plain.with_capabilities(4, false);
        let mut sim = Sim::cold(&fabric, SimConfig { load: 0.0, fixed_links: true, ..config })
            .unwrap_or_else(|error| panic!("{error}"));
        for &(name, sick) in sick {
            sim.sicken_node(named(&fabric, name), sick);
        }
        let transport = SimTransport::attach(sim, sm).unwrap_or_else(|error| panic!("{error}"));
        transport.with(|sim| sim.set_is_sm(sm, true));
        Scene::on(transport, fabric, setup, sm, None, "")
    }

    /// The same manager with a journal.
    pub fn recorded(self, setup: Setup, journal: &Path) -> Scene {
        self.restarted(setup, || Some(Journal::open(journal, 0).expect("it can be opened").0), "")
    }

    /// The same manager with this journal.
    pub fn recorded_in(self, setup: Setup, journal: Journal) -> Scene {
        self.restarted(setup, || Some(journal), "")
    }

    /// The manager dies at once, and another one starts in its place, with LIDs that it remembers.
    pub fn remembering(self, setup: Setup, kept: &str) -> Scene {
        self.restarted(setup, || None, kept)
    }

    fn on(
        transport: SimTransport,
        fabric: Fabric,
        setup: Setup,
        sm: PortId,
        journal: Option<Journal>,
        kept: &str,
    ) -> Scene {
        let mailbox = Mailbox::new(setup.pauses);
        let guid = fabric.port_guid(sm);
        let is_deaf: Rc<Cell<bool>> = Rc::default();
        let port = Port { inner: transport.clone(), breaks_at: setup.port_breaks_at, is_deaf: is_deaf.clone() };
        let manager = Manager::new(port.boxed(), timing(), setup.m_key);
        let context = context(setup, guid, mailbox.clone(), journal, kept);
        let responder = context.responder.clone();
        let manager = sm::run(manager, context, setup.until);
        Scene { transport, fabric, mailbox, said: Rc::default(), is_deaf, responder, manager: Box::pin(manager) }
    }

    /// The manager dies at once, and another one starts in its place.
    pub fn another(self, setup: Setup) -> Scene {
        self.restarted(setup, || None, "")
    }

    fn restarted(self, setup: Setup, journal: impl FnOnce() -> Option<Journal>, kept: &str) -> Scene {
        let Scene { transport, fabric, manager, .. } = self;
        drop(manager);
        transport.hang_up();
        let sm = fabric.end_ports().next().expect("hosts");
        transport.with(|sim| sim.attach(sm)).expect("as before");
        Scene::on(transport, fabric, setup, sm, journal(), kept)
    }

    /// The manager dies at once, and one at another host comes after it.
    pub fn succeeded_at(self, host: &str, setup: Setup) -> Scene {
        let heir = self.beside(host, setup);
        let Scene { transport, fabric, manager, .. } = self;
        drop(manager);
        transport.hang_up();
        let sm = fabric.end_ports().next().expect("hosts");
        heir.transport.with(|sim| sim.set_is_sm(sm, false));
        heir
    }

    /// A second manager in the same subnet, at a host of its own; its port does not say so.
    pub fn beside(&self, host: &str, setup: Setup) -> Scene {
        let port = self.port(host);
        let transport = self.transport.attach_another(port).expect("a host's port");
        Scene::on(transport, self.fabric.clone(), setup, port, None, "")
    }

    /// The state of the election here.
    pub fn role(&self) -> &'static str {
        self.responder.borrow().state().name()
    }

    /// What is wrong with another manager, or with this one beside another.
    pub fn trouble(&self) -> Option<String> {
        self.responder.borrow().trouble().map(|news| news.to_string())
    }

    pub fn now_ns(&self) -> u64 {
        self.transport.with(|sim| sim.now_ns())
    }

    /// How the manager ends within so much time, if it does by itself.
    pub fn ended(&mut self, limit_ns: u64) -> Option<Result<(), SmError>> {
        let mut polls = std::task::Context::from_waker(Waker::noop());
        let end_ns = self.now_ns() + limit_ns;
        while self.now_ns() < end_ns {
            if let Poll::Ready(ended) = self.manager.as_mut().poll(&mut polls) {
                return Some(ended);
            }
            assert_ne!(self.transport.advance(end_ns), Halt::Deadlock, "deadlock");
        }
        None
    }

    /// Whether the SA names a path from one host to another.
    pub fn sa_names_a_path(&self, from: &str, to: &str) -> bool {
        self.sa_path(from, to).is_some()
    }

    /// The path that the SA names from one host to another.
    pub fn sa_path(&self, from: &str, to: &str) -> Option<PathRecord> {
        let [slid, dlid] = [from, to].map(|name| self.transport.with(|sim| sim.port_lid(self.port(name))));
        let components = [PathRecord::SLID, PathRecord::DLID, PathRecord::NUMB_PATH];
        let asked = PathRecord { slid, dlid, numb_path: 1, ..PathRecord::default() };
        let mad = SaMad::request(Method::Get, ComponentMask::of(&components), &asked);
        let bytes = Box::new(mad.encode());
        let datagram = Datagram { lid: slid, from: None, qp: 1, sl: Sl::default(), bytes };
        let answers = self.responder.borrow_mut().take(&datagram, self.now_ns()).unwrap_or_default();
        let mut answers = answers.iter().filter_map(|answer| SaMad::decode(&answer.bytes).ok());
        answers.find(|answer| answer.status == status::SUCCESS).map(|answer| PathRecord::from_data(&answer.data))
    }

    /// The SA's answer to a request of a host: its data, or the status that refuses.
    pub fn sa_answer(&self, host: &str, mad: &SaMad) -> Result<SaMad, u16> {
        let lid = self.transport.with(|sim| sim.port_lid(self.port(host)));
        let datagram = Datagram { lid, from: None, qp: 1, sl: Sl::default(), bytes: Box::new(mad.encode()) };
        let answers = self.responder.borrow_mut().take(&datagram, self.now_ns()).unwrap_or_default();
        let answer = answers.iter().find_map(|answer| SaMad::decode(&answer.bytes).ok()).expect("an answer");
        if answer.status == status::SUCCESS { Ok(answer) } else { Err(answer.status) }
    }

    /// Lets the manager do what it can now.
    pub fn poll(&mut self) {
        let mut polls = std::task::Context::from_waker(Waker::noop());
        if let Poll::Ready(ended) = self.manager.as_mut().poll(&mut polls) {
            panic!("the manager ends by itself: {ended:?}");
        }
        let happened: Vec<Happening> = self.mailbox.borrow_mut().happenings().map(|(_, what)| what).collect();
        self.said.borrow_mut().extend(happened);
    }

    /// Runs until something holds, or for so long; whether it came to hold.
    pub fn until(&mut self, limit_ns: u64, holds: impl Fn(&Scene) -> bool) -> bool {
        let end_ns = self.now_ns() + limit_ns;
        loop {
            self.poll();
            if holds(self) {
                return true;
            }
            if self.now_ns() >= end_ns {
                return false;
            }
            assert_ne!(self.transport.advance(end_ns), Halt::Deadlock, "deadlock");
        }
    }

    /// Runs for so long.
    pub fn pass(&mut self, length_ns: u64) {
        self.until(length_ns, |_| false);
    }

    pub fn arrival(&self) -> Option<SubnetArrival> {
        self.said.borrow().iter().rev().find_map(|said| match said {
            Happening::Up { arrival, .. } => Some(arrival.clone()),
            _ => None,
        })
    }

    /// Why something failed, each time.
    pub fn failures(&self) -> Vec<String> {
        let said = self.said.borrow();
        said.iter()
            .filter_map(|said| if let Happening::Failed(why) = said { Some(why.clone()) } else { None })
            .collect()
    }

    pub fn degraded(&self) -> Vec<Degraded> {
        self.mailbox.borrow().view.degraded.clone()
    }

    /// What somebody at the second host's port gets from a device by subnet management: what it answers to this.
    pub fn meddle(
        &self,
        device: &str,
        method: Method,
        attribute: AttributeId,
        modifier: u32,
        data: [u8; SMP_DATA_SIZE],
    ) -> [u8; SMP_DATA_SIZE] {
        let from = self.fabric.end_ports().nth(1).expect("a second host");
        let path = self.path(from, self.node(device));
        let smp = Smp::directed(&path, method, attribute, modifier, data).expect("a short path").with_tid(77);
        let bytes = Box::new(smp.encode());
        let datagram = Datagram { lid: Lid::PERMISSIVE, from: None, qp: 0, sl: Default::default(), bytes };
        self.transport.with(|sim| {
            sim.attach(from).expect("a host's port");
            sim.send_from(from, &datagram);
            for _ in 0..100 {
                let later_ns = sim.now_ns() + MS / 10;
                sim.run(later_ns, false);
                if let Some(came) = sim.received_at(from) {
                    sim.detach(from);
                    let answer = Smp::decode(&came.bytes).expect("an SMP");
                    assert_eq!((answer.attribute, answer.status), (attribute, 0), "{device}");
                    return answer.data;
                }
            }
            panic!("{device} does not answer");
        })
    }

    /// Reads a table of a device, and writes what is made of it.
    pub fn rewrite(
        &self,
        device: &str,
        attribute: AttributeId,
        modifier: u32,
        edit: impl FnOnce([u8; SMP_DATA_SIZE]) -> [u8; SMP_DATA_SIZE],
    ) {
        let held = self.meddle(device, Method::Get, attribute, modifier, [0; SMP_DATA_SIZE]);
        self.meddle(device, Method::Set, attribute, modifier, edit(held));
    }

    /// The ports that a directed route from a host to a device leaves by.
    fn path(&self, from: PortId, to: NodeId) -> Vec<PortNum> {
        let mut reached = vec![(self.fabric.port(from).node, Vec::new())];
        let mut next = 0;
        while next < reached.len() {
            let (node, path) = reached[next].clone();
            if node == to {
                return path;
            }
            let outs: Vec<PortId> = self
                .fabric
                .ports_of(node)
                .filter(|&port| node != self.fabric.port(from).node || port == from)
                .collect();
            for port in outs {
                let Some(far) = self.fabric.neighbour(port) else { continue };
                if reached.iter().all(|(known, _)| *known != far) {
                    let mut path = path.clone();
                    path.push(self.fabric.port(port).num);
                    reached.push((far, path));
                }
            }
            next += 1;
        }
        panic!("no way leads there")
    }

    /// The first port of a device that ends paths.
    pub fn port(&self, name: &str) -> PortId {
        let node = self.node(name);
        self.fabric.lid_ports().find(|&port| self.fabric.port(port).node == node).expect("it has LIDs")
    }

    pub fn node(&self, name: &str) -> NodeId {
        named(&self.fabric, name)
    }

    /// Whether data that one host sends comes to another: through ACTIVE ports, by the entries that switches hold.
    pub fn leads(&self, from: PortId, to: PortId) -> bool {
        let lid = self.transport.with(|sim| sim.port_lid(to));
        if lid.0 == 0 {
            return false;
        }
        let is_active = |port: PortId| self.transport.with(|sim| sim.port_state(port)) == PortState::Active;
        let mut out = from;
        for _ in 0..16 {
            let Some(next) = self.fabric.peer(out) else { return false };
            if !is_active(out) || !is_active(next) {
                return false;
            }
            if next == to {
                return true;
            }
            let switch = self.fabric.port(next).node;
            // Where a LID is held twice, the way may end at the other one that holds it.
            if !self.fabric.node(switch).is_switch() {
                return false;
            }
            let Some(num) = self.transport.with(|sim| sim.output(switch, lid)) else { return false };
            let Some(port) = self.fabric.port_at(switch, num).filter(|_| num != PortNum::ZERO) else { return false };
            out = port;
        }
        false
    }

    /// Pairs of hosts, none of them in `but`, of which one does not reach the other.
    pub fn unreached(&self, but: &[NodeId]) -> Vec<(PortId, PortId)> {
        let hosts: Vec<PortId> =
            self.fabric.end_ports().filter(|&port| !but.contains(&self.fabric.port(port).node)).collect();
        let pairs = hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to)));
        pairs.filter(|&(from, to)| from != to && !self.leads(from, to)).collect()
    }

    /// The ports of a switch that are cabled to other switches.
    pub fn uplinks(&self, switch: &str) -> Vec<PortId> {
        let leads_up = |port: &PortId| {
            let next = self.fabric.neighbour(*port);
            next.is_some_and(|next| self.fabric.node(next).is_switch())
        };
        self.fabric.ports_of(self.node(switch)).filter(leads_up).collect()
    }

    /// The hosts on a switch.
    pub fn hosts_on(&self, switch: NodeId) -> Vec<NodeId> {
        let next = self.fabric.ports_of(switch).filter_map(|port| self.fabric.neighbour(port));
        next.filter(|&next| !self.fabric.node(next).is_switch()).collect()
    }
}

pub fn named(fabric: &Fabric, name: &str) -> NodeId {
    let found = fabric.nodes().find(|(_, node)| node.description.trim() == name);
    found.unwrap_or_else(|| panic!("no node is called {name}")).0
}
