//! Colouring (seed 002, section 4.3): colour by colour; each goes to the uncoloured path of largest (color/L) or
//! smallest (color/S) degree that splits with none of the same colour.
//!
//! Degrees of [`Colour`] are those of the whole split graph: the paper does not state whether they include removed
//! nodes. [`ColourReduced`] has the other readings.

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

/// The heuristic with degrees counted in the reduced split graph, without the paths that have a colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColourReduced {
    /// The order of colouring.
    pub order: HeuristicOrder,
    /// Whether degrees also leave out the paths that cannot have the colour in hand, and so change with every path.
    pub each_path: bool,
}

impl Configure for ColourReduced {
    fn name(&self) -> &'static str {
        Colour(self.order).name()
    }

    fn configure(&self, splits: &Splits) -> Configurations {
        let mut of_class = vec![0; splits.len()];
        let mut left = FixedBitSet::with_capacity(splits.len());
        left.insert_range(..);
        let mut colour = 0;
        while !left.is_clear() {
            let mut degree = vec![0; splits.len()];
            for class in left.ones() {
                degree[class] = splits.apart(class).intersection(&left).map(|other| splits.weight(other)).sum();
            }
            let mut fit = left.clone();
            while let Some(class) = self.next(&fit, &degree) {
                of_class[class] = colour;
                left.remove(class);
                let gone: Vec<usize> = splits.apart(class).intersection(&fit).chain([class]).collect();
                gone.iter().for_each(|&class| fit.remove(class));
                for other in gone.into_iter().filter(|_| self.each_path) {
                    splits.apart(other).intersection(&fit).for_each(|near| degree[near] -= splits.weight(other));
                }
            }
            colour += 1;
        }
        Configurations::new(of_class)
    }
}

impl ColourReduced {
    /// The first class of largest or smallest degree.
    fn next(self, fit: &FixedBitSet, degree: &[usize]) -> Option<usize> {
        match self.order {
            HeuristicOrder::Smallest => fit.ones().min_by_key(|&class| degree[class]),
            HeuristicOrder::Largest => fit.ones().min_by_key(|&class| Reverse(degree[class])),
        }
    }
}
