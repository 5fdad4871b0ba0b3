//! Plans: waves of writes separated by barriers, made by schemes.
//!
//! On entry: fabrics over one index space, the tables in force, and the wanted forwarding tables ([`PlanInput`]). On
//! return: a [`Plan`], a value without choices left, which the prover judges ([`Transition`]) and the machine runs, or
//! a [`PlanError`] that names the precondition and the device. The tables before and after each wave are computed from
//! the writes alone, by [`SubnetTables::apply`]; the lanes that a barrier leaves empty are computed from the barriers
//! alone. A planner can therefore claim neither. Only plans that `vet` has vetted run. Deliberately omitted: the
//! computation of routes (`routing`) and LIDs (`lid`), proof (`verify`), execution (`machine`).

mod answers;
mod cost;
mod digest;
mod disorder;
mod document;
mod drain_graph;
mod error;
mod lanes;
mod permitted;
mod policy;
mod reserved;
mod scheme;
#[cfg(test)]
pub(crate) mod testing;
mod undo;
mod wave;

pub use crate::ids::PortMask;
pub use answers::{AnswersUnproved, AssumedAnswers};
pub use cost::{SmpRate, WaveCost};
pub use digest::FabricDigest;
pub use document::PlanReadError;
pub use drain_graph::{ChannelId, CyclicDrain, DeviceId, DrainChannel, DrainGraph, DrainLayer, LayerGraphError};
pub use error::PlanError;
pub use lanes::Lanes;
pub use policy::{Arming, LanePartition, MovedBy, Observer, Phase, Policy, Scheme, TurnedBack, UnknownName};
pub use reserved::UNRESERVED;
pub(crate) use scheme::close_writes;
pub use scheme::{
    PlanInput, PlanSize, TableStep, entries_between, plan, size_of_double, sl_to_vl_pairs, writes_between, writes_to,
};
pub use wave::{Barrier, Sending, Wave};

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, VlSet};
use crate::tables::{HalfInForce, PathLayers, SubnetTables, Write};
use crate::verify::{
    self, Binding, ChannelGraph, ChannelGraphInput, DrainClaim, DrainClaimLayer, InjectionRules, Newcomers, ProofWave,
    Remainder, Reservation, Transition,
};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// The named assumptions of a plan. Each is a contract with the environment that no table can enforce.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// General management packets to switch LIDs, which have no halves, are paused during the change.
    SwitchManagementPaused,
    /// No multicast packet is injected during the change: a group's service level is fixed.
    NoMulticast,
    /// Multicast, and general management to and from switches, are on the reserved service level at all times, and
    /// nothing else is.
    ReservedLevelIsKept,
    /// The SM sends no answer of a class that data does not have: none to a LID of one half on a level of the other,
    /// and none on another layer than that of its path. Without it answers from the SM's port to base LIDs, on every
    /// level in use, are classes like those of data.
    AnswersAreLegal,
    /// No source sends to LIDs or on service levels of the spare half: before the swap, or, in a scheme without one, at
    /// all.
    SpareHalfUnused,
    /// A port in state INITIALIZE discards the data that it holds and the data that arrives.
    InitializeDiscards,
    /// A switch sends a packet where its forwarding and SL-to-VL entries say: no adaptive routing, no failover of its
    /// own.
    EntriesDecide,
    /// Devices report lanes and the half that they send on, and pass tokens on, as docs/WIRE.md specifies.
    AgentsKeepTheProtocol,
    /// No other program resets the counters of data by service level, and nothing but unicast data between end ports
    /// counts.
    CountersAreUntouched,
    /// A switch discards packets older than the lifetime that it reports.
    LifetimesAreEnforced,
    /// An end port discards what its host sends on a service level that the port has answered to map to VL 15.
    FencesDiscard,
    /// Packets that an end port had mapped to a lane before it was fenced have left within the user's time.
    FencedLanesRunEmpty,
    /// A switch discards a packet whose output port is its input port (PortRcvSwitchRelayErrors, *looping*; InfiniBand
    /// Architecture, volume 1, PortCounters).
    TurnedBackIsDiscarded,
}

impl Assumption {
    /// The assumptions behind scheme `double`'s barriers that show lanes empty, by the observer that shows it
    /// (docs/PROTOCOL.md, sections F and D).
    pub fn of_observer(observer: Observer) -> &'static [Assumption] {
        match observer {
            Observer::Token | Observer::Poll => &[Assumption::AgentsKeepTheProtocol],
            // Counters speak of the drain; the flush before it needs the agents (F.5).
            Observer::Conservation => &[Assumption::AgentsKeepTheProtocol, Assumption::CountersAreUntouched],
            Observer::Lifetime => &[Assumption::LifetimesAreEnforced],
        }
    }

    /// The assumptions behind *sources moved*, by the means that moves them. Behind a fence, no device can be asked
    /// which packets stand in the lanes of end ports, and age says nothing about them (P3.8).
    pub fn of_moving(by: MovedBy, observer: Observer) -> &'static [Assumption] {
        match (by, observer) {
            (MovedBy::Told, _) => &[Assumption::AgentsKeepTheProtocol],
            (MovedBy::Fence, Observer::Lifetime) => &[Assumption::FencesDiscard, Assumption::FencedLanesRunEmpty],
            (MovedBy::Fence, Observer::Token | Observer::Poll | Observer::Conservation) => &[Assumption::FencesDiscard],
        }
    }

    /// The assumptions behind barrier *vacated*, by the observer that shows it: no counter is read for it (section V).
    pub fn of_vacating(observer: Observer) -> &'static [Assumption] {
        match observer {
            Observer::Token | Observer::Poll | Observer::Conservation => &[Assumption::AgentsKeepTheProtocol],
            Observer::Lifetime => &[Assumption::LifetimesAreEnforced],
        }
    }

    /// Its name in plans and certificates.
    pub fn name(self) -> &'static str {
        match self {
            Assumption::SwitchManagementPaused => "switch-management-paused",
            Assumption::NoMulticast => "no-multicast",
            Assumption::ReservedLevelIsKept => "reserved-level-is-kept",
            Assumption::AnswersAreLegal => "answers-are-legal",
            Assumption::SpareHalfUnused => "spare-half-unused",
            Assumption::InitializeDiscards => "initialize-discards",
            Assumption::EntriesDecide => "entries-decide",
            Assumption::AgentsKeepTheProtocol => "agents-keep-the-protocol",
            Assumption::CountersAreUntouched => "counters-are-untouched",
            Assumption::LifetimesAreEnforced => "lifetimes-are-enforced",
            Assumption::FencesDiscard => "fences-discard",
            Assumption::FencedLanesRunEmpty => "fenced-lanes-run-empty",
            Assumption::TurnedBackIsDiscarded => "turned-back-is-discarded",
        }
    }
}

/// The parts of a plan before it is sealed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Draft {
    /// The scheme of the change.
    pub scheme: Scheme,
    /// The fabric before the change, with newcomers, LIDs assigned: its indices are the plan's.
    pub before: Arc<Fabric>,
    /// The part of `before` for which the routing in force was made: `before` without newcomers.
    pub routed: Arc<Fabric>,
    /// The part that is present while the waves run.
    pub surviving: Arc<Fabric>,
    /// The fabric after the change.
    pub after: Arc<Fabric>,
    /// The tables in force when the plan begins.
    pub initial: SubnetTables,
    /// The half in use before.
    pub old: Half,
    /// The half in use afterwards; equal to `old` if the scheme has no halves.
    pub new: Half,
    /// Whether sources may send on the other half as well, throughout: hosts that have not queried the SA since it
    /// retired.
    pub both_halves: bool,
    /// Whether `initial` leads from some rows (switch, LID) nowhere: packets sent there are lost before the first wave.
    pub begins_with_losses: bool,
    /// Whether hosts may have no way to hosts at its end that had none when it began: another change gives them ways.
    /// Only in scheme `ordered`.
    pub leaves_losses: bool,
    /// Data lanes and their two sets.
    pub lanes: Lanes,
    /// The user's choices.
    pub policy: Policy,
    /// The SM's own port.
    pub sm: PortId,
    /// End ports of `before` that the new routing omits, in index order.
    pub stranded: Vec<PortId>,
    /// The steps, in order.
    pub waves: Vec<Wave>,
    /// The channels to drain, layer by layer; empty if the scheme drains nothing.
    pub drain: Vec<DrainLayer>,
    /// The paths and layers of each source under the routing in force; none if every source may send to each LID of the
    /// half on each of its service levels.
    pub old_ways: Option<Arc<PathLayers>>,
    /// The paths and layers of each source under the new routing; none as for `old_ways`.
    pub new_ways: Option<Arc<PathLayers>>,
    /// The plan's assumptions.
    pub assumptions: Vec<Assumption>,
    /// Remarks for the reader: choices that the fabric forced.
    pub notes: Vec<String>,
}

/// A plan: immutable, comparable, without choices left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    draft: Draft,
    digest: FabricDigest,
    /// Tables before wave 0, after wave 0, after wave 1, …: one more than the number of waves.
    states: Vec<SubnetTables>,
    /// See [`Plan::longest_way`].
    longest_way: Found<u32>,
    /// Whether the plan ends by being called off: elements that were to leave as planned then stay.
    called_off: bool,
}

/// What follows from the rest of a value, found when it is asked for: no two values differ by it alone.
#[derive(Clone, Debug, Default)]
struct Found<T>(OnceLock<T>);

impl<T> PartialEq for Found<T> {
    fn eq(&self, _: &Found<T>) -> bool {
        true
    }
}

impl<T> Eq for Found<T> {}

/// See [`Plan::longest_way`].
fn longest_way(draft: &Draft, last: &SubnetTables) -> u32 {
    let empties = |barrier: &Barrier| matches!(barrier, Barrier::Flushed(_) | Barrier::Drained(_));
    if !draft.waves.iter().flat_map(|wave| &wave.barriers).any(empties) {
        return 0;
    }
    let passes = |tables| verify::longest_way(&draft.before, &draft.surviving, tables);
    let way = passes(&draft.initial);
    // P0.8: answers on levels of the upper half follow entries of the lower one, which are written while that half
    // retires; one more switch may hold an answer that an older entry has latched.
    let rewritten = draft.old == Half::Upper && draft.new == Half::Lower;
    (if rewritten { way.max(1 + passes(last)) } else { way }) as u32
}

impl Plan {
    /// Seals a draft: computes the tables at every barrier.
    pub fn seal(draft: Draft) -> Plan {
        let mut states = vec![draft.initial.clone()];
        for wave in &draft.waves {
            assert!(
                wave.phase != Phase::Drain || wave.writes.is_empty(),
                "{}: nothing is written while draining",
                wave.name
            );
            let mut tables = states[states.len() - 1].clone();
            wave.writes.iter().for_each(|write| tables.apply(&draft.before, write));
            states.push(tables);
        }
        let digest = FabricDigest::of(&draft.before);
        Plan { digest, draft, states, longest_way: Found::default(), called_off: false }
    }

    /// Its parts.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Identifies the fabric it was made for.
    pub fn digest(&self) -> FabricDigest {
        self.digest
    }

    /// The certificate's reference to this plan, whose file has this SHA-256.
    pub fn binding(&self, file: String) -> Binding {
        Binding {
            plan: file,
            fabric: self.digest.to_string(),
            scheme: self.draft.scheme.name().to_string(),
            assumptions: self.draft.assumptions.iter().map(|assumed| assumed.name().to_string()).collect(),
        }
    }

    /// The scheme of the change.
    pub fn scheme(&self) -> Scheme {
        self.draft.scheme
    }

    /// The waves, in order.
    pub fn waves(&self) -> &[Wave] {
        &self.draft.waves
    }

    /// The half in use before.
    pub fn old(&self) -> Half {
        self.draft.old
    }

    /// The half in use afterwards.
    pub fn new_half(&self) -> Half {
        self.draft.new
    }

    /// The half that subnet administration answers with while a wave is under way: the manager moves it before the
    /// first write of the wave that says so (P3.1).
    pub fn answered_half(&self, wave: usize) -> Half {
        let moves = |wave: &Wave| wave.writes.iter().any(|write| matches!(write, Write::SaHalf { .. }));
        if self.waves().iter().take(wave + 1).any(moves) { self.new_half() } else { self.old() }
    }

    /// The data lanes.
    pub fn lanes(&self) -> Lanes {
        self.draft.lanes
    }

    /// The user's choices.
    pub fn policy(&self) -> Policy {
        self.draft.policy
    }

    /// The paths and layers of each source under the new routing.
    pub fn new_ways(&self) -> Option<&Arc<PathLayers>> {
        self.draft.new_ways.as_ref()
    }

    /// The new half as it is in force while the old one drains, over the part of the fabric that is present.
    pub fn half_at_drain<'a>(&'a self, fabric: &'a Fabric) -> HalfInForce<'a> {
        let drain = self.draft.waves.iter().position(|wave| wave.phase == Phase::Drain);
        let lfts = &self.states[drain.unwrap_or(self.draft.waves.len())].lfts;
        let (ways, half) = (self.draft.new_ways.as_deref(), self.draft.new);
        HalfInForce { fabric, lfts, ways, half, answers: self.proves_answers() }
    }

    /// The most switches that a packet passes which must have left before some lanes count as empty, from any moment of
    /// the plan on ([`verify::longest_way`]). It is 0 where no barrier waits for lanes to be empty.
    pub fn longest_way(&self) -> u32 {
        // Every LID is followed for it, and most plans are never asked.
        let last = self.states.last().unwrap_or(&self.draft.initial);
        *self.longest_way.0.get_or_init(|| longest_way(&self.draft, last))
    }

    /// The most channels on a path of the drained graph. No packet need take that path: its dependencies may be those
    /// of different packets.
    pub fn drain_depth(&self) -> u32 {
        self.draft.drain.iter().map(|layer| layer.graph.depth()).max().unwrap_or(0)
    }

    /// A channel dependency graph as a Graphviz digraph: that of the old half if it is drained; where nothing is, that
    /// of the new half ([`Plan::new_half`]) under the tables that the plan ends with.
    ///
    /// # Errors
    /// The routing that the plan ends with has no such graph, as that of a refused plan.
    pub fn dependencies_dot(&self) -> Result<String, LayerGraphError> {
        let Draft { surviving, after, drain, stranded, .. } = &self.draft;
        if !drain.is_empty() {
            return Ok(drain_graph::to_dot(surviving, drain));
        }
        let (lanes, tables) =
            (Lanes::of_fabric(after, self.draft.policy.reserved_sl).all, self.tables_at(self.waves().len()));
        let ways = self.new_ways();
        let count = ways.map_or(1, |ways| usize::from(ways.layers()));
        let layer = |layer: usize| {
            let lanes = Lanes::of_layer(lanes, layer, count);
            let (fabric, surviving, half) = (after, after, self.new_half());
            let graph =
                ChannelGraph::new(&ChannelGraphInput { fabric, surviving, tables, half, lanes, ways, stranded })?;
            Ok::<_, LayerGraphError>(DrainLayer::of(after, lanes, &graph)?)
        };
        let layers = (0..count).map(layer).collect::<Result<Vec<_>, _>>()?;
        Ok(drain_graph::to_dot(after, &layers))
    }

    /// The channels to drain, layer by layer.
    pub fn drain(&self) -> &[DrainLayer] {
        &self.draft.drain
    }

    /// The tables when wave `index` begins; at the number of waves, the final tables.
    pub fn tables_at(&self, index: usize) -> &SubnetTables {
        &self.states[index]
    }

    /// The writes that revert the SL-to-VL tables and port states of waves 0 to `reached`. Entries of the spare half's
    /// LIDs stay: no host uses them, and the next plan starts from the tables that are read back.
    pub fn undo_writes(&self, reached: usize) -> Vec<Write> {
        undo::writes(&self.draft, reached)
    }

    /// The plan of a change that is called off while wave `reached` is under way: the waves until then, and one that
    /// reverts them. For judges only: it ends with the routing in force, not with that for the fabric after the change.
    #[must_use]
    pub fn called_off(&self, reached: usize) -> Plan {
        let plan = Plan::seal(undo::called_off(&self.draft, reached, &self.states[reached]));
        Plan { called_off: true, ..plan }
    }

    /// The plan with a note on the way that was not taken, and the reason.
    #[must_use]
    pub fn note_passed_over(mut self, what: &str, why: &str) -> Plan {
        self.draft.notes.push(format!("{what} was passed over: {why}"));
        self
    }

    /// End ports that have to send to other LIDs on other service levels: by scheme `double` all that are not cut off.
    pub fn hosts_that_move(&self) -> usize {
        let Draft { after, stranded, old, new, .. } = &self.draft;
        let moves = |port: &PortId| old != new && after.peer(*port).is_some() && !stranded.contains(port);
        after.end_ports().filter(moves).count()
    }

    /// Returns whether its last tables lead packets into an element that has died, from rows (switch and LID) that can
    /// be given another way. Such a plan serves all pairs of hosts, unless it says otherwise
    /// ([`Draft::leaves_losses`]), and not yet all switches. Only plans of scheme `ordered` do so, and a later change
    /// gives these rows another way.
    pub fn leads_into_loss(&self) -> bool {
        let Draft { before, surviving, after, .. } = &self.draft;
        if self.draft.scheme != Scheme::Ordered {
            return false;
        }
        let tables = self.tables_at(self.waves().len());
        let has_died = |switch: NodeId, output: PortNum| {
            let port = before.port_at(switch, output);
            port.is_some_and(|port| before.peer(port).is_some() && surviving.peer(port).is_none())
        };
        let is_wanted = |lid: Lid| {
            let Some(owner) = before.lid_owner(lid) else { return false };
            let at = after.port(owner);
            let stays = after.node(at.node).present && (after.node(at.node).is_switch() || after.peer(owner).is_some());
            let is_sent_to = before.half_of(lid).is_none_or(|half| half == self.draft.new || self.draft.both_halves);
            stays && is_sent_to && !self.draft.stranded.contains(&owner)
        };
        after.switches().filter(|&switch| after.node(switch).present).any(|switch| {
            let ports = before.ports_of(switch).map(|port| before.port(port).num);
            let died: Vec<PortNum> = ports.filter(|&output| has_died(switch, output)).collect();
            let routes = tables.lfts[switch.index()].routes();
            !died.is_empty() && routes.filter(|(_, output)| died.contains(output)).any(|(lid, _)| is_wanted(lid))
        })
    }

    /// Returns whether the cable at a port is new, that is, unknown to the routing in force.
    pub fn has_come(&self, port: PortId) -> bool {
        self.draft.before.peer(port).is_some() && self.draft.routed.peer(port).is_none()
    }

    /// The data lanes that the barriers of wave `index` leave empty everywhere, with no packet latched for them.
    fn emptied_by(&self, index: usize) -> VlSet {
        let wave = &self.draft.waves[index];
        // A port in INITIALIZE holds no data (assumption `initialize-discards`).
        let stopped = if wave.phase == Phase::Stop { self.draft.lanes.all } else { VlSet::EMPTY };
        wave.barriers.iter().fold(stopped, |lanes, barrier| match barrier {
            Barrier::Flushed(more) | Barrier::Drained(more) => VlSet(lanes.0 | more.0),
            Barrier::Acknowledged | Barrier::SourcesMoved | Barrier::Vacated(_) => lanes,
        })
    }

    /// By half: whether the barriers of wave `index` leave none of its packets anywhere.
    fn gone_after(&self, index: usize) -> [bool; 2] {
        let wave = &self.draft.waves[index];
        let mut gone = [wave.phase == Phase::Stop; 2];
        gone[self.draft.old.index()] |= wave.barriers.iter().any(|barrier| matches!(barrier, Barrier::Drained(_)));
        gone
    }

    /// By half: whether sources may inject while a wave of this phase runs. Replies copy the path of their request, so
    /// the old half is injected until it is drained, not only until the sources have moved.
    fn injected_in(&self, phase: Phase) -> [bool; 2] {
        let halves: &[Half] = match phase {
            Phase::Split | Phase::Stop | Phase::Rewrite => &[self.draft.old],
            Phase::Install if self.draft.scheme == Scheme::Static => &[],
            Phase::Install => &[self.draft.old],
            Phase::Swap | Phase::Drain => &[self.draft.old, self.draft.new],
            Phase::Restore | Phase::Start => &[self.draft.new],
        };
        let mut injected = [false; 2];
        halves.iter().for_each(|half| injected[half.index()] = true);
        if self.draft.both_halves && !halves.is_empty() { [true; 2] } else { injected }
    }

    /// By half: the paths of each source while a wave of this phase runs. If the scheme has no halves, sources may
    /// learn their new paths at any time.
    fn ways_in(&self, phase: Phase) -> [Vec<Arc<PathLayers>>; 2] {
        let (old, new) = (&self.draft.old_ways, &self.draft.new_ways);
        let mut ways: [Vec<Arc<PathLayers>>; 2] = Default::default();
        if self.draft.old != self.draft.new {
            ways[self.draft.old.index()].extend(old.clone());
            ways[self.draft.new.index()].extend(new.clone());
            return ways;
        }
        let both = match phase {
            Phase::Stop => [Some(old), None],
            _ => [Some(old), Some(new)],
        };
        // A side that allows everything makes the other irrelevant.
        let both: Vec<_> = both.into_iter().flatten().cloned().collect::<Option<_>>().unwrap_or_default();
        ways[self.draft.new.index()] = both;
        ways
    }
}

impl Transition for Plan {
    fn fabric(&self) -> &Fabric {
        &self.draft.before
    }

    fn surviving(&self) -> &Fabric {
        &self.draft.surviving
    }

    fn waves(&self) -> Vec<ProofWave<'_>> {
        let facts = |(index, wave): (usize, &Wave)| ProofWave {
            name: wave.name.clone(),
            before: &self.states[index],
            after: &self.states[index + 1],
            injected: self.injected_in(wave.phase),
            ways: self.ways_in(wave.phase),
            empty: index.checked_sub(1).map_or(VlSet::EMPTY, |last| self.emptied_by(last)),
            gone: index.checked_sub(1).map_or([false; 2], |last| self.gone_after(last)),
            aged: index.checked_sub(1).and_then(|last| self.draft.waves[last].vacating_rounds()),
        };
        self.draft.waves.iter().enumerate().map(facts).collect()
    }

    fn sending_before(&self) -> InjectionRules {
        let mut sent = InjectionRules { injected: [self.draft.both_halves; 2], ..InjectionRules::default() };
        sent.injected[self.draft.old.index()] = true;
        sent.ways[self.draft.old.index()] = self.draft.old_ways.iter().cloned().collect();
        sent
    }

    fn stranded(&self) -> &[PortId] {
        &self.draft.stranded
    }

    fn remainder(&self) -> Remainder<'_> {
        // Only a barrier after the last write shows it: later writes may undo the result of an earlier one.
        let last = self.draft.waves.len().checked_sub(1);
        let rounds = last.and_then(|last| self.draft.waves[last].vacating_rounds());
        let gone = last.map_or([false; 2], |last| self.gone_after(last));
        let fabric = if self.called_off { &self.draft.surviving } else { &self.draft.after };
        Remainder { fabric, gone, rounds }
    }

    fn disorder(&self) -> Option<(String, String)> {
        disorder::first(self)
    }

    fn drains(&self, wave: usize) -> Option<DrainClaim<'_>> {
        // The last of several: a wave waits for its barriers in their order.
        let drained = self.draft.waves[wave].barriers.iter().rev().find_map(|barrier| match *barrier {
            Barrier::Drained(lanes) => Some(lanes),
            Barrier::Acknowledged | Barrier::Flushed(_) | Barrier::SourcesMoved | Barrier::Vacated(_) => None,
        });
        let layers =
            self.draft.drain.iter().map(|layer| DrainClaimLayer { lanes: layer.lanes, arcs: layer.graph.arcs() });
        drained.map(|lanes| DrainClaim { half: self.draft.old, lanes, layers: layers.collect() })
    }

    fn answerer(&self) -> Option<PortId> {
        self.proves_answers().then_some(self.draft.sm)
    }

    fn reservation(&self) -> Option<Reservation> {
        self.reservation_to_prove()
    }

    fn discards_turned_back(&self) -> bool {
        self.draft.assumptions.contains(&Assumption::TurnedBackIsDiscarded)
    }

    fn begins_with_losses(&self) -> bool {
        self.draft.begins_with_losses
    }

    /// Newcomers learn their half in the swap, or, if there is none, when ports are started.
    fn newcomers(&self) -> Newcomers {
        let joins = |wave: &Wave| matches!(wave.phase, Phase::Swap | Phase::Start);
        let waves = self.waves();
        Newcomers {
            ports: self.draft.before.end_ports().filter(|&port| self.has_come(port)).collect(),
            wave: waves.iter().position(joins).unwrap_or(waves.len()),
            halves: [Half::Lower, Half::Upper].map(|half| self.draft.both_halves || half == self.draft.new),
        }
    }
}
