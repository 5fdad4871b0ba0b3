//! Schemes side by side: one column a scheme.

use super::cut_off;
use super::quantity::{count, duration, latency, percent};
use comfy_table::{Cell, CellAlignment, Table, presets};
use reconfig::scenario::{Ending, OutageReport, SimulationReport};

/// A row: its name, and its value in each report.
pub(super) type Row = (&'static str, fn(&SimulationReport) -> String);

pub(super) const ROWS: [Row; 24] = [
    ("outcome", |r| format!("{:?}", r.outcome).to_lowercase()),
    ("proof", |r| r.proof.status.to_string()),
    ("change took", |r| r.change_ns().map_or("–".into(), duration)),
    ("SMPs", |r| count(r.smps().total)),
    ("longest gap in delivery", |r| duration(r.longest_gap_ns)),
    ("throughput before", |r| throughput(r, "before")),
    ("throughput during", |r| throughput(r, "during")),
    ("throughput after", |r| throughput(r, "after")),
    ("latency p50 before", |r| latency(r.latency_ns.before.p50)),
    ("latency p50 during", |r| latency(r.latency_ns.during.p50)),
    ("latency p99 during", |r| latency(r.latency_ns.during.p99)),
    ("latency max during", |r| latency(r.latency_ns.during.max)),
    ("delivered", |r| count(r.packets.delivered)),
    ("lost to failure", |r| count(r.packets.lost_to_failure)),
    ("lost to change", |r| count(r.packets.lost_to_change)),
    ("lost in all", |r| count(r.lost_in_all)),
    ("stranded", |r| count(r.packets.stranded)),
    ("hosts that move", |r| count(r.hosts_that_move as u64)),
    ("pairs that lost packets", |r| outage(r, |own| count(own.pairs as u64))),
    ("outage longest", |r| outage(r, |own| own.longest.as_ref().map_or("–".into(), |longest| duration(longest.ns)))),
    ("outage mean", |r| outage(r, |own| own.mean_ns.map_or("–".into(), duration))),
    ("pairs still out", |r| outage(r, |own| count(own.still_out as u64))),
    ("pairs that sent no more", |r| outage(r, |own| count(own.not_seen_again as u64))),
    ("pairs cut off for good", |r| outage(r, |own| count(own.cut_off as u64))),
];

/// The throughput in a period; a dash for one that the run did not reach.
pub(super) fn throughput(report: &SimulationReport, period: &str) -> String {
    let (marks, through) = (report.series.marks, report.throughput);
    let (was, share) = match period {
        "before" => (marks.during_ns.is_none_or(|ns| ns > marks.before_ns), through.before),
        "during" => (marks.during_ns.is_some(), through.during),
        _ => (marks.after_ns.is_some(), through.after),
    };
    if was { percent(share) } else { "–".to_string() }
}

/// A value of the outages; a dash where nothing changes.
fn outage(report: &SimulationReport, value: impl Fn(&OutageReport) -> String) -> String {
    report.outage.as_ref().map_or("–".into(), value)
}

/// What a column is headed.
pub(super) fn name(report: &SimulationReport) -> String {
    if report.auto { format!("auto: {}", report.scheme) } else { report.scheme.to_string() }
}

/// The table of a comparison, and under it what needs a sentence.
pub fn comparison(reports: &[SimulationReport]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let schemes = reports.iter().map(|report| right(name(report)));
    table.set_header([Cell::new("")].into_iter().chain(schemes));
    for (name, value) in ROWS {
        table.add_row([Cell::new(name)].into_iter().chain(reports.iter().map(|report| right(value(report)))));
    }
    let mut text: String = table.to_string().lines().map(|row| format!("{}\n", row.trim_end())).collect();
    // The element is the same for every scheme, and so is who is cut off.
    if let Some(report) = reports.first().filter(|report| !report.cut_off().is_empty()) {
        text.push('\n');
        cut_off::cut_off(&mut text, &report.cut_off());
        if let Some(first) = report.strands() {
            cut_off::refusal(&mut text, &report.cut_off(), first);
        }
    }
    for report in reports {
        if let Some(refusal) = &report.proof.refusal {
            text += &format!("\n{}: the plan was refused, and run as a baseline: {refusal}\n", name(report));
        }
        if report.outcome != Ending::Completed {
            let reason = report.reason.as_deref().unwrap_or("see the report of this scheme alone");
            text += &format!("\n{}: {reason}\n", name(report));
        }
    }
    text
}
