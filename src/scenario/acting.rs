//! A subnet whose manager acts in a run: the event, the manager's reaction, and the result.

use super::ScenarioError;
use super::elements::Moves;
use super::engines::Engines;
use super::later::{LaterEvents, NextEvent};
use super::outcome::{Ending, TakeoverReport};
use super::setting::{Detection, Scenario};
use super::subnet_setup::{self, Placement, SubnetSetup};
use super::time::ManagerTask;
use super::witness::Witnessed;
use crate::change::{Departure, Prepared};
use crate::driver::{ChangeRecord, ComputeTime, Driver, DriverError, Intent, PreparedAhead, Running};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Half;
use crate::journal::Journal;
use crate::machine::{Outcome, UNFINISHABLE};
use crate::plan::Scheme;
use crate::routing::Engine;
use crate::sim::{Elements, Sim, SimTransport};
use crate::subnet::{Manager, SmpCounts, SubnetManager};
use crate::transport::Transport;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// The result of a driver's work.
type Driven = Result<Option<ChangeRecord>, DriverError>;

/// The result of one change, as far as the driver knows it.
pub(super) struct DrivenChange {
    pub(super) ending: Ending,
    pub(super) reason: Option<String>,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) report: Option<ChangeRecord>,
    pub(super) smps: SmpCounts,
    /// What the manager did that stood by, if it took over.
    pub(super) takeover: Option<TakeoverReport>,
}

/// What became of a manager's reaction.
pub(super) enum ManagerReaction {
    /// A deadlock has closed.
    Deadlocked,
    /// The manager's node is gone, and another one stands by.
    Lost,
    /// It came to its end.
    Driven(Box<Driven>),
}

/// One subnet in which something changes.
pub(super) struct ActingSubnet<'a> {
    pub scenario: &'a Scenario,
    pub setup: &'a SubnetSetup,
    pub placement: Placement,
    pub transport: SimTransport,
    /// Where the change is recorded, until its driver has it.
    pub journal: RefCell<Option<Journal>>,
    /// Whether routers join it with others.
    pub is_joined: bool,
}

impl ActingSubnet<'_> {
    /// Plans the change before anything has happened, so that an impossible change is an error and not an outcome. The
    /// plan assumes that newcomers are present, and that a sudden departure is over.
    pub fn prepare(&self, engines: &Engines) -> Result<PreparedAhead, ScenarioError> {
        let own = self.setup;
        let mixed = self.is_sudden() && !own.moves.leaving.is_empty() && !own.moves.coming.is_empty();
        // Of a loss and an arrival, the change for the loss comes first (G.6).
        let after =
            if mixed { Arc::new(own.moves.coming.taken_from(&own.after_first)) } else { own.after_first.clone() };
        let alive = if self.is_sudden() { &after } else { &own.at_first };
        // Where the first event takes the manager away, it is the change of the one that stands by.
        let mut driver = self.driver_at(own.sm_in(&own.after_first), engines.after.clone(), alive);
        driver.computes_for(ComputeTime::default());
        driver.prepare_ahead(after.clone()).map_err(|error| match error {
            DriverError::Change(error) => ScenarioError::Change(error),
            other => unreachable!("preparing a change sends nothing: {other}"),
        })
    }

    pub fn driver(&self, engine: Arc<dyn Engine>, alive: &Arc<Fabric>) -> Driver<Witnessed> {
        self.driver_at(self.setup.sm, engine, alive)
    }

    fn driver_at(&self, sm: PortId, engine: Arc<dyn Engine>, alive: &Arc<Fabric>) -> Driver<Witnessed> {
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
            // Hosts that cannot be notified may not have queried since the last change (W.7); with LMC 0 there is one
            // half to send on.
            both_halves: self.scenario.sources.settle_ns().is_some() && setup.whole.has_both_halves(),
            sm,
        };
        let intent = Intent {
            engine,
            scheme: self.scenario.scheme,
            auto: self.scenario.auto,
            policy: self.scenario.policy,
            unproved_baselines: matches!(self.scenario.scheme, Scheme::Static | Scheme::InPlace),
        };
        let mut manager = Manager::new(self.transport.clone().boxed(), timing, 0).swept();
        manager.move_sources(self.scenario.sources);
        manager.count_from_power_on();
        let mut driver =
            Driver::new(Witnessed::new(self.transport.clone(), manager, self.placement.first_port), running, intent);
        driver.computes_for(self.scenario.computing);
        // Joined subnets are proved together, with one plan for each.
        if self.is_joined {
            driver.plan_whole();
        }
        driver
    }

    fn with<T>(&self, act: impl FnOnce(&mut Sim) -> T) -> T {
        self.transport.with(act)
    }

    /// Gives the sources of this subnet the paths of R′ that they will learn.
    pub fn make_known(&self, prepared: &Prepared) {
        let stranded: Vec<PortId> = prepared.stranded.iter().map(|&port| self.placement.port(port)).collect();
        self.with(|sim| sim.omit(&stranded));
        if prepared.last().plan.plan().scheme() == Scheme::Double {
            self.load_ways(Half::Upper, prepared);
        }
    }

    /// Without halves no MAD moves sources: they learn new paths when they query again.
    pub fn ask_anew(&self, prepared: &Prepared) {
        if prepared.last().plan.plan().scheme() != Scheme::Double {
            self.load_ways(Half::Lower, prepared);
        }
    }

    fn load_ways(&self, half: Half, prepared: &Prepared) {
        let ways = subnet_setup::ways(prepared.last().plan.plan().new_ways());
        self.with(|sim| sim.load_ways(self.placement.subnet, half, ways));
    }

    fn is_sudden(&self) -> bool {
        self.scenario.departure == Departure::Sudden
    }

    /// Where changes are polled for: one light sweep, whose duration sets the period. It ends when the change happens.
    pub fn polling<'a>(&self, driver: &'a mut Driver<Witnessed>) -> Option<ManagerTask<'a, Result<(), DriverError>>> {
        let Detection::Sweep { factor } = self.scenario.detection else { return None };
        let (trail, transport) = (driver.trail(), self.transport.clone());
        let future = Box::pin(async move { Ok(driver.subnet_mut().poll_by(factor).await?) });
        Some(ManagerTask { future, trail, transport, alarm: Rc::new(Cell::new(u64::MAX)), is_last: false })
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
            sim.revive(place.elements(&moves.coming));
            if self.is_sudden() {
                sim.kill(Elements { nodes: Vec::new(), ..place.elements(&moves.leaving) });
            }
        });
    }

    /// The manager's reaction.
    pub fn task<'a>(
        &self,
        driver: &'a mut Driver<Witnessed>,
        prepared: Prepared,
        until_ns: u64,
        later: Rc<LaterEvents<'a>>,
    ) -> ManagerTask<'a, ManagerReaction> {
        let (trail, transport) = (driver.trail(), self.transport.clone());
        let (moves, sudden) = (self.setup.moves.clone(), self.is_sudden());
        let waits_ns = self.scenario.barrier_timeout_ns;
        let serving = Serving { moves, sudden, waits_ns, transport: transport.clone(), later: later.clone() };
        let mut reaction = Box::pin(serving.react(driver, prepared, until_ns));
        let future = Box::pin(std::future::poll_fn(move |context| match later.lost_master_ns() {
            Some(_) => Poll::Ready(ManagerReaction::Lost),
            None => reaction.as_mut().poll(context).map(|driven| ManagerReaction::Driven(Box::new(driven))),
        }));
        ManagerTask { future, trail, transport, alarm: Rc::new(Cell::new(u64::MAX)), is_last: true }
    }

    /// Whether something leaves once the change is made.
    pub fn has_departure(&self) -> bool {
        !self.is_sudden() && !self.setup.moves.leaving.is_empty()
    }

    /// Performs the planned departure, if there is one.
    pub fn depart(&self) {
        if self.has_departure() {
            self.with(|sim| sim.retire(self.placement.elements(&self.setup.moves.leaving)));
        }
    }

    /// The result of the change.
    pub fn change(
        &self,
        result: ManagerReaction,
        driver: &Driver<Witnessed>,
        start_ns: u64,
        takeover: Option<TakeoverReport>,
    ) -> DrivenChange {
        let end_ns = self.with(|sim| sim.now_ns());
        let smps = driver.subnet().smps().clone();
        let (ending, reason, report) = match result {
            ManagerReaction::Deadlocked => {
                (Ending::Deadlocked, Some("packets wait for each other in a circle".into()), None)
            }
            ManagerReaction::Lost => match &takeover {
                None => (Ending::Deadlocked, Some("packets wait for each other in a circle".into()), None),
                Some(report) => (report.ending(), report.reason(), None),
            },
            ManagerReaction::Driven(driven) => match *driven {
                Err(error) => (Ending::Aborted, Some(error.to_string()), None),
                Ok(None) => (Ending::Aborted, Some("the subnet manager noticed no change".into()), None),
                Ok(Some(report)) => {
                    let (ending, reason) = ending(&report.outcome);
                    (ending, reason, Some(report))
                }
            },
        };
        DrivenChange { ending, reason, start_ns, end_ns, report, smps, takeover }
    }
}

/// The most changes and events of a run.
const MOST_CHANGES: usize = 1_000;

/// A manager that serves one event after the other.
struct Serving<'a> {
    moves: Moves,
    sudden: bool,
    /// The longest that it waits to hear of something.
    waits_ns: u64,
    transport: SimTransport,
    later: Rc<LaterEvents<'a>>,
}

impl Serving<'_> {
    async fn react(self, driver: &mut Driver<Witnessed>, prepared: Prepared, until_ns: u64) -> Driven {
        let moves = &self.moves;
        let first = match (moves.coming.is_empty(), self.sudden) {
            (false, true) if !moves.leaving.is_empty() => None,
            (false, _) => driver.await_growth_without(until_ns, |alive| moves.leaving.taken_from(alive)).await?,
            (true, true) if moves.leaving.is_empty() => None,
            (true, true) => driver.await_loss(until_ns).await?,
            (true, false) => driver.run(prepared).await.map(Some)?,
        };
        if self.later.is_plain() { Ok(first) } else { self.serve(driver, first).await }
    }

    /// Makes one change after the other until everything has happened and is served; they count as one.
    async fn serve(&self, driver: &mut Driver<Witnessed>, first: Option<ChangeRecord>) -> Driven {
        let mut record = first;
        // What the first event does is still to be heard of.
        if record.is_none() && !self.moves.is_empty() {
            self.hear(driver, self.transport.now_ns()).await?;
        }
        // A subnet that never comes to rest would go on for ever.
        for _ in 0..MOST_CHANGES {
            let is_open =
                |record: &ChangeRecord| matches!(record.outcome, Outcome::Failed { .. } | Outcome::Abandoned { .. });
            if record.as_ref().is_some_and(is_open) {
                break;
            }
            let sighting = driver.look().await?;
            if let Some(stranger) = sighting.stranger {
                return Err(stranger.into());
            }
            // Of what leaves as planned, the routing in force has nothing any more, though it may still be there.
            let is_going = !self.sudden && !self.later.has_departed();
            let aside = |alive: &Fabric| if is_going { self.moves.leaving.taken_from(alive) } else { alive.clone() };
            if let Some(after) = driver.running().wanted(aside) {
                let prepared = driver.prepare(Arc::new(after))?;
                let mut next = driver.run(prepared).await?;
                next.sweep = Some(sighting.record);
                record = Some(record.map_or_else(|| next.clone(), |before| before.followed_by(next.clone())));
                continue;
            }
            match self.later.next() {
                NextEvent::None => break,
                NextEvent::At(due_ns) => {
                    driver.subnet_mut().rest_until(due_ns).await?;
                    self.hear(driver, due_ns).await?;
                }
                NextEvent::Served => {
                    if let Some(plugged) = self.transport.with(|sim| self.later.serve(sim)) {
                        driver.widen(Arc::new(plugged));
                    }
                    self.hear(driver, self.transport.now_ns()).await?;
                }
            }
        }
        Ok(record)
    }

    /// Waits until a device reports something. Where none does, a sweep shows what there is.
    async fn hear(&self, driver: &mut Driver<Witnessed>, from_ns: u64) -> Result<(), DriverError> {
        driver.subnet_mut().next_event(from_ns.saturating_add(self.waits_ns)).await?;
        Ok(())
    }
}

fn ending(outcome: &Outcome) -> (Ending, Option<String>) {
    match outcome {
        Outcome::Completed => (Ending::Completed, None),
        Outcome::CalledOff(why) => (Ending::Aborted, Some(format!("called off: {why}"))),
        Outcome::Failed { state, reason } => (Ending::Aborted, Some(format!("stands still while {state}: {reason}"))),
        Outcome::CutShort => (Ending::Aborted, Some(outcome.to_string())),
        Outcome::Abandoned { state } => (Ending::Aborted, Some(format!("given up while {state}: {UNFINISHABLE}"))),
    }
}
