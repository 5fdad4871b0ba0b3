//! The output of `ibnetdiscover -p` (infiniband-diags 44): a line for each port, with its neighbour's.
//!
//! ```text
//! SW     5  3 0x0002c90300a1b2c0 4x HDR - CA    12  1 0x0002c90300f1e2d1 ( 'leaf-1' - 'host-1 HCA-1' )
//! SW     5  4 0x0002c90300a1b2c0 4x SDR                                    'leaf-1'
//! ```
//!
//! The progress that `-s` prints in between is left out. [`reported`](super::reported) states what such a report lacks.

use super::assemble::{ParsedFabric, UNASSIGNED};
use super::cursor::Cursor;
use super::diagnostic::{ReadError, SourceLine};
use super::ledger::FaultLedger;
use super::noise::Noise;
use super::reported::{self, Listed, ReportedLink, ReportedPort};
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind};
use crate::ids::Lid;

/// Whether a line is one of this format.
pub(super) fn is_port(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let kind = words.next().and_then(kind);
    let number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u16>().is_ok());
    kind.is_some()
        && number(words.next())
        && number(words.next())
        && words.next().is_some_and(|word| word.starts_with("0x"))
}

/// Reads a list of ports.
pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let mut reports = Vec::new();
    for line in ledger.source.lines() {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if let Some(noise) = Noise::of(text) {
            noise.record(ledger, line.span(), text);
            continue;
        }
        match report(ledger, line) {
            Ok(report) => reports.push(report),
            Err(fault) => ledger.fault(fault),
        }
        if ledger.is_full() {
            break;
        }
    }
    reported::account(&reports, ledger)
}

fn report<'a>(ledger: &mut FaultLedger<'a>, line: SourceLine<'a>) -> Result<ReportedPort<'a>, ReadError> {
    let mut cursor = Cursor::new(ledger.source, line);
    let mut own = port(&mut cursor, ledger)?;
    cursor.blanks();
    let width: Option<LinkWidth> = rate(&mut cursor, "??", "a width such as `4x`")?;
    cursor.blanks();
    let speed: Option<LinkSpeed> = rate(&mut cursor, "???", "a speed such as `HDR`")?;
    cursor.blanks();
    if !cursor.eat("- ") {
        own.name = quoted(&mut cursor, "'")?;
        cursor.finish()?;
        return Ok(ReportedPort { own, link: None });
    }
    let mut remote = port(&mut cursor, ledger)?;
    cursor.blanks();
    cursor.expect("(", "`(` and the descriptions of both ends")?;
    own.name = quoted(&mut cursor, "' - '")?;
    cursor.skip(" - ".len());
    remote.name = quoted(&mut cursor, "' )")?;
    cursor.blanks();
    cursor.expect(")", "`)`")?;
    cursor.finish()?;
    Ok(ReportedPort { own, link: Some(ReportedLink { remote, width, speed }) })
}

/// `SW     5  3 0x0002c90300a1b2c0`
fn port<'a>(cursor: &mut Cursor<'a>, ledger: &mut FaultLedger<'a>) -> Result<Listed<'a>, ReadError> {
    cursor.blanks();
    let start = cursor.offset();
    let word = cursor.rest().split_whitespace().next().unwrap_or("");
    let kind = kind(word).ok_or_else(|| cursor.unexpected("a port: `SW`, `CA` or `RT`, its LID, number and GUID"))?;
    cursor.skip(word.len());
    cursor.blanks();
    let lid = cursor.decimal("a LID from 0 (none) to 49151")?;
    if lid.value > Lid::MAX_UNICAST.0 {
        ledger.repair(lid.at, UNASSIGNED, "");
    }
    cursor.blanks();
    let num = cursor.port_number()?;
    cursor.blanks();
    let before = cursor.clone();
    let guid = cursor.guid()?;
    if guid.value.is_none() {
        return Err(before.unexpected("a GUID other than 0"));
    }
    let lid = Some(Lid(lid.value)).filter(|lid| (1..=Lid::MAX_UNICAST.0).contains(&lid.0));
    Ok(Listed { at: cursor.since(start), kind: Some(kind), guid: guid.value, lid, num: num.value, name: "" })
}

fn kind(word: &str) -> Option<NodeKind> {
    Some(match word {
        "SW" => NodeKind::Switch,
        "CA" => NodeKind::Ca,
        "RT" => NodeKind::Router,
        _ => return None,
    })
}

/// A word and its value; `None` for the tool's question marks.
fn rate<T: std::str::FromStr>(cursor: &mut Cursor<'_>, unknown: &str, expected: &str) -> Result<Option<T>, ReadError> {
    let word = cursor.rest().split_whitespace().next().unwrap_or("");
    let value = match word {
        _ if word == unknown || word.starts_with('?') => None,
        _ => Some(word.parse().map_err(|_| cursor.unexpected(expected))?),
    };
    cursor.skip(word.len());
    Ok(value)
}

/// A description in single quotes, which may hold some: up to the first place where `behind` follows, else the last.
/// The cursor is left behind its closing quote.
fn quoted<'a>(cursor: &mut Cursor<'a>, behind: &str) -> Result<&'a str, ReadError> {
    cursor.blanks();
    let expected = "a description in single quotes";
    cursor.expect("'", expected)?;
    let rest = cursor.rest();
    let end = if behind == "'" { rest.rfind('\'') } else { rest.find(behind) };
    let end = end.ok_or_else(|| cursor.unexpected(expected))?;
    cursor.skip(end + 1);
    Ok(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::super::{Format, read_as};
    use super::is_port;
    use crate::fabric::{LinkSpeed, LinkWidth, NodeKind};
    use crate::ids::{Guid, Lid};

    const LIST: &str = "\
DR path slid 0; dlid 0; 0 -> new Channel Adapter {20} portnum 1 lid 0-0 \"\"
CA    12  1 0x0000000000000021 4x HDR - SW     5  1 0x0000000000000010 ( 'h'1 HCA-1' - 'leaf - 1' )
CA    13  2 0x0000000000000022 4x EDR - SW     5  2 0x0000000000000010 ( 'h'1 HCA-1' - 'leaf - 1' )
SW     5  4 0x0000000000000010 4x SDR                                    'leaf - 1'
SW     5  2 0x0000000000000010 4x EDR - CA    13  2 0x0000000000000022 ( 'leaf - 1' - 'h'1 HCA-1' )
SW     5  1 0x0000000000000010 4x HDR - CA    12  1 0x0000000000000021 ( 'leaf - 1' - 'h'1 HCA-1' )
";

    #[test]
    fn ports_are_joined_to_nodes() {
        let reading =
            read_as(Format::PortList, LIST.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
        let fabric = &reading.fabric;
        let nodes: Vec<_> = fabric.nodes().map(|(_, node)| (node.kind, node.guid, node.num_ports)).collect();
        assert_eq!(nodes, [(NodeKind::Ca, Guid(0x21), 2), (NodeKind::Switch, Guid(0x10), 4)]);
        assert_eq!(fabric.node(crate::fabric::NodeId(0)).description, "h'1 HCA-1");
        let ends: Vec<_> = fabric.end_ports().map(|id| fabric.port(id)).collect();
        assert_eq!((ends[1].lid, ends[1].width, ends[1].speed), (Some(Lid(13)), LinkWidth::X4, LinkSpeed::Edr));
        assert_eq!(reading.notices.len(), 2, "progress and PortGUIDs: {:?}", reading.notices);
        assert!(reading.incomplete.is_none());
    }

    #[test]
    fn other_lines_are_no_ports() {
        assert!(LIST.lines().skip(1).all(is_port));
        assert!(!is_port("SW-6IB4 Voltaire") && !is_port("Ca\t2 \"H-1\"") && !is_port(""));
    }
}
