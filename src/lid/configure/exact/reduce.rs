//! Reduction of the search. With k colours, a class with fewer than k partners can always be coloured last. A class
//! whose partners are all partners of another class, with which it does not split, takes that class's colour.

use crate::lid::Splits;
use fixedbitset::FixedBitSet;

/// Why a class was set aside.
enum Aside {
    /// It has fewer partners than there are colours.
    Few,
    /// Its partners are all partners of this class.
    Like(usize),
}

/// The remaining classes, and those set aside, in that order.
pub(super) struct Reduced {
    left: FixedBitSet,
    aside: Vec<(usize, Aside)>,
}

impl Reduced {
    pub fn of(splits: &Splits, colours: usize) -> Reduced {
        let mut left = FixedBitSet::with_capacity(splits.len());
        left.insert_range(..);
        let mut reduced = Reduced { left, aside: Vec::new() };
        loop {
            let before = reduced.aside.len();
            reduced.set_few_aside(splits, colours);
            reduced.set_likes_aside(splits);
            if reduced.aside.len() == before {
                return reduced;
            }
        }
    }

    fn set_few_aside(&mut self, splits: &Splits, colours: usize) {
        let mut queue: Vec<usize> = self.left.ones().collect();
        while let Some(class) = queue.pop() {
            if self.left.contains(class) && splits.apart(class).intersection_count(&self.left) < colours {
                self.left.set(class, false);
                self.aside.push((class, Aside::Few));
                // Each of its partners has lost one of its own.
                queue.extend(splits.apart(class).intersection(&self.left));
            }
        }
    }

    fn set_likes_aside(&mut self, splits: &Splits) {
        for class in 0..splits.len() {
            if self.left.contains(class)
                && let Some(like) = self.like(splits, class)
            {
                self.left.set(class, false);
                self.aside.push((class, Aside::Like(like)));
            }
        }
    }

    /// A remaining class that splits with all partners of this one, but not with it.
    fn like(&self, splits: &Splits, class: usize) -> Option<usize> {
        let mut partners = splits.apart(class).clone();
        partners.intersect_with(&self.left);
        // A class that splits with all partners splits with the first.
        let first = partners.ones().next()?;
        let mut candidates = splits.apart(first).intersection(&self.left);
        let is_like = |&other: &usize| {
            other != class && !splits.apart(class).contains(other) && partners.is_subset(splits.apart(other))
        };
        candidates.find(is_like)
    }

    /// The connected components of the remaining classes.
    pub fn components(&self, splits: &Splits) -> Vec<Vec<usize>> {
        let mut unseen = self.left.clone();
        let mut parts = Vec::new();
        while let Some(first) = unseen.ones().next() {
            unseen.set(first, false);
            let mut part = vec![first];
            let mut next = 0;
            while let Some(&class) = part.get(next) {
                next += 1;
                let mut fresh = splits.apart(class).clone();
                fresh.intersect_with(&unseen);
                unseen.difference_with(&fresh);
                part.extend(fresh.ones());
            }
            parts.push(part);
        }
        parts
    }

    /// Colours the classes set aside, last first.
    pub fn restore(&self, splits: &Splits, of_class: &mut [usize]) {
        for (class, why) in self.aside.iter().rev() {
            of_class[*class] = match *why {
                Aside::Like(other) => of_class[other],
                // It had fewer than k partners when it was set aside, and classes set aside earlier have no colour yet:
                // one of the k colours is free.
                Aside::Few => {
                    let mut taken: Vec<usize> = splits.apart(*class).ones().map(|other| of_class[other]).collect();
                    taken.sort_unstable();
                    taken.dedup();
                    taken.iter().zip(0..).take_while(|&(&colour, at)| colour == at).count()
                }
            };
        }
    }
}
