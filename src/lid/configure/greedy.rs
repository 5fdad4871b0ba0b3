//! Greedy (seed 002, section 4.1, figure 5): configuration by configuration, each takes, in order, every path that
//! splits with none of its own. Going path by path instead, each into the first configuration that fits, gives the same
//! result: that is the renaming of seed 000.

use super::{Configurations, Configure};
use crate::lid::Splits;
use fixedbitset::FixedBitSet;

pub(super) const NAME: &str = "greedy";

/// The heuristic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Greedy;

impl Configure for Greedy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configure(&self, splits: &Splits) -> Configurations {
        let each = (0..splits.len()).map(|class| vec![class]).collect();
        merged(splits, each)
    }
}

/// Greedy over parts that are already configurations, in their order.
pub(super) fn merged(splits: &Splits, parts: Vec<Vec<usize>>) -> Configurations {
    let mut of_class = vec![0; splits.len()];
    let mut left = parts;
    let mut configuration = 0;
    while !left.is_empty() {
        let mut taken = FixedBitSet::with_capacity(splits.len());
        left.retain(|part| {
            let fits = part.iter().all(|&class| splits.apart(class).is_disjoint(&taken));
            if fits {
                taken.extend(part.iter().copied());
            }
            !fits
        });
        taken.ones().for_each(|class| of_class[class] = configuration);
        configuration += 1;
    }
    Configurations::new(of_class)
}
