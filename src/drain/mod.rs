//! Judges readings of the fabric; the only maker of [`Flushed`], [`SourcesMoved`], [`Drained`] and [`Vacated`].
//!
//! On entry: readings, as values, in any order, however often or late. On return: a [`Verdict`]: *pending* while more
//! readings are needed, a proof that carries the [`Ticket`] of the question that it answers, or *no verdict* with the
//! reason, after which this judge never gives a proof. A reading of another question does not count. Dead elements are
//! excused: their share counts as given. Deliberately omitted: requests (`subnet`), clocks (times are in the readings),
//! time-outs (the caller's).

mod conservation;
mod flush;
mod layers;
mod lifetime;
mod poll;
mod sources;
mod token;
mod vacate;

pub use crate::plan::{ChannelId, DeviceId, DrainGraph, DrainLayer, Observer, PortMask};
pub use conservation::{ConservationJudge, CounterReading};
pub use flush::{FlushJudge, FlushReading, StraysJudge};
pub use layers::LayersJudge;
pub use lifetime::{AgeQuestion, AgeStage, DrainAge, FlushAge, LifetimeReading, ReplyReading, VacateAge};
pub use poll::{LaneReading, PollJudge};
pub use sources::{FenceJudge, FenceReading, SourceReading, SourcesJudge};
pub use token::{TokenJudge, TokenReading};
pub use vacate::VacateJudge;

use crate::ids::{Half, VlSet};

/// Identifies one question to the fabric: no two questions of one machine share a ticket, and an answer carries the
/// ticket of its question.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Ticket(pub u32);

/// The most parts of a question: eight virtual layers, each drained twice; or rounds of flushes, one for each channel
/// of the longest way that a directed-route SMP can take (63), and one more.
const PARTS: u32 = 64;

/// What no question takes less than: every device is asked, and the farthest answers. So tickets rise more slowly than
/// the clock, and a manager that follows another begins above all of that one's.
const QUESTION_NS: u64 = 10_000;

impl Ticket {
    /// The round numbers of this question's tokens on the wire: for requests, then for the replies that they caused.
    pub fn rounds(self) -> [u32; 2] {
        [self.0.wrapping_mul(2), self.0.wrapping_mul(2).wrapping_add(1)]
    }

    /// The ticket of the next question; the gap leaves room for a question's parts.
    #[must_use]
    pub fn next(self) -> Ticket {
        Ticket(self.0.wrapping_add(PARTS))
    }

    /// The first ticket of a manager that starts at this time of the transport's clock: above all earlier ones.
    pub fn at(now_ns: u64) -> Ticket {
        Ticket(((now_ns / QUESTION_NS) as u32).wrapping_mul(PARTS))
    }

    /// The ticket of one part of this question, 0 to 63.
    fn part(self, part: usize) -> Ticket {
        Ticket(self.0.wrapping_add(part as u32 % PARTS))
    }
}

/// A judge's verdict on the readings so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict<P> {
    /// More readings are needed.
    Pending,
    /// The property holds.
    Proof(P),
    /// These readings can never show it; ask again, or use another observer.
    NoVerdict(NoVerdict),
}

/// Why readings prove nothing. [`NoVerdict::about`] gives the device or port, for callers that know its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoVerdict {
    /// An answer concerns other lanes than the question.
    #[error("an answer about {found} came to the question about {asked}: the devices run another change")]
    OtherLanes {
        /// The lanes of the question.
        asked: VlSet,
        /// The lanes of the answer.
        found: VlSet,
    },
    /// A token of the second round came before that round began.
    #[error("a token of the second round came through a channel before the first round was complete")]
    EarlyToken {
        /// The channel through which it came.
        channel: ChannelId,
    },
    /// A counter is at its maximum.
    #[error("a counter of the port stands at its largest value and may have missed packets")]
    Clamped {
        /// The end port.
        port: ChannelId,
    },
    /// A counter decreased.
    #[error("a counter of the port fell from {before} to {now}: somebody cleared it")]
    WentBack {
        /// The end port.
        port: ChannelId,
        /// The earlier reading.
        before: u64,
        /// The later one.
        now: u64,
    },
    /// The counters of all ports contradict each other.
    #[error(
        "{received} units were received and only {sent} sent: counters were cleared, or count what is no unicast data \
         between these ports; use another drain observer"
    )]
    MoreReceived {
        /// Units of four bytes sent, over all ports.
        sent: u128,
        /// Units of four bytes received, over all ports.
        received: u128,
    },
    /// An end port died.
    #[error("the port died: what it sent and received is missing from the sums")]
    Uncounted {
        /// The end port.
        port: ChannelId,
    },
    /// A device keeps packets for ever.
    #[error("the switch has no limit to the age of packets: set SwitchInfo:LifeTimeValue below 20")]
    Unlimited {
        /// The device.
        device: DeviceId,
    },
    /// The bound exceeds the clock.
    #[error("{hops} hops of {lifetime_ns} ns each exceed the range of the clock")]
    TooLong {
        /// Hops counted.
        hops: u64,
        /// The longest lifetime read.
        lifetime_ns: u64,
    },
}

/// The device or port that a [`NoVerdict`] concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A device.
    Device(DeviceId),
    /// An end port, or the channel that it sends into.
    Port(ChannelId),
}

impl NoVerdict {
    /// The device or port concerned; none if it concerns all of them.
    pub fn about(&self) -> Option<Subject> {
        match *self {
            NoVerdict::EarlyToken { channel } => Some(Subject::Port(channel)),
            NoVerdict::Clamped { port } | NoVerdict::WentBack { port, .. } | NoVerdict::Uncounted { port } => {
                Some(Subject::Port(port))
            }
            NoVerdict::Unlimited { device } => Some(Subject::Device(device)),
            NoVerdict::OtherLanes { .. } | NoVerdict::MoreReceived { .. } | NoVerdict::TooLong { .. } => None,
        }
    }
}

/// Proof that no packet stands in some lanes, and that none anywhere is latched for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flushed {
    ticket: Ticket,
    lanes: VlSet,
}

/// Proof that every source, responders included, sends on one half only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourcesMoved {
    ticket: Ticket,
    half: Half,
}

/// Proof that some lanes are empty everywhere, requests and the replies they caused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drained {
    ticket: Ticket,
    lanes: VlSet,
    observer: Observer,
}

/// Proof that after the last write every device has sent off what stood in it, some times in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vacated {
    ticket: Ticket,
    rounds: u8,
}

impl Vacated {
    /// The question answered.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The number of rounds.
    pub fn rounds(&self) -> u8 {
        self.rounds
    }
}

impl Flushed {
    /// The question answered.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The lanes that are empty.
    pub fn lanes(&self) -> VlSet {
        self.lanes
    }
}

impl SourcesMoved {
    /// The question answered.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The half that all send on.
    pub fn half(&self) -> Half {
        self.half
    }
}

impl Drained {
    /// The question answered.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The lanes that are empty.
    pub fn lanes(&self) -> VlSet {
        self.lanes
    }

    /// The observer that made the proof.
    pub fn observer(&self) -> Observer {
        self.observer
    }
}

/// The common part of the judges' tests.
#[cfg(test)]
mod testing {
    use super::{ChannelId, DeviceId, DrainGraph, PortMask};
    use crate::ids::PortNum;
    use crate::plan::testing;

    pub fn device(number: u32) -> DeviceId {
        testing::device(number)
    }

    pub fn channel(number: u32) -> ChannelId {
        testing::channel(number)
    }

    pub fn num(number: u8) -> PortNum {
        PortNum(number)
    }

    /// Host, switch, switch, host in a row, packets in one direction: three channels.
    pub fn chain() -> DrainGraph {
        let mask = |number| -> PortMask { [PortNum(number)].into_iter().collect() };
        testing::row(mask(2))
    }
}
