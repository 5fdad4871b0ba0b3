//! What an order of switches that outlives its root costs while nothing is lost.

use super::engine;
use comfy_table::{Table, presets};
use reconfig::fabric::generate::{Options, generate};
use reconfig::lid::bring_up;
use reconfig::repair::{Budget, Quality, RepairInput, quality};
use reconfig::routing::Demand;
use reconfig::verify::InjectionRules;
use std::error::Error;

const TOPOLOGIES: [&str; 9] = [
    "torus:4x4,1",
    "torus:8x8,1",
    "torus:4x4x4,1",
    "mesh:4x4,1",
    "hypercube:4,1",
    "dragonfly:2,4,2",
    "random-regular:16,4,2",
    "random-regular:64,8,4",
    "random-regular:256,16,2",
];

/// Fabrics of a random family, by seed.
const SEEDS: u64 = 8;

/// Compares the two orders on every fabric.
pub fn run() -> Result<(), Box<dyn Error>> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["fabric", "hops, up-down", "up-down-robust", "load, up-down", "up-down-robust"]);
    for topology in TOPOLOGIES {
        let seeds = if topology.starts_with("random") { SEEDS } else { 1 };
        let mut sums = [[0.0; 2]; 2];
        for seed in 0..seeds {
            for (at, name) in ["up-down", "up-down-robust"].into_iter().enumerate() {
                let Quality { hops, load, .. } = measure(topology, name, seed)?;
                sums[0][at] += hops / seeds as f64;
                sums[1][at] += load as f64 / seeds as f64;
            }
        }
        let [hops, load] = sums;
        let figures = [(hops[0], 3), (hops[1], 3), (load[0], 1), (load[1], 1)];
        let figures = figures.map(|(mean, digits)| format!("{mean:.digits$}"));
        table.add_row([topology.to_string()].into_iter().chain(figures));
    }
    println!("{table}");
    Ok(())
}

fn measure(topology: &str, name: &str, seed: u64) -> Result<Quality, Box<dyn Error>> {
    let fabric = generate(&topology.parse()?, &Options { seed, ..Options::default() })?;
    let function = engine(name, None)?.route(&fabric, &Demand::all(&fabric, 1).within(1))?;
    let tables = bring_up(&fabric, &function, 1);
    let senders = InjectionRules { injected: [true, false], ..InjectionRules::default() };
    let input = RepairInput {
        before: &fabric,
        surviving: &fabric,
        remaining: &fabric,
        tables: &tables,
        target: None,
        senders: &senders,
        answerer: None,
        switches: true,
        order: None,
        discards_turned_back: true,
        budget: Budget::default(),
    };
    Ok(quality(&input, &tables.lfts)?)
}
