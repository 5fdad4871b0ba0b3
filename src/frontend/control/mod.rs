//! The control socket, over which people and programs query and direct a running manager.
//!
//! It is a Unix socket that only its owner may open (mode 0600), and carries JSON, one object a line: a
//! [`ControlOrder`] in, one or more [`Reply`]s out, in order; a connection may send several orders. [`Control`] serves
//! the socket and its connections on tasks of its own. Each order reaches the program through a channel, together with
//! the [`Answers`] to reply through. Events are broadcast, so a slow listener delays no other: it receives how many
//! events it missed. The latest are kept for later listeners ([`EventFeed`]). On entry: a tokio runtime. Deliberately
//! omitted: any knowledge of the subnet, users and passwords, remote access.

mod client;
mod message;
mod server;

pub use client::{ClientError, ControlClient};
pub use message::*;
pub use server::{Answers, ClientLimits, Control, ControlError, ControlRequest, EventFeed, MOST_CONNECTIONS};

/// The default path of the socket.
pub const DEFAULT_SOCKET: &str = "/run/reconfig/sm.sock";
