//! The adversarial schedule: a value with the time of every packet and of every delayed write.

use super::needs::WriteId;
use crate::fabric::PortId;
use crate::ids::{Lid, Sl, Vl};
use crate::sim::StuckPacket;
use crate::verify::Witness;
use serde::Serialize;
use std::collections::BTreeSet;

/// A schedule that creates a cycle of waiting packets. Times are nanoseconds from the start of the run.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Schedule {
    /// The wave in which the cycle closes.
    pub wave: String,
    /// By lane of the cycle, in its order: the path of the packet that must stand there.
    pub packets: Vec<Witness>,
    /// The lanes of the cycle by port: where each packet waits, and what it waits for.
    #[serde(skip)]
    pub turns: Vec<(PortId, Vl, PortId, Vl)>,
    /// Events, in order.
    pub steps: Vec<Step>,
    /// Packets to send.
    pub trains: Vec<Train>,
    /// Time of the death; none if nothing dies.
    pub death_ns: Option<u64>,
    /// Writes that are delayed to land at given times; all others land as soon as they can.
    pub landings: Vec<Landing>,
    /// When every packet is in place and every write has landed.
    pub end_ns: u64,
}

impl Schedule {
    /// Whether a deadlock is the intended one: lane for lane, whichever lane is named first.
    pub fn is_met_by(&self, stuck: &[StuckPacket]) -> bool {
        // Sets, because the simulator may begin the cycle at another lane.
        let place = |packet: &StuckPacket| (packet.input, packet.input_vl, packet.output, packet.output_vl);
        let met: BTreeSet<_> = stuck.iter().map(place).collect();
        let wanted: BTreeSet<_> = self.turns.iter().copied().collect();
        met == wanted
    }
}

/// One step, as text.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Step {
    /// When it begins.
    pub at_ns: u64,
    /// What it is.
    #[serde(flatten)]
    pub what: StepAction,
}

/// What a step does.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum StepAction {
    /// The element fails.
    Death,
    /// A write lands.
    Write {
        /// The wave's name.
        wave: String,
        /// The device.
        device: String,
        /// What it changes.
        what: String,
    },
    /// A packet takes its place in the cycle.
    Park {
        /// The lane's number in the cycle, from 0.
        lane: usize,
        /// The port and lane in which it stands.
        at: String,
        /// The destinations of the packets that stand before it until the next lane is taken; none if that lane is
        /// already taken.
        behind: Option<String>,
    },
}

/// Packets of one class, sent one after another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Train {
    /// Their purpose.
    pub role: Role,
    /// The lane of the cycle that they serve, by number.
    pub lane: usize,
    /// The sender's name.
    pub source: String,
    /// The sender's port.
    #[serde(skip)]
    pub port: PortId,
    /// Their DLID.
    pub lid: Lid,
    /// Their service level.
    pub sl: Sl,
    /// Their length in bytes.
    pub bytes: u16,
    /// When the source gets the first.
    pub first_ns: u64,
    /// Time between two of them.
    pub every_ns: u64,
    /// How many.
    pub count: u32,
}

/// The purpose of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Packets of the cycle: they fill their lane, and the first waits for the next lane.
    Waits,
    /// Packets that stand before them for a while.
    Holds,
    /// Packets that keep the link busy for which the latter wait.
    KeepsBusy,
}

/// A write and the time at which it lands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Landing {
    /// The write.
    #[serde(skip)]
    pub id: WriteId,
    /// Its wave.
    pub wave: String,
    /// Its position in the wave's list, from 0.
    pub place: usize,
    /// When.
    pub at_ns: u64,
}

/// Why a cycle is not reached. None of these means that it cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreached {
    /// The refusal names no cycle.
    #[error("the refusal names no cycle of waiting packets to aim at: {refusal}")]
    NoCycle {
        /// The fault that it names.
        refusal: String,
    },
    /// The cycle does not belong to the plan.
    #[error("the cycle does not belong to this plan: {why}")]
    Foreign {
        /// The mismatch.
        why: String,
    },
    /// The plan adds elements.
    #[error("the plan brings elements to the fabric: only changes without newcomers can be steered")]
    Growth,
    /// No packet can reach a place of the cycle under one state of the tables.
    #[error("no packet reaches this turn under one state of the tables: {dependency}")]
    NoPacket {
        /// The turn.
        dependency: String,
    },
    /// Packets choose their output again, and would choose differently.
    #[error(
        "where switches choose at the grant, no packet goes on waiting so once every write of the wave has landed: \
         {dependency}"
    )]
    NotLasting {
        /// The turn.
        dependency: String,
    },
    /// Packets need states of the tables that exclude each other.
    #[error("whatever packets are chosen, some need the same write on opposite sides, each before the other")]
    Contradiction,
    /// A packet would need a hold.
    #[error(
        "some packet would have to be held in its lane until the next one is taken, and no host at that switch has a \
         neighbour to keep its link busy, or its choice would not outlast the hold"
    )]
    NoHold,
    /// The search gave up.
    #[error("none of {tries} combinations of packets has an order, and there are more")]
    TooMany {
        /// The number of combinations tried.
        tries: usize,
    },
    /// A lane has no room for a hold.
    #[error(
        "an input buffer of {credits} (in credits) has no room for a packet of the cycle and one before it: allow 3 at least"
    )]
    NoRoom {
        /// The buffer's size.
        credits: u16,
    },
    /// A hold does not last long enough.
    #[error("a packet would have to be held for {needed_ns} ns, but can be held only for {possible_ns} ns")]
    TooLong {
        /// The duration needed.
        needed_ns: u64,
        /// The longest duration possible.
        possible_ns: u64,
    },
    /// The schedule was executed, but no deadlock closed.
    #[error("the schedule was carried out, but no deadlock closed: {why}")]
    Missed {
        /// What was observed.
        why: String,
    },
}
