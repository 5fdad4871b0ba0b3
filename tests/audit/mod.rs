//! `audit` against an oracle that follows pair by pair, against the prover, on captures, on dumps of real OpenSM, and
//! on fabrics with known faults; the readers of dumps; the command.

mod command;
mod corpus;
mod dumps;
mod faults;
mod oracle;
mod random;
mod update;

use reconfig::audit::{Audit, AuditRules, RoutingSnapshot, audit};
use reconfig::fabric::{Fabric, NodeId, format};
use reconfig::ids::{Lid, PortNum};
use reconfig::tables::Lft;
use reconfig::tables::dump::{Lfts, read_fdbs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A bundled file.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn fabric(name: &str) -> Fabric {
    format::read(&bytes(name), name).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn fdbs(name: &str, fabric: &Fabric) -> Lfts {
    read_fdbs(&bytes(name), name, fabric).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// Tables without service levels.
fn plain<'a>(fabric: &'a Fabric, lfts: &'a [Arc<Lft>]) -> RoutingSnapshot<'a> {
    RoutingSnapshot { fabric, lfts, unknown: &[], sl_to_vl: None, path_sls: None }
}

fn judged(snapshot: &RoutingSnapshot<'_>) -> Audit {
    audit(snapshot, AuditRules::default()).expect("a fabric with LIDs")
}

/// Forwarding tables on shortest paths: by switch, for each LID, the lowest port that leads nearer.
fn shortest(fabric: &Fabric) -> Vec<Arc<Lft>> {
    let mut tables = vec![Lft::new(); fabric.node_count()];
    for owner in fabric.lid_ports() {
        let port = fabric.port(owner);
        let Some(base) = port.lid else { continue };
        let hops = hops_to(fabric, port.node);
        for switch in fabric.switches() {
            let exit = exit(fabric, &hops, switch, port.node);
            let lids = base.0..base.0 + port.lmc.lids();
            lids.for_each(|lid| tables[switch.index()].set(Lid(lid), exit));
        }
    }
    tables.into_iter().map(Arc::new).collect()
}

/// The port of a switch on a shortest path: 0 at the destination itself, none where it cannot be reached.
fn exit(fabric: &Fabric, hops: &[usize], switch: NodeId, destination: NodeId) -> PortNum {
    if switch == destination {
        return PortNum::ZERO;
    }
    let nearer = |port: &_| {
        let next = fabric.neighbour(*port);
        next.is_some_and(|next| {
            (fabric.node(next).is_switch() || next == destination)
                && hops[next.index()].checked_add(1) == Some(hops[switch.index()])
        })
    };
    fabric.ports_of(switch).find(nearer).map_or(PortNum::NO_ROUTE, |port| fabric.port(port).num)
}

/// Hops of every node to one, through switches only.
fn hops_to(fabric: &Fabric, destination: NodeId) -> Vec<usize> {
    let mut hops = vec![usize::MAX; fabric.node_count()];
    hops[destination.index()] = 0;
    let mut queue = std::collections::VecDeque::from([destination]);
    while let Some(node) = queue.pop_front() {
        if node != destination && !fabric.node(node).is_switch() {
            continue;
        }
        for next in fabric.ports_of(node).filter_map(|port| fabric.neighbour(port)) {
            if hops[next.index()] == usize::MAX {
                hops[next.index()] = hops[node.index()] + 1;
                queue.push_back(next);
            }
        }
    }
    hops
}
