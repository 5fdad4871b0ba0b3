//! How engines choose among paths that are equally short: evenly at random, by weight, by the busiest link.

use crate::paths::oracle::*;
use crate::support::fabrics::{fabric_of, fabric_with, random_fabric};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::PortNum;
use reconfig::lid;
use reconfig::routing::{Demand, choose_root, random_root};
use reconfig::tables::{LinkLoad, Path};
use std::collections::BTreeMap;

fn hosts_only(fabric: &Fabric) -> Demand {
    Demand { destinations: fabric.end_ports().collect(), ..Demand::all(fabric, 1) }
}

/// The channels between switches that a path takes.
fn channels(fabric: &Fabric, path: &Path<'_>) -> Vec<PortId> {
    let between = path.hops.split_last().expect("a hop").1;
    between.iter().map(|hop| fabric.port_at(hop.switch, hop.output).unwrap()).collect()
}

/// The shortest legal paths, by exhaustion.
fn shortest(fabric: &Fabric, from: NodeId, to: NodeId) -> Vec<Vec<PortId>> {
    let key = levels(fabric, choose_root(fabric).unwrap());
    let all = all_legal(fabric, &key, from, to);
    let hops = all[0].len();
    all.into_iter().filter(|path| path.len() == hops).collect()
}

fn switch_pair(path: &Path<'_>) -> (NodeId, NodeId) {
    (path.hops[0].switch, path.hops[path.hops.len() - 1].switch)
}

#[test]
fn every_shortest_path_is_as_likely_as_any_other() {
    // From 0, the root, to 3: over 1 by one cable, over 2 by two cables and then three: seven paths.
    let links = [(0, 1), (1, 3), (0, 2), (0, 2), (2, 3), (2, 3), (2, 3)];
    let fabric = fabric_with(4, &links, &[0, 3]);
    let mut drawn: BTreeMap<Vec<PortId>, u32> = BTreeMap::new();
    for seed in 0..1400 {
        let paths =
            path_engine("up-down-random", fabric.switches().next(), seed).paths(&fabric, &hosts_only(&fabric)).unwrap();
        *drawn.entry(channels(&fabric, &paths.get(0))).or_default() += 1;
    }
    assert_eq!(drawn.len(), 7);
    // 200 expected of each; four standard deviations are 52.
    assert!(drawn.values().all(|&count| (148..=252).contains(&count)), "{drawn:?}");
}

#[test]
fn shortest_widest_takes_the_least_weight_in_order() {
    for seed in 0..30u64 {
        let fabric = random_fabric(seed, 3 + seed as usize % 5, 2 + seed as usize % 7, 2);
        let paths = path_engine("shortest-widest", None, 0).paths(&fabric, &hosts_only(&fabric)).unwrap();
        let mut weight: BTreeMap<PortId, u64> = BTreeMap::new();
        let sum = |weight: &BTreeMap<PortId, u64>, path: &[PortId]| -> u64 {
            path.iter().map(|channel| 1 + weight.get(channel).copied().unwrap_or(0)).sum()
        };
        for path in paths.iter() {
            let (from, to) = switch_pair(&path);
            let least = shortest(&fabric, from, to).iter().map(|path| sum(&weight, path)).min().unwrap();
            let taken = channels(&fabric, &path);
            assert_eq!(sum(&weight, &taken), least, "seed {seed}");
            taken.into_iter().for_each(|channel| *weight.entry(channel).or_default() += 1);
        }
    }
}

#[test]
fn balanced_takes_the_least_busy_in_order() {
    for seed in 0..30u64 {
        let fabric = random_fabric(seed, 3 + seed as usize % 5, 2 + seed as usize % 7, 2);
        let paths = path_engine("up-down-balanced", None, 0).paths(&fabric, &hosts_only(&fabric)).unwrap();
        let mut load: BTreeMap<PortId, u64> = BTreeMap::new();
        let judged = |load: &BTreeMap<PortId, u64>, path: &[PortId]| -> (u64, u64) {
            let loads = || path.iter().map(|channel| load.get(channel).copied().unwrap_or(0));
            (loads().max().unwrap_or(0), loads().sum())
        };
        for path in paths.iter() {
            let (from, to) = switch_pair(&path);
            let least = shortest(&fabric, from, to).iter().map(|path| judged(&load, path)).min().unwrap();
            let taken = channels(&fabric, &path);
            assert_eq!(judged(&load, &taken), least, "seed {seed}");
            taken.into_iter().for_each(|channel| *load.entry(channel).or_default() += 1);
        }
    }
}

/// Two switches, two cables, four hosts each: 16 paths each way over two cables, and each host sends 7.
#[test]
fn load_is_in_units_of_what_a_host_sends() {
    let hosts = [0, 0, 0, 0, 1, 1, 1, 1];
    let fabric = fabric_with(2, &[(0, 1), (0, 1)], &hosts);
    for name in ["up-down-balanced", "shortest-widest"] {
        let paths = paths_of(name, &fabric, 0);
        let load = LinkLoad::of_paths(&fabric, &paths);
        assert!((load.max() - 8.0 / 7.0).abs() < 1e-12, "{name}: {}", load.max());
        let first = fabric.switches().next().unwrap();
        for (port, wanted) in [(1, 8.0 / 7.0), (2, 8.0 / 7.0), (3, 1.0)] {
            let on = load.on(fabric.port_at(first, PortNum(port)).unwrap());
            assert!((on - wanted).abs() < 1e-12, "{name}, port {port}: {on}");
        }
    }
}

#[test]
fn the_tables_that_realise_paths_load_the_same_links() {
    for seed in 0..30u64 {
        let fabric = random_fabric(seed, 3 + seed as usize % 8, seed as usize % 12, 1);
        for name in BY_PATH {
            let paths = paths_of(name, &fabric, seed);
            let function = lid::realise_paths(&fabric, &paths, lid::Heuristic::default()).unwrap();
            assert_eq!(
                LinkLoad::of_paths(&fabric, &paths),
                LinkLoad::of_function(&fabric, &function),
                "{name}, {seed}"
            );
        }
    }
}

#[test]
fn nothing_is_loaded_without_pairs() {
    let fabric = fabric_of(1, &[], 1);
    assert_eq!(LinkLoad::of_paths(&fabric, &paths_of("shortest-widest", &fabric, 0)).max(), 0.0);
}

#[test]
fn random_roots_are_drawn_from_all_switches() {
    let fabric = random_fabric(1, 5, 3, 1);
    let mut drawn: Vec<NodeId> = (0..100).filter_map(|seed| random_root(&fabric, seed)).collect();
    assert_eq!(random_root(&fabric, 5), random_root(&fabric, 5));
    drawn.sort();
    drawn.dedup();
    assert!(drawn.into_iter().eq(fabric.switches()));
}
