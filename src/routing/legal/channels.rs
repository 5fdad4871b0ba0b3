//! The channels between switches, each with the direction that a rule gives it.

use super::TurnRule;
use crate::fabric::Fabric;
use crate::ids::PortNum;
use crate::routing::switch_graph::SwitchGraph;
use crate::tables::Hop;

/// One direction of one link between two switches.
#[derive(Clone, Copy, Debug)]
pub(in crate::routing) struct OrientedChannel {
    /// The row that sends.
    pub from: usize,
    /// The row that receives.
    pub to: usize,
    /// Whether it leads to the lower number.
    pub up: bool,
    /// The port that sends.
    pub port: PortNum,
}

/// A path between two switches: the channels that it takes, by number. Empty where the two are one.
pub(in crate::routing) type ChannelPath = Vec<u32>;

/// All channels between switches that the root reaches, numbered by sending row, then by receiving row, then by port.
pub(in crate::routing) struct Channels {
    graph: SwitchGraph,
    /// Reached rows, by ascending number of the rule.
    order: Vec<usize>,
    reached: Vec<bool>,
    channels: Vec<OrientedChannel>,
    /// By row: the number of its first channel; one entry more at the end.
    first: Vec<u32>,
}

impl Channels {
    pub fn of(fabric: &Fabric, rule: &TurnRule) -> Channels {
        let graph = SwitchGraph::of(fabric);
        let mut order: Vec<usize> = (0..graph.len()).filter(|&row| rule.rank(graph.node(row)).is_some()).collect();
        order.sort_unstable_by_key(|&row| rule.rank(graph.node(row)));
        let mut reached = vec![false; graph.len()];
        order.iter().for_each(|&row| reached[row] = true);
        let (mut channels, mut first) = (Vec::new(), Vec::with_capacity(graph.len() + 1));
        for (from, &reached) in reached.iter().enumerate() {
            first.push(channels.len() as u32);
            // Rows that the root does not reach have no number, so their channels have no direction.
            for next in graph.neighbours(from).iter().filter(|_| reached) {
                let up = rule.is_up(graph.node(from), graph.node(next.row));
                channels.extend(next.ports.iter().map(|&port| OrientedChannel { from, to: next.row, up, port }));
            }
        }
        first.push(channels.len() as u32);
        Channels { graph, order, reached, channels, first }
    }

    pub fn graph(&self) -> &SwitchGraph {
        &self.graph
    }

    /// The number of switches, those out of reach among them: the bound of rows.
    pub fn rows(&self) -> usize {
        self.graph.len()
    }

    /// The rows that the root reaches, by ascending number of the rule.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    #[inline]
    pub fn reaches(&self, row: usize) -> bool {
        self.reached[row]
    }

    /// The number of channels.
    pub fn len(&self) -> usize {
        self.channels.len()
    }

    #[inline]
    pub fn get(&self, number: u32) -> OrientedChannel {
        self.channels[number as usize]
    }

    /// The channels out of a row, with their numbers.
    #[inline]
    pub fn out_of(&self, row: usize) -> impl Iterator<Item = (u32, OrientedChannel)> + '_ {
        let range = self.first[row]..self.first[row + 1];
        range.clone().zip(self.channels[range.start as usize..range.end as usize].iter().copied())
    }

    /// The channels out of a row that a packet may take there: after a way down none leads up.
    #[inline]
    pub fn onward(&self, row: usize, came_down: bool) -> impl Iterator<Item = (u32, OrientedChannel)> + '_ {
        self.out_of(row).filter(move |(_, channel)| !(came_down && channel.up))
    }

    /// The hops of a way that ends at `row` by its port `last`.
    pub fn hops(&self, way: &[u32], row: usize, last: PortNum, hops: &mut Vec<Hop>) {
        hops.clear();
        hops.extend(way.iter().map(|&number| {
            let channel = self.get(number);
            Hop { switch: self.graph.node(channel.from), output: channel.port }
        }));
        hops.push(Hop { switch: self.graph.node(row), output: last });
    }
}
