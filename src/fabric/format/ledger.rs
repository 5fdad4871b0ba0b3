//! What a reader finds wrong with a file: all of it, in one account.
//!
//! A reader goes on after a fault, so that one run names every one. What it finds is of four kinds. An *assumption*
//! stands for something that the format or the writer left open. A *repair* is damage that can mean one thing only;
//! [`Tolerance::Strict`] refuses it. A *fault* is damage that can mean several; what it concerns is left out, so the
//! file is refused unless [`Tolerance::Partial`] accepts the rest. A *missing section* is a node that the file only
//! names as a neighbour: the fabric has it as its neighbours tell, and is incomplete.

use super::diagnostic::{ReadError, SHOWN_FAULTS, SourceText, Span};
use super::{ReadNotice, Reading};
use crate::fabric::Fabric;

/// How much damage a reader accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tolerance {
    /// None: what could be repaired is refused.
    Strict,
    /// Damage that can mean one thing only, which is repaired.
    #[default]
    Repair,
    /// An incomplete file too: what cannot be read is left out, and a node without a section is what its neighbours tell.
    Partial,
}

/// A file of so many faults is not what its reader takes it for. No more are looked for, and nothing of it is accepted.
const MOST_FAULTS: usize = 1_000;

/// The account of one file.
pub(super) struct FaultLedger<'a> {
    pub source: SourceText<'a>,
    notices: Vec<Entry>,
    faults: Option<ReadError>,
    missing: Option<ReadError>,
}

/// Notices of one kind, at the place of the first.
struct Entry {
    kind: &'static str,
    is_repair: bool,
    at: Span,
    detail: String,
    times: usize,
}

impl<'a> FaultLedger<'a> {
    pub fn new(source: SourceText<'a>) -> FaultLedger<'a> {
        FaultLedger { source, notices: Vec::new(), faults: None, missing: None }
    }

    /// Records an assumption; `detail` is shown for the first of its kind.
    pub fn assume(&mut self, at: Span, kind: &'static str, detail: &str) {
        self.add(at, kind, detail, false);
    }

    /// Records damage that can mean one thing only.
    pub fn repair(&mut self, at: Span, kind: &'static str, detail: &str) {
        self.add(at, kind, detail, true);
    }

    fn add(&mut self, at: Span, kind: &'static str, detail: &str, is_repair: bool) {
        match self.notices.iter_mut().find(|entry| entry.kind == kind) {
            Some(entry) => entry.times += 1,
            None => self.notices.push(Entry { kind, is_repair, at, detail: detail.into(), times: 1 }),
        }
    }

    /// Records damage that cannot be repaired: what it concerns must be left out.
    pub fn fault(&mut self, fault: ReadError) {
        if !self.is_full() {
            join(&mut self.faults, fault);
        }
    }

    /// Records a node that the file names without a section of its own.
    pub fn missing(&mut self, at: Span, problem: String, label: &str) {
        let shown = self.missing.as_ref().is_none_or(|missing| missing.count() < SHOWN_FAULTS);
        let fault = if shown { self.source.error(at, problem, label) } else { self.source.counted(problem, label) };
        join(&mut self.missing, fault);
    }

    /// Whether there are so many faults that the reader is to give up.
    pub fn is_full(&self) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.count() >= MOST_FAULTS)
    }

    pub fn has_faults(&self) -> bool {
        self.faults.is_some()
    }

    /// All faults, or the fabric and what was assumed and repaired.
    pub fn finish(self, fabric: Option<Fabric>, tolerance: Tolerance) -> Result<Reading, ReadError> {
        if self.is_full() {
            return Err(self.faults.expect("it is full of them").and_more());
        }
        let FaultLedger { source, mut notices, faults, missing } = self;
        notices.sort_by_key(|entry| entry.at.start);
        let accepted = match (faults, tolerance) {
            (Some(faults), Tolerance::Repair | Tolerance::Strict) => return Err(faults),
            (faults, _) => faults,
        };
        let Some(fabric) = fabric else {
            let end = Span { start: source.text.len(), end: source.text.len() };
            return Err(
                accepted.unwrap_or_else(|| source.error(end, "the file ends without a node", "expected a node"))
            );
        };
        if tolerance == Tolerance::Strict {
            let mut refused = None;
            notices.iter().filter(|entry| entry.is_repair).for_each(|entry| join(&mut refused, entry.refused(source)));
            if let Some(refused) = refused.or_else(|| missing.clone()) {
                return Err(refused);
            }
        }
        let mut told: Vec<ReadNotice> = notices.iter().map(|entry| entry.notice(source)).collect();
        let incomplete = match tolerance {
            Tolerance::Partial => {
                let left_out = accepted.iter().map(|faults| partial(faults, "cannot be read and is left out"));
                told.extend(
                    left_out.chain(missing.iter().map(|missing| partial(missing, "is what its neighbours tell"))),
                );
                None
            }
            _ => missing,
        };
        Ok(Reading { fabric, notices: told, incomplete })
    }
}

impl Entry {
    fn text(&self) -> String {
        let times = if self.times > 1 { format!(" ({} times in the file)", self.times) } else { String::new() };
        format!("{}{}{times}", self.kind, self.detail)
    }

    fn notice(&self, source: SourceText<'_>) -> ReadNotice {
        let text = if self.is_repair { format!("repaired: {}", self.text()) } else { self.text() };
        ReadNotice { line: source.line_of(self.at.start), text }
    }

    fn refused(&self, source: SourceText<'_>) -> ReadError {
        source.error(self.at, self.text(), "expected a file without damage: --strict refuses what would be repaired")
    }
}

fn partial(faults: &ReadError, what: &str) -> ReadNotice {
    let others = match faults.count() {
        1 => String::new(),
        count => format!(", the first of {count} such places"),
    };
    ReadNotice { line: faults.line(), text: format!("taken partially: {}: {what}{others}", faults.problem()) }
}

fn join(all: &mut Option<ReadError>, fault: ReadError) {
    match all {
        Some(all) => all.join(fault),
        None => *all = Some(fault),
    }
}
