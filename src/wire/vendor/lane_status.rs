//! LaneStatus: which ports of a device hold nothing on some lanes. Read only; the modifier's low 16 bits are the lanes.

use super::PortMask;
use crate::ids::VlSet;
use crate::wire::{AttributeId, SMP_DATA_SIZE};

mod field {
    use std::ops::Range;

    pub const DRAINED_OUTPUTS: Range<usize> = 0..32;
    pub const EMPTY_INPUTS: Range<usize> = 32..64;
}

/// What stands on the lanes asked about, port by port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneStatus {
    /// Outputs for which nothing is latched or queued on these lanes, and to which every credit has come back.
    pub drained_outputs: PortMask,
    /// Inputs whose buffers hold nothing on these lanes.
    pub empty_inputs: PortMask,
}

impl LaneStatus {
    /// The attribute that this type reads and writes.
    pub const ID: AttributeId = AttributeId::LaneStatus;

    /// The modifier that asks about `lanes`.
    pub fn modifier(lanes: VlSet) -> u32 {
        lanes.0.into()
    }

    /// The lanes that a modifier asks about.
    pub fn lanes(modifier: u32) -> VlSet {
        VlSet(modifier as u16)
    }

    /// Reads the attribute.
    pub fn decode(data: &[u8; SMP_DATA_SIZE]) -> LaneStatus {
        let (mut drained_outputs, mut empty_inputs) = (PortMask::EMPTY, PortMask::EMPTY);
        drained_outputs.0.copy_from_slice(&data[field::DRAINED_OUTPUTS]);
        empty_inputs.0.copy_from_slice(&data[field::EMPTY_INPUTS]);
        LaneStatus { drained_outputs, empty_inputs }
    }

    /// Writes the attribute.
    pub fn encode(&self) -> [u8; SMP_DATA_SIZE] {
        let mut data = [0; SMP_DATA_SIZE];
        data[field::DRAINED_OUTPUTS].copy_from_slice(&self.drained_outputs.0);
        data[field::EMPTY_INPUTS].copy_from_slice(&self.empty_inputs.0);
        data
    }
}
