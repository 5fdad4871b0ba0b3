//! Several subnets in one run: traffic within and between them, and a change in one, or of a router between some.
//!
//! Each subnet has a stage of its own (LIDs, R, tables, a manager); one simulation holds them all. Before anything is
//! written the whole is proved, every moment of the change included ([`prove_across`](crate::verify::across::prove_across)). A change in one
//! subnet is driven by that subnet's manager alone; where a router leaves, the managers of its subnets act at once, and all
//! subnet administrations name other routers from then on: before the change where it is planned, once a manager has
//! heard of the loss where it is sudden. Hosts learn of that at once: what a cache of paths costs is not modelled.
//! Lacks on purpose: newcomers, engines that need virtual layers or paths of their own, the adversary.

mod load;
mod outcome;
mod setting;
mod theatre;

pub use outcome::{
    ACROSS_SCHEMA, AcrossReport, AcrossSettings, ChangeIn, PortLoad, RelationReport, RouterPortReport, RouterReport,
    SubnetReport, WholeProof,
};
pub use setting::{AcrossChange, AcrossError, AcrossScenario};

use super::course::{Course, RoutesChange};
use super::engines::Engines;
use super::site::Site;
use super::summary::Change;
use super::time::Time;
use super::watch::Watch;
use crate::plan::{Scheme, Vetted};
use std::sync::Arc;
use theatre::Theatre;

/// Runs a scenario.
///
/// # Errors
/// The run could not begin, or the change is refused. What goes wrong later is an outcome.
pub fn run_across(
    asked: &AcrossScenario,
    engines: impl Into<Engines>,
    watch: &mut dyn Watch,
) -> Result<AcrossReport, AcrossError> {
    let engines = engines.into();
    let theatre = Theatre::set(asked, &engines)?;
    let prepared = theatre.prepare(&theatre.sites(&theatre.simulation(0.0)?), &engines)?;
    let (load, expected_hops) = load::load_and_hops(&theatre, &prepared);
    let transports = theatre.simulation(load)?;
    watch.begins(expected_hops, load);
    let sites: Vec<Site<'_>> = theatre.sites(&transports);
    let plans: Vec<Arc<Vetted>> = prepared.iter().map(|prepared| prepared.plan.clone()).collect();
    let proof = theatre.prove(&sites, &plans);
    if let (Err(refusal), false) = (&proof, sites.is_empty() || asked.settings.scheme != Scheme::Double) {
        return Err(AcrossError::Refused(Box::new(refusal.clone())));
    }
    let transport = transports[0].clone();
    let mut time = Time { transport: transport.clone(), watch };
    let routes = Some(RoutesChange { before: &theatre.routes, after: &theatre.routes_after });
    let course = Course { settings: &asked.settings, sites: &sites, prepared: &prepared, routes };
    let changes = course.run(&mut time, &engines);
    watch.ends();
    // After a loss a manager plans anew: the proof that is told is of what ran.
    let ran = |(change, plan): (&Change, &Arc<Vetted>)| change.report.as_ref().map_or(plan, |run| &run.plan).clone();
    let ran: Vec<Arc<Vetted>> = changes.iter().zip(&plans).map(ran).collect();
    let same = ran.iter().zip(&plans).all(|(ran, plan)| ran.plan() == plan.plan());
    let proof = if same { proof } else { theatre.prove(&sites, &ran) };
    Ok(transport.with(|sim| outcome::report(&theatre, sim, &sites, changes, &prepared, proof)))
}
