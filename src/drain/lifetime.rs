//! Ages: every switch discards packets that it held longer than its lifetime limit, so after enough lifetimes none is
//! left. The guarantee rests on discards, and its user reports the loss that it may cost. Limits are those read back
//! from every device.

use super::{DeviceId, Drained, Flushed, NoVerdict, Observer, Ticket, Vacated, Verdict};
use crate::ids::VlSet;
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

/// The common part of both judges: the longest limit, and the number of lifetimes that must pass.
#[derive(Clone, Debug)]
struct Ages {
    ticket: Ticket,
    lanes: VlSet,
    lifetimes: u64,
    since_ns: u64,
    waiting: BTreeSet<DeviceId>,
    longest_ns: u64,
    spoilt: Option<NoVerdict>,
}

impl Ages {
    fn fold(&mut self, reading: &LifetimeReading) {
        // Limits count as read back, not as set: a switch may keep another one.
        if reading.ticket != self.ticket || !self.waiting.remove(&reading.device) {
            return;
        }
        match reading.lifetime_ns {
            Some(limit_ns) => self.longest_ns = self.longest_ns.max(limit_ns),
            None => _ = self.spoilt.get_or_insert(NoVerdict::Unlimited { device: reading.device }),
        }
    }

    /// When the last packet must be gone; known once all limits are read.
    fn due_ns(&self) -> Verdict<u64> {
        if let Some(reason) = &self.spoilt {
            return Verdict::NoVerdict(reason.clone());
        }
        if !self.waiting.is_empty() {
            return Verdict::Pending;
        }
        // The longest limit stands for every switch. A bound that wraps would be due at once, hence checked
        // arithmetic.
        let due = self.lifetimes.checked_mul(self.longest_ns).and_then(|age| self.since_ns.checked_add(age));
        let too_long = NoVerdict::TooLong { hops: self.lifetimes, lifetime_ns: self.longest_ns };
        due.map_or(Verdict::NoVerdict(too_long), Verdict::Proof)
    }

    fn over<P>(&self, now_ns: u64, proof: P) -> Verdict<P> {
        match self.due_ns() {
            Verdict::Proof(due_ns) if now_ns >= due_ns => Verdict::Proof(proof),
            Verdict::Proof(_) | Verdict::Pending => Verdict::Pending,
            Verdict::NoVerdict(reason) => Verdict::NoVerdict(reason),
        }
    }
}

macro_rules! age_judge {
    ($(#[$doc:meta])* $name:ident -> $proof:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Ages);

        impl $name {
            /// Adds a limit.
            pub fn fold(&mut self, reading: &LifetimeReading) {
                self.0.fold(reading);
            }

            /// Excuses a device that died.
            pub fn excuse(&mut self, device: DeviceId) {
                self.0.waiting.remove(&device);
            }

            /// The switches whose limit is not yet known.
            pub fn waiting(&self) -> impl Iterator<Item = DeviceId> + '_ {
                self.0.waiting.iter().copied()
            }

            /// The time at which the verdict is due, once every limit is known.
            pub fn due_ns(&self) -> Verdict<u64> {
                self.0.due_ns()
            }

            /// The verdict on the limits at a time.
            pub fn verdict(&self, now_ns: u64) -> Verdict<$proof> {
                self.0.over(now_ns, self.proof())
            }
        }
    };
}

age_judge! {
    /// Drained by age: every hop of the longest path may take one lifetime, for requests and then for their replies.
    DrainAge -> Drained
}

age_judge! {
    /// Flushed by age: what was latched before the last write leaves its switch within one lifetime, and the next
    /// switch within another.
    FlushAge -> Flushed
}

age_judge! {
    /// Vacated by age: in each lifetime every switch sends off what stood in it when that lifetime began.
    VacateAge -> Vacated
}

impl VacateAge {
    /// A judge of `rounds` lifetimes from `since_ns`, when the last write was acknowledged. All `switches` must report
    /// their limit.
    pub fn new(ticket: Ticket, rounds: u8, switches: impl IntoIterator<Item = DeviceId>, since_ns: u64) -> VacateAge {
        VacateAge(Ages {
            ticket,
            lanes: VlSet::EMPTY,
            lifetimes: u64::from(rounds),
            since_ns,
            waiting: switches.into_iter().collect(),
            longest_ns: 0,
            spoilt: None,
        })
    }

    fn proof(&self) -> Vacated {
        // One lifetime is one round; the count is that of the constructor.
        Vacated { ticket: self.0.ticket, rounds: self.0.lifetimes as u8 }
    }
}

impl DrainAge {
    /// A judge of `lanes`, of which a packet passes at most `depth` channels. All `switches` must report their limit;
    /// the sources had moved at `since_ns`.
    pub fn new(
        ticket: Ticket,
        lanes: VlSet,
        depth: u32,
        switches: impl IntoIterator<Item = DeviceId>,
        since_ns: u64,
    ) -> DrainAge {
        DrainAge(Ages {
            ticket,
            lanes,
            // One lifetime for each channel of the longest path; twice, since replies start anew at the sources (P4.4).
            // Send queues do not age, but they hold nothing of the old half since the sources moved.
            lifetimes: 2 * u64::from(depth),
            since_ns,
            waiting: switches.into_iter().collect(),
            longest_ns: 0,
            spoilt: None,
        })
    }

    fn proof(&self) -> Drained {
        Drained { ticket: self.0.ticket, lanes: self.0.lanes, observer: Observer::Lifetime }
    }
}

impl FlushAge {
    /// A judge of `lanes`: all `switches` must report their limit; the last write was acknowledged at `since_ns`. If
    /// packets may still be on their way to these lanes, as when a fence has just closed, `hops` is the length of their
    /// longest path.
    pub fn new(
        ticket: Ticket,
        lanes: VlSet,
        switches: impl IntoIterator<Item = DeviceId>,
        since_ns: u64,
        hops: u32,
    ) -> FlushAge {
        FlushAge(Ages {
            ticket,
            lanes,
            // F.6: one lifetime in the switch that latched the packet, one in the next.
            lifetimes: 2 + u64::from(hops),
            since_ns,
            waiting: switches.into_iter().collect(),
            longest_ns: 0,
            spoilt: None,
        })
    }

    fn proof(&self) -> Flushed {
        Flushed { ticket: self.0.ticket, lanes: self.0.lanes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{chain, device};
    use super::*;

    const A: VlSet = VlSet(0b0011);

    fn limit(number: u32, lifetime_ns: Option<u64>) -> LifetimeReading {
        LifetimeReading { ticket: Ticket(5), device: device(number), lifetime_ns }
    }

    #[test]
    fn every_hop_of_the_longest_path_takes_the_longest_lifetime_twice() {
        let graph = chain();
        let mut judge = DrainAge::new(Ticket(5), A, graph.depth(), [device(0), device(1)], 1000);
        judge.fold(&limit(0, Some(100)));
        assert_eq!(judge.verdict(u64::MAX), Verdict::Pending, "the other limit is not known");
        judge.fold(&limit(1, Some(70)));
        let due_ns = 1000 + 2 * 3 * 100;
        assert_eq!(judge.due_ns(), Verdict::Proof(due_ns));
        assert_eq!(judge.verdict(due_ns - 1), Verdict::Pending);
        assert!(matches!(judge.verdict(due_ns), Verdict::Proof(proof) if proof.observer() == Observer::Lifetime));
    }

    #[test]
    fn one_switch_without_a_limit_allows_no_verdict() {
        let mut judge = FlushAge::new(Ticket(5), A, [device(0), device(1)], 0, 0);
        judge.fold(&limit(0, Some(100)));
        judge.fold(&limit(1, None));
        assert_eq!(judge.verdict(u64::MAX), Verdict::NoVerdict(NoVerdict::Unlimited { device: device(1) }));
    }

    #[test]
    fn limits_beyond_any_clock_are_said_to_be() {
        let mut judge = FlushAge::new(Ticket(5), A, [device(0)], 1, 0);
        judge.fold(&limit(0, Some(u64::MAX)));
        assert!(matches!(judge.verdict(u64::MAX), Verdict::NoVerdict(NoVerdict::TooLong { hops: 2, .. })));
    }

    #[test]
    fn one_lifetime_is_one_round() {
        let mut judge = VacateAge::new(Ticket(5), 3, [device(0)], 10);
        judge.fold(&limit(0, Some(100)));
        assert_eq!(judge.verdict(309), Verdict::Pending);
        assert_eq!(judge.verdict(310), Verdict::Proof(Vacated { ticket: Ticket(5), rounds: 3 }));
    }

    #[test]
    fn two_lifetimes_flush() {
        let mut judge = FlushAge::new(Ticket(5), A, [device(0)], 10, 0);
        judge.fold(&LifetimeReading { ticket: Ticket(4), ..limit(0, Some(1)) });
        judge.fold(&limit(0, Some(100)));
        assert_eq!(judge.verdict(209), Verdict::Pending);
        assert_eq!(judge.verdict(210), Verdict::Proof(Flushed { ticket: Ticket(5), lanes: A }));
    }
}
