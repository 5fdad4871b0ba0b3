//! The fabrics of the papers.

use super::ReproduceError;
use crate::fabric::Fabric;
use crate::fabric::generate::{HostPlacement, Options, RandomRegular, Topology, Waxman, generate};
use crate::routing::{Demand, MOST_LAYERS};

/// Seed 000, section 4: random, connected, `links` single links of every switch to others, four hosts on each.
pub(super) fn regular(switches: u32, links: u32, seed: u64) -> Result<Fabric, ReproduceError> {
    let topology = Topology::RandomRegular(RandomRegular { switches, degree: links, hosts: 4 });
    Ok(generate(&topology, &Options { seed, ..Options::default() })?)
}

/// Models of the random graphs of seed 002, section 5; machines are on random switches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GraphModel {
    /// Two switches are linked with a probability that falls with their distance, 8 / n on average. The mean degree is
    /// 8·(n − 1)/n: 7.5 with 16 switches. With a mean degree of exactly 8, tables of 16 switches come out up to 17 %
    /// above the paper's (docs/REPRODUCE.md).
    Waxman,
    /// Switches are linked with probability 8 / n, whatever their distance.
    Uniform,
    /// Switches are linked with probability 8 / (n − 1): a mean degree of 8.
    UniformOfDegree8,
}

impl GraphModel {
    pub const ALL: [GraphModel; 3] = [GraphModel::Waxman, GraphModel::Uniform, GraphModel::UniformOfDegree8];

    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            GraphModel::Waxman => "waxman",
            GraphModel::Uniform => "uniform",
            GraphModel::UniformOfDegree8 => "uniform, degree 8",
        }
    }

    pub fn draw(self, machines: u32, switches: u32, seed: u64) -> Result<Fabric, ReproduceError> {
        // How slowly the probability of a link falls with distance d, as exp(−d / (β·√2)); and the mean of that over
        // two random points of the unit square: the fraction of pairs that are linked for α = 1.
        let (beta, joined) = match self {
            GraphModel::Waxman => (0.5, 0.507_822_7),
            GraphModel::Uniform | GraphModel::UniformOfDegree8 => (1e9, 1.0),
        };
        let others = if self == GraphModel::UniformOfDegree8 { switches - 1 } else { switches };
        let alpha = 8.0 / f64::from(others) / joined;
        let topology = Topology::Waxman(Waxman { switches, alpha, beta, hosts: HostPlacement::Scattered(machines) });
        Ok(generate(&topology, &Options { seed, ..Options::default() })?)
    }
}

/// One path for every ordered pair of hosts; none to switches.
pub(super) fn hosts_of(fabric: &Fabric) -> Demand {
    Demand { destinations: fabric.end_ports().collect(), paths: 1, layers: MOST_LAYERS }
}
