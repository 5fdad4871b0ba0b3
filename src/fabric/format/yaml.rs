//! YAML whose values keep their places, for files that people write: lists of subnets and descriptions of campaigns.
//!
//! A fault of form is shown where the parser found it. A value that is [`Spanned`] has a [`place`], where whoever reads
//! it can show what is wrong with it.

use super::{ReadError, SourceText, Span};
use serde::de::DeserializeOwned;
use serde_saphyr::{Location, MessageFormatter, Spanned, UserMessageFormatter};

/// The value that a text holds; `expected` stands under the place of a fault. The text has no byte-order mark, which
/// the parser would count as a column.
///
/// # Errors
/// The first fault of form, at its place.
pub(crate) fn read<T: DeserializeOwned>(source: SourceText<'_>, expected: &str) -> Result<T, ReadError> {
    // The parser's own limits stop short of 65,535 subnets, each of which takes nine nodes and more events.
    let limits = serde_saphyr::budget! { max_nodes: 4_000_000, max_events: 8_000_000 };
    let options = serde_saphyr::options! { budget: limits, with_snippet: false };
    serde_saphyr::from_str_with_options(source.text, options).map_err(|error| unparsed(source, &error, expected))
}

/// Why a text has another form, at the place that the parser names.
fn unparsed(source: SourceText<'_>, error: &serde_saphyr::Error, expected: &str) -> ReadError {
    let mut at = error.location().map_or(Span { start: 0, end: 0 }, |at| span(source, at));
    let problem = match error {
        serde_saphyr::Error::Unexpected { expected: form, .. } => {
            format!("expected a {}", form.trim_end_matches(" start"))
        }
        _ => UserMessageFormatter.format_message(error).into_owned(),
    };
    // The scanner names the scalar that it was reading, which may have begun lines before the tab.
    if problem.ends_with("found a tab")
        && let Some(tab) = source.text[at.start..].find('\t')
    {
        at = Span { start: at.start + tab, end: at.start + tab + 1 };
    }
    source.error(at, problem, expected)
}

/// The place of a value in the text, or, if an alias stands for it, of that alias.
pub(crate) fn place<T>(source: SourceText<'_>, value: &Spanned<T>) -> Span {
    span(source, value.referenced)
}

/// The bytes of a place, which the parser counts in characters where it scans ahead.
fn span(source: SourceText<'_>, at: Location) -> Span {
    let byte =
        |character: u64| source.text.char_indices().nth(character as usize).map_or(source.text.len(), |(byte, _)| byte);
    let (first, length) = (at.span().offset(), at.span().len().max(1));
    Span { start: byte(first), end: byte(first + length) }
}
