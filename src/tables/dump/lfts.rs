//! Whole forwarding tables: OpenSM's `opensm-lfts.dump`, and the output of `dump_fts`, `dump_lfts.sh` and `ibroute`.
//!
//! ```text
//! Unicast lids [0-48] of switch Lid 1 guid 0x0200000a00000000 ('switch-1'):
//! 0x0001 000 # Switch portguid 0x0200000a00000000: 'switch-1'
//! Unicast lids [0x0-0x30] of switch DR path slid 0; dlid 0; 0,4,5,3 guid 0x0200000a00000100 (switch-2):
//!   Lid  Out   Destination
//!        Port     Info
//! 0x0001 004 : (Switch portguid 0x0200000a00000000: 'switch-1')
//! 48 valid lids dumped
//! ```

use super::forwarding::{DumpEntry, LftCollector, Lfts};
use super::{decimal, guid, hex_lid, owners, plain, quick};
use crate::fabric::format::{Cursor, ReadError, SourceText, check_lines, decode_any};
use crate::fabric::{Fabric, NodeId};
use crate::ids::Lid;
use crate::tables::Lft;
use std::fmt::Write;
use std::sync::Arc;

/// Reads forwarding tables in the format of `opensm-lfts.dump` or of `dump_fts`.
///
/// # Errors
/// The first line that cannot be parsed, contradicts another, or names something that the fabric lacks.
pub fn read_lfts(bytes: &[u8], file: &str, fabric: &Fabric) -> Result<Lfts, ReadError> {
    let text = decode_any(bytes, file)?.text;
    let source = SourceText { file, text: &text };
    check_lines(source)?;
    let mut collector = LftCollector::new(fabric, source);
    for line in source.lines() {
        match quick::lfts_entry(line.text.as_bytes()) {
            Some((lid, port)) => collector.entry(DumpEntry::in_columns(line.start, lid, port, 7))?,
            None => read_line(Cursor::new(source, line), &mut collector)?,
        }
    }
    collector.finish()
}

fn read_line(mut cursor: Cursor<'_>, collector: &mut LftCollector<'_>) -> Result<(), ReadError> {
    if let Some(count) = valid_lids(cursor.rest()) {
        let lost = |rows| {
            cursor.unexpected(&format!(
                "`{rows} valid lids dumped`, as many as this table has entries here: lines were lost"
            ))
        };
        return collector.counted(count).map_err(lost);
    }
    if cursor.blanks() || is_ornament(cursor.rest()) {
        return Ok(());
    }
    if cursor.eat("Unicast lids [") {
        return head(&mut cursor, collector);
    }
    if cursor.rest().contains("dump_ucast_routes: ") {
        return Err(cursor.unexpected("a line of a dump of LFTs; this is an fdbs file, the other format"));
    }
    let lid = hex_lid(&mut cursor)?;
    cursor.blanks();
    let port = decimal(&mut cursor, 255, "a port from 0 to 255")?;
    cursor.blanks();
    let rest = cursor.rest();
    if !(rest.is_empty() || rest.starts_with('#') || rest.starts_with(':')) {
        return Err(cursor.unexpected("`#` or `:` and the destination, or the end of the line"));
    }
    collector.entry(DumpEntry { lid, port: Some(port) })
}

/// The number of entries at the end of a block of `dump_fts` or `ibroute`. OpenSM's blocks end with their highest LID.
fn valid_lids(line: &str) -> Option<usize> {
    line.trim_end().strip_suffix(" valid lids dumped")?.parse().ok()
}

/// Returns whether a line carries no entry: column heads, counts at the end of a block, comments, and messages about
/// the simulator in which the tools run.
fn is_ornament(line: &str) -> bool {
    line.starts_with('#')
        || line.starts_with("Lid ")
        || line.starts_with("Port ")
        || line.ends_with("lids dumped")
        || line.trim_end().ends_with("lids dumped")
}

fn head(cursor: &mut Cursor<'_>, collector: &mut LftCollector<'_>) -> Result<(), ReadError> {
    let counted = cursor.rest().starts_with("0x");
    let expected = "`guid` and the switch's GUID";
    let at = cursor.rest().find(" guid 0x").ok_or_else(|| cursor.unexpected(expected))?;
    cursor.skip(at + " guid ".len());
    let guid = guid(cursor)?;
    collector.begin(guid)?;
    // `dump_fts` and `ibroute` print LIDs in hexadecimal here, OpenSM in decimal.
    if counted {
        collector.is_counted();
    }
    Ok(())
}

/// Forwarding tables, by node, in the format of OpenSM's `opensm-lfts.dump`, which its engine `file` reads (`-R file
/// -U`): a block for each switch, in index order. A LID without a route has no line.
pub fn write_lfts<'a>(fabric: &'a Fabric, tables: &'a [Arc<Lft>]) -> impl Iterator<Item = String> + 'a {
    let owners = owners(fabric);
    fabric.switches().map(move |switch| block(fabric, switch, &tables[switch.index()], &owners))
}

fn block(fabric: &Fabric, switch: NodeId, table: &Lft, owners: &[String]) -> String {
    let (node, top) = (fabric.node(switch), owners.len() - 1);
    let lid = fabric.port(node.first_port).lid.map_or(0, |lid| lid.0);
    let (guid, name) = (node.guid, plain(&node.description));
    let mut text = format!("Unicast lids [0-{top}] of switch Lid {lid} guid {guid} ('{name}'):\n");
    for (lid, owner) in owners.iter().enumerate() {
        if let Some(port) = table.get(Lid(lid as u16)) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{lid:#06x} {:03} # {owner}", port.0);
        }
    }
    text + &format!("{top} lids dumped\n")
}
