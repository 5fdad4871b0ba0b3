//! Walks every class of a proof, and stops at the first fault.

use super::ProofWave;
use super::case::ProofCase;
use super::dependencies::DependencyLayout;
use super::injection::{Injection, Seed};
use super::lanes::{HopLanes, LaneMask};
use super::lost::LostRows;
use super::net::{Exit, FlatFabric};
use super::permissions::{Answerer, OwnedLid, Permissions};
use super::refusal::{EntryAge, HoleCause, Refusal};
use super::tables;
use super::twins::Twins;
use super::walk::{Class, ClassHop, ClassPackets, Columns, DeadEnd, Entrance, Now, Senders, Sink, Walk};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, PortNum, VlSet};
use crate::tables::SubnetTables;
use fixedbitset::FixedBitSet;
use std::sync::Arc;

/// The fault of a class, and its place.
#[derive(Clone, Debug)]
pub(super) struct FirstFault {
    pub stage: usize,
    pub lid: Lid,
    pub kind: FaultKind,
}

impl FirstFault {
    /// The first stage whose dependencies may be incomplete. A packet that is led astray goes on, and the cycle that it
    /// may close is worse than its loss.
    pub fn unsound_stage(&self) -> usize {
        match self.kind {
            FaultKind::BlackHole { cause: HoleCause::Astray { .. }, .. } => self.stage + 1,
            FaultKind::BlackHole { .. } | FaultKind::WrongArrival { .. } => self.stage,
        }
    }
}

/// See the refusals of the same names.
#[derive(Clone, Debug)]
pub(super) enum FaultKind {
    BlackHole { row: usize, cause: HoleCause, entry: EntryAge },
    WrongArrival { at: PortId, owner: PortId },
}

/// A sink of a proof, which is also notified when a class is complete.
pub(super) trait ProofSink: Sink {
    /// The class has been walked through all stages.
    fn walked(&mut self, _class: &Class, _columns: &Columns) {}
}

impl<A: ProofSink, B: ProofSink> ProofSink for super::walk::Both<A, B> {
    fn walked(&mut self, class: &Class, columns: &Columns) {
        self.0.walked(class, columns);
        self.1.iter_mut().for_each(|second| second.walked(class, columns));
    }
}

/// A case with everything that its walk reads. It can be walked again: a second pass reports the same hops in the same
/// order, and so finds the class that causes each result of the first.
pub(super) struct ProofWalk<'a> {
    pub case: ProofCase<'a>,
    pub net: FlatFabric,
    pub lanes: HopLanes,
    pub injection: Injection,
    /// The groups that stand for others.
    pub twins: Twins,
    /// By stage: the rows that end with another table than they begin with, where all begin with the one that ended
    /// the stage before; otherwise none.
    rewritten: Vec<Option<Vec<usize>>>,
    /// The place of the answering port among the senders, and the row into which it sends.
    pub answerer: Option<Answerer>,
}

impl<'a> ProofWalk<'a> {
    /// Prepares the walk of a case; `surviving` is the part of its fabric that remains while the waves run.
    ///
    /// # Errors
    /// A table that sends a service level in use onto a lane which the link does not carry; a manager's port whose
    /// answers are to be proved and that sends nothing.
    pub fn new(case: ProofCase<'a>, surviving: &Fabric) -> Result<ProofWalk<'a>, Refusal> {
        let mut net = FlatFabric::of_restriction(case.fabric, surviving, case.switches);
        net.discards_turned_back = case.discards_turned_back;
        let lanes = tables::read(&case, &net)?;
        let injection = Injection::new(&case, &net, &lanes);
        let answerer = Answerer::of(&case, &net)?;
        let rewritten = (0..case.stages.len()).map(|stage| rewritten(&case, &net, stage)).collect();
        let twins = Twins::of(&case, &lanes);
        Ok(ProofWalk { case, net, lanes, injection, twins, answerer, rewritten })
    }

    /// The layout of the dependencies.
    pub fn layout(&self) -> DependencyLayout<'_> {
        DependencyLayout::new(&self.net, self.lanes.vls)
    }

    /// The classes of one port, all halves and groups that some stage injects.
    pub fn classes_of(&self, owner: PortId) -> Vec<Class> {
        let fabric = self.case.fabric;
        // A LID of no half (of a switch) is a destination on the service levels of both.
        let undivided = fabric.port(owner).lid.filter(|&lid| fabric.half_of(lid).is_none());
        let mut classes = Vec::new();
        for half in [Half::Lower, Half::Upper] {
            if !self.case.stages.iter().any(|facts| facts.injects(half)) {
                continue;
            }
            for lid in fabric.half_lids(owner, half).chain(undivided) {
                let groups = self.lanes.groups.iter().enumerate().filter(|(_, group)| group.half() == half);
                classes.extend(groups.map(|(group, _)| Class { lid, owner, group }));
            }
            classes.extend(self.answers_to(owner, half));
        }
        classes.sort_unstable_by_key(|class| (class.lid, class.group));
        classes
    }

    /// The classes of answers to a port on the levels of a half; none where its base LID is of that half, so that
    /// answers are of classes that others send too.
    fn answers_to(&self, owner: PortId, half: Half) -> impl Iterator<Item = Class> + '_ {
        let case = &self.case;
        let base = case.fabric.port(owner).lid.filter(|&lid| case.is_answer(lid, half));
        let asks = self.answerer.is_some_and(|answerer| answerer.port != owner);
        let groups = self.lanes.groups.iter().enumerate().filter(move |(_, group)| asks && group.half() == half);
        groups.filter_map(move |(group, _)| Some(Class { lid: base?, owner, group }))
    }

    /// Every class, in order of ports, then LIDs, then groups.
    pub fn classes(&self) -> impl Iterator<Item = Class> + '_ {
        let fabric = self.case.fabric;
        let owners =
            fabric.lid_ports().filter(|&port| self.case.switches || !fabric.node(fabric.port(port).node).is_switch());
        owners.flat_map(|owner| self.classes_of(owner))
    }

    /// The classes of some LIDs, in the same order.
    pub fn classes_to<'w>(&'w self, lids: &FixedBitSet) -> impl Iterator<Item = Class> + use<'w, 'a> {
        let fabric = self.case.fabric;
        let marked: Vec<Lid> = lids.ones().map(|lid| Lid(lid as u16)).collect();
        let mut owners: Vec<PortId> = marked.iter().filter_map(|&lid| fabric.lid_owner(lid)).collect();
        owners.sort_unstable();
        owners.dedup();
        owners.retain(|&owner| self.is_destination(owner));
        let classes = owners.into_iter().flat_map(|owner| self.classes_of(owner));
        classes.filter(move |class| marked.binary_search(&class.lid).is_ok())
    }

    /// Whether a port is among the destinations of the case.
    fn is_destination(&self, port: PortId) -> bool {
        let fabric = self.case.fabric;
        let node = fabric.node(fabric.port(port).node);
        match node.is_switch() {
            true => self.case.switches && node.present && fabric.port(port).num == PortNum::ZERO,
            false => fabric.peer(port).is_some(),
        }
    }

    /// Reads the entries for a LID at every stage. Tables are far apart in memory, so each is read once for all stages
    /// that share it.
    pub fn read(&self, columns: &mut Columns, lid: Lid) {
        let output = |tables: &SubnetTables, row: usize| {
            tables.lfts[self.net.rows[row].index()].get(lid).unwrap_or(PortNum::NO_ROUTE)
        };
        for (stage, (facts, rewritten)) in self.case.stages.iter().zip(&self.rewritten).enumerate() {
            match rewritten {
                Some(rows) => {
                    columns.keep(stage);
                    let column = columns.column(stage);
                    rows.iter().for_each(|&row| column[row][1] = output(facts.after, row));
                }
                None => {
                    let column = columns.column(stage).iter_mut().enumerate();
                    column.for_each(|(row, entry)| *entry = [facts.before, facts.after].map(|t| output(t, row)));
                }
            }
        }
    }

    /// Walks all classes, and returns the earliest fault: of the first stage, then of the first class.
    pub fn walk_all(&self, sink: &mut impl ProofSink) -> Option<FirstFault> {
        self.walk_classes(self.classes(), sink)
    }

    /// Walks one class of each set of twins. The first fault is one of theirs, because a twin fails where its leader
    /// does, and follows it. Sinks that need the others add them (see [`Twins`]).
    pub fn walk_leaders(&self, sink: &mut impl ProofSink) -> Option<FirstFault> {
        self.walk_classes(self.classes().filter(|class| self.twins.leads(class.group)), sink)
    }

    /// Walks some classes, those of a LID one after the other.
    pub fn walk_classes(
        &self,
        mut classes: impl Iterator<Item = Class>,
        sink: &mut impl ProofSink,
    ) -> Option<FirstFault> {
        self.walk_some(&mut classes, false, sink)
    }

    /// The same, but of classes to one owner that stand in the same channels, one after the other, only the first: for
    /// sinks to which another class, half or lane says nothing new. The other classes have no fault if that one has
    /// none.
    pub fn walk_distinct(
        &self,
        mut classes: impl Iterator<Item = Class>,
        sink: &mut impl ProofSink,
    ) -> Option<FirstFault> {
        self.walk_some(&mut classes, self.sends_halves_alike(), sink)
    }

    /// Whether both halves are in use, and whoever sends to a LID on the leading group of one sends to it on that of
    /// the other at the same moments, into the same lane; so entries that are the same lead both to the same places.
    /// Answers are sent by one port among all those that send data.
    fn sends_halves_alike(&self) -> bool {
        let leaders = [Half::Lower, Half::Upper].map(|half| self.twins.of_half(half).first());
        let [Some(lower), Some(upper)] = leaders else { return false };
        let alike = |facts: &ProofWave<'_>| {
            facts.injected == [true; 2]
                && facts.ways.iter().all(Vec::is_empty)
                && facts.begins_without(Half::Lower) == facts.begins_without(Half::Upper)
        };
        lower.lane == upper.lane
            && self.injection.are_alike(lower.group, upper.group)
            && self.case.stages.iter().all(alike)
            && !self.case.newcomer.contains(&true)
            && self.case.relays.ports.is_empty()
    }

    fn walk_some(
        &self,
        classes: &mut dyn Iterator<Item = Class>,
        skips_alike: bool,
        sink: &mut impl ProofSink,
    ) -> Option<FirstFault> {
        let stages = self.case.stages.len();
        let permissions = Permissions::new(&self.case, &self.net, &self.lanes, self.answerer);
        let mut sender_of = vec![None; self.case.fabric.port_count()];
        for (at, sender) in self.net.senders(0).iter().enumerate() {
            sender_of[sender.port.index()] = Some(at);
        }
        let mut senders = ProofSenders { proof_walk: self, permissions, sender_of };
        let mut walk = Walk::new(&self.net, &self.lanes, 0..stages, ());
        let lost = LostRows::new(&self.net, stages, self.case.begins_with_losses);
        let mut judge = Judge { proof_walk: self, sink, lost, found: None };
        let mut read = None;
        // The last class of data that was walked, whose entries are read; and a LID that is led alike.
        let (mut walked, mut alike) = (None, None);
        let mut others = skips_alike.then(|| Columns::new(self.net.rows.len(), stages));
        for class in classes {
            if let (Some(others), Some((owner, lid))) = (&mut others, walked)
                && owner == class.owner
            {
                if class.lid == lid || alike == Some(class.lid) {
                    continue;
                }
                self.read(others, class.lid);
                if *others == walk.columns {
                    alike = Some(class.lid);
                    continue;
                }
            }
            let answers = self.case.is_answer(class.lid, self.half(&class));
            walked = (!answers).then_some((class.owner, class.lid));
            // All groups of a LID come one after the other, so its entries are read once. They are the expensive
            // part: one table for each switch and stage.
            if read != Some(class.lid) {
                self.read(&mut walk.columns, class.lid);
                judge.lost.turn_to(&self.net, &walk.columns, self.is_sent_to(&class));
                // The sources are those of stage 0 at every stage: a dead source keeps its rank (see `net`).
                let target = OwnedLid { owner: class.owner, lid: class.lid };
                senders.permissions.turn_to(self.case.fabric, self.net.senders(0), target);
                read = Some(class.lid);
            }
            walk.follow(&class, &senders, &mut judge);
            walk.clear();
            judge.sink.walked(&class, &walk.columns);
            // A sink to which no stage matters any more has its result.
            if judge.sink.limit() == 0 {
                break;
            }
        }
        judge.found
    }

    /// Returns whether packets of the LID's own half were sent before the change.
    fn is_sent_to(&self, class: &Class) -> bool {
        // A LID of a switch is of no half: packets to it are followed only where tables are judged by themselves.
        let sent = match self.case.fabric.half_of(class.lid) {
            Some(half) => self.case.stages[0].injects(half),
            None => self.case.begins_with_losses,
        };
        sent && !self.case.newcomer[class.owner.index()]
    }

    /// The half that a class is of.
    #[inline]
    pub fn half(&self, class: &Class) -> Half {
        self.lanes.groups[class.group].half()
    }
}

/// See [`ProofWalk::rewritten`].
fn rewritten(case: &ProofCase<'_>, net: &FlatFabric, stage: usize) -> Option<Vec<usize>> {
    let facts = &case.stages[stage];
    let ended = case.stages[stage.checked_sub(1)?].after;
    let table = |tables: &'_ SubnetTables, row: usize| Arc::as_ptr(&tables.lfts[net.rows[row].index()]);
    let differ = |a, b| (0..net.rows.len()).filter(move |&row| table(a, row) != table(b, row));
    differ(ended, facts.before).next().is_none().then(|| differ(facts.before, facts.after).collect())
}

/// The senders of a proof.
struct ProofSenders<'a> {
    proof_walk: &'a ProofWalk<'a>,
    permissions: Permissions<'a>,
    /// By port, its place among the senders. Every switch is asked about every class, so a search would cost as many
    /// steps as there are senders for each class.
    sender_of: Vec<Option<usize>>,
}

impl Senders<()> for ProofSenders<'_> {
    fn left(&self, now: Now<'_>) -> LaneMask {
        let facts = &self.proof_walk.case.stages[now.stage];
        if facts.begins_without(self.proof_walk.half(now.class)) { 0 } else { !facts.empty.0 }
    }

    fn repeats(&self, now: Now<'_>, columns: &Columns, occupied: &[u32]) -> bool {
        let ProofWalk { case, net, lanes, injection, .. } = self.proof_walk;
        let Now { class, stage } = now;
        let (facts, half) = (&case.stages[stage], self.proof_walk.half(class));
        // This holds only if every input of rules 1 to 3 is that of the stage before: the packets left, the senders,
        // the tables and the cables. If a condition were missing here, a stage would be skipped that was never judged.
        // At stage 1 links die, which concerns a class that could be on one: any entry that a packet of it meets leads
        // to a channel that the class occupied.
        stage >= 1
            && (stage >= 2 || occupied.iter().all(|&channel| net.exists(stage, channel as usize)))
            && facts.empty == VlSet::EMPTY
            && !facts.begins_without(half)
            && lanes.repeats(stage)
            && injection.repeats(stage, class.group)
            && case.admits(class.owner, stage, half) == case.admits(class.owner, stage - 1, half)
            && self.permissions.repeats(stage, half)
            && columns.repeats(stage)
    }

    /// Rule 2 of the closure.
    fn send(&self, now: Now<'_>, walk: &mut Walk<'_>, sink: &mut impl Sink) {
        let ProofWalk { case, lanes, injection, .. } = self.proof_walk;
        if !case.admits(now.class.owner, now.stage, self.proof_walk.half(now.class)) {
            return;
        }
        if case.is_answer(now.class.lid, self.proof_walk.half(now.class)) {
            return self.answer(now, walk, sink);
        }
        let half = self.proof_walk.half(now.class);
        let open = |seed: &&Seed| self.permissions.opens(now.stage, half, seed.row, now.class.group);
        for seed in injection.seeds(now.stage, now.class.group).iter().filter(open) {
            // Sources are merged only where the lanes do not depend on the input, and where no port of a router,
            // which sends less than others, is among them.
            if lanes.is_uniform(now.stage, seed.row) && !self.has_relay(seed) {
                self.send_together(now, seed, walk, sink);
            } else {
                self.send_singly(now, seed, walk, sink);
            }
        }
    }
}

impl ProofSenders<'_> {
    /// Sends answers, from the manager's port alone. Their loss is no fault, since the client asks again.
    fn answer(&self, now: Now<'_>, walk: &mut Walk<'_>, sink: &mut impl Sink) {
        let (group, half) = (now.class.group, self.proof_walk.half(now.class));
        let Answerer { place, row, input, .. } = self.proof_walk.answerer.expect("only an answerer makes such classes");
        let from = self.proof_walk.injection.mask(now.stage, place, group);
        let asked = self.permissions.asked(now.stage, half) >> group & 1 == 1;
        if asked && from != 0 {
            walk.forward(now, row, input, ClassPackets { from, firm: false, origin: () }, sink);
        }
    }

    /// Returns whether a router is at the switch: its ports send less than other sources do.
    #[inline]
    fn has_relay(&self, seed: &Seed) -> bool {
        let ProofWalk { case, net, .. } = self.proof_walk;
        let mut sources = net.senders(0)[seed.first..seed.end].iter();
        !case.relays.ports.is_empty() && sources.any(|source| case.relays.ports.contains(&source.port))
    }

    /// Sends from all sources of a switch that treats its inputs alike, except the owner, which sends nothing to
    /// itself.
    fn send_together(&self, now: Now<'_>, seed: &Seed, walk: &mut Walk<'_>, sink: &mut impl Sink) {
        if let Some(firm) = self.senders(now, seed) {
            walk.send_together(now, seed.row, ClassPackets { from: 0, firm, origin: () }, sink);
        }
    }

    /// None where no source of a switch can send a packet of the class; otherwise whether a loss is a fault for one
    /// of those that can.
    fn senders(&self, now: Now<'_>, seed: &Seed) -> Option<bool> {
        let ProofWalk { case, net, injection, .. } = self.proof_walk;
        let Class { owner, group, .. } = *now.class;
        let sources = net.senders(0);
        if let Some(masks) = self.permissions.at(now.stage, self.proof_walk.half(now.class)) {
            let sends = |&source: &usize| {
                masks[source] >> group & 1 == 1
                    && sources[source].port != owner
                    && injection.mask(now.stage, source, group) != 0
            };
            let mut senders = (seed.first..seed.end).filter(sends).peekable();
            // `any` below still sees the source that is peeked at here.
            senders.peek()?;
            return Some(senders.any(|source| !case.stranded[sources[source].port.index()]));
        }
        // Every source may send, so the counts of the seed answer without a pass over the sources, once the owner is
        // subtracted.
        let own = self.sender_of[owner.index()].filter(|own| (seed.first..seed.end).contains(own));
        let own = own.is_some_and(|own| injection.mask(now.stage, own, group) != 0);
        let firm = seed.firm - u32::from(own && !case.stranded[owner.index()]);
        (seed.any > u32::from(own)).then_some(firm > 0)
    }

    fn send_singly(&self, now: Now<'_>, seed: &Seed, walk: &mut Walk<'_>, sink: &mut impl Sink) {
        let ProofWalk { case, net, injection, .. } = self.proof_walk;
        let Class { owner, group, .. } = *now.class;
        let masks = self.permissions.at(now.stage, self.proof_walk.half(now.class));
        for index in seed.first..seed.end {
            let source = net.senders(0)[index];
            // A source that no longer sends is included as long as its channel may hold its packets.
            let from = injection.mask(now.stage, index, group);
            let open = masks.is_none_or(|masks| masks[index] >> group & 1 == 1);
            let sends = open && source.port != owner && case.relays.admit(source.port, owner);
            if from != 0 && sends {
                let firm = !case.stranded[source.port.index()];
                walk.forward(now, seed.row, source.input, ClassPackets { from, firm, origin: () }, sink);
            }
        }
    }
}

/// Keeps the earliest fault, and forwards everything else.
struct Judge<'a, S> {
    proof_walk: &'a ProofWalk<'a>,
    sink: &'a mut S,
    /// Of the DLID in hand.
    lost: LostRows,
    found: Option<FirstFault>,
}

impl<S: ProofSink> Sink for Judge<'_, S> {
    const STOPS: bool = true;

    #[inline]
    fn hop(&mut self, class: &Class, columns: &Columns, hop: &ClassHop) {
        if self.lost.is_led_astray(&self.proof_walk.net, hop.stage, hop.row, hop.output) {
            self.lead_astray(Now { class, stage: hop.stage }, hop.row, hop.output);
        }
        self.sink.hop(class, columns, hop);
    }

    #[inline]
    fn enter(&mut self, class: &Class, entrance: Entrance) {
        let Entrance { stage, row, channel, .. } = entrance;
        let output = self.proof_walk.net.output(row, channel);
        if self.lost.is_led_astray(&self.proof_walk.net, stage, row, output) {
            self.lead_astray(Now { class, stage }, row, output);
        }
        self.sink.enter(class, entrance);
    }

    fn dead_end(&mut self, now: Now<'_>, columns: &Columns, end: DeadEnd) {
        // Only a fault of an earlier stage replaces the present one. Of faults of one stage the first class is kept, so
        // the evidence depends on the order of classes alone.
        if now.stage >= self.first_unsound() {
            return;
        }
        let Now { class, stage } = now;
        let kind = match end {
            DeadEnd::Hole { row, exit, firm } => match self.hole(now, row, exit) {
                Some((cause, output)) if firm => {
                    FaultKind::BlackHole { row, cause, entry: columns.entry(stage, row, output) }
                }
                _ => return,
            },
            DeadEnd::TurnedBack { row, port, from } => {
                if !self.is_lost_in_turning(now, columns, from) {
                    return;
                }
                let (cause, entry) = (HoleCause::TurnedBack { port }, columns.entry(stage, row, port));
                FaultKind::BlackHole { row, cause, entry }
            }
            DeadEnd::Wrong { at } => FaultKind::WrongArrival { at, owner: class.owner },
            DeadEnd::Laneless { .. } | DeadEnd::Unsent { .. } => {
                unreachable!(
                    "a proof knows no discarding for want of a lane: its tables were checked to carry what is sent"
                )
            }
        };
        self.found = Some(FirstFault { stage, lid: class.lid, kind });
    }

    fn occupied(&mut self, now: Now<'_>, channels: &[u32], lanes: &[LaneMask]) {
        self.sink.occupied(now, channels, lanes);
    }

    fn repeat(&mut self, stage: usize) {
        self.sink.repeat(stage);
    }

    fn hears_repeats(&self) -> bool {
        self.sink.hears_repeats()
    }

    /// The first stage that is not judged: that of the earliest fault.
    fn limit(&self) -> usize {
        self.first_unsound().min(self.sink.limit())
    }
}

impl<S: ProofSink> Judge<'_, S> {
    fn first_unsound(&self) -> usize {
        self.found.as_ref().map_or(usize::MAX, FirstFault::unsound_stage)
    }

    /// Why it is a fault that a switch discards packets of the class, and the output that its entry names; none where
    /// it may discard them.
    fn hole(&self, now: Now<'_>, row: usize, exit: Exit) -> Option<(HoleCause, PortNum)> {
        let ProofWalk { case, .. } = self.proof_walk;
        if case.is_answer(now.class.lid, self.proof_walk.half(now.class)) {
            return None;
        }
        let found = match exit {
            Exit::NoRoute => (HoleCause::NoRoute, PortNum::NO_ROUTE),
            Exit::NoCable(port) => (HoleCause::NoCable { port }, port),
            // Towards a link that died the packet vanishes, and holds no lane.
            Exit::Died(port) => (HoleCause::NoCable { port }, port),
            Exit::Channel(_) | Exit::Own => return None,
        };
        // Tables for a half that no source sent on before must not lead there.
        let sent = case.stages[0].injects(self.proof_walk.half(now.class)) && !case.newcomer[now.class.owner.index()];
        if sent && (now.stage > 0 || case.begins_with_losses) && self.lost.forgives(now.stage, row, exit) {
            return None;
        }
        self.firmly_owned(now).then_some(found)
    }

    /// Returns whether it is a fault that packets are discarded because they turn back into a channel's start.
    fn is_lost_in_turning(&self, now: Now<'_>, columns: &Columns, from: (usize, PortNum)) -> bool {
        let ProofWalk { case, .. } = self.proof_walk;
        let (answers, forgiven) = (
            case.is_answer(now.class.lid, self.proof_walk.half(now.class)),
            self.lost.forgives_turning(columns, now.stage, from),
        );
        !answers && !forgiven && self.firmly_owned(now)
    }

    /// A packet that was not lost is led to where all are: it is lost to the change.
    #[cold]
    fn lead_astray(&mut self, now: Now<'_>, row: usize, output: PortNum) {
        let Now { class, stage } = now;
        let answers = self.proof_walk.case.is_answer(class.lid, self.proof_walk.half(class));
        let earlier = self.found.as_ref().is_none_or(|found| stage < found.stage);
        if earlier && !answers && self.firmly_owned(now) {
            // Old entries of rows that are not lost lead to such rows again.
            let (cause, entry) = (HoleCause::Astray { port: output }, EntryAge::New);
            self.found = Some(FirstFault { stage, lid: class.lid, kind: FaultKind::BlackHole { row, cause, entry } });
        }
    }

    /// Returns whether the loss of packets to an owner is a fault.
    fn firmly_owned(&self, now: Now<'_>) -> bool {
        let ProofWalk { case, net, .. } = self.proof_walk;
        let owner = now.class.owner;
        // The exceptions of Theorem 3: owners that the new routing omits, and those that died. Port 0 of a switch never
        // has a cable, so only an end port is taken as dead for lack of one.
        let end_port = !case.fabric.node(case.fabric.port(owner).node).is_switch();
        let dead = now.stage > 0 && end_port && !net.exists(1, owner.index());
        !(case.stranded[owner.index()] || dead)
    }
}
