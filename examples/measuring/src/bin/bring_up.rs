//! How long `reconfig sm` and OpenSM take on the same real ibsim: to bring up a cold subnet, to route around a spine
//! that dies, and to take it back.
//!
//! `cargo run --release -p reconfig-measuring --bin bring_up -- [--repetitions N] [TOPOLOGY …|all]` serves each
//! topology by a fresh ibsim for every run, in turn to every manager on the same host, and prints the median of
//! wall-clock times, in brackets the least, and the median of the processor time that the manager had meanwhile, which
//! other work on the machine hardly affects. Bring-up is from the start of the program until its log reports SUBNET UP;
//! the others are from ibsim's `Unlink` or `ReLink` of all cables of a spine, the root of our up*/down*, to the last
//! report of an end in the log (SUBNET UP, or *the change is over*) before a silence. Where an end before that was
//! reported (HOSTS UP for a bring-up), its median comes first, before an arrow. Without arguments: once, on a
//! leaf-spine tree of 16 switches; `all` has 320 and 972 too.

use comfy_table::{Table, presets::ASCII_MARKDOWN};
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig_measuring::process::background::{Background, lossy};
use reconfig_measuring::process::programs::{missing, reconfig};
use reconfig_measuring::served::Served;
use reconfig_measuring::started;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long a manager may take.
const LIMIT: Duration = Duration::from_secs(300);
/// The interval at which a log is read.
const POLL: Duration = Duration::from_millis(5);
/// A silence after which nothing more is expected, beside four times what the end took.
const SILENCE: Duration = Duration::from_secs(3);
const TOPOLOGIES: [&str; 3] = ["leaf-spine:12,4,4", "three-level:16,8,8,8,8", "three-level:18,18,18,18,18"];

/// A manager.
#[derive(Clone, Copy)]
enum Manager {
    /// `reconfig sm`, with options.
    Reconfig(&'static [&'static str]),
    /// OpenSM, with lines for its configuration.
    OpenSm(&'static str),
}

/// By default OpenSM keeps four SMPs on the wire, one LID for each port, and leaves SL-to-VL tables alone; the last two
/// do what `reconfig sm` does.
const MANAGERS: [(&str, Manager); 5] = [
    ("reconfig sm", Manager::Reconfig(&[])),
    ("OpenSM", Manager::OpenSm("")),
    ("OpenSM, max_wire_smps 16", Manager::OpenSm("max_wire_smps 16\n")),
    ("OpenSM updn, lmc 1, qos", Manager::OpenSm("routing_engine updn\nlmc 1\nqos TRUE\n")),
    ("the same, max_wire_smps 16", Manager::OpenSm("routing_engine updn\nlmc 1\nqos TRUE\nmax_wire_smps 16\n")),
];

/// What is timed: bring-up, loss and return.
type Course = [Took; 3];

/// Seconds by the clock until the first and the last report of an end, and those that a processor worked for the
/// manager.
#[derive(Clone, Copy)]
struct Took {
    first: f64,
    wall: f64,
    processor: f64,
}

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
        rest => (1, rest),
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
    let program = reconfig()?;
    let mut courses: Vec<Vec<Course>> = vec![Vec::new(); MANAGERS.len()];
    for _ in 0..repetitions {
        // In turn, so that other load on the machine affects all of them.
        for ((_, manager), courses) in MANAGERS.iter().zip(&mut courses) {
            courses.push(course(&program, &fabric, &net, *manager)?);
        }
    }
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(["", "bring-up", "a spine dies", "it comes back"]);
    for ((name, _), courses) in MANAGERS.iter().zip(&courses) {
        let sorted = |which: usize, of: fn(&Took) -> f64| {
            let mut seconds: Vec<f64> = courses.iter().map(|course| of(&course[which])).collect();
            seconds.sort_by(f64::total_cmp);
            seconds
        };
        let cell = |which: usize| {
            let (wall, processor) = (sorted(which, |took| took.wall), sorted(which, |took| took.processor));
            let (middle, first) = (wall.len() / 2, sorted(which, |took| took.first));
            let before = match first[middle] < wall[middle] {
                true => format!("{:.2} s → ", first[middle]),
                false => String::new(),
            };
            format!("{before}{:.2} s ({:.2}), {:.2} s", wall[middle], wall[0], processor[middle])
        };
        table.add_row([(*name).to_string(), cell(0), cell(1), cell(2)]);
    }
    println!("{table}\n");
    Ok(())
}

/// A manager's log, and what it says when it is done.
struct Log {
    file: PathBuf,
    end: &'static str,
}

impl Log {
    fn ends(&self) -> usize {
        lossy(&self.file).map_or(0, |text| text.matches(self.end).count())
    }

    /// From `start`, when `worked` processor seconds were over, to the last end that is reported beyond those before.
    fn last_end(&self, manager: &Background, start: Instant, worked: f64, before: usize) -> io::Result<Took> {
        let (mut known, mut first, mut last) = (before, None, None);
        loop {
            let ends = self.ends();
            if ends > known {
                let now = start.elapsed();
                (known, last) = (ends, Some((now, manager.processor_seconds()?)));
                first.get_or_insert(now.as_secs_f64());
            }
            match first.zip(last) {
                Some((first, (last, by_then))) if start.elapsed() > last + SILENCE.max(4 * last) => {
                    return Ok(Took { first, wall: last.as_secs_f64(), processor: by_then - worked });
                }
                None if start.elapsed() > LIMIT => panic!("no `{}` in {}", self.end, self.file.display()),
                _ => std::thread::sleep(POLL),
            }
        }
    }
}

/// Brings a subnet up, takes a spine away and gives it back.
fn course(program: &Path, fabric: &Fabric, net: &str, manager: Manager) -> io::Result<Course> {
    let mut served = Served::serve(net);
    let (root, node) = started::place(fabric);
    let spine = fabric.node(root).description.trim();
    let start = Instant::now();
    let (manager, name, end) = match manager {
        Manager::Reconfig(options) => {
            (started::reconfig(&served, program, &node, "sm", options), "sm.err", "the change is over")
        }
        Manager::OpenSm(options) => {
            (started::opensm(&served, Some(&node), "opensm", options), "opensm.log", "SUBNET UP")
        }
    };
    let log = Log { file: served.folder().join(name), end };
    let says = |words: &str| lossy(&log.file).is_ok_and(|text| text.contains(words));
    served.wait("HOSTS UP", LIMIT, || says("HOSTS UP") || says("SUBNET UP"));
    let hosts_up = says("HOSTS UP").then(|| start.elapsed().as_secs_f64());
    served.wait("SUBNET UP", LIMIT, || says("SUBNET UP"));
    let wall = start.elapsed().as_secs_f64();
    let first = hosts_up.unwrap_or(wall);
    let up = Took { first, wall, processor: manager.processor_seconds()? };
    let after = |served: &mut Served, event: &dyn Fn(&mut Served)| {
        let (before, worked) = (log.ends(), manager.processor_seconds()?);
        let start = Instant::now();
        event(served);
        log.last_end(&manager, start, worked, before)
    };
    // What follows a bring-up, such as OpenSM's second sweep, is over.
    std::thread::sleep(SILENCE.max(start.elapsed()));
    let loss = after(&mut served, &|served| served.unlink(spine, None))?;
    let back = after(&mut served, &|served| served.relink(spine, None))?;
    Ok([up, loss, back])
}
