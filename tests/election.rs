//! The election against its chart, and several managers among themselves.

use crate::support::chart::Chart;
use crate::support::conformance::{Conformance, assert_page_is_current};
use reconfig::ids::Guid;
use reconfig::sm::election::{
    ElectionCommand, ElectionEvent, ElectionInput, ElectionRules, ElectionState, News, PassedOver, Peer, PeerOrder,
    Rank, SmRole, begin, step,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

const CHART: &str = include_str!("../state-machines/election.yaml");
const KEY: u64 = 1;
const ROLES: [SmRole; 4] = [SmRole::NotActive, SmRole::Discovering, SmRole::Standby, SmRole::Master];
const ORDERS: [PeerOrder; 5] =
    [PeerOrder::Handover, PeerOrder::Acknowledge, PeerOrder::Disable, PeerOrder::Standby, PeerOrder::Discover];

fn chart() -> Chart {
    Chart::parse(CHART).expect("state-machines/election.yaml can be read")
}

fn rank(priority: u8, guid: u64) -> Rank {
    Rank { priority, guid: Guid(guid) }
}

/// Our own: between others of the same priority, of lower and of higher ones.
fn rules() -> ElectionRules {
    ElectionRules { polls: 2, ..ElectionRules::new(rank(5, 0x50)) }
}

fn peers() -> Vec<Peer> {
    // Some change their priority now and then.
    let ranks = [rank(5, 0x40), rank(5, 0x60), rank(9, 0x60), rank(9, 0x70), rank(7, 0x70), rank(1, 0x10)];
    let of = |rank| ROLES.map(|role| Peer { rank, role, sm_key: KEY });
    ranks.into_iter().flat_map(of).collect()
}

fn events() -> Vec<ElectionEvent> {
    let peers = peers();
    let mut events = vec![ElectionEvent::Swept(Vec::new()), ElectionEvent::Due];
    events.extend([ElectionEvent::ChangeBegun, ElectionEvent::ChangeEnded, ElectionEvent::AskedFromBeyond]);
    for &peer in &peers {
        events.extend([
            ElectionEvent::Answered(peer),
            ElectionEvent::Taken(peer.rank.guid),
            ElectionEvent::Refused(peer.rank.guid),
        ]);
        events.extend(ORDERS.map(|order| ElectionEvent::Ordered(order, peer)));
        events.extend([ElectionEvent::Swept(vec![peer]), ElectionEvent::Resigned(vec![peer])]);
        let others = peers.iter().filter(|other| other.rank.guid != peer.rank.guid);
        events.extend(others.map(|&other| ElectionEvent::Swept(vec![peer, other])));
    }
    events
}

/// Just when the state wants to be woken, else at no particular time.
fn moment(state: &ElectionState, changing: bool) -> ElectionInput {
    ElectionInput { now_ns: state.due_ns().unwrap_or(0), changing, ..ElectionInput::default() }
}

/// Walks through every state that `events` lead to, during a change and not, of a manager that has resigned and of one
/// that has not, and tells `seen` each step taken.
fn explore(
    rules: &ElectionRules,
    mut seen: impl FnMut(&ElectionState, &ElectionEvent, &ElectionState, &[ElectionCommand], ElectionInput),
) {
    let events = events();
    let mut known = HashSet::new();
    let mut open = vec![begin().0];
    while let Some(state) = open.pop() {
        if !known.insert(timeless(rules, state)) {
            continue;
        }
        for event in &events {
            for (changing, has_resigned) in [(false, false), (false, true), (true, false), (true, true)] {
                let at = ElectionInput { has_resigned, ..moment(&state, changing) };
                let (next, commands) = step(rules, state, event.clone(), at);
                seen(&state, event, &next, &commands, at);
                open.push(next);
            }
        }
    }
}

/// The state with its time taken out: by the number of polls that it has patience for, if they are not answered and if
/// they are.
fn timeless(rules: &ElectionRules, state: ElectionState) -> (&'static str, Option<Rank>, [usize; 2]) {
    let other = state.other();
    let polls = |is_answered: bool| {
        let (mut later, mut polls) = (state, 0);
        while later.name() == state.name() && later.due_ns().is_some() && polls < 9 {
            if let Some(rank) = other.filter(|_| is_answered && later.name() == "waiting") {
                let answer = ElectionEvent::Answered(Peer { rank, role: SmRole::Master, sm_key: KEY });
                later = step(rules, later, answer, moment(&later, false)).0;
            }
            later = step(rules, later, ElectionEvent::Due, moment(&later, false)).0;
            polls += 1;
        }
        polls
    };
    (state.name(), other, [false, true].map(polls))
}

fn names(commands: &[ElectionCommand]) -> Vec<String> {
    commands.iter().map(|command| command.name().to_string()).collect()
}

#[test]
fn the_election_does_what_the_chart_says_and_nothing_else() {
    let mut seen = Conformance::default();
    explore(&rules(), |from, event, to, commands, _| {
        seen.meet(from.name(), event.name());
        if commands.is_empty() {
            assert_eq!(
                (from.name(), from.other().map(|rank| rank.guid)),
                (to.name(), to.other().map(|rank| rank.guid)),
                "{} went on {} in silence",
                from.name(),
                event.name()
            );
        } else {
            seen.take(from.name(), event.name(), to.name(), names(commands));
        }
    });
    seen.assert_agrees_with(&chart());
}

#[test]
fn the_drawings_are_current() {
    assert_page_is_current(&chart());
}

#[test]
fn an_order_is_answered_first_and_once() {
    explore(&rules(), |from, event, _, commands, _| {
        let answers = |command: &&ElectionCommand| matches!(command, ElectionCommand::Accept | ElectionCommand::Refuse);
        let first = commands.first().is_some_and(|command| answers(&command));
        let wanted = usize::from(matches!(event, ElectionEvent::Ordered(..)));
        assert_eq!((commands.iter().filter(answers).count(), first), (wanted, wanted == 1), "{from:?} on {event:?}");
    });
}

#[test]
fn amid_a_change_a_writer_goes_on_writing() {
    let mut judged = BTreeSet::new();
    explore(&rules(), |from, event, to, _, at| {
        if at.changing && from.may_write() && *event != ElectionEvent::ChangeEnded {
            assert!(to.may_write(), "{from:?} left on {event:?}, amid a change, for {to:?}");
            judged.insert(from.name());
        }
    });
    assert_eq!(judged, BTreeSet::from(["master", "yielding"]));
}

#[test]
fn who_stops_writing_has_handed_over_or_waits() {
    let mut done = BTreeMap::new();
    explore(&rules(), |from, event, to, commands, _| {
        if from.may_write() && !to.may_write() {
            done.entry(names(commands)).or_insert_with(|| format!("{from:?} on {event:?}"));
        }
    });
    let allowed = [&["hand-over"][..], &["hand-over", "report"], &["report", "poll"]];
    assert!(done.keys().eq(&allowed), "{done:#?}");
}

#[test]
fn who_is_due_too_early_waits_on() {
    explore(&rules(), |state, _, _, _, _| {
        let now_ns = state.due_ns().map_or(0, |due_ns| due_ns - 1);
        let early = ElectionInput { now_ns, ..ElectionInput::default() };
        assert_eq!(step(&rules(), *state, ElectionEvent::Due, early), (*state, Vec::new()));
    });
}

#[test]
fn strangers_are_told_of_and_have_no_say() {
    let rules = rules();
    explore(&rules, |state, _, _, _, _| {
        for peer in peers() {
            let stranger = Peer { sm_key: KEY + 1, ..peer };
            let told = ElectionCommand::Report(News::Stranger(peer.rank));
            let at = moment(state, false);
            let (alone, mut commands) = step(&rules, *state, ElectionEvent::Swept(Vec::new()), at);
            commands.push(told.clone());
            assert_eq!(step(&rules, *state, ElectionEvent::Swept(vec![stranger]), at), (alone, commands));
            assert_eq!(step(&rules, *state, ElectionEvent::Answered(stranger), at), (*state, vec![told.clone()]));
            for order in ORDERS {
                let refused = (*state, vec![ElectionCommand::Refuse, told.clone()]);
                assert_eq!(step(&rules, *state, ElectionEvent::Ordered(order, stranger), at), refused);
            }
        }
    });
    let trusting = ElectionRules { sm_key: 0, ..rules };
    let stranger = Peer { rank: rank(9, 1), role: SmRole::Master, sm_key: KEY + 1 };
    let (state, _) = step(&trusting, begin().0, ElectionEvent::Swept(vec![stranger]), ElectionInput::default());
    assert_eq!(state.name(), "standby", "key 0 trusts all");
}

#[test]
fn priority_goes_before_guid_and_the_lower_guid_before_the_higher() {
    assert!(rank(2, 9) > rank(1, 1) && rank(2, 1) > rank(2, 9));
    let numbers = ROLES.map(|role| (role.number(), SmRole::from_number(role.number())));
    assert_eq!(numbers, [0, 1, 2, 3].map(|number| (number, Some(ROLES[usize::from(number)]))));
    let orders = ORDERS.map(|order| (order.number(), PeerOrder::from_number(order.number())));
    assert_eq!(orders, [1, 2, 3, 4, 5].map(|number| (number, Some(ORDERS[number as usize - 1]))));
    assert_eq!((SmRole::from_number(4), PeerOrder::from_number(0), PeerOrder::from_number(6)), (None, None, None));
}

#[test]
fn a_silent_master_is_given_up_after_so_many_polls() {
    let rules = ElectionRules::new(rank(0, 2));
    let master = Peer { rank: rank(0, 1), role: SmRole::Master, sm_key: KEY };
    let start = ElectionInput { now_ns: 7, ..ElectionInput::default() };
    let (mut state, mut commands) = step(&rules, begin().0, ElectionEvent::Swept(vec![master]), start);
    let mut polls = 0;
    while state.name() == "standby" {
        polls += commands.iter().filter(|command| matches!(command, ElectionCommand::Poll(_))).count();
        (state, commands) = step(&rules, state, ElectionEvent::Due, moment(&state, false));
    }
    assert_eq!((polls, state.name()), (4, "discovering"));
    assert_eq!(commands, [ElectionCommand::Report(News::Silent(master.rank)), ElectionCommand::Sweep]);
}

/// Managers at one subnet whose messages arrive at once, and those of the dead nowhere.
struct Subnet {
    managers: BTreeMap<Guid, (ElectionRules, ElectionState)>,
    /// Who is in a change.
    changing: BTreeSet<Guid>,
    now_ns: u64,
}

impl Subnet {
    /// Managers with these ranks, started one after another.
    fn start(ranks: &[Rank]) -> Subnet {
        let mut subnet = Subnet { managers: BTreeMap::new(), changing: BTreeSet::new(), now_ns: 0 };
        ranks.iter().for_each(|&rank| subnet.add(rank));
        subnet
    }

    fn add(&mut self, rank: Rank) {
        let (state, commands) = begin();
        self.managers.insert(rank.guid, (ElectionRules::new(rank), state));
        self.carry_out(rank.guid, commands);
    }

    fn peer(&self, guid: Guid) -> Option<Peer> {
        let (rules, state) = self.managers.get(&guid)?;
        Some(Peer { rank: rules.rank, role: state.role(), sm_key: rules.sm_key })
    }

    fn others(&self, than: Guid) -> Vec<Peer> {
        self.managers.keys().filter(|&&guid| guid != than).filter_map(|&guid| self.peer(guid)).collect()
    }

    /// One event, and all that follows from it; whether the order in it was taken.
    fn tell(&mut self, guid: Guid, event: ElectionEvent) -> bool {
        let changing = self.changing.contains(&guid);
        let at = ElectionInput { now_ns: self.now_ns, changing, ..ElectionInput::default() };
        let Some(&(rules, state)) = self.managers.get(&guid) else { return false };
        let (next, commands) = step(&rules, state, event, at);
        self.managers.insert(guid, (rules, next));
        let taken = commands.first() == Some(&ElectionCommand::Accept);
        self.carry_out(guid, commands);
        taken
    }

    fn carry_out(&mut self, guid: Guid, commands: Vec<ElectionCommand>) {
        for command in commands {
            match command {
                ElectionCommand::Sweep | ElectionCommand::Manage => {
                    _ = self.tell(guid, ElectionEvent::Swept(self.others(guid)))
                }
                ElectionCommand::Poll(other) => {
                    if let Some(peer) = self.peer(other) {
                        self.tell(guid, ElectionEvent::Answered(peer));
                    }
                }
                ElectionCommand::HandOver(other) => {
                    let by = self.peer(guid).expect("who hands over is there");
                    if self.managers.contains_key(&other) {
                        let taken = self.tell(other, ElectionEvent::Ordered(PeerOrder::Handover, by));
                        self.tell(
                            guid,
                            if taken { ElectionEvent::Taken(other) } else { ElectionEvent::Refused(other) },
                        );
                    }
                }
                ElectionCommand::Acknowledge(other) => {
                    let by = Peer { role: SmRole::Standby, ..self.peer(guid).expect("who acknowledges is there") };
                    self.tell(other, ElectionEvent::Ordered(PeerOrder::Acknowledge, by));
                }
                ElectionCommand::SendTrap(other) => {
                    self.tell(other, ElectionEvent::Swept(self.others(other)));
                }
                ElectionCommand::Accept
                | ElectionCommand::Refuse
                | ElectionCommand::StepDown
                | ElectionCommand::PassOver(_)
                | ElectionCommand::Report(_) => {}
            }
        }
    }

    /// Lets time pass until a minute is over, masters looking round every ten seconds.
    fn a_minute_later(&mut self) {
        for _ in 0..6 {
            self.now_ns += 10_000_000_000;
            for guid in self.managers.keys().copied().collect::<Vec<_>>() {
                self.tell(guid, ElectionEvent::Due);
                if self.managers[&guid].1 == ElectionState::Master {
                    self.tell(guid, ElectionEvent::Swept(self.others(guid)));
                }
            }
        }
    }

    fn masters(&self) -> Vec<Guid> {
        self.managers.iter().filter(|(_, (_, state))| state.role() == SmRole::Master).map(|(&guid, _)| guid).collect()
    }
}

/// Every order of three ranks.
fn orders_of_three() -> Vec<[Rank; 3]> {
    let [a, b, c] = [rank(3, 0x30), rank(1, 0x10), rank(1, 0x20)];
    vec![[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]]
}

#[test]
fn whatever_the_order_of_their_coming_the_highest_is_the_only_master() {
    for ranks in orders_of_three() {
        let mut subnet = Subnet::start(&ranks);
        subnet.a_minute_later();
        assert_eq!(subnet.masters(), [Guid(0x30)], "started as {ranks:?}");
    }
}

#[test]
fn when_the_master_dies_the_next_in_rank_takes_over() {
    for ranks in orders_of_three() {
        let mut subnet = Subnet::start(&ranks);
        subnet.a_minute_later();
        for heir in [0x10, 0x20] {
            let dead = subnet.masters()[0];
            subnet.managers.remove(&dead);
            subnet.a_minute_later();
            subnet.a_minute_later();
            assert_eq!(subnet.masters(), [Guid(heir)], "{dead} died; started as {ranks:?}");
        }
    }
}

#[test]
fn a_change_is_ended_before_the_handover() {
    let mut subnet = Subnet::start(&[rank(1, 0x10)]);
    subnet.changing.insert(Guid(0x10));
    subnet.add(rank(3, 0x30));
    subnet.a_minute_later();
    assert_eq!((subnet.masters(), subnet.managers[&Guid(0x10)].1.name()), (vec![Guid(0x10)], "yielding"));
    subnet.changing.clear();
    subnet.tell(Guid(0x10), ElectionEvent::ChangeEnded);
    assert_eq!(subnet.masters(), [Guid(0x30)]);
}

#[test]
fn of_two_subnets_that_are_joined_the_higher_master_remains() {
    let mut subnet = Subnet::start(&[rank(3, 0x30)]);
    let lower = rank(1, 0x10);
    subnet.managers.insert(lower.guid, (ElectionRules::new(lower), ElectionState::Master));
    let (rules, state) = subnet.managers[&Guid(0x30)];
    let (waits, _) = step(&rules, state, ElectionEvent::Swept(subnet.others(Guid(0x30))), moment(&state, false));
    assert_eq!((waits.name(), waits.may_write()), ("waiting", false), "until the lower has handed over");
    subnet.a_minute_later();
    assert_eq!(subnet.masters(), [Guid(0x30)]);
    assert_eq!(subnet.managers[&Guid(0x30)].1.name(), "master");
}

/// One that refuses the subnet, or never answers, is not asked again at once, and what the sweep before had found is
/// not left undone for it.
#[test]
fn whoever_does_not_take_the_subnet_is_passed_over_for_a_while() {
    let rules = rules();
    let unwilling = Peer { rank: rank(9, 0x70), role: SmRole::Standby, sm_key: KEY };
    let found = || ElectionEvent::Swept(vec![unwilling]);
    let start = ElectionInput::default();
    let (asked, _) = step(&rules, ElectionState::Master, found(), start);
    assert_eq!(asked.name(), "handing-over");
    let (state, commands) = step(&rules, asked, ElectionEvent::Refused(Guid(0x70)), start);
    let news = News::Unwilling(unwilling.rank);
    assert_eq!(
        (state.name(), &commands[..]),
        ("master", &[ElectionCommand::PassOver(news), ElectionCommand::Sweep][..])
    );
    let mut passed_over = PassedOver::default();
    passed_over.add(news, Some(SmRole::Standby), 0);
    let name = |mut passed_over: PassedOver, now_ns, found: &[Peer]| {
        passed_over.keep(now_ns, Some(found));
        let at = ElectionInput { now_ns, passed_over, ..start };
        step(&rules, ElectionState::Master, ElectionEvent::Swept(found.to_vec()), at).0.name()
    };
    assert_eq!(name(passed_over, 299_000_000_000, &[unwilling]), "master");
    assert_eq!(name(passed_over, 301_000_000_000, &[unwilling]), "handing-over");
    // It has taken the subnet, and the answer was lost.
    let taken = Peer { role: SmRole::Master, ..unwilling };
    assert_eq!(name(passed_over, 1_000_000_000, &[taken]), "handing-over");
    // One that was master before, and refuses, is not asked at every sweep.
    passed_over.add(news, Some(SmRole::Master), 0);
    passed_over.keep(1, Some(&[unwilling]));
    assert_eq!(name(passed_over, 2, &[taken]), "master");
    passed_over.hear(&unwilling);
    assert_eq!(name(passed_over, 3, &[taken]), "master", "it is on standby, and refuses");
}

/// What was wrong with a rival is over when it is master no longer, whether a sweep finds that or it says so.
#[test]
fn a_rival_that_has_given_the_subnet_up_is_no_trouble() {
    let master = Peer { rank: rank(0, 0x60), role: SmRole::Master, sm_key: KEY };
    let standby = Peer { role: SmRole::Standby, ..master };
    let rival = || {
        let mut passed_over = PassedOver::default();
        passed_over.add(News::Obstinate(master.rank), Some(SmRole::Master), 0);
        passed_over
    };
    for (found, is_over) in [(master, false), (standby, true)] {
        let (mut swept, mut heard) = (rival(), rival());
        swept.keep(1, Some(&[found]));
        heard.hear(&found);
        assert_eq!([swept, heard].map(|passed_over| passed_over.news().next().is_none()), [is_over; 2], "{found:?}");
    }
}

/// Whoever was master beside this manager may have written anything.
#[test]
fn whoever_is_handed_the_subnet_reads_it_anew_though_it_was_master() {
    let by = Peer { rank: rank(0, 0x60), role: SmRole::Master, sm_key: KEY };
    explore(&rules(), |from, event, to, commands, _| {
        let is_handed = matches!(event, ElectionEvent::Ordered(PeerOrder::Handover, by) if by.role == SmRole::Master);
        if is_handed && from.role() != SmRole::NotActive && from.role() != SmRole::Discovering {
            assert_eq!((to.name(), commands.last()), ("master", Some(&ElectionCommand::Manage)), "{from:?}");
        }
    });
    let at = ElectionInput { changing: true, ..ElectionInput::default() };
    let (yielding, _) =
        step(&rules(), ElectionState::Master, ElectionEvent::Swept(vec![Peer { rank: rank(9, 0x70), ..by }]), at);
    let (state, commands) = step(&rules(), yielding, ElectionEvent::Swept(Vec::new()), at);
    assert_eq!((state.name(), commands.last()), ("master", Some(&ElectionCommand::Manage)), "it is gone again");
}

/// However often it answers, and however often the subnet is swept meanwhile.
#[test]
fn a_master_of_lower_rank_is_not_waited_for_for_ever() {
    let rules = ElectionRules::new(rank(5, 0x50));
    let rival = Peer { rank: rank(0, 0x60), role: SmRole::Master, sm_key: KEY };
    for is_swept in [false, true] {
        let found = || ElectionEvent::Swept(vec![rival]);
        let (mut state, _) = step(&rules, ElectionState::Master, found(), ElectionInput::default());
        let (mut now_ns, mut last) = (0, Vec::new());
        while state.name() == "waiting" {
            assert!(now_ns < 200_000_000_000, "swept: {is_swept}");
            now_ns += 1_000_000_000;
            let at = ElectionInput { now_ns, ..ElectionInput::default() };
            (state, last) = step(&rules, state, ElectionEvent::Due, at);
            for event in [ElectionEvent::Answered(rival), found()].into_iter().take(1 + usize::from(is_swept)) {
                if state.name() == "waiting" {
                    state = step(&rules, state, event, at).0;
                }
            }
        }
        assert_eq!(last, [ElectionCommand::PassOver(News::Obstinate(rival.rank)), ElectionCommand::Manage]);
        assert_eq!((state.name(), now_ns), ("master", 80_000_000_000), "swept: {is_swept}");
    }
}

/// A loss is routed around by whoever holds the subnet, whoever else was asked to take it, or to give it up.
#[test]
fn a_change_that_cannot_wait_ends_the_wait_for_another_manager() {
    let rules = rules();
    let at = |changing| ElectionInput { changing, ..ElectionInput::default() };
    let (higher, lower) = (rank(9, 0x70), rank(1, 0x10));
    let found = |rank| ElectionEvent::Swept(vec![Peer { rank, role: SmRole::Master, sm_key: KEY }]);
    let (handing_over, _) = step(&rules, ElectionState::Master, found(higher), at(false));
    let (state, commands) = step(&rules, handing_over, ElectionEvent::ChangeBegun, at(true));
    assert_eq!(
        (state.name(), &commands[..]),
        ("master", &[ElectionCommand::PassOver(News::Deaf(higher)), ElectionCommand::Manage][..])
    );
    let (waiting, _) = step(&rules, ElectionState::Master, found(lower), at(false));
    let (state, commands) = step(&rules, waiting, ElectionEvent::ChangeBegun, at(true));
    assert_eq!(
        (state.name(), &commands[..]),
        ("master", &[ElectionCommand::PassOver(News::Obstinate(lower)), ElectionCommand::Manage][..])
    );
}
