//! The reliable multi-packet protocol (section 13.6) as two pure machines, one for each end of a transfer.
//!
//! MADs and the time go in, MADs to send come out ([`RmppStep`]), and at some point the end. A transfer always ends:
//! each silence is as long as [`RmppPace`] says, and so is the whole. The window is the receiver's to open; the sender
//! goes back to the first segment that was not acknowledged when it hears nothing. Lacks on purpose: messages sent both
//! ways under one transaction (double-sided transfers), which only MultiPathRecord needs.

mod receiver;
mod sender;

pub use receiver::{Receiver, RmppMessage};
pub use sender::Sender;

use crate::wire::sa::{Rmpp, RmppStatus, RmppType, SA_DATA_SIZE, SaMad};

/// How long each end waits, and how much it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RmppPace {
    /// The sender hears nothing for so long: it sends again. In nanoseconds.
    pub resend_ns: u64,
    /// How often it does so without hearing anything.
    pub retries: u32,
    /// Whether it sends again, and says that it gives up, before it has heard anything at all. Where not, the request
    /// that the other end repeats brings the first segment once more; ends that know nothing of the protocol hear no
    /// more than one answer to a question.
    pub unheard: bool,
    /// A whole transfer takes no longer, in nanoseconds; a receiver also remembers a message that came for this long.
    pub total_ns: u64,
    /// Segments beyond the last acknowledged one that a receiver takes.
    pub window: u32,
    /// Bytes of data that a receiver takes at most.
    pub most_bytes: usize,
}

impl Default for RmppPace {
    fn default() -> RmppPace {
        RmppPace {
            resend_ns: 400_000_000,
            retries: 5,
            unheard: true,
            total_ns: 40_000_000_000,
            window: 64,
            most_bytes: 64 << 20,
        }
    }
}

/// Why a transfer failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransferFailure {
    /// This end gave up and said so to the other.
    #[error("gave up after {segments} of {of} segments: {status:?}")]
    GaveUp {
        /// Segments that arrived.
        segments: u32,
        /// How many there are; 0 where the receiver does not know.
        of: u32,
        /// What was told to the other end.
        status: RmppStatus,
    },
    /// Nothing was ever heard of the other end, and nothing sent to it unasked.
    #[error("nobody acknowledged the first of {segments} segments")]
    Unheard {
        /// How many there are.
        segments: u32,
    },
    /// The other end stopped or aborted.
    #[error("the other end ended it after {segments} of {of} segments: {status:?}")]
    Ended {
        /// Segments that arrived.
        segments: u32,
        /// How many there are; 0 where the receiver does not know.
        of: u32,
        /// What the other end said.
        status: RmppStatus,
    },
}

/// What follows from one event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RmppStep<T> {
    /// To be sent, in this order.
    pub mads: Vec<SaMad>,
    /// The transfer has ended, and how. A receiver that has its message goes on to acknowledge repetitions.
    pub end: Option<Result<T, TransferFailure>>,
}

impl<T> RmppStep<T> {
    fn nothing() -> RmppStep<T> {
        RmppStep::send(Vec::new())
    }

    fn send(mads: Vec<SaMad>) -> RmppStep<T> {
        RmppStep { mads, end: None }
    }
}

/// Bytes of the class's header that every segment counts with its data.
const HEADER: u32 = Rmpp::SEGMENT_SIZE - SA_DATA_SIZE as u32;

/// How many segments carry so many bytes of data: at least one.
pub fn segments_for(bytes: usize) -> u32 {
    bytes.div_ceil(SA_DATA_SIZE).max(1) as u32
}

/// A packet about a transfer, without data.
fn control(head: &SaMad, rmpp: Rmpp) -> SaMad {
    SaMad { rmpp, data: [0; SA_DATA_SIZE], ..head.clone() }
}

fn abort(head: &SaMad, status: RmppStatus) -> SaMad {
    control(head, Rmpp { status, ..Rmpp::of(RmppType::Abort) })
}
