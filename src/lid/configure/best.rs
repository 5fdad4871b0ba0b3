//! The fewest configurations that any heuristic finds. The best heuristic differs from destination to destination; all
//! of them together take little longer than the split graph.

use super::{Colour, Configurations, Configure, Dsatur, Greedy, HeuristicOrder, SplitMerge};
use crate::lid::Splits;

pub(super) const NAME: &str = "best";

/// The heuristic. Ties go to the first of greedy, color/L, DSATUR, split-merge/L, color/S, split-merge/S. A result
/// equal to the lower bound [`Splits::crossing`] ends the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Best;

impl Configure for Best {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configure(&self, splits: &Splits) -> Configurations {
        let others: [&dyn Configure; 5] = [
            &Colour(HeuristicOrder::Largest),
            &Dsatur,
            &SplitMerge(HeuristicOrder::Largest),
            &Colour(HeuristicOrder::Smallest),
            &SplitMerge(HeuristicOrder::Smallest),
        ];
        let mut best = Greedy.configure(splits);
        for heuristic in others {
            // Classes that leave one switch by different ports all split, so no heuristic finds fewer.
            if best.count() <= splits.crossing().len() {
                break;
            }
            let found = heuristic.configure(splits);
            if found.count() < best.count() {
                best = found;
            }
        }
        best
    }
}
