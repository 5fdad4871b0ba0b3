//! Layers by breaking cycles, as DFSSSP does it: all ways on one layer, then those over the weakest dependency of each cycle
//! move one up.
//!
//! A depth-first search over the channels of a layer finds the cycles; when one is broken the search goes on from there, for
//! what it finished cannot close a cycle again: dependencies only leave the layer.

use super::forest::Forest;
use super::net::{NONE, Net};
use super::switch_tree::SwitchTree;

/// What dependencies of the switch tree count: more than all ways together, so that they are never the weakest.
const FIXED: u64 = 1 << 48;

/// How far the search has come with a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Untouched,
    OnStack,
    Finished,
}

/// A channel on the stack of the search.
struct Step {
    channel: u32,
    /// Local number of the next channel to look at.
    next: u32,
}

/// Trees that are being split into layers.
pub(super) struct Layering<'a> {
    net: &'a Net,
    forest: &'a mut Forest,
    /// The layer in hand.
    layer: u8,
    /// By slot: ways on the layer in hand.
    here: Vec<u64>,
    /// By slot: ways on the layer above it.
    above: Vec<u64>,
    marks: Vec<Mark>,
    stack: Vec<Step>,
    /// Rows whose ways are being moved.
    movers: Vec<u32>,
}

impl<'a> Layering<'a> {
    pub fn of(net: &'a Net, switch_tree: &SwitchTree, forest: &'a mut Forest) -> Layering<'a> {
        let (slots, channels) = (net.slots(), net.channels().len());
        let mut here = vec![0; slots];
        for (before, after) in switch_tree.dependencies(net, &vec![true; net.rows()]) {
            here[net.slot(before, after)] = FIXED;
        }
        let marks = vec![Mark::Untouched; channels];
        let (above, stack, movers) = (vec![0; slots], Vec::new(), Vec::new());
        let mut layering = Layering { net, forest, layer: 0, here, above, marks, stack, movers };
        layering.count();
        layering
    }

    /// Counts the ways over each dependency.
    fn count(&mut self) {
        let rows = self.net.rows();
        for tree in 0..self.forest.trees() {
            let next: Vec<u32> =
                (0..rows).map(|row| self.forest.channel(self.net, row, tree).unwrap_or(NONE)).collect();
            let mut waiting = vec![0u32; rows];
            let onward = |row: usize| next[row] != NONE;
            let target = |row: usize| self.net.channel(next[row]).to as usize;
            (0..rows).filter(|&row| onward(row)).for_each(|row| waiting[target(row)] += 1);
            let mut ready: Vec<usize> = (0..rows).filter(|&row| waiting[row] == 0 && onward(row)).collect();
            let mut ways = vec![1u64; rows];
            while let Some(row) = ready.pop() {
                let beyond = target(row);
                if onward(beyond) {
                    self.here[self.net.slot(next[row], next[beyond])] += ways[row];
                    ways[beyond] += ways[row];
                    waiting[beyond] -= 1;
                    if waiting[beyond] == 0 {
                        ready.push(beyond);
                    }
                }
            }
        }
    }

    /// Splits the trees' ways until every layer is free of cycles; how many layers there are then.
    pub fn run(&mut self) -> usize {
        loop {
            self.break_cycles();
            if self.above.iter().all(|&ways| ways == 0) {
                return usize::from(self.layer) + 1;
            }
            std::mem::swap(&mut self.here, &mut self.above);
            self.above.fill(0);
            self.layer += 1;
        }
    }

    fn break_cycles(&mut self) {
        self.marks.fill(Mark::Untouched);
        for channel in 0..self.marks.len() as u32 {
            if self.marks[channel as usize] == Mark::Untouched {
                self.push(channel);
                while !self.stack.is_empty() {
                    self.step();
                }
            }
        }
    }

    fn push(&mut self, channel: u32) {
        self.marks[channel as usize] = Mark::OnStack;
        self.stack.push(Step { channel, next: 0 });
    }

    /// Looks from the top of the stack at one more channel, or takes the top down.
    fn step(&mut self) {
        let Some(top) = self.stack.last_mut() else { return };
        let row = self.net.channel(top.channel).to as usize;
        let (slots, degree) = (self.net.slots_from(top.channel), self.net.degree(row));
        let counts = &self.here[slots + top.next as usize..slots + degree];
        let Some(skipped) = counts.iter().position(|&ways| ways > 0) else {
            self.marks[top.channel as usize] = Mark::Finished;
            self.stack.pop();
            return;
        };
        let local = top.next + skipped as u32;
        let channel = self.net.out(row).start + local;
        top.next = local + 1;
        match self.marks[channel as usize] {
            Mark::Untouched => self.push(channel),
            Mark::Finished => {}
            Mark::OnStack => self.break_cycle(channel),
        }
    }

    /// Breaks the cycle from `start`, which is on the stack, to the top and back to it.
    fn break_cycle(&mut self, start: u32) {
        let from = self.stack.iter().rposition(|step| step.channel == start).unwrap_or(0);
        let cycle = self.stack[from..].iter().map(|step| step.channel);
        let after = cycle.clone().skip(1).chain([start]);
        let weakest = cycle.zip(after).min_by_key(|&(before, after)| self.here[self.net.slot(before, after)]);
        if let Some((before, after)) = weakest {
            self.lift(before, after);
        }
        self.shorten();
    }

    /// Takes down what stands on dependencies that are gone, to be looked at anew.
    fn shorten(&mut self) {
        let gone = |pair: &[Step]| self.here[self.net.slot(pair[0].channel, pair[1].channel)] == 0;
        let kept = self.stack.windows(2).position(gone).map_or(self.stack.len(), |at| at + 1);
        self.stack.drain(kept..).for_each(|step| self.marks[step.channel as usize] = Mark::Untouched);
        // What closed the cycle may still be there, where another of its dependencies was broken.
        if let Some(top) = self.stack.last_mut() {
            top.next = 0;
        }
    }

    /// Moves every way over a dependency one layer up.
    fn lift(&mut self, before: u32, after: u32) {
        let (before, after) = (self.net.channel(before), self.net.channel(after));
        for tree in 0..self.forest.trees() {
            let passes = self.forest.locals(before.from as usize)[tree] == before.local
                && self.forest.locals(after.from as usize)[tree] == after.local;
            if passes {
                self.lift_from(before.from, tree);
            }
        }
    }

    /// Moves every way of a tree that passes a row and is on the layer in hand.
    fn lift_from(&mut self, row: u32, tree: usize) {
        let net = self.net;
        self.movers.clear();
        self.movers.push(row);
        let mut next = 0;
        while let Some(&row) = self.movers.get(next) {
            next += 1;
            let arriving = net.leaving(row as usize).iter().filter(|channel| {
                let local = net.channel(channel.back).local;
                self.forest.locals(channel.to as usize)[tree] == local
            });
            self.movers.extend(arriving.map(|channel| channel.to));
        }
        for at in 0..self.movers.len() {
            let row = self.movers[at] as usize;
            if self.forest.layer(row, tree) == self.layer {
                self.forest.set_layer(row, tree, self.layer + 1);
                self.recount(row, tree);
            }
        }
    }

    /// Counts one way on the layer above in place of the layer in hand.
    fn recount(&mut self, row: usize, tree: usize) {
        let mut last = self.forest.channel(self.net, row, tree);
        while let Some(before) = last {
            last = self.forest.channel(self.net, self.net.channel(before).to as usize, tree);
            if let Some(after) = last {
                let slot = self.net.slot(before, after);
                self.here[slot] -= 1;
                self.above[slot] += 1;
            }
        }
    }
}
