//! SwitchInfoRecord (section 15.2.5.5). Reserved: bytes 2–3.

use super::component::{components, record};
use crate::ids::Lid;
use crate::wire::SwitchInfo;

record! {
    /// SwitchInfoRecord.
    SwitchInfoRecord: 24; {
        /// LID of the switch's port 0.
        lid: Lid = 0, 16;
        /// Its SwitchInfo.
        info: SwitchInfo = 32, 160;
    }
    components components![
        (0, 16), (16, 16), (32, 16), (48, 16), (64, 16), (80, 16), (96, 8), (104, 8), (112, 8), (120, 5), (125, 1), (126, 2),
        (128, 16), (144, 16), (160, 1), (161, 1), (162, 1), (163, 1), (164, 1), (165, 3), (168, 8), (176, 16),
    ]
}

impl SwitchInfoRecord {
    /// The LID.
    pub const LID: u32 = 0;
}
