//! The table of SMP counts: the paper's figure, ours, and whether they agree.

use comfy_table::{Cell, CellAlignment, Table, presets};
use reconfig::scenario::Line;

pub fn accounting(lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
    table.set_header([Cell::new("counted"), right("paper"), right("ours"), Cell::new(""), Cell::new("by")]);
    for line in lines {
        let verdict = match line.agrees {
            Some(true) => "agrees",
            Some(false) => "DIFFERS",
            None => "",
        };
        let paper = line.paper.as_deref().unwrap_or("–");
        table.add_row([
            Cell::new(line.what),
            right(paper),
            right(&line.ours),
            Cell::new(verdict),
            Cell::new(&line.rule),
        ]);
    }
    table.to_string().lines().map(|row| format!("{}\n", row.trim_end())).collect()
}
