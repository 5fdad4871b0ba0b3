//! P_KeyTable (section 14.2.5.7): one block of 32 partition keys of a port.

use super::format::attribute;
use crate::ids::PortNum;

/// The key of the default partition, full membership: bit 15 says full.
pub const DEFAULT_P_KEY: u16 = 0xFFFF;

attribute! {
    /// P_KeyTable: keys whose low 15 bits are 0 are unused entries.
    PKeyTable {
        /// The block's keys.
        keys: [u16; 32] = 0, 512;
    }
}

impl PKeyTable {
    /// Keys in one block.
    pub const BLOCK: usize = 32;

    /// The modifier of a block: at a switch `port` is the external port (0 for its own table); elsewhere it is ignored.
    pub fn modifier(port: PortNum, block: u16) -> u32 {
        u32::from(port.0) << 16 | u32::from(block)
    }
}
