//! Pages of HTML beside a command's result, and how to make them again.

use super::outcome::Failure;
use super::output::Batch;
use crate::report::Origin;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{self, Format};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The page that is requested.
pub(super) struct Page<'a> {
    file: &'a Path,
    origin: Origin,
}

impl<'a> Page<'a> {
    /// The digest is of the fabric as it was read, whatever the format of its file.
    pub(super) fn new<'f>(file: &'a Path, fabrics: impl Iterator<Item = &'f Fabric>) -> Result<Page<'a>, Failure> {
        let mut digest = Sha256::new();
        for fabric in fabrics {
            digest.update(format::write(fabric, Format::Json).map_err(Failure::undone)?);
        }
        let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let command: Vec<String> =
            std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy())).collect();
        let origin = Origin {
            command: format!("reconfig {}", command.join(" ")),
            version: env!("CARGO_PKG_VERSION"),
            digest: format!("SHA-256 {digest}, of `reconfig fabric convert --to json`"),
        };
        Ok(Page { file, origin })
    }

    /// Puts it among the files to be written.
    pub(super) fn stage(&self, batch: &mut Batch, page: impl FnOnce(&Origin) -> String) -> Result<(), Failure> {
        batch.stage_text(self.file, page(&self.origin))
    }
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,+@%-".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_string();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}
