//! DSATUR (Brélaz 1979): picks the path whose split partners have the most colours, then the one with most partners,
//! then the first; it gets the lowest free colour.

use super::{Configurations, Configure};
use crate::lid::Splits;
use fixedbitset::FixedBitSet;
use std::cmp::Reverse;

pub(super) const NAME: &str = "dsatur";

/// The heuristic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dsatur;

impl Configure for Dsatur {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configure(&self, splits: &Splits) -> Configurations {
        let classes = splits.len();
        let mut of_class = vec![usize::MAX; classes];
        let mut barred = vec![FixedBitSet::with_capacity(classes); classes];
        let mut saturation = vec![0usize; classes];
        for _ in 0..classes {
            let open = (0..classes).filter(|&class| of_class[class] == usize::MAX);
            let next = open.min_by_key(|&class| (Reverse(saturation[class]), Reverse(splits.degree(class)), class));
            let Some(next) = next else { break };
            let colour = barred[next].zeroes().next().unwrap_or(0);
            of_class[next] = colour;
            for other in splits.apart(next).ones() {
                // Only a colour new to the partner raises its saturation.
                saturation[other] += usize::from(!barred[other].put(colour));
            }
        }
        Configurations::new(of_class)
    }
}
