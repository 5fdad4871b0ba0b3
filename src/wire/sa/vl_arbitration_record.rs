//! VLArbitrationTableRecord (section 15.2.5.12): half a list of a port. Reserved: bytes 4–7.

use super::component::{components, record};
use crate::ids::{Lid, PortNum};
use crate::wire::VlArbitrationTable;

record! {
    /// VLArbitrationTableRecord.
    VlArbitrationRecord: 72; {
        /// Base LID of the end port; of port 0 for all ports of a switch.
        lid: Lid = 0, 16;
        /// The output port of a switch; 0 elsewhere.
        port: PortNum = 16, 8;
        /// [`VlArbitrationBlock::number`](crate::wire::VlArbitrationBlock::number).
        block: u8 = 24, 8;
        /// The entries.
        table: VlArbitrationTable = 64, 512;
    }
    components components![(0, 16), (16, 8), (24, 8), (32, 32), (64, 512)]
}

impl VlArbitrationRecord {
    /// The LID.
    pub const LID: u32 = 0;
}
