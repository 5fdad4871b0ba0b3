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
        ReadError(Box::new(fault))
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
        error.0.also = Some(self.mark(other, other_label.into()));
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
        Mark {
            line: self.line_of(start),
            column: 1 + line[..from].trim_start_matches('\u{feff}').chars().count(),
            text: line.to_string(),
            span: from..to,
            label,
        }
    }
}

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

/// Why a file could not be read. `Display` is one line; [`ReadError::render`] shows the place in the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct ReadError(Box<Fault>);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { file, problem, mark, also } = &*self.0;
        write!(f, "{file}:{}:{}: {problem}: {}", mark.line, mark.column, mark.label)?;
        also.as_ref().map_or(Ok(()), |also| write!(f, " (line {}: {})", also.line, also.label))
    }
}

impl ReadError {
    /// The file, as its name was given.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.0.mark.line
    }

    /// The column in characters, counted from 1; a tab is one character, a byte-order mark none.
    pub fn column(&self) -> usize {
        self.0.mark.column
    }

    /// The line itself.
    pub fn text(&self) -> &str {
        &self.0.mark.text
    }

    /// What is wrong.
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// What was expected in its place.
    pub fn expected(&self) -> &str {
        &self.0.mark.label
    }

    /// The line of the other place, if two places contradict each other.
    pub fn other_line(&self) -> Option<usize> {
        self.0.also.as_ref().map(|mark| mark.line)
    }

    /// The error with its surroundings, for a terminal; `colour` adds escape sequences.
    pub fn render(&self, colour: bool) -> String {
        let fault = &*self.0;
        let mut group = Level::ERROR.primary_title(&*fault.problem).element(fault.snippet(&fault.mark, true));
        if let Some(also) = &fault.also {
            group = group.element(fault.snippet(also, false));
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group]).to_string()
    }
}

impl Fault {
    fn snippet<'a>(&'a self, mark: &'a Mark, primary: bool) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let annotation = kind.span(mark.span.clone()).label(&*mark.label);
        Snippet::source(&*mark.text).line_start(mark.line).path(&*self.file).annotation(annotation)
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
        assert_eq!(error.other_line(), Some(1));
        let shown = error.render(false);
        assert!(shown.contains("first") && shown.contains("second") && shown.contains("f:2:1"), "{shown}");
    }

    #[test]
    fn the_end_of_an_empty_file_is_a_place() {
        let error = SourceText { file: "f", text: "" }.error(Span { start: 0, end: 0 }, "empty", "expected a node");
        assert_eq!((error.line(), error.column()), (1, 1));
        assert!(error.render(false).contains("expected a node"));
    }
}
