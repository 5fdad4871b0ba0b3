//! The subnet manager that runs for good: brings a subnet up, keeps it routed, and answers whoever asks.

mod bring_up;
mod config;
mod error;
mod desk;
mod service;
mod settings;
mod standing;
mod watched;

pub use bring_up::Arrival;
pub use config::{Config, Limits, Takeover};
pub use error::SmError;
pub use desk::{Answer, Desk, Element, Happening, Order, OrderId, SharedDesk, View};
pub use service::{AssignLids, End, Service};
pub use watched::Watched;
