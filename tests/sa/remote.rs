//! Paths to other subnets.

use crate::sa::bench::Bench;
use crate::sa::running::Across;
use crate::support::across::id;
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::fabric::PortId;
use reconfig::fabric::subnets::SubnetPort;
use reconfig::ids::{GidPrefix, Guid, Half, Lid, PKey, Sl};
use reconfig::routers::{self, Arrival, Enforcement, Levels, LevelsRule, Routes, relay};
use reconfig::sa::{Beyond, Directory, DirectoryFacts, LeadingRouters, PrefixRoutes, Remote, RemoteRule, SaLimits};
use reconfig::wire::sa::{ComponentMask, PathRecord, SA_DATA_SIZE};
use reconfig::wire::{Gid, Grh, status};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

const PAIR: [u32; 2] = [PathRecord::SGID, PathRecord::DGID];

fn raise(crossings: u8, data_vls: u8) -> Levels {
    Levels::new(LevelsRule::Raise, crossings, data_vls).expect("lanes enough")
}

fn asked(sgid: Gid, dgid: Gid) -> PathRecord {
    PathRecord { sgid, dgid, ..PathRecord::default() }
}

fn with<const N: usize>(more: [u32; N]) -> Vec<u32> {
    PAIR.into_iter().chain(more).collect()
}

/// Two subnets, two routers between them, the second with two ports at home.
fn two() -> Across {
    Across::new(2, 2, &[&[0, 1], &[0, 1, 0]])
}

fn bench(facts: DirectoryFacts) -> Bench {
    Bench::over(facts, SaLimits::default())
}

/// The LIDs of a half by which routers lead from subnet 0 to subnet 1.
fn router_lids(bench: &Bench, across: &Across, half: Half) -> BTreeSet<Lid> {
    let ports: Vec<PortId> = [0, 1].into_iter().flat_map(|router| across.router_ports(router, 0)).collect();
    ports.into_iter().flat_map(|port| bench.lids(port, half)).collect()
}

#[test]
fn a_path_to_another_subnet_names_a_router_by_lids_of_the_active_half() {
    let across = two();
    let mut bench = bench(across.facts(0, raise(1, 4)));
    let (from, to) = (across.gid(0, 0), across.gid(1, 3));
    for half in [Half::Lower, Half::Upper] {
        bench.sa.half_moved(half);
        let path = bench.get(&PAIR, &asked(from, to)).unwrap();
        assert!(router_lids(&bench, &across, half).contains(&path.dlid));
        assert!(bench.lids(across.host(0, 0), half).contains(&path.slid));
        assert_eq!((path.sgid, path.dgid), (from, to));
        assert_eq!((path.hop_limit, path.sl, path.traffic_class), (2, half.sl_of(0), 0));
        assert_eq!((path.mtu, path.packet_life_time, path.p_key), (4, 19, 0xFFFF), "twice one subnet's time");
    }
}

#[test]
fn every_router_and_every_rank_is_a_path_and_pairs_begin_with_different_ones() {
    let across = two();
    let mut bench = bench(across.facts(0, raise(1, 4)));
    let lids = router_lids(&bench, &across, Half::Lower);
    assert_eq!(lids.len(), 6, "three ports, two LIDs of the half each");
    let mut first = BTreeSet::new();
    for (host, far) in (0..6).flat_map(|host| (0..6).map(move |far| (host, far))) {
        let record = asked(across.gid(0, host), across.gid(1, far));
        let all = bench.table(&PAIR, &record).unwrap();
        assert_eq!(all.iter().map(|path| path.dlid).collect::<BTreeSet<_>>(), lids);
        let slids = bench.lids(across.host(0, host), Half::Lower);
        for path in &all {
            let router = bench.fabric().lid_owner(path.dlid).unwrap();
            let rank = |lids: &[Lid], lid| lids.iter().position(|&own| own == lid);
            assert_eq!(rank(&slids, path.slid), rank(&bench.lids(router, Half::Lower), path.dlid));
        }
        let labels: Vec<u32> = all.iter().map(|path| path.flow_label).collect();
        assert!(labels.windows(2).all(|two| (two[0] + 1) & 0xF_FFFF == two[1]), "{labels:x?}");
        assert_eq!(bench.get(&PAIR, &record).unwrap(), all[0], "asked again, the same again");
        let three = PathRecord { numb_path: 3, ..record };
        assert_eq!(bench.table(&with([PathRecord::NUMB_PATH]), &three).unwrap(), all[..3]);
        first.insert(all[0].dlid);
    }
    assert_eq!(first, lids, "each comes first for some pair");
}

/// Carries a packet along a path from subnet to subnet, as routers do, from the router's port `first`. Returned are the
/// subnet that it ends in, and how many routers it crossed.
fn carried(across: &Across, levels: Levels, path: &PathRecord, first: SubnetPort) -> (usize, u8) {
    let header = Grh::along(path, 256).expect("a path that leaves the subnet");
    let header = Grh::decode(&header.encode());
    let mut grh = routers::Grh {
        traffic_class: header.traffic_class,
        flow_label: header.flow_label,
        hop_limit: header.hop_limit,
        source_prefix: header.sgid.prefix(),
        source_guid: header.sgid.guid,
        destination_prefix: header.dgid.prefix(),
        destination_guid: header.dgid.guid,
    };
    let routes = Routes::all(&across.subnets);
    let target = across.subnets.by_prefix(grh.destination_prefix).expect("a subnet of this prefix");
    let (mut at, mut level, mut crossed) = (first, Half::rank(path.sl) as u8, 0);
    let open = Enforcement::default();
    loop {
        let router = across.subnets.router_of(at).expect("a router's port");
        let arrival = Arrival {
            grh: &grh,
            level,
            from: at.subnet,
            routes: &routes,
            p_key: PKey::DEFAULT,
            enforcement: &open,
            salt: 0,
        };
        let ways = routes.onward(router, target);
        let forwarded = relay(&arrival, ways, levels, |_| &open).unwrap_or_else(|why| panic!("{why:?}"));
        crossed += 1;
        (grh.hop_limit, level) = (forwarded.hop_limit, forwarded.level);
        match forwarded.onward.to {
            Some(next) => at = next,
            None => return (forwarded.onward.out.subnet.index(), crossed),
        }
    }
}

#[test]
fn every_path_of_every_pair_arrives_before_and_after_a_swap() {
    let across = Across::new(3, 2, &[&[0, 1], &[0, 1], &[1, 2], &[0, 1, 1]]);
    let levels = raise(2, 8);
    let mut bench = bench(across.facts(0, levels));
    let mut seen: [BTreeSet<Lid>; 2] = Default::default();
    for half in [Half::Lower, Half::Upper] {
        bench.sa.half_moved(half);
        for (subnet, host) in (1..3).flat_map(|subnet| (0..6).map(move |host| (subnet, host))) {
            let found = bench.table(&PAIR, &asked(across.gid(0, 0), across.gid(subnet, host))).unwrap();
            assert_eq!(found.len(), 6, "three routers, two LIDs of the half each");
            for path in &found {
                let router = bench.fabric().lid_owner(path.dlid).unwrap();
                assert!(bench.lids(router, half).contains(&path.dlid) && Half::of_sl(path.sl) == half);
                let (end, crossed) = carried(&across, levels, path, SubnetPort { subnet: id(0), port: router });
                assert_eq!((end, crossed + 1), (subnet, path.hop_limit), "the hop limit is the least that suffices");
                seen[half.index()].insert(path.dlid);
            }
        }
    }
    assert_eq!((seen[0].len(), seen[1].len()), (6, 6));
    assert!(seen[0].is_disjoint(&seen[1]));
}

#[test]
fn without_a_router_there_is_no_record_and_local_gids_stay_local() {
    let across = two();
    let mut bench = bench(across.facts(0, raise(1, 4)));
    let here = across.gid(0, 0);
    let nowhere = asked(here, Gid { prefix: 0xFEC0_0000_0000_0077, ..across.gid(1, 0) });
    assert_eq!(bench.get(&PAIR, &nowhere), Err(status::NO_RECORDS));
    assert_eq!(bench.table(&PAIR, &nowhere), Ok(vec![]));
    let neighbour = across.gid(0, 4);
    for prefix in [neighbour.prefix, Gid::DEFAULT_PREFIX] {
        let path = bench.get(&PAIR, &asked(here, Gid { prefix, ..neighbour })).unwrap();
        assert_eq!((path.dgid, path.hop_limit, path.flow_label), (neighbour, 0, 0));
        assert_eq!(bench.fabric().lid_owner(path.dlid), Some(across.host(0, 4)));
    }
    let absent = asked(here, Gid { guid: Guid(0x77), ..here });
    assert_eq!(bench.get(&PAIR, &absent), Err(status::INVALID_GID));
    let stranger = asked(across.gid(1, 0), here);
    assert_eq!(bench.get(&PAIR, &stranger), Err(status::INVALID_GID), "it is answered for ports of this subnet only");
}

#[test]
fn routers_that_are_gone_lead_nowhere() {
    let across = two();
    let mut facts = across.facts(0, raise(1, 4));
    let record = asked(across.gid(0, 1), across.gid(1, 1));
    for (gone, left) in [(vec![1], 2), (vec![0, 1], 0)] {
        let nodes: Vec<_> = gone.iter().map(|&n| across.subnets.router_node(n, id(0)).unwrap()).collect();
        facts.fabric = Arc::new(across.subnets.fabric(id(0)).without_nodes(&nodes));
        assert_eq!(bench(facts.clone()).table(&PAIR, &record).unwrap().len(), left);
    }
    assert_eq!(bench(facts).get(&PAIR, &record), Err(status::NO_RECORDS));
    // Routes that use the first router only name no other.
    let spared = across.router_ports(0, 0);
    let routes = Routes::new(&across.subnets, |at| at.subnet != id(0) || spared.contains(&at.port));
    let remote = Remote::of_routes(&across.subnets, &routes, id(0), raise(1, 4));
    let paths = bench(across.facts_with(0, remote)).table(&PAIR, &record).unwrap();
    assert_eq!(paths.len(), 2);
}

#[test]
fn the_hop_limit_lets_a_packet_cross_as_many_routers_as_there_are() {
    let across = Across::new(4, 1, &[&[0, 1], &[1, 2], &[2, 3]]);
    let mut bench = bench(across.facts(0, raise(3, 8)));
    let mut told = |far| {
        let path = bench.get(&PAIR, &asked(across.gid(0, 0), across.gid(far, 0))).unwrap();
        (path.hop_limit, path.packet_life_time)
    };
    assert_eq!([told(1), told(2), told(3)], [(2, 19), (3, 20), (4, 20)]);
}

#[test]
fn a_path_is_reversible_where_an_answer_on_its_level_would_come_back() {
    let across = two();
    let record = asked(across.gid(0, 0), across.gid(1, 0));
    let must = PathRecord { reversible: true, ..record.clone() };
    // One crossing takes two layers one way, three there and back.
    for (levels, comes_back) in [(Levels::KEEP, true), (raise(1, 4), false), (raise(2, 8), true)] {
        let mut bench = bench(across.facts(0, levels));
        assert_eq!(bench.get(&PAIR, &record).unwrap().reversible, comes_back, "{levels:?}");
        let strictly = bench.get(&with([PathRecord::REVERSIBLE]), &must);
        assert_eq!(strictly.map(|path| path.reversible), if comes_back { Ok(true) } else { Err(status::NO_RECORDS) });
    }
}

#[test]
fn a_path_sets_out_on_a_level_that_routers_can_raise_and_its_class_says_which() {
    let across = two();
    let mut bench = bench(across.facts(0, raise(1, 4)));
    bench.sa.half_moved(Half::Upper);
    let record = asked(across.gid(0, 2), across.gid(1, 2));
    let mut sl = |sl| {
        let asked = PathRecord { sl: Sl::masked(sl), ..record.clone() };
        bench.get(&with([PathRecord::SL]), &asked).map(|path| (path.sl.get(), path.traffic_class))
    };
    assert_eq!([sl(8), sl(10), sl(14)], [Ok((8, 0)), Ok((10, 1)), Ok((14, 3))]);
    assert_eq!([sl(9), sl(2)], [Err(status::NO_RECORDS); 2], "the upper layer; the other half");
    let mut class = |traffic_class| {
        let asked = PathRecord { traffic_class, flow_label: 0xABCDE, ..record.clone() };
        let mask = with([PathRecord::TRAFFIC_CLASS, PathRecord::FLOW_LABEL]);
        bench.get(&mask, &asked).map(|path| (path.sl.get(), path.traffic_class, path.flow_label))
    };
    assert_eq!([class(0), class(3), class(5)], [Ok((8, 0, 0xABCDE)), Ok((14, 3, 0xABCDE)), Ok((10, 5, 0xABCDE))]);
    let both = PathRecord { traffic_class: 2, sl: Sl::masked(8), ..record };
    let mask = with([PathRecord::TRAFFIC_CLASS, PathRecord::SL]);
    assert_eq!(bench.get(&mask, &both), Err(status::NO_RECORDS), "they do not agree");
}

#[test]
fn a_lid_may_say_which_router() {
    let across = two();
    let mut bench = bench(across.facts(0, raise(1, 4)));
    let port = across.router_ports(1, 0)[1];
    let lids = bench.lids(port, Half::Lower);
    let mut by = |dlid| {
        let record = PathRecord { dlid, ..asked(across.gid(0, 0), across.gid(1, 0)) };
        bench.table(&with([PathRecord::DLID]), &record).map(|all| all.iter().map(|path| path.dlid).collect::<Vec<_>>())
    };
    assert_eq!(by(lids[1]).unwrap()[0], lids[1]);
    assert!(by(lids[1]).unwrap().iter().all(|&dlid| dlid == lids[1]));
    assert_eq!(by(Lid(lids[0].0 + 2)), Ok(vec![]), "of the retired half");
    let host = across.subnets.fabric(id(0)).port(across.host(0, 3)).lid.unwrap();
    assert_eq!(by(host), Err(status::REQUEST_INVALID), "no router");
}

#[test]
fn prefix_routes_answer_as_opensm_does() {
    let across = two();
    let guid = |router, n: usize| across.subnets.fabric(id(0)).port(across.router_ports(router, 0)[n]).guid.unwrap().0;
    let near = across.host(0, 5);
    let host = across.subnets.fabric(id(0)).port(near).guid.unwrap().0;
    let text = format!(
        "fec0000000000002 {:x} # the first that fits decides\nfec0000000000002 *\nfec0000000000003 77\nfec0000000000003 *\n\
         fec0000000000004 {host:x}\n* *\n",
        guid(1, 1)
    );
    let routes = PrefixRoutes::read(text.as_bytes(), "routes").unwrap();
    let facts = across.facts_with(0, Remote::of_prefix_routes(&routes, Remote::OPENSM_HOP_LIMIT));
    let absent = Directory::new(facts.clone()).unwrap().absent_routers();
    assert_eq!(absent, [Guid(0x77), Guid(host)], "one that is not there, and one that is no router");
    let mut bench = bench(facts);
    let mut path = |prefix| {
        let record = asked(across.gid(0, 0), Gid { prefix, guid: Guid(0x4711) });
        bench.get(&PAIR, &record)
    };
    let named = path(0xFEC0_0000_0000_0002).unwrap();
    let any = path(0xFEC0_0000_0000_0009).unwrap();
    for path in [&named, &any] {
        let told = (path.hop_limit, path.flow_label, path.traffic_class, path.packet_life_time, path.reversible);
        assert_eq!(told, (255, 0, 0, 18, true));
    }
    assert_eq!(path(0xFEC0_0000_0000_0003), Err(status::NO_RECORDS), "the router is not there, and the search ends");
    assert_eq!(path(0xFEC0_0000_0000_0004), Err(status::NO_RECORDS), "a host is no router");
    let owner = |lid| bench.fabric().lid_owner(lid).unwrap();
    assert_eq!(owner(named.dlid), across.router_ports(1, 0)[1]);
    assert_eq!(owner(any.dlid), across.router_ports(1, 0)[0], "the lowest in its last byte");
}

#[test]
fn a_rule_for_every_prefix_spreads_over_the_routers_that_it_names() {
    let across = two();
    let fabric = across.subnets.fabric(id(0));
    let ports = [across.router_ports(0, 0)[0], across.router_ports(1, 0)[0]];
    let guids = ports.map(|port| fabric.port(port).guid.unwrap());
    let rule = |prefix, guids: &[Guid]| RemoteRule {
        prefix,
        routers: LeadingRouters::Ports(guids.to_vec()),
        beyond: Beyond::Unknown { hop_limit: 64 },
    };
    let remote = Remote::new(vec![rule(Some(GidPrefix(0xFEC0_0000_0000_0002)), &guids[1..]), rule(None, &guids)]);
    let mut bench = bench(across.facts_with(0, remote));
    let mut owners = |prefix| {
        let record = asked(across.gid(0, 0), Gid { prefix, guid: Guid(1) });
        let paths = bench.table(&PAIR, &record).unwrap();
        assert!(paths.iter().all(|path| path.hop_limit == 64));
        paths.iter().map(|path| fabric.lid_owner(path.dlid).unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(owners(0xFEC0_0000_0000_0002), BTreeSet::from([ports[1]]));
    assert_eq!(owners(0x2001_0DB8_0000_0000), BTreeSet::from(ports));
}

/// What a request may say of a path and still get one.
const OPEN: [u32; 6] = [
    PathRecord::FLOW_LABEL,
    PathRecord::HOP_LIMIT,
    PathRecord::TRAFFIC_CLASS,
    PathRecord::REVERSIBLE,
    PathRecord::NUMB_PATH,
    PathRecord::SL,
];

static ACROSS: LazyLock<Across> = LazyLock::new(two);

properties! {
    /// Any text is read, or refused with its place.
    #[test]
    fn any_file_of_prefix_routes_is_read_or_refused(text in "([a-fx0-9*# \\tü]{0,40}\n){0,6}") {
        match PrefixRoutes::read(text.as_bytes(), "routes") {
            Ok(routes) => prop_assert!(routes.iter().len() <= 6),
            Err(fault) => prop_assert!(fault.to_string().contains("routes:"), "{fault}"),
        }
    }

    /// Whatever is asked of the way to another subnet, and whatever levels routers go by: each record leads to a
    /// router, both LIDs and the level are of the half in use, and routers can carry the packet all the way.
    #[test]
    fn any_request_gets_paths_of_the_active_half_that_arrive(
        mask in any::<u64>(),
        low in any::<[u8; 32]>(),
        high in any::<[u8; 32]>(),
        (host, upper, kept) in (0usize..6, any::<bool>(), any::<bool>()),
    ) {
        let levels = if kept { Levels::KEEP } else { raise(2, 8) };
        let mut bench = bench(ACROSS.facts(0, levels));
        let half = if upper { Half::Upper } else { Half::Lower };
        bench.sa.half_moved(half);
        let mut data = [0; SA_DATA_SIZE];
        data[..32].copy_from_slice(&low);
        data[32..64].copy_from_slice(&high);
        let (sgid, dgid) = (ACROSS.gid(0, host), Gid { guid: Guid(0x4711), ..ACROSS.gid(1, 0) });
        let asked = PathRecord { sgid, dgid, ..PathRecord::decode(&data) };
        // Random limits and LIDs leave nothing to answer.
        let mask = ComponentMask(mask & ComponentMask::of(&OPEN).0 | ComponentMask::of(&PAIR).0);
        for path in bench.table_by(mask, &asked, 0).unwrap_or_default() {
            let router = bench.fabric().lid_owner(path.dlid).unwrap();
            prop_assert!(bench.directory.is_router(router));
            prop_assert!(bench.lids(router, half).contains(&path.dlid));
            prop_assert!(bench.lids(ACROSS.host(0, host), half).contains(&path.slid));
            prop_assert_eq!(Half::of_sl(path.sl), half);
            let rank = Half::rank(path.sl) as u8;
            prop_assert_eq!(levels.layer(rank), 0);
            prop_assert!(levels.next(path.traffic_class, rank).is_some());
            prop_assert!(path.hop_limit == 2 && path.flow_label < 1 << 20);
        }
    }
}
