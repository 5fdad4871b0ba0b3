//! The move of the sources: every end port says that it sends on the new half, and that no packet of the old one waits.

use super::{ChannelId, SourcesMoved, Ticket, Verdict};
use crate::ids::{Half, Sl, Vl};
use std::collections::BTreeSet;

/// One end port's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceReading {
    /// The question it answers.
    pub ticket: Ticket,
    /// The end port.
    pub port: ChannelId,
    /// The half it sends on.
    pub half: Half,
    /// Whether no packet of the other half waits in its send queues.
    pub settled: bool,
}

/// Waits for every source.
#[derive(Clone, Debug)]
pub struct SourcesJudge {
    ticket: Ticket,
    half: Half,
    waiting: BTreeSet<ChannelId>,
}

impl SourcesJudge {
    /// A judge of the move of `ports` to `half`.
    pub fn new(ticket: Ticket, half: Half, ports: impl IntoIterator<Item = ChannelId>) -> SourcesJudge {
        SourcesJudge { ticket, half, waiting: ports.into_iter().collect() }
    }

    /// Takes one answer in. A source that once sent on the new half alone stays there, so later answers cannot undo it.
    pub fn fold(&mut self, reading: &SourceReading) {
        // P3.5 asks for both: a source that has moved may still hold packets that it made on the old half.
        if reading.ticket == self.ticket && reading.half == self.half && reading.settled {
            self.waiting.remove(&reading.port);
        }
    }

    /// The port died.
    pub fn excuse(&mut self, port: ChannelId) {
        self.waiting.remove(&port);
    }

    /// The sources that have not moved yet, in index order.
    pub fn waiting(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.waiting.iter().copied()
    }

    /// The verdict that the answers allow.
    pub fn verdict(&self) -> Verdict<SourcesMoved> {
        if self.waiting.is_empty() {
            Verdict::Proof(SourcesMoved { ticket: self.ticket, half: self.half })
        } else {
            Verdict::Pending
        }
    }
}

/// An end port's SL-to-VL table, as it answered after it was fenced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceReading {
    /// The question it answers.
    pub ticket: Ticket,
    /// The end port.
    pub port: ChannelId,
    /// The lane of each service level.
    pub lanes: [Vl; 16],
}

/// Waits until every source is fenced: packets that its host sends on the retiring half are mapped to VL 15, which data
/// may not use, and are discarded before they enter the subnet.
#[derive(Clone, Debug)]
pub struct FenceJudge {
    ticket: Ticket,
    half: Half,
    /// The service level that is of neither half.
    spared: Option<Sl>,
    waiting: BTreeSet<ChannelId>,
}

impl FenceJudge {
    /// A judge of the fence at `ports`, which can send on `half` alone once it is closed.
    pub fn new(ticket: Ticket, half: Half, ports: impl IntoIterator<Item = ChannelId>) -> FenceJudge {
        FenceJudge { ticket, half, spared: None, waiting: ports.into_iter().collect() }
    }

    /// This judge, with a service level of neither half that stays open.
    #[must_use]
    pub fn sparing(self, reserved: Option<Sl>) -> FenceJudge {
        FenceJudge { spared: reserved, ..self }
    }

    /// Takes one answer in.
    pub fn fold(&mut self, reading: &FenceReading) {
        // IBA 7.6.6: data packets whose service level is mapped to VL 15 are discarded (P3.8).
        let closed = |sl: Sl| reading.lanes[usize::from(sl.get())] == Vl::MANAGEMENT;
        let mut left = self.half.other().sls().filter(|&sl| Some(sl) != self.spared);
        if reading.ticket == self.ticket && left.all(closed) {
            self.waiting.remove(&reading.port);
        }
    }

    /// The sources that are not fenced yet, in index order.
    pub fn waiting(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.waiting.iter().copied()
    }

    /// The verdict that the answers allow.
    pub fn verdict(&self) -> Verdict<SourcesMoved> {
        if self.waiting.is_empty() {
            Verdict::Proof(SourcesMoved { ticket: self.ticket, half: self.half })
        } else {
            Verdict::Pending
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::channel;
    use super::*;

    #[test]
    fn told_is_not_enough_while_old_packets_wait() {
        let mut judge = SourcesJudge::new(Ticket(3), Half::Upper, [channel(5)]);
        let reading = |half, settled| SourceReading { ticket: Ticket(3), port: channel(5), half, settled };
        judge.fold(&reading(Half::Upper, false));
        judge.fold(&reading(Half::Lower, true));
        judge.fold(&SourceReading { ticket: Ticket(2), ..reading(Half::Upper, true) });
        assert_eq!(judge.verdict(), Verdict::Pending);
        judge.fold(&reading(Half::Upper, true));
        assert_eq!(judge.verdict(), Verdict::Proof(SourcesMoved { ticket: Ticket(3), half: Half::Upper }));
    }

    #[test]
    fn one_service_level_that_is_open_is_no_fence() {
        let mut judge = FenceJudge::new(Ticket(3), Half::Upper, [channel(5)]);
        let mut lanes = [Vl::MANAGEMENT; 16];
        lanes[8..].fill(Vl::masked(1));
        lanes[7] = Vl::masked(0);
        judge.fold(&FenceReading { ticket: Ticket(3), port: channel(5), lanes });
        assert_eq!(judge.verdict(), Verdict::Pending, "SL 7 is open");
        lanes[7] = Vl::MANAGEMENT;
        judge.fold(&FenceReading { ticket: Ticket(2), port: channel(5), lanes });
        assert_eq!(judge.verdict(), Verdict::Pending, "the answer to another question");
        judge.fold(&FenceReading { ticket: Ticket(3), port: channel(5), lanes });
        assert!(matches!(judge.verdict(), Verdict::Proof(moved) if moved.half() == Half::Upper));
    }
}
