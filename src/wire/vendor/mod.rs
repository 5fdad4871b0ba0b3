//! Our own attributes, in the range that the specification leaves to makers (0xFF00–0xFFFF). Their layouts are
//! specified in docs/WIRE.md; devices serve them where they carry our agent, and refuse them otherwise. One is another
//! maker's: [`AdaptiveRoutingInfo`].

mod active_half;
mod adaptive_routing_info;
mod drain_arcs;
mod drain_token;
mod flush;
mod lane_status;

pub use crate::ids::PortMask;
pub use active_half::ActiveHalf;
pub use adaptive_routing_info::AdaptiveRoutingInfo;
pub use drain_arcs::{ArcBlocks, DrainArcs};
pub use drain_token::DrainToken;
pub use flush::Flush;
pub use lane_status::LaneStatus;
