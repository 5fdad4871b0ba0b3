//! Model checking: every interleaving of packets and writes on small fabrics, and every sequence of events that the
//! machine can meet. What is bounded is written in docs/TESTING.md; `RECONFIG_THOROUGH=1` makes the bounds wider.

mod changes;
mod courses;
mod flows;
mod network;
mod observers;
mod packets;
mod search;
mod transitions;

use crate::support::is_thorough;
