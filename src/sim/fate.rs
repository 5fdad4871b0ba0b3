//! What becomes of packets.

/// Packets by what became of them. `injected` is the sum of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct PacketCounts {
    /// Handed to a send queue, replies included.
    pub injected: u64,
    /// Arrived at the port that owns their DLID.
    pub delivered: u64,
    /// Still on their way.
    pub in_flight: u64,
    /// Sent by or to an end port that is cut off.
    pub stranded: u64,
    /// Their path, by the tables as they stood when they were sent, crosses an element that has died since, or one that
    /// is back but not ACTIVE yet, by an entry that has not changed since its return; or it ends at a switch without an
    /// entry, from which the tables at the last death led into what died.
    pub lost_to_failure: u64,
    /// Everything else that is lost.
    pub lost_to_change: u64,
}

impl PacketCounts {
    /// Lost in all: to the failure and to the change. What is stranded is not among it, since no manager can deliver
    /// it.
    pub fn lost(&self) -> u64 {
        self.lost_to_failure + self.lost_to_change
    }
}

/// Why a packet did not arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LossCause {
    /// An end of it is cut off.
    CutOff,
    /// Its way died.
    Failure,
    /// Anything else.
    Change,
}

impl LossCause {
    /// The count of such losses.
    pub(super) fn count(self, counts: &mut PacketCounts) -> &mut u64 {
        match self {
            LossCause::CutOff => &mut counts.stranded,
            LossCause::Failure => &mut counts.lost_to_failure,
            LossCause::Change => &mut counts.lost_to_change,
        }
    }
}
