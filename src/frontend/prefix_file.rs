//! The prefix-routes file on disk, read once at the start. OpenSM ignores a missing file; this manager refuses to
//! start, because a user who names a file relies on its routes.

use crate::fabric::format::ReadError;
use crate::files::read_at_most;
use crate::sa::PrefixRoutes;
use std::io;
use std::path::{Path, PathBuf};

/// Why prefix routes cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum PrefixFileError {
    /// The file cannot be read.
    #[error("reading prefix routes from {path}: {source}; name an existing file, or omit the option")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not have this format.
    #[error("{0}; correct the line: a prefix and the GUID of a router's port, both hexadecimal or `*`")]
    Format(ReadError),
}

/// Bytes of such a file: many times the rules that anybody has.
const MOST_BYTES: u64 = 16 << 20;

/// Reads the file.
///
/// # Errors
/// The file cannot be read, or has another format.
pub fn load(path: &Path) -> Result<PrefixRoutes, PrefixFileError> {
    let bytes = read_at_most(path, MOST_BYTES).map_err(|source| PrefixFileError::Read { path: path.into(), source })?;
    PrefixRoutes::read(&bytes, &path.display().to_string()).map_err(PrefixFileError::Format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_read_whole_or_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prefix-routes.conf");
        let message = load(&path).unwrap_err().to_string();
        assert!(message.contains("prefix-routes.conf") && message.contains("omit the option"), "{message}");
        fs::write(&path, "* *\n# no more\n").unwrap();
        assert_eq!(load(&path).unwrap().iter().len(), 1);
        fs::write(&path, "* *\n* router-1\n").unwrap();
        let message = load(&path).unwrap_err().to_string();
        assert!(message.contains("prefix-routes.conf:2:3"), "{message}");
    }
}
