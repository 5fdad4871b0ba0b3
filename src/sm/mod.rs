//! The subnet manager that keeps running: brings a subnet up, keeps it routed, and answers other managers and clients.
//!
//! On entry: a [`Manager`](crate::subnet::Manager) over any transport, and a [`Context`]. [`run`] sweeps, proves a routing
//! and writes it, or adopts what runs already; then it listens, sweeps when something happens, and makes one proved change
//! after the other; where another manager has precedence it stands by. It is one future that touches nothing but the
//! transport: what it reports and what it is asked lies in the [`Mailbox`]. Three pure functions decide: [`lifecycle`] what
//! is done next, [`election`] who is master, [`pace`] how often to sweep. Lacks on purpose: sockets, files, signals (those
//! are the program's), multicast groups, partitions other than the default one.

mod bring_up;
mod config;
mod context;
pub mod control;
mod directory;
pub mod election;
mod element;
mod error;
mod fair;
pub mod frontend;
mod installed;
pub mod lid_file;
pub mod lifecycle;
mod mailbox;
pub mod metrics;
pub mod pace;
mod peers;
pub mod prefix_file;
mod responder;
mod service;
mod settings;
pub mod systemd;
mod upkeep;
mod watched;

pub use bring_up::SubnetArrival;
pub use config::{AgeLimits, Config, Takeover};
pub use context::{AssignLids, Context, KeepLids};
pub use element::{FoundElement, SubnetElement};
pub use error::SmError;
pub use mailbox::{Happening, Mailbox, ManagerOrder, OrderAnswer, OrderId, SharedMailbox, SubnetView};
pub use responder::{Responder, SharedResponder};
pub use service::{RunUntil, run};
