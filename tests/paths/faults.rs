//! Elements that left, hosts with several ports, fabrics without switches or pairs, and what is refused.

use crate::paths::oracle::*;
use crate::support::fabrics::{fabric_of, random_fabric, ring};
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, PortNum};
use reconfig::routing::{Demand, RouteError, choose_root};

fn switch(fabric: &Fabric, nth: usize) -> NodeId {
    fabric.switches().nth(nth).unwrap()
}

/// A fabric in which host `i` has one port on each switch of `hosts[i]`.
fn with_hosts(switches: usize, links: &[(usize, usize)], hosts: &[&[usize]]) -> Fabric {
    let mut builder = FabricBuilder::new();
    let mut used = vec![0u8; switches];
    let nodes: Vec<NodeId> =
        (0..switches).map(|i| builder.node(NodeKind::Switch, Guid(0x100 + i as u64), 20, format!("sw-{i}"))).collect();
    let mut next = |i: usize| {
        used[i] += 1;
        (nodes[i], PortNum(used[i]))
    };
    for &(a, b) in links {
        builder.link(next(a), next(b), Default::default(), Default::default()).unwrap();
    }
    for (host, ports) in hosts.iter().enumerate() {
        let node =
            builder.node(NodeKind::Ca, Guid(0x1000 + host as u64), ports.len().max(1) as u8, format!("h-{host}"));
        for (&at, port) in ports.iter().zip(1..) {
            builder.link(next(at), (node, PortNum(port)), Default::default(), Default::default()).unwrap();
        }
    }
    builder.build().unwrap()
}

#[test]
fn each_port_of_a_host_is_an_end_of_its_own() {
    let fabric = with_hosts(3, &[(0, 1), (1, 2)], &[&[0, 2], &[1, 1], &[2]]);
    for name in BY_PATH {
        let paths = paths_of(name, &fabric, 0);
        let ends: Vec<PortId> = fabric.end_ports().collect();
        assert_eq!(ends.len(), 5);
        for &from in &ends {
            for &to in ends.iter().filter(|&&to| to != from) {
                assert!(
                    paths.iter().any(|path| (path.source, path.destination) == (from, to)),
                    "{name}: {from:?} {to:?}"
                );
            }
        }
        paths.iter().for_each(|path| check_course(&fabric, &path));
    }
}

#[test]
fn what_left_is_neither_passed_nor_led_to() {
    for seed in 0..40u64 {
        let whole = random_fabric(seed, 4 + seed as usize % 6, 6 + seed as usize % 8, 1);
        let root = choose_root(&whole).unwrap();
        let fabric = whole.without_nodes(&[root]);
        let sm = fabric.end_ports().next().unwrap();
        for name in BY_PATH {
            let demand = Demand::joined_with(&fabric, sm, 1);
            let paths = path_engine(name, None, seed).paths(&fabric, &demand).unwrap();
            let pairs = demand.destinations.len() * (demand.destinations.len() - 1);
            assert_eq!(paths.len(), pairs, "{name}, seed {seed}");
            for path in paths.iter() {
                check_course(&fabric, &path);
                assert!(path.hops.iter().all(|hop| hop.switch != root), "{name}, seed {seed}");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let whole = ring(4);
    let gone = switch(&whole, 1);
    let cut = whole.without_nodes(&[gone, switch(&whole, 3)]);
    let host = whole.port(whole.end_ports().next().unwrap()).node;
    for &name in BY_PATH {
        let of = |root| path_engine(name, root, 0);
        let refused = |root, fabric: &Fabric, demand| of(root).paths(fabric, &demand).unwrap_err();
        assert!(
            matches!(refused(None, &cut, Demand::all(&cut, 1)), RouteError::Unreachable { engine, .. } if engine == name)
        );
        for root in [gone, host] {
            let error = refused(
                Some(root),
                &whole.without_nodes(&[gone]),
                Demand { destinations: vec![], ..Demand::all(&whole, 1) },
            );
            assert!(matches!(error, RouteError::RootAbsent { engine, .. } if engine == name), "{error}");
        }
        let sm = cut.end_ports().next().unwrap();
        let error = refused(Some(switch(&whole, 2)), &cut, Demand::joined_with(&cut, sm, 1));
        assert!(matches!(error, RouteError::RootApart { engine, .. } if engine == name), "{error}");
        let error = refused(None, &whole, Demand::all(&whole, 0));
        assert!(matches!(error, RouteError::Paths { paths: 0, .. }), "{error}");
    }
}

#[test]
fn nothing_to_join_is_no_error() {
    let empty = FabricBuilder::new().build().unwrap();
    let alone = fabric_of(1, &[], 1);
    for name in BY_PATH {
        assert!(paths_of(name, &empty, 0).is_empty(), "{name}");
        let paths = paths_of(name, &alone, 0);
        assert_eq!(paths.len(), 2, "{name}: the switch to its host and back");
        paths.iter().for_each(|path| check_course(&alone, &path));
    }
}
