//! Whole runs of subnets with partitions: who sends to whom, what ports of routers discard, and that a change loses
//! nothing of it.

use super::{DEPARTURES, assert_adds_up, assert_clean, fixture, root_of, run, small};
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::fabric::subnets::Subnets;
use reconfig::fabric::subnets::partitions::Partitions;
use reconfig::routers::PartEnforce;
use reconfig::scenario::{Departure, Scenario, ScenarioChange, SimulationReport};
use reconfig::sim::Traffic;

fn read(text: &str) -> Partitions {
    Partitions::read(text.as_bytes(), "test").unwrap_or_else(|error| panic!("{}", error.render(false))).0
}

/// The same file for each subnet.
fn with(subnets: Subnets, text: &str) -> Subnets {
    let files = vec![Some(read(text)); subnets.len()];
    subnets.with_partitions(files)
}

/// What a run came to, but for what it says of partitions.
fn without_words(mut report: SimulationReport) -> SimulationReport {
    report.settings.between.as_mut().expect("several subnets").part_enforce = None;
    for relation in &mut report.relations {
        assert!(relation.parted.take().is_none_or(|packets| packets == 0), "{} → {}", relation.from, relation.to);
    }
    report
}

#[test]
fn where_everybody_is_in_one_partition_nothing_differs_from_none() {
    let crossing =
        |subnets, part_enforce| Scenario { cross: 0.4, part_enforce, ..small(subnets, root_of(0), Departure::Sudden) };
    let bare = run(&crossing(fixture("two-subnets"), None));
    for (text, enforce) in [
        ("Default=0x7fff : ALL=full ;", None),
        ("Own=0x123, indx0 : ALL=full ;", Some(PartEnforce::Both)),
        ("Default=0x7fff : ALL=full ; A=5 : ALL_CAS=full ;", Some(PartEnforce::In)),
    ] {
        let parted = run(&crossing(with(fixture("two-subnets"), text), enforce));
        assert_eq!(
            parted.settings.between.expect("several subnets").part_enforce,
            Some(enforce.unwrap_or(PartEnforce::Both))
        );
        assert_eq!(without_words(parted), bare, "{text}");
    }
    let told = run(&crossing(fixture("two-subnets"), Some(PartEnforce::Both)));
    assert_eq!(without_words(told), bare, "the default partition enforced");
}

#[test]
fn a_change_loses_nothing_of_what_partitions_allow() {
    for departure in DEPARTURES {
        for change in [root_of(0), ScenarioChange::Router(1)] {
            let asked = Scenario { cross: 0.4, ..small(fixture("partitions"), change, departure) };
            let report = run(&asked);
            assert_clean(&report);
            assert_eq!(report.relay_discards.get("partition"), None);
            assert!(
                report.relations.iter().all(|relation| relation.packets.delivered > 0 && relation.parted == Some(0))
            );
        }
    }
}

/// What is lost of each relation (0 → 0, 0 → 1, 1 → 0, 1 → 1).
fn lost(report: &SimulationReport) -> Vec<bool> {
    report.relations.iter().map(|relation| relation.packets.lost_to_change > 0).collect()
}

/// The port of a router in subnet 1 is no member: what comes in by it comes from there, what goes out by it goes there.
#[test]
fn a_forgotten_router_discards_what_its_port_looks_at() {
    for (enforce, expected) in [
        (None, [false, true, true, false]),
        (Some(PartEnforce::Both), [false, true, true, false]),
        (Some(PartEnforce::In), [false, false, true, false]),
        (Some(PartEnforce::Out), [false, true, false, false]),
        (Some(PartEnforce::Off), [false; 4]),
    ] {
        let steady = small(fixture("forgotten-router"), ScenarioChange::Nothing, Departure::Sudden);
        let report = run(&Scenario { cross: 0.5, part_enforce: enforce, ..steady });
        assert_eq!(lost(&report), expected, "{enforce:?}");
        let discarded = report.relay_discards.get("partition").copied().unwrap_or(0);
        assert_eq!(discarded, report.packets.lost_to_change, "{enforce:?}: nothing else is lost");
        assert_eq!(report.is_clean(), discarded == 0);
    }
}

#[test]
fn pairs_of_a_permutation_that_share_no_partition_are_counted_and_not_sent() {
    let asked = |subnets| {
        let base = small(subnets, ScenarioChange::Nothing, Departure::Sudden);
        let sim = reconfig::sim::SimConfig { traffic: Traffic::Permutation, ..base.sim.clone() };
        Scenario { sim, ..base }
    };
    let (bare, parted) = (run(&asked(fixture("two-subnets"))), run(&asked(fixture("partitions"))));
    let unsent: u64 = parted.relations.iter().filter_map(|relation| relation.parted).sum();
    assert!(unsent > 0 && parted.packets.injected > 0);
    assert_eq!(parted.packets.injected + unsent, bare.packets.injected, "every packet was drawn");
    assert_clean(&parted);
    assert!(bare.relations.iter().all(|relation| relation.parted.is_none()));
}

/// The load that nobody asks for is lower where partitions send more to fewer.
#[test]
fn partitions_lower_the_usual_load() {
    let usual = |subnets| {
        let base = small(subnets, ScenarioChange::Nothing, Departure::Sudden);
        run(&Scenario { load: None, ..base }).settings.load
    };
    let [bare, one, parted] =
        [fixture("two-subnets"), with(fixture("two-subnets"), "Default=0x7fff : ALL=full ;"), fixture("partitions")]
            .map(usual);
    assert_eq!(bare, one);
    // A red host has 13 red partners, 4 of storage and the manager within, and one more beyond.
    assert!(parted < bare && parted > bare * 18.0 / 31.0 - 0.02, "{parted} of {bare}");
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever the partitions: what is sent arrives, where routers are full members of each.
    #[test]
    fn nothing_is_lost_where_routers_are_full_members(
        members in proptest::collection::vec(proptest::collection::vec(0u8..3, 16), 1..4),
        seed in 1u64..100,
    ) {
        let subnets = super::generated("ring:4,2", 2, reconfig::fabric::generate::JoinShape::Line, 2, seed);
        let file = |(_, subnet): (_, &reconfig::fabric::subnets::Subnet)| {
            let guids: Vec<_> = subnet.fabric.end_ports().filter_map(|port| subnet.fabric.port(port).guid).collect();
            let rule = |(key, how): (usize, &Vec<u8>)| {
                let word = |(guid, how): (&reconfig::ids::Guid, &u8)| ["NONE".to_string(), guid.to_string(), format!("{guid}=full")][usize::from(*how)].clone();
                let words: Vec<String> = guids.iter().zip(how).map(word).collect();
                format!("P{key}={} : {}, ALL_ROUTERS=full ;\n", key + 1, words.join(", "))
            };
            let text: String = members.iter().enumerate().map(rule).collect();
            Some(read(&format!("Default : ALL_ROUTERS=full ; {text}")))
        };
        let files = subnets.subnets().map(file).collect();
        let subnets = subnets.with_partitions(files);
        let report = run(&Scenario { cross: 0.5, ..small(subnets, ScenarioChange::Router(0), Departure::Planned) });
        assert_adds_up(&report);
        prop_assert_eq!(report.packets.lost_to_change, 0);
        prop_assert!(report.relay_discards.is_empty(), "{:?}", report.relay_discards);
    }
}
