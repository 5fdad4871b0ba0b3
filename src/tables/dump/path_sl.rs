//! Service levels of paths, as the SA answers them: rows by node GUID, which ibdmchk reads, and path records by port
//! GUID, which a plugin of OpenSM dumps.
//!
//! ```text
//! 0x0002c90000000099 154 0
//! ```
//! ```text
//! Channel Adapter 0x0002c9030000000b, base LID 3, "host-3 HCA-1", port 1
//! # LID  : SL : MTU : RATE
//! 0x0001 : 0  : 5   : 3
//! 0x0002 : UNREACHABLE
//! ```

use super::{PortGuids, Subject, decimal, guid, headline, hex_lid, node, plain, quick, subject, unknown};
use crate::fabric::format::{Cursor, ReadError, SourceLine, SourceText, Span, Spanned, check_lines, decode_any};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Guid, Lid, Sl};
use std::fmt::Write;

/// In a row: the file has no service level.
const NONE: u8 = 255;

/// Service levels by source port and DLID.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSls {
    /// By port: its row; `u32::MAX` if the file does not mention the port.
    by_port: Vec<u32>,
    /// Each by LID.
    rows: Vec<Vec<u8>>,
}

impl PathSls {
    /// The service level from a port to a DLID; none if the file has none.
    pub fn get(&self, source: PortId, lid: Lid) -> Option<Sl> {
        let row = self.rows.get(self.by_port[source.index()] as usize)?;
        row.get(lid.index()).and_then(|&sl| Sl::new(sl))
    }

    /// Returns whether the file mentions a source.
    pub fn tells_of(&self, source: PortId) -> bool {
        self.by_port[source.index()] != u32::MAX
    }

    /// The service levels that occur, in ascending order.
    pub fn in_use(&self) -> impl Iterator<Item = Sl> {
        let mut used = [false; 256];
        self.rows.iter().flatten().for_each(|&sl| used[usize::from(sl)] = true);
        Sl::all().filter(move |sl| used[sl.index()])
    }
}

/// Reads service levels of paths in either format.
///
/// # Errors
/// The first line that cannot be parsed, contradicts another, or names something that the fabric lacks.
pub fn read_path_sls(bytes: &[u8], file: &str, fabric: &Fabric) -> Result<PathSls, ReadError> {
    let text = decode_any(bytes, file)?.text;
    let source = SourceText { file, text: &text };
    check_lines(source)?;
    let sls = PathSls { by_port: vec![u32::MAX; fabric.port_count()], rows: Vec::new() };
    let mut reader = Reader { fabric, source, ports: PortGuids::of(fabric), current: None, packed: None, sls };
    for line in source.lines() {
        reader.line(line)?;
    }
    if reader.sls.rows.is_empty() {
        let end = Span { start: source.text.len(), end: source.text.len() };
        return Err(source.error(end, "the file ends without a service level", "expected a source"));
    }
    Ok(reader.sls)
}

struct Reader<'a> {
    fabric: &'a Fabric,
    source: SourceText<'a>,
    ports: PortGuids,
    /// The current source, and the GUID that named it.
    current: Option<(Guid, u32)>,
    /// Whether every row names its source; none until this is known.
    packed: Option<bool>,
    sls: PathSls,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: SourceLine<'a>) -> Result<(), ReadError> {
        let bytes = line.text.as_bytes();
        if self.packed == Some(true)
            && let Some((guid, lid, sl)) = quick::path_sl_row(bytes)
            && let Some((known, row)) = self.current
            && known == Guid(guid)
        {
            return self.set(line, row, Lid(lid), Some(sl));
        }
        if self.packed == Some(false)
            && let Some((lid, sl)) = quick::path_sl_entry(bytes)
            && let Some((_, row)) = self.current
        {
            return self.set(line, row, Lid(lid), Some(sl));
        }
        self.careful(line)
    }

    fn careful(&mut self, line: SourceLine<'a>) -> Result<(), ReadError> {
        let mut cursor = Cursor::new(self.source, line);
        if cursor.blanks() || cursor.rest().starts_with('#') {
            return Ok(());
        }
        if let Some(guid) = headline(&mut cursor)? {
            self.settle(false, guid)?;
            let ports = match subject(self.fabric, &self.ports, self.source, guid)? {
                Subject::Port(port) => vec![port],
                Subject::Node(id) => self.fabric.ports_of(id).collect(),
            };
            self.begin(guid.value, &ports);
            return Ok(());
        }
        if cursor.rest().contains(':') { self.entry(line, cursor) } else { self.row(line, cursor) }
    }

    /// A file names its sources in one form throughout: rows name a node, whose ports then share levels; headlines name
    /// a port.
    fn settle(&mut self, packed: bool, guid: Spanned<Guid>) -> Result<(), ReadError> {
        if *self.packed.get_or_insert(packed) != packed {
            let label = "expected the form of the lines before: a GUID in each row, or rows under a headline";
            return Err(self.source.error(guid.at, "two ways to name sources in one file", label));
        }
        Ok(())
    }

    /// `0xGUID LID SL`, the LID in decimal.
    fn row(&mut self, line: SourceLine<'a>, mut cursor: Cursor<'a>) -> Result<(), ReadError> {
        let guid = guid(&mut cursor)?;
        self.settle(true, guid)?;
        cursor.blanks();
        let expected = "a unicast LID from 1 to 49151, in decimal";
        let before = cursor.clone();
        let lid = Lid(decimal(&mut cursor, 0xFFFF, expected)?.value);
        if !lid.is_unicast() {
            return Err(before.unexpected(expected));
        }
        cursor.blanks();
        let sl = service_level(&mut cursor)?;
        cursor.finish()?;
        let id = node(self.fabric, guid.value).ok_or_else(|| unknown(self.source, guid))?;
        let ports: Vec<PortId> = self.fabric.ports_of(id).collect();
        let row = self.begin(guid.value, &ports);
        self.set(line, row, lid, Some(sl))
    }

    /// `0xLID : SL`, or `UNREACHABLE` instead; the rest of the line does not concern lanes.
    fn entry(&mut self, line: SourceLine<'a>, mut cursor: Cursor<'a>) -> Result<(), ReadError> {
        let lid = hex_lid(&mut cursor)?;
        let Some((_, row)) = self.current.filter(|_| self.packed == Some(false)) else {
            let label = "expected the line that names the source first";
            return Err(self.source.error(lid.at, "a service level before any source", label));
        };
        cursor.blanks();
        cursor.expect(":", "`:` and a service level")?;
        cursor.blanks();
        if cursor.eat("UNREACHABLE") {
            cursor.finish()?;
            return self.set(line, row, lid.value, None);
        }
        let sl = service_level(&mut cursor)?;
        cursor.blanks();
        if !(cursor.rest().is_empty() || cursor.rest().starts_with(':')) {
            return Err(cursor.unexpected("`:` and MTU and rate, or the end of the line"));
        }
        self.set(line, row, lid.value, Some(sl))
    }

    /// The row that the ports share, created if they have none.
    fn begin(&mut self, guid: Guid, ports: &[PortId]) -> u32 {
        let known = ports.first().map_or(u32::MAX, |port| self.sls.by_port[port.index()]);
        let row = if known == u32::MAX { self.sls.rows.len() as u32 } else { known };
        if row == self.sls.rows.len() as u32 {
            self.sls.rows.push(Vec::new());
        }
        ports.iter().for_each(|port| self.sls.by_port[port.index()] = row);
        self.current = Some((guid, row));
        row
    }

    fn set(&mut self, line: SourceLine<'_>, row: u32, lid: Lid, sl: Option<u8>) -> Result<(), ReadError> {
        let row = &mut self.sls.rows[row as usize];
        if row.len() <= lid.index() {
            row.resize((lid.index() + 1).next_multiple_of(64), NONE);
        }
        let value = sl.unwrap_or(NONE);
        let before = std::mem::replace(&mut row[lid.index()], value);
        // Several ports of a node may list the same path, but not with two service levels.
        if before != NONE && before != value {
            let at = line.span();
            let problem = format!("two service levels from one source to LID {lid}");
            return Err(self.source.error(at, problem, format!("expected SL {before}, as given before")));
        }
        Ok(())
    }
}

fn service_level(cursor: &mut Cursor<'_>) -> Result<u8, ReadError> {
    decimal(cursor, 15, "a service level from 0 to 15").map(|number| number.value)
}

/// Service levels of paths, given by `level` by source port and DLID (none if a source does not send there): a block
/// for each end port, in index order, then for each switch. ibdmchk reads it (`-c`), and keeps one table for all ports
/// of a node.
pub fn write_path_sls<'a>(
    fabric: &'a Fabric,
    level: impl Fn(PortId, Lid) -> Option<Sl> + 'a,
) -> impl Iterator<Item = String> + 'a {
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let (switches, ends): (Vec<PortId>, Vec<PortId>) = fabric.lid_ports().partition(|&port| is_switch(port));
    ends.into_iter().chain(switches).map(move |source| block(fabric, source, &level))
}

fn block(fabric: &Fabric, source: PortId, level: &impl Fn(PortId, Lid) -> Option<Sl>) -> String {
    let (port, node) = (fabric.port(source), fabric.node(fabric.port(source).node));
    let kind = if node.is_switch() { "Switch" } else { "Channel Adapter" };
    let guid = fabric.port_guid(source);
    let (lid, name) = (port.lid.map_or(0, |lid| lid.0), plain(&node.description));
    let mut text = format!("{kind} {guid}, base LID {lid}, \"{name}\", port {}\n# LID  : SL\n", port.num);
    for lid in (1..=fabric.max_lid().map_or(0, |lid| lid.0)).map(Lid) {
        let others = fabric.lid_owner(lid).is_some_and(|owner| owner != source);
        if let Some(level) = level(source, lid).filter(|_| others) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:#06x} : {level}", lid.0);
        }
    }
    text
}
