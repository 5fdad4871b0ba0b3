//! Writes that their devices accept, each value at most once a wave.

use super::{Findings, Rule};
use crate::fabric::{Fabric, NodeId, NodeKind, PortId};
use crate::ids::PortNum;
use crate::plan::{Phase, Plan, Scheme};
use crate::tables::{LFT_BLOCK, PortState, SlToVlScope, Write};
use std::collections::BTreeSet;

pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    let fabric = &*plan.draft().surviving;
    for wave in plan.waves() {
        let mut seen = BTreeSet::new();
        for write in &wave.writes {
            let mut found = |rule, what| findings.wave(rule, &wave.name, what);
            if !belongs(plan.scheme(), wave.phase, write) {
                found(Rule::WriteKind, format!("{} is not for phase {}", kind(write), wave.phase));
            }
            match target_fault(fabric, write) {
                Some((rule, what)) => found(rule, format!("{}: {what}", kind(write))),
                None if !seen.insert(key(write)) => {
                    found(Rule::Twice, format!("{} is set twice: {write:?}", kind(write)))
                }
                None => {}
            }
        }
    }
}

/// Returns whether a phase may write this attribute.
fn belongs(scheme: Scheme, phase: Phase, write: &Write) -> bool {
    match (phase, write) {
        (Phase::Split | Phase::Restore, Write::SlToVl { .. }) => true,
        // A port whose cable has come carries no data before.
        (Phase::Split, Write::PortState { state, .. }) => *state == PortState::Active,
        (Phase::Install, Write::LftBlock { .. }) => true,
        (Phase::Install, Write::SlToVl { .. }) => matches!(scheme, Scheme::Static | Scheme::Ordered),
        (Phase::Install, Write::PortState { .. }) => matches!(scheme, Scheme::Double | Scheme::Ordered),
        (Phase::Swap, Write::SaHalf { .. } | Write::MasterSm { .. } | Write::ActiveHalf { .. }) => true,
        (Phase::Swap, Write::PortState { .. }) => scheme == Scheme::Double,
        (Phase::Stop | Phase::Start, Write::PortState { .. }) => true,
        (Phase::Start, Write::MasterSm { .. } | Write::ActiveHalf { .. }) => true,
        (Phase::Rewrite, Write::LftBlock { .. } | Write::SlToVl { .. }) => true,
        _ => false,
    }
}

/// The name of the attribute.
fn kind(write: &Write) -> &'static str {
    match write {
        Write::LftBlock { .. } => "a forwarding block",
        Write::SlToVl { .. } => "an SL-to-VL table",
        Write::PortState { .. } => "a port state",
        Write::ActiveHalf { .. } => "a source's half",
        Write::SaHalf { .. } => "the SA's half",
        Write::MasterSm { .. } => "the SM's address",
    }
}

/// The target of a write: attribute, device, place.
fn key(write: &Write) -> (u8, u32, u16, u16) {
    match *write {
        Write::LftBlock { switch, block, .. } => (0, switch.0, block, 0),
        Write::SlToVl { node, scope: SlToVlScope::All, .. } => (1, node.0, 0, 0),
        Write::SlToVl { node, scope: SlToVlScope::Pair { input, output }, .. } => {
            (2, node.0, u16::from(input.0), u16::from(output.0))
        }
        Write::SlToVl { node, scope: SlToVlScope::EndPort { port }, .. } => (3, node.0, u16::from(port.0), 0),
        Write::PortState { port, .. } => (4, port.0, 0, 0),
        Write::ActiveHalf { port, .. } => (5, port.0, 0, 0),
        Write::SaHalf { .. } => (6, 0, 0, 0),
        Write::MasterSm { port, .. } => (7, port.0, 0, 0),
    }
}

type Fault = Option<(Rule, String)>;

fn target_fault(fabric: &Fabric, write: &Write) -> Fault {
    match *write {
        Write::LftBlock { switch, block, ref entries } => {
            absent_switch(fabric, switch).or_else(|| block_fault(fabric, switch, block, entries))
        }
        Write::SlToVl { node, scope, .. } => absent(fabric, node).or_else(|| scope_fault(fabric, node, scope)),
        Write::PortState { port, .. } => no_port(fabric, port).or_else(|| uncabled(fabric, port)),
        Write::ActiveHalf { port, .. } => no_port(fabric, port).or_else(|| no_end_port(fabric, port)),
        Write::MasterSm { port, .. } => no_port(fabric, port).or_else(|| absent(fabric, fabric.port(port).node)),
        Write::SaHalf { .. } => None,
    }
}

fn target(what: String) -> Fault {
    Some((Rule::Target, what))
}

fn absent(fabric: &Fabric, node: NodeId) -> Fault {
    if node.index() >= fabric.node_count() {
        return target(format!("there is no node {node:?}"));
    }
    if fabric.node(node).present { None } else { target(format!("{} is gone", fabric.describe_node(node))) }
}

fn absent_switch(fabric: &Fabric, node: NodeId) -> Fault {
    absent(fabric, node).or_else(|| match fabric.node(node).kind {
        NodeKind::Switch => None,
        NodeKind::Ca | NodeKind::Router => target(format!("{} is no switch", fabric.describe_node(node))),
    })
}

fn no_port(fabric: &Fabric, port: PortId) -> Fault {
    if port.index() >= fabric.port_count() { target(format!("there is no port {port:?}")) } else { None }
}

fn uncabled(fabric: &Fabric, port: PortId) -> Fault {
    match fabric.port(port).peer {
        Some(_) => None,
        None => target(format!("{} has no cable", fabric.describe_port(port))),
    }
}

fn no_end_port(fabric: &Fabric, port: PortId) -> Fault {
    match fabric.node(fabric.port(port).node).kind {
        NodeKind::Ca | NodeKind::Router => uncabled(fabric, port),
        NodeKind::Switch => target(format!("{} is no end port", fabric.describe_port(port))),
    }
}

fn block_fault(fabric: &Fabric, switch: NodeId, block: u16, entries: &[u8; LFT_BLOCK]) -> Fault {
    let node = fabric.node(switch);
    let first = u32::from(block) * LFT_BLOCK as u32;
    let routed = (first..).zip(entries).filter(|&(_, &port)| PortNum(port) != PortNum::NO_ROUTE);
    for (lid, &port) in routed {
        if lid >= u32::from(node.lft_capacity) {
            let what = format!("LID {lid} at {}, which holds {}", fabric.describe_node(switch), node.lft_capacity);
            return Some((Rule::Block, what));
        }
        if port > node.num_ports {
            let what =
                format!("LID {lid} to port {port} of {}, which has {}", fabric.describe_node(switch), node.num_ports);
            return Some((Rule::Block, what));
        }
    }
    None
}

fn scope_fault(fabric: &Fabric, node: NodeId, scope: SlToVlScope) -> Fault {
    let info = fabric.node(node);
    let name = || fabric.describe_node(node);
    match (scope, info.kind) {
        (SlToVlScope::All, NodeKind::Switch) if info.optimised_sl_to_vl => None,
        (SlToVlScope::All, NodeKind::Switch) => {
            Some((Rule::Capability, format!("{} does not understand the optimised form", name())))
        }
        (SlToVlScope::Pair { input, output }, NodeKind::Switch) => {
            let fits = input.0 <= info.num_ports && (1..=info.num_ports).contains(&output.0);
            if fits { None } else { target(format!("{} has no ports {input} and {output}", name())) }
        }
        (SlToVlScope::EndPort { port }, NodeKind::Ca | NodeKind::Router) => {
            let fits = (1..=info.num_ports).contains(&port.0);
            if fits { None } else { target(format!("{} has no port {port}", name())) }
        }
        (SlToVlScope::EndPort { .. }, NodeKind::Switch) => target(format!("{} is no end node", name())),
        (SlToVlScope::All | SlToVlScope::Pair { .. }, NodeKind::Ca | NodeKind::Router) => {
            target(format!("{} is no switch", name()))
        }
    }
}
