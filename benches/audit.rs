//! `reconfig audit` against ibdmchk: the same files, process against process, in turn, in processor time of the whole
//! process (reading, judging, printing; ibdmchk's crash at its end included), and the most memory each held.
//!
//! The files are what real OpenSM wrote: minhop under ibsim, with CAs as end points. Processor time is what the kernel
//! charges this process for children that ended, in hundredths of a second: a round therefore runs a program until
//! tenths have passed. Memory is what GNU time prints.

use comfy_table::{CellAlignment, Table, presets};
use reconfig_measuring::agreement::subject::judges::{
    Auditor, Ends, Verdict, ask_audit, ask_ibdmchk, audit_command, ibdmchk_command,
};
use reconfig_measuring::agreement::subject::opensm::{ROUTINGS, Routed};
use reconfig_measuring::agreement::subject::sample::{Sample, build};
use reconfig_measuring::agreement::subject::{programs_missing, route};
use reconfig_measuring::bench::quick::quick;
use reconfig_measuring::process::programs::missing;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

/// Family and topology: 36, 100 and 200 switches at random, and fat trees of 324, 972 and 3456 hosts.
const FABRICS: [(&str, &str); 6] = [
    ("random regular", "random-regular:36,6,4"),
    ("random regular", "random-regular:100,6,2"),
    ("random regular", "random-regular:200,6,1"),
    ("fat tree", "leaf-spine:36,18,9"),
    ("fat tree", "three-level:9,6,6,9,18"),
    ("fat tree", "three-level:24,12,12,12,12"),
];
/// Linux reports processor time in these units on every machine.
const TICKS_PER_SECOND: f64 = 100.0;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let missing = programs_missing();
    if !missing.is_empty() {
        println!("SKIPPED: {} not installed (Debian: opensm, ibsim-utils, ibutils)", missing.join(", "));
        return Ok(());
    }
    let fabrics = if quick() { &FABRICS[..1] } else { &FABRICS };
    println!("audit against ibdmchk: the same files, CAs as end points; processor time of a run, median (least)");
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "fabric",
        "switches",
        "pairs",
        "verdict",
        "ibdmchk ms",
        "audit ms",
        "times",
        "ibdmchk MiB",
        "audit MiB",
    ]);
    for &(family, topology) in fabrics {
        table.add_row(row(family, topology)?);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    Ok(())
}

fn row(family: &'static str, topology: &str) -> Outcome<Vec<String>> {
    let sample = Sample { family, topology: topology.into(), seed: 1, switches_gone: 0, links_gone: 0 };
    let fabric = build(&sample)?;
    let folder = tempfile::tempdir()?;
    let routed = route(&fabric, ROUTINGS[0], folder.path())?;
    let auditor = Auditor(env!("CARGO_BIN_EXE_reconfig").into());
    let theirs = ask_ibdmchk(&routed, Ends::Cas, folder.path())?;
    let ours = ask_audit(&auditor, &routed, Ends::Cas, folder.path())?;
    if theirs.verdict != ours.verdict || matches!(theirs.verdict, Verdict::None(_)) {
        return Err(format!("{topology}: ibdmchk says {}, audit says {}", theirs.verdict, ours.verdict).into());
    }
    let (slow, fast) = measure(&auditor, &routed, folder.path())?;
    let shown = |figures: &[f64]| format!("{:.1} ({:.1})", figures[figures.len() / 2], figures[0]);
    let ratio = slow[slow.len() / 2] / fast[fast.len() / 2];
    Ok(vec![
        topology.to_string(),
        fabric.switches().count().to_string(),
        ours.pairs.unwrap_or_default().to_string(),
        ours.verdict.to_string(),
        shown(&slow),
        shown(&fast),
        format!("{ratio:.0}"),
        memory(&ibdmchk_command(&routed, Ends::Cas, folder.path())?)?,
        memory(&audit_command(&auditor, &routed, Ends::Cas))?,
    ])
}

/// Milliseconds of a run of ibdmchk and of audit, one figure a round, the two in turn; in rising order.
fn measure(auditor: &Auditor, routed: &Routed, folder: &Path) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let (rounds, least_ticks) = if quick() { (3, 10) } else { (5, 50) };
    let mut ibdmchk = ibdmchk_command(routed, Ends::Cas, folder)?;
    let mut audit = audit_command(auditor, routed, Ends::Cas);
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        slow.push(round(&mut ibdmchk, least_ticks)?);
        fast.push(round(&mut audit, least_ticks)?);
    }
    slow.sort_by(f64::total_cmp);
    fast.sort_by(f64::total_cmp);
    Ok((slow, fast))
}

/// Runs a program until it has cost this number of ticks; returns the milliseconds of one run.
fn round(command: &mut Command, least_ticks: u64) -> Outcome<f64> {
    let (start, mut runs, mut ticks) = (ticks_of_children()?, 0, 0);
    while ticks < least_ticks {
        // The exit code is ignored: the verdicts were compared before.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        runs += 1;
        ticks = ticks_of_children()? - start;
    }
    Ok(1e3 * ticks as f64 / TICKS_PER_SECOND / f64::from(runs))
}

/// User and system time of all children that ended (`cutime`, `cstime` of proc_pid_stat(5)).
fn ticks_of_children() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let behind_name = text.rsplit_once(')').ok_or("no name in /proc/self/stat")?.1;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let (Some(user), Some(system)) = (fields.get(13), fields.get(14)) else {
        return Err("too few fields in /proc/self/stat".into());
    };
    Ok(user.parse::<u64>()? + system.parse::<u64>()?)
}

/// The most memory that a program held, in mebibytes; `?` without GNU time.
fn memory(command: &Command) -> Outcome<String> {
    if !missing(&["time"]).is_empty() {
        return Ok("?".into());
    }
    let mut timed = Command::new("time");
    timed.args(["-q", "-f", "%M"]).arg(command.get_program()).args(command.get_args());
    let output = timed.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let kibibytes = said.lines().rev().find_map(|line| line.trim().parse::<f64>().ok());
    Ok(kibibytes.map_or("?".into(), |kibibytes| format!("{:.1}", kibibytes / 1024.0)))
}
