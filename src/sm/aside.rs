//! Elements that a user has set aside: present, and kept out of the routing.
//!
//! Elements are identified by names that outlive a manager ([`FoundElement::lasting_name`]). One that a survey does not
//! find is forgotten only once it has been removed: silence does not prove that (C.5).

use super::element::FoundElement;
use crate::change::within_reach;
use crate::driver::Running;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Guid;
use crate::subnet::Manager;
use crate::transport::Transport;
use crate::wire;
use std::collections::{BTreeMap, BTreeSet};

/// An element counts as gone after this many surveys in a row that do not find it although a link to it is up.
const SURVEYS: u8 = 4;

/// Elements that are set aside.
#[derive(Clone, Debug, Default)]
pub(super) struct AsideElements {
    /// By lasting name: how many surveys in a row have not found it.
    missed: BTreeMap<String, u8>,
}

impl AsideElements {
    /// The elements that an earlier manager has recorded as set aside.
    pub(super) fn named(names: &[String]) -> AsideElements {
        AsideElements { missed: names.iter().map(|name| (name.clone(), 0)).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.missed.is_empty()
    }

    /// Their lasting names.
    pub(super) fn names(&self) -> Vec<String> {
        self.missed.keys().cloned().collect()
    }

    /// Their names for people, as far as the known fabric has them.
    pub(super) fn described(&self, known: &Fabric) -> Vec<String> {
        let described = |name: &String| {
            FoundElement::of_lasting_name(name, known).map_or(name.clone(), |element| element.describe(known))
        };
        self.missed.keys().map(described).collect()
    }

    /// Sets an element aside.
    pub(super) fn insert(&mut self, element: FoundElement, known: &Fabric) {
        self.remove(element, known);
        self.missed.insert(element.lasting_name(known), 0);
    }

    /// Takes an element back. Returns whether it was set aside.
    pub(super) fn remove(&mut self, element: FoundElement, known: &Fabric) -> bool {
        let before = self.missed.len();
        // A cable can be named by either of its ends.
        self.missed.retain(|name, _| FoundElement::of_lasting_name(name, known) != Some(element));
        self.missed.len() < before
    }

    /// The fabric without the elements set aside.
    pub(super) fn out_of(&self, fabric: &Fabric) -> Fabric {
        let found = self.missed.keys().filter_map(|name| FoundElement::of_lasting_name(name, fabric));
        found.fold(fabric.clone(), |rest, element| element.taken_out_of(&rest))
    }

    /// Describes the end ports whose last path died after elements were set aside; `None` if there are none. End ports
    /// that the order itself cut off do not count: the user accepted that.
    pub(super) fn cut_off(&self, running: &Running) -> Option<String> {
        let first = self.described(&running.known).into_iter().next()?;
        let Running { known, alive, routed, sm, .. } = running;
        let (meant, used) = (within_reach(&self.out_of(known), *sm), within_reach(routed, *sm));
        let is_cut_off = |port: &PortId| {
            let node = alive.port(*port).node;
            alive.peer(*port).is_some() && meant.node(node).present && !used.node(node).present
        };
        let ports: Vec<PortId> = alive.end_ports().filter(is_cut_off).collect();
        let host = alive.describe_port(*ports.first()?);
        let (count, more) = (ports.len(), if self.missed.len() == 1 { "" } else { " and more" });
        Some(format!(
            "{count} end ports are cut off, {host} first, while {first}{more} is set aside: `reconfig change \
             --take-back-switch` or --take-back-link has it used again"
        ))
    }

    /// Forgets elements that a survey shows to have left: they are used again when they return.
    pub(super) fn surveyed<T: Transport>(&mut self, manager: &Manager<T>, known: &Fabric, alive: &Fabric) {
        let out: BTreeSet<Guid> = manager.faults().filter(|(_, out)| *out).map(|(at, _)| at.device).collect();
        let is_out = |node: NodeId| out.contains(&known.node(node).guid);
        // Two adjacent elements that are set aside must not wait for each other.
        let rest = self.out_of(known);
        self.missed.retain(|name, missed| {
            let element = FoundElement::of_lasting_name(name, known);
            // A device that is left out because it fails is still there: the manager itself has taken its links down.
            if element.is_some_and(|element| element.is_in(alive) || element.nodes(known).any(is_out)) {
                *missed = 0;
                return true;
            }
            // If neighbours of the element are not found either, the manager may be the one that was cut off.
            if element.is_some_and(|element| !has_witnesses(element, known, (&rest, alive))) {
                return true;
            }
            *missed += 1;
            if *missed >= SURVEYS || element.is_some_and(|element| has_left(element, manager, known, alive)) {
                tracing::warn!("{name} was set aside and has left: it is used again when it returns");
                return false;
            }
            true
        });
    }
}

/// Whether all switches that an element was cabled to were found; those that `rest` lacks do not count.
fn has_witnesses(element: FoundElement, known: &Fabric, (rest, alive): (&Fabric, &Fabric)) -> bool {
    let is_found = |port: PortId| {
        let node = known.port(port).node;
        !known.node(node).is_switch() || alive.node(node).present || !rest.node(node).present
    };
    match element {
        FoundElement::Node(node) => known.ports_of(node).filter_map(|port| known.peer(port)).all(is_found),
        FoundElement::Cable(port) => [Some(port), known.peer(port)].into_iter().flatten().all(is_found),
    }
}

/// Whether ports that were found report no link where a missing element had its links: all of them for a switch, one
/// end for a cable.
fn has_left<T: Transport>(element: FoundElement, manager: &Manager<T>, known: &Fabric, alive: &Fabric) -> bool {
    let is_down = |port: PortId| {
        let is_found = alive.node(known.port(port).node).present;
        let info = manager.port_info(port).filter(|_| is_found)?;
        Some(info.port_state == wire::PortState::Down)
    };
    match element {
        FoundElement::Node(node) => {
            let said: Vec<bool> =
                known.ports_of(node).filter_map(|port| known.peer(port)).filter_map(is_down).collect();
            !said.is_empty() && !said.contains(&false)
        }
        FoundElement::Cable(port) => {
            [Some(port), known.peer(port)].into_iter().flatten().any(|end| is_down(end) == Some(true))
        }
    }
}
