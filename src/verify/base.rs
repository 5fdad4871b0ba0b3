//! The walk of all classes of the tables in force, kept for the proofs that begin with these tables.
//!
//! A walk of tables that do not change is a function of the fabric, the tables and the senders. A proof of a change
//! begins with that walk, and most classes then stand through all waves as they stood before: by the same entries, in
//! channels that survive, from the same sources and on the same lanes. For those the stored walk equals the walk that
//! would be made, so only the others, the *loud* ones, are walked. On entry: the value from which a base was made,
//! compared with the beginning of the proof. On return: the same verdict, statistics and certificate as without a base.
//! Where any condition fails the base is not used. Deliberately omitted: changes by which the half in use retires, or
//! in which a barrier finds packets gone; they are proved in full.

use super::case::{ProofCase, Scope};
use super::certificate::Recorder;
use super::collector::{DependencyCollector, WalkedDependencies, is_acyclic};
use super::difference::{Additions, BaseWaits};
use super::input::{check_tables, check_ways};
use super::proof_walk::{ProofSink, ProofWalk};
use super::refusal::Refusal;
use super::twins::Twins;
use super::walk::{Both, Class, ClassHop, Columns, Sink};
use super::{InjectionRules, ProofWave};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum, Sl, VlSet};
use crate::tables::{Lft, SubnetTables};
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The routing in force, proved by itself, with the results that proofs of changes need.
pub struct ProofBase {
    fabric: Arc<Fabric>,
    tables: SubnetTables,
    scope: Scope,
    /// With the switches as sources and destinations: for proofs of other tables by themselves.
    alone: KeptWalk,
    /// Without them: for proofs of changes. None where that moment cannot be proved by itself.
    begun: Option<BegunWalk>,
}

/// The moment before a change.
struct BegunWalk {
    rules: InjectionRules,
    answerer: Option<PortId>,
    reserved: Option<Sl>,
    walk: KeptWalk,
    /// Whether some packet leaves a switch by the port that it came in by.
    turns_back: bool,
    /// By LID, whether it is of answers first: the rows of the certificate.
    rows: FxHashMap<(bool, Lid), Vec<u8>>,
    /// LIDs with classes that are walked again whatever happens, as their rows cannot be repeated.
    restless: FixedBitSet,
}

/// The walk of one moment.
struct KeptWalk {
    /// Service levels by group.
    groups: Vec<Vec<Sl>>,
    twins: Twins,
    rows: Vec<NodeId>,
    dependencies: WalkedDependencies,
    /// The same as a graph, for proofs by difference; none where these cannot be.
    waits: Option<BaseWaits>,
}

/// The routing in force, and its senders.
#[derive(Clone, Debug)]
pub struct BaseInput {
    /// The fabric.
    pub fabric: Arc<Fabric>,
    /// The tables.
    pub tables: SubnetTables,
    /// The halves in use, and the paths of each source.
    pub scope: Scope,
    /// See [`super::Transition::answerer`].
    pub answerer: Option<PortId>,
    /// The service level that is of neither half.
    pub reserved: Option<Sl>,
}

impl ProofBase {
    /// Proves tables by themselves, and keeps the results.
    ///
    /// # Errors
    /// The fault of the tables; as [`super::prove_tables`].
    pub fn of(input: BaseInput) -> Result<ProofBase, Refusal> {
        let BaseInput { fabric, tables, scope, answerer, reserved } = input;
        let alone = KeptWalk::alone(&fabric, &tables, &scope)?;
        let begun = BegunWalk::of(&fabric, &tables, &scope, answerer, reserved);
        Ok(ProofBase { fabric, tables, scope, alone, begun })
    }

    /// Returns whether these tables, judged under this scope, are the ones that were proved.
    pub fn is_proof_of(&self, fabric: &Fabric, tables: &SubnetTables, scope: &Scope) -> bool {
        *scope == self.scope && *tables == self.tables && *fabric == *self.fabric
    }

    /// Proves other tables of a part of the fabric by themselves: all that the tables in force can do, as far as it
    /// survives, and all that the other tables do elsewhere, is one graph. If that has no cycle, theirs has none. If it
    /// has one, or anything else is amiss, they are judged in full.
    ///
    /// # Errors
    /// As [`super::prove_tables`].
    pub fn prove_tables(&self, fabric: &Fabric, tables: &SubnetTables, scope: &Scope) -> Result<(), Refusal> {
        match self.proves(fabric, tables, scope) {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => super::prove_tables(fabric, tables, scope).map(drop),
        }
    }

    fn proves(&self, fabric: &Fabric, tables: &SubnetTables, scope: &Scope) -> Result<bool, Refusal> {
        let own = &self.scope;
        // End ports that were omitted were forgiven losses that the other tables are not.
        let alike = own.stranded.is_empty()
            && own.halves == scope.halves
            && own.switches == scope.switches
            && own.ways == scope.ways;
        if !alike || own.losses || scope.losses || !self.is_part(fabric) || tables.sl_to_vl != self.tables.sl_to_vl {
            return Ok(false);
        }
        let case = ProofCase::of_tables(fabric, tables, scope);
        check_tables(&case)?;
        let taking_part = |port: &PortId| !case.stranded[port.index()];
        check_ways(fabric, &case.stages[0], &fabric.end_ports().filter(taking_part).collect::<Vec<_>>())?;
        let proof_walk = ProofWalk::new(case, fabric)?;
        if !self.alone.is_like(&proof_walk) {
            return Ok(false);
        }
        let mut loud = FixedBitSet::with_capacity(usize::from(u16::MAX) + 1);
        for &node in &proof_walk.net.rows {
            let (held, now) = (&self.tables.lfts[node.index()], &tables.lfts[node.index()]);
            mark_changed(held, [now], &mut loud);
            // A packet that comes to a port without a cable does so at a switch that is still there: dead elements
            // begin beyond such a port.
            let died = |&port: &PortId| self.fabric.peer(port).is_some() && fabric.peer(port).is_none();
            let died = self.fabric.ports_of(node).filter(died).map(|port| self.fabric.port(port).num);
            mark_led(held, died, &mut loud);
        }
        let classes = proof_walk.classes_to(&loud).filter(|class| proof_walk.twins.leads(class.group));
        if let Some(waits) = &self.alone.waits {
            let mut additions = Additions::from(&proof_walk, waits, 0);
            return Ok(proof_walk.walk_distinct(classes, &mut additions).is_none() && additions.are_acyclic());
        }
        let layout = proof_walk.layout();
        let mut collector = DependencyCollector::new(&proof_walk, &layout);
        let row_before = |node: NodeId| self.alone.rows.binary_search(&node).ok();
        collector.begin_with(&self.alone.dependencies, proof_walk.net.rows.iter().map(|&node| row_before(node)));
        if proof_walk.walk_classes(classes, &mut collector).is_some() {
            return Ok(false);
        }
        Ok(is_acyclic(&proof_walk, &layout, collector))
    }

    /// Returns whether a fabric is this one with some elements removed.
    fn is_part(&self, fabric: &Fabric) -> bool {
        let own = &*self.fabric;
        let same_port = |(id, port): (PortId, &crate::fabric::Port)| {
            let held = own.port(id);
            (port.node, port.num, port.lid, port.lmc, port.data_vls)
                == (held.node, held.num, held.lid, held.lmc, held.data_vls)
                && (port.peer.is_none() || port.peer == held.peer)
        };
        let same_node = |(id, node): (NodeId, &crate::fabric::Node)| {
            let held = own.node(id);
            (node.kind, node.first_port, node.num_ports) == (held.kind, held.first_port, held.num_ports)
                && (!node.present || held.present)
        };
        (own.node_count(), own.port_count()) == (fabric.node_count(), fabric.port_count())
            && fabric.ports().all(same_port)
            && fabric.nodes().all(same_node)
    }

    /// The classes of a change that stand through all of it where they do in the base, and nowhere else; none where
    /// that cannot be shown.
    pub(super) fn quiet<'b>(&'b self, proof_walk: &ProofWalk<'_>) -> Option<QuietClasses<'b>> {
        let begun = self.begun.as_ref()?;
        let (case, net) = (&proof_walk.case, &proof_walk.net);
        let [steady, waves @ ..] = &case.stages[..] else { return None };
        let begins_alike = self.scope.stranded.is_empty()
            && begun.answerer == case.answerer
            && begun.reserved == case.reserved
            && (!case.discards_turned_back || !begun.turns_back)
            && !case.switches
            && !case.begins_with_losses
            && case.relays.ports.is_empty()
            && !case.newcomer.contains(&true)
            && steady.injected == begun.rules.injected
            && steady.ways == begun.rules.ways
            && begun.walk.rows == net.rows
            && begun.walk.is_like(proof_walk)
            && *steady.before == self.tables
            && *case.fabric == *self.fabric;
        // The conditions on a wave under which a class can stand through it untouched; `proof_walk` checks them again
        // for each class.
        let stands = |(wave, stage): (&ProofWave<'_>, usize)| {
            wave.injected == steady.injected
                && wave.ways == steady.ways
                && wave.empty == VlSet::EMPTY
                && wave.gone == [false; 2]
                && wave.aged.is_none()
                && proof_walk.lanes.repeats(stage)
                && (0..proof_walk.lanes.groups.len()).all(|group| proof_walk.injection.lessens(stage, group))
        };
        if !begins_alike || !waves.iter().zip(1..).all(stands) {
            return None;
        }
        let sends_alike =
            |stage| (0..proof_walk.lanes.groups.len()).all(|group| proof_walk.injection.repeats(stage, group));
        let stands_still = (1..case.stages.len()).all(sends_alike);
        let mut loud = FixedBitSet::with_capacity(usize::from(u16::MAX) + 1);
        for (row, &node) in net.rows.iter().enumerate() {
            let held = &self.tables.lfts[node.index()];
            let later =
                waves.iter().flat_map(|wave| [wave.before, wave.after]).map(|tables| &tables.lfts[node.index()]);
            mark_changed(held, later, &mut loud);
            let output = |output: &usize| {
                let channel = net.channel(row, PortNum(*output as u8));
                net.exists(0, channel) && !net.exists(1, channel)
            };
            let died: Vec<PortNum> = (1..net.sides[row]).filter(output).map(|output| PortNum(output as u8)).collect();
            if !died.is_empty() {
                let mut led = FixedBitSet::with_capacity(usize::from(u16::MAX) + 1);
                mark_led(held, died.into_iter(), &mut led);
                let chooses = |lid: &usize| {
                    let rows = [false, true].map(|answers| begun.rows.get(&(answers, Lid(*lid as u16))));
                    rows.into_iter().flatten().any(|bytes| begun.chooses(bytes, row))
                };
                led.ones().filter(chooses).for_each(|lid| loud.insert(lid));
            }
        }
        Some(QuietClasses { begun, loud, stands_still })
    }
}

/// Classes that need no walk.
pub(super) struct QuietClasses<'b> {
    begun: &'b BegunWalk,
    loud: FixedBitSet,
    /// Whether all sources send on. Where some died with the loss, the classes stand nowhere that they do not stand in
    /// the base, and wait for nothing else, but they may stand in fewer places.
    pub stands_still: bool,
}

impl QuietClasses<'_> {
    /// Returns whether a class needs no walk.
    pub fn contain(&self, class: &Class, answers: bool) -> bool {
        let row = self.begun.rows.get(&(answers, class.lid));
        !self.loud[class.lid.index()] && row.is_some_and(|row| Recorder::is_repeatable(row))
    }

    /// The row of such a class, at the first moment.
    pub fn row(&self, lid: Lid, answers: bool) -> &[u8] {
        &self.begun.rows[&(answers, lid)]
    }

    /// The classes that need one, but for twins.
    pub fn others<'w>(&'w self, proof_walk: &'w ProofWalk<'_>) -> impl Iterator<Item = Class> + 'w {
        let mut awake = self.loud.clone();
        awake.union_with(&self.begun.restless);
        let leads = |class: &Class| proof_walk.twins.leads(class.group);
        let answers = |class: &Class| proof_walk.case.is_answer(class.lid, proof_walk.half(class));
        proof_walk.classes_to(&awake).filter(leads).filter(move |class| !self.contain(class, answers(class)))
    }

    /// The dependencies of the base as a graph, where they can be had.
    pub fn waits(&self) -> Option<&BaseWaits> {
        self.begun.walk.waits.as_ref()
    }

    /// The dependencies at the first moment, of these and all other classes.
    pub fn dependencies(&self) -> &WalkedDependencies {
        &self.begun.walk.dependencies
    }
}

impl KeptWalk {
    fn alone(fabric: &Fabric, tables: &SubnetTables, scope: &Scope) -> Result<KeptWalk, Refusal> {
        super::prove_tables(fabric, tables, scope)?;
        let proof_walk = ProofWalk::new(ProofCase::of_tables(fabric, tables, scope), fabric)?;
        let layout = proof_walk.layout();
        let mut collector = DependencyCollector::new(&proof_walk, &layout);
        let fault = proof_walk.walk_leaders(&mut collector);
        assert!(fault.is_none(), "what was proved a moment ago has a fault");
        Ok(KeptWalk::with(&proof_walk, collector))
    }

    fn with(proof_walk: &ProofWalk<'_>, collector: DependencyCollector<'_>) -> KeptWalk {
        let dependencies = collector.walked();
        let waits = BaseWaits::of(proof_walk, &proof_walk.layout(), &dependencies);
        KeptWalk {
            groups: proof_walk.lanes.groups.iter().map(|group| group.sls.clone()).collect(),
            twins: proof_walk.twins.clone(),
            rows: proof_walk.net.rows.clone(),
            dependencies,
            waits,
        }
    }

    /// Returns whether service levels, lanes and twins are those of another walk.
    fn is_like(&self, proof_walk: &ProofWalk<'_>) -> bool {
        self.dependencies.vls() == proof_walk.lanes.vls
            && self.twins == proof_walk.twins
            && self.groups.iter().eq(proof_walk.lanes.groups.iter().map(|group| &group.sls))
    }
}

impl BegunWalk {
    fn of(
        fabric: &Fabric,
        tables: &SubnetTables,
        scope: &Scope,
        answerer: Option<PortId>,
        reserved: Option<Sl>,
    ) -> Option<BegunWalk> {
        let mut rules = InjectionRules::default();
        for &half in &scope.halves {
            rules.injected[half.index()] = true;
            rules.ways[half.index()] = scope.ways.iter().cloned().collect();
        }
        let mut case = ProofCase::steady(fabric, tables, rules.clone(), &scope.stranded, false);
        (case.answerer, case.reserved) = (answerer, reserved);
        check_tables(&case).ok()?;
        let proof_walk = ProofWalk::new(case, fabric).ok()?;
        let layout = proof_walk.layout();
        let recorder = Some(Recorder::new(&proof_walk));
        let collector = DependencyCollector::new(&proof_walk, &layout);
        let mut sinks = Both(Both(collector, recorder), Some(TurnWatch::default()));
        if proof_walk.walk_leaders(&mut sinks).is_some() {
            return None;
        }
        let Both(Both(collector, recorder), turns) = sinks;
        let mut rows: FxHashMap<(bool, Lid), Vec<u8>> = FxHashMap::default();
        let mut twice = Vec::new();
        for (key, bytes) in recorder?.into_rows() {
            // A LID of no half has rows on both halves; such a one is walked again.
            if rows.insert(key, bytes).is_some() {
                twice.push(key);
            }
        }
        twice.iter().for_each(|key| drop(rows.remove(key)));
        let turns_back = turns?.found;
        let mut restless = FixedBitSet::with_capacity(usize::from(u16::MAX) + 1);
        for class in proof_walk.classes() {
            let answers = proof_walk.case.is_answer(class.lid, proof_walk.half(&class));
            if !rows.get(&(answers, class.lid)).is_some_and(|row| Recorder::is_repeatable(row)) {
                restless.insert(class.lid.index());
            }
        }
        Some(BegunWalk {
            rules,
            answerer,
            reserved,
            walk: KeptWalk::with(&proof_walk, collector),
            turns_back,
            rows,
            restless,
        })
    }

    /// Returns whether packets choose at a switch.
    fn chooses(&self, row_bytes: &[u8], row: usize) -> bool {
        // Places listed in another form are never repeated.
        row_bytes.get(1 + row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }
}

/// Whether any packet leaves a switch by the port that it came in by.
#[derive(Default)]
struct TurnWatch {
    found: bool,
}

impl Sink for TurnWatch {
    fn hop(&mut self, _class: &Class, _columns: &Columns, hop: &ClassHop) {
        self.found |= hop.input == hop.output;
    }
}

impl ProofSink for TurnWatch {}

/// Marks the LIDs that some of the later tables lead elsewhere than the first.
fn mark_changed<'t>(held: &'t Arc<Lft>, later: impl IntoIterator<Item = &'t Arc<Lft>>, marked: &mut FixedBitSet) {
    let mut last = held;
    for table in later {
        if !Arc::ptr_eq(table, last) && !Arc::ptr_eq(table, held) {
            held.differing(table).for_each(|lid| marked.insert(lid.index()));
            last = table;
        }
    }
}

/// Marks the LIDs that a table leads to some of its ports.
fn mark_led(held: &Lft, ports: impl Iterator<Item = PortNum>, marked: &mut FixedBitSet) {
    let ports: Vec<PortNum> = ports.collect();
    if !ports.is_empty() {
        held.routes().filter(|(_, port)| ports.contains(port)).for_each(|(lid, _)| marked.insert(lid.index()));
    }
}
