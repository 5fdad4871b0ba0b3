//! SLtoVLMappingTableRecord (section 15.2.5.4): one table of a port. Reserved: bytes 4–7.

use super::component::{components, record};
use crate::ids::{Lid, PortNum};
use crate::wire::SlToVlMappingTable;

record! {
    /// SLtoVLMappingTableRecord.
    SlToVlRecord: 16; {
        /// Base LID of the end port; of port 0 for all ports of a switch.
        lid: Lid = 0, 16;
        /// The input port of a switch; 0 elsewhere.
        input: PortNum = 16, 8;
        /// The output port of a switch; 0 elsewhere.
        output: PortNum = 24, 8;
        /// The table.
        table: SlToVlMappingTable = 64, 64;
    }
    components components![(0, 16), (16, 8), (24, 8), (32, 32), (64, 64)]
}

impl SlToVlRecord {
    /// The LID.
    pub const LID: u32 = 0;
}
