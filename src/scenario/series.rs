//! What happened when in a run, in bins of simulated time: the simulator's bins with the names of reports
//! (docs/SIMULATOR.md, *Time series*).

use super::measures::{AFTER, BEFORE, DURING, smp_name};
use super::outcome::{BinReport, Marks, SeriesReport};
use crate::sim::wheel::TICKS_PER_NS;
use crate::sim::{Bin, OutageEnd, PairOutage, Period, Sim};

/// What a finished run did over time.
pub(super) fn series(sim: &Sim) -> SeriesReport {
    let (series, now_ns) = (sim.series(), sim.now_ns());
    let bin_ns = series.bin_ns();
    let mut bins: Vec<BinReport> =
        (0..).map(|rank| rank * bin_ns).zip(series.bins()).map(|(start_ns, bin)| report(start_ns, bin)).collect();
    bins.iter_mut().for_each(|bin| bin.end_ns = (bin.start_ns + bin_ns).min(now_ns).max(bin.start_ns));
    bins.iter_mut().for_each(|bin| cap(bin, sim.periods()));
    count_pairs(&mut bins, bin_ns, &sim.outages());
    let begins = |period: usize| sim.periods().get(period).map(|own| own.start / TICKS_PER_NS);
    let marks = Marks {
        before_ns: begins(BEFORE).unwrap_or_default(),
        during_ns: begins(DURING),
        after_ns: begins(AFTER),
        stop_ns: begins(AFTER + 1),
    };
    SeriesReport { bin_ns, bins, marks }
}

fn report(start_ns: u64, bin: &Bin) -> BinReport {
    let latency = |q| (bin.delivered > 0).then(|| bin.latency_ns.value_at_quantile(q));
    let performance = (bin.gmps > 0).then(|| ("Performance".to_string(), bin.gmps));
    BinReport {
        start_ns,
        end_ns: start_ns,
        delivered: bin.delivered,
        bytes: bin.bytes,
        latency_p50_ns: latency(0.5),
        latency_p99_ns: latency(0.99),
        latency_max_ns: latency(1.0),
        lost_to_failure: bin.lost_to_failure,
        lost_to_change: bin.lost_to_change,
        stranded: bin.stranded,
        under_way: bin.under_way,
        pairs_out: 0,
        pairs_not_seen_again: 0,
        smps: bin.smps.iter().map(|(key, &count)| (smp_name(*key), count)).chain(performance).collect(),
    }
}

/// Lowers the latencies of a bin to the highest of the periods that it touches: a bin knows two figures of
/// them, rounded up, and must not exceed what the run knows better.
fn cap(bin: &mut BinReport, periods: &[Period]) {
    let begins = |rank: usize| periods.get(rank).map_or(u64::MAX, |own| own.start / TICKS_PER_NS);
    let touches = |rank: &usize| begins(*rank) <= bin.end_ns && bin.start_ns <= begins(*rank + 1);
    let most = (0..periods.len()).filter(touches).map(|rank| periods[rank].latency_ns.max()).max();
    for own in [&mut bin.latency_p50_ns, &mut bin.latency_p99_ns, &mut bin.latency_max_ns] {
        *own = own.map(|ns| most.map_or(ns, |most| ns.min(most)));
    }
}

/// Counts each pair in every bin in which it was out. A pair that has sent since, and is not back, is out to the end.
/// One that sent nothing more is out as long as it lost packets, and then counts as not seen again: that nothing of it
/// is lost any more does not mean that it has a way. The last bin ends with the run, and counts all of these.
fn count_pairs(bins: &mut [BinReport], bin_ns: u64, pairs: &[PairOutage]) {
    // By bin: how many more pairs are out in it than in the one before, and how many more are not seen again.
    let mut steps = vec![[0i64; 2]; bins.len() + 1];
    let bin_of = |at_ns: u64| ((at_ns / bin_ns) as usize).min(bins.len().saturating_sub(1));
    for pair in pairs {
        // The first bin in which it is not out any more.
        let (after, is_seen) = match pair.end {
            OutageEnd::Back { at_ns } => (bin_of(at_ns) + 1, true),
            OutageEnd::Out => (bins.len(), true),
            OutageEnd::NotSeenAgain => {
                let lost = bin_of(pair.last_sent_ns.max(pair.since_ns));
                ((lost + 1).min(bins.len().saturating_sub(1)), false)
            }
            OutageEnd::CutOff => continue,
        };
        steps[bin_of(pair.since_ns)][0] += 1;
        steps[after][0] -= 1;
        steps[after][1] += i64::from(!is_seen);
    }
    let (mut out, mut not_seen) = (0, 0);
    for (bin, step) in bins.iter_mut().zip(steps) {
        (out, not_seen) = (out + step[0], not_seen + step[1]);
        (bin.pairs_out, bin.pairs_not_seen_again) = (out.unsigned_abs(), not_seen.unsigned_abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::PortId;

    #[test]
    fn a_pair_is_out_in_every_bin_that_its_outage_touches() {
        let pair = |since_ns, end| PairOutage {
            source: PortId(0),
            destination: PortId(1),
            lost: 1,
            since_ns,
            last_sent_ns: since_ns,
            end,
        };
        let pairs = [
            pair(15, OutageEnd::Back { at_ns: 20 }),
            pair(22, OutageEnd::Back { at_ns: 29 }),
            pair(21, OutageEnd::NotSeenAgain),
            pair(31, OutageEnd::Out),
            pair(41, OutageEnd::NotSeenAgain),
            pair(0, OutageEnd::CutOff),
        ];
        let mut bins = vec![BinReport::default(); 5];
        count_pairs(&mut bins, 10, &pairs);
        assert_eq!(bins.iter().map(|bin| bin.pairs_out).collect::<Vec<_>>(), [0, 1, 3, 1, 1]);
        let not_seen: Vec<u64> = bins.iter().map(|bin| bin.pairs_not_seen_again).collect();
        assert_eq!(not_seen, [0, 0, 0, 1, 2], "nobody saw them come back, and the last bin has all of them");
    }
}
