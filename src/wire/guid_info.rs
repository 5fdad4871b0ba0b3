//! GUIDInfo (section 14.2.5.5): one block of eight GUIDs of an end port. The modifier is the block.

use super::format::wire_format;
use super::{AttributeId, SMP_DATA_SIZE};
use crate::ids::Guid;

wire_format! {
    /// GUIDInfo: entry 0 of block 0 is the port's own GUID and read only; the others are aliases, 0 where unused.
    GuidInfo: SMP_DATA_SIZE; {
        /// The block's GUIDs.
        guids: [Guid; 8] = 0, 512;
    }
}

impl GuidInfo {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::GuidInfo;
    /// GUIDs in one block.
    pub const BLOCK: usize = 8;
}
