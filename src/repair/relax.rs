//! Makes room: where every way for a lost row closes a ring of lanes, the users of that ring's least used dependency
//! are led elsewhere, by changes of intact rows that are admitted like any others. A later wave, behind `aged`, then
//! finds the dependency gone.

use super::columns::{LidColumns, Ways};
use super::net::{HERE, Net};
use super::reconnect::{Random, Unserved};
use super::subject::{Ground, Moment, RepairSubject};
use super::trial::{Change, Trial};

/// The most rings that are broken for one dependency, before another entry is tried. Chosen by trial; the budget bounds
/// it too.
const RINGS: usize = 60;

/// Dependencies of a ring that are tried, the least used first. The others have more users, each of which must find
/// another way. Chosen by trial.
const TRIED: usize = 10;

/// Intact rows in motion.
struct Relax<'s, 'a> {
    trial: Trial<'s, 'a>,
    uses: Uses,
    ways: Ways,
    before: Ways,
    random: Random,
    /// Work after which it ends.
    limit: u64,
    moved: bool,
}

/// What room is made for.
pub(super) struct Room<'r> {
    pub from: &'r LidColumns,
    pub left: &'r [Unserved],
    pub seed: u64,
    /// Work after which it ends.
    pub limit: u64,
}

/// The tables after a wave that makes room for what has no way; none where nothing could be moved.
pub(super) fn make_room(subject: &RepairSubject<'_>, ground: &Ground, room: &Room<'_>) -> Option<LidColumns> {
    let trial = Trial::new(subject, ground, room.from, Moment::Aged)?;
    let net = &subject.net;
    let mut relax = Relax {
        uses: Uses::of(subject, room.from),
        ways: Ways::new(net),
        before: Ways::new(net),
        // Spread by 2^64 over the golden ratio, so that neighbouring seeds do not begin alike; odd, because the
        // generator never leaves zero.
        random: Random(room.seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        limit: room.limit,
        moved: false,
        trial,
    };
    let mut targets: Vec<u32> = room.left.iter().map(|unserved| unserved.target).collect();
    // Each target takes room that another might need, and nothing says which should come first: each seed tries another
    // order (Fisher and Yates).
    for at in (1..targets.len()).rev() {
        targets.swap(at, (relax.random.next() % (at as u64 + 1)) as usize);
    }
    for target in targets {
        relax.clear_for(target as usize);
    }
    relax.moved.then(|| relax.trial.new.clone())
}

impl Relax<'_, '_> {
    /// Imagines ways for the rows of a target one by one, each as short as can be, and makes room for each.
    fn clear_for(&mut self, target: usize) {
        let (subject, net) = (self.trial.subject, &self.trial.subject.net);
        let mut column = self.trial.new.column(target).to_vec();
        if column[subject.targets[target].row as usize] != HERE {
            return;
        }
        while self.trial.work() < self.limit {
            self.ways.follow(net, &column, &net.kept);
            let mut choices: Vec<(u32, u64, u32)> = Vec::new();
            for row in (0..net.rows.len()).filter(|&row| net.stays[row] && !self.ways.arrives(row)) {
                for channel in net.out(row).filter(|&channel| net.kept[channel as usize]) {
                    if self.ways.arrives(net.to(channel)) {
                        choices.push((self.ways.hops[net.to(channel)], self.random.next(), channel));
                    }
                }
            }
            // The imagined ways grow outward as in Dijkstra's search: the fewest hops first, noise among equals.
            choices.sort_unstable();
            let made = choices.into_iter().map(|(_, _, channel)| channel).find(|&channel| {
                let next = column[net.to(channel)];
                next == HERE || self.make_room(channel, next)
            });
            let Some(channel) = made else { break };
            let next = column[net.to(channel)];
            // Room that was made for this way must outlast the moves that make room for the next one.
            if next != HERE {
                self.uses.reserve(net, channel, next);
            }
            column[net.channel(channel).from as usize] = channel;
        }
    }

    /// Breaks the rings that a dependency would close, one after the other. Returns whether none is left.
    fn make_room(&mut self, before: u32, after: u32) -> bool {
        let net = &self.trial.subject.net;
        for _ in 0..RINGS {
            let Some(mut ring) = self.ring(before, after) else { return true };
            if self.trial.work() >= self.limit {
                return false;
            }
            // A dependency goes only when its last user goes, and one user that finds no other way undoes all moves.
            ring.sort_by_key(|&(before, after)| self.uses.count(net, before, after));
            if !ring.into_iter().take(TRIED).any(|(before, after)| self.lead_elsewhere(before, after)) {
                return false;
            }
        }
        false
    }

    /// A way back from `after` to `before` by dependencies that will still be there, as pairs of channels.
    fn ring(&mut self, before: u32, after: u32) -> Option<Vec<(u32, u32)>> {
        let planes = self.trial.subject.classes.planes as u32;
        let net = &self.trial.subject.net;
        let Relax { trial, uses, .. } = self;
        // The order still holds dependencies that only earlier entries have. After `aged` their packets are gone, so a
        // ring through one is no obstacle then.
        let stays = |before: u32, after: u32| uses.stays(net, before / planes, after / planes);
        let found =
            (0..planes).find_map(|plane| trial.order.way(net, after * planes + plane, before * planes + plane, stays));
        let way: Vec<u32> = found?.into_iter().map(|lane| lane / planes).collect();
        Some(way.windows(2).map(|pair| (pair[0], pair[1])).collect())
    }

    /// Leads every LID elsewhere that uses a dependency; false, with nothing changed, where one cannot be.
    fn lead_elsewhere(&mut self, before: u32, after: u32) -> bool {
        let (subject, net) = (self.trial.subject, &self.trial.subject.net);
        if self.uses.is_reserved(net, before, after) {
            return false;
        }
        let (from, through) = (net.channel(before).from as usize, net.to(before));
        let uses = |at: &usize| {
            let column = self.trial.new.column(*at);
            column[from] == before && column[through] == after
        };
        let users: Vec<usize> = (0..subject.targets.len()).filter(uses).collect();
        if users.is_empty() {
            return false;
        }
        let mark = self.trial.order.mark();
        let mut undo: Vec<(usize, Vec<u32>)> = Vec::new();
        for user in users {
            let was = self.trial.new.column(user).to_vec();
            if !self.move_one(user, [through, from]) {
                // The order keeps a trail; columns and counts have none. Each user's column is its own, so they may be
                // put back in any order, but `uses` counts `new`: the new column is taken out before `new` loses it.
                self.trial.order.roll_back(net, mark);
                for (user, was) in undo {
                    self.uses.change(net, self.trial.new.column(user), -1);
                    self.trial.new.set(user, &was);
                    self.uses.change(net, &was, 1);
                }
                return false;
            }
            undo.push((user, was));
        }
        self.moved = true;
        true
    }

    /// Gives one of two rows of a LID another entry: the row that a dependency passes, or the one before it.
    fn move_one(&mut self, target: usize, rows: [usize; 2]) -> bool {
        let net = &self.trial.subject.net;
        self.trial.turn_to(target);
        self.ways.follow(net, &self.trial.now, &net.kept);
        self.before.follow(net, &self.trial.was, &net.kept);
        let mut choices: Vec<(u32, u64, Change)> = Vec::new();
        for row in rows.into_iter().filter(|&row| self.trial.was[row] == self.trial.now[row]) {
            for channel in net.out(row).filter(|&channel| channel != self.trial.now[row]) {
                let change = Change { row: row as u32, entry: channel };
                let beyond = net.to(channel);
                // During the wave a packet may meet the old or the new entries beyond: both must deliver it.
                if self.trial.is_safe(change) && self.ways.arrives(beyond) && self.before.arrives(beyond) {
                    // Both ways are counted from `rows[1]`, one hop before `rows[0]`.
                    let further = u32::from(row == rows[0]);
                    choices.push((self.ways.hops[beyond] + 1 + further, self.random.next(), change));
                }
            }
        }
        choices.sort_unstable_by_key(|&(hops, noise, change)| (hops, noise, change.entry));
        let was = self.trial.now.clone();
        let done = choices.into_iter().any(|(_, _, change)| self.trial.admit(&[change]));
        if done {
            self.uses.change(net, &was, -1);
            self.uses.change(net, &self.trial.now, 1);
            self.trial.keep();
        }
        done
    }
}

/// How many LIDs use a dependency between channels by the new tables, and which are spoken for.
struct Uses {
    degree: usize,
    counts: Vec<u32>,
    reserved: Vec<bool>,
}

impl Uses {
    fn of(subject: &RepairSubject<'_>, columns: &LidColumns) -> Uses {
        let net = &subject.net;
        let (degree, channels) = (net.most_degree(), net.channels.len());
        let mut uses = Uses { degree, counts: vec![0; channels * degree], reserved: vec![false; channels * degree] };
        for target in 0..subject.targets.len() {
            uses.change(net, columns.column(target), 1);
        }
        uses
    }

    fn slot(&self, net: &Net, before: u32, after: u32) -> usize {
        before as usize * self.degree + net.channel(after).local as usize
    }

    fn change(&mut self, net: &Net, column: &[u32], by: i32) {
        for &before in column.iter().filter(|&&entry| Net::leads(&net.alive, entry)) {
            let after = column[net.to(before)];
            if Net::leads(&net.alive, after) {
                let slot = self.slot(net, before, after);
                self.counts[slot] = self.counts[slot].wrapping_add_signed(by);
            }
        }
    }

    fn count(&self, net: &Net, before: u32, after: u32) -> u32 {
        self.counts[self.slot(net, before, after)]
    }

    fn stays(&self, net: &Net, before: u32, after: u32) -> bool {
        let slot = self.slot(net, before, after);
        self.counts[slot] > 0 || self.reserved[slot]
    }

    fn reserve(&mut self, net: &Net, before: u32, after: u32) {
        let slot = self.slot(net, before, after);
        self.reserved[slot] = true;
    }

    fn is_reserved(&self, net: &Net, before: u32, after: u32) -> bool {
        self.reserved[self.slot(net, before, after)]
    }
}
