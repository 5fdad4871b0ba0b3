//! What can wait for what: for every switch, input lane and output, the lanes of that output; by half and stage.

use super::graph::Graph;
use super::injection::Injection;
use super::lanes::{LaneMask, Lanes, lanes_of};
use super::net::{Head, Net};
use super::walk::{Case, Class, Columns, Hop, Sink};
use crate::fabric::PortId;
use crate::ids::{Half, PortNum};

/// Where the masks of a switch lie: one for each (input, lane, output).
pub(super) struct Layout<'a> {
    pub net: &'a Net,
    pub vls: usize,
    base: Vec<usize>,
    size: usize,
}

impl<'a> Layout<'a> {
    pub fn new(net: &'a Net, vls: usize) -> Layout<'a> {
        let mut size = 0;
        let next = |side: &usize| {
            let start = size;
            size += side * side * vls;
            start
        };
        let base = net.sides.iter().map(next).collect();
        Layout { net, vls, base, size }
    }

    fn slot(&self, row: usize, input: PortNum, lane: usize, output: PortNum) -> usize {
        self.base[row] + (input.index() * self.vls + lane) * self.net.sides[row] + output.index()
    }

    /// Every input and output of a switch, with the channels that lead in and out, where both have cables.
    pub fn turns(&self) -> impl Iterator<Item = Turn> + '_ {
        let net = self.net;
        let inputs = net.heads.iter().enumerate().filter_map(|(inward, head)| match *head {
            Head::Switch { row, input } => Some((row as usize, input, inward)),
            _ => None,
        });
        inputs.flat_map(move |(row, input, inward)| {
            let outputs = (1..net.sides[row]).map(|output| PortNum(output as u8));
            let turn = move |output| Turn { row, input, inward, output, outward: net.channel(row, output) };
            outputs.map(turn).filter(|turn| net.heads[turn.outward] != Head::Nothing)
        })
    }
}

/// A way through a switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
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
pub(super) struct Dependencies {
    masks: Vec<LaneMask>,
}

impl Dependencies {
    pub fn none(layout: &Layout<'_>) -> Dependencies {
        Dependencies { masks: vec![0; layout.size] }
    }

    fn add(&mut self, layout: &Layout<'_>, row: usize, input: PortNum, from: LaneMask, output: PortNum, to: LaneMask) {
        lanes_of(from).for_each(|lane| self.masks[layout.slot(row, input, lane, output)] |= to);
    }

    /// The output lanes that packets in an input lane can wait for.
    pub fn at(&self, layout: &Layout<'_>, row: usize, input: PortNum, lane: usize, output: PortNum) -> LaneMask {
        self.masks[layout.slot(row, input, lane, output)]
    }

    /// Adds all of another's.
    pub fn unite(&mut self, other: &Dependencies) {
        self.masks.iter_mut().zip(&other.masks).for_each(|(own, other)| *own |= other);
    }

    /// How many lanes depend on how many: pairs.
    pub fn count(&self) -> usize {
        self.masks.iter().map(|mask| mask.count_ones() as usize).sum()
    }

    /// Lanes that packets can stand in or wait for.
    pub fn lanes(&self, layout: &Layout<'_>) -> LaneMask {
        let mut lanes = 0;
        for Turn { row, input, output, .. } in layout.turns() {
            for lane in 0..layout.vls {
                let to = self.masks[layout.slot(row, input, lane, output)];
                lanes |= if to == 0 { 0 } else { to | 1 << lane };
            }
        }
        lanes
    }

    /// Adds what packets latched in the stage before, and still waiting, depend on.
    fn carry_over(&mut self, before: &Dependencies, layout: &Layout<'_>, stage: usize, empty: LaneMask) {
        for Turn { row, input, inward, output, outward } in layout.turns() {
            if !layout.net.exists(stage, inward) || !layout.net.exists(stage, outward) {
                continue;
            }
            for lane in (0..layout.vls).filter(|lane| empty >> lane & 1 == 0) {
                let slot = layout.slot(row, input, lane, output);
                self.masks[slot] |= before.masks[slot] & !empty;
            }
        }
    }

    /// The graph over lanes; lane `channel × vls + vl`.
    pub fn graph(&self, layout: &Layout<'_>) -> Graph {
        Graph::new(layout.net.heads.len() * layout.vls, |tell| self.each_edge(layout, tell))
    }

    /// Tells every dependency by its lanes, numbered as in [`Self::graph`].
    pub fn each_edge(&self, layout: &Layout<'_>, tell: &mut dyn FnMut(u32, u32)) {
        let vls = layout.vls;
        for Turn { row, input, inward, output, outward } in layout.turns() {
            for lane in 0..vls {
                let to = self.masks[layout.slot(row, input, lane, output)];
                lanes_of(to).for_each(|next| tell((inward * vls + lane) as u32, (outward * vls + next) as u32));
            }
        }
    }
}

/// Collects the dependencies of every half and stage.
pub(super) struct Collector<'a> {
    layout: &'a Layout<'a>,
    lanes: &'a Lanes,
    /// By half, then stage.
    halves: [Vec<Dependencies>; 2],
    /// By stage: by group, then channel: the lanes that packets enter from injection channels.
    entered: Vec<Vec<LaneMask>>,
}

impl<'a> Collector<'a> {
    pub fn new(layout: &'a Layout<'a>, lanes: &'a Lanes, stages: usize) -> Collector<'a> {
        let half = || vec![Dependencies::none(layout); stages];
        let entered = vec![vec![0; lanes.groups.len() * layout.net.heads.len()]; stages];
        Collector { layout, lanes, halves: [half(), half()], entered }
    }

    /// The dependencies by half and stage, those latched in earlier stages included.
    pub fn finish(mut self, case: &Case<'_>, injection: &Injection) -> [Vec<Dependencies>; 2] {
        for stage in 0..self.entered.len() {
            self.add_injection(stage, injection);
        }
        for half in [Half::Lower, Half::Upper] {
            let stages = &mut self.halves[half.index()];
            for stage in 1..stages.len() {
                let facts = &case.stages[stage];
                if !facts.gone[half.index()] {
                    let (earlier, later) = stages.split_at_mut(stage);
                    later[0].carry_over(&earlier[stage - 1], self.layout, stage, facts.empty.0);
                }
            }
        }
        self.halves
    }

    fn add_injection(&mut self, stage: usize, injection: &Injection) {
        let net = self.layout.net;
        for (index, source) in net.sources.iter().enumerate().filter(|(_, source)| source.input != PortNum::ZERO) {
            for (group, lanes) in self.lanes.groups.iter().enumerate() {
                let from = injection.mask(stage, index, group);
                let outputs = (1..net.sides[source.row]).map(|output| PortNum(output as u8));
                for output in outputs.filter(|&output| output != source.input) {
                    let to = self.entered[stage][group * net.heads.len() + net.channel(source.row, output)];
                    let own = &mut self.halves[lanes.half.index()][stage];
                    own.add(self.layout, source.row, source.input, from, output, to);
                }
            }
        }
    }
}

impl Sink for Collector<'_> {
    /// What was collected for a stage is carried over to the next anyway.
    fn hears_repeats(&self) -> bool {
        false
    }

    fn hop(&mut self, class: &Class, _columns: &Columns, hop: &Hop) {
        let own = &mut self.halves[class.half.index()][hop.stage];
        own.add(self.layout, hop.row, hop.input, hop.from, hop.output, hop.to);
    }

    fn enter(&mut self, stage: usize, group: usize, channel: usize, to: LaneMask) {
        self.entered[stage][group * self.layout.net.heads.len() + channel] |= to;
    }
}

/// A lane of the graph as (channel, VL).
pub(super) fn lane_of(layout: &Layout<'_>, lane: u32) -> (PortId, u8) {
    let vls = layout.vls as u32;
    (PortId(lane / vls), (lane % vls) as u8)
}
