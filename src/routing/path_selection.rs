//! Path selection (seed 002, section 5.1): up to sixteen shortest legal paths for each pair, then paths over the most loaded
//! link are removed until one is left for each pair (Koibuchi, Jouraku and Amano, Parallel Computing 31(1), 2005).
//!
//! Which of the paths over that link goes first is told by neither paper. Here whole pairs of switches choose, since their
//! hosts have the same alternatives: a path counts for every pair of end ports that would take it. Over the most loaded
//! channel goes the path of the pair with the most alternatives left, of those the longest, of those the one found last.
//! A channel over which every path is its pair's last one is left as it is, and the next most loaded one looked at.

use super::legal::{Alternatives, Survey, TurnModel, Way};
use super::{Demand, PathEngine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::PathSet;
use std::collections::BTreeSet;

pub(super) const NAME: &str = "path-selection";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathSelection {
    /// Which paths are legal; up*/down* in the paper.
    pub model: TurnModel,
    /// The root; where none is given, as [`super::UpDown`] chooses it. The paper's is [`super::random_root`].
    pub root: Option<NodeId>,
    /// The most alternatives for a pair, 1 at least; 16 in the paper.
    pub alternatives: usize,
}

impl Default for PathSelection {
    fn default() -> PathSelection {
        PathSelection { model: TurnModel::UpDown, root: None, alternatives: 16 }
    }
}

impl PathEngine for PathSelection {
    fn name(&self) -> &'static str {
        NAME
    }

    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError> {
        let survey = Survey::of(NAME, (self.model, self.root), fabric, demand)?;
        Ok(survey.map_or_else(|| Survey::nothing(NAME, demand), |survey| select(&survey, self.alternatives)))
    }
}

fn select(survey: &Survey<'_>, most: usize) -> PathSet {
    let pairs = Pairs::of(survey, most);
    let mut removal = Removal::of(&pairs, survey.channels.len());
    while removal.step(&pairs) {}
    let left: Vec<&Way> = pairs.firsts().map(|range| &pairs.ways[removal.survivor(range)]).collect();
    survey.join(|from, to, way| {
        way.clear();
        way.extend(pairs.rank(from.row, to.row).into_iter().flat_map(|pair| left[pair]));
    })
}

/// Every ordered pair of different switches that bear end ports, with its alternatives.
pub(super) struct Pairs {
    rows: usize,
    /// By row of the source, then of the destination: rank of the pair.
    rank: Vec<Option<u32>>,
    /// By pair: how many pairs of end ports it stands for.
    pub weight: Vec<u64>,
    /// By pair: its first alternative; one entry more at the end.
    first: Vec<usize>,
    /// Alternatives, pair by pair, by rising hops.
    pub ways: Vec<Way>,
}

impl Pairs {
    /// The pairs with up to `most` alternatives each, one at least.
    pub fn of(survey: &Survey<'_>, most: usize) -> Pairs {
        let rows = survey.channels.rows();
        let mut alternatives = Alternatives::new(&survey.channels, &survey.ahead);
        let mut ends = vec![0u64; rows];
        survey.ends.iter().for_each(|end| ends[end.row] += 1);
        let mut pairs = Pairs { rows, rank: vec![None; rows * rows], weight: vec![], first: vec![0], ways: vec![] };
        for from in (0..rows).filter(|&row| ends[row] > 0) {
            for to in (0..rows).filter(|&row| ends[row] > 0 && row != from) {
                pairs.rank[from * rows + to] = Some(pairs.weight.len() as u32);
                pairs.weight.push(ends[from] * ends[to]);
                pairs.ways.extend(alternatives.find(from, to, most.max(1)));
                pairs.first.push(pairs.ways.len());
            }
        }
        pairs
    }

    /// The rank of a pair of rows; none for a row with itself.
    pub fn rank(&self, from: usize, to: usize) -> Option<usize> {
        self.rank[from * self.rows + to].map(|rank| rank as usize)
    }

    /// By pair: the range of its alternatives.
    pub fn firsts(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.first.windows(2).map(|pair| pair[0]..pair[1])
    }
}

/// Alternatives on their way out.
struct Removal {
    /// By alternative: its pair, and whether it is still there.
    pair: Vec<u32>,
    there: Vec<bool>,
    /// By pair: alternatives left.
    left: Vec<usize>,
    /// By channel: alternatives over it, some of them gone.
    over: Vec<Vec<u32>>,
    load: Vec<u64>,
    /// Channels from which something may still go, by load.
    open: BTreeSet<(u64, u32)>,
}

impl Removal {
    fn of(pairs: &Pairs, channels: usize) -> Removal {
        let mut removal = Removal {
            pair: Vec::with_capacity(pairs.ways.len()),
            there: vec![true; pairs.ways.len()],
            left: pairs.firsts().map(|range| range.len()).collect(),
            over: vec![Vec::new(); channels],
            load: vec![0; channels],
            open: BTreeSet::new(),
        };
        for (pair, range) in pairs.firsts().enumerate() {
            for alternative in range {
                removal.pair.push(pair as u32);
                for &channel in &pairs.ways[alternative] {
                    removal.over[channel as usize].push(alternative as u32);
                    removal.load[channel as usize] += pairs.weight[pair];
                }
            }
        }
        removal.open = removal.load.iter().copied().zip(0..).collect();
        removal
    }

    /// Removes one alternative, or closes a channel; false once none is open.
    fn step(&mut self, pairs: &Pairs) -> bool {
        let Some(&(load, busiest)) = self.open.last() else { return false };
        let (there, left, pair) = (&self.there, &self.left, &self.pair);
        // What is some pair's last stays for good, so it need not be looked at again.
        self.over[busiest as usize].retain(|&at| there[at as usize] && left[pair[at as usize] as usize] > 1);
        let key = |&at: &u32| (left[pair[at as usize] as usize], pairs.ways[at as usize].len(), at);
        match self.over[busiest as usize].iter().copied().max_by_key(key) {
            Some(alternative) => self.remove(pairs, alternative as usize),
            None => {
                self.open.remove(&(load, busiest));
            }
        }
        true
    }

    fn remove(&mut self, pairs: &Pairs, alternative: usize) {
        let pair = self.pair[alternative] as usize;
        self.there[alternative] = false;
        self.left[pair] -= 1;
        for &channel in &pairs.ways[alternative] {
            let load = &mut self.load[channel as usize];
            let open = self.open.remove(&(*load, channel));
            *load -= pairs.weight[pair];
            if open {
                self.open.insert((*load, channel));
            }
        }
    }

    /// The alternative of a pair that is left.
    fn survivor(&self, mut range: std::ops::Range<usize>) -> usize {
        let start = range.start;
        range.find(|&at| self.there[at]).unwrap_or(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::routing::Demand;

    /// The rule as the module tells it, recounting everything at every step.
    fn left_by_the_rule(pairs: &Pairs, channels: usize) -> Vec<usize> {
        let mut left: Vec<Vec<usize>> = pairs.firsts().map(Iterator::collect).collect();
        loop {
            let mut load = vec![0; channels];
            for (pair, there) in left.iter().enumerate() {
                for &channel in there.iter().flat_map(|&at| &pairs.ways[at]) {
                    load[channel as usize] += pairs.weight[pair];
                }
            }
            let mut by_load: Vec<usize> = (0..channels).collect();
            by_load.sort_by_key(|&channel| std::cmp::Reverse((load[channel], channel)));
            let choice = by_load.iter().find_map(|&channel| {
                let open = left.iter().enumerate().filter(|(_, there)| there.len() > 1);
                let over = open.flat_map(|(pair, there)| {
                    there.iter().map(move |&at| (there.len(), pairs.ways[at].len(), at, pair))
                });
                over.filter(|&(_, _, at, _)| pairs.ways[at].contains(&(channel as u32))).max()
            });
            let Some((_, _, gone, pair)) = choice else { return left.into_iter().map(|there| there[0]).collect() };
            left[pair].retain(|&at| at != gone);
        }
    }

    #[test]
    fn paths_over_the_busiest_channel_go_until_each_pair_has_one() {
        for (seed, topology) in
            [(0, "irregular:7,8,9,12"), (1, "irregular:7,8,5,11"), (2, "leaf-spine:3,2,2,2"), (3, "ring:5,2")]
        {
            let topology: Topology = topology.parse().expect("a topology");
            let fabric = generate(&topology, &Options { seed, ..Options::default() }).expect("a fabric");
            let survey =
                Survey::of(NAME, (TurnModel::UpDown, None), &fabric, &Demand::all(&fabric, 1)).expect("joined");
            let survey = survey.expect("a switch");
            let pairs = Pairs::of(&survey, 6);
            let mut removal = Removal::of(&pairs, survey.channels.len());
            while removal.step(&pairs) {}
            assert!(removal.left.iter().all(|&left| left == 1));
            let left: Vec<usize> = pairs.firsts().map(|range| removal.survivor(range)).collect();
            assert_eq!(left, left_by_the_rule(&pairs, survey.channels.len()), "{topology}");
        }
    }
}
