//! The flush of the new lanes: every device says that each packet latched before its write is off, and that its
//! neighbours' flush tokens came behind such packets.

use super::{Device, Flushed, NoVerdict, Ticket, Verdict};
use crate::ids::VlSet;
use std::collections::BTreeSet;

/// One device's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlushReading {
    /// Who answers.
    pub device: Device,
    /// The round on the wire.
    pub round: u32,
    /// The lanes it speaks of.
    pub lanes: VlSet,
    /// Whether its part is done.
    pub flushed: bool,
}

/// Waits for every device.
#[derive(Clone, Debug)]
pub struct FlushJudge {
    ticket: Ticket,
    lanes: VlSet,
    waiting: BTreeSet<Device>,
    spoilt: Option<NoVerdict>,
}

impl FlushJudge {
    /// A judge of the flush of `lanes`, which all of `devices` take part in.
    pub fn new(ticket: Ticket, lanes: VlSet, devices: impl IntoIterator<Item = Device>) -> FlushJudge {
        FlushJudge { ticket, lanes, waiting: devices.into_iter().collect(), spoilt: None }
    }

    /// The round that devices are told.
    pub fn round(&self) -> u32 {
        self.ticket.rounds()[0]
    }

    /// Takes one answer in.
    pub fn fold(&mut self, reading: &FlushReading) {
        if reading.round != self.round() {
            return;
        }
        if reading.lanes != self.lanes {
            self.spoilt = Some(NoVerdict::OtherLanes { asked: self.lanes, found: reading.lanes });
        } else if reading.flushed {
            self.waiting.remove(&reading.device);
        }
    }

    /// The device died.
    pub fn excuse(&mut self, device: Device) {
        self.waiting.remove(&device);
    }

    /// Who has not said yes yet, in index order.
    pub fn waiting(&self) -> impl Iterator<Item = Device> + '_ {
        self.waiting.iter().copied()
    }

    /// What the answers say.
    pub fn verdict(&self) -> Verdict<Flushed> {
        match &self.spoilt {
            Some(reason) => Verdict::NoVerdict(reason.clone()),
            None if self.waiting.is_empty() => Verdict::Proof(Flushed { ticket: self.ticket, lanes: self.lanes }),
            None => Verdict::Pending,
        }
    }
}
