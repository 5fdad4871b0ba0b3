//! The output of `ibnetdiscover` (infiniband-diags; layout of version 44), read and written.
//!
//! Read: chassis groups (`-g`), the fields of `--full`, the progress of `-s`, tabs or blanks, missing LIDs, and the
//! tool's own messages in the same file. A node that is only mentioned as a neighbour is built from the mention, after
//! all others, and makes the reading incomplete. Repaired: what a terminal added; LIDs that stand for none; names with
//! `0x` or without leading zeros; names that are no GUIDs, as in redacted captures, where the section or a number
//! derived from the name gives the GUID; lines without a rate; a comment that begins with `"`; `switchguid=` that
//! repeats a chassis' GUID, where neighbours use the name's; sections and lines given twice; links stated at one end.
//! Not read: names of chassis (their numbers are), external port numbers. Preserved: everything of a node except its
//! LFT capacity and its support of optimised SL-to-VL tables; of ports, the cabled ones. Nodes are written in index
//! order, without departed ones; the fields of `--full` only if some port does not have the usual eight data VLs.
//! Control characters in descriptions become blanks, as in the tool.

use super::assemble::{ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote, UNASSIGNED};
use super::cursor::Cursor;
use super::diagnostic::{ReadError, SourceLine, SourceText, Span, Spanned};
use super::ledger::FaultLedger;
use super::lines::{self, NodeLine, PortLine, Tail};
use super::noise::Noise;
use super::print::{Dialect, Printer, node_id};
use crate::fabric::{Fabric, NodeKind};
use crate::ids::Guid;
use rustc_hash::{FxHashMap, FxHashSet};

/// Reads what `ibnetdiscover` printed.
pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let source = ledger.source;
    let mut reader = Reader {
        source,
        ledger,
        account: ParsedFabric { both_ends: true, ..ParsedFabric::default() },
        by_guid: FxHashMap::default(),
        by_alias: FxHashMap::default(),
        ids: Ids::default(),
        group: None,
        section: Section::None,
        doubtful: Vec::new(),
        port_lines: Vec::new(),
        unrated: Vec::new(),
    };
    for line in source.lines() {
        if let Err(fault) = reader.line(line) {
            reader.ledger.fault(fault);
        }
        if reader.ledger.is_full() {
            break;
        }
    }
    reader.drop_ids();
    reader.settle_doubtful();
    reader.resolve();
    reader.account
}

/// The node to which port lines belong.
#[derive(Clone, Copy)]
enum Section {
    /// No node has come yet.
    None,
    /// The index of the node.
    Of(usize),
    /// That of a node that cannot be read, whose ports are left out with it.
    Unreadable,
}

struct Reader<'a, 'l> {
    source: SourceText<'a>,
    ledger: &'l mut FaultLedger<'a>,
    account: ParsedFabric<'a>,
    /// Index of each node, later of each one only mentioned too.
    by_guid: FxHashMap<Guid, usize>,
    /// Index of each node whose name is not a GUID.
    by_alias: FxHashMap<&'a str, usize>,
    ids: Ids,
    /// The chassis of the heading above.
    group: Option<u8>,
    section: Section,
    doubtful: Vec<Doubtful>,
    /// Port lines with the index of their node; neighbours are resolved once all is read.
    port_lines: Vec<(usize, PortLine<'a>)>,
    /// Those without a rate.
    unrated: Vec<Span>,
}

/// A section whose name and whose `switchguid=` state two GUIDs.
struct Doubtful {
    node: usize,
    name: Span,
    stated: Spanned<Guid>,
}

/// The lines before a node line.
#[derive(Default)]
struct Ids {
    /// The first of them.
    at: Option<Span>,
    vendor: Option<u32>,
    device: Option<u32>,
    system: Option<Guid>,
    chassis: Option<u8>,
    node: Option<Spanned<Guid>>,
    port: Option<Spanned<Guid>>,
}

impl<'a> Reader<'a, '_> {
    fn line(&mut self, line: SourceLine<'a>) -> Result<(), ReadError> {
        let mut cursor = Cursor::new(self.source, line);
        if cursor.blanks() {
            return Ok(());
        }
        let rest = cursor.rest();
        match rest.as_bytes() {
            [b'#', ..] => self.comment(&mut cursor),
            [b'"'] | [b'"', b' ' | b'\t', ..] => {
                self.ledger.repair(cursor.here(), lines::QUOTE_FOR_HASH, "");
                self.comment(&mut cursor)
            }
            [b'[', b'0'..=b'9', ..] => self.port(&mut cursor),
            [b'A'..=b'Z', ..] if lines::node_keyword(rest).is_some() => self.node(&mut cursor),
            _ if is_group(rest) => {
                if !rest.starts_with("Hostname: ") {
                    self.group = chassis(rest);
                }
                Ok(())
            }
            _ => match Noise::of(rest) {
                Some(noise) => {
                    noise.record(self.ledger, line.span(), rest);
                    Ok(())
                }
                None => self.identifier(&mut cursor),
            },
        }
    }

    /// Only the line that names the origin matters, and the fabric does not depend on it.
    fn comment(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let at = cursor.here();
        cursor.skip(1);
        if cursor.eat(" Initiated from node ") {
            match origin(cursor) {
                Ok(origin) => self.account.origin = origin,
                Err(_) => self.ledger.repair(at, "the origin of the capture cannot be read and is left out", ""),
            }
        }
        Ok(())
    }

    fn identifier(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let start = cursor.offset();
        let mut stated = None;
        let expected = "a node (`Switch 36 \"S-…\"`), one of its ports (`[1] …`), `vendid=`, `devid=`, `sysimgguid=`, `switchguid=`, `caguid=` or `rtguid=`";
        if cursor.eat("vendid=") {
            // Every section begins with this line.
            self.drop_ids();
            self.ids.vendor = Some(cursor.hex("a vendor in hexadecimal")?.value);
        } else if cursor.eat("devid=") {
            self.ids.device = Some(cursor.hex("a device in hexadecimal")?.value);
        } else if cursor.eat("sysimgguid=") {
            self.ids.system = cursor.guid()?.value;
            self.ids.chassis = cursor.rest().trim_start().strip_prefix("# ").and_then(chassis);
        } else if cursor.eat("switchguid=") || cursor.eat("caguid=") || cursor.eat("rtguid=") {
            let guid = cursor.guid()?;
            stated = Some((guid.value.map(|value| Spanned { value, at: guid.at }), cursor.guid_in_parentheses()?));
        } else {
            return Err(cursor.unexpected(expected));
        }
        if !cursor.blanks() && !cursor.rest().starts_with('#') {
            return Err(cursor.unexpected("the end of the line or a `#` comment"));
        }
        // A line that cannot be read to its end states nothing, so that it is reported as one fault.
        (self.ids.node, self.ids.port) = stated.unwrap_or((self.ids.node, self.ids.port));
        self.ids.at.get_or_insert(cursor.since(start));
        Ok(())
    }

    /// Reports identifiers that no node follows.
    fn drop_ids(&mut self) {
        if let Some(at) = std::mem::take(&mut self.ids).at {
            let label = "expected the node of these identifiers below them";
            self.ledger.fault(self.source.error(at, "a node is missing", label));
            self.section = Section::Unreadable;
        }
    }

    fn node(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let start = cursor.offset();
        let Some((kind, word)) = lines::node_keyword(cursor.rest()) else { return Ok(()) };
        cursor.skip(word);
        let ids = std::mem::take(&mut self.ids);
        let ids = Ids { chassis: ids.chassis.or(self.group), ..ids };
        self.section = Section::Unreadable;
        let line = lines::node_line(cursor, kind)?;
        let at = Span { start, end: line.id.at.end };
        note_tail(self.ledger, &line.tail);
        let guid = self.own_guid(line.id, kind, &ids)?;
        if let Some(&first) = self.by_guid.get(&guid) {
            return self.again(first, guid, &line);
        }
        let index = self.account.nodes.len();
        if let Some(stated) = ids.node.filter(|stated| stated.value != guid) {
            self.doubtful.push(Doubtful { node: index, name: line.id.at, stated });
        }
        self.by_guid.insert(guid, index);
        self.account.nodes.push(parsed_node(at, guid, &line, &ids));
        self.section = Section::Of(index);
        Ok(())
    }

    /// A second section of a node adds its ports to the first, where both say the same of the node.
    fn again(&mut self, first: usize, guid: Guid, line: &NodeLine<'a>) -> Result<(), ReadError> {
        let known = &self.account.nodes[first];
        let same = (known.kind, known.num_ports, &*known.description)
            == (line.kind, Some(line.num_ports), line.tail.description.unwrap_or_default());
        if !same {
            let problem = format!("node {guid} is described twice");
            let other = (known.at, "described here already");
            return Err(self.source.clash(line.id.at, problem, "expected each node once", other));
        }
        self.ledger.repair(line.id.at, "a section of a node that has one already is joined with it", "");
        self.section = Section::Of(first);
        Ok(())
    }

    fn port(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        self.drop_ids();
        let node = match self.section {
            Section::None => return Err(cursor.unexpected("a node before its ports")),
            Section::Unreadable => return Ok(()),
            Section::Of(node) => node,
        };
        let line = lines::port_line(cursor, self.account.nodes[node].kind != NodeKind::Switch)?;
        note_tail(self.ledger, &line.tail);
        self.port_lines.push((node, line));
        Ok(())
    }

    /// The GUID of a section's node: that of its name, else that of the line above, else one made from the name.
    fn own_guid(&mut self, id: Spanned<&'a str>, kind: NodeKind, ids: &Ids) -> Result<Guid, ReadError> {
        let (prefix, what) = match kind {
            NodeKind::Switch => ('S', "a switch's"),
            NodeKind::Ca => ('H', "a CA's"),
            NodeKind::Router => ('R', "a router's"),
        };
        match Name::of(id.value) {
            Some(Name::Guid { kind: named, guid, odd }) if named == kind => {
                self.note_odd(id.at, odd);
                Ok(guid)
            }
            Some(Name::Alias { kind: named, text }) if named == kind => {
                if let Some(&first) = self.by_alias.get(text) {
                    return Ok(self.account.nodes[first].guid);
                }
                let text_only = "names that are no GUIDs are numbered";
                let stated = "a name that is no GUID stands for the GUID on the line above";
                self.ledger.repair(id.at, if ids.node.is_some() { stated } else { text_only }, "");
                self.by_alias.insert(text, self.account.nodes.len());
                Ok(ids.node.map_or_else(|| self.derived(text), |stated| stated.value))
            }
            _ => {
                let label = format!("expected {what} name: `{prefix}-` and the 16 hexadecimal digits of its GUID");
                Err(self.source.error(id.at, format!("unexpected name `{}`", id.value), label))
            }
        }
    }

    fn note_odd(&mut self, at: Span, odd: bool) {
        if odd {
            self.ledger.repair(at, "a name with `0x` or without leading zeros is read as the GUID that it is", "");
        }
    }

    /// A GUID for a name that is none: locally assigned, no other node's, and the same in every capture with that name.
    fn derived(&self, name: &str) -> Guid {
        // FNV-1a, folded to the 32 bits that are free.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let wanted = 0x0200_00ff_0000_0000 | ((hash ^ hash >> 32) & 0xffff_ffff);
        (wanted..).map(Guid).find(|guid| !self.by_guid.contains_key(guid)).unwrap_or(Guid(wanted))
    }

    /// Decides between two GUIDs of a section: neighbours use the one that counts.
    fn settle_doubtful(&mut self) {
        let named = self.port_lines.iter().filter_map(|(_, line)| Name::of(line.id.value));
        let named: FxHashSet<Guid> = named.filter_map(Name::guid).collect();
        for Doubtful { node, name, stated } in std::mem::take(&mut self.doubtful) {
            let known = &mut self.account.nodes[node];
            let of_chassis = known.system_guid == Some(stated.value) || !named.contains(&stated.value);
            if named.contains(&known.guid) && of_chassis {
                known.zero.guid = known.zero.guid.filter(|port| port.value != stated.value);
                let text =
                    "`switchguid=` or `caguid=` is another's, such as the chassis': the name's GUID is the node's";
                self.ledger.repair(stated.at, text, "");
                continue;
            }
            let label = format!("expected {}", stated.value);
            let other = (stated.at, "as stated here");
            self.ledger.fault(self.source.clash(name, "two GUIDs for one node", label, other));
        }
    }

    /// Connects the port lines to their neighbours, now that every node is known.
    fn resolve(&mut self) {
        for (node, line) in std::mem::take(&mut self.port_lines) {
            if self.ledger.is_full() {
                break;
            }
            match self.resolved(node, &line) {
                Ok(port) => self.account.ports.push(port),
                Err(fault) => self.ledger.fault(fault),
            }
        }
        self.note_unrated();
    }

    /// Records the lines without a rate. Where no line has one, the tool did not print it, and nothing was lost.
    fn note_unrated(&mut self) {
        if self.unrated.len() == self.account.ports.len() {
            let kind = "no line has a rate: every link is taken as 4xQDR";
            self.unrated.first().into_iter().for_each(|&at| self.ledger.assume(at, kind, ""));
            return;
        }
        let kind = "a line without a rate has that of the link's other end, else 4xQDR";
        self.unrated.iter().for_each(|&at| self.ledger.repair(at, kind, ""));
    }

    fn resolved(&mut self, node: usize, line: &PortLine<'a>) -> Result<ParsedPort, ReadError> {
        let Some(remote_num) = line.remote_num else {
            let label = "expected `[` and its number behind";
            return Err(self.source.error(line.id.at, "the neighbour's port is missing", label));
        };
        let remote = self.neighbour(line)?;
        self.note_unknown_rate(line);
        Ok(parsed_port(node, line, remote, remote_num))
    }

    /// The index of a line's neighbour; a mention creates the node.
    fn neighbour(&mut self, line: &PortLine<'a>) -> Result<usize, ReadError> {
        let next = self.account.nodes.len();
        let (kind, index) = match Name::of(line.id.value) {
            Some(Name::Guid { kind, guid, odd }) => {
                self.note_odd(line.id.at, odd);
                let index = *self.by_guid.entry(guid).or_insert(next);
                if index == next {
                    self.account.nodes.push(mentioned(kind, guid, line));
                }
                (kind, index)
            }
            Some(Name::Alias { kind, text }) => {
                let index = *self.by_alias.entry(text).or_insert(next);
                if index == next {
                    let guid = self.derived(text);
                    self.by_guid.insert(guid, next);
                    self.account.nodes.push(mentioned(kind, guid, line));
                }
                (kind, index)
            }
            None => {
                let label = "expected `S-`, `H-` or `R-` and the 16 hexadecimal digits of the neighbour's GUID";
                return Err(self.source.error(line.id.at, format!("unexpected name `{}`", line.id.value), label));
            }
        };
        let node = &self.account.nodes[index];
        if node.kind != kind {
            let label = "expected the kind of node that it is elsewhere";
            let problem = format!("node {} is described as two kinds of node", node.guid);
            return Err(self.source.clash(line.id.at, problem, label, (node.at, "as stated here")));
        }
        Ok(index)
    }

    fn note_unknown_rate(&mut self, line: &PortLine<'a>) {
        if line.tail.rate.is_none() {
            self.unrated.push(line.num.at);
        }
        if let Some(stated) =
            line.tail.rate.filter(|stated| stated.value.width.is_none() || stated.value.speed.is_none())
        {
            let text =
                "the tool did not know the link's rate: what it left open is that of the other end, else of 4xQDR";
            self.ledger.assume(stated.at, text, "");
        }
    }
}

/// Records LIDs that stand for none, and a comment that begins with another sign.
pub(super) fn note_tail(ledger: &mut FaultLedger<'_>, tail: &Tail<'_>) {
    tail.unassigned.iter().for_each(|&at| ledger.repair(at, UNASSIGNED, ""));
    tail.quote.into_iter().for_each(|at| ledger.repair(at, lines::QUOTE_FOR_HASH, ""));
}

/// The GUIDs in `# Initiated from node 0002c90300a1b2c0 port 0002c90300a1b2c1`, from the first on.
fn origin(cursor: &mut Cursor<'_>) -> Result<Option<(Guid, Guid)>, ReadError> {
    let node = cursor.guid()?.value;
    cursor.expect(" port ", "` port ` and a GUID")?;
    let port = cursor.guid()?.value;
    cursor.finish()?;
    Ok(node.zip(port))
}

fn parsed_node<'a>(at: Span, guid: Guid, line: &NodeLine<'a>, ids: &Ids) -> ParsedNode<'a> {
    ParsedNode {
        at,
        kind: line.kind,
        guid,
        num_ports: Some(line.num_ports),
        description: line.tail.description.unwrap_or_default().into(),
        system_guid: ids.system,
        chassis: ids.chassis,
        vendor_id: ids.vendor.unwrap_or_default(),
        device_id: ids.device.unwrap_or_default(),
        port_zero: line.tail.port_zero.unwrap_or_default(),
        zero: match line.kind {
            NodeKind::Switch => {
                ParsedEnd { guid: ids.port, lid: line.tail.lid, lmc: line.tail.lmc.unwrap_or_default() }
            }
            _ => ParsedEnd::default(),
        },
    }
}

fn mentioned<'a>(kind: NodeKind, guid: Guid, line: &PortLine<'a>) -> ParsedNode<'a> {
    let lid = line.tail.lid.filter(|_| kind == NodeKind::Switch);
    ParsedNode {
        zero: ParsedEnd { lid, ..ParsedEnd::default() },
        ..ParsedNode::bare(line.id.at, kind, guid, None, line.tail.description.unwrap_or_default())
    }
}

/// A port line whose neighbour is known, as the assembly wants it.
pub(super) fn parsed_port(node: usize, line: &PortLine<'_>, remote: usize, remote_num: Spanned<u8>) -> ParsedPort {
    let rate = line.tail.rate.map(|stated| stated.value);
    ParsedPort {
        at: line.num.at,
        node,
        num: line.num.value,
        own: ParsedEnd { guid: line.guid, lid: line.tail.own_lid, lmc: line.tail.lmc.unwrap_or_default() },
        width: rate.and_then(|rate| rate.width),
        speed: rate.and_then(|rate| rate.speed),
        data_vls: line.tail.data_vls,
        remote: ParsedRemote {
            at: Span { start: line.id.at.start, end: remote_num.at.end },
            node: remote,
            num: remote_num.value,
            end: ParsedEnd { guid: line.remote_guid, lid: line.tail.lid, ..ParsedEnd::default() },
        },
    }
}

/// What a name such as `S-0002c90300a1b2c0` states.
enum Name<'a> {
    /// `odd`: not spelt with 16 digits.
    Guid { kind: NodeKind, guid: Guid, odd: bool },
    /// Another text behind the prefix, as redacted captures have it.
    Alias { kind: NodeKind, text: &'a str },
}

impl<'a> Name<'a> {
    fn of(id: &'a str) -> Option<Name<'a>> {
        let (prefix, digits) = id.trim().split_at_checked(2)?;
        let kind = match prefix {
            "S-" => NodeKind::Switch,
            "H-" => NodeKind::Ca,
            "R-" => NodeKind::Router,
            _ => return None,
        };
        let bare = digits.strip_prefix("0x").or(digits.strip_prefix("0X")).unwrap_or(digits);
        let hexadecimal = (1..=16).contains(&bare.len()) && bare.bytes().all(|b| b.is_ascii_hexdigit());
        match u64::from_str_radix(bare, 16) {
            Ok(guid) if hexadecimal => Some(Name::Guid { kind, guid: Guid(guid), odd: digits.len() != 16 }),
            _ if digits.is_empty() => None,
            _ => Some(Name::Alias { kind, text: id.trim() }),
        }
    }

    fn guid(self) -> Option<Guid> {
        match self {
            Name::Guid { guid, .. } => Some(guid),
            Name::Alias { .. } => None,
        }
    }
}

/// Kind and GUID in `S-0002c90300a1b2c0`, spelt like that.
pub(super) fn parse_id(id: &str) -> Option<(NodeKind, Guid)> {
    match Name::of(id) {
        Some(Name::Guid { kind, guid, odd: false }) => Some((kind, guid)),
        _ => None,
    }
}

/// The number in `Chassis 1 (guid 0x…)`.
fn chassis(text: &str) -> Option<u8> {
    let number = text.strip_prefix("Chassis ")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Headings of `ibnetdiscover -g`.
fn is_group(line: &str) -> bool {
    line.trim_end() == "Non-Chassis Nodes" || line.starts_with("Chassis ") || line.starts_with("Hostname: ")
}

/// The fabric as `ibnetdiscover` prints it.
pub(super) fn write(fabric: &Fabric) -> String {
    let mut out = "#\n# Topology file: generated by reconfig\n#\n".to_string();
    if let Some((node, port)) = fabric.origin() {
        out += &format!("# Initiated from node {:016x} port {:016x}\n", node.0, port.0);
    }
    let names = fabric.nodes().map(|(_, node)| node_id(node)).collect();
    Printer { fabric, names, dialect: Dialect::Ibnetdiscover }.print(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Reading, read_as, write};
    use crate::fabric::{LinkSpeed, LinkWidth, NodeId, NodeKind, PortZero};
    use crate::ids::{Guid, Lid, PortNum};

    fn reading(text: &str) -> Reading {
        read_as(Format::Ibnetdiscover, text.as_bytes(), "test")
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    /// As `ibnetdiscover -g --full` prints a chassis.
    const CHASSIS: &str = r#"ibwarn: [1] mad_rpc: timed out
#
# Topology file: generated on Sun Oct  5 21:59:42 2014
#
# Initiated from node 0000000000000020 port 0000000000000021

Chassis 1 (guid 0x8f10400410015)
Hostname: head

# Spine Nodes
vendid=0x8f1
devid=0x5a05
sysimgguid=0x8f104		# Chassis 1 (big # one) slot 3
switchguid=0x10(11)	# Spine 1 Chip 2
Switch	24 "S-0000000000000010"		# "spine "1" # a " enhanced port 0 lid 3 lmc 1
[1][ext 7]	"H-0000000000000020"[2][ext 1](22) 		# "head" lid 0 1xSDR s=1 w=1 v=3 slot 1
[2]	"R-0000000000000030"[1](31) 		# "way out" lid 9 ??NDR

Non-Chassis Nodes

vendid=0x8f1
devid=0x5a05
caguid=0x20
Ca	2 "H-0000000000000020"		# "head" (scp)
[2](22) 	"S-0000000000000010"[1][ext 7]		# lid 0 lmc 0 "spine "1" # a " lid 3 1xSDR s=1 w=1 v=1
"#;

    #[test]
    fn chassis_full_fields_and_odd_descriptions_are_read() {
        let Reading { fabric, notices, .. } = reading(CHASSIS);
        let spine = fabric.node(NodeId(0));
        assert_eq!((spine.description.as_str(), spine.num_ports), ("spine \"1\" # a ", 24));
        assert_eq!((spine.port_zero, spine.system_guid), (PortZero::Enhanced, Some(Guid(0x8f104))));
        assert_eq!((spine.chassis, fabric.node(NodeId(1)).chassis), (Some(1), None));
        let again = reading(&write(&fabric, Format::Ibnetdiscover).expect("a format that is written")).fabric;
        assert_eq!(again.node(NodeId(0)).chassis, Some(1), "the number of a chassis is kept");
        let zero = fabric.port(spine.first_port);
        assert_eq!((zero.guid, zero.lid, zero.lmc.get()), (Some(Guid(0x11)), Some(Lid(3)), 1));
        let one = fabric.port(fabric.port_at(NodeId(0), PortNum(1)).expect("port 1"));
        assert_eq!((one.width, one.speed, one.data_vls), (LinkWidth::X1, LinkSpeed::Sdr, 4));
        let head = fabric.port(one.peer.expect("a cable"));
        assert_eq!((head.guid, head.lid, head.data_vls), (Some(Guid(0x22)), None, 1));
        assert_eq!(fabric.origin(), Some((Guid(0x20), Guid(0x21))));
        assert_eq!(notices.len(), 2, "the message and the width that the tool did not know: {notices:?}");
    }

    #[test]
    fn a_node_only_mentioned_is_what_its_neighbours_tell() {
        let fabric = reading(CHASSIS).fabric;
        let (id, node) = fabric.nodes().last().expect("three nodes");
        assert_eq!((node.kind, node.guid, node.num_ports), (NodeKind::Router, Guid(0x30), 1));
        assert_eq!(node.description, "way out");
        let port = fabric.port(fabric.port_at(id, PortNum(1)).expect("port 1"));
        assert_eq!((port.guid, port.lid, port.speed), (Some(Guid(0x31)), Some(Lid(9)), LinkSpeed::Ndr));
    }

    #[test]
    fn early_versions_print_descriptions_bare() {
        let text = "Switch\t8 \"S-0000000000000010\"\t# SW-6IB4 Voltaire base port 0 lid 3 lmc 0\n\
                    [6]\t\"H-0000000000000020\"[1]\t# MT23108 InfiniHost lid 16 4xSDR\n";
        let fabric = reading(text).fabric;
        let descriptions: Vec<&str> = fabric.nodes().map(|(_, node)| node.description.as_str()).collect();
        assert_eq!(descriptions, ["SW-6IB4 Voltaire", "MT23108 InfiniHost"]);
        assert_eq!(fabric.port(fabric.end_ports().next().expect("the CA's port")).lid, Some(Lid(16)));
    }

    #[test]
    fn a_link_that_the_neighbours_section_lacks_is_noticed() {
        let cut = CHASSIS.lines().filter(|line| !line.starts_with("[2](22)")).collect::<Vec<_>>().join("\n");
        let Reading { fabric, notices, .. } = reading(&cut);
        assert_eq!(fabric.links().count(), 2);
        assert!(
            notices.iter().any(|notice| notice.line == 16 && notice.text.contains("one of its ends")),
            "{notices:?}"
        );
    }

    #[test]
    fn data_vls_other_than_eight_are_written_as_the_full_form_has_them() {
        let written = write(&reading(CHASSIS).fabric, Format::Ibnetdiscover).expect("a format that is written");
        assert!(written.contains("# \"head\" lid 0 1xSDR s=1 w=1 v=3\n"), "{written}");
        assert!(
            !write(&reading(&CHASSIS.replace(" v=3", "").replace(" v=1", "")).fabric, Format::Ibnetdiscover)
                .expect("a format that is written")
                .contains(" v=")
        );
    }
}
