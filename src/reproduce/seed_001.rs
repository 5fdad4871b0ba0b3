//! Seed 001, the Double Scheme over InfiniBand: counts and times of its results page, and static reconfiguration beside
//! it in the simulator.
//!
//! The slides' example has 16 switches and 14 nodes, and its drain tokens pass 7 hops; nothing else of its topology is
//! stated. Ours is a random one with as many, with switches of four ports, and the 23 cables between them that the
//! counts imply, chosen for its 7 hops once the root has died ([`SEED`]). Counts follow the slides' rules
//! ([`PaperCounts`]). Discards and latency over time are shown there as pictures without figures, and their claims as
//! sentences: under static reconfiguration traffic stops, so that latency rises and a gap occurs, and packets are
//! discarded, since ports are in INITIALIZE; under the Double Scheme none is lost. Each is a row here, 1 where it
//! holds. Computing takes 0.1 s of simulated time, as there. Whether hosts queue what they cannot send (*queued*), so
//! that it is late, or applications wait (*waiting*), so that it is never late, the slides do not say: both are
//! measured. The element that leaves is the root, as planned, so that no packet is lost to a failure.

use super::parallel::in_order;
use super::table::{Cell, ResultTable};
use super::{ReproduceError, StudyRequest};
use crate::fabric::Fabric;
use crate::fabric::generate::{Options, Topology, generate};
use crate::plan::{Arming, Policy, Scheme};
use crate::routing::UpDown;
use crate::scenario::{
    self, BinReport, ComputeTime, Departure, Ending, PAPER_SMP_NS, PaperCounts, Scenario, SimulationReport, Unwatched,
};
use crate::sim::SimConfig;
use std::sync::Arc;

pub(super) const TABLES: [&str; 6] = ["counts", "drainage", "schemes", "claims", "discards", "latency"];

/// Sixteen switches of four ports, fourteen hosts, 23 cables between switches.
const TOPOLOGY: &str = "irregular:16,4,14,23";
/// The first seed of that topology with the slides' 7 hops both ways: channels once the root has died, and channels
/// between switches while it is there. Of the first 1,000 eleven have them
/// (`examples/measuring/src/bin/find_seed_16.rs`).
const SEED: u64 = 50;
/// Computing, in nanoseconds.
const COMPUTE_NS: u64 = 100_000_000;
/// The load; the slides give none. Low, so that what hosts queue in a tenth of a second has room.
const LOAD: f64 = 0.02;
/// The periods before and after the change, in nanoseconds.
const AROUND_NS: u64 = 20_000_000;
/// Packets in a send queue: more than come due while the subnet stands still.
const QUEUED: u16 = u16::MAX;

const RUNS: [(&str, Scheme, Arming, bool); 6] = [
    ("static, queued", Scheme::Static, Arming::Off, true),
    ("static, waiting", Scheme::Static, Arming::Off, false),
    ("Double, queued", Scheme::Double, Arming::Off, true),
    ("Double, waiting", Scheme::Double, Arming::Off, false),
    ("Double, ports ARMED, queued", Scheme::Double, Arming::Hold, true),
    ("Double, ARMED in turn, queued", Scheme::Double, Arming::HoldEach, true),
];
const COUNTS: [&str; 4] =
    ["SL-to-VL mapping update", "computing forwarding tables", "distributing forwarding tables", "VL drainage"];
const DRAINS: [&str; 2] = ["drain tokens, the root having died", "drain tokens, the root leaving as planned"];
const CLAIMS: [&str; 6] = [
    "static discards packets",
    "Double loses none",
    "static latency rises",
    "Double latency does not",
    "a gap of computing and more",
    "no gap under Double",
];

/// The names of a table's rows; those of tables over time follow from the run.
pub(super) fn rows(table: &str) -> Vec<String> {
    let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    match table {
        "counts" => named(&COUNTS),
        "drainage" => named(&DRAINS),
        "schemes" => RUNS.iter().map(|(name, ..)| (*name).to_string()).collect(),
        "claims" => named(&CLAIMS),
        _ => Vec::new(),
    }
}

/// Measures what is requested.
pub(super) fn tables(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ResultTable>, ReproduceError> {
    let fabric = fabric()?;
    let mut tables = Vec::new();
    if request.wants("counts") {
        tables.push(counts(&fabric));
    }
    if request.wants("drainage") {
        tables.push(drainage(&fabric)?);
    }
    if ["schemes", "claims", "discards", "latency"].iter().any(|table| request.wants(table)) {
        progress("seed-001: static and Double Scheme in the simulator, 0.15 s each");
        let runs = in_order(RUNS.len(), request.threads, |at| run(&fabric, at))?;
        let made = [
            ("schemes", schemes(&runs)),
            ("claims", claims(&runs)),
            ("discards", over_time(&runs, "discards", "packets discarded in a bin", |bin| discarded(bin) as f64)),
            (
                "latency",
                over_time(&runs, "latency", "99th percentile of latency, µs", |bin| {
                    bin.latency_p99_ns.map_or(f64::NAN, |ns| ns as f64 / 1e3)
                }),
            ),
        ];
        tables.extend(made.into_iter().filter(|(name, _)| request.wants(name)).map(|(_, table)| table));
    }
    for table in tables.iter_mut().filter(|table| !table.over_time) {
        table.rows.retain(|row| request.wants_row(&row.name));
    }
    Ok(tables)
}

fn fabric() -> Result<Fabric, ReproduceError> {
    let topology: Topology = TOPOLOGY.parse()?;
    Ok(generate(&topology, &Options { seed: SEED, ..Options::default() })?)
}

fn failed(what: &str, why: impl ToString) -> ReproduceError {
    ReproduceError::Run { what: what.to_string(), why: why.to_string() }
}

/// SMPs by the slides' rules, request and answer each counted, and the time of each.
fn counts(fabric: &Fabric) -> ResultTable {
    let mut table =
        ResultTable::new("seed-001 counts", "SMPs and seconds of a reconfiguration", "step", &["SMPs", "seconds"]);
    let (switches, hosts) = (fabric.switches().count() as u64, fabric.end_ports().count() as u64);
    let ends = 2 * fabric.links().count() as u64;
    let seconds = |smps: u64| (smps * PAPER_SMP_NS) as f64 / 1e9;
    let PaperCounts { mapping, distributing, drainage } = PaperCounts::of(switches, hosts, ends);
    let [first, second, third, fourth] = COUNTS;
    let exact = |paper: f64, ours: u64| Cell::near(paper, ours as f64, 0.0, 0);
    // A time agrees that rounds to what is printed.
    table.push(first, vec![exact(592.0, mapping), Cell::near(0.011, seconds(mapping), 0.0005, 4)]);
    // We found no rule that gives the slides' 200: nothing is sent to compute. The time is theirs.
    let smps = Cell::unjudged(200.0, 0.0, 0, "no rule found gives the slides' count, since nothing is sent to compute");
    table.push(
        second,
        vec![smps, Cell::unjudged(0.1, COMPUTE_NS as f64 / 1e9, 4, "the slides' time is taken as given")],
    );
    table.push(third, vec![exact(360.0, distributing), Cell::near(0.0067, seconds(distributing), 0.00005, 4)]);
    table.push(fourth, vec![exact(60.0, drainage), Cell::open(None, seconds(drainage), 4)]);
    table
}

/// The longest path of the channel dependency graph along which drain tokens go, in channels: after the loss, as the
/// slides have it, and while the root is still there.
fn drainage(fabric: &Fabric) -> Result<ResultTable, ReproduceError> {
    let depth = |departure| {
        let scenario = Scenario { departure, ..scenario(fabric, RUNS[2]) };
        let plan = scenario::plan(&scenario, Arc::new(UpDown::default()));
        plan.map(|plan| f64::from(plan.plan().drain_depth())).map_err(|error| failed("the drain of seed-001", error))
    };
    let title = "Hops of drain tokens, on a topology chosen for the slides' 7";
    let mut table = ResultTable::new("seed-001 drainage", title, "what", &["hops"]);
    let [died, planned] = DRAINS;
    table.push(died, vec![Cell::near(7.0, depth(Departure::Sudden)?, 0.0, 0)]);
    table.push(planned, vec![Cell::open(None, depth(Departure::Planned)?, 0)]);
    Ok(table)
}

fn scenario(fabric: &Fabric, (_, scheme, arming, queued): (&str, Scheme, Arming, bool)) -> Scenario {
    let base = Scenario::remove_root(fabric.clone());
    let send_queue = if queued { QUEUED } else { SimConfig::default().send_queue };
    Scenario {
        departure: Departure::Planned,
        scheme,
        policy: Policy { arming, ..base.policy },
        load: Some(LOAD),
        sim: SimConfig { send_queue, ..base.sim },
        computing: ComputeTime::Given(COMPUTE_NS),
        barrier_timeout_ns: 4 * COMPUTE_NS,
        warm_up_ns: 0,
        before_ns: AROUND_NS,
        after_ns: AROUND_NS,
        ..base
    }
}

fn run(fabric: &Fabric, at: usize) -> Result<SimulationReport, ReproduceError> {
    let (name, ..) = RUNS[at];
    let report = scenario::run(&scenario(fabric, RUNS[at]), Arc::new(UpDown::default()), &mut Unwatched)
        .map_err(|error| failed(name, error))?;
    match report.outcome {
        Ending::Completed => Ok(report),
        other => Err(failed(name, format!("the change ended as {other:?}"))),
    }
}

fn discarded(bin: &BinReport) -> u64 {
    bin.lost_to_change + bin.lost_to_failure + bin.stranded
}

fn gap_ms(report: &SimulationReport) -> f64 {
    report.longest_gap_ns as f64 / 1e6
}

fn schemes(runs: &[SimulationReport]) -> ResultTable {
    let columns =
        ["discarded", "p99 before µs", "p99 during µs", "max during µs", "longest gap ms", "change ms", "SMPs"];
    let title = "One planned removal of the root, by scheme and by what hosts do with what they cannot send";
    let mut table = ResultTable::new("seed-001 schemes", title, "scheme", &columns);
    table.mixed_units = true;
    for (&(name, ..), report) in RUNS.iter().zip(runs) {
        let micros = |ns: u64| Cell::open(None, ns as f64 / 1e3, 2);
        let latency = report.latency_ns;
        table.push(
            name,
            vec![
                Cell::open(None, report.lost_in_all as f64, 0),
                micros(latency.before.p99),
                micros(latency.during.p99),
                micros(latency.during.max),
                Cell::open(None, gap_ms(report), 3),
                Cell::open(None, report.change_ns().unwrap_or(0) as f64 / 1e6, 2),
                Cell::open(None, report.smps().total as f64, 0),
            ],
        );
    }
    table
}

/// What the slides say in words.
fn claims(runs: &[SimulationReport]) -> ResultTable {
    let (stopped, double) = (&runs[0], &runs[2]);
    // Static latency rises by orders of magnitude; "does not" allows half as much again.
    let rise = |report: &SimulationReport| report.latency_ns.during.p99 as f64 / report.latency_ns.before.p99 as f64;
    let computing_ms = COMPUTE_NS as f64 / 1e6;
    let held = [
        runs[..2].iter().all(|report| report.packets.lost_to_change > 0),
        runs[2..].iter().all(|report| report.lost_in_all == 0),
        rise(stopped) > 10.0,
        rise(double) <= 1.5,
        gap_ms(stopped) >= computing_ms,
        gap_ms(double) < computing_ms / 1e3,
    ];
    let mut table = ResultTable::new("seed-001 claims", "What the slides say of the two", "claim", &["holds"]);
    CLAIMS.iter().zip(held).for_each(|(claim, holds)| table.push(*claim, vec![Cell::holds(holds)]));
    table
}

/// A figure of each bin under static reconfiguration and under the Double Scheme, hosts queueing. Both runs have bins
/// of the same length or of twice that.
fn over_time(runs: &[SimulationReport], name: &str, title: &str, value: impl Fn(&BinReport) -> f64) -> ResultTable {
    let columns = [RUNS[0].0, RUNS[2].0];
    let mut table = ResultTable::new(format!("seed-001 {name}"), format!("{title}, over time"), "ms", &columns);
    table.over_time = true;
    let both = [&runs[0].series, &runs[2].series];
    let mut starts: Vec<u64> = both.iter().flat_map(|series| series.bins.iter().map(|bin| bin.start_ns)).collect();
    starts.sort_unstable();
    starts.dedup();
    for start_ns in starts {
        let at = both.map(|series| series.bins.iter().rfind(|bin| bin.start_ns <= start_ns && start_ns < bin.end_ns));
        let cells = at.map(|bin| Cell::open(None, bin.map_or(f64::NAN, &value), 1)).to_vec();
        table.push(format!("{:.3}", start_ns as f64 / 1e6), cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Phase;

    /// The counts rest on these.
    #[test]
    fn the_fabric_has_what_the_slides_state() {
        let fabric = fabric().unwrap();
        assert_eq!((fabric.switches().count(), fabric.end_ports().count(), fabric.links().count()), (16, 14, 37));
        let plan = scenario::plan(&scenario(&fabric, RUNS[2]), Arc::new(UpDown::default())).unwrap();
        let phases: Vec<Phase> = plan.plan().waves().iter().map(|wave| wave.phase).collect();
        assert_eq!(phases.first(), Some(&Phase::Split));
        assert_eq!(phases.last(), Some(&Phase::Restore));
    }
}
