//! `reconfig campaign`: many runs of the simulator by one description.

use super::input::{read_fabric, read_text, unreadable};
use super::outcome::{Answer, Failure};
use super::output::{self, Batch};
use super::progress::Counted;
use super::stderr::remark;
use super::{Common, FabricReading};
use crate::report::{self, counted};
use anyhow::{Context, anyhow};
use rayon::prelude::*;
use reconfig::campaign::{Campaign, RunKey, RunRow, SchemeSummary, pooled, summaries};
use reconfig::fabric::Fabric;
use reconfig::fabric::generate::{GenerateError, Options, Topology, generate};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;

/// The description in a folder of rows: rows of different campaigns do not belong together.
const DESCRIPTION: &str = "campaign.yaml";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Rows are appended to runs.csv in the folder as runs finish. If restarted, the command performs only the runs that \
have no row yet; once every run has one, it shows the summary. Each shard writes its own file, so that the tasks of a job \
array can share a folder; examples/slurm has a script. docs/CAMPAIGNS.md describes the file and its columns.

Examples:
  reconfig campaign failures.yaml --into results
  reconfig campaign failures.yaml --into results --shard 2/4
  reconfig campaign failures.yaml --into results --summary

Exit codes: 0 every run of the campaign, or of the shard, has a row; 1 some have none (with --summary); 2 wrong usage or unreadable \
input, or a folder in which another campaign is at work; 3 the work could not be carried out.")]
pub(super) struct Arguments {
    /// YAML file that describes the campaign.
    file: PathBuf,
    /// Folder for the rows; created if it does not exist.
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Perform only every N-th run, starting with the I-th.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Runs to perform in parallel [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Perform no runs; summarise the rows in the folder.
    #[arg(long, conflicts_with_all = ["shard", "threads"])]
    summary: bool,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

/// One of several parts of a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shard {
    index: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("`{text}` is not I/N with I from 1 to N, such as 2/4");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let (index, of): (usize, usize) = (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if (1..=of).contains(&index) { Ok(Shard { index, of }) } else { Err(wrong()) }
    }
}

impl Shard {
    fn has(self, key: &RunKey) -> bool {
        key.run % self.of == self.index - 1
    }

    fn file(self) -> String {
        if self.of == 1 { "runs.csv".to_string() } else { format!("runs-{}-of-{}.csv", self.index, self.of) }
    }
}

#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct CampaignDocument<'a> {
    schema: &'static str,
    runs: usize,
    rows: usize,
    summaries: &'a [SchemeSummary],
    pooled: &'a [SchemeSummary],
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let (name, text) = read_text(&arguments.file)?;
    let campaign = Campaign::read(&text, &name).map_err(unreadable)?;
    let keys = campaign.runs();
    if arguments.summary {
        check_description(&arguments.into, &text)?;
        let rows = rows_in(&arguments.into, &keys)?;
        show(&campaign, &keys, &rows, common)?;
        return Ok((rows.len() == keys.len()).into());
    }
    output::check_folder("--into", &arguments.into)?;
    let fabrics = fabrics(&campaign, (&name, &text), common)?;
    prepare(&arguments.into, &text)?;
    let shard = arguments.shard.unwrap_or(Shard { index: 1, of: 1 });
    let file = arguments.into.join(shard.file());
    let mut held = hold(&file)?;
    heal(&file)?;
    // Rows of an earlier version lack columns, and rows with more of them must not follow.
    if lacks_columns(&file)? {
        sort(&file, &keys)?;
        held = hold(&file)?;
    }
    let done: BTreeSet<usize> = rows_in(&arguments.into, &keys)?.into_iter().map(|row| row.run).collect();
    let open: Vec<&RunKey> = keys.iter().filter(|key| shard.has(key) && !done.contains(&key.run)).collect();
    // The runs of this shard may all be in files of other shards, and a file without a row is useless.
    if open.is_empty() && is_empty(&held) {
        fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display())).map_err(Failure::undone)?;
    } else {
        // Both names of the open file hold its lock.
        let opened = held.try_clone().map_err(Failure::undone)?;
        carry_out(arguments, &campaign, &fabrics, &open, &file, opened)?;
        sort(&file, &keys)?;
    }
    let rows = rows_in(&arguments.into, &keys)?;
    if rows.len() == keys.len() {
        show(&campaign, &keys, &rows, common)?;
    } else {
        remark(&format!("{} of {} runs have a row in {}", rows.len(), keys.len(), arguments.into.display()));
    }
    Ok(Answer::Yes)
}

/// The fabrics of files, which are in the folder of the description.
fn fabrics(
    campaign: &Campaign,
    (file, text): (&str, &str),
    common: Common,
) -> Result<BTreeMap<String, Fabric>, Failure> {
    let beside = Path::new(file).parent().unwrap_or(Path::new(""));
    let refused = |name: &str, why: &str| unreadable(Campaign::without_fabric(text, file, name, why));
    // A generator that no seed can draw is found before the first run.
    for name in &campaign.fabrics {
        if let Ok(topology) = name.parse::<Topology>()
            && let Err(error @ (GenerateError::Impossible { .. } | GenerateError::Radix { .. })) =
                generate(&topology, &Options::default())
        {
            return Err(refused(name, &error.as_asked(name).to_string()));
        }
    }
    let read = |name: &str| {
        let path = beside.join(name);
        // A generator whose name is misspelled is taken for a file.
        match name.parse::<Topology>() {
            Err(error) if !path.exists() => {
                let as_generator =
                    if name.contains(':') { format!(", and as a generator: {error}") } else { String::new() };
                Err(refused(name, &format!("there is no file {}{as_generator}", path.display())))
            }
            _ => Ok((name.to_string(), read_fabric(&path, common)?)),
        }
    };
    campaign.files().map(read).collect()
}

/// Creates the folder with the description, or checks that it is of the same one.
fn prepare(folder: &Path, text: &str) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))
        .map_err(Failure::undone)?;
    let kept = folder.join(DESCRIPTION);
    if !kept.exists() {
        let mut batch = Batch::default();
        batch.stage_text(&kept, text.to_string())?;
        batch.finish()?;
    }
    check_description(folder, text)
}

fn check_description(folder: &Path, text: &str) -> Result<(), Failure> {
    let kept = folder.join(DESCRIPTION);
    let found = fs::read_to_string(&kept)
        .with_context(|| format!("{} is no folder of a campaign: it has no {DESCRIPTION}", folder.display()))
        .map_err(Failure::input)?;
    if found == text {
        return Ok(());
    }
    Err(Failure::input(anyhow!(
        "{} has the rows of another campaign, that of its {DESCRIPTION}: name another folder, or that description",
        folder.display()
    )))
}

/// The file of rows, created if it does not exist, which no other process may write until this one ends, in whatever
/// manner it does.
fn hold(file: &Path) -> Result<File, Failure> {
    let cannot = || format!("cannot write {}", file.display());
    loop {
        let opened = OpenOptions::new().create(true).append(true).open(file).with_context(cannot);
        let opened = opened.map_err(Failure::undone)?;
        match opened.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::input(anyhow!(
                    "another campaign is writing {}, and the rows of two would mix: wait until it has ended, or name \
                     another folder; nothing was written",
                    file.display()
                )));
            }
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                remark(&format!(
                    "{} is in a file system without locks: see to it that no other campaign writes it",
                    file.display()
                ));
                return Ok(opened);
            }
            Err(TryLockError::Error(error)) => return Err(Failure::undone(anyhow!(error).context(cannot()))),
        }
        // Between opening and locking it, a campaign that ended may have replaced or removed it.
        if is_at(&opened, file) {
            return Ok(opened);
        }
    }
}

fn is_empty(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.len() == 0)
}

/// Whether an open file is what its name still leads to.
fn is_at(opened: &File, file: &Path) -> bool {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    let [own, named] = [opened.metadata(), fs::metadata(file)].map(|found| found.ok().map(id));
    own.is_some() && own == named
}

/// Removes a last line that was not written completely.
fn heal(file: &Path) -> Result<(), Failure> {
    let Ok(text) = fs::read(file) else { return Ok(()) };
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let cut = || OpenOptions::new().write(true).open(file)?.set_len(whole as u64);
    if whole < text.len() {
        cut().with_context(|| format!("cannot mend {}", file.display())).map_err(Failure::undone)?;
    }
    Ok(())
}

/// The rows of the campaign in a folder, by run; a line that is being written is not one yet.
fn rows_in(folder: &Path, keys: &[RunKey]) -> Result<Vec<RunRow>, Failure> {
    let mut rows: BTreeMap<usize, RunRow> = BTreeMap::new();
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))
        .map_err(Failure::input)?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.sort_unstable();
    let is_rows = |file: &&PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("runs") && name.ends_with(".csv")
    };
    for file in files.iter().filter(is_rows) {
        for row in read_rows(file)? {
            if !keys.get(row.run).is_some_and(|key| row.is_of(key)) {
                let (run, file) = (row.run, file.display());
                return Err(Failure::input(anyhow!("{file}: the row of run {run} belongs to another campaign")));
            }
            rows.insert(row.run, row);
        }
    }
    Ok(rows.into_values().collect())
}

fn read_rows(file: &Path) -> Result<Vec<RunRow>, Failure> {
    let mut text = fs::read(file).with_context(|| format!("cannot read {}", file.display())).map_err(Failure::input)?;
    text.truncate(text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1));
    let rows: Result<Vec<RunRow>, csv::Error> = csv::Reader::from_reader(&text[..]).deserialize().collect();
    rows.with_context(|| format!("{} has other columns than rows of runs", file.display())).map_err(Failure::input)
}

fn carry_out(
    arguments: &Arguments,
    campaign: &Campaign,
    fabrics: &BTreeMap<String, Fabric>,
    open: &[&RunKey],
    file: &Path,
    opened: File,
) -> Result<(), Failure> {
    let cannot = || format!("cannot write {}", file.display());
    let writer = Mutex::new(csv::WriterBuilder::new().has_headers(is_empty(&opened)).from_writer(opened));
    let threads = arguments.threads.map_or(0, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::undone)?;
    remark(&format!("{} to carry out", counted(open.len() as u64, "run")));
    let progress = Counted::of(open.len(), "runs");
    let written = pool.install(|| {
        // One at a time, so that a campaign that is killed has lost no more than a run for each thread.
        open.par_iter().with_max_len(1).try_for_each(|key| {
            let row = campaign.carry_out(key, |name| fabrics.get(name).cloned());
            progress.passes();
            append(&writer, &row)
        })
    });
    drop(progress);
    written.with_context(cannot).map_err(Failure::undone)
}

fn append(writer: &Mutex<csv::Writer<File>>, row: &RunRow) -> Result<(), anyhow::Error> {
    let mut writer = writer.lock().map_err(|_| anyhow!("another run ended in a panic"))?;
    writer.serialize(row)?;
    writer.flush()?;
    Ok(())
}

/// Whether a file has rows under another heading than rows have now.
fn lacks_columns(file: &Path) -> Result<bool, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(RunRow::default()).map_err(Failure::undone)?;
    let now = writer.into_inner().map_err(|error| Failure::undone(anyhow!("{error}")))?;
    let heading = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').next().map(<[u8]>::to_vec);
    let found = fs::read(file).with_context(|| format!("cannot read {}", file.display())).map_err(Failure::input)?;
    Ok(!found.is_empty() && heading(&found) != heading(&now))
}

/// Puts the rows of a file in order, so that the same campaign gives the same file.
fn sort(file: &Path, keys: &[RunKey]) -> Result<(), Failure> {
    let mut rows = read_rows(file)?;
    rows.sort_by_key(|row| row.run);
    rows.retain(|row| row.run < keys.len());
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row)).map_err(Failure::undone)?;
    let bytes = writer.into_inner().map_err(|error| Failure::undone(anyhow!("{error}")))?;
    let mut batch = Batch::default();
    batch.stage_text(file, String::from_utf8_lossy(&bytes).into_owned())?;
    batch.finish()
}

fn show(campaign: &Campaign, keys: &[RunKey], rows: &[RunRow], common: Common) -> Result<(), Failure> {
    let (summaries, pooled) = (summaries(rows), pooled(rows));
    let document = CampaignDocument {
        schema: "reconfig.campaign-summary/1",
        runs: keys.len(),
        rows: rows.len(),
        summaries: &summaries,
        pooled: &pooled,
    };
    if common.json {
        return output::print_json(&document);
    }
    output::print(&report::campaign(keys.len(), rows.len(), campaign.planned, &summaries, &pooled))
}
