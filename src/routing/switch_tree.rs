//! The spanning tree along which engines with layers reach switches.
//!
//! A switch has one LID, on layer 0, and only management uses it. Shortest ways between switches without hosts turn up
//! again after going down even in a fat tree, and would cost a layer that data does not need; along one tree all
//! dependencies are acyclic by themselves. The tree grows from a switch with hosts: in a fat tree, ways then turn up
//! only at the neighbours of that leaf, which agrees with all ways of data.

use super::acyclic::Acyclic;
use super::flat_graph::{Channel, FlatGraph, NONE};
use std::collections::VecDeque;

/// A spanning tree of the part that its root is in.
pub(super) struct SwitchTree {
    /// By row: the channel towards the root, [`NONE`] at the root and outside its part.
    up: Vec<u32>,
    /// By row: its place in a walk that passes every row before those below it.
    place: Vec<u32>,
    /// By row: the place after the last row below it.
    end: Vec<u32>,
    /// Rows, nearest the root first.
    order: Vec<u32>,
    /// Rows by place.
    order_by_place: Vec<u32>,
}

impl SwitchTree {
    /// The tree of fewest hops from a root.
    pub fn from(net: &FlatGraph, root: usize) -> SwitchTree {
        SwitchTree::of_fewest_hops(net, root).numbered(net)
    }

    /// The same, of which nothing is known yet but its channels: see [`numbered`](Self::numbered).
    pub fn of_fewest_hops(net: &FlatGraph, root: usize) -> SwitchTree {
        let mut tree = SwitchTree::rooted(net, root);
        let mut next = 0;
        while let Some(&row) = tree.order.get(next) {
            next += 1;
            for channel in net.leaving(row as usize) {
                if !tree.spans(channel.to as usize) {
                    tree.up[channel.to as usize] = channel.back;
                    tree.order.push(channel.to);
                }
            }
        }
        tree
    }

    /// The tree, with which rows are below which.
    #[must_use]
    pub fn numbered(mut self, net: &FlatGraph) -> SwitchTree {
        self.number(net);
        self
    }

    /// A tree that grows channel by channel, each of which agrees with `dependencies`, to which it adds its own.
    /// `leads_up` says which channels turn a way up: two of them at one row come last, since a way over both turns up
    /// again after going down. None, and nothing added, if some row of the part of the root joins by no channel.
    pub fn agreeing(
        net: &FlatGraph,
        root: usize,
        dependencies: &mut Acyclic,
        leads_up: impl Fn(u32) -> bool,
    ) -> Option<SwitchTree> {
        let mut tree = SwitchTree::rooted(net, root);
        let mut added = Vec::new();
        let (mut rows, mut last) = (VecDeque::from([root]), VecDeque::new());
        loop {
            let (channels, may_turn) = match rows.pop_front() {
                Some(row) => (net.out(row), false),
                None => match last.pop_front() {
                    Some(channel) => (channel..channel + 1, true),
                    None => break,
                },
            };
            for channel in channels {
                let (from, to) = (net.channel(channel).from as usize, net.channel(channel).to as usize);
                if tree.spans(to) {
                    continue;
                }
                if !may_turn && leads_up(channel) && tree.channels_at(net, from).any(&leads_up) {
                    last.push_back(channel);
                } else if tree.join(net, channel, dependencies, &mut added) {
                    rows.push_back(to);
                }
            }
        }
        if tree.order.len() < SwitchTree::of_fewest_hops(net, root).order.len() {
            added.iter().for_each(|&(before, after)| dependencies.dismiss(net, before, after));
            return None;
        }
        Some(tree.numbered(net))
    }

    fn rooted(net: &FlatGraph, root: usize) -> SwitchTree {
        let rows = net.rows();
        SwitchTree {
            up: vec![NONE; rows],
            place: vec![NONE; rows],
            end: vec![0; rows],
            order: vec![root as u32],
            order_by_place: Vec::new(),
        }
    }

    fn spans(&self, row: usize) -> bool {
        self.up[row] != NONE || self.order[0] as usize == row
    }

    /// The channels of the tree out of a row.
    fn channels_at(&self, net: &FlatGraph, row: usize) -> impl Iterator<Item = u32> {
        self.children(net, row).map(|(channel, _)| channel).chain(self.up(row))
    }

    /// Adds the row that a channel leads to, if all that follows agrees. Returns whether it did.
    fn join(&mut self, net: &FlatGraph, channel: u32, dependencies: &mut Acyclic, added: &mut Vec<(u32, u32)>) -> bool {
        let Channel { from, to, back, .. } = net.channel(channel);
        let start = added.len();
        let both = |other: u32| [(net.channel(other).back, channel), (back, other)];
        let agrees = self.channels_at(net, from as usize).flat_map(both).all(|(before, after)| {
            added.extend((!dependencies.has(net, before, after)).then_some((before, after)));
            dependencies.admit(net, before, after)
        });
        if agrees {
            self.up[to as usize] = back;
            self.order.push(to);
            return true;
        }
        for (before, after) in added.drain(start..) {
            dependencies.dismiss(net, before, after);
            dependencies.forgive(net, before, after);
        }
        false
    }

    fn number(&mut self, net: &FlatGraph) {
        let mut size = vec![1; self.up.len()];
        for &row in self.order[1..].iter().rev() {
            size[net.channel(self.up[row as usize]).to as usize] += size[row as usize];
        }
        // Parents before children, each child with a range of its own inside its parent's: the rows below a row are one
        // range of places, which `next` fills at once.
        let mut free = vec![0; self.up.len()];
        for &row in &self.order {
            let row = row as usize;
            let place = match self.up[row] {
                NONE => 0,
                up => {
                    let above = net.channel(up).to as usize;
                    free[above] += size[row];
                    free[above] - size[row]
                }
            };
            (self.place[row], self.end[row], free[row]) = (place, place + size[row], place + 1);
        }
        self.order_by_place = self.order.clone();
        self.order_by_place.sort_unstable_by_key(|&row| self.place[row as usize]);
    }

    /// Rows of the part, nearest the root first.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The first channel from every row towards one: [`NONE`] from itself and outside the part.
    pub fn towards(&self, net: &FlatGraph, target: usize) -> Vec<u32> {
        let mut next = self.up.clone();
        let mut row = target;
        while let Some(up) = self.up(row) {
            row = net.channel(up).to as usize;
            next[row] = net.channel(up).back;
        }
        next[target] = NONE;
        next
    }

    /// The channel towards the root.
    fn up(&self, row: usize) -> Option<u32> {
        Some(self.up[row]).filter(|&channel| channel != NONE)
    }

    /// The first channel from a row towards every other row: [`NONE`] to itself and outside the part.
    pub fn next(&self, net: &FlatGraph, row: usize) -> Vec<u32> {
        let mut next = vec![NONE; self.up.len()];
        if self.place[row] == NONE {
            return next;
        }
        self.order.iter().for_each(|&other| next[other as usize] = self.up[row]);
        for (channel, child) in self.children(net, row) {
            let below = self.order_by_place[self.place[child] as usize..self.end[child] as usize].iter();
            below.for_each(|&other| next[other as usize] = channel);
        }
        next[row] = NONE;
        next
    }

    /// The rows right below one, and the channels that lead there.
    fn children(&self, net: &FlatGraph, row: usize) -> impl Iterator<Item = (u32, usize)> {
        let out = net.out(row).zip(net.leaving(row));
        let below = out.filter(|(_, channel)| self.up[channel.to as usize] == channel.back);
        below.map(|(at, channel)| (at, channel.to as usize))
    }

    /// Every dependency of the ways along the tree, from anywhere to all rows, found as they are asked for.
    pub fn all_dependencies(&self, net: &FlatGraph) -> impl Iterator<Item = (u32, u32)> {
        let at = |row: &u32| -> Vec<u32> { self.channels_at(net, *row as usize).collect() };
        self.order.iter().map(at).flat_map(|channels| every_two(net, &channels).collect::<Vec<_>>())
    }

    /// By row: the channels of the tree out of it that `leads_up` chooses, where there are several.
    pub fn turning(&self, net: &FlatGraph, leads_up: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
        let both = |row: &u32| [self.up[*row as usize], net.channel(self.up[*row as usize]).back];
        let mut chosen: Vec<(u32, u32)> = self.order[1..]
            .iter()
            .flat_map(both)
            .filter(|&at| leads_up(at))
            .map(|at| (net.channel(at).from, at))
            .collect();
        chosen.sort_unstable();
        let several = chosen.chunk_by(|a, b| a.0 == b.0).filter(|channels| channels.len() > 1);
        several.map(|channels| channels.iter().map(|&(_, at)| at).collect()).collect()
    }

    /// Every dependency of the ways along the tree, from anywhere to the wanted rows.
    pub fn dependencies(&self, net: &FlatGraph, wanted: &[bool]) -> Vec<(u32, u32)> {
        let mut below: Vec<u32> = wanted.iter().map(|&wanted| wanted.into()).collect();
        for &row in self.order[1..].iter().rev() {
            below[net.channel(self.up[row as usize]).to as usize] += below[row as usize];
        }
        let all = below[self.order[0] as usize];
        let mut dependencies = Vec::new();
        for row in self.order.iter().map(|&row| row as usize) {
            let down: Vec<(u32, usize)> = self.children(net, row).collect();
            let up = self.up(row).into_iter();
            let before = down.iter().map(|&(channel, _)| channel).chain(up.clone()).map(|out| net.channel(out).back);
            // A row is passed downwards only if a wanted row is below it, upwards only if one is not.
            let leads_down = down.iter().filter(|&&(_, child)| below[child] > 0).map(|&(channel, _)| channel);
            let after: Vec<u32> = leads_down.chain(up.filter(|_| all > below[row])).collect();
            for before in before {
                let onward = after.iter().filter(|&&after| net.channel(after).back != before);
                dependencies.extend(onward.map(|&after| (before, after)));
            }
        }
        dependencies
    }
}

/// The dependencies of ways that come by one of some channels out of a row, backwards, and leave by another one.
pub(super) fn every_two<'c>(net: &'c FlatGraph, channels: &'c [u32]) -> impl Iterator<Item = (u32, u32)> + 'c {
    let from = |&out: &'c u32| channels.iter().filter(move |&&after| after != out).map(move |&after| (out, after));
    channels.iter().flat_map(from).map(|(out, after)| (net.channel(out).back, after))
}
