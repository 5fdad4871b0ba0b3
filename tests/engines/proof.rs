//! Engines that need one layer, proved by the project's own prover on tables as they are brought up.

use super::fabrics::{bundled, demand, fat_trees, random};
use reconfig::fabric::Fabric;
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::routing::{Engine, FatTree, MinHop, Nue};
use reconfig::verify::{Scope, prove_tables};

fn is_proved(engine: &dyn Engine, name: &str, fabric: &Fabric) -> bool {
    let fabric = lid::assign(fabric, Lmc::masked(1)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let function = engine.route(&fabric, &demand(&fabric, 1).within(1));
    let function = function.unwrap_or_else(|error| panic!("{name}: {error}"));
    let tables = lid::bring_up(&fabric, &function, 1);
    prove_tables(&fabric, &tables, &Scope::of(&[Half::Lower])).is_ok()
}

#[test]
fn nue_with_one_layer_is_proved() {
    for (name, fabric) in random().into_iter().step_by(3).chain(bundled()) {
        assert!(is_proved(&Nue, &name, &fabric), "{name}");
    }
}

#[test]
fn fat_trees_are_proved() {
    for (name, fabric) in fat_trees(1) {
        assert!(is_proved(&FatTree, &name, &fabric), "{name}");
    }
}

#[test]
fn min_hop_is_refused_on_a_ring() {
    let ring = super::made("ring:8,2", 0);
    assert!(!is_proved(&MinHop, "ring", &ring));
}
