//! A routing function by (input, destination), as a set of paths.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;

/// One step of a path: a switch and its output port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hop {
    /// The switch.
    pub switch: NodeId,
    /// Its output port.
    pub output: PortNum,
}

/// One path: every switch from the source's to the destination's; the last one delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path<'a> {
    /// The sending port: an end port, or port 0 of the first switch.
    pub source: PortId,
    /// The receiving port: an end port, or port 0 of the last switch.
    pub destination: PortId,
    /// The virtual layer of its packets.
    pub layer: u8,
    /// The switches in order, each with its output; if a switch is the destination, its output is port 0.
    pub hops: &'a [Hop],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    source: PortId,
    destination: PortId,
    layer: u8,
    end: u32,
}

/// The result of an engine whose routes depend on the source (C×N→C; docs/GLOSSARY.md, *routing function*): a set of
/// paths, of which a pair may have several. InfiniBand forwards by DLID alone; `lid` finds the number of LIDs of each
/// destination that realise the set. Paths keep the order of insertion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSet {
    engine: &'static str,
    root: Option<NodeId>,
    destinations: Vec<PortId>,
    rows: Vec<Row>,
    hops: Vec<Hop>,
}

impl PathSet {
    /// An empty set. `destinations` are the ports to reach, including any without a path.
    pub fn new(engine: &'static str, destinations: Vec<PortId>) -> PathSet {
        PathSet { engine, root: None, destinations, rows: Vec::new(), hops: Vec::new() }
    }

    /// Adds a path.
    ///
    /// # Panics
    /// A path without switches, or more than 2^32 hops in all.
    pub fn push(&mut self, path: Path<'_>) {
        assert!(!path.hops.is_empty(), "a path passes one switch at least");
        self.hops.extend_from_slice(path.hops);
        let end = u32::try_from(self.hops.len()).expect("less than 2^32 hops");
        self.rows.push(Row { source: path.source, destination: path.destination, layer: path.layer, end });
    }

    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// The root of the spanning tree, if the engine has one.
    pub fn root(&self) -> Option<NodeId> {
        self.root
    }

    /// Sets the root of the spanning tree.
    pub fn set_root(&mut self, root: NodeId) {
        self.root = Some(root);
    }

    /// The ports to reach.
    pub fn destinations(&self) -> &[PortId] {
        &self.destinations
    }

    /// The number of paths.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The path with this rank, in order of insertion.
    pub fn get(&self, at: usize) -> Path<'_> {
        let row = self.rows[at];
        let start = at.checked_sub(1).map_or(0, |before| self.rows[before].end as usize);
        let hops = &self.hops[start..row.end as usize];
        Path { source: row.source, destination: row.destination, layer: row.layer, hops }
    }

    /// All paths, in order of insertion.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Path<'_>> + '_ {
        (0..self.rows.len()).map(|at| self.get(at))
    }

    /// By rank of the destination: the ranks of the paths to it, in order of insertion.
    pub fn by_destination(&self, fabric: &Fabric) -> Vec<Vec<u32>> {
        let mut rank = vec![usize::MAX; fabric.port_count()];
        self.destinations.iter().enumerate().for_each(|(at, port)| rank[port.index()] = at);
        let mut paths = vec![Vec::new(); self.destinations.len()];
        self.rows.iter().zip(0..).for_each(|(row, at)| paths[rank[row.destination.index()]].push(at));
        paths
    }
}
