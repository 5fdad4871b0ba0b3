//! The run itself: time passes, the change happens, the driver reacts, and everything is added up.

use super::engines::Engines;
use super::outcome::{Ending, SimulationReport};
use super::setting::Scenario;
use super::site::{Place, Site};
use super::stage::Stage;
use super::summary::{Change, summary};
use super::time::Time;
use super::{ScenarioError, estimate};
use crate::change::Prepared;
use crate::plan::{Arming, Vetted};
use crate::sim::{ArmedPort, Sim};
use std::sync::Arc;

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
    stage.config.armed = armed(scenario);
    let (load, expected_hops) = estimate::load_and_hops(scenario, &stage);
    stage.config.load = load;
    let transport = stage.simulation()?;
    watch.begins(expected_hops, load);
    let site = Site { scenario, stage: &stage, place: Place::default(), transport: transport.clone() };
    let mut time = Time { transport: transport.clone(), watch };
    let (change, prepared) = perform(&mut time, &site, &engines)?;
    watch.ends();
    Ok(transport.with(|sim| summary(scenario, &stage, sim, change, &prepared)))
}

/// What ARMED ports do under a policy.
pub(super) fn armed(scenario: &Scenario) -> ArmedPort {
    match scenario.policy.arming {
        Arming::Discard => ArmedPort::Discards,
        Arming::Hold | Arming::Off => ArmedPort::Holds,
    }
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
    Site { scenario, stage, place: Place::default(), transport: stage.simulation()? }.prepare(engines)
}

fn perform(time: &mut Time<'_>, site: &Site<'_>, engines: &Engines) -> Result<(Change, Prepared), ScenarioError> {
    let (scenario, transport) = (site.scenario, site.transport.clone());
    let prepared = site.prepare(engines)?;
    let mut driver = site.driver(engines.after.clone(), &site.stage.before);
    site.make_known(&prepared);
    transport.with(Sim::start);
    time.pass(scenario.warm_up_ns);
    transport.with(Sim::begin_period);
    time.pass(scenario.before_ns);
    transport.with(Sim::begin_period);
    let start_ns = time.now_ns();
    site.strike();
    let task = site.task(&mut driver, prepared.clone(), start_ns + scenario.barrier_timeout_ns);
    let result = time.drive(vec![task], |_, _, _| {}).and_then(|results| results.into_iter().next());
    let change = site.change(result, &driver, start_ns);
    transport.with(Sim::begin_period);
    site.ask_anew(&prepared);
    if change.ending != Ending::Deadlocked {
        time.pass(scenario.after_ns);
        if change.ending == Ending::Completed && site.depart() {
            time.pass(scenario.after_ns / 4);
        }
        time.run_out();
    }
    Ok((transport.with(|sim| judge(change, sim)), prepared))
}

/// A deadlock that closed after the change, or was only suspected, counts like any other.
pub(super) fn judge(mut change: Change, sim: &Sim) -> Change {
    if change.ending != Ending::Deadlocked && sim.deadlock().is_some() {
        change.ending = Ending::Deadlocked;
        change.reason = Some("packets wait for each other in a circle; it closed after the last write".into());
    }
    change
}
