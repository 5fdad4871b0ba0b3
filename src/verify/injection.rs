//! The contents of injection channels: the sources that can have packets of each group there, stage by stage.

use super::case::ProofCase;
use super::lanes::{HopLanes, LaneMask};
use super::net::FlatFabric;

/// Sources of one row that can inject one group in one stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed {
    pub row: usize,
    /// Range of the row's sources.
    pub first: usize,
    pub end: usize,
    /// The number of sources that inject, and of those among them that are not stranded, for which a loss is a fault.
    pub any: u32,
    pub firm: u32,
}

/// The packets that sources have in their injection channels.
pub(super) struct Injection {
    groups: usize,
    sources: usize,
    /// By stage, source and group.
    masks: Vec<LaneMask>,
    /// By stage and group.
    seeds: Vec<Vec<Seed>>,
    /// By stage and group: whether sources have the packets that they had at the stage before.
    repeats: Vec<bool>,
    /// By stage and group: whether they have no others.
    lessens: Vec<bool>,
}

/// What says who sends what into which lanes.
#[derive(Clone, Copy)]
struct Senders<'a> {
    case: &'a ProofCase<'a>,
    net: &'a FlatFabric,
    lanes: &'a HopLanes,
}

impl Injection {
    pub fn new(case: &ProofCase<'_>, net: &FlatFabric, lanes: &HopLanes) -> Injection {
        let senders = Senders { case, net, lanes };
        let (groups, sources) = (lanes.groups.len(), net.senders(0).len());
        let mut injection = Injection {
            groups,
            sources,
            masks: Vec::new(),
            seeds: Vec::new(),
            repeats: Vec::new(),
            lessens: Vec::new(),
        };
        for stage in 0..case.stages.len() {
            for source in 0..sources {
                let masks = (0..groups).map(|group| injection.mask_in(stage, source, group, senders));
                let masks: Vec<LaneMask> = masks.collect();
                injection.masks.extend(masks);
            }
            let seeds = (0..groups).map(|group| injection.seeds_in(stage, group, senders)).collect::<Vec<_>>();
            injection.seeds.extend(seeds);
            let same =
                |group| (0..sources).all(|at| injection.mask(stage, at, group) == injection.mask(stage - 1, at, group));
            let repeats: Vec<bool> = (0..groups).map(|group| stage > 0 && same(group)).collect();
            injection.repeats.extend(repeats);
            let less = |group| {
                (0..sources).all(|at| injection.mask(stage, at, group) & !injection.mask(stage - 1, at, group) == 0)
            };
            let lessens: Vec<bool> = (0..groups).map(|group| stage > 0 && less(group)).collect();
            injection.lessens.extend(lessens);
        }
        injection
    }

    /// The lanes of a source's injection channel that packets of a group can stand in.
    #[inline]
    pub fn mask(&self, stage: usize, source: usize, group: usize) -> LaneMask {
        self.masks[(stage * self.sources + source) * self.groups + group]
    }

    fn mask_in(&self, stage: usize, source: usize, group: usize, senders: Senders<'_>) -> LaneMask {
        let Senders { case, net, lanes } = senders;
        let (half, facts) = (lanes.groups[group].half(), &case.stages[stage]);
        let own = net.senders(stage)[source];
        if !own.is_switch() && !net.exists(stage, own.port.index()) {
            return 0;
        }
        let injects = facts.injects(half) && case.admits(own.port, stage, half);
        let fresh = if injects { lanes.at_source(stage, own.port, group) } else { 0 };
        // Rule 1 for injection channels: when a source no longer sends on a half, its channel still holds the packets
        // that it put there, until a barrier shows otherwise.
        let stays = stage > 0 && !facts.begins_without(half);
        fresh | if stays { self.mask(stage - 1, source, group) & !facts.empty.0 } else { 0 }
    }

    fn seeds_in(&self, stage: usize, group: usize, Senders { case, net, .. }: Senders<'_>) -> Vec<Seed> {
        let mut seeds: Vec<Seed> = Vec::new();
        for (index, source) in net.senders(stage).iter().enumerate() {
            let Some(row) = source.row.map(|row| row as usize) else { continue };
            // Sources come row by row, so the last seed is the one of this row, if there is one.
            if seeds.last().is_none_or(|seed| seed.row != row) {
                seeds.push(Seed { row, first: index, end: index, any: 0, firm: 0 });
            }
            let Some(seed) = seeds.last_mut() else { continue };
            seed.end = index + 1;
            let injects = self.mask(stage, index, group) != 0;
            seed.any += u32::from(injects);
            seed.firm += u32::from(injects && !case.stranded[source.port.index()]);
        }
        seeds.retain(|seed| seed.any > 0);
        seeds
    }

    /// Returns whether sources have at a stage the packets that they had at the one before.
    pub fn repeats(&self, stage: usize, group: usize) -> bool {
        self.repeats[stage * self.groups + group]
    }

    /// Returns whether they have no others.
    pub fn lessens(&self, stage: usize, group: usize) -> bool {
        self.lessens[stage * self.groups + group]
    }

    /// Returns whether two groups have the same packets at each source and stage.
    pub fn are_alike(&self, one: usize, other: usize) -> bool {
        self.masks.chunks(self.groups).all(|masks| masks[one] == masks[other])
    }

    /// The switches at which packets of a group can stand in injection channels.
    #[inline]
    pub fn seeds(&self, stage: usize, group: usize) -> &[Seed] {
        &self.seeds[stage * self.groups + group]
    }
}
