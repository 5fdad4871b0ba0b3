//! The page about losses: each switch and cable, the worst first.

use super::super::quantity::{count, counted, duration, size_of};
use super::super::what_if::{self, ChangeFacts, LossReport, WhatIfReport};
use super::parts::{self, TableField, table};
use super::{Origin, ResultPage};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// The most losses that the tables of the page list, the planned ones and the others: the worst.
const MOST_LOSSES: usize = 5_000;
/// The most bytes that each of these lists takes, and that the names do of those that are cut off: names may be long,
/// and all of a page stays below 5 MB.
const MOST_BYTES: usize = 1_200_000;
/// The most rows that are not folded.
const MOST_OPEN: usize = 100;
/// The most losses of which those are named that are cut off.
const MOST_NAMED: usize = 40;

/// The page of `reconfig what-if`.
pub fn what_if_page(report: &WhatIfReport, origin: &Origin) -> String {
    let unproved = report.refused();
    let word = word(report);
    let size = report.fabric;
    let at_once = match (report.at_once, report.pairs_among) {
        (1, _) => "each loss alone".to_string(),
        (_, None) => "every two losses at once".to_string(),
        (_, Some(among)) => format!("two losses at once, of the {among} worst alone"),
    };
    let page = ResultPage {
        command: "what-if",
        word: (&word.0, word.1),
        sentence: parts::sentence(&what_if::answer(report)),
        beside: Vec::new(),
        what: format!("{at_once}; routing {}, SM on {}", report.engine, report.sm),
        body: html! {
            (glance(report, unproved))
            (losses(report))
            (cut_off(&report.losses))
            @if unproved > 0 { (refusals(&report.losses)) }
            (moves(&report.losses))
            (not_planned(report))
            @if !report.notes.is_empty() { section { (parts::notes(&report.notes)) } }
            (parts::again(origin, [
                Some(("fabric", size_of(size.switches, (size.cas, "CA"), size.links))),
                Some(("devices", report.devices.profile.name().to_string())),
                report.replay.clone().map(|replay| ("packet by packet", replay)),
            ].into_iter().flatten().collect()))
        },
    };
    page.render(origin.version)
}

/// The verdict: green only where every loss is answered and none cuts anybody off.
fn word(report: &WhatIfReport) -> (String, &'static str) {
    let (planned, to_answer) = (report.planned(), report.to_answer());
    let all_served = report.losses.iter().all(|loss| loss.cut_off.is_empty());
    if !report.is_yes() {
        return ("not every loss answered".to_string(), "bad");
    }
    if report.is_interrupted {
        return (
            format!("interrupted: {} of {} planned", count(planned as u64), counted(to_answer as u64, "loss")),
            "part",
        );
    }
    match planned {
        _ if to_answer == 0 && !report.losses.is_empty() => ("no host left".to_string(), "bad"),
        _ if planned == to_answer => ("every loss answered".to_string(), if all_served { "good" } else { "part" }),
        0 => ("no change planned".to_string(), "part"),
        _ => {
            let (planned, all) = (count(planned as u64), counted(to_answer as u64, "loss"));
            (format!("{planned} of {all} planned, each answered"), "part")
        }
    }
}

fn glance(report: &WhatIfReport, unproved: usize) -> Markup {
    let losses = &report.losses;
    let answered = if report.planned() < report.to_answer() { "" } else { "good" };
    // Where not all were planned, it counts those that were alone.
    let unanswered = match answered {
        "" => format!("{} of {} planned", count(unproved as u64), count(report.planned() as u64)),
        _ => count(unproved as u64),
    };
    let number = |is: fn(&LossReport) -> bool| count(losses.iter().filter(|loss| is(loss)).count() as u64);
    let longest = losses.iter().filter_map(LossReport::back_ns).max().map_or("–".to_string(), duration);
    let cut_off: BTreeSet<&String> = losses.iter().flat_map(|loss| &loss.cut_off).collect();
    parts::figures(&[
        ("losses looked at", count(losses.len() as u64), ""),
        ("without a proved change", unanswered, if unproved > 0 { "bad" } else { answered }),
        ("losses that cut end ports off", number(|loss| !loss.cut_off.is_empty()), ""),
        ("end ports that a loss cuts off", count(cut_off.len() as u64), ""),
        ("losses that need a standby", number(|loss| loss.needs_standby), ""),
        ("last pair back, from first write", longest, ""),
    ])
}

fn losses(report: &WhatIfReport) -> Markup {
    let columns = LossColumns::of(report);
    let (planned, left_out) = by_plan(report);
    let all = if left_out.is_empty() { "Each loss" } else { "Each loss for which a change was planned" };
    let (planned, omitted) = fitting(&planned);
    let (open, folded) = planned.split_at(planned.len().min(MOST_OPEN));
    html! {
        section {
            h2 { "Losses by harm" }
            p {
                "The worst first: those that no proved change answers, then those that cut off most end ports, then those "
                "by which pairs are out for longest, summed over pairs. "
                @if report.leaves_out() { "Those for which no change was planned stand at the end of the page. " }
                @if let Some(pairs) = report.chosen_pairs() { (parts::sentence(&pairs)) " " }
                @if let Some(choice) = report.choice() { (parts::sentence(&choice)) }
            }
            p {
                b { "Pairs out" } " counts ordered pairs of an end port and a LID that have no way until tables are rewritten; "
                "who is cut off does not count."
            }
            p {
                b { "Last back" } " is the time from the manager's first write until every pair that was out has a way "
                "again. Before it the manager finds the loss and plans the change. "
                @if columns.waits {
                    b { "Of it waiting" } " is for how long nothing is written meanwhile, until packets have left or "
                    "hosts have followed. "
                }
                b { "Mean outage" } " is the mean over these pairs; a pair is back when its wave has landed. "
                @if let Some(took) = report.planning() {
                    "Planning took " (took) " on the machine that made this page. "
                }
                code { "reconfig simulate" } " shows how long pairs are out if planning takes no time."
            }
            @if report.planned() > 0 { p { (parts::options_whole(&parts::sentence(report.judged()))) } }
            @if let Some(rest) = report.rest() { p { (parts::sentence(&rest)) } }
            @if let Some(left) = report.left() { p { (parts::sentence(&left)) } }
            @if columns.elsewhere { p { b { "Elsewhere" } " are those of the end ports cut off whose own switch and cable live on." } }
            @let name = if folded.is_empty() { all.to_string() } else { format!("The {} worst losses", open.len()) };
            @if open.is_empty() { p class="none" { "No change was planned." } } @else { (rows(&name, open, columns)) }
            @if !folded.is_empty() {
                details {
                    summary { (counted(folded.len() as u64, "loss")) " less harmful" }
                    (rows("Losses that harm less", folded, columns))
                }
            }
            (left_out_of(omitted))
        }
    }
}

/// Losses for which no change was planned: what is known of them without one.
fn not_planned(report: &WhatIfReport) -> Markup {
    let (_, left_out) = by_plan(report);
    let (shown, omitted) = fitting(&left_out);
    html! {
        @if !left_out.is_empty() {
            section {
                h2 { "Losses that were not planned" }
                // On paper it stays closed: tens of pages that tell little.
                details class="bins" {
                    summary { (counted(left_out.len() as u64, "loss")) ", those first that cut off most end ports" }
                    (rows("Losses for which no change was planned", shown, LossColumns::of(report)))
                    (left_out_of(omitted))
                }
            }
        }
    }
}

/// A loss with its rank by harm, from 0.
type Ranked<'a> = (usize, &'a LossReport);

/// Losses by harm: those that a change was planned for, or that need none, and those for which none was planned. All
/// are among the first where nothing was left out.
fn by_plan(report: &WhatIfReport) -> (Vec<Ranked<'_>>, Vec<Ranked<'_>>) {
    report.losses.iter().enumerate().partition(|(_, loss)| !loss.is_left_out())
}

/// The first of these losses that fit on the page, and how many of them do not.
fn fitting<'a, 'b>(losses: &'a [Ranked<'b>]) -> (&'a [Ranked<'b>], usize) {
    let bytes = |(_, loss): &Ranked<'_>| ROW_BYTES + 2 * loss.dies.iter().map(String::len).sum::<usize>();
    let fits = so_many(losses, MOST_BYTES, bytes).min(MOST_LOSSES);
    (&losses[..fits], losses.len() - fits)
}

/// What a row takes beside its names, which may be written as entities.
const ROW_BYTES: usize = 650;

/// How many of the first fit in so many bytes.
fn so_many<T>(all: &[T], most: usize, bytes: impl Fn(&T) -> usize) -> usize {
    let ends = all.iter().scan(0, |end, own| {
        *end += bytes(own);
        Some(*end)
    });
    ends.take_while(|end| *end <= most).count()
}

fn left_out_of(omitted: usize) -> Markup {
    html! {
        @if omitted > 0 {
            p class="unit" { (counted(omitted as u64, "loss")) " less harmful are not shown here; --csv FILE lists all." }
        }
    }
}

/// Columns that some reports lack: one of zeros would push others off a narrow screen.
#[derive(Clone, Copy)]
struct LossColumns {
    /// Whether end ports are cut off whose own switch and cable live on.
    elsewhere: bool,
    /// Whether some change waits.
    waits: bool,
}

impl LossColumns {
    fn of(report: &WhatIfReport) -> LossColumns {
        let elsewhere = report.losses.iter().any(|loss| loss.cut_off_elsewhere > 0);
        LossColumns { elsewhere, waits: report.waits() }
    }
}

/// A table of losses.
fn rows(name: &str, losses: &[Ranked<'_>], columns: LossColumns) -> Markup {
    let header = [
        "loss",
        "#",
        "cut off",
        "elsewhere",
        "pairs out",
        "mean outage",
        "last back",
        "of it waiting",
        "scheme",
        "waves",
        "Sets",
    ];
    let LossColumns { elsewhere, waits } = columns;
    let is_shown = |name: &&str| (elsewhere || *name != "elsewhere") && (waits || *name != "of it waiting");
    let header: Vec<&str> = header.into_iter().filter(is_shown).collect();
    table(name, &header, losses.iter().map(|&own| row(own, columns)), true)
}

/// Who is cut off by which loss, and which take the manager along.
fn cut_off(losses: &[LossReport]) -> Markup {
    let cutting: Vec<&LossReport> = losses.iter().filter(|loss| !loss.cut_off.is_empty()).collect();
    let standby: Vec<String> =
        losses.iter().filter(|loss| loss.needs_standby).map(|loss| loss.dies.join(" and ")).collect();
    let bytes = |own: &String| 12 + own.len();
    let all = |own: &&LossReport| own.cut_off.iter().map(bytes).sum();
    let fits = so_many(&cutting, MOST_BYTES, all).min(MOST_NAMED);
    let (named, omitted) = (&cutting[..fits], (cutting.len() - fits) as u64);
    let (first, more) = standby.split_at(so_many(&standby, MOST_BYTES / 4, bytes));
    html! {
        @if !cutting.is_empty() || !standby.is_empty() {
            section {
                h2 { "Who is cut off" }
                (parts::named("These take the subnet manager with them, and need a standby", first, "leaves"))
                @if !more.is_empty() { p class="unit" { (counted(more.len() as u64, "other loss")) " that do are not shown; --csv FILE lists all." } }
                div class="columns" {
                    @for loss in named {
                        (parts::named(&format!("By the loss of {}", loss.dies.join(" and ")), &loss.cut_off, "cutoff"))
                    }
                }
                @if omitted > 0 {
                    p class="unit" {
                        (counted(omitted, "loss")) " more that cut end ports off are not shown; --csv FILE lists all."
                    }
                }
            }
        }
    }
}

fn row((rank, loss): (usize, &LossReport), LossColumns { elsewhere, waits }: LossColumns) -> Vec<TableField> {
    let own = loss.change.as_ref();
    let of = |value: fn(&ChangeFacts) -> u64| {
        own.map_or(TableField::ranked("–".to_string(), 0), |own| TableField::count(value(own)))
    };
    let time = |ns: Option<u64>| match ns {
        Some(ns) => TableField::ranked(duration(ns), ns),
        None => TableField::ranked("–".to_string(), 0),
    };
    let mut fields = vec![
        TableField::text(&loss.dies.join(" and ")),
        TableField::count(rank as u64 + 1),
        TableField::count(loss.cut_off.len() as u64),
    ];
    fields.extend(elsewhere.then(|| TableField::count(loss.cut_off_elsewhere as u64)));
    fields.extend([TableField::count(loss.pairs), time(loss.mean_ns()), time(loss.back_ns())]);
    fields.extend(waits.then(|| time(loss.waited_ns())));
    fields.extend([
        TableField::text(what_if::scheme_name(loss)),
        of(|own| own.waves as u64),
        of(|own| own.smps as u64),
    ]);
    fields
}

/// Why some changes move hosts: the ways that were passed over.
fn moves(losses: &[LossReport]) -> Markup {
    let moving: Vec<(&LossReport, &str)> =
        losses.iter().filter_map(|loss| Some((loss, loss.why_hosts_move()?))).collect();
    let omitted = moving.len().saturating_sub(MOST_NAMED) as u64;
    html! {
        @if !moving.is_empty() {
            section {
                h2 { "Why hosts move" }
                @for (loss, why) in moving.iter().take(MOST_NAMED) {
                    h3 { "After the loss of " (loss.dies.join(" and ")) }
                    p { (parts::sentence(why)) }
                }
                @if omitted > 0 {
                    p class="unit" { (counted(omitted, "loss")) " more that move hosts are not shown; --json has all." }
                }
            }
        }
    }
}

fn refusals(losses: &[LossReport]) -> Markup {
    let refused: Vec<(&LossReport, &String)> =
        losses.iter().filter_map(|loss| Some((loss, loss.refusal.as_ref()?))).collect();
    let fits = so_many(&refused, MOST_BYTES / 2, |(_, why)| 200 + why.len()).min(100);
    let omitted = (refused.len() - fits) as u64;
    html! {
        section {
            h2 { "Why no change is proved" }
            @for (loss, why) in &refused[..fits] { h3 { (loss.dies.join(" and ")) } (parts::refusal(why)) }
            @if omitted > 0 { p class="unit" { (counted(omitted, "other loss")) " without a proved change are not shown; --csv FILE lists all, with the reasons." } }
        }
    }
}
