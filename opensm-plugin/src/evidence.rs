//! What accepted changes leave: the plan and the certificate of its proof, as `reconfig check` judges them.
//!
//! On entry: a folder, a bound, and a plan. On return: two files named by their number, after the oldest pairs have
//! gone that the bound leaves no room for. A plan is made into text and its certificate anew here, so that the run of
//! the routing need not wait for either.

use crate::config::EvidenceConfig;
use crate::plans::{self, NoPlan};
use crate::sight::Sight;
use reconfig::tables::Lft;
use reconfig::verify::{self, Binding};
use reconfig::vet::Vetted;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was handed to OpenSM, proved.
#[derive(Clone, Debug)]
pub enum Accepted {
    /// A plan that prover, checker and lint accepted.
    Plan(Arc<Vetted>),
    /// Tables that the prover accepted by themselves, for switches without any entry.
    BringUp {
        /// What they were made for.
        sight: Box<Sight>,
        /// By node: the tables.
        lfts: Vec<Arc<Lft>>,
    },
}

impl Accepted {
    /// The plan, which checker and lint accept too.
    ///
    /// # Errors
    /// A judge objects: one of them is wrong.
    pub fn plan(self) -> Result<Arc<Vetted>, NoPlan> {
        match self {
            Accepted::Plan(plan) => Ok(plan),
            Accepted::BringUp { sight, lfts } => plans::in_one_wave(&sight, lfts),
        }
    }
}

/// Keeps a plan.
///
/// # Errors
/// What prevented it, with the file.
pub fn keep(config: &EvidenceConfig, plan: &Vetted) -> Result<PathBuf, String> {
    let within = |error: io::Error, path: &Path| format!("evidence: {}: {error}", path.display());
    fs::create_dir_all(&config.folder).map_err(|error| within(error, &config.folder))?;
    let plan = plan.noted();
    let text = plan.to_json();
    let (proved, certificate) =
        verify::prove_certified(plan).map_err(|(_, refusal)| format!("evidence: not proved again: {refusal}"))?;
    let certificate = certificate.map(|own| own.to_text(&proved.get().binding(Binding::digest(text.as_bytes()))));
    let held = listed(&config.folder).map_err(|error| within(error, &config.folder))?;
    let number = held.keys().next_back().map_or(0, |last| last + 1).max(1);
    let size = text.len() + certificate.as_ref().map_or(0, String::len);
    make_room(held, (config.mib << 20).saturating_sub(size as u64));
    let file = config.folder.join(format!("{number:06}.plan"));
    // The certificate first: a plan that is there has it. Nothing stays of what cannot be written whole.
    let beside = file.with_extension("certificate");
    let certificate = certificate.map_or(Ok(()), |own| fs::write(&beside, own).map_err(|error| within(error, &beside)));
    let written = certificate.and_then(|()| fs::write(&file, text).map_err(|error| within(error, &file)));
    if written.is_err() {
        [&file, &beside].into_iter().for_each(|half| drop(fs::remove_file(half)));
    }
    written?;
    Ok(file)
}

/// What was kept of one change: its plan and its certificate.
#[derive(Default)]
struct Pair {
    paths: Vec<PathBuf>,
    size: u64,
}

/// By number: the pairs of this folder that we wrote.
fn listed(folder: &Path) -> io::Result<BTreeMap<u32, Pair>> {
    let mut kept: BTreeMap<u32, Pair> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let ours = path.extension().is_some_and(|kind| kind == "plan" || kind == "certificate");
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        if let Some(number) = number.filter(|_| ours) {
            let pair = kept.entry(number).or_default();
            pair.size += entry.metadata()?.len();
            pair.paths.push(path);
        }
    }
    Ok(kept)
}

/// Removes the oldest pairs until what is left is no larger; a file that somebody else removed meanwhile is gone all
/// the same.
fn make_room(held: BTreeMap<u32, Pair>, most: u64) {
    let mut size: u64 = held.values().map(|pair| pair.size).sum();
    for pair in held.into_values() {
        if size <= most {
            return;
        }
        size -= pair.size;
        pair.paths.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}
