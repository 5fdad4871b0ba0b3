//! Dependencies: for every switch, input lane and output, the lanes of that output.
//!
//! They are masks, not a graph: the walk reports each dependency many times, and to set a bit twice is cheap. The cost
//! is that of memory access: the masks of a large fabric exceed every cache, so those that a class sets together are
//! stored together.

use super::graph::Graph;
use super::lanes::{LaneMask, lanes_of};
use super::net::{FlatFabric, Head};
use super::walk::ClassHop;
use crate::fabric::PortId;
use crate::ids::PortNum;
use std::ops::Range;

/// The layout of the masks of a switch: one for each (output, input, lane).
pub(crate) struct DependencyLayout<'a> {
    pub net: &'a FlatFabric,
    pub vls: usize,
    base: Vec<usize>,
    size: usize,
}

impl<'a> DependencyLayout<'a> {
    pub fn new(net: &'a FlatFabric, vls: usize) -> DependencyLayout<'a> {
        let mut size = 0;
        let next = |side: &usize| {
            let start = size;
            size += side * side * vls;
            start
        };
        // Every output, input and lane of each switch has a slot, cabled or not: a slot is computed, not looked up.
        let base = net.sides.iter().map(next).collect();
        DependencyLayout { net, vls, base, size }
    }

    /// Packets of a class come to a switch by many inputs and on several lanes, and leave by one output: outputs come
    /// first, so that their masks are neighbours.
    #[inline]
    fn slot(&self, row: usize, input: PortNum, lane: usize, output: PortNum) -> usize {
        self.base[row] + (output.index() * self.net.sides[row] + input.index()) * self.vls + lane
    }

    /// By row: where its masks lie.
    pub fn sections(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let ends = self.base.iter().skip(1).copied().chain([self.size]);
        self.base.iter().copied().zip(ends).map(|(start, end)| start..end)
    }

    /// Reports every input and output of a switch, with the channels that lead in and out, where both have cables at a
    /// stage: in the order of their masks.
    pub fn each_turn(&self, stage: usize, mut emit: impl FnMut(ChannelTurn)) {
        let net = self.net;
        // By port: the channel that leads in there.
        let mut inward = vec![usize::MAX; net.channels()];
        for channel in 0..net.channels() {
            if let Head::Switch { row, input } = net.head(stage, channel) {
                inward[net.channel(row as usize, input)] = channel;
            }
        }
        for (row, &sides) in net.sides.iter().enumerate() {
            let inward = &inward[net.channel(row, PortNum::ZERO)..][..sides];
            // The input port is among the outputs: a table may send packets back where they came from.
            for output in (1..sides).map(|output| PortNum(output as u8)) {
                let outward = net.channel(row, output);
                if !net.exists(stage, outward) {
                    continue;
                }
                for (input, &inward) in inward.iter().enumerate().filter(|&(_, &inward)| inward != usize::MAX) {
                    emit(ChannelTurn { row, input: PortNum(input as u8), inward, output, outward });
                }
            }
        }
    }
}

/// A way through a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelTurn {
    pub row: usize,
    pub input: PortNum,
    /// The channel that leads in.
    pub inward: usize,
    pub output: PortNum,
    /// The channel that leads out.
    pub outward: usize,
}

/// Dependencies of one half at one stage, or of both.
#[derive(Clone)]
pub(crate) struct Dependencies {
    masks: Vec<LaneMask>,
}

impl Dependencies {
    pub fn none(layout: &DependencyLayout<'_>) -> Dependencies {
        Dependencies { masks: vec![0; layout.size] }
    }

    /// Packets can wait for the lanes that they are about to take.
    #[inline]
    pub fn add<O>(&mut self, layout: &DependencyLayout<'_>, hop: &ClassHop<O>) {
        let ClassHop { row, input, from, output, to, .. } = *hop;
        let first = layout.slot(row, input, 0, output);
        let own = &mut self.masks[first..first + layout.vls];
        lanes_of(from).for_each(|lane| own[lane] |= to);
    }

    /// The output lanes that packets in an input lane can wait for.
    pub fn at(
        &self,
        layout: &DependencyLayout<'_>,
        row: usize,
        input: PortNum,
        lane: usize,
        output: PortNum,
    ) -> LaneMask {
        self.masks[layout.slot(row, input, lane, output)]
    }

    /// By lane: the output lanes that packets in an input can wait for.
    #[inline]
    fn masks_of(&self, layout: &DependencyLayout<'_>, row: usize, input: PortNum, output: PortNum) -> &[LaneMask] {
        let first = layout.slot(row, input, 0, output);
        &self.masks[first..first + layout.vls]
    }

    /// Takes over the masks of a switch from where they lie elsewhere.
    pub fn copy_section(&mut self, own: Range<usize>, other: &Dependencies, others: Range<usize>) {
        self.masks[own].copy_from_slice(&other.masks[others]);
    }

    /// Adds all of another's.
    pub fn unite(&mut self, other: &Dependencies) {
        self.masks.iter_mut().zip(&other.masks).for_each(|(own, other)| *own |= other);
    }

    /// Adds, for each dependency of a lane on the same one beyond a switch, that of other lanes.
    pub fn copy_lane(&mut self, vls: usize, lane: usize, others: impl Iterator<Item = usize> + Clone) {
        for masks in self.masks.chunks_mut(vls).filter(|masks| masks[lane] >> lane & 1 == 1) {
            others.clone().for_each(|other| masks[other] |= 1 << other);
        }
    }

    /// The number of dependencies, as pairs of lanes.
    pub fn count(&self) -> usize {
        // Four masks a word: not every processor that this is built for counts bits in one instruction.
        let (fours, rest) = self.masks.as_chunks::<4>();
        let word = |&[a, b, c, d]: &[LaneMask; 4]| {
            (u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48).count_ones() as usize
        };
        fours.iter().map(word).sum::<usize>() + rest.iter().map(|mask| mask.count_ones() as usize).sum::<usize>()
    }

    /// The virtual lanes in which packets can stand or for which they can wait.
    pub fn lanes(&self, layout: &DependencyLayout<'_>, stage: usize) -> LaneMask {
        let mut lanes = 0;
        layout.each_turn(stage, |ChannelTurn { row, input, output, .. }| {
            for (lane, &to) in self.masks_of(layout, row, input, output).iter().enumerate() {
                // Both ends of a dependency count: the lane in which packets wait, and those for which they wait.
                lanes |= if to == 0 { 0 } else { to | 1 << lane };
            }
        });
        lanes
    }

    /// Rule 4 of the closure: adds what packets latched in the stage before, and still waiting, depend on. The choice
    /// of a latched packet outlives the entry that it was made by, so only an empty lane or a dead channel ends it.
    pub fn carry_over(&mut self, before: &Dependencies, layout: &DependencyLayout<'_>, stage: usize, empty: LaneMask) {
        layout.each_turn(stage, |ChannelTurn { row, input, output, .. }| {
            // Rule 4 requires that neither lane was empty. The barrier also reports that nothing is latched for an
            // empty lane, hence `!empty` on the outputs. A turn with a dead channel is not among `turns`.
            for lane in (0..layout.vls).filter(|lane| empty >> lane & 1 == 0) {
                let slot = layout.slot(row, input, lane, output);
                self.masks[slot] |= before.masks[slot] & !empty;
            }
        });
    }

    /// The graph over the lanes of a stage; lane `channel × vls + vl`.
    pub fn graph(&self, layout: &DependencyLayout<'_>, stage: usize) -> Graph {
        Graph::new(layout.net.channels() * layout.vls, |emit| self.each_edge(layout, stage, emit))
    }

    /// Reports every dependency by its lanes, numbered as in [`Self::graph`].
    pub fn each_edge(&self, layout: &DependencyLayout<'_>, stage: usize, emit: &mut dyn FnMut(u32, u32)) {
        let vls = layout.vls;
        layout.each_turn(stage, |ChannelTurn { row, input, inward, output, outward }| {
            for (lane, &to) in self.masks_of(layout, row, input, output).iter().enumerate() {
                lanes_of(to).for_each(|next| emit((inward * vls + lane) as u32, (outward * vls + next) as u32));
            }
        });
    }
}

/// A lane of the graph as (channel, VL).
pub(crate) fn lane_of(layout: &DependencyLayout<'_>, lane: u32) -> (PortId, u8) {
    let vls = layout.vls as u32;
    (PortId(lane / vls), (lane % vls) as u8)
}
