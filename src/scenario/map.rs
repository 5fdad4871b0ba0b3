//! A subnet as it is drawn: its nodes and cables, and what becomes of each by the change.

use super::subnet_setup::SubnetSetup;
use crate::fabric::{NodeId, NodeRole, PortId};
use crate::routing::Connectivity;
use std::collections::BTreeMap;

/// What becomes of a node or of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Fate {
    /// It is there before and after, and joined with the subnet manager.
    #[default]
    Stays,
    /// It comes.
    Comes,
    /// It stays, and no links join it with the subnet manager after the change.
    CutOff,
    /// It leaves.
    Leaves,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapNode {
    /// Its description, with its GUID where that is not unique.
    pub name: String,
    /// Whether it is a switch.
    pub is_switch: bool,
    /// What becomes of it.
    pub fate: Fate,
}

/// The cables between two nodes that share a fate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MapLink {
    /// The ranks of both nodes in [`FabricMap::nodes`], the lower one first.
    pub ends: (usize, usize),
    /// What becomes of the cables.
    pub fate: Fate,
    /// How many there are.
    pub cables: usize,
}

/// Everything that is there before or after the change, but for aggregation nodes and gateways within switches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FabricMap {
    /// The nodes, in the order of the capture.
    pub nodes: Vec<MapNode>,
    /// The cables, by their ends.
    pub links: Vec<MapLink>,
}

/// The map of a subnet that changes.
pub(super) fn map(own: &SubnetSetup) -> FabricMap {
    let whole = &*own.whole;
    let (gone, new) = (&own.moves.leaving, &own.moves.coming);
    let joined = Connectivity::of(&own.after);
    let is_joined = |node: NodeId| whole.ports_of(node).any(|port| joined.joins(port, own.sm));
    let fate = |node: NodeId| match node {
        _ if gone.nodes.contains(&node) => Fate::Leaves,
        // Where it was not there before either, nothing cuts it off.
        _ if !is_joined(node) => Fate::CutOff,
        _ if new.nodes.contains(&node) => Fate::Comes,
        _ => Fate::Stays,
    };
    // An aggregation node is a part of its switch, which is no leaf by having one.
    let is_drawn = |id: NodeId| whole.node(id).present && whole.role(id) != NodeRole::InSwitch;
    let present: Vec<NodeId> = whole.nodes().map(|(id, _)| id).filter(|&id| is_drawn(id)).collect();
    let nodes: Vec<MapNode> = present
        .iter()
        .map(|&id| MapNode { name: whole.describe_node(id), is_switch: whole.node(id).is_switch(), fate: fate(id) })
        .collect();
    let rank: BTreeMap<NodeId, usize> = present.iter().enumerate().map(|(rank, &id)| (id, rank)).collect();
    let mut cables: BTreeMap<((usize, usize), Fate), usize> = BTreeMap::new();
    for (a, b) in whole.links() {
        let [Some(&first), Some(&second)] = [a, b].map(|port| rank.get(&whole.port(port).node)) else { continue };
        let ends = [first, second];
        let among = |links: &[PortId]| links.contains(&a) || links.contains(&b);
        let has_end = |fate: Fate| ends.iter().any(|&end| nodes[end].fate == fate);
        let fate = match () {
            () if among(&gone.links) || has_end(Fate::Leaves) => Fate::Leaves,
            () if among(&new.links) || has_end(Fate::Comes) => Fate::Comes,
            () if has_end(Fate::CutOff) => Fate::CutOff,
            () => Fate::Stays,
        };
        *cables.entry(((ends[0].min(ends[1]), ends[0].max(ends[1])), fate)).or_default() += 1;
    }
    FabricMap {
        nodes,
        links: cables.into_iter().map(|((ends, fate), cables)| MapLink { ends, fate, cables }).collect(),
    }
}
