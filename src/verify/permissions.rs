//! The sources that may send to the current DLID, stage by stage: path layers as masks of groups.

use super::ProofWave;
use super::case::ProofCase;
use super::lanes::{Group, HopLanes};
use super::net::{FlatFabric, SendingPort};
use super::refusal::{Refusal, precondition};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, PortNum};
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
    /// By row: the groups on which any source there may.
    rows: Vec<GroupMask>,
    /// The groups on which the owner of the DLID may ask the manager, and so gets answers.
    asked: GroupMask,
}

/// A DLID and its owner.
#[derive(Clone, Copy)]
pub(super) struct OwnedLid {
    pub owner: PortId,
    pub lid: Lid,
}

impl OwnedLid {
    /// Returns whether it is the first LID of its owner: path bits 0.
    fn is_base(self, fabric: &Fabric) -> bool {
        fabric.port(self.owner).lid == Some(self.lid)
    }

    /// The path to the owner for which the DLID stands on a half; a LID without a half is the only one of its port.
    fn path(self, fabric: &Fabric, half: Half) -> Option<usize> {
        match fabric.half_of(self.lid) {
            None => Some(0),
            Some(_) => fabric.half_lids(self.owner, half).position(|own| own == self.lid),
        }
    }
}

/// Returns whether a source may send to a DLID on a group of service levels. Without `ways` every source may.
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

/// Returns whether the manager may answer to a DLID on a group of service levels: an answer goes to the base LID of the
/// port that asked, on the level of the request.
pub(super) fn may_answer(
    fabric: &Fabric,
    ways: &[Arc<PathLayers>],
    answerer: PortId,
    target: OwnedLid,
    group: &Group,
) -> bool {
    let asks = |layer| group.sls.contains(&group.half().sl_of(layer));
    target.is_base(fabric)
        && (ways.is_empty() || layers_to(fabric, ways, target.owner, answerer, group.half()).any(asks))
}

/// The layers on which a source may send to some port, by any path.
fn layers_to<'a>(
    fabric: &Fabric,
    ways: &'a [Arc<PathLayers>],
    source: PortId,
    owner: PortId,
    half: Half,
) -> impl Iterator<Item = u8> + use<'a> {
    let paths = fabric.half_lids(owner, half).count();
    (0..paths).flat_map(move |path| ways.iter().filter_map(move |ways| ways.layer(source, owner, path)))
}

/// The manager's port as the sender of answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answerer {
    /// The port.
    pub port: PortId,
    /// Its place among the senders of stage 0.
    pub place: usize,
    /// The row of its switch.
    pub row: usize,
    /// The port by which its packets enter the switch.
    pub input: PortNum,
}

impl Answerer {
    /// # Errors
    /// The port sends into no switch: nothing would be proved of its answers.
    pub fn of(case: &ProofCase<'_>, net: &FlatFabric) -> Result<Option<Answerer>, Refusal> {
        let Some(port) = case.answerer else { return Ok(None) };
        let found = net.senders(0).iter().enumerate().find(|(_, sender)| sender.port == port && !sender.is_switch());
        // Elsewhere answers go on the ways of everybody's packets.
        let special =
            |facts: &ProofWave<'_>| facts.injects(Half::Upper) || facts.ways.iter().any(|ways| !ways.is_empty());
        match found.and_then(|(place, sender)| Some((place, sender.row?, sender.input))) {
            Some((place, row, input)) => Ok(Some(Answerer { port, place, row: row as usize, input })),
            None if !case.stages.iter().any(special) => Ok(None),
            None => Err(precondition(
                &case.stages[0].name,
                format!(
                    "the SM's answers are to be proved, but {} is no end port that sends into a switch: put the SM on a \
                     cabled host, or name the assumption `answers-are-legal`",
                    case.fabric.describe_port(port)
                ),
            )),
        }
    }
}

/// The sources that may send to one DLID after the other.
pub(super) struct Permissions<'a> {
    /// The manager's port, where its answers are to be proved.
    answerer: Option<Answerer>,
    kinds: Vec<Kind<'a>>,
    /// By stage and half: the kind; none where every source may send on every group.
    kind_at: Vec<[Option<usize>; 2]>,
    /// By half and layer: the group of its service level.
    groups: [Vec<Option<usize>>; 2],
}

impl<'a> Permissions<'a> {
    pub fn new(
        case: &'a ProofCase<'_>,
        net: &FlatFabric,
        lanes: &HopLanes,
        answerer: Option<Answerer>,
    ) -> Permissions<'a> {
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
                        let (masks, rows) = (vec![0; net.senders(0).len()], vec![0; net.rows.len()]);
                        kinds.push(Kind { half, ways, masks, rows, asked: 0 });
                        kinds.len() - 1
                    })
                })
            }));
        }
        let group_of = |sl| lanes.groups.iter().position(|group| group.sls.contains(&sl));
        let groups = [Half::Lower, Half::Upper].map(|half: Half| half.sls().map(group_of).collect());
        Permissions { answerer, kinds, kind_at, groups }
    }

    /// Turns to a DLID.
    pub fn turn_to(&mut self, fabric: &Fabric, senders: &[SendingPort], target: OwnedLid) {
        for kind in &mut self.kinds {
            let groups = &self.groups[kind.half.index()];
            let group_of = |layer: u8| *groups.get(usize::from(layer))?;
            let answerer = self.answerer.filter(|_| target.is_base(fabric));
            let asking = answerer.map(|own| layers_to(fabric, kind.ways, target.owner, own.port, kind.half));
            kind.asked = asking.into_iter().flatten().filter_map(group_of).fold(0, |all, group| all | 1 << group);
            // A LID of the other half is in no class of this one but those of answers, which read `asked` alone: the
            // masks left from the last DLID are not read.
            let Some(path) = target.path(fabric, kind.half) else { continue };
            for (mask, source) in kind.masks.iter_mut().zip(senders) {
                let layers = kind.ways.iter().filter_map(|ways| ways.layer(source.port, target.owner, path));
                *mask = layers.filter_map(group_of).fold(0, |all, group| all | 1 << group);
            }
            if let Some(own) = answerer {
                kind.masks[own.place] |= kind.asked;
            }
            kind.rows.fill(0);
            for (mask, source) in kind.masks.iter().zip(senders) {
                source.row.iter().for_each(|&row| kind.rows[row as usize] |= mask);
            }
        }
    }

    /// The groups on which the owner of the DLID in hand may get answers.
    pub fn asked(&self, stage: usize, half: Half) -> GroupMask {
        self.kind_at[stage][half.index()].map_or(GroupMask::MAX, |kind| self.kinds[kind].asked)
    }

    /// By source: the groups on which it may send to the DLID in hand; none where every source may on each.
    #[inline]
    pub fn at(&self, stage: usize, half: Half) -> Option<&[GroupMask]> {
        self.kind_at[stage][half.index()].map(|kind| self.kinds[kind].masks.as_slice())
    }

    /// Returns whether any source of a row may send to the current DLID on a group.
    #[inline]
    pub fn opens(&self, stage: usize, half: Half, row: usize, group: usize) -> bool {
        self.kind_at[stage][half.index()].is_none_or(|kind| self.kinds[kind].rows[row] >> group & 1 == 1)
    }

    /// Returns whether a stage has the permissions of the stage before it.
    pub fn repeats(&self, stage: usize, half: Half) -> bool {
        self.kind_at[stage][half.index()] == self.kind_at[stage - 1][half.index()]
    }
}
