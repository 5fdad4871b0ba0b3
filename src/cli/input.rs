//! Reading what the user names: fabrics and plans from files or standard input.

use super::outcome::Failure;
use super::output::colours_errors;
use crate::fabric::{Fabric, format};
use crate::plan::{Plan, PlanReadError};
use anyhow::Context;
use std::io::Read;
use std::path::Path;

/// The fabric in `file` (`-` is standard input), whatever its format. What the reader had to assume is logged as
/// warnings.
pub(super) fn read_fabric(file: &Path) -> Result<Fabric, Failure> {
    let bytes = read_bytes(file).with_context(|| format!("cannot read {}", file.display())).map_err(Failure::input)?;
    format::read(&bytes, &name_of(file)).map_err(|error| Failure::Unreadable(error.render(colours_errors())))
}

/// A plan, and the text of its file.
pub(super) struct PlanFile {
    pub plan: Plan,
    pub text: String,
}

/// The bytes of a certificate (`-` is standard input).
pub(super) fn read_certificate(file: &Path) -> Result<Vec<u8>, Failure> {
    read_bytes(file).with_context(|| format!("cannot read {}", file.display())).map_err(Failure::input)
}

/// The plan in `file` (`-` is standard input).
pub(super) fn read_plan(file: &Path) -> Result<PlanFile, Failure> {
    let read = || format!("cannot read {}", file.display());
    let text = read_bytes(file).map(String::from_utf8).with_context(read).map_err(Failure::input)?;
    let text = text.with_context(read).map_err(Failure::input)?;
    let plan = Plan::read(&text, &name_of(file)).map_err(|error| match error {
        PlanReadError::Fabric(error) => Failure::Unreadable(error.render(colours_errors())),
        error => Failure::input(anyhow::Error::new(error).context(format!("{} is no plan", file.display()))),
    })?;
    Ok(PlanFile { plan, text })
}

fn name_of(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_string() } else { file.display().to_string() }
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
