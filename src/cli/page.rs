//! `--report FILE.html`: the result as a page, with what is needed to make it again.

use super::input::{self, ReadFile};
use super::outcome::Failure;
use super::output::Batch;
use crate::report::Origin;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{self, Format};
use sha2::{Digest, Sha256};
use std::cell::LazyCell;
use std::path::Path;

/// The most files whose digests are listed one by one.
const MOST_FILES: usize = 12;

/// A page that is requested.
pub(super) struct Page<'a> {
    file: &'a Path,
    /// Made when the page is written: only then has all been read that the result depends on.
    pub(super) origin: LazyCell<Origin, Box<dyn FnOnce() -> Origin>>,
}

impl<'a> Page<'a> {
    /// Its digests are of the fabrics as they were read, whatever the formats of their files, and of every file that
    /// has been read by the time that the page is written.
    pub(super) fn of<'f>(file: &'a Path, fabrics: impl IntoIterator<Item = &'f Fabric>) -> Result<Page<'a>, Failure> {
        let mut digest = Sha256::new();
        let mut read = 0;
        for fabric in fabrics {
            digest.update(format::write(fabric, Format::Json).map_err(Failure::undone)?);
            read += 1;
        }
        let digest = input::hexadecimal(&digest.finalize());
        let digest = (read > 0).then(|| format!("SHA-256 {digest}, of what reconfig fabric convert --to json writes"));
        let origin = || Origin {
            command: command(),
            version: env!("CARGO_PKG_VERSION"),
            digest,
            files: digests(&input::files_read()),
        };
        Ok(Page { file, origin: LazyCell::new(Box::new(origin)) })
    }

    /// Adds the page to files that appear together.
    pub(super) fn stage(&self, text: String, batch: &mut Batch) -> Result<(), Failure> {
        batch.stage_text(self.file, text)
    }
}

/// What files are called, and their digests: as `sha256sum` prints them, or, of a folder full of dumps, one for all.
fn digests(files: &[ReadFile]) -> Vec<(String, String)> {
    if files.len() <= MOST_FILES {
        return files.iter().map(|own| (format!("SHA-256 of {}", own.name), own.sha256.clone())).collect();
    }
    let mut all = Sha256::new();
    files.iter().for_each(|own| all.update(format!("{}  {}\n", own.sha256, own.name)));
    let all = input::hexadecimal(&all.finalize());
    vec![(format!("SHA-256 of the lines that sha256sum prints of the {} files read, in that order", files.len()), all)]
}

/// The command line, as a shell takes it.
pub(super) fn command() -> String {
    shell(std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()))
}

/// A command line of this program with these arguments, as a shell takes it.
pub(super) fn shell(arguments: impl IntoIterator<Item = String>) -> String {
    let quoted = arguments.into_iter().map(|argument| quoted(&argument));
    format!("reconfig {}", quoted.collect::<Vec<_>>().join(" "))
}

fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,+@%-".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_string();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_have_one_digest_in_which_each_counts() {
        let read =
            |rank: usize, byte: u8| ReadFile { name: format!("dump-{rank}"), sha256: input::hexadecimal(&[byte]) };
        let of =
            |last: u8| digests(&(0..20).map(|rank| read(rank, if rank == 19 { last } else { 0 })).collect::<Vec<_>>());
        assert_eq!(of(1).len(), 1);
        assert_ne!(of(1), of(2));
        assert_eq!(digests(&[read(0, 0xab)]), [("SHA-256 of dump-0".to_string(), "ab".to_string())]);
    }
}
