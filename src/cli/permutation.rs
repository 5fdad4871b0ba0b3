//! Permutations of senders and receivers: those with which interconnection networks are measured, by name, and files
//! that define one (`permutation:FILE`).

use super::input::read_text;
use super::outcome::Failure;
use anyhow::anyhow;

/// The most bytes of a line: ranks need a few.
const LONGEST_LINE: usize = 1 << 10;

/// Reads a file into destination ranks by source rank. Each line holds a destination, for consecutive sources, or a
/// source and a destination. A source without a line is its own destination. Empty lines and lines that begin with `#`
/// are skipped. `-` is standard input. `ends` is the number of end ports.
///
/// # Errors
/// The file is missing or holds no line; or a line does not hold one or two ranks, differs in form from the first,
/// repeats a source or a destination, or names a rank that does not exist.
pub(super) fn read(file: &str, ends: usize) -> Result<Vec<u32>, Failure> {
    let (name, text) = read_text(file)?;
    parse(&text, ends).map_err(|wrong| match wrong.place {
        None => Failure::input(anyhow!("{name}: {}", wrong.why)),
        Some((line, column, held)) => Failure::input(anyhow!("{name}:{line}:{column}: {}\n  {held}", wrong.why)),
    })
}

/// The permutations that have names, as in Dally and Towles, *Principles and Practices of Interconnection Networks*,
/// table 3.1. Ranks take the place of addresses.
pub(super) const NAMED: [&str; 6] = ["complement", "reverse", "shuffle", "transpose", "tornado", "neighbour"];

/// The destination ranks of one of [`NAMED`] among `ends` end ports, by source rank. A rank that is its own destination
/// sends nothing.
///
/// # Errors
/// The pattern permutes bits, and the number of end ports is no power of two; with `transpose`, none of four.
pub(super) fn named(pattern: &str, ends: usize) -> Result<Vec<u32>, Failure> {
    let count = ends as u32;
    let bits = count.trailing_zeros();
    let by_bits = ["complement", "reverse", "shuffle", "transpose"].contains(&pattern);
    if by_bits && (!count.is_power_of_two() || count < 2) || pattern == "transpose" && bits % 2 == 1 {
        let power = if pattern == "transpose" { "four" } else { "two" };
        return Err(Failure::input(anyhow!(
            "--traffic {pattern} takes a power of {power} of end ports that send; here are {ends}: tornado, neighbour and \
             permutation take any number"
        )));
    }
    let destination = |source: u32| match pattern {
        "complement" => count - 1 - source,
        "reverse" => source.reverse_bits() >> (u32::BITS - bits),
        "shuffle" => (source << 1 | source >> (bits - 1)) & (count - 1),
        "transpose" => (source << (bits / 2) | source >> (bits / 2)) & (count - 1),
        // Nearly half of the way round.
        "tornado" => (source + count.div_ceil(2) - 1) % count,
        "neighbour" => (source + 1) % count,
        _ => unreachable!("{pattern} is not one of {NAMED:?}"),
    };
    Ok((0..count).map(destination).collect())
}

/// An error in a file, and its place: line, column, and the line itself.
#[derive(Debug)]
struct Wrong {
    why: String,
    place: Option<(usize, usize, String)>,
}

fn parse(text: &str, ends: usize) -> Result<Vec<u32>, Wrong> {
    let mut pairs = Pairs::default();
    let mut form = None;
    for (line, held) in (1..).zip(text.lines()) {
        if held.len() > LONGEST_LINE {
            let why = format!("line {line} has {} bytes: expected one or two ranks", held.len());
            return Err(Wrong { why, place: None });
        }
        if held.trim().is_empty() || held.trim_start().starts_with('#') {
            continue;
        }
        let wrong = |column, why| Wrong { why, place: Some((line, column, held.to_string())) };
        let fields = fields(held, ends).map_err(|(column, why)| wrong(column, why))?;
        let expected = *form.get_or_insert(fields.len());
        if fields.len() != expected || !(1..=2).contains(&expected) {
            let why = "expected a destination rank in every line, or a source and a destination rank in every line";
            return Err(wrong(1, why.to_string()));
        }
        let (column, destination) = fields[expected - 1];
        let source = if expected == 2 { fields[0].1 } else { pairs.lines };
        if source as usize >= ends {
            return Err(wrong(1, format!("one destination too many: {ends} end ports send, one for each line")));
        }
        pairs.add(source, destination).map_err(|why| wrong(column, why))?;
    }
    match pairs.lines {
        0 => Err(Wrong { why: "holds no ranks: expected lines of ranks".to_string(), place: None }),
        _ => Ok(pairs.list()),
    }
}

/// The ranks of a line, each with its column.
fn fields(line: &str, ends: usize) -> Result<Vec<(usize, u32)>, (usize, String)> {
    let separates = |letter: char| letter == ',' || letter.is_whitespace();
    let mut found = Vec::new();
    let mut column = 1;
    for field in line.split(separates) {
        if !field.is_empty() {
            let rank = field.parse().ok().filter(|&rank| (rank as usize) < ends);
            let last = ends.saturating_sub(1);
            let why = || format!("`{field}` is not a rank: {ends} end ports send, of ranks 0 to {last}");
            found.push((column, rank.ok_or_else(|| (column, why()))?));
        }
        column += field.chars().count() + 1;
    }
    Ok(found)
}

/// The pairs read so far.
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
        let wrong = parse(text, 16).unwrap_err();
        let (line, column, _) = wrong.place.unwrap();
        (line, column, wrong.why)
    }

    #[test]
    fn named_patterns_are_those_of_the_textbook() {
        let of = |pattern, ends| named(pattern, ends).unwrap();
        assert_eq!(of("complement", 8), [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(of("reverse", 8), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(of("shuffle", 8), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(of("transpose", 16), [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);
        assert_eq!(of("tornado", 8), [3, 4, 5, 6, 7, 0, 1, 2]);
        assert_eq!(of("tornado", 5), [2, 3, 4, 0, 1]);
        assert_eq!(of("neighbour", 3), [1, 2, 0]);
        for (pattern, ends) in NAMED.into_iter().flat_map(|pattern| [2, 4, 16, 64].map(|ends| (pattern, ends))) {
            let Ok(destinations) = named(pattern, ends) else {
                assert_eq!((pattern, ends), ("transpose", 2));
                continue;
            };
            let mut sorted = destinations.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..ends as u32).collect::<Vec<_>>(), "{pattern} of {ends}: {destinations:?}");
        }
        for (pattern, ends) in [("complement", 12), ("transpose", 8), ("shuffle", 1), ("reverse", 0)] {
            assert!(named(pattern, ends).is_err(), "{pattern} of {ends}");
        }
    }

    #[test]
    fn both_forms_are_read_and_who_has_no_line_is_silent() {
        assert_eq!(parse("# who sends to whom\n2\n\n0\n1\n", 3).unwrap(), [2, 0, 1]);
        assert_eq!(parse("3 1\n1,3\n", 4).unwrap(), [0, 3, 2, 1]);
    }

    #[test]
    fn what_is_no_permutation_is_refused_where_it_stands() {
        assert_eq!(refused("1 2\n3\n").0, 2);
        assert_eq!(refused("1 2 3\n").0, 1);
        assert_eq!(refused("0 1\n2  x\n"), (2, 4, "`x` is not a rank: 16 end ports send, of ranks 0 to 15".into()));
        assert_eq!(refused("1 0\n 99 1\n"), (2, 2, "`99` is not a rank: 16 end ports send, of ranks 0 to 15".into()));
        assert_eq!(refused("0 16\n").1, 3);
        assert!(refused("0 1\n0 2\n").2.starts_with("0 sends to 1 already"));
        assert_eq!(refused("0 1\n2 1\n").1, 3);
        assert!(refused("70000\n").2.contains("is not a rank"));
        assert!(parse("# nothing\n", 16).unwrap_err().place.is_none());
        let wrong = parse("1\n0\n2\n", 2).unwrap_err();
        assert_eq!(wrong.place.map(|place| place.0), Some(3), "{}", wrong.why);
    }
}
