//! The verdict of a run, in a sentence or two.

use super::super::quantity::{count, counted, duration};
use reconfig::scenario::{Ending, SimulationReport};

/// The word that stands beside the sentence, and its class.
pub(super) fn word(report: &SimulationReport) -> (&'static str, &'static str) {
    match (report.outcome, report.is_yes()) {
        (Ending::Deadlocked, _) => ("deadlocked", "bad"),
        (Ending::Aborted, _) => ("aborted", "bad"),
        (Ending::NotReached, _) => ("not reached", "bad"),
        (Ending::Completed, true) => ("completed", "good"),
        (Ending::Completed, false) if report.strands().is_some() => ("cuts hosts off", "bad"),
        (Ending::Completed, false) => ("completed with losses", "bad"),
    }
}

/// How the change ended, and what it lost.
pub(super) fn sentence(report: &SimulationReport) -> String {
    let took = report.change_ns.or_else(|| report.changes.iter().map(|change| change.change_ns).max());
    let took = took.map_or_else(String::new, |ns| format!(" in {}", duration(ns)));
    let why = report.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    match report.outcome {
        Ending::Completed if !report.has_change() => match report.lost_in_all {
            0 => "Nothing changed, and nothing was lost.".to_string(),
            lost => format!("Nothing changed, and {} were discarded.", counted(lost, "packet")),
        },
        Ending::Completed => format!("The change completed{took}; {}.", losses(report)),
        Ending::Deadlocked => {
            let cycle = report.deadlock.as_ref().map_or(0, Vec::len) as u64;
            let stuck = counted(report.packets.in_flight, "packet");
            let lost = if report.lost_in_all > 0 { format!("; {}", losses(report)) } else { String::new() };
            format!(
                "The subnet deadlocked: {cycle} packets wait for each other in a circle, and {stuck} are stuck{lost}."
            )
        }
        Ending::Aborted => format!("The change was called off{why}."),
        Ending::NotReached => format!("The adversary did not reach the deadlock that it aimed at{why}."),
    }
}

/// What was lost, and to what.
fn losses(report: &SimulationReport) -> String {
    let (failure, change) = (report.packets.lost_to_failure, report.packets.lost_to_change);
    match (failure, change) {
        (0, 0) => "no packet was lost".to_string(),
        (0, change) => format!("{} lost to it", were(change)),
        (failure, 0) => format!("{} lost to the failure, none to the change", were(failure)),
        (failure, change) => format!("{} lost to the failure and {} to the change", were(failure), count(change)),
    }
}

fn were(packets: u64) -> String {
    format!("{} {}", counted(packets, "packet"), if packets == 1 { "was" } else { "were" })
}

/// What the losses mean, and who is without connection.
pub(super) fn beside(report: &SimulationReport) -> Vec<String> {
    let mut told = Vec::new();
    let lost = report.packets.lost_to_failure;
    if lost > 0 && report.has_change() {
        told.push("Packets are lost to the failure whose way had died and was not yet replaced.".to_string());
    }
    if let Some(outage) = report.outage.as_ref().filter(|outage| outage.pairs > 0) {
        let mut ends = Vec::new();
        match &outage.longest {
            Some(longest) if outage.back == outage.pairs => {
                ends.push(format!("all are back, the longest after {}", duration(longest.ns)));
            }
            Some(longest) => {
                let back = count(outage.back as u64);
                ends.push(format!("{back} are back, the longest after {}", duration(longest.ns)));
            }
            None => ends.push("none is back".to_string()),
        }
        if outage.still_out > 0 {
            ends.push(format!("{} are still out", count(outage.still_out as u64)));
        }
        if outage.not_seen_again > 0 {
            let unseen = counted(outage.not_seen_again as u64, "pair");
            ends.push(format!("{unseen} sent nothing again before the run ended"));
        }
        told.push(format!("{} of end ports were out: {}.", counted(outage.pairs as u64, "pair"), ends.join(", ")));
    }
    let cut_off = report.change.cut_off.len() as u64;
    if cut_off > 0 {
        let meant = if report.strands().is_some() { ", and nobody said that this is meant" } else { "" };
        told.push(format!("{} cut off for good{meant}.", has(cut_off)));
    }
    if report.packets.stranded > 0 {
        let packets = counted(report.packets.stranded, "packet");
        told.push(format!("{packets} from or to end ports that left or are cut off were stranded."));
    }
    told
}

fn has(ports: u64) -> String {
    format!("{} {}", counted(ports, "end port"), if ports == 1 { "is" } else { "are" })
}
