//! How many pairs of end ports each channel carries.

use super::columns::{LidColumns, WantedLid, Ways};
use super::net::{HERE, Net};

/// Pairs by channel. Every end port counts as one that sends to every LID of another.
#[derive(Clone)]
pub(super) struct PairLoad {
    pub pairs: Vec<u64>,
    sums: Vec<u64>,
    order: Vec<u32>,
}

impl PairLoad {
    pub fn none(net: &Net) -> PairLoad {
        PairLoad { pairs: vec![0; net.channels.len()], sums: vec![0; net.rows.len()], order: Vec::new() }
    }

    /// Adds the pairs of a LID; `ways` has followed its column.
    pub fn add(&mut self, net: &Net, column: &[u32], ways: &Ways) {
        self.change(net, column, ways, |pairs, sum| *pairs += sum);
    }

    /// Takes the pairs of a LID away.
    pub fn subtract(&mut self, net: &Net, column: &[u32], ways: &Ways) {
        self.change(net, column, ways, |pairs, sum| *pairs -= sum);
    }

    /// Hops of all pairs together, times the pairs of the busiest channel: what a renewal is to reduce.
    pub fn cost(&self) -> u128 {
        let hops: u64 = self.pairs.iter().sum();
        u128::from(hops) * u128::from(self.most())
    }

    /// Pairs of the busiest channel.
    pub fn most(&self) -> u64 {
        self.pairs.iter().copied().max().unwrap_or(0)
    }

    /// The cost, and among equals what falls with each pair that a busy channel gives up to an idle one, though the
    /// busiest one keeps its own.
    pub fn imbalance(&self) -> (u128, u128) {
        (self.cost(), self.pairs.iter().map(|&pairs| u128::from(pairs) * u128::from(pairs)).sum())
    }

    /// Whether this is better than `other`: at a lower cost; or at the same one if a channel carries pairs that carries
    /// none there, pairs are spread more evenly, and the busiest channel carries no more.
    pub fn gains_on(&self, other: &PairLoad) -> bool {
        let takes_up = |(&own, &other): (&u64, &u64)| own > 0 && other == 0;
        self.cost() < other.cost()
            || self.imbalance() < other.imbalance()
                && self.most() <= other.most()
                && self.pairs.iter().zip(&other.pairs).any(takes_up)
    }

    /// Moves the pairs of some targets from their ways by one table to those by another.
    pub fn shift(&mut self, net: &Net, targets: &[WantedLid], from: &LidColumns, to: &LidColumns, moved: &[usize]) {
        let mut ways = Ways::new(net);
        for &at in moved.iter().filter(|&&at| targets[at].host && targets[at].wanted) {
            ways.follow(net, from.column(at), &net.kept);
            self.subtract(net, from.column(at), &ways);
            ways.follow(net, to.column(at), &net.kept);
            self.add(net, to.column(at), &ways);
        }
    }

    fn change(&mut self, net: &Net, column: &[u32], ways: &Ways, with: impl Fn(&mut u64, u64)) {
        let PairLoad { pairs, sums, order } = self;
        ways.farthest_first(order);
        order.iter().for_each(|&row| sums[row as usize] = u64::from(net.ends[row as usize]));
        for &row in &*order {
            let entry = column[row as usize];
            if entry < HERE {
                let sum = sums[row as usize];
                with(&mut pairs[entry as usize], sum);
                sums[net.to(entry)] += sum;
            }
        }
    }
}

/// Lengths and loads of tables between the end ports that remain.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Quality {
    /// Channels between switches on the way of a pair, mean over the pairs that arrive.
    pub hops: f64,
    /// Pairs that the busiest channel carries.
    pub load: u64,
    /// Ordered pairs of end port and LID that arrive.
    pub pairs: u64,
}

pub(super) fn quality(net: &Net, targets: &[WantedLid], columns: &LidColumns) -> Quality {
    let (mut ways, mut load) = (Ways::new(net), PairLoad::none(net));
    let (mut hops, mut pairs) = (0u64, 0u64);
    for (at, _) in targets.iter().enumerate().filter(|(_, target)| target.host && target.wanted) {
        let column = columns.column(at);
        ways.follow(net, column, &net.alive);
        load.add(net, column, &ways);
        for (row, &ends) in net.ends.iter().enumerate().filter(|&(row, _)| ways.arrives(row)) {
            hops += u64::from(ends) * u64::from(ways.hops[row]);
            pairs += u64::from(ends);
        }
    }
    let most = load.pairs.into_iter().max().unwrap_or(0);
    Quality { hops: hops as f64 / pairs.max(1) as f64, load: most, pairs }
}
