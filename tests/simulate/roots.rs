//! The root of every bundled fabric leaves, planned and suddenly.

use super::{PHASES, assert_clean, run, small};
use crate::support::bundled::bundled;
use reconfig::fabric::generate::BUNDLED;
use reconfig::plan::Scheme;
use reconfig::scenario::{Departure, Element, Scenario};

#[test]
fn the_root_leaves_and_nothing_is_lost_to_the_change() {
    for known in BUNDLED {
        for departure in [Departure::Planned, Departure::Sudden] {
            let what = format!("{} {}", known.name, departure.name());
            let fabric = known.generate().expect("bundled fabrics can be generated");
            let report = run(&Scenario { departure, ..small(fabric) });
            assert_clean(&report, &what);
            assert_eq!(report.proof.status, "proved", "{what}");
            assert!(report.proof.dependencies > 0 && report.proof.waves == PHASES.len(), "{what}: {:?}", report.proof);
            assert_ne!(report.changes[0].root_before, report.changes[0].root_after, "{what}");
            let lost = report.packets.lost_to_failure;
            assert!(departure == Departure::Sudden || lost == 0, "{what}: {lost} packets lost to a planned departure");
            let names: Vec<_> = report.changes[0].phases.iter().map(|phase| phase.name.as_str()).collect();
            assert_eq!(names, PHASES, "{what}");
            for pair in report.changes[0].phases.windows(2) {
                assert!(pair[0].end_ns <= pair[1].start_ns, "{what}: {pair:?} overlap");
            }
            assert!(
                report.changes[0].phases.iter().all(|phase| phase.start_ns < phase.end_ns),
                "{what}: {:?}",
                report.changes[0].phases
            );
            assert_eq!(report.changes[0].sweep.is_some(), departure == Departure::Sudden, "{what}");
        }
    }
}

#[test]
fn a_sudden_death_costs_what_crossed_the_dead_switch() {
    let fabric = bundled("fat-tree-4-2");
    let report = run(&Scenario { load: Some(0.3), ..small(fabric) });
    assert_clean(&report, "fat-tree-4-2");
    assert!(report.packets.lost_to_failure > 1_000, "{:?}", report.packets);
    assert_eq!(report.packets.stranded, 0, "a spine carries no host");
}

#[test]
fn a_cable_or_another_switch_leaves() {
    let fabric = bundled("torus-4x4");
    let root = reconfig::routing::choose_root(&fabric).expect("a torus has switches");
    let other = fabric.switches().find(|&switch| switch != root).expect("sixteen switches");
    let between = |port: &reconfig::fabric::PortId| {
        fabric.neighbour(*port).is_some_and(|node| fabric.node(node).is_switch() && node != root)
    };
    let cable = fabric.ports_of(other).find(between).expect("a torus has cables between switches");
    for element in [Element::Switch(other), Element::Link(cable)] {
        for departure in [Departure::Planned, Departure::Sudden] {
            let report = run(&Scenario { change: element.into(), departure, ..small(fabric.clone()) });
            let what = format!("{} {}", report.what, departure.name());
            assert_clean(&report, &what);
            let hosts_left = matches!(element, Element::Switch(_));
            assert_eq!(report.changes[0].stranded.is_empty(), !hosts_left, "{what}: {:?}", report.changes[0].stranded);
        }
    }
}

/// Stopping loses what stood in the ports, and delivers nothing meanwhile; the Double Scheme never pauses.
#[test]
fn a_static_change_has_a_gap_and_the_double_scheme_has_none() {
    let scenario = Scenario { departure: Departure::Planned, ..small(bundled("fat-tree-4-2")) };
    let stopped = run(&Scenario { scheme: Scheme::Static, ..scenario.clone() });
    super::assert_packets_add_up(&stopped, "static");
    assert!(stopped.packets.lost_to_change > 0, "{:?}", stopped.packets);
    assert_eq!(
        stopped.changes[0].phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(),
        ["stop", "install", "start"]
    );
    let double = run(&scenario);
    assert_clean(&double, "double");
    assert!(
        stopped.longest_gap_ns > 20 * double.longest_gap_ns,
        "{} {}",
        stopped.longest_gap_ns,
        double.longest_gap_ns
    );
}
