//! Proof that a routing function, and every moment of a transition between two, is free of deadlock, loops and black
//! holes, and brings every packet to the port that owns its DLID.
//!
//! On entry: a [`Transition`], which specifies wave by wave the entries that may be mixed. On return: [`Proved`], which
//! only this module can make, or a refusal with its evidence. Knows no engine, no scheme and no phase. `walk` follows
//! every class (DLID, SL) from every source through every mixture of old and new entries, wave after wave, starting
//! from the packets that the previous barrier left; `dependencies` collects which lane can wait for which; `graph`
//! numbers the lanes or finds a cycle. A reserved level, alone on its lane, is judged apart (`reserved`). Assumed: the
//! facts of the waves (the packets that barriers left, the ports that inject), and that management packets to switches
//! are paused while the waves run, unless a plan has them proved. Port states are ignored: a port that discards holds
//! no lane.

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
mod difference;
mod dot;
mod drained;
mod evidence;
mod foresight;
mod graph;
mod injection;
mod input;
pub(crate) mod lanes;
mod lost;
mod multicast;
pub(crate) mod net;
mod permissions;
mod proof_walk;
mod prover;
mod refusal;
mod reserved;
mod tables;
mod twins;
pub(crate) mod walk;
mod ways;
mod witness;

pub use aging::{longest_way, rounds_to_age};
pub use answers::{AnswerWay, answer_ways};
pub use base::{BaseInput, ProofBase};
pub use case::{DrainClaim, DrainClaimLayer, Scope};
pub use certificate::{Binding, Certificate};
pub use channels::{ChannelGraph, ChannelGraphInput};
pub use departure::rounds_to_vacate;
pub use foresight::{Wait, foresee};
pub use graph::{Graph as LaneGraph, NodeCycle};
pub use multicast::{TurnWait, UnicastWaits, reserved_waits};
pub use prover::{TableProof, accept, prove, prove_certified, prove_certified_from, prove_tables};
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

/// The part of a plan that the prover reads.
pub trait Transition {
    /// The fabric before the change, LIDs assigned, with the elements that have come to it.
    fn fabric(&self) -> &Fabric;

    /// The elements that exist while the waves run, with the same indices: `fabric` without those that died beforehand.
    fn surviving(&self) -> &Fabric;

    /// The waves in order.
    fn waves(&self) -> Vec<ProofWave<'_>>;

    /// The injections at the moment before the first wave. By default those of the wave itself.
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

    /// A wave whose writes may still be under way when a later one begins, or whose barriers cannot be true, and the
    /// fault. Waves can then not be judged one after the other.
    fn disorder(&self) -> Option<(String, String)> {
        None
    }

    /// The drain that the barrier at the end of a wave reports, if any.
    fn drains(&self, _wave: usize) -> Option<DrainClaim<'_>> {
        None
    }

    /// The elements that remain after the waves, and how the others are left. By default all that survive remain.
    fn remainder(&self) -> Remainder<'_> {
        Remainder { fabric: self.surviving(), gone: [false; 2], rounds: None }
    }

    /// The subnet manager's end port, where its answers are to be proved: they go to base LIDs, on the level of the
    /// request, whichever half that is of. None where that is assumed never to cross the halves.
    fn answerer(&self) -> Option<PortId> {
        None
    }

    /// Returns whether every switch discards packets whose output port is their input port, so that they wait for
    /// nothing.
    fn discards_turned_back(&self) -> bool {
        false
    }

    /// Returns whether the tables with which it begins lead from some rows (switch, LID) nowhere, although nothing
    /// died. Packets at these rows are then lost already, as at rows that led into a dead element.
    fn begins_with_losses(&self) -> bool {
        false
    }

    /// The service level that is of neither half, where there is one; it has its lane to itself.
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
    /// The remaining elements, with the same indices: those that survive, less those that leave as planned.
    pub fabric: &'a Fabric,
    /// By half: whether the barriers after the last wave find none of its packets anywhere.
    pub gone: [bool; 2],
    /// The number of rounds in which the last barrier makes every device send off its packets; none without such a
    /// barrier.
    pub rounds: Option<usize>,
}

/// End ports that receive and send nothing before some wave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Newcomers {
    /// The ports.
    pub ports: Vec<PortId>,
    /// The first wave in which they send and are sent to.
    pub wave: usize,
    /// By half: whether they take part on it.
    pub halves: [bool; 2],
}

/// The injections at some moment; see the fields of the same names in [`ProofWave`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InjectionRules {
    /// By half: whether sources may inject.
    pub injected: [bool; 2],
    /// By half: the paths and layers that each source may use.
    pub ways: [Vec<Arc<PathLayers>>; 2],
}

/// One wave as the prover sees it: any subset of its writes may have landed, in any order.
#[derive(Clone, Debug)]
pub struct ProofWave<'a> {
    /// Its name, for evidence.
    pub name: String,
    /// The tables when the wave begins.
    pub before: &'a SubnetTables,
    /// Tables when it has ended.
    pub after: &'a SubnetTables,
    /// By half: whether sources may inject packets of its classes while the wave runs.
    pub injected: [bool; 2],
    /// By half: the paths of a destination that each source may use while the wave runs, and their layers, as a choice
    /// of any of these. If there are none, every source may send to each LID of the half on each of its service levels.
    pub ways: [Vec<Arc<PathLayers>>; 2],
    /// Data lanes that the barrier before left empty everywhere, with nothing latched for them.
    pub empty: VlSet,
    /// Halves of which the barrier before left no packet anywhere.
    pub gone: [bool; 2],
    /// The number of consecutive rounds after the last write in which the barrier before had every device send off its
    /// packets: all packets sent until then have come to their end, if no way is longer. None without such a barrier.
    pub aged: Option<usize>,
}

impl ProofWave<'_> {
    /// Returns whether all packets of a half sent before the previous barrier were gone when it was passed.
    fn begins_without(&self, half: Half) -> bool {
        self.gone[half.index()] || self.aged.is_some()
    }

    /// Returns whether sources may inject packets of a half while the wave runs.
    pub fn injects(&self, half: Half) -> bool {
        self.injected[half.index()]
    }
}

/// The extent of a proof.
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

/// A value that the prover accepted without a count of what it proved. Only this module makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approved<T> {
    value: T,
    by_difference: bool,
}

impl<T> Approved<T> {
    /// Whether its difference to a base that is proved was enough to see it.
    pub fn is_by_difference(&self) -> bool {
        self.by_difference
    }

    /// The value that was proved.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// The value that was proved, without its proof.
    pub fn into_inner(self) -> T {
        self.value
    }
}

/// A value that the prover accepted. Only this module makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proved<T> {
    value: T,
    statistics: ProofStatistics,
}

impl<T> Proved<T> {
    /// The value that was proved.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// The value that was proved, without its proof.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The extent of the proof.
    pub fn statistics(&self) -> &ProofStatistics {
        &self.statistics
    }
}
