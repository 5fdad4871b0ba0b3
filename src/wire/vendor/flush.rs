//! Flush: nothing that was latched before the flush is left for these lanes. Reserved: bits 0–6 of byte 6, bytes 7–63.
//!
//! A Set starts it: the device sends off all that was latched before, then a flush token on each output behind that data. A
//! Get asks whether it is done. Between neighbours a Send carries the token.

use crate::ids::VlSet;
use crate::wire::{AttributeId, SMP_DATA_SIZE};

mod field {
    use crate::wire::bits::{Bits, bits};

    pub const ROUND: Bits = bits(0, 32);
    pub const LANES: Bits = bits(32, 16);
    pub const FLUSHED: Bits = bits(55, 1);
}

/// A flush, or how far one device is with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flush {
    /// Names the flush; tokens of other rounds are dropped.
    pub round: u32,
    /// The lanes that must become empty.
    pub lanes: VlSet,
    /// In answers: every neighbour's token came, and the lanes are empty at every input.
    pub flushed: bool,
}

impl Flush {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::Flush;

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> Flush {
        Flush {
            round: field::ROUND.get_u32(data),
            lanes: VlSet(field::LANES.get_u16(data)),
            flushed: field::FLUSHED.get_flag(data),
        }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        field::ROUND.put(&mut data, self.round);
        field::LANES.put(&mut data, self.lanes.0);
        field::FLUSHED.put(&mut data, self.flushed);
        data
    }
}
