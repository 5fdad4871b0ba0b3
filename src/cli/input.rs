//! Reading what the user names: fabrics from files or standard input.

use super::outcome::Failure;
use super::output::colours_errors;
use crate::fabric::{Fabric, format};
use anyhow::Context;
use std::io::Read;
use std::path::Path;

/// The fabric in `file` (`-` is standard input), whatever its format. What the reader had to assume is logged as
/// warnings.
pub(super) fn read_fabric(file: &Path) -> Result<Fabric, Failure> {
    let bytes = read_bytes(file).with_context(|| format!("cannot read {}", file.display())).map_err(Failure::input)?;
    let name = if is_stdin(file) { "standard input".to_string() } else { file.display().to_string() };
    format::read(&bytes, &name).map_err(|error| Failure::Unreadable(error.render(colours_errors())))
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn read_bytes(file: &Path) -> std::io::Result<Vec<u8>> {
    if !is_stdin(file) {
        return std::fs::read(file);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}
