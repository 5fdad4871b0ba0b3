//! A routing function by (input, destination), as the set of paths that it gives.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;

/// One step of a path: a switch, and the port that it sends on by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hop {
    /// The switch.
    pub switch: NodeId,
    /// Its output port.
    pub output: PortNum,
}

/// One path: every switch from the source's to the destination's, the last of which delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path<'a> {
    /// The port that sends: an end port, or port 0 of the first switch.
    pub source: PortId,
    /// The port that receives: an end port, or port 0 of the last switch.
    pub destination: PortId,
    /// The virtual layer of its packets.
    pub layer: u8,
    /// The switches in order, with the output of each; where a switch is the destination, its last output is port 0.
    pub hops: &'a [Hop],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    source: PortId,
    destination: PortId,
    layer: u8,
    end: u32,
}

/// What an engine returns whose routes depend on where a packet comes from (C×N→C; docs/GLOSSARY.md, *routing
/// function*): a set of paths, several for a pair where it likes. InfiniBand forwards by DLID alone; `lid` finds how
/// many LIDs of each destination realise the set. Paths stand in the order in which they were made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSet {
    engine: &'static str,
    root: Option<NodeId>,
    destinations: Vec<PortId>,
    rows: Vec<Row>,
    hops: Vec<Hop>,
}

impl PathSet {
    /// No paths yet. `destinations` are the ports that are to be led to, those without any path among them.
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

    /// The root of the spanning tree, where the engine has one.
    pub fn root(&self) -> Option<NodeId> {
        self.root
    }

    /// Names the root of the spanning tree.
    pub fn set_root(&mut self, root: NodeId) {
        self.root = Some(root);
    }

    /// The ports that are to be led to.
    pub fn destinations(&self) -> &[PortId] {
        &self.destinations
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The path with this rank in the order in which they were added.
    pub fn get(&self, at: usize) -> Path<'_> {
        let row = self.rows[at];
        let start = at.checked_sub(1).map_or(0, |before| self.rows[before].end as usize);
        let hops = &self.hops[start..row.end as usize];
        Path { source: row.source, destination: row.destination, layer: row.layer, hops }
    }

    /// All paths, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Path<'_>> + '_ {
        (0..self.rows.len()).map(|at| self.get(at))
    }

    /// By rank of the destination: the ranks of the paths that lead to it, in the order in which they were added.
    pub fn by_destination(&self, fabric: &Fabric) -> Vec<Vec<u32>> {
        let mut rank = vec![usize::MAX; fabric.port_count()];
        self.destinations.iter().enumerate().for_each(|(at, port)| rank[port.index()] = at);
        let mut paths = vec![Vec::new(); self.destinations.len()];
        self.rows.iter().zip(0..).for_each(|(row, at)| paths[rank[row.destination.index()]].push(at));
        paths
    }
}
