//! A manager that stands by takes over: a whole subnet manager (`sm`) at another port, which knows nothing but what it
//! reads from devices.
//!
//! It is given the time that it takes to find the first one silent; its polls are not simulated. It has no journal of
//! the first one, as two managers on two nodes have not.

use super::acting::ActingSubnet;
use super::engines::Engines;
use super::later::LaterEvents;
use super::outcome::{PhaseReport, TakeoverChange, TakeoverReport};
use super::time::{ManagerTask, Time};
use crate::driver::Trail;
use crate::ids::{Guid, PortNum};
use crate::machine::Outcome;
use crate::sim::{Sim, SimTransport};
use crate::sm::election::{ElectionRules, Rank};
use crate::sm::lifecycle::LifecycleState;
use crate::sm::{self, Config, Context, Happening, Mailbox, RunUntil, SharedMailbox};
use crate::subnet::Manager;
use crate::transport::Transport;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::task::Poll;

/// A manager that has had nothing to do for so long, in simulated nanoseconds, has taken over.
const QUIET_NS: u64 = 3_000_000;

/// A manager takes over within so many times of what a barrier may take, or it is given up.
const BARRIERS: u64 = 20;

/// Lets the manager that stands by take over, and waits until it has nothing left to do. None if a deadlock has closed.
pub(super) fn take_over(
    acting: &ActingSubnet<'_>,
    time: &mut Time<'_>,
    lost_ns: u64,
    engines: &Engines,
) -> Option<TakeoverReport> {
    let (standby, own) = (acting.scenario.standby?, acting.setup);
    let port = own.standby?;
    acting.transport.hang_up();
    let passed_ns = time.now_ns().saturating_sub(lost_ns);
    time.pass(standby.after_ns.saturating_sub(passed_ns));
    let attached = acting.transport.attach_another(port).expect("a host takes a client");
    let mailbox = Mailbox::new(false);
    let devices = own.whole.nodes().filter(|(_, node)| node.present).count();
    let settings = acting.scenario.device_settings();
    let timing = acting.scenario.devices.timing(&settings, devices);
    let manager = Manager::new(attached.clone().boxed(), timing, 0);
    let alarm = Rc::new(Cell::new(u64::MAX));
    let mut follower = Follower {
        mailbox: mailbox.clone(),
        transport: attached.clone(),
        trail: Trail::default(),
        quiet_ns: QUIET_NS.max(2 * settings.smp_timeout_ns),
        end_ns: time.now_ns() + BARRIERS * settings.barrier_timeout_ns,
        busy_ns: time.now_ns(),
        alarm: alarm.clone(),
        report: TakeoverReport {
            standby: own.whole.describe_node(standby.node),
            lost_ns,
            began_ns: time.now_ns(),
            up_ns: None,
            arrival: None,
            why: None,
            changes: Vec::new(),
            failures: Vec::new(),
            rests_ns: None,
        },
    };
    let trail = follower.trail.clone();
    let mut running = Box::pin(sm::run(manager, context(acting, engines, mailbox), RunUntil::Stopped));
    let future = std::future::poll_fn(move |polls| {
        if let Poll::Ready(ended) = running.as_mut().poll(polls) {
            follower.report.failures.extend(ended.err().map(|error| error.to_string()));
            return Poll::Ready(follower.report.clone());
        }
        if follower.is_done() { Poll::Ready(follower.report.clone()) } else { Poll::Pending }
    });
    let task = ManagerTask { future: Box::pin(future), trail, transport: attached, alarm, is_last: true };
    // Nothing else happens any more: later events are the first manager's.
    let over = LaterEvents::new(None, acting.scenario.departure);
    time.drive(vec![task], &over, |_: &mut Sim| {})?.pop()
}

/// Whoever follows the manager that takes over, from outside.
struct Follower {
    mailbox: SharedMailbox,
    transport: SimTransport,
    trail: Trail,
    quiet_ns: u64,
    end_ns: u64,
    busy_ns: u64,
    alarm: Rc<Cell<u64>>,
    report: TakeoverReport,
}

impl Follower {
    /// Notes what happened, and returns whether the manager is at rest or given up.
    fn is_done(&mut self) -> bool {
        let happenings: Vec<(u64, Happening)> = self.mailbox.borrow_mut().happenings().collect();
        for (at_ns, happening) in happenings {
            self.busy_ns = at_ns;
            self.note(at_ns, happening);
        }
        let now_ns = self.transport.with(|sim| sim.now_ns());
        let idle = match self.mailbox.borrow().lifecycle() {
            LifecycleState::Idle(unfinished) => unfinished.retry_ns.is_none(),
            _ => false,
        };
        let rests_ns = self.busy_ns + self.quiet_ns;
        let rests = idle && self.report.up_ns.is_some() && now_ns >= rests_ns;
        if rests {
            self.report.rests_ns = Some(self.busy_ns);
        }
        let next_ns = if now_ns < rests_ns { rests_ns } else { now_ns + self.quiet_ns };
        self.alarm.set(next_ns.min(self.end_ns));
        rests || now_ns >= self.end_ns
    }

    fn note(&mut self, at_ns: u64, happening: Happening) {
        match happening {
            Happening::Up { arrival, .. } => {
                self.report.up_ns = Some(at_ns);
                self.report.arrival = Some(arrival.name());
                self.report.why = arrival.why().map(str::to_string);
            }
            Happening::Entered { state } => self.trail.enter(state),
            Happening::Changed(record) => self.report.changes.push(TakeoverChange {
                completed: record.outcome == Outcome::Completed,
                scheme: record.plan.plan().scheme(),
                proved: record.plan.proof().is_some(),
                phases: record.phases.iter().map(PhaseReport::of).collect(),
            }),
            Happening::Failed(why) => self.report.failures.push(why),
            _ => {}
        }
    }
}

fn context(acting: &ActingSubnet<'_>, engines: &Engines, mailbox: SharedMailbox) -> Context {
    let (scenario, own) = (acting.scenario, acting.setup);
    let sm = own.standby.unwrap_or(own.sm);
    let port = own.whole.port(sm);
    let config = Config {
        policy: scenario.policy,
        auto: scenario.auto,
        sources: scenario.sources,
        lmc: port.lmc,
        data_vls: own.config.data_vls,
        ..Config::by(engines.after.clone())
    };
    let guid = port.guid.unwrap_or(Guid(own.whole.node(port.node).guid.0 + u64::from(PortNum(1).0)));
    Context::of(config, ElectionRules::new(Rank { priority: 0, guid }), mailbox)
}
