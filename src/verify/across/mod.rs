//! Proof that subnets joined by routers cannot deadlock together, at any moment of changes in some of them.
//!
//! On entry a [`Whole`]: the tables in force in each subnet or a transition between two, the ways through routers, and
//! the rule by which routers pick service levels. On return [`ProvedAcross`], which only this module can make, or the
//! refusal: of one subnet by itself, or of a shortest cycle through routers, with the cause of each of its
//! dependencies. The model: a packet that came to a router by port p stands in the input lane of p, a finite buffer,
//! until the lane by which it leaves through port q has room. So the dependencies of each subnet, as `walk` finds them,
//! and these *couplings* are one graph. A moment is a stage of each part: any may meet any; `moments` judges all at
//! once where it can. Every packet that can reach the LIDs of p may occupy it. q sends any packet to the hosts of its
//! subnet, and to another router where a shortest way leads through both. Only the level of a packet at p is known: its
//! traffic class may be any. Assumed: lanes and packets that a transition reports empty or gone are so in router inputs
//! too, and routers follow `routes` and `levels`. Deliberately omitted: engines that specify the paths of each source
//! ([`AcrossRefusal::PathLayers`]), because what a router may send then depends on more than its level.

mod dot;
mod moments;
mod refusal;
mod subnet_walk;

pub use refusal::{AcrossCycle, AcrossRefusal, Crossing, Link, MomentOf, RouterLane};

use super::case::RelayPorts;
use super::case::Scope;
use super::graph::{Graph, NodeCycle};
use super::{Transition, prover};
use crate::fabric::Fabric;
use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::ids::{Half, SubnetId, Vl};
use crate::routers::{Levels, Routes};
use crate::tables::SubnetTables;
use moments::{Search, SearchSpace, Through};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;
use subnet_walk::SubnetWalk;

/// The tables of one subnet, or the change that runs there.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    /// Tables that do not change.
    Steady {
        /// The fabric that they are for, LIDs assigned; indices are those of the subnet.
        fabric: &'a Fabric,
        /// The tables.
        tables: &'a SubnetTables,
        /// The LIDs that are in use.
        scope: &'a Scope,
    },
    /// A change: a plan. Indices are those of the subnet.
    Changing(&'a dyn Transition),
}

/// Subnets with all that routes packets in them and between them.
#[derive(Clone)]
pub struct Whole<'a> {
    /// The subnets.
    pub subnets: &'a Subnets,
    /// The part of each, in the order of the subnets.
    pub parts: Vec<Part<'a>>,
    /// The ways between them: a router may follow any of these at any moment. Several where ways change meanwhile.
    pub routes: Vec<&'a Routes>,
    /// The rule by which routers pick service levels.
    pub levels: Levels,
}

/// The extent of a proof across subnets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct AcrossStatistics {
    /// Subnets.
    pub subnets: usize,
    /// Ways through routers, from port to port.
    pub passages: usize,
    /// Moments that are proved, a stage of each subnet: the product of their stages, or [`usize::MAX`] where it is
    /// beyond that.
    pub moments: usize,
    /// Lanes that can be occupied at some moment.
    pub lanes: usize,
    /// Distinct dependencies between lanes of one subnet, all moments together.
    pub dependencies: usize,
    /// Distinct dependencies through routers, all moments together.
    pub couplings: usize,
}

/// Proof that subnets and routers together are free of deadlock, and each subnet of loops and black holes too. Only the
/// prover makes one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProvedAcross {
    statistics: AcrossStatistics,
    searches: usize,
}

impl ProvedAcross {
    /// The extent of the proof.
    pub fn statistics(&self) -> AcrossStatistics {
        self.statistics
    }

    /// The number of graphs searched for a cycle through routers: 1 where all moments were proved at once.
    pub fn searches(&self) -> usize {
        self.searches
    }
}

/// Proves each subnet by itself, and all of them with their routers at every moment.
///
/// # Errors
/// Parts that do not fit the subnets, a part that cannot be proved, a cycle through routers, or more moments to
/// distinguish than can be judged.
pub fn prove_across(whole: &Whole<'_>) -> Result<ProvedAcross, AcrossRefusal> {
    prove_across_within(whole, moments::BUDGET)
}

/// Proves like [`prove_across`], with a given budget: the number of edges, over all graphs, after which the search for
/// a cycle through routers ends without an answer.
///
/// # Errors
/// As [`prove_across`].
pub fn prove_across_within(whole: &Whole<'_>, budget: u64) -> Result<ProvedAcross, AcrossRefusal> {
    check_parts(whole)?;
    for (part, (_, subnet)) in whole.parts.iter().zip(whole.subnets.subnets()) {
        let refused = |refusal| AcrossRefusal::Part { subnet: subnet.name.clone(), refusal };
        part.prove_alone().map_err(refused)?;
    }
    Joint::new(whole)?.judge(budget)
}

impl Part<'_> {
    fn fabric(&self) -> &Fabric {
        match self {
            Part::Steady { fabric, .. } => fabric,
            Part::Changing(transition) => transition.fabric(),
        }
    }

    fn prove_alone(&self) -> Result<(), super::Refusal> {
        match self {
            Part::Steady { fabric, tables, scope } => prover::prove_tables(fabric, tables, scope).map(drop),
            Part::Changing(transition) => prover::judge_transition(*transition, false).map(drop),
        }
    }
}

fn check_parts(whole: &Whole<'_>) -> Result<(), AcrossRefusal> {
    let (given, subnets) = (whole.parts.len(), whole.subnets.len());
    if given != subnets {
        return Err(AcrossRefusal::Precondition(format!("{given} parts were given for {subnets} subnets")));
    }
    for (part, (_, subnet)) in whole.parts.iter().zip(whole.subnets.subnets()) {
        let (own, theirs) = (part.fabric(), &subnet.fabric);
        if (own.node_count(), own.port_count()) != (theirs.node_count(), theirs.port_count()) {
            let what = format!("what runs in subnet {} is indexed otherwise than the subnet", subnet.name);
            return Err(AcrossRefusal::Precondition(what));
        }
    }
    Ok(())
}

/// A way through a router.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Passage {
    router: usize,
    inward: SubnetPort,
    outward: SubnetPort,
}

/// The ways through routers, and by subnet which of its router ports send to which.
fn passages(whole: &Whole<'_>) -> (Vec<Passage>, Vec<RelayPorts>) {
    let mut found = BTreeSet::new();
    let mut relays = vec![RelayPorts::default(); whole.subnets.len()];
    for (router, device) in whole.subnets.routers().iter().enumerate() {
        for at in &device.ports {
            relays[at.subnet.index()].ports.insert(at.port);
        }
        for (to, _) in whole.subnets.subnets() {
            // Routes may change while a packet crosses: what one of them led here may go on by another.
            let comes = |at: &&SubnetPort| whole.routes.iter().any(|routes| routes.first(at.subnet, to).contains(at));
            let inward: Vec<SubnetPort> = device.ports.iter().filter(comes).copied().collect();
            // A router to which no route leads has nothing to hand on.
            let ways = whole.routes.iter().flat_map(|routes| routes.onward(router, to));
            for onward in ways.filter(|_| !inward.is_empty()) {
                let outward = onward.out;
                found.extend(inward.iter().map(|&inward| Passage { router, inward, outward }));
                let next = onward.to.map(|next| (outward.port, next.port));
                relays[outward.subnet.index()].handed.extend(next);
            }
        }
    }
    (found.into_iter().collect(), relays)
}

/// The lanes of all subnets side by side.
struct Joint<'a> {
    whole: &'a Whole<'a>,
    passages: Vec<Passage>,
    sides: Vec<SubnetWalk<'a>>,
    /// By side: its first lane; then how many there are.
    base: Vec<u32>,
}

/// Rule 5 of docs/PROOF.md: packets in a lane of a router's input can wait for a lane of one of its outputs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Coupling {
    from: u32,
    to: u32,
}

impl<'a> Joint<'a> {
    fn new(whole: &'a Whole<'a>) -> Result<Joint<'a>, AcrossRefusal> {
        let (passages, relays) = passages(whole);
        let mut sides = Vec::new();
        for ((part, (id, subnet)), relays) in whole.parts.iter().zip(whole.subnets.subnets()).zip(relays) {
            let crossed = passages.iter().any(|passage| [passage.inward.subnet, passage.outward.subnet].contains(&id));
            sides.push(SubnetWalk::new(part, &subnet.name, relays, crossed)?);
        }
        let mut base = vec![0];
        sides.iter().for_each(|side| base.push(base[base.len() - 1] + side.lane_count() as u32));
        Ok(Joint { whole, passages, sides, base })
    }

    fn judge(&self, budget: u64) -> Result<ProvedAcross, AcrossRefusal> {
        let through = self.through()?;
        let mut search = Search::new(self, &through, budget);
        match search.first_moment()? {
            None => Ok(ProvedAcross { statistics: self.statistics(), searches: search.searches() }),
            Some(stages) => Err(self.refusal(&stages)),
        }
    }

    /// The ways through each subnet at each stage, from lanes of routers to lanes of routers.
    ///
    /// # Errors
    /// A cycle within one subnet.
    fn through(&self) -> Result<Through, AcrossRefusal> {
        let sides = 0..self.sides.len();
        sides.map(|rank| (0..self.sides[rank].stages()).map(|stage| self.ways(rank, stage)).collect()).collect()
    }

    fn ways(&self, rank: usize, stage: usize) -> Result<Vec<(u32, u32)>, AcrossRefusal> {
        let base = self.base[rank];
        let ways = self.sides[rank].through(stage).map_err(|_| {
            // The cycle lies within this subnet, so it exists whatever stages the others are at.
            let mut stages = vec![0; self.sides.len()];
            stages[rank] = stage;
            self.refusal(&stages)
        })?;
        Ok(ways.into_iter().map(|(from, to)| (base + from, base + to)).collect())
    }

    /// Why a moment at which there is a cycle is refused.
    fn refusal(&self, stages: &[usize]) -> AcrossRefusal {
        // The moment was found over lanes of routers, or within one subnet. The cycle that is shown is sought over
        // all lanes.
        match self.graph(&only(stages)).order() {
            Err(cycle) => self.explain(stages, &cycle),
            Ok(_) => unreachable!("stages {stages:?}: a cycle over router lanes is one over all lanes"),
        }
    }

    fn statistics(&self) -> AcrossStatistics {
        let every = self.every_stage();
        let touched = self.graph(&every).touched();
        let moments = every.iter().fold(1, |moments: usize, stages| moments.saturating_mul(stages.len()));
        assert!(moments > 0, "each subnet has a stage");
        AcrossStatistics {
            subnets: self.sides.len(),
            passages: self.passages.len(),
            moments,
            lanes: touched.into_iter().filter(|&touched| touched).count(),
            dependencies: self.sides.iter().map(SubnetWalk::dependency_count).sum(),
            couplings: self.couplings(&every).len(),
        }
    }

    /// All lanes, with the dependencies of each stage of these and the couplings between them.
    fn graph(&self, stages: &[Range<usize>]) -> Graph {
        // Collected first, because the edges are reported twice and couplings repeat.
        let couplings = self.couplings(stages);
        Graph::new(self.base[self.sides.len()] as usize, |emit| {
            for ((side, stages), &base) in self.sides.iter().zip(stages).zip(&self.base) {
                let edges = stages.clone().flat_map(|stage| side.edges(stage));
                edges.for_each(|&(from, to)| emit(base + from, base + to));
            }
            couplings.iter().for_each(|coupling| emit(coupling.from, coupling.to));
        })
    }

    fn couplings(&self, stages: &[Range<usize>]) -> BTreeSet<Coupling> {
        let mut found = BTreeSet::new();
        for passage in 0..self.passages.len() {
            self.each_coupling(stages, passage, |from, to| _ = found.insert(Coupling { from, to }));
        }
        found
    }

    fn lane(&self, subnet: SubnetId, lane: u32) -> u32 {
        self.base[subnet.index()] + lane
    }

    /// Reports every level on which packets can come by a passage at some of these stages, with every level that they
    /// then get.
    fn each_hand_over(&self, stages: &[Range<usize>], passage: &Passage, mut emit: impl FnMut(HandOver)) {
        let [enters, leaves] = [passage.inward, passage.outward].map(|at| stages[at.subnet.index()].clone());
        if passage.inward.subnet != passage.outward.subnet {
            return self.hand_overs(passage, enters, leaves, &mut emit);
        }
        // A subnet is at one stage at a time, so the two ends of this passage never mix stages.
        enters.for_each(|stage| self.hand_overs(passage, stage..stage + 1, stage..stage + 1, &mut emit));
    }

    /// Reports hand-overs for the stages of either end: any may meet any.
    fn hand_overs(
        &self,
        passage: &Passage,
        enters: Range<usize>,
        leaves: Range<usize>,
        emit: &mut impl FnMut(HandOver),
    ) {
        let [inward, outward] = [passage.inward, passage.outward].map(|at| (&self.sides[at.subnet.index()], at.port));
        let [from, to] = [passage.inward, passage.outward].map(|at| at.subnet);
        // The order of subnets is that of all ways alike.
        let falls = self.whole.routes.first().and_then(|routes| routes.falls(from, to));
        for arrival in inward.0.arrivals(enters, inward.1) {
            // The traffic class is unknown here, so every level that the rule yields for some class is followed.
            for level in self.levels_after(Half::rank(arrival.sl) as u8, falls) {
                for departure in outward.0.departures(leaves.clone(), outward.1, level) {
                    emit(HandOver { arrival, departure });
                }
            }
        }
    }

    fn levels_after(&self, rank: u8, falls: Option<bool>) -> BTreeSet<u8> {
        let levels = self.whole.levels;
        (0..levels.classes()).filter_map(|traffic_class| levels.crossing(traffic_class, rank, falls)).collect()
    }

    /// A cycle of lanes as evidence.
    fn explain(&self, stages: &[usize], cycle: &NodeCycle) -> AcrossRefusal {
        let turns: Vec<(u32, u32)> =
            cycle.nodes.iter().copied().zip(cycle.nodes.iter().copied().cycle().skip(1)).collect();
        let mut links: Vec<Option<Link>> = turns.iter().map(|&turn| self.crossing(stages, turn)).collect();
        for (rank, side) in self.sides.iter().enumerate() {
            let base = self.base[rank];
            // All dependencies within one subnet are explained by one more walk of it.
            let inside = |&at: &usize| links[at].is_none() && (base..self.base[rank + 1]).contains(&turns[at].0);
            let own: Vec<usize> = (0..turns.len()).filter(inside).collect();
            let local: Vec<(u32, u32)> = own.iter().map(|&at| (turns[at].0 - base, turns[at].1 - base)).collect();
            for (at, dependency) in own.into_iter().zip(side.explain(stages[rank], &local)) {
                links[at] = Some(Link::Inside { subnet: side.name.clone(), dependency });
            }
        }
        let lanes = cycle.nodes.iter().map(|&lane| self.place(lane)).collect();
        let links = links.into_iter().flatten().collect();
        AcrossRefusal::Deadlock(AcrossCycle { moment: self.moment(stages), links, lanes, shortest: cycle.shortest })
    }

    /// The parts that change, each with its wave.
    fn moment(&self, stages: &[usize]) -> Vec<MomentOf> {
        let changing = self.sides.iter().zip(stages).filter(|(side, _)| side.stages() > 1);
        changing.map(|(side, &stage)| MomentOf { subnet: side.name.clone(), wave: side.wave(stage) }).collect()
    }

    /// The port that sends into a lane, and its VL.
    fn place(&self, lane: u32) -> (SubnetPort, Vl) {
        let rank = self.side_of(lane);
        let (port, vl) = self.sides[rank].place(lane - self.base[rank]);
        (SubnetPort { subnet: SubnetId(rank as u16), port }, vl)
    }

    /// The coupling from one lane to another; none where both are lanes of one subnet.
    fn crossing(&self, stages: &[usize], (from, to): (u32, u32)) -> Option<Link> {
        let mut found = None;
        let ((enters, input), (outward, output)) = (self.place(from), self.place(to));
        let arrives = self.sides[enters.subnet.index()].far_end(enters.port);
        let between = |passage: &&Passage| {
            Some(passage.inward.port) == arrives && passage.inward.subnet == enters.subnet && passage.outward == outward
        };
        let passage = self.passages.iter().find(between)?;
        self.each_hand_over(&only(stages), passage, |hand_over| {
            let HandOver { arrival, departure } = hand_over;
            let leads = hand_over
                .lanes()
                .any(|(own, next)| (self.lane(enters.subnet, own), self.lane(outward.subnet, next)) == (from, to));
            if leads && found.is_none() {
                let router = &self.whole.subnets.routers()[passage.router];
                let (router, guid) = (router.name.clone(), router.guid);
                let end = |at: SubnetPort, vl, sl| RouterLane::new(self.whole.subnets, at, vl, sl);
                let (input, output) = (end(passage.inward, input, arrival.sl), end(outward, output, departure.sl));
                found = Some(Link::Through(Crossing { router, guid, input, output }));
            }
        });
        found
    }
}

impl SearchSpace for Joint<'_> {
    fn every_stage(&self) -> Vec<Range<usize>> {
        self.sides.iter().map(|side| 0..side.stages()).collect()
    }

    fn side_of(&self, lane: u32) -> usize {
        self.base.partition_point(|&base| base <= lane) - 1
    }

    fn passages(&self) -> Vec<[usize; 2]> {
        self.passages.iter().map(|passage| [passage.inward, passage.outward].map(|at| at.subnet.index())).collect()
    }

    fn each_coupling(&self, open: &[Range<usize>], passage: usize, mut emit: impl FnMut(u32, u32)) {
        let Passage { inward, outward, .. } = self.passages[passage];
        self.each_hand_over(open, &self.passages[passage], |hand_over| {
            for (from, to) in hand_over.lanes() {
                emit(self.lane(inward.subnet, from), self.lane(outward.subnet, to));
            }
        });
    }
}

/// Packets of a level that come, and the level and lanes on which they leave.
#[derive(Clone, Copy)]
struct HandOver {
    arrival: subnet_walk::LevelLanes,
    departure: subnet_walk::LevelLanes,
}

impl HandOver {
    /// Every lane in which they stand with every one that they wait for, as numbered by their sides.
    fn lanes(self) -> impl Iterator<Item = (u32, u32)> {
        let HandOver { arrival, departure } = self;
        arrival.lanes().flat_map(move |from| departure.lanes().map(move |to| (from, to)))
    }
}

/// One stage of each side, and no other.
fn only(stages: &[usize]) -> Vec<Range<usize>> {
    stages.iter().map(|&stage| stage..stage + 1).collect()
}
