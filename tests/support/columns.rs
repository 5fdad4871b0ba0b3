//! The columns of CSV files, as pages define them.

use std::fs;
use std::path::Path;

/// The names in the first column of the table that follows a text on a page of `docs`, in the order of the table. Where
/// a row names several, those after the first may leave their beginning away: `a_before_ns`, `…_after_ns`.
pub fn documented(page: &str, before: &str) -> Vec<String> {
    let text = section(page, before, "");
    let rows =
        text.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| names(row.split('|').nth(1).expect("a cell"))).collect()
}

/// What stands on a page of `docs` after one text and before another, or up to its end.
pub fn section(page: &str, after: &str, before: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (_, text) = text.split_once(after).unwrap_or_else(|| panic!("{page} has no `{after}`"));
    let end = if before.is_empty() { text.len() } else { text.find(before).expect("the end of the section") };
    text[..end].to_string()
}

fn names(cell: &str) -> Vec<String> {
    let written: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    let whole = |name: &&str| match name.strip_prefix('…') {
        None => name.to_string(),
        Some(end) => {
            let words: Vec<&str> = written[0].split('_').collect();
            words[..words.len() - end.matches('_').count()].join("_") + end
        }
    };
    written.iter().map(whole).collect()
}
