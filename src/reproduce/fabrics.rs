//! The fabrics of the papers.

use super::ReproduceError;
use crate::fabric::Fabric;
use crate::fabric::generate::{HostPlacement, Options, RandomRegular, Topology, Waxman, generate};
use crate::routing::{Demand, MOST_LAYERS};

/// How slowly link probability falls with distance: see [`waxman`].
const BETA: f64 = 0.5;
/// The mean, over two random points of the unit square, of exp(−d / (β·√2)): the fraction of pairs that are linked for
/// α = 1.
const JOINED: f64 = 0.507_822_7;

/// Seed 000, section 4: random, connected, `links` single links of every switch to others, four hosts on each.
pub(super) fn regular(switches: u32, links: u32, seed: u64) -> Result<Fabric, ReproduceError> {
    let topology = Topology::RandomRegular(RandomRegular { switches, degree: links, hosts: 4 });
    Ok(generate(&topology, &Options { seed, ..Options::default() })?)
}

/// Seed 002, section 5: a random graph of mean degree 8, machines on random switches.
///
/// Two switches are linked with a mean probability of 8 / n, which gives a mean degree of 8·(n − 1)/n: 7.5 with 16
/// switches. With a mean degree of exactly 8, tables of 16 switches come out up to 17 % above the paper's
/// (docs/REPRODUCE.md).
pub(super) fn waxman(machines: u32, switches: u32, seed: u64) -> Result<Fabric, ReproduceError> {
    let alpha = 8.0 / f64::from(switches) / JOINED;
    let topology = Topology::Waxman(Waxman { switches, alpha, beta: BETA, hosts: HostPlacement::Scattered(machines) });
    Ok(generate(&topology, &Options { seed, ..Options::default() })?)
}

/// One path for every ordered pair of hosts; none to switches.
pub(super) fn hosts_of(fabric: &Fabric) -> Demand {
    Demand { destinations: fabric.end_ports().collect(), paths: 1, layers: MOST_LAYERS }
}
