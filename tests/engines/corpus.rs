//! Captures of real fabrics.

use super::fabrics::demand;
use super::oracle::examine;
use reconfig::fabric::{Fabric, format};
use reconfig::routing::{Demand, Dfsssp, Engine, FatTree, Lash, MinHop, Nue, RouteError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The captures, where they are at hand; prints a line otherwise.
fn captures() -> Vec<(String, Fabric)> {
    let given = std::env::var_os("RECONFIG_CORPUS").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fabrics"));
    if !folder.is_dir() {
        println!("SKIPPED: no captures in {} (set RECONFIG_CORPUS)", folder.display());
        return Vec::new();
    }
    let files = ["real", "odd", "opensm", "ibsim"].into_iter().flat_map(|kind| {
        let entries = std::fs::read_dir(folder.join(kind)).expect("a folder of captures");
        entries.map(|entry| entry.expect("an entry").path()).filter(|file| !file.to_string_lossy().ends_with(".fdbs"))
    });
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    let read = |file: PathBuf| {
        let fabric = format::read(&std::fs::read(&file).expect("a capture"), "capture").ok()?;
        let switches =
            fabric.end_ports().any(|port| fabric.neighbour(port).is_some_and(|at| fabric.node(at).is_switch()));
        switches.then(|| (file.display().to_string(), fabric))
    };
    files.into_iter().filter_map(read).collect()
}

/// On large fabrics four end ports of a switch stand for all: the links are the same, and the oracle has less to follow.
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

#[test]
fn captures_are_routed() {
    let engines: [&dyn Engine; 5] = [&MinHop, &Dfsssp, &Nue, &Lash, &FatTree];
    for (name, fabric) in captures() {
        let demand = trimmed(&fabric, demand(&fabric, 1));
        for engine in engines {
            match engine.route(&fabric, &demand) {
                Ok(function) => {
                    let safe = examine(&fabric, &demand, &function).is_free_of_deadlock();
                    assert!(safe || engine.name() == "min-hop", "{name} by {}", engine.name());
                    println!("{name}: {} on {} layers, safe: {safe}", engine.name(), function.layers());
                }
                Err(RouteError::Unsuited { engine: "fat-tree", why }) => println!("{name}: {why}"),
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}
