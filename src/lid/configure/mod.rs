//! The paths to a destination that share a LID: heuristics, and the least number.
//!
//! On entry: the [`Splits`] of one destination. On return: [`Configurations`], a partition of its classes such that no
//! two in one configuration split; each configuration takes one LID (seed 002, definition 2 and lemma 2). Finding the
//! fewest means colouring the split graph and is NP-complete (its theorem 1). Every heuristic returns a *minimal* set
//! (its definition 4: no two configurations could be merged), and ties go to the first path, so that the same paths
//! give the same LIDs. Deliberately omitted: the LIDs themselves (`by_path`), and blocks of them (`needs`).

mod best;
mod colour;
mod dsatur;
mod exact;
mod greedy;
mod split_merge;

pub use best::Best;
pub use colour::{Colour, ColourReduced};
pub use dsatur::Dsatur;
pub use exact::{Exact, Optimum, optimum};
pub use greedy::Greedy;
pub use split_merge::SplitMerge;

use super::Splits;
use std::fmt;
use std::str::FromStr;

/// A partition of the classes of one destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configurations {
    of_class: Vec<usize>,
    count: usize,
}

impl Configurations {
    fn new(of_class: Vec<usize>) -> Configurations {
        let count = of_class.iter().max().map_or(0, |last| last + 1);
        Configurations { of_class, count }
    }

    /// The number of configurations: LIDs that the destination needs.
    pub fn count(&self) -> usize {
        self.count
    }

    /// By class: its configuration.
    pub fn of_class(&self) -> &[usize] {
        &self.of_class
    }

    /// By path, in the order of the ranks given to the splits: its configuration.
    pub fn of_paths<'a>(&'a self, splits: &'a Splits) -> impl Iterator<Item = usize> + 'a {
        splits.class_of().iter().map(|&class| self.of_class[class])
    }

    /// Returns whether no two classes of one configuration split.
    pub fn is_proper(&self, splits: &Splits) -> bool {
        let of = &self.of_class;
        of.len() == splits.len() && (0..of.len()).all(|a| splits.apart(a).ones().all(|b| of[a] != of[b]))
    }
}

/// The LIDs that a port must own to have `needed` of them: the next power of two (seed 002, section 2).
pub fn block_of(needed: usize) -> usize {
    needed.max(1).next_power_of_two()
}

/// The order in which a heuristic considers paths or switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeuristicOrder {
    /// Most splits, or most use, first.
    Largest,
    /// Fewest splits, or least use, first.
    Smallest,
}

/// Finds configurations for one destination.
pub trait Configure {
    /// Its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// A proper partition of the classes.
    fn configure(&self, splits: &Splits) -> Configurations;
}

/// The heuristics by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Heuristic {
    /// [`Greedy`]: first-fit renaming.
    Greedy,
    /// [`SplitMerge`], least used switches first.
    SplitMergeSmallest,
    /// [`SplitMerge`], most used switches first.
    SplitMergeLargest,
    /// [`Colour`], paths with fewest splits first.
    ColourSmallest,
    /// [`Colour`], paths with most splits first.
    ColourLargest,
    /// [`Dsatur`].
    Dsatur,
    /// [`Best`] of all these.
    #[default]
    Best,
    /// [`Exact`]: the least number, if its steps suffice.
    Exact,
}

impl Heuristic {
    /// The five of seed 002, in the order of its tables.
    pub const PUBLISHED: [Heuristic; 5] = [
        Heuristic::Greedy,
        Heuristic::SplitMergeSmallest,
        Heuristic::SplitMergeLargest,
        Heuristic::ColourSmallest,
        Heuristic::ColourLargest,
    ];

    /// All of them.
    pub const ALL: [Heuristic; 8] = [
        Heuristic::Greedy,
        Heuristic::SplitMergeSmallest,
        Heuristic::SplitMergeLargest,
        Heuristic::ColourSmallest,
        Heuristic::ColourLargest,
        Heuristic::Dsatur,
        Heuristic::Best,
        Heuristic::Exact,
    ];

    /// The solver.
    pub fn solver(self) -> Box<dyn Configure> {
        match self {
            Heuristic::Greedy => Box::new(Greedy),
            Heuristic::SplitMergeSmallest => Box::new(SplitMerge(HeuristicOrder::Smallest)),
            Heuristic::SplitMergeLargest => Box::new(SplitMerge(HeuristicOrder::Largest)),
            Heuristic::ColourSmallest => Box::new(Colour(HeuristicOrder::Smallest)),
            Heuristic::ColourLargest => Box::new(Colour(HeuristicOrder::Largest)),
            Heuristic::Dsatur => Box::new(Dsatur),
            Heuristic::Best => Box::new(Best),
            Heuristic::Exact => Box::new(Exact::default()),
        }
    }

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Heuristic::Greedy => greedy::NAME,
            Heuristic::SplitMergeSmallest => "split-merge/S",
            Heuristic::SplitMergeLargest => "split-merge/L",
            Heuristic::ColourSmallest => "color/S",
            Heuristic::ColourLargest => "color/L",
            Heuristic::Dsatur => dsatur::NAME,
            Heuristic::Best => best::NAME,
            Heuristic::Exact => exact::NAME,
        }
    }
}

impl fmt::Display for Heuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name of no heuristic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no heuristic `{name}`; choose one of: {}", Heuristic::ALL.map(Heuristic::name).join(", "))]
pub struct NoSuchHeuristic {
    /// The name given.
    pub name: String,
}

impl FromStr for Heuristic {
    type Err = NoSuchHeuristic;

    fn from_str(name: &str) -> Result<Heuristic, NoSuchHeuristic> {
        let known = Heuristic::ALL.into_iter().find(|heuristic| heuristic.name().eq_ignore_ascii_case(name));
        known.ok_or_else(|| NoSuchHeuristic { name: name.to_string() })
    }
}
