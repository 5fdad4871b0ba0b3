//! Paths from and to switches, for management: none of them needs a LID that data does not need already.
//!
//! A switch sends to an end port along the rest of some end port's path through it. If no path passes it, it sends to a
//! neighbour and continues as that one does, if that is legal; otherwise by a shortest legal path. To a switch, which
//! has one LID, all sources send along one [`Tree`].

use super::{ChannelPath, Channels, Lightest, PathProblem, Tree};
use crate::routing::switch_graph::Target;
use crate::tables::{Hop, Path, PathSet};

/// Adds the paths from switches to end ports, then those to switches, destination by destination.
pub(super) fn join(problem: &PathProblem<'_>, paths: &mut PathSet) {
    if problem.switches.is_empty() {
        return;
    }
    let by_destination = paths.by_destination(problem.fabric);
    let mut rank = vec![usize::MAX; problem.fabric.port_count()];
    paths.destinations().iter().enumerate().for_each(|(at, port)| rank[port.index()] = at);
    for end in &problem.ends {
        let mut follow = Follow::new(problem, end);
        by_destination[rank[end.port.index()]].iter().for_each(|&at| follow.note(&paths.get(at as usize)));
        follow.spread();
        follow.fall_back();
        follow.add(paths);
    }
    along_trees(problem, paths);
}

/// The hops by which switches send to one end port.
struct Follow<'a, 'b> {
    problem: &'a PathProblem<'b>,
    end: &'a Target,
    /// By row.
    hops: Vec<Option<Vec<Hop>>>,
}

impl<'a, 'b> Follow<'a, 'b> {
    fn new(problem: &'a PathProblem<'b>, end: &'a Target) -> Follow<'a, 'b> {
        let mut hops = vec![None; problem.channels.rows()];
        hops[end.row] = Some(vec![Hop { switch: problem.channels.graph().node(end.row), output: end.last }]);
        Follow { problem, end, hops }
    }

    /// Every switch on a path may send along the rest of it.
    fn note(&mut self, path: &Path<'_>) {
        let graph = self.problem.channels.graph();
        for (at, hop) in path.hops.iter().enumerate() {
            if let Some(empty) = graph.row_of(hop.switch).map(|row| &mut self.hops[row]).filter(|there| there.is_none())
            {
                *empty = Some(path.hops[at..].to_vec());
            }
        }
    }

    /// Switches on no path join those on one, the nearest to the destination first.
    fn spread(&mut self) {
        let (graph, mut by_length) = (self.problem.channels.graph(), vec![Vec::new()]);
        let known = |row: usize, hops: &[Option<Vec<Hop>>]| hops[row].as_ref().map(Vec::len);
        for &row in self.problem.channels.order() {
            if let Some(length) = known(row, &self.hops) {
                by_length.resize(by_length.len().max(length + 2), Vec::new());
                by_length[length].push(row);
            }
        }
        // Rows by the length of their hops: a row that joins is one hop farther, so shorter ways come first.
        let mut length = 0;
        while length < by_length.len() {
            for row in std::mem::take(&mut by_length[length]) {
                for beside in graph.neighbours(row).iter().map(|next| next.row) {
                    if self.hops[beside].is_none() && self.join(beside, row) {
                        by_length.resize(by_length.len().max(length + 2), Vec::new());
                        by_length[length + 1].push(beside);
                    }
                }
            }
            length += 1;
        }
    }

    /// Lets `row` send by its neighbour `next`, if that is legal.
    fn join(&mut self, row: usize, next: usize) -> bool {
        let channels = &self.problem.channels;
        let Some(rest) = self.hops[next].as_deref() else { return false };
        let Some((_, channel)) = channels.out_of(row).find(|(_, channel)| channel.to == next) else { return false };
        // Down and then up is no legal path.
        if !channel.up && self.turns_up(rest) {
            return false;
        }
        let own = Hop { switch: channels.graph().node(row), output: channel.port };
        self.hops[row] = Some(std::iter::once(own).chain(rest.iter().copied()).collect());
        true
    }

    /// Returns whether hops begin with a way up.
    fn turns_up(&self, hops: &[Hop]) -> bool {
        let graph = self.problem.channels.graph();
        let [first, second, ..] = hops else { return false };
        let (from, to) = (graph.row_of(first.switch), graph.row_of(second.switch));
        from.zip(to).is_some_and(|(from, to)| {
            self.problem.channels.out_of(from).any(|(_, channel)| channel.to == to && channel.up)
        })
    }

    fn fall_back(&mut self) {
        let channels: &Channels = &self.problem.channels;
        let mut lightest = Lightest::new(channels, &self.problem.ahead);
        let mut way = ChannelPath::new();
        for &row in channels.order() {
            if self.hops[row].is_none()
                && lightest.find(row, self.end.row, |_| Some(1), |a, b| a + b, &mut way).is_some()
            {
                let mut hops = Vec::new();
                channels.hops(&way, self.end.row, self.end.last, &mut hops);
                self.hops[row] = Some(hops);
            }
        }
    }

    fn add(&self, paths: &mut PathSet) {
        for switch in &self.problem.switches {
            let hops = self.hops[switch.row].as_deref().unwrap_or_default();
            paths.push(Path { source: switch.port, destination: self.end.port, layer: 0, hops });
        }
    }
}

fn along_trees(problem: &PathProblem<'_>, paths: &mut PathSet) {
    let mut tree = Tree::new(&problem.channels, &problem.ahead);
    let (mut way, mut hops) = (ChannelPath::new(), Vec::new());
    for target in &problem.switches {
        tree.aim(target.row);
        for source in problem.switches.iter().chain(&problem.ends).filter(|source| source.port != target.port) {
            way.clear();
            let mut row = source.row;
            while let Some(number) = tree.choices(row).next() {
                way.push(number);
                row = problem.channels.get(number).to;
            }
            problem.channels.hops(&way, target.row, target.last, &mut hops);
            paths.push(Path { source: source.port, destination: target.port, layer: 0, hops: &hops });
        }
    }
}
