//! One path within the subnet: its pair of LIDs, its service levels, and its record if it meets every limit of the
//! request.
//!
//! A path pairs a DLID of the active half with the SLID of the same rank. Replies swap the pair and therefore take
//! that rank's path back. Service ID, QoS class, traffic class and flow label do not affect the path; the answer
//! repeats the values of the request. Ports that share no partition have no path (`partitions`). Deliberately
//! omitted: multicast and raw traffic.

use super::directory::Directory;
use super::path_rate::{PathCapacity, PathRate};
use crate::fabric::PortId;
use crate::ids::{Half, Lid, PKey, Sl};
use crate::wire::sa::{ComponentMask, PathRecord, Selector};
use crate::wire::{Mtu, status};

/// The largest value of PathRecord:PacketLifeTime.
const MOST_LIFE_TIME: u8 = 63;

/// One request for paths.
pub(super) struct PathQuery<'a> {
    pub(super) directory: &'a Directory,
    pub(super) half: Half,
    pub(super) mask: ComponentMask,
    pub(super) asked: PathRecord,
}

/// One end of the paths requested.
pub(super) struct PathEnd {
    pub(super) port: PortId,
    /// The only acceptable LID, if the request names one.
    pinned: Option<Lid>,
}

impl PathEnd {
    /// A port by any of its LIDs.
    pub(super) fn any(port: PortId) -> PathEnd {
        PathEnd { port, pinned: None }
    }
}

/// A path within the subnet.
#[derive(Clone, Copy)]
pub(super) struct Leg {
    from: PortId,
    to: PortId,
    slid: Lid,
    dlid: Lid,
    levels: PathLevels,
}

/// The service levels of a path.
#[derive(Clone, Copy)]
pub(super) struct PathLevels {
    /// Of packets to the destination.
    pub(super) going: Sl,
    /// Of replies that swap the addresses and keep the service level; none if no reply can.
    pub(super) coming: Option<Sl>,
    /// Traffic class of the GRH.
    pub(super) traffic_class: u8,
}

impl<'a> PathQuery<'a> {
    pub(super) fn new(directory: &'a Directory, half: Half, mask: ComponentMask, asked: PathRecord) -> PathQuery<'a> {
        PathQuery { directory, half, mask, asked }
    }

    /// The end that a LID names, if the component mask selects that LID.
    pub(super) fn by_lid(&self, component: u32, lid: Lid) -> Result<Option<PathEnd>, u16> {
        if !self.mask.has(component) {
            return Ok(None);
        }
        let port = self.directory.fabric().lid_owner(lid).ok_or(status::NO_RECORDS)?;
        if self.directory.lids(port, self.half).contains(&lid) {
            return Ok(Some(PathEnd { port, pinned: Some(lid) }));
        }
        let known_by = self.directory.base_lid(port) == Some(lid);
        if known_by { Ok(Some(PathEnd::any(port))) } else { Err(status::NO_RECORDS) }
    }

    /// The pairs of LIDs by which one port reaches another. If one end is pinned, the pair of its rank comes first.
    /// `levels` gives the service levels on which a DLID is reached.
    pub(super) fn legs<'b>(
        &'b self,
        source: &PathEnd,
        destination: &PathEnd,
        levels: impl Fn(PortId, Lid) -> Option<PathLevels> + 'b,
    ) -> impl Iterator<Item = Leg> + 'b {
        let ends = [source, destination].map(|end| (end.port, end.pinned, self.directory.lids(end.port, self.half)));
        let [(from, slid, slids), (to, dlid, dlids)] = ends;
        let rank = |pinned: Option<Lid>, lids: &[Lid]| lids.iter().position(|&lid| Some(lid) == pinned);
        let first = rank(slid, &slids).or_else(|| rank(dlid, &dlids)).unwrap_or(0);
        let turns = match (slid, dlid) {
            (Some(_), Some(_)) => 1,
            (Some(_), None) => dlids.len(),
            (None, Some(_)) => slids.len(),
            (None, None) => slids.len().max(dlids.len()),
        };
        (first..first + turns).filter_map(move |turn| {
            let at = |lids: &[Lid]| lids.get(turn.checked_rem(lids.len())?).copied();
            let dlid = dlid.or_else(|| at(&dlids))?;
            let levels = levels(from, dlid)?;
            // The SLID is usable only if replies have a path to it.
            let back = |lid: &Lid| levels.coming.is_some_and(|sl| self.level(to, *lid, Some(sl)).is_some());
            let same = at(&slids).filter(|lid| back(lid));
            let other = || slids.iter().copied().find(|lid| back(lid)).or_else(|| at(&slids));
            Some(Leg { from, to, slid: slid.or(same).or_else(other)?, dlid, levels })
        })
    }

    /// The service level of a path: `wanted`, if the path may use it.
    pub(super) fn level(&self, from: PortId, dlid: Lid, wanted: Option<Sl>) -> Option<Sl> {
        self.directory.facts().service_levels.choose(from, dlid, self.half, wanted)
    }

    /// The service levels of a path within the subnet: replies use that of the request.
    pub(super) fn levels_here(&self, from: PortId, dlid: Lid) -> Option<PathLevels> {
        let going = self.level(from, dlid, self.mask.has(PathRecord::SL).then_some(self.asked.sl))?;
        let traffic_class = if self.mask.has(PathRecord::TRAFFIC_CLASS) { self.asked.traffic_class } else { 0 };
        Some(PathLevels { going, coming: Some(going), traffic_class })
    }

    /// The record of one path that crosses `crossings` routers after its last LID, if it meets every limit.
    pub(super) fn path(&self, leg: &Leg, crossings: u8) -> Option<PathRecord> {
        let &Leg { from: source, to: destination, slid, dlid, levels } = leg;
        let (asked, has) = (&self.asked, |component: u32| self.mask.has(component));
        let p_key = self.directory.p_key(source, destination, has(PathRecord::P_KEY).then_some(PKey(asked.p_key)))?;
        let route = PathCapacity::walk(self.directory, source, dlid)?;
        // Replies come back to the SLID.
        let answered = levels.coming.is_some_and(|sl| self.level(destination, slid, Some(sl)).is_some());
        let reversible = answered && PathCapacity::walk(self.directory, destination, slid).is_some();
        let no_raw = !(has(PathRecord::RAW_TRAFFIC) && asked.raw_traffic);
        let can_return = reversible || !(has(PathRecord::REVERSIBLE) && asked.reversible);
        if !(no_raw && can_return) {
            return None;
        }
        Some(PathRecord {
            service_id: if has(0) || has(1) { asked.service_id } else { 0 },
            dgid: self.directory.gid(destination),
            sgid: self.directory.gid(source),
            dlid,
            slid,
            flow_label: if has(PathRecord::FLOW_LABEL) { asked.flow_label } else { 0 },
            traffic_class: levels.traffic_class,
            reversible,
            p_key: p_key.0,
            qos_class: if has(PathRecord::QOS_CLASS) { asked.qos_class } else { 0 },
            sl: levels.going,
            mtu_selector: Selector::Exactly,
            mtu: self.mtu(route.mtu)?.into(),
            rate_selector: Selector::Exactly,
            rate: self.rate(route.rate)?.number(),
            packet_life_time_selector: Selector::Exactly,
            packet_life_time: self.packet_life_time(source == destination && crossings == 0, crossings)?,
            ..PathRecord::default()
        })
    }

    /// The largest MTU within the request's limit: a path with this MTU carries smaller packets too.
    fn mtu(&self, most: Mtu) -> Option<Mtu> {
        let asked = Mtu::from(self.asked.mtu);
        match self.limit(PathRecord::MTU_SELECTOR, PathRecord::MTU, self.asked.mtu_selector) {
            Selector::Above => Some(most).filter(|&mtu| mtu > asked),
            Selector::Below if most < asked => Some(most),
            Selector::Below => Some(Mtu::from(self.asked.mtu - 1)).filter(|mtu| mtu.bytes().is_some()),
            Selector::Exactly => Some(asked).filter(|&mtu| mtu <= most),
            _ => Some(most),
        }
    }

    /// The highest rate within the request's limit.
    fn rate(&self, most: PathRate) -> Option<PathRate> {
        let asked = PathRate::from_number(self.asked.rate).unwrap_or(most);
        match self.limit(PathRecord::RATE_SELECTOR, PathRecord::RATE, self.asked.rate_selector) {
            Selector::Above => Some(most).filter(|&rate| rate > asked),
            Selector::Below if most < asked => Some(most),
            Selector::Below => asked.below(),
            Selector::Exactly => Some(asked).filter(|&rate| rate <= most),
            _ => Some(most),
        }
    }

    /// A packet is gone after the subnet's lifetime in each subnet that it crosses; a port reaches itself without
    /// crossing any. Longer times are also true.
    fn packet_life_time(&self, itself: bool, crossings: u8) -> Option<u8> {
        let subnets = (u16::from(crossings) + 1).next_power_of_two().trailing_zeros() as u8;
        let whole = self.directory.facts().packet_life_time.saturating_add(subnets).min(MOST_LIFE_TIME);
        let least = if itself { 0 } else { whole };
        let asked = self.asked.packet_life_time;
        let (selector, value) = (PathRecord::PACKET_LIFE_TIME_SELECTOR, PathRecord::PACKET_LIFE_TIME);
        match self.limit(selector, value, self.asked.packet_life_time_selector) {
            Selector::Above => Some(least).filter(|&time| time > asked),
            Selector::Below => Some(least).filter(|&time| time < asked),
            Selector::Exactly => Some(asked).filter(|&time| time >= least),
            _ => Some(least),
        }
    }

    /// The meaning of a limit: it applies only together with its selector; without one there is no limit, which equals
    /// asking for the largest.
    fn limit(&self, selector: u32, value: u32, asked: Selector) -> Selector {
        let counts = self.mask.has(selector) && (asked == Selector::Most || self.mask.has(value));
        if counts { asked } else { Selector::Most }
    }
}
