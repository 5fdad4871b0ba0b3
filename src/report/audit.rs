//! What `reconfig audit` found, on one screen, and its witness as Graphviz.

use super::audit_whole::whole;
use super::quantity::{count, counted};
use super::screen::line;
use reconfig::audit::{
    Audit, AuditReport, AuditVerdict, AuditedDependency, AuditedHole, AuditedLoop, AuditedSubnet, CreditLoops,
    DiscardCause, Ends, Findings, LossReason, SHOWN, TransitionReport, UnreachablePair,
};
use reconfig::fabric::format::Completeness;
use reconfig::verify::EntryAge;
use reconfig::verify::across::AcrossRefusal;
use std::collections::BTreeSet;
use std::fmt::{Display, Write};

/// What was found, as text.
pub fn audit(report: &AuditReport) -> String {
    let mut text = String::new();
    for subnet in &report.subnets {
        if let Some(own) = &subnet.tables {
            let (verdict, on_tables) = match &subnet.transition {
                None => routing(&mut text, own),
                Some(routings) => update(&mut text, own, routings),
            };
            answer(&mut text, subnet.incomplete(), &verdict, report.verdict != on_tables);
        }
    }
    if let Some(own) = &report.whole {
        let told = whole(&mut text, &report.subnets, own);
        let incomplete = report.subnets.iter().find_map(AuditedSubnet::incomplete);
        answer(&mut text, incomplete, &told, report.verdict != own.verdict());
    }
    text
}

/// The shortest cycle of lanes as Graphviz, where there is one.
pub fn audit_drawing(report: &AuditReport) -> Option<String> {
    let across = report.whole.as_ref().and_then(|own| own.refusal.as_ref()).map(AcrossRefusal::to_dot);
    across.or_else(|| report.witness().map(cycle_dot))
}

/// The verdict on tables, and whether it is left open since the captures lack parts of the fabric.
fn answer(text: &mut String, incomplete: Option<&Completeness>, verdict: &str, is_open: bool) {
    let Some(Completeness { missing, unanswered, .. }) = incomplete else {
        return line(text, format_args!("{verdict}"));
    };
    let silent = (*unanswered as u64, "device", "did not answer the tool");
    let absent = (missing.count as u64, "part", "of the file unread or known by neighbours alone");
    let parts = [silent, absent].into_iter().filter(|(number, ..)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, name, what)| format!("{} {what}", counted(number, name))).collect();
    let parts = parts.join(", ");
    if is_open {
        let fix = "take the capture again, or accept that (--partial)";
        return line(text, format_args!("NOT KNOWN: no fault in what the capture shows, but {parts}: {fix}"));
    }
    line(text, format_args!("{verdict}; in what the capture shows: {parts}"));
}

/// One routing. Returns the verdict in words, and the verdict.
fn routing(text: &mut String, audit: &Audit) -> (String, AuditVerdict) {
    fabric(text, audit);
    found(text, audit, false);
    (ending(audit.verdict(), &audit.faults), audit.verdict())
}

/// An update. Returns the verdict in words, and the verdict.
fn update(text: &mut String, during: &Audit, transition: &TransitionReport) -> (String, AuditVerdict) {
    let TransitionReport { before, after } = transition;
    fabric(text, &before.found);
    let parts = [
        ("before the update", &before.found, before.verdict),
        ("during it: every mixture of old and new entries", during, during.verdict()),
        ("after it", &after.found, after.verdict),
    ];
    for (title, audit, verdict) in parts {
        line(text, format_args!("{title}"));
        found(text, audit, title.starts_with("during"));
        line(text, format_args!("         {}\n", ending(verdict, &audit.faults)));
    }
    let on_tables = during.verdict().and(before.verdict).and(after.verdict);
    let verdict = match on_tables {
        AuditVerdict::Safe => "safe at every moment: made in place, in any order, the update closes no credit loop",
        AuditVerdict::Unsafe if has_safe_ends(transition) => {
            return (format!("UNSAFE at some moment: {}", unsafe_between(during)), on_tables);
        }
        AuditVerdict::Unsafe => "UNSAFE at some moment",
        AuditVerdict::Unknown => "NOT KNOWN: no fault at any moment in what is known",
    };
    (verdict.to_string(), on_tables)
}

/// Whether the routing before and the one after are safe.
pub(super) fn has_safe_ends(transition: &TransitionReport) -> bool {
    [&transition.before, &transition.after].iter().all(|end| end.verdict == AuditVerdict::Safe)
}

/// That an update in place is unsafe between two routings that are safe, and how.
pub(super) fn unsafe_between(during: &Audit) -> String {
    let cycle = during.credit_loops.cycle.as_ref();
    let waits = cycle.map(|cycle| format!("{} can wait for each other", counted(cycle.len() as u64, "lane")));
    let others = during.faults.iter().filter(|fault| waits.is_none() || **fault != "credit-loops");
    let told: Vec<String> = waits.iter().cloned().chain(others.map(|fault| fault.replace('-', " "))).collect();
    format!("each routing is safe; the update in place between them is not: {}", told.join(", "))
}

fn ending(verdict: AuditVerdict, faults: &[&str]) -> String {
    match verdict {
        AuditVerdict::Safe => "safe: no credit loop, no loop, no black hole; every pair is connected".to_string(),
        AuditVerdict::Unsafe => {
            format!("UNSAFE: {}", faults.iter().map(|name| name.replace('-', " ")).collect::<Vec<_>>().join(", "))
        }
        AuditVerdict::Unknown => {
            "NOT KNOWN: no fault in what is known, but some pairs pass switches without a known table".to_string()
        }
    }
}

fn fabric(text: &mut String, audit: &Audit) {
    let size = audit.fabric;
    let routers =
        if size.routers > 0 { format!(", {}", counted(size.routers as u64, "router")) } else { String::new() };
    let [switches, cas, links] = [(size.switches, "switch"), (size.cas, "CA"), (size.links, "link")]
        .map(|(number, name)| counted(number as u64, name));
    line(text, format_args!("fabric   {switches}, {cas}{routers}, {links}"));
    let ends = match audit.ends {
        Ends::EndPorts => "from every CA to every CA, without switches (--switches)",
        Ends::EndPortsAndSwitches => "from every CA and switch to every CA and switch",
    };
    line(text, format_args!("judged   {ends}: {} pairs of source and LID\n", count(audit.pairs as u64)));
}

fn found(text: &mut String, audit: &Audit, mixed: bool) {
    let size = [audit.channels, audit.lanes, audit.dependencies].map(|number| count(number as u64));
    line(text, format_args!("occupied {} channels, {} lanes; {} dependencies", size[0], size[1], size[2]));
    credit_loops(text, &audit.credit_loops, mixed);
    list(text, "loops", &audit.loops, |found| class_loop(found, mixed));
    list(text, "holes", &audit.black_holes, |found| black_hole(found, mixed));
    list(text, "wrong", &audit.wrong_arrivals, |found| {
        format!("packets to LID {} arrive at {}, but {} owns it", found.lid, found.port, found.owner)
    });
    list(text, "pairs", &audit.unreachable_pairs, pair);
    list(text, "unknown", &audit.unknown_pairs, pair);
    for note in &audit.notes {
        line(text, format_args!("note     {note}"));
    }
}

fn pair(found: &UnreachablePair) -> String {
    let why = match found.why {
        LossReason::BlackHole => "discarded",
        LossReason::Loop => "going round",
        LossReason::WrongArrival => "arriving elsewhere",
        LossReason::NoPath => "no path",
        LossReason::NotKnown => "comes to a switch without a known table",
    };
    format!("{} → {} (LID {}): {why}", found.source, found.destination, found.lid)
}

fn credit_loops(text: &mut String, found: &CreditLoops, mixed: bool) {
    let Some(cycle) = &found.cycle else {
        line(text, format_args!("credit   no loop: lanes wait for each other in no cycle"));
        return;
    };
    let sizes: Vec<String> =
        found.components.iter().take(SHOWN).map(|component| count(component.lanes as u64)).collect();
    let more = if found.components.len() > SHOWN { ", …" } else { "" };
    let knots = if found.components.len() == 1 { "knot" } else { "knots" };
    let (number, lanes) = (found.components.len(), count(found.lanes as u64));
    line(
        text,
        format_args!("credit   LOOPS: {number} {knots} of {}{more} lanes, {lanes} lanes in all", sizes.join(", ")),
    );
    let length = if found.shortest { "the shortest" } else { "a short one" };
    line(text, format_args!("         {length} has {} lanes that can wait for each other in a cycle:", cycle.len()));
    cycle.iter().for_each(|dependency| line(text, format_args!("         {}", dependency_line(dependency, mixed))));
}

fn dependency_line(dependency: &AuditedDependency, mixed: bool) -> String {
    let AuditedDependency { switch, input, output, lid, sl, destination, source, entry, mapping, path } = dependency;
    let mut text = format!(
        "{}: in port {} VL {} → out port {} VL {}; {source} → {destination} (LID {lid}, SL {sl})",
        switch.name, input.port, input.vl, output.port, output.vl
    );
    if mixed {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {entry}");
        for (what, entry) in [("SL-to-VL", mapping), ("path", path)] {
            match entry {
                EntryAge::Unchanged => {}
                EntryAge::Old => text += &format!(", old {what}"),
                EntryAge::New => text += &format!(", new {what}"),
            }
        }
    }
    text
}

fn class_loop(found: &AuditedLoop, mixed: bool) -> String {
    let hops = found.hops.iter().map(|hop| {
        let entry = if mixed { format!(" ({})", hop.entry) } else { String::new() };
        format!("{}[{}]{entry}", hop.switch.name, hop.port)
    });
    let first = found.hops.first().map(|hop| hop.switch.name.clone()).unwrap_or_default();
    format!("packets to LID {} go round: {} → {first}", found.lid, hops.collect::<Vec<_>>().join(" → "))
}

fn black_hole(found: &AuditedHole, mixed: bool) -> String {
    let AuditedHole { device, lid, sl, cause, entry } = found;
    let cause = match cause {
        DiscardCause::NoRoute => "it has no route".to_string(),
        DiscardCause::NoCable { port } => format!("its port {port} has no cable"),
        DiscardCause::NoLane { input, output, vl: Some(vl) } => {
            format!("SL {sl} from port {input} to port {output} is on VL {vl}, which carries no data")
        }
        DiscardCause::NoLane { input, output, vl: None } => {
            format!("SL {sl} from port {input} to port {output} has no lane")
        }
    };
    let entry = if mixed { format!(" ({entry})") } else { String::new() };
    format!("{} discards packets to LID {lid}: {cause}{entry}", device.name)
}

fn list<T, D: Display>(text: &mut String, what: &str, found: &Findings<T>, describe: impl Fn(&T) -> D) {
    if found.count == 0 {
        return;
    }
    let heading = match what {
        "loops" => "loops of one DLID",
        "holes" => "black holes (device and LID)",
        "wrong" => "wrong arrivals (port and LID)",
        "unknown" => "pairs that are not known: their route leaves the known tables",
        _ => "pairs that are not connected",
    };
    line(text, format_args!("{what:<8} {} {heading}", count(found.count as u64)));
    found.first.iter().for_each(|found| line(text, format_args!("         {}", describe(found))));
    if found.count > found.first.len() {
        line(text, format_args!("         … and {} more", count((found.count - found.first.len()) as u64)));
    }
}

/// A cycle as Graphviz: switches, and the lanes between them that wait for each other.
fn cycle_dot(cycle: &[AuditedDependency]) -> String {
    let mut text = String::from("digraph credit_loop {\n    node [shape=box];\n");
    let names: BTreeSet<&str> = cycle.iter().map(|dependency| &*dependency.switch.name).collect();
    names.iter().for_each(|name| line(&mut text, format_args!("    {};", quoted(name))));
    let next = cycle.iter().cycle().skip(1);
    for (dependency, next) in cycle.iter().zip(next) {
        let AuditedDependency { output, lid, sl, source, destination, entry, .. } = dependency;
        let entry = if *entry == EntryAge::Unchanged { String::new() } else { format!("\\n{entry}") };
        let escaped = |name: &str| name.replace('\\', "\\\\").replace('"', "\\\"");
        let lanes = format!("port {} VL {} → port {}", output.port, output.vl, next.input.port);
        let class = format!("{} → {}\\nLID {lid} SL {sl}", escaped(source), escaped(destination));
        let (from, to) = (quoted(&dependency.switch.name), quoted(&next.switch.name));
        line(&mut text, format_args!("    {from} -> {to} [label=\"{lanes}\\n{class}{entry}\"];"));
    }
    text + "}\n"
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
