//! Dependencies between lanes as bit sets, and an order in which each leads forward, kept while dependencies are added
//! one by one (Pearce and Kelly, *A dynamic topological sort algorithm for directed acyclic graphs*, ACM JEA 11, 2006).
//!
//! A lane is a channel on a plane: `channel × planes + plane`. What follows a lane are lanes out of one row, so a row
//! of bits, one for each channel and plane out of that row, holds them all; what precedes it likewise.
//!
//! Most additions need no search: their places ascend already. Most searches end in a refusal, and LID after LID asks
//! for the same. So once refusals have cost as much as finding out what leads where, that is found out and kept
//! ([`Reach`], [`Ancestors`]).

use super::net::Net;
use crate::verify::LaneGraph;
use rustc_hash::FxHashMap;

/// The bits of dependencies, both ways.
#[derive(Clone)]
pub(super) struct LaneBits {
    planes: usize,
    /// Words of one lane.
    words: usize,
    ahead: Vec<u64>,
    behind: Vec<u64>,
}

impl LaneBits {
    pub fn none(net: &Net, planes: usize) -> LaneBits {
        let words = (net.most_degree() * planes).div_ceil(64).max(1);
        let size = net.channels.len() * planes * words;
        LaneBits { planes, words, ahead: vec![0; size], behind: vec![0; size] }
    }

    fn lanes(&self) -> usize {
        self.ahead.len() / self.words
    }

    /// The bit of `after` among what follows `before`: word and mask.
    #[inline]
    fn ahead_bit(&self, net: &Net, before: u32, after: u32) -> (usize, u64) {
        let planes = self.planes as u32;
        let bit = net.channel(after / planes).local * planes + after % planes;
        (before as usize * self.words + (bit >> 6) as usize, 1 << (bit & 63))
    }

    /// The bit of `before` among what precedes `after`.
    #[inline]
    fn behind_bit(&self, net: &Net, before: u32, after: u32) -> (usize, u64) {
        let planes = self.planes as u32;
        let back = net.channel(before / planes).back;
        let bit = net.channel(back).local * planes + before % planes;
        (after as usize * self.words + (bit >> 6) as usize, 1 << (bit & 63))
    }

    #[inline]
    fn has(&self, net: &Net, before: u32, after: u32) -> bool {
        let (word, mask) = self.ahead_bit(net, before, after);
        self.ahead[word] & mask != 0
    }

    #[inline]
    pub fn add(&mut self, net: &Net, before: u32, after: u32) {
        // Both ways say the same at all times, so one look decides for both.
        let (word, mask) = self.ahead_bit(net, before, after);
        if self.ahead[word] & mask == 0 {
            self.ahead[word] |= mask;
            let (word, mask) = self.behind_bit(net, before, after);
            self.behind[word] |= mask;
        }
    }

    fn remove(&mut self, net: &Net, before: u32, after: u32) {
        let (word, mask) = self.ahead_bit(net, before, after);
        self.ahead[word] &= !mask;
        let (word, mask) = self.behind_bit(net, before, after);
        self.behind[word] &= !mask;
    }

    /// The same without what channels take part in that have died.
    pub fn surviving(&self, net: &Net) -> LaneBits {
        // Read from this one and removed from the copy: a removal changes words that an iterator may be going over.
        let (mut left, planes) = (self.clone(), self.planes as u32);
        let died = (0..net.channels.len() as u32).filter(|&channel| !net.alive[channel as usize]);
        for lane in died.flat_map(|channel| channel * planes..(channel + 1) * planes) {
            self.after(net, lane).for_each(|after| left.remove(net, lane, after));
            self.before(net, lane).for_each(|before| left.remove(net, before, lane));
        }
        left
    }

    /// The lanes that can be waited for by what stands in a lane.
    pub fn after(&self, net: &Net, lane: u32) -> impl Iterator<Item = u32> + use<'_> {
        let planes = self.planes as u32;
        let first = net.out(net.to(lane / planes)).start * planes;
        bits(self.ahead_of(lane)).map(move |bit| first + bit)
    }

    /// The lanes in which packets can stand that wait for a lane.
    fn before<'a>(&'a self, net: &'a Net, lane: u32) -> impl Iterator<Item = u32> + use<'a> {
        let row = net.channel(lane / self.planes as u32).from as usize;
        bits(self.behind(lane)).map(move |bit| self.lane_into(net, row, bit))
    }

    /// The lane into a row of which a bit there speaks.
    #[inline]
    fn lane_into(&self, net: &Net, row: usize, bit: u32) -> u32 {
        let planes = self.planes as u32;
        net.channel(net.out(row).start + bit / planes).back * planes + bit % planes
    }

    /// What follows a lane, by word of bits.
    #[inline]
    fn ahead_of(&self, lane: u32) -> &[u64] {
        &self.ahead[lane as usize * self.words..(lane as usize + 1) * self.words]
    }

    /// What precedes a lane, by word of bits.
    #[inline]
    fn behind(&self, lane: u32) -> &[u64] {
        &self.behind[lane as usize * self.words..(lane as usize + 1) * self.words]
    }

    /// By lane, its position in an order in which every dependency leads forward (Kahn); none where there is a cycle.
    fn positions(&self, net: &Net) -> Option<Vec<u32>> {
        let lanes = self.lanes();
        let count = |lane: usize| self.behind[lane * self.words..(lane + 1) * self.words].iter();
        let mut waiting: Vec<u32> =
            (0..lanes).map(|lane| count(lane).map(|word| word.count_ones()).sum::<u32>()).collect();
        let mut queue: Vec<u32> = (0..lanes as u32).filter(|&lane| waiting[lane as usize] == 0).collect();
        let mut next = 0;
        while let Some(&lane) = queue.get(next) {
            next += 1;
            for after in self.after(net, lane) {
                waiting[after as usize] -= 1;
                if waiting[after as usize] == 0 {
                    queue.push(after);
                }
            }
        }
        // The queue is the order. Lanes of a cycle, and all that they lead to, never come into it.
        let mut place = vec![0; lanes];
        queue.iter().zip(0..).for_each(|(&lane, at)| place[lane as usize] = at);
        (queue.len() == lanes).then_some(place)
    }

    /// The lanes of a shortest cycle; none without one.
    pub fn ring(&self, net: &Net) -> Vec<u32> {
        let graph = LaneGraph::new(self.lanes(), |emit| {
            (0..self.lanes() as u32).for_each(|lane| self.after(net, lane).for_each(|after| emit(lane, after)));
        });
        graph.order().err().map_or_else(Vec::new, |cycle| cycle.nodes)
    }

    /// Whether there is no cycle.
    pub fn is_acyclic(&self, net: &Net) -> bool {
        self.positions(net).is_some()
    }
}

fn bits(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    words.iter().zip(0u32..).flat_map(|(&word, at)| ones(word).map(move |bit| at * 64 + bit))
}

/// The bits that are set in a word, ascending.
#[inline]
fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        // 64 for a word without bits. The second line clears the lowest bit.
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// The lanes that a search has come by, as bits of their rows. Many lanes lead into one row, and nearly all that
/// follows one of them follows others, too: a word of bits shows at once what is new.
struct RowMarks {
    words: usize,
    /// By row: the last search that came by.
    search: Vec<u64>,
    bits: Vec<u64>,
}

impl RowMarks {
    fn none(net: &Net, words: usize) -> RowMarks {
        RowMarks { words, search: vec![0; net.rows.len()], bits: vec![0; net.rows.len() * words] }
    }

    /// Those of the bits in a word of a row that a search has not come by before.
    #[inline]
    fn fresh(&mut self, search: u64, row: usize, at: usize, word: u64) -> impl Iterator<Item = u32> + use<> {
        // Cleared where a search comes by for the first time, so a search costs nothing at rows that it never sees.
        if std::mem::replace(&mut self.search[row], search) != search {
            self.bits[row * self.words..(row + 1) * self.words].fill(0);
        }
        let seen = &mut self.bits[row * self.words + at];
        let fresh = word & !std::mem::replace(seen, *seen | word);
        ones(fresh).map(move |bit| at as u32 * 64 + bit)
    }
}

/// Words of a [`Reach`] that are made in the time in which a search visits a lane: the two kinds of work as one
/// measure.
const WORDS_PER_VISIT: usize = 8;

/// The most words of a [`Reach`]: 128 MiB, lanes of some 1300 switches of 36 ports on one plane. Where there are more,
/// what leads to single lanes is kept ([`Ancestors`]), in half as much.
const MOST_WORDS: usize = 1 << 24;

/// A dependency that was added. Numbers are never used twice, not even for the same dependency.
#[derive(Clone, Copy)]
struct Added {
    before: u32,
    after: u32,
    number: u64,
}

/// Which lanes lead to which.
struct Reach {
    words: usize,
    /// By lane: a bit for each lane that it leads to.
    bits: Vec<u64>,
    /// How much of the journal was kept then, and the number of the last addition in it. What is found holds as long
    /// as that one is there, since additions are taken back from the end.
    kept: usize,
    last: u64,
}

impl Reach {
    fn leads(&self, lane: u32, to: u32) -> bool {
        self.bits[lane as usize * self.words + to as usize / 64] >> (to % 64) & 1 == 1
    }
}

/// Which lanes lead to one lane.
struct Ancestors {
    /// By lane: whether it does.
    bits: Vec<u64>,
    /// As of a [`Reach`].
    kept: usize,
    last: u64,
    /// Lanes visited to find them.
    cost: u64,
}

/// Dependencies without a cycle, to which more can be added and taken back.
pub(super) struct LaneOrder {
    held: LaneBits,
    /// What leads where, once enough was refused. A wave asks the same for LID after LID, and for each cable of a row.
    reach: Option<Reach>,
    /// What leads to a lane behind which something was refused, in place of `reach` where that takes too much.
    ancestors: FxHashMap<u32, Ancestors>,
    /// By lane: lanes visited by searches that ended in a refusal behind it, since its `ancestors` were found.
    in_vain_behind: FxHashMap<u32, u64>,
    /// What it cost to find the `ancestors` of the last lane for which that was done: others are taken to be alike.
    usual_cost: u64,
    most_words: usize,
    /// Lanes visited by searches that ended in a refusal, since `reach` was computed.
    in_vain: u64,
    /// By lane: every dependency leads to a higher place.
    place: Vec<u32>,
    /// What was added, in order.
    journal: Vec<Added>,
    /// How many were ever added.
    added: u64,
    /// How much of the journal is kept: what came later is being tried.
    kept: usize,
    /// What the last search came by; each search takes two numbers, one for each direction.
    seen: RowMarks,
    search: u64,
    /// Scratch of `reorder`: lanes that `after` leads to.
    above: Vec<u32>,
    /// Scratch of `reorder`: lanes that lead to `before`.
    below: Vec<u32>,
    /// Lanes that searches have visited so far: the measure of work done.
    pub visited: u64,
}

impl LaneOrder {
    /// None where the dependencies have a cycle.
    pub fn of(net: &Net, held: LaneBits) -> Option<LaneOrder> {
        let place = held.positions(net)?;
        Some(LaneOrder {
            reach: None,
            ancestors: FxHashMap::default(),
            in_vain_behind: FxHashMap::default(),
            usual_cost: 0,
            most_words: MOST_WORDS,
            in_vain: 0,
            added: 0,
            kept: 0,
            seen: RowMarks::none(net, held.words),
            search: 0,
            above: Vec::new(),
            below: Vec::new(),
            visited: 0,
            journal: Vec::new(),
            held,
            place,
        })
    }

    /// Where the journal stands: for [`LaneOrder::roll_back`].
    pub fn mark(&mut self) -> usize {
        self.kept = self.journal.len();
        self.kept
    }

    /// Takes back everything added since the journal stood at `mark`. Places stay: they suit fewer dependencies too.
    pub fn roll_back(&mut self, net: &Net, mark: usize) {
        // A dependency is in the journal only if it was new, so none is removed that was there before the mark.
        for added in self.journal.drain(mark..) {
            self.held.remove(net, added.before, added.after);
        }
        self.kept = self.kept.min(mark);
    }

    /// Adds a dependency unless it would close a cycle. Returns whether it is there now.
    pub fn admit(&mut self, net: &Net, before: u32, after: u32) -> bool {
        if self.held.has(net, before, after) {
            return true;
        }
        if before == after {
            // A lane that waits for itself is a cycle of one, which places cannot show.
            return false;
        }
        // Where places ascend already nothing leads back, and no search is needed.
        if self.place[before as usize] > self.place[after as usize] {
            if self.is_known_to_lead(after, before) {
                return false;
            }
            let visited = self.visited;
            if !self.reorder(net, before, after) {
                self.learn(net, before, self.visited - visited);
                return false;
            }
        }
        self.held.add(net, before, after);
        self.added += 1;
        self.journal.push(Added { before, after, number: self.added });
        true
    }

    /// Whether one lane was found to lead to another, by dependencies that are still there.
    fn is_known_to_lead(&self, lane: u32, to: u32) -> bool {
        let leads = |known: &Ancestors| known.bits[lane as usize / 64] >> (lane % 64) & 1 == 1;
        self.reach.as_ref().is_some_and(|reach| reach.leads(lane, to) && self.holds(reach.kept, reach.last))
            || self.ancestors.get(&to).is_some_and(|known| leads(known) && self.holds(known.kept, known.last))
    }

    /// Looks for what makes such searches needless, after one that visited so many lanes and ended in a refusal.
    fn learn(&mut self, net: &Net, before: u32, visited: u64) {
        let lanes = self.place.len();
        match lanes * lanes.div_ceil(64) > self.most_words {
            true => self.find_ancestors(net, before, visited),
            false => {
                self.in_vain += visited;
                self.find_reach(net);
            }
        }
    }

    /// Finds what leads to a lane by what is kept, once refusals have cost as much as that does.
    fn find_ancestors(&mut self, net: &Net, before: u32, visited: u64) {
        let words = self.place.len().div_ceil(64);
        let in_vain = self.in_vain_behind.entry(before).or_default();
        *in_vain += visited;
        if *in_vain < self.ancestors.get(&before).map_or(self.usual_cost, |known| known.cost) {
            return;
        }
        *in_vain = 0;
        // All are dropped, not the oldest: those that are still asked for are soon found again.
        if (self.ancestors.len() + 1) * words > self.most_words / 2 {
            self.ancestors.clear();
        }
        let last = self.last_kept();
        self.without_trial(net, |order| {
            let mut bits = vec![0u64; words];
            let mut found = vec![before];
            let mut next = 0;
            order.search += 2;
            // Backwards over the whole graph. Places set no bound here: the answer is to hold for any lane that may
            // ask.
            while let Some(&lane) = found.get(next) {
                next += 1;
                let row = net.channel(lane / order.held.planes as u32).from as usize;
                for (at, &word) in order.held.behind(lane).iter().enumerate() {
                    for bit in order.seen.fresh(order.search, row, at, word) {
                        let earlier = order.held.lane_into(net, row, bit);
                        bits[earlier as usize / 64] |= 1 << (earlier % 64);
                        found.push(earlier);
                    }
                }
            }
            let cost = found.len() as u64;
            order.visited += cost;
            order.usual_cost = cost;
            let known = Ancestors { bits, kept: order.kept, last, cost };
            order.ancestors.insert(before, known);
        });
    }

    /// The number of the last addition that is kept.
    fn last_kept(&self) -> u64 {
        self.kept.checked_sub(1).map_or(0, |at| self.journal[at].number)
    }

    /// Works without what is being tried, which is likely to be taken back at once.
    fn without_trial(&mut self, net: &Net, work: impl FnOnce(&mut LaneOrder)) {
        // What leads somewhere without it does so with it, too. So the answers are right in the middle of a trial.
        for at in self.kept..self.journal.len() {
            let Added { before, after, .. } = self.journal[at];
            self.held.remove(net, before, after);
        }
        work(self);
        for at in self.kept..self.journal.len() {
            let Added { before, after, .. } = self.journal[at];
            self.held.add(net, before, after);
        }
    }

    /// Whether the journal still begins with so many additions, the last of which had this number.
    fn holds(&self, kept: usize, last: u64) -> bool {
        kept == 0 || self.journal.get(kept - 1).is_some_and(|added| added.number == last)
    }

    /// Computes what leads where by what is kept, once refusals have cost as much as that does.
    fn find_reach(&mut self, net: &Net) {
        let lanes = self.place.len();
        let words = lanes.div_ceil(64);
        let cost = (lanes * words / WORDS_PER_VISIT) as u64;
        if self.in_vain < cost {
            return;
        }
        let last = self.last_kept();
        self.without_trial(net, |order| {
            let mut in_order = vec![0; lanes];
            order.place.iter().zip(0..).for_each(|(&place, lane)| in_order[place as usize] = lane);
            let mut bits = order.reach.take().map_or_else(Vec::new, |reach| reach.bits);
            bits.clear();
            bits.resize(lanes * words, 0u64);
            let (mut reached, mut followers) = (vec![0u64; words], Vec::new());
            // What a lane leads to comes after it.
            for &lane in in_order.iter().rev() {
                reached.fill(0);
                followers.clear();
                followers.extend(order.held.after(net, lane));
                // The nearest first: it may lead to the others, which are then skipped.
                followers.sort_unstable_by_key(|&after| order.place[after as usize]);
                for &after in &followers {
                    // What another follower leads to is there already, with all beyond it.
                    if reached[after as usize / 64] >> (after % 64) & 1 == 1 {
                        continue;
                    }
                    reached[after as usize / 64] |= 1 << (after % 64);
                    let beyond = &bits[after as usize * words..(after as usize + 1) * words];
                    reached.iter_mut().zip(beyond).for_each(|(word, more)| *word |= more);
                }
                bits[lane as usize * words..(lane as usize + 1) * words].copy_from_slice(&reached);
            }
            order.visited += cost;
            order.in_vain = 0;
            order.reach = Some(Reach { words, bits, kept: order.kept, last });
        });
    }

    /// Moves lanes so that `before` comes below `after`; false, with nothing moved, where `after` leads to `before`.
    fn reorder(&mut self, net: &Net, before: u32, after: u32) -> bool {
        // Pearce and Kelly's affected region: only lanes with places from `low` to `high` can be out of order, since
        // all dependencies but the new one ascend. Both searches stay within it.
        let (low, high) = (self.place[after as usize], self.place[before as usize]);
        self.search += 2;
        let LaneOrder { held, place, seen, search, above, below, visited, .. } = self;
        let planes = held.planes as u32;
        // Forwards first, because this search alone can end in a refusal.
        above.clear();
        above.push(after);
        let mut next = 0;
        while let Some(&lane) = above.get(next) {
            next += 1;
            let row = net.to(lane / planes);
            let first = net.out(row).start * planes;
            for (at, &word) in held.ahead_of(lane).iter().enumerate() {
                for follower in seen.fresh(*search, row, at, word).map(|bit| first + bit) {
                    if follower == before {
                        *visited += next as u64;
                        return false;
                    }
                    // From `high` on nothing leads to `before`.
                    if place[follower as usize] < high {
                        above.push(follower);
                    }
                }
            }
        }
        // Backwards: what must stay below `before`. The two sets share no lane, since `after` does not lead to
        // `before`.
        below.clear();
        below.push(before);
        next = 0;
        while let Some(&lane) = below.get(next) {
            next += 1;
            let row = net.channel(lane / planes).from as usize;
            for (at, &word) in held.behind(lane).iter().enumerate() {
                for bit in seen.fresh(*search + 1, row, at, word) {
                    let earlier = held.lane_into(net, row, bit);
                    if place[earlier as usize] > low {
                        below.push(earlier);
                    }
                }
            }
        }
        *visited += (above.len() + below.len()) as u64;
        // Both sets share their old places: what leads to `before` first, then what `after` leads to, each in its own
        // order. No other lane moves, so no other dependency turns round.
        above.sort_unstable_by_key(|&lane| place[lane as usize]);
        below.sort_unstable_by_key(|&lane| place[lane as usize]);
        let mut places: Vec<u32> = below.iter().chain(&*above).map(|&lane| place[lane as usize]).collect();
        places.sort_unstable();
        below.iter().chain(&*above).zip(places).for_each(|(&lane, at)| place[lane as usize] = at);
        true
    }

    /// The shortest way by dependencies for which `counts` is true, as lanes from `start` to `end`; none where there is
    /// none.
    pub fn way(&mut self, net: &Net, start: u32, end: u32, counts: impl Fn(u32, u32) -> bool) -> Option<Vec<u32>> {
        // Breadth first. Each lane remembers the one before it on its way; the start, itself.
        let mut from = vec![u32::MAX; self.place.len()];
        from[start as usize] = start;
        let mut queue = vec![start];
        let mut next = 0;
        while let Some(&lane) = queue.get(next) {
            next += 1;
            if lane == end {
                let mut way = vec![end];
                while way[way.len() - 1] != start {
                    way.push(from[way[way.len() - 1] as usize]);
                }
                way.reverse();
                self.visited += next as u64;
                return Some(way);
            }
            for follower in self.held.after(net, lane) {
                if from[follower as usize] == u32::MAX && counts(lane, follower) {
                    from[follower as usize] = lane;
                    queue.push(follower);
                }
            }
        }
        self.visited += next as u64;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::repair::RepairInput;
    use crate::repair::tests::quiet_input;
    use petgraph::algo::is_cyclic_directed;
    use petgraph::graph::DiGraph;
    use proptest::prelude::*;

    proptest! {
        /// Additions are admitted exactly while there is no cycle, before and after some are taken back.
        #[test]
        fn keeps_an_order_as_long_as_there_is_one(
            picks in prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>()), 1..120),
            most_words in prop::sample::select(vec![0, 8, MOST_WORDS]),
        ) {
            let fabric = generate(&"torus:3x3,1".parse().unwrap(), &Options::default()).unwrap();
            let owned = quiet_input(&fabric);
            let input: RepairInput<'_> = owned.input();
            let net = Net::of(&input);
            let planes = 2;
            let mut order = LaneOrder::of(&net, LaneBits::none(&net, planes)).unwrap();
            order.most_words = most_words;
            let mut held: Vec<(u32, u32)> = Vec::new();
            let mut mark = (0, 0);
            for (first, second, back) in picks {
                let before = first % (net.channels.len() * planes) as u32;
                let beyond = net.out(net.to(before / 2));
                let after = (beyond.start + second % beyond.len() as u32) * 2 + second / 64 % 2;
                let mut edges = held.clone();
                edges.push((before, after));
                let cyclic = is_cyclic_directed(&DiGraph::<(), (), u32>::from_edges(&edges));
                prop_assert_eq!(order.admit(&net, before, after), !cyclic);
                if !cyclic && !held.contains(&(before, after)) {
                    held.push((before, after));
                }
                if back {
                    order.roll_back(&net, mark.0);
                    held.truncate(mark.1);
                } else if second % 5 == 0 {
                    mark = (order.mark(), held.len());
                }
            }
        }
    }
}
