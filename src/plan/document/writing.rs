//! From a plan to its file.

use super::layout::JsonLayout;
use super::rows::{
    ArcsRow, Document, DrainRow, EndRow, LftRow, Missing, ScopeRow, SlToVlRow, TablesRow, WaveRow, WaysGroupRow,
    WaysRow, WriteRow,
};
use super::{SCHEMA, hex};
use crate::fabric::format::{self, Format};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Guid;
use crate::plan::{DrainLayer, Plan, PortMask, Wave};
use crate::tables::{Lft, NodeSlToVl, PathLayers, SlToVl, SlToVlScope, SubnetTables, Write};
use serde::Serialize;
use serde_json::Serializer;

/// The whole file, with a line feed at its end.
pub(super) fn text(plan: &Plan) -> String {
    let mut bytes = Vec::new();
    let written = document(plan).serialize(&mut Serializer::with_formatter(&mut bytes, JsonLayout::new()));
    written.expect("rows consist of texts, numbers and lists, which JSON can always express");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is text")
}

fn document(plan: &Plan) -> Document<serde_json::Value> {
    let draft = plan.draft();
    let fabric = &*draft.before;
    let whole = format::write(fabric, Format::Json).expect("this project's own format can express every fabric");
    Document {
        schema: SCHEMA.to_string(),
        scheme: draft.scheme,
        digest: plan.digest(),
        old: draft.old,
        new: draft.new,
        both_halves: draft.both_halves,
        begins_with_losses: draft.begins_with_losses,
        leaves_losses: draft.leaves_losses,
        lanes: draft.lanes,
        policy: draft.policy,
        sm: end(fabric, draft.sm),
        stranded: draft.stranded.iter().map(|&port| end(fabric, port)).collect(),
        assumptions: draft.assumptions.clone(),
        notes: draft.notes.clone(),
        waves: draft.waves.iter().map(|wave| wave_row(fabric, wave)).collect(),
        drain: draft.drain.iter().map(|layer| drain_row(fabric, layer)).collect(),
        old_ways: draft.old_ways.as_ref().map(|ways| ways_row(fabric, ways)),
        new_ways: draft.new_ways.as_ref().map(|ways| ways_row(fabric, ways)),
        initial: tables_row(fabric, &draft.initial),
        routed: missing(fabric, &draft.routed),
        surviving: missing(fabric, &draft.surviving),
        after: missing(fabric, &draft.after),
        fabric: serde_json::from_str(&whole).expect("what was just written is JSON"),
    }
}

fn guid(fabric: &Fabric, node: NodeId) -> Guid {
    fabric.node(node).guid
}

fn end(fabric: &Fabric, port: PortId) -> EndRow {
    EndRow { node: guid(fabric, fabric.port(port).node), port: fabric.port(port).num }
}

fn missing(before: &Fabric, other: &Fabric) -> Missing {
    let gone = |&(id, node): &(NodeId, &crate::fabric::Node)| node.present && !other.node(id).present;
    let there = |port: PortId| other.node(other.port(port).node).present;
    let cut = before.links().filter(|&(a, b)| other.peer(a).is_none() && there(a) && there(b));
    Missing {
        nodes: before.nodes().filter(gone).map(|(_, node)| node.guid).collect(),
        links: cut.map(|(a, _)| end(before, a)).collect(),
    }
}

fn wave_row(fabric: &Fabric, wave: &Wave) -> WaveRow {
    WaveRow {
        name: wave.name.clone(),
        phase: wave.phase,
        sending: wave.sending,
        barriers: wave.barriers.clone(),
        writes: wave.writes.iter().map(|write| write_row(fabric, write)).collect(),
    }
}

fn write_row(fabric: &Fabric, write: &Write) -> WriteRow {
    match *write {
        Write::LftBlock { switch, block, ref entries } => {
            WriteRow::LftBlock { switch: guid(fabric, switch), block, entries: hex::of_bytes(**entries) }
        }
        Write::SlToVl { node, scope, ref table } => {
            let scope = match scope {
                SlToVlScope::All => ScopeRow::All,
                SlToVlScope::Pair { input, output } => ScopeRow::Pair { input, output },
                SlToVlScope::EndPort { port } => ScopeRow::EndPort { port },
            };
            WriteRow::SlToVl { node: guid(fabric, node), scope, table: lanes(table) }
        }
        Write::PortState { port, state } => WriteRow::PortState { at: end(fabric, port), state },
        Write::ActiveHalf { port, half } => WriteRow::ActiveHalf { at: end(fabric, port), half },
        Write::SaHalf { half } => WriteRow::SaHalf { half },
        Write::MasterSm { port, lid, sl } => WriteRow::MasterSm { at: end(fabric, port), lid, sl },
    }
}

fn lanes(table: &SlToVl) -> String {
    hex::of_nibbles(table.0.map(|vl| vl.get()))
}

fn ways_row(fabric: &Fabric, ways: &PathLayers) -> WaysRow {
    let ends = |ports: Vec<PortId>| ports.into_iter().map(|port| end(fabric, port)).collect();
    let group = |(sources, layers): (Vec<PortId>, &[u8])| {
        let digit = |&layer: &u8| char::from_digit(u32::from(layer.min(15)), 16).unwrap_or('f');
        WaysGroupRow { sources: ends(sources), layers: layers.iter().map(digit).collect() }
    };
    WaysRow { paths: ways.paths(), destinations: ends(ways.destinations()), groups: ways.groups().map(group).collect() }
}

fn drain_row(fabric: &Fabric, layer: &DrainLayer) -> DrainRow {
    let graph = &layer.graph;
    let mask = |mask: &PortMask| hex::of_bytes(mask.0);
    let arcs = graph
        .arcs()
        .iter()
        .map(|(&switch, masks)| ArcsRow { switch: guid(fabric, switch), outputs: masks.iter().map(mask).collect() });
    DrainRow {
        lanes: layer.lanes,
        sources: graph.sources().iter().map(|&port| end(fabric, port)).collect(),
        arcs: arcs.collect(),
    }
}

fn tables_row(fabric: &Fabric, tables: &SubnetTables) -> TablesRow {
    let nodes = || fabric.nodes().map(|(id, node)| (id.index(), node.guid));
    let routed = nodes().filter(|&(at, _)| tables.lfts[at].blocks() > 0);
    TablesRow {
        sa_half: tables.sa_half,
        sending: tables.sending.clone(),
        port_states: tables.port_states.clone(),
        lfts: routed.map(|(at, switch)| LftRow { switch, entries: entries(&tables.lfts[at]) }).collect(),
        sl_to_vl: nodes().map(|(at, node)| SlToVlRow { node, tables: sl_to_vl(&tables.sl_to_vl[at]) }).collect(),
    }
}

fn entries(lft: &Lft) -> String {
    hex::of_bytes((0..lft.blocks()).flat_map(|block| lft.block(block)))
}

fn sl_to_vl(tables: &NodeSlToVl) -> Vec<String> {
    match tables {
        NodeSlToVl::Uniform(table) => vec![lanes(table)],
        NodeSlToVl::PerPair { tables, .. } => tables.iter().map(lanes).collect(),
    }
}
