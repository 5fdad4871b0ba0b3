//! The subnet manager's life: one pure transition function from (state, event) to (state, commands).
//!
//! On entry: answers to earlier commands, orders, requests of the election, and the [`LifecycleInput`]. On return: the
//! state, and commands to be carried out in order. The last may be one that an event answers; until that answer, no
//! order and no request of the election is taken. Holds: the subnet is written to only after a sweep, under a
//! [`Mandate`] that allows it; at most one change is in progress, and none begins while one is halted or without a full
//! mandate; a failure is reported and retried after a pause; every order is answered once.
//! `state-machines/lifecycle.yaml` states the same by hand, and a test compares the two. Deliberately omitted: I/O, a
//! clock, the steps of a change (`machine`), the mastership (`election`), and failures of the manager's own port, which
//! end the manager in every state.

use super::election::ElectionState;
use super::element::FoundElement;
use super::error::SmError;
use super::orders::{OrderAnswer, OrderId};
use crate::change::Prepared;
use crate::driver::ChangeRecord;
use crate::fabric::{Fabric, NodeRole, PortId};
use crate::machine::{CallOff, Outcome, UNFINISHABLE};
use crate::plan::Plan;
use std::sync::Arc;

/// The most changes in one reaction before the manager listens again: a subnet that keeps changing must not shut out
/// orders.
const CHANGES: u8 = 8;

/// Pause before the manager retries what failed on a subnet that is up. It doubles with each further failure until an
/// event of the subnet: whole surveys must not go on for ever at this rate.
const RETRY_NS: u64 = 5_000_000_000;

/// The longest such pause.
const LONGEST_RETRY_NS: u64 = 60_000_000_000;

/// How long a change may stand still, or a retired half fail to follow. After that the subnet is taken over as if a
/// manager had died during the change: hosts may be behind a fence, or send to LIDs that lead nowhere.
const STANDS_NS: u64 = 60_000_000_000;

/// Pause before the manager retries a subnet that could not be swept or brought up, and how long after an event in a
/// longer pause. After [`TRIES`] failures it doubles with each further one, up to the longest.
const BACK_OFF_NS: u64 = 2_000_000_000;
const LONGEST_BACK_OFF_NS: u64 = 60_000_000_000;

/// Pause before the manager looks again whether its own port leads anywhere. Such a look takes very few requests.
pub(super) const REACH_NS: u64 = 1_000_000_000;

/// How often in a row a subnet may fail to come up before its end ports are opened without a proof. Hosts that are
/// fenced must not wait for a recovery that may never end.
const TRIES: u8 = 3;
/// From here on failures are not counted: the pause is the longest.
const MOST_FAILED: u8 = TRIES + MOST_REFUSED;
/// The same for refusals.
const MOST_REFUSED: u8 = 5;

/// The state of a subnet manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LifecycleState {
    /// It sweeps to learn what is there and who else manages it.
    Looking(BringUpAttempt),
    /// Another manager is master, or has disabled this one.
    Standby,
    /// The subnet could not be swept or brought up.
    BackingOff {
        /// When to sweep again.
        until_ns: u64,
        /// The attempt that ended.
        attempt: BringUpAttempt,
    },
    /// It computes, proves and writes a first routing, or adopts the one that it found.
    BringingUp(BringUpAttempt),
    /// The subnet is up, and the manager listens for events and orders.
    Idle(Unfinished),
    /// It sweeps the subnet that is up.
    Surveying(Reaction),
    /// It writes the routing in force to the retired half.
    Mirroring(Reaction),
    /// It sets up ports that bounced, and assigns addresses to newcomers.
    SettingUp(Reaction),
    /// It routes, plans and proves a change.
    Preparing(Purpose),
    /// A change is in progress (`state-machines/change.yaml`).
    Changing(Purpose),
    /// It resumes a halted change.
    Resuming {
        /// The reaction that goes on afterwards.
        reaction: Reaction,
        /// Since when it stands still.
        since_ns: u64,
        /// The element that it removes, if that was ordered.
        removes: Option<FoundElement>,
    },
    /// A change is halted in a safe state and waits to be resumed.
    Halted {
        /// Work left over.
        unfinished: Unfinished,
        /// Since when it stands still, whatever was tried meanwhile.
        since_ns: u64,
        /// The element that it removes, if that was ordered.
        removes: Option<FoundElement>,
    },
    /// It was ordered to stop.
    Stopped,
}

/// How a bring-up came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BringUpAttempt {
    /// Whether this manager has left a change or a stale half behind, which the bring-up is to end.
    pub is_owed: bool,
    /// Whether it has begun, and not ended, what must not be left half done: [`LifecycleEvent::RecoveryBegun`].
    pub has_begun: bool,
    /// How often in a row it has failed.
    pub failed: u8,
    /// How often in a row it was refused, with no event of the subnet and no other master since.
    pub refused: u8,
    /// Since when the change that it goes on with stands still, whatever was tried meanwhile.
    pub stands_since_ns: Option<u64>,
}

/// Work left over while nothing is in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfinished {
    /// When to survey again; none if only an event calls for it.
    pub retry_ns: Option<u64>,
    /// Reactions in a row that failed.
    pub failures: u8,
    /// State of the retired half.
    pub retired: RetiredHalf,
}

/// Whether the tables of the retired half lead where those of the half in use do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetiredHalf {
    /// They do.
    Current,
    /// A change has ended since they were last written.
    Stale {
        /// Whether sources may send on the half again once it is current: every source may use any path before and
        /// after the change, so the proof also covers a host that never queried again, whatever it sends.
        reopen: bool,
        /// Since when they cannot be written, if that was tried.
        since_ns: Option<u64>,
    },
}

/// A reaction to an event: surveys and changes until nothing is left to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reaction {
    /// The order that caused it; answered at its end.
    pub order: Option<OrderId>,
    /// Changes made so far.
    pub changes: u8,
    /// Reactions before it that failed.
    pub failures: u8,
    /// State of the retired half.
    pub retired: RetiredHalf,
}

/// The purpose of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To follow losses or arrivals that a survey found.
    React(Reaction),
    /// To follow the loss that a glance found. It may be half of what happened, so a survey decides if nothing can be
    /// done about it.
    Glanced(Reaction),
    /// To route around an element that is about to leave.
    Remove {
        /// The order to answer.
        order: OrderId,
        /// The element that leaves.
        element: FoundElement,
        /// Whether to plan and prove only.
        dry_run: bool,
        /// Whether end ports may be cut off.
        cut_off_meant: bool,
        /// Work left over when the order came.
        unfinished: Unfinished,
    },
}

/// What the election permits this manager to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mandate {
    /// Another manager is master: write nothing.
    Silent,
    /// Another manager was asked to take or release the subnet, and has not done so: a loss ends that.
    Guard,
    /// Finish a change in progress, and begin none.
    Finish,
    /// Write and begin changes.
    Full,
}

/// The driver's view of the present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LifecycleInput {
    /// Nanoseconds of the transport's clock.
    pub now_ns: u64,
    /// What the election permits now.
    pub mandate: Mandate,
}

/// The target of a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goal {
    /// The fabric to route, in the indices of the fabric that the driver knows.
    pub fabric: Arc<Fabric>,
    /// What it routes around or adds, as text.
    pub why: String,
}

/// Input of the lifecycle.
#[derive(Clone, Debug)]
pub enum LifecycleEvent {
    /// The sweep ended, and the election knows the other managers.
    Looked,
    /// The bring-up begins to write what must not be left half done: a recovery, a rewrite in place, a change that it
    /// goes on with, or other tables of lanes under traffic.
    RecoveryBegun,
    /// The change that the bring-up goes on with has failed; the answer to the bring-up follows.
    StoodStill {
        /// How often the manager's own device or switch has failed at it.
        own_failures: u32,
    },
    /// The subnet runs under this manager; with the state of the retired half.
    BroughtUp(RetiredHalf),
    /// The glance ended; with the target of a change around what is gone, unless only a survey can determine what
    /// changed.
    Glanced(Option<Goal>),
    /// The sweep of a subnet that is up ended, and the election knows the other managers.
    Surveyed,
    /// The tables of the retired half lead where those of the half in use do.
    Mirrored,
    /// Bounced ports and newcomers hold their settings; with the target of the next change, if one is needed.
    SetUp(Option<Goal>),
    /// A change was planned and proved.
    Prepared(Box<Prepared>),
    /// A change has ended, is halted, or was given up.
    Changed(Box<ChangeRecord>),
    /// The manager's own port leads nowhere.
    Unreached,
    /// A command failed.
    Failed(String),
    /// The subnet is not taken over without a proof; hosts send as before. It carries the reason, unless that was said
    /// before.
    Refused(Option<String>),
    /// A trap or a light sweep reports a change.
    Noticed,
    /// The manager's own device or switch has failed again at what the halted change writes.
    OwnPartFails,
    /// The deadline of the state has come.
    Due,
    /// The election requests a sweep.
    SweepRequested,
    /// Another manager takes over, or was master until now: what is known of the subnet no longer counts.
    MastershipLost,
    /// An order that a survey carries out: a sweep, or the return of an element. Before the subnet is up, any order
    /// except the one to stop.
    Ordered(OrderId),
    /// An order to route around an element.
    RemovalOrdered {
        /// Its number.
        order: OrderId,
        /// The element that leaves; the routing in force uses it.
        element: FoundElement,
        /// Whether to plan and prove only.
        dry_run: bool,
        /// Whether end ports may be cut off.
        cut_off_meant: bool,
        /// The fabric without the element.
        goal: Goal,
    },
    /// The order to stop.
    StopOrdered,
}

/// Output of the lifecycle: what the driver must do now.
#[derive(Clone, Debug)]
pub enum LifecycleCommand {
    /// Sweep, and query the other managers; answer with `Looked` or `Failed`.
    Look,
    /// Bring up what the last sweep found; answer with `BroughtUp`, `Failed` or `Refused`.
    BringUp,
    /// Look whether something is gone, without a sweep; answer with `Glanced` or `Failed`.
    Glance,
    /// Sweep the subnet that is up, and query the other managers; answer with `Surveyed`, with `Glanced` if something
    /// was lost meanwhile, or with `Failed`.
    Survey,
    /// Write the routing in force to the retired half; answer with `Mirrored` or `Failed`.
    Mirror {
        /// Whether to let sources send on it again.
        reopen: bool,
    },
    /// Set up ports that the last survey found down, and newcomers; answer with `SetUp` or `Failed`.
    SetUp,
    /// Route, plan and prove a change; answer with `Prepared` or `Failed`.
    Prepare(Goal),
    /// Run a change; answer with `Changed` or `Failed`.
    Change(Box<Prepared>),
    /// Resume the halted change; answer with `Changed` or `Failed`.
    Resume,
    /// Make the SA answer from what is in force now.
    Publish,
    /// Keep an element out of the routing until it has left.
    SetAside(FoundElement),
    /// Answer an order.
    Answer(OrderId, OrderAnswer),
    /// Announce the change about to be prepared, or a removal about to be made, with its reason.
    Announce(String),
    /// Report a failure to the user.
    Report(String),
    /// Forget the subnet: another manager is master.
    StepDown,
    /// Forget a change that cannot be ended as planned, and the subnet with it; during a bring-up, the change of the
    /// journal.
    Abandon,
    /// Open end ports that discard what their hosts send, although nothing is proved of it.
    OpenEnds,
    /// Offer the subnet to a manager that stands by, if this one's own device or switch is why it cannot be brought up.
    Resign,
    /// Report unfinished work, if there is any.
    ReportUnfinished {
        /// Whether a change, its retired half or a recovery is unfinished. Otherwise closed end ports decide.
        is_owed: bool,
    },
}

impl BringUpAttempt {
    /// An attempt that is to end what this manager has left behind.
    fn owed() -> BringUpAttempt {
        BringUpAttempt { is_owed: true, ..BringUpAttempt::default() }
    }

    /// Whether so many attempts have failed before it that it does what cannot be proved
    /// ([`LifecycleCommand::OpenEnds`]).
    pub fn has_failed_often(self) -> bool {
        self.failed >= TRIES
    }

    /// Whether a manager that ends now leaves something half done.
    pub fn leaves_behind(self) -> bool {
        self.is_owed || self.has_begun
    }
}

impl LifecycleState {
    /// Its name in `state-machines/lifecycle.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            LifecycleState::Looking(_) => "looking",
            LifecycleState::Standby => "standby",
            LifecycleState::BackingOff { .. } => "backing-off",
            LifecycleState::BringingUp(_) => "bringing-up",
            LifecycleState::Idle(_) => "idle",
            LifecycleState::Surveying(_) => "surveying",
            LifecycleState::Mirroring(_) => "mirroring",
            LifecycleState::SettingUp(_) => "setting-up",
            LifecycleState::Preparing(_) => "preparing",
            LifecycleState::Changing(_) => "changing",
            LifecycleState::Resuming { .. } => "resuming",
            LifecycleState::Halted { .. } => "halted",
            LifecycleState::Stopped => "stopped",
        }
    }

    /// Whether a change is writing: it may then be called off.
    pub fn is_changing(&self) -> bool {
        matches!(self, LifecycleState::Changing(_) | LifecycleState::Resuming { .. })
    }

    /// Whether no other manager may be given the subnet: a change is under way or stands still, or its retired half
    /// does not follow yet (P5.4), or it was given up and the recovery has not ended. Other managers know nothing of
    /// closed halves. It does not last for ever: what stands still is given up, and end ports are opened in the end.
    pub fn holds_on(&self) -> bool {
        use LifecycleState as S;
        let stale = |retired: &RetiredHalf| *retired != RetiredHalf::Current;
        match self {
            S::Changing(_) | S::Resuming { .. } | S::Halted { .. } => true,
            S::Idle(unfinished) | S::Preparing(Purpose::Remove { unfinished, .. }) => stale(&unfinished.retired),
            S::Surveying(reaction) | S::Mirroring(reaction) | S::SettingUp(reaction) => stale(&reaction.retired),
            S::Preparing(Purpose::React(reaction) | Purpose::Glanced(reaction)) => stale(&reaction.retired),
            S::Looking(_) | S::BringingUp(_) | S::BackingOff { .. } | S::Standby | S::Stopped => {
                self.attempt().is_some_and(|attempt| attempt.is_owed && attempt.failed < TRIES)
            }
        }
    }

    /// Whether nothing is being done: work left over waits for its time, or for an event.
    pub fn is_at_rest(&self) -> bool {
        use LifecycleState as S;
        matches!(self, S::Idle(_) | S::Halted { .. } | S::BackingOff { .. } | S::Standby | S::Stopped)
    }

    /// The attempt to bring the subnet up; `None` while it is up, or another manager's.
    pub fn attempt(&self) -> Option<BringUpAttempt> {
        match self {
            LifecycleState::Looking(attempt)
            | LifecycleState::BringingUp(attempt)
            | LifecycleState::BackingOff { attempt, .. } => Some(*attempt),
            _ => None,
        }
    }

    /// Whether the subnet is up and nothing is left over.
    pub fn is_done(&self) -> bool {
        matches!(self, LifecycleState::Idle(unfinished) if unfinished.retry_ns.is_none())
    }

    /// Whether work that is due comes before orders: until the retired half follows, a removal would be planned while
    /// entries of that half are stale, and a manager that stops would leave the half closed.
    pub fn precedes_orders(&self, now_ns: u64) -> bool {
        let stale = |unfinished: &Unfinished| unfinished.retired != RetiredHalf::Current;
        matches!(self, LifecycleState::Idle(idle) if stale(idle) && idle.retry_ns.is_some_and(|due_ns| due_ns <= now_ns))
    }

    /// When [`LifecycleEvent::Due`] is needed; none if the state has no deadline.
    pub fn due_ns(&self) -> Option<u64> {
        match self {
            LifecycleState::BackingOff { until_ns, .. } => Some(*until_ns),
            LifecycleState::Idle(unfinished) | LifecycleState::Halted { unfinished, .. } => unfinished.retry_ns,
            _ => None,
        }
    }
}

impl LifecycleEvent {
    /// Its name in `state-machines/lifecycle.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            LifecycleEvent::Looked => "looked",
            LifecycleEvent::RecoveryBegun => "recovery-begun",
            LifecycleEvent::StoodStill { .. } => "stood-still",
            LifecycleEvent::BroughtUp(_) => "brought-up",
            LifecycleEvent::Glanced(_) => "glanced",
            LifecycleEvent::Surveyed => "surveyed",
            LifecycleEvent::Mirrored => "mirrored",
            LifecycleEvent::SetUp(_) => "set-up",
            LifecycleEvent::Prepared(_) => "prepared",
            LifecycleEvent::Changed(_) => "changed",
            LifecycleEvent::Unreached => "unreached",
            LifecycleEvent::Failed(_) => "failed",
            LifecycleEvent::Refused(_) => "refused",
            LifecycleEvent::Noticed => "noticed",
            LifecycleEvent::OwnPartFails => "own-part-fails",
            LifecycleEvent::Due => "due",
            LifecycleEvent::SweepRequested => "sweep-requested",
            LifecycleEvent::MastershipLost => "mastership-lost",
            LifecycleEvent::Ordered(_) => "ordered",
            LifecycleEvent::RemovalOrdered { .. } => "removal-ordered",
            LifecycleEvent::StopOrdered => "stop-ordered",
        }
    }
}

impl LifecycleCommand {
    /// Its name in `state-machines/lifecycle.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            LifecycleCommand::Look => "look",
            LifecycleCommand::BringUp => "bring-up",
            LifecycleCommand::Glance => "glance",
            LifecycleCommand::Survey => "survey",
            LifecycleCommand::Mirror { .. } => "mirror",
            LifecycleCommand::SetUp => "set-up",
            LifecycleCommand::Prepare(_) => "prepare",
            LifecycleCommand::Change(_) => "change",
            LifecycleCommand::Resume => "resume",
            LifecycleCommand::Publish => "publish",
            LifecycleCommand::SetAside(_) => "set-aside",
            LifecycleCommand::Answer(..) => "answer",
            LifecycleCommand::Announce(_) => "announce",
            LifecycleCommand::Report(_) => "report",
            LifecycleCommand::StepDown => "step-down",
            LifecycleCommand::Abandon => "abandon",
            LifecycleCommand::OpenEnds => "open-ends",
            LifecycleCommand::Resign => "resign",
            LifecycleCommand::ReportUnfinished { .. } => "report-unfinished",
        }
    }
}

impl From<&ElectionState> for Mandate {
    fn from(state: &ElectionState) -> Mandate {
        match state {
            ElectionState::Master => Mandate::Full,
            ElectionState::Yielding { .. } => Mandate::Finish,
            ElectionState::Waiting(_) | ElectionState::HandingOver(_) => Mandate::Guard,
            ElectionState::Discovering | ElectionState::Standby(_) | ElectionState::NotActive => Mandate::Silent,
        }
    }
}

impl Unfinished {
    fn retry_at(self, retry_ns: u64) -> Unfinished {
        Unfinished { retry_ns: Some(retry_ns), ..self }
    }

    /// Earlier failures do not lengthen the pauses after a new event.
    fn anew(self) -> Unfinished {
        Unfinished { failures: 0, ..self }
    }
}

impl Reaction {
    fn to(unfinished: Unfinished, order: Option<OrderId>) -> Reaction {
        Reaction { order, changes: 0, failures: unfinished.failures, retired: unfinished.retired }
    }
}

type Next = (LifecycleState, Vec<LifecycleCommand>);

/// The initial state, and its first command.
pub fn begin() -> Next {
    look(BringUpAttempt::default())
}

fn look(attempt: BringUpAttempt) -> Next {
    (LifecycleState::Looking(attempt), vec![LifecycleCommand::Look])
}

/// The next state, and the commands to carry out in order.
pub fn step(state: LifecycleState, event: LifecycleEvent, at: LifecycleInput) -> Next {
    use LifecycleCommand as C;
    use LifecycleEvent as E;
    use LifecycleState as S;
    match (state, event) {
        // The deadline may have moved since the driver read it.
        (_, E::Due) if state.due_ns().is_none_or(|due_ns| due_ns > at.now_ns) => (state, Vec::new()),

        // Bringing up begins no change: any mandate to write permits it.
        (S::Looking(attempt), E::Looked) if at.mandate >= Mandate::Finish => (S::BringingUp(attempt), vec![C::BringUp]),
        (S::Looking(_), E::Looked) => (S::Standby, Vec::new()),
        (S::BringingUp(attempt), E::RecoveryBegun) => {
            (S::BringingUp(BringUpAttempt { has_begun: true, ..attempt }), Vec::new())
        }
        (S::BringingUp(attempt), E::StoodStill { own_failures }) => stood_still(attempt, own_failures, at),
        (S::BringingUp(_), E::BroughtUp(retired)) => up(retired, at),
        (S::Looking(attempt), E::Unreached) => {
            (S::BackingOff { until_ns: at.now_ns.saturating_add(REACH_NS), attempt }, Vec::new())
        }
        (S::Looking(attempt), E::Failed(why)) => failed(attempt, vec![C::Report(why)], at),
        (S::BringingUp(attempt), E::Failed(why)) => not_brought_up(attempt, why, at),
        // Waiting makes nothing worse: a user must act, or a device recover.
        (S::BringingUp(attempt), E::Refused(why)) => refused(attempt, why, at),
        (S::Standby, E::SweepRequested) => begin(),
        // Not at once: one event is seldom all.
        (S::BackingOff { until_ns, attempt }, E::Noticed) => {
            let until_ns = until_ns.min(at.now_ns.saturating_add(BACK_OFF_NS));
            (S::BackingOff { until_ns, attempt: BringUpAttempt { refused: 0, ..attempt } }, Vec::new())
        }
        (S::BackingOff { attempt, .. }, E::Due | E::SweepRequested | E::MastershipLost) => look(attempt),
        (S::Idle(_) | S::Halted { .. }, E::MastershipLost) => {
            let attempt = BringUpAttempt { is_owed: state.holds_on(), ..BringUpAttempt::default() };
            (S::Looking(attempt), vec![C::StepDown, C::Look])
        }

        // A loss is routed around before the rest of the subnet is asked anything.
        (S::Idle(idle), E::Noticed) if idle.retired == RetiredHalf::Current => {
            (S::Surveying(Reaction::to(idle.anew(), None)), vec![C::Glance])
        }
        // Nothing is set up before the survey, because only a survey reads which ports bounced and what was added.
        (S::Surveying(reaction), E::Glanced(Some(goal))) if at.mandate == Mandate::Full => {
            prepare(Purpose::Glanced(reaction), goal)
        }
        // The other manager may not see the loss, or may be gone. It may also have written, so nothing is planned from
        // what is known.
        (S::Surveying(reaction), E::Glanced(Some(_))) if at.mandate == Mandate::Guard => {
            let not_done = answer(reaction, OrderAnswer::NotDone(BESIDE_ANOTHER.to_string()));
            let commands = not_done.into_iter().chain([C::StepDown, C::Look]).collect();
            (S::Looking(BringUpAttempt::owed()), commands)
        }
        (S::Surveying(reaction), E::Glanced(_)) => survey(reaction),
        (S::Idle(idle), E::Noticed) => react(idle.anew(), None),
        (S::Idle(idle), E::Due) => react(idle, None),
        (S::Halted { since_ns, .. }, E::Due | E::Noticed) if is_to_be_given_up(since_ns, at) => {
            abandon(given_up(STOOD_STILL), None)
        }
        // Any other device would be left out, and the change made without it. One that cannot be left out must not keep
        // the rest waiting: the recovery writes to the rest, and if it fails, the manager resigns.
        (S::Halted { .. }, E::OwnPartFails) if at.mandate >= Mandate::Finish => abandon(given_up(OWN_PART_FAILS), None),
        (S::Halted { unfinished, since_ns, removes }, E::Due | E::Noticed) => {
            resume(unfinished, None, since_ns, removes)
        }
        // Not surveyed at once: a pending event is reported first, and one survey then serves both.
        (S::Idle(idle), E::SweepRequested) => (S::Idle(idle.retry_at(at.now_ns)), Vec::new()),
        (S::Halted { unfinished, since_ns, removes }, E::SweepRequested) => {
            (S::Halted { unfinished: unfinished.retry_at(at.now_ns), since_ns, removes }, Vec::new())
        }

        // The sweep may have found a manager of higher rank; the rest is then its work, except the retired half, which
        // it would leave closed for ever.
        (S::Surveying(reaction), E::Surveyed)
            if at.mandate < Mandate::Finish
                || at.mandate < Mandate::Full && reaction.retired == RetiredHalf::Current =>
        {
            rest(reaction)
        }
        // Hosts that never queried again use LIDs of the retired half, so mirroring comes first (P5.4).
        (S::Surveying(reaction), E::Surveyed) => match reaction.retired {
            RetiredHalf::Stale { reopen, .. } => (S::Mirroring(reaction), vec![C::Mirror { reopen }]),
            RetiredHalf::Current => (S::SettingUp(reaction), vec![C::SetUp]),
        },
        // The SA answers from the new tables before the next change is prepared.
        (S::Mirroring(reaction), E::Mirrored) if at.mandate < Mandate::Full => {
            published(rest(Reaction { retired: RetiredHalf::Current, ..reaction }))
        }
        (S::Mirroring(reaction), E::Mirrored) => {
            (S::SettingUp(Reaction { retired: RetiredHalf::Current, ..reaction }), vec![C::Publish, C::SetUp])
        }
        (S::SettingUp(reaction), E::SetUp(None)) => rest(reaction),
        (S::SettingUp(reaction), E::SetUp(Some(goal))) => prepare(Purpose::React(reaction), goal),
        (S::Surveying(reaction) | S::Mirroring(reaction) | S::SettingUp(reaction), E::Failed(why)) => {
            not_followed(reaction, why, at)
        }

        // The manager that was asked to take over may have become master meanwhile.
        (S::Preparing(Purpose::React(reaction) | Purpose::Glanced(reaction)), E::Prepared(_))
            if at.mandate <= Mandate::Guard =>
        {
            rest(reaction)
        }
        (S::Preparing(Purpose::Remove { order, dry_run: false, unfinished, .. }), E::Prepared(_))
            if at.mandate < Mandate::Full =>
        {
            refuse(S::Idle(unfinished), order, "this manager is handing over to another")
        }
        (S::Preparing(purpose), E::Prepared(prepared)) => change(purpose, prepared),
        // In `changing`, `Failed` is an error of the manager itself; a change that ends badly is a `Changed` with its
        // outcome.
        (S::Preparing(purpose) | S::Changing(purpose), E::Failed(why)) => not_changed(purpose, why, at),
        (S::Changing(Purpose::React(reaction) | Purpose::Glanced(reaction)), E::Changed(record)) => {
            changed(Reaction { retired: reaction.retired.after_later(&record), ..reaction }, record, at)
        }
        (S::Changing(Purpose::Remove { order, element, unfinished, .. }), E::Changed(record)) => {
            let unfinished = Unfinished { retired: unfinished.retired.after_later(&record), ..unfinished };
            removed(order, element, unfinished, record, at)
        }
        (S::Resuming { reaction, since_ns, removes }, E::Changed(record)) => {
            let reaction = Reaction { retired: reaction.retired.after_later(&record), ..reaction };
            resumed(reaction, since_ns, removes, record, at)
        }
        (S::Resuming { reaction, .. }, E::Failed(why)) => cannot_be_done(reaction, why, at),

        (S::Idle(idle), E::Ordered(order)) => react(idle.anew(), Some(order)),
        (S::Halted { unfinished, since_ns, removes }, E::Ordered(order)) => {
            resume(unfinished, Some(order), since_ns, removes)
        }
        (S::Standby, E::Ordered(order)) => refuse(state, order, "another subnet manager is master of this subnet"),
        (S::BackingOff { .. }, E::Ordered(order)) => refuse(state, order, "the subnet is not up"),
        // A removal begins a change, so it needs the full mandate.
        (S::Idle(unfinished), E::RemovalOrdered { order, element, dry_run, cut_off_meant, goal })
            if at.mandate == Mandate::Full =>
        {
            prepare(Purpose::Remove { order, element, dry_run, cut_off_meant, unfinished }, goal)
        }
        (S::Idle(_), E::RemovalOrdered { order, .. }) => {
            refuse(state, order, "this manager is handing over to another")
        }
        (S::Halted { .. }, E::RemovalOrdered { order, .. }) => {
            refuse(state, order, "a change stands still: see `reconfig status`; it will be tried again")
        }
        (S::BackingOff { attempt, .. }, E::StopOrdered) => {
            (S::Stopped, vec![C::ReportUnfinished { is_owed: attempt.leaves_behind() }])
        }
        (S::Idle(_) | S::Halted { .. }, E::StopOrdered) if state.holds_on() => {
            (S::Stopped, vec![C::ReportUnfinished { is_owed: true }])
        }
        (S::Standby | S::Idle(_) | S::Halted { .. }, E::StopOrdered) => (S::Stopped, Vec::new()),

        // While a command runs, orders and the election wait for its answer; any other event is stale.
        (state, _) => (state, Vec::new()),
    }
}

/// Survey at once: something may have left or come between the sweep and the last write of the bring-up.
fn up(retired: RetiredHalf, at: LifecycleInput) -> Next {
    let unfinished = Unfinished { retry_ns: Some(at.now_ns), failures: 0, retired };
    (LifecycleState::Idle(unfinished), vec![LifecycleCommand::Publish])
}

/// Backs off exponentially with the number of failed attempts.
fn back_off(attempt: BringUpAttempt, in_vain: u8, commands: Vec<LifecycleCommand>, at: LifecycleInput) -> Next {
    let pause_ns = BACK_OFF_NS.saturating_mul(1 << in_vain.min(8)).min(LONGEST_BACK_OFF_NS);
    (LifecycleState::BackingOff { until_ns: at.now_ns.saturating_add(pause_ns), attempt }, commands)
}

fn failed(attempt: BringUpAttempt, commands: Vec<LifecycleCommand>, at: LifecycleInput) -> Next {
    back_off(BringUpAttempt { refused: 0, ..attempt }, attempt.failed.saturating_sub(TRIES), commands, at)
}

fn refused(attempt: BringUpAttempt, why: Option<String>, at: LifecycleInput) -> Next {
    let in_vain = attempt.refused;
    let attempt = BringUpAttempt { refused: in_vain.saturating_add(1).min(MOST_REFUSED), ..attempt };
    back_off(attempt, in_vain, why.map(LifecycleCommand::Report).into_iter().collect(), at)
}

fn not_brought_up(attempt: BringUpAttempt, why: String, at: LifecycleInput) -> Next {
    let attempt = BringUpAttempt { failed: (attempt.failed + 1).min(MOST_FAILED), ..attempt };
    let report = LifecycleCommand::Report(why);
    let mut commands = vec![report];
    // After each further failure, too: the attempt may have closed them again.
    if attempt.failed >= TRIES {
        commands.extend([LifecycleCommand::OpenEnds, LifecycleCommand::Resign]);
    }
    failed(attempt, commands, at)
}

/// The bring-up cannot end the change of the journal, which is given up by the same limits as one of this manager. Only
/// the journal is written, so any mandate suffices; the next look reads the state of the subnet again.
fn stood_still(attempt: BringUpAttempt, own_failures: u32, at: LifecycleInput) -> Next {
    let since_ns = attempt.stands_since_ns.unwrap_or(at.now_ns);
    // A single failure may be chance: the request or its answer may have been lost, so it is tried once more.
    let is_given_up = own_failures > 1 || has_stood(since_ns, at);
    let attempt = BringUpAttempt { stands_since_ns: (!is_given_up).then_some(since_ns), ..attempt };
    (LifecycleState::BringingUp(attempt), is_given_up.then_some(LifecycleCommand::Abandon).into_iter().collect())
}

fn refuse(state: LifecycleState, order: OrderId, why: &str) -> Next {
    (state, vec![LifecycleCommand::Answer(order, OrderAnswer::Refused(why.to_string()))])
}

fn react(idle: Unfinished, order: Option<OrderId>) -> Next {
    survey(Reaction::to(idle, order))
}

fn resume(halted: Unfinished, order: Option<OrderId>, since_ns: u64, removes: Option<FoundElement>) -> Next {
    let reaction = Reaction::to(halted, order);
    (LifecycleState::Resuming { reaction, since_ns, removes }, vec![LifecycleCommand::Resume])
}

const BESIDE_ANOTHER: &str = "something was lost while the subnet was offered to another manager: it is read again";
const STOOD_STILL: &str = "it stood still for a minute";
const OWN_PART_FAILS: &str = "the manager's own port or switch fails at what it writes";

/// The limit counts time, not attempts. A cable that flaps makes the manager resume the change at once, again and
/// again, and a barrier may take minutes.
fn has_stood(since_ns: u64, at: LifecycleInput) -> bool {
    at.now_ns.saturating_sub(since_ns) >= STANDS_NS
}

fn is_to_be_given_up(since_ns: u64, at: LifecycleInput) -> bool {
    at.mandate >= Mandate::Finish && has_stood(since_ns, at)
}

fn given_up(why: &'static str) -> String {
    SmError::GivenUp { why }.to_string()
}

/// The change cannot be ended as it was planned. Any mandate suffices, because nothing is written before the next look.
/// What that look finds is taken over as from another manager.
fn abandon(why: String, answer: Option<LifecycleCommand>) -> Next {
    let mut commands = vec![LifecycleCommand::Report(why)];
    commands.extend(answer);
    commands.extend([LifecycleCommand::Abandon, LifecycleCommand::Look]);
    (LifecycleState::Looking(BringUpAttempt::owed()), commands)
}

fn survey(reaction: Reaction) -> Next {
    (LifecycleState::Surveying(reaction), vec![LifecycleCommand::Survey])
}

/// Nothing is left to do, or nothing that the mandate permits.
fn rest(reaction: Reaction) -> Next {
    let unfinished = Unfinished { retry_ns: None, failures: 0, retired: reaction.retired };
    (LifecycleState::Idle(unfinished), answered(reaction).collect())
}

/// A survey, or what follows it, cannot be done now. While the retired half is closed this must not last for ever.
fn not_followed(reaction: Reaction, why: String, at: LifecycleInput) -> Next {
    let retired = match reaction.retired {
        RetiredHalf::Stale { since_ns: Some(since_ns), .. } if is_to_be_given_up(since_ns, at) => {
            let why = format!("{why}; {}", given_up("its retired half could not follow for a minute"));
            return abandon(why.clone(), answer(reaction, OrderAnswer::NotDone(why)));
        }
        RetiredHalf::Stale { reopen, since_ns } => {
            RetiredHalf::Stale { reopen, since_ns: Some(since_ns.unwrap_or(at.now_ns)) }
        }
        RetiredHalf::Current => RetiredHalf::Current,
    };
    cannot_be_done(Reaction { retired, ..reaction }, why, at)
}

/// The work cannot be done now.
fn cannot_be_done(reaction: Reaction, why: String, at: LifecycleInput) -> Next {
    give_up(reaction, why.clone(), OrderAnswer::NotDone(why), at)
}

/// The work is not done now, and the client that ordered it is told so.
fn give_up(reaction: Reaction, why: String, told: OrderAnswer, at: LifecycleInput) -> Next {
    let commands = [LifecycleCommand::Report(why)].into_iter().chain(answer(reaction, told)).collect();
    let Reaction { failures, retired, .. } = reaction;
    let pause_ns = (RETRY_NS << failures.min(8)).min(LONGEST_RETRY_NS);
    let retry_ns = Some(at.now_ns.saturating_add(pause_ns));
    (LifecycleState::Idle(Unfinished { retry_ns, failures: failures.saturating_add(1), retired }), commands)
}

fn later(retired: RetiredHalf, at: LifecycleInput) -> Unfinished {
    Unfinished { retry_ns: Some(at.now_ns.saturating_add(RETRY_NS)), failures: 0, retired }
}

/// The order behind a reaction is answered at its end; its changes were reported as they ended.
fn answered(reaction: Reaction) -> impl Iterator<Item = LifecycleCommand> {
    answer(reaction, OrderAnswer::Surveyed).into_iter()
}

fn answer(reaction: Reaction, told: OrderAnswer) -> Option<LifecycleCommand> {
    reaction.order.map(|order| LifecycleCommand::Answer(order, told))
}

fn prepare(purpose: Purpose, goal: Goal) -> Next {
    // A removal may still be refused.
    let announced = !matches!(purpose, Purpose::Remove { .. });
    let announce = announced.then(|| LifecycleCommand::Announce(goal.why.clone()));
    let commands = announce.into_iter().chain([LifecycleCommand::Prepare(goal)]).collect();
    (LifecycleState::Preparing(purpose), commands)
}

impl RetiredHalf {
    /// From its first write on, the half that the change leaves is stale, however the change ends. A change that leaves
    /// no half has the other one follow by itself, or does not touch it.
    pub fn after(self, plan: &Plan) -> RetiredHalf {
        match plan.old() == plan.new_half() {
            true => self,
            false => {
                let reopen = plan.draft().old_ways.is_none() && plan.draft().new_ways.is_none();
                RetiredHalf::Stale { reopen, since_ns: None }
            }
        }
    }

    /// Its state after a change and the changes that were prepared to follow it.
    fn after_all(self, prepared: &Prepared) -> RetiredHalf {
        let retired = self.after(prepared.plan.plan());
        prepared.then.as_ref().map_or(retired, |then| retired.after_all(then))
    }

    /// Its state after the later plans of a change: a loss during a repair may call for the Double Scheme.
    pub fn after_later(self, record: &ChangeRecord) -> RetiredHalf {
        record.later_plans().iter().fold(self, |retired, plan| retired.after(plan.plan()))
    }
}

/// Why a removal is made, in words.
pub(super) fn removal_reason(element: FoundElement, fabric: &Fabric) -> String {
    format!("{} is set aside", element.describe(fabric))
}

fn change(purpose: Purpose, prepared: Box<Prepared>) -> Next {
    let plan = prepared.plan.plan();
    let before = &plan.draft().before;
    // A part of a switch goes with it, and that cuts off nobody.
    let is_cut_off = |port: &&PortId| before.role(before.port(**port).node) != NodeRole::InSwitch;
    let cut_off = || prepared.stranded.iter().filter(is_cut_off);
    let stranded = || -> Vec<String> { cut_off().map(|&port| before.describe_port(port)).collect() };
    // A change that ends before its first write adds no work.
    let unwritten =
        |order, unfinished, answer| (LifecycleState::Idle(unfinished), vec![LifecycleCommand::Answer(order, answer)]);
    let mut announce = None;
    let purpose = match purpose {
        // Hosts that a loss cuts off are cut off already; those of a planned removal still work.
        Purpose::Remove { order, cut_off_meant: false, unfinished, .. } if cut_off().next().is_some() => {
            return unwritten(order, unfinished, OrderAnswer::CutsOff(stranded()));
        }
        Purpose::Remove { order, dry_run: true, unfinished, .. } => {
            let writes = plan.waves().iter().map(|wave| wave.writes.len()).sum();
            let answer = OrderAnswer::Planned {
                scheme: plan.scheme(),
                waves: plan.waves().len(),
                writes,
                stranded: stranded(),
                hosts_that_move: plan.hosts_that_move(),
                notes: plan.draft().notes.clone(),
            };
            return unwritten(order, unfinished, answer);
        }
        Purpose::Remove { order, element, dry_run, cut_off_meant, unfinished } => {
            announce = Some(LifecycleCommand::Announce(removal_reason(element, before)));
            let unfinished = Unfinished { retired: unfinished.retired.after_all(&prepared), ..unfinished };
            Purpose::Remove { order, element, dry_run, cut_off_meant, unfinished }
        }
        Purpose::React(reaction) => {
            Purpose::React(Reaction { retired: reaction.retired.after_all(&prepared), ..reaction })
        }
        Purpose::Glanced(reaction) => {
            Purpose::Glanced(Reaction { retired: reaction.retired.after_all(&prepared), ..reaction })
        }
    };
    let commands = announce.into_iter().chain([LifecycleCommand::Change(prepared)]).collect();
    (LifecycleState::Changing(purpose), commands)
}

/// A change could not be prepared or completed. What a glance saw may be half of what happened, so the subnet is
/// surveyed at once; only what a survey showed waits for the retry. A failed order affects nothing else: work left over
/// stays due.
fn not_changed(purpose: Purpose, why: String, at: LifecycleInput) -> Next {
    match purpose {
        Purpose::React(reaction) => cannot_be_done(reaction, why, at),
        Purpose::Glanced(reaction) => {
            (LifecycleState::Surveying(reaction), vec![LifecycleCommand::Report(why), LifecycleCommand::Survey])
        }
        Purpose::Remove { order, unfinished, .. } => refuse(LifecycleState::Idle(unfinished), order, &why),
    }
}

/// A change in reaction to the subnet has ended; more may be left to do.
fn changed(reaction: Reaction, record: Box<ChangeRecord>, at: LifecycleInput) -> Next {
    let next = match &record.outcome {
        Outcome::Failed { .. } => {
            let outcome = record.outcome.to_string();
            return halt(reaction, at.now_ns, None, outcome, record, at);
        }
        Outcome::Abandoned { .. } => {
            return abandon(given_up(UNFINISHABLE), answer(reaction, OrderAnswer::Changed(record)));
        }
        // After a call-off for a loss (C.2), the next survey finds that loss: no pause is needed.
        Outcome::CalledOff(why) if *why != CallOff::TopologyChanged => {
            let why = stands_still(record.outcome.to_string());
            give_up(reaction, why, OrderAnswer::Changed(record), at)
        }
        // The subnet keeps changing: listen for orders before continuing.
        _ if reaction.changes + 1 == CHANGES => {
            (LifecycleState::Idle(later(reaction.retired, at)), answered(reaction).collect())
        }
        _ => survey(Reaction { changes: reaction.changes + 1, failures: 0, ..reaction }),
    };
    published(next)
}

/// A halted change has been resumed. Only if it completes does the survey that caused this follow.
fn resumed(
    reaction: Reaction,
    since_ns: u64,
    removes: Option<FoundElement>,
    record: Box<ChangeRecord>,
    at: LifecycleInput,
) -> Next {
    let outcome = record.outcome.to_string();
    match &record.outcome {
        Outcome::Completed | Outcome::CutShort => {
            let (state, mut commands) = survey(reaction);
            commands.splice(0..0, removes.map(LifecycleCommand::SetAside));
            published((state, commands))
        }
        Outcome::CalledOff(_) => published(give_up(reaction, stands_still(outcome), OrderAnswer::Changed(record), at)),
        Outcome::Failed { .. } if is_to_be_given_up(since_ns, at) => {
            let why = format!("{}; {}", stands_still(outcome), given_up(STOOD_STILL));
            abandon(why, answer(reaction, OrderAnswer::Changed(record)))
        }
        Outcome::Failed { .. } => halt(reaction, since_ns, removes, outcome, record, at),
        Outcome::Abandoned { .. } => abandon(given_up(UNFINISHABLE), answer(reaction, OrderAnswer::Changed(record))),
    }
}

/// An ordered change has ended.
fn removed(
    order: OrderId,
    element: FoundElement,
    unfinished: Unfinished,
    record: Box<ChangeRecord>,
    at: LifecycleInput,
) -> Next {
    // After a change was cut short, the new routing is in force. Only a user can decide when to use the element again.
    let made = matches!(record.outcome, Outcome::Completed | Outcome::CutShort);
    let halted = match &record.outcome {
        Outcome::Failed { .. } => Some(stands_still(record.outcome.to_string())),
        _ => None,
    };
    let is_given_up = matches!(record.outcome, Outcome::Abandoned { .. });
    let answer = LifecycleCommand::Answer(order, OrderAnswer::Changed(record));
    if is_given_up {
        return abandon(given_up(UNFINISHABLE), Some(answer));
    }
    if let Some(why) = halted {
        let unfinished = later(unfinished.retired, at);
        let state = LifecycleState::Halted { unfinished, since_ns: at.now_ns, removes: Some(element) };
        return (state, vec![LifecycleCommand::Report(why), answer]);
    }
    let set_aside = made.then_some(LifecycleCommand::SetAside(element));
    let commands = set_aside.into_iter().chain([answer]).collect();
    // Due at once: the next survey mirrors the retired half.
    published((LifecycleState::Idle(unfinished.retry_at(at.now_ns)), commands))
}

/// A change is halted. Nothing is published: the SA keeps the half and the tables that the change gave it.
fn halt(
    reaction: Reaction,
    since_ns: u64,
    removes: Option<FoundElement>,
    outcome: String,
    record: Box<ChangeRecord>,
    at: LifecycleInput,
) -> Next {
    let report = LifecycleCommand::Report(stands_still(outcome));
    let commands = [report].into_iter().chain(answer(reaction, OrderAnswer::Changed(record))).collect();
    (LifecycleState::Halted { unfinished: later(reaction.retired, at), since_ns, removes }, commands)
}

fn stands_still(outcome: String) -> String {
    SmError::StandsStill { outcome }.to_string()
}

/// The SA answers from what is in force before anything else is done.
fn published(next: Next) -> Next {
    let (state, mut commands) = next;
    commands.insert(0, LifecycleCommand::Publish);
    (state, commands)
}
