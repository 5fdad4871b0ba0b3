//! One subnet among several: walked with its router ports, stage by stage.

use super::{AcrossRefusal, Part};
use crate::fabric::PortId;
use crate::ids::{Half, Lid, Sl, Vl};
use crate::verify::Dependency;
use crate::verify::case::{ProofCase, RelayPorts};
use crate::verify::collector::DependencyCollector;
use crate::verify::dependencies::{Dependencies, lane_of};
use crate::verify::evidence;
use crate::verify::graph::{Graph, NodeCycle};
use crate::verify::input::case_of;
use crate::verify::lanes::{Group, LaneMask, lanes_of};
use crate::verify::proof_walk::{ProofSink, ProofWalk};
use crate::verify::walk::{Both, Class, ClassHop, Columns, Now, Sink};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub(super) struct SubnetWalk<'a> {
    /// Its name.
    pub name: String,
    proof_walk: ProofWalk<'a>,
    halves: [Vec<Dependencies>; 2],
    /// By stage: dependencies between lanes, numbered from 0 in this subnet.
    edges: Vec<Vec<(u32, u32)>>,
    dependencies: usize,
    arrived: Arrivals,
    /// By router port: its rank among the sources.
    senders: BTreeMap<PortId, usize>,
}

/// Packets of one level in the lanes of a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelLanes {
    /// Their service level.
    pub sl: Sl,
    first: u32,
    mask: LaneMask,
}

impl LevelLanes {
    /// The lanes, numbered from 0 in their subnet.
    pub fn lanes(self) -> impl Iterator<Item = u32> {
        lanes_of(self.mask).map(move |lane| self.first + lane as u32)
    }
}

impl<'a> SubnetWalk<'a> {
    /// Walks a part that is proved by itself. `crossed`: packets enter or leave it through its routers.
    pub fn new(
        part: &Part<'a>,
        name: &str,
        relays: RelayPorts,
        crossed: bool,
    ) -> Result<SubnetWalk<'a>, AcrossRefusal> {
        let refused = |refusal| AcrossRefusal::Part { subnet: name.to_string(), refusal };
        let (mut case, surviving) = match *part {
            Part::Steady { fabric, tables, scope } => (ProofCase::of_tables(fabric, tables, scope), fabric),
            Part::Changing(transition) => {
                let idle = || AcrossRefusal::Precondition(format!("the change in subnet {name} has no waves"));
                (case_of(transition).map_err(refused)?.ok_or_else(idle)?, transition.surviving())
            }
        };
        if crossed && case.stages.iter().any(|facts| facts.ways.iter().any(|ways| !ways.is_empty())) {
            // Such a part is sound only if sources keep to their paths (M8). A router's packets have the level of its
            // rule instead.
            return Err(AcrossRefusal::PathLayers { subnet: name.to_string() });
        }
        case.relays = relays;
        let proof_walk = ProofWalk::new(case, surviving).map_err(refused)?;
        SubnetWalk::walk(name, proof_walk).map_err(refused)
    }

    fn walk(name: &str, proof_walk: ProofWalk<'a>) -> Result<SubnetWalk<'a>, crate::verify::Refusal> {
        let layout = proof_walk.layout();
        let arrivals = Arrivals::new(&proof_walk.case, &proof_walk.lanes.groups);
        let mut sinks = Both(DependencyCollector::new(&proof_walk, &layout), Some(arrivals));
        if let Some(fault) = proof_walk.walk_all(&mut sinks) {
            return Err(evidence::of_fault(&proof_walk, fault));
        }
        let Both(collector, arrivals) = sinks;
        let halves = collector.finish();
        let mut all = Dependencies::none(&layout);
        let mut edges = Vec::new();
        for (stage, (lower, upper)) in halves[0].iter().zip(&halves[1]).enumerate() {
            let mut own = lower.clone();
            own.unite(upper);
            let mut waits = Vec::new();
            // Edges stay apart by stage, since the search across subnets combines stages freely.
            own.each_edge(&layout, stage, &mut |from, to| waits.push((from, to)));
            edges.push(waits);
            all.unite(&own);
        }
        let (dependencies, arrived) = (all.count(), arrivals.unwrap_or_default());
        let senders = proof_walk.net.senders(0).iter().enumerate();
        let relays = senders.filter(|(_, source)| proof_walk.case.relays.ports.contains(&source.port));
        let senders = relays.map(|(rank, source)| (source.port, rank)).collect();
        let name = name.to_string();
        Ok(SubnetWalk { name, proof_walk, halves, edges, dependencies, arrived, senders })
    }

    /// The number of stages: 1 where nothing changes.
    pub fn stages(&self) -> usize {
        self.proof_walk.case.stages.len()
    }

    /// The name of a stage.
    pub fn wave(&self, stage: usize) -> String {
        self.proof_walk.case.stages[stage].name.clone()
    }

    /// The number of lanes.
    pub fn lane_count(&self) -> usize {
        self.proof_walk.net.channels() * self.proof_walk.lanes.vls
    }

    /// Dependencies at a stage.
    pub fn edges(&self, stage: usize) -> &[(u32, u32)] {
        &self.edges[stage]
    }

    /// The number of distinct dependencies, over all stages together.
    pub fn dependency_count(&self) -> usize {
        self.dependencies
    }

    /// The port that sends into a lane, and its VL.
    pub fn place(&self, lane: u32) -> (PortId, Vl) {
        let (port, vl) = lane_of(&self.proof_walk.layout(), lane);
        (port, Vl::masked(vl))
    }

    /// The port at the other end of the cable.
    pub fn far_end(&self, port: PortId) -> Option<PortId> {
        self.proof_walk.case.fabric.peer(port)
    }

    /// The levels on which packets can have come to a router's port at some of these stages, with the lanes in which
    /// they stand.
    pub fn arrivals(&self, stages: Range<usize>, port: PortId) -> impl Iterator<Item = LevelLanes> + '_ {
        let channel = self.far_end(port);
        let groups = self.proof_walk.lanes.groups.iter().enumerate();
        groups.flat_map(move |(group, levels)| {
            let mask = self.arrived.at(stages.clone(), port, group);
            let first = channel.map(|channel| self.first_lane(channel)).filter(|_| mask != 0);
            levels.sls.iter().filter_map(move |&sl| first.map(|first| LevelLanes { sl, first, mask }))
        })
    }

    /// For either half: the lanes in which packets of a level, given by its rank, can stand in the channel out of a
    /// router's port at some of these stages.
    pub fn departures(&self, stages: Range<usize>, port: PortId, rank: u8) -> impl Iterator<Item = LevelLanes> + '_ {
        let source = self.senders.get(&port).copied();
        [Half::Lower, Half::Upper].into_iter().filter_map(move |half| {
            let (sl, source) = (half.sl_of(rank), source?);
            let group = self.proof_walk.lanes.groups.iter().position(|group| group.sls.contains(&sl))?;
            // Beyond a router rules 1 and 2 apply to its channel: the packets that it may send now, and those sent
            // before that may still be there.
            let mask =
                stages.clone().fold(0, |mask, stage| mask | self.proof_walk.injection.mask(stage, source, group));
            (mask != 0).then(|| LevelLanes { sl, first: self.first_lane(port), mask })
        })
    }

    /// The ways through the subnet at a stage: from each lane by which a router sends into it, the lanes in which
    /// packets come to routers that dependencies lead to. A cable from router to router is one lane, and no way.
    ///
    /// # Errors
    /// A cycle of the subnet's own dependencies.
    pub fn through(&self, stage: usize) -> Result<Vec<(u32, u32)>, NodeCycle> {
        let edges = self.edges(stage);
        let graph = Graph::new(self.lane_count(), |emit| edges.iter().for_each(|&(from, to)| emit(from, to)));
        let order = graph.order()?;
        let (starts, ends) = self.ends(stage);
        let mut found = Vec::new();
        // 64 starts share one pass: a bit for each, carried along the order.
        for starts in starts.chunks(u64::BITS as usize) {
            let reached = reach(&graph, &order, starts);
            for &end in &ends {
                let from = reached[end as usize];
                let leads = starts.iter().enumerate().filter(|&(bit, &start)| from >> bit & 1 == 1 && start != end);
                found.extend(leads.map(|(_, &start)| (start, end)));
            }
        }
        Ok(found)
    }

    /// The lanes in which packets of routers set out at a stage, and those in which packets come to routers.
    fn ends(&self, stage: usize) -> (Vec<u32>, BTreeSet<u32>) {
        let (mut starts, mut ends) = (BTreeSet::new(), BTreeSet::new());
        for &port in &self.proof_walk.case.relays.ports {
            // The ranks of one half are those of both: `departures` covers the two halves of each rank.
            let ranks = Half::Lower.sls().map(|sl| Half::rank(sl) as u8);
            let departures = ranks.flat_map(|rank| self.departures(stage..stage + 1, port, rank));
            starts.extend(departures.flat_map(LevelLanes::lanes));
            ends.extend(self.arrivals(stage..stage + 1, port).flat_map(LevelLanes::lanes));
        }
        (starts.into_iter().collect(), ends)
    }

    fn first_lane(&self, channel: PortId) -> u32 {
        (channel.index() * self.proof_walk.lanes.vls) as u32
    }

    /// Dependencies within the subnet, given by their lanes, with a class for each.
    pub fn explain(&self, stage: usize, turns: &[(u32, u32)]) -> Vec<Dependency> {
        if turns.is_empty() {
            return Vec::new();
        }
        evidence::dependencies(&self.proof_walk, &self.proof_walk.layout(), &self.halves, stage, turns)
    }
}

/// By node: which of `starts`, at most 64, edges lead from to it; a start is reached from itself.
fn reach(graph: &Graph, order: &[u32], starts: &[u32]) -> Vec<u64> {
    let mut reached = vec![0; graph.len()];
    starts.iter().enumerate().for_each(|(bit, &start)| reached[start as usize] |= 1 << bit);
    for &node in order {
        // In topological order every predecessor is complete before its successors read it.
        let own = reached[node as usize];
        if own != 0 {
            graph.successors(node).iter().for_each(|&next| reached[next as usize] |= own);
        }
    }
    reached
}

/// The lanes in which packets for router ports stand before those ports.
#[derive(Default)]
struct Arrivals {
    groups: usize,
    /// LIDs and groups of answers to routers. A router takes them like any end port, and forwards none.
    answers: BTreeSet<(Lid, usize)>,
    /// By router port: the channel that leads to it, and by stage and group the lanes.
    ports: BTreeMap<PortId, (usize, Vec<LaneMask>)>,
}

impl Arrivals {
    fn new(case: &ProofCase<'_>, groups: &[Group]) -> Arrivals {
        let cabled = case.relays.ports.iter().filter_map(|&port| Some((port, case.fabric.peer(port)?)));
        let none = || vec![0; groups.len() * case.stages.len()];
        let pairs = case.relays.ports.iter().filter_map(|&port| case.fabric.port(port).lid);
        let pairs = pairs.flat_map(|lid| groups.iter().enumerate().map(move |(at, group)| (lid, at, group.half())));
        let answers = pairs.filter(|&(lid, _, half)| case.is_answer(lid, half)).map(|(lid, at, _)| (lid, at));
        Arrivals {
            groups: groups.len(),
            answers: answers.collect(),
            ports: cabled.map(|(port, channel)| (port, (channel.index(), none()))).collect(),
        }
    }

    fn at(&self, stages: Range<usize>, port: PortId, group: usize) -> LaneMask {
        let Some((_, lanes)) = self.ports.get(&port) else { return 0 };
        stages.fold(0, |mask, stage| mask | lanes[stage * self.groups + group])
    }
}

impl Sink for Arrivals {
    fn hop(&mut self, _: &Class, _: &Columns, _: &ClassHop) {}

    fn occupied(&mut self, Now { class, stage }: Now<'_>, _: &[u32], lanes: &[LaneMask]) {
        if self.answers.contains(&(class.lid, class.group)) {
            return;
        }
        if let Some((channel, found)) = self.ports.get_mut(&class.owner) {
            found[stage * self.groups + class.group] |= lanes[*channel];
        }
    }

    /// Occupied lanes are reported for each stage anyway.
    fn hears_repeats(&self) -> bool {
        false
    }
}

impl ProofSink for Arrivals {}
