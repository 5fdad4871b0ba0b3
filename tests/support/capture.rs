//! One capture of a real fabric.

use super::corpus::corpus;
use std::path::PathBuf;

/// A file of the folder of captures, where it is at hand; prints a line otherwise.
pub fn capture(name: &str) -> Option<PathBuf> {
    let file = corpus()?.join(name);
    if !file.is_file() {
        println!("SKIPPED: {} is not there", file.display());
        return None;
    }
    Some(file)
}
