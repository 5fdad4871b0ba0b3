//! The time and the allocations of engines by destination, on a random regular graph and a fat tree. The comparison
//! with OpenSM's engines is `cargo run --release -p reconfig-measuring --bin engine_speed`.

use divan::{AllocProfiler, Bencher, Divan};
use reconfig::fabric::generate::{Options, generate};
use reconfig::routing::{Demand, ENGINES, EngineKind, Parameters, engine_named};
use reconfig_measuring::bench::quick::quick;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    let samples = if quick() { 3 } else { 20 };
    Divan::default().sample_count(samples).config_with_args().main();
}

/// The engines by destination that route any fabric.
fn engines() -> impl Iterator<Item = &'static str> {
    let by_destination = ENGINES.iter().filter(|entry| {
        matches!(entry.make(&Parameters::default()), EngineKind::ByDestination(_)) && entry.name != "fat-tree"
    });
    by_destination.map(|entry| entry.name)
}

#[divan::bench(args = engines())]
fn random_regular(bencher: Bencher<'_, '_>, engine: &str) {
    route(bencher, engine, if quick() { "random-regular:32,6,4" } else { "random-regular:128,8,8" });
}

#[divan::bench(args = engines().chain(["fat-tree"]))]
fn fat_tree(bencher: Bencher<'_, '_>, engine: &str) {
    route(bencher, engine, if quick() { "fat-tree:4,3" } else { "fat-tree:8,3" });
}

fn route(bencher: Bencher<'_, '_>, engine: &str, topology: &str) {
    let topology = topology.parse().expect("the topologies here are well formed");
    let fabric = generate(&topology, &Options::default()).expect("and can be built");
    let demand = Demand::all(&fabric, 1);
    let Ok(EngineKind::ByDestination(engine)) = engine_named(engine, &Parameters::default()) else {
        panic!("{engine} is registered as an engine by destination")
    };
    bencher.bench_local(|| engine.route(&fabric, &demand).expect("eight layers suffice"));
}
