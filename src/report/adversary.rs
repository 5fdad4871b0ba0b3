//! What the adversary did, step by step.

use super::quantity::{count, duration};
use super::screen::line;
use reconfig::scenario::AdversaryReport;
use reconfig::scenario::adversary::{Role, Schedule, StepAction};

/// The adversary's part of a report.
pub fn adversary(text: &mut String, report: &AdversaryReport) {
    line(text, format_args!("adversary: {}\n", how(report)));
    if let Some(schedule) = &report.schedule {
        ways(text, schedule);
        steps(text, schedule);
    }
}

/// Its kind, and how far it came.
pub(super) fn how(report: &AdversaryReport) -> String {
    let came = match report.reached {
        None => "saturated traffic, every MAD late",
        Some(true) => "reached, on the very lanes",
        Some(false) => "not reached",
    };
    format!("{}; {came}", report.kind)
}

fn ways(text: &mut String, schedule: &Schedule) {
    line(text, format_args!("packets that are to wait for each other in wave {}, and their ways:", schedule.wave));
    ways_of(schedule).for_each(|own| line(text, format_args!("{own}")));
    text.push('\n');
}

/// The packets of the circle with their ways, line by line.
pub(super) fn ways_of(schedule: &Schedule) -> impl Iterator<Item = String> {
    schedule.packets.iter().enumerate().flat_map(|(lane, way)| {
        let way = way.to_string();
        let told = |(nth, part): (usize, &str)| match nth {
            0 => format!("  {lane}: {part}"),
            _ => format!("   {part}"),
        };
        way.lines().enumerate().map(told).collect::<Vec<_>>()
    })
}

fn steps(text: &mut String, schedule: &Schedule) {
    for step in &schedule.steps {
        line(text, format_args!("  {:>8}  {}", duration(step.at_ns), action(&step.what)));
    }
    line(text, format_args!("{}\n", sent(schedule)));
}

/// What a step does.
pub(super) fn action(step: &StepAction) -> String {
    match step {
        StepAction::Death => "the element fails".to_string(),
        StepAction::Write { device, what, .. } => format!("a late Set lands: {device}, {what}"),
        StepAction::Park { lane, at, behind: None } => format!("packet {lane} takes its place: {at}"),
        StepAction::Park { lane, at, behind: Some(host) } => {
            format!("packet {lane} takes its place: {at}, behind packets to {host}, whose link is kept busy")
        }
    }
}

/// How many packets were sent, and what for.
pub(super) fn sent(schedule: &Schedule) -> String {
    let sent = |role: Role| {
        let trains = schedule.trains.iter().filter(|train| train.role == role);
        count(trains.map(|train| u64::from(train.count)).sum())
    };
    let [waits, holds, busy] = [Role::Waits, Role::Holds, Role::KeepsBusy].map(sent);
    format!("sent: {waits} to wait, {holds} to hold them, {busy} to keep links busy")
}
