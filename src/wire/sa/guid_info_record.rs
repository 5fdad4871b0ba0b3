//! GUIDInfoRecord (section 15.2.5.18): one block of an end port's GUIDs. Reserved: bytes 3–7.

use super::component::{components, record};
use crate::ids::Lid;
use crate::wire::GuidInfo;

record! {
    /// GUIDInfoRecord.
    GuidInfoRecord: 72; {
        /// The end port's base LID.
        lid: Lid = 0, 16;
        /// The block of eight GUIDs.
        block: u8 = 16, 8;
        /// The GUIDs.
        table: GuidInfo = 64, 512;
    }
    components components![
        (0, 16), (16, 8), (24, 8), (32, 32), (64, 64), (128, 64), (192, 64), (256, 64), (320, 64), (384, 64), (448, 64),
        (512, 64),
    ]
}

impl GuidInfoRecord {
    /// The LID.
    pub const LID: u32 = 0;
}
