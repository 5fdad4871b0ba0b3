//! Packet-hops per second and nanoseconds per hop: 64 switches of degree 4 in a random regular graph, 256 CAs, uniform
//! traffic of 512-byte packets, one core. Restricted up*/down* congests its root far below load 0.3, so a saturated and
//! an unsaturated load are both measured. Where valgrind is installed, callgrind counts instructions: two runs of
//! different length, the difference of their counts over that of their packet-hops, so that set-up cancels.

use comfy_table::{CellAlignment, Table, presets};
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::{Half, Lmc};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::sim::{PACKET_BYTES, Sim, SimConfig};
use reconfig_measuring::bench::clock::Stopwatch;
use reconfig_measuring::bench::median::median;
use reconfig_measuring::bench::quick::quick;
use std::error::Error;
use std::process::Command;
use std::time::Instant;

/// Switches, switch links of each, CAs of each.
const TOPOLOGY: &str = "random-regular:64,4,4";
/// Offered loads, as fractions of each CA's rate.
const LOADS: [f64; 2] = [0.05, 0.3];
/// Bytes of a packet: eight credits.
const LENGTH: u16 = 512;
/// First argument of a run under callgrind.
const COUNTED: &str = "counted";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, load, length_us] = &arguments[..]
        && mode == COUNTED
    {
        return counted(load.parse()?, length_us.parse()?);
    }
    println!("{TOPOLOGY}: uniform traffic, packets of {LENGTH} bytes, one core; medians");
    println!("{}", measure_all()?);
    println!("a packet in flight takes {PACKET_BYTES} bytes; M packet-hops/s are per second of processor time");
    Ok(())
}

fn measure_all() -> Outcome<Table> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header(["offered", "accepted", "", "M packet-hops/s", "ns/hop", "on the wall", "instructions/hop"]);
    for load in LOADS {
        let speed = Speed::measure(load)?;
        let saturated = speed.accepted < 0.95 * load;
        table.add_row([
            format!("{load:.2}"),
            format!("{:.3}", speed.accepted),
            if saturated { "saturated" } else { "unsaturated" }.into(),
            format!("{:.2}", 1e3 / speed.ns_per_hop),
            format!("{:.0}", speed.ns_per_hop),
            format!("{:.2}", 1e3 / speed.wall_ns_per_hop),
            instructions_per_hop(load)?,
        ]);
    }
    for column in [0, 1, 3, 4, 5, 6] {
        table.column_mut(column).ok_or("the table has seven columns")?.set_cell_alignment(CellAlignment::Right);
    }
    Ok(table)
}

/// The figures of a warm simulation.
struct Speed {
    ns_per_hop: f64,
    wall_ns_per_hop: f64,
    /// Bytes delivered, as a fraction of what the CAs could take.
    accepted: f64,
}

impl Speed {
    fn measure(load: f64) -> Outcome<Speed> {
        let (rounds, round_ns, warm_up_ns) = if quick() { (3, 100_000, 50_000) } else { (9, 500_000, 500_000) };
        let mut sim = bring_up(load)?;
        sim.run(warm_up_ns, false);
        sim.begin_period();
        let mut laps = Vec::new();
        for _ in 0..rounds {
            let (hops, wall, watch) = (sim.packet_hops(), Instant::now(), Stopwatch::start());
            sim.run(sim.now_ns() + round_ns, false);
            let hops = (sim.packet_hops() - hops) as f64;
            laps.push((watch.ns() / hops, wall.elapsed().as_nanos() as f64 / hops));
        }
        let bytes = sim.periods()[1].bytes as f64;
        Ok(Speed {
            ns_per_hop: median(laps.iter().map(|lap| lap.0)),
            wall_ns_per_hop: median(laps.iter().map(|lap| lap.1)),
            accepted: bytes / (sim.period_ns(1) as f64 * sim.delivery_capacity()),
        })
    }
}

/// The fabric, routed and under traffic.
fn bring_up(load: f64) -> Outcome<Sim> {
    let made = generate(&TOPOLOGY.parse()?, &Options::default())?;
    let fabric = reconfig::lid::assign(&made, Lmc::masked(1))?;
    let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1))?;
    let config = SimConfig { load, packet_bytes: LENGTH, ..SimConfig::default() };
    let tables = reconfig::lid::bring_up(&fabric, &function, config.data_vls);
    let manager = fabric.end_ports().next().ok_or("the fabric has CAs")?;
    let mut sim = Sim::new(&fabric, config, manager)?;
    for (switch, block, entries) in tables.lft_blocks(&fabric) {
        sim.load_lft_block(switch, block, &entries);
    }
    sim.load_half(Half::Lower);
    sim.start();
    Ok(sim)
}

/// The run under callgrind: prints its packet-hops.
fn counted(load: f64, length_us: u64) -> Outcome<()> {
    let mut sim = bring_up(load)?;
    sim.run(length_us * 1_000, false);
    println!("{}", sim.packet_hops());
    Ok(())
}

fn instructions_per_hop(load: f64) -> Outcome<String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok("SKIPPED: valgrind is not installed".into());
    }
    let (short, long) = if quick() { (50, 80) } else { (250, 450) };
    let (short, long) = (callgrind(load, short)?, callgrind(load, long)?);
    Ok(format!("{:.0}", (long.0 - short.0) as f64 / (long.1 - short.1) as f64))
}

/// Instructions and packet-hops of one run under callgrind.
fn callgrind(load: f64, length_us: u64) -> Outcome<(u64, u64)> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args([COUNTED, &load.to_string(), &length_us.to_string()])
        .output()?;
    let said = String::from_utf8(run.stderr)?;
    let count = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim());
    let count = count.ok_or_else(|| format!("valgrind counted nothing, and said:\n{said}"))?;
    Ok((count.parse()?, String::from_utf8(run.stdout)?.trim().parse()?))
}
