//! DrainArcs: the arcs of a routing function's channel dependency graph at one node, as a mask of outputs for each
//! input. The modifier is the block.
//!
//! A mask of a node with n external ports takes ⌈(n + 1) / 8⌉ bytes, rounded up to a power of two, so that masks never
//! cross a block. A block holds the masks of consecutive inputs; ports count from 0, the node's own.

use super::PortMask;
use crate::ids::PortNum;
use crate::wire::SMP_DATA_SIZE;
use crate::wire::format::attribute;

/// The division of a node's masks into blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArcBlocks {
    num_ports: u8,
    width: usize,
}

impl ArcBlocks {
    /// The blocks of a node with `num_ports` external ports.
    pub fn of(num_ports: u8) -> ArcBlocks {
        let width = (usize::from(num_ports) + 1).div_ceil(8).next_power_of_two();
        ArcBlocks { num_ports, width }
    }

    /// Bytes of a mask.
    pub fn width(self) -> usize {
        self.width
    }

    /// Inputs that a block covers.
    pub fn inputs_per_block(self) -> usize {
        SMP_DATA_SIZE / self.width
    }

    /// The number of blocks of the node.
    pub fn count(self) -> u32 {
        (usize::from(self.num_ports) + 1).div_ceil(self.inputs_per_block()) as u32
    }

    /// The block that covers an input.
    pub fn block_of(self, input: PortNum) -> u32 {
        (input.index() / self.inputs_per_block()) as u32
    }

    /// The inputs that a block covers, in the order of their masks.
    pub fn inputs(self, block: u32) -> impl Iterator<Item = PortNum> {
        let first = block as usize * self.inputs_per_block();
        (0..=self.num_ports).map(PortNum).skip(first).take(self.inputs_per_block())
    }

    fn range(self, input: PortNum) -> std::ops::Range<usize> {
        assert!(input.0 <= self.num_ports, "{input:?} of a node with {} ports", self.num_ports);
        let start = input.index() % self.inputs_per_block() * self.width;
        start..start + self.width
    }
}

attribute! {
    /// One block of masks.
    DrainArcs([u8; SMP_DATA_SIZE] = 0, 512)
}

impl DrainArcs {
    /// A block without arcs.
    pub const EMPTY: DrainArcs = DrainArcs([0; SMP_DATA_SIZE]);

    /// The outputs that `input`, one of this block's, leads to. Panics on a port that the node lacks.
    pub fn outputs(&self, blocks: ArcBlocks, input: PortNum) -> PortMask {
        let mut mask = PortMask::EMPTY;
        mask.0[..blocks.width].copy_from_slice(&self.0[blocks.range(input)]);
        mask
    }

    /// Replaces the outputs of `input`, one of this block's. Panics on ports that the node lacks.
    pub fn set_outputs(&mut self, blocks: ArcBlocks, input: PortNum, outputs: &PortMask) {
        let stray = outputs.iter().find(|output| output.0 > blocks.num_ports);
        assert!(stray.is_none(), "{stray:?} of a node with {} ports", blocks.num_ports);
        self.0[blocks.range(input)].copy_from_slice(&outputs.0[..blocks.width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_fill_blocks_without_crossing_them() {
        let shape = |ports| {
            let blocks = ArcBlocks::of(ports);
            (blocks.width(), blocks.inputs_per_block(), blocks.count())
        };
        assert_eq!(shape(1), (1, 64, 1));
        assert_eq!(shape(7), (1, 64, 1));
        assert_eq!(shape(8), (2, 32, 1));
        assert_eq!(shape(36), (8, 8, 5));
        assert_eq!(shape(40), (8, 8, 6));
        assert_eq!(shape(64), (16, 4, 17));
        assert_eq!(shape(255), (32, 2, 128));
    }

    #[test]
    fn every_arc_of_a_node_survives_its_block() {
        let blocks = ArcBlocks::of(36);
        let outputs = |input: PortNum| -> PortMask {
            (0..=36).filter(|o| (o + input.0).is_multiple_of(3)).map(PortNum).collect()
        };
        for block in 0..blocks.count() {
            let mut arcs = DrainArcs::EMPTY;
            blocks.inputs(block).for_each(|input| arcs.set_outputs(blocks, input, &outputs(input)));
            let read = DrainArcs::decode(&arcs.encode());
            assert!(blocks.inputs(block).all(|input| read.outputs(blocks, input) == outputs(input)));
            assert!(blocks.inputs(block).all(|input| blocks.block_of(input) == block));
        }
        let covered: Vec<PortNum> = (0..blocks.count()).flat_map(|block| blocks.inputs(block)).collect();
        assert_eq!(covered, (0..=36).map(PortNum).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "of a node with 36 ports")]
    fn an_output_that_the_node_lacks_is_refused() {
        DrainArcs::EMPTY.clone().set_outputs(ArcBlocks::of(36), PortNum(1), &[PortNum(37)].into_iter().collect());
    }
}
