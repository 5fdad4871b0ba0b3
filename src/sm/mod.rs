//! The subnet manager that runs for good: brings a subnet up, keeps it routed, and answers whoever asks.
//!
//! On entry: a [`Manager`](crate::subnet::Manager) over any transport, a [`Config`], a [`Desk`]. [`live`] sweeps, proves a
//! routing and writes it, or adopts what runs already; then it listens, sweeps when something happens, and makes one proved
//! change after the other; where another manager has precedence it stands by. It is one future that touches nothing but the transport: what it tells and
//! what it is asked lies on the desk. [`election`] and [`pace`] decide, as pure functions, who is master and how often is
//! looked. Lacks on purpose: sockets, files, signals (whoever runs it), multicast groups, partitions other than the
//! default one.

mod bring_up;
pub mod clerk;
mod config;
pub mod control;
mod court;
mod desk;
mod directory;
pub mod election;
mod error;
mod fair;
pub mod lid_file;
mod life;
pub mod metrics;
pub mod pace;
pub mod prefix_file;
mod reception;
mod service;
mod settings;
mod standing;
pub mod systemd;
mod watched;

pub use bring_up::Arrival;
pub use config::{Config, Limits, Takeover};
pub use desk::{Answer, Desk, Element, Happening, Order, OrderId, SharedDesk, View};
pub use error::SmError;
pub use life::{AssignLids, Household, KeepLids, Until, live};
pub use reception::{Reception, SharedReception};
pub use service::Service;
pub use watched::Watched;
