//! Keeps a subnet that is up routed: one method for each command of the lifecycle.
//!
//! A survey follows every event, and its result decides; a glance before it shows only losses, and only the routing is
//! changed because of it. A port that only bounced is set up again under the routing in force. Losses are routed around
//! first ([`Running::wanted`](crate::driver::Running::wanted)); newcomers are then addressed, set up, and added to the
//! routing (G.6).

use super::arrival::BroughtUp;
use super::aside::AsideElements;
use super::bring_up;
use super::config::Config;
use super::context::Context;
use super::degraded;
use super::drift::{self, Drift};
use super::element::FoundElement;
use super::error::SmError;
use super::fallback::{self, FoundChange};
use super::groups::GroupBase;
use super::lifecycle::{self, Goal, LifecycleCommand, LifecycleEvent, LifecycleState, Mandate, RetiredHalf};
use super::mailbox::{Happening, SubnetView};
use super::mirroring;
use super::orders::{ManagerOrder, OrderAnswer, OrderId};
use super::pace::{Seen, SweepPace};
use super::partitions;
use super::peers::PeerManagers;
use super::planning::{Planning, computed};
use super::registering::Registering;
use super::reporting::ReportingManager;
use super::unfit;
use crate::change::{self, Prepared};
use crate::drain::Ticket;
use crate::driver::{ChangeRecord, Driver, DriverError, Foreseer, Intent, Running, Sighting};
use crate::fabric::{Fabric, PortId, difference};
use crate::machine::Outcome;
use crate::plan::{self, Assumption, Draft, Lanes, Scheme};
use crate::subnet::{AWAY_NS, Manager, SubnetEvent, SubnetManager, WriteOrder};
use crate::transport::Transport;
use std::sync::Arc;

/// The longest that the manager listens to the subnet, or watches the master, before it checks for orders.
pub(super) const SLICE_NS: u64 = 100_000_000;

/// How often an event may end a survey before one runs to its end regardless.
const INTERRUPTIBLE_SURVEYS: usize = 3;

/// A subnet that is up.
pub(super) struct Upkeep<T> {
    pub(super) driver: Driver<ReportingManager<T>>,
    /// Elements that are present and must not be used.
    pub(super) aside: AsideElements,
    pace: SweepPace,
    /// The subnet's last report.
    seen: Seen,
    /// The result of the last survey, until `set_up` takes it.
    sighting: Option<Sighting>,
    /// Where the round of questions about drift goes on.
    rounds: drift::Rounds,
    /// The stand-in for the user's choice, and the reason.
    instead: Option<String>,
    /// Whether the stand-in serves only some hosts, as long as something is lost.
    is_partial: bool,
    /// Whether a change is known to be due, though nothing was noticed since.
    change_is_due: bool,
    /// The end ports whose clients are still to be asked to register again.
    pub(super) registering: Registering,
    /// While the manager's own port leads nowhere.
    unreached: Option<Unreached>,
}

/// A time during which the manager's own port leads nowhere.
#[derive(Clone, Copy)]
struct Unreached {
    /// When it began.
    since_ns: u64,
    /// When the port was last looked at.
    looked_ns: u64,
}

impl<T: Transport> Upkeep<T> {
    /// Starts with a subnet as it was brought up.
    pub(super) fn new(mut manager: Manager<T>, up: &BroughtUp, context: &mut Context) -> Upkeep<T> {
        let running = up.running.clone();
        context.keep_lids(&running.known);
        manager.begin_mastership(running.half);
        manager.take_in(&running.known);
        manager.transport_mut().answers_to(running.known.port(running.sm).lmc);
        let mut driver = Driver::new(ReportingManager::new(manager, context), running, intent(&context.config));
        // Tickets begin above those of the earlier manager, whose questions devices may remember.
        driver.begin_tickets_at(Ticket::at(context.epoch_ns.saturating_add(driver.subnet().now_ns())));
        let aside = AsideElements::named(context.aside());
        context.journal.take().into_iter().for_each(|journal| driver.record_in(journal));
        // In a simulation no time passes meanwhile.
        if context.config.planning == Planning::Threaded {
            driver.hurry();
        }
        if let Some(foresight) = context.config.foresee {
            driver.foresee_by(Foreseer::new(foresight));
        }
        let trail = driver.trail();
        context.mailbox.borrow_mut().view.trail = trail.clone();
        driver.subnet_mut().trail = trail;
        context.mailbox.borrow_mut().abort_by(driver.abort_handle());
        let pace = SweepPace::new(context.pace);
        let rounds = drift::Rounds::default();
        let (seen, change_is_due) = (Seen::Quiet, up.change_is_due);
        let (sighting, instead, is_partial) = (None, None, false);
        let registering = Registering::default();
        let unreached = None;
        let mut upkeep = Upkeep {
            driver,
            aside,
            pace,
            seen,
            sighting,
            rounds,
            instead,
            is_partial,
            change_is_due,
            registering,
            unreached,
        };
        upkeep.set_stand_in(context, up.instead.clone());
        upkeep.owe_requests_to_register();
        upkeep.show(context);
        upkeep
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.driver.subnet().now_ns()
    }

    /// Gives up the change that stands still, so that no later manager resumes it.
    pub(super) fn abandon(&mut self) {
        let now_ns = self.now_ns();
        if let Some(Err(error)) = self.driver.journal_mut().map(|journal| journal.abandoned(now_ns, "it stood still")) {
            tracing::error!("{error}; a manager that starts anew goes on with it");
        }
    }

    pub(super) fn into_manager(mut self, context: &mut Context) -> Manager<T> {
        context.journal = self.driver.take_journal();
        context.aside = Some(self.aside.names());
        // It is up under another manager, or under none: no client may be shown the old state.
        context.post(self.now_ns(), Happening::Down);
        let view = &mut context.mailbox.borrow_mut().view;
        let closed_ends = view.closed_ends;
        let smps = std::mem::take(&mut view.smps);
        let (aside, unreached) = (self.aside.described(&self.driver.running().known), view.unreached.take());
        let journal_gap = view.journal_gap.take();
        *view = SubnetView { smps, closed_ends, aside, unreached, journal_gap, ..SubnetView::default() };
        let mut manager = self.driver.into_subnet().into_manager();
        // The next bring-up judges every device anew.
        manager.set_unfit(Vec::new());
        manager
    }

    /// Carries out one command. Returns its answer, if it has one.
    pub(super) async fn carry_out(
        &mut self,
        peers: &mut PeerManagers,
        context: &mut Context,
        command: LifecycleCommand,
    ) -> Result<Option<LifecycleEvent>, SmError> {
        // What was found by the last command is seen while this one works: a change takes long.
        self.show(context);
        let (subnet, running) = self.driver.subnet_and_running();
        subnet.follow_switches(&GroupBase::of(running));
        let began_ns = self.now_ns();
        let event = match command {
            LifecycleCommand::Glance => {
                let lost = self.driver.glance().await;
                let goal = |found: Option<_>| found.and_then(|_| self.goal());
                lost.map(|found| LifecycleEvent::Glanced(goal(found))).map_err(SmError::from)
            }
            LifecycleCommand::Survey => self.survey(peers, context).await.inspect(|_| {
                // The lost elements are back, so every pair has a path again.
                if self.is_partial && !self.driver.running().has_lost_something() {
                    self.is_partial = false;
                    self.set_stand_in(context, None);
                }
            }),
            LifecycleCommand::Mirror { reopen } => {
                self.mirror(context, reopen).await.map(|()| LifecycleEvent::Mirrored)
            }
            LifecycleCommand::SetUp => self.set_up(context).await.map(LifecycleEvent::SetUp),
            LifecycleCommand::Prepare(goal) => {
                self.driver.subnet_mut().manager.serve_waiting().await?;
                let found = fallback::prepared(&mut self.driver, &context.config, goal.fabric).await;
                found.map(|FoundChange { prepared, instead, is_partial }| {
                    self.set_stand_in(context, instead);
                    self.is_partial = is_partial;
                    LifecycleEvent::Prepared(Box::new(prepared))
                })
            }
            LifecycleCommand::Change(prepared) => {
                let record = self.change(context, *prepared).await;
                self.follow_by_groups(record).await.map(changed)
            }
            LifecycleCommand::Resume => {
                let record = self.resume(context).await;
                self.follow_by_groups(record).await.map(changed)
            }
            LifecycleCommand::Publish => {
                self.publish();
                return Ok(None);
            }
            LifecycleCommand::SetAside(element) => {
                self.aside.insert(element, &self.driver.running().known);
                self.record_aside();
                context.mailbox.borrow_mut().view.journal_gap = None;
                return Ok(None);
            }
            other => unreachable!("{} is commanded only while the subnet is down", other.name()),
        };
        if matches!(&event, Ok(LifecycleEvent::SetUp(_) | LifecycleEvent::Changed(_))) {
            // A newcomer is asked in the `Set` that makes it ACTIVE; but it may have become ACTIVE by itself, or under
            // another manager.
            self.owe_requests_to_register();
        }
        if matches!(&event, Err(error) if !error.is_fatal()) {
            self.leave_out_faulty(began_ns, 1);
            self.show(context);
        }
        event.map(Some)
    }

    /// Waits for an order, a request of the election, an event of the subnet, or the lifecycle's deadline.
    pub(super) async fn wait(
        &mut self,
        peers: &mut PeerManagers,
        context: &mut Context,
    ) -> Result<LifecycleEvent, SmError> {
        loop {
            if let Some(event) = self.due_before_waiting(peers, context).await? {
                return Ok(event);
            }
            // Each slice ends with a look at orders and the election, however quiet the subnet.
            let now_ns = self.now_ns();
            let due_ns = context.mailbox.borrow().lifecycle().due_ns();
            // Nobody is asked while a change has halted: the next look is then no sooner than otherwise.
            let is_under_way = self.registering.is_under_way() || self.driver.subnet().are_groups_under_way();
            let goes_on = is_under_way && self.may_mend(context);
            let slice_ns = if goes_on { 0 } else { SLICE_NS };
            let until_ns = due_ns.map_or(u64::MAX, |due_ns| due_ns.max(now_ns)).min(now_ns + slice_ns);
            let event = self.driver.subnet_mut().next_event(until_ns).await?;
            self.seen = match event {
                None => Seen::Quiet,
                Some(SubnetEvent::Silent { .. }) => Seen::Silence,
                Some(_) => Seen::Change,
            };
            if self.driver.subnet().manager().stood_still() {
                continue;
            }
            if let Some(event) = event {
                tracing::info!(?event, "the subnet reports a change");
                context.post(self.now_ns(), Happening::Subnet(event));
                return Ok(LifecycleEvent::Noticed);
            }
            if due_ns.is_some_and(|due_ns| self.now_ns() >= due_ns) {
                return Ok(LifecycleEvent::Due);
            }
        }
    }

    /// Work that is due before the manager listens again. The order is that of trust: two questions come before
    /// anything that may write, whether the known state is still true and whether another manager has the subnet.
    async fn due_before_waiting(
        &mut self,
        peers: &mut PeerManagers,
        context: &Context,
    ) -> Result<Option<LifecycleEvent>, SmError> {
        // The known state may no longer be true, and nothing is written on its basis.
        if self.driver.subnet().manager().stood_still() {
            return Ok(Some(LifecycleEvent::MastershipLost));
        }
        if let Some(event) = self.look_for_reach(context) {
            return Ok(Some(event));
        }
        // Before anything that may write: another manager may have had the subnet.
        let manager = &mut self.driver.subnet_mut().manager;
        if let Some(event) = peers.attend(manager, &context.responder, &context.mailbox).await? {
            return Ok(Some(event));
        }
        if let Some(seen) = self.keep_pace() {
            self.ask_others(peers, context, &[]).await?;
            if seen == Seen::Quiet && self.may_mend(context) {
                self.watch_drift(peers, context).await?;
            }
        }
        if let Some(event) = self.own_part_fails(context) {
            return Ok(Some(event));
        }
        self.driver.foresee();
        self.driver.ready();
        if matches!(context.mailbox.borrow().lifecycle(), LifecycleState::Idle(_)) {
            self.driver.tend_journal(|| self.aside.names());
        }
        self.show(context);
        let precedes = context.mailbox.borrow().lifecycle().precedes_orders(self.now_ns());
        if precedes {
            return Ok(Some(LifecycleEvent::Due));
        }
        if let Some(event) = self.next_order(context) {
            return Ok(Some(event));
        }
        if self.driver.subnet().manager().is_to_ask_again() && self.may_mend(context) {
            let responder = context.responder.clone();
            let may_write = move || responder.borrow().mandate() == Mandate::Full;
            let is_back = self.driver.subnet_mut().manager.ask_again(may_write).await?;
            self.show(context);
            if is_back {
                // The survey that follows finds it, as something that comes.
                return Ok(Some(LifecycleEvent::Noticed));
            }
        }
        let trial_ns = self.driver.subnet().manager().next_trial_ns();
        let is_due = trial_ns.is_some_and(|trial_ns| self.now_ns() >= trial_ns);
        if std::mem::take(&mut self.change_is_due) || is_due {
            // The survey that follows finds it, as something that comes.
            return Ok(Some(LifecycleEvent::Noticed));
        }
        let is_idle = matches!(context.mailbox.borrow().lifecycle(), LifecycleState::Idle(_));
        if is_idle && self.driver.subnet_mut().manager.own_port_went_down().await? {
            return Ok(Some(LifecycleEvent::Noticed));
        }
        if self.may_mend(context) {
            self.ask_to_register().await?;
            let (now_ns, are_asked) = (self.now_ns(), self.registering.is_under_way());
            let (subnet, running) = self.driver.subnet_and_running();
            subnet.groups.end_arrival(now_ns, are_asked);
            subnet.tend_groups(GroupBase::of(running)).await?;
        }
        Ok(None)
    }

    /// Whether a change has halted, and the manager's own device or switch has failed at it since: neither can be left
    /// out.
    fn own_part_fails(&self, context: &Context) -> Option<LifecycleEvent> {
        let LifecycleState::Halted { since_ns, .. } = context.mailbox.borrow().lifecycle() else { return None };
        let fault = self.driver.subnet().manager().indispensable_fault(since_ns)?;
        let may_finish = context.responder.borrow().mandate() >= Mandate::Finish;
        may_finish.then(|| {
            tracing::error!(device = %fault.name, attribute = ?fault.attribute, "the manager's own part fails");
            LifecycleEvent::OwnPartFails
        })
    }

    /// Sweeps become faster after an event, and slower while the subnet is quiet. Returns the finding of the last light
    /// sweep, if there was one.
    fn keep_pace(&mut self) -> Option<Seen> {
        let manager = &mut self.driver.subnet_mut().manager;
        let sweep_ns = manager.take_light_sweep()?;
        self.pace = self.pace.after(self.seen, sweep_ns);
        manager.set_light_sweep(Some(self.pace.period_ns()));
        Some(self.seen)
    }

    /// Asks other managers what they are: no event tells that one of them has become master. This is skipped while no
    /// handover is possible, and while another manager is asked to take the subnet or to give it up: that one may
    /// already be master without having said so.
    async fn ask_others(
        &mut self,
        peers: &mut PeerManagers,
        context: &Context,
        suspects: &[PortId],
    ) -> Result<(), SmError> {
        let holds_on = context.mailbox.borrow().lifecycle().holds_on();
        if holds_on || context.responder.borrow().mandate() != Mandate::Full {
            return Ok(());
        }
        let Running { alive, sm, .. } = self.driver.running();
        let (alive, sm) = (alive.clone(), *sm);
        peers.ask(&mut self.driver.subnet_mut().manager, &context.responder, &alive, sm, suspects).await
    }

    /// While the manager's own port leads nowhere, nothing can arrive from the subnet: it is looked at again every
    /// second, and after a while another manager may have taken over the subnet.
    fn look_for_reach(&mut self, context: &Context) -> Option<LifecycleEvent> {
        let Running { alive, sm, .. } = self.driver.running();
        let (now_ns, is_reached) = (self.now_ns(), context.check_reach(alive, *sm, self.now_ns()).is_ok());
        let Some(Unreached { since_ns, looked_ns }) = self.unreached.filter(|_| !is_reached) else {
            self.unreached = (!is_reached).then_some(Unreached { since_ns: now_ns, looked_ns: now_ns });
            return None;
        };
        if now_ns - since_ns >= AWAY_NS {
            return Some(LifecycleEvent::MastershipLost);
        }
        (now_ns - looked_ns >= lifecycle::REACH_NS).then(|| {
            self.unreached = Some(Unreached { since_ns, looked_ns: now_ns });
            LifecycleEvent::Noticed
        })
    }

    /// Whether devices must hold what is recorded: no change is in progress or halted, and no other manager is to
    /// write.
    pub(super) fn may_mend(&self, context: &Context) -> bool {
        let idle = matches!(context.mailbox.borrow().lifecycle(), LifecycleState::Idle(_));
        idle && context.responder.borrow().mandate() == Mandate::Full
    }

    /// Asks the next devices in turn whether they hold what they were given, and gives it to those that do not.
    async fn watch_drift(&mut self, peers: &mut PeerManagers, context: &Context) -> Result<(), SmError> {
        let running = self.driver.running().clone();
        let began_ns = self.now_ns();
        let manager = &mut self.driver.subnet_mut().manager;
        let found = drift::look(manager, &running, &mut self.rounds).await?;
        // A manager gives its own port the LIDs that it means it to have: it may be the one that changed them.
        if !found.ports().is_empty() {
            self.ask_others(peers, context, found.ports()).await?;
        }
        // Another manager may have handed the subnet over meanwhile: all is read anew then, before anything is written.
        if !self.may_mend(context) {
            return Ok(());
        }
        self.follow_partitions(&running, &found).await?;
        if let Err(error) = self.mend(context, &running, &found).await {
            if error.is_fatal() {
                return Err(error);
            }
            tracing::warn!(%error, "writing again what somebody else has changed");
            self.leave_out_faulty(began_ns, 2);
        }
        Ok(())
    }

    /// The survey that leaves them out follows at once: a later one may begin with their trial.
    fn leave_out_faulty(&mut self, since_ns: u64, least: u32) {
        let left_out = self.driver.subnet_mut().manager.leave_out_faulty(since_ns, least);
        self.change_is_due |= !left_out.is_empty();
    }

    /// Has the SA answer by partition tables that somebody else has changed.
    async fn follow_partitions(&mut self, running: &Running, found: &Drift) -> Result<(), SmError> {
        let Some(&first) = found.keys().first() else { return Ok(()) };
        let first = running.routed.describe_port(first);
        tracing::info!(ports = found.keys().len(), first, "the SA follows partition tables that have changed");
        partitions::read(&mut self.driver.subnet_mut().manager, &running.alive, found.keys()).await?;
        self.publish();
        Ok(())
    }

    async fn mend(&mut self, context: &Context, running: &Running, found: &Drift) -> Result<(), SmError> {
        let Some(what) = found.in_words(&running.routed) else { return Ok(()) };
        tracing::warn!("{what}");
        context.post(self.now_ns(), Happening::Mended(what));
        drift::mend(&mut self.driver.subnet_mut().manager, &context.config, running, found).await
    }

    /// Publishes the stand-in for the user's choice, if there is one.
    fn set_stand_in(&mut self, context: &Context, instead: Option<String>) {
        if let Some(what) = instead.as_ref().filter(|_| self.instead != instead) {
            tracing::warn!("{what}");
            context.post(self.now_ns(), Happening::Instead(what.clone()));
        }
        self.instead = instead;
    }

    /// Publishes the state of the subnet.
    fn show(&self, context: &Context) {
        let is_done = context.mailbox.borrow().lifecycle().is_done();
        let running = self.driver.running();
        let view = &mut context.mailbox.borrow_mut().view;
        let aside = self.aside.described(&running.known);
        let is_shown = view.running.as_ref().is_some_and(|shown| is_same(shown, running));
        if !is_shown || (view.is_done, &view.aside) != (is_done, &aside) {
            // Until all is followed, what comes has no way yet.
            view.cut_off = is_done.then(|| self.aside.cut_off(running)).flatten();
        }
        (view.is_done, view.aside) = (is_done, aside);
        view.smps = self.driver.subnet().smps().clone();
        view.foreseen = self.driver.foreseen();
        view.instead = self.instead.clone();
        view.unrecorded = self.driver.unrecorded();
        view.degraded = degraded::list(self.driver.subnet().manager());
        view.groups = self.driver.subnet().groups.view();
        view.closed_ends = self.driver.subnet().manager().closed_ends();
        view.light_sweep_ns = self.driver.subnet().manager().timing().light_sweep_ns;
        // Cloned only if it differs: tables are large, and this runs after every wait.
        if !is_shown {
            view.running = Some(Arc::new(running.clone()));
            let manager = self.driver.subnet().manager();
            let capable = |port: PortId| manager.port_info(port)?.vl_cap.lanes();
            view.without_double = change::without_double(&running.alive, capable);
        }
    }

    /// The next order for the lifecycle; orders that need none of it are answered here.
    fn next_order(&mut self, context: &Context) -> Option<LifecycleEvent> {
        loop {
            let (id, order) = context.mailbox.borrow_mut().next_order()?;
            let takes_back = matches!(order, ManagerOrder::TakeBack(_));
            match self.interpret_order(id, order) {
                Ok(event) => {
                    if takes_back {
                        context.mailbox.borrow_mut().view.journal_gap = None;
                    }
                    return Some(event);
                }
                Err(answer) => context.post(self.now_ns(), Happening::Answered(id, answer)),
            }
        }
    }

    /// The lifecycle event of an order, or else the order's answer.
    fn interpret_order(&mut self, id: OrderId, order: ManagerOrder) -> Result<LifecycleEvent, OrderAnswer> {
        let running = self.driver.running();
        match order {
            ManagerOrder::Stop => Ok(LifecycleEvent::StopOrdered),
            ManagerOrder::Sweep => Ok(LifecycleEvent::Ordered(id)),
            ManagerOrder::TakeBack(element) => {
                // The element may have fallen silent.
                let element = element.find(&running.known).map_err(OrderAnswer::Refused)?;
                let was_aside = self.aside.remove(element, &running.known);
                self.record_aside();
                was_aside.then_some(LifecycleEvent::Ordered(id)).ok_or(OrderAnswer::Nothing)
            }
            ManagerOrder::SetAside { element, dry_run, cut_off_meant } => {
                let found = element.find(&running.alive).ok().filter(|found| found.is_in(&running.alive));
                let Some(element) = found else {
                    let gone = element.find(&running.known).map(|gone| gone.describe(&running.known));
                    return Err(OrderAnswer::Refused(gone.map_or_else(|why| why, |gone| format!(
                        "{gone} is not found in the subnet: nothing is routed over it, and it is used again when it returns"
                    ))));
                };
                if !element.is_in(&running.routed) {
                    let leaves =
                        |draft: &Draft| FoundElement::missing_in(&draft.after, &draft.surviving).contains(&element);
                    if self.driver.unemptied().any(leaves) {
                        let element = element.describe(&running.known);
                        return Err(OrderAnswer::Refused(format!(
                            "the removal of {element} was cut short by a loss, and it is not known to be empty: take it back, \
                             and remove it again"
                        )));
                    }
                    // It is set aside, or a switch that it belongs to is, and is to stay so when that is taken back.
                    if !dry_run {
                        self.aside.insert(element, &running.known);
                        self.record_aside();
                    }
                    return Err(OrderAnswer::Nothing);
                }
                let fabric = Arc::new(element.taken_out_of(&self.aside.out_of(&running.alive)));
                let why = lifecycle::removal_reason(element, &running.known);
                let goal = Goal { fabric, why };
                Ok(LifecycleEvent::RemovalOrdered { order: id, element, dry_run, cut_off_meant, goal })
            }
        }
    }

    /// Keeps elements out of the routing that a change has taken out although they are present: a user ordered it, and
    /// the manager that knew of the order is gone.
    pub(super) fn keep_aside(&mut self, record: &ChangeRecord) {
        if matches!(record.outcome, Outcome::Completed | Outcome::CutShort) {
            let Running { known, alive, .. } = self.driver.running();
            // The removal may have been planned anew for what was lost meanwhile: that plan does not show it any more.
            for plan in record.plans.iter().chain([&record.plan]) {
                let draft = plan.plan().draft();
                let left = FoundElement::missing_in(&draft.after, &draft.surviving);
                let left = left.into_iter().filter(|element| element.is_in(alive));
                left.for_each(|left| self.aside.insert(left, known));
            }
            self.record_aside();
        }
    }

    /// Records the elements set aside, for the next manager.
    fn record_aside(&mut self) {
        self.driver.record_aside(self.aside.names());
    }

    /// Sweeps, and queries the other managers. A loss meanwhile does not wait for silent devices.
    async fn survey(&mut self, peers: &mut PeerManagers, context: &Context) -> Result<LifecycleEvent, SmError> {
        self.driver.subnet_mut().manager.readmit_due();
        // A subnet that keeps changing must be surveyed all the same.
        for _ in 0..INTERRUPTIBLE_SURVEYS {
            if !self.may_follow_a_loss(context) {
                break;
            }
            let is_whole = match self.driver.look_until_event().await? {
                Some(sighting) => {
                    self.sighting = Some(sighting);
                    self.surveyed(peers, context, true).await?
                }
                None => false,
            };
            if is_whole {
                return Ok(LifecycleEvent::Surveyed);
            }
            if self.driver.running().has_lost_something() || self.driver.glance().await?.is_some() {
                return Ok(LifecycleEvent::Glanced(self.goal()));
            }
        }
        self.sighting = Some(self.driver.look().await?);
        self.surveyed(peers, context, false).await?;
        Ok(LifecycleEvent::Surveyed)
    }

    /// Whether a loss that shows during a survey may be followed before its end, as after a glance.
    fn may_follow_a_loss(&self, context: &Context) -> bool {
        let state = context.mailbox.borrow().lifecycle();
        let is_current =
            matches!(state, LifecycleState::Surveying(reaction) if reaction.retired == RetiredHalf::Current);
        // A loss that is known could not be followed so far, and must not keep a survey from its end.
        is_current
            && !self.driver.running().has_lost_something()
            && context.responder.borrow().mandate() == Mandate::Full
    }

    /// Carries out what follows a sweep. Returns false if an event cut the questions to other managers short, which
    /// happens only with `until_event`.
    async fn surveyed(
        &mut self,
        peers: &mut PeerManagers,
        context: &Context,
        until_event: bool,
    ) -> Result<bool, SmError> {
        self.driver.subnet_mut().manager.serve_waiting().await?;
        // This is asked before every change: a newcomer may use adaptive routing, and any switch may have been set to
        // use it.
        let alive = self.driver.running().alive.clone();
        if !alive.reaches_others(self.driver.running().sm) {
            // A device that was not found need not be gone.
            return Ok(true);
        }
        let manager = &mut self.driver.subnet_mut().manager;
        if !bring_up::refuse_adaptive(manager, &alive, &context.config, until_event).await? {
            return Ok(false);
        }
        let Running { known, sm, .. } = self.driver.running();
        let sm = *sm;
        self.aside.surveyed(self.driver.subnet().manager(), known, &alive);
        self.record_aside();
        let manager = &mut self.driver.subnet_mut().manager;
        let has_more = |sighting: &&Sighting| sighting.stranger.is_some() || !sighting.shortfalls.is_empty();
        match self.sighting.as_ref().filter(has_more) {
            Some(sighting) => peers.find_in_all(manager, &context.responder, &sighting.discovered, until_event).await,
            None => peers.find(manager, &context.responder, &alive, sm, until_event).await,
        }
    }

    /// Sets up ports that bounced, and newcomers. Returns the target of the next change, if one is needed.
    async fn set_up(&mut self, context: &mut Context) -> Result<Option<Goal>, SmError> {
        let sighting = self.sighting.take();
        // Their managers were asked, and none of them is master.
        if let Some(Sighting { discovered, .. }) = &sighting {
            self.driver.subnet_mut().manager.take_in(&discovered.fabric);
        }
        context.keep_lids_after_all(&self.driver.running().known);
        self.driver.subnet_mut().manager.serve_waiting().await?;
        // First, because the routing in force leads through these ports.
        self.set_up_bounced(context).await?;
        self.rewrite_unused(context).await?;
        self.driver.subnet_mut().manager.serve_waiting().await?;
        let running = self.driver.running().clone();
        let found = drift::of_addresses(self.driver.subnet().manager(), &running);
        self.mend(context, &running, &found).await?;
        self.driver.subnet_mut().manager.serve_waiting().await?;
        // A loss and an arrival are two changes, the loss first (G.6).
        let stranger = sighting.as_ref().filter(|sighting| sighting.stranger.is_some());
        if stranger.is_none() {
            let lesser = sighting.as_ref().map(|seen| unfit::parted(unfit::lesser(seen), &seen.usable()));
            let lesser = lesser.unwrap_or_default();
            self.driver.subnet_mut().manager.set_unfit(lesser);
        }
        let mut refused = None;
        if let Some(sighting) = stranger.filter(|_| !self.driver.running().has_lost_something()) {
            refused = self.admit(context, sighting).await.err();
        }
        let goal = self.goal();
        match refused {
            // A known element that comes back does not wait for a newcomer that cannot be taken in.
            Some(error) if goal.is_none() || error.is_fatal() => return Err(error),
            Some(error) => tracing::warn!(%error, "the newcomers are not brought in; known devices that came back are"),
            None => {}
        }
        // Checked again: `admit` sweeps, and that sweep may show a loss.
        if goal.as_ref().is_some_and(|goal| self.driver.running().grows_to(&goal.fabric)) {
            self.set_up_newcomers(context).await?;
        }
        Ok(goal)
    }

    /// The target of the next change, if one is needed.
    pub(super) fn goal(&self) -> Option<Goal> {
        let (running, aside) = (self.driver.running(), |fabric: &Fabric| self.aside.out_of(fabric));
        // Otherwise no device is left to write to.
        let reached = running.alive.reaches_others(running.sm).then_some(running)?;
        // The loss comes first (G.6). Elements that are set aside and still routed, as after a restart, go with it.
        let wanted = reached.less(aside).or_else(|| reached.wanted(aside))?;
        let why = difference::moved(&running.routed, &wanted).unwrap_or_else(|| "the routing is renewed".to_string());
        Some(Goal { fabric: Arc::new(wanted), why })
    }

    pub(super) async fn change(&mut self, context: &Context, prepared: Prepared) -> Result<ChangeRecord, SmError> {
        let plan = prepared.plan.plan();
        if !plan.proves_answers() {
            tracing::warn!(assumption = Assumption::AnswersAreLegal.name(), "answers to base LIDs are not proved");
        }
        if plan.reserved().is_some() && !plan.proves_switch_management() {
            let assumption = Assumption::SwitchManagementPaused.name();
            tracing::warn!(assumption, "packets on the reserved level are not proved");
        }
        let record = self.driver.run(prepared).await;
        self.report_end(context, record)
    }

    /// Makes trees of groups follow a change at once: the survey after it takes long, and packets are still forwarded
    /// to elements set aside.
    async fn follow_by_groups(&mut self, record: Result<ChangeRecord, SmError>) -> Result<ChangeRecord, SmError> {
        let record = record?;
        if !matches!(record.outcome, Outcome::Failed { .. } | Outcome::Abandoned { .. }) {
            let (subnet, running) = self.driver.subnet_and_running();
            subnet.settle_groups(GroupBase::of(running)).await?;
        }
        Ok(record)
    }

    async fn resume(&mut self, context: &Context) -> Result<ChangeRecord, SmError> {
        let record = self.driver.resume().await;
        self.report_end(context, record.map(|record| record.expect("the driver keeps a change that stands still")))
    }

    /// Reports how a change ended.
    pub(super) fn report_end(
        &self,
        context: &Context,
        record: Result<ChangeRecord, DriverError>,
    ) -> Result<ChangeRecord, SmError> {
        self.driver.subnet().follow();
        self.show(context);
        let record = record?;
        context.post(self.now_ns(), Happening::Changed(Box::new(record.clone())));
        Ok(record)
    }

    /// Makes the SA answer from what is in force now.
    pub(super) fn publish(&mut self) {
        let outlook = self.driver.running().outlook();
        self.driver.subnet_mut().set_outlook(outlook);
    }

    /// Writes the new routing to the retired half (P5.4), so that base LIDs, which tools and connections use that never
    /// queried again, lead to their owners. No source sends on that half while its entries are written; `reopen` opens
    /// it afterwards. Without `reopen`, some paths or layers belong to certain sources: a host that never queried again
    /// would send on what was proved for others.
    async fn mirror(&mut self, context: &Context, reopen: bool) -> Result<(), SmError> {
        let (running, policy) = (self.driver.running().clone(), context.config.policy);
        let manager = &mut self.driver.subnet_mut().manager;
        let work = {
            let running = running.clone();
            move || {
                let lfts = mirroring::mirrored(&running, &policy)?;
                let steady = Lanes::steady_table(&running.routed, &policy);
                let writes = plan::writes_between(&running.alive, Some(&running.tables), &lfts, steady);
                Ok((lfts, writes))
            }
        };
        let (lfts, writes) = computed(manager, context.config.planning, work).await?.map_err(SmError::Unproved)?;
        manager.apply(&running.alive, &writes, WriteOrder::Any).await?;
        let now_ns = self.driver.subnet().now_ns();
        if let Some(Err(error)) = self.driver.journal_mut().map(|journal| journal.followed(now_ns)) {
            tracing::error!("{error}; a manager that starts anew has the retired half follow again");
        }
        let manager = &mut self.driver.subnet_mut().manager;
        // Only now, with every entry acknowledged: packets sent on the half from here on meet no old entry.
        if reopen {
            manager.open_ends().await?;
        }
        self.driver.record_tables(lfts, reopen);
        tracing::info!("the retired half follows");
        Ok(())
    }
}

/// The way in which the user wants changes made.
pub(super) fn intent(config: &Config) -> Intent {
    Intent { auto: config.auto, ..Intent::by(config.engine.clone(), Scheme::Double, config.policy) }
}

fn changed(record: ChangeRecord) -> LifecycleEvent {
    LifecycleEvent::Changed(Box::new(record))
}

/// Whether the published state is still current. Compared by address, since the manager replaces what changes and
/// shares the rest; layers, port states and halves of sources change only with one of these.
fn is_same(shown: &Running, running: &Running) -> bool {
    fn all_same<T>(a: &[Arc<T>], b: &[Arc<T>]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
    }
    let fabrics = |of: &Running| [&of.known, &of.alive, &of.routed].map(Arc::as_ptr);
    fabrics(shown) == fabrics(running)
        && shown.ways.as_ref().map(Arc::as_ptr) == running.ways.as_ref().map(Arc::as_ptr)
        && (shown.half, shown.both_halves) == (running.half, running.both_halves)
        && all_same(&shown.tables.lfts, &running.tables.lfts)
        && all_same(&shown.tables.sl_to_vl, &running.tables.sl_to_vl)
}
