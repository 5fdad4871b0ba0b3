//! Outages of pairs of end ports in numbers (docs/SIMULATOR.md, *Outages*).

use super::setup::Setup;
use crate::sim::{OutageEnd, PairOutage, Sim};
use serde::Serialize;

/// Outages of ordered pairs of end ports, from the event on. A pair is out from the moment that a packet of it is lost
/// until a packet arrives that was sent after all that it lost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OutageReport {
    /// Pairs that were out: the sum of `back`, `still_out` and `not_seen_again`.
    pub pairs: usize,
    /// Pairs that were back before the run ended; the longest outage and the mean are of these.
    pub back: usize,
    /// The longest outage; none if no pair is back.
    pub longest: Option<LongestOutage>,
    /// The mean outage; none if no pair is back.
    pub mean_ns: Option<u64>,
    /// Pairs whose source has sent since, of which nothing had arrived when the run ended.
    pub still_out: usize,
    /// Pairs whose source has sent nothing since.
    pub not_seen_again: usize,
    /// Pairs that lost packets since an end of theirs is cut off; they are no outages.
    pub cut_off: usize,
}

/// The longest outage, and the first pair, by source and destination, that it befell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LongestOutage {
    /// Who sends.
    pub source: String,
    /// Who receives.
    pub destination: String,
    /// How long it lasted.
    pub ns: u64,
}

/// The outages of a finished run.
pub(super) fn outages(setup: &Setup<'_>, sim: &Sim) -> OutageReport {
    let pairs = sim.outages();
    let count = |is: fn(&OutageEnd) -> bool| pairs.iter().filter(|pair| is(&pair.end)).count();
    let lengths = || pairs.iter().filter_map(PairOutage::length_ns);
    let longest = lengths().max();
    let name = |pair: &PairOutage, ns| LongestOutage {
        source: setup.describe_port(pair.source),
        destination: setup.describe_port(pair.destination),
        ns,
    };
    let (back, cut_off) = (lengths().count(), count(|end| matches!(end, OutageEnd::CutOff)));
    OutageReport {
        pairs: pairs.len() - cut_off,
        back,
        longest: longest.and_then(|ns| {
            let first = pairs.iter().find(|pair| pair.length_ns() == Some(ns));
            first.map(|pair| name(pair, ns))
        }),
        mean_ns: lengths().sum::<u64>().checked_div(back as u64),
        still_out: count(|end| matches!(end, OutageEnd::Out)),
        not_seen_again: count(|end| matches!(end, OutageEnd::NotSeenAgain)),
        cut_off,
    }
}
