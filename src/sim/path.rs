//! Paths of a subnet that began cold: which end ports know each other, and by which LID and service level they send.
//!
//! An end port begins to send when its port is ACTIVE and holds a LID. It sends to all end ports that have been so
//! since they arrived, since subnet administration has path records for them. Until it is assigned a half it sends to
//! the base LID that the destination's device holds at that moment, with SL 0, or by the path that code with access to
//! the real subnet administration loaded ([`Sim::set_path`]). Like a host with connections it never forgets a
//! destination that goes silent.

use super::Sim;
use super::index::Dense;
use crate::fabric::PortId;
use crate::ids::{Lid, Sl};

impl Sim {
    /// Lets an end port send to another by this LID and service level, as subnet administration answered a query for
    /// the path. The path lasts until the source is assigned a half. Does nothing unless both are end ports.
    pub fn set_path(&mut self, source: PortId, destination: PortId, dlid: Lid, sl: Sl) {
        self.sources.load_path(source, destination, (dlid, sl));
    }

    /// An end port of a subnet that began cold may have become ready: records its paths, and lets it send.
    pub(super) fn source_wakes(&mut self, port: PortId) {
        let rank = self.sources.by_port[port];
        if !self.sources.cold || rank.is_none() || !self.sources.is_ready(&self.plane, rank) {
            return;
        }
        self.sources.list[rank].record();
        self.begin_sending(rank);
    }
}
