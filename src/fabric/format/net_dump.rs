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
//! are the first [`MOST_CA_PORTS`], is a CA. Any other neighbour without a block is a switch that is missing. The file has
//! neither LMCs, vendors nor system GUIDs, and a CA's GUID may be that of its port. No vendor documents the format: this
//! is what public programs read of ibdiagnet 2.1 and later.

use super::assemble::{ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote};
use super::diagnostic::{ReadError, SourceLine, Span, Spanned};
use super::ledger::FaultLedger;
use super::subnet_lst::speed;
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind, PortZero};
use crate::ids::{Guid, Lid, Lmc};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// No adapter has more ports than this.
const MOST_CA_PORTS: u8 = 4;

/// Whether a line begins a block.
pub(super) fn is_header(line: &str) -> bool {
    header(line).is_some()
}

/// `"NAME", VENDOR, 0xGUID, LID N`.
fn header(line: &str) -> Option<(&str, Guid, Lid)> {
    let (name, rest) = line.trim_end().strip_prefix('"')?.rsplit_once('"')?;
    let mut words = rest.strip_prefix(',')?.rsplitn(3, ',').map(str::trim);
    let lid = words.next()?.strip_prefix("LID ")?.trim().parse().ok()?;
    let guid = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    Some((name, Guid(guid), Lid(lid)))
}

/// Reads the blocks.
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
        if let Some((name, guid, lid)) = header(line.text) {
            reader.begin(line, name, guid, lid);
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

#[derive(Default)]
struct Reader<'a> {
    columns: FxHashMap<String, usize>,
    nodes: Vec<ParsedNode<'a>>,
    by_guid: FxHashMap<Guid, usize>,
    /// By node and what is printed beside a port: the port's number.
    labels: FxHashMap<(usize, &'a str), u8>,
    rows: Vec<Row<'a>>,
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
    fn begin(&mut self, line: SourceLine<'a>, name: &'a str, guid: Guid, lid: Lid) {
        let at = line.span();
        let zero = ParsedEnd {
            guid: Some(Spanned { value: guid, at }),
            lid: (1..=Lid::MAX_UNICAST.0).contains(&lid.0).then_some(Spanned { value: lid, at }),
            lmc: Lmc::default(),
        };
        self.by_guid.insert(guid, self.nodes.len());
        self.nodes.push(node(at, NodeKind::Switch, guid, name, zero));
    }

    fn row(&mut self, ledger: &mut FaultLedger<'a>, line: SourceLine<'a>) -> Result<(), ReadError> {
        let source = ledger.source;
        let row = "a switch's line (`\"NAME\", VENDOR, 0xGUID, LID N`), a line of column names, or a port's row";
        let node = self.nodes.len().checked_sub(1);
        let node = node.ok_or_else(|| source.error(line.span(), "a row without a switch above it", row))?;
        // The description is last, and may hold colons.
        let values: Vec<&str> = line.text.splitn(self.columns.len().max(2), ':').collect();
        let get = |column: &str| -> Result<Spanned<&'a str>, ReadError> {
            let at = self.columns.get(column).copied();
            let value = at.and_then(|at| values.get(at)).map(|value| value.trim());
            let value = value.ok_or_else(|| {
                let problem = format!("no value in a column `{column}`");
                source.error(line.span(), problem, format!("expected {row}, as ibdiagnet 2.1 and later write them"))
            })?;
            let start = value.as_ptr() as usize - source.text.as_ptr() as usize;
            Ok(Spanned { value, at: Span { start, end: start + value.len() } })
        };
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
        if state.value.eq_ignore_ascii_case("DOWN") || state.value.eq_ignore_ascii_case("DWN") {
            self.labels.insert((node, label), number);
            return Ok(());
        }
        let guid = get("neighbor guid")?;
        let digits = guid.value.strip_prefix("0x").unwrap_or(guid.value);
        let known = u64::from_str_radix(digits, 16).ok().filter(|&guid| guid != 0);
        let known = known.ok_or_else(|| wrong(guid, "the neighbour's GUID, since the port is up"))?;
        let lid = get("nlid")?;
        let lid = lid.value.parse().ok().map(|value| Spanned { value: Lid(value), at: lid.at });
        let name = get("neighbor description")?.value;
        let row = Row {
            at: num.at,
            node,
            num: number,
            width: get("lwa")?.value.parse().ok(),
            speed: speed(get("lsa")?.value),
            guid: Spanned { value: Guid(known), at: guid.at },
            label: get("n#")?,
            lid: lid.filter(|lid| (1..=Lid::MAX_UNICAST.0).contains(&lid.value.0)),
            name: name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name),
        };
        self.labels.insert((node, label), number);
        self.rows.push(row);
        Ok(())
    }

    fn account(mut self, ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
        let mut ports = Vec::with_capacity(self.rows.len());
        for row in std::mem::take(&mut self.rows) {
            match self.port(ledger, &row) {
                Ok(port) => ports.push(port),
                Err(fault) => ledger.fault(fault),
            }
        }
        if let Some(ca) = self.nodes.iter().find(|node| node.kind == NodeKind::Ca) {
            let text = "the file lists the ports of switches only: a CA is as its neighbours tell, with LMC 0";
            ledger.assume(ca.at, text, "");
        }
        ParsedFabric { nodes: self.nodes, ports, both_ends: false, ..ParsedFabric::default() }
    }

    fn port(&mut self, ledger: &mut FaultLedger<'a>, row: &Row<'a>) -> Result<ParsedPort, ReadError> {
        let known = self.by_guid.get(&row.guid.value).copied();
        let label = known.and_then(|node| self.labels.get(&(node, row.label.value)).copied());
        let num = label.or_else(|| row.label.value.parse().ok()).filter(|&num| num > 0).ok_or_else(|| {
            let problem = format!("the neighbour has no port `{}`", row.label.value);
            ledger.source.error(row.label.at, problem, "expected a port of its block, or a number")
        })?;
        let neighbour = known.unwrap_or_else(|| {
            self.by_guid.insert(row.guid.value, self.nodes.len());
            self.nodes.push(node(row.guid.at, NodeKind::Ca, row.guid.value, row.name, ParsedEnd::default()));
            self.nodes.len() - 1
        });
        let stated = &mut self.nodes[neighbour];
        let mut end = ParsedEnd::default();
        if stated.kind == NodeKind::Ca {
            end.lid = row.lid;
            stated.num_ports = stated.num_ports.map(|ports| ports.max(num));
            if num > MOST_CA_PORTS {
                (stated.kind, stated.num_ports) = (NodeKind::Switch, None);
            }
        }
        let stated = &mut self.nodes[neighbour];
        if stated.kind == NodeKind::Switch && stated.num_ports.is_none() {
            stated.zero.lid = row.lid;
            end = ParsedEnd::default();
        }
        if row.width.is_none() || row.speed.is_none() {
            let text =
                "the tool did not know the link's rate: what it left open is that of the other end, else of 4xQDR";
            ledger.assume(row.at, text, "");
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

fn node(at: Span, kind: NodeKind, guid: Guid, name: &str, zero: ParsedEnd) -> ParsedNode<'_> {
    ParsedNode {
        at,
        kind,
        guid,
        num_ports: Some(0),
        description: Cow::Borrowed(name),
        system_guid: None,
        chassis: None,
        vendor_id: 0,
        device_id: 0,
        port_zero: PortZero::default(),
        zero,
    }
}
