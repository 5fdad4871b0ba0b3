//! Proof that a routing function, and every moment of a transition between two, is free of deadlock, loops and black
//! holes, and brings every packet to the port that owns its DLID.
//!
//! On entry: a [`Transition`], which specifies wave by wave what may be mixed. On return: [`Proved`], which only this
//! module can make, or a refusal with its evidence. Knows no engine, no scheme and no phase. How: `walk` follows
//! every class (DLID, SL) from every source through every mixture of old and new entries, wave after wave, starting
//! from what the previous barrier left; what can wait for what is collected in `dependencies`; `graph` numbers the
//! lanes or finds a cycle. A reserved level, alone on its lane, is judged apart (`reserved`). Taken on trust: the facts
//! of the waves (what barriers left, who injects), and that management packets to switches are paused while the waves
//! run, unless a plan has them proved. Port states are ignored: a port that discards holds no lane.

pub mod across;
mod aging;
mod answers;
mod base;
mod case;
mod certificate;
mod channels;
mod collector;
mod departure;
pub(crate) mod dependencies;
mod dot;
mod drained;
mod evidence;
mod foresight;
mod graph;
mod injection;
pub(crate) mod lanes;
mod lost;
mod multicast;
pub(crate) mod net;
mod permissions;
mod prover;
mod refusal;
mod reserved;
mod tables;
mod twins;
pub(crate) mod walk;
mod walker;
mod ways;
mod witness;

pub use aging::rounds_to_age;
pub use answers::{AnswerWay, answer_ways};
pub use base::{BaseInput, ProofBase};
pub use certificate::{Binding, Certificate};
pub use channels::ChannelGraph;
pub use departure::rounds_to_vacate;
pub use drained::{DrainClaim, DrainClaimLayer};
pub use foresight::{Wait, foresee};
pub use graph::{Graph as LaneGraph, NodeCycle};
pub use multicast::{TreeTurn, TurnWait, UnicastWaits};
pub use prover::{Scope, TableProof, prove, prove_certified, prove_certified_from, prove_tables};
pub use refusal::{
    BlackHole, ClassLoop, Cycle, Dependency, EntryAge, HoleCause, LoopHop, NamedDevice, PortLane, Refusal, WaveArrival,
    WrongArrival,
};
pub use reserved::{Reservation, prove_reservation, prove_reserved};
pub use witness::{LaneTurn, Tracer, Witness, WitnessHop, witness};

use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, VlSet};
use crate::tables::{PathLayers, SubnetTables};
use serde::Serialize;
use std::sync::Arc;

/// What the prover reads of a plan.
pub trait Transition {
    /// The fabric before the change, LIDs assigned, and what has come to it.
    fn fabric(&self) -> &Fabric;

    /// What exists while the waves run, with the same indices: `fabric` without what died beforehand.
    fn surviving(&self) -> &Fabric;

    /// The waves in order.
    fn waves(&self) -> Vec<ProofWave<'_>>;

    /// Who sends what at the moment before the first wave. By default: what they send while it runs.
    fn sending_before(&self) -> InjectionRules {
        let first = self.waves().into_iter().next();
        first
            .map_or_else(InjectionRules::default, |facts| InjectionRules { injected: facts.injected, ways: facts.ways })
    }

    /// End ports that the new routing function omits. Packets to them, and packets that they inject, may be discarded
    /// where there is no route; wherever there is one, they count like any others.
    fn stranded(&self) -> &[PortId] {
        &[]
    }

    /// A wave whose writes may still be under way when a later one begins, or whose barriers cannot be true, and what
    /// is wrong with it. Waves can then not be judged one after the other.
    fn disorder(&self) -> Option<(String, String)> {
        None
    }

    /// What the barrier at the end of a wave reports drained, if it does.
    fn drains(&self, _wave: usize) -> Option<DrainClaim<'_>> {
        None
    }

    /// What remains when the waves are over, and how the rest is left. By default all that survives remains.
    fn remainder(&self) -> Remainder<'_> {
        Remainder { fabric: self.surviving(), gone: [false; 2], rounds: None }
    }

    /// The subnet manager's end port, where its answers are to be proved: they go to base LIDs, on the level of the
    /// request, whichever half that is of. None where that is assumed never to cross the halves.
    fn answerer(&self) -> Option<PortId> {
        None
    }

    /// Whether every switch discards packets that are to leave by the port they came in by, so that they wait for nothing.
    fn discards_turned_back(&self) -> bool {
        false
    }

    /// Whether the tables that it begins with lead from some rows (switch, LID) nowhere, although nothing died. Packets
    /// at these rows are then lost already, as at rows that led into what died.
    fn begins_with_losses(&self) -> bool {
        false
    }

    /// The service level that is of neither half, where there is one; its lane is nobody else's.
    fn reservation(&self) -> Option<Reservation> {
        None
    }

    /// End ports of `fabric` that the routing in force does not know.
    fn newcomers(&self) -> Newcomers {
        Newcomers::default()
    }
}

/// The end of a transition.
#[derive(Clone, Copy, Debug)]
pub struct Remainder<'a> {
    /// What remains, with the same indices: what survives, less what leaves as planned.
    pub fabric: &'a Fabric,
    /// By half: whether the barriers after the last wave find none of its packets anywhere.
    pub gone: [bool; 2],
    /// How often the last barrier makes every device send off what stands in it; none without such a barrier.
    pub rounds: Option<usize>,
}

/// End ports that nobody sends to, and that send nothing, before some wave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Newcomers {
    /// The ports.
    pub ports: Vec<PortId>,
    /// The first wave in which they send and are sent to.
    pub wave: usize,
    /// By half: whether they take part on it.
    pub halves: [bool; 2],
}

/// Who sends what at some moment; see the fields of the same names in [`ProofWave`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InjectionRules {
    /// By half: whether sources may inject.
    pub injected: [bool; 2],
    /// By half: who may send by which path, on which layer.
    pub ways: [Vec<Arc<PathLayers>>; 2],
}

/// One wave as the prover sees it: any subset of its writes may have landed, in any order.
#[derive(Clone, Debug)]
pub struct ProofWave<'a> {
    /// Its name, for evidence.
    pub name: String,
    /// Tables when the wave begins.
    pub before: &'a SubnetTables,
    /// Tables when it has ended.
    pub after: &'a SubnetTables,
    /// By half: whether sources may inject packets of its classes while the wave runs.
    pub injected: [bool; 2],
    /// By half: who may send by which path of a destination, and on which layer, while the wave runs. What any of
    /// these allows is allowed. Where there are none, every source may send to each LID of the half on each of its
    /// service levels.
    pub ways: [Vec<Arc<PathLayers>>; 2],
    /// Data lanes that the barrier before left empty everywhere, with nothing latched for them.
    pub empty: VlSet,
    /// Halves of which the barrier before left no packet anywhere.
    pub gone: [bool; 2],
    /// How often in a row the barrier before had every device send off what stood in it, after the last write: all that
    /// was sent until then has come to its end, if no way is longer. None without such a barrier.
    pub aged: Option<usize>,
}

impl ProofWave<'_> {
    /// Whether the barrier before left no packet of a half that was sent before it.
    fn begins_without(&self, half: Half) -> bool {
        self.gone[half.index()] || self.aged.is_some()
    }

    /// Whether sources may inject packets of a half while the wave runs.
    pub fn injects(&self, half: Half) -> bool {
        self.injected[half.index()]
    }
}

/// What a proof covers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct ProofStatistics {
    /// Waves judged; 0 for a routing function by itself.
    pub waves: usize,
    /// Channels that can be occupied at some moment.
    pub channels: usize,
    /// Lanes that can be occupied at some moment.
    pub lanes: usize,
    /// Distinct dependencies between lanes, all moments together.
    pub dependencies: usize,
    /// Distinct dependencies at each moment: before the change, then wave by wave, those latched earlier included.
    pub dependencies_by_wave: Vec<usize>,
    /// Classes (DLID, SL) that are injected at some moment.
    pub classes: usize,
    /// Ordered pairs of end ports.
    pub pairs: usize,
}

/// A value that the prover accepted. Only this module makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proved<T> {
    value: T,
    statistics: ProofStatistics,
}

impl<T> Proved<T> {
    /// What was proved.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// What was proved, without its proof.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// What the proof covers.
    pub fn statistics(&self) -> &ProofStatistics {
        &self.statistics
    }
}
