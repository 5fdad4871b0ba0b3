//! Results as one self-contained page: no network, no script except a few lines of its own, which only sort tables.
//! Values in, HTML out; the numbers are those of the report, of which JSON is the other form. A run of the simulator,
//! or several side by side, has the most to show; the parts are shared by the pages of other commands.
//!
//! A page takes its colours from the reader's preference for light or dark, omits interactive parts when printed, and
//! describes its drawings in words.

mod audit;
mod chart;
mod cycle;
mod fabric;
mod live;
mod parts;
mod plan;
mod reproduction;
mod route;
mod sections;
mod subnets;
mod timeline;
mod verdict;
mod what_if;
mod words;

pub use audit::audit_page;
pub use live::{LivePage, live_files};
pub use plan::plan_page;
pub use reproduction::reproduction_page;
pub use route::route_page;
pub use what_if::what_if_page;

use super::compare;
use super::quantity::counted;
use super::simulation::{AutoInstead, auto_instead};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use reconfig::plan::Scheme;
use reconfig::scenario::SimulationReport;
use sections::Run;

/// The origin of a page, so that its reader can reproduce it.
pub struct Origin {
    /// The command line, quoted for a shell.
    pub command: String,
    /// The version of this program.
    pub version: &'static str,
    /// SHA-256 of the fabrics as read, in hexadecimal, and what it is a digest of; none where no fabric is read.
    pub digest: Option<String>,
    /// What each file that was read is called, and its SHA-256.
    pub files: Vec<(String, String)>,
}

/// A page of any command.
struct ResultPage<'a> {
    /// The command.
    command: &'static str,
    /// The verdict in a word, with its class: `good` or `bad`.
    word: (&'a str, &'static str),
    /// The verdict in a sentence.
    sentence: String,
    /// Sentences that qualify it.
    beside: Vec<String>,
    /// What the verdict is about.
    what: String,
    /// Everything below.
    body: Markup,
}

impl ResultPage<'_> {
    /// Words that only pages of this command explain.
    fn words(&self) -> &'static [words::Entry] {
        if self.command == "reproduce" { &words::STUDIES } else { &[] }
    }

    fn render(&self, version: &str) -> String {
        let (word, class) = self.word;
        document(HtmlPage {
            title: &format!("{}: {word}", self.what),
            head: html! {
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
                meta name="generator" content={ "reconfig " (version) };
                style { (PreEscaped(include_str!("style.css"))) }
            },
            skip: "Skip to the results",
            header: html! {
                p class="kicker" { "reconfig " (self.command) }
                h1 { span class={ "word " (class) } { (word) } " " (self.sentence) }
                @for told in &self.beside { p class="beside" { (parts::options_whole(told)) } }
                p class="what" { (parts::names_whole(&self.what)) }
            },
            main: html! { (self.body) (words::words(&self.body, self.words())) },
            script: html! { script { (PreEscaped(include_str!("script.js"))) } },
        })
    }
}

/// What a page has of its own.
struct HtmlPage<'a> {
    title: &'a str,
    /// Policy and style.
    head: Markup,
    /// The words of the link past the header.
    skip: &'a str,
    header: Markup,
    main: Markup,
    script: Markup,
}

/// A page as HTML.
fn document(page: HtmlPage<'_>) -> String {
    let HtmlPage { title, head, skip, header, main, script } = page;
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (title) }
                (head)
            }
            body {
                a class="skip" href="#main" { (skip) }
                header { (header) }
                main id="main" { (main) }
                (script)
            }
        }
    };
    whole_numbers(&markup.into_string())
}

/// Whether a value is a number with or without a unit, or a dash; everything else may be long.
fn is_quantity(value: &str) -> bool {
    value.trim_start_matches("≥ ").starts_with(|c: char| c.is_ascii_digit()) || value == "–"
}

/// A page in which no line break parts a number. What is typed or read as a program printed it stays as it is, and so
/// does what is no text.
fn whole_numbers(markup: &str) -> String {
    const AS_IT_IS: [&str; 4] = ["pre", "code", "script", "style"];
    let mut page = String::with_capacity(markup.len());
    let mut within = None;
    for part in markup.split_inclusive('>') {
        let (text, tag) = part.split_at(part.rfind('<').unwrap_or(part.len()));
        match within {
            None => page += &unbroken(text),
            Some(_) => page += text,
        }
        page += tag;
        let name = tag.trim_start_matches(['<', '/']).split([' ', '>']).next().unwrap_or_default();
        match within {
            None => within = AS_IT_IS.into_iter().find(|own| *own == name && tag.starts_with('<')),
            Some(own) if own == name && tag.starts_with("</") => within = None,
            Some(_) => {}
        }
    }
    page
}

/// A text in which no line break parts a number from its groups of digits or its unit.
fn unbroken(text: &str) -> String {
    const UNITS: [&str; 5] = ["ns", "µs", "ms", "s", "%"];
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let joins = |at: usize| {
        let is_group = !(at >= 4 && (at - 4..at).all(is_digit)) && (at + 1..at + 4).all(is_digit) && !is_digit(at + 4);
        let word = text[at + 1..].split(' ').next().unwrap_or_default();
        at > 0 && is_digit(at - 1) && (is_group || UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')'])))
    };
    text.char_indices().map(|(at, sign)| if sign == ' ' && joins(at) { '\u{a0}' } else { sign }).collect()
}

/// The page of one run, or of several of one change under different schemes. Panics if there is none.
/// `auto` is what scheme `auto` would have done instead.
pub fn simulation_page(reports: &[SimulationReport], auto: Option<&AutoInstead>, origin: &Origin) -> String {
    let first = reports.first().expect("a page shows a run");
    let body = html! {
        @match reports {
            [only] => { (Run::new(only, "r0", None).whole()) }
            several => { (side_by_side(several)) }
        }
        (parts::again(origin, sections::settings(reports)))
    };
    // The refusal of what a change cuts off is an answer to all schemes.
    let is_ranked = reports.len() > 1 && first.strands().is_none();
    let ranking = compare::ranking(reports)
        .filter(|_| is_ranked)
        .map(|text| parts::sentence(&text).replace("in-place", "in\u{2011}place"));
    let page = ResultPage {
        command: "simulate",
        word: verdict::word(first),
        sentence: ranking.clone().unwrap_or_else(|| verdict::sentence(first)),
        beside: {
            let own = ranking.map(|_| format!("By {}: {}", compare::name(first), verdict::sentence(first)));
            // Only a cheaper way is worth a line here: why there is none takes many.
            let is_cheaper = |auto: &&AutoInstead| matches!(auto, AutoInstead::Planned { scheme: Scheme::Ordered, .. });
            let auto = auto.filter(is_cheaper).map(|auto| parts::sentence(&auto_instead(auto)));
            own.into_iter().chain(verdict::beside(first)).chain(auto).collect()
        },
        what: headline(first, reports.len()),
        body,
    };
    page.render(origin.version)
}

fn headline(report: &SimulationReport, runs: usize) -> String {
    if !report.has_change() {
        // Where nothing changes no scheme is at work.
        let [subnets, routers] = [(report.subnets.len(), "subnet"), (report.routers.len(), "router")];
        let told = [subnets, routers].into_iter().filter(|(number, _)| *number > 0);
        let told: Vec<String> = told.map(|(number, name)| counted(number as u64, name)).collect();
        return format!("{}; {}, routing {}", report.what, told.join(" and "), report.engine);
    }
    let departure = match report.departure {
        "none" => String::new(),
        departure => format!(" ({departure})"),
    };
    let scheme = match runs {
        1 => format!("scheme {}", compare::name(report)),
        _ => format!("{runs} schemes; the word above is that of {}", compare::name(report)),
    };
    let later = match report.events.len() as u64 {
        0 => String::new(),
        events => format!(" and {}", counted(events, "later event")),
    };
    format!("{}{departure}{later}, {scheme}", report.what)
}

/// The runs as a table, the same charts for all on the same axes, and each in full.
fn side_by_side(reports: &[SimulationReport]) -> Markup {
    let end_ns = reports.iter().map(sections::drawn_end_ns).max();
    let ids: Vec<String> = (0..reports.len()).map(|rank| format!("r{rank}")).collect();
    let runs: Vec<Run<'_>> = reports.iter().zip(&ids).map(|(report, id)| Run::new(report, id, end_ns)).collect();
    html! {
        section {
            h2 { "Schemes side by side" }
            div class="scroll" tabindex="0" role="group" aria-label="Schemes side by side" {
                table class="schemes" {
                    caption { span {
                        "The same change under the same traffic, by scheme; " (compare::OWN_TIMES)
                        @if let Some(marks) = compare::deadlocked(reports) { "; " (marks) }
                    } }
                    thead {
                        tr {
                            th scope="col" { "" }
                            @for report in reports { th scope="col" class="number name" { (compare::name(report)) } }
                        }
                    }
                    tbody {
                        @for (name, value) in compare::ROWS {
                            tr {
                                th scope="row" { (name) }
                                @for report in reports {
                                    @let value = value(report);
                                    // A name breaks, so that the columns beside it stay in sight.
                                    td class=(if is_quantity(&value) { "number" } else { "number name" }) { (parts::names_whole(&value)) }
                                }
                            }
                        }
                    }
                }
            }
        }
        section {
            h2 { "The same axes for all" }
            (sections::shared(&runs))
        }
        section {
            h2 { "Each scheme in full" }
            @for (rank, run) in runs.iter().enumerate() {
                @let (word, class) = verdict::word(run.report);
                details class="run" open[rank == 0] {
                    summary { b { (compare::name(run.report)) } " " span class={ "word " (class) } { (word) } }
                    p { (verdict::sentence(run.report)) @for told in verdict::beside(run.report) { " " (told) } }
                    (Run::new(run.report, &ids[rank], None).whole())
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_together_in_text_alone() {
        let page = "<p title=\"1 234\">1 234 567 of 12 345 pairs, 1234 567, 1 23, 4 5678, 13.0 %, 3 ms, 3 mst</p><pre>1 <b>1 234</b></pre><p>9 000";
        let whole = "<p title=\"1 234\">1\u{a0}234\u{a0}567 of 12\u{a0}345 pairs, 1234 567, 1 23, 4 5678, 13.0\u{a0}%, 3\u{a0}ms, 3 mst</p>\
                     <pre>1 <b>1 234</b></pre><p>9\u{a0}000";
        assert_eq!(whole_numbers(page), whole);
    }

    #[test]
    fn names_may_break_and_quantities_may_not() {
        for (value, is) in [
            ("12 345", true),
            ("30.1 %", true),
            ("–", true),
            ("≥ 12", true),
            ("root spine-2", false),
            ("proved", false),
        ] {
            assert_eq!(is_quantity(value), is, "{value}");
        }
    }
}
