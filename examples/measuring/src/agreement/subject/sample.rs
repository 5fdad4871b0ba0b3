//! A fabric of the comparison: a generated one, less some elements.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use reconfig::fabric::generate::{GenerateError, Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use std::fmt;

/// A fabric: a topology, less some elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    pub family: &'static str,
    pub topology: String,
    pub seed: u64,
    /// Switches and links that are removed, drawn by the seed; none whose loss disconnects the rest.
    pub switches_gone: usize,
    pub links_gone: usize,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seed {}", self.topology, self.seed)?;
        match (self.switches_gone, self.links_gone) {
            (0, 0) => Ok(()),
            (switches, links) => write!(f, " -{switches} switches -{links} links"),
        }
    }
}

/// The fabric itself.
pub fn build(sample: &Sample) -> Result<Fabric, GenerateError> {
    let topology: Topology = sample.topology.parse()?;
    let mut fabric = generate(&topology, &Options { seed: sample.seed, ..Options::default() })?;
    let mut rng = Pcg64Mcg::seed_from_u64(sample.seed);
    let mut switches: Vec<NodeId> = fabric.switches().skip(1).collect();
    switches.shuffle(&mut rng);
    fabric = remove(fabric, sample.switches_gone, switches, |fabric, switch| fabric.without_nodes(&[switch]));
    let mut links: Vec<PortId> = switch_links(&fabric).collect();
    links.shuffle(&mut rng);
    Ok(remove(fabric, sample.links_gone, links, |fabric, link| fabric.without_links(&[link])))
}

/// The fabric without the first elements, this many, whose loss leaves the switches connected.
fn remove<T>(fabric: Fabric, count: usize, elements: Vec<T>, without: impl Fn(&Fabric, T) -> Fabric) -> Fabric {
    let (mut fabric, mut left) = (fabric, count);
    for element in elements {
        if left == 0 {
            break;
        }
        let smaller = without(&fabric, element);
        if in_one_piece(&smaller) {
            (fabric, left) = (smaller, left - 1);
        }
    }
    fabric
}

fn switch_links(fabric: &Fabric) -> impl Iterator<Item = PortId> {
    let switch = |port| fabric.node(fabric.port(port).node).is_switch();
    fabric.links().filter(move |&(a, b)| switch(a) && switch(b)).map(|(a, _)| a)
}

fn in_one_piece(fabric: &Fabric) -> bool {
    let Some(first) = fabric.switches().next() else { return false };
    let (mut seen, mut open) = (vec![false; fabric.node_count()], vec![first]);
    seen[first.index()] = true;
    while let Some(switch) = open.pop() {
        let neighbours = fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port));
        for next in neighbours.filter(|&next| fabric.node(next).is_switch()) {
            if !std::mem::replace(&mut seen[next.index()], true) {
                open.push(next);
            }
        }
    }
    fabric.switches().all(|switch| seen[switch.index()])
}
