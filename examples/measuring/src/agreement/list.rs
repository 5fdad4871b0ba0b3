//! The fabrics that are compared: four families, 8 to 200 switches, every one from its seed.

use super::subject::opensm::{ROUTINGS, Routing, UPDN_ROOTED, Wants};
use super::subject::sample::Sample;

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

/// About eight links a switch, if there are enough switches.
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

/// Every torus whole, and with a switch and a link missing.
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
    let torus = is_a_torus_of_two_or_three_long_sides(sample);
    let mut rows: Vec<(usize, Routing)> = ROUTINGS.into_iter().enumerate().collect();
    rows.retain(|(row, routing)| match routing.wants {
        Wants::Torus => torus,
        _ => !is_variant(*routing) || (row + number / 4).is_multiple_of(2),
    });
    rows
}

/// Whether it is one of several ways to run the same engine, of which a fabric need not see all.
fn is_variant(routing: Routing) -> bool {
    routing.label.contains(',') && routing.label != UPDN_ROOTED
}

/// What torus-2QoS takes: a side of two switches has no way round.
fn is_a_torus_of_two_or_three_long_sides(sample: &Sample) -> bool {
    let sides = sample.topology.strip_prefix("torus:").and_then(|rest| rest.split(',').next());
    let mut sides = sides.into_iter().flat_map(|sides| sides.split('x'));
    (2..=3).contains(&sides.clone().count()) && sides.all(|side| side != "2")
}

/// A family's place in the list.
pub fn family_row(family: &str) -> usize {
    FAMILIES.iter().position(|&name| name == family).unwrap_or(FAMILIES.len())
}
