//! Fabrics of files that name nodes and ports, and have neither GUIDs nor LIDs: ibdm's topologies and UFM's lists.
//!
//! Nodes get GUIDs in the order of the file, from the numbers that ibsim begins with, so another file of the fabric may
//! give a node another one ([`Reading::numbered`](super::Reading::numbered)): names are what both have in common.

use super::assemble::{ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote, most_ports};
use super::diagnostic::{SourceText, Span, Spanned};
use super::ledger::FaultLedger;
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind};
use crate::ids::{Guid, Lmc};
use std::borrow::Cow;

/// Nodes and cables in the order in which they are named.
pub(super) struct NamedFabric<'a> {
    account: ParsedFabric<'a>,
    /// The next GUIDs of switches and of CAs.
    next: [u64; 2],
    /// Ports, cables and what [`NamedFabric::spend`] counts.
    size: usize,
    most: usize,
    /// The node or cable with which there were too many.
    beyond: Option<Span>,
}

/// So many bytes of a name count as one port.
const NAME: usize = 32;

/// A node's index and a port's number, and where they are named.
#[derive(Clone, Copy)]
pub(super) struct NamedEnd {
    pub at: Span,
    pub node: usize,
    pub num: u8,
}

/// What a file states of a link's rate.
pub(super) type Rate = (Option<LinkWidth>, Option<LinkSpeed>);

impl<'a> NamedFabric<'a> {
    /// An empty one, for what a file of this size can be about.
    pub fn new(source: SourceText<'_>) -> NamedFabric<'a> {
        NamedFabric {
            account: ParsedFabric::default(),
            next: [0x20_0000, 0x10_0000],
            size: 0,
            most: most_ports(source),
            beyond: None,
        }
    }

    /// The rate of a link of which neither end states one; else it is 4xQDR.
    pub fn rate_untold(&mut self, width: LinkWidth, speed: LinkSpeed) {
        self.account.untold_rate = (width, speed);
    }

    /// Counts what takes memory or time as so many ports do.
    pub fn spend(&mut self, at: Span, ports: usize) {
        self.size = self.size.saturating_add(ports);
        if self.size > self.most {
            self.beyond = self.beyond.or(Some(at));
        }
    }

    /// Whether the file describes more than it can be about, so that the rest of it is not to be read.
    pub fn is_full(&self) -> bool {
        self.beyond.is_some()
    }

    /// Adds a node of a system; without one it is a system of its own.
    pub fn add(
        &mut self,
        at: Span,
        kind: NodeKind,
        num_ports: u8,
        name: impl Into<Cow<'a, str>>,
        system: Option<usize>,
    ) -> usize {
        let name = name.into();
        self.spend(at, 1 + usize::from(num_ports) + name.len() / NAME);
        let next = &mut self.next[usize::from(kind != NodeKind::Switch)];
        let guid = Guid(*next);
        *next += if kind == NodeKind::Switch { 1 } else { 1 + u64::from(num_ports) };
        let system = system.map_or(guid, |first| self.account.nodes[first].guid);
        let zero = match kind {
            NodeKind::Switch => end(at, guid),
            _ => ParsedEnd::default(),
        };
        self.account.nodes.push(ParsedNode {
            system_guid: Some(system),
            zero,
            ..ParsedNode::bare(at, kind, guid, Some(num_ports), name)
        });
        self.account.nodes.len() - 1
    }

    /// Gives a switch at least so many ports.
    pub fn widen(&mut self, index: usize, num: u8) {
        let ports = &mut self.account.nodes[index].num_ports;
        *ports = ports.map(|ports| ports.max(num));
    }

    /// Adds a cable, as one of its ends states it.
    pub fn link(&mut self, own: NamedEnd, remote: NamedEnd, (width, speed): Rate) {
        self.spend(own.at, 1);
        self.account.ports.push(ParsedPort {
            at: own.at,
            node: own.node,
            num: own.num,
            own: self.end(own),
            width,
            speed,
            data_vls: None,
            remote: ParsedRemote { at: remote.at, node: remote.node, num: remote.num, end: self.end(remote) },
        });
    }

    fn end(&self, port: NamedEnd) -> ParsedEnd {
        let node = &self.account.nodes[port.node];
        match node.kind {
            NodeKind::Switch => ParsedEnd::default(),
            _ => end(port.at, Guid(node.guid.0 + u64::from(port.num))),
        }
    }

    /// The whole; nothing of it where it is more than a file of its size can be about, which is a fault.
    pub fn finish(self, ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
        ledger.numbered = true;
        let Some(at) = self.beyond else { return self.account };
        let problem = format!("the nodes up to here have more than {} ports, cables and parts", self.most);
        let label = "expected one subnet, whose nodes have lines for many of their ports";
        ledger.fault(ledger.source.error(at, problem, label));
        ParsedFabric::default()
    }
}

fn end(at: Span, guid: Guid) -> ParsedEnd {
    ParsedEnd { guid: Some(Spanned { value: guid, at }), lid: None, lmc: Lmc::default() }
}
