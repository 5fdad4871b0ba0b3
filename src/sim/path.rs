//! Paths of a subnet that began cold: whom an end port knows, and by which LID and service level it sends to it.
//!
//! An end port begins to send when its port is ACTIVE and holds a LID, to all that were so since they came: for them subnet
//! administration has path records. Until it is told of a half it sends to the base LID that the destination's device
//! holds at that moment, with SL 0, or as somebody who asked the real subnet administration loaded it
//! ([`Sim::set_path`]). Like a host with connections it never forgets a destination that goes silent.

use super::Sim;
use super::device::lid_range;
use super::packet::NIL;
use super::source::Sources;
use crate::fabric::PortId;
use crate::ids::{Lid, Lmc, Sl};

impl Sources {
    /// An end port takes LIDs, and gives back those that it held.
    pub(super) fn take_lids(&mut self, port: u32, lid: Lid, lmc: Lmc) {
        let rank = self.by_port[port as usize];
        if rank == NIL {
            return;
        }
        let source = &mut self.list[rank as usize];
        let space = self.spaces.slot(port, 0);
        let old = usize::from(source.lid)..usize::from(source.lid) + usize::from(source.lids);
        let by_lid = &mut self.by_lid[space..];
        by_lid[old].iter_mut().filter(|owner| **owner == rank).for_each(|owner| *owner = NIL);
        by_lid[lid_range(lid, lmc)].fill(rank);
        (source.lid, source.lids, source.paths) = (lid.0, lmc.lids(), (lmc.lids() / 2).max(1));
    }
}

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

    /// The path that a source of a subnet that began cold has from subnet administration; none where its half tells it.
    #[inline(never)]
    pub(super) fn path(&self, rank: u32, destination: u32) -> Option<(Lid, Sl)> {
        let loaded = self.sources.paths.get(&(rank, destination)).copied();
        let asks = self.sources.list[rank as usize].asks;
        loaded.or_else(|| asks.then(|| (Lid(self.sources.list[destination as usize].lid), Sl::default())))
    }

    /// What a source asked for once means nothing any more.
    pub(super) fn forget_paths(&mut self, rank: u32) {
        self.sources.paths.retain(|&(from, _), _| from != rank);
    }

    /// An end port of a subnet that began cold may have become ready: records its paths, and lets it send.
    pub(super) fn source_wakes(&mut self, port: u32) {
        let rank = self.sources.by_port[port as usize];
        if !self.began_cold || rank == NIL || !self.is_ready(rank) {
            return;
        }
        self.sources.list[rank as usize].recorded = true;
        self.begin_sending(rank);
    }

    /// An end port that was cut off is joined with the others again: who was there before knows it by what it is now.
    pub(super) fn source_returns(&mut self, rank: u32) {
        let source = &mut self.sources.list[rank as usize];
        source.recorded = false;
        let port = source.port;
        self.source_wakes(port);
    }

    /// Whether an end port is ACTIVE and holds a LID.
    fn is_ready(&self, rank: u32) -> bool {
        let source = &self.sources.list[rank as usize];
        let port = &self.net.ports[source.port as usize];
        port.alive && port.sends && Lid(source.lid).is_unicast()
    }
}
