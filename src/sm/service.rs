//! The subnet manager as one future: carries out the lifecycle's commands, and reports events to it.
//!
//! What is done next is decided by [`lifecycle`](super::lifecycle); here each command becomes a call, and each answer
//! an event. While no command is pending it waits as the state requires: idle it listens to the subnet, on standby only
//! to the election. What happens within one command is decided where it is carried out: here, that a bring-up leaves
//! out devices that fail at it, and that only a manager whose own part fails offers the subnet to another one.

use super::arrival::{BroughtUp, Pending, SubnetArrival};
use super::bring_up;
use super::config::Config;
use super::context::Context;
use super::degraded;
use super::error::SmError;
use super::inherited;
use super::keys;
use super::lifecycle::{self, LifecycleCommand, LifecycleEvent, LifecycleState, RetiredHalf};
use super::mailbox::Happening;
use super::open_end_ports;
use super::orders::ManagerOrder;
use super::partitions;
use super::peers::PeerManagers;
use super::planning::{Planning, SERVING_NS};
use super::upkeep::{SLICE_NS, Upkeep};
use crate::ids::{Half, Lmc};
use crate::journal::Journal;
use crate::subnet::{Discovered, Manager, SubnetError, SubnetManager};
use crate::tables::Write;
use crate::transport::{AnyTransport, Transport};
use futures_util::future::LocalBoxFuture;
use std::collections::VecDeque;
use std::sync::Arc;

/// When to return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunUntil {
    /// When the subnet is first up, or cannot be brought up.
    Up,
    /// When ordered to stop.
    Stopped,
}

/// Runs a subnet manager.
///
/// # Errors
/// The port failed; with [`RunUntil::Up`], also if the subnet cannot be brought up.
pub fn run(
    manager: Manager<AnyTransport>,
    context: Context,
    until: RunUntil,
) -> LocalBoxFuture<'static, Result<(), SmError>> {
    // Behind a pointer, so that it is compiled here and not again in each program that polls it.
    Box::pin(run_here(manager, context, until))
}

async fn run_here(mut manager: Manager<AnyTransport>, mut context: Context, until: RunUntil) -> Result<(), SmError> {
    manager.respond_by(context.responder.clone());
    manager.move_sources(context.config.sources);
    manager.asks_clients(context.config.asks_clients);
    context.mailbox.borrow_mut().view.aside = context.aside().to_vec();
    if let Some(gap) = context.journal.as_ref().and_then(Journal::gap).map(str::to_string) {
        context.mailbox.borrow_mut().view.journal_gap = Some(gap.clone());
        context.post(manager.now_ns(), Happening::Forgotten(gap));
    }
    if context.config.planning == Planning::Threaded {
        manager.serve_waiting_for(SERVING_NS);
    }
    let mut service = Service {
        subnet: ManagedSubnet::Down(Box::new(manager), None),
        peers: PeerManagers::default(),
        until,
        began_ns: 0,
        refusal: None,
        wished: SubnetWish {
            lmc: context.config.lmc,
            data_vls: context.config.data_vls,
            subnet_prefix: context.config.subnet_prefix,
            m_key_protection: context.config.m_key_protection,
        },
    };
    let mut commands = VecDeque::from(lifecycle::begin().1);
    loop {
        let event = match commands.pop_front() {
            Some(command) => {
                let event;
                (service, event) = service.carry_out(&mut context, command).await?;
                event
            }
            None if service.is_done(&context) => return Ok(()),
            None => Some(service.wait(&mut context).await?),
        };
        if let Some(event) = event {
            commands.extend(context.step(event, service.subnet.now_ns()));
        }
    }
}

/// A subnet manager at its port.
struct Service<T> {
    subnet: ManagedSubnet<T>,
    peers: PeerManagers,
    until: RunUntil,
    /// When the last bring-up began.
    began_ns: u64,
    /// The reason of the last refusal, which is reported once.
    refusal: Option<String>,
    wished: SubnetWish,
}

/// The user's settings for the subnet. A subnet that carries traffic may have another LMC, other data VLs, another
/// prefix or a stricter protection; these are kept as long as this manager knows the subnet.
#[derive(Clone, Copy)]
struct SubnetWish {
    lmc: Lmc,
    data_vls: u8,
    subnet_prefix: u64,
    m_key_protection: u8,
}

/// The answer to a command: an event, if it has one.
type CommandAnswer = Result<Option<LifecycleEvent>, SmError>;

/// The port, with what is known of its subnet.
enum ManagedSubnet<T> {
    /// Not up: only the result of the last sweep, which the next sweep replaces.
    Down(Box<Manager<T>>, Option<Box<Discovered>>),
    /// Up under this manager.
    Up(Box<Upkeep<T>>),
}

impl<T: Transport> ManagedSubnet<T> {
    fn now_ns(&self) -> u64 {
        match self {
            ManagedSubnet::Down(manager, _) => manager.now_ns(),
            ManagedSubnet::Up(upkeep) => upkeep.now_ns(),
        }
    }
}

impl<T: Transport> Service<T> {
    fn is_done(&self, context: &Context) -> bool {
        match context.mailbox.borrow().lifecycle() {
            LifecycleState::Stopped => true,
            LifecycleState::Idle(idle) => self.until == RunUntil::Up && idle.retired == RetiredHalf::Current,
            _ => false,
        }
    }

    /// Carries out one command. Returns its answer, if it has one.
    async fn carry_out(
        mut self,
        context: &mut Context,
        command: LifecycleCommand,
    ) -> Result<(Service<T>, Option<LifecycleEvent>), SmError> {
        let now_ns = self.subnet.now_ns();
        let (subnet, answer) = match (command, self.subnet) {
            (LifecycleCommand::Answer(order, answer), subnet) => {
                context.post(now_ns, Happening::Answered(order, answer));
                (subnet, Ok(None))
            }
            (LifecycleCommand::Announce(why), subnet) => {
                context.post(now_ns, Happening::Begun { why });
                (subnet, Ok(None))
            }
            (LifecycleCommand::Report(why), subnet) => {
                report(&subnet, context, why);
                (subnet, Ok(None))
            }
            (LifecycleCommand::ReportUnfinished { is_owed }, subnet) => {
                report_unfinished(&subnet, context, is_owed)?;
                (subnet, Ok(None))
            }
            (command, ManagedSubnet::Down(manager, found)) => {
                let (peers, began_ns) = (&mut self.peers, &mut self.began_ns);
                carry_out_down(manager, found, context, peers, began_ns, self.wished, command).await
            }
            (command, ManagedSubnet::Up(upkeep)) => carry_out_up(upkeep, context, &mut self.peers, command).await,
        };
        self.subnet = subnet;
        let event = self.event_of(answer)?;
        Ok((self, event))
    }

    /// Turns the answer to a command into an event.
    ///
    /// # Errors
    /// The manager ends: its own port failed, or it was to run only until the subnet is up.
    fn event_of(&mut self, answer: CommandAnswer) -> CommandAnswer {
        let event = match answer {
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) if self.until == RunUntil::Up => return Err(error),
            Err(SmError::Unreached { .. }) => Some(LifecycleEvent::Unreached),
            Err(error) if error.is_refusal() => Some(self.refused(error.to_string())),
            Err(error) => Some(LifecycleEvent::Failed(error.to_string())),
            Ok(event) => event,
        };
        if matches!(event, Some(LifecycleEvent::BroughtUp(_) | LifecycleEvent::Failed(_))) {
            self.refusal = None;
        }
        Ok(event)
    }

    fn refused(&mut self, why: String) -> LifecycleEvent {
        let is_news = self.refusal.as_ref() != Some(&why);
        self.refusal = Some(why.clone());
        LifecycleEvent::Refused(is_news.then_some(why))
    }

    /// Waits for the next event, carrying out the election's commands meanwhile.
    async fn wait(&mut self, context: &mut Context) -> Result<LifecycleEvent, SmError> {
        let state = context.mailbox.borrow().lifecycle();
        match &mut self.subnet {
            ManagedSubnet::Up(upkeep) => upkeep.wait(&mut self.peers, context).await,
            ManagedSubnet::Down(manager, _) => {
                if state == LifecycleState::Standby {
                    // It is unknown which end ports another manager has closed or opened since.
                    manager.set_closed_ends(&[]);
                    context.mailbox.borrow_mut().view.found = None;
                }
                context.mailbox.borrow_mut().view.closed_ends = manager.closed_ends();
                watch(manager, &mut self.peers, context).await
            }
        }
    }
}

/// Carries out one command while the subnet is not up.
async fn carry_out_down<T: Transport>(
    mut manager: Box<Manager<T>>,
    found: Option<Box<Discovered>>,
    context: &mut Context,
    peers: &mut PeerManagers,
    began_ns: &mut u64,
    wished: SubnetWish,
    command: LifecycleCommand,
) -> (ManagedSubnet<T>, CommandAnswer) {
    match command {
        LifecycleCommand::OpenEnds => {
            let answer = open_ends(&mut manager, context).await;
            (ManagedSubnet::Down(manager, None), answer)
        }
        LifecycleCommand::Resign => {
            let answer = match manager.indispensable_fault(*began_ns) {
                Some(fault) => {
                    tracing::error!(device = %fault.name, attribute = ?fault.attribute, "the manager's own part fails");
                    peers.resign(&mut manager, &context.responder, &context.mailbox).await
                }
                None => Ok(None),
            };
            (ManagedSubnet::Down(manager, None), answer)
        }
        LifecycleCommand::Look => {
            let (subnet, event) = look(manager, peers, context).await;
            (subnet, event.map(Some))
        }
        LifecycleCommand::BringUp => {
            *began_ns = manager.now_ns();
            let (subnet, event) = bring_up(manager, found, context, wished).await;
            (subnet, event.map(Some))
        }
        other => unreachable!("{} is commanded only while the subnet is up", other.name()),
    }
}

/// Carries out one command while the subnet is up.
async fn carry_out_up<T: Transport>(
    mut upkeep: Box<Upkeep<T>>,
    context: &mut Context,
    peers: &mut PeerManagers,
    command: LifecycleCommand,
) -> (ManagedSubnet<T>, CommandAnswer) {
    match command {
        LifecycleCommand::Abandon => {
            upkeep.abandon();
            (ManagedSubnet::Down(Box::new(upkeep.into_manager(context)), None), Ok(None))
        }
        LifecycleCommand::StepDown => (ManagedSubnet::Down(Box::new(upkeep.into_manager(context)), None), Ok(None)),
        command => {
            let answer = upkeep.carry_out(peers, context, command).await;
            (ManagedSubnet::Up(upkeep), answer)
        }
    }
}

/// Opens end ports, and reports what that leaves unproved. Only a failure of the manager's own port is an error.
async fn open_ends<T: Transport>(manager: &mut Manager<T>, context: &mut Context) -> CommandAnswer {
    match open_end_ports::open_ends(manager, context).await {
        Ok(None) => {}
        Ok(Some(why)) => {
            show_lacks(manager, context);
            context.post(manager.now_ns(), Happening::Failed(why));
        }
        Err(error) if error.is_fatal() => return Err(error),
        Err(error) => tracing::warn!(%error, "end ports could not be opened"),
    }
    Ok(None)
}

/// Reports a failure.
fn report<T: Transport>(subnet: &ManagedSubnet<T>, context: &Context, why: String) {
    if let ManagedSubnet::Down(manager, _) = subnet {
        show_lacks(manager, context);
    }
    context.post(subnet.now_ns(), Happening::Failed(why));
}

/// Shows what the subnet lacks. While it is down, only this does.
fn show_lacks<T: Transport>(manager: &Manager<T>, context: &Context) {
    let view = &mut context.mailbox.borrow_mut().view;
    (view.degraded, view.closed_ends) = (degraded::list(manager), manager.closed_ends());
}

/// Reports what a stopping manager leaves behind, if anything: an unfinished change or recovery, its own or one
/// that it continued; or closed end ports, no matter who closed them.
fn report_unfinished<T: Transport>(subnet: &ManagedSubnet<T>, context: &Context, is_owed: bool) -> Result<(), SmError> {
    let mut mailbox = context.mailbox.borrow_mut();
    mailbox.view.closed_ends = match subnet {
        ManagedSubnet::Down(manager, _) => manager.closed_ends(),
        ManagedSubnet::Up(upkeep) => upkeep.driver.subnet().manager().closed_ends(),
    };
    let Some(left) = mailbox.left_behind_owing(is_owed) else { return Ok(()) };
    tracing::error!("{left}");
    Err(left)
}

/// The next order, as far as orders can be taken while the subnet is not up.
fn next_order(context: &Context) -> Option<LifecycleEvent> {
    let (id, order) = context.mailbox.borrow_mut().next_order()?;
    Some(match order {
        ManagerOrder::Stop => LifecycleEvent::StopOrdered,
        _ => LifecycleEvent::Ordered(id),
    })
}

/// Watches the master until the election requests a sweep or an order comes; or, without a master, until it is time to
/// look again.
async fn watch<T: Transport>(
    manager: &mut Manager<T>,
    peers: &mut PeerManagers,
    context: &Context,
) -> Result<LifecycleEvent, SmError> {
    let due_ns = || context.mailbox.borrow().lifecycle().due_ns();
    loop {
        let slice_ns = manager.now_ns().saturating_add(SLICE_NS);
        manager.idle(due_ns().map_or(slice_ns, |due_ns| due_ns.min(slice_ns))).await?;
        while manager.pending_event().is_some() {
            context.notice(manager.now_ns());
        }
        if let Some(event) = peers.attend(manager, &context.responder, &context.mailbox).await? {
            return Ok(event);
        }
        if let Some(event) = next_order(context) {
            return Ok(event);
        }
        if due_ns().is_some_and(|due_ns| manager.now_ns() >= due_ns) {
            return Ok(LifecycleEvent::Due);
        }
    }
}

/// Sweeps, queries the other managers, and carries out the election's commands.
async fn look<T: Transport>(
    mut manager: Box<Manager<T>>,
    peers: &mut PeerManagers,
    context: &Context,
) -> (ManagedSubnet<T>, Result<LifecycleEvent, SmError>) {
    match sweep(&mut manager, peers, context).await {
        Ok(found) => (ManagedSubnet::Down(manager, Some(Box::new(found))), Ok(LifecycleEvent::Looked)),
        Err(error) => (ManagedSubnet::Down(manager, None), Err(error)),
    }
}

async fn sweep<T: Transport>(
    manager: &mut Manager<T>,
    peers: &mut PeerManagers,
    context: &Context,
) -> Result<Discovered, SmError> {
    // Port-change bits are left for the subnet's master; if that is this manager, it surveys once the subnet is up.
    manager.only_look();
    manager.readmit_due();
    let found = manager.discover().await?;
    found.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
    manager.set_topology(&found.fabric, found.sm_port);
    context.check_reach(&found.fabric, found.sm_port, manager.now_ns())?;
    context.mailbox.borrow_mut().view.found = Some(Arc::new(found.fabric.clone()));
    peers.find(manager, &context.responder, &found.fabric, found.sm_port, false).await?;
    // Managing and sweeping again both follow from here anyway.
    peers.carry_out(manager, &context.responder, &context.mailbox).await?;
    Ok(found)
}

/// Brings up what the last sweep found. If that fails, earlier writes stay.
async fn bring_up<T: Transport>(
    mut manager: Box<Manager<T>>,
    found: Option<Box<Discovered>>,
    context: &mut Context,
    wished: SubnetWish,
) -> (ManagedSubnet<T>, Result<LifecycleEvent, SmError>) {
    let mut found = found.expect("a subnet is brought up after a look only");
    // Until the tables are read or written, nothing is in use: bring-up begins on the lower half.
    manager.begin_mastership(Half::Lower);
    manager.forget_p_keys();
    context.config.lmc = inherited::lmc_to_keep(&found, wished.lmc, context.config.lmc_is_required);
    context.config.subnet_prefix = wished.subnet_prefix;
    context.config.subnet_prefix = inherited::prefix_to_keep(&manager, &found, &context.config);
    context.config.m_key_protection = wished.m_key_protection;
    context.config.m_key_protection = inherited::protection_to_keep(&manager, &found, &context.config);
    context.config.data_vls = wished.data_vls;
    context.config.data_vls = inherited::data_vls_to_keep(&manager, &found, &context.config);
    match bring_up_responsive(&mut manager, &mut found, context).await {
        Ok(up) => end_bring_up(*manager, up, context).await,
        Err(error) => (ManagedSubnet::Down(manager, None), Err(error)),
    }
}

/// A device that fails does not keep the rest from coming up.
async fn bring_up_responsive<T: Transport>(
    manager: &mut Manager<T>,
    found: &mut Discovered,
    context: &mut Context,
) -> Result<BroughtUp, SmError> {
    loop {
        // Clients that an earlier attempt asked may not have reached an SA since.
        manager.forget_asked();
        if context.config.asks_clients {
            // Another manager may have had the subnet; members of groups join again.
            context.responder.borrow_mut().sa().forget_members();
        }
        let began_ns = manager.now_ns();
        let error = match brought_up(manager, found, context).await {
            Ok(up) => return Ok(up),
            Err(error) if error.is_of_all() => return Err(error),
            Err(error) => error,
        };
        if manager.leave_out_faulty(began_ns, 1).is_empty() {
            return Err(error);
        }
        tracing::warn!(%error, "the subnet is brought up without what fails");
        *found = without_left_out(manager).await?;
    }
}

/// Ends what a bring-up has begun, or what an earlier manager has left: then the subnet is up.
async fn end_bring_up<T: Transport>(
    manager: Manager<T>,
    up: BroughtUp,
    context: &mut Context,
) -> (ManagedSubnet<T>, Result<LifecycleEvent, SmError>) {
    let mut upkeep = Upkeep::new(manager, &up, context);
    let BroughtUp { arrival, routed_by, pending, .. } = up;
    let is_standing = matches!(pending, Some(Pending::Standing(_)));
    // A device that fails at an SL-to-VL table is left out, as it would be before hosts send; one that ran before is
    // asked once more. The same holds for the tables that close a half before a recovery.
    let writes_before = matches!(pending, Some(Pending::Lanes { .. } | Pending::Recovery(_)));
    let least = writes_before.then_some(1 + u32::from(arrival != SubnetArrival::Cold));
    let began_ns = upkeep.now_ns();
    if let SubnetArrival::Recovered { way, .. } = &arrival {
        context.post(upkeep.now_ns(), Happening::Begun { why: way.in_words().to_string() });
    }
    let finished = match pending {
        Some(pending) => {
            context.begin_recovery(upkeep.now_ns());
            upkeep.finish(context, pending).await
        }
        None => Ok(RetiredHalf::Current),
    };
    let retired = match finished {
        Ok(retired) => retired,
        // The next look reads the state of the subnet again.
        Err(error) => {
            if is_standing {
                stood_still(&mut upkeep, context, began_ns);
            }
            let seen = context.mailbox.borrow().view.found.clone();
            let mut manager = Box::new(upkeep.into_manager(context));
            context.mailbox.borrow_mut().view.found = seen;
            let fails = |least| !error.is_of_all() && !manager.leave_out_faulty(began_ns, least).is_empty();
            if least.is_some_and(fails)
                && let Err(error) = without_left_out(&mut manager).await
            {
                return (ManagedSubnet::Down(manager, None), Err(error.into()));
            }
            return (ManagedSubnet::Down(manager, None), Err(error));
        }
    };
    context.mailbox.borrow_mut().view.found = None;
    let without_double = context.mailbox.borrow().view.without_double.clone();
    if let Some(why) = without_double {
        tracing::warn!("{why}: what entries alone cannot change with a proof is not changed, since `double` cannot");
    }
    context.post(upkeep.now_ns(), Happening::Up { arrival, routed_by });
    (ManagedSubnet::Up(Box::new(upkeep)), Ok(LifecycleEvent::BroughtUp(retired)))
}

/// Reports that the change of the journal has failed, and discards it if the lifecycle says so.
fn stood_still<T: Transport>(upkeep: &mut Upkeep<T>, context: &Context, began_ns: u64) {
    let own_fault = upkeep.driver.subnet().manager().indispensable_fault(began_ns);
    let stood_still = LifecycleEvent::StoodStill { own_failures: own_fault.map_or(0, |fault| fault.times) };
    for command in context.step(stood_still, upkeep.now_ns()) {
        match command {
            LifecycleCommand::Abandon => upkeep.abandon(),
            other => unreachable!("{} is not commanded while a bring-up goes on", other.name()),
        }
    }
}

async fn brought_up<T: Transport>(
    manager: &mut Manager<T>,
    found: &Discovered,
    context: &mut Context,
) -> Result<BroughtUp, SmError> {
    keys::refuse_locked(manager, &found.fabric, found.sm_port, context.config.m_key).await?;
    let up = match take_up(manager, found, context).await? {
        Some(up) => up,
        None => begin(manager, found, context).await?,
    };
    partitions::read_unknown(manager, &up.running.alive).await?;
    partitions::warn_of_others(manager, &up.running.alive);
    Ok(up)
}

/// The subnet without the devices that are left out, once nothing passes between them and the rest.
async fn without_left_out<T: Transport>(manager: &mut Manager<T>) -> Result<Discovered, SubnetError> {
    let found = manager.discover().await?;
    manager.set_topology(&found.fabric, found.sm_port);
    manager.apply_each(&found.fabric, &Write::links_down(&found.to_left_out)).await?;
    Ok(found)
}

/// Takes up the change that the journal says an earlier manager left; none if there is none, or if the subnet is not as
/// that manager left it.
async fn take_up<T: Transport>(
    manager: &mut Manager<T>,
    found: &Discovered,
    context: &mut Context,
) -> Result<Option<BroughtUp>, SmError> {
    let Some(journal) = &mut context.journal else { return Ok(None) };
    let Some(standing) = journal.standing().cloned() else { return Ok(None) };
    match bring_up::taken_up(manager, found, &standing, &context.config).await? {
        Ok(up) => {
            tracing::warn!("{}: it goes on", up.arrival.why().unwrap_or_default());
            keep_level(&mut context.config, &up);
            Ok(Some(up))
        }
        Err(why) => {
            tracing::warn!(%why, "the journal holds an unfinished change, and it is not resumed");
            // The change knows another fabric, perhaps with fewer ports.
            manager.set_topology(&found.fabric, found.sm_port);
            if let Err(error) = journal.abandoned(manager.now_ns(), &why) {
                tracing::error!("{error}");
            }
            Ok(None)
        }
    }
}

/// A change that goes on keeps to the level that it reserves, or to none.
fn keep_level(config: &mut Config, up: &BroughtUp) {
    let Some(Pending::Standing(standing)) = &up.pending else { return };
    let held = standing.under_way.plan.plan().policy().reserved_sl;
    // While SL-to-VL tables are being replaced, the level is not reserved yet (E.9).
    if held != config.policy.reserved_sl && !up.running.tables.is_on_one_lane() {
        let level = held.map_or_else(|| "no service level".to_string(), |sl| format!("SL {sl}"));
        tracing::warn!("the continued change reserves {level}, and so does this manager until it is restarted");
        config.policy.reserved_sl = held;
    }
}

/// Brings up what a sweep found, as if nothing were known of it.
async fn begin<T: Transport>(
    manager: &mut Manager<T>,
    found: &Discovered,
    context: &mut Context,
) -> Result<BroughtUp, SmError> {
    manager.serve_waiting().await?;
    let equipped = bring_up::equipped(manager, context, found);
    let (fabric, is_less) = equipped.inspect_err(|error| bring_up::note_too_short(manager, found, error))?;
    let up = bring_up::bring_up(manager, context, found, fabric).await?;
    // Only a survey names the devices that are not used.
    let is_less = is_less || !found.doubled.is_empty();
    Ok(BroughtUp { change_is_due: up.change_is_due || is_less, ..up })
}
