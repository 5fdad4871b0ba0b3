//! ActiveHalf: the half of LIDs and service levels that an end port sends on. The modifier is the port. Reserved: bits 0–6 of
//! bytes 0 and 1, bytes 2–63.

use crate::ids::Half;
use crate::wire::{AttributeId, SMP_DATA_SIZE};

mod field {
    use crate::wire::bits::{Bits, bits};

    pub const UPPER: Bits = bits(7, 1);
    pub const SETTLED: Bits = bits(15, 1);
}

/// A Set moves the port's sources to `half`; a Get tells where they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveHalf {
    /// Packets made from now on take SLID, DLID and SL of this half.
    pub half: Half,
    /// In answers: no packet of the other half waits in the port's send queues. Ignored in a Set.
    pub settled: bool,
}

impl ActiveHalf {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::ActiveHalf;

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> ActiveHalf {
        let half = if field::UPPER.get_flag(data) { Half::Upper } else { Half::Lower };
        ActiveHalf { half, settled: field::SETTLED.get_flag(data) }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        field::UPPER.put(&mut data, self.half == Half::Upper);
        field::SETTLED.put(&mut data, self.settled);
        data
    }
}
