//! LaneStatus: which ports of a device hold nothing on some lanes. Read only; the modifier's low 16 bits are the lanes.
//! Bit 16 asks for silence: the device answers only once all outputs named in the question are drained.

use super::PortMask;
use crate::ids::VlSet;
use crate::wire::format::attribute;

attribute! {
    /// The occupancy of the lanes asked about, port by port.
    #[derive(Copy)]
    LaneStatus {
        /// Outputs for which nothing is latched or queued on these lanes, and to which every credit has come back.
        drained_outputs: PortMask = 0, 256;
        /// Inputs whose buffers are empty on these lanes.
        empty_inputs: PortMask = 256, 256;
    }
}

/// Of the modifier.
const WHEN_DRAINED: u32 = 1 << 16;

impl LaneStatus {
    /// The modifier that asks about `lanes`.
    pub fn modifier(lanes: VlSet) -> u32 {
        lanes.0.into()
    }

    /// The modifier that asks about `lanes` and wants an answer only if the outputs in the question are drained.
    pub fn silent_modifier(lanes: VlSet) -> u32 {
        LaneStatus::modifier(lanes) | WHEN_DRAINED
    }

    /// Returns whether a modifier wants no answer before the outputs in the question are drained.
    pub fn wants_silence(modifier: u32) -> bool {
        modifier & WHEN_DRAINED != 0
    }

    /// The lanes that a modifier asks about.
    pub fn lanes(modifier: u32) -> VlSet {
        VlSet(modifier as u16)
    }
}
