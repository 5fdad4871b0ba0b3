//! Conservation: the end ports' counters of the retired service levels, read in waves. The amount that one wave shows
//! as received is at most the amount received when the wave ended; that is at most the amount sent by then, and that at
//! most the amount that the next wave shows as sent. If the ends of this chain are equal, nothing was in flight when
//! the first wave ended, and nothing was sent after it; and since no responder holds a reply back, nothing will be.

use super::{ChannelId, Drained, NoVerdict, Observer, Ticket, Verdict};
use crate::ids::VlSet;
use std::collections::{BTreeMap, BTreeSet};

/// One end port's counters. They were reset while the service levels were provably unused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterReading {
    /// The question it answers.
    pub ticket: Ticket,
    /// The end port.
    pub port: ChannelId,
    /// When it was requested, in nanoseconds of the transport's clock.
    pub asked_ns: u64,
    /// When it came.
    pub answered_ns: u64,
    /// PortXmitDataSL over the retired levels, in units of four bytes.
    pub sent: u64,
    /// PortRcvDataSL over the retired levels, in units of four bytes.
    pub received: u64,
    /// Whether a counter stands at its maximum.
    pub clamped: bool,
    /// Whether no packet of the retired levels waits to be sent there; read together with the counters.
    pub settled: bool,
}

/// Compares each wave with the one before.
#[derive(Clone, Debug)]
pub struct ConservationJudge {
    ticket: Ticket,
    lanes: VlSet,
    ports: BTreeSet<ChannelId>,
    /// The previous, complete wave.
    previous: Option<BTreeMap<ChannelId, CounterReading>>,
    /// The current wave.
    current: BTreeMap<ChannelId, CounterReading>,
    /// When the previous wave was complete.
    since_ns: u64,
    equal: bool,
    spoilt: Option<NoVerdict>,
}

impl ConservationJudge {
    /// A judge of `lanes`, which `ports` send into and receive from. Readings requested before `since_ns` (when the
    /// sources had moved) do not count.
    pub fn new(
        ticket: Ticket,
        lanes: VlSet,
        ports: impl IntoIterator<Item = ChannelId>,
        since_ns: u64,
    ) -> ConservationJudge {
        ConservationJudge {
            ticket,
            lanes,
            ports: ports.into_iter().collect(),
            previous: None,
            current: BTreeMap::new(),
            since_ns,
            equal: false,
            spoilt: None,
        }
    }

    /// Adds a reading. It belongs to the current wave if it was requested after the previous wave was complete; only
    /// the first such reading of a port is used.
    pub fn fold(&mut self, reading: &CounterReading) {
        // A reading requested before the previous wave was complete may miss packets sent while that wave ended; then
        // "sent by the end of one wave ≤ sent by the next", the last link of the chain, would not hold.
        let known = reading.ticket == self.ticket && self.ports.contains(&reading.port);
        if !known || self.equal || reading.asked_ns < self.since_ns || self.current.contains_key(&reading.port) {
            return;
        }
        if let Some(reason) = self.fault(reading) {
            self.spoilt.get_or_insert(reason);
        }
        self.current.insert(reading.port, reading.clone());
        if self.current.len() == self.ports.len() {
            self.end_wave();
        }
    }

    /// A port that had sent or received died. Without its counters the sums may be equal while a packet is under way,
    /// because packets received from it make up for packets sent by others and not yet received.
    pub fn lose(&mut self, port: ChannelId) {
        self.spoilt.get_or_insert(NoVerdict::Uncounted { port });
    }

    fn fault(&self, reading: &CounterReading) -> Option<NoVerdict> {
        let port = reading.port;
        if reading.clamped {
            return Some(NoVerdict::Clamped { port });
        }
        // Counters only rise. One that fell was cleared, and the packets it had counted are missing from its sum.
        let last = self.previous.as_ref().and_then(|wave| wave.get(&port))?;
        let pairs = [(last.sent, reading.sent), (last.received, reading.received)];
        let back = pairs.into_iter().find(|(before, now)| now < before);
        back.map(|(before, now)| NoVerdict::WentBack { port, before, now })
    }

    fn end_wave(&mut self) {
        let wave = std::mem::take(&mut self.current);
        // A reply that waits in a send queue is in neither sum.
        let settled = wave.values().all(|reading| reading.settled);
        // Sums over all ports, since a packet is counted at two different ones; 2^16 counters of 64 bits fit.
        let sent: u128 = wave.values().map(|reading| u128::from(reading.sent)).sum();
        if let Some(previous) = &self.previous {
            let received: u128 = previous.values().map(|reading| u128::from(reading.received)).sum();
            // received₁ ≤ sent when wave 1 ended ≤ sent₂. If the outer two are equal, so is the middle: nothing was in
            // flight at that moment, and nothing has been sent since.
            self.equal = settled && received == sent;
            // Lost or late packets cannot break the chain. Only counters that were changed from outside can.
            if received > sent {
                self.spoilt.get_or_insert(NoVerdict::MoreReceived { sent, received });
            }
        }
        // The next wave begins where the slowest answer of this one ended.
        self.since_ns = wave.values().map(|reading| reading.answered_ns).fold(self.since_ns, u64::max);
        self.previous = Some(wave);
    }

    /// The ports without a reading in the current wave.
    pub fn waiting(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.ports.iter().copied().filter(|port| !self.current.contains_key(port))
    }

    /// The verdict on the readings.
    pub fn verdict(&self) -> Verdict<Drained> {
        match &self.spoilt {
            Some(reason) => Verdict::NoVerdict(reason.clone()),
            None if self.equal => {
                Verdict::Proof(Drained { ticket: self.ticket, lanes: self.lanes, observer: Observer::Conservation })
            }
            None => Verdict::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::channel;
    use super::*;

    const A: VlSet = VlSet(0b0011);

    fn judge() -> ConservationJudge {
        ConservationJudge::new(Ticket(2), A, [channel(0), channel(1)], 50)
    }

    fn counts(port: u32, asked_ns: u64, sent: u64, received: u64) -> CounterReading {
        CounterReading {
            ticket: Ticket(2),
            port: channel(port),
            asked_ns,
            answered_ns: asked_ns + 5,
            sent,
            received,
            clamped: false,
            settled: true,
        }
    }

    #[test]
    fn received_by_one_wave_equals_sent_by_the_next() {
        let mut judge = judge();
        // The second packet is under way during the first wave, received in the second: seen in the third.
        let waves = [(60, [(20, 0), (0, 10)]), (70, [(20, 0), (0, 20)]), (80, [(20, 0), (0, 20)])];
        for (asked_ns, [first, second]) in waves {
            assert_eq!(judge.verdict(), Verdict::Pending, "before {asked_ns}");
            judge.fold(&counts(0, asked_ns, first.0, first.1));
            judge.fold(&counts(1, asked_ns, second.0, second.1));
        }
        assert!(matches!(judge.verdict(), Verdict::Proof(_)));
    }

    #[test]
    fn one_wave_alone_proves_nothing() {
        let mut judge = judge();
        // The receiver is read first, the sender later: equal sums, yet a packet may be under way.
        judge.fold(&counts(1, 60, 0, 20));
        judge.fold(&counts(0, 60, 20, 0));
        assert_eq!(judge.verdict(), Verdict::Pending);
    }

    #[test]
    fn readings_that_overlap_the_wave_before_count_for_nothing() {
        let mut judge = judge();
        (0..2).for_each(|port| judge.fold(&counts(port, 60, 0, 0)));
        // Asked at 64, when the first wave was still under way (its last answer came at 65).
        (0..2).for_each(|port| judge.fold(&counts(port, 64, 0, 0)));
        assert_eq!(judge.waiting().count(), 2);
        (0..2).for_each(|port| judge.fold(&counts(port, 65, 0, 0)));
        assert!(matches!(judge.verdict(), Verdict::Proof(_)));
    }

    #[test]
    fn more_received_than_sent_shows_that_counters_were_touched() {
        // A multicast packet that port 0 has sent once arrived twice, or the counter of port 0 was cleared.
        let mut judge = judge();
        (0..2).for_each(|port| judge.fold(&counts(port, 60, 10, 10)));
        [counts(0, 70, 0, 10), counts(1, 70, 10, 10)].iter().for_each(|reading| judge.fold(reading));
        assert!(matches!(judge.verdict(), Verdict::NoVerdict(NoVerdict::WentBack { .. })), "{:?}", judge.verdict());
        let mut judge = self::judge();
        for asked_ns in [60, 70] {
            judge.fold(&counts(0, asked_ns, 10, 0));
            judge.fold(&counts(1, asked_ns, 0, 20));
        }
        assert_eq!(judge.verdict(), Verdict::NoVerdict(NoVerdict::MoreReceived { sent: 10, received: 20 }));
    }

    #[test]
    fn a_reply_that_waits_to_be_sent_delays_the_verdict() {
        let mut judge = judge();
        let waiting = |port, asked_ns| CounterReading { settled: port != 1, ..counts(port, asked_ns, 0, 0) };
        (0..2).for_each(|port| judge.fold(&counts(port, 60, 0, 0)));
        (0..2).for_each(|port| judge.fold(&waiting(port, 70)));
        assert_eq!(judge.verdict(), Verdict::Pending);
    }

    #[test]
    fn without_the_counters_of_a_port_that_died_equal_sums_allow_no_verdict() {
        // Port 1 has received a packet of a third port, which died; one that port 0 has sent is under way.
        let waves = |judge: &mut ConservationJudge| {
            for asked_ns in [60, 70] {
                judge.fold(&counts(0, asked_ns, 10, 0));
                judge.fold(&counts(1, asked_ns, 0, 10));
            }
        };
        let mut lacking = judge();
        waves(&mut lacking);
        assert!(matches!(lacking.verdict(), Verdict::Proof(_)), "the sums are equal");
        let mut judge = judge();
        judge.lose(channel(2));
        waves(&mut judge);
        assert_eq!(judge.verdict(), Verdict::NoVerdict(NoVerdict::Uncounted { port: channel(2) }));
    }

    #[test]
    fn clamped_and_cleared_counters_allow_no_verdict() {
        let bad: [CounterReading; 2] = [CounterReading { clamped: true, ..counts(0, 70, 9, 9) }, counts(0, 70, 1, 1)];
        for reading in bad {
            let mut judge = judge();
            (0..2).for_each(|port| judge.fold(&counts(port, 60, 5, 5)));
            judge.fold(&reading);
            (80..84).for_each(|asked_ns| (0..2).for_each(|port| judge.fold(&counts(port, 10 * asked_ns, 9, 9))));
            assert!(matches!(judge.verdict(), Verdict::NoVerdict(_)), "{reading:?}");
        }
    }
}
