//! Tables as comma-separated values: one line for each cell.

use super::{Band, ResultTable};

/// Every cell of every table: `table,row,column,paper,ours,least,most,inside`; missing values are empty.
pub fn csv(tables: &[ResultTable]) -> String {
    let mut text = String::from("table,row,column,paper,ours,least,most,inside\n");
    for table in tables {
        for (row, column, cell) in table.cells() {
            let (least, most) = match cell.band {
                Band::Between(least, most) => (number(Some(least)), number(Some(most))),
                Band::Open => (String::new(), String::new()),
            };
            let inside = cell.inside.map_or("", |inside| if inside { "yes" } else { "no" });
            let (paper, ours) = (number(cell.paper), number(Some(cell.ours)));
            let fields = [&table.name, row, column, &paper, &ours, &least, &most, inside].map(quoted);
            text += &(fields.join(",") + "\n");
        }
    }
    text
}

/// At most four decimals: no figure here is more precise.
fn number(figure: Option<f64>) -> String {
    let Some(figure) = figure.filter(|figure| !figure.is_nan()) else { return String::new() };
    let text = format!("{figure:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Quoted if it contains a comma or a quote (RFC 4180).
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_string() }
}
