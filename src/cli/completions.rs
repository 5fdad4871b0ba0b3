//! `reconfig completions`.

use super::outcome::{Answer, Failure};
use super::output;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints a completion script.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig completions bash > ~/.local/share/bash-completion/completions/reconfig
  reconfig completions fish > ~/.config/fish/completions/reconfig.fish")]
pub(super) struct Arguments {
    /// Shell to complete for.
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "reconfig", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Answer::Yes)
}
