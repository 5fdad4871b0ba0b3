//! L-turn routing: shortest legal paths under a rule that spreads its prohibited turns away from the root.
//! [`TurnModel::LTurn`] lists the turns and compares them with the paper's (Koibuchi, Funahashi, Jouraku and Amano,
//! ICPP 2001).

use super::legal::{PathProblem, TurnModel};
use super::up_down_paths::{at_random, balanced};
use super::{Demand, PathEngine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::PathSet;

pub(super) const NAME: &str = "l-turn";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LTurn {
    /// The root; none: the one that [`super::UpDown`] chooses.
    pub root: Option<NodeId>,
    /// Seed of a random choice among shortest legal paths; none: the least loaded, as in [`super::UpDownBalanced`].
    pub seed: Option<u64>,
}

impl PathEngine for LTurn {
    fn name(&self) -> &'static str {
        NAME
    }

    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError> {
        let Some(problem) = PathProblem::of(NAME, TurnModel::LTurn, self.root, fabric, demand)? else {
            return Ok(PathProblem::nothing(NAME, demand));
        };
        Ok(self.seed.map_or_else(|| balanced(&problem), |seed| at_random(&problem, seed)))
    }
}
