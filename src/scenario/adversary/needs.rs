//! The writes of a plan that must, and those that must not, have landed before a packet can take its path.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum};
use crate::plan::Plan;
use crate::tables::{LFT_BLOCK, SlToVlScope, SubnetTables, Write};
use crate::verify::{EntryAge, Witness, WitnessHop};
use std::collections::BTreeMap;

/// An event that occurs once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Occurrence {
    /// The death of everything that dies before the first write.
    Death,
    /// The landing of a write.
    Land(WriteId),
}

/// A write of a plan, by its position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WriteId {
    /// The wave, from 0.
    pub wave: usize,
    /// The position in the wave's list.
    pub place: usize,
}

/// Whether an action comes before or after an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    Before,
    After,
}

/// The needs of a packet: its path is possible in every order of events that satisfies them.
pub type OccurrenceSides = BTreeMap<Occurrence, Side>;

/// The writes of a plan, indexed by what they change.
pub struct Writes<'a> {
    plan: &'a Plan,
    blocks: BTreeMap<(NodeId, u16), Vec<WriteId>>,
    mappings: BTreeMap<NodeId, Vec<(WriteId, SlToVlScope)>>,
    halves: BTreeMap<PortId, Vec<(WriteId, Half)>>,
}

/// The stage at which a packet reads an entry, and which of the stage's two values it finds.
struct Reading {
    stage: usize,
    entry: EntryAge,
}

impl<'a> Writes<'a> {
    /// The writes of the first `waves` waves; later ones are ignored.
    pub fn of(plan: &'a Plan, waves: usize) -> Writes<'a> {
        let mut writes = Writes { plan, blocks: BTreeMap::new(), mappings: BTreeMap::new(), halves: BTreeMap::new() };
        for (wave, list) in plan.waves().iter().enumerate().take(waves) {
            for (place, write) in list.writes.iter().enumerate() {
                writes.add(WriteId { wave, place }, write);
            }
        }
        writes
    }

    fn add(&mut self, id: WriteId, write: &Write) {
        match *write {
            Write::LftBlock { switch, block, .. } => self.blocks.entry((switch, block)).or_default().push(id),
            Write::SlToVl { node, scope, .. } => self.mappings.entry(node).or_default().push((id, scope)),
            Write::ActiveHalf { port, half } => self.halves.entry(port).or_default().push((id, half)),
            Write::PortState { .. } | Write::SaHalf { .. } | Write::MasterSm { .. } => {}
        }
    }

    /// The needs of a packet that takes its whole path under one state of the tables; none if they contradict each
    /// other.
    pub fn needs(&self, way: &Witness) -> Option<OccurrenceSides> {
        let mut needs = OccurrenceSides::new();
        let fabric = &*self.plan.draft().before;
        let source = fabric.port(way.port);
        let reading = Reading { stage: way.stage, entry: way.mapping };
        let mut possible = self.add_mapping(&mut needs, &reading, way, source.node, [PortNum::ZERO, source.num]);
        possible &= self.add_half(&mut needs, way.port, Half::of_sl(way.sl));
        for hop in &way.hops {
            possible &= self.add_hop(&mut needs, way, hop);
        }
        possible.then_some(needs)
    }

    /// The needs of a packet at its last switch only.
    pub fn needs_at_end(&self, way: &Witness) -> OccurrenceSides {
        let mut needs = OccurrenceSides::new();
        if let Some(hop) = way.hops.last() {
            self.add_hop(&mut needs, way, hop);
        }
        needs
    }

    fn add_hop(&self, needs: &mut OccurrenceSides, way: &Witness, hop: &WitnessHop) -> bool {
        let block = way.lid.0 / LFT_BLOCK as u16;
        let entry = Reading { stage: hop.stage, entry: hop.entry };
        let mut possible = true;
        // The same block may be written by several waves: each of those writes lies on one side of the reading.
        for &id in self.blocks.get(&(hop.node, block)).into_iter().flatten() {
            let value = |tables: &SubnetTables| tables.lfts[hop.node.index()].get(way.lid);
            possible &= self.add_write(needs, &entry, id, value);
        }
        let mapping = Reading { stage: hop.stage, entry: hop.mapping };
        possible &= self.add_mapping(needs, &mapping, way, hop.node, [hop.input.port, hop.output.port]);
        possible && self.add_death(needs, hop)
    }

    fn add_mapping(
        &self,
        needs: &mut OccurrenceSides,
        reading: &Reading,
        way: &Witness,
        node: NodeId,
        [from, to]: [PortNum; 2],
    ) -> bool {
        let concerns = |scope: &SlToVlScope| match *scope {
            SlToVlScope::All => true,
            SlToVlScope::Pair { input, output } => (input, output) == (from, to),
            SlToVlScope::EndPort { port } => port == to,
        };
        let value = |tables: &SubnetTables| tables.sl_to_vl[node.index()].get(from, to).get(way.sl);
        let writes = self.mappings.get(&node).into_iter().flatten().filter(|(_, scope)| concerns(scope));
        writes.fold(true, |possible, &(id, _)| self.add_write(needs, reading, id, value) && possible)
    }

    /// A source sends on a half from the write that notifies it of this half to the write that notifies it of the
    /// other.
    pub fn add_half(&self, needs: &mut OccurrenceSides, port: PortId, wanted: Half) -> bool {
        let writes = self.halves.get(&port).into_iter().flatten();
        writes.fold(true, |possible, &(id, half)| {
            let side = if half == wanted { Side::After } else { Side::Before };
            insert(needs, Occurrence::Land(id), side) && possible
        })
    }

    /// A packet that crosses a dying element does so before its death.
    fn add_death(&self, needs: &mut OccurrenceSides, hop: &WitnessHop) -> bool {
        let draft = self.plan.draft();
        let dead = |port: PortNum| {
            let port = draft.before.port_at(hop.node, port);
            port.is_some_and(|port| draft.before.peer(port).is_some() && draft.surviving.peer(port).is_none())
        };
        !(dead(hop.input.port) || dead(hop.output.port)) || insert(needs, Occurrence::Death, Side::Before)
    }

    /// Adds a need if the write changes what the packet reads.
    fn add_write<T: PartialEq>(
        &self,
        needs: &mut OccurrenceSides,
        reading: &Reading,
        id: WriteId,
        value: impl Fn(&SubnetTables) -> T,
    ) -> bool {
        // A write of the block or table that leaves this entry as it was may land at any time.
        if value(self.plan.tables_at(id.wave)) == value(self.plan.tables_at(id.wave + 1)) {
            return true;
        }
        // Stage 0 is the moment before wave 0, so wave w is stage w + 1. Writes of earlier stages have landed and those
        // of later ones have not; within the stage the age of the entry that the packet read decides.
        let side = match (id.wave + 1).cmp(&reading.stage) {
            std::cmp::Ordering::Less => Side::After,
            std::cmp::Ordering::Greater => Side::Before,
            std::cmp::Ordering::Equal if reading.entry == EntryAge::New => Side::After,
            std::cmp::Ordering::Equal => Side::Before,
        };
        insert(needs, Occurrence::Land(id), side)
    }
}

/// Adds a need; false if it contradicts another.
pub fn insert(needs: &mut OccurrenceSides, event: Occurrence, side: Side) -> bool {
    *needs.entry(event).or_insert(side) == side
}

/// Describes a write.
pub fn describe(fabric: &Fabric, write: &Write) -> (String, String) {
    let node = write.node(fabric).map_or_else(|| "the SA".to_string(), |node| fabric.describe_node(node));
    let what = match write {
        Write::LftBlock { block, .. } => {
            let first = Lid(block * LFT_BLOCK as u16);
            format!("forwarding entries of lids {first} to {}", first.0 + LFT_BLOCK as u16 - 1)
        }
        Write::SlToVl { scope: SlToVlScope::Pair { input, output }, .. } => {
            format!("SL-to-VL from port {input} to port {output}")
        }
        Write::SlToVl { .. } => "SL-to-VL".to_string(),
        Write::PortState { port, state } => format!("port {} {state:?}", fabric.port(*port).num),
        Write::ActiveHalf { half, .. } => format!("sends on the {half} half"),
        Write::SaHalf { half } => format!("answers with the {half} half"),
        Write::MasterSm { lid, .. } => format!("the SM is at lid {lid}"),
    };
    (node, what)
}
