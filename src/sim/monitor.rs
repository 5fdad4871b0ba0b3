//! A monitor's questions: every host asks one switch after the other, by packets to the switches' LIDs.
//!
//! The questions are data packets of one service level, whatever half their host is on, as of a tool that was
//! configured with that level once. A switch takes a question out of its input buffer as it takes what it discards,
//! once it heads its queue; what it would answer is not modelled, nor is multicast, which would hold lanes in the same
//! way. Questions are counted apart: the fates, the latency and the order of data do not include them.

use super::Sim;
use super::gmp::GMP_BYTES;
use super::index::{EndPortRank, PacketId};
use super::packet::{NIL, PacketMarks};
use super::sending::Injector;
use super::source::Header;
use super::wheel::TICKS_PER_NS;
use crate::fabric::PortId;
use crate::ids::Sl;
use serde::{Deserialize, Serialize};

/// What became of questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QuestionCounts {
    /// Handed to a send queue.
    pub sent: u64,
    /// Taken by the switch that owns their DLID.
    pub arrived: u64,
    /// Discarded on their way.
    pub lost: u64,
}

impl QuestionCounts {
    /// Still on their way.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.arrived - self.lost
    }
}

/// What the monitor has done so far.
#[derive(Default)]
pub(super) struct Questions {
    counts: QuestionCounts,
    /// How many have been due.
    turn: u64,
    /// Those that are asked; empty until the monitor begins.
    switches: Vec<PortId>,
}

impl Questions {
    /// How many are on their way.
    pub(super) fn in_flight(&self) -> u64 {
        self.counts.in_flight()
    }

    /// The host that asks next, and the switch that it asks: hosts take turns, and each asks the switches in turn.
    fn take_turn(&mut self, hosts: u64) -> (EndPortRank, Option<PortId>) {
        let turn = self.turn;
        self.turn += 1;
        let asked = (turn / hosts + turn) % self.switches.len().max(1) as u64;
        (EndPortRank((turn % hosts) as u32), self.switches.get(asked as usize).copied())
    }
}

impl Sim {
    /// Lets the monitor ask, if there is one.
    pub(super) fn start_monitor(&mut self) {
        if self.config.monitor.is_some() && self.questions.switches.is_empty() {
            let switches = self.fabric.lid_ports().filter(|&port| self.is_switch_port(port)).collect();
            self.questions.switches = switches;
            self.clock.push(self.clock.now(), Injector::Monitor.event());
        }
    }

    /// The next question is due.
    pub(super) fn ask_next(&mut self) {
        let Some(monitor) = self.config.monitor else { return };
        let hosts = u64::from(self.sources.host_count());
        let next = self.clock.now() + (monitor.every_ns * TICKS_PER_NS / hosts).max(1);
        self.clock.push(next, Injector::Monitor.event());
        let (rank, switch) = self.questions.take_turn(hosts);
        let dlid = switch.map(|port| self.devices.ports[port].lid);
        let Some(dlid) = dlid.filter(|lid| lid.is_unicast() && self.asks(rank, monitor.sl)) else { return };
        self.questions.counts.sent += 1;
        self.hand_over(
            rank,
            Header {
                dlid: dlid.0,
                sl: monitor.sl.get(),
                bytes: GMP_BYTES,
                marks: PacketMarks::QUESTION,
                source_path: 0,
                message: NIL,
            },
        );
    }

    /// What became of the monitor's questions.
    pub fn questions(&self) -> QuestionCounts {
        self.questions.counts
    }

    /// Whether a host sends a question: it is linked, and its send queue has room.
    fn asks(&self, rank: EndPortRank, sl: Sl) -> bool {
        let source = &self.sources.list[rank];
        let own = &self.plane.ports[source.port];
        let vl = self.plane.tables.lane(own.node, 0, own.num, sl.get());
        let queue = self.plane.in_lane(source.port, if vl < self.plane.data_vls { vl } else { 0 });
        let has_room = self.plane.lanes[queue].count < u32::from(self.config.send_queue);
        self.sources.sending && !self.sources.cut_off[rank] && !source.is_silent() && has_room
    }

    fn is_switch_port(&self, port: PortId) -> bool {
        self.fabric.node(self.fabric.port(port).node).is_switch()
    }

    /// A question has come to its end.
    pub(super) fn end_question(&mut self, id: PacketId, arrived: bool) {
        let counts = &mut self.questions.counts;
        *(if arrived { &mut counts.arrived } else { &mut counts.lost }) += 1;
        self.plane.packets.remove(id);
    }
}
