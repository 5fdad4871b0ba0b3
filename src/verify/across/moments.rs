//! The first moment at which there is a cycle through routers, found without looking at each.
//!
//! On entry the sides of a whole, walked. The graph that is searched has the lanes in front of routers and behind them for
//! nodes. An edge leads through a subnet, from a lane by which a router sends into it to one in which its packets come to a
//! router, where dependencies of one stage lead there; or it is a coupling. While the stages of a subnet are *open*, the graph
//! has the edges of all of them. If it has no cycle then, no moment has one (docs/PROOF.md, *Several subnets*), and that is the
//! usual end. Otherwise only what is tied in cycles is looked at further: a subnet of it is settled, stage after stage.
//! On return the moment, the least in order of stages, the last subnet changing fastest; or none; or a refusal where the search
//! takes more than its budget. It lacks the cycle itself, which is one over all lanes of that moment.

use super::super::graph::Graph;
use super::{AcrossRefusal, Coupling, Joint, Passage, only};
use std::ops::Range;

/// Edges looked at, all graphs together, after which the search ends without an answer: a few seconds.
pub(super) const BUDGET: u64 = 50_000_000;

/// A search among all moments of a whole.
pub(super) struct Search<'a> {
    joint: &'a Joint<'a>,
    /// By side and stage: the ways through the subnet, by lanes of the whole.
    through: Vec<Vec<Vec<(u32, u32)>>>,
    budget: u64,
    visits: u64,
    searches: usize,
}

/// Lanes of routers among which cycles are sought.
struct Region {
    /// Rising; the nodes of the graph are their ranks.
    lanes: Vec<u32>,
    /// The passages between subnets that the lanes are of.
    passages: Vec<Passage>,
    /// Those subnets, rising.
    sides: Vec<usize>,
}

impl<'a> Search<'a> {
    /// Prepares one.
    ///
    /// # Errors
    /// A cycle within one subnet.
    pub fn new(joint: &'a Joint<'a>, budget: u64) -> Result<Search<'a>, AcrossRefusal> {
        let sides = 0..joint.sides.len();
        let through = sides.map(|rank| (0..joint.sides[rank].stages()).map(|stage| ways(joint, rank, stage)).collect());
        Ok(Search { joint, through: through.collect::<Result<_, _>>()?, budget, visits: 0, searches: 0 })
    }

    /// How many graphs have been searched.
    pub fn searches(&self) -> usize {
        self.searches
    }

    /// The first moment at which there is a cycle.
    ///
    /// # Errors
    /// [`AcrossRefusal::TooManyMoments`].
    pub fn first_moment(&mut self) -> Result<Option<Vec<usize>>, AcrossRefusal> {
        let every = self.joint.every_stage();
        let through = self.through.iter().flatten().flatten().flat_map(|&(from, to)| [from, to]);
        let coupled = self.joint.couplings(&every);
        let region = self.region(through.chain(coupled.iter().flat_map(|own| [own.from, own.to])).collect());
        self.first_among(&every, &region)
    }

    fn region(&self, mut lanes: Vec<u32>) -> Region {
        lanes.sort_unstable();
        lanes.dedup();
        let mut sides: Vec<usize> = lanes.iter().map(|&lane| self.joint.side_of(lane)).collect();
        sides.dedup();
        let within = |passage: &&Passage| {
            [passage.inward, passage.outward].iter().all(|at| sides.binary_search(&at.subnet.index()).is_ok())
        };
        let passages = self.joint.passages.iter().filter(within).copied().collect();
        Region { lanes, passages, sides }
    }

    fn first_among(&mut self, open: &[Range<usize>], region: &Region) -> Result<Option<Vec<usize>>, AcrossRefusal> {
        let mut first = None;
        for knot in self.knots(open, region)? {
            first = [first, self.first_in(open, &knot)?].into_iter().flatten().min();
        }
        Ok(first)
    }

    /// The same where all lanes are tied in cycles, as long as stages are open.
    fn first_in(&mut self, open: &[Range<usize>], knot: &Region) -> Result<Option<Vec<usize>>, AcrossRefusal> {
        // What no cycle passes may be at any stage.
        let least: Vec<usize> = open.iter().map(|stages| stages.start).collect();
        let Some(&side) = knot.sides.iter().find(|&&side| open[side].len() > 1) else { return Ok(Some(least)) };
        if !self.knots(&only(&least), knot)?.is_empty() {
            return Ok(Some(least));
        }
        let mut settled = open.to_vec();
        for stage in open[side].clone() {
            settled[side] = stage..stage + 1;
            let found = self.first_among(&settled, knot)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// What is tied in cycles, component by component.
    fn knots(&mut self, open: &[Range<usize>], region: &Region) -> Result<Vec<Region>, AcrossRefusal> {
        let edges = self.edges(open, region);
        self.searches += 1;
        if self.visits > self.budget {
            let changing = self.joint.sides.iter().filter(|side| side.stages() > 1).count();
            return Err(AcrossRefusal::TooManyMoments { changing, searches: self.searches });
        }
        let graph = Graph::new(region.lanes.len(), |tell| edges.iter().for_each(|&(from, to)| tell(from, to)));
        let lanes = |component: Vec<u32>| component.into_iter().map(|node| region.lanes[node as usize]).collect();
        Ok(graph.components().into_iter().map(|component| self.region(lanes(component))).collect())
    }

    /// The edges between lanes of a region, by their ranks.
    fn edges(&mut self, open: &[Range<usize>], region: &Region) -> Vec<(u32, u32)> {
        let rank = |lane: u32| region.lanes.binary_search(&lane).ok().map(|rank| rank as u32);
        let (mut found, mut visits) = (Vec::new(), 0);
        let mut tell = |from, to| {
            visits += 1;
            found.extend(rank(from).zip(rank(to)));
        };
        for &side in &region.sides {
            self.through[side][open[side].clone()].iter().flatten().for_each(|&(from, to)| tell(from, to));
        }
        for passage in &region.passages {
            self.joint.each_coupling(open, passage, |Coupling { from, to }| tell(from, to));
        }
        self.visits += visits;
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The ways through a subnet at a stage, by lanes of the whole.
fn ways(joint: &Joint<'_>, rank: usize, stage: usize) -> Result<Vec<(u32, u32)>, AcrossRefusal> {
    let base = joint.base[rank];
    let ways = joint.sides[rank].through(stage).map_err(|_| {
        let mut stages = vec![0; joint.sides.len()];
        stages[rank] = stage;
        joint.refusal(&stages)
    })?;
    Ok(ways.into_iter().map(|(from, to)| (base + from, base + to)).collect())
}
