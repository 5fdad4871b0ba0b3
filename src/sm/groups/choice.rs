//! The one tree of switches that all groups are parts of.
//!
//! A packet of multicast stands in a switch until its last copy has left, so trees and unicast can wait for each other
//! in a ring. The reserved lane carries only groups and management to switches (claim K.2), and the tree must close no
//! ring with these. `routing` searches ([`TreeSearch`]); OpenSM's plugin uses the same search. Pure.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::ReservedLevel;
use crate::routing::{FoundTree, SpanningTree, TreeSearch};
use crate::tables::{SubnetTables, TreeTurn};
use crate::verify::{self, UnicastWaits};
use std::collections::BTreeSet;

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

/// The tree for a subnet; without a switch that forwards multicast it joins none.
pub(super) fn choose(input: &TreeInput<'_>) -> ChosenTree {
    let TreeInput { fabric, tables, level, switches, before } = *input;
    let takes_part = |node: NodeId| switches.contains(&node) && fabric.node(node).present;
    let ends = bearing(fabric, switches);
    let (waits, alone) = match waits(fabric, tables, level) {
        Ok(waits) => (Some(waits), None),
        Err(why) => (None, Some(why)),
    };
    let goes = |turns: &[TreeTurn]| waits.as_ref().is_none_or(|waits| waits.go_with(fabric, turns));
    let count = waits.as_ref().map_or(0, UnicastWaits::count);
    let search =
        TreeSearch { fabric, takes_part: &takes_part, ends: &ends, before, goes: &goes, waits: count, also: &[] };
    let found = search.run().unwrap_or(FoundTree { goes: true, ..FoundTree::default() });
    let ring = "no tree of switches was found that closes no ring of waits with management to switches";
    let unproved = if found.goes { alone } else { Some(alone.unwrap_or_else(|| ring.to_string())) };
    ChosenTree { tree: found.tree, unproved }
}

/// The waits of unicast packets on the level.
fn waits(fabric: &Fabric, tables: &SubnetTables, level: ReservedLevel) -> Result<UnicastWaits, String> {
    let waits = verify::reserved_waits(fabric, level, &[tables]).map_err(|refusal| refusal.to_string())?;
    match waits.go_with(fabric, &[]) {
        true => Ok(waits),
        false => Err("management to switches can wait for itself in a ring on the reserved lane".to_string()),
    }
}

/// The switches with end ports.
fn bearing(fabric: &Fabric, switches: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let is_host = |port: PortId| fabric.neighbour(port).is_some_and(|other| !fabric.node(other).is_switch());
    let bears = |switch: &NodeId| fabric.ports_of(*switch).any(is_host);
    switches.iter().copied().filter(bears).collect()
}
