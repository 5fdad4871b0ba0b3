//! Proof by difference: what a change, or other tables, can have packets wait for beyond what
//! the routing of a base can.
//!
//! On entry: the dependencies of a base that is proved, and a walk of the classes that do not stand as they do in the
//! base. All that packets can wait for is then among the dependencies of the base, as far as they survive, and those
//! of the walk. If both together have no cycle, no moment has one. On return: whether they have none. Channels to and
//! from end ports are absent: nothing waits for a channel out of an end port, and an end port takes what comes, so
//! neither lies on a cycle. Deliberately omitted: statistics, certificates and evidence. What a difference does not
//! show to be sound is judged in full.

use super::collector::WalkedDependencies;
use super::dependencies::{ChannelTurn, DependencyLayout};
use super::graph::Graph;
use super::net::{FlatFabric, Head};
use super::proof_walk::{ProofSink, ProofWalk};
use super::walk::{Class, ClassHop, Columns, Sink};
use crate::fabric::PortId;
use crate::ids::{Half, PortMask, PortNum};
use rustc_hash::FxHashMap;

/// The dependencies of a base between the channels from switch to switch, on the lane of its leading classes: on those
/// of their twins it is the same.
pub(super) struct BaseWaits {
    /// By channel that leads into a switch: the outputs of that switch for which packets in it can wait.
    outputs: Vec<PortMask>,
    graph: Graph,
    /// By channel: its place in an order in which every dependency leads forward.
    place: Vec<u32>,
}

impl BaseWaits {
    /// Of a walk of one moment. None where its classes have lanes of their own, or some dependencies close a cycle.
    pub fn of(
        proof_walk: &ProofWalk<'_>,
        layout: &DependencyLayout<'_>,
        walked: &WalkedDependencies,
    ) -> Option<BaseWaits> {
        let lane = leading_lane(proof_walk)?;
        let net = &proof_walk.net;
        let mut outputs = vec![PortMask::EMPTY; net.channels()];
        layout.each_turn(0, |ChannelTurn { row, input, inward, output, outward }| {
            let is_between = is_of_switch(proof_walk, inward) && leads_to_switch(net, 0, outward);
            if is_between && walked.has(layout, (row, input, output), lane) {
                outputs[inward].insert(output);
            }
        });
        let graph = Graph::new(net.channels(), |emit| {
            for (inward, outputs) in outputs.iter().enumerate().filter(|(_, outputs)| !outputs.is_empty()) {
                let Head::Switch { row, .. } = net.head(0, inward) else { continue };
                outputs.iter().for_each(|output| emit(inward as u32, net.channel(row as usize, output) as u32));
            }
        });
        let mut place = vec![0; net.channels()];
        graph.order_if_any()?.iter().zip(0..).for_each(|(&channel, at)| place[channel as usize] = at);
        Some(BaseWaits { outputs, graph, place })
    }

    /// Whether these and more dependencies have no cycle, over the channels that exist at a stage.
    fn are_acyclic_with(&self, net: &FlatFabric, stage: usize, more: &FxHashMap<u32, PortMask>) -> bool {
        let onward = |&inward: &u32| match net.head(stage, inward as usize) {
            Head::Switch { row, .. } => Some(row as usize),
            Head::End(_) | Head::Nothing => None,
        };
        let mut added: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut ascends = true;
        for (inward, outputs) in more {
            let Some(row) = onward(inward) else { continue };
            let channels: Vec<u32> = outputs.iter().map(|output| net.channel(row, output) as u32).collect();
            ascends &= channels.iter().all(|&outward| self.place[*inward as usize] < self.place[outward as usize]);
            added.insert(*inward, channels);
        }
        // Where places ascend already no search is needed.
        ascends || self.has_order(net, stage, &added)
    }

    /// Kahn's algorithm over both, without what died.
    fn has_order(&self, net: &FlatFabric, stage: usize, added: &FxHashMap<u32, Vec<u32>>) -> bool {
        let none = Vec::new();
        let channels = 0..self.graph.len() as u32;
        let exists: Vec<bool> = channels.clone().map(|channel| net.exists(stage, channel as usize)).collect();
        let successors = |channel: u32| {
            let more = added.get(&channel).unwrap_or(&none);
            self.graph.successors(channel).iter().chain(more).copied().filter(|&after| exists[after as usize])
        };
        let mut waiting = vec![0u32; self.graph.len()];
        let there = || channels.clone().filter(|&channel| exists[channel as usize]);
        there().flat_map(successors).for_each(|after| waiting[after as usize] += 1);
        let mut order: Vec<u32> = there().filter(|&channel| waiting[channel as usize] == 0).collect();
        let mut next = 0;
        while let Some(&channel) = order.get(next) {
            next += 1;
            for after in successors(channel) {
                waiting[after as usize] -= 1;
                if waiting[after as usize] == 0 {
                    order.push(after);
                }
            }
        }
        order.len() == there().count()
    }
}

/// Collects the dependencies of a walk that a base does not have.
pub(super) struct Additions<'w> {
    proof_walk: &'w ProofWalk<'w>,
    waits: &'w BaseWaits,
    /// The first stage that counts: what packets wait for earlier is the base's own.
    first: usize,
    /// By channel that leads into a switch.
    found: FxHashMap<u32, PortMask>,
}

impl<'w> Additions<'w> {
    /// None yet.
    pub fn from(proof_walk: &'w ProofWalk<'w>, waits: &'w BaseWaits, first: usize) -> Additions<'w> {
        Additions { proof_walk, waits, first, found: FxHashMap::default() }
    }

    /// Whether they close no cycle beside the dependencies of the base, at any stage that counts.
    pub fn are_acyclic(&self) -> bool {
        self.waits.are_acyclic_with(&self.proof_walk.net, self.first, &self.found)
    }
}

impl Sink for Additions<'_> {
    fn hears_repeats(&self) -> bool {
        false
    }

    #[inline]
    fn hop(&mut self, _class: &Class, _columns: &Columns, hop: &ClassHop) {
        if hop.stage < self.first {
            return;
        }
        let ProofWalk { case, net, .. } = self.proof_walk;
        // The channel into a port is out of the port at the other end of its cable.
        let own = PortId(net.channel(hop.row, hop.input) as u32);
        let Some(inward) = case.fabric.peer(own) else { return };
        if self.waits.outputs[inward.index()].contains(hop.output) {
            return;
        }
        let outward = net.channel(hop.row, hop.output);
        if is_of_switch(self.proof_walk, inward.index()) && leads_to_switch(net, hop.stage, outward) {
            self.found.entry(inward.0).or_insert(PortMask::EMPTY).insert(hop.output);
        }
    }
}

impl ProofSink for Additions<'_> {}

/// The lane of all classes that are walked, where each half in use has twins and both halves have them on the same
/// lanes: one lane then stands for all.
fn leading_lane(proof_walk: &ProofWalk<'_>) -> Option<usize> {
    let used = || [Half::Lower, Half::Upper].into_iter().filter(|&half| proof_walk.case.is_used(half));
    let lanes = |half| proof_walk.twins.of_half(half).iter().map(|twin| twin.lane);
    let first = used().next()?;
    let alike = used().all(|half| lanes(half).eq(lanes(first)));
    lanes(first).next().filter(|_| alike)
}

fn is_of_switch(proof_walk: &ProofWalk<'_>, channel: usize) -> bool {
    let fabric = proof_walk.case.fabric;
    fabric.node(fabric.port(PortId(channel as u32)).node).is_switch()
}

fn leads_to_switch(net: &FlatFabric, stage: usize, channel: usize) -> bool {
    matches!(net.head(stage, channel), Head::Switch { .. })
}

impl WalkedDependencies {
    /// Whether packets of some half can wait on a lane for the same one beyond a switch.
    fn has(&self, layout: &DependencyLayout<'_>, (row, input, output): (usize, PortNum, PortNum), lane: usize) -> bool {
        self.halves().iter().any(|half| half.at(layout, row, input, lane, output) >> lane & 1 == 1)
    }
}
