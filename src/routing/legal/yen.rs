//! The k shortest legal paths without loops, after Yen (Management Science 17(11), 1971), in Lawler's form: a found
//! path is departed from only at its own point of departure or later, so no path is found twice.

use super::{Ahead, ChannelPath, Channels};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A path not yet taken: hops, the order in which it was found, where it departs from an earlier one, itself.
type Candidate = Reverse<(usize, usize, usize, ChannelPath)>;

/// The last step to a state in the search of a spur: hops, the channel taken and the state before it.
#[derive(Clone, Copy)]
struct Label {
    hops: usize,
    last: Option<(u32, usize)>,
}

/// Finds alternatives for one pair of switches after another. A *state* is `row × 2 + came down`.
pub(in crate::routing) struct Alternatives<'a> {
    channels: &'a Channels,
    ahead: &'a Ahead,
    /// By row: whether the part in front of the spur passes it.
    passed: Vec<bool>,
    /// By state, and the states with a label.
    labels: Vec<Option<Label>>,
    touched: Vec<usize>,
    /// By hops of the whole spur: states to be looked at, with their hops so far.
    open: Vec<Vec<(usize, usize)>>,
}

impl<'a> Alternatives<'a> {
    pub fn new(channels: &'a Channels, ahead: &'a Ahead) -> Alternatives<'a> {
        let rows = channels.rows();
        let (passed, labels) = (vec![false; rows], vec![None; rows * 2]);
        Alternatives { channels, ahead, passed, labels, touched: Vec::new(), open: Vec::new() }
    }

    /// Up to `most` paths from one row to another, by ascending hops; parallel links make different paths.
    pub fn find(&mut self, from: usize, to: usize, most: usize) -> Vec<ChannelPath> {
        let mut found: Vec<ChannelPath> = Vec::new();
        let mut candidates: BinaryHeap<Candidate> = BinaryHeap::new();
        candidates.extend(self.spur(from, false, to, &[]).map(|way| Reverse((way.len(), 0, 0, way))));
        let mut serial = 1;
        while let Some(Reverse((_, _, departs, way))) = candidates.pop() {
            found.push(way);
            if found.len() >= most {
                break;
            }
            for (at, way) in self.departures(&found, from, to, departs) {
                candidates.push(Reverse((way.len(), serial, at, way)));
                serial += 1;
            }
        }
        found
    }

    /// The shortest path that leaves the last one found at each of its switches, from number `departs` on.
    fn departures(
        &mut self,
        found: &[ChannelPath],
        from: usize,
        to: usize,
        departs: usize,
    ) -> Vec<(usize, ChannelPath)> {
        let Some(last) = found.last() else { return Vec::new() };
        let (mut departures, mut row, mut came_down) = (Vec::new(), from, false);
        for at in 0..last.len() {
            self.passed[row] = true;
            // Lawler: earlier points were departed from when the path that this one comes from was found.
            if at >= departs {
                // Found paths that share the part up to here bar the channel by which each of them went on.
                let alike = found.iter().filter(|way| way.len() > at && way[..at] == last[..at]);
                let barred: Vec<u32> = alike.map(|way| way[at]).collect();
                let spur = self.spur(row, came_down, to, &barred);
                departures.extend(spur.map(|spur| (at, [&last[..at], &spur].concat())));
            }
            let channel = self.channels.get(last[at]);
            (row, came_down) = (channel.to, !channel.up);
        }
        self.passed.fill(false);
        departures
    }

    /// The shortest continuation from a row that neither begins with a barred channel nor touches the rows passed. The
    /// remaining hops without bars never overestimate, so the first state at the target ends the search (A*).
    fn spur(&mut self, row: usize, came_down: bool, to: usize, barred: &[u32]) -> Option<ChannelPath> {
        self.touched.drain(..).for_each(|state| self.labels[state] = None);
        self.open.iter_mut().for_each(Vec::clear);
        self.offer(row * 2 + usize::from(came_down), to, Label { hops: 0, last: None });
        let mut total = 0;
        while total < self.open.len() {
            let Some((state, hops)) = self.open[total].pop() else {
                total += 1;
                continue;
            };
            if state / 2 == to {
                return Some(self.trace(state));
            }
            // A state may be open several times; only the shortest way to it is followed.
            if self.labels[state].is_some_and(|label| label.hops < hops) {
                continue;
            }
            for (number, channel) in self.channels.onward(state / 2, state % 2 == 1) {
                let closed = self.passed[channel.to] || (hops == 0 && barred.contains(&number));
                if !closed {
                    let label = Label { hops: hops + 1, last: Some((number, state)) };
                    self.offer(channel.to * 2 + usize::from(!channel.up), to, label);
                }
            }
        }
        None
    }

    fn offer(&mut self, state: usize, to: usize, label: Label) {
        let Some(ahead) = self.ahead.hops(to, state / 2, state % 2 == 1) else { return };
        match &mut self.labels[state] {
            Some(there) if there.hops <= label.hops => return,
            Some(there) => *there = label,
            empty => {
                *empty = Some(label);
                self.touched.push(state);
            }
        }
        let total = label.hops + usize::from(ahead);
        if self.open.len() <= total {
            self.open.resize_with(total + 1, Vec::new);
        }
        self.open[total].push((state, label.hops));
    }

    fn trace(&self, end: usize) -> ChannelPath {
        let (mut way, mut state) = (ChannelPath::new(), end);
        while let Some((channel, before)) = self.labels[state].and_then(|label| label.last) {
            way.push(channel);
            state = before;
        }
        way.reverse();
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::routing::{TurnModel, TurnRule};

    /// Every legal path without a round, by exhaustion.
    fn all(channels: &Channels, from: usize, to: usize) -> Vec<ChannelPath> {
        let mut found = Vec::new();
        let mut open = vec![(ChannelPath::new(), vec![from])];
        while let Some((way, rows)) = open.pop() {
            let row = rows[rows.len() - 1];
            if row == to {
                found.push(way);
                continue;
            }
            let came_down = way.last().is_some_and(|&last| !channels.get(last).up);
            for (number, channel) in channels.onward(row, came_down).filter(|(_, next)| !rows.contains(&next.to)) {
                open.push(([&way[..], &[number]].concat(), [&rows[..], &[channel.to]].concat()));
            }
        }
        found.sort_by_key(|way| (way.len(), way.clone()));
        found
    }

    fn channels_of(topology: &str, seed: u64, model: TurnModel) -> Channels {
        let topology: Topology = topology.parse().expect("a topology");
        let fabric = generate(&topology, &Options { seed, ..Options::default() }).expect("a fabric");
        let root = fabric.switches().next().expect("a switch");
        Channels::of(&fabric, &TurnRule::new(model, &fabric, root).expect("a rule"))
    }

    fn check(channels: &Channels, most: usize) {
        let ahead = Ahead::of(channels, 0..channels.rows());
        let mut alternatives = Alternatives::new(channels, &ahead);
        for from in 0..channels.rows() {
            for to in 0..channels.rows() {
                let all = all(channels, from, to);
                let found = alternatives.find(from, to, most);
                let lengths = |ways: &[ChannelPath]| ways.iter().map(Vec::len).take(most).collect::<Vec<_>>();
                assert_eq!(lengths(&found), lengths(&all), "{from} to {to}");
                assert!(found.iter().all(|way| all.contains(way)), "{from} to {to}: legal, and no round");
                let mut distinct = found.clone();
                distinct.sort();
                distinct.dedup();
                assert_eq!(distinct.len(), found.len(), "{from} to {to}: each once");
            }
        }
    }

    #[test]
    fn the_shortest_come_first_each_once_as_exhaustion_finds_them() {
        for seed in 0..20 {
            for model in [TurnModel::UpDown, TurnModel::LTurn] {
                let channels = channels_of("irregular:8,8,8,14", seed, model);
                [1, 5, 16, 1000].into_iter().for_each(|most| check(&channels, most));
            }
        }
    }

    #[test]
    fn parallel_links_make_different_paths() {
        check(&channels_of("leaf-spine:3,2,1,3", 0, TurnModel::UpDown), 1000);
    }
}
