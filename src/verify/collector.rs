//! Collects the dependencies of a proof, by half and stage.

use super::case::ProofCase;
use super::dependencies::{Dependencies, DependencyLayout};
use super::lanes::LaneMask;
use super::proof_walk::{ProofSink, ProofWalk};
use super::walk::{Class, ClassHop, Columns, Entrance, Sink};
use crate::ids::{Half, PortNum};
use std::borrow::Cow;
use std::ops::Range;

/// Collects the dependencies of every half and stage.
pub(super) struct DependencyCollector<'a> {
    proof_walk: &'a ProofWalk<'a>,
    layout: &'a DependencyLayout<'a>,
    /// By half, then stage.
    halves: [Vec<Dependencies>; 2],
    /// By stage: by group, then channel: the lanes that packets enter from injection channels.
    entered: Vec<Vec<LaneMask>>,
}

/// The dependencies of the classes at one moment, as walked.
pub(super) struct WalkedDependencies {
    vls: usize,
    /// By row of its walk: where its masks lie.
    sections: Vec<Range<usize>>,
    halves: [Dependencies; 2],
    /// By group, then channel.
    entered: Vec<LaneMask>,
}

impl WalkedDependencies {
    /// Lanes of a channel.
    pub fn vls(&self) -> usize {
        self.vls
    }

    /// By half.
    pub fn halves(&self) -> &[Dependencies; 2] {
        &self.halves
    }
}

impl<'a> DependencyCollector<'a> {
    /// None yet; `layout` is that of the proof_walk.
    pub fn new(proof_walk: &'a ProofWalk<'a>, layout: &'a DependencyLayout<'a>) -> DependencyCollector<'a> {
        let stages = proof_walk.case.stages.len();
        let half = || vec![Dependencies::none(layout); stages];
        let entered = vec![vec![0; proof_walk.lanes.groups.len() * layout.net.channels()]; stages];
        DependencyCollector { proof_walk, layout, halves: [half(), half()], entered }
    }

    /// The dependencies walked of a case of one stage, without twins and injection.
    pub fn walked(self) -> WalkedDependencies {
        let [mut lower, mut upper] = self.halves;
        assert_eq!(lower.len(), 1, "the walk of one moment is kept");
        let halves = [lower.swap_remove(0), upper.swap_remove(0)];
        let entered = self.entered.into_iter().flatten().collect();
        WalkedDependencies { vls: self.layout.vls, sections: self.layout.sections().collect(), halves, entered }
    }

    /// Begins stage 0 with the results of an earlier walk; `rows` are the rows of that walk, by row of this one.
    pub fn begin_with(&mut self, walked: &WalkedDependencies, rows: impl Iterator<Item = Option<usize>>) {
        for (own, row) in self.layout.sections().zip(rows) {
            let Some(row) = row else { continue };
            for (half, earlier) in self.halves.iter_mut().zip(&walked.halves) {
                half[0].copy_section(own.clone(), earlier, walked.sections[row].clone());
            }
        }
        self.entered[0].copy_from_slice(&walked.entered);
    }

    /// This collector after a walk of leading classes alone: their twins have the same steps on their own lanes.
    pub fn with_twins(mut self) -> Self {
        let (channels, vls) = (self.layout.net.channels(), self.layout.vls);
        for half in [Half::Lower, Half::Upper] {
            let Some((leader, others)) = self.proof_walk.twins.of_half(half).split_first() else { continue };
            for stage in &mut self.halves[half.index()] {
                stage.copy_lane(vls, leader.lane, others.iter().map(|twin| twin.lane));
            }
            for entered in &mut self.entered {
                for twin in others {
                    for channel in 0..channels {
                        let enters = entered[leader.group * channels + channel] != 0;
                        entered[twin.group * channels + channel] |= if enters { 1 << twin.lane } else { 0 };
                    }
                }
            }
        }
        self
    }

    /// The dependencies by half and stage, those latched in earlier stages included.
    pub fn finish(mut self) -> [Vec<Dependencies>; 2] {
        for stage in 0..self.entered.len() {
            self.add_injection(stage);
        }
        // Rule 4, stage after stage, since a latched packet may wait through several. It comes after the injection,
        // whose dependencies are latched like any others.
        for half in [Half::Lower, Half::Upper].into_iter().filter(|&half| self.proof_walk.case.is_used(half)) {
            let stages = &mut self.halves[half.index()];
            for stage in 1..stages.len() {
                let facts = &self.proof_walk.case.stages[stage];
                if !facts.begins_without(half) {
                    let (earlier, later) = stages.split_at_mut(stage);
                    later[0].carry_over(&earlier[stage - 1], self.layout, stage, facts.empty.0);
                }
            }
        }
        self.halves
    }

    /// Adds what packets of sources wait for, at the end: all sources of a switch that treats its inputs alike wait
    /// for the same lanes, so the walk enters those once for all of them.
    fn add_injection(&mut self, stage: usize) {
        let ProofWalk { net, lanes, injection, .. } = self.proof_walk;
        for (index, source) in net.senders(stage).iter().enumerate().filter(|(_, source)| !source.is_switch()) {
            let Some(row) = source.row.map(|row| row as usize) else { continue };
            for (group, levels) in lanes.groups.iter().enumerate() {
                let from = injection.mask(stage, index, group);
                if from == 0 {
                    continue;
                }
                let outputs = (1..net.sides[row]).map(|output| PortNum(output as u8));
                // Only packets for the source itself leave by its own port, and it sends none of those.
                for output in outputs.filter(|&output| output != source.input) {
                    let to = self.entered[stage][group * net.channels() + net.channel(row, output)];
                    let own = &mut self.halves[levels.half().index()][stage];
                    own.add(self.layout, &ClassHop { stage, row, input: source.input, from, output, to, origin: () });
                }
            }
        }
    }
}

impl Sink for DependencyCollector<'_> {
    /// The dependencies of a stage are carried over to the next anyway.
    fn hears_repeats(&self) -> bool {
        false
    }

    #[inline]
    fn hop(&mut self, class: &Class, _columns: &Columns, hop: &ClassHop) {
        let own = &mut self.halves[self.proof_walk.half(class).index()][hop.stage];
        own.add(self.layout, hop);
    }

    #[inline]
    fn enter(&mut self, class: &Class, Entrance { stage, channel, to, .. }: Entrance) {
        self.entered[stage][class.group * self.layout.net.channels() + channel] |= to;
    }
}

impl ProofSink for DependencyCollector<'_> {}

/// The dependencies of both halves at a stage.
pub(super) fn united<'h>(
    case: &ProofCase<'_>,
    halves: &'h [Vec<Dependencies>; 2],
    stage: usize,
) -> Cow<'h, Dependencies> {
    let [lower, upper] = halves;
    match [Half::Lower, Half::Upper].map(|half| case.is_used(half)) {
        [_, false] => Cow::Borrowed(&lower[stage]),
        [false, true] => Cow::Borrowed(&upper[stage]),
        [true, true] => {
            let mut all = lower[stage].clone();
            all.unite(&upper[stage]);
            Cow::Owned(all)
        }
    }
}

/// Returns whether the dependencies collected of one moment have no cycle.
pub(super) fn is_acyclic(
    proof_walk: &ProofWalk<'_>,
    layout: &DependencyLayout<'_>,
    collector: DependencyCollector<'_>,
) -> bool {
    // Where one half is in use its twins wait for one another as their leader does, each on its own lane: a cycle of
    // one twin is a cycle of all.
    let both = [Half::Lower, Half::Upper].iter().all(|&half| proof_walk.case.is_used(half));
    let collector = if both { collector.with_twins() } else { collector };
    let halves = collector.finish();
    united(&proof_walk.case, &halves, 0).graph(layout, 0).is_acyclic()
}
