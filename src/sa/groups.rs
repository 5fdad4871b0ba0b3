//! Multicast groups: their parameters, their members, and the LID of each.
//!
//! A group ends when the last port that keeps it has left, except those that are *predefined*: the broadcast group of
//! IPoIB in each partition (RFC 4391), without which no interface comes up. The LID follows from the GID by a hash, so
//! that a later manager, which remembers nothing, mostly gives each group the LID by which switches forward it already.
//! Groups fill a small part of the table before a larger one, because switches are written in blocks.
//! Deliberately omitted: who may do what (`member_requests`), and where packets go (`sm`).

use super::directory::{Directory, MulticastFacts};
use super::path_rate::PathCapacity;
use crate::ids::{Guid, Lid, PKey};
use crate::shares::Shares;
use crate::wire::sa::{McMemberRecord, Selector};
use crate::wire::{Gid, status};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The most multicast LIDs that there can be.
const MOST_MLIDS: u16 = 0x3FFF;
/// The parts of the table that are filled one after the other, by their ends.
const PARTS: [u16; 4] = [256, 1024, 4096, MOST_MLIDS];

/// Q_Key and scope (the subnet) of predefined groups, as every manager gives them.
const BROADCAST_Q_KEY: u32 = 0x0B1B;
const LINK_LOCAL: u8 = 2;

/// A member of a group, as far as switches are concerned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GroupMember {
    /// Its port.
    pub port: Guid,
    /// Whether packets of the group are sent to it; otherwise it only sends.
    pub receives: bool,
}

/// How many groups there are, and how many memberships.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct GroupCounts {
    /// Groups, predefined ones included.
    pub groups: usize,
    /// Ports in them, each once for each group.
    pub members: usize,
}

/// A port in a group.
#[derive(Clone, Debug)]
pub(super) struct GroupMembership {
    pub(super) port_gid: Gid,
    pub(super) join_state: u8,
    /// Whether another port joined for it.
    pub(super) is_proxy: bool,
    /// The port that joined, to whose share it belongs.
    by: Guid,
}

/// A group.
#[derive(Clone, Debug)]
pub(super) struct MulticastGroup {
    /// Its parameters; the member is nobody.
    pub(super) record: McMemberRecord,
    is_predefined: bool,
    /// The port that made it, to whose share it belongs.
    by: Option<Guid>,
    pub(super) members: BTreeMap<Guid, GroupMembership>,
}

impl MulticastGroup {
    pub(super) fn p_key(&self) -> PKey {
        PKey(self.record.p_key)
    }

    /// Whether some member keeps it in being.
    fn is_kept(&self) -> bool {
        self.members.values().any(|member| member.join_state & McMemberRecord::KEEPS != 0)
    }
}

/// What subscribers are told of a group: that it has come into being, or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GroupNews {
    pub(super) is_there: bool,
    pub(super) mgid: Gid,
    pub(super) p_key: PKey,
}

/// All groups.
#[derive(Clone, Debug)]
pub(super) struct MulticastGroups {
    by_mgid: BTreeMap<Gid, MulticastGroup>,
    by_mlid: BTreeMap<Lid, Gid>,
    /// How many groups a port has made.
    made_by: BTreeMap<Guid, u16>,
    member_room: Shares<Guid>,
    /// LIDs whose members have changed since somebody asked.
    changed: BTreeSet<Lid>,
    news: Vec<GroupNews>,
    /// How many GIDs were made here.
    gids_made: u32,
}

impl MulticastGroups {
    /// No groups, and room for so many memberships.
    pub(super) fn new(members: usize) -> MulticastGroups {
        MulticastGroups {
            by_mgid: BTreeMap::new(),
            by_mlid: BTreeMap::new(),
            made_by: BTreeMap::new(),
            member_room: Shares::new(members),
            changed: BTreeSet::new(),
            news: Vec::new(),
            gids_made: 0,
        }
    }

    pub(super) fn get(&self, mgid: Gid) -> Option<&MulticastGroup> {
        self.by_mgid.get(&mgid)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &MulticastGroup> {
        self.by_mgid.values()
    }

    pub(super) fn counts(&self) -> GroupCounts {
        let members = self.by_mgid.values().map(|group| group.members.len()).sum();
        GroupCounts { groups: self.by_mgid.len(), members }
    }

    /// The LIDs of all groups.
    pub(super) fn mlids(&self) -> impl Iterator<Item = Lid> + '_ {
        self.by_mlid.keys().copied()
    }

    /// The highest LID of a group that has members.
    pub(super) fn highest_with_members(&self) -> Option<Lid> {
        let has_members = |mgid: &Gid| self.by_mgid.get(mgid).is_some_and(|group| !group.members.is_empty());
        self.by_mlid.iter().rev().find(|(_, mgid)| has_members(mgid)).map(|(&mlid, _)| mlid)
    }

    /// The members of the group with a LID; none if no group has it.
    pub(super) fn members(&self, mlid: Lid) -> Vec<GroupMember> {
        let group = self.by_mlid.get(&mlid).and_then(|mgid| self.by_mgid.get(mgid));
        let member = |(&port, own): (&Guid, &GroupMembership)| {
            let receives = own.join_state & McMemberRecord::RECEIVES != 0;
            GroupMember { port, receives }
        };
        group.map_or_else(Vec::new, |group| group.members.iter().map(member).collect())
    }

    /// Whether members have changed since the last call of [`MulticastGroups::take_changed`].
    pub(super) fn have_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// LIDs whose members have changed since the last call.
    pub(super) fn take_changed(&mut self) -> BTreeSet<Lid> {
        std::mem::take(&mut self.changed)
    }

    /// What happened to groups since the last call.
    pub(super) fn take_news(&mut self) -> Vec<GroupNews> {
        std::mem::take(&mut self.news)
    }

    /// All members leave.
    pub(super) fn forget_members(&mut self) {
        self.leave_where(|_| true);
    }

    fn leave_where(&mut self, leaves: impl Fn(Guid) -> bool) {
        let members =
            self.by_mgid.iter().flat_map(|(&mgid, group)| group.members.keys().map(move |&port| (mgid, port)));
        let leaving: Vec<(Gid, Guid)> = members.filter(|&(_, port)| leaves(port)).collect();
        for (mgid, port) in leaving {
            self.leave(mgid, port, u8::MAX);
        }
    }

    /// Follows the subnet: ports that are gone are members no more, and each partition has its predefined group.
    pub(super) fn follow(&mut self, directory: &Directory) {
        self.leave_where(|port| directory.by_port_guid(port).is_none());
        let Some(facts) = directory.facts().multicast else { return };
        // Half of the LIDs stay free for those that hosts make.
        let most = usize::from(facts.mlids).div_ceil(2);
        let mut keys: Vec<PKey> = directory.all_partitions().into_iter().collect();
        keys.sort_unstable_by_key(|&key| (key != PKey::DEFAULT, key));
        keys.truncate(most);
        let wanted: BTreeMap<Gid, PKey> = keys.iter().map(|&key| (broadcast(key, LINK_LOCAL), key)).collect();
        let known: Vec<Gid> = self.by_mgid.keys().copied().collect();
        for mgid in known {
            if let Some(group) = self.by_mgid.get_mut(&mgid) {
                group.is_predefined = wanted.contains_key(&mgid);
            }
            self.end_unless_kept(mgid);
        }
        for key in keys {
            let mgid = broadcast(key, LINK_LOCAL);
            if !self.by_mgid.contains_key(&mgid) {
                let record = predefined(mgid, key, facts.broadcast, directory.facts().packet_life_time);
                // One that finds no LID is not made; nor is it later, unless one becomes free.
                let _ = self.make(record, None, facts);
            }
        }
    }

    /// Makes a group with these parameters, by order of a port or predefined, and gives it a LID.
    ///
    /// # Errors
    /// The status to refuse with: no LID is free, or the port has its share of groups.
    pub(super) fn make(&mut self, record: McMemberRecord, by: Option<Guid>, facts: MulticastFacts) -> Result<(), u16> {
        let mlids = facts.mlids.min(MOST_MLIDS);
        let free = mlids.saturating_sub(u16::try_from(self.by_mlid.len()).unwrap_or(u16::MAX));
        let made = by.and_then(|port| self.made_by.get(&port)).copied().unwrap_or_default();
        // As in `shares`, but of room that follows the switches: nobody has more than is left free then.
        if by.is_some() && made >= free {
            return Err(status::NO_RESOURCES);
        }
        let mlid = self.free_mlid(record.mgid, record.p_key, mlids).ok_or(status::NO_RESOURCES)?;
        by.iter().for_each(|&port| *self.made_by.entry(port).or_default() += 1);
        let record = McMemberRecord { mlid, sl: facts.sl, ..record };
        let mgid = record.mgid;
        self.by_mlid.insert(mlid, mgid);
        let group = MulticastGroup { record, is_predefined: by.is_none(), by, members: BTreeMap::new() };
        self.by_mgid.insert(mgid, group);
        Ok(())
    }

    /// A GID for a group whose maker leaves the choice to subnet administration.
    pub(super) fn new_mgid(&mut self, scope: u8, subnet_prefix: u64) -> Gid {
        loop {
            let low = subnet_prefix << 32 | u64::from(self.gids_made);
            let high = 0xFF10_A01B_0000_0000 | u64::from(scope & 0xF) << 48 | subnet_prefix >> 32;
            self.gids_made = self.gids_made.wrapping_add(1);
            let mgid = Gid { prefix: high, guid: Guid(low) };
            if !self.by_mgid.contains_key(&mgid) {
                return mgid;
            }
        }
    }

    /// Adds these bits of JoinState to a port's, by order of another port or its own. Returns all that it has then.
    ///
    /// # Errors
    /// The status to refuse with: the port that asks has its share of memberships.
    ///
    /// # Panics
    /// There is no such group.
    pub(super) fn join(
        &mut self,
        mgid: Gid,
        (port, port_gid): (Guid, Gid),
        join_state: u8,
        by: Guid,
    ) -> Result<u8, u16> {
        let group = self.by_mgid.get_mut(&mgid).expect("the group was found, or made");
        let was_kept = group.is_kept();
        let member = match group.members.entry(port) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if !self.member_room.take(by, 1) => {
                self.end_unless_kept(mgid);
                return Err(status::NO_RESOURCES);
            }
            Entry::Vacant(free) => free.insert(GroupMembership { port_gid, join_state: 0, is_proxy: by != port, by }),
        };
        // From when a port asks itself, it is nobody else's to take out.
        member.is_proxy &= by != port;
        let before = member.join_state;
        member.join_state |= join_state;
        let after = member.join_state;
        if before == 0 || (before ^ after) & McMemberRecord::RECEIVES != 0 {
            self.changed.insert(group.record.mlid);
        }
        if !was_kept && group.is_kept() {
            self.news.push(GroupNews { is_there: true, mgid, p_key: group.p_key() });
        }
        Ok(after)
    }

    /// Takes these bits from a port's JoinState. Returns what is left; a port of which nothing is left is no member any
    /// more, and a group that nobody keeps ends.
    pub(super) fn leave(&mut self, mgid: Gid, port: Guid, join_state: u8) -> u8 {
        let Some(group) = self.by_mgid.get_mut(&mgid) else { return 0 };
        let was_kept = group.is_kept();
        let Some(member) = group.members.get_mut(&port) else { return 0 };
        let before = member.join_state;
        member.join_state &= !join_state;
        let mut after = member.join_state;
        if after == 0 {
            let by = member.by;
            group.members.remove(&port);
            self.member_room.give_back(&by, 1);
        }
        if after == 0 || (before ^ after) & McMemberRecord::RECEIVES != 0 {
            self.changed.insert(group.record.mlid);
        }
        if was_kept && !group.is_kept() {
            self.news.push(GroupNews { is_there: false, mgid, p_key: group.p_key() });
            // Those that do not keep it go with it.
            after = 0;
            self.clear(mgid);
        }
        self.end_unless_kept(mgid);
        after
    }

    fn clear(&mut self, mgid: Gid) {
        let Some(group) = self.by_mgid.get_mut(&mgid) else { return };
        for member in std::mem::take(&mut group.members).into_values() {
            self.member_room.give_back(&member.by, 1);
        }
        self.changed.insert(group.record.mlid);
    }

    /// Ends a group that nobody keeps, unless it is predefined.
    pub(super) fn end_unless_kept(&mut self, mgid: Gid) {
        let ends = self.by_mgid.get(&mgid).is_some_and(|group| !group.is_predefined && !group.is_kept());
        if !ends {
            return;
        }
        self.clear(mgid);
        let Some(group) = self.by_mgid.remove(&mgid) else { return };
        self.by_mlid.remove(&group.record.mlid);
        if let Some(made) = group.by.and_then(|port| self.made_by.get_mut(&port)) {
            *made -= 1;
        }
        self.made_by.retain(|_, made| *made > 0);
    }

    /// The LID for a group: the first to the default partition's broadcast group, another by its GID.
    fn free_mlid(&self, mgid: Gid, p_key: u16, mlids: u16) -> Option<Lid> {
        let lid = |rank: u16| Lid(Lid::FIRST_MULTICAST.0 + rank);
        let is_free = |rank: &u16| !self.by_mlid.contains_key(&lid(*rank));
        if PKey(p_key) == PKey::DEFAULT && mgid == broadcast(PKey::DEFAULT, LINK_LOCAL) && mlids > 0 && is_free(&0) {
            return Some(lid(0));
        }
        let hash = hash(mgid);
        let ends = PARTS.into_iter().map(|end| end.min(mlids)).filter(|&end| end > 1);
        let by_hash = ends.zip(0u32..).map(|(end, part)| {
            let share = hash.rotate_right(16 * part);
            1 + (share % u64::from(end - 1)) as u16
        });
        by_hash.chain(1..mlids).find(is_free).map(lid)
    }
}

/// The broadcast group of IPv4 over InfiniBand in a partition (RFC 4391, section 4).
pub(super) fn broadcast(key: PKey, scope: u8) -> Gid {
    let prefix = 0xFF10_401B_0000_0000 | u64::from(scope & 0xF) << 48 | u64::from(key.0 | PKey::FULL) << 16;
    Gid { prefix, guid: Guid(0xFFFF_FFFF) }
}

fn predefined(mgid: Gid, key: PKey, capacity: PathCapacity, packet_life_time: u8) -> McMemberRecord {
    McMemberRecord {
        mgid,
        q_key: BROADCAST_Q_KEY,
        mtu_selector: Selector::Exactly,
        mtu: capacity.mtu.into(),
        p_key: key.0,
        rate_selector: Selector::Exactly,
        rate: capacity.rate.number(),
        packet_life_time_selector: Selector::Exactly,
        packet_life_time,
        scope: LINK_LOCAL,
        join_state: McMemberRecord::FULL,
        ..McMemberRecord::default()
    }
}

/// FNV-1a, of 64 bits.
fn hash(mgid: Gid) -> u64 {
    let bytes = mgid.prefix.to_be_bytes().into_iter().chain(mgid.guid.0.to_be_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}
