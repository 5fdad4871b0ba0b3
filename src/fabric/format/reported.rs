//! Reports of links by port: what `ibnetdiscover -p` and `iblinkinfo` have in common.
//!
//! Such a report names ports by PortGUID, LID and number; a switch's ports share both. It has no NodeGUIDs of CAs, no
//! LMCs, no vendors and no system GUIDs. A CA's ports are one node if they bear one description and their GUIDs are
//! fewer than [`SPREAD`] apart, as vendors assign them; the lowest PortGUID stands for the NodeGUID. A node has as many
//! ports as the highest one listed.

use super::assemble::{ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote};
use super::diagnostic::{ReadError, Span, Spanned};
use super::ledger::FaultLedger;
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind};
use crate::ids::{Guid, Lid, Lmc};
use rustc_hash::FxHashMap;

/// PortGUIDs of one adapter are nearer to each other than this.
const SPREAD: u64 = 16;

/// A port as a report names it.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a> {
    pub at: Span,
    /// `None` where the report does not say.
    pub kind: Option<NodeKind>,
    /// `None` where the report gives the LID only.
    pub guid: Option<Guid>,
    pub lid: Option<Lid>,
    pub num: u8,
    pub name: &'a str,
}

/// A line of a report.
pub(super) struct ReportedPort<'a> {
    pub own: Listed<'a>,
    pub link: Option<ReportedLink<'a>>,
}

/// The other end of a line's link.
pub(super) struct ReportedLink<'a> {
    pub remote: Listed<'a>,
    pub width: Option<LinkWidth>,
    pub speed: Option<LinkSpeed>,
}

/// The fabric that the lines of a report describe; each of them names its own port's GUID.
pub(super) fn account<'a>(reports: &[ReportedPort<'a>], ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let mut nodes = Nodes::default();
    nodes.find_switches(reports);
    for report in reports {
        nodes.add_own(&report.own);
    }
    if let Some(ca) = nodes.list.iter().find(|node| node.kind != NodeKind::Switch) {
        let text = "the report has PortGUIDs only: a CA's lowest one stands for its NodeGUID, and every LMC for 0";
        ledger.assume(ca.at, text, "");
    }
    let mut ports = Vec::with_capacity(reports.len());
    for report in reports {
        let Some(link) = report.link.as_ref().filter(|_| !ledger.is_full()) else { continue };
        match nodes.port(report, link, ledger) {
            Ok(port) => ports.push(port),
            Err(fault) => ledger.fault(fault),
        }
    }
    ParsedFabric { nodes: nodes.list, ports, both_ends: true, ..ParsedFabric::default() }
}

#[derive(Default)]
struct Nodes<'a> {
    list: Vec<ParsedNode<'a>>,
    /// By the GUID of a port; that of a switch has one for all.
    by_port: FxHashMap<Guid, usize>,
    /// By description, CAs only: the last node that bears it.
    by_name: FxHashMap<&'a str, usize>,
    /// By LID: the node; `None` if several ports have it.
    by_lid: FxHashMap<Lid, Option<usize>>,
    /// PortGUIDs that several ports share.
    switches: FxHashMap<Guid, bool>,
}

impl<'a> Nodes<'a> {
    /// A GUID that ports of several numbers bear is a switch's.
    fn find_switches(&mut self, reports: &[ReportedPort<'a>]) {
        let mut first: FxHashMap<Guid, u8> = FxHashMap::default();
        for own in reports.iter().map(|report| &report.own) {
            let Some(guid) = own.guid else { continue };
            if *first.entry(guid).or_insert(own.num) != own.num {
                self.switches.insert(guid, true);
            }
        }
    }

    fn kind(&self, port: &Listed<'a>) -> NodeKind {
        let shared = port.guid.is_some_and(|guid| self.switches.contains_key(&guid));
        port.kind.unwrap_or(if shared { NodeKind::Switch } else { NodeKind::Ca })
    }

    /// Adds a port that has a line of its own, and its node.
    fn add_own(&mut self, own: &Listed<'a>) {
        let Some(guid) = own.guid else { return };
        let kind = self.kind(own);
        let sibling = self.by_name.get(own.name).copied().filter(|&index| {
            kind == NodeKind::Ca && !own.name.is_empty() && self.list[index].guid.0.abs_diff(guid.0) < SPREAD
        });
        let index = match self.by_port.get(&guid).copied().or(sibling) {
            Some(index) => index,
            None => self.push(own, guid, kind, Some(0)),
        };
        self.by_port.insert(guid, index);
        let node = &mut self.list[index];
        node.guid = node.guid.min(guid);
        node.num_ports = node.num_ports.map(|ports| ports.max(own.num));
        if let Some(lid) = own.lid {
            let owner = self.by_lid.entry(lid).or_insert(Some(index));
            *owner = owner.filter(|&known| known == index);
        }
    }

    fn push(&mut self, port: &Listed<'a>, guid: Guid, kind: NodeKind, num_ports: Option<u8>) -> usize {
        let index = self.list.len();
        let end = end(port, guid);
        self.list.push(ParsedNode {
            zero: if kind == NodeKind::Switch { end } else { ParsedEnd::default() },
            ..ParsedNode::bare(port.at, kind, guid, num_ports, port.name)
        });
        self.by_port.insert(guid, index);
        if kind == NodeKind::Ca {
            self.by_name.insert(port.name, index);
        }
        index
    }

    fn port(
        &mut self,
        report: &ReportedPort<'a>,
        link: &ReportedLink<'a>,
        ledger: &mut FaultLedger<'a>,
    ) -> Result<ParsedPort, ReadError> {
        let (own, remote) = (&report.own, &link.remote);
        let node = own.guid.and_then(|guid| self.by_port.get(&guid)).copied();
        let node = node.ok_or_else(|| ledger.source.error(own.at, "a port without a GUID", "expected its GUID"))?;
        let neighbour = self.neighbour(remote, ledger)?;
        if link.width.is_none() || link.speed.is_none() {
            ledger.assume(
                own.at,
                "the tool did not know the link's rate: what it left open is that of the other end, else of 4xQDR",
                "",
            );
        }
        let end_of = |port: &Listed<'_>, node: &ParsedNode<'_>| match (node.kind, port.guid) {
            (NodeKind::Switch, _) | (_, None) => ParsedEnd::default(),
            (_, Some(guid)) => end(port, guid),
        };
        Ok(ParsedPort {
            at: own.at,
            node,
            num: own.num,
            own: end_of(own, &self.list[node]),
            width: link.width,
            speed: link.speed,
            data_vls: None,
            remote: ParsedRemote {
                at: remote.at,
                node: neighbour,
                num: remote.num,
                end: end_of(remote, &self.list[neighbour]),
            },
        })
    }

    /// The node of a neighbour: by its port's GUID, else by its LID, else by its description. A mention creates it.
    fn neighbour(&mut self, remote: &Listed<'a>, ledger: &FaultLedger<'a>) -> Result<usize, ReadError> {
        if let Some(guid) = remote.guid {
            let known = self.by_port.get(&guid).copied();
            return Ok(known.unwrap_or_else(|| self.push(remote, guid, self.kind(remote), None)));
        }
        let by_lid = remote.lid.and_then(|lid| self.by_lid.get(&lid)).copied().flatten();
        let named = |index: &usize| remote.lid.is_none() && self.list[*index].description == remote.name;
        let by_name = || {
            let mut bearers = (0..self.list.len()).filter(named);
            bearers.next().filter(|_| bearers.next().is_none())
        };
        by_lid.or_else(by_name).ok_or_else(|| {
            let problem =
                format!("no single node of the file has the LID or the name of the neighbour `{}`", remote.name);
            let label = "expected a neighbour with lines of its own; `iblinkinfo -l` gives GUIDs for both ends";
            ledger.source.error(remote.at, problem, label)
        })
    }
}

fn end(port: &Listed<'_>, guid: Guid) -> ParsedEnd {
    let lid = port.lid.map(|value| Spanned { value, at: port.at });
    ParsedEnd { guid: Some(Spanned { value: guid, at: port.at }), lid, lmc: Lmc::default() }
}
