//! The two judges of the same files: ibdmchk, and `reconfig audit`.

use super::opensm::Routed;
use crate::process::run::{Ended, run};
use reconfig::ids::Lid;
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The verdict on a routed subnet. ibdmchk looks for credit loops only if every pair has a path, so the first fault
/// that it finds is its verdict, and ours is read in that order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every pair has a path, and no credit loop.
    Free,
    /// Every pair has a path, and lanes wait for each other in a cycle.
    Loops,
    /// This number of pairs has no path.
    Broken(u64),
    /// No verdict: why.
    None(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Free => f.write_str("free"),
            Verdict::Loops => f.write_str("loops"),
            Verdict::Broken(pairs) => write!(f, "{pairs} pairs broken"),
            Verdict::None(why) => write!(f, "none ({why})"),
        }
    }
}

/// Who sends and receives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ends {
    /// CAs.
    Cas,
    /// CAs and switches (`-a`, `--switches`).
    All,
}

/// A verdict, and its cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    pub verdict: Verdict,
    /// Ordered pairs that were followed, if the judge reports them.
    pub pairs: Option<u64>,
    /// LIDs that no path of the topology reaches, if that ended the run.
    pub cut_off: Vec<Lid>,
    /// Components of lanes that hold loops, if the judge counts them.
    pub components: Option<u64>,
    pub seconds: f64,
}

/// How to start `reconfig`: as a program, or as this one under another name.
pub struct Auditor(pub PathBuf);

const LIMIT: Duration = Duration::from_secs(300);

/// The command by which ibdmchk judges the files.
pub fn ibdmchk_command(routed: &Routed, ends: Ends, folder: &Path) -> std::io::Result<Command> {
    // Multicast is not compared, so the file of groups is empty.
    let groups = folder.join("no-multicast");
    std::fs::write(&groups, "")?;
    let mut command = Command::new("ibdmchk");
    command.arg("-s").arg(&routed.subnet).arg("-f").arg(&routed.fdbs).arg("-m").arg(groups);
    optional(&mut command, "-d", routed.sl2vl.as_deref());
    optional(&mut command, "-c", routed.path_sl.as_deref());
    if routed.told_lmc > 0 {
        command.arg("-l").arg(routed.told_lmc.to_string());
    }
    if ends == Ends::All {
        command.arg("-a");
    }
    Ok(command)
}

/// The command by which `reconfig audit` judges the same files.
pub fn audit_command(auditor: &Auditor, routed: &Routed, ends: Ends) -> Command {
    let mut command = Command::new(&auditor.0);
    command.arg("audit").arg(&routed.subnet).arg("--fdbs").arg(&routed.fdbs).arg("--json");
    optional(&mut command, "--sl2vl", routed.sl2vl.as_deref());
    optional(&mut command, "--path-sl", routed.path_sl.as_deref());
    if routed.told_lmc > 0 {
        command.arg("--lmc").arg(routed.told_lmc.to_string());
    }
    if ends == Ends::All {
        command.arg("--switches");
    }
    command
}

fn optional(command: &mut Command, option: &str, file: Option<&Path>) {
    if let Some(file) = file {
        command.arg(option).arg(file);
    }
}

/// The verdict of ibdmchk.
pub fn ask_ibdmchk(routed: &Routed, ends: Ends, folder: &Path) -> std::io::Result<Judged> {
    let ended = run(&mut ibdmchk_command(routed, ends, folder)?, folder, "ibdmchk", LIMIT)?;
    Ok(read_ibdmchk(&ended))
}

/// The verdict is the line that ibdmchk prints, not its exit code: it crashes after every verdict, in a function that
/// promises a number and returns none (CrdLoopCleanup; fixed in its repository in 2017, not in Debian's package).
fn read_ibdmchk(ended: &Ended) -> Judged {
    let lines = || ended.output.lines();
    let number_after = |line: &str, word: &str| {
        let digits = line.split_once(word)?.1.split(' ').next()?;
        digits.parse::<u64>().ok()
    };
    let broken = lines().rev().find(|line| line.starts_with("-E- Found ") && line.contains(" missing paths out of:"));
    let verdict = if lines().any(|line| line == "-E- credit loops in routing") {
        Verdict::Loops
    } else if lines().any(|line| line == "-I- no credit loops found") {
        Verdict::Free
    } else if let Some(pairs) = broken.and_then(|line| number_after(line, "-E- Found ")) {
        Verdict::Broken(pairs)
    } else {
        let said = lines().rev().find(|line| line.starts_with("-E-")).unwrap_or_default();
        Verdict::None(format!("{}; {said}", ended.how))
    };
    let scanned =
        lines().rev().find(|line| line.starts_with("-I- Scanned:") || line.contains(" missing paths out of:"));
    let pairs = scanned.and_then(|line| number_after(line, "Scanned:").or_else(|| number_after(line, "out of:")));
    let cut_off = lines().filter(|line| line.starts_with("-W- Found - un-assigned hops for node:"));
    let cut_off =
        cut_off.filter_map(|line| line.rsplit_once(" to lid:")?.1.trim_end_matches(')').parse().ok().map(Lid));
    Judged { verdict, pairs, cut_off: cut_off.collect(), components: None, seconds: ended.seconds }
}

/// The verdict of `reconfig audit`.
pub fn ask_audit(auditor: &Auditor, routed: &Routed, ends: Ends, folder: &Path) -> std::io::Result<Judged> {
    let ended = run(&mut audit_command(auditor, routed, ends), folder, "audit", LIMIT)?;
    Ok(read_audit(&ended))
}

fn read_audit(ended: &Ended) -> Judged {
    let none = |why: String| Judged {
        verdict: Verdict::None(why),
        pairs: None,
        cut_off: Vec::new(),
        components: None,
        seconds: ended.seconds,
    };
    let report: Value = match serde_json::from_str(&ended.output) {
        Ok(report) => report,
        Err(_) => return none(format!("{}; {}", ended.how, ended.errors.lines().next().unwrap_or_default())),
    };
    let found = &report["subnets"][0]["tables"];
    let components = found["credit_loops"]["components"].as_array().map(|list| list.len() as u64);
    let (pairs, broken) = (found["pairs"].as_u64(), count(&found["unreachable_pairs"]));
    let (Some(loops), Some(broken)) = (components, broken) else { return none("a report without counts".into()) };
    let verdict = match (broken, loops) {
        (0, 0) => Verdict::Free,
        (0, _) => Verdict::Loops,
        (pairs, _) => Verdict::Broken(pairs),
    };
    // The report's verdict and the exit code must agree.
    let safe = verdict == Verdict::Free;
    if (report["verdict"] == "safe") != safe || ended.code != Some(i32::from(!safe)) {
        return none(format!("{} with verdict {} and counts that say {verdict}", ended.how, report["verdict"]));
    }
    Judged { verdict, pairs, cut_off: Vec::new(), components, seconds: ended.seconds }
}

/// A number, or the `count` of an object that lists some of what it counted.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value["count"].as_u64())
}
