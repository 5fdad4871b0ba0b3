//! The fewest configurations, by proof: a lower bound (a clique) and an upper one (the heuristics); between them, from
//! above, the question whether one colour fewer suffices. The classes that remain after reduction are searched by
//! branch and bound; a search that runs out of steps leaves the question open, and the result says so.

mod clique;
mod reduce;
mod search;

use super::{Best, Configurations, Configure};
use crate::lid::Splits;
use reduce::Reduced;
use search::ColouringResult;

pub(super) const NAME: &str = "exact";

/// The least number, if the steps suffice; otherwise the fewest found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exact {
    /// The most steps for one destination; a step gives one class one colour.
    pub steps: u64,
}

impl Default for Exact {
    fn default() -> Exact {
        Exact { steps: 1_000_000 }
    }
}

impl Configure for Exact {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configure(&self, splits: &Splits) -> Configurations {
        optimum(splits, self.steps).configurations
    }
}

/// Bounds on the least number of configurations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Optimum {
    /// The fewest that were found.
    pub configurations: Configurations,
    /// Proved lower bound.
    pub least: usize,
}

impl Optimum {
    /// Returns whether the fewest found are proved to be the minimum.
    pub fn is_proved(&self) -> bool {
        self.configurations.count() == self.least
    }
}

/// The fewest configurations of a destination, within `steps` steps.
pub fn optimum(splits: &Splits, steps: u64) -> Optimum {
    let mut fewest = Best.configure(splits);
    // The bounds meet, so there is nothing to search.
    if splits.crossing().len() >= fewest.count() {
        return Optimum { least: fewest.count(), configurations: fewest };
    }
    let clique = clique::large(splits);
    let mut left = steps;
    while clique.len() < fewest.count() {
        let wanted = fewest.count() - 1;
        match colour(splits, wanted, &clique, &mut left) {
            ColouringResult::Colouring(of_class) => fewest = Configurations::new(of_class),
            ColouringResult::Nothing => return Optimum { least: fewest.count(), configurations: fewest },
            ColouringResult::Unknown => return Optimum { least: clique.len(), configurations: fewest },
        }
    }
    Optimum { least: clique.len(), configurations: fewest }
}

/// A colouring in `colours` colours.
fn colour(splits: &Splits, colours: usize, clique: &[usize], steps: &mut u64) -> ColouringResult {
    let reduced = Reduced::of(splits, colours);
    let mut of_class = vec![usize::MAX; splits.len()];
    let mut unknown = false;
    for part in reduced.components(splits) {
        match search::colour(splits, &part, colours, clique, steps) {
            ColouringResult::Colouring(found) => {
                part.iter().zip(found).for_each(|(&class, colour)| of_class[class] = colour)
            }
            ColouringResult::Nothing => return ColouringResult::Nothing,
            // The search continues: a later part may prove that there is none, which answers the question.
            ColouringResult::Unknown => unknown = true,
        }
    }
    if unknown {
        return ColouringResult::Unknown;
    }
    reduced.restore(splits, &mut of_class);
    ColouringResult::Colouring(of_class)
}
