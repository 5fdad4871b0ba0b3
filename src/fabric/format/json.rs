//! This project's own format, schema `reconfig.fabric/1`: everything that a [`Fabric`] holds, departed nodes included.
//!
//! One object; each node and each link has its own line, so that files can be compared line by line and errors have a
//! place. `ports` lists the ports that differ from an uncabled, unnamed 4xQDR port with eight data VLs. Links name
//! ports by node GUID and number. Unknown fields are errors.

use super::Reading;
use super::diagnostic::{ReadError, SourceText, Span};
use crate::fabric::{BuildError, Fabric, FabricBuilder, LinkSpeed, LinkWidth, Node, NodeId, NodeKind, Port, PortZero};
use crate::ids::{Guid, Lid, Lmc, PortNum};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The value of the field `schema`.
const SCHEMA: &str = "reconfig.fabric/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow<'a> {
    #[serde(borrow)]
    schema: &'a RawValue,
    origin: Option<OriginRow>,
    #[serde(borrow)]
    nodes: Vec<&'a RawValue>,
    #[serde(borrow)]
    links: Vec<&'a RawValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OriginRow {
    node: Guid,
    port: Guid,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeRow {
    kind: NodeKind,
    guid: Guid,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_guid: Option<Guid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chassis: Option<u8>,
    vendor_id: u32,
    device_id: u32,
    description: String,
    num_ports: u8,
    #[serde(default)]
    port_zero: PortZero,
    lft_capacity: u16,
    optimised_sl_to_vl: bool,
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    present: bool,
    ports: Vec<PortRow>,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PortRow {
    num: PortNum,
    #[serde(skip_serializing_if = "Option::is_none")]
    guid: Option<Guid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lid: Option<Lid>,
    #[serde(default)]
    lmc: Lmc,
    width: LinkWidth,
    speed: LinkSpeed,
    data_vls: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkRow {
    a: Guid,
    a_port: PortNum,
    b: Guid,
    b_port: PortNum,
}

/// Reads a fabric of this schema.
///
/// # Errors
/// Not JSON, another schema, unknown or missing fields, or contents that no fabric can have.
pub(super) fn read(source: SourceText<'_>) -> Result<Reading, ReadError> {
    let text = source.text.trim_start_matches('\u{feff}');
    let base = source.text.len() - text.len();
    let file: FileRow<'_> = serde_json::from_str(text).map_err(|error| syntax(source, base, text, &error))?;
    let reader = Reader { source };
    let schema = reader.element::<String>(file.schema)?;
    if schema != SCHEMA {
        let problem = format!("schema `{schema}` is not known");
        return Err(source.error(reader.place(file.schema), problem, format!("expected `{SCHEMA}`")));
    }
    let mut builder = FabricBuilder::new();
    if let Some(origin) = file.origin {
        builder.origin(origin.node, origin.port);
    }
    let mut by_guid = FxHashMap::default();
    for raw in &file.nodes {
        let row = reader.element::<NodeRow>(raw)?;
        if let Some((_, first)) = by_guid.insert(row.guid, (NodeId(builder.nodes().len() as u32), *raw)) {
            let (problem, first) = (format!("two nodes have GUID {}", row.guid), reader.node_place(first, row.guid));
            return Err(source.clash(
                reader.node_place(raw, row.guid),
                problem,
                "expected each node once",
                (first, "described here already"),
            ));
        }
        reader.node(&mut builder, raw, row)?;
    }
    for raw in &file.links {
        reader.link(&mut builder, &by_guid, raw)?;
    }
    let fabric = builder.build().map_err(|error| reader.whole(&by_guid, &error))?;
    Ok(Reading { fabric, notices: Vec::new(), incomplete: None, left_out: None, unanswered: 0, numbered: false })
}

struct Reader<'a> {
    source: SourceText<'a>,
}

type ByGuid<'a> = FxHashMap<Guid, (NodeId, &'a RawValue)>;

impl Reader<'_> {
    /// The place of an element in the file: it is a slice of the file's text.
    fn place(&self, raw: &RawValue) -> Span {
        let start = raw.get().as_ptr() as usize - self.source.text.as_ptr() as usize;
        Span { start, end: start + raw.get().len() }
    }

    /// The place of a node's GUID; the whole node if the GUID is not written in our form.
    fn node_place(&self, raw: &RawValue, guid: Guid) -> Span {
        let place = self.place(raw);
        let text = format!("\"{guid}\"");
        match raw.get().find(&text) {
            Some(at) => Span { start: place.start + at, end: place.start + at + text.len() },
            None => place,
        }
    }

    fn element<'de, T: Deserialize<'de>>(&self, raw: &'de RawValue) -> Result<T, ReadError> {
        serde_json::from_str(raw.get()).map_err(|error| syntax(self.source, self.place(raw).start, raw.get(), &error))
    }

    fn node(&self, builder: &mut FabricBuilder, raw: &RawValue, row: NodeRow) -> Result<(), ReadError> {
        if !(1..=254).contains(&row.num_ports) {
            let label = "expected 1 to 254 ports";
            return Err(self.source.error(
                self.node_place(raw, row.guid),
                format!("a node of {} ports", row.num_ports),
                label,
            ));
        }
        let id = builder.node(row.kind, row.guid, row.num_ports, row.description);
        let node = builder.node_mut(id);
        (node.system_guid, node.chassis) = (row.system_guid, row.chassis);
        (node.vendor_id, node.device_id) = (row.vendor_id, row.device_id);
        (node.port_zero, node.present) = (row.port_zero, row.present);
        (node.lft_capacity, node.optimised_sl_to_vl) = (row.lft_capacity, row.optimised_sl_to_vl);
        let mut seen = BTreeSet::new();
        for stated in row.ports {
            if !seen.insert(stated.num) {
                let problem = format!("port {} of node {} is described twice", stated.num, row.guid);
                return Err(self.source.error(self.node_place(raw, row.guid), problem, "expected each port once"));
            }
            let Some(port) = builder.port_mut(id, stated.num) else {
                let problem = format!("node {} has no port {}", row.guid, stated.num);
                let label = format!("expected ports from 0 to {}", row.num_ports);
                return Err(self.source.error(self.node_place(raw, row.guid), problem, label));
            };
            (port.guid, port.lid, port.lmc) = (stated.guid, stated.lid, stated.lmc);
            (port.width, port.speed, port.data_vls) = (stated.width, stated.speed, stated.data_vls);
        }
        Ok(())
    }

    fn link(&self, builder: &mut FabricBuilder, by_guid: &ByGuid<'_>, raw: &RawValue) -> Result<(), ReadError> {
        let row = self.element::<LinkRow>(raw)?;
        let ends = [(row.a, row.a_port), (row.b, row.b_port)];
        let mut known = Vec::with_capacity(2);
        for (guid, num) in ends {
            match by_guid.get(&guid) {
                Some(&(id, _)) if builder.nodes()[id.index()].present => known.push((id, num)),
                _ => {
                    let label = "expected the GUID of a node of this file that is present";
                    return Err(self.source.error(self.place(raw), format!("a link to {guid}"), label));
                }
            }
        }
        let clash = |problem: String| {
            self.source.error(self.place(raw), problem, "expected two ports that no other link names")
        };
        let ends: Vec<_> = known.iter().map(|&(id, num)| builder.port_mut(id, num).map(|port| port.clone())).collect();
        // The builder takes a cable that it knows already for the same one, stated at its other end.
        if ends.iter().flatten().any(|port| port.peer.is_some()) {
            return Err(clash(format!(
                "port {} of node {} is cabled twice, or its link is listed twice",
                row.a_port, row.a
            )));
        }
        let linked = builder.link(known[0], known[1], LinkWidth::default(), LinkSpeed::default());
        linked.map_err(|error| clash(error.to_string()))?;
        for (&(id, num), end) in known.iter().zip(ends) {
            if let (Some(port), Some(end)) = (builder.port_mut(id, num), end) {
                (port.width, port.speed) = (end.width, end.speed);
            }
        }
        Ok(())
    }

    /// An error of the whole, at the node that causes it.
    fn whole(&self, by_guid: &ByGuid<'_>, error: &BuildError) -> ReadError {
        let (guid, label) = match error {
            BuildError::LidRange { node, .. } => (Some(node), "expected LIDs from 1 to 49151"),
            BuildError::LidShared { second, .. } => (Some(second), "expected LIDs that no other port owns"),
            _ => (None, "expected a fabric without this fault"),
        };
        let place = guid.and_then(|guid| by_guid.get(guid).map(|(_, raw)| self.node_place(raw, *guid)));
        self.source.error(place.unwrap_or(Span { start: 0, end: 0 }), error.to_string(), label)
    }
}

/// serde_json's error in `text`, which begins at byte `base` of the source.
fn syntax(source: SourceText<'_>, base: usize, text: &str, error: &serde_json::Error) -> ReadError {
    let line = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let start = base + (line + error.column().saturating_sub(1)).min(text.len());
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or(&message);
    let (problem, label) = match message.split_once(", expected ") {
        Some((problem, expected)) => (problem, format!("expected {expected}")),
        None => (message, format!("expected JSON of schema `{SCHEMA}`")),
    };
    source.error(Span { start, end: start + 1 }, problem, label)
}

/// The fabric as one JSON object, a line a node and a line a link.
pub(super) fn write(fabric: &Fabric) -> String {
    let mut out = format!("{{\n  \"schema\": \"{SCHEMA}\",\n");
    if let Some((node, port)) = fabric.origin() {
        line(&mut out, "  \"origin\": ", &OriginRow { node, port }, ",\n");
    }
    let nodes = fabric.nodes().map(|(id, node)| node_row(fabric, id, node));
    list(&mut out, "nodes", nodes);
    out.push_str(",\n");
    let links = fabric.links().map(|(a, b)| {
        let (a, b) = (fabric.port(a), fabric.port(b));
        LinkRow { a: fabric.node(a.node).guid, a_port: a.num, b: fabric.node(b.node).guid, b_port: b.num }
    });
    list(&mut out, "links", links);
    out + "\n}\n"
}

fn list<T: Serialize>(out: &mut String, name: &str, rows: impl Iterator<Item = T>) {
    write!(out, "  \"{name}\": [").expect("a String takes every text");
    let mut before = "\n    ";
    for row in rows {
        line(out, before, &row, "");
        before = ",\n    ";
    }
    out.push_str(if before.starts_with(',') { "\n  ]" } else { "]" });
}

fn line<T: Serialize>(out: &mut String, before: &str, row: &T, after: &str) {
    out.push_str(before);
    out.push_str(&serde_json::to_string(row).expect("rows hold text, numbers and truth values only"));
    out.push_str(after);
}

fn node_row(fabric: &Fabric, id: NodeId, node: &Node) -> NodeRow {
    let ports = fabric.ports_of(id).map(|port| fabric.port(port)).filter(|port| !is_plain(port));
    NodeRow {
        kind: node.kind,
        guid: node.guid,
        system_guid: node.system_guid,
        chassis: node.chassis,
        vendor_id: node.vendor_id,
        device_id: node.device_id,
        description: node.description.clone(),
        num_ports: node.num_ports,
        port_zero: node.port_zero,
        lft_capacity: node.lft_capacity,
        optimised_sl_to_vl: node.optimised_sl_to_vl,
        present: node.present,
        ports: ports.map(port_row).collect(),
    }
}

/// Whether a port is as a builder creates it, its cable aside.
fn is_plain(port: &Port) -> bool {
    let named = port.guid.is_some() || port.lid.is_some() || port.lmc != Lmc::default();
    !named && (port.width, port.speed, port.data_vls) == (LinkWidth::default(), LinkSpeed::default(), 8)
}

fn port_row(port: &Port) -> PortRow {
    PortRow {
        num: port.num,
        guid: port.guid,
        lid: port.lid,
        lmc: port.lmc,
        width: port.width,
        speed: port.speed,
        data_vls: port.data_vls,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, read, write};

    /// As the writer lays it out; `jq -S` sorts the fields otherwise, which changes nothing.
    const SMALL: &str = r#"{
  "schema": "reconfig.fabric/1",
  "origin": {"node":"0x0000000000000002","port":"0x0000000000000003"},
  "nodes": [
    {"kind":"switch","guid":"0x0000000000000001","vendor_id":713,"device_id":1,"description":"a","num_ports":2,"port_zero":"base","lft_capacity":49152,"optimised_sl_to_vl":true,"ports":[{"num":0,"lid":1,"lmc":0,"width":"4x","speed":"QDR","data_vls":8}]},
    {"kind":"ca","guid":"0x0000000000000002","vendor_id":713,"device_id":2,"description":"b","num_ports":1,"port_zero":"base","lft_capacity":49152,"optimised_sl_to_vl":false,"ports":[{"num":1,"guid":"0x0000000000000003","lid":2,"lmc":1,"width":"1x","speed":"NDR","data_vls":4}]},
    {"kind":"router","guid":"0x0000000000000004","vendor_id":0,"device_id":0,"description":"","num_ports":1,"port_zero":"base","lft_capacity":49152,"optimised_sl_to_vl":false,"present":false,"ports":[]}
  ],
  "links": [
    {"a":"0x0000000000000001","a_port":1,"b":"0x0000000000000002","b_port":1}
  ]
}
"#;

    #[test]
    fn the_layout_is_fixed() {
        let fabric = read(SMALL.as_bytes(), "test").unwrap_or_else(|error| panic!("{}", error.render(false)));
        assert_eq!(write(&fabric, Format::Json).as_deref(), Ok(SMALL));
    }

    #[test]
    fn the_order_of_fields_does_not_matter() {
        let value: serde_json::Value = serde_json::from_str(SMALL).expect("JSON");
        let sorted = serde_json::to_string_pretty(&value).expect("JSON");
        assert!(sorted.find("links") < sorted.find("nodes"), "{sorted}");
        assert_eq!(read(sorted.as_bytes(), "test"), read(SMALL.as_bytes(), "test"));
    }

    #[test]
    fn a_link_to_a_departed_node_is_refused() {
        let text = SMALL.replace("\"b\":\"0x0000000000000002\"", "\"b\":\"0x0000000000000004\"");
        let error = read(text.as_bytes(), "test").expect_err("the router has left");
        assert_eq!((error.line(), error.column()), (10, 5));
    }
}
