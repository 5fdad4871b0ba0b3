//! How long ordered pairs of end ports were without connection.
//!
//! A pair is *out* from the moment that a packet of it is lost, whatever the reason, until a packet of it arrives that
//! its source sent after every packet of it that was lost. It is a pair of ports, not of LIDs: packets of both halves,
//! of every path and in every subnet count. What a pair has lost decides, not what it could have sent, so an outage is
//! known to within the time that passes between two packets of the pair. Memory is bounded by the pairs that lost
//! something; while no pair is out, an arrival costs one comparison.

use super::Sim;
use super::index::{Dense, EndPortRank, PacketId};
use super::wheel::{TICKS_PER_NS, Ticks};
use crate::fabric::PortId;
use rustc_hash::FxHashMap;

/// An ordered pair of end ports that lost packets. Times in nanoseconds since the run began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairOutage {
    /// Who sends.
    pub source: PortId,
    /// Who receives.
    pub destination: PortId,
    /// Packets lost.
    pub lost: u64,
    /// Since when it was out: the last death before its first loss to a failure, or its first other loss.
    pub since_ns: u64,
    /// When the latest packet was sent that it lost.
    pub last_sent_ns: u64,
    /// What has become of it.
    pub end: OutageEnd,
}

/// What has become of a pair that lost packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutageEnd {
    /// A packet arrived that was sent after all that were lost.
    Back {
        /// When it arrived.
        at_ns: u64,
    },
    /// Its source has sent since, and nothing of that has arrived yet.
    Out,
    /// Its source has sent nothing since, so nothing shows whether it has a way.
    NotSeenAgain,
    /// An end of it has left or is cut off from the subnet manager, or the new routing omits it.
    CutOff,
}

impl PairOutage {
    /// How long it was out, in nanoseconds; none unless it is back.
    pub fn length_ns(&self) -> Option<u64> {
        match self.end {
            OutageEnd::Back { at_ns } => Some(at_ns - self.since_ns),
            OutageEnd::Out | OutageEnd::NotSeenAgain | OutageEnd::CutOff => None,
        }
    }
}

/// Source and destination.
type Ends = (EndPortRank, EndPortRank);

/// A pair that lost packets; times in ticks.
struct Broken {
    lost: u64,
    since: Ticks,
    /// When the latest of its lost packets was sent.
    last_sent: Ticks,
    /// The packet that ended the outage.
    back: Option<Return>,
}

#[derive(Clone, Copy)]
struct Return {
    sent: Ticks,
    arrived: Ticks,
}

/// A packet that was lost; times in ticks.
#[derive(Clone, Copy)]
pub(super) struct LostPacket {
    pub ends: Ends,
    pub sent: Ticks,
    /// When the cause of the loss set in.
    pub since: Ticks,
}

/// The pairs that lost packets since outages are counted.
#[derive(Default)]
pub(super) struct Outages {
    is_counting: bool,
    broken: FxHashMap<Ends, Broken>,
    /// How many of them are out.
    out: usize,
}

impl Outages {
    /// Begins to count, with no pair out.
    fn begin(&mut self) {
        *self = Outages { is_counting: true, ..Outages::default() };
    }

    fn lost(&mut self, packet: LostPacket) {
        let LostPacket { ends, sent, since } = packet;
        let new = || Broken { lost: 0, since, last_sent: sent, back: None };
        let pair = self.broken.entry(ends).or_insert_with(|| {
            self.out += 1;
            new()
        });
        pair.lost += 1;
        pair.since = pair.since.min(since);
        pair.last_sent = pair.last_sent.max(sent);
        // A packet sent before the one that arrived says nothing against the connection that this one found.
        if pair.back.is_some_and(|back| back.sent <= pair.last_sent) {
            pair.back = None;
            self.out += 1;
        }
    }

    /// Whether an arrival can end an outage.
    #[inline]
    pub fn any_out(&self) -> bool {
        self.out > 0
    }

    /// A packet of a pair has arrived, that was sent at a time.
    pub fn arrived(&mut self, ends: Ends, sent: Ticks, now: Ticks) {
        let Some(pair) = self.broken.get_mut(&ends) else { return };
        // Several packets may be sent at one time: only a later one is sure to be sent after the lost one.
        if pair.back.is_none() && sent > pair.last_sent {
            pair.back = Some(Return { sent, arrived: now });
            self.out -= 1;
        }
    }
}

impl Sim {
    /// Counts outages from now on: what was lost before is no part of any.
    pub fn count_outages(&mut self) {
        self.ledger.outages.begin();
    }

    /// The pairs of end ports that have lost packets since outages are counted, by source and destination.
    pub fn outages(&self) -> Vec<PairOutage> {
        let under_way = self.last_sent_under_way();
        let is_gone = |rank: EndPortRank| self.sources.cut_off[rank] || self.sources.unreachable[rank];
        let port = |rank: EndPortRank| self.sources.list[rank].port;
        let outage = |(&ends, pair): (&Ends, &Broken)| PairOutage {
            source: port(ends.0),
            destination: port(ends.1),
            lost: pair.lost,
            since_ns: pair.since / TICKS_PER_NS,
            last_sent_ns: pair.last_sent / TICKS_PER_NS,
            end: match pair.back {
                _ if is_gone(ends.0) || is_gone(ends.1) => OutageEnd::CutOff,
                Some(back) => OutageEnd::Back { at_ns: back.arrived / TICKS_PER_NS },
                None if under_way.get(&ends).is_some_and(|&sent| sent > pair.last_sent) => OutageEnd::Out,
                None => OutageEnd::NotSeenAgain,
            },
        };
        let mut outages: Vec<PairOutage> = self.ledger.outages.broken.iter().map(outage).collect();
        // The map has no order of its own that a run may show.
        outages.sort_unstable_by_key(|outage| (outage.source, outage.destination));
        outages
    }

    /// By pair that lost something: when the latest of its packets was sent that is still under way.
    fn last_sent_under_way(&self) -> FxHashMap<Ends, Ticks> {
        let mut latest = FxHashMap::default();
        for id in self.plane.packets.alive() {
            let ends = self.ends_of(id);
            if self.ledger.outages.broken.contains_key(&ends) {
                let sent = self.set_out(id);
                latest.entry(ends).and_modify(|last: &mut Ticks| *last = sent.max(*last)).or_insert(sent);
            }
        }
        latest
    }

    /// Counts a lost packet with its pair; `since` is when the cause of the loss set in. What is sent to a LID that
    /// nobody owns is of no pair.
    pub(super) fn break_pair(&mut self, id: PacketId, since: Ticks) {
        let ends = self.ends_of(id);
        if self.ledger.outages.is_counting && ends.1.is_some() {
            let sent = self.set_out(id);
            self.ledger.outages.lost(LostPacket { ends, sent, since });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = (EndPortRank(0), EndPortRank(1));

    /// What befalls a pair, in order; all at the time of the second number, of a packet sent at the first.
    enum Fate {
        Lost(Ticks, Ticks),
        Arrived(Ticks, Ticks),
    }

    /// Since when the pair was out, and when it was back.
    fn outage(fates: &[Fate]) -> (Ticks, Option<Ticks>) {
        let mut outages = Outages::default();
        for fate in fates {
            match *fate {
                Fate::Lost(sent, now) => outages.lost(LostPacket { ends: ENDS, sent, since: now }),
                Fate::Arrived(sent, now) => outages.arrived(ENDS, sent, now),
            }
        }
        let pair = &outages.broken[&ENDS];
        assert_eq!(outages.any_out(), pair.back.is_none());
        (pair.since, pair.back.map(|back| back.arrived))
    }

    #[test]
    fn what_was_sent_before_the_loss_ends_no_outage() {
        use Fate::{Arrived, Lost};
        assert_eq!(outage(&[Lost(10, 15)]), (15, None));
        assert_eq!(outage(&[Lost(10, 15), Arrived(9, 16), Arrived(10, 17)]), (15, None));
        assert_eq!(outage(&[Lost(10, 15), Arrived(11, 18), Arrived(12, 19)]), (15, Some(18)));
    }

    #[test]
    fn a_later_packet_lost_prolongs_the_outage_and_an_earlier_one_does_not() {
        use Fate::{Arrived, Lost};
        assert_eq!(outage(&[Lost(10, 15), Arrived(20, 25), Lost(21, 26)]), (15, None));
        assert_eq!(outage(&[Lost(10, 15), Arrived(20, 25), Lost(21, 26), Arrived(22, 30)]), (15, Some(30)));
        assert_eq!(outage(&[Lost(10, 15), Arrived(20, 25), Lost(12, 90)]), (15, Some(25)));
    }
}
