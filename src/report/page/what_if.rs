//! The page about losses: each switch and cable, the worst first.

use super::super::quantity::{count, counted, duration, size_of};
use super::super::what_if::{self, ChangeFacts, LossReport, WhatIfReport};
use super::parts::{self, TableField, table};
use super::{Origin, ResultPage};
use maud::{Markup, html};

/// The most losses that the page lists: the worst.
const MOST_LOSSES: usize = 5_000;

/// The page of `reconfig what-if`.
pub fn what_if_page(report: &WhatIfReport, origin: &Origin) -> String {
    let unproved = report.refused();
    let size = report.fabric;
    let at_once = if report.at_once == 1 { "each loss alone" } else { "every two losses at once" };
    let page = ResultPage {
        command: "what-if",
        word: if report.is_yes() { ("every loss answered", "good") } else { ("not every loss answered", "bad") },
        sentence: parts::sentence(&what_if::answer(report)),
        beside: Vec::new(),
        what: format!("{at_once}; routing {}, SM on {}", report.engine, report.sm),
        body: html! {
            (glance(report, unproved))
            (losses(&report.losses))
            @if unproved > 0 { (refusals(&report.losses)) }
            (parts::notes(&report.notes))
            (parts::again(origin, vec![
                ("fabric", size_of(size.switches, (size.cas, "CA"), size.links)),
                ("devices", report.devices.profile.name().to_string()),
            ]))
        },
    };
    page.render(origin.version)
}

fn glance(report: &WhatIfReport, unproved: usize) -> Markup {
    let losses = &report.losses;
    let number = |is: fn(&LossReport) -> bool| count(losses.iter().filter(|loss| is(loss)).count() as u64);
    let longest = losses.iter().filter_map(LossReport::back_ns).max().map_or("–".to_string(), duration);
    parts::figures(&[
        ("losses looked at", count(losses.len() as u64), ""),
        ("without a proved change", count(unproved as u64), if unproved > 0 { "bad" } else { "good" }),
        ("cut off end ports", number(|loss| !loss.cut_off.is_empty()), ""),
        ("of others than their own", number(|loss| loss.cut_off_elsewhere > 0), ""),
        ("need a standby manager", number(|loss| loss.needs_standby), ""),
        ("back at the latest after", longest, ""),
    ])
}

fn losses(losses: &[LossReport]) -> Markup {
    let header = ["loss", "rank", "cut off", "elsewhere", "pairs out", "back after", "scheme", "waves", "SMPs"];
    let omitted = losses.len().saturating_sub(MOST_LOSSES) as u64;
    html! {
        section {
            h2 { "Losses by harm" }
            p { "The worst first: those that no proved change answers, then those that cut off most end ports, then those by which most pairs are out for longest. Times count from the manager's first write." }
            (table("A press on a heading sorts by it", &header, losses.iter().take(MOST_LOSSES).enumerate().map(row), true))
            @if omitted > 0 { p class="unit" { (counted(omitted, "loss")) " less harmful are not shown; --csv has all." } }
        }
    }
}

fn row((rank, loss): (usize, &LossReport)) -> Vec<TableField> {
    let own = loss.change.as_ref();
    let of = |value: fn(&ChangeFacts) -> u64| {
        own.map_or(TableField::ranked("–".to_string(), 0), |own| TableField::count(value(own)))
    };
    let back = loss.back_ns();
    vec![
        TableField::text(&loss.dies.join(" and ")),
        TableField::count(rank as u64 + 1),
        TableField::count(loss.cut_off.len() as u64),
        TableField::count(loss.cut_off_elsewhere as u64),
        TableField::count(loss.pairs),
        back.map_or(TableField::ranked("–".to_string(), 0), |ns| TableField::ranked(duration(ns), ns)),
        TableField::text(what_if::scheme_name(loss)),
        of(|own| own.waves as u64),
        of(|own| own.smps as u64),
    ]
}

fn refusals(losses: &[LossReport]) -> Markup {
    html! {
        section {
            h2 { "Why no change is proved" }
            @for loss in losses.iter().take(100) {
                @if let Some(why) = &loss.refusal { h3 { (loss.dies.join(" and ")) } (parts::refusal(why)) }
            }
        }
    }
}
