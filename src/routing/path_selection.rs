//! Path selection (seed 002, section 5.1): up to sixteen shortest legal paths for each pair, then paths over the most
//! loaded link are removed until one is left for each pair (Koibuchi, Jouraku and Amano, Parallel Computing 31(1),
//! 2005).
//!
//! Neither paper says which of the paths over that link goes first. Here whole pairs of switches choose, since their
//! hosts have the same alternatives: a path counts for every pair of end ports that would take it. Of the paths over
//! the most loaded channel, the one of the pair with the most alternatives left is removed; on ties the longest, then
//! the one found last, or, depending on [`Removed`], the one found first. If every path over a channel is its pair's
//! last one, the channel stays as it is, and the next most loaded one is examined.

use super::legal::{Alternatives, ChannelPath, PathProblem, TurnModel};
use super::{Demand, PathEngine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::PathSet;
use std::collections::{BTreeSet, BinaryHeap};

pub(super) const NAME: &str = "path-selection";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathSelection {
    /// Which paths are legal; up*/down* in the paper.
    pub model: TurnModel,
    /// The root; none: the one that [`super::UpDown`] chooses. The paper's is [`super::random_root`].
    pub root: Option<NodeId>,
    /// The most alternatives for a pair, 1 at least; 16 in the paper.
    pub alternatives: usize,
    /// Which path goes first.
    pub removed: Removed,
}

/// The path over the most loaded link that is removed first, among the pairs with the most alternatives left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Removed {
    /// The longest, on ties the one found last: the remaining paths are short, and few LIDs realise them.
    #[default]
    Longest,
    /// The one found first, whatever its length: this gives the LIDs of seed 002's table 2 (docs/REPRODUCE.md).
    First,
}

impl Removed {
    /// The rank of an alternative among those whose pairs have as many left.
    fn rank(self, hops: usize, alternative: usize) -> (usize, usize) {
        match self {
            Removed::Longest => (hops, alternative),
            Removed::First => (0, usize::MAX - alternative),
        }
    }

    /// The alternative with this number in its rank.
    fn numbered(self, number: usize) -> usize {
        match self {
            Removed::Longest => number,
            Removed::First => usize::MAX - number,
        }
    }
}

impl Default for PathSelection {
    fn default() -> PathSelection {
        PathSelection { model: TurnModel::UpDown, root: None, alternatives: 16, removed: Removed::default() }
    }
}

impl PathEngine for PathSelection {
    fn name(&self) -> &'static str {
        NAME
    }

    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError> {
        let problem = PathProblem::of(NAME, self.model, self.root, fabric, demand)?;
        Ok(problem.map_or_else(
            || PathProblem::nothing(NAME, demand),
            |problem| select(&problem, self.alternatives, self.removed),
        ))
    }
}

fn select(problem: &PathProblem<'_>, most: usize, first: Removed) -> PathSet {
    let pairs = Pairs::of(problem, most);
    let mut removal = Removal::of(&pairs, problem.channels.len(), first);
    while removal.step(&pairs) {}
    let left: Vec<&ChannelPath> = pairs.firsts().map(|range| &pairs.ways[removal.survivor(range)]).collect();
    problem.join(|from, to, way| {
        way.clear();
        way.extend(pairs.rank(from.row, to.row).into_iter().flat_map(|pair| left[pair]));
    })
}

/// Every ordered pair of different switches with end ports, with its alternatives.
pub(super) struct Pairs {
    rows: usize,
    /// By row of the source, then of the destination: rank of the pair.
    rank: Vec<Option<u32>>,
    /// By pair: how many pairs of end ports it stands for.
    pub weight: Vec<u64>,
    /// By pair: its first alternative; one entry more at the end.
    first: Vec<usize>,
    /// Alternatives, pair by pair, by ascending hops.
    pub ways: Vec<ChannelPath>,
}

impl Pairs {
    /// The pairs with up to `most` alternatives each, one at least.
    pub fn of(problem: &PathProblem<'_>, most: usize) -> Pairs {
        let rows = problem.channels.rows();
        let mut alternatives = Alternatives::new(&problem.channels, &problem.ahead);
        let mut ends = vec![0u64; rows];
        problem.ends.iter().for_each(|end| ends[end.row] += 1);
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

/// The order in which alternatives are removed: by how many their pair has left, then, depending on [`Removed`], by
/// hops and by number.
type Rank = (usize, usize, usize);

/// Alternatives on their way out.
struct Removal {
    first: Removed,
    /// By alternative: its pair, and whether it is still there.
    pair: Vec<u32>,
    there: Vec<bool>,
    /// By pair: alternatives left.
    left: Vec<usize>,
    /// By channel: alternatives over it. Some are already removed; the number that their pair has left was counted at
    /// insertion, and can only have fallen.
    over: Vec<BinaryHeap<Rank>>,
    load: Vec<u64>,
    /// Channels from which something may still go, by load.
    open: BTreeSet<(u64, u32)>,
}

impl Removal {
    fn of(pairs: &Pairs, channels: usize, first: Removed) -> Removal {
        let mut removal = Removal {
            first,
            pair: Vec::with_capacity(pairs.ways.len()),
            there: vec![true; pairs.ways.len()],
            left: pairs.firsts().map(|range| range.len()).collect(),
            over: vec![BinaryHeap::new(); channels],
            load: vec![0; channels],
            open: BTreeSet::new(),
        };
        for (pair, range) in pairs.firsts().enumerate() {
            for alternative in range.clone() {
                let way = &pairs.ways[alternative];
                removal.pair.push(pair as u32);
                for &channel in way {
                    let (hops, number) = first.rank(way.len(), alternative);
                    removal.over[channel as usize].push((range.len(), hops, number));
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
        match self.first_to_go(busiest as usize) {
            Some(alternative) => self.remove(pairs, alternative),
            None => {
                self.open.remove(&(load, busiest));
            }
        }
        true
    }

    /// The alternative over a channel that is removed first; none if each is its pair's last. Ranks only fall, so the
    /// highest is found as soon as one on top is up to date.
    fn first_to_go(&mut self, channel: usize) -> Option<usize> {
        while let Some((left, hops, number)) = self.over[channel].pop() {
            let alternative = self.first.numbered(number);
            let now = self.left[self.pair[alternative] as usize];
            if self.there[alternative] && now > 1 {
                if now == left {
                    return Some(alternative);
                }
                self.over[channel].push((now, hops, number));
            }
        }
        None
    }

    fn remove(&mut self, pairs: &Pairs, alternative: usize) {
        let pair = self.pair[alternative] as usize;
        self.there[alternative] = false;
        self.left[pair] -= 1;
        for &channel in &pairs.ways[alternative] {
            let load = &mut self.load[channel as usize];
            // A channel that was closed stays closed: alternatives only become fewer.
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

    /// The rule as the module states it, recounting everything at every step.
    fn left_by_the_rule(pairs: &Pairs, channels: usize, first: Removed) -> Vec<usize> {
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
                    there.iter().map(move |&at| match first {
                        Removed::Longest => (there.len(), pairs.ways[at].len(), at, (at, pair)),
                        Removed::First => (there.len(), 0, usize::MAX - at, (at, pair)),
                    })
                });
                over.filter(|&(.., (at, _))| pairs.ways[at].contains(&(channel as u32))).max()
            });
            let Some((.., (gone, pair))) = choice else { return left.into_iter().map(|there| there[0]).collect() };
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
            let problem =
                PathProblem::of(NAME, TurnModel::UpDown, None, &fabric, &Demand::all(&fabric, 1)).expect("joined");
            let problem = problem.expect("a switch");
            let pairs = Pairs::of(&problem, 6);
            for first in [Removed::Longest, Removed::First] {
                let mut removal = Removal::of(&pairs, problem.channels.len(), first);
                while removal.step(&pairs) {}
                assert!(removal.left.iter().all(|&left| left == 1));
                let left: Vec<usize> = pairs.firsts().map(|range| removal.survivor(range)).collect();
                assert_eq!(left, left_by_the_rule(&pairs, problem.channels.len(), first), "{topology}, {first:?}");
            }
        }
    }
}
