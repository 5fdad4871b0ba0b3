//! Chooses among the shortest legal paths of two switches: at random, or by the current load of the channels.

use super::{Ahead, ChannelPath, Channels};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// One of the shortest legal paths, each as likely as any other; parallel links make different paths.
pub(in crate::routing) struct RandomWays<'a> {
    channels: &'a Channels,
    ahead: &'a Ahead,
    /// The number of shortest legal paths: `counts[(rank of the target × rows + row) × 2 + came down]`, ranks as in
    /// [`Ahead`]; saturates at 2^64.
    counts: Vec<u64>,
}

impl<'a> RandomWays<'a> {
    pub fn of(channels: &'a Channels, ahead: &'a Ahead) -> RandomWays<'a> {
        let rows = channels.rows();
        let mut targets: Vec<(usize, usize)> = (0..rows).filter_map(|row| Some((ahead.rank(row)?, row))).collect();
        targets.sort_unstable();
        let mut counts = vec![0; targets.len() * rows * 2];
        for (&(_, target), counts) in targets.iter().zip(counts.chunks_exact_mut((rows * 2).max(1))) {
            count(channels, ahead, target, counts);
        }
        RandomWays { channels, ahead, counts }
    }

    /// Draws the channels one by one, each by the number of paths that begin with it.
    pub fn draw(&self, from: usize, to: usize, rng: &mut Pcg64Mcg, way: &mut ChannelPath) {
        let RandomWays { channels, ahead, counts } = self;
        way.clear();
        let (mut row, mut came_down) = (from, false);
        let Some(rank) = ahead.rank(to) else { return };
        let counts = &counts[rank * channels.rows() * 2..];
        let weight = |row: usize, down: bool| u128::from(counts[row * 2 + usize::from(down)]);
        while row != to {
            let choices = || ahead.onward(channels, to, row, came_down);
            // u128: a sum of counts that may each be saturated.
            let total: u128 = choices().map(|(_, channel)| weight(channel.to, !channel.up)).sum();
            let Some(mut drawn) = (total > 0).then(|| rng.random_range(0..total)) else { return };
            for (number, channel) in choices() {
                let here = weight(channel.to, !channel.up);
                if drawn < here {
                    way.push(number);
                    (row, came_down) = (channel.to, !channel.up);
                    break;
                }
                drawn -= here;
            }
        }
    }
}

fn count(channels: &Channels, ahead: &Ahead, target: usize, counts: &mut [u64]) {
    let mut states: Vec<(u16, usize, bool)> = Vec::with_capacity(counts.len());
    for state in 0..counts.len() {
        let (row, came_down) = (state / 2, state % 2 == 1);
        states.extend(ahead.hops(target, row, came_down).map(|hops| (hops, row, came_down)));
    }
    // By rising hops: every state that a state leads on to is counted before it.
    states.sort_unstable();
    for (hops, row, came_down) in states {
        let on = ahead.onward(channels, target, row, came_down);
        let sum = |sum: u64, (_, next): (u32, super::OrientedChannel)| {
            sum.saturating_add(counts[next.to * 2 + usize::from(!next.up)])
        };
        counts[row * 2 + usize::from(came_down)] = if hops == 0 { 1 } else { on.fold(0, sum) };
    }
}

/// The cheapest way to a state: its price, its last channel, and the state before it.
#[derive(Clone, Copy)]
struct Label {
    price: u64,
    last: Option<(u32, u32)>,
}

/// The cheapest of the shortest legal paths, by a price for each channel. A *state* is a row and whether packets came
/// down to it: `row × 2 + came down`.
pub(in crate::routing) struct Lightest<'a> {
    channels: &'a Channels,
    ahead: &'a Ahead,
    /// By state.
    labels: Vec<Option<Label>>,
    /// States with a label, in order of hops.
    touched: Vec<usize>,
}

impl<'a> Lightest<'a> {
    pub fn new(channels: &'a Channels, ahead: &'a Ahead) -> Lightest<'a> {
        Lightest { channels, ahead, labels: vec![None; channels.rows() * 2], touched: Vec::new() }
    }

    /// The least price from one row to another, where `join` adds a channel's price to a sum, and a channel without a
    /// price is barred. The way is left in `way`; ties go to the one found first, channels in ascending order. None if
    /// no path remains.
    pub fn find(
        &mut self,
        from: usize,
        to: usize,
        price: impl Fn(u32) -> Option<u64>,
        join: impl Fn(u64, u64) -> u64,
        way: &mut ChannelPath,
    ) -> Option<u64> {
        self.touched.drain(..).for_each(|state| self.labels[state] = None);
        self.offer(from * 2, Label { price: 0, last: None });
        let (channels, ahead, mut next) = (self.channels, self.ahead, 0);
        // On shortest paths a state has a fixed number of hops: all its predecessors are settled before it is left.
        while let Some((state, here)) = self.touched.get(next).and_then(|&state| Some((state, self.labels[state]?))) {
            next += 1;
            for (number, channel) in ahead.onward(channels, to, state / 2, state % 2 == 1) {
                if let Some(own) = price(number) {
                    let label = Label { price: join(here.price, own), last: Some((number, state as u32)) };
                    self.offer(channel.to * 2 + usize::from(!channel.up), label);
                }
            }
        }
        let ends = [to * 2, to * 2 + 1].into_iter().filter_map(|state| Some((self.labels[state]?.price, state)));
        let (price, end) = ends.min()?;
        self.trace(end, way);
        Some(price)
    }

    #[inline]
    fn offer(&mut self, state: usize, label: Label) {
        match &mut self.labels[state] {
            Some(there) if there.price <= label.price => {}
            Some(there) => *there = label,
            empty => {
                *empty = Some(label);
                self.touched.push(state);
            }
        }
    }

    fn trace(&self, end: usize, way: &mut ChannelPath) {
        way.clear();
        let mut state = end;
        while let Some((channel, before)) = self.labels[state].and_then(|label| label.last) {
            way.push(channel);
            state = before as usize;
        }
        way.reverse();
    }
}
