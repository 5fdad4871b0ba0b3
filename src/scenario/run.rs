//! One run: setup, the change under traffic, and the report.

use super::acting::DrivenChange;
use super::engines::Engines;
use super::estimate::RunOutlook;
use super::later::LaterEvents;
use super::outcome::SimulationReport;
use super::report::{Ran, report_on};
use super::setting::Scenario;
use super::setup::Setup;
use super::time::Time;
use super::timeline::{RoutesChange, Timeline};
use super::watch::Watch;
use super::{ScenarioError, load};
use crate::change::Prepared;
use crate::fabric::PortId;
use crate::fabric::subnets::SubnetPort;
use crate::journal::Journal;
use crate::plan::Scheme;
use crate::vet::Vetted;
use std::rc::Rc;
use std::sync::Arc;

/// Runs a scenario.
///
/// # Errors
/// The run could not begin, or the change among several subnets is refused. Later failures are outcomes.
pub fn run(
    scenario: &Scenario,
    engines: impl Into<Engines>,
    watch: &mut dyn Watch,
) -> Result<SimulationReport, ScenarioError> {
    let engines = engines.into();
    let setup = Setup::new(scenario, &engines)?;
    let ahead = setup.prepare(&engines)?;
    let prepared: Vec<Prepared> = ahead.iter().map(|ahead| ahead.change().clone()).collect();
    let RunOutlook { load, hops, usual } = load::outlook(&setup, &prepared);
    let transports = setup.simulation(load)?;
    let acting = setup.acting_subnets(&transports);
    let plans: Vec<Arc<Vetted>> = prepared.iter().map(|prepared| prepared.plan.clone()).collect();
    let whole = setup.prove(&plans);
    // A baseline runs even if refused: its behaviour is what the comparison is for.
    if let (Some(Err(refusal)), false) = (&whole, acting.is_empty() || scenario.scheme != Scheme::Double) {
        return Err(ScenarioError::Refused(Box::new(refusal.clone())));
    }
    if let (Some(path), [acting]) = (&scenario.journal, &acting[..]) {
        let journal = Journal::create(path).map_err(|error| ScenarioError::Journal(error.to_string()))?;
        acting.journal.replace(Some(journal));
    }
    watch.usual_load_is(usual);
    watch.begins(hops, load);
    let transport = transports[0].clone();
    let mut time = Time { transport: transport.clone(), watch };
    let at = |end: SubnetPort| setup.placement(end.subnet).port(end.port);
    let connections: Vec<[PortId; 2]> = scenario.connections.iter().map(|ends| ends.map(at)).collect();
    for &[active, passive] in &connections {
        transport.with(|sim| sim.check_connection(active, passive))?;
    }
    let between = setup.between.as_ref();
    let routes = between.map(|between| RoutesChange { before: &between.routes, after: &between.routes_after });
    let alone = between.is_none().then(|| &setup.each[0]);
    let later = Rc::new(LaterEvents::new(alone, scenario.departure));
    if let (false, Some(_)) =
        (scenario.later.is_empty(), prepared.iter().find_map(|one| one.last().plan.plan().new_ways()))
    {
        let why = "later events are followed for engines by which every source may use every path: choose another one";
        return Err(ScenarioError::Unsupported(why));
    }
    let timeline = Timeline {
        settings: scenario,
        acting: &acting,
        prepared: &prepared,
        ahead: &ahead,
        routes,
        later: later.clone(),
        connections,
    };
    let changes = timeline.run(&mut time, &engines);
    let events = later.report();
    watch.ends();
    // After a loss the manager makes a new plan: the proof reported is that of the plan that ran.
    let ran =
        |(change, plan): (&DrivenChange, &Arc<Vetted>)| change.report.as_ref().map_or(plan, |run| &run.plan).clone();
    let ran: Vec<Arc<Vetted>> = changes.iter().zip(&plans).map(ran).collect();
    let same = ran.iter().zip(&plans).all(|(ran, plan)| ran.plan() == plan.plan());
    let whole = if same { whole } else { setup.prove(&ran) };
    Ok(transport.with(|sim| report_on(&Ran { setup: &setup, sim, changes, events, prepared: &prepared, whole })))
}

/// The plan with which the change of one subnet begins, as far as it is known beforehand; nothing is simulated.
///
/// # Errors
/// The change cannot be made, or the number of subnets that change is not one.
pub fn plan(scenario: &Scenario, engines: impl Into<Engines>) -> Result<Arc<Vetted>, ScenarioError> {
    prepared(scenario, engines).map(|prepared| prepared.plan)
}

/// This plan and the plans that follow it.
///
/// # Errors
/// As for [`plan`].
pub fn prepared(scenario: &Scenario, engines: impl Into<Engines>) -> Result<Prepared, ScenarioError> {
    let engines = engines.into();
    match &Setup::new(scenario, &engines)?.prepare(&engines)?[..] {
        [only] => Ok(only.change().clone()),
        _ => Err(ScenarioError::Unsupported(
            "there is one plan only if one subnet changes: name the element that changes in it",
        )),
    }
}
