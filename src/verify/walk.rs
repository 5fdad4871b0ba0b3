//! Follows one class after the other through all stages: from every source, through every mixture of old and new entries,
//! onto every lane that a mixture of old and new SL-to-VL tables allows.
//!
//! A *stage* is the moment before the change (0) or a wave (1 on). What a class can occupy at the end of a stage is where
//! the next begins, less what the barrier between them emptied. A [`Sink`] hears of every hop that can happen.

use super::WaveFacts;
use super::injection::{Injection, Seed};
use super::lanes::{LaneMask, Lanes};
use super::net::{Head, Net};
use super::refusal::{Entry, HoleCause};
use super::ways::Ways;
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, PortNum, VlSet};
use crate::tables::Lft;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is walked: fabric, stages, and who is left out.
pub(super) struct Case<'a> {
    /// Before the change.
    pub fabric: &'a Fabric,
    /// Stage 0: the tables before the change on both sides; then the waves.
    pub stages: Vec<WaveFacts<'a>>,
    /// By port: omitted by the new routing function.
    pub stranded: Vec<bool>,
    /// By port: unknown to the routing function in force.
    pub newcomer: Vec<bool>,
    /// The stage from which newcomers take part, and their half.
    pub joining: (usize, Half),
    /// Whether switches send and receive, too.
    pub switches: bool,
    /// Ports of routers, and which of them hand packets to which: empty where one subnet is judged by itself, in which they
    /// are end ports like any.
    pub relays: Relays,
}

/// Ports of routers in one subnet. They send to its hosts whatever comes, and to each other only where a way between
/// subnets leads through both.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Relays {
    pub ports: BTreeSet<PortId>,
    /// (From, to).
    pub handed: BTreeSet<(PortId, PortId)>,
}

impl Relays {
    /// Whether a port has packets for another.
    fn admit(&self, source: PortId, owner: PortId) -> bool {
        !(self.ports.contains(&source) && self.ports.contains(&owner)) || self.handed.contains(&(source, owner))
    }
}

impl Case<'_> {
    /// Whether packets of a half may be sent by a port, or to it, at a stage.
    pub fn admits(&self, port: PortId, stage: usize, half: Half) -> bool {
        let (from, only) = self.joining;
        !self.newcomer[port.index()] || stage >= from && half == only
    }
}

/// Packets that look alike to every switch: one DLID, and service levels that no table tells apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub lid: Lid,
    pub owner: PortId,
    pub half: Half,
    /// Index into the groups of [`Lanes`].
    pub group: usize,
    /// Whether discarding its packets for want of a route is no fault, before and during the change.
    pub lenient: [bool; 2],
}

/// One possible hop of a class: packets in the input, on any lane of `from`, can take the output, on any lane of `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub stage: usize,
    pub row: usize,
    pub input: PortNum,
    pub from: LaneMask,
    pub output: PortNum,
    pub to: LaneMask,
}

/// Hears of every hop.
pub(super) trait Sink {
    /// A packet already in a lane hops on.
    fn hop(&mut self, class: &Class, columns: &Columns, hop: &Hop);
    /// Packets of every source of a switch that makes no difference between inputs enter an output channel.
    fn enter(&mut self, _stage: usize, _group: usize, _channel: usize, _to: LaneMask) {}
    /// Where packets of the class can be at a stage: channels, and by channel the lanes.
    fn occupied(&mut self, _class: &Class, _stage: usize, _channels: &[u32], _lanes: &[LaneMask]) {}
    /// Nothing happens at a stage that did not happen at the one before.
    fn repeat(&mut self, _stage: usize) {}
    /// Whether hops must be told again at stages that repeat the one before.
    fn hears_repeats(&self) -> bool {
        true
    }
    /// The class has been walked through all stages.
    fn end(&mut self, _class: &Class, _columns: &Columns) {}
}

/// Two that hear the same walk; the second may be missing.
pub(super) struct Both<A, B>(pub A, pub Option<B>);

impl<A: Sink, B: Sink> Sink for Both<A, B> {
    fn hop(&mut self, class: &Class, columns: &Columns, hop: &Hop) {
        self.0.hop(class, columns, hop);
        self.1.iter_mut().for_each(|second| second.hop(class, columns, hop));
    }

    fn enter(&mut self, stage: usize, group: usize, channel: usize, to: LaneMask) {
        self.0.enter(stage, group, channel, to);
        self.1.iter_mut().for_each(|second| second.enter(stage, group, channel, to));
    }

    fn occupied(&mut self, class: &Class, stage: usize, channels: &[u32], lanes: &[LaneMask]) {
        self.0.occupied(class, stage, channels, lanes);
        self.1.iter_mut().for_each(|second| second.occupied(class, stage, channels, lanes));
    }

    fn repeat(&mut self, stage: usize) {
        self.0.repeat(stage);
        self.1.iter_mut().for_each(|second| second.repeat(stage));
    }

    fn hears_repeats(&self) -> bool {
        self.0.hears_repeats() || self.1.as_ref().is_some_and(Sink::hears_repeats)
    }

    fn end(&mut self, class: &Class, columns: &Columns) {
        self.0.end(class, columns);
        self.1.iter_mut().for_each(|second| second.end(class, columns));
    }
}

/// What is wrong with a class, and where.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub stage: usize,
    pub lid: Lid,
    pub fault: Fault,
}

/// See the refusals of the same names.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    Hole { row: usize, cause: HoleCause, entry: Entry },
    Wrong { at: PortId, owner: PortId },
}

/// Output ports for one DLID at every switch, at every stage: old and new.
pub(super) struct Columns {
    rows: usize,
    outputs: Vec<[PortNum; 2]>,
}

impl Columns {
    /// Columns to be read for one LID after the other.
    pub fn new(rows: usize, stages: usize) -> Columns {
        Columns { rows, outputs: vec![[PortNum::NO_ROUTE; 2]; rows * stages] }
    }

    /// Reads the entries for a LID.
    pub fn read(&mut self, net: &Net, stages: &[WaveFacts<'_>], lid: Lid) {
        let output = |table: &Arc<Lft>| table.get(lid).unwrap_or(PortNum::NO_ROUTE);
        for (column, facts) in self.outputs.chunks_exact_mut(self.rows.max(1)).zip(stages) {
            for (entry, node) in column.iter_mut().zip(&net.rows) {
                let (old, new) = (&facts.before.lfts[node.index()], &facts.after.lfts[node.index()]);
                let before = output(old);
                *entry = [before, if Arc::ptr_eq(old, new) { before } else { output(new) }];
            }
        }
    }

    /// Old and new output port at a switch; [`PortNum::NO_ROUTE`] for none.
    pub fn at(&self, stage: usize, row: usize) -> [PortNum; 2] {
        self.outputs[stage * self.rows + row]
    }

    /// Whether all entries are at a stage what they were at the one before.
    fn repeats(&self, stage: usize) -> bool {
        let column = |stage: usize| &self.outputs[stage * self.rows..(stage + 1) * self.rows];
        column(stage) == column(stage - 1)
    }

    /// Which entry names an output port.
    pub fn entry(&self, stage: usize, row: usize, output: PortNum) -> Entry {
        let [old, new] = self.at(stage, row);
        match (old == new, old == output) {
            (true, _) => Entry::Unchanged,
            (false, true) => Entry::Old,
            (false, false) => Entry::New,
        }
    }
}

/// Walks every class; reusable, so that two passes see the same hops.
pub(super) struct Walker<'a> {
    pub case: &'a Case<'a>,
    pub net: &'a Net,
    pub lanes: &'a Lanes,
    pub injection: &'a Injection,
}

impl<'a> Walker<'a> {
    /// The classes of one port, all halves and groups that some stage injects.
    pub fn classes_of(&self, owner: PortId) -> Vec<Class> {
        let fabric = self.case.fabric;
        let stranded = self.case.stranded[owner.index()];
        let end_port = !fabric.node(fabric.port(owner).node).is_switch();
        let dead = end_port && !self.net.survives[owner.index()];
        let undivided = fabric.port(owner).lid.filter(|&lid| fabric.half_of(lid).is_none());
        let mut classes = Vec::new();
        for half in [Half::Lower, Half::Upper] {
            if !self.case.stages.iter().any(|facts| facts.injects(half)) {
                continue;
            }
            for lid in fabric.half_lids(owner, half).chain(undivided) {
                let groups = self.lanes.groups.iter().enumerate().filter(|(_, group)| group.half == half);
                let lenient = [stranded, stranded || dead];
                classes.extend(groups.map(|(group, _)| Class { lid, owner, half, group, lenient }));
            }
        }
        classes.sort_by_key(|class| (class.lid, class.group));
        classes
    }

    /// Every class, in order of ports, then LIDs, then groups.
    pub fn classes(&self) -> impl Iterator<Item = Class> + '_ {
        let fabric = self.case.fabric;
        let owners =
            fabric.lid_ports().filter(|&port| self.case.switches || !fabric.node(fabric.port(port).node).is_switch());
        owners.flat_map(|owner| self.classes_of(owner))
    }

    /// Walks all classes, and returns the earliest finding: of the first stage, then of the first class.
    pub fn run(&self, sink: &mut impl Sink) -> Option<Finding> {
        let stages = self.case.stages.len();
        let mut columns = Columns::new(self.net.rows.len(), stages);
        let mut read = None;
        let mut course = Course::new(self, stages);
        for class in self.classes() {
            if read != Some(class.lid) {
                columns.read(self.net, &self.case.stages, class.lid);
                course.ways.turn_to(self.case.fabric, self.net, class.owner, class.lid);
                read = Some(class.lid);
            }
            course.walk(&class, &columns, sink);
            sink.end(&class, &columns);
        }
        course.finding
    }
}

/// One class on its way.
struct Course<'a> {
    walker: &'a Walker<'a>,
    ways: Ways<'a>,
    /// By channel: lanes that the class can occupy.
    occupied: Vec<LaneMask>,
    touched: Vec<u32>,
    stack: Vec<(u32, LaneMask)>,
    finding: Option<Finding>,
    /// Stages that still matter: those before the earliest finding.
    limit: usize,
}

impl<'a> Course<'a> {
    fn new(walker: &'a Walker<'a>, stages: usize) -> Course<'a> {
        let occupied = vec![0; walker.net.heads.len()];
        let ways = Ways::new(walker.case, walker.net, walker.lanes);
        Course { walker, ways, occupied, touched: Vec::new(), stack: Vec::new(), finding: None, limit: stages }
    }

    fn walk(&mut self, class: &Class, columns: &Columns, sink: &mut impl Sink) {
        for stage in 0..self.limit {
            let now = Now { class, columns, stage };
            if !sink.hears_repeats() && self.repeats(now) {
                sink.repeat(stage);
                sink.occupied(class, stage, &self.touched, &self.occupied);
                continue;
            }
            self.carry_over(now);
            self.inject(now, sink);
            while let Some((channel, from)) = self.stack.pop() {
                if let Head::Switch { row, input } = self.walker.net.heads[channel as usize] {
                    self.forward(now, row as usize, input, from, true, sink);
                }
            }
            sink.occupied(class, stage, &self.touched, &self.occupied);
        }
        self.touched.drain(..).for_each(|channel| self.occupied[channel as usize] = 0);
    }

    /// Whether a wave lets the class do what the wave before it did, and nothing else: what is occupied stays the same, and
    /// what was latched then still is.
    fn repeats(&self, now: Now<'_>) -> bool {
        let Walker { case, lanes, injection, .. } = *self.walker;
        let (Class { owner, half, group, .. }, stage) = (*now.class, now.stage);
        let facts = &case.stages[stage];
        // At stage 1 links die.
        stage >= 2
            && facts.empty == VlSet::EMPTY
            && !facts.gone[half.index()]
            && lanes.repeats(stage)
            && injection.repeats(stage, group)
            && case.admits(owner, stage, half) == case.admits(owner, stage - 1, half)
            && self.ways.repeats(stage, half)
            && now.columns.repeats(stage)
    }

    /// What the barrier before the stage left becomes its start.
    fn carry_over(&mut self, now: Now<'_>) {
        let facts = &self.walker.case.stages[now.stage];
        let net = self.walker.net;
        let left = if facts.gone[now.class.half.index()] { 0 } else { !facts.empty.0 };
        let occupied = &mut self.occupied;
        self.touched.retain(|&channel| {
            let lanes = &mut occupied[channel as usize];
            *lanes &= if net.exists(now.stage, channel as usize) { left } else { 0 };
            *lanes != 0
        });
        self.stack.extend(self.touched.iter().map(|&channel| (channel, occupied[channel as usize])));
    }

    fn inject(&mut self, now: Now<'_>, sink: &mut impl Sink) {
        let walker = self.walker;
        if !walker.case.admits(now.class.owner, now.stage, now.class.half) {
            return;
        }
        for seed in walker.injection.seeds(now.stage, now.class.group) {
            if walker.lanes.is_uniform(now.stage, seed.row) && !self.has_relay(seed) {
                self.inject_together(now, seed, sink);
            } else {
                self.inject_singly(now, seed, sink);
            }
        }
    }

    /// Whether a router hangs on the switch: its ports do not send all that others do.
    fn has_relay(&self, seed: &Seed) -> bool {
        let Walker { case, net, .. } = *self.walker;
        let mut sources = net.sources[seed.first..seed.end].iter();
        !case.relays.ports.is_empty() && sources.any(|source| case.relays.ports.contains(&source.port))
    }

    /// All sources of a switch that makes no difference between inputs, less the owner, which sends nothing to itself.
    fn inject_together(&mut self, now: Now<'_>, seed: &Seed, sink: &mut impl Sink) {
        let Walker { net, .. } = *self.walker;
        let Some(firm) = self.senders(now, seed) else { return };
        for output in choices(now.columns.at(now.stage, seed.row)) {
            if let Some(to) = self.take(now, seed.row, PortNum::ZERO, output, firm) {
                sink.enter(now.stage, now.class.group, net.channel(seed.row, output), to);
            }
        }
    }

    /// Whether any of the sources of a switch can send a packet of the class, and then whether one of those must not
    /// lose it.
    fn senders(&self, now: Now<'_>, seed: &Seed) -> Option<bool> {
        let Walker { case, net, injection, .. } = *self.walker;
        let Class { owner, group, half, .. } = *now.class;
        if let Some(masks) = self.ways.at(now.stage, half) {
            let sends = |&source: &usize| {
                masks[source] >> group & 1 == 1
                    && net.sources[source].port != owner
                    && injection.mask(now.stage, source, group) != 0
            };
            let mut senders = (seed.first..seed.end).filter(sends).peekable();
            senders.peek()?;
            return Some(senders.any(|source| !case.stranded[net.sources[source].port.index()]));
        }
        let own = (seed.first..seed.end).find(|&source| net.sources[source].port == owner);
        let own = own.is_some_and(|source| injection.mask(now.stage, source, group) != 0);
        let firm = seed.firm - u32::from(own && !case.stranded[owner.index()]);
        (seed.any > u32::from(own)).then_some(firm > 0)
    }

    fn inject_singly(&mut self, now: Now<'_>, seed: &Seed, sink: &mut impl Sink) {
        let Walker { case, net, injection, .. } = *self.walker;
        let Class { owner, group, half, .. } = *now.class;
        for index in seed.first..seed.end {
            let source = net.sources[index];
            let from = injection.mask(now.stage, index, group);
            let open = self.ways.at(now.stage, half).is_none_or(|masks| masks[index] >> group & 1 == 1);
            let sends = open && source.port != owner && case.relays.admit(source.port, owner);
            if from != 0 && sends {
                let firm = !case.stranded[source.port.index()];
                self.forward(now, seed.row, source.input, from, firm, sink);
            }
        }
    }

    /// Packets in one input of a switch go on. Those of the switch itself (input 0) stand in no lane.
    fn forward(&mut self, now: Now<'_>, row: usize, input: PortNum, from: LaneMask, firm: bool, sink: &mut impl Sink) {
        for output in choices(now.columns.at(now.stage, row)) {
            let taken = self.take(now, row, input, output, firm);
            if let Some(to) = taken
                && input != PortNum::ZERO
            {
                sink.hop(now.class, now.columns, &Hop { stage: now.stage, row, input, from, output, to });
            }
        }
    }

    /// Takes an output of a switch: the lanes that become occupied there, none where the packet ends here.
    fn take(&mut self, now: Now<'_>, row: usize, input: PortNum, output: PortNum, firm: bool) -> Option<LaneMask> {
        let net = self.walker.net;
        if output.index() >= net.sides[row] || output == PortNum::ZERO {
            self.leave(now, row, output, firm);
            return None;
        }
        let channel = net.channel(row, output);
        if !net.exists(now.stage, channel) {
            // Towards a link that died the packet vanishes, and holds no lane. Tables made for a half that nobody sent on
            // before have no business to lead there.
            let made_since = !self.walker.case.stages[0].injects(now.class.half);
            if net.heads[channel] == Head::Nothing || made_since {
                self.leave(now, row, output, firm);
            }
            return None;
        }
        if let Head::End(at) = net.heads[channel]
            && at != now.class.owner
        {
            self.found(now, Fault::Wrong { at, owner: now.class.owner });
            return None;
        }
        let to = self.walker.lanes.at_switch(now.stage, row, now.class.group, input, output);
        let fresh = to & !self.occupied[channel];
        if fresh != 0 {
            if self.occupied[channel] == 0 {
                self.touched.push(channel as u32);
            }
            self.occupied[channel] |= fresh;
            self.stack.push((channel as u32, fresh));
        }
        Some(to)
    }

    /// No cable, no route, or port 0: delivery to the switch itself, a wrong arrival, or a black hole.
    fn leave(&mut self, now: Now<'_>, row: usize, output: PortNum, firm: bool) {
        let own = PortId(self.walker.net.first_port[row]);
        if output == PortNum::ZERO {
            if own != now.class.owner {
                self.found(now, Fault::Wrong { at: own, owner: now.class.owner });
            }
            return;
        }
        if firm && !now.class.lenient[usize::from(now.stage > 0)] {
            let no_route = output == PortNum::NO_ROUTE;
            let cause = if no_route { HoleCause::NoRoute } else { HoleCause::NoCable { port: output } };
            let entry = now.columns.entry(now.stage, row, output);
            self.found(now, Fault::Hole { row, cause, entry });
        }
    }

    fn found(&mut self, now: Now<'_>, fault: Fault) {
        if now.stage < self.limit {
            self.limit = now.stage;
            self.finding = Some(Finding { stage: now.stage, lid: now.class.lid, fault });
        }
    }
}

/// The class and the stage in hand.
#[derive(Clone, Copy)]
struct Now<'a> {
    class: &'a Class,
    columns: &'a Columns,
    stage: usize,
}

/// Old and new, once where they agree.
pub(super) fn choices([old, new]: [PortNum; 2]) -> impl Iterator<Item = PortNum> {
    std::iter::once(old).chain((old != new).then_some(new))
}
