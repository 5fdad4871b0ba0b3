//! `reconfig journal`: what a manager recorded before it acted.

use super::clobber;
use super::outcome::{Answer, Failure};
use super::{Common, output};
use crate::report::counted;
use anyhow::anyhow;
use clap::Subcommand;
use reconfig::fabric::{Fabric, difference, split_port};
use reconfig::ids::{Guid, PortNum};
use reconfig::journal::{ChangeBegun, JournalEntry, JournalRecord, read};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

#[derive(Debug, Subcommand)]
pub(super) enum JournalCommand {
    /// List the records of a journal, and show where an unfinished change stands.
    #[command(after_help = "\
Examples:
  reconfig journal show
  reconfig journal show /var/lib/reconfig/sm-0x0010000000000001.journal
  reconfig journal show --plan plan.json && reconfig check plan.json

Exit codes: 0 no change is unfinished; 1 a change is unfinished; 2 wrong usage, or not a journal.")]
    Show {
        /// The journal, or its folder [default: the folder used by `reconfig sm`].
        #[arg(value_name = "JOURNAL")]
        journal: Option<PathBuf>,
        /// Write the plan of the last change to FILE.
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
    },
}

/// The default folder of a manager's journal.
///
/// # Errors
/// The user has no home.
pub(super) fn default_folder() -> Result<PathBuf, Failure> {
    if let Some(folder) = std::env::var_os("STATE_DIRECTORY") {
        return Ok(folder.into());
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if rustix::process::geteuid().is_root() {
        return Ok("/var/lib/reconfig".into());
    }
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    let folder = variable("XDG_STATE_HOME").or_else(home).map(|folder| folder.join("reconfig"));
    folder.ok_or_else(|| Failure::input(anyhow!("HOME is not set: name a folder for the journal (--journal DIR)")))
}

/// The name of the journal of the manager at a port.
pub(super) fn file_name(guid: Guid) -> String {
    format!("sm-{guid}.journal")
}

/// The report of `journal show`.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(super) struct JournalReport<'a> {
    schema: &'static str,
    journal: String,
    /// The records, without their plans.
    records: Vec<serde_json::Value>,
    /// What is wrong with the tail.
    torn: Option<String>,
    /// The last record of the unfinished change.
    standing: Option<&'a JournalEntry>,
}

pub(super) fn run(command: &JournalCommand, common: Common) -> Result<Answer, Failure> {
    let JournalCommand::Show { journal, plan } = command;
    let path = found(journal.clone().map_or_else(default_folder, Ok)?)?;
    clobber::will_read(&path).map_err(Failure::input)?;
    let (entries, torn) = read(&path).map_err(Failure::input)?;
    let begun = entries.iter().rev().find_map(|entry| match &entry.record {
        JournalRecord::Begun(begun) => Some(&**begun),
        _ => None,
    });
    if let Some(file) = plan {
        let begun = begun.ok_or_else(|| Failure::input(anyhow!("{} records no change", path.display())))?;
        output::deliver(&begun.plan_file().map_err(Failure::input)?, Some(file))?;
    }
    let standing = standing(&entries);
    if common.json {
        let records = entries.iter().map(without_plan).collect();
        let journal = path.display().to_string();
        output::print_json(&JournalReport { schema: "reconfig.journal-show/1", journal, records, torn, standing })?;
    } else {
        output::print(&text(&path, &entries, torn.as_deref(), begun.filter(|_| standing.is_some())))?;
    }
    Ok(if standing.is_some() { Answer::No } else { Answer::Yes })
}

/// The journal at a path: itself, or the only one in the folder.
fn found(path: PathBuf) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path);
    }
    let failed = |error| Failure::input(anyhow!("reading the folder {}: {error}", path.display()));
    let entries = std::fs::read_dir(&path).map_err(failed)?;
    let mut journals: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    journals.retain(|path| path.extension().is_some_and(|extension| extension == "journal"));
    journals.sort_unstable();
    match &journals[..] {
        [one] => Ok(one.clone()),
        [] => Err(Failure::input(anyhow!("there is no journal in {}", path.display()))),
        several => {
            let names: Vec<_> = several.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::input(anyhow!("there are several journals: name one of {}", names.join(", "))))
        }
    }
}

/// The last record, if it is of an unfinished change.
fn standing(entries: &[JournalEntry]) -> Option<&JournalEntry> {
    entries.iter().fold(None, |standing, entry| match entry.record {
        JournalRecord::Begun(_) => Some(entry),
        JournalRecord::Asked { .. } | JournalRecord::Halted { .. } => standing.map(|_| entry),
        JournalRecord::Completed
        | JournalRecord::Followed
        | JournalRecord::CalledOff { .. }
        | JournalRecord::Abandoned { .. }
        | JournalRecord::GivenUp { .. } => None,
        JournalRecord::Opened { .. } | JournalRecord::Aside { .. } => standing,
    })
}

fn without_plan(entry: &JournalEntry) -> serde_json::Value {
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("plan");
    }
    value
}

fn text(path: &Path, entries: &[JournalEntry], torn: Option<&str>, standing: Option<&ChangeBegun>) -> String {
    let mut text = format!("{}\n", path.display());
    let names = aside_names(entries);
    for entry in entries {
        let (kind, what) = in_words(&entry.record, &names);
        let line = format!("{}  {kind:<15} {what}", time(entry.at_ns));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if let Some(torn) = torn {
        let _ = writeln!(text, "The tail is torn ({torn}).");
    }
    let last = entries.iter().rev().find_map(|entry| match &entry.record {
        JournalRecord::Asked { name, position, .. } => Some(format!("{position} of WAVES ({name})")),
        JournalRecord::Begun(_) => Some("before its first wave".to_string()),
        _ => None,
    });
    let _ = match (standing, last) {
        (Some(begun), Some(last)) => {
            let last = last.replace("WAVES", &begun.waves.to_string());
            writeln!(text, "A change by `{}` stands {last}: `reconfig sm` goes on with it.", begun.scheme)
        }
        _ => writeln!(text, "No change stands."),
    };
    text
}

/// Unix time as a date; simulated time in milliseconds.
fn time(at_ns: u64) -> String {
    const YEAR_2000_NS: u64 = 946_684_800_000_000_000;
    match at_ns {
        YEAR_2000_NS.. => humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_nanos(at_ns)).to_string(),
        _ => format!("{:>12.6} ms", at_ns as f64 / 1e6),
    }
}

/// Readable names of elements that are or were set aside, by their names in the journal, as far as its plans know them.
fn aside_names(entries: &[JournalEntry]) -> BTreeMap<&str, String> {
    let recorded = entries.iter().flat_map(|entry| match &entry.record {
        JournalRecord::Aside { elements } => &elements[..],
        _ => &[],
    });
    let mut unnamed: Vec<&str> = recorded.map(String::as_str).collect();
    let mut names = BTreeMap::new();
    for entry in entries.iter().rev() {
        let JournalRecord::Begun(begun) = &entry.record else { continue };
        if unnamed.is_empty() {
            break;
        }
        let Ok(plan) = begun.plan() else { continue };
        let named = unnamed.iter().filter_map(|&name| Some((name, described(&plan.draft().before, name)?)));
        names.extend(named.collect::<Vec<_>>());
        unnamed.retain(|name| !names.contains_key(name));
    }
    names
}

/// The description of a switch that is named by its GUID, or of a port that is named `GUID:PORT`.
fn described(fabric: &Fabric, name: &str) -> Option<String> {
    let (guid, port) = split_port(name).map_or((name, None), |(guid, port)| (guid, Some(port)));
    let node = fabric.by_guid(guid.parse().ok()?)?;
    let port = port.map(|port| fabric.port_at(node, PortNum(port.parse().ok()?)));
    let text = match port {
        Some(port) => fabric.describe_port(port?),
        None => fabric.describe_node(node),
    };
    (!text.starts_with(guid)).then_some(text)
}

fn in_words<'a>(record: &'a JournalRecord, names: &BTreeMap<&str, String>) -> (&'a str, String) {
    match record {
        JournalRecord::Opened { version, .. } => ("opened", format!("by version {version}")),
        JournalRecord::Aside { elements } if elements.is_empty() => ("aside", "nothing".to_string()),
        JournalRecord::Aside { elements } => {
            let named = |element: &String| match names.get(element.as_str()) {
                Some(name) => format!("{element} ({name})"),
                None => element.clone(),
            };
            ("aside", elements.iter().map(named).collect::<Vec<_>>().join(", "))
        }
        JournalRecord::Begun(begun) => {
            let root = begun.root.map_or(String::new(), |root| format!(", root {root}"));
            let ChangeBegun { scheme, waves, writes, engine, .. } = &**begun;
            let (writes, waves) = (counted(*writes as u64, "write"), counted(*waves as u64, "wave"));
            // A plan that cannot be read does not reveal its purpose.
            let plan = begun.plan().ok();
            let moved = plan.and_then(|plan| difference::moved(&plan.draft().routed, &plan.draft().after));
            let moved = moved.map_or_else(String::new, |moved| format!("{moved}; "));
            ("begun", format!("{moved}{scheme}: {writes} in {waves}; routing by {engine}{root}"))
        }
        JournalRecord::Asked { command, name, position } => (command, format!("{position} ({name})")),
        JournalRecord::Completed => ("completed", String::new()),
        JournalRecord::Followed => ("followed", "the retired half leads where the half in use leads".to_string()),
        JournalRecord::CalledOff { why } => ("called off", why.to_string()),
        JournalRecord::Halted { state, reason } => ("halted", format!("{state}: {reason}")),
        JournalRecord::Abandoned { why } => ("abandoned", why.clone()),
        JournalRecord::GivenUp { why } => ("given up", format!("{why}: no change is recorded from here on")),
    }
}
