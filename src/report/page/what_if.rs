//! What each loss would do, as a page: the worst first, every column sortable.

use super::super::quantity::{count, counted, duration, size_of};
use super::super::what_if::{LossReport, WhatIfReport, answer};
use super::sections::{PageField, rerun, table};
use super::{Heading, Origin};
use maud::{Markup, html};

/// The most losses of the table: the worst.
const MOST_LOSSES: usize = 5_000;

/// The page of a report whose worst losses come first.
pub fn what_if_page(report: &WhatIfReport, origin: &Origin) -> String {
    let word = if report.is_yes() { ("all answered", "good") } else { ("not all answered", "bad") };
    let answer = answer(report);
    let mut sentence = answer.trim().to_string();
    if let Some(first) = sentence.get(..1) {
        sentence.replace_range(..1, &first.to_uppercase());
    }
    let standby = report.losses.iter().filter(|loss| loss.needs_standby).count() as u64;
    let mut beside = Vec::new();
    if standby > 0 {
        let they = if standby == 1 {
            "takes the subnet manager with it, and needs"
        } else {
            "take the subnet manager with them, and need"
        };
        beside.push(format!("{} {they} a standby.", counted(standby, "loss")));
    }
    let at_once = if report.at_once == 1 { "each alone" } else { "every two at once" };
    let looked = [(report.switches, "switch"), (report.cables, "cable"), (report.host_cables, "host cable")];
    let looked: Vec<String> =
        looked.iter().filter(|(number, _)| *number > 0).map(|&(number, name)| counted(number as u64, name)).collect();
    let heading = Heading {
        command: "reconfig what-if",
        title: "What if".to_string(),
        word,
        sentence: format!("{sentence}."),
        beside,
        what: format!("{}, {at_once}; engine {}, SM on {}", looked.join(", "), report.engine, report.sm),
    };
    heading.above(&html! { (figures(report)) (losses(report)) (refusals(report)) (again(report, origin)) }, origin)
}

fn figures(report: &WhatIfReport) -> Markup {
    let of = |is: &dyn Fn(&LossReport) -> bool| count(report.losses.iter().filter(|loss| is(loss)).count() as u64);
    let unproved = report.losses.iter().any(|loss| loss.change.is_none());
    let slowest = report.losses.iter().filter_map(|loss| loss.change.as_ref()).map(|own| own.reconnected_ns).max();
    let figures = [
        ("losses", count(report.losses.len() as u64), ""),
        ("without a proved change", of(&|loss| loss.change.is_none()), if unproved { "bad" } else { "good" }),
        ("cut off end ports", of(&|loss| !loss.cut_off.is_empty()), ""),
        ("move hosts", of(&|loss| loss.change.as_ref().is_some_and(|own| own.scheme.name() == "double")), ""),
        ("need no write", of(&|loss| loss.change.as_ref().is_some_and(|own| own.waves == 0)), ""),
        ("longest until back", slowest.map_or("–".to_string(), duration), ""),
    ];
    html! {
        dl class="figures" { @for (name, value, class) in figures { div { dt { (name) } dd class=(class) { (value) } } } }
    }
}

fn losses(report: &WhatIfReport) -> Markup {
    let header = ["loss", "cut off", "elsewhere", "pairs out", "back after", "scheme", "waves", "SMPs"];
    let row = |loss: &LossReport| {
        let number = |value: Option<u64>| {
            value.map_or(PageField::ranked("–".to_string(), 0), |value| PageField::ranked(count(value), value))
        };
        let own = loss.change.as_ref();
        let back = own.filter(|own| own.pairs > 0).map(|own| own.reconnected_ns);
        let scheme = own.map_or("none proved", |own| if own.waves == 0 { "none needed" } else { own.scheme.name() });
        vec![
            PageField::text(&loss.dies.join(" and ")),
            PageField::count(loss.cut_off.len() as u64),
            PageField::count(loss.cut_off_elsewhere as u64),
            number(own.map(|own| own.pairs)),
            back.map_or(PageField::ranked("–".to_string(), 0), |ns| PageField::ranked(duration(ns), ns)),
            PageField::text(scheme),
            number(own.map(|own| own.waves as u64)),
            number(own.map(|own| own.smps as u64)),
        ]
    };
    let omitted = report.losses.len().saturating_sub(MOST_LOSSES) as u64;
    html! {
        section {
            h2 { "Losses, the worst first" }
            (table(
                "Pairs of an end port and a LID are out until the change that answers the loss; finding it and planning come before",
                &header,
                report.losses.iter().take(MOST_LOSSES).map(row),
                true,
            ))
            @if omitted > 0 { p class="unit" { (counted(omitted, "loss")) " less harmful are not shown; --csv has all." } }
        }
    }
}

fn refusals(report: &WhatIfReport) -> Markup {
    let refused: Vec<(String, &String)> =
        report.losses.iter().filter_map(|loss| Some((loss.dies.join(" and "), loss.refusal.as_ref()?))).collect();
    html! {
        @if !refused.is_empty() {
            section {
                h2 { "Why no change is proved" }
                @for (dies, why) in refused.iter().take(50) { h3 { (dies) } pre tabindex="0" { code { (why) } } }
            }
        }
    }
}

fn again(report: &WhatIfReport, origin: &Origin) -> Markup {
    let size = &report.fabric;
    let rows = [
        ("fabric", size_of(size.switches, (size.cas, "CA"), size.links)),
        ("devices", report.devices.profile.name().to_string()),
    ];
    html! {
        @for note in &report.notes { p class="unit" { "Note: " (note) } }
        (rerun(origin, rows, "The same input gives the same table"))
    }
}
