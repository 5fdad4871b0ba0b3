//! P_KeyTableRecord (section 15.2.5.11): one block of a port's partition keys. Reserved: bytes 5–7.

use super::component::{components, record};
use crate::ids::{Lid, PortNum};
use crate::wire::PKeyTable;

record! {
    /// P_KeyTableRecord.
    PKeyTableRecord: 72; {
        /// Base LID of the end port; of port 0 for all ports of a switch.
        lid: Lid = 0, 16;
        /// The block of 32 keys.
        block: u16 = 16, 16;
        /// The port.
        port: PortNum = 32, 8;
        /// The keys.
        table: PKeyTable = 64, 512;
    }
    components components![(0, 16), (16, 16), (32, 8), (40, 24), (64, 512)]
}

impl PKeyTableRecord {
    /// The LID.
    pub const LID: u32 = 0;
}
