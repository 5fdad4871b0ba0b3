//! ActiveHalf: the half of LIDs and service levels that an end port sends on. The modifier is the port. Reserved: bits
//! 0–6 of bytes 0 and 1, bytes 2–63.

use crate::ids::Half;
use crate::wire::format::attribute;

attribute! {
    /// A Set moves the port's sources to `half`; a Get reports where they are.
    #[derive(Copy)]
    ActiveHalf {
        /// Packets made from now on take SLID, DLID and SL of this half.
        half: Half = 7, 1;
        /// In answers: no packet of the other half waits in the port's send queues. Ignored in a Set.
        settled: bool = 15, 1;
    }
}
