//! Changes the routing of a running InfiniBand subnet without stopping traffic: the Double Scheme, proved before the
//! first write. Start with `docs/ARCHITECTURE.md`; a layer imports only what the table there allows.

pub mod audit;
pub mod campaign;
pub mod change;
pub mod check;
pub mod drain;
pub mod driver;
pub mod fabric;
mod files;
pub mod frontend;
pub mod ids;
pub mod intervals;
pub mod journal;
pub mod lid;
pub mod link;
pub mod machine;
pub mod plan;
pub mod repair;
pub mod reproduce;
pub mod resolve;
pub mod routers;
pub mod routing;
pub mod sa;
pub mod scenario;
pub mod serve;
mod shares;
pub mod sim;
pub mod sm;
pub mod subnet;
pub mod tables;
pub mod transport;
pub mod verify;
pub mod vet;
pub mod wire;
