//! A change that never came to its end, as far as the time series shows it: its phases have no times of their own.

use reconfig::scenario::{BinReport, Ending, PhaseReport, SimulationReport};

/// A change whose writes began and never finished, as far as the time series shows it.
#[derive(Clone, Copy)]
pub(super) struct UnfinishedChange {
    /// When what was changed happened.
    event_ns: u64,
    /// The beginning of the first bin with a write.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// SMPs before the first write, and from it on.
    smps: [u64; 2],
}

impl UnfinishedChange {
    pub(super) fn of(report: &SimulationReport) -> Option<UnfinishedChange> {
        let has_phases = report.changes.iter().any(|own| own.sweep_and_phases().next().is_some());
        if has_phases || report.outcome == Ending::Completed || !report.has_change() {
            return None;
        }
        let event_ns = report.series.marks.during_ns?;
        let bins: Vec<&BinReport> = report.series.bins.iter().filter(|bin| bin.end_ns > event_ns).collect();
        let is_write = |bin: &BinReport| bin.smps.keys().any(|name| name.starts_with("Set("));
        let first = bins.iter().position(|bin| is_write(bin))?;
        let smps = |bins: &[&BinReport]| bins.iter().map(|bin| bin.smps_total()).sum();
        let end_ns = bins.last()?.end_ns;
        let start_ns = bins[first].start_ns.max(event_ns);
        Some(UnfinishedChange { event_ns, start_ns, end_ns, smps: [smps(&bins[..first]), smps(&bins[first..])] })
    }

    /// What passed before the first write, and the writes.
    pub(super) fn phases(self) -> Vec<PhaseReport> {
        let phase = |name: &str, start_ns, end_ns, smps| PhaseReport { name: name.to_string(), start_ns, end_ns, smps };
        let before = phase("no write", self.event_ns, self.start_ns, self.smps[0]);
        let writes = phase("unfinished", self.start_ns, self.end_ns, self.smps[1]);
        [before, writes].into_iter().filter(|own| own.end_ns > own.start_ns).collect()
    }
}
