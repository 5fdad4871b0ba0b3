//! Any loss, arrival or departure: what the repair makes of it, the judge accepts.

use super::proved::{prove, prove_last};
use super::subject::{Recipe, Subnet};
use crate::support::{is_thorough, seeded};
use proptest::prelude::*;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::repair::{Repair, RepairError, WavePurpose};
use reconfig_measuring::waves::Course;
use std::cell::RefCell;
use std::collections::BTreeMap;

const TOPOLOGIES: [&str; 12] = [
    "torus:3x3,1",
    "torus:4x3,1",
    "mesh:3x3,1",
    "ring:6,1",
    "hypercube:3,1",
    "dragonfly:2,2,1",
    "random-regular:8,3,1",
    "random-regular:10,4,2",
    "leaf-spine:4,3,2",
    "three-level:2,2,2,1,1",
    "fat-tree:2,3",
    "irregular:9,6,8,14",
];

/// Engines by destination, and the layers that they may use.
const ENGINES: [(&str, u8); 8] = [
    ("up-down", 1),
    ("up-down-robust", 1),
    ("nue", 1),
    ("nue", 2),
    ("dfsssp", 4),
    ("lash", 4),
    ("fat-tree", 1),
    ("min-hop", 1),
];

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Cables(u8),
    Switch,
    SwitchAndCable,
    Leaves,
    CableLeaves,
    Comes,
    DiesAndComes,
}

const EVENTS: [Event; 9] = [
    Event::Cables(1),
    Event::Cables(1),
    Event::Cables(2),
    Event::Switch,
    Event::SwitchAndCable,
    Event::Leaves,
    Event::CableLeaves,
    Event::Comes,
    Event::DiesAndComes,
];

#[derive(Clone, Copy, Debug)]
struct Case {
    topology: usize,
    engine: usize,
    event: Event,
    seed: u64,
    lmc: u8,
    lanes_by_hop: bool,
    re_route: bool,
}

fn any_case() -> impl Strategy<Value = Case> {
    (
        0..TOPOLOGIES.len(),
        0..ENGINES.len(),
        prop::sample::select(&EVENTS[..]),
        0u64..1_000_000,
        prop::sample::select(&[0u8, 0, 1, 2][..]),
        prop::bool::weighted(0.25),
        any::<bool>(),
    )
        .prop_map(|(topology, engine, event, seed, lmc, lanes_by_hop, re_route)| Case {
            topology,
            engine,
            event,
            seed,
            lmc,
            lanes_by_hop,
            re_route,
        })
}

/// Picks from the seed.
fn pick<T: Copy>(from: &[T], seed: u64, nth: u64) -> T {
    let mixed = (seed ^ nth << 32).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    from[(mixed >> 33) as usize % from.len()]
}

fn switches(fabric: &Fabric) -> Vec<NodeId> {
    fabric.switches().collect()
}

/// Cables between switches, or to hosts.
fn cables(fabric: &Fabric) -> Vec<PortId> {
    fabric.links().map(|link| link.0).collect()
}

/// None where the engine cannot route the fabric.
fn make(case: Case) -> Option<Subnet> {
    let (engine, layers) = ENGINES[case.engine];
    let recipe = Recipe { topology: TOPOLOGIES[case.topology], seed: case.seed, engine, layers, lmc: case.lmc };
    let mut subnet = Subnet::new(recipe).ok()?;
    let whole = subnet.before.clone();
    let switch = pick(&switches(&whole), case.seed, 1);
    let cable = |nth| pick(&cables(&whole), case.seed, nth);
    match case.event {
        Event::Cables(count) => {
            let ends: Vec<PortId> = (0..u64::from(count)).map(|nth| cable(nth + 2)).collect();
            subnet.surviving = whole.without_links(&ends);
        }
        Event::Switch => subnet.surviving = whole.without_nodes(&[switch]),
        Event::SwitchAndCable => subnet.surviving = whole.without_nodes(&[switch]).without_links(&[cable(2)]),
        Event::Leaves | Event::CableLeaves => {}
        Event::Comes | Event::DiesAndComes => {
            let known = whole.without_nodes(&[switch]);
            // Who hangs together only through what has come cannot be routed before.
            subnet = Subnet::routed(recipe, whole.clone(), &known).ok()?;
            if case.event == Event::DiesAndComes {
                subnet.surviving = whole.without_links(&[cable(2)]);
            }
        }
    }
    subnet.remaining = match case.event {
        Event::Leaves => whole.without_nodes(&[switch]),
        Event::CableLeaves => whole.without_links(&[cable(2)]),
        _ => subnet.surviving.clone(),
    };
    subnet.remaining.end_ports().next()?;
    subnet.discards_turned_back = case.seed.is_multiple_of(2);
    if case.lanes_by_hop {
        subnet.with_lanes_by_hop(case.seed);
    }
    if case.re_route {
        subnet.re_route(recipe);
    }
    Some(subnet)
}

/// Runs that found something of a kind.
#[derive(Default)]
struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    fn count_waves(&mut self, done: &Repair) {
        let reconnecting = done.waves.iter().filter(|wave| wave.purpose != WavePurpose::Renew).count();
        self.count(match reconnecting {
            0 => "no wave",
            1 => "one wave",
            2 => "two waves",
            _ => "more waves",
        });
        for wave in done.waves.iter().skip(1) {
            self.count(if wave.aged_before { "aged" } else { "not aged" });
        }
        for (kind, name) in [(WavePurpose::Renew, "renewed"), (WavePurpose::Relax, "relaxed")] {
            if done.waves.iter().any(|wave| wave.purpose == kind) {
                self.count(name);
            }
        }
        self.count(if done.unsolved.is_empty() { "solved" } else { "not solved" });
    }
}

#[test]
fn whatever_happens_every_wave_keeps_the_rules() {
    let cases = if is_thorough() { 20_000 } else { 400 };
    let tally = RefCell::new(Tally::default());
    let config = seeded(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() });
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let run = runner.run(&any_case(), |case| {
        let Some(subnet) = make(case) else {
            tally.borrow_mut().count("not routed");
            return Ok(());
        };
        let mut tally = tally.borrow_mut();
        match subnet.repair() {
            Ok(done) => {
                prop_assert_eq!(subnet.judge(&done), Ok(()), "{:?}", case);
                // The prover wants a path from everybody to everybody; a layered routing has none for who has come.
                let comes = matches!(case.event, Event::Comes | Event::DiesAndComes);
                // Nor does it take tables with a ring that only the loss has opened.
                let ring = Course { surviving: &subnet.before, ..subnet.course(Vec::new()) }.judge().is_err();
                if !ring && (subnet.ways.is_none() || !comes) {
                    prop_assert_eq!(prove(&subnet, &done), Ok(()), "{:?}", case);
                    tally.count("proved");
                }
                // Some do away with packets that turn back; those that switches send are judged as if none did.
                if let Some(last) = prove_last(&subnet, &done).filter(|_| !comes && !done.discards_turned_back) {
                    prop_assert_eq!(last, Ok(()), "{:?}", case);
                    tally.count(if subnet.ways.is_some() { "proved by itself, in layers" } else { "proved by itself" });
                }
                if done.discards_turned_back {
                    tally.count("rests on discarding");
                }
                if done.waves.get(1).is_some_and(|wave| wave.aged_before) {
                    let hurried = vec![(false, done.waves[0].lfts.as_slice()), (false, &done.waves[1].lfts)];
                    prop_assert!(subnet.course(hurried).judge().is_err(), "{:?}: aged for nothing", case);
                }
                tally.count_waves(&done);
            }
            Err(RepairError::Deadlock { cycle }) => {
                // Right, if the judge finds the ring too, before anything is written.
                let judged = subnet.course(Vec::new()).judge();
                prop_assert!(judged.is_err() && cycle.contains('→'), "{:?}: {}", case, cycle);
                tally.count("deadlock");
            }
            Err(other) => prop_assert!(false, "{:?}: {}", case, other),
        }
        Ok(())
    });
    let tally = tally.into_inner().0;
    println!("{tally:?}");
    run.unwrap_or_else(|error| panic!("{error}"));
    // A row without a way is too rare for a count that holds under every seed.
    for what in [
        "one wave",
        "two waves",
        "more waves",
        "aged",
        "not aged",
        "renewed",
        "solved",
        "rests on discarding",
        "deadlock",
        "proved",
        "proved by itself",
        "proved by itself, in layers",
    ] {
        assert!(tally.get(what).is_some_and(|&count| count >= 3), "too few cases of {what:?}: {tally:?}");
    }
}
