//! Flush: no packet latched before the flush is left for these lanes. Reserved: bits 0–6 of byte 6, byte 7, bytes
//! 10–63.
//!
//! A Set starts it: the device sends off all packets latched before, and then a flush token on each output. A Get asks
//! whether it is complete. Between neighbours a Send carries the token.

use crate::ids::VlSet;
use crate::wire::format::attribute;

attribute! {
    /// A flush, or how far one device is with it.
    #[derive(Copy)]
    Flush {
        /// Names the flush; tokens of other rounds are dropped.
        round: u32 = 0, 32;
        /// The lanes that must become empty.
        lanes: VlSet = 32, 16;
        /// In answers: every neighbour's token came, and the lanes are empty at every input.
        flushed: bool = 55, 1;
        /// Lanes that are not waited for: no packet in them is latched for the others.
        aside: VlSet = 64, 16;
    }
}
