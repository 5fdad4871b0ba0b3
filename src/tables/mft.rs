//! Multicast forwarding tables: output ports by multicast LID, in blocks of 32 LIDs by 16 ports as
//! MulticastForwardingTable carries them; and the ways of such packets through a switch.

use crate::fabric::PortId;
use crate::ids::{Lid, PortMask};
use std::collections::{BTreeMap, BTreeSet};

/// The part of a table that one attribute carries: a block of 32 LIDs, and a position of 16 ports.
pub type MftPart = (u16, u8);

/// The masks of one part, by LID of its block: bit p is port 16 × position + p.
pub type MftMasks = [u16; BLOCK as usize];

/// A way through a switch, for packets of multicast.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TreeTurn {
    /// The port of the switch that they come in by.
    pub input: PortId,
    /// The port of the same switch that copies leave by.
    pub output: PortId,
}

/// LIDs in one block.
const BLOCK: u16 = 32;
/// Bytes of a mask in one position.
const POSITION: usize = 2;
/// Positions that a mask has.
const POSITIONS: u8 = 16;
/// The first multicast LID.
const FIRST: u16 = Lid::FIRST_MULTICAST.0;

/// One switch's multicast forwarding table: its rows that are not empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mft {
    rows: BTreeMap<Lid, PortMask>,
}

impl Mft {
    /// The outputs of packets to a LID, the port excepted that they came in by.
    pub fn get(&self, lid: Lid) -> PortMask {
        self.rows.get(&lid).copied().unwrap_or_default()
    }

    /// Sets the outputs for a LID.
    pub fn set(&mut self, lid: Lid, ports: PortMask) {
        match ports.is_empty() {
            true => _ = self.rows.remove(&lid),
            false => _ = self.rows.insert(lid, ports),
        }
    }

    /// The rows that are not empty, by rising LID.
    pub fn rows(&self) -> impl Iterator<Item = (Lid, &PortMask)> {
        self.rows.iter().map(|(&lid, ports)| (lid, ports))
    }

    /// All parts that a switch has, by the number of its ports and of its entries (MulticastFDBCap).
    pub fn all_parts(ports: u8, entries: u16) -> impl Iterator<Item = MftPart> {
        let positions = (usize::from(ports) / (8 * POSITION)) as u8;
        (0..entries.div_ceil(BLOCK)).flat_map(move |block| (0..=positions).map(move |position| (block, position)))
    }

    /// The parts that are not empty.
    pub fn parts(&self) -> BTreeSet<MftPart> {
        let of = |(&lid, ports): (&Lid, &PortMask)| {
            let ports = *ports;
            let used = (0..POSITIONS).filter(move |&position| mask(&ports, position) != 0);
            used.map(move |position| (block_of(lid), position))
        };
        self.rows.iter().flat_map(of).collect()
    }

    /// One part.
    pub fn part(&self, (block, position): MftPart) -> MftMasks {
        let mut masks = [0; BLOCK as usize];
        for (&lid, ports) in self.rows.range(lids_of(block)) {
            masks[usize::from((lid.0 - FIRST) % BLOCK)] = mask(ports, position);
        }
        masks
    }

    /// Replaces one part.
    pub fn set_part(&mut self, (block, position): MftPart, masks: &MftMasks) {
        let first = lids_of(block).start().0;
        for (lid, &wanted) in (first..).zip(masks) {
            let mut ports = self.get(Lid(lid));
            let at = usize::from(position) * POSITION;
            ports.0[at..at + POSITION].copy_from_slice(&wanted.to_le_bytes());
            self.set(Lid(lid), ports);
        }
    }

    /// What both tables have.
    pub fn common(&self, other: &Mft) -> Mft {
        let mut common = Mft::default();
        for (lid, own) in self.rows() {
            let others = other.get(lid);
            let both = std::array::from_fn(|at| own.0[at] & others.0[at]);
            common.set(lid, PortMask(both));
        }
        common
    }
}

fn block_of(lid: Lid) -> u16 {
    (lid.0 - FIRST) / BLOCK
}

fn lids_of(block: u16) -> std::ops::RangeInclusive<Lid> {
    let first = FIRST + block * BLOCK;
    Lid(first)..=Lid(first + (BLOCK - 1))
}

fn mask(ports: &PortMask, position: u8) -> u16 {
    let at = usize::from(position) * POSITION;
    u16::from_le_bytes([ports.0[at], ports.0[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PortNum;

    fn ports(numbers: &[u8]) -> PortMask {
        numbers.iter().copied().map(PortNum).collect()
    }

    #[test]
    fn a_table_is_the_sum_of_its_parts() {
        let mut table = Mft::default();
        table.set(Lid(0xC000), ports(&[0, 15, 16]));
        table.set(Lid(0xC021), ports(&[36]));
        assert_eq!(table.parts(), BTreeSet::from([(0, 0), (0, 1), (1, 2)]));
        assert_eq!(table.part((0, 0))[0], 0x8001);
        let mut copy = Mft::default();
        table.parts().into_iter().for_each(|part| copy.set_part(part, &table.part(part)));
        assert_eq!(copy, table);
        copy.set_part((0, 0), &[0; 32]);
        assert_eq!((copy.get(Lid(0xC000)), copy.get(Lid(0xC021))), (ports(&[16]), ports(&[36])));
        assert_eq!(table.common(&copy), copy);
    }
}
