//! Reads the SL-to-VL tables of a proof: at each stage the old and the new table together.
//!
//! A switch whose tables agree for every cabled (input, output) is held as one table, however its devices spell them.

use super::ProofWave;
use super::case::ProofCase;
use super::lanes::{DISCARD, Group, HopLanes, LaneMask, StageLanes};
use super::net::FlatFabric;
use super::refusal::Refusal;
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Half, PortNum, Sl, Vl};
use crate::tables::{NodeSlToVl, SlToVl, SubnetTables};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Reads the tables of all stages.
///
/// # Errors
/// A table that sends a service level in use onto a lane which the link does not carry.
pub(super) fn read(case: &ProofCase<'_>, net: &FlatFabric) -> Result<HopLanes, Refusal> {
    let ProofCase { fabric, ref stages, reserved, .. } = *case;
    let groups = groups(stages, reserved);
    let mut in_use = [false; 2];
    let mut all = Vec::with_capacity(stages.len());
    for facts in stages.iter() {
        // A half remains in use after its sources have stopped, until a barrier shows that its packets are gone.
        for half in [0, 1] {
            in_use[half] = facts.injected[half] || in_use[half] && !facts.gone[half];
        }
        let sls = Sl::all().filter(|&sl| in_use[Half::of_sl(sl).index()] && Some(sl) != reserved);
        check_carried(fabric, net, facts, &sls.collect::<Vec<_>>())?;
        all.push(stage_lanes(fabric, net, facts, &groups));
    }
    Ok(HopLanes::new(groups, all))
}

/// No lane for VL 15. `check_carried` refuses switches that discard so, and a packet that a source discards is not
/// sent.
fn bit(vl: Vl) -> LaneMask {
    (1 << vl.index()) & !DISCARD
}

fn stage_lanes(fabric: &Fabric, net: &FlatFabric, facts: &ProofWave<'_>, groups: &[Group]) -> StageLanes {
    let mut lanes = StageLanes::new(groups.len(), fabric.port_count());
    let mixed = |old: &SlToVl, new: &SlToVl, group: &Group| bit(old.get(group.sl())) | bit(new.get(group.sl()));
    for (row, &node) in net.rows.iter().enumerate() {
        let [old, new] = [facts.before, facts.after].map(|tables| &*tables.sl_to_vl[node.index()]);
        match [old, new].map(|table| agreed(fabric, node, table)) {
            [Some(old), Some(new)] => lanes.push_uniform(groups.iter().map(|group| mixed(&old, &new, group))),
            _ => lanes.push_pairs(net.sides[row], |group, input, output| {
                mixed(old.get(input, output), new.get(input, output), &groups[group])
            }),
        }
    }
    for source in net.senders(0) {
        let port = fabric.port(source.port);
        let table = |tables: &SubnetTables| *tables.sl_to_vl[port.node.index()].get(PortNum::ZERO, port.num);
        let (old, new) = (table(facts.before), table(facts.after));
        lanes.set_source(source.port, groups.iter().map(|group| mixed(&old, &new, group)));
    }
    lanes
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

/// Service levels of data by half, grouped where no table of any stage distinguishes them.
fn groups(stages: &[ProofWave<'_>], reserved: Option<Sl>) -> Vec<Group> {
    let mut distinct: Vec<SlToVl> = Vec::new();
    // Stages share the tables of most nodes, and nodes those of one another.
    let mut seen: FxHashSet<*const NodeSlToVl> = FxHashSet::default();
    for tables in stages.iter().flat_map(|facts| [facts.before, facts.after]) {
        for node in tables.sl_to_vl.iter().filter(|&node| seen.insert(Arc::as_ptr(node))) {
            let tables = match &**node {
                NodeSlToVl::Uniform(table) => std::slice::from_ref(table),
                NodeSlToVl::PerPair { tables, .. } => tables,
            };
            for (at, table) in tables.iter().enumerate() {
                // Neighbouring pairs mostly have one table.
                if (at == 0 || tables[at - 1] != *table) && !distinct.contains(table) {
                    distinct.push(*table);
                }
            }
        }
    }
    // Two levels that every table maps alike have the same hops at every stage, so walking one walks both. Halves
    // stay apart: they are injected, drained and reported gone separately.
    let mut groups: Vec<Group> = Vec::new();
    for sl in Sl::all().filter(|&sl| Some(sl) != reserved) {
        let alike = |group: &Group| distinct.iter().all(|table| table.get(group.sl()) == table.get(sl));
        let half = Half::of_sl(sl);
        match groups.iter_mut().find(|group| group.half() == half && alike(group)) {
            Some(group) => group.sls.push(sl),
            None => groups.push(Group { sls: vec![sl] }),
        }
    }
    groups
}

/// Neither a switch nor an end port may send a service level in use onto a lane that the link lacks. An end port may
/// discard (VL 15) packets that it is no longer to send.
fn check_carried(fabric: &Fabric, net: &FlatFabric, facts: &ProofWave<'_>, sls: &[Sl]) -> Result<(), Refusal> {
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
        for source in net.senders(0).iter().filter(|source| !source.is_switch()) {
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
