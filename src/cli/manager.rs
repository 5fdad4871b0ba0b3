//! What the commands that query a running manager share: its socket, and the exit code of a refusal.

use super::outcome::Failure;
use anyhow::anyhow;
use reconfig::frontend::control::{ControlClient, ControlEvent, ControlOrder, DEFAULT_SOCKET, Fault, Reply};
use std::path::PathBuf;
use std::time::Duration;

/// How to reach the manager.
#[derive(Debug, clap::Args)]
pub(super) struct Socket {
    /// Control socket of the manager, as set by its --socket.
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
}

/// How long an answer may take. A manager that is planning or sweeping answers within a second: its thread is never
/// blocked for long.
const PATIENCE: Duration = Duration::from_secs(10);

impl Socket {
    /// Connects for requests that are answered at once.
    pub(super) fn connect(&self) -> Result<ControlClient, Failure> {
        ControlClient::connect(&self.socket, Some(PATIENCE)).map_err(Failure::undone)
    }

    /// Connects for requests that are answered only when the requested action has finished. First checks that the
    /// manager answers at all.
    pub(super) fn connect_for_long(&self) -> Result<ControlClient, Failure> {
        let mut client = self.connect()?;
        ask(&mut client, &ControlOrder::Status, |_| {})?;
        client.wait_for(None).map_err(Failure::undone)?;
        Ok(client)
    }
}

/// Sends an order; a refusal is a failure.
pub(super) fn ask(
    client: &mut ControlClient,
    order: &ControlOrder,
    on_event: impl FnMut(ControlEvent),
) -> Result<Reply, Failure> {
    match client.ask(order, on_event).map_err(Failure::undone)? {
        Reply::Refused { fault: Fault::Request, reason } => Err(Failure::input(anyhow!(reason))),
        Reply::Refused { reason, .. } => Err(Failure::undone(anyhow!(reason))),
        reply => Ok(reply),
    }
}

/// The failure for a reply that does not match the request.
pub(super) fn unexpected(reply: &Reply) -> Failure {
    Failure::undone(anyhow!("the manager's answer does not fit the request: {reply:?}"))
}
