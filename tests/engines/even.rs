//! How evenly the default engines use the channels between switches, beside what any routing must put on some of them.

use super::fabrics::{bundled, demand, fat_trees, made};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::routing::{Engine, FatTree, UpDown, UpDownRobust, chosen_root, switch_order};
use reconfig::tables::{LinkLoad, RoutingFunction};
use std::collections::{BTreeMap, BTreeSet};

fn is_switch(fabric: &Fabric, node: NodeId) -> bool {
    fabric.node(node).is_switch()
}

/// The switches at the other ends of the links of one, each as often as there are links.
fn beside(fabric: &Fabric, switch: NodeId) -> impl Iterator<Item = NodeId> {
    fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port)).filter(|&node| is_switch(fabric, node))
}

/// By switch: end ports.
fn hosts(fabric: &Fabric) -> BTreeMap<NodeId, u64> {
    let mut hosts = BTreeMap::new();
    let homes = fabric.end_ports().filter_map(|port| fabric.neighbour(port));
    homes.for_each(|home| *hosts.entry(home).or_default() += 1);
    hosts
}

/// Switches by the number of links between them and the nearest end port.
fn levels(fabric: &Fabric) -> Vec<BTreeSet<NodeId>> {
    let mut levels = vec![hosts(fabric).into_keys().collect::<BTreeSet<NodeId>>()];
    let mut seen = levels[0].clone();
    loop {
        let last = &levels[levels.len() - 1];
        let next: BTreeSet<NodeId> =
            last.iter().flat_map(|&switch| beside(fabric, switch)).filter(|node| !seen.contains(node)).collect();
        if next.is_empty() {
            return levels;
        }
        seen.extend(&next);
        levels.push(next);
    }
}

/// The pairs that some channel carries whatever the routing: what the end ports of a part below a level send to the
/// others, over the channels that lead out of the part.
fn unavoidable(fabric: &Fabric) -> f64 {
    let (hosts, levels) = (hosts(fabric), levels(fabric));
    let all: u64 = hosts.values().sum();
    let mut most = 0.0f64;
    for top in 0..levels.len() - 1 {
        let mut rest: BTreeSet<NodeId> = levels[..=top].iter().flatten().copied().collect();
        while let Some(first) = rest.pop_first() {
            let (mut part, mut out) = (vec![first], 0u64);
            let mut at = 0;
            while let Some(&switch) = part.get(at) {
                at += 1;
                for next in beside(fabric, switch) {
                    if rest.remove(&next) {
                        part.push(next);
                    }
                    out += u64::from(levels[top + 1].contains(&next));
                }
            }
            let inside: u64 = part.iter().filter_map(|switch| hosts.get(switch)).sum();
            if inside > 0 && out > 0 {
                most = most.max((inside * (all - inside)) as f64 / out as f64);
            }
        }
    }
    most
}

/// The pairs on the busiest channel between switches, each by its first path.
fn busiest(fabric: &Fabric, function: &RoutingFunction) -> f64 {
    let others = fabric.end_ports().filter(|&port| fabric.neighbour(port).is_some()).count() - 1;
    let load = LinkLoad::of_classes(fabric, function, 0..1);
    load.between_switches(fabric).map(|(_, load)| load * others as f64).fold(0.0, f64::max)
}

/// Trees whose end ports are no multiple of their ways: as generated, less some hosts, less some cables.
fn uneven_trees() -> Vec<(String, Fabric)> {
    let mut trees = fat_trees(0);
    trees.extend(fat_trees(3));
    let mut rng = Pcg64::seed_from_u64(37);
    for _ in 0..60 {
        let mut draw = |range: std::ops::RangeInclusive<u32>| rng.random_range(range);
        let topology = if draw(0..=1) == 0 {
            format!("leaf-spine:{},{},{},{}", draw(3..=9), draw(2..=5), draw(3..=12), draw(1..=2))
        } else {
            let [pods, leaves, spines, cores] = [2..=4, 2..=4, 2..=3, 1..=3].map(&mut draw);
            format!("three-level:{pods},{leaves},{spines},{cores},{},{}", draw(2..=7), draw(1..=2))
        };
        let whole = made(&topology, 0);
        let ports: Vec<PortId> = whole.end_ports().skip(1).collect();
        let gone: Vec<PortId> = ports.sample(&mut rng, ports.len() / 6).copied().collect();
        trees.push((format!("{topology} less {} hosts", gone.len()), whole.without_links(&gone)));
        trees.push((topology, whole));
    }
    trees
}

#[test]
fn no_channel_of_a_fat_tree_is_much_busier_than_some_must_be() {
    let (mut worst, mut counted, mut within) = (BTreeMap::new(), 0, 0);
    for (name, fabric) in uneven_trees() {
        // What an end port's own link carries is no bottleneck between switches.
        let own = fabric.end_ports().filter(|&port| fabric.neighbour(port).is_some()).count() as f64 - 1.0;
        let must = unavoidable(&fabric).max(own);
        for paths in [1, 2, 4] {
            // Without some cables it is no fat tree.
            let Ok(function) = FatTree.route(&fabric, &demand(&fabric, paths)) else { continue };
            let ratio = busiest(&fabric, &function) / must;
            let entry = worst.entry(paths).or_insert((0.0, String::new()));
            if ratio > entry.0 {
                *entry = (ratio, name.clone());
            }
            counted += 1;
            within += usize::from(ratio <= 1.1);
        }
    }
    assert!(worst.values().all(|&(ratio, _)| ratio <= 1.3), "{worst:?}");
    assert!(10 * within >= 8 * counted && counted > 300, "{within} of {counted} within a tenth: {worst:?}");
}

#[test]
fn an_even_fat_tree_is_dealt_by_the_numbers_of_its_end_ports() {
    // Eight hosts a leaf over four spines: two to a way, though an end port's own link carries less.
    let fabric = made("leaf-spine:6,4,8", 0);
    let function = FatTree.route(&fabric, &demand(&fabric, 1)).expect("a fat tree");
    let leaves: Vec<NodeId> = hosts(&fabric).into_keys().collect();
    let spines: Vec<NodeId> = levels(&fabric)[1].iter().copied().collect();
    for (at, &leaf) in leaves.iter().enumerate() {
        let ends = fabric.ports_of(leaf).filter_map(|port| fabric.peer(port));
        let ends = ends.filter(|&port| !is_switch(&fabric, fabric.port(port).node));
        for (number, port) in (8 * at..).zip(ends) {
            let destination = function.destinations().iter().position(|&to| to == port).expect("it is demanded");
            for &other in leaves.iter().filter(|&&other| other != leaf) {
                let output = function.output(other, destination, 0).expect("a way");
                let next = fabric.port_at(other, output).and_then(|port| fabric.neighbour(port));
                assert_eq!(next, Some(spines[number % 4]), "to end port {number}");
            }
        }
    }
}

#[test]
fn the_order_that_outlives_its_root_costs_a_tenth_at_most() {
    for (name, fabric) in bundled() {
        let routed = |engine: &dyn Engine| {
            let function = engine.route(&fabric, &demand(&fabric, 1)).expect("it is connected");
            (busiest(&fabric, &function), function.root())
        };
        let ((plain, _), (robust, root)) = (routed(&UpDown::default()), routed(&UpDownRobust::default()));
        assert!(robust <= 1.1 * plain + 1e-9, "{name}: {robust} pairs, {plain} by up-down");
        let engine = UpDownRobust::default().name();
        assert_eq!(root, chosen_root(engine, &fabric), "{name}");
        if name == "ghost-cycle" {
            let order = switch_order(engine, &fabric, root.expect("it has switches")).expect("it has an order");
            for (at, &switch) in order.iter().enumerate().skip(2) {
                let is_above = |next: NodeId| order[1..at].contains(&next);
                assert!(beside(&fabric, switch).any(is_above), "{name}: {switch:?} hangs from the root alone");
            }
        }
    }
}
