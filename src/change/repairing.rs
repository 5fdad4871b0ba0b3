//! The steps of scheme `ordered`: the waves that `repair` finds, as values that a planner takes.

use super::{ChangeError, ChangeInput, Draws};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum};
use crate::plan::TableStep;
use crate::repair::{Budget, RepairInput, RepairWave, repair};
use crate::routing::{choose_root, switch_order};
use crate::tables::Lft;
use crate::verify::InjectionRules;
use std::sync::Arc;

/// Waves that lead from the tables in force to tables that serve what remains. `target` is the full re-route.
///
/// # Errors
/// The tables in force can deadlock, or some row finds no way: only another service level, or another LID, would do.
pub(super) fn steps(
    input: &ChangeInput<'_>,
    draws: &Draws<'_>,
    target: &[Arc<Lft>],
) -> Result<Vec<TableStep>, ChangeError> {
    let mut senders = InjectionRules::default();
    senders.injected[input.old.index()] = true;
    senders.ways[input.old.index()] = input.ways.iter().cloned().collect();
    // Sources keep their paths and levels, so tables that were made for others are no guide.
    let alike = input.ways.is_none() && draws.function.path_layers().is_none();
    let order = choose_root(&input.before).and_then(|root| switch_order(input.engine.name(), &input.before, root));
    let asked = RepairInput {
        before: &draws.whole,
        surviving: &draws.surviving,
        remaining: &draws.after,
        tables: &draws.initial,
        target: alike.then_some(target),
        senders: &senders,
        answerer: Some(input.sm),
        switches: true,
        order: order.as_deref(),
        budget: Budget { renewals: 0, ..Budget::default() },
    };
    let found = repair(&asked)?;
    if let Some(first) = found.unsolved.first() {
        let switch = draws.whole.describe_node(first.switch);
        return Err(ChangeError::Unrepaired { rows: found.unsolved.len(), switch, lid: first.lid });
    }
    let step = |wave: RepairWave| TableStep { lfts: wave.lfts, aged_before: wave.aged_before };
    let mut steps: Vec<TableStep> = found.waves.into_iter().map(step).collect();
    follow(input, draws, &mut steps);
    Ok(steps)
}

/// Has LIDs of the spare half lead where their twins of the half in use lead, if some way to them breaks off. Nobody
/// sends there, so it does not matter when.
fn follow(input: &ChangeInput<'_>, draws: &Draws<'_>, steps: &mut Vec<TableStep>) {
    let fabric = &*draws.after;
    let last = steps.last().map_or(&draws.initial.lfts, |step| &step.lfts);
    let mut lfts = last.clone();
    for owner in fabric.end_ports() {
        let twins = fabric.half_lids(owner, input.old).zip(fabric.half_lids(owner, input.old.other()));
        for (used, spare) in twins.filter(|&(_, spare)| is_broken(fabric, last, owner, spare)) {
            for switch in fabric.switches() {
                let output = last[switch.index()].get(used).unwrap_or(PortNum::NO_ROUTE);
                if lfts[switch.index()].get(spare) != Some(output) {
                    Arc::make_mut(&mut lfts[switch.index()]).set(spare, output);
                }
            }
        }
    }
    if lfts == *last {
        return;
    }
    match steps.last_mut() {
        Some(step) => step.lfts = lfts,
        None => steps.push(TableStep { lfts, aged_before: false }),
    }
}

/// Whether the way from some switch to a LID breaks off.
fn is_broken(fabric: &Fabric, lfts: &[Arc<Lft>], owner: PortId, lid: Lid) -> bool {
    let mut arrives = vec![None; fabric.node_count()];
    fabric.switches().any(|start| !leads(fabric, lfts, Way { owner, lid }, start, &mut arrives))
}

#[derive(Clone, Copy)]
struct Way {
    owner: PortId,
    lid: Lid,
}

/// Whether a switch leads to the owner of a LID; `arrives` keeps what is known.
fn leads(fabric: &Fabric, lfts: &[Arc<Lft>], way: Way, start: NodeId, arrives: &mut [Option<bool>]) -> bool {
    let (mut at, mut passed) = (start, Vec::new());
    let found = loop {
        if let Some(known) = arrives[at.index()] {
            break known;
        }
        // Whoever comes here again has gone round.
        arrives[at.index()] = Some(false);
        passed.push(at);
        let output = lfts[at.index()].get(way.lid).and_then(|port| fabric.port_at(at, port));
        let Some(peer) = output.and_then(|port| fabric.peer(port)) else { break false };
        at = fabric.port(peer).node;
        if !fabric.node(at).is_switch() {
            break peer == way.owner;
        }
    };
    passed.into_iter().for_each(|node| arrives[node.index()] = Some(found));
    found
}
