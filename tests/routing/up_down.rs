//! Up*/down* and LID assignment: legal, complete, spread, and frank about what cannot be joined.

use crate::support::fabrics::{fabric_of, fabric_with, random_fabric, ring};
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::change::engine_named;
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lid, Lmc, PortNum};
use reconfig::lid::{self, LidError};
use reconfig::routing::{Demand, Engine, Parameters, RouteError, UpDown, choose_root, stranded};
use reconfig::tables::RoutingFunction;
use reconfig::verify::{Scope, prove_tables};
use std::collections::VecDeque;

fn switch(fabric: &Fabric, nth: usize) -> NodeId {
    fabric.switches().nth(nth).unwrap()
}

fn levels(fabric: &Fabric, root: NodeId) -> Vec<usize> {
    let mut level = vec![usize::MAX; fabric.node_count()];
    level[root.index()] = 0;
    let mut queue = VecDeque::from([root]);
    while let Some(node) = queue.pop_front() {
        for next in fabric.ports_of(node).filter_map(|port| fabric.neighbour(port)) {
            if fabric.node(next).is_switch() && level[next.index()] == usize::MAX {
                level[next.index()] = level[node.index()] + 1;
                queue.push_back(next);
            }
        }
    }
    level
}

/// The nodes that a packet passes from `start` to a destination.
fn trace(fabric: &Fabric, function: &RoutingFunction, start: NodeId, destination: usize, path: usize) -> Vec<NodeId> {
    let mut nodes = vec![start];
    loop {
        let at = nodes[nodes.len() - 1];
        let output = function.output(at, destination, path).unwrap_or_else(|| panic!("no route at {at:?}"));
        if output == PortNum::ZERO {
            return nodes;
        }
        let next = fabric.neighbour(fabric.port_at(at, output).unwrap()).unwrap();
        if !fabric.node(next).is_switch() {
            nodes.push(next);
            return nodes;
        }
        nodes.push(next);
        assert!(nodes.len() <= fabric.node_count(), "round and round: {nodes:?}");
    }
}

/// Whether `target` is reached from `from` by ways down alone.
fn reaches_down(fabric: &Fabric, key: &dyn Fn(NodeId) -> (usize, Guid), from: NodeId, target: NodeId) -> bool {
    from == target
        || fabric.ports_of(from).filter_map(|port| fabric.neighbour(port)).any(|next| {
            fabric.node(next).is_switch() && key(next) > key(from) && reaches_down(fabric, key, next, target)
        })
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn routes_are_legal_and_arrive(seed in any::<u64>(), switches in 2usize..10, extra in 0usize..12, nth in 0usize..10) {
        let fabric = random_fabric(seed, switches, extra, 1);
        let root = switch(&fabric, nth % switches);
        let function = UpDown { root: Some(root) }.route(&fabric, &Demand::all(&fabric, 2)).unwrap();
        let level = levels(&fabric, root);
        let key = |node: NodeId| (level[node.index()], fabric.node(node).guid);
        for (destination, &port) in function.destinations().iter().enumerate() {
            for (start, path) in fabric.switches().flat_map(|start| [(start, 0), (start, 1)]) {
                let nodes = trace(&fabric, &function, start, destination, path);
                prop_assert_eq!(*nodes.last().unwrap(), fabric.port(port).node);
                let hops: Vec<NodeId> = nodes.into_iter().filter(|&node| fabric.node(node).is_switch()).collect();
                let down: Vec<bool> = hops.windows(2).map(|pair| key(pair[1]) > key(pair[0])).collect();
                prop_assert!(down.windows(2).all(|pair| pair[1] || !pair[0]), "up after down: {:?}", hops);
                let target = *hops.last().unwrap();
                prop_assert_eq!(down.first().copied().unwrap_or(true), reaches_down(&fabric, &key, start, target));
            }
        }
        let fabric = lid::assign(&fabric, Lmc::masked(2)).unwrap();
        let tables = lid::bring_up(&fabric, &function, 4);
        prop_assert!(prove_tables(&fabric, &tables, &Scope::of(&[Half::Lower, Half::Upper])).is_ok());
    }
}

#[test]
fn restriction_takes_the_longer_way_down() {
    // A star around 0, and a chain 1 – 2 – 3 – 4 among the others: all of one level, so along the chain down leads to
    // the higher GUID. From 1 to 4 over the root is shorter, but starts up where ways down exist (seed 000, section
    // 2.1).
    let fabric = fabric_of(5, &[(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4)], 1);
    let function = UpDown { root: Some(switch(&fabric, 0)) }.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
    let to = |nth| {
        let own = |port: &PortId| fabric.port(*port).node == switch(&fabric, nth);
        function.destinations().iter().position(own).unwrap()
    };
    let route = |from, target| -> Vec<usize> {
        let nodes = trace(&fabric, &function, switch(&fabric, from), to(target), 0);
        nodes.iter().map(|node| node.index()).collect()
    };
    assert_eq!(route(1, 4), [1, 2, 3, 4]);
    assert_eq!(route(2, 4), [2, 3, 4]);
    assert_eq!(route(4, 1), [4, 0, 1]);
}

#[test]
fn equal_choices_share_the_load_and_paths_differ() {
    // Two leaves with 12 adapters each, four spines, two cables to each: eight equal choices at a leaf.
    let links: Vec<_> = (0..2).flat_map(|leaf| (2..6).flat_map(move |spine| [(leaf, spine); 2])).collect();
    let hosts: Vec<_> = (0..24).map(|host| host / 12).collect();
    let fabric = fabric_with(6, &links, &hosts);
    let function = UpDown { root: Some(switch(&fabric, 2)) }.route(&fabric, &Demand::all(&fabric, 2)).unwrap();
    let leaf = switch(&fabric, 1);
    let mut load = [0; 41];
    for (destination, &port) in function.destinations().iter().enumerate() {
        let far = fabric.neighbour(port) == Some(switch(&fabric, 0));
        if far {
            let outputs = [0, 1].map(|path| function.output(leaf, destination, path).unwrap());
            assert_ne!(outputs[0], outputs[1]);
            outputs.iter().for_each(|output| load[output.index()] += 1);
        }
    }
    // The root is up from every leaf's point of view; the way over it is as short as over any spine above the leaf.
    let used: Vec<i32> = load.into_iter().filter(|&count| count > 0).collect();
    assert_eq!(used.iter().sum::<i32>(), 24);
    assert!(used.len() >= 2 && used.iter().max().unwrap() - used.iter().min().unwrap() <= 1, "{used:?}");
}

#[test]
fn cables_to_itself_and_routers_are_no_ways_through() {
    let mut builder = FabricBuilder::new();
    let [a, b] = [1, 2].map(|guid| builder.node(NodeKind::Switch, Guid(guid), 6, format!("sw-{guid}")));
    let router = builder.node(NodeKind::Router, Guid(3), 2, "router");
    let host = builder.node(NodeKind::Ca, Guid(4), 1, "host");
    let cables = [((a, 1), (a, 2)), ((a, 3), (router, 1)), ((b, 3), (router, 2)), ((a, 4), (host, 1))];
    for ((x, i), (y, j)) in cables {
        builder.link((x, PortNum(i)), (y, PortNum(j)), Default::default(), Default::default()).unwrap();
    }
    let fabric = lid::assign(&builder.build().unwrap(), Lmc::new(1).unwrap()).unwrap();
    let Err(refused @ RouteError::Unreachable { pairs, .. }) =
        UpDown::default().route(&fabric, &Demand::all(&fabric, 1))
    else {
        panic!("the router joins nothing")
    };
    // sw-1, host and one port of the router here; sw-2 and the other port there.
    assert_eq!(pairs, 12);
    assert!(refused.to_string().contains("sw-1[0] → sw-2[0]"), "{refused}");
    let sm = fabric.port_at(host, PortNum(1)).unwrap();
    let function = UpDown::default().route(&fabric, &Demand::joined_with(&fabric, sm, 1)).unwrap();
    assert_eq!((function.destinations().len(), function.root()), (3, Some(a)));
    let far = fabric.port_at(router, PortNum(2)).unwrap();
    assert_eq!(stranded(&fabric, &fabric, sm), [far]);
}

#[test]
fn what_a_removal_strands_is_named_and_left_out() {
    // A line of three: without the middle, the ends are apart.
    let fabric = fabric_of(3, &[(0, 1), (1, 2)], 1);
    let after = fabric.without_nodes(&[switch(&fabric, 1)]);
    let ends: Vec<PortId> = fabric.end_ports().collect();
    assert_eq!(stranded(&fabric, &after, ends[0]), ends[1..]);
    assert!(matches!(
        UpDown::default().route(&after, &Demand::all(&after, 1)),
        Err(RouteError::Unreachable { pairs: 8, .. })
    ));
    let function = UpDown::default().route(&after, &Demand::joined_with(&after, ends[2], 1)).unwrap();
    assert_eq!(function.root(), Some(switch(&fabric, 2)));
    assert_eq!(function.destinations(), [fabric.node(switch(&fabric, 2)).first_port, ends[2]]);
}

#[test]
fn roots_that_do_not_serve_are_errors() {
    let fabric = fabric_of(3, &[(0, 1), (1, 2)], 1);
    let (middle, host) = (switch(&fabric, 1), fabric.end_ports().next().unwrap());
    let after = fabric.without_nodes(&[middle]);
    let route = |root, fabric: &Fabric, paths| {
        UpDown { root: Some(root) }.route(fabric, &Demand::joined_with(fabric, host, paths)).unwrap_err()
    };
    assert!(matches!(route(middle, &after, 1), RouteError::RootAbsent { .. }));
    assert!(matches!(route(fabric.port(host).node, &after, 1), RouteError::RootAbsent { .. }));
    assert!(
        route(switch(&fabric, 2), &after, 1).to_string().contains("no links connect the given root, sw-2, to sw-0[0]")
    );
    assert!(matches!(route(middle, &fabric, 0), RouteError::Paths { paths: 0, .. }));
}

#[test]
fn engines_are_found_by_name() {
    assert_eq!(engine_named("up-down", &Parameters::default()).unwrap().name(), "up-down");
    let Err(refused) = engine_named("updn", &Parameters::default()) else { panic!("that is another tool's name") };
    let said = refused.to_string();
    assert!(
        said.starts_with("there is no engine `updn` (OpenSM's updn is up-down here); choose one of: up-down, "),
        "{said}"
    );
}

#[test]
fn the_root_is_near_all_then_well_connected_then_first() {
    assert_eq!(choose_root(&ring(5)), Some(switch(&ring(5), 0)));
    // A line with adapters at its ends: the middle is nearest.
    let line = fabric_with(5, &[(0, 1), (1, 2), (2, 3), (3, 4)], &[0, 4]);
    assert_eq!(choose_root(&line), Some(switch(&line, 2)));
    // Two spines over two leaves, the second with one cable more.
    let tree = fabric_with(4, &[(0, 2), (1, 2), (0, 3), (1, 3), (1, 3)], &[0, 1]);
    assert_eq!(choose_root(&tree), Some(switch(&tree, 3)));
    // A switch apart, nearest to what it reaches, reaches too little.
    let split = fabric_with(4, &[(0, 1), (1, 2)], &[0, 2, 3]);
    assert_eq!(choose_root(&split), Some(switch(&split, 1)));
    assert_eq!(choose_root(&FabricBuilder::new().build().unwrap()), None);
}

#[test]
fn lids_are_aligned_and_apart() {
    let bare = ring(4);
    for lmc in (0..=7).map(Lmc::masked) {
        let fabric = lid::assign(&bare, lmc).unwrap();
        for port in fabric.lid_ports() {
            let own = fabric.port(port);
            let lid = own.lid.unwrap();
            if fabric.node(own.node).is_switch() {
                assert_eq!((own.lmc.get(), fabric.half_of(lid)), (0, None));
                continue;
            }
            assert!(own.lmc >= lmc && lid.0.is_multiple_of(own.lmc.lids()));
            let halves = [Half::Lower, Half::Upper].map(|half| fabric.half_lids(port, half).collect::<Vec<Lid>>());
            let all: Vec<u16> = halves.iter().flatten().map(|lid| lid.0).collect();
            assert_eq!(all, (lid.0..lid.0 + own.lmc.lids()).collect::<Vec<u16>>());
            assert!(own.lmc.get() == 0 || halves[0].len() == halves[1].len());
            assert!(halves[1].iter().all(|&lid| fabric.half_of(lid) == Some(Half::Upper)));
        }
    }
    // What suffices is kept.
    assert_eq!(lid::assign(&bare, Lmc::masked(1)), Ok(bare.clone()));
    assert_eq!(lid::assign(&bare, Lmc::masked(0)), Ok(bare));
}

#[test]
fn lids_that_do_not_suffice_are_counted() {
    let hosts: Vec<usize> = (0..400).map(|host| host / 36).collect();
    let links: Vec<_> = (1..12).map(|i| (i - 1, i)).collect();
    let fabric = fabric_with(12, &links, &hosts);
    let Err(refused) = lid::assign(&fabric, Lmc::masked(7)) else { panic!("400 × 128 LIDs") };
    let expected =
        LidError::Exhausted { lmc: Lmc::masked(7), needed: 51_212, top: 51_327, end_ports: 400, switches: 12 };
    assert_eq!(refused, expected);
    assert!(lid::assign(&fabric, Lmc::masked(6)).is_ok());
}

#[test]
fn a_short_forwarding_table_is_named() {
    let mut builder = FabricBuilder::new();
    let sw = builder.node(NodeKind::Switch, Guid(1), 4, "small");
    let host = builder.node(NodeKind::Ca, Guid(2), 1, "host");
    builder.node_mut(sw).lft_capacity = 3;
    builder.link((sw, PortNum(1)), (host, PortNum(1)), Default::default(), Default::default()).unwrap();
    let fabric = builder.build().unwrap();
    let Err(refused) = lid::assign(&fabric, Lmc::masked(1)) else { panic!("LIDs 2 and 3") };
    assert!(refused.to_string().contains("switch small holds 3 forwarding entries, LID 0 to 2"), "{refused}");
    assert!(lid::assign(&fabric, Lmc::masked(0)).is_ok());
}
