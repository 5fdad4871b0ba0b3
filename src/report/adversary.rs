//! What the adversary did, step by step.

use super::quantity::{count, duration};
use super::screen::line;
use reconfig::scenario::AdversaryReport;
use reconfig::scenario::adversary::{Role, Schedule, StepAction};

/// The adversary's part of a report.
pub fn adversary(text: &mut String, report: &AdversaryReport) {
    match report.reached {
        None => line(text, format_args!("adversary: {}; saturated traffic, every MAD late\n", report.kind)),
        Some(true) => line(text, format_args!("adversary: {}; reached, on the very lanes\n", report.kind)),
        Some(false) => line(text, format_args!("adversary: {}; not reached\n", report.kind)),
    }
    if let Some(schedule) = &report.schedule {
        ways(text, schedule);
        steps(text, schedule);
    }
}

fn ways(text: &mut String, schedule: &Schedule) {
    line(text, format_args!("packets that are to wait for each other in wave {}, and their ways:", schedule.wave));
    for (lane, way) in schedule.packets.iter().enumerate() {
        for (nth, part) in way.to_string().lines().enumerate() {
            match nth {
                0 => line(text, format_args!("  {lane}: {part}")),
                _ => line(text, format_args!("   {part}")),
            }
        }
    }
    text.push('\n');
}

fn steps(text: &mut String, schedule: &Schedule) {
    for step in &schedule.steps {
        let action = match &step.what {
            StepAction::Death => "the element fails".to_string(),
            StepAction::Write { device, what, .. } => format!("a late Set lands: {device}, {what}"),
            StepAction::Park { lane, at, behind: None } => format!("packet {lane} takes its place: {at}"),
            StepAction::Park { lane, at, behind: Some(host) } => {
                format!("packet {lane} takes its place: {at}, behind packets to {host}, whose link is kept busy")
            }
        };
        line(text, format_args!("  {:>8}  {action}", duration(step.at_ns)));
    }
    let sent = |role: Role| {
        let trains = schedule.trains.iter().filter(|train| train.role == role);
        count(trains.map(|train| u64::from(train.count)).sum())
    };
    let [waits, holds, busy] = [Role::Waits, Role::Holds, Role::KeepsBusy].map(sent);
    line(text, format_args!("sent: {waits} to wait, {holds} to hold them, {busy} to keep links busy\n"));
}
