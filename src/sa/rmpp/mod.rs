//! The reliable multi-packet protocol (section 13.6) as two pure machines, one for each end of a transfer.
//!
//! MADs and the time go in, MADs to send come out ([`RmppStep`]), and at some point the end. A transfer always ends:
//! [`RmppPace`] limits each silence and the whole. The receiver opens the window; after a silence the sender returns to
//! the first segment that was not acknowledged. Lacks on purpose: messages sent both ways under one transaction
//! (double-sided transfers), which only MultiPathRecord needs.

mod receiver;
mod sender;

pub use receiver::{Receiver, RmppMessage};
pub use sender::Sender;

use crate::wire::sa::{Rmpp, RmppStatus, RmppType, SA_DATA_SIZE, SaMad};

/// How long each end waits, and how much it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RmppPace {
    /// The silence after which the sender sends again, in nanoseconds.
    pub resend_ns: u64,
    /// How often it does so without an answer.
    pub retries: u32,
    /// Whether it sends again, and reports that it gives up, before any answer has come. If not, the first segment is
    /// sent again when the other end repeats its request; an end that does not know the protocol then gets one answer
    /// to each request.
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
    /// This end gave up and notified the other.
    #[error("gave up after {segments} of {of} segments: {status:?}")]
    GaveUp {
        /// Segments that arrived.
        segments: u32,
        /// How many there are; 0 where the receiver does not know.
        of: u32,
        /// The status sent to the other end.
        status: RmppStatus,
    },
    /// The other end never answered, and nothing was sent to it unrequested.
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
        /// The status that the other end sent.
        status: RmppStatus,
    },
}

/// What follows from one event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RmppStep<T> {
    /// To be sent, in this order.
    pub mads: Vec<SaMad>,
    /// The transfer has ended, and how. A receiver that has its message continues to acknowledge repetitions.
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
