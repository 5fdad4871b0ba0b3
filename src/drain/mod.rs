//! Judges readings of the fabric; the only maker of [`Flushed`], [`SourcesMoved`] and [`Drained`].
//!
//! On entry: readings, as values, in whatever order, as often and as late as the fabric gave them. On return: a
//! [`Verdict`]: *pending* while more readings are needed, a proof that carries the [`Ticket`] of the question it
//! answers, or *no verdict* with the reason, after which this judge never gives a proof. A reading of another
//! question counts for nothing. What died is excused: its share counts as given. Lacks on purpose: asking (`subnet`),
//! clocks (times are in the readings), patience (the caller's).

mod conservation;
mod flush;
mod layers;
mod lifetime;
mod poll;
mod sources;
mod token;

pub use crate::plan::{ChannelId, DeviceId, DrainGraph, DrainLayer, Observer, PortMask};
pub use conservation::{ConservationJudge, CounterReading};
pub use flush::{FlushJudge, FlushReading};
pub use layers::LayersJudge;
pub use lifetime::{DrainAge, FlushAge, LifetimeReading};
pub use poll::{LaneReading, PollJudge};
pub use sources::{FenceJudge, FenceReading, SourceReading, SourcesJudge};
pub use token::{TokenJudge, TokenReading};

use crate::ids::{Half, VlSet};

/// Names one question put to the fabric: no two questions of one machine share a ticket, and an answer bears the
/// ticket of its question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub u32);

/// Parts that a question may have: eight virtual layers, each drained twice.
const PARTS: u32 = 16;

impl Ticket {
    /// The round numbers that tokens of this question bear on the wire: for requests, then for the replies they caused.
    pub fn rounds(self) -> [u32; 2] {
        [self.0.wrapping_mul(2), self.0.wrapping_mul(2).wrapping_add(1)]
    }

    /// The ticket of the next question: there is room between them for the parts of one.
    #[must_use]
    pub fn next(self) -> Ticket {
        Ticket(self.0.wrapping_add(PARTS))
    }

    /// The first ticket of a manager that begins to ask at a time of the transport's clock: above all earlier ones.
    pub fn at(now_ns: u64) -> Ticket {
        // Tickets rise more slowly than this clock as long as there is less than one question a millisecond.
        Ticket(((now_ns / 1_000_000) as u32).wrapping_mul(PARTS))
    }

    /// The ticket of one part of this question, 0 to 15.
    fn part(self, part: usize) -> Ticket {
        Ticket(self.0.wrapping_add(part as u32 % PARTS))
    }
}

/// What a judge makes of the readings so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict<P> {
    /// More readings are needed.
    Pending,
    /// It is so.
    Proof(P),
    /// These readings can never show it; ask anew, or otherwise.
    NoVerdict(NoVerdict),
}

/// Why readings show nothing. [`NoVerdict::about`] gives the device or port, for callers that know its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoVerdict {
    /// An answer for other lanes than those asked about.
    #[error("an answer about {found} came to the question about {asked}: the devices run another change")]
    OtherLanes {
        /// The lanes asked about.
        asked: VlSet,
        /// The lanes of the answer.
        found: VlSet,
    },
    /// A second round's token came before the second round was begun.
    #[error("a token of the second round came through a channel before the first round was complete")]
    EarlyToken {
        /// The channel it came through.
        channel: ChannelId,
    },
    /// A counter stands at its largest value.
    #[error("a counter of the port stands at its largest value and may have missed packets")]
    Clamped {
        /// The end port.
        port: ChannelId,
    },
    /// A port counted more received or sent than before, then less.
    #[error("a counter of the port went back from {before} to {now}: somebody cleared it")]
    WentBack {
        /// The end port.
        port: ChannelId,
        /// The earlier reading.
        before: u64,
        /// The later one.
        now: u64,
    },
    /// Packets were discarded on the way.
    #[error("{discards} packets were discarded at the port: what was sent can never equal what was received")]
    Discarded {
        /// Where.
        port: ChannelId,
        /// How many.
        discards: u64,
    },
    /// A device that keeps packets for ever.
    #[error("the switch has no limit to the age of packets: set SwitchInfo:LifeTimeValue below 20")]
    Unlimited {
        /// The device.
        device: DeviceId,
    },
    /// The bound does not fit a clock.
    #[error("{hops} hops of {lifetime_ns} ns each are longer than any clock runs")]
    TooLong {
        /// Hops counted.
        hops: u64,
        /// The longest lifetime read.
        lifetime_ns: u64,
    },
}

/// What a [`NoVerdict`] is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A device.
    Device(DeviceId),
    /// An end port, or the channel that it sends into.
    Port(ChannelId),
}

impl NoVerdict {
    /// The device or port it is about; none where it is about all of them.
    pub fn about(&self) -> Option<Subject> {
        match *self {
            NoVerdict::EarlyToken { channel } => Some(Subject::Port(channel)),
            NoVerdict::Clamped { port } | NoVerdict::WentBack { port, .. } | NoVerdict::Discarded { port, .. } => {
                Some(Subject::Port(port))
            }
            NoVerdict::Unlimited { device } => Some(Subject::Device(device)),
            NoVerdict::OtherLanes { .. } | NoVerdict::TooLong { .. } => None,
        }
    }
}

/// Proof that nothing stands in some lanes, and that nothing anywhere is latched for them.
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

    /// Who saw it.
    pub fn observer(&self) -> Observer {
        self.observer
    }
}

/// What the judges' tests share.
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
