//! Tables as one SVG plot: a line for each cell, the paper's figure at 1, its band in grey, ours as a dot.
//!
//! Cells without a published figure are bars, scaled to the longest of their column. A table over time is lines, one for each
//! column.

use super::{Band, Cell, ResultTable};
use std::fmt::Write;

const WIDTH: f64 = 920.0;
/// Room for the longest names of a row and a column together.
const LEFT: f64 = 390.0;
const RIGHT: f64 = 80.0;
const LINE: f64 = 18.0;
/// The ends of the axis, as fractions of the paper's figure; values beyond are drawn at the ends.
const AXIS: (f64, f64) = (0.6, 1.4);

/// A picture of tables.
pub fn plot(tables: &[ResultTable]) -> String {
    let mut body = String::new();
    let mut top = LINE;
    // A paper's graphs over time come first: they are what is looked for.
    let (courses, panels): (Vec<_>, Vec<_>) = tables.iter().partition(|table| table.over_time);
    for table in courses.into_iter().chain(panels) {
        top = if table.over_time { course(&mut body, table, top) } else { panel(&mut body, table, top) };
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{top}\" viewBox=\"0 0 {WIDTH} {top}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
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
        match cell.paper.filter(|paper| *paper != 0.0) {
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

/// Draws a table over time below `top`; returns its lower end.
fn course(body: &mut String, table: &ResultTable, top: f64) -> f64 {
    text(body, 8.0, top, "start", &format!("{}: {}", table.name, table.title), "font-weight=\"bold\"");
    let (left, right, low) = (70.0, WIDTH - 20.0, top + 2.0 * LINE + HEIGHT);
    let highest = table.cells().map(|(_, _, cell)| cell.ours).fold(f64::MIN_POSITIVE, f64::max);
    let times: Vec<f64> = table.rows.iter().map(|row| row.name.parse().unwrap_or(0.0)).collect();
    let last = times.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let x = |time: f64| left + time / last * (right - left);
    let y = |value: f64| low - value / highest * HEIGHT;
    for share in [0.0, 0.5, 1.0] {
        let (height, value) = (y(share * highest), share * highest);
        let _ = writeln!(
            body,
            "<line x1=\"{left:.1}\" y1=\"{height:.1}\" x2=\"{right:.1}\" y2=\"{height:.1}\" stroke=\"#ddd\"/>"
        );
        text(body, left - 8.0, height + 4.0, "end", &figure(value), "");
        let anchor = if share < 1.0 { "middle" } else { "end" };
        text(body, x(share * last), low + LINE, anchor, &format!("{} {}", figure(share * last), table.key), "");
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
        text(body, at, top + LINE, "start", name, &format!("fill=\"{colour}\""));
    }
    low + 3.0 * LINE
}

/// A number on an axis.
fn figure(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.2}") }
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
    let colour = if cell.inside == Some(false) { "#c0392b" } else { "#1f6fb2" };
    let _ = writeln!(body, "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>", at(cell.ours / paper));
}

fn bar(body: &mut String, cell: &Cell, longest: f64, y: f64) {
    rectangle(body, LEFT, y, cell.ours.abs() / longest * (WIDTH - LEFT - RIGHT), "#1f6fb2");
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
