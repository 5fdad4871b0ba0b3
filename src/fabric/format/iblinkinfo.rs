//! The output of `iblinkinfo` (infiniband-diags 44): a block for each node, or with `-l` all of a link on one line.
//!
//! ```text
//! Switch: 0x0002c90300a1b2c0 leaf-1:
//!            5    3[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>      12    1[  ] "host-1 HCA-1" ( )
//!            5    4[  ] ==(                Down/ Polling)==>             [  ] "" ( )
//! 0x0002c90300a1b2c0 "  leaf-1"     5    3[  ] ==( … )==>  0x0002c90300f1e2d1     12    1[  ] "host-1 HCA-1" ( )
//! ```
//!
//! Blocks give a neighbour's LID and description but no GUID: without LIDs, or if two nodes share one, a neighbour may
//! be undetermined, which is a fault. `-p` adds timers in brackets, which are not read.
//! [`reported`](super::reported) states what such a report lacks.

use super::assemble::ParsedFabric;
use super::cursor::Cursor;
use super::diagnostic::{ReadError, SourceLine, SourceText};
use super::ledger::FaultLedger;
use super::noise::Noise;
use super::reported::{self, Listed, ReportedLink, ReportedPort};
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind};
use crate::ids::{Guid, Lid};

const ARROW: [&str; 2] = ["==(", ")==>"];

/// Whether a line is one of this format's links.
pub(super) fn is_link(line: &str) -> bool {
    line.find(ARROW[0]).is_some_and(|at| line[at..].contains(ARROW[1]))
}

/// Reads a report of links.
pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let mut reports = Vec::new();
    let mut block = None;
    for line in ledger.source.lines() {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if !is_link(text)
            && let Some(noise) = Noise::of(text)
        {
            noise.record(ledger, line.span(), text);
            continue;
        }
        let read = match is_link(text) {
            true => report(ledger.source, line, block.as_ref()).map(|report| reports.push(report)),
            false => Block::read(ledger.source, line).map(|read| block = Some(read)),
        };
        if let Err(fault) = read {
            // The links below a head that cannot be read have no owner.
            block = block.filter(|_| is_link(text));
            ledger.fault(fault);
        }
        if ledger.is_full() {
            break;
        }
    }
    reported::account(&reports, ledger)
}

/// The head of a node's block.
struct Block<'a> {
    kind: NodeKind,
    /// A switch's.
    guid: Option<Guid>,
    name: &'a str,
}

impl<'a> Block<'a> {
    fn read(source: SourceText<'a>, line: SourceLine<'a>) -> Result<Block<'a>, ReadError> {
        let mut cursor = Cursor::new(source, line);
        cursor.blanks();
        let kinds = [("Switch:", NodeKind::Switch), ("CA:", NodeKind::Ca), ("Router:", NodeKind::Router)];
        let kind = kinds.iter().find(|(word, _)| cursor.eat(word)).map(|&(_, kind)| kind);
        let kind =
            kind.ok_or_else(|| cursor.unexpected("a node (`Switch: 0x… name:`, `CA: name:`) or one of its links"))?;
        cursor.blanks();
        let guid = if kind == NodeKind::Switch { cursor.guid()?.value } else { None };
        cursor.blanks();
        let name = cursor.rest().trim_end();
        let name = name.strip_suffix(':').ok_or_else(|| cursor.unexpected("a description and `:`"))?;
        Ok(Block { kind, guid, name })
    }
}

fn report<'a>(
    source: SourceText<'a>,
    line: SourceLine<'a>,
    block: Option<&Block<'a>>,
) -> Result<ReportedPort<'a>, ReadError> {
    let mut cursor = Cursor::new(source, line);
    cursor.blanks();
    let start = cursor.offset();
    let mut own = Listed {
        at: line.span(),
        kind: block.map(|block| block.kind),
        guid: block.and_then(|block| block.guid),
        lid: None,
        num: 0,
        name: block.map_or("", |block| block.name),
    };
    if cursor.rest().starts_with("0x") {
        own.guid = cursor.guid()?.value;
        cursor.blanks();
    }
    if cursor.rest().starts_with('"') {
        // All of the link is on this line: no block describes its node.
        (own.name, own.kind) = (cursor.quoted("a description")?.value.trim_start(), None);
        cursor.blanks();
    }
    if own.guid.is_none() {
        return Err(cursor.unexpected("the head of the node's block above, or the port's GUID"));
    }
    (own.lid, own.num) = lid_and_number(&mut cursor)?;
    own.at = cursor.since(start);
    cursor.blanks();
    cursor.expect(ARROW[0], "`==(` and the link's state")?;
    let state = cursor.rest();
    let length = state.find(ARROW[1]).ok_or_else(|| cursor.unexpected("`)==>` behind the link's state"))?;
    let state = &state[..length];
    let is_up = state.contains("LinkUp");
    let rate = rate(&cursor, state)?;
    cursor.skip(length + ARROW[1].len());
    cursor.blanks();
    if !is_up || cursor.rest().starts_with('[') {
        return Ok(ReportedPort { own, link: None });
    }
    Ok(ReportedPort { own, link: Some(ReportedLink { remote: remote(&mut cursor)?, width: rate.0, speed: rate.1 }) })
}

/// `  0x0002c90300f1e2d1     12    1[  ] "host-1 HCA-1" ( )`; the GUID is there with `-l` only.
fn remote<'a>(cursor: &mut Cursor<'a>) -> Result<Listed<'a>, ReadError> {
    let start = cursor.offset();
    let guid = if cursor.rest().starts_with("0x") { cursor.guid()?.value } else { None };
    cursor.blanks();
    let (lid, num) = lid_and_number(cursor)?;
    let at = cursor.since(start);
    cursor.blanks();
    let rest = cursor.rest();
    // Behind the description the tool says in parentheses what the link could be; a description may hold quotes.
    let end = rest.rfind("\" (").or(rest.rfind('"')).filter(|&end| end > 0 && rest.starts_with('"'));
    let end = end.ok_or_else(|| cursor.unexpected("the neighbour's description in double quotes"))?;
    Ok(Listed { at, kind: None, guid, lid, num, name: &rest[1..end] })
}

/// `     12    1[  ]`
fn lid_and_number(cursor: &mut Cursor<'_>) -> Result<(Option<Lid>, u8), ReadError> {
    let lid = cursor.decimal("a LID from 0 (none) to 49151")?.value;
    cursor.blanks();
    let num = cursor.port_number()?.value;
    cursor.expect("[", "`[` behind the port's number")?;
    let external = cursor.rest().find(']').ok_or_else(|| cursor.unexpected("`]`"))?;
    cursor.skip(external + 1);
    Ok((Some(Lid(lid)).filter(|lid| (1..=Lid::MAX_UNICAST.0).contains(&lid.0)), num))
}

/// Width and speed in a link's state: ` 4X        53.125 Gbps Active/  LinkUp`.
fn rate(cursor: &Cursor<'_>, state: &str) -> Result<(Option<LinkWidth>, Option<LinkSpeed>), ReadError> {
    let mut words = state.split_whitespace();
    let width = words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let width = match width.map(str::to_ascii_lowercase) {
        Some(word) => Some(word.parse().map_err(|_| cursor.unexpected("a width such as `4X`"))?),
        None => None,
    };
    let per_lane = words.next().filter(|_| width.is_some());
    Ok((width, per_lane.and_then(speed)))
}

/// The tool prints the signalling rate of one lane in Gb/s, or the name of a speed.
fn speed(word: &str) -> Option<LinkSpeed> {
    Some(match word {
        "2.5" => LinkSpeed::Sdr,
        "5.0" => LinkSpeed::Ddr,
        "10.0" => LinkSpeed::Qdr,
        "10.3125" => LinkSpeed::Fdr10,
        "14.0625" => LinkSpeed::Fdr,
        "25.78125" => LinkSpeed::Edr,
        "53.125" => LinkSpeed::Hdr,
        "106.25" => LinkSpeed::Ndr,
        "212.5" => LinkSpeed::Xdr,
        _ => return word.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Reading, read_as};
    use crate::fabric::{LinkSpeed, NodeKind};
    use crate::ids::Guid;

    const BLOCKS: &str = "\
CA: h \"1\" HCA-1:
      0x0000000000000021     12    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       5    1[  ] \"leaf-1\" (Could be 12X )
Switch: 0x0000000000000010 leaf-1:
           5    1[ 3] ==( 4X        53.125 Gbps Active/  LinkUp)==>      12    1[  ] \"h \"1\" HCA-1\" ( )
           5    2[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )
";

    const LINES: &str = "\
0x0000000000000021 \"     host-1 HCA-1\"     12    1[  ] ==( 4X        14.0625 Gbps Active/  LinkUp)==>  0x0000000000000010      5    1[  ] \"leaf-1\" ( )
0x0000000000000010 \"           leaf-1\"      5    1[  ] ==( 4X        14.0625 Gbps Active/  LinkUp)==>  0x0000000000000021     12    1[  ] \"host-1 HCA-1\" ( )
0x0000000000000010 \"           leaf-1\"      5    2[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )
";

    fn reading(text: &str) -> Reading {
        assert_eq!(Format::detect(text), Format::Iblinkinfo);
        read_as(Format::Iblinkinfo, text.as_bytes(), "test").unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    #[test]
    fn both_layouts_are_read() {
        for (text, name, speed) in [(BLOCKS, "h \"1\" HCA-1", LinkSpeed::Hdr), (LINES, "host-1 HCA-1", LinkSpeed::Fdr)]
        {
            let Reading { fabric, incomplete, .. } = reading(text);
            let nodes: Vec<_> = fabric.nodes().map(|(_, node)| (node.kind, node.guid, node.num_ports)).collect();
            assert_eq!(nodes, [(NodeKind::Ca, Guid(0x21), 1), (NodeKind::Switch, Guid(0x10), 2)]);
            let end = fabric.end_ports().next().expect("the host's port");
            assert_eq!((fabric.describe_port(end), fabric.port(end).speed), (format!("{name}[1]"), speed));
            assert!(incomplete.is_none());
        }
    }

    #[test]
    fn a_neighbour_that_only_a_shared_lid_names_is_a_fault() {
        let unassigned = BLOCKS.replace("     12 ", "      0 ").replace("       5 ", "       0 ");
        assert_eq!(reading(&unassigned).fabric.links().count(), 1, "descriptions tell");
        let nameless = unassigned.replace("CA: h \"1\" HCA-1:", "CA: other:");
        let error = read_as(Format::Iblinkinfo, nameless.as_bytes(), "test").expect_err("undetermined");
        assert!(error.problem().contains("no single node"), "{error}");
    }
}
