//! Subnets in numbers, of which there may be one: for people (`fabric show`) and programs.

use super::partitions::{Membership, Partitions, usual_manager};
use super::{Router, Subnet, SubnetPort, Subnets};
use crate::fabric::format::Completeness;
use crate::fabric::summary::Summary;
use crate::fabric::{Fabric, NodeKind};
use crate::ids::{GidPrefix, Guid, Lid, Lmc, PortNum, SubnetId};
use petgraph::unionfind::UnionFind;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Subnets in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SubnetsSummary {
    /// Always `reconfig.fabric-summary/1`.
    pub schema: &'static str,
    /// Each subnet, by rank.
    pub subnets: Vec<SubnetSummary>,
    /// Each router that joins two ports at least, in order of GUIDs.
    pub routers: Vec<RouterSummary>,
    /// Nodes of routers that join nothing: only one of their subnets was captured, or no GUID identifies them with
    /// another node.
    pub unjoined: Vec<String>,
    /// Connected components of subnets; one if every subnet reaches every other.
    pub parts: usize,
}

/// One subnet in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SubnetSummary {
    /// Its name.
    pub name: String,
    /// The upper half of its GIDs.
    pub prefix: GidPrefix,
    /// Cabled ports of channel adapters.
    pub hosts: usize,
    /// Cabled ports of routers.
    pub router_ports: usize,
    /// Its topology in numbers.
    pub fabric: Summary,
    /// Its partitions, the default one first; empty if it has no partitions file. The manager is assumed to run where
    /// the capture was made, else on the first host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<Membership>,
    /// Whether its capture holds the whole fabric; of a subnet of a list nothing is said.
    #[serde(flatten)]
    pub captured: Option<Completeness>,
}

/// One router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RouterSummary {
    /// Its GUID.
    pub guid: Guid,
    /// Its description.
    pub name: String,
    /// Its cabled ports, by subnet.
    pub ports: Vec<RouterPort>,
}

/// One port of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RouterPort {
    /// The name of its subnet.
    pub subnet: String,
    /// Its number.
    pub port: PortNum,
    /// Its GUID, if known.
    pub guid: Option<Guid>,
    /// Its base LID in that subnet, where assigned.
    pub lid: Option<Lid>,
    /// Its LMC there.
    pub lmc: Lmc,
    /// The port at the other end of its cable; none if the cable is gone.
    pub at: Option<String>,
}

impl SubnetsSummary {
    /// The summary of `subnets`.
    pub fn of(subnets: &Subnets) -> SubnetsSummary {
        let each = |(id, subnet): (SubnetId, &Subnet)| SubnetSummary {
            name: subnet.name.clone(),
            prefix: subnet.prefix,
            hosts: subnets.hosts(id).count(),
            router_ports: router_ports(subnets, id).count(),
            fabric: Summary::of(&subnet.fabric),
            partitions: subnets.partitions(id).map_or_else(Vec::new, |own| members(own, &subnet.fabric)),
            captured: None,
        };
        SubnetsSummary {
            schema: "reconfig.fabric-summary/1",
            subnets: subnets.subnets().map(each).collect(),
            routers: subnets.routers().iter().map(|router| router_summary(subnets, router)).collect(),
            unjoined: unjoined(subnets),
            parts: parts(subnets),
        }
    }

    /// This summary, with what is known about the capture of each subnet.
    pub fn captured(mut self, captured: Option<Completeness>) -> SubnetsSummary {
        self.subnets.iter_mut().for_each(|subnet| subnet.captured.clone_from(&captured));
        self
    }
}

fn members(partitions: &Partitions, fabric: &Fabric) -> Vec<Membership> {
    partitions.membership(fabric, usual_manager(fabric))
}

fn router_ports(subnets: &Subnets, subnet: SubnetId) -> impl Iterator<Item = SubnetPort> + '_ {
    let fabric = subnets.fabric(subnet);
    let ports = fabric.end_ports().filter(|&port| fabric.node(fabric.port(port).node).kind == NodeKind::Router);
    ports.map(move |port| SubnetPort { subnet, port })
}

fn router_summary(subnets: &Subnets, router: &Router) -> RouterSummary {
    let port = |at: &SubnetPort| {
        let fabric = subnets.fabric(at.subnet);
        let port = fabric.port(at.port);
        RouterPort {
            subnet: subnets.subnet(at.subnet).name.clone(),
            port: port.num,
            guid: port.guid,
            lid: port.lid,
            lmc: port.lmc,
            at: port.peer.map(|peer| fabric.describe_port(peer)),
        }
    };
    RouterSummary { guid: router.guid, name: router.name.clone(), ports: router.ports.iter().map(port).collect() }
}

fn unjoined(subnets: &Subnets) -> Vec<String> {
    let ports = subnets.subnets().flat_map(|(id, _)| router_ports(subnets, id));
    let alone = ports.filter(|&port| subnets.router_of(port).is_none());
    let names = alone.map(|at| {
        let fabric = subnets.fabric(at.subnet);
        let node = fabric.node(fabric.port(at.port).node);
        format!("{} ({})", subnets.describe_port(at), node.guid)
    });
    names.collect()
}

fn parts(subnets: &Subnets) -> usize {
    let mut sets = UnionFind::<usize>::new(subnets.len());
    for router in subnets.routers() {
        router.ports.windows(2).for_each(|pair| _ = sets.union(pair[0].subnet.index(), pair[1].subnet.index()));
    }
    sets.into_labeling().into_iter().collect::<BTreeSet<_>>().len()
}

impl fmt::Display for SubnetsSummary {
    /// One subnet in full; of several, the numbers in which they differ.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = &self.subnets[..] {
            return only.fabric.fmt(f);
        }
        let names = self.subnets.iter().map(|own| &own.name).chain(self.routers.iter().map(|own| &own.name));
        let width = names.map(|name| name.chars().count()).max().unwrap_or_default().max(NAMES);
        match self.parts {
            1 => writeln!(f, "{:<width$} {}, all joined", "subnets", self.subnets.len())?,
            parts => writeln!(f, "{:<width$} {} in {parts} separate parts", "subnets", self.subnets.len())?,
        }
        self.subnets.iter().try_for_each(|subnet| write!(f, "{subnet:width$}"))?;
        writeln!(f, "{:<width$} {}", "routers", self.routers.len())?;
        self.routers.iter().try_for_each(|router| write!(f, "{router:width$}"))?;
        self.unjoined.iter().try_for_each(|port| writeln!(f, "joins nothing: {port}"))
    }
}

/// The least width of the column of names.
const NAMES: usize = 12;

impl fmt::Display for SubnetSummary {
    /// The name in as many columns as asked for, and the numbers beside it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = f.width().unwrap_or(NAMES);
        let Summary { switches, switch_links, diameter, lids, .. } = &self.fabric;
        writeln!(f, "{:<width$} prefix {}", self.name, self.prefix)?;
        let (hosts, ports) = (self.hosts, self.router_ports);
        writeln!(f, "{:width$} {switches} switches, {hosts} ports of hosts, {ports} ports of routers", "")?;
        write!(f, "{:width$} {switch_links} links between switches, diameter {diameter}, ", "")?;
        match lids {
            Some((low, high)) => writeln!(f, "LIDs {low} to {high}")?,
            None => writeln!(f, "no LIDs")?,
        }
        self.partitions.iter().try_for_each(|own| writeln!(f, "{:width$} partition {own}", ""))
    }
}

impl fmt::Display for RouterSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = f.width().unwrap_or(NAMES);
        writeln!(f, "{:<width$} {}", self.name, self.guid)?;
        self.ports.iter().try_for_each(|port| {
            let at = port.at.as_deref().unwrap_or("no cable");
            write!(f, "{:width$} port {} in {} at {at}, ", "", port.port, port.subnet)?;
            match port.lid {
                Some(lid) => writeln!(f, "LID {lid}, LMC {}", port.lmc),
                None => writeln!(f, "no LID"),
            }
        })
    }
}
