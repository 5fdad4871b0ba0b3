//! Weights of channels for spreading load: the ways on a channel so far, and above all whether an earlier path to the
//! same destination took it.
//!
//! If there are several paths to each destination, those with one number form a *class*: the paths of all sources that
//! use the first LID of a half, and so on. Each class must be spread by itself, since sources may use it alone, and so
//! must all classes together, since sources may use all.

use super::flat_graph::{FlatGraph, NONE};

/// Outweighs any load on a way: loads count pairs of ports by their paths, of which there are fewer than 2^40.
const EARLIER_PATH: u64 = 1 << 40;

/// Weights of channels.
pub(super) struct Load {
    /// Ways of all classes, and the weight of a channel without any.
    all: Vec<u64>,
    /// By class, the ways of that class alone; empty if there is only one class.
    classes: Vec<Vec<u64>>,
    /// The weight added for earlier paths to the current destination.
    shunned: Vec<u64>,
    /// Channels made heavier for the current destination.
    earlier: Vec<u32>,
    /// The weights of the current class.
    weight: Vec<u64>,
}

impl Load {
    /// Every channel weighs `least` without any load; there will be `paths` paths to each destination.
    pub fn new(net: &FlatGraph, least: u64, paths: usize) -> Load {
        let none = vec![0; net.channels().len()];
        let classes = if paths > 1 { vec![none.clone(); paths] } else { Vec::new() };
        Load { all: vec![least; none.len()], classes, shunned: none.clone(), earlier: Vec::new(), weight: none }
    }

    /// By channel, its weight for the next path of a class: the class counts as much as all classes together.
    pub fn weigh(&mut self, class: usize) -> &[u64] {
        let Load { all, classes, shunned, weight, .. } = self;
        if classes.is_empty() {
            return all;
        }
        let paths = classes.len() as u64;
        for (channel, weight) in weight.iter_mut().enumerate() {
            *weight = all[channel] + paths * classes[class][channel] + shunned[channel];
        }
        weight
    }

    /// Adds ways of a class to a channel.
    pub fn add(&mut self, class: usize, channel: u32, ways: u64) {
        self.all[channel as usize] += ways;
        if let Some(class) = self.classes.get_mut(class) {
            class[channel as usize] += ways;
        }
    }

    /// Adds the ways of a tree of a class: `sent` by row is the traffic that enters there. `order` has every row before
    /// those that send through it.
    pub fn add_tree(&mut self, class: usize, net: &FlatGraph, order: &[u32], next: &[u32], sent: &[u64]) {
        let mut passing = sent.to_vec();
        for &row in order.iter().rev() {
            let channel = next[row as usize];
            if channel != NONE {
                self.add(class, channel, passing[row as usize]);
                passing[net.channel(channel).to as usize] += passing[row as usize];
            }
        }
    }

    /// Makes later paths to the current destination avoid the channels of this tree.
    pub fn shun(&mut self, next: &[u32]) {
        for channel in next.iter().copied().filter(|&channel| channel != NONE) {
            self.earlier.push(channel);
            self.shunned[channel as usize] += EARLIER_PATH;
        }
    }

    /// Ends a destination: no channel is avoided any more.
    pub fn release(&mut self) {
        let Load { shunned, earlier, .. } = self;
        earlier.drain(..).for_each(|channel| shunned[channel as usize] = 0);
    }
}
