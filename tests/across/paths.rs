//! The check of every path, against one that follows each path by itself; and its faults, by name.

use crate::across::random::{Draw, Drawn, Shape, drawn};
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::audit::across::{PathAudit, Question, Stray, SubnetRouting, check_paths};
use reconfig::fabric::PortId;
use reconfig::fabric::subnets::SubnetPort;
use reconfig::fabric::subnets::partitions::{KeyTables, Partitions};
use reconfig::ids::{Half, Lid, PortNum};
use reconfig::routers::{Levels, LevelsRule, PartEnforce, Partitioning, Routes};
use reconfig::verify::Scope;
use std::collections::BTreeMap;
use std::sync::Arc;

const DATA_VLS: u8 = 8;
const HALVES: [Half; 2] = [Half::Lower, Half::Upper];

fn raise(drawn: &Drawn) -> Levels {
    Levels::new(LevelsRule::Raise, drawn.routes.most_crossings(), DATA_VLS).expect("eight lanes suffice")
}

fn checked(drawn: &Drawn, levels: Levels, hop_limit: u8) -> PathAudit {
    checked_with(drawn, levels, hop_limit, None)
}

fn checked_with(drawn: &Drawn, levels: Levels, hop_limit: u8, partitioning: Option<&Partitioning>) -> PathAudit {
    let routing = |tables| SubnetRouting { tables, scope: Scope::of(&HALVES) };
    let routings: Vec<_> = drawn.tables.iter().map(routing).collect();
    let (subnets, routes) = (&drawn.subnets, &drawn.routes);
    check_paths(&Question { subnets, routings: &routings, routes, levels, hop_limit, partitioning })
}

/// Whether a router's port lets what is on its way in (true), or out.
type Lets<'a> = &'a dyn Fn(SubnetPort, bool) -> bool;

/// Every path from a port to a host, one by one: how many switches each has; none where it is lost.
fn each_path(
    drawn: &Drawn,
    from: SubnetPort,
    targets: &[SubnetPort],
    end: SubnetPort,
    lets: Lets<'_>,
) -> Vec<Option<u32>> {
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
                let rest = each_path(drawn, onward.out, &[onward.to.unwrap_or(end)], end, lets);
                let passes = lets(target, true) && lets(onward.out, false);
                found.extend(rest.into_iter().map(|rest| Some(leg? + rest?).filter(|_| passes)));
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

/// By crossings: pairs, paths, lost ones, and the most switches.
type Rows = BTreeMap<u8, (u64, u64, u64, u32)>;

/// The rows, path by path.
fn one_by_one(drawn: &Drawn) -> Rows {
    rows(drawn, |_, _| Some(&|_, _| true))
}

/// The rows of the pairs that may speak with each other, by what routers let pass for each.
fn rows<'a>(drawn: &Drawn, speak: impl Fn(SubnetPort, SubnetPort) -> Option<Lets<'a>>) -> Rows {
    let mut found = Rows::new();
    let all = || drawn.subnets.subnets();
    let hosts =
        || all().flat_map(|(subnet, _)| drawn.subnets.hosts(subnet).map(move |port| SubnetPort { subnet, port }));
    for (from, to) in hosts().flat_map(|from| hosts().map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let Some(lets) = speak(from, to) else { continue };
        let crossings = drawn.routes.crossings(from.subnet, to.subnet).expect("all are joined");
        let first = drawn.routes.first(from.subnet, to.subnet);
        let targets = if from.subnet == to.subnet { std::slice::from_ref(&to) } else { first };
        let paths = each_path(drawn, from, targets, to, lets);
        let own = found.entry(crossings).or_default();
        let lost = paths.iter().filter(|path| path.is_none()).count() as u64;
        let longest = paths.iter().flatten().copied().max().unwrap_or(0);
        *own = (own.0 + 1, own.1 + paths.len() as u64, own.2 + lost, own.3.max(longest));
    }
    found
}

fn told(audit: &PathAudit) -> Rows {
    let row = |found: &reconfig::audit::across::CrossingPaths| {
        (found.crossings, (found.pairs, found.paths, found.lost, found.longest))
    };
    audit.by_crossings.iter().map(row).collect()
}

fn line_of_three(seed: u64) -> Drawn {
    drawn(&Draw { seed, subnets: 3, routers: 2, shape: Shape::Line, data_vls: DATA_VLS })
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(24))]

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

/// What the hosts and the routers of a subnet are in each of three partitions: nothing (0), limited (1) or full members
/// (2).
type Members = [[u8; 2]; 3];

fn partitioned(drawn: &Drawn, members: &[Members], enforce: PartEnforce) -> Partitioning {
    let file = |own: &Members| {
        let rule = |(key, [hosts, routers]): (usize, &[u8; 2])| {
            let word = |kind: &str, how: u8| {
                ["NONE".to_string(), kind.to_string(), format!("{kind}=full")][usize::from(how)].clone()
            };
            format!("P{key}={} : {}, {} ;\n", key + 1, word("ALL_CAS", *hosts), word("ALL_ROUTERS", *routers))
        };
        let text: String = own.iter().enumerate().map(rule).collect();
        Some(Partitions::read(text.as_bytes(), "drawn").expect("a good file").0)
    };
    let subnets = drawn.subnets.clone().with_partitions(members.iter().map(file).collect());
    Partitioning { keys: KeyTables::of(&subnets, &vec![None; subnets.len()]), enforce }
}

/// The first partition in which a host of one subnet may speak with one of another, and whether it is a full member
/// there.
fn common(members: &[Members], from: SubnetPort, to: SubnetPort) -> Option<(usize, bool)> {
    let own = |key: usize, at: SubnetPort| members[at.subnet.index()][key][0];
    let key = (0..3).find(|&key| own(key, from) > 0 && own(key, to) > 0 && own(key, from).max(own(key, to)) == 2)?;
    Some((key, own(key, from) == 2))
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn partitions_agree_with_paths_one_by_one(
        seed in any::<u64>(),
        members in proptest::collection::vec(proptest::array::uniform3(proptest::array::uniform2(0u8..3)), 3),
        enforce in proptest::sample::select(&PartEnforce::ALL[..]),
    ) {
        let drawn = line_of_three(seed);
        let partitioning = partitioned(&drawn, &members, enforce);
        let found = checked_with(&drawn, raise(&drawn), 64, Some(&partitioning));
        let (looks_in, looks_out) = (
            matches!(enforce, PartEnforce::Both | PartEnforce::In),
            matches!(enforce, PartEnforce::Both | PartEnforce::Out),
        );
        let lets = |key: usize, full: bool| {
            let members = members.clone();
            move |at: SubnetPort, inbound: bool| {
                let router = members[at.subnet.index()][key][1];
                let fits = router == 2 || router == 1 && full;
                fits || !(if inbound { looks_in } else { looks_out })
            }
        };
        let each: Vec<_> = (0..6).map(|case| lets(case / 2, case % 2 == 1)).collect();
        let speak = |from, to| common(&members, from, to).map(|(key, full)| &each[2 * key + usize::from(full)] as Lets<'_>);
        let expected = rows(&drawn, speak);
        prop_assert_eq!(told(&found), expected.clone());
        prop_assert_eq!(found.is_sound(), expected.values().all(|row| row.2 == 0));
        let pairs: u64 = one_by_one(&drawn).values().map(|row| row.0).sum();
        prop_assert_eq!(found.pairs() + found.parted.expect("there are partitions"), pairs);
        let by_partition = found.faults.iter().all(|fault| matches!(fault.why, Stray::Partition { .. }));
        prop_assert!(by_partition, "nothing else is wrong: {:?}", found.faults);
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
