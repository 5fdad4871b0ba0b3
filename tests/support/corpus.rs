//! Captures of real fabrics. They are not part of the repository.

use std::path::{Path, PathBuf};

/// The folder of captures, where it is at hand; prints a line otherwise.
pub fn corpus() -> Option<PathBuf> {
    let given = std::env::var_os("RECONFIG_CORPUS").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fabrics"));
    if !folder.is_dir() {
        println!("SKIPPED: no captures in {} (set RECONFIG_CORPUS)", folder.display());
        return None;
    }
    Some(folder)
}
