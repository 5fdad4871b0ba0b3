//! Scheme `double`: the Double Scheme (Pinkston, Zafar, Duato), in five phases (docs/PROTOCOL.md).
//!
//! *Restore* puts every service level back to the lane of its rank in its half, mod V, those of the retired half too:
//! nobody uses them until they are spare in the next change, and the tables are then the same before and after every
//! change.

use super::{PlanInput, differs, lane_notes, lft_writes, manager_at, new_port_writes, port_writes, sl_to_vl_writes};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Half, Lid, Lmc};
use crate::plan::{Assumption, Barrier, Draft, Lanes, Observer, Phase, Plan, PlanError, Scheme, Sending, Wave};
use crate::tables::{LFT_BLOCK, PortState, Write};

const ASSUMPTIONS: [Assumption; 6] = [
    Assumption::SwitchManagementPaused,
    Assumption::NoMulticast,
    Assumption::SmBaseLidIsLower,
    Assumption::ArbitrationServesAllLanes,
    Assumption::SpareHalfUnused,
    Assumption::RepliesAreQueuedAtOnce,
];

/// Split, install, swap, drain, restore.
pub(super) fn plan(input: PlanInput) -> Result<Plan, PlanError> {
    let lanes = Lanes::of_fabric(&input.before);
    check_lanes(&input, lanes)?;
    check_lids(&input)?;
    check_halves(&input)?;
    check_observer(&input)?;
    let new = input.old.other();
    let mut waves = vec![split(&input, lanes)];
    waves.extend(install(&input));
    waves.push(swap(&input, new));
    waves.push(wave(Phase::Drain, "", Vec::new(), &[Barrier::Drained(lanes.a)]));
    waves.push(restore(&input, lanes));
    let notes = notes(&input, lanes);
    let assumptions = ASSUMPTIONS.to_vec();
    Ok(Plan::seal(Draft { new, notes, waves, assumptions, ..input.draft(Scheme::Double, lanes) }))
}

fn notes(input: &PlanInput, lanes: Lanes) -> Vec<String> {
    let mut notes = lane_notes(&input.before, lanes);
    if input.before.half_lids(input.sm, input.old.other()).next().is_none() {
        let sm = input.before.describe_port(input.sm);
        notes.push(format!("{sm}, the SM's port, has one LID: MasterSMLID and MasterSMSL stay as they are"));
    }
    notes
}

fn wave(phase: Phase, part: &str, writes: Vec<Write>, barriers: &[Barrier]) -> Wave {
    let name = if part.is_empty() { phase.to_string() } else { format!("{phase}/{part}") };
    Wave { name, phase, writes, barriers: barriers.to_vec(), sending: Sending::AnyOrder }
}

fn split(input: &PlanInput, lanes: Lanes) -> Wave {
    let table = lanes.separate(input.old);
    let differs = differs(&input.initial, table);
    // What has come holds tables that nobody read: its pairs are written even where `initial` has them right (G.2).
    let chosen = |node, from, to| differs(node, from, to) || input.pair_has_come(node, from, to);
    let mut writes = sl_to_vl_writes(&input.surviving, table, chosen);
    // The routing in force leads nobody there, so it does not matter when they come up, if only before the swap.
    writes.extend(new_port_writes(input));
    // The flush is what makes the split true: a packet in A may be latched for B by an entry that is gone (P1.5).
    wave(Phase::Split, "", writes, &[Barrier::Acknowledged, Barrier::Flushed(lanes.b)])
}

fn install(input: &PlanInput) -> Vec<Wave> {
    let part = |part, writes| wave(Phase::Install, part, writes, &[Barrier::Acknowledged]);
    // P2.1: nobody sends to what these entries lead to, so the tables are one wave, without order (P2.2).
    let writes = lft_writes(input);
    if !input.policy.arming.arms() {
        return vec![part("", writes)];
    }
    vec![
        // Each part is acknowledged before the next, so that no table changes beside a port that still carries data
        // (A.1).
        part("arm", port_writes(&input.surviving, PortState::Armed)),
        part("tables", writes),
        part("activate", port_writes(&input.surviving, PortState::Active)),
    ]
}

/// The SA answers with the new half before any end port learns of it, so that a client that asks afterwards gets the
/// same answer (P3.1).
fn swap(input: &PlanInput, new: Half) -> Wave {
    let fabric = &*input.surviving;
    let mut writes = vec![Write::SaHalf { half: new }];
    // P3.2, for switches too: MasterSMLID is where a port sends its traps.
    writes.extend(fabric.lid_ports().filter_map(|port| manager_at(input, port, new)));
    writes.extend(fabric.end_ports().map(|port| Write::ActiveHalf { port, half: new }));
    wave(Phase::Swap, "", writes, &[Barrier::Acknowledged, Barrier::SourcesMoved])
}

fn restore(input: &PlanInput, lanes: Lanes) -> Wave {
    // Phase 5 starts from what phase 1 wrote, so the difference is taken from there and not from `initial`.
    let mut tables = input.initial.clone();
    split(input, lanes).writes.iter().for_each(|write| tables.apply(&input.before, write));
    let writes = sl_to_vl_writes(&input.surviving, lanes.steady(), differs(&tables, lanes.steady()));
    wave(Phase::Restore, "", writes, &[Barrier::Acknowledged])
}

/// Two data VLs on every link, and in each set as many lanes as its routing function needs layers.
fn check_lanes(input: &PlanInput, lanes: Lanes) -> Result<(), PlanError> {
    let fabric = &*input.before;
    let narrow = fabric.ports().find(|(_, port)| port.peer.is_some() && port.data_vls < 2);
    if let Some((id, port)) = narrow {
        return Err(PlanError::OneDataVl { port: fabric.describe_port(id), data_vls: port.data_vls });
    }
    let sides = [("old", input.old_layers, lanes.a), ("new", input.new_layers, lanes.b)];
    for (which, layers, set) in sides {
        // A layer takes one service level of its half and one lane of its set (P0.3), so it can run out of either.
        if usize::from(layers) > input.old.sls().count() {
            return Err(PlanError::TooFewSls { which, layers });
        }
        if usize::from(layers) > set.len() {
            return Err(PlanError::TooFewLanes { which, layers, lanes: set.len(), all: lanes.all.len() });
        }
    }
    Ok(())
}

/// Two halves of LIDs at every end port that stays, and a spare half that the new tables alone touch.
fn check_lids(input: &PlanInput) -> Result<(), PlanError> {
    let fabric = &*input.before;
    for id in fabric.end_ports() {
        let port = fabric.port(id);
        let Some(lid) = port.lid else { return Err(PlanError::NoLid { port: fabric.describe_port(id) }) };
        if port.lmc == Lmc::default() {
            return Err(PlanError::LmcZero { port: fabric.describe_port(id) });
        }
        // A port ignores the low LMC bits of a DLID: on an unaligned base it would own other LIDs than are planned for.
        if lid.0 % port.lmc.lids() != 0 {
            return Err(PlanError::Unaligned { port: fabric.describe_port(id), lid, lmc: port.lmc });
        }
    }
    input.surviving.switches().try_for_each(|switch| check_active_entries(input, switch))
}

fn check_active_entries(input: &PlanInput, switch: NodeId) -> Result<(), PlanError> {
    let (now, wanted) = (&input.initial.lfts[switch.index()], &input.target[switch.index()]);
    // Equal blocks need no look at their entries, and most are equal.
    for block in (0..now.blocks().max(wanted.blocks())).filter(|&block| now.block(block) != wanted.block(block)) {
        let first = block * LFT_BLOCK as u16;
        let mut lids = (first..first + LFT_BLOCK as u16).map(Lid);
        let clash = lids.find(|&lid| now.get(lid) != wanted.get(lid) && input.before.half_of(lid) == Some(input.old));
        if let Some(lid) = clash {
            return Err(PlanError::ActiveEntry { switch: input.before.describe_node(switch), lid, half: input.old });
        }
    }
    Ok(())
}

/// Every source is on the half that the change starts from.
fn check_halves(input: &PlanInput) -> Result<(), PlanError> {
    let sending = |port: PortId| input.initial.sending[port.index()];
    match input.surviving.end_ports().find(|&port| sending(port) != input.old && !input.has_come(port)) {
        Some(port) => Err(PlanError::WrongHalf {
            port: input.surviving.describe_port(port),
            found: sending(port),
            said: input.old,
        }),
        None => Ok(()),
    }
}

/// Counters are read on the new half, which is the one not to run empty; and what a port sent and received that
/// cannot be asked any more is missing from both sums.
fn check_observer(input: &PlanInput) -> Result<(), PlanError> {
    match input.stranded.first() {
        Some(&port) if input.policy.observer == Observer::Conservation => {
            Err(PlanError::Uncounted { port: input.before.describe_port(port) })
        }
        _ => Ok(()),
    }
}
