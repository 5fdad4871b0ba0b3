//! One subnet in one run: the stage is set, the change takes its course, and everything is added up.

use super::course::Course;
use super::engines::Engines;
use super::outcome::SimulationReport;
use super::setting::Scenario;
use super::site::Site;
use super::stage::{Place, Stage};
use super::summary::summary;
use super::time::Time;
use super::watch::Watch;
use super::{ScenarioError, estimate};
use crate::change::Prepared;
use crate::plan::Vetted;
use std::sync::Arc;

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
    let (load, expected_hops) = estimate::load_and_hops(scenario, &stage);
    stage.config.load = load;
    let transport = stage.simulation()?;
    watch.begins(expected_hops, load);
    let site = Site { scenario, stage: &stage, place: Place::default(), transport: transport.clone() };
    let mut time = Time { transport: transport.clone(), watch };
    let prepared = site.prepare(&engines)?;
    let course = Course { settings: scenario, sites: &[site], prepared: std::slice::from_ref(&prepared), routes: None };
    let change = course.run(&mut time, &engines).remove(0);
    watch.ends();
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
    Site { scenario, stage, place: Place::default(), transport: stage.simulation()? }.prepare(engines)
}
