//! The `guid2lid` file on disk: read whole and replaced whole. A reader sees the old file or the new one, never a part.

use crate::fabric::format::ReadError;
use crate::files::read_at_most;
use crate::lid::Guid2Lid;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why LIDs cannot be loaded or stored.
#[derive(Debug, thiserror::Error)]
pub enum LidFileError {
    /// The file exists and cannot be read.
    #[error("reading LIDs from {path}: {source}; let the manager read it, or choose another cache folder")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not have this format.
    #[error("{0}; correct the line, or move the file away: LIDs are then assigned anew where ports hold none")]
    Format(ReadError),
    /// The file cannot be replaced.
    #[error("writing LIDs to {path}: {source}; let the manager write there, or choose another cache folder")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Bytes of such a file: many times the LIDs that there are.
const MOST_BYTES: u64 = 16 << 20;

/// Reads the file; a missing file holds no LIDs.
///
/// # Errors
/// The file exists and cannot be read, or has another format.
pub fn load(path: &Path) -> Result<Guid2Lid, LidFileError> {
    match read_at_most(path, MOST_BYTES) {
        Ok(bytes) => Guid2Lid::read(&bytes, &path.display().to_string()).map_err(LidFileError::Format),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Guid2Lid::new()),
        Err(source) => Err(LidFileError::Read { path: path.into(), source }),
    }
}

/// Writes and syncs a new file beside the old one, then renames it.
///
/// # Errors
/// The folder is missing or not writable, or the disk is full; the old file is unchanged.
pub fn save(path: &Path, lids: &Guid2Lid) -> Result<(), LidFileError> {
    let beside = path.with_added_extension("tmp");
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(lids.write().as_bytes())?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&beside, path));
    replaced.map_err(|source| {
        // A half-written file is of no use; if it cannot be removed, it was not created either.
        let _ = fs::remove_file(&beside);
        LidFileError::Write { path: path.into(), source }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_and_nothing_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guid2lid");
        assert_eq!(load(&path).unwrap(), Guid2Lid::new(), "no file yet");
        let lids = Guid2Lid::read(b"0x1 2 3\n", "test").unwrap();
        save(&path, &lids).unwrap();
        save(&path, &lids).unwrap();
        assert_eq!(load(&path).unwrap(), lids);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_none_and_a_folder_that_is_none_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guid2lid");
        fs::write(&path, "0x1 2\n").unwrap();
        let message = load(&path).unwrap_err().to_string();
        assert!(message.contains("guid2lid:1:6: the line ends too early"), "{message}");
        let nowhere = folder.path().join("nowhere/guid2lid");
        assert!(matches!(save(&nowhere, &Guid2Lid::new()), Err(LidFileError::Write { .. })));
        assert!(matches!(load(folder.path()), Err(LidFileError::Read { .. })), "a folder is no file");
    }

    #[test]
    fn what_cannot_replace_the_file_is_not_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        // A folder cannot be replaced by a file.
        let path = folder.path().join("guid2lid");
        fs::create_dir(&path).unwrap();
        assert!(matches!(save(&path, &Guid2Lid::new()), Err(LidFileError::Write { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the folder alone");
    }
}
