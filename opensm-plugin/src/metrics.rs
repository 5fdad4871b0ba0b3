//! What the engine counts, as a file in Prometheus's text format, for node_exporter's textfile collector.
//!
//! On entry: what came of each run, and of each look at multicast. On return: a text, and a file that is replaced as a
//! whole, so that nobody reads half of one. Names that `reconfig sm` has too mean the same here. Deliberately omitted:
//! a server, which has no place in OpenSM's process.

use crate::answer::RunOutcome;
use reconfig::fabric::Fabric;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The fabric of the last run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Switches present.
    pub switches: usize,
    /// Adapters and routers present.
    pub cas: usize,
    /// Cables present.
    pub links: usize,
    /// LIDs assigned.
    pub lids: usize,
}

/// A run of the routing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeteredRun {
    /// What came of it.
    pub outcome: RunOutcome,
    /// Whether OpenSM was handed other tables than those in force.
    pub writes: bool,
    /// How long it took.
    pub took: Duration,
}

/// All of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunMetrics {
    runs: BTreeMap<&'static str, u64>,
    seconds: Duration,
    waves: u64,
    waves_left: usize,
    proved: bool,
    sizes: Sizes,
    trees: usize,
    ring: bool,
}

impl Sizes {
    /// Counts them.
    pub fn of(fabric: &Fabric) -> Sizes {
        let present = || fabric.nodes().filter(|(_, node)| node.present);
        let switches = present().filter(|(_, node)| node.is_switch()).count();
        let lids = fabric.lid_ports().map(|port| usize::from(fabric.port(port).lmc.lids())).sum();
        Sizes { switches, cas: present().count() - switches, links: fabric.links().count(), lids }
    }
}

impl RunMetrics {
    /// A run has ended so; `waves_left` are those of the plan under way.
    pub fn ran(&mut self, run: MeteredRun, waves_left: usize, sizes: Option<Sizes>) {
        let MeteredRun { outcome, writes, took } = run;
        *self.runs.entry(outcome.name()).or_default() += 1;
        self.seconds += took;
        self.waves += u64::from(writes);
        self.waves_left = waves_left;
        self.proved = outcome.is_proved();
        self.sizes = sizes.unwrap_or(self.sizes);
    }

    /// Multicast was judged.
    pub fn judged(&mut self, trees: usize, ring: bool) {
        (self.trees, self.ring) = (trees, ring);
    }

    /// The text.
    pub fn text(&self) -> String {
        let head = |name: &str, kind: &str, help: &str| format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        let mut all = head("reconfig_opensm_runs_total", "counter", "Runs of the routing, by what came of them");
        for outcome in RunOutcome::ALL.map(RunOutcome::name) {
            let count = self.runs.get(outcome).copied().unwrap_or_default();
            let _ = writeln!(all, "reconfig_opensm_runs_total{{outcome=\"{outcome}\"}} {count}");
        }
        all +=
            &head("reconfig_opensm_run_seconds", "summary", "How long runs took, hop counts and writes not included");
        let runs: u64 = self.runs.values().sum();
        let seconds = self.seconds.as_secs_f64();
        let _ = writeln!(all, "reconfig_opensm_run_seconds_sum {seconds}\nreconfig_opensm_run_seconds_count {runs}");
        let counter = ("reconfig_opensm_waves_total", "counter", "Waves of tables handed to OpenSM", self.waves);
        let gauge = |name, help, value: usize| (name, "gauge", help, value as u64);
        let Sizes { switches, cas, links, lids } = self.sizes;
        let values = [
            counter,
            gauge("reconfig_opensm_waves_left", "Waves left of the plan under way", self.waves_left),
            gauge("reconfig_opensm_proved", "1 if what was handed over last is proved", usize::from(self.proved)),
            gauge("reconfig_opensm_multicast_trees", "Multicast trees in force", self.trees),
            gauge("reconfig_opensm_multicast_ring", "1 if trees close a ring with unicast", usize::from(self.ring)),
            gauge("reconfig_switches", "Switches present", switches),
            gauge("reconfig_cas", "Channel adapters present", cas),
            gauge("reconfig_links", "Cables present", links),
            gauge("reconfig_lids", "LIDs assigned", lids),
        ];
        for (name, kind, help, value) in values {
            all += &head(name, kind, help);
            let _ = writeln!(all, "{name} {value}");
        }
        all
    }
}

/// Replaces the file.
///
/// # Errors
/// What prevented it, with the file.
pub fn write(file: &Path, text: &str) -> Result<(), String> {
    let beside = file.with_extension("prom.new");
    let told = |error: std::io::Error| format!("metrics: {}: {error}", file.display());
    fs::write(&beside, text).and_then(|()| fs::rename(&beside, file)).map_err(told)
}
