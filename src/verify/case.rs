//! The subject of a proof: a fabric, the entries that its switches may hold stage by stage, and the end ports that are
//! excluded.

use super::{InjectionRules, Newcomers, ProofWave};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortMask, Sl, VlSet};
use crate::tables::{PathLayers, SubnetTables};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The name of the moment before the first wave.
pub(super) const STEADY: &str = "steady";

/// The extent of a proof of tables by themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The halves whose LIDs and service levels are in use.
    pub halves: Vec<Half>,
    /// End ports that the tables omit: packets to and from them may be discarded where there is no route.
    pub stranded: Vec<PortId>,
    /// Whether the switches' own LIDs are in use too, and switches send.
    pub switches: bool,
    /// The paths and layers that each source may use; none where every source may use every path, on any service level
    /// of the halves.
    pub ways: Option<Arc<PathLayers>>,
    /// Whether packets may be discarded at rows (switch, LID) from which the tables lead nowhere. The proof then shows
    /// only that nothing waits in a cycle, goes round, or arrives at another port.
    pub losses: bool,
    /// Whether the LIDs of both halves are one range, on the service levels of the lower half: a fabric that is never
    /// to change has no spare half. Steady tables lead level r of either half into the same lane, so LIDs of the upper
    /// half are walked on their own half's levels; `ways` counts paths over the whole range.
    pub undivided: bool,
}

impl Scope {
    /// All end ports and switches.
    pub fn of(halves: &[Half]) -> Scope {
        Scope {
            halves: halves.to_vec(),
            stranded: Vec::new(),
            switches: true,
            ways: None,
            losses: false,
            undivided: false,
        }
    }

    /// All end ports and switches of a fabric without a spare half, where all end ports have LIDs of two.
    pub fn undivided() -> Scope {
        Scope { undivided: true, ..Scope::of(&[Half::Lower, Half::Upper]) }
    }

    /// This scope, for a function that specifies the paths of each source.
    #[must_use]
    pub fn by(self, ways: Option<&Arc<PathLayers>>) -> Scope {
        Scope { ways: ways.cloned(), ..self }
    }
}

/// The drain that the barrier at the end of a wave reports, and the graphs of channels that its observer follows.
#[derive(Clone, Debug)]
pub struct DrainClaim<'a> {
    /// The half of which no packet is left.
    pub half: Half,
    /// The lanes that have run empty.
    pub lanes: VlSet,
    /// Layer by layer.
    pub layers: Vec<DrainClaimLayer<'a>>,
}

/// The channels of one layer.
#[derive(Clone, Debug)]
pub struct DrainClaimLayer<'a> {
    /// Its lanes.
    pub lanes: VlSet,
    /// By switch and input port, 0 to `num_ports`: the outputs that its packets can take.
    pub arcs: &'a BTreeMap<NodeId, Vec<PortMask>>,
}

/// The subject of a walk: fabric, stages, and the end ports that are excluded.
pub(super) struct ProofCase<'a> {
    /// Before the change.
    pub fabric: &'a Fabric,
    /// Stage 0: the tables before the change on both sides; then the waves.
    pub stages: Vec<ProofWave<'a>>,
    /// By stage: the drain that the barrier at its end reports. Stages beyond the last claim nothing.
    pub drains: Vec<Option<DrainClaim<'a>>>,
    /// By port: omitted by the new routing function.
    pub stranded: Vec<bool>,
    /// By port: unknown to the routing function in force.
    pub newcomer: Vec<bool>,
    /// The stage from which newcomers take part.
    joining_stage: usize,
    /// By half: whether they take part on it.
    joining_halves: [bool; 2],
    /// Whether switches send and receive, too.
    pub switches: bool,
    /// Ports of routers, and which of them hand packets to which. Empty where one subnet is judged by itself: there
    /// they are end ports like any other.
    pub relays: RelayPorts,
    /// The port whose answers go to base LIDs on any level in use; see [`super::Transition::answerer`].
    pub answerer: Option<PortId>,
    /// See [`super::Transition::discards_turned_back`].
    pub discards_turned_back: bool,
    /// See [`super::Transition::begins_with_losses`].
    pub begins_with_losses: bool,
    /// The service level that no data is on.
    pub reserved: Option<Sl>,
}

/// Ports of routers in one subnet. They send any packet to its hosts, but to each other only where a way between
/// subnets leads through both.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RelayPorts {
    pub ports: BTreeSet<PortId>,
    /// (From, to).
    pub handed: BTreeSet<(PortId, PortId)>,
}

impl RelayPorts {
    /// Returns whether a port may have packets for another.
    pub fn admit(&self, source: PortId, owner: PortId) -> bool {
        !(self.ports.contains(&source) && self.ports.contains(&owner)) || self.handed.contains(&(source, owner))
    }
}

impl<'a> ProofCase<'a> {
    /// Tables by themselves.
    pub fn of_tables(fabric: &'a Fabric, tables: &'a SubnetTables, scope: &Scope) -> ProofCase<'a> {
        let mut injected = [false; 2];
        scope.halves.iter().for_each(|half| injected[half.index()] = true);
        let ways: Vec<Arc<PathLayers>> = scope.ways.iter().cloned().collect();
        let half = || fabric.end_ports().next().map_or(0, |port| fabric.half_lids(port, Half::Lower).count());
        let upper = match scope.undivided {
            true => ways.iter().map(|ways| Arc::new(ways.behind(half()))).collect(),
            false => ways.clone(),
        };
        let rules = InjectionRules { injected, ways: [ways, upper] };
        let case = ProofCase::steady(fabric, tables, rules, &scope.stranded, scope.switches);
        ProofCase { begins_with_losses: scope.losses, ..case }
    }

    /// The moment before any change: tables alone.
    pub fn steady(
        fabric: &'a Fabric,
        tables: &'a SubnetTables,
        rules: InjectionRules,
        stranded: &[PortId],
        switches: bool,
    ) -> ProofCase<'a> {
        let mut omitted = vec![false; fabric.port_count()];
        stranded.iter().for_each(|port| omitted[port.index()] = true);
        let InjectionRules { injected, ways } = rules;
        let steady = ProofWave {
            name: STEADY.to_string(),
            before: tables,
            after: tables,
            injected,
            ways,
            empty: VlSet::EMPTY,
            gone: [false; 2],
            aged: None,
        };
        ProofCase {
            fabric,
            stages: vec![steady],
            drains: vec![None],
            stranded: omitted,
            newcomer: vec![false; fabric.port_count()],
            joining_stage: 0,
            joining_halves: [false; 2],
            switches,
            relays: RelayPorts::default(),
            answerer: None,
            discards_turned_back: false,
            begins_with_losses: false,
            reserved: None,
        }
    }

    /// Newcomers take part from their wave on.
    pub fn welcome(&mut self, newcomers: &Newcomers) {
        newcomers.ports.iter().for_each(|port| self.newcomer[port.index()] = true);
        // Stage 0 is the moment before wave 0.
        self.joining_stage = newcomers.wave + 1;
        self.joining_halves = newcomers.halves;
    }

    /// Returns whether the class of a LID and a level of a half is one of answers, that is, whether the LID is of the
    /// other half.
    pub fn is_answer(&self, lid: Lid, half: Half) -> bool {
        self.fabric.half_of(lid).is_some_and(|own| own != half)
    }

    /// Returns whether packets of a half are sent at any stage.
    pub fn is_used(&self, half: Half) -> bool {
        self.stages.iter().any(|facts| facts.injects(half))
    }

    /// Returns whether packets of a half may be sent by a port, or to it, at a stage.
    pub fn admits(&self, port: PortId, stage: usize, half: Half) -> bool {
        !self.newcomer[port.index()] || stage >= self.joining_stage && self.joining_halves[half.index()]
    }
}
