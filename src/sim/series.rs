//! What happened when: deliveries, latencies, losses, MADs and packets under way, in bins of simulated time.
//!
//! Bins are equally long and follow each other from the beginning of the run without a gap. Memory is bounded: where a
//! bin is wanted beyond the last of [`MOST_BINS`], bins merge pairwise and are twice as long from then on. So the
//! length of a bin is [`FIRST_BIN_NS`] times a power of two, and a run, however long, has between half of the most and
//! the most bins once they have merged. A bin is opened by the first packet that sets out, arrives or is lost in it, or
//! by the next after it; nothing here causes an event.

use super::Sim;
use super::fate::LossCause;
use super::packet::half_index;
use super::wheel::{TICKS_PER_NS, Ticks};
use crate::transport::Datagram;
use crate::wire::{AttributeId, Method, Smp};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// The most bins of a run.
pub const MOST_BINS: usize = 256;

/// How long a bin is before any have merged, in nanoseconds.
pub const FIRST_BIN_NS: u64 = 1_000;

/// One bin of a run.
pub struct Bin {
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// From send queue to delivery, in nanoseconds, of the packets delivered, to two significant figures.
    pub latency_ns: Histogram<u32>,
    /// Packets lost to the failure.
    pub lost_to_failure: u64,
    /// Packets lost to the change.
    pub lost_to_change: u64,
    /// Packets discarded that an end port sent or was to receive that is cut off.
    pub stranded: u64,
    /// By half of their service levels: packets that were under way when the bin began, send queues included.
    pub under_way: [u64; 2],
    /// SMPs that managers sent, by attribute and method.
    pub smps: BTreeMap<(AttributeId, Method), u64>,
    /// Other MADs that they sent: general management packets.
    pub gmps: u64,
}

impl Bin {
    fn new(under_way: [u64; 2]) -> Bin {
        Bin {
            delivered: 0,
            bytes: 0,
            latency_ns: Histogram::new(2).expect("two significant figures are within the histogram's range"),
            lost_to_failure: 0,
            lost_to_change: 0,
            stranded: 0,
            under_way,
            smps: BTreeMap::new(),
            gmps: 0,
        }
    }

    /// Takes in the bin that follows.
    fn merge(&mut self, next: Bin) {
        self.delivered += next.delivered;
        self.bytes += next.bytes;
        self.latency_ns.add(next.latency_ns).expect("a histogram that grows by itself refuses nothing");
        self.lost_to_failure += next.lost_to_failure;
        self.lost_to_change += next.lost_to_change;
        self.stranded += next.stranded;
        self.gmps += next.gmps;
        next.smps.into_iter().for_each(|(key, count)| *self.smps.entry(key).or_default() += count);
    }
}

/// The bins of a run so far.
pub struct Series {
    bins: Vec<Bin>,
    /// How long each is, in ticks.
    width: Ticks,
    /// When the last one ends, in ticks.
    end: Ticks,
    /// By half: packets under way.
    under_way: [u64; 2],
}

impl Series {
    pub(super) fn new() -> Series {
        let width = FIRST_BIN_NS * TICKS_PER_NS;
        Series { bins: vec![Bin::new([0; 2])], width, end: width, under_way: [0; 2] }
    }

    /// The bins, in order; the last one may not have ended.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// How long a bin is, in nanoseconds.
    pub fn bin_ns(&self) -> u64 {
        self.width / TICKS_PER_NS
    }

    /// Whether the last bin lies in the past.
    #[inline]
    pub(super) fn has_ended(&self, now: Ticks) -> bool {
        now >= self.end
    }

    /// Opens bins up to the one that holds `now`.
    fn open(&mut self, now: Ticks) {
        while self.has_ended(now) {
            if self.bins.len() == MOST_BINS {
                self.merge();
            }
            // Merging moves no end: as many bins as before are half as many of twice the length.
            self.bins.push(Bin::new(self.under_way));
            self.end += self.width;
        }
    }

    fn merge(&mut self) {
        let mut old = std::mem::take(&mut self.bins).into_iter();
        while let Some(mut bin) = old.next() {
            old.next().into_iter().for_each(|next| bin.merge(next));
            self.bins.push(bin);
        }
        self.width *= 2;
    }

    #[inline]
    fn last(&mut self) -> &mut Bin {
        self.bins.last_mut().expect("a run is always in a bin")
    }

    /// Counts a packet that sets out on a service level.
    #[inline]
    pub(super) fn set_out(&mut self, sl: u8) {
        self.under_way[half_index(sl)] += 1;
    }

    /// Counts a packet of a service level whose way has ended.
    #[inline]
    pub(super) fn end(&mut self, sl: u8) {
        self.under_way[half_index(sl)] -= 1;
    }

    #[inline]
    pub(super) fn deliver(&mut self, latency_ns: u64, bytes: u16) {
        let bin = self.last();
        bin.delivered += 1;
        bin.bytes += u64::from(bytes);
        bin.latency_ns.record(latency_ns).expect("a histogram that grows by itself refuses nothing");
    }

    pub(super) fn lose(&mut self, cause: LossCause) {
        let bin = self.last();
        match cause {
            LossCause::CutOff => bin.stranded += 1,
            LossCause::Failure => bin.lost_to_failure += 1,
            LossCause::Change => bin.lost_to_change += 1,
        }
    }
}

impl Sim {
    /// What happened when, so far.
    pub fn series(&self) -> &Series {
        &self.ledger.series
    }

    /// Opens the bins up to now, so that a quiet end of a run is among them.
    #[inline]
    pub fn open_bins(&mut self) {
        if self.ledger.series.has_ended(self.clock.now()) {
            self.open_bin();
        }
    }

    /// Opens the bin of the present moment.
    #[cold]
    fn open_bin(&mut self) {
        self.ledger.series.open(self.clock.now());
    }

    /// Counts a MAD that a client sends.
    pub(super) fn count_mad(&mut self, datagram: &Datagram) {
        self.open_bins();
        let bin = self.ledger.series.last();
        match Smp::decode(&datagram.bytes) {
            Ok(smp) => *bin.smps.entry((smp.attribute, smp.method)).or_default() += 1,
            Err(_) => bin.gmps += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deliveries at the given times, in nanoseconds, each of one byte and of a latency of its own rank.
    fn delivered(times_ns: impl IntoIterator<Item = u64>) -> Series {
        let mut series = Series::new();
        for (rank, now) in times_ns.into_iter().enumerate() {
            series.open(now * TICKS_PER_NS);
            series.deliver(rank as u64 + 1, 1);
        }
        series
    }

    fn counts(series: &Series) -> Vec<u64> {
        series.bins.iter().map(|bin| bin.delivered).collect()
    }

    #[test]
    fn what_happens_in_a_bin_counts_in_it() {
        let series = delivered([0, 999, 1_000, 2_999, 5_000]);
        assert_eq!((series.bin_ns(), counts(&series)), (1_000, vec![2, 1, 1, 0, 0, 1]));
        assert_eq!(series.bins[0].latency_ns.max(), 2);
    }

    #[test]
    fn bins_merge_pairwise_at_their_limit_and_lose_nothing() {
        let most = MOST_BINS as u64;
        let series = delivered((0..most).map(|bin| bin * 1_000));
        assert_eq!((series.bin_ns(), counts(&series)), (1_000, vec![1; MOST_BINS]));
        let series = delivered((0..=most).map(|bin| bin * 1_000));
        assert_eq!(series.bin_ns(), 2_000);
        assert_eq!(counts(&series)[..MOST_BINS / 2], vec![2; MOST_BINS / 2]);
        assert_eq!(counts(&series)[MOST_BINS / 2..], [1]);
        assert_eq!(series.bins[0].latency_ns.max(), 2);
    }

    #[test]
    fn a_long_wait_takes_no_more_memory() {
        let minute_ns = 60_000_000_000;
        let series = delivered([0, minute_ns, minute_ns + 1]);
        assert!(series.bins.len() <= MOST_BINS && series.bins.len() > MOST_BINS / 2, "{} bins", series.bins.len());
        assert_eq!(minute_ns / series.bin_ns(), series.bins.len() as u64 - 1);
        assert_eq!((series.bins[0].delivered, series.bins.last().unwrap().delivered), (1, 2));
    }
}
