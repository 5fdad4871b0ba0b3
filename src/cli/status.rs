//! `reconfig status`: shows the state of the local manager.

use super::manager::{Socket, ask, unexpected};
use super::outcome::{Answer, Failure};
use super::stderr::remark;
use super::{Common, output};
use crate::report;
use reconfig::frontend::control::{ControlOrder, Reply};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig status
  reconfig status --json | jq .half
  reconfig status --sweep
  reconfig status --log debug,reconfig::subnet=trace

Exit codes: 0 all is well; 1 there is TROUBLE (the output says which), or this manager is the master and the subnet is not up or a device is DEGRADED, or one manager hands the subnet over to another; 2 wrong usage; 3 no manager answered. See docs/SM.md.")]
pub(super) struct Arguments {
    #[command(flatten)]
    socket: Socket,
    /// Sweep the whole subnet first.
    #[arg(long)]
    sweep: bool,
    /// Set the filter of the manager's log, for example `debug,reconfig::subnet=trace`.
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let socket = &arguments.socket;
    let mut client = if arguments.sweep { socket.connect_for_long()? } else { socket.connect()? };
    if let Some(filter) = &arguments.log {
        ask(&mut client, &ControlOrder::LogLevel { filter: filter.clone() }, |_| {})?;
    }
    if arguments.sweep {
        ask(&mut client, &ControlOrder::Sweep, |event| remark(&report::manager_event(&event)))?;
    }
    let status = match ask(&mut client, &ControlOrder::Status, |_| {})? {
        Reply::Status(status) => status,
        other => return Err(unexpected(&other)),
    };
    if common.json {
        output::print_json(&status)?;
    } else {
        output::print(&report::manager_status(&status))?;
    }
    Ok(status.is_well().into())
}
