//! The dependencies of one layer, kept acyclic as they are added: the online topological order of Pearce and Kelly (ACM
//! JEA 11, 2006) over flat bit sets.
//!
//! A refused dependency stays refused as long as none is removed, so refusals are remembered: every dependency is
//! searched for at most once, however many paths need it.

use super::flat_graph::FlatGraph;

/// Dependencies between the channels of a [`FlatGraph`].
#[derive(Clone)]
pub(super) struct Acyclic {
    /// Words of a set: out of a row, by local number, or into it, by local number of the other direction.
    words: usize,
    /// By channel: the local numbers of the channels that it leads on to.
    ahead: Vec<u64>,
    /// By channel: the local numbers, of the other direction, of the channels that lead on to it.
    behind: Vec<u64>,
    /// By channel: the refused dependencies, as in `ahead`.
    refused: Vec<u64>,
    /// By channel: its position; every dependency leads to a higher one.
    place: Vec<u32>,
    /// By channel: the last search that visited it; each search takes two numbers, one for each direction.
    seen: Vec<u64>,
    search: u64,
    below: Vec<u32>,
    above: Vec<u32>,
    moved: Vec<Moved>,
    places: Vec<u32>,
}

/// A channel that moves, and its old position, which takes the upper half of the word: sorting compares one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moved(u64);

impl Moved {
    #[inline]
    fn new(place: u32, channel: u32) -> Moved {
        Moved(u64::from(place) << 32 | u64::from(channel))
    }

    #[inline]
    fn place(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    fn channel(self) -> u32 {
        self.0 as u32
    }
}

/// The position of a bit.
struct Bit {
    word: usize,
    mask: u64,
}

/// By channel: its initial position.
fn places(net: &FlatGraph, order: &[u32]) -> Vec<u32> {
    let mut rank = vec![order.len(); net.rows()];
    order.iter().enumerate().for_each(|(at, &row)| rank[row as usize] = at);
    let key = |at: &u32| {
        let channel = net.channel(*at);
        let (from, to) = (rank[channel.from as usize], rank[channel.to as usize]);
        // Towards the front the farthest rows come first, away from it the nearest: the order in which an up*/down*
        // path takes its channels.
        if to < from { order.len() - from } else { order.len() + to }
    };
    let mut channels: Vec<u32> = (0..net.channels().len() as u32).collect();
    channels.sort_by_key(key);
    let mut place = vec![0; channels.len()];
    channels.iter().zip(0..).for_each(|(&channel, at)| place[channel as usize] = at);
    place
}

impl Acyclic {
    /// No dependencies yet. `order` lists rows in the order of up*/down*, the root first. Channels towards its front
    /// start before channels away from it, so that turns legal there are admitted without a search. The order affects
    /// only speed.
    pub fn new(net: &FlatGraph, order: &[u32]) -> Acyclic {
        let (channels, words) = (net.channels().len(), net.most_degree().div_ceil(64));
        Acyclic {
            words,
            ahead: vec![0; channels * words],
            behind: vec![0; channels * words],
            refused: vec![0; channels * words],
            place: places(net, order),
            seen: vec![0; channels],
            search: 0,
            below: Vec::new(),
            above: Vec::new(),
            moved: Vec::new(),
            places: Vec::new(),
        }
    }

    #[inline]
    fn bit(&self, channel: u32, local: u8) -> Bit {
        Bit { word: channel as usize * self.words + usize::from(local >> 6), mask: 1 << (local & 63) }
    }

    /// Returns whether a dependency is present.
    pub fn has(&self, net: &FlatGraph, before: u32, after: u32) -> bool {
        let bit = self.bit(before, net.channel(after).local);
        self.ahead[bit.word] & bit.mask != 0
    }

    /// Returns whether a dependency was refused.
    pub fn refuses(&self, net: &FlatGraph, before: u32, after: u32) -> bool {
        let bit = self.bit(before, net.channel(after).local);
        self.refused[bit.word] & bit.mask != 0
    }

    /// Adds a dependency, unless it would close a cycle. Returns whether it is present.
    pub fn admit(&mut self, net: &FlatGraph, before: u32, after: u32) -> bool {
        let (here, there) = self.ends(net, before, after);
        if self.ahead[here.word] & here.mask != 0 {
            return true;
        }
        if self.refused[here.word] & here.mask != 0 {
            return false;
        }
        // If positions already ascend, nothing leads back from `after` to `before`, and no search is needed.
        if self.place[before as usize] > self.place[after as usize] && !self.reorder(net, before, after) {
            self.refused[here.word] |= here.mask;
            return false;
        }
        self.ahead[here.word] |= here.mask;
        self.behind[there.word] |= there.mask;
        true
    }

    /// Removes a dependency. Refusals that it caused remain.
    pub fn dismiss(&mut self, net: &FlatGraph, before: u32, after: u32) {
        let (here, there) = self.ends(net, before, after);
        self.ahead[here.word] &= !here.mask;
        self.behind[there.word] &= !there.mask;
    }

    /// Forgets that a dependency was refused.
    pub fn forgive(&mut self, net: &FlatGraph, before: u32, after: u32) {
        let bit = self.bit(before, net.channel(after).local);
        self.refused[bit.word] &= !bit.mask;
    }

    #[inline]
    fn ends(&self, net: &FlatGraph, before: u32, after: u32) -> (Bit, Bit) {
        let back = net.channel(net.channel(before).back);
        (self.bit(before, net.channel(after).local), self.bit(after, back.local))
    }

    /// Moves channels so that `before` comes below `after`; false, with nothing moved, if a cycle forbids it.
    fn reorder(&mut self, net: &FlatGraph, before: u32, after: u32) -> bool {
        if !self.collect(net, before, after) {
            return false;
        }
        let moved = |&channel: &u32| Moved::new(self.place[channel as usize], channel);
        self.moved.clear();
        self.moved.extend(self.below.iter().chain(&self.above).map(moved));
        let (below, above) = self.moved.split_at_mut(self.below.len());
        below.sort_unstable();
        above.sort_unstable();
        // The two sets share their old positions: first the channels that lead to `before`, then those that `after`
        // leads to, each in its old order. No other channel moves, so no other dependency is reversed.
        self.places.clear();
        self.places.extend(self.moved.iter().map(|moved| moved.place()));
        // Two ascending runs, which a stable sort merges.
        self.places.sort();
        let moved = self.moved.iter().zip(&self.places);
        moved.for_each(|(moved, &place)| self.place[moved.channel() as usize] = place);
        true
    }

    /// Collects the channels that `after` leads to and those that lead to `before`, as far as their positions lie
    /// between the two; false if the searches meet. They alternate, the one with less work first, so that they meet
    /// early.
    fn collect(&mut self, net: &FlatGraph, before: u32, after: u32) -> bool {
        // Fresh marks instead of a cleared array: a search often visits only a handful of channels.
        self.search += 2;
        let (low, high) = (self.place[after as usize], self.place[before as usize]);
        let mut above = std::mem::take(&mut self.above);
        let mut below = std::mem::take(&mut self.below);
        above.clear();
        below.clear();
        above.push(after);
        below.push(before);
        self.seen[after as usize] = self.search;
        self.seen[before as usize] = self.search + 1;
        let (mut next_above, mut next_below) = (0, 0);
        // Reordering needs both sets in full, so the searches end early only if they meet.
        let apart = loop {
            let (ahead, behind) = (above.len() - next_above, below.len() - next_below);
            let met = match (ahead, behind) {
                (0, 0) => break true,
                (ahead, behind) if behind == 0 || (ahead > 0 && ahead <= behind) => {
                    next_above += 1;
                    self.look_ahead(net, above[next_above - 1], high, &mut above)
                }
                _ => {
                    next_below += 1;
                    self.look_behind(net, below[next_below - 1], low, &mut below)
                }
            };
            if met {
                break false;
            }
        };
        (self.above, self.below) = (above, below);
        apart
    }

    /// Adds the successors of a channel; true if the other search was there.
    fn look_ahead(&mut self, net: &FlatGraph, channel: u32, high: u32, above: &mut Vec<u32>) -> bool {
        let first = net.out(net.channel(channel).to as usize).start;
        for word in 0..self.words {
            let mut bits = self.ahead[channel as usize * self.words + word];
            while bits != 0 {
                let ahead = first + (word * 64) as u32 + bits.trailing_zeros();
                bits &= bits - 1;
                let seen = &mut self.seen[ahead as usize];
                if *seen == self.search + 1 {
                    return true;
                }
                // Every dependency leads to a higher position: from `high` on nothing leads to `before`.
                if *seen != self.search && self.place[ahead as usize] < high {
                    *seen = self.search;
                    above.push(ahead);
                }
            }
        }
        false
    }

    /// Adds the predecessors of a channel; true if the other search was there.
    fn look_behind(&mut self, net: &FlatGraph, channel: u32, low: u32, below: &mut Vec<u32>) -> bool {
        let first = net.out(net.channel(channel).from as usize).start;
        for word in 0..self.words {
            let mut bits = self.behind[channel as usize * self.words + word];
            while bits != 0 {
                let behind = net.channel(first + (word * 64) as u32 + bits.trailing_zeros()).back;
                bits &= bits - 1;
                let seen = &mut self.seen[behind as usize];
                if *seen == self.search {
                    return true;
                }
                if *seen != self.search + 1 && self.place[behind as usize] > low {
                    *seen = self.search + 1;
                    below.push(behind);
                }
            }
        }
        false
    }
}
