//! The output of `ibnetdiscover` (infiniband-diags; layout of version 44), read and written.
//!
//! Read: chassis groups (`-g`), the fields of `--full`, tabs or blanks, missing LIDs, and the tool's own messages in
//! the same file. A node that is only mentioned as a neighbour is built from the mention, after all others. Not read:
//! names of chassis, external port numbers, reports other than the topology (`-l`, `-p`). Preserved: everything of a
//! node except its LFT capacity and its support of optimised SL-to-VL tables; of ports, the cabled ones. Nodes are
//! written in index order, without departed ones; the fields of `--full` only if some port does not have the usual
//! eight data VLs. Control characters in descriptions become blanks, as in the tool.

use super::assemble::{ParsedEnd, ParsedFabric, ParsedNode, ParsedPort, ParsedRemote};
use super::cursor::Cursor;
use super::diagnostic::{ReadError, SourceLine, SourceText, Span, Spanned};
use super::lines::{self, PortLine};
use super::print::{Dialect, Printer, node_id};
use super::{Notices, Reading};
use crate::fabric::{Fabric, NodeKind};
use crate::ids::Guid;
use rustc_hash::FxHashMap;

/// Reads what `ibnetdiscover` printed.
///
/// # Errors
/// The first line that cannot be parsed or contradicts another.
pub(super) fn read(source: SourceText<'_>) -> Result<Reading, ReadError> {
    let mut reader = Reader {
        source,
        account: ParsedFabric::default(),
        by_guid: FxHashMap::default(),
        ids: Ids::default(),
        port_lines: Vec::new(),
        notices: Notices::default(),
    };
    for line in source.lines() {
        reader.line(line)?;
    }
    reader.ids.none_left(source)?;
    reader.resolve()?;
    let fabric = reader.account.assemble(source)?;
    for at in reader.account.at_one_end() {
        reader.notices.add(source, at.start, "a link is described by only one of its ends", "");
    }
    Ok(Reading { fabric, notices: reader.notices.list() })
}

struct Reader<'a> {
    source: SourceText<'a>,
    account: ParsedFabric<'a>,
    /// Index of each node, later of each one only mentioned too.
    by_guid: FxHashMap<Guid, usize>,
    ids: Ids,
    /// Port lines with the index of their node; neighbours are resolved once all is read.
    port_lines: Vec<(usize, PortLine<'a>)>,
    notices: Notices,
}

/// The lines before a node line.
#[derive(Default)]
struct Ids {
    /// The first of them.
    at: Option<Span>,
    vendor: Option<u32>,
    device: Option<u32>,
    system: Option<Guid>,
    node: Option<Spanned<Guid>>,
    port: Option<Spanned<Guid>>,
}

impl Ids {
    fn none_left(&self, source: SourceText<'_>) -> Result<(), ReadError> {
        match self.at {
            Some(at) => Err(source.error(at, "a node is missing", "expected the node of these identifiers below them")),
            None => Ok(()),
        }
    }
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: SourceLine<'a>) -> Result<(), ReadError> {
        let mut cursor = Cursor::new(self.source, line);
        if cursor.blanks() {
            return Ok(());
        }
        let rest = cursor.rest();
        match rest.as_bytes()[0] {
            b'#' => self.comment(&mut cursor),
            b'[' => self.port(&mut cursor),
            b'A'..=b'Z' if lines::node_keyword(rest).is_some() => self.node(&mut cursor),
            _ if is_group(rest) => Ok(()),
            _ if is_message(rest) => {
                let detail = rest.trim_end();
                self.notices.add(self.source, cursor.offset(), "a message of the tool is left out: ", detail);
                Ok(())
            }
            _ => self.identifier(&mut cursor),
        }
    }

    fn comment(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        if cursor.eat("# Initiated from node ") {
            let node = cursor.guid()?.value;
            cursor.expect(" port ", "` port ` and a GUID")?;
            let port = cursor.guid()?.value;
            cursor.finish()?;
            self.account.origin = node.zip(port);
        }
        Ok(())
    }

    fn identifier(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let start = cursor.offset();
        let expected = "a node (`Switch 36 \"S-…\"`), one of its ports (`[1] …`), `vendid=`, `devid=`, `sysimgguid=`, `switchguid=`, `caguid=` or `rtguid=`";
        if cursor.eat("vendid=") {
            self.ids.vendor = Some(cursor.hex("a vendor in hexadecimal")?.value);
        } else if cursor.eat("devid=") {
            self.ids.device = Some(cursor.hex("a device in hexadecimal")?.value);
        } else if cursor.eat("sysimgguid=") {
            self.ids.system = cursor.guid()?.value;
        } else if cursor.eat("switchguid=") || cursor.eat("caguid=") || cursor.eat("rtguid=") {
            let guid = cursor.guid()?;
            self.ids.node = guid.value.map(|value| Spanned { value, at: guid.at });
            self.ids.port = cursor.guid_in_parentheses()?;
        } else {
            return Err(cursor.unexpected(expected));
        }
        if !cursor.blanks() && !cursor.rest().starts_with('#') {
            return Err(cursor.unexpected("the end of the line or a `#` comment"));
        }
        self.ids.at.get_or_insert(cursor.since(start));
        Ok(())
    }

    fn node(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let start = cursor.offset();
        let Some((kind, word)) = lines::node_keyword(cursor.rest()) else { return Ok(()) };
        cursor.skip(word);
        let line = lines::node_line(cursor, kind)?;
        let guid = self.id(line.id, kind)?;
        let ids = std::mem::take(&mut self.ids);
        if let Some(stated) = ids.node.filter(|stated| stated.value != guid) {
            let label = format!("expected {}", stated.value);
            return Err(self.source.clash(line.id.at, "two GUIDs for one node", label, (stated.at, "as stated here")));
        }
        let index = self.account.nodes.len();
        if let Some(first) = self.by_guid.insert(guid, index) {
            let problem = format!("node {guid} is described twice");
            let other = (self.account.nodes[first].at, "described here already");
            return Err(self.source.clash(line.id.at, problem, "expected each node once", other));
        }
        self.account.nodes.push(ParsedNode {
            at: Span { start, end: line.id.at.end },
            kind,
            guid,
            num_ports: Some(line.num_ports),
            description: line.tail.description.unwrap_or_default(),
            system_guid: ids.system,
            vendor_id: ids.vendor.unwrap_or_default(),
            device_id: ids.device.unwrap_or_default(),
            port_zero: line.tail.port_zero.unwrap_or_default(),
            zero: match kind {
                NodeKind::Switch => {
                    ParsedEnd { guid: ids.port, lid: line.tail.lid, lmc: line.tail.lmc.unwrap_or_default() }
                }
                _ => ParsedEnd::default(),
            },
        });
        Ok(())
    }

    fn port(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let Some(node) = self.account.nodes.last() else {
            return Err(cursor.unexpected("a node before its ports"));
        };
        self.ids.none_left(self.source)?;
        let line = lines::port_line(cursor, node.kind != NodeKind::Switch)?;
        self.port_lines.push((self.account.nodes.len() - 1, line));
        Ok(())
    }

    /// Kind and GUID in a name such as `S-0002c90300a1b2c0`, which must be of kind `kind`.
    fn id(&self, id: Spanned<&str>, kind: NodeKind) -> Result<Guid, ReadError> {
        let (prefix, what) = match kind {
            NodeKind::Switch => ('S', "a switch's"),
            NodeKind::Ca => ('H', "a CA's"),
            NodeKind::Router => ('R', "a router's"),
        };
        match parse_id(id.value) {
            Some((found, guid)) if found == kind => Ok(guid),
            _ => {
                let label = format!("expected {what} name: `{prefix}-` and the 16 hexadecimal digits of its GUID");
                Err(self.source.error(id.at, format!("unexpected name `{}`", id.value), label))
            }
        }
    }

    /// Connects the port lines to their neighbours, now that every node is known.
    fn resolve(&mut self) -> Result<(), ReadError> {
        for (node, line) in std::mem::take(&mut self.port_lines) {
            let remote = self.neighbour(&line)?;
            let Some(remote_num) = line.remote_num else {
                let at = line.id.at;
                return Err(self.source.error(
                    at,
                    "the neighbour's port is missing",
                    "expected `[` and its number behind",
                ));
            };
            self.notice_unknown_rate(&line);
            self.account.ports.push(parsed_port(node, &line, remote, remote_num));
        }
        Ok(())
    }

    /// The index of a line's neighbour; a mention creates the node.
    fn neighbour(&mut self, line: &PortLine<'a>) -> Result<usize, ReadError> {
        let Some((kind, guid)) = parse_id(line.id.value) else {
            let label = "expected `S-`, `H-` or `R-` and the 16 hexadecimal digits of the neighbour's GUID";
            return Err(self.source.error(line.id.at, format!("unexpected name `{}`", line.id.value), label));
        };
        let next = self.account.nodes.len();
        let index = *self.by_guid.entry(guid).or_insert(next);
        if index == next {
            self.account.nodes.push(mentioned(kind, guid, line));
        }
        let node = &self.account.nodes[index];
        if node.kind != kind {
            let label = "expected the kind of node that it is elsewhere";
            let problem = format!("node {guid} is described as two kinds of node");
            return Err(self.source.clash(line.id.at, problem, label, (node.at, "as stated here")));
        }
        Ok(index)
    }

    fn notice_unknown_rate(&mut self, line: &PortLine<'a>) {
        if let Some(stated) =
            line.tail.rate.filter(|stated| stated.value.width.is_none() || stated.value.speed.is_none())
        {
            let text = "the tool did not know the link's rate: what it left open is taken as 4xQDR";
            self.notices.add(self.source, stated.at.start, text, "");
        }
    }
}

fn mentioned<'a>(kind: NodeKind, guid: Guid, line: &PortLine<'a>) -> ParsedNode<'a> {
    let lid = line.tail.lid.filter(|_| kind == NodeKind::Switch);
    ParsedNode {
        at: line.id.at,
        kind,
        guid,
        num_ports: None,
        description: line.tail.description.unwrap_or_default(),
        system_guid: None,
        vendor_id: 0,
        device_id: 0,
        port_zero: Default::default(),
        zero: ParsedEnd { lid, ..ParsedEnd::default() },
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

/// Kind and GUID in `S-0002c90300a1b2c0`.
pub(super) fn parse_id(id: &str) -> Option<(NodeKind, Guid)> {
    let (prefix, digits) = id.split_at_checked(2)?;
    let kind = match prefix {
        "S-" => NodeKind::Switch,
        "H-" => NodeKind::Ca,
        "R-" => NodeKind::Router,
        _ => return None,
    };
    let plausible = digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    plausible.then(|| u64::from_str_radix(digits, 16).ok()).flatten().map(|guid| (kind, Guid(guid)))
}

/// Headings of `ibnetdiscover -g`, which the model ignores.
fn is_group(line: &str) -> bool {
    line.trim_end() == "Non-Chassis Nodes" || line.starts_with("Chassis ") || line.starts_with("Hostname: ")
}

/// What the tool and its libraries write to standard error: `src/query_smp.c:195; …`, `ibwarn: …`.
fn is_message(line: &str) -> bool {
    let of_discovery = line.split_once("; ").and_then(|(place, _)| place.rsplit_once(".c:"));
    ["ibwarn: ", "ibdebug: "].iter().any(|prefix| line.starts_with(prefix))
        || of_discovery.is_some_and(|(_, line)| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()))
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
        let Reading { fabric, notices } = reading(CHASSIS);
        let spine = fabric.node(NodeId(0));
        assert_eq!((spine.description.as_str(), spine.num_ports), ("spine \"1\" # a ", 24));
        assert_eq!((spine.port_zero, spine.system_guid), (PortZero::Enhanced, Some(Guid(0x8f104))));
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
        let Reading { fabric, notices } = reading(&cut);
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
