//! A running manager, its events, and the outcomes of changes, as text.

use super::devices::profile;
use super::quantity::{count, counted, duration};
use super::screen::{line, number, show, some, table};
use reconfig::driver::ForeseenCount;
use reconfig::frontend::control::{
    ChangeDone, ChannelStatus, ControlEvent, EventKind, FabricStatus, GroupStatus, MissingElements, MissingStatus,
    NamedNode, OwnPort, PolicyStatus, Status, SweepStatus,
};
use reconfig::machine::ChangeProgress;
use reconfig::plan::LanePartition;

/// Who a running manager is.
pub fn manager_line(status: &Status) -> String {
    let (port, up) = (&status.port, duration(status.uptime_ns));
    let OwnPort { adapter, port: number, guid, priority } = port;
    let PolicyStatus { devices, given, .. } = &status.policy;
    let devices = devices.map_or_else(String::new, |own| format!(", devices {}", profile(own, given)));
    format!(
        "{}, running for {up}, through {adapter} port {number} (GUID {guid}), priority {priority}{devices}",
        status.role
    )
}

/// What a running manager does, in a table.
pub fn manager_facts(status: &Status) -> String {
    let mut text = String::new();
    line(&mut text, format_args!("{}", size(&status.fabric)));
    for degraded in &status.degraded {
        line(&mut text, format_args!("DEGRADED: {}", degraded.in_words()));
    }
    if let Some(trouble) = &status.trouble {
        line(&mut text, format_args!("TROUBLE: {trouble}"));
    }
    show(&mut text, &facts(status));
    text.trim_end().to_string()
}

/// A screen about a running manager.
pub fn manager_status(status: &Status) -> String {
    let mut text = manager_line(status) + "\n";
    let up = match (status.subnet_up, takes_over(status)) {
        (true, _) => "up".to_string(),
        (false, None) => "NOT up".to_string(),
        (false, Some(how)) => format!("not up yet, {how}"),
    };
    let arrival = status.arrival.as_ref().map_or_else(String::new, |arrival| format!(" ({arrival})"));
    let fabric = &status.fabric;
    match status.role.as_str() {
        // What it found while it looked for the master says nothing of what that has come to.
        "standby" => line(
            &mut text,
            format_args!("another manager is master of the subnet, or goes before this one, which stands by"),
        ),
        _ => {
            let found = if status.subnet_up || status.half.is_some() { "" } else { " found" };
            line(&mut text, format_args!("the subnet is {up}{arrival}: {}{found}", size(fabric)))
        }
    }
    if let Some(why) = &status.arrival_why {
        let arrival = status.arrival.as_deref();
        let what = if arrival == Some("resumed") { "resumed" } else { "it was not adopted as it was" };
        line(&mut text, format_args!("{what}: {why}"));
    }
    for degraded in &status.degraded {
        line(&mut text, format_args!("DEGRADED: {}", degraded.in_words()));
    }
    if let Some(trouble) = &status.trouble {
        line(&mut text, format_args!("TROUBLE: {trouble}"));
    }
    text.push('\n');
    show(&mut text, &facts(status));
    show(&mut text, &smps(status));
    if let Some(done) = &status.last_change {
        line(&mut text, format_args!("The last change:"));
        text += &change_done(done);
    }
    text
}

fn groups_row(groups: &GroupStatus) -> String {
    let unreached = match groups.unreached {
        0 => String::new(),
        unreached => format!(", {unreached} of them not reached"),
    };
    let unproved = groups.unproved.as_ref().map_or_else(String::new, |why| format!("; not proved: {why}"));
    let (number, members) = (counted(groups.groups as u64, "group"), counted(groups.members as u64, "membership"));
    format!("{number}, {members}{unreached}{unproved}")
}

fn facts(status: &Status) -> comfy_table::Table {
    let mut table = table();
    for (name, value) in manager_facts_rows(status) {
        table.add_row([name.to_string(), value]);
    }
    table
}

/// What a running manager does, as names and values.
pub fn manager_facts_rows(status: &Status) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let mut row = |name, value| rows.push((name, value));
    let held = status.held.as_ref().map_or_else(String::new, |barrier| format!(", held at barrier {barrier}"));
    let idle = if is_under_way(&status.state) { "" } else { ": no change is under way" };
    row("state", format!("{}{idle}{held}", status.state));
    let half = status.half.map_or_else(|| "none".to_string(), |half| half.to_string());
    // Sources may have moved to the other one meanwhile.
    let before = if is_under_way(&status.state) && status.half.is_some() { " before the change under way" } else { "" };
    if status.half.is_some() || status.subnet_up {
        row("half", format!("{half}{before} (LMC {})", status.lids.lmc));
        row("LIDs", format!("{} given, up to {}", count(status.lids.given), status.lids.highest));
    }
    let root = status.root.as_ref().map_or_else(|| "none".to_string(), name);
    let by = match &status.routed_by {
        Some(by) if *by != status.engine => format!("{by} (first of {})", status.engine),
        None if status.subnet_up => format!("as found, changes by {}", status.engine),
        _ => status.engine.clone(),
    };
    row("routing", format!("{by}, root {root}, {} data VLs", status.data_vls));
    let policy = &status.policy;
    let standing = policy.partition == LanePartition::Standing;
    row(
        "changes by",
        format!(
            "scheme {}, drain by {}, sources by {}, arming {}{}",
            policy.scheme,
            policy.observer,
            policy.sources,
            policy.arming,
            if standing { ", standing partition of lanes" } else { "" }
        ),
    );
    if let Some(instead) = &status.instead {
        row("stands in", instead.clone());
    }
    if let Some(why) = &status.without_double {
        row("", format!("by forwarding entries alone, never by double: {why}"));
    }
    if let Some(ChannelStatus { channels, used, busiest, pairs }) = &status.channels {
        let busiest = busiest.as_ref().map_or_else(String::new, |port| {
            format!("; the busiest, out of {port}, by {} of host to host", counted(*pairs, "path"))
        });
        row("channels", format!("{used} of {channels} between switches used{busiest}"));
    }
    let changes: Vec<String> = status.changes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    row("changes", if changes.is_empty() { "none yet".to_string() } else { changes.join(", ") });
    if !status.aside.is_empty() {
        row("set aside", status.aside.join(", "));
    }
    if let Some(missing) = missing(&status.missing) {
        row("missing", missing);
    }
    if let Some(gap) = &status.journal_gap {
        row("journal", gap.clone());
    }
    if status.end_ports_fenced > 0 {
        let ends = counted(status.end_ports_fenced as u64, "end port");
        row("fence", format!("{ends} closed on some service levels"));
    }
    if let Some(groups) = &status.groups {
        row("multicast", groups_row(groups));
    }
    if let Some(without) = &status.without_groups {
        row("multicast", without.clone());
    }
    if let Some(count) = status.foreseen {
        row("foreseen", foreseen(count));
    }
    row("sweeps", sweeps(&status.sweeps));
    if !status.sa_requests.is_empty() {
        let asked: Vec<String> = status.sa_requests.iter().map(|(name, count)| format!("{count} × {name}")).collect();
        row("SA requests", asked.join(", "));
    }
    rows
}

/// What was there before and is not, by name as far as a line has room; none where nothing is missing.
fn missing(missing: &MissingStatus) -> Option<String> {
    /// The most of a kind that are named: the JSON names more.
    const NAMED: usize = 4;
    let told = kinds(missing).map(|(own, name)| {
        let named: Vec<&str> = own.names.iter().take(NAMED).map(String::as_str).collect();
        let more = match own.count - named.len() as u64 {
            0 => String::new(),
            more => format!(" and {} more", count(more)),
        };
        format!("{} ({}{more})", counted(own.count, name), named.join(", "))
    });
    Some(told.collect::<Vec<_>>().join("; ")).filter(|told| !told.is_empty())
}

/// How much is missing, without names; none where nothing is.
pub fn manager_missing(status: &Status) -> Option<String> {
    let told: Vec<String> = kinds(&status.missing).map(|(own, name)| counted(own.count, name)).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The kinds of which something is missing, by name.
fn kinds(missing: &MissingStatus) -> impl Iterator<Item = (&MissingElements, &'static str)> {
    let kinds = [(&missing.switches, "switch"), (&missing.hosts, "host"), (&missing.cables, "cable")];
    kinds.into_iter().filter(|(own, _)| own.count > 0)
}

/// Whether a manager in this state has a change to bring to its end.
pub fn is_under_way(state: &str) -> bool {
    !["steady", "completed", "called-off", "cut-short", "abandoned"].contains(&state)
}

/// How a manager takes over a subnet that it knows and serves, and that is not up yet.
fn takes_over(status: &Status) -> Option<String> {
    (!status.subnet_up && status.half.is_some()).then(|| match is_under_way(&status.state) {
        true => format!("and a change comes first ({})", status.state),
        false => "and its tables are being completed".to_string(),
    })
}

/// Why a change was begun and where it is held, in sentences.
pub fn change_beside(status: &Status, begun: Option<&str>) -> String {
    let held = status
        .held
        .as_ref()
        .map(|barrier| format!("It is held at barrier “{barrier}” until reconfig change --continue."));
    [begun.map(|cause| format!("Its cause: {cause}.")), held].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Whether the subnet is up, and what is done to it, in a sentence.
pub fn change_sentence(status: &Status, progress: Option<&ChangeProgress>) -> String {
    let Some(progress) = progress else {
        return match (status.subnet_up, status.role.as_str()) {
            (true, _) => "The subnet is up; no change is under way.",
            (false, "standby") => "This manager stands by: another is master of the subnet.",
            (false, _) => match takes_over(status) {
                Some(how) => return format!("The subnet is not up yet, {how}."),
                None => "The subnet is not up under this manager.",
            },
        }
        .to_string();
    };
    let (wave, waves) = (progress.wave() + 1, progress.plan().waves().len());
    match status.state.as_str() {
        "failed" => format!("A change stands still in wave {wave} of {waves}, and will be resumed."),
        state => format!("A change is under way: {state}, wave {wave} of {waves}."),
    }
}

fn foreseen(ForeseenCount { losses, ready, without, bytes, full }: ForeseenCount) -> String {
    let mut text = format!("{ready} of {losses} losses have a plan, {} MiB", bytes >> 20);
    if without > 0 {
        text += &format!("; {without} can have none");
    }
    if full {
        text += "; no memory for more";
    }
    text
}

fn sweeps(sweeps: &SweepStatus) -> String {
    let light = sweeps
        .period_ns
        .map_or_else(|| "no light ones".to_string(), |ns| format!("a light one every {}", duration(ns)));
    let traps: Vec<String> = sweeps.traps.iter().map(|(number, count)| format!("{count} × {number}")).collect();
    let traps = if traps.is_empty() { "none".to_string() } else { traps.join(", ") };
    let heavy = match sweeps.heavy {
        0 => "none yet".to_string(),
        heavy => format!("{} (the last took {})", count(heavy), duration(sweeps.last_heavy_ns)),
    };
    format!("{heavy}, {light}; traps: {traps}")
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
    if let Some(scheme) = &done.scheme {
        let proved = if done.proved { "every moment proved free of deadlock" } else { "NOT PROVED" };
        let (waves, writes) = (counted(done.waves, "wave"), counted(done.writes, "write"));
        line(
            &mut text,
            format_args!("  scheme {scheme}, {waves}, {writes}, {proved}; {} half in use{root}", done.half),
        );
        if done.pairs_without_a_way > 0 {
            let pairs = counted(done.pairs_without_a_way, "pair");
            line(&mut text, format_args!("  NOT ALL SERVED: {pairs} of a host and a LID have no way yet"));
        }
        if done.hosts_that_move > 0 {
            line(&mut text, format_args!("  {} move to the other half", counted(done.hosts_that_move, "end port")));
        }
    }
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
        let times = if done.restarts == 1 { "once".to_string() } else { format!("{} times", done.restarts) };
        line(&mut text, format_args!("  started anew {times}, because the subnet changed"));
    }
    if !done.stranded.is_empty() {
        line(&mut text, format_args!("  cut off: {}", some(&done.stranded)));
    }
    done.notes.iter().for_each(|note| line(&mut text, format_args!("note: {note}")));
    text
}

/// An event in one line.
pub fn manager_event(event: &ControlEvent) -> String {
    let what = match &event.what {
        EventKind::Role { role } => format!("role: {role}"),
        EventKind::HostsUp => "all hosts have ways to each other; SL-to-VL tables are still written".to_string(),
        EventKind::SubnetUp { fabric, arrival, why } => {
            let why = why.as_ref().map_or_else(String::new, |why| format!(" (not adopted: {why})"));
            format!("SUBNET UP ({arrival}): {}{why}", size(fabric))
        }
        EventKind::Trap { number, lid, node } => {
            let node = node.as_ref().map_or_else(String::new, |node| format!(" ({node})"));
            format!("trap {number} from LID {lid}{node}")
        }
        EventKind::Noticed { node, silent: true } => format!("{node} does not answer"),
        EventKind::Noticed { node, silent: false } => format!("a port of {node} changed"),
        EventKind::Swept { took_ns, left_out } => {
            let left_out = if *left_out == 0 { String::new() } else { format!(", {left_out} left out") };
            format!("swept the subnet in {}{left_out}", duration(*took_ns))
        }
        EventKind::Begun { cause } => format!("a change begins: {cause}"),
        EventKind::State { state } => format!("state: {state}"),
        EventKind::Held { barrier } => format!("held at barrier {barrier}"),
        EventKind::Change { done } => change_done(done).trim_end().to_string(),
        EventKind::Warning { text } => format!("WARNING: {text}"),
        EventKind::Missed { events } => format!("{events} events were missed: this listener is too slow"),
    };
    format!("{:>12.3} s  {what}", event.at_ns as f64 / 1e9)
}

fn size(fabric: &FabricStatus) -> String {
    let FabricStatus { switches, cas, links } = *fabric;
    format!("{}, {}, {}", counted(switches, "switch"), counted(cas, "CA"), counted(links, "link"))
}

fn name(node: &NamedNode) -> String {
    if node.description.is_empty() { node.guid.to_string() } else { format!("{} ({})", node.description, node.guid) }
}
