//! Several paths to each destination: how many of them differ, against counts by exhaustion; how load is spread over
//! all and over those of one number; and that all are proved.

use super::fabrics::{demand, fat_trees, made, random};
use reconfig::change::{BringUpError, LmcWish, RouteInput, route};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Lmc;
use reconfig::routing::{Dfsssp, Engine, FatTree, FullyExplicit, Lash, MinHop, MultipleRoots, Nue, RouteError, UpDown};
use reconfig::tables::{Diversity, LinkLoad, RoutingFunction};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

fn engines() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(UpDown::default()),
        Box::new(FullyExplicit::default()),
        Box::new(MultipleRoots::default()),
        Box::new(MinHop),
        Box::new(Dfsssp),
        Box::new(Nue),
        Box::new(Lash),
        Box::new(FatTree),
    ]
}

/// Fat trees, whole and with cables pulled, and a few of each random family.
fn some_fabrics() -> Vec<(String, Fabric)> {
    let trees = fat_trees(0).into_iter().chain(fat_trees(2)).step_by(19);
    let regular =
        ["random-regular:16,5,2", "torus:4x4,2", "torus:3x3x3,1"].map(|name| (name.to_string(), made(name, 3)));
    trees.chain(random().into_iter().step_by(41)).chain(regular).collect()
}

fn ends(fabric: &Fabric, function: &RoutingFunction) -> Vec<(usize, PortId)> {
    let ports = function.destinations().iter().copied().enumerate();
    ports.filter(|&(_, port)| !fabric.node(fabric.port(port).node).is_switch()).collect()
}

/// By switch that end ports are attached to and destination elsewhere: how many different ways the paths take.
fn different(fabric: &Fabric, function: &RoutingFunction) -> BTreeMap<(NodeId, usize), usize> {
    let ends = ends(fabric, function);
    let homes: BTreeSet<NodeId> = ends.iter().filter_map(|&(_, port)| fabric.neighbour(port)).collect();
    let mut different = BTreeMap::new();
    for &(destination, port) in &ends {
        for &home in homes.iter().filter(|&&home| fabric.neighbour(port) != Some(home)) {
            let ways: BTreeSet<Vec<PortId>> =
                (0..function.paths()).map(|path| function.way(fabric, home, destination, path).collect()).collect();
            assert!(ways.iter().all(|way| way.last().and_then(|&last| fabric.peer(last)) == Some(port)), "it arrives");
            different.insert((home, destination), ways.len());
        }
    }
    different
}

/// How many shortest ways lead from every switch to one: those of all neighbours one hop nearer, a cable counted each.
fn shortest_ways(fabric: &Fabric, target: NodeId) -> BTreeMap<NodeId, u64> {
    let next = |node: NodeId| {
        let neighbours = fabric.ports_of(node).filter_map(|port| fabric.neighbour(port));
        neighbours.filter(move |&other| other != node && fabric.node(other).is_switch()).collect::<Vec<_>>()
    };
    let (mut hops, mut ways) = (BTreeMap::from([(target, 0)]), BTreeMap::from([(target, 1u64)]));
    let mut queue = VecDeque::from([target]);
    while let Some(node) = queue.pop_front() {
        for other in next(node) {
            let beyond = hops[&node] + 1;
            if *hops.entry(other).or_insert_with(|| {
                queue.push_back(other);
                beyond
            }) == beyond
            {
                let through = ways[&node];
                *ways.entry(other).or_default() += through;
            }
        }
    }
    ways
}

#[test]
fn two_paths_differ_wherever_there_are_two_shortest_ways_and_more_nearly_so() {
    for engine in [&MinHop as &dyn Engine, &Dfsssp, &Lash] {
        for (name, fabric) in some_fabrics() {
            for paths in [2, 4, 8] {
                let function = engine.route(&fabric, &demand(&fabric, paths)).expect("it is connected");
                let [mut found, mut possible] = [0, 0];
                for ((home, destination), different) in different(&fabric, &function) {
                    let target = fabric.neighbour(function.destinations()[destination]).expect("a cabled port");
                    let most = shortest_ways(&fabric, target)[&home].min(paths as u64) as usize;
                    let said = format!("{} on {name}, {paths} paths: {different} of {most}", engine.name());
                    assert!(different <= most && different >= most.min(2), "{said}");
                    found += different;
                    possible += most;
                }
                let said = format!("{} on {name}, {paths} paths: {found} of {possible}", engine.name());
                assert!(20 * found >= 19 * possible, "{said}");
            }
        }
    }
}

#[test]
fn two_paths_of_up_down_differ_wherever_any_do() {
    for (name, fabric) in some_fabrics() {
        let routed = |paths| UpDown::default().route(&fabric, &demand(&fabric, paths)).expect("it is connected");
        let [two, many] = [2, 16].map(|paths| different(&fabric, &routed(paths)));
        for (pair, all) in many {
            assert_eq!(two[&pair], all.min(2), "{name}: {pair:?}");
        }
    }
}

#[test]
fn hosts_of_different_leaves_have_a_way_over_each_spine() {
    for (topology, spines) in [("leaf-spine:5,4,4", 4), ("leaf-spine:4,3,4", 3), ("leaf-spine:6,8,4", 8)] {
        let fabric = made(topology, 0);
        for engine in [&MinHop as &dyn Engine, &Dfsssp, &Nue, &Lash, &FatTree, &MultipleRoots::default()] {
            for paths in [1, 2, 4, 8] {
                let function = engine.route(&fabric, &demand(&fabric, paths)).expect("it is connected");
                let found = Diversity::of(&fabric, &function).distinct;
                let said = format!("{} on {topology}, {paths} paths: {found:?}", engine.name());
                assert_eq!([found[0], found[2]], [paths.min(spines) as u64; 2], "{said}");
            }
        }
        // Up*/down* of one root knows no way between leaves but over the root.
        let function = UpDown::default().route(&fabric, &demand(&fabric, 8)).expect("it is connected");
        assert_eq!(Diversity::of(&fabric, &function).distinct[2], 1);
    }
}

#[test]
fn a_fat_tree_of_three_levels_gives_every_root_its_turn() {
    // From pod to pod nine roots; within a pod three switches of the second level.
    let fabric = made("fat-tree:3,3", 0);
    for (paths, between, within) in [(2, 2, 2), (4, 4, 3), (8, 8, 3), (16, 9, 3)] {
        let function = FatTree.route(&fabric, &demand(&fabric, paths)).expect("a fat tree");
        let found: BTreeSet<usize> = different(&fabric, &function).into_values().collect();
        assert_eq!(found, BTreeSet::from([between, within]), "{paths} paths");
    }
}

#[test]
fn paths_of_each_number_are_spread_evenly_over_a_fat_tree() {
    let fabric = made("leaf-spine:4,4,4", 0);
    for engine in [&MinHop as &dyn Engine, &Dfsssp, &Nue, &FatTree, &MultipleRoots::default()] {
        for paths in [1, 2, 4, 8] {
            let function = engine.route(&fabric, &demand(&fabric, paths)).expect("it is connected");
            let busiest = |classes| {
                let load = LinkLoad::of_classes(&fabric, &function, classes);
                load.between_switches(&fabric).map(|(_, load)| load).fold(0.0, f64::max)
            };
            // Twelve of the fifteen others are on other leaves, over four ways up.
            for class in (0..paths).map(|path| path..path + 1).chain(std::iter::once(0..paths)) {
                let load = busiest(class.clone());
                assert!((load - 0.8).abs() < 1e-9, "{}, paths {class:?} of {paths}: {load}", engine.name());
            }
        }
    }
}

#[test]
fn no_path_of_any_number_is_much_busier_than_where_there_is_one() {
    for (topology, seed) in [("random-regular:16,5,4", 1), ("torus:4x4,2", 0), ("fat-tree:3,3", 0)] {
        let fabric = made(topology, seed);
        for engine in [&MinHop as &dyn Engine, &Dfsssp, &Nue, &MultipleRoots::default(), &UpDown::default()] {
            let busiest = |paths: usize, classes| {
                let function = engine.route(&fabric, &demand(&fabric, paths)).expect("it is connected");
                let load = LinkLoad::of_classes(&fabric, &function, classes);
                load.between_switches(&fabric).map(|(_, load)| load).fold(0.0, f64::max)
            };
            let alone = busiest(1, 0..1);
            for paths in [2, 4] {
                let classes: Vec<f64> = (0..paths).map(|path| busiest(paths, path..path + 1)).collect();
                let all = busiest(paths, 0..paths);
                let said = format!("{} on {topology}, {paths}: {alone}, {classes:?}, {all}", engine.name());
                assert!(classes.iter().all(|&load| load <= 2.0 * alone), "{said}");
                assert!(all <= 1.25 * alone, "{said}");
            }
        }
    }
}

#[test]
fn every_path_of_every_number_is_proved() {
    let [mut proved, mut refused, mut left] = [0, 0, 0];
    for (name, fabric) in some_fabrics() {
        for engine in engines() {
            for lmc in 1..=4 {
                let lmc = LmcWish::Least(Lmc::masked(lmc));
                match route(RouteInput { fabric: &fabric, engine: &*engine, data_vls: 8, lmc }) {
                    Ok(routed) => match routed.prove() {
                        Ok(_) => proved += 1,
                        Err(refusal) => {
                            assert_eq!(engine.name(), "min-hop", "{name}, {lmc:?}: {refusal}");
                            refused += 1;
                        }
                    },
                    Err(BringUpError::Route(RouteError::Unsuited { .. } | RouteError::TooFewLayers { .. })) => {
                        left += 1
                    }
                    // Cables pulled from a fat tree may leave a switch alone.
                    Err(BringUpError::Route(RouteError::Unreachable { .. })) if name.contains("less") => left += 1,
                    Err(error) => panic!("{} on {name}: {error}", engine.name()),
                }
            }
        }
    }
    println!("{proved} proved, {refused} refused, {left} left out");
    assert!(proved > 10 * left.max(1) / 4 && proved > 150, "{proved} proved, {refused} refused, {left} left out");
}

#[test]
fn one_layer_makes_one_root() {
    let fabric = made("random-regular:12,4,2", 2);
    let demand = demand(&fabric, 4);
    let route = |layers: u8| MultipleRoots::default().route(&fabric, &demand.clone().within(layers));
    let (one, up_down) = (route(1).expect("it is connected"), UpDown::default().route(&fabric, &demand).expect("so"));
    assert_eq!((one.layers(), one.root()), (1, up_down.root()));
    assert_eq!(different(&fabric, &one), different(&fabric, &up_down));
    assert_eq!(route(3).expect("it is connected").layers(), 3);
    let none = route(0).expect_err("no layer");
    assert!(matches!(none, RouteError::TooFewLayers { needed: 1, offered: 0, .. }), "{none}");
}
