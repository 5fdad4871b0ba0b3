//! The time and the allocations of the parts of a change: reading a fabric, routing it, proving a plan of scheme
//! `double` wave by wave, and a warm simulation, which allocates nothing (its line counts hops as items).

use divan::counter::{BytesCount, ItemsCount};
use divan::{AllocProfiler, Bencher, Divan, black_box};
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, read, write};
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::{Half, Lmc};
use reconfig::plan::Plan;
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::scenario::{self, Departure, Scenario};
use reconfig::sim::{Sim, SimConfig};
use reconfig_measuring::bench::quick::quick;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

/// Switches of half as many ports up as there are levels down; a quick run omits the second.
const FABRICS: [&str; 2] = ["fat-tree:4,3", "fat-tree:8,3"];

fn main() {
    let samples = if quick() { 3 } else { 20 };
    Divan::default().sample_count(samples).config_with_args().main();
}

fn fabrics() -> impl Iterator<Item = &'static str> {
    FABRICS.into_iter().take(if quick() { 1 } else { FABRICS.len() })
}

fn made(topology: &str) -> Fabric {
    let topology = topology.parse().expect("the topologies here are well formed");
    generate(&topology, &Options::default()).expect("and can be built")
}

#[divan::bench(args = fabrics())]
fn read_ibnetdiscover(bencher: Bencher<'_, '_>, topology: &str) {
    let text = write(&made(topology), Format::Ibnetdiscover).expect("any fabric can be written so");
    let size = BytesCount::of_str(&text);
    bencher.counter(size).bench_local(|| read(black_box(text.as_bytes()), "generated"));
}

#[divan::bench(args = fabrics())]
fn route_up_down(bencher: Bencher<'_, '_>, topology: &str) {
    let fabric = reconfig::lid::assign(&made(topology), Lmc::masked(1)).expect("LIDs suffice");
    bencher.bench_local(|| UpDown::default().route(&fabric, &Demand::all(&fabric, 1)));
}

#[divan::bench(args = fabrics())]
fn prove_double(bencher: Bencher<'_, '_>, topology: &str) {
    let plan = removal_of_the_root(topology);
    bencher.with_inputs(|| plan.clone()).bench_local_values(reconfig::verify::prove);
}

fn removal_of_the_root(topology: &str) -> Plan {
    let scenario = Scenario { departure: Departure::Planned, ..Scenario::remove_root(made(topology)) };
    let vetted = scenario::plan(&scenario, Arc::new(UpDown::default())).expect("a fat tree survives its root");
    vetted.plan().clone()
}

/// Twenty microseconds of traffic, over and over.
#[divan::bench]
fn simulate_warm(bencher: Bencher<'_, '_>) {
    let mut sim = under_traffic();
    sim.run(300_000, false);
    let before = sim.packet_hops();
    sim.run(320_000, false);
    let hops = ItemsCount::new(sim.packet_hops() - before);
    bencher.counter(hops).bench_local(|| sim.run(sim.now_ns() + 20_000, false));
}

fn under_traffic() -> Sim {
    let fabric = reconfig::lid::assign(&made("fat-tree:4,3"), Lmc::masked(1)).expect("LIDs suffice");
    let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("a fat tree is connected");
    let tables = reconfig::lid::bring_up(&fabric, &function, 4);
    let manager = fabric.end_ports().next().expect("a fat tree has hosts");
    let config = SimConfig { load: 0.02, ..SimConfig::default() };
    let mut sim = Sim::new(&fabric, config, manager).expect("the settings are within their ranges");
    for (switch, block, entries) in tables.lft_blocks(&fabric) {
        sim.load_lft_block(switch, block, &entries);
    }
    sim.load_half(Half::Lower);
    sim.start();
    sim
}
