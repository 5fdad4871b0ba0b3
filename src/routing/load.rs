//! What ways weigh, so that load is spread: the ways that pass a channel so far, and above all whether an earlier path
//! to the same destination took it.

use super::net::{NONE, Net};

/// What outweighs any load on a way: loads count pairs of ports, of which there are less than 2^40.
const EARLIER_PATH: u64 = 1 << 40;

/// Weights of channels.
pub(super) struct Load {
    weight: Vec<u64>,
    /// Channels made heavier for the destination in hand.
    earlier: Vec<u32>,
}

impl Load {
    /// Every channel weighs `least` without any load.
    pub fn new(net: &Net, least: u64) -> Load {
        Load { weight: vec![least; net.channels().len()], earlier: Vec::new() }
    }

    pub fn weights(&self) -> &[u64] {
        &self.weight
    }

    pub fn add(&mut self, channel: u32, ways: u64) {
        self.weight[channel as usize] += ways;
    }

    /// Adds the ways of a tree: `sent` by row is what enters it there. `order` has every row before those that send
    /// through it. Returns by row what passes it.
    pub fn add_tree(&mut self, net: &Net, order: &[u32], next: &[u32], sent: &[u64]) {
        let mut passing = sent.to_vec();
        for &row in order.iter().rev() {
            let channel = next[row as usize];
            if channel != NONE {
                self.add(channel, passing[row as usize]);
                passing[net.channel(channel).to as usize] += passing[row as usize];
            }
        }
    }

    /// Makes later paths to the destination in hand shun the channels of this tree.
    pub fn shun(&mut self, next: &[u32]) {
        let taken = next.iter().copied().filter(|&channel| channel != NONE);
        self.earlier.extend(taken);
        let taken = next.iter().filter(|&&channel| channel != NONE);
        taken.for_each(|&channel| self.weight[channel as usize] += EARLIER_PATH);
    }

    /// Ends a destination: no channel is shunned any more.
    pub fn release(&mut self) {
        let Load { weight, earlier } = self;
        earlier.drain(..).for_each(|channel| weight[channel as usize] -= EARLIER_PATH);
    }
}
