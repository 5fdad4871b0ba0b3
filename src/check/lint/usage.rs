//! Nothing in use is changed, and no port is forgotten.

use super::{Findings, Rule};
use crate::fabric::PortId;
use crate::ids::{Half, Lid, PortNum};
use crate::plan::{Phase, Plan, Scheme, Wave};
use crate::tables::{LFT_BLOCK, PortState, Write, address};
use std::collections::BTreeSet;

pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    check_ports(plan, findings);
    match plan.scheme() {
        Scheme::Double => {
            check_entries(plan, findings);
            check_sources(plan, findings);
        }
        Scheme::Ordered | Scheme::Static | Scheme::InPlace | Scheme::Recover => check_newcomers(plan, findings),
    }
}

/// Every cabled port is ACTIVE when the swap begins, and at the end.
fn check_ports(plan: &Plan, findings: &mut Findings) {
    let fabric = &*plan.draft().surviving;
    let mut moments: Vec<usize> = vec![plan.waves().len()];
    moments.extend(plan.waves().iter().position(|wave| wave.phase == Phase::Swap));
    for moment in moments {
        let states = &plan.tables_at(moment).port_states;
        let idle = fabric.ports().find(|(id, port)| port.peer.is_some() && states[id.index()] != PortState::Active);
        if let Some((id, _)) = idle {
            let name = moment.checked_sub(1).map_or("plan", |last| plan.waves()[last].name.as_str());
            let what = format!("leaves {} in state {:?}", fabric.describe_port(id), states[id.index()]);
            findings.wave(Rule::PortsActive, name, what);
        }
    }
}

/// Blocks change no entry of a LID that belongs to the half in use.
fn check_entries(plan: &Plan, findings: &mut Findings) {
    let fabric = &*plan.draft().before;
    for (index, wave) in plan.waves().iter().enumerate() {
        let tables = plan.tables_at(index);
        for write in &wave.writes {
            let &Write::LftBlock { switch, block, ref entries } = write else { continue };
            let Some(lft) = tables.lfts.get(switch.index()) else { continue };
            let first = u32::from(block) * LFT_BLOCK as u32;
            let lids = (first..).map(|lid| Lid(lid as u16)).zip(entries.iter().map(|&port| PortNum(port)));
            let changed = lids.filter(|&(lid, port)| lft.get(lid).unwrap_or(PortNum::NO_ROUTE) != port);
            for (lid, _) in changed.filter(|&(lid, _)| fabric.half_of(lid) == Some(plan.old())).take(1) {
                let what = format!("{}: LID {lid} of the {} half is in use", fabric.describe_node(switch), plan.old());
                findings.wave(Rule::InUse, &wave.name, what);
            }
        }
    }
}

/// Where nothing is swapped, the start notifies new end ports of the half in use.
fn check_newcomers(plan: &Plan, findings: &mut Findings) {
    let fabric = &*plan.draft().surviving;
    for wave in plan.waves().iter().filter(|wave| wave.phase == Phase::Start) {
        let is_assigned = |port| wave.writes.contains(&Write::ActiveHalf { port, half: plan.old() });
        for port in fabric.end_ports().filter(|&port| plan.has_come(port) && !is_assigned(port)) {
            let what = format!("{} has come and is not notified", fabric.describe_port(port));
            findings.wave(Rule::EverySource, &wave.name, what);
        }
    }
}

/// The swap notifies every source, and the SA first.
fn check_sources(plan: &Plan, findings: &mut Findings) {
    let fabric = &*plan.draft().surviving;
    let swap = || plan.waves().iter().filter(|wave| wave.phase == Phase::Swap);
    let Some(first) = swap().next() else { return };
    let assigned: BTreeSet<_> = swap()
        .flat_map(|wave| &wave.writes)
        .filter_map(|write| match *write {
            Write::ActiveHalf { port, half } if half == plan.new_half() => Some(port),
            _ => None,
        })
        .collect();
    for port in fabric.end_ports().filter(|port| !assigned.contains(port)) {
        findings.wave(Rule::EverySource, &first.name, format!("{} is not notified", fabric.describe_port(port)));
    }
    if !first.writes.contains(&Write::SaHalf { half: plan.new_half() }) {
        findings.wave(Rule::EverySource, &first.name, "the SA keeps answering with the old half".to_string());
    }
    check_manager(plan, first, findings);
}

/// Where the manager's port has halves, every port that holds a LID is notified of a LID and a service level of the
/// new one.
fn check_manager(plan: &Plan, wave: &Wave, findings: &mut Findings) {
    let (fabric, sm, new) = (&*plan.draft().surviving, plan.draft().sm, plan.new_half());
    let lids: BTreeSet<Lid> = fabric.half_lids(sm, new).collect();
    if lids.is_empty() {
        return;
    }
    let assigned: BTreeSet<_> = wave
        .writes
        .iter()
        .filter_map(|write| match *write {
            Write::MasterSm { port, lid, sl } if lids.contains(&lid) && Half::of_sl(sl) == new => Some(port),
            _ => None,
        })
        .collect();
    let ways = plan.draft().new_ways.as_deref();
    let reaches = |port: &PortId| address(fabric, ways, *port, sm, new).is_some();
    for port in fabric.lid_ports().filter(reaches).filter(|port| !assigned.contains(port)) {
        let what = format!("{} is not notified of the SM's LID on the {new} half", fabric.describe_port(port));
        findings.wave(Rule::EverySource, &wave.name, what);
    }
}
