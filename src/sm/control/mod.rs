//! The control socket: how people and programs ask a running manager, and tell it what to do.
//!
//! A Unix socket that its owner alone may open (mode 0600). Over it goes JSON, one object a line: an [`Order`] in, one or
//! more [`Reply`]s out, in order; a connection may send several. [`Control`] keeps the socket and the connections, on
//! tasks of its own; orders reach whoever runs the manager through a channel, each with an [`Answers`] to be used. Streams
//! of events are served from a broadcast, so that a slow listener slows nobody: it hears how many it missed.
//! On entry: a tokio runtime. Lacks on purpose: any knowledge of the subnet, users and passwords, remote access.

mod client;
mod message;
mod server;

pub use client::{Client, ClientError};
pub use message::*;
pub use server::{Answers, Control, ControlError, Request};

/// Where the socket is when nobody says otherwise.
pub const DEFAULT_SOCKET: &str = "/run/reconfig/sm.sock";
