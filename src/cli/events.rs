//! `reconfig events`: prints events of the local manager as they happen.

use super::manager::Socket;
use super::outcome::{Answer, Failure};
use super::{Common, output};
use crate::report;
use anyhow::Context;
use reconfig::frontend::control::ControlEvent;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig events
  reconfig events --last 60
  reconfig events --json | jq --unbuffered 'select(.event == \"trap\")'

Prints a line for each event until it is interrupted, the manager ends, or the output is closed.")]
pub(super) struct Arguments {
    #[command(flatten)]
    socket: Socket,
    /// First print the last N events before now, of the last 60 that the manager keeps.
    #[arg(long, value_name = "N", default_value_t = 0)]
    last: u32,
    /// Exit after this many events.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let mut client = arguments.socket.connect()?;
    let (mut seen, mut failed) = (0, None);
    let heard = client.listen(arguments.last, |event| match print(&event, common) {
        Ok(read) => {
            seen += 1;
            read && arguments.count.is_none_or(|count| seen < count)
        }
        Err(failure) => {
            failed = Some(failure);
            false
        }
    });
    heard.map_err(Failure::undone)?;
    failed.map_or(Ok(Answer::Yes), Err)
}

/// Prints an event; returns false once the reader has closed the output.
fn print(event: &ControlEvent, common: Common) -> Result<bool, Failure> {
    let line = if common.json {
        serde_json::to_string(event).context("cannot write an event as JSON").map_err(Failure::undone)?
    } else {
        report::manager_event(event)
    };
    output::print_to_reader(&(line + "\n"))
}
