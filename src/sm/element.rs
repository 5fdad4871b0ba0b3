//! Elements of a subnet, by the names that people use and as indices of a fabric.

use crate::fabric::{Fabric, NodeId, PortId, guid_behind, split_port};
use crate::ids::{Guid, PortNum};
use serde::{Deserialize, Serialize};

/// An element of the subnet by name: a description, a GUID, or ibnetdiscover's name (`S-GUID`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubnetElement {
    /// A switch.
    Switch(String),
    /// The cable at a port: `NODE:PORT`.
    Link(String),
}

impl SubnetElement {
    /// The name as given.
    pub fn name(&self) -> &str {
        match self {
            SubnetElement::Switch(name) | SubnetElement::Link(name) => name,
        }
    }

    /// Finds the element in a fabric.
    ///
    /// # Errors
    /// A sentence for the user: the fabric has no such element, or several.
    pub fn find(&self, fabric: &Fabric) -> Result<FoundElement, String> {
        match self {
            SubnetElement::Switch(name) => {
                let node = node_named(fabric, name)?;
                if !fabric.node(node).is_switch() {
                    return Err(format!("{} is not a switch", fabric.describe_node(node)));
                }
                Ok(FoundElement::Node(node))
            }
            SubnetElement::Link(text) => {
                let (name, num) =
                    split_port(text).ok_or_else(|| format!("`{text}` names no port: expected NODE:PORT"))?;
                let num = num.parse().map_err(|_| format!("`{num}` in `{text}` is not a port number"))?;
                let node = node_named(fabric, name)?;
                let port = fabric.port_at(node, PortNum(num)).filter(|&port| fabric.peer(port).is_some());
                // Both ends name the same cable: take the lower.
                port.map(|port| FoundElement::Cable(fabric.peer(port).map_or(port, |peer| port.min(peer))))
                    .ok_or_else(|| format!("{} has no cable at port {num}", fabric.describe_node(node)))
            }
        }
    }
}

/// An element in a fabric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FoundElement {
    /// A switch.
    Node(NodeId),
    /// A cable, by the lower of its ends.
    Cable(PortId),
}

impl FoundElement {
    pub(super) fn taken_out_of(self, fabric: &Fabric) -> Fabric {
        match self {
            FoundElement::Node(node) => fabric.without_nodes(&[node]),
            FoundElement::Cable(port) => fabric.without_links(&[port]),
        }
    }

    pub(super) fn describe(self, fabric: &Fabric) -> String {
        match self {
            FoundElement::Node(node) => fabric.describe_node(node),
            FoundElement::Cable(port) => fabric.describe_port(port),
        }
    }

    /// A name that is the element's whatever the sweep: a switch's GUID; of a cable one end, `GUID:PORT`.
    pub(super) fn lasting_name(self, fabric: &Fabric) -> String {
        match self {
            FoundElement::Node(node) => fabric.node(node).guid.to_string(),
            FoundElement::Cable(port) => {
                let port = fabric.port(port);
                format!("{}:{}", fabric.node(port.node).guid, port.num)
            }
        }
    }

    /// The element with this lasting name, if it is present.
    pub(super) fn of_lasting_name(name: &str, fabric: &Fabric) -> Option<FoundElement> {
        let element = match name.contains(':') {
            true => SubnetElement::Link(name.to_string()),
            false => SubnetElement::Switch(name.to_string()),
        };
        element.find(fabric).ok()
    }

    /// The switches of `whole` that `part` lacks, and the cables between nodes that are in both.
    pub(super) fn missing_in(part: &Fabric, whole: &Fabric) -> Vec<FoundElement> {
        let lacks = |node: NodeId| !part.node(node).present;
        let nodes = whole.nodes().filter(|&(id, node)| node.present && node.is_switch() && lacks(id));
        let cables = whole
            .links()
            .filter(|&(a, b)| part.peer(a).is_none() && ![a, b].map(|end| lacks(part.port(end).node)).contains(&true));
        nodes.map(|(id, _)| FoundElement::Node(id)).chain(cables.map(|(end, _)| FoundElement::Cable(end))).collect()
    }

    /// The devices that fail if it does: a switch itself, both ends of a cable.
    pub(super) fn nodes(self, fabric: &Fabric) -> impl Iterator<Item = NodeId> {
        let nodes = match self {
            FoundElement::Node(node) => [Some(node), None],
            FoundElement::Cable(port) => [Some(fabric.port(port).node), fabric.neighbour(port)],
        };
        nodes.into_iter().flatten()
    }

    pub(super) fn is_in(self, fabric: &Fabric) -> bool {
        match self {
            FoundElement::Node(node) => fabric.node(node).present,
            FoundElement::Cable(port) => fabric.peer(port).is_some(),
        }
    }
}

fn node_named(fabric: &Fabric, name: &str) -> Result<NodeId, String> {
    let name = name.strip_prefix("S-").filter(|rest| rest.parse::<Guid>().is_ok()).unwrap_or(name);
    if let Some(guid) = name.parse::<Guid>().ok().or_else(|| guid_behind(name))
        && let Some(node) = fabric.by_guid(guid)
    {
        return Ok(node);
    }
    let mut named = fabric.nodes().filter(|(_, node)| node.present && node.description.trim() == name.trim());
    match (named.next(), named.next()) {
        (Some((node, _)), None) => Ok(node),
        (None, _) => Err(format!("no node of the subnet has the name or GUID `{name}`")),
        (Some(_), Some(_)) => Err(format!("several nodes of the subnet have the name `{name}`: give the GUID")),
    }
}
