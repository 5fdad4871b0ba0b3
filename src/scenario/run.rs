//! The run itself: time passes, the change happens, the driver reacts, and everything is added up.

use super::engines::Engines;
use super::outcome::{Ending, SimulationReport};
use super::setting::{Element, Scenario};
use super::stage::{self, Stage};
use super::summary::{Change, summary};
use super::{ScenarioError, estimate};
use crate::change::{Departure, Prepared};
use crate::driver::{self, Driver, Intent, Running, Trail};
use crate::fabric::Fabric;
use crate::ids::Half;
use crate::machine::Outcome;
use crate::plan::{Arming, Scheme, Vetted};
use crate::routing::Engine;
use crate::sim::{ArmedPort, Halt, Sim, SimTransport};
use crate::subnet::{Manager, SubnetManager, Timing};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Simulated time between two reports of progress.
const SLICE_NS: u64 = 20_000;

/// How long packets may take to arrive once nobody sends any more.
const RUN_OUT_NS: u64 = 50_000_000;

/// Who wants to know how a run is getting on.
pub trait Watch {
    /// The run begins, and is expected to take so many packet-hops at the load decided on.
    fn begins(&mut self, expected_hops: u64, load: f64);

    /// So many packet-hops are done; this much simulated time has passed.
    fn passes(&mut self, packet_hops: u64, now_ns: u64);

    /// The change has come to this state of the machine (`state-machines/change.yaml`); no time has passed since, so that
    /// `sim` shows what the barrier before it left.
    fn enters(&mut self, _state: &'static str, _sim: &Sim) {}

    /// The run is over.
    fn ends(&mut self);
}

/// Runs a scenario.
///
/// # Errors
/// The run could not begin. What goes wrong later is an outcome.
pub fn run(
    scenario: &Scenario,
    engines: impl Into<Engines>,
    watch: &mut dyn Watch,
) -> Result<SimulationReport, ScenarioError> {
    let engines = engines.into();
    let mut stage = Stage::set(scenario, &engines)?;
    stage.config.armed = match scenario.policy.arming {
        Arming::Discard => ArmedPort::Discards,
        Arming::Hold | Arming::Off => ArmedPort::Holds,
    };
    let (load, expected_hops) = estimate::load_and_hops(scenario, &stage);
    stage.config.load = load;
    let transport = stage.simulation()?;
    watch.begins(expected_hops, load);
    let mut play = Play { scenario, stage: &stage, transport: transport.clone(), watch };
    let (change, prepared) = play.perform(engines.after)?;
    play.watch.ends();
    Ok(transport.with(|sim| summary(scenario, &stage, sim, change, &prepared)))
}

/// The plan that a scenario's change begins with, as far as it is known beforehand; nothing is simulated.
///
/// # Errors
/// The change cannot be made.
pub fn plan(scenario: &Scenario, engines: impl Into<Engines>) -> Result<Arc<Vetted>, ScenarioError> {
    let engines = engines.into();
    let stage = Stage::set(scenario, &engines)?;
    Ok(prepare(scenario, &stage, &engines)?.plan)
}

/// The change that a scenario begins with.
pub(super) fn prepare(scenario: &Scenario, stage: &Stage, engines: &Engines) -> Result<Prepared, ScenarioError> {
    let transport = stage.simulation()?;
    Play { scenario, stage, transport, watch: &mut Unwatched }.prepare(engines.after.clone())
}

/// Nobody wants to know.
struct Unwatched;

impl Watch for Unwatched {
    fn begins(&mut self, _: u64, _: f64) {}

    fn passes(&mut self, _: u64, _: u64) {}

    fn ends(&mut self) {}
}

struct Play<'a> {
    scenario: &'a Scenario,
    stage: &'a Stage,
    transport: SimTransport,
    watch: &'a mut dyn Watch,
}

impl Play<'_> {
    fn perform(&mut self, engine: Rc<dyn Engine>) -> Result<(Change, Prepared), ScenarioError> {
        let prepared = self.prepare(engine.clone())?;
        let mut driver = self.driver(engine, &self.stage.before);
        self.transport.with(|sim| sim.omit(&prepared.stranded));
        let ways = stage::ways(prepared.function.path_layers());
        let halves = self.scenario.scheme == Scheme::Double;
        if halves {
            self.transport.with(|sim| sim.load_ways(Half::Upper, ways.clone()));
        }
        self.transport.with(Sim::start);
        self.pass(self.scenario.warm_up_ns);
        self.transport.with(Sim::begin_period);
        self.pass(self.scenario.before_ns);
        self.transport.with(Sim::begin_period);
        let start_ns = self.transport.with(|sim| sim.now_ns());
        let change = self.change(&mut driver, prepared.clone(), start_ns);
        self.transport.with(Sim::begin_period);
        if !halves {
            // Without halves nobody is told: sources learn of new paths once they ask again.
            self.transport.with(|sim| sim.load_ways(Half::Lower, ways));
        }
        if change.ending != Ending::Deadlocked {
            self.pass(self.scenario.after_ns);
            if change.ending == Ending::Completed {
                self.depart();
            }
            self.run_out();
        }
        Ok((self.judge(change), prepared))
    }

    /// Plans the change before anything has happened, so that what cannot be done is an error and not an outcome. A
    /// newcomer is planned for as if it had come, a sudden departure as if it were over.
    fn prepare(&self, engine: Rc<dyn Engine>) -> Result<Prepared, ScenarioError> {
        let alive = match self.stage.element {
            Element::Newcomer(_) => &self.stage.whole,
            _ if self.scenario.departure == Departure::Sudden => &self.stage.after,
            _ => &self.stage.before,
        };
        self.driver(engine, alive).prepare(self.stage.after.clone()).map_err(|error| match error {
            driver::DriverError::Change(error) => ScenarioError::Change(error),
            other => unreachable!("preparing a change sends nothing: {other}"),
        })
    }

    fn driver(&self, engine: Rc<dyn Engine>, alive: &Arc<Fabric>) -> Driver<Manager<SimTransport>> {
        let stage = self.stage;
        let devices = stage.whole.nodes().filter(|(_, node)| node.present).count();
        let timing = Timing {
            timeout_ns: self.scenario.smp_timeout_ns,
            retries: self.scenario.smp_retries,
            window: self.scenario.window.unwrap_or(devices),
            smp_lifetime_ns: self.scenario.smp_timeout_ns,
            poll_first_ns: 5_000,
            poll_most_ns: 500_000,
            barrier_ns: self.scenario.barrier_timeout_ns,
            light_sweep_ns: Some(10_000_000),
            ..Timing::default()
        };
        let running = Running {
            known: stage.whole.clone(),
            routed: stage.before.clone(),
            alive: alive.clone(),
            tables: stage.tables.clone(),
            layers: stage.function.layers(),
            ways: stage.function.path_layers().cloned(),
            half: Half::Lower,
            sm: stage.sm,
        };
        let intent = Intent {
            engine,
            scheme: self.scenario.scheme,
            policy: self.scenario.policy,
            unproved_baselines: self.scenario.scheme != Scheme::Double,
        };
        Driver::new(Manager::new(self.transport.clone(), timing, 0), running, intent)
    }

    /// Lets traffic run for a while.
    fn pass(&mut self, length_ns: u64) {
        let end_ns = self.transport.with(|sim| sim.now_ns()) + length_ns;
        while self.transport.with(|sim| sim.deadlock().is_none() && sim.now_ns() < end_ns) {
            self.transport.with(|sim| sim.run((sim.now_ns() + SLICE_NS).min(end_ns), false));
            self.tell();
        }
    }

    fn tell(&mut self) {
        let (hops, now_ns) = self.transport.with(|sim| (sim.packet_hops(), sim.now_ns()));
        self.watch.passes(hops, now_ns);
    }

    /// The change: announced, or begun by a death or an arrival.
    fn change(&mut self, driver: &mut Driver<Manager<SimTransport>>, prepared: Prepared, start_ns: u64) -> Change {
        let sudden = self.scenario.departure == Departure::Sudden;
        match self.stage.element {
            Element::Newcomer(node) => self.transport.with(|sim| sim.revive_node(node)),
            Element::Switch(node) if sudden => self.transport.with(|sim| sim.kill_node(node)),
            Element::Link(port) if sudden => self.transport.with(|sim| sim.kill_link(port)),
            Element::Switch(_) | Element::Link(_) | Element::Root => {}
        }
        let until_ns = start_ns + self.scenario.barrier_timeout_ns;
        let trail = driver.trail();
        let result = match self.stage.element {
            Element::Newcomer(_) => self.drive(&trail, driver.await_growth(until_ns)),
            _ if sudden => self.drive(&trail, driver.await_loss(until_ns)),
            _ => self.drive(&trail, async { driver.run(prepared).await.map(Some) }),
        };
        let end_ns = self.transport.with(|sim| sim.now_ns());
        let smps = driver.subnet().smps().clone();
        let (ending, reason, report) = match result {
            None => (Ending::Deadlocked, Some("packets wait for each other in a circle".into()), None),
            Some(Err(error)) => (Ending::Aborted, Some(error.to_string()), None),
            Some(Ok(None)) => (Ending::Aborted, Some("the subnet manager heard of no change".into()), None),
            Some(Ok(Some(report))) => {
                let (ending, reason) = ending(&report.outcome);
                (ending, reason, Some(report))
            }
        };
        Change { ending, reason, start_ns, end_ns, report, smps }
    }

    /// Polls a future of the driver; whenever it waits, the simulation goes on. None once a deadlock has closed.
    fn drive<T>(&mut self, trail: &Trail, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let polled = future.as_mut().poll(&mut context);
            for state in trail.take() {
                self.transport.with(|sim| self.watch.enters(state, sim));
            }
            if let Poll::Ready(result) = polled {
                return Some(result);
            }
            loop {
                let at_most_ns = self.transport.with(|sim| sim.now_ns()) + SLICE_NS;
                match self.transport.advance(at_most_ns) {
                    Halt::Deadlock => return None,
                    Halt::Mad => break,
                    Halt::Time => {
                        self.tell();
                        if self.transport.with(|sim| sim.now_ns()) >= self.transport.waits_until_ns() {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// What was to leave as planned leaves now, if the change was made.
    fn depart(&mut self) {
        if self.scenario.departure == Departure::Sudden {
            return;
        }
        match self.stage.element {
            Element::Switch(node) => self.transport.with(|sim| sim.retire_node(node)),
            Element::Link(port) => self.transport.with(|sim| sim.retire_link(port)),
            Element::Newcomer(_) | Element::Root => return,
        }
        self.pass(self.scenario.after_ns / 4);
    }

    /// Nobody sends any more; what is on its way arrives, or never will.
    fn run_out(&mut self) {
        self.transport.with(Sim::begin_period);
        self.transport.with(Sim::stop_sources);
        let end_ns = self.transport.with(|sim| sim.now_ns()) + RUN_OUT_NS;
        while self
            .transport
            .with(|sim| sim.deadlock().is_none() && sim.packets().in_flight > 0 && sim.now_ns() < end_ns)
        {
            self.transport.with(|sim| sim.run(sim.now_ns() + SLICE_NS, false));
            self.tell();
        }
        self.transport.with(Sim::confirm_deadlock);
    }

    /// A deadlock that closed after the change, or was only suspected, counts like any other.
    fn judge(&self, mut change: Change) -> Change {
        if change.ending != Ending::Deadlocked && self.transport.with(|sim| sim.deadlock().is_some()) {
            change.ending = Ending::Deadlocked;
            change.reason = Some("packets wait for each other in a circle; it closed after the last write".into());
        }
        change
    }
}

fn ending(outcome: &Outcome) -> (Ending, Option<String>) {
    match outcome {
        Outcome::Completed => (Ending::Completed, None),
        Outcome::CalledOff(why) => (Ending::Aborted, Some(format!("called off: {why}"))),
        Outcome::Failed { state, reason } => (Ending::Aborted, Some(format!("stands still while {state}: {reason}"))),
    }
}
