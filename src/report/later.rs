//! What happened in a run after its first event, in words that the screen and the page share.

use super::quantity::{counted, duration};
use reconfig::scenario::{EventReport, SimulationReport, TakeoverReport};

/// When a later event happened, counted from the first one, and what the manager was doing.
pub(super) fn when(report: &SimulationReport, event: &EventReport) -> String {
    let (Some(at_ns), Some(state)) = (event.at_ns, event.during) else {
        return "never: the run ended first".to_string();
    };
    let after = duration(at_ns.saturating_sub(report.event_ns));
    match state {
        "steady" => format!("{after} after, before the manager acts"),
        "completed" => format!("{after} after, when a change is complete"),
        _ => format!("{after} after, while {state}"),
    }
}

/// Who took over, and how it went, a line each; nothing where nobody did.
pub(super) fn takeover(report: &SimulationReport) -> Vec<String> {
    let Some(takeover) = &report.takeover else { return Vec::new() };
    let TakeoverReport { standby, lost_ns, began_ns, up_ns, arrival, changes, .. } = takeover;
    let [began, up] =
        [Some(*began_ns), *up_ns].map(|ns| ns.map(|ns| duration(ns.saturating_sub(*lost_ns))).unwrap_or_default());
    let first = match arrival {
        Some(arrival) => {
            let proved = changes.iter().filter(|change| change.proved).count();
            let made = match (changes.len(), proved) {
                (0, _) => "no change was needed".to_string(),
                (all, proved) if all == proved => format!("{}, all proved", counted(all as u64, "change")),
                (all, proved) => format!("{}, {proved} of them proved", counted(all as u64, "change")),
            };
            format!("{standby} began {began} after the loss of the manager; {arrival} after {up}; {made}")
        }
        None => format!("{standby} began {began} after the loss of the manager, and has not taken over"),
    };
    let why = takeover.why.iter().map(|why| format!("because {why}"));
    let failed = takeover.failures.iter().map(|why| format!("failed: {why}"));
    std::iter::once(first).chain(why).chain(failed).collect()
}
