//! Legal paths to one switch that the DLID alone expresses: one channel out of every other switch, whatever the input.
//!
//! Some switches send *down*, along ways that only go down; the others send up. No channel of the tree leads down to a
//! switch that sends up, so no packet turns up after it came down, wherever it was sent. A switch sends up if no way
//! down leads from it to the target; and also if that is shorter, provided that every switch above that needs it for
//! its own way down has another one as short. So no route is longer than if all switches that can send down did so.

use super::{Ahead, Channels};

const FAR: u32 = u32::MAX;

/// Routes to one target after another.
pub(in crate::routing) struct Tree<'a> {
    channels: &'a Channels,
    ahead: &'a Ahead,
    target: usize,
    /// By row: whether it sends down.
    down: Vec<bool>,
    /// By row: hops of its route, [`FAR`] if there is none.
    hops: Vec<u32>,
    /// By row that sends down: how many rows below it serve its shortest way down.
    below: Vec<u32>,
}

impl<'a> Tree<'a> {
    pub fn new(channels: &'a Channels, ahead: &'a Ahead) -> Tree<'a> {
        let rows = channels.rows();
        Tree { channels, ahead, target: 0, down: vec![false; rows], hops: vec![FAR; rows], below: vec![0; rows] }
    }

    /// Finds the routes to `target`.
    pub fn aim(&mut self, target: usize) {
        let channels = self.channels;
        self.target = target;
        self.hops.fill(FAR);
        for row in 0..channels.rows() {
            // At first all rows send down that can; some are released below, if sending up is shorter.
            self.down[row] = self.hops_down(row).is_some();
            self.below[row] = self.served_by(row).count() as u32;
        }
        // By rising number: every switch above is settled.
        for &row in channels.order() {
            let above = channels.out_of(row).filter(|(_, channel)| channel.up);
            let over = above.map(|(_, channel)| self.hops[channel.to].saturating_add(1)).min().unwrap_or(FAR);
            self.hops[row] = match self.hops_down(row) {
                Some(down) if over >= down || !self.spare(row) => down,
                Some(_) => {
                    self.release(row);
                    over
                }
                None => over,
            };
        }
    }

    /// Hops of the route from a row, channels between switches; `u32::MAX` if there is none.
    pub fn hops(&self, row: usize) -> u32 {
        self.hops[row]
    }

    /// The channels out of a row that serve equally well, in ascending order; none at the target.
    pub fn choices(&self, row: usize) -> impl Iterator<Item = u32> + '_ {
        let (down, here) = (self.down[row], self.hops[row]);
        let nearer = move |to: usize| self.hops[to] != FAR && self.hops[to] + 1 == here;
        let serves = move |to: usize, up: bool| up != down && nearer(to) && (up || self.down[to]);
        self.channels.out_of(row).filter(move |(_, channel)| serves(channel.to, channel.up)).map(|(number, _)| number)
    }

    fn hops_down(&self, row: usize) -> Option<u32> {
        self.ahead.hops(self.target, row, true).map(u32::from)
    }

    /// Rows below that begin a shortest way down from `row`, each once.
    fn served_by(&self, row: usize) -> impl Iterator<Item = usize> + use<'a> {
        let (ahead, target) = (self.ahead, self.target);
        let here = ahead.hops(target, row, true);
        let serves = move |to: usize| here.is_some() && ahead.hops(target, to, true).map(|hops| hops + 1) == here;
        let mut last = None;
        let below = self.channels.out_of(row).filter(|(_, channel)| !channel.up).map(|(_, channel)| channel.to);
        below.filter(move |&to| last.replace(to) != Some(to) && serves(to))
    }

    /// Rows above whose shortest way down `row` serves, and which send down.
    fn served_above(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let here = self.hops_down(row);
        let mut last = None;
        let above = self.channels.out_of(row).filter(|(_, channel)| channel.up).map(|(_, channel)| channel.to);
        above.filter(move |&to| {
            last.replace(to) != Some(to) && self.down[to] && self.hops_down(to) == here.map(|hops| hops + 1)
        })
    }

    /// Returns whether no row above needs this one.
    fn spare(&self, row: usize) -> bool {
        row != self.target && self.served_above(row).all(|above| self.below[above] > 1)
    }

    fn release(&mut self, row: usize) {
        let above: Vec<usize> = self.served_above(row).collect();
        above.into_iter().for_each(|above| self.below[above] -= 1);
        self.down[row] = false;
    }
}
