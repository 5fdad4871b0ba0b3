//! MulticastForwardingTable (section 14.2.5.12): 32 multicast LIDs and for each a part of the ports that they go out
//! by.

use super::format::attribute;

attribute! {
    /// One block and position of a switch's table.
    MulticastForwardingTable {
        /// Entry i is LID 0xC000 + 32 × block + i; bit p of it is port 16 × position + p.
        masks: [u16; 32] = 0, 512;
    }
}

impl MulticastForwardingTable {
    /// LIDs in one block.
    pub const BLOCK: u16 = 32;
    /// Ports in one position.
    pub const POSITION: u8 = 16;

    /// The modifier of a block of LIDs (9 bits) and a position of ports (4 bits).
    pub fn modifier(block: u16, position: u8) -> u32 {
        u32::from(position & 0xF) << 28 | u32::from(block & 0x1FF)
    }

    /// Block and position of a modifier; none where it sets bits that have no meaning.
    pub fn decode_modifier(modifier: u32) -> Option<(u16, u8)> {
        let (block, position) = ((modifier & 0x1FF) as u16, (modifier >> 28) as u8);
        (modifier & 0x0FFF_FE00 == 0).then_some((block, position))
    }
}
