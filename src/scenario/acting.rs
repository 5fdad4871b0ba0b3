//! A subnet whose manager acts in a run: the event, the manager's reaction, and the result.

use super::ScenarioError;
use super::engines::Engines;
use super::outcome::Ending;
use super::setting::{Detection, Scenario};
use super::subnet_setup::{self, Placement, SubnetSetup};
use super::summary::DrivenChange;
use super::time::ManagerTask;
use super::witness::Witnessed;
use crate::change::{Departure, Prepared};
use crate::driver::{self, Driver, DriverError, Intent, Running};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Half;
use crate::journal::Journal;
use crate::machine::Outcome;
use crate::plan::Scheme;
use crate::routing::Engine;
use crate::sim::{Sim, SimTransport};
use crate::subnet::{Manager, SubnetManager};
use std::cell::RefCell;
use std::sync::Arc;

/// The result of a driver's work.
pub(super) type Driven = Result<Option<driver::ChangeRecord>, DriverError>;

/// One subnet in which something changes.
pub(super) struct ActingSubnet<'a> {
    pub scenario: &'a Scenario,
    pub setup: &'a SubnetSetup,
    pub placement: Placement,
    pub transport: SimTransport,
    /// Where the change is recorded, until its driver has it.
    pub journal: RefCell<Option<Journal>>,
}

impl ActingSubnet<'_> {
    /// Plans the change before anything has happened, so that an impossible change is an error and not an outcome. The
    /// plan assumes that newcomers are present, and that a sudden departure is over.
    pub fn prepare(&self, engines: &Engines) -> Result<Prepared, ScenarioError> {
        let alive = if self.is_sudden() { &self.setup.after } else { &self.setup.whole };
        self.driver(engines.after.clone(), alive).prepare(self.setup.after.clone()).map_err(|error| match error {
            DriverError::Change(error) => ScenarioError::Change(error),
            other => unreachable!("preparing a change sends nothing: {other}"),
        })
    }

    pub fn driver(&self, engine: Arc<dyn Engine>, alive: &Arc<Fabric>) -> Driver<Witnessed> {
        let setup = self.setup;
        let devices = setup.whole.nodes().filter(|(_, node)| node.present).count();
        let mut timing = self.scenario.devices.timing(&self.scenario.device_settings(), devices);
        timing.poll_silence_ns = self.scenario.poll_silence_ns;
        if self.scenario.detection != Detection::Trap {
            // The first sweep sets the period.
            timing.light_sweep_ns = None;
        }
        let running = Running {
            known: setup.whole.clone(),
            routed: setup.before.clone(),
            alive: alive.clone(),
            tables: setup.tables.clone(),
            layers: setup.function.layers(),
            ways: setup.function.path_layers().cloned(),
            half: Half::Lower,
            // Whoever cannot be told may not have asked since the last change (W.7); with LMC 0 there is one half to send on.
            both_halves: self.scenario.sources.settle_ns().is_some() && setup.whole.has_both_halves(),
            sm: setup.sm,
        };
        let intent = Intent {
            engine,
            scheme: self.scenario.scheme,
            auto: self.scenario.auto,
            policy: self.scenario.policy,
            unproved_baselines: matches!(self.scenario.scheme, Scheme::Static | Scheme::InPlace),
        };
        let mut manager = Manager::new(self.transport.clone(), timing, 0).swept();
        manager.move_sources(self.scenario.sources);
        manager.count_from_power_on();
        let mut driver = Driver::new(Witnessed::new(manager, self.placement.first_port), running, intent);
        driver.computes_for(self.scenario.compute_ns);
        driver
    }

    fn with<T>(&self, act: impl FnOnce(&mut Sim) -> T) -> T {
        self.transport.with(act)
    }

    /// Gives the sources of this subnet the paths of R′ that they will learn.
    pub fn make_known(&self, prepared: &Prepared) {
        let stranded: Vec<PortId> = prepared.stranded.iter().map(|&port| self.placement.port(port)).collect();
        self.with(|sim| sim.omit(&stranded));
        if prepared.plan.plan().scheme() == Scheme::Double {
            self.load_ways(Half::Upper, prepared);
        }
    }

    /// Without halves no MAD moves sources: they learn new paths when they query again.
    pub fn ask_anew(&self, prepared: &Prepared) {
        if prepared.plan.plan().scheme() != Scheme::Double {
            self.load_ways(Half::Lower, prepared);
        }
    }

    fn load_ways(&self, half: Half, prepared: &Prepared) {
        let ways = subnet_setup::ways(prepared.plan.plan().new_ways());
        self.with(|sim| sim.load_ways_in(self.placement.subnet, half, ways));
    }

    fn is_sudden(&self) -> bool {
        self.scenario.departure == Departure::Sudden
    }

    /// Where changes are polled for: one light sweep, whose duration sets the period. It ends when the change happens.
    pub fn polling<'a>(&self, driver: &'a mut Driver<Witnessed>) -> Option<ManagerTask<'a, Result<(), DriverError>>> {
        let Detection::Sweep { factor } = self.scenario.detection else { return None };
        let (trail, transport) = (driver.trail(), self.transport.clone());
        let future = Box::pin(async move { Ok(driver.subnet_mut().poll_by(factor).await?) });
        Some(ManagerTask { future, trail, transport, is_last: false })
    }

    /// The nodes that die first in the simulation. Those of all subnets die at once, since a router has one in several.
    pub fn victims(&self) -> impl Iterator<Item = NodeId> {
        let nodes = if self.is_sudden() { &self.setup.moves.leaving.nodes[..] } else { &[] };
        nodes.iter().map(|&node| self.placement.node(node))
    }

    /// Brings what comes, and pulls the cables that fail; nodes have [died](ActingSubnet::victims) by then.
    pub fn strike(&self) {
        let (moves, place) = (&self.setup.moves, self.placement);
        self.with(|sim| {
            moves.coming.nodes.iter().for_each(|&node| sim.revive_node(place.node(node)));
            moves.coming.links.iter().for_each(|&port| sim.revive_link(place.port(port)));
            if self.is_sudden() {
                moves.leaving.links.iter().for_each(|&port| sim.kill_link(place.port(port)));
            }
        });
    }

    /// The manager's reaction.
    pub fn task<'a>(
        &self,
        driver: &'a mut Driver<Witnessed>,
        prepared: Prepared,
        until_ns: u64,
    ) -> ManagerTask<'a, Driven> {
        let (trail, transport) = (driver.trail(), self.transport.clone());
        let (moves, sudden) = (self.setup.moves.clone(), self.is_sudden());
        let future = Box::pin(async move {
            match (moves.coming.is_empty(), sudden) {
                (false, _) => driver.await_growth_without(until_ns, |alive| moves.leaving.taken_from(alive)).await,
                (true, true) => driver.await_loss(until_ns).await,
                (true, false) => driver.run(prepared).await.map(Some),
            }
        });
        ManagerTask { future, trail, transport, is_last: true }
    }

    /// Whether something leaves once the change is made.
    pub fn has_departure(&self) -> bool {
        !self.is_sudden() && !self.setup.moves.leaving.is_empty()
    }

    /// Performs the planned departure, if there is one.
    pub fn depart(&self) {
        let (leaving, place) = (&self.setup.moves.leaving, self.placement);
        if !self.has_departure() {
            return;
        }
        let nodes: Vec<NodeId> = leaving.nodes.iter().map(|&node| place.node(node)).collect();
        self.with(|sim| {
            if !nodes.is_empty() {
                sim.retire_nodes(&nodes);
            }
            leaving.links.iter().for_each(|&port| sim.retire_link(place.port(port)));
        });
    }

    /// The result of the change; none if a deadlock has closed.
    pub fn change(&self, result: Option<Driven>, driver: &Driver<Witnessed>, start_ns: u64) -> DrivenChange {
        let end_ns = self.with(|sim| sim.now_ns());
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
        DrivenChange { ending, reason, start_ns, end_ns, report, smps }
    }
}

fn ending(outcome: &Outcome) -> (Ending, Option<String>) {
    match outcome {
        Outcome::Completed => (Ending::Completed, None),
        Outcome::CalledOff(why) => (Ending::Aborted, Some(format!("called off: {why}"))),
        Outcome::Failed { state, reason } => (Ending::Aborted, Some(format!("stands still while {state}: {reason}"))),
    }
}
