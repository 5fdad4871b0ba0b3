//! The flush of the new lanes: every device reports that each packet latched before its write has left, and that its
//! neighbours' flush tokens arrived after such packets.

use super::{DeviceId, Flushed, NoVerdict, PARTS, Ticket, Verdict};
use crate::ids::VlSet;
use std::collections::BTreeSet;

/// One device's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlushReading {
    /// The device.
    pub device: DeviceId,
    /// The round on the wire.
    pub round: u32,
    /// The lanes that it concerns.
    pub lanes: VlSet,
    /// Whether the device has completed its part.
    pub flushed: bool,
}

/// Waits for every device.
#[derive(Clone, Debug)]
pub struct FlushJudge {
    ticket: Ticket,
    lanes: VlSet,
    waiting: BTreeSet<DeviceId>,
    spoilt: Option<NoVerdict>,
}

impl FlushJudge {
    /// A judge of the flush of `lanes`, in which all of `devices` take part.
    pub fn new(ticket: Ticket, lanes: VlSet, devices: impl IntoIterator<Item = DeviceId>) -> FlushJudge {
        FlushJudge { ticket, lanes, waiting: devices.into_iter().collect(), spoilt: None }
    }

    /// The round in requests to devices.
    pub fn round(&self) -> u32 {
        // One round is enough: a reply made meanwhile is latched by the new tables, which lead it into A.
        self.ticket.rounds()[0]
    }

    /// Adds an answer.
    pub fn fold(&mut self, reading: &FlushReading) {
        // A device keeps the answer of its last flush until another one is ordered.
        if reading.round != self.round() {
            return;
        }
        if reading.lanes != self.lanes {
            self.spoilt = Some(NoVerdict::OtherLanes { asked: self.lanes, found: reading.lanes });
        } else if reading.flushed {
            self.waiting.remove(&reading.device);
        }
    }

    /// Excuses a device that died.
    pub fn excuse(&mut self, device: DeviceId) {
        self.waiting.remove(&device);
    }

    /// Devices that have not completed yet, in index order.
    pub fn waiting(&self) -> impl Iterator<Item = DeviceId> + '_ {
        self.waiting.iter().copied()
    }

    /// The verdict on the answers.
    pub fn verdict(&self) -> Verdict<Flushed> {
        match &self.spoilt {
            Some(reason) => Verdict::NoVerdict(reason.clone()),
            // F.4 concerns all devices: one that has not sent its tokens may still send a packet that it latched for B.
            None if self.waiting.is_empty() => Verdict::Proof(Flushed { ticket: self.ticket, lanes: self.lanes }),
            None => Verdict::Pending,
        }
    }
}

/// A flush of lanes into which tables lead packets sent before, wherever they stand. It begins with rounds in each of
/// which every device sends off its packets, until all of these have come to their end.
#[derive(Clone, Debug)]
pub struct StraysJudge {
    ticket: Ticket,
    lanes: VlSet,
    rounds: u8,
    done: u8,
}

impl StraysJudge {
    /// The most rounds before the flush itself: each has a ticket of its own.
    pub const MOST: u32 = PARTS - 1;

    /// A judge of the flush of `lanes` after as many `rounds` as packets sent before need to come to their end, at most
    /// [`StraysJudge::MOST`].
    pub fn new(ticket: Ticket, lanes: VlSet, rounds: u8) -> StraysJudge {
        StraysJudge { ticket, lanes, rounds, done: 0 }
    }

    /// The lanes to flush now, with the ticket of the question; none if all is done.
    pub fn due(&self) -> Option<(Ticket, VlSet)> {
        let lanes = if self.done < self.rounds { VlSet::EMPTY } else { self.lanes };
        (self.done <= self.rounds).then(|| (self.ticket.part(usize::from(self.done)), lanes))
    }

    /// Adds the proof that is due; any other is ignored.
    pub fn fold(&mut self, flushed: &Flushed) {
        self.done += u8::from(self.due() == Some((flushed.ticket, flushed.lanes)));
    }

    /// The proof, once all is done.
    pub fn verdict(&self) -> Option<Flushed> {
        self.due().is_none().then_some(Flushed { ticket: self.ticket, lanes: self.lanes })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::device;
    use super::*;

    const B: VlSet = VlSet(0b1100);

    fn judge() -> FlushJudge {
        FlushJudge::new(Ticket(7), B, [device(0), device(1)])
    }

    fn says(number: u32, round: u32, lanes: VlSet, flushed: bool) -> FlushReading {
        FlushReading { device: device(number), round, lanes, flushed }
    }

    #[test]
    fn strays_leave_before_their_lanes_are_flushed() {
        let mut judge = StraysJudge::new(Ticket(32), VlSet(0b10), 2);
        let flushed = |part: u32, lanes: u16| Flushed { ticket: Ticket(32 + part), lanes: VlSet(lanes) };
        // The flush itself, before strays have left; a round out of turn.
        [flushed(0, 0b10), flushed(1, 0)].iter().for_each(|early| judge.fold(early));
        assert_eq!((judge.due(), judge.verdict()), (Some((Ticket(32), VlSet::EMPTY)), None));
        [flushed(0, 0), flushed(1, 0)].iter().for_each(|round| judge.fold(round));
        assert_eq!((judge.due(), judge.verdict()), (Some((Ticket(34), VlSet(0b10))), None));
        judge.fold(&flushed(2, 0b10));
        assert_eq!(judge.verdict(), Some(flushed(0, 0b10)));
    }

    #[test]
    fn every_device_must_say_yes() {
        let mut judge = judge();
        judge.fold(&says(0, 14, B, true));
        judge.fold(&says(1, 14, B, false));
        assert_eq!(judge.verdict(), Verdict::Pending);
        judge.fold(&says(1, 14, B, true));
        assert_eq!(judge.verdict(), Verdict::Proof(Flushed { ticket: Ticket(7), lanes: B }));
    }

    #[test]
    fn answers_of_another_round_and_of_strangers_count_for_nothing() {
        let mut judge = judge();
        [says(0, 12, B, true), says(1, 15, B, true), says(9, 14, B, true)].iter().for_each(|r| judge.fold(r));
        assert_eq!(judge.waiting().collect::<Vec<_>>(), [device(0), device(1)]);
    }

    #[test]
    fn an_answer_about_other_lanes_spoils_the_verdict() {
        let mut judge = judge();
        judge.fold(&says(0, 14, VlSet(0b0011), true));
        [says(0, 14, B, true), says(1, 14, B, true)].iter().for_each(|r| judge.fold(r));
        assert!(matches!(judge.verdict(), Verdict::NoVerdict(NoVerdict::OtherLanes { .. })));
    }

    #[test]
    fn the_dead_are_excused() {
        let mut judge = judge();
        judge.fold(&says(0, 14, B, true));
        judge.excuse(device(1));
        assert!(matches!(judge.verdict(), Verdict::Proof(_)));
    }
}
