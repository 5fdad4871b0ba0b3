//! Who sends to a LID, on which lanes: classes of packets, and the lane of each at every hop.
//!
//! A *class* here is a set of service levels that every switch maps alike. Where the lane depends on nothing but the
//! class, packets stay on one *plane*, and lanes that no table distinguishes share it. Where every source may send on
//! every level and the lane depends on the level alone, all lanes carry the same traffic, so one plane stands for all.

use super::RepairInput;
use super::net::{NONE, Net};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, Sl, Vl};
use crate::tables::{NodeSlToVl, PathLayers, SlToVl};
use std::sync::Arc;

/// Classes as a mask.
pub(super) type ClassMask = u16;

/// Planes as a mask.
pub(super) type PlaneMask = u16;

const HALVES: [Half; 2] = [Half::Lower, Half::Upper];

/// The lane of a class.
#[derive(Clone, Copy, Debug)]
enum ClassLane {
    /// The same everywhere.
    Plane(u8),
    /// By the SL-to-VL table of each hop.
    ByHop(Sl),
}

/// An end port that sends, or port 0 of a switch where senders are distinguished.
struct Source {
    port: PortId,
    row: u32,
    /// The port of the switch that it is cabled to, or 0.
    input: PortNum,
    /// Whether it has survived.
    survives: bool,
}

/// Classes and their senders.
pub(super) struct Classes<'a> {
    lanes: Vec<ClassLane>,
    pub planes: usize,
    /// By half and layer: the class of that service level.
    class_of: [[u8; 8]; 2],
    /// By half: the classes of its service levels that may be sent on at all.
    all: [ClassMask; 2],
    injected: [bool; 2],
    ways: [&'a [Arc<PathLayers>]; 2],
    answerer: Option<PortId>,
    switches: bool,
    /// By row: whether the switch was there, and whether it has survived.
    present: Vec<[bool; 2]>,
    /// By row.
    sl_to_vl: Vec<&'a NodeSlToVl>,
    /// In order of rows.
    sources: Vec<Source>,
    /// By row: its first source; one more at the end.
    first: Vec<u32>,
    /// By row: how many sources it has, and how many of them have survived.
    counts: Vec<[u32; 2]>,
}

/// Who sends to one LID.
pub(super) struct SourceClasses {
    /// By row: the classes that its end ports send.
    pub before: Vec<ClassMask>,
    /// The same for the end ports that have survived.
    pub now: Vec<ClassMask>,
    /// By source; filled where a lane depends on the input.
    by_source: Vec<ClassMask>,
}

impl SourceClasses {
    pub fn of(net: &Net, classes: &Classes<'_>) -> SourceClasses {
        let rows = vec![0; net.rows.len()];
        let by_source = vec![0; if classes.by_hop() { classes.sources.len() } else { 0 }];
        SourceClasses { before: rows.clone(), now: rows, by_source }
    }
}

impl<'a> Classes<'a> {
    pub fn of(input: &RepairInput<'a>, net: &Net) -> Classes<'a> {
        let tables = input.tables;
        let sl_to_vl: Vec<&NodeSlToVl> = net.rows.iter().map(|node| &*tables.sl_to_vl[node.index()]).collect();
        let ways = [0, 1].map(|half| input.senders.ways[half].as_slice());
        let mut classes = Classes {
            lanes: Vec::new(),
            planes: 1,
            class_of: [[0; 8]; 2],
            all: [0; 2],
            injected: input.senders.injected,
            answerer: input.answerer,
            switches: input.switches,
            present: net.rows.iter().map(|&node| present(input, node)).collect(),
            ways,
            sl_to_vl,
            counts: Vec::new(),
            sources: Vec::new(),
            first: Vec::new(),
        };
        classes.divide();
        (classes.sources, classes.first) = sources(input, net, input.switches && classes.tells_sources_apart());
        classes.counts = counts(&classes.sources, net.rows.len());
        classes
    }

    /// Finds the classes of the service levels in use.
    fn divide(&mut self) {
        // Where every source may send on every level, and all hops agree on its lane, a ring on one lane is a ring on
        // each: one class stands for all.
        let free = self.ways.iter().all(|ways| ways.is_empty());
        let common = self.common_table();
        let mut keys: Vec<Vec<Vl>> = Vec::new();
        for sl in self.levels() {
            let key = match &common {
                Some(_) if free => Vec::new(),
                Some(table) => vec![table.get(sl)],
                None => self.key(sl),
            };
            let class = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                self.lanes.push(match &common {
                    Some(_) if free => ClassLane::Plane(0),
                    Some(_) => ClassLane::Plane(keys.len() as u8 - 1),
                    None => ClassLane::ByHop(sl),
                });
                keys.len() - 1
            });
            let half = Half::of_sl(sl).index();
            self.class_of[half][Half::rank(sl)] = class as u8;
            self.all[half] |= 1 << class;
        }
        // Where the lane depends on the hop, a plane is a lane.
        self.planes = if common.is_some() { keys.len().max(1) } else { 15 };
    }

    /// The service levels that sources may use.
    fn levels(&self) -> Vec<Sl> {
        let in_use = |sl: &Sl| {
            let ways = self.ways[Half::of_sl(*sl).index()];
            ways.is_empty() || ways.iter().any(|ways| Half::rank(*sl) < usize::from(ways.layers()))
        };
        HALVES.into_iter().filter(|half| self.injected[half.index()]).flat_map(Half::sls).filter(in_use).collect()
    }

    /// What every hop does with a service level.
    fn key(&self, sl: Sl) -> Vec<Vl> {
        self.tables().map(|table| table.get(sl)).collect()
    }

    fn tables(&self) -> impl Iterator<Item = &SlToVl> {
        self.sl_to_vl.iter().flat_map(|table| match table {
            NodeSlToVl::Uniform(table) => std::slice::from_ref(table),
            NodeSlToVl::PerPair { tables, .. } => tables.as_slice(),
        })
    }

    /// The table of every input and output of every switch, where they all agree on the service levels in use.
    fn common_table(&self) -> Option<SlToVl> {
        let mut tables = self.tables();
        let first = tables.next()?;
        let used = self.levels();
        tables.all(|table| used.iter().all(|&sl| table.get(sl) == first.get(sl))).then_some(*first)
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    fn by_hop(&self) -> bool {
        self.lanes.iter().any(|lane| matches!(lane, ClassLane::ByHop(_)))
    }

    /// Whether what a source sends, and on which lane, depends on more than the destination.
    fn tells_sources_apart(&self) -> bool {
        self.by_hop() || self.ways.iter().any(|ways| !ways.is_empty())
    }

    /// The planes that packets of a class take from an input of a row to an output.
    #[inline]
    pub fn step(&self, class: usize, row: usize, input: PortNum, output: PortNum) -> PlaneMask {
        match self.lanes[class] {
            ClassLane::Plane(plane) => 1 << plane,
            ClassLane::ByHop(sl) => plane_of(self.sl_to_vl[row].get(input, output).get(sl)),
        }
    }

    /// The planes that packets of a class take from the end ports of a row into an output.
    pub fn entry(&self, feed: &SourceClasses, class: usize, row: usize, output: PortNum) -> PlaneMask {
        let ClassLane::ByHop(sl) = self.lanes[class] else { return self.step(class, row, output, output) };
        let here = self.first[row] as usize..self.first[row + 1] as usize;
        let senders = self.sources[here.clone()].iter().zip(&feed.by_source[here]);
        let sends = senders.filter(|&(_, &mask)| mask >> class & 1 == 1);
        sends.fold(0, |planes, (source, _)| planes | plane_of(self.sl_to_vl[row].get(source.input, output).get(sl)))
    }

    /// Whether anybody may send to a LID.
    pub fn is_sent_to(&self, fabric: &Fabric, owner: PortId, lid: Lid) -> bool {
        self.mask(fabric, owner, lid) != 0 || self.answers(fabric, owner, lid) != 0
    }

    /// The classes in which sources may send to a LID.
    fn mask(&self, fabric: &Fabric, owner: PortId, lid: Lid) -> ClassMask {
        match fabric.half_of(lid) {
            Some(half) => self.all[half.index()],
            // A LID of no half, such as a switch's own: sources of either half send to it.
            None if self.switches || !fabric.node(fabric.port(owner).node).is_switch() => self.all[0] | self.all[1],
            None => 0,
        }
    }

    /// The classes in which the manager's port may answer to a LID of the other half than theirs. An answer goes to the
    /// base LID of a client on the level of its request, so only base LIDs get such packets (P0.8).
    fn answers(&self, fabric: &Fabric, owner: PortId, lid: Lid) -> ClassMask {
        let base = fabric.port(owner).lid == Some(lid);
        match (self.answerer, fabric.half_of(lid)) {
            (Some(_), Some(half)) if base => self.all[half.other().index()],
            _ => 0,
        }
    }

    /// Finds who sends to a LID.
    pub fn feed(&self, net: &Net, fabric: &Fabric, owner: PortId, lid: Lid, feed: &mut SourceClasses) {
        self.feed_by_ends(net, fabric, owner, lid, feed);
        // A switch replies to whoever asked it. Where senders are distinguished, it is one of them.
        if self.switches && !self.tells_sources_apart() {
            let mask = self.mask(fabric, owner, lid);
            for ((before, now), present) in feed.before.iter_mut().zip(&mut feed.now).zip(&self.present) {
                *before |= if present[0] { mask } else { 0 };
                *now |= if present[1] { mask } else { 0 };
            }
        }
    }

    fn feed_by_ends(&self, net: &Net, fabric: &Fabric, owner: PortId, lid: Lid, feed: &mut SourceClasses) {
        let (mask, answers) = (self.mask(fabric, owner, lid), self.answers(fabric, owner, lid));
        if answers == 0 && !self.tells_sources_apart() {
            return self.feed_alike(net, fabric, owner, mask, feed);
        }
        feed.before.fill(0);
        feed.now.fill(0);
        let path = match fabric.half_of(lid) {
            Some(half) => fabric.half_lids(owner, half).position(|own| own == lid).unwrap_or(0),
            None => 0,
        };
        for (at, source) in self.sources.iter().enumerate() {
            let open = if source.port == owner { 0 } else { self.open(mask, source.port, owner, path) };
            let own = open | if self.answerer == Some(source.port) { answers } else { 0 };
            feed.before[source.row as usize] |= own;
            feed.now[source.row as usize] |= if source.survives { own } else { 0 };
            if let Some(slot) = feed.by_source.get_mut(at) {
                *slot = own;
            }
        }
    }

    /// The same where all sources but the owner send alike: by counts, without a pass over the sources.
    fn feed_alike(&self, net: &Net, fabric: &Fabric, owner: PortId, mask: ClassMask, feed: &mut SourceClasses) {
        let all = |count: u32| if count > 0 { mask } else { 0 };
        for ((before, now), counts) in feed.before.iter_mut().zip(&mut feed.now).zip(&self.counts) {
            (*before, *now) = (all(counts[0]), all(counts[1]));
        }
        // Nobody sends to itself through the subnet, so the owner is taken out of the count of its switch.
        let row = fabric.neighbour(owner).map_or(NONE, |switch| net.row_of(switch)) as usize;
        if let Some(counts) = self.counts.get(row) {
            let own = self.sources[self.first[row] as usize..self.first[row + 1] as usize].iter();
            let own = own.filter(|source| source.port == owner).map(|source| [1, u32::from(source.survives)]);
            let own = own.fold([0; 2], |all, one| [all[0] + one[0], all[1] + one[1]]);
            (feed.before[row], feed.now[row]) = (all(counts[0] - own[0]), all(counts[1] - own[1]));
        }
    }

    /// Which of the classes a source may use.
    #[inline]
    fn open(&self, mask: ClassMask, source: PortId, owner: PortId, path: usize) -> ClassMask {
        if self.ways.iter().all(|ways| ways.is_empty()) {
            return mask;
        }
        let mut open = 0;
        for half in HALVES {
            let ways = self.ways[half.index()];
            if ways.is_empty() {
                open |= self.all[half.index()];
            }
            for layer in ways.iter().filter_map(|ways| ways.layer(source, owner, path)) {
                open |= 1 << self.class_of[half.index()][usize::from(layer % 8)];
            }
        }
        open & mask
    }
}

/// VL 15 discards.
#[inline]
fn plane_of(vl: Vl) -> PlaneMask {
    (1 << vl.index()) & 0x7FFF
}

fn present(input: &RepairInput<'_>, node: NodeId) -> [bool; 2] {
    [input.before, input.surviving].map(|fabric| fabric.node(node).present)
}

fn sources(input: &RepairInput<'_>, net: &Net, switches: bool) -> (Vec<Source>, Vec<u32>) {
    let (mut sources, mut first) = (Vec::new(), vec![0]);
    for (row, &node) in net.rows.iter().enumerate() {
        let own = input.before.port_at(node, PortNum::ZERO).filter(|_| switches && input.before.node(node).present);
        let survives = input.surviving.node(node).present;
        sources.extend(own.map(|port| Source { port, row: row as u32, input: PortNum::ZERO, survives }));
        for id in input.before.ports_of(node) {
            let Some(port) = input.before.peer(id) else { continue };
            let end = input.before.port(port).node;
            if net.row_of(end) == NONE && !input.before.node(end).is_switch() {
                let survives = input.surviving.peer(port) == Some(id);
                sources.push(Source { port, row: row as u32, input: input.before.port(id).num, survives });
            }
        }
        first.push(sources.len() as u32);
    }
    (sources, first)
}

fn counts(sources: &[Source], rows: usize) -> Vec<[u32; 2]> {
    let mut counts = vec![[0; 2]; rows];
    for source in sources {
        counts[source.row as usize][0] += 1;
        counts[source.row as usize][1] += u32::from(source.survives);
    }
    counts
}
