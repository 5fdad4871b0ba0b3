//! Tables as one SVG plot: a line for each cell, the paper's figure at 1, its band in grey, ours as a dot.
//!
//! Cells without a published figure are bars, scaled to the longest of their column. A table over time is lines, one
//! for each column, on a logarithmic axis where they span more than three decades. Tables of mixed units without
//! published figures are left out beside others.

use super::{Band, Cell, ResultTable};
use std::fmt::Write;

const WIDTH: f64 = 920.0;
/// Room for the longest names of a row and a column together.
const LEFT: f64 = 390.0;
const RIGHT: f64 = 80.0;
const LINE: f64 = 18.0;
/// Colours of our figures, and of those outside their bands.
const OURS: &str = "#1f6fb2";
const OUTSIDE: &str = "#c0392b";
/// The ends of the axis, as fractions of the paper's figure; values beyond are drawn at the ends.
const AXIS: (f64, f64) = (0.6, 1.4);

/// A picture of tables.
pub fn plot(tables: &[ResultTable]) -> String {
    let mut body = String::new();
    let mut top = LINE;
    let all_are_mixed = tables.iter().all(|table| table.mixed_units);
    let drawn = tables.iter().filter(|table| all_are_mixed || !table.mixed_units);
    // A paper's graphs over time come first: they are what is looked for.
    let (courses, panels): (Vec<&ResultTable>, Vec<&ResultTable>) = drawn.partition(|table| table.over_time);
    for table in courses {
        top = course(&mut body, table, top);
    }
    top = legend(&mut body, &panels, top);
    for table in panels {
        top = panel(&mut body, table, top);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{top}\" viewBox=\"0 0 {WIDTH} {top}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

/// Says what the marks of these panels mean, below `top`; returns its lower end.
fn legend(body: &mut String, panels: &[&ResultTable], top: f64) -> f64 {
    let any = |is: fn(&Cell) -> bool| panels.iter().any(|table| table.cells().any(|(_, _, cell)| is(cell)));
    let (compared, others) = (any(|cell| compared(cell).is_some()), any(|cell| compared(cell).is_none()));
    let (from, to) = (AXIS.0 * 100.0, AXIS.1 * 100.0);
    let axis =
        format!("the paper's figure, on an axis from {from:.0} % to {to:.0} % of it: what is beyond is at its end");
    let band = "the band in which ours is as the paper has it";
    let bar = "ours, where there is no figure to compare it with: the longest of each column fills the width";
    type Mark = fn(&mut String, f64);
    let entries: [(bool, Mark, &str); 5] = [
        (compared, |body, y| rule(body, (16.0, y - 7.0), (16.0, y + 7.0), "#888", 1.0), &axis),
        (any(|cell| matches!(cell.band, Band::Between(..))), |body, y| rectangle(body, 8.0, y, 16.0, "#d8d8d8"), band),
        (compared, |body, y| circle(body, 16.0, y, OURS), "ours"),
        (any(|cell| cell.inside == Some(false)), |body, y| circle(body, 16.0, y, OUTSIDE), "ours, outside its band"),
        (others, |body, y| rectangle(body, 8.0, y, 16.0, OURS), bar),
    ];
    let mut y = top;
    for (_, mark, told) in entries.into_iter().filter(|(is_drawn, ..)| *is_drawn) {
        mark(body, y);
        text(body, 32.0, y + 4.0, "start", told, "");
        y += LINE;
    }
    if y > top { y + LINE } else { top }
}

/// The paper's figure that ours is drawn beside; none where ours is a bar.
fn compared(cell: &Cell) -> Option<f64> {
    cell.paper.filter(|paper| *paper != 0.0)
}

/// Draws a table below `top`; returns its lower end.
fn panel(body: &mut String, table: &ResultTable, top: f64) -> f64 {
    let mut y = top;
    text(body, 8.0, y, "start", &format!("{}: {}", table.name, table.title), "font-weight=\"bold\"");
    // Columns have units of their own.
    let longest = |column: &str| {
        let bars = table.cells().filter(|(_, of, cell)| *of == column && cell.paper.is_none());
        bars.map(|(_, _, cell)| cell.ours.abs()).fold(f64::MIN_POSITIVE, f64::max)
    };
    for (row, column, cell) in table.cells() {
        y += LINE;
        text(body, LEFT - 10.0, y + 4.0, "end", &format!("{row} {column}"), "");
        match compared(cell) {
            Some(paper) => dot(body, cell, paper, y),
            None => bar(body, cell, longest(column), y),
        }
        text(body, WIDTH - 8.0, y + 4.0, "end", &format!("{:.*}", cell.decimals, cell.ours), "");
    }
    y + 2.0 * LINE
}

/// Colours of lines.
const COLOURS: [&str; 4] = ["#c0392b", "#1f6fb2", "#7b46c4", "#c8660a"];
/// The height of lines over time.
const HEIGHT: f64 = 170.0;

/// The most ticks of a linear axis, but for the one at 0.
const TICKS: f64 = 6.0;
/// More decades than this are drawn on a logarithmic axis.
const DECADES: f64 = 3.0;

/// The vertical axis of lines.
enum Scale {
    /// From 0 to a multiple of the step.
    Linear { step: f64, steps: u32 },
    /// Powers of ten, from the first exponent to the last; 0 has a place of its own below them if there is one.
    Decades { first: i32, last: i32, has_zero: bool },
}

impl Scale {
    fn of(values: &[f64]) -> Scale {
        let highest = values.iter().copied().fold(0.0, f64::max);
        let lowest = values.iter().copied().filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
        if highest > 0.0 && (highest / lowest).log10() > DECADES {
            let (first, last) = (lowest.log10().floor() as i32, highest.log10().ceil() as i32);
            return Scale::Decades { first, last, has_zero: values.iter().any(|&value| value <= 0.0) };
        }
        let step = step(highest);
        Scale::Linear { step, steps: ((highest / step).ceil() as u32).max(1) }
    }

    /// The ticks, upwards.
    fn ticks(&self) -> Vec<f64> {
        match *self {
            Scale::Linear { step, steps } => (0..=steps).map(|at| f64::from(at) * step).collect(),
            Scale::Decades { first, last, has_zero } => {
                let decades = (first..=last).map(|exponent| 10f64.powi(exponent));
                has_zero.then_some(0.0).into_iter().chain(decades).collect()
            }
        }
    }

    /// The height of a value, as a share of the axis.
    fn share(&self, value: f64) -> f64 {
        match *self {
            Scale::Linear { step, steps } => value / (step * f64::from(steps)),
            Scale::Decades { first, last, has_zero } => {
                let below = f64::from(u8::from(has_zero));
                let height = if value > 0.0 { value.log10() - f64::from(first) + below } else { 0.0 };
                height / (f64::from(last - first) + below)
            }
        }
    }
}

/// The step of a linear axis up to `most`: 1, 2 or 5 times a power of ten.
fn step(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf((most / TICKS).log10().floor());
    [1.0, 2.0, 5.0].map(|factor| factor * power).into_iter().find(|step| most / step <= TICKS).unwrap_or(10.0 * power)
}

/// Draws a table over time below `top`; returns its lower end.
fn course(body: &mut String, table: &ResultTable, top: f64) -> f64 {
    let values = table.cells().map(|(_, _, cell)| cell.ours).filter(|value| !value.is_nan());
    let scale = Scale::of(&values.collect::<Vec<f64>>());
    let note = if matches!(scale, Scale::Decades { .. }) { " (logarithmic axis)" } else { "" };
    text(body, 8.0, top, "start", &format!("{}: {}{note}", table.name, table.title), "font-weight=\"bold\"");
    let (left, right, low) = (70.0, WIDTH - 20.0, top + 2.0 * LINE + HEIGHT);
    let times: Vec<f64> = table.rows.iter().map(|row| row.name.parse().unwrap_or(0.0)).collect();
    let last = times.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let x = |time: f64| left + time / last * (right - left);
    let y = |value: f64| low - scale.share(value) * HEIGHT;
    for value in scale.ticks() {
        let height = y(value);
        rule(body, (left, height), (right, height), "#ddd", 1.0);
        text(body, left - 8.0, height + 4.0, "end", &figure(value), "");
    }
    let apart = step(last);
    for time in (0..).map(|at| f64::from(at) * apart).take_while(|&time| time <= last) {
        rule(body, (x(time), low), (x(time), low + 4.0), "#888", 1.0);
        // The last one must not leave the picture.
        let anchor = if x(time) > right - 20.0 { "end" } else { "middle" };
        text(body, x(time), low + LINE, anchor, &format!("{} {}", figure(time), table.key), "");
    }
    for (column, (name, colour)) in table.columns.iter().zip(COLOURS.iter().cycle()).enumerate() {
        // A step: a value holds until the next moment. Where there is none the line has a gap.
        let mut path = String::new();
        let mut is_drawn = false;
        for (at, (row, time)) in table.rows.iter().zip(&times).enumerate() {
            let value = row.cells[column].ours;
            if !value.is_nan() {
                let (height, until) = (y(value), times.get(at + 1).unwrap_or(time));
                let reach = if is_drawn { 'L' } else { 'M' };
                let _ = write!(path, "{reach}{:.1} {height:.1}L{:.1} {height:.1}", x(*time), x(*until));
            }
            is_drawn = !value.is_nan();
        }
        let _ = writeln!(body, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>");
        let at = left + 10.0 + 180.0 * column as f64;
        rule(body, (at, top + LINE - 4.0), (at + 16.0, top + LINE - 4.0), colour, 3.0);
        text(body, at + 22.0, top + LINE, "start", name, "");
    }
    low + 3.0 * LINE
}

fn rule(body: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        body,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
    );
}

/// A number on an axis, without zeros that say nothing.
fn figure(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    match whole.len() {
        0..4 => text.to_string(),
        length => {
            let head = (length + 2) % 3 + 1;
            let groups = whole.as_bytes()[head..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
            let groups: Vec<String> = [whole[..head].to_string()].into_iter().chain(groups).collect();
            groups.join("\u{a0}") + rest
        }
    }
}

fn dot(body: &mut String, cell: &Cell, paper: f64, y: f64) {
    if let Band::Between(least, most) = cell.band {
        let (from, to) = (at(least / paper), at(most / paper));
        rectangle(body, from, y, (to - from).max(1.0), "#d8d8d8");
    }
    let middle = at(1.0);
    // Writing to a string cannot fail.
    let _ = writeln!(
        body,
        "<line x1=\"{middle:.1}\" y1=\"{:.1}\" x2=\"{middle:.1}\" y2=\"{:.1}\" stroke=\"#888\"/>",
        y - 7.0,
        y + 7.0
    );
    circle(body, at(cell.ours / paper), y, if cell.inside == Some(false) { OUTSIDE } else { OURS });
}

fn circle(body: &mut String, x: f64, y: f64, fill: &str) {
    let _ = writeln!(body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\"/>");
}

fn bar(body: &mut String, cell: &Cell, longest: f64, y: f64) {
    rectangle(body, LEFT, y, cell.ours.abs() / longest * (WIDTH - LEFT - RIGHT), OURS);
}

/// The position of a fraction of the paper's figure.
fn at(fraction: f64) -> f64 {
    let share = (fraction.clamp(AXIS.0, AXIS.1) - AXIS.0) / (AXIS.1 - AXIS.0);
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn rectangle(body: &mut String, x: f64, y: f64, width: f64, fill: &str) {
    let top = y - 6.0;
    let _ = writeln!(body, "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"12\" fill=\"{fill}\"/>");
}

fn text(body: &mut String, x: f64, y: f64, anchor: &str, text: &str, more: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_an_axis_is_logarithmic_beyond_three_decades() {
        let ticks = |values: &[f64]| Scale::of(values).ticks();
        assert_eq!(ticks(&[0.0, 17.0]), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(ticks(&[0.0, 600.0, 1.0]), [0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0]);
        assert_eq!(ticks(&[0.0, 1.0, 1001.0]), [0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0]);
        assert_eq!(ticks(&[0.8, 99287.0]).len(), 7);
        assert_eq!(ticks(&[]), [0.0, 1.0]);
        assert_eq!([0.1, 2.5, 5000.0, 100_000.0].map(figure), ["0.1", "2.5", "5\u{a0}000", "100\u{a0}000"]);
        let scale = Scale::of(&[0.0, 1.0, 5000.0]);
        assert_eq!([0.0, 1.0, 10_000.0].map(|value| scale.share(value)), [0.0, 0.2, 1.0]);
    }
}
