//! The page about a plan.

use super::super::cut_off;
use super::super::plan::{self, ChangedRow, ChangedRows, PlanFacts, PlanReport, Refused, WaveFacts};
use super::super::quantity::{count, counted, duration, engine_pair, repaired, root_pair, size_of};
use super::parts::{self, TableField, named, table};
use super::{Origin, ResultPage, cycle, fabric};
use maud::{Markup, html};
use reconfig::ids::PortNum;
use reconfig::verify::{ProofStatistics, Refusal};

/// The page of `reconfig plan`.
pub fn plan_page(report: &PlanReport, origin: &Origin) -> String {
    let word = match (&report.plan, &report.refusal, report.strands()) {
        _ if report.unplanned.is_some() => ("not planned", "bad"),
        (_, Some(_), _) => ("refused", "bad"),
        (_, None, Some(_)) => ("cuts hosts off", "bad"),
        (None, ..) => ("nothing to change", "good"),
        _ => ("proved", "good"),
    };
    let engine = engine_pair(report.engine, report.engine_after);
    let roots = root_pair(report.root_before.as_deref(), report.root_after.as_deref()) + repaired(report.repairs);
    let cut = report.strands().map(|first| cut_off::first_and_fix(&report.cut_off, first));
    let page = ResultPage {
        command: "plan",
        word,
        sentence: sentence(report).replace("in-place", "in\u{2011}place"),
        beside: cut.into_iter().chain(waits(report)).collect(),
        what: format!("{} change; routing {engine}{roots}", report.departure),
        body: html! {
            // What speaks against a plan comes before what the plan would do.
            @if let Some(refused) = &report.refusal {
                section { h2 { "The refusal" } (parts::refusal(&refused.text)) (evidence(report)) }
            }
            @if let Some(facts) = &report.plan { (planned(report, facts)) }
            @if let Some(why) = &report.unplanned {
                @let told = answered(why).map_or(why.as_str(), |(_, rest)| rest);
                section { h2 { "Why there is no plan" } (parts::paragraphs(told, "")) (evidence(report)) }
            }
            @if report.plan.is_none() { (parts::notes(&report.notes)) }
            @if report.unplanned.is_none() { (parts::in_full(&plan::plan(report), report.plan.is_none())) }
            (parts::again(origin, settings(report)))
        },
    };
    page.render(origin.version)
}

fn sentence(report: &PlanReport) -> String {
    let scheme = report.plan.as_ref().map_or_else(String::new, |facts| format!(" by scheme {}", facts.scheme));
    let Some(facts) = report.plan.as_ref().filter(|_| report.refusal.is_none()) else {
        return match &report.refusal {
            Some(refused) => {
                format!("The change{scheme} is refused: {}.", refused.text.lines().next().unwrap_or_default())
            }
            None => match &report.unplanned {
                Some(why) => match answered(why) {
                    Some((answer, _)) => format!("The change cannot be planned: {answer}."),
                    None => "The change cannot be planned.".to_string(),
                },
                None => "Both captures have the same nodes and cables.".to_string(),
            },
        };
    };
    let cost = match facts.waves.len() as u64 {
        0 => "it needs no writes".to_string(),
        waves => format!(
            "it takes {} in {} ({} of writing)",
            counted(facts.smps as u64, "SMP"),
            counted(waves, "wave"),
            duration(facts.expected_ns)
        ),
    };
    let staying: Vec<String> = report.cut_off.iter().filter(|port| !port.leaves).map(ToString::to_string).collect();
    match (&staying[..], report.strands()) {
        ([], _) => format!("The change is proved at every moment; {cost} and cuts off no end port."),
        (ports, None) => {
            let all = counted(ports.len() as u64, "end port");
            format!("The change is proved at every moment; {cost} and cuts off {all}: {}.", some_of(ports))
        }
        (_, Some(_)) => format!("{} The change itself is proved; {cost}.", cut_off::refused(&report.cut_off)),
    }
}

/// The first of these names, and how many more there are.
fn some_of(names: &[String]) -> String {
    const NAMED: usize = 3;
    let first = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) as u64 {
        0 => first,
        more => format!("{first} and {} more", count(more)),
    }
}

/// The first line of a reason as the answer, and the rest as what it rests on; none where only the whole says it: where
/// there is one line, where the others are its evidence, or where it is no headline for its length.
fn answered(why: &str) -> Option<(&str, &str)> {
    const HEADLINE: usize = 80;
    why.split_once('\n').filter(|(first, rest)| first.len() <= HEADLINE && !rest.starts_with(' '))
}

/// That a change takes longer than its writes.
fn waits(report: &PlanReport) -> Vec<String> {
    let waits = report.waits_ns;
    let is_planned = report.plan.is_some() && report.refusal.is_none();
    let told = || {
        format!(
            "Beside its writes the change waits {} by the clock, until no packet can be where it must not be.",
            duration(waits)
        )
    };
    (waits > 0 && is_planned).then(told).into_iter().collect()
}

fn planned(report: &PlanReport, facts: &PlanFacts) -> Markup {
    let proof = report.proof.as_ref().filter(|_| report.refusal.is_none());
    let cut_off: Vec<String> = report.cut_off.iter().map(ToString::to_string).collect();
    let circle = cycle::switches_of(report.refusal.as_ref().map(|refused| &refused.evidence));
    let number = |of: fn(&ProofStatistics) -> usize| proof.map_or("–".to_string(), |own| count(of(own) as u64));
    html! {
        (parts::figures(&[
            ("scheme", facts.scheme.name().to_string(), ""),
            ("waves", count(facts.waves.len() as u64), ""),
            ("Sets", count(facts.smps as u64), ""),
            ("expected, for writes", duration(facts.expected_ns), ""),
            ("end ports cut off", count(cut_off.len() as u64), ""),
            ("dependencies proved", number(|own| own.dependencies), ""),
        ]))
        section {
            h2 { "What changes" }
            div class="columns" {
                (named("Removed", &facts.leaves, "leaves"))
                (named("Isolated", &facts.isolated, "cutoff"))
                (named("Comes", &facts.comes, "comes"))
                (named("Cables cut", &facts.cut, "leaves"))
                (named("Cables joined", &facts.joined, "comes"))
                (named("Cut off for good", &cut_off, "cutoff"))
            }
            @if let Some(map) = &report.map { (fabric::draw_circle(map, "plan-fabric", &circle)) }
        }
        section {
            h2 { "Waves" }
            (table("In order; each ends when its barriers hold", &WAVES, facts.waves.iter().map(wave), false))
            (rows(&report.rows))
        }
        section {
            h2 { "Proof" }
            @if let Some(own) = proof {
                (parts::pairs("The proof in numbers", [
                    ("channels that can be occupied", count(own.channels as u64)),
                    ("lanes", count(own.lanes as u64)),
                    ("dependencies between lanes", count(own.dependencies as u64)),
                    ("classes of packets", count(own.classes as u64)),
                ]))
            } @else { p { "There is no proof of this plan." } }
            (parts::assumed(facts.assumptions.iter().copied()))
            (parts::notes(&[&facts.notes[..], &report.notes].concat()))
        }
    }
}

/// The forwarding entries that change, folded.
fn rows(rows: &ChangedRows) -> Markup {
    let of = |own: &ChangedRow| {
        let port = |port: Option<PortNum>| port.map_or("–".to_string(), |port| port.to_string());
        let ports = [own.old, own.new].map(|own| TableField::plain(port(own)));
        let lid = TableField::plain(own.lid.to_string());
        [TableField::text(&own.switch), lid, TableField::text(&own.owner)].into_iter().chain(ports).collect()
    };
    let omitted = (rows.all - rows.first.len()) as u64;
    html! {
        @if rows.all > 0 {
            // On paper it stays closed, as bins do.
            details class="bins" {
                summary { (counted(rows.all as u64, "row")) " (switch and LID) with another output port afterwards" }
                (table("The output port of each, before the first wave and after the last", &ROWS, rows.first.iter().map(of), true))
                @if omitted > 0 { p class="unit" { (counted(omitted, "row")) " more are not shown; --output writes a plan with all." } }
            }
        }
    }
}

const ROWS: [&str; 5] = ["switch", "LID", "owner", "old port", "new port"];
const WAVES: [&str; 6] = ["wave", "Sets", "busiest device", "expected", "writes", "barriers"];

fn wave(own: &WaveFacts) -> Vec<TableField> {
    let cost = &own.cost;
    // No line ends between a number and what it counts.
    let writes: Vec<String> =
        cost.writes.iter().map(|(name, writes)| format!("{}\u{a0}{name}", count(*writes as u64))).collect();
    vec![
        TableField::text(&own.name),
        TableField::count(cost.smps as u64),
        TableField::count(cost.busiest as u64),
        TableField::ranked(duration(cost.expected_ns), cost.expected_ns),
        TableField::text(&writes.join(" + ")),
        TableField::text(&own.barriers.join(", ")),
    ]
}

/// What was refused, drawn where it is a circle. Where one plan was tried, its text stands above already.
fn evidence(report: &PlanReport) -> Markup {
    let own = report.refusal.iter().filter(|_| report.attempts.is_empty());
    html! {
        @for refused in own { (drawn(refused, "plan-cycle").unwrap_or_default()) }
        @for (rank, refused) in report.attempts.iter().enumerate() {
            h3 { "Refused: " (refused.what) }
            (drawn(refused, &format!("plan-cycle-{rank}")).unwrap_or_else(|| parts::paragraphs(&refused.text, "")))
        }
    }
}

fn drawn(refused: &Refused, id: &str) -> Option<Markup> {
    match &refused.evidence {
        Refusal::Deadlock(own) => Some(cycle::refused(own, id)),
        Refusal::Loop(own) => Some(cycle::looped(own, id)),
        _ => None,
    }
}

fn settings(report: &PlanReport) -> Vec<(&'static str, String)> {
    let Some(facts) = &report.plan else { return Vec::new() };
    let size = facts.fabric;
    let written = report.file.clone().unwrap_or_else(|| "nothing".to_string());
    vec![
        ("fabric", size_of(size.switches, (size.cas, "CA"), size.links)),
        ("digest in the plan", facts.digest.to_string()),
        ("SM", facts.sm.clone()),
        ("written", written),
    ]
}
