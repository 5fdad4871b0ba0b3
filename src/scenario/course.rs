//! The course of a run, the same for one subnet and for several: traffic under R; the failure or the announced change, and
//! what the managers do about it; traffic under R′; the planned departure; the end of all traffic.

use super::engines::Engines;
use super::outcome::Ending;
use super::setting::Scenario;
use super::site::{Driven, Site};
use super::summary::Change;
use super::time::Time;
use crate::change::{Departure, Prepared};
use crate::fabric::NodeId;
use crate::routers::Routes;
use crate::sim::Sim;

/// Which routers lead where, as subnet administrations and routers tell it.
#[derive(Clone, Copy)]
pub(super) struct RoutesChange<'a> {
    pub before: &'a Routes,
    pub after: &'a Routes,
}

/// What is to be run.
pub(super) struct Course<'a> {
    /// Periods, departure and patience; the rest is each site's own.
    pub settings: &'a Scenario,
    /// The subnets in which something changes.
    pub sites: &'a [Site<'a>],
    /// By site: the change as planned beforehand.
    pub prepared: &'a [Prepared],
    /// Nothing where there is one subnet.
    pub routes: Option<RoutesChange<'a>>,
}

impl Course<'_> {
    /// Lets it pass; what came of the change, by site.
    pub fn run(&self, time: &mut Time<'_>, engines: &Engines) -> Vec<Change> {
        let transport = time.transport.clone();
        self.pairs().for_each(|(site, prepared)| site.make_known(prepared));
        transport.with(Sim::start);
        time.pass(self.settings.warm_up_ns);
        transport.with(Sim::begin_period);
        time.pass(self.settings.before_ns);
        transport.with(Sim::begin_period);
        let changes = self.change(time, engines);
        transport.with(Sim::begin_period);
        self.pairs().for_each(|(site, prepared)| site.ask_anew(prepared));
        if transport.with(|sim| sim.deadlock().is_none()) {
            time.pass(self.settings.after_ns);
            let completed = changes.iter().all(|change| change.ending == Ending::Completed);
            if completed && self.sites.iter().filter(|site| site.depart()).count() > 0 {
                time.pass(self.settings.after_ns / 4);
            }
            time.run_out();
        }
        transport.with(|sim| changes.into_iter().map(|change| judge(change, sim)).collect())
    }

    fn pairs(&self) -> impl Iterator<Item = (&Site<'_>, &Prepared)> {
        self.sites.iter().zip(self.prepared)
    }

    fn is_sudden(&self) -> bool {
        self.settings.departure == Departure::Sudden
    }

    /// It happens, and every manager that it concerns acts, all at once. Of a planned change subnet administrations and
    /// routers are told first; of a loss as soon as one manager has heard of it.
    fn change(&self, time: &mut Time<'_>, engines: &Engines) -> Vec<Change> {
        let mut drivers: Vec<_> =
            self.sites.iter().map(|site| site.driver(engines.after.clone(), &site.stage.before)).collect();
        let start_ns = time.now_ns();
        if let (Some(routes), false) = (self.routes, self.is_sudden()) {
            time.transport.with(|sim| sim.set_routes(routes.after.clone()));
        }
        self.strike(time);
        let until_ns = start_ns + self.settings.barrier_timeout_ns;
        let tasks = self.pairs().zip(&mut drivers);
        let tasks = tasks.map(|((site, prepared), driver)| site.task(driver, prepared.clone(), until_ns)).collect();
        let mut untold = self.routes.filter(|_| self.is_sudden());
        let results = time.drive(tasks, |sim| {
            if let Some(routes) = untold.take() {
                sim.set_routes(routes.after.clone());
            }
        });
        let results: Vec<Option<Driven>> = match results {
            Some(results) => results.into_iter().map(Some).collect(),
            None => self.sites.iter().map(|_| None).collect(),
        };
        let ends = self.sites.iter().zip(&drivers).zip(results);
        let changes: Vec<Change> = ends.map(|((site, driver), result)| site.change(result, driver, start_ns)).collect();
        if !self.is_sudden() && !changes.is_empty() && changes.iter().all(|change| change.ending == Ending::Aborted) {
            // What was to leave stays.
            let stay = |routes: RoutesChange<'_>| time.transport.with(|sim| sim.set_routes(routes.before.clone()));
            self.routes.into_iter().for_each(stay);
        }
        changes
    }

    /// What dies first dies, what comes comes; the nodes of a router die at once.
    fn strike(&self, time: &Time<'_>) {
        self.sites.iter().for_each(Site::strike);
        let victims: Vec<NodeId> = self.sites.iter().filter_map(Site::victim).collect();
        if !victims.is_empty() {
            time.transport.with(|sim| sim.kill_nodes(&victims));
        }
    }
}

/// A deadlock that closed after the change, or was only suspected, counts like any other.
fn judge(mut change: Change, sim: &Sim) -> Change {
    if change.ending != Ending::Deadlocked && sim.deadlock().is_some() {
        change.ending = Ending::Deadlocked;
        change.reason = Some("packets wait for each other in a circle; it closed after the last write".into());
    }
    change
}
