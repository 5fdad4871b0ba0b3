//! Turns the prover's findings into evidence that a reader can follow: the packets that close a cycle, the class that
//! loops, the port where packets end.

use super::ProofWave;
use super::dependencies::{Dependencies, DependencyLayout, lane_of};
use super::graph::NodeCycle;
use super::lanes::{LaneMask, lanes_of};
use super::net::Head;
use super::proof_walk::{FaultKind, FirstFault, ProofSink, ProofWalk};
use super::refusal::{
    BlackHole, ClassLoop, Cycle, Dependency, EntryAge, LoopHop, NamedDevice, PortLane, Refusal, WaveArrival,
    WrongArrival,
};
use super::walk::{Class, ClassHop, Columns, Sink};
use crate::fabric::NodeId;
use crate::ids::{Lid, PortNum, Sl, Vl};
use crate::tables::SubnetTables;

/// A fault as a refusal.
pub(super) fn of_fault(proof_walk: &ProofWalk<'_>, fault: FirstFault) -> Refusal {
    let ProofWalk { case, net, .. } = proof_walk;
    let wave = case.stages[fault.stage].name.clone();
    let lid = fault.lid;
    match fault.kind {
        FaultKind::BlackHole { row, cause, entry } => {
            let switch = NamedDevice::of(case.fabric, net.rows[row]);
            Refusal::BlackHole(BlackHole { wave, switch, lid, cause, entry })
        }
        FaultKind::WrongArrival { at, owner } => {
            let arrival = WrongArrival::new(case.fabric, lid, at, owner);
            Refusal::WrongArrival(WaveArrival { wave, arrival })
        }
    }
}

/// A cycle as a refusal: a loop where a class loops by itself, otherwise a deadlock with a class for each dependency.
pub(super) fn of_cycle(
    proof_walk: &ProofWalk<'_>,
    layout: &DependencyLayout<'_>,
    halves: &[Vec<Dependencies>; 2],
    stage: usize,
    cycle: NodeCycle,
) -> Refusal {
    // Switches that send one class round are a fault of the tables whatever the lanes, and easier to mend than a
    // deadlock. So the whole stage is searched for such a class before the cycle is explained.
    let mut loops = LoopSearch::new(proof_walk, stage);
    proof_walk.walk_all(&mut loops);
    if let Some(found) = loops.found {
        return Refusal::Loop(found);
    }
    Refusal::Deadlock(explained(proof_walk, layout, halves, stage, &cycle))
}

/// A cycle that is possible at a stage, with a class for each dependency.
pub(super) fn explained(
    proof_walk: &ProofWalk<'_>,
    layout: &DependencyLayout<'_>,
    halves: &[Vec<Dependencies>; 2],
    stage: usize,
    cycle: &NodeCycle,
) -> Cycle {
    let dependencies = dependencies(proof_walk, layout, halves, stage, &turns_of(cycle));
    Cycle { wave: proof_walk.case.stages[stage].name.clone(), dependencies, shortest: cycle.shortest }
}

/// Turns from lane to lane that are possible at a stage, with a class for each.
pub(super) fn dependencies(
    proof_walk: &ProofWalk<'_>,
    layout: &DependencyLayout<'_>,
    halves: &[Vec<Dependencies>; 2],
    stage: usize,
    turns: &[(u32, u32)],
) -> Vec<Dependency> {
    let mut search = ClassSearch::new(proof_walk, stage, wanted(layout, halves, stage, turns));
    proof_walk.walk_all(&mut search);
    search.wanted.iter().map(|wanted| search.explain(wanted)).collect()
}

/// Each lane of a cycle with the next.
fn turns_of(cycle: &NodeCycle) -> Vec<(u32, u32)> {
    cycle.nodes.iter().copied().zip(cycle.nodes.iter().copied().cycle().skip(1)).collect()
}

/// Returns whether every dependency of a cycle is possible at a stage.
pub(super) fn is_possible(
    layout: &DependencyLayout<'_>,
    halves: &[Vec<Dependencies>; 2],
    stage: usize,
    cycle: &NodeCycle,
) -> bool {
    wanted(layout, halves, stage, &turns_of(cycle)).iter().all(|wanted| wanted.halves != [false; 2])
}

/// A dependency, and the class that causes it.
struct Wanted {
    row: usize,
    input: PortNum,
    from: u8,
    output: PortNum,
    to: u8,
    /// By half: whether its classes cause it.
    halves: [bool; 2],
    cause: Option<Cause>,
}

/// The class, and the latest stage at which it chose so.
struct Cause {
    stage: usize,
    lid: Lid,
    sl: Sl,
    entry: EntryAge,
    mapping: EntryAge,
}

fn wanted(
    layout: &DependencyLayout<'_>,
    halves: &[Vec<Dependencies>; 2],
    stage: usize,
    turns: &[(u32, u32)],
) -> Vec<Wanted> {
    let turn = |&(inward, outward): &(u32, u32)| {
        let ((channel, from), (out, to)) = (lane_of(layout, inward), lane_of(layout, outward));
        let Head::Switch { row, input } = layout.net.head(stage, channel.index()) else {
            unreachable!("only a lane into a switch waits for another")
        };
        let row = row as usize;
        let output = layout.net.output(row, out.index());
        let has = |half: &Vec<Dependencies>| half[stage].at(layout, row, input, from.into(), output) >> to & 1 == 1;
        Wanted { row, input, from, output, to, halves: [has(&halves[0]), has(&halves[1])], cause: None }
    };
    turns.iter().map(turn).collect()
}

/// Finds a class for every dependency wanted.
struct ClassSearch<'a> {
    proof_walk: &'a ProofWalk<'a>,
    stage: usize,
    wanted: Vec<Wanted>,
    /// By row: whether a dependency wanted is there. Nearly every hop is elsewhere.
    has_wanted: Vec<bool>,
    /// Of the dependencies wanted: how many have no class that chose so at the stage itself.
    open: usize,
}

impl<'a> ClassSearch<'a> {
    fn new(proof_walk: &'a ProofWalk<'a>, stage: usize, wanted: Vec<Wanted>) -> ClassSearch<'a> {
        let mut has_wanted = vec![false; proof_walk.net.rows.len()];
        wanted.iter().for_each(|wanted| has_wanted[wanted.row] = true);
        ClassSearch { proof_walk, stage, open: wanted.len(), wanted, has_wanted }
    }

    fn explain(&self, wanted: &Wanted) -> Dependency {
        let case = &self.proof_walk.case;
        let switch = NamedDevice::of(case.fabric, self.proof_walk.net.rows[wanted.row]);
        let lane = |port, vl| PortLane { port, vl: Vl::masked(vl) };
        let (input, output) = (lane(wanted.input, wanted.from), lane(wanted.output, wanted.to));
        let Some(cause) = &wanted.cause else { unreachable!("the walk that found the dependency passes it again") };
        let latched = (cause.stage < self.stage).then(|| case.stages[cause.stage].name.clone());
        let Cause { lid, sl, entry, mapping, .. } = *cause;
        Dependency { switch, input, output, lid, sl, entry, mapping, latched }
    }

    fn cause(&self, class: &Class, columns: &Columns, hop: &ClassHop, to: u8) -> Cause {
        let sl = self.proof_walk.lanes.groups[class.group].sls[0];
        let facts = &self.proof_walk.case.stages[hop.stage];
        let node = self.proof_walk.net.rows[hop.row];
        let mapping = mapping_entry(facts, node, hop.input, hop.output, sl, Vl::masked(to));
        let entry = columns.entry(hop.stage, hop.row, hop.output);
        Cause { stage: hop.stage, lid: class.lid, sl, entry, mapping }
    }
}

/// The SL-to-VL table of a stage that sends a service level from an input to an output on a lane.
pub(super) fn mapping_entry(
    facts: &ProofWave<'_>,
    node: NodeId,
    input: PortNum,
    output: PortNum,
    sl: Sl,
    to: Vl,
) -> EntryAge {
    let lane = |tables: &SubnetTables| tables.sl_to_vl[node.index()].get(input, output).get(sl);
    let (old, new) = (lane(facts.before), lane(facts.after));
    EntryAge::of(&old, &new, &to)
}

impl Sink for ClassSearch<'_> {
    fn hop(&mut self, class: &Class, columns: &Columns, hop: &ClassHop) {
        if hop.stage > self.stage || !self.has_wanted[hop.row] {
            return;
        }
        for index in 0..self.wanted.len() {
            let wanted = &self.wanted[index];
            let here = (wanted.row, wanted.input, wanted.output) == (hop.row, hop.input, hop.output);
            let lanes = has(hop.from, wanted.from) && has(hop.to, wanted.to);
            // The latest stage is named: a choice that is still possible explains the cycle better than one latched
            // earlier.
            let later = wanted.cause.as_ref().is_none_or(|cause| cause.stage < hop.stage);
            if here && lanes && later && wanted.halves[self.proof_walk.half(class).index()] {
                self.wanted[index].cause = Some(self.cause(class, columns, hop, self.wanted[index].to));
                self.open -= usize::from(hop.stage == self.stage);
            }
        }
    }

    /// A choice at the stage itself is replaced by none, so nothing is left to find once all are known.
    fn limit(&self) -> usize {
        if self.open == 0 { 0 } else { self.stage + 1 }
    }
}

fn has(mask: LaneMask, lane: u8) -> bool {
    lanes_of(mask).any(|own| own == usize::from(lane))
}

/// Finds a class that loops.
struct LoopSearch<'a> {
    proof_walk: &'a ProofWalk<'a>,
    stage: usize,
    /// Of the class in hand, at the stage, by row: outputs towards other switches. There are two at most: an old entry
    /// and a new one.
    edges: Vec<[Option<PortNum>; 2]>,
    /// Rows that have such outputs.
    rows: Vec<usize>,
    /// By row: the last search that entered it.
    entered: Vec<usize>,
    search: usize,
    found: Option<ClassLoop>,
}

/// A switch on the path of the depth-first search, and its outputs not yet tried.
struct Visit {
    row: usize,
    output: PortNum,
    left: [Option<PortNum>; 2],
}

impl<'a> LoopSearch<'a> {
    fn new(proof_walk: &'a ProofWalk<'a>, stage: usize) -> LoopSearch<'a> {
        let rows = proof_walk.net.rows.len();
        let (edges, entered) = (vec![[None; 2]; rows], vec![0; rows]);
        LoopSearch { proof_walk, stage, edges, rows: Vec::new(), entered, search: 0, found: None }
    }

    /// Notes that the class in hand leaves a switch by an output.
    fn note(&mut self, row: usize, output: PortNum) {
        match &mut self.edges[row] {
            [Some(first), _] if *first == output => {}
            [Some(_), Some(second)] => assert_eq!(*second, output, "a stage has an old entry and a new one"),
            [Some(_), second @ None] => *second = Some(output),
            [first @ None, _] => {
                *first = Some(output);
                self.rows.push(row);
            }
        }
    }

    /// The hops of a round trip among the edges, as (row, output), by depth-first search.
    fn round(&mut self) -> Option<Vec<(usize, PortNum)>> {
        // In rising order of rows, then outputs: the result depends on the class alone, not on the walk.
        self.rows.sort_unstable();
        self.rows.iter().for_each(|&row| self.edges[row].sort_unstable_by_key(|output| (output.is_none(), *output)));
        // A switch that was entered before and is not on the path leads to no cycle: the search would have ended
        // there.
        self.search += 1;
        let mut path: Vec<Visit> = Vec::new();
        for start in 0..self.rows.len() {
            path.extend(self.visit(self.rows[start]));
            while let Some(last) = path.last_mut() {
                let Some(output) = last.left.iter_mut().find_map(Option::take) else {
                    path.pop();
                    continue;
                };
                last.output = output;
                let next = self.next_row(last.row, output);
                match self.visit(next) {
                    Some(visit) => path.push(visit),
                    None => {
                        if let Some(at) = path.iter().position(|visit| visit.row == next) {
                            return Some(path[at..].iter().map(|visit| (visit.row, visit.output)).collect());
                        }
                    }
                }
            }
        }
        None
    }

    /// A row to be searched from; none if it was entered before.
    fn visit(&mut self, row: usize) -> Option<Visit> {
        let fresh = std::mem::replace(&mut self.entered[row], self.search) != self.search;
        fresh.then(|| Visit { row, output: PortNum::ZERO, left: self.edges[row] })
    }

    fn next_row(&self, row: usize, output: PortNum) -> usize {
        match self.proof_walk.net.head(self.stage, self.proof_walk.net.channel(row, output)) {
            Head::Switch { row, .. } => row as usize,
            _ => unreachable!("only outputs towards switches are gathered"),
        }
    }
}

impl Sink for LoopSearch<'_> {
    fn hop(&mut self, _class: &Class, _columns: &Columns, hop: &ClassHop) {
        let onward = self.proof_walk.net.head(hop.stage, self.proof_walk.net.channel(hop.row, hop.output));
        if hop.stage == self.stage && self.found.is_none() && matches!(onward, Head::Switch { .. }) {
            self.note(hop.row, hop.output);
        }
    }

    fn limit(&self) -> usize {
        if self.found.is_some() { 0 } else { self.stage + 1 }
    }
}

impl ProofSink for LoopSearch<'_> {
    fn walked(&mut self, class: &Class, columns: &Columns) {
        if let Some(round) = self.round() {
            let ProofWalk { case, net, .. } = self.proof_walk;
            let hop = |&(row, port): &(usize, PortNum)| {
                let entry = columns.entry(self.stage, row, port);
                LoopHop { switch: NamedDevice::of(case.fabric, net.rows[row]), port, entry }
            };
            let wave = case.stages[self.stage].name.clone();
            self.found = Some(ClassLoop { wave, lid: class.lid, hops: round.iter().map(hop).collect() });
        }
        // Edges are of one class: two classes that go opposite ways make no loop.
        self.rows.drain(..).for_each(|row| self.edges[row] = [None; 2]);
    }
}

impl ProofSink for ClassSearch<'_> {}
