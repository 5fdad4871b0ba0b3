//! What of a subnet leaves and comes: named by a scenario, and resolved against its fabric.

use super::ScenarioError;
use crate::fabric::difference::Union;
use crate::fabric::{Fabric, NodeId, NodeKind, PortId};
use crate::ids::SubnetId;
use crate::sim::Elements;
use serde::Serialize;
use std::fmt;

/// An element of a subnet that leaves or comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// The root of R leaves.
    Root,
    /// A switch leaves.
    Switch(NodeId),
    /// A node other than a switch leaves: a host or a router.
    EndNode(NodeId),
    /// The cable at a port leaves.
    Link(PortId),
    /// A node of the capture comes: the fabric before the change lacks it.
    Newcomer(NodeId),
    /// The cable at a port comes: the fabric before the change has its nodes, and lacks it.
    NewLink(PortId),
}

impl Element {
    /// Whether it comes; else it leaves.
    pub fn comes(&self) -> bool {
        matches!(self, Element::Newcomer(_) | Element::NewLink(_))
    }
}

/// The change among the subnets of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScenarioChange {
    /// Elements of one subnet leave or come, all at once; nothing changes if there are none.
    In {
        /// The subnet.
        subnet: SubnetId,
        /// The elements; one that is named twice counts once.
        elements: Vec<Element>,
    },
    /// A router leaves all of its subnets, by its rank among the routers.
    Router(usize),
    /// Nothing: only traffic.
    Nothing,
}

impl From<Vec<Element>> for ScenarioChange {
    /// A change in the first subnet, which is usually the only one.
    fn from(elements: Vec<Element>) -> ScenarioChange {
        ScenarioChange::In { subnet: SubnetId(0), elements }
    }
}

impl From<Element> for ScenarioChange {
    /// A change of one element in the first subnet.
    fn from(element: Element) -> ScenarioChange {
        vec![element].into()
    }
}

impl From<&Union> for ScenarioChange {
    /// The change from one capture to another, in the fabric that is the union of both.
    fn from(union: &Union) -> ScenarioChange {
        let gone = union.absent_after.iter().map(|&node| match union.fabric.node(node).is_switch() {
            true => Element::Switch(node),
            false => Element::EndNode(node),
        });
        let pulled = union.uncabled_after.iter().map(|&port| Element::Link(port));
        let new = union.absent_before.iter().map(|&node| Element::Newcomer(node));
        let plugged = union.uncabled_before.iter().map(|&port| Element::NewLink(port));
        gone.chain(pulled).chain(new).chain(plugged).collect::<Vec<_>>().into()
    }
}

/// What leaves and what comes, resolved.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Moves {
    /// Elements that are removed.
    pub leaving: Elements,
    /// Elements that are added.
    pub coming: Elements,
    /// The node among those that leave that was asked for as the root of R.
    pub root: Option<NodeId>,
}

impl Moves {
    /// Resolves the elements of a change in `whole`, which has everything that is present before or after.
    ///
    /// # Errors
    /// There is no root, a node is no switch, or a port has no cable.
    pub fn of(
        elements: &[Element],
        whole: &Fabric,
        root: impl Fn() -> Result<NodeId, ScenarioError>,
    ) -> Result<Moves, ScenarioError> {
        let mut moves = Moves::default();
        for &element in elements {
            let Moves { leaving, coming, .. } = &mut moves;
            match element {
                Element::Root => {
                    let root = root()?;
                    add_node(leaving, root);
                    moves.root = Some(root);
                }
                Element::Switch(node) if !whole.node(node).is_switch() => {
                    return Err(ScenarioError::NoSuchSwitch { node: whole.describe_node(node) });
                }
                Element::Switch(node) | Element::EndNode(node) => add_node(leaving, node),
                Element::Link(port) => add_link(leaving, whole, port)?,
                Element::Newcomer(node) => add_node(coming, node),
                Element::NewLink(port) => add_link(coming, whole, port)?,
            }
        }
        Ok(moves)
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.leaving.is_empty() && self.coming.is_empty()
    }

    /// The names of what leaves and comes.
    pub(super) fn named(&self, whole: &Fabric) -> MovesReport {
        let node = |&node: &NodeId| {
            let kind = if self.root == Some(node) { "root" } else { kind(whole, node) };
            format!("{kind} {}", whole.describe_node(node))
        };
        let link = |&port: &PortId| format!("link {}", whole.describe_port(port));
        let names =
            |Elements { nodes, links }: &Elements| nodes.iter().map(node).chain(links.iter().map(link)).collect();
        MovesReport { leaves: names(&self.leaving), comes: names(&self.coming) }
    }
}

fn add_node(elements: &mut Elements, node: NodeId) {
    if !elements.nodes.contains(&node) {
        elements.nodes.push(node);
    }
}

fn add_link(elements: &mut Elements, fabric: &Fabric, port: PortId) -> Result<(), ScenarioError> {
    let peer = fabric.peer(port).ok_or_else(|| ScenarioError::NoCable { port: fabric.describe_port(port) })?;
    if !elements.links.contains(&port) && !elements.links.contains(&peer) {
        elements.links.push(port);
    }
    Ok(())
}

/// What a node is to those who name it.
fn kind(fabric: &Fabric, node: NodeId) -> &'static str {
    match fabric.node(node).kind {
        NodeKind::Switch => "switch",
        NodeKind::Ca => "host",
        NodeKind::Router => "router",
    }
}

/// What leaves and comes, each element by its kind and name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct MovesReport {
    /// Elements that are removed.
    pub leaves: Vec<String>,
    /// Elements that are added.
    pub comes: Vec<String>,
}

/// Elements that a line names; of more it gives the number.
const NAMED: usize = 8;

impl MovesReport {
    /// Whether a line names every element.
    pub fn fits_a_line(&self) -> bool {
        self.leaves.len() <= NAMED && self.comes.len() <= NAMED
    }
}

impl fmt::Display for MovesReport {
    /// `remove switch A, switch B and link C[1]`, or the numbers of each kind if there are many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [("remove", &self.leaves), ("add", &self.comes)];
        let parts = lists.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts.map(|(verb, names)| format!("{verb} {}", listed(names))).collect();
        f.write_str(if parts.is_empty() { "nothing" } else { "" })?;
        f.write_str(&parts.join("; "))
    }
}

fn listed(names: &[String]) -> String {
    if names.len() > NAMED {
        let first = |name: &String| name.split_once(' ').map(|(kind, _)| kind.to_string());
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for kind in names.iter().filter_map(first) {
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind, 1)),
            }
        }
        let plural = |kind: &str| if kind.ends_with("ch") { "es" } else { "s" };
        let counted = |(kind, count): (String, usize)| match count {
            1 => format!("1 {kind}"),
            _ => format!("{count} {kind}{}", plural(&kind)),
        };
        return conjoined(&kinds.into_iter().map(counted).collect::<Vec<_>>());
    }
    conjoined(names)
}

fn conjoined(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.join(""),
    }
}

#[cfg(test)]
mod tests {
    use super::MovesReport;

    #[test]
    fn a_line_names_eight_elements_and_counts_more() {
        let names = |count: usize| (1..=count).map(|n| format!("switch s-{n}")).collect::<Vec<_>>();
        let report = |leaves, comes| MovesReport { leaves, comes };
        assert_eq!(report(names(0), names(0)).to_string(), "nothing");
        assert_eq!(report(names(1), names(2)).to_string(), "remove switch s-1; add switch s-1 and switch s-2");
        assert_eq!(report(names(3), names(0)).to_string(), "remove switch s-1, switch s-2 and switch s-3");
        let many =
            [names(8), vec!["link s-1[2]".to_string()], vec!["host h".to_string(), "host i".to_string()]].concat();
        let many = report(many, names(0));
        assert_eq!(many.to_string(), "remove 8 switches, 1 link and 2 hosts");
        assert!(!many.fits_a_line() && report(names(8), names(8)).fits_a_line());
    }
}
