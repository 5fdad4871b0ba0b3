//! LinearForwardingTable (section 14.2.5.10): one block of 64 output ports. The modifier is the block.

use super::SMP_DATA_SIZE;
use super::format::attribute;
use crate::ids::Lid;

attribute! {
    /// One block of a switch's table: entry i is the output port for LID 64 × block + i, 255 for none.
    LinearForwardingTable([u8; SMP_DATA_SIZE] = 0, 512)
}

impl LinearForwardingTable {
    /// The modifier of the block that holds `lid`.
    pub fn modifier(lid: Lid) -> u32 {
        u32::from(lid.0) / SMP_DATA_SIZE as u32
    }
}
