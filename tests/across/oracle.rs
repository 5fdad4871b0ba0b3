//! Packets followed one by one: from host to host through every router that a shortest way leads through, hop by hop as
//! the tables say; and, while tables change, all packets of a class that can exist, wave by wave. A cycle is petgraph's
//! to find.

use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use reconfig::fabric::subnets::{SubnetPort, Subnets};
use reconfig::fabric::{Fabric, NodeKind, PortId};
use reconfig::ids::{Half, Lid, PortNum, Sl, SubnetId, Vl};
use reconfig::routers::{Levels, Routes};
use reconfig::tables::SubnetTables;
use reconfig::verify::ProofWave;
use reconfig::verify::across::{Part, Whole};
use std::collections::BTreeSet;

/// A lane: the subnet, the port that sends into it, the VL.
type Lane = (SubnetId, PortId, Vl);

/// What runs in a subnet.
pub struct Tables<'a> {
    pub fabric: &'a Fabric,
    pub tables: &'a SubnetTables,
    pub half: Half,
}

impl Tables<'_> {
    fn injects(&self, port: PortId, sl: Sl) -> Vl {
        let end = self.fabric.port(port);
        self.tables.sl_to_vl[end.node.index()].get(PortNum::ZERO, end.num).get(sl)
    }

    /// The lanes of a packet, from the injection channel to the owner of the LID.
    fn walk(&self, from: PortId, lid: Lid, sl: Sl) -> Vec<(PortId, Vl)> {
        let mut lanes = vec![(from, self.injects(from, sl))];
        loop {
            assert!(lanes.len() < 1000, "LID {lid} goes round");
            let at = self.fabric.port(self.fabric.peer(lanes[lanes.len() - 1].0).expect("a cable"));
            if !self.fabric.node(at.node).is_switch() {
                return lanes;
            }
            let output = self.tables.lfts[at.node.index()].get(lid).expect("a route");
            let vl = self.tables.sl_to_vl[at.node.index()].get(at.num, output).get(sl);
            lanes.push((self.fabric.port_at(at.node, output).expect("a port"), vl));
        }
    }
}

/// One packet on its way between subnets: who sends it into this subnet, to which port of it, on which level.
type Leg = (SubnetPort, SubnetPort, u8);

/// Whether packets from host to host close a cycle.
pub fn deadlocks(subnets: &Subnets, tables: &[Tables<'_>], routes: &Routes, levels: Levels) -> bool {
    let mut graph: DiGraphMap<Lane, ()> = DiGraphMap::new();
    let hosts: Vec<SubnetPort> = subnets
        .subnets()
        .flat_map(|(subnet, _)| subnets.hosts(subnet).map(move |port| SubnetPort { subnet, port }))
        .collect();
    for &destination in &hosts {
        let mut seen: BTreeSet<Leg> = BTreeSet::new();
        let mut left: Vec<Leg> = Vec::new();
        for &source in hosts.iter().filter(|&&source| source != destination) {
            let first = routes.first(source.subnet, destination.subnet);
            let within = source.subnet == destination.subnet;
            let to = if within { std::slice::from_ref(&destination) } else { first };
            left.extend(to.iter().flat_map(|&to| (0..8).map(move |level| (source, to, level))));
        }
        while let Some(leg) = left.pop() {
            if !seen.insert(leg) {
                continue;
            }
            for last in follow(&mut graph, &tables[leg.0.subnet.index()], leg) {
                if leg.1 == destination {
                    continue;
                }
                let router = subnets.router_of(leg.1).expect("a router");
                for onward in routes.onward(router, destination.subnet) {
                    for level in (0..levels.classes()).filter_map(|class| {
                        levels.crossing(class, leg.2, routes.falls(leg.1.subnet, onward.out.subnet))
                    }) {
                        let next = &tables[onward.out.subnet.index()];
                        let vl = next.injects(onward.out.port, next.half.sl_of(level));
                        graph.add_edge(last, (onward.out.subnet, onward.out.port, vl), ());
                        left.push((onward.out, onward.to.unwrap_or(destination), level));
                    }
                }
            }
        }
    }
    is_cyclic_directed(&graph)
}

/// Adds who waits for whom on one leg, by every LID of its end; the lanes in which it ends.
fn follow(graph: &mut DiGraphMap<Lane, ()>, tables: &Tables<'_>, (from, to, level): Leg) -> Vec<Lane> {
    let mut ends = Vec::new();
    for lid in tables.fabric.half_lids(to.port, tables.half) {
        let lanes = tables.walk(from.port, lid, tables.half.sl_of(level));
        let lanes: Vec<Lane> = lanes.into_iter().map(|(port, vl)| (from.subnet, port, vl)).collect();
        for pair in lanes.windows(2) {
            graph.add_edge(pair[0], pair[1], ());
        }
        ends.push(lanes[lanes.len() - 1]);
    }
    ends
}

/// What can be in a subnet at one stage.
#[derive(Default)]
struct Stage {
    dependencies: BTreeSet<(Lane, Lane)>,
    /// In front of a router's port, on a level.
    arrived: BTreeSet<(PortId, u8, Lane)>,
    /// Behind a port, on a level.
    sent: BTreeSet<(PortId, u8, Lane)>,
}

/// Whether packets close a cycle at any stage of any part, each with each.
pub fn deadlocks_at_some_moment(whole: &Whole<'_>) -> bool {
    let sides: Vec<Vec<Stage>> =
        whole.subnets.subnets().zip(&whole.parts).map(|((id, _), part)| stages(whole, id, part)).collect();
    let mut moments: Vec<Vec<usize>> = vec![Vec::new()];
    for side in &sides {
        moments = moments
            .into_iter()
            .flat_map(|moment| (0..side.len()).map(move |stage| [&moment[..], &[stage]].concat()))
            .collect();
    }
    moments.iter().any(|moment| {
        let now: Vec<&Stage> = sides.iter().zip(moment).map(|(side, &stage)| &side[stage]).collect();
        let mut graph: DiGraphMap<Lane, ()> = DiGraphMap::new();
        for &(from, to) in now.iter().flat_map(|stage| &stage.dependencies) {
            graph.add_edge(from, to, ());
        }
        for router in whole.subnets.routers() {
            for (&enters, &leaves) in
                router.ports.iter().flat_map(|enters| router.ports.iter().map(move |at| (enters, at)))
            {
                if enters.subnet != leaves.subnet {
                    couple(
                        &mut graph,
                        (whole.levels, whole.routes[0].falls(enters.subnet, leaves.subnet)),
                        (now[enters.subnet.index()], enters.port),
                        (now[leaves.subnet.index()], leaves.port),
                    );
                }
            }
        }
        is_cyclic_directed(&graph)
    })
}

fn couple(
    graph: &mut DiGraphMap<Lane, ()>,
    (levels, falls): (Levels, Option<bool>),
    (entered, enters): (&Stage, PortId),
    (left, leaves): (&Stage, PortId),
) {
    for &(_, level, from) in entered.arrived.iter().filter(|found| found.0 == enters) {
        for next in (0..levels.classes()).filter_map(|class| levels.crossing(class, level, falls)) {
            for &(_, _, to) in left.sent.iter().filter(|&&(port, level, _)| (port, level) == (leaves, next)) {
                graph.add_edge(from, to, ());
            }
        }
    }
}

/// A packet: its lane, and the one that its switch has chosen for it.
type Packet = (Lane, Option<Lane>);

/// What is steady is a change without waves.
fn stages(whole: &Whole<'_>, id: SubnetId, part: &Part<'_>) -> Vec<Stage> {
    match part {
        Part::Steady { fabric, tables, scope } => {
            let mut injected = [false; 2];
            scope.halves.iter().for_each(|half| injected[half.index()] = true);
            let ways = Default::default();
            let (name, empty, gone) = (String::new(), Default::default(), [false; 2]);
            let facts = ProofWave { name, before: tables, after: tables, injected, ways, empty, gone, aged: None };
            wave_by_wave(whole, id, (fabric, fabric), &[facts])
        }
        Part::Changing(transition) => {
            let waves = transition.waves();
            let mut steady = waves[0].clone();
            steady.after = steady.before;
            steady.injected = transition.sending_before().injected;
            let facts: Vec<ProofWave<'_>> = std::iter::once(steady).chain(waves).collect();
            wave_by_wave(whole, id, (transition.fabric(), transition.surviving()), &facts)
        }
    }
}

fn wave_by_wave(whole: &Whole<'_>, id: SubnetId, fabrics: (&Fabric, &Fabric), facts: &[ProofWave<'_>]) -> Vec<Stage> {
    let mut stages: Vec<Stage> = facts.iter().map(|_| Stage::default()).collect();
    let ends: Vec<PortId> = fabrics.0.end_ports().collect();
    for half in [Half::Lower, Half::Upper] {
        for &owner in &ends {
            for (lid, sl) in fabrics.0.half_lids(owner, half).flat_map(|lid| half.sls().map(move |sl| (lid, sl))) {
                let senders: Vec<PortId> = ends.iter().copied().filter(|&from| sends(whole, id, from, owner)).collect();
                let class = ClassOf { id, lid, sl, owner, senders };
                class.run(fabrics, facts, &mut stages);
            }
        }
    }
    stages
}

/// Whether a port has packets for another: a router for another one only where a shortest way leads through both.
fn sends(whole: &Whole<'_>, id: SubnetId, from: PortId, owner: PortId) -> bool {
    let fabric = whole.subnets.fabric(id);
    let is_router = |port: PortId| fabric.node(fabric.port(port).node).kind == NodeKind::Router;
    if from == owner || !is_router(from) || !is_router(owner) {
        return from != owner;
    }
    let at = |port| SubnetPort { subnet: id, port };
    let router = whole.subnets.router_of(at(from)).expect("a router");
    whole.subnets.subnets().any(|(to, _)| {
        let routes = whole.routes[0];
        let comes = |port: &&SubnetPort| routes.first(port.subnet, to).contains(port);
        let goes = routes.onward(router, to).iter().any(|way| way.out == at(from) && way.to == Some(at(owner)));
        goes && whole.subnets.routers()[router].ports.iter().find(comes).is_some()
    })
}

struct ClassOf {
    id: SubnetId,
    lid: Lid,
    sl: Sl,
    owner: PortId,
    senders: Vec<PortId>,
}

impl ClassOf {
    fn run(&self, (before, surviving): (&Fabric, &Fabric), facts: &[ProofWave<'_>], stages: &mut [Stage]) {
        let mut packets: BTreeSet<Packet> = BTreeSet::new();
        for (index, (facts, stage)) in facts.iter().zip(stages).enumerate() {
            let fabric = if index == 0 { before } else { surviving };
            if index > 0 {
                let there = |lane: &Lane| fabric.peer(lane.1).is_some() && !facts.empty.contains(lane.2);
                let gone = facts.gone[Half::of_sl(self.sl).index()];
                packets.retain(|(lane, latched)| !gone && there(lane) && latched.iter().all(there));
            }
            self.inject(fabric, facts, &mut packets);
            self.spread(fabric, facts, &mut packets);
            self.note(fabric, &packets, stage);
        }
    }

    fn inject(&self, fabric: &Fabric, facts: &ProofWave<'_>, packets: &mut BTreeSet<Packet>) {
        if !facts.injects(Half::of_sl(self.sl)) {
            return;
        }
        for &port in self.senders.iter().filter(|&&port| fabric.peer(port).is_some()) {
            for tables in [facts.before, facts.after] {
                let end = fabric.port(port);
                let vl = tables.sl_to_vl[end.node.index()].get(PortNum::ZERO, end.num).get(self.sl);
                packets.insert(((self.id, port, vl), None));
            }
        }
    }

    fn spread(&self, fabric: &Fabric, facts: &ProofWave<'_>, packets: &mut BTreeSet<Packet>) {
        let mut work: Vec<Packet> = packets.iter().copied().collect();
        while let Some((lane, latched)) = work.pop() {
            let reached: Vec<Packet> = match latched {
                Some(next) => vec![(next, None)],
                None => self.next(fabric, facts, lane).into_iter().map(|next| (lane, Some(next))).collect(),
            };
            work.extend(reached.into_iter().filter(|&packet| packets.insert(packet)));
        }
    }

    fn next(&self, fabric: &Fabric, facts: &ProofWave<'_>, lane: Lane) -> Vec<Lane> {
        let Some(at) = fabric.peer(lane.1).map(|at| fabric.port(at)) else { return Vec::new() };
        if !fabric.node(at.node).is_switch() {
            return Vec::new();
        }
        let tables = [facts.before, facts.after];
        let outputs = tables.iter().filter_map(|tables| tables.lfts[at.node.index()].get(self.lid));
        let cabled = outputs.filter_map(|output| fabric.port_at(at.node, output));
        let cabled: Vec<PortId> = cabled.filter(|&output| fabric.peer(output).is_some()).collect();
        let lane = |output: PortId, tables: &SubnetTables| {
            tables.sl_to_vl[at.node.index()].get(at.num, fabric.port(output).num).get(self.sl)
        };
        let next = |&output: &PortId| tables.map(|tables| (self.id, output, lane(output, tables)));
        cabled.iter().flat_map(next).collect()
    }

    fn note(&self, fabric: &Fabric, packets: &BTreeSet<Packet>, stage: &mut Stage) {
        let level = Half::rank(self.sl) as u8;
        for &(lane, latched) in packets {
            stage.dependencies.extend(latched.map(|next| (lane, next)));
            if fabric.peer(lane.1) == Some(self.owner) {
                stage.arrived.insert((self.owner, level, lane));
            }
            if self.senders.contains(&lane.1) {
                stage.sent.insert((lane.1, level, lane));
            }
        }
    }
}
