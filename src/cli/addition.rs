//! Additions to a fabric, as options name them: switches, hosts and cables that no capture has, and cables that move.

use super::element::{find_node, find_port};
use super::outcome::Failure;
use super::removal::RemovalArguments;
use super::stderr::remark;
use anyhow::anyhow;
use clap::Args;
use reconfig::fabric::{AdditionError, Fabric, PortId};
use reconfig::scenario::Element;
use std::collections::BTreeSet;

/// The options belong to the group `what` of their command.
#[derive(Clone, Debug, Default, Args)]
#[group(id = "addition")]
pub(super) struct AdditionArguments {
    /// Adds a switch NAME modelled on LIKE: it has as many ports, and a cable to the first free port of each switch
    /// that LIKE is cabled to. Repeat these options, or combine them with removals, to make one change of all.
    #[arg(long, value_name = "NAME=LIKE:NODE", group = "what")]
    add_switch: Vec<String>,
    /// Adds a cable between two ports. If the same change removes a cable from one of them, the new one is plugged in
    /// once the routing no longer uses the old one.
    #[arg(long, value_name = "NODE:PORT=NODE:PORT", group = "what")]
    add_link: Vec<String>,
    /// Adds a single-port host NAME, cabled to this switch port.
    #[arg(long, value_name = "NAME=NODE:PORT", group = "what")]
    add_host: Vec<String>,
    /// Unplugs the far end of the cable at the first port, and plugs it in at the second port, once the routing no
    /// longer uses the cable.
    #[arg(long, value_name = "NODE:PORT=NODE:PORT", group = "what")]
    move_cable: Vec<String>,
}

/// Separates the name of a new switch from that of its model.
const LIKE: &str = "=LIKE:";

/// The elements that options name, in a fabric that has every added element except moved cables.
pub(super) struct Named {
    pub(super) fabric: Fabric,
    /// The elements removed and added, each with the option that names it and its rank there.
    pub(super) elements: Vec<(Place, Element)>,
    /// Cables that are plugged in where others were.
    pub(super) plugged: Vec<(PortId, PortId)>,
}

/// An option, and the rank of a value.
pub(super) type Place = (&'static str, usize);

impl AdditionArguments {
    /// Whether nothing is added.
    pub(super) fn is_empty(&self) -> bool {
        let lists = [&self.add_switch, &self.add_link, &self.add_host, &self.move_cable];
        lists.into_iter().all(Vec::is_empty)
    }

    /// The only name that is given, if it is that of a switch that the capture has.
    pub(super) fn captured(&self) -> Option<&str> {
        let alone = self.add_link.is_empty() && self.add_host.is_empty() && self.move_cable.is_empty();
        match &self.add_switch[..] {
            [name] if alone && !name.contains(LIKE) => Some(name),
            _ => None,
        }
    }

    /// Applies additions and removals: first switches, then cables, then hosts, so that later ones may name earlier
    /// ones.
    pub(super) fn with(&self, removal: &RemovalArguments, fabric: &Fabric) -> Result<Named, Failure> {
        let mut growing = Growing { fabric: fabric.clone(), elements: Vec::new() };
        for (rank, text) in self.add_switch.iter().enumerate() {
            let expected = || {
                let form = "expected NAME=LIKE:NODE, such as `spine-5=LIKE:spine-1`";
                let alone = "`simulate` also takes the name alone of a switch that the file has, which then comes";
                Failure::input(anyhow!("--add-switch {text}: {form}; {alone}"))
            };
            let (name, like) = text.split_once(LIKE).ok_or_else(expected)?;
            let like = find_node(&growing.fabric, like)?;
            let (grown, cables) = growing.fabric.with_switch_like(name.trim(), like).map_err(Failure::input)?;
            let named: Vec<String> = cables.iter().map(|&port| cable(&grown, port)).collect();
            remark(&format!("{} comes with the cables {}", name.trim(), named.join(", ")));
            growing.becomes(grown, ("add_switch", rank));
        }
        let ports = |fabric: &Fabric, option: &str, text: &str| {
            let (a, b) = halves(text, option, "NODE:PORT=NODE:PORT, such as `leaf-1:7=spine-5:1`")?;
            Ok((find_port(fabric, a)?, find_port(fabric, b)?))
        };
        // Where a cable leaves, another one may come: whatever names it.
        let mut leaving: Vec<(Place, Element)> = Vec::new();
        for name in removal.names() {
            leaving.extend(name.find(&growing.fabric)?.into_iter().map(|element| (name.place, element)));
        }
        let mut plugged: Vec<(PortId, PortId)> = Vec::new();
        for (rank, text) in self.move_cable.iter().enumerate() {
            let (from, to) = ports(&growing.fabric, "--move-cable", text)?;
            if growing.fabric.peer(from).is_none() {
                let port = growing.fabric.describe_port(from);
                return Err(Failure::input(anyhow!("--move-cable {text}: {port} has no cable that could be moved")));
            }
            if from == to {
                let port = growing.fabric.describe_port(from);
                return Err(Failure::input(anyhow!("--move-cable {text}: the cable is at {port} already")));
            }
            leaving.push((("move_cable", rank), Element::Link(from)));
            plugged.push((from, to));
        }
        let freed = freed(&growing.fabric, &leaving);
        for (rank, text) in self.add_link.iter().enumerate() {
            let (a, b) = ports(&growing.fabric, "--add-link", text)?;
            if [a, b].iter().any(|port| freed.contains(port)) {
                plugged.push((a, b));
            } else {
                let grown = growing.fabric.with_cable(a, b).map_err(Failure::input)?;
                growing.becomes(grown, ("add_link", rank));
            }
        }
        for (rank, text) in self.add_host.iter().enumerate() {
            let (name, at) = halves(text, "--add-host", "NAME=NODE:PORT, such as `new-host=leaf-1:7`")?;
            let at = find_port(&growing.fabric, at)?;
            let grown = growing.fabric.with_host(name.trim(), at).map_err(Failure::input)?;
            growing.becomes(grown, ("add_host", rank));
        }
        let Growing { fabric, elements } = growing;
        check_plugged(&fabric, &plugged, &freed)?;
        Ok(Named { fabric, elements: leaving.into_iter().chain(elements).collect(), plugged })
    }
}

/// A fabric to which elements are added one after the other.
struct Growing {
    fabric: Fabric,
    elements: Vec<(Place, Element)>,
}

impl Growing {
    /// Takes a fabric that has more at its end, and the cables of that.
    fn becomes(&mut self, grown: Fabric, place: Place) {
        let known = self.fabric.node_count();
        let is_new = |port: PortId| grown.port(port).node.index() >= known;
        let nodes = grown.nodes().skip(known).map(|(id, _)| Element::Newcomer(id));
        // What is cabled to a newcomer comes with it.
        let cables = grown.links().filter(|&(a, b)| !is_new(a) && !is_new(b) && self.fabric.peer(a) != Some(b));
        let come: Vec<Element> = nodes.chain(cables.map(|(a, _)| Element::NewLink(a))).collect();
        self.elements.extend(come.into_iter().map(|element| (place, element)));
        self.fabric = grown;
    }
}

/// The ports whose cables are removed, by themselves or with a node at the other end.
fn freed(fabric: &Fabric, leaving: &[(Place, Element)]) -> BTreeSet<PortId> {
    let ends = |port: PortId| [Some(port), fabric.peer(port)].into_iter().flatten();
    leaving
        .iter()
        .flat_map(|(_, element)| match *element {
            Element::Link(port) => ends(port).collect::<Vec<_>>(),
            Element::Switch(node) | Element::EndNode(node) => {
                fabric.ports_of(node).filter_map(|port| fabric.peer(port)).collect()
            }
            Element::Root | Element::Newcomer(_) | Element::NewLink(_) => Vec::new(),
        })
        .collect()
}

/// Refuses a cable at a port that keeps its own, and two cables at one port.
fn check_plugged(fabric: &Fabric, plugged: &[(PortId, PortId)], freed: &BTreeSet<PortId>) -> Result<(), Failure> {
    let mut taken = BTreeSet::new();
    for port in plugged.iter().flat_map(|&(a, b)| [a, b]) {
        let name = || fabric.describe_port(port);
        if let Some(peer) = fabric.peer(port).filter(|_| !freed.contains(&port)) {
            let cabled = AdditionError::Cabled { port: name(), peer: fabric.describe_port(peer) };
            return Err(Failure::input(cabled));
        }
        if !taken.insert(port) {
            return Err(Failure::input(anyhow!("two cables are to be plugged in at {}", name())));
        }
    }
    Ok(())
}

fn halves<'a>(text: &'a str, option: &str, form: &str) -> Result<(&'a str, &'a str), Failure> {
    let halves = text.split_once('=').filter(|(first, second)| !first.trim().is_empty() && !second.is_empty());
    halves.ok_or_else(|| Failure::input(anyhow!("{option} {text}: expected {form}")))
}

fn cable(fabric: &Fabric, port: PortId) -> String {
    let peer = fabric.peer(port).map_or_else(String::new, |peer| fabric.describe_port(peer));
    format!("{} to {peer}", fabric.describe_port(port))
}
