//! A fabric in numbers: for people (`fabric show`) and programs.
//!
//! A [`Summary`] counts what is present; distances are hops between switches, without hosts. Nothing depends on the
//! order in which nodes were captured, except the order of ties in lists.

use super::{Fabric, NodeId, NodeKind, NodeRole, Port, PortId};
use crate::ids::Lid;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A fabric in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Summary {
    /// Switches present.
    pub switches: usize,
    /// Channel adapters present.
    pub cas: usize,
    /// The channel adapters among them that are aggregation nodes: parts of switches that reduce data, not hosts.
    pub aggregation_nodes: usize,
    /// Routers present.
    pub routers: usize,
    /// Cabled ports of channel adapters and routers.
    pub end_ports: usize,
    /// Cables between switches, those from a switch to itself included.
    pub switch_links: usize,
    /// Cables with a channel adapter or a router at one end.
    pub end_links: usize,
    /// Cables by width and speed, such as `4xHDR`.
    pub links_by_rate: BTreeMap<String, usize>,
    /// Pairs of switches joined by several cables.
    pub trunks: usize,
    /// Most cables between two switches.
    pub widest_trunk: usize,
    /// Switches by the number of their cables to other switches.
    pub switch_degrees: BTreeMap<usize, usize>,
    /// Switches by their external ports.
    pub switch_ports: BTreeMap<u8, usize>,
    /// Switches without channel adapters and routers.
    pub bare_switches: usize,
    /// Connected components of switches; one if the fabric is connected.
    pub parts: usize,
    /// The most hops between two switches of one component.
    pub diameter: usize,
    /// Lowest and highest LID in use.
    pub lids: Option<(Lid, Lid)>,
    /// Ports with a LID, by LMC.
    pub ports_by_lmc: BTreeMap<u8, usize>,
    /// Ports without a LID that should have one.
    pub ports_without_lid: usize,
    /// Fewest data VLs of a cabled port, if there is one.
    pub least_data_vls: Option<u8>,
}

/// So many things, by the name of one, whose plural takes an s: `1 node`, `2 cables`, `1 522 127 writes`.
pub(crate) fn counted(number: usize, name: &str) -> String {
    format!("{} {name}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// A count with thin groups of three: `1 234 567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

impl Summary {
    /// The summary of `fabric`.
    pub fn of(fabric: &Fabric) -> Summary {
        let count = |kind| fabric.nodes().filter(|(_, node)| node.present && node.kind == kind).count();
        let links: Vec<_> = fabric.links().collect();
        let switch_links = links.iter().filter(|&&link| joins_switches(fabric, link)).count();
        let trunks = trunks(fabric);
        let lid_ports: Vec<&Port> = fabric.lid_ports().map(|id| fabric.port(id)).collect();
        let (parts, diameter) = distances(fabric);
        Summary {
            switches: count(NodeKind::Switch),
            cas: count(NodeKind::Ca),
            aggregation_nodes: aggregation_nodes(fabric),
            routers: count(NodeKind::Router),
            end_ports: fabric.end_ports().count(),
            switch_links,
            end_links: links.len() - switch_links,
            links_by_rate: histogram(links.iter().map(|&(port, _)| rate(fabric.port(port)))),
            trunks: trunks.values().filter(|&&cables| cables > 1).count(),
            widest_trunk: trunks.values().copied().max().unwrap_or_default(),
            switch_degrees: histogram(fabric.switches().map(|id| other_switches(fabric, id).count())),
            switch_ports: histogram(fabric.switches().map(|id| fabric.node(id).num_ports)),
            bare_switches: fabric.switches().filter(|&id| is_bare(fabric, id)).count(),
            parts,
            diameter,
            lids: lid_ports.iter().filter_map(|port| port.lid).min().zip(fabric.max_lid()),
            ports_by_lmc: histogram(lid_ports.iter().filter(|port| port.lid.is_some()).map(|port| port.lmc.get())),
            ports_without_lid: lid_ports.iter().filter(|port| port.lid.is_none()).count(),
            least_data_vls: links.iter().flat_map(|&(a, b)| [a, b]).map(|id| fabric.port(id).data_vls).min(),
        }
    }
}

fn aggregation_nodes(fabric: &Fabric) -> usize {
    fabric.nodes().filter(|&(id, node)| node.present && fabric.role(id) == NodeRole::InSwitch).count()
}

fn histogram<K: Ord>(keys: impl IntoIterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

fn rate(port: &Port) -> String {
    format!("{}{}", port.width, port.speed)
}

fn joins_switches(fabric: &Fabric, (a, b): (PortId, PortId)) -> bool {
    [a, b].iter().all(|&id| fabric.node(fabric.port(id).node).is_switch())
}

/// The other end of each cable from a switch to a different one; parallel cables count each.
fn other_switches(fabric: &Fabric, switch: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    let neighbours = fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port));
    neighbours.filter(move |&other| other != switch && fabric.node(other).is_switch())
}

fn is_bare(fabric: &Fabric, switch: NodeId) -> bool {
    fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port)).all(|other| fabric.node(other).is_switch())
}

/// The number of cables between each pair of different switches.
fn trunks(fabric: &Fabric) -> BTreeMap<(NodeId, NodeId), usize> {
    let pairs = fabric.switches().flat_map(|a| other_switches(fabric, a).map(move |b| (a, b)));
    histogram(pairs.filter(|(a, b)| a < b))
}

/// The number of components, and the most hops between two switches of one component.
fn distances(fabric: &Fabric) -> (usize, usize) {
    let mut hops = vec![usize::MAX; fabric.node_count()];
    let mut seen = vec![false; fabric.node_count()];
    let (mut parts, mut diameter) = (0, 0);
    for start in fabric.switches() {
        parts += usize::from(!seen[start.index()]);
        hops.fill(usize::MAX);
        diameter = diameter.max(walk_from(fabric, start, &mut hops));
        hops.iter().zip(&mut seen).for_each(|(&hop, seen)| *seen |= hop != usize::MAX);
    }
    (parts, diameter)
}

/// Hops from `start` to every switch that it reaches, and the most of them.
fn walk_from(fabric: &Fabric, start: NodeId, hops: &mut [usize]) -> usize {
    hops[start.index()] = 0;
    let mut queue = VecDeque::from([start]);
    let mut farthest = 0;
    while let Some(switch) = queue.pop_front() {
        farthest = hops[switch.index()];
        for next in other_switches(fabric, switch) {
            if hops[next.index()] == usize::MAX {
                hops[next.index()] = farthest + 1;
                queue.push_back(next);
            }
        }
    }
    farthest
}

/// `6 × 8, 2 × 4`: counts with their keys.
struct Counts<'a, K>(&'a BTreeMap<K, usize>);

impl<K: fmt::Display> fmt::Display for Counts<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, count)) in self.0.iter().enumerate() {
            write!(f, "{}{count} × {key}", if i == 0 { "" } else { ", " })?;
        }
        if self.0.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "switches     {} ({} ports)", self.switches, Counts(&self.switch_ports))?;
        writeln!(f, "             {} of them without channel adapters", self.bare_switches)?;
        writeln!(f, "CAs          {} ({} of them aggregation nodes)", self.cas, self.aggregation_nodes)?;
        writeln!(f, "routers      {}", self.routers)?;
        writeln!(f, "links        {} between switches, {} to end ports", self.switch_links, self.end_links)?;
        writeln!(f, "rates        {}", Counts(&self.links_by_rate))?;
        match self.trunks {
            0 => writeln!(f, "trunks       none: no two switches are joined by parallel links")?,
            pairs => writeln!(f, "trunks       {pairs}, the widest of {} parallel links", self.widest_trunk)?,
        }
        writeln!(f, "degrees      {} links to switches", Counts(&self.switch_degrees))?;
        match self.parts {
            0 | 1 => writeln!(f, "diameter     {} hops between switches", self.diameter)?,
            parts => writeln!(f, "diameter     {} hops within a part; {parts} separate parts", self.diameter)?,
        }
        self.write_lids(f)?;
        match self.least_data_vls {
            Some(least) => writeln!(f, "data VLs     {least} at least on every link"),
            None => writeln!(f, "data VLs     no link"),
        }
    }
}

impl Summary {
    fn write_lids(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lids {
            Some((low, high)) => write!(f, "LIDs         {low} to {high}")?,
            None => write!(f, "LIDs         none")?,
        }
        self.ports_by_lmc.iter().try_for_each(|(lmc, ports)| write!(f, "; ports with LMC {lmc}: {ports}"))?;
        match self.ports_without_lid {
            0 => writeln!(f),
            missing => writeln!(f, "; ports without a LID: {missing}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{FabricBuilder, LinkSpeed, LinkWidth};
    use crate::ids::{Guid, PortNum};

    /// Two switches joined by three cables, one switch joined to itself, one CA at each of the first two.
    fn odd_fabric() -> Fabric {
        let mut builder = FabricBuilder::new();
        let node = |builder: &mut FabricBuilder, kind, guid, text| builder.node(kind, Guid(guid), 5, text);
        let (a, b, c) = (
            node(&mut builder, NodeKind::Switch, 1, "a"),
            node(&mut builder, NodeKind::Switch, 2, "b"),
            node(&mut builder, NodeKind::Switch, 3, "c"),
        );
        let host = node(&mut builder, NodeKind::Ca, 4, "host");
        let sharp = node(&mut builder, NodeKind::Ca, 5, "Mellanox Technologies Aggregation Node");
        for (from, to) in [
            ((a, 1), (b, 1)),
            ((a, 2), (b, 2)),
            ((a, 3), (b, 3)),
            ((c, 1), (c, 2)),
            ((host, 1), (a, 4)),
            ((sharp, 1), (b, 4)),
        ] {
            let place = |(node, num)| (node, PortNum(num));
            builder.link(place(from), place(to), LinkWidth::X4, LinkSpeed::Edr).unwrap();
        }
        builder.port_mut(a, PortNum::ZERO).unwrap().lid = Some(Lid(7));
        builder.build().unwrap()
    }

    #[test]
    fn trunks_parts_and_cables_of_a_switch_to_itself_are_told() {
        let summary = Summary::of(&odd_fabric());
        assert_eq!((summary.switches, summary.cas, summary.aggregation_nodes), (3, 2, 1));
        assert_eq!((summary.switch_links, summary.end_links), (4, 2));
        assert_eq!((summary.trunks, summary.widest_trunk), (1, 3));
        assert_eq!(summary.switch_degrees, BTreeMap::from([(0, 1), (3, 2)]));
        assert_eq!((summary.parts, summary.diameter, summary.bare_switches), (2, 1, 1));
        assert_eq!((summary.lids, summary.ports_without_lid), (Some((Lid(7), Lid(7))), 4));
        let text = summary.to_string();
        assert!(text.contains("trunks       1, the widest of 3 parallel links"), "{text}");
        assert!(text.contains("LIDs         7 to 7; ports with LMC 0: 1; ports without a LID: 4"), "{text}");
    }

    #[test]
    fn what_left_does_not_count() {
        let fabric = odd_fabric();
        let summary = Summary::of(&fabric.without_nodes(&[NodeId(0), NodeId(3)]));
        assert_eq!((summary.switches, summary.cas), (2, 1));
        assert_eq!((summary.switch_links, summary.end_links, summary.trunks), (1, 1, 0));
        let nothing = Summary::of(&FabricBuilder::new().build().unwrap());
        assert_eq!((nothing.switches, nothing.parts, nothing.diameter), (0, 0, 0));
        assert!(nothing.to_string().contains("data VLs     no link"));
    }
}
