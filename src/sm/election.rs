//! Which of several subnet managers is master: one pure transition function from (state, event) to (state, commands).
//!
//! On entry: this manager's [`ElectionRules`], what other managers report ([`Peer`]), and the [`ElectionInput`]. On
//! return: the state, and commands to be carried out in order. Holds: this manager writes in `master` and `yielding`
//! only ([`ElectionState::may_write`]); it leaves them for a manager of higher rank after a sweep found that one, and
//! never amid a change; a standby takes over after [`ElectionRules::polls`] polls in vain.
//! `state-machines/election.yaml` states the same by hand, and a test compares the two. Sources: InfiniBand
//! Architecture Specification, volume 1, section 14.4; where it leaves room, what OpenSM does. Lacks on purpose: MADs,
//! clock, retries of single SMPs, and a way to resign: a manager that ends falls silent.

use crate::ids::Guid;
use std::cmp::Reverse;
use std::fmt;

/// The states that a manager shows to others (SMInfo:SMState).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SmRole {
    /// Switched off by a master until further notice.
    NotActive,
    /// Looking at the subnet, to learn who else is there.
    Discovering,
    /// Watching the master.
    Standby,
    /// Manages the subnet.
    Master,
}

impl SmRole {
    /// The number on the wire, 0 to 3.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The role with a number; the field has four bits, of which the specification uses four values.
    pub fn from_number(number: u8) -> Option<SmRole> {
        [SmRole::NotActive, SmRole::Discovering, SmRole::Standby, SmRole::Master].get(usize::from(number)).copied()
    }
}

/// A manager's place among managers: the greater has precedence. Higher priority first, then lower GUID.
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

/// The settings of the election.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElectionRules {
    /// Its own rank.
    pub rank: Rank,
    /// Managers with another key are strangers: this manager reports them, and neither obeys them nor gives way to
    /// them. 0 trusts all.
    pub sm_key: u64,
    /// Between two polls of the manager watched.
    pub poll_ns: u64,
    /// Consecutive polls without an answer after which the watched manager is given up.
    pub polls: u32,
}

impl ElectionRules {
    /// OpenSM's defaults: key 1, a poll each ten seconds, four of them in vain.
    pub fn new(rank: Rank) -> ElectionRules {
        ElectionRules { rank, sm_key: 1, poll_ns: 10_000_000_000, polls: 4 }
    }

    fn trusts(&self, peer: &Peer) -> bool {
        self.sm_key == 0 || peer.sm_key == self.sm_key
    }
}

/// What the driver knows of the present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElectionInput {
    /// Nanoseconds of the transport's clock.
    pub now_ns: u64,
    /// A change of the routing is under way.
    pub changing: bool,
}

/// Another manager, polled until it stops answering.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerWatch {
    peer: Rank,
    /// Questions sent since its last answer.
    unanswered: u32,
    /// When it is asked next.
    due_ns: u64,
}

impl PeerWatch {
    /// From the first question on.
    fn begin(peer: Rank, rules: &ElectionRules, at: ElectionInput) -> PeerWatch {
        PeerWatch { peer, unanswered: 1, due_ns: at.now_ns.saturating_add(rules.poll_ns) }
    }

    fn again(self, rules: &ElectionRules, at: ElectionInput) -> PeerWatch {
        PeerWatch { unanswered: self.unanswered + 1, ..PeerWatch::begin(self.peer, rules, at) }
    }

    fn alive(self, peer: &Peer) -> PeerWatch {
        PeerWatch { peer: peer.rank, unanswered: 0, ..self }
    }

    fn is_of(&self, peer: &Peer) -> bool {
        self.peer.guid == peer.rank.guid
    }

    fn is_patient(&self, rules: &ElectionRules) -> bool {
        self.unanswered < rules.polls
    }
}

/// Where this manager stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElectionState {
    /// It sweeps to learn who else is there.
    Discovering,
    /// Another is master, or of higher rank and about to be.
    Standby(PeerWatch),
    /// A master switched it off.
    NotActive,
    /// It manages the subnet.
    Master,
    /// So does another, of lower rank, which is to hand over.
    Waiting(PeerWatch),
    /// One of higher rank waits for the end of the change under way.
    Yielding {
        /// That one.
        to: Rank,
    },
    /// It has asked one of higher rank to take over.
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

    /// Whether it writes to the subnet: in `yielding`, to end the change that it has begun.
    pub fn may_write(&self) -> bool {
        // Not in `handing-over`: from the HANDOVER on the other may write. Not in `waiting`: the rival still does.
        matches!(self, ElectionState::Master | ElectionState::Yielding { .. })
    }

    /// Whether it begins a change.
    pub fn may_begin_change(&self) -> bool {
        matches!(self, ElectionState::Master)
    }

    /// The manager that it waits for or gives way to.
    pub fn other(&self) -> Option<Rank> {
        match self {
            ElectionState::Standby(watch) | ElectionState::Waiting(watch) | ElectionState::HandingOver(watch) => {
                Some(watch.peer)
            }
            ElectionState::Yielding { to } => Some(*to),
            ElectionState::Discovering | ElectionState::NotActive | ElectionState::Master => None,
        }
    }

    /// When [`ElectionEvent::Due`] is wanted; none where the state waits for no time.
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

/// What a manager may order another to do (AttributeModifier of Set(SMInfo)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PeerOrder {
    /// Be master instead of me.
    Handover,
    /// I am master instead of you.
    Acknowledge,
    /// Be switched off.
    Disable,
    /// Be on standby again.
    Standby,
    /// Look at the subnet anew.
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

    /// Who may give it: a master, and to acknowledge also one that is about to be.
    fn becomes(self, role: SmRole) -> bool {
        role == SmRole::Master || (self == PeerOrder::Acknowledge && role == SmRole::Standby)
    }
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElectionEvent {
    /// A sweep ended; these other managers were found, by Get(SMInfo) at every port whose capability mask says IsSM.
    Swept(Vec<Peer>),
    /// A manager answered Get(SMInfo).
    Answered(Peer),
    /// A Set(SMInfo) came in; it is answered by the first command, [`ElectionCommand::Accept`] or [`ElectionCommand::Refuse`].
    Ordered(PeerOrder, Peer),
    /// The HANDOVER was answered without an error.
    Taken(Guid),
    /// The HANDOVER was answered with an error.
    Refused(Guid),
    /// The time [`ElectionState::due_ns`] has come.
    Due,
    /// The change under way has ended, made or called off.
    ChangeEnded,
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
            ElectionEvent::Due => "due",
            ElectionEvent::ChangeEnded => "change-ended",
        }
    }
}

/// What the driver must do now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElectionCommand {
    /// Sweep the subnet and ask every manager found for its SMInfo; answer with [`ElectionEvent::Swept`]. Waits for the end of a
    /// change under way.
    Sweep,
    /// Send Get(SMInfo); an answer becomes [`ElectionEvent::Answered`], silence is no event.
    Poll(Guid),
    /// Send Set(SMInfo) HANDOVER; answer with [`ElectionEvent::Taken`] or [`ElectionEvent::Refused`], silence is no event.
    HandOver(Guid),
    /// Send Set(SMInfo) ACKNOWLEDGE, as one on standby: OpenSM refuses it from a master.
    Acknowledge(Guid),
    /// Have a master look at the subnet again: trap 144, a manager's priority changed.
    Urge(Guid),
    /// Answer the Set(SMInfo) in hand without an error.
    Accept,
    /// Answer the Set(SMInfo) in hand with status 7 (invalid value): the order is not one for this state or sender.
    Refuse,
    /// The subnet is this manager's: sweep, and configure all of it.
    Manage,
    /// The subnet is another's: write nothing any more, and answer no SA queries.
    StepDown,
    /// Report it to the user.
    Report(News),
}

impl ElectionCommand {
    /// Its name in `state-machines/election.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            ElectionCommand::Sweep => "sweep",
            ElectionCommand::Poll(_) => "poll",
            ElectionCommand::HandOver(_) => "hand-over",
            ElectionCommand::Acknowledge(_) => "acknowledge",
            ElectionCommand::Urge(_) => "urge",
            ElectionCommand::Accept => "accept",
            ElectionCommand::Refuse => "refuse",
            ElectionCommand::Manage => "manage",
            ElectionCommand::StepDown => "step-down",
            ElectionCommand::Report(_) => "report",
        }
    }
}

/// What the user should know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum News {
    /// The one watched is given up.
    #[error("subnet manager {0} does not answer")]
    Silent(Rank),
    /// A change is ended before the handover.
    #[error("subnet manager {0} has precedence: it is handed over to when the change under way has ended")]
    Yields(Rank),
    /// Nobody to hand over to is left.
    #[error("subnet manager {0} no longer claims precedence: this one stays master")]
    Stays(Rank),
    /// The handover was not taken.
    #[error("subnet manager {0} refuses to take over: this one stays master, and asks again after its next sweep")]
    Unwilling(Rank),
    /// Two masters.
    #[error("subnet manager {0} is master too, and of lower rank: it is waited for until it hands over")]
    Rival(Rank),
    /// One with another key.
    #[error("subnet manager {0} has another SM_Key, and is ignored: give both the same key, or stop one of them")]
    Stranger(Rank),
}

/// The state in which a manager begins, and its first command.
pub fn begin() -> (ElectionState, Vec<ElectionCommand>) {
    (ElectionState::Discovering, vec![ElectionCommand::Sweep])
}

/// The next state, and what is to be done now. The driver carries out commands in order. Strangers are dropped first,
/// then reported.
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
        ElectionEvent::Answered(peer) if !rules.trusts(&peer) => (state, vec![report(&peer)]),
        ElectionEvent::Ordered(_, by) if !rules.trusts(&by) => (state, vec![ElectionCommand::Refuse, report(&by)]),
        ElectionEvent::Ordered(order, by) if !order.becomes(by.role) => (state, vec![ElectionCommand::Refuse]),
        // The time may have been reset since the driver read it.
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
        // The sweep under way may have found the other manager while it was still master: only a new one shows that it
        // no longer is.
        (S::Discovering, E::Ordered(PeerOrder::Handover, _)) => (state, vec![C::Accept, C::Sweep]),

        (S::Standby(watch), E::Due) if watch.is_patient(rules) => poll(S::Standby(watch.again(rules, at)), watch),
        (S::Standby(watch), E::Due) => (S::Discovering, vec![C::Report(News::Silent(watch.peer)), C::Sweep]),
        (S::Standby(watch), E::Answered(peer)) if watch.is_of(&peer) => watched(rules, watch, &peer),
        // Any master may hand over, not only the watched one: it may have come after the last sweep.
        (S::Standby(_), E::Ordered(PeerOrder::Handover, by)) => made_master(C::Manage, &by),
        (S::Standby(_), E::Ordered(PeerOrder::Acknowledge, _)) => (state, vec![C::Accept]),
        (S::Standby(_), E::Ordered(PeerOrder::Disable, _)) => (S::NotActive, vec![C::Accept]),
        (S::Standby(_), E::Ordered(PeerOrder::Discover, _)) => (S::Discovering, vec![C::Accept, C::Sweep]),

        // Only this order ends the state: a master switched the manager off until further notice.
        (S::NotActive, E::Ordered(PeerOrder::Standby, by)) => stand_by(rules, by.rank, at, vec![C::Accept]),

        (S::Master, E::Swept(peers)) => reassess(rules, &peers, at),
        (S::Master, E::Answered(peer)) => reassess(rules, &[peer], at),
        // It writes already: a sweep shows what the other managed until now.
        (S::Master, E::Ordered(PeerOrder::Handover, by)) => made_master(C::Sweep, &by),

        (S::Waiting(watch), E::Due) if watch.is_patient(rules) => poll(S::Waiting(watch.again(rules, at)), watch),
        (S::Waiting(watch), E::Due) => (S::Master, vec![C::Report(News::Silent(watch.peer)), C::Manage]),
        // The trap makes it sweep; it then finds this manager, of higher rank, and hands over.
        (S::Waiting(watch), E::Answered(peer)) if watch.is_of(&peer) && is_rival(rules, &peer) => {
            (S::Waiting(watch.alive(&peer)), vec![C::Urge(peer.rank.guid)])
        }
        (S::Waiting(watch), E::Answered(peer)) if watch.is_of(&peer) => waited(rules, &[peer], at),
        (S::Waiting(_), E::Swept(peers)) => waited(rules, &peers, at),
        (S::Waiting(_), E::Ordered(PeerOrder::Handover, by)) => made_master(C::Manage, &by),

        (S::Yielding { to }, E::ChangeEnded) => hand_over(rules, to, at),
        (S::Yielding { to }, E::Swept(peers)) => yields_still(rules, to, &peers, at),
        (S::Yielding { to }, E::Answered(peer)) if to.guid == peer.rank.guid => yields_still(rules, to, &[peer], at),
        (S::Yielding { .. }, E::Ordered(PeerOrder::Handover, by)) => made_master(C::Sweep, &by),

        // OpenSM takes over without an ACKNOWLEDGE, so the answer to the Set counts as one.
        (S::HandingOver(watch), E::Taken(by)) if by == watch.peer.guid => step_down(rules, watch, at, vec![]),
        (S::HandingOver(watch), E::Ordered(PeerOrder::Acknowledge, by)) if watch.is_of(&by) => {
            step_down(rules, watch, at, vec![C::Accept])
        }
        (S::HandingOver(watch), E::Answered(peer)) if watch.is_of(&peer) && peer.role == SmRole::Master => {
            step_down(rules, watch, at, vec![])
        }
        // No sweep: it would find the same manager and ask again at once.
        (S::HandingOver(watch), E::Refused(by)) if by == watch.peer.guid => {
            (S::Master, vec![C::Report(News::Unwilling(watch.peer))])
        }
        (S::HandingOver(watch), E::Due) if watch.is_patient(rules) => {
            (S::HandingOver(watch.again(rules, at)), vec![C::HandOver(watch.peer.guid)])
        }
        (S::HandingOver(watch), E::Due) => (S::Master, vec![C::Report(News::Silent(watch.peer)), C::Sweep]),
        (S::HandingOver(_), E::Ordered(PeerOrder::Handover, by)) => made_master(C::Sweep, &by),

        (state, E::Ordered(..)) => (state, vec![C::Refuse]),
        (state, _) => (state, Vec::new()),
    }
}

/// With no other manager there, this one is master. A master that was found is watched; where there is none, so is an
/// awake manager of higher rank, since it will be master.
fn after_discovery(rules: &ElectionRules, peers: &[Peer], at: ElectionInput) -> (ElectionState, Vec<ElectionCommand>) {
    let highest = |fits: &dyn Fn(&&Peer) -> bool| peers.iter().filter(fits).map(|peer| peer.rank).max();
    // A master stays master, whatever its rank: one of higher rank waits for the handover, and does not take over by
    // itself (14.4).
    let master = highest(&|peer| peer.role == SmRole::Master);
    let awake = || highest(&|peer| peer.role != SmRole::NotActive && peer.rank > rules.rank);
    match master.or_else(awake) {
        Some(other) => stand_by(rules, other, at, Vec::new()),
        None => (ElectionState::Master, vec![ElectionCommand::Manage]),
    }
}

/// The watched manager has answered: it stays watched as long as it is master, or of higher rank and may become master.
fn watched(rules: &ElectionRules, watch: PeerWatch, peer: &Peer) -> (ElectionState, Vec<ElectionCommand>) {
    let alive = ElectionState::Standby(watch.alive(peer));
    match peer.role {
        SmRole::Master if peer.rank < rules.rank => (alive, vec![ElectionCommand::Urge(peer.rank.guid)]),
        SmRole::Master => (alive, Vec::new()),
        SmRole::Standby | SmRole::Discovering if peer.rank > rules.rank => (alive, Vec::new()),
        // It gave up the subnet or was switched off, and has no precedence: who is to be master is open again.
        _ => (ElectionState::Discovering, vec![ElectionCommand::Sweep]),
    }
}

/// A master's view of the others: it gives way to one of higher rank, and waits for a master of lower rank.
fn reassess(rules: &ElectionRules, peers: &[Peer], at: ElectionInput) -> (ElectionState, Vec<ElectionCommand>) {
    let ranks = |fits: &dyn Fn(&&Peer) -> bool| peers.iter().filter(fits).map(|peer| peer.rank).max();
    let successor = ranks(&|peer| peer.rank > rules.rank && matches!(peer.role, SmRole::Standby | SmRole::Master));
    let rival = ranks(&|peer| is_rival(rules, peer));
    // One of higher rank comes before a rival of lower rank: once it is master, the rival is its concern.
    match (successor, rival) {
        // Never amid a change: the other would find split tables (C.4).
        (Some(to), _) if at.changing => {
            (ElectionState::Yielding { to }, vec![ElectionCommand::Report(News::Yields(to))])
        }
        (Some(to), _) => hand_over(rules, to, at),
        // `waiting` writes nothing, so amid a change the rival is only reported.
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

/// Whether another is master, and should not be.
fn is_rival(rules: &ElectionRules, peer: &Peer) -> bool {
    peer.role == SmRole::Master && peer.rank < rules.rank
}

/// As [`reassess`], for a manager that waited for a rival: once there is none, it has the subnet to itself.
fn waited(rules: &ElectionRules, peers: &[Peer], at: ElectionInput) -> (ElectionState, Vec<ElectionCommand>) {
    match reassess(rules, peers, at) {
        (ElectionState::Master, mut commands) => {
            commands.push(ElectionCommand::Manage);
            (ElectionState::Master, commands)
        }
        next => next,
    }
}

/// As [`reassess`], for a manager that already gives way.
fn yields_still(
    rules: &ElectionRules,
    to: Rank,
    peers: &[Peer],
    at: ElectionInput,
) -> (ElectionState, Vec<ElectionCommand>) {
    match reassess(rules, peers, at) {
        // Reported when it began: the same successor is no news.
        (ElectionState::Yielding { to: next }, _) if next == to => (ElectionState::Yielding { to }, Vec::new()),
        (ElectionState::Master, mut commands) => {
            commands.push(ElectionCommand::Report(News::Stays(to)));
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

/// Master by another's HANDOVER; what to do first depends on whether it was master already.
fn made_master(first: ElectionCommand, by: &Peer) -> (ElectionState, Vec<ElectionCommand>) {
    (ElectionState::Master, vec![ElectionCommand::Accept, ElectionCommand::Acknowledge(by.rank.guid), first])
}
