//! Colouring (seed 002, section 4.3): one colour after the other; each goes to the path of largest (color/L) or
//! smallest (color/S) degree among those still without a colour that split with none of its own.
//!
//! Degrees are those of the whole split graph: the paper leaves open whether removed nodes count.

use super::{Configurations, Configure, HeuristicOrder};
use crate::lid::Splits;
use fixedbitset::FixedBitSet;
use std::cmp::Reverse;

/// The heuristic: which paths it colours first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Colour(pub HeuristicOrder);

impl Configure for Colour {
    fn name(&self) -> &'static str {
        match self.0 {
            HeuristicOrder::Smallest => "color/S",
            HeuristicOrder::Largest => "color/L",
        }
    }

    fn configure(&self, splits: &Splits) -> Configurations {
        let mut order: Vec<usize> = (0..splits.len()).collect();
        match self.0 {
            HeuristicOrder::Smallest => order.sort_by_key(|&class| splits.degree(class)),
            HeuristicOrder::Largest => order.sort_by_key(|&class| Reverse(splits.degree(class))),
        }
        in_order(splits, order)
    }
}

/// Every colour in turn, to the classes in `order` that it fits.
fn in_order(splits: &Splits, order: Vec<usize>) -> Configurations {
    let mut of_class = vec![0; splits.len()];
    let mut left = order;
    let mut colour = 0;
    while !left.is_empty() {
        let mut barred = FixedBitSet::with_capacity(splits.len());
        left.retain(|&class| {
            let fits = !barred.contains(class);
            if fits {
                barred.union_with(splits.apart(class));
                of_class[class] = colour;
            }
            !fits
        });
        colour += 1;
    }
    Configurations::new(of_class)
}
