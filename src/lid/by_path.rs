//! From a set of paths to a routing function by DLID: assigns each path one of its destination's LIDs.
//!
//! On entry: a path set, and a solver for configurations. On return of [`number_paths`]: by path, the number of its LID
//! in the destination's half, such that paths with the same number never split. [`realise_numbered`] builds the routing
//! function. Deliberately omitted: LIDs themselves (`needs`).

use super::configure::{Configure, Heuristic, block_of};
use super::splits::Splits;
use crate::fabric::{Fabric, PortId};
use crate::tables::{PathLayers, PathSet, RoutingFunction};

/// The most LIDs in a port's half: LMC 7 gives 128 in all.
pub const MOST_LIDS: usize = 64;

/// Why paths cannot be realised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathLidError {
    /// More LIDs are needed than an LMC can give.
    #[error(
        "{port} would need {needed} LIDs in each half, because so many of the paths to it diverge from each other, and an LMC \
         gives {MOST_LIDS} at most; choose an engine with fewer alternatives, or an LID heuristic that finds fewer"
    )]
    TooMany {
        /// The destination.
        port: String,
        /// LIDs needed in each half.
        needed: usize,
    },
    /// Paths to a switch cannot share its one LID.
    #[error(
        "paths to {switch} diverge from each other, so that it would need {needed} LIDs; a switch has one: its paths must \
         follow one tree"
    )]
    SwitchParts {
        /// The switch.
        switch: String,
        /// LIDs needed.
        needed: usize,
    },
}

/// The LID of each path, as a number from 0 among its destination's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathLids {
    numbers: Vec<u32>,
    /// By rank of the destination.
    needed: Vec<u32>,
}

impl PathLids {
    pub(super) fn new(numbers: Vec<u32>, needed: Vec<u32>) -> PathLids {
        PathLids { numbers, needed }
    }

    /// By path, in the order of the set: the number of its LID.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// By rank of the destination: the number of LIDs that realise the paths to it; 0 if there is no path.
    pub fn needed(&self) -> &[u32] {
        &self.needed
    }

    /// LIDs of all destinations, each in a block of a power of two (seed 002, section 2), for one half; a change needs
    /// twice as many.
    pub fn lids(&self) -> usize {
        self.needed.iter().filter(|&&needed| needed > 0).map(|&needed| block_of(needed as usize)).sum()
    }
}

/// Finds configurations for every destination.
pub fn number_paths(fabric: &Fabric, paths: &PathSet, solver: &dyn Configure) -> PathLids {
    let mut numbers = vec![0; paths.len()];
    let mut needed = Vec::with_capacity(paths.destinations().len());
    for ranks in paths.by_destination(fabric) {
        let splits = Splits::of(paths, &ranks);
        let found = solver.configure(&splits);
        ranks.iter().zip(found.of_paths(&splits)).for_each(|(&rank, lid)| numbers[rank as usize] = lid as u32);
        needed.push(found.count() as u32);
    }
    PathLids { numbers, needed }
}

/// The routing function by DLID that realises paths, with the LIDs that a heuristic finds.
///
/// # Errors
/// A destination needs more than 64 LIDs in a half, or a switch needs two.
pub fn realise_paths(fabric: &Fabric, paths: &PathSet, by: Heuristic) -> Result<RoutingFunction, PathLidError> {
    realise_numbered(fabric, paths, &number_paths(fabric, paths, &*by.solver()))
}

/// The routing function by DLID in which every path uses the LID with its number.
///
/// # Errors
/// A destination needs more than 64 LIDs in a half, or a switch needs two.
///
/// # Panics
/// Two paths on one LID diverge at a switch, which their numbering must exclude.
pub fn realise_numbered(fabric: &Fabric, paths: &PathSet, lids: &PathLids) -> Result<RoutingFunction, PathLidError> {
    check(fabric, paths, lids)?;
    let count = lids.needed.iter().max().map_or(1, |&most| most.max(1)) as usize;
    let destinations = paths.destinations().to_vec();
    let mut function = RoutingFunction::new(fabric, paths.engine(), destinations.clone(), count);
    paths.root().into_iter().for_each(|root| function.set_root(root));
    let rank = ranks(fabric, &destinations);
    for (path, &lid) in paths.iter().zip(&lids.numbers) {
        let (destination, lid) = (rank[path.destination.index()], lid as usize);
        for hop in path.hops {
            let there = function.output(hop.switch, destination, lid);
            // InfiniBand forwards by DLID alone, so one LID has one output at each switch (seed 002, lemma 1).
            assert!(there.is_none_or(|there| there == hop.output), "paths that part share a LID");
            function.set_output(hop.switch, destination, lid, hop.output);
        }
    }
    function.set_path_layers(layers(fabric, paths, lids, count));
    Ok(function)
}

fn check(fabric: &Fabric, paths: &PathSet, lids: &PathLids) -> Result<(), PathLidError> {
    for (&port, &needed) in paths.destinations().iter().zip(&lids.needed) {
        let (needed, node) = (needed as usize, fabric.port(port).node);
        if fabric.node(node).is_switch() && needed > 1 {
            return Err(PathLidError::SwitchParts { switch: fabric.describe_node(node), needed });
        }
        if needed > MOST_LIDS {
            return Err(PathLidError::TooMany { port: fabric.describe_port(port), needed });
        }
    }
    Ok(())
}

/// Each source may use the paths that were made for it; switches are open to all.
fn layers(fabric: &Fabric, paths: &PathSet, lids: &PathLids, count: usize) -> PathLayers {
    let is_end = |port: &PortId| !fabric.node(fabric.port(*port).node).is_switch();
    let ends: Vec<PortId> = paths.destinations().iter().copied().filter(is_end).collect();
    let mut sources: Vec<PortId> = paths.iter().map(|path| path.source).collect();
    sources.sort_unstable();
    sources.dedup();
    let (source_rank, end_rank) = (ranks(fabric, &sources), ranks(fabric, &ends));
    let mut layers = PathLayers::by_port(fabric, &sources, &ends, count);
    for (path, &lid) in paths.iter().zip(&lids.numbers) {
        if is_end(&path.destination) {
            let (source, end) = (source_rank[path.source.index()], end_rank[path.destination.index()]);
            layers.open(source, end, lid as usize, path.layer);
        }
    }
    layers
}

/// By port: its rank in a list.
fn ranks(fabric: &Fabric, ports: &[PortId]) -> Vec<usize> {
    let mut rank = vec![usize::MAX; fabric.port_count()];
    ports.iter().enumerate().for_each(|(at, port)| rank[port.index()] = at);
    rank
}
