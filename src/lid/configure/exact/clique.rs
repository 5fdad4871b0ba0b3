//! A large clique of the split graph, a lower bound on the number of configurations.

use crate::lid::Splits;
use fixedbitset::FixedBitSet;

/// The largest of two kinds of cliques: those grown from each class by adding the partner with most common partners,
/// and the classes that leave one switch by different ports.
pub(super) fn large(splits: &Splits) -> Vec<usize> {
    let mut best = splits.crossing().to_vec();
    for class in 0..splits.len() {
        // No clique through a class is larger than the class and all its partners.
        if splits.apart(class).count_ones(..) >= best.len() {
            let grown = grown_from(splits, class);
            if grown.len() > best.len() {
                best = grown;
            }
        }
    }
    best
}

fn grown_from(splits: &Splits, class: usize) -> Vec<usize> {
    let mut clique = vec![class];
    let mut common: FixedBitSet = splits.apart(class).clone();
    let shared = |other: usize, common: &FixedBitSet| splits.apart(other).intersection_count(common);
    while let Some(next) = common.ones().min_by_key(|&other| (usize::MAX - shared(other, &common), other)) {
        clique.push(next);
        common.intersect_with(splits.apart(next));
    }
    clique
}
