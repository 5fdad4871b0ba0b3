//! The paths to one destination that cannot share a LID.
//!
//! On entry: a path set and the ranks of its paths to one destination. On return: *classes* of identical paths, and the
//! split graph over the classes (seed 002, section 4.3). Two paths split if they pass one switch and leave it by
//! different ports (definition 1); otherwise they may share a LID (lemma 1). Identical paths have the same splits, so
//! every heuristic treats a class as one without loss. Deliberately omitted: the choice of shared LIDs (`configure`).

use crate::fabric::{NodeId, PortId};
use crate::ids::PortNum;
use crate::tables::{Hop, PathSet};
use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};

/// Paths through the same ports on the same layer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Class {
    /// The number of its paths.
    weight: usize,
    hops: Vec<Hop>,
}

/// The paths to one destination, and their splits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Splits {
    /// Ordered by their first paths.
    classes: Vec<Class>,
    /// By path: its class.
    class_of: Vec<usize>,
    /// By class: the classes that it splits with.
    apart: Vec<FixedBitSet>,
    /// By class: the number of paths that it splits with.
    degree: Vec<usize>,
    /// The largest set found of classes through one switch that all split with each other.
    crossing: Vec<usize>,
}

impl Splits {
    /// The splits among the paths of `set` with these ranks, which lead to one destination. Two paths of one source on
    /// different layers split too: the source distinguishes them by the DLID alone.
    pub fn of(set: &PathSet, ranks: &[u32]) -> Splits {
        let mut splits = Splits::gathered(set, ranks);
        splits.part_at_switches();
        splits.part_layers(set, ranks);
        let weights: Vec<usize> = splits.classes.iter().map(|class| class.weight).collect();
        splits.degree = splits.apart.iter().map(|apart| apart.ones().map(|other| weights[other]).sum()).collect();
        splits
    }

    fn gathered(set: &PathSet, ranks: &[u32]) -> Splits {
        let mut known: FxHashMap<(&[Hop], u8), usize> = FxHashMap::default();
        let mut classes: Vec<Class> = Vec::new();
        let mut class_of = Vec::with_capacity(ranks.len());
        for &rank in ranks {
            let path = set.get(rank as usize);
            let class = *known.entry((path.hops, path.layer)).or_insert_with(|| {
                classes.push(Class { weight: 0, hops: path.hops.to_vec() });
                classes.len() - 1
            });
            classes[class].weight += 1;
            class_of.push(class);
        }
        let apart = vec![FixedBitSet::with_capacity(classes.len()); classes.len()];
        Splits { classes, class_of, apart, degree: Vec::new(), crossing: Vec::new() }
    }

    /// At every switch, classes that leave by different ports split.
    fn part_at_switches(&mut self) {
        let mut uses: Vec<(NodeId, PortNum, usize)> = Vec::new();
        for (at, class) in self.classes.iter().enumerate() {
            uses.extend(class.hops.iter().map(|hop| (hop.switch, hop.output, at)));
        }
        uses.sort_unstable();
        for at_switch in uses.chunk_by(|a, b| a.0 == b.0) {
            let by_output: Vec<&[_]> = at_switch.chunk_by(|a, b| a.1 == b.1).collect();
            if by_output.len() > self.crossing.len() {
                self.crossing = by_output.iter().map(|group| group[0].2).collect();
            }
            if by_output.len() > 1 {
                self.part_groups(at_switch, &by_output);
            }
        }
    }

    fn part_groups(&mut self, all: &[(NodeId, PortNum, usize)], groups: &[&[(NodeId, PortNum, usize)]]) {
        let set_of = |uses: &[(NodeId, PortNum, usize)]| {
            let mut set = FixedBitSet::with_capacity(self.classes.len());
            set.extend(uses.iter().map(|&(_, _, class)| class));
            set
        };
        let everybody = set_of(all);
        for group in groups {
            let mut others = everybody.clone();
            others.difference_with(&set_of(group));
            group.iter().for_each(|&(_, _, class)| self.apart[class].union_with(&others));
        }
    }

    fn part_layers(&mut self, set: &PathSet, ranks: &[u32]) {
        let mut of_source: FxHashMap<PortId, Vec<usize>> = FxHashMap::default();
        let mut seen: FxHashSet<(PortId, usize)> = FxHashSet::default();
        for (&rank, &class) in ranks.iter().zip(&self.class_of) {
            let source = set.get(rank as usize).source;
            if seen.insert((source, class)) {
                let others = of_source.entry(source).or_default();
                for &other in others.iter() {
                    self.apart[class].insert(other);
                    self.apart[other].insert(class);
                }
                others.push(class);
            }
        }
    }

    /// The number of paths.
    pub fn paths(&self) -> usize {
        self.class_of.len()
    }

    /// By path, in the order of the ranks given: its class.
    pub fn class_of(&self) -> &[usize] {
        &self.class_of
    }

    /// The number of classes.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Returns whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The classes that a class splits with.
    pub fn apart(&self, class: usize) -> &FixedBitSet {
        &self.apart[class]
    }

    /// The number of paths that a path of this class splits with: its degree in the split graph.
    pub fn degree(&self, class: usize) -> usize {
        self.degree[class]
    }

    /// The number of paths in a class.
    pub fn weight(&self, class: usize) -> usize {
        self.classes[class].weight
    }

    /// The hops of a class.
    pub fn hops(&self, class: usize) -> &[Hop] {
        &self.classes[class].hops
    }

    /// One class for every output port of the switch with most outputs. They all split with each other: at least this
    /// many LIDs are needed.
    pub fn crossing(&self) -> &[usize] {
        &self.crossing
    }
}
