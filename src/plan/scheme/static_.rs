//! Scheme `static`: ports go to INITIALIZE, tables are written while nothing flows, ports return to ACTIVE. It is free
//! of deadlock because stopped ports discard their packets; the price is those packets and the gap in delivery.

use super::{
    PlanInput, about_answers, about_reserved, about_spare_half, lft_writes, port_writes, sl_to_vl_writes,
    welcome_writes,
};
use crate::plan::{Assumption, Barrier, Draft, Lanes, Phase, Plan, Scheme, Sending, Wave};
use crate::tables::{PortState, Write};

/// Stop, install, start.
pub(super) fn plan(input: PlanInput) -> Plan {
    let lanes = Lanes::of_fabric(&input.before, input.policy.reserved_sl);
    let mut tables = lft_writes(&input);
    let is_new = |node, from, to| input.pair_has_come(node, from, to);
    tables.extend(sl_to_vl_writes(&input.surviving, lanes.steady(input.policy.partition), is_new));
    let mut start = port_writes(&input.surviving, PortState::Active);
    start.extend(welcome_writes(&input, input.old));
    let waves = vec![
        wave(Phase::Stop, port_writes(&input.surviving, PortState::Initialize)),
        wave(Phase::Install, tables),
        wave(Phase::Start, start),
    ];
    Plan::seal(Draft {
        waves,
        assumptions: [Assumption::InitializeDiscards, Assumption::EntriesDecide]
            .into_iter()
            .chain(about_reserved(&input))
            .chain(about_answers(&input))
            .chain(about_spare_half(&input))
            .collect(),
        drain: Vec::new(),
        ..input.draft(Scheme::Static, lanes)
    })
}

fn wave(phase: Phase, writes: Vec<Write>) -> Wave {
    Wave { name: phase.to_string(), phase, writes, barriers: vec![Barrier::Acknowledged], sending: Sending::AnyOrder }
}
