//! Schemes side by side: one column a scheme.

use super::cut_off;
use super::quantity::{count, counted, duration, engine_pair, latency, percent, size_of};
use super::run;
use super::screen::line;
use comfy_table::{Cell, CellAlignment, Table, presets};
use reconfig::scenario::{Ending, OutageReport, SimulationReport, SubnetChange, TrafficReport, USUAL_LOAD};

/// A row: its name, and its value in each report.
pub(super) type Row = (&'static str, fn(&SimulationReport) -> String);

pub(super) const ROWS: [Row; 26] = [
    ("outcome", |r| run::word(r).to_string()),
    ("proof", |r| r.proof.status.to_string()),
    ("routing after", routing_after),
    ("change took", |r| r.change_ns().map_or("–".into(), duration)),
    ("SMPs", |r| unless_deadlocked(r, count(r.smps().total))),
    ("longest gap in delivery", |r| unless_deadlocked(r, duration(r.longest_gap_ns))),
    ("throughput before", |r| run::throughput(r, "before")),
    ("throughput during", |r| unless_deadlocked(r, run::throughput(r, "during"))),
    ("throughput after", |r| run::throughput(r, "after")),
    ("latency p50 before", |r| latency(r.latency_ns.before.p50)),
    ("latency p50 during", |r| unless_deadlocked(r, latency(r.latency_ns.during.p50))),
    ("latency p99 during", |r| unless_deadlocked(r, latency(r.latency_ns.during.p99))),
    ("latency max during", |r| unless_deadlocked(r, latency(r.latency_ns.during.max))),
    ("delivered", |r| unless_deadlocked(r, count(r.packets.delivered))),
    ("lost to failure", |r| at_least(r, r.packets.lost_to_failure)),
    ("lost to change", |r| at_least(r, r.packets.lost_to_change)),
    ("lost in all", |r| at_least(r, r.lost_in_all)),
    ("stranded", |r| at_least(r, r.packets.stranded)),
    ("hosts that move", |r| count(r.hosts_that_move as u64)),
    ("pairs that lost packets", |r| outage(r, |own| at_least(r, own.pairs as u64))),
    ("pairs back", |r| outage(r, |own| count(own.back as u64))),
    ("outage longest, of these", |r| {
        outage(r, |own| own.longest.as_ref().map_or("–".into(), |longest| unless_deadlocked(r, duration(longest.ns))))
    }),
    ("outage mean, of these", |r| {
        outage(r, |own| own.mean_ns.map_or("–".into(), |ns| unless_deadlocked(r, duration(ns))))
    }),
    ("pairs still out", |r| outage(r, |own| count(own.still_out as u64))),
    ("pairs that sent no more", |r| outage(r, |own| count(own.not_seen_again as u64))),
    ("pairs cut off for good", |r| outage(r, |own| count(own.cut_off as u64))),
];

/// A value of the change; a dash where a deadlock ended the run. What waits in its circle has no latency, and the gap
/// and the outages that it makes have no end, so what was measured before would pass for the best of all.
fn unless_deadlocked(report: &SimulationReport, value: String) -> String {
    if is_deadlocked(report) { "–".to_string() } else { value }
}

/// A count of what goes wrong, of which a run that a deadlock ended shows only a part.
fn at_least(report: &SimulationReport, number: u64) -> String {
    if is_deadlocked(report) { format!("≥ {}", count(number)) } else { count(number) }
}

fn is_deadlocked(report: &SimulationReport) -> bool {
    report.outcome == Ending::Deadlocked
}

/// What the marks of a run mean that a deadlock ended; none where none did.
pub(super) fn deadlocked(reports: &[SimulationReport]) -> Option<&'static str> {
    const MARKS: &str = "a deadlock ends its run: what it had reached by then is no figure to compare (–), and what it \
                         had lost is the least (≥)";
    reports.iter().any(is_deadlocked).then_some(MARKS)
}

/// A value of the outages; a dash where nothing changes.
fn outage(report: &SimulationReport, value: impl Fn(&OutageReport) -> String) -> String {
    report.outage.as_ref().map_or("–".into(), value)
}

/// What a column is headed.
pub(super) fn name(report: &SimulationReport) -> String {
    if report.auto { format!("auto: {}", report.scheme) } else { report.scheme.to_string() }
}

/// The load, where it is below the usual one: a count of packets says little without it.
pub(super) fn at_load(report: &SimulationReport) -> String {
    let settings = &report.settings;
    match settings.traffic {
        // Its load is its own.
        TrafficReport::Trace { .. } => String::new(),
        _ if settings.load < USUAL_LOAD => format!(" at a load of {}", percent(settings.load)),
        _ => String::new(),
    }
}

/// Which columns must not be compared as they stand.
pub(super) const OWN_TIMES: &str = "during is from the event until each scheme's own change is complete, and delivered is \
                                    in its own run; latency counts packets that arrived; while pairs are out, those \
                                    mostly have short ways";

/// What a scheme leads to that repairs.
const REPAIRED: &str = "repaired: entries that still lead somewhere stay, and the others spread over the ways that are \
                        left; figures after the change are due to that routing, and not to the scheme";

/// Whether what runs after the change is not what the engine makes.
fn repairs(report: &SimulationReport) -> bool {
    report.only_change().is_some_and(|change| change.repairs)
}

/// What runs after the change.
fn routing_after(report: &SimulationReport) -> String {
    match report.only_change() {
        Some(change) if change.repairs => "repaired".to_string(),
        Some(SubnetChange { root_after: Some(root), .. }) => format!("root {root}"),
        _ => report.engine_after.clone().unwrap_or_else(|| report.engine.clone()),
    }
}

/// Which scheme loses least, and what the others lose; none where there is nothing to compare.
pub(super) fn ranking(reports: &[SimulationReport]) -> Option<String> {
    let lost = |report: &SimulationReport| report.lost_in_all;
    let own = |report: &SimulationReport| if report.auto { "auto".to_string() } else { report.scheme.to_string() };
    let mut ran: Vec<&SimulationReport> = reports.iter().filter(|own| own.outcome == Ending::Completed).collect();
    // Of equals the first is the one that is chosen by itself.
    ran.sort_by_key(|report| lost(report));
    let first = *ran.first()?;
    // Runs are not equally long, so some may have sent packets and others not.
    if let Some(silent) = ran.iter().find(|report| !report.has_traffic()) {
        return Some(match ran.iter().any(|report| report.has_traffic()) {
            true => format!("no packet was sent by {}, so no scheme can be said to lose least", own(silent)),
            false => format!("{}, so no scheme could lose any", run::no_traffic(silent)),
        });
    }
    let (alike, others): (Vec<&SimulationReport>, Vec<&SimulationReport>) =
        ran[1..].iter().partition(|own| lost(own) == lost(first));
    let unproved = |report: &SimulationReport| if report.proof.refusal.is_some() { ", not proved" } else { "" };
    let as_others = match &alike.iter().map(|report| own(report) + unproved(report)).collect::<Vec<_>>()[..] {
        [] => String::new(),
        [last] => format!(", as {last}"),
        [names @ .., last] => format!(", as {} and {last}", names.join(", ")),
    };
    let packets = match lost(first) {
        0 => "no packet".to_string(),
        lost => counted(lost, "packet") + &at_load(first),
    };
    let least = format!("{} loses least ({packets}{as_others}{})", own(first), unproved(first));
    let more = others.iter().map(|report| format!("{} {}{}", own(report), count(lost(report)), unproved(report)));
    let failed = reports.iter().filter(|report| report.outcome != Ending::Completed);
    let failed = failed.map(|report| format!("{} {}", own(report), run::ending(report.outcome).to_lowercase()));
    let rest: Vec<String> = more.chain(failed).collect();
    Some(if rest.is_empty() { least } else { format!("{least}; {}", rest.join(", ")) })
}

/// What was compared, and on what.
fn head(text: &mut String, report: &SimulationReport, schemes: usize) {
    let (size, settings) = (report.fabric, &report.settings);
    let schemes = counted(schemes as u64, "scheme");
    line(text, format_args!("{} ({}), {schemes}", report.what, report.departure));
    line(text, format_args!("fabric   {}", size_of(size.switches, (size.cas, "CA"), size.links)));
    line(text, format_args!("routing  {}", engine_pair(&report.engine, report.engine_after.as_deref())));
    let load = match settings.traffic {
        TrafficReport::Trace { packets } => format!("a trace of {}", counted(packets as u64, "packet")),
        _ => format!("load {}", percent(settings.load)),
    };
    line(text, format_args!("traffic  {load}; seed {}\n", report.seed));
}

/// The table of a comparison, and under it what needs a sentence.
pub fn comparison(reports: &[SimulationReport]) -> String {
    let mut text = String::new();
    if let Some(first) = reports.first() {
        head(&mut text, first, reports.len());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let schemes = reports.iter().map(|report| right(name(report)));
    table.set_header([Cell::new("")].into_iter().chain(schemes));
    for (name, value) in ROWS {
        table.add_row([Cell::new(name)].into_iter().chain(reports.iter().map(|report| right(value(report)))));
    }
    table.to_string().lines().for_each(|row| line(&mut text, format_args!("{}", row.trim_end())));
    line(&mut text, format_args!("\n{OWN_TIMES}"));
    if let Some(marks) = deadlocked(reports) {
        line(&mut text, format_args!("{marks}"));
    }
    if reports.iter().any(repairs) {
        line(&mut text, format_args!("{REPAIRED}"));
    }
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
    // Where hosts would be cut off, the refusal is the answer.
    let is_refused = reports.first().is_some_and(|report| report.strands().is_some());
    if let Some(ranking) = ranking(reports).filter(|_| !is_refused) {
        line(&mut text, format_args!("\n{ranking}"));
    }
    text
}
