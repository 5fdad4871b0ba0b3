//! Verifies that the places which a certificate lists are closed: every next step of a packet there leads to a listed
//! place, or to the right port, and never to a switch that discards it.
//!
//! This is Lemma 3 of docs/PROOF.md: sets that are closed under rules 1 to 3 contain the least such sets, wherever
//! they come from. So nothing is searched: each listed place is examined once, and what follows from it must be
//! listed too.

use super::CertificateFault;
use super::base::{CheckBase, FirstMoment, KeptRow};
use super::file::Rows;
use super::lanes::{DISCARDS, Groups, Packed, for_all, of_any, of_group, spread};
use super::lost::Forsaken;
use super::moments::{PlanMoment, PlanMoments};
use super::net::{ChannelEnd, CheckedNet, Outlet};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, VlSet};
use crate::plan::{Assumption, Plan};
use crate::tables::SubnetTables;
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

/// The classes that sources can have in their channels at one moment.
pub(super) struct Injected {
    /// By switch: for each of its sources in order, by half.
    pub lanes: Vec<Vec<[Packed; 2]>>,
    /// By switch and half: all sources of the switch together.
    together: Vec<[Together; 2]>,
}

/// The manager's port among the sources.
#[derive(Clone, Copy)]
struct Answerer {
    port: PortId,
    switch: usize,
    /// Its place among the sources of the switch.
    place: usize,
}

/// Sources of one switch that treats its inputs alike.
#[derive(Clone, Copy, Default)]
struct Together {
    /// The groups that any of them has.
    present: Packed,
    /// Whether a loss of packets is a fault for one of them.
    firm: bool,
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

/// The lanes that a class occupies at a moment.
#[derive(Clone, Copy, Default)]
pub(super) struct Occupied {
    pub pairs: u64,
    pub lanes: u16,
}

/// A class at a moment, and the outputs that switches name for it.
struct Now<'a> {
    moment: usize,
    class: &'a Class,
    /// By switch: old and new.
    outputs: &'a [[u8; 2]],
    /// The switches at which its packets may be lost.
    forsaken: &'a Forsaken,
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
    pub fn into_base(mut self) -> Option<CheckBase> {
        let found = FirstMoment {
            rows: self.kept.take()?,
            ways_taken: std::mem::take(&mut self.ways[0]),
            entered: std::mem::take(&mut self.entered[0]),
            occupied: std::mem::take(&mut self.occupied),
        };
        CheckBase::with(self.plan, self.net, self.moments, self.groups.clone(), found)
    }

    /// Judges the rows of every DLID but those that a base has judged.
    pub fn check(&mut self, rows: &mut Rows<'_>, base: Option<&CheckBase>) -> Result<ClosureCounts, CertificateFault> {
        self.check_answerer()?;
        self.check_sending()?;
        let judged = base.and_then(|base| base.judged(self.plan, self));
        if let Some(judged) = &judged {
            let CheckBase { ways_taken, entered, occupied, .. } = judged.base();
            (self.ways[0], self.entered[0]) = (ways_taken.clone(), entered.clone());
            self.occupied.clone_from(occupied);
        }
        let mut outputs = vec![[PortNum::NO_ROUTE.0; 2]; self.net.switches.len()];
        let mut lanes = vec![0; self.fabric.port_count()];
        for RowClass { lid, owner, half, answers } in self.rows_in_order() {
            if !self.moments.all.iter().any(|moment| moment.injected[half.index()]) {
                continue; // Nobody sends to it: it has no rows.
            }
            if let Some(judged) = &judged
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

    /// Verifies that there is a source of the answers that the plan makes no assumption about.
    fn check_answerer(&self) -> Result<(), CertificateFault> {
        let special =
            |moment: &PlanMoment<'_>| moment.injected[Half::Upper.index()] || moment.ways.iter().any(|w| !w.is_empty());
        let named = self.plan.draft().assumptions.contains(&Assumption::AnswersAreLegal);
        if named || self.answerer.is_some() || !self.moments.all.iter().any(special) {
            return Ok(());
        }
        let what = format!(
            "the SM's port sends into no switch, so its answers cannot be followed, and the plan does not name `{}`",
            Assumption::AnswersAreLegal.name()
        );
        Err(CertificateFault::Plan { wave: "plan".to_string(), what })
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

    /// Verifies that sources send on lanes which their links carry, and that every port that takes part has a LID of
    /// each half in use.
    fn check_sending(&self) -> Result<(), CertificateFault> {
        for (moment, injected) in self.injected.iter().enumerate() {
            let fault = |what: String| Err(CertificateFault::Plan { wave: self.name(moment), what });
            for (sources, lanes) in self.net.sources.iter().zip(&injected.lanes) {
                for (source, lanes) in sources.iter().zip(lanes) {
                    let carried = for_all(self.net.carried[source.port.index()]);
                    if lanes.iter().any(|lanes| lanes & !carried != 0) {
                        let port = self.fabric.describe_port(source.port);
                        return fault(format!("{port} sends on a virtual lane that its link does not carry"));
                    }
                }
            }
            for half in [Half::Lower, Half::Upper] {
                let sent = self.moments.all[moment].injected[half.index()];
                let lacks = |&port: &PortId| {
                    let takes_part = !self.stranded[port.index()] && self.moments.admits(port, moment, half);
                    takes_part
                        && self.net.is_there(moment, port.index())
                        && self.fabric.half_lids(port, half).next().is_none()
                };
                if let Some(port) = self.fabric.end_ports().find(|port| sent && lacks(port)) {
                    let port = self.fabric.describe_port(port);
                    return fault(format!("{port} owns no LID of the {half} half, which is sent on"));
                }
            }
        }
        Ok(())
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
        let mut forsaken = Forsaken::of_plan(self.plan.draft().begins_with_losses);
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

    /// Reads the entries of a moment; `outputs` are those of the moment before, if there is one. Returns whether each
    /// entry is known to be the same as at that moment, old and new alike.
    fn read_outputs(&self, moment: usize, lid: Lid, outputs: &mut [[u8; 2]]) -> bool {
        let [old, new] = self.moments.all[moment].tables;
        let output = |tables: &SubnetTables, switch: usize| {
            let lft = &tables.lfts[self.net.switches[switch].index()];
            lft.get(lid).unwrap_or(PortNum::NO_ROUTE).0
        };
        match &self.rewritten[moment] {
            Some(switches) => {
                let mut is_steady = outputs.iter().all(|[old, new]| old == new);
                outputs.iter_mut().for_each(|outputs| outputs[0] = outputs[1]);
                for &switch in switches {
                    let entry = output(new, switch);
                    is_steady &= std::mem::replace(&mut outputs[switch][1], entry) == entry;
                }
                is_steady
            }
            None => {
                let outputs = outputs.iter_mut().enumerate();
                outputs.for_each(|(switch, outputs)| *outputs = [old, new].map(|tables| output(tables, switch)));
                false
            }
        }
    }

    /// Adds the places of a row to those that were left. A row that lists too many makes the check stricter, never
    /// weaker. Returns whether the row names switches at which packets choose; none where it lists channels.
    fn read_row(
        &self,
        class: &mut Class,
        moment: usize,
        rows: &mut Rows<'_>,
        outputs: &[[u8; 2]],
    ) -> Result<Option<bool>, CertificateFault> {
        match rows.byte()? {
            0 => Ok(Some(false)),
            1 => self.choose(class, moment, outputs).map(|()| Some(true)),
            2 => {
                class.choosing = Some(rows.slice(self.net.switches.len().div_ceil(8))?);
                self.choose(class, moment, outputs).map(|()| Some(true))
            }
            3 => self.list(class, moment, rows).map(|()| None),
            tag => Err(CertificateFault::Evidence(format!("a row of LID {} begins with {tag}", class.lid))),
        }
    }

    /// Adds the usual lanes of every output of the switches at which packets choose.
    fn choose(&self, class: &mut Class, moment: usize, outputs: &[[u8; 2]]) -> Result<(), CertificateFault> {
        let missing = || CertificateFault::Evidence(format!("LID {} has no row to be like", class.lid));
        let choosing = class.choosing.clone().ok_or_else(missing)?;
        let usual = self.groups.usual(moment, class.half);
        let bits = choosing.iter().enumerate().filter(|&(_, &byte)| byte != 0);
        let bits = bits.flat_map(|(at, &byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |b| at * 8 + b));
        for switch in bits {
            let Some(outputs) = outputs.get(switch) else {
                let what = format!("a row of LID {} names switch {switch}, beyond the last", class.lid);
                return Err(CertificateFault::Evidence(what));
            };
            for output in choices(*outputs) {
                if let Outlet::Port { channel, .. } | Outlet::Switch { channel, .. } =
                    self.net.outlet(moment, switch, output)
                {
                    class.add(channel, usual);
                }
            }
        }
        Ok(())
    }

    /// Adds channels with their lanes, one by one.
    fn list(&self, class: &mut Class, moment: usize, rows: &mut Rows<'_>) -> Result<(), CertificateFault> {
        let lid = class.lid;
        let damaged = |what: String| CertificateFault::Evidence(format!("a row of LID {lid} {what}"));
        let mut last = None;
        for _ in 0..rows.varint()? {
            let distance = rows.varint()? as usize;
            // Distances of zero would make a row of any length.
            if distance == 0 && last.is_some() {
                return Err(damaged("lists a channel twice".to_string()));
            }
            let channel = last.unwrap_or(0) + distance;
            last = Some(channel);
            if channel >= self.net.ends.len() || !self.net.is_sent(channel) || !self.net.is_there(moment, channel) {
                return Err(damaged(format!("names channel {channel}: no switch has it, or it is dead")));
            }
            let mut lanes: Packed = 0;
            for group in 0..self.groups.count(class.half) {
                let mask = rows.varint()?;
                let mask = u16::try_from(mask).map_err(|_| damaged(format!("has {mask} for a mask of lanes")))?;
                lanes |= Packed::from(mask) << (16 * group);
            }
            class.add(channel, lanes);
        }
        Ok(())
    }

    /// Verifies that whatever sources can send is listed.
    fn check_sources(&mut self, now: &Now<'_>) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        // Nobody sends to a newcomer before it takes part.
        if !self.moments.admits(class.owner, moment, class.half) {
            return Ok(());
        }
        if class.answers {
            return self.check_answers(now);
        }
        if !self.moments.all[moment].ways[class.half.index()].is_empty() {
            return self.check_selected(now);
        }
        for switch in 0..self.net.switches.len() {
            let Together { present, firm } = self.injected[moment].together[switch][class.half.index()];
            if present == 0 {
                continue;
            }
            // At the switch of the owner the sum over the sources would include the owner, which sends nothing to
            // itself.
            if class.at != Some(switch as u32) && self.groups.is_alike(moment, switch) {
                self.check_step(now, switch, None, present, firm)?;
            } else {
                self.check_each_source(now, switch)?;
            }
        }
        Ok(())
    }

    /// The same for answers: they come from the manager's port alone, and go to the base LID of the port that asked.
    fn check_answers(&mut self, now: &Now<'_>) -> Result<(), CertificateFault> {
        let Some(Answerer { switch, place, .. }) = self.answerer else { return Ok(()) };
        let half = now.class.half;
        let lanes = self.injected[now.moment].lanes[switch][place][half.index()] & self.asked(now);
        if lanes == 0 {
            return Ok(());
        }
        // Not firm: an answer may be lost, since the client asks again.
        self.check_step(now, switch, Some(self.net.sources[switch][place].input), spread(lanes), false)
    }

    /// The groups on which the owner of a class's DLID may ask the manager: answers have the level of their request.
    fn asked(&self, now: &Now<'_>) -> Packed {
        let (half, ways) = (now.class.half, &self.moments.all[now.moment].ways[now.class.half.index()]);
        match self.answerer.filter(|_| self.fabric.port(now.class.owner).lid == Some(now.class.lid)) {
            None => 0,
            Some(_) if ways.is_empty() => Packed::MAX,
            Some(answerer) => {
                let paths = 0..self.fabric.half_lids(answerer.port, half).count();
                let layers = paths
                    .flat_map(|path| ways.iter().filter_map(move |w| w.layer(now.class.owner, answerer.port, path)));
                layers.fold(0, |all, layer| all | self.groups.of_layer(half, layer))
            }
        }
    }

    /// The same where only the sources with a path to this DLID send.
    fn check_selected(&mut self, now: &Now<'_>) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        let (half, owner) = (class.half, class.owner);
        let Some(path) = self.fabric.half_lids(owner, half).position(|lid| lid == class.lid) else { return Ok(()) };
        for switch in 0..self.net.switches.len() {
            let alike = self.groups.is_alike(moment, switch);
            let mut together = Together::default();
            for place in 0..self.net.sources[switch].len() {
                let source = self.net.sources[switch][place];
                let ways = &self.moments.all[moment].ways[half.index()];
                // A source may send whatever any of the path layers allows.
                let layers = ways.iter().filter_map(|ways| ways.layer(source.port, owner, path));
                let mut open = layers.fold(0, |all, layer| all | self.groups.of_layer(half, layer));
                if self.answerer.is_some_and(|answerer| answerer.port == source.port) {
                    open |= self.asked(now);
                }
                let lanes = self.injected[moment].lanes[switch][place][half.index()] & open;
                if lanes == 0 || source.port == owner {
                    continue;
                }
                let firm = !self.stranded[source.port.index()];
                if alike {
                    together.present |= spread(lanes);
                    together.firm |= firm;
                } else {
                    self.check_step(now, switch, Some(source.input), spread(lanes), firm)?;
                }
            }
            if together.present != 0 {
                self.check_step(now, switch, None, together.present, together.firm)?;
            }
        }
        Ok(())
    }

    fn check_each_source(&mut self, now: &Now<'_>, switch: usize) -> Result<(), CertificateFault> {
        for place in 0..self.net.sources[switch].len() {
            let source = self.net.sources[switch][place];
            let lanes = self.injected[now.moment].lanes[switch][place][now.class.half.index()];
            // An owner sends nothing to itself.
            if lanes != 0 && source.port != now.class.owner {
                let firm = !self.stranded[source.port.index()];
                self.check_step(now, switch, Some(source.input), spread(lanes), firm)?;
            }
        }
        Ok(())
    }

    /// Verifies that whatever packets in listed places can do is listed.
    fn check_places(&mut self, now: &Now<'_>) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        for &channel in &class.touched {
            let ChannelEnd::Switch(switch, input) = self.net.ends[channel as usize] else { continue };
            let lanes = class.lanes[channel as usize];
            let (switch, half) = (switch as usize, class.half.index());
            // A packet in any lane of a group may go on to all that its table gives: the table looks at input, output
            // and level, not at the lane that it comes in on. So lanes spread to whole groups here.
            self.check_step(now, switch, Some(input), spread(lanes), true)?;
            let ways = &mut self.ways[moment][half];
            if ways.is_empty() {
                ways.resize(self.net.way_count, 0);
            }
            // A discarded packet waits for nothing.
            let goes_on = |&output: &usize| {
                output < self.net.sides[switch] && !(self.discards_turned_back && output == input.index())
            };
            for output in choices(now.outputs[switch]).filter(goes_on) {
                ways[self.net.way(channel as usize, switch, output)] |= lanes;
            }
        }
        Ok(())
    }

    /// Verifies one step through a switch: from an input (none: from every source of a switch that treats its inputs
    /// alike), by packets of the groups in `present`.
    fn check_step(
        &mut self,
        now: &Now<'_>,
        switch: usize,
        input: Option<PortNum>,
        present: Packed,
        firm: bool,
    ) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        let sides = self.net.sides[switch];
        for output in choices(now.outputs[switch]) {
            let channel = match self.net.outlet(moment, switch, output) {
                // Rows exist for LIDs of end ports only, so port 0 never belongs to the owner.
                Outlet::Own => return Err(self.wrong(now, self.fabric.describe_node(self.net.switches[switch]))),
                outlet @ (Outlet::Hole | Outlet::Dead) => {
                    // Packets sent towards a dead link vanish and hold no lane. That is a loss where they had a way; on
                    // a half that no source sent on before, the death explains no loss.
                    let may_lose = now.forsaken.may_lose(switch, outlet == Outlet::Dead);
                    if !(self.was_sent(class) && now.forsaken.counts(moment) && may_lose) {
                        self.check_hole(now, switch, output, firm)?;
                    }
                    continue;
                }
                Outlet::Port { at, .. } if at != class.owner => {
                    return Err(self.wrong(now, self.fabric.describe_port(at)));
                }
                Outlet::Port { channel, .. } => channel,
                Outlet::Switch { channel, next } => {
                    if self.discards_turned_back && input.is_some_and(|input| input.index() == output) {
                        self.check_turned_back(now, switch, next, channel)?;
                        continue;
                    }
                    if now.forsaken.leads_astray(switch, next) {
                        self.check_astray(now, switch, output)?;
                    }
                    channel
                }
            };
            let through =
                self.groups.through(moment, switch, class.half, sides, input.map_or(0, PortNum::index), output);
            // `through` covers all groups of the half; only those that are present count.
            let next = through & present;
            if next & for_all(DISCARDS) != 0 {
                let (moment, lid) = (self.name(moment), class.lid);
                let switch = self.fabric.describe_node(self.net.switches[switch]);
                return Err(CertificateFault::Hole { moment, switch, lid, what: "it sends them to VL 15".to_string() });
            }
            if next & !for_all(self.net.carried[channel]) != 0 {
                return Err(self.not_carried(now, channel));
            }
            // Rules 2 and 3, the closure itself: what can happen next is listed.
            if next & !class.lanes[channel] != 0 {
                return Err(self.not_closed(now, switch, input, channel, next));
            }
            // Nothing waits for a source's channel, so its lanes need no number (Lemma 3). The drain must still cover
            // its dependencies.
            if input.is_none_or(|input| self.net.is_source(switch, input)) {
                let entered = &mut self.entered[moment][class.half.index()];
                if entered.is_empty() {
                    entered.resize(self.net.ends.len(), 0);
                }
                entered[channel] |= next;
            }
        }
        Ok(())
    }

    fn check_hole(&self, now: &Now<'_>, switch: usize, output: usize, firm: bool) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        if !firm || self.is_omitted(now) {
            return Ok(());
        }
        let what = match output {
            255 => "it has no route".to_string(),
            _ => format!("its port {output} has no cable, or a dead one"),
        };
        let switch = self.fabric.describe_node(self.net.switches[switch]);
        Err(CertificateFault::Hole { moment: self.name(moment), switch, lid: class.lid, what })
    }

    /// Judges packets that would leave by the port they came in by, `channel`, to the switch they came from: they are
    /// discarded, and all of them must have been lost already when they left it.
    fn check_turned_back(
        &self,
        now: &Now<'_>,
        switch: usize,
        before: usize,
        channel: usize,
    ) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        let ChannelEnd::Switch(_, sent_by) = self.net.ends[channel] else { unreachable!("a channel into a switch") };
        let sent = moment > 0 && self.was_sent(class);
        if sent && now.forsaken.sent_only_lost(before, sent_by) || self.is_omitted(now) {
            return Ok(());
        }
        let what = "they come in by the port that they are to leave by".to_string();
        let switch = self.fabric.describe_node(self.net.switches[switch]);
        Err(CertificateFault::Hole { moment: self.name(moment), switch, lid: class.lid, what })
    }

    /// Judges a step from a switch that has a way to one that has lost its own.
    fn check_astray(&self, now: &Now<'_>, switch: usize, output: usize) -> Result<(), CertificateFault> {
        let Now { moment, class, .. } = *now;
        if self.is_omitted(now) {
            return Ok(());
        }
        let what = format!("its port {output} leads packets that have a way to a switch that has lost its own");
        let switch = self.fabric.describe_node(self.net.switches[switch]);
        Err(CertificateFault::Hole { moment: self.name(moment), switch, lid: class.lid, what })
    }

    /// The exceptions of Theorem 3: owners that the new routing omits, those that died, and answers.
    fn is_omitted(&self, now: &Now<'_>) -> bool {
        let Now { moment, class, .. } = *now;
        let owner = class.owner.index();
        class.answers || self.stranded[owner] || moment > 0 && !self.net.is_there(moment, owner)
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

    fn inject(&self, moment: usize) -> Injected {
        let begins = &self.moments.all[moment];
        // The barrier before this moment applies to the places of the moment before; moments are added in order, so
        // that is the last one.
        let kept = begins.gone.map(|gone| if gone { 0 } else { !for_all(begins.empty.0) });
        let mut injected = Injected { lanes: Vec::new(), together: Vec::new() };
        for (switch, sources) in self.net.sources.iter().enumerate() {
            let of_source = |(place, source): (usize, &super::net::SourcePort)| {
                let there = self.net.is_there(moment, source.port.index());
                [Half::Lower, Half::Upper].map(|half| {
                    let sends = begins.injected[half.index()] && self.moments.admits(source.port, moment, half);
                    let fresh = if sends { self.groups.at_source(moment, switch, place, half) } else { 0 };
                    // Rule 1 for sources: what one had in its channel remains there until a barrier shows otherwise,
                    // even if it no longer sends.
                    let earlier = self.injected.last().map_or(0, |last| last.lanes[switch][place][half.index()]);
                    if there { fresh | earlier & kept[half.index()] } else { 0 }
                })
            };
            let lanes: Vec<[Packed; 2]> = sources.iter().enumerate().map(of_source).collect();
            let mut together = [Together::default(); 2];
            for (source, lanes) in sources.iter().zip(&lanes) {
                for (all, &lanes) in together.iter_mut().zip(lanes) {
                    all.present |= spread(lanes);
                    all.firm |= lanes != 0 && !self.stranded[source.port.index()];
                }
            }
            injected.together.push(together);
            injected.lanes.push(lanes);
        }
        injected
    }

    fn name(&self, moment: usize) -> String {
        self.moments.all[moment].name.clone()
    }

    fn wrong(&self, now: &Now<'_>, at: String) -> CertificateFault {
        CertificateFault::WrongArrival { moment: self.name(now.moment), lid: now.class.lid, at }
    }

    fn not_carried(&self, now: &Now<'_>, channel: usize) -> CertificateFault {
        let channel = self.fabric.describe_port(PortId(channel as u32));
        CertificateFault::NotCarried { moment: self.name(now.moment), lid: now.class.lid, channel }
    }

    fn not_closed(
        &self,
        now: &Now<'_>,
        switch: usize,
        input: Option<PortNum>,
        channel: usize,
        next: Packed,
    ) -> CertificateFault {
        let name = self.fabric.describe_node(self.net.switches[switch]);
        let from = match input {
            Some(input) => format!("port {input} of {name}"),
            None => format!("the hosts of {name}"),
        };
        let missing: Vec<String> =
            VlSet(of_any(next & !now.class.lanes[channel])).iter().map(|vl| vl.to_string()).collect();
        let to = format!("{} on VL {}", self.fabric.describe_port(PortId(channel as u32)), missing.join(", "));
        CertificateFault::NotClosed { moment: self.name(now.moment), lid: now.class.lid, from, to }
    }
}

impl Class {
    fn add(&mut self, channel: usize, lanes: Packed) {
        let held = &mut self.lanes[channel];
        self.has_grown |= lanes & !*held != 0;
        if *held == 0 && lanes != 0 {
            self.touched.push(channel as u32);
        }
        *held |= lanes;
    }
}

/// The manager's port among the sources; none where the plan assumes that its answers stay within the halves.
fn answerer(plan: &Plan, net: &CheckedNet) -> Option<Answerer> {
    let port = plan.draft().sm;
    if plan.draft().assumptions.contains(&Assumption::AnswersAreLegal) {
        return None;
    }
    net.sources.iter().enumerate().find_map(|(switch, sources)| {
        let place = sources.iter().position(|source| source.port == port)?;
        Some(Answerer { port, switch, place })
    })
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

/// Old and new, once where they agree.
fn choices([old, new]: [u8; 2]) -> impl Iterator<Item = usize> {
    std::iter::once(old).chain((old != new).then_some(new)).map(usize::from)
}
