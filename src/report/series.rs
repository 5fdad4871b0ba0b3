//! The course of a run as tables for programs: one CSV file for each kind of row. docs/SIMULATOR.md, *Time series*,
//! defines the columns.

use super::unfinished::UnfinishedChange;
use reconfig::scenario::{
    BinReport, BusyLink, HostLosses, LinkLoads, Periods, PhaseReport, RenumberedPort, SimulationReport,
};

/// A file's name and its content.
pub type CsvFile = (&'static str, String);

/// What a folder of a run may hold.
pub const RUN_FILES: [&str; 7] =
    ["series.csv", "smps.csv", "phases.csv", "hosts.csv", "links.csv", "lids.csv", "run.json"];

/// The files of a run: `series.csv`, `smps.csv`, `phases.csv`, `hosts.csv` `links.csv`, of the
/// loads of every link, and `lids.csv`, of ports with other LIDs than in the capture.
///
/// # Errors
/// A row cannot be written.
pub fn run_csv(report: &SimulationReport, loads: &Periods<LinkLoads>) -> Result<Vec<CsvFile>, anyhow::Error> {
    let bins = &report.series.bins;
    Ok(vec![
        ("series.csv", table(&SERIES, bins.iter().map(bin))?),
        ("smps.csv", table(&SMPS, bins.iter().flat_map(smps))?),
        ("phases.csv", table(&PHASES, phases(report))?),
        ("hosts.csv", table(&HOSTS, report.hosts.iter().map(host))?),
        ("links.csv", table(&LINKS, links(loads))?),
        ("lids.csv", table(&LIDS, report.renumbered.iter().map(renumbered))?),
    ])
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<String, anyhow::Error> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(header)?;
    rows.into_iter().try_for_each(|row| table.write_record(row))?;
    Ok(String::from_utf8(table.into_inner()?)?)
}

/// The columns of `series.csv`.
pub(super) const SERIES: [&str; 15] = [
    "start_ns",
    "end_ns",
    "delivered_packets",
    "delivered_bytes",
    "throughput_gbps",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "lost_to_failure_packets",
    "lost_to_change_packets",
    "stranded_packets",
    "under_way_a_packets",
    "under_way_b_packets",
    "pairs_out",
    "pairs_not_seen_again",
];

/// A row of `series.csv`; a latency of nothing is an empty field.
pub(super) fn bin(bin: &BinReport) -> Vec<String> {
    let some = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let [a, b] = bin.under_way;
    vec![
        bin.start_ns.to_string(),
        bin.end_ns.to_string(),
        bin.delivered.to_string(),
        bin.bytes.to_string(),
        format!("{:.3}", bin.throughput_gbps()),
        some(bin.latency_p50_ns),
        some(bin.latency_p99_ns),
        some(bin.latency_max_ns),
        bin.lost_to_failure.to_string(),
        bin.lost_to_change.to_string(),
        bin.stranded.to_string(),
        a.to_string(),
        b.to_string(),
        bin.pairs_out.to_string(),
        bin.pairs_not_seen_again.to_string(),
    ]
}

const SMPS: [&str; 4] = ["start_ns", "end_ns", "smp", "count"];

fn smps(bin: &BinReport) -> impl Iterator<Item = Vec<String>> {
    let (start, end) = (bin.start_ns, bin.end_ns);
    bin.smps.iter().map(move |(name, count)| vec![start.to_string(), end.to_string(), name.clone(), count.to_string()])
}

const PHASES: [&str; 5] = ["subnet", "phase", "start_ns", "end_ns", "smps"];

fn phases(report: &SimulationReport) -> impl Iterator<Item = Vec<String>> {
    let done = report.changes.iter().flat_map(|change| change.sweep_and_phases().map(|own| phase(&change.subnet, own)));
    // Of several subnets the series does not show in which of them writes began.
    let subnet = report.only_change().map_or("", |change| &change.subnet);
    let unfinished = UnfinishedChange::of(report).map_or_else(Vec::new, UnfinishedChange::phases);
    let unfinished: Vec<_> = unfinished.iter().map(|own| phase(subnet, own)).collect();
    done.chain(unfinished)
}

fn phase(subnet: &str, own: &PhaseReport) -> Vec<String> {
    let numbers = [own.start_ns, own.end_ns, own.smps].map(|number| number.to_string());
    [subnet.to_string(), own.name.clone()].into_iter().chain(numbers).collect()
}

const HOSTS: [&str; 9] = [
    "end_port",
    "lost_sent_packets",
    "lost_received_packets",
    "pairs",
    "pairs_not_back",
    "longest_outage_ns",
    "stranded_packets",
    "pairs_cut_off",
    "pairs_not_seen_again",
];

fn host(host: &HostLosses) -> Vec<String> {
    let longest = host.longest_ns.map_or_else(String::new, |ns| ns.to_string());
    let numbers = [host.lost_sent, host.lost_received, host.pairs, host.not_back].map(|number| number.to_string());
    let cut_off = [host.stranded, host.cut_off, host.not_seen_again].map(|number| number.to_string());
    [host.name.clone()].into_iter().chain(numbers).chain([longest]).chain(cut_off).collect()
}

const LINKS: [&str; 5] = ["period", "from", "to", "bytes", "load"];

fn links(loads: &Periods<LinkLoads>) -> impl Iterator<Item = Vec<String>> {
    let periods = [("before", &loads.before), ("during", &loads.during), ("after", &loads.after)];
    let row = |period: &str, link: &BusyLink| {
        vec![period.into(), link.from.clone(), link.to.clone(), link.bytes.to_string(), format!("{:.6}", link.load)]
    };
    periods.into_iter().flat_map(move |(period, loads)| loads.busiest.iter().map(move |link| row(period, link)))
}

const LIDS: [&str; 6] = ["port", "guid", "captured_lid", "captured_lmc", "lid", "lmc"];

fn renumbered(port: &RenumberedPort) -> Vec<String> {
    let guid = port.guid.map_or_else(String::new, |guid| guid.to_string());
    let lids = port.lids.iter().flat_map(|(lid, lmc)| [lid.to_string(), lmc.to_string()]);
    [port.name.clone(), guid].into_iter().chain(lids).collect()
}
