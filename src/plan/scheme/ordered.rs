//! Scheme `ordered`: forwarding entries alone, in waves of which every mixture is proved. No LID, service level or
//! SL-to-VL table in use changes, and no host is asked for anything.
//!
//! `repair` finds the steps of which the waves are made: tables, and whether packets sent before must have left first.
//! New elements are made ready before the first wave and notified after the last. Section W of docs/PROTOCOL.md.

use super::in_place::{asked, vacated};
use super::urgency::most_pairs_first;
use super::{
    PlanInput, about_answers, about_other_packets, about_spare_half, block_writes, by_guid, new_port_writes,
    sl_to_vl_writes, welcome_writes,
};
use crate::fabric::NodeId;
use crate::plan::{Assumption, Barrier, Draft, Lanes, Phase, Plan, PlanError, Scheme, Sending, Wave};
use crate::tables::{Lft, SubnetTables, Write};
use crate::verify;
use std::sync::Arc;

/// A wave of forwarding entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableStep {
    /// By node: forwarding tables when it has landed.
    pub lfts: Vec<Arc<Lft>>,
    /// Whether packets sent before the previous step landed must have left before this one.
    pub aged_before: bool,
}

/// A wave for each step.
pub(super) fn plan(input: PlanInput) -> Result<Plan, PlanError> {
    let lanes = Lanes::of_fabric(&input.before, input.policy.reserved_sl);
    let mut waves: Vec<Wave> = readying(&input, lanes).into_iter().collect();
    let readied = !waves.is_empty();
    let rewrites = rewrites(&input);
    let several = rewrites.len() > 1;
    for (rewrite, number) in rewrites.into_iter().zip(1..) {
        if let Some(held) = rewrite.aged_on {
            if waves.is_empty() {
                waves.push(wave("rewrite/0".to_string(), Phase::Rewrite, Vec::new()));
            }
            let last = waves.len() - 1;
            waves[last].barriers.extend(aging(&input, held));
        }
        let name = if several { format!("rewrite/{number}") } else { "rewrite".to_string() };
        waves.push(wave(name, Phase::Rewrite, rewrite.writes));
    }
    let mut assumptions = about_other_packets(&input).to_vec();
    assumptions.push(Assumption::EntriesDecide);
    assumptions.extend(about_answers(&input));
    assumptions.extend(about_spare_half(&input));
    assumptions.extend(input.discards_turned_back.then_some(Assumption::TurnedBackIsDiscarded));
    let welcome = welcome_writes(&input, input.old);
    if readied || !welcome.is_empty() {
        waves.push(wave(Phase::Start.to_string(), Phase::Start, welcome));
    }
    let vacated = vacated(&input);
    if !vacated.is_empty() {
        if waves.is_empty() {
            // No entry led there; packets that stand there were latched before (V.3).
            waves.push(wave(Phase::Rewrite.to_string(), Phase::Rewrite, Vec::new()));
        }
        let last = waves.len() - 1;
        waves[last].barriers.extend(vacated);
    }
    let observer = input.policy.observer;
    let mut draft = Draft { waves, assumptions, drain: Vec::new(), ..input.draft(Scheme::Ordered, lanes) };
    let is_observed = |wave: &Wave| wave.vacating_rounds().is_some();
    if draft.waves.iter().any(is_observed) {
        draft.assumptions.extend(Assumption::of_observer(observer));
    }
    Ok(Plan::seal(draft))
}

/// A step that writes something.
struct Rewrite<'a> {
    writes: Vec<Write>,
    /// The tables on which everything sent before them must have left first, if it must.
    aged_on: Option<&'a [Arc<Lft>]>,
}

/// The steps that write something. Where a step differs from the one before it only in tables that stay or are already
/// written, it needs no wave, and the wait before it becomes the wait before the next step, if there is one.
fn rewrites(input: &PlanInput) -> Vec<Rewrite<'_>> {
    let mut held = &input.initial.lfts;
    let (mut rewrites, mut aged) = (Vec::new(), false);
    for step in &input.steps {
        aged |= step.aged_before;
        let mut writes = step_writes(input, held, &step.lfts);
        most_pairs_first(input, held, &step.lfts, &mut writes);
        if !writes.is_empty() {
            let aged_on = std::mem::take(&mut aged).then_some(&held[..]);
            rewrites.push(Rewrite { writes, aged_on });
        }
        held = &step.lfts;
    }
    rewrites
}

/// New switches get their tables first, and then new ports carry data, because rewritten tables lead there at once.
fn readying(input: &PlanInput, lanes: Lanes) -> Option<Wave> {
    if input.before == input.routed {
        return None;
    }
    let last = input.steps.last().map_or(&input.initial.lfts, |last| &last.lfts);
    let is_new = |node, from, to| input.pair_has_come(node, from, to);
    let switches: Vec<NodeId> = by_guid(&input.surviving).into_iter().filter(|&node| input.is_new(node)).collect();
    let blocks = switches.iter().map(|switch| last[switch.index()].blocks()).max().unwrap_or(0);
    let mut writes = block_writes(&switches, blocks, last, |_, _, _| true);
    writes.extend(sl_to_vl_writes(&input.surviving, lanes.steady(input.policy.partition), is_new));
    writes.extend(new_port_writes(input));
    (!writes.is_empty()).then(|| wave(Phase::Install.to_string(), Phase::Install, writes))
}

/// The blocks in which a step differs from the tables before it. A switch that is to leave keeps its own, and a new
/// switch has its last ones already.
pub(super) fn step_writes(input: &PlanInput, held: &[Arc<Lft>], wanted: &[Arc<Lft>]) -> Vec<Write> {
    let mut switches = by_guid(&input.surviving);
    switches.retain(|&switch| input.after.node(switch).present && !input.is_new(switch));
    let blocks = switches.iter().map(|switch| held[switch.index()].blocks().max(wanted[switch.index()].blocks())).max();
    block_writes(&switches, blocks.unwrap_or(0), wanted, |switch, block, entries| {
        held[switch.index()].slice(block) != entries
    })
}

/// Barriers that wait until packets sent before these tables have left (W.3).
pub(super) fn aging(input: &PlanInput, lfts: &[Arc<Lft>]) -> Vec<Barrier> {
    let tables = SubnetTables { lfts: lfts.to_vec(), ..input.initial.clone() };
    asked(verify::rounds_to_age(&input.before, &input.surviving, &tables))
}

fn wave(name: String, phase: Phase, writes: Vec<Write>) -> Wave {
    Wave { name, phase, writes, barriers: vec![Barrier::Acknowledged], sending: Sending::AnyOrder }
}
