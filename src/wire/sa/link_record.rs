//! LinkRecord (section 15.2.5.13): one direction of a link. Reserved: bytes 6–7.

use super::component::{components, record};
use crate::ids::{Lid, PortNum};

record! {
    /// LinkRecord.
    LinkRecord: 8; {
        /// Base LID of the end port, or of port 0 of the switch, at the near end.
        from_lid: Lid = 0, 16;
        /// The port there.
        from_port: PortNum = 16, 8;
        /// The port at the far end.
        to_port: PortNum = 24, 8;
        /// Base LID there.
        to_lid: Lid = 32, 16;
    }
    components components![(0, 16), (16, 8), (24, 8), (32, 16)]
}

impl LinkRecord {
    /// The near LID.
    pub const FROM_LID: u32 = 0;
    /// The far LID.
    pub const TO_LID: u32 = 3;
}
