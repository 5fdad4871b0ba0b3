//! Colouring (seed 002, section 4.3): colour by colour; each goes to the uncoloured path of largest (color/L) or
//! smallest (color/S) degree that splits with none of the same colour.
//!
//! Degrees are those of the whole split graph: the paper does not state whether they include removed nodes.

use super::{Configurations, Configure, HeuristicOrder};
use crate::lid::Splits;
use fixedbitset::FixedBitSet;
use std::cmp::Reverse;

/// The heuristic, with the order of colouring.
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

/// Colours the classes of `order`, one colour after another.
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
