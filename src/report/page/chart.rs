//! Charts over simulated time, as SVG that takes its colours from the page. Each has a description in words, and each
//! bin its numbers.

use super::super::quantity::{count, duration};
use maud::{Markup, html};
use reconfig::scenario::BinReport;

/// Width and height of the drawing, and of the margins around the plot, in CSS pixels.
pub(super) const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 212.0;
/// Margins have room for the text of small screens, which is twice as large beside the drawing as that of a wide one.
const LEFT: f64 = 96.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 32.0;
const BOTTOM: f64 = 34.0;
/// How wide a letter is there, at most on average.
const LETTER: f64 = 13.0;

/// A period that stands behind the plot.
pub(super) struct PhaseBand {
    pub name: String,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// A moment that is marked.
#[derive(Clone)]
pub(super) struct TimeMark {
    pub name: String,
    pub at_ns: u64,
}

/// What all charts of a run share.
pub(super) struct TimeAxis<'a> {
    pub bins: &'a [BinReport],
    pub bands: Vec<PhaseBand>,
    pub moments: Vec<TimeMark>,
    /// The end of the axis: that of the longest run on the page.
    pub end_ns: u64,
}

/// How values are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Each as a line.
    Lines,
    /// Each as an area on top of those before it.
    Stacked,
}

/// One quantity.
pub(super) struct ChartLine {
    pub name: &'static str,
    /// The class that gives it its colour.
    pub class: &'static str,
    /// By bin; none where it cannot be told.
    pub values: Vec<Option<f64>>,
}

/// A chart.
pub(super) struct Chart<'a> {
    /// Unique on the page.
    pub id: String,
    pub title: String,
    /// What is on the vertical axis, with its unit.
    pub axis: &'static str,
    /// What it shows, in a sentence for those who do not see it.
    pub about: String,
    pub form: Form,
    pub lines: Vec<ChartLine>,
    /// A value as people read it.
    pub label: fn(f64) -> String,
    /// A value beside the axis, where space is short.
    pub tick: fn(f64) -> String,
    /// What a reader is to know of it, in a sentence under it.
    pub note: Option<String>,
    /// The top of the axis, at least.
    pub top: f64,
    pub course: &'a TimeAxis<'a>,
}

/// A line with the values that a function finds in bins.
pub(super) fn line(
    name: &'static str,
    class: &'static str,
    bins: &[BinReport],
    of: impl Fn(&BinReport) -> Option<f64>,
) -> ChartLine {
    ChartLine { name, class, values: bins.iter().map(of).collect() }
}

/// The highest value that a chart of these lines shows.
pub(super) fn highest(lines: &[ChartLine], form: Form) -> f64 {
    let bins = lines.first().map_or(0, |line| line.values.len());
    let at = |bin: usize| lines.iter().map(move |line| line.values[bin].unwrap_or_default());
    let height = |bin: usize| match form {
        Form::Lines => at(bin).fold(0.0, f64::max),
        Form::Stacked => at(bin).sum(),
    };
    (0..bins).map(height).fold(0.0, f64::max)
}

/// A number for an attribute of SVG: a tenth of a pixel is exact enough.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// Steps of an axis up to `most`: 1, 2, 2.5 (if that is whole) or 5 times a power of ten, at most `wanted` of them.
fn step(most: f64, wanted: f64) -> f64 {
    let rough = most / wanted;
    let power = 10f64.powf(rough.log10().floor());
    let factors = if power > 5.0 { &[1.0, 2.0, 2.5, 5.0, 10.0][..] } else { &[1.0, 2.0, 5.0, 10.0] };
    factors.iter().map(|factor| factor * power).find(|&step| step >= rough).unwrap_or(rough)
}

impl TimeAxis<'_> {
    pub(super) fn x(&self, at_ns: u64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * at_ns as f64 / self.end_ns.max(1) as f64
    }

    /// The times that the axis names.
    fn ticks(&self) -> impl Iterator<Item = u64> {
        let step = step(self.end_ns.max(1) as f64, 7.0).max(1.0) as u64;
        let end_ns = self.end_ns;
        (0..).map(move |rank| rank * step).take_while(move |&at| at <= end_ns)
    }

    fn behind(&self) -> Markup {
        let bottom = HEIGHT - BOTTOM;
        html! {
            @for (rank, band) in self.bands.iter().enumerate() {
                @let (from, to) = (self.x(band.start_ns), self.x(band.end_ns));
                rect class=(if rank % 2 == 0 { "band" } else { "band odd" }) x=(px(from)) y=(px(TOP))
                    width=(px((to - from).max(0.5))) height=(px(bottom - TOP)) {}
                @if to - from > 7.0 * band.name.chars().count() as f64 {
                    text class="bandname" x=(px((from + to) / 2.0)) y=(px(TOP + 12.0)) { (band.name) }
                }
            }
            @for (rank, at_ns) in self.ticks().enumerate() {
                line class="tick" x1=(px(self.x(at_ns))) x2=(px(self.x(at_ns))) y1=(px(bottom)) y2=(px(bottom + 4.0)) {}
                // Centred under its mark, but for one so near the margin that it would be cut.
                @let is_last = self.x(at_ns) > WIDTH - 45.0;
                text class={ (if is_last { "end" } else { "time" }) (if rank % 2 == 1 { " odd" } else { "" }) } x=(px(self.x(at_ns) + if is_last { RIGHT } else { 0.0 }))
                    y=(px(bottom + 22.0)) { (axis_time(at_ns)) }
            }
        }
    }

    fn before(&self) -> Markup {
        html! {
            @for (moment, place) in self.moments.iter().zip(self.places()) {
                @let x = px(self.x(moment.at_ns));
                line class="moment" x1=(x) x2=(x) y1=(px(TOP - 6.0)) y2=(px(HEIGHT - BOTTOM)) { title { (moment.name) } }
                @if let Some(place) = place {
                    text class=(place.class) x=(px(place.x)) y=(px(place.y)) { (moment.name) }
                }
            }
        }
    }

    /// Where the names of moments stand, so that none stands on another: over their lines, beside them, or lower. None
    /// where all places are taken, as where many events follow each other closely.
    fn places(&self) -> Vec<Option<NamePlace>> {
        let mut taken: Vec<(f64, f64, f64)> = Vec::new();
        let place = |moment: &TimeMark| {
            let (x, width) = (self.x(moment.at_ns), LETTER * moment.name.chars().count() as f64);
            let beside =
                [("momentname", x, x - width / 2.0), ("end", x - 4.0, x - width - 4.0), ("after", x + 4.0, x + 4.0)];
            let rows = [TOP - 10.0, TOP + 14.0, TOP + 38.0];
            let mut places =
                rows.into_iter().flat_map(|y| beside.map(|(class, x, from)| (NamePlace { class, x, y }, from)));
            let is_free = |place: &NamePlace, from: f64| {
                let meets = |&(y, other, end): &(f64, f64, f64)| y == place.y && from < end && other < from + width;
                // The lower row is within the plot, beside the numbers of the axis.
                let least = if place.y > TOP { LEFT } else { 0.0 };
                from >= least && from + width <= WIDTH && !taken.iter().any(meets)
            };
            let (place, from) = places.find(|(place, from)| is_free(place, *from))?;
            taken.push((place.y, from, from + width));
            Some(place)
        };
        self.moments.iter().map(place).collect()
    }
}

/// Where the name of a moment stands, and what class aligns it there.
#[derive(Clone, Copy, PartialEq, Debug)]
struct NamePlace {
    class: &'static str,
    x: f64,
    y: f64,
}

/// A number as short as an axis has room for: 5 000, 12.5 k, 2 M.
pub(super) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size < 10_000.0 => (value, ""),
        size if size < 1e6 => (value / 1e3, " k"),
        size if size < 1e9 => (value / 1e6, " M"),
        size if size < 1e12 => (value / 1e9, " G"),
        _ => (value / 1e12, " T"),
    };
    if scaled.fract() == 0.0 {
        return format!("{}{unit}", count(scaled as u64));
    }
    let decimals = (2.0 - scaled.abs().log10().floor()).max(0.0) as usize;
    let text = format!("{scaled:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// A time on an axis, without decimals that say nothing.
pub(super) fn axis_time(ns: u64) -> String {
    let (value, unit) = match ns {
        0 => return "0".to_string(),
        1..1_000 => (ns as f64, "ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    format!("{} {unit}", (value * 1e3).round() / 1e3)
}

impl Chart<'_> {
    /// The chart as a figure with its legend.
    pub(super) fn draw(&self) -> Markup {
        let title = format!("{}-title", self.id);
        let about = format!("{}-about", self.id);
        html! {
            figure class="chart" {
                figcaption {
                    b { (self.title) } " " span class="unit" { (self.axis) }
                    span class="legend" {
                        @for line in self.lines.iter().filter(|_| self.lines.len() > 1) {
                            span { i class={ "key " (line.class) } {} (line.name) }
                        }
                    }
                }
                div class="scroll" tabindex="0" role="group" aria-label=(self.title) {
                    svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby=(title) aria-describedby=(about) {
                        title id=(title) { (self.title) }
                        desc id=(about) { (self.about) }
                        (self.course.behind())
                        (self.scale())
                        (self.plot())
                        (self.course.before())
                        (self.numbers())
                    }
                }
                @if let Some(note) = &self.note { p class="unit" { (note) } }
            }
        }
    }

    fn most(&self) -> f64 {
        let most = highest(&self.lines, self.form).max(self.top);
        if most > 0.0 { most } else { 1.0 }
    }

    fn y(&self, value: f64) -> f64 {
        let bottom = HEIGHT - BOTTOM;
        bottom - (bottom - TOP - 18.0) * value / self.most()
    }

    fn scale(&self) -> Markup {
        let step = step(self.most(), 4.0);
        let ticks = (0..).map(|rank| f64::from(rank) * step).take_while(|&value| value <= self.most() * 1.02);
        html! {
            @for value in ticks {
                @let y = px(self.y(value));
                line class="grid" x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(y) y2=(y) {}
                text class="value" x=(px(LEFT - 6.0)) y=(px(self.y(value) + 4.0)) { ((self.tick)(value)) }
            }
        }
    }

    fn plot(&self) -> Markup {
        let none = || vec![0.0; self.course.bins.len()];
        let mut floors = none();
        html! {
            @for line in &self.lines {
                @match self.form {
                    Form::Lines => path class={ "line " (line.class) } d=(self.outline(&line.values)) {},
                    Form::Stacked => {
                        @let tops: Vec<f64> = floors.iter().zip(&line.values).map(|(floor, own)| floor + own.unwrap_or_default()).collect();
                        @if tops != floors {
                            path class={ "area " (line.class) } d=(self.area(&floors, &tops)) {}
                        }
                        @let _ = std::mem::replace(&mut floors, tops);
                    }
                }
            }
        }
    }

    /// Steps from bin to bin; a gap where there is no value.
    fn outline(&self, values: &[Option<f64>]) -> String {
        let mut path = String::new();
        let mut pen_is_down = false;
        for (bin, value) in self.course.bins.iter().zip(values) {
            let Some(value) = value else {
                pen_is_down = false;
                continue;
            };
            let (from, to, y) = (px(self.course.x(bin.start_ns)), px(self.course.x(bin.end_ns)), px(self.y(*value)));
            path += &if pen_is_down { format!("V{y}H{to}") } else { format!("M{from} {y}H{to}") };
            pen_is_down = true;
        }
        path
    }

    /// The area between two outlines; nothing where they meet.
    fn area(&self, floors: &[f64], tops: &[f64]) -> String {
        let mut path = String::new();
        let bins = self.course.bins;
        let mut first = 0;
        while first < bins.len() {
            if tops[first] <= floors[first] {
                first += 1;
                continue;
            }
            let length = (first..bins.len()).take_while(|&bin| tops[bin] > floors[bin]).count();
            let run = first..first + length;
            path += &format!("M{} {}", px(self.course.x(bins[first].start_ns)), px(self.y(floors[first])));
            for bin in run.clone() {
                path += &format!("V{}H{}", px(self.y(tops[bin])), px(self.course.x(bins[bin].end_ns)));
            }
            for bin in run.rev() {
                path += &format!("V{}H{}", px(self.y(floors[bin])), px(self.course.x(bins[bin].start_ns)));
            }
            path.push('Z');
            first += length;
        }
        path
    }

    /// What each bin holds, for whoever points at it.
    fn numbers(&self) -> Markup {
        let told = |bin: usize| {
            let own = |line: &ChartLine| {
                line.values[bin]
                    .map_or(format!("{} –", line.name), |value| format!("{} {}", line.name, (self.label)(value)))
            };
            self.lines.iter().map(own).collect::<Vec<_>>().join("\n")
        };
        html! {
            @for (rank, bin) in self.course.bins.iter().enumerate() {
                @let (from, to) = (self.course.x(bin.start_ns), self.course.x(bin.end_ns));
                rect class="hit" x=(px(from)) y=(px(TOP)) width=(px((to - from).max(0.1))) height=(px(HEIGHT - BOTTOM - TOP)) {
                    title { (duration(bin.start_ns)) " – " (duration(bin.end_ns)) "\n" (told(rank)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_steps() {
        let cases = [(4.0, 1.0), (9.0, 5.0), (95.0, 25.0), (812.0, 250.0), (0.3, 0.1), (70.0, 20.0)];
        for (most, wanted) in cases {
            assert!((step(most, 4.0) - wanted).abs() < 1e-9, "{most}: {}", step(most, 4.0));
        }
        assert_eq!([0, 500, 1_500, 4_000_000].map(axis_time), ["0", "500 ns", "1.5 µs", "4 ms"]);
    }

    #[test]
    fn numbers_beside_an_axis_are_short_and_whole() {
        let cases = [(0.0, "0"), (5_000.0, "5 000"), (12_500.0, "12.5 k"), (100_000.0, "100 k"), (6e6, "6 M")];
        let small = [(2.5e9, "2.5 G"), (0.005, "0.005"), (0.25, "0.25"), (12.5, "12.5")];
        for (value, wanted) in cases.into_iter().chain(small) {
            assert_eq!(short(value), wanted);
            assert!(LETTER * short(value).chars().count() as f64 <= LEFT - 6.0, "{wanted} has room");
        }
    }

    #[test]
    fn names_of_moments_do_not_stand_on_each_other() {
        for end_ns in [1_000, 1_200, 2_000, 10_000, 1_000_000] {
            let at = |name: &str, at_ns| TimeMark { name: name.to_string(), at_ns };
            let moments = vec![at("event 1", 700), at("event 2", 720), at("event 3", 800), at("sources stop", 900)];
            let course = TimeAxis { bins: &[], bands: Vec::new(), moments, end_ns };
            let named = course.places().into_iter().zip(&course.moments);
            let named: Vec<(NamePlace, &TimeMark)> =
                named.filter_map(|(place, moment)| Some((place?, moment))).collect();
            assert!(named.len() >= 3, "so many have room, at {end_ns}");
            let reach = |place: &NamePlace, name: &str| {
                let width = LETTER * name.chars().count() as f64;
                let from = match place.class {
                    "momentname" => place.x - width / 2.0,
                    "end" => place.x - width,
                    _ => place.x,
                };
                (from, from + width)
            };
            for (rank, (place, moment)) in named.iter().enumerate() {
                let (from, to) = reach(place, &moment.name);
                assert!(from >= 0.0 && to <= WIDTH, "{} is cut where the axis ends at {end_ns}", moment.name);
                for (other, before) in named.iter().take(rank).filter(|(other, _)| other.y == place.y) {
                    let (begin, end) = reach(other, &before.name);
                    assert!(from >= end || begin >= to, "{} on {} at {end_ns}", moment.name, before.name);
                }
            }
        }
    }
}
