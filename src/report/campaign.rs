//! A campaign's summary: a table for each setting, a row for each scheme.

use super::quantity::{count, counted, duration};
use super::screen::{line, number, show, table};
use comfy_table::Cell;
use reconfig::campaign::{Estimate, SchemeSummary, Share};

/// Shares with the interval of 95 % confidence, and means with half its width: a table for each setting, and where
/// there are several one for all.
pub fn campaign(runs: usize, rows: usize, summaries: &[SchemeSummary], pooled: &[SchemeSummary]) -> String {
    let mut text = String::new();
    let place = |one: &SchemeSummary| (one.fabric.clone(), one.change.clone(), one.engine.clone(), one.load.to_bits());
    let groups = || summaries.chunk_by(|a, b| place(a) == place(b));
    for group in groups() {
        let SchemeSummary { fabric, change, engine, load, .. } = &group[0];
        line(&mut text, format_args!("{fabric}, loss of a {change}, engine {engine}, load {load}"));
        schemes(&mut text, group);
        saturated(&mut text, group);
    }
    if groups().count() > 1 {
        line(&mut text, format_args!("all of these together"));
        schemes(&mut text, pooled);
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

/// That some of these runs could not carry their load before anything was lost.
fn saturated(text: &mut String, group: &[SchemeSummary]) {
    let [saturated, began] = group.iter().fold([0, 0], |[a, b], one| [a + one.saturated.count, b + one.saturated.of]);
    if saturated > 0 {
        line(
            text,
            format_args!(
                "saturated before the loss: {} of {}; their figures show what queues hold more than what a change costs \
                 (columns throughput_before and held_back_before of runs.csv)",
                count(saturated),
                counted(began, "run")
            ),
        );
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
    show(text, &screen);
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
