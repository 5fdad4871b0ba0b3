//! What pages show of several subnets and the routers between them: the figures of the screen as tables.

use super::super::quantity::{count, counted, latency, percent};
use super::super::{run, subnets};
use super::parts::{self, TableField, table};
use maud::{Markup, html};
use reconfig::audit::{AuditedSubnet, WholeAudit};
use reconfig::routers::LevelsRule;
use reconfig::scenario::{Periods, PortLoad, RelationReport, SimulationReport};

/// The subnets of a run, their routers, and what became of packets from each to each; nothing of one subnet.
pub(super) fn simulated(report: &SimulationReport) -> Markup {
    if report.settings.between.is_none() {
        return html! {};
    }
    let rows = report.subnets.iter().map(|own| {
        let counts = [own.fabric.switches, own.hosts, own.fabric.links, own.lmc.into()];
        [TableField::text(&own.name), TableField::text(&own.prefix.to_string())]
            .into_iter()
            .chain(counts.map(|number| TableField::count(number as u64)))
            .chain([TableField::text(&own.sm)])
            .collect()
    });
    let header = ["subnet", "prefix", "switches", "hosts", "cables", "LMC", "manager on"];
    html! {
        section {
            h2 { @if report.subnets.len() > 1 { "The subnets" } @else { "The subnet" } }
            (table("Each subnet", &header, rows, false))
            @if !report.routers.is_empty() { (routers(report)) }
        }
        @if report.subnets.len() > 1 {
            section {
                h2 { "From subnet to subnet" }
                (relations(report))
                (parts::paragraphs(&unsent(report), ""))
            }
        } @else {
            (parts::paragraphs(&unsent(report), ""))
        }
    }
}

/// What hosts could not send, a line for each pair of subnets.
fn unsent(report: &SimulationReport) -> String {
    let mut text = String::new();
    subnets::unsendable(&mut text, &report.relations);
    text
}

fn routers(report: &SimulationReport) -> Markup {
    // Sorted by a tenth of a thousandth, which is what a percentage with two decimals shows.
    let share = |load: f64| TableField::ranked(percent(load), (load * 10_000.0) as u64);
    let of = |load: PortLoad| [load.load_in, load.load_out].map(share);
    let rows = report.routers.iter().flat_map(|router| &router.ports).map(|port| {
        let name = if port.stays { port.name.clone() } else { format!("{} (leaves)", port.name) };
        let loads = of(port.carried.before).into_iter().chain(of(port.carried.after));
        [TableField::text(&name)].into_iter().chain(loads).collect()
    });
    let header = ["port of a router", "in, before", "out, before", "in, after", "out, after"];
    let caption = format!("{}: what their links carried", counted(report.routers.len() as u64, "router"));
    table(&caption, &header, rows, report.routers.len() > 4)
}

fn relations(report: &SimulationReport) -> Markup {
    let changes = report.has_change();
    let lost: &[&str] = if changes { &["lost to the failure", "lost to the change"] } else { &["discarded"] };
    let periods = ["before", "during", "after"].into_iter().filter(|name| changes || *name != "during");
    let header = ["from → to", "routers", "delivered"].into_iter().chain(lost.iter().copied()).chain(periods);
    let row = |own: &RelationReport| -> Vec<TableField> {
        let Periods { before, during, after } = own.latency_ns;
        let times = [Some(before), Some(during).filter(|_| changes), Some(after)].into_iter().flatten();
        let lost = if changes {
            vec![own.packets.lost_to_failure, own.packets.lost_to_change]
        } else {
            vec![run::discarded(&own.packets)]
        };
        let crossed = subnets::routers(own.crossings, own.crossings_after);
        [TableField::text(&subnets::ends(own)), TableField::plain(crossed), TableField::count(own.packets.delivered)]
            .into_iter()
            .chain(lost.into_iter().map(TableField::count))
            .chain(times.map(|own| TableField::ranked(latency(own.p50), own.p50).over(latency(own.p99))))
            .collect()
    };
    let sent = report.relations.iter().filter(|own| own.packets.injected > 0);
    let caption = "Packets by the subnets of their ends; the median of their latency by period, and p99 below it";
    table(caption, &header.collect::<Vec<_>>(), sent.map(row), true)
}

/// What was found of subnets that an engine routes, and of the routers between them.
pub(super) fn audited(listed: &[AuditedSubnet], found: &WholeAudit) -> Markup {
    let paths = &found.paths;
    let class = |is_bad: bool| if is_bad { "bad" } else { "good" };
    let lost = paths.by_crossings.iter().map(|own| own.lost).sum::<u64>();
    let deadlock = if found.refusal.is_some() { "not excluded" } else { "none possible" };
    let figures = [
        ("pairs of hosts", count(paths.pairs()), ""),
        ("pairs that lose paths", count(paths.faulty_pairs), class(paths.faulty_pairs > 0)),
        ("paths lost", count(lost), class(lost > 0)),
        ("deadlock", deadlock.to_string(), class(found.refusal.is_some())),
        ("routers", count(found.routers as u64), ""),
    ];
    let subnets = listed.iter().map(|own| {
        let counts = [own.switches, own.hosts].map(|number| TableField::count(number as u64));
        [TableField::text(&own.name), TableField::text(&own.prefix.to_string())].into_iter().chain(counts).collect()
    });
    let crossings = paths.by_crossings.iter().map(|own| {
        let lost = TableField::count(own.lost);
        let [pairs, paths, longest] = [own.pairs, own.paths, own.longest.into()].map(TableField::count);
        let lost = if own.lost > 0 { lost.amiss() } else { lost };
        vec![TableField::text(&own.crossings.to_string()), pairs, paths, lost, longest]
    });
    let faults = paths.faults.iter().map(|own| {
        let pair = format!("{} → {}", own.source, own.destination);
        vec![TableField::text(&pair), TableField::text(&own.why.to_string())]
    });
    html! {
        (parts::figures(&figures))
        section {
            h2 { "Paths" }
            (table("By the routers that a path crosses", &["routers", "pairs of hosts", "paths", "lost", "most switches"], crossings, false))
            @if !paths.faults.is_empty() {
                (table("Lost: the first pairs, and why", &["from → to", "why"], faults, false))
            }
            @if let Some(parted) = paths.parted.filter(|&pairs| pairs > 0) {
                p { (counted(parted, "ordered pair")) " share no partition, and so have no path." }
            }
        }
        @if let Some(refusal) = &found.refusal {
            section { h2 { "Why a deadlock is not excluded" } (parts::refusal(&refusal.to_string())) }
        }
        section {
            h2 { "The subnets" }
            (table("Each subnet", &["subnet", "prefix", "switches", "hosts"], subnets, false))
            (parts::pairs("How they are routed", routed(found)))
        }
    }
}

fn routed(found: &WholeAudit) -> Vec<(&'static str, String)> {
    let layers = counted(found.layers.into(), "layer");
    let levels = match found.router_sl {
        LevelsRule::Keep => "kept".to_string(),
        LevelsRule::Turn => format!("raised by a layer where ways turn: {layers}"),
        LevelsRule::Raise => format!("raised by a layer at each router: {layers}"),
    };
    let proof = found.proof.iter().flat_map(|own| {
        let numbers = [
            ("lanes", own.lanes),
            ("dependencies in subnets", own.dependencies),
            ("dependencies through routers", own.couplings),
        ];
        numbers.map(|(name, number)| (name, count(number as u64)))
    });
    let engine = ("engine", found.engine.clone());
    let lanes = ("data VLs", found.data_vls.to_string());
    let levels = (found.routers > 0).then_some(("service levels at routers", levels));
    [engine, lanes].into_iter().chain(levels).chain(proof).collect()
}
