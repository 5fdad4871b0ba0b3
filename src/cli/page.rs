//! `--report FILE.html`: the result as a page, with what is needed to make it again.

use super::outcome::Failure;
use super::output::Batch;
use crate::report::Origin;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{self, Format};
use sha2::{Digest, Sha256};
use std::path::Path;

/// A page that is requested.
pub(super) struct Page<'a> {
    file: &'a Path,
    pub(super) origin: Origin,
}

impl<'a> Page<'a> {
    /// Its digest is of the fabrics as they were read, whatever the formats of their files.
    pub(super) fn of<'f>(file: &'a Path, fabrics: impl IntoIterator<Item = &'f Fabric>) -> Result<Page<'a>, Failure> {
        let mut digest = Sha256::new();
        let mut read = 0;
        for fabric in fabrics {
            digest.update(format::write(fabric, Format::Json).map_err(Failure::undone)?);
            read += 1;
        }
        let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let digest = (read > 0).then(|| format!("SHA-256 {digest}, of `reconfig fabric convert --to json`"));
        Ok(Page { file, origin: Origin { command: command(), version: env!("CARGO_PKG_VERSION"), digest } })
    }

    /// Adds the page to files that appear together.
    pub(super) fn stage(&self, text: String, batch: &mut Batch) -> Result<(), Failure> {
        batch.stage_text(self.file, text)
    }
}

/// The command line, as a shell takes it.
fn command() -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy()));
    format!("reconfig {}", arguments.collect::<Vec<_>>().join(" "))
}

fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,+@%-".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_string();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}
