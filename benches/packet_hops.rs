//! Packet-hops per second and nanoseconds per hop of the whole simulator, one core, uniform traffic of 512-byte
//! packets.
//!
//! Two fat trees have the fabric, load and packets with which other simulators were measured, on another machine: the
//! ratios stand in the line. A random regular graph under restricted up*/down* congests its root far below load 0.3, so
//! a saturated and an unsaturated load are both measured. Where valgrind is installed, callgrind counts instructions:
//! two runs of different length, the difference of their counts over that of their packet-hops, so that set-up cancels.
//! A count above the one that is held fails.

use comfy_table::{CellAlignment, Table, presets};
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::{Half, Lmc};
use reconfig::routing::{Demand, Engine, FatTree, UpDown};
use reconfig::sim::{PACKET_BYTES, Sim, SimConfig};
use reconfig_measuring::bench::clock::Stopwatch;
use reconfig_measuring::bench::median::median;
use reconfig_measuring::bench::quick::quick;
use std::error::Error;
use std::process::Command;
use std::time::Instant;

/// What is measured.
struct Case {
    /// Of the same form as `reconfig fabric generate` takes.
    topology: &'static str,
    /// Offered load, as a fraction of each CA's rate.
    load: f64,
    /// The engine.
    engine: &'static dyn Engine,
    /// The most instructions for a packet-hop, three in a hundred above what was last accepted, and the microseconds of
    /// the two runs whose instructions are counted; none where bringing up takes too long for that: under callgrind a
    /// second of work takes a minute.
    counted: Option<(f64, [u64; 2])>,
    /// Nanoseconds of a round of the measurement, and of the warm-up before the first.
    round_ns: u64,
    /// Million packet-hops a second of others on one core: SST-merlin, of packets too, and BookSim2, of flits.
    others: Option<[f64; 2]>,
}

const UP_DOWN: UpDown = UpDown { root: None };

const CASES: [Case; 5] = [
    Case {
        topology: "fat-tree:4,3",
        load: 0.3,
        engine: &FatTree,
        counted: Some((815.0, [30, 60])),
        round_ns: 500_000,
        others: Some([0.93, 0.092]),
    },
    Case {
        topology: "fat-tree:8,3",
        load: 0.3,
        engine: &FatTree,
        counted: Some((849.0, [5, 12])),
        round_ns: 500_000,
        others: Some([0.47, 0.044]),
    },
    Case {
        topology: "random-regular:64,4,4",
        load: 0.05,
        engine: &UP_DOWN,
        counted: Some((842.0, [50, 100])),
        round_ns: 500_000,
        others: None,
    },
    Case {
        topology: "random-regular:64,4,4",
        load: 0.3,
        engine: &UP_DOWN,
        counted: Some((1289.0, [30, 60])),
        round_ns: 500_000,
        others: None,
    },
    // 1,548 switches and 10,944 hosts: what a hop costs when nothing is in the cache.
    Case {
        topology: "three-level:38,18,18,10,16",
        load: 0.3,
        engine: &FatTree,
        counted: None,
        round_ns: 10_000,
        others: None,
    },
];

/// Bytes of a packet: eight credits.
const LENGTH: u16 = 512;
/// First argument of a run under callgrind.
const COUNTED: &str = "counted";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, case, length_us] = &arguments[..]
        && mode == COUNTED
    {
        return counted(&CASES[case.parse::<usize>()?], length_us.parse()?);
    }
    println!("uniform traffic, packets of {LENGTH} bytes, one core; medians");
    let (table, over) = measure_all()?;
    println!("{table}");
    println!("a packet in flight takes {PACKET_BYTES} bytes; M packet-hops/s are per second of processor time");
    println!("times SST-merlin, BookSim2: what those did with the same fabric, load and packets, on another machine");
    if over.is_empty() { Ok(()) } else { Err(over.join("; ").into()) }
}

/// All cases, and the counts that are above those held.
fn measure_all() -> Outcome<(Table, Vec<String>)> {
    let (mut table, mut over) = (Table::new(), Vec::new());
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED);
    let header =
        ["fabric", "offered", "accepted", "M packet-hops/s", "on the wall", "instructions/hop", "× SST", "× BookSim2"];
    table.set_header(header);
    for (rank, case) in CASES.iter().enumerate() {
        let speed = Speed::measure(case)?;
        let millions = 1e3 / speed.ns_per_hop;
        let counted = match case.counted {
            Some((most, lengths_us)) => instructions_per_hop(rank, lengths_us)?.map(|counted| (counted, most)),
            None => None,
        };
        if let Some((counted, most)) = counted.filter(|(counted, most)| counted > most) {
            let (topology, load) = (case.topology, case.load);
            over.push(format!("{topology} at {load}: {counted:.0} instructions for a packet-hop, {most} are held"));
        }
        let times =
            |other: usize| case.others.map_or(String::new(), |others| format!("{:.1}", millions / others[other]));
        table.add_row([
            case.topology.to_string(),
            format!("{:.2}", case.load),
            format!("{:.3}", speed.accepted),
            format!("{millions:.2}"),
            format!("{:.2}", 1e3 / speed.wall_ns_per_hop),
            match (counted, case.counted) {
                (Some((counted, _)), _) => format!("{counted:.0}"),
                (None, Some(_)) => "SKIPPED: no valgrind".to_string(),
                (None, None) => String::new(),
            },
            times(0),
            times(1),
        ]);
    }
    for column in 1..header.len() {
        table.column_mut(column).ok_or("the table has these columns")?.set_cell_alignment(CellAlignment::Right);
    }
    Ok((table, over))
}

/// The figures of a warm simulation.
struct Speed {
    ns_per_hop: f64,
    wall_ns_per_hop: f64,
    /// Bytes delivered, as a fraction of what the CAs could take.
    accepted: f64,
}

impl Speed {
    fn measure(case: &Case) -> Outcome<Speed> {
        let (rounds, round_ns) = if quick() { (3, case.round_ns / 5) } else { (9, case.round_ns) };
        let mut sim = bring_up(case)?;
        sim.run(round_ns, false);
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
fn bring_up(case: &Case) -> Outcome<Sim> {
    let made = generate(&case.topology.parse()?, &Options::default())?;
    let fabric = reconfig::lid::assign(&made, Lmc::masked(1))?;
    let function = case.engine.route(&fabric, &Demand::all(&fabric, 1))?;
    let mut config = SimConfig { load: case.load, packet_bytes: LENGTH, ..SimConfig::default() };
    if case.others.is_some() {
        // As the others had it: four lanes, with room for four packets of eight credits each.
        (config.data_vls, config.buffer_credits) = (4, 32);
    }
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
fn counted(case: &Case, length_us: u64) -> Outcome<()> {
    let mut sim = bring_up(case)?;
    sim.run(length_us * 1_000, false);
    println!("{}", sim.packet_hops());
    Ok(())
}

/// None without valgrind, where it is not required.
fn instructions_per_hop(case: usize, [short, long]: [u64; 2]) -> Outcome<Option<f64>> {
    if let Err(error) = Command::new("valgrind").arg("--version").output() {
        return match std::env::var_os("RECONFIG_TOOLS_REQUIRED") {
            Some(_) => Err(format!("valgrind is required: {error}").into()),
            None => Ok(None),
        };
    }
    let (short, long) = (callgrind(case, short)?, callgrind(case, long)?);
    Ok(Some((long.0 - short.0) as f64 / (long.1 - short.1) as f64))
}

/// Instructions and packet-hops of one run under callgrind.
fn callgrind(case: usize, length_us: u64) -> Outcome<(u64, u64)> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args([COUNTED, &case.to_string(), &length_us.to_string()])
        .output()?;
    let said = String::from_utf8(run.stderr)?;
    let count = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim());
    let count = count.ok_or_else(|| format!("valgrind counted nothing, and said:\n{said}"))?;
    Ok((count.parse()?, String::from_utf8(run.stdout)?.trim().parse()?))
}
