//! NodeRecord (section 15.2.5.2): the NodeInfo and description of a node, once for each of its end ports. Reserved:
//! bytes 2–3.

use super::component::{components, record};
use crate::ids::Lid;
use crate::wire::{NodeDescription, NodeInfo};

record! {
    /// NodeRecord.
    NodeRecord: 112; {
        /// The end port's base LID.
        lid: Lid = 0, 16;
        /// The NodeInfo of the node, as seen at this port.
        info: NodeInfo = 32, 320;
        /// Its description.
        description: NodeDescription = 352, 512;
    }
    components components![
        (0, 16), (16, 16), (32, 8), (40, 8), (48, 8), (56, 8), (64, 64), (128, 64), (192, 64), (256, 16), (272, 16), (288, 32),
        (320, 8), (328, 24), (352, 512),
    ]
}

impl NodeRecord {
    /// Components that an index can look up.
    pub const LID: u32 = 0;
    /// NodeInfo:NodeGUID.
    pub const NODE_GUID: u32 = 7;
    /// NodeInfo:PortGUID.
    pub const PORT_GUID: u32 = 8;
}
