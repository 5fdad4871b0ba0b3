//! Scheme `in-place`: the baseline, as OpenSM does it. Blocks are overwritten under traffic, with four SMPs
//! outstanding, block by block, each over the switches in GUID order; equal blocks are skipped; there is no barrier
//! before the end. Newcomers are started after that, as in OpenSM: their ports become ACTIVE once every table is
//! written. Beyond OpenSM: a planned departure waits until the leaving elements are vacated.

use super::{
    PlanInput, about_answers, about_other_packets, about_spare_half, lft_writes, new_port_writes, sl_to_vl_writes,
    welcome_writes,
};
use crate::plan::{Assumption, Barrier, Draft, Lanes, Phase, Plan, PlanError, Scheme, Sending, Wave};
use crate::tables::Write;
use crate::verify::rounds_to_vacate;

/// SMPs that OpenSM keeps outstanding by default.
const OPENSM_WINDOW: u16 = 4;

/// The most rounds that one question asks for.
const VACATING_ROUNDS: usize = 16;

/// A single wave: every block that differs.
pub(super) fn plan(input: PlanInput) -> Result<Plan, PlanError> {
    let lanes = Lanes::of_fabric(&input.before, input.policy.reserved_sl);
    let mut tables = lft_writes(&input);
    let is_new = |node, from, to| input.pair_has_come(node, from, to);
    tables.extend(sl_to_vl_writes(&input.surviving, lanes.steady(input.policy.partition), is_new));
    let mut start = new_port_writes(&input);
    let mut waves = vec![wave(Phase::Rewrite, tables)];
    let mut assumptions = about_other_packets(&input).to_vec();
    assumptions.push(Assumption::EntriesDecide);
    assumptions.extend(about_answers(&input));
    assumptions.extend(about_spare_half(&input));
    if !start.is_empty() {
        // Rewritten tables may already lead there.
        assumptions.push(Assumption::InitializeDiscards);
        start.extend(welcome_writes(&input, input.old));
        waves.push(wave(Phase::Start, start));
    }
    let vacated = vacated(&input);
    if let (Some(last), false) = (waves.last_mut(), vacated.is_empty()) {
        last.barriers.extend(vacated);
        assumptions.extend(Assumption::of_vacating(input.policy.observer));
    }
    Ok(Plan::seal(Draft { waves, assumptions, drain: Vec::new(), ..input.draft(Scheme::InPlace, lanes) }))
}

/// Elements that leave as planned carry packets until the last block is written, and nothing in this scheme drains them
/// (V.1).
pub(super) fn vacated(input: &PlanInput) -> Vec<Barrier> {
    rounds_to_vacate(&input.surviving, &input.after).map_or_else(Vec::new, asked)
}

/// The questions that ask for so many rounds, one after the other.
pub(super) fn asked(rounds: usize) -> Vec<Barrier> {
    let starts = (0..rounds).step_by(VACATING_ROUNDS);
    starts.map(|start| Barrier::Vacated(VACATING_ROUNDS.min(rounds - start) as u8)).collect()
}

fn wave(phase: Phase, writes: Vec<Write>) -> Wave {
    let sending = Sending::Listed { window: OPENSM_WINDOW };
    Wave { name: phase.to_string(), phase, writes, barriers: vec![Barrier::Acknowledged], sending }
}
