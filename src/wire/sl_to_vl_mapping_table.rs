//! SLtoVLMappingTable (section 14.2.5.8): a lane for each service level, 4 bits each, SL 0 first. Reserved: bytes 8–63.
//!
//! At a switch the modifier names input and output port, or, where [`SwitchInfo`](super::SwitchInfo) says that the
//! switch takes the optimised form, every one of them. A CA or router has one table a port, and ignores the modifier.

use super::format::attribute;
use crate::ids::{PortNum, Sl, Vl};

attribute! {
    /// SLtoVLMappingTable: the lane of each service level. VL 15 discards.
    #[derive(Copy)]
    SlToVlMappingTable([Vl; 16] = 0, 64)
}

impl SlToVlMappingTable {
    /// The lane of a service level.
    pub fn get(&self, sl: Sl) -> Vl {
        self.0[sl.index()]
    }
}

/// The tables of a switch that a Get or Set addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlToVlModifier {
    /// The plain form: one input, one output.
    Pair {
        /// The input port; 0 for the switch's own packets.
        input: PortNum,
        /// The output port.
        output: PortNum,
    },
    /// Optimised: every input of one output.
    EveryInput {
        /// The output port.
        output: PortNum,
    },
    /// Optimised: every output of one input.
    EveryOutput {
        /// The input port.
        input: PortNum,
    },
    /// Optimised: every input and output.
    Every,
}

impl SlToVlModifier {
    /// The modifier of the optimised form for the whole switch.
    pub const OPTIMISED_ALL: u32 = EVERY_INPUT | EVERY_OUTPUT;

    /// Reads a modifier; none where it sets bits that have no meaning.
    pub fn decode(modifier: u32) -> Option<SlToVlModifier> {
        let [0, high, input, output] = modifier.to_be_bytes() else { return None };
        let (input, output) = (PortNum(input), PortNum(output));
        match u32::from(high) << 16 {
            0 => Some(SlToVlModifier::Pair { input, output }),
            EVERY_INPUT => Some(SlToVlModifier::EveryInput { output }),
            EVERY_OUTPUT => Some(SlToVlModifier::EveryOutput { input }),
            SlToVlModifier::OPTIMISED_ALL => Some(SlToVlModifier::Every),
            _ => None,
        }
    }

    /// Writes the modifier.
    pub fn encode(self) -> u32 {
        let pair = |input: PortNum, output: PortNum| u32::from(input.0) << 8 | u32::from(output.0);
        match self {
            SlToVlModifier::Pair { input, output } => pair(input, output),
            SlToVlModifier::EveryInput { output } => EVERY_INPUT | pair(PortNum::ZERO, output),
            SlToVlModifier::EveryOutput { input } => EVERY_OUTPUT | pair(input, PortNum::ZERO),
            SlToVlModifier::Every => SlToVlModifier::OPTIMISED_ALL,
        }
    }
}

const EVERY_INPUT: u32 = 0x2_0000;
const EVERY_OUTPUT: u32 = 0x1_0000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMP_DATA_SIZE;

    #[test]
    fn the_lane_of_sl_0_comes_first() {
        let mut data = [0; SMP_DATA_SIZE];
        data[..8].copy_from_slice(&[0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF]);
        let table = SlToVlMappingTable::decode(&data);
        assert!(Sl::all().all(|sl| table.get(sl).get() == sl.get()));
        assert_eq!(table.encode(), data);
    }

    #[test]
    fn modifiers_are_those_that_subnet_managers_send() {
        let (input, output) = (PortNum(3), PortNum(36));
        let known = [
            (SlToVlModifier::Pair { input, output }, 0x0324),
            (SlToVlModifier::EveryInput { output }, 0x2_0024),
            (SlToVlModifier::EveryOutput { input }, 0x1_0300),
            (SlToVlModifier::Every, 0x3_0000),
        ];
        for (modifier, number) in known {
            assert_eq!(modifier.encode(), number);
            assert_eq!(SlToVlModifier::decode(number), Some(modifier));
        }
        assert_eq!(SlToVlModifier::decode(0x4_0000), None);
        assert_eq!(SlToVlModifier::decode(0x100_0000), None);
    }
}
