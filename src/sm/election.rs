//! Which of several subnet managers is master: one pure transition function from (state, event) to (state, commands).
//!
//! On entry: this manager's [`Rules`], what was heard of other managers ([`Peer`]), and the [`Moment`]. On return: the
//! state, and commands to be carried out in order. Holds: this manager writes in `master` and `yielding` only
//! ([`State::may_write`]); it leaves them for a manager of higher rank after a sweep found that one, and never amid a
//! change; a standby takes over after [`Rules::polls`] polls in vain. `state-machines/election.yaml` says the same by
//! hand, and a test compares the two.
//! Sources: InfiniBand Architecture Specification, volume 1, section 14.4; where it leaves room, what OpenSM does.
//! Lacks on purpose: MADs, clock, retries of single SMPs, and a manager's leave: one that ends falls silent.

use crate::ids::Guid;
use std::cmp::Reverse;
use std::fmt;

/// The states that a manager shows to others (SMInfo:SMState).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// Switched off by a master until further notice.
    NotActive,
    /// Looking at the subnet, to learn who else is there.
    Discovering,
    /// Watching the master.
    Standby,
    /// Manages the subnet.
    Master,
}

impl Role {
    /// The number on the wire, 0 to 3.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The role with a number; the field has four bits, of which the specification uses four values.
    pub fn from_number(number: u8) -> Option<Role> {
        [Role::NotActive, Role::Discovering, Role::Standby, Role::Master].get(usize::from(number)).copied()
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

/// What another manager says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its rank.
    pub rank: Rank,
    /// Its state.
    pub role: Role,
    /// SMInfo:SM_Key, by which managers of one subnet know each other.
    pub sm_key: u64,
}

/// What this manager goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Its own rank.
    pub rank: Rank,
    /// Managers with another key are strangers: they are told of, and neither obeyed nor given way to. 0 trusts all.
    pub sm_key: u64,
    /// Between two polls of the manager watched.
    pub poll_ns: u64,
    /// Polls in a row without an answer after which the one watched is given up.
    pub polls: u32,
}

impl Rules {
    /// OpenSM's defaults: key 1, a poll each ten seconds, four of them in vain.
    pub fn new(rank: Rank) -> Rules {
        Rules { rank, sm_key: 1, poll_ns: 10_000_000_000, polls: 4 }
    }

    fn trusts(&self, peer: &Peer) -> bool {
        self.sm_key == 0 || peer.sm_key == self.sm_key
    }
}

/// What the driver knows of the present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Nanoseconds of the transport's clock.
    pub now_ns: u64,
    /// A change of the routing is under way.
    pub changing: bool,
}

/// Another manager, asked again and again whether it is still there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Watch {
    peer: Rank,
    /// Questions sent since its last answer.
    unanswered: u32,
    /// When it is asked next.
    due_ns: u64,
}

impl Watch {
    /// From the first question on.
    fn begin(peer: Rank, rules: &Rules, at: Moment) -> Watch {
        Watch { peer, unanswered: 1, due_ns: at.now_ns.saturating_add(rules.poll_ns) }
    }

    fn again(self, rules: &Rules, at: Moment) -> Watch {
        Watch { unanswered: self.unanswered + 1, ..Watch::begin(self.peer, rules, at) }
    }

    fn alive(self, peer: &Peer) -> Watch {
        Watch { peer: peer.rank, unanswered: 0, ..self }
    }

    fn is_of(&self, peer: &Peer) -> bool {
        self.peer.guid == peer.rank.guid
    }

    fn is_patient(&self, rules: &Rules) -> bool {
        self.unanswered < rules.polls
    }
}

/// Where this manager stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// It sweeps to learn who else is there.
    Discovering,
    /// Another is master, or of higher rank and about to be.
    Standby(Watch),
    /// A master switched it off.
    NotActive,
    /// It manages the subnet.
    Master,
    /// So does another, of lower rank, which is to hand over.
    Waiting(Watch),
    /// One of higher rank waits for the end of the change under way.
    Yielding {
        /// That one.
        to: Rank,
    },
    /// It has told one of higher rank to take over.
    HandingOver(Watch),
}

impl State {
    /// Its name in `state-machines/election.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            State::Discovering => "discovering",
            State::Standby(_) => "standby",
            State::NotActive => "not-active",
            State::Master => "master",
            State::Waiting(_) => "waiting",
            State::Yielding { .. } => "yielding",
            State::HandingOver(_) => "handing-over",
        }
    }

    /// What other managers are told.
    pub fn role(&self) -> Role {
        match self {
            State::Discovering => Role::Discovering,
            State::Standby(_) => Role::Standby,
            State::NotActive => Role::NotActive,
            State::Master | State::Waiting(_) | State::Yielding { .. } | State::HandingOver(_) => Role::Master,
        }
    }

    /// Whether it writes to the subnet: in `yielding` to end what it has begun.
    pub fn may_write(&self) -> bool {
        matches!(self, State::Master | State::Yielding { .. })
    }

    /// Whether it begins a change.
    pub fn may_begin_change(&self) -> bool {
        matches!(self, State::Master)
    }

    /// The manager that it waits for or gives way to.
    pub fn other(&self) -> Option<Rank> {
        match self {
            State::Standby(watch) | State::Waiting(watch) | State::HandingOver(watch) => Some(watch.peer),
            State::Yielding { to } => Some(*to),
            State::Discovering | State::NotActive | State::Master => None,
        }
    }

    /// When [`Event::Due`] is wanted; none where nothing is waited for.
    pub fn due_ns(&self) -> Option<u64> {
        match self {
            State::Standby(watch) | State::Waiting(watch) | State::HandingOver(watch) => Some(watch.due_ns),
            State::Discovering | State::NotActive | State::Master | State::Yielding { .. } => None,
        }
    }
}

/// What a manager may tell another (AttributeModifier of Set(SMInfo)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
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

impl Order {
    /// The AttributeModifier, 1 to 5.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The order with an AttributeModifier.
    pub fn from_number(number: u32) -> Option<Order> {
        use Order::{Acknowledge, Disable, Discover, Handover, Standby};
        [Handover, Acknowledge, Disable, Standby, Discover].into_iter().find(|order| order.number() == number)
    }

    /// Who may give it: a master, and to acknowledge also one that is about to be.
    fn becomes(self, role: Role) -> bool {
        role == Role::Master || (self == Order::Acknowledge && role == Role::Standby)
    }
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A sweep ended; these other managers were found, by Get(SMInfo) at every port whose capability mask says IsSM.
    Swept(Vec<Peer>),
    /// A manager answered Get(SMInfo).
    Answered(Peer),
    /// A Set(SMInfo) came in; it is answered by the first command, [`Command::Accept`] or [`Command::Refuse`].
    Ordered(Order, Peer),
    /// The HANDOVER was answered without an error.
    Taken(Guid),
    /// The HANDOVER was answered with an error.
    Refused(Guid),
    /// The time [`State::due_ns`] has come.
    Due,
    /// The change under way has ended, made or called off.
    ChangeEnded,
}

impl Event {
    /// Its name in `state-machines/election.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Swept(_) => "swept",
            Event::Answered(_) => "answered",
            Event::Ordered(Order::Handover, _) => "handover",
            Event::Ordered(Order::Acknowledge, _) => "acknowledge",
            Event::Ordered(Order::Disable, _) => "disable",
            Event::Ordered(Order::Standby, _) => "standby",
            Event::Ordered(Order::Discover, _) => "discover",
            Event::Taken(_) => "taken",
            Event::Refused(_) => "refused",
            Event::Due => "due",
            Event::ChangeEnded => "change-ended",
        }
    }
}

/// What the driver must do now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Sweep the subnet and ask every manager found for its SMInfo; answer with [`Event::Swept`]. Waits for the end of a
    /// change under way.
    Sweep,
    /// Send Get(SMInfo); an answer becomes [`Event::Answered`], silence is no event.
    Poll(Guid),
    /// Send Set(SMInfo) HANDOVER; answer with [`Event::Taken`] or [`Event::Refused`], silence is no event.
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
    Reign,
    /// The subnet is another's: write nothing any more, and answer no SA queries.
    Retire,
    /// Tell the user.
    Tell(News),
}

impl Command {
    /// Its name in `state-machines/election.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Sweep => "sweep",
            Command::Poll(_) => "poll",
            Command::HandOver(_) => "hand-over",
            Command::Acknowledge(_) => "acknowledge",
            Command::Urge(_) => "urge",
            Command::Accept => "accept",
            Command::Refuse => "refuse",
            Command::Reign => "reign",
            Command::Retire => "retire",
            Command::Tell(_) => "tell",
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
pub fn begin() -> (State, Vec<Command>) {
    (State::Discovering, vec![Command::Sweep])
}

/// The next state, and what is to be done now. Commands are to be carried out in order. Strangers are left out first,
/// then told of.
pub fn step(rules: &Rules, state: State, event: Event, at: Moment) -> (State, Vec<Command>) {
    let tell = |peer: &Peer| Command::Tell(News::Stranger(peer.rank));
    match event {
        Event::Swept(peers) => {
            let (known, strangers): (Vec<Peer>, Vec<Peer>) = peers.into_iter().partition(|peer| rules.trusts(peer));
            let (next, mut commands) = transition(rules, state, Event::Swept(known), at);
            commands.extend(strangers.iter().map(tell));
            (next, commands)
        }
        Event::Answered(peer) if !rules.trusts(&peer) => (state, vec![tell(&peer)]),
        Event::Ordered(_, by) if !rules.trusts(&by) => (state, vec![Command::Refuse, tell(&by)]),
        Event::Ordered(order, by) if !order.becomes(by.role) => (state, vec![Command::Refuse]),
        Event::Due if state.due_ns().is_none_or(|due_ns| due_ns > at.now_ns) => (state, Vec::new()),
        event => transition(rules, state, event, at),
    }
}

fn transition(rules: &Rules, state: State, event: Event, at: Moment) -> (State, Vec<Command>) {
    use Command as C;
    use Event as E;
    use State as S;
    match (state, event) {
        (S::Discovering, E::Swept(peers)) => after_discovery(rules, &peers, at),
        (S::Discovering, E::Ordered(Order::Handover, _)) => (state, vec![C::Accept, C::Sweep]),

        (S::Standby(watch), E::Due) if watch.is_patient(rules) => poll(S::Standby(watch.again(rules, at)), watch),
        (S::Standby(watch), E::Due) => (S::Discovering, vec![C::Tell(News::Silent(watch.peer)), C::Sweep]),
        (S::Standby(watch), E::Answered(peer)) if watch.is_of(&peer) => watched(rules, watch, &peer),
        (S::Standby(_), E::Ordered(Order::Handover, by)) => crowned(C::Reign, &by),
        (S::Standby(_), E::Ordered(Order::Acknowledge, _)) => (state, vec![C::Accept]),
        (S::Standby(_), E::Ordered(Order::Disable, _)) => (S::NotActive, vec![C::Accept]),
        (S::Standby(_), E::Ordered(Order::Discover, _)) => (S::Discovering, vec![C::Accept, C::Sweep]),

        (S::NotActive, E::Ordered(Order::Standby, by)) => stand_by(rules, by.rank, at, vec![C::Accept]),

        (S::Master, E::Swept(peers)) => reassess(rules, &peers, at),
        (S::Master, E::Answered(peer)) => reassess(rules, &[peer], at),
        (S::Master, E::Ordered(Order::Handover, by)) => crowned(C::Sweep, &by),

        (S::Waiting(watch), E::Due) if watch.is_patient(rules) => poll(S::Waiting(watch.again(rules, at)), watch),
        (S::Waiting(watch), E::Due) => (S::Master, vec![C::Tell(News::Silent(watch.peer)), C::Reign]),
        (S::Waiting(watch), E::Answered(peer)) if watch.is_of(&peer) && is_rival(rules, &peer) => {
            (S::Waiting(watch.alive(&peer)), vec![C::Urge(peer.rank.guid)])
        }
        (S::Waiting(watch), E::Answered(peer)) if watch.is_of(&peer) => waited(rules, &[peer], at),
        (S::Waiting(_), E::Swept(peers)) => waited(rules, &peers, at),
        (S::Waiting(_), E::Ordered(Order::Handover, by)) => crowned(C::Reign, &by),

        (S::Yielding { to }, E::ChangeEnded) => hand_over(rules, to, at),
        (S::Yielding { to }, E::Swept(peers)) => yields_still(rules, to, &peers, at),
        (S::Yielding { to }, E::Answered(peer)) if to.guid == peer.rank.guid => yields_still(rules, to, &[peer], at),
        (S::Yielding { .. }, E::Ordered(Order::Handover, by)) => crowned(C::Sweep, &by),

        (S::HandingOver(watch), E::Taken(by)) if by == watch.peer.guid => retire(rules, watch, at, vec![]),
        (S::HandingOver(watch), E::Ordered(Order::Acknowledge, by)) if watch.is_of(&by) => {
            retire(rules, watch, at, vec![C::Accept])
        }
        (S::HandingOver(watch), E::Answered(peer)) if watch.is_of(&peer) && peer.role == Role::Master => {
            retire(rules, watch, at, vec![])
        }
        (S::HandingOver(watch), E::Refused(by)) if by == watch.peer.guid => {
            (S::Master, vec![C::Tell(News::Unwilling(watch.peer))])
        }
        (S::HandingOver(watch), E::Due) if watch.is_patient(rules) => {
            (S::HandingOver(watch.again(rules, at)), vec![C::HandOver(watch.peer.guid)])
        }
        (S::HandingOver(watch), E::Due) => (S::Master, vec![C::Tell(News::Silent(watch.peer)), C::Sweep]),
        (S::HandingOver(_), E::Ordered(Order::Handover, by)) => crowned(C::Sweep, &by),

        (state, E::Ordered(..)) => (state, vec![C::Refuse]),
        (state, _) => (state, Vec::new()),
    }
}

/// Nobody else: master. A master: it is watched. None, but one of higher rank that is awake: it will be, and is watched.
fn after_discovery(rules: &Rules, peers: &[Peer], at: Moment) -> (State, Vec<Command>) {
    let highest = |fits: &dyn Fn(&&Peer) -> bool| peers.iter().filter(fits).map(|peer| peer.rank).max();
    let master = highest(&|peer| peer.role == Role::Master);
    let awake = || highest(&|peer| peer.role != Role::NotActive && peer.rank > rules.rank);
    match master.or_else(awake) {
        Some(other) => stand_by(rules, other, at, Vec::new()),
        None => (State::Master, vec![Command::Reign]),
    }
}

/// The one watched answered: it stays watched as long as it is master, or of higher rank and may be.
fn watched(rules: &Rules, watch: Watch, peer: &Peer) -> (State, Vec<Command>) {
    let alive = State::Standby(watch.alive(peer));
    match peer.role {
        Role::Master if peer.rank < rules.rank => (alive, vec![Command::Urge(peer.rank.guid)]),
        Role::Master => (alive, Vec::new()),
        Role::Standby | Role::Discovering if peer.rank > rules.rank => (alive, Vec::new()),
        _ => (State::Discovering, vec![Command::Sweep]),
    }
}

/// A master's view of the others: one of higher rank is given way to, a master of lower rank is waited for.
fn reassess(rules: &Rules, peers: &[Peer], at: Moment) -> (State, Vec<Command>) {
    let ranks = |fits: &dyn Fn(&&Peer) -> bool| peers.iter().filter(fits).map(|peer| peer.rank).max();
    let heir = ranks(&|peer| peer.rank > rules.rank && matches!(peer.role, Role::Standby | Role::Master));
    let rival = ranks(&|peer| is_rival(rules, peer));
    match (heir, rival) {
        (Some(to), _) if at.changing => (State::Yielding { to }, vec![Command::Tell(News::Yields(to))]),
        (Some(to), _) => hand_over(rules, to, at),
        (None, Some(rival)) if at.changing => (State::Master, vec![Command::Tell(News::Rival(rival))]),
        (None, Some(rival)) => {
            let commands = vec![Command::Tell(News::Rival(rival)), Command::Poll(rival.guid)];
            (State::Waiting(Watch::begin(rival, rules, at)), commands)
        }
        (None, None) => (State::Master, Vec::new()),
    }
}

/// Whether another is master, and should not be.
fn is_rival(rules: &Rules, peer: &Peer) -> bool {
    peer.role == Role::Master && peer.rank < rules.rank
}

/// As [`reassess`]; who waited for a rival that is none any more has the subnet to itself.
fn waited(rules: &Rules, peers: &[Peer], at: Moment) -> (State, Vec<Command>) {
    match reassess(rules, peers, at) {
        (State::Master, mut commands) => {
            commands.push(Command::Reign);
            (State::Master, commands)
        }
        next => next,
    }
}

/// As [`reassess`], for one that has promised to give way already.
fn yields_still(rules: &Rules, to: Rank, peers: &[Peer], at: Moment) -> (State, Vec<Command>) {
    match reassess(rules, peers, at) {
        (State::Yielding { to: next }, _) if next == to => (State::Yielding { to }, Vec::new()),
        (State::Master, mut commands) => {
            commands.push(Command::Tell(News::Stays(to)));
            (State::Master, commands)
        }
        next => next,
    }
}

fn poll(state: State, watch: Watch) -> (State, Vec<Command>) {
    (state, vec![Command::Poll(watch.peer.guid)])
}

fn hand_over(rules: &Rules, to: Rank, at: Moment) -> (State, Vec<Command>) {
    (State::HandingOver(Watch::begin(to, rules, at)), vec![Command::HandOver(to.guid)])
}

fn stand_by(rules: &Rules, other: Rank, at: Moment, mut commands: Vec<Command>) -> (State, Vec<Command>) {
    commands.push(Command::Poll(other.guid));
    (State::Standby(Watch::begin(other, rules, at)), commands)
}

fn retire(rules: &Rules, watch: Watch, at: Moment, mut commands: Vec<Command>) -> (State, Vec<Command>) {
    commands.push(Command::Retire);
    stand_by(rules, watch.peer, at, commands)
}

/// Master by another's HANDOVER; what to do first depends on whether it was master already.
fn crowned(first: Command, by: &Peer) -> (State, Vec<Command>) {
    (State::Master, vec![Command::Accept, Command::Acknowledge(by.rank.guid), first])
}
