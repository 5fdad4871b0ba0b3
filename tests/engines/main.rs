//! Engines by destination, on random fabrics and those bundled, against an oracle that follows every way hop by hop and
//! looks for cycles layer by layer.

mod fabrics;
mod oracle;

use fabrics::{bundled, demand, fat_trees, made, random};
use oracle::{Found, examine};
use reconfig::fabric::Fabric;
use reconfig::routing::{Demand, Dfsssp, Engine, Lash, MinHop, Nue, RouteError};

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
