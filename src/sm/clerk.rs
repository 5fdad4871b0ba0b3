//! The clerk: stands between the manager's desk and everybody who asks through the control socket, listens to events,
//! reads metrics, or supervises the service.
//!
//! [`Clerk::look`] takes what happened from the desk, tells it on, and sees to the requests that came meanwhile; it never
//! waits. [`Clerk::attend`] does that for ever, beside the manager's own future and on the same thread. What it knows
//! beyond the desk is what it has seen pass: counts, the last change, who waits for which order.

use super::bring_up::Arrival;
use super::control::{
    self, Answers, ChangeDone, ChangeOutcome, Event, FabricStatus, Fault, LidStatus, NodeName, OwnPort, PolicyStatus,
    Reply, Request, STATUS_SCHEMA, SmpStatus, Status, SweepStatus,
};
use super::desk::{Answer, Element, Happening, Order, OrderId, SharedDesk, View};
use super::metrics::{Metrics, Snapshot};
use super::reception::SharedReception;
use super::systemd;
use crate::driver::{ChangeReport, Running};
use crate::fabric::Fabric;
use crate::ids::{Half, Lid};
use crate::subnet::SubnetEvent;
use crate::wire::sa::SaAttributeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc};

/// Between two looks at the desk.
const LOOK: Duration = Duration::from_millis(20);
/// Between two readings of the metrics' values.
const MEASURE: Duration = Duration::from_secs(1);

/// What is settled when a manager starts, for whoever asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// The port it manages from.
    pub port: OwnPort,
    /// Who computes routings.
    pub engine: String,
    /// Data VLs in use at most.
    pub data_vls: u8,
    /// How changes are made.
    pub policy: PolicyStatus,
}

/// Sets the filter of the log while the program runs; an error says what is wrong with the filter.
pub type SetLog = Box<dyn FnMut(&str) -> Result<(), String>>;

/// The clerk of one desk.
pub struct Clerk {
    desk: SharedDesk,
    facts: Facts,
    began: Instant,
    requests: Option<mpsc::UnboundedReceiver<Request>>,
    events: broadcast::Sender<Event>,
    metrics: Option<Arc<Metrics>>,
    measured: Option<Instant>,
    set_log: Option<SetLog>,
    reception: Option<SharedReception>,
    /// Who waits for which order, and what the order was in words.
    waiting: BTreeMap<OrderId, (String, Answers)>,
    seen: Seen,
}

/// What the clerk has seen pass.
#[derive(Default)]
struct Seen {
    role: Option<&'static str>,
    cause: String,
    last_heavy_ns: u64,
    traps: BTreeMap<String, u64>,
    changes: BTreeMap<String, u64>,
    last_change: Option<Box<ChangeDone>>,
    trouble: Option<String>,
}

impl Clerk {
    /// A clerk without anybody to tell.
    pub fn new(desk: SharedDesk, facts: Facts) -> Clerk {
        Clerk {
            desk,
            facts,
            began: Instant::now(),
            requests: None,
            events: broadcast::Sender::new(1),
            metrics: None,
            measured: None,
            set_log: None,
            reception: None,
            waiting: BTreeMap::new(),
            seen: Seen::default(),
        }
    }

    /// Sees to the requests of a control socket, and tells its listeners what happens.
    pub fn serves(&mut self, requests: mpsc::UnboundedReceiver<Request>, events: broadcast::Sender<Event>) {
        (self.requests, self.events) = (Some(requests), events);
    }

    /// Keeps metrics up to date.
    pub fn measures(&mut self, metrics: Arc<Metrics>) {
        self.metrics = Some(metrics);
    }

    /// Tells how often the SA was asked, too.
    pub fn counts(&mut self, reception: SharedReception) {
        self.reception = Some(reception);
    }

    /// Has the log's filter set by who asks for it.
    pub fn sets_log(&mut self, set_log: SetLog) {
        self.set_log = Some(set_log);
    }

    /// Looks at desk and requests for ever; `on` hears of everything that happens, for the log.
    pub async fn attend(&mut self, mut on: impl FnMut(u64, &Happening)) -> std::convert::Infallible {
        loop {
            self.look(&mut on);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Takes what lies there, and waits for nothing.
    pub fn look(&mut self, mut on: impl FnMut(u64, &Happening)) {
        let happened: Vec<(u64, Happening)> = self.desk.borrow_mut().happenings().collect();
        for (at_ns, happening) in happened {
            on(at_ns, &happening);
            self.pass_on(at_ns, happening);
        }
        while let Some(request) = self.requests.as_mut().and_then(|requests| requests.try_recv().ok()) {
            self.see_to(request);
        }
        if self.metrics.is_some() && self.measured.is_none_or(|last| last.elapsed() >= MEASURE) {
            self.measured = Some(Instant::now());
            self.measure();
        }
    }

    /// Tells listeners, those who wait for an order, and the supervisor.
    fn pass_on(&mut self, at_ns: u64, happening: Happening) {
        if let Happening::Answered(order, answer) = happening {
            return self.answered(order, answer);
        }
        let Some(what) = self.translate(happening) else { return };
        let settled = match &what {
            control::Happening::SubnetUp { .. } => true,
            control::Happening::Role { role } => role == "standby",
            _ => false,
        };
        if settled {
            systemd::ready();
        }
        let event = Event::at(at_ns, what);
        for (_, answers) in self.waiting.values() {
            answers.event(event.clone());
        }
        systemd::status(&self.in_a_line());
        // Nobody may be listening.
        let _ = self.events.send(event);
    }

    /// What happened, in the words of the control socket; what is to be remembered of it is.
    fn translate(&mut self, happening: Happening) -> Option<control::Happening> {
        Some(match happening {
            Happening::Up { arrival } => {
                self.seen.trouble = None;
                let fabric =
                    self.running().map_or_else(FabricStatus::default, |running| FabricStatus::of(&running.alive));
                control::Happening::SubnetUp { fabric, arrival: arrival_name(&arrival).to_string() }
            }
            Happening::Subnet(event) => self.told(event),
            Happening::Swept { length_ns, notices } => {
                self.seen.last_heavy_ns = length_ns;
                control::Happening::Swept { took_ns: length_ns, left_out: notices as u64 }
            }
            Happening::Begun { why } => {
                self.seen.cause = why.clone();
                control::Happening::Begun { cause: why }
            }
            Happening::Entered { state } => control::Happening::State { state: state.to_string() },
            Happening::Held { barrier } => control::Happening::Held { barrier: barrier.to_string() },
            Happening::Changed(report) => control::Happening::Change { done: self.changed(&report) },
            Happening::Failed(why) => {
                self.seen.trouble = Some(why.clone());
                control::Happening::Warning { text: why }
            }
            Happening::Election { state } => {
                self.seen.role = Some(state);
                control::Happening::Role { role: state.to_string() }
            }
            Happening::Answered(..) => return None,
        })
    }

    fn told(&mut self, event: SubnetEvent) -> control::Happening {
        let running = self.running();
        let alive = running.as_ref().map(|running| &running.alive);
        let node = |id| alive.map_or_else(String::new, |fabric| fabric.describe_node(id));
        let (number, lid, name) = match event {
            SubnetEvent::LinksChanged { lid, switch } => (128, lid, switch.map(node)),
            SubnetEvent::EndPortChanged { lid, port } => {
                (144, lid, port.zip(alive).map(|(port, fabric)| fabric.describe_port(port)))
            }
            SubnetEvent::PortsChanged { switch } => {
                return control::Happening::Noticed { node: node(switch), silent: false };
            }
            SubnetEvent::Silent { switch } => return control::Happening::Noticed { node: node(switch), silent: true },
        };
        *self.seen.traps.entry(number.to_string()).or_default() += 1;
        control::Happening::Trap { number, lid, node: name }
    }

    fn changed(&mut self, report: &ChangeReport) -> Box<ChangeDone> {
        let done = self.done(report, self.seen.cause.clone());
        self.seen.trouble = None;
        *self.seen.changes.entry(done.outcome.name().to_string()).or_default() += 1;
        if let Some(metrics) = &self.metrics {
            report.phases.iter().for_each(|phase| metrics.phase(phase));
        }
        self.seen.last_change = Some(done.clone());
        done
    }

    fn done(&self, report: &ChangeReport, cause: String) -> Box<ChangeDone> {
        let running = self.running();
        let half = running.as_ref().map_or(Half::default(), |running| running.half);
        // A report's indices are those of the plan's own fabrics.
        Box::new(ChangeDone::of(report, &report.plan.plan().draft().before, half, cause))
    }

    /// An order was carried out, or was not.
    fn answered(&mut self, order: OrderId, answer: Answer) {
        let Some((cause, answers)) = self.waiting.remove(&order) else { return };
        let half = self.running().map_or(Half::default(), |running| running.half);
        let unwritten = |outcome, reason| ChangeDone::unwritten(outcome, half, cause.clone(), reason);
        answers.finish(match answer {
            Answer::Changed(report) => Reply::Changed(self.done(&report, cause)),
            Answer::Planned { waves, writes } => {
                let planned = unwritten(ChangeOutcome::Planned, None);
                Reply::Changed(Box::new(ChangeDone { waves: waves as u64, writes: writes as u64, ..planned }))
            }
            Answer::Nothing => Reply::Changed(Box::new(unwritten(ChangeOutcome::Nothing, None))),
            Answer::Refused(why) => Reply::Changed(Box::new(unwritten(ChangeOutcome::Refused, Some(why)))),
        });
    }

    fn see_to(&mut self, Request { order, answers }: Request) {
        let reply = match order {
            control::Order::Status => Reply::Status(Box::new(self.status())),
            control::Order::Change(wanted) if !wanted.planned => Reply::refused(
                Fault::Request,
                "what dies by itself needs no order: ask for a planned removal, of what is alive",
            ),
            control::Order::Change(wanted) => {
                let cause = format!("removal of {}", named(&wanted.remove));
                return self.give(&wanted.remove, cause, answers, |element| Order::SetAside {
                    element,
                    dry_run: wanted.dry_run,
                });
            }
            control::Order::TakeBack { element } => {
                let cause = format!("return of {}", named(&element));
                return self.give(&element, cause, answers, Order::TakeBack);
            }
            control::Order::Sweep => return self.wait_for(Order::Sweep, "a sweep on demand".to_string(), answers),
            control::Order::Abort if self.desk.borrow().abort() => {
                done("the change under way was told to be called off")
            }
            control::Order::Abort => Reply::refused(Fault::State, "no change is under way"),
            control::Order::Continue => self.go_on(),
            control::Order::LogLevel { filter } => self.log_by(&filter),
            control::Order::Events => Reply::refused(Fault::Request, "events are told by the socket itself"),
        };
        answers.finish(reply);
    }

    /// Gives an order about an element, if there is such an element.
    fn give(
        &mut self,
        element: &control::Element,
        cause: String,
        answers: Answers,
        order: impl FnOnce(Element) -> Order,
    ) {
        let Some(running) = self.running() else {
            return answers.finish(Reply::refused(Fault::State, "the subnet is not up under this manager"));
        };
        match on_desk(element, &running.known) {
            Ok(element) => self.wait_for(order(element), cause, answers),
            Err(why) => answers.finish(Reply::refused(Fault::Request, why)),
        }
    }

    fn wait_for(&mut self, order: Order, cause: String, answers: Answers) {
        let id = self.desk.borrow_mut().order(order);
        self.waiting.insert(id, (cause, answers));
    }

    fn go_on(&self) -> Reply {
        let mut desk = self.desk.borrow_mut();
        match desk.view.held {
            Some(barrier) => {
                desk.go_on();
                done(&format!("the change goes on from barrier {barrier}"))
            }
            None => Reply::refused(Fault::State, "no change waits at a barrier"),
        }
    }

    fn log_by(&mut self, filter: &str) -> Reply {
        match self.set_log.as_mut().map(|set_log| set_log(filter)) {
            Some(Ok(())) => done(&format!("logs by `{filter}` from now on")),
            Some(Err(why)) => Reply::refused(Fault::Request, why),
            None => Reply::refused(Fault::State, "this manager's log has a filter that was settled when it started"),
        }
    }

    fn running(&self) -> Option<Arc<Running>> {
        self.desk.borrow().view.running.clone()
    }

    /// How the manager is.
    pub fn status(&self) -> Status {
        let View { running, arrival, root, state, held, smps, sweeps, light_sweep_ns, aside } =
            self.desk.borrow().view.clone();
        let running = running.as_deref();
        Status {
            schema: STATUS_SCHEMA.to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            uptime_ns: u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            role: self.seen.role.unwrap_or("discovering").to_string(),
            port: self.facts.port.clone(),
            state: if state.is_empty() { "steady" } else { state }.to_string(),
            held: held.map(str::to_string),
            subnet_up: running.is_some(),
            arrival: arrival.as_ref().map(|arrival| arrival_name(arrival).to_string()),
            fabric: running.map_or_else(FabricStatus::default, |running| FabricStatus::of(&running.alive)),
            half: running.map(|running| running.half),
            lids: running.map_or_else(LidStatus::default, |running| lids(&running.alive)),
            engine: self.facts.engine.clone(),
            root: root.zip(running).map(|(root, running)| NodeName::of(&running.known, root)),
            data_vls: self.facts.data_vls,
            aside,
            policy: self.facts.policy.clone(),
            smps: SmpStatus::from(&smps),
            sweeps: SweepStatus {
                heavy: sweeps,
                last_heavy_ns: self.seen.last_heavy_ns,
                period_ns: light_sweep_ns,
                traps: self.seen.traps.clone(),
            },
            sa_requests: self.sa_requests(),
            changes: self.seen.changes.clone(),
            last_change: self.seen.last_change.clone(),
            trouble: self.seen.trouble.clone(),
        }
    }

    fn sa_requests(&self) -> BTreeMap<String, u64> {
        let Some(reception) = &self.reception else { return BTreeMap::new() };
        let reception = reception.borrow();
        let named = |(&number, &count)| (format!("{:?}", SaAttributeId::from(number)), count);
        reception.sa_requests().iter().map(named).collect()
    }

    fn measure(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.update(&Snapshot { status: &self.status() });
        }
    }

    /// For whoever supervises the service.
    fn in_a_line(&self) -> String {
        let role = self.seen.role.unwrap_or("discovering");
        let state = self.desk.borrow().view.state;
        match self.running() {
            Some(running) => {
                let FabricStatus { switches, cas, .. } = FabricStatus::of(&running.alive);
                format!("{role}, {state}: {switches} switches, {cas} CAs, {} half in use", running.half)
            }
            None => format!("{role}: the subnet is not up yet"),
        }
    }
}

fn done(text: &str) -> Reply {
    Reply::Done { text: text.to_string() }
}

fn arrival_name(arrival: &Arrival) -> &'static str {
    match arrival {
        Arrival::Cold => "cold",
        Arrival::Adopted => "adopted",
        Arrival::Rewritten { .. } => "rewritten",
    }
}

fn lids(fabric: &Fabric) -> LidStatus {
    let owners = fabric.lid_ports().map(|port| fabric.port(port)).filter(|port| port.lid.is_some());
    let lmc = fabric.end_ports().map(|port| fabric.port(port).lmc.get()).max().unwrap_or(0);
    let given = owners.map(|port| u64::from(port.lmc.lids())).sum();
    LidStatus { lmc, given, highest: fabric.max_lid().unwrap_or(Lid(0)) }
}

fn named(element: &control::Element) -> &str {
    match element {
        control::Element::Switch(name) | control::Element::Link(name) => name,
    }
}

/// The element as the desk wants it, if the fabric has it.
fn on_desk(element: &control::Element, fabric: &Fabric) -> Result<Element, String> {
    let element = match element {
        control::Element::Switch(name) => Element::Switch(bare(name).to_string()),
        control::Element::Link(text) => {
            let (node, port) =
                text.rsplit_once(':').ok_or_else(|| format!("`{text}` names no port: expected NODE:PORT"))?;
            let port = port.trim().parse().map_err(|_| format!("`{port}` is no port number, in `{text}`"))?;
            Element::Link(bare(node).to_string(), port)
        }
    };
    element.find(fabric).map(|_| element)
}

/// A GUID without ibnetdiscover's `S-` before it.
fn bare(name: &str) -> &str {
    name.strip_prefix("S-").filter(|rest| rest.parse::<crate::ids::Guid>().is_ok()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::*;
    use crate::ids::{Guid, PortNum};
    use tokio_test::task::spawn;

    fn clerk() -> (Clerk, SharedDesk) {
        let desk = Desk::new(false);
        let port = OwnPort { adapter: "mlx5_0".to_string(), port: PortNum(1), guid: Guid(7), priority: 3 };
        let policy =
            PolicyStatus { observer: "lifetime".to_string(), arming: "off".to_string(), sources: "fenced".to_string() };
        let facts = Facts { port, engine: "updn".to_string(), data_vls: 4, policy };
        (Clerk::new(desk.clone(), facts), desk)
    }

    /// The answer to an order, after one look of the clerk; and what lies on the desk then.
    fn asked(clerk: &mut Clerk, order: control::Order) -> Option<Reply> {
        let (requests, receiver) = mpsc::unbounded_channel();
        let (answers, mut replies) = Answers::channel();
        clerk.serves(receiver, broadcast::Sender::new(4));
        requests.send(Request { order, answers }).expect("the clerk has the other end");
        clerk.look(|_, _| {});
        let mut next = spawn(replies.recv());
        match next.poll() {
            std::task::Poll::Ready(reply) => reply,
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn what_cannot_be_done_now_is_refused_at_once() {
        let (mut clerk, _) = clerk();
        let removal = |planned| control::ChangeOrder {
            remove: control::Element::Switch("a".to_string()),
            planned,
            dry_run: false,
        };
        for (order, fault) in [
            (control::Order::Abort, Fault::State),
            (control::Order::Continue, Fault::State),
            (control::Order::Change(removal(true)), Fault::State),
            (control::Order::Change(removal(false)), Fault::Request),
            (control::Order::LogLevel { filter: "debug".to_string() }, Fault::State),
        ] {
            let reply = asked(&mut clerk, order.clone());
            assert!(
                matches!(&reply, Some(Reply::Refused { fault: found, .. }) if *found == fault),
                "{order:?}: {reply:?}"
            );
        }
    }

    #[test]
    fn an_order_is_laid_on_the_desk_and_answered_when_it_was_carried_out() {
        let (mut clerk, desk) = clerk();
        let (requests, receiver) = mpsc::unbounded_channel();
        let (answers, mut replies) = Answers::channel();
        clerk.serves(receiver, broadcast::Sender::new(4));
        requests.send(Request { order: control::Order::Sweep, answers }).expect("the clerk has the other end");
        clerk.look(|_, _| {});
        let (order, asked) = desk.borrow_mut().next_order().expect("it lies on the desk");
        assert_eq!(asked, Order::Sweep);
        desk.borrow_mut().tell(5, Happening::Swept { length_ns: 1, notices: 2 });
        desk.borrow_mut().tell(6, Happening::Answered(order, Answer::Refused("no port".to_string())));
        clerk.look(|_, _| {});
        let mut said = Vec::new();
        while let std::task::Poll::Ready(Some(reply)) = spawn(replies.recv()).poll() {
            said.push(reply);
        }
        assert!(matches!(
            &said[0],
            Reply::Event(Event { at_ns: 5, what: control::Happening::Swept { left_out: 2, .. }, .. })
        ));
        let Reply::Changed(done) = &said[1] else { panic!("{said:?}") };
        assert_eq!((done.outcome, done.reason.as_deref()), (ChangeOutcome::Refused, Some("no port")));
        assert_eq!(said.len(), 2);
    }

    #[test]
    fn the_status_tells_what_passed_over_the_desk() {
        let (mut clerk, desk) = clerk();
        assert_eq!((clerk.status().role.as_str(), clerk.status().subnet_up), ("discovering", false));
        desk.borrow_mut().tell(1, Happening::Election { state: "master" });
        desk.borrow_mut().tell(2, Happening::Subnet(SubnetEvent::LinksChanged { lid: Lid(9), switch: None }));
        desk.borrow_mut().tell(3, Happening::Failed("two nodes have one GUID".to_string()));
        let mut heard = Vec::new();
        clerk.look(|at_ns, _| heard.push(at_ns));
        let status = clerk.status();
        assert_eq!(heard, [1, 2, 3]);
        assert_eq!(status.role, "master");
        assert_eq!(status.sweeps.traps, BTreeMap::from([("128".to_string(), 1)]));
        assert_eq!(status.trouble.as_deref(), Some("two nodes have one GUID"));
    }
}
