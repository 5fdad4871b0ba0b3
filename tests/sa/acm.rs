//! A host's cache of names, GIDs and paths: by itself, at random, and with subnet administration and routers behind it.

use crate::sa::bench::{Bench, records};
use crate::sa::running::Across;
use crate::support::across::id;
use proptest::prelude::*;
use reconfig::acm::{Answer, Destination, Event, Hosts, Learnt, Query, Resolver, Timing, Turn, Unknown};
use reconfig::fabric::subnets::SubnetPort;
use reconfig::ids::{GidPrefix, Guid, Half, Lid, PKey};
use reconfig::routers::{self, Arrival, Enforcement, Levels, LevelsRule, Routes, relay};
use reconfig::sa::Limits;
use reconfig::wire::sa::PathRecord;
use reconfig::wire::{Gid, Grh, status};
use std::collections::{BTreeMap, BTreeSet};

const SECOND_NS: u64 = 1_000_000_000;

fn gid(n: u64) -> Gid {
    Gid { prefix: 0xFEC0_0000_0000_0001, guid: Guid(n) }
}

fn to(n: u64) -> Destination {
    Destination::Gid(gid(n))
}

/// A path from port 1 on a half.
fn path(dgid: Gid, half: Half, rank: u8) -> PathRecord {
    let lid = |port: u64| Lid(8 * port as u16 + 4 * half.index() as u16 + u16::from(rank));
    let sl = half.sl_of(rank);
    PathRecord { sgid: gid(1), dgid, slid: lid(1), dlid: lid(dgid.guid.0), sl, ..PathRecord::default() }
}

fn paths(dgid: Gid, half: Half) -> Vec<PathRecord> {
    [0, 1].map(|rank| path(dgid, half, rank)).to_vec()
}

fn asked(answer: Answer<'_>) -> Query {
    match answer {
        Answer::Ask(query) => query,
        other => panic!("{other:?}"),
    }
}

fn resolver() -> Resolver {
    Resolver::new(gid(1), 8, Timing::default())
}

#[test]
fn a_destination_is_asked_for_once_and_then_known_by_all_its_paths() {
    let mut resolver = resolver();
    let query = asked(resolver.resolve(0, &to(2)));
    assert_eq!((query.sgid, query.dgid, query.paths), (gid(1), gid(2), 8));
    assert_eq!(resolver.resolve(1, &to(2)), Answer::Wait(query.number));
    let other = asked(resolver.resolve(1, &to(3)));
    assert_ne!(other.number, query.number);
    let found = paths(gid(2), Half::Lower);
    assert_eq!(resolver.learn(2, query.number, Ok(found.clone())), Learnt::Paths(2));
    assert_eq!(resolver.resolve(u64::MAX - 1, &to(2)), Answer::Paths(&found), "ibacm's routes hold for good");
    assert_eq!(resolver.learn(3, query.number, Ok(vec![])), Learnt::NotAsked, "it was answered");
}

#[test]
fn a_query_asks_for_every_path_of_a_pair() {
    let mad = asked(resolver().resolve(0, &to(2))).mad();
    let record = PathRecord::decode(&mad.data);
    assert_eq!((record.sgid, record.dgid, record.numb_path, mad.tid), (gid(1), gid(2), 8, 1));
    let mask = [PathRecord::SGID, PathRecord::DGID, PathRecord::NUMB_PATH];
    assert_eq!(mad.component_mask, reconfig::wire::sa::ComponentMask::of(&mask));
}

#[test]
fn an_address_is_known_from_a_file_for_good_and_from_others_for_a_while() {
    let mut resolver = resolver();
    let by = |text: &str| Destination::Address(text.parse().unwrap());
    assert_eq!(resolver.resolve(0, &by("luna3")), Answer::Unknown(Unknown::Address));
    resolver.preload(&Hosts::read(b"luna3 fec0::1:0:0:0:2\n", "hosts").unwrap());
    resolver.learn_address(0, "10.0.0.2".parse().unwrap(), gid(2));
    let query = asked(resolver.resolve(1, &by("luna3")));
    assert_eq!(query.dgid, gid(2));
    assert_eq!(resolver.resolve(1, &by("10.0.0.2")), Answer::Wait(query.number), "one port, one query");
    let day = 1440 * 60 * SECOND_NS;
    assert!(matches!(resolver.resolve(day - 1, &by("10.0.0.2")), Answer::Wait(_)));
    assert_eq!(resolver.resolve(day, &by("10.0.0.2")), Answer::Unknown(Unknown::Address));
    assert!(matches!(resolver.resolve(day, &by("luna3")), Answer::Wait(_)));
}

#[test]
fn paths_and_refusals_expire() {
    let timing = Timing { route_ns: Some(10), missing_ns: 5, ..Timing::default() };
    let mut resolver = Resolver::new(gid(1), 1, timing);
    let query = asked(resolver.resolve(0, &to(2)));
    let refused = resolver.learn(0, query.number, Err(status::NO_RECORDS));
    assert_eq!(refused, Learnt::Missing(Unknown::Refused(status::NO_RECORDS)));
    assert_eq!(resolver.resolve(4, &to(2)), Answer::Unknown(Unknown::Refused(status::NO_RECORDS)));
    let query = asked(resolver.resolve(5, &to(2)));
    resolver.learn(6, query.number, Ok(paths(gid(2), Half::Lower)));
    assert!(matches!(resolver.resolve(15, &to(2)), Answer::Paths(_)));
    asked(resolver.resolve(16, &to(2)));
    let query = asked(resolver.resolve(16, &to(3)));
    assert_eq!(resolver.learn(16, query.number, Ok(vec![])), Learnt::Missing(Unknown::Refused(0)));
}

#[test]
fn what_is_not_answered_is_asked_three_times_and_then_missing() {
    let mut resolver = resolver();
    assert_eq!(resolver.due_ns(), u64::MAX);
    let query = asked(resolver.resolve(0, &to(2)));
    for again in 1..3 {
        assert_eq!(resolver.due_ns(), 2 * again * SECOND_NS);
        assert_eq!(resolver.wake(resolver.due_ns() - 1), Turn::default());
        assert_eq!(resolver.wake(resolver.due_ns()), Turn { ask: vec![query.clone()], ..Turn::default() });
    }
    let end = resolver.wake(6 * SECOND_NS);
    assert_eq!(end, Turn { given_up: vec![query.number], ..Turn::default() });
    assert_eq!(resolver.resolve(6 * SECOND_NS, &to(2)), Answer::Unknown(Unknown::NoAnswer));
    assert_eq!(resolver.learn(6 * SECOND_NS, query.number, Ok(paths(gid(2), Half::Lower))), Learnt::NotAsked);
    assert_eq!(asked(resolver.resolve(7 * SECOND_NS, &to(2))).number, query.number + 1);
}

#[test]
fn events_flush_and_ask_again_under_other_numbers() {
    let moved = gid(9);
    let events = [
        Event::ClientReregister,
        Event::PathsMoved(Half::Upper),
        Event::LidChanged,
        Event::SmChanged,
        Event::PKeysChanged,
        Event::GidChanged(moved),
        Event::PortDown,
    ];
    for event in events {
        let mut resolver = resolver();
        let [known, missing, waiting] = [2, 3, 4].map(|n| asked(resolver.resolve(0, &to(n))));
        resolver.learn(1, known.number, Ok(paths(gid(2), Half::Lower)));
        resolver.learn(1, missing.number, Err(status::NO_RECORDS));
        let turn = resolver.event(2, event);
        assert_eq!((turn.flushed, turn.given_up), (1, vec![waiting.number]), "{event:?}");
        let again: Vec<Gid> = turn.ask.iter().map(|query| query.dgid).collect();
        let down = event == Event::PortDown;
        assert_eq!(again, if down { vec![] } else { vec![gid(4)] }, "{event:?}");
        assert_eq!(resolver.learn(3, waiting.number, Ok(paths(gid(4), Half::Lower))), Learnt::NotAsked);
        let own = if event == Event::GidChanged(moved) { moved } else { gid(1) };
        for n in [2, 3] {
            let query = asked(resolver.resolve(3, &to(n)));
            assert!(query.number > waiting.number && query.sgid == own, "{event:?}");
        }
    }
}

#[test]
fn what_is_of_the_retired_half_or_for_others_is_not_learnt() {
    let mut resolver = resolver();
    resolver.event(0, Event::PathsMoved(Half::Upper));
    let mut learn = |dgid: Gid, records: Vec<PathRecord>| {
        let query = asked(resolver.resolve(0, &Destination::Gid(dgid)));
        resolver.learn(0, query.number, Ok(records))
    };
    let unusable = Learnt::Missing(Unknown::Unusable);
    assert_eq!(learn(gid(2), paths(gid(2), Half::Lower)), unusable);
    assert_eq!(learn(gid(3), paths(gid(4), Half::Upper)), unusable);
    let mixed = vec![path(gid(5), Half::Lower, 0), path(gid(5), Half::Upper, 0)];
    assert_eq!(learn(gid(5), mixed), Learnt::Paths(1));
    // A port that is told to register anew is not told which half it is.
    resolver.event(0, Event::ClientReregister);
    let query = asked(resolver.resolve(0, &to(2)));
    assert_eq!(resolver.learn(0, query.number, Ok(paths(gid(2), Half::Lower))), Learnt::Paths(2));
}

#[test]
fn no_more_destinations_are_kept_than_may_be() {
    let mut resolver = Resolver::new(gid(1), 1, Timing { destinations: 2, ..Timing::default() });
    let first = asked(resolver.resolve(0, &to(2)));
    asked(resolver.resolve(0, &to(3)));
    assert_eq!(resolver.resolve(0, &to(4)), Answer::Unknown(Unknown::Full));
    resolver.learn(0, first.number, Err(status::BUSY));
    assert_eq!(resolver.resolve(SECOND_NS - 1, &to(4)), Answer::Unknown(Unknown::Full));
    assert_eq!(asked(resolver.resolve(SECOND_NS, &to(4))).dgid, gid(4), "what expired makes room");
}

/// One thing that happens, at random.
#[derive(Clone, Copy, Debug)]
enum Step {
    Resolve(u64),
    /// The SA answers, in the half that it is on, the n-th question that lies before it.
    Serve(usize),
    /// The n-th answer on its way comes, or is lost.
    Arrive(usize),
    Lose(usize),
    Wait(u64),
    /// Answers move to the other half; the port hears of it at some later step.
    Swap,
    Hear {
        half_told: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (2u64..6).prop_map(Step::Resolve),
        4 => (0usize..4).prop_map(Step::Serve),
        4 => (0usize..4).prop_map(Step::Arrive),
        1 => (0usize..4).prop_map(Step::Lose),
        1 => (0u64..3).prop_map(|seconds| Step::Wait(seconds * SECOND_NS)),
        1 => Just(Step::Swap),
        2 => any::<bool>().prop_map(|half_told| Step::Hear { half_told }),
    ];
    prop::collection::vec(step, 0..120)
}

/// A resolver, an SA that only knows which half it answers with, and a channel that reorders, loses and delays.
struct World {
    resolver: Resolver,
    now_ns: u64,
    sa: Half,
    /// The half that the port was last told of, in whichever way.
    heard: Half,
    questions: Vec<Query>,
    answers: Vec<(u64, Vec<PathRecord>)>,
    /// By destination: numbers asked, and neither answered nor given up.
    outstanding: BTreeMap<Gid, BTreeSet<u64>>,
}

impl World {
    fn sent(&mut self, query: Query) {
        self.outstanding.entry(query.dgid).or_default().insert(query.number);
        assert!(self.outstanding[&query.dgid].len() <= 1, "two queries for {}", query.dgid);
        self.questions.push(query);
    }

    fn done(&mut self, number: u64) {
        self.outstanding.values_mut().for_each(|numbers| {
            numbers.remove(&number);
        });
    }

    fn turn(&mut self, turn: Turn) {
        turn.given_up.iter().for_each(|&number| self.done(number));
        turn.ask.into_iter().for_each(|query| self.sent(query));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Resolve(n) => match self.resolver.resolve(self.now_ns, &to(n)) {
                Answer::Ask(query) => self.sent(query),
                Answer::Paths(found) => assert!(
                    !found.is_empty()
                        && found.iter().all(|path| Half::of_sl(path.sl) == self.heard || self.heard != self.sa),
                    "{found:?} while {} is in use",
                    self.heard
                ),
                Answer::Wait(number) => assert_eq!(self.outstanding[&gid(n)], BTreeSet::from([number])),
                Answer::Unknown(_) => {}
            },
            Step::Serve(at) if at < self.questions.len() => {
                let query = self.questions.remove(at);
                self.answers.push((query.number, paths(query.dgid, self.sa)));
            }
            Step::Arrive(at) if at < self.answers.len() => {
                let (number, records) = self.answers.remove(at);
                if self.resolver.learn(self.now_ns, number, Ok(records)) != Learnt::NotAsked {
                    self.done(number);
                }
            }
            Step::Lose(at) if at < self.answers.len() => drop(self.answers.remove(at)),
            Step::Wait(time_ns) => {
                self.now_ns += time_ns;
                let turn = self.resolver.wake(self.now_ns);
                self.turn(turn);
            }
            // A change ends only once every port has heard of its swap.
            Step::Swap if self.heard == self.sa => self.sa = self.sa.other(),
            Step::Hear { half_told } => {
                self.heard = self.sa;
                let event = if half_told { Event::PathsMoved(self.sa) } else { Event::ClientReregister };
                let turn = self.resolver.event(self.now_ns, event);
                self.turn(turn);
            }
            Step::Serve(_) | Step::Arrive(_) | Step::Lose(_) | Step::Swap => {}
        }
    }
}

proptest! {
    /// Once a port has heard of the swap no path of the retired half is answered until the next one begins, whatever was
    /// under way; and no destination has two queries under way.
    #[test]
    fn no_path_of_the_retired_half_is_answered(steps in steps()) {
        let mut world = World {
            resolver: resolver(),
            now_ns: 0,
            sa: Half::Lower,
            heard: Half::Lower,
            questions: Vec::new(),
            answers: Vec::new(),
            outstanding: BTreeMap::new(),
        };
        steps.into_iter().for_each(|step| world.step(step));
    }
}

proptest! {
    /// Any text is read, or refused with its place.
    #[test]
    fn any_file_of_addresses_is_read_or_refused(text in "([a-z0-9.:# \\tü]{0,40}\n){0,6}") {
        match Hosts::read(text.as_bytes(), "hosts") {
            Ok(hosts) => prop_assert!(hosts.iter().all(|(address, gid)| hosts.get(address) == Some(gid))),
            Err(fault) => prop_assert!(fault.to_string().contains("hosts:"), "{fault}"),
        }
    }
}

/// Asks subnet administration what a resolver wants to know.
fn serve(bench: &mut Bench, resolver: &mut Resolver, query: &Query) -> Learnt {
    let answered = bench.ask(query.mad()).map(|message| records(&message));
    resolver.learn(bench.now_ns, query.number, answered)
}

/// Carries a packet of this header from subnet to subnet, as routers do; returned are the subnet that it ends in, and the
/// routers that it crossed.
fn carried(across: &Across, levels: Levels, path: &PathRecord, first: SubnetPort) -> (usize, u8) {
    let header = Grh::along(path, 256).expect("a path that leaves the subnet");
    let header = Grh::decode(&header.encode());
    let mut grh = routers::Grh {
        traffic_class: header.traffic_class,
        flow_label: header.flow_label,
        hop_limit: header.hop_limit,
        source_prefix: header.sgid.prefix(),
        source_guid: header.sgid.guid,
        destination_prefix: header.dgid.prefix(),
        destination_guid: header.dgid.guid,
    };
    let routes = Routes::all(&across.subnets);
    let target = across.subnets.by_prefix(grh.destination_prefix).expect("a subnet of this prefix");
    let (mut at, mut level, mut crossed) = (first, Half::rank(path.sl) as u8, 0);
    let open = Enforcement::default();
    loop {
        let router = across.subnets.router_of(at).expect("a router's port");
        let arrival = Arrival { grh: &grh, level, p_key: PKey::DEFAULT, enforcement: &open, salt: 0 };
        let ways = routes.onward(router, target);
        let forwarded = relay(&arrival, ways, levels, |_| &open).unwrap_or_else(|why| panic!("{why:?}"));
        crossed += 1;
        (grh.hop_limit, level) = (forwarded.hop_limit, forwarded.level);
        match forwarded.onward.to {
            Some(next) => at = next,
            None => return (forwarded.onward.out.subnet.index(), crossed),
        }
    }
}

/// From an IP address to a GID to paths through routers, before and after a swap; every path of every pair arrives.
#[test]
fn an_ip_address_leads_through_routers_before_and_after_a_swap() {
    let across = Across::new(3, 2, &[&[0, 1], &[0, 1], &[1, 2], &[0, 1, 1]]);
    let levels = Levels::new(LevelsRule::Raise, 2, 8).unwrap();
    let mut bench = Bench::over(across.facts(0, levels), Limits::default());
    let own = across.gid(0, 0);
    let mut hosts = String::new();
    for (subnet, host) in (0..3).flat_map(|subnet| (0..6).map(move |host| (subnet, host))) {
        hosts += &format!("10.0.{subnet}.{host} {}\n", across.gid(subnet, host));
    }
    let mut resolver = Resolver::new(own, 127, Timing::default());
    resolver.preload(&Hosts::read(hosts.as_bytes(), "hosts").unwrap());
    let mut seen: [BTreeSet<Lid>; 2] = Default::default();
    for half in [Half::Lower, Half::Upper] {
        if half == Half::Upper {
            bench.sa.half_moved(half);
            let turn = resolver.event(bench.now_ns, Event::ClientReregister);
            assert_eq!((turn.flushed, turn.ask.len()), (12, 0));
        }
        for (subnet, host) in (1..3).flat_map(|subnet| (0..6).map(move |host| (subnet, host))) {
            let destination = Destination::Address(format!("10.0.{subnet}.{host}").parse().unwrap());
            let query = asked(resolver.resolve(bench.now_ns, &destination));
            // Three routers, two LIDs of the half each.
            assert_eq!(serve(&mut bench, &mut resolver, &query), Learnt::Paths(6));
            let Answer::Paths(found) = resolver.resolve(bench.now_ns, &destination) else { panic!("it was learnt") };
            for path in found {
                let router = bench.fabric().lid_owner(path.dlid).unwrap();
                assert!(bench.lids(router, half).contains(&path.dlid) && Half::of_sl(path.sl) == half);
                let (end, crossed) = carried(&across, levels, path, SubnetPort { subnet: id(0), port: router });
                assert_eq!((end, crossed + 1), (subnet, path.hop_limit), "the hop limit is the least that suffices");
                seen[half.index()].insert(path.dlid);
            }
        }
    }
    assert_eq!((seen[0].len(), seen[1].len()), (6, 6));
    assert!(seen[0].is_disjoint(&seen[1]));
}

#[test]
fn a_destination_that_no_router_leads_to_is_missing_for_a_while() {
    let across = Across::new(2, 1, &[&[0, 1]]);
    let mut bench = Bench::over(across.facts(0, Levels::KEEP), Limits::default());
    let mut resolver = Resolver::new(across.gid(0, 0), 8, Timing::default());
    let nowhere = Destination::Gid(Gid { prefix: GidPrefix::site_local(77).0, guid: Guid(5) });
    let query = asked(resolver.resolve(0, &nowhere));
    assert_eq!(serve(&mut bench, &mut resolver, &query), Learnt::Missing(Unknown::Refused(0)));
    // A neighbour by its link-local GID comes back under the subnet's own prefix.
    let near = Gid { prefix: Gid::DEFAULT_PREFIX, ..across.gid(0, 3) };
    let query = asked(resolver.resolve(0, &Destination::Gid(near)));
    assert_eq!(serve(&mut bench, &mut resolver, &query), Learnt::Paths(1));
    let Answer::Paths([path]) = resolver.resolve(0, &Destination::Gid(near)) else { panic!("one path") };
    assert_eq!((path.dgid, Grh::along(path, 256)), (across.gid(0, 3), None));
}
