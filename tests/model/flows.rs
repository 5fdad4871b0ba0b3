//! Which flows a case sends. A state space of all of them is too large, so the flows are those that matter most: where
//! the paths of R and R′ together close a cycle of lanes, a flow for each turn of the shortest one; then those of the
//! longest paths between ends that stay, R's and R′'s in turn. The choice is of what is looked at, not of what is found
//! there.

use super::network::Flow;
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, Sl};
use reconfig::plan::Plan;
use reconfig::tables::SubnetTables;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The service levels of flows of the old half and of the new one.
#[derive(Clone, Copy)]
pub struct Levels {
    pub old: u8,
    pub new: u8,
}

/// One flow and the channels on its way, from the source's on.
#[derive(Clone, Debug)]
struct Way {
    flow: Flow,
    channels: Vec<PortId>,
}

/// A flow for each turn of the shortest cycle that the paths before and after close together, if they close any.
pub fn closing(plan: &Plan, levels: Levels) -> Vec<Flow> {
    let ways = ways(plan, levels);
    let mut turns: BTreeMap<PortId, BTreeMap<PortId, (usize, Flow)>> = BTreeMap::new();
    for way in &ways {
        for (at, pair) in way.channels.windows(2).enumerate() {
            let turn = turns.entry(pair[0]).or_default().entry(pair[1]).or_insert((at, way.flow));
            *turn = (*turn).min((at, way.flow));
        }
    }
    let cycles = turns.keys().filter_map(|&start| cycle_through(&turns, start));
    let Some(cycle) = cycles.min_by_key(Vec::len) else { return Vec::new() };
    let turn = |at: usize| turns[&cycle[at]][&cycle[(at + 1) % cycle.len()]].1;
    let flows: BTreeSet<Flow> = (0..cycle.len()).map(turn).collect();
    flows.into_iter().collect()
}

/// The same on the new half: what follows entries of R′ where they have landed, and of R where they have not.
pub fn closing_on_new_half(plan: &Plan, levels: Levels) -> Vec<Flow> {
    let fabric = &plan.draft().before;
    let (half, sl) = (plan.new_half(), Sl::new(levels.new).expect("a service level"));
    let moved = |flow: Flow| {
        let owner = fabric.lid_owner(flow.lid).expect("flows lead to end ports");
        let lid = fabric.half_lids(owner, half).next().expect("end ports have two halves of LIDs");
        Flow { lid, sl, half, ..flow }
    };
    closing(plan, levels).into_iter().map(moved).collect()
}

/// Every flow of R to the port that owns a LID.
pub fn leading_to(plan: &Plan, levels: Levels, lid: Lid) -> Vec<Flow> {
    ways(plan, levels).iter().map(|way| way.flow).filter(|flow| flow.lid == lid && flow.half == plan.old()).collect()
}

/// The flows of [`closing`], and of the longest paths as many as make `count`.
pub fn choose(plan: &Plan, levels: Levels, count: usize) -> Vec<Flow> {
    let mut chosen = closing(plan, levels);
    let mut ways = ways(plan, levels);
    let surviving = &plan.draft().surviving;
    let dies = |way: &Way| {
        let owner = surviving.lid_owner(way.flow.lid);
        [Some(way.flow.source), owner].into_iter().flatten().any(|end| surviving.peer(end).is_none())
    };
    ways.sort_by_key(|way| (dies(way), std::cmp::Reverse(way.channels.len())));
    let (new, old): (Vec<Way>, Vec<Way>) = ways.into_iter().partition(|way| way.flow.half != plan.old());
    let mut sides = [old.into_iter(), new.into_iter()];
    let mut turn = 0;
    while chosen.len() < count && sides.iter().any(|side| side.len() > 0) {
        let next = sides[turn % 2].find(|way| !chosen.contains(&way.flow));
        chosen.extend(next.map(|way| way.flow));
        turn += 1;
    }
    chosen
}

/// Every path of R, and of R′ between end ports that it joins.
fn ways(plan: &Plan, levels: Levels) -> Vec<Way> {
    let draft = plan.draft();
    let last = plan.tables_at(plan.waves().len());
    let mut ways = paths(&draft.routed, &draft.initial, plan.old(), levels.old, &[]);
    let level = if plan.old() == plan.new_half() { levels.old } else { levels.new };
    ways.extend(paths(&draft.after, last, plan.new_half(), level, &draft.stranded));
    ways
}

fn paths(fabric: &Fabric, tables: &SubnetTables, half: Half, sl: u8, stranded: &[PortId]) -> Vec<Way> {
    let ends: Vec<PortId> = fabric.end_ports().filter(|port| !stranded.contains(port)).collect();
    let sl = Sl::new(sl).expect("a service level");
    let mut ways = Vec::new();
    for &source in &ends {
        for &end in ends.iter().filter(|&&end| end != source) {
            let lid = fabric.half_lids(end, half).next().expect("end ports have two halves of LIDs");
            ways.push(Way { flow: Flow { source, lid, sl, half }, channels: channels(fabric, tables, source, lid) });
        }
    }
    ways
}

/// The channels into switches that a packet takes.
fn channels(fabric: &Fabric, tables: &SubnetTables, source: PortId, lid: Lid) -> Vec<PortId> {
    let mut channels = vec![source];
    loop {
        let node = fabric.neighbour(channels[channels.len() - 1]).expect("a channel leads somewhere");
        let next = tables.lfts[node.index()].get(lid).and_then(|port| fabric.port_at(node, port));
        let next = next.expect("the routing joins all end ports");
        if fabric.neighbour(next).is_none_or(|node| !fabric.node(node).is_switch()) {
            return channels;
        }
        channels.push(next);
    }
}

/// The shortest way round from a channel to itself.
fn cycle_through<T>(turns: &BTreeMap<PortId, BTreeMap<PortId, T>>, start: PortId) -> Option<Vec<PortId>> {
    let mut from: BTreeMap<PortId, PortId> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for &next in turns.get(&at).into_iter().flat_map(BTreeMap::keys) {
            if next == start {
                let mut cycle = vec![at];
                while cycle[cycle.len() - 1] != start {
                    cycle.push(from[&cycle[cycle.len() - 1]]);
                }
                cycle.reverse();
                return Some(cycle);
            }
            from.entry(next).or_insert_with(|| {
                open.push_back(next);
                at
            });
        }
    }
    None
}
