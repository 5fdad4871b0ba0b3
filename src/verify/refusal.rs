//! Why the prover refuses, with the evidence: as text for people, as JSON for programs.

use super::case::STEADY;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, Lid, PortNum, Sl, Vl};
use serde::Serialize;
use std::fmt;

/// Why a routing function or a transition is not accepted. Each names the wave; the moment before the first wave is
/// called `steady`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, thiserror::Error, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Refusal {
    /// The input contradicts itself or the fabric; nothing was judged.
    #[error("{}{what}", InWave(wave))]
    Precondition {
        /// The wave.
        wave: String,
        /// The condition that does not hold, with its values.
        what: String,
    },
    /// One class can be sent round.
    #[error("{0}")]
    Loop(ClassLoop),
    /// A packet can come to a switch that discards it.
    #[error("{0}")]
    BlackHole(BlackHole),
    /// A packet can arrive at a port that does not own its DLID.
    #[error("{0}")]
    WrongArrival(WaveArrival),
    /// Lanes can wait for each other in a cycle, though no single class loops.
    #[error("{0}")]
    Deadlock(Cycle),
}

impl Refusal {
    /// The wave in which it can happen.
    pub fn wave(&self) -> &str {
        match self {
            Refusal::Precondition { wave, .. } => wave,
            Refusal::Loop(found) => &found.wave,
            Refusal::BlackHole(found) => &found.wave,
            Refusal::WrongArrival(found) => &found.wave,
            Refusal::Deadlock(cycle) => &cycle.wave,
        }
    }
}

/// The wave that a sentence about a refusal begins with. The moment before the first has no name there: sentences about
/// it speak of the routing in force already.
struct InWave<'a>(&'a str);

impl fmt::Display for InWave<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == STEADY { Ok(()) } else { write!(f, "wave {}: ", self.0) }
    }
}

/// A device, by GUID and by the name that people know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct NamedDevice {
    /// Its node GUID.
    pub guid: Guid,
    /// Its description, with the GUID where that is not unique.
    pub name: String,
}

impl NamedDevice {
    pub(crate) fn of(fabric: &Fabric, node: NodeId) -> NamedDevice {
        NamedDevice { guid: fabric.node(node).guid, name: fabric.describe_node(node) }
    }
}

/// The table, of two, from which a choice was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryAge {
    /// As it was when the wave began; the wave changes it.
    Old,
    /// As it is when the wave has ended.
    New,
    /// The wave does not change it.
    Unchanged,
}

impl EntryAge {
    /// The age of the value, of two, that is `chosen`.
    pub(crate) fn of<T: PartialEq>(old: &T, new: &T, chosen: &T) -> EntryAge {
        match (old == new, old == chosen) {
            (true, _) => EntryAge::Unchanged,
            (false, true) => EntryAge::Old,
            (false, false) => EntryAge::New,
        }
    }
}

impl fmt::Display for EntryAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EntryAge::Old => "old entry",
            EntryAge::New => "new entry",
            EntryAge::Unchanged => "unchanged entry",
        })
    }
}

/// A port of a switch and a virtual lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, schemars::JsonSchema)]
pub struct PortLane {
    /// The port.
    pub port: PortNum,
    /// The lane.
    pub vl: Vl,
}

/// At one switch, a packet in the input lane can wait for the output lane.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Dependency {
    /// The switch.
    pub switch: NamedDevice,
    /// The lane in which the packet stands.
    pub input: PortLane,
    /// The lane that it waits for.
    pub output: PortLane,
    /// The DLID of a class that does so.
    pub lid: Lid,
    /// Its service level.
    pub sl: Sl,
    /// The forwarding table entry that it follows.
    pub entry: EntryAge,
    /// The SL-to-VL table that it follows.
    pub mapping: EntryAge,
    /// The wave in which it may have been latched, where that is an earlier one than the cycle's.
    pub latched: Option<String>,
}

impl Dependency {
    /// When it may have been latched, where that is before the cycle's wave: `latched in wave install`.
    pub fn latched_in_words(&self) -> Option<String> {
        self.latched.as_deref().map(|wave| match wave {
            STEADY => "latched before the first wave".to_string(),
            wave => format!("latched in wave {wave}"),
        })
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dependency { switch, input, output, lid, sl, entry, .. } = self;
        write!(
            f,
            "switch {:?}: in port {} VL {} → out port {} VL {}, ",
            switch.name, input.port, input.vl, output.port, output.vl
        )?;
        write!(f, "class lid {lid} SL {sl}, {entry}")?;
        match self.mapping {
            EntryAge::Unchanged => {}
            EntryAge::Old => f.write_str(", old SL-to-VL")?,
            EntryAge::New => f.write_str(", new SL-to-VL")?,
        }
        self.latched_in_words().iter().try_for_each(|latched| write!(f, ", {latched}"))
    }
}

/// Dependencies that close: the output lane of each is the input lane of the next, at the other end of the cable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Cycle {
    /// The wave in which it can close.
    pub wave: String,
    /// The dependencies in order.
    pub dependencies: Vec<Dependency>,
    /// Whether it is known that no shorter cycle exists; in very large components the search for one ends after a
    /// fixed amount of work.
    pub shortest: bool,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} lanes can wait for each other in a cycle", InWave(&self.wave), self.dependencies.len())?;
        self.dependencies.iter().try_for_each(|dependency| write!(f, "\n  {dependency}"))
    }
}

/// Switches that can send one class round.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ClassLoop {
    /// The wave in which it can happen.
    pub wave: String,
    /// The DLID.
    pub lid: Lid,
    /// The switches in order, each with the output port and the entry; the last leads to the first.
    pub hops: Vec<LoopHop>,
}

/// One switch of a loop.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct LoopHop {
    /// The switch.
    pub switch: NamedDevice,
    /// The output port.
    pub port: PortNum,
    /// The entry.
    pub entry: EntryAge,
}

impl fmt::Display for ClassLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}packets to lid {} can go round", InWave(&self.wave), self.lid)?;
        let hop = |hop: &LoopHop| format!("\n  switch {:?}: out port {}, {}", hop.switch.name, hop.port, hop.entry);
        self.hops.iter().try_for_each(|at| f.write_str(&hop(at)))
    }
}

/// The place where packets disappear.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct BlackHole {
    /// The wave in which it can happen.
    pub wave: String,
    /// The switch.
    pub switch: NamedDevice,
    /// The DLID.
    pub lid: Lid,
    /// The treatment of its packets by the switch.
    pub cause: HoleCause,
    /// The entry that causes it.
    pub entry: EntryAge,
}

/// The reason for which a switch discards packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HoleCause {
    /// No output port.
    NoRoute,
    /// An output port that the switch lacks, or without a cable.
    NoCable {
        /// The output port.
        port: PortNum,
    },
    /// The port by which the packets came in.
    TurnedBack {
        /// The port.
        port: PortNum,
    },
    /// None, but packets that had a way are led to a switch from which none led on when the wave began.
    Astray {
        /// The output port.
        port: PortNum,
    },
}

impl fmt::Display for BlackHole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BlackHole { wave, switch, lid, cause, entry } = self;
        write!(f, "{}switch {:?} ", InWave(wave), switch.name)?;
        match cause {
            HoleCause::NoRoute => write!(f, "discards packets to lid {lid}: it has no route ({entry})"),
            HoleCause::NoCable { port } => {
                write!(f, "discards packets to lid {lid}: its port {port} has no cable ({entry})")
            }
            HoleCause::TurnedBack { port } => {
                write!(f, "discards packets to lid {lid}: they come in by port {port} and are to leave by it ({entry})")
            }
            HoleCause::Astray { port } => write!(
                f,
                "can lead packets to lid {lid}, which have a way, to one that still has none: by port {port} ({entry})"
            ),
        }
    }
}

/// A port that packets reach in some wave without being theirs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct WaveArrival {
    /// The wave in which it can happen.
    pub wave: String,
    /// The fault.
    #[serde(flatten)]
    pub arrival: WrongArrival,
}

/// A port that packets reach without being theirs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct WrongArrival {
    /// The DLID.
    pub lid: Lid,
    /// The port where they arrive, for people.
    pub port: String,
    /// The port that owns the DLID, for people.
    pub owner: String,
}

impl WrongArrival {
    pub(crate) fn new(fabric: &Fabric, lid: Lid, at: PortId, owner: PortId) -> WrongArrival {
        let (port, owner) = (fabric.describe_port(at), fabric.describe_port(owner));
        WrongArrival { lid, port, owner }
    }
}

impl fmt::Display for WaveArrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaveArrival { wave, arrival: WrongArrival { lid, port, owner } } = self;
        write!(f, "{}packets to lid {lid} arrive at {port}, but {owner} owns it", InWave(wave))
    }
}

/// What a proof relies on and does not hold, at a wave.
pub(super) fn precondition(wave: &str, what: String) -> Refusal {
    Refusal::Precondition { wave: wave.to_string(), what }
}
