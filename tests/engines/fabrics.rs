//! The fabrics that engines are tried on: two hundred random ones, and those bundled.

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::fabric::generate::{BUNDLED, Options, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::routing::Demand;

pub fn made(topology: &str, seed: u64) -> Fabric {
    let parsed = topology.parse().unwrap_or_else(|error| panic!("{topology}: {error}"));
    generate(&parsed, &Options { seed, ..Options::default() }).unwrap_or_else(|error| panic!("{topology}: {error}"))
}

/// Every bundled fabric by name.
pub fn bundled() -> Vec<(String, Fabric)> {
    BUNDLED.iter().map(|bundled| (bundled.name.to_string(), bundled.generate().expect("it is bundled"))).collect()
}

/// Random fabrics: irregular, regular, Waxman's, tori.
pub fn random() -> Vec<(String, Fabric)> {
    let topologies = (0..50u64).flat_map(|seed| {
        let n = 4 + seed % 20;
        [
            format!("irregular:{n},12,{},{}", 2 * n, 2 * n - 3),
            format!("random-regular:{},{},2", 2 * (n / 2) + 6, 3 + seed % 4),
            format!("waxman:{n},0.6,0.4,1"),
        ]
        .map(|topology| (topology, seed))
    });
    let tori = (0..10u64).map(|seed| (format!("torus:{}x{},2", 3 + seed % 3, 2 + seed / 2), seed));
    topologies.chain(tori).map(|(topology, seed)| (format!("{topology} seed {seed}"), made(&topology, seed))).collect()
}

/// Fat trees in which some cables between switches were pulled, and none.
pub fn fat_trees(faults: usize) -> Vec<(String, Fabric)> {
    let topologies =
        ["fat-tree:2,4", "fat-tree:4,3", "leaf-spine:6,4,5,2", "three-level:4,3,3,2,4", "three-level:3,4,2,2,3,2"];
    let seeds = topologies.into_iter().zip(0u64..).flat_map(|(topology, n)| (0..8).map(move |k| (topology, 8 * n + k)));
    seeds
        .map(|(topology, seed)| {
            let fabric = made(topology, seed);
            let mut rng = Pcg64::seed_from_u64(seed);
            let between = |(port, _): &(PortId, PortId)| {
                let ends = [Some(fabric.port(*port).node), fabric.neighbour(*port)];
                ends.into_iter().flatten().all(|node| fabric.node(node).is_switch())
            };
            let cables: Vec<PortId> = fabric.links().filter(between).map(|(port, _)| port).collect();
            let count = if faults == 0 { 0 } else { rng.random_range(1..=faults) };
            let pulled: Vec<PortId> = cables.sample(&mut rng, count).copied().collect();
            (format!("{topology} less {count} cables, seed {seed}"), fabric.without_links(&pulled))
        })
        .collect()
}

/// Everything that links join with the first host.
pub fn demand(fabric: &Fabric, paths: usize) -> Demand {
    let sm = fabric.end_ports().next().expect("a fabric has hosts");
    Demand::joined_with(fabric, sm, paths)
}
