//! PortInfoRecord (section 15.2.5.3): a port, external ports of switches included.

use super::component::{components, record};
use crate::ids::{Lid, PortNum};
use crate::wire::PortInfo;

record! {
    /// PortInfoRecord.
    PortInfoRecord: 72; {
        /// Base LID of the end port; of port 0 for all ports of a switch.
        lid: Lid = 0, 16;
        /// The port.
        port: PortNum = 16, 8;
        /// In a request: how much of PortInfo the asker understands.
        options: u8 = 24, 8;
        /// The port's PortInfo, with its M_Key only for trusted clients.
        info: PortInfo = 32, 512;
    }
    components components![
        (0, 16), (16, 8), (24, 8), (32, 64), (96, 64), (160, 16), (176, 16), (192, 32), (224, 16), (240, 16), (256, 8),
        (264, 8), (272, 8), (280, 8), (288, 4), (292, 4), (296, 4), (300, 4), (304, 2), (306, 3), (309, 3), (312, 4), (316, 4),
        (320, 4), (324, 4), (328, 4), (332, 4), (336, 8), (344, 8), (352, 8), (360, 4), (364, 4), (368, 3), (371, 5), (376, 4),
        (380, 1), (381, 1), (382, 1), (383, 1), (384, 16), (400, 16), (416, 16), (432, 8), (440, 1), (441, 2), (443, 5),
        (448, 3), (451, 5), (456, 4), (460, 4), (464, 16), (480, 8), (488, 24), (512, 16), (528, 4), (532, 4), (536, 3),
        (539, 5),
    ]
}

impl PortInfoRecord {
    /// The base LID of the record, by which it is found.
    pub const LID: u32 = 0;
    /// The number of the port.
    pub const PORT: u32 = 1;
    /// The options of the request; no property of a port.
    pub const OPTIONS: u32 = 2;
    /// PortInfo:LID.
    pub const BASE_LID: u32 = 5;
    /// PortInfo:CapabilityMask.
    pub const CAPABILITY_MASK: u32 = 7;

    /// PortInfo:CapabilityMask2.
    pub const CAPABILITY_MASK2: u32 = 53;

    /// Bit of a request's modifier: a port matches that has every capability asked for, instead of exactly those.
    pub const MATCH_CAPABILITIES: u32 = 1 << 31;
}
