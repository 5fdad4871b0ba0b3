//! Finds the seed of the bundled fabric `seed-16`: sixteen four-port switches, fourteen hosts and twenty-three switch
//! links, as the Double Scheme's own example has them. The first seed is taken whose up*/down* root bears no host, and
//! from which any one switch may go without cutting the rest in two: `cargo run --example find_seed_16`.

use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::summary::Summary;
use reconfig::fabric::{Fabric, NodeId};
use std::cmp::Reverse;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let topology = "irregular:16,4,14,23".parse()?;
    for seed in 0..1000 {
        let fabric = generate(&topology, &Options { seed, ..Options::default() })?;
        let Some(root) = root(&fabric) else { continue };
        let holds = |lost| Summary::of(&fabric.without_nodes(&[lost])).parts == 1;
        if hosts(&fabric, root) == 0 && fabric.switches().all(holds) {
            println!(
                "seed {seed}: the root is {}, and the fabric:\n{}",
                fabric.describe_node(root),
                Summary::of(&fabric)
            );
            return Ok(());
        }
    }
    Err("none of the first 1000 seeds fits".into())
}

/// Least eccentricity to switches that bear hosts, then most links to switches, then lowest GUID.
fn root(fabric: &Fabric) -> Option<NodeId> {
    let homes: Vec<NodeId> = fabric.switches().filter(|&id| hosts(fabric, id) > 0).collect();
    fabric.switches().min_by_key(|&id| {
        let hops = hops_from(fabric, id);
        let farthest = homes.iter().map(|home| hops[home.index()]).max();
        let links = neighbours(fabric, id).len() - hosts(fabric, id);
        (farthest, Reverse(links), fabric.node(id).guid)
    })
}

fn neighbours(fabric: &Fabric, id: NodeId) -> Vec<NodeId> {
    fabric.ports_of(id).filter_map(|port| fabric.neighbour(port)).collect()
}

fn hosts(fabric: &Fabric, id: NodeId) -> usize {
    neighbours(fabric, id).iter().filter(|&&other| !fabric.node(other).is_switch()).count()
}

/// Hops to every node by breadth-first search; a host is a dead end.
fn hops_from(fabric: &Fabric, start: NodeId) -> Vec<usize> {
    let mut hops = vec![usize::MAX; fabric.node_count()];
    hops[start.index()] = 0;
    let mut reached = vec![start];
    let mut at = 0;
    while at < reached.len() {
        let here = reached[at];
        for next in neighbours(fabric, here) {
            if hops[next.index()] == usize::MAX {
                hops[next.index()] = hops[here.index()] + 1;
                reached.push(next);
            }
        }
        at += 1;
    }
    hops
}
