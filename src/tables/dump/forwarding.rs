//! The common result of both formats: one forwarding table for each switch that the file mentions.

use super::{node, unknown};
use crate::fabric::format::{ReadError, SourceText, Span, Spanned};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Guid, Lid, PortNum};
use crate::tables::Lft;
use std::sync::Arc;

/// The forwarding tables of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lfts {
    /// By node; empty if the file has none.
    pub tables: Vec<Arc<Lft>>,
    /// Switches of the fabric that the file does not mention, in index order.
    pub missing: Vec<NodeId>,
}

impl Lfts {
    /// The number of switches without a table, and the first ten of them; none if all have one.
    pub fn describe_missing(&self, fabric: &Fabric) -> Option<String> {
        const NAMED: usize = 10;
        let names: Vec<String> = self.missing.iter().take(NAMED).map(|&node| fabric.describe_node(node)).collect();
        let (count, all) = (self.missing.len(), fabric.switches().count());
        let more = if count > NAMED { ", …" } else { "" };
        (count > 0).then(|| format!("{count} of {all} switches have no forwarding table: {}{more}", names.join(", ")))
    }

    /// Adds the tables of another file for the same fabric.
    ///
    /// # Errors
    /// The first switch that both files have.
    pub fn join(&mut self, other: &Lfts, fabric: &Fabric) -> Result<(), NodeId> {
        let lacks = |lfts: &Lfts, node: NodeId| lfts.missing.binary_search(&node).is_ok();
        if let Some(twice) = fabric.switches().find(|&node| !lacks(self, node) && !lacks(other, node)) {
            return Err(twice);
        }
        for node in fabric.switches().filter(|&node| !lacks(other, node)) {
            self.tables[node.index()] = Arc::clone(&other.tables[node.index()]);
        }
        self.missing.retain(|&node| lacks(other, node));
        Ok(())
    }
}

/// One entry, with the place of each part.
#[derive(Clone, Copy, Debug)]
pub(super) struct DumpEntry {
    pub lid: Spanned<Lid>,
    /// None if packets are discarded.
    pub port: Option<Spanned<u8>>,
}

impl DumpEntry {
    /// The entry of a line in the common shape: `0x` and four digits of the LID, then, from `column` on, three digits
    /// of the port.
    pub fn in_columns(start: usize, lid: u16, port: u8, column: usize) -> DumpEntry {
        let (lid_at, port_at) = (start, start + column);
        DumpEntry {
            lid: Spanned { value: Lid(lid), at: Span { start: lid_at, end: lid_at + 6 } },
            port: Some(Spanned { value: port, at: Span { start: port_at, end: port_at + 3 } }),
        }
    }
}

/// Collects entries, switch by switch.
pub(super) struct LftCollector<'a> {
    fabric: &'a Fabric,
    source: SourceText<'a>,
    /// By node: the table, and the place of the GUID at its head.
    begun: Vec<Option<(Lft, Span)>>,
    current: Option<Current>,
    /// By LID: the position of its last entry, plus one. A position before the current block belongs to another switch.
    places: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Current {
    node: NodeId,
    num_ports: u8,
    /// The position at which its block begins.
    from: usize,
    /// Lines of entries so far.
    rows: usize,
    /// The position of its GUID, if the block must end with the number of its entries and has not yet.
    uncounted: Option<Span>,
}

impl<'a> LftCollector<'a> {
    pub fn new(fabric: &'a Fabric, source: SourceText<'a>) -> LftCollector<'a> {
        LftCollector { fabric, source, begun: vec![None; fabric.node_count()], current: None, places: Vec::new() }
    }

    /// Begins the block of a switch.
    pub fn begin(&mut self, guid: Spanned<Guid>) -> Result<(), ReadError> {
        self.check_counted()?;
        let id = node(self.fabric, guid.value).ok_or_else(|| unknown(self.source, guid))?;
        let known = self.fabric.node(id);
        if !known.is_switch() {
            let problem = format!("{} is a {}, not a switch", guid.value, known.kind);
            return Err(self.source.error(guid.at, problem, "expected the GUID of a switch"));
        }
        if let Some((_, first)) = &self.begun[id.index()] {
            let problem = format!("the table of switch {} is given twice", guid.value);
            return Err(self.source.clash(guid.at, problem, "expected each switch once", (*first, "given here")));
        }
        self.begun[id.index()] = Some((Lft::new(), guid.at));
        self.current =
            Some(Current { node: id, num_ports: known.num_ports, from: guid.at.start, rows: 0, uncounted: None });
        Ok(())
    }

    /// The current block ends with the number of its entries, or it was cut.
    pub fn is_counted(&mut self) {
        if let Some(current) = &mut self.current {
            current.uncounted = self.begun[current.node.index()].as_ref().map(|(_, at)| *at);
        }
    }

    /// Verifies that the current block has as many entries as its end states; the error is the number that it has.
    pub fn counted(&mut self, count: usize) -> Result<(), usize> {
        let Some(current) = &mut self.current else { return Ok(()) };
        current.uncounted = None;
        if current.rows == count { Ok(()) } else { Err(current.rows) }
    }

    fn check_counted(&self) -> Result<(), ReadError> {
        let Some((current, at)) = self.current.and_then(|current| Some((current, current.uncounted?))) else {
            return Ok(());
        };
        let problem = format!("the table of switch {:?} was cut", self.fabric.describe_node(current.node));
        Err(self.source.error(at, problem, "expected `N valid lids dumped` at the end of its entries"))
    }

    /// Adds an entry to the current block.
    pub fn entry(&mut self, entry: DumpEntry) -> Result<(), ReadError> {
        let DumpEntry { lid, port } = entry;
        let Some(current) = &mut self.current else {
            let problem = "a forwarding entry before any switch";
            return Err(self.source.error(lid.at, problem, "expected the line that names the switch first"));
        };
        current.rows += 1;
        let current = *current;
        // No packet has DLID 0, so its entry is meaningless.
        if lid.value == Lid(0) {
            return Ok(());
        }
        if self.places.len() <= lid.value.index() {
            self.places.resize(lid.value.index() + 1, 0);
        }
        let before = std::mem::replace(&mut self.places[lid.value.index()], lid.at.start + 1);
        if before > current.from {
            let first = Span { start: before - 1, end: before - 1 + (lid.at.end - lid.at.start) };
            let problem = format!("the entry for LID {} is given twice", lid.value);
            return Err(self.source.clash(lid.at, problem, "expected each LID once", (first, "given here")));
        }
        let Some(port) = port.filter(|port| port.value != PortNum::NO_ROUTE.0) else { return Ok(()) };
        if port.value > current.num_ports {
            let name = self.fabric.describe_node(current.node);
            let label = format!("expected a port from 0 to {} (255 for no route)", current.num_ports);
            return Err(self.source.error(port.at, format!("switch {name:?} has no port {}", port.value), label));
        }
        if let Some((table, _)) = &mut self.begun[current.node.index()] {
            table.set(lid.value, PortNum(port.value));
        }
        Ok(())
    }

    /// All tables, once the file has ended.
    pub fn finish(self) -> Result<Lfts, ReadError> {
        self.check_counted()?;
        if self.begun.iter().all(Option::is_none) {
            let end = Span { start: self.source.text.len(), end: self.source.text.len() };
            return Err(self.source.error(end, "the file ends without a forwarding table", "expected a switch"));
        }
        let missing = self.fabric.switches().filter(|id| self.begun[id.index()].is_none()).collect();
        let tables = self.begun.into_iter().map(|begun| begun.map_or_else(Arc::default, |(table, _)| Arc::new(table)));
        Ok(Lfts { tables: tables.collect(), missing })
    }
}
