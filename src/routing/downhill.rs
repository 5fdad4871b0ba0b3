//! Ways of fewest hops towards one switch, and the lightest of them.

use super::earlier::Earlier;
use super::flat_graph::{FlatGraph, NONE};

/// Every way of fewest hops towards one row: a graph without cycles, from which trees are chosen.
pub(super) struct Downhill {
    /// By row: hops to the target; `u32::MAX` if there is no way.
    hops: Vec<u32>,
    /// Rows in ascending order of hops, the target first.
    order: Vec<u32>,
    /// By rank in `order`: the end of its choices.
    ends: Vec<u32>,
    /// Channels that lead one hop closer.
    choices: Vec<u32>,
    /// By row: the weight of its way.
    cost: Vec<u64>,
}

/// The measure of a way's weight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CostModel {
    /// Only the first channel's weight.
    FirstChannel,
    /// The sum of all its channels' weights.
    WholeWay,
}

impl Downhill {
    pub fn new(net: &FlatGraph) -> Downhill {
        let rows = net.rows();
        let (order, ends) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let choices = Vec::with_capacity(net.channels().len());
        Downhill { hops: vec![u32::MAX; rows], order, ends, choices, cost: vec![0; rows] }
    }

    /// Finds the ways towards a row.
    pub fn aim(&mut self, net: &FlatGraph, target: usize) {
        self.search(net, target);
        self.choices.clear();
        self.ends.clear();
        for &row in &self.order {
            let nearer = self.hops[row as usize].wrapping_sub(1);
            let out = net.out(row as usize).zip(net.leaving(row as usize));
            let lead = out.filter(|(_, channel)| self.hops[channel.to as usize] == nearer && row != self.order[0]);
            self.choices.extend(lead.map(|(at, _)| at));
            self.ends.push(self.choices.len() as u32);
        }
    }

    fn search(&mut self, net: &FlatGraph, target: usize) {
        self.hops.fill(u32::MAX);
        self.hops[target] = 0;
        self.order.clear();
        self.order.push(target as u32);
        let mut next = 0;
        while let Some(&row) = self.order.get(next) {
            next += 1;
            for channel in net.leaving(row as usize) {
                if self.hops[channel.to as usize] == u32::MAX {
                    self.hops[channel.to as usize] = self.hops[row as usize] + 1;
                    self.order.push(channel.to);
                }
            }
        }
    }

    /// Rows in ascending order of hops, the target first.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Hops from a row; `u32::MAX` if there is no way.
    pub fn hops(&self, row: usize) -> u32 {
        self.hops[row]
    }

    /// The lightest way from every row among those that no earlier path took, or else that were unused for longest.
    /// `next` gets its first channel, [`NONE`] at the target and if there is no way. Ties go to the lowest channel
    /// number. The ways become those of the next path of `earlier`.
    pub fn lightest(
        &mut self,
        net: &FlatGraph,
        weight: &[u64],
        cost: CostModel,
        earlier: &mut Earlier,
        next: &mut [u32],
    ) {
        next.fill(NONE);
        earlier.next_path();
        let mut start = 0;
        self.cost[self.order[0] as usize] = 0;
        for (&row, &end) in self.order.iter().zip(&self.ends).skip(1) {
            let mut best = (u32::MAX, u64::MAX, NONE);
            for &channel in &self.choices[start..end as usize] {
                let beyond = match cost {
                    CostModel::FirstChannel => 0,
                    CostModel::WholeWay => self.cost[net.channel(channel).to as usize],
                };
                let last = earlier.last(row as usize, channel, net.channel(channel).to as usize);
                best = best.min((last, weight[channel as usize] + beyond, channel));
            }
            let (_, least, channel) = best;
            (self.cost[row as usize], next[row as usize]) = (least, channel);
            earlier.settle(row as usize, channel, net.channel(channel).to as usize);
            start = end as usize;
        }
    }
}
