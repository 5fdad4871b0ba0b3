//! No result replaces a file that was read for it.
//!
//! Readers and writers of every command end in a few functions, which say here what they read and what is to be
//! written. Files are compared by device and inode, so that neither a link nor another spelling of a name hides that
//! two names lead to one file. Devices and pipes may be both.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Device and inode.
type FileId = (u64, u64);

/// What this process has read, and what existed of what it is to write.
static FILES: Mutex<[Vec<FileId>; 2]> = Mutex::new([Vec::new(), Vec::new()]);

/// Says that a file is to be written.
///
/// # Errors
/// It was read.
pub(super) fn will_write(file: &Path) -> Result<()> {
    note(file, 1)
}

/// Says that a file is about to be read.
///
/// # Errors
/// It is to be written.
pub(super) fn will_read(file: &Path) -> Result<()> {
    note(file, 0)
}

/// Whether a file was read.
pub(super) fn is_read(file: &Path) -> bool {
    id(file).is_some_and(|own| FILES.lock().unwrap_or_else(PoisonError::into_inner)[0].contains(&own))
}

/// Notes a file in one of the lists, unless it is in the other one.
fn note(file: &Path, list: usize) -> Result<()> {
    let Some(own) = id(file) else { return Ok(()) };
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    if files[1 - list].contains(&own) {
        return Err(both(file));
    }
    files[list].push(own);
    Ok(())
}

fn both(file: &Path) -> Error {
    let why = format!(
        "{} is an input, and an option names it for a result, which would replace it: give the result another name; \
         nothing was written",
        file.display()
    );
    Error::new(ErrorKind::InvalidInput, why)
}

/// The identity of a file that exists; `None` for what cannot be replaced.
fn id(file: &Path) -> Option<FileId> {
    fs::metadata(file).ok().filter(fs::Metadata::is_file).map(|found| (found.dev(), found.ino()))
}
