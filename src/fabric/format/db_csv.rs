//! ibdiagnet2's `ibdiagnet2.db_csv`: tables between `START_NAME` and `END_NAME`, each with a line of column names.
//!
//! ```text
//! START_NODES
//! NodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID,PortGUID,DeviceID,…,VendorID,…
//! "leaf-1",36,2,1,1,0x0002c90300a1b2c0,0x0002c90300a1b2c0,0x0002c90300a1b2c0,53000,32,160,713,1
//! END_NODES
//! ```
//!
//! Three tables are read, by the names of their columns, so versions with further columns are read too: `NODES`,
//! `PORTS` (LIDs, LMCs, rates and VLs; rows of down ports are passed over) and `LINKS` (`NodeGuid1,PortNum1,NodeGuid2,
//! PortNum2`). Numbers are decimal, or hexadecimal with `0x`. A port that is up and in no link makes the file
//! incomplete: a part of `LINKS` is missing. Nothing that a fabric needs is missing in such a file, but no vendor
//! documents it: this is what public programs read of ibdiagnet 2.1 and later.

use super::assemble::{
    EXPECTED_LID, ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote, RATE_UNTOLD, stated_lid,
};
use super::diagnostic::{ReadError, SourceLine, SourceText, Span, Spanned};
use super::ledger::FaultLedger;
use super::lines;
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind};
use crate::ids::{Guid, Lmc};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether a line begins one of the tables.
pub(super) fn is_start(line: &str) -> bool {
    table_name(line, "START_").is_some_and(|name| name.len() > 1)
}

pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let mut reader = Reader::default();
    let mut table: Option<Table<'a>> = None;
    for line in ledger.source.lines() {
        if ledger.is_full() {
            break;
        }
        if let Some(name) = table_name(line.text, "START_") {
            cut_short(ledger, table.take(), line.span());
            reader.seen.insert(name);
            table = Some(Table { name, heading: Heading::Awaited, at: line.span() });
        } else if let Some(name) = table_name(line.text, "END_") {
            if table.as_ref().is_some_and(|table| table.name != name) {
                cut_short(ledger, table.take(), line.span());
            }
            table = None;
        } else if let Some(table) = table.as_mut().filter(|table| READ.contains(&table.name))
            && !line.text.trim().is_empty()
            && let Err(fault) = reader.row(ledger, table, line)
        {
            ledger.fault(fault);
        }
    }
    let end = Span { start: ledger.source.text.len(), end: ledger.source.text.len() };
    cut_short(ledger, table, end);
    for name in READ.iter().filter(|name| !reader.seen.contains(*name)) {
        let mend =
            "expected it too; read the ibdiagnet2.lst or ibdiagnet2.ibnetdiscover that ibdiagnet writes beside it";
        ledger.fault(ledger.source.error(end, format!("the file has no table {name}"), mend));
    }
    reader.account(ledger)
}

/// The tables that are read.
const READ: [&str; 3] = ["NODES", "PORTS", "LINKS"];

/// `NAME` of a line `START_NAME`.
fn table_name<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let name = line.trim_end().strip_prefix(mark)?;
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_').then_some(name)
}

/// A table that is read and does not end is a file that was cut.
fn cut_short(ledger: &mut FaultLedger<'_>, table: Option<Table<'_>>, at: Span) {
    let Some(table) = table.filter(|table| READ.contains(&table.name)) else { return };
    let problem = format!("the table {} does not end", table.name);
    let label = format!("expected END_{} before this place: the file was cut", table.name);
    ledger.fault(ledger.source.clash(at, problem, label, (table.at, "it begins here")));
}

struct Table<'a> {
    name: &'a str,
    heading: Heading,
    at: Span,
}

enum Heading {
    Awaited,
    /// A column is missing: that is reported, and the rows are skipped.
    Unreadable,
    Of(Columns),
}

/// The columns without which a table is not read, as ibdiagnet 2.1 and later write them.
fn needed(table: &str) -> &'static [&'static str] {
    match table {
        "NODES" => &["NodeDesc", "NumPorts", "NodeType", "SystemImageGUID", "NodeGUID", "PortGUID"],
        "PORTS" => &["NodeGuid", "PortGuid", "PortNum", "LID", "PortState"],
        _ => &["NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2"],
    }
}

/// Where a row has which value, by the names of columns in capitals.
type Columns = FxHashMap<String, usize>;

#[derive(Default)]
struct Reader<'a> {
    seen: FxHashSet<&'a str>,
    /// Whether a table has no readable line of column names.
    lacks_table: bool,
    nodes: Vec<ParsedNode<'a>>,
    by_guid: FxHashMap<Guid, usize>,
    ports: Vec<PortRow>,
    links: Vec<LinkRow>,
}

/// A row of PORTS.
struct PortRow {
    at: Span,
    node: Guid,
    num: u8,
    end: ParsedEnd,
    width: Option<LinkWidth>,
    speed: Option<LinkSpeed>,
    data_vls: Option<u8>,
    is_up: bool,
}

struct LinkRow {
    ends: [Spanned<(Guid, u8)>; 2],
}

/// One row: its values and where they are.
struct Row<'a, 't> {
    source: SourceText<'a>,
    line: SourceLine<'a>,
    columns: &'t Columns,
    values: Vec<Spanned<&'a str>>,
}

impl<'a> Reader<'a> {
    fn row(
        &mut self,
        ledger: &mut FaultLedger<'a>,
        table: &mut Table<'a>,
        line: SourceLine<'a>,
    ) -> Result<(), ReadError> {
        let values = split(line);
        let columns = match &table.heading {
            Heading::Of(columns) => columns,
            Heading::Unreadable => return Ok(()),
            Heading::Awaited => {
                let names = values.iter().map(|name| name.value.trim().to_ascii_uppercase());
                let columns: Columns = names.zip(0..).collect();
                let mut lacking = needed(table.name).iter().copied();
                let lacking = lacking.find(|name| !columns.contains_key(&name.to_ascii_uppercase()));
                table.heading = if lacking.is_some() { Heading::Unreadable } else { Heading::Of(columns) };
                self.lacks_table |= lacking.is_some();
                return lacking.map_or(Ok(()), |name| {
                    let problem = format!("the table {} has no column {name}", table.name);
                    let label =
                        format!("expected {}, as ibdiagnet 2.1 and later write them", needed(table.name).join(", "));
                    Err(ledger.source.error(line.span(), problem, label))
                });
            }
        };
        let row = Row { source: ledger.source, line, columns, values };
        match table.name {
            "NODES" => self.node(&row),
            "PORTS" => self.port(ledger, &row),
            _ => self.link(&row),
        }
    }

    fn node(&mut self, row: &Row<'a, '_>) -> Result<(), ReadError> {
        let kind = row.number("NodeType", 3)?;
        let kind = match kind.value {
            1 => NodeKind::Ca,
            2 => NodeKind::Switch,
            3 => NodeKind::Router,
            _ => return Err(row.wrong(kind.at, "a kind of node: 1 (CA), 2 (switch) or 3 (router)")),
        };
        let guid = row.guid("NodeGUID")?;
        let port_guid = row.guid("PortGUID")?;
        let system = row.number("SystemImageGUID", u64::MAX)?;
        let zero = match kind {
            NodeKind::Switch => ParsedEnd { guid: Some(port_guid), ..ParsedEnd::default() },
            _ => ParsedEnd::default(),
        };
        // NodeInfo: 24 and 16 bits. A fault there leaves the node as it is.
        let (vendor, device) = (row.optional("VendorID", 0xff_ffff), row.optional("DeviceID", 0xffff));
        let id = |stated: &Result<Option<Spanned<u64>>, ReadError>| match stated {
            Ok(Some(id)) => id.value as u32,
            _ => 0,
        };
        let (ports, name) = (row.number("NumPorts", 254)?, row.get("NodeDesc")?);
        self.by_guid.insert(guid.value, self.nodes.len());
        self.nodes.push(ParsedNode {
            system_guid: (system.value != 0).then_some(Guid(system.value)),
            vendor_id: id(&vendor),
            device_id: id(&device),
            zero,
            ..ParsedNode::bare(row.line.span(), kind, guid.value, Some(ports.value as u8), name.value)
        });
        vendor.and(device).map(|_| ())
    }

    fn port(&mut self, ledger: &mut FaultLedger<'a>, row: &Row<'a, '_>) -> Result<(), ReadError> {
        let node = row.guid("NodeGuid")?;
        let num = row.number("PortNum", 255)?;
        let stated = row.number("LID", u64::MAX)?;
        let lid = stated_lid(ledger, stated).map_err(|problem| row.source.error(stated.at, problem, EXPECTED_LID))?;
        let lmc = row.optional("LMC", 7)?.and_then(|lmc| Lmc::new(lmc.value as u8));
        if lmc.is_none() && lid.is_some() {
            ledger.assume(stated.at, "a port with a LID states no LMC: it is taken as 0", "");
        }
        // PortInfo:PortState: 1 Down, 2 Initialize, 3 Armed, 4 Active.
        let state = row.number("PortState", 4)?;
        let is_up = state.value > 1;
        let width = row.optional("LinkWidthActv", u64::MAX)?.and_then(|code| width(code.value));
        let speed = row.optional("LinkSpeedActv", u64::MAX)?.and_then(|code| speed(code.value));
        if is_up && num.value > 0 && (width.is_none() || speed.is_none()) {
            ledger.assume(row.line.span(), RATE_UNTOLD, "");
        }
        let data_vls = row.optional("VLCap", 0xf)?.filter(|cap| cap.value != 0);
        let data_vls = data_vls.map(|cap| {
            lines::data_vls(cap.value as u16).ok_or_else(|| row.wrong(cap.at, "a VLCap from 1 to 5, or 0 for none"))
        });
        let guid = row.number("PortGuid", u64::MAX)?;
        let end = ParsedEnd {
            guid: (guid.value != 0).then_some(Spanned { value: Guid(guid.value), at: guid.at }),
            lid,
            lmc: lmc.unwrap_or_default(),
        };
        self.ports.push(PortRow {
            at: row.line.span(),
            node: node.value,
            num: num.value as u8,
            end,
            width,
            speed,
            data_vls: data_vls.transpose()?,
            is_up,
        });
        Ok(())
    }

    fn link(&mut self, row: &Row<'a, '_>) -> Result<(), ReadError> {
        let end = |guid: &str, num: &str| -> Result<Spanned<(Guid, u8)>, ReadError> {
            let guid = row.guid(guid)?;
            let num = row.number(num, 254)?;
            if num.value == 0 {
                return Err(row.wrong(num.at, "a port number from 1 to 254"));
            }
            Ok(Spanned { value: (guid.value, num.value as u8), at: num.at })
        };
        let ends = [end("NodeGuid1", "PortNum1")?, end("NodeGuid2", "PortNum2")?];
        self.links.push(LinkRow { ends });
        Ok(())
    }

    fn account(mut self, ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
        if self.lacks_table {
            return ParsedFabric::default();
        }
        let mut rows: FxHashMap<(Guid, u8), &PortRow> = FxHashMap::default();
        for row in &self.ports {
            let first = *rows.entry((row.node, row.num)).or_insert(row);
            if first.at == row.at {
                continue;
            }
            if first.says() == row.says() {
                ledger.repair(row.at, "a repeated line is left out", "");
                continue;
            }
            let problem = format!("two rows for port {} of {}, which differ", row.num, row.node);
            let other = (first.at, "described here already");
            ledger.fault(ledger.source.clash(row.at, problem, "expected each port once", other));
        }
        for node in self.nodes.iter_mut().filter(|node| node.kind == NodeKind::Switch) {
            if let Some(zero) = rows.get(&(node.guid, 0)) {
                node.zero = ParsedEnd { guid: node.zero.guid.or(zero.end.guid), ..zero.end };
            }
        }
        let mut linked: FxHashSet<(Guid, u8)> = FxHashSet::default();
        let mut ports = Vec::new();
        for LinkRow { ends: [near, far] } in &self.links {
            linked.extend([near.value, far.value]);
            for [own, remote] in [[near, far], [far, near]] {
                match self.parsed(ledger.source, &rows, own, remote) {
                    Ok(port) => ports.push(port),
                    Err(fault) => {
                        ledger.fault(fault);
                        break;
                    }
                }
            }
        }
        let mut seen = FxHashSet::default();
        // A file may list a link once or at both of its ends.
        ports.retain(|port: &ParsedPort| seen.insert((port.node, port.num, port.remote.node, port.remote.num)));
        for row in self.ports.iter().filter(|row| row.is_up && row.num > 0 && !linked.contains(&(row.node, row.num))) {
            let problem = format!("port {} of {} is up, and no row of LINKS names it", row.num, row.node);
            ledger.missing(row.at, problem, "expected its link: the file is not whole (or accept it: --partial)");
        }
        ParsedFabric { nodes: self.nodes, ports, both_ends: true, ..ParsedFabric::default() }
    }

    fn parsed(
        &self,
        source: SourceText<'_>,
        rows: &FxHashMap<(Guid, u8), &PortRow>,
        own: &Spanned<(Guid, u8)>,
        remote: &Spanned<(Guid, u8)>,
    ) -> Result<ParsedPort, ReadError> {
        let node = |end: &Spanned<(Guid, u8)>| {
            let unknown = || source.error(end.at, format!("no row of NODES has {}", end.value.0), "expected its row");
            self.by_guid.get(&end.value.0).copied().ok_or_else(unknown)
        };
        let row = rows.get(&own.value);
        let far = rows.get(&remote.value);
        let (index, neighbour) = (node(own)?, node(remote)?);
        let end = |index: usize, row: Option<&&PortRow>| match self.nodes[index].kind {
            NodeKind::Switch => ParsedEnd::default(),
            _ => row.map_or_else(ParsedEnd::default, |row| row.end),
        };
        Ok(ParsedPort {
            at: own.at,
            node: index,
            num: own.value.1,
            own: end(index, row),
            width: row.and_then(|row| row.width),
            speed: row.and_then(|row| row.speed),
            data_vls: row.and_then(|row| row.data_vls),
            remote: ParsedRemote { at: remote.at, node: neighbour, num: remote.value.1, end: end(neighbour, far) },
        })
    }
}

impl PortRow {
    /// All that a second row of the port must repeat.
    fn says(&self) -> impl PartialEq + use<> {
        let ParsedEnd { guid, lid, lmc } = self.end;
        let end = (guid.map(|guid| guid.value), lid.map(|lid| lid.value), lmc);
        (end, self.width, self.speed, self.data_vls, self.is_up)
    }
}

impl<'a> Row<'a, '_> {
    /// The value in a column, whose name may be written in other letters.
    fn get(&self, column: &str) -> Result<Spanned<&'a str>, ReadError> {
        let Some(&at) = self.columns.get(&column.to_ascii_uppercase()) else {
            let problem = format!("the table has no column {column}");
            return Err(self.source.error(
                self.line.span(),
                problem,
                "expected it, as ibdiagnet 2.1 and later write it",
            ));
        };
        self.values.get(at).copied().ok_or_else(|| {
            let problem = format!("the row has {} values, and none for {column}", self.values.len());
            self.source.error(self.line.span(), problem, format!("expected {}: the file was cut", self.columns.len()))
        })
    }

    fn number(&self, column: &str, most: u64) -> Result<Spanned<u64>, ReadError> {
        let text = self.get(column)?;
        let value = number(text.value).filter(|&value| value <= most);
        let value = value.ok_or_else(|| self.wrong(text.at, &format!("a number for {column}, at most {most}")))?;
        Ok(Spanned { value, at: text.at })
    }

    fn guid(&self, column: &str) -> Result<Spanned<Guid>, ReadError> {
        let stated = self.number(column, u64::MAX)?;
        match stated.value {
            0 => Err(self.wrong(stated.at, "a GUID other than 0")),
            value => Ok(Spanned { value: Guid(value), at: stated.at }),
        }
    }

    /// A number that some versions do not have, or give as `N/A`.
    fn optional(&self, column: &str, most: u64) -> Result<Option<Spanned<u64>>, ReadError> {
        let is_stated = self.columns.contains_key(&column.to_ascii_uppercase());
        if !is_stated || self.get(column)?.value.eq_ignore_ascii_case("N/A") {
            return Ok(None);
        }
        self.number(column, most).map(Some)
    }

    fn wrong(&self, at: Span, expected: &str) -> ReadError {
        let problem = format!("unexpected `{}`", &self.source.text[at.start..at.end]);
        self.source.error(at, problem, format!("expected {expected}"))
    }
}

/// The values of a row: separated by commas, with `"` around those that hold some.
fn split(line: SourceLine<'_>) -> Vec<Spanned<&str>> {
    let mut values = Vec::new();
    let text = line.text.trim_end();
    let mut start = 0;
    loop {
        let rest = &text[start..];
        let blank = rest.len() - rest.trim_start().len();
        let quoted = rest.trim_start().strip_prefix('"');
        // A quote ends a value where a comma or nothing follows.
        let close = quoted.and_then(|inner| {
            let mut quotes = inner.match_indices('"').map(|(at, _)| at);
            quotes.find(|&at| inner[at + 1..].trim_start().is_empty() || inner[at + 1..].trim_start().starts_with(','))
        });
        let (from, to, next) = match close {
            Some(close) => {
                let from = start + blank + 1;
                (from, from + close, text[from + close..].find(',').map(|comma| from + close + comma))
            }
            None => {
                let next = rest.find(',').map(|comma| start + comma);
                (start, next.unwrap_or(text.len()), next)
            }
        };
        values.push(line.part(text[from..to].trim()));
        match next {
            Some(comma) => start = comma + 1,
            None => return values,
        }
    }
}

/// Decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// PortInfo:LinkWidthActive.
fn width(value: u64) -> Option<LinkWidth> {
    Some(match value {
        1 => LinkWidth::X1,
        2 => LinkWidth::X4,
        4 => LinkWidth::X8,
        8 => LinkWidth::X12,
        16 => LinkWidth::X2,
        _ => return None,
    })
}

/// PortInfo:LinkSpeedActive; from bit 8 on the extended speeds, from bit 16 on the vendor's.
fn speed(value: u64) -> Option<LinkSpeed> {
    Some(match value {
        0x1 => LinkSpeed::Sdr,
        0x2 => LinkSpeed::Ddr,
        0x4 => LinkSpeed::Qdr,
        0x100 => LinkSpeed::Fdr,
        0x200 => LinkSpeed::Edr,
        0x400 => LinkSpeed::Hdr,
        0x800 => LinkSpeed::Ndr,
        0x1000 => LinkSpeed::Xdr,
        0x1_0000 => LinkSpeed::Fdr10,
        _ => return None,
    })
}
