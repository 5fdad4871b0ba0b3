//! Engines by destination, on random fabrics and those bundled, against an oracle that follows every way hop by hop and
//! looks for cycles layer by layer.

mod fabrics;
mod oracle;

use fabrics::{bundled, demand, fat_trees, made, random};
use oracle::{Found, examine};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::routing::{Demand, Dfsssp, Engine, FatTree, Lash, MinHop, Nue, RouteError};
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
    assert!(why.contains("are joined, both 0 links above the leaves"), "{why}");
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
