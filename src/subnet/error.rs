//! Why the subnet manager could not carry out an operation.

use crate::fabric::BuildError;
use crate::transport::TransportError;

/// The error, the device, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubnetError {
    /// The SM's own port failed.
    #[error("the subnet manager's port: {0}")]
    Transport(#[from] TransportError),
    /// The operation needs a known fabric, and there is none yet.
    #[error("{attempted}: no fabric is known yet; sweep the subnet or give the known fabric first")]
    NoTopology {
        /// What was attempted.
        attempted: &'static str,
    },
    /// The given fabric differs in size from the one that directed paths were computed for.
    #[error(
        "{attempted}: the given fabric has {given} ports, but the one that paths were computed for has {known}; give the subnet manager the same fabric first"
    )]
    OtherTopology {
        /// What was attempted.
        attempted: &'static str,
        /// Ports of the given fabric.
        given: usize,
        /// Ports of the known fabric.
        known: usize,
    },
    /// No directed path leads to the device.
    #[error(
        "{attempted}: no directed path of at most 63 hops leads there from the subnet manager's port; sweep again, or omit the device"
    )]
    NoPath {
        /// What was attempted, and where.
        attempted: String,
    },
    /// A device did not answer.
    #[error(
        "{attempted}: no answer to {sent} requests within {waited_ms} ms; if the device is alive, give it more time or more retries"
    )]
    Silent {
        /// What was attempted, and where.
        attempted: String,
        /// Requests sent.
        sent: u32,
        /// Milliseconds waited in all.
        waited_ms: u64,
    },
    /// A device refused.
    #[error("{attempted}: refused with status {status:#06x} ({meaning})")]
    Refused {
        /// What was attempted, and where.
        attempted: String,
        /// MAD status.
        status: u16,
        /// The status in words.
        meaning: &'static str,
    },
    /// A device answered with values other than those written.
    #[error("{attempted}: asked for {asked}, the device answered with {answered}")]
    NotTaken {
        /// What was attempted, and where.
        attempted: String,
        /// The values written.
        asked: String,
        /// The values read back.
        answered: String,
    },
    /// A barrier was not passed in time.
    #[error("{awaited}: not after {waited_ms} ms ({missing}); the change must not go on without it")]
    BarrierTimeout {
        /// The barrier.
        awaited: String,
        /// Milliseconds waited.
        waited_ms: u64,
        /// What was missing.
        missing: String,
    },
    /// The observer's readings can never prove the barrier.
    #[error("{awaited}: {reason}; choose another drain observer")]
    NoVerdict {
        /// The barrier.
        awaited: String,
        /// The reason.
        reason: String,
    },
    /// A barrier was passed that is not true. Only a simulation can tell.
    #[error(
        "{barrier}: the observer says that nothing stands there, but {occupied} lanes hold packets: {standing}; what the barrier rests on does not hold in this run, and what follows it is not proved"
    )]
    FalseBarrier {
        /// The barrier, its lanes and its observer.
        barrier: String,
        /// How many lanes hold packets.
        occupied: usize,
        /// The first of these lanes by name.
        standing: String,
    },
    /// The subnet reported a change, and is to be looked at before anything else.
    #[error("the subnet has reported a change, and is looked at again")]
    Changed,
    /// The process stood still for so long that another manager may have written.
    #[error("this manager stood still, and writes nothing before it has read the subnet again")]
    StoodStill,
    /// No thread can be started for long computations.
    #[error("there is no thread for what is to be computed: {why}")]
    NoThread {
        /// The error of the system.
        why: String,
    },
    /// The result of a sweep is not a fabric.
    #[error("the sweep found what cannot be one subnet: {0}")]
    Incoherent(#[from] BuildError),
    /// A value does not fit its field on the wire.
    #[error("{attempted}: {reason}")]
    Unsendable {
        /// What was attempted, and where.
        attempted: String,
        /// The reason.
        reason: String,
    },
}

impl SubnetError {
    /// Whether no retry helps: the SM's own port failed, or a barrier that was passed is not true.
    pub fn is_fatal(&self) -> bool {
        matches!(self, SubnetError::Transport(_) | SubnetError::FalseBarrier { .. })
    }
}

/// MAD status in words (section 13.4.7).
pub(super) fn status_meaning(status: u16) -> &'static str {
    match status >> 2 & 0b111 {
        _ if status & 1 != 0 => "busy",
        _ if status & 2 != 0 => "redirection required",
        0 => "class-specific failure",
        1 => "class or base version not supported",
        2 => "method not supported",
        3 => "method and attribute not supported together",
        7 => "a value in the attribute or its modifier is not valid",
        _ => "reserved code",
    }
}
