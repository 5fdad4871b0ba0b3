//! What can wait for what: for every switch, input lane and output, the lanes of that output.

use super::lanes::{LaneMask, lanes_of};
use super::net::{Head, Net, Stage};
use crate::ids::PortNum;
use crate::verify::LaneGraph;

/// A lane: a channel on a virtual lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lane {
    pub channel: u32,
    pub vl: usize,
}

/// Dependencies between lanes.
pub(super) struct Dependencies<'a> {
    net: &'a Net,
    vls: usize,
    /// By row: where its masks begin.
    base: Vec<usize>,
    masks: Vec<LaneMask>,
}

impl<'a> Dependencies<'a> {
    pub fn none(net: &'a Net, vls: usize) -> Dependencies<'a> {
        let mut size = 0;
        let next = |side: &usize| {
            let start = size;
            size += side * side * vls;
            start
        };
        let base = net.sides.iter().map(next).collect();
        Dependencies { net, vls, base, masks: vec![0; size] }
    }

    fn slot(&self, row: u32, input: PortNum, lane: usize, output: PortNum) -> usize {
        let row = row as usize;
        self.base[row] + (input.index() * self.vls + lane) * self.net.sides[row] + output.index()
    }

    /// Packets in the lanes `from` of an input can wait for the lanes `to` of an output.
    pub fn add(&mut self, row: u32, input: PortNum, from: LaneMask, output: PortNum, to: LaneMask) {
        for lane in lanes_of(from) {
            let slot = self.slot(row, input, lane, output);
            self.masks[slot] |= to;
        }
    }

    /// How many: pairs of lanes.
    pub fn count(&self) -> usize {
        self.masks.iter().map(|mask| mask.count_ones() as usize).sum()
    }

    /// The graph over lanes; [`Dependencies::lane`] names its nodes.
    pub fn graph(&self) -> LaneGraph {
        LaneGraph::new(self.net.channels() * self.vls, |tell| {
            for inward in 0..self.net.channels() as u32 {
                if let Head::Switch { row, input } = self.net.head(Stage::Now, inward) {
                    (0..self.vls).for_each(|vl| self.tell(Lane { channel: inward, vl }, row, input, tell));
                }
            }
        })
    }

    fn tell(&self, from: Lane, row: u32, input: PortNum, tell: &mut dyn FnMut(u32, u32)) {
        let start = self.slot(row, input, from.vl, PortNum::ZERO);
        let outputs = &self.masks[start..start + self.net.sides[row as usize]];
        for (output, &to) in outputs.iter().enumerate().filter(|(_, to)| **to != 0) {
            let channel = self.net.channel(row, PortNum(output as u8));
            lanes_of(to).for_each(|vl| tell(self.node(from), self.node(Lane { channel, vl })));
        }
    }

    fn node(&self, lane: Lane) -> u32 {
        lane.channel * self.vls as u32 + lane.vl as u32
    }

    /// The lane that a node of the graph stands for.
    pub fn lane(&self, node: u32) -> Lane {
        let vls = self.vls as u32;
        Lane { channel: node / vls, vl: (node % vls) as usize }
    }
}
