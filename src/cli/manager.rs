//! What the commands that speak to a running manager share: where its socket is, and what a refusal means to the shell.

use super::outcome::Failure;
use anyhow::anyhow;
use reconfig::sm::control::{ControlClient, ControlEvent, ControlOrder, DEFAULT_SOCKET, Fault, Reply};
use std::path::PathBuf;
use std::time::Duration;

/// How to reach the manager.
#[derive(Debug, clap::Args)]
pub(super) struct Socket {
    /// The control socket of the manager, as its own --socket says.
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
}

impl Socket {
    /// Connects. With `patience`, an answer that takes longer is an error.
    pub(super) fn connect(&self, patience: Option<Duration>) -> Result<ControlClient, Failure> {
        ControlClient::connect(&self.socket, patience).map_err(Failure::undone)
    }
}

/// Gives an order; a refusal is a failure.
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

/// An answer that belongs to another question.
pub(super) fn unexpected(reply: &Reply) -> Failure {
    Failure::undone(anyhow!("the manager answered something else than was asked: {reply:?}"))
}
