//! The control socket, by which people and programs query and direct a running manager.
//!
//! A Unix socket that its owner alone may open (mode 0600). Over it goes JSON, one object a line: an [`ControlOrder`] in, one or
//! more [`Reply`]s out, in order; a connection may send several. [`Control`] keeps the socket and the connections, on
//! tasks of its own; orders reach the program through a channel, each with an [`Answers`] to be used. Streams
//! of events are served from a broadcast, so that a slow listener slows nobody: it learns how many it missed.
//! On entry: a tokio runtime. Lacks on purpose: any knowledge of the subnet, users and passwords, remote access.

mod client;
mod message;
mod server;

pub use client::{ClientError, ControlClient};
pub use message::*;
pub use server::{Answers, Control, ControlError, ControlRequest};

/// The default path of the socket.
pub const DEFAULT_SOCKET: &str = "/run/reconfig/sm.sock";
