//! What a screen of a simulated run shows of several subnets: subnets and routers, changes, relations, loads of
//! routers.

use super::cut_off::cut_off;
use super::quantity::{count, counted, latency, percent, size_of};
use super::run;
use super::screen::{line, number, show, table};
use comfy_table::Cell;
use reconfig::routers::{LevelsRule, PartEnforce};
use reconfig::scenario::{
    BetweenSettings, PortLoad, RelationReport, RouterReport, SimulationReport, SubnetChange, WholeProof,
};

/// What changes, the subnets, the routers, and the routing between them.
pub(super) fn headline(text: &mut String, report: &SimulationReport, between: BetweenSettings) {
    let how =
        if report.has_change() { format!(" ({}), {}", report.departure, run::scheme(report)) } else { String::new() };
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
    routing(text, report, between);
}

fn routing(text: &mut String, report: &SimulationReport, between: BetweenSettings) {
    let levels = match between.rule {
        _ if report.routers.is_empty() => String::new(),
        LevelsRule::Raise => format!("; service levels raised, {}", counted(between.layers.into(), "layer")),
        LevelsRule::Turn => format!("; service levels raised at turns, {}", counted(between.layers.into(), "layer")),
        LevelsRule::Keep => "; service levels kept".to_string(),
    };
    let lanes = counted(report.settings.data_vls.into(), "data VL");
    line(text, format_args!("routing  {}; {lanes}{levels}", report.engine));
    if let Some(enforce) = between.part_enforce {
        let looks = looks(enforce);
        line(
            text,
            format_args!(
                "P_Keys   hosts send to those that they share a partition with; ports of routers look at {looks}"
            ),
        );
    }
}

/// What ports of routers look at for its partition.
fn looks(enforce: PartEnforce) -> &'static str {
    match enforce {
        PartEnforce::Both => "what comes in and goes out",
        PartEnforce::In => "what comes in",
        PartEnforce::Out => "what goes out",
        PartEnforce::Off => "nothing",
    }
}

/// Proof of the whole, in words; of one subnet without what no router does.
pub(super) fn proof(whole: &WholeProof, refusal: Option<&str>, has_routers: bool) -> String {
    match (&whole.statistics, refusal) {
        (Some(proof), _) => {
            let numbers = [(proof.lanes, "lane"), (proof.dependencies, "dependency")];
            let [lanes, dependencies] = numbers.map(|(number, name)| counted(number as u64, name));
            let (moments, couplings) = (moments(proof.moments), count(proof.couplings as u64));
            let across = if has_routers { format!(", {couplings} through routers") } else { String::new() };
            format!("the whole is proved: {moments}, {lanes}, {dependencies}{across}")
        }
        (None, refusal) => format!("the whole is refused: {}", refusal.unwrap_or_default()),
    }
}

/// How many moments; the most that can be counted stands for all that are more.
fn moments(number: usize) -> String {
    match number {
        usize::MAX => "more moments than can be counted".to_string(),
        _ => counted(number as u64, "moment"),
    }
}

/// What changes in one subnet.
pub(super) fn change(text: &mut String, change: &SubnetChange) {
    line(text, format_args!("{}: {}{}", change.subnet, change.what, run::roots(change)));
    cut_off(text, &change.cut_off.iter().collect::<Vec<_>>());
}

/// Latencies and losses by the subnets at the ends of packets.
pub(super) fn relations(text: &mut String, report: &SimulationReport) {
    // Of one subnet the run's own figures say the same.
    if report.subnets.len() < 2 {
        return;
    }
    let mut rows = table();
    let header: &[&str] = match report.has_change() {
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
        rows.add_row(row(relation, report.has_change()));
    }
    show(text, &rows);
}

/// How many routers are crossed, before and after where that differs.
pub(super) fn routers(before: Option<u8>, after: Option<u8>) -> String {
    let shown = |count: Option<u8>| count.map_or("none".to_string(), |count| count.to_string());
    if before == after { shown(before) } else { format!("{} → {}", shown(before), shown(after)) }
}

/// Origin and destination of packets.
pub(super) fn ends(relation: &RelationReport) -> String {
    let RelationReport { from, to, .. } = relation;
    if from == to { format!("within {from}") } else { format!("{from} → {to}") }
}

fn row(relation: &RelationReport, changes: bool) -> Vec<Cell> {
    let RelationReport { crossings, crossings_after, packets, latency_ns: times, .. } = relation;
    let periods = [Some(times.before), Some(times.during).filter(|_| changes), Some(times.after)];
    let medians = periods.iter().flatten().map(|own| own.p50);
    let worst = periods.iter().flatten().map(|own| own.p99);
    let mut cells = vec![Cell::new(ends(relation)), number(routers(*crossings, *crossings_after))];
    cells.extend(medians.chain(worst).map(|ns| number(latency(ns))));
    let lost = [packets.lost_to_failure, packets.lost_to_change];
    cells.push(number(count(packets.delivered)));
    match changes {
        true => cells.extend(lost.map(|packets| number(count(packets)))),
        false => cells.push(number(count(run::discarded(packets)))),
    }
    cells
}

/// What was discarded where nothing changes, by reason.
pub(super) fn reasons(report: &SimulationReport) -> String {
    let by_routers = report.relay_discards.iter().map(|(why, number)| (why.replace('-', " "), *number));
    let others =
        [("lifetime".to_string(), report.lifetime_discards), ("misdelivered".to_string(), report.misdelivered)];
    let losses = by_routers.chain(others).filter(|&(_, number)| number > 0);
    losses.map(|(why, number)| format!("{why} {}", count(number))).collect::<Vec<_>>().join(", ")
}

/// What the links of routers carried, either way, before the change and after it.
pub(super) fn router_loads(text: &mut String, routers: &[RouterReport]) {
    if routers.is_empty() {
        return;
    }
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
pub(super) fn unsendable(text: &mut String, relations: &[RelationReport]) {
    for relation in relations {
        let Some(number) = relation.parted.filter(|&number| number > 0) else { continue };
        let (from, to, number) = (&relation.from, &relation.to, counted(number, "packet"));
        line(text, format_args!("{from} → {to}: {number} were not sent, since their ends share no partition"));
    }
    for relation in relations.iter().filter(|relation| relation.unsendable > 0) {
        let (from, to, number) = (&relation.from, &relation.to, counted(relation.unsendable, "packet"));
        line(text, format_args!("{from} → {to}: no router leads there; {number} were not sent"));
    }
}

/// What hosts did not send at all.
pub(super) fn unsent(relations: &[RelationReport]) -> String {
    let pairs = |of: fn(&RelationReport) -> u64, why: &str| {
        let own = || relations.iter().map(of).filter(|&number| number > 0);
        let [packets, between] =
            [(own().sum(), "packet"), (own().count() as u64, "relation")].map(|(number, name)| counted(number, name));
        if own().count() == 0 { String::new() } else { format!("; {packets} of {between} not sent: {why}") }
    };
    let cut = relations.iter().filter(|relation| relation.unsendable > 0);
    let any_more = cut.clone().count() > 0 && cut.clone().all(|relation| relation.crossings.is_some());
    let no_way = if any_more { "no router leads there any more" } else { "no router leads there" };
    let unsendable = pairs(|relation| relation.unsendable, no_way);
    unsendable + &pairs(|relation| relation.parted.unwrap_or(0), "no partition in common")
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
