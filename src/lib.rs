//! Changes the routing of a running InfiniBand subnet while traffic flows. A change is proved before its first write:
//! by forwarding entries alone where an order of them is proved, otherwise by the Double Scheme.
//!
//! - Values: `ids`, `link`, `wire`, `fabric`, `tables`, `routers`.
//! - Decisions, pure functions of values: `routing`, `lid`, `repair`, `plan`, `verify`, `check`, `vet`, `audit`,
//!   `drain`, `machine`; `change` joins them, from two fabrics and an engine to a vetted plan.
//! - Actions: `transport` and `subnet` (MADs), `driver` (a change), `journal`, `sa`, `sm` (the subnet manager) and its
//!   `frontend`.
//! - The simulated fabric: `sim`; `serve`, `scenario`, `campaign` and `reproduce` use it.
//!
//! `fabric::Fabric`, `plan::Plan` and `driver::Driver` are a good beginning. `docs/ARCHITECTURE.md` shows how the parts
//! meet; a module imports only what its table of layers allows.

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
