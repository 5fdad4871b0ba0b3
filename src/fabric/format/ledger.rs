//! What a reader finds wrong with a file: all of it, in one account.
//!
//! A reader goes on after a fault, so that one run names every one. What it finds is of four kinds. An *assumption*
//! stands for something that the format or the writer left open. A *repair* is damage that can mean one thing only;
//! [`Tolerance::Strict`] refuses it. A *fault* is damage that can mean several; what it concerns is left out, so the
//! file is refused unless [`Tolerance::Partial`] accepts the rest. A *missing section* is a node that the file only
//! names as a neighbour: the fabric has it as its neighbours state it, and is incomplete. A *silent device* is one that
//! did not answer the tool, which says so in a message; what it is and what lies behind it may be missing.

use super::diagnostic::{ReadError, SHOWN_FAULTS, SourceText, Span};
use super::{ReadNotice, Reading};
use crate::fabric::Fabric;
use rustc_hash::FxHashSet;

/// How much damage a reader accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tolerance {
    /// None: what could be repaired is refused.
    Strict,
    /// Damage that can mean one thing only, which is repaired.
    #[default]
    Repair,
    /// An incomplete file too: what cannot be read is left out, and a node without a section is what its neighbours
    /// tell.
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
    silent: SilentDevices<'a>,
    /// Whether nodes got GUIDs that the file does not state.
    pub numbered: bool,
}

/// Notices of one kind.
struct Entry {
    kind: &'static str,
    class: NoticeClass,
    detail: String,
    /// Where it occurs: the first ones.
    places: Vec<Span>,
    times: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NoticeClass {
    Assumption,
    Repair,
    /// A part of the fabric was not seen.
    Silence,
}

/// The devices that did not answer the tool.
#[derive(Default)]
struct SilentDevices<'a> {
    /// Their directed routes or LIDs, as messages name them.
    named: FxHashSet<&'a str>,
    /// The first messages.
    places: Vec<Span>,
    messages: usize,
}

impl SilentDevices<'_> {
    /// A query that failed leaves several messages, some of which do not name the device.
    fn count(&self) -> usize {
        if self.named.is_empty() { self.messages } else { self.named.len() }
    }
}

impl<'a> FaultLedger<'a> {
    pub fn new(source: SourceText<'a>) -> FaultLedger<'a> {
        FaultLedger {
            source,
            notices: Vec::new(),
            faults: None,
            missing: None,
            silent: SilentDevices::default(),
            numbered: false,
        }
    }

    /// Records an assumption; `detail` is shown for the first of its kind.
    pub fn assume(&mut self, at: Span, kind: &'static str, detail: &str) {
        self.add(at, kind, detail, NoticeClass::Assumption);
    }

    /// Records damage that can mean one thing only.
    pub fn repair(&mut self, at: Span, kind: &'static str, detail: &str) {
        self.add(at, kind, detail, NoticeClass::Repair);
    }

    fn add(&mut self, at: Span, kind: &'static str, detail: &str, class: NoticeClass) {
        match self.notices.iter_mut().find(|entry| entry.kind == kind) {
            Some(entry) => {
                entry.times += 1;
                keep_first(&mut entry.places, at);
            }
            None => self.notices.push(Entry { kind, class, detail: detail.into(), places: vec![at], times: 1 }),
        }
    }

    /// Records a message of the tool that it got no answer; `device` is who did not give it, where the message says so.
    pub fn silence(&mut self, at: Span, device: Option<&'a str>) {
        self.silent.named.extend(device);
        self.silent.messages += 1;
        keep_first(&mut self.silent.places, at);
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
        let FaultLedger { source, mut notices, faults, missing, silent, numbered } = self;
        let unanswered = silent.count();
        if unanswered > 0 {
            let kind = "a part of the fabric may be missing: the tool did not get an answer from ";
            let detail = if unanswered == 1 { "1 device".into() } else { format!("{unanswered} devices") };
            let SilentDevices { places, messages: times, .. } = silent;
            notices.push(Entry { kind, class: NoticeClass::Silence, detail, places, times });
        }
        notices.iter_mut().for_each(|entry| entry.places.sort_by_key(|place| place.start));
        notices.sort_by_key(|entry| entry.at().start);
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
            let refuses = |entry: &&Entry| entry.class != NoticeClass::Assumption;
            notices.iter().filter(refuses).for_each(|entry| join(&mut refused, entry.refused(source)));
            if let Some(refused) = refused.or_else(|| missing.clone()) {
                return Err(refused);
            }
        }
        let mut all: Vec<ReadNotice> = notices.iter().map(|entry| entry.notice(source)).collect();
        let (incomplete, left_out) = match tolerance {
            Tolerance::Partial => {
                let left_out = accepted.iter().map(|faults| partial(faults, "cannot be read and is left out"));
                all.extend(
                    left_out.chain(missing.iter().map(|missing| partial(missing, "is what its neighbours state"))),
                );
                let mut all = accepted;
                missing.into_iter().for_each(|missing| join(&mut all, missing));
                (None, all)
            }
            _ => (missing, None),
        };
        Ok(Reading { fabric, notices: all, incomplete, left_out, unanswered, numbered })
    }
}

impl Entry {
    fn at(&self) -> Span {
        self.places[0]
    }

    fn text(&self, source: SourceText<'_>) -> String {
        let mut lines: Vec<String> = self.places.iter().map(|at| source.line_of(at.start).to_string()).collect();
        lines.dedup();
        let more = if self.times > self.places.len() { ", …" } else { "" };
        let times = match (self.times, lines.len()) {
            (1, _) => String::new(),
            (times, 1) => format!(" ({times} times in the file)"),
            (times, _) => format!(" ({times} times in the file: lines {}{more})", lines.join(", ")),
        };
        format!("{}{}{times}", self.kind, self.detail)
    }

    fn notice(&self, source: SourceText<'_>) -> ReadNotice {
        let repaired = if self.class == NoticeClass::Repair { "repaired: " } else { "" };
        ReadNotice { line: source.line_of(self.at().start), text: format!("{repaired}{}", self.text(source)) }
    }

    fn refused(&self, source: SourceText<'_>) -> ReadError {
        let label = match self.class {
            NoticeClass::Silence => "expected a capture of the whole fabric: --strict refuses a part",
            _ => "expected a file without damage: --strict refuses what would be repaired",
        };
        source.error(self.at(), self.text(source), label)
    }
}

/// Keeps the first places of many.
fn keep_first(places: &mut Vec<Span>, at: Span) {
    if places.len() < SHOWN_FAULTS {
        places.push(at);
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
