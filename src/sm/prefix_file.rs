//! The file of prefix routes on disk, read once at the start. Unlike OpenSM, which does without a file that is not
//! there, the manager does not start: a user who names a file relies on its routes.

use crate::fabric::format::ReadError;
use crate::ids::Guid;
use crate::sa::PrefixRoutes;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why prefix routes cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PrefixFileError {
    /// The file cannot be read.
    #[error("reading prefix routes from {path}: {source}; name a file that is there, or leave the option out")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not of this format.
    #[error("{0}; mend the line: a prefix and the GUID of a router's port, both hexadecimal or `*`")]
    Format(ReadError),
}

/// Reads the file.
///
/// # Errors
/// A file that cannot be read, or is of another format.
pub fn load(path: &Path) -> Result<PrefixRoutes, PrefixFileError> {
    let bytes = fs::read(path).map_err(|source| PrefixFileError::Read { path: path.into(), source })?;
    PrefixRoutes::read(&bytes, &path.display().to_string()).map_err(PrefixFileError::Format)
}

/// The warning about a router that routes name and of which the subnet has no record.
pub(super) fn absent(guid: Guid) -> String {
    format!(
        "prefix routes name router port {guid}, which no router of this subnet has: its prefixes have no paths; name the port GUID of \
         a router's port in this subnet"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prefix-routes.conf");
        let told = load(&path).unwrap_err().to_string();
        assert!(told.contains("prefix-routes.conf") && told.contains("leave the option out"), "{told}");
        fs::write(&path, "* *\n# no more\n").unwrap();
        assert_eq!(load(&path).unwrap().iter().len(), 1);
        fs::write(&path, "* *\n* router-1\n").unwrap();
        let told = load(&path).unwrap_err().to_string();
        assert!(told.contains("prefix-routes.conf:2:3"), "{told}");
    }
}
