//! GUIDInfo (section 14.2.5.5): one block of eight GUIDs of an end port. The modifier is the block.

use super::format::attribute;
use crate::ids::Guid;

attribute! {
    /// GUIDInfo: entry 0 of block 0 is the port's own GUID and read only; the others are aliases, 0 where unused.
    GuidInfo {
        /// The block's GUIDs.
        guids: [Guid; 8] = 0, 512;
    }
}

impl GuidInfo {
    /// GUIDs in one block.
    pub const BLOCK: usize = 8;
}
