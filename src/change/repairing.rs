//! The steps of scheme `ordered`: the waves that `repair` finds, as values that a planner takes.

use super::{ChangeError, Groundwork};
use crate::lid;
use crate::plan::{TableStep, TurnedBack};
use crate::repair::{Budget, Repair, RepairInput, RepairWave, repair};
use crate::routing::{choose_root, switch_order};
use crate::tables::Lft;
use crate::verify::InjectionRules;
use std::sync::Arc;

/// What a repair comes to.
#[derive(Default)]
pub(super) struct RepairSteps {
    pub steps: Vec<TableStep>,
    /// Whether they are free of deadlock only where switches discard packets that turn back.
    pub discards_turned_back: bool,
}

/// Waves that lead from the tables in force to tables that serve what remains. `target` is the full re-route.
///
/// # Errors
/// The tables in force can deadlock, or some row finds no way: only another service level, or another LID, would do.
pub(super) fn steps(ground: &Groundwork<'_>, target: &[Arc<Lft>]) -> Result<RepairSteps, ChangeError> {
    let input = ground.input;
    let mut senders = InjectionRules::default();
    senders.injected[input.old.index()] = true;
    senders.ways[input.old.index()] = input.ways.iter().cloned().collect();
    // Tables of other subnet managers lead the LIDs of a port each its own way.
    let parted =
        input.both_halves && lid::mirrored(&input.before, &ground.initial.lfts, input.old) != ground.initial.lfts;
    if parted {
        senders.injected = [true; 2];
    }
    // Sources keep their paths and levels, so tables that were made for others are no guide.
    let alike = input.ways.is_none() && ground.function.path_layers().is_none();
    let order = choose_root(&input.before).and_then(|root| switch_order(ground.function.engine(), &input.before, root));
    let asked = RepairInput {
        before: &ground.whole,
        surviving: &ground.surviving,
        remaining: &ground.after,
        tables: &ground.initial,
        target: alike.then_some(target),
        senders: &senders,
        answerer: Some(input.sm),
        switches: true,
        order: order.as_deref(),
        discards_turned_back: input.policy.turned_back == TurnedBack::Discarded,
        budget: Budget { renewals: 0, ..Budget::default() },
    };
    let found = solved(&asked)?;
    // Whoever sends to the twin of a LID meets the same entries at every moment.
    let both = |lfts: &[Arc<Lft>]| lid::mirrored(&ground.after, lfts, input.old);
    let step = |RepairWave { lfts, aged_before, .. }: RepairWave| {
        let lfts = if input.both_halves && !parted { both(&lfts) } else { lfts };
        TableStep { lfts, aged_before }
    };
    let mut steps: Vec<TableStep> = found.waves.into_iter().map(step).collect();
    if !parted {
        follow(ground, &mut steps);
    }
    Ok(RepairSteps { steps, discards_turned_back: found.discards_turned_back })
}

/// The repair of every row.
///
/// # Errors
/// As for [`repair`]; or some row finds no way.
pub(super) fn solved(asked: &RepairInput<'_>) -> Result<Repair, ChangeError> {
    let found = repair(asked)?;
    match found.unsolved.first() {
        None => Ok(found),
        Some(first) => {
            let switch = asked.before.describe_node(first.switch);
            Err(ChangeError::Unrepaired { rows: found.unsolved.len(), switch, lid: first.lid })
        }
    }
}

/// Has LIDs of the spare half lead where their twins of the half in use lead, in the last wave that is written anyway.
/// Nobody sends there, so it does not matter when.
fn follow(ground: &Groundwork<'_>, steps: &mut Vec<TableStep>) {
    let last = steps.last().map_or(&ground.initial.lfts, |step| &step.lfts);
    let lfts = lid::mirrored(&ground.after, last, ground.input.old);
    let differs = lfts != *last;
    match steps.last_mut() {
        Some(step) => step.lfts = lfts,
        None if differs => steps.push(TableStep { lfts, aged_before: false }),
        None => {}
    }
}
