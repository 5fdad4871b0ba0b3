//! One simulated run of several subnets on one screen.

use super::quantity::{count, duration, percent, root_pair};
use super::run;
use super::screen::{line, number, show, some, table};
use crate::routers::{LevelsRule, PartEnforce};
use crate::scenario::{AcrossReport, ChangeIn, RelationReport};
use comfy_table::Cell;

/// The report as text.
pub fn subnets_simulation(report: &AcrossReport) -> String {
    let mut text = String::new();
    headline(&mut text, report);
    proof(&mut text, report);
    report.changes.iter().for_each(|change| of_change(&mut text, change));
    relations(&mut text, report);
    packets(&mut text, report);
    unsendable(&mut text, report);
    deadlock(&mut text, report);
    verdict(&mut text, report);
    text
}

fn headline(text: &mut String, report: &AcrossReport) {
    let departure = if report.changes.is_empty() { String::new() } else { format!(" ({})", report.departure) };
    line(text, format_args!("{}{departure}, scheme {}", report.what, report.scheme));
    for subnet in &report.subnets {
        let size =
            format!("{} switches, {} hosts, {} links", subnet.fabric.switches, subnet.hosts, subnet.fabric.links);
        line(
            text,
            format_args!(
                "subnet   {} ({}): {size}; LMC {}, SM on {}",
                subnet.name, subnet.prefix, subnet.lmc, subnet.sm
            ),
        );
    }
    for router in &report.routers {
        let named = router
            .ports
            .iter()
            .map(|port| if port.stays { port.name.clone() } else { format!("{} (leaves)", port.name) });
        line(text, format_args!("router   {}: {}", router.name, named.collect::<Vec<_>>().join(" — ")));
    }
    let settings = &report.settings;
    let levels = match settings.rule {
        LevelsRule::Raise => format!("service levels raised, {} layers", settings.layers),
        LevelsRule::Keep => "service levels kept".to_string(),
    };
    line(text, format_args!("routing  {}; {} data VLs; {levels}", report.engine, settings.data_vls));
    if let Some(enforce) = settings.part_enforce {
        let looks = match enforce {
            PartEnforce::Both => "what comes in and what goes out",
            PartEnforce::In => "what comes in",
            PartEnforce::Out => "what goes out",
            PartEnforce::Off => "nothing",
        };
        line(
            text,
            format_args!(
                "P_Keys   hosts send to those that they share a partition with; ports of routers look at {looks}"
            ),
        );
    }
    let (load, cross) = (percent(settings.load), percent(settings.cross));
    line(
        text,
        format_args!(
            "traffic  load {load}, {cross} of it between subnets; {} bytes a packet; seed {}",
            settings.packet_bytes, report.seed
        ),
    );
}

fn proof(text: &mut String, report: &AcrossReport) {
    match (&report.proof.statistics, &report.proof.refusal) {
        (Some(proof), _) => line(
            text,
            format_args!(
                "proof    the whole is proved: {}{} moments, {} lanes, {} dependencies, {} through routers\n",
                if proof.moments == usize::MAX { "at least " } else { "" },
                proof.moments,
                count(proof.lanes as u64),
                count(proof.dependencies as u64),
                count(proof.couplings as u64)
            ),
        ),
        (None, Some(refusal)) => line(text, format_args!("proof    the whole is refused: {refusal}\n")),
        (None, None) => text.push('\n'),
    }
}

fn of_change(text: &mut String, change: &ChangeIn) {
    let roots = root_pair(change.root_before.as_deref(), change.root_after.as_deref());
    let stranded =
        if change.stranded.is_empty() { String::new() } else { format!("; stranded {}", some(&change.stranded)) };
    line(text, format_args!("{}: {}{roots}{stranded}", change.subnet, change.what));
    run::phases(text, change.sweep.iter().chain(&change.phases));
}

/// Latencies and losses by the subnets at the ends of packets.
fn relations(text: &mut String, report: &AcrossReport) {
    let mut rows = table();
    let header = [
        "routers",
        "p50 before",
        "during",
        "after",
        "p99 before",
        "during",
        "after",
        "delivered",
        "to failure",
        "to change",
    ];
    rows.set_header([Cell::new("from → to")].into_iter().chain(header.map(number)));
    for relation in report.relations.iter().filter(|relation| relation.packets.injected > 0) {
        rows.add_row(row(relation));
    }
    show(text, &rows);
}

/// How many routers are crossed, before and after where that differs.
fn routers(before: Option<u8>, after: Option<u8>) -> String {
    let told = |count: Option<u8>| count.map_or("none".to_string(), |count| count.to_string());
    if before == after { told(before) } else { format!("{} → {}", told(before), told(after)) }
}

fn row(relation: &RelationReport) -> Vec<Cell> {
    let RelationReport { from, to, crossings, crossings_after, packets, latency_ns: latency, .. } = relation;
    let ends = if from == to { format!("within {from}") } else { format!("{from} → {to}") };
    let medians = [latency.before.p50, latency.during.p50, latency.after.p50];
    let worst = [latency.before.p99, latency.during.p99, latency.after.p99];
    let mut cells = vec![Cell::new(ends), number(routers(*crossings, *crossings_after))];
    cells.extend(
        medians.into_iter().chain(worst).map(|ns| number(if ns == 0 { "–".to_string() } else { duration(ns) })),
    );
    cells.extend([packets.delivered, packets.lost_to_failure, packets.lost_to_change].map(|n| number(count(n))));
    cells
}

fn packets(text: &mut String, report: &AcrossReport) {
    run::fates(text, &report.packets);
    for (why, number) in &report.relay_discards {
        line(text, format_args!("routers discarded {} ({why}): among the lost or stranded", count(*number)));
    }
}

/// Packets that could not even be sent.
fn unsendable(text: &mut String, report: &AcrossReport) {
    for relation in &report.relations {
        let Some(number) = relation.parted.filter(|&number| number > 0) else { continue };
        let (from, to, number) = (&relation.from, &relation.to, count(number));
        line(text, format_args!("{from} → {to}: {number} packets were not sent, since their ends share no partition"));
    }
    for relation in report.relations.iter().filter(|relation| relation.unsendable > 0) {
        let (from, to, number) = (&relation.from, &relation.to, count(relation.unsendable));
        line(text, format_args!("{from} → {to}: no router leads there; {number} packets were not sent"));
    }
}

fn deadlock(text: &mut String, report: &AcrossReport) {
    let Some(cycle) = &report.deadlock else { return };
    line(
        text,
        format_args!("deadlock of {} packets, each waiting for the buffer that the next one fills:", cycle.len()),
    );
    for stuck in cycle {
        let packet = format!("DLID {} SL {}, in this subnet since {}", stuck.dlid, stuck.sl, duration(stuck.born_ns));
        line(
            text,
            format_args!(
                "  {} VL {} → {} VL {}  ({packet})",
                stuck.input, stuck.input_vl, stuck.output, stuck.output_vl
            ),
        );
    }
    text.push('\n');
}

fn verdict(text: &mut String, report: &AcrossReport) {
    let (lost, ending) = (run::lost(report.outcome, &report.packets), run::ending(report.outcome));
    let took = report.changes.iter().map(|change| change.change_ns).max();
    let took = took.map(|ns| format!(" in {}", duration(ns))).unwrap_or_default();
    let reason = report.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let hops = count(report.packet_hops);
    line(text, format_args!("{ending}{took}{reason}: {lost}; {hops} packet-hops; trace {:016x}", report.trace_hash));
}
