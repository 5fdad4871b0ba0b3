//! What every page is made of: tables, lists of names, numbers at a glance, and how to run it again.

use super::super::quantity::count;
use super::Origin;
use maud::{Markup, html};

/// A number at a glance: its name, its value, and `good`, `bad` or nothing.
pub(super) type Figure<'a> = (&'a str, String, &'a str);

/// The numbers that people ask for first.
pub(super) fn figures(figures: &[Figure<'_>]) -> Markup {
    html! {
        dl class={ "figures n" (figures.len()) } {
            @for (name, value, class) in figures { div { dt { (name) } dd class=(class) { (value) } } }
        }
    }
}

/// How to run it again: the command, and what its result depends on.
pub(super) fn again(origin: &Origin, settings: Vec<(&'static str, String)>) -> Markup {
    let version = ("version", format!("reconfig {}", origin.version));
    let own = [version].into_iter().chain(origin.digest.clone().map(|digest| ("digest of the fabric", digest)));
    let named = |(name, value): (&str, String)| (name.to_string(), value);
    let rows = own.map(named).chain(origin.files.iter().cloned()).chain(settings.into_iter().map(named));
    html! {
        section {
            h2 { "Run it again" }
            pre tabindex="0" { code { (options_whole(&origin.command)) } }
            (pairs("The same input gives the same result", rows))
        }
    }
}

/// A text in which no line ends within the name of an option.
pub(super) fn options_whole(text: &str) -> Markup {
    words_whole(text, |word| word.trim_start_matches('(').starts_with("--"))
}

/// A text whose names between backticks stand in letters of their own.
fn in_letters(text: &str) -> Markup {
    html! {
        @for (rank, part) in text.split('`').enumerate() {
            @if rank % 2 == 1 { code { (part) } } @else { (options_whole(part)) }
        }
    }
}

/// A text in which a line ends between short names, and not within one.
pub(super) fn names_whole(text: &str) -> Markup {
    words_whole(text, |word| word.contains('-') && word.chars().count() <= SHORT)
}

fn words_whole(text: &str, is_whole: fn(&str) -> bool) -> Markup {
    html! {
        @for (rank, word) in text.split(' ').enumerate() {
            @if rank > 0 { " " }
            @if is_whole(word) { span class="whole" { (word) } } @else { (word) }
        }
    }
}

/// The most letters of such a name where columns are narrow.
const SHORT: usize = 12;
/// The most letters of a name that no line break parts: a longer one would push the figures beside it out of sight.
const WHOLE: usize = 20;

/// A name with a hyphen, at which a line could end, and short enough to be kept whole.
fn is_whole(name: &str) -> bool {
    name.contains('-') && name.chars().count() <= WHOLE
}

/// A table of names and values.
pub(super) fn pairs<N: AsRef<str>>(caption: &str, rows: impl IntoIterator<Item = (N, String)>) -> Markup {
    let rows = rows.into_iter().map(|(name, value)| vec![TableField::text(name.as_ref()), TableField::value(&value)]);
    table(caption, &["what", "value"], rows, false)
}

/// The report as it is on the screen, folded unless `open`.
pub(super) fn in_full(text: &str, open: bool) -> Markup {
    html! {
        section {
            h2 { "In full" }
            details open[open] { summary { "The report as it is on the screen" } pre class="screen" tabindex="0" { (text) } }
        }
    }
}

/// An answer of the screen as a sentence.
pub(super) fn sentence(answer: &str) -> String {
    capital(answer.trim()) + "."
}

/// A text that begins with a capital.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(letters).collect()
}

/// Why something was refused.
pub(super) fn refusal(text: &str) -> Markup {
    paragraphs(&format!("Refused: {text}"), "refusal")
}

/// Lines as paragraphs. Evidence, whose lines are indented, is folded under the line that it belongs to.
pub(super) fn paragraphs(text: &str, class: &str) -> Markup {
    let lines: Vec<&str> = text.lines().collect();
    html! {
        @for own in lines.chunk_by(|_, next| next.starts_with(' ')) {
            p class=[(!class.is_empty()).then_some(class)] { (in_letters(&capital(own[0]))) }
            @if own.len() > 1 {
                details { summary { "The evidence, line by line" } pre tabindex="0" { (own[1..].join("\n")) } }
            }
        }
    }
}

/// What a proof rests on.
pub(super) fn assumed<'a>(names: impl IntoIterator<Item = &'a str>) -> Markup {
    let names: Vec<&str> = names.into_iter().collect();
    html! {
        @if !names.is_empty() {
            p { "Assumed, since the manager cannot check it: " @for (rank, own) in names.iter().enumerate() { @if rank > 0 { ", " } code { (own) } } "." }
        }
    }
}

pub(super) fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            details { summary { "Notes (" (notes.len()) ")" } ul { @for note in notes { li { (in_letters(note)) } } } }
        }
    }
}

pub(super) fn named(title: &str, names: &[String], class: &str) -> Markup {
    html! {
        @if !names.is_empty() {
            div {
                h3 { i class={ "key " (class) } {} (title) " (" (names.len()) ")" }
                ul class="names" {
                    @for name in names.iter().take(24) { li { (name) } }
                    @if names.len() > 24 {
                        li { details { summary { "and " (names.len() - 24) " more" } ul { @for name in &names[24..] { li { (name) } } } } }
                    }
                }
            }
        }
    }
}

/// A field of a table.
pub(super) struct TableField {
    shown: String,
    /// What stands below it in small letters; may be empty.
    second: String,
    /// The number by which it is sorted; none for text.
    rank: Option<u64>,
    class: &'static str,
}

impl TableField {
    pub(super) fn text(text: &str) -> TableField {
        TableField { shown: text.to_string(), second: String::new(), rank: None, class: "" }
    }

    /// A text among numbers, which may be long.
    pub(super) fn value(text: &str) -> TableField {
        TableField { class: "value", ..TableField::text(text) }
    }

    /// A number that is shown as it stands in a file.
    pub(super) fn plain(shown: String) -> TableField {
        TableField { shown, class: "number", ..TableField::text("") }
    }

    /// A figure that is not as it should be.
    pub(super) fn amiss(self) -> TableField {
        TableField { class: "number refusal", ..self }
    }

    /// A figure that confirms nothing.
    pub(super) fn unjudged(self) -> TableField {
        TableField { class: "number unjudged", ..self }
    }

    /// Its class; a short name among texts is kept whole.
    fn class_of(&self) -> &'static str {
        if self.class.is_empty() && is_whole(&self.shown) { "whole" } else { self.class }
    }

    /// With a second line.
    pub(super) fn over(self, second: String) -> TableField {
        TableField { second, ..self }
    }

    pub(super) fn count(number: u64) -> TableField {
        TableField::ranked(count(number), number)
    }

    pub(super) fn ranked(shown: String, rank: u64) -> TableField {
        TableField { shown, rank: Some(rank), class: "number", ..TableField::text("") }
    }
}

/// A heading, in which a line may end after `_`: names of columns are longer than what stands below them.
fn heading(name: &str) -> Markup {
    html! { @for (rank, part) in name.split('_').enumerate() { @if rank > 0 { "_" wbr; } (part) } }
}

pub(super) fn table(
    caption: &str,
    header: &[&str],
    rows: impl Iterator<Item = Vec<TableField>>,
    sorts: bool,
) -> Markup {
    table_of(caption, Some(caption), header, rows, sorts)
}

/// A table whose name is not its caption, or which has none.
pub(super) fn table_of(
    name: &str,
    caption: Option<&str>,
    header: &[&str],
    rows: impl Iterator<Item = Vec<TableField>>,
    sorts: bool,
) -> Markup {
    table_of_rows(name, caption, header, &rows.collect::<Vec<_>>(), sorts)
}

fn table_of_rows(name: &str, caption: Option<&str>, header: &[&str], rows: &[Vec<TableField>], sorts: bool) -> Markup {
    // A heading takes the side of its column, not the colour of a figure.
    let class = |column: usize| match rows.first().map_or("", |row| row[column].class) {
        class if class.starts_with("number") => "number",
        class => class,
    };
    html! {
        div class="scroll" tabindex="0" role="group" aria-label=(name) {
            table class=[sorts.then_some("sortable")] {
                @if let Some(caption) = caption { caption { span { (caption) @if sorts { span class="hint" { "; press a heading to sort by it" } } } } }
                thead { tr { @for (rank, name) in header.iter().enumerate() { th scope="col" class=(class(rank)) { (heading(name)) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (rank, field) in row.iter().enumerate() {
                                @if rank == 0 {
                                    th scope="row" class=[(sorts && is_whole(&field.shown)).then_some("whole")] { @if sorts && !is_whole(&field.shown) { (words_whole(&field.shown, is_whole)) } @else { (field.shown) } }
                                } @else {
                                    td class=(field.class_of()) data-rank=[field.rank.filter(|_| sorts)] {
                                        @if field.class == "value" { (options_whole(&field.shown)) } @else { (field.shown) }
                                        @if !field.second.is_empty() { small { (field.second) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
