//! How long `reconfig sm` and OpenSM take to bring up the same cold subnet on real ibsim, and the ratio.
//!
//! After `cargo build --release`, `cargo run --release --example bring_up -- [--repetitions N] [TOPOLOGY …|all]` serves each topology by a fresh ibsim for
//! every run, in turn to every manager, and prints medians of the time on the wall from the start of the program until its
//! log says SUBNET UP. Both give end ports two LIDs (LMC 1) and sit at the same host. Without arguments: once, on a fat tree of
//! 320 switches and 1024 CAs; `all` is that one and one of 972 and 5832.

#[path = "process/background.rs"]
mod background;
#[path = "process/programs.rs"]
mod programs;
#[path = "process/reconfig.rs"]
mod reconfig_program;
#[path = "../tests/real/served.rs"]
mod served;
#[path = "../tests/real/started.rs"]
mod started;

use background::lossy;
use programs::missing;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig_program::reconfig;
use served::Served;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long a manager may take.
const LIMIT: Duration = Duration::from_secs(300);
const TOPOLOGIES: [&str; 2] = ["three-level:16,8,8,8,8", "fat-tree:18,3"];

/// Who brings a subnet up.
#[derive(Clone, Copy)]
enum Manager {
    /// `reconfig sm`, with options.
    Reconfig(&'static [&'static str]),
    /// OpenSM, with lines for its configuration.
    OpenSm(&'static str),
}

/// The first is what the others are held against. OpenSM keeps four SMPs on the wire, where nobody says otherwise.
const MANAGERS: [(&str, Manager); 4] = [
    ("reconfig sm", Manager::Reconfig(&[])),
    ("reconfig sm, 4 SMPs on the wire", Manager::Reconfig(&["--window", "4"])),
    ("opensm minhop", Manager::OpenSm("routing_engine minhop\nlmc 1\nqos TRUE\n")),
    ("opensm updn", Manager::OpenSm("routing_engine updn\nlmc 1\nqos TRUE\n")),
];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let missing = missing(&["ibsim", "ibsim-run", "opensm"]);
    if !missing.is_empty() {
        println!("SKIPPED: {} not installed (Debian: opensm, ibsim-utils)", missing.join(", "));
        return Ok(ExitCode::SUCCESS);
    }
    let (repetitions, topologies) = read(&arguments)?;
    for topology in topologies {
        compare(&topology, repetitions)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Repetitions and topologies, as typed.
fn read(arguments: &[String]) -> Result<(usize, Vec<String>), String> {
    let (repetitions, rest) = match arguments {
        [option, count, rest @ ..] if option == "--repetitions" => {
            (count.parse().ok().filter(|&count| count > 0).ok_or("--repetitions wants a number above 0")?, rest)
        }
        [] => (1, &[][..]),
        rest => (5, rest),
    };
    let topologies = match rest {
        [] => vec![TOPOLOGIES[0].to_string()],
        [all] if all == "all" => TOPOLOGIES.map(String::from).to_vec(),
        given => given.to_vec(),
    };
    Ok((repetitions, topologies))
}

fn compare(topology: &str, repetitions: usize) -> Result<(), Box<dyn Error>> {
    let parsed: Topology = topology.parse()?;
    let fabric = generate(&parsed, &Options::default())?;
    let net = write(&fabric, Format::IbsimNet)?;
    println!("{topology}: {} switches, {} CAs", fabric.switches().count(), fabric.end_ports().count());
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); MANAGERS.len()];
    for _ in 0..repetitions {
        // In turn, so that whatever else the machine does meets all of them.
        for ((_, manager), seconds) in MANAGERS.iter().zip(&mut seconds) {
            seconds.push(bring_up(&fabric, &net, *manager));
        }
    }
    let median = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        (seconds[seconds.len() / 2], seconds[0], seconds[seconds.len() - 1])
    };
    let told: Vec<(f64, f64, f64)> = seconds.into_iter().map(median).collect();
    for ((name, _), (middle, least, most)) in MANAGERS.iter().zip(&told) {
        let ratio = middle / told[0].0;
        println!("  {name:<32} {middle:>8.3} s ({least:.3} to {most:.3})  {ratio:>6.2} times reconfig sm");
    }
    Ok(())
}

/// Seconds until the subnet is up.
fn bring_up(fabric: &Fabric, net: &str, manager: Manager) -> f64 {
    let served = Served::serve(net);
    let (_, node) = started::place(fabric);
    let program = reconfig().unwrap_or_else(|error| panic!("{error}"));
    let start = Instant::now();
    let (_manager, log) = match manager {
        Manager::Reconfig(options) => (started::reconfig(&served, &program, &node, "sm", options), "sm.err"),
        Manager::OpenSm(options) => (started::opensm(&served, Some(&node), "opensm", options), "opensm.log"),
    };
    let log = served.folder().join(log);
    served.wait("SUBNET UP", LIMIT, || lossy(&log).is_ok_and(|text| text.contains("SUBNET UP")));
    start.elapsed().as_secs_f64()
}
