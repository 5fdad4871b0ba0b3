//! The reliable multi-packet protocol (section 13.6) as two pure machines, one for each end of a transfer.
//!
//! Input is MADs and the time; output is MADs to send ([`RmppStep`]) and, once, the result. A transfer always ends:
//! [`RmppPace`] limits each silence and the whole. The receiver opens the window; after a silence the sender returns to
//! the first unacknowledged segment. Deliberately omitted: double-sided transfers (messages in both directions under
//! one transaction), which only MultiPathRecord needs.

mod receiver;
mod sender;

pub use receiver::{Receiver, RmppMessage};
pub use sender::Sender;

use crate::wire::sa::{Rmpp, RmppStatus, RmppType, SA_DATA_SIZE, SaMad};

/// Timeouts and limits of both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RmppPace {
    /// The silence after which the sender sends again, in nanoseconds.
    pub resend_ns: u64,
    /// The number of repetitions without an answer before it gives up.
    pub retries: u32,
    /// Whether the sender repeats segments, and announces that it gives up, before the first answer has come. If not,
    /// the first segment is repeated only when the other end repeats its request; an end that does not know the
    /// protocol then gets one answer to each request.
    pub unheard: bool,
    /// The longest transfer in nanoseconds; a receiver also remembers a complete message for this long.
    pub total_ns: u64,
    /// Segments beyond the last acknowledged one that a receiver accepts.
    pub window: u32,
    /// The most bytes of data that a receiver accepts.
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
        /// Segments in all; 0 if the receiver does not know.
        of: u32,
        /// The status sent to the other end.
        status: RmppStatus,
    },
    /// The other end never answered, and the pace forbids sending to it unrequested.
    #[error("nobody acknowledged the first of {segments} segments")]
    Unheard {
        /// Segments in all.
        segments: u32,
    },
    /// The other end stopped or aborted.
    #[error("the other end ended it after {segments} of {of} segments: {status:?}")]
    Ended {
        /// Segments that arrived.
        segments: u32,
        /// Segments in all; 0 if the receiver does not know.
        of: u32,
        /// The status that the other end sent.
        status: RmppStatus,
    },
}

/// The consequences of one event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RmppStep<T> {
    /// MADs to send, in this order.
    pub mads: Vec<SaMad>,
    /// The result, once the transfer has ended. A receiver that has its message still acknowledges repetitions.
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

/// Bytes of the class header, which every segment's length includes.
const HEADER: u32 = Rmpp::SEGMENT_SIZE - SA_DATA_SIZE as u32;

/// The number of segments for this many bytes of data, at least one.
pub fn segments_for(bytes: usize) -> u32 {
    bytes.div_ceil(SA_DATA_SIZE).max(1) as u32
}

/// A packet without data: Ack, Stop or Abort.
fn control(head: &SaMad, rmpp: Rmpp) -> SaMad {
    SaMad { rmpp, data: [0; SA_DATA_SIZE], ..head.clone() }
}

fn abort(head: &SaMad, status: RmppStatus) -> SaMad {
    control(head, Rmpp { status, ..Rmpp::of(RmppType::Abort) })
}
