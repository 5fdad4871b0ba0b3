//! The check of every path, against one that follows each path by itself; and its faults, by name.

use crate::random::{Draw, Drawn, Shape, drawn};
use proptest::prelude::*;
use reconfig::audit::across::{PathAudit, Question, Stray, SubnetRouting, check_paths};
use reconfig::fabric::PortId;
use reconfig::fabric::subnets::SubnetPort;
use reconfig::ids::{Half, Lid, PortNum};
use reconfig::routers::{Levels, LevelsRule, Routes};
use std::collections::BTreeMap;
use std::sync::Arc;

const DATA_VLS: u8 = 8;
const HALVES: [Half; 2] = [Half::Lower, Half::Upper];

fn raise(drawn: &Drawn) -> Levels {
    Levels::new(LevelsRule::Raise, drawn.routes.most_crossings(), DATA_VLS).expect("eight lanes suffice")
}

fn checked(drawn: &Drawn, levels: Levels, hop_limit: u8) -> PathAudit {
    let routings = drawn.subnets.subnets().zip(&drawn.tables);
    let routing =
        |((_, subnet), tables): ((_, &'_ reconfig::fabric::subnets::Subnet), _)| (subnet.fabric.clone(), tables);
    let own: Vec<(_, &reconfig::tables::SubnetTables)> = routings.map(routing).collect();
    let routings = own
        .iter()
        .map(|(fabric, tables)| SubnetRouting { fabric, lfts: &tables.lfts, halves: HALVES.to_vec() })
        .collect();
    check_paths(&Question {
        subnets: &drawn.subnets,
        routings,
        routes: &drawn.routes,
        levels,
        hop_limit,
        partitioning: None,
    })
}

/// Every path from a port to a host, one by one: how many switches each has; none where it is lost.
fn each_path(drawn: &Drawn, from: SubnetPort, targets: &[SubnetPort], end: SubnetPort) -> Vec<Option<u32>> {
    let mut found = Vec::new();
    for &target in targets {
        for lid in HALVES.into_iter().flat_map(|half| drawn.subnets.fabric(from.subnet).half_lids(target.port, half)) {
            let leg = switches(drawn, from, lid, target.port);
            if target == end {
                found.push(leg);
                continue;
            }
            let router = drawn.subnets.router_of(target).expect("a router");
            for onward in drawn.routes.onward(router, end.subnet) {
                let rest = each_path(drawn, onward.out, &[onward.to.unwrap_or(end)], end);
                found.extend(rest.into_iter().map(|rest| Some(leg? + rest?)));
            }
        }
    }
    found
}

fn switches(drawn: &Drawn, from: SubnetPort, lid: Lid, owner: PortId) -> Option<u32> {
    let (fabric, tables) = (drawn.subnets.fabric(from.subnet), &drawn.tables[from.subnet.index()]);
    let mut at = fabric.peer(from.port)?;
    for switches in 0..100 {
        let node = fabric.port(at).node;
        if !fabric.node(node).is_switch() {
            return (at == owner).then_some(switches);
        }
        at = fabric.peer(fabric.port_at(node, tables.lfts[node.index()].get(lid)?)?)?;
    }
    None
}

/// (pairs, paths, lost, longest) by crossings, path by path.
fn one_by_one(drawn: &Drawn) -> BTreeMap<u8, (u64, u64, u64, u32)> {
    let mut found: BTreeMap<u8, (u64, u64, u64, u32)> = BTreeMap::new();
    let all = || drawn.subnets.subnets();
    let hosts =
        || all().flat_map(|(subnet, _)| drawn.subnets.hosts(subnet).map(move |port| SubnetPort { subnet, port }));
    for (from, to) in hosts().flat_map(|from| hosts().map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let crossings = drawn.routes.crossings(from.subnet, to.subnet).expect("all are joined");
        let first = drawn.routes.first(from.subnet, to.subnet);
        let paths =
            each_path(drawn, from, if from.subnet == to.subnet { std::slice::from_ref(&to) } else { first }, to);
        let own = found.entry(crossings).or_default();
        let lost = paths.iter().filter(|path| path.is_none()).count() as u64;
        let longest = paths.iter().flatten().copied().max().unwrap_or(0);
        *own = (own.0 + 1, own.1 + paths.len() as u64, own.2 + lost, own.3.max(longest));
    }
    found
}

fn told(audit: &PathAudit) -> BTreeMap<u8, (u64, u64, u64, u32)> {
    let row = |found: &reconfig::audit::across::CrossingPaths| {
        (found.crossings, (found.pairs, found.paths, found.lost, found.longest))
    };
    audit.by_crossings.iter().map(row).collect()
}

fn line_of_three(seed: u64) -> Drawn {
    drawn(&Draw { seed, subnets: 3, routers: 2, shape: Shape::Line, data_vls: DATA_VLS })
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::with_cases(24) })]

    #[test]
    fn agrees_with_paths_one_by_one(seed in any::<u64>(), broken in any::<Option<(usize, usize, u8)>>()) {
        let mut drawn = line_of_three(seed);
        if let Some((subnet, entry, port)) = broken {
            break_entry(&mut drawn, subnet % 3, entry, PortNum(port % 8));
        }
        let found = checked(&drawn, raise(&drawn), 64);
        let each = one_by_one(&drawn);
        prop_assert_eq!(told(&found), each.clone());
        prop_assert_eq!(found.is_sound(), each.values().all(|row| row.2 == 0));
        prop_assert!(broken.is_some() || found.is_sound());
    }
}

/// Sets one entry of one switch.
fn break_entry(drawn: &mut Drawn, subnet: usize, entry: usize, port: PortNum) {
    let (_, own) = drawn.subnets.subnets().nth(subnet).expect("a subnet");
    let switches: Vec<_> = own.fabric.switches().collect();
    let lids: Vec<Lid> = own.fabric.end_ports().flat_map(|port| own.fabric.half_lids(port, Half::Lower)).collect();
    let switch = switches[entry % switches.len()];
    let lid = lids[entry / switches.len() % lids.len()];
    Arc::make_mut(&mut drawn.tables[subnet].lfts[switch.index()]).set(lid, port);
}

#[test]
fn what_is_wrong_is_named() {
    let whole = line_of_three(1);
    let levels = raise(&whole);
    assert!(checked(&whole, levels, 3).is_sound(), "two crossings take a hop limit of three");
    let short = checked(&whole, levels, 2);
    assert_eq!(short.faults[0].why, Stray::HopLimit);
    let lost: Vec<bool> = short.by_crossings.iter().map(|found| found.lost == found.paths).collect();
    assert_eq!(lost, [false, false, true]);
    let two_layers = Levels::new(LevelsRule::Raise, 1, DATA_VLS).expect("two layers");
    assert_eq!(checked(&whole, two_layers, 64).faults[0].why, Stray::Layers);
    let apart = Drawn { routes: Routes::new(&whole.subnets, |_| false), ..line_of_three(1) };
    let found = checked(&apart, Levels::KEEP, 64);
    assert_eq!((found.by_crossings.len(), &found.faults[0].why), (1, &Stray::NoRouter));
    assert!(found.apart > 0 && found.faulty_pairs == found.apart);
    let mut holed = line_of_three(1);
    break_entry(&mut holed, 1, 0, PortNum::NO_ROUTE);
    let fault = checked(&holed, levels, 64).faults[0].clone();
    let text = fault.why.to_string();
    assert!(matches!(fault.why, Stray::Hole { .. }) && text.contains("subnet-1:sw-1-0 has no route for LID"), "{text}");
}
