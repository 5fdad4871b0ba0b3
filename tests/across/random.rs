//! Random subnets, routers anywhere: raised levels are proved whenever each subnet is; kept ones exactly where the
//! oracle finds no cycle. Steady, and with a change in one subnet or two.

use crate::across::oracle::{self, Tables};
use crate::across::plans::{double, parts, scope};
use crate::support::properties::properties;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::fabric::subnets::{Subnet, Subnets};
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind};
use reconfig::ids::{GidPrefix, Guid, Half, Lmc, PortNum};
use reconfig::lid;
use reconfig::routers::{Levels, LevelsRule, Routes};
use reconfig::routing::{Demand, Engine, UpDown, choose_root};
use reconfig::tables::SubnetTables;
use reconfig::verify::Scope;
use reconfig::verify::across::{AcrossRefusal, Link, ProvedAcross, Whole, prove_across};
use reconfig::vet::Vetted;
use std::sync::Arc;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    pub seed: u64,
    pub subnets: usize,
    pub routers: usize,
    /// Beyond a line of subnets: a ring, or one router in all of them.
    pub shape: Shape,
    pub data_vls: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Line,
    Ring,
    Hub,
}

/// Which subnets each router joins.
fn joins(draw: &Draw) -> Vec<Vec<usize>> {
    let pairs = match draw.shape {
        Shape::Hub => vec![(0..draw.subnets).collect()],
        Shape::Line => (1..draw.subnets).map(|to| vec![to - 1, to]).collect::<Vec<_>>(),
        Shape::Ring if draw.subnets < 3 => vec![vec![0, 1]],
        Shape::Ring => (0..draw.subnets).map(|from| vec![from, (from + 1) % draw.subnets]).collect(),
    };
    pairs.into_iter().flat_map(|pair| std::iter::repeat_n(pair, draw.routers)).collect()
}

/// A ring, a random tree with chords, or one with many.
fn links(rng: &mut Pcg64, switches: usize) -> Vec<(usize, usize)> {
    if rng.random_bool(0.4) {
        return (0..switches).map(|at| (at, (at + 1) % switches)).collect();
    }
    let mut links: Vec<(usize, usize)> = (1..switches).map(|at| (rng.random_range(0..at), at)).collect();
    for _ in 0..rng.random_range(0..5) {
        let a = rng.random_range(0..switches);
        links.push((a, (a + rng.random_range(1..switches)) % switches));
    }
    links
}

/// One subnet: `routers` as (rank among all, port).
fn subnet(rng: &mut Pcg64, rank: usize, routers: &[(usize, u8)], data_vls: u8) -> Fabric {
    let switches = rng.random_range(3..6);
    let mut builder = FabricBuilder::new();
    let base = 0x1_0000 * (rank as u64 + 1);
    let nodes: Vec<NodeId> = (0..switches)
        .map(|at| builder.node(NodeKind::Switch, Guid(base + at as u64), 30, format!("sw-{rank}-{at}")))
        .collect();
    let mut used = vec![0u8; switches];
    let mut next = |at: usize| {
        used[at] += 1;
        (nodes[at], PortNum(used[at]))
    };
    for (a, b) in links(rng, switches) {
        builder.link(next(a), next(b), Default::default(), Default::default()).unwrap();
    }
    for at in 0..switches {
        let host = builder.node(NodeKind::Ca, Guid(base + 0x100 + at as u64), 1, format!("host-{rank}-{at}"));
        builder.link(next(at), (host, PortNum(1)), Default::default(), Default::default()).unwrap();
    }
    for &(router, port) in routers {
        let node = builder.node(NodeKind::Router, Guid(0xF000 + router as u64), 4, format!("router-{router}"));
        let at = rng.random_range(0..switches);
        builder.link(next(at), (node, PortNum(port)), Default::default(), Default::default()).unwrap();
    }
    let fabric = builder.build().unwrap().with_data_vls(data_vls);
    lid::assign(&fabric, Lmc::masked(1)).unwrap()
}

/// Subnets, routed by up*/down* from random roots.
pub struct Drawn {
    pub subnets: Subnets,
    pub tables: Vec<SubnetTables>,
    pub routes: Routes,
}

pub fn drawn(draw: &Draw) -> Drawn {
    let mut rng = Pcg64::seed_from_u64(draw.seed);
    let joins = joins(draw);
    let mut list = Vec::new();
    let mut tables = Vec::new();
    for rank in 0..draw.subnets {
        let place = |joined: &Vec<usize>| joined.iter().position(|&own| own == rank);
        let routers: Vec<(usize, u8)> =
            (0..).zip(&joins).filter_map(|(router, joined)| Some((router, place(joined)? as u8 + 1))).collect();
        let fabric = subnet(&mut rng, rank, &routers, draw.data_vls);
        let switches: Vec<NodeId> = fabric.switches().collect();
        let root = Some(switches[rng.random_range(0..switches.len())]);
        let function = UpDown { root }.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
        tables.push(lid::bring_up(&fabric, &function, draw.data_vls));
        let (name, prefix) = (format!("subnet-{rank}"), GidPrefix::site_local(rank as u16 + 1));
        list.push(Subnet { name, prefix, fabric });
    }
    let subnets = Subnets::new(list).unwrap();
    let routes = Routes::all(&subnets);
    Drawn { subnets, tables, routes }
}

impl Drawn {
    /// Every subnet as it is, or with the plan given.
    fn whole<'a>(&'a self, plans: &'a [Option<Arc<Vetted>>], scope: &'a Scope, levels: Levels) -> Whole<'a> {
        let parts = parts(&self.subnets, &self.tables, plans, scope);
        Whole { subnets: &self.subnets, parts, routes: vec![&self.routes], levels }
    }

    fn steady(&self) -> Vec<Option<Arc<Vetted>>> {
        vec![None; self.subnets.len()]
    }

    /// Plans of scheme `double` for the first `changing` subnets, which lose the switch that routing likes best for a
    /// root.
    fn plans(&self, changing: usize) -> Vec<Option<Arc<Vetted>>> {
        let plan = |((rank, (_, subnet)), tables): ((usize, (_, &Subnet)), &SubnetTables)| {
            let root = choose_root(&subnet.fabric)?;
            let sm = subnet.fabric.end_ports().find(|&port| subnet.fabric.neighbour(port) != Some(root))?;
            let fabrics = (&subnet.fabric, subnet.fabric.without_nodes(&[root]));
            (rank < changing).then(|| double(fabrics, rank > 0, tables, sm))
        };
        self.subnets.subnets().enumerate().zip(&self.tables).map(plan).collect()
    }
}

fn draws(data_vls: u8) -> impl Strategy<Value = Draw> {
    let shapes = prop_oneof![Just(Shape::Line), Just(Shape::Ring), Just(Shape::Hub)];
    let shape = (any::<u64>(), 2usize..5, 1usize..4, shapes);
    shape.prop_map(move |(seed, subnets, routers, shape)| Draw { seed, subnets, routers, shape, data_vls })
}

fn raised(drawn: &Drawn, data_vls: u8) -> Levels {
    Levels::new(LevelsRule::Raise, drawn.routes.most_crossings(), data_vls).expect("eight lanes suffice")
}

/// Whether it is proved; a refusal is a cycle through routers.
fn proved(whole: &Whole<'_>) -> Option<ProvedAcross> {
    match prove_across(whole) {
        Ok(proof) => Some(proof),
        Err(AcrossRefusal::Deadlock(cycle)) => {
            assert!(cycle.crossings() >= 2 && cycle.links.len() == cycle.lanes.len(), "{cycle}");
            assert_chained(&cycle.links);
            None
        }
        Err(refusal) => panic!("{refusal}"),
    }
}

/// The lane in which each link ends is where the next begins.
fn assert_chained(links: &[Link]) {
    let ends = |link: &Link| match link {
        Link::Inside { subnet, dependency } => {
            [dependency.input.vl, dependency.output.vl].map(|vl| (subnet.clone(), vl))
        }
        Link::Through(crossing) => [&crossing.input, &crossing.output].map(|end| (end.subnet.clone(), end.vl)),
    };
    for (link, next) in links.iter().zip(links.iter().cycle().skip(1)) {
        assert_eq!(ends(link)[1], ends(next)[0]);
    }
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn raised_levels_are_proved(draw in draws(8)) {
        let drawn = drawn(&draw);
        let (scope, levels) = (scope(), raised(&drawn, draw.data_vls));
        prop_assert!(!oracle::deadlocks(&drawn.subnets, &tables(&drawn), &drawn.routes, levels));
        prop_assert!(proved(&drawn.whole(&drawn.steady(), &scope, levels)).is_some());
    }

    #[test]
    fn kept_levels_are_refused_where_packets_close_a_cycle(draw in draws(2)) {
        let drawn = drawn(&draw);
        let deadlocks = oracle::deadlocks(&drawn.subnets, &tables(&drawn), &drawn.routes, Levels::KEEP);
        prop_assert_eq!(proved(&drawn.whole(&drawn.steady(), &scope(), Levels::KEEP)).is_none(), deadlocks);
    }
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn raised_levels_are_proved_at_every_moment_of_changes(draw in draws(8), changing in 1usize..3) {
        let drawn = drawn(&draw);
        let (plans, scope, levels) = (drawn.plans(changing), scope(), raised(&drawn, draw.data_vls));
        let whole = drawn.whole(&plans, &scope, levels);
        let found = proved(&whole).map(|proof| (proof.statistics().moments, proof.searches()));
        // The moment before, and five waves; all at once.
        prop_assert_eq!(found, Some((6usize.pow(changing as u32), 1)));
        prop_assert!(!oracle::deadlocks_at_some_moment(&whole));
    }

    #[test]
    fn kept_levels_during_changes_are_refused_where_packets_close_a_cycle(draw in draws(2), changing in 1usize..3) {
        let drawn = drawn(&draw);
        let (plans, scope) = (drawn.plans(changing), scope());
        let whole = drawn.whole(&plans, &scope, Levels::KEEP);
        prop_assert_eq!(proved(&whole).is_none(), oracle::deadlocks_at_some_moment(&whole));
    }
}

fn tables(drawn: &Drawn) -> Vec<Tables<'_>> {
    let subnets = drawn.subnets.subnets().zip(&drawn.tables);
    subnets.map(|((_, subnet), tables)| Tables { fabric: &subnet.fabric, tables, half: Half::Lower }).collect()
}

#[test]
fn both_verdicts_are_met_by_random_draws() {
    let shapes = [Shape::Line, Shape::Ring, Shape::Hub];
    let draw = |seed: u64| Draw {
        seed,
        subnets: 2 + seed as usize % 3,
        routers: 1 + seed as usize / 3 % 3,
        shape: shapes[seed as usize / 9 % 3],
        data_vls: 2,
    };
    let verdict = |seed| {
        let drawn = drawn(&draw(seed));
        proved(&drawn.whole(&drawn.steady(), &scope(), Levels::KEEP)).is_some()
    };
    let verdicts: Vec<bool> = (0..54).map(verdict).collect();
    let sound = verdicts.iter().filter(|&&sound| sound).count();
    println!("{sound} of {} draws are proved with kept levels", verdicts.len());
    assert!((3..=51).contains(&sound), "{verdicts:?}");
}

#[test]
fn a_cycle_during_a_change_names_its_moment() {
    let draw = Draw { seed: 3, subnets: 2, routers: 3, shape: Shape::Line, data_vls: 2 };
    let drawn = drawn(&draw);
    let (plans, scope) = (drawn.plans(1), scope());
    let Err(AcrossRefusal::Deadlock(cycle)) = prove_across(&drawn.whole(&plans, &scope, Levels::KEEP)) else {
        panic!("three routers and kept levels")
    };
    let text = cycle.to_string();
    assert_eq!(cycle.moment.len(), 1, "{text}");
    let moment = &cycle.moment[0];
    assert!(
        moment.subnet == "subnet-0" && text.contains(&format!(", with subnet-0 in wave {}", moment.wave)),
        "{text}"
    );
}

#[test]
fn routers_may_go_by_the_ways_of_before_and_after() {
    let draw = Draw { seed: 5, subnets: 4, routers: 1, shape: Shape::Ring, data_vls: 8 };
    let drawn = drawn(&draw);
    let leaving = &drawn.subnets.routers()[1];
    let after = Routes::new(&drawn.subnets, |at| !leaving.ports.contains(&at)).keeping(&drawn.routes);
    assert_eq!((drawn.routes.most_crossings(), after.most_crossings()), (2, 3));
    let (scope, levels) = (scope(), Levels::new(LevelsRule::Raise, 3, 8).expect("four layers"));
    let steady = drawn.steady();
    let whole = drawn.whole(&steady, &scope, levels);
    let passages = |routes| proved(&Whole { routes, ..whole.clone() }).expect("raised levels").statistics().passages;
    assert_eq!((passages(vec![&drawn.routes]), passages(vec![&after])), (8, 6), "both ways through each router");
    // What came on the way to subnet 2 to a router that no longer leads there turns back.
    assert!(passages(vec![&drawn.routes, &after]) > 8);
}

/// How the search ends with kept levels while subnets change: each end agrees with the oracle, which judges every
/// moment.
#[test]
fn every_end_of_the_search_agrees_with_every_moment() {
    let shapes = [Shape::Line, Shape::Ring, Shape::Hub];
    let mut ends = [0; 4];
    for seed in 0..45 {
        let (routers, shape) = (1 + seed as usize / 3 % 3, shapes[seed as usize / 9 % 3]);
        let drawn = drawn(&Draw { seed, subnets: 2 + seed as usize % 3, routers, shape, data_vls: 2 });
        let (plans, scope) = (drawn.plans(2), scope());
        let whole = drawn.whole(&plans, &scope, Levels::KEEP);
        let (end, sound) = match prove_across(&whole) {
            Ok(proof) => (usize::from(proof.searches() > 1), true),
            Err(AcrossRefusal::Deadlock(cycle)) => {
                (2 + usize::from(cycle.moment.iter().any(|at| at.wave != "steady")), false)
            }
            Err(refusal) => panic!("{refusal}"),
        };
        ends[end] += 1;
        assert_eq!(!sound, oracle::deadlocks_at_some_moment(&whole), "seed {seed}");
    }
    println!("proved at once, proved by settling, refused before the change, refused during it: {ends:?}");
    assert!(ends[0] > 0 && ends[2] > 0, "{ends:?}");
}

/// Levels that rise only at turns: once on a line of subnets, at most three times on these rings.
#[test]
fn levels_that_rise_at_turns_are_proved_for_more_than_three_routers_in_a_row() {
    for (seed, subnets, routers, shape, data_vls) in
        [(1, 6, 1, Shape::Line, 4), (2, 7, 2, Shape::Line, 4), (3, 8, 1, Shape::Ring, 8), (4, 9, 1, Shape::Ring, 8)]
    {
        let drawn = drawn(&Draw { seed, subnets, routers, shape, data_vls });
        assert!(drawn.routes.most_crossings() > 3);
        let turns = drawn.routes.most_raises(LevelsRule::Turn, &drawn.subnets);
        assert!(turns == 1 || shape == Shape::Ring && turns <= 3, "{subnets} subnets turn {turns} times");
        let raised = Levels::new(LevelsRule::Raise, drawn.routes.most_raises(LevelsRule::Raise, &drawn.subnets), 8);
        assert!(raised.unwrap_err().to_string().contains("--router-sl turn"));
        let levels = Levels::new(LevelsRule::Turn, turns, data_vls).expect("lanes enough");
        let (steady, scope) = (drawn.steady(), scope());
        let whole = drawn.whole(&steady, &scope, levels);
        assert!(proved(&whole).is_some(), "{subnets} subnets");
        assert!(!oracle::deadlocks_at_some_moment(&whole));
    }
}
