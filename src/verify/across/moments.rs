//! The first moment at which there is a cycle through routers, found without a look at every moment.
//!
//! On entry: the sides of a whole, walked. The nodes of the searched graph are the lanes into routers and the lanes
//! out of them. An edge leads through a subnet, from a lane by which a router sends into it to one in which its
//! packets come to a router, where dependencies of one stage lead there; or it is a coupling. While the stages of a
//! subnet are *open*, the graph has the edges of all of them. If it has no cycle then, no moment has one
//! (docs/PROOF.md, *Several subnets*), and that is the usual end. Otherwise the search continues only in the
//! components that hold cycles: one subnet of a component is settled, stage after stage. On return: the least moment
//! in order of stages, the last subnet changing fastest; or none; or a refusal where the search exceeds its budget.
//! Deliberately omitted: the cycle itself, which is one over all lanes of that moment.

use super::super::graph::Graph;
use super::{AcrossRefusal, only};
use std::ops::Range;

/// Edges visited, all graphs together, after which the search ends without an answer: a few seconds.
pub(super) const BUDGET: u64 = 50_000_000;

/// The space of a search: sides with their stages, and lanes, each of one side. Lanes of one side come before those of
/// the next.
pub(super) trait SearchSpace {
    /// By side: all of its stages.
    fn every_stage(&self) -> Vec<Range<usize>>;

    /// The side of a lane.
    fn side_of(&self, lane: u32) -> usize;

    /// By passage: the sides that it joins.
    fn passages(&self) -> Vec<[usize; 2]>;

    /// Reports the couplings of a passage, from lane to lane, that some of these stages cause; some more than once.
    fn each_coupling(&self, open: &[Range<usize>], passage: usize, emit: impl FnMut(u32, u32));
}

/// By side and stage: the ways through the subnet, from lane to lane.
pub(super) type Through = Vec<Vec<Vec<(u32, u32)>>>;

/// A search among all moments of a whole.
pub(super) struct Search<'a, F: SearchSpace> {
    field: &'a F,
    through: &'a Through,
    passages: Vec<[usize; 2]>,
    budget: u64,
    visits: u64,
    searches: usize,
}

/// Lanes of routers among which cycles are sought.
struct Region {
    /// Rising; the nodes of the graph are their ranks.
    lanes: Vec<u32>,
    /// The passages between the sides of the lanes.
    passages: Vec<usize>,
    /// Those sides, rising.
    sides: Vec<usize>,
}

impl<'a, F: SearchSpace> Search<'a, F> {
    /// Prepares a search.
    pub fn new(field: &'a F, through: &'a Through, budget: u64) -> Search<'a, F> {
        Search { field, through, passages: field.passages(), budget, visits: 0, searches: 0 }
    }

    /// The number of graphs searched.
    pub fn searches(&self) -> usize {
        self.searches
    }

    /// The first moment at which there is a cycle.
    ///
    /// # Errors
    /// [`AcrossRefusal::TooManyMoments`].
    pub fn first_moment(&mut self) -> Result<Option<Vec<usize>>, AcrossRefusal> {
        let every = self.field.every_stage();
        let mut lanes: Vec<u32> = self.through.iter().flatten().flatten().flat_map(|&(from, to)| [from, to]).collect();
        for passage in 0..self.passages.len() {
            self.field.each_coupling(&every, passage, |from, to| lanes.extend([from, to]));
        }
        let region = self.region(lanes);
        self.first_among(&every, &region)
    }

    fn region(&self, mut lanes: Vec<u32>) -> Region {
        lanes.sort_unstable();
        lanes.dedup();
        // Lanes are numbered side by side, so equal sides are neighbours once lanes are sorted.
        let mut sides: Vec<usize> = lanes.iter().map(|&lane| self.field.side_of(lane)).collect();
        sides.dedup();
        let within = |&passage: &usize| self.passages[passage].iter().all(|side| sides.binary_search(side).is_ok());
        let passages = (0..self.passages.len()).filter(within).collect();
        Region { lanes, passages, sides }
    }

    /// A cycle lies within one component, so components are searched one by one, and the least moment of any is the
    /// answer.
    fn first_among(&mut self, open: &[Range<usize>], region: &Region) -> Result<Option<Vec<usize>>, AcrossRefusal> {
        let mut first = None;
        for knot in self.knots(open, region)? {
            first = [first, self.first_in(open, &knot)?].into_iter().flatten().min();
        }
        Ok(first)
    }

    /// The least moment of one component: all of its lanes lie on cycles while these stages are open.
    fn first_in(&mut self, open: &[Range<usize>], knot: &Region) -> Result<Option<Vec<usize>>, AcrossRefusal> {
        // A side that no cycle passes may be at any stage: the least one, since the least moment is wanted.
        let least: Vec<usize> = open.iter().map(|stages| stages.start).collect();
        let Some(&side) = knot.sides.iter().find(|&&side| open[side].len() > 1) else { return Ok(Some(least)) };
        // The least open moment comes first: if it has a cycle, no other can be the answer.
        if !self.knots(&only(&least), knot)?.is_empty() {
            return Ok(Some(least));
        }
        // The edges of all open stages include those of each moment, so lanes outside the components need no further
        // search. A cycle may still mix stages that never meet: one subnet is settled stage by stage, while the
        // others stay open. Stages rise, and so do the moments found: the first is the least.
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

    /// The components that hold cycles.
    fn knots(&mut self, open: &[Range<usize>], region: &Region) -> Result<Vec<Region>, AcrossRefusal> {
        let edges = self.edges(open, region);
        self.searches += 1;
        // The search can branch at each stage of each subnet: without a budget it would be exponential in their number.
        if self.visits > self.budget {
            let changing = self.field.every_stage().iter().filter(|stages| stages.len() > 1).count();
            return Err(AcrossRefusal::TooManyMoments { changing, searches: self.searches });
        }
        let graph = Graph::new(region.lanes.len(), |emit| edges.iter().for_each(|&(from, to)| emit(from, to)));
        let lanes = |component: Vec<u32>| component.into_iter().map(|node| region.lanes[node as usize]).collect();
        Ok(graph.components().into_iter().map(|component| self.region(lanes(component))).collect())
    }

    /// The edges between lanes of a region, by their ranks.
    fn edges(&mut self, open: &[Range<usize>], region: &Region) -> Vec<(u32, u32)> {
        let rank = |lane: u32| region.lanes.binary_search(&lane).ok().map(|rank| rank as u32);
        let (mut found, mut visits) = (Vec::new(), 0);
        let mut emit = |from, to| {
            visits += 1;
            // Edges that leave the region are visited and dropped: no cycle of a component uses them. They count for
            // the budget, which bounds the work and not the result.
            found.extend(rank(from).zip(rank(to)));
        };
        for &side in &region.sides {
            self.through[side][open[side].clone()].iter().flatten().for_each(|&(from, to)| emit(from, to));
        }
        for &passage in &region.passages {
            self.field.each_coupling(open, passage, &mut emit);
        }
        self.visits += visits;
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lanes of each side.
    const LANES: u32 = 3;

    /// Sides without fabrics: edges are there at the stages that are drawn for them.
    #[derive(Clone, Debug)]
    struct Drawn {
        stages: Vec<usize>,
        through: Through,
        /// From lane to lane: there where the stages of both ends are these.
        couplings: Vec<(u32, u32, usize, usize)>,
    }

    impl Drawn {
        fn ends(&self, (from, to): (u32, u32)) -> [usize; 2] {
            [from, to].map(|lane| (lane / LANES) as usize)
        }

        /// The first moment with a cycle, judging each moment by itself.
        fn one_by_one(&self) -> Option<Vec<usize>> {
            let count: usize = self.stages.iter().product();
            (0..count).map(|number| self.moment(number)).find(|moment| self.has_cycle(moment))
        }

        /// The moments in order, the last side changing fastest.
        fn moment(&self, mut number: usize) -> Vec<usize> {
            let digits = self.stages.iter().rev().map(|&stages| {
                let digit = number % stages;
                number /= stages;
                digit
            });
            let mut digits: Vec<usize> = digits.collect();
            digits.reverse();
            digits
        }

        fn has_cycle(&self, moment: &[usize]) -> bool {
            let graph = Graph::new(self.stages.len() * LANES as usize, |emit| {
                for (side, &stage) in moment.iter().enumerate() {
                    self.through[side][stage].iter().for_each(|&(from, to)| emit(from, to));
                }
                for &(from, to, leaves, enters) in &self.couplings {
                    let [left, entered] = self.ends((from, to));
                    if moment[left] == leaves && moment[entered] == enters {
                        emit(from, to);
                    }
                }
            });
            graph.order().is_err()
        }
    }

    impl SearchSpace for Drawn {
        fn every_stage(&self) -> Vec<Range<usize>> {
            self.stages.iter().map(|&stages| 0..stages).collect()
        }

        fn side_of(&self, lane: u32) -> usize {
            (lane / LANES) as usize
        }

        fn passages(&self) -> Vec<[usize; 2]> {
            self.couplings.iter().map(|&(from, to, ..)| self.ends((from, to))).collect()
        }

        fn each_coupling(&self, open: &[Range<usize>], passage: usize, mut emit: impl FnMut(u32, u32)) {
            let (from, to, leaves, enters) = self.couplings[passage];
            let [left, entered] = self.ends((from, to));
            if open[left].contains(&leaves) && open[entered].contains(&enters) {
                emit(from, to);
            }
        }
    }

    /// Up to four sides of up to four stages; no cycle within a side at any stage, as [`Search`] is promised.
    fn drawn() -> impl Strategy<Value = Drawn> {
        prop::collection::vec(1_usize..=4, 2..=4).prop_flat_map(|stages| {
            let rising = prop::sample::subsequence(vec![(0, 1), (0, 2), (1, 2)], 0..=3);
            let through: Vec<_> =
                stages.iter().map(|&count| prop::collection::vec(rising.clone(), count..=count)).collect();
            let sides = stages.len();
            let lane = move || (0..sides, 0..LANES);
            let coupling = (lane(), lane(), any::<[prop::sample::Index; 2]>());
            (Just(stages), through, prop::collection::vec(coupling, 0..=14)).prop_map(|(stages, through, couplings)| {
                let based = |(side, own): (usize, Vec<Vec<(u32, u32)>>)| {
                    let base = side as u32 * LANES;
                    let moved = |edges: Vec<(u32, u32)>| edges.into_iter().map(|(a, b)| (base + a, base + b)).collect();
                    own.into_iter().map(moved).collect()
                };
                let placed = couplings.into_iter().filter(|((from, _), (to, _), _)| from != to);
                let placed = placed.map(|((from, at), (to, next), stage)| {
                    let (leaves, enters) = (stage[0].index(stages[from]), stage[1].index(stages[to]));
                    (from as u32 * LANES + at, to as u32 * LANES + next, leaves, enters)
                });
                let couplings = placed.collect();
                Drawn { through: through.into_iter().enumerate().map(based).collect(), couplings, stages }
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn the_first_moment_is_the_one_that_looking_at_each_finds(field in drawn()) {
            let found = Search::new(&field, &field.through, BUDGET).first_moment().expect("a small search");
            prop_assert_eq!(found, field.one_by_one());
        }
    }

    /// Two sides of three stages: tied in a cycle while all is open, and a cycle at one moment only, the last but one.
    #[test]
    fn a_cycle_of_one_late_moment_is_found_and_one_of_no_moment_is_not() {
        let through = vec![vec![vec![], vec![], vec![(0, 1)]], vec![vec![], vec![(3, 4)], vec![]]];
        let late = Drawn { stages: vec![3, 3], through: through.clone(), couplings: vec![(1, 3, 2, 1), (4, 0, 1, 2)] };
        let mut search = Search::new(&late, &through, BUDGET);
        assert_eq!(search.first_moment(), Ok(Some(vec![2, 1])));
        assert!(search.searches() > 2, "stages were settled");
        let never = Drawn { couplings: vec![(1, 3, 2, 1), (4, 0, 1, 1)], ..late };
        assert_eq!(Search::new(&never, &through, BUDGET).first_moment(), Ok(None));
        let spent = Search::new(&never, &through, 1).first_moment();
        assert_eq!(spent, Err(AcrossRefusal::TooManyMoments { changing: 2, searches: 1 }));
    }
}
