//! Error reports of readers: file, line, column, the line itself and what was expected there.
//!
//! Positions inside readers are byte offsets into the text ([`Span`]). Lines and columns are counted only when an error
//! is reported, so that reading stays fast.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// Bytes of the text, from `start` to before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub start: usize,
    pub end: usize,
}

/// A value and its place in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spanned<T> {
    pub value: T,
    pub at: Span,
}

/// A line of a [`SourceText`], without its line end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SourceLine<'a> {
    /// The byte of the source at which `text` begins.
    pub start: usize,
    pub text: &'a str,
}

impl<'a> SourceLine<'a> {
    /// The part before the first `mark`, such as a comment's `#`.
    pub fn before(self, mark: char) -> SourceLine<'a> {
        SourceLine { text: self.text.split(mark).next().unwrap_or_default(), ..self }
    }

    /// A part of the line, which must be a slice of its text, with its place.
    pub fn part(self, value: &'a str) -> Spanned<&'a str> {
        let start = self.start + (value.as_ptr() as usize - self.text.as_ptr() as usize);
        Spanned { value, at: Span { start, end: start + value.len() } }
    }

    /// The line without blanks at its end.
    pub fn span(&self) -> Span {
        Span { start: self.start, end: self.start + self.text.trim_end().len() }
    }
}

/// A text and the name of its file in messages.
#[derive(Clone, Copy)]
pub(crate) struct SourceText<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl<'a> SourceText<'a> {
    /// An error at `at`: `problem` is the headline; `label` stands under the place and states what was expected.
    pub fn error(&self, at: Span, problem: impl Into<String>, label: impl Into<String>) -> ReadError {
        let fault =
            Fault { file: self.file.into(), problem: problem.into(), mark: self.mark(at, label.into()), also: None };
        ReadError(Box::new(Faults { first: fault, further: Vec::new(), kinds: Vec::new(), and_more: false }))
    }

    /// An error that is only counted: finding line and column takes as long as the text before them.
    pub fn counted(&self, problem: impl Into<String>, label: impl Into<String>) -> ReadError {
        SourceText { text: "", ..*self }.error(Span { start: 0, end: 0 }, problem, label)
    }

    /// An error that involves two places; `other` is the earlier one, with its own label.
    pub fn clash(
        &self,
        at: Span,
        problem: impl Into<String>,
        label: impl Into<String>,
        (other, other_label): (Span, impl Into<String>),
    ) -> ReadError {
        let mut error = self.error(at, problem, label);
        error.0.first.also = Some(self.mark(other, other_label.into()));
        error
    }

    /// The number of the line that holds `offset`, counted from 1.
    pub fn line_of(&self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        1 + bytes[..offset.min(bytes.len())].iter().filter(|&&b| b == b'\n').count()
    }

    /// The lines; a byte-order mark at the very beginning belongs to none.
    pub fn lines(&self) -> impl Iterator<Item = SourceLine<'a>> + use<'a> {
        let source = *self;
        let mut next = Some(0);
        std::iter::from_fn(move || {
            let (line, behind) = source.line_at(next?);
            next = (behind <= source.text.len()).then_some(behind);
            Some(line)
        })
    }

    /// The line that begins at byte `start`, as [`SourceText::lines`] has it, and the byte at which the next one
    /// begins.
    pub fn line_at(&self, start: usize) -> (SourceLine<'a>, usize) {
        let rest = &self.text[start..];
        let length = rest.find('\n').unwrap_or(rest.len());
        let text = rest[..length].strip_suffix('\r').unwrap_or(&rest[..length]);
        let line = match text.strip_prefix('\u{feff}') {
            Some(rest) if start == 0 => SourceLine { start: start + '\u{feff}'.len_utf8(), text: rest },
            _ => SourceLine { start, text },
        };
        (line, start + length + 1)
    }

    fn mark(&self, at: Span, label: String) -> Mark {
        let text = self.text;
        let start = floor(text, at.start.min(text.len()));
        let first = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let last = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let line = text[first..last].trim_end_matches('\r');
        let from = (start - first).min(line.len());
        let to = floor(line, at.end.saturating_sub(first).clamp(from, line.len()));
        // What is rendered counts columns from the part that is kept; `column` counts them from the line's beginning.
        let shown = match line.len() > LONG {
            true => floor(line, from.saturating_sub(SHOWN))..floor(line, line.len().min(from + SHOWN)),
            false => 0..line.len(),
        };
        Mark {
            line: self.line_of(start),
            column: 1 + line[..from].trim_start_matches('\u{feff}').chars().count(),
            text: line[shown.clone()].to_string(),
            span: from - shown.start..to.min(shown.end) - shown.start,
            label,
        }
    }
}

/// A line of more bytes is not kept whole: it may be as long as the file.
const LONG: usize = 1 << 16;

/// The bytes kept of such a line, to either side of a place.
const SHOWN: usize = 2000;

/// The faults of one file that are shown with their places; the others are counted.
pub(super) const SHOWN_FAULTS: usize = 10;

/// The last character's border at or before byte `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&border| text.is_char_boundary(border)).unwrap_or(0)
}

/// One place of a file, with its label.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mark {
    line: usize,
    column: usize,
    text: String,
    /// The bytes of `text` that are meant.
    span: Range<usize>,
    label: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Fault {
    file: String,
    problem: String,
    mark: Mark,
    also: Option<Mark>,
}

/// All faults of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Faults {
    first: Fault,
    /// The next ones, as many as are shown.
    further: Vec<Fault>,
    /// Every kind of fault and its number, in the order of first occurrence; empty if there is one fault only.
    kinds: Vec<(String, usize)>,
    /// Whether the reader gave up before the end of the file.
    and_more: bool,
}

/// Why a file could not be read: every fault that its reader found. The accessors give the first one. `Display` is one
/// line; [`ReadError::render`] shows the places in the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct ReadError(Box<Faults>);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { file, problem, mark, also } = &self.0.first;
        write!(f, "{file}:{}:{}: {problem}: {}", mark.line, mark.column, mark.label)?;
        also.as_ref().map_or(Ok(()), |also| write!(f, " (line {}: {})", also.line, also.label))?;
        match self.count() {
            1 => Ok(()),
            count if self.0.and_more => write!(f, " (the first of more than {count} faults)"),
            count => write!(f, " (the first of {count} faults)"),
        }
    }
}

impl ReadError {
    /// The file, as its name was given.
    pub fn file(&self) -> &str {
        &self.0.first.file
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.0.first.mark.line
    }

    /// The column in characters, counted from 1; a tab is one character, a byte-order mark none.
    pub fn column(&self) -> usize {
        self.0.first.mark.column
    }

    /// The line itself; of a very long one, what surrounds the place.
    pub fn text(&self) -> &str {
        &self.0.first.mark.text
    }

    /// What is wrong.
    pub fn problem(&self) -> &str {
        &self.0.first.problem
    }

    /// What was expected in its place.
    pub fn expected(&self) -> &str {
        &self.0.first.mark.label
    }

    /// The number of faults.
    pub fn count(&self) -> usize {
        self.0.kinds.iter().map(|(_, count)| count).sum::<usize>().max(1)
    }

    /// Line and problem of the faults that are shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = (usize, &str)> {
        std::iter::once(&self.0.first).chain(&self.0.further).map(|fault| (fault.mark.line, &*fault.problem))
    }

    /// The reader gives up: the file has more faults than these.
    pub(super) fn and_more(mut self) -> ReadError {
        self.0.and_more = true;
        self
    }

    /// Adds the faults of `other`, which follow in the same file.
    pub(crate) fn join(&mut self, other: ReadError) {
        let all = &mut *self.0;
        if all.kinds.is_empty() {
            all.kinds.push((all.first.kind(), 1));
        }
        let kinds = match other.0.kinds.is_empty() {
            true => vec![(other.0.first.kind(), 1)],
            false => other.0.kinds,
        };
        for (kind, count) in kinds {
            match all.kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, known)) => *known += count,
                None => all.kinds.push((kind, count)),
            }
        }
        let room = (SHOWN_FAULTS - 1).saturating_sub(all.further.len());
        all.further.extend(std::iter::once(other.0.first).chain(other.0.further).take(room));
    }

    /// The error with its surroundings, for a terminal; `colour` adds escape sequences. Of many faults the first ten
    /// are shown, and all are counted.
    pub fn render(&self, colour: bool) -> String {
        self.render_as(Level::ERROR, colour)
    }

    /// Renders the report as a warning, if it does not stop the command.
    pub fn render_warning(&self, colour: bool) -> String {
        self.render_as(Level::WARNING, colour)
    }

    fn render_as(&self, level: Level<'_>, colour: bool) -> String {
        let all = &*self.0;
        let shown = std::iter::once(&all.first).chain(&all.further);
        let mut text = shown.map(|fault| fault.render(level.clone(), colour)).collect::<Vec<_>>().join("\n\n");
        if self.count() > 1 {
            let more = if all.and_more { "more than " } else { "" };
            text += &format!("\n\n{}: {more}{} faults", all.first.file, self.count());
            if self.count() > 1 + all.further.len() {
                text += &format!(", of which the first {} are shown", 1 + all.further.len());
            }
            for (kind, count) in &all.kinds {
                text += &format!("\n{count:>8} × {kind}");
            }
            if all.and_more {
                text += "\nthe rest of the file was not read";
            }
        }
        text
    }
}

impl Fault {
    fn render(&self, level: Level<'_>, colour: bool) -> String {
        let mut group = level.primary_title(&*self.problem).element(self.snippet(&self.mark, true));
        if let Some(also) = &self.also {
            group = group.element(self.snippet(also, false));
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group]).to_string()
    }

    /// What it has in common with others: the problem without names and numbers; what was expected, where the problem
    /// only quotes the file.
    fn kind(&self) -> String {
        match self.problem.starts_with("unexpected `") {
            true => format!("unexpected text: {}", self.mark.label),
            false => without_particulars(&self.problem),
        }
    }

    fn snippet<'a>(&'a self, mark: &'a Mark, primary: bool) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let annotation = kind.span(mark.span.clone()).label(&*mark.label);
        Snippet::source(&*mark.text).line_start(mark.line).path(&*self.file).annotation(annotation)
    }
}

/// A message with `…` for what is quoted and for numbers.
fn without_particulars(message: &str) -> String {
    let unquoted = message.split('`').enumerate().map(|(part, text)| if part % 2 == 1 { "`…`" } else { text });
    let words: Vec<String> = unquoted.collect::<String>().split(' ').map(without_number).collect();
    words.join(" ")
}

fn without_number(word: &str) -> String {
    let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    match core.starts_with(|c: char| c.is_ascii_digit()) {
        true => word.replace(core, "…"),
        false => word.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_in_lines_and_characters() {
        let source = SourceText { file: "f", text: "one\r\n\tzwö drei\nfour" };
        let start = source.text.find("drei").expect("in the text");
        let error = source.error(Span { start, end: start + 4 }, "no", "expected three");
        assert_eq!((error.line(), error.column(), error.text()), (2, 6, "\tzwö drei"));
        assert_eq!(error.to_string(), "f:2:6: no: expected three");
    }

    #[test]
    fn a_byte_order_mark_is_no_column() {
        let source = SourceText { file: "f", text: "\u{feff}abc" };
        assert_eq!(source.lines().collect::<Vec<_>>(), [SourceLine { start: 3, text: "abc" }]);
        assert_eq!(source.error(Span { start: 3, end: 6 }, "no", "x").column(), 1);
    }

    #[test]
    fn a_fault_of_two_places_shows_both_lines() {
        let source = SourceText { file: "f", text: "first\nsecond\n" };
        let error = source.clash(Span { start: 6, end: 12 }, "twice", "again", (Span { start: 0, end: 5 }, "before"));
        let shown = error.render(false);
        assert!(["f:2:1", "second", "f:1:1", "first"].iter().all(|part| shown.contains(part)), "{shown}");
    }

    #[test]
    fn many_faults_are_counted_by_kind_and_the_first_ten_shown() {
        let source = SourceText { file: "f", text: "line\n" };
        let fault = |n: usize| source.error(Span { start: 0, end: 4 }, format!("port {n} of `x{n}` is lost"), "wanted");
        let mut all = fault(1);
        (2..=12).for_each(|n| all.join(fault(n)));
        all.join(source.error(Span { start: 0, end: 4 }, "another", "wanted"));
        let shown = all.render(false);
        assert_eq!((all.count(), shown.matches("error: ").count()), (13, 10));
        assert!(shown.contains("12 × port … of `…` is lost") && shown.contains("1 × another"), "{shown}");
    }

    #[test]
    fn a_very_long_line_is_shown_around_the_place() {
        let text = format!("{}here{}", "x".repeat(1 << 20), "y".repeat(1 << 20));
        let at = Span { start: 1 << 20, end: (1 << 20) + 4 };
        let error = SourceText { file: "f", text: &text }.error(at, "no", "z");
        assert_eq!((error.column(), error.text().len()), ((1 << 20) + 1, 2 * SHOWN));
        assert!(error.render(false).contains("here"));
    }

    #[test]
    fn the_end_of_an_empty_file_is_a_place() {
        let error = SourceText { file: "f", text: "" }.error(Span { start: 0, end: 0 }, "empty", "expected a node");
        assert_eq!((error.line(), error.column()), (1, 1));
        assert!(error.render(false).contains("expected a node"));
    }
}
