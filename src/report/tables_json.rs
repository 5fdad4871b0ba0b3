//! A routing as one JSON document, schema `reconfig.tables/1`: LIDs, forwarding tables and service levels, by GUID. In
//! parts, a line for each device, for whole tables are large.

use reconfig::change::Routed;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, Lid};
use serde::Serialize;

#[derive(Serialize)]
struct Head<'a> {
    schema: &'static str,
    engine: &'a str,
    root: Option<Guid>,
    layers: u8,
    data_vls: u8,
}

/// LIDs of a port: `lids` of them from `lid` on. Port 0 is a switch's own.
#[derive(Serialize)]
struct PortLids {
    node: Guid,
    port: u8,
    name: String,
    lid: Option<u16>,
    lids: u16,
}

/// Forwarding: pairs of LID and output port. Lanes: sixteen of the steady table.
#[derive(Serialize)]
struct SwitchTable {
    node: Guid,
    name: String,
    forwarding: Vec<(u16, u8)>,
    sl_to_vl: Vec<u8>,
}

/// Pairs of DLID and service level; a LID that is not listed is not for this source.
#[derive(Serialize)]
struct SourceLevels {
    node: Guid,
    port: u8,
    levels: Vec<(u16, u8)>,
}

/// The document, in parts. Service levels are left out where all are those of the half.
pub fn tables_json(routed: &Routed) -> impl Iterator<Item = String> + '_ {
    let (fabric, function) = (&routed.fabric, &routed.function);
    let head = Head {
        schema: "reconfig.tables/1",
        engine: function.engine(),
        root: function.root().map(|root| fabric.node(root).guid),
        layers: function.layers(),
        data_vls: routed.data_vls,
    };
    let head = object(&head);
    let opening = format!("{},\n\"ports\": [\n", head.trim_end_matches('}'));
    let ports = rows(fabric.lid_ports().map(|port| object(&port_lids(fabric, port))));
    let switches = rows(fabric.switches().map(|switch| object(&switch_table(routed, switch))));
    let layered = function.path_layers().is_some();
    let sources = fabric.lid_ports().filter(move |_| layered);
    let levels = rows(sources.map(|source| object(&source_levels(routed, source))));
    let between = |name: &str| std::iter::once(format!("\n],\n\"{name}\": [\n"));
    std::iter::once(opening)
        .chain(ports)
        .chain(between("switches"))
        .chain(switches)
        .chain(between("service_levels"))
        .chain(levels)
        .chain(std::iter::once("\n]}\n".to_string()))
}

/// A value of strings and numbers alone can be written.
fn object(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("no map with keys that are no strings")
}

fn rows(rows: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    rows.enumerate().map(|(at, row)| if at == 0 { row } else { format!(",\n{row}") })
}

fn port_lids(fabric: &Fabric, id: PortId) -> PortLids {
    let port = fabric.port(id);
    PortLids {
        node: fabric.node(port.node).guid,
        port: port.num.0,
        name: fabric.node(port.node).description.trim().to_string(),
        lid: port.lid.map(|lid| lid.0),
        lids: port.lmc.lids(),
    }
}

fn switch_table(routed: &Routed, switch: NodeId) -> SwitchTable {
    let node = routed.fabric.node(switch);
    let table = &routed.tables.lfts[switch.index()];
    let top = routed.fabric.max_lid().map_or(0, |lid| lid.0);
    let (own, first) = (reconfig::ids::PortNum::ZERO, reconfig::ids::PortNum(1));
    let lanes = routed.tables.sl_to_vl[switch.index()].get(own, first);
    SwitchTable {
        node: node.guid,
        name: node.description.trim().to_string(),
        forwarding: (1..=top).filter_map(|lid| Some((lid, table.get(Lid(lid))?.0))).collect(),
        sl_to_vl: lanes.0.iter().map(|lane| lane.get()).collect(),
    }
}

fn source_levels(routed: &Routed, source: PortId) -> SourceLevels {
    let port = routed.fabric.port(source);
    let top = routed.fabric.max_lid().map_or(0, |lid| lid.0);
    let level = |lid| routed.level(source, Lid(lid)).map(|level| (lid, level.get()));
    SourceLevels {
        node: routed.fabric.node(port.node).guid,
        port: port.num.0,
        levels: (1..=top).filter_map(level).collect(),
    }
}
