//! Fabrics of several subnets: how captures are joined, list files, generators, and the commands about them.

mod command;
mod generated;
mod joins;
mod lists;
mod one;
mod partitions;

use reconfig::fabric::generate::{JoinShape, JoinedTopology, Options, joined};
use reconfig::fabric::subnets::Subnets;

/// Subnets of one topology, joined.
fn made(topology: &str, subnets: u16, shape: JoinShape, routers: u16, seed: u64) -> Subnets {
    let topology = topology.parse().expect("a topology");
    let joining = JoinedTopology { topology, subnets, shape, routers };
    joined(&joining, &Options { seed, ..Options::default() }).unwrap_or_else(|error| panic!("{joining:?}: {error}"))
}
