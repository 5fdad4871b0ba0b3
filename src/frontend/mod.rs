//! The manager's interface to the outside: answers the control socket, feeds its listeners and the metrics, and
//! notifies the service's supervisor.
//!
//! [`Frontend::look`] takes events from the [`Mailbox`](crate::sm::Mailbox), passes them on, and answers requests that
//! have arrived; it never waits. [`Frontend::attend`] repeats that for ever, beside the manager's own future and on the
//! same thread. Its own state is what it has seen pass: counts, the last change, and for each pending order the place
//! to answer.

mod bounded;
pub mod control;
pub mod lid_file;
pub mod metrics;
pub mod prefix_file;
pub mod systemd;
pub mod web;

use self::control::{
    Answers, ChangeDone, ChangeOutcome, ChangeStanding, ChannelStatus, ControlEvent, ControlOrder, ControlRequest,
    EventFeed, EventKind, FabricStatus, Fault, GroupStatus, LidStatus, MissingStatus, NamedNode, OwnPort, PolicyStatus,
    Reply, STATUS_SCHEMA, SmpStatus, Status, SweepStatus,
};
use self::metrics::Metrics;
use crate::change;
use crate::driver::{ChangeRecord, Running};
use crate::fabric::Fabric;
use crate::ids::{Guid, Half, Lid, PortName};
use crate::machine::{ChangeProgress, Declined, Outcome};
use crate::sa::GroupCounts;
use crate::sm::lifecycle::LifecycleState;
use crate::sm::{
    GroupView, Happening, ManagerOrder, NO_GROUPS, OrderAnswer, OrderId, SharedMailbox, SharedResponder, SubnetArrival,
    SubnetElement, SubnetView,
};
use crate::subnet::SubnetEvent;
use crate::tables::RoutedBy;
use crate::wire::sa::SaAttributeId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Interval between two looks into the mailbox.
const LOOK: Duration = Duration::from_millis(20);
/// Interval between two updates of the metrics.
const MEASURE: Duration = Duration::from_secs(1);
/// Interval between two states that are shown, if something has happened; [`MEASURE`] otherwise.
const SHOW: Duration = Duration::from_millis(100);

/// How long a status waits for the use of channels.
const COUNTING: Duration = Duration::from_millis(10);

/// What begins the cause of an order to use an element again.
const TAKES_BACK: &str = "return of ";

/// The change machine's state before the first change.
const STEADY: &str = "steady";

/// The part of the status that is fixed when a manager starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticStatus {
    /// The port it manages from.
    pub port: OwnPort,
    /// The engine that computes routings.
    pub engine: String,
    /// The most data VLs in use.
    pub data_vls: u8,
    /// How changes are made.
    pub policy: PolicyStatus,
}

/// Sets the filter of the log at run time; an error states what is wrong with the filter.
pub type SetLog = Box<dyn FnMut(&str) -> Result<(), String>>;

/// What a page about a manager shows.
#[derive(Clone, Debug)]
pub struct LiveState {
    /// The status.
    pub status: Status,
    /// The subnet; none before it is up.
    pub running: Option<Arc<Running>>,
    /// Where the change under way stands, or one that stands still.
    pub progress: Option<ChangeProgress>,
    /// What has happened since the state before.
    pub events: Vec<ControlEvent>,
}

/// Who shows states, and what of the last one.
struct Shown {
    show: Box<dyn FnMut(LiveState)>,
    last: Option<Instant>,
    /// Wave and barriers passed of the change in it.
    stood: Option<(usize, usize)>,
    /// Events since.
    events: Vec<ControlEvent>,
}

/// The frontend of one manager.
pub struct Frontend {
    mailbox: SharedMailbox,
    fixed: StaticStatus,
    began: Instant,
    requests: Option<mpsc::UnboundedReceiver<ControlRequest>>,
    events: EventFeed,
    metrics: Option<Arc<Metrics>>,
    measured: Option<Instant>,
    shown: Option<Shown>,
    watchdog: systemd::Watchdog,
    set_log: Option<SetLog>,
    responder: Option<SharedResponder>,
    /// Pending orders: a description of each, and where to answer.
    waiting: BTreeMap<OrderId, (String, Answers)>,
    history: History,
    channels: RefCell<Option<CountedChannels>>,
}

/// The use of channels in one state of the subnet. A thread counts it: a thousand switches have millions of pairs, and
/// counting on the manager's thread would leave requests unanswered.
struct CountedChannels {
    of: Arc<Running>,
    counting: Receiver<ChannelStatus>,
    counted: Option<ChannelStatus>,
}

impl CountedChannels {
    fn begin(of: Arc<Running>) -> CountedChannels {
        let (sender, counting) = sync_channel(1);
        let running = of.clone();
        // The result is discarded if the subnet has changed meanwhile; without a thread nothing is counted.
        let count = move || drop(sender.send(ChannelStatus::of(&running)));
        if let Err(error) = std::thread::Builder::new().name("channels".to_string()).spawn(count) {
            tracing::warn!(%error, "no thread to count the use of channels");
        }
        CountedChannels { of, counting, counted: None }
    }

    /// What was counted; none until it was.
    fn so_far(&mut self) -> Option<ChannelStatus> {
        if self.counted.is_none() {
            self.counted = self.counting.recv_timeout(COUNTING).ok();
        }
        self.counted.clone()
    }
}

/// What the frontend has seen so far.
struct History {
    role: &'static str,
    arrival: Option<SubnetArrival>,
    routed_by: Option<RoutedBy>,
    change_state: &'static str,
    cause: String,
    sweeps: u64,
    last_heavy_ns: u64,
    traps: BTreeMap<String, u64>,
    changes: BTreeMap<String, u64>,
    last_change: Option<Box<ChangeDone>>,
    trouble: Option<String>,
}

impl Default for History {
    fn default() -> History {
        History {
            role: "discovering",
            arrival: None,
            routed_by: None,
            change_state: STEADY,
            cause: String::new(),
            sweeps: 0,
            last_heavy_ns: 0,
            traps: BTreeMap::new(),
            changes: BTreeMap::new(),
            last_change: None,
            trouble: None,
        }
    }
}

impl Frontend {
    /// A frontend without socket, metrics or log.
    pub fn new(mailbox: SharedMailbox, fixed: StaticStatus) -> Frontend {
        Frontend {
            mailbox,
            fixed,
            began: Instant::now(),
            requests: None,
            events: EventFeed::default(),
            metrics: None,
            measured: None,
            shown: None,
            watchdog: systemd::Watchdog::asked_for(),
            set_log: None,
            responder: None,
            waiting: BTreeMap::new(),
            history: History::default(),
            channels: RefCell::default(),
        }
    }

    /// Connects a control socket: answers its requests and sends events to its listeners.
    pub fn serves(&mut self, requests: mpsc::UnboundedReceiver<ControlRequest>, events: EventFeed) {
        (self.requests, self.events) = (Some(requests), events);
    }

    /// Keeps `metrics` up to date.
    pub fn measures(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    /// Calls `show` with the manager's state: every second, and sooner when something has happened. It is called on the
    /// manager's thread, so drawing is for another.
    pub fn shows(&mut self, show: Box<dyn FnMut(LiveState)>) {
        self.shown = Some(Shown { show, last: None, stood: None, events: Vec::new() });
    }

    /// Includes the SA's request counts in the status.
    pub fn counts(&mut self, responder: SharedResponder) {
        self.responder = Some(responder);
    }

    /// Sets the log's filter on request.
    pub fn sets_log(&mut self, set_log: SetLog) {
        self.set_log = Some(set_log);
    }

    /// Looks at the mailbox and the requests for ever; calls `on` for every event, for the log.
    pub async fn attend(&mut self, mut on: impl FnMut(u64, &Happening)) -> std::convert::Infallible {
        loop {
            self.look(&mut on);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Handles what has arrived, without waiting.
    pub fn look(&mut self, mut on: impl FnMut(u64, &Happening)) {
        let happened: Vec<(u64, Happening)> = self.mailbox.borrow_mut().happenings().collect();
        for (at_ns, happening) in happened {
            on(at_ns, &happening);
            self.pass_on(at_ns, happening);
        }
        // While another manager is master, it does not matter what this one could not do.
        let lifecycle = self.mailbox.borrow().lifecycle();
        if lifecycle.is_done() || lifecycle == LifecycleState::Standby {
            self.history.trouble = None;
        }
        while let Some(request) = self.requests.as_mut().and_then(|requests| requests.try_recv().ok()) {
            self.answer(request);
        }
        if self.metrics.is_some() && self.measured.is_none_or(|last| last.elapsed() >= MEASURE) {
            self.measured = Some(Instant::now());
            self.measure();
        }
        self.show();
        self.watchdog.notify();
    }

    /// Passes an event to listeners, to clients that wait for an order, and to the supervisor.
    fn pass_on(&mut self, at_ns: u64, happening: Happening) {
        if let Happening::Answered(order, answer) = happening {
            return self.answered(order, answer);
        }
        let Some(what) = self.translate(happening) else { return };
        let settled = match &what {
            EventKind::SubnetUp { .. } => true,
            EventKind::Role { role } => role == "standby",
            _ => false,
        };
        if settled {
            systemd::ready();
        }
        let event = ControlEvent::at(at_ns, what);
        for (_, answers) in self.waiting.values() {
            answers.event(event.clone());
        }
        systemd::status(&self.in_a_line());
        if let Some(shown) = &mut self.shown {
            shown.events.push(event.clone());
        }
        self.events.send(event);
    }

    /// Shows the state, if it is time for that.
    fn show(&mut self) {
        let Some(shown) = &self.shown else { return };
        let progress = self.mailbox.borrow().view.trail.progress();
        let stood = progress.as_ref().map(|progress| (progress.wave(), progress.passed()));
        let pause = if shown.events.is_empty() && shown.stood == stood { MEASURE } else { SHOW };
        if shown.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        let status = self.status();
        let Some(shown) = &mut self.shown else { return };
        let running = self.mailbox.borrow().view.running.clone();
        (shown.last, shown.stood) = (Some(Instant::now()), stood);
        (shown.show)(LiveState { status, running, progress, events: std::mem::take(&mut shown.events) });
    }

    /// An event as a message of the control socket; what the status shows of it is recorded.
    fn translate(&mut self, happening: Happening) -> Option<EventKind> {
        Some(match happening {
            Happening::HostsUp => EventKind::HostsUp,
            Happening::Up { arrival, routed_by } => {
                self.history.trouble = None;
                self.history.arrival = Some(arrival.clone());
                self.history.routed_by = routed_by;
                self.history.change_state = STEADY;
                let fabric =
                    self.running().map_or_else(FabricStatus::default, |running| FabricStatus::of(&running.alive));
                let why = arrival.why().map(str::to_string);
                EventKind::SubnetUp { fabric, arrival: arrival.name().to_string(), why }
            }
            Happening::Down => {
                (self.history.arrival, self.history.routed_by) = (None, None);
                self.history.change_state = STEADY;
                systemd::status(&self.in_a_line());
                return None;
            }
            Happening::Subnet(event) => self.noticed(event),
            Happening::Swept { length_ns, notices } => {
                self.history.sweeps += 1;
                self.history.last_heavy_ns = length_ns;
                EventKind::Swept { took_ns: length_ns, left_out: notices as u64 }
            }
            Happening::Begun { why } => {
                self.history.cause = why.clone();
                EventKind::Begun { cause: why }
            }
            Happening::Entered { state } => {
                self.history.change_state = state;
                EventKind::State { state: state.to_string() }
            }
            Happening::Held { barrier } => EventKind::Held { barrier: barrier.to_string() },
            Happening::Changed(record) => EventKind::Change { done: self.changed(&record) },
            Happening::Failed(why) => {
                self.history.trouble = Some(why.clone());
                EventKind::Warning { text: why }
            }
            Happening::Mended(what) | Happening::Instead(what) | Happening::Forgotten(what) => {
                EventKind::Warning { text: what }
            }
            Happening::Election { state } => {
                self.history.role = state;
                EventKind::Role { role: state.to_string() }
            }
            Happening::Answered(..) => return None,
        })
    }

    fn noticed(&mut self, event: SubnetEvent) -> EventKind {
        // What was there when it happened may be gone from the fabric that is known now.
        let running = self.running();
        let alive = running.as_ref().map(|running| &running.alive);
        let node = |guid: Guid| {
            let node = alive.and_then(|alive| Some(alive.describe_node(alive.by_guid(guid)?)));
            node.unwrap_or_else(|| guid.to_string())
        };
        let port = |name: PortName| {
            let port = alive.and_then(|alive| Some(alive.describe_port(alive.port_named(name)?)));
            port.unwrap_or_else(|| name.to_string())
        };
        let (number, lid, name) = match event {
            SubnetEvent::LinksChanged { lid, switch } => (128, lid, switch.map(node)),
            SubnetEvent::EndPortChanged { lid, port: changed } => (144, lid, changed.map(port)),
            SubnetEvent::PortsChanged { switch } => return EventKind::Noticed { node: node(switch), silent: false },
            SubnetEvent::Silent { switch } => return EventKind::Noticed { node: node(switch), silent: true },
        };
        *self.history.traps.entry(number.to_string()).or_default() += 1;
        EventKind::Trap { number, lid, node: name }
    }

    fn changed(&mut self, record: &ChangeRecord) -> Box<ChangeDone> {
        let done = self.done(record, self.history.cause.clone());
        if matches!(record.outcome, Outcome::Completed | Outcome::CutShort) {
            self.history.routed_by = Some(record.routed_by);
        }
        self.history.trouble = None;
        *self.history.changes.entry(done.outcome.name().to_string()).or_default() += 1;
        if let Some(metrics) = &self.metrics {
            record.phases.iter().for_each(|phase| metrics.phase(phase));
        }
        self.history.last_change = Some(done.clone());
        done
    }

    fn done(&self, record: &ChangeRecord, cause: String) -> Box<ChangeDone> {
        let running = self.running();
        let half = running.as_ref().map_or(Half::default(), |running| running.half);
        // The record's indices are those of the plan's own fabrics.
        Box::new(ChangeDone::of(record, &record.plan.plan().draft().before, half, cause))
    }

    /// An order was carried out or refused.
    fn answered(&mut self, order: OrderId, answer: OrderAnswer) {
        let Some((cause, answers)) = self.waiting.remove(&order) else { return };
        let takes_back = cause.starts_with(TAKES_BACK);
        let half = self.running().map_or(Half::default(), |running| running.half);
        let unwritten = |outcome, reason| ChangeDone::unwritten(outcome, half, cause.clone(), reason);
        answers.finish(match answer {
            OrderAnswer::Changed(record) => Reply::Changed(self.done(&record, cause)),
            OrderAnswer::Planned { scheme, waves, writes, stranded, hosts_that_move, notes } => {
                let (waves, writes, hosts_that_move) = (waves as u64, writes as u64, hosts_that_move as u64);
                let (scheme, planned) = (Some(scheme.to_string()), unwritten(ChangeOutcome::Planned, None));
                Reply::Changed(Box::new(ChangeDone {
                    scheme,
                    waves,
                    writes,
                    stranded,
                    hosts_that_move,
                    notes,
                    ..planned
                }))
            }
            OrderAnswer::CutsOff(stranded) => {
                let refused = unwritten(ChangeOutcome::Refused, Some(cuts_off(&stranded)));
                Reply::Changed(Box::new(ChangeDone { stranded, ..refused }))
            }
            OrderAnswer::Nothing if takes_back => {
                Reply::Changed(Box::new(unwritten(ChangeOutcome::Nothing, Some("it is not set aside".to_string()))))
            }
            OrderAnswer::Surveyed if takes_back => {
                let used = "it is set aside no longer, and every sweep counts it in".to_string();
                Reply::Changed(Box::new(unwritten(ChangeOutcome::Completed, Some(used))))
            }
            OrderAnswer::Nothing => {
                let carries = "nothing is routed over it already".to_string();
                Reply::Changed(Box::new(unwritten(ChangeOutcome::Nothing, Some(carries))))
            }
            OrderAnswer::Surveyed => Reply::Changed(Box::new(unwritten(ChangeOutcome::Nothing, None))),
            OrderAnswer::NotDone(why) => {
                let used = if takes_back { "it is set aside no longer, and not used yet: " } else { "" };
                let why = format!("{used}{why}; it is tried again");
                Reply::Changed(Box::new(unwritten(ChangeOutcome::Refused, Some(why))))
            }
            OrderAnswer::Refused(why) => Reply::Changed(Box::new(unwritten(ChangeOutcome::Refused, Some(why)))),
        });
    }

    fn answer(&mut self, ControlRequest { order, answers }: ControlRequest) {
        let reply = match order {
            ControlOrder::Status => Reply::Status(Box::new(self.status())),
            ControlOrder::Change(wanted) if !wanted.planned => Reply::refused(
                Fault::Request,
                "the manager notices by itself what dies: order a planned removal, of an element that is alive",
            ),
            ControlOrder::Change(wanted) => {
                let cause = format!("removal of {}", wanted.remove.name());
                return self.give(wanted.remove, cause, answers, |element| ManagerOrder::SetAside {
                    element,
                    dry_run: wanted.dry_run,
                    cut_off_meant: wanted.allow_cut_off,
                });
            }
            ControlOrder::TakeBack { element } => {
                let cause = format!("{TAKES_BACK}{}", element.name());
                return self.give(element, cause, answers, ManagerOrder::TakeBack);
            }
            ControlOrder::Sweep => {
                return self.wait_for(ManagerOrder::Sweep, "a sweep on demand".to_string(), answers);
            }
            ControlOrder::Abort => self.abort(),
            ControlOrder::Continue => self.go_on(),
            ControlOrder::LogLevel { filter } => self.log_by(&filter),
            ControlOrder::Events { .. } => Reply::refused(Fault::Request, "the socket itself serves events"),
        };
        answers.finish(reply);
    }

    /// Posts an order about an element, if the element exists.
    fn give(
        &mut self,
        element: SubnetElement,
        cause: String,
        answers: Answers,
        order: impl FnOnce(SubnetElement) -> ManagerOrder,
    ) {
        let Some(running) = self.running() else {
            return answers.finish(Reply::refused(Fault::State, "the subnet is not up under this manager"));
        };
        match element.find(&running.known) {
            Ok(_) => self.wait_for(order(element), cause, answers),
            Err(why) => answers.finish(Reply::refused(Fault::Request, why)),
        }
    }

    fn wait_for(&mut self, order: ManagerOrder, cause: String, answers: Answers) {
        let id = self.mailbox.borrow_mut().order(order);
        self.waiting.insert(id, (cause, answers));
    }

    fn abort(&self) -> Reply {
        let mut mailbox = self.mailbox.borrow_mut();
        match (mailbox.abort(), mailbox.held()) {
            (Some(true), _) => done("the change under way will be called off"),
            (Some(false), None) => Reply::refused(Fault::State, Declined::TooLate),
            (Some(false), Some(barrier)) => {
                let why = format!("{}, and is held at barrier {barrier} until --continue", Declined::TooLate);
                Reply::refused(Fault::State, why)
            }
            (None, _) => Reply::refused(Fault::State, "no change is under way"),
        }
    }

    fn go_on(&self) -> Reply {
        match self.mailbox.borrow_mut().go_on() {
            Some(barrier) => done(&format!("the change continues from barrier {barrier}")),
            None => Reply::refused(Fault::State, "no change waits at a barrier"),
        }
    }

    fn log_by(&mut self, filter: &str) -> Reply {
        match self.set_log.as_mut().map(|set_log| set_log(filter)) {
            Some(Ok(())) => done(&format!("logs by `{filter}` from now on")),
            Some(Err(why)) => Reply::refused(Fault::Request, why),
            None => Reply::refused(Fault::State, "this manager's log filter was fixed when it started"),
        }
    }

    fn running(&self) -> Option<Arc<Running>> {
        self.mailbox.borrow().view.running.clone()
    }

    /// The manager's status.
    pub fn status(&self) -> Status {
        let view = self.mailbox.borrow().view.clone();
        let SubnetView { running, smps, light_sweep_ns, aside, foreseen, degraded, closed_ends, instead, .. } = view;
        // What was known is not the subnet while that is not reached.
        let running = running.as_deref().filter(|_| view.unreached.is_none());
        let found = view.found.as_deref().filter(|_| view.unreached.is_none());
        let known = running.map(|running| &*running.alive).or(found);
        let held = self.mailbox.borrow().held().map(str::to_string);
        let progress = self.mailbox.borrow().view.trail.progress();
        let History { role, arrival, routed_by, change_state, sweeps, last_heavy_ns, traps, changes, .. } =
            &self.history;
        Status {
            schema: STATUS_SCHEMA.to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            uptime_ns: u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            role: role.to_string(),
            port: self.fixed.port.clone(),
            state: change_state.to_string(),
            change: progress.as_ref().map(|progress| ChangeStanding::of(progress, held.is_some())),
            held,
            // While what an earlier manager left is brought to its end, the subnet is known and served, and not yet up.
            subnet_up: running.is_some() && arrival.is_some(),
            arrival: arrival.as_ref().map(|arrival| arrival.name().to_string()),
            arrival_why: arrival.as_ref().and_then(|arrival| arrival.why().map(str::to_string)),
            fabric: known.map_or_else(FabricStatus::default, FabricStatus::of),
            half: running.map(|running| running.half),
            lids: running.map_or_else(LidStatus::default, |running| lids(&running.alive)),
            engine: self.fixed.engine.clone(),
            routed_by: routed_by.as_ref().map(|by| by.engine.to_string()),
            root: routed_by
                .as_ref()
                .and_then(|by| by.root)
                .zip(running)
                .map(|(root, running)| NamedNode::of(&running.known, root)),
            data_vls: running.map_or(self.fixed.data_vls, |running| change::data_vls(&running.alive)),
            without_double: view.without_double.filter(|_| running.is_some()),
            instead,
            channels: self.channels(),
            aside,
            missing: running.map_or_else(MissingStatus::default, |running| MissingStatus::of(running, &degraded)),
            journal_gap: view.journal_gap,
            foreseen,
            degraded,
            end_ports_fenced: closed_ends,
            groups: running.and_then(|_| self.groups(view.groups)),
            without_groups: self.without_groups(),
            policy: self.fixed.policy.clone(),
            smps: SmpStatus::from(&smps),
            sweeps: SweepStatus {
                heavy: *sweeps,
                last_heavy_ns: *last_heavy_ns,
                period_ns: light_sweep_ns,
                traps: traps.clone(),
            },
            sa_requests: self.sa_requests(),
            changes: changes.clone(),
            last_change: self.history.last_change.clone(),
            trouble: view
                .unreached
                .or_else(|| self.history.trouble.clone())
                .or_else(|| self.trouble_with_another())
                .or(view.unrecorded)
                .or(view.unkept)
                .or(view.cut_off),
        }
    }

    fn groups(&self, view: GroupView) -> Option<GroupStatus> {
        let responder = self.responder.as_ref()?.borrow();
        let GroupView { unreached, unproved } = view;
        responder.has_groups().then(|| {
            let GroupCounts { groups, members } = responder.group_counts();
            GroupStatus { groups, members, unreached, unproved }
        })
    }

    fn without_groups(&self) -> Option<String> {
        let responder = self.responder.as_ref()?.borrow();
        let asked = responder.sa_requests().contains_key(&u16::from(SaAttributeId::McMemberRecord));
        (asked && !responder.has_groups()).then(|| NO_GROUPS.to_string())
    }

    /// What is wrong with another manager.
    fn trouble_with_another(&self) -> Option<String> {
        Some(self.responder.as_ref()?.borrow().trouble()?.to_string())
    }

    /// Counted once for each state of the subnet; none until it was.
    fn channels(&self) -> Option<ChannelStatus> {
        let running = self.running()?;
        let mut known = self.channels.borrow_mut();
        let counted = match known.take() {
            Some(counted) if Arc::ptr_eq(&counted.of, &running) => counted,
            _ => CountedChannels::begin(running),
        };
        known.insert(counted).so_far()
    }

    fn sa_requests(&self) -> BTreeMap<String, u64> {
        let Some(responder) = &self.responder else { return BTreeMap::new() };
        let responder = responder.borrow();
        let named = |(&number, &count)| (format!("{:?}", SaAttributeId::from(number)), count);
        responder.sa_requests().iter().map(named).collect()
    }

    fn measure(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.update(&self.status());
        }
    }

    /// One line for the supervisor.
    fn in_a_line(&self) -> String {
        let History { role, change_state: state, .. } = &self.history;
        match self.running() {
            Some(running) => {
                let FabricStatus { switches, cas, .. } = FabricStatus::of(&running.alive);
                let degraded = match self.mailbox.borrow().view.degraded.len() {
                    0 => String::new(),
                    count => format!(", DEGRADED at {count} attributes of devices"),
                };
                format!("{role}, {state}: {switches} switches, {cas} CAs, {} half in use{degraded}", running.half)
            }
            None => format!("{role}: the subnet is not up yet"),
        }
    }
}

/// Why a planned change is refused that cuts off end ports.
fn cuts_off(ports: &[String]) -> String {
    let count = match ports.len() {
        1 => "1 end port".to_string(),
        more => format!("{more} end ports"),
    };
    let first = ports.first().map_or("", String::as_str);
    format!(
        "{count} would be cut off, {first} first: connect them elsewhere beforehand, or pass --allow-cut-off if \
         this is intended"
    )
}

fn done(text: &str) -> Reply {
    Reply::Done { text: text.to_string() }
}

fn lids(fabric: &Fabric) -> LidStatus {
    let owners = fabric.lid_ports().map(|port| fabric.port(port)).filter(|port| port.lid.is_some());
    let lmc = fabric.end_ports().map(|port| fabric.port(port).lmc.get()).max().unwrap_or(0);
    let given = owners.map(|port| u64::from(port.lmc.lids())).sum();
    LidStatus { lmc, given, highest: fabric.max_lid().unwrap_or(Lid(0)) }
}

#[cfg(test)]
mod tests {
    use super::control::ChangeOrder;
    use super::*;
    use crate::ids::PortNum;
    use crate::sm::Mailbox;
    use crate::sm::lifecycle::{RetiredHalf, Unfinished};
    use crate::subnet::DeviceProfile;
    use tokio_test::task::spawn;

    fn frontend() -> (Frontend, SharedMailbox) {
        let mailbox = Mailbox::new(false);
        let port = OwnPort { adapter: "mlx5_0".to_string(), port: PortNum(1), guid: Guid(7), priority: 3 };
        let [scheme, observer, arming, sources] = ["auto", "lifetime", "off", "fence"].map(str::to_string);
        let (devices, given) = (Some(DeviceProfile::Standard), Vec::new());
        let policy = PolicyStatus { devices, given, scheme, observer, arming, sources, partition: Default::default() };
        let fixed = StaticStatus { port, engine: "updn".to_string(), data_vls: 4, policy };
        (Frontend::new(mailbox.clone(), fixed), mailbox)
    }

    /// The answer to an order, after one look of the frontend.
    fn asked(frontend: &mut Frontend, order: ControlOrder) -> Option<Reply> {
        let (requests, receiver) = mpsc::unbounded_channel();
        let (answers, mut replies) = Answers::channel();
        frontend.serves(receiver, EventFeed::default());
        requests.send(ControlRequest { order, answers }).expect("the frontend has the other end");
        frontend.look(|_, _| {});
        let mut next = spawn(replies.recv());
        match next.poll() {
            std::task::Poll::Ready(reply) => reply,
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn what_cannot_be_done_now_is_refused_at_once() {
        let (mut frontend, _) = frontend();
        let remove = || SubnetElement::Switch("a".to_string());
        let removal = |planned| ChangeOrder { remove: remove(), planned, dry_run: false, allow_cut_off: false };
        for (order, fault) in [
            (ControlOrder::Abort, Fault::State),
            (ControlOrder::Continue, Fault::State),
            (ControlOrder::Change(removal(true)), Fault::State),
            (ControlOrder::Change(removal(false)), Fault::Request),
            (ControlOrder::LogLevel { filter: "debug".to_string() }, Fault::State),
        ] {
            let reply = asked(&mut frontend, order.clone());
            assert!(
                matches!(&reply, Some(Reply::Refused { fault: found, .. }) if *found == fault),
                "{order:?}: {reply:?}"
            );
        }
    }

    #[test]
    fn an_order_is_put_into_the_mailbox_and_answered_when_it_was_carried_out() {
        let (mut frontend, mailbox) = frontend();
        let (requests, receiver) = mpsc::unbounded_channel();
        let (answers, mut replies) = Answers::channel();
        frontend.serves(receiver, EventFeed::default());
        requests.send(ControlRequest { order: ControlOrder::Sweep, answers }).expect("the frontend has the other end");
        frontend.look(|_, _| {});
        let (order, asked) = mailbox.borrow_mut().next_order().expect("it is in the mailbox");
        assert_eq!(asked, ManagerOrder::Sweep);
        mailbox.borrow_mut().post(5, Happening::Swept { length_ns: 1, notices: 2 });
        mailbox.borrow_mut().post(6, Happening::Answered(order, OrderAnswer::Refused("no port".to_string())));
        frontend.look(|_, _| {});
        let mut said = Vec::new();
        while let std::task::Poll::Ready(Some(reply)) = spawn(replies.recv()).poll() {
            said.push(reply);
        }
        assert!(matches!(
            &said[0],
            Reply::Event(ControlEvent { at_ns: 5, what: EventKind::Swept { left_out: 2, .. }, .. })
        ));
        let Reply::Changed(done) = &said[1] else { panic!("{said:?}") };
        assert_eq!((done.outcome, done.reason.as_deref()), (ChangeOutcome::Refused, Some("no port")));
        assert_eq!(said.len(), 2);
    }

    /// The answer that reaches a client whose removal cuts off end ports.
    #[test]
    fn who_would_be_cut_off_is_named() {
        let (mut frontend, mailbox) = frontend();
        let (answers, mut replies) = Answers::channel();
        frontend.wait_for(ManagerOrder::Sweep, "removal of leaf-1".to_string(), answers);
        let (order, _) = mailbox.borrow_mut().next_order().expect("it is in the mailbox");
        let ports = ["node-5 HCA-1[1]", "node-6 HCA-1[1]"].map(str::to_string).to_vec();
        mailbox.borrow_mut().post(6, Happening::Answered(order, OrderAnswer::CutsOff(ports.clone())));
        frontend.look(|_, _| {});
        let std::task::Poll::Ready(Some(Reply::Changed(done))) = spawn(replies.recv()).poll() else {
            panic!("it is answered")
        };
        assert_eq!((done.outcome, &done.stranded), (ChangeOutcome::Refused, &ports));
        let reason = done.reason.expect("a refusal has one");
        assert!(reason.starts_with("2 end ports would be cut off, node-5 HCA-1[1] first: "), "{reason}");
        assert!(reason.ends_with("pass --allow-cut-off if this is intended"), "{reason}");
    }

    #[test]
    fn where_no_change_was_made_the_answer_says_what_that_means() {
        let takes_back = format!("{TAKES_BACK}spine-2");
        let nothing = ChangeOutcome::Nothing;
        for (cause, answer, outcome, said) in [
            (
                &*takes_back,
                OrderAnswer::Surveyed,
                ChangeOutcome::Completed,
                Some("it is set aside no longer, and every sweep counts it in"),
            ),
            (&takes_back, OrderAnswer::Nothing, nothing, Some("it is not set aside")),
            (
                &takes_back,
                OrderAnswer::NotDone("the disk is full".to_string()),
                ChangeOutcome::Refused,
                Some("it is set aside no longer, and not used yet: the disk is full; it is tried again"),
            ),
            ("removal of spine-2:1", OrderAnswer::Nothing, nothing, Some("nothing is routed over it already")),
            ("a sweep on demand", OrderAnswer::Surveyed, nothing, None),
        ] {
            let (mut frontend, mailbox) = frontend();
            let (answers, mut replies) = Answers::channel();
            frontend.wait_for(ManagerOrder::Sweep, cause.to_string(), answers);
            let (order, _) = mailbox.borrow_mut().next_order().expect("it is in the mailbox");
            mailbox.borrow_mut().post(6, Happening::Answered(order, answer));
            frontend.look(|_, _| {});
            let std::task::Poll::Ready(Some(Reply::Changed(done))) = spawn(replies.recv()).poll() else {
                panic!("it is answered")
            };
            assert_eq!((done.outcome, done.reason.as_deref()), (outcome, said), "{cause}");
        }
    }

    #[test]
    fn the_status_shows_what_passed_through_the_mailbox() {
        let (mut frontend, mailbox) = frontend();
        assert_eq!((frontend.status().role.as_str(), frontend.status().subnet_up), ("discovering", false));
        mailbox.borrow_mut().post(1, Happening::Election { state: "master" });
        mailbox.borrow_mut().post(2, Happening::Subnet(SubnetEvent::LinksChanged { lid: Lid(9), switch: None }));
        mailbox.borrow_mut().post(3, Happening::Failed("two nodes have one GUID".to_string()));
        let mut heard = Vec::new();
        frontend.look(|at_ns, _| heard.push(at_ns));
        let status = frontend.status();
        assert_eq!(heard, [1, 2, 3]);
        assert_eq!(status.role, "master");
        assert_eq!(status.sweeps.traps, BTreeMap::from([("128".to_string(), 1)]));
        assert_eq!(status.trouble.as_deref(), Some("two nodes have one GUID"));
        // It lasts until a retry leaves nothing to do.
        for (retry_ns, lasts) in [(Some(9), true), (None, false)] {
            mailbox.borrow_mut().enter(LifecycleState::Idle(Unfinished {
                retry_ns,
                failures: 0,
                retired: RetiredHalf::Current,
            }));
            frontend.look(|_, _| {});
            assert_eq!(frontend.status().trouble.is_some(), lasts, "{retry_ns:?}");
        }
    }

    /// What a manager could not do before another one was master is no trouble any more.
    #[test]
    fn on_standby_nothing_of_before_is_trouble() {
        let (mut frontend, mailbox) = frontend();
        mailbox.borrow_mut().post(3, Happening::Failed("two nodes have one GUID".to_string()));
        frontend.look(|_, _| {});
        assert!(frontend.status().trouble.is_some());
        mailbox.borrow_mut().enter(LifecycleState::Standby);
        frontend.look(|_, _| {});
        assert_eq!(frontend.status().trouble, None);
    }

    /// A manager that is taken over from during a change, and is master again later: until the subnet is up under it
    /// anew, nothing of its first term is shown.
    #[test]
    fn nothing_of_an_earlier_term_is_shown_in_the_next() {
        let (mut frontend, mailbox) = frontend();
        mailbox.borrow_mut().post(1, Happening::Up { arrival: SubnetArrival::Adopted, routed_by: None });
        mailbox.borrow_mut().post(2, Happening::Entered { state: "splitting" });
        frontend.look(|_, _| {});
        let status = frontend.status();
        assert_eq!((status.arrival.as_deref(), status.state.as_str()), (Some("adopted"), "splitting"));
        mailbox.borrow_mut().post(3, Happening::Down);
        frontend.look(|_, _| {});
        let status = frontend.status();
        assert_eq!((status.arrival, status.state.as_str()), (None, STEADY));
    }
}
