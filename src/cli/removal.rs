//! Removals from a fabric, as options name them: any number of switches, hosts, cables and chassis, all at once.

use super::element::{find_node, find_nodes, find_ports, guid_of};
use super::outcome::Failure;
use anyhow::anyhow;
use clap::Args;
use reconfig::fabric::{Fabric, Node, NodeId, NodeRole};
use reconfig::scenario::Element;
use std::collections::BTreeSet;

/// The options belong to the group `what` of their command.
#[derive(Clone, Debug, Default, Args)]
#[group(id = "removal")]
pub(super) struct RemovalArguments {
    /// Remove this switch: a description, a GUID, or a pattern with `*` for every match. These options may be repeated
    /// and combined; everything they name is removed at once.
    #[arg(long, value_name = "NODE", group = "what")]
    remove_switch: Vec<String>,
    /// Remove the cable at this port; `*` as the port stands for every cable of the node.
    #[arg(long, value_name = "NODE:PORT", group = "what")]
    remove_link: Vec<String>,
    /// Remove this host (one channel adapter), or every host that a pattern matches.
    #[arg(long, value_name = "NODE", group = "what")]
    remove_host: Vec<String>,
    /// Remove all nodes with this system image GUID, such as the switches of a director, or all nodes of a section of
    /// an `ibnetdiscover -g` capture, such as "Chassis 1".
    #[arg(long, value_name = "GUID|SECTION", group = "what")]
    remove_chassis: Vec<String>,
}

/// One of the names, and what it names.
#[derive(Clone, Copy)]
pub(super) struct RemovalName<'a> {
    pub(super) name: &'a str,
    /// The option that names it, and the rank among its values.
    pub(super) place: (&'static str, usize),
    find: fn(&Fabric, &str) -> Result<Vec<Element>, Failure>,
}

impl RemovalName<'_> {
    /// The elements of a fabric that it names: one at least.
    pub(super) fn find(&self, fabric: &Fabric) -> Result<Vec<Element>, Failure> {
        (self.find)(fabric, self.name)
    }
}

impl RemovalArguments {
    /// Every name that was given.
    pub(super) fn names(&self) -> impl Iterator<Item = RemovalName<'_>> {
        type Find = fn(&Fabric, &str) -> Result<Vec<Element>, Failure>;
        let lists: [(&'static str, &[String], Find); 4] = [
            ("remove_switch", &self.remove_switch, switches),
            ("remove_host", &self.remove_host, hosts),
            ("remove_chassis", &self.remove_chassis, chassis),
            ("remove_link", &self.remove_link, |fabric, name| {
                Ok(find_ports(fabric, name)?.into_iter().map(Element::Link).collect())
            }),
        ];
        lists.into_iter().flat_map(|(option, names, find)| {
            names.iter().enumerate().map(move |(rank, name)| RemovalName { name, place: (option, rank), find })
        })
    }

    /// Whether nothing is removed.
    pub(super) fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }
}

fn switches(fabric: &Fabric, name: &str) -> Result<Vec<Element>, Failure> {
    let found = find_kind(fabric, name, "switch", |node| fabric.node(node).is_switch())?;
    Ok(found.into_iter().map(Element::Switch).collect())
}

fn hosts(fabric: &Fabric, name: &str) -> Result<Vec<Element>, Failure> {
    let is_host = |node: NodeId| fabric.role(node) == NodeRole::Host;
    Ok(find_kind(fabric, name, "host", is_host)?.into_iter().map(Element::EndNode).collect())
}

/// The nodes of a kind that a name means: one, or all that a pattern matches.
fn find_kind(fabric: &Fabric, name: &str, kind: &str, is: impl Fn(NodeId) -> bool) -> Result<Vec<NodeId>, Failure> {
    let found = find_nodes(fabric, name, &is)?;
    let wanted: Vec<NodeId> = found.iter().copied().filter(|&node| is(node)).collect();
    if !wanted.is_empty() {
        return Ok(wanted);
    }
    let (first, all) = (found[0], found.len());
    let instead = match fabric.role(first) {
        NodeRole::Switch => "it is a switch (--remove-switch)",
        NodeRole::Host => "it is a host (--remove-host)",
        NodeRole::Router => "it is a router",
        NodeRole::InSwitch => "it is a part of a switch, and leaves with it",
    };
    let first = fabric.describe_node(first);
    Err(Failure::input(match all {
        1 => anyhow!("{first} is no {kind}: {instead}"),
        _ => anyhow!("none of the {all} nodes that match `{name}` is a {kind}, {first} for one: {instead}"),
    }))
}

fn chassis(fabric: &Fabric, name: &str) -> Result<Vec<Element>, Failure> {
    let section = name.trim().strip_prefix("Chassis ").and_then(|number| number.trim().parse::<u8>().ok());
    let guid = guid_of(name.trim());
    let is_of = |node: &Node| match section {
        Some(number) => node.chassis == Some(number),
        None => guid.is_some() && node.system_guid == guid,
    };
    let found: Vec<NodeId> = fabric.nodes().filter(|(_, node)| node.present && is_of(node)).map(|(id, _)| id).collect();
    if found.is_empty() {
        // A node of that name shows which GUID was meant.
        let own = find_node(fabric, name).ok().and_then(|node| fabric.node(node).system_guid);
        let hint = own.map_or_else(
            || "captures give it as sysimgguid".to_string(),
            |guid| format!("the one of the node of that name is {guid}"),
        );
        if section.is_some() {
            let known: BTreeSet<u8> = fabric.nodes().filter_map(|(_, node)| node.chassis).collect();
            let known: Vec<String> = known.iter().map(|number| format!("Chassis {number}")).collect();
            let hint = match known.is_empty() {
                true => "the capture has no such sections, as `ibnetdiscover -g` prints them".to_string(),
                false => format!("it has {}", known.join(", ")),
            };
            return Err(Failure::input(anyhow!("no section `{name}`: {hint}")));
        }
        return Err(Failure::input(anyhow!("no node has the system image GUID `{name}`: {hint}")));
    }
    let element = |node| if fabric.node(node).is_switch() { Element::Switch(node) } else { Element::EndNode(node) };
    Ok(found.into_iter().map(element).collect())
}
