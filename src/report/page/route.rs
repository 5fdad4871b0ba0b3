//! The page about the routing of one subnet or of several.

use super::super::quantity::{count, counted, size_of};
use super::super::routing::{self, RouteReport, SubnetRoute};
use super::parts::{self, TableField, table};
use super::{Origin, ResultPage, cycle, fabric};
use maud::{Markup, html};
use reconfig::scenario::FabricMap;
use reconfig::verify::Refusal;

/// The page of `reconfig route`, with a map for each subnet.
pub fn route_page(report: &RouteReport, maps: &[FabricMap], origin: &Origin) -> String {
    let refused = report.subnets.iter().filter(|own| !own.safe).count() as u64;
    let subnets = counted(report.subnets.len() as u64, "subnet");
    let page = ResultPage {
        command: "route",
        word: if report.safe { ("proved", "good") } else { ("refused", "bad") },
        sentence: match (&report.subnets[..], refused) {
            ([_], 0) => "The routing is proved free of deadlock.".to_string(),
            ([only], _) => {
                let why = only.facts.refusal.as_ref().map_or_else(String::new, ToString::to_string);
                format!("The routing is refused: {}.", why.lines().next().unwrap_or_default())
            }
            (_, 0) => format!("The routings of {subnets} are proved, each by itself."),
            (_, some) => format!("{} of {subnets} are refused.", count(some)),
        },
        beside: Vec::new(),
        what: report.subnets.first().map_or_else(String::new, |own| {
            let root = own.facts.root.as_ref().map_or_else(String::new, |root| format!(", root {root}"));
            let size = own.facts.fabric;
            let of = size_of(size.switches, (size.cas, "CA"), size.links);
            if report.subnets.len() > 1 {
                format!("{subnets}; engine {}", own.facts.engine)
            } else {
                format!("engine {}{root}; {of}", own.facts.engine)
            }
        }),
        body: html! {
            @if report.subnets.len() > 1 { (each(report)) }
            @for (rank, (own, map)) in report.subnets.iter().zip(maps).enumerate() {
                (subnet(own, map, report.subnets.len() > 1, &format!("s{rank}")))
            }
            (parts::in_full(&routing::route(report), false))
            (parts::again(origin, Vec::new()))
        },
    };
    page.render(origin.version)
}

/// The subnets side by side.
fn each(report: &RouteReport) -> Markup {
    let row = |own: &SubnetRoute| {
        let facts = &own.facts;
        let size = facts.fabric;
        let counts =
            [size.switches as u64, size.cas as u64, facts.lids.total as u64, facts.paths.count, facts.paths.most];
        let proof = if own.safe { "proved" } else { "refused" };
        [TableField::text(&own.name), TableField::text(proof)]
            .into_iter()
            .chain([TableField::text(&facts.layers.to_string())])
            .chain(counts.map(TableField::count))
            .chain([TableField::count(facts.load.most.into())])
            .collect()
    };
    let header = ["subnet", "routing", "layers", "switches", "CAs", "LIDs", "paths", "most switches", "busiest cable"];
    html! {
        section {
            h2 { "The subnets" }
            (table("Each subnet, judged by itself", &header, report.subnets.iter().map(row), true))
        }
    }
}

fn subnet(own: &SubnetRoute, map: &FabricMap, several: bool, id: &str) -> Markup {
    let facts = &own.facts;
    let size = facts.fabric;
    let busiest = facts.load.busiest.clone().unwrap_or_else(|| "–".to_string());
    html! {
        section {
            h2 { @if several { "Subnet " (own.name) } @else { "The routing" } }
            (parts::figures(&[
                ("virtual layers", facts.layers.to_string(), ""),
                ("LIDs", count(facts.lids.total as u64), ""),
                ("paths", count(facts.paths.count), ""),
                ("most switches on a path", count(facts.paths.most), ""),
                ("paths on the busiest cable", count(facts.load.most.into()), ""),
                ("proof", if own.safe { "proved" } else { "refused" }.to_string(), if own.safe { "good" } else { "bad" }),
            ]))
            @if facts.refusal.is_none() { (fabric::draw_circle(map, &format!("{id}-fabric"), &[])) }
            (parts::pairs("In numbers", [
                ("fabric", size_of(size.switches, (size.cas, "CA"), size.links)),
                ("data VLs", facts.data_vls.to_string()),
                ("switches on an average path", format!("{:.2}", facts.paths.mean)),
                ("port that sends into the busiest cable", busiest),
                ("paths on an average cable", format!("{:.1}", facts.load.mean)),
            ]))
            @if let Some(proof) = &facts.proof {
                (parts::pairs("The proof", [
                    ("channels that can be occupied", count(proof.channels as u64)),
                    ("lanes", count(proof.lanes as u64)),
                    ("dependencies between lanes", count(proof.dependencies as u64)),
                ]))
            }
            @if let Some(refusal) = &facts.refusal {
                (parts::refusal(&refusal.to_string()))
                @if let Refusal::Deadlock(own) = refusal { (cycle::refused(own, &format!("{id}-cycle"))) }
                (fabric::draw_circle(map, &format!("{id}-fabric"), &cycle::switches_of(Some(refusal))))
            }
            @if !facts.files.is_empty() { (parts::named("Files written", &facts.files, "comes")) }
        }
    }
}
