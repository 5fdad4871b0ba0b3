//! Fabrics with faults that are known by construction: each is found, named and counted, and no other is claimed.

use super::{judged, plain, shortest};
use crate::support::fabrics::ring;
use reconfig::audit::{Audit, AuditRules, AuditVerdict, DiscardCause, LossReason, RoutingSnapshot, audit};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Lid, Lmc, PortNum};
use reconfig::lid;
use reconfig::tables::Lft;
use reconfig::tables::dump::{read_path_sls, read_sl_to_vl};
use std::fmt::Write;
use std::sync::Arc;

/// A ring of switches with one host each, LMC 0. At switch i, port 1 (port 2 at the first) leads to switch i + 1 and
/// the last port to the host.
fn one_lid_ring(switches: usize) -> Fabric {
    lid::assign(&relabelled(&ring(switches)), Lmc::default()).unwrap()
}

/// LIDs numbered from 1 in index order, LMC 0.
fn relabelled(fabric: &Fabric) -> Fabric {
    let ports: Vec<PortId> = fabric.lid_ports().collect();
    fabric.with_lids(ports.into_iter().zip(1..).map(|(port, lid)| (port, Lid(lid), Lmc::default()))).unwrap()
}

fn port_to(fabric: &Fabric, from: NodeId, to: NodeId) -> PortNum {
    let port = fabric.ports_of(from).find(|&port| fabric.neighbour(port) == Some(to)).expect("neighbours");
    fabric.port(port).num
}

fn switches(fabric: &Fabric) -> Vec<NodeId> {
    fabric.switches().collect()
}

/// All traffic the same way round.
fn one_way(fabric: &Fabric) -> Vec<Arc<Lft>> {
    let ring = switches(fabric);
    let mut tables = vec![Lft::new(); fabric.node_count()];
    for owner in fabric.lid_ports() {
        let (node, lid) = (fabric.port(owner).node, fabric.port(owner).lid.unwrap());
        for (at, &switch) in ring.iter().enumerate() {
            let next = ring[(at + 1) % ring.len()];
            let beside = fabric.ports_of(switch).any(|port| fabric.neighbour(port) == Some(node));
            let port = match (switch == node, beside && !fabric.node(node).is_switch()) {
                (true, _) => PortNum::ZERO,
                (_, true) => port_to(fabric, switch, node),
                _ => port_to(fabric, switch, next),
            };
            tables[switch.index()].set(lid, port);
        }
    }
    tables.into_iter().map(Arc::new).collect()
}

fn set(tables: &mut [Arc<Lft>], switch: NodeId, lid: Lid, port: PortNum) {
    Arc::make_mut(&mut tables[switch.index()]).set(lid, port);
}

fn host_lid(fabric: &Fabric, index: usize) -> Lid {
    let port = fabric.end_ports().nth(index).expect("that many hosts");
    fabric.port(port).lid.expect("a LID")
}

#[test]
fn a_ring_routed_one_way_round_has_one_credit_loop_of_its_length() {
    for length in [3, 5, 8] {
        let fabric = one_lid_ring(length);
        let found = judged(&plain(&fabric, &one_way(&fabric)));
        assert_eq!(found.faults, ["credit-loops"]);
        let lanes: Vec<usize> = found.credit_loops.components.iter().map(|component| component.lanes).collect();
        assert_eq!((lanes, found.credit_loops.lanes, found.credit_loops.shortest), (vec![length], length, true));
        let cycle = found.credit_loops.cycle.as_ref().expect("a witness");
        assert_eq!(cycle.len(), length);
        assert_eq!((found.pairs, found.unreachable_pairs.count), (length * (length - 1), 0));
        let all: Vec<&str> = cycle.iter().map(|dependency| &*dependency.switch.name).collect();
        let distinct: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(distinct.len(), length, "each switch once: {all:?}");
        for dependency in cycle {
            assert!(dependency.source.starts_with("host-") && dependency.destination.starts_with("host-"));
        }
    }
}

#[test]
fn lanes_of_their_own_open_the_ring_and_one_lane_for_all_closes_it_again() {
    let fabric = one_lid_ring(5);
    let tables = one_way(&fabric);
    let mut rows = String::new();
    for (at, source) in fabric.end_ports().enumerate() {
        let guid = fabric.node(fabric.port(source).node).guid;
        (0..5).for_each(|to| writeln!(rows, "{guid} {} {at}", host_lid(&fabric, to).0).unwrap());
    }
    let sls = read_path_sls(rows.as_bytes(), "paths", &fabric).unwrap();
    let layered = RoutingSnapshot { path_sls: Some(&sls), ..plain(&fabric, &tables) };
    // No packet of a source passes that source's switch, so the ring is open on the lane of its service level.
    let found = judged(&layered);
    assert_eq!((found.faults.len(), found.credit_loops.cycle), (0, None));
    let cycle_of = |found: Audit| {
        assert_eq!(found.faults, ["credit-loops"]);
        found.credit_loops.cycle.expect("a witness")
    };
    // With one lane in operation all are on it; so they are where the switches' tables say so.
    let cycle = cycle_of(audit(&layered, AuditRules { data_vls: Some(1), switches: false }).unwrap());
    assert!(cycle.len() == 5 && cycle.iter().all(|dependency| dependency.output.vl.get() == 0));
    let mut text = String::new();
    for &switch in &switches(&fabric) {
        let cabled = || fabric.ports_of(switch).filter(|&port| fabric.peer(port).is_some());
        for (input, output) in cabled().flat_map(|input| cabled().map(move |output| (input, output))) {
            let [input, output] = [input, output].map(|port| fabric.port(port).num);
            writeln!(text, "{} {input} {output}{}", fabric.node(switch).guid, " 0x33".repeat(8)).unwrap();
        }
    }
    let dump = read_sl_to_vl(text.as_bytes(), "tables", &fabric).unwrap();
    let cycle = cycle_of(judged(&RoutingSnapshot { sl_to_vl: Some(&dump), ..layered }));
    assert!(cycle.len() == 5 && cycle.iter().all(|dependency| dependency.output.vl.get() == 3));
    let levels: std::collections::BTreeSet<u8> = cycle.iter().map(|dependency| dependency.sl.get()).collect();
    assert!(levels.len() > 1, "no source closes it alone: {levels:?}");
}

#[test]
fn lanes_that_are_not_in_operation_discard() {
    let fabric = one_lid_ring(4);
    let tables = shortest(&fabric);
    let guid = |index: usize| {
        let port = fabric.end_ports().nth(index).unwrap();
        fabric.node(fabric.port(port).node).guid
    };
    let rows = format!("{} {} 3\n{} {} 0\n", guid(0), host_lid(&fabric, 1).0, guid(0), host_lid(&fabric, 2).0);
    let sls = read_path_sls(rows.as_bytes(), "paths", &fabric).unwrap();
    let snapshot = RoutingSnapshot { path_sls: Some(&sls), ..plain(&fabric, &tables) };
    let with = |data_vls| audit(&snapshot, AuditRules { data_vls, switches: false }).unwrap();
    // Without a table and without a count of lanes SL 3 is on VL 3; with two lanes on VL 1.
    for data_vls in [None, Some(2)] {
        let found = with(data_vls);
        assert_eq!(found.faults, ["unreachable-pairs"], "{data_vls:?}");
        let pair = &found.unreachable_pairs.first[0];
        assert_eq!((found.unreachable_pairs.count, pair.why, pair.lid), (1, LossReason::NoPath, host_lid(&fabric, 3)));
    }
    let tables_of_sources = format!("{} 0 1 0x00 0x02 0x00 0x00 0x00 0x00 0x00 0x00\n", guid(0));
    let dump = read_sl_to_vl(tables_of_sources.as_bytes(), "tables", &fabric).unwrap();
    let narrow = RoutingSnapshot { sl_to_vl: Some(&dump), ..snapshot };
    let found = audit(&narrow, AuditRules { data_vls: Some(2), switches: false }).unwrap();
    assert_eq!(found.faults, ["black-holes", "unreachable-pairs"]);
    let hole = &found.black_holes.first[0];
    assert!(matches!(hole.cause, DiscardCause::NoLane { vl: Some(vl), .. } if vl.get() == 2), "{hole:?}");
    assert_eq!((hole.device.guid, found.unreachable_pairs.count), (guid(0), 2));
}

#[test]
fn every_kind_of_fault_is_told_and_none_hides_another() {
    let fabric = one_lid_ring(6);
    let ring = switches(&fabric);
    let mut tables = shortest(&fabric);
    let [a, b, c, d] = [1, 2, 3, 4].map(|index| host_lid(&fabric, index));
    // To host 1: switch 3 has no route. To host 2: switch 4 names a port without a cable. To host 3: switches 0 and 1
    // send to each other. To host 4: switch 4 delivers to switch 4 itself.
    set(&mut tables, ring[3], a, PortNum::NO_ROUTE);
    set(&mut tables, ring[4], b, PortNum(40));
    set(&mut tables, ring[0], c, port_to(&fabric, ring[0], ring[1]));
    set(&mut tables, ring[1], c, port_to(&fabric, ring[1], ring[0]));
    set(&mut tables, ring[4], d, PortNum::ZERO);
    let found = judged(&plain(&fabric, &tables));
    assert_eq!(found.verdict(), AuditVerdict::Unsafe);
    assert_eq!(found.faults, ["credit-loops", "loops", "black-holes", "wrong-arrivals", "unreachable-pairs"]);
    let holes: Vec<_> = found.black_holes.first.iter().map(|hole| (hole.lid, hole.cause)).collect();
    assert_eq!(holes, [(a, DiscardCause::NoRoute), (b, DiscardCause::NoCable { port: PortNum(40) })]);
    let round = &found.loops.first[0];
    assert_eq!((found.loops.count, round.lid, round.hops.len()), (1, c, 2));
    assert_eq!((found.wrong_arrivals.count, found.wrong_arrivals.first[0].lid), (1, d));
    // Two switches that send a DLID to each other hold each other's lanes: a loop is a cycle of lanes too.
    assert_eq!(found.credit_loops.cycle.as_ref().map(Vec::len), Some(2));
    let of = |lid, why| {
        let pairs = found.unreachable_pairs.first.iter().filter(|pair| pair.lid == lid);
        assert!(pairs.clone().count() > 0 && pairs.clone().all(|pair| pair.why == why), "{lid}: {why:?}");
    };
    of(a, LossReason::BlackHole);
    of(b, LossReason::BlackHole);
    assert_eq!(found.unreachable_pairs.first.len(), 10.min(found.unreachable_pairs.count));
}

#[test]
fn a_missing_route_is_no_credit_loop_and_an_unused_entry_no_fault() {
    let fabric = one_lid_ring(5);
    let ring = switches(&fabric);
    let mut tables = shortest(&fabric);
    let before: Audit = judged(&plain(&fabric, &tables));
    // Nobody sends to a switch's LID, so nobody misses its route; with switches as ends, everybody does.
    let lid = fabric.port(fabric.node(ring[2]).first_port).lid.unwrap();
    ring.iter().for_each(|&switch| set(&mut tables, switch, lid, PortNum::NO_ROUTE));
    assert_eq!(judged(&plain(&fabric, &tables)), Audit { notes: Vec::new(), ..before });
    let found = audit(&plain(&fabric, &tables), AuditRules { switches: true, data_vls: None }).unwrap();
    assert_eq!(
        found.faults,
        ["credit-loops", "black-holes", "unreachable-pairs"]
            .split_at(usize::from(found.credit_loops.cycle.is_none()))
            .1
    );
    assert_eq!(found.unreachable_pairs.count, 9, "from every other end to that switch");
}

#[test]
fn a_fabric_without_lids_is_refused() {
    let fabric = one_lid_ring(3);
    let bare = fabric.with_lids(std::iter::empty()).unwrap();
    let error = audit(&plain(&bare, &shortest(&bare)), AuditRules::default()).expect_err("nobody can send");
    assert!(error.to_string().contains("no end port of the fabric has a LID"), "{error}");
}

#[test]
fn two_hosts_on_one_cable_need_no_switch() {
    let text = "Ca 1 \"H-0000000000000010\" # \"a\"\n[1](11) \"H-0000000000000020\"[1] # lid 1 lmc 0 \"b\" lid 2 4xHDR\n\n\
                Ca 1 \"H-0000000000000020\" # \"b\"\n[1](21) \"H-0000000000000010\"[1] # lid 2 lmc 0 \"a\" lid 1 4xHDR\n";
    let fabric = reconfig::fabric::format::read(text.as_bytes(), "pair")
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    let found = judged(&plain(&fabric, &vec![Arc::default(); fabric.node_count()]));
    assert_eq!((found.verdict(), found.pairs, found.lanes, found.dependencies), (AuditVerdict::Safe, 2, 2, 0));
}
