//! Engines by destination, on random fabrics and those bundled, against an oracle that follows every way hop by hop and
//! looks for cycles layer by layer.

mod even;
mod every;
mod fabrics;
mod oracle;
mod proof;
mod real;
mod several;
mod trees;

use fabrics::{bundled, demand, fat_trees, made, random};
use oracle::{Found, examine};
use reconfig::fabric::{Fabric, FabricBuilder, Node, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, PortNum};
use reconfig::routing::{
    Demand, Dfsssp, ENGINES, Engine, EngineKind, FatTree, Lash, MinHop, Nue, Parameters, RouteError,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// All fabrics: two hundred random ones, fat trees with faults among them, and those bundled.
fn all() -> Vec<(String, Fabric)> {
    random().into_iter().chain(fat_trees(3)).chain(bundled()).collect()
}

/// What an engine makes of a fabric, with as many layers as it likes.
fn tried(engine: &dyn Engine, name: &str, fabric: &Fabric, demand: &Demand) -> Found {
    let function = engine.route(fabric, demand).unwrap_or_else(|error| panic!("{name}: {error}"));
    examine(fabric, demand, &function)
}

#[test]
fn min_hop_is_minimal_and_deadlocks_on_rings() {
    let mut cyclic = 0;
    for (name, fabric) in all() {
        let found = tried(&MinHop, &name, &fabric, &demand(&fabric, 1));
        assert_eq!(found.detours, 0, "{name}");
        cyclic += usize::from(!found.is_free_of_deadlock());
    }
    assert!(cyclic > 100, "{cyclic}");
    let ring = made("ring:8,2", 0);
    assert!(!tried(&MinHop, "ring", &ring, &demand(&ring, 1)).is_free_of_deadlock());
}

#[test]
fn dfsssp_is_minimal_and_free_of_deadlock() {
    minimal_and_safe(&Dfsssp);
}

#[test]
fn lash_is_minimal_and_free_of_deadlock() {
    minimal_and_safe(&Lash);
}

#[test]
fn nue_is_free_of_deadlock_with_any_number_of_layers() {
    for (name, fabric) in all() {
        for (layers, paths) in [(1, 1), (2, 2), (4, 1)] {
            let demand = demand(&fabric, paths).within(layers);
            let function = Nue.route(&fabric, &demand).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(function.layers() <= layers, "{name}: {}", function.layers());
            let found = examine(&fabric, &demand, &function);
            assert!(found.is_free_of_deadlock(), "{name}: {:?}", found.cyclic);
        }
    }
}

#[test]
fn nue_takes_fewer_detours_with_more_layers() {
    let torus = made("torus:6x6,2", 0);
    let detours = [1, 2, 4].map(|layers| {
        let demand = demand(&torus, 1).within(layers);
        tried(&Nue, "torus", &torus, &demand).detours
    });
    println!("{detours:?}");
    assert!(detours[0] > detours[1] && detours[1] > detours[2], "{detours:?}");
}

fn minimal_and_safe(engine: &dyn Engine) {
    for (name, fabric) in all() {
        for paths in [1, 3] {
            let found = tried(engine, &name, &fabric, &demand(&fabric, paths));
            assert!(found.is_free_of_deadlock(), "{name}: {:?}", found.cyclic);
            assert_eq!(found.detours, 0, "{name}");
        }
    }
}

#[test]
fn fat_trees_need_one_layer() {
    for (name, fabric) in fat_trees(0) {
        for engine in [&Dfsssp as &dyn Engine, &Lash] {
            let function = engine.route(&fabric, &demand(&fabric, 2)).expect("it is connected");
            assert_eq!(function.layers(), 1, "{name} by {}", engine.name());
        }
    }
}

#[test]
fn fat_trees_are_routed_up_and_down_wherever_that_is_possible() {
    for (name, fabric) in fat_trees(0) {
        let function = FatTree.route(&fabric, &demand(&fabric, 2)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = examine(&fabric, &demand(&fabric, 2), &function);
        assert!(found.is_free_of_deadlock() && found.detours == 0, "{name}");
    }
    let mut refused = 0;
    for (name, fabric) in fat_trees(3) {
        let demand = demand(&fabric, 3);
        match FatTree.route(&fabric, &demand) {
            Ok(function) => {
                assert!(leaves_share_ancestors(&fabric), "{name}");
                assert_eq!(function.layers(), 1, "{name}");
                assert!(examine(&fabric, &demand, &function).is_free_of_deadlock(), "{name}");
            }
            Err(error) => {
                assert!(!leaves_share_ancestors(&fabric), "{name}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused < 10, "{refused}");
}

/// Whether any two switches with hosts have a switch above both.
fn leaves_share_ancestors(fabric: &Fabric) -> bool {
    let neighbours = |node: NodeId| fabric.ports_of(node).filter_map(|port| fabric.neighbour(port));
    let is_leaf = |&node: &NodeId| neighbours(node).any(|other| !fabric.node(other).is_switch());
    let leaves: Vec<NodeId> = fabric.switches().filter(is_leaf).collect();
    let mut level: BTreeMap<NodeId, usize> = leaves.iter().map(|&leaf| (leaf, 0)).collect();
    let mut queue: VecDeque<NodeId> = leaves.iter().copied().collect();
    while let Some(node) = queue.pop_front() {
        for other in neighbours(node).filter(|&other| fabric.node(other).is_switch()) {
            if !level.contains_key(&other) {
                level.insert(other, level[&node] + 1);
                queue.push_back(other);
            }
        }
    }
    let above = |leaf: &NodeId| {
        let mut above = BTreeSet::from([*leaf]);
        let mut queue = VecDeque::from([*leaf]);
        while let Some(node) = queue.pop_front() {
            let up = neighbours(node).filter(|other| level.get(other) > level.get(&node));
            queue.extend(up.filter(|&other| above.insert(other)));
        }
        above
    };
    let above: Vec<BTreeSet<NodeId>> = leaves.iter().map(above).collect();
    above.iter().enumerate().all(|(n, a)| above[..n].iter().all(|b| !a.is_disjoint(b)))
}

#[test]
fn what_is_no_fat_tree_is_refused_and_where() {
    let torus = made("torus:3x3,2", 0);
    let error = FatTree.route(&torus, &demand(&torus, 1)).expect_err("all switches bear hosts");
    let RouteError::Unsuited { engine: "fat-tree", why } = error else { panic!("{error}") };
    assert!(why.contains("are connected, both 0 links above the leaves"), "{why}");
}

#[test]
fn too_few_layers_are_an_error() {
    let torus = made("torus:5x5,2", 0);
    for engine in [&Dfsssp as &dyn Engine, &Lash] {
        let needed = engine.route(&torus, &demand(&torus, 1)).expect("8 suffice").layers();
        assert!(needed > 1);
        let error = engine.route(&torus, &demand(&torus, 1).within(needed - 1)).expect_err("one less does not");
        let (needed, offered) = (usize::from(needed), needed - 1);
        assert_eq!(error, RouteError::TooFewLayers { engine: engine.name(), needed, offered });
    }
}

/// The engines by destination that are registered.
fn registered() -> Vec<Box<dyn Engine>> {
    let made = ENGINES.iter().map(|entry| entry.make(&Parameters::default()));
    made.filter_map(|kind| match kind {
        EngineKind::ByDestination(engine) => Some(engine),
        EngineKind::ByPath(_) => None,
    })
    .collect()
}

#[test]
fn what_left_is_left_out() {
    let before = made("three-level:4,3,3,2,4", 0);
    let mut switches = before.switches();
    let (leaf, spine) = (switches.next().expect("leaves come first"), switches.last().expect("roots come last"));
    let after = before.without_nodes(&[leaf, spine]);
    let demand = demand(&after, 2);
    for engine in registered() {
        let function = engine.route(&after, &demand).unwrap_or_else(|error| panic!("{}: {error}", engine.name()));
        examine(&after, &demand, &function);
        for destination in 0..function.destinations().len() {
            assert_eq!(function.output(leaf, destination, 0), None, "{}", engine.name());
        }
    }
}

#[test]
fn the_same_fabric_gives_the_same_function() {
    for fabric in [made("random-regular:24,4,3", 5), made("fat-tree:4,2", 0)] {
        for engine in registered() {
            let once = engine.route(&fabric, &demand(&fabric, 2));
            assert_eq!(once, engine.route(&fabric, &demand(&fabric, 2)), "{}", engine.name());
        }
    }
}

#[test]
fn only_what_is_demanded_is_led_to() {
    let fabric = made("fat-tree:4,2", 0);
    let ends: Vec<_> = fabric.end_ports().take(3).collect();
    for engine in registered() {
        let demand = Demand { destinations: ends.clone(), paths: 1, layers: 1 };
        let function = engine.route(&fabric, &demand).unwrap_or_else(|error| panic!("{}: {error}", engine.name()));
        assert_eq!(function.destinations(), ends);
        examine(&fabric, &demand, &function);
    }
}

#[test]
fn demands_that_cannot_be_met_are_errors() {
    let fabric = made("fat-tree:4,2", 0);
    let apart = fabric.without_links(&[fabric.end_ports().next().expect("hosts")]);
    for engine in registered() {
        let lost = Demand::all(&fabric, 1);
        let error = engine.route(&apart, &lost).expect_err("a host has no cable");
        assert!(matches!(error, RouteError::Unreachable { .. }), "{error}");
        let error = engine.route(&fabric, &Demand::all(&fabric, 0)).expect_err("no paths");
        assert!(matches!(error, RouteError::Paths { paths: 0, .. }), "{error}");
    }
}

#[test]
fn several_paths_part_where_the_links_allow_it() {
    let fabric = made("leaf-spine:4,4,4", 0);
    let demand = demand(&fabric, 4);
    let leaves: Vec<NodeId> = fabric.switches().take(4).collect();
    for engine in [&MinHop as &dyn Engine, &Dfsssp, &Nue, &Lash, &FatTree] {
        let function = engine.route(&fabric, &demand).expect("it is connected");
        for (destination, &port) in
            function.destinations().iter().enumerate().filter(|(_, port)| !is_switch(&fabric, port))
        {
            let far = leaves.iter().filter(|&&leaf| fabric.neighbour(port) != Some(leaf));
            for &leaf in far {
                let outputs: BTreeSet<_> = (0..4).filter_map(|path| function.output(leaf, destination, path)).collect();
                assert_eq!(outputs.len(), 4, "{}", engine.name());
            }
        }
    }
}

fn is_switch(fabric: &Fabric, port: &PortId) -> bool {
    fabric.node(fabric.port(*port).node).is_switch()
}

#[test]
fn a_host_on_a_root_does_not_spoil_a_fat_tree() {
    for topology in ["leaf-spine:4,3,4", "fat-tree:3,3"] {
        let fabric = with_a_host_on_the_last_switch(&made(topology, 0));
        let demand = demand(&fabric, 1);
        let function = FatTree.route(&fabric, &demand).unwrap_or_else(|error| panic!("{topology}: {error}"));
        assert!(examine(&fabric, &demand, &function).is_free_of_deadlock(), "{topology}");
    }
}

/// The last switch of a fat tree is a root.
fn with_a_host_on_the_last_switch(plain: &Fabric) -> Fabric {
    let mut builder = FabricBuilder::new();
    let add = |(_, node): (NodeId, &Node)| builder.node(node.kind, node.guid, node.num_ports, node.description.clone());
    let nodes: Vec<NodeId> = plain.nodes().map(add).collect();
    let place = |port: PortId| (nodes[plain.port(port).node.index()], plain.port(port).num);
    for (a, b) in plain.links() {
        builder.link(place(a), place(b), Default::default(), Default::default()).expect("as before");
    }
    let root = plain.switches().last().expect("it has switches");
    let free =
        plain.ports_of(root).skip(1).find(|&port| plain.peer(port).is_none()).expect("switches have eight ports");
    let host = builder.node(NodeKind::Ca, Guid(0xfff0), 1, "manager");
    builder.link(place(free), (host, PortNum(1)), Default::default(), Default::default()).expect("it is free");
    builder.build().expect("a fabric")
}
