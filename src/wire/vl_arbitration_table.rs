//! VLArbitrationTable (section 14.2.5.9): half of a port's list of lanes and how much each may send in turn.

use super::bits::{Bits, bits};
use super::{AttributeId, SMP_DATA_SIZE};
use crate::ids::{PortNum, Vl};

/// Where the lane of an entry stands, behind four reserved bits; its weight follows.
fn lane(entry: usize) -> Bits {
    bits(16 * entry + 4, 4)
}

fn weight(entry: usize) -> Bits {
    bits(16 * entry + 8, 8)
}

/// One entry of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VlArbitrationEntry {
    /// The lane.
    pub vl: Vl,
    /// How much it may send in its turn, in units of 64 bytes; with 0 the entry is skipped.
    pub weight: u8,
}

/// Which part of a port's lists an SMP means.
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

/// VLArbitrationTable: 32 entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VlArbitrationTable(pub [VlArbitrationEntry; 32]);

impl VlArbitrationTable {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::VlArbitrationTable;

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> VlArbitrationTable {
        let entry = |at| VlArbitrationEntry { vl: Vl::masked(lane(at).get_u8(data)), weight: weight(at).get_u8(data) };
        VlArbitrationTable(std::array::from_fn(entry))
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        for (at, entry) in self.0.iter().enumerate() {
            lane(at).put(&mut data, entry.vl.get());
            weight(at).put(&mut data, entry.weight);
        }
        data
    }
}
