//! A running manager, its events, and what became of a change, as people read them.

use super::quantity::{count, duration};
use super::screen::{line, number, show, some, table};
use crate::sm::control::{ChangeDone, Event, Happening, NodeName, Status};

/// A screen about a running manager.
pub fn manager_status(status: &Status) -> String {
    let mut text = String::new();
    let port = &status.port;
    line(
        &mut text,
        format_args!(
            "{} since {}, {} port {} (GUID {}, LID {}), priority {}",
            status.role,
            duration(status.uptime_ns),
            port.adapter,
            port.port,
            port.guid,
            port.lid,
            port.priority
        ),
    );
    if let Some(master) = &status.master {
        line(
            &mut text,
            format_args!("the master is {} at LID {}, priority {}", master.guid, master.lid, master.priority),
        );
    }
    let up = if status.subnet_up { "up" } else { "NOT up" };
    let fabric = &status.fabric;
    line(
        &mut text,
        format_args!(
            "the subnet is {up}: {} switches, {} CAs, {} links",
            count(fabric.switches),
            count(fabric.cas),
            count(fabric.links)
        ),
    );
    text.push('\n');
    show(&mut text, &facts(status));
    show(&mut text, &smps(status));
    if let Some(done) = &status.last_change {
        line(&mut text, format_args!("The last change:"));
        text += &change_done(done);
    }
    for notice in &status.notices {
        line(&mut text, format_args!("note: {notice}"));
    }
    text
}

fn facts(status: &Status) -> comfy_table::Table {
    let mut table = table();
    let waiting = status.waiting.as_ref().map_or_else(String::new, |waiting| {
        format!(", in {} waits for {} since {}", waiting.phase, waiting.barrier, duration(waiting.since_ns))
    });
    table.add_row(["state".to_string(), format!("{}{waiting}", status.state)]);
    table.add_row(["half".to_string(), format!("{} (LMC {})", status.half, status.lids.lmc)]);
    table.add_row(["LIDs".to_string(), format!("{} given, up to {}", count(status.lids.given), status.lids.highest)]);
    let root = status.root.as_ref().map_or_else(|| "none".to_string(), name);
    table.add_row(["routing".to_string(), format!("{}, root {root}, {} data VLs", status.engine, status.data_vls)]);
    let policy = &status.policy;
    table.add_row([
        "changes by".to_string(),
        format!("{}, observer {}, arming {}", policy.scheme, policy.observer, policy.arming),
    ]);
    let changes: Vec<String> = status.changes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    table
        .add_row(["changes".to_string(), if changes.is_empty() { "none yet".to_string() } else { changes.join(", ") }]);
    let sweeps = &status.sweeps;
    table.add_row([
        "sweeps".to_string(),
        format!(
            "{} whole (the last took {}), {} light (every {}), {} traps",
            count(sweeps.heavy),
            duration(sweeps.last_heavy_ns),
            count(sweeps.light),
            duration(sweeps.period_ns),
            count(sweeps.traps)
        ),
    ]);
    table
}

fn smps(status: &Status) -> comfy_table::Table {
    let mut table = table();
    table.set_header(["SMPs", "Get", "Set", "others"].map(comfy_table::Cell::new));
    for (attribute, methods) in &status.smps.sent {
        let of = |method: &str| methods.get(method).copied().unwrap_or(0);
        let others = methods.values().sum::<u64>() - of("Get") - of("Set");
        table.add_row(vec![
            comfy_table::Cell::new(attribute),
            number(count(of("Get"))),
            number(count(of("Set"))),
            number(count(others)),
        ]);
    }
    let total = format!("{} in all", count(status.smps.total));
    table.add_row([
        total,
        format!("{} again", status.smps.retries),
        format!("{} late", status.smps.late),
        String::new(),
    ]);
    table
}

/// What became of a change.
pub fn change_done(done: &ChangeDone) -> String {
    let mut text = String::new();
    let reason = done.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    line(&mut text, format_args!("{}: {}{reason}", done.cause, done.outcome.name()));
    let root = done.root.as_ref().map_or_else(String::new, |root| format!(", root {}", name(root)));
    let proved = if done.proved { "every moment proved free of deadlock" } else { "NOT PROVED" };
    line(
        &mut text,
        format_args!(
            "  scheme {}, {} waves, {} writes, {proved}; {} half in use{root}",
            done.scheme,
            done.waves,
            count(done.writes),
            done.half
        ),
    );
    if !done.phases.is_empty() {
        let mut table = table();
        table.set_header(["  phase", "took", "SMPs"].map(comfy_table::Cell::new));
        for phase in &done.phases {
            let took = duration(phase.end_ns.saturating_sub(phase.start_ns));
            table.add_row(vec![
                comfy_table::Cell::new(format!("  {}", phase.name)),
                number(took),
                number(count(phase.smps)),
            ]);
        }
        show(&mut text, &table);
    }
    if done.restarts > 0 {
        line(&mut text, format_args!("  started anew {} times, because the subnet changed", done.restarts));
    }
    if !done.stranded.is_empty() {
        line(&mut text, format_args!("  cut off: {}", some(&done.stranded)));
    }
    text
}

/// An event in one line.
pub fn manager_event(event: &Event) -> String {
    let what = match &event.what {
        Happening::Role { role } => format!("role: {role}"),
        Happening::SubnetUp { fabric } => {
            format!("the subnet is up: {} switches, {} CAs, {} links", fabric.switches, fabric.cas, fabric.links)
        }
        Happening::Trap { number, lid, node } => {
            let node = node.as_ref().map_or_else(String::new, |node| format!(" ({node})"));
            format!("trap {number} from LID {lid}{node}")
        }
        Happening::Swept { heavy, took_ns, changed } => {
            let kind = if *heavy { "the whole subnet" } else { "the switches" };
            let changed = if *changed { "it changed" } else { "as before" };
            format!("swept {kind} in {}: {changed}", duration(*took_ns))
        }
        Happening::State { state } => format!("state: {state}"),
        Happening::Waiting(waiting) => format!("in {} waits for {}", waiting.phase, waiting.barrier),
        Happening::Phase(phase) => {
            let took = duration(phase.end_ns.saturating_sub(phase.start_ns));
            format!("phase {} took {took}, {} SMPs", phase.name, phase.smps)
        }
        Happening::Change(done) => change_done(done).trim_end().to_string(),
        Happening::Warning { text } => format!("WARNING: {text}"),
        Happening::Missed { events } => format!("{events} events were missed: this listener is too slow"),
    };
    format!("{:>12.3} s  {what}", event.at_ns as f64 / 1e9)
}

fn name(node: &NodeName) -> String {
    if node.description.is_empty() { node.guid.to_string() } else { format!("{} ({})", node.description, node.guid) }
}
