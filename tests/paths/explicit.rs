//! Fully explicit routing: legal whatever the input, never longer than restricted up*/down*, proved as tables.

use crate::paths::oracle::{is_legal, levels};
use crate::support::fabrics::{fabric_with, random_fabric};
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, PortNum};
use reconfig::lid;
use reconfig::routing::{Demand, Engine, FullyExplicit, TurnModel, UpDown};
use reconfig::tables::{LinkLoad, RoutingFunction};
use reconfig::verify::{Scope, prove_tables};

/// The switches from `start` to a destination.
fn course(fabric: &Fabric, function: &RoutingFunction, start: NodeId, destination: usize, path: usize) -> Vec<NodeId> {
    let mut nodes = vec![start];
    loop {
        let at = nodes[nodes.len() - 1];
        let output = function.output(at, destination, path).expect("a route");
        let next = fabric.neighbour(fabric.port_at(at, output).expect("a port"));
        match next.filter(|&next| output != PortNum::ZERO && fabric.node(next).is_switch()) {
            Some(next) => nodes.push(next),
            None => {
                let port = function.destinations()[destination];
                let owner = next.filter(|_| output != PortNum::ZERO).unwrap_or(at);
                assert_eq!(owner, fabric.port(port).node, "arrives");
                return nodes;
            }
        }
        assert!(nodes.len() <= fabric.node_count(), "round and round: {nodes:?}");
    }
}

fn explicit(fabric: &Fabric, root: NodeId, paths: usize) -> RoutingFunction {
    FullyExplicit { model: TurnModel::UpDown, root: Some(root) }.route(fabric, &Demand::all(fabric, paths)).unwrap()
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn routes_are_legal_proved_and_no_longer_than_restricted(
        seed in any::<u64>(), switches in 2usize..10, extra in 0usize..14, nth in 0usize..10,
    ) {
        let fabric = random_fabric(seed, switches, extra, 1);
        let root = fabric.switches().nth(nth % switches).unwrap();
        let function = explicit(&fabric, root, 2);
        let restricted = UpDown { root: Some(root) }.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
        prop_assert_eq!((function.root(), function.layers()), (Some(root), 1));
        let key = levels(&fabric, root);
        for destination in 0..function.destinations().len() {
            for start in fabric.switches() {
                let longest = course(&fabric, &restricted, start, destination, 0).len();
                for path in 0..2 {
                    let nodes = course(&fabric, &function, start, destination, path);
                    prop_assert!(is_legal(&key, &nodes), "{:?}", nodes);
                    prop_assert!(nodes.len() <= longest, "{:?} is longer than {}", nodes, longest);
                }
            }
        }
        let tables = lid::bring_up(&fabric, &function, 4);
        prop_assert!(prove_tables(&fabric, &tables, &Scope::of(&[Half::Lower])).is_ok());
        prop_assert_eq!(explicit(&fabric, root, 2), function);
    }
}

/// From 1 three hops lead down to 4, over 2 and 3, and two lead over the root: nobody needs 1 to come down to 4, so it
/// may send up. Restricted up*/down* sends it the long way (as n5 to n8 in seed 000, figure 1).
#[test]
fn a_switch_sends_up_where_that_is_shorter_and_nobody_needs_it() {
    let links = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4)];
    let fabric = fabric_with(5, &links, &[1, 4]);
    let nodes: Vec<NodeId> = fabric.switches().collect();
    let restricted = UpDown { root: Some(nodes[0]) }.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
    let port = fabric.end_ports().find(|&port| fabric.neighbour(port) == Some(nodes[4])).unwrap();
    let destination = restricted.destinations().iter().position(|&other| other == port).unwrap();
    assert_eq!(course(&fabric, &restricted, nodes[1], destination, 0), nodes[1..5]);
    let way = course(&fabric, &explicit(&fabric, nodes[0], 1), nodes[1], destination, 0);
    assert_eq!(way, [nodes[1], nodes[0], nodes[4]]);
}

/// Two leaves, four spines between them, four hosts each: sixteen paths each way over four cables, four on each.
#[test]
fn equal_routes_are_shared_out_by_the_paths_that_they_move() {
    let links: Vec<(usize, usize)> = (2..6).flat_map(|spine| [(0, spine), (1, spine)]).collect();
    let fabric = fabric_with(6, &links, &[0, 0, 0, 0, 1, 1, 1, 1]);
    let root = fabric.switches().nth(2).unwrap();
    // Links of the root lead down to both leaves, those of the other spines lead up from one: only the root serves.
    let load = LinkLoad::of_function(&fabric, &explicit(&fabric, root, 1));
    assert!((load.max() - 16.0 / 7.0).abs() < 1e-12, "{}", load.max());
    let trunk = fabric_with(2, &[(0, 1); 4], &[0, 0, 0, 0, 1, 1, 1, 1]);
    let load = LinkLoad::of_function(&trunk, &explicit(&trunk, trunk.switches().next().unwrap(), 1));
    assert!((load.max() - 1.0).abs() < 1e-12, "four paths on each of four cables, seven to each host: {}", load.max());
}
