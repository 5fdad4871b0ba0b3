//! Shortest-widest (seed 002, section 5.1): pairs source by source, channels with a weight that starts at 1 and grows
//! by 1 with every path; each pair gets the legal path of fewest hops, on ties the one of least total weight.
//!
//! Weights belong to channels: the two directions of a link count separately. Further ties go to the path found first,
//! channels in ascending order of switch and port.

use super::legal::{Lightest, PathProblem, TurnModel};
use super::up_down_paths::PathLoad;
use super::{Demand, PathEngine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::PathSet;

pub(super) const NAME: &str = "shortest-widest";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShortestWidest {
    /// The turn model that makes paths legal; up*/down* in the paper.
    pub model: TurnModel,
    /// The root; none: the one that [`super::UpDown`] chooses. The paper's is [`super::random_root`].
    pub root: Option<NodeId>,
}

impl PathEngine for ShortestWidest {
    fn name(&self) -> &'static str {
        NAME
    }

    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError> {
        let problem = PathProblem::of(NAME, self.model, self.root, fabric, demand)?;
        Ok(problem.map_or_else(|| PathProblem::nothing(NAME, demand), |problem| choose(&problem)))
    }
}

fn choose(problem: &PathProblem<'_>) -> PathSet {
    let mut lightest = Lightest::new(&problem.channels, &problem.ahead);
    let mut load = PathLoad::of(&problem.channels);
    problem.join(|from, to, way| {
        lightest.find(from.row, to.row, |channel| Some(1 + load.on(channel)), |sum, weight| sum + weight, way);
        load.add(way);
    })
}
