//! Whether two verdicts agree, why not where they do not, and the sums over many.

use super::Examination;
use super::judges::{Ends, Judged, Verdict};
use super::list::{Sample, family_row};
use super::opensm::Routing;
use comfy_table::{CellAlignment, Table, presets};
use std::collections::BTreeMap;

/// A known reason for which verdicts differ: where it says that it holds, it has been shown for that case.
pub struct Cause {
    pub name: &'static str,
    pub reason: &'static str,
    holds: fn(&Examination, Ends, &Judged, &Judged) -> bool,
}

/// Every named cause.
pub const CAUSES: [Cause; 0] = [];

/// What two verdicts are to each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Agreement {
    /// The same, of the same pairs.
    Full,
    /// Different, for a named cause.
    Explained(&'static str),
    /// Different, or of other pairs.
    Missing,
}

impl Agreement {
    pub fn of(examination: &Examination, ends: Ends, theirs: &Judged, ours: &Judged) -> Agreement {
        let judged = !matches!((&theirs.verdict, &ours.verdict), (Verdict::None(_), _) | (_, Verdict::None(_)));
        if judged && theirs.verdict == ours.verdict && theirs.pairs == ours.pairs {
            return Agreement::Full;
        }
        let cause = CAUSES.iter().find(|cause| (cause.holds)(examination, ends, theirs, ours));
        cause.map_or(Agreement::Missing, |cause| Agreement::Explained(cause.name))
    }

    fn word(self) -> &'static str {
        match self {
            Agreement::Full => "agree",
            Agreement::Explained(name) => name,
            Agreement::Missing => "DISAGREE",
        }
    }
}

/// One line of the report.
pub fn line(
    sample: &Sample,
    routing: Routing,
    engine: &str,
    ends: Ends,
    theirs: &Judged,
    ours: &Judged,
    agreement: Agreement,
) -> String {
    let ran = if engine == routing.engine { "ran".to_string() } else { format!("fell back to {engine}") };
    let ends = if ends == Ends::All { "all" } else { "CAs" };
    let components = ours.components.map_or("?".to_string(), |count| count.to_string());
    let pairs =
        if theirs.pairs == ours.pairs { String::new() } else { format!(" pairs {:?}/{:?}", theirs.pairs, ours.pairs) };
    format!(
        "{sample:<48} {:<26} {ran:<19} {ends} ibdmchk {:<6} audit {:<6} components {components:>3} {:<9} {:.3} s {:.3} s{pairs}",
        routing.label,
        theirs.verdict.to_string(),
        ours.verdict.to_string(),
        agreement.word(),
        theirs.seconds,
        ours.seconds,
    )
}

/// Sums over runs with the same heading.
#[derive(Clone, Default, Debug)]
struct Sum {
    fabrics: u64,
    fell_back: u64,
    not_routed: u64,
    verdicts: u64,
    free: u64,
    loops: u64,
    broken: u64,
    agree: u64,
    explained: u64,
    disagree: u64,
}

/// Everything that was compared, by what was asked for and by family.
#[derive(Default)]
pub struct Totals {
    by_routing: BTreeMap<(usize, &'static str), Sum>,
    by_family: BTreeMap<(usize, &'static str), Sum>,
    causes: BTreeMap<&'static str, u64>,
    all: Sum,
}

impl Totals {
    /// Adds one routed fabric, and returns its lines.
    pub fn add(&mut self, sample: &Sample, row: (usize, Routing), result: &Result<Examination, String>) -> Vec<String> {
        let (row, routing) = row;
        let mut lines = Vec::new();
        let mut sum = Sum { fabrics: 1, ..Sum::default() };
        match result {
            Err(why) => {
                sum.not_routed = 1;
                lines.push(format!("{sample:<48} {:<26} NOT COMPARED: {why}", routing.label));
            }
            Ok(examination) => {
                let engine = &examination.routed.engine;
                sum.fell_back = u64::from(engine != routing.engine);
                for (ends, theirs, ours) in &examination.answers {
                    let agreement = Agreement::of(examination, *ends, theirs, ours);
                    sum.count(&theirs.verdict, agreement);
                    if let Agreement::Explained(name) = agreement {
                        *self.causes.entry(name).or_default() += 1;
                    }
                    lines.push(line(sample, routing, engine, *ends, theirs, ours, agreement));
                }
            }
        }
        let family = family_row(sample.family);
        self.by_routing.entry((row, routing.label)).or_default().add(&sum);
        self.by_family.entry((family, sample.family)).or_default().add(&sum);
        self.all.add(&sum);
        lines
    }

    /// Whether every verdict agrees, or is explained.
    pub fn all_agree(&self) -> bool {
        self.all.disagree == 0 && self.all.not_routed == 0
    }

    /// How many verdicts of loops both gave.
    pub fn loops(&self) -> u64 {
        self.all.loops
    }

    /// How many verdicts of freedom from loops both gave.
    pub fn free(&self) -> u64 {
        self.all.free
    }

    /// How many fabrics were routed and judged, routings counted each.
    pub fn compared(&self) -> u64 {
        self.all.fabrics - self.all.not_routed
    }

    /// The tables.
    pub fn show(&self) -> String {
        let mut text = String::new();
        for (heading, sums) in [("asked for", &self.by_routing), ("family", &self.by_family)] {
            let mut table = Table::new();
            table.load_style(presets::ASCII_MARKDOWN);
            table.set_header([
                heading,
                "routed",
                "fell back",
                "not routed",
                "verdicts",
                "free",
                "loops",
                "broken",
                "agree",
                "explained",
                "disagree",
            ]);
            for ((_, name), sum) in sums {
                table.add_row(sum.row(name));
            }
            table.add_row(self.all.row("all"));
            for column in table.column_iter_mut().skip(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            text += &format!("{table}\n\n");
        }
        for (name, count) in &self.causes {
            text += &format!("{count} verdicts differ for a named cause: {name}\n");
        }
        text
    }
}

impl Sum {
    fn count(&mut self, verdict: &Verdict, agreement: Agreement) {
        self.verdicts += 1;
        *match agreement {
            Agreement::Full => &mut self.agree,
            Agreement::Explained(_) => &mut self.explained,
            Agreement::Missing => &mut self.disagree,
        } += 1;
        match verdict {
            Verdict::Free => self.free += 1,
            Verdict::Loops => self.loops += 1,
            Verdict::Broken(_) => self.broken += 1,
            Verdict::None(_) => {}
        }
    }

    fn add(&mut self, other: &Sum) {
        let mine = self.counts_mut();
        mine.into_iter().zip(other.counts()).for_each(|(sum, count)| *sum += count);
    }

    fn counts(&self) -> [u64; 10] {
        [
            self.fabrics,
            self.fell_back,
            self.not_routed,
            self.verdicts,
            self.free,
            self.loops,
            self.broken,
            self.agree,
            self.explained,
            self.disagree,
        ]
    }

    fn counts_mut(&mut self) -> [&mut u64; 10] {
        [
            &mut self.fabrics,
            &mut self.fell_back,
            &mut self.not_routed,
            &mut self.verdicts,
            &mut self.free,
            &mut self.loops,
            &mut self.broken,
            &mut self.agree,
            &mut self.explained,
            &mut self.disagree,
        ]
    }

    fn row(&self, name: &str) -> Vec<String> {
        std::iter::once(name.to_string()).chain(self.counts().map(|count| count.to_string())).collect()
    }
}
