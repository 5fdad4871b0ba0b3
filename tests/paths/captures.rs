//! Captures of real fabrics: parallel links by the dozen, adapters with several ports, routers, parts cut off.

use crate::oracle::*;
use reconfig::fabric::format::read;
use reconfig::fabric::{Fabric, PortId};
use reconfig::routing::{Connectivity, Demand, EngineKind, Parameters, engine_named};
use std::path::{Path, PathBuf};

/// Ports that are joined in the test, spread over the fabric: every pair of them has a path from each engine.
const SAMPLE: usize = 60;

/// The same for smart routing: among so many parallel links its program takes long without optimisation.
const SMALL_SAMPLE: usize = 12;

/// The captures of topologies, in the order of names; none, visibly, where they are not at hand.
fn captures() -> Vec<(String, Fabric)> {
    let given = std::env::var_os("RECONFIG_CORPUS").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fabrics"));
    if !folder.is_dir() {
        println!("SKIPPED: no captures in {} (set RECONFIG_CORPUS)", folder.display());
        return Vec::new();
    }
    let mut fabrics = Vec::new();
    for sub in ["ibsim", "odd", "opensm", "real"] {
        for entry in std::fs::read_dir(folder.join(sub)).expect("the captures' folders") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|end| end != "fdbs") {
                let name = format!("{sub}/{}", path.file_name().expect("a name").display());
                let bytes = std::fs::read(&path).expect("a readable capture");
                let fabric = read(&bytes, &name).unwrap_or_else(|error| panic!("{}", error.render(false)));
                fabrics.push((name, fabric));
            }
        }
    }
    fabrics.sort_by(|a, b| a.0.cmp(&b.0));
    fabrics
}

/// Some of the ports that the switches join with the first adapter on a switch.
fn sample(fabric: &Fabric, size: usize) -> Option<Demand> {
    let on_switch = |port: &PortId| fabric.neighbour(*port).is_some_and(|node| fabric.node(node).is_switch());
    let first = fabric.end_ports().find(on_switch)?;
    let links = Connectivity::of(fabric);
    let joined: Vec<PortId> = fabric.lid_ports().filter(|&port| links.joins(port, first)).collect();
    let every = joined.len().div_ceil(size);
    Some(Demand { destinations: joined.into_iter().step_by(every).collect(), ..Demand::all(fabric, 1) })
}

#[test]
fn every_pair_of_a_sample_is_joined_legally_in_every_capture() {
    for (name, fabric) in captures() {
        for engine in BY_PATH {
            let size = if *engine == "smart" { SMALL_SAMPLE } else { SAMPLE };
            let Some(demand) = sample(&fabric, size) else { continue };
            let paths =
                path_engine(engine, None, 1).paths(&fabric, &demand).unwrap_or_else(|error| panic!("{name}: {error}"));
            let ends = demand.destinations.len();
            assert_eq!(paths.len(), ends * (ends - 1), "{name}, {engine}");
            let Some(root) = paths.root() else { continue };
            let key = key_of(engine, &fabric, root);
            for path in paths.iter() {
                check_course(&fabric, &path);
                assert!(is_legal(&key, &nodes_of(&path)), "{name}, {engine}: {:?}", path.hops);
            }
            assert!(!has_cycle(&fabric, &paths), "{name}, {engine}");
        }
        let Some(demand) = sample(&fabric, SAMPLE) else { continue };
        let explicit = match engine_named("fully-explicit", &Parameters::default()).unwrap() {
            EngineKind::ByDestination(engine) => engine.route(&fabric, &demand).unwrap(),
            EngineKind::ByPath(_) => panic!("fully explicit routes by destination"),
        };
        assert_eq!(explicit.destinations(), demand.destinations, "{name}");
    }
}
