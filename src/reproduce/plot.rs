//! Tables as one SVG plot: a line for each cell, the paper's figure at 1, its band in grey, ours as a dot.
//!
//! Cells without a published figure are bars, scaled to the longest of their table.

use super::{Band, Cell, ResultTable};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 80.0;
const LINE: f64 = 18.0;
/// The ends of the axis, as fractions of the paper's figure; values beyond are drawn at the ends.
const AXIS: (f64, f64) = (0.6, 1.4);

/// A picture of tables.
pub fn plot(tables: &[ResultTable]) -> String {
    let mut body = String::new();
    let mut top = LINE;
    for table in tables {
        top = panel(&mut body, table, top);
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
    let longest = table.cells().filter(|(_, _, cell)| cell.paper.is_none()).map(|(_, _, cell)| cell.ours.abs());
    let longest = longest.fold(f64::MIN_POSITIVE, f64::max);
    for (row, column, cell) in table.cells() {
        y += LINE;
        text(body, LEFT - 10.0, y + 4.0, "end", &format!("{row} {column}"), "");
        match cell.paper.filter(|paper| *paper != 0.0) {
            Some(paper) => dot(body, cell, paper, y),
            None => bar(body, cell, longest, y),
        }
        text(body, WIDTH - 8.0, y + 4.0, "end", &format!("{:.*}", cell.decimals, cell.ours), "");
    }
    y + 2.0 * LINE
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
