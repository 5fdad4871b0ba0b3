//! A repair under construction: its steps, one after the other, and the waves that come of them.

use super::balance::PairLoad;
use super::base::RepairBase;
use super::blanked::{self, Finished, Start};
use super::columns::{LidColumns, WantedLid};
use super::inward;
use super::joining;
use super::limits::{PROBE_WORK, STEP_WORK};
use super::net::{HERE, NONE};
use super::probe;
use super::reconnect::{self, Pass, SearchPreference, Unserved, WaySearch};
use super::subject::{Ground, Moment, RepairSubject};
use super::trial::{Trial, Within};
use super::up_down::SwitchOrder;
use super::{Changes, LostRow, Repair, RepairError, RepairWave, WavePurpose, relax, renew};
use crate::ids::PortNum;
use crate::tables::{LFT_BLOCK, Lft};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an attempt at wave 1 chooses by, among ways of equal length.
#[derive(Clone, Copy)]
enum Attempt {
    /// The load of channels.
    Load,
    /// The entries of the full re-route, if there is one, and then the load of channels.
    Reroute,
    /// Noise from a seed, so that other entries are admitted first than before.
    Noise(u64),
}

/// Attempts at wave 1, each with the LIDs first that the last one could not serve. Four were chosen by trial; any seeds
/// do.
const ATTEMPTS: [Attempt; 4] = [Attempt::Load, Attempt::Reroute, Attempt::Noise(154), Attempt::Noise(231)];

/// Attempts to make room, each with the lost rows in another order. Chosen by trial; the budget bounds them too.
const ROOM_SEEDS: std::ops::Range<u64> = 0..12;

/// How often rows are moved towards one guide before the next one is tried. Each time costs two waves with a wait
/// before either, and takes budget from the guides that follow. Chosen by trial.
const GUIDED_WAVES: usize = 6;

/// Orders to route by that are made of the order in force, and as many that begin at other switches, spread over all
/// rows. Each is a guide that takes part of the budget. Chosen by trial.
const OTHER_ORDERS: usize = 4;

/// A repair under construction: its waves so far, and what is still without a way.
pub(super) struct RepairInProgress<'s, 'a> {
    subject: &'s RepairSubject<'a>,
    ground: Ground,
    /// Before the first wave, then after each.
    tables: Vec<LidColumns>,
    /// Of each wave.
    steps: Vec<Step>,
    load: PairLoad,
    /// The load of the tables in force.
    load_before: PairLoad,
    /// What has no way yet.
    left: Vec<Unserved>,
    /// The full re-route.
    target: Option<LidColumns>,
    /// What that would write.
    full: Option<Changes>,
    /// LIDs with rows that had no way at first, and that have none after the first wave.
    broken: Vec<u32>,
    /// How far wave 1 has been tried.
    tried: Tried,
    /// The subject's work at which relaxing ends.
    relaxes_until: u64,
}

/// What a wave is.
#[derive(Clone, Copy)]
struct Step {
    purpose: WavePurpose,
    aged_before: bool,
}

impl Step {
    /// Whose packets are under way when the wave begins, if no barrier has been passed since the last one.
    fn moment(self) -> Moment {
        if self.aged_before { Moment::Aged } else { Moment::Loss }
    }
}

/// How far wave 1 has been tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tried {
    /// Not yet, or only for the LIDs of hosts.
    NotYet,
    /// Every lost row was tried.
    InFull,
    /// The first attempt ended for the work that it took, so some rows were not tried.
    CutShort,
    /// It was left out: nothing was tried.
    Skipped,
    /// It was given up, since some row was seen to be out of reach in one wave.
    OutOfReach,
}

/// What an attempt at wave 1 comes to.
struct Served {
    tables: LidColumns,
    left: Vec<Unserved>,
    load: PairLoad,
}

/// A state to go back to.
struct Saved {
    waves: usize,
    left: Vec<Unserved>,
    load: PairLoad,
}

impl<'s, 'a> RepairInProgress<'s, 'a> {
    /// From tables of which something may be known that fits the subject.
    pub fn new(
        subject: &'s RepairSubject<'a>,
        base: Option<&RepairBase>,
        columns: LidColumns,
        target: Option<LidColumns>,
    ) -> RepairInProgress<'s, 'a> {
        let mut load = PairLoad::none(&subject.net);
        let ground = match base {
            Some(base) => base.ground(subject, &mut load),
            None => Ground::survey(subject, &columns, &mut load),
        };
        let broken = ground.changing.iter().copied().filter(|&at| subject.targets[at as usize].wanted).collect();
        let (tables, steps, left) = (vec![columns], Vec::new(), Vec::new());
        let load_before = load.clone();
        let full = target.as_ref().map(|target| full(subject, &tables[0], target));
        RepairInProgress {
            subject,
            ground,
            tables,
            steps,
            load,
            load_before,
            left,
            target,
            full,
            broken,
            tried: Tried::NotYet,
            relaxes_until: 0,
        }
    }

    /// The same tables, with nothing tried yet, for a subject that differs from this one in what becomes of packets
    /// that turn back.
    pub fn anew<'o, 'b>(&self, subject: &'o RepairSubject<'b>) -> RepairInProgress<'o, 'b> {
        let columns = self.tables[0].clone();
        let (load, load_before) = (self.load_before.clone(), self.load_before.clone());
        RepairInProgress {
            subject,
            ground: self.ground.anew(),
            tables: vec![columns],
            steps: Vec::new(),
            load,
            load_before,
            left: Vec::new(),
            target: self.target.clone(),
            full: self.full,
            broken: self.broken.clone(),
            tried: Tried::NotYet,
            relaxes_until: 0,
        }
    }

    fn last(&self) -> &LidColumns {
        &self.tables[self.tables.len() - 1]
    }

    fn push(&mut self, purpose: WavePurpose, aged_before: bool, tables: LidColumns) {
        self.steps.push(Step { purpose, aged_before });
        self.tables.push(tables);
    }

    pub fn left_targets(&self) -> Vec<u32> {
        self.left.iter().map(|unserved| unserved.target).collect()
    }

    fn save(&self) -> Saved {
        Saved { waves: self.steps.len(), left: self.left.clone(), load: self.load.clone() }
    }

    fn restore(&mut self, saved: Saved) {
        self.steps.truncate(saved.waves);
        self.tables.truncate(saved.waves + 1);
        (self.left, self.load) = (saved.left, saved.load);
    }

    /// A wave from the tables in force, beside packets that are still under way.
    ///
    /// # Errors
    /// The tables in force can deadlock by themselves.
    pub fn at_loss(&self) -> Result<Trial<'s, 'a>, RepairError> {
        Trial::new(self.subject, &self.ground, &self.tables[0], Moment::Loss).ok_or_else(|| self.deadlock())
    }

    /// Wave 1: ways for lost rows at once. Once some row is refused, all attempts together end at [`STEP_WORK`]; only
    /// the first may spend `first_work`.
    pub fn reconnect(&mut self, trial: &mut Trial<'_, '_>, first_work: u64) {
        self.tried = Tried::InFull;
        self.begin_anew();
        let begun = trial.work();
        let (first_limit, limit) = (begun.saturating_add(first_work), begun.saturating_add(STEP_WORK));
        let mut search = WaySearch::new(&self.subject.net);
        let mut targets = self.broken.clone();
        let mut best: Option<Served> = None;
        for (at, attempt) in ATTEMPTS.into_iter().enumerate() {
            let is_first = at == 0;
            if !is_first && trial.work() >= limit {
                break;
            }
            let limit = if is_first { first_limit } else { limit };
            let served = self.attempt(trial, &mut search, attempt, &targets, limit);
            // Cut short, the first attempt has rows for which nothing was tried. The others have less to spend.
            if is_first && !served.left.is_empty() && trial.work() >= limit {
                self.tried = Tried::CutShort;
            }
            let failed: Vec<u32> = served.left.iter().map(|unserved| unserved.target).collect();
            if best.as_ref().is_none_or(|best| served.left.len() < best.left.len()) {
                best = Some(served);
            }
            if failed.is_empty() {
                break;
            }
            // What was admitted for others may be what refused them: they go first now.
            targets.retain(|target| !failed.contains(target));
            targets.splice(0..0, failed);
        }
        best.into_iter().for_each(|best| self.take(best));
    }

    /// The same, given up as soon as some row turns out to be out of reach in one wave.
    pub fn reconnect_if_all(&mut self, trial: &mut Trial<'_, '_>) {
        self.begin_anew();
        let mut search = WaySearch::new(&self.subject.net);
        // Without any work to spend, the attempt ends at the first row that is refused.
        let until_one_fails = self.attempt(trial, &mut search, Attempt::Load, &self.broken, 0);
        if until_one_fails.left.is_empty() {
            self.tried = Tried::InFull;
            self.take(until_one_fails);
        } else if self.is_out_of_reach(trial, &until_one_fails.left, Within::OneWave) {
            // Wave 1 is not made: waves without a wait begin with the tables in force (`inward`).
            (self.tried, self.left) = (Tried::OutOfReach, until_one_fails.left);
        } else {
            self.reconnect(trial, STEP_WORK);
        }
    }

    /// One attempt at wave 1 for the rows by which hosts send to hosts; whatever else is lost stays so.
    pub fn reconnect_hosts(&mut self, trial: &mut Trial<'_, '_>) {
        self.begin_anew();
        trial.restart();
        let subject = self.subject;
        let (mut load, mut search) = (self.load_before.clone(), WaySearch::new(&subject.net));
        let is_host = |&target: &u32| subject.targets[target as usize].host;
        let (targets, switches): (Vec<u32>, Vec<u32>) = self.broken.iter().copied().partition(is_host);
        let preference = SearchPreference { senders: true, ..SearchPreference::PLAIN };
        let pass = Pass { targets, prefer: &self.tables[0], toward: None, preference, whole: false, limit: u64::MAX };
        let mut left = reconnect::serve(trial, &mut search, &mut load, &pass);
        left.extend(switches.into_iter().map(|target| {
            let rows = search.missing(subject, target as usize, self.tables[0].column(target as usize));
            Unserved { target, rows }
        }));
        self.take(Served { tables: trial.new.clone(), left, load });
    }

    /// Back to the tables in force.
    fn begin_anew(&mut self) {
        self.tables.truncate(1);
        self.steps.clear();
        self.load = self.load_before.clone();
    }

    /// An attempt at wave 1. Once some row is refused, it ends when the subject's work has come to `limit`.
    fn attempt(
        &self,
        trial: &mut Trial<'_, '_>,
        search: &mut WaySearch,
        attempt: Attempt,
        targets: &[u32],
        limit: u64,
    ) -> Served {
        trial.restart();
        let mut load = self.load_before.clone();
        let (seed, toward) = match attempt {
            Attempt::Load => (SearchPreference::BY_LOAD, None),
            Attempt::Reroute => (SearchPreference::BY_LOAD, self.target.as_ref()),
            Attempt::Noise(seed) => (seed, None),
        };
        let preference = SearchPreference { seed, ..SearchPreference::PLAIN };
        let pass = Pass { targets: targets.to_vec(), prefer: &self.tables[0], toward, preference, whole: false, limit };
        let left = reconnect::serve(trial, search, &mut load, &pass);
        Served { tables: trial.new.clone(), left, load }
    }

    fn take(&mut self, served: Served) {
        if !self.broken.is_empty() {
            self.push(WavePurpose::Reconnect, false, served.tables);
        }
        (self.left, self.load) = (served.left, served.load);
    }

    /// Whether some row of these is seen to stay lost, as far as [`PROBE_WORK`] suffices.
    fn is_out_of_reach(&self, trial: &mut Trial<'_, '_>, left: &[Unserved], within: Within) -> bool {
        let limit = trial.work().saturating_add(PROBE_WORK);
        left.iter()
            .any(|unserved| trial.work() < limit && probe::is_out_of_reach(trial, unserved.target as usize, within))
    }

    /// Counts everything as left, where wave 1 is not worth an attempt.
    pub fn skip_reconnecting(&mut self) {
        let untried = |&target: &u32| Unserved { target, rows: Vec::new() };
        self.left = self.broken.iter().map(untried).collect();
        self.tried = Tried::Skipped;
    }

    /// Whether wave 1 has been tried for every lost row.
    pub fn is_tried_in_full(&self) -> bool {
        self.tried == Tried::InFull
    }

    /// Whether the first attempt at wave 1 ended for the work that it took, so that some rows were not tried.
    pub fn is_cut_short(&self) -> bool {
        self.tried == Tried::CutShort
    }

    /// What had rows without a way at first.
    #[cfg(test)]
    pub fn broken(&self) -> &[u32] {
        &self.broken
    }

    /// Whether every row has a way.
    pub fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    /// Waves with no barrier before them, if such waves serve everything. The search may spend `inward_work`.
    pub fn inward(&mut self, trial: &mut Trial<'_, '_>, inward_work: u64) {
        if !self.left.is_empty() && !self.is_out_of_reach(trial, &self.left, Within::NoWait) {
            self.search_inward(trial, inward_work);
        }
    }

    /// As [`RepairInProgress::inward`], without asking first whether anything is out of reach.
    pub fn search_inward(&mut self, trial: &mut Trial<'_, '_>, inward_work: u64) {
        let limit = trial.work().saturating_add(inward_work);
        let (subject, ground) = (self.subject, &self.ground);
        let start = Start { columns: &self.tables[0], targets: &self.broken, load: &self.load_before };
        let guides = blanked::guides_without_barrier(subject, self.target.as_ref(), start).map(Some).chain([None]);
        let mut found = None;
        for guide in guides {
            if trial.work() >= limit {
                return;
            }
            // A course that leaves rows saves no wait, and `finish` begins with wave 1.
            found = Some(inward::course(trial, start, guide.as_ref(), limit)).filter(|course| course.left.is_empty());
            if found.is_some() {
                break;
            }
        }
        let Some(mut course) = found else { return };
        course.in_two(subject, ground, start);
        // The course began with the tables in force, so it replaces what wave 1 had become.
        self.tables.truncate(1);
        self.steps.clear();
        (self.left, self.load) = (course.left, course.load);
        for (at, tables) in course.tables.into_iter().enumerate() {
            let purpose = if at == 0 { WavePurpose::Reconnect } else { WavePurpose::Finish };
            self.push(purpose, false, tables);
        }
    }

    /// Wave 2: what wave 1 left is blanked by it, and set anew once all that was sent before has left.
    ///
    /// # Errors
    /// The tables in force can deadlock by themselves.
    pub fn finish(&mut self) -> Result<(), RepairError> {
        if self.left.is_empty() {
            return Ok(());
        }
        let done = self.best_finish().ok_or_else(|| self.deadlock())?;
        // One wave does what wave 1 did and blanks what it left. So `done.blank` takes its place.
        self.tables.truncate(1);
        self.steps.clear();
        self.push(WavePurpose::Reconnect, false, done.blank);
        self.push(WavePurpose::Finish, true, done.after);
        (self.left, self.load) = (done.left, done.load);
        Ok(())
    }

    fn best_finish(&self) -> Option<Finished> {
        let (subject, ground, targets) = (self.subject, &self.ground, self.left_targets());
        let start = Start { columns: self.last(), targets: &targets, load: &self.load };
        let mut best = blanked::by_search(subject, ground, start)?;
        if best.left.is_empty() {
            return Some(best);
        }
        // From the beginning too: what wave 1 set may be what stands in the way.
        let fresh = Start { columns: &self.tables[0], targets: &self.broken, load: &self.load_before };
        // Guides have ways for every LID that was broken, so they serve what wave 1 left as well.
        let guides = blanked::guides(subject, self.target.as_ref(), fresh);
        let guided = |start| guides.iter().map(move |guide| (start, Some(guide)));
        for (start, guide) in guided(start).chain([(fresh, None)]).chain(guided(fresh)) {
            let found = match guide {
                Some(guide) => blanked::by_guide(subject, ground, start, guide),
                None => blanked::by_search(subject, ground, start),
            };
            best = found.filter(|found| found.left.len() < best.left.len()).unwrap_or(best);
            if best.left.is_empty() {
                break;
            }
        }
        Some(best)
    }

    /// Waves 3 and later: intact rows are moved until lost ones find ways, within the budget.
    pub fn relax(&mut self) {
        let saved = self.save();
        self.relaxes_until = self.subject.work.get().saturating_add(self.subject.input.budget.relax);
        self.make_room();
        self.follow_guides();
        // Waves that serve nothing more would only take time.
        if self.left.len() >= saved.left.len() {
            self.restore(saved);
        }
    }

    fn make_room(&mut self) {
        for seed in ROOM_SEEDS {
            if self.left.is_empty() || self.is_spent() {
                return;
            }
            let from = self.last().clone();
            let room = relax::Room { from: &from, left: &self.left, seed, limit: self.relaxes_until };
            let Some(moved) = relax::make_room(self.subject, &self.ground, &room) else { continue };
            let saved = self.save();
            // Every second seed keeps moves that served nothing: the next one then begins with other tables.
            if !self.set_anew(WavePurpose::Relax, moved) || self.left.len() >= saved.left.len() && seed % 2 == 0 {
                self.restore(saved);
            }
        }
    }

    /// Moves all tables towards others that are whole; lost rows find ways where these give way.
    fn follow_guides(&mut self) {
        let (mut orders, mut guide) = (self.other_orders().into_iter(), self.target.clone());
        let all: Vec<u32> = (0..self.subject.targets.len() as u32).collect();
        let none = PairLoad::none(&self.subject.net);
        while !self.left.is_empty() && !self.is_spent() {
            let own = || orders.next().map(|order| order.route(self.subject, &self.tables[0], all.clone(), &none));
            let Some(guide) = guide.take().or_else(own) else { return };
            let saved = self.save();
            // A wave moves only rows whose new entries are admitted beside the old ones. What it moves takes away old
            // dependencies, so the next wave can move more.
            for _ in 0..GUIDED_WAVES {
                let from = self.last().clone();
                let moved = renew::toward(self.subject, &self.ground, &from, &guide, self.relaxes_until);
                if self.left.is_empty()
                    || self.is_spent()
                    || !moved.is_some_and(|moved| self.set_anew(WavePurpose::Relax, moved))
                {
                    break;
                }
            }
            if !self.left.is_empty() {
                self.restore(saved);
            }
        }
    }

    fn is_spent(&self) -> bool {
        self.subject.work.get() >= self.relaxes_until
    }

    /// Restricted up*/down* on the repaired order, and on some that begin elsewhere.
    fn other_orders(&self) -> Vec<SwitchOrder> {
        let net = &self.subject.net;
        let mut orders: Vec<SwitchOrder> = Vec::new();
        if let Some(order) = self.subject.input.order {
            orders.extend((0..OTHER_ORDERS).map(|variant| SwitchOrder::repaired(net, order, variant)));
        }
        let rows: Vec<u32> = (0..net.rows.len() as u32).filter(|&row| net.stays[row as usize]).collect();
        orders.extend((0..OTHER_ORDERS).map(|at| SwitchOrder::from(net, rows[rows.len() * at / OTHER_ORDERS])));
        orders
    }

    /// Adds a wave to `moved`, and one that sets anew what has no way. Returns whether there are such waves.
    fn set_anew(&mut self, purpose: WavePurpose, moved: LidColumns) -> bool {
        let before = self.last();
        // The ground is what no wave changes. These LIDs change, so the wave itself counts what they cause.
        let changed: Vec<usize> = (0..self.subject.targets.len()).filter(|&at| before.differs(&moved, at)).collect();
        let mut load = self.load.clone();
        load.shift(&self.subject.net, &self.subject.targets, before, &moved, &changed);
        let ground = self.ground.with_changing(changed.into_iter());
        let targets = self.left_targets();
        let start = Start { columns: &moved, targets: &targets, load: &load };
        let Some(done) = blanked::by_search(self.subject, &ground, start) else { return false };
        self.ground = ground;
        // Both waves begin with what the tables before them lead, and nothing older: so each has a wait before it.
        // `hurry` drops the waits that are not needed.
        self.push(purpose, true, done.blank);
        self.push(WavePurpose::Finish, true, done.after);
        (self.left, self.load) = (done.left, done.load);
        true
    }

    /// Makes one wave of two where that proves.
    pub fn join(&mut self) {
        let mut at = 0;
        // The tables between two waves go where one wave from those before to those after keeps the rules. Joining may
        // make a third wave fit as well, so `at` stays.
        while at + 2 < self.tables.len() {
            // All waves that follow each other with no barrier between are proved together.
            let first = (0..=at).rfind(|&step| self.steps[step].aged_before).unwrap_or(0);
            let end = (at + 2..self.steps.len()).find(|&step| self.steps[step].aged_before).unwrap_or(self.steps.len());
            let joined: Vec<LidColumns> =
                (first..=end).filter(|&tables| tables != at + 1).map(|tables| self.tables[tables].clone()).collect();
            let moment = self.steps[first].moment();
            if joining::keeps_rules_b_c(self.subject, &self.ground, &self.tables[at], &self.tables[at + 2])
                && joining::proves(self.subject, &self.ground, &joined, moment)
            {
                self.tables.remove(at + 1);
                self.steps.remove(at + 1);
            } else {
                at += 1;
            }
        }
    }

    /// Waves towards the full re-route, so that balance does not decay over many repairs. The cost may rise before it
    /// falls, so waves go on to the limit, and those after the best one are dropped. Where the re-route is no
    /// better than what there is, and from where a wave towards it makes nothing better, there is none.
    pub fn renew(&mut self) {
        let Some(target) = self.target.take() else { return };
        let most = self.subject.input.budget.renewals;
        if most == 0 || !self.left.is_empty() {
            return;
        }
        let wanted = |at: &usize| self.subject.targets[*at].wanted && self.last().differs(&target, *at);
        let concerned: Vec<usize> = (0..self.subject.targets.len()).filter(wanted).collect();
        // The load that the re-route would have: without a gain there is nothing to renew towards.
        let mut aim = self.load.clone();
        aim.shift(&self.subject.net, &self.subject.targets, self.last(), &target, &concerned);
        if !aim.gains_on(&self.load) {
            return;
        }
        self.ground = self.ground.with_changing(concerned.iter().copied());
        let begun = self.load.clone();
        let mut best = self.save();
        for _ in 0..most {
            let from = self.last().clone();
            let Some(renewed) = renew::toward(self.subject, &self.ground, &from, &target, u64::MAX) else { break };
            self.load.shift(&self.subject.net, &self.subject.targets, &from, &renewed, &concerned);
            self.push(WavePurpose::Renew, true, renewed);
            if self.load.imbalance() < best.load.imbalance() && self.load.gains_on(&begun) {
                best = self.save();
            }
        }
        self.restore(best);
    }

    /// Does without `aged` where waves prove without it.
    pub fn hurry(&mut self) {
        // The first wave since the last barrier: with no barrier between, packets of all tables since then meet, so
        // they are proved together.
        let mut first = 0;
        for at in (0..self.steps.len()).filter(|&at| self.steps[at].aged_before).collect::<Vec<_>>() {
            let moment = if at == 0 { Moment::Loss } else { self.steps[first].moment() };
            if joining::proves(self.subject, &self.ground, &self.tables[first..at + 2], moment) {
                self.steps[at].aged_before = false;
            } else {
                first = at;
            }
        }
    }

    fn deadlock(&self) -> RepairError {
        let (net, fabric) = (&self.subject.net, self.subject.input.before);
        let planes = self.subject.classes.planes as u32;
        let lanes = self.ground.dependencies(self.subject, &self.tables[0], Moment::Loss).ring(net);
        let port = |lane: &u32| {
            let channel = net.channel(lane / planes);
            let node = net.rows[channel.from as usize];
            fabric.port_at(node, channel.port).map_or_else(String::new, |port| fabric.describe_port(port))
        };
        let named: Vec<String> = lanes.iter().map(port).collect();
        RepairError::Deadlock { cycle: named.join(" → ") }
    }

    /// The waves that change something.
    pub fn result(self) -> Repair {
        let mut lfts = self.subject.input.tables.lfts.clone();
        let (mut waves, mut aged) = (Vec::new(), false);
        for (step, pair) in self.steps.iter().zip(self.tables.windows(2)) {
            let changes = write(self.subject, &pair[0], &pair[1], &mut lfts);
            // A wave that changes nothing is omitted; the barrier before it is then the next one's.
            aged |= step.aged_before;
            if changes.entries > 0 {
                let aged_before = std::mem::take(&mut aged);
                waves.push(RepairWave { purpose: step.purpose, aged_before, lfts: lfts.clone(), changes });
            }
        }
        let rows = self.left.iter().flat_map(|unserved| {
            let lid = self.subject.targets[unserved.target as usize].lid;
            unserved.rows.iter().map(move |&row| LostRow { lid, switch: self.subject.net.rows[row as usize] })
        });
        let (unsolved, broken) = (rows.collect(), self.broken.len());
        let discards_turned_back = self.subject.input.discards_turned_back;
        Repair { waves, unsolved, full: self.full, discards_turned_back, broken }
    }
}

/// What differs between two tables, and what is done with each entry that does.
fn changes(
    subject: &RepairSubject<'_>,
    old: &LidColumns,
    new: &LidColumns,
    mut with: impl FnMut(&WantedLid, usize, u32),
) -> Changes {
    let (mut entries, mut blocks) = (0, BTreeSet::new());
    for (at, target) in subject.targets.iter().enumerate().filter(|&(at, _)| old.differs(new, at)) {
        for (row, (was, &now)) in old.column(at).iter().zip(new.column(at)).enumerate() {
            if *was != now {
                entries += 1;
                blocks.insert((row, target.lid.index() / LFT_BLOCK));
                with(target, row, now);
            }
        }
    }
    Changes { entries, blocks: blocks.len() }
}

/// Writes what differs between two tables into `lfts`.
fn write(subject: &RepairSubject<'_>, old: &LidColumns, new: &LidColumns, lfts: &mut [Arc<Lft>]) -> Changes {
    changes(subject, old, new, |target, row, now| {
        let port = match now {
            NONE => PortNum::NO_ROUTE,
            HERE => target.last,
            channel => subject.net.channel(channel).port,
        };
        Arc::make_mut(&mut lfts[subject.net.rows[row].index()]).set(target.lid, port);
    })
}

/// What a full re-route writes at switches that stay, for what is to be reached.
fn full(subject: &RepairSubject<'_>, old: &LidColumns, target: &LidColumns) -> Changes {
    let (mut wanted, mut column) = (old.clone(), Vec::new());
    for (at, _) in subject.targets.iter().enumerate().filter(|(_, target)| target.wanted) {
        column.clear();
        let stays = |row: usize| subject.net.stays[row];
        let rows = old.column(at).iter().zip(target.column(at)).enumerate();
        column.extend(rows.map(|(row, (&was, &now))| if stays(row) { now } else { was }));
        wanted.set(at, &column);
    }
    changes(subject, old, &wanted, |_, _, _| ())
}
