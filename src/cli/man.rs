//! `reconfig man`.

use super::outcome::{Answer, Failure};
use super::output::{self, Batch};
use clap::CommandFactory;
use clap_mangen::Man;
use std::path::PathBuf;

/// Writes manual pages, one for each command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig man | man -l -
  reconfig man /usr/local/share/man/man1")]
pub(super) struct Arguments {
    /// Folder for the pages `reconfig.1`, `reconfig-simulate.1` and so on; by default the page of `reconfig` itself is
    /// printed.
    folder: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let mut whole = super::Arguments::command().disable_help_subcommand(true);
    // Gives each command its full name, and the options that are global.
    whole.build();
    let Some(folder) = &arguments.folder else {
        output::print(&page(whole)?)?;
        return Ok(Answer::Yes);
    };
    let mut batch = Batch::default();
    output::check_folder("the manual", folder)?;
    batch.folder(folder)?;
    for command in with_subcommands(whole) {
        let name = format!("{}.1", command.get_display_name().unwrap_or_else(|| command.get_name()));
        batch.stage_text(&folder.join(name), page(command)?)?;
    }
    batch.finish()?;
    Ok(Answer::Yes)
}

/// A command, and all below it.
fn with_subcommands(command: clap::Command) -> Vec<clap::Command> {
    let below: Vec<clap::Command> = command.get_subcommands().cloned().flat_map(with_subcommands).collect();
    std::iter::once(command).chain(below).collect()
}

/// The page of one command, in roff.
fn page(mut command: clap::Command) -> Result<String, Failure> {
    // The usage of `--help` names the value of each option that it has; the synopsis that would be made here does not.
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_string();
    let command = command.override_usage(usage);
    let mut text = Vec::new();
    // The buffer takes all that is written to it.
    Man::new(command).render(&mut text).map_err(Failure::undone)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
