//! OpenSM's `opensm.fdbs`, which ibdiagnet writes too.
//!
//! ```text
//! dump_ucast_routes: Switch 0x0002c90109fb0000
//! LID    : Port : Hops : Optimal
//! 0x0001 : 005  : 05   : yes
//! 0x0002 : UNREACHABLE
//! ```

use super::forwarding::{DumpEntry, LftCollector, Lfts};
use super::hops::Hops;
use super::{decimal, guid, hex_lid, quick};
use crate::fabric::format::{Cursor, ReadError, SourceText, check_lines, decode_any};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Lid, PortNum};
use crate::tables::Lft;
use std::fmt::Write;
use std::sync::Arc;

/// The start of a block; earlier versions prefix their function's longer name.
const HEAD: &str = "dump_ucast_routes: Switch ";

/// Reads forwarding tables in the format of `opensm.fdbs`.
///
/// # Errors
/// The first line that cannot be parsed, contradicts another, or names something that the fabric lacks.
pub fn read_fdbs(bytes: &[u8], file: &str, fabric: &Fabric) -> Result<Lfts, ReadError> {
    let text = decode_any(bytes, file)?.text;
    let source = SourceText { file, text: &text };
    check_lines(source)?;
    let mut collector = LftCollector::new(fabric, source);
    let mut ends = TableEnds::default();
    let mut at = 0;
    while at < source.text.len() {
        if let Some((lid, port)) = quick::fdbs_entry(&source.text.as_bytes()[at..]) {
            collector.entry(DumpEntry::in_columns(at, lid, port, 9))?;
            ends.last = lid;
            at += quick::FDBS_ENTRY;
            continue;
        }
        let (line, behind) = source.line_at(at);
        read_line(Cursor::new(source, line), &mut collector, &mut ends)?;
        at = behind;
    }
    ends.doubt(file);
    collector.finish()
}

/// Where the tables of a file end: OpenSM writes a line for each LID up to the highest, and a file that was cut between
/// two lines still reads well.
#[derive(Default)]
struct TableEnds {
    /// The last LID of the present table.
    last: u16,
    /// The highest of those before.
    before: u16,
}

impl TableEnds {
    fn begin(&mut self) {
        self.before = self.before.max(std::mem::take(&mut self.last));
    }

    /// Says so where the last table is shorter than another. Programs that leave out LIDs without a route write such
    /// files, too, so it is no error.
    fn doubt(&self, file: &str) {
        let Self { last, before } = self;
        if last < before {
            tracing::warn!("{file}: its last table ends at LID {last}, another one at {before}: was the file cut?");
        }
    }
}

fn read_line(mut cursor: Cursor<'_>, collector: &mut LftCollector<'_>, ends: &mut TableEnds) -> Result<(), ReadError> {
    if cursor.blanks() || cursor.rest().starts_with('#') || cursor.rest().starts_with("LID ") {
        return Ok(());
    }
    if cursor.rest().starts_with("0x") {
        return read_entry(cursor, collector, ends);
    }
    if let Some(head) = cursor.rest().find(HEAD) {
        cursor.skip(head + HEAD.len());
        let guid = guid(&mut cursor)?;
        cursor.finish()?;
        ends.begin();
        return collector.begin(guid);
    }
    let what = match cursor.rest().starts_with("Unicast lids ") {
        true => "a line of an fdbs file; this is a dump of LFTs, the other format",
        false => "`dump_ucast_routes: Switch` and a GUID, or a LID such as `0x0001`",
    };
    Err(cursor.unexpected(what))
}

fn read_entry(mut cursor: Cursor<'_>, collector: &mut LftCollector<'_>, ends: &mut TableEnds) -> Result<(), ReadError> {
    let lid = hex_lid(&mut cursor)?;
    ends.last = lid.value.0;
    separator(&mut cursor)?;
    if cursor.eat("UNREACHABLE") {
        cursor.finish()?;
        return collector.entry(DumpEntry { lid, port: None });
    }
    let expected = "a port from 0 to 255, or `UNREACHABLE`";
    let port = decimal(&mut cursor, 255, expected)?;
    separator(&mut cursor)?;
    hops(&mut cursor)?;
    collector.entry(DumpEntry { lid, port: Some(port) })
}

fn separator(cursor: &mut Cursor<'_>) -> Result<(), ReadError> {
    cursor.blanks();
    cursor.expect(":", "`:`")?;
    cursor.blanks();
    Ok(())
}

/// OpenSM's hop count and judgement of the entry, which do not affect packets.
fn hops(cursor: &mut Cursor<'_>) -> Result<(), ReadError> {
    if cursor.eat("HOPS UNKNOWN") {
        return cursor.finish();
    }
    decimal::<u8>(cursor, 255, "a number of hops, or `HOPS UNKNOWN`")?;
    separator(cursor)?;
    if cursor.eat("No ") {
        return Ok(());
    }
    cursor.expect("yes", "`yes`, or `No` and a better port")?;
    cursor.finish()
}

/// Forwarding tables, by node, in the format of `opensm.fdbs`: a block for each switch, in index order. Hops are the
/// fewest that the topology allows through the port, the last one to an end port included, as in OpenSM.
pub fn write_fdbs<'a>(fabric: &'a Fabric, tables: &'a [Arc<Lft>]) -> impl Iterator<Item = String> + 'a {
    let hops = Hops::of(fabric);
    fabric.switches().map(move |switch| block(fabric, switch, &tables[switch.index()], &hops))
}

fn block(fabric: &Fabric, switch: NodeId, table: &Lft, hops: &Hops) -> String {
    let mut text = format!("{HEAD}{}\nLID    : Port : Hops : Optimal\n", fabric.node(switch).guid);
    for lid in (1..=fabric.max_lid().map_or(0, |lid| lid.0)).map(Lid) {
        // Writing to a string cannot fail.
        let _ = match table.get(lid) {
            None => writeln!(text, "0x{:04X} : UNREACHABLE", lid.0),
            Some(port) => {
                writeln!(text, "0x{:04X} : {:03}  : {}", lid.0, port.0, comment(fabric, switch, lid, port, hops))
            }
        };
    }
    text
}

fn comment(fabric: &Fabric, switch: NodeId, lid: Lid, port: PortNum, hops: &Hops) -> String {
    let counted = |owner| {
        let (taken, least) = (hops.through(fabric, switch, port, owner)?, hops.least(fabric, switch, owner)?);
        Some(match taken == least {
            true => format!("{taken:02}   : yes"),
            false => {
                let better = hops.port(fabric, switch, owner, least)?;
                format!("{taken:02}   : No {least} hop path possible via port {better}!")
            }
        })
    };
    fabric.lid_owner(lid).and_then(counted).unwrap_or_else(|| "HOPS UNKNOWN".to_string())
}
