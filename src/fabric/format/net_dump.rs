//! ibdiagnet2's `ibdiagnet2.net_dump`: a block for each switch, with a row for each of its ports.
//!
//! ```text
//! "leaf-1", Mellanox, 0x0002c90300a1b2c0, LID 5
//! #   : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : Neighbor Guid : N# : NLID : Neighbor Description
//! 1/1 : 1   : ACT : LINK UP : 5   : 4x  : 50  : … : NO-RTR : 0x0002c90300f1e2d1 : 1 : 12 : "host-1 mlx5_0"
//! ```
//!
//! `#` is what is printed beside the socket, `IB#` the port's number; columns are found by their names. `N#` may be
//! either, so it is looked up in the neighbour's block first. CAs have no blocks: a neighbour without one, whose ports
//! are the first [`MOST_CA_PORTS`], is a CA, unless rows name several of its ports with one LID. Any other neighbour
//! without a block is a switch that is missing. A port that its neighbour names must have a row in its own block. What
//! a file that was cut does not show: the last rows of the last block, where they lead to CAs or to switches that are
//! lost too; and a lost switch of which only one row is left, for one of its first ports, which looks like a CA. The
//! file has neither LMCs, vendors nor system GUIDs, and a CA's GUID may be that of its port. No vendor documents the
//! format: this is what public programs read of ibdiagnet 2.1 and later.

use super::assemble::{
    EXPECTED_LID, ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote, RATE_UNTOLD, stated_lid,
};
use super::diagnostic::{ReadError, SourceLine, SourceText, Span, Spanned};
use super::ledger::FaultLedger;
use super::subnet_lst::speed;
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind};
use crate::ids::{Guid, Lid, Lmc};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// No adapter has more ports than this.
const MOST_CA_PORTS: u8 = 4;
/// What a line may be, as errors say it.
const A_ROW: &str = "a switch's line (`\"NAME\", VENDOR, 0xGUID, LID N`), a line of column names, or a port's row";

/// Whether a line begins a block.
pub(super) fn is_header(line: &str) -> bool {
    header(line).is_some()
}

/// What begins a block.
struct Header<'a> {
    name: &'a str,
    guid: Guid,
    lid: &'a str,
}

/// `"NAME", VENDOR, 0xGUID, LID N`.
fn header(line: &str) -> Option<Header<'_>> {
    let (name, rest) = line.trim_end().strip_prefix('"')?.rsplit_once('"')?;
    let mut words = rest.strip_prefix(',')?.rsplitn(3, ',').map(str::trim);
    let lid = words.next()?.strip_prefix("LID ")?.trim();
    let guid = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok().filter(|&guid| guid != 0)?;
    let is_number = !lid.is_empty() && lid.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(Header { name, guid: Guid(guid), lid })
}

pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let mut reader = Reader::default();
    for line in ledger.source.lines() {
        if ledger.is_full() {
            break;
        }
        let text = line.text.trim();
        if text.is_empty() || text.starts_with("--") {
            continue;
        }
        if text.starts_with('"') {
            if let Err(fault) = reader.begin(ledger, line) {
                ledger.fault(fault);
            }
        } else if text.starts_with('#') {
            if text.contains(':') {
                let names = text.split(':').map(|name| name.trim().to_ascii_lowercase());
                reader.columns = names.zip(0..).collect();
            }
        } else if let Err(fault) = reader.row(ledger, line) {
            ledger.fault(fault);
        }
    }
    reader.account(ledger)
}

/// The block to which rows belong.
#[derive(Clone, Copy, Default)]
enum Block {
    /// No line begins one yet.
    #[default]
    None,
    /// The line that begins it is at fault, so its rows are passed over.
    Unreadable,
    /// That of a node.
    Of(usize),
}

#[derive(Default)]
struct Reader<'a> {
    block: Block,
    columns: FxHashMap<String, usize>,
    nodes: Vec<ParsedNode<'a>>,
    by_guid: FxHashMap<Guid, usize>,
    /// By node and what is printed beside a port: the port's number.
    labels: FxHashMap<(usize, &'a str), u8>,
    /// Where ports are listed as down.
    down: FxHashMap<(usize, u8), Span>,
    rows: Vec<Row<'a>>,
}

/// The values of a port's row, by the names of their columns.
struct RowValues<'c, 'a> {
    columns: &'c FxHashMap<String, usize>,
    line: SourceLine<'a>,
    values: Vec<&'a str>,
}

impl<'c, 'a> RowValues<'c, 'a> {
    fn new(columns: &'c FxHashMap<String, usize>, line: SourceLine<'a>) -> RowValues<'c, 'a> {
        // The description is last, and may hold colons.
        RowValues { columns, line, values: line.text.splitn(columns.len().max(2), ':').collect() }
    }

    fn get(&self, source: SourceText<'a>, column: &str) -> Result<Spanned<&'a str>, ReadError> {
        let value = self.columns.get(column).and_then(|&at| self.values.get(at)).map(|value| value.trim());
        let value = value.ok_or_else(|| {
            let problem = format!("no value in a column `{column}`");
            let expected = format!("expected {A_ROW}, as ibdiagnet 2.1 and later write them");
            source.error(self.line.span(), problem, expected)
        })?;
        Ok(self.line.part(value))
    }
}

/// A port with a neighbour.
struct Row<'a> {
    at: Span,
    node: usize,
    num: u8,
    width: Option<LinkWidth>,
    speed: Option<LinkSpeed>,
    guid: Spanned<Guid>,
    label: Spanned<&'a str>,
    lid: Option<Spanned<Lid>>,
    name: &'a str,
}

impl<'a> Reader<'a> {
    fn begin(&mut self, ledger: &mut FaultLedger<'a>, line: SourceLine<'a>) -> Result<(), ReadError> {
        let at = line.span();
        self.block = Block::Unreadable;
        let Some(Header { name, guid, lid }) = header(line.text) else {
            let expected = "expected `\"NAME\", VENDOR, 0xGUID, LID N`; the rows below are passed over";
            return Err(ledger.source.error(at, "a switch's line that cannot be read", expected));
        };
        // A LID at fault leaves the block as it is.
        let lid = self.lid(ledger, Spanned { value: lid, at });
        let (lid, fault) = lid.map_or_else(|fault| (None, Err(fault)), |lid| (lid, Ok(())));
        let zero = ParsedEnd { guid: Some(Spanned { value: guid, at }), lid, lmc: Lmc::default() };
        self.block = Block::Of(self.nodes.len());
        self.by_guid.insert(guid, self.nodes.len());
        self.nodes.push(ParsedNode { zero, ..ParsedNode::bare(at, NodeKind::Switch, guid, Some(0), name) });
        fault
    }

    /// A LID; none for `N/A`.
    fn lid(&self, ledger: &mut FaultLedger<'a>, text: Spanned<&'a str>) -> Result<Option<Spanned<Lid>>, ReadError> {
        let Spanned { value, at } = text;
        if value.eq_ignore_ascii_case("N/A") {
            return Ok(None);
        }
        let number = value.parse().map_err(|_| format!("unexpected `{value}`"));
        let lid = number.and_then(|value| stated_lid(ledger, Spanned { value, at }));
        lid.map_err(|problem| ledger.source.error(at, problem, EXPECTED_LID))
    }

    fn row(&mut self, ledger: &mut FaultLedger<'a>, line: SourceLine<'a>) -> Result<(), ReadError> {
        let source = ledger.source;
        // It may have been the line that begins a block, so the rows below are not those of the block above. A name may
        // hold colons.
        if line.text.matches(':').count() < 3 {
            self.block = Block::Unreadable;
            return Err(source.error(line.span(), "a line that is no port's row", format!("expected {A_ROW}")));
        }
        let node = match self.block {
            Block::Of(node) => node,
            Block::Unreadable => return Ok(()),
            Block::None => {
                return Err(source.error(line.span(), "a row without a switch above it", format!("expected {A_ROW}")));
            }
        };
        let values = RowValues::new(&self.columns, line);
        let get = |column: &str| values.get(source, column);
        let wrong = |value: Spanned<&str>, expected: &str| {
            source.error(value.at, format!("unexpected `{}`", value.value), format!("expected {expected}"))
        };
        let num = get("ib#")?;
        let number: u8 = num
            .value
            .parse()
            .ok()
            .filter(|&num| num > 0 && num < u8::MAX)
            .ok_or_else(|| wrong(num, "a port number from 1 to 254"))?;
        let ports = &mut self.nodes[node].num_ports;
        *ports = ports.map(|ports| ports.max(number));
        let label = get("#")?.value;
        let state = get("sta")?;
        match state.value.to_ascii_uppercase().as_str() {
            "DOWN" | "DWN" => {
                self.labels.insert((node, label), number);
                self.down.insert((node, number), num.at);
                return Ok(());
            }
            "ACT" | "ARM" | "INI" | "INIT" => {}
            _ => return Err(wrong(state, "a port's state: DOWN, INI, ARM or ACT")),
        }
        let guid = get("neighbor guid")?;
        let digits = guid.value.strip_prefix("0x").unwrap_or(guid.value);
        let known = u64::from_str_radix(digits, 16).ok().filter(|&guid| guid != 0);
        let known = known.ok_or_else(|| wrong(guid, "the neighbour's GUID, since the port is up"))?;
        let lid = self.lid(ledger, get("nlid")?)?;
        let name = get("neighbor description")?.value;
        let row = Row {
            at: num.at,
            node,
            num: number,
            width: get("lwa")?.value.parse().ok(),
            speed: speed(get("lsa")?.value),
            guid: Spanned { value: Guid(known), at: guid.at },
            label: get("n#")?,
            lid,
            name: name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name),
        };
        self.labels.insert((node, label), number);
        self.rows.push(row);
        Ok(())
    }

    fn account(mut self, ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
        let mut ports = Vec::with_capacity(self.rows.len());
        let (blocks, switches) = (self.nodes.len(), self.missing_switches());
        for row in std::mem::take(&mut self.rows) {
            match self.port(ledger, &row, &switches) {
                Ok(port) => ports.push(port),
                Err(fault) => ledger.fault(fault),
            }
        }
        self.check_far_ends(ledger, blocks, &mut ports);
        if let Some(ca) = self.nodes.iter().find(|node| node.kind == NodeKind::Ca) {
            let text = "the file lists the ports of switches only: a CA is as its neighbours state, with LMC 0";
            ledger.assume(ca.at, text, "");
        }
        ParsedFabric { nodes: self.nodes, ports, both_ends: false, ..ParsedFabric::default() }
    }

    /// Neighbours without a block that are no CAs: a port beyond those of CAs, or several ports with one LID.
    fn missing_switches(&self) -> FxHashSet<Guid> {
        let mut first: FxHashMap<Guid, &Row<'a>> = FxHashMap::default();
        let mut switches = FxHashSet::default();
        for row in self.rows.iter().filter(|row| !self.by_guid.contains_key(&row.guid.value)) {
            let beyond = row.label.value.parse().is_ok_and(|num: u8| num > MOST_CA_PORTS);
            let shares = match first.entry(row.guid.value) {
                Entry::Vacant(vacant) => {
                    vacant.insert(row);
                    false
                }
                Entry::Occupied(known) => {
                    let [known, lid] = [known.get().lid, row.lid].map(|lid| lid.map(|lid| lid.value));
                    let other = first[&row.guid.value].label.value != row.label.value;
                    other && lid.is_some() && known == lid
                }
            };
            if beyond || shares {
                switches.insert(row.guid.value);
            }
        }
        switches
    }

    /// A port that a row names must be listed in its own block, if there is one, and as up.
    fn check_far_ends(&self, ledger: &mut FaultLedger<'a>, blocks: usize, ports: &mut Vec<ParsedPort>) {
        let up: FxHashSet<(usize, u8)> = ports.iter().map(|port| (port.node, port.num)).collect();
        let name = |node: usize, num: u8| format!("port {num} of `{}`", self.nodes[node].description);
        ports.retain(|port| {
            let far = (port.remote.node, port.remote.num);
            if far.0 >= blocks || up.contains(&far) || ledger.is_full() {
                return true;
            }
            let (near, far_name) = (name(port.node, port.num), name(far.0, far.1));
            let Some(&down) = self.down.get(&far) else {
                let problem = format!("{near} is cabled to {far_name}, which has no row");
                let label = "expected a row in its block: the file is not whole (or accept it: --partial)";
                ledger.missing(port.remote.at, problem, label);
                return true;
            };
            let problem = format!("{near} is up, and {far_name} at the other end of its cable is down");
            let label = "expected both ends up, or both down";
            ledger.fault(ledger.source.clash(port.remote.at, problem, label, (down, "down here")));
            false
        });
    }

    fn port(
        &mut self,
        ledger: &mut FaultLedger<'a>,
        row: &Row<'a>,
        switches: &FxHashSet<Guid>,
    ) -> Result<ParsedPort, ReadError> {
        let known = self.by_guid.get(&row.guid.value).copied();
        let label = known.and_then(|node| self.labels.get(&(node, row.label.value)).copied());
        let num = label.or_else(|| row.label.value.parse().ok()).filter(|&num| num > 0).ok_or_else(|| {
            let (label, name) = (row.label.value, row.name);
            match known {
                Some(_) => {
                    let problem = format!("`{name}` has no port `{label}`");
                    ledger.source.error(row.label.at, problem, "expected a port of its block, or a number")
                }
                None => {
                    let problem = format!("`{name}` has no block that states the number of its port `{label}`");
                    ledger.source.error(row.label.at, problem, "expected its block too: the file is not whole")
                }
            }
        })?;
        let neighbour = known.unwrap_or_else(|| {
            let guid = row.guid.value;
            let (kind, num_ports) = match switches.contains(&guid) {
                true => (NodeKind::Switch, None),
                false => (NodeKind::Ca, Some(0)),
            };
            self.by_guid.insert(guid, self.nodes.len());
            self.nodes.push(ParsedNode::bare(row.guid.at, kind, guid, num_ports, row.name));
            self.nodes.len() - 1
        });
        let stated = &mut self.nodes[neighbour];
        let mut end = ParsedEnd::default();
        match (stated.kind, stated.num_ports) {
            (NodeKind::Switch, None) => stated.zero.lid = row.lid,
            (NodeKind::Switch, _) => {}
            _ => end.lid = row.lid,
        }
        // A port that is named exists, whether or not its own row was lost.
        stated.num_ports = stated.num_ports.map(|ports| ports.max(num));
        if row.width.is_none() || row.speed.is_none() {
            ledger.assume(row.at, RATE_UNTOLD, "");
        }
        Ok(ParsedPort {
            at: row.at,
            node: row.node,
            num: row.num,
            own: ParsedEnd::default(),
            width: row.width,
            speed: row.speed,
            data_vls: None,
            remote: ParsedRemote { at: row.label.at, node: neighbour, num, end },
        })
    }
}
