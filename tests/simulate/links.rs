//! The busiest links, as of what is there; patterns and ages in the report.

use super::command::{FABRIC, QUICK, screen};
use super::{DEPARTURES, run, small};
use reconfig::fabric::Fabric;
use reconfig::scenario::{Departure, LinkLoads, Scenario, TrafficReport};
use reconfig::sim::{SimConfig, Traffic};

/// What a mean over the links named comes to, and whether a link of the root is among them.
fn of(loads: &LinkLoads) -> (f64, bool) {
    let root = |name: &str| name.starts_with("spine-1[");
    let mean = loads.busiest.iter().map(|link| link.load).sum::<f64>() / loads.busiest.len() as f64;
    (mean, loads.busiest.iter().any(|link| root(&link.from) || root(&link.to)))
}

#[test]
fn links_of_a_dead_switch_count_no_more() {
    let fabric: Fabric = crate::support::bundled::bundled("fat-tree-4-2");
    for departure in DEPARTURES {
        let report = run(&Scenario { hot_links: usize::MAX, departure, ..small(fabric.clone()) });
        let links = report.links.expect("asked for");
        let during = departure == Departure::Planned;
        for (loads, is_there) in [(&links.before, true), (&links.during, during), (&links.after, false)] {
            let (mean, named) = of(loads);
            assert_eq!(named, is_there, "{departure:?}");
            assert!((mean - loads.mean).abs() < 1e-12, "{departure:?}: {mean} and {}", loads.mean);
        }
        let [before, after] = [&links.before, &links.after].map(|loads| loads.busiest.len());
        assert!(after < before, "{departure:?}: {after} of {before}");
    }
}

/// What is shown of a pattern, and what programs read.
fn shown(pattern: &str) -> (String, TrafficReport) {
    let (_, screen) = screen(&[&["--remove-root", "--traffic", pattern], &QUICK[..], &[FABRIC]].concat());
    let small = small(crate::support::bundled::bundled("fat-tree-4-2"));
    let traffic = if pattern.contains(':') { Traffic::Pairs(vec![1, 0, 2]) } else { Traffic::Uniform };
    let sim = SimConfig { traffic, ..small.sim.clone() };
    (screen, run(&Scenario { worst_traffic: pattern == "worst", sim, ..small }).settings.traffic)
}

#[test]
fn the_pattern_is_told_where_it_is_not_uniform() {
    let (screen, traffic) = shown("uniform");
    assert!(!screen.contains("pattern") && traffic == TrafficReport::Uniform, "{screen}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "0 1\n1 0\n2 2\n").expect("can be written");
    let (screen, traffic) = shown(&format!("permutation:{}", file.path().display()));
    assert!(screen.contains("\npattern  a permutation as given, of 2 end ports\n"), "{screen}");
    assert_eq!(traffic, TrafficReport::Pairs { senders: 2 });
    let (screen, traffic) = shown("worst");
    assert!(screen.contains("\npattern  the permutation that the routing before serves worst, of "), "{screen}");
    assert!(matches!(traffic, TrafficReport::Worst { senders: 2.. }), "{traffic:?}");
}

#[test]
fn what_was_discarded_for_its_age_is_told() {
    let small = small(crate::support::bundled::bundled("fat-tree-4-2"));
    let sim = SimConfig { hoq_lifetime_ns: 300, ..small.sim.clone() };
    let report = run(&Scenario { load: Some(0.9), sim, ..small });
    let aged = ["--remove-root", "--load", "0.9", "--hoq-life", "300"];
    let (_, shown) = screen(&[&aged, &QUICK[2..], &[FABRIC]].concat());
    assert!(report.lifetime_discards > 0 && shown.contains("\nlifetime limits discarded "), "{shown}");
}
