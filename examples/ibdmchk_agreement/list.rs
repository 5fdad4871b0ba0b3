//! The fabrics that are compared: four families, 8 to 200 switches, every one from its seed.

use super::opensm::{ROUTINGS, Routing, Wants};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use reconfig::fabric::generate::{GenerateError, Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use std::fmt;

/// A fabric: a topology, and what was taken from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    pub family: &'static str,
    pub topology: String,
    pub seed: u64,
    /// Switches and links that are removed, drawn by the seed; none whose loss parts the rest.
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

const FAMILIES: [&str; 4] = ["random regular", "Waxman", "fat tree with faults", "torus"];
/// How many fabrics of each family the full list has.
const OF_EACH_FAMILY: u64 = 52;
const SIZES: [u64; 26] =
    [8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 48, 56, 64, 80, 96, 112, 128, 144, 168, 200];
const TREES: [&str; 13] = [
    "leaf-spine:8,4,4",
    "fat-tree:4,2",
    "leaf-spine:12,6,3",
    "fat-tree:2,4",
    "leaf-spine:18,9,2",
    "fat-tree:4,3",
    "leaf-spine:24,12,2,2",
    "three-level:3,4,3,2,2",
    "fat-tree:3,4",
    "three-level:4,6,4,3,2",
    "fat-tree:6,3",
    "three-level:6,8,6,4,2",
    "fat-tree:8,3",
];
const TORI: [&str; 26] = [
    "3x3", "2x2x2", "3x4", "4x4", "3x5", "2x3x3", "4x5", "5x5", "3x3x3", "4x6", "5x6", "2x4x4", "6x6", "3x3x4", "5x8",
    "7x7", "3x4x5", "8x8", "4x4x4", "9x9", "3x3x3x3", "10x10", "5x5x5", "12x12", "13x13", "14x14",
];

/// The full list, families in turn, small fabrics before large ones.
pub fn samples() -> Vec<Sample> {
    (0..OF_EACH_FAMILY).flat_map(|number| [regular(number), waxman(number), tree(number), torus(number)]).collect()
}

fn regular(number: u64) -> Sample {
    let size = SIZES[number as usize / 2];
    // An odd degree wants an even number of switches.
    let degree = if size.is_multiple_of(2) { 3 + number % 4 } else { 4 };
    let topology = format!("random-regular:{size},{degree},{}", hosts(size, number));
    Sample { family: FAMILIES[0], topology, seed: number, switches_gone: 0, links_gone: 0 }
}

/// Eight links a switch or so, wherever there are switches enough.
fn waxman(number: u64) -> Sample {
    let size = SIZES[number as usize / 2];
    let thousandths = (19_000 / size).min(900);
    let topology = format!("waxman:{size},0.{thousandths:03},0.4,{}", hosts(size, number));
    Sample { family: FAMILIES[1], topology, seed: number, switches_gone: 0, links_gone: 0 }
}

/// Whole, without a switch, without some links, without some of both: OpenSM's ftree takes only what stays regular.
fn tree(number: u64) -> Sample {
    let topology = TREES[number as usize / 4].to_string();
    let (switches_gone, links_gone) = [(0, 0), (1, 0), (0, 1 + number as usize / 13), (2, 5)][number as usize % 4];
    Sample { family: FAMILIES[2], topology, seed: number, switches_gone, links_gone }
}

/// Every torus whole, and with a hole in it.
fn torus(number: u64) -> Sample {
    let sides = TORI[number as usize / 2];
    let size = sides.split('x').filter_map(|side| side.parse::<u64>().ok()).product();
    let topology = format!("torus:{sides},{}", hosts(size, number));
    let (switches_gone, links_gone) = [(0, 0), (1, 1)][number as usize % 2];
    Sample { family: FAMILIES[3], topology, seed: number, switches_gone, links_gone }
}

/// Hosts of a switch: pairs of them, hence queries, grow with the square.
fn hosts(switches: u64, number: u64) -> u64 {
    if switches > 40 { 1 } else { 1 + number % 3 }
}

/// The routings of a fabric by row: every engine, and for each second fabric each variant of those that use lanes.
pub fn routings(number: usize, sample: &Sample) -> Vec<(usize, Routing)> {
    let torus = sample.is_a_torus_of_two_or_three_long_sides();
    let mut rows: Vec<(usize, Routing)> = ROUTINGS.into_iter().enumerate().collect();
    rows.retain(|(row, routing)| match routing.wants {
        Wants::Torus => torus,
        _ => !routing.is_variant() || (row + number / 4).is_multiple_of(2),
    });
    rows
}

impl Sample {
    /// What torus-2QoS takes: a side of two switches has no way round.
    fn is_a_torus_of_two_or_three_long_sides(&self) -> bool {
        let sides = self.topology.strip_prefix("torus:").and_then(|rest| rest.split(',').next());
        let mut sides = sides.into_iter().flat_map(|sides| sides.split('x'));
        (2..=3).contains(&sides.clone().count()) && sides.all(|side| side != "2")
    }
}

/// A family's place in the list.
pub fn family_row(family: &str) -> usize {
    FAMILIES.iter().position(|&name| name == family).unwrap_or(FAMILIES.len())
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

/// The fabric without the first so many elements whose loss leaves the switches in one piece.
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
