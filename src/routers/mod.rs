//! Routers between subnets: the routers through which each subnet is reached, and the forwarding of packets by a
//! router.
//!
//! On entry [`Subnets`](crate::fabric::subnets::Subnets). [`Routes`] gives, for each pair of subnets, the routers that
//! lead from the one to the other on the fewest crossings, for subnet administration, which names the first router, and
//! for the routers, which name the next. [`relay`] forwards one packet as a router does: hop limit, partitions, traffic
//! class, service level. [`Partitioning`] states which hosts may communicate and which ports of routers enforce it.
//! [`Levels`] is the policy by which a router picks the service level in the next subnet. Values and pure functions: no
//! LIDs (each subnet has its own), no queues (`sim`), no proof (`verify::across`). Source: InfiniBand Architecture
//! Specification, volume 1, chapter 19; the router manager it leaves unspecified is here one that knows all subnets.

mod levels;
mod partitioning;
mod relay;
mod routes;

pub use levels::{Levels, LevelsError, LevelsRule};
pub use partitioning::{PartEnforce, Partitioning};
pub use relay::{Arrival, Discard, Enforcement, Forwarded, Grh, mixed, relay};
pub use routes::{Onward, Routes};
