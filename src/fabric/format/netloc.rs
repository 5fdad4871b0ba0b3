//! The `…-nodes.ndat` of netloc, which was a part of hwloc until version 2: JSON, with a list of nodes and one of
//! cables.
//!
//! ```text
//! {"network_info":{…},
//!  "node_info":{"0002:c903:00a1:b2c1":{"node_type":2,"log_id":"12","phy_id":"0002:c903:00a1:b2c1","desc":"'host-1 HCA-1'",…},…},
//!  "edge_info":{"1":{"src_node_id":"0002:c903:00a1:b2c1","src_port_id":"1","dest_node_id":"…","dest_port_id":"11","speed":"QDR","width":"4x",…},…}}
//! ```
//!
//! netloc makes it of `ibnetdiscover -p`, so it lacks what that lacks, and more: nodes are named by PortGUIDs, of which
//! a CA's stands for its NodeGUID; a CA of two ports is two nodes; a node has as many ports as the highest with a
//! cable; every LMC is 0. Each cable is listed at both of its ends. The whole file is one line, so faults name the node
//! or the cable.

use super::assemble::{
    EXPECTED_LID, ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote, RATE_UNTOLD, stated_lid,
};
use super::diagnostic::{ReadError, Span, Spanned};
use super::ledger::FaultLedger;
use crate::fabric::NodeKind;
use crate::ids::{Guid, Lmc};
use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Whether a text that begins with a brace is one of netloc's files.
pub(super) fn is_netloc(text: &str) -> bool {
    let mut end = text.len().min(4096);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    ["\"network_info\"", "\"node_info\"", "\"path_info\""].iter().any(|field| text[..end].contains(field))
}

#[derive(serde::Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    node_info: Option<Entries<'a, Node<'a>>>,
    #[serde(borrow)]
    edge_info: Option<Entries<'a, Edge<'a>>>,
}

/// The entries of an object, by name; those of one name in the order of the file.
struct Entries<'a, T>(Vec<(Cow<'a, str>, T)>);

impl<'a, 'de: 'a, T: Deserialize<'de>> Deserialize<'de> for Entries<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<'a, T>, D::Error> {
        struct All<'a, T>(PhantomData<(&'a (), T)>);

        impl<'a, 'de: 'a, T: Deserialize<'de>> Visitor<'de> for All<'a, T> {
            type Value = Entries<'a, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'a, T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                entries.sort_by(|(one, _): &(Cow<'a, str>, T), (other, _)| one.cmp(other));
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(All(PhantomData))
    }
}

impl<T> Entries<'_, T> {
    /// Leaves out what has the name of another entry, which is a fault.
    fn distinct(&mut self, ledger: &mut FaultLedger<'_>, what: &str) {
        self.0.dedup_by(|(name, _), (first, _)| {
            let repeated = name == first;
            if repeated {
                ledger.fault(fault(ledger, format!("{what} {name} is listed twice")));
            }
            repeated
        });
    }
}

#[derive(serde::Deserialize)]
struct Node<'a> {
    node_type: u8,
    #[serde(borrow)]
    log_id: Cow<'a, str>,
    #[serde(borrow)]
    desc: Cow<'a, str>,
}

#[derive(serde::Deserialize)]
struct Edge<'a> {
    #[serde(borrow)]
    src_node_id: Cow<'a, str>,
    #[serde(borrow)]
    src_port_id: Cow<'a, str>,
    #[serde(borrow)]
    dest_node_id: Cow<'a, str>,
    #[serde(borrow)]
    dest_port_id: Cow<'a, str>,
    #[serde(borrow)]
    speed: Cow<'a, str>,
    #[serde(borrow)]
    width: Cow<'a, str>,
}

/// Where every fault is reported: the file is one line.
const START: Span = Span { start: 0, end: 0 };

/// Reads a file of netloc.
pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let source = ledger.source;
    let file: File<'_> = match serde_json::from_str(source.text.trim_start_matches('\u{feff}')) {
        Ok(file) => file,
        Err(error) => {
            let problem = format!("not the JSON that netloc writes: {error}");
            ledger.fault(source.error(START, problem, "expected a whole …-nodes.ndat"));
            return ParsedFabric::default();
        }
    };
    let (Some(mut nodes), Some(mut edges)) = (file.node_info, file.edge_info) else {
        let mend = "expected node_info and edge_info: read the …-nodes.ndat that netloc writes beside it";
        ledger.fault(source.error(START, "the file holds no nodes and cables", mend));
        return ParsedFabric::default();
    };
    nodes.distinct(ledger, "node");
    edges.distinct(ledger, "cable");
    let mut account = ParsedFabric { both_ends: true, ..ParsedFabric::default() };
    let mut by_id = FxHashMap::default();
    for (id, node) in nodes.0 {
        match parsed_node(ledger, &id, node) {
            Ok(node) => {
                by_id.insert(id, account.nodes.len());
                account.nodes.push(node);
            }
            Err(problem) => ledger.fault(fault(ledger, format!("node {id}: {problem}"))),
        }
    }
    for (id, edge) in &edges.0 {
        if ledger.is_full() {
            break;
        }
        match parsed_port(&mut account.nodes, &by_id, edge) {
            Ok(port) => {
                if port.width.is_none() || port.speed.is_none() {
                    let detail = format!(" (cable {id}: speed `{}`, width `{}`)", edge.speed, edge.width);
                    ledger.assume(START, RATE_UNTOLD, &detail);
                }
                account.ports.push(port);
            }
            Err(problem) => ledger.fault(fault(ledger, format!("cable {id}: {problem}"))),
        }
    }
    // A CA's GUID and LID are those of its port, which has them by now.
    let mut cas = account.nodes.iter_mut().filter(|node| node.kind != NodeKind::Switch).peekable();
    let has_cas = cas.peek().is_some();
    cas.for_each(|node| node.zero = ParsedEnd::default());
    if has_cas {
        let text = "netloc keeps PortGUIDs only: each port of a CA is a node of its own, and every LMC is 0";
        ledger.assume(START, text, "");
    }
    account
}

fn fault(ledger: &FaultLedger<'_>, problem: String) -> ReadError {
    ledger.source.counted(problem, "expected what netloc writes; `ibnetdiscover > FILE` captures the same and more")
}

fn parsed_node<'a>(ledger: &mut FaultLedger<'_>, id: &str, node: Node<'a>) -> Result<ParsedNode<'a>, String> {
    let value = guid(id).ok_or("its name is no GUID (four groups of four hexadecimal digits)")?;
    let kind = match node.node_type {
        1 => NodeKind::Switch,
        2 => NodeKind::Ca,
        other => return Err(format!("node_type {other}, expected 1 (switch) or 2 (host)")),
    };
    // A LID at fault leaves the node as it is.
    let lid = node.log_id.parse().map_err(|_| format!("log_id `{}` is no LID", node.log_id));
    let lid = lid.and_then(|value| stated_lid(ledger, Spanned { value, at: START }));
    let lid = lid.unwrap_or_else(|problem| {
        ledger.fault(fault(ledger, format!("node {id}: {problem}, {EXPECTED_LID}")));
        None
    });
    let zero = ParsedEnd { guid: Some(Spanned { value, at: START }), lid, lmc: Lmc::default() };
    Ok(ParsedNode { zero, ..ParsedNode::bare(START, kind, value, Some(0), unquoted(node.desc)) })
}

/// netloc keeps the quotes of `ibnetdiscover -p`.
fn unquoted(text: Cow<'_, str>) -> Cow<'_, str> {
    let inner = |text: &str| text.len() > 1 && text.starts_with('\'') && text.ends_with('\'');
    match text {
        Cow::Borrowed(text) if inner(text) => Cow::Borrowed(&text[1..text.len() - 1]),
        Cow::Owned(text) if inner(&text) => Cow::Owned(text[1..text.len() - 1].to_string()),
        text => text,
    }
}

fn parsed_port(
    nodes: &mut [ParsedNode<'_>],
    by_id: &FxHashMap<Cow<'_, str>, usize>,
    edge: &Edge<'_>,
) -> Result<ParsedPort, String> {
    let mut end = |id: &str, port: &str| {
        let node = by_id.get(id).copied().ok_or_else(|| format!("no node {id}"))?;
        let num: u8 = port
            .parse()
            .ok()
            .filter(|num| (1..=254).contains(num))
            .ok_or_else(|| format!("port `{port}` of {id}, expected one from 1 to 254"))?;
        let stated = &mut nodes[node];
        stated.num_ports = stated.num_ports.map(|ports| ports.max(num));
        let end = if stated.kind == NodeKind::Switch { ParsedEnd::default() } else { stated.zero };
        Ok::<_, String>((node, num, end))
    };
    let (node, num, own) = end(&edge.src_node_id, &edge.src_port_id)?;
    let (neighbour, far, remote) = end(&edge.dest_node_id, &edge.dest_port_id)?;
    Ok(ParsedPort {
        at: START,
        node,
        num,
        own,
        width: edge.width.parse().ok(),
        speed: edge.speed.parse().ok(),
        data_vls: None,
        remote: ParsedRemote { at: START, node: neighbour, num: far, end: remote },
    })
}

/// `0002:c903:00a1:b2c1`
fn guid(text: &str) -> Option<Guid> {
    let groups: Option<Vec<u64>> = text.split(':').map(|group| u64::from_str_radix(group, 16).ok()).collect();
    match groups?[..] {
        [a, b, c, d] if [a, b, c, d].iter().all(|&group| group <= 0xffff) => {
            let value = a << 48 | b << 32 | c << 16 | d;
            (value != 0).then_some(Guid(value))
        }
        _ => None,
    }
}
