//! One simulated run of several subnets on one screen.

use super::offered::{Offered, offered};
use super::quantity::{count, counted, duration, latency, percent, root_pair, size_of};
use super::run;
use super::screen::{line, number, show, some, table};
use super::sources::{links, order, sources};
use comfy_table::Cell;
use reconfig::routers::LevelsRule;
use reconfig::scenario::{AcrossReport, AcrossSettings, ChangeIn, Ending, PortLoad, RelationReport, RouterReport};

pub fn subnets_simulation(report: &AcrossReport) -> String {
    let mut text = String::new();
    headline(&mut text, report);
    proof(&mut text, report);
    report.changes.iter().for_each(|change| of_change(&mut text, change));
    run::traffic(&mut text, report.latency_ns, report.throughput, changes(report));
    relations(&mut text, report);
    packets(&mut text, report);
    if let Some(counts) = report.order {
        order(&mut text, counts);
    }
    if let Some(loads) = &report.links {
        links(&mut text, "switches and routers", loads);
        router_loads(&mut text, &report.routers);
    }
    unsendable(&mut text, report);
    deadlock(&mut text, report);
    verdict(&mut text, report);
    text
}

fn changes(report: &AcrossReport) -> bool {
    !report.changes.is_empty()
}

fn headline(text: &mut String, report: &AcrossReport) {
    let how =
        if changes(report) { format!(" ({}), scheme {}", report.departure, report.scheme) } else { String::new() };
    line(text, format_args!("{}{how}", report.what));
    for subnet in &report.subnets {
        let size = size_of(subnet.fabric.switches, (subnet.hosts, "host"), subnet.fabric.links);
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
    routing(text, &report.engine, &report.settings);
    let settings = &report.settings;
    let inhabited = report.subnets.iter().filter(|subnet| subnet.hosts > 0).count();
    let shown = Offered {
        traffic: settings.traffic,
        load: settings.load,
        cross: (inhabited > 1).then_some(settings.cross),
        packet_bytes: settings.packet_bytes,
        latch: settings.latch,
        policy: changes(report).then_some((&*settings.arming, &*settings.drain)),
        seed: report.seed,
    };
    offered(text, &shown);
    if let Some(used) = settings.sources {
        sources(text, used, report.subnets.iter().map(|subnet| subnet.lmc).max().unwrap_or_default());
    }
}

fn routing(text: &mut String, engine: &str, settings: &AcrossSettings) {
    let levels = match settings.rule {
        LevelsRule::Raise => format!("service levels raised, {}", counted(settings.layers.into(), "layer")),
        LevelsRule::Keep => "service levels kept".to_string(),
    };
    line(text, format_args!("routing  {engine}; {}; {levels}", counted(settings.data_vls.into(), "data VL")));
    if let Some(enforce) = settings.part_enforce {
        let looks = run::looks(enforce);
        line(
            text,
            format_args!(
                "P_Keys   hosts send to those that they share a partition with; ports of routers look at {looks}"
            ),
        );
    }
}

fn proof(text: &mut String, report: &AcrossReport) {
    match (&report.proof.statistics, &report.proof.refusal) {
        (Some(proof), _) => {
            let numbers = [(proof.lanes, "lane"), (proof.dependencies, "dependency")];
            let [lanes, dependencies] = numbers.map(|(number, name)| counted(number as u64, name));
            let (moments, couplings) = (moments(proof.moments), count(proof.couplings as u64));
            line(
                text,
                format_args!(
                    "proof    the whole is proved: {moments}, {lanes}, {dependencies}, {couplings} through routers\n"
                ),
            );
        }
        (None, Some(refusal)) => line(text, format_args!("proof    the whole is refused: {refusal}\n")),
        (None, None) => text.push('\n'),
    }
}

/// How many moments; the most that can be counted stands for all that are more.
fn moments(number: usize) -> String {
    match number {
        usize::MAX => "more moments than can be counted".to_string(),
        _ => counted(number as u64, "moment"),
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
    let header: &[&str] = match changes(report) {
        true => &[
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
        ],
        false => &["routers", "p50 before", "after", "p99 before", "after", "delivered", "discarded"],
    };
    rows.set_header([Cell::new("from → to")].into_iter().chain(header.iter().map(number)));
    for relation in report.relations.iter().filter(|relation| relation.packets.injected > 0) {
        rows.add_row(row(relation, changes(report)));
    }
    show(text, &rows);
}

/// How many routers are crossed, before and after where that differs.
fn routers(before: Option<u8>, after: Option<u8>) -> String {
    let told = |count: Option<u8>| count.map_or("none".to_string(), |count| count.to_string());
    if before == after { told(before) } else { format!("{} → {}", told(before), told(after)) }
}

fn row(relation: &RelationReport, changes: bool) -> Vec<Cell> {
    let RelationReport { from, to, crossings, crossings_after, packets, latency_ns: times, .. } = relation;
    let ends = if from == to { format!("within {from}") } else { format!("{from} → {to}") };
    let periods = [Some(times.before), Some(times.during).filter(|_| changes), Some(times.after)];
    let medians = periods.iter().flatten().map(|own| own.p50);
    let worst = periods.iter().flatten().map(|own| own.p99);
    let mut cells = vec![Cell::new(ends), number(routers(*crossings, *crossings_after))];
    cells.extend(medians.chain(worst).map(|ns| number(latency(ns))));
    let lost = [packets.lost_to_failure, packets.lost_to_change];
    cells.push(number(count(packets.delivered)));
    match changes {
        true => cells.extend(lost.map(|packets| number(count(packets)))),
        false => cells.push(number(count(run::discarded(packets)))),
    }
    cells
}

fn packets(text: &mut String, report: &AcrossReport) {
    if changes(report) {
        run::fates(text, &report.packets);
        for (why, number) in &report.relay_discards {
            line(text, format_args!("routers discarded {} ({why}): among the lost or stranded", count(*number)));
        }
        run::ages(text, report.lifetime_discards, report.deadlocks_broken);
    } else {
        run::fates_of_rest(text, &report.packets);
        let (reasons, broke) = (reasons(report), run::broke(report.deadlocks_broken));
        if !reasons.is_empty() {
            line(text, format_args!("discarded: {reasons}{broke}"));
        }
    }
}

/// What was discarded where nothing changes, by reason.
fn reasons(report: &AcrossReport) -> String {
    let by_routers = report.relay_discards.iter().map(|(why, number)| (why.replace('-', " "), *number));
    let others =
        [("lifetime".to_string(), report.lifetime_discards), ("misdelivered".to_string(), report.misdelivered)];
    let told = by_routers.chain(others).filter(|&(_, number)| number > 0);
    told.map(|(why, number)| format!("{why} {}", count(number))).collect::<Vec<_>>().join(", ")
}

/// What the links of routers carried, either way, before the change and after it.
fn router_loads(text: &mut String, routers: &[RouterReport]) {
    let mut rows = table();
    let header = ["in before", "out", "in after", "out"].map(number);
    rows.set_header([Cell::new("router")].into_iter().chain(header));
    let share = |load: f64| number(percent(load));
    for router in routers {
        rows.add_row([Cell::new(&router.name)]);
        for port in &router.ports {
            let of = |load: PortLoad| [share(load.load_in), share(load.load_out)];
            let cells = of(port.carried.before).into_iter().chain(of(port.carried.after));
            rows.add_row([Cell::new(format!("  {}", port.name))].into_iter().chain(cells));
        }
    }
    show(text, &rows);
}

/// Packets that could not even be sent.
fn unsendable(text: &mut String, report: &AcrossReport) {
    for relation in &report.relations {
        let Some(number) = relation.parted.filter(|&number| number > 0) else { continue };
        let (from, to, number) = (&relation.from, &relation.to, counted(number, "packet"));
        line(text, format_args!("{from} → {to}: {number} were not sent, since their ends share no partition"));
    }
    for relation in report.relations.iter().filter(|relation| relation.unsendable > 0) {
        let (from, to, number) = (&relation.from, &relation.to, counted(relation.unsendable, "packet"));
        line(text, format_args!("{from} → {to}: no router leads there; {number} were not sent"));
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
    let ending = run::ending(report.outcome);
    let took = report.changes.iter().map(|change| change.change_ns).max().map(|ns| format!(" in {}", duration(ns)));
    let at = || report.deadlock_ns.map(|ns| format!(" at {}", duration(ns)));
    let when = took.or_else(at).unwrap_or_default();
    let reason = report.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let (lost, unsent) = (lost(report), unsent(&report.relations));
    let hops = counted(report.packet_hops, "packet-hop");
    line(text, format_args!("{ending}{when}{reason}: {lost}{unsent}; {hops}; trace {:016x}", report.trace_hash));
}

/// What was lost, or is stuck; where nothing changes, nothing is lost to a change.
fn lost(report: &AcrossReport) -> String {
    if changes(report) {
        return run::lost(report.outcome, &report.packets);
    }
    let stuck = counted(report.packets.in_flight, "packet");
    let discarded = |packets| format!("{} discarded ({})", counted(packets, "packet"), reasons(report));
    match (run::discarded(&report.packets), report.outcome == Ending::Deadlocked) {
        (0, true) => format!("{stuck} stuck"),
        (0, false) => "nothing lost".to_string(),
        (packets, true) => format!("{stuck} stuck, {}", discarded(packets)),
        (packets, false) => discarded(packets),
    }
}

/// What hosts did not send at all.
fn unsent(relations: &[RelationReport]) -> String {
    let told = |of: fn(&RelationReport) -> u64, why: &str| {
        let own = || relations.iter().map(of).filter(|&number| number > 0);
        let [packets, between] =
            [(own().sum(), "packet"), (own().count() as u64, "relation")].map(|(number, name)| counted(number, name));
        if own().count() == 0 { String::new() } else { format!("; {packets} of {between} not sent: {why}") }
    };
    let cut = relations.iter().filter(|relation| relation.unsendable > 0);
    let any_more = cut.clone().count() > 0 && cut.clone().all(|relation| relation.crossings.is_some());
    let no_way = if any_more { "no router leads there any more" } else { "no router leads there" };
    let unsendable = told(|relation| relation.unsendable, no_way);
    unsendable + &told(|relation| relation.parted.unwrap_or(0), "no partition in common")
}

#[cfg(test)]
mod tests {
    use super::moments;

    #[test]
    fn moments_are_counted_as_far_as_that_goes() {
        let cases = [(1, "1 moment"), (1_296, "1 296 moments"), (usize::MAX, "more moments than can be counted")];
        for (number, text) in cases {
            assert_eq!(moments(number), text);
        }
    }
}
