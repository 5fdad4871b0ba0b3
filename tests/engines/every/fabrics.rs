//! 200 fabrics of ten families, 60 in the brief form, every one from its number, some with a switch or cables taken
//! away; and the captures.

use crate::support::captures::captures;
use crate::support::is_thorough;
use rand::seq::IteratorRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId, PortId, format};
use reconfig::routing::Connectivity;

/// A fabric, its name, and the seed of random choices.
pub struct Case {
    pub name: String,
    pub fabric: Fabric,
    pub seed: u64,
}

/// The fabrics that every engine is tried on.
pub fn random() -> Vec<Case> {
    (0..if is_thorough() { 200 } else { 60 }).map(case).collect()
}

fn case(number: u64) -> Case {
    let mut rng = Pcg64Mcg::seed_from_u64(number);
    let size = |rng: &mut Pcg64Mcg, least: u32, most: u32| rng.random_range(least..=most);
    let topology = match number % 10 {
        0 => format!("random-regular:{},{},{}", 2 * size(&mut rng, 4, 10), size(&mut rng, 3, 5), size(&mut rng, 1, 3)),
        1 => format!("waxman:{},0.9,0.4,{}", size(&mut rng, 8, 20), size(&mut rng, 1, 2)),
        2 => format!("irregular:{},8,{},{}", size(&mut rng, 8, 16), size(&mut rng, 8, 24), size(&mut rng, 20, 28)),
        3 => format!("torus:{}x{},{}", size(&mut rng, 3, 5), size(&mut rng, 3, 5), size(&mut rng, 1, 2)),
        4 => format!("mesh:{}x{},{}", size(&mut rng, 2, 4), size(&mut rng, 3, 5), size(&mut rng, 1, 2)),
        5 => format!("leaf-spine:{},{},{}", size(&mut rng, 3, 8), size(&mut rng, 2, 4), size(&mut rng, 1, 4)),
        6 => format!("fat-tree:{},{}", size(&mut rng, 2, 3), size(&mut rng, 2, 3)),
        7 => format!("three-level:{},2,2,{},2", size(&mut rng, 2, 4), size(&mut rng, 1, 2)),
        8 => format!("hypercube:{},1", size(&mut rng, 3, 4)),
        _ => format!("dragonfly:{},{},1", size(&mut rng, 1, 2), size(&mut rng, 2, 4)),
    };
    let parsed = topology.parse().unwrap_or_else(|error| panic!("{topology}: {error}"));
    let made = generate(&parsed, &Options { seed: number, ..Options::default() });
    let whole = made.unwrap_or_else(|error| panic!("{topology}: {error}"));
    let (switches, links) = [(0, 0), (1, 0), (0, 2)][number as usize / 10 % 3];
    let fabric = thinned(whole, (switches, links), &mut rng);
    Case { name: format!("{topology} seed {number} less {switches} switches, {links} cables"), fabric, seed: number }
}

/// The fabric less some switches and cables, none of which parts the rest.
fn thinned(mut fabric: Fabric, (switches, links): (usize, usize), rng: &mut Pcg64Mcg) -> Fabric {
    for _ in 0..switches {
        let without = |switch: NodeId| Some(fabric.without_nodes(&[switch])).filter(whole);
        let left: Vec<Fabric> = fabric.switches().filter_map(without).collect();
        if let Some(smaller) = left.into_iter().choose(rng) {
            fabric = smaller;
        }
    }
    for _ in 0..links {
        let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
        let inner = fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b));
        let left: Vec<Fabric> = inner.map(|(a, _)| fabric.without_links(&[a])).filter(whole).collect();
        if let Some(smaller) = left.into_iter().choose(rng) {
            fabric = smaller;
        }
    }
    fabric
}

/// Whether links join all that is left, two hosts at least.
pub fn whole(fabric: &Fabric) -> bool {
    let links = Connectivity::of(fabric);
    let Some(first) = fabric.lid_ports().next() else { return false };
    fabric.end_ports().count() >= 2 && fabric.lid_ports().all(|port| links.joins(first, port))
}

/// Captures of fabrics whose ports are all joined and that have a switch; none, visibly, where there are no captures.
pub fn real() -> Option<Vec<Case>> {
    let captures = captures();
    if captures.is_empty() {
        return None;
    }
    let mut cases = Vec::new();
    for (name, bytes) in captures {
        let fabric = format::read(&bytes, &name).unwrap_or_else(|error| panic!("{}", error.render(false)));
        match super::is_tried(&fabric) {
            true => cases.push(Case { name, fabric, seed: 1 }),
            false => println!("{name}: not one subnet of hosts behind switches: left out"),
        }
    }
    assert!(cases.len() >= 8, "only {} captures could be routed", cases.len());
    Some(cases)
}
