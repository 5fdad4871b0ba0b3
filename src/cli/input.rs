//! Reads the user's input, fabrics and plans, from files or standard input.

use super::outcome::Failure;
use super::output::colours_errors;
use anyhow::{Context, anyhow};
use reconfig::fabric::subnets::{Subnet, Subnets, list};
use reconfig::fabric::{Fabric, format};
use reconfig::plan::{Plan, PlanReadError};
use std::io::Read;
use std::path::Path;

/// Refuses the first option given that is not implemented, or means nothing, for as many subnets.
pub(super) fn check_options(
    subnets: &Subnets,
    for_several: &[(bool, &'static str)],
    for_one: &[(bool, &'static str)],
) -> Result<(), Failure> {
    let first = |options: &[(bool, &'static str)]| options.iter().find(|(given, _)| *given).map(|&(_, name)| name);
    let refused = match subnets.len() {
        1 => first(for_several).map(|name| anyhow!("{name} is for a list of several subnets (docs/SUBNETS.md)")),
        _ => first(for_one).map(|name| anyhow!("{name}: not for a list of several subnets; name one of its files")),
    };
    refused.map_or(Ok(()), |error| Err(Failure::input(error)))
}

/// Reads the one fabric in `file` (`-` is standard input), in any format. Assumptions of the reader are logged as
/// warnings.
pub(super) fn read_fabric(file: &Path) -> Result<Fabric, Failure> {
    read_fabric_or(file, ", but one fabric is needed here: name a file that it lists")
}

/// The same; `fix` states what to do if the file lists several subnets.
pub(super) fn read_fabric_or(file: &Path, fix: &str) -> Result<Fabric, Failure> {
    only(read_subnets(file)?, file, fix).map(|subnet| subnet.fabric)
}

/// Reads the subnets that `file` (`-` is standard input) lists, whose files lie beside it. A fabric is a list of one.
pub(super) fn read_subnets(file: &Path) -> Result<Subnets, Failure> {
    let bytes = read_named(file)?;
    let name = name_of(file);
    if list::is_list(&name, &bytes) {
        return list::read(&bytes, &name, |path| std::fs::read(path)).map_err(unreadable);
    }
    format::read(&bytes, &name).map(Subnets::alone).map_err(unreadable)
}

/// The subnet that `file` holds, where one is needed; `fix` states what to do if it lists several.
pub(super) fn only(subnets: Subnets, file: &Path, fix: &str) -> Result<Subnet, Failure> {
    subnets.into_only().map_err(|_| lists_several(file, fix))
}

fn lists_several(file: &Path, fix: &str) -> Failure {
    Failure::input(anyhow!("{} lists several subnets{fix}", file.display()))
}

fn unreadable(error: format::ReadError) -> Failure {
    Failure::Unreadable(error.render(colours_errors()))
}

/// A plan with the text of its file.
pub(super) struct PlanFile {
    pub plan: Plan,
    pub text: String,
}

/// Reads the bytes of a certificate (`-` is standard input).
pub(super) fn read_certificate(file: &Path) -> Result<Vec<u8>, Failure> {
    read_named(file)
}

/// Parses `file` (`-` is standard input), a dump of tables of `fabric`, with `read`.
pub(super) fn read_dump<T>(
    file: &Path,
    fabric: &Fabric,
    read: impl Fn(&[u8], &str, &Fabric) -> Result<T, format::ReadError>,
) -> Result<T, Failure> {
    let bytes = read_named(file)?;
    read(&bytes, &name_of(file), fabric).map_err(unreadable)
}

/// Reads the plan in `file` (`-` is standard input).
pub(super) fn read_plan(file: &Path) -> Result<PlanFile, Failure> {
    let read = || format!("cannot read {}", file.display());
    let text = read_bytes(file).map(String::from_utf8).with_context(read).map_err(Failure::input)?;
    let text = text.with_context(read).map_err(Failure::input)?;
    if list::is_list(&name_of(file), text.as_bytes()) {
        return Err(lists_several(file, ", but a plan is needed here, as `reconfig plan` writes it"));
    }
    let plan = Plan::read(&text, &name_of(file)).map_err(|error| match error {
        PlanReadError::Fabric(error) => unreadable(error),
        error => Failure::input(anyhow::Error::new(error).context(format!("{} is not a plan", file.display()))),
    })?;
    Ok(PlanFile { plan, text })
}

/// The display name and the text of a traffic file (`-` is standard input).
pub(super) fn read_text(file: &str) -> Result<(String, String), Failure> {
    let path = Path::new(file);
    let text = read_named(path).map(String::from_utf8)?;
    let text = text.with_context(|| format!("cannot read {}", name_of(path))).map_err(Failure::input)?;
    Ok((name_of(path), text))
}

fn name_of(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_string() } else { file.display().to_string() }
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn read_named(file: &Path) -> Result<Vec<u8>, Failure> {
    read_bytes(file).with_context(|| format!("cannot read {}", file.display())).map_err(Failure::input)
}

fn read_bytes(file: &Path) -> std::io::Result<Vec<u8>> {
    if !is_stdin(file) {
        return std::fs::read(file);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}
