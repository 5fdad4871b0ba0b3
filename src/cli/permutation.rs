//! Files that say who sends to whom: `permutation:FILE`.

use super::outcome::Failure;
use anyhow::anyhow;

/// The destination rank by source rank of a file: a line for each source, of its destination alone or of both. Who has no
/// line is his own destination. Lines that are empty or begin with `#` mean nothing.
///
/// # Errors
/// No such file; a line that is no rank or no two ranks, that differs in form from the first, or that names a source or a
/// destination again; no line.
pub(super) fn read(file: &str) -> Result<Vec<u32>, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::input(anyhow!("cannot read {file}: {error}")))?;
    parse(&text).map_err(|wrong| match wrong.place {
        None => Failure::input(anyhow!("{file}: {}", wrong.why)),
        Some((line, column, held)) => Failure::input(anyhow!("{file}:{line}:{column}: {}\n  {held}", wrong.why)),
    })
}

/// What is wrong with a file, and where: line, column, and the line itself.
#[derive(Debug)]
struct Wrong {
    why: String,
    place: Option<(usize, usize, String)>,
}

/// No end port has a rank beyond: there are no more LIDs.
const LAST: u32 = 0xBFFF;

fn parse(text: &str) -> Result<Vec<u32>, Wrong> {
    let mut pairs = Pairs::default();
    let mut form = None;
    for (line, held) in (1..).zip(text.lines()) {
        if held.trim().is_empty() || held.trim_start().starts_with('#') {
            continue;
        }
        let wrong = |column, why| Wrong { why, place: Some((line, column, held.to_string())) };
        let fields = fields(held).map_err(|(column, why)| wrong(column, why))?;
        let expected = *form.get_or_insert(fields.len());
        if fields.len() != expected || !(1..=2).contains(&expected) {
            let why = "expected a destination rank, or a source and a destination rank, in every line alike";
            return Err(wrong(1, why.to_string()));
        }
        let (column, destination) = fields[expected - 1];
        let source = if expected == 2 { fields[0].1 } else { pairs.lines };
        pairs.add(source, destination).map_err(|why| wrong(column, why))?;
    }
    match pairs.lines {
        0 => Err(Wrong { why: "holds no pair: expected lines of ranks".to_string(), place: None }),
        _ => Ok(pairs.list()),
    }
}

/// The ranks of a line, each with its column.
fn fields(line: &str) -> Result<Vec<(usize, u32)>, (usize, String)> {
    let separates = |letter: char| letter == ',' || letter.is_whitespace();
    let mut found = Vec::new();
    let mut column = 1;
    for field in line.split(separates) {
        if !field.is_empty() {
            let rank = field.parse().ok().filter(|&rank| rank <= LAST);
            let why = || format!("`{field}` is no rank: expected a whole number from 0 to {LAST}");
            found.push((column, rank.ok_or_else(|| (column, why()))?));
        }
        column += field.chars().count() + 1;
    }
    Ok(found)
}

/// What a file says so far.
#[derive(Default)]
struct Pairs {
    lines: u32,
    destination: std::collections::BTreeMap<u32, u32>,
    source: std::collections::BTreeMap<u32, u32>,
}

impl Pairs {
    fn add(&mut self, source: u32, destination: u32) -> Result<(), String> {
        self.lines += 1;
        if let Some(other) = self.destination.insert(source, destination) {
            return Err(format!("{source} sends to {other} already: a permutation has one destination for each"));
        }
        match self.source.insert(destination, source) {
            Some(other) => {
                Err(format!("{other} sends to {destination} already: a permutation has one source for each"))
            }
            None => Ok(()),
        }
    }

    fn list(&self) -> Vec<u32> {
        let end = self.destination.last_key_value().map_or(0, |(&last, _)| last + 1);
        (0..end).map(|source| self.destination.get(&source).copied().unwrap_or(source)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (usize, usize, String) {
        let wrong = parse(text).unwrap_err();
        let (line, column, _) = wrong.place.unwrap();
        (line, column, wrong.why)
    }

    #[test]
    fn both_forms_are_read_and_who_has_no_line_is_silent() {
        assert_eq!(parse("# who sends to whom\n2\n\n0\n1\n").unwrap(), [2, 0, 1]);
        assert_eq!(parse("3 1\n1,3\n").unwrap(), [0, 3, 2, 1]);
    }

    #[test]
    fn what_is_no_permutation_is_refused_where_it_stands() {
        assert_eq!(refused("1 2\n3\n").0, 2);
        assert_eq!(refused("1 2 3\n").0, 1);
        assert_eq!(refused("0 1\n2  x\n"), (2, 4, "`x` is no rank: expected a whole number from 0 to 49151".into()));
        assert!(refused("0 1\n0 2\n").2.starts_with("0 sends to 1 already"));
        assert_eq!(refused("0 1\n2 1\n").1, 3);
        assert!(refused("70000\n").2.contains("no rank"));
        assert!(parse("# nothing\n").unwrap_err().place.is_none());
    }
}
