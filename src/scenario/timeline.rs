//! The periods of a run, the same for one subnet and for several: traffic under R; the failure or the announced change,
//! with the managers' reaction; the planned departure; traffic under R′; the end of all traffic.

use super::acting::{ActingSubnet, DrivenChange, ManagerReaction};
use super::engines::Engines;
use super::later::LaterEvents;
use super::outcome::Ending;
use super::setting::{Detection, Scenario};
use super::standby::take_over;
use super::time::Time;
use crate::change::{Departure, Prepared};
use crate::driver::PreparedAhead;
use crate::fabric::PortId;
use crate::routers::Routes;
use crate::sim::{Elements, Sim};
use std::rc::Rc;

/// The routes between subnets, before and after the change, as subnet administrations and routers know them.
#[derive(Clone, Copy)]
pub(super) struct RoutesChange<'a> {
    pub before: &'a Routes,
    pub after: &'a Routes,
}

pub(super) struct Timeline<'a> {
    /// Periods, departure and timeouts; the rest belongs to each subnet.
    pub settings: &'a Scenario,
    /// The subnets in which something changes.
    pub acting: &'a [ActingSubnet<'a>],
    /// By subnet: the change as planned beforehand.
    pub prepared: &'a [Prepared],
    /// The prepared changes, each with what it was prepared from.
    pub ahead: &'a [PreparedAhead],
    /// `None` if there is one subnet.
    pub routes: Option<RoutesChange<'a>>,
    /// The connections that hosts set up, by ports of the simulation.
    pub connections: Vec<[PortId; 2]>,
    /// What happens after the first event.
    pub later: Rc<LaterEvents<'a>>,
}

impl Timeline<'_> {
    /// Runs all periods. Returns the result of the change, by subnet.
    pub fn run(&self, time: &mut Time<'_>, engines: &Engines) -> Vec<DrivenChange> {
        let transport = time.transport.clone();
        self.pairs().for_each(|(acting, prepared)| acting.make_known(prepared));
        transport.with(Sim::start);
        // Reports read periods by their names in `measures`.
        time.pass(self.settings.warm_up_ns);
        transport.with(Sim::begin_period);
        for &[active, passive] in &self.connections {
            transport.with(|sim| sim.connect(active, passive)).expect("the run begins after they were checked");
        }
        time.pass(self.settings.before_ns);
        transport.with(Sim::begin_period);
        let changes = self.change(time, engines);
        transport.with(Sim::begin_period);
        // Subnet administration answers with the new paths once they are in force, and not at all where they are not.
        let made = |(_, change): &(_, &DrivenChange)| change.ending == Ending::Completed;
        self.pairs().zip(&changes).filter(made).for_each(|((acting, prepared), _)| acting.ask_anew(prepared));
        let is_deadlocked = || transport.with(|sim| sim.deadlock().is_some());
        let completed = changes.iter().all(|change| change.ending == Ending::Completed);
        // Unused elements are removed a moment later, and only then does the period *after* of the reports begin.
        if !is_deadlocked() && completed && self.acting.iter().any(ActingSubnet::has_departure) {
            time.pass(self.settings.after_ns / 4);
            match self.routes {
                Some(_) => self.acting.iter().for_each(ActingSubnet::depart),
                None => transport.with(|sim| self.later.depart(sim)),
            }
        }
        transport.with(Sim::begin_period);
        // A deadlock ends the simulation: later periods cannot run.
        if !is_deadlocked() {
            time.pass(self.settings.after_ns);
            time.run_out();
        }
        transport.with(Sim::open_bins);
        transport.with(|sim| changes.into_iter().map(|change| judge(change, sim)).collect())
    }

    fn pairs(&self) -> impl Iterator<Item = (&ActingSubnet<'_>, &Prepared)> {
        self.acting.iter().zip(self.prepared)
    }

    fn is_sudden(&self) -> bool {
        self.settings.departure == Departure::Sudden
    }

    /// The element fails, is added or is announced, and all managers concerned act at the same time. Subnet
    /// administrations and routers know of a planned change beforehand, of a loss once the first manager has noticed
    /// it.
    fn change(&self, time: &mut Time<'_>, engines: &Engines) -> Vec<DrivenChange> {
        let driver = |(acting, ahead): (&ActingSubnet<'_>, &PreparedAhead)| {
            let mut driver = acting.driver(engines.after.clone(), &acting.setup.before);
            driver.expect(ahead.clone());
            if let Some(journal) = acting.journal.take() {
                driver.record_in(journal);
            }
            driver
        };
        let mut drivers: Vec<_> = self.acting.iter().zip(self.ahead).map(driver).collect();
        let polling = self.acting.iter().zip(&mut drivers).filter_map(|(acting, driver)| acting.polling(driver));
        // A manager that cannot sweep ends with the same error below. A deadlock under R ends the change as any does.
        let _ = time.drive(polling.collect(), &LaterEvents::new(None, self.settings.departure), |_| {});
        let period_ns = drivers.iter().filter_map(|driver| driver.subnet().light_sweep_ns()).max();
        let period_ns = period_ns.filter(|_| self.settings.detection != Detection::Trap).unwrap_or(0);
        let start_ns = time.now_ns();
        if let (Some(routes), false) = (self.routes, self.is_sudden()) {
            time.transport.with(|sim| sim.set_routes(routes.after.clone()));
        }
        time.transport.with(Sim::count_outages);
        self.strike(time);
        time.transport.with(|sim| self.later.begins(sim));
        let until_ns = start_ns.saturating_add(self.settings.barrier_timeout_ns).saturating_add(period_ns);
        let tasks = self.pairs().zip(&mut drivers);
        let tasks = tasks
            .map(|((acting, prepared), driver)| acting.task(driver, prepared.clone(), until_ns, self.later.clone()))
            .collect();
        // `take` below: the first state that any manager enters shows that a manager has noticed the loss.
        let mut unannounced = self.routes.filter(|_| self.is_sudden());
        let results = time.drive(tasks, &self.later, |sim| {
            if let Some(routes) = unannounced.take() {
                sim.set_routes(routes.after.clone());
            }
        });
        // Where a deadlock has closed, it ends the change for all managers, even those that had finished.
        let results: Vec<ManagerReaction> =
            results.unwrap_or_else(|| self.acting.iter().map(|_| ManagerReaction::Deadlocked).collect());
        let takeover = self.later.lost_master_ns().filter(|_| matches!(results[..], [ManagerReaction::Lost]));
        let takeover = takeover.and_then(|lost_ns| take_over(&self.acting[0], time, lost_ns, engines));
        let ends = self.acting.iter().zip(&drivers).zip(results);
        let changes: Vec<DrivenChange> =
            ends.map(|((acting, driver), result)| acting.change(result, driver, start_ns, takeover.clone())).collect();
        if !self.is_sudden() && !changes.is_empty() && changes.iter().all(|change| change.ending == Ending::Aborted) {
            // All changes were aborted, so the element stays in use.
            let stay = |routes: RoutesChange<'_>| time.transport.with(|sim| sim.set_routes(routes.before.clone()));
            self.routes.into_iter().for_each(stay);
        }
        changes
    }

    /// Kills what dies before the change, and adds newcomers. All nodes die at the same moment.
    fn strike(&self, time: &Time<'_>) {
        let nodes = self.acting.iter().flat_map(ActingSubnet::victims).collect();
        time.transport.with(|sim| sim.kill(Elements { nodes, ..Elements::default() }));
        self.acting.iter().for_each(ActingSubnet::strike);
    }
}

/// Adds a deadlock that closed after the change, or was only suspected.
fn judge(mut change: DrivenChange, sim: &Sim) -> DrivenChange {
    if change.ending != Ending::Deadlocked && sim.deadlock().is_some() {
        change.ending = Ending::Deadlocked;
        // Under a limit the run goes on past a circle, which may have closed long before.
        let circle = match sim.deadlock_limit_ns() {
            Some(_) => "packets wait for each other in a circle, and the run ends before a lifetime limit discards one",
            None => "packets wait for each other in a circle; it closed after the last write",
        };
        change.reason = Some(circle.into());
    }
    change
}
