//! What the commands that query a running manager share: its socket, and the exit code of a refusal.

use super::outcome::Failure;
use anyhow::anyhow;
use reconfig::frontend::control::{ControlClient, ControlEvent, ControlOrder, DEFAULT_SOCKET, Fault, Reply};
use std::path::PathBuf;
use std::time::Duration;

/// How to reach the manager.
#[derive(Debug, clap::Args)]
pub(super) struct Socket {
    /// The manager's control socket, as given by its own --socket.
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
}

impl Socket {
    /// Connects. With `patience`, an answer that takes longer is an error.
    pub(super) fn connect(&self, patience: Option<Duration>) -> Result<ControlClient, Failure> {
        ControlClient::connect(&self.socket, patience).map_err(Failure::undone)
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

/// The failure for a reply that does not belong to the request.
pub(super) fn unexpected(reply: &Reply) -> Failure {
    Failure::undone(anyhow!("the manager's answer does not fit the request: {reply:?}"))
}
