//! DrainToken: proof, handed from node to node, that lanes are empty up to here. Reserved: bits 0–6 of byte 6, byte 7 and bytes
//! 40–63.
//!
//! A Set from the SM starts a round at a device that owns source channels; a Send between neighbours is the token itself; a
//! Report from a leaf to the SM says that its port was reached (the modifier is the port); a Get tells the device's part.

use super::PortMask;
use crate::ids::VlSet;
use crate::wire::{AttributeId, SMP_DATA_SIZE};

mod field {
    use crate::wire::bits::{Bits, bits};
    use std::ops::Range;

    pub const ROUND: Bits = bits(0, 32);
    pub const LANES: Bits = bits(32, 16);
    pub const COMPLETE: Bits = bits(55, 1);
    pub const INPUTS_DONE: Range<usize> = 8..40;
}

/// A token, or the state of one device in its round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrainToken {
    /// Names the round; tokens of other rounds are dropped.
    pub round: u32,
    /// The lanes to be drained.
    pub lanes: VlSet,
    /// In answers and reports: every arc of the device has seen its token.
    pub complete: bool,
    /// In answers and reports: the inputs whose token came.
    pub inputs_done: PortMask,
}

impl DrainToken {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::DrainToken;

    /// The token that opens a round, or travels in it.
    pub fn new(round: u32, lanes: VlSet) -> DrainToken {
        DrainToken { round, lanes, complete: false, inputs_done: PortMask::EMPTY }
    }

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> DrainToken {
        let mut inputs_done = PortMask::EMPTY;
        inputs_done.0.copy_from_slice(&data[field::INPUTS_DONE]);
        DrainToken {
            round: field::ROUND.get_u32(data),
            lanes: VlSet(field::LANES.get_u16(data)),
            complete: field::COMPLETE.get_flag(data),
            inputs_done,
        }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        field::ROUND.put(&mut data, self.round);
        field::LANES.put(&mut data, self.lanes.0);
        field::COMPLETE.put(&mut data, self.complete);
        data[field::INPUTS_DONE].copy_from_slice(&self.inputs_done.0);
        data
    }
}
