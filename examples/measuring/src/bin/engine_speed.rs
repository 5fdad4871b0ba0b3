//! How long engines take beside OpenSM's own on the same fabrics, and how much memory.
//!
//! `cargo run --release -p reconfig-measuring --bin engine_speed` does a small fabric in seconds; with `full` it does
//! all, or the topologies given, in under fifteen minutes on two cores. Ours run in a process of their own for each
//! fabric and engine: what is measured is `Engine::route` alone, the median of three, on one core; the memory is the
//! process's peak, fabric and function included. OpenSM runs on real ibsim, with LMC 0, eight data VLs and eight VLs
//! for nue, up*/down* from the same root, and its log talkative in one module only, for its lash would write half a
//! million lines; its time is that between its log's `building routing with` and the line that ends it,
//! `tables configured` or a failure: the writes are made and queued by then, not sent. The memory is its peak by then.
//! Both are times on the wall, side by side with processor time; OpenSM's is read when these lines appear, in
//! hundredths of a second.

use comfy_table::{CellAlignment, Table, presets};
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::routing::{Demand, EngineKind, Parameters, choose_root, engine_named};
use reconfig_measuring::process::background::Background;
use reconfig_measuring::process::programs::missing;
use reconfig_measuring::served::Served;
use std::error::Error;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Switches at random with 8 hosts each, and a fat tree of three levels.
const TOPOLOGIES: [&str; 3] = ["random-regular:64,8,8", "random-regular:256,16,8", "fat-tree:18,3"];
/// Ours, and OpenSM's name for it.
const ENGINES: [(&str, &str); 6] = [
    ("up-down", "updn"),
    ("min-hop", "minhop"),
    ("dfsssp", "dfsssp"),
    ("nue", "nue"),
    ("lash", "lash"),
    ("fat-tree", "ftree"),
];
/// Time limits for OpenSM to discover a fabric, and then to route it; a run that exceeds them is reported as such.
const LIMIT: Duration = Duration::from_secs(150);
/// How often ours route: the median is reported.
const REPETITIONS: usize = 3;
/// The interval at which its log is read.
const PAUSE: Duration = Duration::from_millis(5);

/// What it cost to route once.
struct Cost {
    wall_s: f64,
    cpu_s: f64,
    peak_mib: f64,
    /// The result: layers, or why there is no routing.
    outcome: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [route, topology, engine] = &arguments[..]
        && route == "route"
    {
        return route_here(topology, engine);
    }
    let missing = missing(&["ibsim", "ibsim-run", "opensm"]);
    if !missing.is_empty() {
        println!("SKIPPED: {} not installed (Debian: opensm, ibsim-utils)", missing.join(", "));
        return Ok(());
    }
    let topologies: Vec<&str> = match &arguments[..] {
        [] => vec![TOPOLOGIES[0]],
        [full] if full == "full" => TOPOLOGIES.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    };
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "fabric", "switches", "CAs", "engine", "ours s", "CPU s", "MiB", "OpenSM s", "CPU s", "MiB", "times", "ours",
        "OpenSM's",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for topology in topologies {
        let fabric = made(topology)?;
        for (ours, theirs) in ENGINES.iter().filter(|(ours, _)| *ours != "fat-tree" || topology.contains("tree")) {
            let row = row(topology, &fabric, ours, theirs)?;
            // The whole takes minutes.
            eprintln!("{}", row.join("  "));
            table.add_row(row);
        }
    }
    println!("{table}");
    Ok(())
}

fn made(topology: &str) -> Result<Fabric, Box<dyn Error>> {
    Ok(generate(&topology.parse::<Topology>()?, &Options::default())?)
}

fn row(topology: &str, fabric: &Fabric, ours: &str, theirs: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let here = measured_here(topology, ours)?;
    let there = measured_there(fabric, theirs)?;
    let (switches, cas) = (fabric.switches().count(), fabric.end_ports().count());
    let ratio = format!("{:.0}", there.wall_s / here.wall_s);
    let mut row = vec![topology.to_string(), switches.to_string(), cas.to_string(), ours.to_string()];
    for cost in [&here, &there] {
        row.extend([format!("{:.3}", cost.wall_s), format!("{:.2}", cost.cpu_s), format!("{:.0}", cost.peak_mib)]);
    }
    row.extend([ratio, here.outcome, there.outcome]);
    Ok(row)
}

/// Routes, and prints the cost for the parent process.
fn route_here(topology: &str, engine: &str) -> Result<(), Box<dyn Error>> {
    let fabric = made(topology)?;
    let EngineKind::ByDestination(engine) = engine_named(engine, &Parameters::default())? else {
        return Err(format!("{engine} gives paths").into());
    };
    let demand = Demand::all(&fabric, 1);
    let stat = Path::new("/proc/self/stat");
    let (before, mut walls) = (cpu_s(stat)?, Vec::new());
    let routed = loop {
        let start = Instant::now();
        let routed = engine.route(&fabric, &demand);
        walls.push(start.elapsed().as_secs_f64());
        if walls.len() == REPETITIONS {
            break routed;
        }
    };
    walls.sort_by(f64::total_cmp);
    let (wall, cpu) = (walls[REPETITIONS / 2], (cpu_s(stat)? - before) / REPETITIONS as f64);
    let outcome = match routed {
        Ok(function) => format!("{} layers", function.layers()),
        Err(error) => error.to_string(),
    };
    println!("{wall} {cpu} {} {outcome}", peak_mib(Path::new("/proc/self/status"))?);
    Ok(())
}

fn measured_here(topology: &str, engine: &str) -> Result<Cost, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?).args(["route", topology, engine]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut words = text.trim().splitn(4, ' ');
    let mut number = || -> Result<f64, Box<dyn Error>> { Ok(words.next().ok_or("a figure is missing")?.parse()?) };
    let (wall_s, cpu_s, peak_mib) = (number()?, number()?, number()?);
    Ok(Cost { wall_s, cpu_s, peak_mib, outcome: words.next().unwrap_or_default().to_string() })
}

fn measured_there(fabric: &Fabric, engine: &str) -> Result<Cost, Box<dyn Error>> {
    let served = Served::serve(&write(fabric, Format::IbsimNet)?);
    let (folder, log) = (served.folder(), served.folder().join("opensm.log"));
    let root = choose_root(fabric).ok_or("a fabric without switches")?;
    std::fs::write(folder.join("roots"), format!("{}\n", fabric.node(root).guid))?;
    std::fs::write(folder.join("modules"), "osm_ucast_mgr.c 0x7\n")?;
    let options =
        "force_log_flush TRUE\nqos TRUE\nmax_op_vls 4\nlmc 0\nnue_max_num_vls 8\nper_module_logging_file modules\n";
    std::fs::write(folder.join("opensm.conf"), options)?;
    let mut command = served.command("opensm", None);
    command.args(["-R", &format!("{engine},no_fallback"), "-D", "0x3", "-f"]).arg(&log).args(["-F", "opensm.conf"]);
    if engine == "updn" {
        command.args(["-a", "roots"]);
    }
    watch(&served.background(&mut command, "opensm"), &log, engine)
}

/// Waits until the routing is made.
fn watch(opensm: &Background, log: &Path, engine: &str) -> Result<Cost, Box<dyn Error>> {
    let process = Path::new("/proc").join(opensm.child.id().to_string());
    let (stat, status) = (process.join("stat"), process.join("status"));
    let begins = format!("building routing with '{engine}'");
    let mut began: Option<(f64, f64)> = None;
    let mut failure = None;
    let mut lines = Lines { path: log, read: 0, partial: Vec::new() };
    let mut start = Instant::now();
    while start.elapsed() < LIMIT {
        for line in lines.fresh()? {
            if line.contains(&begins) {
                began = Some((seconds_of(&line), cpu_s(&stat)?));
                start = Instant::now();
            } else if let Some((_, said)) = line.split_once(": ERR") {
                failure.get_or_insert_with(|| format!("failed: ERR{said}"));
            }
            let done = line.contains(&format!("{engine} tables configured"));
            if let (Some((second, cpu)), true) = (began, done || line.contains("No routing engine")) {
                let outcome = if done { "done".into() } else { failure.unwrap_or_else(|| "failed".into()) };
                let (wall_s, cpu_s) = (seconds_of(&line) - second, cpu_s(&stat)? - cpu);
                return Ok(Cost { wall_s, cpu_s, peak_mib: peak_mib(&status)?, outcome });
            }
        }
        std::thread::sleep(PAUSE);
    }
    let (_, cpu) = began.ok_or("OpenSM did not come to routing")?;
    let outcome = format!("stopped after {} s", LIMIT.as_secs());
    Ok(Cost { wall_s: LIMIT.as_secs_f64(), cpu_s: cpu_s(&stat)? - cpu, peak_mib: peak_mib(&status)?, outcome })
}

/// A log that grows.
struct Lines<'a> {
    path: &'a Path,
    read: u64,
    partial: Vec<u8>,
}

impl Lines<'_> {
    /// The lines that were finished since the last call.
    fn fresh(&mut self) -> std::io::Result<Vec<String>> {
        let Ok(mut file) = File::open(self.path) else { return Ok(Vec::new()) };
        file.seek(SeekFrom::Start(self.read))?;
        self.read += file.read_to_end(&mut self.partial)? as u64;
        let end = self.partial.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let whole: Vec<u8> = self.partial.drain(..end).collect();
        Ok(String::from_utf8_lossy(&whole).lines().map(String::from).collect())
    }
}

/// The time of day at the head of a line of OpenSM's log, `Nov 21 21:08:03 735936 [...]`.
fn seconds_of(line: &str) -> f64 {
    let words: Vec<&str> = line.split_whitespace().take(4).collect();
    let clock = words.get(2).into_iter().flat_map(|clock| clock.split(':'));
    let whole = clock.filter_map(|part| part.parse::<f64>().ok()).fold(0.0, |sum, part| sum * 60.0 + part);
    whole + words.get(3).and_then(|micros| micros.parse::<f64>().ok()).unwrap_or_default() / 1e6
}

/// User and system time of a process, which Linux reports in hundredths of a second.
fn cpu_s(stat: &Path) -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string(stat)?;
    let (_, after_name) = text.rsplit_once(')').ok_or("a name in brackets")?;
    let words: Vec<&str> = after_name.split_whitespace().collect();
    Ok((words[11].parse::<f64>()? + words[12].parse::<f64>()?) / 100.0)
}

/// The most memory that a process held.
fn peak_mib(status: &Path) -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string(status)?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("VmHWM is missing")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}
