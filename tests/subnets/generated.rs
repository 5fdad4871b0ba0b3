//! Generated subnets: what each shape joins, where routers stand, and that a seed says all.

use super::made;
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::fabric::format::Format;
use reconfig::fabric::generate::{
    BUNDLED_SUBNETS, GenerateError, JoinShape, JoinedTopology, Options, RouterAttachment, generate, joined,
    place_routers,
};
use reconfig::fabric::subnets::summary::SubnetsSummary;
use reconfig::fabric::subnets::{Subnet, Subnets, list};
use reconfig::fabric::{Fabric, NodeKind};
use reconfig::ids::{GidPrefix, Guid, Lid, Lmc, SubnetId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How many routers join which subnets.
fn joins(subnets: &Subnets) -> BTreeMap<Vec<u16>, usize> {
    let mut joins = BTreeMap::new();
    for router in subnets.routers() {
        *joins.entry(router.ports.iter().map(|port| port.subnet.0).collect()).or_default() += 1;
    }
    joins
}

#[test]
fn shapes_join_what_they_say() {
    let cases: [(JoinShape, u16, &[&[u16]]); 6] = [
        (JoinShape::Line, 4, &[&[0, 1], &[1, 2], &[2, 3]]),
        (JoinShape::Ring, 4, &[&[0, 1], &[1, 2], &[2, 3], &[0, 3]]),
        (JoinShape::Star, 4, &[&[0, 1], &[0, 2], &[0, 3]]),
        (JoinShape::Full, 4, &[&[0, 1], &[0, 2], &[0, 3], &[1, 2], &[1, 3], &[2, 3]]),
        (JoinShape::Hub, 4, &[&[0, 1, 2, 3]]),
        (JoinShape::Line, 2, &[&[0, 1]]),
    ];
    for (shape, count, expected) in cases {
        for routers in [1, 3] {
            let subnets = made("random-regular:8,3,1", count, shape, routers, 5);
            let expected = expected.iter().map(|place| (place.to_vec(), usize::from(routers))).collect();
            assert_eq!(joins(&subnets), expected, "{shape} of {count}");
            assert_eq!(SubnetsSummary::of(&subnets).parts, 1);
        }
    }
}

#[test]
fn what_no_subnets_can_be_is_refused() {
    let topology = || "ring:4".parse().expect("a topology");
    let refused = |subnets, shape, routers, radix| {
        let joining = JoinedTopology { topology: topology(), subnets, shape, routers };
        joined(&joining, &Options { radix, ..Options::default() }).expect_err("it is refused").to_string()
    };
    for (told, part) in [
        (refused(1, JoinShape::Line, 1, None), "1 subnets were asked for: a line has 2 to 64"),
        (refused(2, JoinShape::Ring, 1, None), "a ring has 3 to 64"),
        (refused(65, JoinShape::Hub, 1, None), "65 subnets were asked for"),
        (refused(2, JoinShape::Line, 0, None), "no router was asked for"),
        (refused(2, JoinShape::Line, 5, Some(4)), "no switch of subnet-0 has a port left for a router"),
        (refused(2, JoinShape::Line, 1, Some(2)), "ask for a larger radix"),
        (refused(2, JoinShape::Line, 1100, None), "which lacks"),
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_radix_that_is_given_holds_and_is_used_to_the_last_port() {
    let joining = JoinedTopology {
        topology: "ring:4".parse().expect("a topology"),
        subnets: 2,
        shape: JoinShape::Line,
        routers: 4,
    };
    let subnets = joined(&joining, &Options { radix: Some(4), ..Options::default() }).expect("four ports are free");
    for (_, subnet) in subnets.subnets() {
        let fabric = &subnet.fabric;
        assert!(
            fabric.switches().all(|id| fabric.ports_of(id).filter(|&port| fabric.peer(port).is_some()).count() == 4)
        );
        assert!(fabric.switches().all(|id| fabric.node(id).num_ports == 4));
    }
    let growing = JoinedTopology { routers: 4 * 8, ..joining };
    let subnets = joined(&growing, &Options::default()).expect("switches grow");
    let ports: BTreeSet<u8> = subnets.subnets().flat_map(|(_, subnet)| switch_ports(&subnet.fabric)).collect();
    assert_eq!(ports, BTreeSet::from([3 + 8]));
}

fn switch_ports(fabric: &Fabric) -> Vec<u8> {
    fabric.switches().map(|id| fabric.node(id).num_ports).collect()
}

#[test]
fn routers_of_fat_trees_stand_where_hosts_do_and_spread() {
    let subnets = made("fat-tree:4,2", 2, JoinShape::Line, 4, 3);
    for (id, subnet) in subnets.subnets() {
        let fabric = &subnet.fabric;
        let of_subnet = |router: &reconfig::fabric::subnets::Router| {
            let port = router.ports.iter().find(|port| port.subnet == id).expect("a line's router");
            fabric.neighbour(port.port).expect("a cable")
        };
        let at: BTreeSet<_> = subnets.routers().iter().map(of_subnet).collect();
        assert_eq!(at.len(), 4, "four leaves, four routers");
        assert!(at.iter().all(|&id| fabric.node(id).description.starts_with("leaf")), "{at:?}");
    }
}

#[test]
fn subnet_0_without_its_routers_is_what_the_topology_alone_is() {
    let subnets = made("random-regular:8,3,2", 3, JoinShape::Line, 1, 9);
    let options = |seed| Options { seed, ..Options::default() };
    for (rank, subnet) in subnets.subnets() {
        let alone = generate(&"random-regular:8,3,2".parse().expect("one"), &options(9 + u64::from(rank.0)));
        let alone = alone.expect("a fabric");
        for (id, node) in alone.nodes() {
            let own = subnet.fabric.node(id);
            assert_eq!((own.kind, &own.description, own.num_ports), (node.kind, &node.description, node.num_ports));
            assert_eq!(own.guid.0 ^ node.guid.0, u64::from(rank.0) << 26);
            let lids = |fabric: &Fabric| fabric.ports_of(id).map(|port| fabric.port(port).lid).collect::<Vec<_>>();
            assert_eq!(lids(&alone), lids(&subnet.fabric));
        }
    }
}

#[test]
fn a_seat_that_is_none_is_refused() {
    let fabric = generate(&"ring:4".parse().expect("a topology"), &Options::default()).expect("a ring");
    let host = fabric.nodes().find(|(_, node)| node.kind == NodeKind::Ca).expect("a host").0;
    let switch = fabric.switches().next().expect("a switch");
    let list = || vec![Subnet { name: "a".into(), prefix: GidPrefix::site_local(0), fabric: fabric.clone() }];
    let seat = |subnet, switch| RouterAttachment { subnet: SubnetId(subnet), switch };
    let refused = |seats: Vec<RouterAttachment>, radix| {
        place_routers(list(), &[seats], &Options { radix, ..Options::default() }).expect_err("it is refused")
    };
    for (error, part) in [
        (refused(vec![], None), "router-1 has 0 ports"),
        (refused(vec![seat(0, switch); 255], None), "router-1 has 255 ports"),
        (refused(vec![seat(1, switch)], None), "router-1 stands at node n0 of subnet 1, which is no switch"),
        (refused(vec![seat(0, host)], None), "which is no switch"),
        (refused(vec![seat(0, switch); 6], Some(8)), "lacks 1 ports"),
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let full = fabric.with_lids([(fabric.end_ports().next().expect("a host"), Lid::MAX_UNICAST, Lmc::default())]);
    let list = vec![Subnet { name: "a".into(), prefix: GidPrefix::site_local(0), fabric: full.expect("one LID") }];
    let error = place_routers(list, &[vec![seat(0, switch)]], &Options::default()).expect_err("no LID is left");
    assert!(error.to_string().contains("a has no LID left for a router behind 49151"), "{error}");
    assert!(matches!(place_routers(vec![], &[], &Options::default()), Err(GenerateError::Join(_))));
}

#[test]
fn routers_at_given_switches_take_free_ports_and_the_lids_behind() {
    let options = Options::default();
    let fabric = generate(&"ring:4".parse().expect("a topology"), &options).expect("a ring");
    let bare = fabric.with_lids([]).expect("no LIDs");
    let switch = fabric.switches().next().expect("a switch");
    let seats = vec![vec![RouterAttachment { subnet: SubnetId(0), switch }; 2]];
    for (fabric, lids) in [(fabric.clone(), [Some(Lid(9)), Some(Lid(10))]), (bare, [None, None])] {
        let list = vec![Subnet { name: "a".into(), prefix: GidPrefix::site_local(0), fabric }];
        let subnets = place_routers(list, &seats, &options).expect("two free ports");
        let (router, fabric) = (&subnets.routers()[0], subnets.fabric(SubnetId(0)));
        assert_eq!((router.guid, router.name.as_str()), (Guid(0x0200_0000_0200_0000), "router-1"));
        assert_eq!(router.ports.iter().map(|at| fabric.port(at.port).lid).collect::<Vec<_>>(), lids);
        let taken = router.ports.iter().map(|at| fabric.port(fabric.peer(at.port).expect("a cable")).num.0);
        assert_eq!(taken.collect::<Vec<_>>(), [4, 5], "a ring's switch has one host and two neighbours");
    }
}

#[test]
fn routers_of_a_second_call_count_on() {
    let subnets = made("ring:4", 2, JoinShape::Line, 2, 0);
    let list: Vec<Subnet> = subnets.subnets().map(|(_, subnet)| subnet.clone()).collect();
    let switch = list[0].fabric.switches().next().expect("a switch");
    let seats = [0, 1].map(|rank| RouterAttachment { subnet: SubnetId(rank), switch }).to_vec();
    let more = place_routers(list, &[seats], &Options::default()).expect("there is room");
    assert_eq!(joins(&more), BTreeMap::from([(vec![0, 1], 3)]));
    let names: Vec<&str> = more.routers().iter().map(|router| router.name.as_str()).collect();
    assert_eq!(names, ["router-1", "router-2", "router-3"]);
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_seed_says_all_and_nothing_is_shared(
        topology in proptest::sample::select(&["fat-tree:2,2", "random-regular:6,3,1", "waxman:6,0.7,0.5,~5"][..]),
        count in 3u16..6,
        shape in proptest::sample::select(&JoinShape::ALL[..]),
        routers in 1u16..5,
        seed in any::<u64>(),
    ) {
        let subnets = made(topology, count, shape, routers, seed);
        prop_assert_eq!(&made(topology, count, shape, routers, seed), &subnets);
        let summary = SubnetsSummary::of(&subnets);
        prop_assert_eq!((summary.parts, summary.unjoined.len(), summary.subnets.len()), (1, 0, usize::from(count)));
        let mut guids = BTreeSet::new();
        for (_, subnet) in subnets.subnets() {
            for (id, node) in subnet.fabric.nodes().filter(|(_, node)| node.kind != NodeKind::Router) {
                prop_assert!(guids.insert(node.guid), "{} twice", node.guid);
                let own = subnet.fabric.ports_of(id).filter_map(|port| subnet.fabric.port(port).guid);
                prop_assert!(own.filter(|&guid| guid != node.guid).all(|guid| guids.insert(guid)));
            }
            let lids: Vec<Lid> = subnet.fabric.lid_ports().filter_map(|port| subnet.fabric.port(port).lid).collect();
            prop_assert_eq!(lids, (1..=subnet.fabric.lid_ports().count() as u16).map(Lid).collect::<Vec<_>>());
        }
    }
}

#[test]
fn bundled_subnets_are_what_the_generator_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/subnets");
    for bundled in BUNDLED_SUBNETS {
        let subnets = bundled.generate().expect("it is bundled");
        let summary = SubnetsSummary::of(&subnets);
        assert!(summary.subnets.iter().all(|subnet| (subnet.fabric.switches, subnet.fabric.parts) == (16, 1)));
        for (name, text) in list::write(&subnets, bundled.name, Format::Ibnetdiscover).expect("written and read") {
            let file = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
            assert!(file == text, "{name} is stale: run `cargo run --example make_fixtures`");
        }
        let file = folder.join(format!("{}.subnets.yaml", bundled.name));
        let bytes = std::fs::read(&file).expect("bundled");
        let read = list::read(&bytes, file.to_str().expect("UTF-8"), |path| std::fs::read(path));
        assert_eq!(read.expect("a list"), subnets);
    }
}
