//! SL-to-VL tables: OpenSM's `opensm-sl2vl.dump`, by port GUID, and the rows that ibdmchk reads, by node GUID.
//!
//! ```text
//! Switch 0x0200000a00000000, base LID 1, "switch-1"
//! #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
//! 0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
//! Channel Adapter 0x0200000a01000001, base LID 17, "host-1 HCA-1"
//! 0   0   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
//! ```
//! ```text
//! 0x0002c90000000201 5 1 0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xe7
//! ```

use super::{PortGuids, Subject, decimal, guid, headline, node, quick, subject, unknown};
use crate::fabric::format::{Cursor, ReadError, SourceLine, SourceText, Span, check_lines, decode_any};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{PortNum, Vl};
use crate::tables::{NodeSlToVl, SlToVl};
use std::fmt::Write;
use std::sync::Arc;

/// The SL-to-VL tables of a file: of some nodes, for some of their (input, output) pairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlToVlDump {
    /// By node; none if the file does not mention it.
    nodes: Vec<Option<NodeTables>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct NodeTables {
    /// Ports, port 0 included.
    sides: usize,
    /// Input major.
    tables: Vec<Option<SlToVl>>,
}

impl SlToVlDump {
    /// The table from an input to an output; for a CA or router, from input 0 to the port. None if the file has none.
    pub fn get(&self, node: NodeId, input: PortNum, output: PortNum) -> Option<&SlToVl> {
        let of = self.nodes[node.index()].as_ref()?;
        of.tables.get(input.index() * of.sides + output.index())?.as_ref()
    }

    /// Returns whether the file mentions a node.
    pub fn tells_of(&self, node: NodeId) -> bool {
        self.nodes[node.index()].is_some()
    }
}

/// Reads SL-to-VL tables in OpenSM's format or in that of ibdmchk.
///
/// # Errors
/// The first line that cannot be parsed, contradicts another, or names something that the fabric lacks.
pub fn read_sl_to_vl(bytes: &[u8], file: &str, fabric: &Fabric) -> Result<SlToVlDump, ReadError> {
    let text = decode_any(bytes, file)?.text;
    let source = SourceText { file, text: &text };
    check_lines(source)?;
    let dump = SlToVlDump { nodes: vec![None; fabric.node_count()] };
    let mut reader = Reader { fabric, source, ports: PortGuids::of(fabric), current: None, dump };
    for line in source.lines() {
        match quick::sl_to_vl_row(line.text.as_bytes()) {
            Some((input, output, lanes)) => reader.row(line, input, output, lanes)?,
            None => reader.line(line)?,
        }
    }
    if reader.dump.nodes.iter().all(Option::is_none) {
        let end = Span { start: source.text.len(), end: source.text.len() };
        return Err(source.error(end, "the file ends without an SL-to-VL table", "expected a device"));
    }
    Ok(reader.dump)
}

struct Reader<'a> {
    fabric: &'a Fabric,
    source: SourceText<'a>,
    ports: PortGuids,
    current: Option<Subject>,
    dump: SlToVlDump,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: SourceLine<'a>) -> Result<(), ReadError> {
        let mut cursor = Cursor::new(self.source, line);
        if cursor.blanks() || cursor.rest().starts_with('#') {
            return Ok(());
        }
        if let Some(guid) = headline(&mut cursor)? {
            self.current = Some(subject(self.fabric, &self.ports, self.source, guid)?);
            return Ok(());
        }
        if cursor.rest().starts_with("0x") {
            return self.packed(line, cursor);
        }
        let [input, output] = ports(&mut cursor)?;
        cursor.blanks();
        cursor.expect(":", "`:` and sixteen VLs")?;
        let mut lanes = [0; 16];
        for lane in &mut lanes {
            cursor.blanks();
            *lane = decimal(&mut cursor, 15, "a VL from 0 to 15, one for each service level")?.value;
        }
        cursor.finish()?;
        self.row(line, input, output, lanes)
    }

    /// `0xGUID input output 0x01 0x23 …`: two lanes in each byte.
    fn packed(&mut self, line: SourceLine<'a>, mut cursor: Cursor<'a>) -> Result<(), ReadError> {
        let guid = guid(&mut cursor)?;
        let id = node(self.fabric, guid.value).ok_or_else(|| unknown(self.source, guid))?;
        let [input, output] = ports(&mut cursor)?;
        let mut lanes = [0; 16];
        for pair in lanes.chunks_exact_mut(2) {
            cursor.blanks();
            let byte = cursor.hex::<u8>("`0x` and two VLs, one hexadecimal digit each")?.value;
            pair.copy_from_slice(&[byte >> 4, byte & 15]);
        }
        cursor.finish()?;
        self.current = Some(Subject::Node(id));
        self.row(line, input, output, lanes)
    }

    fn row(&mut self, line: SourceLine<'_>, input: u8, output: u8, lanes: [u8; 16]) -> Result<(), ReadError> {
        let at = line.span();
        let Some(current) = self.current else {
            let label = "expected the line that names the device first";
            return Err(self.source.error(at, "an SL-to-VL table before any device", label));
        };
        // OpenSM prints the only table of an end port under input 0 and output 0.
        let (id, output) = match current {
            Subject::Port(port) if output == 0 => (self.fabric.port(port).node, self.fabric.port(port).num),
            Subject::Port(port) => (self.fabric.port(port).node, PortNum(output)),
            Subject::Node(id) => (id, PortNum(output)),
        };
        let known = self.fabric.node(id);
        let last_input = if known.is_switch() { known.num_ports } else { 0 };
        if input > last_input || output.0 > known.num_ports {
            let problem = format!("{} {:?} has no such ports", known.kind, self.fabric.describe_node(id));
            let label = format!("expected an input from 0 to {last_input}, an output from 0 to {}", known.num_ports);
            return Err(self.source.error(at, problem, label));
        }
        let sides = usize::from(known.num_ports) + 1;
        let size = sides * (usize::from(last_input) + 1);
        let of = self.dump.nodes[id.index()].get_or_insert_with(|| NodeTables { sides, tables: vec![None; size] });
        let slot = &mut of.tables[usize::from(input) * sides + output.index()];
        if slot.is_some() {
            let name = self.fabric.describe_node(id);
            let problem =
                format!("the SL-to-VL table of {name:?} from input {input} to output {output} is given twice");
            return Err(self.source.error(at, problem, "expected each (input, output) once"));
        }
        *slot = Some(SlToVl(lanes.map(Vl::masked)));
        Ok(())
    }
}

fn ports(cursor: &mut Cursor<'_>) -> Result<[u8; 2], ReadError> {
    let mut number = |expected| {
        cursor.blanks();
        decimal(cursor, 254, expected).map(|number| number.value)
    };
    Ok([number("an input port from 0 to 254")?, number("an output port from 0 to 254")?])
}

/// SL-to-VL tables, by node, in the form that ibdmchk reads (`-d`): a block for each present node, in index order; for
/// a switch from every input, port 0 included, to every cabled output.
pub fn write_sl_to_vl<'a>(fabric: &'a Fabric, tables: &'a [Arc<NodeSlToVl>]) -> impl Iterator<Item = String> + 'a {
    let present = fabric.nodes().filter(|(_, node)| node.present);
    present.map(move |(id, _)| block(fabric, id, &tables[id.index()]))
}

fn block(fabric: &Fabric, id: NodeId, tables: &NodeSlToVl) -> String {
    let node = fabric.node(id);
    let cabled = || fabric.ports_of(id).filter(|&port| fabric.peer(port).is_some()).map(|port| fabric.port(port).num);
    let inputs = std::iter::once(PortNum::ZERO).chain(cabled().filter(|_| node.is_switch()));
    let mut text = String::new();
    for (input, output) in inputs.flat_map(|input| cabled().map(move |output| (input, output))) {
        let pairs = tables.get(input, output).0;
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {input} {output}", node.guid);
        let bytes = pairs.chunks_exact(2).map(|pair| pair[0].get() << 4 | pair[1].get());
        bytes.for_each(|byte| _ = write!(text, " {byte:#04x}"));
        text.push('\n');
    }
    text
}
