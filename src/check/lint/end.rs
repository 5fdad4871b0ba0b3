//! The end of a plan: the new routing connects all end ports, service levels are spread as usual, and no port that
//! can be reached is excluded.

use super::lanes::pairs;
use super::{Findings, Rule};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, Sl};
use crate::plan::{LanePartition, Lanes, Plan, Scheme};
use crate::tables::{LFT_BLOCK, Lft, PathLayers, SlToVl};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    let reached = reached(&plan.draft().after, plan.draft().sm);
    check_stranded(plan, &reached, findings);
    check_arrival(plan, &reached, findings);
    if matches!(plan.scheme(), Scheme::Double | Scheme::Recover) {
        check_restored(plan, findings);
    }
}

/// By node: whether links join it with the manager after the change.
fn reached(fabric: &Fabric, sm: PortId) -> Vec<bool> {
    let start = fabric.port(sm).node;
    let mut reached = vec![false; fabric.node_count()];
    reached[start.index()] = true;
    let mut queue = vec![start];
    while let Some(node) = queue.pop() {
        let passes = fabric.node(node).is_switch();
        let ports = fabric.ports_of(node).filter(|&port| passes || port == sm);
        for next in ports.filter_map(|port| fabric.neighbour(port)) {
            if !std::mem::replace(&mut reached[next.index()], true) {
                queue.push(next);
            }
        }
    }
    reached
}

/// Stranded are the end ports that the change cuts off, and no others.
fn check_stranded(plan: &Plan, reached: &[bool], findings: &mut Findings) {
    let draft = plan.draft();
    let joined = |port: PortId| {
        let next = draft.after.neighbour(port);
        port == draft.sm || next.is_some_and(|next| reached[next.index()])
    };
    let cut_off: BTreeSet<PortId> = draft.routed.end_ports().filter(|&port| !joined(port)).collect();
    let stranded: BTreeSet<PortId> = draft.stranded.iter().copied().collect();
    for &port in cut_off.symmetric_difference(&stranded) {
        let name = draft.before.describe_port(port);
        let what = if cut_off.contains(&port) { "is cut off and not called stranded" } else { "is not cut off" };
        findings.plan(Rule::Stranded, format!("{name} {what}"));
    }
}

/// Every LID that will be in use leads to the port that owns it, from every switch where packets to it may be sent:
/// from all that stay or, where the plan specifies the sources of a path, from those of its sources. Scheme `ordered`
/// may leave a row lost that the first tables lead nowhere, if no host sends to a host by it, or the plan says that
/// such are left, and if it still ends at a cable that is gone (W.10 of docs/PROTOCOL.md).
fn check_arrival(plan: &Plan, reached: &[bool], findings: &mut Findings) {
    let fabric = &*plan.draft().after;
    let tables = plan.tables_at(plan.waves().len());
    // The Double Scheme retires the old half, and no host sends on it afterwards; `sm` rewrites its entries after the
    // plan (P5.4). The other schemes retire none.
    let halves: &[Half] = match plan.scheme() {
        Scheme::Double => &[plan.new_half()],
        Scheme::Ordered | Scheme::Static | Scheme::InPlace | Scheme::Recover => &[Half::Lower, Half::Upper],
    };
    let starts: Vec<NodeId> = fabric.switches().filter(|switch| reached[switch.index()]).collect();
    let reached_ends: Vec<PortId> =
        fabric.end_ports().filter(|&port| reached[fabric.port(port).node.index()]).collect();
    let (mut known, steps) = (vec![Way::Unknown; fabric.node_count()], Steps::of(fabric));
    let (mut last, mut first) = (Entries::of(&tables.lfts), Entries::of(&plan.tables_at(0).lfts));
    let mut known_first = known.clone();
    let mut has_hosts = vec![false; fabric.node_count()];
    reached_ends.iter().filter_map(|&port| fabric.neighbour(port)).for_each(|home| has_hosts[home.index()] = true);
    // In the order of LIDs, so that those of a block follow each other.
    let mut owners: Vec<PortId> = fabric.lid_ports().filter(|&port| reached[fabric.port(port).node.index()]).collect();
    owners.sort_unstable_by_key(|&port| (fabric.port(port).lid, port));
    for owner in owners {
        let undivided = fabric.port(owner).lid.filter(|&lid| fabric.half_of(lid).is_none()).map(|lid| (None, lid));
        let divided = halves.iter().flat_map(|&half| fabric.half_lids(owner, half).enumerate());
        for (path, lid) in divided.map(|(path, lid)| (Some(path), lid)).chain(undivided) {
            known.fill(Way::Unknown);
            // P0.3: a path that belongs to some sources need not lead anywhere from other switches. A LID that is of no
            // half is open to every switch.
            let starts = match (path, &plan.draft().new_ways) {
                (Some(path), Some(ways)) => &senders(fabric, &reached_ends, ways, owner, path),
                _ => &starts,
            };
            let entries = last.column(lid);
            let mut lost = starts.iter().filter(|&&start| !steps.lead(entries, start, owner, &mut known));
            let mut is_fresh = true;
            let mut may_stay = |&&start: &&NodeId| {
                if std::mem::take(&mut is_fresh) {
                    known_first.fill(Way::Unknown);
                }
                // W.10. Only a plan that reconnects hosts first may leave rows lost: rows that no packet between hosts
                // meets, unless it says that some of these are left too, that were lost already, and at which packets
                // vanish into the dead cable instead of going round.
                let of_hosts = !is_of_switch(fabric, owner) && has_hosts[start.index()];
                plan.scheme() == Scheme::Ordered
                    && (plan.draft().leaves_losses || !of_hosts)
                    && !steps.lead(first.column(lid), start, owner, &mut known_first)
                    && ends_in_loss(plan, &tables.lfts, start, lid)
            };
            if let Some(&start) = lost.find(|start| !may_stay(start)) {
                let what = format!(
                    "{}: LID {lid} does not lead to {}, over the links that stay",
                    fabric.describe_node(start),
                    fabric.describe_port(owner)
                );
                return findings.plan(Rule::Installed, what);
            }
        }
    }
}

fn is_of_switch(fabric: &Fabric, port: PortId) -> bool {
    fabric.node(fabric.port(port).node).is_switch()
}

/// Returns whether packets to a LID end, from a given switch, at a cable of the fabric before the change that is gone:
/// they go round no loop and arrive at no other port.
fn ends_in_loss(plan: &Plan, lfts: &[Arc<Lft>], start: NodeId, lid: Lid) -> bool {
    let (before, after) = (&*plan.draft().routed, &*plan.draft().after);
    let mut at = start;
    for _ in 0..after.node_count() {
        let output = lfts[at.index()].get(lid).and_then(|output| before.port_at(at, output));
        let Some(output) = output else { return false };
        match after.neighbour(output) {
            // A cable that is missing in `surviving` has died, so packets into it were lost to the failure. One that
            // leaves as planned is still there while the waves run, and losses in it would be lost to the change (V.1).
            None => return before.peer(output).is_some() && plan.draft().surviving.peer(output).is_none(),
            Some(next) if after.node(next).is_switch() => at = next,
            Some(_) => return false,
        }
    }
    false
}

/// The switches where packets by a path to an end port begin.
fn senders(fabric: &Fabric, ends: &[PortId], ways: &PathLayers, owner: PortId, path: usize) -> Vec<NodeId> {
    let sends = |port: &&PortId| **port != owner && ways.layer(**port, owner, path).is_some();
    let switches: BTreeSet<NodeId> = ends.iter().filter(sends).filter_map(|&port| fabric.neighbour(port)).collect();
    switches.into_iter().filter(|&node| fabric.node(node).is_switch()).collect()
}

/// The end of the packets to one LID that start at a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Unknown,
    /// To their owner.
    Home,
    /// In a loop, nowhere, or to another port.
    Astray,
}

/// The far end of a switch port.
#[derive(Clone, Copy)]
enum Step {
    /// To itself, or to an end port.
    Port(PortId),
    Switch(NodeId),
    Nowhere,
}

/// The steps by every port of every switch.
struct Steps {
    /// By node: its first port.
    first: Vec<usize>,
    /// By node: its highest port.
    highest: Vec<u8>,
    /// By port.
    by_port: Vec<Step>,
}

impl Steps {
    fn of(fabric: &Fabric) -> Steps {
        let step = |port: PortId| match fabric.peer(port) {
            _ if fabric.port(port).num == PortNum::ZERO => Step::Port(port),
            None => Step::Nowhere,
            Some(peer) => match fabric.port(peer).node {
                node if fabric.node(node).is_switch() => Step::Switch(node),
                _ => Step::Port(peer),
            },
        };
        Steps {
            first: fabric.nodes().map(|(_, node)| node.first_port.index()).collect(),
            highest: fabric.nodes().map(|(_, node)| node.num_ports).collect(),
            by_port: fabric.ports().map(|(id, _)| step(id)).collect(),
        }
    }

    fn at(&self, switch: NodeId, output: PortNum) -> Step {
        match output {
            // No port has the number of what has no route.
            num if num != PortNum::NO_ROUTE && num.0 <= self.highest[switch.index()] => {
                self.by_port[self.first[switch.index()] + num.index()]
            }
            _ => Step::Nowhere,
        }
    }

    /// Follows the entries of a LID from a switch until their end is known, and records that end for every switch on
    /// the way.
    fn lead(&self, entries: &[PortNum], start: NodeId, owner: PortId, known: &mut [Way]) -> bool {
        let mut at = start;
        let way = loop {
            match known[at.index()] {
                Way::Unknown => {}
                settled => break settled,
            }
            // A switch met again on this path is astray already, and so ends a round trip.
            known[at.index()] = Way::Astray;
            match self.at(at, entries[at.index()]) {
                Step::Port(port) if port == owner => break Way::Home,
                Step::Switch(next) => at = next,
                Step::Port(_) | Step::Nowhere => break Way::Astray,
            }
        };
        // Switches on a way home were marked astray during the walk.
        let mut back = start;
        while way == Way::Home && known[back.index()] == Way::Astray {
            known[back.index()] = Way::Home;
            match self.at(back, entries[back.index()]) {
                Step::Switch(next) => back = next,
                Step::Port(_) | Step::Nowhere => break,
            }
        }
        way == Way::Home
    }
}

/// The entries of one block of LIDs at a time, those of each LID together: looked up one by one, each would be fetched
/// from memory anew.
struct Entries<'a> {
    lfts: &'a [Arc<Lft>],
    block: Option<u16>,
    /// By LID of the block, then by node.
    columns: Vec<PortNum>,
}

impl<'a> Entries<'a> {
    fn of(lfts: &'a [Arc<Lft>]) -> Entries<'a> {
        Entries { lfts, block: None, columns: vec![PortNum::NO_ROUTE; LFT_BLOCK * lfts.len()] }
    }

    /// By node: its entry for a LID, [`PortNum::NO_ROUTE`] where it has none.
    fn column(&mut self, lid: Lid) -> &[PortNum] {
        let (nodes, block) = (self.lfts.len(), (lid.index() / LFT_BLOCK) as u16);
        if self.block.replace(block) != Some(block) {
            for (node, lft) in self.lfts.iter().enumerate() {
                for (at, entry) in lft.block(block).into_iter().enumerate() {
                    self.columns[at * nodes + node] = PortNum(entry);
                }
            }
        }
        let at = lid.index() % LFT_BLOCK;
        &self.columns[at * nodes..(at + 1) * nodes]
    }
}

/// Every service level is where it is outside a change.
fn check_restored(plan: &Plan, findings: &mut Findings) {
    let fabric = &*plan.draft().surviving;
    let tables = plan.tables_at(plan.waves().len());
    let usual = usual(plan);
    for (node, _) in fabric.nodes().filter(|(_, node)| node.present) {
        let held = &tables.sl_to_vl[node.index()];
        let other = pairs(fabric, node).into_iter().find(|&(input, output)| *held.get(input, output) != usual);
        if let Some((input, output)) = other {
            let name = fabric.describe_node(node);
            let what = format!("{name}, port {input} to port {output}: the table is not that of the steady state");
            return findings.plan(Rule::Restored, what);
        }
    }
}

/// The half whose lanes are A.
fn first_half(plan: &Plan) -> Half {
    if plan.scheme() == Scheme::Double { plan.old() } else { Half::Lower }
}

/// The service level of rank r in its half on lane r, modulo their number, of those that the half has between changes:
/// all, or under a standing partition those that it had during the change (P1.6).
fn usual(plan: &Plan) -> SlToVl {
    let Lanes { all, a, b, reserved } = plan.lanes();
    SlToVl::from_fn(|sl: Sl| {
        let own = match plan.policy().partition {
            LanePartition::Temporary => all,
            // The sets of a change are those of its old half and its new one; without one, of the lower and the upper.
            LanePartition::Standing if Half::of_sl(sl) == first_half(plan) => a,
            LanePartition::Standing => b,
        };
        if let Some(level) = reserved.filter(|level| level.sl == sl) {
            return level.vl;
        }
        let own: Vec<_> = own.iter().collect();
        own.get(Half::rank(sl) % own.len().max(1)).copied().unwrap_or_default()
    })
}
