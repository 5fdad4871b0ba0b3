//! The page about an audit.

use super::super::audit::{audit, has_safe_ends, unsafe_between};
use super::super::audit_whole::unsafe_whole;
use super::super::quantity::{count, counted};
use super::parts;
use super::{Origin, ResultPage, cycle, fabric, subnets};
use maud::{Markup, html};
use reconfig::audit::{Audit, AuditReport, AuditVerdict, AuditedSubnet};
use reconfig::scenario::FabricMap;

/// The page of `reconfig audit`, with a map for each subnet: of an update, the fabric after it.
pub fn audit_page(report: &AuditReport, maps: &[FabricMap], origin: &Origin) -> String {
    let told = audit(report);
    let page = ResultPage {
        command: "audit",
        word: match report.verdict {
            AuditVerdict::Safe => ("safe", "good"),
            AuditVerdict::Unsafe => ("unsafe", "bad"),
            AuditVerdict::Unknown => ("not known", "bad"),
        },
        sentence: sentence(report),
        beside: Vec::new(),
        what: match &report.whole {
            None if is_update(report) => "an update in place, and both routings".to_string(),
            None => "the routing as it runs".to_string(),
            Some(_) if report.subnets.len() == 1 => "the routing that an engine computes".to_string(),
            Some(_) => format!("{} with their routers", counted(report.subnets.len() as u64, "subnet")),
        },
        body: html! {
            @for (subnet, map) in report.subnets.iter().zip(maps) { (tables(subnet, map)) }
            @if let Some(whole) = &report.whole {
                (subnets::audited(&report.subnets, whole))
                @for (rank, (subnet, map)) in report.subnets.iter().zip(maps).enumerate() {
                    section { h2 { "Subnet " (subnet.name) } (fabric::draw_circle(map, &format!("s{rank}-fabric"), &[])) }
                }
            }
            (parts::in_full(&told, lists_faults(report)))
            (parts::again(origin, Vec::new()))
        },
    };
    page.render(origin.version)
}

/// Whether faults are named there that nothing above shows: circles are drawn.
fn lists_faults(report: &AuditReport) -> bool {
    report.audits().any(|own| own.faults.iter().any(|fault| *fault != "credit-loops"))
}

fn is_update(report: &AuditReport) -> bool {
    report.subnets.iter().any(|subnet| subnet.transition.is_some())
}

/// What was found in the tables of a subnet, where they were read.
fn tables(subnet: &AuditedSubnet, map: &FabricMap) -> Markup {
    html! {
        @match (&subnet.tables, &subnet.transition) {
            (None, _) => {}
            (Some(found), None) => { (judged("The routing", found, "audit", Some(map))) }
            (Some(found), Some(routings)) => {
                (judged("Before the update", &routings.before.found, "before", None))
                (judged("During it: every mixture of old and new entries", found, "during", Some(map)))
                (judged("After it", &routings.after.found, "after", None))
            }
        }
    }
}

fn sentence(report: &AuditReport) -> String {
    let moment = is_update(report);
    match report.verdict {
        AuditVerdict::Safe if moment => {
            "The update is safe at every moment: made in place, in any order, it closes no credit loop."
        }
        AuditVerdict::Safe => "No credit loop, no loop, no black hole: every path arrives.",
        AuditVerdict::Unsafe => return parts::sentence(&fault(report)),
        AuditVerdict::Unknown => "No fault in what is known, but a part of the fabric or of its tables is not known.",
    }
    .to_string()
}

/// What is unsafe, in words.
fn fault(report: &AuditReport) -> String {
    if let Some(whole) = &report.whole {
        return unsafe_whole(whole);
    }
    let between = report.subnets.iter().find_map(|subnet| {
        let is_between = subnet.transition.as_deref().is_some_and(has_safe_ends);
        subnet.tables.as_ref().filter(|_| is_between)
    });
    between.map(unsafe_between).unwrap_or_else(|| {
        let when = if is_update(report) { "at some moment the routing is unsafe" } else { "the routing is unsafe" };
        let cycle = report.audits().find_map(|own| own.credit_loops.cycle.as_ref());
        let waits =
            cycle.map(|own| format!("{} can wait for each other in a cycle", counted(own.len() as u64, "lane")));
        let others = faults(report).into_iter().filter(|fault| waits.is_none() || fault != "credit loops");
        format!("{when}: {}", waits.iter().cloned().chain(others).collect::<Vec<_>>().join(", "))
    })
}

/// The faults at any moment, in words, each once.
fn faults(report: &AuditReport) -> Vec<String> {
    let mut faults: Vec<String> =
        report.audits().flat_map(|own| &own.faults).map(|name| name.replace('-', " ")).collect();
    let mut seen = std::collections::BTreeSet::new();
    faults.retain(|fault| seen.insert(fault.clone()));
    faults
}

fn judged(title: &str, audit: &Audit, id: &str, map: Option<&FabricMap>) -> Markup {
    let class = |found: usize| if found > 0 { "bad" } else { "good" };
    let loops = audit.credit_loops.components.len();
    let figures = [
        ("knots of credit loops", loops),
        ("loops", audit.loops.count),
        ("black holes", audit.black_holes.count),
        ("wrong arrivals", audit.wrong_arrivals.count),
        ("pairs not connected", audit.unreachable_pairs.count),
        ("pairs not known", audit.unknown_pairs.count),
    ]
    .map(|(name, found)| (name, count(found as u64), class(found)));
    let circle = audit.credit_loops.cycle.iter().flatten().map(|own| own.switch.name.as_str()).collect::<Vec<_>>();
    html! {
        section {
            h2 { (title) }
            (parts::figures(&figures))
            @if let Some(own) = &audit.credit_loops.cycle {
                p { @if audit.credit_loops.shortest { "The shortest credit loop" } @else { "A short credit loop" } " has " (counted(own.len() as u64, "lane")) "." }
                (cycle::audited(own, &format!("{id}-cycle")))
            }
            @if let Some(map) = map { (fabric::draw_circle(map, &format!("{id}-fabric"), &circle)) }
            (parts::pairs("What was judged", [
                ("pairs of source and LID", count(audit.pairs as u64)),
                ("channels occupied", count(audit.channels as u64)),
                ("lanes", count(audit.lanes as u64)),
                ("dependencies", count(audit.dependencies as u64)),
            ]))
        }
    }
}
