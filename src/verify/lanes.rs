//! Which lanes a service level can take at each hop of each stage: the old and the new SL-to-VL table together.
//!
//! Service levels of one half that no table tells apart form a *group* and are walked once. A switch whose tables agree
//! for every cabled (input, output) is held as one table, however its devices spell them.

use super::WaveFacts;
use super::net::Net;
use super::refusal::Refusal;
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Half, PortNum, Sl, Vl};
use crate::tables::{NodeSlToVl, SlToVl};

/// Lanes as a mask, bit v for VL v; management and discard (VL 15) left out.
pub(super) type LaneMask = u16;

const DATA: LaneMask = 0x7FFF;

/// Service levels that every table sends the same way.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub half: Half,
    pub sls: Vec<Sl>,
}

/// Where a switch's masks lie: `start + group × size + input × in_step + output × out_step`.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: usize,
    size: usize,
    in_step: usize,
    out_step: usize,
}

/// The masks of one stage.
struct StageLanes {
    masks: Vec<LaneMask>,
    slots: Vec<Slot>,
    /// By source and group: the lanes that the source can take into its injection channel.
    sources: Vec<LaneMask>,
}

/// The lanes of every stage.
pub(super) struct Lanes {
    pub groups: Vec<Group>,
    /// One more than the highest data VL in use.
    pub vls: usize,
    stages: Vec<StageLanes>,
}

impl Lanes {
    /// Reads the tables of all stages.
    ///
    /// # Errors
    /// A table that sends a service level in use onto a lane which the link does not carry.
    pub fn new(fabric: &Fabric, net: &Net, stages: &[WaveFacts<'_>]) -> Result<Lanes, Refusal> {
        let groups = groups(stages);
        let mut in_use = [false; 2];
        let mut all = Vec::with_capacity(stages.len());
        for facts in stages {
            for half in [0, 1] {
                in_use[half] = facts.injected[half] || in_use[half] && !facts.gone[half];
            }
            check_carried(fabric, net, facts, in_use)?;
            all.push(StageLanes::new(net, facts, &groups, fabric));
        }
        let used = |stage: &StageLanes| stage.masks.iter().chain(&stage.sources).fold(0, |all, mask| all | mask);
        let used: LaneMask = all.iter().map(used).fold(0, |all, mask| all | mask);
        let vls = (LaneMask::BITS - used.leading_zeros()).max(1) as usize;
        Ok(Lanes { groups, vls, stages: all })
    }

    /// The lanes that a packet of `group` can take from `input` to `output`.
    pub fn at_switch(&self, stage: usize, row: usize, group: usize, input: PortNum, output: PortNum) -> LaneMask {
        let stage = &self.stages[stage];
        let slot = stage.slots[row];
        stage.masks[slot.start + group * slot.size + input.index() * slot.in_step + output.index() * slot.out_step]
    }

    /// The lanes that packets of `group` can take at any switch.
    pub fn usual(&self, stage: usize, group: usize) -> LaneMask {
        let stage = &self.stages[stage];
        let of = |slot: &Slot| {
            let start = slot.start + group * slot.size;
            stage.masks[start..start + slot.size].iter().fold(0, |all, mask| all | mask)
        };
        stage.slots.iter().map(of).fold(0, |all, mask| all | mask)
    }

    /// Whether the input makes no difference at a switch.
    pub fn is_uniform(&self, stage: usize, row: usize) -> bool {
        self.stages[stage].slots[row].in_step == 0
    }

    /// The lanes that a source can take into its injection channel.
    pub fn at_source(&self, stage: usize, source: usize, group: usize) -> LaneMask {
        self.stages[stage].sources[source * self.groups.len() + group]
    }
}

/// Lanes of a mask in rising order.
pub(super) fn lanes_of(mask: LaneMask) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (lane < LaneMask::BITS).then_some(lane as usize)
    })
}

fn bit(vl: Vl) -> LaneMask {
    (1 << vl.index()) & DATA
}

impl StageLanes {
    fn new(net: &Net, facts: &WaveFacts<'_>, groups: &[Group], fabric: &Fabric) -> StageLanes {
        let mut lanes =
            StageLanes { masks: Vec::new(), slots: Vec::with_capacity(net.rows.len()), sources: Vec::new() };
        for (row, &node) in net.rows.iter().enumerate() {
            let tables = [facts.before, facts.after].map(|tables| &*tables.sl_to_vl[node.index()]);
            let slot = match tables.map(|table| agreed(fabric, node, table)) {
                [Some(old), Some(new)] => lanes.push_uniform(groups, old, new),
                _ => lanes.push_pairs(groups, net.sides[row], tables),
            };
            lanes.slots.push(slot);
        }
        for source in &net.sources {
            let port = fabric.port(source.port);
            let node = port.node.index();
            let table = |tables: &crate::tables::SubnetTables| *tables.sl_to_vl[node].get(PortNum::ZERO, port.num);
            let (old, new) = (table(facts.before), table(facts.after));
            lanes.sources.extend(groups.iter().map(|group| bit(old.get(group.sls[0])) | bit(new.get(group.sls[0]))));
        }
        lanes
    }

    fn push_uniform(&mut self, groups: &[Group], old: SlToVl, new: SlToVl) -> Slot {
        let start = self.masks.len();
        self.masks.extend(groups.iter().map(|group| bit(old.get(group.sls[0])) | bit(new.get(group.sls[0]))));
        Slot { start, size: 1, in_step: 0, out_step: 0 }
    }

    fn push_pairs(&mut self, groups: &[Group], side: usize, [old, new]: [&NodeSlToVl; 2]) -> Slot {
        let start = self.masks.len();
        let ports = || (0..side).map(|num| PortNum(num as u8));
        for group in groups {
            let sl = group.sls[0];
            let mask = |input, output| bit(old.get(input, output).get(sl)) | bit(new.get(input, output).get(sl));
            self.masks.extend(ports().flat_map(|input| ports().map(move |output| mask(input, output))));
        }
        Slot { start, size: side * side, in_step: side, out_step: 1 }
    }
}

/// The (input, output) pairs of a switch that data can take.
fn pairs(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = (PortNum, PortNum)> {
    let cabled: Vec<PortNum> =
        fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).map(|port| fabric.port(port).num).collect();
    let inputs: Vec<PortNum> = std::iter::once(PortNum::ZERO).chain(cabled.iter().copied()).collect();
    inputs.into_iter().flat_map(move |input| {
        let outputs = cabled.clone().into_iter().filter(move |&output| output != input);
        outputs.map(move |output| (input, output))
    })
}

/// The table that all pairs of a switch share, if they do.
fn agreed(fabric: &Fabric, node: NodeId, table: &NodeSlToVl) -> Option<SlToVl> {
    if let NodeSlToVl::Uniform(all) = table {
        return Some(*all);
    }
    let mut tables = pairs(fabric, node).map(|(input, output)| *table.get(input, output));
    let first = tables.next()?;
    tables.all(|other| other == first).then_some(first)
}

/// Service levels by half, those together that no table of any stage tells apart.
fn groups(stages: &[WaveFacts<'_>]) -> Vec<Group> {
    let mut distinct: Vec<SlToVl> = Vec::new();
    for tables in stages.iter().flat_map(|facts| [facts.before, facts.after]) {
        for node in &tables.sl_to_vl {
            let tables = match &**node {
                NodeSlToVl::Uniform(table) => std::slice::from_ref(table),
                NodeSlToVl::PerPair { tables, .. } => tables,
            };
            tables.iter().for_each(|table| {
                if !distinct.contains(table) {
                    distinct.push(*table);
                }
            });
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for sl in Sl::all() {
        let alike = |group: &Group| distinct.iter().all(|table| table.get(group.sls[0]) == table.get(sl));
        let half = Half::of_sl(sl);
        match groups.iter_mut().find(|group| group.half == half && alike(group)) {
            Some(group) => group.sls.push(sl),
            None => groups.push(Group { half, sls: vec![sl] }),
        }
    }
    groups
}

/// A switch must not send a service level in use onto a lane that the link lacks; nor an end port, which may discard
/// (VL 15) what it shall no longer send.
fn check_carried(fabric: &Fabric, net: &Net, facts: &WaveFacts<'_>, in_use: [bool; 2]) -> Result<(), Refusal> {
    let sls: Vec<Sl> = Sl::all().filter(|&sl| in_use[Half::of_sl(sl).index()]).collect();
    let check = |node: NodeId, table: &SlToVl, output: PortNum, may_discard: bool| {
        let lacking = sls.iter().find(|&&sl| {
            let vl = table.get(sl);
            !(carried(fabric, node, output, vl) || may_discard && vl == Vl::MANAGEMENT)
        });
        lacking.map_or(Ok(()), |&sl| Err(not_carried(fabric, &facts.name, node, output, sl, table.get(sl))))
    };
    for tables in [facts.before, facts.after] {
        for &node in &net.rows {
            match &*tables.sl_to_vl[node.index()] {
                NodeSlToVl::Uniform(table) => {
                    cabled(fabric, node).try_for_each(|out| check(node, table, out, false))?
                }
                each => pairs(fabric, node).try_for_each(|(i, out)| check(node, each.get(i, out), out, false))?,
            }
        }
        for source in net.sources.iter().filter(|source| source.input != PortNum::ZERO) {
            let port = fabric.port(source.port);
            let table = tables.sl_to_vl[port.node.index()].get(PortNum::ZERO, port.num);
            check(port.node, table, port.num, true)?;
        }
    }
    Ok(())
}

fn cabled(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = PortNum> {
    fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).map(|port| fabric.port(port).num)
}

fn carried(fabric: &Fabric, node: NodeId, output: PortNum, vl: Vl) -> bool {
    let ends = fabric.port_at(node, output).and_then(|port| fabric.peer(port).map(|peer| [port, peer]));
    ends.is_none_or(|ends| ends.iter().all(|&end| vl.get() < fabric.port(end).data_vls))
}

fn not_carried(fabric: &Fabric, wave: &str, node: NodeId, output: PortNum, sl: Sl, vl: Vl) -> Refusal {
    let name = fabric.describe_node(node);
    let what = format!("{name:?} sends SL {sl} through port {output} on VL {vl}, which that link does not carry");
    Refusal::Precondition { wave: wave.to_string(), what }
}
