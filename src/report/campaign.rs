//! A campaign's summary: a table for each setting, a row for each scheme.

use super::quantity::{count, counted, duration};
use super::screen::{line, number, show, table};
use comfy_table::Cell;
use reconfig::campaign::{Estimate, SchemeSummary, Share};

/// Shares with the interval of 95 % confidence, and means with half its width.
pub fn campaign(runs: usize, rows: usize, summaries: &[SchemeSummary]) -> String {
    let mut text = String::new();
    let place = |one: &SchemeSummary| (one.fabric.clone(), one.change.clone(), one.engine.clone(), one.load.to_bits());
    for group in summaries.chunk_by(|a, b| place(a) == place(b)) {
        let SchemeSummary { fabric, change, engine, load, .. } = &group[0];
        line(&mut text, format_args!("{fabric}, loss of a {change}, engine {engine}, load {load}"));
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
        show(&mut text, &screen);
    }
    let told = match runs - rows.min(runs) {
        0 => format!(
            "{}; shares of runs that began and means of those that completed, with 95 % confidence",
            counted(runs as u64, "run")
        ),
        missing => format!("{} of {} are still to be carried out", count(missing as u64), counted(runs as u64, "run")),
    };
    line(&mut text, format_args!("{told}"));
    text
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
