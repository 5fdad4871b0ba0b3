//! PathRecord for destinations in other subnets: the local leg, to a router, and the fields that later routers need.
//!
//! Each port of a router that leads there, on each rank, is a candidate: rank by rank, and on each rank router by
//! router. The pair of source and destination determines which candidate comes first. Pairs therefore spread over
//! routers and ranks, and a client that asks again gets the same answer. The flow label rises from candidate to
//! candidate, so that routers with several next hops spread a pair's paths over them; one path keeps its label, and so
//! its order of packets.
//!
//! *Reversible* states that a receiver may reply with the received addresses swapped and on the same service level.
//! Such a reply crosses the same number of routers on its way back and enters this subnet by some router. Two things
//! are checked: the router that the path names, and the service level that remains after all crossings. If the level
//! rises at each crossing and there are too few layers for both directions, routers discard such replies. The path is
//! then reported as not reversible, and a receiver that replies must query a path of its own.

use super::PrefixRoutes;
use super::legs::{Leg, PathEnd, PathLevels, PathQuery};
use super::remote::{Beyond, LeadingRouters};
use crate::fabric::PortId;
use crate::ids::{Half, Lid};
use crate::routers::Levels;
use crate::wire::sa::PathRecord;
use crate::wire::{Gid, status};

/// A destination in another subnet.
pub(super) struct RemoteDestination {
    dgid: Gid,
    /// Router ports that lead there, at least one.
    routers: Vec<PathEnd>,
    beyond: Beyond,
}

impl PathQuery<'_> {
    /// The destination that the request's GID names, if it belongs to another subnet.
    ///
    /// # Errors
    /// The status to refuse with: *no records* if no router leads there.
    pub(super) fn remote_destination(&self) -> Result<Option<RemoteDestination>, u16> {
        let dgid = self.asked.dgid;
        if !self.mask.has(PathRecord::DGID) || !self.directory.is_elsewhere(dgid) {
            return Ok(None);
        }
        let rule = self.directory.facts().remote.rule(dgid.prefix()).ok_or(status::NO_RECORDS)?;
        let ports = self.leading(&rule.routers);
        let routers = match self.by_lid(PathRecord::DLID, self.asked.dlid)? {
            None if ports.is_empty() => return Err(status::NO_RECORDS),
            None => ports.into_iter().map(PathEnd::any).collect(),
            Some(end) if ports.contains(&end.port) => vec![end],
            Some(_) => return Err(status::REQUEST_INVALID),
        };
        Ok(Some(RemoteDestination { dgid, routers, beyond: rule.beyond }))
    }

    /// The router ports of a rule that are present.
    fn leading(&self, routers: &LeadingRouters) -> Vec<PortId> {
        match routers {
            LeadingRouters::First => {
                let all = self.directory.router_ports().map(|port| (self.directory.guid(port), port));
                PrefixRoutes::first_router(all).into_iter().collect()
            }
            LeadingRouters::Ports(guids) => {
                let named = |&guid| self.directory.by_port_guid(guid);
                guids.iter().filter_map(named).filter(|&port| self.directory.is_router(port)).collect()
            }
        }
    }

    /// The paths from a port to a destination in another subnet.
    pub(super) fn beyond<'a>(
        &'a self,
        source: &'a PathEnd,
        way: &'a RemoteDestination,
    ) -> impl Iterator<Item = PathRecord> + 'a {
        let pair = pair(self.directory.gid(source.port), way.dgid);
        let mut legs = self.candidates(source, way);
        if !legs.is_empty() {
            let first = pair as usize % legs.len();
            legs.rotate_left(first);
        }
        (pair..).zip(legs).filter_map(move |(number, leg)| {
            let path = self.path(&leg, way.beyond.crossings())?;
            let label = match way.beyond {
                Beyond::Known { .. } => number & 0xF_FFFF,
                Beyond::Unknown { .. } => 0,
            };
            let asked = self.mask.has(PathRecord::FLOW_LABEL);
            let flow_label = if asked { self.asked.flow_label } else { label };
            Some(PathRecord { dgid: way.dgid, hop_limit: way.beyond.hop_limit(), flow_label, ..path })
        })
    }

    fn candidates(&self, source: &PathEnd, way: &RemoteDestination) -> Vec<Leg> {
        let levels = |from: PortId, dlid: Lid| self.levels_beyond(from, dlid, way.beyond);
        let legs: Vec<Vec<Leg>> =
            way.routers.iter().map(|router| self.legs(source, router, levels).collect()).collect();
        let ranks = legs.iter().map(Vec::len).max().unwrap_or(0);
        (0..ranks).flat_map(|rank| legs.iter().filter_map(move |legs| legs.get(rank).copied())).collect()
    }

    /// The service levels of a path whose DLID is a router's.
    fn levels_beyond(&self, from: PortId, dlid: Lid, beyond: Beyond) -> Option<PathLevels> {
        let Beyond::Known { crossings, levels } = beyond else { return self.levels_here(from, dlid) };
        let asked = self.mask.has(PathRecord::TRAFFIC_CLASS).then_some(self.asked.traffic_class);
        let going = match asked {
            _ if self.mask.has(PathRecord::SL) => self.level(from, dlid, Some(self.asked.sl))?,
            Some(class) => self.level(from, dlid, Some(self.half.sl_of(levels.at_source(class.into()))))?,
            // Routers keep the level, so the local routing chooses it: it may require a certain one.
            None if levels.layers() == 1 => self.level(from, dlid, None)?,
            None => self.level(from, dlid, Some(self.half.sl_of(levels.at_source(0))))?,
        };
        let rank = Half::rank(going) as u8;
        let traffic_class = asked.unwrap_or(levels.traffic_class(rank));
        if rank != levels.at_source(traffic_class.into()) {
            return None;
        }
        let arrives = raised(levels, traffic_class, rank, crossings)?;
        let comes_back = raised(levels, traffic_class, arrives, crossings);
        Some(PathLevels { going, coming: comes_back.map(|rank| self.half.sl_of(rank)), traffic_class })
    }
}

/// The level after this many routers; none if one of them discards the packet.
fn raised(levels: Levels, traffic_class: u8, rank: u8, crossings: u8) -> Option<u8> {
    (0..crossings).try_fold(rank, |rank, _| levels.next(traffic_class, rank))
}

/// A number that spreads pairs evenly: the bits of both GUIDs, multiplied by the golden ratio (Knuth, volume 3, section
/// 6.4).
fn pair(source: Gid, destination: Gid) -> u32 {
    let mixed = source.guid.0 ^ destination.guid.0.rotate_left(32) ^ destination.prefix;
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44) as u32
}
