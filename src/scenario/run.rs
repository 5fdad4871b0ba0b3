//! The run itself: time passes, the change happens, the driver reacts, and everything is added up.

use super::ScenarioError;
use super::foresight::{foresight, named};
use super::outcome::{
    ChangeReport, Ending, FabricSize, Latency, Periods, PhaseReport, ProofReport, SCHEMA, Settings, SimulationReport,
    SmpReport, StuckReport,
};
use super::setting::{Departure, Element, Scenario};
use super::stage::Stage;
use crate::change::Prepared;
use crate::driver::{self, Driver, Intent, Running};
use crate::fabric::Fabric;
use crate::ids::Half;
use crate::machine::Outcome;
use crate::plan::{Arming, Policy, Scheme, Vetted};
use crate::routing::Engine;
use crate::sim::{ArmedPort, Halt, Sim, SimTransport};
use crate::subnet::{Manager, SmpCounts, SubnetManager, Timing};
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

    /// The run is over.
    fn ends(&mut self);
}

/// Runs a scenario.
///
/// # Errors
/// The run could not begin. What goes wrong later is an outcome.
pub fn run(
    scenario: &Scenario,
    engine: Rc<dyn Engine>,
    watch: &mut dyn Watch,
) -> Result<SimulationReport, ScenarioError> {
    let mut stage = Stage::set(scenario, &*engine)?;
    stage.config.armed = match scenario.policy.arming {
        Arming::Discard => ArmedPort::Discards,
        Arming::Hold | Arming::Off => ArmedPort::Holds,
    };
    let transport = stage.simulation()?;
    watch.begins(stage.expected_hops, stage.config.load);
    let mut play = Play { scenario, stage: &stage, transport: transport.clone(), watch };
    let (change, prepared) = play.perform(engine)?;
    play.watch.ends();
    Ok(transport.with(|sim| report(scenario, &stage, sim, change, &prepared)))
}

/// The plan that a scenario's change begins with, as far as it is known beforehand; nothing is simulated.
///
/// # Errors
/// The change cannot be made.
pub fn plan(scenario: &Scenario, engine: Rc<dyn Engine>) -> Result<Arc<Vetted>, ScenarioError> {
    let stage = Stage::set(scenario, &*engine)?;
    let transport = stage.simulation()?;
    let play = Play { scenario, stage: &stage, transport, watch: &mut Unwatched };
    Ok(play.prepare(engine)?.plan)
}

/// Nobody wants to know.
struct Unwatched;

impl Watch for Unwatched {
    fn begins(&mut self, _: u64, _: f64) {}

    fn passes(&mut self, _: u64, _: u64) {}

    fn ends(&mut self) {}
}

/// What came of the change, as far as the driver knows.
struct Change {
    ending: Ending,
    reason: Option<String>,
    start_ns: u64,
    end_ns: u64,
    report: Option<driver::ChangeReport>,
    smps: SmpCounts,
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
        self.transport.with(Sim::start);
        self.pass(self.scenario.warm_up_ns);
        self.transport.with(Sim::begin_period);
        self.pass(self.scenario.before_ns);
        self.transport.with(Sim::begin_period);
        let start_ns = self.transport.with(|sim| sim.now_ns());
        let change = self.change(&mut driver, prepared.clone(), start_ns);
        self.transport.with(Sim::begin_period);
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
    /// newcomer is planned for as if it had come, and what is to die suddenly as if it were dead.
    fn prepare(&self, engine: Rc<dyn Engine>) -> Result<Prepared, ScenarioError> {
        let alive = match (self.stage.element, self.scenario.departure) {
            (Element::Newcomer(_), _) => &self.stage.whole,
            (_, Departure::Sudden) => &self.stage.after,
            (_, Departure::Planned) => &self.stage.before,
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
        let result = match self.stage.element {
            Element::Newcomer(_) => self.drive(driver.await_growth(until_ns)),
            _ if sudden => self.drive(driver.await_loss(until_ns)),
            _ => self.drive(async { driver.run(prepared).await.map(Some) }),
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
    fn drive<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
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
            Element::Switch(node) => self.transport.with(|sim| sim.kill_node(node)),
            Element::Link(port) => self.transport.with(|sim| sim.kill_link(port)),
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

fn report(scenario: &Scenario, stage: &Stage, sim: &Sim, change: Change, prepared: &Prepared) -> SimulationReport {
    let run = change.report.as_ref();
    let plan = run.map_or(&prepared.plan, |run| &run.plan);
    let (root, stranded) = run.map_or((prepared.root, &prepared.stranded), |run| (run.root, &run.stranded));
    let node = |node| stage.whole.describe_node(node);
    let (_, lifetime) = sim.limits_at_work();
    SimulationReport {
        schema: SCHEMA,
        outcome: change.ending,
        reason: change.reason,
        scheme: scenario.scheme,
        engine: stage.function.engine().to_string(),
        seed: stage.config.seed,
        trace_hash: sim.trace_hash(),
        fabric: size(&stage.before),
        change: ChangeReport {
            what: stage.describe(scenario.element),
            departure: scenario.departure.name(),
            root_before: stage.function.root().map(node),
            root_after: root.map(node),
            stranded: stranded.iter().map(|&port| stage.whole.describe_port(port)).collect(),
        },
        settings: settings(scenario, stage),
        sweep: run.and_then(|run| run.sweep.as_ref()).map(|sweep| phase("sweep", sweep)),
        phases: run.map_or_else(Vec::new, |run| run.phases.iter().map(|record| phase(record.name, record)).collect()),
        change_ns: run.map(|_| change.end_ns - change.start_ns),
        packets: sim.packets(),
        misdelivered: sim.misdelivered(),
        packet_hops: sim.packet_hops(),
        deadlock: sim.deadlock().map(|cycle| cycle.iter().map(|stuck| name_stuck(&stage.whole, stuck)).collect()),
        foresight: sim.deadlock().map(|cycle| foresight(plan, cycle)),
        deadlocks_broken: sim.limits_at_work().0,
        lifetime_discards: lifetime,
        latency_ns: latencies(sim),
        throughput: throughputs(sim),
        longest_gap_ns: sim.longest_gap_ns(2),
        smps: smps(&change.smps),
        proof: proof(plan),
        assumptions: plan.plan().draft().assumptions.iter().map(|held| held.name().to_string()).collect(),
        notes: plan.plan().draft().notes.clone(),
    }
}

fn settings(scenario: &Scenario, stage: &Stage) -> Settings {
    let Policy { arming, observer } = scenario.policy;
    Settings {
        load: stage.config.load,
        packet_bytes: stage.config.packet_bytes,
        data_vls: stage.config.data_vls,
        lmc: stage.whole.port(stage.sm).lmc.get(),
        latch: stage.config.latch,
        arming: arming.to_string(),
        drain: observer.to_string(),
        sm: stage.whole.describe_node(stage.whole.port(stage.sm).node),
    }
}

fn size(fabric: &Fabric) -> FabricSize {
    let present = || fabric.nodes().filter(|(_, node)| node.present);
    FabricSize {
        switches: present().filter(|(_, node)| node.is_switch()).count(),
        cas: present().filter(|(_, node)| !node.is_switch()).count(),
        links: fabric.links().count(),
    }
}

fn phase(name: &str, record: &driver::PhaseRecord) -> PhaseReport {
    let smps = record.smps.total() + record.smps.perf;
    PhaseReport { name: name.to_string(), start_ns: record.start_ns, end_ns: record.end_ns, smps }
}

fn name_stuck(fabric: &Fabric, stuck: &crate::sim::StuckPacket) -> StuckReport {
    StuckReport {
        input: fabric.describe_port(stuck.input),
        input_vl: stuck.input_vl.get(),
        output: fabric.describe_port(stuck.output),
        output_vl: stuck.output_vl.get(),
        dlid: stuck.dlid.0,
        sl: stuck.sl.get(),
        born_ns: stuck.born_ns,
    }
}

/// The periods *before*, *during* and *after*; the one of warming up comes first.
fn periods<T: Default>(sim: &Sim, value: impl Fn(usize) -> T) -> Periods<T> {
    let of = |index: usize| if index < sim.periods().len() { value(index) } else { T::default() };
    Periods { before: of(1), during: of(2), after: of(3) }
}

fn latencies(sim: &Sim) -> Periods<Latency> {
    periods(sim, |index| {
        let latency = &sim.periods()[index].latency_ns;
        let quantile = |q| latency.value_at_quantile(q);
        Latency { p50: quantile(0.5), p99: quantile(0.99), max: latency.max() }
    })
}

fn throughputs(sim: &Sim) -> Periods<f64> {
    let capacity = sim.delivery_capacity();
    periods(sim, |index| {
        let length_ns = sim.period_ns(index);
        if length_ns == 0 { 0.0 } else { sim.periods()[index].bytes as f64 / length_ns as f64 / capacity }
    })
}

fn smps(counts: &SmpCounts) -> SmpReport {
    let name =
        |&(attribute, method): &(crate::wire::AttributeId, crate::wire::Method)| format!("{method:?}({attribute:?})");
    let mut by_attribute: std::collections::BTreeMap<String, u64> =
        counts.sent.iter().map(|(key, &count)| (name(key), count)).collect();
    if counts.perf > 0 {
        by_attribute.insert("Performance".into(), counts.perf);
    }
    SmpReport { by_attribute, total: counts.total() + counts.perf }
}

fn proof(plan: &Vetted) -> ProofReport {
    let waves = plan.plan().waves().len();
    let statistics = plan.proof();
    ProofReport {
        status: if statistics.is_some() { "proved" } else { "refused" },
        waves,
        channels: statistics.map_or(0, |proof| proof.channels),
        dependencies: statistics.map_or(0, |proof| proof.dependencies),
        refusal: plan.refusal().map(ToString::to_string),
        cycle: named(plan).cloned(),
    }
}
