//! A subnet as it is drawn: its nodes and cables, and what becomes of each by the change.

use crate::fabric::{Fabric, NodeId, NodeRole, PortId};
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
    /// It is there and carries nothing afterwards: it was ordered out.
    SetAside,
    /// It leaves.
    Leaves,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapNode {
    /// The node.
    pub node: NodeId,
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
    /// Aggregation nodes and gateways within switches, which are not among the nodes.
    pub in_switches: usize,
}

impl FabricMap {
    /// A fabric of which everything stays.
    pub fn standing(fabric: &Fabric) -> FabricMap {
        let nodes = fabric.nodes().filter(|(_, node)| node.present).map(|(id, node)| {
            let is_drawn = fabric.role(id) != NodeRole::InSwitch;
            let (name, is_switch) = (fabric.describe_node(id), node.is_switch());
            (id, is_drawn, MapNode { node: id, name, is_switch, fate: Fate::Stays })
        });
        let links = fabric.links().map(|(a, b)| ([a, b].map(|port| fabric.port(port).node), Fate::Stays));
        FabricMap::of(nodes.collect(), links.collect())
    }

    /// What becomes of nodes and cables between two fabrics of one index space. Of the nodes that `after` lacks, those
    /// that `leaves` names leave, and the others are cut off. `sm` is the subnet manager's port.
    pub fn between(before: &Fabric, after: &Fabric, sm: PortId, leaves: &dyn Fn(NodeId) -> bool) -> FabricMap {
        FabricMap::with_aside(before, after, after, sm, leaves)
    }

    /// The map of [`FabricMap::between`], but removed elements that `there`, a fabric of the same index space, still
    /// has are set aside.
    pub fn with_aside(
        before: &Fabric,
        after: &Fabric,
        there: &Fabric,
        sm: PortId,
        leaves: &dyn Fn(NodeId) -> bool,
    ) -> FabricMap {
        let joined = Connectivity::of(after);
        let is_joined = |node: NodeId| after.ports_of(node).any(|port| joined.joins(port, sm));
        let fate = |node: NodeId| match (before.node(node).present, after.node(node).present) {
            (true, false) if leaves(node) && there.node(node).present => Fate::SetAside,
            (true, false) if leaves(node) => Fate::Leaves,
            (_, false) => Fate::CutOff,
            (_, true) if !is_joined(node) => Fate::CutOff,
            (false, true) => Fate::Comes,
            (true, true) => Fate::Stays,
        };
        let present = before.nodes().map(|(id, _)| id).filter(|&id| before.node(id).present || after.node(id).present);
        let nodes = present.map(|id| {
            let own = if before.node(id).present { before } else { after };
            (
                id,
                own.role(id) != NodeRole::InSwitch,
                MapNode { node: id, name: own.describe_node(id), is_switch: own.node(id).is_switch(), fate: fate(id) },
            )
        });
        let gone = before.links().map(|(a, b)| {
            let is_in = |fabric: &Fabric| fabric.peer(a) == Some(b);
            let fate = match (is_in(after), is_in(there)) {
                (true, _) => Fate::Stays,
                (false, true) => Fate::SetAside,
                (false, false) => Fate::Leaves,
            };
            ((a, b), fate)
        });
        let new = after.links().filter(|&(a, b)| before.peer(a) != Some(b)).map(|ends| (ends, Fate::Comes));
        let end = |(a, b): (PortId, PortId)| [a, b].map(|port| before.port(port).node);
        FabricMap::of(nodes.collect(), gone.chain(new).map(|(ends, fate)| (end(ends), fate)).collect())
    }

    /// Of nodes, with whether they are drawn, and of cables; a cable shares the fate of an end that does not stay.
    pub(in crate::scenario) fn of(nodes: Vec<(NodeId, bool, MapNode)>, links: Vec<([NodeId; 2], Fate)>) -> FabricMap {
        let (drawn, in_switches): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|(_, is_drawn, _)| *is_drawn);
        let (ids, nodes): (Vec<NodeId>, Vec<MapNode>) = drawn.into_iter().map(|(id, _, node)| (id, node)).unzip();
        let rank: BTreeMap<NodeId, usize> = ids.iter().enumerate().map(|(rank, &id)| (id, rank)).collect();
        let mut cables: BTreeMap<((usize, usize), Fate), usize> = BTreeMap::new();
        for (ends, fate) in links {
            let [Some(&a), Some(&b)] = ends.map(|end| rank.get(&end)) else { continue };
            let has_end = |fate: Fate| nodes[a].fate == fate || nodes[b].fate == fate;
            let fate = match fate {
                Fate::Leaves if !has_end(Fate::CutOff) => Fate::Leaves,
                _ if has_end(Fate::Leaves) => Fate::Leaves,
                _ if has_end(Fate::SetAside) => Fate::SetAside,
                Fate::Comes => Fate::Comes,
                _ if has_end(Fate::Comes) => Fate::Comes,
                _ if has_end(Fate::CutOff) => Fate::CutOff,
                fate => fate,
            };
            *cables.entry(((a.min(b), a.max(b)), fate)).or_default() += 1;
        }
        let link = |((ends, fate), cables)| MapLink { ends, fate, cables };
        FabricMap { nodes, links: cables.into_iter().map(link).collect(), in_switches: in_switches.len() }
    }
}
