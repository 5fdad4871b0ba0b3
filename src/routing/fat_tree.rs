//! Fat trees: up, then down; the destination's number selects the way up (d-mod-k); faults are allowed.
//!
//! Source: Zahavi, *D-Mod-K Routing Providing Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees* (CCIT
//! 776, 2010). Leaves are level 0; a switch is one level above its lowest neighbour; every link connects two levels. A
//! switch above the destination sends down; others send up, by port (j / s) mod k of the k suitable ones, where j is
//! the destination's number and s the product of the up ports of the levels below. If links have failed, k counts the
//! remaining ones. No route turns up after going down, so one layer suffices. Leaves are the switches with at least n
//! hosts, n the least number that makes a fat tree: this excludes roots with a manager's host. If n = 1 does not, the
//! switches with most hosts are tried of which no two are neighbours: this excludes spines with storage. Any two leaves
//! must have a way up and then down. Other switches may have none: two roots, or a switch that has lost its uplinks.
//! They send wherever no cycle closes. Switches are reached likewise, by LIDs of their own. A switch without a way up
//! and then down to such a LID uses turns of a spanning tree from a leaf, so that ways turn up again at that leaf and
//! nowhere else. Where no tree of fewest hops agrees with the ways to end ports, one is grown channel by channel.

use super::acyclic::Acyclic;
use super::flat_graph::{FlatGraph, NONE};
use super::forest::{Forest, TreeProblem};
use super::relief::Relief;
use super::switch_tree::{SwitchTree, every_two};
use super::{Demand, Engine, RouteError};
use crate::fabric::Fabric;
use crate::tables::RoutingFunction;
use std::ops::Range;

pub(super) const NAME: &str = "fat-tree";
const FAR: u32 = u32::MAX;
/// The rounds in which busy channels are relieved: the second and third concern few destinations.
const ROUNDS: usize = 3;
/// More forwarding entries to end ports than these, and d-mod-k stays as it is: a loss would wait for relief.
const MOST_ENTRIES: usize = 1 << 20;

/// The leaves from which a tree over all switches is grown channel by channel.
const MOST_GROWN: usize = 8;

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FatTree;

impl Engine for FatTree {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let problem = TreeProblem::new(NAME, fabric, demand)?;
        if problem.switch_tree().is_none() {
            return Ok(problem.without_routes());
        }
        problem.offers(1)?;
        let with_leaves = |leaves: Vec<bool>| {
            let levels = Levels::of(fabric, &problem.net, leaves)?;
            Tree::new(fabric, &problem, &levels).route()
        };
        let mut refusal = None;
        for tried in leaves(&problem).into_iter().map(with_leaves) {
            match tried {
                Ok(function) => return Ok(function),
                // The first refusal concerns the most leaves, and so most likely the intended fabric.
                Err(why) => refusal = refusal.or(Some(why)),
            }
        }
        let why = refusal.unwrap_or_else(|| "it has no leaves, because no switch has an end port".into());
        Err(RouteError::Unsuited { engine: NAME, why })
    }
}

/// The switches that may be the leaves, as rows: every choice worth trying, the likeliest first. Only hosts count: an
/// end port of an aggregation node, a gateway or a router does not make its switch a leaf.
fn leaves(problem: &TreeProblem<'_>) -> Vec<Vec<bool>> {
    let hosts = problem.hosts_alone();
    let mut counts: Vec<u64> = hosts.iter().copied().filter(|&hosts| hosts > 0).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut choices: Vec<Vec<bool>> =
        counts.iter().map(|&least| hosts.iter().map(|&hosts| hosts >= least).collect()).collect();
    if !choices.is_empty() {
        choices.insert(1, apart(&problem.net, &hosts));
    }
    choices
}

/// Switches with hosts of which no two are neighbours, those with most hosts first. Where storage is attached to
/// spines, the leaves below have more hosts; a leaf that lost most of its own is still no neighbour of a leaf.
fn apart(net: &FlatGraph, hosts: &[u64]) -> Vec<bool> {
    let mut rows: Vec<usize> = (0..hosts.len()).filter(|&row| hosts[row] > 0).collect();
    rows.sort_by_key(|&row| std::cmp::Reverse(hosts[row]));
    let mut chosen = vec![false; hosts.len()];
    for row in rows {
        chosen[row] = net.leaving(row).iter().all(|channel| !chosen[channel.to as usize]);
    }
    chosen
}

/// Why a fabric is not a fat tree, and where.
type Why = String;

/// The level of every switch.
struct Levels {
    /// By row; [`FAR`] outside the component of the leaves.
    level: Vec<u32>,
    /// Rows, the highest level first.
    from_above: Vec<u32>,
    /// By level: the product of the up ports of the levels below.
    stride: Vec<usize>,
    /// The channels out of each row that lead up.
    up: Steps,
    /// Those that do not.
    down: Steps,
}

/// Some of the channels out of each row, in their order, with the rows that they lead to.
#[derive(Default)]
struct Steps {
    steps: Vec<(u32, u32)>,
    /// By row: its first; one more at the end.
    first: Vec<u32>,
}

impl Steps {
    fn of(net: &FlatGraph, chosen: impl Fn(u32, u32) -> bool) -> Steps {
        let mut own = Steps { steps: Vec::new(), first: vec![0] };
        for row in 0..net.rows() {
            let out = net.out(row).zip(net.leaving(row));
            let chosen = out.filter(|(_, channel)| chosen(channel.from, channel.to));
            own.steps.extend(chosen.map(|(at, channel)| (at, channel.to)));
            own.first.push(own.steps.len() as u32);
        }
        own
    }

    #[inline]
    fn out(&self, row: u32) -> &[(u32, u32)] {
        &self.steps[self.first[row as usize] as usize..self.first[row as usize + 1] as usize]
    }
}

impl Levels {
    fn of(fabric: &Fabric, net: &FlatGraph, leaves: Vec<bool>) -> Result<Levels, Why> {
        let mut level: Vec<u32> = leaves.iter().map(|&leaf| if leaf { 0 } else { FAR }).collect();
        let mut order: Vec<u32> = (0..net.rows() as u32).filter(|&row| leaves[row as usize]).collect();
        let mut next = 0;
        while let Some(&row) = order.get(next) {
            next += 1;
            for channel in net.leaving(row as usize) {
                if level[channel.to as usize] == FAR {
                    level[channel.to as usize] = level[row as usize] + 1;
                    order.push(channel.to);
                }
            }
        }
        let flat = |channel: &&super::flat_graph::Channel| {
            let (from, to) = (level[channel.from as usize], level[channel.to as usize]);
            from == to && from != FAR
        };
        if let Some(channel) = net.channels().iter().find(flat) {
            let [a, b] = [channel.from, channel.to].map(|row| fabric.describe_node(net.node(row as usize)));
            let level = level[channel.from as usize];
            return Err(format!(
                "the fabric is not a fat tree: {a} and {b} are connected, both {level} links above the leaves"
            ));
        }
        order.reverse();
        let mut levels =
            Levels { level, from_above: order, stride: vec![1], up: Steps::default(), down: Steps::default() };
        levels.up = Steps::of(net, |from, to| levels.leads_up(from, to));
        levels.down = Steps::of(net, |from, to| !levels.leads_up(from, to));
        levels.measure();
        Ok(levels)
    }

    fn measure(&mut self) {
        let highest = self.from_above.first().map_or(0, |&row| self.level[row as usize]);
        let mut ups = vec![1; highest as usize + 1];
        for &row in &self.from_above {
            let up = self.up.out(row).len();
            let most = &mut ups[self.level[row as usize] as usize];
            *most = up.max(*most);
        }
        for up in ups {
            let below = self.stride[self.stride.len() - 1];
            self.stride.push(below.saturating_mul(up));
        }
    }

    fn are_leaves(&self, a: usize, b: usize) -> bool {
        self.level[a] == 0 && self.level[b] == 0
    }

    fn leads_up(&self, from: u32, to: u32) -> bool {
        self.level[to as usize] > self.level[from as usize]
    }
}

/// Routes being found.
struct Tree<'a> {
    fabric: &'a Fabric,
    problem: &'a TreeProblem<'a>,
    levels: &'a Levels,
    forest: Forest,
    dependencies: Acyclic,
    /// By row, towards the current leaf: hops of ways that only go down; [`FAR`] if there is none.
    down: Vec<u32>,
    /// By row: hops of the way in use.
    total: Vec<u32>,
    /// Equally good channels, row by row.
    choices: Vec<u32>,
    /// By row: which of these are its own.
    own: Vec<Range<usize>>,
    /// Rows, each before those that it can send to.
    onward: Vec<u32>,
    /// By switch demanded: the channels up and then down to it from every row, once they are chosen.
    to_switches: Vec<Vec<u32>>,
    relief: Relief<'a>,
}

impl<'a> Tree<'a> {
    fn new(fabric: &'a Fabric, problem: &'a TreeProblem<'a>, levels: &'a Levels) -> Tree<'a> {
        let rows = problem.net.rows();
        Tree {
            fabric,
            problem,
            levels,
            forest: Forest::new(rows, problem.ends.len() * problem.paths()),
            dependencies: Acyclic::new(&problem.net, &levels.from_above),
            down: vec![FAR; rows],
            total: vec![FAR; rows],
            choices: Vec::new(),
            own: vec![0..0; rows],
            onward: Vec::new(),
            to_switches: vec![Vec::new(); problem.switches.len()],
            relief: Relief::new(&problem.net, problem.hosts()),
        }
    }

    fn route(mut self) -> Result<RoutingFunction, Why> {
        let borne = self.problem.borne();
        let most = self.problem.hosts_alone().into_iter().max().unwrap_or(0) as usize;
        let mut own_numbers = vec![None; self.problem.net.rows()];
        self.problem.switches.iter().enumerate().for_each(|(at, target)| own_numbers[target.row] = Some(at));
        for (leaf, ends) in borne.iter().enumerate() {
            let row = self.problem.ends[ends.start].row;
            self.aim(row)?;
            // Numbers count positions as if every leaf had as many end ports as the fullest: a missing host changes no
            // other's number.
            self.plant(leaf * most, ends.clone());
            if let Some(at) = own_numbers[row] {
                self.to_switches[at] = self.chosen(at);
            }
        }
        self.relieve(&borne)?;
        let planted = (self.dependencies.clone(), self.forest.clone());
        let to_switches = self.lead_others(&borne, true).or_else(|_| {
            (self.dependencies, self.forest) = planted;
            self.lead_others(&borne, false)
        })?;
        let paths = self.problem.paths();
        Ok(self.problem.function_by_forests(&self.forest, &to_switches, |end, path| end * paths + path))
    }

    /// Everything but the ways up and then down to end ports. Returns the trees towards the switches: up and then down
    /// wherever that leads, or along one tree.
    fn lead_others(&mut self, borne: &[Range<usize>], up_and_down: bool) -> Result<Forest, Why> {
        let (net, switches) = (&self.problem.net, &self.problem.switches);
        for (at, target) in switches.iter().enumerate().filter(|_| up_and_down) {
            if self.to_switches[at].is_empty() {
                self.aim(target.row)?;
                self.to_switches[at] = self.chosen(at);
            }
            let next = std::mem::take(&mut self.to_switches[at]);
            assert!(self.admit(&next), "ways up and then down depend on each other in no circle");
            self.to_switches[at] = next;
        }
        let switch_tree = self.switch_tree()?;
        let mut strays = self.strays();
        for ends in borne {
            self.lead_strays(ends.clone(), &mut strays)?;
        }
        let mut forest = Forest::new(net.rows(), switches.len());
        let mut reached = Vec::new();
        for (at, target) in switches.iter().enumerate() {
            let mut next = std::mem::take(&mut self.to_switches[at]);
            // Every dependency along the switch tree is present.
            if !up_and_down || !self.join_strays(target.row, &mut next, &mut reached) {
                next = switch_tree.towards(net, target.row);
            }
            forest.plant(net, at, &next);
        }
        Ok(forest)
    }

    /// Adds the dependencies of a tree; false if one closes a cycle.
    fn admit(&mut self, next: &[u32]) -> bool {
        let net = &self.problem.net;
        next.iter().filter(|&&before| before != NONE).all(|&before| {
            let after = next[net.channel(before).to as usize];
            after == NONE || self.dependencies.admit(net, before, after)
        })
    }

    /// Has rows without a way join the tree towards a row where that adds no dependency, the nearest first; false if
    /// some cannot. `reached` is room for rows.
    fn join_strays(&self, target: usize, next: &mut [u32], reached: &mut Vec<u32>) -> bool {
        let net = &self.problem.net;
        let is_stray = |next: &[u32], row: u32| row as usize != target && next[row as usize] == NONE;
        let strays = self.levels.from_above.iter().filter(|&&row| is_stray(next, row)).count();
        if strays == 0 {
            return true;
        }
        reached.clear();
        reached.extend(self.levels.from_above.iter().filter(|&&row| !is_stray(next, row)));
        let (served, mut at) = (reached.len() + strays, 0);
        while let Some(&row) = reached.get(at) {
            at += 1;
            let after = next[row as usize];
            for channel in net.leaving(row as usize) {
                let joins =
                    is_stray(next, channel.to) && (after == NONE || self.dependencies.has(net, channel.back, after));
                if joins {
                    next[channel.to as usize] = channel.back;
                    reached.push(channel.to);
                }
            }
        }
        reached.len() == served
    }

    /// Finds the ways towards one row.
    fn aim(&mut self, target: usize) -> Result<(), Why> {
        self.measure_down(target);
        self.choices.clear();
        let levels = self.levels;
        for &row in &levels.from_above {
            // Above the destination every way leads down; everywhere else every way leads up. No row has a choice
            // between the two, so nothing turns up after going down.
            let goes_down = self.down[row as usize] != FAR;
            let (hops, able) = match goes_down {
                true => (&self.down, &levels.down),
                false => (&self.total, &levels.up),
            };
            let (start, mut best) = (self.choices.len(), FAR);
            for &(channel, to) in able.out(row).iter().filter(|_| row as usize != target) {
                let beyond = hops[to as usize];
                if beyond < best {
                    self.choices.truncate(start);
                    best = beyond;
                }
                if beyond == best && beyond != FAR {
                    self.choices.push(channel);
                }
            }
            self.total[row as usize] = match best {
                _ if row as usize == target => 0,
                FAR if levels.are_leaves(row as usize, target) => return Err(self.apart(row as usize, target)),
                FAR => FAR,
                best => best + 1,
            };
            self.own[row as usize] = start..self.choices.len();
        }
        let goes_down = |row: &&u32| self.down[**row as usize] != FAR;
        self.onward.clear();
        self.onward.extend(levels.from_above.iter().rev().filter(|row| !goes_down(row)));
        self.onward.extend(levels.from_above.iter().filter(goes_down));
        Ok(())
    }

    fn apart(&self, row: usize, target: usize) -> Why {
        let [from, to] = [row, target].map(|row| self.fabric.describe_node(self.problem.net.node(row)));
        format!("the fabric is not a fat tree: no way up and then down leads from {from} to {to}")
    }

    fn measure_down(&mut self, target: usize) {
        self.down.fill(FAR);
        self.down[target] = 0;
        let mut queue = vec![target];
        let mut next = 0;
        while let Some(&row) = queue.get(next) {
            next += 1;
            for &(_, to) in self.levels.up.out(row as u32) {
                if self.down[to as usize] == FAR {
                    self.down[to as usize] = self.down[row] + 1;
                    queue.push(to as usize);
                }
            }
        }
    }

    /// The trees towards the end ports of the target row; `number` is that of the first.
    fn plant(&mut self, number: usize, ends: Range<usize>) {
        let (net, paths) = (&self.problem.net, self.problem.paths());
        let mut next = vec![NONE; net.rows()];
        for (end, number) in ends.zip(number..) {
            for path in 0..paths {
                self.choose(number + path, &mut next);
                self.forest.plant(net, end * paths + path, &next);
                assert!(self.admit(&next), "ways up and then down depend on each other in no circle");
                if path == 0 && self.may_relieve() {
                    self.relief.count(&self.onward, &next);
                }
            }
        }
    }

    fn may_relieve(&self) -> bool {
        self.problem.net.rows() * self.problem.ends.len() <= MOST_ENTRIES
    }

    /// Relieves busy channels, in up to [`ROUNDS`] rounds over all destinations.
    fn relieve(&mut self, borne: &[Range<usize>]) -> Result<(), Why> {
        let (net, paths) = (&self.problem.net, self.problem.paths());
        if !self.may_relieve() {
            return Ok(());
        }
        self.relief.share(&self.levels.level);
        if !self.relief.is_uneven() {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            let busy = self.relief.busy();
            for ends in borne {
                // To aim takes longest, and late rounds concern few destinations.
                let leads_over = |channel: u32, end: usize| {
                    let from = net.channel(channel).from as usize;
                    self.forest.channel(net, from, end * paths) == Some(channel)
                };
                let mut still_busy = busy.iter().copied().filter(|&channel| self.relief.is_busy(channel));
                if !still_busy.any(|channel| ends.clone().any(|end| leads_over(channel, end))) {
                    continue;
                }
                self.aim(self.problem.ends[ends.start].row)?;
                let mut first_paths = vec![vec![NONE; net.rows()]; ends.len()];
                // Row by row, as the forest has them.
                for row in 0..net.rows() {
                    for (next, end) in first_paths.iter_mut().zip(ends.clone()) {
                        next[row] = self.forest.channel(net, row, end * paths).unwrap_or(NONE);
                    }
                }
                first_paths.into_iter().zip(ends.clone()).for_each(|(next, end)| self.relieve_end(end, next));
            }
        }
        Ok(())
    }

    /// Relieves links on the ways to one end port; `next` is its first path. If the choice of that moves on, so do
    /// those of the others, so that they stay as different as they were.
    fn relieve_end(&mut self, end: usize, mut next: Vec<u32>) {
        let (net, paths) = (&self.problem.net, self.problem.paths());
        let trees = end * paths..(end + 1) * paths;
        let mut has_turned = false;
        let (choices, own, forest) = (&self.choices, &self.own, &mut self.forest);
        let choices = |row: u32| &choices[own[row as usize].clone()];
        self.relief.relieve(&self.onward, &mut next, choices, |row, places| {
            has_turned = true;
            for tree in trees.clone() {
                let old = forest.channel(net, row as usize, tree);
                let at = choices(row).iter().position(|&channel| Some(channel) == old).expect("a row has one of these");
                forest.set_channel(net, row as usize, tree, choices(row)[(at + places) % choices(row).len()]);
            }
        });
        for tree in trees.clone().filter(|_| has_turned) {
            if tree > trees.start {
                (0..net.rows()).for_each(|row| next[row] = self.forest.channel(net, row, tree).unwrap_or(NONE));
            }
            assert!(self.admit(&next), "ways up and then down depend on each other in no circle");
        }
    }

    /// The tree of a number towards the row that was aimed at.
    fn chosen(&self, number: usize) -> Vec<u32> {
        let mut next = vec![NONE; self.problem.net.rows()];
        self.choose(number, &mut next);
        next
    }

    /// The same, into `next`.
    fn choose(&self, number: usize, next: &mut [u32]) {
        // Rows of one level advance after as many destinations: to divide for each would take most of the time.
        let turns: Vec<usize> = self.levels.stride.iter().map(|stride| number / stride).collect();
        for &row in &self.levels.from_above {
            let choices = &self.choices[self.own[row as usize].clone()];
            next[row as usize] = match choices.len() {
                0 => NONE,
                1 => choices[0],
                ways => choices[turns[self.stride_of(row)] % ways],
            };
        }
    }

    /// Which stride is the number of destinations after which a row advances to its next port: parallel cables down to
    /// a level are dealt like those up from it.
    fn stride_of(&self, row: u32) -> usize {
        let level = self.levels.level[row as usize] as usize;
        let goes_down = self.down[row as usize] != FAR;
        if goes_down { level.saturating_sub(1) } else { level }
    }

    /// A tree for reaching switches that agrees with all ways so far: from the first leaf that allows it, else from the
    /// first other switch, the highest ones first. Where middle switches have aggregation nodes, ways lead up and then
    /// down between two above one leaf, and a tree from a leaf, which turns up at that leaf, would close a circle.
    fn switch_tree(&mut self) -> Result<SwitchTree, Why> {
        let net = &self.problem.net;
        let is_leaf = |row: &&u32| self.levels.level[**row as usize] == 0;
        let others = self.levels.from_above.iter().filter(|row| !is_leaf(row));
        let leaves = self.levels.from_above.iter().rev().filter(is_leaf);
        let leads_up = |at: u32| self.levels.leads_up(net.channel(at).from, net.channel(at).to);
        for &root in leaves.clone().chain(others) {
            let tree = SwitchTree::of_fewest_hops(net, root as usize);
            if agrees(net, &tree, &mut self.dependencies, leads_up) {
                return Ok(tree.numbered(net));
            }
        }
        // Among the trees of fewest hops the order of switches and ports chooses, and may have chosen none that agrees.
        let mut grown = leaves
            .take(MOST_GROWN)
            .map(|&root| SwitchTree::agreeing(net, root as usize, &mut self.dependencies, leads_up));
        if let Some(tree) = grown.find_map(|tree| tree) {
            return Ok(tree);
        }
        Err("no tree over its switches agrees with the ways up and then down between its end ports".into())
    }

    /// By tree towards an end port: the rows without a way, the highest level first.
    fn strays(&self) -> Vec<Vec<u32>> {
        let paths = self.problem.paths();
        let mut strays = vec![Vec::new(); self.problem.ends.len() * paths];
        // Row by row, as the forest has them.
        for &row in &self.levels.from_above {
            let others = |tree: &usize| self.problem.ends[tree / paths].row != row as usize;
            self.forest.without(row as usize).filter(others).for_each(|tree| strays[tree].push(row));
        }
        strays
    }

    /// Routes `strays`, by tree, of these end ports, if no cycle closes.
    fn lead_strays(&mut self, ends: Range<usize>, strays: &mut [Vec<u32>]) -> Result<(), Why> {
        let (net, paths) = (&self.problem.net, self.problem.paths());
        let target = self.problem.ends[ends.start].row;
        for tree in ends.start * paths..ends.end * paths {
            let mut strays = std::mem::take(&mut strays[tree]);
            if strays.is_empty() {
                continue;
            }
            // Read once: a forest lies row by row.
            let mut next: Vec<u32> =
                (0..net.rows()).map(|row| self.forest.channel(net, row, tree).unwrap_or(NONE)).collect();
            while let Some(&first) = strays.first() {
                let before = strays.len();
                // Existing dependencies are preferred as long as they help: new ones would obstruct others.
                strays.retain(|&row| !lead(net, &mut self.dependencies, &mut next, row as usize, target, false));
                if strays.len() < before {
                    continue;
                }
                let led = |&row: &u32| lead(net, &mut self.dependencies, &mut next, row as usize, target, true);
                let Some(led) = strays.iter().position(led) else {
                    let [from, to] = [first as usize, target].map(|row| self.fabric.describe_node(net.node(row)));
                    return Err(format!(
                        "{from} has no way up and then down to {to}, and no other agrees with the rest"
                    ));
                };
                strays.remove(led);
            }
            self.forest.plant(net, tree, &next);
        }
        Ok(())
    }
}

/// Routes one row through a neighbour that has a way to a target; `anew` permits a new dependency; false if none is
/// possible.
fn lead(net: &FlatGraph, dependencies: &mut Acyclic, next: &mut [u32], row: usize, target: usize, anew: bool) -> bool {
    for (before, channel) in net.out(row).zip(net.leaving(row)) {
        let beyond = channel.to as usize;
        let agrees = match next[beyond] {
            NONE => beyond == target,
            // The packet would come straight back.
            after if net.channel(after).to as usize == row => false,
            after if anew => dependencies.admit(net, before, after),
            after => dependencies.has(net, before, after),
        };
        if agrees {
            next[row] = before;
            return true;
        }
    }
    false
}

/// Whether the dependencies of all ways along a tree close no cycle with those so far; they are then present. The turns
/// that lead up again after going down are what closes cycles, so they come first. One that closes a cycle whatever the
/// tree is refused for good, and the next tree with it is given up without a search.
fn agrees(net: &FlatGraph, tree: &SwitchTree, dependencies: &mut Acyclic, leads_up: impl Fn(u32) -> bool) -> bool {
    let turning = tree.turning(net, leads_up);
    let turns = || turning.iter().flat_map(|channels| every_two(net, channels));
    if turns().any(|(before, after)| dependencies.refuses(net, before, after)) {
        return false;
    }
    let mut fresh = Vec::new();
    let refused = turns().chain(tree.all_dependencies(net)).find(|&(before, after)| {
        if dependencies.has(net, before, after) {
            return false;
        }
        fresh.push((before, after));
        !dependencies.admit(net, before, after)
    });
    let Some((before, after)) = refused else { return true };
    for &(before, after) in &fresh {
        dependencies.dismiss(net, before, after);
        dependencies.forgive(net, before, after);
    }
    if dependencies.admit(net, before, after) {
        dependencies.dismiss(net, before, after);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::fabric::{FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind};
    use crate::ids::{Guid, PortNum};

    /// Three pods of three leaves and two switches above them, each of which is joined with each of four cores: two
    /// switches above one leaf have ways to each other over a core, too.
    fn pods_below_shared_cores() -> Fabric {
        let mut builder = FabricBuilder::new();
        let mut used = [0u8; 37];
        let nodes: Vec<NodeId> = (0..37)
            .map(|at| {
                let (kind, ports) = if at < 19 { (NodeKind::Switch, 12) } else { (NodeKind::Ca, 1) };
                builder.node(kind, Guid(at + 1), ports, format!("node {at}"))
            })
            .collect();
        let (leaves, above, cores) = (0..9, 9..15, 15..19);
        let pods = leaves.clone().flat_map(|leaf| [9, 10].map(|first| (leaf, first + leaf / 3 * 2)));
        let tops = above.flat_map(|above| cores.clone().map(move |core| (above, core)));
        let hosts = leaves.clone().flat_map(|leaf| [19, 20].map(|first| (leaf, first + 2 * leaf)));
        for (one, other) in pods.chain(tops).chain(hosts).collect::<Vec<(usize, usize)>>() {
            let ends = [one, other].map(|at| {
                used[at] += 1;
                (nodes[at], PortNum(used[at]))
            });
            builder.link(ends[0], ends[1], LinkWidth::X4, LinkSpeed::Hdr).unwrap();
        }
        builder.build().unwrap()
    }

    /// Whether a tree is given up early or tried in full, the outcome is that of trying all of its dependencies by
    /// themselves, and nothing stays of those that are given up.
    #[test]
    fn a_tree_over_switches_is_refused_where_its_dependencies_are() {
        let (mut agreeing, mut refused, mut at_once) = (0, 0, 0);
        let made = |topology: &str| generate(&topology.parse().unwrap(), &Options::default()).unwrap();
        let topologies = ["three-level:4,3,2,2,2", "fat-tree:4,3", "leaf-spine:5,3,3"];
        let fabrics = topologies.map(|topology| (topology, made(topology)));
        for (topology, whole) in fabrics.into_iter().chain([("pods below shared cores", pods_below_shared_cores())]) {
            let cables = whole.links().map(|(end, _)| end);
            let between = cables.filter(|&end| whole.neighbour(end).is_some_and(|node| whole.node(node).is_switch()));
            for end in between.step_by(3) {
                let fabric = whole.without_links(&[end]);
                let demand = Demand::all(&fabric, 1);
                let problem = TreeProblem::new(NAME, &fabric, &demand).unwrap();
                let levels = Levels::of(&fabric, &problem.net, leaves(&problem).swap_remove(0)).unwrap();
                let mut tree = Tree::new(&fabric, &problem, &levels);
                for (leaf, ends) in problem.borne().iter().enumerate() {
                    tree.aim(problem.ends[ends.start].row).unwrap();
                    tree.plant(leaf * 4, ends.clone());
                }
                // Ways to switches turn up at none, and come down to all.
                for (at, target) in problem.switches.iter().enumerate() {
                    if tree.aim(target.row).is_ok() {
                        let next = tree.chosen(at);
                        assert!(tree.admit(&next));
                    }
                }
                let (net, fresh) = (&problem.net, tree.dependencies.clone());
                let leads_up = |at: u32| levels.leads_up(net.channel(at).from, net.channel(at).to);
                // The roots one after the other, as in use: what the first leave behind must not mislead the next.
                let mut dependencies = fresh.clone();
                for &root in &levels.from_above {
                    let plain = SwitchTree::from(net, root as usize);
                    let mut all = fresh.clone();
                    let wanted = vec![true; net.rows()];
                    let expected = plain
                        .dependencies(net, &wanted)
                        .into_iter()
                        .all(|(before, after)| all.admit(net, before, after));
                    let turning = plain.turning(net, leads_up);
                    let mut turns = turning.iter().flat_map(|channels| every_two(net, channels));
                    at_once += usize::from(turns.any(|(before, after)| dependencies.refuses(net, before, after)));
                    let mut own = dependencies.clone();
                    assert_eq!(agrees(net, &plain, &mut own, leads_up), expected, "{topology}, {root}");
                    (agreeing, refused) = (agreeing + usize::from(expected), refused + usize::from(!expected));
                    if expected {
                        let mut asked = plain.dependencies(net, &wanted).into_iter();
                        assert!(asked.all(|(before, after)| own.has(net, before, after)));
                    } else {
                        for (before, after) in plain.dependencies(net, &wanted) {
                            assert_eq!(own.has(net, before, after), fresh.has(net, before, after));
                        }
                        dependencies = own;
                    }
                }
            }
        }
        assert!(agreeing > 20 && refused > 20 && at_once > 5, "{agreeing} agree, {refused} do not, {at_once} at once");
    }
}
