//! Faults of a campaign's description, with their places.
//!
//! The reader of YAML keeps no places of values. A fault is rare, so its place is searched in the text only then: below
//! a key that begins a line, the word that is at fault, or else the key. A text that spells both in another way, as
//! in braces, is reported at its beginning.

use crate::fabric::format::{ReadError, SourceText, Span};

/// What the reader of YAML calls a type, what a user calls it, and how it is asked for.
const TYPES: [(&str, &str, &str); 9] = [
    ("f32", "no number", "expected a number"),
    ("f64", "no number", "expected a number"),
    ("u8", "no whole number from 0 to 255", "expected a whole number"),
    ("u64", "no whole number", "expected a whole number from 0 on"),
    ("a boolean", "neither true nor false", "expected true or false"),
    ("a string", "no text", "expected a text"),
    ("a sequence", "no list", "expected a list, such as [0.1, 0.3]"),
    ("struct Campaign", "no mapping", "expected keys, such as `schema:` and `fabrics:`"),
    ("struct Seeds", "no mapping", "expected `{from: 1, count: 10}`"),
];

/// A fault of a value below a key, at the word that `is_value` holds for, else at the key.
pub(super) fn below(
    source: SourceText<'_>,
    key: &str,
    is_value: impl Fn(&str) -> bool,
    problem: String,
    expected: &str,
) -> ReadError {
    let place = key_at(source.text, key).map_or(Span { start: 0, end: 0 }, |at| {
        words(source.text, at.end).find(|&word| is_value(&source.text[word.start..word.end])).unwrap_or(at)
    });
    source.error(place, format!("{key}: {problem}"), expected)
}

/// The fault that the reader of YAML has found.
pub(super) fn of_yaml(source: SourceText<'_>, error: &serde_yaml::Error) -> ReadError {
    let message = without_places(&error.to_string());
    let is_path = |head: &&str| !head.contains(' ') && !head.is_empty();
    let (path, said) = match message.split_once(": ").filter(|(head, _)| is_path(head)) {
        Some((path, said)) => (format!("{path}: "), said),
        None => (String::new(), message.as_str()),
    };
    let key = said.split('`').nth(1).unwrap_or_default();
    let beginning = Span { start: 0, end: 0 };
    let place = error.location().map_or(beginning, |at| word_at(source.text, at.line(), at.column()));
    let (problem, expected) = said.split_once(", expected ").unwrap_or((said, ""));
    let one_of = || format!("expected {}", expected.replace('`', ""));
    if said.starts_with("unknown field") {
        return source.error(place, format!("{path}there is no key `{key}`"), one_of());
    }
    if said.starts_with("unknown variant") {
        return source.error(place, format!("{path}`{key}` is not known here"), one_of());
    }
    if said.starts_with("missing field") {
        return source.error(place, format!("{path}the key `{key}` is missing"), "expected it in this mapping");
    }
    if said.starts_with("duplicate field") {
        let place = key_at(source.text, key).unwrap_or(place);
        return source.error(place, format!("{path}the key `{key}` is there twice"), "expected each key once");
    }
    let found = problem.strip_prefix("invalid type: ").or_else(|| problem.strip_prefix("invalid value: "));
    let Some(found) = found else {
        return source.error(place, format!("{path}this is no YAML: {said}"), "expected YAML");
    };
    let (_, lack, expected) = TYPES.iter().find(|(name, ..)| *name == expected).copied().unwrap_or((
        "",
        "not of the form that is expected",
        "expected another form (docs/CAMPAIGNS.md has an example)",
    ));
    source.error(place, format!("{path}{} is {lack}", value(found)), expected)
}

/// A value, of which the reader of YAML says of which type it is, too.
fn value(found: &str) -> String {
    match found {
        "sequence" => "a list".to_string(),
        "map" => "a mapping".to_string(),
        "unit value" => "nothing".to_string(),
        _ => match found.split_once(['"', '`']) {
            Some((_, value)) => format!("`{}`", value.trim_end_matches(['"', '`'])),
            None => found.to_string(),
        },
    }
}

/// A message without lines and columns, which are shown otherwise.
fn without_places(message: &str) -> String {
    let mut parts = message.split(" at line ");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let is_of_place = |sign: char| sign.is_ascii_digit() || sign == ' ';
        text += part.trim_start_matches(is_of_place).trim_start_matches("column").trim_start_matches(is_of_place);
    }
    text
}

/// The last line that begins with the key.
fn key_at(text: &str, key: &str) -> Option<Span> {
    let is_key = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    let begins = |&(at, _): &(usize, &str)| at == 0 || text.as_bytes()[at - 1] == b'\n' || at == '\u{feff}'.len_utf8();
    let found = text.match_indices(key).filter(begins).filter(|&(at, _)| is_key(&text[at..])).last();
    found.map(|(start, _)| Span { start, end: start + key.len() })
}

/// The words of a value from its key on, up to the next key.
fn words(text: &str, start: usize) -> impl Iterator<Item = Span> {
    let begins_key = |line: &str| !line.starts_with(|sign: char| sign.is_whitespace() || "-#]}".contains(sign));
    let lines = text[start..].split_inclusive('\n').enumerate();
    let own = lines.take_while(|&(rank, line)| rank == 0 || !begins_key(line));
    let value = &text[start..start + own.map(|(_, line)| line.len()).sum::<usize>()];
    // Commas part words only within brackets.
    let parts = if value.contains(['[', '{']) { ",[]{}" } else { "" };
    let is_between = move |(at, sign): (usize, char)| {
        let is_mark = sign == ':' && !value[at + 1..].starts_with(|next: char| !next.is_whitespace());
        sign.is_whitespace() || is_mark || parts.contains(sign)
    };
    let mut signs = value.char_indices().peekable();
    std::iter::from_fn(move || {
        while signs.next_if(|&sign| is_between(sign)).is_some() {}
        let &(first, sign) = signs.peek()?;
        let is_over = |&(at, own): &(usize, char)| match sign {
            '#' => own == '\n',
            // What is quoted may contain anything.
            '"' | '\'' => at > first + 1 && value.as_bytes()[at - 1] == sign as u8,
            _ => is_between((at, own)),
        };
        signs.next();
        while signs.next_if(|sign| !is_over(sign)).is_some() {}
        let end = signs.peek().map_or(value.len(), |&(at, _)| at);
        Some(Span { start: start + first, end: start + end })
    })
}

/// The word at a line and a column, both counted from 1.
fn word_at(text: &str, line: usize, column: usize) -> Span {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let start = text[start..].char_indices().nth(column.saturating_sub(1)).map_or(text.len(), |(at, _)| start + at);
    let length = text[start..].find(|sign: char| sign.is_whitespace() || ",]}".contains(sign));
    let word = &text[start..length.map_or(text.len(), |length| start + length)];
    Span { start, end: start + word.trim_end_matches(':').len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_as_yaml_does() {
        for (text, expected) in [
            ("a: [x, 'y z', \"u,v\"] # w\nb: 1", &["x", "'y z'", "\"u,v\"", "# w"][..]),
            ("a:\n  - torus:3x3,1\n# -\n- c\nb:", &["-", "torus:3x3,1", "# -", "-", "c"]),
            ("a: {from: 1, count: 0}", &["from", "1", "count", "0"]),
            ("a: 'x", &["'x"]),
            ("a:", &[]),
        ] {
            let found: Vec<&str> = words(text, 1).map(|word| &text[word.start..word.end]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn places_are_told_once() {
        let message = "did not find ',' at line 3 column 8, while parsing a list at line 2 column 10";
        assert_eq!(without_places(message), "did not find ',', while parsing a list");
    }
}
