//! Lightest ways towards one switch whose every step a layer's dependencies admit before it is taken: Dijkstra's search
//! in the complete channel dependency graph.
//!
//! A row is settled with one channel, so the ways form a tree. If the required dependency would close a cycle, the next
//! candidate is tried. Rows that no candidate reaches are an impasse: a settled neighbour may then change its channel
//! for them (local backtracking); if that does not help, the caller uses the escape tree.

use super::acyclic::Acyclic;
use super::flat_graph::{FlatGraph, NONE};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Scratch space of searches over one net.
pub(super) struct Guarded<'a> {
    net: &'a FlatGraph,
    target: usize,
    /// By row: its channel towards the target, [`NONE`] at the target and where no way was found.
    next: Vec<u32>,
    settled: Vec<bool>,
    cost: Vec<u64>,
    /// By row: the cost of the best candidate that cannot be refused.
    sure: Vec<u64>,
    /// Settled rows in the order of settling.
    order: Vec<u32>,
    candidates: BinaryHeap<Reverse<(u64, u32)>>,
    /// Dependencies that this search added.
    admitted: Vec<(u32, u32)>,
    /// Dependencies that were refused in this search.
    refused: Vec<(u32, u32)>,
}

impl<'a> Guarded<'a> {
    pub fn new(net: &'a FlatGraph) -> Guarded<'a> {
        let rows = net.rows();
        Guarded {
            net,
            target: 0,
            next: vec![NONE; rows],
            settled: vec![false; rows],
            cost: vec![0; rows],
            sure: vec![u64::MAX; rows],
            order: Vec::with_capacity(rows),
            candidates: BinaryHeap::new(),
            admitted: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// By row: its channel towards the target.
    pub fn next(&self) -> &[u32] {
        &self.next
    }

    /// Searches ways from every row of `part` towards `target`; `weight` is by channel. False, with the layer
    /// unchanged, if there is an impasse.
    pub fn search(&mut self, layer: &mut Acyclic, weight: &[u64], target: usize, part: &[u32]) -> bool {
        self.begin(target);
        self.settle(layer, weight, target, NONE, 0);
        self.expand(layer, weight);
        while self.order.len() < part.len() {
            if !self.backtrack(layer, weight, part) {
                self.undo(layer);
                return false;
            }
            self.expand(layer, weight);
        }
        true
    }

    fn begin(&mut self, target: usize) {
        self.target = target;
        self.next.fill(NONE);
        self.settled.fill(false);
        self.sure.fill(u64::MAX);
        self.order.clear();
        self.candidates.clear();
        self.admitted.clear();
        self.refused.clear();
    }

    /// Settles rows, the lightest candidate first, until none is left.
    fn expand(&mut self, layer: &mut Acyclic, weight: &[u64]) {
        while let Some(Reverse((cost, channel))) = self.candidates.pop() {
            let (from, to) = self.ends(channel);
            // A channel into the target leads on to an end port, which waits for no other channel.
            if !self.settled[from] && (to == self.target || self.admit(layer, channel, self.next[to])) {
                self.settle(layer, weight, from, channel, cost);
            }
        }
    }

    fn ends(&self, channel: u32) -> (usize, usize) {
        let channel = self.net.channel(channel);
        (channel.from as usize, channel.to as usize)
    }

    fn admit(&mut self, layer: &mut Acyclic, before: u32, after: u32) -> bool {
        let known = layer.has(self.net, before, after);
        let admitted = known || layer.admit(self.net, before, after);
        match (known, admitted) {
            (false, true) => self.admitted.push((before, after)),
            (_, false) => self.refused.push((before, after)),
            (true, _) => {}
        }
        admitted
    }

    fn settle(&mut self, layer: &Acyclic, weight: &[u64], row: usize, channel: u32, cost: u64) {
        (self.settled[row], self.next[row], self.cost[row]) = (true, channel, cost);
        self.order.push(row as u32);
        for arriving in self.net.leaving(row).iter().map(|leaving| leaving.back) {
            let from = self.net.channel(arriving).from as usize;
            let sum = cost.saturating_add(weight[arriving as usize]);
            if self.settled[from] || sum >= self.sure[from] {
                continue;
            }
            // A candidate whose dependency already exists cannot be refused later, so no dearer candidate for the row
            // is needed.
            let sure = row == self.target || layer.has(self.net, arriving, channel);
            if sure {
                self.sure[from] = sum;
            } else if layer.refuses(self.net, arriving, channel) {
                continue;
            }
            self.candidates.push(Reverse((sum, arriving)));
        }
    }

    /// Settles one row that no candidate reached, by changing a neighbour's channel; false if none can change.
    fn backtrack(&mut self, layer: &mut Acyclic, weight: &[u64], part: &[u32]) -> bool {
        for row in part.iter().map(|&row| row as usize) {
            if self.settled[row] {
                continue;
            }
            for channel in self.net.out(row) {
                let neighbour = self.ends(channel).1;
                if self.settled[neighbour] && self.redirect(layer, neighbour, channel) {
                    // The neighbour keeps the cost of its old way. Costs order candidates; they prove nothing.
                    let cost = self.cost[neighbour].saturating_add(weight[channel as usize]);
                    self.settle(layer, weight, row, channel, cost);
                    return true;
                }
            }
        }
        false
    }

    /// Gives a settled row another channel, onto which `arriving` and all channels that already arrive may continue.
    fn redirect(&mut self, layer: &mut Acyclic, row: usize, arriving: u32) -> bool {
        let net = self.net;
        // Channels into this row continue on its new channel, so each needs a dependency on that one. Dependencies on
        // the old channel stay in the layer: they forbid more than necessary, but other ways may need them.
        let through = net.leaving(row).iter().map(|leaving| leaving.back);
        let through = through.filter(|&channel| self.next[self.ends(channel).0] == channel);
        let arrivals: Vec<u32> = through.chain([arriving]).collect();
        for other in net.out(row) {
            let beyond = self.ends(other).1;
            // A neighbour whose own way passes this row would send back to it.
            if other == self.next[row] || !self.settled[beyond] || self.leads_through(beyond, row) {
                continue;
            }
            let onward = (beyond != self.target).then(|| (other, self.next[beyond]));
            let wanted: Vec<(u32, u32)> = arrivals.iter().map(|&before| (before, other)).chain(onward).collect();
            if self.admit_all(layer, &wanted) {
                self.next[row] = other;
                return true;
            }
        }
        false
    }

    /// Returns whether the way from a settled row passes another.
    fn leads_through(&self, start: usize, row: usize) -> bool {
        let mut at = start;
        while at != row && self.next[at] != NONE {
            at = self.ends(self.next[at]).1;
        }
        at == row
    }

    /// Admits all of these dependencies or none.
    fn admit_all(&mut self, layer: &mut Acyclic, wanted: &[(u32, u32)]) -> bool {
        let (admitted, refused) = (self.admitted.len(), self.refused.len());
        let all = wanted.iter().all(|&(before, after)| self.admit(layer, before, after));
        if !all {
            // The refusal may be due to dependencies that are removed again.
            let fresh = self.admitted.len() > admitted;
            self.admitted.drain(admitted..).for_each(|(before, after)| layer.dismiss(self.net, before, after));
            if fresh {
                self.refused.drain(refused..).for_each(|(before, after)| layer.forgive(self.net, before, after));
            }
        }
        all
    }

    /// Restores the layer to its state before the search.
    fn undo(&mut self, layer: &mut Acyclic) {
        self.admitted.drain(..).for_each(|(before, after)| layer.dismiss(self.net, before, after));
        self.refused.drain(..).for_each(|(before, after)| layer.forgive(self.net, before, after));
    }
}
