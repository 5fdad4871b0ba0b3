//! Common parts of reports of simulated runs: phases, fates of packets, how a run ended.

use super::quantity::{count, counted, duration, latency, percent, repaired, root_pair};
use super::screen::{number, show, table};
use comfy_table::Cell;
use reconfig::scenario::{Ending, Latency, Periods, PhaseReport, SimulationReport, SubnetChange};
use reconfig::sim::PacketCounts;

/// The scheme, and whether it was chosen.
pub(super) fn scheme(report: &SimulationReport) -> String {
    format!("scheme {}{}", report.scheme, if report.auto { " (auto)" } else { "" })
}

/// The roots before and after a change, if the routing has any.
pub(super) fn roots(change: &SubnetChange) -> String {
    root_pair(change.root_before.as_deref(), change.root_after.as_deref()) + repaired(change.repairs)
}

/// What passed and was sent outside of the phases of a change, such as until the loss was noticed or while the plan was
/// computed, and the sums of all, each with its nanoseconds and SMPs; none of a change that did not end.
pub(super) fn sums(change: &SubnetChange) -> Option<[(&'static str, u64, u64); 2]> {
    let (all_ns, all) = (change.change_ns?, change.smps.total);
    let took_ns: u64 = change.sweep_and_phases().map(took_ns).sum();
    let sent: u64 = change.sweep_and_phases().map(|phase| phase.smps).sum();
    Some([("outside them", all_ns.saturating_sub(took_ns), all.saturating_sub(sent)), ("in all", all_ns, all)])
}

fn took_ns(phase: &PhaseReport) -> u64 {
    phase.end_ns.saturating_sub(phase.start_ns)
}

/// The phases of a change, with their times and datagrams, and what is outside of them; nothing where none was passed.
pub(super) fn phases(text: &mut String, change: &SubnetChange) {
    let mut phases = change.sweep_and_phases().peekable();
    if phases.peek().is_none() {
        return;
    }
    let mut rows = table();
    rows.set_header(vec![Cell::new("phase"), number("from"), number("to"), number("took"), number("SMPs")]);
    for phase in phases {
        let times = [phase.start_ns, phase.end_ns, took_ns(phase)].map(|ns| number(duration(ns)));
        rows.add_row([Cell::new(&phase.name)].into_iter().chain(times).chain([number(count(phase.smps))]));
    }
    for (name, ns, smps) in sums(change).into_iter().flatten() {
        let none = || Cell::new("");
        rows.add_row([Cell::new(name), none(), none(), number(duration(ns)), number(count(smps))]);
    }
    show(text, &rows);
}

/// Latency and throughput of all packets, by period; where nothing changes there is no period *during*.
pub(super) fn traffic(text: &mut String, report: &SimulationReport) {
    let mut rows = table();
    let header = ["latency p50", "p99", "max", "throughput"].map(number);
    rows.set_header([Cell::new("")].into_iter().chain(header));
    let Periods { before, during, after } = report.latency_ns;
    let periods: [(&str, Latency); 3] = [("before", before), ("during", during), ("after", after)];
    for (name, own) in periods.into_iter().filter(|(name, _)| report.has_change() || *name != "during") {
        let cells = [own.p50, own.p99, own.max].map(|ns| number(latency(ns)));
        rows.add_row([Cell::new(name)].into_iter().chain(cells).chain([number(throughput(report, name))]));
    }
    show(text, &rows);
}

/// What became of every packet.
pub(super) fn fates(text: &mut String, packets: &PacketCounts) {
    let lost = [("lost to failure", packets.lost_to_failure), ("lost to change", packets.lost_to_change)];
    fates_of(text, packets, &lost);
}

/// The fate of every packet if nothing changes, so that nothing is lost to a change.
pub(super) fn fates_of_rest(text: &mut String, packets: &PacketCounts) {
    fates_of(text, packets, &[("discarded", discarded(packets))]);
}

/// Packets that are lost where nothing changes.
pub(super) fn discarded(packets: &PacketCounts) -> u64 {
    packets.lost_to_failure + packets.lost_to_change
}

fn fates_of(text: &mut String, packets: &PacketCounts, lost: &[(&str, u64)]) {
    let PacketCounts { injected, delivered, in_flight, stranded, .. } = *packets;
    let kept = [("injected", injected), ("delivered", delivered), ("in flight", in_flight), ("stranded", stranded)];
    let columns = || kept.iter().chain(lost);
    let mut table = table();
    table.set_header(columns().map(|(name, _)| number(name)));
    table.add_row(columns().map(|&(_, packets)| number(count(packets))));
    show(text, &table);
}

/// What switches discarded for its age, and the deadlocks that this broke.
pub(super) fn ages(discards: u64, broken: u64) -> Option<String> {
    let (packets, broke) = (counted(discards, "packet"), broke(broken));
    (discards > 0).then(|| format!("lifetime limits discarded {packets}, among the lost or stranded{broke}"))
}

/// The deadlocks that discarding broke, behind what was discarded.
pub(super) fn broke(deadlocks: u64) -> String {
    if deadlocks > 0 { format!("; that broke {}", counted(deadlocks, "deadlock")) } else { String::new() }
}

/// How a run ended, in a word.
pub(super) fn ending(outcome: Ending) -> &'static str {
    match outcome {
        Ending::Completed => "completed",
        Ending::Deadlocked => "DEADLOCKED",
        Ending::Aborted => "aborted",
        Ending::NotReached => "NOT REACHED",
    }
}

/// How a run ended and what came of it, in a word or three: what a comparison and a page call it.
pub(super) fn word(report: &SimulationReport) -> &'static str {
    match (report.outcome, report.is_yes()) {
        (Ending::Deadlocked, _) => "deadlocked",
        (Ending::Aborted, _) => "aborted",
        (Ending::NotReached, _) => "not reached",
        (Ending::Completed, true) if report.is_silent() => "nothing sent",
        (Ending::Completed, true) if report.proof.refusal.is_some() => "completed, not proved",
        (Ending::Completed, true) => "completed",
        (Ending::Completed, false) if report.strands().is_some() => "cuts hosts off",
        (Ending::Completed, false) if is_refused(report) => "not proved",
        (Ending::Completed, false) => "completed with losses",
    }
}

/// Whether nothing was lost, and only the proof says no.
pub(super) fn is_refused(report: &SimulationReport) -> bool {
    report.proof.refusal.is_some() && report.lost_in_all == 0 && !report.has_change()
}

/// What the change lost and what was lost in all, or what is stuck.
pub(super) fn lost(outcome: Ending, packets: &PacketCounts) -> String {
    let stranded = match packets.stranded {
        0 => String::new(),
        stranded => format!(", {} stranded", counted(stranded, "packet")),
    };
    let lost = match (packets.lost_to_change, packets.lost()) {
        (0, _) if outcome == Ending::Deadlocked => format!("{} stuck", counted(packets.in_flight, "packet")),
        (0, 0) if packets.stranded > 0 => "nothing lost to the change".to_string(),
        (0, 0) => "nothing lost to the change, nothing in all".to_string(),
        (0, all) => format!("nothing lost to the change, {} in all", counted(all, "packet")),
        (lost, all) => format!("{} lost to the change, {} in all", counted(lost, "packet"), count(all)),
    };
    lost + &stranded
}

/// Why nothing could be lost, where no packet was sent.
pub(super) fn no_traffic(report: &SimulationReport) -> &'static str {
    if report.is_silent() { "no packet was sent" } else { "no traffic was simulated" }
}

/// The throughput in a period; a dash for one that took no time.
pub(super) fn throughput(report: &SimulationReport, period: &str) -> String {
    let (had, through) = (report.periods_had(), report.throughput);
    let (was, share) = match period {
        "before" => (had.before, through.before),
        "during" => (had.during, through.during),
        _ => (had.after, through.after),
    };
    if was { percent(share) } else { "–".to_string() }
}
