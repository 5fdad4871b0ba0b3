//! AdaptiveRoutingInfo: whether a switch of NVIDIA (Mellanox) chooses outputs by itself. Not ours: only the two flags
//! that matter here are decoded, and the attribute is never written. The modifier is 0.

use crate::wire::format::attribute;

attribute! {
    /// The mechanisms by which a switch departs from its forwarding table.
    #[derive(Copy)]
    AdaptiveRoutingInfo {
        /// Packets leave by another output where that of their entry is down.
        fallback: bool = 27, 1;
        /// Packets leave by whichever output of a group is least busy.
        enabled: bool = 31, 1;
    }
}
