//! One subnet under traffic, and managers that come and are killed.

use reconfig::change::RecoveryWay;
use reconfig::driver::Running;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, Half, Lid, Lmc, PortNum, Sl, Vl};
use reconfig::journal::Journal;
use reconfig::lid;
use reconfig::plan::{Arming, Policy, sl_to_vl_pairs};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::sim::{Halt, PacketCounts, SickAttribute, Sim, SimConfig, SimTransport, StandingLane};
use reconfig::sm::election::{ElectionRules, Rank};
use reconfig::sm::lifecycle::LifecycleState;
use reconfig::sm::{
    self, AgeLimits, Config, Context, Degraded, Happening, Mailbox, ManagerOrder, OrderAnswer, OrderId, RunUntil,
    SharedMailbox, SharedResponder, SubnetArrival, SubnetElement, Takeover,
};
use reconfig::subnet::{DeviceProfile, DeviceSettings, Manager, Respond, SourceControl, Timing};
use reconfig::tables::{SlToVl, SubnetTables};
use reconfig::transport::{AnyTransport, Datagram, Transport, TransportError};
use reconfig::wire::sa::{ComponentMask, PathRecord, Record, SaMad};
use reconfig::wire::{AttributeId, Method, SlToVlMappingTable, SlToVlModifier, status};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Waker};
use tempfile::TempDir;

/// How long a manager must have been idle, in simulated nanoseconds, to be at rest.
const QUIET_NS: u64 = 3_000_000;
/// What nobody needs: whoever is not at rest by then never will be. A change that stands still is given up after a
/// minute.
const LIMIT_NS: u64 = 200_000_000_000;
/// The same where MADs are lost: a device that is asked one thing after the other answers each only after seconds.
const LIMIT_UNDER_LOSS_NS: u64 = 10 * LIMIT_NS;
const DATA_VLS: u8 = 4;
/// Hosts have ways to each other, and SL-to-VL tables are still to be replaced.
pub const HOSTS_UP: &str = "hosts-up";

/// A subnet, and how its manager is to react.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub topology: &'static str,
    /// By entries alone where that is proved; else by `double`.
    pub auto: bool,
    /// Whether hosts are fenced and must ask, as with standard devices; else agents move them.
    pub fenced: bool,
    pub load: f64,
    /// The share of MADs that are lost.
    pub loss: f64,
    pub seed: u64,
    /// Whether to wait until a sweep would have told what no trap has: a device whose trap nobody answered sends the
    /// next one late.
    pub patient: bool,
    /// Port states while tables are installed and sources are told.
    pub arming: Arming,
}

/// What happens to a subnet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorldEvent {
    Dies(NodeId),
    Revives(NodeId),
    Unplugged(PortId),
    Plugged(PortId),
    /// Its link fails and trains again.
    Bounces(PortId),
    /// It is switched off and on, and has lost every table.
    Restarts(NodeId),
    /// A user orders it away.
    Removed(NodeId),
    /// A user wants it back.
    TakenBack(NodeId),
    /// Its agent fails at an attribute from now on.
    Sickens(NodeId, SickAttribute),
    /// Its agent serves all of them again.
    Heals(NodeId),
}

/// What devices hold of all that a change writes, by GUIDs: managers number what they find in their own order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// By switch: the outputs of all LIDs whose owners are there.
    outputs: BTreeMap<Guid, BTreeMap<Lid, Option<PortNum>>>,
    /// By device, input and output.
    lanes: BTreeMap<(Guid, PortNum, PortNum), SlToVl>,
}

impl Held {
    /// What devices would hold of tables.
    pub fn of(fabric: &Fabric, tables: &SubnetTables) -> Held {
        let output = |switch: NodeId, lid: Lid| tables.lfts[switch.index()].get(lid);
        let table = |node: NodeId, (input, output)| *tables.sl_to_vl[node.index()].get(input, output);
        Held::read(fabric, output, table)
    }

    fn read(
        fabric: &Fabric,
        mut output: impl FnMut(NodeId, Lid) -> Option<PortNum>,
        mut table: impl FnMut(NodeId, (PortNum, PortNum)) -> SlToVl,
    ) -> Held {
        let is_there =
            |lid: &Lid| fabric.lid_owner(*lid).is_some_and(|owner| fabric.node(fabric.port(owner).node).present);
        let lids: Vec<Lid> = (1..=fabric.max_lid().expect("LIDs").0).map(Lid).filter(is_there).collect();
        let mut held = Held::default();
        for (id, node) in fabric.nodes().filter(|(_, node)| node.present) {
            if node.is_switch() {
                held.outputs.insert(node.guid, lids.iter().map(|&lid| (lid, output(id, lid))).collect());
            }
            for pair in sl_to_vl_pairs(fabric, id) {
                held.lanes.insert((node.guid, pair.0, pair.1), table(id, pair));
            }
        }
        held
    }

    /// Whether a packet that leaves a switch comes to a LID.
    pub fn leads(&self, fabric: &Fabric, mut switch: NodeId, dlid: Lid) -> bool {
        let owner = fabric.lid_owner(dlid).map(|port| fabric.port(port).node);
        for _ in 0..=fabric.node_count() {
            let output = self.outputs.get(&fabric.node(switch).guid).and_then(|outputs| *outputs.get(&dlid)?);
            let port = output.and_then(|output| fabric.port_at(switch, output));
            let Some(next) = port.and_then(|port| fabric.neighbour(port)) else { return false };
            if Some(next) == owner {
                return true;
            }
            if !fabric.node(next).is_switch() {
                return false;
            }
            switch = next;
        }
        false
    }

    /// In what two of them differ, for messages.
    pub fn differences(&self, other: &Held) -> Vec<String> {
        let outputs = self.outputs.iter().flat_map(|(guid, outputs)| {
            let others = other.outputs.get(guid).cloned().unwrap_or_default();
            let differing = outputs.iter().filter(move |&(lid, port)| others.get(lid) != Some(port));
            differing.map(move |(lid, port)| format!("{guid} {lid:?}: {port:?}"))
        });
        let lanes = self.lanes.iter().filter(|(place, table)| other.lanes.get(place) != Some(table));
        outputs
            .chain(lanes.map(|(place, table)| format!("{place:?}: {table:?}, {:?}", other.lanes.get(place))))
            .collect()
    }

    /// The devices that have another SL-to-VL table than this, SL 15 apart.
    pub fn on_other_lanes(&self, lane: fn(Sl) -> Vl) -> BTreeSet<Guid> {
        let is_other = |table: &SlToVl| Sl::all().any(|sl| sl != Sl::MAX && table.get(sl) != lane(sl));
        self.lanes.iter().filter(|(_, table)| is_other(table)).map(|((guid, ..), _)| *guid).collect()
    }

    /// The devices that discard a level: at rest, no manager closes any.
    pub fn closed(&self) -> BTreeSet<Guid> {
        self.lanes.iter().filter(|(_, table)| table.discards()).map(|((guid, ..), _)| *guid).collect()
    }
}

/// How a manager's life ended.
#[derive(Default)]
pub struct Life {
    /// How the subnet came under it; none if it was killed before.
    pub arrival: Option<&'static str>,
    /// Whether it kept hosts from sending on one half until the subnet was recovered.
    pub closed_a_half: bool,
    /// The outcomes of its changes.
    pub changes: Vec<String>,
    /// What its orders came to.
    pub answers: Vec<String>,
    /// What failed on its way.
    pub failures: Vec<String>,
    /// MADs that it sent since the event, or since its start.
    pub sent: usize,
    /// From the first event to the last thing that happened.
    pub took_ns: u64,
    /// The MADs before which its journal grew.
    pub records: BTreeSet<usize>,
    /// The subnet as it knows it.
    pub running: Option<Arc<Running>>,
    /// What still answers clients when it is at rest.
    pub responder: Option<SharedResponder>,
    /// What it has set aside.
    pub aside: Vec<String>,
    /// The end ports whose clients it asked to register again, where hosts have agents.
    pub registered: BTreeSet<PortId>,
    /// What devices fail at, in words.
    pub degraded: Vec<String>,
    /// The halves that the SA answered with, one after the other.
    pub answered: Vec<Half>,
    /// How many events were done.
    pub events: usize,
    /// The states that its changes entered, and when.
    pub entered: Vec<(&'static str, u64)>,
    /// MADs that it had sent when the first event during something was done, and when each of its changes had ended.
    pub amid_at: Option<usize>,
    pub changed_at: Vec<usize>,
    /// When it first wrote a forwarding or an SL-to-VL table, counted as the MADs are.
    pub first_table_ns: Option<u64>,
    /// How often it had asked for the half that a host sends on, before it wrote such a table.
    pub halves_asked: usize,
    /// The state of its election at the end.
    pub role: &'static str,
    pub was_killed: bool,
}

impl Life {
    /// Whether its changes, as far as they came, moved hosts to the other half of their LIDs.
    pub fn moved_hosts(&self) -> bool {
        self.entered.iter().any(|(state, _)| ["swapping", "moving", "draining", "restoring"].contains(state))
    }

    /// The path that the SA names from one end port to another of the fabric as the manager knows it.
    ///
    /// # Errors
    /// The status of its refusal.
    pub fn path(&self, from: PortId, to: PortId) -> Result<PathRecord, u16> {
        let fabric = &self.running.as_ref().expect("it is up").routed;
        let lid = |port: PortId| fabric.port(port).lid.expect("an end port");
        let components = [PathRecord::SLID, PathRecord::DLID, PathRecord::NUMB_PATH];
        let asked = PathRecord { slid: lid(from), dlid: lid(to), numb_path: 1, ..PathRecord::default() };
        let mad = SaMad::request(Method::Get, ComponentMask::of(&components), &asked);
        let datagram = Datagram { lid: lid(from), from: None, qp: 1, sl: Sl::default(), bytes: Box::new(mad.encode()) };
        let responder = self.responder.as_ref().expect("it is up");
        let answers = responder.borrow_mut().take(&datagram, 0).expect("the master answers");
        let [answer] = &answers[..] else { panic!("{} answers", answers.len()) };
        let answer = SaMad::decode(&answer.bytes).expect("an answer");
        if answer.status == status::SUCCESS { Ok(PathRecord::from_data(&answer.data)) } else { Err(answer.status) }
    }

    fn note(&mut self, happening: Happening) {
        match happening {
            Happening::Up { arrival, .. } => {
                self.arrival = Some(arrival.name());
                let closes = |way: &_| matches!(way, RecoveryWay::Close | RecoveryWay::CloseFirst);
                self.closed_a_half |= matches!(&arrival, SubnetArrival::Recovered { way, .. } if closes(way));
            }
            // Who is killed before the subnet is up has closed it all the same.
            Happening::Begun { why } => {
                let closing = [RecoveryWay::Close, RecoveryWay::CloseFirst];
                self.closed_a_half |= closing.iter().any(|way| why == way.in_words());
            }
            Happening::Changed(record) => self.changes.push(format!("{:?}", record.outcome)),
            Happening::Failed(why) => self.failures.push(why),
            Happening::Answered(_, answer) => self.answers.push(answer_in_words(&answer)),
            _ => {}
        }
    }
}

/// Without the subnet, which is long.
impl std::fmt::Debug for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Life { arrival, changes, answers, failures, sent, was_killed, .. } = self;
        write!(f, "{arrival:?}, {sent} sent, killed {was_killed}, ")?;
        write!(f, "changes {changes:?}, answers {answers:?}, failures {failures:?}")
    }
}

/// When a manager is killed, counted from the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Death {
    Never,
    /// Before it sends this MAD, from 0.
    Before(usize),
    /// Once it has announced a change, or how it mends the subnet, or that it cannot.
    OnceAnnounced,
    /// Once it has written the first forwarding or SL-to-VL tables, several in a row.
    OnceWritten,
    /// With the first event of [`World::amid`].
    Amid,
}

/// A manager at a port.
struct Reign {
    port: PortId,
    attached: SimTransport,
    fate: Rc<RefCell<Fate>>,
    mailbox: SharedMailbox,
    responder: SharedResponder,
    running: Pin<Box<dyn Future<Output = Result<(), sm::SmError>>>>,
}

impl Reign {
    /// Lets it do what it can now.
    fn poll(&mut self) {
        let mut polls = task::Context::from_waker(Waker::noop());
        assert!(self.running.as_mut().poll(&mut polls).is_pending(), "the manager ends by itself");
    }

    /// The state of its election.
    fn role(&self) -> &'static str {
        self.responder.borrow().state().name()
    }
}

pub struct World {
    pub fabric: Fabric,
    pub root: NodeId,
    pub sm: PortId,
    pub setting: Setting,
    /// What managers do with tables that they cannot mend with a proof.
    pub takeover: Takeover,
    /// By when a manager must be at rest, in simulated nanoseconds from its start.
    pub limit_ns: u64,
    transport: SimTransport,
    folder: TempDir,
    dead: RefCell<(BTreeSet<NodeId>, BTreeSet<PortId>)>,
    /// What was ordered away.
    aside: RefCell<BTreeSet<NodeId>>,
    /// What has been sick: a manager may have left it out, until it tries it again.
    sick: RefCell<BTreeSet<NodeId>>,
    /// Whether every end port was linked with the manager's all the time, and nothing came back.
    is_whole: Cell<bool>,
    /// Deeds so many nanoseconds after a change enters a state, once each.
    amid: RefCell<Vec<(&'static str, u64, WorldEvent)>>,
    /// The manager that stands by, if one does.
    standby: RefCell<Option<Reign>>,
}

impl World {
    /// A subnet that runs by `up-down`, under traffic.
    pub fn new(setting: Setting) -> World {
        let topology = setting.topology.parse::<Topology>().expect("a topology");
        let plain = generate(&topology, &Options::default()).expect("it exists");
        let fabric = lid::assign(&plain.with_capabilities(DATA_VLS, true), Lmc::masked(1)).expect("LIDs enough");
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("it is connected");
        let root = function.root().expect("up*/down* has one");
        let tables = lid::bring_up(&fabric, &function, DATA_VLS);
        let sm = fabric.end_ports().find(|&port| fabric.neighbour(port) != Some(root)).expect("a host elsewhere");
        let Setting { load, loss: smp_loss, seed, .. } = setting;
        let config = SimConfig { load, smp_loss, seed, replies: 0.3, ..sim_config(setting.fenced) };
        let mut sim = Sim::new(&fabric, config, sm).expect("it can be simulated");
        for (switch, block, entries) in tables.lft_blocks(&fabric) {
            sim.load_lft_block(switch, block, &entries);
        }
        sim.load_half(Half::Lower);
        sim.load_master_sm(fabric.port(sm).lid.expect("assigned"), Half::Lower.sls().next().expect("eight"));
        if setting.load > 0.0 {
            sim.start();
        }
        let transport = SimTransport::new(sim);
        let folder = tempfile::Builder::new().prefix("reconfig-crashes-").tempdir().expect("room");
        let (dead, aside, sick) = (RefCell::default(), RefCell::default(), RefCell::default());
        let is_whole = Cell::new(true);
        let (amid, standby) = (RefCell::default(), RefCell::default());
        let takeover = Takeover::default();
        let limit_ns = if setting.loss == 0.0 { LIMIT_NS } else { LIMIT_UNDER_LOSS_NS };
        World {
            fabric,
            root,
            sm,
            setting,
            takeover,
            limit_ns,
            transport,
            folder,
            dead,
            aside,
            sick,
            is_whole,
            amid,
            standby,
        }
    }

    /// Gives every pair of ports a table that no manager of ours leaves.
    pub fn load_lanes(&self, lane: fn(Sl) -> Vl) {
        let nodes = self.fabric.nodes().map(|(id, _)| id);
        self.transport.with(|sim| nodes.for_each(|node| sim.load_sl_to_vl(node, lane)));
    }

    /// Has something happen so many nanoseconds after a change has entered a state, or after [`HOSTS_UP`].
    pub fn amid(&self, state: &'static str, delay_ns: u64, event: WorldEvent) {
        self.amid.borrow_mut().push((state, delay_ns, event));
    }

    /// The journal of the manager at the first port.
    pub fn journal_path(&self) -> PathBuf {
        self.folder.path().join("sm.journal")
    }

    /// Opens that journal as a manager does.
    pub fn journal(&self) -> Journal {
        Journal::open(&self.journal_path(), 0).expect("it can be opened").0
    }

    /// A host whose port is elsewhere than the manager's, on another switch.
    pub fn other_port(&self) -> PortId {
        let own = self.fabric.neighbour(self.sm);
        let is_other = |port: &PortId| ![own, Some(self.root)].contains(&self.fabric.neighbour(*port));
        self.fabric.end_ports().find(is_other).expect("another host")
    }

    /// Runs a manager at a port until it is at rest or killed. Deeds begin when it is first at rest, each so many
    /// nanoseconds after the one before; its death counts from the first of them, if there are any.
    pub fn manage(&self, port: PortId, journal: Option<Journal>, events: &[(u64, WorldEvent)], death: Death) -> Life {
        self.follow(self.begin(port, journal), events, death)
    }

    /// Has a manager at another port stand by while one manages.
    pub fn stand_by(&self, port: PortId) {
        self.transport.with(|sim| [self.sm, port].iter().for_each(|&port| sim.stand_by(port)));
        self.standby.replace(Some(self.begin(port, None)));
    }

    /// Runs the manager that stood by until it is at rest.
    pub fn succeed(&self) -> Life {
        let standby = self.standby.take().expect("one stands by");
        self.follow(standby, &[], Death::Never)
    }

    fn begin(&self, port: PortId, journal: Option<Journal>) -> Reign {
        let attached = self.transport.attach_another(port).expect("a host");
        let fate = Rc::new(RefCell::new(Fate::new(Death::Never, self.journal_path())));
        let mortal = Mortal { inner: attached.clone(), fate: fate.clone() };
        let mailbox = Mailbox::new(false);
        let manager = Manager::new(Box::new(mortal) as AnyTransport, self.timing(), 0);
        let context = self.context(port, mailbox.clone(), journal);
        let responder = context.responder.clone();
        let running = Box::pin(sm::run(manager, context, RunUntil::Stopped));
        Reign { port, attached, fate, mailbox, responder, running }
    }

    fn follow(&self, mut reign: Reign, events: &[(u64, WorldEvent)], death: Death) -> Life {
        let Reign { port, attached, fate, mailbox, responder, .. } = &reign;
        let (port, attached, fate) = (*port, attached.clone(), fate.clone());
        let (mailbox, responder) = (mailbox.clone(), responder.clone());
        if events.is_empty() {
            fate.replace(Fate::new(death, self.journal_path()));
        }
        let mut life = Life::default();
        self.transport.with(Sim::take_reregistered);
        let (mut busy_ns, mut orders, mut due_ns) = (self.now_ns(), BTreeSet::new(), None);
        let mut begun_ns = None;
        let mut next: Vec<(u64, WorldEvent)> = Vec::new();
        // A trap that was lost is repeated after a second, and one that nobody answered holds back the next; light
        // sweeps come once a second too. Only an order is soon enough.
        let mut is_to_sweep = self.setting.patient;
        let end_ns = busy_ns + self.limit_ns;
        loop {
            reign.poll();
            let standby = &mut *self.standby.borrow_mut();
            if let Some(standby) = standby {
                standby.poll();
            }
            let happenings: Vec<_> = mailbox.borrow_mut().happenings().collect();
            for (now_ns, happening) in happenings {
                busy_ns = now_ns;
                match &happening {
                    Happening::Answered(id, _) => {
                        orders.remove(id);
                    }
                    Happening::Begun { .. } | Happening::Failed(_) if death == Death::OnceAnnounced => {
                        fate.borrow_mut().dies_now()
                    }
                    Happening::Entered { state, .. } => life.entered.push((state, now_ns)),
                    Happening::Changed(_) => life.changed_at.push(fate.borrow().sent),
                    _ => {}
                }
                let reached = match &happening {
                    Happening::Entered { state } => Some(*state),
                    Happening::HostsUp => Some(HOSTS_UP),
                    _ => None,
                };
                if let Some(reached) = reached {
                    let mut amid = self.amid.borrow_mut();
                    let due = amid.extract_if(.., |(at, ..)| *at == reached);
                    next.extend(due.map(|(_, ns, event)| (now_ns + ns, event)));
                }
                life.note(happening);
            }
            let half = responder.borrow().answered_half();
            life.answered.extend(half.filter(|half| life.answered.last() != Some(half)));
            let now_ns = self.now_ns();
            let is_at_rest = is_idle(&mailbox, &life)
                && life.arrival.is_some()
                && now_ns >= busy_ns + QUIET_NS
                && standby.as_ref().is_none_or(|standby| standby.role() == "standby");
            let seen_from = standby.as_ref().map_or(port, |standby| standby.port);
            life.was_killed = fate.borrow().is_dead;
            if is_at_rest && life.events == events.len() && std::mem::take(&mut is_to_sweep) {
                orders.insert(mailbox.borrow_mut().order(ManagerOrder::Sweep));
                busy_ns = now_ns;
            }
            if life.was_killed || is_at_rest && life.events == events.len() && orders.is_empty() {
                life.role = reign.role();
                drop(reign);
                attached.hang_up();
                let view = &mailbox.borrow().view;
                (life.running, life.aside) = (view.running.clone(), view.aside.clone());
                life.degraded = view.degraded.iter().map(Degraded::in_words).collect();
                life.responder = Some(responder);
                life.registered = self.transport.with(Sim::take_reregistered).into_iter().collect();
                life.first_table_ns = fate.borrow().first_table_ns;
                life.halves_asked = fate.borrow().halves_asked;
                (life.sent, life.records) = fate.take().counts();
                life.took_ns = begun_ns.map_or(0, |begun_ns| busy_ns - begun_ns);
                return life;
            }
            if let (None, true, Some((delay_ns, _))) = (due_ns, is_at_rest, events.first()) {
                due_ns = Some(now_ns + delay_ns);
                fate.replace(Fate::new(death, self.journal_path()));
            }
            if let (Some((_, event)), true) = (events.get(life.events), due_ns.is_some_and(|due_ns| now_ns >= due_ns)) {
                life.events += 1;
                busy_ns = now_ns;
                begun_ns.get_or_insert(now_ns);
                due_ns = Some(events.get(life.events).map_or(u64::MAX, |(delay_ns, _)| now_ns + delay_ns));
                orders.extend(self.act(*event, seen_from, &mailbox));
            }
            for (_, event) in next.extract_if(.., |(at_ns, _)| *at_ns <= now_ns) {
                busy_ns = now_ns;
                life.amid_at.get_or_insert(fate.borrow().sent);
                orders.extend(self.act(event, seen_from, &mailbox));
                if death == Death::Amid {
                    fate.borrow_mut().dies_now();
                }
            }
            assert!(now_ns < end_ns, "never at rest: {life:?}, {:?}", mailbox.borrow().lifecycle());
            // Not past the moment at which it is at rest, if nothing happens until then.
            let rest_ns = (busy_ns + QUIET_NS).max(now_ns + 100_000);
            let rest_ns = next.iter().map(|(at_ns, _)| *at_ns).fold(rest_ns, u64::min);
            let rest_ns = standby.as_ref().map_or(rest_ns, |standby| rest_ns.min(standby.attached.waits_until_ns()));
            let halt = attached.advance(due_ns.map_or(rest_ns, |due_ns| due_ns.max(now_ns).min(rest_ns)));
            assert_ne!(halt, Halt::Deadlock, "deadlock");
        }
    }

    /// What `reconfig rescue --clear` does from a port: opens every table that discards a level; how many it found, and
    /// what did not take its table.
    pub fn rescue(&self, port: PortId) -> (usize, Vec<String>) {
        let attached = self.transport.attach_another(port).expect("a host");
        let mut manager = Manager::new(Box::new(attached.clone()) as AnyTransport, self.timing(), 0);
        let mut rescuing = Box::pin(async move {
            let found = sm::rescue::find_closed(&mut manager).await?;
            let rest = sm::rescue::open_closed(&mut manager, &found).await?;
            Ok::<_, sm::SmError>((found.closed.len(), rest))
        });
        let mut polls = task::Context::from_waker(Waker::noop());
        loop {
            if let task::Poll::Ready(done) = rescuing.as_mut().poll(&mut polls) {
                drop(rescuing);
                attached.hang_up();
                return done.expect("the subnet can be swept");
            }
            assert_ne!(attached.advance(self.now_ns() + 1_000_000), Halt::Deadlock, "deadlock");
        }
    }

    /// Carries out an event; returns the order, if it is one. What is not linked with `seen_from` counts as cut off.
    fn act(&self, event: WorldEvent, seen_from: PortId, mailbox: &SharedMailbox) -> Option<OrderId> {
        let named = |node: NodeId| SubnetElement::Switch(self.fabric.node(node).guid.to_string());
        let order = match event {
            WorldEvent::Dies(node) => {
                self.dead.borrow_mut().0.insert(node);
                self.transport.with(|sim| sim.kill(node));
                None
            }
            WorldEvent::Revives(node) => {
                self.dead.borrow_mut().0.remove(&node);
                self.switch_on(node);
                None
            }
            WorldEvent::Restarts(node) => {
                if !self.dead.borrow().0.contains(&node) {
                    self.transport.with(|sim| sim.kill(node));
                    self.switch_on(node);
                }
                None
            }
            WorldEvent::Sickens(node, sick) => {
                self.sicken(node, sick);
                None
            }
            WorldEvent::Heals(node) => {
                self.transport.with(|sim| sim.heal_node(node));
                None
            }
            WorldEvent::Unplugged(port) => {
                self.dead.borrow_mut().1.insert(port);
                self.transport.with(|sim| sim.kill(port));
                None
            }
            WorldEvent::Plugged(port) => {
                self.dead.borrow_mut().1.remove(&port);
                self.transport.with(|sim| sim.revive(port));
                None
            }
            WorldEvent::Bounces(port) => {
                let is_there = !self.dead.borrow().1.contains(&port);
                self.transport.with(|sim| {
                    sim.kill(port);
                    if is_there {
                        sim.revive(port);
                    }
                });
                None
            }
            WorldEvent::Removed(node) => {
                let order = ManagerOrder::SetAside { element: named(node), dry_run: false, cut_off_meant: true };
                self.aside.borrow_mut().insert(node);
                Some(order)
            }
            WorldEvent::TakenBack(node) => {
                self.aside.borrow_mut().remove(&node);
                Some(ManagerOrder::TakeBack(named(node)))
            }
        };
        let aside: Vec<NodeId> = self.aside.borrow().iter().copied().collect();
        let rest = self.alive().without_nodes(&aside);
        let reached = reached(&rest, seen_from);
        let cut_off: Vec<_> =
            self.fabric.end_ports().filter(|port| !reached.contains(&rest.port(*port).node)).collect();
        self.transport.with(|sim| sim.omit(&cut_off));
        // A port that comes back discards until it is set up, which is a failure's loss too, though its cable is there.
        if comes_back(event) {
            self.is_whole.set(false);
        }
        order.map(|order| mailbox.borrow_mut().order(order))
    }

    /// Has a device's agent fail at an attribute from now on.
    pub fn sicken(&self, node: NodeId, sick: SickAttribute) {
        self.sick.borrow_mut().insert(node);
        self.transport.with(|sim| sim.sicken_node(node, sick));
    }

    /// Switches a device off and on while no manager is there; not one that has died and not come back. Whether it did.
    pub fn switch_off_and_on(&self, node: NodeId) -> bool {
        if self.dead.borrow().0.contains(&node) {
            return false;
        }
        self.transport.with(|sim| sim.kill(node));
        self.pass(50_000);
        self.switch_on(node);
        self.is_whole.set(false);
        true
    }

    /// A device comes back with all its cables, but for what is unplugged.
    fn switch_on(&self, node: NodeId) {
        self.transport.with(|sim| {
            sim.revive(node);
            self.dead.borrow().1.iter().for_each(|&port| sim.kill(port));
        });
    }

    /// Where packets are.
    pub fn standing(&self) -> Vec<StandingLane> {
        self.transport.with(|sim| sim.still_under_way(&sim.under_way(true)))
    }

    /// Whether no port ever came back.
    pub fn was_whole(&self) -> bool {
        self.is_whole.get()
    }

    /// The folder with the journal, when the world is no longer needed.
    pub fn into_folder(self) -> TempDir {
        self.folder
    }

    /// Lets time pass without a manager.
    pub fn pass(&self, ns: u64) {
        let end_ns = self.now_ns() + ns;
        while self.now_ns() < end_ns {
            assert_ne!(self.transport.with(|sim| sim.run(end_ns, false)), Halt::Deadlock, "deadlock");
        }
    }

    /// Lets everything arrive; what became of all packets.
    pub fn packets(&self) -> PacketCounts {
        self.transport.with(Sim::stop_sources);
        self.pass(20_000_000);
        self.transport.with(|sim| sim.packets())
    }

    /// Begins a period of measurement.
    pub fn begin_period(&self) {
        self.transport.with(Sim::begin_period);
    }

    /// The longest time without a delivery in the last period of measurement.
    pub fn longest_gap_ns(&self) -> u64 {
        self.transport.with(|sim| sim.longest_gap_ns(sim.periods().len() - 1))
    }

    /// What is there of the fabric.
    fn alive(&self) -> Fabric {
        let (nodes, links) = &*self.dead.borrow();
        let nodes: Vec<_> = nodes.iter().copied().collect();
        let links: Vec<_> = links.iter().copied().collect();
        self.fabric.without_links(&links).without_nodes(&nodes)
    }

    /// What is there, and linked with a port.
    pub fn within_reach(&self, port: PortId) -> Fabric {
        let alive = self.alive();
        let reached = reached(&alive, port);
        let others: Vec<_> = alive.nodes().map(|(id, _)| id).filter(|id| !reached.contains(id)).collect();
        alive.without_nodes(&others)
    }

    /// What is linked with a port by what has never been sick: no manager may leave that out.
    pub fn owed(&self, port: PortId) -> Fabric {
        let sick: Vec<_> = self.sick.borrow().iter().copied().collect();
        let healthy = self.alive().without_nodes(&sick);
        let reached = reached(&healthy, port);
        let others: Vec<_> = healthy.nodes().map(|(id, _)| id).filter(|id| !reached.contains(id)).collect();
        healthy.without_nodes(&others)
    }

    /// Whether nothing has been sick.
    pub fn was_healthy(&self) -> bool {
        self.sick.borrow().is_empty()
    }

    /// What the devices hold that are linked with a port.
    pub fn held(&self, port: PortId) -> Held {
        self.held_of(&self.within_reach(port))
    }

    /// What the devices of a part of the fabric hold; those that are sick get well, since they may not tell.
    pub fn held_of(&self, alive: &Fabric) -> Held {
        self.transport.with(|sim| {
            self.sick.borrow().iter().for_each(|&node| sim.heal_node(node));
            let sim = RefCell::new(sim);
            let table = |node: NodeId, (input, output): (PortNum, PortNum)| {
                let (port, modifier) = match alive.node(node).is_switch() {
                    true => (alive.port_at(node, output), SlToVlModifier::Pair { input, output }.encode()),
                    false => (alive.port_at(node, output), 0),
                };
                let (port, attribute) = (port.expect("cabled"), AttributeId::SlToVlMappingTable);
                let read = sim.borrow_mut().attribute(port, attribute, modifier).expect("it has lanes");
                SlToVl(SlToVlMappingTable::decode(&read).0)
            };
            Held::read(alive, |switch, lid| sim.borrow().output(switch, lid), table)
        })
    }

    fn now_ns(&self) -> u64 {
        self.transport.with(|sim| sim.now_ns())
    }

    fn timing(&self) -> Timing {
        let profile = if self.setting.fenced { DeviceProfile::Standard } else { DeviceProfile::Agents };
        let settings = DeviceSettings { sources: self.sources(), ..profile.settings() };
        profile.timing(&settings, self.fabric.node_count())
    }

    fn sources(&self) -> SourceControl {
        if self.setting.fenced { SourceControl::Fenced { settle_ns: 1_000_000 } } else { SourceControl::ByAgent }
    }

    fn context(&self, port: PortId, mailbox: SharedMailbox, journal: Option<Journal>) -> Context {
        let profile = if self.setting.fenced { DeviceProfile::Standard } else { DeviceProfile::Agents };
        let policy = Policy { observer: profile.settings().observer, arming: self.setting.arming, ..Policy::default() };
        let config = Config {
            policy,
            auto: self.setting.auto,
            takeover: self.takeover,
            sources: self.sources(),
            data_vls: DATA_VLS,
            limits: AgeLimits { life_time_value: 8, hoq_life: 7, ..AgeLimits::default() },
            ..Config::by(Arc::new(UpDown::default()))
        };
        let guid = Guid(self.fabric.node(self.fabric.port(port).node).guid.0 + 1);
        let rules = ElectionRules { poll_ns: 1_000_000, ..ElectionRules::new(Rank { priority: 0, guid }) };
        // The simulation's clock outlives managers.
        Context { journal, ..Context::of(config, rules, mailbox) }
    }
}

fn sim_config(fenced: bool) -> SimConfig {
    match fenced {
        false => SimConfig::default(),
        true => SimConfig {
            limits_as_programmed: true,
            switch_lifetime_ns: 4096 << 8,
            hoq_lifetime_ns: 4096 << 7,
            queries_within_ns: 500_000,
            ..SimConfig::default()
        },
    }
}

/// Whether ports are in INITIALIZE after a event.
fn comes_back(event: WorldEvent) -> bool {
    matches!(event, WorldEvent::Revives(_) | WorldEvent::Plugged(_) | WorldEvent::Bounces(_) | WorldEvent::Restarts(_))
}

fn answer_in_words(answer: &OrderAnswer) -> String {
    match answer {
        OrderAnswer::Changed(record) => format!("{:?}", record.outcome),
        OrderAnswer::Planned { .. } => "planned".to_string(),
        other => format!("{other:?}"),
    }
}

fn is_idle(mailbox: &SharedMailbox, life: &Life) -> bool {
    match mailbox.borrow().lifecycle() {
        LifecycleState::Idle(unfinished) => unfinished.retry_ns.is_none(),
        // Until somebody makes room nothing can be recorded, and so nothing done.
        LifecycleState::Halted { .. } => life.changes.last().is_some_and(|change| change.contains("no storage space")),
        _ => false,
    }
}

/// The nodes that links join with a port's.
fn reached(fabric: &Fabric, from: PortId) -> BTreeSet<NodeId> {
    let mut reached = BTreeSet::from([fabric.port(from).node]);
    let mut open: Vec<NodeId> = reached.iter().copied().collect();
    while let Some(node) = open.pop() {
        let next = fabric.ports_of(node).filter_map(|port| fabric.neighbour(port));
        open.extend(next.filter(|node| fabric.node(*node).present && reached.insert(*node)));
    }
    reached
}

/// How far a manager has come, and when it dies.
#[derive(Default)]
struct Fate {
    sent: usize,
    /// When the first Set of a forwarding or an SL-to-VL table was sent.
    first_table_ns: Option<u64>,
    halves_asked: usize,
    dies_before: Option<usize>,
    dies_once_written: bool,
    is_dead: bool,
    journal: PathBuf,
    journal_len: u64,
    records: BTreeSet<usize>,
}

impl Fate {
    fn new(death: Death, journal: PathBuf) -> Fate {
        let dies_before = match death {
            Death::Never | Death::OnceAnnounced | Death::OnceWritten | Death::Amid => None,
            Death::Before(count) => Some(count),
        };
        let dies_once_written = death == Death::OnceWritten;
        Fate { dies_before, dies_once_written, journal_len: length(&journal), journal, ..Fate::default() }
    }

    fn dies_now(&mut self) {
        (self.dies_before, self.is_dead) = (Some(self.sent), true);
    }

    /// Whether it still sends a MAD.
    fn sends(&mut self, mad: &[u8; 256], now_ns: u64) -> bool {
        let len = length(&self.journal);
        if len != std::mem::replace(&mut self.journal_len, len) {
            self.records.insert(self.sent);
        }
        // The method, and the attribute: 0x19 is LinearForwardingTable, 0x17 SLtoVLMappingTable.
        let is_table = mad[3] == 2 && [0x17, 0x19].contains(&u16::from_be_bytes([mad[16], mad[17]]));
        self.is_dead = self.dies_before.is_some_and(|count| self.sent >= count)
            || self.dies_once_written && self.first_table_ns.is_some() && !is_table;
        self.sent += usize::from(!self.is_dead);
        let [method, attribute] = [u16::from(mad[3]), u16::from_be_bytes([mad[16], mad[17]])];
        if (method, attribute) == (1, AttributeId::ActiveHalf.into()) && self.first_table_ns.is_none() {
            self.halves_asked += 1;
        }
        if !self.is_dead && is_table {
            self.first_table_ns.get_or_insert(now_ns);
        }
        !self.is_dead
    }

    fn counts(self) -> (usize, BTreeSet<usize>) {
        (self.sent, self.records)
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

/// A port whose manager dies with a MAD in hand.
struct Mortal {
    inner: SimTransport,
    fate: Rc<RefCell<Fate>>,
}

#[async_trait::async_trait(?Send)]
impl Transport for Mortal {
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError> {
        let sends = self.fate.borrow_mut().sends(&datagram.bytes, self.now_ns());
        if !sends {
            std::future::pending::<()>().await;
        }
        self.inner.send(datagram).await
    }

    fn answers_to(&mut self, lmc: Lmc) {
        self.inner.answers_to(lmc);
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        self.inner.recv(until_ns).await
    }
}

/// Leaves only the first `keep` bytes of the last line of a file.
pub fn tear(path: &Path, keep: usize) {
    let bytes = std::fs::read(path).expect("a journal");
    let body = &bytes[..bytes.len() - 1];
    let begin = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    assert!(begin + keep < bytes.len(), "the line is longer");
    std::fs::write(path, &bytes[..begin + keep]).expect("room");
}
