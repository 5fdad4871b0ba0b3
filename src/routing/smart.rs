//! Smart routing: a linear program shares the traffic of every pair of switches among several legal paths so that the
//! most loaded link carries as little as possible (after Cherkasova, Kotov and Rokicki, HICSS 1996; seed 000, section
//! 4).
//!
//! There, routing and the search for turns to prohibit go together; here turns come first, by a rule or by a search
//! ([`SmartTurns`]), so the optimum is that of the paths that they leave, and of the shortest few of them for each
//! pair. The program: for each pair and path a share from 0 to 1, the shares of a pair summing to 1; for each channel,
//! at most `z` pairs of end ports over it; minimise `z` and the cost of the paths, where all costs together weigh no
//! more than half a pair of end ports over the busiest channel: of many optima one is chosen by them
//! ([`SmartOptimum`]). Shares are rounded to whole pairs of end ports by largest remainder, so a channel may carry a
//! few more than `z`. Hosts of one pair of switches have the same alternatives, so a program over pairs of hosts has
//! the same optimum. Deliberately omitted: fabrics for which the program is too large ([`Smart::MOST_SHARES`]), which
//! are an error.

use super::legal::{ChannelPath, PathProblem, TurnModel};
use super::path_selection::Pairs;
use super::turn_search::TurnSearch;
use super::{Demand, PathEngine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::PathSet;
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, Variable, microlp, variable};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

pub(super) const NAME: &str = "smart";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Smart {
    /// The turn model that makes paths legal.
    pub model: TurnModel,
    /// The root; none: the one that [`super::UpDown`] chooses.
    pub root: Option<NodeId>,
    /// The most alternatives for a pair of switches, 1 at least.
    pub alternatives: usize,
    /// The choice among the optima.
    pub optimum: SmartOptimum,
    /// The turns that paths may take.
    pub turns: SmartTurns,
}

/// The turns that paths may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SmartTurns {
    /// Those that the model and the root allow.
    #[default]
    Ruled,
    /// Those of a search without a root (see the module `turn_search`), as the paper has one.
    Searched {
        /// Seeds the tree that joins all switches, and ties.
        seed: u64,
    },
}

/// The choice among the many sets of paths that load the busiest channel least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SmartOptimum {
    /// The one of fewest hops. Its few long ways leave few paths that split, so few LIDs realise it.
    #[default]
    FewestHops,
    /// A random one, short ways preferred: every path of every pair of switches costs its hops and a random number from
    /// 0 to `spread` hops. A solver whose only objective is the greatest load stops at one like it.
    Random {
        /// Seeds the costs.
        seed: u64,
        /// The greatest random cost, in hops.
        spread: u8,
    },
}

impl Default for Smart {
    fn default() -> Smart {
        Smart {
            model: TurnModel::UpDown,
            root: None,
            alternatives: 8,
            optimum: SmartOptimum::FewestHops,
            turns: SmartTurns::Ruled,
        }
    }
}

impl Smart {
    /// The most shares that the program may have: one for each alternative of each pair of switches that bear end
    /// ports. With 32,256 (64 switches of degree 8, eight alternatives) it took five seconds on one core, with 7,936
    /// (32 switches) a quarter of a second; among many parallel links it takes longer.
    pub const MOST_SHARES: usize = 40_000;
}

impl PathEngine for Smart {
    fn name(&self) -> &'static str {
        NAME
    }

    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError> {
        let Some(problem) = PathProblem::of(NAME, self.model, self.root, fabric, demand)? else {
            return Ok(PathProblem::nothing(NAME, demand));
        };
        let pairs = match self.turns {
            SmartTurns::Ruled => Pairs::of(&problem, self.alternatives),
            SmartTurns::Searched { seed } => {
                let mut search = TurnSearch::of(&problem.channels, seed);
                Pairs::by(&problem, |from, to| search.alternatives(from, to, self.alternatives.max(1)))
            }
        };
        if pairs.ways.len() > Smart::MOST_SHARES {
            return Err(RouteError::Unsuited { engine: NAME, why: too_large(&pairs) });
        }
        let costs = self.optimum.costs(&pairs);
        let shares =
            solve(&pairs, &costs, problem.channels.len()).map_err(|why| RouteError::Unsuited { engine: NAME, why })?;
        Ok(deal(&problem, &pairs, &shares))
    }
}

impl SmartOptimum {
    /// By alternative, its cost.
    fn costs(self, pairs: &Pairs) -> Vec<f64> {
        let hops = pairs.ways.iter().map(|way| way.len() as f64);
        match self {
            SmartOptimum::FewestHops => hops.collect(),
            SmartOptimum::Random { seed, spread } => {
                let mut rng = Pcg64Mcg::seed_from_u64(seed);
                hops.map(|hops| hops + f64::from(spread) * rng.random_range(0.0..1.0)).collect()
            }
        }
    }
}

fn too_large(pairs: &Pairs) -> String {
    let (shares, pairs, most) = (pairs.ways.len(), pairs.weight.len(), Smart::MOST_SHARES);
    format!(
        "its linear program would share {pairs} pairs of switches among {shares} paths, but it is limited to {most}"
    )
}

/// By alternative, the share of its pair's traffic.
fn solve(pairs: &Pairs, costs: &[f64], channels: usize) -> Result<Vec<f64>, String> {
    let mut variables = ProblemVariables::new();
    let shares: Vec<Variable> = pairs.ways.iter().map(|_| variables.add(variable().min(0.0))).collect();
    let busiest = variables.add(variable().min(0.0));
    let mut over = vec![Expression::with_capacity(0); channels];
    let (mut cost, mut most_cost) = (Expression::with_capacity(shares.len()), 1.0);
    for (range, &weight) in pairs.firsts().zip(&pairs.weight) {
        let weight = weight as f64;
        most_cost += weight * range.clone().map(|at| costs[at]).fold(0.0, f64::max);
        for at in range {
            cost.add_mul(weight * costs[at], shares[at]);
            pairs.ways[at].iter().for_each(|&channel| over[channel as usize].add_mul(weight, shares[at]));
        }
    }
    // Costs decide between optima of `busiest` only: all of them together weigh less than half a pair of end ports.
    let mut problem = variables.minimise(busiest + cost * (0.5 / most_cost)).using(microlp);
    for range in pairs.firsts() {
        let all: Expression = range.map(|at| shares[at]).sum();
        problem.add_constraint(all.eq(1.0));
    }
    over.into_iter().for_each(|load| {
        problem.add_constraint(load.leq(busiest));
    });
    let solution = problem.solve().map_err(|error| format!("its linear program was not solved ({error})"))?;
    Ok(shares.into_iter().map(|share| solution.value(share)).collect())
}

/// Deals the pairs of end ports of each pair of switches to its alternatives, destination by destination, so that few
/// paths to one destination diverge.
fn deal(problem: &PathProblem<'_>, pairs: &Pairs, shares: &[f64]) -> PathSet {
    let mut borne = vec![0usize; problem.channels.rows()];
    let mut place = vec![0usize; problem.fabric.port_count()];
    for end in &problem.ends {
        place[end.port.index()] = borne[end.row];
        borne[end.row] += 1;
    }
    let quotas: Vec<Vec<usize>> =
        pairs.firsts().zip(&pairs.weight).map(|(range, &weight)| quotas(&shares[range], weight as usize)).collect();
    let firsts: Vec<Range<usize>> = pairs.firsts().collect();
    problem.join(|from, to, way| {
        way.clear();
        let Some(pair) = pairs.rank(from.row, to.row) else { return };
        // Destination by destination: neighbours in this order take the same alternative, so few paths to one
        // destination diverge.
        let number = place[to.port.index()] * borne[from.row] + place[from.port.index()];
        let chosen = quotas[pair].partition_point(|&bound| bound <= number);
        let taken: Option<&ChannelPath> = pairs.ways[firsts[pair].clone()].get(chosen);
        way.extend(taken.into_iter().flatten());
    })
}

/// Cumulative shares of `total` as whole numbers: entry k is the sum for the alternatives up to k. The remainder of
/// rounding down goes to the largest fractions, on ties to the first.
fn quotas(shares: &[f64], total: usize) -> Vec<usize> {
    let exact: Vec<f64> = shares.iter().map(|share| share.clamp(0.0, 1.0) * total as f64).collect();
    // The solver leaves shares a hair below the whole number that they mean.
    let mut whole: Vec<usize> = exact.iter().map(|share| (share + 1e-6).floor() as usize).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_unstable_by(|&a, &b| {
        (exact[b] - whole[b] as f64).total_cmp(&(exact[a] - whole[a] as f64)).then(a.cmp(&b))
    });
    let missing = total.saturating_sub(whole.iter().sum());
    order.iter().cycle().take(missing).for_each(|&at| whole[at] += 1);
    whole
        .iter()
        .scan(0, |sum, &share| {
            *sum += share;
            Some((*sum).min(total))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::quotas;

    #[test]
    fn shares_become_whole_and_sum_up() {
        assert_eq!(quotas(&[0.5, 0.25, 0.25], 4), [2, 3, 4]);
        assert_eq!(quotas(&[0.4, 0.3, 0.3], 4), [2, 3, 4]);
        assert_eq!(quotas(&[1.0 / 3.0; 3], 4), [2, 3, 4]);
        assert_eq!(quotas(&[0.999_999_999, 0.000_000_001], 7), [7, 7]);
        assert_eq!(quotas(&[1.0], 3), [3]);
    }
}
