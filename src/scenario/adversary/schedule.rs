//! The adversarial schedule: a value that gives the time of every packet and of every write that is held up.

use super::needs::WriteId;
use crate::fabric::PortId;
use crate::ids::{Lid, Sl, Vl};
use crate::sim::StuckPacket;
use crate::verify::Witness;
use serde::Serialize;
use std::collections::BTreeSet;

/// What drives a cycle of waiting packets into being. Times are nanoseconds from the beginning of the run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Schedule {
    /// The wave in which the cycle closes.
    pub wave: String,
    /// By lane of the cycle, in its order: the packet that is to stand there, and its way.
    pub packets: Vec<Witness>,
    /// The same lanes as ports: where each packet stands, and what it waits for.
    #[serde(skip)]
    pub turns: Vec<(PortId, Vl, PortId, Vl)>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// What is sent.
    pub trains: Vec<Train>,
    /// When what is to die dies; none where nothing does.
    pub death_ns: Option<u64>,
    /// Writes that are held up on their way so that they land at their time; all others land as soon as they can.
    pub landings: Vec<Landing>,
    /// When every packet has its place, and every write has landed.
    pub end_ns: u64,
}

impl Schedule {
    /// Whether a deadlock is the one that was driven at: lane for lane, whichever lane is named first.
    pub fn is_met_by(&self, stuck: &[StuckPacket]) -> bool {
        // Sets, because the simulator may begin the cycle at another lane.
        let place = |packet: &StuckPacket| (packet.input, packet.input_vl, packet.output, packet.output_vl);
        let met: BTreeSet<_> = stuck.iter().map(place).collect();
        let wanted: BTreeSet<_> = self.turns.iter().copied().collect();
        met == wanted
    }
}

/// One step, for people.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Step {
    /// When it begins.
    pub at_ns: u64,
    /// What it is.
    #[serde(flatten)]
    pub what: Deed,
}

/// What a step does.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Deed {
    /// What is to die dies.
    Death,
    /// A write lands.
    Write {
        /// Its wave.
        wave: String,
        /// The device.
        device: String,
        /// What it changes.
        what: String,
    },
    /// A packet takes its place in the cycle.
    Park {
        /// The lane, by its number in the cycle, from 0.
        lane: usize,
        /// Where it stands then.
        at: String,
        /// Packets to whom stand before it until the next lane is taken; none where that one is taken already.
        behind: Option<String>,
    },
}

/// Packets of one class, sent one after the other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Train {
    /// What they are for.
    pub role: Role,
    /// The lane of the cycle that they serve, by number.
    pub lane: usize,
    /// Who sends them, for people.
    pub source: String,
    /// The same.
    #[serde(skip)]
    pub port: PortId,
    /// Their DLID.
    pub lid: Lid,
    /// Their service level.
    pub sl: Sl,
    /// Their length.
    pub bytes: u16,
    /// When the first is handed to its source.
    pub first_ns: u64,
    /// Time from one to the next.
    pub every_ns: u64,
    /// How many.
    pub count: u32,
}

/// What packets are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Packets of the cycle: they fill their lane, and the first waits for the next lane.
    Waits,
    /// They stand before such a packet for a while.
    Holds,
    /// They keep the link busy for which those wait.
    KeepsBusy,
}

/// A write and the time at which it lands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Landing {
    /// Which write.
    #[serde(skip)]
    pub id: WriteId,
    /// Its wave.
    pub wave: String,
    /// Its place in the wave's list, from 0.
    pub place: usize,
    /// When.
    pub at_ns: u64,
}

/// Why a cycle is not driven into being. None of these means that it cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreached {
    /// The refusal names no cycle.
    #[error("the refusal names no cycle of waiting packets, so there is none to drive at: {refusal}")]
    NoCycle {
        /// What it names.
        refusal: String,
    },
    /// Plan and cycle do not belong together.
    #[error("the cycle is none of this plan's: {why}")]
    Foreign {
        /// What does not fit.
        why: String,
    },
    /// Elements come.
    #[error("the plan brings elements to the fabric: only changes without newcomers can be steered")]
    Growth,
    /// No packet can be brought to a place in one piece.
    #[error("no packet comes to this turn under one state of the tables: {dependency}")]
    NoPacket {
        /// The turn.
        dependency: String,
    },
    /// Packets choose again, and would choose differently.
    #[error(
        "where switches choose at the grant, no packet goes on waiting so once every write of the wave has landed: \
         {dependency}"
    )]
    NotLasting {
        /// The turn.
        dependency: String,
    },
    /// Packets need the tables in states that exclude each other.
    #[error("whatever packets are chosen, some need the same write on opposite sides, each before the other")]
    Contradiction,
    /// A packet would have to be held.
    #[error(
        "some packet would have to be held in its lane until the next one is taken, and no host at that switch has a \
         neighbour to keep its link busy, or its choice would not outlast the hold"
    )]
    NoHold,
    /// The search was given up.
    #[error("none of {tries} combinations of packets has an order, and there are more")]
    TooMany {
        /// How many were tried.
        tries: usize,
    },
    /// A lane has no room for a hold.
    #[error(
        "an input buffer of {credits} (in credits) has no room for a packet of the cycle and one before it: allow 3 at least"
    )]
    NoRoom {
        /// Its size.
        credits: u16,
    },
    /// A hold does not last.
    #[error("a packet would have to be held for {needed_ns} ns, and can be for {possible_ns} ns")]
    TooLong {
        /// How long.
        needed_ns: u64,
        /// How long is possible.
        possible_ns: u64,
    },
    /// The schedule was carried out, and packets do not stand as they should.
    #[error("the schedule was carried out, and no deadlock closed: {why}")]
    Missed {
        /// What was seen.
        why: String,
    },
}
