//! Lines and tables, as every screen has them.

use comfy_table::{Cell, CellAlignment, Table, presets};
use std::fmt::Write;

pub(super) fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{arguments}");
}

pub(super) fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// A cell with its text to the right.
pub(super) fn number(text: impl ToString) -> Cell {
    Cell::new(text.to_string()).set_alignment(CellAlignment::Right)
}

/// Adds a table and an empty line.
pub(super) fn show(text: &mut String, table: &Table) {
    for row in table.to_string().lines() {
        line(text, format_args!("{}", row.trim_end()));
    }
    text.push('\n');
}

/// The first few names of a list, and how many there are.
pub(super) fn some(names: &[String]) -> String {
    match names {
        [] => "nothing".to_string(),
        _ if names.len() <= 3 => names.join(", "),
        _ => format!("{} in all: {}, …", names.len(), names[..3].join(", ")),
    }
}
