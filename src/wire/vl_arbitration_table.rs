//! VLArbitrationTable (section 14.2.5.9): half of a port's list of lanes and how much each may send in turn.

use super::format::{attribute, layout};
use crate::ids::{PortNum, Vl};

layout! {
    /// One entry of a list. Reserved: its first four bits.
    #[derive(Copy, Default)]
    VlArbitrationEntry {
        /// The lane.
        vl: Vl = 4, 4;
        /// The amount that it may send in its turn, in units of 64 bytes; with 0 the entry is skipped.
        weight: u8 = 8, 8;
    }
}

/// The part of a port's lists that an SMP addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum VlArbitrationBlock {
    /// Entries 0–31 of the low-priority list.
    LowFirst,
    /// Entries 32–63 of the low-priority list.
    LowSecond,
    /// Entries 0–31 of the high-priority list.
    HighFirst,
    /// Entries 32–63 of the high-priority list.
    HighSecond,
}

impl VlArbitrationBlock {
    /// Every block in the order of its number.
    pub const ALL: [VlArbitrationBlock; 4] = [
        VlArbitrationBlock::LowFirst,
        VlArbitrationBlock::LowSecond,
        VlArbitrationBlock::HighFirst,
        VlArbitrationBlock::HighSecond,
    ];

    /// 1 to 4.
    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The modifier of this block of a switch's port; a CA or router ignores the port.
    pub fn modifier(self, port: PortNum) -> u32 {
        u32::from(self.number()) << 16 | u32::from(port.0)
    }

    /// Reads a modifier; none where it sets bits that have no meaning.
    pub fn decode(modifier: u32) -> Option<(VlArbitrationBlock, PortNum)> {
        let [high, block, low, port] = modifier.to_be_bytes();
        let found = VlArbitrationBlock::ALL.into_iter().find(|known| known.number() == block)?;
        (high == 0 && low == 0).then_some((found, PortNum(port)))
    }
}

attribute! {
    /// VLArbitrationTable: 32 entries.
    #[derive(Copy)]
    VlArbitrationTable([VlArbitrationEntry; 32] = 0, 512)
}
