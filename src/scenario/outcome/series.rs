//! What happened when in a run, in bins of simulated time (docs/SIMULATOR.md, *Time series*).

use std::collections::BTreeMap;

/// What a run did over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SeriesReport {
    /// How long a bin is, in nanoseconds; the last one may be shorter.
    pub bin_ns: u64,
    /// The bins, in order, from the beginning of the run.
    pub bins: Vec<BinReport>,
    /// When the periods of the report begin.
    pub marks: Marks,
}

/// When the periods of a run begin, in nanoseconds; none for one that the run did not reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// *Before*: the end of warming up.
    pub before_ns: u64,
    /// *During*: the failure, the arrival, or the first act of a planned change.
    pub during_ns: Option<u64>,
    /// *After*.
    pub after_ns: Option<u64>,
    /// Sources stop, and what is under way arrives.
    pub stop_ns: Option<u64>,
}

/// One bin.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BinReport {
    /// When it begins.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Median latency of the packets delivered, to two significant figures; none where nothing was delivered.
    pub latency_p50_ns: Option<u64>,
    /// The 99th percentile.
    pub latency_p99_ns: Option<u64>,
    /// The highest latency.
    pub latency_max_ns: Option<u64>,
    /// Packets lost to the failure.
    pub lost_to_failure: u64,
    /// Packets lost to the change.
    pub lost_to_change: u64,
    /// Packets discarded from or to end ports that left or are cut off.
    pub stranded: u64,
    /// Packets under way at the beginning of the bin on service levels 0–7 (A) and 8–15 (B), send queues included.
    pub under_way: [u64; 2],
    /// Pairs of end ports that were out at some moment of the bin, without those that are cut off for good.
    pub pairs_out: u64,
    /// Pairs that lost their last packets before the bin, or in it if it is the last one, and sent nothing more in the
    /// whole run, so that nothing shows whether they have a way again; none of them is in `pairs_out`.
    pub pairs_not_seen_again: u64,
    /// SMPs that managers sent, by `Method(Attribute)`; general management packets as `Performance`.
    pub smps: BTreeMap<String, u64>,
}

impl BinReport {
    /// Bytes delivered, in gigabits a second.
    pub fn throughput_gbps(&self) -> f64 {
        let length_ns = self.end_ns.saturating_sub(self.start_ns).max(1);
        self.bytes as f64 * 8.0 / length_ns as f64
    }

    /// SMPs of all attributes.
    pub fn smps_total(&self) -> u64 {
        self.smps.values().sum()
    }
}
