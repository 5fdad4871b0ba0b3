//! Captures of real fabrics, by an oracle that follows every way hop by hop.

use super::every::is_tried;
use super::fabrics::demand;
use super::oracle::examine;
use crate::support::captures::captures;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use reconfig::fabric::format::Format;
use reconfig::fabric::{Fabric, format};
use reconfig::routing::{Demand, Dfsssp, Engine, FatTree, Lash, MinHop, Nue, RouteError};
use std::collections::BTreeMap;

/// The captures that have an end port at a switch.
fn fabrics() -> Vec<(String, Fabric)> {
    let read = |(name, bytes): (String, Vec<u8>)| {
        let fabric = format::read(&bytes, &name).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let is_switch = |at| fabric.node(at).is_switch();
        let switched = fabric.end_ports().any(|port| fabric.neighbour(port).is_some_and(is_switch));
        switched.then_some((name, fabric))
    };
    captures().into_iter().filter_map(read).collect()
}

/// On large fabrics four end ports of a switch stand for all: the links are the same, and the oracle has less to
/// follow.
fn trimmed(fabric: &Fabric, mut demand: Demand) -> Demand {
    if demand.destinations.len() > 2000 {
        let mut borne: BTreeMap<_, usize> = BTreeMap::new();
        demand.destinations.retain(|&port| {
            let Some(switch) = fabric.neighbour(port) else { return true };
            let count = borne.entry(switch).or_default();
            *count += 1;
            *count <= 4
        });
    }
    demand
}

/// Engines by destination whose ways are followed on captures.
pub const FOLLOWED: [&str; 5] = ["min-hop", "dfsssp", "nue", "lash", "fat-tree"];

/// Routes a capture with as many layers as the engine likes, and follows every way.
pub fn follow(name: &str, fabric: &Fabric, engine: &dyn Engine) {
    let demand = trimmed(fabric, demand(fabric, 1));
    match engine.route(fabric, &demand) {
        Ok(function) => {
            let safe = examine(fabric, &demand, &function).is_free_of_deadlock();
            assert!(safe || engine.name() == "min-hop", "{name} by {}", engine.name());
            println!("{name}: {} on {} layers, safe: {safe}", engine.name(), function.layers());
        }
        Err(RouteError::Unsuited { engine: "fat-tree", why }) => println!("{name}: {why}"),
        Err(error) => panic!("{name}: {error}"),
    }
}

/// The same fabric with its nodes in another order.
fn reordered(fabric: &Fabric, seed: u64) -> Fabric {
    let text = format::write(fabric, Format::Ibnetdiscover).expect("it can be written");
    let (mut nodes, rest): (Vec<&str>, Vec<&str>) = text
        .split("\n\n")
        .partition(|part| part.lines().any(|line| line.starts_with("Switch") || line.starts_with("Ca")));
    nodes.shuffle(&mut Pcg64::seed_from_u64(seed));
    let text = [rest, nodes].concat().join("\n\n") + "\n";
    format::read(text.as_bytes(), "reordered").unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// A capture lists what its SM's host finds first; the same fabric is a fat tree from wherever it is seen.
#[test]
fn what_is_a_fat_tree_is_one_in_every_order_of_its_nodes() {
    for (name, fabric) in fabrics() {
        let orders = match fabric.switches().count() {
            0..100 => 2,
            100..300 => 6,
            _ => 1,
        };
        let is_routed = |fabric: &Fabric| FatTree.route(fabric, &trimmed(fabric, demand(fabric, 1))).is_ok();
        let as_captured = is_routed(&fabric);
        for seed in 0..orders {
            assert_eq!(is_routed(&reordered(&fabric, seed)), as_captured, "{name}, order {seed}");
        }
    }
}

/// The captures that are one subnet are routed, and followed, where every engine is proved on them.
#[test]
fn captures_of_several_parts_are_routed() {
    let engines: [&dyn Engine; 5] = [&MinHop, &Dfsssp, &Nue, &Lash, &FatTree];
    assert_eq!(engines.map(|engine| engine.name()), FOLLOWED);
    for (name, fabric) in fabrics().iter().filter(|(_, fabric)| !is_tried(fabric)) {
        engines.iter().for_each(|engine| follow(name, fabric, *engine));
    }
}
