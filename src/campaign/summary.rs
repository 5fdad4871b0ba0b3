//! What rows of a campaign have in common: shares and means with intervals of 95 % confidence.

use super::RunRow;
use crate::intervals::{Estimate, Share};
use rustc_hash::FxHashSet;
use serde::Serialize;

/// The runs of one scheme under otherwise equal settings.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct SchemeSummary {
    /// The fabric, as described.
    pub fabric: String,
    /// What was lost.
    pub change: String,
    /// The engine, as described.
    pub engine: String,
    /// The load.
    pub load: f64,
    /// The scheme, as described.
    pub scheme: String,
    /// Runs, those included that could not begin.
    pub runs: u64,
    /// Runs that could not begin.
    pub refused: u64,
    /// Of those that began: deadlocked.
    pub deadlocked: Share,
    /// Of those that began: saturated before the loss, so that figures show what queues hold.
    pub saturated: Share,
    /// Of those that began: sent no packet, so that they show nothing of what a change costs.
    pub silent: Share,
    /// Of those that began: cut end ports off from the subnet manager.
    pub cutting: Share,
    /// Of those that began: not proved beforehand.
    pub unproved: Share,
    /// Of those that began: packets lost to the change.
    pub lossy: Share,
    /// Of those that completed: packets lost to the change.
    pub lost_to_change: Estimate,
    /// Of those that completed: packets lost to the failure and to the change.
    pub lost_in_all: Estimate,
    /// Of those that completed: the mean outage of pairs, in nanoseconds; 0 in runs without an outage. Runs of which no
    /// pair that was out was seen to be back do not count, since how long it was out is not known; nor do runs without
    /// a packet.
    pub outage_ns: Estimate,
    /// Over those that completed: pairs of end ports that were out.
    pub pairs_out: u64,
    /// Those of them that had not been seen to be back when the run ended: no mean outage counts them.
    pub pairs_not_back: u64,
    /// Of those that completed: how long the change took, in nanoseconds.
    pub change_ns: Estimate,
    /// Of those that completed: SMPs.
    pub smps: Estimate,
}

/// Rows by settings, in the order in which these first occur; rows in any order give the same.
pub fn summaries(rows: &[RunRow]) -> Vec<SchemeSummary> {
    let mut ordered: Vec<&RunRow> = rows.iter().collect();
    ordered.sort_by_key(|row| row.run);
    let mut groups: Vec<Vec<&RunRow>> = Vec::new();
    let alike = |a: &RunRow, b: &RunRow| {
        (&a.fabric, &a.change, &a.engine, &a.scheme) == (&b.fabric, &b.change, &b.engine, &b.scheme)
            && a.load.to_bits() == b.load.to_bits()
    };
    for row in ordered {
        match groups.iter_mut().find(|group| alike(group[0], row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.iter().map(|group| summary(group)).collect()
}

/// All rows of each scheme together, in the order in which schemes first occur. Fabric, change and engine are `all` and
/// the load 0 where they are several. Of runs with one trace, such as those of two names of one fabric, the first
/// counts: they are one run, and more of them would narrow an interval without cause.
pub fn pooled(rows: &[RunRow]) -> Vec<SchemeSummary> {
    let mut ordered: Vec<&RunRow> = rows.iter().collect();
    ordered.sort_by_key(|row| row.run);
    let mut schemes: Vec<&str> = Vec::new();
    for row in &ordered {
        if !schemes.contains(&row.scheme.as_str()) {
            schemes.push(&row.scheme);
        }
    }
    let of = |scheme: &str| {
        let mut traces = FxHashSet::default();
        let group: Vec<&RunRow> = ordered.iter().copied().filter(|row| row.scheme == scheme).collect();
        let counted = group.iter().copied();
        let counted: Vec<&RunRow> =
            counted.filter(|row| row.trace.is_empty() || traces.insert(row.trace.as_str())).collect();
        let same = |one: fn(&RunRow) -> &str| match group.iter().all(|row| one(row) == one(group[0])) {
            true => one(group[0]).to_string(),
            false => "all".to_string(),
        };
        let one_load = group.iter().all(|row| row.load.to_bits() == group[0].load.to_bits());
        SchemeSummary {
            fabric: same(|row| &row.fabric),
            change: same(|row| &row.change),
            engine: same(|row| &row.engine),
            load: if one_load { group[0].load } else { 0.0 },
            ..summary(&counted)
        }
    };
    schemes.into_iter().map(of).collect()
}

fn summary(group: &[&RunRow]) -> SchemeSummary {
    let began: Vec<&RunRow> = group.iter().copied().filter(|row| row.outcome != "refused").collect();
    let share = |is: &dyn Fn(&RunRow) -> bool| Share::of(began.iter().filter(|row| is(row)).count(), began.len());
    let completed = || began.iter().filter(|row| row.outcome == "completed");
    let estimate = |of: &dyn Fn(&RunRow) -> Option<u64>| {
        Estimate::of(completed().filter_map(|row| of(row)).map(|figure| figure as f64))
    };
    let sum = |of: &dyn Fn(&RunRow) -> Option<u64>| completed().filter_map(|row| of(row)).sum();
    let first = group[0];
    SchemeSummary {
        fabric: first.fabric.clone(),
        change: first.change.clone(),
        engine: first.engine.clone(),
        load: first.load,
        scheme: first.scheme.clone(),
        runs: group.len() as u64,
        refused: (group.len() - began.len()) as u64,
        deadlocked: share(&|row| row.outcome == "deadlocked"),
        saturated: share(&RunRow::is_saturated),
        silent: share(&RunRow::is_silent),
        cutting: share(&RunRow::cuts_off),
        unproved: share(&|row| row.proof != "proved"),
        lossy: share(&|row| row.lost_to_change.is_some_and(|lost| lost > 0)),
        lost_to_change: estimate(&|row| row.lost_to_change),
        lost_in_all: estimate(&|row| row.lost_in_all),
        outage_ns: estimate(&|row| row.outage_ns()),
        pairs_out: sum(&|row| row.pairs_out),
        pairs_not_back: sum(&|row| row.pairs_not_back),
        change_ns: estimate(&|row| row.change_ns),
        smps: estimate(&|row| row.smps),
    }
}
