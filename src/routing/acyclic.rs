//! The dependencies of one layer, kept free of cycles as they come: the online topological order of Pearce and Kelly
//! (ACM JEA 11, 2006) over flat bit sets.
//!
//! A dependency once refused stays refused as long as none is taken out, so refusals are remembered: every dependency
//! is searched for at most once, whatever the number of paths that want it.

use super::flat_graph::FlatGraph;

/// Dependencies between the channels of a [`FlatGraph`].
pub(super) struct Acyclic {
    /// Words of a set: out of a row, by local number, or into it, by local number of the other direction.
    words: usize,
    /// By channel: the local numbers of the channels that it leads on to.
    ahead: Vec<u64>,
    /// By channel: the local numbers, of the other direction, of the channels that lead on to it.
    behind: Vec<u64>,
    /// By channel: what is refused, as `ahead`.
    refused: Vec<u64>,
    /// By channel: its place; every dependency leads to a higher one.
    place: Vec<u32>,
    /// By channel: the search that saw it last; each takes two numbers, one for what leads ahead, one for what lies
    /// behind.
    seen: Vec<u64>,
    search: u64,
    below: Vec<u32>,
    above: Vec<u32>,
    places: Vec<u32>,
}

/// The position of a bit.
struct Bit {
    word: usize,
    mask: u64,
}

/// By channel: its place to begin with.
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
    /// No dependencies yet. `order` lists rows as up*/down* would, the root first: channels begin in an order in which
    /// all that lead towards the front of it come before all that lead away, so that what is legal there is admitted at
    /// once. It is a matter of speed only.
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
            places: Vec::new(),
        }
    }

    fn bit(&self, channel: u32, local: u8) -> Bit {
        Bit { word: channel as usize * self.words + usize::from(local >> 6), mask: 1 << (local & 63) }
    }

    /// Whether a dependency is in.
    pub fn has(&self, net: &FlatGraph, before: u32, after: u32) -> bool {
        let bit = self.bit(before, net.channel(after).local);
        self.ahead[bit.word] & bit.mask != 0
    }

    /// Whether a dependency was refused.
    pub fn refuses(&self, net: &FlatGraph, before: u32, after: u32) -> bool {
        let bit = self.bit(before, net.channel(after).local);
        self.refused[bit.word] & bit.mask != 0
    }

    /// Takes a dependency in, unless it would close a cycle; whether it is in then.
    pub fn admit(&mut self, net: &FlatGraph, before: u32, after: u32) -> bool {
        let (here, there) = self.ends(net, before, after);
        if self.ahead[here.word] & here.mask != 0 {
            return true;
        }
        if self.refused[here.word] & here.mask != 0 {
            return false;
        }
        // Where places rise already, nothing leads back from `after` to `before`, and there is nothing to search.
        if self.place[before as usize] > self.place[after as usize] && !self.reorder(net, before, after) {
            self.refused[here.word] |= here.mask;
            return false;
        }
        self.ahead[here.word] |= here.mask;
        self.behind[there.word] |= there.mask;
        true
    }

    /// Takes a dependency out. What was refused for its sake stays so.
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

    fn ends(&self, net: &FlatGraph, before: u32, after: u32) -> (Bit, Bit) {
        let back = net.channel(net.channel(before).back);
        (self.bit(before, net.channel(after).local), self.bit(after, back.local))
    }

    /// Moves channels so that `before` comes below `after`; false, and nothing moved, where a cycle forbids it.
    fn reorder(&mut self, net: &FlatGraph, before: u32, after: u32) -> bool {
        if !self.collect(net, before, after) {
            return false;
        }
        let place = &self.place;
        self.above.sort_unstable_by_key(|&channel| place[channel as usize]);
        self.below.sort_unstable_by_key(|&channel| place[channel as usize]);
        // The two sets take the places that they held together, first what leads to `before`, then what `after`
        // leads to, each in its old order. No other channel moves, so no other dependency can be turned round.
        self.places.clear();
        self.places.extend(self.below.iter().chain(&self.above).map(|&channel| place[channel as usize]));
        self.places.sort_unstable();
        let moved = self.below.iter().chain(&self.above);
        moved.zip(&self.places).for_each(|(&channel, &place)| self.place[channel as usize] = place);
        true
    }

    /// Collects what `after` leads to and what leads to `before`, as far as their places lie between the two; false
    /// where the searches meet. They go on in turn, the one with less to do first: where they meet they do so early.
    fn collect(&mut self, net: &FlatGraph, before: u32, after: u32) -> bool {
        // Fresh marks instead of a cleared array: a search often sees a handful of channels.
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
        // Both sets are needed in full to reorder, so the searches end early only where they meet.
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

    /// Adds what a channel leads on to; true where the other search was there.
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
                // Every dependency leads to a higher place: from `high` on nothing leads to `before` any more.
                if *seen != self.search && self.place[ahead as usize] < high {
                    *seen = self.search;
                    above.push(ahead);
                }
            }
        }
        false
    }

    /// Adds what leads on to a channel; true where the other search was there.
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
