//! Multicast groups: who may make, join, leave and see them, by the status codes of OpenSM.

use crate::sa::bench::{Bench, records};
use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use reconfig::fabric::PortId;
use reconfig::ids::{Guid, Lid, Sl};
use reconfig::sa::{Directory, DirectoryFacts, GroupCounts, MulticastFacts, PathCapacity, PathRate, SaLimits};
use reconfig::transport::Datagram;
use reconfig::wire::sa::*;
use reconfig::wire::*;
use std::sync::Arc;

use McMemberRecord as M;

const LEVEL: u8 = 6;
const ROOM: u16 = 64;
/// What a request to join names, and what one to make a group names besides.
const JOINS: [u32; 3] = [M::MGID, M::PORT_GID, M::JOIN_STATE];
const MAKES: [u32; 5] = [M::Q_KEY, M::TRAFFIC_CLASS, M::P_KEY, M::FLOW_LABEL, M::SL];
const REFUSED: Result<McMemberRecord, u16> = Err(status::REQUEST_INVALID);

fn broadcast(key: u16) -> Gid {
    Gid { prefix: 0xFF12_401B_0000_0000 | u64::from(key) << 16, guid: Guid(0xFFFF_FFFF) }
}

fn group(number: u64) -> Gid {
    Gid { prefix: 0xFF12_AAAA_0000_0000, guid: Guid(number) }
}

fn groups(mlids: u16) -> MulticastFacts {
    MulticastFacts { sl: Sl::masked(LEVEL), mlids, broadcast: MulticastFacts::BROADCAST }
}

fn facts() -> DirectoryFacts {
    let subnet = bring_up(&bundled("ghost-cycle"), 1, false);
    let (fabric, tables) = (Arc::new(subnet.fabric), Arc::new(subnet.tables));
    let model = DirectoryFacts::modelled(fabric, tables, subnet.sm, Mtu::B2048);
    DirectoryFacts { multicast: Some(groups(ROOM)), ..model }
}

fn bench() -> Bench {
    Bench::over(facts(), SaLimits::default())
}

/// A request of a host for itself: to make a group, or join it.
fn record(bench: &Bench, port: PortId, mgid: Gid) -> McMemberRecord {
    let port_gid = bench.directory.gid(port);
    M { mgid, port_gid, join_state: M::FULL, p_key: 0xFFFF, q_key: 7, ..M::default() }
}

fn ask(
    bench: &mut Bench,
    from: PortId,
    method: Method,
    mask: &[u32],
    record: &McMemberRecord,
) -> Result<McMemberRecord, u16> {
    let message = bench.ask_from(from, SaMad::request(method, ComponentMask::of(mask), record))?;
    Ok(M::decode(&message.data[..].try_into().expect("one MAD")))
}

fn set(bench: &mut Bench, host: usize, more: &[u32], record: &McMemberRecord) -> Result<McMemberRecord, u16> {
    let from = bench.host(host);
    ask(bench, from, Method::Set, &[&JOINS, more].concat(), record)
}

fn delete(bench: &mut Bench, host: usize, record: &McMemberRecord) -> Result<McMemberRecord, u16> {
    let from = bench.host(host);
    ask(bench, from, Method::Delete, &JOINS, record)
}

fn own(bench: &Bench, host: usize, mgid: Gid) -> McMemberRecord {
    record(bench, bench.host(host), mgid)
}

#[test]
fn every_partition_has_the_broadcast_group_of_ipoib_and_it_stays() {
    let mut facts = facts();
    let host = facts.fabric.end_ports().nth(2).expect("hosts");
    facts.p_keys[host.index()] = vec![0xFFFF, 0x0123];
    let mut bench = Bench::over(facts, SaLimits::default());
    let from = bench.host(2);
    let request = SaMad::request(Method::GetTable, ComponentMask::NONE, &M::default());
    let all: Vec<McMemberRecord> = records(&bench.ask_from(from, request).expect("a table"));
    assert_eq!(all.iter().map(|own| own.mgid).collect::<Vec<_>>(), [broadcast(0x8123), broadcast(0xFFFF)]);
    let default = &all[1];
    let held = (default.mlid, default.q_key, default.mtu, default.rate, default.sl.get(), default.p_key, default.scope);
    assert_eq!(held, (Lid(0xC000), 0x0B1B, 4, 3, LEVEL, 0xFFFF, 2));
    assert_ne!(all[0].mlid, default.mlid);
    let member = own(&bench, 2, broadcast(0xFFFF));
    assert_eq!(set(&mut bench, 2, &[], &member).map(|own| own.join_state), Ok(M::FULL));
    assert_eq!(delete(&mut bench, 2, &member).map(|own| own.join_state), Ok(0));
    assert_eq!(bench.sa.group_counts(), GroupCounts { groups: 2, members: 0 });
}

/// As with `ipoib, mtu=5, rate=12` of OpenSM's `partitions.conf`.
#[test]
fn predefined_groups_have_the_mtu_and_rate_that_were_chosen_and_ports_that_lack_them_are_refused() {
    let fastest: PathRate = "56".parse().expect("a rate");
    for (mtu, rate, joins) in [
        (Mtu::B2048, PathRate::SDR_4X, true),
        (Mtu::B1024, PathRate::SDR_4X, true),
        (Mtu::B4096, PathRate::SDR_4X, false),
        (Mtu::B2048, fastest, true),
        (Mtu::B2048, "1200".parse().expect("a rate"), false),
    ] {
        let chosen = MulticastFacts { broadcast: PathCapacity { mtu, rate }, ..groups(ROOM) };
        let mut bench = Bench::over(DirectoryFacts { multicast: Some(chosen), ..facts() }, SaLimits::default());
        let (from, asked) = (bench.host(0), own(&bench, 0, broadcast(0xFFFF)));
        let request = SaMad::request(Method::GetTable, ComponentMask::NONE, &M::default());
        let all: Vec<McMemberRecord> = records(&bench.ask_from(from, request).expect("a table"));
        assert_eq!((all[0].mtu, all[0].rate), (mtu.into(), rate.number()));
        let joined = set(&mut bench, 0, &[], &asked).map(|own| own.join_state);
        assert_eq!(joined, if joins { Ok(M::FULL) } else { REFUSED.map(|own| own.join_state) }, "{mtu:?}, {rate:?}");
    }
    assert_eq!(["256", "2048", "4096"].map(str::parse), [Mtu::B256, Mtu::B2048, Mtu::B4096].map(Ok));
    assert!(["0", "8192", "4k", ""].iter().all(|text| text.parse::<Mtu>().is_err()));
    let error = "11".parse::<PathRate>().expect_err("there is no such rate");
    assert!(error.contains("2.5, 5, 10, 14"), "{error}");
}

#[test]
fn a_group_is_made_by_a_full_member_that_names_all_it_must() {
    let mut bench = bench();
    let new = own(&bench, 0, group(1));
    for left_out in MAKES {
        let mask: Vec<u32> = MAKES.into_iter().filter(|&component| component != left_out).collect();
        assert_eq!(set(&mut bench, 0, &mask, &new), Err(status::INSUFFICIENT_COMPONENTS), "{left_out}");
    }
    let from = bench.host(0);
    for left_out in JOINS {
        let mask: Vec<u32> = JOINS.into_iter().chain(MAKES).filter(|&component| component != left_out).collect();
        let refused = Err(status::INSUFFICIENT_COMPONENTS);
        assert_eq!(ask(&mut bench, from, Method::Set, &mask, &new), refused, "{left_out}");
    }
    for join_state in [0, M::NON, M::SEND_ONLY_NON] {
        assert_eq!(set(&mut bench, 0, &MAKES, &M { join_state, ..new.clone() }), REFUSED, "{join_state}");
    }
    let made = set(&mut bench, 0, &MAKES, &new).expect("it is made");
    // The level is ours, whatever was asked for.
    assert_eq!((made.sl.get(), made.mtu, made.scope, made.join_state), (LEVEL, 4, 2, M::FULL));
    assert!((0xC001..0xC000 + ROOM).contains(&made.mlid.0), "{}", made.mlid);
    let second = own(&bench, 1, group(1));
    assert_eq!(set(&mut bench, 1, &[], &second).map(|own| own.mlid), Ok(made.mlid));
}

#[test]
fn gids_that_nobody_may_choose_are_refused_and_one_is_made_for_whoever_leaves_it_open() {
    let mut bench = bench();
    let bad = [
        Gid { prefix: 0xEF12_AAAA_0000_0000, guid: Guid(1) },
        Gid { prefix: 0xFF22_AAAA_0000_0000, guid: Guid(1) },
        Gid { prefix: 0xFF12_A01B_0000_0000, guid: Guid(1) },
        // One of IPoIB in a partition without its broadcast group.
        Gid { prefix: 0xFF12_401B_9999_0000, guid: Guid(1) },
    ];
    for mgid in bad {
        let asked = own(&bench, 0, mgid);
        assert_eq!(set(&mut bench, 0, &MAKES, &asked), REFUSED, "{mgid}");
    }
    let made: Vec<Gid> = (0..2)
        .map(|_| {
            let asked = own(&bench, 0, Gid::default());
            set(&mut bench, 0, &MAKES, &asked).expect("it is made").mgid
        })
        .collect();
    assert!(made[0] != made[1] && made.iter().all(|mgid| mgid.prefix >> 32 == 0xFF12_A01B), "{made:?}");
    // A group of IPoIB is like its broadcast group.
    let like = M { q_key: 0x0B1B, ..own(&bench, 0, Gid { guid: Guid(1), ..broadcast(0xFFFF) }) };
    assert_eq!(set(&mut bench, 0, &MAKES, &M { q_key: 1, ..like.clone() }), REFUSED);
    assert!(set(&mut bench, 0, &MAKES, &like).is_ok());
}

#[test]
fn mtu_and_rate_are_those_that_a_request_allows_and_a_port_has() {
    let mut bench = bench();
    let new = own(&bench, 0, group(0));
    let most = set(&mut bench, 0, &MAKES, &new).expect("it is made");
    let cases = [
        (Selector::Exactly, 3, Some(3)),
        (Selector::Exactly, 5, None),
        (Selector::Above, 3, Some(4)),
        (Selector::Above, 4, None),
        (Selector::Below, 3, Some(2)),
        (Selector::Below, 5, Some(4)),
        (Selector::Below, 1, None),
        (Selector::Most, 9, Some(4)),
    ];
    for (number, (mtu_selector, mtu, held)) in (1..).zip(cases) {
        let asked = M { mtu_selector, mtu, ..own(&bench, 0, group(number)) };
        let mask = [&MAKES[..], &[M::MTU_SELECTOR, M::MTU]].concat();
        let made = set(&mut bench, 0, &mask, &asked).map(|own| own.mtu).ok();
        assert_eq!(made, held, "{mtu_selector:?} {mtu}");
    }
    for (number, (rate_selector, rate, is_made)) in
        (20..).zip([(Selector::Exactly, 2, true), (Selector::Exactly, 24, false), (Selector::Above, most.rate, false)])
    {
        let asked = M { rate_selector, rate, ..own(&bench, 0, group(number)) };
        let mask = [&MAKES[..], &[M::RATE_SELECTOR, M::RATE]].concat();
        assert_eq!(set(&mut bench, 0, &mask, &asked).is_ok(), is_made, "{rate_selector:?} {rate}");
    }
    // Whoever joins must take what the group has, and be able to.
    let joins = M { mtu_selector: Selector::Above, mtu: 4, ..own(&bench, 1, group(0)) };
    assert_eq!(set(&mut bench, 1, &[M::MTU_SELECTOR, M::MTU], &joins), REFUSED);
    let mut facts = facts();
    let slow = facts.fabric.end_ports().nth(1).expect("hosts");
    facts.ports[slow.index()].as_mut().expect("known").neighbour_mtu = Mtu::B1024;
    let mut bench = Bench::over(facts, SaLimits::default());
    let asked = own(&bench, 1, broadcast(0xFFFF));
    assert_eq!(set(&mut bench, 1, &[], &asked), REFUSED);
}

#[test]
fn what_a_request_to_join_names_is_what_the_group_has_but_for_the_level() {
    let mut bench = bench();
    let asked = M { traffic_class: 3, flow_label: 4, hop_limit: 5, ..own(&bench, 0, group(1)) };
    set(&mut bench, 0, &[&MAKES[..], &[M::HOP_LIMIT]].concat(), &asked).expect("it is made");
    let joins = M { port_gid: bench.directory.gid(bench.host(1)), ..asked };
    let differ = [
        (M::Q_KEY, M { q_key: 9, ..joins.clone() }),
        (M::P_KEY, M { p_key: 0x8001, ..joins.clone() }),
        (M::P_KEY, M { p_key: 0x8000, ..joins.clone() }),
        (M::TRAFFIC_CLASS, M { traffic_class: 9, ..joins.clone() }),
        (M::FLOW_LABEL, M { flow_label: 9, ..joins.clone() }),
        (M::HOP_LIMIT, M { hop_limit: 9, ..joins.clone() }),
    ];
    for (component, record) in differ {
        assert_eq!(set(&mut bench, 1, &[component], &record), REFUSED, "{component}");
    }
    assert_eq!(set(&mut bench, 1, &[], &M { join_state: 0, ..joins.clone() }), REFUSED);
    let other_level = M { sl: Sl::masked(1), ..joins };
    assert_eq!(set(&mut bench, 1, &[M::SL], &other_level).map(|own| own.sl.get()), Ok(LEVEL));
}

#[test]
fn join_states_add_up_and_a_group_ends_with_the_last_that_keeps_it() {
    let mut bench = bench();
    let first = own(&bench, 0, group(1));
    let mlid = set(&mut bench, 0, &MAKES, &first).expect("it is made").mlid;
    let more = M { join_state: M::SEND_ONLY_NON, ..first.clone() };
    assert_eq!(set(&mut bench, 0, &[], &more).map(|own| own.join_state), Ok(M::FULL | M::SEND_ONLY_NON));
    let second = M { join_state: M::NON, ..own(&bench, 1, group(1)) };
    assert_eq!(set(&mut bench, 1, &[], &second).map(|own| own.join_state), Ok(M::NON));
    assert_eq!(bench.sa.group_members(mlid).iter().filter(|own| own.receives).count(), 2);
    // Bits that it has not, or none: nothing is left by that.
    for join_state in [0, M::NON, M::FULL | M::NON] {
        assert_eq!(delete(&mut bench, 0, &M { join_state, ..first.clone() }), REFUSED, "{join_state}");
    }
    for (host, mgid) in [(0, group(2)), (2, group(1))] {
        let asked = own(&bench, host, mgid);
        assert_eq!(delete(&mut bench, host, &asked), REFUSED);
    }
    assert_eq!(delete(&mut bench, 0, &more).map(|own| own.join_state), Ok(M::FULL));
    // The last full member goes, and the other one with it.
    assert_eq!(delete(&mut bench, 0, &first).map(|own| own.join_state), Ok(0));
    assert_eq!(bench.sa.group_counts(), GroupCounts { groups: 1, members: 0 });
    assert_eq!((bench.sa.group_members(mlid), bench.sa.take_changed_groups()), (vec![], [mlid].into()));
}

#[test]
fn a_membership_is_its_own_ports_to_change_and_one_by_proxy_anybodys_in_the_partition() {
    let mut bench = bench();
    let theirs = own(&bench, 1, broadcast(0xFFFF));
    assert_eq!(set(&mut bench, 1, &[], &theirs).map(|own| own.proxy_join), Ok(false));
    assert_eq!(delete(&mut bench, 0, &theirs), REFUSED);
    assert_eq!(set(&mut bench, 0, &[], &theirs), REFUSED);
    let by_proxy = own(&bench, 2, broadcast(0xFFFF));
    assert_eq!(set(&mut bench, 0, &[], &by_proxy).map(|own| own.proxy_join), Ok(true));
    assert!(delete(&mut bench, 3, &by_proxy).is_ok());
    // From when a port asks itself, the membership is its own.
    assert_eq!(set(&mut bench, 0, &[], &by_proxy).map(|own| own.proxy_join), Ok(true));
    assert_eq!(set(&mut bench, 2, &[], &by_proxy).map(|own| own.proxy_join), Ok(false));
    assert_eq!(delete(&mut bench, 3, &by_proxy), REFUSED);
    let nobody = M { port_gid: Gid { guid: Guid(0xDEAD), ..by_proxy.port_gid }, ..by_proxy.clone() };
    assert_eq!(set(&mut bench, 0, &[], &nobody), REFUSED);
    let elsewhere = M { port_gid: Gid { prefix: 0xFEC0_0000_0000_0001, ..by_proxy.port_gid }, ..by_proxy };
    assert_eq!(set(&mut bench, 0, &[], &elsewhere), Err(status::INVALID_GID));
    assert_eq!(delete(&mut bench, 0, &elsewhere), Err(status::INVALID_GID));
}

/// Hosts read there whether they may join as members that only send.
#[test]
fn the_class_says_that_groups_are_served_where_they_are() {
    let without = DirectoryFacts { multicast: None, ..facts() };
    for (facts, serves) in [(facts(), true), (without, false)] {
        let mut bench = Bench::over(facts, SaLimits::default());
        let mad = SaMad::new(Method::Get, SaAttributeId::ClassPortInfo, ComponentMask::NONE, [0; SA_DATA_SIZE]);
        let answers = bench.sa.answer(&bench.datagram(&mad), 0).unwrap();
        let info = ClassPortInfo::from_front(&SaMad::decode(&answers[0].bytes).unwrap().data);
        let said = (info.capability_mask >> 9 & 1 == 1, info.capability_mask2 >> 12 & 1 == 1);
        assert_eq!(said, (serves, serves));
    }
}

#[test]
fn only_members_of_a_partition_join_and_see_its_groups_limited_ones_too() {
    let mut facts = facts();
    let hosts: Vec<PortId> = facts.fabric.end_ports().take(3).collect();
    facts.p_keys[hosts[0].index()] = vec![0xFFFF, 0x8005];
    facts.p_keys[hosts[1].index()] = vec![0xFFFF, 0x0005];
    let mut bench = Bench::over(facts, SaLimits::default());
    let joined: Vec<bool> = (0..3)
        .map(|host| {
            let asked = own(&bench, host, broadcast(0x8005));
            set(&mut bench, host, &[], &asked).is_ok()
        })
        .collect();
    assert_eq!(joined, [true, true, false]);
    for (host, sees) in [(0, true), (1, true), (2, false)] {
        let request =
            SaMad::request(Method::GetTable, ComponentMask::of(&[M::MGID]), &own(&bench, 0, broadcast(0x8005)));
        let from = bench.host(host);
        let found: Vec<McMemberRecord> = records(&bench.ask_from(from, request).expect("a table"));
        assert_eq!(found.len() == 1, sees, "host {host}");
    }
}

#[test]
fn who_is_a_member_is_shown_to_the_trusted_alone() {
    let mut bench = bench();
    for host in [1, 2] {
        let asked = own(&bench, host, broadcast(0xFFFF));
        set(&mut bench, host, &[], &asked).expect("it joins");
    }
    let mgid = own(&bench, 0, broadcast(0xFFFF));
    let stranger: Vec<McMemberRecord> = bench.table(&[M::MGID], &mgid).expect("a table");
    assert_eq!(stranger.iter().map(|own| (own.port_gid, own.join_state)).collect::<Vec<_>>(), [(Gid::default(), 0)]);
    let trusted: Vec<McMemberRecord> = bench.table_by(ComponentMask::of(&[M::MGID]), &mgid, 1).expect("a table");
    let mut members: Vec<Gid> = trusted.iter().map(|own| own.port_gid).collect();
    members.sort();
    let mut wanted = [1, 2].map(|host| bench.directory.gid(bench.host(host)));
    wanted.sort();
    assert_eq!(members, wanted);
    let one = bench.get(&[M::MLID], &M { mlid: Lid(0xC000), ..M::default() });
    assert_eq!(one.map(|own| own.mgid), Ok(broadcast(0xFFFF)));
    assert_eq!(bench.get(&[M::MLID], &M { mlid: Lid(0xC123), ..M::default() }), Err(status::NO_RECORDS));
}

/// One port makes no more groups than it leaves room for, and takes no more memberships; what ends is free again.
#[test]
fn a_port_that_hoards_groups_leaves_room_for_others() {
    let mut bench = Bench::over(facts(), SaLimits { memberships: 200, ..SaLimits::default() });
    let made = |bench: &mut Bench, host: usize, numbers: std::ops::Range<u64>| {
        let is_made = |&number: &u64| {
            let asked = own(bench, host, group(number));
            set(bench, host, &MAKES, &asked).is_ok()
        };
        numbers.filter(is_made).count()
    };
    // One LID is the broadcast group's.
    assert_eq!(made(&mut bench, 0, 0..64), 32);
    assert_eq!(made(&mut bench, 1, 100..164), 16);
    let gone = own(&bench, 0, group(0));
    assert!(delete(&mut bench, 0, &gone).is_ok());
    assert_eq!(made(&mut bench, 2, 200..264), 8);
    let full = own(&bench, 0, group(300));
    assert_eq!(set(&mut bench, 0, &MAKES, &full), Err(status::NO_RESOURCES));
    let mut small = Bench::over(facts(), SaLimits { memberships: 2, ..SaLimits::default() });
    assert_eq!(made(&mut small, 0, 0..4), 1);
    assert_eq!(small.sa.group_counts(), GroupCounts { groups: 2, members: 1 }, "none is left without a member");
}

#[test]
fn the_same_group_gets_the_same_lid_whoever_else_came_before() {
    let lids = |numbers: &[u64]| -> Vec<(u64, Lid)> {
        let mut bench = Bench::over(DirectoryFacts { multicast: Some(groups(4096)), ..facts() }, SaLimits::default());
        let mut lid = |&number: &u64| {
            let asked = own(&bench, 0, group(number));
            (number, set(&mut bench, 0, &MAKES, &asked).expect("it is made").mlid)
        };
        let mut lids: Vec<(u64, Lid)> = numbers.iter().map(&mut lid).collect();
        lids.sort();
        lids
    };
    let forward: Vec<u64> = (0..60).collect();
    let backward: Vec<u64> = (0..60).rev().collect();
    let (one, other) = (lids(&forward), lids(&backward));
    let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
    assert!(same >= 45, "{same} of 60");
    // Where there is little, it is near the beginning of the table.
    assert!(one.iter().filter(|(_, lid)| lid.0 < 0xC100).count() >= 45);
}

#[test]
fn subscribers_of_the_partition_are_told_of_groups_that_come_and_end() {
    let mut facts = facts();
    let hosts: Vec<PortId> = facts.fabric.end_ports().take(3).collect();
    facts.p_keys[hosts[2].index()] = vec![0x8007];
    let mut bench = Bench::over(facts, SaLimits::default());
    for host in [1, 2] {
        let info = InformInfo {
            is_generic: 1,
            subscribe: 1,
            lid_range_begin: InformInfo::ANY_LID,
            notice_type: InformInfo::ANY,
            trap_number: InformInfo::ANY,
            producer: InformInfo::ANY_PRODUCER,
            ..InformInfo::default()
        };
        let request = SaMad::new(Method::Set, SaAttributeId::InformInfo, ComponentMask::NONE, info.encode());
        let from = bench.host(host);
        bench.ask_from(from, request).expect("subscribed");
    }
    let member = own(&bench, 0, group(1));
    set(&mut bench, 0, &MAKES, &member).expect("it is made");
    delete(&mut bench, 0, &member).expect("it leaves");
    let told = bench.sa.wake(bench.now_ns);
    let lid = bench.directory.base_lid(bench.host(1));
    let about = |datagram: &Datagram| {
        let mad = SaMad::decode(&datagram.bytes).expect("a report");
        (bench.directory.fabric().lid_owner(datagram.lid), Report::decode(&mad.data).notice.trap())
    };
    let owner = lid.and_then(|lid| bench.directory.fabric().lid_owner(lid));
    let wanted = [Trap::GroupMade { mgid: group(1) }, Trap::GroupEnded { mgid: group(1) }].map(|trap| (owner, trap));
    assert_eq!(told.iter().map(about).collect::<Vec<_>>(), wanted);
}

/// Ports that are gone are members no more.
#[test]
fn a_member_that_leaves_the_subnet_is_removed() {
    let mut bench = bench();
    let gone = bench.host(3);
    let asked = own(&bench, 3, group(1));
    let mlid = set(&mut bench, 3, &MAKES, &asked).expect("it is made").mlid;
    bench.sa.take_changed_groups();
    let facts = bench.directory.facts().clone();
    let fabric = facts.fabric.without_nodes(&[facts.fabric.port(gone).node]);
    let directory = Directory::new(DirectoryFacts { fabric: Arc::new(fabric), ..facts }).expect("whole");
    bench.sa.set_directory(Arc::new(directory), 0);
    assert_eq!(bench.sa.group_counts(), GroupCounts { groups: 1, members: 0 });
    assert_eq!(bench.sa.take_changed_groups(), [mlid].into());
}

#[test]
fn without_a_level_for_them_there_are_no_groups() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let asked = own(&bench, 0, broadcast(0xFFFF));
    let refused = Err(status::UNSUPPORTED_METHOD_ATTRIBUTE);
    assert_eq!(set(&mut bench, 0, &MAKES, &asked), refused);
    assert_eq!(delete(&mut bench, 0, &asked), refused);
    assert_eq!(bench.table::<McMemberRecord>(&[], &asked).map(|_| asked.clone()), refused);
    let told = bench.sa.take_events();
    assert_eq!(told.len(), 1, "once: {told:?}");
}
