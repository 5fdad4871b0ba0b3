//! What changed between two captures of one fabric, told by GUIDs and port numbers, whatever their indices.
//!
//! [`Difference::between`] lists it for people and programs. [`union`] puts both captures into one index space, in which
//! the fabric before and the fabric after are restrictions of one whole: a whole change is planned and run on it.
//! [`align`] tells a fresh sweep in the indices of a fabric that is known already, [`recognise`] as far as it is known. Nodes that left (`present` is false)
//! count as not there. Lacks on purpose: guesses that an element with a new GUID replaces another.

mod align;
mod union;

pub use align::{AlignError, Recognised, align, recognise};
pub use union::{LidConflict, Union, UnionError, union};

use super::{Fabric, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use crate::ids::{Guid, Lid, Lmc, PortNum};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A port, whatever its index: node GUID and number.
type PortKey = (Guid, PortNum);
/// A cable: the lower port key first.
type CableKey = (PortKey, PortKey);

/// A node, as a difference tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeName {
    /// What it is.
    pub kind: NodeKind,
    /// Its GUID.
    pub guid: Guid,
    /// Its description, blanks at the ends taken off.
    pub description: String,
}

/// One end of a cable, as a difference tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndName {
    /// GUID of the node.
    pub node: Guid,
    /// Number of the port.
    pub port: PortNum,
    /// `description[port]` for people.
    pub name: String,
}

/// A cable between two ports, the one with the lower node GUID first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cable(pub EndName, pub EndName);

/// A cable of which one end stayed and the other was put elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The end that stayed.
    pub end: EndName,
    /// Where the other end was.
    pub from: EndName,
    /// Where it is.
    pub to: EndName,
}

/// Something with a value before and another after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed<Subject, Value> {
    /// What it belongs to.
    pub of: Subject,
    /// The value before.
    pub before: Value,
    /// The value after.
    pub after: Value,
}

/// Width and speed of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkRate(pub LinkWidth, pub LinkSpeed);

/// The LIDs of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lids {
    /// The base LID, where it has one.
    pub lid: Option<Lid>,
    /// Its LMC.
    pub lmc: Lmc,
}

/// What changed between two fabrics. Every list is in the order of GUIDs and port numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Nodes that were there before only.
    pub nodes_gone: Vec<NodeName>,
    /// Nodes that are there after only.
    pub nodes_new: Vec<NodeName>,
    /// Cables that were there before only, those of gone nodes included.
    pub links_gone: Vec<Cable>,
    /// Cables that are there after only, those of new nodes included.
    pub links_new: Vec<Cable>,
    /// Cables of which one end was put elsewhere; they are in neither of the lists above.
    pub links_moved: Vec<Moved>,
    /// Width or speed of a cable.
    pub rates: Vec<Changed<Cable, LinkRate>>,
    /// LID or LMC of a port.
    pub lids: Vec<Changed<EndName, Lids>>,
    /// Descriptions of nodes.
    pub descriptions: Vec<Changed<NodeName, String>>,
    /// Kinds of nodes: a switch that became something else under one GUID.
    pub kinds: Vec<Changed<NodeName, NodeKind>>,
    /// Counts of external ports.
    pub ports: Vec<Changed<NodeName, u8>>,
}

impl Difference {
    /// What changed from `before` to `after`.
    pub fn between(before: &Fabric, after: &Fabric) -> Difference {
        let mut difference = Difference {
            nodes_gone: names_missing(before, after),
            nodes_new: names_missing(after, before),
            ..Difference::default()
        };
        let (before, after) = (View::of(before), View::of(after));
        difference.compare_nodes(before.fabric, &after);
        difference.compare_cables(&before, &after);
        difference
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Difference::default()
    }

    fn compare_nodes(&mut self, before: &Fabric, view: &View<'_>) {
        let after = view.fabric;
        for (_, old) in by_guid(before) {
            let Some(new) = present_by_guid(after, before.node(old).guid) else { continue };
            let (was, is) = (before.node(old), after.node(new));
            let (old_text, new_text) = (was.description.trim(), is.description.trim());
            push_changed(&mut self.descriptions, || name(after, new), old_text.to_string(), new_text.to_string());
            push_changed(&mut self.kinds, || name(after, new), was.kind, is.kind);
            push_changed(&mut self.ports, || name(after, new), was.num_ports, is.num_ports);
            for (old_port, new_port) in before.ports_of(old).zip(after.ports_of(new)) {
                if owns_lids(before, old_port) && owns_lids(after, new_port) {
                    let subject = || view.end(new_port);
                    push_changed(&mut self.lids, subject, lids(before, old_port), lids(after, new_port));
                }
            }
        }
    }

    fn compare_cables(&mut self, before: &View<'_>, after: &View<'_>) {
        let (old, new) = (cables(before.fabric), cables(after.fabric));
        let gone = old.keys().filter(|key| !new.contains_key(key)).copied();
        let mut came: BTreeSet<CableKey> = new.keys().filter(|key| !old.contains_key(key)).copied().collect();
        let mut ends: BTreeMap<PortKey, CableKey> =
            came.iter().flat_map(|&cable| [(cable.0, cable), (cable.1, cable)]).collect();
        for key in gone {
            let next = [key.0, key.1].into_iter().find_map(|end| ends.get(&end).map(|&cable| (end, cable)));
            let Some((stayed, cable)) = next else {
                self.links_gone.push(before.cable(key));
                continue;
            };
            came.remove(&cable);
            ends.remove(&cable.0);
            ends.remove(&cable.1);
            let (from, to) = (before.end_by_key(other_end(key, stayed)), after.end_by_key(other_end(cable, stayed)));
            self.links_moved.push(Moved { end: after.end_by_key(stayed), from, to });
        }
        self.links_new = came.into_iter().map(|key| after.cable(key)).collect();
        for (key, &old_port) in &old {
            if let Some(&new_port) = new.get(key) {
                let (was, is) = (rate(before.fabric, old_port), rate(after.fabric, new_port));
                push_changed(&mut self.rates, || after.cable(*key), was, is);
            }
        }
    }
}

/// A fabric, and which descriptions in it are no names because several nodes have them.
struct View<'a> {
    fabric: &'a Fabric,
    repeated: BTreeSet<&'a str>,
}

impl<'a> View<'a> {
    fn of(fabric: &'a Fabric) -> View<'a> {
        let mut seen = BTreeSet::from([""]);
        let texts = fabric.nodes().map(|(_, node)| node.description.trim());
        let repeated = texts.filter(|&text| !seen.insert(text)).collect();
        View { fabric, repeated }
    }

    fn end(&self, port: PortId) -> EndName {
        let (node, num) = key(self.fabric, port);
        let text = self.fabric.node(self.fabric.port(port).node).description.trim();
        let name = match (text.is_empty(), self.repeated.contains(text)) {
            (true, _) => format!("{node}[{num}]"),
            (false, true) => format!("{text} ({node})[{num}]"),
            (false, false) => format!("{text}[{num}]"),
        };
        EndName { node, port: num, name }
    }

    fn end_by_key(&self, key: PortKey) -> EndName {
        match find(self.fabric, key) {
            Some(port) => self.end(port),
            None => EndName { node: key.0, port: key.1, name: format!("{}[{}]", key.0, key.1) },
        }
    }

    fn cable(&self, (a, b): CableKey) -> Cable {
        Cable(self.end_by_key(a), self.end_by_key(b))
    }
}

fn other_end((a, b): CableKey, end: PortKey) -> PortKey {
    if a == end { b } else { a }
}

fn push_changed<S, V: PartialEq>(list: &mut Vec<Changed<S, V>>, of: impl FnOnce() -> S, before: V, after: V) {
    if before != after {
        list.push(Changed { of: of(), before, after });
    }
}

/// Nodes present, by GUID.
fn by_guid(fabric: &Fabric) -> BTreeMap<Guid, NodeId> {
    fabric.nodes().filter(|(_, node)| node.present).map(|(id, node)| (node.guid, id)).collect()
}

fn present_by_guid(fabric: &Fabric, guid: Guid) -> Option<NodeId> {
    fabric.by_guid(guid).filter(|&id| fabric.node(id).present)
}

/// Names of the nodes of `here` that `there` lacks.
fn names_missing(here: &Fabric, there: &Fabric) -> Vec<NodeName> {
    let missing = by_guid(here).into_iter().filter(|&(guid, _)| present_by_guid(there, guid).is_none());
    missing.map(|(_, id)| name(here, id)).collect()
}

fn name(fabric: &Fabric, id: NodeId) -> NodeName {
    let node = fabric.node(id);
    NodeName { kind: node.kind, guid: node.guid, description: node.description.trim().to_string() }
}

fn key(fabric: &Fabric, port: PortId) -> PortKey {
    let port = fabric.port(port);
    (fabric.node(port.node).guid, port.num)
}

/// The port with this key, where its node is present.
fn find(fabric: &Fabric, (guid, num): PortKey) -> Option<PortId> {
    fabric.port_at(present_by_guid(fabric, guid)?, num)
}

/// Every cable, with its port of the lower key.
fn cables(fabric: &Fabric) -> BTreeMap<CableKey, PortId> {
    let keyed = fabric.links().map(|(a, b)| {
        let (a_key, b_key) = (key(fabric, a), key(fabric, b));
        if a_key <= b_key { ((a_key, b_key), a) } else { ((b_key, a_key), b) }
    });
    keyed.collect()
}

fn rate(fabric: &Fabric, port: PortId) -> LinkRate {
    LinkRate(fabric.port(port).width, fabric.port(port).speed)
}

fn lids(fabric: &Fabric, port: PortId) -> Lids {
    Lids { lid: fabric.port(port).lid, lmc: fabric.port(port).lmc }
}

/// Whether a port is one that owns or may own a LID.
fn owns_lids(fabric: &Fabric, id: PortId) -> bool {
    let port = fabric.port(id);
    if fabric.node(port.node).is_switch() { port.num == PortNum::ZERO } else { port.peer.is_some() }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.kind, self.description, self.guid)
    }
}

impl fmt::Display for EndName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.0, self.1)
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} to {}", self.end, self.from, self.to)
    }
}

impl<S: fmt::Display, V: fmt::Display> fmt::Display for Changed<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, was {}", self.of, self.after, self.before)
    }
}

impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}

impl fmt::Display for Lids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lid {
            Some(lid) => write!(f, "LID {lid} LMC {}", self.lmc),
            None => f.write_str("no LID"),
        }
    }
}

/// Lines of one list that people are shown; programs get all of them.
const SHOWN: usize = 20;

fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, what: &str, list: &[T]) -> fmt::Result {
    if list.is_empty() {
        return Ok(());
    }
    writeln!(f, "{what}: {}", list.len())?;
    list.iter().take(SHOWN).try_for_each(|item| writeln!(f, "  {item}"))?;
    match list.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "  … and {more} more"),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "no difference");
        }
        write_list(f, "nodes gone", &self.nodes_gone)?;
        write_list(f, "nodes new", &self.nodes_new)?;
        write_list(f, "links gone", &self.links_gone)?;
        write_list(f, "links new", &self.links_new)?;
        write_list(f, "links moved", &self.links_moved)?;
        write_list(f, "link rates changed", &self.rates)?;
        write_list(f, "LIDs changed", &self.lids)?;
        write_list(f, "descriptions changed", &self.descriptions)?;
        write_list(f, "kinds changed", &self.kinds)?;
        write_list(f, "port counts changed", &self.ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::FabricBuilder;
    use crate::fabric::generate::{Options, Topology, generate};

    fn make(topology: &str) -> Fabric {
        generate(&topology.parse::<Topology>().unwrap(), &Options::default()).unwrap()
    }

    fn node(fabric: &Fabric, text: &str) -> NodeId {
        fabric.nodes().find(|(_, node)| node.description == text).unwrap().0
    }

    fn port(fabric: &Fabric, text: &str, num: u8) -> PortId {
        fabric.port_at(node(fabric, text), PortNum(num)).unwrap()
    }

    /// The fabric again with its nodes in reverse order, cables in `but` left out and those in `plus` put in.
    fn rebuilt(fabric: &Fabric, but: &[PortId], plus: &[(PortId, PortId)]) -> Fabric {
        let mut builder = FabricBuilder::new();
        let nodes: Vec<_> = fabric.nodes().filter(|(_, node)| node.present).collect();
        for (id, node) in nodes.into_iter().rev() {
            let copy = builder.node(node.kind, node.guid, node.num_ports, node.description.clone());
            for port in fabric.ports_of(id).map(|id| fabric.port(id)) {
                let slot = builder.port_mut(copy, port.num).unwrap();
                (slot.guid, slot.lid, slot.lmc) = (port.guid, port.lid, port.lmc);
            }
        }
        let place = |builder: &FabricBuilder, port: PortId| {
            let (guid, num) = key(fabric, port);
            let at = builder.nodes().iter().position(|node| node.guid == guid).unwrap();
            (NodeId(at as u32), num)
        };
        let kept = fabric.links().filter(|(a, b)| !but.contains(a) && !but.contains(b));
        for (a, b) in kept.chain(plus.iter().copied()) {
            let (a_end, b_end) = (place(&builder, a), place(&builder, b));
            builder.link(a_end, b_end, fabric.port(a).width, fabric.port(a).speed).unwrap();
        }
        builder.build().unwrap()
    }

    #[test]
    fn the_order_of_capture_is_no_difference() {
        let fabric = make("fat-tree:4,2");
        let other = rebuilt(&fabric, &[], &[]);
        assert_ne!(fabric.node(NodeId(0)).guid, other.node(NodeId(0)).guid);
        assert_eq!(Difference::between(&fabric, &other), Difference::default());
        assert_eq!(Difference::between(&fabric, &other).to_string(), "no difference\n");
    }

    #[test]
    fn a_lost_switch_takes_its_links_with_it() {
        let before = make("fat-tree:4,2");
        let after = before.without_nodes(&[node(&before, "spine-2")]);
        let difference = Difference::between(&before, &after);
        assert_eq!(difference.nodes_gone.iter().map(|name| &name.description).collect::<Vec<_>>(), ["spine-2"]);
        assert_eq!((difference.links_gone.len(), difference.links_new.len(), difference.links_moved.len()), (4, 0, 0));
        let text = difference.to_string();
        assert!(text.starts_with("nodes gone: 1\n  switch spine-2 (0x0200000100000500)\nlinks gone: 4\n"), "{text}");
        assert!(text.contains("  leaf-1[6] to spine-2[1]\n"), "{text}");
        let back = Difference::between(&after, &before);
        assert_eq!((back.nodes_new, back.links_new), (difference.nodes_gone, difference.links_gone));
    }

    #[test]
    fn a_cable_put_elsewhere_is_one_move() {
        let before = make("ring:4");
        // switch-1 port 2 led to switch-2 port 3; now it leads to switch-3 port 5.
        let (stays, leaves, comes) =
            (port(&before, "switch-1", 2), port(&before, "switch-2", 3), port(&before, "switch-3", 5));
        assert_eq!(before.peer(stays), Some(leaves));
        let after = rebuilt(&before, &[stays], &[(stays, comes)]);
        let difference = Difference::between(&before, &after);
        assert_eq!((difference.links_gone.len(), difference.links_new.len()), (0, 0));
        assert_eq!(
            difference.links_moved.iter().map(Moved::to_string).collect::<Vec<_>>(),
            ["switch-1[2] from switch-2[3] to switch-3[5]"]
        );
    }

    #[test]
    fn rates_lids_and_descriptions_are_compared() {
        let before = make("ring:4");
        let mut after = before.clone();
        let link = after.links().next().unwrap();
        for end in [link.0, link.1] {
            after.ports[end.index()].width = LinkWidth::X1;
        }
        after.nodes[0].description = "renamed".to_string();
        let lids = after.lid_ports().map(|id| (id, Lid(2 * after.port(id).lid.unwrap().0), Lmc::masked(1)));
        let after = after.with_lids(lids.collect::<Vec<_>>()).unwrap();
        let difference = Difference::between(&before, &after);
        assert_eq!(difference.rates.len(), 1);
        assert!(difference.rates[0].to_string().ends_with(": 1xHDR, was 4xHDR"), "{}", difference.rates[0]);
        assert_eq!(difference.lids.len(), 8);
        assert!(difference.lids[0].to_string().ends_with("LID 2 LMC 1, was LID 1 LMC 0"), "{}", difference.lids[0]);
        let text = difference.descriptions[0].to_string();
        assert_eq!(text, "switch renamed (0x0200000700000000): renamed, was switch-1");
        assert!(difference.nodes_gone.is_empty() && difference.links_gone.is_empty());
    }

    #[test]
    fn the_union_restricts_to_both_fabrics() {
        let whole = make("fat-tree:4,2");
        let (gone, new) = (node(&whole, "spine-2"), node(&whole, "spine-3"));
        let pulled = port(&whole, "leaf-1", 5);
        let before = rebuilt(&whole.without_nodes(&[new]), &[], &[]);
        let after = rebuilt(&whole.without_nodes(&[gone]).without_links(&[pulled]), &[], &[]);
        let union = union(&before, &after).unwrap();
        assert_eq!((union.absent_before.len(), union.absent_after.len()), (1, 1));
        assert_eq!((union.uncabled_before.len(), union.uncabled_after.len()), (0, 1));
        assert!(union.lid_conflicts.is_empty());
        assert!(Difference::between(&union.before(), &before).is_empty());
        assert!(Difference::between(&union.after(), &after).is_empty());
        for (id, node) in before.nodes() {
            assert_eq!(union.fabric.node(id).guid, node.guid, "indices before are indices of the union");
            assert_eq!(union.fabric.node(id).first_port, node.first_port);
        }
        assert_eq!(union.before().nodes().count(), union.after().nodes().count());
    }

    #[test]
    fn the_union_of_equals_is_the_fabric_itself() {
        let fabric = make("three-level:2,2,2,2,2,2");
        let union = union(&fabric, &rebuilt(&fabric, &[], &[])).unwrap();
        assert_eq!(union.fabric, fabric);
        assert_eq!((union.before(), union.after()), (fabric.clone(), fabric));
    }

    #[test]
    fn a_node_that_left_and_came_back_is_new() {
        let whole = make("ring:4");
        let before = whole.without_nodes(&[NodeId(1)]);
        let union = union(&before, &whole).unwrap();
        assert_eq!((union.absent_before.clone(), union.absent_after.len()), (vec![NodeId(1)], 0));
        assert_eq!((union.before(), union.after()), (before, whole));
    }

    #[test]
    fn a_port_with_two_peers_has_no_union() {
        let before = make("ring:4");
        let (stays, comes) = (port(&before, "switch-1", 2), port(&before, "switch-3", 5));
        let error = union(&before, &rebuilt(&before, &[stays], &[(stays, comes)])).unwrap_err().to_string();
        assert!(
            error.starts_with("port switch-1[2] is cabled to switch-2[3] before and to switch-3[5] after"),
            "{error}"
        );
    }

    #[test]
    fn lids_that_clash_stay_as_they_were_and_are_listed() {
        let whole = make("ring:4,0");
        let before = whole.without_nodes(&[NodeId(3)]);
        let before = rebuilt(&before, &[], &[]);
        // After the newcomer takes LID 1, which switch-1 has before; switch-1 moves to LID 9.
        let taken = [(0, 9), (1, 2), (2, 3), (3, 1)];
        let assignment = taken.map(|(id, lid)| (whole.node(NodeId(id)).first_port, Lid(lid), Lmc::default()));
        let after = whole.with_lids(assignment).unwrap();
        let union = union(&before, &after).unwrap();
        let told: Vec<_> = union
            .lid_conflicts
            .iter()
            .map(|clash| (union.fabric.describe_port(clash.port), clash.kept.map(|kept| kept.0), clash.wanted.0))
            .collect();
        let expected = [("switch-1[0]", Some(Lid(1)), Lid(9)), ("switch-4[0]", None, Lid(1))];
        assert_eq!(told, expected.map(|(name, kept, wanted)| (name.to_string(), kept, wanted)));
    }

    #[test]
    fn one_guid_of_two_kinds_has_no_union_and_no_alignment() {
        let before = make("ring:4");
        let mut after = before.clone();
        after.nodes[7].kind = NodeKind::Router;
        assert!(matches!(union(&before, &after), Err(UnionError::Redefined { after: NodeKind::Router, .. })));
        assert!(matches!(align(&before, &after), Err(AlignError::Redefined { found: NodeKind::Router, .. })));
    }

    #[test]
    fn a_sweep_is_told_in_known_indices() {
        let known = make("torus:3x3,2");
        let left = known.without_nodes(&[NodeId(4)]).without_links(&[port(&known, "switch-0-0", 3)]);
        let found = rebuilt(&left, &[], &[]);
        assert_eq!(align(&known, &found).unwrap(), left);
        assert_eq!(align(&known, &known).unwrap(), known);
    }

    #[test]
    fn a_sweep_that_found_more_is_no_alignment() {
        let whole = make("ring:4");
        let known = whole.without_nodes(&[NodeId(1)]);
        let error = align(&known, &whole).unwrap_err().to_string();
        assert!(error.starts_with("switch switch-2 (0x0200000700000100) was found but is not known"), "{error}");
        let known = whole.without_links(&[port(&whole, "switch-1", 2)]);
        let error = align(&known, &whole).unwrap_err().to_string();
        assert!(error.starts_with("the cable from switch-1[2] to switch-2[3] was found but is not known"), "{error}");
    }
}
