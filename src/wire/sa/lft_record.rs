//! LinearForwardingTableRecord (section 15.2.5.6): one block of a switch's table. Reserved: bytes 4–7.

use super::component::{components, record};
use crate::ids::Lid;
use crate::wire::LinearForwardingTable;

record! {
    /// LinearForwardingTableRecord.
    LftRecord: 72; {
        /// LID of the switch's port 0.
        lid: Lid = 0, 16;
        /// The block of 64 LIDs.
        block: u16 = 16, 16;
        /// Their output ports.
        table: LinearForwardingTable = 64, 512;
    }
    components components![(0, 16), (16, 16), (32, 32), (64, 512)]
}

impl LftRecord {
    /// The LID.
    pub const LID: u32 = 0;
    /// The block.
    pub const BLOCK: u32 = 1;
}
