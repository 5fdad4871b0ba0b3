//! Captures of real fabrics: parallel links by the dozen, adapters with several ports, routers, parts cut off.

use crate::paths::oracle::*;
use crate::support::captures::captures;
use reconfig::fabric::format::read;
use reconfig::fabric::{Fabric, PortId};
use reconfig::routing::{Connectivity, Demand, EngineKind, Parameters, engine_named};

/// Ports that are joined in the test, spread over the fabric: every pair of them has a path from each engine.
const SAMPLE: usize = 40;

/// The same for smart routing: among so many parallel links its program takes long without optimisation.
const SMALL_SAMPLE: usize = 12;

fn fabrics() -> Vec<(String, Fabric)> {
    let read = |(name, bytes): (String, Vec<u8>)| {
        let fabric = read(&bytes, &name).unwrap_or_else(|error| panic!("{}", error.render(false)));
        (name, fabric)
    };
    captures().into_iter().map(read).collect()
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
    for (name, fabric) in fabrics() {
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
