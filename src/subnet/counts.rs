//! Counts of management MADs sent, by attribute and method.

use crate::wire::{AttributeId, Method};
use std::collections::BTreeMap;

/// MADs since the manager began; every transmission counts, retries included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SmpCounts {
    /// SMPs sent.
    pub sent: BTreeMap<(AttributeId, Method), u64>,
    /// Retries among them.
    pub retries: u64,
    /// Performance-management MADs sent (not SMPs: they travel on data VLs).
    pub perf: u64,
    /// Answers that arrived after the request was given up.
    pub late: u64,
    /// MADs sent for the responder: answers to clients and other managers, reports.
    pub attended: u64,
    /// MADs received that could not be parsed, or that do not concern a subnet manager.
    pub unknown: u64,
}

impl SmpCounts {
    /// SMPs sent in all.
    pub fn total(&self) -> u64 {
        self.sent.values().sum()
    }

    /// SMPs sent with one attribute, whatever the method.
    pub fn of(&self, attribute: AttributeId) -> u64 {
        self.sent.iter().filter(|((sent, _), _)| *sent == attribute).map(|(_, count)| count).sum()
    }

    /// The increase since `earlier`, a previous reading of the same counts.
    pub fn since(&self, earlier: &SmpCounts) -> SmpCounts {
        let sent = self.sent.iter().filter_map(|(key, count)| {
            let more = count - earlier.sent.get(key).copied().unwrap_or(0);
            (more > 0).then_some((*key, more))
        });
        SmpCounts {
            sent: sent.collect(),
            retries: self.retries - earlier.retries,
            perf: self.perf - earlier.perf,
            late: self.late - earlier.late,
            attended: self.attended - earlier.attended,
            unknown: self.unknown - earlier.unknown,
        }
    }

    /// Adds the counts of `more`.
    pub fn add(&mut self, more: &SmpCounts) {
        for (key, count) in &more.sent {
            *self.sent.entry(*key).or_default() += count;
        }
        self.retries += more.retries;
        self.perf += more.perf;
        self.late += more.late;
        self.attended += more.attended;
        self.unknown += more.unknown;
    }

    pub(super) fn count(&mut self, attribute: AttributeId, method: Method) {
        *self.sent.entry((attribute, method)).or_default() += 1;
    }
}
