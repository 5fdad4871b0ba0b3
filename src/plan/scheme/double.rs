//! Scheme `double`: the Double Scheme (Pinkston, Zafar, Duato), in five phases (docs/PROTOCOL.md).
//!
//! *Restore* returns every service level to the lane of its rank in its half, mod V, including those of the retired
//! half: no host uses them until they are spare in the next change, and the tables are then the same before and after
//! every change. Under a standing partition the tables of *split* are those of the steady state, so *split* writes
//! those of newcomers alone, *restore* writes none, and no class changes its lane (P1.6).

use super::{
    PlanInput, PlanSize, about_other_packets, by_guid, differs, lane_notes, lft_count, lft_writes, manager_at,
    new_port_writes, sl_to_vl_count, sl_to_vl_writes,
};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Half, Lid, Lmc};
use crate::plan::{Arming, Assumption, Barrier, Draft, Lanes, Observer, Phase, Plan, PlanError, Scheme, Sending, Wave};
use crate::tables::{LFT_BLOCK, PortState, Write};
use rustc_hash::FxHashMap;

/// Besides those about packets that are in no class of data.
const ASSUMPTIONS: [Assumption; 3] =
    [Assumption::AnswersAreLegal, Assumption::SpareHalfUnused, Assumption::EntriesDecide];

/// Split, install, swap, drain, restore.
pub(super) fn plan(input: PlanInput) -> Result<Plan, PlanError> {
    let lanes = Lanes::of_change(&input.before, &input.policy, input.old);
    check(&input, lanes)?;
    let new = input.old.other();
    let mut waves = vec![split(&input, lanes)];
    waves.extend(install(&input));
    waves.extend(swap(&input, new));
    waves.push(wave(Phase::Drain, "", Vec::new(), &[Barrier::Drained(lanes.a)]));
    waves.push(restore(&input, lanes));
    let notes = notes(&input, lanes);
    let of_observer = Assumption::of_observer(input.policy.observer);
    let mut assumptions = [&about_other_packets(&input)[..], &ASSUMPTIONS, of_observer].concat();
    // Agents of token and poll are those that move the sources, too.
    let of_moving = Assumption::of_moving(input.policy.sources, input.policy.observer).iter();
    assumptions.extend(of_moving.filter(|assumption| !of_observer.contains(assumption)));
    Ok(Plan::seal(Draft { new, notes, waves, assumptions, ..input.draft(Scheme::Double, lanes) }))
}

/// How much the plan would write.
pub(super) fn size(input: PlanInput) -> Result<PlanSize, PlanError> {
    let lanes = Lanes::of_change(&input.before, &input.policy, input.old);
    check(&input, lanes)?;
    if input.policy.arming.arms() {
        // Ports are armed and activated wave by wave.
        return Ok(plan(input)?.size());
    }
    let (separate, steady) = (lanes.separate(input.old), lanes.steady(input.policy.partition));
    let split = sl_to_vl_count(&input, Some(&input.initial), separate) + new_port_writes(&input).len();
    let swap = swap(&input, input.old.other());
    let swapped: usize = swap.iter().map(|wave| wave.writes.len()).sum();
    // After *split* every pair has the table for it.
    let restored = if separate == steady { 0 } else { sl_to_vl_count(&input, None, steady) };
    // Besides those of the swap: *split*, *install*, *drain* and *restore*.
    Ok(PlanSize { writes: split + lft_count(&input) + swapped + restored, waves: swap.len() + 4 })
}

fn check(input: &PlanInput, lanes: Lanes) -> Result<(), PlanError> {
    check_lanes(input, lanes)?;
    check_lids(input)?;
    check_halves(input)?;
    check_observer(input)
}

fn notes(input: &PlanInput, lanes: Lanes) -> Vec<String> {
    let mut notes = lane_notes(input, lanes);
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
    // The tables of newcomers were never read: their pairs are written even if `initial` has them right (G.2).
    let chosen = |node, from, to| differs(node, from, to) || input.pair_has_come(node, from, to);
    let mut writes = sl_to_vl_writes(&input.surviving, table, chosen);
    // The routing in force leads nowhere through these ports, so they may come up at any time before the swap.
    writes.extend(new_port_writes(input));
    // Only the flush completes the split: a packet in A may still be latched for B by an entry that is gone (P1.5).
    wave(Phase::Split, "", writes, &[Barrier::Acknowledged, Barrier::Flushed(lanes.b)])
}

fn install(input: &PlanInput) -> Vec<Wave> {
    // P2.1: no host sends to the LIDs of these entries, so the tables are one wave, in any order (P2.2).
    let writes = lft_writes(input);
    // Where no table changes, no packets need to be held back.
    if !input.policy.arming.arms() || writes.is_empty() {
        return vec![wave(Phase::Install, "", writes, &[Barrier::Acknowledged])];
    }
    if input.policy.arming == Arming::HoldEach {
        return install_in_turn(input, writes);
    }
    let cabled = input.surviving.ports().filter(|(_, port)| port.peer.is_some()).map(|(id, _)| id);
    Held { ports: cabled.collect(), part: "tables", writes }.waves(Phase::Install, "").into()
}

/// The tables switch by switch in GUID order, the ports of a switch ARMED meanwhile (A.5). Its cables' other ends,
/// hosts' ports among them, stay ACTIVE: packets that they send are received, and wait.
fn install_in_turn(input: &PlanInput, writes: Vec<Write>) -> Vec<Wave> {
    let fabric = &*input.surviving;
    let mut of_switch: FxHashMap<NodeId, Vec<Write>> = FxHashMap::default();
    for write in writes {
        if let Write::LftBlock { switch, .. } = write {
            of_switch.entry(switch).or_default().push(write);
        }
    }
    let in_turn = by_guid(fabric).into_iter().filter_map(|switch| Some((switch, of_switch.remove(&switch)?)));
    let in_turn = in_turn.flat_map(|(switch, tables)| {
        let cabled = fabric.ports_of(switch).filter(|&port| fabric.peer(port).is_some());
        let held = Held { ports: cabled.collect(), part: "tables", writes: tables };
        held.waves(Phase::Install, &format!(" {}", fabric.describe_node(switch)))
    });
    in_turn.collect()
}

/// Ports that are ARMED while something is written.
struct Held {
    ports: Vec<PortId>,
    part: &'static str,
    writes: Vec<Write>,
}

impl Held {
    /// Each part is acknowledged before the next, so that nothing is written next to a port that still carries data
    /// (A.1).
    fn waves(self, phase: Phase, whose: &str) -> [Wave; 3] {
        let ports = |state| self.ports.iter().map(|&port| Write::PortState { port, state }).collect();
        let (arm, activate) = (ports(PortState::Armed), ports(PortState::Active));
        [("arm", arm), (self.part, self.writes), ("activate", activate)]
            .map(|(part, writes)| wave(phase, &format!("{part}{whose}"), writes, &[Barrier::Acknowledged]))
    }
}

/// The SA answers with the new half before any end port learns of it, so that a client that queries afterwards gets the
/// same answer (P3.1). Under a policy that arms, each end port is ARMED while it is notified (A.6): all of them at
/// once, or the end ports of one switch after those of another.
fn swap(input: &PlanInput, new: Half) -> Vec<Wave> {
    let fabric = &*input.surviving;
    let mut records = vec![Write::SaHalf { half: new }];
    // P3.2, for switches too: MasterSMLID is where a port sends its traps.
    records.extend(fabric.lid_ports().filter_map(|port| manager_at(input, port, new)));
    let moves = |ports: &[PortId]| ports.iter().map(|&port| Write::ActiveHalf { port, half: new }).collect::<Vec<_>>();
    let all: Vec<PortId> = fabric.end_ports().collect();
    let moved = [Barrier::Acknowledged, Barrier::SourcesMoved];
    if !input.policy.arming.arms() {
        records.extend(moves(&all));
        return vec![wave(Phase::Swap, "", records, &moved)];
    }
    let held = |ports: Vec<PortId>, whose: &str| {
        let writes = moves(&ports);
        Held { ports, part: "sources", writes }.waves(Phase::Swap, whose)
    };
    let mut waves = vec![wave(Phase::Swap, "records", records, &[Barrier::Acknowledged])];
    if input.policy.arming == Arming::HoldEach {
        let mut of_node: FxHashMap<NodeId, Vec<PortId>> = FxHashMap::default();
        for &port in &all {
            of_node.entry(fabric.neighbour(port).unwrap_or(fabric.port(port).node)).or_default().push(port);
        }
        // Hosts that are cabled to each other have no switch; they come last.
        let hosts = fabric.nodes().map(|(id, _)| id).filter(|&id| !fabric.node(id).is_switch());
        let in_turn = by_guid(fabric).into_iter().chain(hosts).collect::<Vec<_>>();
        for (node, ports) in in_turn.into_iter().filter_map(|node| Some((node, of_node.remove(&node)?))) {
            waves.extend(held(ports, &format!(" {}", fabric.describe_node(node))));
        }
    } else {
        waves.extend(held(all, ""));
    }
    // A port that is ARMED moves nothing, so only the end of all shows that sources have moved (P3.5).
    waves.last_mut().expect("records at least").barriers = moved.to_vec();
    waves
}

fn restore(input: &PlanInput, lanes: Lanes) -> Wave {
    // Phase 5 starts from what phase 1 wrote, so the difference is relative to that and not to `initial`.
    let mut tables = input.initial.clone();
    split(input, lanes).writes.iter().for_each(|write| tables.apply(&input.before, write));
    let steady = lanes.steady(input.policy.partition);
    let writes = sl_to_vl_writes(&input.surviving, steady, differs(&tables, steady));
    wave(Phase::Restore, "", writes, &[Barrier::Acknowledged])
}

/// Checks for two data VLs on every link, and in each set as many lanes as its routing function needs layers.
fn check_lanes(input: &PlanInput, lanes: Lanes) -> Result<(), PlanError> {
    let fabric = &*input.before;
    let narrow = fabric.ports().find(|(_, port)| port.peer.is_some() && port.data_vls < 2);
    if let Some((id, port)) = narrow {
        return Err(PlanError::OneDataVl { port: fabric.describe_port(id), data_vls: port.data_vls });
    }
    let sides = [("old", input.old_layers, lanes.a), ("new", input.new_layers, lanes.b)];
    for (which, layers, set) in sides {
        // A layer needs one service level of its half and one lane of its set (P0.3); either can run out.
        if usize::from(layers) > input.old.sls().count() {
            return Err(PlanError::TooFewSls { which, layers });
        }
        if usize::from(layers) > set.len() {
            return Err(PlanError::TooFewLanes { which, layers, lanes: set.len(), all: lanes.all.len() });
        }
    }
    Ok(())
}

/// Checks for two halves of LIDs at every end port that stays, and that the new tables change only the spare half.
fn check_lids(input: &PlanInput) -> Result<(), PlanError> {
    let fabric = &*input.before;
    for id in fabric.end_ports() {
        let port = fabric.port(id);
        let Some(lid) = port.lid else { return Err(PlanError::NoLid { port: fabric.describe_port(id) }) };
        if port.lmc == Lmc::default() {
            return Err(PlanError::LmcZero { port: fabric.describe_port(id) });
        }
        // A port ignores the low LMC bits of a DLID: on an unaligned base it would own LIDs other than the planned
        // ones.
        if lid.0 % port.lmc.lids() != 0 {
            return Err(PlanError::Unaligned { port: fabric.describe_port(id), lid, lmc: port.lmc });
        }
    }
    input.surviving.switches().try_for_each(|switch| check_active_entries(input, switch))
}

fn check_active_entries(input: &PlanInput, switch: NodeId) -> Result<(), PlanError> {
    let (now, wanted) = (&input.initial.lfts[switch.index()], &input.target[switch.index()]);
    // Most blocks are equal and need no comparison of entries.
    for block in (0..now.blocks().max(wanted.blocks())).filter(|&block| now.slice(block) != wanted.slice(block)) {
        let first = block * LFT_BLOCK as u16;
        let mut lids = (first..first + LFT_BLOCK as u16).map(Lid);
        let clash = lids.find(|&lid| now.get(lid) != wanted.get(lid) && input.before.half_of(lid) == Some(input.old));
        if let Some(lid) = clash {
            return Err(PlanError::ActiveEntry { switch: input.before.describe_node(switch), lid, half: input.old });
        }
    }
    Ok(())
}

/// Checks that every source is on the half from which the change starts.
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

/// Counters are read on the new half, which is not drained. The packets of a port that can no longer be queried are
/// missing from both sums.
fn check_observer(input: &PlanInput) -> Result<(), PlanError> {
    match input.stranded.first() {
        Some(&port) if input.policy.observer == Observer::Conservation => {
            Err(PlanError::Uncounted { port: input.before.describe_port(port) })
        }
        _ => Ok(()),
    }
}
