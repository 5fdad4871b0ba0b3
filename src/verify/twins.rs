//! Groups of service levels that differ by their lane alone, so that one of them is walked for all.
//!
//! Where every hop of every stage sends each group of a half on one lane, its own and everywhere the same, the closure
//! of one group is that of another with the lane exchanged, if the same sources send them by the same entries. That is
//! so where all SL-to-VL tables of a subnet are one and stay as they are, every source may send by every path, and no
//! barrier finds the lanes of some of the groups empty. The walk then costs no more than with a single lane.

use super::ProofWave;
use super::case::ProofCase;
use super::lanes::HopLanes;
use crate::ids::Half;

/// A group with its lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Twin {
    /// Index into the groups of [`HopLanes`].
    pub group: usize,
    pub lane: usize,
}

/// By half: all its groups where they are twins, otherwise none.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Twins([Vec<Twin>; 2]);

impl Twins {
    pub fn of(case: &ProofCase<'_>, lanes: &HopLanes) -> Twins {
        Twins([Half::Lower, Half::Upper].map(|half| of_half(case, lanes, half).unwrap_or_default()))
    }

    /// The groups of a half, its leader first; none where each is walked.
    pub fn of_half(&self, half: Half) -> &[Twin] {
        &self.0[half.index()]
    }

    /// Returns whether a group is walked.
    pub fn leads(&self, group: usize) -> bool {
        !self.0.iter().any(|twins| twins.iter().skip(1).any(|twin| twin.group == group))
    }
}

fn of_half(case: &ProofCase<'_>, lanes: &HopLanes, half: Half) -> Option<Vec<Twin>> {
    let groups = lanes.groups.iter().enumerate().filter(|(_, group)| group.half() == half);
    let twins: Vec<Twin> =
        groups.map(|(group, _)| Some(Twin { group, lane: lanes.only_lane(group)? })).collect::<Option<_>>()?;
    let leader = twins.first()?;
    let all = twins.iter().fold(0u16, |all, twin| all | 1 << twin.lane);
    // A barrier finds the lanes of all of them empty, or of none.
    let alike =
        |facts: &ProofWave<'_>| facts.ways[half.index()].is_empty() && [0, all].contains(&(facts.empty.0 & all));
    let distinct = all.count_ones() as usize == twins.len();
    let same_sources = twins.iter().all(|twin| lanes.have_same_sources(leader.group, twin.group));
    (distinct && same_sources && case.stages.iter().all(alike)).then_some(twins)
}
