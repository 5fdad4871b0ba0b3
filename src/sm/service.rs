//! The course of a subnet manager's life: bring the subnet up, then keep it routed, one change after the other.
//!
//! Everything that happens is looked into by a sweep; what it shows decides. What died is routed around first, then what
//! came is brought in; a port that only bounced is set up again under the routing in force. Orders are taken between two
//! changes. What cannot be done is told, and tried again at the next sweep.

use super::bring_up::{self, BroughtUp};
use super::config::Config;
use super::court::{Court, Wants};
use super::desk::{Answer, Found, Happening, Order, OrderId, SharedDesk};
use super::directory;
use super::election::Event;
use super::error::SmError;
use super::life::Household;
use super::pace::{Pace, Seen};
use super::watched::Watched;
use crate::change::Prepared;
use crate::driver::{ChangeReport, Driver, DriverError, Intent, Sighting};
use crate::fabric::{Fabric, NodeId, PortId, difference};
use crate::ids::{Half, PortNum};
use crate::lid;
use crate::machine::{CallOff, Outcome};
use crate::plan::{self, Lanes, Scheme};
use crate::subnet::{Discovered, Manager, SubnetEvent, SubnetManager};
use crate::tables::{PathLayers, PortState, SubnetTables, Write};
use crate::transport::Transport;
use crate::verify::{self, Scope};
use crate::wire;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long the subnet is listened to before orders are looked at again.
const SLICE_NS: u64 = 100_000_000;

/// Changes in a row at most, before the subnet is listened to again.
const CHANGES: usize = 8;

/// How long until what could not be done is tried again.
const RETRY_NS: u64 = 5_000_000_000;

/// A subnet manager on one port, with its subnet up.
pub struct Service<T> {
    config: Config,
    driver: Driver<Watched<T>>,
    desk: SharedDesk,
    court: Court,
    /// What is there and not to be used.
    aside: BTreeSet<Found>,
    pace: Pace,
    /// When what could not be done is to be tried again.
    retry_ns: Option<u64>,
    /// A change has ended, and the retired half does not follow yet.
    mirror_due: bool,
    /// The last change was one between routing functions that everybody may use on any path: a host that never asked again
    /// may be heard on the retired half, whatever it goes on sending.
    may_open: bool,
}

/// Why a service ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It was told to stop.
    Stopped,
    /// Another subnet manager took over.
    Deposed,
}

impl<T: Transport> Service<T> {
    /// Brings up what a sweep found.
    ///
    /// # Errors
    /// The subnet cannot be brought up; what was written of it stays. The manager comes back.
    pub(super) async fn start(
        household: &mut Household,
        mut manager: Manager<T>,
        found: &Discovered,
    ) -> Result<Service<T>, (Box<Manager<T>>, SmError)> {
        let Household { config, desk, .. } = &*household;
        let (config, desk) = (config.clone(), desk.clone());
        manager.begin_mastership(Half::Lower);
        let up = match bring_up::equip(&found.fabric, &config, |fabric| (household.assign)(fabric)) {
            Ok(fabric) => bring_up::bring_up(&mut manager, &config, found, fabric).await,
            Err(error) => Err(error),
        };
        let BroughtUp { running, arrival, root } = match up {
            Ok(up) => up,
            Err(error) => return Err((Box::new(manager), error)),
        };
        (household.keep)(&running.known);
        manager.begin_mastership(running.half);
        manager.transport_mut().answers_to(running.known.port(running.sm).lmc);
        let intent = Intent {
            engine: config.engine.clone(),
            scheme: Scheme::Double,
            policy: config.policy,
            unproved_baselines: false,
        };
        let now_ns = manager.now_ns();
        let mut driver = Driver::new(Watched::new(manager, desk.clone()), running, intent);
        let trail = driver.trail();
        driver.subnet_mut().trail = trail;
        desk.borrow_mut().view.arrival = Some(arrival.clone());
        desk.borrow_mut().view.root = root;
        desk.borrow_mut().tell(now_ns, Happening::Up { arrival });
        let aside = BTreeSet::new();
        let retry_ns = Some(now_ns);
        let mut service = Service {
            config,
            driver,
            desk,
            court: Court::default(),
            aside,
            pace: Pace::new(household.pace),
            retry_ns,
            mirror_due: false,
            may_open: true,
        };
        service.show();
        service.publish(household);
        Ok(service)
    }

    /// The driver, with the subnet as it is known.
    pub fn driver(&self) -> &Driver<Watched<T>> {
        &self.driver
    }

    /// Keeps the subnet routed until told to stop, or until another manager takes over.
    ///
    /// # Errors
    /// The port failed.
    pub(super) async fn serve(&mut self, household: &mut Household) -> Result<End, SmError> {
        loop {
            while let Some((id, order)) = self.next_order() {
                if order == Order::Stop {
                    return Ok(End::Stopped);
                }
                let answer = self.obey(household, order).await?;
                self.tell(Happening::Answered(id, answer));
            }
            if self.hold_court(household).await?.retire {
                return Ok(End::Deposed);
            }
            let now_ns = self.driver.subnet().now_ns();
            let event = self.driver.subnet_mut().next_event(now_ns + SLICE_NS).await?;
            if let Some(event) = event {
                tracing::info!(?event, "the subnet tells of a change");
                self.tell(Happening::Subnet(event));
            }
            if event.is_some() || self.retry_ns.is_some_and(|due_ns| now_ns >= due_ns) {
                self.react(household).await?;
            }
            self.keep_pace(event);
            self.show();
        }
    }

    /// Gives the manager back.
    pub(super) fn into_manager(self) -> Manager<T> {
        self.driver.into_subnet().into_manager()
    }

    /// Sweeps come faster after something happened, and slow down while nothing does.
    fn keep_pace(&mut self, event: Option<SubnetEvent>) {
        let manager = &mut self.driver.subnet_mut().manager;
        let Some(sweep_ns) = manager.take_light_sweep() else { return };
        let seen = match event {
            None => Seen::Quiet,
            Some(SubnetEvent::Silent { .. }) => Seen::Silence,
            Some(_) => Seen::Change,
        };
        self.pace = self.pace.after(seen, sweep_ns);
        manager.set_light_sweep(Some(self.pace.period_ns()));
    }

    /// Sees to other managers: what the election commands. Only between changes.
    async fn hold_court(&mut self, household: &Household) -> Result<Wants, SmError> {
        let reception = &household.reception;
        let now_ns = self.driver.subnet().now_ns();
        if reception.borrow().state().due_ns().is_some_and(|due_ns| now_ns >= due_ns) {
            reception.borrow_mut().step(Event::Due, now_ns);
        }
        let manager = &mut self.driver.subnet_mut().manager;
        let wants = self.court.carry_out(manager, reception, &self.desk).await?;
        if wants.sweep || wants.reign {
            self.retry_ns = Some(now_ns);
        }
        Ok(wants)
    }

    /// Looks who else manages, after a sweep.
    async fn look_for_rivals(&mut self, household: &Household) -> Result<(), SmError> {
        let running = self.driver.running().clone();
        let manager = &mut self.driver.subnet_mut().manager;
        let peers = self.court.peers(manager, &running.alive, running.sm).await?;
        let now_ns = self.driver.subnet().now_ns();
        household.reception.borrow_mut().step(Event::Swept(peers), now_ns);
        Ok(())
    }

    fn next_order(&mut self) -> Option<(OrderId, Order)> {
        self.desk.borrow_mut().next_order()
    }

    fn tell(&self, happening: Happening) {
        let now_ns = self.driver.subnet().now_ns();
        self.desk.borrow_mut().tell(now_ns, happening);
    }

    /// Puts on the desk what can be said of the subnet.
    fn show(&mut self) {
        let running = self.driver.running();
        let mut desk = self.desk.borrow_mut();
        desk.view.aside = self.aside.iter().map(|found| found.describe(&running.known)).collect();
        desk.view.state = self.driver.state().name();
        desk.view.smps = self.driver.subnet().smps().clone();
        desk.view.light_sweep_ns = self.driver.subnet().manager().timing().light_sweep_ns;
        if desk
            .view
            .running
            .as_ref()
            .is_none_or(|shown| !Arc::ptr_eq(&shown.alive, &running.alive) || shown.half != running.half)
        {
            desk.view.running = Some(Arc::new(running.clone()));
        }
    }

    /// Looks at the subnet, and does what follows, until nothing does. Only a failure of the port is an error; the rest
    /// is told.
    async fn react(&mut self, household: &mut Household) -> Result<(), SmError> {
        for _ in 0..CHANGES {
            match self.next_step(household).await {
                Ok(true) => {}
                Ok(false) => {
                    self.retry_ns = None;
                    return Ok(());
                }
                Err(SmError::Subnet(error)) if error.is_fatal() => return Err(error.into()),
                Err(error) => {
                    tracing::error!("{error}");
                    self.tell(Happening::Failed(error.to_string()));
                    let now_ns = self.driver.subnet().now_ns();
                    self.retry_ns = Some(now_ns + RETRY_NS);
                    return Ok(());
                }
            }
        }
        // There is always more to do: the subnet is listened to meanwhile.
        self.retry_ns = Some(self.driver.subnet().now_ns() + RETRY_NS);
        Ok(())
    }

    /// One look, and what follows from it; whether there may be more to do.
    async fn next_step(&mut self, household: &mut Household) -> Result<bool, SmError> {
        if let Some(report) = self.resume(household).await?
            && report.outcome != Outcome::Completed
        {
            return Err(SmError::StandsStill { outcome: format!("{:?}", report.outcome) });
        }
        let sighting = self.driver.look().await?;
        self.forget_what_left();
        self.look_for_rivals(household).await?;
        if !household.reception.borrow().state().may_begin_change() {
            return Ok(false);
        }
        if self.mirror_due {
            self.mirror().await?;
            self.mirror_due = false;
            self.publish(household);
        }
        self.set_up_bounced().await?;
        if sighting.stranger.is_some() && !self.driver.running().has_lost_something() {
            self.admit(household, &sighting).await?;
        }
        let aside = self.aside.clone();
        let without = |fabric: &Fabric| aside.iter().fold(fabric.clone(), |rest, found| found.taken_out_of(&rest));
        let Some(after) = self.driver.running().wanted(without) else { return Ok(false) };
        if !self.driver.running().has_lost_something() {
            self.set_up_newcomers().await?;
        }
        let why = self.why(&after);
        match self.change(household, after, why).await?.outcome {
            Outcome::Failed { state, reason } => {
                Err(SmError::StandsStill { outcome: format!("in state {state}: {reason}") })
            }
            Outcome::CalledOff(CallOff::TopologyChanged) | Outcome::Completed => Ok(true),
            Outcome::CalledOff(why) => Err(SmError::StandsStill { outcome: format!("called off: {why}") }),
        }
    }

    async fn resume(&mut self, household: &Household) -> Result<Option<ChangeReport>, SmError> {
        let resumed = self.changing(household, |driver| Box::pin(driver.resume())).await?;
        if let Some(report) = &resumed {
            self.ended(household, report);
        }
        Ok(resumed)
    }

    async fn change(&mut self, household: &Household, after: Fabric, why: String) -> Result<ChangeReport, SmError> {
        self.tell(Happening::Begun { why });
        let prepared = self.driver.prepare(Arc::new(after))?;
        self.foretell(household, &prepared);
        let hops = prepared.plan.plan().drain_depth();
        let draft = prepared.plan.plan().draft();
        self.may_open = draft.old_ways.is_none() && draft.new_ways.is_none();
        self.driver.subnet_mut().manager.ways_are(hops);
        let report = self.changing(household, move |driver| Box::pin(driver.run(prepared))).await;
        let report = report.inspect_err(|_| self.mirror_due = true)?;
        self.ended(household, &report);
        Ok(report)
    }

    /// Takes note of how a change ended. One that stands still keeps the SA where it is: halfway there.
    fn ended(&mut self, household: &Household, report: &ChangeReport) {
        self.tell(Happening::Changed(Box::new(report.clone())));
        if matches!(report.outcome, Outcome::Failed { .. }) {
            return;
        }
        if report.outcome == Outcome::Completed {
            self.desk.borrow_mut().view.root = report.root;
        }
        // The next step sees to it, and again until it is done.
        self.mirror_due = true;
        self.retry_ns = Some(self.driver.subnet().now_ns());
        self.publish(household);
    }

    /// Gives the SA what is known now.
    fn publish(&self, household: &Household) {
        let running = self.driver.running();
        let ways = [running.ways.clone(), running.ways.clone()];
        self.publish_with(household, &running.routed, running.tables.clone(), ways);
    }

    /// Gives the SA what will be in force when answers move to the other half; what they say of this half stays true.
    fn foretell(&self, household: &Household, prepared: &Prepared) {
        let plan = prepared.plan.plan();
        let mut tables = self.driver.running().tables.clone();
        tables.lfts = plan.tables_at(plan.waves().len()).lfts.clone();
        let mut ways = [self.driver.running().ways.clone(), self.driver.running().ways.clone()];
        ways[plan.new_half().index()] = plan.new_ways().cloned();
        self.publish_with(household, &plan.draft().after, tables, ways);
    }

    fn publish_with(
        &self,
        household: &Household,
        fabric: &Arc<Fabric>,
        tables: SubnetTables,
        ways: [Option<Arc<PathLayers>>; 2],
    ) {
        let manager = self.driver.subnet().manager();
        let (reception, config) = (&household.reception, &self.config);
        let published = directory::publish(manager, reception, config, self.driver.running(), fabric, (tables, ways));
        if let Err(error) = published {
            tracing::warn!(%error, "the SA answers from what it knew before");
        }
    }

    /// The retired half follows the new routing too, so that base LIDs, which tools and connections that never asked
    /// again go by, lead to their owners. Nobody sends on it while its entries are written; then it is opened again.
    async fn mirror(&mut self) -> Result<(), SmError> {
        let running = self.driver.running().clone();
        let (fabric, half) = (&running.routed, running.half);
        let lfts = lid::mirrored(fabric, &running.tables.lfts, half);
        let tables = SubnetTables { lfts: lfts.clone(), ..running.tables.clone() };
        verify::prove_tables(fabric, &tables, &Scope::of(&[half, half.other()]).by(running.ways.as_ref()))
            .map_err(SmError::Unproved)?;
        let writes =
            plan::writes_between(&running.alive, Some(&running.tables), &lfts, Lanes::of_fabric(fabric).steady());
        let manager = &mut self.driver.subnet_mut().manager;
        manager.apply(&running.alive, &writes, crate::subnet::WriteOrder::Any).await?;
        // With paths or layers that are not everybody's, those who never asked again would send on what was proved for others.
        if self.may_open {
            manager.open_ends(&running.alive).await?;
        }
        self.driver.tables_are(lfts);
        Ok(())
    }

    /// Runs what may be a change, so that it is watched and can be called off.
    async fn changing<R>(
        &mut self,
        household: &Household,
        run: impl for<'a> FnOnce(
            &'a mut Driver<Watched<T>>,
        ) -> std::pin::Pin<Box<dyn Future<Output = Result<R, DriverError>> + 'a>>,
    ) -> Result<R, SmError> {
        self.desk.borrow_mut().change_begins(self.driver.abort_handle());
        self.driver.subnet_mut().changing = true;
        household.reception.borrow_mut().changing = true;
        let result = run(&mut self.driver).await;
        self.driver.subnet_mut().changing = false;
        let now_ns = self.driver.subnet().now_ns();
        household.reception.borrow_mut().changing = false;
        household.reception.borrow_mut().step(Event::ChangeEnded, now_ns);
        self.driver.subnet().follow();
        self.desk.borrow_mut().change_ends();
        self.show();
        Ok(result?)
    }

    /// Makes what was found and is not known part of what is known, with LIDs.
    async fn admit(&mut self, household: &mut Household, sighting: &Sighting) -> Result<(), SmError> {
        let known = without_recabled(&self.driver.running().known, &sighting.discovered.fabric);
        let union = difference::union(&known, &sighting.discovered.fabric)?;
        let in_use = Lanes::of_fabric(&self.driver.running().routed).all.len();
        let narrow = |port: &crate::fabric::Port| port.peer.is_some() && usize::from(port.data_vls) < in_use;
        if let Some((id, _)) = union.fabric.ports().find(|(_, port)| narrow(port)) {
            let port = union.fabric.describe_port(id);
            return Err(SmError::NotTaken { port, setting: "lanes: it has fewer data VLs than are in use" });
        }
        let whole = bring_up::equip(&union.fabric, &self.config, |fabric| (household.assign)(fabric))?;
        (household.keep)(&whole);
        self.driver.widen(Arc::new(whole));
        self.driver.look().await?;
        Ok(())
    }

    /// What has left need not be kept aside any more: when it comes back it is used again.
    fn forget_what_left(&mut self) {
        let running = self.driver.running();
        self.aside.retain(|found| found.is_in(&running.alive));
    }

    /// Gives everything that is not up yet its settings, and switches room for the LIDs that have come.
    async fn set_up_newcomers(&mut self) -> Result<(), SmError> {
        let running = self.driver.running().clone();
        let common = bring_up::common(&running.alive, running.sm, running.half, running.ways.as_ref());
        let manager = &mut self.driver.subnet_mut().manager;
        let down = ports_to_set_up(&running.alive, |port| manager.port_info(port));
        bring_up::configure(manager, &self.config, &running.alive, &down, &common).await
    }

    /// Devices whose ports went down and came back between two sweeps, with cables as they were: perhaps they were only
    /// unplugged, perhaps they were switched off and hold nothing any more. So they are given everything anew, while
    /// their ports are ARMED, and then brought to ACTIVE under the routing in force.
    async fn set_up_bounced(&mut self) -> Result<(), SmError> {
        let running = self.driver.running().clone();
        let fabric = &running.alive;
        let manager = &mut self.driver.subnet_mut().manager;
        let routed = |port: &PortId| running.routed.peer(*port).is_some() && fabric.peer(*port).is_some();
        let down = |port: PortId| is_down(manager.port_info(port));
        let bounced: Vec<PortId> = fabric.ports().map(|(id, _)| id).filter(routed).filter(|&port| down(port)).collect();
        if bounced.is_empty() {
            return Ok(());
        }
        let devices: BTreeSet<NodeId> = bounced.iter().map(|&port| fabric.port(port).node).collect();
        tracing::warn!(
            ports = bounced.len(),
            devices = devices.len(),
            "ports have bounced: their devices are set up again"
        );
        let own = devices.iter().filter(|&&node| fabric.node(node).is_switch());
        let own = own.filter_map(|&node| fabric.port_at(node, PortNum::ZERO));
        let ports: Vec<PortId> = own.chain(bounced.iter().copied()).collect();
        let common = bring_up::common(fabric, running.sm, running.half, running.ways.as_ref());
        bring_up::configure(manager, &self.config, fabric, &ports, &common).await?;
        let steady = Lanes::of_fabric(&running.routed).steady();
        let mut writes = plan::writes_between(fabric, None, &running.tables.lfts, steady);
        writes.retain(|write| write.node(fabric).is_some_and(|node| devices.contains(&node)));
        manager.apply(fabric, &writes, crate::subnet::WriteOrder::Any).await?;
        let active = bounced.into_iter().map(|port| Write::PortState { port, state: PortState::Active });
        manager.apply(fabric, &active.collect::<Vec<_>>(), crate::subnet::WriteOrder::Any).await?;
        Ok(())
    }

    fn why(&self, after: &Fabric) -> String {
        let running = self.driver.running();
        let count = |fabric: &Fabric, other: &Fabric| {
            let nodes = fabric.nodes().zip(other.nodes()).filter(|((_, a), (_, b))| a.present && !b.present).count();
            let links = fabric.links().filter(|&(a, b)| other.peer(a) != Some(b)).count();
            (nodes, links)
        };
        let (lost, gained) = (count(&running.routed, after), count(after, &running.routed));
        match (lost, gained) {
            ((nodes, links), (0, 0)) => format!("{nodes} nodes and {links} cables go"),
            ((0, 0), (nodes, links)) => format!("{nodes} nodes and {links} cables come"),
            _ => "cables go and come".to_string(),
        }
    }

    async fn obey(&mut self, household: &mut Household, order: Order) -> Result<Answer, SmError> {
        let done = match order {
            Order::SetAside { element, dry_run } => match element.find(&self.driver.running().alive) {
                Err(why) => return Ok(Answer::Refused(why)),
                Ok(found) => self.set_aside(household, found, dry_run).await,
            },
            Order::TakeBack(element) => match element.find(&self.driver.running().alive) {
                Err(why) => return Ok(Answer::Refused(why)),
                Ok(found) if !self.aside.remove(&found) => return Ok(Answer::Nothing),
                Ok(_) => self.react(household).await.map(|()| Answer::Nothing),
            },
            Order::Sweep => self.react(household).await.map(|()| Answer::Nothing),
            Order::Stop => return Ok(Answer::Nothing),
        };
        match done {
            Err(SmError::Subnet(error)) if error.is_fatal() => Err(error.into()),
            other => Ok(other.unwrap_or_else(Answer::from)),
        }
    }

    async fn set_aside(&mut self, household: &Household, found: Found, dry_run: bool) -> Result<Answer, SmError> {
        let running = self.driver.running();
        let rest = self.aside.iter().fold((*running.alive).clone(), |rest, found| found.taken_out_of(&rest));
        let after = found.taken_out_of(&rest);
        if !found.is_in(&running.routed) {
            return Ok(Answer::Nothing);
        }
        if !self.driver.state().is_idle() {
            return Ok(Answer::Refused("a change stands still: see `reconfig status`; it is tried again".to_string()));
        }
        if !household.reception.borrow().state().may_begin_change() {
            return Ok(Answer::Refused("this manager is handing over to another".to_string()));
        }
        if dry_run {
            let prepared = self.driver.prepare(Arc::new(after))?;
            let waves = prepared.plan.plan().waves();
            let writes = waves.iter().map(|wave| wave.writes.len()).sum();
            return Ok(Answer::Planned { waves: waves.len(), writes });
        }
        let why = format!("{} is set aside", found.describe(&running.known));
        let report = self.change(household, after, why).await?;
        if report.outcome == Outcome::Completed {
            self.aside.insert(found);
        }
        Ok(Answer::Changed(Box::new(report)))
    }
}

/// The known fabric without the cables of ports that were found cabled to another peer.
fn without_recabled(known: &Fabric, found: &Fabric) -> Fabric {
    let place = |fabric: &Fabric, port: PortId| (fabric.node(fabric.port(port).node).guid, fabric.port(port).num);
    let there = |(guid, num): (crate::ids::Guid, PortNum)| {
        let node = found.by_guid(guid).filter(|&node| found.node(node).present)?;
        found.peer(found.port_at(node, num)?).map(|peer| place(found, peer))
    };
    let moved = |&(a, b): &(PortId, PortId)| {
        let (at_a, at_b) = (place(known, a), place(known, b));
        there(at_a).is_some_and(|peer| peer != at_b) || there(at_b).is_some_and(|peer| peer != at_a)
    };
    let gone: Vec<PortId> = known.links().filter(moved).map(|(a, _)| a).collect();
    known.without_links(&gone)
}

/// Whether a port is known to be in INITIALIZE or ARMED.
fn is_down(info: Option<&wire::PortInfo>) -> bool {
    matches!(info.map(|info| info.port_state), Some(wire::PortState::Initialize | wire::PortState::Armed))
}

/// Cabled ports that are in INITIALIZE or ARMED, and every port with a LID of its own.
fn ports_to_set_up<'a>(fabric: &Fabric, info: impl Fn(PortId) -> Option<&'a wire::PortInfo>) -> Vec<PortId> {
    let owns = |port: PortId| {
        let at = fabric.port(port);
        let node = fabric.node(at.node);
        node.present && node.is_switch() && at.num == PortNum::ZERO
    };
    let cabled = |port: PortId| fabric.peer(port).is_some() && is_down(info(port));
    fabric.ports().map(|(id, _)| id).filter(|&id| cabled(id) || owns(id)).collect()
}
