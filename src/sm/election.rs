//! The election of the master among several subnet managers: one pure transition function from (state, event) to
//! (state, commands).
//!
//! On entry: this manager's [`ElectionRules`], what other managers report ([`Peer`]), and the [`ElectionInput`]. On
//! return: the state, and commands to be carried out in order. Holds: this manager writes only in `master` and
//! `yielding` ([`ElectionState::may_write`]), which a change that cannot wait brings it back to; it leaves them for a
//! manager of higher rank only after a sweep found that manager, and never during a change; a standby takes over after
//! [`ElectionRules::polls`] unanswered polls; a manager that neither takes over the subnet nor gives it up is passed
//! over for a while, so no master waits for another forever. `state-machines/election.yaml` states the same by hand,
//! and a test compares the two. Sources: InfiniBand Architecture Specification, volume 1, section 14.4; where it leaves
//! room, OpenSM's behaviour. Deliberately omitted: MADs, a clock, and retries of single SMPs. A manager that ends does
//! not resign but falls silent: one that is only restarted finds its subnet as it left it.

use crate::ids::Guid;
use std::cmp::Reverse;
use std::fmt;

/// The state that a manager shows to others (SMInfo:SMState).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SmRole {
    /// Disabled by a master until further notice.
    NotActive,
    /// Sweeping to learn who else is there.
    Discovering,
    /// Watching the master.
    Standby,
    /// Managing the subnet.
    Master,
}

impl SmRole {
    /// The number on the wire, 0 to 3.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The role with this number; the field has four bits, of which the specification uses four values.
    pub fn from_number(number: u8) -> Option<SmRole> {
        [SmRole::NotActive, SmRole::Discovering, SmRole::Standby, SmRole::Master].get(usize::from(number)).copied()
    }
}

/// A manager's rank: the greater has precedence. Higher priority first, then lower GUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rank {
    /// SMInfo:Priority, 0 to 15.
    pub priority: u8,
    /// SMInfo:GUID: that of the manager's port.
    pub guid: Guid,
}

impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> std::cmp::Ordering {
        (self.priority, Reverse(self.guid)).cmp(&(other.priority, Reverse(other.guid)))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (priority {})", self.guid, self.priority)
    }
}

/// What another manager reports in its SMInfo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its rank.
    pub rank: Rank,
    /// Its state.
    pub role: SmRole,
    /// SMInfo:SM_Key, by which managers of one subnet know each other.
    pub sm_key: u64,
}

/// Settings of the election.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElectionRules {
    /// This manager's rank.
    pub rank: Rank,
    /// Managers with another key are strangers: this manager reports them, and neither obeys nor yields to them. 0
    /// trusts all.
    pub sm_key: u64,
    /// Nanoseconds between two polls of the watched manager.
    pub poll_ns: u64,
    /// Consecutive unanswered polls after which the watched manager counts as dead.
    pub polls: u32,
}

impl ElectionRules {
    /// OpenSM's defaults: key 1, a poll every ten seconds, four of them unanswered.
    pub fn new(rank: Rank) -> ElectionRules {
        ElectionRules { rank, sm_key: 1, poll_ns: 10_000_000_000, polls: 4 }
    }

    pub(super) fn trusts(&self, peer: &Peer) -> bool {
        self.sm_key == 0 || peer.sm_key == self.sm_key
    }
}

/// The driver's view of the present.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ElectionInput {
    /// Nanoseconds of the transport's clock.
    pub now_ns: u64,
    /// Whether a change of the routing, or work that belongs to it, must end before a handover.
    pub changing: bool,
    /// Managers that are ignored now.
    pub passed_over: PassedOver,
    /// Whether this manager has resigned, as long as that holds ([`ElectionState::ends_resignation`]): every other one
    /// has precedence.
    pub has_resigned: bool,
}

impl ElectionInput {
    /// Whether another manager has precedence over this one.
    fn yields_to(&self, rules: &ElectionRules, other: Rank) -> bool {
        self.has_resigned || other > rules.rank
    }
}

/// How long a manager is ignored after it did not take or release the subnet.
const PASSED_OVER_NS: u64 = 300_000_000_000;

/// Managers that did not take or release the subnet, and until when each is ignored. A fifth replaces the oldest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PassedOver([Option<PassedOverEntry>; 4]);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PassedOverEntry {
    news: News,
    /// Its role when it was last asked.
    role: Option<SmRole>,
    until_ns: u64,
}

impl PassedOverEntry {
    fn is_of(&self, guid: Guid) -> bool {
        self.news.about().guid == guid
    }

    /// Whether its present role ends the time in which it is ignored: a rival is master no longer; another manager has
    /// become master, and its answer to the handover may have been lost.
    fn is_over(&self, role: SmRole) -> bool {
        let is_rival = matches!(self.news, News::Obstinate(_));
        is_rival != (role == SmRole::Master) && Some(role) != self.role.filter(|_| !is_rival)
    }
}

impl PassedOver {
    /// Adds the manager that this news is of, with what the last sweep found it to be.
    pub fn add(&mut self, news: News, role: Option<SmRole>, now_ns: u64) {
        self.0.rotate_right(1);
        self.0[0] = Some(PassedOverEntry { news, role, until_ns: now_ns.saturating_add(PASSED_OVER_NS) });
    }

    /// Forgets managers whose time is over and, after a sweep, those that it has not found.
    pub fn keep(&mut self, now_ns: u64, found: Option<&[Peer]>) {
        let is_found = |entry: &PassedOverEntry, found: &[Peer]| {
            found.iter().any(|peer| entry.is_of(peer.rank.guid) && !entry.is_over(peer.role))
        };
        self.retain(|entry| entry.until_ns > now_ns && found.is_none_or(|found| is_found(entry, found)));
    }

    /// Forgets a manager that now reports the state that it was asked to enter.
    pub fn hear(&mut self, peer: &Peer) {
        self.retain(|entry| !(entry.is_of(peer.rank.guid) && entry.is_over(peer.role)));
    }

    fn retain(&mut self, stays: impl Fn(&PassedOverEntry) -> bool) {
        self.0.iter_mut().for_each(|entry| *entry = entry.filter(&stays));
    }

    /// The reasons for which managers are ignored, the latest first.
    pub fn news(&self) -> impl Iterator<Item = News> + '_ {
        self.0.iter().flatten().map(|entry| entry.news)
    }

    fn has(&self, peer: &Peer) -> bool {
        self.0.iter().flatten().any(|entry| entry.is_of(peer.rank.guid))
    }
}

/// Another manager, polled until it stops answering.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerWatch {
    peer: Rank,
    /// Polls since its last answer.
    unanswered: u32,
    /// Polls in all.
    polled: u32,
    /// When to poll next.
    due_ns: u64,
}

impl PeerWatch {
    /// Starts with the first poll.
    fn begin(peer: Rank, rules: &ElectionRules, at: ElectionInput) -> PeerWatch {
        PeerWatch { peer, unanswered: 1, polled: 1, due_ns: at.now_ns.saturating_add(rules.poll_ns) }
    }

    fn again(self, rules: &ElectionRules, at: ElectionInput) -> PeerWatch {
        let (unanswered, polled) = (self.unanswered + 1, self.polled.saturating_add(1));
        PeerWatch { unanswered, polled, ..PeerWatch::begin(self.peer, rules, at) }
    }

    fn alive(self, peer: &Peer) -> PeerWatch {
        PeerWatch { peer: peer.rank, unanswered: 0, ..self }
    }

    fn is_of(&self, peer: &Peer) -> bool {
        self.peer.guid == peer.rank.guid
    }

    /// Whether the last poll is known to be unanswered.
    pub(super) fn is_silent(&self) -> bool {
        self.unanswered > 1
    }

    fn is_patient(&self, rules: &ElectionRules) -> bool {
        self.unanswered < rules.polls
    }

    /// Whether a master of lower rank has had enough time to hand over: twice the time that a silent manager has.
    fn is_long_enough(&self, rules: &ElectionRules) -> bool {
        self.polled >= rules.polls.saturating_mul(2)
    }
}

/// This manager's state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElectionState {
    /// It sweeps to learn who else is there.
    Discovering,
    /// Another manager is master, or has higher rank and is about to be.
    Standby(PeerWatch),
    /// A master switched it off.
    NotActive,
    /// It manages the subnet.
    Master,
    /// This manager and one of lower rank are both master; the other should hand over.
    Waiting(PeerWatch),
    /// A manager of higher rank waits for the end of the change in progress.
    Yielding {
        /// The manager that takes over.
        to: Rank,
    },
    /// It has asked a manager of higher rank to take over.
    HandingOver(PeerWatch),
}

impl ElectionState {
    /// Its name in `state-machines/election.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            ElectionState::Discovering => "discovering",
            ElectionState::Standby(_) => "standby",
            ElectionState::NotActive => "not-active",
            ElectionState::Master => "master",
            ElectionState::Waiting(_) => "waiting",
            ElectionState::Yielding { .. } => "yielding",
            ElectionState::HandingOver(_) => "handing-over",
        }
    }

    /// The state shown to other managers.
    pub fn role(&self) -> SmRole {
        match self {
            ElectionState::Discovering => SmRole::Discovering,
            ElectionState::Standby(_) => SmRole::Standby,
            ElectionState::NotActive => SmRole::NotActive,
            ElectionState::Master
            | ElectionState::Waiting(_)
            | ElectionState::Yielding { .. }
            | ElectionState::HandingOver(_) => SmRole::Master,
        }
    }

    /// Whether it may write to the subnet; in `yielding`, only to finish the change that it has begun.
    pub fn may_write(&self) -> bool {
        // Not in `handing-over`: after the HANDOVER the other may write. Not in `waiting`: the rival still does.
        matches!(self, ElectionState::Master | ElectionState::Yielding { .. })
    }

    /// Whether this state ends a resignation, since no other manager was there to take the subnet.
    pub fn ends_resignation(&self) -> bool {
        matches!(self, ElectionState::Master | ElectionState::Waiting(_))
    }

    /// The manager that it waits for or yields to.
    pub fn other(&self) -> Option<Rank> {
        match self {
            ElectionState::Standby(watch) | ElectionState::Waiting(watch) | ElectionState::HandingOver(watch) => {
                Some(watch.peer)
            }
            ElectionState::Yielding { to } => Some(*to),
            ElectionState::Discovering | ElectionState::NotActive | ElectionState::Master => None,
        }
    }

    /// When [`ElectionEvent::Due`] is needed; none if the state has no deadline.
    pub fn due_ns(&self) -> Option<u64> {
        match self {
            ElectionState::Standby(watch) | ElectionState::Waiting(watch) | ElectionState::HandingOver(watch) => {
                Some(watch.due_ns)
            }
            ElectionState::Discovering
            | ElectionState::NotActive
            | ElectionState::Master
            | ElectionState::Yielding { .. } => None,
        }
    }
}

/// An order from one manager to another (AttributeModifier of Set(SMInfo)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PeerOrder {
    /// HANDOVER: become master in my place.
    Handover,
    /// ACKNOWLEDGE: I am master in your place.
    Acknowledge,
    /// DISABLE: become not active.
    Disable,
    /// STANDBY: return to standby.
    Standby,
    /// DISCOVER: sweep the subnet again.
    Discover,
}

impl PeerOrder {
    /// The AttributeModifier, 1 to 5.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The order with an AttributeModifier.
    pub fn from_number(number: u32) -> Option<PeerOrder> {
        use PeerOrder::{Acknowledge, Disable, Discover, Handover, Standby};
        [Handover, Acknowledge, Disable, Standby, Discover].into_iter().find(|order| order.number() == number)
    }

    /// Whether a manager in this role may give the order: a master may, and ACKNOWLEDGE may also come from one about to
    /// be.
    fn becomes(self, role: SmRole) -> bool {
        role == SmRole::Master || (self == PeerOrder::Acknowledge && role == SmRole::Standby)
    }
}

/// Input of the election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElectionEvent {
    /// A sweep ended and found these other managers, by Get(SMInfo) at every port whose capability mask has IsSM.
    Swept(Vec<Peer>),
    /// A manager answered Get(SMInfo).
    Answered(Peer),
    /// A Set(SMInfo) was received; the first command answers it, [`ElectionCommand::Accept`] or
    /// [`ElectionCommand::Refuse`].
    Ordered(PeerOrder, Peer),
    /// The HANDOVER was answered without an error.
    Taken(Guid),
    /// The HANDOVER was answered with an error.
    Refused(Guid),
    /// This manager cannot serve the subnet, and these others answered Get(SMInfo): any of them that stands by may
    /// become master.
    Resigned(Vec<Peer>),
    /// The time [`ElectionState::due_ns`] has been reached.
    Due,
    /// A change that cannot wait begins: something was lost.
    ChangeBegun,
    /// The change in progress has ended, completed or called off, and all that belongs to it.
    ChangeEnded,
    /// Another manager has asked what this one is, from beyond the known subnet. Its request says no more of it.
    AskedFromBeyond,
}

impl ElectionEvent {
    /// Its name in `state-machines/election.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            ElectionEvent::Swept(_) => "swept",
            ElectionEvent::Answered(_) => "answered",
            ElectionEvent::Ordered(PeerOrder::Handover, _) => "handover",
            ElectionEvent::Ordered(PeerOrder::Acknowledge, _) => "acknowledge",
            ElectionEvent::Ordered(PeerOrder::Disable, _) => "disable",
            ElectionEvent::Ordered(PeerOrder::Standby, _) => "standby",
            ElectionEvent::Ordered(PeerOrder::Discover, _) => "discover",
            ElectionEvent::Taken(_) => "taken",
            ElectionEvent::Refused(_) => "refused",
            ElectionEvent::Resigned(_) => "resigned",
            ElectionEvent::Due => "due",
            ElectionEvent::ChangeBegun => "change-begun",
            ElectionEvent::ChangeEnded => "change-ended",
            ElectionEvent::AskedFromBeyond => "asked-from-beyond",
        }
    }
}

/// Output of the election: what the driver must do now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElectionCommand {
    /// Sweep the subnet and request SMInfo of every manager found; answer with [`ElectionEvent::Swept`]. Waits for the
    /// end of a change in progress.
    Sweep,
    /// Send Get(SMInfo); an answer becomes [`ElectionEvent::Answered`], silence no event.
    Poll(Guid),
    /// Send Set(SMInfo) HANDOVER; answer with [`ElectionEvent::Taken`] or [`ElectionEvent::Refused`]; silence is no
    /// event.
    HandOver(Guid),
    /// Send Set(SMInfo) ACKNOWLEDGE, in the role of a standby: OpenSM refuses it from a master.
    Acknowledge(Guid),
    /// Send trap 144 (a manager's priority changed) to make a master sweep again.
    SendTrap(Guid),
    /// Answer the pending Set(SMInfo) without an error.
    Accept,
    /// Answer the pending Set(SMInfo) with status 7 (invalid value): this state or sender does not permit the order.
    Refuse,
    /// This manager is master: sweep, and configure the whole subnet.
    Manage,
    /// Another manager is master: stop writing, and answer no more SA queries.
    StepDown,
    /// Report news to the user.
    Report(News),
    /// Report news to the user, and ignore the manager that it concerns for a while.
    PassOver(News),
}

impl ElectionCommand {
    /// Its name in `state-machines/election.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            ElectionCommand::Sweep => "sweep",
            ElectionCommand::Poll(_) => "poll",
            ElectionCommand::HandOver(_) => "hand-over",
            ElectionCommand::Acknowledge(_) => "acknowledge",
            ElectionCommand::SendTrap(_) => "send-trap",
            ElectionCommand::Accept => "accept",
            ElectionCommand::Refuse => "refuse",
            ElectionCommand::Manage => "manage",
            ElectionCommand::StepDown => "step-down",
            ElectionCommand::Report(_) => "report",
            ElectionCommand::PassOver(_) => "pass-over",
        }
    }
}

/// Events that the user should know of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum News {
    /// The watched manager counts as dead.
    #[error("subnet manager {0} does not answer")]
    Silent(Rank),
    /// The handover waits for the end of a change.
    #[error("subnet manager {0} has precedence: the subnet is handed over to it when the change under way has ended")]
    Yields(Rank),
    /// The manager to hand over to no longer has precedence.
    #[error("subnet manager {0} no longer claims precedence: this one stays master")]
    Stays(Rank),
    /// The other refused the handover.
    #[error("subnet manager {0} refuses to take over: this one stays master, and asks again in five minutes")]
    Unwilling(Rank),
    /// The other never answered the handover.
    #[error("subnet manager {0} does not answer the handover: this one stays master, and asks again in five minutes")]
    Deaf(Rank),
    /// The other was asked to take over.
    #[error("subnet manager {0} has precedence and is asked to take over: until it has, only losses are routed around")]
    Asked(Rank),
    /// The other was asked to take over, because this manager cannot serve the subnet.
    #[error(
        "this manager's own port or switch fails, and subnet manager {0} is asked to take over; restart this one once that is mended"
    )]
    Resigns(Rank),
    /// The other has taken over, because this manager could not serve the subnet.
    #[error(
        "this manager has resigned, since its own port or switch fails, and has left the subnet to subnet manager {0}; restart this one once that is mended"
    )]
    Resigned(Rank),
    /// The rival does not hand over, or this manager could not wait for it.
    #[error(
        "subnet manager {0} is master too, of lower rank, and does not hand over: this one stays master too; stop one of \
         them"
    )]
    Obstinate(Rank),
    /// Two managers are master.
    #[error("subnet manager {0} is master too, and of lower rank: this one waits until the other hands over")]
    Rival(Rank),
    /// A stranger: a manager with another key.
    #[error("subnet manager {0} has another SM_Key, and is ignored: give both the same key, or stop one of them")]
    Stranger(Rank),
}

impl News {
    /// The manager that the news concerns.
    pub fn about(&self) -> Rank {
        match *self {
            News::Silent(of) | News::Yields(of) | News::Stays(of) | News::Unwilling(of) | News::Deaf(of) => of,
            News::Asked(of)
            | News::Resigns(of)
            | News::Resigned(of)
            | News::Obstinate(of)
            | News::Rival(of)
            | News::Stranger(of) => of,
        }
    }
}

/// The initial state, and its first command.
pub fn begin() -> (ElectionState, Vec<ElectionCommand>) {
    (ElectionState::Discovering, vec![ElectionCommand::Sweep])
}

/// The next state, and the commands to carry out in order. Strangers are removed from the event first and reported
/// last.
pub fn step(
    rules: &ElectionRules,
    state: ElectionState,
    event: ElectionEvent,
    at: ElectionInput,
) -> (ElectionState, Vec<ElectionCommand>) {
    let report = |peer: &Peer| ElectionCommand::Report(News::Stranger(peer.rank));
    match event {
        ElectionEvent::Swept(peers) => {
            let (known, strangers): (Vec<Peer>, Vec<Peer>) = peers.into_iter().partition(|peer| rules.trusts(peer));
            let (next, mut commands) = transition(rules, state, ElectionEvent::Swept(known), at);
            commands.extend(strangers.iter().map(report));
            (next, commands)
        }
        ElectionEvent::Resigned(mut peers) => {
            peers.retain(|peer| rules.trusts(peer));
            transition(rules, state, ElectionEvent::Resigned(peers), at)
        }
        ElectionEvent::Answered(peer) if !rules.trusts(&peer) => (state, vec![report(&peer)]),
        ElectionEvent::Ordered(_, by) if !rules.trusts(&by) => (state, vec![ElectionCommand::Refuse, report(&by)]),
        ElectionEvent::Ordered(order, by) if !order.becomes(by.role) => (state, vec![ElectionCommand::Refuse]),
        // The deadline may have moved since the driver read it.
        ElectionEvent::Due if state.due_ns().is_none_or(|due_ns| due_ns > at.now_ns) => (state, Vec::new()),
        event => transition(rules, state, event, at),
    }
}

fn transition(
    rules: &ElectionRules,
    state: ElectionState,
    event: ElectionEvent,
    at: ElectionInput,
) -> (ElectionState, Vec<ElectionCommand>) {
    use ElectionCommand as C;
    use ElectionEvent as E;
    use ElectionState as S;
    match (state, event) {
        (S::Discovering, E::Swept(peers)) => after_discovery(rules, &peers, at),
        // The sweep in progress may have found the other manager while it was still master: only a new sweep shows that
        // it no longer is.
        (S::Discovering, E::Ordered(PeerOrder::Handover, _)) => (state, vec![C::Accept, C::Sweep]),

        (S::Standby(watch), E::Due) if watch.is_patient(rules) => poll(S::Standby(watch.again(rules, at)), watch),
        (S::Standby(watch), E::Due) => (S::Discovering, vec![C::Report(News::Silent(watch.peer)), C::Sweep]),
        (S::Standby(watch), E::Answered(peer)) if watch.is_of(&peer) => watched(rules, watch, &peer, at),
        // Any master may hand over, not only the watched one: it may have come after the last sweep.
        (S::Standby(_), E::Ordered(PeerOrder::Handover, by)) => made_master(&by),
        (S::Standby(_), E::Ordered(PeerOrder::Acknowledge, _)) => (state, vec![C::Accept]),
        (S::Standby(_), E::Ordered(PeerOrder::Disable, _)) => (S::NotActive, vec![C::Accept]),
        (S::Standby(_), E::Ordered(PeerOrder::Discover, _)) => (S::Discovering, vec![C::Accept, C::Sweep]),

        // Only this order leaves the state: a master disabled the manager until further notice.
        (S::NotActive, E::Ordered(PeerOrder::Standby, by)) => stand_by(rules, by.rank, at, vec![C::Accept]),

        (S::Master, E::Swept(peers)) => reassess(rules, &peers, at),
        (S::Master, E::Answered(peer)) => reassess(rules, &[peer], at),
        (S::Master, E::Resigned(peers)) => resign(rules, &peers, at),
        // Perhaps no switch has reported the new cable to this manager: the trap may be lost, and the port-change bit
        // cleared.
        (S::Master, E::AskedFromBeyond) => (state, vec![C::Sweep]),
        // The other manager was master as well and may have written anything, so nothing that was known still holds.
        (S::Master, E::Ordered(PeerOrder::Handover, by)) => made_master(&by),

        (S::Waiting(watch), E::Due) if watch.is_long_enough(rules) => {
            (S::Master, vec![C::PassOver(News::Obstinate(watch.peer)), C::Manage])
        }
        (S::Waiting(watch), E::Due) if watch.is_patient(rules) => poll(S::Waiting(watch.again(rules, at)), watch),
        (S::Waiting(watch), E::Due) => (S::Master, vec![C::Report(News::Silent(watch.peer)), C::Manage]),
        // The trap makes the rival sweep; it then finds this manager, of higher rank, and hands over.
        (S::Waiting(watch), E::Answered(peer)) if watch.is_of(&peer) && is_rival(rules, &peer, at) => {
            (S::Waiting(watch.alive(&peer)), vec![C::SendTrap(peer.rank.guid)])
        }
        (S::Waiting(watch), E::Answered(peer)) if watch.is_of(&peer) => waited(rules, &[peer], at),
        (S::Waiting(watch), E::Swept(peers)) => match waited(rules, &peers, at) {
            // The rival is the same: the wait for it continues, however often the subnet is swept.
            (S::Waiting(anew), _) if anew.peer.guid == watch.peer.guid => {
                (S::Waiting(PeerWatch { peer: anew.peer, unanswered: 0, ..watch }), vec![C::SendTrap(anew.peer.guid)])
            }
            next => next,
        },
        // A loss does not wait, and the rival may never hand over.
        (S::Waiting(watch), E::ChangeBegun) => (S::Master, vec![C::PassOver(News::Obstinate(watch.peer)), C::Manage]),
        (S::Waiting(_), E::Ordered(PeerOrder::Handover, by)) => made_master(&by),

        (S::Yielding { to }, E::ChangeEnded) => hand_over(rules, to, at),
        (S::Yielding { to }, E::Swept(peers)) => yields_still(rules, to, &peers, at),
        (S::Yielding { to }, E::Answered(peer)) if to.guid == peer.rank.guid => yields_still(rules, to, &[peer], at),
        (S::Yielding { .. }, E::Ordered(PeerOrder::Handover, by)) => made_master(&by),

        // OpenSM takes over without an ACKNOWLEDGE, so the answer to the Set counts as one.
        (S::HandingOver(watch), E::Taken(by)) if by == watch.peer.guid => step_down(rules, watch, at, vec![]),
        (S::HandingOver(watch), E::Ordered(PeerOrder::Acknowledge, by)) if watch.is_of(&by) => {
            step_down(rules, watch, at, vec![C::Accept])
        }
        (S::HandingOver(watch), E::Answered(peer)) if watch.is_of(&peer) && peer.role == SmRole::Master => {
            step_down(rules, watch, at, vec![])
        }
        // The findings of the last sweep were left to the other manager.
        (S::HandingOver(watch), E::Refused(by)) if by == watch.peer.guid => {
            (S::Master, vec![C::PassOver(News::Unwilling(watch.peer)), C::Sweep])
        }
        // The other manager was asked and did not answer. A loss does not wait for it. It may have become master and
        // have written.
        (S::HandingOver(watch), E::ChangeBegun) => (S::Master, vec![C::PassOver(News::Deaf(watch.peer)), C::Manage]),
        (S::HandingOver(watch), E::Due) if watch.is_patient(rules) => {
            (S::HandingOver(watch.again(rules, at)), vec![C::HandOver(watch.peer.guid)])
        }
        (S::HandingOver(watch), E::Due) => (S::Master, vec![C::PassOver(News::Deaf(watch.peer)), C::Manage]),
        (S::HandingOver(_), E::Ordered(PeerOrder::Handover, by)) => made_master(&by),

        (state, E::Ordered(..)) => (state, vec![C::Refuse]),
        (state, _) => (state, Vec::new()),
    }
}

/// Without other managers this one becomes master. It watches a master that was found, or else an active manager of
/// higher rank, since that one will become master.
fn after_discovery(rules: &ElectionRules, peers: &[Peer], at: ElectionInput) -> (ElectionState, Vec<ElectionCommand>) {
    let highest = |fits: &dyn Fn(&&Peer) -> bool| peers.iter().filter(fits).map(|peer| peer.rank).max();
    // A master stays master, whatever its rank: a manager of higher rank waits for the handover and does not take over
    // by itself (14.4).
    let master = highest(&|peer| peer.role == SmRole::Master);
    let awake = || highest(&|peer| peer.role != SmRole::NotActive && at.yields_to(rules, peer.rank));
    match master.or_else(awake) {
        Some(other) => stand_by(rules, other, at, Vec::new()),
        None => (ElectionState::Master, vec![ElectionCommand::Manage]),
    }
}

/// The watched manager has answered: watch on while it is master, or has higher rank and may become master.
fn watched(
    rules: &ElectionRules,
    watch: PeerWatch,
    peer: &Peer,
    at: ElectionInput,
) -> (ElectionState, Vec<ElectionCommand>) {
    let alive = ElectionState::Standby(watch.alive(peer));
    match peer.role {
        SmRole::Master if !at.yields_to(rules, peer.rank) => (alive, vec![ElectionCommand::SendTrap(peer.rank.guid)]),
        SmRole::Master => (alive, Vec::new()),
        SmRole::Standby | SmRole::Discovering if at.yields_to(rules, peer.rank) => (alive, Vec::new()),
        // It gave up the subnet or was disabled, and has no precedence: the mastership is open again.
        _ => (ElectionState::Discovering, vec![ElectionCommand::Sweep]),
    }
}

/// A master re-evaluates the others: it yields to one of higher rank, and waits for a master of lower rank.
fn reassess(rules: &ElectionRules, peers: &[Peer], at: ElectionInput) -> (ElectionState, Vec<ElectionCommand>) {
    let counts = |peer: &&Peer| !at.passed_over.has(peer);
    let ranks = |fits: &dyn Fn(&&Peer) -> bool| peers.iter().filter(counts).filter(fits).map(|peer| peer.rank).max();
    let successor =
        ranks(&|peer| at.yields_to(rules, peer.rank) && matches!(peer.role, SmRole::Standby | SmRole::Master));
    let rival = ranks(&|peer| is_rival(rules, peer, at));
    // A manager of higher rank comes before a rival of lower rank: once it is master, the rival is its concern.
    match (successor, rival) {
        // Never during a change: the other would find split tables (C.4).
        (Some(to), _) if at.changing => {
            (ElectionState::Yielding { to }, vec![ElectionCommand::Report(News::Yields(to))])
        }
        (Some(to), _) => hand_over(rules, to, at),
        // `waiting` writes nothing, so during a change the rival is only reported.
        (None, Some(rival)) if at.changing => {
            (ElectionState::Master, vec![ElectionCommand::Report(News::Rival(rival))])
        }
        (None, Some(rival)) => {
            let commands = vec![ElectionCommand::Report(News::Rival(rival)), ElectionCommand::Poll(rival.guid)];
            (ElectionState::Waiting(PeerWatch::begin(rival, rules, at)), commands)
        }
        (None, None) => (ElectionState::Master, Vec::new()),
    }
}

/// Asks the standby of highest rank to take over. Without one, this manager stays master.
fn resign(rules: &ElectionRules, peers: &[Peer], at: ElectionInput) -> (ElectionState, Vec<ElectionCommand>) {
    let stands_by = |peer: &&Peer| peer.role == SmRole::Standby && !at.passed_over.has(peer);
    match peers.iter().filter(stands_by).map(|peer| peer.rank).max().filter(|_| !at.changing) {
        Some(to) => {
            let (state, mut commands) = hand_over(rules, to, at);
            commands.push(ElectionCommand::Report(News::Resigns(to)));
            (state, commands)
        }
        None => (ElectionState::Master, Vec::new()),
    }
}

/// Whether the other is master and should not be.
fn is_rival(rules: &ElectionRules, peer: &Peer, at: ElectionInput) -> bool {
    peer.role == SmRole::Master && !at.yields_to(rules, peer.rank)
}

/// Reassesses a manager that waited for a rival: without a rival, it manages the subnet again.
fn waited(rules: &ElectionRules, peers: &[Peer], at: ElectionInput) -> (ElectionState, Vec<ElectionCommand>) {
    match reassess(rules, peers, at) {
        (ElectionState::Master, mut commands) => {
            commands.push(ElectionCommand::Manage);
            (ElectionState::Master, commands)
        }
        next => next,
    }
}

/// Reassesses a manager that is already yielding.
fn yields_still(
    rules: &ElectionRules,
    to: Rank,
    peers: &[Peer],
    at: ElectionInput,
) -> (ElectionState, Vec<ElectionCommand>) {
    match reassess(rules, peers, at) {
        // Already reported: the same successor is no news.
        (ElectionState::Yielding { to: next }, _) if next == to => (ElectionState::Yielding { to }, Vec::new()),
        // It may have been master meanwhile.
        (ElectionState::Master, mut commands) => {
            commands.extend([ElectionCommand::Report(News::Stays(to)), ElectionCommand::Manage]);
            (ElectionState::Master, commands)
        }
        next => next,
    }
}

fn poll(state: ElectionState, watch: PeerWatch) -> (ElectionState, Vec<ElectionCommand>) {
    (state, vec![ElectionCommand::Poll(watch.peer.guid)])
}

fn hand_over(rules: &ElectionRules, to: Rank, at: ElectionInput) -> (ElectionState, Vec<ElectionCommand>) {
    (ElectionState::HandingOver(PeerWatch::begin(to, rules, at)), vec![ElectionCommand::HandOver(to.guid)])
}

fn stand_by(
    rules: &ElectionRules,
    other: Rank,
    at: ElectionInput,
    mut commands: Vec<ElectionCommand>,
) -> (ElectionState, Vec<ElectionCommand>) {
    commands.push(ElectionCommand::Poll(other.guid));
    (ElectionState::Standby(PeerWatch::begin(other, rules, at)), commands)
}

fn step_down(
    rules: &ElectionRules,
    watch: PeerWatch,
    at: ElectionInput,
    mut commands: Vec<ElectionCommand>,
) -> (ElectionState, Vec<ElectionCommand>) {
    commands.push(ElectionCommand::StepDown);
    stand_by(rules, watch.peer, at, commands)
}

/// HANDOVER made this manager master, or the only one.
fn made_master(by: &Peer) -> (ElectionState, Vec<ElectionCommand>) {
    use ElectionCommand::{Accept, Acknowledge, Manage};
    (ElectionState::Master, vec![Accept, Acknowledge(by.rank.guid), Manage])
}
