//! Fully explicit routing: up*/down* that one LID for each destination expresses (Sancho, Robles and Duato, ICPP 2001).
//!
//! The paper completes up*/down* tables so that the input port need not be known; its text was not available; seeds 000
//! and 002 state its purpose. Here, for each destination, every switch either sends down, along a way that only goes
//! down, or sends up; and no channel in use leads down to a switch that sends up ([`Tree`]). Unlike in restricted
//! up*/down* ([`super::UpDown`]), a switch may send up although a way down exists, if that is shorter and no other
//! switch needs it for its way down. Among equally short routes a switch takes the channel with the fewest paths
//! between end ports so far; switches far from the destination choose first, so that the number of paths that each
//! choice moves is known.

use super::legal::{Channels, PathProblem, Tree, TurnModel};
use super::switch_graph::Target;
use super::{Demand, Engine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::RoutingFunction;
use std::cmp::Reverse;

pub(super) const NAME: &str = "fully-explicit";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FullyExplicit {
    /// The turn rule; up*/down* in the paper.
    pub model: TurnModel,
    /// The root; none: the one that [`super::UpDown`] chooses.
    pub root: Option<NodeId>,
}

impl Engine for FullyExplicit {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let problem = PathProblem::of(NAME, self.model, self.root, fabric, demand)?;
        let mut function = RoutingFunction::new(fabric, NAME, demand.destinations.clone(), demand.paths);
        if let Some(problem) = problem {
            function.set_root(problem.root);
            fill(&problem, &mut function);
        }
        Ok(function)
    }
}

fn fill(problem: &PathProblem<'_>, function: &mut RoutingFunction) {
    let channels = &problem.channels;
    let mut tree = Tree::new(channels, &problem.ahead);
    let mut flows = Flows::of(problem, function.paths());
    let mut borne: Vec<Vec<&Target>> = vec![Vec::new(); channels.rows()];
    problem.ends.iter().chain(&problem.switches).for_each(|end| borne[end.row].push(end));
    for (target, borne) in borne.iter().enumerate().filter(|(_, borne)| !borne.is_empty()) {
        tree.aim(target);
        let mut far_first: Vec<usize> = channels.order().iter().copied().filter(|&row| row != target).collect();
        far_first.sort_by_key(|&row| Reverse(tree.hops(row)));
        let approach = Approach { channels, tree: &tree, far_first: &far_first };
        for end in borne {
            flows.taken.fill(0);
            for path in 0..function.paths() {
                flows.route(&approach, end, path);
                function.set_output(channels.graph().node(target), end.destination, path, end.last);
                for channel in flows.chosen.iter().map(|&number| channels.get(number)) {
                    function.set_output(channels.graph().node(channel.from), end.destination, path, channel.port);
                }
            }
        }
    }
}

/// The ways to one switch.
struct Approach<'a> {
    channels: &'a Channels,
    tree: &'a Tree<'a>,
    /// Every other row, in the order in which they choose.
    far_first: &'a [usize],
}

/// The number of paths between end ports on each channel.
struct Flows {
    /// By channel: by all paths; then, if there are several to each destination, by the first, the second, and so
    /// on.
    loads: Vec<Vec<u64>>,
    /// By row: end ports.
    ends: Vec<u64>,
    /// By channel: rows that take it for a path to the current destination, each path counted.
    taken: Vec<u8>,
    /// By row: paths to the current destination that come by.
    passing: Vec<u64>,
    /// The channels of the path just routed, one out of each row.
    chosen: Vec<u32>,
}

impl Flows {
    fn of(problem: &PathProblem<'_>, paths: usize) -> Flows {
        let rows = problem.channels.rows();
        let mut ends = vec![0; rows];
        problem.ends.iter().for_each(|end| ends[end.row] += 1);
        let loads = vec![vec![0; problem.channels.len()]; if paths > 1 { paths + 1 } else { 1 }];
        let taken = vec![0; problem.channels.len()];
        Flows { loads, ends, taken, passing: vec![0; rows], chosen: Vec::new() }
    }

    /// A path from every row to `end`: each row takes the channel used least by earlier paths to it, then the one least
    /// loaded by paths with its number and by all, then the lowest.
    fn route(&mut self, &Approach { channels, tree, far_first }: &Approach<'_>, end: &Target, path: usize) {
        self.chosen.clear();
        self.passing.copy_from_slice(&self.ends);
        let weight = u64::from(!end.is_switch());
        for &row in far_first {
            let key = |&number: &u32| (self.taken[number as usize], self.weight(path, number), number);
            let Some(best) = tree.choices(row).min_by_key(key) else { continue };
            let moved = self.passing[row];
            self.taken[best as usize] += 1;
            self.loads[0][best as usize] += moved * weight;
            if let Some(class) = self.loads.get_mut(path + 1) {
                class[best as usize] += moved * weight;
            }
            self.passing[channels.get(best).to] += moved;
            self.chosen.push(best);
        }
    }

    /// The weight of a channel for a path with this number: the load of that number counts as much as the whole load.
    fn weight(&self, path: usize, channel: u32) -> u64 {
        let (paths, channel) = (self.loads.len() as u64 - 1, channel as usize);
        self.loads[0][channel] + self.loads.get(path + 1).map_or(0, |class| paths * class[channel])
    }
}
