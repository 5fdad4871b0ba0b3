//! OpenSM's `opensm-subnet.lst`, which ibutils and ibdiagnet write and read too: one line for each direction of a link.
//!
//! ```text
//! { SW Ports:24 SystemGUID:… NodeGUID:… PortGUID:… VenID:… DevID:… Rev:… {name} LID:0005 PN:01 } { CA … } PHY=4x
//! LOG=ACT SPD=5
//! ```
//!
//! Numbers are hexadecimal. Writers list each link at both ends, node by node; a node that is only ever the second side
//! makes the file incomplete, as one that was cut is. Accepted: `-SM` after the kind; a link listed at one end; 32-bit
//! DevIDs whose value is in the upper half, or is 0 in one of two mentions, as writers differ; missing speeds (2.5
//! Gb/s, as in ibutils, with a notice). Files of ibutils' own simulator call every node `CA`: a node of which two ports
//! share a LID or a PortGUID forwards packets, so it is read as a switch, with a notice. Lines with `LOG=DWN` are not
//! links and yield a notice. LMC, port 0's kind and nodes without links are not in the file.

use super::assemble::{ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote};
use super::cursor::Cursor;
use super::diagnostic::{ReadError, SourceLine, SourceText, Span, Spanned};
use super::ledger::FaultLedger;
use super::noise::Noise;
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind, PortZero};
use crate::ids::{Guid, Lid, Lmc};
use rustc_hash::{FxHashMap, FxHashSet};

/// Reads a subnet list.
pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let source = ledger.source;
    let mut reader = Reader { source, links: Vec::new(), ledger };
    for line in source.lines() {
        if let Err(fault) = reader.line(line) {
            reader.ledger.fault(fault);
        }
        if reader.ledger.is_full() {
            break;
        }
    }
    let Reader { links, ledger, .. } = reader;
    let (nodes, faulty) = Nodes::collect(ledger, &links);
    nodes.note_missing(ledger, &links);
    for node in nodes.list.iter().filter(|node| node.kind != node.first.kind.value) {
        let text = "labelled `CA`, but two of its ports share a LID or GUID: read as a switch";
        ledger.assume(node.first.at, text, "");
    }
    let sound = links.iter().zip(faulty).filter(|(_, faulty)| !faulty).map(|(link, _)| link);
    nodes.account(sound)
}

/// One side of a line.
struct Side<'a> {
    /// From the opening brace to the port's number.
    at: Span,
    kind: Spanned<NodeKind>,
    num_ports: Spanned<u8>,
    system: Option<Guid>,
    node: Spanned<Guid>,
    port: Option<Spanned<Guid>>,
    vendor: u32,
    device: u32,
    description: &'a str,
    lid: Option<Spanned<Lid>>,
    num: Spanned<u8>,
}

struct Link<'a> {
    sides: [Side<'a>; 2],
    width: Option<LinkWidth>,
    speed: Option<LinkSpeed>,
}

struct Reader<'a, 'l> {
    source: SourceText<'a>,
    links: Vec<Link<'a>>,
    ledger: &'l mut FaultLedger<'a>,
}

impl<'a> Reader<'a, '_> {
    fn line(&mut self, line: SourceLine<'a>) -> Result<(), ReadError> {
        let mut cursor = Cursor::new(self.source, line);
        if cursor.blanks() || cursor.rest().starts_with('#') {
            return Ok(());
        }
        if let Some(noise) = Noise::of(cursor.rest()) {
            noise.record(self.ledger, line.span(), cursor.rest());
            return Ok(());
        }
        let sides = [side(&mut cursor)?, side(&mut cursor)?];
        cursor.blanks();
        cursor.expect("PHY=", "`PHY=` and a width")?;
        let width = known(&mut cursor, "a width such as `4x`", |word| word.parse().ok())?;
        let up = self.state(&mut cursor)?;
        cursor.blanks();
        let speed = self.speed(&mut cursor)?;
        cursor.finish()?;
        if width.is_none() {
            self.notice(
                line.start,
                "the writer did not know the width: taken as 4x where the other end does not state one",
            );
        }
        if up {
            self.links.push(Link { sides, width, speed });
        } else {
            self.notice(line.start, "the port is down: no link");
        }
        Ok(())
    }

    fn speed(&mut self, cursor: &mut Cursor<'a>) -> Result<Option<LinkSpeed>, ReadError> {
        cursor.blanks();
        let start = cursor.offset();
        if !cursor.eat("SPD=") {
            self.notice(start, "no speed: taken as 2.5 Gb/s");
            return Ok(Some(LinkSpeed::Sdr));
        }
        let stated = known(cursor, "a speed: 2.5, 5, 10, FDR10, 14, 25, 50, 100 or 200", speed)?;
        if stated.is_none() {
            self.notice(
                start,
                "the writer did not know the speed: taken as 10 Gb/s where the other end does not state one",
            );
        }
        Ok(stated)
    }

    /// Whether the link is up.
    fn state(&self, cursor: &mut Cursor<'a>) -> Result<bool, ReadError> {
        cursor.blanks();
        let expected = "`LOG=ACT`, `LOG=ARM`, `LOG=INI` or `LOG=DWN`";
        cursor.expect("LOG=", expected)?;
        if cursor.eat("ACT") || cursor.eat("ARM") || cursor.eat("INI") {
            return Ok(true);
        }
        cursor.expect("DWN", expected).map(|()| false)
    }

    fn notice(&mut self, offset: usize, text: &'static str) {
        self.ledger.assume(Span { start: offset, end: offset }, text, "");
    }
}

fn side<'a>(cursor: &mut Cursor<'a>) -> Result<Side<'a>, ReadError> {
    cursor.blanks();
    let start = cursor.offset();
    cursor.expect("{", "`{` and a port: `{ SW Ports:24 SystemGUID:… }`")?;
    cursor.blanks();
    let kind = kind(cursor)?;
    let num_ports = hex::<u8>(cursor, "Ports:", "the number of ports, 01 to FE")?;
    let system = hex::<u64>(cursor, "SystemGUID:", "a GUID")?.value;
    let node = hex::<u64>(cursor, "NodeGUID:", "a GUID")?;
    let port = hex::<u64>(cursor, "PortGUID:", "a GUID")?;
    let vendor = hex::<u32>(cursor, "VenID:", "a vendor")?.value;
    let device = hex::<u32>(cursor, "DevID:", "a device")?.value;
    hex::<u32>(cursor, "Rev:", "a revision")?;
    let description = description(cursor)?;
    let lid = hex::<u16>(cursor, "LID:", "a LID")?;
    let num = hex::<u8>(cursor, "PN:", "a port number from 01 to FE")?;
    let at = cursor.since(start);
    cursor.blanks();
    cursor.expect("}", "`}` at the end of the port")?;
    Ok(Side {
        at,
        kind,
        num_ports,
        system: (system != 0).then_some(Guid(system)),
        node: Spanned { value: Guid(node.value), at: node.at },
        port: (port.value != 0).then_some(Spanned { value: Guid(port.value), at: port.at }),
        vendor,
        // Some writers print the 16 bits in the upper half of 32.
        device: if device & 0xffff == 0 { device >> 16 } else { device },
        description,
        lid: (lid.value != 0).then_some(Spanned { value: Lid(lid.value), at: lid.at }),
        num,
    })
}

fn kind(cursor: &mut Cursor<'_>) -> Result<Spanned<NodeKind>, ReadError> {
    let start = cursor.offset();
    let value = if cursor.eat("SW") {
        NodeKind::Switch
    } else if cursor.eat("CA") {
        NodeKind::Ca
    } else if cursor.eat("Rt") {
        NodeKind::Router
    } else {
        return Err(cursor.unexpected("a kind of node: `SW`, `CA` or `Rt`, with or without `-SM`"));
    };
    let at = cursor.since(start);
    cursor.eat("-SM");
    Ok(Spanned { value, at })
}

fn hex<T: TryFrom<u64>>(cursor: &mut Cursor<'_>, label: &str, expected: &str) -> Result<Spanned<T>, ReadError> {
    cursor.blanks();
    if !cursor.eat(label) {
        return Err(cursor.unexpected(&format!("`{label}` and {expected}")));
    }
    let before = cursor.clone();
    cursor.hex(expected).map_err(|_| before.unexpected(&format!("{expected}, in hexadecimal")))
}

/// `{name}`, up to the brace before the LID: a name may hold braces.
fn description<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, ReadError> {
    cursor.blanks();
    let expected = "a description in braces, then `LID:`";
    cursor.expect("{", expected)?;
    let rest = cursor.rest();
    let mut braces = rest.match_indices('}').map(|(at, _)| at);
    let end = braces.find(|&at| rest[at..].starts_with("} LID:")).ok_or_else(|| cursor.unexpected(expected))?;
    cursor.skip(end + 1);
    Ok(&rest[..end])
}

/// A word and its value; `None` for `??`, OpenSM's mark for unknown values.
fn known<T>(
    cursor: &mut Cursor<'_>,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, ReadError> {
    let rest = cursor.rest();
    let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
    let value = match word {
        "??" => None,
        _ => Some(parse(word).ok_or_else(|| cursor.unexpected(expected))?),
    };
    cursor.skip(word.len());
    Ok(value)
}

/// OpenSM prints the signalling rate of one lane in Gb/s.
pub(super) fn speed(word: &str) -> Option<LinkSpeed> {
    Some(match word {
        "2.5" => LinkSpeed::Sdr,
        "5" => LinkSpeed::Ddr,
        "10" => LinkSpeed::Qdr,
        "FDR10" => LinkSpeed::Fdr10,
        "14" => LinkSpeed::Fdr,
        "25" => LinkSpeed::Edr,
        "50" => LinkSpeed::Hdr,
        "100" => LinkSpeed::Ndr,
        "200" => LinkSpeed::Xdr,
        _ => return None,
    })
}

/// A node, merged from all its mentions.
struct Node<'a, 'b> {
    first: &'b Side<'a>,
    kind: NodeKind,
    vendor: u32,
    device: u32,
}

struct Nodes<'a, 'b> {
    list: Vec<Node<'a, 'b>>,
    by_guid: FxHashMap<Guid, usize>,
}

impl<'a, 'b> Nodes<'a, 'b> {
    /// The nodes of all lines, in the order of first mention; by line, whether it contradicts another.
    fn collect(ledger: &mut FaultLedger<'_>, links: &'b [Link<'a>]) -> (Nodes<'a, 'b>, Vec<bool>) {
        let source = ledger.source;
        let mut nodes = Nodes { list: Vec::new(), by_guid: FxHashMap::default() };
        let mut faulty = vec![false; links.len()];
        let sides =
            || links.iter().enumerate().flat_map(|(line, link)| link.sides.iter().map(move |side| (line, side)));
        for (line, side) in sides() {
            let next = nodes.list.len();
            let index = *nodes.by_guid.entry(side.node.value).or_insert(next);
            if index == next {
                nodes.list.push(Node { first: side, kind: side.kind.value, vendor: side.vendor, device: side.device });
            }
            if !ledger.is_full()
                && let Err(fault) = nodes.list[index].hear(source, side)
            {
                ledger.fault(fault);
                faulty[line] = true;
            }
        }
        for (line, side) in sides() {
            if !ledger.is_full()
                && let Err(fault) = nodes.list[nodes.by_guid[&side.node.value]].check_lid(source, side)
            {
                ledger.fault(fault);
                faulty[line] = true;
            }
        }
        (nodes, faulty)
    }

    /// Records the nodes that are named as neighbours only.
    fn note_missing(&self, ledger: &mut FaultLedger<'_>, links: &[Link<'_>]) {
        let own: FxHashSet<Guid> = links.iter().map(|link| link.sides[0].node.value).collect();
        for node in self.list.iter().filter(|node| !own.contains(&node.first.node.value)) {
            let Side { description, node: Spanned { value: guid, at }, .. } = node.first;
            let problem = format!("{} `{description}` ({guid}) has no line of its own", node.kind);
            let label =
                "named as a neighbour only: list the whole subnet, or accept what its neighbours state (--partial)";
            ledger.missing(*at, problem, label);
        }
    }

    fn account(&self, links: impl Iterator<Item = &'b Link<'a>>) -> ParsedFabric<'a> {
        let nodes = self.list.iter().map(Node::parsed).collect();
        let ports = links.map(|link| self.port(link)).collect();
        ParsedFabric { nodes, ports, both_ends: true, ..ParsedFabric::default() }
    }

    fn port(&self, link: &Link<'_>) -> ParsedPort {
        let [own, remote] = &link.sides;
        let [node, remote_node] = [own, remote].map(|side| self.by_guid[&side.node.value]);
        ParsedPort {
            at: own.num.at,
            node,
            num: own.num.value,
            own: own.end(),
            width: link.width,
            speed: link.speed,
            data_vls: None,
            remote: ParsedRemote { at: remote.num.at, node: remote_node, num: remote.num.value, end: remote.end() },
        }
    }
}

impl Side<'_> {
    fn end(&self) -> ParsedEnd {
        ParsedEnd { guid: self.port, lid: self.lid, lmc: Lmc::default() }
    }
}

impl<'a> Node<'a, '_> {
    /// Merges another mention of the node, or reports a contradiction.
    fn hear(&mut self, source: SourceText<'_>, side: &Side<'_>) -> Result<(), ReadError> {
        let first = self.first;
        let guid = side.node.value;
        if side.kind.value != first.kind.value {
            let problem = format!("node {guid} is described as two kinds of node");
            let label = "expected the kind that it is elsewhere";
            return Err(source.clash(side.kind.at, problem, label, (first.kind.at, "as stated here")));
        }
        if side.num_ports.value != first.num_ports.value {
            let problem = format!("node {guid} is described with two numbers of ports");
            let label = format!("expected {:02X}", first.num_ports.value);
            return Err(source.clash(side.num_ports.at, problem, label, (first.num_ports.at, "as stated here")));
        }
        let shares = |one: Option<u64>, other: Option<u64>| one.is_some() && one == other;
        let lid = |side: &Side<'_>| side.lid.map(|stated| u64::from(stated.value.0));
        let port = |side: &Side<'_>| side.port.map(|stated| stated.value.0);
        let forwards = shares(lid(side), lid(first)) || shares(port(side), port(first));
        if self.kind == NodeKind::Ca && side.num.value != first.num.value && forwards {
            self.kind = NodeKind::Switch;
        }
        self.vendor = if self.vendor == 0 { side.vendor } else { self.vendor };
        self.device = if self.device == 0 { side.device } else { self.device };
        Ok(())
    }

    /// A switch has one LID, whichever of its ports the file gives it on.
    fn check_lid(&self, source: SourceText<'_>, side: &Side<'_>) -> Result<(), ReadError> {
        match (side.lid, self.first.lid) {
            (Some(stated), Some(first)) if self.kind == NodeKind::Switch && stated.value != first.value => {
                let problem = format!("two LIDs for switch {}", side.node.value);
                let label = format!("expected {:04X}", first.value.0);
                Err(source.clash(stated.at, problem, label, (first.at, "as stated here")))
            }
            _ => Ok(()),
        }
    }

    fn parsed(&self) -> ParsedNode<'a> {
        let first = self.first;
        ParsedNode {
            at: Span { start: first.at.start, end: first.node.at.end },
            kind: self.kind,
            guid: first.node.value,
            num_ports: Some(first.num_ports.value),
            description: first.description.into(),
            system_guid: first.system,
            chassis: None,
            vendor_id: self.vendor,
            device_id: self.device,
            port_zero: PortZero::default(),
            zero: if self.kind == NodeKind::Switch { first.end() } else { ParsedEnd::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Reading, read_as};
    use crate::fabric::{LinkSpeed, LinkWidth, NodeId, NodeKind};
    use crate::ids::{Guid, Lid};

    fn side(kind: &str, guid: u64, port: u64, ids: &str, lid: u16, num: u8) -> String {
        format!(
            "{{ {kind} Ports:18 SystemGUID:{guid:016x} NodeGUID:{guid:016x} PortGUID:{port:016x} {ids} Rev:000000A0 \
             {{a }} b}} LID:{lid:04X} PN:{num:02x} }}"
        )
    }

    fn reading(text: &str) -> Reading {
        read_as(Format::SubnetLst, text.as_bytes(), "test").unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    const IDS: &str = "VenID:000002C9 DevID:B9240000";

    #[test]
    fn numbers_are_hexadecimal_and_one_direction_is_read_and_said_to_be_incomplete() {
        let (switch, router) =
            (side("SW-SM", 1, 1, "VenID:0002C9 DevID:B924", 0x1f, 0x0a), side("Rt", 16, 17, IDS, 0, 2));
        let Reading { fabric, notices, incomplete, .. } =
            reading(&format!("{switch} {router} PHY=12x LOG=ARM SPD=FDR10\n"));
        assert!(matches!(&notices[..], [one] if one.text.contains("only one of its ends")), "{notices:?}");
        let incomplete = incomplete.expect("the router has no line of its own");
        assert_eq!((incomplete.count(), incomplete.line()), (1, 1), "{incomplete}");
        let node = fabric.node(NodeId(0));
        assert_eq!((node.kind, node.num_ports, node.device_id), (NodeKind::Switch, 24, 0xb924));
        assert_eq!((node.description.as_str(), fabric.port(node.first_port).lid), ("a } b", Some(Lid(0x1f))));
        let port = fabric.port(fabric.end_ports().next().expect("the router's port"));
        assert_eq!((port.num.0, port.guid, port.lid), (2, Some(Guid(17)), None));
        assert_eq!((port.width, port.speed), (LinkWidth::X12, LinkSpeed::Fdr10));
        assert_eq!(fabric.node(NodeId(1)).device_id, 0xb924, "16 bits in the upper half of 32");
    }

    #[test]
    fn a_ca_that_shares_a_lid_among_ports_is_a_switch() {
        let a = |num| side("CA", 1, 1, IDS, 5, num);
        let text = format!(
            "{} {} PHY=4x LOG=ACT SPD=??\n{} {} PHY=?? LOG=ACT SPD=5\n",
            a(1),
            side("CA", 2, 3, IDS, 6, 1),
            a(2),
            side("CA", 2, 4, "VenID:0 DevID:0000", 7, 2)
        );
        let Reading { fabric, notices, .. } = reading(&text);
        let kinds: Vec<NodeKind> = fabric.nodes().map(|(_, node)| node.kind).collect();
        assert_eq!(kinds, [NodeKind::Switch, NodeKind::Ca]);
        assert_eq!(notices.len(), 4, "the switch, the speed, the width, links at one end: {notices:?}");
        let lids: Vec<_> = fabric.end_ports().map(|port| fabric.port(port).lid).collect();
        assert_eq!(lids, [Some(Lid(6)), Some(Lid(7))]);
    }

    #[test]
    fn a_port_that_is_down_has_no_link() {
        let (a, b, c) = (side("SW", 1, 1, IDS, 5, 1), side("CA", 2, 3, IDS, 6, 1), side("CA", 4, 5, IDS, 7, 1));
        let up = side("SW", 1, 1, IDS, 5, 2);
        let Reading { fabric, notices, .. } = reading(&format!(
            "{a} {b} PHY=4x LOG=DWN SPD=10\n{up} {c} PHY=4x LOG=INI SPD=10\n{c} {up} PHY=4x LOG=INI SPD=10\n"
        ));
        assert_eq!((fabric.node_count(), fabric.links().count()), (2, 1));
        assert_eq!(notices.iter().map(|notice| notice.line).collect::<Vec<_>>(), [1]);
    }
}
