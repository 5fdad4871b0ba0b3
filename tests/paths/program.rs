//! Path selection and smart routing: what they gain, and where they stop.

use crate::paths::oracle::*;
use crate::support::fabrics::{fabric_with, random_fabric};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::routing::{Demand, PathEngine, PathSelection, RouteError, Smart, SmartOptimum};
use reconfig::tables::{Hop, LinkLoad, PathSet};
use std::collections::BTreeMap;

fn made(topology: &str, seed: u64) -> Fabric {
    generate(&topology.parse().unwrap(), &Options { seed, ..Options::default() }).unwrap()
}

fn load(fabric: &Fabric, paths: &PathSet) -> f64 {
    LinkLoad::of_paths(fabric, paths).max()
}

#[test]
fn selection_between_switches_sends_their_hosts_one_way() {
    for seed in 0..20u64 {
        let fabric = random_fabric(seed, 4 + seed as usize % 6, 4 + seed as usize % 9, 3);
        let paths = paths_of("path-selection-switches", &fabric, 0);
        let is_end = |port| !fabric.node(fabric.port(port).node).is_switch();
        let mut ways: BTreeMap<(NodeId, NodeId), Vec<Hop>> = BTreeMap::new();
        for path in paths.iter().filter(|path| is_end(path.source) && is_end(path.destination)) {
            let (last, way) = path.hops.split_last().unwrap();
            let there = ways.entry((path.hops[0].switch, last.switch)).or_insert_with(|| way.to_vec());
            assert_eq!(there, way, "seed {seed}");
        }
    }
}

/// Fifteen pairs of end ports on five equal ways: each way gets three of them, and not one all fifteen.
#[test]
fn selection_between_end_ports_sends_hosts_of_one_switch_different_ways() {
    let fabric = fabric_with(2, &[(0, 1); 5], &[0, 0, 0, 0, 0, 1, 1, 1]);
    let load = |name: &str| load(&fabric, &paths_of(name, &fabric, 0));
    assert!((load("path-selection") - 1.0).abs() < 1e-12, "the hosts' own links: {}", load("path-selection"));
    assert!((load("path-selection-switches") - 15.0 / 7.0).abs() < 1e-12, "{}", load("path-selection-switches"));
}

/// Where there is one alternative only, it is the shortest, and selection has no choice.
#[test]
fn one_alternative_is_a_shortest_path() {
    let fabric = random_fabric(3, 8, 9, 1);
    let one = PathSelection { alternatives: 1, ..PathSelection::default() };
    let paths = one.paths(&fabric, &Demand::all(&fabric, 1)).unwrap();
    let shortest = paths_of("shortest-widest", &fabric, 0);
    assert!(paths.iter().zip(shortest.iter()).take(56).all(|(a, b)| a.hops.len() == b.hops.len()));
}

/// Seed 002, table 3: path selection balances best of the heuristics, on the mean of several fabrics.
#[test]
fn selection_and_the_program_lower_the_busiest_link() {
    let mean = |name: &str| -> f64 {
        let loads = (0..6).map(|seed| {
            let fabric = made("random-regular:12,5,4", seed);
            load(&fabric, &paths_of(name, &fabric, seed))
        });
        loads.sum::<f64>() / 6.0
    };
    let [random, widest, selection, smart] = ["up-down-random", "shortest-widest", "path-selection", "smart"].map(mean);
    assert!(smart < selection && selection < widest && widest < random, "{random} {widest} {selection} {smart}");
}

/// Three cables between two switches, five and three hosts: fifteen paths each way, five on each cable at best.
#[test]
fn the_program_finds_the_optimum_where_it_is_plain() {
    let hosts = [0, 0, 0, 0, 0, 1, 1, 1];
    let fabric = fabric_with(2, &[(0, 1); 3], &hosts);
    let found = load(&fabric, &paths_of("smart", &fabric, 0));
    assert!((found - 1.0).abs() < 1e-12, "seven paths end at each host: {found}");
    // Two hosts at each of two leaves under two spines, roots given: all four paths each way over the one that both
    // lead up to.
    let fabric = fabric_with(4, &[(0, 2), (0, 3), (1, 2), (1, 3)], &[0, 0, 1, 1]);
    let found = load(&fabric, &paths_of("smart", &fabric, 0));
    assert!((found - 4.0 / 3.0).abs() < 1e-9 || (found - 1.0).abs() < 1e-9, "{found}");
}

/// A random optimum loads the busiest link as little as the one of fewest hops, and takes no fewer hops.
#[test]
fn a_random_optimum_is_an_optimum() {
    let fabric = made("random-regular:12,4,4", 5);
    let of = |optimum| Smart { optimum, ..Smart::default() }.paths(&fabric, &Demand::all(&fabric, 1)).unwrap();
    let random = |seed| of(SmartOptimum::Random { seed, spread: 3 });
    let (shortest, one) = (of(SmartOptimum::FewestHops), random(1));
    let hops = |paths: &PathSet| paths.iter().map(|path| path.hops.len()).sum::<usize>();
    // Rounding to whole pairs of hosts may add a few to a link.
    assert!((load(&fabric, &shortest) / load(&fabric, &one) - 1.0).abs() < 0.06);
    assert!(hops(&shortest) < hops(&one));
    assert!(one == random(1) && one != random(2));
}

#[test]
fn a_program_that_is_too_large_is_refused_with_its_size() {
    let fabric = made("random-regular:64,8,1", 0);
    let large = Smart { alternatives: 16, ..Smart::default() };
    let error = large.paths(&fabric, &Demand::all(&fabric, 1)).map(|paths| paths.len()).unwrap_err();
    assert!(matches!(error, RouteError::Unsuited { engine: "smart", .. }));
    assert!(error.to_string().contains("4032 pairs of switches") && error.to_string().contains("40000"), "{error}");
}
