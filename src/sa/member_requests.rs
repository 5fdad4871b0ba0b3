//! Requests about multicast groups (section 15.2.5.17): who may make, join, leave and see them.
//!
//! Status codes are those of OpenSM 3.3.23 for the same requests. It differs in one thing: the service level is not the
//! client's to choose, because every group is on the reserved one (claim K.2 of docs/PROTOCOL.md). A level in a request
//! to join is ignored, and the answer names the one in use.

use super::directory::{Directory, MulticastFacts};
use super::groups::{GroupMembership, MulticastGroup, MulticastGroups, broadcast};
use super::path_rate::PathRate;
use crate::fabric::PortId;
use crate::ids::{Guid, PKey, PortNum};
use crate::wire::sa::{ComponentMask, McMemberRecord, Selector};
use crate::wire::{Gid, Mtu, PortInfo, status};

use McMemberRecord as M;

/// What every request to join or leave names.
const NEEDED: [u32; 3] = [M::MGID, M::PORT_GID, M::JOIN_STATE];
/// What a request names besides that if it is to make a group.
const NEEDED_TO_MAKE: [u32; 5] = [M::Q_KEY, M::TRAFFIC_CLASS, M::P_KEY, M::FLOW_LABEL, M::SL];

/// Signatures in the GIDs of groups of IPoIB, and of those that subnet administration makes (section 4.1.1).
const IPOIB: [u16; 2] = [0x401B, 0x601B];
const MADE_HERE: u16 = 0xA01B;
/// Flags in the second byte of a group's GID that mean nothing.
const RESERVED_FLAGS: u8 = 0xE0;
const LINK_LOCAL: u8 = 2;
/// Of a group that reaches beyond its subnet.
const MOST_HOPS: u8 = 255;
/// Path MTUs go from 256 to 4096 bytes.
const MTUS: std::ops::RangeInclusive<u8> = 1..=5;

/// One request.
pub(super) struct MemberRequest<'a> {
    pub(super) directory: &'a Directory,
    pub(super) facts: MulticastFacts,
    /// The port that asks.
    pub(super) from: PortId,
    pub(super) mask: ComponentMask,
    pub(super) asked: McMemberRecord,
    /// Whether the client has shown the SM_Key.
    pub(super) is_trusted: bool,
}

impl MemberRequest<'_> {
    fn has(&self, component: u32) -> bool {
        self.mask.has(component)
    }

    fn asker(&self) -> Guid {
        self.directory.guid(self.from)
    }

    /// The member that the request names.
    fn member(&self) -> Result<PortId, u16> {
        let prefix = self.asked.port_gid.prefix;
        if ![self.directory.facts().subnet_prefix, Gid::DEFAULT_PREFIX].contains(&prefix) {
            return Err(status::INVALID_GID);
        }
        self.directory.by_port_guid(self.asked.port_gid.guid).ok_or(status::REQUEST_INVALID)
    }

    /// Joins a group, which is made if there is none; returns the answer.
    ///
    /// # Errors
    /// The status to refuse with.
    pub(super) fn join(&self, groups: &mut MulticastGroups) -> Result<McMemberRecord, u16> {
        if !self.mask.has_all(&NEEDED) {
            return Err(status::INSUFFICIENT_COMPONENTS);
        }
        let port = self.member()?;
        let is_named = self.has(M::P_KEY) && PKey(self.asked.p_key).partition() == 0;
        if is_named || !self.directory.share_a_partition(port, self.from) {
            return Err(status::REQUEST_INVALID);
        }
        let mut mgid = self.asked.mgid;
        let is_new = groups.get(mgid).is_none();
        match groups.get(mgid) {
            Some(group) => self.check_parameters(group)?,
            None => mgid = self.make(groups, port)?,
        }
        let joined = self.join_found(groups, mgid, port, is_new);
        if is_new && joined.is_err() {
            groups.end_unless_kept(mgid);
        }
        joined
    }

    fn join_found(
        &self,
        groups: &mut MulticastGroups,
        mgid: Gid,
        port: PortId,
        is_new: bool,
    ) -> Result<McMemberRecord, u16> {
        let group = groups.get(mgid).ok_or(status::REQUEST_INVALID)?;
        let can = self.meets_limits(&group.record) && self.can_carry(port, &group.record);
        if !can || self.asked.join_state == 0 || !self.is_in(port, group) {
            return Err(status::REQUEST_INVALID);
        }
        let guid = self.directory.guid(port);
        if !is_new {
            self.check_may_change(group, group.members.get(&guid))?;
        }
        let record = group.record.clone();
        let join_state = groups.join(mgid, (guid, self.directory.gid(port)), self.asked.join_state, self.asker())?;
        let is_proxy = groups.get(mgid).and_then(|group| group.members.get(&guid)).is_some_and(|own| own.is_proxy);
        Ok(M { port_gid: self.asked.port_gid, join_state, proxy_join: is_proxy, ..record })
    }

    /// Leaves a group as far as the request says; returns the answer.
    ///
    /// # Errors
    /// The status to refuse with.
    pub(super) fn leave(&self, groups: &mut MulticastGroups) -> Result<McMemberRecord, u16> {
        if !self.mask.has_all(&NEEDED) {
            return Err(status::INSUFFICIENT_COMPONENTS);
        }
        let port = self.member()?;
        let group = groups.get(self.asked.mgid).ok_or(status::REQUEST_INVALID)?;
        let guid = self.directory.guid(port);
        let own = group.members.get(&guid).ok_or(status::REQUEST_INVALID)?;
        let asked = self.asked.join_state;
        if asked == 0 || asked & !own.join_state != 0 {
            return Err(status::REQUEST_INVALID);
        }
        self.check_may_change(group, Some(own))?;
        let join_state = groups.leave(self.asked.mgid, guid, asked);
        Ok(M { join_state, ..self.asked.clone() })
    }

    /// The records that match the request, back to back: one for each group, or for each member if the client is
    /// trusted and names none.
    pub(super) fn select(&self, groups: &MulticastGroups) -> Vec<McMemberRecord> {
        groups.all().filter(|group| self.shows(group)).flat_map(|group| self.records_of(group)).collect()
    }

    fn shows(&self, group: &MulticastGroup) -> bool {
        let is_named = |component, is_same: bool| !self.has(component) || is_same;
        is_named(M::MGID, self.asked.mgid == group.record.mgid)
            && is_named(M::MLID, self.asked.mlid == group.record.mlid)
            && is_named(M::SL, self.asked.sl == group.record.sl)
            && self.is_in(self.from, group)
            && self.check_parameters(group).is_ok()
            && self.meets_limits(&group.record)
    }

    fn records_of(&self, group: &MulticastGroup) -> Vec<McMemberRecord> {
        let of = |own: &GroupMembership| M {
            port_gid: own.port_gid,
            join_state: own.join_state,
            proxy_join: own.is_proxy,
            ..group.record.clone()
        };
        let found: Vec<McMemberRecord> = if self.has(M::PORT_GID) {
            group.members.get(&self.asked.port_gid.guid).map(of).into_iter().collect()
        } else if self.is_trusted {
            group.members.values().map(of).collect()
        } else {
            vec![group.record.clone()]
        };
        let matches = |record: &McMemberRecord| {
            (!self.has(M::SCOPE) || record.scope == self.asked.scope)
                && (!self.has(M::JOIN_STATE) || record.join_state == self.asked.join_state)
                && (!self.has(M::PROXY_JOIN) || record.proxy_join == self.asked.proxy_join)
        };
        let shown = |record: McMemberRecord| match self.is_trusted {
            true => record,
            // Who is a member is no stranger's concern.
            false => M { port_gid: Gid::default(), join_state: 0, proxy_join: false, ..record },
        };
        found.into_iter().filter(matches).map(shown).collect()
    }

    fn is_in(&self, port: PortId, group: &MulticastGroup) -> bool {
        self.directory.is_in_partition(port, group.p_key())
    }

    /// A membership is changed by its own port; one that another port asked for, by any port of the group's partition.
    fn check_may_change(&self, group: &MulticastGroup, own: Option<&GroupMembership>) -> Result<(), u16> {
        let may = own.is_none_or(|own| match own.is_proxy {
            true => self.is_in(self.from, group),
            false => own.port_gid.guid == self.asker(),
        });
        if may { Ok(()) } else { Err(status::REQUEST_INVALID) }
    }

    /// Whether what the request names of a group is what the group has; the service level aside.
    fn check_parameters(&self, group: &MulticastGroup) -> Result<(), u16> {
        let (asked, held) = (&self.asked, &group.record);
        let agrees = |component, is_same: bool| !self.has(component) || is_same;
        let agree = agrees(M::Q_KEY, asked.q_key == held.q_key)
            && agrees(M::P_KEY, PKey(asked.p_key).matches(PKey(held.p_key)))
            && agrees(M::TRAFFIC_CLASS, asked.traffic_class == held.traffic_class)
            && agrees(M::FLOW_LABEL, asked.flow_label == held.flow_label)
            && agrees(M::HOP_LIMIT, asked.hop_limit == held.hop_limit);
        if agree { Ok(()) } else { Err(status::REQUEST_INVALID) }
    }

    /// Whether MTU and rate of a group are within the request's limits.
    fn meets_limits(&self, held: &McMemberRecord) -> bool {
        let asked = &self.asked;
        let rate = |number| PathRate::from_number(number);
        let mtu = !self.has(M::MTU_SELECTOR) || is_within(asked.mtu_selector, held.mtu, asked.mtu);
        let is_of_rate = || match (rate(held.rate), rate(asked.rate)) {
            (Some(held), Some(limit)) => is_within(asked.rate_selector, held, limit),
            _ => asked.rate_selector == Selector::Most,
        };
        mtu && (!self.has(M::RATE_SELECTOR) || is_of_rate())
    }

    /// Whether a port's link takes the group's packets at the group's rate.
    fn can_carry(&self, port: PortId, group: &McMemberRecord) -> bool {
        let Some((mtu, rate)) = self.capacity(port) else { return false };
        mtu >= Mtu::from(group.mtu) && PathRate::from_number(group.rate).is_some_and(|needed| rate >= needed)
    }

    /// MTU and rate of a port's link; port 0 of a switch has none of its own.
    fn capacity(&self, port: PortId) -> Option<(Mtu, PathRate)> {
        let info: &PortInfo = self.directory.port_info(port)?;
        let is_port_0 = self.directory.fabric().port(port).num == PortNum::ZERO;
        let mtu = if is_port_0 { info.mtu_cap } else { info.neighbour_mtu };
        Some((mtu, PathRate::of_link(info)?))
    }

    /// Makes the group that the request describes; returns its GID.
    fn make(&self, groups: &mut MulticastGroups, port: PortId) -> Result<Gid, u16> {
        if self.asked.join_state & M::KEEPS == 0 {
            return Err(status::REQUEST_INVALID);
        }
        if !self.mask.has_all(&NEEDED_TO_MAKE) {
            return Err(status::INSUFFICIENT_COMPONENTS);
        }
        let mgid = if self.asked.mgid == Gid::default() {
            let scope = if self.has(M::SCOPE) { self.asked.scope } else { LINK_LOCAL };
            groups.new_mgid(scope, self.directory.facts().subnet_prefix)
        } else {
            self.check_mgid(groups)?;
            self.asked.mgid
        };
        let (port_mtu, port_rate) = self.capacity(port).ok_or(status::REQUEST_INVALID)?;
        let mtu = self.mtu(port_mtu.into()).ok_or(status::REQUEST_INVALID)?;
        let rate = self.rate(port_rate).ok_or(status::REQUEST_INVALID)?;
        let scope = scope_of(mgid);
        let farthest = if scope == LINK_LOCAL { 0 } else { MOST_HOPS };
        let record = M {
            mgid,
            q_key: self.asked.q_key,
            mtu_selector: Selector::Exactly,
            mtu,
            traffic_class: self.asked.traffic_class,
            p_key: self.asked.p_key,
            rate_selector: Selector::Exactly,
            rate: rate.number(),
            packet_life_time_selector: Selector::Exactly,
            packet_life_time: self.directory.facts().packet_life_time,
            flow_label: self.asked.flow_label,
            hop_limit: if self.has(M::HOP_LIMIT) { self.asked.hop_limit } else { farthest },
            scope,
            join_state: M::FULL,
            ..M::default()
        };
        groups.make(record, Some(self.asker()), self.facts).map(|()| mgid)
    }

    /// Whether a client may choose this GID for a group (section 4.1.1), and, for one of IPoIB, whether the broadcast
    /// group of its partition is there and has the same parameters.
    fn check_mgid(&self, groups: &MulticastGroups) -> Result<(), u16> {
        let mgid = self.asked.mgid;
        let [_, flags, high, low, ..] = mgid.prefix.to_be_bytes();
        let signature = u16::from_be_bytes([high, low]);
        if !mgid.is_multicast() {
            return Err(status::REQUEST_INVALID);
        }
        if IPOIB.contains(&signature) {
            let base = broadcast(PKey((mgid.prefix >> 16) as u16), scope_of(mgid));
            return match groups.get(base) {
                _ if mgid == base => Ok(()),
                Some(group) => self.check_parameters(group),
                None => Err(status::REQUEST_INVALID),
            };
        }
        let is_ours = signature == MADE_HERE && scope_of(mgid) == LINK_LOCAL;
        if flags & RESERVED_FLAGS != 0 || is_ours { Err(status::REQUEST_INVALID) } else { Ok(()) }
    }

    /// The largest MTU within the request's limits and those of the port.
    fn mtu(&self, most: u8) -> Option<u8> {
        let asked = self.asked.mtu;
        let counts = self.has(M::MTU) && self.has(M::MTU_SELECTOR);
        let mtu = match self.asked.mtu_selector {
            Selector::Above if counts => Some(most).filter(|&most| most > asked),
            Selector::Below if counts => asked.checked_sub(1).map(|below| below.min(most)),
            Selector::Exactly if counts => Some(asked),
            _ => Some(most),
        };
        mtu.filter(|mtu| MTUS.contains(mtu))
    }

    /// The highest rate within the request's limits and those of the port.
    fn rate(&self, most: PathRate) -> Option<PathRate> {
        if !self.has(M::RATE) || !self.has(M::RATE_SELECTOR) || self.asked.rate_selector == Selector::Most {
            return Some(most);
        }
        let asked = PathRate::from_number(self.asked.rate)?;
        match self.asked.rate_selector {
            Selector::Above => Some(most).filter(|&most| most > asked),
            Selector::Below => asked.below().map(|below| below.min(most)),
            _ => Some(asked),
        }
    }
}

fn is_within<V: Ord>(selector: Selector, held: V, limit: V) -> bool {
    match selector {
        Selector::Above => held > limit,
        Selector::Below => held < limit,
        Selector::Exactly => held == limit,
        _ => true,
    }
}

fn scope_of(mgid: Gid) -> u8 {
    (mgid.prefix >> 48) as u8 & 0xF
}
