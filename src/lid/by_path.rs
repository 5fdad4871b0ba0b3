//! From a set of paths to a routing function by DLID: which of its destination's LIDs each path takes.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use crate::tables::{PathLayers, PathSet, RoutingFunction};
use std::collections::HashMap;

/// The most LIDs that a half can give a port: LMC 7 has 128 in all.
pub const MOST_LIDS: usize = 64;

/// Why paths cannot be realised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{port} would need more than {MOST_LIDS} LIDs in each half, for so many of the paths to it part from each other; LMC \
     goes up to 7"
)]
pub struct TooManyLids {
    /// The destination.
    pub port: String,
}

/// The routing function by DLID in which the path with rank `i` in `paths` takes LID number `lids[i]` of its destination's
/// half. Where several paths of a pair take the same LID they must be one.
///
/// # Errors
/// A LID number above 63.
///
/// # Panics
/// Two paths on one LID that part at a switch: whoever assigned LIDs saw to that.
pub fn realise_assigned(fabric: &Fabric, paths: &PathSet, lids: &[usize]) -> Result<RoutingFunction, TooManyLids> {
    if let Some(at) = lids.iter().position(|&lid| lid >= MOST_LIDS) {
        return Err(TooManyLids { port: fabric.describe_port(paths.get(at).destination) });
    }
    let count = lids.iter().max().map_or(1, |most| most + 1);
    let destinations = paths.destinations().to_vec();
    let mut function = RoutingFunction::new(fabric, paths.engine(), destinations.clone(), count);
    paths.root().into_iter().for_each(|root| function.set_root(root));
    let mut rank = vec![usize::MAX; fabric.port_count()];
    destinations.iter().enumerate().for_each(|(at, port)| rank[port.index()] = at);
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let ends: Vec<PortId> = destinations.iter().copied().filter(|&port| !is_switch(port)).collect();
    let mut end_rank = vec![usize::MAX; fabric.port_count()];
    ends.iter().enumerate().for_each(|(at, port)| end_rank[port.index()] = at);
    let mut source_rank = vec![usize::MAX; fabric.port_count()];
    let mut sources = Vec::new();
    for path in paths.iter() {
        if source_rank[path.source.index()] == usize::MAX {
            source_rank[path.source.index()] = sources.len();
            sources.push(path.source);
        }
    }
    let mut layers = PathLayers::by_port(fabric, &sources, &ends, count);
    for (path, &lid) in paths.iter().zip(lids) {
        let destination = rank[path.destination.index()];
        for hop in path.hops {
            let there = function.output(hop.switch, destination, lid);
            assert!(there.is_none_or(|there| there == hop.output), "paths that part share a LID");
            function.set_output(hop.switch, destination, lid, hop.output);
        }
        if !is_switch(path.destination) {
            layers.open(source_rank[path.source.index()], end_rank[path.destination.index()], lid, path.layer);
        }
    }
    function.set_path_layers(layers);
    Ok(function)
}

/// Realises paths in the order in which they stand, each on the first LID of its destination on which it parts from no
/// path before it (seed 000, figures 3 and 4: `ValidId`).
///
/// # Errors
/// A destination that would need more than 64 LIDs in a half.
pub fn realise_paths(fabric: &Fabric, paths: &PathSet) -> Result<RoutingFunction, TooManyLids> {
    let mut entries: HashMap<(PortId, usize, NodeId), PortNum> = HashMap::new();
    let mut lids = Vec::with_capacity(paths.len());
    for path in paths.iter() {
        let free = |lid: &usize| {
            let agrees = |entry: Option<&PortNum>, output| entry.is_none_or(|&there| there == output);
            path.hops.iter().all(|hop| agrees(entries.get(&(path.destination, *lid, hop.switch)), hop.output))
        };
        let lid = (0..=MOST_LIDS).find(free).unwrap_or(MOST_LIDS);
        path.hops.iter().for_each(|hop| {
            entries.insert((path.destination, lid, hop.switch), hop.output);
        });
        lids.push(lid);
    }
    realise_assigned(fabric, paths, &lids)
}
