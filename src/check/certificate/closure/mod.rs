//! Verifies that the places which a certificate lists are closed: every next step of a packet there leads to a listed
//! place, or to the right port, and never to a switch that discards it.
//!
//! This is Lemma 3 of docs/PROOF.md: sets that are closed under rules 1 to 3 contain the least such sets, wherever
//! they come from. So nothing is searched: each listed place is examined once, and what follows from it must be
//! listed too.

mod rows;
mod sources;
mod steps;

use super::CertificateFault;
use super::file::Rows;
use super::kept::{FirstMoment, JudgedRows, KeptRow, Occupied};
use super::lanes::{Groups, Packed, for_all, of_any, of_group};
use super::lost::CutOffSwitches;
use super::moments::PlanMoments;
use super::net::{ChannelEnd, CheckedNet};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, VlSet};
use crate::plan::{Assumption, Plan};
use crate::tables::SubnetTables;
use sources::{Injected, answerer};
use std::collections::HashMap;
use std::sync::Arc;

/// The counts of the check; see [`Checked`](super::Checked).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ClosureCounts {
    pub channels: usize,
    pub lanes: usize,
    pub lids: usize,
    pub pairs: u64,
}

pub(super) struct Closure<'a> {
    plan: &'a Plan,
    fabric: &'a Fabric,
    pub net: &'a CheckedNet,
    pub moments: &'a PlanMoments<'a>,
    pub groups: &'a Groups,
    /// By port: whether the new routing omits it.
    stranded: Vec<bool>,
    /// Whether the plan assumes that switches discard packets that turn back.
    discards_turned_back: bool,
    /// The manager's port, unless the plan only assumes that its answers are legal.
    answerer: Option<Answerer>,
    /// By moment: the switches that end with another table than they begin with, where all begin with the one that they
    /// had at the end of the moment before; otherwise none.
    rewritten: Vec<Option<Vec<usize>>>,
    /// By moment and half: whether packets are sent, stay and find lanes as at the moment before.
    pub repeats: Vec<[bool; 2]>,
    /// By moment.
    pub injected: Vec<Injected>,
    /// By moment and half: by way through a switch, the lanes in which packets that can take it stand. Empty where
    /// the half has no packets.
    pub ways: Vec<[Vec<Packed>; 2]>,
    /// By moment and half: by channel, the lanes that packets of a source can go on into. Empty likewise.
    pub entered: Vec<[Vec<Packed>; 2]>,
    /// By moment and half: the lanes of switches' channels that packets can stand in.
    pub standing: Vec<[u16; 2]>,
    /// By channel: lanes in which something can stand at some moment.
    occupied: Vec<u16>,
    found: ClosureCounts,
    /// The rows of the moment before the first wave, where they are to be kept.
    kept: Option<HashMap<(Lid, bool), KeptRow>>,
}

/// The manager's port among the sources.
#[derive(Clone, Copy)]
struct Answerer {
    port: PortId,
    switch: usize,
    /// Its place among the sources of the switch.
    place: usize,
}

/// A class that has rows.
#[derive(Clone, Copy)]
struct RowClass {
    lid: Lid,
    owner: PortId,
    /// The half of its service levels.
    half: Half,
    /// Whether these are answers of the manager: the LID is of the other half.
    answers: bool,
}

/// One DLID and its places.
struct Class {
    lid: Lid,
    owner: PortId,
    /// The switch to which the owner is cabled.
    at: Option<u32>,
    /// See [`RowClass`].
    half: Half,
    answers: bool,
    /// The last list of switches at which packets choose.
    choosing: Option<Vec<u8>>,
    /// By channel.
    lanes: Vec<Packed>,
    touched: Vec<u32>,
    /// Whether places have been added since this flag was last cleared.
    has_grown: bool,
    /// The lanes that it occupies at the moment counted last.
    counted: Occupied,
}

/// A class at a moment, and the outputs that switches name for it.
struct Now<'a> {
    moment: usize,
    class: &'a Class,
    /// By switch: old and new.
    outputs: &'a [[u8; 2]],
    /// The switches at which its packets may be lost.
    forsaken: &'a CutOffSwitches,
}

impl<'a> Closure<'a> {
    pub fn new(plan: &'a Plan, net: &'a CheckedNet, moments: &'a PlanMoments<'a>, groups: &'a Groups) -> Closure<'a> {
        let fabric = &*plan.draft().before;
        let mut stranded = vec![false; fabric.port_count()];
        plan.draft().stranded.iter().for_each(|port| stranded[port.index()] = true);
        let mut closure = Closure {
            plan,
            fabric,
            net,
            moments,
            groups,
            stranded,
            discards_turned_back: plan.draft().assumptions.contains(&Assumption::TurnedBackIsDiscarded),
            answerer: answerer(plan, net),
            rewritten: (0..moments.all.len()).map(|moment| rewritten(net, moments, moment)).collect(),
            repeats: Vec::new(),
            injected: Vec::new(),
            ways: moments.all.iter().map(|_| [Vec::new(), Vec::new()]).collect(),
            entered: moments.all.iter().map(|_| [Vec::new(), Vec::new()]).collect(),
            standing: vec![[0; 2]; moments.all.len()],
            occupied: vec![0; fabric.port_count()],
            found: ClosureCounts::default(),
            kept: None,
        };
        for moment in 0..moments.all.len() {
            let injected = closure.inject(moment);
            closure.injected.push(injected);
            let repeats = [Half::Lower, Half::Upper].map(|half| closure.repeats(moment, half));
            closure.repeats.push(repeats);
        }
        closure
    }

    /// Returns whether packets of a half are sent, stay and find lanes at a moment as at the moment before.
    fn repeats(&self, moment: usize, half: Half) -> bool {
        let Some(before) = moment.checked_sub(1) else { return false };
        let at = half.index();
        let [earlier, begins] = [&self.moments.all[before], &self.moments.all[moment]];
        let same_ways = earlier.ways[at].len() == begins.ways[at].len()
            && earlier.ways[at].iter().zip(&begins.ways[at]).all(|(one, other)| std::ptr::eq(*one, *other));
        let sends = |moment: usize| self.injected[moment].lanes.iter().flatten().map(move |lanes| lanes[at]);
        same_ways
            && !begins.gone[at]
            && begins.empty == VlSet::EMPTY
            && self.groups.repeats(moment)
            && sends(before).eq(sends(moment))
    }

    /// Has the rows of the moment before the first wave kept.
    pub fn keep(&mut self) {
        self.kept = Some(HashMap::new());
    }

    /// The rows that were kept, and their consequences at that moment.
    pub fn into_first_moment(mut self) -> Option<FirstMoment> {
        Some(FirstMoment {
            rows: self.kept.take()?,
            ways_taken: std::mem::take(&mut self.ways[0]),
            entered: std::mem::take(&mut self.entered[0]),
            occupied: std::mem::take(&mut self.occupied),
        })
    }

    /// Judges the rows of every DLID but those that a base has judged.
    pub fn check(
        &mut self,
        rows: &mut Rows<'_>,
        judged: Option<&JudgedRows<'_>>,
    ) -> Result<ClosureCounts, CertificateFault> {
        self.check_answerer()?;
        self.check_sending()?;
        if let Some(judged) = judged {
            let FirstMoment { ways_taken, entered, occupied, .. } = judged.first;
            (self.ways[0], self.entered[0]) = (ways_taken.clone(), entered.clone());
            self.occupied.clone_from(occupied);
        }
        let mut outputs = vec![[PortNum::NO_ROUTE.0; 2]; self.net.switches.len()];
        let mut lanes = vec![0; self.fabric.port_count()];
        for RowClass { lid, owner, half, answers } in self.rows_in_order() {
            if !self.moments.all.iter().any(|moment| moment.injected[half.index()]) {
                continue; // No source sends to it: it has no rows.
            }
            if let Some(judged) = judged
                && let Some(occupied) = judged.next(lid, answers, rows)?
            {
                for moment in 0..self.moments.all.len() {
                    self.count(occupied, half, moment)?;
                }
                self.found.lids += usize::from(occupied.pairs > 0 && !answers);
                continue;
            }
            let at = self.switch_of(owner);
            let (touched, counted) = (Vec::new(), Occupied::default());
            let mut class =
                Class { lid, owner, at, half, answers, choosing: None, lanes, touched, has_grown: false, counted };
            self.check_class(&mut class, rows, &mut outputs)?;
            class.touched.iter().for_each(|&channel| class.lanes[channel as usize] = 0);
            // One buffer serves all LIDs: only the entries that were touched are cleared.
            lanes = class.lanes;
        }
        self.found.channels = self.occupied.iter().filter(|&&lanes| lanes != 0).count();
        self.found.lanes = self.occupied.iter().map(|lanes| lanes.count_ones() as usize).sum();
        Ok(self.found)
    }

    /// The classes that have rows, in the order of the rows: LIDs with the half of their levels, answers last.
    fn rows_in_order(&self) -> Vec<RowClass> {
        let lids = (1..=self.fabric.max_lid().map_or(0, |lid| lid.0)).map(Lid);
        // Skipped are LIDs without an owner, and those of switches: only management uses them (assumption
        // `switch-management-paused`).
        let owned = lids.filter_map(|lid| {
            let owner = self.fabric.lid_owner(lid).filter(|&owner| self.net.is_end_port(owner))?;
            Some(RowClass { lid, owner, half: self.fabric.half_of(lid)?, answers: false })
        });
        let mut rows: Vec<_> = owned.collect();
        if let Some(answerer) = self.answerer {
            let is_base =
                |row: &&RowClass| self.fabric.port(row.owner).lid == Some(row.lid) && row.owner != answerer.port;
            let answer = |row: &RowClass| RowClass { half: row.half.other(), answers: true, ..*row };
            let answers: Vec<_> = rows.iter().filter(is_base).map(answer).collect();
            rows.extend(answers);
        }
        rows
    }

    fn switch_of(&self, owner: PortId) -> Option<u32> {
        match self.net.ends[owner.index()] {
            ChannelEnd::Switch(at, _) => Some(at),
            ChannelEnd::Port(_) | ChannelEnd::Nowhere => None,
        }
    }

    fn check_class(
        &mut self,
        class: &mut Class,
        rows: &mut Rows<'_>,
        outputs: &mut [[u8; 2]],
    ) -> Result<(), CertificateFault> {
        let mut under_way = false;
        let mut forsaken = CutOffSwitches::of_plan(self.plan.draft().begins_with_losses);
        for moment in 0..self.moments.all.len() {
            // The order matters: carried places plus the row are the whole set, and only then can every step out of it
            // be judged.
            class.has_grown = false;
            let stays = self.carry(class, moment);
            let is_steady = self.read_outputs(moment, class.lid, outputs);
            let choosing = self.read_row(class, moment, rows, outputs)?;
            if forsaken.counts(moment) && self.was_sent(class) {
                forsaken.begin(self.net, moment, outputs);
            }
            let (half, owner) = (class.half, class.owner);
            // Every step was judged at the moment before, from the same places to the same places. `rising` carries
            // over the waits there, as it does those of latched packets.
            let is_judged = stays
                && is_steady
                && !class.has_grown
                && self.repeats[moment][half.index()]
                && self.moments.admits(owner, moment, half) == self.moments.admits(owner, moment - 1, half);
            if !is_judged {
                let now = Now { moment, class, outputs, forsaken: &forsaken };
                self.check_sources(&now)?;
                self.check_places(&now)?;
                under_way |= !class.touched.is_empty();
                class.counted = self.occupied_by(class);
            }
            self.count(class.counted, class.half, moment)?;
            if let Some(kept) = self.kept.as_mut().filter(|_| moment == 0)
                && let Some(choosing) = choosing
            {
                let row =
                    KeptRow { choosing: choosing.then(|| class.choosing.clone()).flatten(), occupied: class.counted };
                kept.insert((class.lid, class.answers), row);
            }
        }
        self.found.lids += usize::from(under_way && !class.answers);
        Ok(())
    }

    /// Returns whether packets of the class's half were sent before the change. If none were, none were lost when
    /// something died.
    fn was_sent(&self, class: &Class) -> bool {
        self.moments.all[0].injected[class.half.index()] && self.moments.admits(class.owner, 0, class.half)
    }

    /// Keeps the places that the barrier before a moment left. Returns whether those are all of them.
    fn carry(&self, class: &mut Class, moment: usize) -> bool {
        let Class { lanes, touched, half, .. } = class;
        let mut stays = true;
        let begins = &self.moments.all[moment];
        // Rule 1. The places that are left are kept before the row is read, so an empty row means that there are no
        // others.
        let left = if begins.gone[half.index()] { 0 } else { !for_all(begins.empty.0) };
        touched.retain(|&channel| {
            let own = &mut lanes[channel as usize];
            let was = *own;
            *own &= if self.net.is_there(moment, channel as usize) { left } else { 0 };
            stays &= *own == was;
            *own != 0
        });
        stays
    }

    /// The lanes that a class occupies.
    fn occupied_by(&mut self, class: &Class) -> Occupied {
        let mut all: Packed = 0;
        let mut pairs = 0;
        for &channel in &class.touched {
            let lanes = class.lanes[channel as usize];
            self.occupied[channel as usize] |= of_any(lanes);
            all |= lanes;
            for group in 0..self.groups.count(class.half) {
                let lanes = of_group(lanes, group).count_ones() as usize;
                pairs += (lanes * self.groups.size(class.half, group)) as u64;
            }
        }
        Occupied { pairs, lanes: of_any(all) }
    }

    /// Adds the lanes that a class occupies at a moment to those of all classes.
    fn count(&mut self, occupied: Occupied, half: Half, moment: usize) -> Result<(), CertificateFault> {
        let Occupied { pairs, lanes } = occupied;
        self.found.pairs += pairs;
        self.standing[moment][half.index()] |= lanes;
        // Numbers exist for VLs below `vls` only. A higher lane would go unjudged, so it is refused.
        match u32::from(lanes) >> self.groups.vls {
            0 => Ok(()),
            _ => Err(CertificateFault::Form(format!("`vls` is {}, and higher lanes are in use", self.groups.vls))),
        }
    }

    fn name(&self, moment: usize) -> String {
        self.moments.all[moment].name.clone()
    }
}

/// See [`Closure::rewritten`]. Tables that are one in memory are equal; others count as different.
fn rewritten(net: &CheckedNet, moments: &PlanMoments<'_>, moment: usize) -> Option<Vec<usize>> {
    let [old, new] = moments.all[moment].tables;
    let [_, ended] = moments.all[moment.checked_sub(1)?].tables;
    let same =
        |a: &SubnetTables, b: &SubnetTables, node: NodeId| Arc::ptr_eq(&a.lfts[node.index()], &b.lfts[node.index()]);
    if !net.switches.iter().all(|&node| same(ended, old, node)) {
        return None;
    }
    Some((0..net.switches.len()).filter(|&switch| !same(old, new, net.switches[switch])).collect())
}
