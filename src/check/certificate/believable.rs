//! Verifies the claims of a plan about the world, as far as the plan itself can contradict them: writes of a wave that
//! undo each other, barriers that cannot be true, tables that are unknown, ports that are not cut off.

use super::CertificateFault;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, PortNum, Sl, VlSet};
use crate::plan::{Assumption, Barrier, MovedBy, Observer, Plan, Wave};
use crate::tables::{SlToVlScope, SubnetTables, Write};
use std::collections::BTreeSet;

fn fault(wave: &str, what: String) -> CertificateFault {
    CertificateFault::Plan { wave: wave.to_string(), what }
}

/// Verifies the claims of a plan as a whole.
pub(super) fn check(plan: &Plan) -> Result<(), CertificateFault> {
    let draft = plan.draft();
    let (before, surviving, after) = (&*draft.before, &*draft.surviving, &*draft.after);
    let name = |port: PortId| before.describe_port(port);
    let of_ends = |&port: &PortId| before.neighbour(port).is_some_and(|peer| !before.node(peer).is_switch());
    if let Some(port) = before.end_ports().find(of_ends) {
        return Err(fault("plan", format!("{} is cabled to another end port: no switch is between them", name(port))));
    }
    if let Some((port, _)) = after.ports().find(|&(id, port)| port.peer.is_some() && surviving.peer(id).is_none()) {
        return Err(fault("plan", format!("{} is dead while the waves run, and there afterwards", name(port))));
    }
    let reached = reach(after, draft.sm);
    if let Some(&port) = draft.stranded.iter().find(|&&port| after.peer(port).is_some() && reached[port.index()]) {
        return Err(fault("plan", format!("{} is said to be cut off, and the SM reaches it afterwards", name(port))));
    }
    check_newcomers(plan)
}

/// By port: whether links lead from the SM to it.
fn reach(fabric: &Fabric, sm: PortId) -> Vec<bool> {
    let mut reached = vec![false; fabric.port_count()];
    let start = fabric.port(sm).node;
    let mut entered = BTreeSet::from([start]);
    let mut queue = vec![start];
    while let Some(node) = queue.pop() {
        for port in fabric.ports_of(node) {
            reached[port.index()] = true;
            // Only switches forward.
            let leads = node == start || fabric.node(node).is_switch();
            queue.extend(fabric.neighbour(port).filter(|&next| leads && entered.insert(next)));
        }
    }
    reached
}

/// The tables of a switch that has come are unknown: it forwards by the entries that the waves write.
fn check_newcomers(plan: &Plan) -> Result<(), CertificateFault> {
    let fabric = &*plan.draft().before;
    for node in fabric.switches() {
        let mut cabled = fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).peekable();
        let is_new = cabled.peek().is_some() && cabled.all(|port| plan.has_come(port));
        if is_new && plan.tables_at(0).lfts[node.index()].blocks() > 0 {
            let what = format!("{} has come, and is said to forward already", fabric.describe_node(node));
            return Err(fault("plan", what));
        }
    }
    // The checks below concern pairs of ports of which one has come; in most plans none has.
    if !fabric.ports().any(|(port, _)| plan.has_come(port)) {
        return Ok(());
    }
    let swap = plan.waves().iter().position(|wave| wave.writes.iter().any(|w| matches!(w, Write::ActiveHalf { .. })));
    let waves = &plan.waves()[..swap.map_or(plan.waves().len(), |last| last + 1)];
    let mut written: BTreeSet<(NodeId, PortNum, PortNum)> = BTreeSet::new();
    for write in waves.iter().flat_map(|wave| &wave.writes) {
        if let Write::SlToVl { node, scope, .. } = *write {
            written.extend(pairs_of(fabric, node, scope));
        }
    }
    for node in fabric.switches() {
        let linked: Vec<PortId> = fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).collect();
        for &input in &linked {
            for &output in &linked {
                let come = plan.has_come(input) || plan.has_come(output);
                let pair = (node, fabric.port(input).num, fabric.port(output).num);
                if come && !written.contains(&pair) {
                    let what = format!(
                        "{}: the SL-to-VL table from port {} to port {} is new, and is not written before it is used",
                        fabric.describe_node(node),
                        pair.1,
                        pair.2
                    );
                    return Err(fault("plan", what));
                }
            }
        }
    }
    Ok(())
}

/// The tables that one write sets.
fn pairs_of(fabric: &Fabric, node: NodeId, scope: SlToVlScope) -> Vec<(NodeId, PortNum, PortNum)> {
    let ports = fabric.node(node).num_ports;
    match scope {
        SlToVlScope::Pair { input, output } => vec![(node, input, output)],
        SlToVlScope::EndPort { port } => vec![(node, PortNum::ZERO, port)],
        SlToVlScope::All => {
            let pairs = (0..=ports).flat_map(|input| (0..=ports).map(move |output| (input, output)));
            pairs.map(|(input, output)| (node, PortNum(input), PortNum(output))).collect()
        }
    }
}

/// Writes of a wave land in any order, so no two may set one thing.
pub(super) fn check_once(fabric: &Fabric, wave: &Wave) -> Result<(), CertificateFault> {
    let (mut mappings, mut others, mut whole) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for write in &wave.writes {
        let (fresh, what) = match *write {
            Write::SlToVl { node, scope: SlToVlScope::All, .. } => (whole.insert(node), "SL-to-VL tables"),
            Write::SlToVl { node, scope, .. } => {
                let mut pairs = pairs_of(fabric, node, scope).into_iter();
                (pairs.all(|pair| mappings.insert(pair)), "an SL-to-VL table")
            }
            Write::LftBlock { switch, block, .. } => (others.insert((0, switch.0, block)), "a forwarding block"),
            Write::PortState { port, .. } => (others.insert((1, port.0, 0)), "a port state"),
            Write::ActiveHalf { port, .. } => (others.insert((2, port.0, 0)), "a source's half"),
            Write::SaHalf { .. } => (others.insert((3, 0, 0)), "the SA's half"),
            Write::MasterSm { port, .. } => (others.insert((4, port.0, 0)), "the SM's address"),
        };
        if !fresh {
            return Err(fault(&wave.name, format!("{what} is set twice, and either may land last")));
        }
    }
    match mappings.iter().find(|(node, ..)| whole.contains(node)) {
        None => Ok(()),
        Some(&(node, ..)) => {
            let node = fabric.describe_node(node);
            Err(fault(&wave.name, format!("SL-to-VL tables of {node} are set twice, and either may land last")))
        }
    }
}

/// A lane that was observed empty stays so only if no packet is sent there afterwards. Reports the first table that
/// sends one, on a half that may be under way.
pub(super) fn occupied_again(fabric: &Fabric, after: &SubnetTables, empty: VlSet, sent: [bool; 2]) -> Option<String> {
    if empty.is_empty() {
        return None;
    }
    let sls: Vec<Sl> = Sl::all().filter(|&sl| sent[Half::of_sl(sl).index()]).collect();
    for (node, info) in fabric.nodes().filter(|(_, node)| node.present) {
        let linked = fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some());
        let outputs: Vec<PortNum> = linked.map(|port| fabric.port(port).num).collect();
        let inputs = if info.is_switch() { outputs.clone() } else { vec![PortNum::ZERO] };
        for &input in &inputs {
            for &output in &outputs {
                let table = after.sl_to_vl[node.index()].get(input, output);
                if let Some(sl) = sls.iter().find(|&&sl| empty.contains(table.get(sl))) {
                    let (node, vl) = (fabric.describe_node(node), table.get(*sl));
                    return Some(format!("lanes {empty} are said to be empty, and {node} sends SL {sl} on VL {vl}"));
                }
            }
        }
    }
    None
}

/// A barrier that shows lanes empty rests on the assumptions of its observer, and one that shows sources moved on those
/// of the way they move. Packets in the lanes of a port behind a fence have no age, and no device is asked about them.
pub(super) fn need_of_observer(plan: &Plan, wave: &Wave, barrier: Barrier) -> Result<(), CertificateFault> {
    let named = |assumption| need(plan, wave, assumption);
    match (barrier, plan.draft().policy.observer) {
        (Barrier::Acknowledged, _) => Ok(()),
        (Barrier::SourcesMoved, observer) => match plan.draft().policy.sources {
            MovedBy::Told => named(Assumption::AgentsKeepTheProtocol),
            MovedBy::Fence if observer == Observer::Lifetime => {
                named(Assumption::FencesDiscard)?;
                named(Assumption::FencedLanesRunEmpty)
            }
            MovedBy::Fence => named(Assumption::FencesDiscard),
        },
        (Barrier::Drained(_), Observer::Conservation) => {
            named(Assumption::AgentsKeepTheProtocol)?;
            named(Assumption::CountersAreUntouched)
        }
        // Flushes, which *vacated* consists of, need the agents whatever shows the drain (F.5).
        (_, Observer::Token | Observer::Poll | Observer::Conservation) => named(Assumption::AgentsKeepTheProtocol),
        (_, Observer::Lifetime) => named(Assumption::LifetimesAreEnforced),
    }
}

/// Where end ports have LIDs of a half and none of them sends on it when the plan begins, the plan assumes the half
/// unused.
pub(super) fn check_spare_half(plan: &Plan, sent: [bool; 2]) -> Result<(), CertificateFault> {
    let (draft, assumed) = (plan.draft(), Assumption::SpareHalfUnused);
    let has_lids =
        |half: Half| draft.before.end_ports().any(|port| draft.before.half_lids(port, half).next().is_some());
    let mut spare = [Half::Lower, Half::Upper].into_iter().filter(|half| !sent[half.index()]);
    if draft.assumptions.contains(&assumed) || !spare.any(has_lids) {
        return Ok(());
    }
    let what = format!("it takes `{}` for granted, and the plan does not name it", assumed.name());
    Err(fault("plan", what))
}

/// A claim rests on an assumption, which the plan must name.
pub(super) fn need(plan: &Plan, wave: &Wave, assumption: Assumption) -> Result<(), CertificateFault> {
    if plan.draft().assumptions.contains(&assumption) {
        return Ok(());
    }
    Err(fault(&wave.name, format!("it takes `{}` for granted, and the plan does not name it", assumption.name())))
}
