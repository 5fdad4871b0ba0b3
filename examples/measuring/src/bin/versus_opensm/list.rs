//! The fabrics of the comparison: every family, 8 to 64 switches, each from its text and seed.

use reconfig::fabric::generate::{GenerateError, Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::routing::choose_root;

/// What is generated, and the seed.
pub type Sample = (&'static str, u64);

/// The first three are those that run without arguments: small, and of three kinds. `random-regular:8,4,5` with seed
/// 112 is the bundled ghost cycle: both its routings are free of deadlock, and together they are not.
pub const SAMPLES: [Sample; 26] = [
    ("random-regular:8,4,5", 112),
    ("leaf-spine:8,4,2", 0),
    ("torus:3x3,2", 0),
    ("fat-tree:4,2", 0),
    ("mesh:4x4,2", 0),
    ("ring:8,2", 0),
    ("torus:4x4,2", 0),
    ("hypercube:4,2", 0),
    ("dragonfly:2,4,2", 0),
    ("random-regular:16,4,2", 1),
    ("waxman:16,0.5,0.4,2", 3),
    ("irregular:16,4,14,23", 2),
    ("random-regular:12,4,4", 5),
    ("random-regular:12,4,4", 6),
    ("waxman:24,0.5,0.3,2", 1),
    ("random-regular:24,5,2", 7),
    ("three-level:3,4,2,2,3,2", 0),
    ("torus:3x3x3,1", 0),
    ("mesh:6x6,1", 0),
    ("random-regular:32,4,2", 8),
    ("hypercube:5,1", 0),
    ("waxman:40,0.4,0.3,1", 4),
    ("fat-tree:4,3", 0),
    ("torus:8x8,1", 0),
    ("random-regular:64,5,1", 9),
    ("waxman:64,0.3,0.3,1", 5),
];

/// Families whose top level has no hosts.
const TREES: [&str; 3] = ["leaf-spine", "fat-tree", "three-level"];

/// A fabric with the roles of the trial.
pub struct Case {
    pub name: String,
    pub fabric: Fabric,
    /// The switch that dies: the one that up*/down* here takes as root.
    pub root: NodeId,
    /// What a foresighted administrator names as roots: in a tree every switch of the top level, elsewhere the root and
    /// its neighbour of most links to switches, the lowest GUID of equals, which is the root when the first is gone.
    pub roots: Vec<NodeId>,
    /// Where the manager runs: the last host that is not on the root.
    pub host: NodeId,
}

impl Case {
    /// Generates the fabric, and gives out the roles.
    pub fn make((topology, seed): Sample) -> Result<Case, String> {
        let fabric = build(topology, seed).map_err(|error| error.to_string())?;
        let name = format!("{topology} seed {seed}");
        let root = choose_root(&fabric).ok_or_else(|| format!("{name}: no root"))?;
        let roots = if TREES.iter().any(|tree| topology.starts_with(tree)) {
            top_level(&fabric)
        } else {
            let heir = neighbours(&fabric, root).max_by_key(|&switch| {
                (neighbours(&fabric, switch).count(), std::cmp::Reverse(fabric.node(switch).guid))
            });
            [Some(root), heir].into_iter().flatten().collect()
        };
        let away = |node: NodeId| !joined(&fabric, node).any(|other| other == root);
        let hosts = fabric.nodes().filter(|(_, node)| !node.is_switch()).map(|(id, _)| id);
        let host = hosts.filter(|&id| away(id)).last().ok_or_else(|| format!("{name}: every host is on the root"))?;
        Ok(Case { name, fabric, root, roots, host })
    }

    /// Hosts that the death of the root cuts off.
    pub fn stranded_hosts(&self) -> usize {
        joined(&self.fabric, self.root).filter(|&node| !self.fabric.node(node).is_switch()).count()
    }
}

fn build(topology: &str, seed: u64) -> Result<Fabric, GenerateError> {
    generate(&topology.parse::<Topology>()?, &Options { seed, ..Options::default() })
}

fn joined(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = NodeId> {
    fabric.ports_of(node).filter_map(|port| fabric.neighbour(port))
}

fn neighbours(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = NodeId> {
    joined(fabric, node).filter(|&other| fabric.node(other).is_switch())
}

/// The switches farthest from hosts.
fn top_level(fabric: &Fabric) -> Vec<NodeId> {
    let has_host = |&switch: &NodeId| joined(fabric, switch).any(|other| !fabric.node(other).is_switch());
    let (mut level, mut seen): (Vec<NodeId>, Vec<NodeId>) = (fabric.switches().filter(has_host).collect(), Vec::new());
    loop {
        seen.extend(&level);
        let mut above: Vec<NodeId> = level.iter().flat_map(|&switch| neighbours(fabric, switch)).collect();
        above.sort_unstable();
        above.dedup();
        above.retain(|switch| !seen.contains(switch));
        if above.is_empty() {
            return level;
        }
        level = above;
    }
}
