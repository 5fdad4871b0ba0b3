//! Answers outside requests at once: SMInfo of other managers, and SA clients.
//!
//! It holds the election, because orders of other managers move the election as they arrive, whatever the manager is
//! doing, and the election answers them. Its other commands wait until the manager takes them
//! ([`Responder::next_command`]).

use super::election::{
    self, ElectionCommand, ElectionEvent, ElectionInput, ElectionRules, ElectionState, News, PassedOver, Peer,
    PeerOrder, Rank, SmRole,
};
use super::lifecycle::Mandate;
use super::mailbox::{Happening, SharedMailbox};
use crate::ids::{Guid, Half, Sl};
use crate::sa::rmpp::RmppPace;
use crate::sa::{Directory, GroupCounts, Sa, SaEvent, SaLimits};
use crate::subnet::Respond;
use crate::transport::Datagram;
use crate::wire::{AttributeId, Method, Notice, SmInfo, SmState, Smp, class, class_of, status};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// The warning when a client asks for a multicast group where there are none.
pub const NO_GROUPS: &str = "hosts ask for multicast groups, which IPoIB needs, and there are none: `--reserved-sl` gives them a service level \
                             of their own, and makes them";

/// The responder of one subnet manager.
#[derive(Debug)]
pub struct Responder {
    rules: ElectionRules,
    election: ElectionState,
    /// Counts answers, so that others see that this manager is alive (SMInfo:ActCount).
    activity: u32,
    /// Pending commands of the election, in order.
    commands: VecDeque<ElectionCommand>,
    /// The managers that the last sweep found.
    found: Vec<Peer>,
    passed_over: PassedOver,
    has_resigned: bool,
    /// Until when no further request from beyond the known subnet counts.
    beyond_heard_until_ns: u64,
    /// Shows whether a change is in progress, and hears of the election.
    mailbox: SharedMailbox,
    sa: Sa,
}

/// A responder shared by [`Manager`](crate::subnet::Manager), which passes requests to it, and [`run`](super::run),
/// which carries out its commands.
pub type SharedResponder = Rc<RefCell<Responder>>;

impl Responder {
    /// The responder of a manager with these rules; `mailbox` shows the manager's lifecycle.
    pub fn new(rules: ElectionRules, mailbox: SharedMailbox) -> SharedResponder {
        let (election, commands) = election::begin();
        // Under ibsim managers do not acknowledge, and an unrequested MAD crashes a tool or is taken for another
        // request's answer.
        let pace = RmppPace { unheard: false, ..RmppPace::default() };
        let sa = Sa::new(SaLimits { sm_key: rules.sm_key, pace, ..SaLimits::default() });
        let commands = commands.into();
        let (found, passed_over) = (Vec::new(), PassedOver::default());
        Rc::new(RefCell::new(Responder {
            rules,
            election,
            activity: 0,
            commands,
            found,
            passed_over,
            has_resigned: false,
            beyond_heard_until_ns: 0,
            mailbox,
            sa,
        }))
    }

    /// The election's state.
    pub fn state(&self) -> &ElectionState {
        &self.election
    }

    /// The mandate: none until this manager has read the subnet again, if another one may have written.
    pub(super) fn mandate(&self) -> Mandate {
        match self.commands.contains(&ElectionCommand::Manage) {
            true => Mandate::Silent,
            false => Mandate::from(&self.election),
        }
    }

    /// Whether another manager's SM_Key is trusted; surveys report those that are not.
    pub(super) fn trusts(&self, peer: &Peer) -> bool {
        self.rules.trusts(peer)
    }

    /// This manager's rank.
    pub fn rank(&self) -> Rank {
        self.rules.rank
    }

    /// The present problem with another manager, if any.
    pub fn trouble(&self) -> Option<News> {
        match (&self.election, self.election.other()) {
            (ElectionState::Waiting(_), Some(rival)) => Some(News::Rival(rival)),
            (ElectionState::HandingOver(_), Some(other)) if self.has_resigned => Some(News::Resigns(other)),
            (_, Some(other)) if self.has_resigned => Some(News::Resigned(other)),
            (ElectionState::HandingOver(_), Some(other)) => Some(News::Asked(other)),
            _ => self.passed_over.news().next(),
        }
    }

    /// Applies an event to the election.
    pub(super) fn step(&mut self, event: ElectionEvent, now_ns: u64) {
        let commands = self.transition(event, now_ns);
        self.commands.extend(commands);
    }

    /// The election's next command.
    pub(super) fn next_command(&mut self) -> Option<ElectionCommand> {
        self.commands.pop_front()
    }

    /// This manager's SMInfo. One that has resigned and stands by shows itself as not active, so that no master of
    /// lower rank hands the subnet back.
    pub(super) fn info(&mut self) -> SmInfo {
        self.activity = self.activity.wrapping_add(1);
        let role = match self.election.role() {
            SmRole::Standby if self.has_resigned => SmRole::NotActive,
            role => role,
        };
        SmInfo {
            guid: self.rules.rank.guid,
            sm_key: self.rules.sm_key,
            activity: self.activity,
            priority: self.rules.rank.priority,
            state: SmState::from(role.number()),
        }
    }

    /// Makes the SA answer from `directory` from now on.
    pub(super) fn set_directory(&mut self, directory: Directory, now_ns: u64) {
        let absent = directory.absent_routers();
        let known = self.sa.directory().is_some_and(|before| before.absent_routers() == absent);
        if !known {
            absent.iter().for_each(|&guid| tracing::warn!("{}", absent_router(guid)));
        }
        self.sa.set_directory(Arc::new(directory), now_ns);
    }

    /// The half whose LIDs the SA answers with; none before it has a directory.
    pub fn answered_half(&self) -> Option<Half> {
        self.sa.directory().map(|_| self.sa.half())
    }

    /// Requests to the SA so far, by attribute.
    pub fn sa_requests(&self) -> &BTreeMap<u16, u64> {
        self.sa.requests()
    }

    /// Whether there can be multicast groups; not before the SA answers.
    pub fn has_groups(&self) -> bool {
        self.sa.directory().is_some_and(|directory| directory.facts().multicast.is_some())
    }

    /// How many multicast groups and memberships there are.
    pub fn group_counts(&self) -> GroupCounts {
        self.sa.group_counts()
    }

    /// The SA, for what switches hold of its multicast groups.
    pub(super) fn sa(&mut self) -> &mut Sa {
        &mut self.sa
    }

    fn log(&mut self) {
        for event in self.sa.take_events() {
            match event {
                SaEvent::NoGroups { client } => tracing::warn!(%client, "{NO_GROUPS}"),
                event => tracing::warn!(?event, "subnet administration"),
            }
        }
    }

    fn transition(&mut self, event: ElectionEvent, now_ns: u64) -> Vec<ElectionCommand> {
        if let ElectionEvent::Swept(found) = &event {
            self.found.clone_from(found);
        }
        let swept = matches!(event, ElectionEvent::Swept(_)).then_some(&self.found[..]);
        self.passed_over.keep(now_ns, swept);
        match &event {
            ElectionEvent::Answered(peer) => self.passed_over.hear(peer),
            // A manager that hands over is no longer master.
            ElectionEvent::Ordered(PeerOrder::Handover, by) => {
                self.passed_over.hear(&Peer { role: SmRole::Standby, ..*by })
            }
            _ => {}
        }
        self.has_resigned |= matches!(event, ElectionEvent::Resigned(_));
        let (changing, passed_over) = (self.mailbox.borrow().lifecycle().holds_on(), self.passed_over);
        let at = ElectionInput { now_ns, changing, passed_over, has_resigned: self.has_resigned };
        let was = self.election.name();
        tracing::debug!(event = event.name(), state = was, "election");
        let (election, commands) = election::step(&self.rules, self.election, event, at);
        self.election = election;
        self.has_resigned &= !election.ends_resignation();
        // This is done at once: the sweep that follows must not treat the same manager as a new one.
        for command in &commands {
            if let ElectionCommand::PassOver(news) = command {
                let role = self.found.iter().find(|peer| peer.rank.guid == news.about().guid).map(|peer| peer.role);
                self.passed_over.add(*news, role, now_ns);
            }
        }
        let state = self.election.name();
        if state != was {
            tracing::info!(from = was, to = state, "election");
            self.mailbox.borrow_mut().post(now_ns, Happening::Election { state });
        }
        commands
    }

    /// Processes another manager's order; returns whether it is accepted. Other commands that follow are queued.
    fn ordered(&mut self, order: PeerOrder, by: Peer, now_ns: u64) -> bool {
        let mut accepted = false;
        for command in self.transition(ElectionEvent::Ordered(order, by), now_ns) {
            match command {
                ElectionCommand::Accept => accepted = true,
                ElectionCommand::Refuse => accepted = false,
                other => self.commands.push_back(other),
            }
        }
        accepted
    }

    fn sm_info(&mut self, smp: &Smp, now_ns: u64) -> Option<Smp> {
        match smp.method {
            Method::Get => Some(smp.response(self.info().encode())),
            Method::Set => {
                let peer = peer(&SmInfo::decode(&smp.data))?;
                let accepted =
                    PeerOrder::from_number(smp.modifier).is_some_and(|order| self.ordered(order, peer, now_ns));
                let info = self.info().encode();
                Some(if accepted { smp.response(info) } else { smp.refusal(status::INVALID_VALUE) })
            }
            _ => None,
        }
    }
}

/// The warning about a router that prefix routes name and the subnet does not have.
fn absent_router(guid: Guid) -> String {
    format!(
        "prefix routes name router port {guid}, which no router of this subnet has: its prefixes have no paths; name the port GUID of \
         a router's port in this subnet"
    )
}

/// Another manager's SMInfo as a peer; none if its state is not one of the specification.
pub(super) fn peer(info: &SmInfo) -> Option<Peer> {
    let role = SmRole::from_number(info.state.into())?;
    Some(Peer { rank: Rank { priority: info.priority, guid: info.guid }, role, sm_key: info.sm_key })
}

impl Respond for Responder {
    fn take(&mut self, datagram: &Datagram, now_ns: u64) -> Option<Vec<Datagram>> {
        match class_of(&datagram.bytes) {
            class::SUBNET_LID | class::SUBNET_DIRECTED => {
                let smp = Smp::decode(&datagram.bytes).ok().filter(|smp| smp.attribute == AttributeId::SmInfo)?;
                let answer = self.sm_info(&smp, now_ns)?;
                let bytes = Box::new(answer.encode());
                Some(vec![Datagram { lid: datagram.lid, from: None, qp: 0, sl: Sl::default(), bytes }])
            }
            class::SUBNET_ADMINISTRATION if self.election.role() == SmRole::Master => {
                let answers = self.sa.answer(datagram, now_ns);
                self.log();
                answers
            }
            _ => None,
        }
    }

    fn asked_from_beyond(&mut self, now_ns: u64) {
        if now_ns >= self.beyond_heard_until_ns {
            // Each costs a sweep. Half the time between two polls of another manager, so that each poll counts.
            self.beyond_heard_until_ns = now_ns.saturating_add(self.rules.poll_ns / 2);
            self.step(ElectionEvent::AskedFromBeyond, now_ns);
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

#[cfg(test)]
mod tests {
    use super::super::mailbox::Mailbox;
    use super::*;
    use crate::ids::Guid;

    /// Between the order that makes it master and the look that follows, nothing is done by what was known before.
    #[test]
    fn whoever_is_to_read_the_subnet_anew_may_not_write_yet() {
        let rules = ElectionRules::new(Rank { priority: 5, guid: Guid(0x50) });
        let responder = Responder::new(rules, Mailbox::new(false));
        let take = || responder.borrow_mut().next_command();
        while take().is_some() {}
        let by = Peer { rank: Rank { priority: 1, guid: Guid(0x10) }, role: SmRole::Master, sm_key: rules.sm_key };
        for event in [ElectionEvent::Swept(Vec::new()), ElectionEvent::Ordered(PeerOrder::Handover, by)] {
            responder.borrow_mut().step(event, 0);
            assert_eq!((responder.borrow().state().name(), responder.borrow().mandate()), ("master", Mandate::Silent));
            while take().is_some() {}
            assert_eq!(responder.borrow().mandate(), Mandate::Full);
        }
    }
}
