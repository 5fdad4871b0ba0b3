//! Linear forwarding tables: output port by DLID, in blocks of 64 as LinearForwardingTable carries them.

use crate::ids::{Lid, PortNum};

/// LIDs in one block of a LinearForwardingTable attribute.
pub const LFT_BLOCK: usize = 64;

/// One switch's linear forwarding table. LIDs beyond its end have no route.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lft {
    ports: Vec<u8>,
}

impl Lft {
    /// A table that routes nothing.
    pub fn new() -> Lft {
        Lft::default()
    }

    /// The output port for `lid`; none if packets to it are discarded.
    #[inline]
    pub fn get(&self, lid: Lid) -> Option<PortNum> {
        self.ports.get(lid.index()).copied().map(PortNum).filter(|&port| port != PortNum::NO_ROUTE)
    }

    /// Sets the output port for `lid`; [`PortNum::NO_ROUTE`] removes the route.
    pub fn set(&mut self, lid: Lid, port: PortNum) {
        let needed = (lid.index() / LFT_BLOCK + 1) * LFT_BLOCK;
        if self.ports.len() < needed {
            self.ports.resize(needed, PortNum::NO_ROUTE.0);
        }
        self.ports[lid.index()] = port.0;
    }

    /// The LIDs that another table leads elsewhere, in rising order.
    pub fn differing<'a>(&'a self, other: &'a Lft) -> impl Iterator<Item = Lid> + 'a {
        let blocks = (0..self.blocks().max(other.blocks())).filter(|&block| self.slice(block) != other.slice(block));
        blocks.flat_map(move |block| {
            let first = usize::from(block) * LFT_BLOCK;
            let pairs = self.block(block).into_iter().zip(other.block(block)).enumerate();
            pairs.filter(|(_, (own, others))| own != others).map(move |(at, _)| Lid((first + at) as u16))
        })
    }

    /// The number of blocks that differ in another table.
    pub fn blocks_differing(&self, other: &Lft) -> usize {
        (0..self.blocks().max(other.blocks())).filter(|&block| self.slice(block) != other.slice(block)).count()
    }

    /// The LIDs with a route, in rising order, and their output ports.
    pub fn routes(&self) -> impl Iterator<Item = (Lid, PortNum)> + '_ {
        let ports = self.ports.iter().zip(0..).map(|(&port, lid)| (Lid(lid), PortNum(port)));
        ports.filter(|&(_, port)| port != PortNum::NO_ROUTE)
    }

    /// The number of blocks in the table.
    pub fn blocks(&self) -> u16 {
        (self.ports.len() / LFT_BLOCK) as u16
    }

    /// One block of 64 port numbers where it lies, 255 for no route.
    #[inline]
    pub fn slice(&self, block: u16) -> &[u8] {
        let start = usize::from(block) * LFT_BLOCK;
        self.ports.get(start..start + LFT_BLOCK).unwrap_or(&[PortNum::NO_ROUTE.0; LFT_BLOCK])
    }

    /// One block of 64 port numbers, 255 for no route.
    pub fn block(&self, block: u16) -> [u8; LFT_BLOCK] {
        let start = usize::from(block) * LFT_BLOCK;
        let mut bytes = [PortNum::NO_ROUTE.0; LFT_BLOCK];
        if let Some(entries) = self.ports.get(start..start + LFT_BLOCK) {
            bytes.copy_from_slice(entries);
        }
        bytes
    }

    /// Replaces one block.
    pub fn set_block(&mut self, block: u16, entries: &[u8; LFT_BLOCK]) {
        let start = usize::from(block) * LFT_BLOCK;
        if self.ports.len() < start + LFT_BLOCK {
            self.ports.resize(start + LFT_BLOCK, PortNum::NO_ROUTE.0);
        }
        self.ports[start..start + LFT_BLOCK].copy_from_slice(entries);
    }
}
