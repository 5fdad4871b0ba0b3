//! Records and paths from bundled fabrics.

use crate::sa::bench::Bench;
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::ids::{Half, Lid, PortNum, Sl};
use reconfig::sa::{Directory, DirectoryError, DirectoryFacts, Sa, SaLimits};
use reconfig::wire::sa::*;
use reconfig::wire::*;
use std::sync::Arc;

const FABRICS: [&str; 3] = ["ghost-cycle", "fat-tree-4-2", "ring-8"];

fn fabrics() -> Vec<Bench> {
    FABRICS.into_iter().map(|name| Bench::new(name, 2)).collect()
}

#[test]
fn every_attribute_lists_what_the_fabric_has() {
    for mut bench in fabrics() {
        let fabric = bench.directory.facts().fabric.clone();
        let (owners, switches) = (fabric.lid_ports().count(), fabric.switches().count());
        assert_eq!(bench.table(&[], &NodeRecord::default()).unwrap().len(), owners);
        assert_eq!(bench.table(&[], &SwitchInfoRecord::default()).unwrap().len(), switches);
        assert_eq!(bench.table(&[], &LinkRecord::default()).unwrap().len(), 2 * fabric.links().count());
        let of_switches: usize = fabric.switches().map(|switch| fabric.ports_of(switch).count()).sum();
        assert_eq!(
            bench.table(&[], &PortInfoRecord::default()).unwrap().len(),
            of_switches + fabric.end_ports().count()
        );
        assert_eq!(bench.table(&[], &GuidInfoRecord::default()).unwrap().len(), owners);
        assert_eq!(bench.table(&[], &SmInfoRecord::default()).unwrap().len(), 1);
        let blocks = bench.table(&[], &LftRecord::default()).unwrap();
        for block in &blocks {
            let switch = fabric.port(fabric.lid_owner(block.lid).unwrap()).node;
            assert_eq!(block.table.0, bench.directory.facts().tables.lfts[switch.index()].block(block.block));
        }
        assert_eq!(blocks.len(), switches * (fabric.max_lid().unwrap().index() / 64 + 1));
    }
}

#[test]
fn a_record_is_found_by_any_lid_of_its_port_and_names_the_base() {
    let mut bench = Bench::new("ghost-cycle", 2);
    let port = bench.host(3);
    let base = bench.directory.base_lid(port).unwrap();
    for lid in (base.0..base.0 + 4).map(Lid) {
        let record = bench.get(&[NodeRecord::LID], &NodeRecord { lid, ..Default::default() }).unwrap();
        assert_eq!((record.lid, record.info.port_guid), (base, bench.directory.guid(port)));
        let asked = PortInfoRecord { lid, ..Default::default() };
        assert_eq!(bench.get(&[PortInfoRecord::LID], &asked).unwrap().info.lid, base);
    }
    let nobody = NodeRecord { lid: Lid(0xBFFF), ..Default::default() };
    assert_eq!(bench.get(&[NodeRecord::LID], &nobody), Err(status::NO_RECORDS));
    assert_eq!(bench.table(&[NodeRecord::LID], &nobody), Ok(vec![]));
    assert_eq!(bench.get(&[], &nobody), Err(status::TOO_MANY_RECORDS));
}

/// Every field of a record, asked for alone, finds it; changed in the request, it does not. LIDs apart: see above.
#[test]
fn a_component_counts_only_with_its_bit() {
    fn each<R: Record + Clone>(bench: &mut Bench, record: &R, but: &[u32]) {
        for (bit, component) in (0u32..).zip(R::COMPONENTS).filter(|(bit, _)| !but.contains(bit)) {
            let mut data = record.to_data();
            let selects = |bench: &mut Bench, data: &[u8; SA_DATA_SIZE]| {
                let found = bench.table(&[bit], &R::from_data(data)).unwrap();
                found.iter().any(|found| found.to_data() == record.to_data())
            };
            let survives = |data: &[u8; SA_DATA_SIZE]| R::from_data(data).to_data() == *data;
            assert!(selects(bench, &data), "component {bit}");
            let last = component.offset + component.width - 1;
            data[last / 8] ^= 0x80 >> (last % 8);
            assert!(!survives(&data) || !selects(bench, &data), "component {bit} changed");
        }
    }
    let mut bench = Bench::new("ghost-cycle", 1);
    let lid = bench.directory.base_lid(bench.host(2)).unwrap();
    let node = bench.get(&[0], &NodeRecord { lid, ..Default::default() }).unwrap();
    each(&mut bench, &node, &[NodeRecord::LID]);
    let port = bench.get(&[0], &PortInfoRecord { lid, ..Default::default() }).unwrap();
    each(&mut bench, &port, &[PortInfoRecord::LID, PortInfoRecord::OPTIONS]);
    let links = bench.table(&[LinkRecord::FROM_LID], &LinkRecord { from_lid: lid, ..Default::default() }).unwrap();
    each(&mut bench, &links[0], &[LinkRecord::FROM_LID, LinkRecord::TO_LID]);
    let switch = bench.directory.base_lid(bench.switch(1)).unwrap();
    let info = bench.get(&[0], &SwitchInfoRecord { lid: switch, ..Default::default() }).unwrap();
    each(&mut bench, &info, &[]);
    let block = bench.get(&[0, 1], &LftRecord { lid: switch, ..Default::default() }).unwrap();
    each(&mut bench, &block, &[]);
}

#[test]
fn capabilities_select_exactly_or_at_least() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let info = PortInfo { capability_mask: capability::IS_SM, ..PortInfo::default() };
    let asked = PortInfoRecord { info, ..Default::default() };
    let mask = ComponentMask::of(&[PortInfoRecord::CAPABILITY_MASK]);
    let exactly = SaMad::request(Method::GetTable, mask, &asked);
    let at_least = SaMad { modifier: PortInfoRecord::MATCH_CAPABILITIES, ..exactly.clone() };
    let mut ask = |mad| crate::sa::bench::records::<PortInfoRecord>(&bench.ask(mad).unwrap());
    let (found, none) = (ask(at_least), ask(exactly));
    let sm = bench.directory.base_lid(bench.directory.facts().sm).unwrap();
    assert_eq!(found.iter().map(|record| record.lid).collect::<Vec<_>>(), [sm]);
    assert_eq!(none, []);
}

#[test]
fn keys_are_shown_to_those_who_have_one() {
    let mut facts = Bench::new("ghost-cycle", 1).directory.facts().clone();
    facts.ports.iter_mut().flatten().for_each(|info| info.m_key = 0xAB);
    let mut bench = Bench::over(facts, SaLimits { sm_key: 9, ..SaLimits::default() });
    let key = |bench: &mut Bench, sm_key| {
        bench.table_by(ComponentMask::NONE, &PortInfoRecord::default(), sm_key).unwrap()[0].info.m_key
    };
    assert_eq!((key(&mut bench, 0), key(&mut bench, 9)), (0, 0xAB));
    let table = |bench: &mut Bench, sm_key| bench.table_by(ComponentMask::NONE, &PKeyTableRecord::default(), sm_key);
    assert_eq!(table(&mut bench, 0), Err(status::REQUEST_INVALID));
    assert!(table(&mut bench, 9).unwrap().iter().all(|record| record.table.keys[..2] == [0xFFFF, 0]));
    let stranger = SaMad { sm_key: 8, ..SaMad::request(Method::Get, ComponentMask::NONE, &NodeRecord::default()) };
    assert_eq!(bench.sa.answer(&bench.datagram(&stranger), 0), Some(vec![]));
    assert_eq!(bench.sa.take_events().len(), 1);
}

const PAIR: [u32; 2] = [PathRecord::SGID, PathRecord::DGID];

fn pair(bench: &Bench, from: reconfig::fabric::PortId, to: reconfig::fabric::PortId) -> PathRecord {
    PathRecord { sgid: bench.directory.gid(from), dgid: bench.directory.gid(to), ..PathRecord::default() }
}

#[test]
fn paths_are_those_of_the_active_half() {
    for mut bench in fabrics() {
        let (from, to) = (bench.host(0), bench.host(5));
        let asked = pair(&bench, from, to);
        for half in [Half::Lower, Half::Upper] {
            bench.sa.half_moved(half);
            let (slids, dlids) = (bench.lids(from, half), bench.lids(to, half));
            let path = bench.get(&PAIR, &asked).unwrap();
            assert_eq!((path.slid, path.dlid, Half::of_sl(path.sl)), (slids[0], dlids[0], half));
            assert_eq!((path.p_key, path.reversible, path.mtu, path.hop_limit), (0xFFFF, true, Mtu::B2048.into(), 0));
            let all = bench.table(&PAIR, &asked).unwrap();
            let lids: Vec<_> = all.iter().map(|path| (path.slid, path.dlid)).collect();
            assert_eq!(lids, slids.iter().copied().zip(dlids.iter().copied()).collect::<Vec<_>>());
            let one = PathRecord { numb_path: 1, ..asked.clone() };
            assert_eq!(bench.table(&[PAIR[0], PAIR[1], PathRecord::NUMB_PATH], &one).unwrap(), [path]);
        }
    }
}

#[test]
fn a_lid_of_the_retired_half_opens_no_path_but_the_base_lid_names_its_port() {
    let mut bench = Bench::new("ghost-cycle", 2);
    let (from, to) = (bench.host(0), bench.host(5));
    bench.sa.half_moved(Half::Upper);
    let (old, new) = (bench.lids(to, Half::Lower), bench.lids(to, Half::Upper));
    let to_lid = |dlid| PathRecord { dlid, sgid: bench.directory.gid(from), ..PathRecord::default() };
    let asked: Vec<PathRecord> = old.iter().chain(&new).map(|&lid| to_lid(lid)).collect();
    let mask = [PathRecord::SGID, PathRecord::DLID];
    let answers = asked.iter().map(|asked| bench.get(&mask, asked).map(|path| path.dlid)).collect::<Vec<_>>();
    assert_eq!(answers, [Ok(new[0]), Err(status::NO_RECORDS), Ok(new[0]), Ok(new[1])]);
    // A pinned end takes the SLID of its own rank first.
    let path = bench.get(&mask, &asked[3]).unwrap();
    assert_eq!(path.slid, bench.lids(from, Half::Upper)[1]);
}

#[test]
fn switches_have_one_lid_and_the_half_is_in_the_service_level() {
    let mut bench = Bench::new("ghost-cycle", 1);
    bench.sa.half_moved(Half::Upper);
    let (host, switch) = (bench.host(0), bench.switch(3));
    let there = bench.get(&PAIR, &pair(&bench, host, switch)).unwrap();
    let back = bench.get(&PAIR, &pair(&bench, switch, host)).unwrap();
    assert_eq!((there.slid, there.dlid), (back.dlid, back.slid));
    assert_eq!((there.dlid, Half::of_sl(there.sl)), (bench.directory.base_lid(switch).unwrap(), Half::Upper));
    let itself = bench.get(&PAIR, &pair(&bench, host, host)).unwrap();
    assert_eq!((itself.packet_life_time, itself.slid == itself.dlid), (0, true));
}

#[test]
fn an_open_end_means_every_port_and_a_get_must_close_both() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let owners = bench.fabric().lid_ports().count();
    let asked = pair(&bench, bench.host(0), bench.host(0));
    for mask in [PathRecord::SGID, PathRecord::DGID] {
        assert_eq!(bench.table(&[mask], &asked).unwrap().len(), owners);
        assert_eq!(bench.get(&[mask], &asked), Err(status::INSUFFICIENT_COMPONENTS));
    }
    assert_eq!(bench.table(&[], &asked).unwrap().len(), owners * owners);
    let mut narrow =
        Bench::over(bench.directory.facts().clone(), SaLimits { answer_bytes: 4096, ..SaLimits::default() });
    assert_eq!(narrow.table(&[], &asked), Err(status::NO_RESOURCES));
}

#[test]
fn ends_that_do_not_exist_or_do_not_agree_are_refused() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let asked = pair(&bench, bench.host(0), bench.host(1));
    let strange = PathRecord { dgid: Gid { prefix: 1, ..asked.dgid }, ..asked.clone() };
    assert_eq!(bench.get(&PAIR, &strange), Err(status::NO_RECORDS), "another subnet, and no way there");
    let other = PathRecord { dlid: bench.lids(bench.host(2), Half::Lower)[0], ..asked.clone() };
    assert_eq!(bench.get(&[PAIR[0], PAIR[1], PathRecord::DLID], &other), Err(status::REQUEST_INVALID));
    let nobody = PathRecord { dlid: Lid(0xBFFF), ..asked };
    assert_eq!(bench.get(&[PathRecord::SGID, PathRecord::DLID], &nobody), Err(status::NO_RECORDS));
}

#[test]
fn limits_are_meant_as_their_selector_says() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let asked = pair(&bench, bench.host(0), bench.host(1));
    let mut mtu = |selector, mtu: Mtu| {
        let asked = PathRecord { mtu_selector: selector, mtu: mtu.into(), ..asked.clone() };
        let mask = [PAIR[0], PAIR[1], PathRecord::MTU_SELECTOR, PathRecord::MTU];
        bench.get(&mask, &asked).map(|path| Mtu::from(path.mtu))
    };
    let none = Err(status::NO_RECORDS);
    assert_eq!(mtu(Selector::Above, Mtu::B1024), Ok(Mtu::B2048));
    assert_eq!(mtu(Selector::Above, Mtu::B2048), none);
    assert_eq!(mtu(Selector::Below, Mtu::B4096), Ok(Mtu::B2048));
    assert_eq!(mtu(Selector::Below, Mtu::B2048), Ok(Mtu::B1024));
    assert_eq!(mtu(Selector::Below, Mtu::B256), none);
    assert_eq!(mtu(Selector::Exactly, Mtu::B1024), Ok(Mtu::B1024));
    assert_eq!(mtu(Selector::Exactly, Mtu::B4096), none);
    assert_eq!(mtu(Selector::Most, Mtu::B256), Ok(Mtu::B2048));
    assert_eq!(mtu(Selector::Exactly, Mtu::from(9)), Err(status::REQUEST_INVALID));
    // Without its selector a value does not count, nor a selector without its value.
    let small = PathRecord { mtu: 5, mtu_selector: Selector::Exactly, ..asked.clone() };
    for lone in [PathRecord::MTU, PathRecord::MTU_SELECTOR] {
        assert_eq!(bench.get(&[PAIR[0], PAIR[1], lone], &small).map(|path| path.mtu), Ok(4));
    }
    let sl = |number| PathRecord { sl: Sl::masked(number), ..asked.clone() };
    let mask = [PAIR[0], PAIR[1], PathRecord::SL];
    assert_eq!(bench.get(&mask, &sl(5)).map(|path| path.sl.get()), Ok(5));
    assert_eq!(bench.get(&mask, &sl(9)), Err(status::NO_RECORDS));
    let key = |p_key| PathRecord { p_key, ..asked.clone() };
    let mask = [PAIR[0], PAIR[1], PathRecord::P_KEY];
    assert_eq!(bench.get(&mask, &key(0x7FFF)).map(|path| path.p_key), Ok(0x7FFF), "as OpenSM: the key asked for");
    for other in [0x8001, 0x8000, 0] {
        assert_eq!(bench.get(&mask, &key(other)), Err(status::NO_RECORDS), "{other:#x}");
    }
}

/// Hosts 1 to 8 of a subnet with these P_Key tables; the others', and those of switches, are not known.
fn parted(tables: [&[u16]; 8]) -> Bench {
    let bench = Bench::new("fat-tree-4-2", 1);
    let mut facts = bench.directory.facts().clone();
    facts.p_keys.fill(Vec::new());
    for (host, keys) in (1..).zip(tables) {
        facts.p_keys[bench.host(host).index()] = keys.to_vec();
    }
    Bench::over(facts, SaLimits::default())
}

#[test]
fn a_path_is_of_a_partition_that_both_ends_hold_and_one_of_them_in_full() {
    let limited: &[u16] = &[0x7FFF];
    let blue: &[u16] = &[0x7FFF, 0x8010];
    // As read: unused entries, and the default partition behind others.
    let several: &[u16] = &[0, 0x8100, 0x8020, 0x0010, 0xFFFF];
    let without: &[u16] = &[0x8020, 0, 0x0100];
    let mut bench = parted([limited, limited, blue, blue, several, without, &[0], &[0x0020]]);
    let mut key = |from: usize, to: usize, asked: Option<u16>| {
        let mut wanted = pair(&bench, bench.host(from), bench.host(to));
        wanted.p_key = asked.unwrap_or_default();
        let mask = [PAIR[0], PAIR[1], PathRecord::P_KEY];
        bench.get(if asked.is_some() { &mask } else { &PAIR }, &wanted).map(|path| path.p_key)
    };
    let none = Err(status::NO_RECORDS);
    // Host 9 has no known table: it counts as a full member of the default partition.
    assert_eq!((key(9, 10, None), key(9, 1, None), key(1, 9, None)), (Ok(0xFFFF), Ok(0xFFFF), Ok(0x7FFF)));
    assert_eq!((key(1, 2, None), key(1, 3, None), key(1, 1, None)), (none, none, none), "limited members");
    assert_eq!((key(3, 4, None), key(4, 3, None)), (Ok(0x8010), Ok(0x8010)));
    // The default partition first, then by the first byte on the wire that counts least: 0x0100 before 0x0020.
    assert_eq!((key(5, 9, None), key(5, 3, None), key(3, 5, None)), (Ok(0xFFFF), Ok(0xFFFF), Ok(0x7FFF)));
    assert_eq!((key(5, 6, None), key(6, 5, None)), (Ok(0x8100), Ok(0x0100)));
    assert_eq!((key(6, 8, None), key(8, 6, None), key(6, 9, None)), (Ok(0x8020), Ok(0x0020), none));
    assert_eq!((key(7, 9, None), key(9, 7, None), key(7, 7, None)), (none, none, none), "a table without a key");
    // Asked for one, with or without the bit of full members, the answer repeats it.
    for asked in [0x0010, 0x8010] {
        assert_eq!(
            (key(3, 4, Some(asked)), key(3, 5, Some(asked)), key(5, 3, Some(asked))),
            (Ok(asked), Ok(asked), Ok(asked))
        );
        assert_eq!((key(3, 9, Some(asked)), key(1, 2, Some(asked))), (none, none));
    }
    assert_eq!(
        (key(3, 4, Some(0xFFFF)), key(3, 9, Some(0xFFFF)), key(5, 9, Some(0xFFFF))),
        (none, Ok(0xFFFF), Ok(0xFFFF))
    );
}

#[test]
fn a_table_of_paths_has_those_that_share_a_partition() {
    let (limited, blue): (&[u16], &[u16]) = (&[0x7FFF], &[0x7FFF, 0x8010]);
    let mut bench = parted([limited, limited, blue, blue, &[0xFFFF], &[0xFFFF], &[0], &[0xFFFF]]);
    let mut peers = |from: usize, asked: Option<u16>| {
        let sgid = bench.directory.gid(bench.host(from));
        let wanted = PathRecord { sgid, numb_path: 1, p_key: asked.unwrap_or_default(), ..PathRecord::default() };
        let mask = [PathRecord::SGID, PathRecord::NUMB_PATH, PathRecord::P_KEY];
        let paths = bench.table(&mask[..if asked.is_some() { 3 } else { 2 }], &wanted).unwrap();
        let hosts: Vec<usize> = (0..=10)
            .filter(|&to| {
                let dgid = bench.directory.gid(bench.host(to));
                paths.iter().any(|path| path.dgid == dgid)
            })
            .collect();
        hosts
    };
    assert_eq!(peers(1, None), [0, 5, 6, 8, 9, 10]);
    assert_eq!(peers(3, None), [0, 3, 4, 5, 6, 8, 9, 10]);
    assert_eq!((peers(3, Some(0x8010)), peers(1, Some(0x8010))), (vec![3, 4], vec![]));
    assert_eq!(peers(7, None), Vec::<usize>::new());
}

#[test]
fn the_narrowest_link_of_a_path_is_its_width() {
    let bench = Bench::new("ghost-cycle", 1);
    let mut facts = bench.directory.facts().clone();
    let (from, to) = (bench.host(0), bench.host(7));
    let gate = bench.fabric().peer(to).unwrap();
    let narrow = facts.ports[gate.index()].as_mut().unwrap();
    (narrow.neighbour_mtu, narrow.link_width_active) = (Mtu::B512, Width::X1);
    let mut bench = Bench::over(facts, SaLimits::default());
    let there = bench.get(&PAIR, &pair(&bench, from, to)).unwrap();
    let back = bench.get(&PAIR, &pair(&bench, to, from)).unwrap();
    assert_eq!((there.mtu, there.rate), (Mtu::B512.into(), 20), "1x HDR is 50 Gb/s");
    assert_eq!((back.mtu, back.rate), (Mtu::B2048.into(), 17), "4x HDR is 200 Gb/s");
}

#[test]
fn a_path_without_a_route_is_no_path() {
    let bench = Bench::new("ghost-cycle", 1);
    let mut facts = bench.directory.facts().clone();
    let (from, to) = (bench.host(0), bench.host(7));
    let mut tables = (*facts.tables).clone();
    let lid = bench.lids(to, Half::Lower)[0];
    tables.lfts.iter_mut().for_each(|table| Arc::make_mut(table).set(lid, PortNum::NO_ROUTE));
    facts.tables = Arc::new(tables);
    let mut bench = Bench::over(facts, SaLimits::default());
    assert_eq!(bench.get(&PAIR, &pair(&bench, from, to)), Err(status::NO_RECORDS));
    let back = bench.get(&PAIR, &pair(&bench, to, from)).unwrap();
    assert!(!back.reversible);
    let asked = PathRecord { reversible: true, ..pair(&bench, to, from) };
    assert_eq!(bench.get(&[PAIR[0], PAIR[1], PathRecord::REVERSIBLE], &asked), Err(status::NO_RECORDS));
}

#[test]
fn a_storm_of_a_thousand_clients_is_answered() {
    let mut bench = Bench::new("ghost-cycle", 1);
    let hosts: Vec<_> = bench.fabric().end_ports().collect();
    for turn in 0..1000 {
        let (from, to) = (hosts[turn % hosts.len()], hosts[turn * 7 % hosts.len()]);
        let request =
            SaMad::request(Method::Get, ComponentMask::of(&PAIR), &pair(&bench, from, to)).with_tid(turn as u64);
        let answers = bench.sa.answer(&bench.datagram_from(from, &request), 0).unwrap();
        assert_eq!(SaMad::decode(&answers[0].bytes).unwrap().status, status::SUCCESS);
    }
    assert_eq!((bench.sa.due_ns(), bench.sa.requests().values().sum::<u64>()), (u64::MAX, 1000));
}

/// One port gets no more tables at a time than it leaves for others, by their number and by their bytes.
#[test]
fn tables_beyond_a_ports_share_are_put_off_and_other_ports_are_served() {
    let facts = Bench::new("ghost-cycle", 1).directory.facts().clone();
    let all = SaMad::request(Method::GetTable, ComponentMask::NONE, &NodeRecord::default());
    let whole = Bench::over(facts.clone(), SaLimits::default()).table(&[], &NodeRecord::default()).unwrap();
    let bytes = whole.len() * NodeRecord::SIZE;
    for limits in [
        SaLimits { transfers: 4, ..SaLimits::default() },
        SaLimits { transfer_bytes: 4 * bytes, ..SaLimits::default() },
    ] {
        let mut bench = Bench::over(facts.clone(), limits);
        let mut ask = |host, tid| {
            let asked = bench.datagram_from(bench.host(host), &all.clone().with_tid(tid));
            let answers = bench.sa.answer(&asked, 0).unwrap();
            answers.first().map(|answer| SaMad::decode(&answer.bytes).unwrap().status)
        };
        let hoarded = [ask(0, 1), ask(0, 2), ask(0, 3), ask(0, 1)];
        assert_eq!(hoarded, [Some(0), Some(0), Some(status::BUSY), Some(0)]);
        assert_eq!([ask(1, 1), ask(1, 2)], [Some(0), Some(status::BUSY)]);
        let until_ns = 1_000_000_000_000;
        let mut now_ns = 0;
        while bench.sa.due_ns() < until_ns {
            now_ns = bench.sa.due_ns();
            bench.sa.wake(now_ns);
        }
        assert_eq!((bench.sa.take_events().len(), now_ns < until_ns), (3, true));
        for tid in [4, 5] {
            let again = bench.sa.answer(&bench.datagram(&all.clone().with_tid(tid)), now_ns).unwrap();
            assert_eq!(SaMad::decode(&again[0].bytes).unwrap().status, status::SUCCESS);
        }
    }
}

#[test]
fn without_a_directory_it_is_busy_and_still_says_what_it_can() {
    let bench = Bench::new("ghost-cycle", 1);
    let mut sa = Sa::new(SaLimits::default());
    let mut ask = |mad: SaMad| {
        let answers = sa.answer(&bench.datagram(&mad), 0).unwrap();
        SaMad::decode(&answers[0].bytes).unwrap()
    };
    assert_eq!(ask(SaMad::request(Method::Get, ComponentMask::NONE, &NodeRecord::default())).status, status::BUSY);
    let about = SaMad::new(Method::Get, SaAttributeId::ClassPortInfo, ComponentMask::NONE, [0; SA_DATA_SIZE]);
    let info = ClassPortInfo::from_front(&ask(about).data);
    assert_eq!((info.class_version, info.redirect_qp), (2, 1));
}

#[test]
fn facts_that_lack_something_make_no_directory() {
    let bench = Bench::new("ghost-cycle", 1);
    let facts = || bench.directory.facts().clone();
    let without_port = DirectoryFacts { ports: vec![None; facts().ports.len()], ..facts() };
    assert!(matches!(Directory::new(without_port), Err(DirectoryError::Missing { attribute: "PortInfo", .. })));
    let short = DirectoryFacts { nodes: vec![], ..facts() };
    assert!(matches!(Directory::new(short), Err(DirectoryError::Length { what: "nodes", found: 0, .. })));
    let fabric = Arc::new(facts().fabric.with_lids([]).unwrap());
    assert!(matches!(Directory::new(DirectoryFacts { fabric, ..facts() }), Err(DirectoryError::NoLid(_))));
}

properties! {
    /// Any MAD at all is answered by at most a burst of its own, and nothing makes it fail.
    #[test]
    fn any_request_is_survived(noise in prop::collection::vec((any::<[u8; 32]>(), any::<[u8; 32]>()), 1..30)) {
        thread_local!(static BENCH: Bench = Bench::new("ghost-cycle", 1));
        let (directory, lid) = BENCH.with(|bench| (bench.directory.clone(), bench.directory.base_lid(bench.host(0)).unwrap()));
        let mut sa = Sa::new(SaLimits::default());
        sa.set_directory(directory, 0);
        const ATTRIBUTES: [u16; 17] =
            [1, 2, 3, 0x11, 0x12, 0x13, 0x14, 0x15, 0x18, 0x20, 0x30, 0x31, 0x33, 0x35, 0x36, 0xF3, 0x38];
        const METHODS: [u8; 8] = [1, 2, 0x12, 0x15, 6, 0x86, 0x81, 0x92];
        for (at, (head, body)) in noise.iter().enumerate() {
            let mut mad = [0; MAD_SIZE];
            mad[..3].copy_from_slice(&[1, 3, 2]);
            mad[3] = METHODS[usize::from(head[0]) % METHODS.len()];
            mad[16..18].copy_from_slice(&ATTRIBUTES[usize::from(head[1]) % ATTRIBUTES.len()].to_be_bytes());
            mad[25] = head[2] % 5;
            mad[26] = head[3] & head[4];
            mad[28..36].copy_from_slice(&head[5..13]);
            mad[48..56].copy_from_slice(&std::array::from_fn::<u8, 8, _>(|at| head[13 + at] & head[21 + at]));
            for (at, byte) in mad[56..].iter_mut().enumerate() {
                *byte = body[at % 32] & body[(at / 32) % 32];
            }
            let asked = reconfig::transport::Datagram { lid, from: None, qp: 1, sl: Sl::default(), bytes: Box::new(mad) };
            let now_ns = at as u64 * 1_000_000;
            let sent = sa.answer(&asked, now_ns);
            prop_assert!(sent.is_some_and(|sent| sent.len() <= 64));
            if sa.due_ns() <= now_ns {
                sa.wake(now_ns);
            }
        }
    }
}
