//! The paths of a routing function that each source may use, and their virtual layers.

use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, Sl};

const NONE: u32 = u32::MAX;
/// The path is closed to the source.
const CLOSED: u8 = u8::MAX;

/// By source, destination and path: the virtual layer of the source's packets on that path (SL `layer` of the half, see
/// docs/GLOSSARY.md, *layer*), or none if the source may not use that path.
///
/// Shape: `layers[(group × destinations + destination) × paths + path]`. Sources with equal paths share a *group*: all
/// ports of a switch if paths depend on the switch only. Ports are those of one fabric's index space. A destination
/// that is not listed is open to every source by path 0 on layer 0; a source that is not listed sends nothing to listed
/// destinations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathLayers {
    /// By port: its group.
    group: Vec<u32>,
    /// By port: its rank among the listed destinations.
    rank: Vec<u32>,
    destinations: usize,
    paths: usize,
    layers: Vec<u8>,
}

impl PathLayers {
    /// All paths to `destinations` closed. Each of `sources` is a group of its own, in this order.
    pub fn by_port(fabric: &Fabric, sources: &[PortId], destinations: &[PortId], paths: usize) -> PathLayers {
        let mut group = vec![NONE; fabric.port_count()];
        sources.iter().zip(0..).for_each(|(port, rank)| group[port.index()] = rank);
        PathLayers::of(fabric, group, sources.len(), destinations, paths)
    }

    /// All paths to `destinations` closed. A port's group is the rank of the switch that it is cabled to, among the
    /// fabric's switches (departed ones included); the switch's own port belongs to the same group.
    pub fn by_switch(fabric: &Fabric, destinations: &[PortId], paths: usize) -> PathLayers {
        let mut group = vec![NONE; fabric.port_count()];
        let switches = fabric.nodes().filter(|(_, node)| node.is_switch());
        let mut groups = 0;
        for (rank, (switch, _)) in switches.enumerate() {
            groups = rank + 1;
            for port in fabric.ports_of(switch) {
                let end = if port == fabric.node(switch).first_port { Some(port) } else { fabric.peer(port) };
                let ends = end.filter(|&end| end == port || !fabric.node(fabric.port(end).node).is_switch());
                ends.into_iter().for_each(|end| group[end.index()] = rank as u32);
            }
        }
        PathLayers::of(fabric, group, groups, destinations, paths)
    }

    /// All paths to `destinations` closed. Each of `groups` lists the sources of one group.
    pub fn by_groups(fabric: &Fabric, groups: &[Vec<PortId>], destinations: &[PortId], paths: usize) -> PathLayers {
        let mut group = vec![NONE; fabric.port_count()];
        for (sources, rank) in groups.iter().zip(0..) {
            sources.iter().for_each(|port| group[port.index()] = rank);
        }
        PathLayers::of(fabric, group, groups.len(), destinations, paths)
    }

    /// These layers over the ports of another index space; ports that `renamed` does not map are omitted.
    #[must_use]
    pub fn renamed(&self, fabric: &Fabric, renamed: impl Fn(PortId) -> Option<PortId>) -> PathLayers {
        let moved = |old: &[u32]| {
            let mut new = vec![NONE; fabric.port_count()];
            for (index, &rank) in old.iter().enumerate().filter(|&(_, &rank)| rank != NONE) {
                renamed(PortId(index as u32)).into_iter().for_each(|port| new[port.index()] = rank);
            }
            new
        };
        PathLayers { group: moved(&self.group), rank: moved(&self.rank), layers: self.layers.clone(), ..*self }
    }

    /// These layers without each destination's first paths: path k of the result is path `first` + k of this one.
    #[must_use]
    pub fn behind(&self, first: usize) -> PathLayers {
        let paths = self.paths.saturating_sub(first);
        let rows = self.layers.chunks_exact(self.paths.max(1));
        let layers = rows.flat_map(|row| &row[row.len() - paths..]).copied().collect();
        PathLayers { group: self.group.clone(), rank: self.rank.clone(), paths, layers, ..*self }
    }

    /// The listed destinations, by rank.
    pub fn destinations(&self) -> Vec<PortId> {
        let mut ports = vec![PortId(0); self.destinations];
        let listed = self.rank.iter().enumerate().filter(|&(_, &rank)| rank != NONE);
        listed.for_each(|(index, &rank)| ports[rank as usize] = PortId(index as u32));
        ports
    }

    /// Every group: its sources, and by destination and path the layer, 255 for closed paths.
    pub fn groups(&self) -> impl Iterator<Item = (Vec<PortId>, &[u8])> + '_ {
        let row = self.destinations * self.paths;
        let mut sources = vec![Vec::new(); self.layers.len().checked_div(row).unwrap_or(0)];
        let listed = self.group.iter().enumerate().filter(|&(_, &group)| group != NONE);
        listed.for_each(|(index, &group)| sources[group as usize].push(PortId(index as u32)));
        sources.into_iter().zip(self.layers.chunks_exact(row.max(1)))
    }

    fn of(fabric: &Fabric, group: Vec<u32>, groups: usize, destinations: &[PortId], paths: usize) -> PathLayers {
        let mut rank = vec![NONE; fabric.port_count()];
        destinations.iter().zip(0..).for_each(|(port, at)| rank[port.index()] = at);
        let layers = vec![CLOSED; groups * destinations.len() * paths];
        PathLayers { group, rank, destinations: destinations.len(), paths, layers }
    }

    /// Opens a path to the sources of a group; `destination` is a rank in the constructor's list.
    ///
    /// # Panics
    /// A group, destination, path or layer is out of range; the highest layer is 14.
    pub fn open(&mut self, group: usize, destination: usize, path: usize, layer: u8) {
        assert!(destination < self.destinations && path < self.paths && layer < 15, "{destination}/{path}/{layer}");
        self.layers[(group * self.destinations + destination) * self.paths + path] = layer;
    }

    /// The layer of a source's packets to a destination on a path; none if the path is closed to the source.
    #[inline]
    pub fn layer(&self, source: PortId, destination: PortId, path: usize) -> Option<u8> {
        let (group, rank) = (place(&self.group, source), place(&self.rank, destination));
        match (group, rank) {
            (_, NONE) => (path == 0).then_some(0),
            (NONE, _) => None,
            _ if path >= self.paths => None,
            _ => {
                let slot = (group as usize * self.destinations + rank as usize) * self.paths + path;
                Some(self.layers[slot]).filter(|&layer| layer != CLOSED)
            }
        }
    }

    /// The paths open to a source towards a destination, in ascending order, each with its layer.
    pub fn ways(&self, source: PortId, destination: PortId) -> impl Iterator<Item = (usize, u8)> + '_ {
        let paths = self.paths.max(1);
        (0..paths).filter_map(move |path| self.layer(source, destination, path).map(|layer| (path, layer)))
    }

    /// Paths to each destination.
    pub fn paths(&self) -> usize {
        self.paths
    }

    /// The number of a destination's paths that some source needs: one more than the highest open path.
    pub fn needed(&self, destination: PortId) -> usize {
        let rank = place(&self.rank, destination);
        if rank == NONE {
            return 1;
        }
        let row = self.destinations * self.paths;
        let columns = self.layers.chunks_exact(row.max(1)).map(|row| {
            let column = &row[rank as usize * self.paths..(rank as usize + 1) * self.paths];
            column.iter().rposition(|&layer| layer != CLOSED).map_or(0, |last| last + 1)
        });
        columns.max().unwrap_or(0)
    }

    /// The number of layers in use: one more than the highest, at least 1.
    pub fn layers(&self) -> u8 {
        self.layers.iter().filter(|&&layer| layer != CLOSED).max().map_or(1, |&layer| layer + 1)
    }
}

/// The LID and the service level by which a source reaches a destination on a half: those of the first path open to the
/// source. Without `ways`, or if the source is the destination, they are the first of the half. None if no path is
/// open, or the destination has no LID of that half.
pub fn address(
    fabric: &Fabric,
    ways: Option<&PathLayers>,
    source: PortId,
    destination: PortId,
    half: Half,
) -> Option<(Lid, Sl)> {
    let first = || Some((0, 0));
    let open = |ways: &PathLayers| ways.ways(source, destination).next();
    let (path, layer) = if source == destination { first() } else { ways.map_or_else(first, open) }?;
    fabric.half_lids(destination, half).nth(path).map(|lid| (lid, half.sl_of(layer)))
}

/// The listed value of a port; ports that were added later have none.
fn place(list: &[u32], port: PortId) -> u32 {
    list.get(port.index()).copied().unwrap_or(NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};

    #[test]
    fn a_path_is_open_to_the_sources_of_its_group_alone() {
        let ring: Topology = "ring:3,1".parse().expect("a family");
        let fabric = generate(&ring, &Options::default()).expect("a fabric");
        let ends: Vec<PortId> = fabric.end_ports().collect();
        let mut layers = PathLayers::by_switch(&fabric, &ends, 2);
        layers.open(0, 2, 1, 3);
        assert_eq!(layers.layer(ends[0], ends[2], 1), Some(3));
        assert_eq!(layers.layer(ends[0], ends[2], 0), None);
        assert_eq!(layers.layer(ends[1], ends[2], 1), None);
        assert_eq!((layers.layers(), layers.needed(ends[2]), layers.needed(ends[1])), (4, 2, 0));
        let own = fabric.node(fabric.switches().next().expect("a switch")).first_port;
        assert_eq!(layers.ways(own, ends[2]).collect::<Vec<_>>(), [(1, 3)], "the switch sends as its hosts do");
        assert_eq!(layers.layer(ends[1], own, 0), Some(0), "a destination that is not listed is open");
    }
}
