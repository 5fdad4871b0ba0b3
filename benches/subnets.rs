//! Subnets joined by routers at growing sizes, one core. *Routed* is all subnets by engine up-down; *paths* are
//! followed and *proved* is the whole, as `reconfig audit LIST` does both; then packet-hops per second where a tenth of
//! the traffic crosses routers, and their ratio to those of the same simulation without crossing traffic, and of the
//! same subnets each simulated by itself.

use comfy_table::{CellAlignment, Table, presets};
use reconfig::audit::across::{Question, SubnetRouting, check_paths};
use reconfig::change::{LmcWish, RouteInput, Routed, route};
use reconfig::fabric::generate::{JoinShape, JoinedTopology as Asked, Options, joined};
use reconfig::fabric::subnets::{Joined, SubnetPort, Subnets};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, SubnetId};
use reconfig::routers::{Levels, LevelsRule, Routes};
use reconfig::routing::UpDown;
use reconfig::sim::{Joining, Sim, SimConfig};
use reconfig::verify::Scope;
use reconfig::verify::across::{Part, Whole, prove_across};
use reconfig_measuring::bench::clock::Stopwatch;
use reconfig_measuring::bench::median::median;
use reconfig_measuring::bench::quick::quick;
use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What each subnet is, how many, and which have routers between them, two each; the first is for a quick run.
const FABRICS: [(&str, u16, JoinShape); 4] = [
    ("random-regular:16,4,2", 2, JoinShape::Line),
    ("random-regular:64,6,2", 4, JoinShape::Ring),
    ("random-regular:128,8,4", 4, JoinShape::Full),
    ("random-regular:128,8,2", 6, JoinShape::Ring),
];

/// Below saturation everywhere, routers' ports included.
const LOAD: f64 = 0.05;

const HEADINGS: [&str; 12] = [
    "fabric",
    "subnets",
    "hosts",
    "routed s",
    "paths",
    "M paths/s",
    "lanes",
    "dependencies",
    "proved s",
    "M hops/s",
    "to uncrossed",
    "to alone",
];

fn main() -> Outcome<()> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header(HEADINGS);
    for (topology, subnets, shape) in FABRICS.into_iter().take(if quick() { 1 } else { FABRICS.len() }) {
        let asked = Asked { topology: topology.parse()?, subnets, shape, routers: 2 };
        table.add_row(row(topology, &joined(&asked, &Options::default())?)?);
    }
    for column in 1..HEADINGS.len() {
        table.column_mut(column).ok_or("a column for each heading")?.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    println!("seconds of processor time; M hops/s: millions of packet-hops a second at load {LOAD}, medians");
    Ok(())
}

fn row(topology: &str, made: &Subnets) -> Outcome<Vec<String>> {
    let engine = UpDown::default();
    let clock = Stopwatch::start();
    let input = |fabric| RouteInput { fabric, engine: &engine, data_vls: 8, lmc: LmcWish::Common };
    let routed: Vec<Routed> =
        made.subnets().map(|(_, subnet)| route(input(&subnet.fabric))).collect::<Result<_, _>>()?;
    let routed_s = clock.ns() / 1e9;
    let subnets = made.with_fabrics(routed.iter().map(|routed| routed.fabric.clone()).collect());
    let routes = Routes::all(&subnets);
    let levels = Levels::new(LevelsRule::Raise, routes.most_crossings(), 8)?;
    let scope = Scope { switches: false, ..Scope::of(&[Half::Lower]) };

    let tables = routed.iter().map(|routed| &routed.tables);
    let routings: Vec<_> = tables.map(|tables| SubnetRouting { tables, scope: scope.clone() }).collect();
    let clock = Stopwatch::start();
    let asked =
        Question { subnets: &subnets, routings: &routings, routes: &routes, levels, hop_limit: 64, partitioning: None };
    let found = check_paths(&asked);
    let paths_s = clock.ns() / 1e9;
    let paths: u64 = found.by_crossings.iter().map(|own| own.paths).sum();
    assert!(found.is_sound(), "every path arrives");

    let clock = Stopwatch::start();
    let parts = routed.iter().map(|Routed { fabric, tables, .. }| Part::Steady { fabric, tables, scope: &scope });
    let whole = Whole { subnets: &subnets, parts: parts.collect(), routes: vec![&routes], levels };
    let proof = prove_across(&whole)?.statistics();
    let proved_s = clock.ns() / 1e9;

    let alone = alone(&routed)?;
    let [crossed, uncrossed] = [0.1, 0.0].map(|cross| together(&subnets, &routed, levels, cross));
    let [crossed, uncrossed] = [hops_per_second(&mut [crossed?]), hops_per_second(&mut [uncrossed?])];
    Ok(vec![
        topology.to_string(),
        subnets.len().to_string(),
        subnets.subnets().map(|(id, _)| subnets.hosts(id).count()).sum::<usize>().to_string(),
        format!("{routed_s:.3}"),
        paths.to_string(),
        format!("{:.1}", paths as f64 / paths_s / 1e6),
        proof.lanes.to_string(),
        (proof.dependencies + proof.couplings).to_string(),
        format!("{proved_s:.3}"),
        format!("{:.2}", crossed / 1e6),
        format!("{:.2}", crossed / uncrossed),
        format!("{:.2}", crossed / alone),
    ])
}

/// All subnets in one simulation.
fn together(subnets: &Subnets, routed: &[Routed], levels: Levels, cross: f64) -> Outcome<Sim> {
    let whole = Joined::of(subnets);
    let manager = |(subnet, _)| subnets.hosts(subnet).next().map(|port| SubnetPort { subnet, port });
    let managers = subnets.subnets().map(manager).collect::<Option<_>>().ok_or("each subnet has a host")?;
    let joining = Joining { cross, ..Joining::new(subnets.clone(), levels, managers) };
    let mut sim = Sim::joined(joining, config(routed))?;
    for (rank, own) in routed.iter().enumerate() {
        load(&mut sim, own, |switch| whole.node(SubnetId(rank as u16), switch));
    }
    Ok(started(sim))
}

/// Packet-hops per second of the subnets, each simulated by itself.
fn alone(routed: &[Routed]) -> Outcome<f64> {
    let one = |own: &Routed| -> Outcome<Sim> {
        let mut sim = Sim::new(&own.fabric, config(routed), first_host(&own.fabric)?)?;
        load(&mut sim, own, |switch| switch);
        Ok(started(sim))
    };
    let mut sims = routed.iter().map(one).collect::<Outcome<Vec<Sim>>>()?;
    Ok(hops_per_second(&mut sims))
}

fn first_host(fabric: &Fabric) -> Outcome<reconfig::fabric::PortId> {
    Ok(fabric.end_ports().next().ok_or("each subnet has a host")?)
}

fn config(routed: &[Routed]) -> SimConfig {
    SimConfig { load: LOAD, data_vls: routed[0].data_vls, ..SimConfig::default() }
}

fn load(sim: &mut Sim, own: &Routed, place: impl Fn(NodeId) -> NodeId) {
    for (switch, block, entries) in own.tables.lft_blocks(&own.fabric) {
        sim.load_lft_block(place(switch), block, &entries);
    }
}

fn started(mut sim: Sim) -> Sim {
    sim.load_half(Half::Lower);
    sim.start();
    sim
}

/// Packet-hops per second of processor time, of simulations one after the other.
fn hops_per_second(sims: &mut [Sim]) -> f64 {
    let (rounds, round_ns) = if quick() { (3, 50_000) } else { (7, 200_000) };
    let run = |sims: &mut [Sim]| sims.iter_mut().for_each(|sim| _ = sim.run(sim.now_ns() + round_ns, false));
    let hops = |sims: &[Sim]| sims.iter().map(Sim::packet_hops).sum::<u64>();
    run(sims);
    let rates = (0..rounds).map(|_| {
        let (before, clock) = (hops(sims), Stopwatch::start());
        run(sims);
        (hops(sims) - before) as f64 / (clock.ns() / 1e9)
    });
    median(rates)
}
