//! Writes of forwarding tables, recorded as each lands at its switch, so that every moment can be judged afterwards.
//! Off unless requested.

use super::Sim;
use crate::fabric::NodeId;
use crate::wire::SMP_DATA_SIZE;

/// A block that a manager has written, equal to the one before or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableWrite {
    /// When it landed.
    pub at_ns: u64,
    /// The switch.
    pub switch: NodeId,
    /// The block.
    pub block: u16,
    /// Output ports, 255 for no route.
    pub entries: [u8; SMP_DATA_SIZE],
}

impl Sim {
    /// Has writes of forwarding tables recorded from now on.
    pub fn record_table_writes(&mut self) {
        self.recorded.get_or_insert_default();
    }

    /// What was recorded since it was last taken, in the order in which it landed.
    pub fn take_table_writes(&mut self) -> Vec<TableWrite> {
        self.recorded.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn record(&mut self, switch: NodeId, block: usize, entries: &[u8; SMP_DATA_SIZE]) {
        let at_ns = self.now_ns();
        if let Some(recorded) = &mut self.recorded {
            recorded.push(TableWrite { at_ns, switch, block: block as u16, entries: *entries });
        }
    }
}
