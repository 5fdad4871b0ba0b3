//! The long-running subnet manager: brings a subnet up, keeps it routed, and answers other managers and clients.
//!
//! On entry: a [`Manager`](crate::subnet::Manager) over any transport, and a [`Context`]. [`run`] sweeps, then proves
//! and writes a routing, or adopts the one that runs. After that it listens, sweeps on every event, and makes one
//! proved change after another; if another manager has precedence, it stands by. It is one future that touches nothing
//! but the transport: reports and orders pass through the [`Mailbox`]. Three pure functions decide: [`lifecycle`] the
//! next step, [`election`] the master, [`pace`] the rate of sweeps. Deliberately omitted: sockets, files and signals
//! ([`frontend`](crate::frontend) and the program have them), partitions other than the default one.

mod admission;
mod arrival;
mod aside;
mod bring_up;
mod config;
mod context;
mod degraded;
mod directory;
mod drift;
pub mod election;
mod element;
mod error;
mod fallback;
mod groups;
mod inherited;
mod installed;
mod keys;
pub mod lifecycle;
mod mailbox;
mod mirroring;
mod moving;
mod newcomers;
mod open_end_ports;
mod orders;
pub mod pace;
mod partitions;
mod peers;
mod pending;
mod planning;
mod port_needs;
mod registering;
mod reporting;
pub mod rescue;
mod responder;
mod restoring;
mod service;
mod set_up;
mod settings;
mod unfit;
mod upkeep;

pub use arrival::SubnetArrival;
pub use config::{AgeLimits, Config, Takeover};
pub use context::{AssignLids, Context, KeepLids};
pub use degraded::Degraded;
pub use element::{FoundElement, SubnetElement};
pub use error::SmError;
pub use groups::{GroupView, REJOIN_NS};
pub use mailbox::{Happening, Mailbox, SharedMailbox, SubnetView};
pub use orders::{ManagerOrder, OrderAnswer, OrderId};
pub use planning::Planning;
pub use responder::{NO_GROUPS, Responder, SharedResponder};
pub use service::{RunUntil, run};
