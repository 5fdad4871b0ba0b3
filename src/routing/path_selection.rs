//! Path selection (seed 002, section 5.1): up to sixteen shortest legal paths for each pair, then paths over the most
//! loaded link are removed until one is left for each pair (Koibuchi, Jouraku and Amano, Parallel Computing 31(1),
//! 2005).
//!
//! Pairs are those of end ports ([`SelectedPairs::EndPorts`]), so hosts of one switch may send different ways. Neither
//! paper specifies which of the paths over the most loaded channel is removed first. Here it is a path of the pair with
//! the most alternatives left; among those the longest, and among those the one found last; [`SelectionRule`] has other
//! readings. Paths are found pair by pair, source by source, each pair's by ascending hops. If every path over a
//! channel is its pair's last one, the channel stays as it is, and the next most loaded one is examined; among equally
//! loaded channels the one of highest number comes first.
//!
//! Alternatives are kept for each pair of switches; a pair of end ports has a bit for each of them, and the number
//! left. Paths over a channel are listed only as their turn comes: those of one number left and one length at a time.
//! So time is linear in paths times alternatives left, and 512 end ports on 64 switches (261,632 pairs) take a second.

use super::legal::{Alternatives, ChannelPath, PathProblem, TurnModel};
use super::switch_graph::Target;
use super::{Demand, PathEngine, RouteError};
use crate::fabric::{Fabric, NodeId};
use crate::tables::PathSet;
use fixedbitset::FixedBitSet;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

pub(super) const NAME: &str = "path-selection";
pub(super) const SWITCHES: &str = "path-selection-switches";

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathSelection {
    /// The turn model that makes paths legal; up*/down* in the paper.
    pub model: TurnModel,
    /// The root; none: the one that [`super::UpDown`] chooses. The paper's is [`super::random_root`].
    pub root: Option<NodeId>,
    /// The most alternatives for a pair, 1 to 255; 16 in the paper.
    pub alternatives: u8,
    /// Whose paths are selected, and which go first.
    pub rule: SelectionRule,
}

/// Whose paths are selected, and which path over the most loaded channel is removed first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SelectionRule {
    /// Whose paths.
    pub between: SelectedPairs,
    /// The choice among the paths of the pairs with the most alternatives left.
    pub removed: Removed,
    /// The choice among equals.
    pub ties: Ties,
}

/// The pairs that have alternatives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SelectedPairs {
    /// Every pair of end ports by itself, as in the paper.
    #[default]
    EndPorts,
    /// Every pair of switches: all their end ports take one path, which has the weight of all of them. Fewer LIDs
    /// realise such paths.
    Switches,
}

/// The path over the most loaded channel that is removed first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Removed {
    /// The longest.
    #[default]
    Longest,
    /// Length does not count.
    AnyLength,
}

/// The path removed first among equals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ties {
    /// The one found last.
    #[default]
    Last,
    /// The one found first.
    First,
    /// A random one, and a random one of equally loaded channels.
    Random {
        /// Seeds the choices.
        seed: u64,
    },
}

impl Default for PathSelection {
    fn default() -> PathSelection {
        PathSelection { model: TurnModel::UpDown, root: None, alternatives: 16, rule: SelectionRule::default() }
    }
}

impl PathSelection {
    /// Selection for pairs of switches: the engine `path-selection-switches`.
    pub fn between_switches() -> PathSelection {
        let rule = SelectionRule { between: SelectedPairs::Switches, ..SelectionRule::default() };
        PathSelection { rule, ..PathSelection::default() }
    }
}

impl PathEngine for PathSelection {
    fn name(&self) -> &'static str {
        match self.rule.between {
            SelectedPairs::EndPorts => NAME,
            SelectedPairs::Switches => SWITCHES,
        }
    }

    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError> {
        let engine = self.name();
        let Some(problem) = PathProblem::of(engine, self.model, self.root, fabric, demand)? else {
            return Ok(PathProblem::nothing(engine, demand));
        };
        let pairs = Pairs::of(&problem, usize::from(self.alternatives));
        let units = Units::of(&problem, self.rule.between);
        // Lists of paths hold numbers of 32 bits.
        if units.count().pow(2) * usize::from(self.alternatives) > u32::MAX as usize {
            let why = format!(
                "pairs of {} ends with {} alternatives each are beyond its 2^32 paths",
                units.count(),
                self.alternatives
            );
            return Err(RouteError::Unsuited { engine, why });
        }
        Ok(select(&problem, &pairs, &units, self))
    }
}

fn select(problem: &PathProblem<'_>, pairs: &Pairs, units: &Units, engine: &PathSelection) -> PathSet {
    let mut removal = Removal::of(pairs, units, problem.channels.len(), engine);
    removal.run();
    problem.join(|from, to, way| {
        way.clear();
        way.extend(removal.survivor(units.of_end(from), units.of_end(to)).into_iter().flatten());
    })
}

/// Every ordered pair of different switches with end ports, with its alternatives.
pub(super) struct Pairs {
    rows: usize,
    /// By row of the source, then of the destination: rank of the pair.
    rank: Vec<Option<u32>>,
    /// By pair: the number of pairs of end ports for which it stands.
    pub weight: Vec<u64>,
    /// By pair: its first alternative; one entry more at the end.
    first: Vec<usize>,
    /// Alternatives, pair by pair, by ascending hops.
    pub ways: Vec<ChannelPath>,
}

impl Pairs {
    /// The pairs with up to `most` alternatives each, one at least.
    pub fn of(problem: &PathProblem<'_>, most: usize) -> Pairs {
        let mut alternatives = Alternatives::new(&problem.channels, &problem.ahead);
        Pairs::by(problem, |from, to| alternatives.find(from, to, most.max(1)))
    }

    /// The pairs with the alternatives that `find` finds from one row to another.
    pub fn by(problem: &PathProblem<'_>, mut find: impl FnMut(usize, usize) -> Vec<ChannelPath>) -> Pairs {
        let rows = problem.channels.rows();
        let mut ends = vec![0u64; rows];
        problem.ends.iter().for_each(|end| ends[end.row] += 1);
        let mut pairs = Pairs { rows, rank: vec![None; rows * rows], weight: vec![], first: vec![0], ways: vec![] };
        for from in (0..rows).filter(|&row| ends[row] > 0) {
            for to in (0..rows).filter(|&row| ends[row] > 0 && row != from) {
                pairs.rank[from * rows + to] = Some(pairs.weight.len() as u32);
                pairs.weight.push(ends[from] * ends[to]);
                pairs.ways.extend(find(from, to));
                pairs.first.push(pairs.ways.len());
            }
        }
        pairs
    }

    /// The rank of a pair of rows; none for a row with itself.
    pub fn rank(&self, from: usize, to: usize) -> Option<usize> {
        self.rank[from * self.rows + to].map(|rank| rank as usize)
    }

    /// By pair: the range of its alternatives.
    pub fn firsts(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.first.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// The alternatives from one row to another; none for a row with itself.
    fn between(&self, from: usize, to: usize) -> &[ChannelPath] {
        self.rank(from, to).map_or(&[], |pair| &self.ways[self.first[pair]..self.first[pair + 1]])
    }
}

/// The units between which paths are selected: end ports, or the switches to which they are attached.
struct Units {
    /// By unit: its row, and the end ports that it stands for.
    row: Vec<usize>,
    weight: Vec<u64>,
    /// By row: its units.
    on: Vec<Vec<u32>>,
    /// By port: its unit; `u32::MAX` for ports that are no demanded end port.
    of_port: Vec<u32>,
}

impl Units {
    /// End ports in the order of the demand, or switches in ascending order.
    fn of(problem: &PathProblem<'_>, between: SelectedPairs) -> Units {
        let mut ends: Vec<&Target> = problem.ends.iter().collect();
        if between == SelectedPairs::Switches {
            ends.sort_by_key(|end| end.row);
        }
        let of_port = vec![u32::MAX; problem.fabric.port_count()];
        let on = vec![Vec::new(); problem.channels.rows()];
        let mut units = Units { row: Vec::new(), weight: Vec::new(), on, of_port };
        for end in ends {
            let unit = match (between, units.on[end.row].first()) {
                (SelectedPairs::Switches, Some(&unit)) => unit,
                _ => {
                    let unit = units.row.len() as u32;
                    units.row.push(end.row);
                    units.weight.push(0);
                    units.on[end.row].push(unit);
                    unit
                }
            };
            units.weight[unit as usize] += 1;
            units.of_port[end.port.index()] = unit;
        }
        units
    }

    fn count(&self) -> usize {
        self.row.len()
    }

    fn of_end(&self, end: &Target) -> usize {
        self.of_port[end.port.index()] as usize
    }
}

/// An alternative of a pair of rows that passes some channel.
#[derive(Clone, Copy)]
struct Passing {
    from: u32,
    to: u32,
    alternative: u8,
    hops: u16,
}

/// The paths over one channel that are removed next: those of pairs with `left` alternatives left, of `hops` hops if
/// these count.
#[derive(Clone, Default)]
struct Turn {
    left: u16,
    hops: u16,
    /// Numbers of paths; the last one is removed next. Paths that are gone are skipped; those whose pairs have fewer
    /// left get another turn.
    paths: Vec<u32>,
}

/// Alternatives on their way out. The path of number `pair × most + alternative` is an alternative of a pair, and a
/// pair of units is numbered `from × units + to`.
struct Removal<'a> {
    pairs: &'a Pairs,
    units: &'a Units,
    most: usize,
    rule: SelectionRule,
    /// By pair: alternatives left.
    left: Vec<u8>,
    /// By path: whether it is still there.
    there: FixedBitSet,
    /// By channel.
    passing: Vec<Vec<Passing>>,
    load: Vec<u64>,
    turn: Vec<Turn>,
    most_hops: u16,
    rng: Pcg64Mcg,
}

impl<'a> Removal<'a> {
    fn of(pairs: &'a Pairs, units: &'a Units, channels: usize, engine: &PathSelection) -> Removal<'a> {
        let most = usize::from(engine.alternatives.max(1));
        let seed = if let Ties::Random { seed } = engine.rule.ties { seed } else { 0 };
        let mut removal = Removal {
            pairs,
            units,
            most,
            rule: engine.rule,
            left: vec![0; units.count().pow(2)],
            there: FixedBitSet::with_capacity(units.count().pow(2) * most),
            passing: vec![Vec::new(); channels],
            load: vec![0; channels],
            turn: vec![Turn { left: most as u16 + 1, ..Turn::default() }; channels],
            most_hops: pairs.ways.iter().map(Vec::len).max().unwrap_or(0) as u16,
            rng: Pcg64Mcg::seed_from_u64(seed),
        };
        for (from, to) in (0..pairs.rows).flat_map(|from| (0..pairs.rows).map(move |to| (from, to))) {
            removal.enter(from, to);
        }
        removal
    }

    /// Enters the alternatives of a pair of rows, for every pair of units on them.
    fn enter(&mut self, from: usize, to: usize) {
        let (units, ways) = (self.units, self.pairs.between(from, to));
        let Some(rank) = self.pairs.rank(from, to) else { return };
        for (way, alternative) in ways.iter().zip(0..) {
            let passing = Passing { from: from as u32, to: to as u32, alternative, hops: way.len() as u16 };
            for &channel in way {
                self.passing[channel as usize].push(passing);
                self.load[channel as usize] += self.pairs.weight[rank];
            }
        }
        for pair in pairs_on(units, from, to) {
            self.left[pair] = ways.len() as u8;
            self.there.insert_range(pair * self.most..pair * self.most + ways.len());
        }
    }

    /// Removes paths over the most loaded channel until each pair has one left.
    fn run(&mut self) {
        let mut order: Vec<u32> = (0..self.load.len() as u32).collect();
        if matches!(self.rule.ties, Ties::Random { .. }) {
            order.shuffle(&mut self.rng);
        }
        // Loads only fall: the first channel whose load is up to date is the most loaded one.
        let mut open: BinaryHeap<(u64, usize, usize)> =
            order.iter().enumerate().map(|(channel, &order)| (self.load[channel], order as usize, channel)).collect();
        while let Some(mut top) = open.peek_mut() {
            let channel = top.2;
            // A stale load is too high, never too low. So the top is written down in place and sinks; no other entry
            // needs an update when a path is removed.
            if top.0 != self.load[channel] {
                top.0 = self.load[channel];
                continue;
            }
            match self.next(channel) {
                Some(path) => self.remove(path as usize),
                // The channel is closed for good: each path over it is its pair's last one, and pairs never get
                // alternatives back.
                None => drop(PeekMut::pop(top)),
            }
        }
    }

    /// The path over a channel that is removed next; none if each is its pair's last. The number that a pair has left
    /// only falls, so what had its turn never gets it again.
    fn next(&mut self, channel: usize) -> Option<u32> {
        loop {
            while let Some(path) = self.turn[channel].paths.pop() {
                // Another channel may have removed an alternative of this pair since the list was made. The pair then
                // has fewer left, and the path comes up again in a later turn of this channel.
                let is_due = u16::from(self.left[path as usize / self.most]) == self.turn[channel].left;
                if is_due && self.there.contains(path as usize) {
                    return Some(path);
                }
            }
            let (turn, by_length) = (&mut self.turn[channel], self.rule.removed == Removed::Longest);
            if turn.hops == 0 {
                // Turns go by descending numbers of alternatives left, and within one by descending hops. Pairs with
                // one left keep it.
                if turn.left <= 2 {
                    return None;
                }
                turn.left -= 1;
                turn.hops = if by_length { self.most_hops } else { 0 };
            } else {
                turn.hops -= 1;
            }
            self.list(channel);
        }
    }

    /// Lists the paths of a channel's turn.
    fn list(&mut self, channel: usize) {
        let Turn { left, hops, mut paths } = std::mem::take(&mut self.turn[channel]);
        let any = self.rule.removed == Removed::AnyLength;
        for passing in self.passing[channel].iter().filter(|passing| any || passing.hops == hops) {
            let alternative = usize::from(passing.alternative);
            let due = pairs_on(self.units, passing.from as usize, passing.to as usize)
                .filter(|&pair| u16::from(self.left[pair]) == left)
                .map(|pair| pair * self.most + alternative);
            paths.extend(due.filter(|&path| self.there.contains(path)).map(|path| path as u32));
        }
        match self.rule.ties {
            // Paths are numbered as they were found, and the end of the list is removed first.
            Ties::Last => paths.sort_unstable(),
            Ties::First => paths.sort_unstable_by_key(|&path| std::cmp::Reverse(path)),
            Ties::Random { .. } => paths.shuffle(&mut self.rng),
        }
        self.turn[channel] = Turn { left, hops, paths };
    }

    fn remove(&mut self, path: usize) {
        let (pair, alternative) = (path / self.most, path % self.most);
        self.there.set(path, false);
        self.left[pair] -= 1;
        let (from, to) = (pair / self.units.count(), pair % self.units.count());
        let weight = self.units.weight[from] * self.units.weight[to];
        let way = &self.pairs.between(self.units.row[from], self.units.row[to])[alternative];
        way.iter().for_each(|&channel| self.load[channel as usize] -= weight);
    }

    /// The path that a pair of units has left; none between units of one row.
    fn survivor(&self, from: usize, to: usize) -> Option<&'a ChannelPath> {
        let first = (from * self.units.count() + to) * self.most;
        let mut ways = self.pairs.between(self.units.row[from], self.units.row[to]).iter().zip(first..);
        ways.find(|&(_, path)| self.there.contains(path)).map(|(way, _)| way)
    }
}

/// The numbers of the pairs of units on two rows.
fn pairs_on(units: &Units, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
    let all = units.count();
    units.on[from].iter().flat_map(move |&from| units.on[to].iter().map(move |&to| from as usize * all + to as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::PortId;
    use crate::fabric::generate::{Options, Topology, generate};
    use std::collections::{BTreeMap, BTreeSet};

    /// The rule as the module states it, over maps and sets, with everything counted again at every step. By pair of
    /// end ports, the channels of the path that is left.
    fn left_by_the_rule(
        problem: &PathProblem<'_>,
        pairs: &Pairs,
        rule: SelectionRule,
    ) -> BTreeMap<(PortId, PortId), ChannelPath> {
        // The units, each with its end ports, in order.
        let mut groups: BTreeMap<usize, Vec<&Target>> = BTreeMap::new();
        for (at, end) in problem.ends.iter().enumerate() {
            groups.entry(if rule.between == SelectedPairs::Switches { end.row } else { at }).or_default().push(end);
        }
        let mut ways: BTreeMap<(usize, usize), BTreeMap<usize, &ChannelPath>> = BTreeMap::new();
        for (&from, sources) in &groups {
            for (&to, targets) in &groups {
                let all = pairs.between(sources[0].row, targets[0].row);
                ways.insert((from, to), all.iter().enumerate().collect());
            }
        }
        ways.retain(|_, ways| !ways.is_empty());
        let mut closed: BTreeSet<u32> = BTreeSet::new();
        loop {
            let mut load: BTreeMap<u32, usize> =
                (0..problem.channels.len() as u32).map(|channel| (channel, 0)).collect();
            for ((from, to), ways) in &ways {
                for channel in ways.values().flat_map(|way| way.iter()) {
                    *load.get_mut(channel).expect("a channel") += groups[from].len() * groups[to].len();
                }
            }
            let open = load.into_iter().filter(|(channel, _)| !closed.contains(channel));
            let Some((busiest, _)) = open.max_by_key(|&(channel, load)| (load, channel)) else { break };
            let mut candidates = BTreeMap::new();
            for (&pair, ways) in ways.iter().filter(|(_, ways)| ways.len() > 1) {
                for (&number, way) in ways.iter().filter(|(_, way)| way.contains(&busiest)) {
                    let hops = if rule.removed == Removed::Longest { way.len() } else { 0 };
                    candidates.entry((ways.len(), hops)).or_insert_with(BTreeSet::new).insert((pair, number));
                }
            }
            match candidates.pop_last() {
                None => drop(closed.insert(busiest)),
                Some((_, mut equals)) => {
                    let chosen = if rule.ties == Ties::First { equals.pop_first() } else { equals.pop_last() };
                    let (pair, number) = chosen.expect("a candidate");
                    ways.get_mut(&pair).expect("a pair").remove(&number);
                }
            }
        }
        let mut left = BTreeMap::new();
        for ((from, to), ways) in &ways {
            let way: Vec<&ChannelPath> = ways.values().copied().collect();
            assert_eq!(way.len(), 1, "one is left");
            for (source, target) in groups[from].iter().flat_map(|&from| groups[to].iter().map(move |&to| (from, to))) {
                left.insert((source.port, target.port), way[0].clone());
            }
        }
        left
    }

    #[test]
    fn what_is_left_is_what_the_rule_leaves() {
        for (seed, topology) in
            [(0, "irregular:7,8,9,12"), (1, "irregular:7,8,5,11"), (2, "leaf-spine:3,2,2,2"), (3, "ring:5,2")]
        {
            let topology: Topology = topology.parse().expect("a topology");
            let fabric = generate(&topology, &Options { seed, ..Options::default() }).expect("a fabric");
            let demand = Demand::all(&fabric, 1);
            let problem = PathProblem::of(NAME, TurnModel::UpDown, None, &fabric, &demand).expect("joined");
            let problem = problem.expect("a switch");
            for between in [SelectedPairs::EndPorts, SelectedPairs::Switches] {
                for (removed, ties) in [
                    (Removed::Longest, Ties::Last),
                    (Removed::Longest, Ties::First),
                    (Removed::AnyLength, Ties::Last),
                    (Removed::AnyLength, Ties::First),
                ] {
                    let rule = SelectionRule { between, removed, ties };
                    let engine = PathSelection { alternatives: 6, rule, ..PathSelection::default() };
                    let (pairs, units) = (Pairs::of(&problem, 6), Units::of(&problem, between));
                    let mut removal = Removal::of(&pairs, &units, problem.channels.len(), &engine);
                    removal.run();
                    let wanted = left_by_the_rule(&problem, &pairs, rule);
                    for from in &problem.ends {
                        for to in &problem.ends {
                            let left = removal.survivor(units.of_end(from), units.of_end(to));
                            assert_eq!(left, wanted.get(&(from.port, to.port)), "{topology}, {rule:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ties_at_random_depend_on_the_seed_alone() {
        let topology: Topology = "leaf-spine:2,1,4,2".parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a fabric");
        let of = |seed| {
            let rule = SelectionRule { ties: Ties::Random { seed }, ..SelectionRule::default() };
            let engine = PathSelection { rule, ..PathSelection::default() };
            engine.paths(&fabric, &Demand::all(&fabric, 1)).expect("paths")
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
