//! LinearForwardingTable (section 14.2.5.10): one block of 64 output ports. The modifier is the block.

use super::{AttributeId, SMP_DATA_SIZE};
use crate::ids::Lid;

/// One block of a switch's table: entry i is the output port for LID 64 × block + i, 255 for none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinearForwardingTable(pub [u8; SMP_DATA_SIZE]);

impl LinearForwardingTable {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::LinearForwardingTable;

    /// The modifier of the block that holds `lid`.
    pub fn modifier(lid: Lid) -> u32 {
        u32::from(lid.0) / SMP_DATA_SIZE as u32
    }

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> LinearForwardingTable {
        LinearForwardingTable(*data)
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        self.0
    }
}
