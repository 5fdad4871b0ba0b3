//! ibsim's datagram protocol in front of the simulated fabric, so that OpenSM and infiniband-diags run on it.
//!
//! A client is a program under `ibsim-run`: libumad2sim turns its MADs into datagrams for the server that
//! `IBSIM_SOCKNAME` names, at the node that `SIM_HOST` names. [`Switchboard`] is the server without sockets and
//! clocks: calls and MADs in, answers out, a [`Sim`](crate::sim::Sim) in between; [`Server`] puts sockets and the
//! clock of the machine around it. Simulated time passes at once while a MAD is under way, and by the speed while
//! none is (`pace`). Several clients may be at one node; a subnet manager is one at a port. Not done: ibsim's remote
//! mode, answers of several packets (libumad2sim cuts what its programs send to one packet), queue pairs other than 0
//! and 1. Which of it can be repeated: docs/SERVE.md.

mod clients;
mod command;
mod console;
mod counts;
mod error;
mod pacer;
mod path_requests;
pub mod protocol;
mod record;
mod server;
mod sockets;
mod status;
mod switchboard;
mod waits;

pub use clients::{Client, Clients, MOST_CLIENTS, NoClient};
pub use command::{CommandOutput, RefusedCommand, carry_out};
pub use console::{CommandError, ConsoleCommand, ElementName, HELP};
pub use counts::MadCounts;
pub use error::ServeError;
pub use pacer::{Pacer, Times};
pub use path_requests::PathCounts;
pub use server::{ServeOptions, Server};
pub use status::{ClientStatus, PeriodStatus, SCHEMA, ServeStatus, Stuck};
pub use switchboard::{Called, ClientChange, Patience, Switchboard};
