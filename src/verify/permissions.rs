//! Who may send to the DLID in hand, stage by stage: path layers as masks of groups.

use super::case::ProofCase;
use super::lanes::{Group, HopLanes};
use super::net::{FlatFabric, SendingPort};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid};
use crate::tables::PathLayers;
use std::sync::Arc;

/// Groups of service levels as a mask, bit g for group g.
type GroupMask = u16;

/// The path layers of one half, shared by the stages at which they are the same.
struct Kind<'a> {
    half: Half,
    ways: &'a [Arc<PathLayers>],
    /// By source: the groups on which it may send to the DLID in hand.
    masks: Vec<GroupMask>,
}

/// A DLID and its owner.
#[derive(Clone, Copy)]
pub(super) struct OwnedLid {
    pub owner: PortId,
    pub lid: Lid,
}

impl OwnedLid {
    /// Which path to the owner the DLID stands for on a half; a LID without a half is the only one of its port.
    fn path(self, fabric: &Fabric, half: Half) -> Option<usize> {
        match fabric.half_of(self.lid) {
            None => Some(0),
            Some(_) => fabric.half_lids(self.owner, half).position(|own| own == self.lid),
        }
    }
}

/// Whether a source may send to a DLID on a group of service levels. Without `ways` every source may.
pub(super) fn may_send(
    fabric: &Fabric,
    ways: &[Arc<PathLayers>],
    source: PortId,
    target: OwnedLid,
    group: &Group,
) -> bool {
    let Some(path) = target.path(fabric, group.half()) else { return false };
    let mut layers = ways.iter().filter_map(|ways| ways.layer(source, target.owner, path));
    ways.is_empty() || layers.any(|layer| group.sls.contains(&group.half().sl_of(layer)))
}

/// Who may send to one DLID after the other.
pub(super) struct Permissions<'a> {
    kinds: Vec<Kind<'a>>,
    /// By stage and half: the kind; none where every source may send on every group.
    kind_at: Vec<[Option<usize>; 2]>,
    /// By half and layer: the group of its service level.
    groups: [Vec<Option<usize>>; 2],
}

impl<'a> Permissions<'a> {
    pub fn new(case: &'a ProofCase<'_>, net: &FlatFabric, lanes: &HopLanes) -> Permissions<'a> {
        let mut kinds: Vec<Kind<'a>> = Vec::new();
        let mut kind_at = Vec::new();
        for facts in &case.stages {
            kind_at.push([Half::Lower, Half::Upper].map(|half| {
                let ways = facts.ways[half.index()].as_slice();
                // Stages with the same layers share one kind, so masks are computed once for each DLID, not once for
                // each stage.
                let same = |kind: &Kind<'_>| kind.half == half && kind.ways == ways;
                (!ways.is_empty()).then(|| {
                    kinds.iter().position(same).unwrap_or_else(|| {
                        kinds.push(Kind { half, ways, masks: vec![0; net.senders(0).len()] });
                        kinds.len() - 1
                    })
                })
            }));
        }
        let group_of = |sl| lanes.groups.iter().position(|group| group.sls.contains(&sl));
        let groups = [Half::Lower, Half::Upper].map(|half: Half| half.sls().map(group_of).collect());
        Permissions { kinds, kind_at, groups }
    }

    /// Turns to a DLID.
    pub fn turn_to(&mut self, fabric: &Fabric, senders: &[SendingPort], target: OwnedLid) {
        for kind in &mut self.kinds {
            // A LID of the other half is in no class of this one: the masks left from the last DLID are not read.
            let Some(path) = target.path(fabric, kind.half) else { continue };
            for (mask, source) in kind.masks.iter_mut().zip(senders) {
                let layers = kind.ways.iter().filter_map(|ways| ways.layer(source.port, target.owner, path));
                let groups = layers.filter_map(|layer| *self.groups[kind.half.index()].get(usize::from(layer))?);
                *mask = groups.fold(0, |all, group| all | 1 << group);
            }
        }
    }

    /// By source: the groups on which it may send to the DLID in hand; none where every source may on each.
    #[inline]
    pub fn at(&self, stage: usize, half: Half) -> Option<&[GroupMask]> {
        self.kind_at[stage][half.index()].map(|kind| self.kinds[kind].masks.as_slice())
    }

    /// Whether a stage permits what the stage before it permits.
    pub fn repeats(&self, stage: usize, half: Half) -> bool {
        self.kind_at[stage][half.index()] == self.kind_at[stage - 1][half.index()]
    }
}
