//! One run as a row: who it was, and what came of it.

use super::RunKey;
use crate::scenario::{Ending, SimulationReport, is_saturated};
use serde::{Deserialize, Serialize};

/// A run and its figures; times in nanoseconds. Fields without a value did not occur, or could not be measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunRow {
    /// Its place in the campaign.
    pub run: usize,
    /// As described.
    pub fabric: String,
    /// `root`, `switch`, `cable`.
    pub change: String,
    /// As described.
    pub engine: String,
    /// As described.
    pub scheme: String,
    /// The load.
    pub load: f64,
    /// The seed.
    pub seed: u64,
    /// `completed`, `deadlocked`, `aborted`; `refused` if it could not begin.
    pub outcome: String,
    /// Why it did not complete.
    pub reason: String,
    /// The scheme that ran.
    pub taken: String,
    /// The prover's verdict: `proved`, `refused`, …
    pub proof: String,
    /// What changed, by name.
    pub what: String,
    /// Switches before the change.
    pub switches: Option<u64>,
    /// Channel adapters before the change.
    pub cas: Option<u64>,
    /// Packets that sources handed over.
    pub injected: Option<u64>,
    /// Packets that arrived.
    pub delivered: Option<u64>,
    /// Packets whose way was dead when they were sent.
    pub lost_to_failure: Option<u64>,
    /// All other packets lost.
    pub lost_to_change: Option<u64>,
    /// The sum of both.
    pub lost_in_all: Option<u64>,
    /// Packets of end ports that left or are cut off.
    pub stranded: Option<u64>,
    /// Packets that never came out: those of a deadlock.
    pub in_flight: Option<u64>,
    /// Pairs of end ports that lost packets.
    pub pairs_out: Option<u64>,
    /// Of these, pairs that had not been seen to be back when the run ended.
    pub pairs_not_back: Option<u64>,
    /// The longest outage of a pair that was back when the run ended.
    pub outage_longest_ns: Option<u64>,
    /// The mean outage of such pairs; none if there are none, also where no pair was out.
    pub outage_mean_ns: Option<u64>,
    /// End ports that the change cuts off from the subnet manager, though they stay.
    #[serde(default)]
    pub end_ports_cut_off: Option<u64>,
    /// The longest time without a delivery.
    pub gap_ns: Option<u64>,
    /// From the first event to the new routing in force.
    pub change_ns: Option<u64>,
    /// SMPs that managers sent.
    pub smps: Option<u64>,
    /// The 99th percentile of latency, by period of delivery.
    pub latency_p99_before_ns: Option<u64>,
    /// From the event to the new routing in force.
    pub latency_p99_during_ns: Option<u64>,
    /// From then on.
    pub latency_p99_after_ns: Option<u64>,
    /// Delivered in the period *before*, as a share of what end ports can take.
    pub throughput_before: Option<f64>,
    /// From the event to the new routing in force.
    pub throughput_during: Option<f64>,
    /// From then on.
    pub throughput_after: Option<f64>,
    /// The share of the time before the event that applications waited for room in their send queues.
    #[serde(default)]
    pub held_back_before: Option<f64>,
    /// Digest of every event, in hexadecimal.
    pub trace: String,
}

impl RunRow {
    fn named(key: &RunKey) -> RunRow {
        RunRow {
            run: key.run,
            fabric: key.fabric.clone(),
            change: key.change.name().to_string(),
            engine: key.engine.clone(),
            scheme: key.scheme.clone(),
            load: key.load,
            seed: key.seed,
            ..RunRow::default()
        }
    }

    /// Of a run that could not begin.
    pub(super) fn refused(key: &RunKey, why: String) -> RunRow {
        RunRow { outcome: "refused".to_string(), reason: why, ..RunRow::named(key) }
    }

    pub(super) fn of(key: &RunKey, report: &SimulationReport) -> RunRow {
        let outcome = match report.outcome {
            Ending::Completed => "completed",
            Ending::Deadlocked => "deadlocked",
            Ending::Aborted => "aborted",
            Ending::NotReached => "not-reached",
        };
        let (packets, outage) = (&report.packets, report.outage.as_ref());
        let (latency, through, had) = (report.latency_ns, report.throughput, report.periods_had());
        // Whatever is delivered takes some time: 0 is the latency of nothing.
        let took = |ns: u64| (ns > 0).then_some(ns);
        RunRow {
            outcome: outcome.to_string(),
            reason: report.reason.clone().unwrap_or_default(),
            taken: report.scheme.to_string(),
            proof: report.proof.status.to_string(),
            what: report.what.clone(),
            switches: Some(report.fabric.switches as u64),
            cas: Some(report.fabric.cas as u64),
            injected: Some(packets.injected),
            delivered: Some(packets.delivered),
            lost_to_failure: Some(packets.lost_to_failure),
            lost_to_change: Some(packets.lost_to_change),
            lost_in_all: Some(report.lost_in_all),
            stranded: Some(packets.stranded),
            in_flight: Some(packets.in_flight),
            pairs_out: outage.map(|own| own.pairs as u64),
            pairs_not_back: outage.map(|own| (own.still_out + own.not_seen_again) as u64),
            outage_longest_ns: outage.and_then(|own| own.longest.as_ref()).map(|longest| longest.ns),
            outage_mean_ns: outage.and_then(|own| own.mean_ns),
            end_ports_cut_off: Some(report.cut_off().len() as u64),
            gap_ns: Some(report.longest_gap_ns),
            change_ns: report.change_ns(),
            smps: Some(report.smps().total),
            latency_p99_before_ns: took(latency.before.p99),
            latency_p99_during_ns: took(latency.during.p99),
            latency_p99_after_ns: took(latency.after.p99),
            throughput_before: had.before.then_some(through.before),
            throughput_during: had.during.then_some(through.during),
            throughput_after: had.after.then_some(through.after),
            held_back_before: Some(report.held_back.before),
            trace: format!("{:016x}", report.trace_hash),
            ..RunRow::named(key)
        }
    }

    /// The mean outage: 0 where no pair was out, unknown where none of those that were out was seen to be back, or
    /// where no packet was sent that could have shown one.
    pub(super) fn outage_ns(&self) -> Option<u64> {
        self.outage_mean_ns.or((self.pairs_out == Some(0) && !self.is_silent()).then_some(0))
    }

    /// Whether no packet was sent.
    pub(super) fn is_silent(&self) -> bool {
        self.injected == Some(0)
    }

    /// Whether the change cuts end ports off.
    pub(super) fn cuts_off(&self) -> bool {
        self.end_ports_cut_off.is_some_and(|ports| ports > 0)
    }

    /// Whether the subnet did not take the load before the loss.
    pub(super) fn is_saturated(&self) -> bool {
        let shares = self.held_back_before.zip(self.throughput_before);
        shares.is_some_and(|(held_back, throughput)| is_saturated(held_back, throughput, self.load))
    }

    /// Whether this is the row of a run.
    pub fn is_of(&self, key: &RunKey) -> bool {
        let own = RunRow::named(key);
        let name = |row: &RunRow| {
            (row.run, row.fabric.clone(), row.change.clone(), row.engine.clone(), row.scheme.clone(), row.seed)
        };
        name(self) == name(&own) && self.load.to_bits() == own.load.to_bits()
    }
}
