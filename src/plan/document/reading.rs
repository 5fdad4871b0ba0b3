//! Turns a plan file into a plan: looks names up, and checks the range of numbers.

use super::rows::{
    ArcsRow, Document, DrainRow, EndRow, Missing, ScopeRow, TablesRow, WaveRow, WaysGroupRow as GroupLayers, WaysRow,
    WriteRow,
};
use super::{PlanReadError, SCHEMA, hex};
use crate::fabric::format::{self, Format};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, Lid, PortNum, Vl};
use crate::plan::{Draft, DrainGraph, DrainLayer, FabricDigest, Phase, Plan, PortMask, Wave};
use crate::tables::{LFT_BLOCK, Lft, NodeSlToVl, PathLayers, SlToVl, SlToVlScope, SubnetTables, Write};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The plan in the text of the file `file`.
pub(super) fn plan(text: &str, file: &str) -> Result<Plan, PlanReadError> {
    let document: Document<&RawValue> = serde_json::from_str(text)?;
    if document.schema != SCHEMA {
        return Err(PlanReadError::Schema { found: document.schema });
    }
    let before = format::read_as(Format::Json, in_place(text, document.fabric).as_bytes(), file)?.fabric;
    // Certificates index ports and switches in the order of this list. An absent node would shift the numbers for one
    // reader and not for another (docs/CERTIFICATE.md).
    if let Some((_, node)) = before.nodes().find(|(_, node)| !node.present) {
        return Err(at("fabric")(format!("node {} is not present, and a plan lists what is", node.guid)));
    }
    let found = FabricDigest::of(&before);
    if found != document.digest {
        return Err(PlanReadError::Digest { wanted: document.digest, found });
    }
    let names = Names(&before);
    // All four fabrics are `before` with elements marked absent, so its indices hold in every one of them
    // (docs/decisions/0003-one-index-space.md).
    let surviving = names.less(&document.surviving).map_err(at("surviving"))?;
    let drain = document.drain.into_iter().map(|row| names.drain(&surviving, row)).collect::<Result<_, _>>();
    let drain = drain.map_err(at("drain"))?;
    let ways = |row: Option<WaysRow>| row.map(|row| names.ways(row).map(Arc::new)).transpose();
    let old_ways = ways(document.old_ways).map_err(at("old_ways"))?;
    let new_ways = ways(document.new_ways).map_err(at("new_ways"))?;
    let waves = document.waves.into_iter().map(|row| {
        let place = format!("wave `{}`", row.name);
        names.wave(row).map_err(|fault| PlanReadError::Fault { place, fault })
    });
    Ok(Plan::seal(Draft {
        scheme: document.scheme,
        routed: Arc::new(names.less(&document.routed).map_err(at("routed"))?),
        after: Arc::new(names.less(&document.after).map_err(at("after"))?),
        initial: names.tables(document.initial).map_err(at("initial"))?,
        old: document.old,
        new: document.new,
        both_halves: document.both_halves,
        begins_with_losses: document.begins_with_losses,
        leaves_losses: document.leaves_losses,
        lanes: document.lanes,
        policy: document.policy,
        sm: names.port(document.sm).map_err(at("sm"))?,
        stranded: names.ports(&document.stranded).map_err(at("stranded"))?,
        waves: waves.collect::<Result<_, _>>()?,
        drain,
        old_ways,
        new_ways,
        assumptions: document.assumptions,
        notes: document.notes,
        surviving: Arc::new(surviving),
        before: Arc::new(before),
    }))
}

/// A part of a text with blanks in place of everything before it, so that errors have the line and column of the whole.
fn in_place(text: &str, part: &RawValue) -> String {
    // `part` borrows from `text`, so the difference of their addresses is its offset.
    let start = part.get().as_ptr() as usize - text.as_ptr() as usize;
    let blank = |letter: char| if letter == '\n' { '\n' } else { ' ' };
    text[..start].chars().map(blank).chain(part.get().chars()).collect()
}

fn at(place: &str) -> impl FnOnce(String) -> PlanReadError {
    move |fault| PlanReadError::Fault { place: place.to_string(), fault }
}

/// Errors are text for the user.
type Read<T> = Result<T, String>;

/// Looks names up in the fabric before the change.
struct Names<'a>(&'a Fabric);

impl Names<'_> {
    fn node(&self, guid: Guid) -> Read<NodeId> {
        self.0.by_guid(guid).ok_or_else(|| format!("the fabric has no node {guid}"))
    }

    fn port(&self, end: EndRow) -> Read<PortId> {
        let node = self.node(end.node)?;
        self.0.port_at(node, end.port).ok_or_else(|| format!("node {} has no port {}", end.node, end.port))
    }

    fn ports(&self, ends: &[EndRow]) -> Read<Vec<PortId>> {
        ends.iter().map(|&end| self.port(end)).collect()
    }

    fn less(&self, missing: &Missing) -> Read<Fabric> {
        let nodes: Vec<_> = missing.nodes.iter().map(|&guid| self.node(guid)).collect::<Read<_>>()?;
        Ok(self.0.without_nodes(&nodes).without_links(&self.ports(&missing.links)?))
    }

    fn wave(&self, row: WaveRow) -> Read<Wave> {
        // P4.1. The order in which A runs empty is that of the tables in force, and a write would change it.
        if row.phase == Phase::Drain && !row.writes.is_empty() {
            return Err(format!("it drains, and has {} writes: nothing is written while draining", row.writes.len()));
        }
        let writes = row.writes.into_iter().map(|write| self.write(write)).collect::<Read<_>>()?;
        Ok(Wave { name: row.name, phase: row.phase, writes, barriers: row.barriers, sending: row.sending })
    }

    fn write(&self, row: WriteRow) -> Read<Write> {
        Ok(match row {
            WriteRow::LftBlock { switch, block, entries } => {
                // The linear table ends with the unicast LIDs. A switch would not take a block beyond it, and the
                // change would stop there.
                let last = Lid::MAX_UNICAST.index() / LFT_BLOCK;
                if usize::from(block) > last {
                    return Err(format!("block {block} of {switch} is beyond the last one, {last}"));
                }
                let bytes = hex::bytes(&entries).and_then(|bytes| bytes.try_into().ok());
                let entries =
                    bytes.ok_or_else(|| format!("block {block} of {switch} is not 128 hexadecimal digits"))?;
                Write::LftBlock { switch: self.node(switch)?, block, entries: Box::new(entries) }
            }
            WriteRow::SlToVl { node, scope, table } => {
                let id = self.node(node)?;
                Write::SlToVl { node: id, scope: self.scope(id, scope)?, table: lanes(&table)? }
            }
            WriteRow::PortState { at, state } => Write::PortState { port: self.port(at)?, state },
            WriteRow::ActiveHalf { at, half } => Write::ActiveHalf { port: self.port(at)?, half },
            WriteRow::SaHalf { half } => Write::SaHalf { half },
            WriteRow::MasterSm { at, lid, sl } => Write::MasterSm { port: self.port(at)?, lid, sl },
        })
    }

    fn scope(&self, node: NodeId, row: ScopeRow) -> Read<SlToVlScope> {
        let known = |num: PortNum| match self.0.port_at(node, num) {
            Some(_) => Ok(num),
            None => Err(format!("node {} has no port {num}", self.0.node(node).guid)),
        };
        Ok(match row {
            ScopeRow::All => SlToVlScope::All,
            ScopeRow::Pair { input, output } => SlToVlScope::Pair { input: known(input)?, output: known(output)? },
            ScopeRow::EndPort { port } => SlToVlScope::EndPort { port: known(port)? },
        })
    }

    fn ways(&self, row: WaysRow) -> Read<PathLayers> {
        let destinations = self.ports(&row.destinations)?;
        let sources: Vec<_> = row.groups.iter().map(|group| self.ports(&group.sources)).collect::<Read<_>>()?;
        if !(1..=64).contains(&row.paths) {
            return Err(format!("{} paths to each destination: expected 1 to 64", row.paths));
        }
        let expected = destinations.len() * row.paths;
        if let Some(group) = row.groups.iter().position(|group| group.layers.len() != expected) {
            let layers = row.groups[group].layers.len();
            return Err(format!("group {group} has {layers} layers, expected {expected}"));
        }
        let mut ways = PathLayers::by_groups(self.0, &sources, &destinations, row.paths);
        for (group, GroupLayers { layers, .. }) in row.groups.iter().enumerate() {
            for (slot, digit) in layers.chars().enumerate() {
                // A half has eight service levels, one for each layer (P0.3). Capital letters are refused as the script
                // refuses them: a file that two readers judge differently has two meanings (docs/CERTIFICATE.md).
                match digit.to_digit(16).filter(|_| !digit.is_ascii_uppercase()) {
                    Some(15) => {}
                    Some(layer) if layer < 8 => ways.open(group, slot / row.paths, slot % row.paths, layer as u8),
                    _ => {
                        return Err(format!("group {group}: `{digit}` is not a layer: expected 0 to 7, or f for none"));
                    }
                }
            }
        }
        Ok(ways)
    }

    fn drain(&self, surviving: &Fabric, row: DrainRow) -> Read<DrainLayer> {
        once(row.arcs.iter().map(|arcs| arcs.switch), "the arcs")?;
        let arcs: BTreeMap<_, _> = row.arcs.into_iter().map(|arcs| self.arcs(arcs)).collect::<Read<_>>()?;
        // On the surviving fabric, since channels of dead elements have left the graph (P4.3). A cyclic graph is
        // refused: its channels have no order in which they can run empty.
        let graph = DrainGraph::new(surviving, arcs, &self.ports(&row.sources)?).map_err(|cycle| cycle.to_string())?;
        Ok(DrainLayer { lanes: row.lanes, graph })
    }

    fn arcs(&self, row: ArcsRow) -> Read<(NodeId, Vec<PortMask>)> {
        let node = self.node(row.switch)?;
        let inputs = usize::from(self.0.node(node).num_ports) + 1;
        if row.outputs.len() != inputs {
            return Err(format!("{} has {} input masks, expected {inputs}", row.switch, row.outputs.len()));
        }
        let masks = row.outputs.iter().map(|text| mask(text)).collect::<Read<_>>()?;
        Ok((node, masks))
    }

    fn tables(&self, row: TablesRow) -> Read<SubnetTables> {
        let ports = self.0.port_count();
        if row.sending.len() != ports || row.port_states.len() != ports {
            let (halves, states) = (row.sending.len(), row.port_states.len());
            return Err(format!("{halves} halves and {states} states are given for {ports} ports"));
        }
        once(row.lfts.iter().map(|lft| lft.switch), "the forwarding table")?;
        once(row.sl_to_vl.iter().map(|tables| tables.node), "the SL-to-VL tables")?;
        // A node without a forwarding table has an empty one, as adapters do. SL-to-VL tables have no such default:
        // where one is missing, the lanes of its packets are unknown, and the plan is refused.
        let empty = Arc::new(Lft::new());
        let mut lfts = vec![empty; self.0.node_count()];
        for lft in row.lfts {
            let node = self.node(lft.switch)?;
            lfts[node.index()] = Arc::new(entries(&lft.entries).map_err(|fault| format!("{}: {fault}", lft.switch))?);
        }
        let mut sl_to_vl = vec![None; self.0.node_count()];
        for tables in row.sl_to_vl {
            let node = self.node(tables.node)?;
            sl_to_vl[node.index()] = Some(Arc::new(self.sl_to_vl(node, &tables.tables)?));
        }
        let nodes = self.0.nodes().zip(sl_to_vl);
        let sl_to_vl = nodes
            .map(|((_, node), tables)| tables.ok_or_else(|| format!("node {} has no SL-to-VL table", node.guid)))
            .collect::<Read<_>>()?;
        let (sending, port_states) = (row.sending, row.port_states);
        Ok(SubnetTables { lfts, sl_to_vl, sending, port_states, sa_half: row.sa_half })
    }

    fn sl_to_vl(&self, node: NodeId, texts: &[String]) -> Read<NodeSlToVl> {
        let num_ports = self.0.node(node).num_ports;
        let pairs = (usize::from(num_ports) + 1).pow(2);
        let tables = texts.iter().map(|text| lanes(text)).collect::<Read<Vec<_>>>()?;
        match tables[..] {
            [table] => Ok(NodeSlToVl::Uniform(table)),
            _ if tables.len() == pairs => Ok(NodeSlToVl::PerPair { num_ports, tables }),
            _ => {
                let guid = self.0.node(node).guid;
                Err(format!("node {guid} has {} SL-to-VL tables, expected 1 or {pairs}", tables.len()))
            }
        }
    }
}

/// No node has two rows; the file would not determine which of them applies.
fn once(rows: impl Iterator<Item = Guid>, what: &str) -> Read<()> {
    let mut seen = BTreeSet::new();
    for guid in rows {
        if !seen.insert(guid) {
            return Err(format!("{what} of {guid} is given twice"));
        }
    }
    Ok(())
}

fn lanes(text: &str) -> Read<SlToVl> {
    let digits: Option<[u8; 16]> = hex::nibbles(text).and_then(|digits| digits.try_into().ok());
    let digits = digits.ok_or_else(|| format!("`{text}` is no SL-to-VL table: expected 16 hexadecimal digits"))?;
    Ok(SlToVl(digits.map(Vl::masked)))
}

fn mask(text: &str) -> Read<PortMask> {
    let bytes: Option<[u8; 32]> = hex::bytes(text).and_then(|bytes| bytes.try_into().ok());
    let bytes = bytes.ok_or_else(|| format!("`{text}` is not a port mask: expected 64 hexadecimal digits"))?;
    Ok(PortMask(bytes))
}

fn entries(text: &str) -> Read<Lft> {
    let bytes = hex::bytes(text).filter(|bytes| bytes.len() % LFT_BLOCK == 0 && bytes.len() <= 0x1_0000);
    let bytes = bytes.ok_or("its forwarding table is not whole blocks of 128 hexadecimal digits, 1024 at most")?;
    let mut lft = Lft::new();
    for (block, entries) in (0..).zip(bytes.chunks_exact(LFT_BLOCK)) {
        let entries = entries.try_into().map_err(|_| "a block has 64 entries")?;
        lft.set_block(block, entries);
    }
    Ok(lft)
}
