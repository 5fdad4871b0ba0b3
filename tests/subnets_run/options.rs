//! What may be set of a run: observers, latches, replies, several paths, management that fails, lanes.

use super::{DEPARTURES, assert_clean, assert_whole, fixture, refusal, root_of, run, small};
use crate::support::is_thorough;
use reconfig::fabric::subnets::Subnets;
use reconfig::ids::{Lmc, SubnetId};
use reconfig::plan::{Observer, Policy};
use reconfig::routers::LevelsRule;
use reconfig::scenario::{Departure, Element, Scenario, ScenarioChange, Unwatched};
use reconfig::sim::{Dispersal, Latch, PathChoice, SimConfig, Spray};

/// A cable between two switches of subnet 0 leaves; nothing is cut off by it.
fn cable(departure: Departure) -> Scenario {
    let subnets = fixture("two-subnets");
    let element = Element::Link(inner_cable(&subnets));
    let mut asked = small(subnets, ScenarioChange::from(element), departure);
    asked.cross = 0.3;
    asked
}

fn inner_cable(subnets: &Subnets) -> reconfig::fabric::PortId {
    let fabric = subnets.fabric(SubnetId(0));
    let is_switch = |port| fabric.node(fabric.port(port).node).is_switch();
    fabric.links().find(|&(a, b)| is_switch(a) && is_switch(b)).expect("a cable between switches").0
}

/// The root of one of two subnets goes while a third of the traffic crosses.
fn root(departure: Departure) -> Scenario {
    Scenario { cross: 0.3, ..small(fixture("two-subnets"), root_of(0), departure) }
}

fn by(observer: Observer, asked: Scenario) -> Scenario {
    let mut asked = asked;
    asked.policy = Policy { observer, ..asked.policy };
    asked
}

#[test]
fn every_observer_but_ages_sees_a_planned_change_through() {
    for observer in [Observer::Token, Observer::Poll, Observer::Conservation] {
        let report = run(&by(observer, cable(Departure::Planned)));
        assert_clean(&report);
        report.relations.iter().for_each(|relation| assert_whole(relation, observer.name()));
    }
}

#[test]
fn every_observer_but_ages_sees_a_router_off() {
    for observer in [Observer::Token, Observer::Poll] {
        for departure in DEPARTURES {
            let asked = small(fixture("two-subnets"), ScenarioChange::Router(1), departure);
            assert_clean(&run(&by(observer, Scenario { cross: 0.5, ..asked })));
        }
    }
}

#[test]
fn ages_are_refused_among_several_subnets() {
    for departure in DEPARTURES {
        let told = refusal(&by(Observer::Lifetime, cable(departure)));
        assert!(told.contains("routers lack: choose token, poll or conservation"), "{told}");
    }
}

#[test]
fn every_latch_with_replies() {
    for latch in [Latch::Arrival, Latch::Head, Latch::Grant] {
        for departure in DEPARTURES {
            let mut asked = root(departure);
            asked.sim = SimConfig { latch, replies: 0.5, ..asked.sim };
            let report = run(&asked);
            assert_clean(&report);
            let sent = |at: usize| report.relations[at].packets.injected as f64;
            // Each end of a crossing answers half of what the other asks, so both ways carry alike.
            assert!((0.8..1.25).contains(&(sent(1) / sent(2))), "{:?}", report.relations);
        }
    }
}

/// What replies add to the packets that cross.
#[test]
fn replies_come_back_across() {
    let injected = |replies| {
        let mut asked =
            Scenario { cross: 1.0, ..small(fixture("two-subnets"), ScenarioChange::Nothing, Departure::Sudden) };
        // Little enough for the routers to carry twice of it.
        (asked.load, asked.before_ns) = (Some(0.01), 200_000);
        asked.sim.replies = replies;
        let report = run(&asked);
        assert_clean(&report);
        report.relations.iter().for_each(|relation| assert_whole(relation, "steady"));
        report.packets.injected as f64
    };
    let more = injected(1.0) / injected(0.0);
    assert!((1.9..2.1).contains(&more), "every packet is answered: {more}");
}

#[test]
fn several_paths_in_use_by_message_and_by_packet() {
    for (lmc, choice, spray, departure) in [
        (2, PathChoice::Paired, Spray::Message, Departure::Sudden),
        (2, PathChoice::All, Spray::Packet, Departure::Planned),
        (3, PathChoice::Paired, Spray::Packet, Departure::Sudden),
        (3, PathChoice::All, Spray::Message, Departure::Planned),
        (3, PathChoice::All, Spray::Packet, Departure::Sudden),
    ] {
        let mut asked = root(departure);
        let dispersal = Dispersal { choice, spray, paths: None };
        asked.lmc = Lmc::masked(lmc);
        asked.sim = SimConfig { dispersal, message_packets: 4, count_order: true, replies: 0.3, ..asked.sim };
        let report = run(&asked);
        assert_clean(&report);
        assert!(report.subnets.iter().all(|subnet| subnet.lmc == lmc), "{:?}", report.subnets);
        let order = report.order.expect("it was counted");
        let late = order.before.late_packets + order.during.late_packets + order.after.late_packets;
        println!("LMC {lmc}, {choice:?} by {spray:?}: {late} packets late");
    }
}

#[test]
fn lost_late_and_repeated_smps_delay_the_change_and_no_packet() {
    let faults = [
        (Departure::Sudden, 0.2, 0.0, 0),
        (Departure::Planned, 0.1, 0.2, 50_000),
        (Departure::Planned, 0.0, 0.5, 0),
        (Departure::Sudden, 0.1, 0.2, 50_000),
    ];
    let tried = &faults[..if is_thorough() { faults.len() } else { 2 }];
    for &(departure, smp_loss, smp_duplicate, smp_delay_ns) in tried {
        let both = [root(departure), small(fixture("two-subnets"), ScenarioChange::Router(0), departure)];
        let asked = both.into_iter().enumerate();
        // Each of the faults has one of the two changes in the brief form.
        for (_, mut asked) in asked.filter(|(which, _)| is_thorough() || (*which == 0) == (smp_delay_ns == 0)) {
            asked.sim = SimConfig { smp_loss, smp_duplicate, smp_delay_ns, ..asked.sim };
            // The change takes long, so the brief form has traffic that costs less.
            let load = if is_thorough() { 0.02 } else { 0.002 };
            (asked.load, asked.smp_timeout_ns) = (Some(load), 500_000);
            asked.barrier_timeout_ns = 100_000_000;
            assert_clean(&run(&asked));
        }
    }
}

fn on_lanes(name: &str, data_vls: u8, fixed: bool, rule: LevelsRule) -> Scenario {
    let mut asked = small(fixture(name), root_of(0), Departure::Sudden);
    (asked.sim.data_vls, asked.vls_fixed, asked.rule) = (data_vls, fixed, rule);
    asked
}

#[test]
fn lanes_suffice_or_the_message_says_what_would() {
    for (name, asked_for, fixed, lanes) in [
        ("two-subnets", 4, true, 4),
        ("two-subnets", 8, true, 8),
        ("two-subnets", 2, false, 4),
        // Ports have eight.
        ("two-subnets", 15, true, 8),
        ("four-subnets", 4, false, 8),
    ] {
        let report = run(&on_lanes(name, asked_for, fixed, LevelsRule::Raise));
        assert_clean(&report);
        assert_eq!(report.settings.data_vls, lanes, "{name}, {asked_for} asked for");
    }
    for (name, lanes, part) in [
        ("two-subnets", 2, "raising the service level takes 2 layers, and half of 2 data VLs has room for 1"),
        ("four-subnets", 4, "packets cross up to 2 routers, so raising the service level takes 4 layers"),
    ] {
        let told = refusal(&on_lanes(name, lanes, true, LevelsRule::Raise));
        assert!(told.contains(part), "{name}, {lanes}: {told}");
    }
}

/// Kept levels take no layers: whatever lanes there are, it is the proof that decides.
#[test]
fn kept_levels_are_proved_or_refused_on_any_lanes() {
    for lanes in [2, 4, 8, 15] {
        let asked = on_lanes("two-subnets", lanes, true, LevelsRule::Keep);
        match super::watched(&asked, &mut Unwatched) {
            Ok(report) => assert_clean(&report),
            Err(error) => assert!(error.to_string().contains("wait for each other in a cycle"), "{lanes}: {error}"),
        }
    }
}
