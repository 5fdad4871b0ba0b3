//! Tries changes of entries against an order of lanes: kept where every mixture of old and new entries leaves the
//! dependencies without a cycle and leads nobody round, taken back otherwise.

use super::classes::SourceClasses;
use super::columns::{LidColumns, Ways};
use super::net::{HERE, NONE, Net};
use super::occupancy::{Entries, Occupancy, add_fair};
use super::order::LaneOrder;
use super::subject::{Ground, Moment, RepairSubject};

/// Within what a lost row is to have a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Within {
    /// The first wave.
    OneWave,
    /// Waves that wait for nothing.
    NoWait,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub row: u32,
    pub entry: u32,
}

/// A wave under construction: its old tables, its new ones as far as they are known, and the order that proves them.
pub(super) struct Trial<'s, 'a> {
    pub subject: &'s RepairSubject<'a>,
    /// The tables before each wave that this one follows with no barrier between: what they put anywhere is still
    /// there.
    earlier: Vec<LidColumns>,
    pub old: LidColumns,
    pub new: LidColumns,
    pub order: LaneOrder,
    moment: Moment,
    occupancy: Occupancy,
    feed: SourceClasses,
    /// The target in hand.
    pub target: usize,
    /// Its old entries.
    pub was: Vec<u32>,
    /// Its new entries.
    pub now: Vec<u32>,
    /// By row: whether its packets arrive by the old entries over what has survived.
    pub intact: Ways,
    /// By channel: whether rows whose packets arrived may have sent some into it, in this wave or an earlier one.
    fair: Vec<bool>,
    /// By row: the last search for a loop that came by.
    seen: Vec<u32>,
    search: u32,
    stack: Vec<u32>,
}

impl<'s, 'a> Trial<'s, 'a> {
    /// A wave that changes nothing yet; none where its tables by themselves have a cycle.
    pub fn new(
        subject: &'s RepairSubject<'a>,
        ground: &Ground,
        old: &LidColumns,
        moment: Moment,
    ) -> Option<Trial<'s, 'a>> {
        let (net, classes) = (&subject.net, &subject.classes);
        Some(Trial {
            order: ground.order(subject, old, moment)?,
            occupancy: Occupancy::new(net, classes),
            feed: SourceClasses::of(net, classes),
            intact: Ways::new(net),
            fair: vec![false; net.channels.len()],
            seen: vec![0; net.rows.len()],
            earlier: Vec::new(),
            old: old.clone(),
            new: old.clone(),
            subject,
            moment,
            target: usize::MAX,
            was: Vec::new(),
            now: Vec::new(),
            search: 0,
            stack: Vec::new(),
        })
    }

    /// The wave after this one, with no barrier between them: all dependencies that were admitted stay.
    pub fn follow_up(&mut self) {
        self.earlier.push(std::mem::replace(&mut self.old, self.new.clone()));
    }

    /// Begins again with the tables of the first wave, none of which changes yet.
    pub fn restart(&mut self) {
        if let Some(first) = self.earlier.drain(..).next() {
            self.old = first;
        }
        self.new = self.old.clone();
        self.order.roll_back(&self.subject.net, 0);
    }

    /// Turns to a target. Its entries so far count as new ones.
    pub fn turn_to(&mut self, target: usize) {
        let Trial { subject, earlier, old, new, order, occupancy, feed, was, now, intact, fair, .. } = self;
        self.target = target;
        order.visited += was.len() as u64;
        was.clear();
        was.extend_from_slice(old.column(target));
        now.clear();
        now.extend_from_slice(new.column(target));
        subject.feed(target, feed);
        let first = earlier.first().unwrap_or(old).column(target);
        subject.find_standing(first, feed, self.moment, occupancy, &mut |_, _| ());
        fair.fill(false);
        // What the entries changed so far let in was admitted then.
        let mut mix = |entries: Entries<'_>| {
            if subject.input.discards_turned_back {
                add_fair(&subject.net, intact, entries, fair);
            }
            if entries.old != entries.new {
                let way = subject.passage(feed, Moment::Aged, fair);
                occupancy.stir();
                occupancy.inject(&way, entries, &feed.now);
                occupancy.spread(&way, entries, &mut |_, _| true);
            }
        };
        for (at, before) in earlier.iter().enumerate() {
            mix(Entries { old: before.column(target), new: earlier.get(at + 1).unwrap_or(old).column(target) });
        }
        mix(Entries { old: was, new: now });
        intact.follow(&subject.net, was, &subject.net.alive);
    }

    /// The work of the subject so far, this trial included.
    pub fn work(&self) -> u64 {
        self.subject.work.get() + self.order.visited
    }

    /// Keeps what was admitted for the target in hand.
    pub fn keep(&mut self) {
        self.new.set(self.target, &self.now);
    }

    /// Where the trial of the target in hand stands.
    pub fn mark(&mut self) -> Mark {
        Mark { order: self.order.mark(), occupancy: self.occupancy.mark() }
    }

    /// Takes back dependencies and occupancy; the entries are the caller's.
    pub fn roll_back(&mut self, mark: Mark) {
        self.order.roll_back(&self.subject.net, mark.order);
        self.occupancy.roll_back(mark.occupancy);
    }

    /// Admits all of these changes or none.
    pub fn admit(&mut self, changes: &[Change]) -> bool {
        let mark = self.mark();
        let before: Vec<u32> = changes.iter().map(|change| self.now[change.row as usize]).collect();
        changes.iter().for_each(|change| self.now[change.row as usize] = change.entry);
        let admitted = self.flows(changes) && !changes.iter().any(|&change| self.goes_round(change));
        if !admitted {
            self.roll_back(mark);
            changes.iter().zip(before).for_each(|(change, entry)| self.now[change.row as usize] = entry);
        }
        admitted
    }

    /// Whether a change is admitted within what is asked if nothing else changes; none stays.
    pub fn could_admit(&mut self, change: Change, within: Within) -> bool {
        let row = change.row as usize;
        if self.was[row] == change.entry {
            return true;
        }
        let (mark, before) = (self.mark(), self.now[row]);
        let could = match within {
            Within::OneWave => self.admit(&[change]),
            // Where packets go from there depends on entries that an earlier wave may have replaced.
            Within::NoWait => self.turns(&[change]),
        };
        self.roll_back(mark);
        self.now[row] = before;
        could
    }

    /// Whether all that the changes let in closes no cycle.
    fn flows(&mut self, changes: &[Change]) -> bool {
        if !self.turns(changes) {
            return false;
        }
        let Trial { subject, order, occupancy, feed, was, now, fair, .. } = self;
        let way = subject.passage(feed, Moment::Aged, fair);
        let mut emit = |before, after| order.admit(&subject.net, before, after);
        occupancy.spread(&way, Entries { old: was, new: now }, &mut emit)
    }

    /// Whether what stands at the inputs of the rows closes no cycle by taking the new entries.
    fn turns(&mut self, changes: &[Change]) -> bool {
        let Trial { subject, order, occupancy, feed, intact, fair, .. } = self;
        let net = &subject.net;
        for change in changes.iter().filter(|change| Net::leads(&net.alive, change.entry)) {
            // Stays marked if the change is refused: that refuses more, never less.
            fair[change.entry as usize] |= intact.arrives(change.row as usize);
        }
        let way = subject.passage(feed, Moment::Aged, fair);
        // Every lane into the row may hold packets that now go on.
        order.visited += changes.iter().map(|change| net.into(change.row as usize).count() as u64).sum::<u64>();
        let mut emit = |before, after| order.admit(net, before, after);
        changes.iter().all(|change| occupancy.redirect(&way, change.row as usize, change.entry, &mut emit))
    }

    /// Whether some mixture leads from a new entry back to its row. Where nobody sends no dependency shows that.
    fn goes_round(&mut self, change: Change) -> bool {
        let Trial { subject, was, now, seen, search, stack, .. } = self;
        let (net, entries) = (&subject.net, Entries { old: was, new: now });
        if !Net::leads(&net.alive, change.entry) {
            return false;
        }
        *search += 1;
        stack.clear();
        stack.push(net.channel(change.entry).to);
        while let Some(row) = stack.pop() {
            if row == change.row {
                return true;
            }
            if std::mem::replace(&mut seen[row as usize], *search) == *search {
                continue;
            }
            let onward = entries.at(row as usize).filter(|&entry| Net::leads(&net.alive, entry));
            stack.extend(onward.map(|entry| net.channel(entry).to));
        }
        false
    }

    /// Whether a row may get an entry at all: over what remains, and nobody whose way was whole may be led to a row
    /// whose way is broken (rule c of docs/REPAIR.md).
    pub fn is_safe(&self, change: Change) -> bool {
        let net = &self.subject.net;
        match change.entry {
            HERE => true,
            NONE => !self.intact.arrives(change.row as usize),
            entry => {
                net.kept[entry as usize]
                    && (!self.intact.arrives(change.row as usize) || self.intact.arrives(net.to(entry)))
            }
        }
    }
}

impl Drop for Trial<'_, '_> {
    /// Its work counts, whatever becomes of it.
    fn drop(&mut self) {
        self.subject.work.set(self.work());
    }
}

/// A place to roll back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    order: usize,
    occupancy: usize,
}
