//! Reverts the first waves of a plan.

use super::{Barrier, Draft, Phase, Sending, Wave};
use crate::fabric::{NodeId, PortId};
use crate::ids::PortNum;
use crate::tables::{NodeSlToVl, SlToVlScope, SubnetTables, Write};
use std::collections::BTreeSet;

/// Restores every SL-to-VL table and port state that waves 0 to `reached` change.
pub(super) fn writes(draft: &Draft, reached: usize) -> Vec<Write> {
    let mut undo = Vec::new();
    let mut ports: BTreeSet<PortId> = BTreeSet::new();
    for write in draft.waves.iter().take(reached + 1).flat_map(|wave| &wave.writes) {
        match *write {
            Write::SlToVl { node, scope, .. } => undo.extend(sl_to_vl(draft, node, scope)),
            Write::PortState { port, .. } => _ = ports.insert(port),
            Write::LftBlock { .. } | Write::ActiveHalf { .. } | Write::SaHalf { .. } | Write::MasterSm { .. } => {}
        }
    }
    let state = |port: PortId| draft.initial.port_states[port.index()];
    undo.extend(ports.into_iter().map(|port| Write::PortState { port, state: state(port) }));
    undo
}

/// The draft of a change that is called off while wave `reached` is under way; `tables` are those with which that wave
/// begins. Its last wave reverts. It also mixes in those tables, so that a write that never landed is covered: for
/// SL-to-VL tables the undo writes do that, and forwarding blocks are added here.
pub(super) fn called_off(draft: &Draft, reached: usize, tables: &SubnetTables) -> Draft {
    let mut waves = draft.waves[..=reached].to_vec();
    let under_way = &mut waves[reached];
    // No barrier beyond the acknowledgement was passed.
    under_way.barriers = vec![Barrier::Acknowledged];
    let earlier = under_way.writes.iter().filter_map(|write| match *write {
        Write::LftBlock { switch, block, .. } => {
            let entries = Box::new(tables.lfts[switch.index()].block(block));
            Some(Write::LftBlock { switch, block, entries })
        }
        _ => None,
    });
    let back = Wave {
        name: format!("{} called off", under_way.name),
        // Like a split: sources keep to the half in use, and nothing is empty.
        phase: Phase::Split,
        writes: writes(draft, reached).into_iter().chain(earlier).collect(),
        barriers: vec![Barrier::Acknowledged],
        sending: Sending::AnyOrder,
    };
    waves.push(back);
    Draft { waves, ..draft.clone() }
}

fn sl_to_vl(draft: &Draft, node: NodeId, scope: SlToVlScope) -> Vec<Write> {
    let before = &*draft.initial.sl_to_vl[node.index()];
    let one = |scope, input, output| Write::SlToVl { node, scope, table: *before.get(input, output) };
    match (scope, before) {
        (SlToVlScope::All, NodeSlToVl::Uniform(_)) => vec![one(scope, PortNum::ZERO, PortNum::ZERO)],
        // One write for all pairs cannot restore different tables: each pair is written by itself.
        (SlToVlScope::All, NodeSlToVl::PerPair { num_ports, .. }) => {
            let pairs = (0..=*num_ports).flat_map(|input| (1..=*num_ports).map(move |output| (input, output)));
            let ports = pairs.map(|(input, output)| (PortNum(input), PortNum(output)));
            ports.map(|(input, output)| one(SlToVlScope::Pair { input, output }, input, output)).collect()
        }
        (SlToVlScope::Pair { input, output }, _) => vec![one(scope, input, output)],
        (SlToVlScope::EndPort { port }, _) => vec![one(scope, PortNum::ZERO, port)],
    }
}
