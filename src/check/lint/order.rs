//! Phases, barriers and assumptions in their order.

use super::{Findings, Rule};
use crate::fabric::{NodeId, PortId};
use crate::ids::PortNum;
use crate::plan::{Assumption, Barrier, MovedBy, Observer, Phase, Plan, Scheme, Wave};
use crate::tables::{SlToVlScope, Write};
use std::collections::BTreeSet;

pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    check_phases(plan, findings);
    check_losses(plan, findings);
    for wave in plan.waves() {
        let wanted = barriers(plan, wave);
        if wave.barriers != wanted {
            let list = |barriers: &[Barrier]| barriers.iter().map(Barrier::to_string).collect::<Vec<_>>().join(", ");
            let what = format!("ends at [{}], must end at [{}]", list(&wave.barriers), list(&wanted));
            findings.wave(Rule::Barriers, &wave.name, what);
        }
    }
    for needed in assumptions(plan) {
        if !plan.draft().assumptions.contains(&needed) {
            findings.plan(Rule::Assumptions, format!("`{}` is taken for granted and not named", needed.name()));
        }
    }
    let kept = Assumption::ReservedLevelIsKept;
    if plan.lanes().reserved.is_none() && plan.draft().assumptions.contains(&kept) {
        findings.plan(Rule::Assumptions, format!("`{}` is named, and no service level is reserved", kept.name()));
    }
}

/// Only tables that were found, and not made for a plan, may begin with rows that lead nowhere; and only forwarding
/// entries alone may leave hosts to another change.
fn check_losses(plan: &Plan, findings: &mut Findings) {
    let draft = plan.draft();
    if draft.leaves_losses && plan.scheme() != Scheme::Ordered {
        let what = format!("it says that it leaves losses, which scheme {} does not", plan.scheme());
        findings.plan(Rule::Assumptions, what);
    } else if draft.leaves_losses && (plan.waves().is_empty() || !plan.leads_into_loss()) {
        findings
            .plan(Rule::Assumptions, "it says that it leaves losses, and leaves none to another change".to_string());
    }
    if draft.leaves_losses && draft.old_ways != draft.new_ways {
        let what = "it leaves losses and gives sources other paths: who had a way may lose it".to_string();
        findings.plan(Rule::Assumptions, what);
    }
    if plan.draft().begins_with_losses && plan.scheme() != Scheme::Recover {
        let what = format!("it says that it begins with losses, which scheme {} does not", plan.scheme());
        findings.plan(Rule::Assumptions, what);
    }
}

fn check_phases(plan: &Plan, findings: &mut Findings) {
    let wanted: &[Phase] = match plan.scheme() {
        Scheme::Double => &[Phase::Split, Phase::Install, Phase::Swap, Phase::Drain, Phase::Restore],
        Scheme::Static => &[Phase::Stop, Phase::Install, Phase::Start],
        Scheme::Ordered if has_grown(plan) && has_steps(plan) => &[Phase::Install, Phase::Rewrite, Phase::Start],
        Scheme::Ordered if has_grown(plan) => &[Phase::Install, Phase::Start],
        Scheme::Ordered if !has_steps(plan) => &[],
        Scheme::InPlace if has_grown(plan) => &[Phase::Rewrite, Phase::Start],
        Scheme::Ordered | Scheme::InPlace | Scheme::Recover => &[Phase::Rewrite],
    };
    let mut found: Vec<Phase> = plan.waves().iter().map(|wave| wave.phase).collect();
    // Only *install* and *swap* may have several waves, and where every mixture is ordered, *rewrite*.
    let is_rewritten = matches!(plan.scheme(), Scheme::Ordered | Scheme::Recover);
    let repeats = if is_rewritten { Phase::Rewrite } else { Phase::Install };
    found.dedup_by(|later, earlier| later == earlier && (*later == repeats || *later == Phase::Swap));
    if found != wanted {
        let list = |phases: &[Phase]| phases.iter().map(|phase| phase.name()).collect::<Vec<_>>().join(", ");
        findings.plan(Rule::PhaseOrder, format!("phases are {}; must be {}", list(&found), list(wanted)));
    }
}

fn has_steps(plan: &Plan) -> bool {
    plan.waves().iter().any(|wave| wave.phase == Phase::Rewrite)
}

/// Returns whether something has come that must be started.
fn has_grown(plan: &Plan) -> bool {
    plan.draft().surviving.ports().any(|(port, info)| info.peer.is_some() && plan.has_come(port))
}

fn barriers(plan: &Plan, wave: &Wave) -> Vec<Barrier> {
    let lanes = plan.lanes();
    match (plan.scheme(), wave.phase) {
        (Scheme::Double, Phase::Split) => vec![Barrier::Acknowledged, Barrier::Flushed(lanes.b)],
        (Scheme::Double, Phase::Swap) if !is_last_of_swap(plan, wave) => vec![Barrier::Acknowledged],
        (Scheme::Double, Phase::Swap) => vec![Barrier::Acknowledged, Barrier::SourcesMoved],
        (Scheme::Double, Phase::Drain) => vec![Barrier::Drained(lanes.a)],
        // The prover judges how many rounds of ageing must precede the next wave.
        (Scheme::Ordered, Phase::Install | Phase::Rewrite) if !is_last(plan, wave) => {
            let aged = wave.barriers.iter().filter(|barrier| matches!(barrier, Barrier::Vacated(_))).copied();
            [Barrier::Acknowledged].into_iter().chain(aged).collect()
        }
        (Scheme::Ordered, _) if is_last(plan, wave) => {
            [Barrier::Acknowledged].into_iter().chain(vacated(plan)).collect()
        }
        // Packets that stood in the subnet were sent under unknown tables: they must have left before anything else.
        (Scheme::Recover, _) if is_first(plan, wave) => {
            let aged = wave.barriers.iter().filter(|barrier| matches!(barrier, Barrier::Vacated(_))).copied();
            let aged: Vec<Barrier> = aged.collect();
            let aged = if aged.is_empty() { vec![Barrier::Vacated(1)] } else { aged };
            [Barrier::Acknowledged].into_iter().chain(aged).collect()
        }
        (Scheme::Recover, _) if !is_last(plan, wave) => {
            let aged = wave.barriers.iter().filter(|barrier| matches!(barrier, Barrier::Vacated(_))).copied();
            [Barrier::Acknowledged].into_iter().chain(aged).collect()
        }
        (Scheme::InPlace, phase) if phase == last_phase(plan) => {
            [Barrier::Acknowledged].into_iter().chain(vacated(plan)).collect()
        }
        _ => vec![Barrier::Acknowledged],
    }
}

fn is_first(plan: &Plan, wave: &Wave) -> bool {
    plan.waves().first().is_some_and(|first| first.name == wave.name)
}

fn is_last(plan: &Plan, wave: &Wave) -> bool {
    plan.waves().last().is_some_and(|last| last.name == wave.name)
}

fn is_last_of_swap(plan: &Plan, wave: &Wave) -> bool {
    plan.waves().iter().rfind(|wave| wave.phase == Phase::Swap).is_some_and(|last| last.name == wave.name)
}

fn last_phase(plan: &Plan) -> Phase {
    if has_grown(plan) { Phase::Start } else { Phase::Rewrite }
}

/// The rounds that vacate what leaves, sixteen of them a question.
fn vacated(plan: &Plan) -> Vec<Barrier> {
    let mut left = vacating_rounds(plan).unwrap_or(0);
    let mut questions = Vec::new();
    while left > 0 {
        questions.push(Barrier::Vacated(left.min(16) as u8));
        left = left.saturating_sub(16);
    }
    questions
}

/// The number of rounds that vacate what leaves: one for packets latched before, and one for each channel that a packet
/// can pass in it. The longest such way has one channel more than its largest part has switches. None if nothing
/// leaves.
fn vacating_rounds(plan: &Plan) -> Option<usize> {
    let (during, after) = (&*plan.draft().surviving, &*plan.draft().after);
    let mut cables = during.ports().filter(|&(port, info)| info.peer.is_some() && after.peer(port).is_none());
    cables.next()?;
    let leaves = |&node: &NodeId| during.node(node).present && !after.node(node).present;
    let mut rest: BTreeSet<NodeId> = during.switches().filter(leaves).collect();
    let mut most = 0;
    while let Some(first) = rest.pop_first() {
        let mut part = vec![first];
        let mut at = 0;
        while let Some(&node) = part.get(at) {
            let next = during.ports_of(node).filter_map(|port| during.neighbour(port));
            part.extend(next.filter(|node| rest.remove(node)));
            at += 1;
        }
        most = most.max(part.len());
    }
    Some(most + 2)
}

/// Returns whether some end port discards a service level, from the beginning or by some write.
fn closes(plan: &Plan) -> bool {
    let discards = |write: &Write| match write {
        Write::SlToVl { scope: SlToVlScope::EndPort { .. }, table, .. } => table.discards(),
        _ => false,
    };
    let fabric = &*plan.draft().surviving;
    let is_fenced = |port: PortId| {
        let at = fabric.port(port);
        let held = plan.tables_at(0).sl_to_vl[at.node.index()].get(PortNum::ZERO, at.num);
        at.peer.is_some() && held.discards()
    };
    fabric.end_ports().any(is_fenced) || plan.waves().iter().flat_map(|wave| &wave.writes).any(discards)
}

fn assumptions(plan: &Plan) -> Vec<Assumption> {
    let of_scheme: &[Assumption] = match plan.scheme() {
        Scheme::Double => &[Assumption::SpareHalfUnused],
        Scheme::Static => &[Assumption::InitializeDiscards],
        Scheme::InPlace if has_grown(plan) => &[Assumption::InitializeDiscards],
        Scheme::Recover if closes(plan) => &[Assumption::FencesDiscard, Assumption::FencedLanesRunEmpty],
        Scheme::Ordered | Scheme::InPlace | Scheme::Recover => &[],
    };
    let others: &[Assumption] = match (plan.lanes().reserved, plan.scheme()) {
        // The judges that follow packets decide whether management to switches must pause as well.
        (Some(_), _) => &[Assumption::ReservedLevelIsKept],
        (None, Scheme::Static) => &[],
        (None, _) => &[Assumption::SwitchManagementPaused, Assumption::NoMulticast],
    };
    let barriers = || plan.waves().iter().flat_map(|wave| &wave.barriers);
    let is_observed = barriers().any(|barrier| !matches!(barrier, Barrier::Acknowledged | Barrier::SourcesMoved));
    let is_drained = barriers().any(|barrier| matches!(barrier, Barrier::Drained(_)));
    let of_barriers: &[Assumption] = match plan.draft().policy.observer {
        _ if !is_observed => &[],
        Observer::Conservation if is_drained => &[Assumption::AgentsKeepTheProtocol, Assumption::CountersAreUntouched],
        Observer::Token | Observer::Poll | Observer::Conservation => &[Assumption::AgentsKeepTheProtocol],
        Observer::Lifetime => &[Assumption::LifetimesAreEnforced],
    };
    let is_moved = barriers().any(|barrier| matches!(barrier, Barrier::SourcesMoved));
    let of_moving: &[Assumption] = match (plan.draft().policy.sources, plan.draft().policy.observer) {
        _ if !is_moved => &[],
        (MovedBy::Told, Observer::Lifetime) => &[Assumption::AgentsKeepTheProtocol],
        // Those of the observer are these.
        (MovedBy::Told, _) => &[],
        (MovedBy::Fence, Observer::Lifetime) => &[Assumption::FencesDiscard, Assumption::FencedLanesRunEmpty],
        (MovedBy::Fence, _) => &[Assumption::FencesDiscard],
    };
    [of_scheme, others, of_barriers, of_moving, &[Assumption::EntriesDecide]].concat()
}
