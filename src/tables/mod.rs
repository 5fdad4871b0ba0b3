//! Values that routing is made of: forwarding tables, SL-to-VL tables, the writes that change them, routing functions.
//!
//! Everything here is a value over the dense indices of one [`Fabric`](crate::fabric::Fabric): no I/O, no policy. A
//! [`Write`] is one idempotent `Set` of one attribute of one device; [`SubnetTables::apply`] says what it does, and is the
//! only definition of it: planner, prover and checker read tables through it. [`dump`] reads and writes tables in the field's
//! formats; [`Usage`] counts what a routing function does with the links.
//! Lacks on purpose: multicast tables, VL arbitration, who computes a routing function (`routing`) and which LIDs realise
//! it (`lid`).

pub mod dump;
mod lft;
mod link_load;
mod path_layers;
mod path_set;
mod routing_function;
mod sl_to_vl;
mod usage;
mod write;

pub use lft::{LFT_BLOCK, Lft};
pub use link_load::LinkLoad;
pub use path_layers::{PathLayers, address};
pub use path_set::{Hop, Path, PathSet};
pub use routing_function::RoutingFunction;
pub use sl_to_vl::{NodeSlToVl, SlToVl};
pub use usage::Usage;
pub use write::{PortState, SlToVlScope, SubnetTables, Write};
