//! LID assignment that keeps every port's LIDs if possible: [`assign`](super::assign) for a subnet that was managed
//! before.

use super::guid2lid::{Guid2Lid, LidRange, guid_of};
use super::{LidError, check_capacity};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, Lid, Lmc, PortNum};
use fixedbitset::FixedBitSet;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The fabric with 2^`lmc` LIDs for every end port and one for every switch. A port keeps its LIDs of the file, else
/// those that it holds, if they are aligned, sufficient, and not another port's in the file. All others get the lowest
/// free ones, end ports first, in index order. LIDs that the file has for absent ports stay reserved as long as the
/// others find room. LIDs for which a switch has no forwarding entries are not kept, if fewer than half of the ports
/// hold such and the switch is none that came.
///
/// # Errors
/// Too few unicast LIDs, or a switch whose table is too short.
pub fn assign_stable(fabric: &Fabric, lmc: Lmc, kept: &Guid2Lid) -> Result<Fabric, LidError> {
    assign_beside_data(fabric, lmc, kept, &BTreeSet::new())
}

/// Assigns LIDs like [`assign_stable`] while data flows: ports that carry data keep the LIDs that they `hold`, if
/// aligned and sufficient, whatever the file has for them and for absent ports.
///
/// # Errors
/// As [`assign_stable`].
pub fn assign_beside_data(
    fabric: &Fabric,
    lmc: Lmc,
    kept: &Guid2Lid,
    hold: &BTreeSet<PortId>,
) -> Result<Fabric, LidError> {
    let held = |&port: &PortId| LidRange::aligned(fabric.port(port).lid?, lmc_of(fabric, port, lmc).lids());
    let held: Vec<LidRange> = hold.iter().filter_map(held).collect();
    let is_free = |range: &LidRange| !held.iter().any(|held| held.meets(*range));
    let reserved: Vec<LidRange> = absentees(fabric, kept).into_iter().filter(is_free).collect();
    match assign_beside(fabric, lmc, kept, hold, &reserved) {
        // Present ports take precedence over ports that may return.
        Err(_) if !reserved.is_empty() => assign_beside(fabric, lmc, kept, hold, &[]),
        assigned => assigned,
    }
}

fn lmc_of(fabric: &Fabric, port: PortId, lmc: Lmc) -> Lmc {
    if fabric.node(fabric.port(port).node).is_switch() { Lmc::default() } else { lmc }
}

/// The LIDs of ports that are in the file but not in the fabric.
pub(super) fn absentees(fabric: &Fabric, kept: &Guid2Lid) -> Vec<LidRange> {
    let present: BTreeSet<Guid> = fabric.lid_ports().filter_map(|port| guid_of(fabric, port)).collect();
    kept.iter().filter(|(guid, _)| !present.contains(guid)).map(|(_, range)| range).collect()
}

/// Assigns LIDs like [`assign_stable`], except for reserved LIDs, which no port gets.
fn assign_beside(
    fabric: &Fabric,
    lmc: Lmc,
    kept: &Guid2Lid,
    hold: &BTreeSet<PortId>,
    reserved: &[LidRange],
) -> Result<Fabric, LidError> {
    let carrying = |port: PortId| Some(port).filter(|port| hold.contains(port));
    let was_here = |node: NodeId| {
        let own = fabric.port_at(node, PortNum::ZERO);
        own.is_some_and(|own| hold.contains(&own) || guid_of(fabric, own).is_some_and(|guid| kept.get(guid).is_some()))
    };
    let all_came = !fabric.switches().any(was_here);
    // The first LID that nobody keeps.
    let mut end = Lid::MAX_UNICAST.0 + 1;
    loop {
        let wanted = fabric.lid_ports().map(|port| (port, lmc_of(fabric, port, lmc))).collect();
        let mut assignment = Assignment::new(fabric, wanted, reserved);
        let keeps = |range: &LidRange| range.last().0 < end;
        assignment.keep(|port, lids| LidRange::aligned(fabric.port(carrying(port)?).lid?, lids).filter(keeps));
        assignment.keep(|port, lids| kept.get(guid_of(fabric, port)?)?.narrowed(lids).filter(keeps));
        assignment.keep(|port, lids| LidRange::aligned(fabric.port(port).lid?, lids).filter(keeps));
        let assigned = assignment.filled()?;
        match check_capacity(&assigned, lmc) {
            // One port with a LID beyond what switches have entries for must not keep the others from theirs. Where
            // most ports are beyond, or the switch came last, it is the switch that does not fit.
            Err(LidError::LftCapacity { at, capacity, ref beyond, .. })
                if capacity < end && 2 * beyond.len() < assigned.lid_ports().count() && (all_came || was_here(at)) =>
            {
                end = capacity;
            }
            checked => return checked.map(|()| assigned),
        }
    }
}

/// An assignment in progress.
pub(super) struct Assignment<'a> {
    fabric: &'a Fabric,
    /// Ports that need LIDs, with their least LMC: end ports in descending order of LMC, then switches.
    ports: Vec<(PortId, Lmc)>,
    given: BTreeMap<PortId, LidRange>,
    taken: FixedBitSet,
}

impl<'a> Assignment<'a> {
    /// `wanted`: the ports that need LIDs, in index order. No port gets the `reserved` ones.
    pub fn new(fabric: &'a Fabric, mut wanted: Vec<(PortId, Lmc)>, reserved: &[LidRange]) -> Assignment<'a> {
        // Blocks that go from large to small leave no gap between them.
        wanted.sort_by_key(|&(port, lmc)| (fabric.node(fabric.port(port).node).is_switch(), Reverse(lmc)));
        let mut taken = FixedBitSet::with_capacity(Lid::MAX_UNICAST.index() + 1);
        taken.insert(0);
        reserved.iter().for_each(|range| taken.insert_range(range.indices()));
        Assignment { fabric, ports: wanted, given: BTreeMap::new(), taken }
    }

    /// Gives every port without LIDs the range that `wish` returns for it and its number of LIDs, if that is free.
    pub fn keep(&mut self, wish: impl Fn(PortId, u16) -> Option<LidRange>) {
        for at in 0..self.ports.len() {
            let (port, lmc) = self.ports[at];
            if !self.given.contains_key(&port)
                && let Some(range) = wish(port, lmc.lids()).filter(|&range| self.is_free(range))
            {
                self.give(port, range);
            }
        }
    }

    /// Gives every port that still has none the lowest free range.
    pub fn filled(mut self) -> Result<Fabric, LidError> {
        // Nothing is returned, so for each size the search continues where the last one ended.
        let mut lowest = BTreeMap::new();
        for at in 0..self.ports.len() {
            let (port, lmc) = self.ports[at];
            if !self.given.contains_key(&port) {
                let range = self.lowest(lmc, lowest.get(&lmc).copied()).ok_or_else(|| self.no_room(port, lmc))?;
                lowest.insert(lmc, range);
                self.give(port, range);
            }
        }
        let block = |range: LidRange| (range.first(), range.lmc().expect("what is given away are blocks"));
        let assignment = self.given.iter().map(|(&port, &range)| (port, block(range).0, block(range).1));
        Ok(self.fabric.with_lids(assignment).expect("each range was free when it was given"))
    }

    fn give(&mut self, port: PortId, range: LidRange) {
        self.taken.insert_range(range.indices());
        self.given.insert(port, range);
    }

    fn is_free(&self, range: LidRange) -> bool {
        !self.taken.contains_any_in_range(range.indices())
    }

    /// The lowest free range for an LMC after `last`.
    fn lowest(&self, lmc: Lmc, last: Option<LidRange>) -> Option<LidRange> {
        // LIDs are never given back, so nothing below the last range of this size can be free.
        let first = last.map_or(0, |range| range.last().0 + 1);
        let bases = (first..=Lid::MAX_UNICAST.0).step_by(usize::from(lmc.lids()));
        bases.filter_map(|base| LidRange::aligned(Lid(base), lmc.lids())).find(|&range| self.is_free(range))
    }

    fn no_room(&self, port: PortId, lmc: Lmc) -> LidError {
        let taken = self.taken.count_ones(1..);
        LidError::NoRoom { port: self.fabric.describe_port(port), at: port, lids: lmc.lids(), taken }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{FabricBuilder, NodeKind};
    use proptest::prelude::*;

    /// A switch with hosts, all with GUIDs.
    fn star(hosts: u8) -> Fabric {
        star_builder(hosts, 0xC000).0.build().unwrap()
    }

    /// The same, with a port more and so many forwarding entries.
    fn star_builder(hosts: u8, lft_capacity: u16) -> (FabricBuilder, NodeId) {
        let mut builder = FabricBuilder::new();
        let switch = builder.node(NodeKind::Switch, Guid(1), hosts.saturating_add(1).min(254), "");
        builder.node_mut(switch).lft_capacity = lft_capacity;
        builder.port_mut(switch, PortNum(0)).unwrap().guid = Some(Guid(1));
        for host in 1..=hosts {
            let node = builder.node(NodeKind::Ca, Guid(0x100 + u64::from(host)), 1, "");
            builder.link((switch, PortNum(host)), (node, PortNum(1)), Default::default(), Default::default()).unwrap();
            builder.port_mut(node, PortNum(1)).unwrap().guid = Some(Guid(0x200 + u64::from(host)));
        }
        (builder, switch)
    }

    fn lids(fabric: &Fabric) -> BTreeMap<Guid, (u16, u16)> {
        let of = |port| Some((guid_of(fabric, port)?, (fabric.port(port).lid?.0, fabric.port(port).lmc.lids())));
        fabric.lid_ports().filter_map(of).collect()
    }

    fn kept(records: &[(u64, u16, u16)]) -> Guid2Lid {
        let text: String = records.iter().map(|(guid, first, last)| format!("{guid:#x} {first} {last}\n\n")).collect();
        Guid2Lid::read(text.as_bytes(), "test").unwrap()
    }

    #[test]
    fn the_file_goes_before_what_is_held_and_that_before_what_is_free() {
        let fabric = star(4);
        let port = |host: u64| fabric.port_at(fabric.by_guid(Guid(0x100 + host)).unwrap(), PortNum(1)).unwrap();
        let lmc = Lmc::masked(1);
        let held = [(port(1), Lid(20), lmc), (port(2), Lid(30), Lmc::default()), (port(3), Lid(33), lmc)];
        let fabric = fabric.with_lids(held).unwrap();
        let file = kept(&[(0x201, 40, 41), (0x204, 30, 33), (0x999, 2, 3), (1, 9, 9)]);
        let wanted = [(1, (9, 1)), (0x201, (40, 2)), (0x202, (4, 2)), (0x203, (6, 2)), (0x204, (30, 2))];
        let assigned = assign_stable(&fabric, lmc, &file).unwrap();
        // Host 2 holds a LID of host 4's in the file; host 3's is not aligned; 2 and 3 are kept for an absent port.
        assert_eq!(lids(&assigned), wanted.map(|(guid, lids)| (Guid(guid), lids)).into());
        let learnt = file.learn(&assigned);
        assert_eq!(learnt.get(Guid(0x999)), file.get(Guid(0x999)), "who is absent is remembered");
        assert_eq!(learnt.get(Guid(0x204)), LidRange::new(Lid(30), Lid(31)));
    }

    #[test]
    fn an_absent_port_gives_way_where_there_is_no_room() {
        let file = kept(&[(0x999, 1, 0xbfff)]);
        let assigned = assign_stable(&star(2), Lmc::masked(1), &file).unwrap();
        assert_eq!(lids(&assigned), [(1, (1, 1)), (0x201, (2, 2)), (0x202, (4, 2))].map(|(g, l)| (Guid(g), l)).into());
        assert_eq!(file.learn(&assigned).get(Guid(0x999)), None);
    }

    #[test]
    fn a_table_that_is_too_short_is_named() {
        let mut builder = FabricBuilder::new();
        let switch = builder.node(NodeKind::Switch, Guid(1), 1, "short");
        let node = builder.node(NodeKind::Ca, Guid(2), 1, "");
        builder.link((switch, PortNum(1)), (node, PortNum(1)), Default::default(), Default::default()).unwrap();
        builder.node_mut(switch).lft_capacity = 64;
        let fabric = builder.build().unwrap();
        let port = fabric.port_at(node, PortNum(1)).unwrap();
        let held = fabric.with_lids([(port, Lid(64), Lmc::default())]).unwrap();
        let error = assign_stable(&held, Lmc::default(), &Guid2Lid::new()).unwrap_err();
        assert!(matches!(&error, LidError::LftCapacity { switch, top: Lid(64), .. } if switch == "short"), "{error}");
    }

    /// Whether it holds that LID, carries data under it, or the file has it.
    #[test]
    fn one_lid_beyond_all_tables_is_given_up() {
        let plain = star_builder(4, 64).0.build().unwrap();
        let port = plain.port_at(plain.by_guid(Guid(0x102)).unwrap(), PortNum(1)).unwrap();
        let lmc = Lmc::masked(1);
        let holding = plain.with_lids([(port, Lid(64), lmc)]).unwrap();
        let file = kept(&[(0x202, 64, 65)]);
        let (no_file, nobody, carrying) = (Guid2Lid::new(), BTreeSet::new(), BTreeSet::from([port]));
        for (fabric, file, hold) in [
            (&holding, &no_file, &nobody),
            (&plain, &file, &nobody),
            (&holding, &no_file, &carrying),
            (&holding, &file, &carrying),
        ] {
            let assigned = assign_beside_data(fabric, lmc, file, hold).unwrap();
            let ends = [0x201, 0x202, 0x203, 0x204].map(|guid| lids(&assigned)[&Guid(guid)]);
            assert_eq!(ends, [(2, 2), (4, 2), (6, 2), (8, 2)]);
        }
    }

    /// It is the switch that does not fit then.
    #[test]
    fn nobody_is_renumbered_for_a_switch_that_came_with_a_short_table() {
        let (mut builder, switch) = star_builder(4, 0xC000);
        let came = builder.node(NodeKind::Switch, Guid(2), 4, "came");
        builder.port_mut(came, PortNum(0)).unwrap().guid = Some(Guid(2));
        builder.link((switch, PortNum(5)), (came, PortNum(1)), Default::default(), Default::default()).unwrap();
        builder.node_mut(came).lft_capacity = 64;
        let fabric = builder.build().unwrap();
        let host = (0x202, 64, 65);
        let assigned = |file: &[_]| assign_stable(&fabric, Lmc::masked(1), &kept(file));
        let error = assigned(&[host, (1, 1, 1)]).unwrap_err();
        assert!(matches!(&error, LidError::LftCapacity { at, .. } if *at == came), "{error}");
        let known = assigned(&[host, (1, 1, 1), (2, 12, 12)]).unwrap();
        assert_eq!((lids(&known)[&Guid(0x202)], lids(&known)[&Guid(2)]), ((4, 2), (12, 1)));
    }

    #[test]
    fn a_subnet_beyond_the_unicast_lids_is_refused() {
        let held: Vec<(u64, u16, u16)> =
            (0..384).map(|i| (0x10_0000 + i, 128 * i as u16, 128 * i as u16 + 127)).collect();
        let file = kept(&held[1..]);
        let fabric = star(254);
        let error = assign_beside(
            &fabric,
            Lmc::MAX,
            &file,
            &BTreeSet::new(),
            &file.iter().map(|(_, range)| range).collect::<Vec<_>>(),
        );
        assert!(matches!(&error, Err(LidError::NoRoom { lids: 128, .. })), "{error:?}");
    }

    /// The hosts that are present, out of twelve.
    fn attendance() -> impl Strategy<Value = Vec<Vec<bool>>> {
        prop::collection::vec(prop::collection::vec(any::<bool>(), 12), 1..12)
    }

    proptest! {
        /// Hosts come and go, the file is kept in between, and the LIDs that the ports hold are lost or not.
        #[test]
        fn who_returns_has_the_same_lids_and_nobody_is_disturbed(
            visits in attendance(), lmc in 0u8..4, forgets in any::<bool>(),
        ) {
            let (full, lmc) = (star(12), Lmc::masked(lmc));
            let (mut file, mut ever, mut before) = (Guid2Lid::new(), BTreeMap::new(), full.clone());
            for visit in visits {
                let gone: Vec<NodeId> = (1..=12).filter(|&host| !visit[host - 1])
                    .map(|host| full.by_guid(Guid(0x100 + host as u64)).unwrap()).collect();
                let fabric = if forgets { full.without_nodes(&gone) } else { before.without_nodes(&gone) };
                let assigned = assign_stable(&fabric, lmc, &file).unwrap();
                for (guid, (lid, count)) in lids(&assigned) {
                    prop_assert_eq!(*ever.entry(guid).or_insert((lid, count)), (lid, count), "{}", guid);
                    prop_assert_eq!(lid % count, 0);
                    prop_assert_eq!(count, if guid == Guid(1) { 1 } else { lmc.lids() });
                }
                prop_assert_eq!(lids(&assigned).len(), 1 + visit.iter().filter(|&&there| there).count());
                file = Guid2Lid::read(file.learn(&assigned).write().as_bytes(), "again").unwrap();
                if !forgets {
                    before = full.with_lids(assigned.lid_ports().map(|id| (id, assigned.port(id).lid.unwrap(), assigned.port(id).lmc))).unwrap();
                }
            }
        }

        /// Whatever the file says, the result is an assignment: no overlap, aligned, enough, and within the tables.
        #[test]
        fn any_file_gives_an_assignment(
            wild in prop::collection::btree_map(0x1feu64..0x210, (1u16..0xbff0, 0u16..9), 0..16), lmc in 0u8..8,
        ) {
            let mut text = String::new();
            let mut taken = FixedBitSet::with_capacity(0xc000);
            for (guid, (first, more)) in wild {
                let range = usize::from(first)..usize::from(first + more) + 1;
                if !taken.contains_any_in_range(range.clone()) {
                    taken.insert_range(range);
                    text += &format!("{guid:#x} {first} {}\n\n", first + more);
                }
            }
            let file = Guid2Lid::read(text.as_bytes(), "wild").unwrap();
            let (fabric, lmc) = (star(12), Lmc::masked(lmc));
            let assigned = assign_stable(&fabric, lmc, &file).unwrap();
            prop_assert!(crate::lid::suffices(&assigned, lmc));
            for (guid, range) in file.iter() {
                if let (Some(fits), Some(&(lid, _))) = (range.narrowed(lmc.lids()), lids(&assigned).get(&guid)) {
                    prop_assert_eq!(lid, fits.first().0, "who has fitting LIDs keeps them");
                }
            }
            let learnt = file.learn(&assigned);
            prop_assert_eq!(assign_stable(&assigned, lmc, &learnt).unwrap(), assigned, "a second time changes nothing");
        }
    }
}
