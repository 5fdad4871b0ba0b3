//! The subnet manager that runs for good: brings a subnet up, keeps it routed, and answers whoever asks.
//!
//! On entry: a [`Manager`](crate::subnet::Manager) over any transport, a [`Config`], a [`Desk`]. [`Service::start`] sweeps,
//! proves a routing and writes it, or adopts what runs already; [`Service::serve`] listens, sweeps when something happens,
//! and makes one proved change after the other. It is one future that touches nothing but the transport: what it tells and
//! what it is asked lies on the desk. [`election`] and [`pace`] decide, as pure functions, who is master and how often is
//! looked. Lacks on purpose: sockets, files, signals (whoever runs it), multicast groups, partitions other than the
//! default one.

mod bring_up;
mod config;
pub mod control;
mod desk;
pub mod election;
mod error;
pub mod lid_file;
pub mod pace;
mod service;
mod settings;
mod standing;
mod watched;

pub use bring_up::Arrival;
pub use config::{Config, Limits, Takeover};
pub use desk::{Answer, Desk, Element, Happening, Order, OrderId, SharedDesk, View};
pub use error::SmError;
pub use service::{AssignLids, End, Service};
pub use watched::Watched;
