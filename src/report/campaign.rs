//! A campaign's summary: a table for each setting, a row for each scheme.

use super::quantity::{count, counted, duration, percent};
use super::screen::{line, number, table};
use comfy_table::Cell;
use reconfig::campaign::{Estimate, SchemeSummary, Share};

/// A share of pairs from which on it is said that a mean does not count them.
const MANY_NOT_BACK: f64 = 0.05;

/// Shares with the interval of 95 % confidence, and means with half its width: a table for each setting, and where
/// there are several one for all. Of `runs` so many have a row, and changes are `planned` or sudden.
pub fn campaign(
    runs: usize,
    rows: usize,
    planned: bool,
    summaries: &[SchemeSummary],
    pooled: &[SchemeSummary],
) -> String {
    let mut text = String::new();
    let place = |one: &SchemeSummary| (one.fabric.clone(), one.change.clone(), one.engine.clone(), one.load.to_bits());
    let groups = || summaries.chunk_by(|a, b| place(a) == place(b));
    let event = if planned { "planned removal" } else { "loss" };
    for group in groups() {
        let SchemeSummary { fabric, change, engine, load, .. } = &group[0];
        line(&mut text, format_args!("{fabric}, {event} of a {change}, engine {engine}, load {load}"));
        schemes(&mut text, group);
        saturated(&mut text, group);
        others(&mut text, planned, group);
        text.push('\n');
    }
    if groups().count() > 1 {
        line(&mut text, format_args!("all of these together"));
        schemes(&mut text, pooled);
        others(&mut text, planned, pooled);
        text.push('\n');
        let [all, once] = [summaries, pooled].map(|of| of.iter().map(|one| one.runs).sum::<u64>());
        if once < all {
            let twice = counted(all - once, "run");
            line(&mut text, format_args!("{twice} repeated another event for event, and did not count again"));
        }
    }
    let all = counted(runs as u64, "run");
    match runs - rows.min(runs) {
        0 => line(
            &mut text,
            format_args!("{all}; shares of runs that began and means of those that completed, with 95 % confidence"),
        ),
        missing => line(&mut text, format_args!("{} of {all} are still to be carried out", count(missing as u64))),
    }
    text
}

/// In how many runs of a group something was so, of those that began.
fn among(group: &[SchemeSummary], of: fn(&SchemeSummary) -> &Share) -> [u64; 2] {
    group.iter().map(of).fold([0, 0], |[count, all], share| [count + share.count, all + share.of])
}

/// That some of these runs could not carry their load before anything was lost.
fn saturated(text: &mut String, group: &[SchemeSummary]) {
    let [saturated, began] = among(group, |one| &one.saturated);
    let SchemeSummary { engine, load, .. } = &group[0];
    if saturated > 0 {
        line(
            text,
            format_args!(
                "saturated before the loss: {} of {} by engine {engine} at load {load}; their figures show what queues \
                 hold more than what a change costs (columns throughput_before and held_back_before of runs.csv)",
                count(saturated),
                counted(began, "run")
            ),
        );
    }
}

/// What figures of the table do not count, and what they do not say.
fn others(text: &mut String, planned: bool, group: &[SchemeSummary]) {
    let share_out = |one: &SchemeSummary| one.pairs_not_back as f64 / one.pairs_out.max(1) as f64;
    let unseen: Vec<String> = group
        .iter()
        .filter(|one| share_out(one) > MANY_NOT_BACK)
        .map(|one| format!("{} of {} by {}", percent(share_out(one)), counted(one.pairs_out, "pair"), one.scheme))
        .collect();
    if !unseen.is_empty() {
        line(
            text,
            format_args!(
                "mean outage is of the pairs that were seen to be back, and none of those is longer than its run; when \
                 their runs ended, these were not back: {} (a longer around_us or a higher load shows more)",
                unseen.join(", ")
            ),
        );
    }
    let [cutting, began] = among(group, |one| &one.cutting);
    if planned && cutting > 0 {
        let (cutting, began) = (count(cutting), counted(began, "run"));
        line(
            text,
            format_args!(
                "{cutting} of {began} cut end ports off (column end_ports_cut_off), which simulate and plan refuse where \
                 it is not meant"
            ),
        );
    }
    let [silent, began] = among(group, |one| &one.silent);
    if silent > 0 {
        let (silent, began) = (count(silent), counted(began, "run"));
        line(text, format_args!("no packet was sent in {silent} of {began}, so that nothing could be lost in them"));
    }
}

fn schemes(text: &mut String, group: &[SchemeSummary]) {
    let mut screen = table();
    let header = [
        "runs",
        "deadlocked",
        "not proved",
        "lost to the change in",
        "packets lost to it",
        "lost in all",
        "mean outage",
        "change took",
        "SMPs",
    ];
    screen.set_header([Cell::new("scheme")].into_iter().chain(header.map(number)));
    for one in group {
        let runs = match one.refused {
            0 => count(one.runs),
            refused => format!("{} ({} refused)", count(one.runs), count(refused)),
        };
        let cells = [
            runs,
            share(&one.deadlocked),
            share(&one.unproved),
            share(&one.lossy),
            packets(&one.lost_to_change),
            packets(&one.lost_in_all),
            time(&one.outage_ns),
            time(&one.change_ns),
            packets(&one.smps),
        ];
        screen.add_row([Cell::new(&one.scheme)].into_iter().chain(cells.iter().map(number)));
    }
    screen.to_string().lines().for_each(|row| line(text, format_args!("{}", row.trim_end())));
}

fn share(share: &Share) -> String {
    match share.interval {
        None => "–".to_string(),
        Some([least, most]) => format!("{} ({:.1}–{:.1} %)", count(share.count), 100.0 * least, 100.0 * most),
    }
}

fn estimate(estimate: &Estimate, shown: impl Fn(u64) -> String) -> String {
    match (estimate.mean, estimate.half_width) {
        (None, _) => "–".to_string(),
        (Some(mean), None) => shown(mean.round() as u64),
        (Some(mean), Some(half)) => format!("{} ± {}", shown(mean.round() as u64), shown(half.round() as u64)),
    }
}

fn packets(own: &Estimate) -> String {
    estimate(own, count)
}

fn time(own: &Estimate) -> String {
    estimate(own, duration)
}
