//! The verdict of a run, in a sentence or two.

use super::super::compare::at_load;
use super::super::quantity::{count, counted, duration, percent};
use super::super::{cut_off, run};
use super::parts::capital;
use reconfig::plan::Scheme;
use reconfig::scenario::{AdversaryReport, Ending, EventReport, SimulationReport, is_saturated};
use reconfig::subnet::DeviceProfile;

/// The word that stands beside the sentence, and its class.
pub(super) fn word(report: &SimulationReport) -> (&'static str, &'static str) {
    let class = match (report.is_yes(), report.is_silent()) {
        (false, _) => "bad",
        (true, true) => "part",
        // It may end otherwise with another seed.
        (true, false) if report.proof.refusal.is_some() => "part",
        (true, false) => "good",
    };
    (run::word(report), class)
}

/// How the change ended, and what it lost.
pub(super) fn sentence(report: &SimulationReport) -> String {
    let took = report.change_ns().map_or_else(String::new, |ns| format!(" in {}", duration(ns)));
    let why = report.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let change_lost = report.packets.lost_to_change;
    let load = at_load(report);
    match report.outcome {
        // The refusal is the answer, and comes before what the run would have been.
        Ending::Completed if report.strands().is_some() => {
            let lost = match report.packets.lost_to_change {
                _ if !report.has_traffic() => format!("; {}", run::no_traffic(report)),
                0 => " and lose no packet".to_string(),
                lost => format!(" and lose {}{load}", counted(lost, "packet")),
            };
            format!("{} By itself the change would complete{took}{lost}.", cut_off::refused(report.cut_off()))
        }
        Ending::Completed if !report.has_traffic() => {
            let begins = match report.has_change() {
                true => format!("The change completed{took}."),
                false => "Nothing changed.".to_string(),
            };
            format!("{begins} {}, so nothing could be lost.", capital(run::no_traffic(report)))
        }
        Ending::Completed if !report.has_change() => {
            let refused = if run::is_refused(report) {
                " The routing is refused all the same: a deadlock is not excluded."
            } else {
                ""
            };
            match report.lost_in_all {
                0 => format!("Nothing changed, and nothing was lost.{refused}"),
                lost => format!("Nothing changed, and {} were discarded{load}.{refused}", counted(lost, "packet")),
            }
        }
        // Who reads only this sentence is to know of both.
        Ending::Completed if change_lost == 0 && report.packets.lost_to_failure > 0 => {
            let lost = counted(report.packets.lost_to_failure, "packet");
            let failure = failure(report);
            format!("The change completed{took} and itself lost no packet; {failure} cost {lost}{load}.")
        }
        Ending::Completed if change_lost == 0 => format!("The change completed{took} and lost no packet."),
        Ending::Completed => format!("The change completed{took}, but lost {}{load}.", counted(change_lost, "packet")),
        Ending::Deadlocked => {
            let cycle = report.deadlock.as_ref().map_or(0, Vec::len) as u64;
            let stuck = counted(report.packets.in_flight, "packet");
            let lost = match change_lost {
                0 => String::new(),
                lost => format!(" The change lost {}{load}.", counted(lost, "packet")),
            };
            // Who reads only this sentence must not take the run for ordinary traffic.
            let who = match report.adversary.as_ref().map(|own| own.schedule.is_some()) {
                None => "The subnet deadlocked",
                Some(true) => "Traffic and writes steered by the adversary deadlocked the subnet",
                Some(false) => "Under the adversary's random delays the subnet deadlocked",
            };
            format!("{who}: {cycle} packets wait for each other in a circle, and {stuck} are stuck.{lost}")
        }
        Ending::Aborted => format!("The change was called off{why}."),
        Ending::NotReached => format!("The adversary did not reach the deadlock that it aimed at{why}."),
    }
}

/// What the failure itself cost, and who is without connection.
pub(super) fn beside(report: &SimulationReport) -> Vec<String> {
    let steered = report.adversary.as_ref().map(|own| capital(adversary_did(own)));
    let mut told: Vec<String> = steered.into_iter().chain(events(report)).collect();
    let lost = report.packets.lost_to_failure;
    // The sentence may have told of it.
    let is_told = report.outcome == Ending::Completed && report.packets.lost_to_change == 0;
    if lost > 0 && report.has_change() && !is_told {
        let packets = counted(lost, "packet");
        let load = at_load(report);
        let failure = capital(&failure(report));
        told.push(format!("{failure} cost {packets}{load}: their way had died, and was not yet replaced."));
    }
    if let Some(outage) = report.outage.as_ref().filter(|outage| outage.pairs > 0) {
        let pairs = counted(outage.pairs as u64, "pair");
        let missing = [(outage.still_out, "are still out"), (outage.not_seen_again, "sent nothing more")];
        let missing = missing.into_iter().filter(|&(pairs, _)| pairs > 0);
        let missing: String = missing.map(|(pairs, what)| format!(", {} {what}", count(pairs as u64))).collect();
        told.push(match (missing.is_empty(), &outage.longest) {
            (true, Some(longest)) => {
                format!("{pairs} of end ports were out, the longest for {}; all are back.", duration(longest.ns))
            }
            _ => format!("{pairs} of end ports were out; {} of them are back{missing}.", count(outage.back as u64)),
        });
    }
    let cut_off = report.cut_off().len() as u64;
    match report.strands() {
        None if cut_off > 0 => told.push(format!("{} cut off for good.", has(cut_off))),
        None => {}
        Some(first) => told.push(cut_off::first_and_fix(report.cut_off(), first)),
    }
    if report.packets.stranded > 0 {
        let packets = counted(report.packets.stranded, "packet");
        told.push(format!(
            "{packets} were stranded: they came from end ports that left or are cut off, or were for them."
        ));
    }
    told.extend(saturated(report));
    told.extend(agents(report));
    told
}

/// What the adversary did to a run.
pub(super) fn adversary_did(own: &AdversaryReport) -> &'static str {
    match (own.kind, &own.schedule) {
        ("generic", _) => {
            "every MAD was delayed at random, and sources sent at their full rate unless --load was given."
        }
        (_, Some(_)) => {
            "who sends what when, and which write lands when, were chosen so as to close the cycle that the proof names."
        }
        (_, None) => {
            "no order of packets and writes was found that closes the cycle that the proof names, so nothing was sent."
        }
    }
}

/// What packets were lost to that no change of tables could have saved.
fn failure(report: &SimulationReport) -> String {
    match happened(report) {
        0 => "the failure".to_string(),
        later => format!("the {} events", count(later + 1)),
    }
}

/// How many events came after the first.
fn happened(report: &SimulationReport) -> u64 {
    report.events.iter().filter(|event| event.at_ns.is_some()).count() as u64
}

/// How many events there are, and what the later ones are.
fn events(report: &SimulationReport) -> Option<String> {
    const NAMED: usize = 4;
    let all = report.events.len();
    let name = |event: &EventReport| match event.at_ns {
        Some(at_ns) => format!("{} {} later", event.what, duration(at_ns.saturating_sub(report.event_ns))),
        None => format!("{}, which never happened: the run ended first", event.what),
    };
    let mut named: Vec<String> = report.events.iter().take(NAMED).map(name).collect();
    named.extend((all > NAMED).then(|| format!("{} more", count((all - NAMED) as u64))));
    (all > 0).then(|| format!("{} events: {}; {}.", count(all as u64 + 1), report.what, named.join("; ")))
}

/// That sources offered more than the subnet took before anything happened: what the change cost is then hard to tell
/// from what their queues hold. A note says by how much.
fn saturated(report: &SimulationReport) -> Option<String> {
    let delivered = percent(report.throughput.before);
    is_saturated(report.held_back.before, report.throughput.before, report.settings.load).then(|| {
        format!(
            "The subnet is saturated before anything happens: it delivers {delivered}, and queues and latencies depend \
             on the length of the run more than on the change."
        )
    })
}

/// That the change rests on devices that no product is yet.
fn agents(report: &SimulationReport) -> Option<String> {
    let settings = &report.settings;
    let drains = report.has_change() && report.scheme == Scheme::Double;
    (drains && settings.devices.profile == DeviceProfile::Agents).then(|| {
        format!(
            "This rests on devices with agents (drain by {}), which no product has yet; --devices standard shows the \
             change without them.",
            settings.drain
        )
    })
}

fn has(ports: u64) -> String {
    format!("{} {}", counted(ports, "end port"), if ports == 1 { "is" } else { "are" })
}
