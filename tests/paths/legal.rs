//! What holds for every engine, on random fabrics with parallel links.

use crate::paths::oracle::*;
use crate::support::fabrics::{random_fabric, ring};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Half;
use reconfig::lid;
use reconfig::routing::{Demand, Engine, PathEngine, TurnModel, TurnRule, choose_root};
use reconfig::routing::{FullyExplicit, LTurn, PathSelection, ShortestWidest, Smart};
use reconfig::tables::PathSet;
use reconfig::verify::{Scope, prove_tables};
use std::collections::{BTreeMap, BTreeSet};

/// Every ordered pair that is promised has a path, and each path runs its course.
fn check_joined(fabric: &Fabric, paths: &PathSet) {
    let pairs: BTreeSet<(PortId, PortId)> = paths.iter().map(|path| (path.source, path.destination)).collect();
    let all: Vec<PortId> = fabric.lid_ports().collect();
    assert_eq!(pairs.len(), all.len() * (all.len() - 1), "every ordered pair, none to itself");
    assert_eq!(paths.len(), pairs.len(), "one path a pair");
    paths.iter().for_each(|path| check_course(fabric, &path));
}

#[test]
fn all_are_joined_legally_and_without_a_cycle_on_two_hundred_random_fabrics() {
    for seed in 0..200u64 {
        let fabric = random_fabric(seed, 2 + seed as usize % 9, seed as usize % 14, 1 + seed as usize % 2);
        let root = choose_root(&fabric).unwrap();
        for name in BY_PATH {
            let key = key_of(name, &fabric, root);
            let paths = paths_of(name, &fabric, seed);
            assert_eq!((paths.engine(), paths.root()), (*name, Some(root)), "seed {seed}");
            check_joined(&fabric, &paths);
            assert!(paths.iter().all(|path| is_legal(&key, &nodes_of(&path))), "{name}, seed {seed}: a path turns up");
            assert!(!has_cycle(&fabric, &paths), "{name}, seed {seed}: dependencies close");
        }
    }
}

#[test]
fn no_legal_path_is_shorter() {
    for seed in 0..60u64 {
        let fabric = random_fabric(seed, 2 + seed as usize % 6, seed as usize % 9, 1);
        for name in SHORTEST {
            let key = key_of(name, &fabric, choose_root(&fabric).unwrap());
            let paths = paths_of(name, &fabric, seed);
            let ends: BTreeSet<PortId> = fabric.end_ports().collect();
            for path in paths.iter().filter(|path| ends.contains(&path.source) && ends.contains(&path.destination)) {
                let (first, last) = (path.hops[0].switch, path.hops[path.hops.len() - 1].switch);
                let shortest = all_legal(&fabric, &key, first, last)[0].len();
                assert_eq!(path.hops.len(), shortest + 1, "{name}, seed {seed}: {:?}", path.hops);
            }
        }
    }
}

#[test]
fn end_ports_come_source_by_source_before_switches() {
    let fabric = ring(4);
    let ends: Vec<PortId> = fabric.end_ports().collect();
    for name in BY_PATH {
        let paths = paths_of(name, &fabric, 0);
        let order: Vec<_> = paths.iter().map(|path| (path.source, path.destination)).take(12).collect();
        let wanted =
            ends.iter().flat_map(|&from| ends.iter().map(move |&to| (from, to)).filter(|(from, to)| from != to));
        assert!(order.into_iter().eq(wanted), "{name}");
    }
}

#[test]
fn switches_need_no_lids_of_their_own() {
    for seed in 0..60u64 {
        let fabric = random_fabric(seed, 3 + seed as usize % 8, seed as usize % 12, 1);
        for name in BY_PATH {
            let engine = path_engine(name, None, seed);
            let ends = Demand { destinations: fabric.end_ports().collect(), ..Demand::all(&fabric, 1) };
            let lids = |demand: &Demand| {
                let function =
                    lid::realise_paths(&fabric, &engine.paths(&fabric, demand).unwrap(), lid::Heuristic::default())
                        .unwrap();
                let needed = function.destinations().iter().enumerate().map(|(at, &port)| (port, function.needed(at)));
                needed.filter(|(port, _)| ends.destinations.contains(port)).collect::<Vec<_>>()
            };
            assert_eq!(lids(&ends), lids(&Demand::all(&fabric, 1)), "{name}, seed {seed}");
        }
    }
}

#[test]
fn switches_have_one_way_each_to_a_switch() {
    for seed in 0..60u64 {
        let fabric = random_fabric(seed, 3 + seed as usize % 8, seed as usize % 12, 2);
        let switches: Vec<NodeId> = fabric.switches().collect();
        for name in BY_PATH {
            let paths = paths_of(name, &fabric, seed);
            for &target in &switches {
                let own = fabric.node(target).first_port;
                let mut outputs = BTreeMap::new();
                for hop in paths.iter().filter(|path| path.destination == own).flat_map(|path| path.hops) {
                    assert_eq!(*outputs.entry(hop.switch).or_insert(hop.output), hop.output, "{name}, seed {seed}");
                }
                assert_eq!(outputs.len(), switches.len(), "{name}, seed {seed}: each switch leads there");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_paths_and_another_gives_others() {
    let fabric = random_fabric(7, 12, 14, 2);
    for name in BY_PATH {
        assert_eq!(paths_of(name, &fabric, 3), paths_of(name, &fabric, 3), "{name}");
    }
    assert_ne!(paths_of("up-down-random", &fabric, 3), paths_of("up-down-random", &fabric, 4));
}

#[test]
fn engines_take_the_other_rule_as_well() {
    for seed in 0..40u64 {
        let fabric = random_fabric(seed, 2 + seed as usize % 8, seed as usize % 12, 1);
        let root = fabric.switches().last();
        let (model, key) = (TurnModel::LTurn, walked(&fabric, root.unwrap()));
        let engines: [Box<dyn PathEngine>; 4] = [
            Box::new(ShortestWidest { model, root }),
            Box::new(PathSelection { model, root, ..PathSelection::default() }),
            Box::new(Smart { model, root, ..Smart::default() }),
            Box::new(LTurn { root, seed: Some(seed) }),
        ];
        for engine in engines {
            let paths = engine.paths(&fabric, &Demand::all(&fabric, 1)).unwrap();
            check_joined(&fabric, &paths);
            let legal = paths.iter().all(|path| is_legal(&key, &nodes_of(&path)));
            assert!(legal && !has_cycle(&fabric, &paths), "{}, seed {seed}", engine.name());
        }
        let function = FullyExplicit { model, root }.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
        let tables = lid::bring_up(&fabric, &function, 4);
        prove_tables(&fabric, &tables, &Scope::of(&[Half::Lower]))
            .unwrap_or_else(|refusal| panic!("{seed}: {refusal}"));
    }
}

#[test]
fn a_rule_numbers_parents_before_children() {
    for seed in 0..40u64 {
        let fabric = random_fabric(seed, 2 + seed as usize % 9, seed as usize % 14, 1);
        let root = fabric.switches().nth(seed as usize % 2).unwrap();
        let key = levels(&fabric, root);
        for model in [TurnModel::UpDown, TurnModel::LTurn] {
            let rule = TurnRule::new(model, &fabric, root).unwrap();
            let mut ranks: Vec<u32> = fabric.switches().map(|switch| rule.rank(switch).unwrap()).collect();
            ranks.sort();
            assert!(ranks.into_iter().eq(0..fabric.switches().count() as u32), "each number once");
            assert_eq!((rule.root(), rule.rank(root)), (root, Some(0)));
            for switch in fabric.switches().filter(|&switch| switch != root) {
                let nearer = switches_beside(&fabric, switch).into_iter().filter(|next| key[next].0 < key[&switch].0);
                let parent = nearer.min_by_key(|&next| fabric.node(next).guid).unwrap();
                let walk = walked(&fabric, root);
                assert!(model == TurnModel::UpDown || rule.rank(switch) == Some(walk[&switch].0 as u32), "seed {seed}");
                assert!(rule.is_up(switch, parent) && !rule.is_up(parent, switch), "{model:?}, seed {seed}");
            }
        }
    }
}
