//! From a loss to a plan that may be run: processor seconds of each scheme, full re-route, repair, proof and judges
//! included. This is what passes between the moment a subnet manager knows what has died and its first write. Arguments
//! name fabrics, to measure no others.

use reconfig::change::{ChangeInput, engine_named, prepare, prepare_cheapest};
use reconfig::fabric::Fabric;
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{Demand, Parameters};
use reconfig_measuring::bench::clock::Stopwatch;
use reconfig_measuring::bench::quick::quick;
use std::sync::Arc;

/// Fabric, engine; the first is for a quick run.
const CASES: [(&str, &str); 5] = [
    ("fat-tree:4,3", "fat-tree"),
    ("torus:8x8,1", "up-down"),
    ("leaf-spine:48,16,8", "fat-tree"),
    ("three-level:16,8,8,8,8", "fat-tree"),
    ("fat-tree:18,3", "fat-tree"),
];

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!(
        "{:<24} {:<9} {:>8} {:>6} {:<7} {:>10} {:>9} {:>8} {:<8}",
        "fabric", "engine", "switches", "CAs", "loss", "ordered s", "double s", "auto s", "taken"
    );
    let chosen = |(topology, _): &(&str, &str)| only.is_empty() || only.iter().any(|name| name == topology);
    for (topology, engine) in CASES.into_iter().filter(chosen).take(if quick() { 1 } else { CASES.len() }) {
        let fabric = generate(&topology.parse().expect("well formed"), &Options::default()).expect("can be built");
        let fabric = lid::assign(&fabric.with_capabilities(4, true), Lmc::masked(1)).expect("LIDs enough");
        let is_switch = |port| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
        let (cable, _) = fabric.links().find(|&(a, b)| is_switch(a) && is_switch(b)).expect("a cable between switches");
        let bare = |&id: &_| fabric.ports_of(id).all(|port| fabric.neighbour(port).is_none() || is_switch(port));
        measure(topology, engine, "cable", &fabric, fabric.without_links(&[cable]));
        if let Some(switch) = fabric.switches().find(bare) {
            measure(topology, engine, "switch", &fabric, fabric.without_nodes(&[switch]));
        }
    }
}

fn measure(topology: &str, engine: &str, loss: &str, before: &Fabric, after: Fabric) {
    let engine_name = engine;
    let engine = engine_named(engine, &Parameters { root: None, seed: 1 }).expect("an engine");
    let function = engine.route(before, &Demand::all(before, 1)).expect("it is connected");
    let tables = lid::bring_up(before, &function, 4);
    let (before, after) = (Arc::new(before.clone()), Arc::new(after));
    let input = |scheme| ChangeInput {
        before: before.clone(),
        surviving: after.clone(),
        after: after.clone(),
        tables: tables.clone(),
        layers: 1,
        ways: None,
        old: Half::Lower,
        both_halves: false,
        engine: &*engine,
        scheme,
        policy: Policy::default(),
        sm: after.end_ports().next().expect("hosts"),
    };
    let timed = |scheme| {
        let input = input(scheme);
        let clock = Stopwatch::start();
        let result = prepare(input);
        (clock.ns() / 1e9, result)
    };
    let (ordered_s, _) = timed(Scheme::Ordered);
    let (double_s, _) = timed(Scheme::Double);
    let input = input(Scheme::Double);
    let clock = Stopwatch::start();
    let prepared = prepare_cheapest(input, 0).unwrap_or_else(|error| panic!("{topology}: {error}"));
    let auto_s = clock.ns() / 1e9;
    println!(
        "{topology:<24} {engine_name:<9} {:>8} {:>6} {loss:<7} {ordered_s:>10.3} {double_s:>9.3} {auto_s:>8.3} {:<8}",
        before.switches().count(),
        before.end_ports().count(),
        prepared.plan.plan().scheme(),
    );
}
