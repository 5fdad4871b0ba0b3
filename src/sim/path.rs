//! Paths of a subnet that began cold: whom an end port knows, and by which LID and service level it sends to it.
//!
//! An end port begins to send when its port is ACTIVE and holds a LID, to all that were so since they came: for them
//! subnet administration has path records. Until it is told of a half it sends to the base LID that the destination's
//! device holds at that moment, with SL 0, or as somebody who asked the real subnet administration loaded it
//! ([`Sim::set_path`]). Like a host with connections it never forgets a destination that goes silent.

use super::Sim;
use super::packet::NIL;
use crate::fabric::PortId;
use crate::ids::{Lid, Sl};

impl Sim {
    /// Has an end port send to another by this LID and service level, as subnet administration answered somebody who
    /// asked for the path. It lasts until the source is told of a half. Ports that are no end ports have no paths.
    pub fn set_path(&mut self, source: PortId, destination: PortId, dlid: Lid, sl: Sl) {
        let rank = |port: PortId| self.sources.by_port[port.index()];
        let (from, to) = (rank(source), rank(destination));
        if from != NIL && to != NIL {
            self.sources.paths.insert((from, to), (dlid, sl));
        }
    }

    /// An end port of a subnet that began cold may have become ready: records its paths, and lets it send.
    pub(super) fn source_wakes(&mut self, port: u32) {
        let rank = self.sources.by_port[port as usize];
        if !self.sources.cold || rank == NIL || !self.sources.is_ready(&self.plane, rank) {
            return;
        }
        self.sources.list[rank as usize].recorded = true;
        self.begin_sending(rank);
    }
}
