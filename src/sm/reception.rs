//! Who answers at once what is none of the manager's own requests: other managers' SMInfo, and clients of the SA.
//!
//! Orders of other managers move the election at once and are answered; what must be done for it beyond that waits on a
//! list for whoever lives the manager's life.

use super::election::{self, Command, Event, Moment, Order, Peer, Rank, Role, Rules, State};
use super::prefix_file;
use crate::ids::{Half, Sl};
use crate::sa::rmpp::RmppPace;
use crate::sa::{Directory, Sa, SaLimits};
use crate::subnet::Attendant;
use crate::transport::Datagram;
use crate::wire::{AttributeId, Method, Notice, SmInfo, SmState, Smp, class, class_of, status};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// The reception of one subnet manager.
#[derive(Debug)]
pub struct Reception {
    rules: Rules,
    state: State,
    /// Rises with every answer, so that others see that this manager lives.
    activity: u32,
    /// Whether a change is under way.
    pub(super) changing: bool,
    wanted: VecDeque<Command>,
    sa: Sa,
}

/// A reception that is shared between the manager and whoever lives its life.
pub type SharedReception = Rc<RefCell<Reception>>;

impl Reception {
    /// A reception of a manager with these rules.
    pub fn new(rules: Rules) -> SharedReception {
        let (state, commands) = election::begin();
        let wanted = commands.into();
        // Under ibsim nobody acknowledges, and a MAD that comes unasked brings down a tool or is taken for another's answer.
        let pace = RmppPace { unheard: false, ..RmppPace::default() };
        let sa = Sa::new(SaLimits { sm_key: rules.sm_key, pace, ..SaLimits::default() });
        Rc::new(RefCell::new(Reception { rules, state, activity: 0, changing: false, wanted, sa }))
    }

    /// Where the election stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// This manager's rank.
    pub fn rank(&self) -> Rank {
        self.rules.rank
    }

    /// Moves the election on.
    pub(super) fn step(&mut self, event: Event, now_ns: u64) {
        let commands = self.transition(event, now_ns);
        self.wanted.extend(commands);
    }

    /// What is to be done for the election next.
    pub(super) fn next_command(&mut self) -> Option<Command> {
        self.wanted.pop_front()
    }

    /// What this manager says of itself.
    pub(super) fn info(&mut self) -> SmInfo {
        self.activity = self.activity.wrapping_add(1);
        SmInfo {
            guid: self.rules.rank.guid,
            sm_key: self.rules.sm_key,
            activity: self.activity,
            priority: self.rules.rank.priority,
            state: SmState::from(self.state.role().number()),
        }
    }

    /// What the SA answers from, from now on.
    pub(super) fn set_directory(&mut self, directory: Directory) {
        let absent = directory.absent_routers();
        let known = self.sa.directory().is_some_and(|before| before.absent_routers() == absent);
        if !known {
            absent.iter().for_each(|&guid| tracing::warn!("{}", prefix_file::absent(guid)));
        }
        self.sa.set_directory(Arc::new(directory));
    }

    /// Requests to the SA so far, by attribute.
    pub fn sa_requests(&self) -> &BTreeMap<u16, u64> {
        self.sa.requests()
    }

    fn log(&mut self) {
        self.sa.take_events().iter().for_each(|event| tracing::warn!(?event, "subnet administration"));
    }

    fn transition(&mut self, event: Event, now_ns: u64) -> Vec<Command> {
        let at = Moment { now_ns, changing: self.changing };
        let was = self.state.name();
        tracing::debug!(event = event.name(), state = was, "election");
        let (state, commands) = election::step(&self.rules, self.state, event, at);
        self.state = state;
        if self.state.name() != was {
            tracing::info!(from = was, to = self.state.name(), "election");
        }
        commands
    }

    /// Another manager orders something: whether it is accepted. The rest of what follows waits on the list.
    fn ordered(&mut self, order: Order, by: Peer, now_ns: u64) -> bool {
        let mut accepted = false;
        for command in self.transition(Event::Ordered(order, by), now_ns) {
            match command {
                Command::Accept => accepted = true,
                Command::Refuse => accepted = false,
                other => self.wanted.push_back(other),
            }
        }
        accepted
    }

    fn sm_info(&mut self, smp: &Smp, now_ns: u64) -> Option<Smp> {
        match smp.method {
            Method::Get => Some(smp.response(self.info().encode())),
            Method::Set => {
                let peer = peer(&SmInfo::decode(&smp.data))?;
                let accepted = Order::from_number(smp.modifier).is_some_and(|order| self.ordered(order, peer, now_ns));
                let info = self.info().encode();
                Some(if accepted { smp.response(info) } else { smp.refusal(status::INVALID_VALUE) })
            }
            _ => None,
        }
    }
}

/// What another manager says of itself; none where it is in no state that there is.
pub(super) fn peer(info: &SmInfo) -> Option<Peer> {
    let role = Role::from_number(info.state.into())?;
    Some(Peer { rank: Rank { priority: info.priority, guid: info.guid }, role, sm_key: info.sm_key })
}

impl Attendant for Reception {
    fn take(&mut self, datagram: &Datagram, now_ns: u64) -> Option<Vec<Datagram>> {
        match class_of(&datagram.bytes) {
            class::SUBNET_LID | class::SUBNET_DIRECTED => {
                let smp = Smp::decode(&datagram.bytes).ok().filter(|smp| smp.attribute == AttributeId::SmInfo)?;
                let answer = self.sm_info(&smp, now_ns)?;
                let bytes = Box::new(answer.encode());
                Some(vec![Datagram { lid: datagram.lid, qp: 0, sl: Sl::default(), bytes }])
            }
            class::SUBNET_ADMINISTRATION if self.state.role() == Role::Master => {
                let answers = self.sa.answer(datagram, now_ns);
                self.log();
                answers
            }
            _ => None,
        }
    }

    fn notice(&mut self, notice: &Notice, now_ns: u64) -> Vec<Datagram> {
        self.sa.notice(notice, now_ns)
    }

    fn half_moved(&mut self, half: Half) {
        self.sa.half_moved(half);
    }

    fn due_ns(&self) -> u64 {
        self.sa.due_ns()
    }

    fn wake(&mut self, now_ns: u64) -> Vec<Datagram> {
        let sent = self.sa.wake(now_ns);
        self.log();
        sent
    }
}
