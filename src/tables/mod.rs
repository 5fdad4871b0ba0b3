//! The values that routing consists of: forwarding tables, SL-to-VL tables, the writes that change them, routing
//! functions.
//!
//! Everything here is a value over the dense indices of one [`Fabric`](crate::fabric::Fabric): no I/O, no policy. A
//! [`Write`] is one idempotent `Set` of one attribute of one device. [`SubnetTables::apply`] is the only definition of
//! its effect: planner, prover and checker read tables through it. [`dump`] reads and writes tables in the field's
//! formats; [`Usage`], [`LinkLoad`], [`ChannelUse`] and [`Diversity`] measure a routing function's use of the links;
//! [`Crossings`] finds the traffic that it serves worst; [`LidFates`] follows packets to their ends. A multicast table
//! ([`Mft`]) is a value by itself: no plan writes it. Deliberately omitted: VL arbitration, the computation of routing
//! functions (`routing`), and the LIDs that realise them (`lid`).

mod channel_use;
mod diversity;
pub mod dump;
mod lft;
mod lid_fates;
mod link_load;
mod mft;
mod path_layers;
mod path_set;
mod round_trip;
mod routing_function;
mod sl_to_vl;
mod usage;
mod worst;
mod write;

pub use channel_use::ChannelUse;
pub use diversity::Diversity;
pub use lft::{LFT_BLOCK, Lft};
pub use lid_fates::{Arrivals, LidFate, LidFates, arrivals};
pub use link_load::LinkLoad;
pub use mft::{Mft, MftMasks, MftPart, TreeTurn};
pub use path_layers::{PathLayers, address};
pub use path_set::{Hop, Path, PathSet};
pub use round_trip::{HalfInForce, RoundTrip, round_trip};
pub use routing_function::{RoutedBy, RoutingFunction};
pub use sl_to_vl::{NodeSlToVl, SlToVl};
pub use usage::Usage;
pub use worst::{Crossings, Selection, Worst};
pub use write::{PortState, SlToVlScope, SubnetTables, Write};
