//! Whether two verdicts agree, and if not, why; and the sums over many.

use super::Examination;
use super::list::family_row;
use super::subject::judges::{Ends, Judged, Verdict};
use super::subject::opensm::{Routed, Routing};
use super::subject::sample::Sample;
use comfy_table::{CellAlignment, Table, presets};
use reconfig::ids::Lid;
use std::collections::BTreeMap;

/// A known reason for which verdicts differ. It applies only to cases for which it has been shown.
pub struct Cause {
    pub name: &'static str,
    pub reason: &'static str,
    holds: fn(&Routed, &Judged, &Judged) -> bool,
}

/// Every named cause.
pub const CAUSES: [Cause; 1] = [Cause {
    name: "ibdmchk -l",
    reason: "told of LMC n, ibdmchk steps over LIDs from 1 by 2^n, counts port 0 of a switch as the owner of 2^n LIDs \
             too, and calls what it steps on cut off; OpenSM aligns LIDs and gives that port one. Shown where no LID \
             that it names is anyone's base LID, and audit has a verdict",
    holds: |routed, theirs, ours| {
        let is_base =
            |&lid: &Lid| routed.fabric.lid_owner(lid).is_some_and(|port| routed.fabric.port(port).lid == Some(lid));
        routed.told_lmc > 0
            && !theirs.cut_off.is_empty()
            && !theirs.cut_off.iter().any(is_base)
            && matches!(theirs.verdict, Verdict::None(_))
            && !matches!(ours.verdict, Verdict::None(_))
    },
}];

/// How two verdicts compare.
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
    pub fn of(routed: &Routed, theirs: &Judged, ours: &Judged) -> Agreement {
        let judged = !matches!((&theirs.verdict, &ours.verdict), (Verdict::None(_), _) | (_, Verdict::None(_)));
        if judged && theirs.verdict == ours.verdict && theirs.pairs == ours.pairs {
            return Agreement::Full;
        }
        let cause = CAUSES.iter().find(|cause| (cause.holds)(routed, theirs, ours));
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

/// What is counted: verdicts are ibdmchk's.
#[derive(Clone, Copy)]
pub enum Count {
    Ran,
    FellBack,
    NotRouted,
    Verdicts,
    Free,
    Loops,
    Broken,
    None,
    Agree,
    Explained,
    Disagree,
}

/// Their headings, in order.
const COUNTS: [&str; 11] =
    ["ran", "fell back", "not routed", "verdicts", "free", "loops", "broken", "none", "agree", "explained", "disagree"];

/// Sums over runs with the same heading.
#[derive(Clone, Copy, Default)]
struct Sum([u64; COUNTS.len()]);

impl Sum {
    fn one(&mut self, count: Count) {
        self.0[count as usize] += 1;
    }

    fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    /// Counts a verdict of ibdmchk, and how ours compares.
    fn verdict(&mut self, verdict: &Verdict, agreement: Agreement) {
        self.one(Count::Verdicts);
        self.one(match verdict {
            Verdict::Free => Count::Free,
            Verdict::Loops => Count::Loops,
            Verdict::Broken(_) => Count::Broken,
            Verdict::None(_) => Count::None,
        });
        self.one(match agreement {
            Agreement::Full => Count::Agree,
            Agreement::Explained(_) => Count::Explained,
            Agreement::Missing => Count::Disagree,
        });
    }

    fn add(&mut self, other: &Sum) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }

    fn row(&self, name: &str) -> Vec<String> {
        std::iter::once(name.to_string()).chain(self.0.map(|count| count.to_string())).collect()
    }
}

/// Everything that was compared, by requested engine and by family.
#[derive(Default)]
pub struct Totals {
    by_routing: BTreeMap<(usize, &'static str), Sum>,
    by_family: BTreeMap<(usize, &'static str), Sum>,
    causes: BTreeMap<&'static str, u64>,
    all: Sum,
}

impl Totals {
    /// Adds one fabric under one routing, and returns its lines.
    pub fn add(
        &mut self,
        sample: &Sample,
        (row, routing): (usize, Routing),
        result: &Result<Examination, String>,
    ) -> Vec<String> {
        let (mut sum, mut lines) = (Sum::default(), Vec::new());
        match result {
            Err(why) => {
                sum.one(Count::NotRouted);
                lines.push(format!("{sample:<48} {:<26} NOT COMPARED: {why}", routing.label));
            }
            Ok(examination) => {
                let routed = &examination.routed;
                sum.one(if routed.engine == routing.engine { Count::Ran } else { Count::FellBack });
                for (ends, theirs, ours) in &examination.answers {
                    let agreement = Agreement::of(routed, theirs, ours);
                    sum.verdict(&theirs.verdict, agreement);
                    if let Agreement::Explained(name) = agreement {
                        *self.causes.entry(name).or_default() += 1;
                    }
                    let heading = format!("{sample:<48} {:<26}", routing.label);
                    lines.push(format!("{heading} {}", line(routing, routed, *ends, theirs, ours, agreement)));
                }
            }
        }
        self.by_routing.entry((row, routing.label)).or_default().add(&sum);
        self.by_family.entry((family_row(sample.family), sample.family)).or_default().add(&sum);
        self.all.add(&sum);
        lines
    }

    /// The sum of one count.
    pub fn of(&self, count: Count) -> u64 {
        self.all.of(count)
    }

    /// Whether every verdict agrees, or is explained.
    pub fn all_agree(&self) -> bool {
        self.of(Count::Disagree) == 0 && self.of(Count::NotRouted) == 0
    }

    /// The tables, and every named cause.
    pub fn show(&self) -> String {
        let mut text = String::new();
        for (heading, sums) in [("asked for", &self.by_routing), ("family", &self.by_family)] {
            let mut table = Table::new();
            table.load_style(presets::ASCII_MARKDOWN);
            table.set_header(std::iter::once(heading).chain(COUNTS));
            for (&(_, name), sum) in sums {
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
        for cause in &CAUSES {
            text += &format!("\n{}: {}", cause.name, cause.reason);
        }
        text
    }
}

/// The result of one question.
fn line(routing: Routing, routed: &Routed, ends: Ends, theirs: &Judged, ours: &Judged, agreement: Agreement) -> String {
    let ran = if routed.engine == routing.engine { "ran".into() } else { format!("fell back to {}", routed.engine) };
    let ends = if ends == Ends::All { "all" } else { "CAs" };
    let components = ours.components.map_or("?".into(), |count| count.to_string());
    let pairs = match (theirs.pairs, ours.pairs) {
        (one, other) if one == other => String::new(),
        (one, other) => format!(" pairs {one:?}, {other:?}"),
    };
    format!(
        "{ran:<19} {ends} ibdmchk {:<6} audit {:<6} components {components:>3} {:<9} {:.3} s {:.3} s{pairs}",
        theirs.verdict.to_string(),
        ours.verdict.to_string(),
        agreement.word(),
        theirs.seconds,
        ours.seconds,
    )
}
