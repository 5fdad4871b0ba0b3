//! Tables as comma-separated values: one line for each cell.

use super::{Band, ResultTable};

/// Every cell of every table: `table,row,column,paper,ours,least,most,inside`; missing values are empty.
pub fn csv(tables: &[ResultTable]) -> String {
    const WRITTEN: &str = "a buffer in memory takes every record";
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record(["table", "row", "column", "paper", "ours", "least", "most", "inside"]).expect(WRITTEN);
    for table in tables {
        for (row, column, cell) in table.cells() {
            let (least, most) = match cell.band {
                Band::Between(least, most) => (number(Some(least)), number(Some(most))),
                Band::Open => (String::new(), String::new()),
            };
            let inside = cell.inside.map_or("", |inside| if inside { "yes" } else { "no" });
            let (paper, ours) = (number(cell.paper), number(Some(cell.ours)));
            rows.write_record([&table.name, row, column, &paper, &ours, &least, &most, inside]).expect(WRITTEN);
        }
    }
    String::from_utf8(rows.into_inner().expect(WRITTEN)).expect("texts are UTF-8")
}

/// At most four decimals: no figure here is more precise.
fn number(figure: Option<f64>) -> String {
    let Some(figure) = figure.filter(|figure| !figure.is_nan()) else { return String::new() };
    let text = format!("{figure:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
