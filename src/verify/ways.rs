//! Who may send to the DLID in hand, stage by stage: what path layers say, as masks of groups.

use super::lanes::{Group, Lanes};
use super::net::Net;
use super::walk::Case;
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid};
use crate::tables::PathLayers;
use std::sync::Arc;

/// Groups of service levels as a mask, bit g for group g.
type GroupMask = u16;

/// What is said of one half while some stages last.
struct Kind<'a> {
    half: Half,
    ways: &'a [Arc<PathLayers>],
    /// By source: the groups that it may send the DLID in hand on.
    masks: Vec<GroupMask>,
}

/// Whether a source may send to a DLID of `owner` on a group of service levels, as `ways` have it; everybody may where
/// there are none.
pub(super) fn admits(
    fabric: &Fabric,
    ways: &[Arc<PathLayers>],
    source: PortId,
    (owner, lid): (PortId, Lid),
    group: &Group,
) -> bool {
    let undivided = fabric.half_of(lid).is_none();
    let path = if undivided { Some(0) } else { fabric.half_lids(owner, group.half).position(|own| own == lid) };
    let Some(path) = path else { return false };
    let mut layers = ways.iter().filter_map(|ways| ways.layer(source, owner, path));
    ways.is_empty() || layers.any(|layer| group.sls.contains(&group.half.sl_of(layer)))
}

/// Who may send to one DLID after the other.
pub(super) struct Ways<'a> {
    kinds: Vec<Kind<'a>>,
    /// By stage and half: the kind; none where everybody may send on anything.
    kind_at: Vec<[Option<usize>; 2]>,
    /// By half and layer: the group of its service level.
    groups: [Vec<Option<usize>>; 2],
}

impl<'a> Ways<'a> {
    pub fn new(case: &'a Case<'_>, net: &Net, lanes: &Lanes) -> Ways<'a> {
        let mut kinds: Vec<Kind<'a>> = Vec::new();
        let mut kind_at = Vec::new();
        for facts in &case.stages {
            kind_at.push([Half::Lower, Half::Upper].map(|half| {
                let ways = facts.ways[half.index()].as_slice();
                let same = |kind: &Kind<'_>| kind.half == half && kind.ways == ways;
                (!ways.is_empty()).then(|| {
                    kinds.iter().position(same).unwrap_or_else(|| {
                        kinds.push(Kind { half, ways, masks: vec![0; net.sources.len()] });
                        kinds.len() - 1
                    })
                })
            }));
        }
        let group_of = |sl| lanes.groups.iter().position(|group| group.sls.contains(&sl));
        let groups = [Half::Lower, Half::Upper].map(|half: Half| half.sls().map(group_of).collect());
        Ways { kinds, kind_at, groups }
    }

    /// Turns to a DLID of `owner`.
    pub fn turn_to(&mut self, fabric: &Fabric, net: &Net, owner: PortId, lid: Lid) {
        for kind in &mut self.kinds {
            let mut lids = fabric.half_lids(owner, kind.half);
            let undivided = fabric.half_of(lid).is_none();
            let path = if undivided { Some(0) } else { lids.position(|own| own == lid) };
            let Some(path) = path else { continue };
            for (mask, source) in kind.masks.iter_mut().zip(&net.sources) {
                let layers = kind.ways.iter().filter_map(|ways| ways.layer(source.port, owner, path));
                let groups = layers.filter_map(|layer| *self.groups[kind.half.index()].get(usize::from(layer))?);
                *mask = groups.fold(0, |all, group| all | 1 << group);
            }
        }
    }

    /// By source: the groups that it may send the DLID in hand on; none where everybody may on each.
    pub fn at(&self, stage: usize, half: Half) -> Option<&[GroupMask]> {
        self.kind_at[stage][half.index()].map(|kind| self.kinds[kind].masks.as_slice())
    }

    /// Whether the same may send at a stage as at the one before.
    pub fn repeats(&self, stage: usize, half: Half) -> bool {
        self.kind_at[stage][half.index()] == self.kind_at[stage - 1][half.index()]
    }
}
