//! The phases of a change as bars, and its events beneath them.

use super::super::quantity::{counted, duration};
use super::chart::{TimeMark, px};
use maud::{Markup, html};
use reconfig::scenario::PhaseReport;

/// Phases as bars under each other, and the events in which they were made.
pub(super) fn timeline(phases: &[&PhaseReport], events: &[TimeMark], name: &str, id: &str) -> Markup {
    // Room for names in the letters of a small screen.
    const LEFT: f64 = 134.0;
    const LETTER: f64 = 13.0;
    const WIDTH: f64 = 760.0;
    let moments = || events.iter().map(|event| event.at_ns);
    let begin = phases.iter().map(|phase| phase.start_ns).chain(moments()).min().unwrap_or_default();
    let end = phases.iter().map(|phase| phase.end_ns).chain(moments()).max().unwrap_or_default().max(begin + 1);
    let x = |ns: u64| LEFT + (WIDTH - LEFT - 14.0) * (ns - begin) as f64 / (end - begin) as f64;
    // Names of events stand below the bars, each in a row of its own where it meets the one before.
    let bars = 32.0 * phases.len() as f64;
    let named = event_rows(events, x, LETTER, WIDTH);
    let rows = named.iter().map(|(_, row)| row + 1).max().unwrap_or_default() as f64;
    let height = bars + 24.0 * rows + 30.0;
    let marked = events.iter().map(|event| format!("{} at {}", event.name, duration(event.at_ns)));
    let told: Vec<String> = phases
        .iter()
        .map(|phase| {
            format!("{} {}, {}", phase.name, duration(phase.end_ns - phase.start_ns), counted(phase.smps, "SMP"))
        })
        .chain(marked)
        .collect();
    html! {
        div class="scroll chart" tabindex="0" role="group" aria-label=(name) {
            svg class="phases" viewBox={ "0 0 " (WIDTH) " " (px(height)) } role="img" aria-labelledby={ (id) "-t" } aria-describedby={ (id) "-d" } {
                title id={ (id) "-t" } { (name) }
                desc id={ (id) "-d" } { (told.join("; ")) }
                @for (rank, phase) in phases.iter().enumerate() {
                    @let (from, to, y) = (x(phase.start_ns), x(phase.end_ns), 32.0 * rank as f64 + 3.0);
                    @let text = format!("{} · {}", duration(phase.end_ns - phase.start_ns), counted(phase.smps, "SMP"));
                    line class="grid" x1=(px(LEFT)) x2=(px(WIDTH - 14.0)) y1=(px(y + 28.0)) y2=(px(y + 28.0)) {}
                    text class="phase" x=(px(LEFT - 8.0)) y=(px(y + 19.0)) { (phase.name) }
                    rect class={ "bar c" (if rank == 0 && phases.len() > 1 && phase.name != "split" { 4 } else { 1 }) } x=(px(from)) y=(px(y)) width=(px((to - from).max(2.0))) height="25" rx="3" {}
                    // Inside the bar where it has room in the letters of a small screen, else on the side that has,
                    // else over the bar.
                    @let room = LETTER * text.chars().count() as f64 + 14.0;
                    @if to - from > room {
                        text class="inbar" x=(px(f64::midpoint(from, to))) y=(px(y + 18.5)) { (text) }
                    } @else if to + room < WIDTH {
                        text class="beside" x=(px(to + 7.0)) y=(px(y + 18.5)) { (text) }
                    } @else if from - room > LEFT {
                        text class="beside end" x=(px(from - 7.0)) y=(px(y + 18.5)) { (text) }
                    } @else {
                        text class="overbar" x=(px(f64::midpoint(LEFT, WIDTH))) y=(px(y + 18.5)) { (text) }
                    }
                }
                @for (event, (class, row)) in events.iter().zip(named) {
                    @let (at, y) = (x(event.at_ns), bars + 24.0 * row as f64 + 18.0);
                    line class="moment" x1=(px(at)) x2=(px(at)) y1="0" y2=(px(y + 2.0)) {}
                    text class=(class) x=(px(if class == "end" { at - 4.0 } else { at + 4.0 })) y=(px(y)) { (event.name) }
                }
                text class="beside" x=(px(LEFT)) y=(px(height - 3.0)) { (duration(begin)) }
                text class="beside end" x=(px(WIDTH - 14.0)) y=(px(height - 3.0)) { (duration(end)) }
            }
        }
    }
}

/// By event: how its name is aligned beside its line, and in which row it stands, so that none stands on another.
fn event_rows(events: &[TimeMark], x: impl Fn(u64) -> f64, letter: f64, width: f64) -> Vec<(&'static str, usize)> {
    let mut ends: Vec<f64> = Vec::new();
    let place = |event: &TimeMark| {
        let (at, long) = (x(event.at_ns), letter * event.name.chars().count() as f64 + 8.0);
        let (class, from) = if at + long > width { ("end", at - long) } else { ("after", at) };
        let row = ends.iter().position(|end| *end <= from).unwrap_or(ends.len());
        ends.resize(ends.len().max(row + 1), 0.0);
        ends[row] = from + long;
        (class, row)
    };
    events.iter().map(place).collect()
}
