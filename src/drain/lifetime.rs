//! Ages: every switch discards packets that it held longer than its lifetime limit, so after enough lifetimes none is
//! left of those that were in the subnet. The guarantee rests on discards, and its user reports the loss that it may
//! cost. Limits are those read back from every device. Send queues have no age: what waits there must be asked for, or
//! be bounded by the caller.

use super::{ChannelId, DeviceId, Drained, Flushed, NoVerdict, Observer, Ticket, Vacated, Verdict};
use crate::ids::{Half, VlSet};
use std::collections::BTreeSet;

/// The limit read back from one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LifetimeReading {
    /// The question it answers.
    pub ticket: Ticket,
    /// The switch.
    pub device: DeviceId,
    /// SwitchInfo:LifeTimeValue, in nanoseconds; none if packets may stay for ever.
    pub lifetime_ns: Option<u64>,
}

/// A responder's answer, after the last request must have come, about the replies that it queued.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplyReading {
    /// The question it answers.
    pub ticket: Ticket,
    /// The end port.
    pub port: ChannelId,
    /// When it was asked, in nanoseconds of the transport's clock.
    pub asked_ns: u64,
    /// When its answer came.
    pub answered_ns: u64,
    /// The half it sends on.
    pub half: Half,
    /// Whether no packet of the other half waits in its send queues.
    pub settled: bool,
}

/// The question of a judge of ages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgeQuestion {
    /// Its ticket.
    pub ticket: Ticket,
    /// The lanes to be empty.
    pub lanes: VlSet,
    /// The time from which packets age: when the sources had moved, or the last write was acknowledged. If end ports
    /// are fenced, when their lanes had sent their contents.
    pub since_ns: u64,
    /// The longest time between the moment at which a device begins to send a packet and its arrival at the next.
    pub wire_ns: u64,
}

/// The common part of both judges: the limits of the switches. The longest limit is used for all.
#[derive(Clone, Debug)]
struct Ages {
    question: AgeQuestion,
    waiting: BTreeSet<DeviceId>,
    longest_ns: u64,
    spoilt: Option<NoVerdict>,
}

impl Ages {
    fn new(question: AgeQuestion, switches: impl IntoIterator<Item = DeviceId>) -> Ages {
        Ages { question, waiting: switches.into_iter().collect(), longest_ns: 0, spoilt: None }
    }

    fn fold(&mut self, reading: &LifetimeReading) {
        // Limits count as read back, not as set: a switch may keep another one.
        if reading.ticket != self.question.ticket || !self.waiting.remove(&reading.device) {
            return;
        }
        match reading.lifetime_ns {
            Some(limit_ns) => self.longest_ns = self.longest_ns.max(limit_ns),
            None => _ = self.spoilt.get_or_insert(NoVerdict::Unlimited { device: reading.device }),
        }
    }

    /// When a packet that is in the subnet at `from_ns`, or on its way out of a port, has passed `hops` switches or was
    /// discarded; known once all limits are read.
    fn gone_ns(&self, from_ns: u64, hops: u64) -> Verdict<u64> {
        if let Some(reason) = &self.spoilt {
            return Verdict::NoVerdict(reason.clone());
        }
        if !self.waiting.is_empty() {
            return Verdict::Pending;
        }
        // A limit runs from the arrival of the packet's tail until the switch begins to send. So one wire is added for
        // each hop between two switches, and one for the hop to the first. The arithmetic is checked, since a bound
        // that wrapped would be due at once.
        let wire_ns = self.question.wire_ns;
        let hop = self.longest_ns.checked_add(wire_ns);
        let all = hop.and_then(|hop| hops.checked_mul(hop)).and_then(|all| all.checked_add(wire_ns));
        let gone = all.and_then(|all| from_ns.checked_add(all));
        gone.map_or(Verdict::NoVerdict(NoVerdict::TooLong { hops, lifetime_ns: self.longest_ns }), Verdict::Proof)
    }
}

/// The present wait of a drain by age. The stages follow in the order of the variants, and no reading skips one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgeStage {
    /// The limits of some switches ([`DrainAge::fold`]).
    Limits,
    /// Requests of the old half may be on their way until then.
    Requests {
        /// When the last has come, or was discarded.
        due_ns: u64,
    },
    /// Responders may hold replies ([`DrainAge::unsettled`]); they are to be asked from now on.
    Settling,
    /// Replies may be on their way until then.
    Replies {
        /// When the last has come, or was discarded.
        due_ns: u64,
    },
    /// Nothing: the lanes are empty.
    Over,
}

/// Whether requests may still cause replies, and how that is known.
#[derive(Clone, Debug)]
enum Responders {
    /// End ports are asked: those that have not settled since the last request arrived, and the time at which the last
    /// one settled.
    Asked { half: Half, unsettled: BTreeSet<ChannelId>, settled_ns: u64 },
    /// A fence stands at every end port: replies on the old half do not enter (P3.8).
    Fenced,
}

/// Drained by age, in two rounds: requests age, then every responder says that it has sent its replies, then those age.
#[derive(Clone, Debug)]
pub struct DrainAge {
    ages: Ages,
    way: u64,
    responders: Responders,
}

impl DrainAge {
    /// A judge of lanes whose packets pass at most `way` switches. All `switches` must report their limit, and
    /// all `responders` that they send on `half` alone.
    pub fn new(
        question: AgeQuestion,
        way: u32,
        switches: impl IntoIterator<Item = DeviceId>,
        half: Half,
        responders: impl IntoIterator<Item = ChannelId>,
    ) -> DrainAge {
        let unsettled = responders.into_iter().collect();
        let responders = Responders::Asked { half, unsettled, settled_ns: 0 };
        DrainAge { ages: Ages::new(question, switches), way: way.into(), responders }
    }

    /// A judge for a subnet with a fence at every end port: packets that entered before it closed age, and the replies
    /// that they cause do not enter.
    pub fn behind_fence(question: AgeQuestion, way: u32, switches: impl IntoIterator<Item = DeviceId>) -> DrainAge {
        DrainAge { ages: Ages::new(question, switches), way: way.into(), responders: Responders::Fenced }
    }

    /// Adds a limit.
    pub fn fold(&mut self, reading: &LifetimeReading) {
        self.ages.fold(reading);
    }

    /// Adds a responder's answer. One that was asked before the last request had come says nothing: a request may have
    /// come to it afterwards.
    pub fn fold_reply(&mut self, reading: &ReplyReading) {
        let Verdict::Proof(requests_ns) = self.requests_ns() else { return };
        let Responders::Asked { half, unsettled, settled_ns } = &mut self.responders else { return };
        let counts = reading.ticket == self.ages.question.ticket && reading.asked_ns >= requests_ns;
        // Nothing can queue a packet of the old half after this answer: requests are gone, and replies cause none
        // (P4.4). So later answers cannot undo it.
        if counts && reading.settled && reading.half == *half && unsettled.remove(&reading.port) {
            *settled_ns = (*settled_ns).max(reading.answered_ns);
        }
    }

    /// The responders that have not settled, in index order.
    pub fn unsettled(&self) -> impl Iterator<Item = ChannelId> + '_ {
        let unsettled = match &self.responders {
            Responders::Asked { unsettled, .. } => Some(unsettled),
            Responders::Fenced => None,
        };
        unsettled.into_iter().flatten().copied()
    }

    fn requests_ns(&self) -> Verdict<u64> {
        self.ages.gone_ns(self.ages.question.since_ns, self.way)
    }

    /// The wait that is due at a given time.
    ///
    /// # Errors
    /// These limits allow no verdict.
    pub fn stage(&self, now_ns: u64) -> Result<AgeStage, NoVerdict> {
        let requests_ns = match self.requests_ns() {
            Verdict::Pending => return Ok(AgeStage::Limits),
            Verdict::NoVerdict(reason) => return Err(reason),
            Verdict::Proof(due_ns) => due_ns,
        };
        if now_ns < requests_ns {
            return Ok(AgeStage::Requests { due_ns: requests_ns });
        }
        let settled_ns = match &self.responders {
            Responders::Fenced => return Ok(AgeStage::Over),
            Responders::Asked { unsettled, .. } if !unsettled.is_empty() => return Ok(AgeStage::Settling),
            Responders::Asked { settled_ns, .. } => (*settled_ns).max(requests_ns),
        };
        match self.ages.gone_ns(settled_ns, self.way) {
            Verdict::Proof(due_ns) if now_ns >= due_ns => Ok(AgeStage::Over),
            Verdict::Proof(due_ns) => Ok(AgeStage::Replies { due_ns }),
            Verdict::NoVerdict(reason) => Err(reason),
            Verdict::Pending => Ok(AgeStage::Limits),
        }
    }

    /// The verdict at a time.
    pub fn verdict(&self, now_ns: u64) -> Verdict<Drained> {
        let AgeQuestion { ticket, lanes, .. } = self.ages.question;
        match self.stage(now_ns) {
            Ok(AgeStage::Over) => Verdict::Proof(Drained { ticket, lanes, observer: Observer::Lifetime }),
            Ok(_) => Verdict::Pending,
            Err(reason) => Verdict::NoVerdict(reason),
        }
    }
}

/// Switches hold nothing for some lanes, by age: a packet latched before the last write leaves its switch within one
/// lifetime, and the next switch within another (F.6).
#[derive(Clone, Debug)]
pub struct FlushAge {
    ages: Ages,
    hops: u64,
}

impl FlushAge {
    /// A judge of lanes: all `switches` must report their limit. If packets may still be on their way to these lanes,
    /// as when a fence has just closed, `hops` is the length of their longest path.
    pub fn new(question: AgeQuestion, switches: impl IntoIterator<Item = DeviceId>, hops: u32) -> FlushAge {
        // F.6: one lifetime in the switch that latched the packet, one in the next.
        FlushAge { ages: Ages::new(question, switches), hops: 2 + u64::from(hops) }
    }

    /// Adds a limit.
    pub fn fold(&mut self, reading: &LifetimeReading) {
        self.ages.fold(reading);
    }

    /// The time at which the verdict is due, once every limit is known.
    pub fn due_ns(&self) -> Verdict<u64> {
        self.ages.gone_ns(self.ages.question.since_ns, self.hops)
    }

    /// The verdict on the limits at a time.
    pub fn verdict(&self, now_ns: u64) -> Verdict<Flushed> {
        let AgeQuestion { ticket, lanes, .. } = self.ages.question;
        match self.due_ns() {
            Verdict::Proof(due_ns) if now_ns >= due_ns => Verdict::Proof(Flushed { ticket, lanes }),
            Verdict::Proof(_) | Verdict::Pending => Verdict::Pending,
            Verdict::NoVerdict(reason) => Verdict::NoVerdict(reason),
        }
    }
}

/// Vacated by age: in each round, a lifetime and a wire, every switch sends off what stood in it when the round began.
#[derive(Clone, Debug)]
pub struct VacateAge {
    ages: Ages,
    rounds: u8,
}

impl VacateAge {
    /// A judge of `rounds` since the last write was acknowledged; it names no lanes. All `switches` must report their
    /// limit.
    pub fn new(question: AgeQuestion, rounds: u8, switches: impl IntoIterator<Item = DeviceId>) -> VacateAge {
        VacateAge { ages: Ages::new(question, switches), rounds }
    }

    /// Adds a limit.
    pub fn fold(&mut self, reading: &LifetimeReading) {
        self.ages.fold(reading);
    }

    /// The time at which the verdict is due, once every limit is known.
    pub fn due_ns(&self) -> Verdict<u64> {
        self.ages.gone_ns(self.ages.question.since_ns, self.rounds.into())
    }

    /// The verdict on the limits at a time.
    pub fn verdict(&self, now_ns: u64) -> Verdict<Vacated> {
        match self.due_ns() {
            Verdict::Proof(due_ns) if now_ns >= due_ns => {
                Verdict::Proof(Vacated { ticket: self.ages.question.ticket, rounds: self.rounds })
            }
            Verdict::Proof(_) | Verdict::Pending => Verdict::Pending,
            Verdict::NoVerdict(reason) => Verdict::NoVerdict(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{chain, channel, device};
    use super::*;

    const A: VlSet = VlSet(0b0011);

    /// The duration of one round in [`drain`]: three channels, each with a lifetime of 100 and a wire of 7, and one
    /// more wire.
    const ROUND_NS: u64 = 3 * 107 + 7;

    fn question(since_ns: u64, wire_ns: u64) -> AgeQuestion {
        AgeQuestion { ticket: Ticket(5), lanes: A, since_ns, wire_ns }
    }

    fn limit(number: u32, lifetime_ns: Option<u64>) -> LifetimeReading {
        LifetimeReading { ticket: Ticket(5), device: device(number), lifetime_ns }
    }

    fn reply(number: u32, asked_ns: u64, answered_ns: u64) -> ReplyReading {
        let (ticket, half) = (Ticket(5), Half::Upper);
        ReplyReading { ticket, port: channel(number), asked_ns, answered_ns, half, settled: true }
    }

    /// A drain since 1000 with two responders, whose limits are read.
    fn drain() -> DrainAge {
        let responders = [channel(0), channel(4)];
        let devices = [device(0), device(1)];
        let mut judge = DrainAge::new(question(1000, 7), chain().depth(), devices, Half::Upper, responders);
        judge.fold(&limit(0, Some(100)));
        assert_eq!(judge.stage(u64::MAX), Ok(AgeStage::Limits), "the other limit is not known");
        judge.fold(&limit(1, Some(70)));
        judge
    }

    #[test]
    fn requests_age_then_responders_settle_then_replies_age() {
        let mut judge = drain();
        let requests_ns = 1000 + ROUND_NS;
        assert_eq!(judge.stage(requests_ns - 1), Ok(AgeStage::Requests { due_ns: requests_ns }));
        assert_eq!(judge.stage(u64::MAX), Ok(AgeStage::Settling), "no time replaces the answers");
        judge.fold_reply(&reply(0, requests_ns, requests_ns + 30));
        assert_eq!(judge.unsettled().collect::<Vec<_>>(), [channel(4)]);
        judge.fold_reply(&reply(4, requests_ns + 10, requests_ns + 20));
        let due_ns = requests_ns + 30 + ROUND_NS;
        assert_eq!(judge.stage(due_ns - 1), Ok(AgeStage::Replies { due_ns }), "the latest answer counts");
        assert_eq!(judge.verdict(due_ns - 1), Verdict::Pending);
        assert!(matches!(judge.verdict(due_ns), Verdict::Proof(proof) if proof.observer() == Observer::Lifetime));
    }

    #[test]
    fn an_answer_asked_for_while_requests_were_under_way_says_nothing() {
        let mut judge = drain();
        let requests_ns = 1000 + ROUND_NS;
        judge.fold_reply(&reply(0, requests_ns - 1, requests_ns + 30));
        judge.fold_reply(&ReplyReading { ticket: Ticket(4), ..reply(0, requests_ns, requests_ns) });
        judge.fold_reply(&ReplyReading { settled: false, ..reply(0, requests_ns, requests_ns) });
        judge.fold_reply(&ReplyReading { half: Half::Lower, ..reply(0, requests_ns, requests_ns) });
        assert_eq!(judge.unsettled().count(), 2);
        assert_eq!(judge.verdict(u64::MAX), Verdict::Pending);
    }

    #[test]
    fn behind_a_fence_one_round_drains() {
        let mut judge = DrainAge::behind_fence(question(1000, 7), chain().depth(), [device(0)]);
        judge.fold(&limit(0, Some(100)));
        assert_eq!(judge.verdict(1000 + ROUND_NS - 1), Verdict::Pending);
        assert!(matches!(judge.verdict(1000 + ROUND_NS), Verdict::Proof(proof) if proof.lanes() == A));
    }

    #[test]
    fn one_switch_without_a_limit_allows_no_verdict() {
        let mut judge = FlushAge::new(question(0, 0), [device(0), device(1)], 0);
        judge.fold(&limit(0, Some(100)));
        judge.fold(&limit(1, None));
        assert_eq!(judge.verdict(u64::MAX), Verdict::NoVerdict(NoVerdict::Unlimited { device: device(1) }));
    }

    #[test]
    fn limits_beyond_any_clock_are_said_to_be() {
        let mut judge = FlushAge::new(question(1, 0), [device(0)], 0);
        judge.fold(&limit(0, Some(u64::MAX)));
        assert!(matches!(judge.verdict(u64::MAX), Verdict::NoVerdict(NoVerdict::TooLong { hops: 2, .. })));
    }

    #[test]
    fn one_lifetime_and_its_wire_are_one_round() {
        let mut judge = VacateAge::new(question(10, 7), 3, [device(0)]);
        judge.fold(&limit(0, Some(100)));
        let due_ns = 10 + 3 * (100 + 7) + 7;
        assert_eq!(judge.verdict(due_ns - 1), Verdict::Pending);
        assert_eq!(judge.verdict(due_ns), Verdict::Proof(Vacated { ticket: Ticket(5), rounds: 3 }));
    }

    #[test]
    fn two_lifetimes_and_the_wires_around_them_flush() {
        let mut judge = FlushAge::new(question(10, 7), [device(0)], 0);
        judge.fold(&LifetimeReading { ticket: Ticket(4), ..limit(0, Some(1)) });
        judge.fold(&limit(0, Some(100)));
        assert_eq!(judge.verdict(230), Verdict::Pending);
        assert_eq!(judge.verdict(231), Verdict::Proof(Flushed { ticket: Ticket(5), lanes: A }));
    }
}
