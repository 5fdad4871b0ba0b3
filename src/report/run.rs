//! What reports of simulated runs share: phases, fates of packets, how a run ended.

use super::quantity::{count, duration};
use super::screen::{number, show, table};
use crate::scenario::{Ending, PhaseReport};
use crate::sim::PacketCounts;
use comfy_table::Cell;

/// The phases of a change, with their times and datagrams.
pub(super) fn phases<'a>(text: &mut String, phases: impl Iterator<Item = &'a PhaseReport>) {
    let mut rows = table();
    rows.set_header(vec![Cell::new("phase"), number("from"), number("to"), number("took"), number("SMPs")]);
    for phase in phases {
        let took = phase.end_ns.saturating_sub(phase.start_ns);
        let times = [phase.start_ns, phase.end_ns, took].map(|ns| number(duration(ns)));
        rows.add_row([Cell::new(&phase.name)].into_iter().chain(times).chain([number(count(phase.smps))]));
    }
    show(text, &rows);
}

/// What became of every packet.
pub(super) fn fates(text: &mut String, packets: &PacketCounts) {
    let rows = [
        ("injected", packets.injected),
        ("delivered", packets.delivered),
        ("in flight", packets.in_flight),
        ("stranded", packets.stranded),
        ("lost to failure", packets.lost_to_failure),
        ("lost to change", packets.lost_to_change),
    ];
    let mut table = table();
    table.set_header(rows.map(|(name, _)| number(name)));
    table.add_row(rows.map(|(_, packets)| number(count(packets))));
    show(text, &table);
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

/// What the change lost, or what is stuck.
pub(super) fn lost(outcome: Ending, packets: &PacketCounts) -> String {
    match packets.lost_to_change {
        0 if outcome == Ending::Deadlocked => format!("{} packets stuck", count(packets.in_flight)),
        0 => "nothing lost to the change".to_string(),
        lost => format!("{} packets lost to the change", count(lost)),
    }
}
