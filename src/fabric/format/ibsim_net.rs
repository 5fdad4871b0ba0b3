//! ibsim's net files, read as ibsim 0.10 reads them, and written such that it loads them.
//!
//! Node names are arbitrary text; otherwise the format has the line grammar of ibnetdiscover, whose output ibsim loads
//! too. Missing values are assigned as by ibsim: switches get GUIDs from 0x200000 on, one each; CAs from 0x100000 and
//! routers from 0 on, one each and one for each port; `switchguid=`, `caguid=` (`hcaguids=`) and `rtguid=` set these
//! counters, with `+` relative to the last absolute value; port n of a CA has its node's GUID + n, a switch's port 0
//! its node's; the system's GUID is the node's; a vendor applies to one node, a device until the next is given; a
//! missing neighbour's port is 1; the description is the name. `width=`, `speed=`, `extspeed=` and `w=`, `s=`, `e=` are
//! masks of enabled values, by default 4x and SDR only; a link runs at the best that both ends enable. Both ends must
//! list a link. Differences from ibsim: a blank before the neighbour's `[port]` is allowed, as ibsim's own examples
//! document it; GUIDs in parentheses are used; a router's rate is read like a CA's; XDR exists; a line that ibsim would
//! skip is an error. Not read: `include` and aliases, which are errors; `do` and `pdebug`, which are commands for a
//! running simulator and yield a notice. Preserved: what ibnetdiscover's format preserves, but with one width and speed
//! for each link, and without an origin.

use super::assemble::{ParsedEnd, ParsedFabric, ParsedNode, ParsedPort};
use super::cursor::Cursor;
use super::diagnostic::{ReadError, SourceLine, SourceText, Span, Spanned};
use super::ibnetdiscover::{note_tail, parse_id, parsed_port};
use super::ledger::FaultLedger;
use super::lines::{self, Masks, NodeLine, PortLine, PrintedRate};
use super::print::{Dialect, Printer, node_id};
use crate::fabric::{Fabric, LinkSpeed, LinkWidth, NodeKind};
use crate::ids::Guid;
use rustc_hash::FxHashMap;

/// Reads a net file. What ibsim would refuse is a fault.
pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let source = ledger.source;
    let mut reader = Reader {
        source,
        ledger,
        account: ParsedFabric::default(),
        by_name: FxHashMap::default(),
        counters: [
            Counter { base: 0x20_0000, next: 0x20_0000, stated: false },
            Counter { base: 0x10_0000, next: 0x10_0000, stated: false },
            Counter { base: 0, next: 0, stated: false },
        ],
        pending: Pending::default(),
        defaults: Enabled { width: 2, speed: 1, extended: 0, fdr10: false },
        prefix: String::new(),
        section: None,
        port_lines: Vec::new(),
    };
    for line in source.lines() {
        if let Err(fault) = reader.line(line) {
            reader.ledger.fault(fault);
        }
        if reader.ledger.is_full() {
            break;
        }
    }
    reader.resolve();
    reader.account
}

/// GUIDs of one kind of node.
#[derive(Clone, Copy)]
struct Counter {
    /// The last one given as a number.
    base: u64,
    next: u64,
    /// Whether `next` was given for the next node.
    stated: bool,
}

/// Values for the next node.
#[derive(Default)]
struct Pending {
    vendor: u32,
    /// Remains for the nodes after it.
    device: u32,
    system: Option<Guid>,
    port: Option<Spanned<Guid>>,
}

/// What a port may negotiate; an extra bit of `extended`, 16, stands for XDR.
#[derive(Clone, Copy)]
struct Enabled {
    width: u8,
    speed: u8,
    extended: u8,
    fdr10: bool,
}

struct Reader<'a, 'l> {
    source: SourceText<'a>,
    ledger: &'l mut FaultLedger<'a>,
    account: ParsedFabric<'a>,
    by_name: FxHashMap<String, usize>,
    /// Switches, CAs, routers.
    counters: [Counter; 3],
    pending: Pending,
    defaults: Enabled,
    /// `module=`: goes before every name, with `#`.
    prefix: String,
    /// The node whose ports follow; none if it cannot be read, and its ports are left out with it.
    section: Option<usize>,
    port_lines: Vec<PortOf<'a>>,
}

/// A port line, the index of its node, its neighbour's full name and what it enables.
struct PortOf<'a> {
    node: usize,
    line: PortLine<'a>,
    neighbour: String,
    enabled: Enabled,
}

impl<'a> Reader<'a, '_> {
    fn line(&mut self, line: SourceLine<'a>) -> Result<(), ReadError> {
        let mut cursor = Cursor::new(self.source, line);
        if cursor.blanks() || cursor.rest().starts_with('#') {
            return Ok(());
        }
        if cursor.rest().starts_with('[') {
            return self.port(&mut cursor);
        }
        if cursor.rest().starts_with('@') {
            return Err(cursor.unexpected("a port without an alias: aliases are not read"));
        }
        match lines::node_keyword(cursor.rest()) {
            Some((kind, word)) => self.node(&mut cursor, kind, word),
            None => self.assignment(&mut cursor),
        }
    }

    fn assignment(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let keyword = cursor.rest();
        let is = |word: &str| keyword.starts_with(word);
        if is("switchguid") {
            self.guids(cursor, 0)
        } else if is("hcaguids") || is("caguid") {
            self.guids(cursor, 1)
        } else if is("rtguid") {
            self.guids(cursor, 2)
        } else if is("vendid") {
            self.pending.vendor = number(cursor, 0xff_ffff, "a vendor of 24 bits")? as u32;
            Ok(())
        } else if is("devid") {
            self.pending.device = number(cursor, 0xffff, "a device of 16 bits")? as u32;
            Ok(())
        } else if is("sysimgguid") {
            let guid = number(cursor, u64::MAX, "a GUID")?;
            self.pending.system = (guid != 0).then_some(Guid(guid));
            Ok(())
        } else if is("width") {
            self.defaults.width = mask(cursor, 1, 31, "a mask of widths, 1 to 31")?;
            Ok(())
        } else if is("speed") {
            self.defaults.speed = mask(cursor, 1, 7, "a mask of speeds, 1 to 7")?;
            Ok(())
        } else if is("extspeed") {
            self.defaults.extended = mask(cursor, 0, 15, "a mask of extended speeds, 0 to 15")?;
            Ok(())
        } else if is("module") {
            self.module(cursor)
        } else if is("do") || is("pdebug") {
            self.ledger.assume(cursor.here(), "a command for a running simulator is left out: ", keyword);
            Ok(())
        } else if is("include") {
            Err(cursor.unexpected("the file's contents in place of `include`, which is not followed"))
        } else {
            Err(cursor
                .unexpected("a node (`Switch 8 \"name\"`, `Hca`, `Rt`), one of its ports (`[1] …`) or an assignment"))
        }
    }

    /// `switchguid=0x…` or `switchguid+0x…`, with or without the port's GUID in parentheses.
    fn guids(&mut self, cursor: &mut Cursor<'a>, kind: usize) -> Result<(), ReadError> {
        let expected = "`=` or `+` and a GUID";
        cursor.skip(cursor.rest().find(['=', '+']).ok_or_else(|| cursor.unexpected(expected))?);
        let relative = cursor.rest().starts_with('+');
        cursor.skip(1);
        let guid = cursor.c_number(u64::MAX, expected)?.value;
        let counter = &mut self.counters[kind];
        counter.base = if relative { counter.base } else { guid };
        counter.next = if relative { counter.base.wrapping_add(guid) } else { guid };
        counter.stated = true;
        self.pending.port = cursor.guid_in_parentheses()?;
        end_or_comment(cursor)
    }

    fn module(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let expected = "`=` and a name in double quotes";
        cursor.skip(cursor.rest().find('"').ok_or_else(|| cursor.unexpected(expected))?);
        self.prefix = cursor.quoted(expected)?.value.to_string();
        end_or_comment(cursor)
    }

    fn node(&mut self, cursor: &mut Cursor<'a>, kind: NodeKind, word: usize) -> Result<(), ReadError> {
        let start = cursor.offset();
        cursor.skip(word);
        self.section = None;
        let line = lines::node_line(cursor, kind)?;
        let reserved = line.id.value.contains(['#', '@']);
        if reserved || line.id.value.is_empty() {
            let label = "expected a name that is not empty, without `#` and `@`, which ibsim reserves";
            return Err(self.source.error(line.id.at, format!("`{}` cannot be a name", line.id.value), label));
        }
        let index = self.account.nodes.len();
        let name = self.full_name(line.id.value);
        if let Some(&first) = self.by_name.get(&name) {
            let problem = format!("two nodes are named `{}`", line.id.value);
            let other = (self.account.nodes[first].at, "named here already");
            return Err(self.source.clash(line.id.at, problem, "expected each name once", other));
        }
        self.by_name.insert(name, index);
        let at = Span { start, end: line.id.at.end };
        note_tail(self.ledger, &line.tail);
        let node = self.parsed_node(&line, at);
        self.account.nodes.push(node);
        self.section = Some(index);
        Ok(())
    }

    fn parsed_node(&mut self, line: &NodeLine<'a>, at: Span) -> ParsedNode<'a> {
        let switch = line.kind == NodeKind::Switch;
        let counter = &mut self.counters[kind_index(line.kind)];
        let guid = Guid(counter.next);
        self.ledger.numbered |= !std::mem::take(&mut counter.stated);
        let step = if switch { 1 } else { u64::from(line.num_ports) + 1 };
        counter.next = counter.next.wrapping_add(step);
        let port = self.pending.port.take().unwrap_or(Spanned { value: guid, at });
        let zero = ParsedEnd { guid: Some(port), lid: line.tail.lid, lmc: line.tail.lmc.unwrap_or_default() };
        ParsedNode {
            at,
            kind: line.kind,
            guid,
            num_ports: Some(line.num_ports),
            description: line.tail.description.filter(|text| !text.is_empty()).unwrap_or(line.id.value).into(),
            system_guid: Some(self.pending.system.take().unwrap_or(guid)),
            chassis: None,
            vendor_id: std::mem::take(&mut self.pending.vendor),
            device_id: self.pending.device,
            port_zero: line.tail.port_zero.unwrap_or_default(),
            zero: if switch { zero } else { ParsedEnd::default() },
        }
    }

    fn port(&mut self, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
        let Some(section) = self.section else {
            return match self.ledger.has_faults() {
                true => Ok(()),
                false => Err(cursor.unexpected("a node before its ports")),
            };
        };
        let node = &self.account.nodes[section];
        let mut line = lines::port_line(cursor, node.kind != NodeKind::Switch)?;
        note_tail(self.ledger, &line.tail);
        if line.id.value.contains('@') {
            return Err(self.source.error(line.id.at, "aliases are not read", "expected a node's name"));
        }
        if node.kind != NodeKind::Switch {
            let assigned = Guid(node.guid.0.wrapping_add(line.num.value.into()));
            line.guid = line.guid.or(Some(Spanned { value: assigned, at: line.num.at }));
        }
        let neighbour = self.full_name(line.id.value);
        let enabled = self.defaults.with_masks(line.masks).with_rate(line.tail.rate);
        self.port_lines.push(PortOf { node: section, line, neighbour, enabled });
        Ok(())
    }

    fn full_name(&self, name: &str) -> String {
        if self.prefix.is_empty() || name.contains('#') { name.into() } else { format!("{}#{name}", self.prefix) }
    }

    /// Connects the port lines to their neighbours and determines each link's width and speed.
    fn resolve(&mut self) {
        let lines = std::mem::take(&mut self.port_lines);
        let by_port: FxHashMap<(usize, u8), usize> =
            lines.iter().enumerate().map(|(i, port)| ((port.node, port.line.num.value), i)).collect();
        for port in lines.iter() {
            if self.ledger.is_full() {
                break;
            }
            match self.resolved(port, &lines, &by_port) {
                Ok(port) => self.account.ports.extend(port),
                Err(fault) => self.ledger.fault(fault),
            }
        }
    }

    fn resolved(
        &self,
        port: &PortOf<'a>,
        lines: &[PortOf<'a>],
        by_port: &FxHashMap<(usize, u8), usize>,
    ) -> Result<Option<ParsedPort>, ReadError> {
        let line = &port.line;
        let Some(&remote) = self.by_name.get(&port.neighbour) else {
            let problem = format!("no node is named `{}`", port.neighbour);
            return Err(self.source.error(line.id.at, problem, "expected the name of a node of this file"));
        };
        let remote_num = line.remote_num.unwrap_or(Spanned { value: 1, at: line.id.at });
        let mut port_end = parsed_port(port.node, line, remote, remote_num);
        let beyond = self.account.nodes[remote].num_ports.is_some_and(|ports| remote_num.value > ports);
        match by_port.get(&(remote, remote_num.value)) {
            Some(&other) => {
                let Some(rate) = self.negotiate(port, &lines[other])? else { return Ok(None) };
                (port_end.width, port_end.speed) = (rate.width, rate.speed);
            }
            // The assembly reports the invalid port number.
            None if beyond => {}
            None => {
                let problem = format!(
                    "only one end of a link is described: port {} of `{}` is missing",
                    remote_num.value, port.neighbour
                );
                let label = "expected a line for that port too, which ibsim demands";
                let other = (self.account.nodes[remote].at, "below this node");
                return Err(self.source.clash(port_end.remote.at, problem, label, other));
            }
        }
        Ok(Some(port_end))
    }

    /// The best width and speed that both ends enable. If there is none, the first end's fault names both ends, and the
    /// second end has none.
    fn negotiate(&self, one: &PortOf<'_>, other: &PortOf<'_>) -> Result<Option<PrintedRate>, ReadError> {
        let common = one.enabled.common(other.enabled);
        if common.width().is_none() || common.speed().is_none() {
            if one.line.num.at.start > other.line.num.at.start {
                return Ok(None);
            }
            let what = if common.width().is_none() { "width" } else { "speed" };
            let problem = format!("the ends of a link enable no common {what}");
            let other = (other.line.num.at, format!("the other end: {}", other.enabled));
            let label = format!("expected one that the other end enables too; this end: {}", one.enabled);
            return Err(self.source.clash(one.line.num.at, problem, label, other));
        }
        Ok(Some(PrintedRate { width: common.width(), speed: common.speed() }))
    }
}

impl std::fmt::Display for Enabled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "w={} s={} e={}", self.width, self.speed, self.extended)
    }
}

impl Enabled {
    fn with_masks(self, masks: Masks) -> Enabled {
        // A mask of speeds of 0 stands for QDR.
        let speed = masks.speed.map(|speed| if speed == 0 { 4 } else { speed });
        Enabled {
            width: masks.width.unwrap_or(self.width),
            speed: speed.unwrap_or(self.speed),
            extended: masks.extended.unwrap_or(self.extended),
            fdr10: self.fdr10,
        }
    }

    /// What ibsim enables for a rate such as `4xEDR`: the rate itself and, for most widths and all speeds, the lower
    /// ones.
    fn with_rate(self, rate: Option<Spanned<PrintedRate>>) -> Enabled {
        let Some(PrintedRate { width, speed }) = rate.map(|port_end| port_end.value) else { return self };
        let width = width.map_or(self.width, |width| match width {
            LinkWidth::X1 => 1,
            LinkWidth::X2 => 16,
            LinkWidth::X4 => 3,
            LinkWidth::X8 => 4,
            LinkWidth::X12 => 11,
        });
        let Some(speed) = speed else { return Enabled { width, ..self } };
        let (speed, extended, fdr10) = match speed {
            LinkSpeed::Sdr => (1, self.extended, self.fdr10),
            LinkSpeed::Ddr => (3, self.extended, self.fdr10),
            LinkSpeed::Qdr => (7, self.extended, self.fdr10),
            LinkSpeed::Fdr10 => (7, self.extended, true),
            LinkSpeed::Fdr => (7, 1, true),
            LinkSpeed::Edr => (7, 3, true),
            LinkSpeed::Hdr => (7, 7, true),
            LinkSpeed::Ndr => (7, 15, true),
            LinkSpeed::Xdr => (7, 31, true),
        };
        Enabled { width, speed, extended, fdr10 }
    }

    fn common(self, other: Enabled) -> Enabled {
        Enabled {
            width: self.width & other.width,
            speed: self.speed & other.speed,
            extended: self.extended & other.extended,
            fdr10: self.fdr10 && other.fdr10,
        }
    }

    /// The widest.
    fn width(self) -> Option<LinkWidth> {
        let widths =
            [(8, LinkWidth::X12), (4, LinkWidth::X8), (2, LinkWidth::X4), (16, LinkWidth::X2), (1, LinkWidth::X1)];
        widths.into_iter().find(|(bit, _)| self.width & bit != 0).map(|(_, width)| width)
    }

    /// The fastest; none if not even a basic speed is there.
    fn speed(self) -> Option<LinkSpeed> {
        let extended = [LinkSpeed::Xdr, LinkSpeed::Ndr, LinkSpeed::Hdr, LinkSpeed::Edr, LinkSpeed::Fdr];
        let basic = match self.speed {
            speed if speed & 4 != 0 && self.fdr10 => LinkSpeed::Fdr10,
            speed if speed & 4 != 0 => LinkSpeed::Qdr,
            speed if speed & 2 != 0 => LinkSpeed::Ddr,
            speed if speed & 1 != 0 => LinkSpeed::Sdr,
            _ => return None,
        };
        let fastest = extended.into_iter().zip([16, 8, 4, 2, 1]).find(|(_, bit)| self.extended & bit != 0);
        Some(fastest.map_or(basic, |(speed, _)| speed))
    }
}

fn kind_index(kind: NodeKind) -> usize {
    match kind {
        NodeKind::Switch => 0,
        NodeKind::Ca => 1,
        NodeKind::Router => 2,
    }
}

/// The number after `=`.
fn number(cursor: &mut Cursor<'_>, most: u64, expected: &str) -> Result<u64, ReadError> {
    let sign = cursor.rest().find('=').ok_or_else(|| cursor.unexpected("`=` and a value"))?;
    cursor.skip(sign + 1);
    let value = cursor.c_number(most, expected)?.value;
    end_or_comment(cursor)?;
    Ok(value)
}

fn mask(cursor: &mut Cursor<'_>, least: u64, most: u64, expected: &str) -> Result<u8, ReadError> {
    let start = cursor.clone();
    let value = number(cursor, most, expected)?;
    if value < least { Err(start.unexpected(expected)) } else { Ok(value as u8) }
}

fn end_or_comment(cursor: &mut Cursor<'_>) -> Result<(), ReadError> {
    if cursor.blanks() || cursor.rest().starts_with('#') {
        return Ok(());
    }
    Err(cursor.unexpected("the end of the line or a `#` comment"))
}

/// The fabric as ibsim loads it; nodes have their descriptions as names if possible.
pub(super) fn write(fabric: &Fabric) -> String {
    let mut out = "# Net configuration for ibsim, written by reconfig\n".to_string();
    Printer { fabric, names: names(fabric), dialect: Dialect::Ibsim }.print(&mut out);
    out
}

/// A unique name for each node: its description if no other node has it and ibsim can read it, else its GUID.
fn names(fabric: &Fabric) -> Vec<String> {
    let mut uses: FxHashMap<&str, usize> = FxHashMap::default();
    for (_, node) in fabric.nodes() {
        *uses.entry(node.description.trim()).or_default() += 1;
    }
    let serves = |text: &str| {
        let readable = text.chars().all(|c| (c.is_ascii_graphic() || c == ' ') && !"\"#@[=".contains(c));
        // ibsim keeps 64 bytes of a name; one that looks like a GUID's name may be another node's.
        (1..=60).contains(&text.len()) && readable && uses[text] == 1 && parse_id(text).is_none()
    };
    let nodes = fabric.nodes().map(|(_, node)| node);
    nodes
        .map(|node| if serves(node.description.trim()) { node.description.trim().into() } else { node_id(node) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Format, read_as};
    use crate::fabric::{Fabric, LinkSpeed, LinkWidth, NodeId};
    use crate::ids::Guid;

    fn fabric(text: &str) -> Fabric {
        let reading = read_as(Format::IbsimNet, text.as_bytes(), "test");
        reading.unwrap_or_else(|error| panic!("{}", error.render(false))).fabric
    }

    #[test]
    fn guids_are_assigned_as_ibsim_does() {
        let fabric = fabric(
            "Hca 2 \"a\"\n[2] \"s\"[1]\n\nHca 1 \"b\"\n\nswitchguid=0x500\nvendid=0x2c9\ndevid=7\nSwitch 8 \"s\"\n[1] \"a\" [2]\n\n\
             Switch 2 \"t\"\n\nswitchguid+0x20\nsysimgguid=9\nSwitch 2 \"u\"\n\nRt 1 \"r\"\n",
        );
        let guids: Vec<u64> = fabric.nodes().map(|(_, node)| node.guid.0).collect();
        assert_eq!(guids, [0x10_0000, 0x10_0003, 0x500, 0x501, 0x520, 0]);
        let port = fabric.port(fabric.end_ports().next().expect("port 2 of a"));
        assert_eq!((port.num.0, port.guid), (2, Some(Guid(0x10_0002))));
        let ids: Vec<_> = fabric.nodes().skip(2).take(3).map(|(_, node)| (node.vendor_id, node.device_id)).collect();
        assert_eq!(ids, [(0x2c9, 7), (0, 7), (0, 7)], "a vendor holds for one node, a device until the next");
        let systems: Vec<_> = fabric.nodes().skip(3).map(|(_, node)| node.system_guid).collect();
        assert_eq!(systems, [Some(Guid(0x501)), Some(Guid(9)), Some(Guid(0))]);
    }

    /// The rate of the one link between two ports with these options.
    fn rate(defaults: &str, one: &str, other: &str) -> (LinkWidth, LinkSpeed) {
        let fabric = fabric(&format!("{defaults}\nSwitch 1 \"s\"\n[1] \"h\"{one}\n\nHca 1 \"h\"\n[1] \"s\"{other}\n"));
        let port = fabric.port(fabric.end_ports().next().expect("the CA's port"));
        (port.width, port.speed)
    }

    #[test]
    fn a_link_runs_at_the_best_that_both_ends_enable() {
        let (x1, x4, x12) = (LinkWidth::X1, LinkWidth::X4, LinkWidth::X12);
        assert_eq!(rate("", "[1]", ""), (x4, LinkSpeed::Sdr));
        assert_eq!(rate("width=11\nspeed=7", "[1]", " [1]"), (x12, LinkSpeed::Qdr));
        assert_eq!(rate("width=3", "[1] w=1 s=3", " [1] s=7"), (x1, LinkSpeed::Ddr));
        assert_eq!(rate("", "[1] s=0", "[1] # lid 3 lmc 0 \"s\" lid 1 4xQDR"), (x4, LinkSpeed::Qdr));
        assert_eq!(rate("extspeed=3\nspeed=7", "[1]", "[1]"), (x4, LinkSpeed::Edr));
        let (edr, fdr) = ("[1] # \"h\" lid 3 4xEDR", "[1] # lid 3 lmc 0 \"s\" lid 1 12xFDR");
        assert_eq!(rate("", edr, fdr), (x4, LinkSpeed::Fdr));
        assert_eq!(rate("", "[1] # \"h\" lid 3 4xFDR10", fdr), (x4, LinkSpeed::Fdr10));
    }

    #[test]
    fn a_module_goes_before_its_names() {
        let text = "module \"m\"\nSwitch 1 \"s\"\n[1] \"h\"[1]\n\nmodule=\"n\"\nHca 1 \"m#h\"\n";
        let refused = read_as(Format::IbsimNet, text.as_bytes(), "test").expect_err("`#` is reserved");
        assert_eq!(refused.line(), 6);
        let fabric = fabric("module=\"m\"\nSwitch 1 \"s\"\n[1] \"h\"[1]\n\nHca 1 \"h\"\nmodule=\"\"\n[1] \"m#s\"[1]\n");
        assert_eq!(fabric.neighbour(fabric.end_ports().next().expect("the CA's port")), Some(NodeId(0)));
    }
}
