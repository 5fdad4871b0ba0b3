//! DrainToken: proof, handed from node to node, that lanes are empty up to here. Reserved: bits 0–6 of byte 6, byte 7
//! and bytes 40–63.
//!
//! A Set from the SM starts a round at a device that owns source channels; a Send between neighbours is the token
//! itself; a Report from a leaf to the SM says that its port was reached (the modifier is the port); a Get reads the
//! device's part.

use super::PortMask;
use crate::ids::VlSet;
use crate::wire::format::attribute;

attribute! {
    /// A token, or the state of one device in its round.
    #[derive(Copy)]
    DrainToken {
        /// Names the round; tokens of other rounds are dropped.
        round: u32 = 0, 32;
        /// The lanes to be drained.
        lanes: VlSet = 32, 16;
        /// In answers and reports: every arc of the device has seen its token.
        complete: bool = 55, 1;
        /// In answers and reports: the inputs whose token arrived.
        inputs_done: PortMask = 64, 256;
    }
}

impl DrainToken {
    /// The token that opens a round, or travels in it.
    pub fn new(round: u32, lanes: VlSet) -> DrainToken {
        DrainToken { round, lanes, complete: false, inputs_done: PortMask::EMPTY }
    }
}
