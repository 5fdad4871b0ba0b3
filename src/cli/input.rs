//! Reading what the user names: fabrics from files or standard input.

use super::outcome::Failure;
use super::output::colours_errors;
use crate::fabric::{Fabric, format};
use anyhow::{Context, anyhow};
use std::io::Read;
use std::path::Path;

/// The fabric in `file` (`-` is standard input), whatever its format. What the reader remarks goes to standard error.
pub(super) fn read_fabric(file: &Path) -> Result<Fabric, Failure> {
    let bytes = read_bytes(file).with_context(|| format!("cannot read {}", file.display())).map_err(Failure::input)?;
    let name = if is_stdin(file) { "standard input".to_string() } else { file.display().to_string() };
    let read =
        format::read(&bytes, &name).map_err(|error| Failure::input(anyhow!("{}", error.render(colours_errors()))))?;
    for notice in &read.notices {
        tracing::info!("{name}: {notice}");
    }
    Ok(read.fabric)
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
