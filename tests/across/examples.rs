//! The fixture `router-cycle`: two subnets of two switches each, without a cycle of cables in either, whose whole
//! deadlocks.

use reconfig::fabric::format::Format;
use reconfig::fabric::generate::{JoinShape, JoinedTopology as Asked, Options, joined};
use reconfig::fabric::subnets::{Joined, Subnet, SubnetPort, Subnets, list};
use reconfig::ids::{Half, Lmc, SubnetId};
use reconfig::lid;
use reconfig::routers::{Levels, LevelsRule, Routes};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::sim::{Halt, Joining, Sim, SimConfig};
use reconfig::tables::SubnetTables;
use reconfig::verify::across::{AcrossCycle, AcrossRefusal, Link, Part, ProvedAcross, Whole, prove_across};
use reconfig::verify::{Refusal, Scope};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const DATA_VLS: u8 = 4;
const STEM: &str = "router-cycle";
const DEADLINE_NS: u64 = 5_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/subnets")
}

/// As read from the fixture, with LIDs for two halves.
fn router_cycle() -> Subnets {
    let file = folder().join(format!("{STEM}{}", list::EXTENSION));
    let bytes = std::fs::read(&file).expect("the fixture is there");
    let read = list::read(&bytes, file.to_str().expect("UTF-8"), |path| std::fs::read(path)).expect("a list");
    let assigned = |subnet: &Subnet| lid::assign(&subnet.fabric, Lmc::masked(1)).expect("LIDs suffice");
    read.with_fabrics(read.subnets().map(|(_, subnet)| assigned(subnet)).collect())
}

fn routed(subnets: &Subnets) -> Vec<SubnetTables> {
    let tables = |subnet: &Subnet| {
        let function = UpDown::default().route(&subnet.fabric, &Demand::all(&subnet.fabric, 1)).expect("connected");
        lid::bring_up(&subnet.fabric, &function, DATA_VLS)
    };
    subnets.subnets().map(|(_, subnet)| tables(subnet)).collect()
}

fn judged(
    subnets: &Subnets,
    tables: &[SubnetTables],
    scope: &Scope,
    levels: Levels,
) -> Result<ProvedAcross, AcrossRefusal> {
    let part = |((_, subnet), tables): ((_, &'_ Subnet), &'_ SubnetTables)| (subnet.fabric.clone(), tables.clone());
    let own: Vec<_> = subnets.subnets().zip(tables).map(part).collect();
    let parts = own.iter().map(|(fabric, tables)| Part::Steady { fabric, tables, scope }).collect();
    let routes = Routes::all(subnets);
    prove_across(&Whole { subnets, parts, routes: vec![&routes], levels })
}

fn scope() -> Scope {
    Scope::of(&[Half::Lower, Half::Upper])
}

fn raise() -> Levels {
    Levels::new(LevelsRule::Raise, 1, DATA_VLS).expect("two layers on four lanes")
}

fn refused(subnets: &Subnets, tables: &[SubnetTables]) -> AcrossCycle {
    match judged(subnets, tables, &scope(), Levels::KEEP) {
        Err(AcrossRefusal::Deadlock(cycle)) => cycle,
        other => panic!("a cycle through routers, not {other:?}"),
    }
}

#[test]
fn the_fixture_is_what_the_generator_makes() {
    let options = Options::default();
    let topology = "mesh:2,4".parse().expect("a topology");
    let asked = Asked { topology, subnets: 2, shape: JoinShape::Line, routers: 2 };
    let subnets = joined(&asked, &options).expect("two subnets");
    for (name, text) in list::write(&subnets, STEM, Format::Ibnetdiscover).expect("a format that is read and written") {
        let file = folder().join(name);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::create_dir_all(folder()).and_then(|()| std::fs::write(&file, &text)).expect("can be written");
        }
        assert_eq!(std::fs::read_to_string(&file).expect("the fixture is there"), text, "{}", file.display());
    }
}

#[test]
fn kept_levels_are_refused_with_the_cycle_through_both_routers() {
    let subnets = router_cycle();
    let cycle = refused(&subnets, &routed(&subnets));
    let text = cycle.to_string();
    println!("{text}");
    assert!(cycle.shortest && cycle.moment.is_empty());
    assert_eq!((cycle.links.len(), cycle.crossings()), (6, 2), "{text}");
    let routers: BTreeSet<&str> = cycle
        .links
        .iter()
        .filter_map(|link| match link {
            Link::Through(crossing) => Some(crossing.router.as_str()),
            Link::Inside { .. } => None,
        })
        .collect();
    assert_eq!(routers.into_iter().collect::<Vec<_>>(), ["router-1", "router-2"]);
    let start = "6 lanes can wait for each other in a cycle that leads 2 times through routers\n";
    assert!(text.starts_with(start) && text.contains("router \"router-1\": in from subnet-"), "{text}");
    let json = serde_json::to_value(AcrossRefusal::Deadlock(cycle)).expect("JSON");
    assert_eq!(json["kind"], "deadlock");
    let kinds: BTreeSet<&str> =
        json["evidence"]["links"].as_array().expect("links").iter().filter_map(|link| link["where"].as_str()).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["inside", "through"]);
}

#[test]
fn raised_levels_are_proved() {
    let subnets = router_cycle();
    let proof = judged(&subnets, &routed(&subnets), &scope(), raise()).expect("a layer for each crossing");
    let found = proof.statistics();
    assert_eq!((found.subnets, found.passages, found.moments), (2, 4, 1));
    assert!(found.lanes > 0 && found.dependencies > 0 && found.couplings > 0);
}

#[test]
fn a_subnet_that_is_not_sound_by_itself_is_named() {
    let subnets = router_cycle();
    let mut tables = routed(&subnets);
    let switch = subnets.fabric(SubnetId(1)).switches().next().expect("a switch");
    tables[1].lfts[switch.index()] = Default::default();
    match judged(&subnets, &tables, &scope(), raise()) {
        Err(AcrossRefusal::Part { subnet, refusal: Refusal::BlackHole(_) }) => assert_eq!(subnet, "subnet-1"),
        other => panic!("{other:?}"),
    }
}

/// Every packet crosses, and as many as go: what the lead of `levels` makes of it.
fn run(subnets: &Subnets, tables: &[SubnetTables], levels: Levels, seed: u64) -> Sim {
    let manager = |(subnet, _): (SubnetId, &Subnet)| {
        let port = subnets.hosts(subnet).next().expect("a host");
        SubnetPort { subnet, port }
    };
    let managers = subnets.subnets().map(manager).collect();
    let joining = Joining { cross: 1.0, ..Joining::new(subnets.clone(), levels, managers) };
    let config = SimConfig { seed, load: 1.0, data_vls: DATA_VLS, buffer_credits: 32, ..SimConfig::default() };
    let whole = Joined::of(subnets);
    let mut sim = Sim::joined(joining, config).expect("can be simulated");
    for ((id, subnet), tables) in subnets.subnets().zip(tables) {
        for (switch, block, entries) in tables.lft_blocks(&subnet.fabric) {
            sim.load_lft_block(whole.node(id, switch), block, &entries);
        }
    }
    sim.load_half(Half::Lower);
    sim.start();
    sim
}

#[test]
fn it_deadlocks_in_a_simulation_and_raised_levels_do_not() {
    let subnets = router_cycle();
    let (tables, whole) = (routed(&subnets), Joined::of(&subnets));
    let mut sim = run(&subnets, &tables, Levels::KEEP, 1);
    assert_eq!(sim.run(DEADLINE_NS, false), Halt::Deadlock, "after {} ns", sim.now_ns());
    println!("deadlock after {} ns", sim.now_ns());
    let stuck = sim.deadlock().expect("packets that wait for each other");
    // The ring has two ways round, and each lane is a ring of its own.
    let channels = |cycle: &AcrossCycle| cycle.lanes.iter().map(|&(at, _)| whole.port(at)).collect::<BTreeSet<_>>();
    let foretold = channels(&refused(&subnets, &tables));
    let turned: BTreeSet<_> = foretold.iter().filter_map(|&port| whole.fabric.peer(port)).collect();
    let found: BTreeSet<_> = stuck.iter().filter_map(|packet| whole.fabric.peer(packet.input)).collect();
    assert!(found == foretold || found == turned, "{stuck:?}");
    let mut sim = run(&subnets, &tables, raise(), 1);
    assert_eq!(sim.run(DEADLINE_NS, false), Halt::Time);
    assert_eq!(sim.relay_discards().values().sum::<u64>(), 0);
}
