//! One of the shortest legal paths of up*/down* for each pair of ports, at random or by load.
//!
//! At random, every shortest legal path of a pair is equally likely (seed 000, section 4: "shortest paths are randomly
//! computed"). By load, pairs are taken source by source, and each gets the path whose busiest channel carries the
//! fewest paths so far, on ties the path whose channels carry the fewest together.

use super::legal::{ChannelPath, Channels, Lightest, PathProblem, RandomWays, TurnModel};
use super::{Demand, PathEngine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::PathSet;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

pub(super) const RANDOM: &str = "up-down-random";
pub(super) const BALANCED: &str = "up-down-balanced";

/// The engine with random choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UpDownRandom {
    /// The root; none: the one that [`super::UpDown`] chooses.
    pub root: Option<NodeId>,
    /// Seeds the choices.
    pub seed: u64,
}

/// The engine that chooses by load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UpDownBalanced {
    /// The root; none: the one that [`super::UpDown`] chooses.
    pub root: Option<NodeId>,
}

impl PathEngine for UpDownRandom {
    fn name(&self) -> &'static str {
        RANDOM
    }

    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError> {
        let problem = PathProblem::of(RANDOM, TurnModel::UpDown, self.root, fabric, demand)?;
        Ok(problem.map_or_else(|| PathProblem::nothing(RANDOM, demand), |problem| at_random(&problem, self.seed)))
    }
}

impl PathEngine for UpDownBalanced {
    fn name(&self) -> &'static str {
        BALANCED
    }

    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError> {
        let problem = PathProblem::of(BALANCED, TurnModel::UpDown, self.root, fabric, demand)?;
        Ok(problem.map_or_else(|| PathProblem::nothing(BALANCED, demand), |problem| balanced(&problem)))
    }
}

/// A random one of the shortest legal paths of every pair.
pub(super) fn at_random(problem: &PathProblem<'_>, seed: u64) -> PathSet {
    let ways = RandomWays::of(&problem.channels, &problem.ahead);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    problem.join(|from, to, way| ways.draw(from.row, to.row, &mut rng, way))
}

/// The least loaded of the shortest legal paths of every pair.
pub(super) fn balanced(problem: &PathProblem<'_>) -> PathSet {
    let mut lightest = Lightest::new(&problem.channels, &problem.ahead);
    let mut load = PathLoad::of(&problem.channels);
    problem.join(|from, to, way| {
        let busiest = lightest.find(from.row, to.row, |channel| Some(load.on(channel)), u64::max, way);
        let within = |channel| Some(load.on(channel)).filter(|&load| Some(load) <= busiest);
        lightest.find(from.row, to.row, within, |sum, load| sum + load, way);
        load.add(way);
    })
}

/// The number of paths over each channel.
pub(super) struct PathLoad {
    paths: Vec<u64>,
}

impl PathLoad {
    pub fn of(channels: &Channels) -> PathLoad {
        PathLoad { paths: vec![0; channels.len()] }
    }

    pub fn on(&self, channel: u32) -> u64 {
        self.paths[channel as usize]
    }

    pub fn add(&mut self, way: &ChannelPath) {
        way.iter().for_each(|&channel| self.paths[channel as usize] += 1);
    }
}
