//! What accepted changes leave: the plan and the certificate of its proof, as `reconfig check` judges them.
//!
//! On entry: a folder, a bound, and a plan. On return: two files named by their number, after the oldest have gone that
//! the bound leaves no room for. A plan is made into text and its certificate anew here, so that the run of the routing
//! need not wait for either.

use crate::config::EvidenceConfig;
use crate::plans::{self, NoPlan};
use crate::sight::Sight;
use reconfig::tables::Lft;
use reconfig::verify::{self, Binding};
use reconfig::vet::Vetted;
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
    let number = held.iter().map(|file| file.number).max().unwrap_or(0) + 1;
    let size = text.len() + certificate.as_ref().map_or(0, String::len);
    make_room(&held, (config.mib << 20).saturating_sub(size as u64));
    let file = config.folder.join(format!("{number:06}.plan"));
    fs::write(&file, text).map_err(|error| within(error, &file))?;
    if let Some(certificate) = certificate {
        let file = file.with_extension("certificate");
        fs::write(&file, certificate).map_err(|error| within(error, &file))?;
    }
    Ok(file)
}

/// A file of this folder that we wrote.
struct Kept {
    number: u32,
    path: PathBuf,
    size: u64,
}

fn listed(folder: &Path) -> io::Result<Vec<Kept>> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let ours = path.extension().is_some_and(|kind| kind == "plan" || kind == "certificate");
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        if let Some(number) = number.filter(|_| ours) {
            kept.push(Kept { number, size: entry.metadata()?.len(), path });
        }
    }
    kept.sort_by_key(|file| file.number);
    Ok(kept)
}

/// Removes the oldest until what is left is no larger; a file that somebody else removed meanwhile is gone all the same.
fn make_room(held: &[Kept], most: u64) {
    let mut size: u64 = held.iter().map(|file| file.size).sum();
    for file in held {
        if size <= most {
            return;
        }
        size -= file.size;
        let _ = fs::remove_file(&file.path);
    }
}
