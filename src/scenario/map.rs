//! What becomes of the nodes and cables of a subnet that changes.

use super::outcome::{FabricMap, Fate, MapNode};
use super::subnet_setup::SubnetSetup;
use crate::fabric::{NodeId, NodeRole, PortId};
use crate::routing::Connectivity;

/// The map of a subnet that changes.
pub(super) fn map(own: &SubnetSetup) -> FabricMap {
    let whole = &*own.whole;
    if !own.later.is_empty() {
        return FabricMap::between(&own.before, &own.after, own.sm_in(&own.after), &|node| own.leaves(node));
    }
    let (gone, new) = (&own.moves.leaving, &own.moves.coming);
    let joined = Connectivity::of(&own.after);
    let is_joined = |node: NodeId| whole.ports_of(node).any(|port| joined.joins(port, own.sm_in(&own.after)));
    let fate = |node: NodeId| match node {
        _ if gone.nodes.contains(&node) => Fate::Leaves,
        // Where it was not there before either, nothing cuts it off.
        _ if !is_joined(node) => Fate::CutOff,
        _ if new.nodes.contains(&node) => Fate::Comes,
        _ => Fate::Stays,
    };
    let nodes = whole.nodes().filter(|(_, node)| node.present).map(|(id, node)| {
        // An aggregation node is a part of its switch, which is no leaf by having one.
        let is_drawn = whole.role(id) != NodeRole::InSwitch;
        (id, is_drawn, MapNode { node: id, name: whole.describe_node(id), is_switch: node.is_switch(), fate: fate(id) })
    });
    let links = whole.links().map(|(a, b)| {
        let among = |links: &[PortId]| links.contains(&a) || links.contains(&b);
        let fate = match () {
            () if among(&gone.links) => Fate::Leaves,
            () if among(&new.links) => Fate::Comes,
            () => Fate::Stays,
        };
        ([a, b].map(|port| whole.port(port).node), fate)
    });
    FabricMap::of(nodes.collect(), links.collect())
}
