//! The differences between two captures of one fabric, by GUIDs and port numbers, independent of indices.
//!
//! [`Difference::between`] lists them for people and programs. [`union`] puts both captures into one index space, in
//! which the fabrics before and after are parts of one whole: a change is planned and run on it. [`align`] expresses a
//! fresh sweep in the indices of a known fabric; [`recognise`] does so for the known part of a sweep. Nodes that left
//! (`present` is false) count as absent. Deliberately omitted: guesses that an element with a new GUID replaces
//! another.

mod align;
mod entry;
mod keys;
mod moved;
mod named;
mod parts;
mod union;

pub use align::{AlignError, Recognised, align, recognise};
pub use entry::{Cable, Changed, EndName, Lids, LinkRate, Moved, NodeName};
pub use moved::moved;
pub use named::{NamesError, guids_by_name};
pub(crate) use parts::{common, in_either, lacks, restricted, shared};
pub use union::{LidConflict, Recabling, Union, UnionError, union, union_recabled};

use super::{Fabric, NodeKind, PortId};
use crate::ids::{PortName, PortNum};
use keys::{CableKey, by_guid, cables, find, other_end, present_by_guid};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The differences between two fabrics. Every list is in the order of GUIDs and port numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Difference {
    /// Nodes only in the first.
    pub nodes_gone: Vec<NodeName>,
    /// Nodes only in the second.
    pub nodes_new: Vec<NodeName>,
    /// Cables only in the first, including those of nodes that are gone.
    pub links_gone: Vec<Cable>,
    /// Cables only in the second, including those of new nodes.
    pub links_new: Vec<Cable>,
    /// Cables of which one end moved; they are in neither of the lists above.
    pub links_moved: Vec<Moved>,
    /// Width or speed of a cable.
    pub rates: Vec<Changed<Cable, LinkRate>>,
    /// LID or LMC of a port.
    pub lids: Vec<Changed<EndName, Lids>>,
    /// Descriptions of nodes.
    pub descriptions: Vec<Changed<NodeName, String>>,
    /// Kinds of nodes: another kind under the same GUID.
    pub kinds: Vec<Changed<NodeName, NodeKind>>,
    /// Counts of external ports.
    pub ports: Vec<Changed<NodeName, u8>>,
}

impl Difference {
    /// The differences from `before` to `after`.
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
            push_changed(
                &mut self.descriptions,
                || NodeName::of(after, new),
                old_text.to_string(),
                new_text.to_string(),
            );
            push_changed(&mut self.kinds, || NodeName::of(after, new), was.kind, is.kind);
            push_changed(&mut self.ports, || NodeName::of(after, new), was.num_ports, is.num_ports);
            for (old_port, new_port) in before.ports_of(old).zip(after.ports_of(new)) {
                if owns_lids(before, old_port) && owns_lids(after, new_port) {
                    let subject = || view.end(new_port);
                    push_changed(&mut self.lids, subject, Lids::of(before, old_port), Lids::of(after, new_port));
                }
            }
        }
    }

    fn compare_cables(&mut self, before: &View<'_>, after: &View<'_>) {
        let (old, new) = (cables(before.fabric), cables(after.fabric));
        let gone = old.keys().filter(|key| !new.contains_key(key)).copied();
        let mut came: BTreeSet<CableKey> = new.keys().filter(|key| !old.contains_key(key)).copied().collect();
        let mut ends: BTreeMap<PortName, CableKey> =
            came.iter().flat_map(|&cable| [(cable.0, cable), (cable.1, cable)]).collect();
        for key in gone {
            // A cable has moved if one of its ends has a new cable. Each new cable explains only one lost cable, hence
            // the removals below.
            let next = [key.0, key.1].into_iter().find_map(|end| ends.get(&end).map(|&cable| (end, cable)));
            let Some((stayed, cable)) = next else {
                self.links_gone.push(before.cable(key));
                continue;
            };
            came.remove(&cable);
            ends.remove(&cable.0);
            ends.remove(&cable.1);
            let (from, to) = (before.end_named(other_end(key, stayed)), after.end_named(other_end(cable, stayed)));
            self.links_moved.push(Moved { end: after.end_named(stayed), from, to });
        }
        self.links_new = came.into_iter().map(|key| after.cable(key)).collect();
        for (key, &old_port) in &old {
            if let Some(&new_port) = new.get(key) {
                let (was, is) = (LinkRate::of(before.fabric, old_port), LinkRate::of(after.fabric, new_port));
                push_changed(&mut self.rates, || after.cable(*key), was, is);
            }
        }
    }
}

/// A fabric, with the descriptions that are not names because several nodes share them.
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
        let text = self.fabric.node(self.fabric.port(port).node).description.trim();
        let PortName { guid: node, num } = self.fabric.port_name(port);
        let name = match (text.is_empty(), self.repeated.contains(text)) {
            (true, _) => format!("{node}[{num}]"),
            (false, true) => format!("{text} ({node})[{num}]"),
            (false, false) => format!("{text}[{num}]"),
        };
        EndName { node, port: num, name }
    }

    fn end_named(&self, name: PortName) -> EndName {
        match find(self.fabric, name) {
            Some(port) => self.end(port),
            None => EndName { node: name.guid, port: name.num, name: name.to_string() },
        }
    }

    fn cable(&self, (a, b): CableKey) -> Cable {
        Cable(self.end_named(a), self.end_named(b))
    }
}

fn push_changed<S, V: PartialEq>(list: &mut Vec<Changed<S, V>>, of: impl FnOnce() -> S, before: V, after: V) {
    if before != after {
        list.push(Changed { of: of(), before, after });
    }
}

/// Names of the nodes of `here` that `there` lacks.
fn names_missing(here: &Fabric, there: &Fabric) -> Vec<NodeName> {
    let missing = by_guid(here).into_iter().filter(|&(guid, _)| present_by_guid(there, guid).is_none());
    missing.map(|(_, id)| NodeName::of(here, id)).collect()
}

/// Whether a port owns or may own a LID.
fn owns_lids(fabric: &Fabric, id: PortId) -> bool {
    let port = fabric.port(id);
    if fabric.node(port.node).is_switch() { port.num == PortNum::ZERO } else { port.peer.is_some() }
}

/// Entries of a list that people are shown; programs get all of them.
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
mod tests;
