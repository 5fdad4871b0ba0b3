//! The one tree of switches that all groups are parts of.
//!
//! A packet of multicast stands in a switch until its last copy has left, so trees and unicast can wait for each other
//! in a ring. The reserved lane carries only groups and management to switches (claim K.2), and the tree must close no
//! ring with these. Candidates are the previous tree, one along the order that engines route by, one of shortest ways,
//! and one grown cable by cable. Pure; the search is bounded.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::ReservedLevel;
use crate::routing::{SpanningTree, choose_root, chosen_root, switch_order};
use crate::tables::{SubnetTables, TreeTurn};
use crate::verify::{self, UnicastWaits};
use std::collections::BTreeSet;

/// The most trees of shortest ways that are tried.
const TRIED: usize = 64;
/// The most waits that are looked at while trees are grown cable by cable: about a second of work.
const WORK: usize = 400_000_000;
/// The orders of engines by which trees are tried first.
const ORDERS: [&str; 2] = ["up-down-robust", "up-down"];

/// The facts by which a tree is chosen.
pub(super) struct TreeInput<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) tables: &'a SubnetTables,
    pub(super) level: ReservedLevel,
    /// The switches that forward multicast.
    pub(super) switches: &'a BTreeSet<NodeId>,
    /// The tree in force.
    pub(super) before: Option<&'a SpanningTree>,
}

/// A tree, and the reason that it is not proved, if it is not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ChosenTree {
    pub(super) tree: SpanningTree,
    /// Why packets on the reserved lane may wait for each other in a ring, if they may.
    pub(super) unproved: Option<String>,
}

/// The tree for a subnet; none without a switch that forwards multicast.
pub(super) fn choose(input: &TreeInput<'_>) -> Option<ChosenTree> {
    let TreeInput { fabric, tables, level, switches, before } = *input;
    let takes_part = |node: NodeId| switches.contains(&node) && fabric.node(node).present;
    let ends = bearing(fabric, switches);
    let carried = before.and_then(|tree| tree.carried(fabric, takes_part));
    let (waits, alone) = match waits(fabric, tables, level) {
        Ok(waits) => (Some(waits), None),
        Err(why) => (None, Some(why)),
    };
    let goes = |tree: &SpanningTree| {
        let turns = tree.turns(fabric, &ends);
        waits.as_ref().is_none_or(|waits| waits.go_with(fabric, &turns))
    };
    let by_order = ORDERS.iter().filter_map(|engine| {
        let root = chosen_root(engine, fabric).or_else(|| choose_root(fabric))?;
        Some(SpanningTree::by_order(fabric, &switch_order(engine, fabric, root)?, takes_part))
    });
    let likely = carried.into_iter().chain(by_order).filter(|tree| tree.reaches(&ends));
    if let Some(tree) = likely.into_iter().find(goes) {
        return Some(ChosenTree { tree, unproved: alone });
    }
    let roots = SpanningTree::roots(fabric, &ends, takes_part);
    let first = *roots.first()?;
    let by_distance = roots.iter().take(TRIED).map(|&root| SpanningTree::from_root(fabric, root, takes_part));
    let good = by_distance.filter(|tree| tree.reaches(&ends)).find(goes).or_else(|| {
        let waits = waits.as_ref()?;
        let mut checks = WORK / (waits.count() + 1);
        let mut goes_on = |turns: &[TreeTurn]| {
            let is_left = checks > 0;
            checks = checks.saturating_sub(1);
            is_left && waits.go_with(fabric, turns)
        };
        let mut grown = roots.iter().map(|&root| SpanningTree::grown(fabric, root, takes_part, &mut goes_on));
        grown.find(|tree| tree.reaches(&ends)).filter(goes)
    });
    let ring = "no tree of switches was found that closes no ring of waits with management to switches";
    let unproved = if good.is_some() { alone } else { Some(alone.unwrap_or_else(|| ring.to_string())) };
    let nearest = || SpanningTree::from_root(fabric, first, takes_part);
    Some(ChosenTree { tree: good.unwrap_or_else(nearest), unproved })
}

/// The waits of unicast packets on the level.
fn waits(fabric: &Fabric, tables: &SubnetTables, level: ReservedLevel) -> Result<UnicastWaits, String> {
    let waits = verify::reserved_waits(fabric, level, &[tables]).map_err(|refusal| refusal.to_string())?;
    match waits.go_with(fabric, &[]) {
        true => Ok(waits),
        false => Err("management to switches can wait for itself in a ring on the reserved lane".to_string()),
    }
}

/// The switches with end ports that the first of them reaches.
fn bearing(fabric: &Fabric, switches: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let is_host = |port: PortId| fabric.neighbour(port).is_some_and(|other| !fabric.node(other).is_switch());
    let bears = |switch: &NodeId| fabric.ports_of(*switch).any(is_host);
    let bearing: BTreeSet<NodeId> = switches.iter().copied().filter(bears).collect();
    // A part of the fabric that is cut off cannot be reached, and must not make every tree fail.
    let start = bearing.first().copied();
    let reached = start.map(|start| SpanningTree::from_root(fabric, start, |node| switches.contains(&node)));
    reached.map_or_else(BTreeSet::new, |tree| bearing.into_iter().filter(|&end| tree.has(end)).collect())
}
