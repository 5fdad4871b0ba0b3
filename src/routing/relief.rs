//! Relief of busy channels in a tree of levels: some ways that pass them go by others, which are as short.
//!
//! Loads count pairs of end ports, each of which sends to every other. A channel's *share* is the mean over the
//! channels that join the same two levels in the same direction, or what an end port's own link carries if that is
//! more: less is no bottleneck. A channel is *busy* with over a twentieth more than its share. Where a way passes a
//! busy channel, one row's choice for one destination changes at a time, that of rows near the destination first, if
//! the sum over channels of the squares of what exceeds shares gets less by it. So a tree whose channels are even stays
//! as it is.

use super::flat_graph::{FlatGraph, NONE};
use std::collections::BTreeMap;

/// The pairs on every channel, and its share.
pub(super) struct Relief<'a> {
    net: &'a FlatGraph,
    /// By row: end ports.
    hosts: Vec<u64>,
    /// By channel.
    load: Vec<u64>,
    /// By channel.
    share: Vec<u64>,
    /// By row: pairs that pass it towards the current destination.
    passing: Vec<u64>,
    /// By row: whether its way towards the current destination may pass a busy channel.
    over: Vec<bool>,
}

impl<'a> Relief<'a> {
    pub fn new(net: &'a FlatGraph, hosts: Vec<u64>) -> Relief<'a> {
        let (channels, rows) = (vec![0; net.channels().len()], hosts.len());
        Relief { net, hosts, load: channels.clone(), share: channels, passing: vec![0; rows], over: vec![false; rows] }
    }

    /// Counts the pairs of a tree. `onward` has every row before those that it may send to.
    pub fn count(&mut self, onward: &[u32], next: &[u32]) {
        self.passing.copy_from_slice(&self.hosts);
        for &row in onward {
            let (pairs, channel) = (self.passing[row as usize], next[row as usize]);
            if pairs > 0 && channel != NONE {
                self.load[channel as usize] += pairs;
                self.passing[self.net.channel(channel).to as usize] += pairs;
            }
        }
    }

    /// Finds every channel's share of what was counted, by the level of its rows.
    pub fn share(&mut self, level: &[u32]) {
        let levels = |at: usize| {
            let channel = self.net.channels()[at];
            [channel.from, channel.to].map(|row| level[row as usize])
        };
        let mut sums = BTreeMap::<[u32; 2], (u64, u64)>::new();
        for at in 0..self.load.len() {
            let sum = sums.entry(levels(at)).or_default();
            *sum = (sum.0 + self.load[at], sum.1 + 1);
        }
        let own = self.hosts.iter().sum::<u64>().saturating_sub(1);
        let share = |at| {
            let (sum, count) = sums[&levels(at)];
            own.max(sum / count)
        };
        self.share = (0..self.load.len()).map(share).collect();
    }

    /// Whether any channel has over a quarter more than its share. Below that choices stay as they are, whose
    /// advantage is that a loss moves few of them.
    pub fn is_uneven(&self) -> bool {
        self.load.iter().zip(&self.share).any(|(load, share)| 4 * load > 5 * share)
    }

    /// The busy channels.
    pub fn busy(&self) -> Vec<u32> {
        (0..self.load.len() as u32).filter(|&channel| self.is_busy(channel)).collect()
    }

    pub fn is_busy(&self, channel: u32) -> bool {
        20 * self.load[channel as usize] > 21 * self.share[channel as usize]
    }

    /// By how much `pairs` more, or fewer, on a channel add to the sum of squares.
    fn cost(&self, channel: u32, pairs: i64) -> i128 {
        let (load, share) = (self.load[channel as usize] as i64, self.share[channel as usize] as i64);
        let square = |load: i64| i128::from((load - share).max(0)).pow(2);
        square(load + pairs) - square(load)
    }

    /// Changes choices along a counted tree; `choices` are the channels that serve a row as well as its own. `turn`
    /// learns by how many places a row's choice moves on.
    pub fn relieve<'b>(
        &mut self,
        onward: &[u32],
        next: &mut [u32],
        choices: impl Fn(u32) -> &'b [u32],
        mut turn: impl FnMut(u32, usize),
    ) {
        self.pass(onward, next);
        self.over.fill(false);
        for &row in onward.iter().rev() {
            let (pairs, choices, channel) = (self.passing[row as usize] as i64, choices(row), next[row as usize]);
            if channel == NONE {
                continue;
            }
            self.over[row as usize] = self.is_busy(channel) || self.over[self.net.channel(channel).to as usize];
            if !self.over[row as usize] || pairs == 0 || choices.len() < 2 {
                continue;
            }
            let way = self.way(next, channel);
            // Rows beyond may have moved on since.
            self.over[row as usize] = way.iter().any(|&channel| self.is_busy(channel));
            if !self.over[row as usize] {
                continue;
            }
            let at = choices.iter().position(|&channel| channel == way[0]).expect("a row has one of its choices");
            let other = |places: usize| self.way(next, choices[(at + places) % choices.len()]);
            let cost = |places: usize| {
                let other = other(places);
                let shared = way.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
                let [left, taken] = [&way, &other].map(|way| way[..way.len() - shared].iter());
                left.map(|&channel| self.cost(channel, -pairs))
                    .chain(taken.map(|&channel| self.cost(channel, pairs)))
                    .sum()
            };
            let best = (1..choices.len()).map(|places| (cost(places), places)).min();
            if let Some((..0, places)) = best {
                let other = other(places);
                self.shift(&way, -pairs);
                self.shift(&other, pairs);
                next[row as usize] = other[0];
                turn(row, places);
            }
        }
    }

    /// Finds what passes every row along a tree.
    fn pass(&mut self, onward: &[u32], next: &[u32]) {
        self.passing.copy_from_slice(&self.hosts);
        for &row in onward.iter().filter(|&&row| next[row as usize] != NONE) {
            self.passing[self.net.channel(next[row as usize]).to as usize] += self.passing[row as usize];
        }
    }

    /// The channels from one to the end.
    fn way(&self, next: &[u32], first: u32) -> Vec<u32> {
        let beyond = |&channel: &u32| Some(next[self.net.channel(channel).to as usize]).filter(|&next| next != NONE);
        std::iter::successors(Some(first), beyond).collect()
    }

    fn shift(&mut self, way: &[u32], pairs: i64) {
        for &channel in way {
            let loads = [&mut self.load[channel as usize], &mut self.passing[self.net.channel(channel).to as usize]];
            loads.into_iter().for_each(|load| *load = load.checked_add_signed(pairs).expect("they were counted"));
        }
    }
}
