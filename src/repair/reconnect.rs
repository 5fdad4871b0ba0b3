//! Finds ways for the rows of one LID that have none, outward from those that have: Dijkstra's search in which an entry
//! counts only once every mixture with it is admitted.

use super::balance::PairLoad;
use super::columns::Ways;
use super::net::{HERE, NONE, Net};
use super::subject::RepairSubject;
use super::trial::{Change, Mark, Trial};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// What a search prefers.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchPreference<'t> {
    /// Entries that are tried before any others: those of a full re-route.
    pub toward: Option<&'t [u32]>,
    /// What a changed entry costs, in hops.
    pub change: u32,
    /// Ways of equal length go by load where this is [`SearchPreference::BY_LOAD`], else by noise from this seed.
    pub seed: u64,
    /// The most hops of noise that are added to the length of a way.
    pub stray: u32,
    /// Whether entries beside those of `toward` are tried.
    pub explore: bool,
    /// Whether rows that have a way are moved to entries of `toward` for those that find none.
    pub clears: bool,
    /// Whether only rows get ways at which end ports send.
    pub senders: bool,
}

impl SearchPreference<'_> {
    /// No seed.
    pub const BY_LOAD: u64 = 0;

    pub const PLAIN: SearchPreference<'static> = SearchPreference {
        toward: None,
        change: 1,
        seed: SearchPreference::BY_LOAD,
        stray: 0,
        explore: true,
        clears: false,
        senders: false,
    };
}

/// A row's candidate: hops, load, channel; the least first.
type Candidate = Reverse<(u32, u64, u32)>;

/// Scratch space of searches.
pub(super) struct WaySearch {
    /// By row: hops of the way found, [`NONE`] where there is none yet.
    hops: Vec<u32>,
    kept: Ways,
    heap: BinaryHeap<Candidate>,
    /// By row: end ports that send through it, once it has a way.
    behind: Vec<u64>,
    /// Pairs that this search put on channels.
    added: Vec<(u32, u64)>,
    random: Random,
}

/// Numbers that look random, the same for the same seed (Marsaglia's xorshift).
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }
}

impl WaySearch {
    pub fn new(net: &Net) -> WaySearch {
        WaySearch {
            hops: vec![NONE; net.rows.len()],
            kept: Ways::new(net),
            heap: BinaryHeap::new(),
            behind: vec![0; net.rows.len()],
            added: Vec::new(),
            random: Random(1),
        }
    }

    /// Gives the rows of the target in hand ways, as far as the trial admits them. `prefer` are entries that cost
    /// nothing, by row. Returns the rows that stay without.
    pub fn run(
        &mut self,
        trial: &mut Trial<'_, '_>,
        load: &mut PairLoad,
        prefer: &[u32],
        preference: SearchPreference<'_>,
    ) -> Vec<u32> {
        // Odd, because the generator never leaves zero.
        self.random = Random(preference.seed | 1);
        let mut left = self.missing(trial.subject, trial.target, &trial.now);
        if left.is_empty() {
            return left;
        }
        self.deliver(trial);
        if let Some(toward) = preference.toward {
            self.follow(trial, &left, toward);
        }
        left.retain(|&row| self.hops[row as usize] == NONE);
        if preference.explore {
            self.weigh(trial, &left);
            self.explore(trial, load, prefer, preference, &left);
        }
        // The load of this target is counted anew once it is served, over its whole column.
        self.added.drain(..).for_each(|(channel, pairs)| load.pairs[channel as usize] -= pairs);
        left.retain(|&row| self.hops[row as usize] == NONE);
        if let Some(toward) = preference.toward.filter(|_| preference.clears) {
            self.clear(trial, &left, toward);
        }
        left
    }

    /// The rows of a target that have no way to it by entries, but by cables.
    pub fn missing(&mut self, subject: &RepairSubject<'_>, target: usize, column: &[u32]) -> Vec<u32> {
        let net = &subject.net;
        self.kept.follow(net, column, &net.kept);
        self.hops.copy_from_slice(&self.kept.hops);
        let target = subject.targets[target].row as usize;
        let missing = |row: &u32| net.can_reach(*row as usize, target) && self.hops[*row as usize] == NONE;
        (0..net.rows.len() as u32).filter(missing).collect()
    }

    /// A target for which nothing is tried any more, if it has rows without a way.
    pub fn untried(&mut self, trial: &Trial<'_, '_>, target: u32) -> Option<Unserved> {
        let rows = self.missing(trial.subject, target as usize, trial.new.column(target as usize));
        Some(Unserved { target, rows }).filter(|unserved| !unserved.rows.is_empty())
    }

    /// The row that delivers needs its entry first.
    fn deliver(&mut self, trial: &mut Trial<'_, '_>) {
        let target = trial.subject.targets[trial.target];
        let row = target.row as usize;
        if self.hops[row] == NONE && target.wanted && trial.subject.net.stays[row] {
            let change = Change { row: target.row, entry: HERE };
            if trial.is_safe(change) && trial.admit(&[change]) {
                self.hops[row] = 0;
            }
        }
    }

    /// Takes the entries of other tables where they are admitted, the rows nearest by those first.
    fn follow(&mut self, trial: &mut Trial<'_, '_>, left: &[u32], toward: &[u32]) {
        let net = &trial.subject.net;
        self.kept.follow(net, toward, &net.kept);
        let mut order: Vec<u32> = left.iter().copied().filter(|&row| self.kept.arrives(row as usize)).collect();
        order.sort_by_key(|&row| self.kept.hops[row as usize]);
        for row in order {
            let own = trial.now[row as usize];
            // An entry that leads to a way again needs no write.
            for entry in [own, toward[row as usize]] {
                let change = Change { row, entry };
                let leads = Net::leads(&net.kept, entry) && self.hops[net.to(entry)] != NONE;
                if leads && self.hops[row as usize] == NONE && trial.is_safe(change) {
                    let kept = entry == trial.was[row as usize] && entry == own;
                    if kept || trial.admit(&[change]) {
                        self.hops[row as usize] = self.hops[net.to(entry)] + 1;
                    }
                }
            }
        }
    }

    /// Moves rows that have a way to entries of other tables where these lead those through them that have none, the
    /// rows nearest by those tables first: a later wave finds them there.
    fn clear(&mut self, trial: &mut Trial<'_, '_>, left: &[u32], toward: &[u32]) {
        let net = &trial.subject.net;
        self.kept.follow(net, toward, &net.kept);
        let mut on_the_way = BTreeSet::new();
        for &row in left {
            let mut at = row as usize;
            while self.kept.arrives(at) && on_the_way.insert((self.kept.hops[at], at as u32)) && toward[at] != HERE {
                at = net.to(toward[at]);
            }
        }
        for (_, row) in on_the_way {
            let change = Change { row, entry: toward[row as usize] };
            let leads = Net::leads(&net.kept, change.entry) && self.hops[net.to(change.entry)] != NONE;
            if leads
                && self.hops[row as usize] != NONE
                && trial.now[row as usize] != change.entry
                && trial.is_safe(change)
            {
                trial.admit(&[change]);
            }
        }
    }

    /// Counts the end ports behind each row that has no way, by the entries so far.
    fn weigh(&mut self, trial: &Trial<'_, '_>, left: &[u32]) {
        let net = &trial.subject.net;
        left.iter().for_each(|&row| self.behind[row as usize] = u64::from(net.ends[row as usize]));
        for &row in left {
            // Entries of lost rows may lead round: as many steps as there are rows see everything that is behind.
            let (mut at, mut steps) = (row as usize, 0);
            while let entry = trial.now[at]
                && Net::leads(&net.kept, entry)
                && steps < net.rows.len()
            {
                (at, steps) = (net.to(entry), steps + 1);
                self.behind[at] += u64::from(net.ends[row as usize]);
            }
        }
    }

    /// Dijkstra's search outward from rows that have a way: a row is settled by its cheapest channel that is admitted.
    /// A refused entry is not offered again: within a wave dependencies are only added, so it would be refused again.
    fn explore(
        &mut self,
        trial: &mut Trial<'_, '_>,
        load: &mut PairLoad,
        prefer: &[u32],
        preference: SearchPreference<'_>,
        left: &[u32],
    ) {
        let net = &trial.subject.net;
        self.heap.clear();
        for &row in left {
            for channel in net.out(row as usize) {
                if self.hops[net.to(channel)] != NONE {
                    self.offer(trial, load, prefer, preference, channel);
                }
            }
        }
        while let Some(Reverse((cost, weight, channel))) = self.heap.pop() {
            let (row, beyond) = (net.channel(channel).from as usize, net.to(channel));
            trial.order.visited += 1;
            if self.hops[row] != NONE {
                continue;
            }
            if preference.seed == SearchPreference::BY_LOAD {
                // Loads have risen since the offer. They only rise during a search, so what stays in front is the
                // least.
                let now = self.bottleneck(trial, load, channel);
                if now > weight {
                    self.heap.push(Reverse((cost, now, channel)));
                    continue;
                }
            }
            let change = Change { row: row as u32, entry: channel };
            let kept = trial.was[row] == channel && trial.now[row] == channel;
            if !trial.is_safe(change) || !(kept || trial.admit(&[change])) {
                continue;
            }
            self.hops[row] = self.hops[beyond] + 1;
            if trial.subject.targets[trial.target].host && !kept {
                self.burden(trial, load, row);
            }
            for arriving in net.into(row) {
                if self.hops[net.channel(arriving).from as usize] == NONE {
                    self.offer(trial, load, prefer, preference, arriving);
                }
            }
        }
    }

    /// Offers a channel to a row that has a way from its far end.
    fn offer(
        &mut self,
        trial: &Trial<'_, '_>,
        load: &PairLoad,
        prefer: &[u32],
        preference: SearchPreference<'_>,
        channel: u32,
    ) {
        let net = &trial.subject.net;
        let row = net.channel(channel).from as usize;
        if !net.kept[channel as usize] || !net.stays[row] || preference.senders && net.ends[row] == 0 {
            return;
        }
        // Paid by this row alone, and not carried on in `hops`: it weighs a row's write against one more hop, and rows
        // further out choose by how far it really is.
        let dearer = if prefer[row] == channel { 0 } else { preference.change };
        let noise =
            if preference.stray > 0 { (self.random.next() % u64::from(preference.stray + 1)) as u32 } else { 0 };
        let weight = if preference.seed == SearchPreference::BY_LOAD {
            self.bottleneck(trial, load, channel)
        } else {
            self.random.next()
        };
        self.heap.push(Reverse((self.hops[net.to(channel)] + 1 + dearer + noise, weight, channel)));
    }

    /// The most that a channel on the whole way carries: a full channel further on costs as much as one here.
    fn bottleneck(&self, trial: &Trial<'_, '_>, load: &PairLoad, channel: u32) -> u64 {
        let net = &trial.subject.net;
        let (mut most, mut entry) = (0, channel);
        while entry < HERE {
            most = most.max(load.pairs[entry as usize]);
            entry = trial.now[net.to(entry)];
        }
        most
    }

    /// Puts what is behind a row on its new way.
    fn burden(&mut self, trial: &Trial<'_, '_>, load: &mut PairLoad, row: usize) {
        let (net, pairs) = (&trial.subject.net, self.behind[row]);
        let mut entry = trial.now[row];
        while entry < HERE {
            load.pairs[entry as usize] += pairs;
            self.added.push((entry, pairs));
            entry = trial.now[net.to(entry)];
        }
    }
}

/// A wave that gives ways to what has none.
pub(super) struct Pass<'p> {
    /// The targets concerned, in the order in which they are served.
    pub targets: Vec<u32>,
    /// By target: entries that cost nothing.
    pub prefer: &'p super::columns::LidColumns,
    /// By target: entries that are tried first.
    pub toward: Option<&'p super::columns::LidColumns>,
    pub preference: SearchPreference<'static>,
    /// Whether a target that cannot be served in full is left as it was.
    pub whole: bool,
    /// Work of the subject after which nothing more is tried, once some target could not be served in full.
    pub limit: u64,
}

/// A target with rows that stay without a way.
#[derive(Clone, Debug)]
pub(super) struct Unserved {
    pub target: u32,
    pub rows: Vec<u32>,
}

/// Serves the targets of a pass one after the other. Returns what stays.
pub(super) fn serve(
    trial: &mut Trial<'_, '_>,
    search: &mut WaySearch,
    load: &mut PairLoad,
    pass: &Pass<'_>,
) -> Vec<Unserved> {
    let net = &trial.subject.net;
    let mut left = Vec::new();
    let mut ways = Ways::new(net);
    for &target in &pass.targets {
        let at = target as usize;
        let (wanted, host) = (trial.subject.targets[at].wanted, trial.subject.targets[at].host);
        if !wanted {
            continue;
        }
        if !left.is_empty() && trial.work() >= pass.limit {
            left.extend(search.untried(trial, target));
            continue;
        }
        trial.turn_to(at);
        let mark: Mark = trial.mark();
        let preference = SearchPreference { toward: pass.toward.map(|columns| columns.column(at)), ..pass.preference };
        let before = trial.now.clone();
        let mut rows = search.run(trial, load, pass.prefer.column(at), preference);
        if pass.whole && !rows.is_empty() {
            trial.roll_back(mark);
            trial.now.copy_from_slice(&before);
            rows = search.missing(trial.subject, at, &trial.now);
        } else if host {
            ways.follow(net, &before, &net.kept);
            load.subtract(net, &before, &ways);
            ways.follow(net, &trial.now, &net.kept);
            load.add(net, &trial.now, &ways);
        }
        trial.keep();
        if !rows.is_empty() {
            left.push(Unserved { target, rows });
        }
    }
    left
}
